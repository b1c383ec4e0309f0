"""Column store of the rule engine: constants as integer codes, relations with numbered rows, and
indexes.

An integer between -`FIRST_CODE` and `FIRST_CODE` - 1 is its own code, so numeric columns need no
encoding.
Texts and larger integers get codes from `FIRST_CODE` on, which are freed when unused.

A row keeps its number until `Relation.compact`. Whether it currently holds is a flag in
`Relation.row_arrays`. So windows, derivation counts and masks are arrays over row numbers. Indexes
only grow in between, and the states before and after a point are two masks over the same rows.
Predicates without arguments have one column of zeros. Source: docs/RULES.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import (
    Ints,
    distinct_with_inverse,
    numpy_ints,
    row_codes,
    run_bounds,
    unique,
)
from shiq.streams.rules.syntax import (
    COMPARISONS,
    INTEGER_LIMIT,
    IntegerOverflow,
    Value,
    constant_sort_key,
)

Flags = npt.NDArray[np.bool_]
Columns = Sequence[Ints]
NO_ROWS: Final = np.zeros(0, np.int64)


def empty_rows() -> Ints:
    """Return an empty array of row numbers."""
    return NO_ROWS


#: Where the numbers in a key lie so close together, they are looked up in a table.
_TABLE_SPREAD: Final = 16
_HASH_FACTOR: Final = np.int64(-7046029254386353131)


@dataclass(frozen=True)
class SortedRun:
    """Row numbers of a relation sorted by the key of some columns. Keys are found by binary search
    or in a table.

    pack: minimum and width of each column, for exact keys; values out of range get the width, which
    no row has. Without it, keys are hashes and matches must be compared.
    """

    rows: Ints
    keys: Ints
    pack: tuple[tuple[int, int], ...] | None
    #: For each key from 0 on, where its rows begin; None where keys are spread too wide.
    starts: Ints | None

    def find_ranges(self, columns: Columns) -> tuple[Ints, Ints]:
        """Start and end, within the sorted run, of the rows that match each key. ``columns``: the
        keys to look up.
        """
        key = _hash_keys(columns) if self.pack is None else _pack_keys(columns, self.pack)
        if self.starts is None:
            return run_bounds(self.keys, key)
        return self.starts[key], self.starts[key + 1]

    @cached_property
    def _row_number_by_key(self) -> Ints:
        """Table from packed key to row number, -1 if there is none; only if the run's key consists
        of all columns.
        """
        assert self.starts is not None
        row = np.full(len(self.starts) - 1, -1, np.int64)
        row[self.keys] = self.rows
        return row

    def find_row_numbers(self, columns: Columns) -> Ints:
        """Row number of each row of ``columns``, -1 for rows that are not in the run; only if the
        run's key consists of all columns.
        """
        assert self.pack is not None
        return self._row_number_by_key[_pack_keys(columns, self.pack)]


def sort_rows(columns: Columns, rows: Ints) -> SortedRun:
    """Sort the row numbers ``rows`` by ``columns``. The sort is stable, so already sorted parts are
    merged.
    """
    part = [column[rows] for column in columns]
    pack, size = [], 1
    for column in part:
        low = int(column.min())
        pack.append((low, int(column.max()) - low + 1))
        size *= pack[-1][1] + 1
    if size >= 1 << 62:
        keys = _hash_keys(part)
        order = np.argsort(keys, kind="stable")
        return SortedRun(rows[order], keys[order], None, None)
    keys = _pack_keys(part, pack)
    order = np.argsort(keys, kind="stable")
    starts = None
    if size <= _TABLE_SPREAD * len(rows) + 1024:
        starts = np.zeros(size + 1, np.int64)
        np.cumsum(np.bincount(keys, minlength=size), out=starts[1:])
    return SortedRun(rows[order], keys[order], tuple(pack), starts)


def _pack_keys(columns: Columns, pack: Sequence[tuple[int, int]]) -> Ints:
    """Combine the columns of each row into one exact integer key. ``pack``: minimum and width of
    each column.
    """
    key: Any = None
    for column, (low, width) in zip(columns, pack):
        # Below the least is beyond the largest, as an unsigned number.
        offset = np.minimum((column - low).view(np.uint64), width).view(np.int64)
        key = offset if key is None else key * (width + 1) + offset
    return key


def _hash_keys(columns: Columns) -> Ints:
    """Combine the columns of each row into one 64-bit hash key."""
    key = columns[0]
    for column in columns[1:]:
        key = (key ^ (key >> 29)) * _HASH_FACTOR + column
    return key


class RowIndex:
    """Index of a relation by some columns: a large sorted run, and a small one for newer rows."""

    def __init__(self, positions: tuple[int, ...]) -> None:
        self.positions = positions
        self._runs: list[SortedRun] = []
        self._base = self._covered = 0

    def update_runs(self, relation: Relation) -> list[SortedRun]:
        """Add the relation's new rows to the index and return its sorted runs."""
        size = relation.size
        if size > self._covered:
            columns = [relation.columns[i] for i in self.positions]
            base = self._runs[: 1 if self._base else 0]
            tail = sort_rows(columns, np.arange(self._base, size))
            if size - self._base > max(1024, self._base >> 6):
                whole = np.concatenate([*(run.rows for run in base), tail.rows])
                self._runs, self._base = [sort_rows(columns, whole) if base else tail], size
            else:
                self._runs = [*base, tail]
            self._covered = size
        return self._runs


