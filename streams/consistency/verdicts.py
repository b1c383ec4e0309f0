"""Verdict of a stream at every time point, and quarantine for events that contradict older ones.

The quarantine decides events in order of time, behind the watermark, and rejects the newest event
of a conflict. Checking the window at c = t is enough: later windows contain less of the older
events. So the accepted events are consistent at every c, alone and with the static assertions
(THEORY, "The newest event is set aside").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np

from shiq.columns.arrays import Ints
from shiq.streams.consistency.negative_inclusions import RootMasks, Words
from shiq.streams.consistency.spans import (
    Period,
    Spans,
    empty_spans,
    join_periods,
    join_spans,
    make_live_spans,
)
from shiq.streams.front.event import Event
from shiq.streams.front.operator import StreamAnswer, stream_verdict

Row: TypeAlias = dict[str, Any]


@dataclass
class VerdictTimeline:
    """Timeline of the verdict: periods in which individuals are inconsistent, and periods in which
    the verdict is in doubt (undetermined).

    The verdict is in doubt while an event that was not used could be live (``window`` points more).
    Spans of an individual are joined while more may come; afterwards only their ends are counted.

    is_always_undetermined: whether it is in doubt at all times.
    inconsistency_changes, doubt_changes: by time, the change of the number of inconsistent
    individuals and of doubts.
    """

    window: int
    is_always_undetermined: bool = False
    inconsistency_changes: Counter[int] = field(default_factory=Counter)
    doubt_changes: Counter[int] = field(default_factory=Counter)
    spans: dict[str, list[Period]] = field(default_factory=dict)

    def record_unused_event(self, t: int | None) -> None:
        """Put the verdict in doubt while an unused event with the time ``t`` could be live; at all
        times if ``t`` is None (unknown).
        """
        if t is None:
            self.is_always_undetermined = True
        else:
            _count_span_ends(self.doubt_changes, [(t, t + self.window)])

    def record_undecided_check(self, t: int) -> None:
        """Put the verdict in doubt at the time ``t``, whose check stayed undecided."""
        _count_span_ends(self.doubt_changes, [(t, t)])

    def add_conflict_rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add the periods of final conflict rows."""
        for row in rows:
            for name in {row["individual"], row.get("other", row["individual"])}:
                self.spans.setdefault(name, []).append((row["from"], row["to"]))

    def finish_spans(self, live: Container[str] = ()) -> None:
        """Join and count the inconsistent periods of all individuals that are not ``live``, since
        those can get no further periods.
        """
        for name in [name for name in self.spans if name not in live]:
            _count_span_ends(self.inconsistency_changes, join_periods(self.spans.pop(name)))

    def make_verdict_rows(self, first: int, last: int) -> list[Row]:
        """Make output rows that cover [first, last]: one per run of times with equal verdict and
        number of inconsistent individuals.
        """
        self.finish_spans()
        times = sorted(
            {
                first,
                *(
                    c
                    for c in (*self.inconsistency_changes, *self.doubt_changes)
                    if first < c <= last
                ),
            }
        )
        wrong, doubtful = (
            sum(n for c, n in of.items() if c < first)
            for of in (self.inconsistency_changes, self.doubt_changes)
        )
        found: list[Row] = []
        for c, following in zip(times, (*times[1:], last + 1)):
            wrong, doubtful = (
                wrong + self.inconsistency_changes[c],
                doubtful + self.doubt_changes[c],
            )
            unsure = self.is_always_undetermined or doubtful
            verdict = stream_verdict(bool(wrong), bool(unsure))
            if found and (found[-1]["verdict"], found[-1]["individuals"]) == (verdict.value, wrong):
                found[-1]["to"] = following - 1
            else:
                found.append(
                    {"from": c, "to": following - 1, "verdict": verdict.value, "individuals": wrong}
                )
        return found

    def state(self) -> Any:
        """JSON state for a checkpoint; `restore` reads it."""
        return [
            self.is_always_undetermined,
            list(self.inconsistency_changes.items()),
            list(self.doubt_changes.items()),
            self.spans,
        ]

    def restore(self, state: Any) -> None:
        """Continue from the `state` that another run saved."""
        self.is_always_undetermined, changes, doubt, spans = state
        self.inconsistency_changes, self.doubt_changes = (
            Counter(dict(changes)),
            Counter(dict(doubt)),
        )
        self.spans = {name: [(start, end) for start, end in found] for name, found in spans.items()}


