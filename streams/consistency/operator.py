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
    IndividualNumbers,
    TripleEncoder,
    find_representatives,
    static_columns,
)
from shiq.streams.consistency.plan import StreamPlan
from shiq.streams.consistency.spans import END, Spans, run_starts
from shiq.streams.consistency.state import StreamPartition
from shiq.streams.consistency.verdicts import (
    EventObserver,
    ObservedEvent,
    Row,
    StreamResult,
    VerdictTimeline,
    observed_events,
)
from shiq.streams.consistency.violations import ViolationRows, Violations, row_order
from shiq.streams.front.arrivals import EventIntake, EventLimits, StreamTime
from shiq.streams.front.checkpoint import pack_state, unpack_state
from shiq.streams.front.event import Event
from shiq.streams.front.operator import (
    BatchReport,
    CodedTexts,
    Columns,
    PartitionedEvents,
    RejectedEvent,
    stream_verdict,
)

#: Names are given up when so many more are known than live.
_SPARE_NAMES = 10_000


def bucket_numbers(names: Sequence[str], buckets: int) -> Ints:
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

    representatives: Mapping[str, str]
    names: Sequence[str]
    key: Ints
    label: Ints


@dataclass(frozen=True)
class ConsistencyOperator:
    """`shiq.streams.front.operator.Operator`. ``follow``: conflicts are told when they open, too;
    ``shows_events``: the collector is to see events.
    """

    is_stateful: ClassVar[bool] = True
    plan: StreamPlan
    static: StaticContent
    limits: EventLimits
    follow: bool = False
    shows_events: bool = False
    buckets: int = 1

    @cached_property
    def _encoder(self) -> TripleEncoder:
        return TripleEncoder(
            self.plan.view, self.plan.masks, representatives=self.static.representatives
        )

    def partition_events(self, events: Sequence[Event | None]) -> PartitionedEvents:
        """Columns of the events' triples by bucket: who, label, t, and the event."""
        texts = [text for event in events if event is not None for text in event.triples]
        counts = [0 if event is None else len(event.triples) for event in events]
        owner = np.repeat(np.arange(len(events)), counts)
        times = np.array([-1 if event is None else event.t for event in events], np.int64)
        # What was found out about values is shared, names are numbered anew.
        encoder, refused = (
            replace(self._encoder, names=IndividualNumbers(), tuples=0),
            list[RejectedEvent](),
        )
        unused = set[int]()

        def tell(place: int, kind: str, reason: str, text: str) -> None:
            unused.add(place)
            refused.append((int(owner[place]), kind, reason, text))

        columns, names = encoder.encode(texts, owner, tell), encoder.names.names
        seen = self._observed_columns(events, unused, columns, names) if self.shows_events else None
        parts = {
            bucket: _bucket_columns(own, times)
            for bucket, own in self._split_by_bucket(columns, names)
        }
        return PartitionedEvents(
            parts, refused, {"tuples": encoder.tuples}, seen, includes_text=True
        )

    def _split_by_bucket(
        self, columns: EventColumns, names: Sequence[str]
    ) -> Iterator[tuple[int, tuple[EventColumns, Sequence[str]]]]:
        """The columns of each bucket, with the texts of its individuals alone."""
        if self.buckets == 1 or not len(columns.key):
            yield 0, (columns, names)
            return
        bucket = bucket_numbers(names, self.buckets)[columns.key]
        at = np.argsort(bucket, kind="stable")
        for rows in np.split(at, run_starts(bucket[at])[1:]):
            who, which = np.unique(columns.key[rows], return_inverse=True)
            own = EventColumns(which, columns.label[rows], columns.time[rows])
            yield int(bucket[rows[0]]), (own, [names[n] for n in who.tolist()])

    def _observed_columns(
        self,
        events: Sequence[Event | None],
        unused: set[int],
        columns: EventColumns,
        names: Sequence[str],
    ) -> Columns:
        """What observers make `ObservedEvent` of: the labels of an event, each with whom it is of."""
        whole = [event or Event(-1) for event in events]
        seen = list(observed_events(whole, unused, columns.time, np.arange(len(columns.time))))
        ends = np.cumsum([len(taken.codes) for taken in seen]).tolist()
        at = np.concatenate([columns.key[:0], *(taken.codes for taken in seen)])
        who, label = [names[n] for n in columns.key[at].tolist()], columns.label[at].tolist()
        bounds = list(zip([0, *ends], ends))
        return {
            "t": [taken.t for taken in seen],
            "triples": [list(taken.triples) for taken in seen],
            "is_whole": [taken.is_complete for taken in seen],
            "who": [who[low:high] for low, high in bounds],
            "label": [label[low:high] for low, high in bounds],
        }

    def open_state(self, bucket: int, state: bytes | None) -> ConsistencyState:
        """Spans that are live, at first those that are static, and their names."""
        found = ConsistencyState(self)
        if state is None:
            _, names, key, label = self.static
            rows = np.flatnonzero(bucket_numbers(names, self.buckets)[key] == bucket)
            who, which = np.unique(key[rows], return_inverse=True)
            found.names.reset([names[n] for n in who.tolist()])
            found.partition.add_static(which.astype(np.int64), label[rows])
        else:
            document, columns = unpack_state(state)
            found.names.load_column(columns.pop("names"))
            found.partition.restore(Spans(**columns))
            # States of Spark's buckets had only what was told.
            found.rows.open_starts = document.get("told", document)
            found.partition.strategy.evaluations = document.get("evaluations", 0)
            # Earlier states do not have what bolts cached.
            rows, size, *bolts = document.get("cached", (0, 0))
            found.partition.most_rows, found.partition.most_bytes = rows, size
            found.partition.strategy.most_cached = bolts[0] if bolts else 0
        return found


