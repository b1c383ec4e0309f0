"""One partition at work: the live spans of its individuals as columns; a batch comes in, what
has ended goes out as violations.

A span that ended before watermark - 1 can neither meet nor touch what is still to come. So when
such spans go, the violations that they end are final; others stay, and are found when one of
their spans goes: nothing is told twice, whatever the batches.
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
    end_times,
    join_spans,
    live_spans,
    run_starts,
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
Live: TypeAlias = list[tuple[int, int]]


class Strategy:
    """What looks at tuples, and counts what it evaluates, and the most spans that it caches itself;
    one that keeps nothing itself only suspects.
    """

    evaluations: int = 0
    most_cached: int = 0

    def process(self, key: Ints, label: Ints, start: Ints, end: Ints) -> None:
        """Looks at tuples that arrive."""

    def suspect_runs(self, key: Ints, label: Ints, starts: Ints) -> Flags:
        """Which runs of the labels of individuals (``key`` at their starts) are to be looked at
        closely.
        """
        raise NotImplementedError

    def drop_before(self, before: int) -> None:
        """Lets spans go that ended before a time."""

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Takes new numbers of the individuals that are left."""


@dataclass
class MaskStrategy(Strategy):
    """Looks at what the state holds."""

    masks: RootMasks

    def suspect_runs(self, key: Ints, label: Ints, starts: Ints) -> Flags:
        self.evaluations += len(label)
        return self.masks.suspect_runs(label, starts)


@dataclass
class _RunningBolt:
    """A bolt at work: ``partners`` of a label are the rests of its conjunctions, ``cache`` the
    spans by individual and label.
    """

    partners: Mapping[str, tuple[tuple[str, ...], ...]]
    lift: Mapping[str, tuple[str, ...]]
    cache: dict[int, dict[str, Live]] = field(default_factory=lambda: defaultdict(dict))
    cached_spans: int = 0

    def process(self, key: int, label: str, start: int, end: int) -> bool:
        """Whether an arriving tuple meets all the others of a conjunction; it is cached in any
        case.
        """
        partners = self.partners.get(label)
        if not partners:
            return False
        live = self.cache[key]
        before = live.get(label, [])
        live[label] = add_span(before, start, end)
        self.cached_spans += len(live[label]) - len(before)
        # Each conjunction is an operation of its own, and says what it finds.
        return sum(_are_live_together(live, others, start, end) for others in partners) > 0


def _are_live_together(
    live: Mapping[str, Live], others: Sequence[str], start: int, end: int
) -> bool:
    """Whether all ``others`` are live at one time from ``start`` to ``end``."""
    if not others:
        return True
    for s, e in live.get(others[0], ()):
        if (
            s <= end
            and e >= start
            and _are_live_together(live, others[1:], max(s, start), min(e, end))
        ):
            return True
    return False


def add_span(live: Live, start: int, end: int) -> Live:
    """``live`` with one more span."""
    kept = []
    for s, e in live:
        if s - 1 <= end and e >= start - 1:
            start, end = min(s, start), max(e, end)
        else:
            kept.append((s, e))
    return sorted([*kept, (start, end)]) if kept else [(start, end)]


class BoltStrategy(Strategy):
    """The tuples go through bolt after bolt, each time as what the bolt before handed them on as."""

    def __init__(self, labels: Sequence[str], bolts: Sequence[Bolt], window: int) -> None:
        self._labels, self._window, self._dropped_before = labels, window, 0
        self.stages = [_RunningBolt(_conjunction_partners(bolt), bolt.lift) for bolt in bolts]
        self._suspects: set[int] = set()

    def process(self, key: Ints, label: Ints, start: Ints, end: Ints) -> None:
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
        return np.fromiter((x in self._suspects for x in key[starts].tolist()), bool, len(starts))

    def drop_before(self, before: int) -> None:
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
        self._suspects = {numbers[x] for x in self._suspects if x in numbers}
        for stage in self.stages:
            kept = {numbers[x]: live for x, live in stage.cache.items() if x in numbers}
            stage.cache.clear()
            stage.cache.update(kept)


