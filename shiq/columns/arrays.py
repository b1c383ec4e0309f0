"""Sorted columns of assertions, in memory or in a store: the data that the engine `local` reads.

A `Table` is a bag of rows sorted by an integer key; `rows_of` reads the rows of given keys and no
more. `ReadCounter` counts the rows read, so that tests can bound the cost of a check by the size of
its batch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
#: A column of integers, or of texts (an Arrow array).
Column: TypeAlias = Any
Columns: TypeAlias = dict[str, Column]

#: A column without rows.
NONE = np.zeros(0, np.int64)


@dataclass
class ReadCounter:
    """Counter of the rows and keys that were read, for reports on cost.

    row_groups: decoded from files
    rows: in those row groups, and in look-ups
    """

    row_groups: int = 0
    rows: int = 0


class Table(Protocol):
    """Interface of a table: rows of integer columns, sorted by the key column."""

    @property
    def key(self) -> str:
        """Name of the key column."""

    def __len__(self) -> int: ...

    def rows_of(self, keys: Ints) -> Columns:
        """Read the rows whose key is in ``keys``, sorted by key. ``keys`` may be unordered and
        repeat.
        """

    def degrees(self, keys: Ints) -> Ints:
        """Estimate the number of rows of each of the ``keys`` (ascending, distinct), without
        reading the rows.
        """

    def scan(self) -> Iterator[Columns]:
        """Iterate over all rows in chunks, sorted by key within a file."""


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """A table in memory: columns sorted by ``key``."""

    key: str
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.columns[self.key])

    def rows_of(self, keys: Ints) -> Columns:
        """Select the rows whose key is in ``keys``, sorted by key."""
        found = matching_rows(self.columns[self.key], unique(keys))
        return {name: take(column, found) for name, column in self.columns.items()}

    def degrees(self, keys: Ints) -> Ints:
        """Count the rows of each of the ``keys`` exactly."""
        return run_lengths(self.columns[self.key], keys)

    def scan(self) -> Iterator[Columns]:
        """Iterate over all rows, in one chunk."""
        yield dict(self.columns)


def array_table(key: str, columns: Mapping[str, Column]) -> ArrayTable:
    """Build a table of ``columns`` sorted by ``key``, ties in the order of the other integer
    columns.
    """
    if len(columns[key]) > 1:
        order = sorted_order(columns, key)
        columns = {name: take(column, order) for name, column in columns.items()}
    return ArrayTable(key, dict(columns))


@dataclass(frozen=True, eq=False)
class OverlayTable:
    """View of ``table`` with a change laid over it: without ``removed_rows``, and with
    ``added_rows``.

    added_rows, removed_rows: the columns that identify a row, in memory
    """

    table: Table
    added_rows: ArrayTable
    removed_rows: ArrayTable

    @property
    def key(self) -> str:
        """Name of the key column."""
        return self.added_rows.key

    def __len__(self) -> int:
        return len(self.table) + len(self.added_rows) - len(self.removed_rows)

    def rows_of(self, keys: Ints) -> Columns:
        """Read the rows whose key is in ``keys``, sorted by key, in the columns that added rows
        have.
        """
        found = self.table.rows_of(keys)
        if len(self.removed_rows):
            found = _drop_rows(found, self.removed_rows.rows_of(keys))
        if not len(self.added_rows):
            return found
        more = self.added_rows.rows_of(keys)
        if not len(more[self.key]):
            return found
        if not len(found[self.key]):
            return more
        rows = {name: np.concatenate([found[name], more[name]]) for name in more}
        order = rows[self.key].argsort(kind="stable")
        return {name: column[order] for name, column in rows.items()}

    def degrees(self, keys: Ints) -> Ints:
        """Estimate the number of rows of each of the ``keys``; removed rows are counted too."""
        return self.table.degrees(keys) + self.added_rows.degrees(keys)

    def scan(self) -> Iterator[Columns]:
        """Iterate over all rows in chunks, the added ones last."""
        for rows in self.table.scan():
            yield _drop_rows(rows, dict(self.removed_rows.columns))
        if len(self.added_rows):
            yield dict(self.added_rows.columns)

    def changes(self) -> tuple[Columns, Columns]:
        """Return the rows that were added to ``table``, and those of its rows that were removed."""
        return row_changes(dict(self.removed_rows.columns), dict(self.added_rows.columns))


def overlay_changes(table: Table, added: Columns, removed: Columns) -> OverlayTable:
    """Lay a change over ``table``: without ``removed`` rows, with ``added`` ones. Overlays are
    merged into one.
    """
    if isinstance(table, OverlayTable):
        before, names = table.added_rows.columns, list(added)
        mine, gone = [before[name] for name in names], [removed[name] for name in names]
        stays, is_below = ~is_row_in(mine, gone), ~is_row_in(gone, mine)
        added = {name: np.append(before[name][stays], added[name]) for name in names}
        removed = {
            name: np.append(column, removed[name][is_below])
            for name, column in table.removed_rows.columns.items()
        }
        table = table.table
    rows = {name: removed[name] for name in added}
    return OverlayTable(table, array_table(table.key, added), array_table(table.key, rows))


def replace_rows(table: Table, keys: Ints, rows: Columns) -> OverlayTable:
    """Replace all rows of ``keys`` in ``table`` by ``rows``, as an overlay."""
    return overlay_changes(table, rows, table.rows_of(keys))


def _drop_rows(rows: Columns, removed: Columns) -> Columns:
    """Drop the rows that equal one of ``removed``, in the columns that this has."""
    gone = is_row_in([rows[name] for name in removed], list(removed.values()))
    if not gone.any():
        return rows
    return {name: take(column, (~gone).nonzero()[0]) for name, column in rows.items()}


def sorted_order(columns: Mapping[str, Column], key: str) -> Ints:
    """Return the permutation that sorts rows by ``key``, then by the other integer columns in their
    given order.
    """
    rest = [
        column for name, column in columns.items() if name != key and isinstance(column, np.ndarray)
    ]
    # Rows with equal numbers may differ in their texts.
    return row_codes(columns[key], *rest).argsort(
        kind=None if len(rest) + 1 == len(columns) else "stable"
    )


def matching_rows(sorted_keys: Ints, wanted: Ints) -> Ints:
    """Return the positions in ``sorted_keys`` of all occurrences of the ``wanted`` keys (ascending,
    distinct), ascending.
    """
    return concatenate_ranges(*run_bounds(sorted_keys, wanted))


def run_lengths(sorted_keys: Ints, wanted: Ints) -> Ints:
    """Count the occurrences of each of the ``wanted`` keys in ``sorted_keys``."""
    low, high = run_bounds(sorted_keys, wanted)
    return high - low


def run_bounds(sorted_keys: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Return start and end of the interval of ``sorted_keys`` that equals each of the ``wanted``
    keys.

    A missing key has an empty run at the place where it would be inserted. Optimised for keys that
    occur once.
    """
    low = sorted_keys.searchsorted(wanted)
    if not len(sorted_keys):
        return low, low
    last = len(sorted_keys) - 1
    high = low + ((low <= last) & (sorted_keys[np.minimum(low, last)] == wanted))
    several = ((low < last) & (sorted_keys[np.minimum(low + 1, last)] == wanted)).nonzero()[0]
    high[several] = sorted_keys.searchsorted(wanted[several], "right")
    return low, high


