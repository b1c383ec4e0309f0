"""Append rows to a Delta table in one transaction with a run id, so that a repeated run adds
nothing.

The rows are written as Parquet files first, by this process or by executors. One entry in the
table's log then makes them visible.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from shiq.errors import OperationalError
from shiq.files import report_write_errors

# deltalake is an extra: a gate of files does without it.
if TYPE_CHECKING:
    from deltalake import DeltaTable

#: What a writer of a Delta table has to care for that only adds files; anything else is left to
#: Spark.
_FEATURES: Final = frozenset({"appendOnly", "invariants", "changeDataFeed", "timestampNtz"})


@dataclass(frozen=True, slots=True)
class PartFile:
    """Parquet file in a table's folder that no transaction has added yet; ``size`` in bytes."""

    name: str
    size: int
    rows: int


def write_part(folder: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> Iterator[PartFile]:
    """Write ``tables`` as one new Parquet file in ``folder`` and yield it; nothing is written
    without rows.
    """
    path, rows, writer = Path(folder) / f"part-{uuid.uuid4().hex}.parquet", 0, None
    try:
        for table in tables:
            if table.num_rows:
                writer = writer or pq.ParquetWriter(path, schema)
                writer.write_table(table.cast(schema))
                rows += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    if rows:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
        yield PartFile(path.name, path.stat().st_size, rows)


def content_hash(tables: Iterable[pa.Table]) -> int:
    """Hash of rows by all their values, independent of their order and grouping."""
    total = 0
    for table in tables:
        for row in zip(*(column.to_pylist() for column in table.columns)):
            text = repr(row).encode("utf-8", "surrogatepass")
            total += int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "little")
    return total % (1 << 128)


def delta_schema(schema: pa.Schema) -> pa.Schema:
    """Convert ``schema`` to the types that Delta stores: UTC microseconds, plain texts, no
    dictionaries or metadata.
    """
    return pa.schema([pa.field(field.name, _delta_type(field.type)) for field in schema])


def _delta_type(kind: pa.DataType) -> pa.DataType:
    """Type that Delta stores for an Arrow type."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if pa.types.is_dictionary(kind):
        return _delta_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_unsigned_integer(kind):
        return pa.int64() if kind.bit_width < 64 else pa.decimal128(20, 0)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_delta_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _delta_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_delta_type(kind.key_type), _delta_type(kind.item_type))
    return kind


@dataclass(frozen=True, slots=True)
class AppendRun:
    """Id of an append: an application id and a transaction number of Delta. A table with one number
    counts as having all smaller numbers of the same application.
    """

    application: str
    number: int = 1

    def __str__(self) -> str:
        return f"{self.application}:{self.number}"


class DeltaAppender:
    """Writer that appends rows to the Delta table in a folder; the first append creates the table."""

    def __init__(self, path: Path) -> None:
        self.path, self._place = path, str(path.absolute())

    def check(self, schema: pa.Schema) -> None:
        """Check that rows of ``schema`` can be appended. Raises: OperationalError."""
        table = self._table()
        if table is None:
            return
        features, settings = (
            {*(table.protocol().writer_features or ())},
            table.metadata().configuration or {},
        )
        if (
            features - _FEATURES
            or table.metadata().partition_columns
            or any(x.startswith("delta.constraints") for x in settings)
        ):
            raise OperationalError(
                f"{self.path}: a Delta table with partitions, constraints or features that only Spark's Delta writes",
                f"Name it as Spark knows it, with --engine spark: table:delta.`{self._place}`.",
            )
        there = {field.name: field for field in pa.schema(table.schema().to_arrow())}
        wrong = [
            f"{field.name} {field.type}"
            for field in schema
            if field.name not in there
            or delta_schema(pa.schema([there[field.name]])).field(0).type != field.type
        ]
        wrong += [
            f"no {name}"
            for name, field in there.items()
            if name not in schema.names and not field.nullable
        ]
        if wrong:
            raise OperationalError(
                f"{self.path}: the table's columns are not those of the rows to add: {', '.join(wrong[:5])}",
                "Name another table, or add the columns to this one first. Nothing was done.",
            )

    def has_run(self, run: AppendRun) -> bool:
        """Whether the rows of ``run`` have been appended to the table before."""
        table = self._table()
        last = None if table is None else table.transaction_version(run.application)
        return last is not None and last >= run.number

    def make_folder(self) -> str:
        """Create the folder of the table if it is missing. Returns its path."""
        with report_write_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        return self._place

    def append(self, parts: Sequence[PartFile], schema: pa.Schema, run: AppendRun) -> None:
        """Add the files ``parts`` to the table in one transaction with the id ``run``. Raises:
        OperationalError.
        """
        missing = [part.name for part in parts if not (self.path / part.name).is_file()]
        if missing:
            raise OperationalError(
                f"{self.path}: {missing[0]} was written by an executor, and is not in the folder here",
                "Name a folder that the executors and the driver share, or a table: table:catalog.schema.t.",
            )
        from deltalake import CommitProperties, Schema, Transaction
        from deltalake.exceptions import DeltaError
        from deltalake.transaction import AddAction, create_table_with_add_actions

        now = int(time.time() * 1000)
        actions: list[Any] = [
            AddAction(part.name, part.size, {}, now, True, json.dumps({"numRecords": part.rows}))
            for part in parts
        ]
        properties = CommitProperties(app_transactions=[Transaction(run.application, run.number)])
        try:
            table = self._table()
            if table is None:
                columns = Schema.from_arrow(schema)
                create_table_with_add_actions(
                    self._place, columns, actions, commit_properties=properties
                )
            else:
                table.create_write_transaction(
                    actions, "append", table.schema(), commit_properties=properties
                )
        except (DeltaError, OSError) as error:
            for part in parts:
                with suppress(OSError):
                    (self.path / part.name).unlink()
            raise OperationalError(
                f"{self.path}: no rows could be added ({error})", "Run the same again."
            ) from error

    def _table(self) -> DeltaTable | None:
        """Open the table; None if there is none yet. Raises: OperationalError."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            return DeltaTable(self._place) if DeltaTable.is_deltatable(self._place) else None
        except (DeltaError, OSError) as error:
            raise OperationalError(
                f"{self.path}: not a readable Delta table ({error})", "Name another one."
            ) from error
