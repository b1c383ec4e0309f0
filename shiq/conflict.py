"""A minimal contradiction, as it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shiq.reading import Place
from shiq.verdict import filled


@dataclass(frozen=True, slots=True)
class Conflict:
    """A minimal contradiction.

    ``insertions``: a minimal X ⊆ A⁺ with (T, (A less deletions) ∪ X) inconsistent; ``base``
    (assertions of A) and ``axioms`` are with X one minimal justification. Assertions are
    N-Triples lines (several for one that RDF maps to several triples), axioms functional syntax.
    ``origin``: ``insertions``, or ``base`` for a conflict that (T, A) has by itself (X is empty
    then). ``places``: of each line of ``insertions``, every place where it was read, or () for
    all; ``keys``: what the caller called the rows of the insertions, where tables of triples had
    a column for that. ``is_minimal``: False where it contradicts, but time ran out, or a
    reasoner gave up, before it was sure that nothing can be left out. ``vocabularies``: known
    vocabularies, with their versions, whose axioms from shiq's own tables are among ``axioms``.
    ``base_places``: of each line of ``base``, where that was looked up.
    """

    insertions: tuple[str, ...]
    base: tuple[str, ...] = ()
    axioms: tuple[str, ...] = ()
    origin: str = "insertions"
    keys: tuple[str, ...] = ()
    is_minimal: bool = True
    places: tuple[tuple[Place, ...], ...] = ()
    base_places: tuple[tuple[Place, ...], ...] = ()
    vocabularies: tuple[str, ...] = ()

    @property
    def graphs(self) -> tuple[str, ...]:
        """The named graphs that its insertions are in, as N-Triples terms."""
        return tuple(
            sorted({place.graph for places in self.places for place in places if place.graph})
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "origin": self.origin,
            "insertions": list(self.insertions),
            "base": list(self.base),
            "axioms": list(self.axioms),
            "minimal": self.is_minimal,
            **filled(
                keys=list(self.keys), graphs=list(self.graphs), vocabularies=list(self.vocabularies)
            ),
            **(
                {"places": [[place.to_dict() for place in places] for places in self.places]}
                if any(self.places)
                else {}
            ),
        }
