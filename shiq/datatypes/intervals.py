"""Finite unions of intervals of a linear order.

A set is the list of *cuts* at which membership changes, read from -∞ upwards. A cut (v, 0) lies
just below v, and (v, 1) just above it. So open and closed ends need no case distinction, and every
Boolean operation is one merge.

>>> unit = at_least(0).meet(at_most(1))
>>> [unit.has(x) for x in (-1, 0, 1, 2)]
[False, True, True, False]
>>> unit.complement().segments()
[(None, (0, 0)), ((1, 1), None)]
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = int | Fraction
Cut: TypeAlias = tuple[Number, int]
#: An interval between two cuts; None for -∞ or +∞.
Segment: TypeAlias = tuple[Cut | None, Cut | None]


@dataclass(frozen=True, slots=True)
class Intervals:
    """A finite union of intervals of integers or rationals.

    start: whether it extends to -∞.
    cuts: where membership changes, increasing.
    """

    start: bool
    cuts: tuple[Cut, ...] = ()

    def has(self, point: Number) -> bool:
        """Decide whether `point` is in the set."""
        return self.start ^ bool(bisect_right(self.cuts, (point, 0)) % 2)

    def complement(self) -> Intervals:
        """Return the complement."""
        return Intervals(not self.start, self.cuts)

    def meet(self, other: Intervals) -> Intervals:
        """Return the intersection."""
        if not self.cuts:
            return other if self.start else self
        if not other.cuts:
            return self if other.start else other
        flips: dict[Cut, int] = {}
        for cut in self.cuts:
            flips[cut] = 1
        for cut in other.cuts:
            flips[cut] = flips.get(cut, 0) | 2
        state = self.start | other.start << 1
        inside = start = state == 3
        cuts = []
        for cut in sorted(flips):
            state ^= flips[cut]
            if (state == 3) != inside:
                inside = not inside
                cuts.append(cut)
        return Intervals(start, tuple(cuts))

    def segments(self) -> list[Segment]:
        """List the maximal intervals in ascending order, each as (lower cut, upper cut); None for
        an infinite end.
        """
        ends: list[Cut | None] = list(self.cuts)
        if self.start:
            ends.insert(0, None)
        if len(ends) % 2:
            ends.append(None)
        return list(zip(ends[::2], ends[1::2]))


ALL = Intervals(True)
NONE = Intervals(False)


def at_least(bound: Number) -> Intervals:
    """Return the interval [bound, ∞)."""
    return Intervals(False, ((bound, 0),))


def greater_than(bound: Number) -> Intervals:
    """Return the interval (bound, ∞)."""
    return Intervals(False, ((bound, 1),))


def at_most(bound: Number) -> Intervals:
    """Return the interval (-∞, bound]."""
    return Intervals(True, ((bound, 1),))


def less_than(bound: Number) -> Intervals:
    """Return the interval (-∞, bound)."""
    return Intervals(True, ((bound, 0),))


def single_point(point: Number) -> Intervals:
    """Return the set of a single point."""
    return Intervals(False, ((point, 0), (point, 1)))


def first_integer(low: Cut | None) -> float:
    """Return the least integer above the cut `low`, the lower end of an interval; -inf if it is
    None.
    """
    if low is None:
        return -math.inf
    value, side = low
    return math.floor(value) + 1 if side else math.ceil(value)


def last_integer(high: Cut | None) -> float:
    """Return the greatest integer below the cut `high`, the upper end of an interval; inf if it is
    None.
    """
    if high is None:
        return math.inf
    value, side = high
    return math.floor(value) if side else math.ceil(value) - 1


def is_point(segment: Segment) -> bool:
    """Decide whether the interval `segment` contains exactly one number."""
    low, high = segment
    return low is not None and high is not None and low[0] == high[0]
