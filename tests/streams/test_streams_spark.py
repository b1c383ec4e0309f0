"""Streams on Spark give what one process gives, whatever the batches, files, tasks and deaths."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, write_deltalake

from shiq import model as owl
from shiq.errors import OperationalError
from shiq.functional.writer import axiom_text, ontology_text
from shiq.jobs.streaming.chunks import HEADER, encode_chunks
from shiq.jobs.streaming.ordering import EventOrderer
from shiq.jobs.streaming.sources import (
    advance_positions,
    list_source_files,
    ranges_between,
    read_records,
)
from shiq.model.abox import abox_of
from shiq.streams.consistency import StreamPlan, StreamResult, plan
from shiq.streams.consistency.check import run_consistency
from shiq.streams.consistency.operator import ConsistencySettings
from shiq.streams.front.checkpoint import CheckpointContent
from shiq.streams.front.event import Event, Record
from shiq.streams.front.intake import EventIntake, EventLimits, RejectLog, WatermarkTracker
from shiq.streams.front.operator import PartitionedEvents
from shiq.streams.front.run import open_run
from shiq.streams.front.sources import open_source
from tests.conftest import ROOT
from tests.streams_here import judged
from tests.streams_random import drawn, events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")


def ran(
    watched: StreamPlan,
    targets: Sequence[Path | str],
    session: SparkSession | None,
    folder: Path,
    *,
    static: Any = None,
    lateness: int = 0,
    checkpoint: Path | None = None,
    batch_bytes: int = 1 << 20,
    suffix: str = "jsonl",
) -> tuple[StreamResult, list[Any], list[Any]]:
    """The result, rows and rejects of a run, by Spark where there is a session; events go to two
    sides beside.
    """

    from shiq.jobs.streaming.session import run_on_spark

    folder.mkdir(exist_ok=True)
    out, rejects = folder / f"rows.{suffix}", folder / f"rejects.{suffix}"
    sources = [open_source(str(target)) for target in targets]
    sides = {name: str(folder / f"{name}.jsonl") for name in ("accepted", "quarantine")}
    drive = None
    if session is not None:
        how: dict[str, Any] = {"session": session, "batch_bytes": batch_bytes}
        drive = lambda run, watch: run_on_spark(watch, run, [*map(str, targets)], **how)  # noqa: E731
    with open_run(sources, {"out": str(out), "rejects": str(rejects), **sides}, checkpoint) as run:
        arrivals = EventIntake(
            WatermarkTracker(lateness), RejectLog(run.outputs.make_text_writer("rejects"))
        )
        result = run_consistency(run, watched, arrivals, ConsistencySettings(), static, drive=drive)
    return result, sorted(read(out), key=str), sorted(read(rejects), key=str)


def read(path: Path) -> list[Any]:
    if path.suffix != ".jsonl":
        table = (
            DeltaTable(str(path)).to_pyarrow_table()
            if path.suffix == ".delta"
            else pq.read_table(path)
        )
        return [
            {name: value for name, value in row.items() if value is not None}
            for row in table.to_pylist()
        ]
    return [json.loads(line) for line in path.read_text().splitlines()]


def assert_sides(one: Path, other: Path) -> None:
    """The accepted events, in their order, and those set aside, of runs in two folders."""
    assert (one / "accepted.jsonl").read_bytes() == (other / "accepted.jsonl").read_bytes()
    aside = [
        sorted((folder / "quarantine.jsonl").read_text().splitlines()) for folder in (one, other)
    ]
    assert aside[0] == aside[1]
    assert aside[0] and (one / "accepted.jsonl").stat().st_size


def assert_same(
    one: tuple[StreamResult, list[Any], list[Any]], other: tuple[StreamResult, list[Any], list[Any]]
) -> None:
    for name in ("spans", "verdicts", "verdict"):
        assert getattr(one[0], name) == getattr(other[0], name)
    assert sorted(map(repr, one[0].leftovers)) == sorted(map(repr, other[0].leftovers))
    assert one[1:] == other[1:]
    for name in ("events", "triples", "outside", "duplicates", "rejected"):
        assert one[0].statistics[name] == other[0].statistics[name]


def many(seeds: range, folder: Path, lateness: int) -> tuple[str, list[str]]:
    """An ontology file and lines of events of many random cases, each in a vocabulary of its
    own; with faults among them.
    """
    axioms, lines = list[str](), list[tuple[int, str]]()
    for seed in seeds:
        case, draw = drawn(seed), random.Random(seed)
        own = f"urn:{seed}-"
        names = [f"Declaration(Class(<{name}>))" for name in sorted(case.tbox.signature.classes)]
        names += [
            f"Declaration(ObjectProperty(<{name}>))"
            for name in sorted(case.tbox.signature.object_properties)
        ]
        axioms += [
            text.replace("urn:", own) for text in [*names, *map(axiom_text, case.tbox.axioms)]
        ]
        found = [json.dumps(event).replace("urn:", own) for event in events(case.stream)]
        # Some come later than they may.
        lines += [
            (t + draw.choice((*[0] * 9, lateness, lateness + 2)), text)
            for (t, _), text in zip(case.stream, found)
        ]
    lines += [
        (3, "{"),
        (5, ""),
        (6, '{"t": -1, "triples": []}'),
        (7, '{"t": 7000000, "triples": []}'),
    ]
    lines += [
        (
            t,
            json.dumps(
                {"t": t, "triples": [f"<urn:x{t}> <urn:unknown> <urn:y> ."], "id": f"e{t // 2}"}
            ),
        )
        for t in range(9)
    ]
    (folder / "onto.ofn").write_text("Ontology(<urn:many>\n" + "\n".join(axioms) + "\n)")
    return str(folder / "onto.ofn"), [text for _, text in sorted(lines, key=lambda line: line[0])]


def _folder_of_events(tmp_path: Path) -> tuple[StreamPlan, list[Path], list[str]]:
    """Twenty random streams at once: the plan, three files of a folder that are still to be
    written, the second packed; lines.
    """
    onto, lines = many(range(20), tmp_path, 1)
    (tmp_path / "events").mkdir()
    return (
        plan(onto, 3),
        [tmp_path / "events" / name for name in ("1.jsonl", "2.jsonl.gz", "3.jsonl")],
        lines,
    )


def _write(file: Path, lines: Sequence[str]) -> None:
    with gzip.open(file, "wt") if file.suffix == ".gz" else file.open("w") as written:
        written.write("\n".join(lines) + ("\n" if file.suffix == ".gz" else ""))


STATIC = abox_of([owl.ClassAssertion(owl.Class("urn:0-A"), "urn:0-x")])


@pytest.mark.slow
def test_random_streams(spark: SparkSession, tmp_path: Path) -> None:
    """One query in two batches."""
    from shiq.jobs.streaming.session import streaming_session

    session, _ = streaming_session()
    watched, files, lines = _folder_of_events(tmp_path)
    third = len(lines) // 3
    for n, file in enumerate(files):
        _write(file, lines[n * third : (n + 1) * third if n < 2 else None])
    one, other = (
        ran(
            watched,
            [files[0].parent],
            on,
            tmp_path / name,
            static=STATIC,
            lateness=1,
            batch_bytes=8_000,
        )
        for name, on in (("local", None), ("spark", session))
    )
    assert_same(one, other)
    assert_sides(tmp_path / "local", tmp_path / "spark")
    assert {leftover.kind for leftover in one[0].leftovers} == {
        "late",
        "ahead",
        "malformed",
        "undeclared",
    }
    assert one[0].spans and one[0].statistics["duplicates"]


@pytest.mark.slow
def test_messages_are_read_and_those_that_are_rejected_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Kafka's connector: rows of two batches, of a topic with one partition; no broker is
    needed.
    """
    from shiq.jobs.streaming import stateful_run
    from shiq.jobs.streaming.session import streaming_session

    session, _ = streaming_session()
    onto, lines = many(range(5), tmp_path, 1)
    lines, topic = [line for line in lines if line], "kafka://h:1/t"
    (tmp_path / "e.jsonl").write_text("\n".join(lines))
    (tmp_path / "messages").mkdir()
    for number, (low, high) in enumerate(((0, 60), (60, len(lines)))):
        columns: dict[str, Any] = {
            "number": pa.array([0] * (high - low), pa.int32()),
            "name": [topic] * (high - low),
        }
        columns |= {
            "partition": pa.array([0] * (high - low), pa.int32()),
            "offset": range(low + 1, high + 1),
        }
        columns["value"] = [line.encode() for line in lines[low:high]]
        pq.write_table(pa.table(columns), tmp_path / "messages" / f"{number}.parquet")

    def messages(session: SparkSession, *_: object) -> Any:
        read = session.readStream.schema(
            "number int, name string, partition int, offset long, value binary"
        )
        return read.option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "messages"))

    monkeypatch.setattr(stateful_run, "message_stream", messages)
    monkeypatch.setattr(
        "tests.streams.test_streams_spark.open_source", lambda name: SimpleNamespace(name=name)
    )
    other = ran(plan(onto, 3), [topic], session, tmp_path / "spark", lateness=1)
    monkeypatch.undo()
    one = ran(plan(onto, 3), [tmp_path / "e.jsonl"], None, tmp_path / "local", lateness=1)
    for found in (one, other):
        for reject in found[2]:
            del reject["source"]
    assert (
        sorted(other[2], key=str) == sorted(one[2], key=str)
        and other[1] == one[1]
        and other[0].spans == one[0].spans
    )
    assert {"late", "ahead", "malformed"} <= {reject["kind"] for reject in one[2]}
    assert_sides(tmp_path / "local", tmp_path / "spark")


