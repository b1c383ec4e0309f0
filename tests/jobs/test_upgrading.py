"""What docs/OPERATING.md says of files of version 0.1.0: each is in `data/`, and is read."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from shiq.jobs.store.manifest import OLDER
from shiq.model import RDF
from tests.command_line import shiq

ROOT = Path(__file__).resolve().parents[2]
POLICIES = ROOT / "data" / "policies"
TBOX = """Prefix(:=<urn:t#>) Ontology(<urn:t> DisjointClasses(:Cat :Dog) FunctionalDataProperty(:name)
Declaration(DataProperty(:name)))"""


def a(name: str, of: str) -> str:
    return f"<urn:t#{name}> <{RDF}type> <urn:t#{of}> .\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(POLICIES, tmp_path, dirs_exist_ok=True)
    (tmp_path / "t.ofn").write_text(TBOX, "utf-8")
    (tmp_path / "data.nt").write_text(a("tom", "Cat") + '<urn:t#rex> <urn:t#name> "Rex" .\n')
    shiq("index", "--tbox", "t.ofn", "--store", "kg", "data.nt", "-q", cwd=tmp_path)
    return tmp_path


def test_the_page_lists_files_that_are_there() -> None:
    text = (ROOT / "docs/OPERATING.md").read_text("utf-8")
    section = text.partition("## Upgrading from 0.1.0")[2].partition("\n## ")[0]
    named = set(re.findall(r"`((?:data|tests)/[\w./-]+)`", section))
    assert {name for name in named if not (ROOT / name).exists()} == set()
    assert named >= {"data/stores", "data/checkpoints", "data/policies"}
    for version in OLDER:
        assert (ROOT / f"data/stores/format-{version}.tar.xz").is_file()


def test_a_policy_is_read(folder: Path) -> None:
    (folder / "batch.nt").write_text(a("tom", "Dog") + '<urn:t#rex> <urn:t#name> "Tom" .\n')
    gate = ("gate", "--store", "kg", "-i", "batch.nt", "--mode", "split", "--quarantine", "q.nq")
    assert shiq(*gate, "--dry-run", cwd=folder).returncode == 1
    told = shiq(*gate, "--policy", "policy.toml", "--dry-run", "--json", "-", cwd=folder)
    effects = {x["judgement"]["effect"] for x in json.loads(told.stdout)["conflicts"]}
    assert effects == {"warn", "waived"}


def test_what_is_known_is_read(folder: Path) -> None:
    (folder / "batch.nt").write_text('<urn:t#tom> <urn:t#purs> "x" .\n')
    check = ("check", "--store", "kg", "-i", "batch.nt")
    assert shiq(*check, cwd=folder).returncode == 3
    assert shiq(*check, "--known", "known.toml", cwd=folder).returncode == 0


def test_an_answer_is_read(folder: Path) -> None:
    assert shiq("report", "verdict.json", "--html", "out.html", cwd=folder).returncode == 0
    page = (folder / "out.html").read_text("utf-8")
    assert "rex would be both a Cat and a Dog" in page
