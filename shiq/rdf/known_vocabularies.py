"""What an import of a well-known vocabulary brings: the axioms, assertions and kinds of its table (`shiq.vocabularies`)."""

from __future__ import annotations

from shiq.functional.reader import read_document
from shiq.model import Signature
from shiq.rdf.load import LoadedSources, StatedValue, add_assertions
from shiq.verdict import Leftover
from shiq.vocabularies import VocabularyTable


def take_table(table: VocabularyTable, loaded: LoadedSources) -> None:
    """Adds the axioms and kinds of a known vocabulary, and tells that they come from shiq's own table."""
    name = f"shiq's table of {table.label}"
    document = read_document(f"Ontology({chr(10).join(table.axioms)})", name, f"v{table.name}")
    for term in sorted(table.beyond.keys() & loaded.triples.ids.keys()):
        message = f"{table.label} says of <{term}> what OWL 2 DL cannot say: it is {table.beyond[term]}"
        loaded.leftovers.append(Leftover("outside-shiq", message, name))
    loaded.sources.append(name)
    loaded.triples.begin(name)
    loaded.axioms += (StatedValue(axiom, name) for _, axiom in document.axioms)
    add_assertions((StatedValue(assertion, name) for _, assertion in document.assertions), loaded)
    names = {kind: frozenset(iri for iri, of in table.kinds.items() if of == kind) for kind in {*table.kinds.values()}}
    either, none = names.get("property", frozenset()), frozenset[str]()
    loaded.signature |= document.signature | Signature(
        names.get("class", none),
        names.get("object", none) | either,
        names.get("data", none) | either,
        names.get("annotation", none),
        names.get("datatype", none),
        frozenset(table.kinds),
    )
    loaded.both |= document.signature.open_properties | (document.signature.classes & document.signature.datatypes)
    loaded.ontologies.update((*table.ontologies, *(iri + end for iri in table.ontologies for end in "#/")))
    message = f"{table.label}: from shiq's table, {len(table.axioms):,} axioms"
    loaded.leftovers.append(Leftover("vocabulary", message, name))
    loaded.imports += ((iri, Leftover("missing-import", f"<{iri}> is imported, but not read", name)) for iri in table.imports)