@pytest.mark.slow
def test_a_query_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """From the checkpoint, with a file that came since."""
    from shiq.jobs.streaming.session import streaming_session

    session, _ = streaming_session()
    watched, files, lines = _folder_of_events(tmp_path)
    third, checkpoint = len(lines) // 3, tmp_path / "checkpoint"

    def both(number: int) -> StreamResult:
        one = ran(
            watched, [files[0].parent], None, tmp_path / f"local{number}", static=STATIC, lateness=1
        )
        how: dict[str, Any] = {
            "static": STATIC,
            "lateness": 1,
            "checkpoint": checkpoint,
            "batch_bytes": 20_000,
        }
        assert_same(one, ran(watched, [files[0].parent], session, tmp_path / "spark", **how))
        return one[0]

    _write(files[0], lines[:third])
    _write(files[1], lines[third : 2 * third])
    both(1)
    # As if Spark had been killed when we had the last batch, and it had not yet; it may have been
    # stopped so.
    last = json.loads((checkpoint / "checkpoint.json").read_bytes())["positions"]["batch"]
    for name in (f"{last}", f".{last}.crc"):
        (checkpoint / "spark" / "commits" / name).unlink(missing_ok=True)
    _write(files[2], lines[2 * third :])
    whole = both(2)
    assert_sides(tmp_path / "local2", tmp_path / "spark")
    assert whole.spans and whole.statistics["duplicates"]


