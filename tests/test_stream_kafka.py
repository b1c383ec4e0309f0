"""Kafka as source and sink, through a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiq.errors import OperationalError
from streams.front.event import parse_event
from streams.front.sinks import open_sink
from streams.front.sources import open_source
from tests.conftest import ROOT
from tests.tools.kafka_broker import absent, broker

confluent_kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.kafka, pytest.mark.skipif(bool(absent()), reason=absent())]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker(tmp_path_factory.mktemp("kafka")) as found:
        yield found


def _topic(address: str, name: str, partitions: int) -> str:
    from confluent_kafka.admin import AdminClient, NewTopic

    client = AdminClient({"bootstrap.servers": address})
    client.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
    return f"kafka://{address}/{name}"


def _times(target: str, position: object = None) -> tuple[list[int], object]:
    source = open_source(target)
    if position is not None:
        source.position = json.loads(json.dumps(position))
    return sorted(parse_event(record.data).t for record in source.read(False)), source.position


def test_a_topic_gives_each_record_once_and_goes_on(address: str) -> None:
    target = _topic(address, "events", 3)
    sink = open_sink(target)
    sink.write([json.dumps({"t": t, "triples": []}) for t in range(100)])
    assert sink.flush()["rows"] == 100
    times, position = _times(target)
    assert times == list(range(100))
    sink.write([json.dumps({"t": t, "triples": []}) for t in range(100, 110)])
    sink.close()
    assert _times(target, position)[0] == list(range(100, 110))
    assert _times(target)[0] == list(range(110))


def test_rows_behind_a_checkpoint_are_not_sent_again(address: str) -> None:
    target = _topic(address, "out", 2)
    rows = [json.dumps({"t": t, "triples": []}) for t in range(20)]
    killed = open_sink(target)
    killed.write(rows[:5])
    length = killed.flush()
    killed.write(rows[5:12])
    killed.flush()  # and is killed before it can save a checkpoint
    again = open_sink(target, length)
    again.write(rows[5:])
    again.close()
    assert _times(target)[0] == list(range(20))


@pytest.mark.parametrize("ahead", [0, 4])
def test_rows_of_another_run_are_not_taken_for_own(address: str, ahead: int) -> None:
    """An older run sent more rows, and one at the same time sends some behind the checkpoint."""
    target = _topic(address, f"shared-{ahead}", 4)
    rows = [json.dumps({"t": t, "triples": []}) for t in range(60)]
    older = open_sink(target)
    older.write(rows)
    older.close()
    killed = open_sink(target)
    killed.write(rows[:2])
    length = json.loads(json.dumps(killed.flush()))
    killed.write(rows[2 : 2 + ahead])
    killed.flush()
    beside = open_sink(target)
    beside.write(rows[:20])
    beside.close()
    again = open_sink(target, length)
    again.write(rows[2:])
    again.close()
    assert _times(target)[0] == sorted([*range(60), *range(60), *range(20)])


def test_a_row_that_a_partition_lacks_is_sent(address: str) -> None:
    """Of rows that were under way at death, a later one may have arrived in another partition."""
    target = _topic(address, "gap", 2)
    rows = [json.dumps({"t": t, "triples": []}) for t in range(10)]
    killed = open_sink(target)
    killed.write(rows[:2])
    length = killed.flush()
    killed.length = 6
    killed.write(rows[6:8])
    killed.flush()
    again = open_sink(target, length)
    again.write(rows[2:])
    again.close()
    assert _times(target)[0] == list(range(10))


def test_no_broker_and_no_topic_are_said(address: str, tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match="no-such-topic"):
        list(open_source(f"kafka://{address}/no-such-topic").read(False))


@pytest.mark.slow
def test_spark_reads_a_topic_and_writes_to_one(address: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    from tests.test_streams_spark import many

    onto, lines = many(range(20), tmp_path, 1)
    source = _topic(address, "spark-in", 3)
    sink = open_sink(source)
    sink.write(lines)
    sink.close()
    found = []
    for engine in ("local", "spark"):
        out = _topic(address, f"{engine}-out", 1)
        command = [
            "--tbox",
            onto,
            "--window",
            "3",
            "--source",
            source,
            "--lateness",
            "99",
            "--engine",
            engine,
            "--out",
            out,
            "-q",
        ]
        if engine == "spark":
            command += ["--master", "local[2]", "--checkpoint", str(tmp_path / "checkpoint")]
        for _ in range(2 if engine == "spark" else 1):
            done = subprocess.run(
                [sys.executable, "-m", "shiq", "stream", "consistency", *command], cwd=ROOT, capture_output=True, check=False
            )
            assert done.returncode == 1, done.stderr.decode()[-3000:]
        found.append(sorted(record.text for record in open_source(out).read(False)))
    assert found[0] == found[1] and found[0]
