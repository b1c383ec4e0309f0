"""What events are enriched with, and counts of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json.encoder import encode_basestring as _quoted
from typing import Any, NamedTuple

from shiq.abox_ops.entailment import Entailment
from shiq.answers.verdict import Verdict
from shiq.rml.model import TYPE
from shiq.streams.enrichment.cache import Entry
from shiq.streams.enrichment.key import EventKey
from shiq.streams.enrichment.statements import answer_name, individual_of, token_of


class EnrichedEvent(NamedTuple):
    """What an event is enriched with. ``hit``: whether its structure was met before."""

    entry: Entry
    order: Sequence[Any]
    hit: bool
    lines: Sequence[str]

    @property
    def verdict(self) -> Verdict:
        return self.entry.verdict

    @property
    def reason(self) -> str:
        return self.entry.reason

    @property
    def types(self) -> dict[str, frozenset[str]]:
        """The types of each individual of the event, asserted ones too, maybe none; nobody's
        where it is not consistent.
        """
        if self.entry.verdict is not Verdict.CONSISTENT:
            return {}
        own = {
            answer_name(individual_of(name)): types
            for name, types in zip(self.order, self.entry.types_at)
            if types is not None
        }
        return {**own, **self.entry.named_types}

    @property
    def static_types(self) -> dict[str, frozenset[str]]:
        """What static individuals that the event does not mention are with it, less what they
        are by themselves.
        """
        return dict(self.entry.static_types)

    def with_reason(self, reason: str) -> EnrichedEvent:
        """This answer, with another reason."""
        return self._replace(entry=replace(self.entry, reason=reason))

    def ntriples(self) -> list[str]:
        """The event and the types, as N-Triples lines."""
        said = dict.fromkeys(self.lines)
        found = (
            f"{token_of(one)} {TYPE} <{c}> ."
            for one, types in sorted(self.types.items())
            for c in sorted(types)
        )
        return [*said, *(line for line in found if line not in said)]


@dataclass
class EnrichmentCounts:
    """What was done so far; ``seconds`` by what they went to."""

    events: int = 0
    hits: int = 0
    misses: int = 0
    bypassed: int = 0
    undetermined: int = 0
    inconsistent: int = 0
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("reading", "keys", "deciding", "writing"), 0.0)
    )


def make_entry(found: Entailment, keyed: EventKey) -> Entry:
    """``found`` by the positions of a key; of an event without one, by name."""
    if found.verdict is not Verdict.CONSISTENT:
        return Entry(found.verdict, reason=found.reason)
    places: Mapping[Any, int] = (
        {name: i for i, name in enumerate(keyed.order)} if keyed.key is not None else {}
    )
    at: list[frozenset[str] | None] = [None] * len(places)
    named: dict[str, frozenset[str]] = {}
    for one, types in found.types.items():
        place = places.get(token_of(one))
        if place is None:
            named[answer_name(one)] = types
        else:
            at[place] = types
    touches, changes = (
        None if some is None else frozenset(one for one in some if token_of(one) not in places)
        for some in (found.touches, found.changes)
    )
    return Entry(found.verdict, tuple(at), named, dict(found.static_types), touches, changes)


# Rows of answers: one JSON object an event.


#: Lists of types as JSON; there are few, however many events.
_LISTS: dict[frozenset[str], str] = {}
_MOST_LISTS = 100_000


def row_text(found: EnrichedEvent, line: int, t: int | None, identifier: str | None) -> str:
    """The row of an event."""
    return join_row(line, found.hit, *row_parts(found, t, identifier))


def row_parts(found: EnrichedEvent, t: int | None, identifier: str | None) -> tuple[str, str]:
    """What `join_row` takes: a row but for its line, and whether it was a hit."""
    entry = found.entry
    name = "null" if identifier is None else _quoted(identifier)
    first = f'"t": {"null" if t is None else t}, "id": {name}, "verdict": "{entry.verdict.value}"'
    return first, f'{types_text(found)}, "reason": {_quoted(entry.reason)}}}'


def join_row(line: int, hit: bool, first: str, second: str) -> str:
    return f'{{"line": {line}, {first}, "hit": {"true" if hit else "false"}, {second}'


def add_member(row: str, name: str, value: str) -> str:
    """A row with one more member, at its end."""
    return f'{row[:-1]}, "{name}": {value}}}'


def types_text(found: EnrichedEvent) -> str:
    """The types of a row, sorted by whose they are."""
    return f'"types": {_types_json(found.types)}, "static_types": {_types_json(found.entry.static_types)}'


def has_type(found: EnrichedEvent, only: Collection[str]) -> bool:
    """Whether somebody is of one of the classes ``only``."""
    types = (*found.types.values(), *found.entry.static_types.values())
    return any(not names.isdisjoint(only) for names in types)


def _types_json(types: Mapping[str, frozenset[str]]) -> str:
    if not types:
        return "{}"
    return (
        "{"
        + ", ".join([f"{_quoted(one)}: {_list_json(types[one])}" for one in sorted(types)])
        + "}"
    )


def _list_json(types: frozenset[str]) -> str:
    found = _LISTS.get(types)
    if found is None:
        if len(_LISTS) >= _MOST_LISTS:
            _LISTS.clear()
        found = _LISTS[types] = json.dumps(sorted(types), ensure_ascii=False)
    return found
