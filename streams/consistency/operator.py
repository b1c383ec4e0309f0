"""Consistency checking as a stream system: an operator over buckets of individuals, and the
collector of its output rows.

The operator encodes triples as columns by bucket. The state of a bucket turns its live spans into
rows of violations. The collector writes these rows and computes the verdicts at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, ClassVar, NamedTuple
from zlib import crc32

import numpy as np

from shiq.answers.verdict import Leftover, Verdict, is_blocking
from shiq.columns.arrays import Ints
from shiq.errors import UsageError
from shiq.jobs.option_fields import Takes, option
from shiq.rdf import read_assertions
from shiq.streams.consistency.events import (
    EventColumns,
    IndividualIds,
    TripleEncoder,
    encode_static_assertions,
    find_representatives,
)
from shiq.streams.consistency.plan import StreamPlan
from shiq.streams.consistency.spans import END, Spans, find_run_starts
from shiq.streams.consistency.state import StreamPartition
from shiq.streams.consistency.verdicts import (
    EventObserver,
    ObservedEvent,
    Row,
    StreamResult,
    VerdictTimeline,
    make_observed_events,
)
from shiq.streams.consistency.violations import ViolationRowMaker, Violations, conflict_row_sort_key
from shiq.streams.front.checkpoint import pack_state, unpack_state
from shiq.streams.front.event import Event
from shiq.streams.front.intake import EventIntake, EventLimits, StreamTime
from shiq.streams.front.operator import (
    BatchReport,
    BucketState,
    CodedTexts,
    Collector,
    Columns,
    Operator,
    PartitionedEvents,
    RejectedEvent,
    stream_verdict,
)

#: Names are given up when so many more are known than live.
_SPARE_NAMES = 10_000


def assign_buckets(names: Sequence[str], buckets: int) -> Ints:
    """Bucket of each individual or pair, by a hash of its name."""
    if buckets == 1:
        return np.zeros(len(names), np.int64)
    return np.array(
        [crc32(name.encode("utf-8", "surrogatepass")) % buckets for name in names], np.int64
    )


class StaticAssertions(NamedTuple):
    """Assertions that hold at all times, encoded as columns.

    representatives: canonical name of individuals with several names.
    names: individuals by number.
    key, label: number of the individual, and label, of each assertion.
    """

    representatives: Mapping[str, str]
    names: Sequence[str]
    key: Ints
    label: Ints


@dataclass(frozen=True)
class ConsistencyOperator(Operator):
    """Stream operator that finds inconsistent individuals (implements
    `shiq.streams.front.operator.Operator`).

    follow: whether conflicts are reported already when they begin.
    shows_events: whether the collector's observers get the events.
    """

    plan: StreamPlan
    static: StaticAssertions
    limits: EventLimits
    follow: bool = False
    shows_events: bool = False
    buckets: int = 1

    @cached_property
    def _encoder(self) -> TripleEncoder:
        """Encoder of triples; its cached knowledge about data values is shared by all chunks of
        events.
        """
        return TripleEncoder(
            self.plan.view, self.plan.masks, representatives=self.static.representatives
        )

    def partition_events(self, events: Sequence[Event | None]) -> PartitionedEvents:
        """Encode the triples of events as columns for each bucket: individual, label, time, and
        index of the event.
        """
        texts = [text for event in events if event is not None for text in event.triples]
        counts = [0 if event is None else len(event.triples) for event in events]
        owner = np.repeat(np.arange(len(events)), counts)
        times = np.array([-1 if event is None else event.t for event in events], np.int64)
        # What was found out about values is shared, names are numbered anew.
        encoder, refused = (
            replace(self._encoder, names=IndividualIds(), tuples=0),
            list[RejectedEvent](),
        )
        unused = set[int]()

        def note_reject(place: int, kind: str, reason: str, text: str) -> None:
            """Note an unusable triple and its event."""
            unused.add(place)
            refused.append((int(owner[place]), kind, reason, text))

        columns, names = encoder.encode_statements(texts, owner, note_reject), encoder.names.names
        seen = (
            self._make_observer_columns(events, unused, columns, names)
            if self.shows_events
            else None
        )
        parts = {
            bucket: _pack_columns(own, times)
            for bucket, own in self._split_by_bucket(columns, names)
        }
        return PartitionedEvents(
            parts, refused, {"tuples": encoder.tuples}, seen, includes_text=True
        )

    def _split_by_bucket(
        self, columns: EventColumns, names: Sequence[str]
    ) -> Iterator[tuple[int, tuple[EventColumns, Sequence[str]]]]:
        """Yield the index of each bucket with its columns and the names of its own individuals."""
        if self.buckets == 1 or not len(columns.key):
            yield 0, (columns, names)
            return
        bucket = assign_buckets(names, self.buckets)[columns.key]
        at = np.argsort(bucket, kind="stable")
        for rows in np.split(at, find_run_starts(bucket[at])[1:]):
            who, which = np.unique(columns.key[rows], return_inverse=True)
            own = EventColumns(which, columns.label[rows], columns.time[rows])
            yield int(bucket[rows[0]]), (own, [names[n] for n in who.tolist()])

    def _make_observer_columns(
        self,
        events: Sequence[Event | None],
        unused: set[int],
        columns: EventColumns,
        names: Sequence[str],
    ) -> Columns:
        """Columns about each event for the collector's observers: time, usable triples, individuals
        and labels.
        """
        whole = [event or Event(-1) for event in events]
        seen = list(make_observed_events(whole, unused, columns.time, np.arange(len(columns.time))))
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
        """Open the state of a bucket: from saved bytes, or new with the static assertions."""
        found = ConsistencyState(self)
        if state is None:
            _, names, key, label = self.static
            rows = np.flatnonzero(assign_buckets(names, self.buckets)[key] == bucket)
            who, which = np.unique(key[rows], return_inverse=True)
            found.names.replace_names([names[n] for n in who.tolist()])
            found.partition.add_static_assertions(which.astype(np.int64), label[rows])
        else:
            document, columns = unpack_state(state)
            found.names.load_names(columns.pop("names"))
            found.partition.restore(Spans(**columns))
            # States of Spark's buckets had only what was told.
            found.rows.open_starts = document.get("told", document)
            found.partition.strategy.evaluations = document.get("evaluations", 0)
            # Earlier states do not have what bolts cached.
            rows, size, *bolts = document.get("cached", (0, 0))
            found.partition.max_rows, found.partition.max_bytes = rows, size
            found.partition.strategy.max_cached_spans = bolts[0] if bolts else 0
        return found


def _pack_columns(content: tuple[EventColumns, Sequence[str]], times: Ints) -> Columns:
    """Pack the columns of a bucket into the compact types in which they are sent."""
    columns, names = content
    return {
        "who": CodedTexts(columns.key.astype(np.int32), names),
        "label": columns.label.astype(np.int32),
        "t": times[columns.time],
        "event": columns.time.astype(np.int32),
    }


class ConsistencyState(BucketState):
    """State of one bucket: the assertions of its individuals that are live, and the conflicts
    reported so far.

    inconsistent_count: individuals in conflict at the newest time, if the stream is followed.
    live_names: remaining names if the last step dropped others, else None.
    """

    def __init__(self, operator: ConsistencyOperator) -> None:
        self.operator, self.names = operator, IndividualIds()
        self.partition = StreamPartition(operator.plan)
        self.rows = ViolationRowMaker(
            operator.plan, self.partition.finder, self.names, operator.limits.end
        )
        self.inconsistent_count: int | None = None
        self.live_names: set[str] | None = None

    def step(self, parts: Sequence[Columns], moment: StreamTime) -> list[Row]:
        """Add the assertions of a batch. Return output rows of the conflicts that became final and,
        in a followed stream, of those that begin.
        """
        taken = [
            (
                np.array(self.names.find_or_assign_ids(part["who"].texts), np.int64)[
                    part["who"].codes
                ],
                part,
            )
            for part in parts
        ]
        if taken:
            key, label, time = (
                np.concatenate(columns).astype(np.int64, copy=False)
                for columns in zip(*((key, part["label"], part["t"]) for key, part in taken))
            )
            self.partition.add_assertions(key, label, time)
        rows = self.rows.make_final_rows(
            self.partition.remove_ended_assertions(moment.watermark or 0)
        )
        if self.operator.follow and moment.newest is not None:
            found = self.partition.find_live_violations()
            now = (found.start <= moment.newest) & (found.end >= moment.newest)
            self.inconsistent_count = len(np.unique(found.key[now]))
            rows = [*rows, *self.rows.make_opening_rows(found, moment.first or 0, moment.newest)]
        self.live_names = None
        key = self.partition.live_individual_ids()
        if len(self.names.names) > 2 * len(live := key[find_run_starts(key)]) + _SPARE_NAMES:
            self._retain_individuals(live)
            self.live_names = {
                name or "" for n in range(len(live)) for name in self.names.pair_names(n)
            }
        return rows

    def _retain_individuals(self, live: Ints) -> None:
        """Forget all individuals but those with the ids ``live`` (ascending), which get new ids."""
        self.partition.renumber(self.names.keep_ids(live))

    def finish(self, moment: StreamTime) -> list[Row]:
        """Return the remaining conflicts as output rows, clipped to start and end of the stream."""
        limits, found = self.operator.limits, self.partition.finish()
        first = moment.first if limits.start is None else limits.start
        last = moment.newest if limits.end is None else limits.end
        if first is None or last is None:
            return []
        start, end = np.maximum(found.start, first), np.minimum(found.end, last)
        within = Violations(found.key, found.conflict, start, end).select_rows(start <= end)
        return self.rows.make_final_rows(within)

    def to_bytes(self) -> bytes:
        """Serialise the live assertions, the names of individuals and the reported open conflicts."""
        key, partition = self.partition.live_individual_ids(), self.partition
        self._retain_individuals(key[find_run_starts(key)])
        document = {
            "told": self.rows.open_starts,
            "evaluations": partition.strategy.evaluations,
            "cached": [
                partition.max_rows,
                partition.max_bytes,
                partition.strategy.max_cached_spans,
            ],
        }
        return pack_state(
            document, {**partition.spans._asdict(), "names": self.names.names_to_column()}
        )


#: How many events are taken at once.
EVENTS_PER_BATCH = 20_000
#: Individuals are kept in so many buckets, where these are spread over tasks.
BUCKETS_IN_TASKS = 32


@dataclass(frozen=True)
class ConsistencySettings:
    """Settings of a check: start and end of the stream, batch size, accepted kinds of leftovers,
    and whether the run waits for new events.
    """

    start: int | None = option(
        None,
        "First point of the stream. [default: time of the first event]",
        flags=("--from",),
        takes=Takes.INTEGER,
        metavar="M",
    )
    end: int | None = option(
        None,
        "Last point of the stream. [default: time of the last event]",
        flags=("--to",),
        takes=Takes.INTEGER,
        metavar="N",
    )
    batch: int = option(
        EVENTS_PER_BATCH, "Events in a batch; Spark takes all that are there.", minimum=1
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
class ConsistencyCollector(Collector[StreamResult]):
    """Writes the conflicts of one checked stream as output rows and keeps its verdicts (implements
    `shiq.streams.front.operator.Collector`).

    emit: receives rows as they become known.
    inconsistent_count: individuals and pairs in conflict at the newest time, if the stream is
    followed.
    """

    name: ClassVar[str] = "consistency"
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
        self.partition, self.names = StreamPartition(self.plan), IndividualIds()
        self.verdicts = VerdictTimeline(self.plan.window)
        self.leftovers = list(self.plan.leftovers)
        self.intake.window, self.intake.on_reject = self.plan.window, self._record_reject
        self._started_at = perf_counter()

    @property
    def batch_size(self) -> int:
        """Number of events in a step."""
        return self.settings.batch

    def load_static(self, static: Any) -> None:
        """Load the assertions that hold at all times: those of the ontology, and ``static``."""
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
        columns = encode_static_assertions(encoder, assertions, left.append)
        if left:
            reason = "a static assertion that is of neither a named class nor a property"
            self.leftovers.append(
                Leftover("outside-dl-lite", reason, text=str(left[0]), count=len(left))
            )
        self.counts["tuples"] = encoder.tuples
        names = list(encoder.names.names)
        self.static = StaticAssertions(encoder.representatives, names, columns.key, columns.label)
        self.partition.add_static_assertions(columns.key, columns.label)
        if self.observers:
            self.names = encoder.names
        for one in self.observers:
            one.start(self.partition.spans)
        self.verdicts.is_always_undetermined |= any(
            is_blocking(leftover, self.settings.allow) for leftover in self.leftovers
        )
        self._started_at = perf_counter()

    def operator(self, *, in_tasks: bool = False) -> ConsistencyOperator:
        """Operator with the static assertions, to run in this process or in cluster tasks."""
        limits = self.intake.make_limits(self.settings.start, self.settings.end)
        how = self.settings.follow, bool(self.observers), BUCKETS_IN_TASKS if in_tasks else 1
        return ConsistencyOperator(self.plan, self.static, limits, *how)

    def _record_reject(self, kind: str, t: int | None) -> None:
        """Make the verdict undetermined at the times at which a rejected event could be live,
        unless its kind is allowed.
        """
        if kind not in self.settings.allow:
            self.verdicts.record_unused_event(t)

    def observe_rejected(self, text: str) -> None:
        """Pass the text of a rejected record to the observers."""
        for one in self.observers:
            one.observe_rejected(text)

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Write the output rows of a batch: final conflicts, rows of observers, then conflicts that
        begin.
        """
        report.update_intake(self.intake, self.counts)
        self._notify_observers(
            [
                dict(zip(report.collector_columns, of))
                for of in zip(*report.collector_columns.values())
            ]
        )
        found = sorted(rows, key=conflict_row_sort_key)
        for state in report.states:
            self.partition, self.inconsistent_count = state.partition, state.inconsistent_count
            if state.live_names is not None:
                self.verdicts.finish_spans(state.live_names)
        self._emit_final_rows([row for row in found if row["final"]])
        self._advance_observers((self.intake.tracker.watermark or 0) - 1)
        self.emit([row for row in found if not row["final"]])

    def _notify_observers(self, rows: list[Row]) -> None:
        """Pass the events of a batch, one row of columns for each, to the observers."""
        who = self.names.find_or_assign_ids(name for row in rows for name in row["who"])
        label = [number for row in rows for number in row["label"]]
        codes = self.plan.masks.encode_codes(np.array(who, np.int64), np.array(label, np.int64))
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

    def _emit_final_rows(self, rows: list[Row]) -> None:
        """Write output rows of final conflicts and add them to the verdicts."""
        begun = perf_counter()
        self.emit(rows)
        self.verdicts.add_conflict_rows(rows)
        self.rows += rows
        self.seconds["writing"] += perf_counter() - begun

    def _advance_observers(self, upto: int) -> None:
        """Let the observers process all events up to a time; then free the ids of individuals that
        none of them needs.
        """
        for one in self.observers:
            begun = perf_counter()
            rows, unsure = one.advance_watermark(upto)
            self.seconds[one.name] = self.seconds.get(one.name, 0.0) + perf_counter() - begun
            self._emit_final_rows(list(rows))
            for c in unsure:
                self.verdicts.record_undecided_check(c)
        live: Ints = np.unique(
            np.concatenate([[], *(one.needed_individuals() for one in self.observers)])
        )
        if len(self.names.names) > 2 * len(live) + _SPARE_NAMES:
            numbers = self.names.keep_ids(live.astype(np.int64))
            for one in self.observers:
                one.renumber(numbers)

    def finish(self, rows: Iterable[Row]) -> StreamResult:
        """Write the remaining conflicts and return the result of the check."""
        newest, rejects = self.intake.tracker.newest, self.intake.rejects
        rejects.raise_if_all_rejected(newest is None)
        first = self.intake.first if self.settings.start is None else self.settings.start
        last = newest if self.settings.end is None else self.settings.end
        found = sorted(rows, key=conflict_row_sort_key)
        self._advance_observers(END if last is None else last)
        self._emit_final_rows(found)
        is_stream = first is not None and last is not None and first <= last
        runs = self.verdicts.make_verdict_rows(first, last) if is_stream else []  # type: ignore[arg-type]
        leftovers = [*self.leftovers, *rejects.leftovers()]
        values = {run["verdict"] for run in runs}
        undetermined = Verdict.UNDETERMINED.value in values or any(
            is_blocking(leftover, self.settings.allow) for leftover in leftovers
        )
        verdict = stream_verdict(Verdict.INCONSISTENT.value in values, undetermined)
        whole = tuple(sorted(self.rows, key=conflict_row_sort_key))
        return StreamResult(
            verdict, tuple(leftovers), self._collect_statistics(), whole, tuple(runs)
        )

    def _collect_statistics(self) -> dict[str, Any]:
        """Counts, sizes and seconds of the run, as the result reports them."""
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
                "rows": self.partition.max_rows,
                "bytes": self.partition.max_bytes,
                "bolts": self.partition.strategy.max_cached_spans,
            },
            "rejected": dict(self.intake.rejects.counts),
            "seconds": {name: round(spent, 3) for name, spent in self.seconds.items()},
        }

    def state(self) -> bytes:
        """State of the collector for a checkpoint; `restore` reads it."""
        document = {
            "arrivals": self.intake.state(),
            "verdicts": self.verdicts.state(),
            "beside": {one.name: one.state() for one in self.observers},
            "counts": self.counts,
        }
        return pack_state(document, {"names": self.names.names_to_column()})

    def restore(self, state: bytes) -> None:
        """Continue from the `state` that a collector of another run saved with the same static
        assertions.
        """
        document, columns = unpack_state(state)
        if self.observers:
            self.names.load_names(columns["names"])
        self.intake.restore(document["arrivals"])
        self.verdicts.restore(document["verdicts"])
        for one in self.observers:
            one.restore(document["beside"][one.name])
        # Checkpoints of before had the tuples beside the counts.
        self.counts = {"tuples": document.get("tuples", 0), **document["counts"]}

    def legacy_bucket_states(self, state: bytes) -> list[bytes]:
        """Bucket states in a collector's ``state`` that an older version without buckets saved: a
        list of one.
        """
        return [state]
