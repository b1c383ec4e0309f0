"""Where the real data is, and the cases that are directories."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from tests.hadoop import hdfs, hdfs_address  # noqa: F401
from tests.object_store import bucket, s3_server  # noqa: F401

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from shiq.abox_ops.modules.decide import Decider

# Commands and workers that tests start find their modules compiled: without that each takes nearly
# twice as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A shell starts what runs in the background with SIGINT ignored, and so would run the commands that
# tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "data" / "cases"


#: Java code that runs for seconds costs more to optimise than it gains. Said to whatever starts
#: Spark, also in other processes.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Marks tests that use Spark's session, and orders files for several workers, which take
    them whole (`--dist loadfile`). Files that take longest come first, so that none of them is
    what one worker is still at when the others are done: Spark, then those that start another
    JVM; and of like ones those with more tests.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    yield
    files = {item: item.path for item in items}
    tests = Counter(files.values())
    spark, jvm = (
        {files[item] for item in items if item.get_closest_marker(name)}
        for name in ("spark", "jvm")
    )
    items.sort(
        key=lambda item: (
            files[item] not in spark,
            files[item] not in jvm,
            -tests[files[item]],
            files[item],
        )
    )


def pytest_collection_finish() -> None:
    """What collection has made stays to the end: garbage collection need not look at it again and
    again, which takes a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture(scope="session")
def data_path() -> Path:
    """The folder with LUBM, UOBM, NPD and the OWL 2 test cases: the setting SHIQ_DATA."""
    path = ROOT / os.environ.get("SHIQ_DATA", "../shared/data")
    if not path.is_dir():
        pytest.skip(f"no test data at {path}; set SHIQ_DATA")
    return path


@pytest.fixture
def decider() -> Iterator[Decider]:
    """Questions of tests to the own reasoner."""
    from shiq.abox_ops.modules.decide import Decider
    from shiq.reasoner import create_reasoner

    reasoner = create_reasoner("own")
    yield Decider(reasoner)
    reasoner.close()


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_disks() -> Iterator[None]:
    """Stores are written thousands of times; what a killed process leaves does not depend on
    fsync, only a power cut's does.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_optimising_of_java() -> Iterator[None]:
    """For JVMs of Spark, this process's and those of commands; one that is set goes before it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            "SPARK_SUBMIT_OPTS", f"{_JAVA} {os.environ.get('SPARK_SUBMIT_OPTS', '')}".strip()
        )
        yield


#: HermiT's JVM has it as a user for as long as tests of the marker `jvm` follow each other.
_KEEPER = ModuleType("keeper")
#: The JVMs that this process has started: "jvm" or "spark", which is the marker they ask for.
_STARTED: list[str] = []


def _note_java(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen":
        command = [str(part) for part in arguments[1]]
        if "ReasonerDriver" in command:
            _STARTED.append("jvm")
        elif command[0].endswith("spark-submit"):
            _STARTED.append("spark")


sys.addaudithook(_note_java)


@pytest.fixture(autouse=True)
def one_jvm(request: pytest.FixtureRequest) -> Iterator[None]:
    """HermiT's JVM stays from one test of the marker ``jvm`` to the next: it takes a second to
    start, and more until it is quick. It does not in tests of the fixture ``cold_jvm``, nor
    before a test has asked it. A test that starts a JVM and has none of the markers by which
    `make test` leaves it out fails.
    """
    left_out = any(map(request.node.get_closest_marker, ("jvm", "spark", "slow")))
    jvm = sys.modules.get("shiq.reasoner.jvm")
    if request.node.get_closest_marker("jvm") is None:
        if jvm is not None and _KEEPER in jvm._users:
            jvm.release_jvm(_KEEPER)
    elif "cold_jvm" not in request.fixturenames:
        from shiq.reasoner import jvm

        jvm._users.add(_KEEPER)
    _STARTED.clear()
    yield
    missing = [] if left_out else sorted({*_STARTED})
    assert not missing, f"it starts a JVM: mark it with {', '.join(missing)}"


@pytest.fixture(scope="module")
def cold_jvm() -> None:
    """HermiT's JVM ends with its last user, as it does in commands."""
    from shiq.reasoner.jvm import release_jvm

    release_jvm(_KEEPER)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session on two cores for all tests that need one, with two tasks to a shuffle:
    data are small here.
    """
    pyspark = pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    assert pyspark
    from shiq.jobs.spark.session import spark_session, stop_session
    from tests.tools import lake_jars

    jar = os.environ.get("SHIQ_GRAPHFRAMES_JAR")
    lake = lake_jars.settings(tmp_path_factory.mktemp("lake"))
    settings = {"spark.sql.shuffle.partitions": "2", **lake, **({"spark.jars": jar} if jar else {})}
    session, started = spark_session(master="local[2]", settings=settings, name="shiq-tests")
    yield session
    if started:
        stop_session(session)
