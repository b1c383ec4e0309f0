"""Recognise statements in languages other than OWL: shapes, concept schemes, rules, mappings,
schema hints.

To OWL, a statement of one is a plain assertion. No axiom speaks of its terms, so it cannot
matter (THEORY, "Languages beside OWL").

>>> LANGUAGES[language_index("http://www.w3.org/ns/shacl#path")].name, language_index("https://schema.org/name")
('SHACL', -1)
>>> LANGUAGES[language_index("https://schema.org/domainIncludes")].name
'schema.org'
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from shiq.model import OWL, RDF, RDFS, Literal
from shiq.rdf.graph import VocabularyGraph
from shiq.rdf.triples import LITERAL, Flags, Triples, numpy_view
from shiq.rdf.vocabulary import FACETS, FILLERS, FIRST, NIL, OPERATORS, REST, TYPE


@dataclass(frozen=True)
class Language:
    """A language on RDF other than OWL, such as SHACL or SWRL, known by its namespaces.

    namespaces: beginnings of its terms
    words: local names that belong to it; empty if all do
    """

    name: str
    namespaces: tuple[str, ...]
    words: frozenset[str] = frozenset()

    def has_term(self, iri: str) -> bool:
        """Decide whether ``iri`` is a term of the language."""
        space = next((space for space in self.namespaces if iri.startswith(space)), None)
        return space is not None and (not self.words or iri[len(space) :] in self.words)


_HINTS = frozenset(("domainIncludes", "rangeIncludes", "inverseOf", "supersededBy", "memberOf"))
LANGUAGES: Sequence[Language] = (
    Language("SHACL", ("http://www.w3.org/ns/shacl#", "http://datashapes.org/dash#")),
    Language(
        "SKOS", ("http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2008/05/skos-xl#")
    ),
    Language(
        "SPIN",
        tuple(
            f"http://spinrdf.org/{name}#" for name in ("spin", "sp", "spl", "spif", "spra", "arg")
        ),
    ),
    Language(
        "R2RML",
        ("http://www.w3.org/ns/r2rml#", "http://semweb.mmlab.be/ns/rml#", "http://w3id.org/rml/"),
    ),
    Language("schema.org", ("http://schema.org/", "https://schema.org/"), _HINTS),
    Language("DCAM", ("http://purl.org/dc/dcam/",), _HINTS),
    Language("ShEx", ("http://www.w3.org/ns/shex#",)),
    Language("NRL", ("http://www.semanticdesktop.org/ontologies/2007/08/15/nrl#",)),
)


def language_index(iri: str) -> int:
    """Return the index in `LANGUAGES` of the language that ``iri`` is a term of; -1 if there is
    none.
    """
    return next((i for i, language in enumerate(LANGUAGES) if language.has_term(iri)), -1)


#: What lists and class expressions consist of.
_OF_LISTS = frozenset((FIRST, REST))
_PARTS = frozenset((*_OF_LISTS, *OPERATORS, *FILLERS, *FACETS)) | frozenset(
    OWL + name
    for name in (
        "onProperty",
        "onProperties",
        "onClass",
        "onDataRange",
        "onDatatype",
        "withRestrictions",
    )
)
_TYPES_OF_PARTS = frozenset(
    (RDF + "List", OWL + "Class", OWL + "Restriction", RDFS + "Class", RDFS + "Datatype")
)


def used_nodes(triples: Triples, graph: VocabularyGraph, rows: Flags) -> set[str]:
    """Collect the objects of the statements in ``rows`` and of annotation axioms in ``graph``."""
    values = numpy_view(triples.object)[rows]
    found = {
        str(triples.terms[i])
        for i in np.bincount(values).nonzero()[0]
        if triples.kinds[i] != LITERAL
    }
    return found.union(
        str(value) for value, bucket in zip(graph.objects, graph.bucket) if bucket == "annotation"
    )


def is_part_of_statement(
    graph: VocabularyGraph, group: Sequence[int], used: Collection[str], named: Collection[str]
) -> bool:
    """Decide whether triples of a list or class expression (``group``), which no axiom uses, belong
    to a statement of the data instead.

    Args:
    used: nodes that such statements lead to
    named: names in axioms; a group with such a type does not belong to a statement
    """
    head = graph.subjects[group[0]]
    # The empty list has no members: one that says so is no list.
    parts = _PARTS if head.startswith("_:") else frozenset() if head == NIL else _OF_LISTS
    is_part = (head in used or head == NIL) and all(
        graph.predicates[i] in parts
        or (
            graph.predicates[i] == TYPE
            and (value := graph.objects[i]) in _TYPES_OF_PARTS
            and value not in named
        )
        for i in group
    )
    return is_part and not has_ill_typed_literal(graph, group)


def has_ill_typed_literal(graph: VocabularyGraph, group: Sequence[int]) -> bool:
    """Decide whether ``group`` (indexes of triples) contains an ill-typed literal."""
    literals = [value for i in group if isinstance(value := graph.objects[i], Literal)]
    if not literals:
        return False
    from shiq.datatypes import DataTheory

    return any(map(DataTheory().is_ill_typed, literals))
