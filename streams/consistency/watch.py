"""One stream being watched: events in, rows and verdicts out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from shiq.errors import InputError
from shiq.rdf import read_assertions
from shiq.verdict import Leftover, Verdict, blocks
from streams.consistency.events import Intake
from streams.consistency.labels import shown
from streams.consistency.plan import Plan
from streams.consistency.spans import runs
from streams.consistency.state import Partition
from streams.consistency.static import one_name, static_columns
from streams.consistency.verdicts import Row, StreamResult, Unused, verdict_runs
from streams.consistency.violations import Violations
from streams.front.event import Event, EventError, parse_event
from streams.front.lateness import Arrival, Clock
from streams.front.record import Record
from streams.front.rejects import AHEAD, LATE, MALFORMED, Rejects

#: A batch is taken when it has so many triples, however few events these are.
_MOST_TRIPLES = 200_000
#: Names are given up when so many more are known than live.
_SPARE_NAMES = 10_000


@dataclass
class Watch:
    """One stream being checked: what was taken in and not yet decided, and what is known."""

    plan: Plan
    clock: Clock
    start: int | None
    end: int | None
    unit: str
    allow: Collection[str]
    rejects: Rejects
    heard: Callable[[list[Row]], None]
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("reading", "deciding", "writing"), 0.0))
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("events", "triples", "outside", "duplicates"), 0))
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.partition = Partition(self.plan)
        self.intake = Intake(self.plan.view, self.partition.masks)
        self.unused = Unused(self.plan.window)
        self.leftovers = list(self.plan.leftovers)
        self._first: int | None = None
        self._ids: dict[str, int] = {}
        self._events: list[tuple[Event, Record]] = []
        self._triples = 0
        self._conflicts: dict[int, tuple[list[str], list[str]]] = {}

    def begin(self, static: Any) -> None:
        """Takes what holds at all times: the ontology's own assertions, and ``static``."""
        assertions = list(self.plan.abox)
        if static is not None:
            sources = list(static) if isinstance(static, list | tuple) else [static]
            reading = read_assertions(sources, self.plan.view.signature, axioms=self.plan.view.axioms)
            assertions += reading.abox
            self.leftovers += [leftover for leftover in reading.leftovers if blocks(leftover, self.allow)]
        self.intake.same = one_name(assertions)
        left: list[object] = []
        columns = static_columns(self.intake, assertions, left.append)
        if left:
            reason = "a static assertion that is none of names and roles"
            self.leftovers.append(Leftover("outside-dl-lite", reason, text=str(left[0]), count=len(left)))
        self.partition.take_static(columns.key, columns.label)
        self._static_names = len(self.intake.names.names)
        self.unused.always |= any(blocks(leftover, self.allow) for leftover in self.leftovers)

    def take(self, record: Record) -> bool:
        """Whether the record is an event that is used."""
        try:
            if record.problem:
                raise EventError(record.problem)
            event = record.event or parse_event(record.data, self.unit)
        except EventError as error:
            return self._reject(MALFORMED, record, str(error), None)
        if event.id is not None and self._is_known(event.id, event.t):
            self.counts["duplicates"] += 1
            return False
        arrival = self.clock.judge(event.t)
        if arrival is not Arrival.ACCEPTED:
            kind = LATE if arrival is Arrival.LATE else AHEAD
            return self._reject(kind, record, self.clock.said(event.t, arrival), event.t)
        if event.id is not None:
            self._ids[event.id] = event.t
        self._first = event.t if self._first is None else min(self._first, event.t)
        if event.t < (self.start or 0) or (self.end is not None and event.t > self.end):
            self.counts["outside"] += 1
            return False
        self._events.append((event, record))
        self._triples += len(event.triples)
        return True

    def _is_known(self, name: str, t: int) -> bool:
        """Whether an event of this id came before, and can still matter."""
        before = self._ids.get(name)
        return before is not None and t - before <= self.plan.window + self.clock.lateness

    def _reject(self, kind: str, record: Record, reason: str, t: int | None) -> bool:
        self.rejects.add(kind, record.source, record.line, reason, record.text)
        if kind not in self.allow:
            self.unused.add(t)
        return False

    def is_full(self, batch: int) -> bool:
        return len(self._events) >= batch or self._triples >= _MOST_TRIPLES

    def flush(self) -> None:
        """Decides what was taken in so far."""
        events, self._events, self._triples = self._events, [], 0
        counts = [len(event.triples) for event, _ in events]
        owner = np.repeat(np.arange(len(events)), counts)
        times = np.array([event.t for event, _ in events], np.int64)

        def tell(place: int, kind: str, reason: str, text: str) -> None:
            event, record = events[owner[place]]
            self.rejects.add(kind, record.source, record.line, reason, text)
            if kind not in self.allow:
                self.unused.add(event.t)

        texts = [text for event, _ in events for text in event.triples]
        self.counts["events"] += len(events)
        self.counts["triples"] += len(texts)
        columns = self.intake.read(texts, times[owner], tell)
        begun = perf_counter()
        self.partition.take(*columns)
        watermark = self.clock.watermark or 0
        found = self.partition.retire(watermark)
        self.seconds["deciding"] += perf_counter() - begun
        self._tell(found)
        self._forget(watermark)

    def _forget(self, watermark: int) -> None:
        """Lets names and ids go that nothing live has."""
        oldest = watermark - self.plan.window
        if len(self._ids) > _SPARE_NAMES:
            self._ids = {name: t for name, t in self._ids.items() if t >= oldest}
        key = self.partition.keys()
        live = key[runs(key)]
        if len(self.intake.names.names) > 2 * len(live) + _SPARE_NAMES:
            self.partition.renumber(self.intake.names.keep(live))

    def _tell(self, found: Violations) -> None:
        begun = perf_counter()
        rows = sorted((self._row(*values) for values in zip(*(column.tolist() for column in found))), key=_order)
        self.heard(rows)
        self.rows += rows
        self.seconds["writing"] += perf_counter() - begun

    def _row(self, key: int, number: int, start: int, end: int) -> Row:
        if number not in self._conflicts:
            conflict = self.partition.finder.conflict(number)
            self._conflicts[number] = sorted(set(map(shown, conflict))), list(self.plan.axioms_of(conflict))
        labels, axioms = self._conflicts[number]
        individual, other = self.intake.names.pair(key)
        who = {"individual": individual} if other is None else {"individual": individual, "other": other}
        return {**who, "from": start, "to": end, "conflict": labels, "axioms": axioms, "final": True}

    def finish(self) -> StreamResult:
        """Decides the rest, and says what is known."""
        self.flush()
        if self.clock.newest is None and self.rejects.counts:
            why = self.rejects.leftovers()[0].message
            raise InputError(f"no line of the source is an event ({why})", "Check what it is: one JSON object a line.")
        first = self._first if self.start is None else self.start
        last = self.clock.newest if self.end is None else self.end
        begun = perf_counter()
        found = self.partition.finish()
        self.seconds["deciding"] += perf_counter() - begun
        if first is None or last is None or last < first:
            verdicts: list[Row] = []
        else:
            start, end = np.maximum(found.start, first), np.minimum(found.end, last)
            self._tell(Violations(found.key, found.conflict, start, end).at(start <= end))
            verdicts = verdict_runs(self.rows, self.unused, first, last)
        leftovers = [*self.leftovers, *self.rejects.leftovers()]
        values = {run["verdict"] for run in verdicts}
        undetermined = Verdict.UNDETERMINED.value in values or any(blocks(leftover, self.allow) for leftover in leftovers)
        verdict = Verdict.UNDETERMINED if undetermined else Verdict.CONSISTENT
        if Verdict.INCONSISTENT.value in values:
            verdict = Verdict.INCONSISTENT
        return StreamResult(tuple(sorted(self.rows, key=_order)), tuple(verdicts), verdict, tuple(leftovers), self._statistics())

    def _statistics(self) -> dict[str, Any]:
        strategy = self.partition.strategy
        cached = {"rows": self.partition.most_rows, "bytes": self.partition.most_bytes}
        return {
            **self.counts,
            "tuples": self.intake.tuples,
            "evaluations": strategy.evaluations,
            "cached": cached,
            "rejected": dict(self.rejects.counts),
            "seconds": {name: round(spent, 3) for name, spent in self.seconds.items()},
        }


def _order(row: Row) -> tuple[Any, ...]:
    return row["from"], row["to"], row["individual"], row.get("other", ""), row["conflict"]
