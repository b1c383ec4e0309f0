"""Enrich windows of events component by component, so that a slide recomputes only what changed.

Two events are in the same component if they mention the same individual, or if the answer to one
depends on an individual that the other changes (THEORY, "Entailment").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias

from shiq.answers.verdict import Verdict
from shiq.partition import Partition
from shiq.rml.model import TYPE, is_resource
from shiq.streams.enrichment.answers import EnrichedEvent
from shiq.streams.enrichment.cache import CacheEntry
from shiq.streams.enrichment.questions import EventQuestion, EventReader
from shiq.streams.enrichment.statements import (
    UnkeyableEventError,
    find_labels,
    join_events,
    make_labels_distinct,
    rename_blank_nodes,
    split_lines,
)
from shiq.streams.front.event import Event
from shiq.support import LazySequence

_EVENT_NUMBERS: Final = count(1)
#: The numbers of the events of a component.
_Group: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class WindowEvent:
    """Event in a window, with blank nodes renamed to be unique.

    given_lines: original lines.
    lines: lines with unique blank nodes; ``labels`` maps original labels to unique ones.
    mentioned_tokens: tokens of the individuals that it mentions, maybe of others too; None if
    unknown.
    """

    number: int
    given_lines: tuple[str, ...]
    lines: tuple[str, ...]
    labels: Mapping[str, str]
    mentioned_tokens: frozenset[str] | None

    @classmethod
    def from_lines(cls, given: Iterable[str]) -> WindowEvent:
        """Make a window event of N-Triples lines; its blank nodes are renamed to be unique."""
        given, number = tuple(given), next(_EVENT_NUMBERS)
        labels = {label: f"w{number}.{label}" for label in sorted(find_labels(given))}
        lines = tuple(rename_blank_nodes(line, labels) for line in given) if labels else given
        return cls(number, given, lines, labels, _find_mentioned_tokens(lines))


class WindowAnswerer:
    """Enricher of successive windows, which remembers the keys of the last window's components.

    answer: enriches a question, from the cache or by reasoning.
    component_count: number of components of the last window.
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

    def enrich_window(self, events: Sequence[WindowEvent], reader: EventReader) -> EnrichedEvent:
        """Enrich the union of the ``events`` of a window."""
        if not events or any(event.mentioned_tokens is None for event in events):
            return self._answer(
                reader.make_question(join_events(event.given_lines for event in events)), reader
            )
        self.component_count = 1
        last, known = self._last_window
        known = known if last is reader else {}
        now: dict[_Group, EventQuestion | EnrichedEvent] = {}
        self._last_window = reader, now
        by_number = {event.number: event for event in events}
        answers: dict[_Group, EnrichedEvent] = {}
        groups, joined = list[_Group](), _group_by_shared_individuals(events)
        while len(joined) != len(groups):
            groups = joined
            for group in groups:
                if group not in answers:
                    now[group] = known.get(group) or self._make_question(group, by_number, reader)
                    answers[group] = self._answer(now[group], reader)
                    if answers[group].verdict is Verdict.INCONSISTENT:
                        return _combine_answers([answers[group]], events, answers.values())
            self.component_count = len(groups)
            joined = _join_dependent_groups(groups, [answers[group] for group in groups])
        return _combine_answers([answers[group] for group in groups], events, answers.values())

    def _make_question(
        self, group: _Group, events: Mapping[int, WindowEvent], reader: EventReader
    ) -> EventQuestion | EnrichedEvent:
        """Make the question of a component: the union of its events."""
        return reader.make_question(
            list(dict.fromkeys(line for number in group for line in events[number].lines))
        )


def _find_mentioned_tokens(lines: Sequence[str]) -> frozenset[str] | None:
    """Tokens of the individuals in N-Triples lines; None if a line needs the full RDF reader."""
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


