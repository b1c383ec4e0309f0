"""The jars of Delta and Iceberg for Spark 4.1: ``python -m tests.tools.lake_jars`` fetches them
(58 MB, from a Maven repository).

They lie in the folder that $SHIQ_LAKE_JARS names; only where that is set, tests have a session
with them (`make test-lake`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from shiq.jobs.evaluation.peers.install import read_jar_list
from shiq.reasoner.external import external_reasoners_home
from tests.tools.jars import fetched

SETTING = "SHIQ_LAKE_JARS"
_JARS = read_jar_list(Path(__file__).with_suffix(".txt"), "lake")


def jars() -> Path:
    """The folder with the jars."""
    return Path(os.environ.get(SETTING) or external_reasoners_home() / "lake-jars")


def absent() -> str:
    """Why a session of the tests lacks the jars; "" where it has them."""
    if not os.environ.get(SETTING):
        return f"{SETTING} is not set: `make test-lake` fetches the jars and sets it"
    missing = [jar.name for jar in _JARS if not (jars() / jar.name).is_file()]
    return (
        f"{jars()} lacks {missing[0]}: python -m tests.tools.lake_jars fetches it"
        if missing
        else ""
    )


def settings(folder: Path) -> dict[str, str]:
    """Settings of a session with Delta, and with Iceberg's catalog ``ice`` in ``folder``; none
    without the jars.
    """
    if absent():
        return {}
    return {
        "spark.jars": ",".join(str(jars() / jar.name) for jar in _JARS),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(folder / "ice"),
        "spark.databricks.delta.snapshotPartitions": "1",
    }


if __name__ == "__main__":
    sys.exit(fetched(_JARS, jars(), "Delta and Iceberg for Spark"))
