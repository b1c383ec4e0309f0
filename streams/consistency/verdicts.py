"""From rows to verdicts: for every point of time whether the content of its window agrees with
the TBox.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np

from shiq.columns.arrays import Ints
from shiq.streams.consistency.spans import Spans
from shiq.streams.front.event import Event
from shiq.streams.front.operator import StreamAnswer, verdict_of

Row: TypeAlias = dict[str, Any]
Span: TypeAlias = tuple[int, int]


@dataclass
class Verdicts:
    """When individuals are inconsistent, and when something that was not used could be live (for
    ``window`` more points than its time); ``always``: at all times, as far as anybody knows.

    The spans of an individual are joined while more of them may come; then only their ends
    count: ``changes``, by time.
    """

    window: int
    always: bool = False
    changes: Counter[int] = field(default_factory=Counter)
    doubt: Counter[int] = field(default_factory=Counter)
    spans: dict[str, list[Span]] = field(default_factory=dict)

    def not_used(self, t: int | None) -> None:
        """Something at ``t``, or at no known time, was not used."""
        if t is None:
            self.always = True
        else:
            _add(self.doubt, [(t, t + self.window)])

    def unsure(self, c: int) -> None:
        """At ``c`` it could not be decided."""
        _add(self.doubt, [(c, c)])

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Takes rows that are final."""
        for row in rows:
            for name in {row["individual"], row.get("other", row["individual"])}:
                self.spans.setdefault(name, []).append((row["from"], row["to"]))

    def settle(self, live: Container[str] = ()) -> None:
        """Counts the spans of individuals that are not ``live``."""
        for name in [name for name in self.spans if name not in live]:
            _add(self.changes, _joined(sorted(self.spans.pop(name))))

    def runs(self, first: int, last: int) -> list[Row]:
        """Runs of one verdict and one number of inconsistent individuals; they cover [first, last]."""
        self.settle()
        times = sorted({first, *(c for c in (*self.changes, *self.doubt) if first < c <= last)})
        wrong, doubtful = (
            sum(n for c, n in of.items() if c < first) for of in (self.changes, self.doubt)
        )
        found: list[Row] = []
        for c, following in zip(times, (*times[1:], last + 1)):
            wrong, doubtful = wrong + self.changes[c], doubtful + self.doubt[c]
            unsure = self.always or doubtful
            verdict = verdict_of(bool(wrong), bool(unsure))
            if found and (found[-1]["verdict"], found[-1]["individuals"]) == (verdict.value, wrong):
                found[-1]["to"] = following - 1
            else:
                found.append(
                    {"from": c, "to": following - 1, "verdict": verdict.value, "individuals": wrong}
                )
        return found

    def state(self) -> Any:
        """What `restore` takes, as JSON."""
        return [self.always, list(self.changes.items()), list(self.doubt.items()), self.spans]

    def restore(self, state: Any) -> None:
        """Goes on where another run was."""
        self.always, changes, doubt, spans = state
        self.changes, self.doubt = Counter(dict(changes)), Counter(dict(doubt))
        self.spans = {name: [(start, end) for start, end in found] for name, found in spans.items()}


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _add(changes: Counter[int], spans: Iterable[Span]) -> None:
    for start, end in spans:
        changes[start] += 1
        changes[end + 1] -= 1


@dataclass(frozen=True)
class StreamResult(StreamAnswer):
    """``spans``: the rows of ``--out``; ``verdicts``: runs that cover the stream."""

    spans: tuple[Row, ...]
    verdicts: tuple[Row, ...]


# What may be done beside deciding: each used event is shown, with what it says, and each time
# that has passed for good.


@dataclass(frozen=True)
class Taken:
    """Of an event: those of its triples that are used, the codes (`masks.Masks`) of what they
    say, and whether that is all.
    """

    t: int
    triples: Sequence[str]
    codes: Ints
    is_whole: bool


class Beside(Protocol):
    """Looks at events."""

    name: str

    def begin(self, static: Spans) -> None:
        """Takes what is live at all times."""

    def take(self, text: str, event: Taken) -> None:
        """Takes an event within the stream's ends, whose record stood as ``text``."""

    def refuse(self, text: str) -> None:
        """Takes the text of a record that is not used."""

    def passed(self, upto: int) -> tuple[Sequence[Row], Sequence[int]]:
        """Nothing at ``upto`` or before it comes any more: final rows, and points of time at
        which a verdict is open.
        """

    def keys(self) -> Ints:
        """The numbers of individuals that are needed still."""

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Takes new numbers of the individuals that are left."""

    def state(self) -> Any:
        """What `restore` takes, as JSON."""

    def restore(self, state: Any) -> None:
        """Goes on where another run was."""


def shown(events: Sequence[Event], unused: set[int], owner: Ints, codes: Ints) -> Iterator[Taken]:
    """The events of a batch as `Beside` takes them. ``unused``: which of their triples;
    ``owner``: the event of each code.
    """
    order = np.argsort(owner, kind="stable")
    begins = np.searchsorted(owner[order], np.arange(len(events) + 1))
    place = 0
    for number, event in enumerate(events):
        used = [text for at, text in enumerate(event.triples, place) if at not in unused]
        place += len(event.triples)
        own = codes[order[begins[number] : begins[number + 1]]]
        yield Taken(event.t, used, own, len(used) == len(event.triples))
