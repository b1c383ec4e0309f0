"""Consistency of a stream as an operator, and its collector.

Columns of triples go by bucket of individuals; a bucket's live spans step to violations, as rows.
What the operator finds becomes rows of outputs, and verdicts at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from time import perf_counter
from typing import Any, ClassVar, NamedTuple
from zlib import crc32

import numpy as np

from shiq.answers.verdict import Leftover, Verdict, is_blocking
from shiq.columns.arrays import Ints
from shiq.errors import UsageError
from shiq.jobs.option_fields import option
from shiq.rdf import read_assertions
from shiq.streams.consistency.events import (
    EventColumns,
    Numbering,
    TripleEncoder,
    one_name,
    static_columns,
)
from shiq.streams.consistency.plan import StreamPlan
from shiq.streams.consistency.spans import END, Spans, runs
from shiq.streams.consistency.state import StreamPartition
from shiq.streams.consistency.verdicts import Beside, Row, StreamResult, Taken, Verdicts, shown
from shiq.streams.consistency.violations import Rows, Violations, order
from shiq.streams.front.arrivals import Arrivals, EventLimits, Moment
from shiq.streams.front.checkpoint import packed, unpacked
from shiq.streams.front.event import Event
from shiq.streams.front.operator import BatchReport, CodedTexts, Columns, Refused, Split, verdict_of

#: Names are given up when so many more are known than live.
_SPARE_NAMES = 10_000


def bucket_of(names: Sequence[str], buckets: int) -> Ints:
    """The bucket of each individual or pair."""
    if buckets == 1:
        return np.zeros(len(names), np.int64)
    return np.array(
        [crc32(name.encode("utf-8", "surrogatepass")) % buckets for name in names], np.int64
    )


class StaticContent(NamedTuple):
    """What holds at all times: the one name of each individual that has several; names, and by
    row whose it is and its label.
    """

    same: Mapping[str, str]
    names: Sequence[str]
    key: Ints
    label: Ints


@dataclass(frozen=True)
class ConsistencyOperator:
    """`shiq.streams.front.operator.Operator`. ``follow``: conflicts are told when they open, too;
    ``shows``: the collector is to see events.
    """

    durable: ClassVar[bool] = True
    plan: StreamPlan
    static: StaticContent
    limits: EventLimits
    follow: bool = False
    shows: bool = False
    buckets: int = 1

    @cached_property
    def _encoder(self) -> TripleEncoder:
        return TripleEncoder(self.plan.view, self.plan.masks, same=self.static.same)

    def split(self, events: Sequence[Event | None]) -> Split:
        """Columns of the events' triples by bucket: who, label, t, and the event."""
        texts = [text for event in events if event is not None for text in event.triples]
        counts = [0 if event is None else len(event.triples) for event in events]
        owner = np.repeat(np.arange(len(events)), counts)
        times = np.array([-1 if event is None else event.t for event in events], np.int64)
        # What was found out about values is shared, names are numbered anew.
        encoder, refused = replace(self._encoder, names=Numbering(), tuples=0), list[Refused]()
        unused = set[int]()

        def tell(place: int, kind: str, reason: str, text: str) -> None:
            unused.add(place)
            refused.append((int(owner[place]), kind, reason, text))

        columns, names = encoder.read(texts, owner, tell), encoder.names.names
        seen = self._shown(events, unused, columns, names) if self.shows else None
        parts = {bucket: _part(own, times) for bucket, own in self._by_bucket(columns, names)}
        return Split(parts, refused, {"tuples": encoder.tuples}, seen, with_text=True)

    def _by_bucket(
        self, columns: EventColumns, names: Sequence[str]
    ) -> Iterator[tuple[int, tuple[EventColumns, Sequence[str]]]]:
        """The columns of each bucket, with the texts of its individuals alone."""
        if self.buckets == 1 or not len(columns.key):
            yield 0, (columns, names)
            return
        bucket = bucket_of(names, self.buckets)[columns.key]
        at = np.argsort(bucket, kind="stable")
        for rows in np.split(at, runs(bucket[at])[1:]):
            who, which = np.unique(columns.key[rows], return_inverse=True)
            own = EventColumns(which, columns.label[rows], columns.time[rows])
            yield int(bucket[rows[0]]), (own, [names[n] for n in who.tolist()])

    def _shown(
        self,
        events: Sequence[Event | None],
        unused: set[int],
        columns: EventColumns,
        names: Sequence[str],
    ) -> Columns:
        """What observers make `Taken` of: the labels of an event, each with whom it is of."""
        whole = [event or Event(-1) for event in events]
        seen = list(shown(whole, unused, columns.time, np.arange(len(columns.time))))
        ends = np.cumsum([len(taken.codes) for taken in seen]).tolist()
        at = np.concatenate([columns.key[:0], *(taken.codes for taken in seen)])
        who, label = [names[n] for n in columns.key[at].tolist()], columns.label[at].tolist()
        bounds = list(zip([0, *ends], ends))
        return {
            "t": [taken.t for taken in seen],
            "triples": [list(taken.triples) for taken in seen],
            "is_whole": [taken.is_whole for taken in seen],
            "who": [who[low:high] for low, high in bounds],
            "label": [label[low:high] for low, high in bounds],
        }

    def open(self, bucket: int, state: bytes | None) -> ConsistencyState:
        """Spans that are live, at first those that are static, and their names."""
        found = ConsistencyState(self)
        if state is None:
            _, names, key, label = self.static
            rows = np.flatnonzero(bucket_of(names, self.buckets)[key] == bucket)
            who, which = np.unique(key[rows], return_inverse=True)
            found.names.set([names[n] for n in who.tolist()])
            found.partition.take_static(which.astype(np.int64), label[rows])
        else:
            document, columns = unpacked(state)
            found.names.of_column(columns.pop("names"))
            found.partition.restore(Spans(**columns))
            # States of Spark's buckets had only what was told.
            found.rows.told = document.get("told", document)
            found.partition.strategy.evaluations = document.get("evaluations", 0)
            # Earlier states do not have what bolts cached.
            rows, size, *bolts = document.get("cached", (0, 0))
            found.partition.most_rows, found.partition.most_bytes = rows, size
            found.partition.strategy.most_cached = bolts[0] if bolts else 0
        return found


