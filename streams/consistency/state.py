"""State of a bucket in consistency checking: live spans of individuals, from batches to violations.

A span that ended before watermark - 1 can neither meet nor touch a future one. When such spans are
removed, the violations that end with them are final. Other violations are found when one of their
own spans is removed. So each is reported once, whatever the batches.

A strategy selects suspects: individuals whose live labels contradict at some time. `violations`
then finds the exact labels and times. `MaskStrategy` uses bit masks over columns. `BoltStrategy`
implements both published methods, tuple by tuple: NTM with one bolt and LTM with several.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from shiq.columns.arrays import Ints
from shiq.streams.consistency.negative_inclusions import RootMasks
from shiq.streams.consistency.plan import StreamPlan
from shiq.streams.consistency.spans import (
    BEGINNING,
    END,
    Flags,
    Spans,
    empty_spans,
    find_run_starts,
    join_spans,
    live_until,
    make_live_spans,
)
from shiq.streams.consistency.topology import Bolt
from shiq.streams.consistency.violations import ViolationFinder, Violations, concatenate_violations

# Who is suspected: by masks over columns, or by the conjunctions of the bolts of a topology,
# tuple by tuple.
#
# A strategy must suspect every individual whose live labels contradict at some time; when, and by
# which labels, `violations` finds out. `BoltStrategy` is both published methods: with one bolt it is NTM,
# with several LTM.


#: Joined spans of a label.
LabelSpans: TypeAlias = list[tuple[int, int]]


class SuspectStrategy:
    """Base class of strategies, which select individuals that may be in a conflict.

    evaluations: number of tests made.
    most_cached: largest number of spans that the strategy itself stored.
    """

    evaluations: int = 0
    most_cached: int = 0

    def process(self, key: Ints, label: Ints, start: Ints, end: Ints) -> None:
        """Process arriving assertions."""

    def suspect_runs(self, key: Ints, label: Ints, starts: Ints) -> Flags:
        """Flag the runs of labels, one run per individual, that may contradict.

        starts: index of each run's first row in ``key`` and ``label``.
        """
        raise NotImplementedError

    def drop_before(self, before: int) -> None:
        """Drop stored spans that ended before a time."""

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Apply the new numbers of the remaining individuals."""


@dataclass
class MaskStrategy(SuspectStrategy):
    """Strategy that tests all labels of an individual at once by bit masks."""

    masks: RootMasks

    def suspect_runs(self, key: Ints, label: Ints, starts: Ints) -> Flags:
        """Flag the runs whose labels violate a root."""
        self.evaluations += len(label)
        return self.masks.suspect_runs(label, starts)


@dataclass
class _BoltState:
    """State of a bolt: its tests and the live spans that it stores.

    partners: by label, the other labels of each conjunction that contains it.
    cache: spans by individual and label.
    """

    partners: Mapping[str, tuple[tuple[str, ...], ...]]
    lift: Mapping[str, tuple[str, ...]]
    cache: dict[int, dict[str, LabelSpans]] = field(default_factory=lambda: defaultdict(dict))
    cached_spans: int = 0

    def process(self, key: int, label: str, start: int, end: int) -> bool:
        """Store an assertion; return whether it contradicts stored ones by some conjunction."""
        partners = self.partners.get(label)
        if not partners:
            return False
        live = self.cache[key]
        before = live.get(label, [])
        live[label] = add_span(before, start, end)
        self.cached_spans += len(live[label]) - len(before)
        # Each conjunction is an operation of its own, and says what it finds.
        return sum(_are_live_at_once(live, others, start, end) for others in partners) > 0


def _are_live_at_once(
    live: Mapping[str, LabelSpans], others: Sequence[str], start: int, end: int
) -> bool:
    """Whether all ``others`` are live at one common time between ``start`` and ``end``."""
    if not others:
        return True
    for s, e in live.get(others[0], ()):
        if (
            s <= end
            and e >= start
            and _are_live_at_once(live, others[1:], max(s, start), min(e, end))
        ):
            return True
    return False


def add_span(live: LabelSpans, start: int, end: int) -> LabelSpans:
    """Add a span to the joined spans of a label."""
    kept = []
    for s, e in live:
        if s - 1 <= end and e >= start - 1:
            start, end = min(s, start), max(e, end)
        else:
            kept.append((s, e))
    return sorted([*kept, (start, end)]) if kept else [(start, end)]


