"""The text of an ontology for a reasoner on the OWL API, written so that nothing is lost on the
way.

The OWL API keeps operands as sets. DisjointClasses(A A B) arrives there as DisjointClasses(A B).
DifferentIndividuals(a a) and DisjointObjectProperties(r r) arrive as axioms about one thing, which
HermiT takes for true. So an axiom with repeated operands is sent as an equivalent one without.
Parsers may also guess at malformed text, so the counts of sent axioms are compared with those that
were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from shiq import model as owl
from shiq.datatypes import DataTheory
from shiq.functional.writer import axiom_text
from shiq.model import Assertion, Axiom, DatatypeDefinition
from shiq.model.built_in import empty_property_axiom
from shiq.model.ntriples import blank_term
from shiq.model.roles import role_box
from shiq.model.walk import rewrite_parts
from shiq.reasoner.data_proxies import OpaqueData, opacity_reason, refute_ill_typed, replace_data
from shiq.reasoner.structure import data_parts, entity_kinds, rename_individuals, structural_key

V = TypeVar("V")

BLANK = "urn:shiq:blank:"

#: As many pairs of different individuals are sent as lists: a list of n that was read is n(n - 1)/2
#: pairs.
MANY = 50


class Unsendable(Exception):
    """Error: a question cannot be expressed for a reasoner behind the OWL API; ``str`` is the
    reason.
    """


@dataclass(frozen=True, slots=True)
class OntologyText:
    """An ontology in functional syntax, with the number of axioms and the entities that a parser of
    it must find.

    axioms: number of logical axioms, assertions included
    entities: (kind, IRI) of classes, properties, individuals and datatypes
    """

    text: str
    axioms: int
    entities: frozenset[tuple[str, str]]


def write_ontology_text(values: Sequence[owl.Axiom | owl.Assertion]) -> OntologyText:
    """Write ``values``, made sendable by `make_sendable`, in functional syntax, one a line.

    No declarations: the syntax tells kinds by position.

    Raises Unsendable for an IRI that the syntax cannot write, or that HermiT reserves for its
    own names (``internal:…``).
    """
    used = entity_kinds(values)
    for kind, iri in sorted(used):
        if iri.startswith("internal:"):
            raise Unsendable(f"the {kind} <{iri}> has an IRI that HermiT reserves for itself")
    try:
        pairs = [value for value in values if isinstance(value, owl.DifferentIndividuals)]
        rest = (
            values
            if len(pairs) < MANY
            else [value for value in values if not isinstance(value, owl.DifferentIndividuals)]
        )
        lines = [axiom_text(value) for value in rest]
        if rest is not values:
            lines += [
                _all_different(group)
                for group in cover_by_cliques((pair.first, pair.second) for pair in pairs)
            ]
    except ValueError as error:
        raise Unsendable(str(error)) from None
    return OntologyText("\n".join(["Ontology(", *lines, ")", ""]), len(lines), frozenset(used))


def _all_different(individuals: Sequence[str]) -> str:
    """Write the axiom that individuals are pairwise different."""
    return f"DifferentIndividuals{axiom_text(owl.ObjectOneOf(tuple(individuals))).removeprefix('ObjectOneOf')}"


def cover_by_cliques(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Cover the pairs of a graph by groups whose members are all pairwise connected, for few lists
    of different individuals.

    Stops because each group covers the pair that it begins with, and no earlier group did.
    """
    near: dict[str, dict[str, None]] = {}
    for a, b in pairs:
        near.setdefault(a, {})[b] = None
        near.setdefault(b, {})[a] = None
    left = {a: dict(others) for a, others in near.items()}
    found = []
    for first, others in left.items():
        while others:
            group = [first]
            for b in others:
                if all(b in near[a] for a in group):
                    group.append(b)
            for a in group:
                for b in group:
                    left[a].pop(b, None)
            found.append(group)
    return found