class TooManyRows(Exception):
    """Signal that a join would produce more rows than allowed."""


@dataclass(eq=False)
class Relation:
    """Rows of one predicate, stored in columns of constant codes; a row is named by its number.

    row_arrays: arrays with one entry per row, grown and compacted with the rows.
    """

    predicate: str
    arity: int
    size: int = 0
    columns: list[Ints] = field(default_factory=list)
    row_arrays: dict[Hashable, Any] = field(default_factory=dict)
    #: The rows that hold now, those that came and went with this point; arrays that nobody writes
    #: to.
    held_rows: Ints = field(default_factory=empty_rows)
    gained_rows: Ints = field(default_factory=empty_rows)
    lost_rows: Ints = field(default_factory=empty_rows)
    indexes: dict[tuple[int, ...], RowIndex] = field(default_factory=dict)
    #: How often rows have been renumbered.
    version: int = 0
    #: Where `held_rows` has room to grow, and how far it is written.
    _held_buffer: Ints = field(default_factory=empty_rows)
    _held_end: int = -1

    def __post_init__(self) -> None:
        self.columns = [np.zeros(16, np.int64) for _ in range(max(1, self.arity))]
        self._rows = self.row_index(tuple(range(len(self.columns))))
        self.add_row_array("holds", np.bool_)

    def add_row_array(self, name: Hashable, dtype: Any) -> None:
        """Add an array with one entry of type ``dtype`` per row, initially zero, to ``row_arrays``."""
        if name not in self.row_arrays:
            self.row_arrays[name] = np.zeros(len(self.columns[0]), dtype)

    def row_index(self, positions: tuple[int, ...]) -> RowIndex:
        """Index of the relation by the columns ``positions``, created when first used."""
        found = self.indexes.get(positions)
        if found is None:
            found = self.indexes[positions] = RowIndex(positions)
        return found

    def find_matches(
        self, positions: tuple[int, ...], keys: Columns, max_matches: int
    ) -> tuple[Ints, Ints]:
        """Look up the rows that match each of ``keys`` at the columns ``positions``.

        Returns: indexes of keys, and the row numbers that match them.
        Raises: TooManyRows if there are more than ``max_matches``.
        """
        which, rows = [], []
        for run in self.row_index(positions).update_runs(self):
            low, high = run.find_ranges(keys)
            lengths = high - low
            total = int(lengths.sum())
            if total > max_matches:
                raise TooManyRows
            if not total:
                continue
            found = np.repeat(np.arange(len(low)), lengths)
            at = np.arange(total) + (low - lengths.cumsum() + lengths)[found]
            row = run.rows[at]
            if run.pack is None:
                same = np.ones(len(row), np.bool_)
                for position, column in zip(positions, keys):
                    same &= self.columns[position][row] == column[found]
                found, row = found[same], row[same]
            which.append(found)
            rows.append(row)
        if len(which) == 1:
            return which[0], rows[0]
        return (np.concatenate(which), np.concatenate(rows)) if which else (NO_ROWS, NO_ROWS)

    def mean_rows_per_key(self, positions: tuple[int, ...]) -> float:
        """Mean number of rows that share a key at the columns ``positions``."""
        if not positions or not self.size:
            return float(self.size)
        return self.size / sum(
            len(unique(run.keys)) for run in self.row_index(positions).update_runs(self)
        )

    def find_row_numbers(self, rows: Columns) -> Ints:
        """Row number of each given row; -1 for unknown rows."""
        if self.size and len(rows[0]):
            runs = self._rows.update_runs(self)
            if len(runs) == 1 and runs[0].starts is not None:
                return runs[0].find_row_numbers(rows)
        found = np.full(len(rows[0]), -1, np.int64)
        which, row = (
            self.find_matches(self._rows.positions, rows, 1 << 62)
            if self.size and len(found)
            else (NO_ROWS, NO_ROWS)
        )
        found[which] = row
        return found

    def distinct_row_numbers(self, rows: Ints) -> Ints:
        """Distinct values among the row numbers ``rows``."""
        if self.size > 64 * len(rows) + 1024:
            return unique(rows)
        there = np.zeros(self.size, np.bool_)
        there[rows] = True
        return there.nonzero()[0]

    def add_rows_with_duplicates(self, rows: Columns) -> Ints:
        """Add those of ``rows`` that the relation does not contain yet; return the row number of
        each of ``rows``, which may contain duplicates.
        """
        found = self.find_row_numbers(rows)
        new = (found < 0).nonzero()[0]
        if len(new):
            columns = [column[new] for column in rows]
            self.add_rows([column[distinct_row_indexes(columns)] for column in columns])
            found[new] = self.find_row_numbers(columns)
        return found

    def add_rows(self, rows: Columns) -> Ints:
        """Add those of ``rows`` that the relation does not contain yet; return the row number of
        each of ``rows``. The caller ensures that these are distinct.
        """
        found = self.find_row_numbers(rows)
        new = (found < 0).nonzero()[0]
        if len(new):
            first, end = self.size, self.size + len(new)
            self._grow_capacity(end)
            for mine, column in zip(self.columns, rows):
                mine[first:end] = column[new]
            found[new] = np.arange(first, end)
            self.size = end
        return found

    def mark_rows_true(self, rows: Ints) -> None:
        """Mark ``rows``, which are not true yet, as true at the current time point. Arrays that
        `held_rows` returned before stay unchanged: new entries are written behind them.
        """
        self.row_arrays["holds"][rows] = True
        before, size = len(self.held_rows), len(self.held_rows) + len(rows)
        if (
            self.held_rows.base is not self._held_buffer
            or self._held_end != before
            or size > len(self._held_buffer)
        ):
            self._held_buffer = np.concatenate([self.held_rows, np.zeros(size, np.int64)])
        self._held_buffer[before:size] = rows
        self.held_rows, self._held_end = self._held_buffer[:size], size

    def _grow_capacity(self, size: int) -> None:
        """Grow columns and row arrays so that they can store at least ``size`` rows."""
        capacity = len(self.columns[0])
        if size > capacity:
            more = max(size, 2 * capacity) - capacity
            self.columns = [
                np.concatenate([column, np.zeros(more, np.int64)]) for column in self.columns
            ]
            self.row_arrays = {
                name: np.concatenate([array, np.zeros(more, array.dtype)])
                for name, array in self.row_arrays.items()
            }

    def columns_at(self, rows: Ints) -> list[Ints]:
        """Columns of the rows with these row numbers."""
        return [column[rows] for column in self.columns]

    def compact_rows(self, alive: Flags) -> Callable[[Ints], Ints]:
        """Drop the rows that are not flagged in ``alive``; return a function from old to new row
        numbers.
        """
        kept = np.flatnonzero(alive[: self.size])
        number = np.full(self.size, -1, np.int64)
        number[kept] = np.arange(len(kept))
        spare = np.zeros(max(16, len(kept) // 2), np.int64)
        self.columns = [np.concatenate([column[kept], spare]) for column in self.columns]
        self.row_arrays = {
            name: np.concatenate([array[kept], np.zeros(len(spare), array.dtype)])
            for name, array in self.row_arrays.items()
        }
        self.size = len(kept)
        self.held_rows, self.gained_rows, self.lost_rows = number[self.held_rows], NO_ROWS, NO_ROWS
        self.indexes.clear()
        self._rows = self.row_index(self._rows.positions)
        self.version += 1
        return lambda rows: number[rows]


def distinct_row_indexes(columns: Columns) -> Ints:
    """Indexes of distinct rows: one for each set of equal rows."""
    if len(columns[0]) < 2:
        return np.arange(len(columns[0]))
    code = columns[0] if len(columns) == 1 else row_codes(*columns)
    low, high = int(code.min()), int(code.max())
    if high - low > _TABLE_SPREAD * len(code):
        return distinct_with_inverse(code)[2]
    example = np.full(high - low + 1, -1, np.int64)
    example[code - low] = np.arange(len(code))
    return example[example >= 0]


FIRST_CODE: Final = 1 << 61


class ConstantDictionary:
    """Dictionary between constants of the rule language and integer codes.

    `decode_constants` of freed codes is undefined. A list obtained from `values` stays unchanged.
    """

    def __init__(self) -> None:
        self.values: list[Value | None] = []
        self._code: dict[Value, int] = {}
        self._free: list[int] = []
        #: The integers that are too large to be their own codes.
        self._large: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._code)

    def find_or_assign_code(self, value: Value) -> int:
        """Integer code of a constant; a new constant gets one. Integers that are not too large are
        their own codes.
        """
        if not isinstance(value, str) and -FIRST_CODE <= value < FIRST_CODE:
            return int(value)
        found = self._code.get(value)
        if found is None:
            if self._free:
                found = self._free.pop()
                self.values[found - FIRST_CODE] = value
            else:
                found = FIRST_CODE + len(self.values)
                self.values.append(value)
            self._code[value] = found
            if not isinstance(value, str):
                self._large[found] = value
        return found

    def encode_column(self, column: Any) -> Ints:
        """Integer codes of a column of constants: a sequence, a numpy array or an Arrow array."""
        if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
            return self.encode_numbers(column.astype(np.int64, copy=False))
        if hasattr(column, "to_pylist"):
            if (
                str(column.type).startswith(("int", "uint"))
                and not column.null_count
                and hasattr(column, "buffers")
            ):
                return self.encode_numbers(numpy_ints(column))
            column = column.to_pylist()
        listed: Sequence[Value] = column.tolist() if isinstance(column, np.ndarray) else column
        known = self._code.get
        codes = [known(value) for value in listed]
        if None in codes:
            codes = [
                self.find_or_assign_code(value) if code is None else code
                for code, value in zip(codes, listed)
            ]
        return np.array(codes, np.int64)

    def encode_numbers(self, numbers: Ints) -> Ints:
        """Integer codes of integer constants: the integers themselves, unless they are too large."""
        if not len(numbers) or (
            int(numbers.min()) >= -FIRST_CODE and int(numbers.max()) < FIRST_CODE
        ):
            return numbers
        beyond = np.flatnonzero((numbers < -FIRST_CODE) | (numbers >= FIRST_CODE))
        numbers = numbers.copy()
        numbers[beyond] = [self.find_or_assign_code(number) for number in numbers[beyond].tolist()]
        return numbers

    def decode_numbers(self, codes: Ints) -> tuple[Ints, Flags | None]:
        """Integers that ``codes`` stand for, and flags of the codes that stand for integers (None:
        all).
        """
        if not len(codes) or int(codes.max()) < FIRST_CODE:
            return codes, None
        is_number = codes < FIRST_CODE
        if self._large:
            codes = codes.copy()
            for i in np.flatnonzero(~is_number).tolist():
                if (found := self._large.get(int(codes[i]))) is not None:
                    codes[i], is_number[i] = found, True
        return codes, None if is_number.all() else is_number

    def rank_constants(self, *columns: Ints) -> tuple[Ints, ...]:
        """Convert columns of codes to columns of integers that compare as the constants do, across
        all ``columns`` (`syntax.constant_sort_key`).
        """
        if all(not len(column) or int(column.max()) < FIRST_CODE for column in columns):
            return columns
        joined = np.concatenate(columns)
        found, inverse, _ = distinct_with_inverse(joined)
        keys = [constant_sort_key(value) for value in self.decode_constants(found)]
        rank = np.empty(len(found), np.int64)
        rank[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(found))
        joined = rank[inverse]
        return tuple(np.split(joined, np.cumsum([len(column) for column in columns])[:-1]))

    def compare_columns(self, left: Ints, relation: str, right: Ints) -> Flags:
        """Flags of the rows in which two columns of codes satisfy a comparison operator such as
        "<".
        """
        if relation not in ("=", "!="):
            left, right = self.rank_constants(left, right)
        return COMPARISONS[relation](left, right)

    def decode_constants(self, codes: Ints) -> list[Value]:
        """Constants with these integer codes."""
        return decode_codes(self.values, codes)

    def free_unused(self, used_columns: Iterable[Ints]) -> None:
        """Free all codes that occur in none of ``used_columns``."""
        kept = np.zeros(len(self.values), np.bool_)
        for column in used_columns:
            kept[unique(column[column >= FIRST_CODE] - FIRST_CODE)] = True
        # What was handed out before keeps the old list.
        self.values = [value if alive else None for value, alive in zip(self.values, kept.tolist())]
        self._code = {
            value: FIRST_CODE + i for i, value in enumerate(self.values) if value is not None
        }
        self._free = (np.flatnonzero(~kept) + FIRST_CODE).tolist()
        self._large = {
            code: value for value, code in self._code.items() if not isinstance(value, str)
        }


def decode_codes(values: Sequence[Value | None], codes: Ints) -> list[Any]:
    """Constants with these integer codes; ``values`` lists the constants that are not their own
    codes.
    """
    if not len(codes) or int(codes.max()) < FIRST_CODE:
        return codes.tolist()
    return [code if code < FIRST_CODE else values[code - FIRST_CODE] for code in codes.tolist()]


def calculate_columns(operator: str, left: Ints, right: Ints) -> tuple[Ints, Flags | None]:
    """Apply an arithmetic operator to two columns of integers; also return flags of the rows with a
    result (None: all).

    Raises: IntegerOverflow.
    """
    if operator == "\\":
        has_value = right != 0
        return np.fmod(left, np.where(has_value, right, 1)), None if has_value.all() else has_value
    if operator == "/":
        has_value = right != 0
        divisor = np.where(has_value, right, 1)
        if ((left == -INTEGER_LIMIT) & (divisor == -1)).any():
            raise IntegerOverflow(f"{INTEGER_LIMIT} is beyond 64 bits")
        quotient = left // divisor
        quotient += (quotient < 0) & (quotient * divisor != left)
        return quotient, None if has_value.all() else has_value
    if operator == "*":
        return _multiply_columns(left, right), None
    found = left + right if operator == "+" else left - right
    other = right if operator == "+" else ~right
    # A sum is wrong where it has another sign than both of its terms.
    wrong = ((left ^ found) & (other ^ found)) < 0
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise IntegerOverflow(f"{left[at]} {operator} {right[at]} is beyond 64 bits")
    return found, None


def _multiply_columns(left: Ints, right: Ints) -> Ints:
    """Multiply two columns of integers. Raises: IntegerOverflow."""
    largest = [
        max(abs(int(side.min())), abs(int(side.max()))) if len(side) else 0
        for side in (left, right)
    ]
    if largest[0] * largest[1] >= INTEGER_LIMIT:
        for a, b in zip(left.tolist(), right.tolist()):
            if not -INTEGER_LIMIT <= a * b < INTEGER_LIMIT:
                raise IntegerOverflow(f"{a} * {b} is beyond 64 bits")
    return left * right
