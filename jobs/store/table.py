"""Read a table of a store by key: only the wanted rows, from look-up files if there are any, else
by row groups.

From a file in an object store, blocks are read; each is fetched and verified once.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.columns.arrays import (
    Columns,
    Ints,
    ReadCounter,
    concatenate,
    is_row_in,
    matching_rows,
    numpy_ints,
    one_array,
    run_lengths,
    sorted_order,
    take,
    unique,
)
from shiq.errors import StoreError
from shiq.jobs.store.files import (
    MOVED,
    DataFile,
    damage_error,
    part_digest,
    unreadable_error,
    verify,
)
from shiq.jobs.store.lookup import MappedFile, map_lookup_file
from shiq.jobs.store.manifest import TableVersion
from shiq.jobs.store.schema import IDENTITY, SCHEMAS, key_of
from shiq.remote.copies import BLOCK
from shiq.remote.place import StoreLocation, local_file
from shiq.remote.remote import Remote, fetch_blocks
from shiq.support import cached_method

#: Up to so many files are asked each for itself: to find out which ones costs more.
_FEW = 4
#: Rows of a chunk of a scan.
_CHUNK_ROWS = 1 << 20
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """One version of the table ``name``: the rows of its files, each sorted by `key`, without the
    removed rows.
    """

    name: str
    store: StoreLocation
    version: TableVersion
    reads: ReadCounter
    cache: DecodedGroups

    @cached_property
    def key(self) -> str:
        """Name of the key column."""
        return key_of(self.name)

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        """Number of rows, removed ones not counted."""
        return sum(file.rows for file in self.version.files) - (
            self.version.removed.rows if self.version.removed else 0
        )

    @property
    def last_key(self) -> int:
        """Greatest key of any row, removed ones included; -1 if empty."""
        return max((file.high for file in self.version.files if file.high is not None), default=-1)

    @cached_property
    def removed_rows(self) -> Columns:
        """Identifying columns of the rows that commits removed, sorted by key."""
        file = self.version.removed
        if file is None:
            return {name: self._empty[name] for name in IDENTITY[self.name]}
        return self._open_columns(file, IDENTITY[self.name]).row_slice(0, file.rows)

    def paths(self, *, shared: bool) -> tuple[str, ...]:
        """Paths of the table's own files, or with ``shared`` of those that it shares with other
        tables, for reading whole files. They are verified first.
        """
        files = [file for file in self.version.files if file.is_shared == shared]
        for file in files:
            verify(self.store, file)
        return tuple(str(local_file(self.store, file.path)) for file in files)

    def _drop_removed(self, rows: Columns) -> Columns:
        """Select the ``rows`` that no commit removed."""
        if self.version.removed is None or not len(rows[self.key]):
            return rows
        near = matching_rows(self.removed_rows[self.key], unique(rows[self.key]))
        if not len(near):
            return rows
        gone = is_row_in(
            [rows[name] for name in IDENTITY[self.name]],
            [self.removed_rows[name][near] for name in IDENTITY[self.name]],
        )
        return (
            {name: take(column, (~gone).nonzero()[0]) for name, column in rows.items()}
            if gone.any()
            else rows
        )

    @cached_method
    def _open_file(self, file: DataFile) -> MappedFile | RowGroups:
        """Open a file of the table with all columns, or return the open one."""
        return self._open_columns(file, tuple(self._empty))

    def _open_columns(self, file: DataFile, columns: Sequence[str]) -> MappedFile | RowGroups:
        """Open some ``columns`` of a file: its look-up file if it has one, else its row groups."""
        if file.lookup:
            return map_lookup_file(self.store, file, self.key)
        return RowGroups(
            self.store,
            file,
            self.key,
            {name: self._empty[name] for name in columns},
            self.reads,
            self.cache,
        )

    @cached_property
    def _key_bounds(self) -> tuple[tuple[DataFile, ...], Ints, Ints]:
        """Files that have rows, with their first and last keys."""
        files = tuple(file for file in self.version.files if file.rows)
        low = np.array([_INT64.min if file.low is None else file.low for file in files], np.int64)
        high = np.array(
            [_INT64.max if file.high is None else file.high for file in files], np.int64
        )
        return files, low, high

    def _files_with_keys(self, wanted: Ints) -> list[MappedFile | RowGroups]:
        """Open the files whose range of keys contains some of the keys ``wanted`` (ascending)."""
        files, low, high = self._key_bounds
        if len(files) > _FEW:
            near = np.flatnonzero(
                wanted.searchsorted(low, "left") < wanted.searchsorted(high, "right")
            )
            files = tuple(files[i] for i in near.tolist())
        return list(map(self._open_file, files))

    @cached_property
    def _empty(self) -> Columns:
        """The table's columns with zero rows."""
        kinds = {field.name: field.type for field in SCHEMAS[self.name]}
        return {
            name: pa.nulls(0, kind) if pa.types.is_string(kind) else np.zeros(0, np.int64)
            for name, kind in kinds.items()
        }

    def rows_of(self, keys: Ints) -> Columns:
        """Rows whose key is one of ``keys``, sorted by key."""
        wanted = unique(keys)
        if not len(wanted) or not self.version.files:
            return self._empty
        parts = [file.rows_of(wanted) for file in self._files_with_keys(wanted)]
        self.reads.rows += sum(len(part[self.key]) for part in parts)
        return self._drop_removed(self._merge_sorted(parts))

    def degrees(self, keys: Ints) -> Ints:
        """Estimated number of rows for each of the ``keys`` (ascending, distinct). Rows that were
        removed count as well.
        """
        return sum(
            (file.degrees(keys) for file in self._files_with_keys(keys)),
            np.zeros(len(keys), np.int64),
        )

    def estimate_small_rows(self, starts: Ints) -> Ints:
        """Estimate how many rows of the small files, which commits added, lie between each of the
        ascending keys ``starts`` and the next.

        The last one has no end. Cost: O(log rows) for each start and file.
        """
        files = [
            self._open_file(file) for file in self.version.files[self.version.ranges :] if file.rows
        ]
        places = (np.append(file.positions(starts), len(file)) for file in files)
        return sum(map(np.diff, places), np.zeros(len(starts), np.int64))

    def rows_between(self, low: int, high: int) -> Columns:
        """Rows with low ≤ key < high, sorted by key."""
        files, first, last = self._key_bounds
        near = np.flatnonzero((first < high) & (last >= low)).tolist()
        return self._drop_removed(
            self._merge_sorted([self._open_file(files[i]).rows_between(low, high) for i in near])
        )

    def _merge_sorted(self, parts: list[Columns]) -> Columns:
        """Merge rows of several files, each sorted by key, into one sorted result."""
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
                found = self._open_file(file).row_slice(start, min(start + _CHUNK_ROWS, file.rows))
                self.reads.rows += len(found[self.key])
                yield self._drop_removed(found)

    def all(self) -> Columns:
        """All rows, in the order of `scan`."""
        return concatenate(list(self.scan()), self._empty)


