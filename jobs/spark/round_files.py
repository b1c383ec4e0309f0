"""The tables of a run's rounds, as files that outlive the executor which wrote them."""

from __future__ import annotations

import shutil
import tempfile
import uuid
import weakref
from collections import Counter

from pyspark.sql import DataFrame, SparkSession

from shiq.errors import OperationalError


class RoundFiles:
    """A folder of tables, removed by ``remove`` or with this. A table that is written again
    under its name takes the place of the one before.
    """

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.spark, self.folder = spark, folder
        self._written: Counter[str] = Counter()
        self.remove = weakref.finalize(self, _remove, spark, folder)

    @property
    def checkpoints(self) -> str:
        """A folder for Spark's own checkpoints."""
        return f"{self.folder}/checkpoints"

    def write(self, name: str, rows: DataFrame) -> DataFrame:
        """Compute ``rows`` once, and give them as the file says; the table ``name`` of the round
        before last is removed.
        """
        self._written[name] += 1
        path = f"{self.folder}/{name}/{self._written[name]}"
        rows.write.parquet(path)
        if self._written[name] > 2:
            _remove(self.spark, f"{self.folder}/{name}/{self._written[name] - 2}")
        return self.spark.read.schema(rows.schema).parquet(path)


def round_files(
    spark: SparkSession, what: str = "the rounds of the engine 'graphframes'"
) -> RoundFiles:
    """Files for one run, which hold ``what``: below Spark's checkpoint folder, or on this
    machine where Spark runs on it alone.

    Raises: OperationalError where the executors of a cluster have no folder in common.
    """
    context = spark.sparkContext
    shared = context.getCheckpointDir() or spark.conf.get("spark.checkpoint.dir", None)
    if shared is None and not (context.master or "").startswith("local"):
        raise OperationalError(
            f"{what} need a folder that all executors share",
            "Set spark.checkpoint.dir to one, as hdfs:///tmp/shiq or a folder on NFS.",
        )
    return RoundFiles(spark, f"{shared or tempfile.gettempdir()}/shiq-rounds-{uuid.uuid4().hex}")


def _remove(spark: SparkSession, path: str) -> None:
    """Remove a folder; where the session has ended, one on this machine alone."""
    context = spark.sparkContext
    if context._jvm is None:
        shutil.rmtree(path, ignore_errors=True)
        return
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    place.getFileSystem(context._jsc.hadoopConfiguration()).delete(place, True)
