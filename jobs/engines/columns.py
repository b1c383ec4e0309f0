"""Assertions as sorted columns: what the engine `local` reads, from memory or from a store.

A `Table` is a bag of rows sorted by an integer key. `rows_of` gives the rows of some keys and reads no more than it must;
`ReadCounter` says how much that was, so that a test can hold the cost of a check to the size of its batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

Ints: TypeAlias = npt.NDArray[np.int64]
#: A column of integers, or of texts (an Arrow array).
Column: TypeAlias = Any
Columns: TypeAlias = dict[str, Column]


@dataclass
class ReadCounter:
    """How much was fetched: ``row_groups`` decoded from files, ``rows`` in them, ``found`` rows handed out."""

    row_groups: int = 0
    rows: int = 0
    found: int = 0


class Table(Protocol):
    """Rows sorted by an integer key."""

    @property
    def key(self) -> str: ...

    def __len__(self) -> int: ...

    def rows_of(self, keys: Ints) -> Columns:
        """The rows whose key is in ``keys`` (in any order, with or without repetition), sorted by key."""

    def scan(self) -> Iterator[Columns]:
        """Every row, in chunks, sorted by key within a file."""


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """Columns in memory, sorted by ``key``."""

    key: str
    columns: Mapping[str, Column]
    reads: ReadCounter

    def __len__(self) -> int:
        return len(self.columns[self.key])

    def rows_of(self, keys: Ints) -> Columns:
        found = matching_rows(self.columns[self.key], np.unique(keys))
        self.reads.found += len(found)
        return {name: take(column, found) for name, column in self.columns.items()}

    def scan(self) -> Iterator[Columns]:
        yield dict(self.columns)


def array_table(key: str, columns: Mapping[str, Column], reads: ReadCounter | None = None) -> ArrayTable:
    """``columns`` sorted by ``key``, ties in the order of the other integer columns."""
    order = sorted_order(columns, key)
    return ArrayTable(key, {name: take(column, order) for name, column in columns.items()}, reads or ReadCounter())


def sorted_order(columns: Mapping[str, Column], key: str) -> Ints:
    """The permutation that sorts by ``key``, then by the other integer columns as they stand."""
    rest = [column for name, column in columns.items() if name != key and isinstance(column, np.ndarray)]
    return np.lexsort([*reversed(rest), columns[key]])


def matching_rows(sorted_keys: Ints, wanted: Ints) -> Ints:
    """The positions in ``sorted_keys`` of every occurrence of the ``wanted`` (ascending, distinct) keys, ascending."""
    low = np.searchsorted(sorted_keys, wanted, "left")
    high = np.searchsorted(sorted_keys, wanted, "right")
    return ranges(low, high)


def ranges(low: Ints, high: Ints) -> Ints:
    """low[0] … high[0]-1, low[1] … high[1]-1, and so on, in one array."""
    lengths = high - low
    starts = np.cumsum(lengths) - lengths
    return np.repeat(low - starts, lengths) + np.arange(int(lengths.sum()), dtype=np.int64)


def take(column: Column, positions: Ints) -> Column:
    """``column`` at ``positions``."""
    if isinstance(column, np.ndarray):
        return column[positions]
    return column.take(pa.array(positions))


def concatenate(parts: list[Columns], empty: Columns) -> Columns:
    """The rows of all ``parts``; ``empty`` (no rows) where there is none."""
    if len(parts) < 2:
        return parts[0] if parts else empty
    return {name: _joined([part[name] for part in parts]) for name in empty}


def _joined(columns: list[Column]) -> Column:
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    return pa.concat_arrays(columns)
