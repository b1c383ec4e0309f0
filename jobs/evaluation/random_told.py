"""Contradictions that a few assertions show at first sight: kept out of most random pools, so that deeper ones decide.

Names and their negations are followed along named inclusions, disjointness, domains and ranges; pairs of individuals along the
role hierarchy; values along data properties; all up to sameAs. No reasoner, so that a test of reasoners does not rest on one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations

from shiq.model import (
    THING,
    XSD,
    Assertion,
    Class,
    ClassAssertion,
    ClassExpression,
    DataComplementOf,
    DataOneOf,
    DataPropertyAssertion,
    DataPropertyRange,
    DataRange,
    Datatype,
    DatatypeRestriction,
    DifferentIndividuals,
    DisjointClasses,
    DisjointUnion,
    EquivalentClasses,
    FunctionalDataProperty,
    Individual,
    Literal,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectComplementOf,
    ObjectIntersectionOf,
    ObjectPropertyAssertion,
    ObjectPropertyDomain,
    ObjectPropertyRange,
    SameIndividual,
    SubClassOf,
    TBox,
)
from shiq.roles import Role, role_box, role_of

#: A class name, or with False its negation.
_Label = tuple[str, bool]
_Edge = tuple[Role, Individual, Individual]


class PlainClashes:
    """What a TBox forbids at first sight."""

    def __init__(self, tbox: TBox) -> None:
        self._roles = role_box(tbox.axioms)
        self._implied: dict[_Label, set[_Label]] = {}
        self._source: dict[Role, set[_Label]] = {}  # of the first individual of a role
        self._ranges: list[tuple[str, DataRange]] = []
        self._functional: set[str] = set()
        for axiom in tbox.axioms:
            match axiom:
                case SubClassOf(Class(iri), sup):
                    self._include(iri, sup)
                case EquivalentClasses((Class(iri), other)):
                    self._include(iri, other)
                    if isinstance(other, Class):
                        self._include(other.iri, Class(iri))
                case DisjointClasses(expressions):
                    self._exclude(expressions)
                case DisjointUnion(cls, expressions):
                    self._exclude(expressions)
                    for part in expressions:
                        if isinstance(part, Class):
                            self._include(part.iri, cls)
                case ObjectPropertyDomain(role, expression):
                    self._source.setdefault(role_of(role), set()).update(_labels(expression))
                case ObjectPropertyRange(role, expression):
                    self._source.setdefault(role_of(role).inverse, set()).update(_labels(expression))
                case DataPropertyRange(property, range):
                    self._ranges.append((property.iri, range))
                case FunctionalDataProperty(property):
                    self._functional.add(property.iri)

    def _include(self, iri: str, sup: ClassExpression) -> None:
        for name, sign in _labels(sup):
            self._implied.setdefault((iri, True), set()).add((name, sign))
            self._implied.setdefault((name, not sign), set()).add((iri, False))

    def _exclude(self, expressions: tuple[ClassExpression, ...]) -> None:
        for first, second in combinations(expressions, 2):
            if isinstance(first, Class):
                self._include(first.iri, ObjectComplementOf(second))

    def found_in(self, assertions: Iterable[Assertion]) -> bool:
        """Whether the assertions contradict each other, or the TBox, at first sight."""
        assertions = list(assertions)
        one = _representatives(assertions)
        edges = {
            (role, first, second)
            for a in assertions
            if isinstance(a, ObjectPropertyAssertion)
            for asserted in self._roles.superroles(role_of(a.property))
            for role, first, second in (
                (asserted, one(a.subject), one(a.object)),
                (asserted.inverse, one(a.object), one(a.subject)),
            )
        }
        values = {
            (property, one(a.subject), a.literal)
            for a in assertions
            if isinstance(a, DataPropertyAssertion)
            for property in self._roles.data_superproperties(a.property.iri)
        }
        labels: dict[Individual, set[_Label]] = {}
        for role, first, _ in edges:
            labels.setdefault(first, set()).update(self._source.get(role, ()))
        for a in assertions:
            match a:
                case ClassAssertion(expression, individual):
                    labels.setdefault(one(individual), set()).update(_labels(expression))
                case DifferentIndividuals(first, second) if one(first) == one(second):
                    return True
                case NegativeObjectPropertyAssertion(property, s, o) if (role_of(property), one(s), one(o)) in edges:
                    return True
                case NegativeDataPropertyAssertion(data, s, literal) if (data.iri, one(s), literal) in values:
                    return True
        return any(map(self._contradictory, labels.values())) or self._edges_clash(edges) or self._values_clash(values)

    def _contradictory(self, labels: set[_Label]) -> bool:
        closed: set[_Label] = set()
        stack = list(labels)
        while stack:
            label = stack.pop()
            if label not in closed:
                closed.add(label)
                stack += self._implied.get(label, ())
        return any((name, not sign) in closed for name, sign in closed)

    def _edges_clash(self, edges: set[_Edge]) -> bool:
        box = self._roles
        return (
            any((s, first, second) in edges for r, s in box.disjoint for role, first, second in edges if role == r)
            or any((role, second, first) in edges for role, first, second in edges if role in box.asymmetric)
            or any(first == second for role, first, second in edges if role in box.irreflexive)
        )

    def _values_clash(self, values: set[tuple[str, Individual, Literal]]) -> bool:
        counts = Counter((property, individual) for property, individual, _ in values)
        return (
            any(n > 1 and property in self._functional for (property, _), n in counts.items())
            or any(property == p and not _in_range(v, range) for p, range in self._ranges for property, _, v in values)
            or any((q, i, v) in values for p, q in self._roles.disjoint_data for property, i, v in values if property == p)
        )


def _representatives(assertions: list[Assertion]) -> _Representatives:
    one = _Representatives()
    for a in assertions:
        if isinstance(a, SameIndividual):
            one.merge(a.first, a.second)
    return one


class _Representatives:
    def __init__(self) -> None:
        self._parent: dict[Individual, Individual] = {}

    def __call__(self, individual: Individual) -> Individual:
        while individual in self._parent:
            individual = self._parent[individual]
        return individual

    def merge(self, first: Individual, second: Individual) -> None:
        first, second = self(first), self(second)
        if first != second:
            self._parent[first] = second


def _in_range(literal: Literal, range: DataRange) -> bool:
    """Whether a drawn literal, an integer or a string, lies in a drawn range."""
    match range:
        case Datatype(iri):
            return literal.datatype == iri
        case DataOneOf(literals):
            return literal in literals
        case DataComplementOf(operand):
            return not _in_range(literal, operand)
        case DatatypeRestriction(datatype, facets):
            return literal.datatype == datatype.iri and all(_meets(literal, facet, bound) for facet, bound in facets)
    raise TypeError(f"no drawn range: {range!r}")


def _meets(literal: Literal, facet: str, bound: Literal) -> bool:
    value, limit = int(literal.lexical), int(bound.lexical)
    match facet.removeprefix(XSD):
        case "minInclusive":
            return value >= limit
        case "minExclusive":
            return value > limit
        case "maxInclusive":
            return value <= limit
    return value < limit


def _labels(expression: ClassExpression) -> Iterator[_Label]:
    """The names and negated names among the conjuncts; owl:Thing says nothing."""
    match expression:
        case Class(iri):
            if expression != THING:
                yield iri, True
        case ObjectComplementOf(Class(iri)):
            yield iri, False
        case ObjectIntersectionOf(operands):
            for operand in operands:
                yield from _labels(operand)