def _group_by_shared_individuals(events: Sequence[WindowEvent]) -> list[_Group]:
    """Group events that are connected through individuals that they mention."""
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
    groups: Sequence[_Group], answers: Sequence[EnrichedEvent]
) -> list[_Group]:
    """Join groups of events if one depends on a static individual whose types another one changes."""
    entries = [each.entry for each in answers]
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
    answers: Sequence[EnrichedEvent], events: Sequence[WindowEvent], asked: Iterable[EnrichedEvent]
) -> EnrichedEvent:
    """Combine the answers of all components; the result is a cache hit if all ``asked`` answers
    are.
    """
    named = make_labels_distinct([event.labels for event in events])
    own = (
        (own, new.get(label, label))
        for event, new in zip(events, named)
        for label, own in event.labels.items()
    )
    names = {f"_:{one}": f"_:{name}" for one, name in own}
    types = {
        names.get(one, one): classes for each in answers for one, classes in each.types.items()
    }
    static = {one: classes for each in answers for one, classes in each.static_types.items()}
    first = answers[0].entry if answers else CacheEntry(Verdict.CONSISTENT)
    lines = LazySequence(
        sum(len(event.given_lines) for event in events),
        lambda: [
            rename_blank_nodes(line, new)
            for event, new in zip(events, named)
            for line in event.given_lines
        ],
    )
    entry = CacheEntry(first.verdict, (), types, static, reason=first.reason)
    return EnrichedEvent(entry, (), all(each.hit for each in asked), lines)


# Windows of events: what follows of all that they hold together, one answer a window
# (docs/ENRICHMENT.md).


class TimedWindowEvent(NamedTuple):
    """Event in a window, with its time and line number."""

    t: int
    line: int
    event: WindowEvent


@dataclass
class EventWindows:
    """Events of the windows that have not ended yet.

    A window contains the times from c - ``width`` to c, at c = first t + width + j * ``slide``. It
    is decided when no event can enter it any more.
    """

    width: int
    slide: int = 1
    events: list[TimedWindowEvent] = field(default_factory=list)
    next_end: int | None = None
    is_any_decided: bool = False

    def add_event(self, event: Event, line: int) -> None:
        """Add an event to the windows that contain its time."""
        self.events.append(TimedWindowEvent(event.t, line, WindowEvent.from_lines(event.triples)))
        c = event.t + self.width
        if self.next_end is None or (c < self.next_end and not self.is_any_decided):
            self.next_end = c

    def take_windows_ended_before(
        self, watermark: int
    ) -> Iterator[tuple[int, list[TimedWindowEvent]]]:
        """Yield the windows that end before the watermark, each as its last time point and its
        events in order of lines.
        """
        while self.next_end is not None and self.next_end < watermark:
            yield self._take_next_window()

    def take_remaining_windows(self, newest: int) -> Iterator[tuple[int, list[TimedWindowEvent]]]:
        """Yield the windows that have not ended, up to the one with the newest event."""
        while self.next_end is not None and (
            self.next_end - self.slide < newest or not self.is_any_decided
        ):
            yield self._take_next_window()

    def _take_next_window(self) -> tuple[int, list[TimedWindowEvent]]:
        """Take the next window and drop events that no later window contains."""
        assert self.next_end is not None
        c, self.next_end, self.is_any_decided = self.next_end, self.next_end + self.slide, True
        self.events = [held for held in self.events if held.t >= c - self.width]
        return c, sorted((held for held in self.events if held.t <= c), key=lambda held: held.line)

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint; `restore` reads it."""
        held = [(held.t, held.line, held.event.given_lines) for held in self.events]
        return {"held": held, "next": self.next_end}

    def restore(self, state: Mapping[str, Any], is_any_decided: bool) -> None:
        """Continue from the `state` of another run."""
        self.events = [
            TimedWindowEvent(t, line, WindowEvent.from_lines(given))
            for t, line, given in state["held"]
        ]
        self.next_end, self.is_any_decided = state["next"], is_any_decided