def make_sendable(
    axioms: Iterable[owl.Axiom], assertions: Iterable[owl.Assertion]
) -> tuple[list[owl.Axiom], list[owl.Assertion]]:
    """Rewrite axioms and assertions so that a parser which drops repeated or trivial operands
    cannot change their meaning.

    Blank nodes get names; trivial axioms and repetitions are left out. HermiT refuses blank nodes
    in several kinds of assertions; for consistency they are names like any other.
    """
    sent_axioms = [
        a
        for axiom in axioms
        for a in _sendable_axioms(
            rewrite_parts(rename_individuals(axiom, sent_name), _normalise_operands)
        )
    ]
    sent_assertions = [
        a
        if _is_sent_unchanged(a)
        else _sendable_assertion(
            rewrite_parts(rename_individuals(a, sent_name), _normalise_operands)
        )
        for a in assertions
    ]
    return _distinct_values(sent_axioms), _distinct_values(sent_assertions)


def _distinct_values(values: Iterable[V]) -> list[V]:
    """Drop axioms and assertions that are structurally equal to an earlier one."""
    return list(
        {
            value if _is_sent_unchanged(value) else structural_key(value): value for value in values
        }.values()
    )


def _is_sent_unchanged(value: object) -> bool:
    """Decide whether ``value`` is an assertion on names only, which is sent as it is."""
    match value:
        case owl.ClassAssertion(owl.Class(), one) | owl.DataPropertyAssertion(
            owl.DataProperty(), one, _
        ):
            return one[:2] != "_:"
        case owl.ObjectPropertyAssertion(owl.ObjectProperty(), one, other):
            return one[:2] != "_:" != other[:2]
    return False


def sent_name(individual: str) -> str:
    """Return the IRI under which an individual is sent; a blank node gets one."""
    return BLANK + blank_term(individual)[2:] if individual.startswith("_:") else individual


def _normalise_operands(part: object) -> object | None:
    """Rewrite an expression that functional syntax cannot express, such as an intersection of one
    operand; None for others.
    """
    match part:
        case (
            owl.ObjectIntersectionOf(operands)
            | owl.DataIntersectionOf(operands)
            | owl.ObjectUnionOf(operands)
            | owl.DataUnionOf(operands)
        ):
            if len(operands) == 1:
                return rewrite_parts(operands[0], _normalise_operands)
            if not operands:
                if isinstance(part, owl.ObjectIntersectionOf | owl.ObjectUnionOf):
                    return owl.THING if isinstance(part, owl.ObjectIntersectionOf) else owl.NOTHING
                return (
                    owl.TOP_DATATYPE
                    if isinstance(part, owl.DataIntersectionOf)
                    else owl.DataComplementOf(owl.TOP_DATATYPE)
                )
        case owl.ObjectOneOf(()):
            return owl.NOTHING
        case owl.DataOneOf(()):
            return owl.DataComplementOf(owl.TOP_DATATYPE)
        case owl.DatatypeRestriction(datatype, ()):
            return datatype
    return None


def _sendable_axioms(axiom: owl.Axiom) -> Iterator[owl.Axiom]:
    """Yield axioms, together equivalent to ``axiom``, that a parser cannot change by dropping
    repeated operands.
    """
    kind: Any = type(axiom)
    match axiom:
        case (
            owl.EquivalentClasses(items)
            | owl.EquivalentObjectProperties(items)
            | owl.EquivalentDataProperties(items)
        ):
            if len(frozenset(map(structural_key, items))) > 1:
                yield axiom
        case (
            owl.DisjointClasses(operands)
            | owl.DisjointObjectProperties(operands)
            | owl.DisjointDataProperties(operands)
        ):
            distinct, several = _split_repeated(operands)
            yield from map(_emptiness_axiom, several)
            if len(distinct) > 1:
                yield kind(tuple(distinct))
        case owl.DisjointUnion(cls, expressions):
            once, repeated = _split_repeated(expressions)
            if repeated or len(once) < 2:
                union = (
                    once[0]
                    if len(once) == 1
                    else owl.ObjectUnionOf(tuple(once))
                    if once
                    else owl.NOTHING
                )
                yield owl.EquivalentClasses((cls, union))
                yield from _sendable_axioms(owl.DisjointClasses(expressions))
            else:
                yield axiom
        case owl.SubObjectPropertyChain((role,), sup):
            yield owl.SubObjectPropertyOf(role, sup)
        case _:
            yield axiom


