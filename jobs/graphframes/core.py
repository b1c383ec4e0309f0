"""Open the Spark session of the engine `graphframes`, and test whether its JVM has GraphFrames'
core.

The core is no part of graphframes-py. It is used if it is on the classpath (`spark.jars`,
`spark.jars.packages`, or the environment variable below); nothing requires it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession, functions

from shiq.errors import OperationalError
from shiq.jobs.checking.options import Options
from shiq.jobs.spark.engine import obtain_session
from shiq.jobs.spark.session import is_connect

#: The environment variable that names a jar of the core.
JAR_VARIABLE = "SHIQ_GRAPHFRAMES_JAR"

#: How many assertions one partition is to hold, and from how many on plans are compiled.
_PARTITION, _COMPILED = 500_000, 1_000_000
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def open_session(master: str | None = None) -> SparkSession:
    """Return the active Spark session, else start one at ``master`` that ends with the process.

    Raises: OperationalError where a named jar does not exist, or this Spark cannot run it.
    """
    jar = os.environ.get(JAR_VARIABLE, "")
    if jar and not Path(jar).is_file():
        raise OperationalError(
            f"{jar}: there is no such jar",
            "Leave --graphframes-jar out: the job runs on DataFrames then.",
        )
    active = obtain_session(Options(master=master), settings={"spark.jars": jar} if jar else None)
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
    """Decide whether the JVM of ``spark`` has GraphFrames on its classpath."""
    jvm: Any = spark.sparkContext._jvm
    with suppress(Exception):  # py4j wraps ClassNotFoundException
        # graphframes-py itself goes by this loader
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(
            "org.graphframes.GraphFramePythonAPI"
        )
        return True
    return False


@contextmanager
def tuned_session(spark: SparkSession, size: int) -> Iterator[None]:
    """Context manager: Spark settings that suit tables of ``size`` assertions; Spark's errors
    become an `OperationalError`.

    Adaptive execution has given wrong components. Small graphs get one partition, and their plans
    are
    interpreted, since compiling costs more than running them.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    settings = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(1 + size // _PARTITION),
        **(_INTERPRETED if size <= _COMPILED else {}),
    }
    before = {key: spark.conf.get(key) or "" for key in settings}
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
            spark.conf.set(key, value)
