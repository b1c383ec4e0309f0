"""Write a gate's rows to tables: accepted and quarantined rows with all columns, reasons, and
conflicts as rows.

Delta tables are appended to in one transaction with the run id. Parquet, CSV and TSV files are
replaced in one step.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from shiq.errors import UsageError
from shiq.files import open_replacement, report_write_errors
from shiq.inputs.sources import TABLE, TableKind, TableSource, classify_input
from shiq.jobs.gate.answer import REFUSED, WITH_THE_BATCH, GateAnswer, SetAsideLine
from shiq.jobs.gate.appending import (
    AppendRun,
    DeltaAppender,
    content_hash,
    delta_schema,
    write_part,
)
from shiq.rdf.tables import BATCH_ROWS, AllColumns, TableFile, open_parquet, table_files
from shiq.rdf.text_tables import read_header, text_rows
from shiq.rdf.triples import Rejects
from shiq.remote.place import StoreLocation

# Read the rows of a table with all columns and with the row numbers that the gate uses.


@dataclass(frozen=True)
class SourceRows:
    """Rows of a table in a file or folder.

    schema: all columns; of a text table every column is text.
    files: the Parquet files; empty for a text table.
    """

    source: TableSource
    schema: pa.Schema
    files: tuple[TableFile, ...] = ()

    @classmethod
    def open(cls, source: TableSource) -> SourceRows:
        """Open a table and read its schema.

        Raises: UsageError for a table whose rows have no common columns; InputError if it cannot be
            read.
        """
        if source.kind in (TableKind.CSV, TableKind.TSV):
            return cls(source, pa.schema([(name, pa.string()) for name in read_header(source)]))
        if source.kind not in (TableKind.PARQUET, TableKind.DELTA):
            raise UsageError(
                f"{source.name}: rows of {source.kind.value} do not come out as a table",
                "Name files of N-Quads (.nq) for --accepted and --quarantine.",
            )
        files, schemas = table_files(source, AllColumns())[0], []
        for file in files:
            with open_parquet(file) as parquet:
                folders = [
                    pa.field(name, pa.string())
                    for name in file.values
                    if name not in parquet.schema_arrow.names
                ]
                schemas.append(pa.schema([*parquet.schema_arrow, *folders]).remove_metadata())
        return cls(source, pa.unify_schemas(schemas, promote_options="permissive"), tuple(files))

    def __iter__(self) -> Iterator[tuple[range | list[int], pa.Table]]:
        """Iterate over batches of rows, each with its row numbers."""
        if not self.files:
            names = self.schema.names
            for lines, columns in text_rows(self.source, names, Rejects(self.source.name)):
                yield (
                    list(lines),
                    pa.table(
                        [pa.array(column, pa.string()) for column in columns], schema=self.schema
                    ),
                )
            return
        before = 0
        for file in self.files:
            with open_parquet(file) as parquet:
                for batch in parquet.iter_batches(BATCH_ROWS):
                    yield (
                        range(before + 1, before + batch.num_rows + 1),
                        self._with_all_columns(pa.Table.from_batches([batch]), file),
                    )
                    before += batch.num_rows

    def _with_all_columns(self, rows: pa.Table, file: TableFile) -> pa.Table:
        """Add to the rows of ``file`` the columns that only other files of the table have."""
        columns = []
        for field in self.schema:
            if field.name in rows.column_names:
                columns.append(rows.column(field.name).cast(field.type))
            else:
                value = file.values.get(field.name)
                columns.append(pa.array([value] * len(rows), pa.string()).cast(field.type))
        return pa.table(columns, schema=self.schema)


def make_append_run(gated: GateAnswer, store: StoreLocation, side: str, content: int) -> AppendRun:
    """Identify one append to an output, so that a gate that runs again does not append twice.
    ``side``: "accepted" or "quarantine".

    content: `content_hash` of all columns of the input. The same decision on the same rows has the
        same id, committed or not.
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
    """File or table that one output of a gate is written to."""

    def check(self, schema: pa.Schema) -> None:
        """Check that rows of ``schema`` can be written. Raises: OperationalError."""

    def write(
        self, tables: Callable[[], Iterator[pa.Table]], schema: pa.Schema, run: AppendRun
    ) -> None:
        """Write all rows of an output. Raises: OperationalError."""


