"""Index and check over Spark Connect: `tests.spark_connect` in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")


@pytest.mark.slow
@pytest.mark.spark
def test_connect_answers_as_local_does(tmp_path: Path) -> None:
    for package in ("grpc", "grpc_status", "zstandard"):
        pytest.importorskip(package, reason="the extra 'connect' is not installed")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark_connect", str(tmp_path)], check=False, capture_output=True, text=True, timeout=1800
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    assert ran.stdout.count("equal") == 22


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_whose_virtual_machine_is_gone_ends_and_another_begins() -> None:
    program = """
from pyspark import SparkContext
from jobs.spark.session import spark_session, stop
session, _ = spark_session(master="local[1]")
SparkContext._gateway.proc.kill()
SparkContext._gateway.proc.wait()
stop(session)
session, _ = spark_session(master="local[1]")
print("counted", session.range(3).count())
stop(session)
"""
    ran = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=600)
    assert (ran.returncode, "counted 3" in ran.stdout) == (0, True), ran.stderr[-2000:]