def concatenate_ranges(low: Ints, high: Ints) -> Ints:
    """Concatenate the integer ranges ``low[i]`` … ``high[i] - 1`` into one array."""
    lengths = high - low
    starts = lengths.cumsum() - lengths
    return (low - starts).repeat(lengths) + np.arange(int(lengths.sum()), dtype=np.int64)


def take(column: Column, positions: Ints) -> Column:
    """Select the entries of a column at ``positions``.

    Texts become an Arrow array of type string, whatever their stored type.
    """
    if isinstance(column, np.ndarray):
        return column[positions]
    if len(positions) <= (_FEW if "pyarrow.compute" in sys.modules else _NOT_MANY):
        return _copy_texts(column, positions)
    return column.take(arrow_ints(positions)).cast(pa.string())


# pyarrow's own conversions from and to numpy import pandas where it is installed, and its `take`
# all of its functions: half a second, and a tenth, in a process that lives for one. Loading those
# functions costs as much as 100,000 texts taken here, once.

_FEW, _NOT_MANY = 10_000, 25_000


def _copy_texts(texts: pa.Array, positions: Ints) -> pa.Array:
    """Copy a few texts out of a column without decoding the others."""
    ends, data = _text_offsets(texts)
    low, high = (ends[positions + i].astype(np.int64) for i in (0, 1))
    found = np.zeros(len(positions) + 1, np.int64)
    np.cumsum(high - low, out=found[1:])
    if found[-1] >= 1 << 31:
        return texts.take(arrow_ints(positions)).cast(pa.string())
    letters = data[concatenate_ranges(low, high)]
    return pa.Array.from_buffers(
        pa.string(),
        len(positions),
        [None, pa.py_buffer(found.astype(np.int32)), pa.py_buffer(letters)],
    )


