"""Admission of records to a stream: parse events, drop duplicates, and reject malformed, late or
far-ahead ones.

Rejected records are counted by kind and written to the reject log, one JSON object a line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from shiq import model as owl
from shiq.answers.verdict import Leftover
from shiq.errors import InputError
from shiq.streams.front.event import Event, EventError, Record, event_from_record

# Ids of events, known for as long as a second event of one can come and is dropped.


#: Ids are looked through for those that cannot matter any more when so many are known.
_PRUNE_ABOVE: Final = 10_000


@dataclass
class RecentIds:
    """Identifiers of recent events with their newest times, to recognise duplicates.

    span: parameter of the methods, how long an id is remembered: the window plus the lateness.

    >>> ids = RecentIds()
    >>> ids.add_id("a", 5)
    >>> ids.is_known("a", 8, span=3), ids.is_known("a", 9, span=3), ids.is_known("b", 5, span=3), ids.is_known(None, 5, span=3)
    (True, False, False, False)
    """

    times: dict[str, int] = field(default_factory=dict)

    def is_known(self, name: str | None, t: int, span: int) -> bool:
        """Whether an event with the identifier ``name`` was accepted whose time is at least ``t`` -
        ``span``.
        """
        before = None if name is None else self.times.get(name)
        return before is not None and t - before <= span

    def add_id(self, name: str | None, t: int) -> None:
        """Remember the identifier and time of an accepted event."""
        if name is not None:
            self.times[name] = t

    def drop_old_ids(self, watermark: int | None, span: int) -> None:
        """Drop identifiers that are too old to match an event from ``watermark`` on."""
        if len(self.times) >= _PRUNE_ABOVE and watermark is not None:
            kept = {name: t for name, t in self.times.items() if t >= watermark - span}
            if len(kept) < len(self.times) / 2:
                self.times = kept


# Which events come too late, or are too far ahead to be believed; judged event by event, in
# order of source and line.


class StreamTime(NamedTuple):
    """Progress of a stream: first and newest accepted time, and the watermark."""

    first: int | None = None
    newest: int | None = None
    watermark: int | None = None


@dataclass
class WatermarkTracker:
    """Tracker of a stream's newest time and watermark, which finds events that are late or too far
    ahead.

    An event is accepted from newest - ``lateness`` to newest + ``max_ahead``. With lateness None
    nothing is late: a finite source may be read in any order. All times up to ``closed_until`` are
    late, whatever the watermark.

    >>> tracker = WatermarkTracker(lateness=2, max_ahead=100)
    >>> [tracker.classify(t) for t in (10, 8, 7, 200, 11)], tracker.newest, tracker.watermark
    (['', '', 'late', 'ahead', ''], 11, 9)
    """

    lateness: int | None = 0
    max_ahead: int = 100_000
    newest: int | None = None
    closed_until: int | None = None

    def classify(self, t: int) -> str:
        """Classify an event with the time ``t``: return "" to accept it, or the kind of its
        rejection, "late" or "ahead".

        An accepted event may advance the newest time. The first event is always accepted.
        """
        if self.closed_until is not None and t <= self.closed_until:
            return LATE
        if self.newest is None:
            self.newest = t
        elif self.lateness is not None and t < self.newest - self.lateness:
            return LATE
        elif t > self.newest + self.max_ahead:
            return AHEAD
        else:
            self.newest = max(self.newest, t)
        return ""

    @property
    def watermark(self) -> int | None:
        """Time before which every event is late; None before the first event, and if no event is
        late.
        """
        return None if self.newest is None or self.lateness is None else self.newest - self.lateness

    def explain_reject(self, t: int, kind: str) -> str:
        """Explain to users why an event with the time ``t`` was rejected."""
        if kind == LATE and self.closed_until is not None and t <= self.closed_until:
            return f"t = {t} is not behind {self.closed_until}, a closed point"
        if kind == LATE:
            return (
                f"t = {t} is before {self.watermark}: the newest was {self.newest}, "
                f"and the lateness allowed is {self.lateness}"
            )
        return (
            f"t = {t} is more than {self.max_ahead:,} after the newest, {self.newest} (--max-ahead)"
        )


@dataclass(frozen=True)
class EventLimits:
    """Acceptance rules for events, as plain data for the tasks of a cluster.

    unit, lateness, max_ahead, window, parse: as in `EventIntake`.
    start, end: first and last time used; events outside are counted only.
    step: divisor of times.
    """

    unit: str = "sec"
    lateness: int | None = 0
    max_ahead: int = 100_000
    window: int = 0
    start: int | None = None
    end: int | None = None
    parse: Callable[[Record, str], Event] = event_from_record
    step: int = 1

    def read_event(self, record: Record) -> Event:
        """Parse a record as an event, whose time is divided by ``step``. Raises: EventError."""
        found = self.parse(record, self.unit)
        return found if self.step == 1 else found._replace(t=found.t // self.step)

    def contains_time(self, t: int) -> bool:
        """Whether the time ``t`` lies between ``start`` and ``end`` of the stream."""
        return (self.start is None or self.start <= t) and (self.end is None or t <= self.end)


@dataclass
class EventIntake:
    """Admission of records to a stream, one by one: parses events, drops duplicates, rejects, and
    advances the watermark.

    window: an id is remembered for this long plus the lateness.
    parse: reader of records that are not JSON events.
    on_reject: called with the kind and time of each reject.
    before_reject: called before a reject is logged.
    first: smallest accepted time.
    step: divisor of times.
    points: number of times that the newest time advanced.
    duplicates: number of events dropped because their id is known.
    """

    tracker: WatermarkTracker
    rejects: RejectLog
    unit: str = "sec"
    window: int = 0
    parse: Callable[[Record, str], Event] = event_from_record
    on_reject: Callable[[str, int | None], None] = lambda kind, t: None
    before_reject: Callable[[], None] = lambda: None
    first: int | None = None
    step: int = 1
    points: int = 0
    duplicates: int = 0
    _ids: RecentIds = field(default_factory=RecentIds)

    def read_events(self, record: Record) -> Iterable[Event | None]:
        """Events accepted from a record; None stands for one that is rejected or a duplicate."""
        return (self.read_and_admit(record),)

    def read_and_admit(self, record: Record) -> Event | None:
        """Parse a record and accept its event; None if it is rejected or a duplicate."""
        try:
            event = self.parse(record, self.unit)
        except EventError as error:
            self.reject(MALFORMED, record, str(error), None)
            return None
        if self.step > 1:
            event = event._replace(t=event.t // self.step)
        return self.admit(event, record)

    def admit(self, event: Event, record: Record) -> Event | None:
        """Accept an event and advance the watermark; None if it is late, too far ahead or a
        duplicate.
        """
        if self._ids.is_known(event.id, event.t, self._id_retention):
            self.duplicates += 1
            return None
        before = self.tracker.newest
        kind = self.tracker.classify(event.t)
        if kind:
            self.reject(kind, record, self.tracker.explain_reject(event.t, kind), event.t)
            return None
        self._ids.add_id(event.id, event.t)
        if self.tracker.newest != before:
            self.points += 1
            self._ids.drop_old_ids(self.tracker.watermark, self._id_retention)
        self.first = event.t if self.first is None else min(self.first, event.t)
        return event

    def reject(self, kind: str, record: Record, reason: str, t: int | None) -> None:
        """Log a record as rejected, with its ``kind`` and ``reason``, and call the callbacks for
        rejects.
        """
        self.before_reject()
        self.rejects.add_reject(kind, record.source, record.line, reason, record.text)
        self.on_reject(kind, t)

    def make_limits(self, start: int | None = None, end: int | None = None) -> EventLimits:
        """Make the acceptance rules of this intake, for cluster tasks that read records themselves."""
        lateness, ahead = self.tracker.lateness, self.tracker.max_ahead
        return EventLimits(self.unit, lateness, ahead, self.window, start, end, step=self.step)

    @property
    def stream_time(self) -> StreamTime:
        """First and newest accepted time, and the watermark."""
        return StreamTime(self.first, self.tracker.newest, self.tracker.watermark)

    @property
    def _id_retention(self) -> int:
        """Time units for which an event's identifier is remembered."""
        return self.window + (self.tracker.lateness or 0)

    def state(self) -> Any:
        """JSON state of the intake for a checkpoint; `restore` reads it."""
        return {
            "newest": self.tracker.newest,
            "closed": self.tracker.closed_until,
            "first": self.first,
            "points": self.points,
            "duplicates": self.duplicates,
            "ids": self._ids.times,
            "rejects": self.rejects.state(),
        }

    def restore(self, state: Any) -> None:
        """Continue from the `state` that an intake of another run saved."""
        self.tracker.newest, self.first = state["newest"], state["first"]
        self.tracker.closed_until = state.get("closed")  # which older checkpoints do not have
        self.points, self.duplicates, self._ids = (
            state["points"],
            state["duplicates"],
            RecentIds(state["ids"]),
        )
        self.rejects.restore(state["rejects"])


