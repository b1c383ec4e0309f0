"""Defaults of options from shiq.toml, and the command that writes one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from shiq.model import RDF
from tests.command_line import Called, shiq


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.ofn").write_text(
        "Prefix(:=<urn:t#>) Ontology(<urn:t> DisjointClasses(:A :B))", "utf-8"
    )
    for name in "ab":
        triple = f"<urn:t#i> <{RDF}type> <urn:t#{name.upper()}> .\n"
        (tmp_path / f"{name}.nt").write_text(triple, "utf-8")
    return tmp_path


def configured(folder: Path, text: str, *call: str) -> Called:
    (folder / "shiq.toml").write_text(text, "utf-8")
    return shiq(*call, cwd=folder)


def test_options_come_from_the_file_and_the_command_line_counts_instead(folder: Path) -> None:
    text = '[check]\ntbox = ["t.ofn"]\nabox = ["a.nt"]\njson = "told.json"\nverbose = true\ntimeout = "5m"\n'
    called = configured(folder, text, "check", "--insert", "b.nt", "--json", "other.json")
    assert called.returncode == 1
    assert called.stderr.startswith("from shiq.toml: --tbox --abox --json --verbose --timeout\n")
    assert (folder / "other.json").exists()
    assert not (folder / "told.json").exists()
    called = configured(
        folder, '[check]\ntbox = ["none.ofn"]\n', "check", "-t", "t.ofn", "-i", "a.nt"
    )
    assert called.returncode == 0


def test_tables_of_other_commands_do_not_count(folder: Path) -> None:
    called = configured(folder, '[gate]\nstore = "nowhere"\n', "check", "-t", "t.ofn", "-i", "a.nt")
    assert (called.returncode, called.stderr.count("shiq.toml")) == (0, 0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[check]\ntimeuot = 3\n",
            "shiq.toml: [check] timeuot: shiq check has no option --timeuot",
        ),
        ('[check]\ntbox = "t.ofn"\n', "shiq.toml: [check] tbox: not a value of --tbox"),
        ('[check]\nverbose = "yes"\n', "shiq.toml: [check] verbose: neither true nor false"),
        ("check = 3\n", "shiq.toml: check is no table"),
        ("[chek]\ntimeout = 3\n", "shiq.toml: chek: no command of shiq has this name"),
        ("[check]\njson = true\n", "shiq.toml: [check] json: not a value of --json"),
        ("[check]\nabox = [1, true]\n", "shiq.toml: [check] abox: not a value of --abox"),
        ("[check.store]\nx = 3\n", "shiq.toml: [check] store: not a value of --store"),
        ("[check\n", "shiq.toml: "),
        ("[check]\ntimeout = -1\n", "is no time"),
    ],
)
def test_a_file_that_is_wrong_is_an_error_of_use(folder: Path, text: str, told: str) -> None:
    called = configured(folder, text, "check", "--tbox", "t.ofn", "--insert", "a.nt")
    assert called.returncode == 2
    assert told in called.stderr
    assert configured(folder, text, "check", "--help").returncode == 0


def test_an_output_that_the_file_names_replaces_no_input(folder: Path) -> None:
    text = '[check]\ntbox = ["t.ofn"]\njson = "a.nt"\n'
    assert configured(folder, text, "check", "--insert", "a.nt").returncode == 2
    assert (folder / "a.nt").read_text("utf-8").startswith("<urn:t#i>")


def test_a_variable_names_another_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "other.json").write_text('{"stream": {"plan": {"tbox": ["t.ofn"]}}}', "utf-8")
    monkeypatch.setenv("SHIQ_CONFIG", "other.json")
    assert shiq("stream", "plan", cwd=folder).returncode == 0


def test_init_writes_files_that_work_and_replaces_none(folder: Path) -> None:
    assert shiq("init", "--tbox", "t.ofn", "a.nt", cwd=folder).returncode == 0
    assert shiq("index", "a.nt", cwd=folder).returncode == 0
    assert shiq("check", "--insert", "b.nt", cwd=folder).returncode == 1
    called = shiq("gate", "--insert", "b.nt", "--max-quarantine", "100%", cwd=folder)
    assert (called.returncode, (folder / "quarantine.nq").exists()) == (1, True)
    workflow = yaml.safe_load((folder / ".github/workflows/shiq.yml").read_text("utf-8"))
    runs = [step["run"] for step in workflow["jobs"]["consistent"]["steps"] if "run" in step]
    assert "shiq certify t.ofn a.nt --report report/" in runs
    (folder / "shiq.toml").unlink()
    called = shiq("init", "--tbox", "t.ofn", cwd=folder)
    assert (called.returncode, (folder / "shiq.toml").exists()) == (2, False)
    assert "policy.toml, .github/workflows/shiq.yml: already there" in called.stderr


def test_a_table_of_no_stream_command_is_an_error_of_use(folder: Path) -> None:
    called = configured(folder, "[stream.plam]\nx = 3\n", "stream", "plan", "--tbox", "t.ofn")
    assert called.returncode == 2
    assert "shiq.toml: stream.plam: no command of shiq" in called.stderr


@pytest.mark.parametrize("name", ["t.ofn;rm -rf x", "#t.ofn", "*.ofn", "~t.ofn"])
def test_init_refuses_names_that_a_script_would_read_otherwise(folder: Path, name: str) -> None:
    assert shiq("init", "--tbox", name, cwd=folder).returncode == 2
    assert not (folder / "shiq.toml").exists()


def test_a_default_gives_way_to_an_option_that_excludes_it(folder: Path) -> None:
    assert shiq("init", "--tbox", "t.ofn", "a.nt", cwd=folder).returncode == 0
    called = shiq("check", "--tbox", "t.ofn", "--abox=a.nt", "--insert", "b.nt", cwd=folder)
    assert (called.returncode, called.stderr.splitlines()[0]) == (1, "from shiq.toml: --timeout")