def text_bytes(texts: pa.Array) -> tuple[npt.NDArray[np.uint8], Ints]:
    """Return the UTF-8 bytes of all ``texts`` in one array, and the offset of each text with the
    end of the last.
    """
    bounds, letters = _text_offsets(texts)
    ends = bounds.astype(np.int64)
    return letters[ends[0] : ends[-1]], ends - ends[0]


def _text_offsets(texts: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:
    """Return the offsets of ``texts`` in their byte buffer (one more than there are texts), and
    that buffer.
    """
    kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    if not len(texts):
        return np.zeros(1, kind), np.zeros(0, np.uint8)
    _, bounds, data = texts.buffers()
    letters = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return np.frombuffer(bounds, kind, len(texts) + 1, texts.offset * kind().itemsize), letters


def arrow_ints(values: Ints) -> pa.Array:
    """Convert ``values`` to an Arrow array of int64."""
    return arrow_numbers(np.asarray(values, np.int64))


def arrow_numbers(values: npt.NDArray[Any]) -> pa.Array:
    """Convert ``values`` to an Arrow array of their own type."""
    kind, data = pa.from_numpy_dtype(values.dtype), pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [None, data])


def arrow_texts(values: Sequence[str]) -> pa.Array:
    """Convert ``values`` to an Arrow array of strings."""
    return _pack_bytes([value.encode() for value in values], pa.string())


def arrow_bytes(values: Sequence[bytes]) -> pa.Array:
    """Convert ``values`` to an Arrow array of bytes."""
    return _pack_bytes(values, pa.binary())


