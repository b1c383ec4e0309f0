"""Sides of a gate on Spark: executors add the rows of a table to Delta and Iceberg tables, each side in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from jobs.checking.options import Options, settings_of
from jobs.gate.appending import DeltaAppender, PartFile, plain_schema, write_part
from jobs.gate.frames import GatedFrames, gate_frame
from jobs.gate.gated import GateAnswer
from jobs.gate.row_sides import REASON_COLUMNS, refuse_reason_columns
from jobs.gate.side_names import is_delta_side
from jobs.gate.table_sides import side_id
from jobs.spark.engine import session_of
from jobs.spark.lake import KnownTable, hidden_version, present_version, unreadable
from shiq.check import Session
from shiq.errors import OperationalError, UsageError
from shiq.rdf.tables import EveryColumn, first_line, table_files
from shiq.sources import TABLE, TableKind, TableSource, source_of

_ICEBERG_RUN = "shiq-run"


class FrameTarget(Protocol):
    """Where the rows of one side go."""

    def check(self, columns: StructType) -> None:
        """See that rows with ``columns`` can be added. Raises: OperationalError."""

    def append(self, rows: DataFrame, run: str) -> None:
        """Add ``rows`` in one transaction, unless those of ``run`` are there. Raises: OperationalError."""


@dataclass(frozen=True, slots=True)
class _FolderTarget:
    """A Delta table in a folder that executors share."""

    appender: DeltaAppender

    def check(self, columns: StructType) -> None:
        self.appender.check(_plain(columns))

    def append(self, rows: DataFrame, run: str) -> None:
        if self.appender.has(run):
            return
        schema = _plain(rows.schema)
        task = partial(_write_task, self.appender.make_folder(), schema)
        written = rows.mapInArrow(task, "name string, size bigint, rows bigint").collect()
        self.appender.append([PartFile(*row) for row in written], schema, run)


def _plain(columns: StructType) -> pa.Schema:
    return plain_schema(to_arrow_schema(columns))


def _write_task(folder: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for part in write_part(folder, schema, (pa.Table.from_batches([batch]) for batch in batches)):
        yield pa.RecordBatch.from_pydict({"name": [part.name], "size": [part.size], "rows": [part.rows]})


@dataclass(frozen=True, slots=True)
class _KnownTarget:
    """A table of Delta's or Iceberg's that a session knows by ``name``."""

    session: SparkSession
    name: str

    def check(self, columns: StructType) -> None:
        try:
            known = self.session.table(self.name)
            format, _ = present_version(self.session, self.name)
        except PySparkException as error:
            made = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in columns)
            raise OperationalError(
                f"{TABLE}{self.name}: Spark's session knows no such table ({first_line(error)})",
                f"Make it first: CREATE TABLE {self.name} ({made}) USING delta",
            ) from error
        if format not in ("delta", "iceberg"):
            raise OperationalError(
                f"{TABLE}{self.name} is of the format {format or 'of a view'}, which takes no rows in one transaction with an id",
                "Name a table of Delta's or Iceberg's, so that a repeated run adds no row twice.",
            )
        there, own = ({f.name.lower(): f.dataType.simpleString() for f in some} for some in (known.schema, columns))
        if wrong := [f"{name} {own.get(name, 'is missing')}" for name in (own | there) if own.get(name) != there.get(name)]:
            raise OperationalError(
                f"{TABLE}{self.name}: the table's columns are not those of the rows to add: {', '.join(wrong[:5])}",
                "Name another table, or change the columns of this one first. Nothing was done.",
            )

    def append(self, rows: DataFrame, run: str) -> None:
        format, _ = present_version(self.session, self.name)
        ordered = rows.select(*(f"`{column}`" for column in self.session.table(self.name).columns))
        writer = ordered.writeTo(self.name)
        if format == "delta":
            writer.option("txnAppId", run).option("txnVersion", "1").append()
            return
        met = self.session.table(f"{self.name}.snapshots").where(f"summary['{_ICEBERG_RUN}'] = '{run}'")
        if not met.take(1):
            writer.option(f"snapshot-property.{_ICEBERG_RUN}", run).append()


def target_of(session: SparkSession, name: str) -> FrameTarget:
    """Where the rows of a side of this name go. Raises: UsageError."""
    if name.startswith(TABLE):
        return _KnownTarget(session, name.removeprefix(TABLE))
    if is_delta_side(name):
        return _FolderTarget(DeltaAppender(Path(name)))
    raise UsageError(
        f"{name} is one file, and executors write several", "Name a .delta table or table:NAME, or leave out --engine spark."
    )


def gate_tables(
    session: Session,
    insertions: Sequence[str],
    deletions: Sequence[str],
    accepted: str | None,
    quarantine: str | None,
    **settings: Any,
) -> GateAnswer:
    """Gate the one table of ``insertions``, and add its rows to the tables of the two sides. Raises: UsageError, InputError,
    OperationalError."""
    if len(insertions) != 1:
        raise UsageError("a side that is a table has the rows of one table", "Name one table with --insert.")
    options = Options(**settings_of({k: v for k, v in settings.items() if k in Options.__dataclass_fields__}))
    spark = session_of(options)
    name, mapping = insertions[0], settings.pop("mapping", None)
    frame = _frame(spark, name)
    refuse_reason_columns(name, frame.columns)
    sides = [(side, target_of(spark, told)) for side, told in (("quarantine", quarantine), ("accepted", accepted)) if told]
    for side, target in sides:
        target.check(StructType([*frame.schema, *_REASONS]) if side == "quarantine" else frame.schema)

    def deliver(frames: GatedFrames) -> None:
        for side, target in sides:
            target.append(getattr(frames, side), side_id(frames.answer, session.path, side))

    with gate_frame(frame, session, mapping=mapping, name=name, deliver=deliver, deletions=deletions, **settings) as frames:
        return frames.answer


_REASONS: StructType = from_arrow_schema(REASON_COLUMNS)


def _frame(spark: SparkSession, name: str) -> DataFrame:
    """All columns of a table: of Spark's session, Delta or Parquet. Raises: UsageError, InputError."""
    try:
        if name.startswith(TABLE):
            return KnownTable.of(spark, name).frame
        source = source_of(name)
        if not isinstance(source, TableSource) or source.kind not in (TableKind.PARQUET, TableKind.DELTA):
            raise UsageError(
                f"{name} is no table that executors read row by row",
                "Give Parquet, Delta or table:NAME, or leave out --engine spark.",
            )
        if (version := hidden_version(name)) is not None:
            return spark.read.format("delta").option("versionAsOf", version).load(str(Path(name).absolute()))
        files = [Path(file.path).absolute().as_uri() for file in table_files(source, EveryColumn())[0]]
        whole = spark.read.option("mergeSchema", "true")
        path = Path(source.value).absolute()
        return (whole.option("basePath", path.as_uri()) if path.is_dir() else whole).parquet(*files)
    except (PySparkException, Py4JError) as error:
        raise unreadable(name, error) from error
