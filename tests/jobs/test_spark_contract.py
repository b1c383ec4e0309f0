"""What `make test` asks of Spark, by one session: commands give what they give in one process.

A file of its own, so that one worker alone starts Spark. `make test-spark` has the other tests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shiq.jobs.nightly import shiq_arguments
from shiq.model import RDF
from tests.command_line import Called, shiq
from tests.conftest import CASES

pytestmark = [pytest.mark.spark, pytest.mark.contract]

#: What two engines may say differently: times, counts of Spark's jobs, the engine's name.
OWN = ("about", "seconds", "spark", "reasoner_calls", "engine", "run", "notes")

ONTOLOGY = """Ontology(
Declaration(Class(<urn:Cat>)) Declaration(Class(<urn:Dog>)) Declaration(Class(<urn:Animal>))
SubClassOf(<urn:Cat> <urn:Animal>) SubClassOf(<urn:Dog> <urn:Animal>)
DisjointClasses(<urn:Cat> <urn:Dog>))"""
PROGRAM = "d(X) :- b(X) at least 2 in [3]."
#: The options of each system, and its exit code: tom becomes a cat and a dog, and a line is broken.
SYSTEMS = {
    "consistency": (("--tbox", "t.ofn", "--window", 2), 1),
    "enrich": (("--tbox", "t.ofn", "--reasoner", "own"), 1),
    "discover": (("--tbox", "t.ofn", "--window", 4, "--slide", 2, "--max-atoms", 1), 1),
    "rules": (("program.lp",), 3),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = ["{"]
    for t in range(1, 10):
        kinds = ("Cat", "Dog") if t in (4, 5) else ("Cat",)
        triples = [f"<urn:tom> <{RDF}type> <urn:{kind}> ." for kind in kinds]
        event = {"t": t, "triples": triples, "atoms": [f"b({t % 2})"], "id": f"e{t // 9}{t}"}
        lines += [json.dumps(event)] * (2 if t == 7 else 1)
    (tmp_path / "events").mkdir()
    for name, some in (("1.jsonl", lines[:6]), ("2.jsonl", lines[6:])):
        (tmp_path / "events" / name).write_text("\n".join(some) + "\n")
    (tmp_path / "t.ofn").write_text(ONTOLOGY)
    (tmp_path / "program.lp").write_text(PROGRAM)
    return tmp_path


def answers(folder: Path, system: str, *options: object) -> tuple[Called, list[str], list[str]]:
    """A command's end, its rows and its rejects."""
    sides = ("--out", "rows.jsonl", "--rejects", "rejects.jsonl", "-q")
    done = shiq("stream", system, *options, "--source", folder / "events", *sides, cwd=folder)
    rows, rejects = (
        [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for name in ("rows.jsonl", "rejects.jsonl")
    )
    for row in rows:
        if isinstance(row, dict):
            row.pop("seconds", None)
    return done, sorted(map(str, rows)), sorted(map(str, rejects))


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_stream_system_gives_the_rows_of_one_process(
    system: str, folder: Path, spark: object
) -> None:
    options, code = SYSTEMS[system]
    here = answers(folder, system, *options)
    there = answers(folder, system, *options, "--engine", "spark")
    assert here[0].returncode == there[0].returncode == code, there[0].stderr
    assert here[1:] == there[1:]
    assert here[1] and here[2]


# --- a base and its nights ------------------------------------------------------------------------

BASE = [
    *(f"<urn:c{n}> <{RDF}type> <urn:Cat> ." for n in range(12)),
    *(f"<urn:c{n}> <urn:near> <urn:c{n + 1}> ." for n in range(11)),
]
TBOX = """Ontology(Declaration(Class(<urn:Cat>)) Declaration(Class(<urn:Dog>))
DisjointClasses(<urn:Cat> <urn:Dog>) TransitiveObjectProperty(<urn:near>)
SubClassOf(<urn:Dog> ObjectAllValuesFrom(<urn:near> <urn:Dog>)))"""
BATCHES = {
    "good": [f"<urn:new> <{RDF}type> <urn:Dog> .", "<urn:c3> <urn:near> <urn:new> ."],
    "bad": [
        f"<urn:rex> <{RDF}type> <urn:Dog> .",
        "<urn:rex> <urn:near> <urn:c4> .",
        f"<urn:sam> <{RDF}type> <urn:Dog> .",
    ],
    "broken": [f"<urn:sam> <{RDF}type> <urn:Dog> .", "<urn:rex> <urn:near> ."],
}


def write_lines(file: Path, lines: list[str]) -> Path:
    file.write_text("".join(line + "\n" for line in lines))
    return file


@pytest.fixture
def nights(tmp_path: Path) -> Path:
    """A folder with an ontology, a base and batches."""
    (tmp_path / "tbox.ofn").write_text(TBOX)
    for name, lines in {"base": BASE, **BATCHES}.items():
        write_lines(tmp_path / f"{name}.nt", lines)
    return tmp_path


def comparable(value: Any) -> Any:
    """A document without what is an engine's own."""
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in value.items() if key not in OWN}
    return [comparable(part) for part in value] if isinstance(value, list) else value


