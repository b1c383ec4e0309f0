"""Constants as integers, and relations of them in columns: rows by number, what is known of each,
and indexes over them that grow with them.

An integer between -`FIRST` and `FIRST` - 1 is its own code, so columns of numbers cost nothing;
texts and larger integers have codes from `FIRST` on, given up once nothing holds them. A row
keeps its number until `Relation.compact`; whether it holds now is one of the arrays of
`Relation.row_arrays`. So windows, supports and masks are arrays over row numbers, indexes never
shrink in between, and what held before a point and after it are two masks over the same rows.
Predicates without arguments have one column of zeros. Source: docs/RULES.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import Ints, distinct, numpy_ints, row_codes, runs, unique
from shiq.streams.rules.syntax import COMPARISONS, LIMIT, IntegerOverflow, Value, constant_order

Flags = npt.NDArray[np.bool_]
Columns = Sequence[Ints]
NONE: Final = np.zeros(0, np.int64)


def no_rows() -> Ints:
    """No rows."""
    return NONE


#: Where the numbers in a key lie so close together, they are looked up in a table.
_SPREAD: Final = 16
_ODD: Final = np.int64(-7046029254386353131)


@dataclass(frozen=True)
class SortedRun:
    """Some rows, in the order of some of their columns.

    ``pack`` has for each column its least value and the width of its range, and keys are exact;
    what is out of a range has its width, which no row has. Without it keys are hashes, and what
    they find must be compared.
    """

    rows: Ints
    keys: Ints
    pack: tuple[tuple[int, int], ...] | None
    #: For each key from 0 on, where its rows begin; None where keys are spread too wide.
    starts: Ints | None

    def find(self, columns: Columns) -> tuple[Ints, Ints]:
        """Where the rows of each key begin and end."""
        key = _hash_keys(columns) if self.pack is None else _pack_keys(columns, self.pack)
        if self.starts is None:
            return runs(self.keys, key)
        return self.starts[key], self.starts[key + 1]

    @cached_property
    def _row_by_key(self) -> Ints:
        """For each key its row, -1 where there is none; keys are of whole rows, so each has one
        at most.
        """
        assert self.starts is not None
        row = np.full(len(self.starts) - 1, -1, np.int64)
        row[self.keys] = self.rows
        return row

    def find_unique(self, columns: Columns) -> Ints:
        """The row of each key, -1 where there is none."""
        assert self.pack is not None
        found: Ints = self._row_by_key[_pack_keys(columns, self.pack)]
        return found


def sorted_run(columns: Columns, rows: Ints) -> SortedRun:
    """A run of rows in the order of ``columns``. Sorted parts one after another are merged,
    since the sort is stable.
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
    if size <= _SPREAD * len(rows) + 1024:
        starts = np.zeros(size + 1, np.int64)
        np.cumsum(np.bincount(keys, minlength=size), out=starts[1:])
    return SortedRun(rows[order], keys[order], tuple(pack), starts)


def _pack_keys(columns: Columns, pack: Sequence[tuple[int, int]]) -> Ints:
    """The keys of rows."""
    key: Any = None
    for column, (low, width) in zip(columns, pack):
        # Below the least is beyond the largest, as an unsigned number.
        offset = np.minimum((column - low).view(np.uint64), width).view(np.int64)
        key = offset if key is None else key * (width + 1) + offset
    found: Ints = key
    return found


def _hash_keys(columns: Columns) -> Ints:
    key = columns[0]
    for column in columns[1:]:
        key = (key ^ (key >> 29)) * _ODD + column
    return key


class RowIndex:
    """Rows by some of their columns: a large sorted run, and a small one with what came since."""

    def __init__(self, positions: tuple[int, ...]) -> None:
        self.positions = positions
        self._runs: list[SortedRun] = []
        self._base = self._covered = 0

    def sorted_runs(self, relation: Relation) -> list[SortedRun]:
        """Runs over all rows of ``relation``."""
        size = relation.size
        if size > self._covered:
            columns = [relation.columns[i] for i in self.positions]
            base = self._runs[: 1 if self._base else 0]
            tail = sorted_run(columns, np.arange(self._base, size))
            if size - self._base > max(1024, self._base >> 6):
                whole = np.concatenate([*(run.rows for run in base), tail.rows])
                self._runs, self._base = [sorted_run(columns, whole) if base else tail], size
            else:
                self._runs = [*base, tail]
            self._covered = size
        return self._runs


