"""Rewrite inverse functional data properties to roles between individuals and nodes that stand for
values (THEORY, "Inverse functional data properties").

Each assertion p(a, v) of a property p below an inverse functional P comes with p°(a, n), n a
node for the literal v, and P° is inverse functional. Nodes of literals that have one value are
linked to a node of that value by another inverse functional role.

>>> from shiq.model import Literal, XSD
>>> literal_of(node_of(Literal("a b", XSD + "string")))
Literal(lexical='a b', datatype='http://www.w3.org/2001/XMLSchema#string', language='')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

import numpy as np

from shiq import model as owl
from shiq.datatypes.datatype_map import value_of
from shiq.datatypes.values import DataValue
from shiq.model.abox import ABox, abox_of
from shiq.model.walk import parts
from shiq.rdf.triples import Triples, numpy_view
from shiq.rdf.vocabulary import VALUE_LINK, VALUE_ROLE

if TYPE_CHECKING:
    from shiq.rdf.bulk_assertions import RowsByKind

_NODE = "urn:shiq:literal:"
_VALUE = "urn:shiq:value:"
_LINK = owl.ObjectProperty(VALUE_LINK)
V = TypeVar("V")


# --- axioms ---------------------------------------------------------------------------------------


def value_role(property: owl.DataProperty) -> owl.ObjectProperty:
    """Return the role p° that leads from an individual to the nodes of its values of the data
    property p.
    """
    return owl.ObjectProperty(VALUE_ROLE + property.iri)


def inverse_functional_properties(axioms: Iterable[owl.Axiom]) -> set[str]:
    """Collect the inverse functional data properties, as declared or as `value_role_axioms` has
    rewritten them.
    """
    found = set()
    for axiom in axioms:
        match axiom:
            case owl.InverseFunctionalDataProperty(owl.DataProperty(iri)):
                found.add(iri)
            case owl.InverseFunctionalObjectProperty(owl.ObjectProperty(iri)) if iri.startswith(
                VALUE_ROLE
            ):
                found.add(iri.removeprefix(VALUE_ROLE))
    return found


def value_role_axioms(axioms: Sequence[owl.Axiom]) -> list[owl.Axiom]:
    """Rewrite the axioms on inverse functional data properties and their subproperties to axioms on
    their value roles.
    """
    tops = inverse_functional_properties(axioms)
    below = _subproperties(axioms, tops)
    found: list[owl.Axiom] = [
        owl.InverseFunctionalObjectProperty(value_role(owl.DataProperty(iri)))
        for iri in sorted(tops)
    ]
    for axiom in axioms:
        match axiom:
            case owl.SubDataPropertyOf(sub, sup) if sup.iri in below:
                found.append(owl.SubObjectPropertyOf(value_role(sub), value_role(sup)))
            case owl.EquivalentDataProperties(members) if any(
                member.iri in below for member in members
            ):
                found.append(owl.EquivalentObjectProperties(tuple(map(value_role, members))))
    return [*dict.fromkeys(found), owl.InverseFunctionalObjectProperty(_LINK)]


def _subproperties(axioms: Sequence[owl.Axiom], tops: Iterable[str]) -> set[str]:
    """Collect the properties that are included in one of ``tops``, these themselves too."""
    found = {*tops}
    grown = True
    while grown:
        before = len(found)
        for axiom in axioms:
            match axiom:
                case owl.SubDataPropertyOf(sub, sup) if sup.iri in found:
                    found.add(sub.iri)
                case owl.EquivalentDataProperties(members) if any(
                    member.iri in found for member in members
                ):
                    found.update(member.iri for member in members)
        grown = len(found) > before
    return found


def value_role_signature(axioms: Iterable[owl.Axiom]) -> owl.Signature:
    """Return the signature of the value roles in ``axioms``."""
    names = {
        part.iri
        for axiom in axioms
        for part in parts(axiom)
        if isinstance(part, owl.ObjectProperty)
    }
    return owl.Signature(
        object_properties=frozenset(n for n in names if n == VALUE_LINK or n.startswith(VALUE_ROLE))
    )


def properties_needing_values(
    axioms: Sequence[owl.Axiom], expressions: Iterable[owl.ClassExpression] = ()
) -> set[str]:
    """Collect the properties, below inverse functional ones, that ``axioms`` or members of
    ``expressions`` may force to have unasserted values.
    """
    below = _subproperties(axioms, inverse_functional_properties(axioms))
    asked = {iri for expression in expressions for iri in _demanded_properties(expression, True)}
    for axiom in axioms:
        match axiom:
            case owl.SubClassOf(sub, sup):
                asked.update(_demanded_properties(sub, False), _demanded_properties(sup, True))
            case owl.EquivalentClasses(members) | owl.DisjointUnion(_, members):
                asked.update(
                    iri
                    for member in members
                    for positive in (True, False)
                    for iri in _demanded_properties(member, positive)
                )
            case owl.DisjointClasses(members):
                asked.update(
                    iri for member in members for iri in _demanded_properties(member, False)
                )
            case owl.HasKey(expression, _, _):
                asked.update(_demanded_properties(expression, False))
            case (
                owl.ObjectPropertyDomain(_, filler)
                | owl.ObjectPropertyRange(_, filler)
                | owl.DataPropertyDomain(_, filler)
            ):
                asked.update(_demanded_properties(filler, True))
            case owl.SubDataPropertyOf(sub, sup) if owl.OWL + "topDataProperty" in (
                sub.iri,
                sup.iri,
            ):
                asked.update(below if sub.iri == owl.OWL + "topDataProperty" else ())
    return asked & below


def _demanded_properties(expression: Any, positive: bool) -> Iterator[str]:
    """Yield the data properties of which a member (``positive``) or non-member of ``expression``
    may need a value.
    """
    match expression:
        case owl.ObjectIntersectionOf(operands) | owl.ObjectUnionOf(operands):
            for operand in operands:
                yield from _demanded_properties(operand, positive)
        case owl.ObjectComplementOf(operand):
            yield from _demanded_properties(operand, not positive)
        case (
            owl.ObjectSomeValuesFrom(_, filler)
            | owl.ObjectAllValuesFrom(_, filler)
            | owl.ObjectMinCardinality(_, _, filler)
        ):
            yield from _demanded_properties(filler, positive)
        case owl.ObjectMaxCardinality(_, _, filler):
            yield from _demanded_properties(filler, not positive)
        case owl.ObjectExactCardinality(_, _, filler):
            yield from _demanded_properties(filler, True)
            yield from _demanded_properties(filler, False)
        case owl.DataExactCardinality(_, property, _):
            yield property.iri
        case (
            owl.DataSomeValuesFrom(property, _)
            | owl.DataMinCardinality(_, property, _)
            | owl.DataHasValue(property, _)
        ) if positive:
            yield property.iri
        case owl.DataAllValuesFrom(property, _) | owl.DataMaxCardinality(_, property, _) if (
            not positive
        ):
            yield property.iri


# --- assertions -----------------------------------------------------------------------------------


def node_of(literal: owl.Literal) -> str:
    """Return the name of the node that stands for the value of ``literal``."""
    return _NODE + ":".join(
        quote(part, safe="") for part in (literal.lexical, literal.datatype, literal.language)
    )


def literal_of(node: str) -> owl.Literal:
    """Return the literal whose value ``node`` stands for."""
    lexical, datatype, language = (unquote(part) for part in node.removeprefix(_NODE).split(":"))
    return owl.Literal(lexical, datatype, language)


def add_nodes(triples: Triples, bulk: RowsByKind, known: owl.Signature) -> None:
    """Add role assertions from individuals to value nodes for the data assertions of ``bulk``.
    Values that cannot be decided become leftovers.
    """
    rows = bulk.data
    # Copies: what is looked at cannot grow.
    subjects, predicates, values = (
        numpy_view(c)[rows].tolist() for c in (triples.subject, triples.predicate, triples.object)
    )
    roles = {
        i: role
        for i in {*predicates}
        if (role := VALUE_ROLE + str(triples.terms[i])) in known.object_properties
    }
    made: list[int] = []
    opaque: dict[tuple[str, str], int] = {}
    for row, subject, predicate, term in zip(rows.tolist(), subjects, predicates, values):
        literal = triples.terms[term]
        if predicate not in roles or not isinstance(literal, owl.Literal):
            continue
        value = value_of(literal)
        if not isinstance(value, DataValue):
            continue  # ill-typed: no value
        if value.is_opaque:
            opaque.setdefault((str(triples.terms[predicate]), literal.datatype), row)
        node = node_of(literal)
        made.append(triples.add_implied(str(triples.terms[subject]), roles[predicate], node, row))
        made.append(
            triples.add_implied(
                node, VALUE_LINK, _VALUE + quote(f"{value.space} {value.key!r}", safe=""), row
            )
        )
    for (property, datatype), row in opaque.items():
        message = f"individuals with one value of <{property}> are one, and nothing says which values <{datatype}> has"
        bulk.leftovers.append(
            triples.make_leftover(
                "outside-shiq", message, row, hint="use a datatype of the OWL 2 datatype map"
            )
        )
    bulk.roles = np.concatenate([bulk.roles, np.array(made, np.int64)])


def drop_value_nodes(abox: ABox) -> ABox:
    """Return the ABox without the assertions on value nodes."""
    if not any(iri == VALUE_LINK or iri.startswith(VALUE_ROLE) for iri in abox.object_properties):
        return abox
    return abox_of([a for a in abox if not is_on_value_nodes(a)])


def drop_value_links(abox: ABox) -> ABox:
    """Return the ABox without the assertions that link each value node with the value it stands
    for.
    """
    if VALUE_LINK not in abox.object_properties:
        return abox
    return abox_of(
        [
            a
            for a in abox
            if not (isinstance(a, owl.ObjectPropertyAssertion) and a.property == _LINK)
        ]
    )


def is_on_value_nodes(assertion: object) -> bool:
    """Decide whether an assertion is about a node that stands for a value."""
    if not isinstance(assertion, owl.ObjectPropertyAssertion) or not isinstance(
        assertion.property, owl.ObjectProperty
    ):
        return False
    iri = assertion.property.iri
    return iri == VALUE_LINK or iri.startswith(VALUE_ROLE)


# --- what people see ------------------------------------------------------------------------------


def restore_data_properties(values: Iterable[V]) -> tuple[V, ...]:
    """Replace value roles by their data properties in axioms and assertions. Links of value nodes
    are dropped, repetitions too.
    """
    return tuple(
        dict.fromkeys(
            shown for value in values if (shown := _restore_data_property(value)) is not None
        )
    )


def _restore_data_property(value: Any) -> Any:
    """Undo the rewriting of an axiom or assertion: its value role becomes the data property again.
    None for an assertion that links a value node to its value, which has no original.
    """
    match value:
        case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, node) if iri.startswith(
            VALUE_ROLE
        ):
            return owl.DataPropertyAssertion(_data_property_of(iri), subject, literal_of(node))
        case owl.InverseFunctionalObjectProperty(owl.ObjectProperty(iri)) if iri.startswith(
            VALUE_ROLE
        ):
            return owl.InverseFunctionalDataProperty(_data_property_of(iri))
        case owl.SubObjectPropertyOf(owl.ObjectProperty(sub), owl.ObjectProperty(sup)) if (
            sup.startswith(VALUE_ROLE)
        ):
            return owl.SubDataPropertyOf(_data_property_of(sub), _data_property_of(sup))
        case owl.EquivalentObjectProperties(members) if all(
            isinstance(m, owl.ObjectProperty) and m.iri.startswith(VALUE_ROLE) for m in members
        ):
            return owl.EquivalentDataProperties(
                tuple(
                    _data_property_of(m.iri) for m in members if isinstance(m, owl.ObjectProperty)
                )
            )
        case owl.InverseFunctionalObjectProperty(property) | owl.ObjectPropertyAssertion(
            property, _, _
        ) if property == _LINK:
            return None
    return value


def _data_property_of(iri: str) -> owl.DataProperty:
    """Return the data property of a value role, given by its IRI."""
    return owl.DataProperty(iri.removeprefix(VALUE_ROLE))
