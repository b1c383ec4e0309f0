"""Read events from Parquet and Delta tables, and write rows to them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shiq.errors import InputError, OperationalError
from shiq.files import report_write_errors
from shiq.inputs.sources import TableSource
from shiq.rdf.tables import BATCH_ROWS, TableFile, open_parquet, table_files
from shiq.rdf.terms import quad_line
from shiq.streams.front.event import Event

_TRIPLES, _ATOMS = ("s", "p", "o", "t"), ("atom", "t")


def read_event_rows(source: TableSource) -> Iterator[dict[str, Any]]:
    """Yield the rows of an event table (Parquet or Delta) as dicts by column. Raises: InputError.

    Columns: s, p, o, t or atom, t, and id if it exists.
    """
    files, passed_over = table_files(source)
    del passed_over  # files that are no data by their names
    for file in files:
        yield from read_file_rows(file)


def read_file_rows(
    file: TableFile, low: int = 0, high: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one file of an event table from index ``low`` up to ``high``, as dicts by
    column. Raises: InputError.
    """
    with open_parquet(file) as parquet:
        has = [*parquet.schema_arrow.names, *file.values]
        wanted = _ATOMS if "atom" in has else _TRIPLES
        missing = [name for name in wanted if name not in has]
        if missing:
            raise InputError(
                f"{file.path}: no column {missing[0]!r} (it has {', '.join(has)})",
                "A table of events has the columns s, p, o, t (N-Triples terms, a time), or atom, t.",
            )
        names = [name for name in (*wanted, "id") if name in parquet.schema_arrow.names]
        groups, at = [], 0
        for group in range(parquet.metadata.num_row_groups):
            begin, at = at, at + parquet.metadata.row_group(group).num_rows
            if at > low and (high is None or begin < high):
                groups.append((group, begin))
        at = groups[0][1] if groups else 0
        for batch in parquet.iter_batches(
            BATCH_ROWS, row_groups=[group for group, _ in groups], columns=names
        ):
            begin, at = at, at + batch.num_rows
            first, last = (
                max(low - begin, 0),
                batch.num_rows if high is None else min(high - begin, batch.num_rows),
            )
            for row in batch.slice(first, max(last - first, 0)).to_pylist():
                yield {
                    **{name: value for name, value in file.values.items() if name in wanted},
                    **row,
                }


def event_from_row(values: dict[str, Any], t: int) -> Event:
    """Convert a table row, as dict by column, to an event with the time ``t``; its terms are
    validated later.
    """
    identifier = None if values.get("id") is None else str(values["id"])
    if "atom" in values:
        return Event(t, atoms=(str(values["atom"]),), id=identifier)
    return Event(t, (quad_line(values["s"], values["p"], values["o"]),), id=identifier)


# Rows as tables: one Parquet file, or a Delta table to which each flush adds a commit.


def _make_arrow_table(rows: Sequence[str]) -> Any:
    """Convert JSON rows to an Arrow table; nested objects become JSON texts."""
    import pyarrow as pa  # type: ignore[import-untyped]

    return pa.Table.from_pylist(
        [
            {name: _serialise_objects(value) for name, value in json.loads(row).items()}
            for row in rows
        ]
    )


def _serialise_objects(value: Any) -> Any:
    """Serialise an object as JSON text; return other values unchanged."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


class ParquetSink:
    """Sink that writes one Parquet file when it is closed; it cannot continue from a checkpoint."""

    def __init__(self, path: Path, length: int | None = None) -> None:
        if length:
            raise OperationalError(
                f"{path}: a Parquet file cannot be gone on with",
                "Write JSON lines or a .delta table with --checkpoint.",
            )
        self.path, self.rows = path, list[str]()

    def write(self, rows: Sequence[str]) -> None:
        """Buffer ``rows`` for the file, which is written at the end."""
        self.rows += rows

    def flush(self) -> int:
        """Return 0: nothing is written before the end."""
        return 0

    def close(self) -> None:
        """Write the Parquet file. Raises: OperationalError."""
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        with report_write_errors(self.path):
            pq.write_table(_make_arrow_table(self.rows), self.path)


class DeltaSink:
    """Sink that appends rows to a Delta table, one commit per flush.

    length: number of commits in the checkpoint; later ones are undone by restoring that version.
    """

    def __init__(self, path: Path, length: int | None = None) -> None:
        from deltalake import DeltaTable

        self.path, self.rows, self.has_rows = path, list[str](), bool(length)
        if length:
            DeltaTable(str(path.absolute())).restore(length - 1)
        elif DeltaTable.is_deltatable(str(path.absolute())):
            DeltaTable(
                str(path.absolute())
            ).delete()  # rows of another run, or behind the checkpoint

    def write(self, rows: Sequence[str]) -> None:
        """Buffer ``rows`` for the next commit."""
        self.rows += rows

    def flush(self) -> int:
        """Commit the buffered rows; return the number of commits of the table so far. Raises:
        OperationalError.
        """
        from deltalake import DeltaTable, write_deltalake

        place = str(self.path.absolute())
        if self.rows:
            with report_write_errors(self.path):
                write_deltalake(
                    place,
                    _make_arrow_table(self.rows),
                    mode="append" if self.has_rows else "overwrite",
                    schema_mode="merge" if self.has_rows else "overwrite",
                )
            self.rows, self.has_rows = [], True
        return DeltaTable(place).version() + 1 if self.has_rows else 0

    def close(self) -> None:
        """Commit the buffered rows to the table. Raises: OperationalError."""
        self.flush()
