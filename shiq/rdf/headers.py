"""Read only the header of an ontology document (ontology IRI and version IRI), without parsing its
axioms.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from io import BytesIO
from typing import NamedTuple

import pyoxigraph as ox

from shiq.errors import InputError
from shiq.inputs.formats import LINE_FORMATS, Format
from shiq.inputs.sources import FileSource
from shiq.model import OWL, RDF
from shiq.rdf.lines import read_lines
from shiq.rdf.ontology_header import TO_OTHERS, VERSION_IRI, OntologyHeader, document_headers
from shiq.rdf.terms import RefusedTermError, quad_adder
from shiq.rdf.triples import Rejects, Triples, keep_labels
from shiq.rdf.vocabulary import DECLARATIONS

_SYNTAX = {
    Format.TURTLE: ox.RdfFormat.TURTLE,
    Format.TRIG: ox.RdfFormat.TRIG,
    Format.RDFXML: ox.RdfFormat.RDF_XML,
}
_TYPE = ox.NamedNode(RDF + "type")
#: The terms of the triples that `document_headers` asks for: predicates, and classes.
_PREDICATES = frozenset(map(ox.NamedNode, (*TO_OTHERS, VERSION_IRI)))
_CLASSES = frozenset(map(ox.NamedNode, (OWL + "Ontology", *DECLARATIONS)))
#: A line without one of these terms, and without an escape that could stand for a part of one, is
#: not asked for.
_LINE = re.compile(
    rb"\\[uU]|#(?:%b)>"
    % b"|".join(sorted(term.value.rpartition("#")[2].encode() for term in _PREDICATES | _CLASSES))
)
#: A document without the word has no header, unless it has an escape or is UTF-16.
_WORD = re.compile(rb"Ontology|\\[uU]|&#|\0")
_PIECE = 1 << 20
_OVERLAP = 16
_FUNCTIONAL = re.compile(r"\bOntology\s*\(")


class FileHeaders(NamedTuple):
    """The ontology headers in a file, usually one.

    problem: why the file could not be read to its end, "" if it could
    """

    ontologies: tuple[OntologyHeader, ...] = ()
    problem: str = ""


def read_headers(source: FileSource) -> FileHeaders:
    """Read the ontology headers of a document; the result is the same as after a full load. Never
    fails.
    """
    found: Collection[OntologyHeader] = ()
    try:
        if not _may_have_header(source):
            return FileHeaders()
        if source.format in LINE_FORMATS:
            found = _headers_of_lines(source)
        elif source.format in _SYNTAX:
            found, is_whole = _headers_of_triples(source)
            found = found if is_whole else _headers_of_document(source)
        elif source.format is Format.FUNCTIONAL:
            found = _headers_of_functional(source)
        elif source.format is Format.OWLXML:
            found = _headers_of_owl_xml(source)
        else:
            found = _headers_of_document(source)
    except InputError as error:
        return FileHeaders(tuple(sorted(found)), error.message)
    return FileHeaders(tuple(sorted(found)))


def _may_have_header(source: FileSource) -> bool:
    """Search a document for the words of an ontology header; False if a header is impossible."""
    end = b""
    with source.open() as stream:
        while piece := stream.read(_PIECE):
            if _WORD.search(end + piece):
                return True
            end = piece[-_OVERLAP:]
    return False


def _headers_of_lines(source: FileSource) -> Collection[OntologyHeader]:
    """Read the header of an N-Triples or N-Quads document from the lines that mention it."""
    with source.open() as stream:
        lines = b"".join(line for line in stream if _LINE.search(line))
    triples = Triples()
    triples.begin_source(source.name)
    quads = source.format is Format.NQUADS
    read_lines(BytesIO(lines), triples, "h", Rejects(source.name), quads=quads, part=True)
    return document_headers(triples)


def _headers_of_triples(source: FileSource) -> tuple[Collection[OntologyHeader], bool]:
    """Read the header from the triples before the first syntax error. Also return whether there was
    none.
    """
    triples = Triples()
    triples.begin_source(source.name)
    add_quad = quad_adder(triples, keep_labels("h"))
    is_whole = True
    try:
        with source.open() as stream:
            for quad in ox.parse(stream, format=_SYNTAX[source.format], base_iri=source.iri):
                predicate = quad.predicate
                if predicate in _PREDICATES or (predicate == _TYPE and quad.object in _CLASSES):
                    add_quad(quad, 0)
    except (SyntaxError, RefusedTermError):
        is_whole = False
    return document_headers(triples), is_whole


def _headers_of_functional(source: FileSource) -> Collection[OntologyHeader]:
    """Read the header of a document in functional syntax, from the text before its axioms if
    possible.
    """
    from shiq.functional.grammar import AXIOMS
    from shiq.functional.reader import read_document

    text = source.read().decode("utf-8", "replace")
    begin = _FUNCTIONAL.search(text)
    axiom = (
        re.compile(rf"\b(?:{'|'.join(AXIOMS)})\s*\(").search(text, begin.end()) if begin else None
    )
    parts = (text[: axiom.start()] + ")", text) if axiom else (text,)
    headers = (read_document(part, source.name, "h").header for part in parts)
    return [OntologyHeader(*header) for header in headers if any(header)][:1]


def _headers_of_owl_xml(source: FileSource) -> Collection[OntologyHeader]:
    """Read the header of a document in OWL/XML."""
    from shiq.functional.owl_xml import read_owl_xml
    from shiq.rdf.xml import utf8_of

    header = read_owl_xml(utf8_of(source), source.name, source.iri, "", header_only=True).header
    return [OntologyHeader(*header)] if any(header) else []


def _headers_of_document(source: FileSource) -> Collection[OntologyHeader]:
    """Return the header of a document that was parsed completely."""
    # This module is below the loader, which asks it for imports.
    from shiq.rdf.load import load_sources

    return document_headers(load_sources([source.path], "h", None).triples)
