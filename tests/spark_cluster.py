"""A standalone Spark cluster on this machine: a master and workers, each a process of its own,
ended by its pid.

As a program: ``python tests/spark_cluster.py PROGRAM ARGUMENTS`` runs a program below jobs/ with
ARGUMENTS on a master and two workers, which share no copies of an object store's files, kills
one of them by SIGKILL once the first stage is done, and exits with the program's code.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

ROOT = Path(__file__).resolve().parent.parent
HOME = Path(pyspark.__file__).parent
STAGE_DONE = '"Event":"SparkListenerStageCompleted"'
HAS_EXECUTOR = '"Event":"SparkListenerExecutorAdded"'


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }


@dataclass
class Cluster:
    """``workers``: the processes of the workers, by which they may be killed; their logs are in
    ``folder``.
    """

    folder: Path
    url: str
    master: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def wait_for(self, name: str, text: str, seconds: float = 180) -> None:
        """Waits until the log of ``name`` has ``text``."""
        deadline = time.monotonic() + seconds
        while text not in self.log(name):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} never said {text!r}:\n{self.log(name)[-2000:]}")
            time.sleep(0.2)


def _start(folder: Path, name: str, *command: str) -> subprocess.Popen[bytes]:
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(HOME / "bin" / "spark-class"), *command],
            env={
                **_environment(folder),
                "SPARK_NO_DAEMONIZE": "1",
                "SHIQ_CACHE": str(folder / f"{name}-copies"),
            },
            stdout=log,
            stderr=subprocess.STDOUT,
        )


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A running cluster; ended on leaving."""
    port = _free_port()
    where = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    made = Cluster(
        folder,
        f"spark://127.0.0.1:{port}",
        _start(folder, "master", "org.apache.spark.deploy.master.Master", *where),
    )
    try:
        made.wait_for("master", "I have been elected leader")
        for i in range(workers):
            size = ("--cores", "1", "--memory", "1g", "--host", "127.0.0.1", "--webui-port", "0")
            size += ("--work-dir", str(folder / f"work{i}"))
            made.workers.append(
                _start(
                    folder, f"worker{i}", "org.apache.spark.deploy.worker.Worker", *size, made.url
                )
            )
        for i in range(workers):
            made.wait_for(f"worker{i}", "Successfully registered with master")
        yield made
    finally:
        for process in (*made.workers, made.master):
            process.terminate()
        for process in (*made.workers, made.master):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def nightly(
    made: Cluster,
    arguments: list[str],
    settings: dict[str, str],
    log: str,
    program: str = "nightly.py",
) -> subprocess.Popen[bytes]:
    """Starts the nightly job, or another ``program``, on the cluster; it leaves an event log in
    the folder ``log``.
    """
    events = made.folder / log
    events.mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(events),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.executor.memory": "640m",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        **settings,
    }
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    command = [
        str(HOME / "bin" / "spark-submit"),
        "--master",
        made.url,
        *conf,
        str(ROOT / "jobs" / program),
        *arguments,
    ]
    with (made.folder / f"{log}.log").open("wb") as out:
        return subprocess.Popen(
            command, env=_environment(made.folder), stdout=out, stderr=subprocess.STDOUT
        )


def wait_for_stage(
    made: Cluster,
    job: subprocess.Popen[bytes],
    log: str,
    seconds: float = 600,
    event: str = STAGE_DONE,
) -> None:
    """Waits until the job has done a stage (or what else ``event`` says), and so is in the
    middle of its work.
    """
    deadline = time.monotonic() + seconds
    while job.poll() is None:
        if any(event in file.read_text(errors="replace") for file in (made.folder / log).iterdir()):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(made.log(log)[-3000:])
        time.sleep(0.1)
    raise AssertionError(f"the job ended before a worker could be killed:\n{made.log(log)[-3000:]}")


def kill_a_worker(made: Cluster) -> subprocess.Popen[bytes]:
    """Kills the worker that was started last, by its pid; its executors die with it."""
    victim = made.workers[-1]
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    return victim


def lost_executors(made: Cluster, log: str) -> int:
    """How many executors the job has lost."""
    text = "".join(file.read_text(errors="replace") for file in (made.folder / log).iterdir())
    return len(re.findall(r'"Event":"SparkListenerExecutorRemoved"', text))


def main() -> int:
    with (
        tempfile.TemporaryDirectory(prefix="shiq-cluster-") as folder,
        cluster(Path(folder)) as made,
    ):
        program, *arguments = sys.argv[1:]
        job = nightly(made, arguments, {}, "nightly", program)
        wait_for_stage(made, job, "nightly")
        print(f"worker {kill_a_worker(made).pid} killed", file=sys.stderr)
        code = job.wait()
        print(
            made.log("nightly"),
            f"executors lost: {lost_executors(made, 'nightly')}",
            sep="\n",
            file=sys.stderr,
        )
        return code


if __name__ == "__main__":
    sys.exit(main())
