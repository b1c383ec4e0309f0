"""What `shiq lint` says is to be done: its steps, pasted in their order, end where a verdict is
possible.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shiq.answers.verdict import KINDS, Leftover
from shiq.api import check_insertions
from shiq.jobs.text.results import leftovers_text
from tests.command_line import shiq
from tests.rdf_helpers import PREFIXES

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
ONTOLOGY = """
<urn:o> a owl:Ontology ; owl:imports <urn:units> .
:Animal a owl:Class . :Vegetable a owl:Class ; owl:disjointWith :Animal . :weighs a owl:DatatypeProperty .
"""
DATA = f"""<urn:i> <{TYPE}> <urn:t#Animmal> .
<urn:i> <urn:t#owns> <urn:j> .
<urn:i> <urn:t#price> "3" .
<urn:i> <urn:t#price> "4" .
<urn:i> <urn:t#weighs> <urn:j> .
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "o n.ttl").write_text(PREFIXES + ONTOLOGY)
    (tmp_path / "d.nt").write_text(DATA)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    return tmp_path


def done(folder: Path, step: dict[str, object]) -> int:
    """The exit code of the last line of a step's command, run in a shell."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command, env = ["bash", "-c", str(step["command"])], {**os.environ, "PATH": path}
    return subprocess.run(command, cwd=folder, env=env, timeout=120, check=False).returncode


def linted(folder: Path, *arguments: object) -> dict[str, object]:
    assert shiq("lint", *arguments, "-q", "--json", "l.json").returncode == 3
    return json.loads((folder / "l.json").read_text())


@pytest.mark.parametrize("is_beside", [True, False])
def test_steps_are_done_as_they_stand(folder: Path, is_beside: bool) -> None:
    units = f"<urn:units> <{TYPE}> <http://www.w3.org/2002/07/owl#Ontology> ."
    if is_beside:
        (folder / "units.ttl").write_text(units)
    found = linted(folder, "o n.ttl", "--data", "d.nt")
    steps: list[dict[str, object]] = found["steps"]  # type: ignore[assignment]
    removed = [int(str(step["removes"])) for step in steps]
    assert removed == sorted(removed, reverse=True) and steps[-1]["left"] == 0
    assert [step["left"] for step in steps] == [
        sum(removed) - sum(removed[: i + 1]) for i in range(len(steps))
    ]
    texts = " | ".join(str(step["text"]) for step in steps)
    for part in (
        "declare 2 terms",
        "mend 1 typing error",
        "correct 1 malformed (the first: d.nt:5)",
    ):
        assert part in texts
    assert ("add 1 folder" if is_beside else "download 1 imported ontology") in texts
    codes = []
    for step in steps:
        if "lint-catalog.json" in str(step["command"]):
            (folder / "units.owl").write_text(units)
        codes.append(done(folder, step))
    assert codes == [3] * (len(steps) - 1) + [0]
    assert (
        "Animal>" in (folder / "d.nt").read_text()
        and "Animmal" not in (folder / "d.nt").read_text()
    )


def test_a_typing_error_behind_a_prefix_is_mended(folder: Path) -> None:
    (folder / "d.ttl").write_text(f"{PREFIXES} :i a :Animmal .")
    (folder / "o.ttl").write_text(PREFIXES + ":Animal a owl:Class ; rdfs:subClassOf owl:Thing .")
    (step,) = linted(folder, "o.ttl", "--data", "d.ttl")["steps"]  # type: ignore[misc]
    assert done(folder, step) == 0 and ":i a :Animal ." in (folder / "d.ttl").read_text()


def test_what_fail_on_asks_for_is_agreed_to(folder: Path) -> None:
    (folder / "o.ttl").write_text(PREFIXES + ":Animal a owl:Class ; rdfs:subClassOf owl:Thing .")
    (folder / "f.nt").write_text(f"<urn:i> <{TYPE}> <http://else.org/Thing> .\n")
    options = ("--fail-on", "foreign", "--vocabulary", "skos")
    (step,) = linted(folder, "o.ttl", "--data", "f.nt", *options)["steps"]  # type: ignore[misc]
    assert "--vocabulary skos" in str(step["command"]) and done(folder, step) == 0


def test_steps_are_printed_at_the_end(folder: Path) -> None:
    said = shiq("lint", "o n.ttl", "--data", "d.nt", "-q").stdout
    assert said.index("in the way of a verdict") < said.index(
        "what to do, most effective first:\n  1. "
    )
    assert said.rstrip().splitlines()[-1].strip().startswith("shiq lint 'o n.ttl' ")
    assert "then a verdict is possible" in said
    (folder / "o n.ttl").write_text(PREFIXES + ":A a owl:Class ; rdfs:subClassOf owl:Thing .")
    assert "what to do" not in shiq("lint", "o n.ttl", "-q").stdout


# --- what is shown -------------------------------------------------------------------------------


def test_information_never_fills_the_lines_that_are_shown() -> None:
    foreign = [Leftover("foreign", f"information {i}") for i in range(30)]
    malformed = [Leftover("malformed", f"blocks {i}") for i in range(12)]
    lines = leftovers_text([*foreign, *malformed], ())
    assert [x for x in lines if "blocks" in x] == [f"  malformed: blocks {i}" for i in range(10)]
    assert (
        not [x for x in lines if "information " in x] and lines[-1] == "  … 32 more: -v shows them."
    )
    lines = leftovers_text([*foreign, Leftover("vocabulary", "information too"), malformed[0]], ())
    assert [x.strip() for x in lines[2:-1]] == [
        "malformed: blocks 0",
        "foreign: information 0",
        "vocabulary: information too",
    ]
    assert len(leftovers_text(foreign, (), verbose=True)) == 2 + 30


def test_leftovers_of_the_batch_come_before_those_of_the_base(tmp_path: Path) -> None:
    (tmp_path / "t.ttl").write_text(PREFIXES + ":A a owl:Class ; rdfs:subClassOf owl:Thing . ")
    (tmp_path / "a.nt").write_text(
        "".join(f"<urn:a{i}> <{TYPE}> <urn:t#Base{i}x> .\n" for i in range(12))
    )
    (tmp_path / "b.nt").write_text(f"<urn:b> <{TYPE}> <urn:t#Batch> .\n")
    tbox, abox, batch = (tmp_path / name for name in ("t.ttl", "a.nt", "b.nt"))
    result = check_insertions(tbox, abox, batch, reasoner="own")
    assert "Batch" in result.evidence.leftovers[0].message and "first: " in result.reason
    assert "#Batch>" in result.reason.partition("first: ")[2]


#: The kinds of the release before this one: whoever names one in a command or a file may go on.
# fmt: off
BEFORE = [
    "malformed", "undeclared", "empty-tbox", "outside-shiq", "outside-dl-lite", "out-of-reach", "non-simple-role", "punning",
    "annotation-punning", "broken-list", "unknown-datatype", "ill-typed", "unknown-vocabulary", "unattached", "tbox-axiom",
    "missing-import", "lossy-input", "set-aside", "without-effect", "unmatched-deletion", "passed-over", "many-equal", "hub",
    "unsatisfiable-class", "missing-value", "undecided", "late", "unwritable", "ahead",
]
# fmt: on


def test_every_kind_that_was_taken_is_taken_still(tmp_path: Path) -> None:
    assert set(BEFORE) <= set(KINDS)
    (tmp_path / "t.ttl").write_text(PREFIXES + ":A a owl:Class ; rdfs:subClassOf owl:Thing . ")
    allowed = [part for kind in BEFORE for part in ("--allow", kind)]
    failing = [part for kind in BEFORE for part in ("--fail-on", kind)]
    assert shiq("lint", tmp_path / "t.ttl", "-q", *allowed).returncode == 0
    assert shiq("lint", tmp_path / "t.ttl", "-q", *failing).returncode == 0
    entries = [
        {"kind": kind, "pattern": "*", "owner": "ann@example.org", "expires": "2999-01-01"}
        for kind in BEFORE
    ]
    (tmp_path / "known.json").write_text(json.dumps({"known": entries}))
    assert (
        shiq("lint", tmp_path / "t.ttl", "-q", "--known", tmp_path / "known.json").returncode == 0
    )


def test_each_kind_for_information_is_explained() -> None:
    page = (Path(__file__).parents[2] / "docs/EVIDENCE.md").read_text()
    new = (
        "foreign",
        "mostly-foreign",
        "two-readings",
        "individuals-only",
        "other-language",
        "ambiguous-import",
        "vocabulary",
    )
    for kind in (*new, "unknown-word"):
        assert f"`{kind}`" in page, kind
