"""Reading a table of a store: only the rows that are wanted, from the look-up files (`jobs.store.lookup`).

A store of format 2 has none: there, only the row groups that the wanted keys lie in are decoded. The footer of each file says
which keys each row group spans. Decoded row groups are kept, the least recently used are let go, so that a session which checks
batch after batch does not decode them again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from jobs.store.files import MOVED, DataFile, verify
from jobs.store.lookup import MappedFile, mapped
from jobs.store.manifest import TableVersion
from shiq.columns.arrays import (
    Columns,
    Ints,
    ReadCounter,
    concatenate,
    contained,
    matching_rows,
    numpy_ints,
    sorted_order,
    take,
    unique,
)
from shiq.errors import StoreError
from shiq.remote.place import Place, file_at

#: Up to so many files are asked each for itself: to find out which ones costs more.
_FEW = 4
#: Row groups, and rows, of a chunk of a scan.
_CHUNK, _CHUNK_ROWS = 64, 1 << 20


class RowGroupCache:
    """Decoded row groups, at most ``rows`` rows of them."""

    def __init__(self, rows: int = 8_000_000) -> None:
        self._limit = rows
        self._held: OrderedDict[tuple[str, int], tuple[int, Columns]] = OrderedDict()
        self._rows = 0

    def get(self, key: tuple[str, int]) -> Columns | None:
        found = self._held.get(key)
        if found is None:
            return None
        self._held.move_to_end(key)
        return found[1]

    def put(self, key: tuple[str, int], rows: int, columns: Columns) -> None:
        self._held[key] = (rows, columns)
        self._rows += rows
        while self._rows > self._limit and len(self._held) > 1:
            _, (dropped, _) = self._held.popitem(last=False)
            self._rows -= dropped


@dataclass(frozen=True)
class _Index:
    """Row groups of all files of a table: where they are, and the least and greatest key in each."""

    files: tuple[Any, ...]
    file: Ints
    group: Ints
    low: Ints
    high: Ints


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """The files of one version of a Delta table, each sorted by ``key``, less the rows that were removed since they were written.
    ``identity``: the columns that say which row is meant."""

    key: str
    schema: pa.Schema
    identity: tuple[str, ...]
    store: Place
    version: TableVersion
    reads: ReadCounter
    cache: RowGroupCache

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(file.rows for file in self.version.files) - (self.version.removed.rows if self.version.removed else 0)

    @property
    def last_key(self) -> int:
        """The greatest key of any row, removed ones included; -1 if there is none."""
        lasts = [high for file in self.version.files if (high := file.high) is not None]
        lasts += [mapped.last_key for file, mapped in self._unbounded if len(mapped)]
        lasts += [int(self._index.high.max())] if self._unmapped and len(self._index.high) else []
        return max(lasts, default=-1)

    @cached_property
    def removed(self) -> Columns:
        """The rows that are in the files and no longer valid, by their identity, sorted by key."""
        file = self.version.removed
        if file is None:
            return {name: self._empty[name] for name in self.identity}
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        verify(self.store, file)
        try:
            # Not `read_table`, which goes by data sets and so imports pandas where it is installed.
            with pq.ParquetFile(file_at(self.store, file.path)) as parquet:
                return _columns(parquet.read())
        except (OSError, pa.ArrowInvalid) as error:
            raise StoreError(f"{self.store / file.path}: cannot be read ({error})", MOVED, self.store) from error

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Where its files lie, for who reads them all; they are verified first."""
        for file in self.version.files:
            verify(self.store, file)
        return tuple(str(file_at(self.store, file.path)) for file in self.version.files)

    def _valid(self, rows: Columns) -> Columns:
        """``rows`` without those that were removed."""
        if self.version.removed is None or not len(rows[self.key]):
            return rows
        near = matching_rows(self.removed[self.key], unique(rows[self.key]))
        if not len(near):
            return rows
        gone = contained([rows[name] for name in self.identity], [self.removed[name][near] for name in self.identity])
        return {name: take(column, (~gone).nonzero()[0]) for name, column in rows.items()} if gone.any() else rows

    @cached_property
    def _opened(self) -> dict[str, MappedFile]:
        return {}

    def _mapped(self, file: DataFile) -> MappedFile:
        found = self._opened.get(file.path)
        if found is None:
            found = self._opened[file.path] = mapped(self.store, file, self.key)
        return found

    @cached_property
    def _bounded(self) -> tuple[tuple[DataFile, ...], Ints, Ints]:
        """The files with look-up files that are found by their keys; the first key and the last of each."""
        files = tuple(file for file in self.version.files if file.lookup and file.low is not None)
        low, high = (np.array([getattr(file, end) for file in files], np.int64) for end in ("low", "high"))
        return files, low, high

    @cached_property
    def _unbounded(self) -> tuple[tuple[DataFile, MappedFile], ...]:
        """The others that have rows, as far as is known: those that were written without first and last key."""
        files = (file for file in self.version.files if file.lookup and file.low is None)
        return tuple((file, self._mapped(file)) for file in files)

    def _holding(self, wanted: Ints) -> list[MappedFile]:
        """The files that may hold some of the keys ``wanted`` (ascending), opened."""
        files, low, high = self._bounded
        if len(files) > _FEW:
            near = np.flatnonzero(wanted.searchsorted(low, "left") < wanted.searchsorted(high, "right"))
            files = tuple(files[i] for i in near.tolist())
        return [*map(self._mapped, files), *(found for _, found in self._unbounded)]

    @cached_property
    def _unmapped(self) -> tuple[DataFile, ...]:
        return tuple(file for file in self.version.files if not file.lookup)

    @cached_property
    def _index(self) -> _Index:
        import pyarrow.parquet as pq

        files, file, group, low, high = [], [], [], [], []
        for number, entry in enumerate(self._unmapped):
            verify(self.store, entry)
            try:
                parquet = pq.ParquetFile(file_at(self.store, entry.path), memory_map=True)
            except (OSError, pa.ArrowInvalid) as error:
                raise StoreError(f"{self.store / entry.path}: cannot be read ({error})", MOVED, self.store) from error
            files.append(parquet)
            metadata = parquet.metadata
            column = metadata.schema.names.index(self.key)
            for i in range(metadata.num_row_groups if metadata.num_rows else 0):
                statistics = metadata.row_group(i).column(column).statistics
                file.append(number)
                group.append(i)
                low.append(statistics.min)
                high.append(statistics.max)
        return _Index(tuple(files), *(np.array(x, dtype=np.int64) for x in (file, group, low, high)))

    @cached_property
    def _empty(self) -> Columns:
        kinds = {field.name: field.type for field in self.schema}
        return {name: pa.nulls(0, kind) if pa.types.is_string(kind) else np.zeros(0, np.int64) for name, kind in kinds.items()}

    def rows_of(self, keys: Ints) -> Columns:
        """The rows whose key is among ``keys``, sorted by key."""
        wanted = unique(keys)
        if not len(wanted) or not self.version.files:
            return self._empty
        parts = [file.rows_of(wanted) for file in self._holding(wanted)]
        self.reads.rows += sum(len(part[self.key]) for part in parts)
        parts += self._of_row_groups(wanted) if self._unmapped else []
        found = self._in_order(parts)
        self.reads.found += len(found[self.key])
        return self._valid(found)

    def degrees(self, keys: Ints) -> Ints:
        """About how many rows each of the (ascending, distinct) ``keys`` has: those that were removed count, and those without a
        look-up file do not."""
        return sum((file.degrees(keys) for file in self._holding(keys)), np.zeros(len(keys), np.int64))

    def small_rows(self, starts: Ints) -> Ints:
        """About how many rows of the small files lie between each of the (ascending) keys ``starts`` and the next, the last one
        without an end. Cost: O(log rows) for each start and file."""
        files = [self._mapped(file) for file in self.version.files[self.version.ranges :] if file.lookup and file.rows]
        places = (np.append(np.searchsorted(file.keys, starts), len(file)) for file in files)
        return sum(map(np.diff, places), np.zeros(len(starts), np.int64))

    def between(self, low: int, high: int) -> Columns:
        """The rows with low ≤ key < high, sorted by key. Cost: these, and all of each file that has no look-up file."""
        files, first, last = self._bounded
        near = np.flatnonzero((first < high) & (last >= low)).tolist()
        held = [*(self._mapped(files[i]) for i in near), *(found for _, found in self._unbounded)]
        parts = [file.between(low, high) for file in held]
        for group in range(len(self._index.group)) if self._unmapped else ():
            rows = self._load(group)
            parts.append({n: take(c, np.flatnonzero((rows[self.key] >= low) & (rows[self.key] < high))) for n, c in rows.items()})
        return self._valid(self._in_order(parts))

    def _in_order(self, parts: list[Columns]) -> Columns:
        """The rows of ``parts``, each sorted by key, sorted by key."""
        parts = [part for part in parts if len(part[self.key])]
        found = concatenate(parts, self._empty)
        if len(parts) > 1 and np.any(found[self.key][1:] < found[self.key][:-1]):
            order = sorted_order(found, self.key)
            found = {name: take(column, order) for name, column in found.items()}
        return found

    def _of_row_groups(self, wanted: Ints) -> list[Columns]:
        index = self._index
        first = wanted.searchsorted(index.low, "left")
        after = wanted.searchsorted(index.high, "right")
        parts = []
        for i in (first < after).nonzero()[0]:
            group = self._load(int(i))
            rows = matching_rows(group[self.key], wanted[first[i] : after[i]])
            parts.append({name: take(column, rows) for name, column in group.items()})
        return parts

    def scan(self) -> Iterator[Columns]:
        """Every row, file by file, many at a time; nothing is kept."""
        for file in self.version.files:
            for start in range(0, file.rows if file.lookup else 0, _CHUNK_ROWS):
                found = self._mapped(file).part(start, min(start + _CHUNK_ROWS, file.rows))
                self.reads.rows += len(found[self.key])
                yield self._valid(found)
        for parquet in self._index.files if self._unmapped else ():
            for start in range(0, parquet.num_row_groups, _CHUNK):
                groups = range(start, min(start + _CHUNK, parquet.num_row_groups))
                table = self._decoded(parquet, list(groups))
                self.reads.row_groups += len(groups)
                self.reads.rows += len(table)
                yield self._valid(_columns(table))

    def all(self) -> Columns:
        """Every row at once, in the order of `scan`."""
        return concatenate(list(self.scan()), self._empty)

    def _load(self, i: int) -> Columns:
        index = self._index
        file, group = int(index.file[i]), int(index.group[i])
        held = (self._unmapped[file].path, group)
        columns = self.cache.get(held)
        if columns is None:
            table = self._decoded(index.files[file], [group])
            columns = _columns(table)
            self.reads.row_groups += 1
            self.reads.rows += len(table)
            self.cache.put(held, len(table), columns)
        return columns

    def _decoded(self, parquet: Any, groups: list[int]) -> pa.Table:
        try:
            return parquet.read_row_groups(groups, use_threads=len(groups) > 1)
        except (OSError, pa.ArrowInvalid) as error:
            raise StoreError(f"{self.store}: a file of the store is damaged ({error})", MOVED, self.store) from error


def _columns(table: pa.Table) -> Columns:
    """Integers as int64 arrays, texts as Arrow arrays."""
    columns: Columns = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
        columns[name] = column if pa.types.is_string(column.type) else numpy_ints(column)
    return columns
