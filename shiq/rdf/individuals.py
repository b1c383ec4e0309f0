"""Map triples on individuals to assertions: sameness, difference, and negative property assertions."""

from __future__ import annotations

from collections.abc import Callable

from shiq import model as owl
from shiq.model.walk import MOST_DIFFERENT
from shiq.rdf.expressions import Expressions
from shiq.rdf.graph import (
    AllDifferent,
    MappedValue,
    MappingResult,
    UnmappedError,
    VocabularyGraph,
    read_list,
)
from shiq.rdf.name_kinds import NameKinds
from shiq.rdf.namespaces import namespace_of
from shiq.rdf.triples import Term, term_text
from shiq.rdf.vocabulary import is_reserved


class IndividualMapper:
    """Mapper of triples to the rarer assertions: same and different individuals, negative property
    assertions.
    """

    def __init__(
        self,
        graph: VocabularyGraph,
        kinds: NameKinds,
        expressions: Expressions,
        is_individual: Callable[[str], bool],
        whole: bool,
    ) -> None:
        self.graph = graph
        self.kinds = kinds
        self.expressions = expressions
        self.is_individual = is_individual
        self.is_complete = whole
        self.result = MappingResult()

    def _list_members(self, node: str, *names: str) -> tuple[list[Term], list[int]]:
        """Return the members of the list at ``node`` under one of the properties ``names``, and all
        its triples.
        """
        name = next((name for name in names if self.graph.find(node, owl.OWL + name)), names[0])
        triple = self.graph.only_triple(node, owl.OWL + name, f"owl:{name}")
        members, triples = read_list(self.graph, self.graph.objects[triple])
        return members, [triple, *triples]

    def _map_all_different(self, main: int, subject: str) -> None:
        """Map an owl:AllDifferent node; ``main`` is its rdf:type triple. Raises: UnmappedError."""
        members, triples = self._list_members(subject, "distinctMembers", "members")
        individuals = [self._require_individual(member) for member in members]
        if len(individuals) > MOST_DIFFERENT:
            raise UnmappedError(
                "malformed",
                f"an owl:AllDifferent over {len(individuals)} individuals is over the limit of {MOST_DIFFERENT}",
                "split it, or say the differences that matter one by one",
            )
        if len(individuals) < 2:
            self.result.annotations += (main, *triples)  # says nothing
        else:
            self.result.different_lists.append(
                AllDifferent(tuple(individuals), main, tuple(triples))
            )

    def _map_negative(self, main: int, subject: str) -> None:
        """Map a negative property assertion; ``main`` is its rdf:type triple. Raises:
        UnmappedError.
        """
        source, on = (
            self.graph.only_triple(subject, owl.OWL + n, f"owl:{n}")
            for n in ("sourceIndividual", "assertionProperty")
        )
        individual = self._require_individual(self.graph.objects[source])
        target = self.graph.find(subject, owl.OWL + "targetIndividual")
        name = "targetIndividual" if target else "targetValue"
        filler = self.graph.only_triple(subject, owl.OWL + name, f"owl:{name}")
        value = self.graph.objects[filler]
        item = MappedValue[owl.Assertion](owl.SameIndividual("", ""), main, [source, on, filler])
        if target:
            role = self.expressions.object_property(self.graph.objects[on], item.triples)
            item.value = owl.NegativeObjectPropertyAssertion(
                role, individual, self._require_individual(value)
            )
        elif isinstance(value, owl.Literal):
            item.value = owl.NegativeDataPropertyAssertion(
                self.expressions.data_property(self.graph.objects[on]), individual, value
            )
        else:
            raise UnmappedError(
                "malformed", f"owl:targetValue with {term_text(value)}, which is no literal"
            )
        self.result.assertions.append(item)

    def source_individual(self, main: int, subject: str, value: Term) -> None:
        """Map a negative property assertion that lacks its rdf:type, from its owl:sourceIndividual
        triple.
        """
        if owl.OWL + "NegativePropertyAssertion" not in self.graph.types_of(subject):
            self._map_negative(main, subject)

    def _require_individual(self, node: Term) -> str:
        """Check that a node is an individual. Raises: UnmappedError for a literal."""
        if not isinstance(node, str):
            raise UnmappedError(
                "malformed", f"the literal {term_text(node)} where an individual is expected"
            )
        return node

    def same_as(self, main: int, subject: str, value: Term) -> None:
        """Map owl:sameAs."""
        item = MappedValue[owl.Assertion](
            owl.SameIndividual(subject, self._require_individual(value)), main
        )
        self.result.assertions.append(item)
        self._suspect_schema_names(item, subject, str(value), "owl:sameAs")

    def different_from(self, main: int, subject: str, value: Term) -> None:
        """Map owl:differentFrom."""
        item = MappedValue[owl.Assertion](
            owl.DifferentIndividuals(subject, self._require_individual(value)), main
        )
        self.result.assertions.append(item)
        self._suspect_schema_names(item, subject, str(value), "owl:differentFrom")

    def _suspect_schema_names(
        self, item: MappedValue[owl.Assertion], first: str, second: str, name: str
    ) -> None:
        """Record owl:sameAs or owl:differentFrom between classes or properties as suspect: it may
        be a mistake for an axiom.
        """
        suspects = [
            node
            for node in (first, second)
            if (self.kinds.is_entity(node) or is_reserved(node)) and not self.is_individual(node)
        ]
        if len(suspects) == 2 or (suspects and self.is_complete):
            # Two classes may be individuals too; one that is the same as an individual is more
            # likely a slip, unless that is a name of another vocabulary, of which nothing says what
            # it is.
            others = [node for node in (first, second) if node not in suspects]
            is_slip = any(
                self.is_individual(node)
                or node.startswith("_:")
                or namespace_of(node) == namespace_of(suspects[0])
                for node in others
            )
            kind = "malformed" if is_slip else "individuals-only"
            message = (
                f"{name} relates individuals, and {term_text(suspects[0])} is a class or property"
            )
            self.result.suspects.append((item, kind, message))
