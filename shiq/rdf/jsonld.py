"""Reader of JSON-LD, by pyoxigraph from a rewritten text in which nothing can get lost.

A JSON-LD processor ignores keys that no context defines, values that are no IRI, and bad language
tags. For a check that would be a false green. So the text is rewritten first
(`shiq.rdf.json_text`), and what pyoxigraph does not understand comes out as a marked term that is
reported here. Contexts are never fetched: they come from the catalog or are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyoxigraph as ox

from shiq.errors import InputError
from shiq.inputs.sources import FileSource
from shiq.model import RDF, Literal
from shiq.rdf.json_text import NOWHERE, TEXT, UNMAPPED, RewrittenJson, restore_texts, rewrite_json
from shiq.rdf.lines import parser_message
from shiq.rdf.terms import RefusedTermError, literal_of
from shiq.rdf.triples import Labels, Rejects, Term, Triples

if TYPE_CHECKING:
    from shiq.inputs.catalog import Catalog

_MOST_ERRORS = 1000


def read_json(
    source: FileSource,
    triples: Triples,
    label: Labels,
    rejects: Rejects,
    catalog: Catalog | None = None,
) -> None:
    """Read JSON-LD into ``triples``; passages without a meaning are recorded in ``rejects``.

    Raises: InputError for text that is no JSON or nested too deeply, and for a context that is not
        in ``catalog``.
    """
    text = rewrite_json(source.name, source.read(), rejects, catalog)
    begun, reader = len(triples), _QuadConverter(triples, label, text)
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
            rejects.add(parser_message(error), error.lineno or 0)
    else:
        rejects.add(f"over {_MOST_ERRORS} errors: the rest was not read")
    if errors and len(triples) == begun:
        first = rejects.examples[0]
        place = f"{source.name}, line {first.line}" if first.line else source.name
        raise InputError(
            f"{place}: not JSON-LD: not one triple could be read: {first.message}",
            "Check the file.",
        )


@dataclass
class _QuadConverter:
    """Converter of pyoxigraph's quads to triples, with the original texts put back."""

    triples: Triples
    label: Labels
    text: RewrittenJson

    def add(self, quad: ox.Quad) -> None:
        """Convert a quad and add it to the triples. Raises: RefusedTermError."""
        value, name = quad.object, quad.graph_name
        subject = self._convert_resource(quad.subject)
        predicate = self._convert_resource(quad.predicate)
        term: Term = (
            self._convert_literal(value)
            if isinstance(value, ox.Literal)
            else self._convert_resource(value)
        )
        graph = "" if isinstance(name, ox.DefaultGraph) else self._convert_resource(name)
        line = self.text.line_of(subject, predicate, term)
        self.triples.add(subject, predicate, term, line, graph)

    def text_of(self, quad: ox.Quad) -> str:
        """Write a quad for messages, in the document's own terms."""
        return restore_texts(str(quad), self.text.texts).replace(UNMAPPED, "").replace(NOWHERE, "")

    def _convert_resource(self, term: object) -> str:
        """Convert an IRI or blank node. Raises: RefusedTermError."""
        if isinstance(term, ox.BlankNode):
            return self.label(term.value)
        if not isinstance(term, ox.NamedNode):
            raise RefusedTermError("a triple inside a triple: RDF 1.2 (RDF-star) is not supported")
        return self._check_iri(term.value)

    def _check_iri(self, iri: str) -> str:
        """Put the original text of an IRI back, and check it. Raises: RefusedTermError."""
        if TEXT in iri:
            raise RefusedTermError(
                f"{restore_texts(iri, self.text.texts)!r} stands where an IRI is meant, and is none"
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

    def _convert_literal(self, value: ox.Literal) -> Literal:
        """Convert a literal, with replaced texts put back."""
        found = literal_of(value)
        self._check_iri(found.datatype)
        if TEXT not in found.lexical:
            return found
        as_json = found.datatype == RDF + "JSON"
        lexical = restore_texts(found.lexical, self.text.texts, as_json=as_json)
        if "\0" in lexical:
            raise RefusedTermError("a literal with the character U+0000")
        return Literal(lexical, found.datatype, found.language)