def _part(own: tuple[EventColumns, Sequence[str]], times: Ints) -> Columns:
    columns, names = own
    return {
        "who": CodedTexts(columns.key.astype(np.int32), names),
        "label": columns.label.astype(np.int32),
        "t": times[columns.time],
        "event": columns.time.astype(np.int32),
    }


class ConsistencyState:
    """The live spans of a bucket and the names of its individuals. ``inconsistent``: how many of
    them contradict at the newest time, where that is followed; ``live``: the names that are left
    where others were given up by the last step.
    """

    def __init__(self, operator: ConsistencyOperator) -> None:
        self.operator, self.names = operator, Numbering()
        self.partition = StreamPartition(operator.plan)
        self.rows = Rows(operator.plan, self.partition.finder, self.names, operator.limits.end)
        self.inconsistent: int | None = None
        self.live: set[str] | None = None

    def step(self, parts: Sequence[Columns], moment: Moment) -> list[Row]:
        """Take columns; final rows, and where it is followed those of conflicts that opened."""
        taken = [
            (np.array(self.names.all(part["who"].texts), np.int64)[part["who"].codes], part)
            for part in parts
        ]
        if taken:
            key, label, time = (
                np.concatenate(columns).astype(np.int64, copy=False)
                for columns in zip(*((key, part["label"], part["t"]) for key, part in taken))
            )
            self.partition.take(key, label, time)
        rows = self.rows.final(self.partition.retire(moment.watermark or 0))
        if self.operator.follow and moment.newest is not None:
            found = self.partition.open()
            now = (found.start <= moment.newest) & (found.end >= moment.newest)
            self.inconsistent = len(np.unique(found.key[now]))
            rows = [*rows, *self.rows.opened(found, moment.first or 0, moment.newest)]
        self.live = None
        key = self.partition.keys()
        if len(self.names.names) > 2 * len(live := key[runs(key)]) + _SPARE_NAMES:
            self._keep(live)
            self.live = {name or "" for n in range(len(live)) for name in self.names.pair(n)}
        return rows

    def _keep(self, live: Ints) -> None:
        """Give the individuals that are ``live`` (ascending) new numbers; forget the others."""
        self.partition.renumber(self.names.keep(live))

    def finish(self, moment: Moment) -> list[Row]:
        """The rows that are left, within the ends of the stream."""
        limits, found = self.operator.limits, self.partition.finish()
        first = moment.first if limits.start is None else limits.start
        last = moment.newest if limits.end is None else limits.end
        if first is None or last is None:
            return []
        start, end = np.maximum(found.start, first), np.minimum(found.end, last)
        within = Violations(found.key, found.conflict, start, end).at(start <= end)
        return self.rows.final(within)

    def to_bytes(self) -> bytes:
        """The live spans and their names, and which open conflicts were told."""
        key, partition = self.partition.keys(), self.partition
        self._keep(key[runs(key)])
        document = {
            "told": self.rows.told,
            "evaluations": partition.strategy.evaluations,
            "cached": [
                partition.most_rows,
                partition.most_bytes,
                partition.strategy.most_cached,
            ],
        }
        return packed(document, {**partition.spans._asdict(), "names": self.names.column()})


