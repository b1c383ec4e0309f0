"""Constants as integers, and back: integers are themselves, all else has a code that is given up
once nothing holds it.

An integer between -`FIRST` and `FIRST` - 1 is its own code, so columns of numbers cost nothing;
texts and larger integers have codes from `FIRST` on. Source: docs/RULES.md.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import Ints, distinct, numpy_ints, unique
from shiq.streams.rules.syntax import LIMIT, IntegerOverflow, Value, order

Flags = npt.NDArray[np.bool_]
FIRST: Final = 1 << 61
_RELATIONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


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
            return self.of_numbers(column.astype(np.int64, copy=False))
        if hasattr(column, "to_pylist"):
            if (
                str(column.type).startswith(("int", "uint"))
                and not column.null_count
                and hasattr(column, "buffers")
            ):
                return self.of_numbers(numpy_ints(column))
            column = column.to_pylist()
        listed: Sequence[Value] = column.tolist() if isinstance(column, np.ndarray) else column
        known = self._code.get
        codes = [known(value) for value in listed]
        if None in codes:
            codes = [
                self.code(value) if code is None else code for code, value in zip(codes, listed)
            ]
        return np.array(codes, np.int64)

    def of_numbers(self, numbers: Ints) -> Ints:
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
        """Numbers that are ordered as the constants of all ``columns`` are (`values.order`)."""
        if all(not len(column) or int(column.max()) < FIRST for column in columns):
            return columns
        joined = np.concatenate(columns)
        found, inverse, _ = distinct(joined)
        keys = [order(value) for value in self.decode(found)]
        rank = np.empty(len(found), np.int64)
        rank[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(found))
        joined = rank[inverse]
        return tuple(np.split(joined, np.cumsum([len(column) for column in columns])[:-1]))

    def compared(self, left: Ints, relation: str, right: Ints) -> Flags:
        """Where one constant stands to the other as ``relation`` says."""
        if relation not in ("=", "!="):
            left, right = self.ranks(left, right)
        found: Flags = _RELATIONS[relation](left, right)
        return found

    def decode(self, codes: Ints) -> list[Value]:
        """The constants with these codes."""
        return decoded(self.values, codes)

    def forget_but(self, used: Iterable[Ints]) -> None:
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


def decoded(values: Sequence[Value | None], codes: Ints) -> list[Any]:
    """The constants with these codes, by a list of ``values``."""
    if not len(codes) or int(codes.max()) < FIRST:
        found: list[Any] = codes.tolist()
        return found
    return [code if code < FIRST else values[code - FIRST] for code in codes.tolist()]


def calculate(operator: str, left: Ints, right: Ints) -> tuple[Ints, Flags | None]:
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
        return _product(left, right), None
    found = left + right if operator == "+" else left - right
    other = right if operator == "+" else ~right
    # A sum is wrong where it has another sign than both of its terms.
    wrong = ((left ^ found) & (other ^ found)) < 0
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise IntegerOverflow(f"{left[at]} {operator} {right[at]} is beyond 64 bits")
    return found, None


def _product(left: Ints, right: Ints) -> Ints:
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
