"""The tutorial's commands, one after the other, print what the tutorial shows."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
from pathlib import Path

import pytest

from shiq.rdf import read_ontology
from tests.command_line import shiq

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parent.parent
#: What the commands of the tutorial end with.
EXITS = {"draft-mapping": 0, "index": 0, "check": 1, "gate": 5}


def commands(text: str) -> list[tuple[list[str], list[str]]]:
    """The commands of a document, each with the lines that it shows below them."""
    found: list[tuple[list[str], list[str]]] = []
    is_output = False
    for line in text.splitlines():
        if line.startswith("    $ "):
            found.append((shlex.split(line[6:]), []))
            is_output = True
        elif is_output and (line.startswith("    ") or not line):
            found[-1][1].append(line[4:])
        else:
            is_output = False
    return [(words, [x for x in shown if x]) for words, shown in found]


def test_the_tutorial_leads_from_two_tables_to_a_conflict_with_its_row(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "examples" / "machines-and-sensors", tmp_path / "tutorial")
    (install, _), *rest = commands((ROOT / "docs" / "TUTORIAL.md").read_text(encoding="utf-8"))
    assert install == ["pip", "install", ".[yarrrml]"] and len(rest) == 4
    for (program, *words), shown in rest:
        assert program == "shiq" and shown
        called = (
            shiq(*words, "-q", cwd=folder)
            if words[0] != "draft-mapping"
            else shiq(*words, cwd=folder)
        )
        assert called.returncode == EXITS[words[0]], called
        printed = called.stdout.splitlines()
        assert [line for line in shown if line not in printed] == [], called.stdout
    assert len(read_ontology([folder / "plant.ttl"]).tbox.axioms) == 30
    why = json.loads((folder / "bad.nq.why.json").read_text())["set_aside"]
    assert {(x["source"], x["line"]) for x in why} == {("tonight.csv", 3)}
    assert [x["column"] for x in why if x["kind"] == "conflict"] == ["unit"]
    (row,) = [row for row in csv.DictReader((folder / "tonight.csv").open()) if row["unit"] == "K"]
    assert all(f"/sensor/{row['id']}>" in x["text"] for x in why)


def test_a_draft_says_what_it_could_not_place(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "examples" / "machines-and-sensors", tmp_path / "tutorial")
    (folder / "odd.csv").write_text("Serial Number,mounted on,limt,a (b)\n1,m1,2,3\n")
    (folder / "hall.jsonl").write_text('{"id": "h1", "serialNumber": "x"}\n')
    text = shiq("draft-mapping", "odd.csv", "hall.jsonl", "--tbox", "plant.ttl", cwd=folder).stdout
    assert "# file 'odd.csv': no class of the ontology has this name or label" in text
    assert (
        "# column 'limt': no property of the ontology has this name or label; the nearest is o:limit"
        in text
    )
    assert (
        "- [o:mountedOn, 'd:mounted-on/$(mounted on)~iri']" in text
        or "'d:mounted-on/$(mounted on)~iri'" in text
    )
    assert "sources: [['hall.jsonl~jsonpath', '$']]" in text and "- [a, o:Hall]" in text
    (folder / "m.yml").write_text(text)
    called = shiq("certify", "plant.ttl", "hall.jsonl", "--mapping", "m.yml", "-q", cwd=folder)
    assert called.returncode == 1, "a hall has no serial number: it is no asset"
    assert "at hall.jsonl:1, column serialNumber" in called.stdout
    assert shiq("draft-mapping", "plant.ttl", "--tbox", "plant.ttl", cwd=folder).returncode == 2
