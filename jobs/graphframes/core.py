"""The Spark session of the engine `graphframes`, and whether its JVM has GraphFrames' core.

The core is not part of graphframes-py. It is used where it is on the classpath (`spark.jars`,
`spark.jars.packages`, or the environment variable below), and nothing asks for it.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession, functions

from jobs.spark.session import is_connect, spark_session, stop
from shiq.errors import OperationalError

#: The environment variable that names a jar of the core.
JAR = "SHIQ_GRAPHFRAMES_JAR"

#: How many assertions one partition is to hold, and from how many on plans are compiled.
_PARTITION, _COMPILED = 500_000, 1_000_000


def session(master: str | None = None) -> SparkSession:
    """The active Spark session; else one at ``master``, which ends with the process.

    Raises: OperationalError where a jar is named that does not exist, or that this Spark cannot
    run.
    """
    jar = os.environ.get(JAR, "")
    if jar and not Path(jar).is_file():
        raise OperationalError(
            f"{jar}: there is no such jar",
            "Leave --graphframes-jar out: the job runs on DataFrames then.",
        )
    active = SparkSession.getActiveSession()
    if active is None:
        active, started = spark_session(
            master=master, settings={"spark.jars": jar} if jar else {}, brief=True
        )
        if started:
            atexit.register(stop, active)
    if is_connect(active):
        raise OperationalError(
            "the engine 'graphframes' needs a classic Spark session", "Unset SPARK_REMOTE."
        )
    if not hasattr(functions, "arrow_udf"):
        raise OperationalError(
            "the engine 'graphframes' needs pyspark 4.1", "pip install 'pyspark>=4.1'"
        )
    if jar and not has_core(active):
        raise OperationalError(
            f"{jar} is not GraphFrames' core, or came too late: Spark was running before it was named",
            "Leave --graphframes-jar out: the job runs on DataFrames then.",
        )
    return active


def has_core(spark: SparkSession) -> bool:
    """Whether the JVM of ``spark`` can load GraphFrames."""
    jvm = spark.sparkContext._jvm  # graphframes-py itself goes by this loader
    if jvm is None:
        return False
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(
            "org.graphframes.GraphFramePythonAPI"
        )
    except Exception:  # py4j wraps ClassNotFoundException
        return False
    return True


def _settings(size: int) -> dict[str, str]:
    """What a job over ``size`` rows runs under. Adaptive execution has made components come out
    wrong; a small graph wants one partition, and compiling every plan would cost more than
    running it.
    """
    return {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(1 + size // _PARTITION),
        **(
            {}
            if size > _COMPILED
            else {
                "spark.sql.codegen.wholeStage": "false",
                "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            }
        ),
    }


@contextmanager
def running(spark: SparkSession, size: int) -> Iterator[None]:
    """Runs what is inside under settings for ``size`` assertions; what Spark itself raises
    becomes an `OperationalError`.
    """
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
            f"a Spark job of the engine 'graphframes' failed: {' '.join(str(error).split())[:500]}",
            "Nothing was decided; run it again.",
        ) from error
    finally:
        for key, value in before.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)
