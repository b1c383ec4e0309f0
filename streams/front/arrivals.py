"""Records that become events: read, none twice by its id, neither late nor too far ahead; the
others are rejected, aloud: counted by kind, and written one JSON object a line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from shiq.answers.verdict import Leftover
from shiq.errors import InputError
from shiq.streams.front.event import Event, EventError, Record, event_from_record

# Ids of events, known for as long as a second event of one can come and is dropped.


#: Ids are looked through for those that cannot matter any more when so many are known.
_PRUNE_ABOVE: Final = 10_000


@dataclass
class RecentIds:
    """The newest time of each id. ``span``, in each call: for how long an id is known, a window
    and the lateness.

    >>> ids = RecentIds()
    >>> ids.add("a", 5)
    >>> ids.is_known("a", 8, span=3), ids.is_known("a", 9, span=3), ids.is_known("b", 5, span=3), ids.is_known(None, 5, span=3)
    (True, False, False, False)
    """

    times: dict[str, int] = field(default_factory=dict)

    def is_known(self, name: str | None, t: int, span: int) -> bool:
        """Whether an event of this id came before, and can still matter at ``t``."""
        before = None if name is None else self.times.get(name)
        return before is not None and t - before <= span

    def add(self, name: str | None, t: int) -> None:
        """Note an event that was accepted."""
        if name is not None:
            self.times[name] = t

    def forget(self, watermark: int | None, span: int) -> None:
        """Let ids go that no event from ``watermark`` on can be the second of."""
        if len(self.times) >= _PRUNE_ABOVE and watermark is not None:
            kept = {name: t for name, t in self.times.items() if t >= watermark - span}
            if len(kept) < len(self.times) / 2:
                self.times = kept


# Which events come too late, or are too far ahead to be believed; judged event by event, in
# order of source and line.


class StreamTime(NamedTuple):
    """How far the stream is: the first and newest times accepted, and before what none is
    accepted any more.
    """

    first: int | None = None
    newest: int | None = None
    watermark: int | None = None


@dataclass
class WatermarkTracker:
    """The newest time that was accepted, and what it lets in: t from newest - ``lateness`` to
    newest + ``max_ahead``. Where the lateness is None nothing is late: a finite source may be
    read in any order. Up to ``closed_until`` all is over, wherever the watermark is.

    >>> tracker = WatermarkTracker(lateness=2, max_ahead=100)
    >>> [tracker.classify(t) for t in (10, 8, 7, 200, 11)], tracker.newest, tracker.watermark
    (['', '', 'late', 'ahead', ''], 11, 9)
    """

    lateness: int | None = 0
    max_ahead: int = 100_000
    newest: int | None = None
    closed_until: int | None = None

    def classify(self, t: int) -> str:
        """The kind of reject that an event at ``t`` is now, "" if it is accepted, and time goes
        on to it. The first always is.
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
        """Nothing before this time is accepted any more; None while that may be anything."""
        return None if self.newest is None or self.lateness is None else self.newest - self.lateness

    def explain_reject(self, t: int, kind: str) -> str:
        """Why an event at ``t`` was not accepted, as a sentence."""
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
    """Which events are used: ``unit``, ``lateness``, ``max_ahead``, ``window`` and ``parse`` as
    `EventIntake` has them; those outside [``start``, ``end``] are counted, and not used. Times are
    divided by ``step``.
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
        """The event of a record, its time in steps. Raises: EventError."""
        found = self.parse(record, self.unit)
        return found if self.step == 1 else found._replace(t=found.t // self.step)

    def contains(self, t: int) -> bool:
        """Whether ``t`` lies between ``start`` and ``end``."""
        return (self.start is None or self.start <= t) and (self.end is None or t <= self.end)


@dataclass
class EventIntake:
    """What becomes of records, one by one, in order of source and line.

    ``window``: for how long (and the lateness) an id is known, so that a second event of it is
    dropped and counted in ``duplicates``; ``parse``: the event of a record, if it is not
    in JSON; ``on_reject``: hears the kind and time of what is rejected; ``before_reject``: is called
    before that. ``first``: the least time accepted; ``step``: times are divided by it;
    ``points``: how often time went on.
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
        """What is accepted of a record; None for what is not."""
        return (self.accept(record),)

    def accept(self, record: Record) -> Event | None:
        """The event of a record, if it is one that is used."""
        try:
            event = self.parse(record, self.unit)
        except EventError as error:
            self.reject(MALFORMED, record, str(error), None)
            return None
        if self.step > 1:
            event = event._replace(t=event.t // self.step)
        return self.admit(event, record)

    def admit(self, event: Event, record: Record) -> Event | None:
        """The ``event`` that ``record`` holds, unless it came before, late, or too far ahead."""
        if self._ids.is_known(event.id, event.t, self._id_retention):
            self.duplicates += 1
            return None
        before = self.tracker.newest
        kind = self.tracker.classify(event.t)
        if kind:
            self.reject(kind, record, self.tracker.explain_reject(event.t, kind), event.t)
            return None
        self._ids.add(event.id, event.t)
        if self.tracker.newest != before:
            self.points += 1
            self._ids.forget(self.tracker.watermark, self._id_retention)
        self.first = event.t if self.first is None else min(self.first, event.t)
        return event

    def reject(self, kind: str, record: Record, reason: str, t: int | None) -> None:
        """Takes down what is not used."""
        self.before_reject()
        self.rejects.add(kind, record.source, record.line, reason, record.text)
        self.on_reject(kind, t)

    def limits(self, start: int | None = None, end: int | None = None) -> EventLimits:
        """What is accepted, for records that are read elsewhere."""
        lateness, ahead = self.tracker.lateness, self.tracker.max_ahead
        return EventLimits(self.unit, lateness, ahead, self.window, start, end, step=self.step)

    @property
    def stream_time(self) -> StreamTime:
        """How far the stream is."""
        return StreamTime(self.first, self.tracker.newest, self.tracker.watermark)

    @property
    def _id_retention(self) -> int:
        """For how long an id is known."""
        return self.window + (self.tracker.lateness or 0)

    def state(self) -> Any:
        """What `restore` takes, as JSON."""
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
        """Goes on where another run was."""
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


def leftover_rows(leftovers: Iterable[Leftover]) -> list[dict[str, Any]]:
    """Leftovers as ``--json`` of the stream commands writes them."""
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
    """The records that were not used. ``write``: takes each as a row; ``samples``: the first of
    each kind, for results.
    """

    write: Callable[[Sequence[str]], None] = lambda rows: None
    counts: Counter[str] = field(default_factory=Counter)
    samples: list[Leftover] = field(default_factory=list)

    def add(self, kind: str, source: str, line: int, reason: str, text: str) -> None:
        """Takes down one record."""
        self.counts[kind] += 1
        if self.counts[kind] <= _MOST_SAMPLES:
            self.samples.append(Leftover(kind, reason, source, line, text[:200]))
        row = {"kind": kind, "source": source, "line": line, "reason": reason, "text": text}
        self.write([json.dumps(row, ensure_ascii=False)])

    def raise_if_all_rejected(self, is_all: bool) -> None:
        """Raises: InputError where something was rejected, and nothing else came."""
        if is_all and self.counts:
            raise InputError(
                self.explain_none("an event"), "Check what it is: one JSON object a line."
            )

    def explain_none(self, thing: str) -> str:
        """Say that no line of any source is a ``thing``, and why the first of them is not."""
        first = self.samples[0]
        sources = (
            ", ".join(dict.fromkeys(x.source for x in self.samples if x.source)) or "the source"
        )
        return f"no line of {sources} is {thing} (line {first.line}: {first.message})"

    def leftovers(self) -> list[Leftover]:
        """What to tell in a result: the first of each kind, and how many more there are."""
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
        """What `restore` takes, as JSON."""
        told = [[x.kind, x.message, x.source, x.line, x.text] for x in self.samples]
        return {"counts": self.counts, "shown": told}

    def restore(self, state: Any) -> None:
        """Goes on where another run was."""
        self.counts = Counter(state["counts"])
        self.samples = [Leftover(*told) for told in state["shown"]]
