"""Enrichment as a stream system: operators that make event keys, and a collector with the cache.

The collector writes one row per record of the source, in order, or one row per window.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, ClassVar, Final
from weakref import finalize

import numpy as np

from shiq.answers.verdict import Verdict, is_blocking
from shiq.errors import UsageError
from shiq.jobs.option_fields import option
from shiq.rml.program import MappingProgram
from shiq.streams.enrichment.answers import (
    EnrichedEvent,
    EnrichmentCounts,
    add_row_member,
    event_members,
    has_type,
    make_entry,
    serialise_row,
)
from shiq.streams.enrichment.cache import CacheEntry
from shiq.streams.enrichment.components import EventWindows, TimedWindowEvent
from shiq.streams.enrichment.enricher import Enricher
from shiq.streams.enrichment.entries import parse_entry, parse_key, serialise_entry, serialise_key
from shiq.streams.enrichment.key import EventKey, Key
from shiq.streams.enrichment.knowledge import EventReasoner, StaticKnowledge
from shiq.streams.enrichment.questions import EventQuestion, EventReader, RecordEvent, RecordReader
from shiq.streams.front.event import Event, Record
from shiq.streams.front.intake import (
    MALFORMED,
    EventIntake,
    EventLimits,
    RejectLog,
    StreamTime,
    WatermarkTracker,
)
from shiq.streams.front.operator import (
    BatchReport,
    BucketState,
    CodedTexts,
    Collector,
    Columns,
    Operator,
    PartitionedEvents,
    RejectedEvent,
    Row,
    StreamAnswer,
    stream_verdict,
)


@dataclass
class RecordIntake(EventIntake):
    """Intake of records for enrichment; the header of a CSV source is no event.

    has_times: whether times and ids of records matter.
    """

    reader: RecordReader = field(default_factory=RecordReader)
    seconds: dict[str, float] = field(default_factory=dict)
    has_times: bool = False

    def read_events(self, record: Record) -> tuple[Event | None, ...]:
        """Parse the event of a record: () for a CSV header, (None,) if it is rejected. Each record
        but a header counts as a time point, after which a checkpoint may be saved.
        """
        if self.reader.read_header(record):
            return ()
        begun = perf_counter()
        found = self.read_and_admit(record) if self.has_times else self.parse(record, self.unit)
        self.seconds["reading"] += perf_counter() - begun
        self.points += 1
        return (found,)


@dataclass(frozen=True)
class RowSettings:
    """Options for which rows are written and what they contain."""

    only: tuple[str, ...] = option(
        (), "Write only rows with such a type; repeatable.", is_repeatable=True, metavar="CLASS"
    )
    timings: bool = option(False, "Put the seconds that each event took into its row.")
    explain: tuple[str, ...] = option(
        (),
        "Explain why an individual has this class: one minimal set of assertions and axioms; repeatable.",
        is_repeatable=True,
        metavar="CLASS",
    )
    window: int | None = option(
        None,
        "One row a window: t from c-W to c, at c = first t + W + j*D.",
        flags=("--window", "-w"),
        minimum=0,
    )
    slide: int = option(1, "Distance between windows.", minimum=1, metavar="D")


@dataclass
class EnrichmentCollector(Collector[StreamAnswer]):
    """Collector that answers events and writes their rows
    (`shiq.streams.front.operator.Collector`).

    make_readable: flushes written rows for readers.
    jsonld: whether records are JSON-LD.
    windows: windows to be enriched, one row each; None for one row per event.
    tracker: rejects events that are late for a window.
    """

    name: ClassVar[str] = "enrich"
    #: So few that what waits stays in a processor's cache.
    batch_size = 64
    max_wait_seconds: ClassVar[float] = 1.0
    enricher: Enricher
    write: Callable[[Sequence[str]], None]
    rejects: RejectLog
    unit: str = "sec"
    make_readable: Callable[[], None] = lambda: None
    jsonld: bool = False
    windows: EventWindows | None = None
    tracker: WatermarkTracker = field(default_factory=lambda: WatermarkTracker(None))
    rows: RowSettings = field(default_factory=RowSettings)
    seconds: dict[str, float] = field(default_factory=lambda: {"deciding": 0.0})
    _last_shown: float = 0.0
    _rows: list[str] = field(default_factory=list)
    _unsaved_entries: list[tuple[Key, CacheEntry]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.records = RecordReader.for_reader(self.enricher.reader, self.unit, jsonld=self.jsonld)
        read = self.records.wrap_untimed if self.windows is None else self.records.parse_timed
        self.intake = RecordIntake(
            self.tracker,
            self.rejects,
            self.unit,
            0 if self.windows is None else self.windows.width,
            lambda record, unit: read(record, reader=self.enricher.reader),
            reader=self.records,
            seconds=self.enricher.counts.seconds,
            has_times=self.windows is not None,
        )

    def operator(self, *, in_tasks: bool = False) -> Operator:
        """Operator that makes the questions: in this process, or in Spark tasks with all that they
        need.
        """
        if not in_tasks:
            limits = self.intake.make_limits()
            return LiveOperator(self.enricher, limits, measures_time=self.rows.timings)
        if self.records.form in ("csv", "jsonld"):
            raise UsageError(
                "rows of a table with a mapping, and JSON-LD, are read in one process",
                "Leave out --engine spark.",
            )
        enricher, realizer = self.enricher, self.enricher.realizer
        program = None if enricher.program is None else enricher.program.load_joins()
        asking = realizer.reasoner, realizer.timeout, realizer.heap, realizer.static
        known = {serialise_key(key): serialise_entry(entry) for key, entry in enricher.entries}
        limits = EventLimits(self.unit, None, parse=self.records.wrap_untimed)
        return KeyOperator(
            enricher.knowledge, program, asking, limits, known, enricher.entries.capacity
        )

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Answer the events of a batch and write their rows, or the rows of ended windows.

        rows: cache entries by key, if tasks made them.
        """
        report.update_intake(self.intake, {})
        self._save_entries()
        counts, begun = self.enricher.counts, perf_counter()
        entries, hits, spent = self._read_entries(rows), counts.hits, sum(counts.seconds.values())
        shown = report.collector_columns
        if self.windows is not None:
            for event, line in zip(shown["event"], shown["line"]):
                self.windows.add_event(event, line)
        elif "asked" in shown:
            for line, event, asked, reader, taken in zip(
                shown["line"], shown["event"], shown["asked"], shown["reader"], shown["seconds"]
            ):
                self._write_answer(line, event.raw, asked, reader, taken)
        elif shown:
            for line, given, key in zip(shown["line"], shown["given"], shown["key"]):
                self._write_answer(
                    line, *_parse_task_answer(given, key, entries), self.enricher.reader
                )
        if self.windows is not None and report.stream_time.watermark is not None:
            self._write_windows(
                self.windows.take_windows_ended_before(report.stream_time.watermark)
            )
        report.counts["hits"] = counts.hits - hits
        if begun - self._last_shown >= self.max_wait_seconds:
            self.show_rows()
            self._last_shown = begun
        answering = sum(counts.seconds.values()) - spent
        counts.seconds["writing"] += perf_counter() - begun - answering

    def _read_entries(self, rows: Iterable[Row]) -> dict[str, CacheEntry]:
        """Parse the entries that tasks made, by key text; keep new ones for the file of entries."""
        found = dict[str, CacheEntry]()
        for row in rows:
            found[row["key"]] = parse_entry(row["entry"])
            if row["calls"] is not None:
                self.enricher.realizer.earlier_calls += row["calls"]
                if is_cacheable(row):
                    self._unsaved_entries.append((parse_key(row["key"]), found[row["key"]]))
        return found

    def _save_entries(self) -> None:
        """Write the cache entries of the previous batch to the file of entries."""
        made, self._unsaved_entries = self._unsaved_entries, []
        if made and self.enricher.file is not None:
            self.enricher.file.save(made)

    def _write_answer(
        self,
        line: int,
        raw: RecordEvent,
        question: AskedQuestion,
        reader: Any,
        key_seconds: float = 0.0,
    ) -> None:
        """Answer an event and write its row; ``key_seconds``: seconds spent on its key."""
        begun = perf_counter()
        found = (
            self.enricher.undetermined_answer(f"line {line}: {raw.problem}")
            if question is None
            else self.enricher.answer(question, reader)
        )
        key_seconds += perf_counter() - begun
        if self.rows.only and not has_type(found, self.rows.only):
            return
        if found.reason.startswith("triple "):
            found = found.with_reason(f"line {line}, {found.reason}")
        row = serialise_row(event_members(line, raw.t, raw.id), found)
        if self.rows.explain and type(question) is EventQuestion:
            reasons = self.enricher.explain(question, found, self.rows.explain)
            row = add_row_member(row, "explanations", json.dumps(reasons, ensure_ascii=False))
        self.add_row(
            add_row_member(row, "seconds", f"{key_seconds:.6f}") if self.rows.timings else row
        )

    def _write_windows(self, windows: Iterable[tuple[int, list[TimedWindowEvent]]]) -> None:
        """Enrich windows and write their rows."""
        assert self.windows is not None
        for c, inside in windows:
            begun = perf_counter()
            found = self.enricher.enrich_next_window([held.event for held in inside])
            spent = perf_counter() - begun
            if not self.rows.only or has_type(found, self.rows.only):
                lines = json.dumps([held.line for held in inside])
                span = f"[{c - self.windows.width}, {c}]"
                row = serialise_row(f'"window": {span}, "lines": {lines}', found)
                self.add_row(
                    add_row_member(row, "seconds", f"{spent:.6f}") if self.rows.timings else row
                )

    def add_row(self, row: str) -> None:
        """Buffer a row and write the buffer when it is full."""
        self._rows.append(row)
        if len(self._rows) >= self.batch_size:
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows."""
        if self._rows:
            self.write(self._rows)
            self._rows = []

    def show_rows(self) -> None:
        """Write the buffered rows and make them readable at once."""
        self.flush()
        self.make_readable()

    def state(self) -> bytes:
        """Counts, cache and windows, so that a resumed run writes the same rows."""
        enricher = self.enricher
        self.flush()
        known = [[serialise_key(key), serialise_entry(entry)] for key, entry in enricher.entries]
        found = {
            "counts": vars(enricher.counts),
            "arrivals": self.intake.state(),
            "entries": known,
            "head": self.records.head,
            "calls": enricher.realizer.calls,
            "cache": enricher.entries.state(),
        }
        windows = {} if self.windows is None else self.windows.state()
        if enricher.static_folder is not None:
            windows |= {"static": list(enricher.static_folder.file_hashes.items())}
        return json.dumps({**found, **windows}).encode()

    def restore(self, state: bytes) -> None:
        """Continue from the `state` of another run."""
        found = json.loads(state)
        # Versions with a state for each runner had what is now one within it.
        found = {**found, **found.get("stream", {}), **found.get("own", {})}
        if self.enricher.static_folder is not None:
            self.enricher.static_folder.restore(self.enricher, dict(found["static"]))
        counts = self.enricher.counts = EnrichmentCounts(**found["counts"])
        counts.undetermined -= found.get("broken", 0)
        self.intake.seconds = counts.seconds
        if "arrivals" in found:
            self.intake.restore(found["arrivals"])
        else:
            self.rejects.restore(found["rejects"])
        self.records.head = found["head"]
        self.enricher.realizer.earlier_calls += found["calls"]
        known = [(parse_key(key), parse_entry(entry)) for key, entry in found["entries"]]
        self.enricher.entries.restore(found["cache"], known)
        if self.windows is not None:
            self.windows.restore(found, counts.events > 0)

    def legacy_lines(self, state: bytes) -> dict[str, int]:
        """Number of lines read of each file, from a Spark checkpoint of older versions, which did
        not keep the order of events.
        """
        return json.loads(state)["lines"]

    def finish(self, rows: Iterable[Row]) -> StreamAnswer:
        """Write the last rows and return the result. Raises: InputError if no record could be read."""
        self._save_entries()
        counts, enricher = self.enricher.counts, self.enricher
        broken = self.rejects.counts[MALFORMED]
        if self.windows is None:
            self.rejects.raise_if_all_rejected(broken == counts.events)
        else:
            counts.undetermined += broken
            if self.intake.stream_time.newest is not None:
                self._write_windows(
                    self.windows.take_remaining_windows(self.intake.stream_time.newest)
                )
        self.flush()
        leftovers = (
            *(x for x in enricher.knowledge.leftovers if is_blocking(x, enricher.knowledge.allow)),
            *self.rejects.leftovers(),
        )
        verdict = stream_verdict(bool(counts.inconsistent), bool(counts.undetermined))
        return StreamAnswer(verdict, leftovers, enricher.statistics)


def _parse_task_answer(
    given: str, text: str, entries: Mapping[str, CacheEntry]
) -> tuple[RecordEvent, AskedQuestion]:
    """Rebuild the record and the question of an event from the texts that a task sent about it and
    the entry of its key.
    """
    t, name, problem, names = json.loads(given)
    raw = RecordEvent(t, name, None, problem)
    if not text:
        return raw, None
    if text.startswith(ANSWER_PREFIX):
        return raw, EnrichedEvent(parse_entry(text[len(ANSWER_PREFIX) :]), (), False, ())
    key = parse_key(text) if text.startswith("[") else None
    return raw, EventQuestion(EventKey(key, names), entry=entries[text])


#: Keys are in so many buckets, where these are spread over tasks.
BUCKETS_IN_TASKS: Final = 32
#: How texts begin that are no keys: an answer, the lines of an event without a key. That of a
#: record that is no event is empty.
ANSWER_PREFIX, LINES_PREFIX = "=", "!"
AskedQuestion = EventQuestion | EnrichedEvent | None


def make_questions(
    events: Iterable[Event | None], reader: EventReader, spent: list[float] | None = None
) -> tuple[list[AskedQuestion], list[RejectedEvent]]:
    """Turn each event into the question that the enricher answers (None for a malformed record),
    and list the malformed records.

    spent: receives the seconds that each event took.
    """
    raws: list[RecordEvent | None] = [None if event is None else event.raw for event in events]
    asked = list[AskedQuestion]()
    begun = perf_counter()
    for raw in raws:
        asked.append(None if raw is None or raw.problem else reader.make_question(raw.event))
        if spent is not None:
            now = perf_counter()
            spent.append(now - begun)
            begun = now
    refused: list[RejectedEvent] = [
        (place, MALFORMED, raw.problem, raw.text)
        for place, raw in enumerate(raws)
        if raw is not None and raw.problem
    ]
    return asked, refused


@dataclass(frozen=True)
class LiveOperator(Operator):
    """Operator for runs in one process: passes each event's question to the collector."""

    is_stateful: ClassVar[bool] = False
    shows_events = True
    enricher: Enricher
    limits: EventLimits
    measures_time: bool = False

    def partition_events(self, events: Sequence[Event | None]) -> PartitionedEvents:
        """Apply new static files, then make the questions of the events."""
        if self.enricher.static_folder is not None:
            self.enricher.static_folder.apply_new_files(self.enricher)
        begun, reader = perf_counter(), self.enricher.reader
        spent: list[float] | None = [] if self.measures_time else None
        asked, refused = make_questions(events, reader, spent)
        self.enricher.counts.seconds["keys"] += perf_counter() - begun
        shown = {"event": events, "asked": asked, "reader": [reader] * len(asked)}
        return PartitionedEvents(
            {}, refused, collector_columns={**shown, "seconds": spent or [0.0] * len(asked)}
        )

    def open_state(self, bucket: int, state: bytes | None) -> KeyState:
        """Open an unused state: this operator has nothing to keep in buckets."""
        return KeyState({}, 0, lambda lines: ("", 0))


