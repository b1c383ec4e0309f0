"""What rows tell on demand, and static data that change while a stream runs."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shiq import model as owl
from shiq.abox_ops.entailment import Premises
from shiq.answers.verdict import Verdict
from shiq.streams.enrichment import Enricher, open_enricher
from shiq.streams.enrichment.enricher import StaticFolder
from shiq.streams.enrichment.questions import EventQuestion
from shiq.streams.enrichment.stream import EnrichmentCollector
from shiq.streams.front.event import Record
from shiq.streams.front.intake import RejectLog
from shiq.streams.front.local import LocalRunner
from tests import air_quality as air
from tests.command_line import shiq
from tests.conftest import ROOT
from tests.spec.entailment import denied_entailment

SENSOR = [
    "<urn:air#sensor3> <urn:air#observes> <urn:air#co2> .",
    "<urn:air#sensor3> <urn:air#hasLocation> <urn:air#room1> .",
    "<urn:air#sensor2> <urn:air#hasLocation> <urn:air#room1> .",  # known, and becomes another
]
EVENTS = [
    *(lines for lines, *_ in air.EVENTS[:4]),
    [line.replace("sensor1", "sensor3").replace("o1>", "o9>") for line in air.EVENTS[0][0]],
]


def records(events: Sequence[Sequence[str]] = EVENTS) -> list[Record]:
    texts = (json.dumps({"t": t, "triples": list(lines)}) for t, lines in enumerate(events))
    return [Record("s", line, text.encode()) for line, text in enumerate(texts, 1)]


def rows_of(
    enricher: Enricher, given: Sequence[Record], state: bytes | None = None
) -> tuple[list[dict[str, Any]], LocalRunner[Any]]:
    """The rows of records, one taken after the other, and the runner."""
    rows: list[str] = []
    runner = LocalRunner(EnrichmentCollector(enricher, rows.extend, RejectLog()))
    if state is not None:
        runner.restore(state)
    for record in given:
        runner.process(record)
        runner.flush()
    return [json.loads(row) for row in rows], runner


def written(folder: Path, events: Sequence[Sequence[str]] = EVENTS) -> list[object]:
    tbox, static = air.write(folder)
    file = folder / "events.jsonl"
    file.write_bytes(b"\n".join(record.data for record in records(events)) + b"\n")
    return ["stream", "enrich", "--tbox", tbox, "--static", static, "--source", file]


# --- why ------------------------------------------------------------------------------------------


def is_entailed(
    axioms: Sequence[owl.Axiom], assertions: Sequence[owl.Assertion], one: str, name: str
) -> bool:
    """By denying it, as the specification does."""
    found = denied_entailment(Premises.build(axioms), assertions, [owl.Class(name)])
    assert found.verdict is Verdict.CONSISTENT
    return name in found.types.get(one, ())


def check_reasons(enricher: Enricher, lines: Sequence[str], name: str) -> int:
    """Whether the reasons of all that is ``name`` by an event entail it, and no part of one does."""
    question, found, checked = enricher.reader.make_question(lines), enricher.enrich(lines), 0
    assert isinstance(question, EventQuestion) and found.verdict is Verdict.CONSISTENT
    for one in (one for one, names in found.types.items() if name in names):
        reason = enricher.realizer.explain(question.assertions(), one, name)
        assert reason is not None and reason.is_minimal
        assert {*reason.static} <= {*enricher.knowledge.static}
        assertions, axioms = [*reason.assertions, *reason.static], [*reason.axioms]
        assert is_entailed(axioms, assertions, one, name)
        for i in range(len(axioms)):
            assert not is_entailed(axioms[:i] + axioms[i + 1 :], assertions, one, name)
        for i in range(len(assertions)):
            less = assertions[:i] + assertions[i + 1 :]
            assert not is_entailed(axioms, less, one, name)
        checked += 1
    return checked


def test_a_reason_entails_the_type_and_no_part_of_it_does(tmp_path: Path) -> None:
    file, static = tmp_path / "t.ofn", tmp_path / "b.nt"
    file.write_text(
        "Prefix(:=<urn:>) Ontology(SubClassOf(:A :B) SubClassOf(:B :C) SubClassOf(:A :C) SubClassOf(:E :C)"
        " SubClassOf(ObjectIntersectionOf(:C ObjectSomeValuesFrom(:r :F)) :G) Declaration(Class(:F)))"
    )
    static.write_text(f"<urn:k> <{air.TYPE}> <urn:F> .\n<urn:l> <{air.TYPE}> <urn:F> .\n")
    lines = [f"<urn:x> <{air.TYPE}> <urn:{name}> ." for name in "AEF"]
    lines += ["<urn:x> <urn:r> <urn:k> .", "<urn:x> <urn:r> <urn:l> ."]
    with open_enricher(file, static, reasoner="own") as enricher:
        assert check_reasons(enricher, lines, "urn:G") == 1
        assert check_reasons(enricher, lines, "urn:F") == 3  # asserted: by no axiom
        assert enricher.realizer.explain((), "urn:x", "urn:G") is None
        # Of blanks more than one the reader of RDF has to tell; names stay those of the event.
        odd = [f"_:b   <{air.TYPE}>  <urn:A> .", "_:b <urn:r> <urn:k> ."]
        question = enricher.reader.make_question(odd)
        assert isinstance(question, EventQuestion)
        (reason,) = enricher.explain(question, enricher.enrich(odd), ["urn:G"])
        assert reason["individual"] == "_:b"
        assert reason["event"] == [f"_:b <{air.TYPE}> <urn:A> .", "_:b <urn:r> <urn:k> ."]


@pytest.mark.slow
def test_reasons_of_alerts_are_minimal(tmp_path: Path) -> None:
    with open_enricher(*air.write(tmp_path), reasoner="own") as enricher:
        found = [check_reasons(enricher, lines, f"{air.NS}CoronaAlert") for lines, *_ in air.EVENTS]
    assert sum(found) == 7


def test_rows_say_why_and_how_long(tmp_path: Path) -> None:
    alert = f"{air.NS}CoronaAlert"
    call = [*written(tmp_path, EVENTS[1:3]), "-q", "--explain", alert, "--timings"]
    rows = [json.loads(line) for line in shiq(*call).stdout.splitlines()]
    assert [len(row["explanations"]) for row in rows] == [1, 0]
    assert all(0 < row["seconds"] < 60 for row in rows)
    first = rows[0]["explanations"][0]
    assert (first["individual"], first["class"]) == (f"{air.NS}o2", alert)
    assert {*first["event"]} <= {*EVENTS[1]} and len(first["axioms"]) == 5
    refused = shiq(*call, "--explain", f"{air.NS}CoronaAlarm")
    assert refused.returncode == 2 and f"Did you mean {alert}?" in refused.stderr
    assert shiq(*call, "--window", 3).returncode == 2
    plain = [json.loads(line) for line in shiq(*call[:-3]).stdout.splitlines()]
    assert [
        {name: value for name, value in row.items() if name not in ("explanations", "seconds")}
        for row in rows
    ] == plain


def test_a_bad_triple_is_told_by_its_line(tmp_path: Path) -> None:
    bad = [EVENTS[0], [EVENTS[1][0], "<a b> <urn:p> <urn:o> ."]]
    rows = [json.loads(line) for line in shiq(*written(tmp_path, bad), "-q").stdout.splitlines()]
    assert rows[1]["verdict"] == "undetermined"
    assert rows[1]["reason"].startswith("line 2, triple 2: ")


# --- static data that change ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "place", [4, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 1, 2, 3, 5))]
)
def test_a_file_that_comes_is_an_update_between_events(place: int, tmp_path: Path) -> None:
    """Before it the rows are those of the old static data, behind it of the new, as fresh runs say."""
    tbox, static = air.write(tmp_path)
    more, folder = tmp_path / "more.nt", tmp_path / "more"
    more.write_text("\n".join(SENSOR) + "\n", encoding="utf-8")
    folder.mkdir()
    fresh = []
    for given in ([static], [static, more], [static]):
        with open_enricher(tbox, given, reasoner="own") as enricher:
            fresh.append([row["types"] for row in rows_of(enricher, records())[0]])
    assert fresh[0] != fresh[1]
    told: list[str] = []
    with open_enricher(tbox, static, reasoner="own") as enricher:
        enricher.static_folder = StaticFolder(folder, told.append)
        before, _ = rows_of(enricher, records()[:place])
        (folder / "a.nt").write_text(more.read_text(encoding="utf-8"), encoding="utf-8")
        behind, runner = rows_of(enricher, records())
        assert [row["types"] for row in before] == fresh[0][:place]
        assert [row["types"] for row in behind] == fresh[1]
        state = runner.state()
    # Another process goes on from the checkpoint, which knows what was read.
    with open_enricher(tbox, static, reasoner="own") as enricher:
        enricher.static_folder = StaticFolder(folder, told.append)
        again, _ = rows_of(enricher, records(), state)
        assert [row["types"] for row in again] == fresh[1] and all(row["hit"] for row in again)
        (folder / "b.delete.nt").write_text(more.read_text(encoding="utf-8"), encoding="utf-8")
        after, _ = rows_of(enricher, records())
        assert [row["types"] for row in after] == fresh[2]
    assert [Path(line.split(":")[0]).name for line in told] == ["a.nt", "a.nt", "b.delete.nt"]


@pytest.mark.parametrize("name", ["b.delete.nt", "b.delete.nt.gz", "b.DELETE.NT.GZ"])
def test_a_packed_file_of_deletions_is_one(name: str, tmp_path: Path) -> None:
    tbox, static = air.write(tmp_path)
    folder, told = tmp_path / "more", list[str]()
    folder.mkdir()
    lines = ("\n".join(SENSOR) + "\n").encode()
    (folder / "a.nt").write_bytes(lines)
    (folder / name).write_bytes(gzip.compress(lines) if name.lower().endswith("gz") else lines)
    with open_enricher(tbox, static, reasoner="own") as enricher:
        before = {*enricher.knowledge.static}
        StaticFolder(folder, told.append).apply_new_files(enricher)
        assert {*enricher.knowledge.static} == before
    assert [": taken out of" in line for line in sorted(told)] == [False, True]


def test_what_is_not_there_is_not_taken_out(tmp_path: Path) -> None:
    tbox, static = air.write(tmp_path)
    folder, told = tmp_path / "more", list[str]()
    folder.mkdir()
    (folder / "a.nt").write_text(f"{SENSOR[0]}\n", encoding="utf-8")
    (folder / "b.delete.nt").write_text("\n".join(SENSOR) + "\n", encoding="utf-8")
    (folder / "c.delete.nt").write_text(f"{SENSOR[0]}\n", encoding="utf-8")
    with open_enricher(tbox, static, reasoner="own") as enricher:
        StaticFolder(folder, told.append).apply_new_files(enricher)
    assert [line.partition(": ")[2] for line in told] == [
        "put into the static data",
        "taken out of the static data: 1 assertion",
        "taken out of the static data: 0 assertions",
    ]


def test_a_folder_that_is_followed_by_the_command(tmp_path: Path) -> None:
    call, folder = (
        [*written(tmp_path), "-q", "--static-follow", tmp_path / "more"],
        tmp_path / "more",
    )
    assert shiq(*call).returncode != 0  # is not there
    folder.mkdir()
    (folder / "a.nt").write_text("\n".join(SENSOR) + "\n", encoding="utf-8")
    state = ("--out", tmp_path / "rows", "--checkpoint", tmp_path / "state")
    done = shiq(*call, *state)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "rows").read_text().splitlines()]
    assert f"{air.NS}CoronaAlert" in rows[4]["types"][f"{air.NS}o9"]
    (folder / "a.nt").write_text(SENSOR[0] + "\n", encoding="utf-8")
    changed = shiq(*call, *state)
    assert changed.returncode == 4 and "is not as it was when the checkpoint" in changed.stderr
    (folder / "a.nt").write_text(
        f"<{air.NS}room2> <{air.NS}hasActivity> <{air.NS}x> .\n<{air.NS}x> <{air.TYPE}> "
        f"<http://www.w3.org/2002/07/owl#Nothing> .\n",
        encoding="utf-8",
    )
    contradicting = shiq(*call)
    assert contradicting.returncode == 4 and f"{folder / 'a.nt'}: " in contradicting.stderr
    refused = shiq(*call, "--engine", "spark")
    assert refused.returncode == 2 and "Leave out --engine spark" in refused.stderr


def test_the_first_example_of_the_document_runs(tmp_path: Path) -> None:
    """As it stands there, files and all; its rows are those that come."""
    text = (ROOT / "docs" / "ENRICHMENT.md").read_text(encoding="utf-8")
    script, answer = re.findall(r"```sh\n(.*?)```\n+```json\n(.*?)```", text, re.DOTALL)[0]
    subprocess.run(
        ["bash", "-euc", f'shiq() {{ printf "%s\\n" "$@" > call; }}\n{script}'],
        cwd=tmp_path,
        check=True,
    )
    done = shiq(*(tmp_path / "call").read_text(encoding="utf-8").splitlines(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        json.loads(line) for line in answer.splitlines()
    ]
