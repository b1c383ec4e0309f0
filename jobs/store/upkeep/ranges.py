"""Ranges of a large table: intervals of its keys, with one file each. Small files of commits are
merged into them from time to time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import NONE, Columns, Ints, concatenate
from shiq.columns.rows import NODES
from shiq.jobs.store.files import DataFile
from shiq.jobs.store.manifest import TableVersion
from shiq.jobs.store.numbering import RANGE, spread
from shiq.jobs.store.read import Store
from shiq.jobs.store.schema import SharedFile, key_of, write_ranges
from shiq.jobs.store.table import ParquetTable

#: A range is written anew once this share of its rows, and no fewer than `_FEW`, came or went.
SHARE, _FEW = 0.2, 4096
#: With more small files than this, and one for so many ranges, some are joined.
MOST_SMALL, _RANGES_PER_SMALL = 32, 8
#: No key is below the one, all are below the other.
_LEAST, _END = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def range_starts(table: str, keys: Ints, nodes: int, width: int) -> Ints:
    """First key of each key range of ``table`` but the first. A range has the keys of ``width``
    nodes.

    keys: ascending keys of the table
    nodes: number of nodes of the store

    If the key is no node, the ranges have about the same number of rows.
    """
    count = -(-nodes // width)
    if len(keys) <= width or count < 2:
        return NONE
    return (
        spread(np.arange(width, nodes, width, dtype=np.int64))
        if key_of(table) in NODES
        else _even_starts(keys, count)
    )


def renew_changed_ranges(
    store: Store, name: str, version: TableVersion, shared: SharedFile
) -> TableVersion:
    """Rewrite the key ranges of a table of which at least a fifth has changed. If there are none,
    join small files if they are many.

    New small files are parts of ``shared``.
    """
    renewal = _Renewal(store, name, version, shared)
    due = renewal.due_ranges()
    return renewal.renew_ranges(due) if due.any() else renewal.join_small_files()


def compact_table(
    store: Store, name: str, version: TableVersion, shared: SharedFile
) -> TableVersion:
    """Rewrite those ranges of a table that have small files, removed rows or a damaged copy, one
    after the other.

    New small files are parts of ``shared``.
    """
    renewal = _Renewal(store, name, version, shared)
    due = renewal.changed_counts() > 0
    if renewal.ranges:
        due |= [
            not file.sha256 or bool(file.rows and not file.lookup and isinstance(store.path, Path))
            for file in renewal.ranges
        ]
    return renewal.renew_ranges(due) if due.any() or renewal.small_files else version


@dataclass(frozen=True)
class _Renewal:
    """Renewal of one ``version`` of the table ``name``: rewrites key ranges, or joins small files."""

    store: Store
    name: str
    version: TableVersion
    shared_file: SharedFile

    @property
    def ranges(self) -> tuple[DataFile, ...]:
        """Files of the ranges, ascending by key."""
        return self.version.files[: self.version.ranges]

    @property
    def small_files(self) -> tuple[DataFile, ...]:
        """Small files that commits added; their keys may lie in any range."""
        return self.version.files[self.version.ranges :]

    @cached_property
    def table(self) -> ParquetTable:
        """The version of the table, opened for reading."""
        return self.store.table_of(self.name, self.version)

    @cached_property
    def starts(self) -> Ints:
        """First key of each key range; for the first range the least possible key. The last range
        has no end.
        """
        return np.array([_LEAST, *(file.low for file in self.ranges[1:])], np.int64)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Bounds of each key range: its first key, and the first key after it."""
        return list(zip(self.starts.tolist(), [*self.starts[1:].tolist(), _END]))

    @property
    def width(self) -> int:
        """Number of individuals in a key range."""
        return self.store.manifest.range_size or RANGE

    @property
    def mean_rows(self) -> int:
        """Mean number of rows in a range."""
        return max(self.width, sum(file.rows for file in self.ranges) // max(len(self.ranges), 1))

    def changed_counts(self) -> Ints:
        """Estimated number of rows that commits added to or removed from each key range."""
        removed = self.table.removed_rows[self.table.key]
        gone = np.diff(np.append(np.searchsorted(removed, self.starts), len(removed)))
        came: Ints = self.table.estimate_small_rows(self.starts)
        return came + gone

    def due_ranges(self) -> npt.NDArray[np.bool_]:
        """Mask of the key ranges that have changed enough to be rewritten.

        If one is, those with half as many changes are too; they would be the next, and their small
        files would be written again each time.
        """
        changed = self.changed_counts()
        share = changed / np.maximum([file.rows for file in self.ranges] or [0], 1)
        is_due = (share > SHARE) & (changed > _FEW)
        return share > SHARE / 2 if is_due.any() else is_due

    def renew_ranges(self, due: npt.NDArray[np.bool_]) -> TableVersion:
        """Rewrite the ranges ``due`` (a mask), merging the rows of small files into them."""
        ranges, left = list[DataFile](), list[tuple[int, int]]()
        for i, (low, high) in enumerate(self.spans):
            if due[i]:
                ranges += self._write_range(self.table.rows_between(low, high))
            else:
                ranges += self.ranges[i : i + 1]
                left.append((low, high))
        version = TableVersion(
            (*ranges, *self._rewrite_small_files(self.small_files, left)), ranges=len(ranges)
        )
        removed = self.table.removed_rows
        if self.version.removed is None or not len(removed[self.table.key]):
            return version
        stays = np.flatnonzero(
            ~due[np.searchsorted(self.starts, removed[self.table.key], "right") - 1]
        )
        if len(stays) == len(removed[self.table.key]):
            return replace(version, removed=self.version.removed)
        rows = {column: values[stays] for column, values in removed.items()}
        return replace(
            version,
            removed=next(iter(self.shared_file.add_rows(self.name, rows, is_removed=True)), None),
        )

    def join_small_files(self) -> TableVersion:
        """Join the latest small files into one. A file is included while it is at most twice as
        large as all later ones together.
        """
        small = self.small_files
        if len(small) <= MOST_SMALL + len(self.ranges) // _RANGES_PER_SMALL:
            return self.version
        first, rows = len(small), 0
        while first and (len(small) - first < 2 or small[first - 1].rows <= 2 * rows):
            first -= 1
            rows += small[first].rows
        now = [*small[:first], *self._rewrite_small_files(small[first:], self.spans)]
        return replace(self.version, files=(*self.ranges, *now))

    def _write_range(self, rows: Columns) -> list[DataFile]:
        """Write ``rows`` as one range, or as several if they are too many."""
        keys = rows[self.table.key]
        if not len(keys):
            return []
        if key_of(self.name) in NODES:
            width = int(spread(np.array([self.width]))[0])
            starts = np.arange(int(keys[0]) + width, int(keys[-1]) + 1, width)
        else:
            starts = _even_starts(keys, -(-len(keys) // (2 * self.mean_rows)))
        return write_ranges(self.store.path, self.name, rows, starts)

    def _rewrite_small_files(
        self, files: Sequence[DataFile], spans: Sequence[tuple[int, int]]
    ) -> list[DataFile]:
        """Rewrite the rows of the small ``files`` whose keys are in ``spans`` (ascending), into as
        few files as memory allows. Rows on the list of removed ones are copied too.
        """
        table = self.store.table_of(self.name, TableVersion(tuple(files)))
        found, held, count = list[DataFile](), list[Columns](), 0
        for i, (low, high) in enumerate(spans):
            held.append(table.rows_between(low, high))
            count += len(held[-1][table.key])
            if count and (count > _RANGES_PER_SMALL * self.mean_rows or i + 1 == len(spans)):
                found += self.shared_file.add_rows(self.name, concatenate(held, held[0]))
                held, count = [], 0
        return found


def _even_starts(keys: Ints, count: int) -> Ints:
    """Choose the first keys of ``count`` parts of about equal size of the ascending ``keys``; the
    first part is not listed.
    """
    return np.unique(keys[np.arange(1, count) * len(keys) // count])
