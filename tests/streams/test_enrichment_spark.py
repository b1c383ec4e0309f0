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

from shiq.errors import UsageError
from shiq.jobs.evaluation.streams import building
from shiq.streams.enrichment import Enricher, open_enricher
from shiq.streams.enrichment.stream import EnrichmentCollector, KeyOperator
from shiq.streams.front.event import Record
from shiq.streams.front.intake import RejectLog
from shiq.streams.front.local import LocalRunner
from shiq.streams.front.operator import StreamAnswer
from shiq.streams.front.run import open_run
from shiq.streams.front.sources import open_source
from tests.conftest import ROOT
from tests.streams.test_stream_runners import in_tasks, locally
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

    from shiq.jobs.streaming.session import run_on_spark

    folder.mkdir(exist_ok=True)
    out, rejects = folder / "rows", folder / "rejects"
    targets = {"out": str(out), "rejects": str(rejects)}
    with (
        _opened(made, **settings) as enricher,
        open_run([open_source(str(source))], targets, folder / "checkpoint") as run,
    ):
        stream = EnrichmentCollector(
            enricher,
            run.outputs.make_text_writer("out"),
            RejectLog(run.outputs.make_text_writer("rejects")),
        )
        if session is None:
            result = run.feed_system(LocalRunner(stream))
        else:
            how: dict[str, Any] = {"session": session, "batch_bytes": batch_bytes}
            result = run_on_spark(stream, run, [str(source)], **how)
    return result, out.read_text().splitlines(), rejects.read_text().splitlines()


def _records(made: Path, count: int, seed: int) -> list[str]:
    """Readings of five rooms; some are broken, lack a value, are of nobody known, or blank."""
    building.write_building_files(building.BuildingRecipe(5, count), made)
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


class _Building:
    """Makes the collector of readings with a cache; ``last``: that of the last one."""

    def __init__(self, made: Path, **settings: Any) -> None:
        self.made, self.settings = made, settings

    def collector(self, rows: list[str], rejects: list[str]) -> EnrichmentCollector:
        self.last = _opened(self.made, **self.settings)
        return EnrichmentCollector(self.last, rows.extend, RejectLog(rejects.extend))


def _readings(made: Path, count: int) -> list[Record]:
    source = made / "e.jsonl"
    source.write_text("\n".join(_records(made, count, 1)) + "\n")
    return [record._replace(source="s") for record in open_source(str(source)).read(False)]


@pytest.mark.parametrize(
    ("policy", "capacity"),
    [
        ("mru", 4),
        pytest.param("lru", None, marks=pytest.mark.slow),
        pytest.param("fifo", 0, marks=pytest.mark.slow),
    ],
)
def test_chunks_in_any_cut_are_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, capacity: int | None
) -> None:
    read, draw, asked = _readings(tmp_path, 80), random.Random(policy), list[str]()
    building = _Building(tmp_path, policy=policy, capacity=capacity)
    entry = KeyOperator.make_entry_by_reasoning

    def asking(self: KeyOperator, lines: Any) -> Any:
        asked.append(str(self.reader.make_question(list(lines)).event_key.key))  # type: ignore[union-attr]
        return entry(self, lines)

    monkeypatch.setattr(KeyOperator, "make_entry_by_reasoning", asking)
    here = locally(building, read, draw)
    assert in_tasks(building, read, draw, tmp_path / "one", losing=0) == here and len(here[0]) > 60
    assert asked and (capacity is not None or len(asked) == len(set(asked)))
    assert in_tasks(building, read, draw, tmp_path / "other") == here


@pytest.mark.parametrize("name", ["entries", "entries.delta"])
@pytest.mark.parametrize("losing", [1, 0])
def test_entries_are_stored_when_the_checkpoint_has_their_batch(
    tmp_path: Path, name: str, losing: int
) -> None:
    """A batch is done again by another process after a death; or all are done by one."""
    read, file = _readings(tmp_path, 60), tmp_path / name
    here = locally(_Building(tmp_path), read, random.Random(1))
    building = _Building(tmp_path, entries=file)
    assert in_tasks(building, read, random.Random(1), tmp_path / "s", losing) == here
    building.last.close()
    with _opened(tmp_path, entries=file) as enricher:
        assert not enricher.notes and len(enricher.entries) == len(building.last.entries) > 5
    if file.suffix:
        assert len(DeltaTable(str(file)).to_pyarrow_table()) == len(enricher.entries)


@pytest.mark.slow
def test_rows_are_those_of_one_process(spark: SparkSession, tmp_path: Path) -> None:
    from shiq.jobs.streaming.session import streaming_session

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
    building.write_building_files(building.BuildingRecipe(2, 5), tmp_path)
    with _opened(tmp_path) as enricher:
        stream = EnrichmentCollector(enricher, lambda rows: None, RejectLog())
        stream.records.form = "csv"
        with pytest.raises(UsageError, match="one process"):
            stream.operator(in_tasks=True)


# --- deaths, and a broker -----------------------------------------------------------------------


def program(made: str, source: str, folder: str, master: str) -> None:
    """A run in small batches, with a checkpoint, in a process that may be killed."""
    from shiq.jobs.spark.session import stop_session
    from shiq.jobs.streaming.session import streaming_session

    session, _ = streaming_session(master)
    entries = Path(folder) / "entries.delta"
    ran(Path(made), Path(source), session, Path(folder), batch_bytes=8_000, entries=entries)
    stop_session(session)


def _begin(made: Path, source: Path, folder: Path, master: str) -> subprocess.Popen[bytes]:
    call = f"program({str(made)!r}, {str(source)!r}, {str(folder)!r}, {master!r})"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with (folder / "log").open("ab") as log:
        code = f"from tests.streams.test_enrichment_spark import program; {call}"
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
    from shiq.rml.program import parse_record

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
