"""Read a table of a store by key: only the wanted rows, from look-up files where there are any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.columns.arrays import (
    Columns,
    Ints,
    ReadCounter,
    concatenate,
    is_row_in,
    matching_rows,
    sorted_order,
    take,
    unique,
)
from shiq.jobs.store.files import DataFile, verify
from shiq.jobs.store.lookup import MappedFile, map_lookup_file
from shiq.jobs.store.manifest import TableVersion
from shiq.jobs.store.row_groups import Decoded, RowGroups
from shiq.jobs.store.schema import IDENTITY, SCHEMAS, key_of
from shiq.remote.place import Place, file_at

#: Up to so many files are asked each for itself: to find out which ones costs more.
_FEW = 4
#: Rows of a chunk of a scan.
_CHUNK_ROWS = 1 << 20
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """One version of the table ``name``: its files, each sorted by `key`, less the removed rows."""

    name: str
    store: Place
    version: TableVersion
    reads: ReadCounter
    decoded: Decoded

    @cached_property
    def key(self) -> str:
        """Name of the key column."""
        return key_of(self.name)

    @property
    def identity(self) -> tuple[str, ...]:
        """Columns that identify a row."""
        return IDENTITY[self.name]

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(file.rows for file in self.version.files) - (
            self.version.removed.rows if self.version.removed else 0
        )

    @property
    def last_key(self) -> int:
        """Greatest key of any row, removed ones included; -1 if empty."""
        return max((file.high for file in self.version.files if file.high is not None), default=-1)

    @cached_property
    def removed(self) -> Columns:
        """Removed rows, by identity, sorted by key."""
        file = self.version.removed
        if file is None:
            return {name: self._empty[name] for name in self.identity}
        return self._part_of(file, self.identity).part(0, file.rows)

    def paths(self, *, shared: bool) -> tuple[str, ...]:
        """Where its own files lie, or those that other tables ``shared`` with it, for who reads
        them all; they are verified first.
        """
        files = [file for file in self.version.files if file.is_shared == shared]
        for file in files:
            verify(self.store, file)
        return tuple(str(file_at(self.store, file.path)) for file in files)

    def _valid(self, rows: Columns) -> Columns:
        """``rows`` without those that were removed."""
        if self.version.removed is None or not len(rows[self.key]):
            return rows
        near = matching_rows(self.removed[self.key], unique(rows[self.key]))
        if not len(near):
            return rows
        gone = is_row_in(
            [rows[name] for name in self.identity],
            [self.removed[name][near] for name in self.identity],
        )
        return (
            {name: take(column, (~gone).nonzero()[0]) for name, column in rows.items()}
            if gone.any()
            else rows
        )

    @cached_property
    def _opened(self) -> dict[DataFile, MappedFile | RowGroups]:
        return {}

    def _part(self, file: DataFile) -> MappedFile | RowGroups:
        found = self._opened.get(file)
        if found is None:
            found = self._opened[file] = self._part_of(file, tuple(self._empty))
        return found

    def _part_of(self, file: DataFile, columns: Sequence[str]) -> MappedFile | RowGroups:
        if file.lookup:
            return map_lookup_file(self.store, file, self.key)
        return RowGroups(
            self.store,
            file,
            self.key,
            {name: self._empty[name] for name in columns},
            self.reads,
            self.decoded,
        )

    @cached_property
    def _bounds(self) -> tuple[tuple[DataFile, ...], Ints, Ints]:
        """The files that have rows; the first key and the last of each."""
        files = tuple(file for file in self.version.files if file.rows)
        low = np.array([_INT64.min if file.low is None else file.low for file in files], np.int64)
        high = np.array(
            [_INT64.max if file.high is None else file.high for file in files], np.int64
        )
        return files, low, high

    def _holding(self, wanted: Ints) -> list[MappedFile | RowGroups]:
        """The files that may hold some of the keys ``wanted`` (ascending), opened."""
        files, low, high = self._bounds
        if len(files) > _FEW:
            near = np.flatnonzero(
                wanted.searchsorted(low, "left") < wanted.searchsorted(high, "right")
            )
            files = tuple(files[i] for i in near.tolist())
        return list(map(self._part, files))

    @cached_property
    def _empty(self) -> Columns:
        kinds = {field.name: field.type for field in SCHEMAS[self.name]}
        return {
            name: pa.nulls(0, kind) if pa.types.is_string(kind) else np.zeros(0, np.int64)
            for name, kind in kinds.items()
        }

    def rows_of(self, keys: Ints) -> Columns:
        """Rows whose key is in ``keys``, sorted by key."""
        wanted = unique(keys)
        if not len(wanted) or not self.version.files:
            return self._empty
        parts = [file.rows_of(wanted) for file in self._holding(wanted)]
        self.reads.rows += sum(len(part[self.key]) for part in parts)
        found = self._in_order(parts)
        self.reads.rows_returned += len(found[self.key])
        return self._valid(found)

    def degrees(self, keys: Ints) -> Ints:
        """Estimated number of rows for each of the (ascending, distinct) ``keys``; removed rows are
        counted.
        """
        return sum(
            (file.degrees(keys) for file in self._holding(keys)), np.zeros(len(keys), np.int64)
        )

    def small_rows(self, starts: Ints) -> Ints:
        """About how many rows of the small files lie between each of the (ascending) keys
        ``starts`` and the next, the last one without an end. Cost: O(log rows) for each start
        and file.
        """
        files = [
            self._part(file) for file in self.version.files[self.version.ranges :] if file.rows
        ]
        places = (np.append(file.places(starts), len(file)) for file in files)
        return sum(map(np.diff, places), np.zeros(len(starts), np.int64))

    def between(self, low: int, high: int) -> Columns:
        """Rows with low ≤ key < high, sorted by key."""
        files, first, last = self._bounds
        near = np.flatnonzero((first < high) & (last >= low)).tolist()
        return self._valid(self._in_order([self._part(files[i]).between(low, high) for i in near]))

    def _in_order(self, parts: list[Columns]) -> Columns:
        """The rows of ``parts``, each sorted by key, sorted by key."""
        parts = [part for part in parts if len(part[self.key])]
        found = concatenate(parts, self._empty)
        if len(parts) > 1 and np.any(found[self.key][1:] < found[self.key][:-1]):
            order = sorted_order(found, self.key)
            found = {name: take(column, order) for name, column in found.items()}
        return found

    def scan(self) -> Iterator[Columns]:
        """Iterate over all rows, file by file, in batches."""
        for file in self.version.files:
            for start in range(0, file.rows, _CHUNK_ROWS):
                found = self._part(file).part(start, min(start + _CHUNK_ROWS, file.rows))
                self.reads.rows += len(found[self.key])
                yield self._valid(found)

    def all(self) -> Columns:
        """All rows, in the order of `scan`."""
        return concatenate(list(self.scan()), self._empty)
