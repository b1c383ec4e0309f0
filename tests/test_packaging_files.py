"""Files for registries and hosts: their syntax holds, and each command in them is one of shiq's."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path

import click
import pytest
import yaml

import shiq
from shiq.jobs.cli import cli
from tests.tools.dist import repack

ROOT = Path(__file__).resolve().parent.parent
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def read(name: str | Path) -> object:
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def parse(words: list[str]) -> None:
    """Parse a command line of shiq. Raises: click.UsageError for an option that is unknown."""
    assert words[0] == "shiq"
    command = cli.get_command(click.Context(cli), words[1])
    assert command is not None, words[1]
    known = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
    assert {word for word in words[2:] if word.startswith("--")} <= known


def test_hooks_call_commands_that_exist() -> None:
    hooks = read(".pre-commit-hooks.yaml")
    assert isinstance(hooks, list)
    for hook in hooks:
        assert {"id", "name", "entry", "language", "files"} <= set(hook)
        parse(shlex.split(hook["entry"]))
        assert re.search(hook["files"], "a/onto.ttl")


def test_the_action_is_a_composite_one_whose_script_bash_reads() -> None:
    action = read("action.yml")
    assert isinstance(action, dict)
    assert action["runs"]["using"] == "composite"
    steps = [step for step in action["runs"]["steps"] if "run" in step]
    for step in steps:
        subprocess.run(["bash", "-n", "-c", step["run"]], check=True)
        # What a user gives is never a part of a script's text.
        assert "inputs." not in step["run"]
    script = steps[-1]["run"]
    for name in ("check", "certify"):
        assert f"shiq {name}" in script
    parse(["shiq", "check", "--tbox", "--abox", "--insert", "--report", "--quiet"])
    parse(["shiq", "certify", "--report", "--quiet"])


def test_the_script_of_the_action_ends_as_the_check(tmp_path: Path) -> None:
    (tmp_path / "t.ofn").write_text("Prefix(:=<urn:t#>) Ontology(<urn:t> DisjointClasses(:A :B))")
    triple = "<urn:t#i> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:t#{}> .\n"
    (tmp_path / "a.nt").write_text(triple.format("A"))
    (tmp_path / "b.nt").write_text(triple.format("B"))
    action = read("action.yml")
    assert isinstance(action, dict)
    script = action["runs"]["steps"][-1]["run"]
    values = {"ONTOLOGY": "t.ofn", "DATA": "a.nt", "INSERT": "b.nt", "REPORT": "r"}
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    where = {"PATH": path, "GITHUB_OUTPUT": "out", "GITHUB_STEP_SUMMARY": "summary.md"}
    ended = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env={**values, **where, "ARGUMENTS": "--reasoner own"},
        check=False,
    )
    assert ended.returncode == 1
    assert (tmp_path / "out").read_text() == "code=1\n"
    assert "both A and B" in (tmp_path / "summary.md").read_text("utf-8")
    assert (tmp_path / "r/report.sarif").is_file()


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_forms_of_issues_have_what_a_host_asks_for(form: Path) -> None:
    value = read(form)
    assert isinstance(value, dict)
    assert {"name", "description", "body"} <= set(value)
    named = [x["id"] for x in value["body"] if x["type"] != "markdown"]
    assert len(named) == len(set(named))


def test_the_image_runs_as_nobody_in_particular() -> None:
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    stages = [i for i, line in enumerate(lines) if line.startswith("FROM")]
    last = [line for line in lines[stages[-1] :] if line.startswith("USER")]
    slim = [line for line in lines[stages[1] : stages[2]] if line.startswith("USER")]
    assert (last[-1], slim[-1]) == ("USER shiq", "USER shiq")
    copied = re.findall(r"^!(\S+)", (ROOT / ".dockerignore").read_text("utf-8"), re.M)
    assert all((ROOT / name).exists() for name in copied)


def test_the_page_of_the_python_interface_has_every_exported_name() -> None:
    shown = re.findall(r"^::: shiq\.(\w+)$", (ROOT / "docs/API.md").read_text("utf-8"), re.M)
    assert sorted({*shown, "KINDS", "__version__"} - {"spark"}) == sorted(shiq.__all__)


def test_one_version_everywhere() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", "utf-8")
    version = settings["metadata"]["version"]
    cited = read("CITATION.cff")
    assert isinstance(cited, dict)
    assert cited["version"] == version
    assert f"\n## {version} (" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert (ROOT / "shiq/py.typed").is_file()
    assert "py.typed" in settings["options.package_data"]["shiq"]


def test_an_sdist_is_the_same_whenever_it_was_packed(tmp_path: Path) -> None:
    made = []
    for number in (1, 2):
        folder = tmp_path / str(number) / "shiq-1"
        folder.mkdir(parents=True)
        for name in ("b.txt", "a.txt") if number == 1 else ("a.txt", "b.txt"):
            (folder / name).write_text(name)
            os.utime(folder / name, (number, number))
        path = tmp_path / f"{number}.tar.gz"
        with tarfile.open(path, "w:gz") as packed:
            packed.add(folder, "shiq-1")
        repack(path, 1_700_000_000)
        made.append(path.read_bytes())
        with tarfile.open(path) as packed:
            assert packed.getnames() == ["shiq-1", "shiq-1/a.txt", "shiq-1/b.txt"]
    assert made[0] == made[1]
