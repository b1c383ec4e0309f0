"""Sides of a gate as tables: the rows of the one table that was gated, with all their columns,
and in the quarantine the reasons.

A name that ends in .delta, .parquet, .csv or .tsv, or begins with table:, is a table. What is
added to (Delta, Iceberg) is added to in one transaction with the id of the run; a file is
replaced in one step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from jobs.files import naming, replacing
from jobs.gate.appending import AppendRun, DeltaAppender, content_of, plain_schema, write_part
from jobs.gate.gated import GateAnswer
from jobs.gate.row_sides import (
    REASON_COLUMNS,
    RowReason,
    RowSides,
    reason_table,
    refuse_reason_columns,
    row_sides,
)
from jobs.gate.side_names import PARQUET, TSV, is_delta_side
from jobs.gate.source_rows import SourceRows
from shiq.errors import UsageError
from shiq.remote.place import Place
from shiq.sources import TABLE, TableSource, source_of


def side_run(gated: GateAnswer, store: Place, side: str, content: int) -> AppendRun:
    """The id of what a run adds to a ``side``: the same where the same is decided about the same
    rows, whose ``content`` is that of all columns (`content_of`), committed or not.
    """
    where = store.absolute() if isinstance(store, Path) else store
    found = hashlib.sha256(f"{where}\n{side}\n{content:x}\n".encode())
    for mark, lines in (
        (b"+", gated.accepted),
        (b"-", [x.line for x in (*gated.set_aside, *gated.tolerated)]),
    ):
        for raw in sorted(line.raw for line in lines):
            found.update(mark + raw)
    return AppendRun(f"shiq-gate-{found.hexdigest()[:24]}")


class RowTarget(Protocol):
    """A target of the rows of one side."""

    def check(self, schema: pa.Schema) -> None:
        """See that rows of ``schema`` can be written. Raises: OperationalError."""

    def write(
        self, tables: Callable[[], Iterator[pa.Table]], schema: pa.Schema, run: AppendRun
    ) -> None:
        """Write all rows of a side. Raises: OperationalError."""


@dataclass(frozen=True, slots=True)
class _DeltaTarget:
    appender: DeltaAppender

    def check(self, schema: pa.Schema) -> None:
        self.appender.check(plain_schema(schema))

    def write(
        self, tables: Callable[[], Iterator[pa.Table]], schema: pa.Schema, run: AppendRun
    ) -> None:
        if not self.appender.has(run):
            plain = plain_schema(schema)
            with naming(self.appender.path):
                parts = list(write_part(self.appender.make_folder(), plain, tables()))
            self.appender.append(parts, plain, run)


@dataclass(frozen=True, slots=True)
class _FileTarget:
    """A Parquet, CSV or TSV file, replaced in one step. Lists are JSON in text."""

    path: Path

    def check(self, schema: pa.Schema) -> None:
        """A file takes any rows."""

    def write(
        self, tables: Callable[[], Iterator[pa.Table]], schema: pa.Schema, run: AppendRun
    ) -> None:
        suffix = self.path.suffix.lower()
        with naming(self.path), replacing(self.path) as file:
            if suffix == PARQUET:
                with pq.ParquetWriter(file, schema) as writer:
                    for table in tables():
                        writer.write_table(table)
            else:
                options = pa_csv.WriteOptions(delimiter="\t" if suffix == TSV else ",")
                with pa_csv.CSVWriter(file, _text_schema(schema), write_options=options) as writer:
                    for table in tables():
                        writer.write_table(_as_text(table))


def _text_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema(
        [pa.field(f.name, pa.string() if pa.types.is_nested(f.type) else f.type) for f in schema]
    )


def _as_text(table: pa.Table) -> pa.Table:
    """``table``, with values that have parts as JSON."""
    for i, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = [
                None if x is None else json.dumps(x, ensure_ascii=False, default=str)
                for x in table.column(i).to_pylist()
            ]
            table = table.set_column(i, field.name, pa.array(texts, pa.string()))
    return table


def target_of(name: str) -> RowTarget:
    """The target of the rows of a side of this name. Raises: UsageError."""
    if name.startswith(TABLE):
        raise UsageError(
            f"{name} is a table that a session of Spark's knows",
            "Add --engine spark, or name a .delta table.",
        )
    return (
        _DeltaTarget(DeltaAppender(Path(name))) if is_delta_side(name) else _FileTarget(Path(name))
    )


@dataclass(frozen=True)
class TableSides:
    """Targets of the rows of ``source``, by side; ``store``: where the store is."""

    source: SourceRows
    accepted: RowTarget | None
    quarantine: RowTarget | None
    store: Place

    def check(self) -> None:
        """See that the rows fit, before any work. Raises: UsageError, OperationalError."""
        refuse_reason_columns(self.source.source.name, self.source.schema.names)
        if self.quarantine:
            self.quarantine.check(self._reasoned)
        if self.accepted:
            self.accepted.check(self.source.schema)

    def write(self, gated: GateAnswer) -> None:
        """Write what ``gated`` decided, the quarantine first. Raises: OperationalError."""
        sides = row_sides(gated)
        texts = {
            x.line.table_row: x.line.text.removeprefix("? ")
            for x in gated.set_aside
            if x.line.problem
        }
        is_added = any(
            isinstance(target, _DeltaTarget) for target in (self.accepted, self.quarantine)
        )
        content = content_of(rows for _, rows in self.source) if is_added else 0
        if self.quarantine:
            run = side_run(gated, self.store, "quarantine", content)
            self.quarantine.write(lambda: self._set_aside(sides, texts), self._reasoned, run)
        if self.accepted:
            run = side_run(gated, self.store, "accepted", content)
            self.accepted.write(lambda: self._accepted(sides), self.source.schema, run)

    @property
    def _reasoned(self) -> pa.Schema:
        return pa.schema([*self.source.schema, *REASON_COLUMNS])

    def _accepted(self, sides: RowSides) -> Iterator[pa.Table]:
        for numbers, rows in self.source:
            yield rows.filter(
                pa.array([sides.reason_of(number) is None for number in numbers], pa.bool_())
            )

    def _set_aside(self, sides: RowSides, texts: dict[int, str]) -> Iterator[pa.Table]:
        unread = dict(sides.reasons)
        for numbers, rows in self.source:
            found = [
                (i, reason)
                for i, number in enumerate(numbers)
                if (reason := sides.reason_of(number))
            ]
            for number in numbers:
                unread.pop(number, None)
            yield _append_reasons(
                rows.take(pa.array([i for i, _ in found], pa.int64())),
                [reason for _, reason in found],
            )
        # A line that has not the columns of its table is no row of it.
        lines = sorted(unread.items())
        empty = pa.table(
            [pa.nulls(len(lines), field.type) for field in self.source.schema],
            schema=self.source.schema,
        )
        reasons = [
            RowReason(f"{reason.reason} (line {number}: {texts.get(number, '')})", reason.cause)
            for number, reason in lines
        ]
        yield _append_reasons(empty, reasons)


def _append_reasons(rows: pa.Table, reasons: Sequence[RowReason]) -> pa.Table:
    told = reason_table(reasons)
    for field in REASON_COLUMNS:
        rows = rows.append_column(field, told.column(field.name))
    return rows


def table_sides(
    sources: Sequence[object], accepted: str | None, quarantine: str | None, store: Place
) -> TableSides:
    """Sides with these names of the one table of ``sources``, which its rows fit.

    Raises: UsageError for anything but one table, OperationalError for columns that do not fit."""
    table = source_of(sources[0]) if len(sources) == 1 else None
    if not isinstance(table, TableSource):
        raise UsageError(
            "a side that is a table has the rows of a table, and --insert names no table, or more than one",
            "Give one table (Parquet, Delta, CSV, TSV) as --insert, or name the side .nq.",
        )
    good, bad = (target_of(name) if name else None for name in (accepted, quarantine))
    found = TableSides(SourceRows.of(table), good, bad, store)
    found.check()
    return found
