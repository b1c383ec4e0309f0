"""Durations: (months, seconds) under a partial order.

Two durations are compared by adding each to four reference instants: one is below the other if
it is so all four times, equal if it is equal all four times, otherwise they are incomparable.
For a fixed number of months a facet therefore leaves an interval of seconds, and beyond some
number of months every bound is decided; that makes counting exact. Source: XSD 1.1 part 2, 3.3.6
and E.3.3. (P400Y and P146097D are equal by that definition and not identical.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from shiq.datatypes.calendars import DAY, days_before
from shiq.datatypes.intervals import (
    ALL,
    NONE,
    Intervals,
    above,
    at_least,
    at_most,
    below,
    is_point,
    just,
)

#: (months, seconds), both of one sign.
Duration: TypeAlias = tuple[int, int | Fraction]

_REFERENCES: Final = ((1696, 9), (1697, 2), (1903, 3), (1903, 7))
#: Bounds that reach further than this many months make counting too long.
_FARTHEST: Final = 50_000


@lru_cache(maxsize=200_000)
def _reach(months: int) -> tuple[int, ...]:
    """How many seconds ``months`` take from each reference instant."""
    return tuple(
        (days_before(y, m + months, 1) - days_before(y, m, 1)) * DAY for y, m in _REFERENCES
    )


@dataclass(frozen=True, slots=True)
class DurationBound:
    """A min/max facet."""

    facet: str
    months: int
    seconds: int | Fraction

    def section(self, months: int) -> Intervals:
        """The seconds that leave (months, seconds) inside the bound."""
        gaps = [b - a + self.seconds for a, b in zip(_reach(months), _reach(self.months))]
        low, high = min(gaps), max(gaps)
        strict = above(high) if self.facet.startswith("min") else below(low)
        if self.facet.endswith("Inclusive") and low == high:
            return at_least(low) if self.facet.startswith("min") else at_most(low)
        return strict

    @property
    def horizon(self) -> int:
        """Beyond this many months, either way, every duration is on one side of the bound."""
        return abs(self.months) + math.ceil(abs(Fraction(self.seconds)) / (28 * DAY)) + 24


@dataclass(frozen=True, slots=True)
class Only:
    """The subtypes: ``months`` for xsd:yearMonthDuration (no seconds), ``seconds`` for
    xsd:dayTimeDuration (no months).
    """

    kind: str

    def section(self, months: int) -> Intervals:
        if self.kind == "months":
            return just(0)
        return ALL if months == 0 else NONE

    @property
    def horizon(self) -> int:
        return 1


Condition: TypeAlias = DurationBound | Only


@dataclass(frozen=True, slots=True)
class DurationSet:
    """A union of conjunctions; each conjunct a condition and whether it holds."""

    branches: frozenset[frozenset[tuple[Condition, bool]]]

    def meet(self, other: DurationSet) -> DurationSet:
        merged = (a | b for a in self.branches for b in other.branches)
        return DurationSet(frozenset(c for c in merged if not any((k, not v) in c for k, v in c)))

    def complement(self) -> DurationSet:
        result = ALL_DURATIONS
        for branch in self.branches:
            result = result.meet(
                DurationSet(frozenset(frozenset([(c, not holds)]) for c, holds in branch))
            )
        return result

    def section(self, months: int) -> Intervals:
        """The seconds s with (months, s) in the set."""
        outside = ALL
        for branch in self.branches:
            inside = _signed(months)
            for condition, holds in branch:
                part = condition.section(months)
                inside = inside.meet(part if holds else part.complement())
            outside = outside.meet(inside.complement())
        return outside.complement()

    def has(self, key: Duration) -> bool:
        return self.section(key[0]).has(key[1])

    def count(self, limit: float) -> float | None:
        farthest = max((c.horizon for branch in self.branches for c, _ in branch), default=0) + 1
        if any(self.section(months).segments() for months in (-farthest, farthest)):
            return limit
        if farthest > _FARTHEST:
            return None
        total: float = 0
        for months in range(-farthest + 1, farthest):
            for segment in self.section(months).segments():
                total += 1 if is_point(segment) else math.inf
            if total >= limit:
                return limit
        return total


def _signed(months: int) -> Intervals:
    return ALL if months == 0 else at_least(0) if months > 0 else at_most(0)


ALL_DURATIONS: Final = DurationSet(frozenset([frozenset()]))


def durations_only(kind: str) -> DurationSet:
    return DurationSet(frozenset([frozenset([(Only(kind), True)])]))


def durations_bounded(facet: str, bound: Duration) -> DurationSet:
    return DurationSet(frozenset([frozenset([(DurationBound(facet, *bound), True)])]))
