"""State of a bucket in consistency checking: keeps the live assertions of individuals and finds
violations among them.

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
    Period,
    Spans,
    empty_spans,
    find_run_starts,
    join_periods,
    join_spans,
    last_live_time,
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
LabelSpans: TypeAlias = list[Period]


class SuspectStrategy:
    """Base class of strategies that select suspects: individuals whose live labels may contradict.
    Suspects are then checked exactly.

    evaluations: number of tests made.
    max_cached_spans: largest number of spans that the strategy itself stored.
    """

    evaluations: int = 0
    max_cached_spans: int = 0

    def process_assertions(self, key: Ints, label: Ints, start: Ints, end: Ints) -> None:
        """Process arriving assertions, given by individual ids, label indexes, and the first and
        last times at which they are live.
        """

    def flag_suspects(self, key: Ints, label: Ints, starts: Ints) -> Flags:
        """Flag the individuals whose labels may contradict. ``key``, ``label``: individual ids and
        label indexes; the rows of an individual are adjacent.

        starts: index of each run's first row in ``key`` and ``label``.
        """
        raise NotImplementedError

    def drop_spans_before(self, before: int) -> None:
        """Drop stored periods that ended before the time ``before``."""

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Replace the ids of individuals. ``numbers``: new ids by old ones; individuals that it
        lacks are forgotten.
        """


@dataclass
class MaskStrategy(SuspectStrategy):
    """Strategy that tests all labels of an individual at once by bit masks."""

    masks: RootMasks

    def flag_suspects(self, key: Ints, label: Ints, starts: Ints) -> Flags:
        """Flag the individuals whose labels, taken together at all times, violate a root (most
        general negative inclusion).
        """
        self.evaluations += len(label)
        return self.masks.flag_suspects(label, starts)


@dataclass
class _BoltState:
    """State of one bolt (pipeline stage): the contradictions that it tests, and the live periods
    that it stores for them.

    partners: by label, the other labels of each conjunction that contains it.
    cache: spans by individual and label.
    """

    partners: Mapping[str, tuple[tuple[str, ...], ...]]
    lift: Mapping[str, tuple[str, ...]]
    cache: dict[int, dict[str, LabelSpans]] = field(default_factory=lambda: defaultdict(dict))
    cached_spans: int = 0

    def store_and_test(self, key: int, label: str, start: int, end: int) -> bool:
        """Store an assertion; return whether it contradicts stored ones that are live at the same
        time.
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
    live: Mapping[str, LabelSpans], others: Sequence[str], start: int, end: int
) -> bool:
    """Whether all labels ``others`` are live at one common time between ``start`` and ``end``."""
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


def add_span(live: LabelSpans, start: int, end: int) -> LabelSpans:
    """Add the period from ``start`` to ``end`` to the disjoint live periods of a label, joining
    those that touch.
    """
    return join_periods([*live, (start, end)])


class BoltStrategy(SuspectStrategy):
    """Strategy that passes each assertion through a pipeline of bolts, to each as a more general
    label (methods NTM and LTM).
    """

    def __init__(self, labels: Sequence[str], bolts: Sequence[Bolt], window: int) -> None:
        self._labels, self._window, self._dropped_before = labels, window, 0
        self.stages = [_BoltState(_find_partners(bolt), bolt.lift) for bolt in bolts]
        self._suspects: set[int] = set()

    def process_assertions(self, key: Ints, label: Ints, start: Ints, end: Ints) -> None:
        """Pass assertions through all bolts; remember the individuals for which one finds a
        contradiction.
        """
        for x, n, s, e in zip(key.tolist(), label.tolist(), start.tolist(), end.tolist()):
            arriving: tuple[str, ...] = (self._labels[n],)
            for stage in self.stages:
                onward: dict[str, None] = {}
                for name in arriving:
                    self.evaluations += len(stage.partners.get(name, ()))
                    if stage.store_and_test(x, name, s, e):
                        self._suspects.add(x)
                    onward |= dict.fromkeys(stage.lift.get(name, ()))
                arriving = tuple(onward)
        self.max_cached_spans = max(
            self.max_cached_spans, sum(stage.cached_spans for stage in self.stages)
        )

    def flag_suspects(self, key: Ints, label: Ints, starts: Ints) -> Flags:
        """Flag the individuals for which some bolt has found a contradiction so far."""
        return np.fromiter((x in self._suspects for x in key[starts].tolist()), bool, len(starts))

    def drop_spans_before(self, before: int) -> None:
        """Drop stored periods that ended before the time ``before``, at most once per window
        length.
        """
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
        """Replace the ids of individuals. ``numbers``: new ids by old ones; individuals that it
        lacks are forgotten.
        """
        self._suspects = {numbers[x] for x in self._suspects if x in numbers}
        for stage in self.stages:
            kept = {numbers[x]: live for x, live in stage.cache.items() if x in numbers}
            stage.cache.clear()
            stage.cache.update(kept)


def _find_partners(bolt: Bolt) -> dict[str, tuple[tuple[str, ...], ...]]:
    """For each label, the sets of other labels with which a bolt tests it for contradiction."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for test in bolt.tests:
        for label in test:
            found.setdefault(label, []).append(tuple(sorted(test - {label})))
    return {label: tuple(sorted(others)) for label, others in found.items()}