def test_what_spark_cannot_do_is_refused_before_anything_is_touched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.streams.test_streams_consistency import AXIOMS
    from tests.streams.test_streams_consistency import ran as exit_code

    (tmp_path / "onto.ofn").write_text(ontology_text(AXIOMS, ()))
    kept = {name: tmp_path / name for name in ("e.jsonl", "out.jsonl")}
    for file in kept.values():
        file.write_text("kept")
    common = (
        "consistency",
        "--tbox",
        str(tmp_path / "onto.ofn"),
        "-w",
        "1",
        "--out",
        str(kept["out.jsonl"]),
        "--engine",
        "spark",
    )
    file = ("--source", str(kept["e.jsonl"]))
    for more, said in (
        (("--source", "-"), "- can be read only once"),
        ((*file, "--source", "socket://localhost:1"), "reads again after a task has failed"),
        (("--source", "rate://5"), "reads again after a task has failed"),
        ((*file, "--source", "kafka://localhost:1/t"), "cannot put files and topics in one order"),
    ):
        assert exit_code(*common, *more) == 2
        errors = capsys.readouterr().err
        assert said in errors and "--engine spark" in errors
    assert {file.read_text() for file in kept.values()} == {"kept"}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["e.jsonl", "onto.ofn", "out.jsonl"]


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "kind"), [("ntm", "parquet"), ("ltm", "delta")])
def test_tables_in_and_out(spark: SparkSession, tmp_path: Path, strategy: str, kind: str) -> None:
    """From a table of events to tables of rows and rejects, by bolts that all stand in one stage."""
    from shiq.jobs.streaming.session import streaming_session

    session, _ = streaming_session()
    onto, lines = many(range(30, 50), tmp_path, 1)
    found = [
        event
        for line in lines
        if line.endswith("}") and (event := json.loads(line))["triples"] and event["t"] < 100
    ]
    terms = [
        (*triple.removesuffix(" .").split(" ", 2), event["t"])
        for event in found
        for triple in event["triples"]
    ]
    terms += [("urn:bare", "<urn:p>", "<urn:o>", 4), (None, "<urn:p>", "<urn:o>", 5)]
    terms.sort(key=lambda row: row[3])
    table = pa.table({name: list(column) for name, column in zip("spot", zip(*terms))})
    source = tmp_path / f"events.{kind}"
    if kind == "parquet":
        source.mkdir()
        for number, low in enumerate(range(0, len(terms), 100)):
            pq.write_table(table.slice(low, 100), source / f"{number}.parquet")
    else:
        write_deltalake(str(source), table)
    watched = plan(onto, 3, strategy, (1,))
    assert len(watched.bolts) == {"ltm": 2, "ntm": 1, "mask": 0}[strategy]
    one = ran(watched, [source], None, tmp_path / "local", suffix=kind)
    other = ran(
        watched, [source], session, tmp_path / "spark", suffix=kind, batch_bytes=len(terms) * 50
    )
    assert_same(one, other)
    assert_sides(tmp_path / "local", tmp_path / "spark")
    assert one[1] and {row["kind"] for row in one[2]} == {"malformed", "undeclared"}


