"""Windows as counters: for each row, at how many of the points that a window observes it held,
changed by what enters and leaves.

A `WindowCounter` of a window D counts, for each row of a relation, the past points n - d, d in
D, d ≥ 1, that contain it. When n grows, rows of the points that enter one of D's intervals are
added and rows of those that leave are taken away, so the cost follows arrivals and departures
and not the length of D. A `WindowView` is what a streaming literal asks: the rows with m ≥ c, m
= N, m = c. It keeps them as a mask and tells which became true and false with this point.
Source: docs/RULES.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from shiq.columns.arrays import Ints
from shiq.streams.rules.relations import NONE, Flags, Relation, no_rows
from shiq.streams.rules.syntax import ALWAYS, AT_LEAST, COUNT, Window

NOW: Final = Window(((0, 0),), "now")


@dataclass
class History:
    """The rows that past points keep, for as long as some window asks for them; points without
    rows are left out.
    """

    horizon: int
    points: list[int] = field(default_factory=list)
    rows: list[Ints] = field(default_factory=list)

    def add_point(self, point: int, rows: Ints) -> None:
        """What ``point``, the latest, keeps."""
        if len(rows) and self.horizon:
            self.points.append(point)
            self.rows.append(rows)

    def drop_unobserved(self, point: int) -> None:
        """Drops what no point after ``point`` observes, nor sees leave."""
        gone = bisect_right(self.points, point - self.horizon - 1)
        del self.points[:gone], self.rows[:gone]

    def rows_between(self, after: int, to: int) -> list[Ints]:
        """What the points after ``after`` and up to ``to`` keep."""
        return self.rows[bisect_right(self.points, after) : bisect_right(self.points, to)]


@dataclass(eq=False)
class WindowCounter:
    """How often each row of a relation is observed. ``changed_rows``: rows whose past count changed
    with this point.
    """

    relation: Relation
    window: Window
    counts_whole_window: bool
    changed_rows: Ints = field(default_factory=no_rows)
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
        self.relation.add_array(self.name, np.int64)

    def advance(self, history: History, before: int, point: int) -> None:
        """From the point ``before`` (-1: none) to ``point``."""
        came: list[Ints] = []
        went: list[Ints] = []
        for low, high in self.past_intervals:
            came += history.rows_between(before - low, point - low)
            went += history.rows_between(before - high - 1, point - high - 1)
        self.changed_rows = self._shift(came, went)
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

    def refill(self, history: History, point: int) -> None:
        """Counts anew, as after ``point``; views learn of it at the next one."""
        past = self.relation.row_arrays[self.name]
        for low, high in self.past_intervals:
            for rows in history.rows_between(point - high - 1, point - low):
                past[rows] += 1
        self.is_refilled = True

    def _shift(self, came: list[Ints], went: list[Ints]) -> Ints:
        if not came and not went:
            return NONE
        if len(came) == len(went) == 1 and came[0] is went[0]:
            return NONE
        past = self.relation.row_arrays[self.name]
        touched = self.relation.distinct_numbers(np.concatenate([*came, *went]))
        old = past[touched]
        for rows in came:
            past[rows] += 1
        for rows in went:
            past[rows] -= 1
        changed: Ints = touched[past[touched] != old]
        return changed

    def counts(self, rows: Ints) -> Ints:
        """m of these rows."""
        past: Ints = self.relation.row_arrays[self.name][rows]
        if self.is_now:
            past = past + self.relation.row_arrays["holds"][rows]
        return past

    def all_counts(self) -> Ints:
        """m of all rows."""
        return self.counts(np.arange(self.relation.size))


#: Which rows a view has, by their counts m and the number N of observed points.
Test = Callable[[Ints, int], Flags]


def count_test(operator: str, count: int) -> Test:
    """The test of at least, always or count; `None` as an operator asks for m between 1 and
    ``count``.
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
    """The rows for which a streaming literal is true; ``gained_rows`` and ``lost_rows``: those that became
    true and false with this point.

    ``keeps_counts`` where rules ask for m itself: then a row whose count changed is among what went
    and what came, and the m that each row had before this point is kept.
    """

    counter: WindowCounter
    operator: str
    count: int
    keeps_counts: bool = False
    gained_rows: Ints = field(default_factory=no_rows)
    lost_rows: Ints = field(default_factory=no_rows)

    def __post_init__(self) -> None:
        self.relation = self.counter.relation
        self.test = count_test(self.operator, self.count)
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
        self.relation.add_array(self.name, np.bool_)
        self.relation.add_array(self.changed_array, np.bool_)
        if self.keeps_counts:
            self.relation.add_array(("was", self.name), np.int64)

    @property
    def is_changed(self) -> bool:
        return bool(len(self.gained_rows) or len(self.lost_rows))

    def counts_before(self, rows: Ints) -> Ints:
        """The m of rows before this point, where m is asked for."""
        return self.relation.row_arrays["was", self.name][rows]  # type: ignore[no-any-return]

    def mask(self) -> Flags:
        """Which rows it has."""
        return self.relation.row_arrays[self.name]  # type: ignore[no-any-return]

    @property
    def has_all_rows(self) -> bool:
        """Whether it has all rows, as those of facts do."""
        return self.is_current_point and len(self.relation.held_rows) == self.relation.size

    def rows(self) -> Ints:
        """The rows that it has."""
        if self.is_current_point:
            return self.relation.held_rows
        return np.flatnonzero(self.mask()[: self.relation.size])

    def rows_before(self) -> Ints:
        """The rows that it had before this point."""
        rows = self.rows()
        if not len(self.gained_rows) and not len(self.lost_rows):
            return rows
        return np.concatenate(
            [rows[~self.relation.row_arrays[self.changed_array][rows]], self.lost_rows]
        )

    def was_true(self, rows: Ints) -> Flags:
        """Which of ``rows`` it had before this point."""
        if self.keeps_counts:
            return self.counts_before(rows) > 0
        found: Flags = self.mask()[rows]
        return (
            found ^ self.relation.row_arrays[self.changed_array][rows]
            if len(self.gained_rows) or len(self.lost_rows)
            else found
        )

    def clear_changes(self) -> None:
        """Forgets what the last point changed."""
        if self.is_changed:
            moved = self.relation.row_arrays[self.changed_array]
            for rows in (self.gained_rows, self.lost_rows):
                moved[rows] = False
                if self.keeps_counts:
                    self.relation.row_arrays["was", self.name][rows] = self.counter.counts(rows)
            self.gained_rows = self.lost_rows = NONE

    def update(self, changed: Ints) -> None:
        """Tests the rows whose count ``changed`` (each once), all of them where the number of
        observed points did.
        """
        if self.is_current_point:
            self._set_changes(self.relation.gained_rows, self.relation.lost_rows)
            return
        if self.counter.is_longer and self.operator == ALWAYS:
            changed = np.arange(self.relation.size)
        if not len(changed):
            return
        mask, m = self.mask(), self.counter.counts(changed)
        new, old = self.test(m, self.counter.observed_points), mask[changed]
        mask[changed] = new
        if self.keeps_counts:
            other = m != (before := self.counts_before(changed))
            self._set_changes(changed[new & other], changed[(before > 0) & other])
        else:
            self._set_changes(changed[new & ~old], changed[old & ~new])

    def test_all(self) -> None:
        """Tests all rows, for a fixpoint to begin with."""
        if not self.is_current_point:
            self.mask()[: self.relation.size] = self.test(
                self.counter.all_counts(), self.counter.observed_points
            )

    def add_fresh(self, fresh: Ints) -> Ints:
        """The rows that it has because ``fresh`` rows hold now, for the next round of a fixpoint."""
        if not self.counter.is_now:
            return NONE
        if self.is_current_point:
            return fresh
        mask = self.mask()
        new = self.test(self.counter.counts(fresh), self.counter.observed_points)
        found = fresh[new] if self.keeps_counts else fresh[new & ~mask[fresh]]
        mask[fresh] = new
        return found

    def finish_fixpoint(self, before: Flags) -> None:
        """What changed since its mask was ``before``."""
        if self.keeps_counts:
            self.update(np.arange(self.relation.size))
            return
        now = self.mask()[: self.relation.size]
        if len(before) < len(now):
            before = np.concatenate([before, np.zeros(len(now) - len(before), np.bool_)])
        self._set_changes(np.flatnonzero(now & ~before), np.flatnonzero(before & ~now))

    def _set_changes(self, came: Ints, went: Ints) -> None:
        self.gained_rows, self.lost_rows = came, went
        moved = self.relation.row_arrays[self.changed_array]
        moved[came] = moved[went] = True