#: How many events are taken at once.
BATCH = 20_000
#: Individuals are kept in so many buckets, where these are spread over tasks.
BUCKETS = 32


@dataclass(frozen=True)
class StreamQuestion:
    """Of a run: the ends of the stream, how many events are taken at once, which leftovers do
    not matter, and whether rows are to be told before they are final.
    """

    start: int | None = None
    end: int | None = None
    batch: int = option(
        BATCH, "How many events are taken at once; Spark takes what there is.", least=1
    )
    allow: Collection[str] = ()
    follow: bool = False

    def __post_init__(self) -> None:
        if self.start is not None and self.end is not None and self.start > self.end:
            raise UsageError(
                f"the stream begins at {self.start} and ends at {self.end}",
                "Give a later end, or an earlier start.",
            )


@dataclass
class Watch:
    """One stream being checked (`shiq.streams.front.operator.Collector`).

    ``heard``: takes rows as they become known; ``inconsistent``: how many individuals and pairs
    have a conflict at the newest time, where the stream is followed.
    """

    name: ClassVar[str] = "consistency"
    by_point: ClassVar[bool] = False
    patience: ClassVar[float] = inf
    plan: StreamPlan
    arrivals: Arrivals
    asked: StreamQuestion = StreamQuestion()
    heard: Callable[[list[Row]], None] = lambda rows: None
    beside: list[Beside] = field(default_factory=list)
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("reading", "deciding", "writing"), 0.0)
    )
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("events", "triples", "outside", "tuples"), 0)
    )
    rows: list[Row] = field(default_factory=list)
    inconsistent: int | None = None

    def __post_init__(self) -> None:
        self.partition, self.names = StreamPartition(self.plan), Numbering()
        self.verdicts = Verdicts(self.plan.window)
        self.leftovers = list(self.plan.leftovers)
        self.arrivals.window, self.arrivals.unused = self.plan.window, self._unused
        self._begun = perf_counter()

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
                leftover
                for leftover in reading.leftovers
                if is_blocking(leftover, self.asked.allow)
            ]
        encoder = TripleEncoder(self.plan.view, self.plan.masks, same=one_name(assertions))
        left: list[object] = []
        columns = static_columns(encoder, assertions, left.append)
        if left:
            reason = "a static assertion that is none of names and roles"
            self.leftovers.append(
                Leftover("outside-dl-lite", reason, text=str(left[0]), count=len(left))
            )
        self.counts["tuples"] = encoder.tuples
        names = list(encoder.names.names)
        self.static = StaticContent(encoder.same, names, columns.key, columns.label)
        self.partition.take_static(columns.key, columns.label)
        if self.beside:
            self.names = encoder.names
        for one in self.beside:
            one.begin(self.partition.spans)
        self.verdicts.always |= any(
            is_blocking(leftover, self.asked.allow) for leftover in self.leftovers
        )
        self._begun = perf_counter()

    def operator(self, *, in_tasks: bool = False) -> ConsistencyOperator:
        """What is done with events; what is static is handed over."""
        limits = self.arrivals.limits(self.asked.start, self.asked.end)
        how = self.asked.follow, bool(self.beside), BUCKETS if in_tasks else 1
        return ConsistencyOperator(self.plan, self.static, limits, *how)

    @property
    def batch(self) -> int:
        return self.asked.batch

    def _unused(self, kind: str, t: int | None) -> None:
        if kind not in self.asked.allow:
            self.verdicts.not_used(t)

    def flush(self) -> None:
        """Rows do not wait."""

    def refuse(self, text: str) -> None:
        """Takes the text of a record that is not used."""
        for one in self.beside:
            one.refuse(text)

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Takes the figures, rejects and rows of a batch: final ones, then what is beside, then
        those of conflicts that opened.
        """
        report.settle(self.arrivals, self.counts)
        self._show([dict(zip(report.shown, of)) for of in zip(*report.shown.values())])
        found = sorted(rows, key=order)
        for state in report.states:
            self.partition, self.inconsistent = state.partition, state.inconsistent
            if state.live is not None:
                self.verdicts.settle(state.live)
        self._tell([row for row in found if row["final"]])
        self._pass((self.arrivals.clock.watermark or 0) - 1)
        self.heard([row for row in found if not row["final"]])

    def _show(self, rows: list[Row]) -> None:
        """Shows what is beside the records of a batch."""
        who = self.names.all(name for row in rows for name in row["who"])
        label = [number for row in rows for number in row["label"]]
        codes = self.plan.masks.code(np.array(who, np.int64), np.array(label, np.int64))
        ends = np.cumsum([len(row["who"]) for row in rows]).tolist()
        for row, low, high in zip(rows, [0, *ends], ends):
            for one in self.beside:
                if row["used"]:
                    event = Taken(row["t"], row["triples"], codes[low:high], row["is_whole"])
                    one.take(row["text"], event)
                else:
                    one.refuse(row["text"])

    def _tell(self, rows: list[Row]) -> None:
        """Tells final rows."""
        begun = perf_counter()
        self.heard(rows)
        self.verdicts.add(rows)
        self.rows += rows
        self.seconds["writing"] += perf_counter() - begun

    def _pass(self, upto: int) -> None:
        """Has what is beside do all up to a time, and let go of names."""
        for one in self.beside:
            begun = perf_counter()
            rows, unsure = one.passed(upto)
            self.seconds[one.name] = self.seconds.get(one.name, 0.0) + perf_counter() - begun
            self._tell(list(rows))
            for c in unsure:
                self.verdicts.unsure(c)
        live: Ints = np.unique(np.concatenate([[], *(one.keys() for one in self.beside)]))
        if len(self.names.names) > 2 * len(live) + _SPARE_NAMES:
            numbers = self.names.keep(live.astype(np.int64))
            for one in self.beside:
                one.renumber(numbers)

    def finish(self, rows: Iterable[Row]) -> StreamResult:
        """Takes the last rows; what is known."""
        newest, rejects = self.arrivals.clock.newest, self.arrivals.rejects
        rejects.refuse_if_all(newest is None)
        first = self.arrivals.first if self.asked.start is None else self.asked.start
        last = newest if self.asked.end is None else self.asked.end
        found = sorted(rows, key=order)
        self._pass(END if last is None else last)
        self._tell(found)
        is_stream = first is not None and last is not None and first <= last
        runs = self.verdicts.runs(first, last) if is_stream else []  # type: ignore[arg-type]
        leftovers = [*self.leftovers, *rejects.leftovers()]
        values = {run["verdict"] for run in runs}
        undetermined = Verdict.UNDETERMINED.value in values or any(
            is_blocking(leftover, self.asked.allow) for leftover in leftovers
        )
        verdict = verdict_of(Verdict.INCONSISTENT.value in values, undetermined)
        whole = tuple(sorted(self.rows, key=order))
        return StreamResult(verdict, tuple(leftovers), self._statistics(), whole, tuple(runs))

    def _statistics(self) -> dict[str, Any]:
        self.seconds["reading"] = 0.0
        self.seconds["reading"] = perf_counter() - self._begun - sum(self.seconds.values())
        counts = dict(self.counts)
        tuples = counts.pop("tuples")
        return {
            **counts,
            "duplicates": self.arrivals.duplicates,
            "tuples": tuples,
            "evaluations": self.partition.strategy.evaluations,
            "cached": {
                "rows": self.partition.most_rows,
                "bytes": self.partition.most_bytes,
                "bolts": self.partition.strategy.most_cached,
            },
            "rejected": dict(self.arrivals.rejects.counts),
            "seconds": {name: round(spent, 3) for name, spent in self.seconds.items()},
        }

    def state(self) -> bytes:
        """What `restore` takes."""
        document = {
            "arrivals": self.arrivals.state(),
            "verdicts": self.verdicts.state(),
            "beside": {one.name: one.state() for one in self.beside},
            "counts": self.counts,
        }
        return packed(document, {"names": self.names.column()})

    def restore(self, state: bytes) -> None:
        """Goes on where another watch was, which had begun with the same."""
        document, columns = unpacked(state)
        if self.beside:
            self.names.of_column(columns["names"])
        self.arrivals.restore(document["arrivals"])
        self.verdicts.restore(document["verdicts"])
        for one in self.beside:
            one.restore(document["beside"][one.name])
        # Checkpoints of before had the tuples beside the counts.
        self.counts = {"tuples": document.get("tuples", 0), **document["counts"]}

    def bucket_states(self, state: bytes) -> list[bytes]:
        """The partition in a checkpoint of a version that kept all in one."""
        return [state]