#: Kinds (`shiq.answers.verdict.KINDS`): what could not be read as an event, came behind the watermark, or
#: is too far ahead.
MALFORMED, LATE, AHEAD = "malformed", "late", "ahead"
#: What was derived, and cannot be written.
UNWRITABLE = "unwritable"
#: How many of each kind a result names.
_MOST_SAMPLES = 20


class TripleRefusal(NamedTuple):
    """Reason why a triple of an event is not used. ``kind``: one of `shiq.answers.verdict.KINDS`."""

    reason: str
    kind: str = MALFORMED


def refuse_unknown_name(iri: str, title: str) -> TripleRefusal:
    """Make the refusal of a triple whose property or class (``title``) the TBox does not know."""
    if iri.startswith((owl.RDFS, owl.OWL)):
        return TripleRefusal("an axiom among events: a stream cannot change the TBox", "tbox-axiom")
    return TripleRefusal(f"the TBox does not know the {title} <{iri}>", "undeclared")


def leftovers_to_rows(leftovers: Iterable[Leftover]) -> list[dict[str, Any]]:
    """Convert leftovers (input that was not understood or used) to the JSON rows of ``--json``."""
    return [
        {
            "kind": x.kind,
            "message": x.message,
            "source": x.source,
            "line": x.line,
            "text": x.text,
            "count": x.number,
        }
        for x in leftovers
    ]


