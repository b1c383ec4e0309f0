"""The calendar datatypes: where their values lie on the time line, and how many there are
between two instants.

A value is a local position and a time zone offset in minutes, or no offset. Positions are
seconds from 0001-01-01T00:00:00 of the proleptic Gregorian calendar (with a year 0, as XSD 1.1
has it). Values with the same instant but different offsets are equal and not identical; values
with and without offset are ordered only if they are so for every offset from -14:00 to +14:00.
Source: OWL 2 structural specification, 4.7; XSD 1.1 part 2, 3.3.7 to 3.3.15, D.2.1 and E.3.4
(timeOnTimeline).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from shiq.datatypes.intervals import ALL, NONE, Cut, Intervals, Segment, above, below, is_point
from shiq.datatypes.reals import bounded

DAY: Final = 86_400
#: The offset that the spread of "no time zone" reaches in either direction, in seconds, and in
#: minutes.
SPREAD: Final = 14 * 3600
OFFSETS: Final = range(-840, 841)

#: (position or index, offset in minutes or None): the key of a calendar value.
Moment: TypeAlias = tuple[Fraction | int, int | None]


def days_before(year: int, month: int, day: int) -> int:
    """Days from 0001-01-01 to a date of the proleptic Gregorian calendar; months beyond 12 or
    below 1 carry over.
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
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


_MONTH_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_TO_MONTH: Final = tuple(sum(_MONTH_LENGTHS[:m]) for m in range(12))


def days_in_month(year: int, month: int) -> int:
    return _MONTH_LENGTHS[month - 1] + (month == 2 and is_leap(year))


@dataclass(frozen=True)
class Calendar:
    """One calendar datatype. ``place``: the position of the value with a given index,
    increasing; None where the key is the position itself and positions are dense.
    ``first``/``last``: the least and greatest index (or position), if any; ``pace``: mean
    seconds from one index to the next.
    """

    name: str
    place: Callable[[int], int] | None = None
    first: int | None = None
    last: int | None = None
    pace: Fraction = Fraction(DAY)

    def position(self, key: Fraction | int) -> Fraction | int:
        return key if self.place is None else self.place(int(key))

    def instant(self, moment: Moment) -> Fraction | int:
        """The position of the value, in UTC if it has an offset."""
        key, offset = moment
        return self.position(key) - 60 * (offset or 0)

    def last_index(self, high: Cut | None) -> float:
        """The greatest index whose position lies below a cut; inf if there is none."""
        if high is None:
            return math.inf if self.last is None else self.last
        assert self.place is not None
        bound, inclusive = high
        index = math.floor((bound - self.place(0)) / self.pace)
        while self._below(index + 1, bound, inclusive):
            index += 1
        while not self._below(index, bound, inclusive):
            index -= 1
        return index if self.last is None else min(index, self.last)

    def _below(self, index: int, bound: Fraction | int, inclusive: int) -> bool:
        assert self.place is not None
        position = self.place(index)
        return position < bound or bool(inclusive and position == bound)

    def count_between(self, segment: Segment, shift: int) -> float:
        """How many indexes have position - ``shift`` in a segment."""
        low, high = segment
        if low is None:
            before = -math.inf if self.first is None else self.first - 1
        else:
            before = self.last_index((low[0] + shift, low[1]))
            if self.first is not None:
                before = max(before, self.first - 1)
        until = self.last_index(None if high is None else (high[0] + shift, high[1]))
        return max(0, until - before)


def _place_year(index: int) -> int:
    return days_before(index, 12, 31) * DAY


def _place_month(index: int) -> int:
    year, month = divmod(index, 12)
    return (days_before(year, month + 2, 1) - 1) * DAY


def _place_recurring_day(index: int) -> int:
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
        Calendar("gYear", _place_year, pace=_MONTH_PACE * 12),
        Calendar("gYearMonth", _place_month, pace=_MONTH_PACE),
        Calendar("gMonth", lambda month: _place_month(1972 * 12 + month), 0, 11, _MONTH_PACE),
        Calendar("gMonthDay", _place_recurring_day, 0, 365),
        Calendar("gDay", lambda day: days_before(1972, 12, 1 + day) * DAY, 0, 30),
    )
}


@dataclass(frozen=True, slots=True)
class MomentSet:
    """Values of one calendar type: ``local`` positions of those without offset, ``zoned``
    instants of those with one.
    """

    calendar: Calendar
    local: Intervals
    zoned: Intervals

    def meet(self, other: MomentSet) -> MomentSet:
        return MomentSet(self.calendar, self.local.meet(other.local), self.zoned.meet(other.zoned))

    def complement(self) -> MomentSet:
        return MomentSet(self.calendar, self.local.complement(), self.zoned.complement())

    def has(self, key: Moment) -> bool:
        return (self.local if key[1] is None else self.zoned).has(self.calendar.instant(key))

    def count(self, limit: float) -> float:
        count = _count_dense if self.calendar.place is None else _count_discrete
        total: float = 0
        for segment in self.local.segments():
            total += count(self.calendar, segment, None, limit)
        for segment in self.zoned.segments():
            if total >= limit:
                break
            total += count(self.calendar, segment, OFFSETS, limit)
        return min(total, limit)


def _count_discrete(
    calendar: Calendar, segment: Segment, offsets: range | None, limit: float
) -> float:
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
    shifts = offsets or (0,)
    if is_point(segment):
        assert segment[0] is not None
        point = segment[0][0]
        return sum(_in_domain(calendar, point + 60 * offset) for offset in shifts)
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


def _in_domain(calendar: Calendar, position: Fraction | int) -> bool:
    if calendar.first is None or calendar.last is None:
        return True
    return calendar.first <= position < calendar.last


def all_moments(calendar: Calendar) -> MomentSet:
    return MomentSet(calendar, ALL, ALL)


def zoned_moments(calendar: Calendar) -> MomentSet:
    """xsd:dateTimeStamp: a time zone offset is required."""
    return MomentSet(calendar, NONE, ALL)


def moments_bounded(calendar: Calendar, facet: str, bound: Moment) -> MomentSet:
    """The values that are comparable with ``bound`` and satisfy the min/max facet."""
    instant = calendar.instant(bound)
    same_kind = bounded(facet, instant, instant)
    other_kind = above(instant + SPREAD) if facet.startswith("min") else below(instant - SPREAD)
    return MomentSet(
        calendar, *((same_kind, other_kind) if bound[1] is None else (other_kind, same_kind))
    )