def _bucket_columns(own: tuple[EventColumns, Sequence[str]], times: Ints) -> Columns:
    columns, names = own
    return {
        "who": CodedTexts(columns.key.astype(np.int32), names),
        "label": columns.label.astype(np.int32),
        "t": times[columns.time],
        "event": columns.time.astype(np.int32),
    }


class ConsistencyState:
    """The live spans of a bucket and the names of its individuals. ``inconsistent_count``: how many of
    them contradict at the newest time, where that is followed; ``live_names``: the names that are left
    where others were given up by the last step.
    """

    def __init__(self, operator: ConsistencyOperator) -> None:
        self.operator, self.names = operator, IndividualNumbers()
        self.partition = StreamPartition(operator.plan)
        self.rows = ViolationRows(
            operator.plan, self.partition.finder, self.names, operator.limits.end
        )
        self.inconsistent_count: int | None = None
        self.live_names: set[str] | None = None

    def step(self, parts: Sequence[Columns], moment: StreamTime) -> list[Row]:
        """Take columns; final rows, and where it is followed those of conflicts that opened."""
        taken = [
            (np.array(self.names.numbers_of(part["who"].texts), np.int64)[part["who"].codes], part)
            for part in parts
        ]
        if taken:
            key, label, time = (
                np.concatenate(columns).astype(np.int64, copy=False)
                for columns in zip(*((key, part["label"], part["t"]) for key, part in taken))
            )
            self.partition.add_assertions(key, label, time)
        rows = self.rows.final_rows(self.partition.retire(moment.watermark or 0))
        if self.operator.follow and moment.newest is not None:
            found = self.partition.open_violations()
            now = (found.start <= moment.newest) & (found.end >= moment.newest)
            self.inconsistent_count = len(np.unique(found.key[now]))
            rows = [*rows, *self.rows.opening_rows(found, moment.first or 0, moment.newest)]
        self.live_names = None
        key = self.partition.individual_numbers()
        if len(self.names.names) > 2 * len(live := key[run_starts(key)]) + _SPARE_NAMES:
            self._retain_individuals(live)
            self.live_names = {
                name or "" for n in range(len(live)) for name in self.names.pair_names(n)
            }
        return rows

    def _retain_individuals(self, live: Ints) -> None:
        """Give the individuals that are ``live`` (ascending) new numbers; forget the others."""
        self.partition.renumber(self.names.retain(live))

    def finish(self, moment: StreamTime) -> list[Row]:
        """The rows that are left, within the ends of the stream."""
        limits, found = self.operator.limits, self.partition.finish()
        first = moment.first if limits.start is None else limits.start
        last = moment.newest if limits.end is None else limits.end
        if first is None or last is None:
            return []
        start, end = np.maximum(found.start, first), np.minimum(found.end, last)
        within = Violations(found.key, found.conflict, start, end).select(start <= end)
        return self.rows.final_rows(within)

    def to_bytes(self) -> bytes:
        """The live spans and their names, and which open conflicts were told."""
        key, partition = self.partition.individual_numbers(), self.partition
        self._retain_individuals(key[run_starts(key)])
        document = {
            "told": self.rows.open_starts,
            "evaluations": partition.strategy.evaluations,
            "cached": [
                partition.most_rows,
                partition.most_bytes,
                partition.strategy.most_cached,
            ],
        }
        return pack_state(document, {**partition.spans._asdict(), "names": self.names.to_column()})


