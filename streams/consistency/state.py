"""One partition at work: the live spans of its individuals as columns; a batch comes in, what
has ended goes out as violations.

A span that ended before watermark - 1 can neither meet nor touch what is still to come. So when
such spans go, the violations that they end are final; others stay, and are found when one of
their spans goes: nothing is told twice, whatever the batches.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiq.columns.arrays import Ints
from streams.consistency.plan import StreamPlan
from streams.consistency.spans import (
    BEGINNING,
    END,
    Flags,
    Spans,
    ends,
    joined,
    live,
    no_spans,
    runs,
)
from streams.consistency.strategies import strategy_of
from streams.consistency.violations import Finder, Violations, together


class StreamPartition:
    """The state of some individuals, which are numbers from 0 on; codes are those of `masks.Masks`."""

    def __init__(self, plan: StreamPlan) -> None:
        self.masks = plan.masks
        self.finder, self.window = Finder(self.masks), plan.window
        self.strategy = strategy_of(plan.strategy, self.masks, plan.bolts, plan.window)
        self.spans = no_spans()
        self.most_rows = self.most_bytes = 0

    def take(self, key: Ints, label: Ints, time: Ints) -> None:
        """Takes the assertions of a batch, in any order."""
        self.strategy.take(key, label, time, ends(time, self.window))
        self._add(live(self.masks.code(key, label), time, self.window))

    def take_static(self, key: Ints, label: Ints) -> None:
        """Takes what is live at all times."""
        begin, end = np.full(len(key), BEGINNING, np.int64), np.full(len(key), END, np.int64)
        self.strategy.take(key, label, begin, end)
        self._add(Spans(self.masks.code(key, label), begin, end))

    def restore(self, spans: Spans) -> None:
        """Goes on from the `spans` of another partition of the same plan, which had all that
        this one has.
        """
        self.strategy.take(*self.masks.split(spans.code), spans.start, spans.end)
        self.spans = spans

    def _add(self, spans: Spans) -> None:
        self.spans = joined([self.spans, spans]) if len(self.spans.code) else joined([spans])
        self.most_rows = max(self.most_rows, len(self.spans.code))
        self.most_bytes = max(self.most_bytes, sum(column.nbytes for column in self.spans))

    def retire(self, watermark: int) -> Violations:
        """Lets go what is over, now that nothing before ``watermark`` can come; the violations
        that are final by that.
        """
        before = watermark - 1
        ended = self.spans.end < before
        if not ended.any():
            return together([])
        found = self._violations(self._touched(ended))
        self.spans = self.spans.at(~ended)
        self.strategy.retire(before)
        return found.at(found.end < before)

    def finish(self) -> Violations:
        """All violations that are left."""
        found, self.spans = self._violations(self.spans), no_spans()
        return found

    def _touched(self, ended: Flags) -> Spans:
        """All spans of the individuals that have one in ``ended``."""
        starts = runs(key := self.keys())
        touched = np.logical_or.reduceat(ended, starts)
        return self.spans.at(np.repeat(touched, np.diff(np.append(starts, len(key)))))

    def _violations(self, spans: Spans) -> Violations:
        if not len(spans.code):
            return together([])
        key, label = self.masks.split(spans.code)
        starts = runs(key)
        suspected = self.strategy.suspects(key, label, starts)
        return self.finder.find(
            spans.at(np.repeat(suspected, np.diff(np.append(starts, len(key)))))
        )

    def open(self) -> Violations:
        """The violations among all that is live, ended or not."""
        return self._violations(self.spans)

    def keys(self) -> Ints:
        return self.masks.split(self.spans.code)[0]

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Gives the individuals new numbers, in the same order."""
        key, label = self.masks.split(self.spans.code)
        old = np.fromiter(numbers, np.int64, len(numbers))
        new = np.fromiter(numbers.values(), np.int64, len(numbers))
        self.spans = self.spans._replace(
            code=self.masks.code(new[np.searchsorted(old, key)], label)
        )
        self.strategy.renumber(numbers)