class TooManyRows(Exception):
    """More rows than a join may give."""


@dataclass(eq=False)
class Relation:
    """The rows of one predicate. ``row_arrays``: arrays with an entry a row, grown and compacted
    with them.
    """

    predicate: str
    arity: int
    size: int = 0
    columns: list[Ints] = field(default_factory=list)
    row_arrays: dict[Hashable, Any] = field(default_factory=dict)
    #: The rows that hold now, those that came and went with this point; arrays that nobody writes
    #: to.
    held_rows: Ints = field(default_factory=no_rows)
    gained_rows: Ints = field(default_factory=no_rows)
    lost_rows: Ints = field(default_factory=no_rows)
    indexes: dict[tuple[int, ...], RowIndex] = field(default_factory=dict)
    #: How often rows have been renumbered.
    version: int = 0
    #: Where `held_rows` has room to grow, and how far it is written.
    _held_buffer: Ints = field(default_factory=no_rows)
    _held_end: int = -1

    def __post_init__(self) -> None:
        self.columns = [np.zeros(16, np.int64) for _ in range(max(1, self.arity))]
        self._rows = self.row_index(tuple(range(len(self.columns))))
        self.add_array("holds", np.bool_)

    def add_array(self, name: Hashable, kind: Any) -> None:
        """Keeps an array of this kind in ``row_arrays``, with zeros for new rows."""
        if name not in self.row_arrays:
            self.row_arrays[name] = np.zeros(len(self.columns[0]), kind)

    def row_index(self, positions: tuple[int, ...]) -> RowIndex:
        found = self.indexes.get(positions)
        if found is None:
            found = self.indexes[positions] = RowIndex(positions)
        return found

    def match_rows(
        self, positions: tuple[int, ...], wanted: Columns, most: int
    ) -> tuple[Ints, Ints]:
        """For each of the ``wanted`` keys at ``positions`` the rows that have it: which key,
        which row. Raises: TooMany.
        """
        which, rows = [], []
        for run in self.row_index(positions).sorted_runs(self):
            low, high = run.find(wanted)
            lengths = high - low
            total = int(lengths.sum())
            if total > most:
                raise TooManyRows
            if not total:
                continue
            found = np.repeat(np.arange(len(low)), lengths)
            at = np.arange(total) + (low - lengths.cumsum() + lengths)[found]
            row = run.rows[at]
            if run.pack is None:
                same = np.ones(len(row), np.bool_)
                for position, column in zip(positions, wanted):
                    same &= self.columns[position][row] == column[found]
                found, row = found[same], row[same]
            which.append(found)
            rows.append(row)
        if len(which) == 1:
            return which[0], rows[0]
        return (np.concatenate(which), np.concatenate(rows)) if which else (NONE, NONE)

    def mean_matches(self, positions: tuple[int, ...]) -> float:
        """How many rows a key at ``positions`` has, as a mean."""
        if not positions or not self.size:
            return float(self.size)
        return self.size / sum(
            len(unique(run.keys)) for run in self.row_index(positions).sorted_runs(self)
        )

    def find_rows(self, rows: Columns) -> Ints:
        """The numbers of rows, -1 for those that are not there."""
        if self.size and len(rows[0]):
            runs = self._rows.sorted_runs(self)
            if len(runs) == 1 and runs[0].starts is not None:
                return runs[0].find_unique(rows)
        found = np.full(len(rows[0]), -1, np.int64)
        which, row = (
            self.match_rows(self._rows.positions, rows, 1 << 62)
            if self.size and len(found)
            else (NONE, NONE)
        )
        found[which] = row
        return found

    def distinct_numbers(self, rows: Ints) -> Ints:
        """The distinct numbers among ``rows``."""
        if self.size > 64 * len(rows) + 1024:
            return unique(rows)
        there = np.zeros(self.size, np.bool_)
        there[rows] = True
        return there.nonzero()[0]

    def add_repeated(self, rows: Columns) -> Ints:
        """As `add`, of rows that may be there several times."""
        found = self.find_rows(rows)
        new = (found < 0).nonzero()[0]
        if len(new):
            columns = [column[new] for column in rows]
            self.add([column[first_of_each(columns)] for column in columns])
            found[new] = self.find_rows(columns)
        return found

    def add(self, rows: Columns) -> Ints:
        """The numbers of distinct rows; those that were not there are now."""
        found = self.find_rows(rows)
        new = (found < 0).nonzero()[0]
        if len(new):
            first, end = self.size, self.size + len(new)
            self._reserve(end)
            for mine, column in zip(self.columns, rows):
                mine[first:end] = column[new]
            found[new] = np.arange(first, end)
            self.size = end
        return found

    def mark_held(self, rows: Ints) -> None:
        """Let ``rows`` hold, which did not. What `held_rows` was stays as it is: they are written
        behind it.
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

    def _reserve(self, size: int) -> None:
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
        """The columns of some rows."""
        return [column[rows] for column in self.columns]

    def compact(self, alive: Flags) -> Callable[[Ints], Ints]:
        """Drops the rows that are not ``alive``; gives the map from old numbers to new ones."""
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
        self.held_rows, self.gained_rows, self.lost_rows = number[self.held_rows], NONE, NONE
        self.indexes.clear()
        self._rows = self.row_index(self._rows.positions)
        self.version += 1
        return lambda rows: number[rows]


def first_of_each(columns: Columns) -> Ints:
    """Where an example of each distinct row is."""
    if len(columns[0]) < 2:
        return np.arange(len(columns[0]))
    code = columns[0] if len(columns) == 1 else row_codes(*columns)
    low, high = int(code.min()), int(code.max())
    if high - low > _SPREAD * len(code):
        return distinct(code)[2]
    example = np.full(high - low + 1, -1, np.int64)
    example[code - low] = np.arange(len(code))
    found: Ints = example[example >= 0]
    return found


FIRST: Final = 1 << 61


class ConstantDictionary:
    """Codes of constants. `decode` of codes that were forgotten is undefined; a list that
    `values` gave stays as it was.
    """

    def __init__(self) -> None:
        self.values: list[Value | None] = []
        self._code: dict[Value, int] = {}
        self._free: list[int] = []
        #: The integers that are too large to be their own codes.
        self._large: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._code)

    def code(self, value: Value) -> int:
        """The code of a constant, which may be new."""
        if not isinstance(value, str) and -FIRST <= value < FIRST:
            return int(value)
        found = self._code.get(value)
        if found is None:
            if self._free:
                found = self._free.pop()
                self.values[found - FIRST] = value
            else:
                found = FIRST + len(self.values)
                self.values.append(value)
            self._code[value] = found
            if not isinstance(value, str):
                self._large[found] = value
        return found

    def encode(self, column: Any) -> Ints:
        """The codes of a column of constants: a sequence, a numpy array or an Arrow array."""
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
                self.code(value) if code is None else code for code, value in zip(codes, listed)
            ]
        return np.array(codes, np.int64)

    def encode_numbers(self, numbers: Ints) -> Ints:
        """The codes of integers."""
        if not len(numbers) or (int(numbers.min()) >= -FIRST and int(numbers.max()) < FIRST):
            return numbers
        beyond = np.flatnonzero((numbers < -FIRST) | (numbers >= FIRST))
        numbers = numbers.copy()
        numbers[beyond] = [self.code(number) for number in numbers[beyond].tolist()]
        return numbers

    def numbers(self, codes: Ints) -> tuple[Ints, Flags | None]:
        """The integers that ``codes`` are, and which are integers at all (None: all are)."""
        if not len(codes) or int(codes.max()) < FIRST:
            return codes, None
        is_number = codes < FIRST
        if self._large:
            codes = codes.copy()
            for i in np.flatnonzero(~is_number).tolist():
                if (found := self._large.get(int(codes[i]))) is not None:
                    codes[i], is_number[i] = found, True
        return codes, None if is_number.all() else is_number

    def ranks(self, *columns: Ints) -> tuple[Ints, ...]:
        """Numbers that are ordered as the constants of all ``columns`` are (`syntax.order`)."""
        if all(not len(column) or int(column.max()) < FIRST for column in columns):
            return columns
        joined = np.concatenate(columns)
        found, inverse, _ = distinct(joined)
        keys = [constant_order(value) for value in self.decode(found)]
        rank = np.empty(len(found), np.int64)
        rank[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(found))
        joined = rank[inverse]
        return tuple(np.split(joined, np.cumsum([len(column) for column in columns])[:-1]))

    def compare_columns(self, left: Ints, relation: str, right: Ints) -> Flags:
        """Where one constant stands to the other as ``relation`` says."""
        if relation not in ("=", "!="):
            left, right = self.ranks(left, right)
        found: Flags = COMPARISONS[relation](left, right)
        return found

    def decode(self, codes: Ints) -> list[Value]:
        """The constants with these codes."""
        return decode_codes(self.values, codes)

    def retain(self, used: Iterable[Ints]) -> None:
        """Gives up all codes that are in none of the ``used`` columns."""
        kept = np.zeros(len(self.values), np.bool_)
        for column in used:
            kept[unique(column[column >= FIRST] - FIRST)] = True
        # What was handed out before keeps the old list.
        self.values = [value if alive else None for value, alive in zip(self.values, kept.tolist())]
        self._code = {value: FIRST + i for i, value in enumerate(self.values) if value is not None}
        self._free = (np.flatnonzero(~kept) + FIRST).tolist()
        self._large = {
            code: value for value, code in self._code.items() if not isinstance(value, str)
        }


def decode_codes(values: Sequence[Value | None], codes: Ints) -> list[Any]:
    """The constants with these codes, by a list of ``values``."""
    if not len(codes) or int(codes.max()) < FIRST:
        found: list[Any] = codes.tolist()
        return found
    return [code if code < FIRST else values[code - FIRST] for code in codes.tolist()]


def calculate_columns(operator: str, left: Ints, right: Ints) -> tuple[Ints, Flags | None]:
    """left operator right, and which have a value (None: all), for integers. Raises:
    IntegerOverflow.
    """
    if operator == "\\":
        has_value = right != 0
        return np.fmod(left, np.where(has_value, right, 1)), None if has_value.all() else has_value
    if operator == "/":
        has_value = right != 0
        divisor = np.where(has_value, right, 1)
        if ((left == -LIMIT) & (divisor == -1)).any():
            raise IntegerOverflow(f"{LIMIT} is beyond 64 bits")
        quotient = left // divisor
        quotient += (quotient < 0) & (quotient * divisor != left)
        return quotient, None if has_value.all() else has_value
    if operator == "*":
        return _multiply(left, right), None
    found = left + right if operator == "+" else left - right
    other = right if operator == "+" else ~right
    # A sum is wrong where it has another sign than both of its terms.
    wrong = ((left ^ found) & (other ^ found)) < 0
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise IntegerOverflow(f"{left[at]} {operator} {right[at]} is beyond 64 bits")
    return found, None


def _multiply(left: Ints, right: Ints) -> Ints:
    largest = [
        max(abs(int(side.min())), abs(int(side.max()))) if len(side) else 0
        for side in (left, right)
    ]
    if largest[0] * largest[1] >= LIMIT:
        for a, b in zip(left.tolist(), right.tolist()):
            if not -LIMIT <= a * b < LIMIT:
                raise IntegerOverflow(f"{a} * {b} is beyond 64 bits")
    found: Ints = left * right
    return found
