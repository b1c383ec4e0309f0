"""Contradictions that show without a choice: kept out of most random pools, so that deeper ones
decide.

A small forward chainer of its own over the axioms that need no case distinction. Names and
negated names follow from named inclusions, disjointness, domains and ranges, ∀ and ∃; pairs of
individuals along the role hierarchy and transitivity; individuals become one by sameAs,
functional roles and ≤1. What it misses is just not kept out: no reasoner, so that a test of
reasoners does not rest on one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations

from shiq.model import (
    THING,
    Assertion,
    Axiom,
    Class,
    ClassAssertion,
    ClassExpression,
    DataPropertyAssertion,
    DataPropertyRange,
    DataRange,
    DifferentIndividuals,
    DisjointClasses,
    DisjointUnion,
    EquivalentClasses,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    Individual,
    InverseFunctionalObjectProperty,
    Literal,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectIntersectionOf,
    ObjectMaxCardinality,
    ObjectPropertyAssertion,
    ObjectPropertyDomain,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    SameIndividual,
    SubClassOf,
    TBox,
)
from shiq.model.roles import Role, role_box, role_of
from tests.tools.random_ontologies.values import in_range

#: A class name, or with False its negation.
_Label = tuple[str, bool]
_Labels = dict[Individual, set[_Label]]
_Edges = dict[tuple[Individual, Role], set[Individual]]
_TOP: _Label = (THING.iri, True)


class PlainClashes:
    """What a TBox forbids without a choice."""

    def __init__(self, tbox: TBox) -> None:
        self._roles = role_box(tbox.axioms)
        self._implied: dict[_Label, set[_Label]] = {}
        self._sent: dict[_Label, set[tuple[Role, _Label]]] = {}
        self._at_most_one: dict[_Label, set[tuple[Role, _Label]]] = {}
        self._ranges: list[tuple[str, DataRange]] = []
        self._functional: set[str] = set()
        for axiom in tbox.axioms:
            self._learn(axiom)

    def _learn(self, axiom: Axiom) -> None:
        match axiom:
            case SubClassOf(sub, sup):
                self._include(sub, sup)
            case EquivalentClasses((first, second)):
                self._include(first, second)
                self._include(second, first)
            case DisjointClasses(expressions):
                self._exclude(expressions)
            case DisjointUnion(cls, expressions):
                self._exclude(expressions)
                for part in expressions:
                    self._include(part, cls)
            case ObjectPropertyDomain(role, expression):
                self._include(ObjectSomeValuesFrom(role, THING), expression)
            case ObjectPropertyRange(role, expression):
                self._include(THING, ObjectAllValuesFrom(role, expression))
            case FunctionalObjectProperty(role):
                self._at_most_one.setdefault(_TOP, set()).add((role_of(role), _TOP))
            case InverseFunctionalObjectProperty(role):
                self._at_most_one.setdefault(_TOP, set()).add((role_of(role).inverse, _TOP))
            case DataPropertyRange(property, range):
                self._ranges.append((property.iri, range))
            case FunctionalDataProperty(property):
                self._functional.add(property.iri)

    def _include(self, sub: ClassExpression, sup: ClassExpression) -> None:
        match sub:
            case ObjectSomeValuesFrom(role, filler):
                for label in _labels(sup):
                    self._send(filler, role_of(role).inverse, label)
                return
            case Class() | ObjectComplementOf(Class()):
                pass
            case _:
                return
        (source,) = _labels(sub) or (_TOP,)
        for conjunct in sup.operands if isinstance(sup, ObjectIntersectionOf) else (sup,):
            match conjunct:
                case ObjectAllValuesFrom(role, filler):
                    for label in _labels(filler):
                        self._send(sub, role_of(role), label)
                case ObjectMaxCardinality(1, role, filler) | ObjectExactCardinality(
                    1, role, filler
                ):
                    for label in _labels(filler)[:1] or [_TOP] * (filler == THING):
                        self._at_most_one.setdefault(source, set()).add((role_of(role), label))
                case _:
                    for label in _labels(conjunct):
                        self._implied.setdefault(source, set()).add(label)
                        self._implied.setdefault(_negated(label), set()).add(_negated(source))

    def _send(self, source: ClassExpression, role: Role, label: _Label) -> None:
        """What is ``source`` sends ``label`` along ``role``; and the contrapositive."""
        if isinstance(source, Class | ObjectComplementOf):
            for known in _labels(source) or [_TOP]:
                self._sent.setdefault(known, set()).add((role, label))
                self._sent.setdefault(_negated(label), set()).add((role.inverse, _negated(known)))

    def _exclude(self, expressions: tuple[ClassExpression, ...]) -> None:
        for first, second in combinations(expressions, 2):
            self._include(first, ObjectComplementOf(second))

    def found_in(self, assertions: Iterable[Assertion]) -> bool:
        """Whether the assertions contradict each other, or the TBox, without a choice."""
        assertions = list(assertions)
        one = _Representatives()
        for a in assertions:
            if isinstance(a, SameIndividual):
                one.merge(a.first, a.second)
        while True:
            edges = self._edges(assertions, one)
            labels = self._closed(assertions, edges, one)
            if not self._merge(edges, labels, one):
                break
        return (
            any(_negated(label) in known for known in labels.values() for label in known)
            or any(_is_denied(a, edges, one) for a in assertions)
            or self._edges_clash(edges)
            or self._values_clash(assertions, one)
        )

    def _edges(self, assertions: list[Assertion], one: _Representatives) -> _Edges:
        edges: _Edges = {}
        stack = [
            (one(a.subject), role_of(a.property), one(a.object))
            for a in assertions
            if isinstance(a, ObjectPropertyAssertion)
        ]
        while stack:
            first, role, second = stack.pop()
            if second in edges.setdefault((first, role), set()):
                continue
            edges[first, role].add(second)
            stack.append((second, role.inverse, first))
            stack += ((first, above, second) for above in self._roles.superroles(role))
            if role in self._roles.transitive:
                stack += ((first, role, third) for third in edges.get((second, role), ()))
        return edges

    def _closed(self, assertions: list[Assertion], edges: _Edges, one: _Representatives) -> _Labels:
        labels: _Labels = {}
        asserted = (a for a in assertions if isinstance(a, ClassAssertion))
        stack = [(one(a.individual), label) for a in asserted for label in _labels(a.expression)]
        stack += ((individual, _TOP) for individual, _ in edges)
        while stack:
            individual, label = stack.pop()
            known = labels.setdefault(individual, set())
            if label not in known:
                known.add(label)
                stack += ((individual, implied) for implied in self._implied.get(label, ()))
                stack += (
                    (y, sent)
                    for role, sent in self._sent.get(label, ())
                    for y in edges.get((individual, role), ())
                )
        return labels

    def _merge(self, edges: _Edges, labels: _Labels, one: _Representatives) -> bool:
        """Makes one what ≤1 makes one; whether there was anything."""
        merged = False
        for individual, known in labels.items():
            for label in known:
                for role, filler in self._at_most_one.get(label, ()):
                    counted = [
                        y for y in edges.get((individual, role), ()) if filler in labels.get(y, ())
                    ]
                    for other in counted[1:]:
                        merged |= one.merge(counted[0], other)
        return merged

    def _edges_clash(self, edges: _Edges) -> bool:
        box = self._roles
        return any(
            (role in box.irreflexive and first in seconds)
            or (
                role in box.asymmetric
                and not seconds.isdisjoint(edges.get((first, role.inverse), ()))
            )
            or any(
                r == role and not seconds.isdisjoint(edges.get((first, s), ()))
                for r, s in box.disjoint
            )
            for (first, role), seconds in edges.items()
        )

    def _values_clash(self, assertions: list[Assertion], one: _Representatives) -> bool:
        values: set[tuple[str, Individual, Literal]] = {
            (property, one(a.subject), a.literal)
            for a in assertions
            if isinstance(a, DataPropertyAssertion)
            for property in self._roles.data_superproperties(a.property.iri)
        }
        counts = Counter((property, individual) for property, individual, _ in values)
        return (
            any(n > 1 and property in self._functional for (property, _), n in counts.items())
            or any(
                property == p and not in_range(v, range)
                for p, range in self._ranges
                for property, _, v in values
            )
            or any(
                (q, i, v) in values
                for p, q in self._roles.disjoint_data
                for property, i, v in values
                if property == p
            )
            or any(
                (a.property.iri, one(a.subject), a.literal) in values
                for a in assertions
                if isinstance(a, NegativeDataPropertyAssertion)
            )
        )


def _is_denied(assertion: Assertion, edges: _Edges, one: _Representatives) -> bool:
    match assertion:
        case DifferentIndividuals(first, second):
            return one(first) == one(second)
        case NegativeObjectPropertyAssertion(role, subject, object):
            return one(object) in edges.get((one(subject), role_of(role)), ())
    return False


class _Representatives:
    def __init__(self) -> None:
        self._parent: dict[Individual, Individual] = {}

    def __call__(self, individual: Individual) -> Individual:
        while individual in self._parent:
            individual = self._parent[individual]
        return individual

    def merge(self, first: Individual, second: Individual) -> bool:
        first, second = self(first), self(second)
        if first == second:
            return False
        self._parent[max(first, second)] = min(first, second)
        return True


def _negated(label: _Label) -> _Label:
    return label[0], not label[1]


def _labels(expression: ClassExpression) -> list[_Label]:
    """The names and negated names among the conjuncts; owl:Thing says nothing."""
    return list(_conjuncts(expression))


def _conjuncts(expression: ClassExpression) -> Iterator[_Label]:
    match expression:
        case Class(iri):
            if expression != THING:
                yield iri, True
        case ObjectComplementOf(Class(iri)):
            yield iri, False
        case ObjectIntersectionOf(operands):
            for operand in operands:
                yield from _conjuncts(operand)