def _emptiness_axiom(
    value: owl.ClassExpression | owl.ObjectPropertyExpression | owl.DataProperty,
) -> owl.Axiom:
    """Make the axiom that a class or property is empty."""
    if isinstance(value, owl.ClassExpression):
        return owl.SubClassOf(value, owl.NOTHING)
    return empty_property_axiom(value)


def _split_repeated(items: Sequence[V]) -> tuple[list[V], list[V]]:
    """Split items into the distinct ones, and those that occur more than once."""
    once: dict[object, V] = {}
    repeated: dict[object, V] = {}
    for item in items:
        key = structural_key(item)
        if key in once:
            repeated[key] = item
        else:
            once[key] = item
    return list(once.values()), list(repeated.values())


def _sendable_assertion(assertion: owl.Assertion) -> owl.Assertion:
    """Rewrite a trivial equality or inequality (a = a, a ≠ a) to a class assertion; return any
    other assertion as it is.
    """
    match assertion:
        case owl.SameIndividual(first, second) if first == second:
            return owl.ClassAssertion(owl.THING, first)
        case owl.DifferentIndividuals(first, second) if first == second:
            return owl.ClassAssertion(owl.NOTHING, first)
    return assertion


# Ontologies that HermiT is asked about one after the other: what they have in common is sent
# and parsed once.


class CommonOntology:
    """The axioms and assertions that all ontologies asked about so far have in common, as one text
    for the JVM's cache.

    It is rewritten when an ontology lacks some of it.
    """

    def __init__(self) -> None:
        self._values: frozenset[Axiom | Assertion] = frozenset()
        self._text: OntologyText | None = None

    def split_into_texts(
        self, axioms: Sequence[Axiom], assertions: Sequence[Assertion]
    ) -> tuple[OntologyText, ...]:
        """Write an ontology as the text of the common part and the text of the rest.

        axioms: inclusions as `clause_axioms` makes them.
        """
        values = dict.fromkeys(_values_to_send(axioms, assertions))
        if self._text is None or not self._values <= values.keys():
            common = self._values & values.keys()
            # Of another ontology altogether nothing is to be kept.
            self._values = common if 2 * len(common) > len(values) else frozenset(values)
            self._text = write_ontology_text([value for value in values if value in self._values])
        rest = [value for value in values if value not in self._values]
        return (self._text, write_ontology_text(rest)) if rest else (self._text,)


def read_data_theory(
    axioms: Sequence[Axiom], assertions: Iterable[Assertion]
) -> tuple[list[Axiom], list[Assertion], DataTheory]:
    """Split off the datatype definitions of ``axioms``: return the other axioms, the assertions with
    ill-typed ones refuted, and the theory of their data.
    """
    definitions = {a.datatype.iri: a.range for a in axioms if isinstance(a, DatatypeDefinition)}
    others: list[Axiom] = [a for a in axioms if not isinstance(a, DatatypeDefinition)]
    theory = DataTheory(definitions, role_box(others))
    return others, refute_ill_typed(theory, assertions), theory


def _values_to_send(
    axioms: Sequence[Axiom], assertions: Sequence[Assertion]
) -> list[Axiom | Assertion]:
    """Prepare axioms and assertions for sending, with literals and data ranges replaced by
    integers.
    """
    sent, said = make_sendable(axioms, assertions)
    if any(data_parts([*sent, *said])):
        sent, said, theory = read_data_theory(sent, said)
        if (opaque := opacity_reason(theory, [*sent, *said])) is not None:
            raise OpaqueData(opaque)
        sent, said = make_sendable(*replace_data(theory, sent, said))
    return [*sent, *said]
