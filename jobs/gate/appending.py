"""Adding rows to a Delta table in one transaction, with the id of the run: a run that is
repeated adds nothing.

The rows are written as Parquet files first, by this process or by executors; one entry of the
table's log then makes them count.
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
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, create_table_with_add_actions

from jobs.files import naming
from shiq.errors import OperationalError

#: What a writer of a Delta table has to care for that only adds files; anything else is left to
#: Spark.
_FEATURES: Final = frozenset({"appendOnly", "invariants", "changeDataFeed", "timestampNtz"})


@dataclass(frozen=True, slots=True)
class PartFile:
    """A Parquet file that was written into the folder of a table, with its size in bytes and its
    rows.
    """

    name: str
    size: int
    rows: int


def write_part(folder: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> Iterator[PartFile]:
    """Write ``tables`` as one Parquet file of a new name in ``folder``; none where they have no
    rows.
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


def content_of(tables: Iterable[pa.Table]) -> int:
    """A number that tells rows from others by all their values, whatever the order and the parts
    they come in.
    """
    total = 0
    for table in tables:
        for row in zip(*(column.to_pylist() for column in table.columns)):
            text = repr(row).encode("utf-8", "surrogatepass")
            total += int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "little")
    return total % (1 << 128)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """``schema`` as Delta has it: times in microseconds of UTC, no large or coded texts, nothing
    of Arrow's own beside.
    """
    return pa.schema([pa.field(field.name, _plain(field.type)) for field in schema])


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_unsigned_integer(kind):
        return pa.int64() if kind.bit_width < 64 else pa.decimal128(20, 0)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _plain(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    return kind


@dataclass(frozen=True, slots=True)
class AppendRun:
    """The id of what is added to a table: an application of Delta's, and the number of its
    transaction. Numbers up to the last one that was added are there.
    """

    application: str
    number: int = 1

    def __str__(self) -> str:
        return f"{self.application}:{self.number}"


class DeltaAppender:
    """Adds rows to the Delta table in a folder, which is made with the first ones."""

    def __init__(self, path: Path) -> None:
        self.path, self._place = path, str(path.absolute())

    def check(self, schema: pa.Schema) -> None:
        """See that rows of ``schema`` can be added. Raises: OperationalError."""
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
            if not _fits(field, there.get(field.name))
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

    def has(self, run: AppendRun) -> bool:
        """Whether the rows of ``run`` are in the table."""
        table = self._table()
        last = None if table is None else table.transaction_version(run.application)
        return last is not None and last >= run.number

    def make_folder(self) -> str:
        """The folder of the table, made if it is not there."""
        with naming(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        return self._place

    def append(self, parts: Sequence[PartFile], schema: pa.Schema, run: AppendRun) -> None:
        """Make ``parts`` count, in one transaction that has the id ``run``. Raises:
        OperationalError.
        """
        missing = [part.name for part in parts if not (self.path / part.name).is_file()]
        if missing:
            raise OperationalError(
                f"{self.path}: {missing[0]} was written by an executor, and is not in the folder here",
                "Name a folder that the executors and the driver share, or a table: table:catalog.schema.t.",
            )
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
        try:
            return DeltaTable(self._place) if DeltaTable.is_deltatable(self._place) else None
        except (DeltaError, OSError) as error:
            raise OperationalError(
                f"{self.path}: not a readable Delta table ({error})", "Name another one."
            ) from error


def _fits(field: pa.Field, there: pa.Field | None) -> bool:
    return there is not None and plain_schema(pa.schema([there])).field(0).type == field.type
