"""Sliding windows of the rule engine: count at how many time points of a window each row was true.

A `WindowCounter` of a window D counts, for each row of a relation, the past points n - d (d in D, d
≥ 1) that contain it. When n grows, the rows of points that enter an interval of D are added. Rows
of points that leave it are subtracted. So the cost depends on arrivals and departures and not on
the length of D.

A `WindowView` holds the rows for which a streaming literal is true: m ≥ c, m = N or m = c. It
stores them as a mask and reports the rows that became true or false at this point. Source:
docs/RULES.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from shiq.columns.arrays import Ints
from shiq.streams.rules.relations import NO_ROWS, Flags, Relation, empty_rows
from shiq.streams.rules.syntax import ALWAYS, AT_LEAST, COUNT, Window

CURRENT_POINT: Final = Window(((0, 0),), "now")


@dataclass
class History:
    """Past rows of one predicate by time point, as far as some window still reaches; time points
    without rows are left out.
    """

    horizon: int
    points: list[int] = field(default_factory=list)
    rows: list[Ints] = field(default_factory=list)

    def add_point(self, point: int, rows: Ints) -> None:
        """Store the rows of the time point ``point``, which is later than all stored ones."""
        if len(rows) and self.horizon:
            self.points.append(point)
            self.rows.append(rows)

    def drop_unobserved(self, point: int) -> None:
        """Drop the time points that no window reaches any more after ``point``."""
        gone = bisect_right(self.points, point - self.horizon - 1)
        del self.points[:gone], self.rows[:gone]

    def rows_between(self, after: int, until: int) -> list[Ints]:
        """Rows of each stored time point after ``after`` and up to ``until``."""
        return self.rows[bisect_right(self.points, after) : bisect_right(self.points, until)]


@dataclass(eq=False)
class WindowCounter:
    """Counter of the time points in a sliding window at which each row of a relation is true.

    changed_rows: rows whose past count changed at this point.
    """

    relation: Relation
    window: Window
    counts_whole_window: bool
    changed_rows: Ints = field(default_factory=empty_rows)
    #: How many points are observed, and whether that changed with this one.
    observed_points: int = 0
    is_longer: bool = False
    is_refilled: bool = False

    def __post_init__(self) -> None:
        self.is_now = 0 in self.window
        self.past_intervals = tuple(
            (max(low, 1), high) for low, high in self.window.intervals if high
        )
        self.name = ("past", self.window.intervals)
        self.relation.add_row_array(self.name, np.int64)

    def move_window(self, history: History, before: int, point: int) -> None:
        """Move the window from the time point ``before`` (-1: none) to ``point``, and update the
        counts.
        """
        came: list[Ints] = []
        went: list[Ints] = []
        for low, high in self.past_intervals:
            came += history.rows_between(before - low, point - low)
            went += history.rows_between(before - high - 1, point - high - 1)
        self.changed_rows = self._update_counts(came, went)
        if self.is_refilled:
            self.changed_rows, self.is_refilled = np.arange(self.relation.size), False
        longer = (
            self.window.size
            if self.counts_whole_window
            else sum(
                min(high, point) - low + 1 for low, high in self.window.intervals if low <= point
            )
        )
        self.is_longer, self.observed_points = longer != self.observed_points, longer

    def count_from_history(self, history: History, point: int) -> None:
        """Count all rows from scratch, after the engine's `restore`; views are updated at the next
        time point.
        """
        past = self.relation.row_arrays[self.name]
        for low, high in self.past_intervals:
            for rows in history.rows_between(point - high - 1, point - low):
                past[rows] += 1
        self.is_refilled = True

    def _update_counts(self, arrived: list[Ints], departed: list[Ints]) -> Ints:
        """Add the rows of time points that enter the window, subtract those of points that leave
        it; return the rows whose count changed.
        """
        if not arrived and not departed:
            return NO_ROWS
        if len(arrived) == len(departed) == 1 and arrived[0] is departed[0]:
            return NO_ROWS
        past = self.relation.row_arrays[self.name]
        touched = self.relation.distinct_row_numbers(np.concatenate([*arrived, *departed]))
        old = past[touched]
        for rows in arrived:
            past[rows] += 1
        for rows in departed:
            past[rows] -= 1
        return touched[past[touched] != old]

    def point_counts(self, rows: Ints) -> Ints:
        """Number of time points in the window at which each of ``rows`` is true."""
        past: Ints = self.relation.row_arrays[self.name][rows]
        if self.is_now:
            past = past + self.relation.row_arrays["holds"][rows]
        return past

    def all_point_counts(self) -> Ints:
        """Number of time points in the window at which each row of the relation is true."""
        return self.point_counts(np.arange(self.relation.size))


#: Which rows a view has, by their counts m and the number N of observed points.
CountTest = Callable[[Ints, int], Flags]


def make_count_test(operator: str, count: int) -> CountTest:
    """Make the test of a counting operator. It gets the numbers m of time points at which rows are
    true, and the number N of observed ones.
    """
    if operator == AT_LEAST:
        return lambda m, observed: m >= count
    if operator == ALWAYS:
        return lambda m, observed: (m == observed) & (m > 0)
    if operator == COUNT:
        return lambda m, observed: m == count
    return lambda m, observed: (m > 0) & (m <= count)


@dataclass(eq=False)
class WindowView:
    """Rows of a relation for which a streaming literal is true at the current time point, updated
    by changes.

    gained_rows, lost_rows: rows that became true or false at this point.
    keeps_counts: whether rules use m itself. Then a row with a changed count is both lost and
    gained, and its former m is stored.
    """

    counter: WindowCounter
    operator: str
    count: int
    keeps_counts: bool = False
    gained_rows: Ints = field(default_factory=empty_rows)
    lost_rows: Ints = field(default_factory=empty_rows)

    def __post_init__(self) -> None:
        self.relation = self.counter.relation
        self.test = make_count_test(self.operator, self.count)
        #: This point alone, which is what holds.
        self.is_current_point = (
            self.counter.is_now
            and not self.counter.past_intervals
            and self.operator == AT_LEAST
            and self.count == 1
        )
        self.is_current_point &= not self.keeps_counts
        self.name = (
            "holds"
            if self.is_current_point
            else ("view", self.counter.name, self.operator, self.count, self.keeps_counts)
        )
        self.changed_array = ("moved", self.name)
        self.relation.add_row_array(self.name, np.bool_)
        self.relation.add_row_array(self.changed_array, np.bool_)
        if self.keeps_counts:
            self.relation.add_row_array(("was", self.name), np.int64)

    @property
    def is_changed(self) -> bool:
        """Whether rows were gained or lost at this time point."""
        return bool(len(self.gained_rows) or len(self.lost_rows))

    def previous_counts(self, rows: Ints) -> Ints:
        """Window count of each of ``rows`` at the previous time point; stored only if
        ``keeps_counts``.
        """
        return self.relation.row_arrays["was", self.name][rows]

    def truth_flags(self) -> Flags:
        """Flag of each row of the relation: whether the literal is true for it."""
        return self.relation.row_arrays[self.name]

    @property
    def is_true_for_all_rows(self) -> bool:
        """Whether the literal is known to be true for all rows of the relation, as for facts;
        always False for literals with a window over the past.
        """
        return self.is_current_point and len(self.relation.held_rows) == self.relation.size

    def true_rows(self) -> Ints:
        """Row numbers for which the literal is true."""
        if self.is_current_point:
            return self.relation.held_rows
        return np.flatnonzero(self.truth_flags()[: self.relation.size])

    def previously_true_rows(self) -> Ints:
        """Row numbers for which the literal was true at the previous time point."""
        rows = self.true_rows()
        if not len(self.gained_rows) and not len(self.lost_rows):
            return rows
        return np.concatenate(
            [rows[~self.relation.row_arrays[self.changed_array][rows]], self.lost_rows]
        )

    def flag_previously_true(self, rows: Ints) -> Flags:
        """Flag those of ``rows`` for which the literal was true at the previous time point."""
        if self.keeps_counts:
            return self.previous_counts(rows) > 0
        found: Flags = self.truth_flags()[rows]
        return (
            found ^ self.relation.row_arrays[self.changed_array][rows]
            if len(self.gained_rows) or len(self.lost_rows)
            else found
        )

    def clear_changes(self) -> None:
        """Forget the gained and lost rows of the last time point."""
        if self.is_changed:
            moved = self.relation.row_arrays[self.changed_array]
            for rows in (self.gained_rows, self.lost_rows):
                moved[rows] = False
                if self.keeps_counts:
                    self.relation.row_arrays["was", self.name][rows] = self.counter.point_counts(
                        rows
                    )
            self.gained_rows = self.lost_rows = NO_ROWS

    def retest_rows(self, changed: Ints) -> None:
        """Test the literal again for the rows ``changed``, whose counts changed, and record gains
        and losses. "always" is tested for all rows if the number of observed time points changed.
        """
        if self.is_current_point:
            self._set_changes(self.relation.gained_rows, self.relation.lost_rows)
            return
        if self.counter.is_longer and self.operator == ALWAYS:
            changed = np.arange(self.relation.size)
        if not len(changed):
            return
        mask, m = self.truth_flags(), self.counter.point_counts(changed)
        new, old = self.test(m, self.counter.observed_points), mask[changed]
        mask[changed] = new
        if self.keeps_counts:
            other = m != (before := self.previous_counts(changed))
            self._set_changes(changed[new & other], changed[(before > 0) & other])
        else:
            self._set_changes(changed[new & ~old], changed[old & ~new])

    def retest_all_rows(self) -> None:
        """Test the literal for all rows, before a fixpoint is computed from scratch."""
        if not self.is_current_point:
            self.truth_flags()[: self.relation.size] = self.test(
                self.counter.all_point_counts(), self.counter.observed_points
            )

    def add_new_rows(self, rows: Ints) -> Ints:
        """Test the literal for rows that became true within a fixpoint; return those for which the
        literal becomes true.
        """
        if not self.counter.is_now:
            return NO_ROWS
        if self.is_current_point:
            return rows
        mask = self.truth_flags()
        new = self.test(self.counter.point_counts(rows), self.counter.observed_points)
        found = rows[new] if self.keeps_counts else rows[new & ~mask[rows]]
        mask[rows] = new
        return found

    def record_fixpoint_changes(self, before: Flags) -> None:
        """Record the rows gained and lost by a fixpoint. ``before``: the flags of true rows before
        it.
        """
        if self.keeps_counts:
            self.retest_rows(np.arange(self.relation.size))
            return
        now = self.truth_flags()[: self.relation.size]
        if len(before) < len(now):
            before = np.concatenate([before, np.zeros(len(now) - len(before), np.bool_)])
        self._set_changes(np.flatnonzero(now & ~before), np.flatnonzero(before & ~now))

    def _set_changes(self, gained: Ints, lost: Ints) -> None:
        """Record the rows that were gained (``gained``) and lost (``lost``) at this time point."""
        self.gained_rows, self.lost_rows = gained, lost
        moved = self.relation.row_arrays[self.changed_array]
        moved[gained] = moved[lost] = True
