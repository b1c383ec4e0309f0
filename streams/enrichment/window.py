"""Windows of events: what follows of all that they hold together, one answer a window (SPEC 001,
section 7).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import NamedTuple

from streams.enrichment.components import WindowEvent
from streams.enrichment.rows import has_type, types_text
from streams.enrichment.stream import EnrichedStream
from streams.front.arrivals import Arrivals
from streams.front.record import Record
from streams.front.rejects import MALFORMED
from streams.front.result import StreamAnswer


class _Held(NamedTuple):
    """An event in a window: its time, its line in the source."""

    t: int
    line: int
    event: WindowEvent


@dataclass
class WindowedStream:
    """Records in, one row a window out. A window holds t from c - ``width`` to c, at c = first t
    + width + j * ``slide``; it is decided when nothing that belongs to it can come any more.
    """

    stream: EnrichedStream
    arrivals: Arrivals
    width: int
    slide: int = 1
    _held: list[_Held] = field(default_factory=list)
    _next: int | None = None
    _broken: int = 0

    def __post_init__(self) -> None:
        self.arrivals.window = self.width
        if self.stream.records.form != "triples":
            self.arrivals.parse = lambda data, unit: self.stream.records.timed(
                data, self.stream.enricher.reader
            )

    def take(self, record: Record) -> bool:
        """Takes an event into its windows; decides those that are over."""
        if self.stream.records.takes_head(record):
            return False
        event = self.arrivals.accept(record)
        counts = self.stream.enricher.counts
        if event is None:
            counts.undetermined += self.arrivals.rejects.counts[MALFORMED] > self._broken
            self._broken = self.arrivals.rejects.counts[MALFORMED]
            return False
        self._held.append(_Held(event.t, record.line, WindowEvent.of(event.triples)))
        if self._next is None or (event.t + self.width < self._next and not counts.events):
            self._next = event.t + self.width
        watermark = self.arrivals.clock.watermark
        if watermark is not None:
            self._decide(watermark)
        return True

    def _decide(self, before: int) -> None:
        """Decides the windows that end ``before``."""
        while self._next is not None and self._next < before:
            self._one(self._next)
            self._next += self.slide

    def _one(self, c: int) -> None:
        first = c - self.width
        self._held = [held for held in self._held if held.t >= first]
        inside = sorted((held for held in self._held if held.t <= c), key=lambda held: held.line)
        found = self.stream.enricher.window([held.event for held in inside])
        if not self.stream.only or has_type(found, self.stream.only):
            lines = json.dumps([held.line for held in inside])
            reason = json.dumps(found.reason, ensure_ascii=False)
            hit = "true" if found.hit else "false"
            told = f'"verdict": "{found.verdict.value}", "hit": {hit}, {types_text(found)}, "reason": {reason}'
            self.stream.write([f'{{"window": [{first}, {c}], "lines": {lines}, {told}}}'])

    def flush(self) -> None:
        """Rows do not wait."""

    def state(self) -> bytes:
        """What a run goes on from."""
        held = [(held.t, held.line, held.event.given) for held in self._held]
        own = {
            "held": held,
            "next": self._next,
            "arrivals": self.arrivals.state(),
            "broken": self._broken,
        }
        return json.dumps({"own": own, "stream": json.loads(self.stream.state())}).encode()

    def restore(self, state: bytes) -> None:
        """Goes on from the `state` of another run."""
        found = json.loads(state)
        own = found["own"]
        self.stream.restore(json.dumps(found["stream"]).encode())
        self.arrivals.restore(own["arrivals"])
        self._held = [_Held(t, line, WindowEvent.of(triples)) for t, line, triples in own["held"]]
        self._next, self._broken = own["next"], own["broken"]

    def finish(self) -> StreamAnswer:
        """Decides the windows up to the one that holds the last event."""
        newest = self.arrivals.clock.newest
        while (
            self._next is not None
            and newest is not None
            and (self._next - self.slide < newest or not self._decided_any())
        ):
            self._one(self._next)
            self._next += self.slide
        return self.stream.finish()

    def _decided_any(self) -> bool:
        return self.stream.enricher.counts.events > 0