def make_strategy(
    name: str, masks: RootMasks, bolts: Sequence[Bolt], window: int
) -> SuspectStrategy:
    """Make the strategy ``name``: "mask" tests by bit masks, every other name by a pipeline of
    bolts.
    """
    return MaskStrategy(masks) if name == "mask" else BoltStrategy(masks.labels, bolts, window)


class StreamPartition:
    """Live assertions of the individuals of one bucket, and the violations among them. Individuals
    have ids from 0.
    """

    def __init__(self, plan: StreamPlan) -> None:
        self.masks = plan.masks
        self.finder, self.window = ViolationFinder(self.masks), plan.window
        self.strategy = make_strategy(plan.strategy, self.masks, plan.bolts, plan.window)
        self.spans = empty_spans()
        self.max_rows = self.max_bytes = 0

    def add_assertions(self, key: Ints, label: Ints, time: Ints) -> None:
        """Add the assertions of a batch: individual ids, label indexes and times, in any order."""
        self.strategy.process_assertions(key, label, time, last_live_time(time, self.window))
        self._add_spans(make_live_spans(self.masks.encode_codes(key, label), time, self.window))

    def add_static_assertions(self, key: Ints, label: Ints) -> None:
        """Add assertions that are live at all times: individual ids and label indexes."""
        begin, end = np.full(len(key), BEGINNING, np.int64), np.full(len(key), END, np.int64)
        self.strategy.process_assertions(key, label, begin, end)
        self._add_spans(Spans(self.masks.encode_codes(key, label), begin, end))

    def restore(self, spans: Spans) -> None:
        """Continue from the live `spans` of another partition with the same plan."""
        self.strategy.process_assertions(
            *self.masks.decode_codes(spans.code), spans.start, spans.end
        )
        self.spans = spans

    def _add_spans(self, spans: Spans) -> None:
        """Join new live periods with the stored ones and update the largest sizes."""
        self.spans = (
            join_spans([self.spans, spans]) if len(self.spans.code) else join_spans([spans])
        )
        self.max_rows = max(self.max_rows, len(self.spans.code))
        self.max_bytes = max(self.max_bytes, sum(column.nbytes for column in self.spans))

    def remove_ended_assertions(self, watermark: int) -> Violations:
        """Remove the assertions that can no longer be live together with a new event, since all new
        times are ``watermark`` or later. Return the violations that became final.
        """
        before = watermark - 1
        ended = self.spans.end < before
        if not ended.any():
            return concatenate_violations([])
        found = self._find_violations(self._spans_of_individuals(ended))
        self.spans = self.spans.select_rows(~ended)
        self.strategy.drop_spans_before(before)
        return found.select_rows(found.end < before)

    def finish(self) -> Violations:
        """Return all remaining violations, and forget the assertions."""
        found, self.spans = self._find_violations(self.spans), empty_spans()
        return found

    def _spans_of_individuals(self, ended: Flags) -> Spans:
        """All live periods of those individuals that have a period flagged in ``ended``."""
        starts = find_run_starts(key := self.live_individual_ids())
        touched = np.logical_or.reduceat(ended, starts)
        return self.spans.select_rows(np.repeat(touched, np.diff(np.append(starts, len(key)))))

    def _find_violations(self, spans: Spans) -> Violations:
        """Find the violations among live periods: select suspects by the strategy, then check them
        exactly.
        """
        if not len(spans.code):
            return concatenate_violations([])
        key, label = self.masks.decode_codes(spans.code)
        starts = find_run_starts(key)
        suspected = self.strategy.flag_suspects(key, label, starts)
        return self.finder.find_violations(
            spans.select_rows(np.repeat(suspected, np.diff(np.append(starts, len(key)))))
        )

    def find_live_violations(self) -> Violations:
        """Find the violations among all live assertions, whether final or not."""
        return self._find_violations(self.spans)

    def live_individual_ids(self) -> Ints:
        """Ids of the individuals, one for each live period."""
        return self.masks.decode_codes(self.spans.code)[0]

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Replace the ids of individuals by new ones in the same order."""
        key, label = self.masks.decode_codes(self.spans.code)
        old = np.fromiter(numbers, np.int64, len(numbers))
        new = np.fromiter(numbers.values(), np.int64, len(numbers))
        self.spans = self.spans._replace(
            code=self.masks.encode_codes(new[np.searchsorted(old, key)], label)
        )
        self.strategy.renumber(numbers)
