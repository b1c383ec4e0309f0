"""Files that the steps of a build write for each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.columns.arrays import NONE, Columns, Ints
from shiq.jobs.store.files import stage_file
from shiq.rdf.ranges import ByteRange, Range
from shiq.rdf.tables import TableFile
from shiq.remote.place import Place, file_at


@dataclass(frozen=True, order=True)
class Scratch:
    """Folder ``name`` for intermediate files, below the ``place`` of a store."""

    place: Place
    name: str

    def __truediv__(self, name: object) -> Scratch:
        return Scratch(self.place, f"{self.name}/{name}")

    def path(self) -> Path:
        """Local path of the content, or of a copy."""
        return file_at(self.place, self.name)

    def placed(self) -> AbstractContextManager[Path]:
        """A path to write to; what is there at the end is put there in one step."""
        return stage_file(self.place, self.name, durable=False)


@dataclass(frozen=True)
class RangeFile:
    """Range of a source that a task wrote as a file."""

    range: Range
    file: Scratch

    def here(self) -> Range:
        """The range, with the file's path on this machine."""
        path = str(self.file.path())
        if isinstance(self.range, ByteRange):
            return replace(self.range, path=path)
        return replace(self.range, groups=((TableFile(path), 0),))


def save(scratch: Scratch, columns: Mapping[str, Any]) -> None:
    """Writes parallel columns (numbers, or Arrow arrays) to an uncompressed file that can be
    memory-mapped.
    """
    table = table_of(columns)
    with (
        scratch.placed() as temporary,
        pa.OSFile(str(temporary), "wb") as out,
        pa.ipc.new_file(out, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=max(len(table), 1))


def load(scratch: Scratch) -> dict[str, Any]:
    """Read the columns of `save`, memory-mapped: numbers as arrays, texts as Arrow arrays."""
    return columns_of(pa.ipc.open_file(pa.memory_map(str(scratch.path()))).read_all())


def table_of(columns: Mapping[str, Any]) -> pa.Table:
    """Convert parallel columns to an Arrow table."""
    arrays = {
        name: column if isinstance(column, pa.Array) else pa.array(column)
        for name, column in columns.items()
    }
    return pa.table(arrays).combine_chunks()


def columns_of(table: pa.Table) -> dict[str, Any]:
    """Columns of an Arrow table: numbers as arrays, texts as Arrow arrays."""
    return {name: _column(table.column(name)) for name in table.column_names}


def _column(column: pa.ChunkedArray) -> Any:
    array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return array.to_numpy() if pa.types.is_integer(array.type) else array


def concatenate(parts: Sequence[Mapping[str, Ints]], names: Sequence[str]) -> Columns:
    """The rows of all ``parts``, integers as 64 bits."""
    return {
        name: np.concatenate([NONE, *(np.asarray(part[name], np.int64) for part in parts)])
        for name in names
    }


def distinct_rows(columns: Columns) -> Columns:
    """Rows without duplicates, sorted by the columns in order."""
    names = list(columns)
    order = np.lexsort([columns[name] for name in reversed(names)])
    ordered = {name: columns[name][order] for name in names}
    if not len(order):
        return ordered
    differs = np.zeros(len(order), np.bool_)
    differs[0] = True
    for column in ordered.values():
        differs[1:] |= column[1:] != column[:-1]
    return {name: column[differs] for name, column in ordered.items()}
