"""Map triples on individuals to assertions: sameness, difference, and negative property assertions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from shiq import model as owl
from shiq.model.walk import MOST_DIFFERENT, is_reserved
from shiq.rdf.expressions import Expressions, Key
from shiq.rdf.graph import MappingResult, UnmappedError, VocabularyGraph, read_list
from shiq.rdf.name_kinds import NameKinds
from shiq.rdf.namespaces import namespace_of
from shiq.rdf.triples import Term, term_text

#: The axiom or assertion of a main triple, or the individuals that it makes pairwise different;
#: None if it states nothing.
Mapped: TypeAlias = owl.Axiom | owl.Assertion | tuple[str, ...] | None


class IndividualMapper:
    """Mapper of triples to the rarer assertions: same and different individuals, negative property
    assertions.

    triples, keys: triples and expressions that the current main triple uses
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
        self.triples: list[int] = []
        self.keys: list[Key] = []

    def class_at(self, node: Term) -> owl.ClassExpression:
        """Return the class expression at ``node``, as used by the current main triple."""
        return self.expressions.class_expression(node, self.keys)

    def role_at(self, node: Term) -> owl.ObjectPropertyExpression:
        """Return the object property or inverse at ``node``, as used by the current main triple."""
        return self.expressions.object_property(node, self.triples)

    def members_of_list(self, head: Term) -> list[Term]:
        """Return the members of an RDF list, as used by the current main triple."""
        members, triples = read_list(self.graph, head)
        self.triples += triples
        return members

    def list_at(self, node: str, *names: str) -> list[Term]:
        """Return the members of the list at ``node`` under one of the properties ``names``."""
        name = next((name for name in names if self.graph.find(node, owl.OWL + name)), names[0])
        return self.members_of_list(self.value_at(node, name))

    def value_at(self, node: str, name: str) -> Term:
        """Return the only value of ``owl:name`` at ``node``, as used by the current main triple."""
        triple = self.graph.only_triple(node, owl.OWL + name, f"owl:{name}")
        self.triples.append(triple)
        return self.graph.objects[triple]

    def all_different(self, main: int, subject: str) -> Mapped:
        """Map an owl:AllDifferent node; ``main`` is its rdf:type triple. Raises: UnmappedError."""
        members = self.list_at(subject, "distinctMembers", "members")
        individuals = tuple(map(_require_individual, members))
        if len(individuals) > MOST_DIFFERENT:
            raise UnmappedError(
                "malformed",
                f"an owl:AllDifferent over {len(individuals)} individuals is over the limit of {MOST_DIFFERENT}",
                "split it, or say the differences that matter one by one",
            )
        if len(individuals) < 2:
            self.result.annotations += (main, *self.triples)  # says nothing
            return None
        return individuals

    def negative_assertion(self, subject: str) -> Mapped:
        """Map a negative property assertion. Raises: UnmappedError."""
        source = self.value_at(subject, "sourceIndividual")
        on = self.value_at(subject, "assertionProperty")
        individual = _require_individual(source)
        is_role = bool(self.graph.find(subject, owl.OWL + "targetIndividual"))
        value = self.value_at(subject, "targetIndividual" if is_role else "targetValue")
        if is_role:
            return owl.NegativeObjectPropertyAssertion(
                self.role_at(on), individual, _require_individual(value)
            )
        if not isinstance(value, owl.Literal):
            raise UnmappedError(
                "malformed", f"owl:targetValue with {term_text(value)}, which is no literal"
            )
        return owl.NegativeDataPropertyAssertion(
            self.expressions.data_property(on), individual, value
        )

    def source_individual(self, main: int, subject: str, value: Term) -> Mapped:
        """Map a negative property assertion that lacks its rdf:type, from its owl:sourceIndividual
        triple.
        """
        is_typed = owl.OWL + "NegativePropertyAssertion" in self.graph.types_of(subject)
        return None if is_typed else self.negative_assertion(subject)

    def equality(self, main: int, subject: str, value: Term, make: Any, name: str) -> Mapped:
        """Map owl:sameAs or owl:differentFrom (``name``)."""
        made: owl.Assertion = make(subject, _require_individual(value))
        self._suspect_schema_names(made, subject, str(value), name)
        return made

    def _suspect_schema_names(
        self, value: owl.Assertion, first: str, second: str, name: str
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
            self.result.suspects.append((value, kind, message))


def _require_individual(node: Term) -> str:
    """Check that a node is an individual. Raises: UnmappedError for a literal."""
    if not isinstance(node, str):
        raise UnmappedError(
            "malformed", f"the literal {term_text(node)} where an individual is expected"
        )
    return node