def _conjunction_partners(bolt: Bolt) -> dict[str, tuple[tuple[str, ...], ...]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for test in bolt.tests:
        for label in test:
            found.setdefault(label, []).append(tuple(sorted(test - {label})))
    return {label: tuple(sorted(others)) for label, others in found.items()}


def make_strategy(name: str, masks: RootMasks, bolts: Sequence[Bolt], window: int) -> Strategy:
    return MaskStrategy(masks) if name == "mask" else BoltStrategy(masks.labels, bolts, window)


class StreamPartition:
    """The state of some individuals, which are numbers from 0 on; codes are those of `RootMasks`."""

    def __init__(self, plan: StreamPlan) -> None:
        self.masks = plan.masks
        self.finder, self.window = ViolationFinder(self.masks), plan.window
        self.strategy = make_strategy(plan.strategy, self.masks, plan.bolts, plan.window)
        self.spans = empty_spans()
        self.most_rows = self.most_bytes = 0

    def add_assertions(self, key: Ints, label: Ints, time: Ints) -> None:
        """Takes the assertions of a batch, in any order."""
        self.strategy.process(key, label, time, end_times(time, self.window))
        self._add_spans(live_spans(self.masks.encode(key, label), time, self.window))

    def add_static(self, key: Ints, label: Ints) -> None:
        """Takes what is live at all times."""
        begin, end = np.full(len(key), BEGINNING, np.int64), np.full(len(key), END, np.int64)
        self.strategy.process(key, label, begin, end)
        self._add_spans(Spans(self.masks.encode(key, label), begin, end))

    def restore(self, spans: Spans) -> None:
        """Goes on from the `spans` of another partition of the same plan, which had all that
        this one has.
        """
        self.strategy.process(*self.masks.decode(spans.code), spans.start, spans.end)
        self.spans = spans

    def _add_spans(self, spans: Spans) -> None:
        self.spans = (
            join_spans([self.spans, spans]) if len(self.spans.code) else join_spans([spans])
        )
        self.most_rows = max(self.most_rows, len(self.spans.code))
        self.most_bytes = max(self.most_bytes, sum(column.nbytes for column in self.spans))

    def retire(self, watermark: int) -> Violations:
        """Lets go what is over, now that nothing before ``watermark`` can come; the violations
        that are final by that.
        """
        before = watermark - 1
        ended = self.spans.end < before
        if not ended.any():
            return concatenate_violations([])
        found = self._violations(self._spans_of_individuals(ended))
        self.spans = self.spans.select(~ended)
        self.strategy.drop_before(before)
        return found.select(found.end < before)

    def finish(self) -> Violations:
        """All violations that are left."""
        found, self.spans = self._violations(self.spans), empty_spans()
        return found

    def _spans_of_individuals(self, ended: Flags) -> Spans:
        """All spans of the individuals that have one in ``ended``."""
        starts = run_starts(key := self.individual_numbers())
        touched = np.logical_or.reduceat(ended, starts)
        return self.spans.select(np.repeat(touched, np.diff(np.append(starts, len(key)))))

    def _violations(self, spans: Spans) -> Violations:
        if not len(spans.code):
            return concatenate_violations([])
        key, label = self.masks.decode(spans.code)
        starts = run_starts(key)
        suspected = self.strategy.suspect_runs(key, label, starts)
        return self.finder.find(
            spans.select(np.repeat(suspected, np.diff(np.append(starts, len(key)))))
        )

    def open_violations(self) -> Violations:
        """The violations among all that is live, ended or not."""
        return self._violations(self.spans)

    def individual_numbers(self) -> Ints:
        return self.masks.decode(self.spans.code)[0]

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Gives the individuals new numbers, in the same order."""
        key, label = self.masks.decode(self.spans.code)
        old = np.fromiter(numbers, np.int64, len(numbers))
        new = np.fromiter(numbers.values(), np.int64, len(numbers))
        self.spans = self.spans._replace(
            code=self.masks.encode(new[np.searchsorted(old, key)], label)
        )
        self.strategy.renumber(numbers)