@dataclass
class RejectLog:
    """Log of rejected records, with counts by kind and samples for the result.

    write: receives each reject as a JSON row.
    samples: the first rejects of each kind.
    """

    write: Callable[[Sequence[str]], None] = lambda rows: None
    counts: Counter[str] = field(default_factory=Counter)
    samples: list[Leftover] = field(default_factory=list)

    def add_reject(self, kind: str, source: str, line: int, reason: str, text: str) -> None:
        """Log one rejected record, with its kind, source, line, reason and text."""
        self.counts[kind] += 1
        if self.counts[kind] <= _MOST_SAMPLES:
            self.samples.append(Leftover(kind, reason, source, line, text[:200]))
        row = {"kind": kind, "source": source, "line": line, "reason": reason, "text": text}
        self.write([json.dumps(row, ensure_ascii=False)])

    def raise_if_all_rejected(self, is_all: bool) -> None:
        """Raise InputError if ``is_all`` (no event was accepted) and some record was rejected."""
        if is_all and self.counts:
            raise InputError(
                self.explain_nothing_read("an event"), "Check what it is: one JSON object a line."
            )

    def explain_nothing_read(self, thing: str) -> str:
        """Explain to users that no input line is a ``thing`` (such as "an event"), with the problem
        of the first rejected one.
        """
        first = self.samples[0]
        sources = (
            ", ".join(dict.fromkeys(x.source for x in self.samples if x.source)) or "the source"
        )
        return f"no line of {sources} is {thing} (line {first.line}: {first.message})"

    def leftovers(self) -> list[Leftover]:
        """Rejected records as leftovers of a result: samples of each kind, and one leftover with
        the count of the others.
        """
        more = {
            kind: count - _MOST_SAMPLES
            for kind, count in self.counts.items()
            if count > _MOST_SAMPLES
        }
        return [
            *self.samples,
            *(
                Leftover(kind, f"{count:,} more", count=count)
                for kind, count in sorted(more.items())
            ),
        ]

    def state(self) -> Any:
        """JSON state of the log for a checkpoint; `restore` reads it."""
        told = [[x.kind, x.message, x.source, x.line, x.text] for x in self.samples]
        return {"counts": self.counts, "shown": told}

    def restore(self, state: Any) -> None:
        """Continue from the `state` that a log of another run saved."""
        self.counts = Counter(state["counts"])
        self.samples = [Leftover(*told) for told in state["shown"]]