def _count_span_ends(changes: Counter[int], spans: Iterable[Period]) -> None:
    """Add periods to ``changes``, by time: +1 at each start, -1 after each end."""
    for start, end in spans:
        changes[start] += 1
        changes[end + 1] -= 1


@dataclass(frozen=True)
class StreamResult(StreamAnswer):
    """Result of a checked stream: verdict, conflict rows and verdict rows.

    spans: rows of ``--out``.
    verdicts: runs of equal verdict, which cover the stream.
    """

    spans: tuple[Row, ...]
    verdicts: tuple[Row, ...]


# What may be done beside deciding: each used event is shown, with what it says, and each time
# that has passed for good.


@dataclass(frozen=True)
class ObservedEvent:
    """Event as observers see it: its usable triples, as texts and as integer codes (individual and
    label).

    triples: its usable triples.
    codes: assertions of the triples, as codes of `RootMasks`.
    is_complete: whether all triples are usable.
    """

    t: int
    triples: Sequence[str]
    codes: Ints
    is_complete: bool


class EventObserver(Protocol):
    """Interface of an observer, which receives each used event and each advance of the watermark.
    By default it ignores rejected records, and refers to no individuals by id.
    """

    name: str

    def start(self, static: Spans) -> None:
        """Receive the assertions that hold at all times; called once, before the first event."""
        return

    def observe(self, text: str, event: ObservedEvent) -> None:
        """Receive an event that the check uses; ``text`` is its record."""

    def observe_rejected(self, text: str) -> None:
        """Receive the text of a record that the check does not use."""
        return

    def advance_watermark(self, upto: int) -> tuple[Sequence[Row], Sequence[int]]:
        """Process all events up to the time ``upto``; return final output rows, and times whose
        check stayed undecided.
        """

    def needed_individuals(self) -> Ints:
        """Ids of the individuals that the observer still refers to."""
        return np.empty(0, np.int64)

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Replace the ids of individuals. ``numbers``: new ids by old ones; individuals that it
        lacks are forgotten.
        """
        return

    def state(self) -> Any:
        """JSON state for a checkpoint; `restore` reads it."""

    def restore(self, state: Any) -> None:
        """Continue from the `state` that an observer of another run saved."""


def make_observed_events(
    events: Sequence[Event], unused: set[int], owner: Ints, codes: Ints
) -> Iterator[ObservedEvent]:
    """Yield the events of a batch as observers take them.

    unused: indexes of unusable triples.
    owner: index of the event of each code.
    """
    order = np.argsort(owner, kind="stable")
    begins = np.searchsorted(owner[order], np.arange(len(events) + 1))
    place = 0
    for number, event in enumerate(events):
        used = [text for at, text in enumerate(event.triples, place) if at not in unused]
        place += len(event.triples)
        own = codes[order[begins[number] : begins[number + 1]]]
        yield ObservedEvent(event.t, used, own, len(used) == len(event.triples))


@dataclass(frozen=True)
class WaitingEvent:
    """Event in the queue of the quarantine: whether it is accepted or quarantined is not decided
    yet.

    number: position in order of arrival.
    codes: its assertions.
    """

    t: int
    number: int
    text: str
    codes: tuple[int, ...]


@dataclass
class QuarantineObserver(EventObserver):
    """Observer that accepts events in order of time; an event that contradicts accepted ones goes
    to quarantine.

    write_accepted, write_quarantined: receive the texts of events.
    spans: live spans of accepted events and static assertions.
    """

    masks: RootMasks
    window: int
    write_accepted: Callable[[list[str]], None]
    write_quarantined: Callable[[list[str]], None]
    spans: Spans = field(default_factory=empty_spans)
    waiting: list[WaitingEvent] = field(default_factory=list)
    last_number: int = 0
    name: str = "sides"

    def start(self, static: Spans) -> None:
        """Accept the assertions that hold at all times."""
        self.spans = static

    def observe(self, text: str, event: ObservedEvent) -> None:
        """Queue an event; one with an unusable triple goes to quarantine at once."""
        if not event.is_complete:
            return self.observe_rejected(text)
        self.last_number += 1
        self.waiting.append(
            WaitingEvent(event.t, self.last_number, text, tuple(np.unique(event.codes).tolist()))
        )
        return None

    def observe_rejected(self, text: str) -> None:
        """Send the text of a rejected record to quarantine."""
        self.write_quarantined([text])

    def advance_watermark(self, upto: int) -> tuple[Sequence[Row], Sequence[int]]:
        """Accept or quarantine the queued events up to the time ``upto``."""
        ready = sorted(
            (event for event in self.waiting if event.t <= upto),
            key=lambda event: (event.t, event.number),
        )
        self.waiting = [event for event in self.waiting if event.t > upto]
        contradict = self._suspect_individuals(ready)
        known: dict[int, dict[int, int]] = {key: {} for key in contradict}
        for key, label, end in zip(
            *(
                column.tolist()
                for column in (*self.masks.decode_codes(self.spans.code), self.spans.end)
            )
        ):
            if key in known:
                known[key][label] = max(end, known[key].get(label, -1))
        accepted: list[WaitingEvent] = []
        for event in ready:
            if self._accept_if_consistent(event, known):
                accepted.append(event)
            else:
                self.write_quarantined([event.text])
        self.write_accepted([event.text for event in accepted])
        times = np.array([event.t for event in accepted for _ in event.codes], np.int64)
        codes = np.array([code for event in accepted for code in event.codes], np.int64)
        self.spans = join_spans([self.spans, make_live_spans(codes, times, self.window)])
        self.spans = self.spans.select_rows(self.spans.end > upto)
        return (), ()

    def _suspect_individuals(self, ready: list[WaitingEvent]) -> set[int]:
        """Ids of the individuals whose accepted and queued labels contradict when times are
        ignored.
        """
        codes = self._live_codes(ready)
        if not len(codes):
            return set()
        key, label = self.masks.decode_codes(codes)
        starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        return set(key[starts[self.masks.flag_suspects(label, starts)]].tolist())

    def _live_codes(self, events: list[WaitingEvent]) -> Ints:
        """Codes (individual and label) of live accepted assertions and of the queued ``events``."""
        return np.unique(
            np.concatenate(
                [self.spans.code, np.array([c for event in events for c in event.codes], np.int64)]
            )
        )

    def _accept_if_consistent(
        self, event: WaitingEvent, live_labels: dict[int, dict[int, int]]
    ) -> bool:
        """Whether an event contradicts no accepted one; if so, add its labels to ``live_labels``:
        last live time by individual and label.
        """
        brought: dict[int, list[int]] = {}
        key, label = self.masks.decode_codes(np.array(event.codes, np.int64))
        for x, n in zip(key.tolist(), label.tolist()):
            if x in live_labels:
                brought.setdefault(x, []).append(n)
        for x, labels in brought.items():
            older = [n for n, end in live_labels[x].items() if end >= event.t]
            if (self._violated_roots([*older, *labels]) & ~self._violated_roots(older)).any():
                return False
        for x, labels in brought.items():
            for n in labels:
                live_labels[x][n] = max(event.t + self.window, live_labels[x].get(n, -1))
        return True

    def _violated_roots(self, labels: list[int]) -> Words:
        """Bits of the roots (most general negative inclusions) that labels, given by index, violate
        together.
        """
        if not labels:
            return np.zeros(1, np.uint64)
        label, start = np.array(labels, np.int64), np.zeros(1, np.int64)
        return np.concatenate(
            [
                self.masks.narrow_matrices.violated_roots(label, start),
                self.masks.wide_matrices.violated_roots(label, start),
            ]
        )

    def needed_individuals(self) -> Ints:
        """Ids of the individuals in live accepted assertions and queued events."""
        return np.unique(self.masks.decode_codes(self._live_codes(self.waiting))[0])

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Replace the ids of individuals. ``numbers``: new ids by old ones; individuals that it
        lacks are forgotten.
        """

        def renumber_codes(code: Ints) -> Ints:
            """Replace the individuals in codes by their new numbers."""
            key, label = self.masks.decode_codes(code)
            return self.masks.encode_codes(
                np.array([numbers[x] for x in key.tolist()], np.int64), label
            )

        self.spans = self.spans._replace(code=renumber_codes(self.spans.code))
        self.waiting = [
            WaitingEvent(
                event.t,
                event.number,
                event.text,
                tuple(renumber_codes(np.array(event.codes, np.int64)).tolist()),
            )
            for event in self.waiting
        ]

    def state(self) -> Any:
        """JSON state for a checkpoint; `restore` reads it."""
        waiting = [[event.t, event.number, event.text, list(event.codes)] for event in self.waiting]
        return [self.last_number, waiting, [column.tolist() for column in self.spans]]

    def restore(self, state: Any) -> None:
        """Continue from the `state` that an observer of another run saved."""
        self.last_number, waiting, columns = state
        self.waiting = [
            WaitingEvent(t, number, text, tuple(codes)) for t, number, text, codes in waiting
        ]
        self.spans = Spans(*(np.array(column, np.int64) for column in columns))
