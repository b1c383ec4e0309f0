"""Records that become events: read, none twice by its id, neither late nor too far ahead; the
others are rejected, aloud.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from streams.front.event import Event, EventError, parse_event
from streams.front.lateness import EventClock
from streams.front.recent_ids import RecentIds
from streams.front.record import Record
from streams.front.rejects import MALFORMED, RejectLog


@dataclass
class Arrivals:
    """What becomes of records, one by one, in order of source and line.

    ``window``: for how long (and the lateness) an id is known, so that a second event of it is
    dropped and counted in ``duplicates``; ``parse``: what a record's bytes say, if not an event
    in JSON; ``unused``: hears the kind and time of what is rejected. ``first``: the least time
    accepted; ``points``: how often time went on.
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
    _ids: RecentIds = field(default_factory=RecentIds)

    def accept(self, record: Record) -> Event | None:
        """The event of a record, if it is one that is used."""
        try:
            if record.problem:
                raise EventError(record.problem)
            event = record.event or self.parse(record.data, self.unit)
        except EventError as error:
            self.reject(MALFORMED, record, str(error), None)
            return None
        if self._ids.has(event.id, event.t, self._span):
            self.duplicates += 1
            return None
        before = self.clock.newest
        kind = self.clock.judge(event.t)
        if kind:
            self.reject(kind, record, self.clock.said(event.t, kind), event.t)
            return None
        self._ids.add(event.id, event.t)
        if self.clock.newest != before:
            self.points += 1
            self._ids.forget(self.clock.watermark, self._span)
        self.first = event.t if self.first is None else min(self.first, event.t)
        return event

    def reject(self, kind: str, record: Record, reason: str, t: int | None) -> None:
        """Takes down what is not used."""
        self.rejects.add(kind, record.source, record.line, reason, record.text)
        self.unused(kind, t)

    @property
    def _span(self) -> int:
        """For how long an id is known."""
        return self.window + (self.clock.lateness or 0)

    def state(self) -> Any:
        """What `restore` takes, as JSON."""
        return {
            "newest": self.clock.newest,
            "first": self.first,
            "points": self.points,
            "duplicates": self.duplicates,
            "ids": self._ids.times,
            "rejects": self.rejects.state(),
        }

    def restore(self, state: Any) -> None:
        """Goes on where another run was."""
        self.clock.newest, self.first = state["newest"], state["first"]
        self.points, self.duplicates, self._ids = (
            state["points"],
            state["duplicates"],
            RecentIds(state["ids"]),
        )
        self.rejects.restore(state["rejects"])
