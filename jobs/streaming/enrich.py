"""Enrichment of streams on Spark: the rows of one process, in its order.

Tasks make the keys of a batch's events, and the rows of those whose entry is known: entries are broadcast. The driver has each
key that is not known reasoned about once in tasks, by one of its events; puts the entries into their file in one step; then
goes through the batch in order, since what is a hit, and what is kept, depends on it; and writes the rows. A batch that is done
again gives the same: a key has one answer, whichever of its events is reasoned about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from time import perf_counter
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from jobs.spark.session import stop
from jobs.spark.worker import kept
from jobs.streaming.chunks import MOST_RECORDS, Limits, packed, unpacked
from jobs.streaming.query import Batches
from jobs.streaming.session import streaming_session
from jobs.streaming.shipped import ShippedValue
from jobs.streaming.sources import chunked, is_kafka
from shiq.errors import UsageError
from shiq.verdict import Verdict
from streams.enrichment.answers import EnrichedEvent, entry_of
from streams.enrichment.cache import Entry
from streams.enrichment.entries import entry_of as entry_of_text
from streams.enrichment.entries import entry_text, key_of, key_text
from streams.enrichment.knowledge import Knowledge
from streams.enrichment.mapping.compiled import Program
from streams.enrichment.positions import Key
from streams.enrichment.questions import EventReader, Question
from streams.enrichment.realize import Realizer
from streams.enrichment.records import RecordReader
from streams.enrichment.rows import has_type, row_halves, row_text, whole_row
from streams.enrichment.stream import EnrichedStream, StreamEnrichment
from streams.front.event import EventError
from streams.front.record import Record
from streams.front.rejects import MALFORMED
from streams.front.run import Run

#: In the column ``key``, for what has none: the verdict's place here, from the end; and for a record that is no event.
_ANSWERED: Final = (Verdict.CONSISTENT, Verdict.INCONSISTENT, Verdict.UNDETERMINED)
_BROKEN: Final = -9
#: What has keys, each with the lines of an event, reasoned about: their entries as texts, and how many questions each took.
Reasoned = Callable[[Sequence[tuple[str, list[str]]]], Iterable[tuple[str, str, int]]]
_COLUMNS: Final = pa.schema({"line": pa.int64(), "key": pa.int32(), "first": pa.string(), "second": pa.string()})


@dataclass(frozen=True)
class EventKeys:
    """What tasks need to make keys of events, and to reason about them."""

    knowledge: Knowledge
    program: Program | None
    reasoner: str
    timeout: float | None
    heap: str
    static: bool
    only: frozenset[str]
    limits: Limits

    @cached_property
    def reader(self) -> EventReader:
        return EventReader(self.knowledge, self.program)

    @property
    def realizer(self) -> Realizer:
        """One a worker, with reasoners that are warm."""

        def opened() -> Realizer:
            return Realizer(self.knowledge, self.reasoner, self.timeout, self.heap, self.static)

        made_by = self.knowledge.digest, self.static, self.reasoner, self.timeout, self.heap
        return kept("realizer", made_by, opened, Realizer.close)

    def answer(self, asked: Question) -> Entry:
        return entry_of(self.realizer.types(asked.assertions()), asked.keyed)


@dataclass
class _Chunk:
    """Events of one piece. ``keys``: those that occur, as texts; ``unknown``: of each that is not known an event, as lines."""

    system: EventKeys
    known: dict[Key, Entry]
    rows: list[tuple[int, int, str | None, str | None]] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, list[str]] = field(default_factory=dict)
    bypassed: int = 0
    calls: int = 0
    _places: dict[Key, int] = field(default_factory=dict)

    def take(self, record: Record, line: int, records: RecordReader) -> None:
        """Takes a record: its row, or what the driver makes one of once its key is known."""
        try:
            t, identifier, event = records.given(record)
        except EventError as error:
            self.rows.append((line, _BROKEN, str(error), record.text))
            return
        asked = self.system.reader.question(event)
        if isinstance(asked, EnrichedEvent):
            self._put(line, -1 - _ANSWERED.index(asked.verdict), asked, t, identifier)
            return
        key, order = asked.keyed
        if key is None:
            before = self.system.realizer.calls
            entry = self.system.answer(asked)
            self.bypassed += 1
            self.calls += self.system.realizer.calls - before
            self._put(line, -1 - _ANSWERED.index(entry.verdict), EnrichedEvent(entry, order, False, ()), t, identifier)
            return
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self._places)
            self.keys[key_text(key)] = place
            if key not in self.known:
                self.unknown[key_text(key)] = [*asked.lines]
        found = self.known.get(key)
        if found is not None:
            self._put(line, place, EnrichedEvent(found, order, True, ()), t, identifier)
        else:
            names = [name if isinstance(name, str) else None for name in order]
            self.rows.append((line, place, json.dumps([t, identifier, names]), None))

    def _put(self, line: int, key: int, found: EnrichedEvent, t: int | None, identifier: str | None) -> None:
        is_shown = not self.system.only or has_type(found, self.system.only)
        self.rows.append((line, key, *(row_halves(found, t, identifier) if is_shown else ("", ""))))

    def packed(self, **told: Any) -> bytes:
        """The chunk as a table, with what is ``told`` of it."""
        columns = [pa.array(column, kind) for column, kind in zip(zip(*self.rows) if self.rows else ((),) * 4, _COLUMNS.types)]
        told |= {"keys": [*self.keys], "unknown": self.unknown, "bypassed": self.bypassed, "calls": self.calls}
        return packed(pa.table(columns, schema=_COLUMNS.with_metadata({"told": json.dumps(told)})))


def chunks_of(
    records: Iterable[Record],
    system: EventKeys,
    place: Callable[[Record, int], list[Any]],
    *,
    known: ShippedValue[dict[Key, Entry]],
    source: str,
    is_topic: bool = False,
    position: tuple[str, int] | None = None,
) -> Iterator[tuple[int, str, bytes]]:
    """See `jobs.streaming.chunks.rows_of`."""
    reader = RecordReader.of(system.reader, system.limits.unit)
    chunk, first, last, before, number = _Chunk(system, known.value), Record(source, 1, b""), 0, 0, 0

    def whole(position: tuple[str, int] | None) -> tuple[int, str, bytes]:
        told = {"source": source, "covers": last - before, "topic": is_topic, "position": position}
        return 0, json.dumps(place(first, number)), chunk.packed(**told)

    for record in records:
        first = first if chunk.rows else record
        last = record.line
        if record.data or record.event or record.problem:
            chunk.take(record, last - (0 if is_topic else before), reader)
        if len(chunk.rows) >= MOST_RECORDS:
            yield whole(None)
            chunk, before, number = _Chunk(system, known.value), last, number + 1
    yield whole(position)


def reasoned(system: ShippedValue[EventKeys], rows: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[str, str, int]]:
    """In a task: the entries of keys, each by one event; how many questions that took."""
    for text, lines in rows:
        own = system.value
        asked, before = own.reader.question(lines), own.realizer.calls
        assert isinstance(asked, Question) and asked.keyed.key is not None and key_text(asked.keyed.key) == text, text
        yield text, entry_text(own.answer(asked)), own.realizer.calls - before


@dataclass
class OrderedRows:
    """The rows of ``stream`` in order; ``lines``: how many each file has had."""

    stream: EnrichedStream
    lines: dict[str, int] = field(default_factory=dict)

    def state(self) -> bytes:
        return json.dumps({"stream": json.loads(self.stream.state()), "lines": self.lines}).encode()

    def restore(self, state: bytes) -> None:
        held = json.loads(state)
        self.lines = held["lines"]
        self.stream.restore(json.dumps(held["stream"]).encode())

    def hear(self, chunks: Sequence[tuple[str, bytes]], known: Mapping[Key, Entry], reasoned: Reasoned) -> dict[str, int]:
        """Takes the chunks of a batch, with their places; how far sources are read by it."""
        seconds, begun = self.stream.enricher.counts.seconds, perf_counter()
        ordered = sorted(((json.loads(place), unpacked(data)) for place, data in chunks), key=lambda chunk: chunk[0])
        tables = [(table, json.loads(table.schema.metadata[b"told"])) for _, table in ordered]
        asked: dict[str, list[str]] = {}
        for _, told in tables:
            asked = {**told["unknown"], **asked}
        entries = self._entries(reasoned([*asked.items()])) if asked else {}
        seconds["deciding"] += (decided := perf_counter()) - begun
        for text in {text for _, told in tables for text in told["keys"]} - entries.keys():
            entries[text] = (key := key_of(text)), known[key]
        for table, told in tables:
            self._take(table, told, entries)
        self.stream.flush()
        seconds["writing"] += perf_counter() - decided
        return dict(told["position"] for _, told in tables if told["position"] is not None)

    def _entries(self, reasoned: Iterable[tuple[str, str, int]]) -> dict[str, tuple[Key, Entry]]:
        """What was reasoned, put into the file of entries."""
        enricher, found = self.stream.enricher, dict[str, tuple[Key, Entry]]()
        for text, entry, calls in reasoned:
            found[text] = key_of(text), entry_of_text(entry)
            enricher.realizer.before += calls
        if enricher.file is not None:
            enricher.file.save(pair for pair in found.values() if pair[1].verdict is not Verdict.UNDETERMINED)
        return found

    def _take(self, table: pa.Table, told: dict[str, Any], entries: Mapping[str, tuple[Key, Entry]]) -> None:
        source, stream = told["source"], self.stream
        before = 0 if told["topic"] else self.lines.get(source, 0)
        if not told["topic"]:
            self.lines[source] = before + told["covers"]
        stream.enricher.counts.bypassed += told["bypassed"]
        stream.enricher.realizer.before += told["calls"]
        keys = list(told["keys"])
        for line, place, first, second in zip(*(column.to_pylist() for column in table.columns)):
            line += before
            if place == _BROKEN:
                stream.rejects.add(MALFORMED, source, line, first, second)
                found = stream.enricher.undecided(f"line {line}: {first}")
                stream.put([row_text(found, line, None, None)] if not stream.only else ())
                continue
            is_hit = place >= 0 and self._met(*entries[keys[place]])
            if place < 0:
                stream.enricher.told(EnrichedEvent(Entry(_ANSWERED[-1 - place]), (), False, ()))
            elif second is None:
                t, identifier, names = json.loads(first)
                found = EnrichedEvent(entries[keys[place]][1], names, is_hit, ())
                is_shown = not stream.only or has_type(found, stream.only)
                first, second = row_halves(found, t, identifier) if is_shown else ("", "")
            if second:
                stream.put([whole_row(line, is_hit, first, second)])

    def _met(self, key: Key, entry: Entry) -> bool:
        """Whether one process would have had the entry, at this place."""
        enricher = self.stream.enricher
        if enricher.entries.find(key) is None:
            enricher.told(EnrichedEvent(entry, (), False, ()))
            enricher.entries.keep(key, entry)
            return False
        enricher.counts.events += 1
        enricher.counts.hits += 1
        enricher.counts.inconsistent += entry.verdict is Verdict.INCONSISTENT
        return True


@dataclass
class EnrichedBatches(Batches):
    """Batches whose events are enriched."""

    system: EventKeys
    listener: OrderedRows
    _known: ShippedValue[dict[Key, Entry]] | None = None

    def planned(self, system: ShippedValue[Any], *, follow: bool) -> DataFrame:
        return self.incoming(follow=follow)

    def hear(self, frame: DataFrame, system: ShippedValue[Any], *, is_new: bool) -> None:
        if not is_new:
            return
        enricher, context, begun = self.listener.stream.enricher, self.session.sparkContext, perf_counter()
        known = ShippedValue(context, dict(enricher.entries)) if self._known is None else self._known
        found = chunked(frame, self.targets, system, partial(chunks_of, known=known)).toArrow()
        enricher.counts.seconds["keys"] += perf_counter() - begun

        def in_tasks(asked: Sequence[tuple[str, list[str]]]) -> list[tuple[str, str, int]]:
            self._known = None
            spread = context.parallelize(asked, min(len(asked), 4 * context.defaultParallelism))
            return spread.mapPartitions(partial(reasoned, system)).collect()

        self._known = known
        chunks = [*zip(found["place"].to_pylist(), found["data"].to_pylist())]
        self.run.status.records += len(chunks)
        self.positions.update(self.listener.hear(chunks, known.value, in_tasks))
        if self._known is None:
            known.destroy()


def on_spark(
    run: Run,
    stream: EnrichedStream,
    targets: Sequence[str],
    *,
    format: str = "auto",
    follow: bool = False,
    master: str | None = None,
) -> StreamEnrichment:
    """What `Run.drive` gives of ``stream``, by Spark Structured Streaming. Raises: UsageError, InputError, OperationalError."""
    session, started = streaming_session(master, kafka=is_kafka(targets))
    try:
        return drive(session, run, stream, targets, format=format, follow=follow)
    finally:
        if started:
            stop(session)


def drive(session: Any, run: Run, stream: EnrichedStream, targets: Sequence[str], **how: Any) -> StreamEnrichment:
    """The same by a session that is there. ``how``: see `Batches`."""
    follow = how.pop("follow", False)
    if stream.records.is_csv:
        raise UsageError("rows of a table with a mapping are read in one process", "Leave out --engine spark.")
    batches = EnrichedBatches(session, targets, event_keys(stream), OrderedRows(stream), run, **how)
    batches.drive(follow=follow)
    result = stream.finish()
    run.outputs.flush()
    return result


def event_keys(stream: EnrichedStream) -> EventKeys:
    """What tasks need of ``stream``."""
    enricher, realizer = stream.enricher, stream.enricher.realizer
    program = None if enricher.program is None else enricher.program.with_joins()
    asked = realizer.reasoner, realizer.timeout, realizer.heap, realizer.static
    return EventKeys(enricher.knowledge, program, *asked, frozenset(stream.only), Limits(stream.unit))
