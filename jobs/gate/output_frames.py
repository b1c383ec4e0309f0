"""Append a gate's rows to Delta and Iceberg tables on Spark's executors, each table in one
transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from shiq.errors import OperationalError, UsageError
from shiq.inputs.sources import TABLE
from shiq.jobs.gate.appending import (
    AppendRun,
    DeltaAppender,
    PartFile,
    content_hash,
    delta_schema,
    write_part,
)
from shiq.jobs.gate.output_tables import REASON_COLUMNS, is_delta_output
from shiq.jobs.spark.session_tables import present_version
from shiq.rdf.tables import summarise_error

_ICEBERG_RUN = "shiq-run"


class FrameTarget(Protocol):
    """Table that one output of a gate on Spark is appended to."""

    def check(self, columns: StructType) -> None:
        """Check that rows with ``columns`` can be appended. Raises: OperationalError."""

    def append(self, rows: DataFrame, run: AppendRun) -> None:
        """Append ``rows`` in one transaction, unless the table already has the rows of ``run``.
        Raises: OperationalError.
        """


@dataclass(frozen=True, slots=True)
class _FolderTarget:
    """Delta table in a folder that driver and executors share."""

    appender: DeltaAppender

    def check(self, columns: StructType) -> None:
        """Check that rows with ``columns`` can be appended. Raises: OperationalError."""
        self.appender.check(_delta_schema(columns))

    def append(self, rows: DataFrame, run: AppendRun) -> None:
        """Let executors write ``rows`` as Parquet files, then add these in one transaction; nothing
        if the table already has the rows of ``run``.
        """
        if self.appender.has_run(run):
            return
        schema = _delta_schema(rows.schema)
        task = partial(_write_task, self.appender.make_folder(), schema)
        written = rows.mapInArrow(task, "name string, size bigint, rows bigint").collect()
        self.appender.append([PartFile(*row) for row in written], schema, run)


def _delta_schema(columns: StructType) -> pa.Schema:
    """Schema that Delta stores for Spark ``columns``."""
    return delta_schema(to_arrow_schema(columns))


def _write_task(
    folder: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Spark task: write rows as Parquet files in ``folder``. Yields the files."""
    for part in write_part(folder, schema, (pa.Table.from_batches([batch]) for batch in batches)):
        yield pa.RecordBatch.from_pydict(
            {"name": [part.name], "size": [part.size], "rows": [part.rows]}
        )


def content_hash_of_frame(rows: DataFrame) -> int:
    """Compute `content_hash` of a DataFrame on the executors."""
    found = rows.mapInArrow(_content_task, "content string").collect()
    return sum(int(row.content) for row in found) % (1 << 128)


def _content_task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Spark task: compute the order-independent hash of rows (`content_hash`)."""
    total = content_hash(pa.Table.from_batches([batch]) for batch in batches)
    yield pa.RecordBatch.from_pydict({"content": [str(total)]})


@dataclass(frozen=True, slots=True)
class _CatalogTarget:
    """Delta or Iceberg table in the session's catalog."""

    session: SparkSession
    name: str

    def check(self, columns: StructType) -> None:
        """Check that the table exists, is Delta or Iceberg, and has these columns. Raises:
        OperationalError.
        """
        try:
            known = self.session.table(self.name)
            format, _ = present_version(self.session, self.name)
        except PySparkException as error:
            made = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in columns)
            raise OperationalError(
                f"{TABLE}{self.name}: Spark's session knows no such table ({summarise_error(error)})",
                f"Make it first: CREATE TABLE {self.name} ({made}) USING delta",
            ) from error
        if format not in ("delta", "iceberg"):
            raise OperationalError(
                f"{TABLE}{self.name} is of the format {format or 'of a view'}, which takes no rows in one transaction with an id",
                "Name a table of Delta's or Iceberg's, so that a repeated run adds no row twice.",
            )
        there, own = (
            {f.name.lower(): f.dataType.simpleString() for f in some}
            for some in (known.schema, columns)
        )
        if wrong := [
            f"{name} {own.get(name, 'is missing')}"
            for name in (own | there)
            if own.get(name) != there.get(name)
        ]:
            raise OperationalError(
                f"{TABLE}{self.name}: the table's columns are not those of the rows to add: {', '.join(wrong[:5])}",
                "Name another table, or change the columns of this one first. Nothing was done.",
            )

    def append(self, rows: DataFrame, run: AppendRun) -> None:
        """Append ``rows`` with the run id in one transaction; nothing if the table already has the
        rows of ``run``.
        """
        format, _ = present_version(self.session, self.name)
        ordered = rows.select(*(f"`{column}`" for column in self.session.table(self.name).columns))
        writer = ordered.writeTo(self.name)
        if format == "delta":
            writer.option("txnAppId", run.application).option(
                "txnVersion", str(run.number)
            ).append()
            return
        met = self.session.table(f"{self.name}.snapshots").where(
            f"summary['{_ICEBERG_RUN}'] = '{run}'"
        )
        if not met.take(1):
            writer.option(f"snapshot-property.{_ICEBERG_RUN}", str(run)).append()


def open_target(session: SparkSession, name: str) -> FrameTarget:
    """Find the table that an output's name stands for. Raises: UsageError."""
    if name.startswith(TABLE):
        return _CatalogTarget(session, name.removeprefix(TABLE))
    if is_delta_output(name):
        return _FolderTarget(DeltaAppender(Path(name)))
    raise UsageError(
        f"{name} is one file, and executors write several",
        "Name a .delta table or table:NAME, or leave out --engine spark.",
    )


@dataclass(frozen=True)
class FrameOutputs:
    """Output tables of a gate on Spark (quarantine and accepted rows), in the order in which they
    are written.
    """

    targets: Mapping[str, FrameTarget]

    @classmethod
    def open(
        cls,
        session: SparkSession,
        columns: StructType,
        accepted: str | None,
        quarantine: str | None,
    ) -> FrameOutputs:
        """Open the named tables and check that rows with ``columns`` fit. Raises: UsageError,
        OperationalError.
        """
        named = {"quarantine": quarantine, "accepted": accepted}
        found = cls({side: open_target(session, name) for side, name in named.items() if name})
        for side, target in found.targets.items():
            target.check(StructType([*columns, *_REASONS]) if side == "quarantine" else columns)
        return found

    def append(self, rows: Mapping[str, DataFrame], run: Callable[[str], AppendRun]) -> None:
        """Append the ``rows`` of each output under its run id. Raises: OperationalError."""
        for side, target in self.targets.items():
            target.append(rows[side], run(side))


_REASONS: StructType = from_arrow_schema(REASON_COLUMNS)
