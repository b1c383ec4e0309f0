"""The vocabulary of axioms and assertions, and limits on them."""

from __future__ import annotations

from collections.abc import Iterable

from shiq import model as owl
from shiq.model import RDFS, Literal, Signature
from shiq.model.walk import parts

_RESERVED = (owl.OWL, owl.RDF, owl.RDFS, owl.XSD)
#: More different, or same, individuals in one axiom are refused: it would become millions of pairs.
MOST_DIFFERENT = 2000

#: Assertions without a name of a class, property or datatype. A list of n different individuals is
#: n(n - 1)/2 of them.
OF_INDIVIDUALS = (owl.SameIndividual, owl.DifferentIndividuals)


def is_reserved(iri: str) -> bool:
    """Decide whether `iri` is in one of the four reserved namespaces."""
    return iri.startswith(_RESERVED)


def signature_of(values: Iterable[object]) -> owl.Signature:
    """Return the vocabulary of axioms or assertions, by position, without reserved names."""
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
        _drop_reserved(classes),
        _drop_reserved(object_properties),
        _drop_reserved(data_properties),
        datatypes=_drop_reserved(datatypes),
    )


def _drop_reserved(names: set[str]) -> frozenset[str]:
    return frozenset(name for name in names if not is_reserved(name))


# Choose the label of each term of a TBox among several annotations.


#: The annotation properties that give labels, the best first.
PROPERTIES = ("http://www.w3.org/2004/02/skos/core#prefLabel", RDFS + "label")


def choose_labels(
    found: Iterable[tuple[str, str, Literal]], signature: Signature
) -> dict[str, str]:
    """Return one label for each term of `signature` that has any.

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
    return 0 if tag == "en" or tag.startswith("en-") else 1 if not tag else 2
