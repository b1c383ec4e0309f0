"""What the terms of a JSON-LD document may stand for, wherever in it they are defined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class JsonNames:
    """Keywords and their other names; ``language_maps``, …: terms by their container;
    ``scoped``: those with a context that holds where they are a type.
    """

    languages: set[str] = field(default_factory=lambda: {"@language"})
    types: set[str] = field(default_factory=lambda: {"@type"})
    graphs: set[str] = field(default_factory=lambda: {"@graph"})
    sets: set[str] = field(default_factory=lambda: {"@set"})
    values: set[str] = field(default_factory=lambda: {"@value", "@list"})
    language_maps: set[str] = field(default_factory=set)
    index_maps: set[str] = field(default_factory=set)
    no_maps: set[str] = field(default_factory=set)  # in another context
    scoped: set[str] = field(default_factory=set)

    def take(self, context: Mapping[str, Any]) -> None:
        """Notes what a context defines."""
        terms = {
            key: value if isinstance(value, dict) else {"@id": value}
            for key, value in context.items()
            if key[:1] != "@"
        }
        meant = {key: parts.get("@id", parts.get("@reverse")) for key, parts in terms.items()}
        for names in (self.languages, self.types, self.graphs, self.sets, self.values):
            # A term may be the other name of one that is defined later.
            while (
                new := {
                    key for key, name in meant.items() if isinstance(name, str) and name in names
                }
                - names
            ):
                names.update(new)
        maps = {"@language": self.language_maps, "@index": self.index_maps}
        for key, parts in terms.items():
            given = parts.get("@container")
            for container in given if isinstance(given, list) else [given]:
                maps.get(str(container), self.no_maps).add(key)
        self.scoped |= {key for key, parts in terms.items() if "@context" in parts}

    def bringing(self, node: Mapping[str, Any]) -> list[str]:
        """The types of a node that bring a context along."""
        said = [node[key] for key in node if key in self.types]
        names = [name for one in said for name in (one if isinstance(one, list) else [one])]
        return sorted({name for name in names if isinstance(name, str)} & self.scoped)
