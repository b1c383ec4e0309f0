"""Axioms about owl:top…Property and owl:bottom…Property, said without them where that is exact.

The universal role is outside SHIQ(D), but much that is said of it is trivial, and the empty role can always be done without:
r ⊑ ⊥ is ⊤ ⊑ ∀r.⊥. What cannot be rewritten keeps the property, so that it can be named and refused.

>>> bottom = ObjectProperty(OWL + "bottomObjectProperty")
>>> without_built_in(SubObjectPropertyOf(ObjectProperty("urn:r"), bottom)) == (never(ObjectProperty("urn:r")),)
True
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from shiq.model import (
    NOTHING,
    OWL,
    THING,
    TOP_DATATYPE,
    Assertion,
    AsymmetricObjectProperty,
    Axiom,
    Class,
    ClassAssertion,
    ClassExpression,
    DataAllValuesFrom,
    DataExactCardinality,
    DataHasValue,
    DataMaxCardinality,
    DataMinCardinality,
    DataProperty,
    DataPropertyAssertion,
    DataPropertyDomain,
    DataPropertyRange,
    DataSomeValuesFrom,
    DisjointClasses,
    DisjointDataProperties,
    DisjointObjectProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentDataProperties,
    EquivalentObjectProperties,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    HasKey,
    InverseFunctionalObjectProperty,
    InverseObjectProperties,
    IrreflexiveObjectProperty,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectHasSelf,
    ObjectHasValue,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectPropertyDomain,
    ObjectPropertyExpression,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    ReflexiveObjectProperty,
    SubClassOf,
    SubDataPropertyOf,
    SubObjectPropertyChain,
    SubObjectPropertyOf,
    SymmetricObjectProperty,
    TransitiveObjectProperty,
)
from shiq.signature import parts

TOP = frozenset({OWL + "topObjectProperty", OWL + "topDataProperty"})
BOTTOM = frozenset({OWL + "bottomObjectProperty", OWL + "bottomDataProperty"})

_CONTRADICTION = SubClassOf(THING, NOTHING)


def uses_built_in(value: object) -> bool:
    """Whether a top or bottom property occurs in ``value``."""
    return any(isinstance(part, ObjectProperty | DataProperty) and (_is_top(part) or _is_bottom(part)) for part in parts(value))


def never(property: ObjectPropertyExpression | DataProperty) -> Axiom:
    """That ``property`` is empty, as an inclusion."""
    if isinstance(property, DataProperty):
        return SubClassOf(THING, DataMaxCardinality(0, property))
    return SubClassOf(THING, ObjectAllValuesFrom(property, NOTHING))


def without_built_in(axiom: Axiom) -> tuple[Axiom, ...]:
    """Axioms that together say what ``axiom`` says, without top and bottom properties where that is exact and easy; none for a
    tautology. An axiom without such properties is returned as it is."""
    return _about_properties(_in_expressions(axiom)) if uses_built_in(axiom) else (axiom,)


def assertion_without_built_in(assertion: Assertion) -> tuple[Assertion, ...]:
    """The same for an assertion."""
    if not uses_built_in(assertion):
        return (assertion,)
    match assertion:
        case ClassAssertion(expression, individual):
            plain = expression_without_built_in(expression)
            return () if plain == THING else (ClassAssertion(plain, individual),)
        case ObjectPropertyAssertion(property, subject, _) | DataPropertyAssertion(property, subject, _) if _is_bottom(property):
            return (ClassAssertion(NOTHING, subject),)
        case ObjectPropertyAssertion(property, _, _) if _is_top(property):
            return ()
        case NegativeObjectPropertyAssertion(property, subject, _) if _is_top(property):
            return (ClassAssertion(NOTHING, subject),)
        case NegativeObjectPropertyAssertion(property, _, _) | NegativeDataPropertyAssertion(property, _, _) if _is_bottom(
            property
        ):
            return ()
    return (assertion,)


def expression_without_built_in(expression: ClassExpression) -> ClassExpression:
    """``expression`` with restrictions on top and bottom properties replaced by ⊤ or ⊥ where they are equivalent to it."""
    match expression:
        case ObjectIntersectionOf(operands):
            return ObjectIntersectionOf(tuple(map(expression_without_built_in, operands)))
        case ObjectUnionOf(operands):
            return ObjectUnionOf(tuple(map(expression_without_built_in, operands)))
        case ObjectComplementOf(operand):
            return ObjectComplementOf(expression_without_built_in(operand))
        case ObjectSomeValuesFrom(property, filler):
            filler = expression_without_built_in(filler)
            return _some(property, filler, ObjectSomeValuesFrom(property, filler))
        case ObjectAllValuesFrom(property, filler):
            filler = expression_without_built_in(filler)
            trivial = _negated(_some(property, _negated(filler), None))
            return trivial or ObjectAllValuesFrom(property, filler)
        case (
            ObjectMinCardinality(n, property, filler)
            | ObjectMaxCardinality(n, property, filler)
            | ObjectExactCardinality(n, property, filler)
        ):
            filler = expression_without_built_in(filler)
            return _bounded(type(expression), n, property, filler)
        case ObjectHasValue(property, _) | ObjectHasSelf(property):
            return NOTHING if _is_bottom(property) else THING if _is_top(property) else expression
        case DataSomeValuesFrom(data_property, _) | DataHasValue(data_property, _) if _is_bottom(data_property):
            return NOTHING
        case DataAllValuesFrom(data_property, _) if _is_bottom(data_property):
            return THING
        case DataSomeValuesFrom(data_property, range) | DataAllValuesFrom(data_property, range) if _is_top(data_property):
            return THING if range == TOP_DATATYPE else expression
        case DataMinCardinality(n, data_property, range):
            # There are infinitely many data values.
            everything = _is_top(data_property) and range == TOP_DATATYPE
            return THING if n == 0 or everything else NOTHING if _is_bottom(data_property) else expression
        case DataMaxCardinality(_, data_property, range):
            everything = _is_top(data_property) and range == TOP_DATATYPE
            return THING if _is_bottom(data_property) else NOTHING if everything else expression
        case DataExactCardinality(n, data_property, range):
            everything = _is_top(data_property) and range == TOP_DATATYPE
            if _is_bottom(data_property):
                return NOTHING if n else THING
            return NOTHING if everything else expression
    return expression


def _is_top(property: ObjectPropertyExpression | DataProperty) -> bool:
    return (property.property if isinstance(property, ObjectInverseOf) else property).iri in TOP


def _is_bottom(property: ObjectPropertyExpression | DataProperty) -> bool:
    return (property.property if isinstance(property, ObjectInverseOf) else property).iri in BOTTOM


def _negated(expression: ClassExpression | None) -> ClassExpression | None:
    """⊥ for ⊤ and ⊤ for ⊥."""
    return NOTHING if expression == THING else THING if expression == NOTHING else None


T = TypeVar("T")


def _some(property: ObjectPropertyExpression, filler: ClassExpression | None, otherwise: T) -> Class | T:
    """∃property.filler as ⊤ or ⊥, or ``otherwise``. ∃U.⊤ is ⊤, since no domain is empty."""
    if _is_bottom(property) or filler == NOTHING:
        return NOTHING
    return THING if _is_top(property) and filler == THING else otherwise


def _bounded(kind: Any, n: int, property: ObjectPropertyExpression, filler: ClassExpression) -> ClassExpression:
    """≥n, ≤n or =n as ⊤ or ⊥, or as it is."""
    bounded: ClassExpression = kind(n, property, filler)
    none = _is_bottom(property) or filler == NOTHING
    if kind is ObjectMinCardinality:
        some: ClassExpression = _some(property, filler, bounded)
        return THING if n == 0 else some if n == 1 or none else bounded
    if none:
        return THING if n == 0 or kind is ObjectMaxCardinality else NOTHING
    return NOTHING if n == 0 and _is_top(property) and filler == THING else bounded


def _in_expressions(axiom: Axiom) -> Axiom:
    """``axiom`` with its class expressions rewritten."""
    rewrite = expression_without_built_in
    match axiom:
        case SubClassOf(sub, sup):
            return SubClassOf(rewrite(sub), rewrite(sup))
        case EquivalentClasses(expressions):
            return EquivalentClasses(tuple(map(rewrite, expressions)))
        case DisjointClasses(expressions):
            return DisjointClasses(tuple(map(rewrite, expressions)))
        case DisjointUnion(cls, expressions):
            return DisjointUnion(cls, tuple(map(rewrite, expressions)))
        case ObjectPropertyDomain(property, domain):
            return ObjectPropertyDomain(property, rewrite(domain))
        case ObjectPropertyRange(property, range):
            return ObjectPropertyRange(property, rewrite(range))
        case DataPropertyDomain(data_property, domain):
            return DataPropertyDomain(data_property, rewrite(domain))
        case HasKey(expression, roles, properties):
            return HasKey(rewrite(expression), roles, properties)
    return axiom


def _about_properties(axiom: Axiom) -> tuple[Axiom, ...]:
    match axiom:
        case SubObjectPropertyOf(sub, sup) | SubDataPropertyOf(sub, sup):
            return _included(axiom, (sub,), sup)
        case SubObjectPropertyChain(chain, sup):
            return _included(axiom, chain, sup)
        case EquivalentObjectProperties(members) | EquivalentDataProperties(members):
            return _equivalent(axiom, members)
        case InverseObjectProperties(first, second):
            return _equivalent(axiom, (first, second))
        case DisjointObjectProperties(members) | DisjointDataProperties(members):
            return _disjoint(type(axiom), members)
        case (
            ObjectPropertyDomain(property, filler) | ObjectPropertyRange(property, filler) | DataPropertyDomain(property, filler)
        ):
            return () if _is_bottom(property) else (SubClassOf(THING, filler),) if _is_top(property) else (axiom,)
        case DataPropertyRange(property, range):
            return () if _is_bottom(property) or range == TOP_DATATYPE else (axiom,)
        case FunctionalObjectProperty(property) | InverseFunctionalObjectProperty(property):
            return () if _is_bottom(property) else (axiom,)
        case FunctionalDataProperty(property):
            return () if _is_bottom(property) else (_CONTRADICTION,)
        case SymmetricObjectProperty() | TransitiveObjectProperty():
            return ()
        case ReflexiveObjectProperty(property):
            return (_CONTRADICTION,) if _is_bottom(property) else ()
        case AsymmetricObjectProperty(property) | IrreflexiveObjectProperty(property):
            return () if _is_bottom(property) else (_CONTRADICTION,)
    return (axiom,)


def _included(axiom: Axiom, chain: tuple[Any, ...], sup: Any) -> tuple[Axiom, ...]:
    """chain ⊑ sup, where a chain with an empty link is empty, and r ∘ s ⊑ ⊥ is ⊤ ⊑ ∀r.∀s.⊥."""
    if _is_top(sup) or any(map(_is_bottom, chain)):
        return ()
    if not _is_bottom(sup):
        return (axiom,)
    if all(map(_is_top, chain)):
        return (_CONTRADICTION,)
    if any(map(_is_top, chain)):
        return (axiom,)
    if isinstance(sup, DataProperty):
        return (never(chain[0]),)
    nowhere: ClassExpression = NOTHING
    for role in reversed(chain):
        nowhere = ObjectAllValuesFrom(role, nowhere)
    return (SubClassOf(THING, nowhere),)


def _equivalent(axiom: Axiom, members: tuple[Any, ...]) -> tuple[Axiom, ...]:
    if all(map(_is_top, members)):
        return ()
    if not any(map(_is_bottom, members)):
        return (axiom,)
    if any(map(_is_top, members)):
        return (_CONTRADICTION,)
    return tuple(never(member) for member in dict.fromkeys(members) if not _is_bottom(member))


def _disjoint(kind: Any, members: Iterable[Any]) -> tuple[Axiom, ...]:
    """Disjointness, where an empty member says nothing and a universal one empties the others."""
    rest = [member for member in members if not _is_bottom(member)]
    universal = sum(map(_is_top, rest))
    if universal > 1:
        return (_CONTRADICTION,)
    if universal:
        return tuple(never(member) for member in dict.fromkeys(rest) if not _is_top(member))
    return (kind(tuple(rest)),) if len(rest) > 1 else ()
