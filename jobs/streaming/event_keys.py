"""Enrichment in tasks: the keys of events, the rows of those whose entry is known, and entries
for keys that nobody knows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import Broadcast

from jobs.spark.imports import spare_imports
from jobs.spark.worker import kept
from jobs.streaming.chunks import EventLimits, cut, packed
from shiq.rml.compiled import MappingProgram
from shiq.verdict import Verdict
from streams.enrichment.answers import EnrichedEvent, entry_of
from streams.enrichment.cache import Entry
from streams.enrichment.entries import entry_text, key_text
from streams.enrichment.knowledge import StaticKnowledge
from streams.enrichment.positions import Key
from streams.enrichment.questions import EventQuestion, EventReader
from streams.enrichment.realize import Realizer
from streams.enrichment.records import RecordReader
from streams.enrichment.rows import has_type, row_halves
from streams.front.event import EventError
from streams.front.record import Record

#: In the column ``key``, for what has none: the verdict's place here, from the end; and for a
#: record that is no event.
ANSWERED: Final = (Verdict.CONSISTENT, Verdict.INCONSISTENT, Verdict.UNDETERMINED)
BROKEN: Final = -9
_COLUMNS: Final = pa.schema(
    {"line": pa.int64(), "key": pa.int32(), "first": pa.string(), "second": pa.string()}
)


@dataclass(frozen=True)
class EventKeys:
    """What tasks need to make keys of events, and to reason about them."""

    knowledge: StaticKnowledge
    program: MappingProgram | None
    reasoner: str
    timeout: float | None
    heap: str
    static: bool
    only: frozenset[str]
    limits: EventLimits

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

    def answer(self, asked: EventQuestion) -> Entry:
        return entry_of(self.realizer.types(asked.assertions()), asked.keyed)


@dataclass
class _Chunk:
    """Events of one piece. ``keys``: those that occur, as texts; ``unknown``: of each that is
    not known an event, as lines.
    """

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
            t, identifier, event = records.given(record, self.system.reader)
        except EventError as error:
            self.rows.append((line, BROKEN, str(error), record.text))
            return
        asked = self.system.reader.question(event)
        if isinstance(asked, EnrichedEvent):
            self._put(line, -1 - ANSWERED.index(asked.verdict), asked, t, identifier)
            return
        key, order = asked.keyed
        if key is None:
            before = self.system.realizer.calls
            entry = self.system.answer(asked)
            self.bypassed += 1
            self.calls += self.system.realizer.calls - before
            self._put(
                line,
                -1 - ANSWERED.index(entry.verdict),
                EnrichedEvent(entry, order, False, ()),
                t,
                identifier,
            )
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

    def _put(
        self, line: int, key: int, found: EnrichedEvent, t: int | None, identifier: str | None
    ) -> None:
        is_shown = not self.system.only or has_type(found, self.system.only)
        self.rows.append((line, key, *(row_halves(found, t, identifier) if is_shown else ("", ""))))

    def packed(self, **told: Any) -> bytes:
        """The chunk as a table, with what is ``told`` of it."""
        columns = [
            pa.array(column, kind)
            for column, kind in zip(zip(*self.rows) if self.rows else ((),) * 4, _COLUMNS.types)
        ]
        told |= {
            "keys": [*self.keys],
            "unknown": self.unknown,
            "bypassed": self.bypassed,
            "calls": self.calls,
        }
        return packed(pa.table(columns, schema=_COLUMNS.with_metadata({"told": json.dumps(told)})))


def chunks_of(
    records: Iterable[Record],
    system: EventKeys,
    place: Callable[[Record, int], list[Any]],
    *,
    known: Broadcast[dict[Key, Entry]],
    source: str,
    is_topic: bool = False,
    position: tuple[str, int] | None = None,
) -> Iterator[tuple[int, str, bytes]]:
    """See `jobs.streaming.chunks.rows_of`."""
    reader = RecordReader.of(system.reader, system.limits.unit)
    for number, (before, found) in enumerate(cut(records)):
        chunk = _Chunk(system, known.value)
        for record in found:
            if record.data or record.event or record.problem:
                chunk.take(record, record.line - (0 if is_topic else before), reader)
        told = {
            "source": source,
            "covers": found[-1].line - before if found else 0,
            "topic": is_topic,
            "position": position,
        }
        yield (
            0,
            json.dumps(place(found[0] if found else Record(source, 1, b""), number)),
            chunk.packed(**told),
        )


def reasoned(
    system: Broadcast[EventKeys], rows: Iterable[tuple[str, list[str]]]
) -> Iterator[tuple[str, str, int]]:
    """In a task: the entries of keys, each by one event; how many questions that took."""
    spare_imports()
    for text, lines in rows:
        own = system.value
        asked, before = own.reader.question(lines), own.realizer.calls
        assert (
            isinstance(asked, EventQuestion)
            and asked.keyed.key is not None
            and key_text(asked.keyed.key) == text
        ), text
        yield text, entry_text(own.answer(asked)), own.realizer.calls - before
