"""Properties of which nothing says whether they are object or data properties, or that are both:
each axiom in both readings (THEORY, "Terms that may be object or data").

Properties of unknown kind that an axiom forces to be of one kind form a *component*. An axiom is
mapped once for each choice of a kind for the components that it mentions, as far as the axiom
allows the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from shiq.rdf.graph import GraphMapping, OpenPropertyError, UnmappedError
from shiq.rdf.kinds import DATA, OBJECT, Kinds

if TYPE_CHECKING:
    from shiq.rdf.expressions import Expressions
    from shiq.rdf.graph import VocabularyGraph

#: An axiom that more choices allow, as of four components that are free, is left over; so is one
#: for which more have to be tried.
MOST_ALLOWED, MOST_TRIED = 16, 64
#: The kind chosen for each component, by the component's first property.
Choice = Mapping[str, str]


class Mapper(Protocol):
    """Maps triples under one choice of kinds."""

    def hand_over(self, result: GraphMapping) -> None:
        """Move what this mapper has made to ``result``."""


M = TypeVar("M", bound=Mapper)


@dataclass
class TwoReadings(Generic[M]):
    """Maps the axioms that mention properties of open kind.

    make: a mapper whose kinds are these. properties: the properties that were read in both ways,
    with the first triple that needed it and the number of such triples.
    """

    graph: VocabularyGraph
    kinds: Kinds
    make: Callable[[Kinds, Expressions], M]
    properties: dict[str, list[int]] = field(default_factory=dict)
    _mappers: dict[tuple[tuple[str, str], ...], M] = field(default_factory=dict)

    def map(self, main: int, handle: Callable[[M], None], result: GraphMapping) -> None:
        """Run ``handle`` for triple ``main`` in every reading, and put what the allowed readings
        give into ``result``.

        Raises: UnmappedError where none is allowed, or where they are too many.
        """
        mentioned: set[str] = set()
        errors: list[UnmappedError] = []
        allowed: list[M] = []
        too_many: UnmappedError | None = None
        pending: list[Choice] = [{}]
        tried = 0
        while pending and too_many is None:
            choice = pending.pop()
            tried += 1
            mapper = self._mapper(choice)
            try:
                handle(mapper)
            except OpenPropertyError as error:
                component = self.kinds.component_of(error.iri)
                mentioned.update(self.kinds.members_of(component))
                pending += ({**choice, component: kind} for kind in (DATA, OBJECT))
                if tried + len(pending) > MOST_TRIED or len(allowed) > MOST_ALLOWED:
                    too_many = UnmappedError(error.kind, error.message, error.hint)
            except UnmappedError as error:
                errors.append(error)
            else:
                allowed.append(mapper)
        for mapper in allowed:
            mapper.hand_over(result if too_many is None else GraphMapping())
        if too_many is not None or not allowed:
            raise too_many or errors[0]
        for iri in mentioned:
            self.properties.setdefault(iri, []).append(main)

    def _mapper(self, choice: Choice) -> M:
        key = tuple(sorted(choice.items()))
        if key not in self._mappers:
            from shiq.rdf.expressions import Expressions

            members = {
                kind: {i for c, k in key if k == kind for i in self.kinds.members_of(c)}
                for kind in (OBJECT, DATA)
            }
            kinds = replace(
                self.kinds,
                object_properties=self.kinds.object_properties | members[OBJECT],
                data_properties=self.kinds.data_properties | members[DATA],
            )
            self._mappers[key] = self.make(kinds, Expressions(self.graph, kinds))
        return self._mappers[key]
