"""Answers of the enrichment: types of an event's individuals, counts, and output rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from json.encoder import encode_basestring as _quoted
from typing import Any, NamedTuple

from shiq.abox_ops.entailment import Entailment
from shiq.answers.verdict import Verdict
from shiq.rml.model import TYPE
from shiq.streams.enrichment.cache import CacheEntry
from shiq.streams.enrichment.key import EventKey
from shiq.streams.enrichment.statements import individual_of, name_in_answer, token_of


class EnrichedEvent(NamedTuple):
    """Enriched event: its verdict and the types of its individuals.

    entry: the answer by position, shared by all events of the same structure.
    order: individual or value at each position.
    hit: whether the structure was in the cache.
    lines: the event's N-Triples lines.
    """

    entry: CacheEntry
    order: Sequence[Any]
    hit: bool
    lines: Sequence[str]

    @property
    def verdict(self) -> Verdict:
        """Whether the event is consistent with ontology and static data."""
        return self.entry.verdict

    @property
    def reason(self) -> str:
        """Reason of an undetermined verdict."""
        return self.entry.reason

    @property
    def types(self) -> dict[str, frozenset[str]]:
        """Asserted and entailed types of each individual of the event; empty unless the event is
        consistent.
        """
        if self.entry.verdict is not Verdict.CONSISTENT:
            return {}
        own = {
            name_in_answer(individual_of(name)): types
            for name, types in zip(self.order, self.entry.types_at)
            if types is not None
        }
        return {**own, **self.entry.named_types}

    @property
    def static_types(self) -> dict[str, frozenset[str]]:
        """Entailed types that static individuals, which the event does not mention, gain by the
        event.
        """
        return dict(self.entry.static_types)

    def with_reason(self, reason: str) -> EnrichedEvent:
        """Copy of this answer with another reason."""
        return self._replace(entry=replace(self.entry, reason=reason))

    def ntriples(self) -> list[str]:
        """The event and its types as N-Triples lines."""
        said = dict.fromkeys(self.lines)
        found = (
            f"{token_of(one)} {TYPE} <{c}> ."
            for one, types in sorted(self.types.items())
            for c in sorted(types)
        )
        return [*said, *(line for line in found if line not in said)]


@dataclass
class EnrichmentCounts:
    """Counts of events by outcome, and seconds by activity, for the statistics.

    bypassed: events without a key, which are never cached.
    """

    events: int = 0
    hits: int = 0
    misses: int = 0
    bypassed: int = 0
    undetermined: int = 0
    inconsistent: int = 0
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("reading", "keys", "deciding", "writing"), 0.0)
    )


def make_entry(entailment: Entailment, keyed: EventKey) -> CacheEntry:
    """Make a cache entry of the types that reasoning found. They stand by position in the event's
    key, or by name if it has no key.
    """
    if entailment.verdict is not Verdict.CONSISTENT:
        return CacheEntry(entailment.verdict, reason=entailment.reason)
    places: Mapping[Any, int] = (
        {name: i for i, name in enumerate(keyed.order)} if keyed.key is not None else {}
    )
    at: list[frozenset[str] | None] = [None] * len(places)
    named: dict[str, frozenset[str]] = {}
    for one, types in entailment.types.items():
        place = places.get(token_of(one))
        if place is None:
            named[name_in_answer(one)] = types
        else:
            at[place] = types
    touches, changes = (
        None if some is None else frozenset(one for one in some if token_of(one) not in places)
        for some in (entailment.touches, entailment.changes)
    )
    return CacheEntry(
        entailment.verdict, tuple(at), named, dict(entailment.static_types), touches, changes
    )


# Rows of answers: one JSON object an event.


def event_members(line: int, t: int | None, identifier: str | None) -> str:
    """Serialise the members of an output row that identify an event."""
    name = "null" if identifier is None else _quoted(identifier)
    return f'"line": {line}, "t": {"null" if t is None else t}, "id": {name}'


def serialise_row(members: str, answer: EnrichedEvent) -> str:
    """Serialise the output row of an event or window; it begins with the ``members`` that identify
    it.
    """
    entry, hit = answer.entry, "true" if answer.hit else "false"
    found = f'{members}, "verdict": "{entry.verdict.value}", "hit": {hit}'
    return f'{{{found}, {serialise_types(answer)}, "reason": {_quoted(entry.reason)}}}'


def add_row_member(row: str, name: str, value: str) -> str:
    """Add the member ``name`` with the JSON text ``value`` at the end of a serialised row."""
    return f'{row[:-1]}, "{name}": {value}}}'


def serialise_types(answer: EnrichedEvent) -> str:
    """Serialise the members ``types`` and ``static_types`` of an output row, sorted by individual."""
    return f'"types": {_serialise_types(answer.types)}, "static_types": {_serialise_types(answer.entry.static_types)}'


def has_type(answer: EnrichedEvent, classes: Collection[str]) -> bool:
    """Whether some individual of an answer has one of the classes ``classes``."""
    types = (*answer.types.values(), *answer.entry.static_types.values())
    return any(not names.isdisjoint(classes) for names in types)


def _serialise_types(types: Mapping[str, frozenset[str]]) -> str:
    """Serialise types by individual."""
    if not types:
        return "{}"
    return (
        "{"
        + ", ".join([f"{_quoted(one)}: {_serialise_type_set(types[one])}" for one in sorted(types)])
        + "}"
    )


@lru_cache(1 << 17)
def _serialise_type_set(types: frozenset[str]) -> str:
    """Serialise a set of types; the texts are cached."""
    return json.dumps(sorted(types), ensure_ascii=False)
