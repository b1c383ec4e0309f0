"""JSON-LD, read by pyoxigraph from a text in which nothing can get lost.

JSON-LD says that a processor passes over what it cannot make a triple of: keys that no context
defines, values that are no IRI where one is meant, language tags that are none. For a check that
would be a false green, so the text is gone over first (`shiq.rdf.json_text`), and what
pyoxigraph then does not understand comes out as a marked term that is reported here. Contexts
are never fetched: those that a document names are taken from the catalog, or refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyoxigraph as ox

from shiq.catalog import Catalog
from shiq.errors import InputError
from shiq.model import RDF, Literal
from shiq.rdf.json_text import NOWHERE, TEXT, UNMAPPED, RewrittenJson, prepared, restored
from shiq.rdf.lines import message_of
from shiq.rdf.terms import RefusedTermError, literal_of
from shiq.rdf.triples import Labels, Rejects, Term, Triples
from shiq.sources import FileSource

_MOST_ERRORS = 1000


def read_json(
    source: FileSource,
    triples: Triples,
    label: Labels,
    rejects: Rejects,
    catalog: Catalog | None = None,
) -> None:
    """Reads JSON-LD into ``triples``; what of it has no meaning becomes ``rejects``.

    Raises: InputError for what is no JSON, is nested too deeply, or takes its context from
    elsewhere than ``catalog``.
    """
    text = prepared(source.name, source.read(), rejects, catalog)
    begun, reader = len(triples), _Quads(triples, label, text)
    parser = ox.parse(text.data, format=ox.RdfFormat.JSON_LD, base_iri=source.iri)
    errors = 0
    while errors < _MOST_ERRORS:
        try:
            for quad in parser:
                try:
                    reader.add(quad)
                except RefusedTermError as error:
                    rejects.add(str(error), text.line_near(str(quad)), reader.text_of(quad))
            break
        except SyntaxError as error:
            errors += 1
            rejects.add(message_of(error), error.lineno or 0)
    else:
        rejects.add(f"over {_MOST_ERRORS} errors: the rest was not read")
    if errors and len(triples) == begun:
        first = rejects.shown[0]
        place = f"{source.name}, line {first.line}" if first.line else source.name
        raise InputError(
            f"{place}: not JSON-LD: not one triple could be read: {first.message}",
            "Check the file.",
        )


@dataclass
class _Quads:
    """Terms of pyoxigraph as ours, with the texts that were marked put back."""

    triples: Triples
    label: Labels
    text: RewrittenJson

    def add(self, quad: ox.Quad) -> None:
        subject, predicate, value = self.terms_of(quad)
        name = quad.graph_name
        graph = "" if isinstance(name, ox.DefaultGraph) else self._resource(name)
        self.triples.add(
            subject, predicate, value, self.text.line_of(subject, predicate, value), graph
        )

    def terms_of(self, quad: ox.Quad) -> tuple[str, str, Term]:
        """Raises: RefusedTermError."""
        value = quad.object
        return (
            self._resource(quad.subject),
            self._resource(quad.predicate),
            self._literal(value) if isinstance(value, ox.Literal) else self._resource(value),
        )

    def text_of(self, quad: ox.Quad) -> str:
        """``quad`` as text for messages: what stands in for the document's own terms is put back."""
        return restored(str(quad), self.text.texts).replace(UNMAPPED, "").replace(NOWHERE, "")

    def _resource(self, term: object) -> str:
        if isinstance(term, ox.BlankNode):
            return self.label(term.value)
        if not isinstance(term, ox.NamedNode):
            raise RefusedTermError("a triple inside a triple: RDF 1.2 (RDF-star) is not supported")
        return self._iri(term.value)

    def _iri(self, iri: str) -> str:
        if TEXT in iri:
            raise RefusedTermError(
                f"{restored(iri, self.text.texts)!r} stands where an IRI is meant, and is none"
            )
        if iri.startswith(NOWHERE):
            raise RefusedTermError(
                f"{iri.removeprefix(NOWHERE)!r} is relative, and there is nothing that it is relative to"
            )
        if iri.startswith(UNMAPPED):
            term = iri.removeprefix(UNMAPPED)
            raise RefusedTermError(
                f"no context says what {self.text.terms.get(term, term)!r} means"
            )
        return iri

    def _literal(self, value: ox.Literal) -> Literal:
        found = literal_of(value)
        self._iri(found.datatype)
        if TEXT not in found.lexical:
            return found
        as_json = found.datatype == RDF + "JSON"
        lexical = restored(found.lexical, self.text.texts, as_json=as_json)
        if "\0" in lexical:
            raise RefusedTermError("a literal with the character U+0000")
        return Literal(lexical, found.datatype, found.language)
