"""``shiq stream rules`` beyond files: a socket, a topic, a source that grows, and Spark when an
executor dies.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiq.streams.front.event import Record
from shiq.streams.front.intake import RejectLog, WatermarkTracker
from shiq.streams.front.local import LocalRunner
from shiq.streams.front.run import open_run
from shiq.streams.front.sources import MergedInput
from shiq.streams.rules import Program
from shiq.streams.rules.session import EvaluationOptions
from shiq.streams.rules.stream import RuleIntake, RulesCollector, RulesOperator
from tests.command_line import shiq
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

RULES = "c(X) :- b(X) at least 2 in [3]. n(X,N) :- b(X) count N in [5]. e(X) :- c(X) in [2], not b(X).\n"


def _lines(points: int) -> list[str]:
    draw = random.Random(5)
    return [
        f"{t} {'; '.join(f'b({draw.randrange(9)})' for _ in range(1 + draw.randrange(4)))}"
        for t in range(points)
    ]


@pytest.fixture
def wanted(tmp_path: Path) -> str:
    """What a file of 40 points gives."""
    (tmp_path / "a.lp").write_text(RULES)
    (tmp_path / "log").write_text("\n".join(_lines(40)) + "\n")
    done = shiq("stream", "rules", "a.lp", "-s", "log", "-q", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.count("\n") == 40
    return done.stdout


def test_a_socket(wanted: str, tmp_path: Path) -> None:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write((tmp_path / "log").read_bytes())

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request).start()
        done = shiq(
            "stream",
            "rules",
            "a.lp",
            "-s",
            f"socket://127.0.0.1:{server.server_address[1]}",
            "-q",
            cwd=tmp_path,
        )
    assert (done.returncode, done.stdout) == (0, wanted)


def test_a_file_that_grows(wanted: str, tmp_path: Path) -> None:
    """Rows come while the run goes on; ended and begun again, it goes on from its checkpoint."""
    lines, out = _lines(40), tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "shiq",
        "stream",
        "rules",
        "a.lp",
        "-s",
        "growing",
        "--out",
        "out",
        "--checkpoint",
        "state",
        "-q",
    ]
    (tmp_path / "growing").write_text("".join(f"{line}\n" for line in lines[:10]))
    for closed, upto in ((9, 25), (24, 40)):
        with subprocess.Popen(
            [*command, "--follow"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
        ) as child:
            try:
                _wait_for(out, closed, child)
                with (tmp_path / "growing").open("a") as file:
                    file.writelines(f"{line}\n" for line in lines[closed + 1 : upto])
                _wait_for(out, upto - 1, child)
            finally:
                child.send_signal(signal.SIGINT)
    assert shiq(*command[3:], cwd=tmp_path).returncode == 0
    assert out.read_text() == wanted


def _wait_for(out: Path, rows: int, child: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while not out.exists() or out.read_text().count("\n") < rows:
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.kafka
def test_topics(wanted: str, tmp_path: Path) -> None:
    pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    from shiq.streams.front.sinks import open_sink
    from shiq.streams.front.sources import open_source
    from tests.streams.test_stream_kafka import _topic
    from tests.tools.kafka_broker import absent, broker

    if absent():
        pytest.skip(absent())
    (tmp_path / "kafka").mkdir()
    with broker(tmp_path / "kafka") as address:
        source, out = _topic(address, "rules-in", 1), _topic(address, "rules-out", 1)
        sink = open_sink(source)
        sink.write(_lines(40))
        sink.close()
        done = shiq("stream", "rules", "a.lp", "-s", source, "--out", out, "-q", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert [record.text for record in open_source(out).read(False)] == wanted.splitlines()


@pytest.mark.spark
def test_an_executor_is_killed_under_a_program_with_a_key(wanted: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    from tests.spark_cluster import cluster, kill_a_worker

    (tmp_path / "cluster").mkdir()
    arguments = [
        "stream",
        "rules",
        "a.lp",
        "-s",
        str(tmp_path / "log"),
        "--engine",
        "spark",
        "--shards",
        "3",
    ]
    arguments += ["--out", "out", "--checkpoint", "state", "--json", "report", "-q", "--master"]
    small = (
        "import sys, shiq.jobs.streaming.sources as pieces; pieces.BATCH_BYTES = 150;"
        "from shiq.jobs.cli import main; main(sys.argv[1:])"
    )
    with cluster(tmp_path / "cluster") as made, (tmp_path / "errors").open("wb") as errors:
        command = [sys.executable, "-c", small, *arguments, made.url]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=errors, stderr=errors
        ) as child:
            checkpoint, deadline = tmp_path / "state" / "checkpoint.json", time.monotonic() + 900
            while not checkpoint.exists():
                assert child.poll() is None and time.monotonic() < deadline, (
                    tmp_path / "errors"
                ).read_text()[-3000:]
                time.sleep(0.1)
            kill_a_worker(made)
            assert child.poll() is None, "it ended before a worker could be killed"
            assert child.wait() == 0, (tmp_path / "errors").read_text()[-3000:]
    assert (tmp_path / "out").read_text() == wanted
    assert json.loads((tmp_path / "report").read_text())["statistics"]["shards"] == 3


def test_a_point_that_is_closed_is_out_before_the_next_record_is_read(tmp_path: Path) -> None:
    """With ``--follow`` no row waits for a checkpoint, or for more points."""
    out, program = tmp_path / "out", Program.parse("p(X) :- b(X).")

    class Feed(MergedInput):
        def read(self, follow: bool = False, time: object = None) -> Iterator[Record | None]:
            for t in range(5):
                yield Record("s", 2 * t, f"{t} b({t})".encode())
                assert out.read_text().count("\n") == t
                yield Record("s", 2 * t + 1, f"{t} @end".encode())
                assert out.read_text().count("\n") == t + 1

    with open_run([], {"out": str(out)}) as run:
        run.input = Feed([])
        arrivals, write = (
            RuleIntake(WatermarkTracker(), RejectLog()),
            run.outputs.make_text_writer("out"),
        )
        stream = RulesCollector(
            RulesOperator(program, EvaluationOptions()),
            arrivals,
            write,
            make_readable=run.outputs.make_readable,
        )
        assert run.feed_system(LocalRunner(stream), follow=True).statistics["points"] == 5
