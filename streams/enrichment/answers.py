"""What events are enriched with, and counts of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from abox_ops.entailment import Entailment
from shiq.rml.tokens import TYPE
from shiq.verdict import Verdict
from streams.enrichment.cache import Entry
from streams.enrichment.positions import EventKey
from streams.enrichment.reading import shown
from streams.enrichment.statements import individual, token


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
            shown(individual(name)): types
            for name, types in zip(self.order, self.entry.at)
            if types is not None
        }
        return {**own, **self.entry.named}

    @property
    def static_types(self) -> dict[str, frozenset[str]]:
        """What static individuals that the event does not mention are with it, less what they
        are by themselves.
        """
        return dict(self.entry.static)

    def ntriples(self) -> list[str]:
        """The event and the types, as N-Triples lines."""
        said = dict.fromkeys(self.lines)
        found = (
            f"{token(one)} {TYPE} <{c}> ."
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


def entry_of(found: Entailment, keyed: EventKey) -> Entry:
    """``found`` by the positions of a key; of an event without one, by name."""
    if found.verdict is not Verdict.CONSISTENT:
        return Entry(found.verdict, reason=found.reason)
    places: Mapping[Any, int] = (
        {name: i for i, name in enumerate(keyed.order)} if keyed.key is not None else {}
    )
    at: list[frozenset[str] | None] = [None] * len(places)
    named: dict[str, frozenset[str]] = {}
    for one, types in found.types.items():
        place = places.get(token(one))
        if place is None:
            named[shown(one)] = types
        else:
            at[place] = types
    touches, changes = (
        None if some is None else frozenset(one for one in some if token(one) not in places)
        for some in (found.touches, found.changes)
    )
    return Entry(found.verdict, tuple(at), named, dict(found.static_types), touches, changes)
