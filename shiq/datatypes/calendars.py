"""The calendar datatypes: positions of values on the time line, and counts between two instants.

A value is a local position and a time zone offset in minutes, or none. Positions are seconds from
0001-01-01T00:00:00 of the proleptic Gregorian calendar, with a year 0 as in XSD 1.1. Values with
the same instant but different offsets are equal, but not identical. A value with and one without
offset are ordered only if every offset from -14:00 to +14:00 gives the same order. Source: OWL 2
structural specification, 4.7; XSD 1.1 part 2, 3.3.7 to 3.3.15, D.2.1 and E.3.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from shiq.datatypes.intervals import (
    ALL,
    NONE,
    Cut,
    Intervals,
    Segment,
    at_least,
    at_most,
    greater_than,
    is_point,
    less_than,
    single_point,
)
from shiq.datatypes.reals import bound_interval

DAY: Final = 86_400
#: The offset that the spread of "no time zone" reaches in either direction, in seconds, and in
#: minutes.
SPREAD: Final = 14 * 3600
OFFSETS: Final = range(-840, 841)

#: (position or index, offset in minutes or None): the key of a calendar value.
Moment: TypeAlias = tuple[Fraction | int, int | None]


def days_before(year: int, month: int, day: int) -> int:
    """Return the days from 0001-01-01 to a date of the proleptic Gregorian calendar.

    Months beyond 12 or below 1 carry over to other years.
    """
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    before = year - 1
    leap = month > 2 and is_leap(year)
    return (
        before * 365
        + before // 4
        - before // 100
        + before // 400
        + _DAYS_TO_MONTH[month - 1]
        + leap
        + day
        - 1
    )


def is_leap(year: int) -> bool:
    """Decide whether the year has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


_MONTH_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_TO_MONTH: Final = tuple(sum(_MONTH_LENGTHS[:m]) for m in range(12))


def days_in_month(year: int, month: int) -> int:
    """Return the number of days of a month of the proleptic Gregorian calendar."""
    return _MONTH_LENGTHS[month - 1] + (month == 2 and is_leap(year))


@dataclass(frozen=True)
class Calendar:
    """One calendar datatype, such as xsd:date: how its values map to seconds on the time line.

    place: index → position in seconds, increasing. None if positions are dense; the key of a value
        is
        then its position.
    first, last: least and greatest index (or position), if bounded.
    pace: mean seconds between two indexes.
    """

    name: str
    place: Callable[[int], int] | None = None
    first: int | None = None
    last: int | None = None
    pace: Fraction = Fraction(DAY)

    def local_seconds(self, key: Fraction | int) -> Fraction | int:
        """Convert the first part of a value's key to seconds on the local time line, without time
        zone.
        """
        return key if self.place is None else self.place(int(key))

    def instant(self, moment: Moment) -> Fraction | int:
        """Convert a value to seconds on the time line: in UTC if it has a time zone offset, else in
        local time.
        """
        key, offset = moment
        return self.local_seconds(key) - 60 * (offset or 0)

    def last_index(self, high: Cut | None) -> float:
        """Return the greatest index (day, month or year number) whose position lies below the cut
        `high`; inf if there is none.
        """
        if high is None:
            return math.inf if self.last is None else self.last
        assert self.place is not None
        bound, inclusive = high
        index = math.floor((bound - self.place(0)) / self.pace)
        while self._is_index_below(index + 1, bound, inclusive):
            index += 1
        while not self._is_index_below(index, bound, inclusive):
            index -= 1
        return index if self.last is None else min(index, self.last)

    def _is_index_below(self, index: int, bound: Fraction | int, inclusive: int) -> bool:
        """Decide whether the position of the index, in seconds, is less than `bound`, or equal to
        an inclusive one.
        """
        assert self.place is not None
        position = self.place(index)
        return position < bound or bool(inclusive and position == bound)

    def count_between(self, segment: Segment, shift: int) -> float:
        """Count the indexes (days, months or years) whose position minus `shift` seconds lies in
        the interval `segment`.
        """
        low, high = segment
        if low is None:
            before = -math.inf if self.first is None else self.first - 1
        else:
            before = self.last_index((low[0] + shift, low[1]))
            if self.first is not None:
                before = max(before, self.first - 1)
        until = self.last_index(None if high is None else (high[0] + shift, high[1]))
        return max(0, until - before)


def _year_position(index: int) -> int:
    """Return the seconds from 0001-01-01 to the last day of the year `index`, which stands for the
    year.
    """
    return days_before(index, 12, 31) * DAY


def _month_position(index: int) -> int:
    """Return the seconds from 0001-01-01 to the last day of a month (12 · year + month - 1), which
    stands for it.
    """
    year, month = divmod(index, 12)
    return (days_before(year, month + 2, 1) - 1) * DAY


def _recurring_day_position(index: int) -> int:
    """Return the seconds from 0001-01-01 to day `index` of the reference year 1972, for
    xsd:gMonthDay.
    """
    return days_before(1972, 1, 1 + index) * DAY