class BoltStrategy(SuspectStrategy):
    """Strategy that passes each assertion from bolt to bolt, each time as a more general label."""

    def __init__(self, labels: Sequence[str], bolts: Sequence[Bolt], window: int) -> None:
        self._labels, self._window, self._dropped_before = labels, window, 0
        self.stages = [_BoltState(_find_partners(bolt), bolt.lift) for bolt in bolts]
        self._suspects: set[int] = set()

    def process(self, key: Ints, label: Ints, start: Ints, end: Ints) -> None:
        """Pass assertions through all bolts and note individuals in conflict."""
        for x, n, s, e in zip(key.tolist(), label.tolist(), start.tolist(), end.tolist()):
            arriving: tuple[str, ...] = (self._labels[n],)
            for stage in self.stages:
                onward: dict[str, None] = {}
                for name in arriving:
                    self.evaluations += len(stage.partners.get(name, ()))
                    if stage.process(x, name, s, e):
                        self._suspects.add(x)
                    onward |= dict.fromkeys(stage.lift.get(name, ()))
                arriving = tuple(onward)
        self.most_cached = max(self.most_cached, sum(stage.cached_spans for stage in self.stages))

    def suspect_runs(self, key: Ints, label: Ints, starts: Ints) -> Flags:
        """Flag the runs of individuals that some bolt found in conflict."""
        return np.fromiter((x in self._suspects for x in key[starts].tolist()), bool, len(starts))

    def drop_before(self, before: int) -> None:
        """Drop stored spans that ended before a time, once per window."""
        if before - self._dropped_before <= self._window:
            return  # once a window is enough
        self._dropped_before = before
        for stage in self.stages:
            for key in list(stage.cache):
                live = {
                    name: kept
                    for name, spans in stage.cache[key].items()
                    if (kept := [s for s in spans if s[1] >= before])
                }
                if live:
                    stage.cache[key] = live
                else:
                    del stage.cache[key]
            stage.cached_spans = sum(
                len(spans) for live in stage.cache.values() for spans in live.values()
            )

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Apply the new numbers of the remaining individuals."""
        self._suspects = {numbers[x] for x in self._suspects if x in numbers}
        for stage in self.stages:
            kept = {numbers[x]: live for x, live in stage.cache.items() if x in numbers}
            stage.cache.clear()
            stage.cache.update(kept)


def _find_partners(bolt: Bolt) -> dict[str, tuple[tuple[str, ...], ...]]:
    """For each label, the other labels of each conjunction that contains it."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for test in bolt.tests:
        for label in test:
            found.setdefault(label, []).append(tuple(sorted(test - {label})))
    return {label: tuple(sorted(others)) for label, others in found.items()}


def make_strategy(
    name: str, masks: RootMasks, bolts: Sequence[Bolt], window: int
) -> SuspectStrategy:
    """Make the strategy with this name."""
    return MaskStrategy(masks) if name == "mask" else BoltStrategy(masks.labels, bolts, window)


class StreamPartition:
    """Live spans of some individuals, which are numbered from 0; codes are those of `RootMasks`."""

    def __init__(self, plan: StreamPlan) -> None:
        self.masks = plan.masks
        self.finder, self.window = ViolationFinder(self.masks), plan.window
        self.strategy = make_strategy(plan.strategy, self.masks, plan.bolts, plan.window)
        self.spans = empty_spans()
        self.most_rows = self.most_bytes = 0

    def add_assertions(self, key: Ints, label: Ints, time: Ints) -> None:
        """Add the assertions of a batch, in any order."""
        self.strategy.process(key, label, time, live_until(time, self.window))
        self._add_spans(make_live_spans(self.masks.encode(key, label), time, self.window))

    def add_static(self, key: Ints, label: Ints) -> None:
        """Add assertions that are live at all times."""
        begin, end = np.full(len(key), BEGINNING, np.int64), np.full(len(key), END, np.int64)
        self.strategy.process(key, label, begin, end)
        self._add_spans(Spans(self.masks.encode(key, label), begin, end))

    def restore(self, spans: Spans) -> None:
        """Continue from the `spans` of another partition with the same plan."""
        self.strategy.process(*self.masks.decode(spans.code), spans.start, spans.end)
        self.spans = spans

    def _add_spans(self, spans: Spans) -> None:
        """Join spans with the live ones and update the largest sizes."""
        self.spans = (
            join_spans([self.spans, spans]) if len(self.spans.code) else join_spans([spans])
        )
        self.most_rows = max(self.most_rows, len(self.spans.code))
        self.most_bytes = max(self.most_bytes, sum(column.nbytes for column in self.spans))

    def remove_ended(self, watermark: int) -> Violations:
        """Remove spans that ended before ``watermark``; return the violations that became final."""
        before = watermark - 1
        ended = self.spans.end < before
        if not ended.any():
            return concatenate_violations([])
        found = self._find_violations(self._spans_of_individuals(ended))
        self.spans = self.spans.select(~ended)
        self.strategy.drop_before(before)
        return found.select(found.end < before)

    def finish(self) -> Violations:
        """Return all remaining violations."""
        found, self.spans = self._find_violations(self.spans), empty_spans()
        return found

    def _spans_of_individuals(self, ended: Flags) -> Spans:
        """All spans of the individuals that have a span flagged in ``ended``."""
        starts = find_run_starts(key := self.individual_numbers())
        touched = np.logical_or.reduceat(ended, starts)
        return self.spans.select(np.repeat(touched, np.diff(np.append(starts, len(key)))))

    def _find_violations(self, spans: Spans) -> Violations:
        """Find the violations among spans: select suspects, then check them exactly."""
        if not len(spans.code):
            return concatenate_violations([])
        key, label = self.masks.decode(spans.code)
        starts = find_run_starts(key)
        suspected = self.strategy.suspect_runs(key, label, starts)
        return self.finder.find_violations(
            spans.select(np.repeat(suspected, np.diff(np.append(starts, len(key)))))
        )

    def find_live_violations(self) -> Violations:
        """Violations among all live spans, final or not."""
        return self._find_violations(self.spans)

    def individual_numbers(self) -> Ints:
        """Individual of each live span."""
        return self.masks.decode(self.spans.code)[0]

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Apply new numbers of the individuals, in the same order."""
        key, label = self.masks.decode(self.spans.code)
        old = np.fromiter(numbers, np.int64, len(numbers))
        new = np.fromiter(numbers.values(), np.int64, len(numbers))
        self.spans = self.spans._replace(
            code=self.masks.encode(new[np.searchsorted(old, key)], label)
        )
        self.strategy.renumber(numbers)
