"""Axioms and assertions as trees: their vocabulary, their data ranges and literals, and copies
with parts replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from operator import is_not
from typing import Any, TypeVar

from shiq import model as owl

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
_INDIVIDUALS: Mapping[type, frozenset[str]] = {
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


_FIELDS: dict[type, tuple[str, ...]] = {}


def _field_names(kind: type) -> tuple[str, ...]:
    """The fields of a model type; none for anything else."""
    known = _FIELDS.get(kind)
    if known is None:
        known = _FIELDS[kind] = (
            tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
        )
    return known


def parts(value: object) -> Iterator[object]:
    """``value`` and everything inside it, outermost first; individuals and other plain fields
    are left out.
    """
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if type(item) is str:
            continue
        if isinstance(item, tuple):
            stack.extend(item)
        elif names := _field_names(type(item)):
            yield item
            stack.extend(getattr(item, name) for name in names)


def entities(values: Iterable[object]) -> set[tuple[str, str]]:
    """The (kind, IRI) of every class, property, individual and datatype in ``values``, those of
    literals included.

    A string literal has rdf:PlainLiteral, as the OWL API reads it.
    """
    found: set[tuple[str, str]] = set()
    for value in values:
        for part in parts(value):
            match part:
                case owl.Class(iri):
                    found.add(("class", iri))
                case owl.ObjectProperty(iri):
                    found.add(("object property", iri))
                case owl.DataProperty(iri):
                    found.add(("data property", iri))
                case owl.Datatype(iri):
                    found.add(("datatype", iri))
                case owl.Literal(_, iri):
                    found.add(("datatype", owl.RDF + "PlainLiteral" if iri in _PLAIN else iri))
                case _:
                    for name in _INDIVIDUALS.get(type(part), ()):
                        inside = getattr(part, name)
                        found |= {
                            ("individual", i)
                            for i in ((inside,) if isinstance(inside, str) else inside)
                        }
    return found


def data_of(values: Iterable[object]) -> tuple[set[owl.DataRange], set[owl.Literal]]:
    """The outermost data ranges in ``values``, and the literals outside data ranges."""
    ranges: set[owl.DataRange] = set()
    literals: set[owl.Literal] = set()

    def note(part: object) -> object | None:
        if isinstance(part, _DATA_RANGES):
            ranges.add(part)
            return part
        if isinstance(part, owl.Literal):
            literals.add(part)
        return None

    for value in values:
        rewritten(value, note)
    return ranges, literals


def with_data(
    value: V,
    ranges: Mapping[owl.DataRange, owl.DataRange],
    literals: Mapping[owl.Literal, owl.Literal],
) -> V:
    """``value`` with its outermost data ranges and its literals replaced. Raises KeyError for
    one without replacement.
    """

    def change(part: object) -> object | None:
        if isinstance(part, _DATA_RANGES):
            return ranges[part]
        if isinstance(part, owl.Literal):
            return literals[part]
        return None

    return rewritten(value, change)


def with_individuals(value: V, rename: Callable[[str], str]) -> V:
    """``value`` with every individual renamed."""

    def change(part: object) -> object | None:
        names = _INDIVIDUALS.get(type(part))
        if names is None:
            return None
        arguments: dict[str, object] = {}
        for name in _field_names(type(part)):
            inside = getattr(part, name)
            if name in names:
                arguments[name] = (
                    rename(inside) if isinstance(inside, str) else tuple(map(rename, inside))
                )
            else:
                arguments[name] = rewritten(inside, change)
        kind: Any = type(part)
        return kind(**arguments)  # type: ignore[no-any-return]

    return rewritten(value, change)


def rewritten(value: V, change: Callable[[object], object | None]) -> V:
    """``value`` with the outermost parts for which ``change`` gives something replaced by that."""
    result: Any = value
    kind = type(value)
    # Most parts are texts, and most values have thousands.
    if kind is str:
        return result  # type: ignore[no-any-return]
    if isinstance(value, tuple):
        items = [rewritten(item, change) for item in value]
        if any(map(is_not, items, value)):
            result = tuple(items)
    elif names := _field_names(kind):
        replacement = change(value)
        if replacement is not None:
            result = replacement
        else:
            old_fields = [getattr(value, name) for name in names]
            new_fields = [old if type(old) is str else rewritten(old, change) for old in old_fields]
            if any(map(is_not, new_fields, old_fields)):
                result = kind(*new_fields)
    return result  # type: ignore[no-any-return]


def structural_key(value: object) -> object:
    """Equal for what the OWL 2 structural specification calls structurally equivalent: the order
    and repetition of operands does not count where the specification has a set.
    """
    if isinstance(value, tuple):
        return tuple(map(structural_key, value))
    names = _field_names(type(value))
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
