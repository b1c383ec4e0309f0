"""Axioms and assertions as trees: their vocabulary, their data ranges and literals, and copies
with parts replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from shiq import model as owl
from shiq.model.walk import ENTITY_KINDS, field_names, parts, rewrite_parts

V = TypeVar("V")

_PLAIN = (owl.XSD + "string", owl.RDF + "langString")
_DATA_RANGES = (
    owl.Datatype,
    owl.DataIntersectionOf,
    owl.DataUnionOf,
    owl.DataComplementOf,
    owl.DataOneOf,
    owl.DatatypeRestriction,
)
#: The fields of a part that have individuals.
INDIVIDUAL_FIELDS: Mapping[type, frozenset[str]] = {
    owl.ClassAssertion: frozenset(("individual",)),
    owl.ObjectHasValue: frozenset(("individual",)),
    owl.ObjectOneOf: frozenset(("individuals",)),
    owl.ObjectPropertyAssertion: frozenset(("subject", "object")),
    owl.NegativeObjectPropertyAssertion: frozenset(("subject", "object")),
    owl.DataPropertyAssertion: frozenset(("subject",)),
    owl.NegativeDataPropertyAssertion: frozenset(("subject",)),
    owl.SameIndividual: frozenset(("first", "second")),
    owl.DifferentIndividuals: frozenset(("first", "second")),
}
_UNORDERED = (
    owl.ObjectIntersectionOf,
    owl.ObjectUnionOf,
    owl.ObjectOneOf,
    owl.DataIntersectionOf,
    owl.DataUnionOf,
    owl.DataOneOf,
    owl.EquivalentClasses,
    owl.DisjointClasses,
    owl.EquivalentObjectProperties,
    owl.DisjointObjectProperties,
    owl.InverseObjectProperties,
    owl.EquivalentDataProperties,
    owl.DisjointDataProperties,
    owl.SameIndividual,
    owl.DifferentIndividuals,
)


def entity_kinds(values: Iterable[object]) -> set[tuple[str, str]]:
    """Collect the (kind, IRI) of every class, property, individual and datatype in axioms or
    assertions, also in literals.
    """
    found: set[tuple[str, str]] = set()
    for value in values:
        for part in parts(value):
            match part:
                case (
                    owl.Class(iri)
                    | owl.ObjectProperty(iri)
                    | owl.DataProperty(iri)
                    | owl.Datatype(iri)
                ):
                    found.add((ENTITY_KINDS[type(part)], iri))
                case owl.Literal(_, iri):
                    found.add(("datatype", owl.RDF + "PlainLiteral" if iri in _PLAIN else iri))
                case _:
                    for name in INDIVIDUAL_FIELDS.get(type(part), ()):
                        inside = getattr(part, name)
                        found |= {
                            ("individual", i)
                            for i in ((inside,) if isinstance(inside, str) else inside)
                        }
    return found


def data_parts(values: Iterable[object]) -> tuple[set[owl.DataRange], set[owl.Literal]]:
    """Collect the data ranges in axioms or assertions, but not those inside others, and the
    literals outside data ranges.
    """
    ranges: set[owl.DataRange] = set()
    literals: set[owl.Literal] = set()

    def note_data(part: object) -> object | None:
        """Note a data range or literal."""
        if isinstance(part, _DATA_RANGES):
            ranges.add(part)
            return part
        if isinstance(part, owl.Literal):
            literals.add(part)
        return None

    for value in values:
        rewrite_parts(value, note_data)
    return ranges, literals


def replace_data_parts(
    value: V,
    ranges: Mapping[owl.DataRange, owl.DataRange],
    literals: Mapping[owl.Literal, owl.Literal],
) -> V:
    """Copy an axiom or assertion with its outermost data ranges and its literals replaced. Raises:
    KeyError if one is missing.
    """

    def replaced_part(part: object) -> object | None:
        """The replacement of a data range or literal."""
        if isinstance(part, _DATA_RANGES):
            return ranges[part]
        if isinstance(part, owl.Literal):
            return literals[part]
        return None

    return rewrite_parts(value, replaced_part)


def rename_individuals(value: V, rename: Callable[[str], str]) -> V:
    """Copy an axiom or assertion with every individual renamed."""

    def renamed_copy(part: object) -> object | None:
        """Copy a part with its individuals renamed."""
        names = INDIVIDUAL_FIELDS.get(type(part))
        if names is None:
            return None
        arguments: dict[str, object] = {}
        for name in field_names(type(part)):
            inside = getattr(part, name)
            if name in names:
                arguments[name] = (
                    rename(inside) if isinstance(inside, str) else tuple(map(rename, inside))
                )
            else:
                arguments[name] = rewrite_parts(inside, renamed_copy)
        kind: Any = type(part)
        return kind(**arguments)

    return rewrite_parts(value, renamed_copy)


def structural_key(value: object) -> object:
    """Return a key that is equal for structurally equivalent OWL values: order and repetition do
    not matter in sets.
    """
    if isinstance(value, tuple):
        return tuple(map(structural_key, value))
    names = field_names(type(value))
    if not names:
        return value
    inside = [getattr(value, name) for name in names]
    if isinstance(
        value, owl.InverseObjectProperties | owl.SameIndividual | owl.DifferentIndividuals
    ):
        return type(value), frozenset(map(structural_key, inside))
    if isinstance(value, _UNORDERED):
        return type(value), frozenset(map(structural_key, inside[0]))
    if isinstance(value, owl.DatatypeRestriction):
        return type(value), value.datatype, frozenset(value.facets)
    return (type(value), *map(structural_key, inside))
