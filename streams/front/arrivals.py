"""Records that become events: read, none twice by its id, neither late nor too far ahead; the others are rejected, aloud."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from streams.front.event import Event, EventError, parse_event
from streams.front.lateness import EventClock
from streams.front.record import Record
from streams.front.rejects import MALFORMED, RejectLog

#: Ids are looked through for those that cannot matter any more when so many are known.
_MANY_IDS = 10_000


@dataclass
class Arrivals:
    """What becomes of records, one by one, in order of source and line.

    ``window``: for how long (and the lateness) an id is known, so that a second event of it is dropped and counted in
    ``duplicates``; ``parse``: what a record's bytes say, if not an event in JSON; ``unused``: hears the kind and time of what
    is rejected. ``first``: the least time accepted; ``points``: how often time went on.
    """

    clock: EventClock
    rejects: RejectLog
    unit: str = "sec"
    window: int = 0
    parse: Callable[[bytes, str], Event] = parse_event
    unused: Callable[[str, int | None], None] = lambda kind, t: None
    first: int | None = None
    points: int = 0
    duplicates: int = 0
    _ids: dict[str, int] = field(default_factory=dict)

    def accept(self, record: Record) -> Event | None:
        """The event of a record, if it is one that is used."""
        try:
            if record.problem:
                raise EventError(record.problem)
            event = record.event or self.parse(record.data, self.unit)
        except EventError as error:
            self.reject(MALFORMED, record, str(error), None)
            return None
        if event.id is not None and self._is_known(event.id, event.t):
            self.duplicates += 1
            return None
        before = self.clock.newest
        kind = self.clock.judge(event.t)
        if kind:
            self.reject(kind, record, self.clock.said(event.t, kind), event.t)
            return None
        if event.id is not None:
            self._ids[event.id] = event.t
        if self.clock.newest != before:
            self.points += 1
            self._forget()
        self.first = event.t if self.first is None else min(self.first, event.t)
        return event

    def reject(self, kind: str, record: Record, reason: str, t: int | None) -> None:
        """Takes down what is not used."""
        self.rejects.add(kind, record.source, record.line, reason, record.text)
        self.unused(kind, t)

    def _is_known(self, name: str, t: int) -> bool:
        """Whether an event of this id came before, and can still matter."""
        before = self._ids.get(name)
        return before is not None and t - before <= self.window + (self.clock.lateness or 0)

    def _forget(self) -> None:
        """Lets ids go that no event can be the second of."""
        watermark = self.clock.watermark
        if len(self._ids) >= _MANY_IDS and watermark is not None:
            oldest = watermark - self.window - (self.clock.lateness or 0)
            kept = {name: t for name, t in self._ids.items() if t >= oldest}
            if len(kept) < len(self._ids) / 2:
                self._ids = kept

    def state(self) -> Any:
        """What `restore` takes, as JSON."""
        return {
            "newest": self.clock.newest,
            "first": self.first,
            "points": self.points,
            "duplicates": self.duplicates,
            "ids": self._ids,
            "rejects": self.rejects.state(),
        }

    def restore(self, state: Any) -> None:
        """Goes on where another run was."""
        self.clock.newest, self.first = state["newest"], state["first"]
        self.points, self.duplicates, self._ids = state["points"], state["duplicates"], state["ids"]
        self.rejects.restore(state["rejects"])
