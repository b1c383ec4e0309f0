"""Walk over OWL values: what is inside one, its vocabulary, and copies with parts replaced.

Copies are made by recursion, in loops rather than comprehensions: one frame a level, so that the
deepest nesting that readers let in does not overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from operator import is_not
from typing import Any, TypeVar

from shiq import model as owl
from shiq.model import RDFS, Literal, Signature

V = TypeVar("V")

_ENTITIES = (owl.Class, owl.ObjectProperty, owl.DataProperty, owl.Datatype)
_LEAVES = (str, *_ENTITIES, owl.Literal)
#: What a class of entities is called.
ENTITY_KINDS: Mapping[type, str] = {
    owl.Class: "class",
    owl.ObjectProperty: "object property",
    owl.DataProperty: "data property",
    owl.Datatype: "datatype",
}
_FIELDS: dict[type, tuple[str, ...]] = {}


def parts(value: object) -> Iterator[object]:
    """Yield an OWL value and every OWL value inside it, depth first and in order; individuals come
    as strings.

    Facet names, cardinalities and the fields of entities and literals are left out. Stops
    because values are finite trees; iterative, so that deep nesting is fine.
    """
    stack: list[object] = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, tuple):
            stack.extend(reversed(current))
        elif isinstance(current, owl.DatatypeRestriction):
            yield current
            stack.extend(literal for _, literal in reversed(current.facets))
            stack.append(current.datatype)
        elif isinstance(current, _LEAVES):
            yield current
        elif not isinstance(current, int):
            yield current
            stack.extend(getattr(current, name) for name in reversed(type(current).__match_args__))  # type: ignore[attr-defined]


def entities(
    value: object,
) -> Iterator[owl.Class | owl.ObjectProperty | owl.DataProperty | owl.Datatype]:
    """Yield every class, property and datatype in ``value``, built-in ones and repetitions
    included.

    >>> [e.iri for e in entities(owl.SubClassOf(owl.Class("urn:A"), owl.Class("urn:B")))]
    ['urn:A', 'urn:B']
    """
    return (part for part in parts(value) if isinstance(part, _ENTITIES))


def rewrite_parts(value: V, change: Callable[[object], object | None]) -> V:
    """Copy an OWL value with the outermost parts replaced for which ``change`` returns a value;
    replacements are not searched.
    """
    if not isinstance(value, tuple) and field_names(type(value)):
        replacement: Any = change(value)
        if replacement is not None:
            return replacement
    old, new = _child_values(value), []
    for child in old:
        new.append(child if type(child) is str else rewrite_parts(child, change))
    return _with_children(value, old, new)


def rebuild(value: V, change: Callable[[Any], Any]) -> V:
    """Copy an OWL value bottom-up: ``change`` is applied to each part after its own parts were
    replaced.

    >>> twice = owl.ObjectComplementOf(owl.ObjectComplementOf(owl.Class("urn:A")))
    >>> def without_double_negation(part):
    ...     match part:
    ...         case owl.ObjectComplementOf(owl.ObjectComplementOf(operand)):
    ...             return operand
    ...     return part
    >>> rebuild(owl.ObjectComplementOf(twice), without_double_negation)
    ObjectComplementOf(operand=Class(iri='urn:A'))
    """
    old, new = _child_values(value), []
    for child in old:
        new.append(child if type(child) is str else rebuild(child, change))
    result = _with_children(value, old, new)
    return change(result) if field_names(type(value)) else result


def _child_values(value: object) -> Sequence[Any]:
    """Return the fields of an OWL value, or the items of a tuple."""
    if isinstance(value, tuple):
        return value
    return [getattr(value, name) for name in field_names(type(value))]


def _with_children(value: V, old: Sequence[Any], new: Sequence[Any]) -> V:
    """Copy an OWL value with its fields ``old`` replaced by ``new``; the value itself if they are
    the same.
    """
    if not any(map(is_not, new, old)):
        return value
    kind: Any = type(value)
    return tuple(new) if isinstance(value, tuple) else kind(*new)  # type: ignore[return-value]


def field_names(kind: type) -> tuple[str, ...]:
    """Return the field names of an OWL type; none for any other type."""
    known = _FIELDS.get(kind)
    if known is None:
        known = _FIELDS[kind] = (
            tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
        )
    return known


_RESERVED = (owl.OWL, owl.RDF, owl.RDFS, owl.XSD)
#: More different, or same, individuals in one axiom are refused: it would become millions of pairs.
MOST_DIFFERENT = 2000

#: Assertions without a name of a class, property or datatype. A list of n different individuals is
#: n(n - 1)/2 of them.
OF_INDIVIDUALS = (owl.SameIndividual, owl.DifferentIndividuals)


def is_reserved(iri: str) -> bool:
    """Decide whether `iri` is in the namespace of OWL, RDF, RDFS or XSD."""
    return iri.startswith(_RESERVED)


def signature_of(values: Iterable[object]) -> owl.Signature:
    """Collect the vocabulary of axioms or assertions, by the positions where names occur, without
    reserved names.
    """
    found: dict[type, set[str]] = {kind: set() for kind in _ENTITIES}
    for value in values:
        for part in parts(value):
            if isinstance(part, owl.Literal):
                found[owl.Datatype].add(part.datatype)
            elif isinstance(part, _ENTITIES):
                found[type(part)].add(part.iri)
    classes, roles, properties, datatypes = map(_drop_reserved, found.values())
    return owl.Signature(classes, roles, properties, datatypes=datatypes)


def _drop_reserved(names: set[str]) -> frozenset[str]:
    """Drop the names in reserved namespaces."""
    return frozenset(name for name in names if not is_reserved(name))


# Choose the label of each term of a TBox among several annotations.


#: The annotation properties that give labels, the best first.
PROPERTIES = ("http://www.w3.org/2004/02/skos/core#prefLabel", RDFS + "label")


def choose_labels(
    found: Iterable[tuple[str, str, Literal]], signature: Signature
) -> dict[str, str]:
    """Choose one readable label for each term of `signature` that has any; ``found``: (IRI,
    property, label).

    English is preferred, then no language, then others. Ties are broken by the annotation property,
    then alphabetically.

    found: (IRI, annotation property, label).
    """
    terms = (
        signature.classes
        | signature.object_properties
        | signature.data_properties
        | signature.datatypes
    )
    best: dict[str, tuple[int, int, str]] = {}
    for iri, property, literal in found:
        text = " ".join(literal.lexical.split())
        if iri in terms and text:
            rank = (_language_rank(literal.language), PROPERTIES.index(property), text)
            best[iri] = min(rank, best.get(iri, rank))
    return {iri: text for iri, (_, _, text) in sorted(best.items())}


def _language_rank(tag: str) -> int:
    """Return the rank of a language tag when labels are chosen: English first, then none, then
    others.
    """
    return 0 if tag == "en" or tag.startswith("en-") else 1 if not tag else 2