@dataclass(frozen=True, slots=True)
class _DeltaTarget:
    """Delta table in a folder; rows are appended."""

    appender: DeltaAppender

    def check(self, schema: pa.Schema) -> None:
        """Check that rows of ``schema`` can be appended. Raises: OperationalError."""
        self.appender.check(delta_schema(schema))

    def write(
        self, tables: Callable[[], Iterator[pa.Table]], schema: pa.Schema, run: AppendRun
    ) -> None:
        """Append the rows in one transaction; nothing if the table already has the rows of ``run``.
        Raises: OperationalError.
        """
        if not self.appender.has_run(run):
            plain = delta_schema(schema)
            with report_write_errors(self.appender.path):
                parts = list(write_part(self.appender.make_folder(), plain, tables()))
            self.appender.append(parts, plain, run)


@dataclass(frozen=True, slots=True)
class _FileTarget:
    """Parquet, CSV or TSV file, replaced in one step. Lists are written to text files as JSON."""

    path: Path

    def check(self, schema: pa.Schema) -> None:
        """Accept any schema, since the file is replaced as a whole."""

    def write(
        self, tables: Callable[[], Iterator[pa.Table]], schema: pa.Schema, run: AppendRun
    ) -> None:
        """Replace the file by one with these rows. Raises: OperationalError."""
        suffix = self.path.suffix.lower()
        with report_write_errors(self.path), open_replacement(self.path) as file:
            if suffix == PARQUET:
                with pq.ParquetWriter(file, schema) as writer:
                    for table in tables():
                        writer.write_table(table)
            else:
                options = pa_csv.WriteOptions(delimiter="\t" if suffix == TSV else ",")
                with pa_csv.CSVWriter(file, _text_schema(schema), write_options=options) as writer:
                    for table in tables():
                        writer.write_table(_nested_to_json(table))


def _text_schema(schema: pa.Schema) -> pa.Schema:
    """Schema for a text file: nested columns become texts."""
    return pa.schema(
        [pa.field(f.name, pa.string() if pa.types.is_nested(f.type) else f.type) for f in schema]
    )


def _nested_to_json(table: pa.Table) -> pa.Table:
    """Convert nested columns to JSON texts."""
    for i, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = [
                None if x is None else json.dumps(x, ensure_ascii=False, default=str)
                for x in table.column(i).to_pylist()
            ]
            table = table.set_column(i, field.name, pa.array(texts, pa.string()))
    return table


def open_target(name: str) -> RowTarget:
    """Find the file or table that an output's name stands for. Raises: UsageError."""
    if name.startswith(TABLE):
        raise UsageError(
            f"{name} is a table that a session of Spark's knows",
            "Add --engine spark, or name a .delta table.",
        )
    return (
        _DeltaTarget(DeltaAppender(Path(name)))
        if is_delta_output(name)
        else _FileTarget(Path(name))
    )