@pytest.mark.slow
def test_a_command_against_a_store(spark: SparkSession, tmp_path: Path) -> None:
    """A stream checked against a store: the files of one process, row by row."""
    from shiq.jobs.checking.calls import index
    from tests.streams.test_streams_consistency import AXIOMS, T, event, isa
    from tests.streams.test_streams_consistency import ran as exit_code

    role = owl.ObjectProperty(T + "p")
    limit = owl.SubClassOf(owl.Class(T + "Student"), owl.ObjectMaxCardinality(1, role))
    (tmp_path / "onto.ofn").write_text(ontology_text((*AXIOMS, limit), ()))
    (tmp_path / "base.nt").write_text(
        f"<{T}bob> <{T}p> <{T}ann> .\n<{T}ann> <{owl.OWL}differentFrom> <{T}eve> .\n"
    )
    index([str(tmp_path / "onto.ofn")], [str(tmp_path / "base.nt")], str(tmp_path / "kg"))
    stream = [
        event(1, isa("bob", "Student")),
        event(3, f"<{T}bob> <{T}p> <{T}eve> ."),
        event(5, isa("tom", "Student"), isa("tom", "Publication")),
        event(9, isa("zoe", "Student"), "no triple"),
        event(30),
    ]
    lines = ["", *map(json.dumps, stream[:3]), "", "{", *map(json.dumps, stream[3:])]
    (tmp_path / "e.jsonl").write_text("\n".join(lines))
    asked = [
        "consistency",
        "--window",
        "3",
        "-q",
        "--allow",
        "outside-dl-lite",
        "--store",
        str(tmp_path / "kg"),
        "--every",
        "2",
    ]
    asked += ["--to", "20", "--source", str(tmp_path / "e.jsonl")]
    outputs = ("out", "verdicts", "rejects", "accepted", "quarantine")
    files = dict[str, list[list[str]]]()
    for engine in ("local", "spark"):
        made = [tmp_path / f"{engine}-{name}" for name in outputs]
        to = [word for name, file in zip(outputs, made) for word in (f"--{name}", str(file))]
        assert exit_code(*asked, *to, "--engine", engine) == 1
        files[engine] = [sorted(file.read_text().splitlines()) for file in made]
    assert files["spark"] == files["local"]
    assert [json.loads(row)["line"] for row in files["local"][2]] == [6, 7]
    assert sum('"store"' in row for row in files["local"][0]) >= 3 and all(files["local"][3:])


