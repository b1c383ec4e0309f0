"""What an axiom or assertion is built of: its sub-expressions, entities, literals and individuals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shiq import model as owl

_RESERVED = (owl.OWL, owl.RDF, owl.RDFS, owl.XSD)
_ENTITIES = (owl.Class, owl.ObjectProperty, owl.DataProperty, owl.Datatype)
_LEAVES = (str, *_ENTITIES, owl.Literal)


#: More different, or same, individuals in one axiom are refused: it would become millions of pairs.
MOST_DIFFERENT = 2000

#: Assertions without a name of a class, property or datatype. A list of n different individuals is
#: n(n - 1)/2 of them.
OF_INDIVIDUALS = (owl.SameIndividual, owl.DifferentIndividuals)


def is_reserved(iri: str) -> bool:
    """Whether ``iri`` is in one of the four reserved namespaces, built-in entity or not."""
    return iri.startswith(_RESERVED)


def parts(value: object) -> Iterator[object]:
    """``value`` and every model value inside it, depth first and in order; individuals come as
    strings.

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
    """Every class, property and datatype in ``value``, built-in ones too, as often as it stands
    there.

    >>> [e.iri for e in entities(owl.SubClassOf(owl.Class("urn:A"), owl.Class("urn:B")))]
    ['urn:A', 'urn:B']
    """
    return (part for part in parts(value) if isinstance(part, _ENTITIES))


def signature_of(values: Iterable[object]) -> owl.Signature:
    """The vocabulary that axioms or assertions use, by position; built-in and other reserved
    names are left out.
    """
    classes: set[str] = set()
    object_properties: set[str] = set()
    data_properties: set[str] = set()
    datatypes: set[str] = set()
    for value in values:
        for part in parts(value):
            if isinstance(part, owl.Class):
                classes.add(part.iri)
            elif isinstance(part, owl.ObjectProperty):
                object_properties.add(part.iri)
            elif isinstance(part, owl.DataProperty):
                data_properties.add(part.iri)
            elif isinstance(part, owl.Datatype):
                datatypes.add(part.iri)
            elif isinstance(part, owl.Literal):
                datatypes.add(part.datatype)
    return owl.Signature(
        _own(classes), _own(object_properties), _own(data_properties), datatypes=_own(datatypes)
    )


def _own(names: set[str]) -> frozenset[str]:
    return frozenset(name for name in names if not is_reserved(name))