@dataclass(frozen=True)
class KeyOperator(Operator):
    """Operator in Spark tasks: makes event keys, and reasons about new keys, bucket by bucket.

    reasoner_settings: arguments of the reasoner besides the knowledge.
    initial_entries: entries known at the start, as texts.
    capacity: number of entries in all buckets.
    """

    is_stateful: ClassVar[bool] = False
    shows_events = True
    knowledge: StaticKnowledge
    program: MappingProgram | None
    reasoner_settings: tuple[Any, ...]
    limits: EventLimits
    initial_entries: dict[str, str]
    capacity: int
    buckets: int = BUCKETS_IN_TASKS

    @cached_property
    def reader(self) -> EventReader:
        """Reader that makes questions of events."""
        return EventReader(self.knowledge, self.program)

    @cached_property
    def event_reasoner(self) -> EventReasoner:
        """Reasoner of this Spark worker, whose processes stay warm between batches."""
        found = EventReasoner(self.knowledge, *self.reasoner_settings)
        finalize(self, found.close)
        return found

    def partition_events(self, events: Sequence[Event | None]) -> PartitionedEvents:
        """Split the distinct keys of events by bucket, each with the lines of one of its events.
        The collector gets each event's key.
        """
        asked, refused = make_questions(events, self.reader)
        codes, texts, given = list[int](), list[str](), list[str]()
        numbers, parts = dict[Any, int](), dict[int, dict[str, list[Any]]]()
        for place, (event, one) in enumerate(zip(events, asked)):
            key, order = one.event_key if isinstance(one, EventQuestion) else (None, ())
            code = numbers.get(key, len(texts))
            if code == len(texts):
                texts.append(_serialise_question(one))
                if key is not None:
                    numbers[key] = code
                if isinstance(one, EventQuestion):
                    part = parts.setdefault(self.bucket_index(texts[-1]), {"event": [], "key": []})
                    part["event"].append(place)
                    part["key"].append(texts[-1])
                    part.setdefault("lines", []).append([*one.lines])
            raw: RecordEvent = event.raw if event is not None else RecordEvent(None, None)
            names = [name if isinstance(name, str) else None for name in order]
            codes.append(code)
            given.append(json.dumps([raw.t, raw.id, raw.problem, names]))
        shown = {"key": CodedTexts(np.array(codes, np.int32), texts), "given": given}
        return PartitionedEvents(parts, refused, collector_columns=shown)

    def bucket_index(self, text: str) -> int:
        """Index of the bucket that keeps the entry of a key, given as text."""
        return zlib.crc32(text.encode("utf-8", "surrogatepass")) % self.buckets

    def open_state(self, bucket: int, state: bytes | None) -> KeyState:
        """Open the entries of a bucket, new or from its bytes."""
        known = (
            json.loads(zlib.decompress(state))
            if state
            else {
                key: text
                for key, text in self.initial_entries.items()
                if self.bucket_index(key) == bucket
            }
        )
        return KeyState(known, self.capacity // self.buckets, self.make_entry_by_reasoning)

    def make_entry_by_reasoning(self, lines: Sequence[str]) -> tuple[str, int]:
        """Entry of an event by reasoning, as text, and the number of reasoner calls."""
        asked, before = self.reader.make_question([*lines]), self.event_reasoner.calls
        assert isinstance(asked, EventQuestion)
        found = make_entry(self.event_reasoner.entailed_types(asked.assertions()), asked.event_key)
        return serialise_entry(found), self.event_reasoner.calls - before


def _serialise_question(question: AskedQuestion) -> str:
    """Text by which the collector is told of an event: the key of its question, or the lines of a
    question without key; the answer if it is known already; "" for a malformed record.
    """
    if isinstance(question, EventQuestion):
        key = question.event_key.key
        return LINES_PREFIX + json.dumps([*question.lines]) if key is None else serialise_key(key)
    return "" if question is None else ANSWER_PREFIX + serialise_entry(question.entry)


@dataclass
class KeyState(BucketState):
    """State of a bucket: its cached entries. A lost entry only costs reasoning again.

    capacity: approximate number of entries.
    make_entry: makes an entry from an event's lines.
    """

    entries: dict[str, str]
    capacity: int
    make_entry: Callable[[Sequence[str]], tuple[str, int]]

    def step(self, parts: Sequence[Columns], moment: StreamTime) -> list[Row]:
        """Answer the keys of a batch. Return one row per key with its entry and the number of
        reasoner ``calls`` (None if the entry was cached).
        """
        rows: dict[str, Row] = {}
        for part in parts:
            for text, lines in zip(part["key"], part["lines"]):
                if text not in rows:
                    rows[text] = {"key": text, "entry": self.entries.get(text), "calls": None}
                    if rows[text]["entry"] is None:
                        rows[text]["entry"], rows[text]["calls"] = self.make_entry(lines)
        if len(self.entries) > self.capacity:
            self.entries = {}
        self.entries |= {text: row["entry"] for text, row in rows.items() if is_cacheable(row)}
        return list(rows.values())

    def to_bytes(self) -> bytes:
        """Serialise the cached entries."""
        return zlib.compress(json.dumps(self.entries).encode(), 1) if self.entries else b""


def is_cacheable(row: Row) -> bool:
    """Whether a row of `KeyState.step` has a key and a decided entry."""
    undecided = f'["{Verdict.UNDETERMINED.value}"'
    return not row["key"].startswith(LINES_PREFIX) and not row["entry"].startswith(undecided)
