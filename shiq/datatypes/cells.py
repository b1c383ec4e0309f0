"""The value space split into the cells that some data ranges generate.

Values that a question names (in enumerations or assertions) are taken out first and stand for
themselves. What is left is split, space by space, by the value sets that occur; the values of
one cell then lie in the same ranges and are interchangeable, so that only their number matters.
All spaces in which nothing occurs, and the values beyond all known datatypes, make up one
infinite cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from shiq.datatypes.datatype_map import SPACES
from shiq.datatypes.ranges import KnownRange
from shiq.datatypes.values import DataValue, ValueSet, WholeOrNothing

#: Of a space that is no one's but an unknown datatype's.
EVERY_FORM = WholeOrNothing(True)

#: More pieces than this in one space are not looked at.
MOST_PIECES = 512


class TooManyError(Exception):
    """The question is too large to be decided here."""


@dataclass(frozen=True, eq=False)
class Cell:
    """``inside``: the value sets that hold the cell (it is disjoint from the others); ``values``
    None: the rest of the domain.
    """

    inside: frozenset[KnownRange]
    space: str = ""
    values: ValueSet | None = None
    _counts: dict[float, float | None] = field(default_factory=dict, repr=False)

    def count(self, limit: float, named: Iterable[DataValue] = ()) -> float | None:
        """min(number of values, limit), those of ``named`` that lie here left out; None if
        undecided.
        """
        if self.values is None:
            return limit
        here = 0
        for value in named:
            if value.space == self.space:
                member = self.values.has(value.key)
                if member is None:
                    return None
                here += member
        found = self._count(self.values, limit + here)
        return None if found is None else max(0, found - here)

    def _count(self, values: ValueSet, limit: float) -> float | None:
        if limit not in self._counts:
            self._counts[limit] = values.count(limit)
        return self._counts[limit]


def cells_of(sets: Iterable[KnownRange]) -> list[Cell]:
    """The cells that ``sets`` generate; some may turn out empty where counting is undecided."""
    by_space: dict[str, list[KnownRange]] = {}
    for known in dict.fromkeys(sets):
        by_space.setdefault(known.space, []).append(known)
    cells = [Cell(frozenset())]
    for space, members in by_space.items():
        pieces: list[tuple[frozenset[KnownRange], ValueSet]] = [
            (frozenset(), SPACES.get(space, EVERY_FORM))
        ]
        for known in members:
            split = []
            for inside, values in pieces:
                for part, label in (
                    (values.meet(known.values), inside | {known}),
                    (values.meet(known.values.complement()), inside),
                ):
                    if part.count(1) != 0:
                        split.append((label, part))
            pieces = split
            if len(pieces) > MOST_PIECES:
                raise TooManyError
        cells += [Cell(inside, space, values) for inside, values in pieces]
    return cells
