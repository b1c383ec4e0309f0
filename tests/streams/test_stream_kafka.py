"""Kafka as source and sink, through a real broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest

from shiq.errors import OperationalError
from shiq.streams.front.event import parse_event
from shiq.streams.front.run import open_run
from shiq.streams.front.sinks import open_sink
from shiq.streams.front.sources import open_source
from tests.conftest import ROOT
from tests.tools.kafka_broker import absent, broker

confluent_kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.kafka,
    pytest.mark.skipif(bool(absent()), reason=absent()),
]


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


def test_rows_before_the_first_checkpoint_are_not_sent_again(address: str, tmp_path: Path) -> None:
    target, out = _topic(address, "early", 2), tmp_path / "rows.jsonl"
    (tmp_path / "in").write_text("")
    rows = [{"t": t, "triples": []} for t in range(20)]
    for many in (12, 20):
        with open_run(
            [open_source(str(tmp_path / "in"))],
            {"out": target, "beside": str(out)},
            tmp_path / "kept",
        ) as run:
            assert run.saved_content is None  # it is killed before it can save one
            for name in ("out", "beside"):
                run.outputs.write_rows(name, rows[:many])
    assert _times(target)[0] == list(range(20))
    assert len(out.read_text().splitlines()) == 20


def test_another_row_of_the_number_of_one_that_was_sent_is_sent(address: str) -> None:
    """As where the lines of standard input are gone that a run read behind its checkpoint."""
    target = _topic(address, "other", 1)
    killed = open_sink(target)
    length = killed.flush()
    killed.write(['{"t": 1, "triples": []}', '{"t": 2, "triples": []}'])
    killed.flush()
    again = open_sink(target, length)
    again.write(['{"t": 1, "triples": []}', '{"t": 3, "triples": []}'])
    again.close()
    assert _times(target)[0] == [1, 2, 3]


@pytest.mark.parametrize("ends", ["commit", "abort"])
def test_a_partition_that_ends_with_a_marker_of_a_transaction_is_read_to_its_end(
    address: str, ends: str
) -> None:
    target = _topic(address, f"marker-{ends}", 2)
    sink = open_sink(target)
    sink.write(['{"t": 0, "triples": []}'])
    sink.close()
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "transactional.id": f"it-{ends}"}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    for partition in range(2):
        producer.produce(target.rpartition("/")[2], b'{"t": 1, "triples": []}', partition=partition)
    producer.flush(30)
    (producer.commit_transaction if ends == "commit" else producer.abort_transaction)(30)
    found = list[Any]()
    # It waited for ever.
    reading = Thread(target=lambda: found.append(_times(target)), daemon=True)
    reading.start()
    reading.join(60)
    ((times, position),) = found
    assert times == ([0, 1, 1] if ends == "commit" else [0])
    assert _times(target, position)[0] == []


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
    killed.row_count = 6
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
    from tests.streams.test_streams_spark import many

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
            (log := tmp_path / "log").mkdir(exist_ok=True)
            done = _consistency([*command, "--json", tmp_path / engine], log)
            assert done.returncode == 1, done.stderr[-3000:]
        found.append(sorted(record.text for record in open_source(out).read(False)))
    assert found[0] == found[1] and found[0]
    reports = [
        progress["observedMetrics"]["shiq stream consistency"]
        for file in log.rglob("*")
        if file.is_file()
        for line in file.read_text().splitlines()
        if "QueryProgressEvent" in line
        for progress in [json.loads(line)["progress"]]
        if progress["observedMetrics"]
    ]
    statistics = json.loads((tmp_path / "local").read_text())["statistics"]
    told = [statistics[name] for name in ("events", "triples", "duplicates")]
    told.append(sum(statistics["rejected"].values()))
    assert [sum(column) for column in zip(*(report["values"][:4] for report in reports))] == told


def _consistency(asked: Sequence[Any], log: Path) -> subprocess.CompletedProcess[str]:
    """A run of its own process; Spark keeps its events in ``log``."""
    logged = f"--conf spark.eventLog.enabled=true --conf spark.eventLog.dir={log}"
    logged += " --conf spark.eventLog.compress=false pyspark-shell"
    return subprocess.run(
        [sys.executable, "-m", "shiq", "stream", "consistency", *map(str, asked)],
        cwd=ROOT,
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": logged},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_broker_that_asks_for_a_password_is_read_and_nothing_shows_it(tmp_path: Path) -> None:
    """By both engines, the password from a file; and what is begun is what was asked for."""
    secret, events = uuid4().hex, [json.dumps({"t": t, "triples": []}) for t in range(40)]
    (tmp_path / "password").write_text(f"{secret}\n")
    (tmp_path / "o.ofn").write_text("Ontology(<urn:o> SubClassOf(<urn:A> <urn:B>))")
    (tmp_path / "kafka").mkdir()
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
    }
    with broker(tmp_path / "kafka", secret) as address:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": address, **login, "sasl.password": secret}
        )
        for event in events:
            producer.produce("events", event.encode())
        assert producer.flush(30) == 0
        options = [f"kafka.{key}={value}" for key, value in login.items()]
        options += [
            f"kafka.sasl.password=file:{tmp_path}/password",
            'startingOffsets={"events": {"0": 7}}',
        ]
        counted = []
        for engine, more in (("local", []), ("spark", ["maxOffsetsPerTrigger=10"])):
            (tmp_path / engine / "log").mkdir(parents=True)
            asked: list[Any] = [
                "--tbox",
                tmp_path / "o.ofn",
                "--window",
                "3",
                "--source",
                f"kafka://{address},127.0.0.1:1/events",
            ]
            asked += [word for option in (*options, *more) for word in ("--source-option", option)]
            asked += [
                "--engine",
                engine,
                "--checkpoint",
                tmp_path / engine / "state",
                "--out",
                tmp_path / engine / "rows",
            ]
            asked += [
                "--rejects",
                tmp_path / engine / "rejects",
                "--json",
                tmp_path / engine / "result.json",
                "-v",
            ]
            done = _consistency(asked, tmp_path / engine / "log")
            assert done.returncode == 0, done.stderr
            (tmp_path / engine / "said").write_text(done.stdout + done.stderr)
            counted.append(
                json.loads((tmp_path / engine / "result.json").read_text())["statistics"]["events"]
            )
            wrong = [
                f"kafka.sasl.password={secret}x" if "password" in word else word
                for word in map(str, asked[:-2])
            ]
            wrong[wrong.index("--checkpoint") + 1] = str(tmp_path / engine / "other")
            done = _consistency([*wrong, "-v"], tmp_path / engine / "log")
            assert done.returncode == 4, done.stderr
            assert "Authentication failed" in done.stderr
            (tmp_path / engine / "refused").write_text(done.stdout + done.stderr)
    assert counted == [33, 33]
    files = [
        file
        for engine in ("local", "spark")
        for file in (tmp_path / engine).rglob("*")
        if file.is_file()
    ]
    assert any("log" in file.parts for file in files) and any(
        "offsets" in file.parts for file in files
    )
    assert [file for file in files if secret.encode() in file.read_bytes()] == []
