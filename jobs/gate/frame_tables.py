"""The command's gate on Spark: one table in, whose rows executors add to the tables of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from jobs.checking.options import options_in
from jobs.gate.frames import gate_frame
from jobs.gate.gated import GateAnswer
from jobs.spark.engine import session_of
from jobs.spark.lake import KnownTable, hidden_version, unreadable
from shiq.check import Session
from shiq.errors import UsageError
from shiq.rdf.tables import EveryColumn, table_files
from shiq.sources import TABLE, TableKind, TableSource, source_of


def gate_tables(session: Session, insertions: Sequence[str], **settings: Any) -> GateAnswer:
    """Gate the one table of ``insertions``; settings as in `gate_frame`. Raises: UsageError,
    InputError, OperationalError.
    """
    if len(insertions) != 1:
        raise UsageError(
            "a side that is a table has the rows of one table", "Name one table with --insert."
        )
    frame = _frame(session_of(options_in(settings)), insertions[0])
    with gate_frame(frame, session, name=insertions[0], **settings) as frames:
        return frames.answer


def _frame(spark: SparkSession, name: str) -> DataFrame:
    """All columns of a table: of Spark's session, Delta or Parquet. Raises: UsageError, InputError."""
    try:
        if name.startswith(TABLE):
            return KnownTable.of(spark, name).frame
        source = source_of(name)
        if not isinstance(source, TableSource) or source.kind not in (
            TableKind.PARQUET,
            TableKind.DELTA,
        ):
            raise UsageError(
                f"{name} is no table that executors read row by row",
                "Give Parquet, Delta or table:NAME, or leave out --engine spark.",
            )
        if (version := hidden_version(name)) is not None:
            return (
                spark.read.format("delta")
                .option("versionAsOf", version)
                .load(str(Path(name).absolute()))
            )
        files = [
            Path(file.path).absolute().as_uri() for file in table_files(source, EveryColumn())[0]
        ]
        whole = spark.read.option("mergeSchema", "true")
        path = Path(source.value).absolute()
        return (whole.option("basePath", path.as_uri()) if path.is_dir() else whole).parquet(*files)
    except (PySparkException, Py4JError) as error:
        raise unreadable(name, error) from error
