"""Index and check over Spark Connect: `tests.spark_connect` in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shiq.errors import OperationalError

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")


@pytest.mark.slow
@pytest.mark.spark
def test_connect_answers_as_local_does(tmp_path: Path) -> None:
    for package in ("grpc", "grpc_status", "zstandard"):
        pytest.importorskip(package, reason="the extra 'connect' is not installed")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark_connect", str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    assert ran.stdout.count("equal") == 30


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_whose_virtual_machine_is_gone_ends_and_another_begins() -> None:
    program = """
from pyspark import SparkContext
from shiq.jobs.spark.session import spark_session, stop_session
session, _ = spark_session(master="local[1]")
SparkContext._gateway.proc.kill()
SparkContext._gateway.proc.wait()
stop_session(session)
session, _ = spark_session(master="local[1]")
print("counted", session.range(3).count())
stop_session(session)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=600
    )
    assert (ran.returncode, "counted 3" in ran.stdout) == (0, True), ran.stderr[-2000:]


@pytest.mark.parametrize("taken", [("spark.sql.x",), ("spark.sql.x", "spark.static")])
def test_settings_go_to_a_server_or_are_said_to_lack(
    taken: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiq.jobs.spark import session as opened

    told: dict[str, str] = {}
    far = type("Far", (), {"__module__": "pyspark.sql.connect.session"})()
    far.conf = type(
        "Conf", (), {"get": lambda self, key, default: told[key] if key in taken else default}
    )()
    builder: Any = type(
        "Builder", (), {"appName": lambda self, name: self, "getOrCreate": lambda self: far}
    )()
    builder.config = lambda key, value: told.update({key: value}) or builder
    monkeypatch.setattr(
        opened,
        "SparkSession",
        type("Fake", (), {"getActiveSession": lambda: None, "builder": builder}),
    )
    monkeypatch.setattr(opened, "_set_interpreter", lambda session: None)
    monkeypatch.setenv("SPARK_REMOTE", "sc://somewhere:15002")
    settings = {"spark.sql.x": "1", "spark.static": "2"}
    if len(taken) == 2:
        assert opened.spark_session(settings=settings) == (far, True)
    else:
        with pytest.raises(OperationalError, match="has not the settings that are needed here"):
            opened.spark_session(settings=settings)
    assert told == settings