@pytest.mark.slow
def test_spark_shows_which_system_its_query_and_jobs_are_of_and_what_came_of_a_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    from shiq.jobs.streaming import stateful_run
    from shiq.jobs.streaming.session import streaming_session

    session, _ = streaming_session()
    onto, lines = many(range(3), tmp_path, 1)
    (tmp_path / "e.jsonl").write_text("\n".join(lines))
    shown, metrics, reports = list[str](), list[dict[str, int]](), list[Any]()

    class Reports(StreamingQueryListener):
        def onQueryProgress(self, event: Any) -> None:
            reports.append(
                (
                    event.progress.name,
                    {name: row.asDict() for name, row in event.progress.observedMetrics.items()},
                )
            )

        def onQueryStarted(self, event: Any) -> None:
            """Nothing."""

        def onQueryTerminated(self, event: Any) -> None:
            """Nothing."""

    def describing(inner: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            shown.append(session.sparkContext.getLocalProperty("spark.job.description") or "")
            shown.extend(found.name or "" for found in session.streams.active)
            found = inner(*given, **named)
            metrics.extend([dict(found)] if isinstance(found, dict) else [])
            return found

        return call

    monkeypatch.setattr(
        stateful_run.StatefulRun, "_step_batch", describing(stateful_run.StatefulRun._step_batch)
    )
    monkeypatch.setattr(stateful_run, "final_rows_task", describing(stateful_run.final_rows_task))
    session.streams.addListener(listener := Reports())
    try:
        ran(plan(onto, 3), [tmp_path / "e.jsonl"], session, tmp_path / "spark", batch_bytes=3_000)
        jvm: Any = session.sparkContext._jsc
        jvm.sc().listenerBus().waitUntilEmpty()
    finally:
        session.streams.removeListener(listener)
    name = "shiq stream consistency"
    assert shown[0].splitlines()[0] == name and shown[1] == name
    assert shown[-1] == f"{name}: the end of the input"
    assert session.sparkContext.getLocalProperty("spark.job.description") is None
    told = [
        {key: value for key, value in found[name].items() if value is not None}
        for _, found in reports
        if found
    ]
    told = [found for found in told if found]  # a tick with nothing to read tells nothing
    assert {said for said, _ in reports} == {name} and len(metrics) > 1
    assert (
        told == metrics[: len(told)] and len(told) >= len(metrics) - 1
    )  # Spark may not report on a batch in whose midst it is stopped
    assert sum(found["rows"] for found in told) and sum(found["rejects"] for found in told)


def test_each_system_has_its_name() -> None:

    from shiq.jobs.commands.stream import COMMANDS
    from shiq.streams.consistency.operator import ConsistencyCollector
    from shiq.streams.discovery.stream import DiscoveryCollector
    from shiq.streams.enrichment.stream import EnrichmentCollector
    from shiq.streams.rules.stream import RulesCollector

    systems = (ConsistencyCollector, DiscoveryCollector, EnrichmentCollector, RulesCollector)
    assert {system.name for system in systems} == COMMANDS.keys() - {"plan"}  # type: ignore[attr-defined]


def test_no_start_asks_the_network_for_the_version_of_kafkas_connector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import socket

    import pyspark

    from shiq.jobs.streaming import session

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network is asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.delenv("SHIQ_KAFKA_JARS", raising=False)
    for version, wanted in (("4.1.4", "4.1.1"), ("4.9.3", "4.9.3")):
        monkeypatch.setattr(pyspark, "__version__", version)
        assert session._connector_settings() == {
            "spark.jars.packages": f"org.apache.spark:spark-sql-kafka-0-10_2.13:{wanted}"
        }


# --- parts, without Spark -------------------------------------------------------------------------


class _Numbers:
    """A system that puts an event into the bucket of its time, and refuses those whose triples
    say so.
    """

    limits = EventLimits(lateness=2, max_ahead=50, window=3, start=2, end=90)
    buckets, shows_events = 3, False

    def partition_events(self, events: Sequence[Event | None]) -> PartitionedEvents:
        found = [(n, event) for n, event in enumerate(events) if event is not None]
        parts = {}
        for bucket in range(self.buckets):
            own = [(n, event.t) for n, event in found if event.t % self.buckets == bucket]
            if own:
                parts[bucket] = dict(zip(("event", "t"), np.array(own).T))
        return PartitionedEvents(
            parts,
            [(n, "malformed", "so", "text") for n, event in found if event.triples],
            {"seen": len(found)},
        )

    def open_state(self, bucket: int, state: bytes | None) -> Any:
        raise NotImplementedError


def _obvious(
    lines: Sequence[bytes], limits: EventLimits
) -> tuple[list[int], list[Any], EventIntake]:
    """The times that are used, and the rejects, record by record."""
    told: list[Any] = []
    arrivals = EventIntake(
        WatermarkTracker(limits.lateness, limits.max_ahead),
        RejectLog(lambda rows: told.extend(map(json.loads, rows))),
        window=limits.window,
    )
    used = []
    for number, line in enumerate(lines, 1):
        record = Record("f", number, line)
        event = arrivals.read_and_admit(record) if line else None
        if event is not None and (limits.start or 0) <= event.t <= (limits.end or event.t):
            used.append(event.t)
            if event.triples:
                arrivals.rejects.add_reject("malformed", "f", number, "so", "text")
    return used, told, arrivals


def _place(*numbers: Any) -> list[Any]:
    """Of a chunk: what is known of its piece, then its number there."""
    *piece, _, number = numbers
    return [0, *piece, number]


def test_order_and_lateness_are_judged_as_one_by_one() -> None:
    asked, batches_seen = list[str](), 0
    for seed in range(150):
        draw, t, lines = random.Random(seed), 0, list[bytes]()
        faults = draw.choice((0.0, 0.1, 0.4))
        for _ in range(draw.randint(0, 40)):
            t += draw.choice((0, 0, 1, 1, 2, 30 if faults else 0))
            event: dict[str, Any] = {
                "t": max(t - draw.choice((0, 0, 1, 2, 5 if faults else 0)), 0),
                "triples": [],
            }
            if draw.random() < faults:
                event |= draw.choice(
                    ({"id": draw.choice("ab")}, {"triples": ["x"]}, {"t": 1.5}, {"t": t + 60})
                )
            lines.append(b"" if draw.random() < faults / 4 else json.dumps(event).encode())
        system, used, told = _Numbers(), list[int](), list[Any]()
        want, rejects, arrivals = _obvious(lines, system.limits)
        cuts = sorted(draw.sample(range(len(lines) + 1), min(3, len(lines) + 1)))
        batches = [lines[low:high] for low, high in zip([0, *cuts], [*cuts, len(lines)])]
        done, counts, state, by_batches = 0, {"duplicates": 0, "events": 0}, None, list[str]()
        for batch in batches:
            rows, texts = list[Any](), dict[str, dict[int, str]]()
            half = draw.randint(0, len(batch))
            for n, piece in enumerate((batch[:half], batch[half:])):
                found = [Record("f", i, line) for i, line in enumerate(piece, 1)]
                rows += encode_chunks(
                    found, system, partial(_place, done, n), source="f", position=("f", done + n)
                )
                texts[rows[-1][1] if rows else ""] = {record.line: record.text for record in found}
            done += len(batch)
            draw.shuffle(rows)
            order = EventOrderer(system.limits)
            if state is not None:
                order.restore(json.loads(state))
            last, parts, here = judged(order, rows, texts)
            by_batches, batches_seen = by_batches + here.asked, batches_seen + 1
            told += [
                dict(zip(("kind", "source", "line", "reason", "text"), reject))
                for reject in last.rejects
            ]
            counts = {name: counts[name] + last.counts[name] for name in counts}
            for bucket, tables in parts.items():
                times = [time for table in tables for time in table["t"].tolist()]
                assert {time % 3 for time in times} <= {bucket}
                used += times
            state = json.dumps(order.state())
        asked += by_batches
        assert "texts" not in by_batches or {row["kind"] for row in rejects} & {"late", "ahead"}, (
            seed
        )
        assert (sorted(used), told) == (
            sorted(want),
            sorted(rejects, key=lambda row: row["line"]),
        ), seed
        assert last.stream_time == (
            arrivals.first,
            arrivals.tracker.newest,
            arrivals.tracker.watermark,
        )
        assert counts == {"duplicates": arrivals.duplicates, "events": len(used)}
    # Mostly the heads say enough; each of both ways was gone.
    assert asked.count("times") < 0.6 * batches_seen and asked.count("texts") > 20


def test_the_order_sees_nothing_of_events_without_ids_that_are_in_time() -> None:
    """Neither times nor texts: only a head a chunk, whatever is in the chunk. An id, a late
    event and a broken line each ask.
    """
    system, draw = _Numbers(), random.Random(1)

    def batch(*more: bytes) -> tuple[list[Any], dict[str, dict[int, str]]]:
        lines = [
            json.dumps({"t": 10 + n // 9 - draw.randint(0, 1), "triples": []}).encode()
            for n in range(300)
        ]
        rows, texts = list[Any](), dict[str, dict[int, str]]()
        for low in range(0, 300, 50):
            found = [
                Record("f", n, line)
                for n, line in enumerate([*lines[low : low + 50], *(more if low == 100 else ())], 1)
            ]
            made = list(encode_chunks(found, system, partial(_place, 0, low), source="f"))
            texts[made[0][1]] = {record.line: record.text for record in found}
            rows += made
        return rows, texts

    for more, asked in (
        ((), []),
        ((b'{"t": 26, "triples": [], "id": "a"}',), ["times"]),
        ((b"{",), ["times"]),
        ((b'{"t": 3, "triples": ["secret"]}',), ["times", "texts"]),
    ):
        rows, texts = batch(*more)
        heads = [data for bucket, _, data in rows if bucket == HEADER]
        assert max(map(len, heads)) < 500 and not any(
            b"secret" in data for bucket, _, data in rows if bucket < 0
        )
        told, _, here = judged(EventOrderer(system.limits), rows, texts)
        assert (here.asked, told.counts["events"]) == (
            asked,
            300 + (more != () and b'"id"' in more[0]),
        )
        assert [reject[4] for reject in told.rejects] == [
            line.decode() for line in more if b'"id"' not in line
        ]


def test_partitions_of_a_topic_go_side_by_side() -> None:
    system, rows = _Numbers(), list[Any]()
    for partition in (1, 0):
        found = [
            Record(f"k/{partition}", n, json.dumps({"t": 2 + n, "triples": []}).encode())
            for n in range(30)
        ]
        for low in range(0, 30, 7 + partition):
            chunk = found[low : low + 7 + partition]
            rows += encode_chunks(
                chunk,
                system,
                lambda first, _, p=partition: [0, first.line, p],
                source=f"k/{partition}",
                is_topic=True,
            )
    told, _, here = judged(EventOrderer(system.limits), rows)
    assert (told.counts["events"], told.rejects, told.stream_time.newest) == (60, [], 31)
    assert here.asked == ["times"]


def test_pieces_have_all_lines_once(tmp_path: Path) -> None:
    draw = random.Random(1)
    for name in ("a", "b"):
        texts = [b"" if draw.random() < 0.1 else b"x" * draw.randint(1, 90) for _ in range(200)]
        (tmp_path / name).write_bytes(b"\n".join(texts))
    there = list_source_files([str(tmp_path)])
    for most in (1, 50, 1000, 10**6):
        at: dict[str, int] = {}
        found = list[tuple[str, bytes]]()
        while (then := advance_positions(there, at, most)) != at:
            for piece in ranges_between(there, at, then, max(most // 3, 1)):
                lines = list(read_records(piece, "sec"))
                assert [record.line for record in lines] == list(range(1, len(lines) + 1))
                found += [(record.source, record.data) for record in lines]
            at = then
        whole = [
            (str(tmp_path / name), line)
            for name in ("a", "b")
            for line in (tmp_path / name).read_bytes().split(b"\n")
        ]
        assert found == (whole if whole[-1][1] else whole[:-1]), most


def test_lines_that_are_still_written_wait(tmp_path: Path) -> None:
    file = tmp_path / "e.jsonl"
    file.write_bytes(b"one\ntw")
    assert [unit.size for unit in list_source_files([str(file)], follow=True)] == [4]
    assert [unit.size for unit in list_source_files([str(file)])] == [6]
    file.write_bytes(b"x" * 200_000)
    assert [unit.size for unit in list_source_files([str(file)], follow=True)] == [0]


@pytest.mark.parametrize("moves", [True, False])
def test_a_query_that_a_busy_machine_ends_is_begun_again_as_long_as_batches_come(
    moves: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.errors import PySparkException

    from shiq.jobs.streaming import stateful_run

    begun = list[int]()

    class Busy(stateful_run.StatefulRun):
        def _check_start(self) -> None:
            """Nothing is kept."""

        def _last_rows(self, *_: Any) -> list[Any]:
            return []

        def _start_query(self, *_: Any) -> Any:
            begun.append(len(begun))
            self.batch += moves
            if len(begun) < 20:
                raise PySparkException("Python worker failed to connect back.")

        def _wait_for_query(self, *_: Any) -> None:
            """The input is over."""

    monkeypatch.setattr(stateful_run, "list_source_files", lambda *_, **__: [])
    run: Any = SimpleNamespace(saved_content=None, checkpoint=None)
    session: Any = SimpleNamespace(
        sparkContext=SimpleNamespace(broadcast=lambda _: SimpleNamespace(destroy=lambda: None))
    )
    busy = Busy(session, None, None, run, ["events"])
    monkeypatch.setattr(busy, "_has_more_input", lambda follow: True)
    if moves:
        assert busy.drive() == [] and len(begun) == 20
    else:
        with pytest.raises(OperationalError, match="connect back"):
            busy.drive()
        assert len(begun) == 5


@pytest.mark.parametrize(
    "positions",
    [{"batch": 3, "moment": [1, 5, 4], "read": {}}, {"layout": 1, "batch": 3, "read": {}}],
)
def test_a_checkpoint_of_another_layout_is_refused_before_spark_is_started(
    positions: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiq.jobs.streaming import session

    def start(*_: object, **__: object) -> None:
        raise AssertionError("Spark is started")

    monkeypatch.setattr(session, "streaming_session", start)
    (tmp_path / "e.jsonl").write_text('{"t": 1, "triples": []}\n')
    sources, targets = [open_source(str(tmp_path / "e.jsonl"))], {"out": str(tmp_path / "rows")}
    with open_run(sources, targets, tmp_path / "state") as run:
        assert run.checkpoint is not None
        run.checkpoint.save(CheckpointContent(positions, run.outputs.flush(), b"{}"))
    face: Any = SimpleNamespace(system=None)
    with (
        open_run(sources, targets, tmp_path / "state") as run,
        pytest.raises(OperationalError, match="another version") as refused,
    ):
        session.run_on_spark(face, run, [str(tmp_path / "e.jsonl")])
    assert (
        "Remove the directory" in str(refused.value.remedy)
        and (tmp_path / "state" / "checkpoint.json").exists()
    )


def test_states_of_buckets_are_read_as_written_or_not_at_all(tmp_path: Path) -> None:
    from shiq.jobs.streaming.buckets import BucketStates

    states = BucketStates(tmp_path, 2)
    assert states.read_state(-1, 0) is None
    for batch in (0, 1):
        for bucket in range(2):
            states.write_state(batch, bucket, bytes([batch, bucket]) * 9)
    states.check_complete(1)
    states.remove_other_batches(1)
    assert [path.name for path in tmp_path.iterdir()] == ["1"] and states.read_state(
        1, 1
    ) == b"\1\1" * 9
    file = tmp_path / "1" / "0"
    file.write_bytes(file.read_bytes()[:-1])
    for broken, said in ((0, "damaged"), (2, "cannot be read")):
        with pytest.raises(OperationalError, match=said):
            BucketStates(tmp_path, broken + 1).check_complete(1)
        states.write_state(1, 0, b"")


# --- deaths ---------------------------------------------------------------------------------------


def program(onto: str, source: str, folder: str, master: str) -> None:
    """A run in small batches, with a checkpoint, in a process that may be killed."""
    from shiq.jobs.spark.session import stop_session
    from shiq.jobs.streaming.session import streaming_session

    session, _ = streaming_session(master)
    place = Path(folder)
    ran(
        plan(onto, 3),
        [source],
        session,
        place,
        lateness=1,
        checkpoint=place / "checkpoint",
        batch_bytes=10_000,
    )
    stop_session(session)


def _begin(onto: str, source: Path | str, folder: Path, master: str) -> subprocess.Popen[bytes]:
    call = f"program({onto!r}, {str(source)!r}, {str(folder)!r}, {master!r})"
    code = f"from tests.streams.test_streams_spark import program; {call}"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=log, stderr=log
        )


def _wait_for_batch(process: subprocess.Popen[bytes], folder: Path, number: int) -> None:
    """Until the checkpoint has so many batches."""
    file, deadline = folder / "checkpoint" / "checkpoint.json", time.monotonic() + 600
    while not file.exists() or json.loads(file.read_bytes())["positions"]["batch"] < number:
        assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()[
            -3000:
        ]
        time.sleep(0.1)


def _case(tmp_path: Path) -> tuple[str, Path, Path]:
    onto, lines = many(range(100, 160), tmp_path, 1)
    source, folder = tmp_path / "events.jsonl", tmp_path / "spark"
    source.write_text("\n".join(lines))
    folder.mkdir()
    return onto, source, folder


def _same_as_local(onto: str, source: Path, folder: Path) -> None:
    _, rows, rejects = ran(plan(onto, 3), [source], None, folder.parent / "local", lateness=1)
    assert rows and rejects
    assert sorted(read(folder / "rows.jsonl"), key=str) == rows
    assert sorted(read(folder / "rejects.jsonl"), key=str) == rejects
    assert_sides(folder.parent / "local", folder)


@pytest.mark.slow
@pytest.mark.spark
def test_a_driver_is_killed(tmp_path: Path) -> None:
    onto, source, folder = _case(tmp_path)
    for batch in (0, 2):
        killed = _begin(onto, source, folder, "local[2]")
        _wait_for_batch(killed, folder, batch)
        killed.kill()
        killed.wait()
    assert _begin(onto, source, folder, "local[2]").wait() == 0, (folder / "log").read_text()[
        -3000:
    ]
    _same_as_local(onto, source, folder)


@pytest.mark.slow
@pytest.mark.spark
def test_an_executor_is_killed(tmp_path: Path) -> None:
    from tests.spark_cluster import cluster, kill_a_worker

    onto, source, folder = _case(tmp_path)
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as made:
        process = _begin(onto, source, folder, made.url)
        _wait_for_batch(process, folder, 0)
        kill_a_worker(made)
        assert process.wait() == 0, (folder / "log").read_text()[-3000:]
    _same_as_local(onto, source, folder)


_TASK = """
import json, sys
import numpy as np
from shiq.jobs.streaming.chunks import table_to_columns, decode_table, encode_chunks
from shiq.streams.consistency.operator import ConsistencyOperator, StaticAssertions
from shiq.streams.front.intake import EventLimits, StreamTime
from shiq.streams.consistency import plan
from shiq.streams.front.event import Record

triple = "<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:C> ."
record = Record("e", 1, json.dumps({"t": 1, "triples": [triple]}).encode())
none = np.empty(0, np.int64)
static = StaticAssertions({}, [], none, none)
system = ConsistencyOperator(plan(sys.argv[1], 3), static, EventLimits(), buckets=32)
rows = encode_chunks([record], system, lambda first, number: [0], source="e")
(bucket, part), *_ = [(bucket, decode_table(data)) for bucket, _, data in rows if bucket >= 0]
system.open_state(bucket, None).step([table_to_columns(part)], StreamTime(1, 1, 1))
assert "pandas" not in sys.modules
"""


def test_tasks_import_no_pandas(tmp_path: Path) -> None:
    """It costs each worker half a second and 40 MB."""
    axioms = (
        "Declaration(Class(<urn:C>)) Declaration(Class(<urn:D>)) DisjointClasses(<urn:C> <urn:D>)"
    )
    (onto := tmp_path / "t.ofn").write_text(f"Ontology(<urn:o> {axioms})")
    subprocess.run([sys.executable, "-c", _TASK, str(onto)], check=True, timeout=60, cwd=ROOT)
