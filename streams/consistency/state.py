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
from shiq.streams.consistency.negative_inclusions import Masks
from shiq.streams.consistency.plan import StreamPlan
from shiq.streams.consistency.spans import (
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
from shiq.streams.consistency.topology import Bolt
from shiq.streams.consistency.violations import Finder, Violations, together

# Who is suspected: by masks over columns, or by the conjunctions of the bolts of a topology,
# tuple by tuple.
#
# A strategy must suspect every individual whose live labels contradict at some time; when, and by
# which labels, `violations` finds out. `Bolts` is both published methods: with one bolt it is NTM,
# with several LTM.


#: Joined spans of a label.
Live: TypeAlias = list[tuple[int, int]]


class Strategy:
    """What looks at tuples, and counts what it evaluates, and the most spans that it caches itself;
    one that keeps nothing itself only suspects.
    """

    evaluations: int = 0
    most_cached: int = 0

    def take(self, key: Ints, label: Ints, start: Ints, end: Ints) -> None:
        """Looks at tuples that arrive."""

    def suspects(self, key: Ints, label: Ints, starts: Ints) -> Flags:
        """Which runs of the labels of individuals (``key`` at their starts) are to be looked at
        closely.
        """
        raise NotImplementedError

    def retire(self, before: int) -> None:
        """Lets spans go that ended before a time."""

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Takes new numbers of the individuals that are left."""


@dataclass
class ByMasks(Strategy):
    """Looks at what the state holds."""

    masks: Masks

    def suspects(self, key: Ints, label: Ints, starts: Ints) -> Flags:
        self.evaluations += len(label)
        return self.masks.suspects(label, starts)


@dataclass
class _Stage:
    """A bolt at work: ``partners`` of a label are the rests of its conjunctions, ``cache`` the
    spans by individual and label.
    """

    partners: Mapping[str, tuple[tuple[str, ...], ...]]
    lift: Mapping[str, tuple[str, ...]]
    cache: dict[int, dict[str, Live]] = field(default_factory=lambda: defaultdict(dict))
    cached: int = 0

    def take(self, key: int, label: str, start: int, end: int) -> bool:
        """Whether an arriving tuple meets all the others of a conjunction; it is cached in any
        case.
        """
        partners = self.partners.get(label)
        if not partners:
            return False
        live = self.cache[key]
        before = live.get(label, [])
        live[label] = joined_with(before, start, end)
        self.cached += len(live[label]) - len(before)
        # Each conjunction is an operation of its own, and says what it finds.
        return sum(_meet(live, others, start, end) for others in partners) > 0


def _meet(live: Mapping[str, Live], others: Sequence[str], start: int, end: int) -> bool:
    """Whether all ``others`` are live at one time from ``start`` to ``end``."""
    if not others:
        return True
    for s, e in live.get(others[0], ()):
        if s <= end and e >= start and _meet(live, others[1:], max(s, start), min(e, end)):
            return True
    return False


def joined_with(live: Live, start: int, end: int) -> Live:
    """``live`` with one more span."""
    kept = []
    for s, e in live:
        if s - 1 <= end and e >= start - 1:
            start, end = min(s, start), max(e, end)
        else:
            kept.append((s, e))
    return sorted([*kept, (start, end)]) if kept else [(start, end)]


class Bolts(Strategy):
    """The tuples go through bolt after bolt, each time as what the bolt before handed them on as."""

    def __init__(self, labels: Sequence[str], bolts: Sequence[Bolt], window: int) -> None:
        self._labels, self._window, self._swept = labels, window, 0
        self.stages = [_Stage(_partners(bolt), bolt.lift) for bolt in bolts]
        self._suspects: set[int] = set()

    def take(self, key: Ints, label: Ints, start: Ints, end: Ints) -> None:
        for x, n, s, e in zip(key.tolist(), label.tolist(), start.tolist(), end.tolist()):
            arriving: tuple[str, ...] = (self._labels[n],)
            for stage in self.stages:
                onward: dict[str, None] = {}
                for name in arriving:
                    self.evaluations += len(stage.partners.get(name, ()))
                    if stage.take(x, name, s, e):
                        self._suspects.add(x)
                    onward |= dict.fromkeys(stage.lift.get(name, ()))
                arriving = tuple(onward)
        self.most_cached = max(self.most_cached, sum(stage.cached for stage in self.stages))

    def suspects(self, key: Ints, label: Ints, starts: Ints) -> Flags:
        return np.fromiter((x in self._suspects for x in key[starts].tolist()), bool, len(starts))

    def retire(self, before: int) -> None:
        if before - self._swept <= self._window:
            return  # once a window is enough
        self._swept = before
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
            stage.cached = sum(
                len(spans) for live in stage.cache.values() for spans in live.values()
            )

    def renumber(self, numbers: Mapping[int, int]) -> None:
        self._suspects = {numbers[x] for x in self._suspects if x in numbers}
        for stage in self.stages:
            kept = {numbers[x]: live for x, live in stage.cache.items() if x in numbers}
            stage.cache.clear()
            stage.cache.update(kept)


def _partners(bolt: Bolt) -> dict[str, tuple[tuple[str, ...], ...]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for test in bolt.tests:
        for label in test:
            found.setdefault(label, []).append(tuple(sorted(test - {label})))
    return {label: tuple(sorted(others)) for label, others in found.items()}


def strategy_of(name: str, masks: Masks, bolts: Sequence[Bolt], window: int) -> Strategy:
    return ByMasks(masks) if name == "mask" else Bolts(masks.labels, bolts, window)


class StreamPartition:
    """The state of some individuals, which are numbers from 0 on; codes are those of `Masks`."""

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
