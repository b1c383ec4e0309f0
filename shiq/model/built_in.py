"""Rewrite axioms on the universal and empty properties, where an equivalent form exists.

These are owl:topObjectProperty, owl:topDataProperty and their bottom counterparts. The universal
role is outside SHIQ(D), but many axioms about it are trivial. The empty role can always be
removed: r ⊑ ⊥ is ⊤ ⊑ ∀r.⊥. An axiom without an equivalent form keeps the property, so that it can
be reported by name.

>>> bottom = owl.ObjectProperty(owl.OWL + "bottomObjectProperty")
>>> r = owl.ObjectProperty("urn:r")
>>> remove_built_in(owl.SubObjectPropertyOf(r, bottom)) == (empty_property_axiom(r),)
True
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from shiq import model as owl
from shiq.model.walk import parts, rebuild

TOP = frozenset({owl.OWL + "topObjectProperty", owl.OWL + "topDataProperty"})
BOTTOM = frozenset({owl.OWL + "bottomObjectProperty", owl.OWL + "bottomDataProperty"})

_CONTRADICTION = owl.SubClassOf(owl.THING, owl.NOTHING)


def uses_built_in(value: object) -> bool:
    """Decide whether a universal or empty property (owl:topObjectProperty and the like) occurs in
    `value`.
    """
    return any(
        isinstance(part, owl.ObjectProperty | owl.DataProperty)
        and (_is_universal_property(part) or _is_empty_property(part))
        for part in parts(value)
    )


def empty_property_axiom(property: owl.ObjectPropertyExpression | owl.DataProperty) -> owl.Axiom:
    """Make the axiom that a property is empty: ⊤ ⊑ ∀property.⊥, or ⊤ ⊑ ≤0 property for data."""
    if isinstance(property, owl.DataProperty):
        return owl.SubClassOf(owl.THING, owl.DataMaxCardinality(0, property))
    return owl.SubClassOf(owl.THING, owl.ObjectAllValuesFrom(property, owl.NOTHING))


def remove_built_in(axiom: owl.Axiom) -> tuple[owl.Axiom, ...]:
    """Rewrite an axiom to equivalent axioms without universal and empty properties; it stays as it
    is where that is not possible.

    Returns: nothing for a tautology; the axiom itself if no such property occurs in it.
    """
    if not uses_built_in(axiom):
        return (axiom,)
    return _rewrite_property_axiom(rebuild(axiom, _rewrite_restriction))


def remove_built_in_from_assertion(assertion: owl.Assertion) -> tuple[owl.Assertion, ...]:
    """Rewrite an assertion to equivalent assertions without universal and empty properties, where
    possible.

    Returns: nothing for a tautology; the assertion itself if no such property occurs in it.
    """
    if not uses_built_in(assertion):
        return (assertion,)
    match assertion:
        case owl.ClassAssertion(expression, individual):
            plain = remove_built_in_from_expression(expression)
            return () if plain == owl.THING else (owl.ClassAssertion(plain, individual),)
        case owl.ObjectPropertyAssertion(property, subject, _) | owl.DataPropertyAssertion(
            property, subject, _
        ) if _is_empty_property(property):
            return (owl.ClassAssertion(owl.NOTHING, subject),)
        case owl.ObjectPropertyAssertion(property, _, _) if _is_universal_property(property):
            return ()
        case owl.NegativeObjectPropertyAssertion(property, subject, _) if _is_universal_property(
            property
        ):
            return (owl.ClassAssertion(owl.NOTHING, subject),)
        case owl.NegativeObjectPropertyAssertion(
            property, _, _
        ) | owl.NegativeDataPropertyAssertion(property, _, _) if _is_empty_property(property):
            return ()
    return (assertion,)


def remove_built_in_from_expression(expression: owl.ClassExpression) -> owl.ClassExpression:
    """Replace restrictions on universal and empty properties in a class expression by ⊤ or ⊥, where
    these are equivalent.
    """
    return rebuild(expression, _rewrite_restriction)


def _rewrite_restriction(expression: Any) -> Any:
    """Replace one restriction on a universal or empty property by ⊤ or ⊥, if that is equivalent.
    Its filler is rewritten already.
    """
    match expression:
        case owl.ObjectSomeValuesFrom(property, filler):
            return _trivial_existential(property, filler, expression)
        case owl.ObjectAllValuesFrom(property, filler):
            return (
                _opposite_constant(_trivial_existential(property, _opposite_constant(filler), None))
                or expression
            )
        case (
            owl.ObjectMinCardinality(n, property, filler)
            | owl.ObjectMaxCardinality(n, property, filler)
            | owl.ObjectExactCardinality(n, property, filler)
        ):
            return _trivial_cardinality(expression, n, property, filler)
        case owl.ObjectHasValue(property, _) | owl.ObjectHasSelf(property):
            return (
                owl.NOTHING
                if _is_empty_property(property)
                else owl.THING
                if _is_universal_property(property)
                else expression
            )
        case owl.DataSomeValuesFrom(data_property, _) | owl.DataHasValue(data_property, _) if (
            _is_empty_property(data_property)
        ):
            return owl.NOTHING
        case owl.DataAllValuesFrom(data_property, _) if _is_empty_property(data_property):
            return owl.THING
        case owl.DataSomeValuesFrom(data_property, range) | owl.DataAllValuesFrom(
            data_property, range
        ) if _is_universal_property(data_property):
            return owl.THING if range == owl.TOP_DATATYPE else expression
        case owl.DataMinCardinality(n, data_property, range):
            # There are infinitely many data values.
            everything = _is_universal_property(data_property) and range == owl.TOP_DATATYPE
            return (
                owl.THING
                if n == 0 or everything
                else owl.NOTHING
                if _is_empty_property(data_property)
                else expression
            )
        case owl.DataMaxCardinality(_, data_property, range):
            everything = _is_universal_property(data_property) and range == owl.TOP_DATATYPE
            return (
                owl.THING
                if _is_empty_property(data_property)
                else owl.NOTHING
                if everything
                else expression
            )
        case owl.DataExactCardinality(n, data_property, range):
            everything = _is_universal_property(data_property) and range == owl.TOP_DATATYPE
            if _is_empty_property(data_property):
                return owl.NOTHING if n else owl.THING
            return owl.NOTHING if everything else expression
    return expression


def _is_universal_property(property: owl.ObjectPropertyExpression | owl.DataProperty) -> bool:
    """Decide whether a property or its inverse is a universal one."""
    return (property.property if isinstance(property, owl.ObjectInverseOf) else property).iri in TOP


def _is_empty_property(property: owl.ObjectPropertyExpression | owl.DataProperty) -> bool:
    """Decide whether a property or its inverse is an empty one."""
    return (
        property.property if isinstance(property, owl.ObjectInverseOf) else property
    ).iri in BOTTOM


def _opposite_constant(expression: owl.ClassExpression | None) -> owl.ClassExpression | None:
    """Return ⊥ for ⊤ and ⊤ for ⊥; None for every other expression."""
    return (
        owl.NOTHING if expression == owl.THING else owl.THING if expression == owl.NOTHING else None
    )


T = TypeVar("T")


def _trivial_existential(
    property: owl.ObjectPropertyExpression, filler: owl.ClassExpression | None, otherwise: T
) -> owl.Class | T:
    """Return the restriction ∃property.filler as ⊤ or ⊥ if it is equivalent to that, else
    `otherwise`.
    """
    if _is_empty_property(property) or filler == owl.NOTHING:
        return owl.NOTHING
    return owl.THING if _is_universal_property(property) and filler == owl.THING else otherwise


def _trivial_cardinality(
    bounded: owl.ClassExpression,
    n: int,
    property: owl.ObjectPropertyExpression,
    filler: owl.ClassExpression,
) -> owl.ClassExpression:
    """Return the cardinality restriction `bounded` as ⊤ or ⊥ if it is equivalent to that, else
    unchanged.
    """
    kind = type(bounded)
    none = _is_empty_property(property) or filler == owl.NOTHING
    if kind is owl.ObjectMinCardinality:
        some: owl.ClassExpression = _trivial_existential(property, filler, bounded)
        return owl.THING if n == 0 else some if n == 1 or none else bounded
    if none:
        return owl.THING if n == 0 or kind is owl.ObjectMaxCardinality else owl.NOTHING
    return (
        owl.NOTHING
        if n == 0 and _is_universal_property(property) and filler == owl.THING
        else bounded
    )


def _rewrite_property_axiom(axiom: owl.Axiom) -> tuple[owl.Axiom, ...]:
    """Rewrite a property axiom with universal or empty properties to equivalent axioms."""
    match axiom:
        case owl.SubObjectPropertyOf(sub, sup) | owl.SubDataPropertyOf(sub, sup):
            return _rewrite_inclusion(axiom, (sub,), sup)
        case owl.SubObjectPropertyChain(chain, sup):
            return _rewrite_inclusion(axiom, chain, sup)
        case owl.EquivalentObjectProperties(members) | owl.EquivalentDataProperties(members):
            return _rewrite_equivalence(axiom, members)
        case owl.InverseObjectProperties(first, second):
            return _rewrite_equivalence(axiom, (first, second))
        case owl.DisjointObjectProperties(members) | owl.DisjointDataProperties(members):
            return _rewrite_disjointness(type(axiom), members)
        case (
            owl.ObjectPropertyDomain(property, filler)
            | owl.ObjectPropertyRange(property, filler)
            | owl.DataPropertyDomain(property, filler)
        ):
            return (
                ()
                if _is_empty_property(property)
                else (owl.SubClassOf(owl.THING, filler),)
                if _is_universal_property(property)
                else (axiom,)
            )
        case owl.DataPropertyRange(property, range):
            return () if _is_empty_property(property) or range == owl.TOP_DATATYPE else (axiom,)
        case owl.FunctionalObjectProperty(property) | owl.InverseFunctionalObjectProperty(property):
            return () if _is_empty_property(property) else (axiom,)
        case owl.FunctionalDataProperty(property):
            return () if _is_empty_property(property) else (_CONTRADICTION,)
        case owl.SymmetricObjectProperty() | owl.TransitiveObjectProperty():
            return ()
        case owl.ReflexiveObjectProperty(property):
            return (_CONTRADICTION,) if _is_empty_property(property) else ()
        case owl.AsymmetricObjectProperty(property) | owl.IrreflexiveObjectProperty(property):
            return () if _is_empty_property(property) else (_CONTRADICTION,)
        case owl.HasKey(_, roles, properties):
            return _rewrite_key(axiom, roles, properties)
    return (axiom,)


def _rewrite_key(
    axiom: owl.HasKey, roles: tuple[Any, ...], properties: tuple[Any, ...]
) -> tuple[owl.Axiom, ...]:
    """Rewrite a key with universal or empty properties: all individuals share the values of the
    former, none has one of the latter.
    """
    if any(map(_is_empty_property, (*roles, *properties))):
        return ()
    telling = (
        tuple(p for p in some if not _is_universal_property(p)) for some in (roles, properties)
    )
    less = owl.HasKey(axiom.expression, *telling)
    return (less if less.object_properties or less.data_properties else axiom,)


def _rewrite_inclusion(axiom: owl.Axiom, chain: tuple[Any, ...], sup: Any) -> tuple[owl.Axiom, ...]:
    """Rewrite the role inclusion chain ⊑ sup with universal or empty properties.

    A chain with an empty link is empty; r ∘ s ⊑ ⊥ is ⊤ ⊑ ∀r.∀s.⊥.
    """
    if _is_universal_property(sup) or any(map(_is_empty_property, chain)):
        return ()
    if not _is_empty_property(sup):
        return (axiom,)
    if all(map(_is_universal_property, chain)):
        return (_CONTRADICTION,)
    if any(map(_is_universal_property, chain)):
        return (axiom,)
    if isinstance(sup, owl.DataProperty):
        return (empty_property_axiom(chain[0]),)
    nowhere: owl.ClassExpression = owl.NOTHING
    for role in reversed(chain):
        nowhere = owl.ObjectAllValuesFrom(role, nowhere)
    return (owl.SubClassOf(owl.THING, nowhere),)


def _rewrite_equivalence(axiom: owl.Axiom, members: tuple[Any, ...]) -> tuple[owl.Axiom, ...]:
    """Rewrite the equivalence of properties, a universal or empty one among them."""
    if all(map(_is_universal_property, members)):
        return ()
    if not any(map(_is_empty_property, members)):
        return (axiom,)
    if any(map(_is_universal_property, members)):
        return (_CONTRADICTION,)
    return tuple(
        empty_property_axiom(member)
        for member in dict.fromkeys(members)
        if not _is_empty_property(member)
    )


def _rewrite_disjointness(kind: Any, members: Iterable[Any]) -> tuple[owl.Axiom, ...]:
    """Rewrite the disjointness of properties: an empty member adds nothing, a universal one makes
    the others empty.
    """
    rest = [member for member in members if not _is_empty_property(member)]
    universal = sum(map(_is_universal_property, rest))
    if universal > 1:
        return (_CONTRADICTION,)
    if universal:
        return tuple(
            empty_property_axiom(member)
            for member in dict.fromkeys(rest)
            if not _is_universal_property(member)
        )
    return (kind(tuple(rest)),) if len(rest) > 1 else ()
