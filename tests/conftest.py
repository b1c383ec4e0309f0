"""Where the real data is, and the cases that are directories."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "data" / "cases"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that start Spark, or another JVM, take longest: they come first, so that none of them is what one worker is still at
    when the others are done; and of like files those with more tests."""
    ranks: dict[Path, int] = {}
    for item in items:
        is_spark = "spark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("spark")
        rank = 2 if is_spark else 1 if item.get_closest_marker("jvm") else 0
        ranks[item.path] = max(rank, ranks.get(item.path, 0))
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (-ranks[item.path], -tests[item.path]))


@pytest.fixture(scope="session")
def data_path() -> Path:
    """The folder with LUBM, UOBM, NPD and the OWL 2 test cases: the setting SHIQ_DATA."""
    path = ROOT / os.environ.get("SHIQ_DATA", "../shared/data")
    if not path.is_dir():
        pytest.skip(f"no test data at {path}; set SHIQ_DATA")
    return path


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_disks() -> Iterator[None]:
    """Stores are written thousands of times; what a killed process leaves does not depend on fsync, only a power cut's does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="module")
def warm_jvm() -> Iterator[None]:
    """HermiT's JVM stays from one test of a file to the next."""
    from shiq.reasoner.jvm import release_jvm, shared_jvm

    user = ModuleType("user")
    shared_jvm(user, "1g")
    yield
    release_jvm(user)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session on two cores for all tests that need one."""
    pyspark = pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    assert pyspark
    from jobs.spark.session import spark_session, stop

    jar = os.environ.get("SHIQ_GRAPHFRAMES_JAR")
    session, started = spark_session(master="local[2]", settings={"spark.jars": jar} if jar else None, name="shiq-tests")
    yield session
    if started:
        stop(session)
