"""Run a stream on Spark, and open Spark sessions for streams."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from shiq.errors import OperationalError
from shiq.jobs.spark.session import spark_session, stop_session
from shiq.jobs.streaming.sources import BATCH_BYTES, BATCH_FACTOR, is_kafka
from shiq.jobs.streaming.stateful_run import StatefulRun, check_checkpoint_layout
from shiq.streams.front.kafka import NO_OPTIONS, SECRET, KafkaOptions
from shiq.streams.front.operator import Collector, R_co
from shiq.streams.front.run import StreamRun

#: Names Kafka's connector for Spark: a jar, several (by commas), or a folder of them.
KAFKA_JARS: Final = "SHIQ_KAFKA_JARS"
_MAVEN_GROUP: Final = "org.apache.spark"
_CONNECTOR_ARTIFACT: Final = "spark-sql-kafka-0-10_2.13"
#: Of a minor version of Spark the one of which Maven has the connector and all that it needs;
#: another may lack a part.
_CONNECTOR_VERSIONS: Final = {"4.0": "4.0.0", "4.1": "4.1.1", "4.2": "4.2.0"}
#: Of files Spark's plans see a row a batch, for which it is to compile nothing.
_NO_CODEGEN: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
#: Which options of sources plans do not show.
_REDACTION_SETTING: Final = "spark.sql.redaction.options.regex"


def run_on_spark(
    collector: Collector[R_co],
    run: StreamRun,
    targets: Sequence[str],
    *,
    format: str = "auto",
    follow: bool = False,
    master: str | None = None,
    session: SparkSession | None = None,
    batch_bytes: int | None = None,
    options: KafkaOptions = NO_OPTIONS,
) -> R_co:
    """Run a stream operator by Spark Structured Streaming. Returns what `StreamRun.drive` returns.

    session: existing session to use; without one, a session at ``master`` is opened and closed
    batch_bytes: approximate size of a batch of files
    options: options of topics

    Raises: UsageError, InputError, OperationalError.
    """
    check_checkpoint_layout(run)
    system, started = collector.operator(in_tasks=True), False
    if session is None:
        session, started = streaming_session(master, kafka=is_kafka(targets), follow=follow)
    try:
        most, fold = (
            batch_bytes or BATCH_BYTES,
            1 if follow or batch_bytes is not None else BATCH_FACTOR,
        )
        query = StatefulRun(session, collector, system, run, targets, format, most, fold, options)
        rows = query.drive(follow=follow)
    finally:
        if started:
            stop_session(session)
    result = collector.finish(rows)
    run.outputs.flush()
    return result


def streaming_session(
    master: str | None = None, *, kafka: bool = False, follow: bool = True
) -> tuple[SparkSession, bool]:
    """Open a session with settings for streams. Returns it, and whether Spark was started for it.

    kafka: with Kafka's connector
    follow: False for a run that ends

    Raises: OperationalError if something is missing.
    """
    settings = _connector_settings() if kafka else {}
    session, started = spark_session(
        master=master, settings=settings, name="shiq stream", brief=not follow
    )
    own = session.newSession()
    own.conf.set(_REDACTION_SETTING, f"{own.conf.get(_REDACTION_SETTING)}|{SECRET}")
    if not kafka:
        for key, value in _NO_CODEGEN.items():
            own.conf.set(key, value)
    return own, started


def _connector_settings() -> dict[str, str]:
    """Spark settings that load the connector for Kafka: jars that the user named, or its artifact
    on Maven. Raises: OperationalError.
    """
    named = os.environ.get(KAFKA_JARS)
    if named:
        paths = [Path(part) for part in named.split(",")]
        jars = [
            str(jar)
            for path in paths
            for jar in (sorted(path.glob("*.jar")) if path.is_dir() else [path])
        ]
        missing = next((jar for jar in jars if not Path(jar).is_file()), None if jars else named)
        if missing is not None:
            raise OperationalError(
                f"{KAFKA_JARS} names {missing}, which is no jar", "Name jars, or a folder of them."
            )
        return {"spark.jars": ",".join(jars)}
    import pyspark

    # Requested from Maven; Ivy caches it on this machine.
    version = _CONNECTOR_VERSIONS.get(pyspark.__version__.rpartition(".")[0], pyspark.__version__)
    return {"spark.jars.packages": f"{_MAVEN_GROUP}:{_CONNECTOR_ARTIFACT}:{version}"}