# The fields that a value lacks are filled in as timeOnTimeline does: 1972, December, the last day
# of the month.
_MONTH_PACE: Final = Fraction(146_097 * DAY, 4800)
CALENDARS: Final[dict[str, Calendar]] = {
    calendar.name: calendar
    for calendar in (
        Calendar("dateTime"),
        Calendar("time", first=0, last=DAY),
        Calendar("date", lambda day: day * DAY),
        Calendar("gYear", _year_position, pace=_MONTH_PACE * 12),
        Calendar("gYearMonth", _month_position, pace=_MONTH_PACE),
        Calendar("gMonth", lambda month: _month_position(1972 * 12 + month), 0, 11, _MONTH_PACE),
        Calendar("gMonthDay", _recurring_day_position, 0, 365),
        Calendar("gDay", lambda day: days_before(1972, 12, 1 + day) * DAY, 0, 30),
    )
}


@dataclass(frozen=True, slots=True)
class MomentSet:
    """A set of values of one calendar datatype.

    local: positions of the values without offset.
    zoned_instants: instants of those with one.
    """

    calendar: Calendar
    local: Intervals
    zoned_instants: Intervals

    def meet(self, other: MomentSet) -> MomentSet:
        """Return the intersection."""
        return MomentSet(
            self.calendar,
            self.local.meet(other.local),
            self.zoned_instants.meet(other.zoned_instants),
        )

    def complement(self) -> MomentSet:
        """Return the complement within the calendar type."""
        return MomentSet(self.calendar, self.local.complement(), self.zoned_instants.complement())

    def has(self, key: Moment) -> bool:
        """Decide whether the value with this key is in the set."""
        return (self.local if key[1] is None else self.zoned_instants).has(
            self.calendar.instant(key)
        )

    def count(self, limit: float) -> float:
        """Return min(number of values, limit)."""
        count = _count_dense if self.calendar.place is None else _count_discrete
        total: float = 0
        for segment in self.local.segments():
            total += count(self.calendar, segment, None, limit)
        for segment in self.zoned_instants.segments():
            if total >= limit:
                break
            total += count(self.calendar, segment, OFFSETS, limit)
        return min(total, limit)


def _count_discrete(
    calendar: Calendar, segment: Segment, offsets: range | None, limit: float
) -> float:
    """Count the values of a calendar of days, months or years in an interval, for all `offsets`;
    may stop at `limit`.
    """
    if offsets is None:
        return calendar.count_between(segment, 0)
    total: float = 0
    for offset in offsets:
        total += calendar.count_between(segment, 60 * offset)
        if total >= limit:
            break
    return total


def _count_dense(
    calendar: Calendar, segment: Segment, offsets: range | None, limit: float
) -> float:
    """Count the values of xsd:dateTime or xsd:time in an interval: infinitely many, unless it is a
    single point.
    """
    shifts = offsets or (0,)
    if is_point(segment):
        assert segment[0] is not None
        point = segment[0][0]
        return sum(_is_in_domain(calendar, point + 60 * offset) for offset in shifts)
    low, high = segment
    if calendar.first is not None and calendar.last is not None:
        reach = SPREAD if offsets else 0
        if (low is not None and low[0] >= calendar.last + reach) or (
            high is not None and high[0] < calendar.first - reach
        ):
            return 0
        if high is not None and high[0] == calendar.first - reach:
            return high[1]
    return math.inf


def _is_in_domain(calendar: Calendar, position: Fraction | int) -> bool:
    """Decide whether a position in seconds lies within the bounds of the calendar, as a time of day
    must.
    """
    if calendar.first is None or calendar.last is None:
        return True
    return calendar.first <= position < calendar.last


def moments_in_bound(calendar: Calendar, facet: str, bound: Moment) -> MomentSet:
    """Return the set of the values that satisfy a min/max facet. Those not comparable with `bound`
    are outside.
    """
    instant = calendar.instant(bound)
    same_kind = bound_interval(facet, instant, instant)
    other_kind = (
        greater_than(instant + SPREAD) if facet.startswith("min") else less_than(instant - SPREAD)
    )
    return MomentSet(
        calendar, *((same_kind, other_kind) if bound[1] is None else (other_kind, same_kind))
    )


# Durations: pairs (months, seconds) under a partial order.
#
# Two durations are compared by adding each to four reference instants. One is below the other, or
# equal, if that holds all four times; otherwise they are incomparable. For a fixed number of months a
# facet leaves an interval of seconds. Beyond some number of months every bound is decided, so
# counting is exact. Source: XSD 1.1 part 2, 3.3.6 and E.3.3. (By that definition P400Y and P146097D
# are equal, but they are not identical.)


#: (months, seconds), both of one sign.
Duration: TypeAlias = tuple[int, int | Fraction]

