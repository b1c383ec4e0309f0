"""Rows of Parquet and Delta tables as events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shiq.errors import InputError
from shiq.rdf.table_terms import line_of
from shiq.rdf.tables import BATCH_ROWS, TableFile, opened, table_files
from shiq.sources import TableSource
from streams.front.event import Event

_TRIPLES, _ATOMS = ("s", "p", "o", "t"), ("atom", "t")


def event_rows(source: TableSource) -> Iterator[dict[str, Any]]:
    """The rows of a table, each a dict of its columns s, p, o, t or atom, t (and id). Raises:
    InputError.
    """
    files, passed_over = table_files(source)
    del passed_over  # files that are no data by their names
    for file in files:
        yield from file_rows(file)


def file_rows(file: TableFile, low: int = 0, high: int | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a table's file from number ``low`` to before ``high``. Raises: InputError."""
    with opened(file) as parquet:
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


def event_of(values: dict[str, Any], t: int) -> Event:
    """The event of a row. Its terms are looked at by who reads the statements."""
    identifier = None if values.get("id") is None else str(values["id"])
    if "atom" in values:
        return Event(t, atoms=(str(values["atom"]),), id=identifier)
    return Event(t, (line_of(values["s"], values["p"], values["o"]),), id=identifier)