@dataclass(frozen=True)
class TableOutputs:
    """Output tables of a gate for the rows of ``source``, in the order in which they are written.
    ``store``: path or address of the store.
    """

    source: SourceRows
    targets: Mapping[str, RowTarget]
    store: StoreLocation

    def check(self) -> None:
        """Check that the rows fit into the outputs, before the batch is checked. Raises:
        UsageError, OperationalError.
        """
        refuse_reason_columns(self.source.source.name, self.source.schema.names)
        for side, target in self.targets.items():
            target.check(self._schemas[side])

    def write(self, gated: GateAnswer) -> None:
        """Write the decision ``gated``, the quarantine first. Raises: OperationalError."""
        sides = row_decisions(gated)
        texts = {
            x.line.table_row: x.line.text.removeprefix("? ")
            for x in gated.set_aside
            if x.line.problem
        }
        is_added = any(isinstance(target, _DeltaTarget) for target in self.targets.values())
        content = content_hash(rows for _, rows in self.source) if is_added else 0
        rows_of = {
            "quarantine": partial(self._quarantined_rows, sides, texts),
            "accepted": partial(self._accepted_rows, sides),
        }
        for side, target in self.targets.items():
            run = make_append_run(gated, self.store, side, content)
            target.write(rows_of[side], self._schemas[side], run)

    @property
    def _schemas(self) -> dict[str, pa.Schema]:
        """Schema of each output; the quarantine has the source's columns and `REASON_COLUMNS`."""
        own = self.source.schema
        return {"quarantine": pa.schema([*own, *REASON_COLUMNS]), "accepted": own}

    def _accepted_rows(self, sides: RowDecisions) -> Iterator[pa.Table]:
        """Iterate over the accepted rows of the source table."""
        for numbers, rows in self.source:
            yield rows.filter(
                pa.array([sides.reason_of(number) is None for number in numbers], pa.bool_())
            )

    def _quarantined_rows(self, sides: RowDecisions, texts: dict[int, str]) -> Iterator[pa.Table]:
        """Iterate over the quarantined rows with their reasons. ``texts``: raw text of malformed
        rows by row number.
        """
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
    """Append the columns `REASON_COLUMNS` with these ``reasons`` to ``rows``."""
    told = reason_table(reasons)
    for field in REASON_COLUMNS:
        rows = rows.append_column(field, told.column(field.name))
    return rows


def open_table_outputs(
    sources: Sequence[object], accepted: str | None, quarantine: str | None, store: StoreLocation
) -> TableOutputs:
    """Open the output tables for the one input table among ``sources``, and check that its rows fit
    into them.

    Raises: UsageError unless there is exactly one table; OperationalError if columns do not fit.
    """
    table = classify_input(sources[0]) if len(sources) == 1 else None
    if not isinstance(table, TableSource):
        raise UsageError(
            "a side that is a table has the rows of a table, and --insert names no table, or more than one",
            "Give one table (Parquet, Delta, CSV, TSV) as --insert, or name the side .nq.",
        )
    named = {"quarantine": quarantine, "accepted": accepted}
    targets = {side: open_target(name) for side, name in named.items() if name}
    found = TableOutputs(SourceRows.open(table), targets, store)
    found.check()
    return found


_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())
#: Columns that the quarantine has after those of the table: why the row is there, and the same for
#: programs.
REASON_COLUMNS: Final = pa.schema(
    [("reason", _TEXT), ("cause", _TEXT), ("conflict", _TEXTS), ("axioms", _TEXTS), ("hint", _TEXT)]
)
#: Columns of the table of conflicts. ``conflict`` is the id that rows of the quarantine have.
CONFLICT_COLUMNS: Final = pa.schema(
    [
        *((name, _TEXT) for name in ("conflict", "cause", "title", "sentence", "effect")),
        *((name, _TEXTS) for name in ("insertions", "base", "axioms")),
    ]
)
#: The kind of a line that was set aside with another one of its row.
_UNIT_KIND: Final = "unit"


def refuse_reason_columns(table: str, columns: Iterable[str]) -> None:
    """Refuse an input table that has a column named like one of `REASON_COLUMNS`, ignoring case as
    Spark does. Raises: UsageError.
    """
    for name in columns:
        if name.lower() in REASON_COLUMNS.names:
            raise UsageError(
                f"{table} has a column {name!r}, which is what the quarantine calls a column of its own",
                f"Rename it first: df.withColumnRenamed({name!r}, 'source_{name}'), or in SQL SELECT {name} AS source_{name}.",
            )


@dataclass(frozen=True, slots=True)
class RowReason:
    """Reason why a row is in the quarantine; the fields are `REASON_COLUMNS`.

    cause: pattern id of the conflict, shared by conflicts of one kind; else the kind of the
        leftover.
    """

    reason: str
    cause: str
    conflict: tuple[str, ...] = ()
    axioms: tuple[str, ...] = ()
    hint: str | None = None


#: Why a row of a refused batch is in the quarantine of which nothing else is known.
REFUSED_ROW: Final = RowReason(WITH_THE_BATCH, "batch")