_REFERENCES: Final = ((1696, 9), (1697, 2), (1903, 3), (1903, 7))
#: Bounds that reach further than this many months make counting too long.
_FARTHEST: Final = 50_000


@lru_cache(maxsize=200_000)
def _lengths_of_months(months: int) -> tuple[int, ...]:
    """Return the length of `months` months in seconds, counted from each of XSD's four reference
    instants.
    """
    return tuple(
        (days_before(y, m + months, 1) - days_before(y, m, 1)) * DAY for y, m in _REFERENCES
    )


@dataclass(frozen=True, slots=True)
class DurationBound:
    """A min/max facet on xsd:duration: facet name and bound (months, seconds)."""

    facet: str
    months: int
    seconds: int | Fraction

    def allowed_seconds(self, months: int) -> Intervals:
        """Return the seconds s for which the duration (months, s) satisfies this bound."""
        gaps = [
            b - a + self.seconds
            for a, b in zip(_lengths_of_months(months), _lengths_of_months(self.months))
        ]
        low, high = min(gaps), max(gaps)
        strict = greater_than(high) if self.facet.startswith("min") else less_than(low)
        if self.facet.endswith("Inclusive") and low == high:
            return at_least(low) if self.facet.startswith("min") else at_most(low)
        return strict

    @property
    def horizon(self) -> int:
        """Return a number of months m: all durations beyond m months satisfy the bound alike, and
        so do all below -m.
        """
        return abs(self.months) + math.ceil(abs(Fraction(self.seconds)) / (28 * DAY)) + 24


@dataclass(frozen=True, slots=True)
class SubtypeCondition:
    """The condition that a subtype puts on an xsd:duration: no seconds, or no months.

    kind: ``months`` for xsd:yearMonthDuration (no seconds), ``seconds`` for xsd:dayTimeDuration (no
        months).
    """

    kind: str

    def allowed_seconds(self, months: int) -> Intervals:
        """Return the seconds s for which the duration (months, s) satisfies this condition."""
        if self.kind == "months":
            return single_point(0)
        return ALL if months == 0 else NONE

    @property
    def horizon(self) -> int:
        """Return the number of months from which on the condition treats all durations alike."""
        return 1


Condition: TypeAlias = DurationBound | SubtypeCondition


@dataclass(frozen=True, slots=True)
class DurationSet:
    """A set of durations, as a union of conjunctions. A conjunct is a pair: a condition, and
    whether it must hold or fail.
    """

    branches: frozenset[frozenset[tuple[Condition, bool]]]

    def meet(self, other: DurationSet) -> DurationSet:
        """Return the intersection."""
        merged = (a | b for a in self.branches for b in other.branches)
        return DurationSet(frozenset(c for c in merged if not any((k, not v) in c for k, v in c)))

    def complement(self) -> DurationSet:
        """Return the complement."""
        result = ALL_DURATIONS
        for branch in self.branches:
            result = result.meet(
                DurationSet(frozenset(frozenset([(c, not holds)]) for c, holds in branch))
            )
        return result

    def allowed_seconds(self, months: int) -> Intervals:
        """Return the seconds s for which the duration (months, s) is in the set."""
        outside = ALL
        for branch in self.branches:
            inside = _seconds_with_sign_of(months)
            for condition, holds in branch:
                part = condition.allowed_seconds(months)
                inside = inside.meet(part if holds else part.complement())
            outside = outside.meet(inside.complement())
        return outside.complement()

    def has(self, key: Duration) -> bool:
        """Decide whether the duration with this key is in the set."""
        return self.allowed_seconds(key[0]).has(key[1])

    def count(self, limit: float) -> float | None:
        """Return min(number of durations, limit); None if undecided."""
        farthest = max((c.horizon for branch in self.branches for c, _ in branch), default=0) + 1
        if any(self.allowed_seconds(months).segments() for months in (-farthest, farthest)):
            return limit
        if farthest > _FARTHEST:
            return None
        total: float = 0
        for months in range(-farthest + 1, farthest):
            for segment in self.allowed_seconds(months).segments():
                total += 1 if is_point(segment) else math.inf
            if total >= limit:
                return limit
        return total


def _seconds_with_sign_of(months: int) -> Intervals:
    """Return the seconds that may go with `months`: a duration has one sign for both."""
    return ALL if months == 0 else at_least(0) if months > 0 else at_most(0)


ALL_DURATIONS: Final = DurationSet(frozenset([frozenset()]))


def durations_of_subtype(kind: str) -> DurationSet:
    """Return the set of the values of a subtype of xsd:duration; `kind` as in `SubtypeCondition`."""
    return DurationSet(frozenset([frozenset([(SubtypeCondition(kind), True)])]))


def durations_in_bound(facet: str, bound: Duration) -> DurationSet:
    """Return the set of the durations that satisfy a min/max facet."""
    return DurationSet(frozenset([frozenset([(DurationBound(facet, *bound), True)])]))
