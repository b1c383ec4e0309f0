"""Enrichment as an operator: each event by its key; in tasks, the entries of keys by bucket.

The collector has the cache, and is shown all events in order, since what is a hit, and what is
kept, depends on it. In this process it asks about what it does not have. In tasks a bucket
reasons once about each key that is one of its own, by one of the events, and tells the entries of
the keys of a batch: a key has one answer, whichever of its events is asked about.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, ClassVar, Final
from weakref import finalize

import numpy as np

from shiq.answers.verdict import Verdict
from shiq.rml.program import MappingProgram
from shiq.streams.enrichment.answers import EnrichedEvent, entry_of
from shiq.streams.enrichment.enricher import Enricher
from shiq.streams.enrichment.entries import entry_text, key_text
from shiq.streams.enrichment.knowledge import StaticKnowledge
from shiq.streams.enrichment.questions import EventQuestion, EventReader, RecordEvent
from shiq.streams.enrichment.realize import Realizer
from shiq.streams.front.arrivals import EventLimits, Moment
from shiq.streams.front.event import Event
from shiq.streams.front.operator import CodedTexts, Columns, Refused, Row, Split
from shiq.streams.front.rejects import MALFORMED

#: Keys are in so many buckets, where these are spread over tasks.
BUCKETS: Final = 32
#: How texts begin that are no keys: an answer, the lines of an event without a key. That of a
#: record that is no event is empty.
ANSWER, LINES = "=", "!"
Asked = EventQuestion | EnrichedEvent | None


def questions(
    events: Iterable[Event | None], reader: EventReader
) -> tuple[list[Asked], list[Refused]]:
    """What each event asks, None where a record is none, or is asked about in a window; and
    which records are no events.
    """
    raws: list[RecordEvent | None] = [None if event is None else event.raw for event in events]
    asked: list[Asked] = [
        None if raw is None or raw.problem else reader.question(raw.event) for raw in raws
    ]
    refused: list[Refused] = [
        (place, MALFORMED, raw.problem, raw.text)
        for place, raw in enumerate(raws)
        if raw is not None and raw.problem
    ]
    return asked, refused


@dataclass(frozen=True)
class LiveOperator:
    """`shiq.streams.front.operator.Operator` in this process: the collector is shown what each
    event asks the ``enricher``.
    """

    shows: ClassVar[bool] = True
    durable: ClassVar[bool] = False
    buckets: ClassVar[int] = 1
    enricher: Enricher
    limits: EventLimits

    def split(self, events: Sequence[Event | None]) -> Split:
        """The events, and what they ask."""
        begun, reader = perf_counter(), self.enricher.reader
        asked, refused = questions(events, reader)
        self.enricher.counts.seconds["keys"] += perf_counter() - begun
        shown = {"event": events, "asked": asked, "reader": [reader] * len(asked)}
        return Split({}, refused, shown=shown)

    def open(self, bucket: int, state: bytes | None) -> KeyState:
        """Nothing is kept in buckets."""
        return KeyState({}, 0, lambda lines: ("", 0))


@dataclass(frozen=True)
class KeyOperator:
    """The same in tasks. ``asking``: what a `Realizer` is opened with beside the knowledge;
    ``known``: entries by key, as texts, to begin with; a bucket keeps ``capacity``.
    """

    shows: ClassVar[bool] = True
    durable: ClassVar[bool] = False
    knowledge: StaticKnowledge
    program: MappingProgram | None
    asking: tuple[Any, ...]
    limits: EventLimits
    known: dict[str, str]
    capacity: int
    buckets: int = BUCKETS

    @cached_property
    def reader(self) -> EventReader:
        return EventReader(self.knowledge, self.program)

    @cached_property
    def realizer(self) -> Realizer:
        """One a worker, whose reasoners stay warm."""
        found = Realizer(self.knowledge, *self.asking)
        finalize(self, found.close)
        return found

    def split(self, events: Sequence[Event | None]) -> Split:
        """Keys by bucket, each with the lines of an event; shown: the key, answer or lines of
        each event, and what else its row has.
        """
        asked, refused = questions(events, self.reader)
        codes, texts, given = list[int](), list[str](), list[str]()
        numbers, parts = dict[Any, int](), dict[int, dict[str, list[Any]]]()
        for place, (event, one) in enumerate(zip(events, asked)):
            key, order = one.keyed if isinstance(one, EventQuestion) else (None, ())
            code = numbers.get(key, len(texts))
            if code == len(texts):
                texts.append(_text_of(one))
                if key is not None:
                    numbers[key] = code
                if isinstance(one, EventQuestion):
                    part = parts.setdefault(self.bucket_of(texts[-1]), {"event": [], "key": []})
                    part["event"].append(place)
                    part["key"].append(texts[-1])
                    part.setdefault("lines", []).append([*one.lines])
            raw: RecordEvent = event.raw if event is not None else RecordEvent(None, None)
            names = [name if isinstance(name, str) else None for name in order]
            codes.append(code)
            given.append(json.dumps([raw.t, raw.id, raw.problem, names]))
        shown = {"key": CodedTexts(np.array(codes, np.int32), texts), "given": given}
        return Split(parts, refused, shown=shown)

    def bucket_of(self, text: str) -> int:
        return zlib.crc32(text.encode("utf-8", "surrogatepass")) % self.buckets

    def open(self, bucket: int, state: bytes | None) -> KeyState:
        """The entries of a bucket."""
        known = (
            json.loads(zlib.decompress(state))
            if state
            else {key: text for key, text in self.known.items() if self.bucket_of(key) == bucket}
        )
        return KeyState(known, self.capacity // self.buckets, self.entry)

    def entry(self, lines: Sequence[str]) -> tuple[str, int]:
        """The entry of an event as text, and how many questions it took."""
        asked, before = self.reader.question([*lines]), self.realizer.calls
        assert isinstance(asked, EventQuestion)
        found = entry_of(self.realizer.types(asked.assertions()), asked.keyed)
        return entry_text(found), self.realizer.calls - before


def _text_of(asked: Asked) -> str:
    if isinstance(asked, EventQuestion):
        key = asked.keyed.key
        return LINES + json.dumps([*asked.lines]) if key is None else key_text(key)
    return "" if asked is None else ANSWER + entry_text(asked.entry)


@dataclass
class KeyState:
    """The entries that a bucket knows, about ``capacity`` of them; ``entry``: makes others. They
    are no more than a memory: what is lost is reasoned about again.
    """

    known: dict[str, str]
    capacity: int
    entry: Callable[[Sequence[str]], tuple[str, int]]

    def step(self, parts: Sequence[Columns], moment: Moment) -> list[Row]:
        """The entry of each key; ``calls``: how many questions it took, None where it was known."""
        rows: dict[str, Row] = {}
        for part in parts:
            for text, lines in zip(part["key"], part["lines"]):
                if text not in rows:
                    rows[text] = {"key": text, "entry": self.known.get(text), "calls": None}
                    if rows[text]["entry"] is None:
                        rows[text]["entry"], rows[text]["calls"] = self.entry(lines)
        if len(self.known) > self.capacity:
            self.known = {}
        self.known |= {text: row["entry"] for text, row in rows.items() if is_kept(row)}
        return list(rows.values())

    def finish(self, moment: Moment) -> Iterable[Row]:
        """Nothing: all is told as it comes."""
        return ()

    def to_bytes(self) -> bytes:
        return zlib.compress(json.dumps(self.known).encode(), 1) if self.known else b""


def is_kept(row: Row) -> bool:
    """Whether the entry of a row of `KeyState.step` is one of a key, and decided."""
    undecided = f'["{Verdict.UNDETERMINED.value}"'
    return not row["key"].startswith(LINES) and not row["entry"].startswith(undecided)