@dataclass(frozen=True)
class RowDecisions:
    """Decision about each row of a table. ``reasons``: by number of a quarantined row. Other rows
    are accepted, or with ``refuses_all`` refused.
    """

    reasons: Mapping[int, RowReason]
    refuses_all: bool = False

    def reason_of(self, row: int) -> RowReason | None:
        """Reason why ``row`` is quarantined; None if it is accepted."""
        return self.reasons.get(row, REFUSED_ROW if self.refuses_all else None)


def row_decisions(gated: GateAnswer) -> RowDecisions:
    """Convert the decision about the lines of one table to decisions about its rows. Tolerated rows
    go to the quarantine.
    """
    lines: dict[int, list[SetAsideLine]] = {}
    for line in (*gated.set_aside, *gated.tolerated):
        if line.kind != REFUSED_ROW.cause:
            lines.setdefault(line.line.table_row, []).append(line)
    return RowDecisions(
        {row: _reason_of(gated, some) for row, some in lines.items()}, gated.decision == REFUSED
    )


def _reason_of(gated: GateAnswer, lines: Sequence[SetAsideLine]) -> RowReason:
    """Combine the reasons of a row's quarantined ``lines`` into one."""
    own = [x for x in lines if x.kind != _UNIT_KIND] or lines
    conflicts = list(dict.fromkeys(n for x in own for n in x.conflicts))
    judged = gated.judged_conflicts
    causes = [judged[n].pattern.id for n in conflicts] or [x.kind for x in own]
    told = [
        f"{x.reason}: {judged[x.conflicts[0]].pattern.title}" if x.conflicts else x.reason
        for x in own
    ]
    return RowReason(
        "; ".join(dict.fromkeys(told)),
        ", ".join(dict.fromkeys(causes)),
        tuple(conflict_id(gated, n) for n in conflicts),
        tuple(dict.fromkeys(axiom for n in conflicts for axiom in judged[n].conflict.axioms)),
        "; ".join(dict.fromkeys(x.hint for x in own if x.hint)) or None,
    )


def conflict_id(gated: GateAnswer, number: int) -> str:
    """Id of the conflict at a position in the answer, unique among all runs."""
    return f"{gated.run}-{number}"


def reason_table(reasons: Sequence[RowReason]) -> pa.Table:
    """Convert reasons to an Arrow table with `REASON_COLUMNS`."""
    columns = [[getattr(x, name) for x in reasons] for name in REASON_COLUMNS.names]
    return pa.table(
        [pa.array(values, kind.type) for values, kind in zip(columns, REASON_COLUMNS)],
        schema=REASON_COLUMNS,
    )


def conflict_table(gated: GateAnswer) -> pa.Table:
    """Convert the conflicts of ``gated`` to an Arrow table with `CONFLICT_COLUMNS`."""
    rows: list[dict[str, Any]] = [
        {
            "conflict": conflict_id(gated, n),
            "cause": found.pattern.id,
            "title": found.pattern.title,
            "sentence": found.sentence,
            "effect": found.judgement.effect,
            "insertions": found.conflict.insertions,
            "base": found.conflict.base,
            "axioms": found.conflict.axioms,
        }
        for n, found in enumerate(gated.judged_conflicts)
    ]
    return pa.Table.from_pylist(rows, CONFLICT_COLUMNS)


# Recognise output names that are tables: they end in .delta, .parquet, .csv or .tsv, or begin with
# table:.


DELTA, PARQUET, CSV, TSV = ".delta", ".parquet", ".csv", ".tsv"
_BY_FOLDER: Final = re.compile(r"\w+\.`(.+)`")


def is_table_output(name: str) -> bool:
    """Decide whether the name of an output denotes a table (.delta, .parquet, .csv, .tsv,
    table:NAME).
    """
    return name.startswith(TABLE) or name.lower().endswith((DELTA, PARQUET, CSV, TSV))


def is_delta_output(name: str) -> bool:
    """Does the name denote a Delta table in a folder?"""
    return name.lower().endswith(DELTA)


def place_of_output(name: str) -> str:
    """Path of the file or folder of an output table; "" for a table that only Spark can locate."""
    if not name.startswith(TABLE):
        return name
    named = _BY_FOLDER.fullmatch(name.removeprefix(TABLE))
    return named[1] if named else ""
