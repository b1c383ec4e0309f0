"""GraphFrames' JVM core: where it comes from, and a Spark session that has it.

It is not part of graphframes-py. It comes by ``spark.jars.packages`` from public Maven, or as a jar that the user names.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO

from pyspark.sql import SparkSession, functions

from jobs.spark.session import spark_session, stop
from shiq.errors import OperationalError

#: The environment variable that names the jar.
JAR = "SHIQ_GRAPHFRAMES_JAR"
#: Where public Maven has it, for the Spark that this package asks for.
COORDINATES = "io.graphframes:graphframes-spark4_2.13:0.12.3"

_REMEDY = (
    f"Name the jar by --graphframes-jar or {JAR}, or set spark.jars.packages={COORDINATES} where public Maven can be reached; "
    "--engine spark needs none of it."
)

#: How many assertions one partition is to hold, and from how many on plans are compiled.
_PARTITION, _COMPILED = 100_000, 1_000_000

_failed: list[str] = []


def session(master: str | None = None) -> SparkSession:
    """A Spark session whose JVM has the core; it is started if none is active, and ends with the process then.

    Raises `OperationalError`, which says how to get the core, where it is not to be had.
    """
    if importlib.util.find_spec("graphframes") is None:
        raise OperationalError("graphframes-py is not installed", "Install the extra: pip install 'shiq[spark]'.")
    if not hasattr(functions, "arrow_udf"):
        raise OperationalError("the engine 'graphframes' needs pyspark 4.1", "Use another engine, or a newer pyspark.")
    jar = os.environ.get(JAR, "")
    if jar and not Path(jar).is_file():
        raise OperationalError(f"{jar}: there is no such jar", _REMEDY)
    active = SparkSession.getActiveSession()
    if active is None:
        active = _started(jar, master)
    if not has_core(active):
        raise OperationalError("the active Spark session lacks GraphFrames' JVM core", _REMEDY)
    return active


def _started(jar: str, master: str | None) -> SparkSession:
    if not jar and _failed:
        raise OperationalError(_failed[0], _REMEDY)
    with tempfile.TemporaryFile() as said:
        try:
            with nullcontext() if jar else _stderr_to(said):
                settings = {"spark.jars": jar} if jar else {"spark.jars.packages": COORDINATES}
                made, started = spark_session(master=master, settings=settings, brief=True)
        except OperationalError as error:
            said.seek(0)
            if b"unresolved dependency" not in said.read():
                raise
            # Asked once in a process: that the package cannot be resolved takes seconds to find out.
            _failed.append(f"GraphFrames' JVM core ({COORDINATES}) could not be resolved")
            raise OperationalError(_failed[0], _REMEDY) from error
    if started:
        atexit.register(stop, made)
    return made


@contextmanager
def _stderr_to(file: IO[bytes]) -> Iterator[None]:
    """Sends what goes to standard error, also from other processes, to ``file``."""
    sys.stderr.flush()
    saved = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def has_core(spark: SparkSession) -> bool:
    """Whether the JVM of ``spark`` can load GraphFrames."""
    jvm = spark.sparkContext._jvm  # graphframes-py itself goes by this loader
    if jvm is None:
        return False
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass("org.graphframes.GraphFramePythonAPI")
    except Exception:  # py4j wraps ClassNotFoundException
        return False
    return True


def _settings(size: int) -> dict[str, str]:
    """What a job over ``size`` rows runs under. Adaptive execution has made components come out wrong; a small graph wants one
    partition, and compiling every plan would cost more than running it."""
    return {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(1 + size // _PARTITION),
        **({} if size > _COMPILED else {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}),
    }


@contextmanager
def running(spark: SparkSession, size: int) -> Iterator[None]:
    """Runs what is inside under settings for ``size`` assertions; what Spark itself raises becomes an `OperationalError`."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    settings = _settings(size)
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, wanted in settings.items():
        spark.conf.set(key, wanted)
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise OperationalError(
            f"a Spark job of the engine 'graphframes' failed: {str(error).splitlines()[0]}", "Nothing was decided; run it again."
        ) from error
    finally:
        for key, value in before.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)
