"""Enrichment of streams on Spark: the rows of one process, in its order.

Tasks make the keys of a batch's events, and the rows of those whose entry is known: entries are
broadcast. The driver has each key that is not known reasoned about once in tasks, by one of its
events; then goes through the batch in order, since what is a hit, and what is kept, depends on
it; and writes the rows. A batch that is done again gives the same: a key has one answer,
whichever of its events is reasoned about. A batch's entries go into their file in one step once
the checkpoint has the batch, so that one that is begun anew does not find its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from time import perf_counter
from typing import Any, ClassVar

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import Broadcast
from pyspark.sql import DataFrame

from jobs.spark.costs import described
from jobs.streaming.batches import Batches
from jobs.streaming.chunks import EventLimits, Row, unpacked
from jobs.streaming.event_keys import ANSWERED, BROKEN, EventKeys, chunks_of, reasoned
from shiq.errors import UsageError
from shiq.verdict import Verdict
from streams.enrichment.answers import EnrichedEvent
from streams.enrichment.cache import Entry
from streams.enrichment.entries import entry_of, key_of
from streams.enrichment.positions import Key
from streams.enrichment.rows import has_type, row_halves, row_text, whole_row
from streams.enrichment.stream import EnrichedStream
from streams.front.rejects import MALFORMED
from streams.front.result import StreamAnswer

#: What has keys, each with the lines of an event, reasoned about: their entries as texts, and how
#: many questions each took.
Reasoned = Callable[[Sequence[tuple[str, list[str]]]], Iterable[tuple[str, str, int]]]


@dataclass
class OrderedRows:
    """The rows of ``stream`` in order; ``lines``: how many each file has had.
    `jobs.streaming.query.Face`.
    """

    name: ClassVar[str] = "enrich"
    stream: EnrichedStream
    lines: dict[str, int] = field(default_factory=dict)
    _made: list[tuple[Key, Entry]] = field(default_factory=list)

    @cached_property
    def system(self) -> EventKeys:
        """What tasks need of ``stream``."""
        if self.stream.records.form in ("csv", "jsonld"):
            raise UsageError(
                "rows of a table with a mapping, and JSON-LD, are read in one process",
                "Leave out --engine spark.",
            )
        enricher, realizer = self.stream.enricher, self.stream.enricher.realizer
        program = None if enricher.program is None else enricher.program.with_joins()
        asked = realizer.reasoner, realizer.timeout, realizer.heap, realizer.static
        return EventKeys(
            enricher.knowledge,
            program,
            *asked,
            frozenset(self.stream.only),
            EventLimits(self.stream.unit),
        )

    def state(self) -> bytes:
        return json.dumps({"stream": json.loads(self.stream.state()), "lines": self.lines}).encode()

    def restore(self, state: bytes) -> None:
        held = json.loads(state)
        self.lines = held["lines"]
        self.stream.restore(json.dumps(held["stream"]).encode())

    def hear(
        self, chunks: Sequence[tuple[str, bytes]], known: Mapping[Key, Entry], reasoned: Reasoned
    ) -> dict[str, int]:
        """Takes the chunks of a batch, with their places; how far sources are read by it."""
        self._store()
        seconds, begun = self.stream.enricher.counts.seconds, perf_counter()
        ordered = sorted(
            ((json.loads(place), unpacked(data)) for place, data in chunks),
            key=lambda chunk: chunk[0],
        )
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
        """What was reasoned, to be put into the file of entries."""
        enricher, found = self.stream.enricher, dict[str, tuple[Key, Entry]]()
        for text, entry, calls in reasoned:
            found[text] = key_of(text), entry_of(entry)
            enricher.realizer.before += calls
        self._made = [
            pair for pair in found.values() if pair[1].verdict is not Verdict.UNDETERMINED
        ]
        return found

    def _store(self) -> None:
        """Puts what the batch before made into the file of entries."""
        made, self._made = self._made, []
        if self.stream.enricher.file is not None:
            self.stream.enricher.file.save(made)

    def _take(
        self, table: pa.Table, told: dict[str, Any], entries: Mapping[str, tuple[Key, Entry]]
    ) -> None:
        source, stream = told["source"], self.stream
        before = 0 if told["topic"] else self.lines.get(source, 0)
        if not told["topic"]:
            self.lines[source] = before + told["covers"]
        stream.enricher.counts.bypassed += told["bypassed"]
        stream.enricher.realizer.before += told["calls"]
        keys = list(told["keys"])
        for line, place, first, second in zip(*(column.to_pylist() for column in table.columns)):
            line += before
            if place == BROKEN:
                stream.rejects.add(MALFORMED, source, line, first, second)
                found = stream.enricher.undecided(f"line {line}: {first}")
                stream.put([row_text(found, line, None, None)] if not stream.only else ())
                continue
            is_hit = place >= 0 and self._met(*entries[keys[place]])
            if place < 0:
                stream.enricher.told(EnrichedEvent(Entry(ANSWERED[-1 - place]), (), False, ()))
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

    def finish(self, rows: Sequence[Row]) -> StreamAnswer:
        """What came of the stream; the end brings no rows."""
        self._store()
        return self.stream.finish()


@dataclass
class EnrichedBatches(Batches):
    """Batches whose events are enriched."""

    system: EventKeys
    listener: OrderedRows
    _known: Broadcast[dict[Key, Entry]] | None = None

    def hear(
        self, frame: DataFrame, system: Broadcast[EventKeys], number: int
    ) -> Mapping[str, int]:
        enricher, context, begun = (
            self.listener.stream.enricher,
            self.session.sparkContext,
            perf_counter(),
        )
        known: Broadcast[dict[Key, Entry]] = (
            context.broadcast(dict(enricher.entries)) if self._known is None else self._known
        )
        with described(self.session, f"{self.query_name}: batch {number}, keys"):
            found = self.chunks(frame, system, partial(chunks_of, known=known)).collect()
        enricher.counts.seconds["keys"] += perf_counter() - begun

        def in_tasks(asked: Sequence[tuple[str, list[str]]]) -> list[tuple[str, str, int]]:
            self._known = None
            spread = context.parallelize(asked, min(len(asked), 4 * self.width))
            with described(self.session, f"{self.query_name}: batch {number}, reason"):
                return spread.mapPartitions(partial(reasoned, system)).collect()

        self._known = known
        before, hits = enricher.counts.events, enricher.counts.hits
        self.run.status.records += len(found)
        self.positions.update(
            self.listener.hear([(place, data) for _, place, data in found], known.value, in_tasks)
        )
        if self._known is None:
            known.destroy()
        return {"events": enricher.counts.events - before, "hits": enricher.counts.hits - hits}
