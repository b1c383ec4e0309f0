"""Windows in components, each known again by a key of its own: a slide makes keys of what
changed (THEORY, "Entailment").

Events are in one component that mention one individual, or where the answer to some rests on
somebody whom others change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias

from shiq.abox_ops.elements.quotient import Partition
from shiq.answers.verdict import Verdict
from shiq.rml.model import TYPE, is_resource
from shiq.streams.enrichment.answers import EnrichedEvent
from shiq.streams.enrichment.cache import Entry
from shiq.streams.enrichment.questions import EventQuestion, EventReader
from shiq.streams.enrichment.statements import (
    UnkeyableEventError,
    distinct_labels,
    join_events,
    labels_of,
    relabel,
    split_lines,
)
from shiq.streams.front.event import Event
from shiq.support import LazySequence

_NUMBERS: Final = count(1)
#: The numbers of the events of a component.
_Group: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class WindowEvent:
    """An event in windows: its lines as ``given_lines``, and such with blank nodes of its own,
    ``labels`` by what they are called there. ``mentioned_tokens``: the tokens of whom it mentions, and
    maybe of others; None where a look at tokens does not tell.
    """

    number: int
    given_lines: tuple[str, ...]
    lines: tuple[str, ...]
    labels: Mapping[str, str]
    mentioned_tokens: frozenset[str] | None

    @classmethod
    def from_lines(cls, given: Iterable[str]) -> WindowEvent:
        """The event of these N-Triples lines."""
        given, number = tuple(given), next(_NUMBERS)
        labels = {label: f"w{number}.{label}" for label in sorted(labels_of(given))}
        lines = tuple(relabel(line, labels) for line in given) if labels else given
        return cls(number, given, lines, labels, _mentioned_tokens(lines))


class WindowAnswerer:
    """Answers about windows. ``answer``: the entry of a question, from the cache or reasoned;
    keys of the components of the last window are kept, over one ``reader``.
    """

    def __init__(
        self, answer: Callable[[EventQuestion | EnrichedEvent, EventReader], EnrichedEvent]
    ) -> None:
        self._answer = answer
        #: How many components the last window has.
        self.component_count = 0
        self._last_window: tuple[
            EventReader | None, dict[_Group, EventQuestion | EnrichedEvent]
        ] = (
            None,
            {},
        )

    def enrich(self, events: Sequence[WindowEvent], reader: EventReader) -> EnrichedEvent:
        """What follows of ``events`` together."""
        if not events or any(event.mentioned_tokens is None for event in events):
            return self._answer(
                reader.question(join_events(event.given_lines for event in events)), reader
            )
        self.component_count = 1
        last, known = self._last_window
        known = known if last is reader else {}
        now: dict[_Group, EventQuestion | EnrichedEvent] = {}
        self._last_window = reader, now
        by_number = {event.number: event for event in events}
        answers: dict[_Group, EnrichedEvent] = {}
        groups, joined = list[_Group](), _group_by_mentioned(events)
        while len(joined) != len(groups):
            groups = joined
            for group in groups:
                if group not in answers:
                    now[group] = known.get(group) or self._question(group, by_number, reader)
                    answers[group] = self._answer(now[group], reader)
                    if answers[group].verdict is Verdict.INCONSISTENT:
                        return _combine_answers([answers[group]], events, answers.values())
            self.component_count = len(groups)
            joined = _join_dependent_groups(groups, [answers[group] for group in groups])
        return _combine_answers([answers[group] for group in groups], events, answers.values())

    def _question(
        self, group: _Group, events: Mapping[int, WindowEvent], reader: EventReader
    ) -> EventQuestion | EnrichedEvent:
        return reader.question(
            list(dict.fromkeys(line for number in group for line in events[number].lines))
        )


def _mentioned_tokens(lines: Sequence[str]) -> frozenset[str] | None:
    try:
        statements = split_lines(lines)
    except UnkeyableEventError:
        return None
    named = {
        one
        for s, p, o in statements
        for one in ((s,) if o[:1] == '"' or (p == TYPE and o[:1] == "<") else (s, o))
    }
    return frozenset(named) if all(map(is_resource, named)) else None


def _group_by_mentioned(events: Sequence[WindowEvent]) -> list[_Group]:
    """``events`` by what hangs together by individuals that several mention."""
    names: Partition[str] = Partition()
    for event in events:
        names.union_all(event.mentioned_tokens or ())
    groups: dict[str | int, list[int]] = {}
    for event in events:
        first = next(iter(event.mentioned_tokens or ()), None)
        groups.setdefault(event.number if first is None else names.find(first), []).append(
            event.number
        )
    return [tuple(group) for group in groups.values()]


def _join_dependent_groups(
    groups: Sequence[_Group], found: Sequence[EnrichedEvent]
) -> list[_Group]:
    """``groups``, those as one of which one rests on somebody whom another changes."""
    entries = [each.entry for each in found]
    if len(groups) > 1 and any(entry.touches is None or entry.changes is None for entry in entries):
        return [tuple(number for group in groups for number in group)]
    changing: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        for one in entry.changes or ():
            changing.setdefault(one, []).append(place)
    places: Partition[int] = Partition()
    for place, entry in enumerate(entries):
        for one in entry.touches or ():
            places.union_all((place, *changing.get(one, ())))
    joined: dict[int, list[int]] = {}
    for place, group in enumerate(groups):
        joined.setdefault(places.find(place), []).extend(group)
    return [tuple(group) for group in joined.values()]


def _combine_answers(
    found: Sequence[EnrichedEvent], events: Sequence[WindowEvent], asked: Iterable[EnrichedEvent]
) -> EnrichedEvent:
    """The answers of all components as one, a hit where all ``asked`` are; blank nodes are
    called as `join_events` has them.
    """
    named = distinct_labels([event.labels for event in events])
    own = (
        (own, new.get(label, label))
        for event, new in zip(events, named)
        for label, own in event.labels.items()
    )
    names = {f"_:{one}": f"_:{name}" for one, name in own}
    types = {names.get(one, one): classes for each in found for one, classes in each.types.items()}
    static = {one: classes for each in found for one, classes in each.static_types.items()}
    first = found[0].entry if found else Entry(Verdict.CONSISTENT)
    lines = LazySequence(
        sum(len(event.given_lines) for event in events),
        lambda: [
            relabel(line, new) for event, new in zip(events, named) for line in event.given_lines
        ],
    )
    entry = Entry(first.verdict, (), types, static, reason=first.reason)
    return EnrichedEvent(entry, (), all(each.hit for each in asked), lines)


# Windows of events: what follows of all that they hold together, one answer a window
# (docs/ENRICHMENT.md).


class TimedWindowEvent(NamedTuple):
    """An event in a window: its time, its line in the source."""

    t: int
    line: int
    event: WindowEvent


@dataclass
class EventWindows:
    """The events of windows that are open. A window holds t from c - ``width`` to c, at c =
    first t + width + j * ``slide``; it is decided when nothing that belongs to it can come any
    more. ``last``: the c of the last that was.
    """

    width: int
    slide: int = 1
    events: list[TimedWindowEvent] = field(default_factory=list)
    next_end: int | None = None
    is_any_decided: bool = False

    def add(self, event: Event, line: int) -> None:
        """Take an event."""
        self.events.append(TimedWindowEvent(event.t, line, WindowEvent.from_lines(event.triples)))
        c = event.t + self.width
        if self.next_end is None or (c < self.next_end and not self.is_any_decided):
            self.next_end = c

    def ended_before(self, watermark: int) -> Iterator[tuple[int, list[TimedWindowEvent]]]:
        """The windows that end before a time, by their c, with their events by line."""
        while self.next_end is not None and self.next_end < watermark:
            yield self._next_window()

    def remaining_windows(self, newest: int) -> Iterator[tuple[int, list[TimedWindowEvent]]]:
        """The windows up to the one that holds the last event."""
        while self.next_end is not None and (
            self.next_end - self.slide < newest or not self.is_any_decided
        ):
            yield self._next_window()

    def _next_window(self) -> tuple[int, list[TimedWindowEvent]]:
        assert self.next_end is not None
        c, self.next_end, self.is_any_decided = self.next_end, self.next_end + self.slide, True
        self.events = [held for held in self.events if held.t >= c - self.width]
        return c, sorted((held for held in self.events if held.t <= c), key=lambda held: held.line)

    def state(self) -> dict[str, Any]:
        """What `restore` takes, as JSON."""
        held = [(held.t, held.line, held.event.given_lines) for held in self.events]
        return {"held": held, "next": self.next_end}

    def restore(self, state: Mapping[str, Any], is_any_decided: bool) -> None:
        """Go on from the `state` of another run."""
        self.events = [
            TimedWindowEvent(t, line, WindowEvent.from_lines(given))
            for t, line, given in state["held"]
        ]
        self.next_end, self.is_any_decided = state["next"], is_any_decided