#: Letters of the digest of a block.
_DIGEST = 8


class BlockReader(io.RawIOBase):
    """File-like reader of a remote file: fetches and verifies only the blocks that are read."""

    def __init__(self, place: Remote, file: DataFile) -> None:
        super().__init__()
        self._place, self._file, self._at = place, file, 0

    def fetch(self, spans: Iterable[tuple[int, int]]) -> None:
        """Fetch the blocks that cover ``spans``, in few requests."""
        wanted = {i for start, end in spans for i in range(start // BLOCK, -(-end // BLOCK))}
        self._local_copies(sorted(wanted))

    def readable(self) -> bool:
        """True, as for any readable file."""
        return True

    def seekable(self) -> bool:
        """True, as for any seekable file."""
        return True

    def tell(self) -> int:
        """Current position in bytes."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the reading position; returns it in bytes."""
        self._at = (
            offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.bytes}[whence]
        )
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Read ``size`` bytes, or all that are left. Raises: StoreError for damaged blocks."""
        start, end = self._at, self._file.bytes
        end = end if size is None or size < 0 else min(end, start + size)
        if start >= end:
            return b""
        first, last = start // BLOCK, -(-end // BLOCK)
        content = b"".join(
            self._verify_block(*copy)
            for copy in sorted(self._local_copies(list(range(first, last))).items())
        )
        self._at = end
        return content[start - first * BLOCK : end - first * BLOCK]

    def _verify_block(self, i: int, path: Path) -> bytes:
        """Read block ``i`` from its local copy and verify it. Raises: StoreError if it is damaged."""
        found = path.read_bytes()
        if part_digest(found) != self._file.digests[_DIGEST * i : _DIGEST * (i + 1)]:
            what = f"bytes {i * BLOCK:,} to {i * BLOCK + len(found) - 1:,} of {self._file.path} are not as they were written"
            error = damage_error(path, what, self._place)
            self._place.drop_cached(self._file.path)
            raise error
        return found

    def _local_copies(self, wanted: list[int]) -> dict[int, Path]:
        """Fetch the ``wanted`` blocks that have no local copy yet. Returns the paths of the copies,
        by block.
        """
        try:
            return fetch_blocks(self._place, self._file.path, wanted, self._file.bytes)
        except OSError as error:
            raise unreadable_error(self._place, self._file, error) from error


_INT64 = np.iinfo(np.int64)


#: Decoded row groups of a store, each by its file, where its rows begin there, and its number; at
#: most `_MOST_DECODED`.
DecodedGroups: TypeAlias = dict[tuple[str, int, int], Columns]
_MOST_DECODED = 500


class RowGroups:
    """Reader of one Parquet ``file``, sorted by ``key``, that decodes only the row groups it needs.
    ``empty``: its columns without rows.
    """

    def __init__(
        self,
        store: StoreLocation,
        file: DataFile,
        key: str,
        empty: Columns,
        reads: ReadCounter,
        decoded: DecodedGroups,
    ) -> None:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        self._store, self._file, self._key, self._empty, self._reads, self._decoded = (
            store,
            file,
            key,
            empty,
            reads,
            decoded,
        )
        self._blocks: Any = None
        if isinstance(store, Path) or not file.digests:
            verify(store, file)
        else:
            self._blocks = BlockReader(store, file)
        try:
            self._parquet = pq.ParquetFile(
                self._blocks or local_file(store, file.path),
                memory_map=self._blocks is None,
                pre_buffer=False,
            )
        except (OSError, pa.ArrowInvalid) as error:
            raise self._unreadable_error(error) from error
        metadata = self._parquet.metadata
        counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        ends = np.cumsum([0, *counts])
        first, last = file.start, file.start + file.rows
        #: The row groups that it has rows of, and which of its rows each begins with.
        self._groups = [i for i in range(len(counts)) if ends[i] < last and ends[i + 1] > first]
        self._begins = np.array(
            [max(int(ends[i]) - first, 0) for i in self._groups] + [file.rows], np.int64
        )
        self._cuts = {
            i: (max(first - int(ends[i]), 0), min(last, int(ends[i + 1])) - int(ends[i]))
            for i in self._groups
        }
        low = file.low if file.low is not None else _INT64.min
        high = file.high if file.high is not None else _INT64.max
        bounds = [self._group_bounds(i, counts[i]) or (low, high) for i in self._groups]
        self._low, self._high = (
            np.array([bound[end] for bound in bounds], np.int64) for end in (0, 1)
        )

    def __len__(self) -> int:
        return self._file.rows

    def rows_of(self, wanted: Ints) -> Columns:
        """Rows whose key is in ``wanted`` (ascending, distinct), sorted by key."""
        return self._select_rows(
            self._candidate_groups(wanted), lambda keys: matching_rows(keys, wanted)
        )

    def degrees(self, wanted: Ints) -> Ints:
        """Number of rows for each key in ``wanted``."""
        found = np.zeros(len(wanted), np.int64)
        for rows in self._decode_groups(self._candidate_groups(wanted)):
            found += run_lengths(rows[self._key], wanted)
        return found

    def rows_between(self, low: int, high: int) -> Columns:
        """Rows with low ≤ key < high."""
        near = np.flatnonzero((self._low < high) & (self._high >= low)).tolist()
        return self._select_rows(
            [self._groups[i] for i in near],
            lambda keys: np.flatnonzero((keys >= low) & (keys < high)),
        )

    def row_slice(self, start: int, stop: int) -> Columns:
        """Read the rows start … stop-1."""
        first = max(int(np.searchsorted(self._begins, start, "right")) - 1, 0)
        last = int(np.searchsorted(self._begins, stop, "left"))
        rows = concatenate(list(self._decode_groups(self._groups[first:last])), self._empty)
        begin = int(self._begins[first])
        return {name: column[start - begin : stop - begin] for name, column in rows.items()}

    def positions(self, keys: Ints) -> Ints:
        """Number of rows with a smaller key, for each of ``keys``."""
        return np.searchsorted(self.row_slice(0, len(self))[self._key], keys)

    def _group_bounds(self, i: int, count: int) -> tuple[int, int] | None:
        """First and last key of row group ``i``; None if unknown."""
        if self._cuts[i] != (0, count):
            return None
        column = self._parquet.schema_arrow.names.index(self._key)
        statistics = self._parquet.metadata.row_group(i).column(column).statistics
        return (
            (statistics.min, statistics.max)
            if statistics is not None and statistics.has_min_max
            else None
        )

    def _candidate_groups(self, wanted: Ints) -> list[int]:
        """Select the row groups whose range of keys contains some of ``wanted``."""
        near = np.flatnonzero(
            wanted.searchsorted(self._low, "left") < wanted.searchsorted(self._high, "right")
        )
        return [self._groups[i] for i in near.tolist()]

    def _select_rows(self, groups: Sequence[int], positions: Callable[[Ints], Ints]) -> Columns:
        """Read rows of ``groups``. ``positions``: finds, in the key column of a row group, the rows
        to take.
        """
        parts = []
        for rows in self._decode_groups(groups):
            found = positions(rows[self._key])
            parts.append({name: take(column, found) for name, column in rows.items()})
        return concatenate(parts, self._empty)

    def _decode_groups(self, groups: Sequence[int]) -> Iterator[Columns]:
        """Iterate over the rows of ``groups``, one row group at a time; decoded ones are cached."""
        names = [*self._empty]
        keys = [(self._file.path, self._file.start, i) for i in groups]
        if self._blocks is not None:
            self._blocks.fetch(
                [self._byte_span(i) for i, key in zip(groups, keys) if key not in self._decoded]
            )
        for i, key in zip(groups, keys):
            rows = self._decoded.get(key)
            if rows is None:
                try:
                    table = self._parquet.read_row_groups([i], columns=names, use_threads=False)
                except (OSError, pa.ArrowInvalid) as error:
                    raise self._unreadable_error(error) from error
                first, last = self._cuts[i]
                rows = columns_of(table.slice(first, last - first).select(names))
                self._reads.row_groups += 1
                if len(self._decoded) >= _MOST_DECODED:
                    self._decoded.clear()
                self._decoded[key] = rows
            yield rows

    def _byte_span(self, i: int) -> tuple[int, int]:
        """Byte range of a row group in the file: first byte, and the byte after its last."""
        group = self._parquet.metadata.row_group(i)
        parts = [group.column(j) for j in range(group.num_columns)]
        starts = [part.dictionary_page_offset or part.data_page_offset for part in parts]
        return min(starts), max(
            start + part.total_compressed_size for start, part in zip(starts, parts)
        )

    def _unreadable_error(self, error: Exception) -> StoreError:
        """Error for a file that is missing or no Parquet file."""
        return StoreError(
            f"{self._store / self._file.path}: cannot be read ({error})", MOVED, self._store
        )


def columns_of(table: pa.Table) -> Columns:
    """Convert the columns of an Arrow table: integers to int64 arrays, texts stay Arrow arrays."""
    arrays = {name: one_array(table.column(name)) for name in table.column_names}
    return {n: a if pa.types.is_string(a.type) else numpy_ints(a) for n, a in arrays.items()}