#: How many events are taken at once.
BATCH = 20_000
#: Individuals are kept in so many buckets, where these are spread over tasks.
BUCKETS = 32


@dataclass(frozen=True)
class ConsistencySettings:
    """Of a run: the ends of the stream, how many events are taken at once, which leftovers do
    not matter, and whether rows are to be told before they are final.
    """

    start: int | None = None
    end: int | None = None
    batch: int = option(BATCH, "Events in a batch; Spark takes all that are there.", minimum=1)
    allow: Collection[str] = ()
    follow: bool = False

    def __post_init__(self) -> None:
        if self.start is not None and self.end is not None and self.start > self.end:
            raise UsageError(
                f"the stream begins at {self.start} and ends at {self.end}",
                "Give a later end, or an earlier start.",
            )


@dataclass
class ConsistencyCollector:
    """One stream being checked (`shiq.streams.front.operator.Collector`).

    ``emit``: takes rows as they become known; ``inconsistent_count``: how many individuals and pairs
    have a conflict at the newest time, where the stream is followed.
    """

    name: ClassVar[str] = "consistency"
    steps_by_point: ClassVar[bool] = False
    max_wait_seconds: ClassVar[float] = inf
    plan: StreamPlan
    intake: EventIntake
    settings: ConsistencySettings = ConsistencySettings()
    emit: Callable[[list[Row]], None] = lambda rows: None
    observers: list[EventObserver] = field(default_factory=list)
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("reading", "deciding", "writing"), 0.0)
    )
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("events", "triples", "outside", "tuples"), 0)
    )
    rows: list[Row] = field(default_factory=list)
    inconsistent_count: int | None = None

    def __post_init__(self) -> None:
        self.partition, self.names = StreamPartition(self.plan), IndividualNumbers()
        self.verdicts = VerdictTimeline(self.plan.window)
        self.leftovers = list(self.plan.leftovers)
        self.intake.window, self.intake.on_reject = self.plan.window, self._note_reject
        self._started_at = perf_counter()

    def load_static(self, static: Any) -> None:
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
                if is_blocking(leftover, self.settings.allow)
            ]
        encoder = TripleEncoder(
            self.plan.view, self.plan.masks, representatives=find_representatives(assertions)
        )
        left: list[object] = []
        columns = static_columns(encoder, assertions, left.append)
        if left:
            reason = "a static assertion that is of neither a named class nor a property"
            self.leftovers.append(
                Leftover("outside-dl-lite", reason, text=str(left[0]), count=len(left))
            )
        self.counts["tuples"] = encoder.tuples
        names = list(encoder.names.names)
        self.static = StaticContent(encoder.representatives, names, columns.key, columns.label)
        self.partition.add_static(columns.key, columns.label)
        if self.observers:
            self.names = encoder.names
        for one in self.observers:
            one.start(self.partition.spans)
        self.verdicts.is_always_undetermined |= any(
            is_blocking(leftover, self.settings.allow) for leftover in self.leftovers
        )
        self._started_at = perf_counter()

    def operator(self, *, in_tasks: bool = False) -> ConsistencyOperator:
        """What is done with events; what is static is handed over."""
        limits = self.intake.limits(self.settings.start, self.settings.end)
        how = self.settings.follow, bool(self.observers), BUCKETS if in_tasks else 1
        return ConsistencyOperator(self.plan, self.static, limits, *how)

    @property
    def batch_size(self) -> int:
        return self.settings.batch

    def _note_reject(self, kind: str, t: int | None) -> None:
        if kind not in self.settings.allow:
            self.verdicts.add_unused(t)

    def flush(self) -> None:
        """Rows do not wait."""

    def observe_rejected(self, text: str) -> None:
        """Takes the text of a record that is not used."""
        for one in self.observers:
            one.observe_rejected(text)

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Takes the figures, rejects and rows of a batch: final ones, then what is beside, then
        those of conflicts that opened.
        """
        report.apply_to(self.intake, self.counts)
        self._notify_observers(
            [
                dict(zip(report.collector_columns, of))
                for of in zip(*report.collector_columns.values())
            ]
        )
        found = sorted(rows, key=row_order)
        for state in report.states:
            self.partition, self.inconsistent_count = state.partition, state.inconsistent_count
            if state.live_names is not None:
                self.verdicts.close_spans(state.live_names)
        self._emit_final([row for row in found if row["final"]])
        self._advance_observers((self.intake.tracker.watermark or 0) - 1)
        self.emit([row for row in found if not row["final"]])

    def _notify_observers(self, rows: list[Row]) -> None:
        """Shows what is beside the records of a batch."""
        who = self.names.numbers_of(name for row in rows for name in row["who"])
        label = [number for row in rows for number in row["label"]]
        codes = self.plan.masks.encode(np.array(who, np.int64), np.array(label, np.int64))
        ends = np.cumsum([len(row["who"]) for row in rows]).tolist()
        for row, low, high in zip(rows, [0, *ends], ends):
            for one in self.observers:
                if row["used"]:
                    event = ObservedEvent(
                        row["t"], row["triples"], codes[low:high], row["is_whole"]
                    )
                    one.observe(row["text"], event)
                else:
                    one.observe_rejected(row["text"])

    def _emit_final(self, rows: list[Row]) -> None:
        """Tells final rows."""
        begun = perf_counter()
        self.emit(rows)
        self.verdicts.add_rows(rows)
        self.rows += rows
        self.seconds["writing"] += perf_counter() - begun

    def _advance_observers(self, upto: int) -> None:
        """Has what is beside do all up to a time, and let go of names."""
        for one in self.observers:
            begun = perf_counter()
            rows, unsure = one.advance_watermark(upto)
            self.seconds[one.name] = self.seconds.get(one.name, 0.0) + perf_counter() - begun
            self._emit_final(list(rows))
            for c in unsure:
                self.verdicts.add_undecided(c)
        live: Ints = np.unique(
            np.concatenate([[], *(one.needed_individuals() for one in self.observers)])
        )
        if len(self.names.names) > 2 * len(live) + _SPARE_NAMES:
            numbers = self.names.retain(live.astype(np.int64))
            for one in self.observers:
                one.renumber(numbers)

    def finish(self, rows: Iterable[Row]) -> StreamResult:
        """Takes the last rows; what is known."""
        newest, rejects = self.intake.tracker.newest, self.intake.rejects
        rejects.raise_if_all_rejected(newest is None)
        first = self.intake.first if self.settings.start is None else self.settings.start
        last = newest if self.settings.end is None else self.settings.end
        found = sorted(rows, key=row_order)
        self._advance_observers(END if last is None else last)
        self._emit_final(found)
        is_stream = first is not None and last is not None and first <= last
        runs = self.verdicts.verdict_runs(first, last) if is_stream else []  # type: ignore[arg-type]
        leftovers = [*self.leftovers, *rejects.leftovers()]
        values = {run["verdict"] for run in runs}
        undetermined = Verdict.UNDETERMINED.value in values or any(
            is_blocking(leftover, self.settings.allow) for leftover in leftovers
        )
        verdict = stream_verdict(Verdict.INCONSISTENT.value in values, undetermined)
        whole = tuple(sorted(self.rows, key=row_order))
        return StreamResult(verdict, tuple(leftovers), self._statistics(), whole, tuple(runs))

    def _statistics(self) -> dict[str, Any]:
        self.seconds["reading"] = 0.0
        self.seconds["reading"] = perf_counter() - self._started_at - sum(self.seconds.values())
        counts = dict(self.counts)
        tuples = counts.pop("tuples")
        return {
            **counts,
            "duplicates": self.intake.duplicates,
            "tuples": tuples,
            "evaluations": self.partition.strategy.evaluations,
            "cached": {
                "rows": self.partition.most_rows,
                "bytes": self.partition.most_bytes,
                "bolts": self.partition.strategy.most_cached,
            },
            "rejected": dict(self.intake.rejects.counts),
            "seconds": {name: round(spent, 3) for name, spent in self.seconds.items()},
        }

    def state(self) -> bytes:
        """What `restore` takes."""
        document = {
            "arrivals": self.intake.state(),
            "verdicts": self.verdicts.state(),
            "beside": {one.name: one.state() for one in self.observers},
            "counts": self.counts,
        }
        return pack_state(document, {"names": self.names.to_column()})

    def restore(self, state: bytes) -> None:
        """Goes on where another watch was, which had begun with the same."""
        document, columns = unpack_state(state)
        if self.observers:
            self.names.load_column(columns["names"])
        self.intake.restore(document["arrivals"])
        self.verdicts.restore(document["verdicts"])
        for one in self.observers:
            one.restore(document["beside"][one.name])
        # Checkpoints of before had the tuples beside the counts.
        self.counts = {"tuples": document.get("tuples", 0), **document["counts"]}

    def legacy_bucket_states(self, state: bytes) -> list[bytes]:
        """The partition in a checkpoint of a version that kept all in one."""
        return [state]
