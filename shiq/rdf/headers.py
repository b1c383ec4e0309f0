"""Which ontology a document is: the IRIs that an import of it goes by.

To mention an ontology is not to be it. Where a document leaves open which one it is, no import is met by it.
"""

from __future__ import annotations

import numpy as np

from shiq.model import OWL
from shiq.rdf.bulk import column
from shiq.rdf.surroundings import bare
from shiq.rdf.triples import IRI, Triples
from shiq.rdf.vocabulary import IMPORTS, ONTOLOGY, TYPE

_VERSION = OWL + "versionIRI"
#: The ontology properties whose values are other ontologies.
_TO_OTHERS = (IMPORTS, OWL + "priorVersion", OWL + "backwardCompatibleWith", OWL + "incompatibleWith")


def document_iris(triples: Triples, begun: int) -> set[str]:
    """The ontology IRI and version IRI of the document whose rows begin at ``begun``; none where it has no header, or several.

    A header is an ontology of the default graph of which the document does not say that another imports it or follows on it. What
    a document imports is no version IRI of its own. Source: OWL 2 Mapping to RDF Graphs, section 3.1.2.
    """
    predicates, values = column(triples.predicate)[begun:], column(triples.object)[begun:]
    known = triples.ids.get
    typed = np.flatnonzero((predicates == known(TYPE, -1)) & (values == known(ONTOLOGY, -1)))
    if not len(typed):
        return set()

    def named(term: int) -> str:
        return bare(str(triples.terms[term]))

    def pairs(predicate: str) -> list[tuple[str, int]]:
        """Subject and object of the document's triples with ``predicate``."""
        rows = np.flatnonzero(predicates == known(predicate, -1)) + begun
        return [(named(triples.subject[row]), triples.object[row]) for row in rows.tolist()]

    others = {named(value) for predicate in _TO_OTHERS for subject, value in pairs(predicate) if subject != named(value)}
    rows = [row for row in (typed + begun).tolist() if named(triples.subject[row]) not in others]
    headers = {triples.subject[row] for row in rows}
    header = headers.pop() if headers else -1
    if header < 0 or headers or triples.kinds[header] != IRI or all(triples.graph_of(row) for row in rows):
        return set()
    versions = {value for subject, value in pairs(_VERSION) if subject == named(header)}
    if len(versions) > 1 or any(triples.kinds[value] != IRI or named(value) in others for value in versions):
        versions = set()
    return {str(triples.terms[i]) for i in (header, *versions)}
