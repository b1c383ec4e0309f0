"""Events enriched on Spark: the rows of one process, whatever the batches and deaths."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from jobs.evaluation.streams import building
from jobs.streaming.pieces import advanced, between, records, units
from shiq.errors import UsageError
from streams.enrichment import Enricher, open_enricher
from streams.enrichment.stream import EnrichedStream
from streams.front.rejects import RejectLog
from streams.front.result import StreamAnswer
from streams.front.run import started
from streams.front.sources import open_source
from tests.conftest import ROOT
from tests.tools.kafka_broker import absent, broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

#: What may differ: where the time went; and what is asked when a reasoner is opened.
UNLIKE = ("seconds", "reasoner_calls", "bytes")


def _opened(folder: Path, **settings: Any) -> Enricher:
    mapping = {"mapping": folder / "mapping.rml.ttl", "stream": "readings"}
    return open_enricher(
        folder / "building.ofn", **mapping, static_types=True, reasoner="own", **settings
    )


def ran(
    made: Path,
    source: Path,
    session: SparkSession | None,
    folder: Path,
    *,
    batch_bytes: int = 1 << 20,
    **settings: Any,
) -> tuple[StreamAnswer, list[str], list[str]]:
    """The result, rows and rejects of a run, by Spark where there is a session; it goes on from
    its checkpoint.
    """
    from jobs.streaming.enrich import EnrichedBatches, OrderedRows
    from jobs.streaming.session import on_spark

    folder.mkdir(exist_ok=True)
    out, rejects = folder / "rows", folder / "rejects"
    targets = {"out": str(out), "rejects": str(rejects)}
    with (
        _opened(made, **settings) as enricher,
        started([open_source(str(source))], targets, folder / "checkpoint") as run,
    ):
        stream = EnrichedStream(
            enricher, run.outputs.texts("out"), RejectLog(run.outputs.texts("rejects"))
        )
        if session is None:
            result = run.drive(stream)
        else:
            how: dict[str, Any] = {
                "session": session,
                "batches": EnrichedBatches,
                "batch_bytes": batch_bytes,
            }
            result = on_spark(OrderedRows(stream), run, [str(source)], **how)
    return result, out.read_text().splitlines(), rejects.read_text().splitlines()


def _records(made: Path, count: int, seed: int) -> list[str]:
    """Readings of five rooms; some are broken, lack a value, are of nobody known, or blank."""
    building.write(made, 5, count)
    draw = random.Random(seed)
    lines = (made / "readings.jsonl").read_text().splitlines()
    for n in draw.sample(range(count), count // 10):
        lines[n] = draw.choice(
            (
                "{",
                "",
                '{"reading": "r", "sensor": "sensor1"}',
                lines[n].replace("sensor", "thing", 2),
            )
        )
    return lines


def _assert_same(
    one: tuple[StreamAnswer, list[str], list[str]], other: tuple[StreamAnswer, list[str], list[str]]
) -> None:
    assert one[1:] == other[1:]
    assert one[0].verdict is other[0].verdict and one[0].leftovers == other[0].leftovers
    for name, value in one[0].statistics.items():
        assert name in UNLIKE or value == other[0].statistics[name], name


class _Here:
    """In place of what tasks are sent."""

    def __init__(self, value: Any) -> None:
        self.value = value


@pytest.mark.parametrize(("policy", "capacity"), [("mru", 4), ("lru", None), ("fifo", 0)])
def test_chunks_in_any_cut_are_one_process(
    tmp_path: Path, policy: str, capacity: int | None
) -> None:
    from jobs.streaming.enrich import OrderedRows
    from jobs.streaming.event_keys import chunks_of, reasoned

    lines, draw = _records(tmp_path, 80, 1), random.Random(policy)
    source = tmp_path / "e.jsonl"
    source.write_text("\n".join(lines) + "\n")
    _, rows, _ = ran(tmp_path, source, None, tmp_path / "local", policy=policy, capacity=capacity)
    found, asked = list[str](), list[str]()
    with _opened(tmp_path, policy=policy, capacity=capacity) as enricher:
        stream = EnrichedStream(enricher, found.extend, RejectLog())
        listener = OrderedRows(stream)
        system = _Here(listener.system)
        there, at = units([str(source)]), dict[str, int]()
        while (then := advanced(there, at, draw.randint(1, 3_000))) != at:
            known = _Here(dict(enricher.entries))

            def here(unknown: Any) -> Any:
                asked.extend(text for text, _ in unknown)
                return list(reasoned(system, draw.sample(unknown, len(unknown))))  # type: ignore[arg-type]

            chunks = list[tuple[str, bytes]]()
            for number, piece in enumerate(between(there, at, then, 1_000)):
                how: dict[str, Any] = {
                    "known": known,
                    "source": str(source),
                    "position": (piece.unit.key, piece.high),
                }
                made = chunks_of(
                    records(piece, "sec"), system.value, lambda _, n, at=number: [at, n], **how
                )  # type: ignore[misc]
                chunks += [(place, data) for _, place, data in made]
            draw.shuffle(chunks)
            at = {**at, **listener.hear(chunks, known.value, here)}
            # A checkpoint takes the lengths of outputs from here.
            assert len(found) == enricher.counts.events
            if draw.random() < 0.3:
                listener.restore(listener.state())
        stream.finish()
    assert found == rows and at == then
    assert capacity is not None or len(asked) == len(set(asked))


@pytest.mark.parametrize("name", ["entries", "entries.delta"])
@pytest.mark.parametrize("deadly", [True, False])
def test_entries_are_stored_when_the_checkpoint_has_their_batch(
    tmp_path: Path, name: str, deadly: bool
) -> None:
    """A batch is done again by another process after a death; or all are done by one."""
    from jobs.streaming.enrich import OrderedRows
    from jobs.streaming.event_keys import chunks_of, reasoned

    source, file = tmp_path / "e.jsonl", tmp_path / name
    source.write_text("\n".join(_records(tmp_path, 60, 1)) + "\n")
    _, rows, _ = ran(tmp_path, source, None, tmp_path / "local")
    there, at = units([str(source)]), dict[str, int]()
    saved, found, told = b"", list[str](), list[str]()

    def process() -> OrderedRows:
        listener = OrderedRows(
            EnrichedStream(_opened(tmp_path, entries=file), told.extend, RejectLog())
        )
        if saved:
            listener.restore(saved)
        return listener

    def hear(listener: OrderedRows, batch: dict[str, int]) -> None:
        system, chunks = _Here(listener.system), list[tuple[str, bytes]]()
        known = _Here(dict(listener.stream.enricher.entries))
        for number, piece in enumerate(between(there, at, batch, 1_000)):
            how: dict[str, Any] = {
                "known": known,
                "source": str(source),
                "position": (piece.unit.key, piece.high),
            }
            made = chunks_of(
                records(piece, "sec"), system.value, lambda _, n, at=number: [at, n], **how
            )  # type: ignore[misc]
            chunks += [(place, data) for _, place, data in made]
        listener.hear(chunks, known.value, lambda unknown: list(reasoned(system, unknown)))  # type: ignore[arg-type]

    listener = process()
    while (then := advanced(there, at, 2_000)) != at:
        for dies in (True, False) if deadly else (False,):
            told.clear()
            hear(listener, then)
            if dies:
                listener.stream.enricher.realizer.close()  # whoever is killed stores nothing
                listener = process()
        saved, found, at = listener.state(), found + told, {**at, **then}
    assert found == rows
    listener.finish([])
    listener.stream.enricher.close()
    with _opened(tmp_path, entries=file) as enricher:
        assert (
            not enricher.notes
            and len(enricher.entries) == len(listener.stream.enricher.entries) > 5
        )
    if file.suffix:
        assert len(DeltaTable(str(file)).to_pyarrow_table()) == len(enricher.entries)


@pytest.mark.slow
def test_rows_are_those_of_one_process(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.streaming.session import streaming_session

    session, _ = streaming_session()
    lines = _records(tmp_path, 300, 1)
    folder = tmp_path / "events"
    folder.mkdir()
    for number, (low, high) in enumerate(((0, 200), (200, 300))):
        (folder / f"{number}.jsonl").write_text("\n".join(lines[low:high]) + "\n")
        both = [
            ran(tmp_path, folder, by, tmp_path / name, capacity=6)
            for by, name in ((None, "local"), (session, "spark"))
        ]
        _assert_same(both[0], both[1])
    rows = [json.loads(line) for line in both[1][1]]
    assert {row["verdict"] for row in rows} == {"consistent", "undetermined"} and len(rows) > 280


def test_what_is_of_one_process_is_refused(tmp_path: Path) -> None:
    from jobs.streaming.enrich import OrderedRows

    building.write(tmp_path, 2, 5)
    with _opened(tmp_path) as enricher:
        stream = EnrichedStream(enricher, lambda rows: None, RejectLog())
        stream.records.form = "csv"
        with pytest.raises(UsageError, match="one process"):
            _ = OrderedRows(stream).system


# --- deaths, and a broker -----------------------------------------------------------------------


def program(made: str, source: str, folder: str, master: str) -> None:
    """A run in small batches, with a checkpoint, in a process that may be killed."""
    from jobs.spark.session import stop
    from jobs.streaming.session import streaming_session

    session, _ = streaming_session(master)
    entries = Path(folder) / "entries.delta"
    ran(Path(made), Path(source), session, Path(folder), batch_bytes=8_000, entries=entries)
    stop(session)


def _begin(made: Path, source: Path, folder: Path, master: str) -> subprocess.Popen[bytes]:
    call = f"program({str(made)!r}, {str(source)!r}, {str(folder)!r}, {master!r})"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with (folder / "log").open("ab") as log:
        code = f"from tests.test_enrichment_spark import program; {call}"
        return subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=log, stderr=log
        )


def _wait(process: subprocess.Popen[bytes], folder: Path, batch: int) -> None:
    """Until the checkpoint has so many batches."""
    file, deadline = folder / "checkpoint" / "checkpoint.json", time.monotonic() + 600
    while not file.exists() or json.loads(file.read_bytes())["positions"]["batch"] < batch:
        assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()[
            -3000:
        ]
        time.sleep(0.05)


def _case(tmp_path: Path) -> tuple[Path, Path]:
    source, folder = tmp_path / "e.jsonl", tmp_path / "spark"
    source.write_text("\n".join(_records(tmp_path, 1_200, 2)) + "\n")
    folder.mkdir()
    return source, folder


def _same_as_local(made: Path, source: Path, folder: Path) -> None:
    _, rows, rejects = ran(made, source, None, made / "local")
    assert (folder / "rows").read_text().splitlines() == rows
    assert (folder / "rejects").read_text().splitlines() == rejects
    with _opened(made, entries=folder / "entries.delta") as enricher:
        # Each of the entries that tasks made is one that is found again.
        assert len(enricher.entries) > 5 and not enricher.notes
        assert all(
            json.loads(row)["verdict"] != "consistent" or enricher.enrich(event).hit
            for row, event in _pairs(rows, source)
        )


def _pairs(rows: list[str], source: Path) -> Iterator[tuple[str, Any]]:
    from shiq.rml.compiled import parse_record

    lines = source.read_text().splitlines()
    for row in rows:
        line = lines[json.loads(row)["line"] - 1]
        if line not in ("", "{"):
            yield row, parse_record(line)


@pytest.mark.slow
@pytest.mark.spark
def test_a_driver_is_killed(tmp_path: Path) -> None:
    source, folder = _case(tmp_path)
    for batch in (0, 3):
        killed = _begin(tmp_path, source, folder, "local[2]")
        _wait(killed, folder, batch)
        killed.kill()
        killed.wait()
    assert _begin(tmp_path, source, folder, "local[2]").wait() == 0, (folder / "log").read_text()[
        -3000:
    ]
    _same_as_local(tmp_path, source, folder)


@pytest.mark.slow
@pytest.mark.spark
def test_an_executor_is_killed(tmp_path: Path) -> None:
    from tests.spark_cluster import cluster, kill_a_worker

    source, folder = _case(tmp_path)
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as made:
        process = _begin(tmp_path, source, folder, made.url)
        _wait(process, folder, 0)
        kill_a_worker(made)
        assert process.wait() == 0, (folder / "log").read_text()[-3000:]
    _same_as_local(tmp_path, source, folder)


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.skipif(bool(absent()), reason=absent())
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_topic_is_enriched_into_a_topic(tmp_path: Path, engine: str) -> None:
    from tests.command_line import shiq

    lines = [line for line in _records(tmp_path, 200, 3) if line]
    with broker(tmp_path) as address:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": address})
        for line in lines:
            producer.produce("readings", line.encode())
        producer.flush(30)
        mapping = (
            "--mapping",
            tmp_path / "mapping.rml.ttl",
            "--stream",
            "readings",
            "--reasoner",
            "own",
        )
        command = ("stream", "enrich", "-t", tmp_path / "building.ofn", *mapping, "-q")
        topics = ("-s", f"kafka://{address}/readings", "--out", f"kafka://{address}/types")
        done = shiq(*command, *topics, "--engine", engine)
        assert done.returncode == 3, done.stderr
        sent = sorted(
            record.data.decode() for record in open_source(f"kafka://{address}/types").read(False)
        )
    (tmp_path / "e").write_text("\n".join(lines) + "\n")
    assert shiq(*command, "-s", tmp_path / "e", "--out", tmp_path / "o").returncode == 3
    rows = [json.loads(line) for line in (tmp_path / "o").read_text().splitlines()]
    from_topic = sorted(map(json.loads, sent), key=lambda row: row["line"])
    first = from_topic[0]["line"]
    assert len(from_topic) == len(rows) == len(lines)
    for one, other in zip(from_topic, rows):
        assert one["line"] - first == other["line"] - 1
        assert {k: v for k, v in one.items() if k not in ("line", "reason")} == {
            k: v for k, v in other.items() if k not in ("line", "reason")
        }