def document(folder: Path, *command: object) -> tuple[int, Any]:
    """The exit code of a command and its JSON."""
    done = shiq(*command, "--reasoner", "own", "--json", "answer.json", "-q", cwd=folder)
    assert done.returncode in {0, 1, 3, 5}, done.stderr
    return done.returncode, comparable(json.loads((folder / "answer.json").read_text()))


def index(folder: Path, engine: str) -> tuple[int, Any]:
    base = (folder / "tbox.ofn", "--store", engine, folder / "base.nt")
    return document(folder, "index", "--engine", engine, "--tbox", *base)


def exported(folder: Path, store: str) -> list[str]:
    done = shiq("export", "--store", store, cwd=folder)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


def test_an_index_is_that_of_one_process(nights: Path, spark: object) -> None:
    assert index(nights, "spark") == index(nights, "local")
    assert exported(nights, "spark") == exported(nights, "local") == sorted(BASE)
    write_lines(nights / "base.nt", [*BASE, f"<urn:c5> <{RDF}type> <urn:Dog> ."])
    for engine in ("spark", "local"):
        again = ("--replace", "--engine", engine, "--store", engine, nights / "base.nt")
        code, answer = document(nights, "index", "--tbox", "tbox.ofn", *again)
        assert (code, answer["verdict"]) == (1, "inconsistent")


@pytest.mark.parametrize(("batch", "code"), [("good", 0), ("bad", 1), ("broken", 3)])
def test_a_check_is_that_of_one_process(
    batch: str, code: int, nights: Path, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a store and of files; executors decide each shape."""
    monkeypatch.setattr("shiq.jobs.spark.executor_reasoner.MOST_HERE", 0)
    monkeypatch.setattr("shiq.jobs.spark.executor_reasoner.LEAST_OUT", 1)
    index(nights, "local")
    for base in (("--store", "local"), ("--tbox", "tbox.ofn", "--abox", nights / "base.nt")):
        given = ("check", *base, "--insert", nights / f"{batch}.nt", "--engine")
        here, there = (document(nights, *given, engine) for engine in ("local", "spark"))
        assert here == there
        assert there[0] == code


def test_a_commit_and_a_gate_leave_what_one_process_leaves(nights: Path, spark: object) -> None:
    gone = write_lines(nights / "gone.nt", BASE[-1:])
    found = []
    for engine in ("local", "spark"):
        index(nights, engine)
        whither = ("--store", engine, "--engine", engine)
        taken = ("--insert", nights / "good.nt", "--delete", gone, "--commit")
        first = document(nights, "check", *whither, *taken)
        sides = ("--accepted", f"{engine}.good", "--quarantine", f"{engine}.bad", "--commit")
        split = ("--insert", nights / "bad.nt", "--mode", "split", *sides)
        second = document(nights, "gate", *whither, *split)
        assert (first[0], second[0]) == (0, 5)
        assert first[1]["committed"] == 2
        written = [(nights / f"{engine}.{side}").read_text() for side in ("good", "bad")]
        found.append((first[1]["verdict"], second[1]["verdict"], written, exported(nights, engine)))
    assert found[0] == found[1]
    assert "<urn:sam>" in found[0][2][0] and "<urn:rex>" in found[0][2][1]


def test_the_nightly_job_is_the_command(nights: Path, spark: object) -> None:
    index(nights, "local")
    given = ["--store", "local", "--insert", str(nights / "bad.nt")]
    assert document(nights, *shiq_arguments(given)) == document(nights, "check", *given)


def test_the_job_of_graphframes_keeps_what_definition_7_keeps(spark: object) -> None:
    from shiq import check_insertions

    folder = CASES / "ClassesOfTheWhole"
    given = [folder / f"{file}.ofn" for file in ("tbox", "abox", "insertions")]
    here = check_insertions(*given, criterion="definition7", reasoner="own")
    there = check_insertions(*given, engine="graphframes", reasoner="own")
    assert there.evidence.criterion == "definition7"
    assert there.verdict is here.verdict
    assert there.verdict.value == json.loads((folder / "expected.json").read_text())["verdict"]
    assert there.conflicts == here.conflicts and there.conflicts
    assert set(there.a_add) == set(here.a_add)
