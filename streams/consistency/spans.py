"""Periods in which assertions are live, as columns: made from times of events, and joined where
they touch.

A span [start, end] of a code (an individual and a label) is the period in which an assertion is
live: from t to t + window. Joined spans of one code neither overlap nor touch. So an intersection
of joined spans is a maximal span, and needs no joining again. Proof: THEORY, "Spans".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import Ints

Flags: TypeAlias = npt.NDArray[np.bool_]
Period: TypeAlias = tuple[int, int]
#: Before and after all time: what is static is live from one to the other.
BEGINNING, END = -1, (1 << 63) - 1


class Spans(NamedTuple):
    """Columns of periods: a code (individual and label) with the first and last time at which the
    assertion is live. Sorted by code and start.
    """

    code: Ints
    start: Ints
    end: Ints

    def select_rows(self, rows: Ints | Flags) -> Spans:
        """Periods with these row indexes or flags."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        return Spans(self.code[rows], self.start[rows], self.end[rows])


def empty_spans() -> Spans:
    """Make a table without periods."""
    return Spans(*(np.empty(0, np.int64) for _ in range(3)))


def join_periods(periods: Iterable[Period]) -> list[Period]:
    """Sort periods, each its first and last time, and join those that overlap or touch."""
    joined: list[Period] = []
    for start, end in sorted(periods):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def make_live_spans(code: Ints, time: Ints, window: int) -> Spans:
    """Make the joined periods in which assertions are live, from their times in any order."""
    if not len(code):
        return empty_spans()
    low, width = int(time.min()), int(time.max() - time.min()).bit_length()
    if int(code.max()).bit_length() + width < 64:
        packed = np.sort(code << width | (time - low))
        code, time = packed >> width, (packed & (1 << width) - 1) + low
    else:
        order = np.lexsort((time, code))
        code, time = code[order], time[order]
    begins = np.empty(len(code), bool)
    begins[0] = True
    np.logical_or(code[1:] != code[:-1], time[1:] - time[:-1] > window + 1, out=begins[1:])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(code)) - 1
    return Spans(code[first], time[first], last_live_time(time[last], window))


def last_live_time(time: Ints, window: int) -> Ints:
    """Last time at which an assertion made at ``time`` is live."""
    return np.minimum(time, END - window) + window


def join_spans(parts: Sequence[Spans]) -> Spans:
    """Merge tables of periods, and join the overlapping or touching periods of each code."""
    code, start, end = (np.concatenate(columns) for columns in zip(*parts))
    if not len(code):
        return empty_spans()
    order = _sort_by_code_and_start(code, start)
    code, start, end = code[order], start[order], end[order]
    begins = np.empty(len(code), bool)
    begins[0] = True
    np.not_equal(code[1:], code[:-1], out=begins[1:])
    # Beyond the last start it does not matter where a span ends.
    begins[1:] |= start[1:] - 1 > _running_maximum(begins, np.minimum(end, start.max()))[:-1]
    first = np.flatnonzero(begins)
    return Spans(code[first], start[first], np.maximum.reduceat(end, first))


def _sort_by_code_and_start(code: Ints, start: Ints) -> Ints:
    """Row indexes that sort by code, then start. The stable sort is fast here: the parts are sorted
    already.
    """
    low, width = int(start.min()), int(start.max() - start.min()).bit_length()
    if int(code.max()).bit_length() + width < 64:
        return np.argsort(code << width | (start - low), kind="stable")
    return np.lexsort((start, code))


def _running_maximum(begins: Flags, end: Ints) -> Ints:
    """Running maximum of ``end`` within each group of rows; ``begins`` flags the first row of a
    group.
    """
    low, group = int(end.min()), np.cumsum(begins, dtype=np.int64)
    wide = int(end.max()) - low + 1
    if int(group[-1]) * wide < 1 << 62:
        above = group * wide - low
        return np.maximum.accumulate(above + end) - above
    values, ranks = np.unique(end, return_inverse=True)
    return values[_running_maximum(begins, ranks)]


def find_run_starts(sorted_values: Ints) -> Ints:
    """Index of the first row in each run of equal values."""
    if not len(sorted_values):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate(([True], sorted_values[1:] != sorted_values[:-1])))
