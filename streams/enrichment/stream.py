"""A stream enriched event by event: one row a line, in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from shiq.verdict import blocks
from streams.enrichment.answers import EnrichmentCounts
from streams.enrichment.enricher import Enricher
from streams.enrichment.entries import entry_of, entry_text, key_of, key_text
from streams.enrichment.records import RecordReader
from streams.enrichment.rows import has_type, row_text
from streams.front.event import EventError
from streams.front.record import Record
from streams.front.rejects import MALFORMED, RejectLog
from streams.front.result import StreamAnswer, verdict_of


@dataclass
class EnrichedStream:
    """Records in, rows out (`streams.front.run.StreamSystem`). ``only``: keeps rows with one of
    these types; ``push`` makes those that were written readable at once; ``jsonld``: records are
    such objects.
    """

    enricher: Enricher
    write: Callable[[Sequence[str]], None]
    rejects: RejectLog
    unit: str = "sec"
    only: Collection[str] = ()
    push: Callable[[], None] = lambda: None
    jsonld: bool = False
    _shown: float = 0.0
    _rows: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.records = RecordReader.of(self.enricher.reader, self.unit, jsonld=self.jsonld)

    def take(self, record: Record) -> bool:
        """Enriches the event of a record."""
        if self.records.takes_head(record):
            return False
        begun = perf_counter()
        seconds = self.enricher.counts.seconds
        t = identifier = None
        try:
            t, identifier, event = self.records.given(record, self.enricher.reader)
            seconds["reading"] += perf_counter() - begun
            found = self.enricher.enrich(event)
        except EventError as error:
            self.rejects.add(MALFORMED, record.source, record.line, str(error), record.text)
            t, identifier = error.t, error.id
            found = self.enricher.undecided(f"line {record.line}: {error}")
        begun = perf_counter()
        if not self.only or has_type(found, self.only):
            self.put([row_text(found, record.line, t, identifier)])
        if begun - self._shown >= 1.0:
            self.show()
            self._shown = begun
        seconds["writing"] += perf_counter() - begun
        return True

    def put(self, rows: Iterable[str]) -> None:
        """Takes rows to be written."""
        self._rows += rows
        if len(self._rows) >= 500:
            self.flush()

    def flush(self) -> None:
        """Writes the rows that wait."""
        if self._rows:
            self.write(self._rows)
            self._rows = []

    def show(self) -> None:
        """Writes the rows that wait, to be read at once."""
        self.flush()
        self.push()

    def state(self) -> bytes:
        """What was counted and what is known, so that rows say the same of hits after a restart."""
        enricher = self.enricher
        counts = vars(enricher.counts)
        known = [[key_text(key), entry_text(entry)] for key, entry in enricher.entries]
        return json.dumps(
            {
                "counts": counts,
                "rejects": self.rejects.state(),
                "entries": known,
                "head": self.records.head,
                "calls": enricher.realizer.calls,
                "cache": enricher.entries.state(),
            }
        ).encode()

    def restore(self, state: bytes) -> None:
        """Goes on from the `state` of another run."""
        held = json.loads(state)
        self.enricher.counts = EnrichmentCounts(**held["counts"])
        self.rejects.restore(held["rejects"])
        self.records.head = held["head"]
        self.enricher.realizer.before += held["calls"]
        known = [(key_of(key), entry_of(entry)) for key, entry in held["entries"]]
        self.enricher.entries.restore(held["cache"], known)

    def finish(self) -> StreamAnswer:
        """What came of it all. Raises: InputError where no line could be read."""
        self.flush()
        counts, enricher = self.enricher.counts, self.enricher
        broken = self.rejects.counts[MALFORMED]
        self.rejects.refuse_if_all(broken == counts.events)
        leftovers = (
            *(x for x in enricher.knowledge.leftovers if blocks(x, enricher.knowledge.allow)),
            *self.rejects.leftovers(),
        )
        verdict = verdict_of(bool(counts.inconsistent), bool(counts.undetermined))
        return StreamAnswer(verdict, leftovers, enricher.statistics)
