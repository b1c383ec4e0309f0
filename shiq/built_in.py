"""Axioms about owl:top…Property and owl:bottom…Property, said without them where that is exact.

The universal role is outside SHIQ(D), but much that is said of it is trivial, and the empty role
can always be done without: r ⊑ ⊥ is ⊤ ⊑ ∀r.⊥. What cannot be rewritten keeps the property, so
that it can be named and refused.

>>> bottom = owl.ObjectProperty(owl.OWL + "bottomObjectProperty")
>>> without_built_in(owl.SubObjectPropertyOf(owl.ObjectProperty("urn:r"), bottom)) == (never(owl.ObjectProperty("urn:r")),)
True
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from shiq import model as owl
from shiq.signature import parts

TOP = frozenset({owl.OWL + "topObjectProperty", owl.OWL + "topDataProperty"})
BOTTOM = frozenset({owl.OWL + "bottomObjectProperty", owl.OWL + "bottomDataProperty"})

_CONTRADICTION = owl.SubClassOf(owl.THING, owl.NOTHING)


def uses_built_in(value: object) -> bool:
    """Whether a top or bottom property occurs in ``value``."""
    return any(
        isinstance(part, owl.ObjectProperty | owl.DataProperty)
        and (_is_top(part) or _is_bottom(part))
        for part in parts(value)
    )


def never(property: owl.ObjectPropertyExpression | owl.DataProperty) -> owl.Axiom:
    """The inclusion by which ``property`` is empty."""
    if isinstance(property, owl.DataProperty):
        return owl.SubClassOf(owl.THING, owl.DataMaxCardinality(0, property))
    return owl.SubClassOf(owl.THING, owl.ObjectAllValuesFrom(property, owl.NOTHING))


def without_built_in(axiom: owl.Axiom) -> tuple[owl.Axiom, ...]:
    """Axioms that together say what ``axiom`` says, without top and bottom properties where that
    is exact and easy; none for a tautology. An axiom without such properties is returned as it
    is.
    """
    return _about_properties(_in_expressions(axiom)) if uses_built_in(axiom) else (axiom,)


def assertion_without_built_in(assertion: owl.Assertion) -> tuple[owl.Assertion, ...]:
    """The same for an assertion."""
    if not uses_built_in(assertion):
        return (assertion,)
    match assertion:
        case owl.ClassAssertion(expression, individual):
            plain = expression_without_built_in(expression)
            return () if plain == owl.THING else (owl.ClassAssertion(plain, individual),)
        case owl.ObjectPropertyAssertion(property, subject, _) | owl.DataPropertyAssertion(
            property, subject, _
        ) if _is_bottom(property):
            return (owl.ClassAssertion(owl.NOTHING, subject),)
        case owl.ObjectPropertyAssertion(property, _, _) if _is_top(property):
            return ()
        case owl.NegativeObjectPropertyAssertion(property, subject, _) if _is_top(property):
            return (owl.ClassAssertion(owl.NOTHING, subject),)
        case owl.NegativeObjectPropertyAssertion(
            property, _, _
        ) | owl.NegativeDataPropertyAssertion(property, _, _) if _is_bottom(property):
            return ()
    return (assertion,)


def expression_without_built_in(expression: owl.ClassExpression) -> owl.ClassExpression:
    """``expression`` with restrictions on top and bottom properties replaced by ⊤ or ⊥ where
    they are equivalent to it.
    """
    match expression:
        case owl.ObjectIntersectionOf(operands):
            return owl.ObjectIntersectionOf(tuple(map(expression_without_built_in, operands)))
        case owl.ObjectUnionOf(operands):
            return owl.ObjectUnionOf(tuple(map(expression_without_built_in, operands)))
        case owl.ObjectComplementOf(operand):
            return owl.ObjectComplementOf(expression_without_built_in(operand))
        case owl.ObjectSomeValuesFrom(property, filler):
            filler = expression_without_built_in(filler)
            return _some(property, filler, owl.ObjectSomeValuesFrom(property, filler))
        case owl.ObjectAllValuesFrom(property, filler):
            filler = expression_without_built_in(filler)
            trivial = _negated(_some(property, _negated(filler), None))
            return trivial or owl.ObjectAllValuesFrom(property, filler)
        case (
            owl.ObjectMinCardinality(n, property, filler)
            | owl.ObjectMaxCardinality(n, property, filler)
            | owl.ObjectExactCardinality(n, property, filler)
        ):
            filler = expression_without_built_in(filler)
            return _bounded(type(expression), n, property, filler)
        case owl.ObjectHasValue(property, _) | owl.ObjectHasSelf(property):
            return (
                owl.NOTHING
                if _is_bottom(property)
                else owl.THING
                if _is_top(property)
                else expression
            )
        case owl.DataSomeValuesFrom(data_property, _) | owl.DataHasValue(data_property, _) if (
            _is_bottom(data_property)
        ):
            return owl.NOTHING
        case owl.DataAllValuesFrom(data_property, _) if _is_bottom(data_property):
            return owl.THING
        case owl.DataSomeValuesFrom(data_property, range) | owl.DataAllValuesFrom(
            data_property, range
        ) if _is_top(data_property):
            return owl.THING if range == owl.TOP_DATATYPE else expression
        case owl.DataMinCardinality(n, data_property, range):
            # There are infinitely many data values.
            everything = _is_top(data_property) and range == owl.TOP_DATATYPE
            return (
                owl.THING
                if n == 0 or everything
                else owl.NOTHING
                if _is_bottom(data_property)
                else expression
            )
        case owl.DataMaxCardinality(_, data_property, range):
            everything = _is_top(data_property) and range == owl.TOP_DATATYPE
            return (
                owl.THING
                if _is_bottom(data_property)
                else owl.NOTHING
                if everything
                else expression
            )
        case owl.DataExactCardinality(n, data_property, range):
            everything = _is_top(data_property) and range == owl.TOP_DATATYPE
            if _is_bottom(data_property):
                return owl.NOTHING if n else owl.THING
            return owl.NOTHING if everything else expression
    return expression


def _is_top(property: owl.ObjectPropertyExpression | owl.DataProperty) -> bool:
    return (property.property if isinstance(property, owl.ObjectInverseOf) else property).iri in TOP


def _is_bottom(property: owl.ObjectPropertyExpression | owl.DataProperty) -> bool:
    return (
        property.property if isinstance(property, owl.ObjectInverseOf) else property
    ).iri in BOTTOM


def _negated(expression: owl.ClassExpression | None) -> owl.ClassExpression | None:
    """⊥ for ⊤ and ⊤ for ⊥."""
    return (
        owl.NOTHING if expression == owl.THING else owl.THING if expression == owl.NOTHING else None
    )


T = TypeVar("T")


def _some(
    property: owl.ObjectPropertyExpression, filler: owl.ClassExpression | None, otherwise: T
) -> owl.Class | T:
    """∃property.filler as ⊤ or ⊥, or ``otherwise``. ∃U.⊤ is ⊤, since no domain is empty."""
    if _is_bottom(property) or filler == owl.NOTHING:
        return owl.NOTHING
    return owl.THING if _is_top(property) and filler == owl.THING else otherwise


def _bounded(
    kind: Any, n: int, property: owl.ObjectPropertyExpression, filler: owl.ClassExpression
) -> owl.ClassExpression:
    """≥n, ≤n or =n as ⊤ or ⊥, or as it is."""
    bounded: owl.ClassExpression = kind(n, property, filler)
    none = _is_bottom(property) or filler == owl.NOTHING
    if kind is owl.ObjectMinCardinality:
        some: owl.ClassExpression = _some(property, filler, bounded)
        return owl.THING if n == 0 else some if n == 1 or none else bounded
    if none:
        return owl.THING if n == 0 or kind is owl.ObjectMaxCardinality else owl.NOTHING
    return owl.NOTHING if n == 0 and _is_top(property) and filler == owl.THING else bounded


def _in_expressions(axiom: owl.Axiom) -> owl.Axiom:
    """``axiom`` with its class expressions rewritten."""
    rewrite = expression_without_built_in
    match axiom:
        case owl.SubClassOf(sub, sup):
            return owl.SubClassOf(rewrite(sub), rewrite(sup))
        case owl.EquivalentClasses(expressions):
            return owl.EquivalentClasses(tuple(map(rewrite, expressions)))
        case owl.DisjointClasses(expressions):
            return owl.DisjointClasses(tuple(map(rewrite, expressions)))
        case owl.DisjointUnion(cls, expressions):
            return owl.DisjointUnion(cls, tuple(map(rewrite, expressions)))
        case owl.ObjectPropertyDomain(property, domain):
            return owl.ObjectPropertyDomain(property, rewrite(domain))
        case owl.ObjectPropertyRange(property, range):
            return owl.ObjectPropertyRange(property, rewrite(range))
        case owl.DataPropertyDomain(data_property, domain):
            return owl.DataPropertyDomain(data_property, rewrite(domain))
        case owl.HasKey(expression, roles, properties):
            return owl.HasKey(rewrite(expression), roles, properties)
    return axiom


def _about_properties(axiom: owl.Axiom) -> tuple[owl.Axiom, ...]:
    match axiom:
        case owl.SubObjectPropertyOf(sub, sup) | owl.SubDataPropertyOf(sub, sup):
            return _included(axiom, (sub,), sup)
        case owl.SubObjectPropertyChain(chain, sup):
            return _included(axiom, chain, sup)
        case owl.EquivalentObjectProperties(members) | owl.EquivalentDataProperties(members):
            return _equivalent(axiom, members)
        case owl.InverseObjectProperties(first, second):
            return _equivalent(axiom, (first, second))
        case owl.DisjointObjectProperties(members) | owl.DisjointDataProperties(members):
            return _disjoint(type(axiom), members)
        case (
            owl.ObjectPropertyDomain(property, filler)
            | owl.ObjectPropertyRange(property, filler)
            | owl.DataPropertyDomain(property, filler)
        ):
            return (
                ()
                if _is_bottom(property)
                else (owl.SubClassOf(owl.THING, filler),)
                if _is_top(property)
                else (axiom,)
            )
        case owl.DataPropertyRange(property, range):
            return () if _is_bottom(property) or range == owl.TOP_DATATYPE else (axiom,)
        case owl.FunctionalObjectProperty(property) | owl.InverseFunctionalObjectProperty(property):
            return () if _is_bottom(property) else (axiom,)
        case owl.FunctionalDataProperty(property):
            return () if _is_bottom(property) else (_CONTRADICTION,)
        case owl.SymmetricObjectProperty() | owl.TransitiveObjectProperty():
            return ()
        case owl.ReflexiveObjectProperty(property):
            return (_CONTRADICTION,) if _is_bottom(property) else ()
        case owl.AsymmetricObjectProperty(property) | owl.IrreflexiveObjectProperty(property):
            return () if _is_bottom(property) else (_CONTRADICTION,)
        case owl.HasKey(_, roles, properties):
            return _keyed(axiom, roles, properties)
    return (axiom,)


def _keyed(
    axiom: owl.HasKey, roles: tuple[Any, ...], properties: tuple[Any, ...]
) -> tuple[owl.Axiom, ...]:
    """A key: all share the values of a top property, themselves among them, and none those of a
    bottom property.
    """
    if any(map(_is_bottom, (*roles, *properties))):
        return ()
    telling = (tuple(p for p in some if not _is_top(p)) for some in (roles, properties))
    less = owl.HasKey(axiom.expression, *telling)
    return (less if less.object_properties or less.data_properties else axiom,)


def _included(axiom: owl.Axiom, chain: tuple[Any, ...], sup: Any) -> tuple[owl.Axiom, ...]:
    """chain ⊑ sup, where a chain with an empty link is empty, and r ∘ s ⊑ ⊥ is ⊤ ⊑ ∀r.∀s.⊥."""
    if _is_top(sup) or any(map(_is_bottom, chain)):
        return ()
    if not _is_bottom(sup):
        return (axiom,)
    if all(map(_is_top, chain)):
        return (_CONTRADICTION,)
    if any(map(_is_top, chain)):
        return (axiom,)
    if isinstance(sup, owl.DataProperty):
        return (never(chain[0]),)
    nowhere: owl.ClassExpression = owl.NOTHING
    for role in reversed(chain):
        nowhere = owl.ObjectAllValuesFrom(role, nowhere)
    return (owl.SubClassOf(owl.THING, nowhere),)


def _equivalent(axiom: owl.Axiom, members: tuple[Any, ...]) -> tuple[owl.Axiom, ...]:
    if all(map(_is_top, members)):
        return ()
    if not any(map(_is_bottom, members)):
        return (axiom,)
    if any(map(_is_top, members)):
        return (_CONTRADICTION,)
    return tuple(never(member) for member in dict.fromkeys(members) if not _is_bottom(member))


def _disjoint(kind: Any, members: Iterable[Any]) -> tuple[owl.Axiom, ...]:
    """Disjointness, where an empty member says nothing and a universal one empties the others."""
    rest = [member for member in members if not _is_bottom(member)]
    universal = sum(map(_is_top, rest))
    if universal > 1:
        return (_CONTRADICTION,)
    if universal:
        return tuple(never(member) for member in dict.fromkeys(rest) if not _is_top(member))
    return (kind(tuple(rest)),) if len(rest) > 1 else ()
