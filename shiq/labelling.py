"""Labels of the terms of a TBox: which annotation is shown to people where there are several."""

from __future__ import annotations

from collections.abc import Iterable

from shiq.model import RDFS, Literal, Signature

#: The annotation properties that give labels, the best first.
PROPERTIES = ("http://www.w3.org/2004/02/skos/core#prefLabel", RDFS + "label")


def labelled(found: Iterable[tuple[str, str, Literal]], signature: Signature) -> dict[str, str]:
    """The label of each term of ``signature`` among ``found`` (IRI, property, label): English
    before no language before others, then the best property, then the first in alphabetical
    order.
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
