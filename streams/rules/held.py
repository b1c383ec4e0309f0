"""The model of a point, as an engine in columns gives it: rows and columns are made when they
are asked for.

It stays as it is while the engine goes on: it holds on to arrays that nobody writes to, and to
entries of growing ones that keep their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import Ints, distinct
from streams.rules.dictionary import FIRST, decoded
from streams.rules.values import Row, Value, atom_text


@dataclass(frozen=True)
class HeldRows:
    """The rows that hold of a predicate, and those that rules with a body derive; ``made`` and
    ``said`` have rows and texts that were once asked for."""

    arity: int
    columns: Sequence[Ints]
    values: Sequence[Value | None]
    made: npt.NDArray[np.object_]
    said: npt.NDArray[np.object_]
    held: Ints
    derived: Ints
    told: dict[bool, list[str]] = field(default_factory=dict)

    @cached_property
    def all_rows(self) -> list[Row]:
        return self._rows(self.held)

    @cached_property
    def derived_rows(self) -> list[Row]:
        return self.all_rows if self.derived is self.held else self._rows(self.derived)

    def _rows(self, numbers: Ints) -> list[Row]:
        if not self.arity:
            return [()] * len(numbers)
        found = self.made[numbers]
        new = np.flatnonzero(found == 0)
        if len(new):
            rows = np.empty(len(new), object)
            rows[:] = list(
                zip(*(decoded(self.values, column[numbers[new]]) for column in self.columns))
            )
            self.made[numbers[new]] = found[new] = rows
        return found.tolist()  # type: ignore[no-any-return]

    def texts(self, name: str, derived: bool) -> list[str]:
        """The atoms as texts."""
        if derived not in self.told:
            numbers = self.derived if derived else self.held
            found = self.said[numbers]
            new = np.flatnonzero(found == 0)
            if len(new):
                self.said[numbers[new]] = found[new] = [
                    atom_text(name, row) for row in self._rows(numbers[new])
                ]
            self.told[derived] = found.tolist()
        return self.told[derived]

    def columns_of(self, numbers: Ints) -> tuple[Any, ...]:
        return tuple(self._column(column[numbers]) for column in self.columns) if self.arity else ()

    def _column(self, codes: Ints) -> Any:
        if not len(codes) or int(codes.max()) < FIRST:
            return codes
        numbers, inverse, _ = distinct(codes)
        found = np.empty(len(numbers), object)
        found[:] = decoded(self.values, numbers)
        return found[inverse]


@dataclass(frozen=True)
class ColumnModel:
    """The model of the point ``t`` (`syntax.PointModel`)."""

    t: int
    held: Mapping[str, HeldRows] = field(repr=False)

    def predicates(self) -> Iterable[str]:
        """Those that hold for something."""
        return [name for name, held in self.held.items() if len(held.held)]

    def rows(self, predicate: str, derived: bool = False) -> Sequence[Row]:
        """The rows of a predicate, each once; with ``derived`` only heads of rules with a body."""
        found = self.held.get(predicate)
        return () if found is None else found.derived_rows if derived else found.all_rows

    def texts(self, predicate: str, derived: bool = False) -> Sequence[str]:
        """The atoms of a predicate as texts."""
        found = self.held.get(predicate)
        return () if found is None else found.texts(predicate.rpartition("/")[0], derived)

    def columns(self, predicate: str, derived: bool = False) -> tuple[Any, ...]:
        """The same as arrays, one an argument: int64 where all are integers, else of constants."""
        found = self.held.get(predicate)
        if found is None:
            return (np.zeros(0, np.int64),) * int(predicate.rpartition("/")[2])
        return found.columns_of(found.derived if derived else found.held)
