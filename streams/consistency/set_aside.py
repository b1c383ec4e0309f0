"""Events on two sides: accepted, or set aside because they contradict older ones that were
accepted.

Events are looked at in order of time, once none can come before them; of a conflict the newest
is set aside. It is enough to look at c = t: later windows hold less of what is older. So the
accepted side is consistent at every c, by itself and with what is static.

THEORY, "The newest event is set aside", has why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shiq.columns.arrays import Ints
from shiq.streams.consistency.masks import Masks, Words
from shiq.streams.consistency.spans import Spans, joined, live, no_spans
from shiq.streams.consistency.verdicts import Row, Taken


@dataclass(frozen=True)
class WaitingEvent:
    """An event that is not decided: its number in order of arrival, its text, and what it says
    of whom in ``codes``.
    """

    t: int
    number: int
    text: str
    codes: tuple[int, ...]


@dataclass
class EventSides:  # a `beside.Beside`
    """Decides events. ``accept`` and ``set_aside`` take their texts; ``spans``: what is live of
    the accepted ones and of what is static.
    """

    masks: Masks
    window: int
    accept: Callable[[list[str]], None]
    set_aside: Callable[[list[str]], None]
    spans: Spans = field(default_factory=no_spans)
    waiting: list[WaitingEvent] = field(default_factory=list)
    number: int = 0
    name: str = "sides"

    def begin(self, static: Spans) -> None:
        self.spans = static

    def take(self, text: str, event: Taken) -> None:
        """Takes an event; one of which a part is not used cannot be accepted."""
        if not event.is_whole:
            return self.refuse(text)
        self.number += 1
        self.waiting.append(
            WaitingEvent(event.t, self.number, text, tuple(np.unique(event.codes).tolist()))
        )
        return None

    def refuse(self, text: str) -> None:
        self.set_aside([text])

    def passed(self, upto: int) -> tuple[Sequence[Row], Sequence[int]]:
        """Decides the events up to a time."""
        ready = sorted(
            (event for event in self.waiting if event.t <= upto),
            key=lambda event: (event.t, event.number),
        )
        self.waiting = [event for event in self.waiting if event.t > upto]
        contradict = self._suspects(ready)
        known: dict[int, dict[int, int]] = {key: {} for key in contradict}
        for key, label, end in zip(
            *(column.tolist() for column in (*self.masks.split(self.spans.code), self.spans.end))
        ):
            if key in known:
                known[key][label] = max(end, known[key].get(label, -1))
        accepted: list[WaitingEvent] = []
        for event in ready:
            if self._fits(event, known):
                accepted.append(event)
            else:
                self.set_aside([event.text])
        self.accept([event.text for event in accepted])
        times = np.array([event.t for event in accepted for _ in event.codes], np.int64)
        codes = np.array([code for event in accepted for code in event.codes], np.int64)
        self.spans = joined([self.spans, live(codes, times, self.window)])
        self.spans = self.spans.at(self.spans.end > upto)
        return (), ()

    def _suspects(self, ready: list[WaitingEvent]) -> set[int]:
        """The individuals of which all that is live or comes now contradicts, at whatever times."""
        codes = self._codes(ready)
        if not len(codes):
            return set()
        key, label = self.masks.split(codes)
        starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        return set(key[starts[self.masks.suspects(label, starts)]].tolist())

    def _codes(self, events: list[WaitingEvent]) -> Ints:
        """What is live of what was accepted, and what ``events`` say."""
        return np.unique(
            np.concatenate(
                [self.spans.code, np.array([c for event in events for c in event.codes], np.int64)]
            )
        )

    def _fits(self, event: WaitingEvent, known: dict[int, dict[int, int]]) -> bool:
        """Whether the event brings no contradiction to what was accepted; then it is known."""
        brought: dict[int, list[int]] = {}
        key, label = self.masks.split(np.array(event.codes, np.int64))
        for x, n in zip(key.tolist(), label.tolist()):
            if x in known:
                brought.setdefault(x, []).append(n)
        for x, labels in brought.items():
            older = [n for n, end in known[x].items() if end >= event.t]
            if (self._hits([*older, *labels]) & ~self._hits(older)).any():
                return False
        for x, labels in brought.items():
            for n in labels:
                known[x][n] = max(event.t + self.window, known[x].get(n, -1))
        return True

    def _hits(self, labels: list[int]) -> Words:
        """The roots that labels violate together."""
        if not labels:
            return np.zeros(1, np.uint64)
        label, start = np.array(labels, np.int64), np.zeros(1, np.int64)
        return np.concatenate(
            [self.masks.pairs.hits(label, start), self.masks.wide_sides.hits(label, start)]
        )

    def keys(self) -> Ints:
        return np.unique(self.masks.split(self._codes(self.waiting))[0])

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Takes new numbers of the individuals that are left."""

        def new(code: Ints) -> Ints:
            key, label = self.masks.split(code)
            return self.masks.code(np.array([numbers[x] for x in key.tolist()], np.int64), label)

        self.spans = self.spans._replace(code=new(self.spans.code))
        self.waiting = [
            WaitingEvent(
                event.t,
                event.number,
                event.text,
                tuple(new(np.array(event.codes, np.int64)).tolist()),
            )
            for event in self.waiting
        ]

    def state(self) -> Any:
        """What `restore` takes, as JSON."""
        waiting = [[event.t, event.number, event.text, list(event.codes)] for event in self.waiting]
        return [self.number, waiting, [column.tolist() for column in self.spans]]

    def restore(self, state: Any) -> None:
        """Goes on where another run was."""
        self.number, waiting, columns = state
        self.waiting = [
            WaitingEvent(t, number, text, tuple(codes)) for t, number, text, codes in waiting
        ]
        self.spans = Spans(*(np.array(column, np.int64) for column in columns))
