"""One stream being watched: records in, rows and verdicts out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from shiq.columns.arrays import Ints
from shiq.rdf import read_assertions
from shiq.verdict import Leftover, Verdict, blocks
from streams.consistency.beside import Beside, shown
from streams.consistency.events import TripleEncoder
from streams.consistency.plan import StreamPlan
from streams.consistency.rows import Rows, order
from streams.consistency.spans import END, Spans, runs
from streams.consistency.state import StreamPartition
from streams.consistency.static import one_name, static_columns
from streams.consistency.verdicts import Row, StreamResult, Verdicts
from streams.consistency.violations import Violations
from streams.front.arrivals import Arrivals
from streams.front.checkpoint import packed, unpacked
from streams.front.event import Event
from streams.front.record import Record
from streams.front.result import verdict_of

#: How many events are taken at once, and how many triples at most, however few events these are.
BATCH, _MOST_TRIPLES = 20_000, 200_000
#: Names are given up when so many more are known than live.
_SPARE_NAMES = 10_000


@dataclass
class Watch:
    """One stream being checked: what was taken in and not yet decided, and what is known.

    ``heard``: takes rows as they become known; ``follow``: those of conflicts that are open
    still are told too, and ``inconsistent`` is how many individuals and pairs have one at the
    newest time.
    """

    plan: StreamPlan
    arrivals: Arrivals
    start: int | None = None
    end: int | None = None
    batch: int = BATCH
    allow: Collection[str] = ()
    heard: Callable[[list[Row]], None] = lambda rows: None
    follow: bool = False
    beside: list[Beside] = field(default_factory=list)
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("reading", "deciding", "writing"), 0.0)
    )
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("events", "triples", "outside"), 0)
    )
    rows: list[Row] = field(default_factory=list)
    inconsistent: int | None = None

    def __post_init__(self) -> None:
        self.partition = StreamPartition(self.plan)
        self.intake = TripleEncoder(self.plan.view, self.partition.masks)
        self.verdicts = Verdicts(self.plan.window)
        self.leftovers = list(self.plan.leftovers)
        self.arrivals.window, self.arrivals.unused = self.plan.window, self._unused
        self._begun = perf_counter()
        self._events: list[tuple[Event, Record]] = []
        self._triples = 0
        self.telling = Rows(
            self.plan, self.partition.finder, self.intake.names, self.end, self.heard
        )

    def begin(self, static: Any) -> None:
        """Takes what holds at all times: the ontology's own assertions, and ``static``."""
        assertions = list(self.plan.abox)
        if static is not None:
            sources = list(static) if isinstance(static, list | tuple) else [static]
            reading = read_assertions(
                sources, self.plan.view.signature, axioms=self.plan.view.axioms
            )
            assertions += reading.abox
            self.leftovers += [
                leftover for leftover in reading.leftovers if blocks(leftover, self.allow)
            ]
        self.intake.same = one_name(assertions)
        left: list[object] = []
        columns = static_columns(self.intake, assertions, left.append)
        if left:
            reason = "a static assertion that is none of names and roles"
            self.leftovers.append(
                Leftover("outside-dl-lite", reason, text=str(left[0]), count=len(left))
            )
        self.partition.take_static(columns.key, columns.label)
        for one in self.beside:
            one.begin(self.partition.spans)
        self.verdicts.always |= any(blocks(leftover, self.allow) for leftover in self.leftovers)
        self._begun = perf_counter()

    def take(self, record: Record) -> bool:
        """Takes a record, and decides with it if enough wait; whether time went on by it."""
        points = self.arrivals.points
        event = self.arrivals.accept(record)
        is_outside = event is not None and (
            event.t < (self.start or 0) or (self.end is not None and event.t > self.end)
        )
        self.counts["outside"] += is_outside
        if event is None or is_outside:
            for one in self.beside:
                one.refuse(record.whole)
        else:
            self._events.append((event, record))
            self._triples += len(event.triples)
            if len(self._events) >= self.batch or self._triples >= _MOST_TRIPLES:
                self.flush()
        return self.arrivals.points > points

    def _unused(self, kind: str, t: int | None) -> None:
        if kind not in self.allow:
            self.verdicts.not_used(t)

    def flush(self) -> None:
        """Decides what was taken in so far."""
        events, self._events, self._triples = self._events, [], 0
        counts = [len(event.triples) for event, _ in events]
        owner = np.repeat(np.arange(len(events)), counts)
        times = np.array([event.t for event, _ in events], np.int64)

        unused: set[int] = set()

        def tell(place: int, kind: str, reason: str, text: str) -> None:
            unused.add(place)
            event, record = events[owner[place]]
            self.arrivals.rejects.add(kind, record.source, record.line, reason, text)
            self._unused(kind, event.t)

        texts = [text for event, _ in events for text in event.triples]
        self.counts["events"] += len(events)
        self.counts["triples"] += len(texts)
        key, label, place = self.intake.read(texts, np.arange(len(texts)), tell)
        if self.beside:
            codes = self.partition.masks.code(key, label)
            said = shown([event for event, _ in events], unused, owner[place], codes)
            for (_, record), taken in zip(events, said):
                for one in self.beside:
                    one.take(record.whole, taken)
        begun = perf_counter()
        self.partition.take(key, label, times[owner[place]])
        found = self.partition.retire(self.arrivals.clock.watermark or 0)
        opened = self.partition.open() if self.follow else None
        self.seconds["deciding"] += perf_counter() - begun
        self._tell(found)
        self.passed((self.arrivals.clock.watermark or 0) - 1)
        clock = self.arrivals.clock
        if opened is not None and clock.newest is not None:
            self.inconsistent = len(
                np.unique(opened.key[(opened.start <= clock.newest) & (opened.end >= clock.newest)])
            )
            self.telling.opened(opened, self.arrivals.first or 0, clock.newest)
        self._forget()

    def passed(self, upto: int) -> None:
        """Has what is beside do all up to a time."""
        for one in self.beside:
            begun = perf_counter()
            rows, unsure = one.passed(upto)
            self.seconds[one.name] = self.seconds.get(one.name, 0.0) + perf_counter() - begun
            self.heard(list(rows))
            self.verdicts.add(rows)
            self.rows += rows
            for c in unsure:
                self.verdicts.unsure(c)

    def _forget(self) -> None:
        """Lets names go that nothing live has."""
        key = self.partition.keys()
        live = key[runs(key)]
        if self.forget(live):
            self.verdicts.settle(
                {name or "" for n in range(len(live)) for name in self.intake.names.pair(n)}
            )

    def forget(self, live: Ints) -> bool:
        """Gives the individuals that are ``live`` (ascending) new numbers, if many are not;
        whether it did.
        """
        if len(self.intake.names.names) <= 2 * len(live) + _SPARE_NAMES:
            return False
        numbers = self.intake.names.keep(live)
        self.partition.renumber(numbers)
        for one in self.beside:
            one.renumber(numbers)
        return True

    def _tell(self, found: Violations) -> None:
        """Tells final rows."""
        begun = perf_counter()
        rows = self.telling.final(found)
        self.verdicts.add(rows)
        self.rows += rows
        self.seconds["writing"] += perf_counter() - begun

    def finish(self) -> StreamResult:
        """Decides the rest, and says what is known."""
        self.flush()
        newest, rejects = self.arrivals.clock.newest, self.arrivals.rejects
        rejects.refuse_if_all(newest is None)
        first = self.arrivals.first if self.start is None else self.start
        last = newest if self.end is None else self.end
        begun = perf_counter()
        found = self.partition.finish()
        self.seconds["deciding"] += perf_counter() - begun
        self.passed(END if last is None else last)
        runs: list[Row] = []
        if first is not None and last is not None and first <= last:
            start, end = np.maximum(found.start, first), np.minimum(found.end, last)
            self._tell(Violations(found.key, found.conflict, start, end).at(start <= end))
            runs = self.verdicts.runs(first, last)
        leftovers = [*self.leftovers, *rejects.leftovers()]
        values = {run["verdict"] for run in runs}
        undetermined = Verdict.UNDETERMINED.value in values or any(
            blocks(leftover, self.allow) for leftover in leftovers
        )
        verdict = verdict_of(Verdict.INCONSISTENT.value in values, undetermined)
        rows = tuple(sorted(self.rows, key=order))
        return StreamResult(verdict, tuple(leftovers), self._statistics(), rows, tuple(runs))

    def _statistics(self) -> dict[str, Any]:
        self.seconds["reading"] = 0.0
        self.seconds["reading"] = perf_counter() - self._begun - sum(self.seconds.values())
        return {
            **self.counts,
            "duplicates": self.arrivals.duplicates,
            "tuples": self.intake.tuples,
            "evaluations": self.partition.strategy.evaluations,
            "cached": {"rows": self.partition.most_rows, "bytes": self.partition.most_bytes},
            "rejected": dict(self.arrivals.rejects.counts),
            "seconds": {name: round(spent, 3) for name, spent in self.seconds.items()},
        }

    def state(self) -> bytes:
        """What `restore` takes; nothing waits to be decided."""
        partition = self.partition
        document = {
            "arrivals": self.arrivals.state(),
            "verdicts": self.verdicts.state(),
            "told": self.telling.told,
            "beside": {one.name: one.state() for one in self.beside},
            "counts": self.counts,
            "tuples": self.intake.tuples,
            "evaluations": partition.strategy.evaluations,
            "cached": [partition.most_rows, partition.most_bytes],
        }
        return packed(document, {**partition.spans._asdict(), "names": self.intake.names.column()})

    def restore(self, state: bytes) -> None:
        """Goes on where another watch was, which had begun with the same."""
        document, columns = unpacked(state)
        self.intake.names.of_column(columns.pop("names"))
        partition = self.partition
        partition.restore(Spans(**columns))
        partition.strategy.evaluations = document["evaluations"]
        partition.most_rows, partition.most_bytes = document["cached"]
        self.arrivals.restore(document["arrivals"])
        self.verdicts.restore(document["verdicts"])
        for one in self.beside:
            one.restore(document["beside"][one.name])
        self.telling.told, self.counts, self.intake.tuples = (
            document["told"],
            document["counts"],
            document["tuples"],
        )