def _pack_bytes(values: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Pack byte strings into an Arrow array of the given type."""
    ends = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(value) for value in values], out=ends[1:])
    if ends[-1] >= 1 << 31:
        return pa.array(values, kind)
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind, len(values), buffers)


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Combine the chunks of a column into one array."""
    found = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return found if isinstance(found, pa.Array) else found.chunk(0)


def numpy_ints(array: pa.Array) -> Ints:
    """Convert an Arrow array of integers without nulls to int64."""
    return stored_ints(array).astype(np.int64, copy=False)


def stored_ints(array: pa.Array) -> npt.NDArray[Any]:
    """View an Arrow array of integers without nulls as numpy, without a copy."""
    size = array.type.bit_width // 8
    if not len(array):
        return np.zeros(0, f"<i{size}")
    return np.frombuffer(array.buffers()[1], f"<i{size}", len(array), array.offset * size)


def concatenate(parts: list[Columns], empty: Columns) -> Columns:
    """Concatenate the rows of all ``parts``; ``empty`` (no rows) if there are no parts."""
    if len(parts) < 2:
        return parts[0] if parts else empty
    return {name: _concatenate_column([part[name] for part in parts]) for name in empty}


def extend_column(column: npt.NDArray[Any], more: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Append ``more`` to ``column`` in amortised constant time; the buffer grows by a quarter at a
    time.

    The buffer is reused: only the column that the last call returned may be extended again.
    """
    count, memory = len(column) + len(more), column.base
    if not isinstance(memory, np.ndarray) or len(memory) < count:
        memory = np.empty(count + count // 4 + 64, column.dtype)
        memory[: len(column)] = column
    memory[len(column) : count] = more
    return memory[:count]


def _concatenate_column(columns: list[Column]) -> Column:
    """Concatenate the chunks of one column."""
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    return pa.concat_arrays(columns)


# --- distinct numbers and rows --------------------------------------------------------------------

#: Up to so many numbers, Python's sets are faster than numpy, of which every call costs
#: microseconds: a batch of one assertion asks a hundred such questions.
TINY = 16


def unique(values: Ints) -> Ints:
    """Sort and deduplicate ``values``.

    numpy's own function hashes first, which is slow where most values are distinct.
    """
    if len(values) <= TINY:
        return np.array(sorted(set(values.tolist())), values.dtype)
    if _is_dense(values):
        low = int(values.min())
        return np.bincount(values - low).nonzero()[0] + low
    ordered = np.sort(values)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]


def distinct_with_inverse(values: Ints) -> tuple[Ints, Ints, Ints]:
    """Deduplicate ``values``, with the index of each value among the distinct ones.

    Returns: the distinct values, ascending; for each value its index among these; for each distinct
        value the position of one occurrence.
    """
    if len(values) <= TINY:
        return _distinct_by_dict(values)
    if not _is_dense(values):
        return _distinct_by_sorting(values)
    found = unique(values)
    low = int(found[0])
    rank = np.zeros(int(found[-1]) - low + 1, np.int64)
    rank[found - low] = np.arange(len(found))
    inverse = rank[values - low]
    example = np.zeros(len(found), np.int64)
    example[inverse] = np.arange(len(values))
    return found, inverse, example


def order_codes(values: Ints) -> Ints:
    """Return integers in the same order as ``values``: dense ranks if these need no sorting, else
    ``values`` themselves.
    """
    return distinct_with_inverse(values)[1] if len(values) > TINY and _is_dense(values) else values


def _distinct_by_sorting(values: Ints) -> tuple[Ints, Ints, Ints]:
    """Deduplicate ``values`` by sorting; returns as `distinct_with_inverse`."""
    order = values.argsort()
    ordered = values[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    inverse = np.empty(len(values), np.int64)
    inverse[order] = is_first.cumsum() - 1
    return ordered[is_first], inverse, order[is_first]


def _distinct_by_dict(values: Ints) -> tuple[Ints, Ints, Ints]:
    """Deduplicate a few ``values`` by a dictionary; returns as `distinct_with_inverse`."""
    listed = values.tolist()
    last = {value: i for i, value in enumerate(listed)}
    found = sorted(last)
    rank = {value: i for i, value in enumerate(found)}
    inverse = np.array([rank[value] for value in listed], np.int64)
    return (
        np.array(found, values.dtype),
        inverse,
        np.array([last[value] for value in found], np.int64),
    )


def _is_dense(values: Ints) -> bool:
    """Decide whether an array over the range of ``values`` is cheaper than sorting them."""
    return int(values.max()) - int(values.min()) <= 8 * len(values) + 1024


def group_minimum(group: Ints, values: Ints, count: int) -> Ints:
    """Return the minimum of ``values`` in each of the groups 0 … ``count`` - 1; the greatest int64
    for an empty group.
    """
    found = np.full(count, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(found, group, values)
    return found


def follow_pointers(target: Ints) -> Ints:
    """The end of the chain i, target[i], target[target[i]], … for each i. No chain may be a circle
    of several.
    """
    while not np.array_equal(further := target[target], target):
        target = further
    return target


def is_in(values: Ints, among: Ints) -> npt.NDArray[np.bool_]:
    """Return a boolean mask: True for the ``values`` that occur in ``among``."""
    if not len(values) or not len(among):
        return np.zeros(len(values), np.bool_)
    if len(values) <= TINY and len(among) <= TINY:
        few = set(among.tolist())
        return np.array([value in few for value in values.tolist()], np.bool_)
    found = unique(among)
    low, high = int(found[0]), int(found[-1])
    if high - low <= 8 * (len(values) + len(found)) + 1024:
        table = np.zeros(high - low + 2, np.bool_)
        table[found - low] = True
        return table[np.where((values < low) | (values > high), high + 1, values) - low]
    return found[np.minimum(insertion_points(found, values), len(found) - 1)] == values


def insertion_points(ordered: Ints, values: Ints) -> Ints:
    """Return the insertion points of ``values`` in ``ordered``, before equal entries.

    Many values are looked up in sorted order: random access to an array larger than the cache waits
        for memory at each step.
    """
    if (
        len(values) <= _FEW_LOOKUPS
        or len(ordered) <= _IN_CACHE
        or (values[1:] >= values[:-1]).all()
    ):
        return ordered.searchsorted(values)
    order = values.argsort()
    found = np.empty(len(values), np.int64)
    found[order] = ordered.searchsorted(values[order])
    return found


_FEW_LOOKUPS = 256
_IN_CACHE = 1 << 15


def set_difference(values: Ints, others: Ints) -> Ints:
    """Return the distinct ``values`` that are not in ``others``, ascending."""
    found = unique(values)
    return found[~is_in(found, others)]


def row_codes(*columns: Ints) -> Ints:
    """Encode each row of ``columns`` as one integer, in the lexicographic order of the rows."""
    code = np.zeros(len(columns[0]), np.int64)
    size = 1
    for column in columns:
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        width = high - low + 1
        if width > 1 << 22:
            column, low, width = _narrow_range(column, low, high)
        if size * width >= 1 << 62:
            code = distinct_with_inverse(code)[1]
            size = int(code.max()) + 1
        code = code * width + (column - low)
        size *= width
    return code


def _narrow_range(column: Ints, low: int, high: int) -> tuple[Ints, int, int]:
    """Map ``column`` to smaller numbers in the same order.

    Nodes of a base are small and those of a batch are far above them, so closing the gap may
    suffice.

    Args:
    low, high: least and greatest value of ``column``

    Returns: the new column, its least value, and the width of its range.
    """
    span = high - low
    if span < 1 << 62:
        offset = column - low
        is_far = offset > span >> 1
        near, far = (
            int(offset.max(where=~is_far, initial=0)),
            int(offset.min(where=is_far, initial=span)),
        )
        width = span - far + near + 2
        if width <= 1 << 31:
            return np.where(is_far, offset - (far - near - 1), offset), 0, width
    column = distinct_with_inverse(column)[1]
    return column, 0, int(column.max()) + 1


def is_row_in(rows: Sequence[Ints], among: Sequence[Ints]) -> npt.NDArray[np.bool_]:
    """Return a boolean mask: True for the ``rows`` (columns of equal length) that occur in
    ``among``.
    """
    count = len(rows[0])
    if not count or not len(among[0]):
        return np.zeros(count, np.bool_)
    if count <= TINY and len(among[0]) <= TINY:
        few = set(zip(*(column.tolist() for column in among)))
        return np.array(
            [row in few for row in zip(*(column.tolist() for column in rows))], np.bool_
        )
    code = row_codes(*(np.concatenate([a, b]) for a, b in zip(rows, among)))
    return is_in(code[:count], code[count:])


def row_changes(old: Columns, new: Columns) -> tuple[Columns, Columns]:
    """Compare two bags of rows: return the rows only in ``new``, and the rows only in ``old``."""
    names = list(new)
    kept = is_row_in([new[n] for n in names], [old[n] for n in names])
    left = is_row_in([old[n] for n in names], [new[n] for n in names])
    return (
        {n: take(new[n], (~kept).nonzero()[0]) for n in names},
        {n: take(old[n], (~left).nonzero()[0]) for n in names},
    )


def distinct_pairs(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Return the distinct pairs (first[i], second[i]) as two arrays."""
    if not len(first):
        return first, second
    kept = distinct_with_inverse(row_codes(first, second))[2]
    return first[kept], second[kept]
