"""What goes wrong while an event is decided: nothing false is kept, nothing waits unseen, and
the reason says a way out.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, write_deltalake

from shiq.abox_ops.entailment import Entailment
from shiq.answers.verdict import Verdict
from shiq.errors import UsageError
from shiq.functional.reader import parse_functional
from shiq.reasoner.jvm import Jvm
from shiq.streams.enrichment import Enricher, open_enricher
from shiq.streams.enrichment.enricher import SlowReasoningLog
from shiq.streams.enrichment.stream import EnrichmentCollector
from shiq.streams.front.event import Record
from shiq.streams.front.intake import RejectLog
from shiq.streams.front.local import LocalRunner
from shiq.streams.front.sinks import LinesFileSink

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
HEAD = "Prefix(:=<urn:t#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>) Ontology("
PLAIN = HEAD + "SubClassOf(ObjectSomeValuesFrom(:r :A) :B))"
NOMINAL = HEAD + "SubClassOf(ObjectIntersectionOf(:A ObjectOneOf(:n)) :B))"


def _opened(text: str, reasoner: str = "own", **settings: Any) -> Enricher:
    return open_enricher(parse_functional(text, "t", "").tbox, None, reasoner=reasoner, **settings)


def _is_a(one: str, name: str) -> str:
    return f"<urn:t#{one}> {TYPE} <urn:t#{name}> ."


@pytest.mark.jvm
def test_a_jvm_that_dies_in_a_miss_leaves_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.ofn").write_text(NOMINAL)
    with open_enricher(tmp_path / "t.ofn", None) as enricher:
        consistent = Jvm.is_consistent

        def dying(self: Jvm, *question: Any) -> bool:
            os.kill(self.pid, signal.SIGKILL)
            return consistent(self, *question)

        with monkeypatch.context() as patch:
            patch.setattr(Jvm, "is_consistent", dying)
            found = enricher.enrich([_is_a("n", "A")])
        assert (found.verdict, found.types, len(enricher.entries)) == (
            Verdict.UNDETERMINED,
            {},
            0,
        ) and found.reason
        again = enricher.enrich([_is_a("n", "A")])
        assert (again.hit, again.types) == (False, {"urn:t#n": {"urn:t#A", "urn:t#B"}})
        assert (enricher.counts.undetermined, enricher.enrich([_is_a("n", "A")]).hit) == (1, True)


def test_a_miss_past_its_time_is_open_and_is_asked_again() -> None:
    # A choice for each of many, which the Horn part does not decide.
    text = HEAD + "SubClassOf(:A ObjectUnionOf(:B :C)) SubClassOf(:A ObjectSomeValuesFrom(:r :A)))"
    event = [_is_a("x", "A")]
    with _opened(text) as enricher:
        enricher.realizer.timeout = 0.0
        found = enricher.enrich(event)
        assert (found.verdict, len(enricher.entries)) == (Verdict.UNDETERMINED, 0)
        assert "--timeout" in found.reason
        enricher.realizer.timeout = 60.0
        assert (enricher.enrich(event).types, enricher.enrich(event).hit) == (
            {"urn:t#x": {"urn:t#A"}},
            True,
        )


def test_an_event_of_ten_thousand_triples() -> None:
    lines = [f"<urn:t#x{n}> <urn:t#r> <urn:t#x{n + 1}> ." for n in range(9_999)] + [
        _is_a("x9999", "A")
    ]
    with _opened(PLAIN) as enricher:
        found = enricher.enrich(lines)
        types = found.types
        assert (found.verdict, len(types)) == (Verdict.CONSISTENT, 10_000)
        assert {one for one, names in types.items() if names} == {"urn:t#x9998", "urn:t#x9999"}


def test_two_hundred_symmetric_variables_are_bypassed_and_exact() -> None:
    lines = [f"<urn:t#v{n}> <urn:t#r> <urn:t#v{(n + 1) % 200}> ." for n in range(200)]
    with _opened(
        HEAD
        + "SubClassOf(ObjectSomeValuesFrom(:r ObjectSomeValuesFrom(:r owl:Thing)) :B))".replace(
            "owl:Thing", "<http://www.w3.org/2002/07/owl#Thing>"
        )
    ) as enricher:
        for _ in range(2):
            found = enricher.enrich(lines)
            assert (
                not found.hit
                and set(found.types.values()) == {frozenset(("urn:t#B",))}
                and len(found.types) == 200
            )
        assert (enricher.statistics["bypassed"], len(enricher.entries)) == (2, 0)


def test_two_workers_on_one_key_agree_and_one_entry_stays() -> None:
    with _opened(PLAIN) as enricher:
        reason, met = enricher.realizer.entailed_types, threading.Barrier(2)

        def together(assertions: Any) -> Entailment:
            met.wait(30)
            return reason(assertions)

        enricher.realizer.entailed_types = together  # type: ignore[method-assign]
        found: dict[str, Any] = {}

        def work(name: str) -> None:
            found[name] = enricher.enrich(
                [f"<urn:t#{name}> <urn:t#r> <urn:t#a{name}> .", _is_a(f"a{name}", "A")]
            )

        workers = [threading.Thread(target=work, args=(name,)) for name in "pq"]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert [found[name].types[f"urn:t#{name}"] for name in "pq"] == [{"urn:t#B"}] * 2
        assert not any(each.hit for each in found.values()) and len(enricher.entries) == 1
        enricher.realizer.entailed_types = reason  # type: ignore[method-assign]
        assert enricher.enrich(["<urn:t#z> <urn:t#r> <urn:t#y> .", _is_a("y", "A")]).hit


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.5, 0.99])
def test_entries_cut_short_anywhere_are_begun_anew(tmp_path: Path, share: float) -> None:
    file = tmp_path / "entries"
    events = [
        [_is_a("y", "A"), *(f"<urn:t#x{n}> <urn:t#r> <urn:t#y> ." for n in range(m))]
        for m in range(40)
    ]
    with _opened(PLAIN, entries=file) as enricher:
        expected = [enricher.enrich(event).types for event in events]
    whole = file.read_bytes()
    for _ in range(2):
        file.write_bytes(whole[: int(share * len(whole))])
        with _opened(PLAIN, entries=file) as enricher:
            # Where what was cut off held nothing, all is there.
            assert len(enricher.entries) == (0 if enricher.notes else len(events))
            assert [enricher.enrich(event).types for event in events] == expected
    with _opened(PLAIN, entries=file) as enricher:
        assert enricher.notes == [] and all(enricher.enrich(event).hit for event in events)


@pytest.mark.parametrize(("changed", "to"), [("entry", '["urn:t#A"'), ("key", "urn:t#r")])
def test_a_letter_changed_in_the_entries_is_seen(tmp_path: Path, changed: str, to: str) -> None:
    file, event = tmp_path / "entries", [_is_a("y", "A"), "<urn:t#x> <urn:t#r> <urn:t#y> ."]
    with _opened(PLAIN, entries=file) as enricher:
        expected = enricher.enrich(event).types
    with closing(sqlite3.connect(file)) as rows, rows:
        found = rows.execute(
            f"update entries set {changed} = replace({changed}, ?, ?)", (to, to.replace("t#", "u#"))
        )
        assert found.rowcount == 1
        assert rows.execute(
            "select count(*) from entries where instr(key || entry, 'u#')"
        ).fetchone() == (1,)
    with _opened(PLAIN, entries=file) as enricher:
        assert "damaged (a row is not as it was written)" in enricher.notes[0]
        found = enricher.enrich(event)
        assert (found.hit, found.types) == (False, expected)


def _delta(folder: Path) -> tuple[Path, list[list[str]], list[Any]]:
    """A table of entries made by two runs, a commit each; its events and their types."""
    file = folder / "entries.delta"
    events = [
        [_is_a("y", "A"), *(f"<urn:t#x{n}> <urn:t#r> <urn:t#y> ." for n in range(m))]
        for m in range(12)
    ]
    found = list[Any]()
    for part in (events[:8], events):
        with _opened(PLAIN, entries=file) as enricher:
            found = [enricher.enrich(event).types for event in part]
    return file, events, found


def test_two_processes_append_to_one_table_of_entries(tmp_path: Path) -> None:
    file, events, expected = _delta(tmp_path)
    table = DeltaTable(str(file))
    assert (table.version(), len(table.to_pyarrow_table())) == (1, len(events))
    new = [_is_a("z", "A"), "<urn:t#z> <urn:t#r> <urn:t#z> ."]
    with _opened(PLAIN, entries=file) as one, _opened(PLAIN, entries=file) as other:
        assert not one.enrich(new).hit and not other.enrich(new).hit
    with _opened(PLAIN, entries=file) as enricher:
        assert not enricher.notes and len(enricher.entries) == len(events) + 1
        assert [
            enricher.enrich(event).types for event in events
        ] == expected and enricher.statistics["hits"] == len(events)


@pytest.mark.parametrize(
    "damage", ["log", "log cut", "no log", "data", "data cut", "no data", "a letter"]
)
def test_a_table_of_entries_that_is_damaged_is_begun_anew(tmp_path: Path, damage: str) -> None:
    file, events, expected = _delta(tmp_path)
    log, data = (sorted(file.rglob(f"*.{ending}"))[0] for ending in ("json", "parquet"))
    part = log if "log" in damage else data
    if damage.startswith("no"):
        part.unlink()
    elif damage == "a letter":
        rows = DeltaTable(str(file)).to_pyarrow_table().to_pylist()
        rows[3]["entry"] = rows[3]["entry"].replace("urn:t#A", "urn:u#A")
        write_deltalake(str(file), pa.Table.from_pylist(rows), mode="overwrite")
    else:
        part.write_bytes(
            part.read_bytes()[: part.stat().st_size // 2] if "cut" in damage else b"{" * 50
        )
    with _opened(PLAIN, entries=file) as enricher:
        assert "damaged" in enricher.notes[0]
        assert [
            enricher.enrich(event).types for event in events
        ] == expected and enricher.statistics["hits"] == 0
    with _opened(PLAIN, entries=file) as enricher:
        assert enricher.notes == [] and all(enricher.enrich(event).hit for event in events)


def test_files_beside_entries_that_are_begun_anew_stay(tmp_path: Path) -> None:
    file, events, _ = _delta(tmp_path)
    written = set(file.glob("*.parquet"))
    DeltaTable(str(file)).create_checkpoint()
    sorted(file.glob("_delta_log/*.json"))[0].unlink()
    pq.write_table(pa.table({"mine": [1]}), file / "mine.parquet")
    with _opened(NOMINAL, entries=file) as enricher:
        assert enricher.notes and not enricher.enrich(events[0]).hit
    assert written and not any(part.exists() for part in written)
    assert pq.read_table(file / "mine.parquet").to_pydict() == {"mine": [1]}


def test_what_is_no_entries_is_left_alone(tmp_path: Path) -> None:
    names = (
        "file.delta",
        "folder.delta",
        "table.delta",
        "unreadable.delta",
        "text",
        "other.sqlite",
        "cut.sqlite",
        "folder",
    )
    places = [tmp_path / name for name in names]
    places[0].write_text("mine")
    for place in (places[1], places[-1]):
        (place / "x").mkdir(parents=True)
    for place in places[2:4]:
        write_deltalake(str(place), pa.table({"mine": [1]}))
    next(places[3].rglob("*.json")).write_text("{")
    places[4].write_text("mine")
    for place in places[5:7]:
        with closing(sqlite3.connect(place)) as other, other:
            other.execute("create table mine (x text)")
    places[6].write_bytes(places[6].read_bytes()[:5000])
    before = _held(tmp_path)
    for place in places:
        with pytest.raises(UsageError, match="Name another place"), _opened(PLAIN, entries=place):
            raise AssertionError(place)
    assert _held(tmp_path) == before


def _held(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_reason_says_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "t.ofn").write_text(
        HEAD + "SubClassOf(:A :B) SubClassOf(:A <http://www.w3.org/2002/07/owl#Strange>))"
    )
    with open_enricher(tmp_path / "t.ofn", None, reasoner="own") as enricher:
        found = enricher.enrich([_is_a("x", "A")])
        assert (
            found.verdict is Verdict.UNDETERMINED and "--allow unknown-vocabulary" in found.reason
        )
    with open_enricher(
        tmp_path / "t.ofn", None, reasoner="own", allow=["unknown-vocabulary"]
    ) as enricher:
        assert "urn:t#B" in enricher.enrich([_is_a("x", "A")]).types["urn:t#x"]


def test_a_slow_miss_is_told_and_rows_before_it_are_there(tmp_path: Path) -> None:
    told, seen = list[str](), list[str]()
    out = tmp_path / "rows"
    records = [
        Record("e", n, json.dumps({"t": n, "triples": [_is_a("x", c)]}).encode())
        for n, c in enumerate("AAC", 1)
    ]
    with (
        _opened(PLAIN) as enricher,
        closing(LinesFileSink(out)) as file,
        closing(SlowReasoningLog(told.append, silent=0.02)) as waiting,
    ):
        collector = EnrichmentCollector(
            enricher, file.write, RejectLog(), make_readable=file.make_readable
        )
        enricher.slow_log, waiting.before_reasoning = waiting, collector.show_rows
        stream = LocalRunner(collector)
        for record in records[:2]:
            stream.process(record)
        reason = enricher.realizer.entailed_types

        def slow(assertions: Any) -> Entailment:
            seen.extend(out.read_text().splitlines())
            until = time.monotonic() + 30
            while not told and time.monotonic() < until:
                time.sleep(0.005)
            return reason(assertions)

        enricher.realizer.entailed_types = slow  # type: ignore[method-assign]
        stream.process(records[2])
        stream.finish()
    assert [json.loads(row)["line"] for row in seen] == [1, 2]
    assert any("structure 2" in line for line in told)


def test_questions_are_counted_and_go_on_over_a_restart() -> None:
    text = HEAD + "SubClassOf(:A ObjectUnionOf(:B :C)))"
    record = Record("e", 1, json.dumps({"t": 1, "triples": [_is_a("x", "A")]}).encode())
    with _opened(text) as one, _opened(text) as other:
        first, second = (
            LocalRunner(EnrichmentCollector(each, lambda rows: None, RejectLog()))
            for each in (one, other)
        )
        before = one.statistics["reasoner_calls"]
        first.process(record)
        asked = one.statistics["reasoner_calls"]
        assert asked > before
        first.process(record)
        first.flush()
        assert one.statistics["reasoner_calls"] == asked and one.counts.hits == 1
        own = other.statistics["reasoner_calls"]
        second.restore(first.state())
        assert other.statistics["reasoner_calls"] == asked + own
