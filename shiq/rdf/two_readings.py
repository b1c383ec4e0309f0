"""Properties of which nothing says whether they are object or data properties: each axiom in both readings (THEORY, "Terms that
may be object or data").

Properties that an axiom forces to be of one kind form a *component*. An axiom is mapped once for each choice of a kind for the
components that it mentions, as far as the axiom allows the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from shiq.rdf.graph import OpenPropertyError, UnmappedError
from shiq.rdf.kinds import DATA, OBJECT, Kinds

if TYPE_CHECKING:
    from shiq.rdf.expressions import Expressions
    from shiq.rdf.graph import VocabularyGraph

#: An axiom over more open components is left over.
MOST_OPEN = 4
#: The kind chosen for each component, by the component's first property.
Choice = Mapping[str, str]
M = TypeVar("M")


@dataclass
class TwoReadings(Generic[M]):
    """Maps the axioms that mention properties of open kind.

    make: a mapper whose kinds are these.
    properties: the properties that were read in both ways, with the first triple that needed it and the number of such triples.
    """

    graph: VocabularyGraph
    kinds: Kinds
    make: Callable[[Kinds, Expressions], M]
    properties: dict[str, list[int]] = field(default_factory=dict)
    _mappers: dict[tuple[tuple[str, str], ...], M] = field(default_factory=dict)

    def map(self, main: int, handle: Callable[[M], None]) -> Iterator[M]:
        """Run ``handle`` for triple ``main`` in every reading; yield the mapper after each reading that the triple allows.

        Raises: UnmappedError where it allows none, or mentions more than `MOST_OPEN` components.
        """
        mentioned: set[str] = set()
        errors: list[UnmappedError] = []
        allowed = False
        pending: list[Choice] = [{}]
        while pending:
            choice = pending.pop()
            mapper = self._mapper(choice)
            try:
                handle(mapper)
            except OpenPropertyError as error:
                component = self.kinds.component_of(error.iri)
                mentioned.update(self.kinds.members_of(component))
                if len(choice) == MOST_OPEN:
                    raise UnmappedError(error.kind, error.message, error.hint) from None
                pending += ({**choice, component: kind} for kind in (DATA, OBJECT))
            except UnmappedError as error:
                errors.append(error)
            else:
                allowed = True
                yield mapper
        if not allowed:
            raise errors[0]
        for iri in mentioned:
            self.properties.setdefault(iri, []).append(main)

    def _mapper(self, choice: Choice) -> M:
        key = tuple(sorted(choice.items()))
        if key not in self._mappers:
            from shiq.rdf.expressions import Expressions

            members = {kind: {i for c, k in key if k == kind for i in self.kinds.members_of(c)} for kind in (OBJECT, DATA)}
            kinds = replace(
                self.kinds,
                object_properties=self.kinds.object_properties | members[OBJECT],
                data_properties=self.kinds.data_properties | members[DATA],
            )
            self._mappers[key] = self.make(kinds, Expressions(self.graph, kinds))
        return self._mappers[key]
