"""RDF/XML: what an XML parser must see to before triples are read, and reading on after an error.

pyoxigraph reads the triples; it reads UTF-8 only, takes a document cut between two elements for a whole one, keeps carriage
returns, and expands entities. So expat goes over the document first: it checks that it is well-formed, refuses entities that
could fetch or grow, and gives line numbers. An error of RDF (such as an IRI with a space) costs the top-level element it is in;
the others are still read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from xml.parsers import expat

import pyoxigraph as ox

from shiq.errors import InputError
from shiq.model import OWL, RDF
from shiq.rdf.lines import message_of
from shiq.rdf.rejects import Rejects
from shiq.rdf.terms import Labels, RefusedTermError, quad_adder
from shiq.rdf.triples import Triples
from shiq.sources import FileSource

#: Namespace abbreviations are far below; what is larger could be made to grow.
LONGEST_ENTITY = 512
MOST_ENTITIES = 1000
_REFERENCE = re.compile(r"&|%[A-Za-z_:]")
_TAG = re.compile(rb"<([^\s/>]+)")
_DECLARATION = re.compile(rb"\s*<\?xml\b[^>]*\?>")
_FEED_BYTES = 1 << 16


@dataclass
class _Document:
    """What expat says of a document: where its top-level elements begin, and where it breaks off, if it does."""

    starts: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    end: int = 0  # where the root's end tag begins
    root: str = ""
    root_end_tag: bytes = b""
    knows_rdf: bool = False
    error: str = ""
    error_line: int = 0
    error_at: int = 0


def read_xml(
    source: FileSource, triples: Triples, label: Labels, rejects: Rejects, progress: Callable[[str, int], None] | None = None
) -> None:
    """Reads RDF/XML into ``triples``. Truncated or broken XML becomes a reject with its line, after what stands before it.

    Raises: InputError for XML that is not RDF/XML, for entities that are no plain abbreviations, and where nothing could be read.
    """
    data = _utf8(source)
    document = _examine(source.name, data)
    begun = len(triples)
    add_quad = quad_adder(triples, label)
    if document.error:
        rejects.add(f"not well-formed XML: {document.error}", document.error_line, _line_at(data, document.error_line))
        data = data[: document.error_at]
    try:
        feed = _Feed(data)
        for quad in _quads(feed, source.iri):
            add_quad(quad, feed.line)
            if progress is not None and not len(triples) % 65536:
                progress(source.name, len(triples) - begun)
    except (SyntaxError, RefusedTermError):
        triples.cut(begun)
        _read_pieces(source, data, _examine(source.name, data, elements=True), add_quad, rejects)
    if document.error and len(triples) == begun:
        raise InputError(
            f"{source.name}, line {document.error_line}: not well-formed XML, and no triple before it: {document.error}",
            "Check the file; is it cut short, or something else than RDF/XML?",
        )
    if progress is not None:
        progress(source.name, len(triples) - begun)


def _read_pieces(
    source: FileSource, data: bytes, document: _Document, add_quad: Callable[[ox.Quad, int], None], rejects: Rejects
) -> None:
    """Each top-level element as a document of its own, so that an error ends with the element it is in.

    Where the document breaks off, the last piece does too: that is told already.
    """
    opening, closing = data[: document.starts[0] if document.starts else 0], document.root_end_tag
    bounds = list(zip(document.starts, document.lines, [*document.starts[1:], document.end]))
    if not bounds or document.root != RDF + "RDF":
        opening = closing = b""
        bounds = [(0, 1, len(data))]
    above = opening.count(b"\n") + 1
    for start, line, end in bounds:
        piece = opening + data[start:end] + closing
        feed = _Feed(piece)
        try:
            for quad in _quads(feed, source.iri):
                add_quad(quad, line + max(feed.line - above, 0))
        except (SyntaxError, RefusedTermError) as error:
            if not (document.error and end == document.end):
                reached = max(feed.line, above)
                text = piece.split(b"\n")[reached - 1].decode("utf-8", "backslashreplace")
                rejects.add(message_of(error), line + reached - above, text, "the rest of this element was not read")


class _Feed:
    """Hands a parser one line at a time, so that the line it has reached is known."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at, self.line = data, 0, 0
        self._inside = False

    def read(self, size: int = -1) -> bytes:
        end = self._data.find(b"\n", self._at) + 1 or len(self._data)
        end = min(end, self._at + size) if size >= 0 else end
        piece = self._data[self._at : end]
        self.line += not self._inside and bool(piece)
        self._inside = not piece.endswith(b"\n")
        self._at = end
        return piece


def _quads(feed: _Feed, base: str) -> Iterator[ox.Quad]:
    return iter(ox.parse(feed, format=ox.RdfFormat.RDF_XML, base_iri=base))  # type: ignore[arg-type]


def _line_at(data: bytes, line: int) -> str:
    lines = data.split(b"\n", line)
    return lines[line - 1].decode("utf-8", "backslashreplace") if 0 < line <= len(lines) else ""


def _utf8(source: FileSource) -> bytes:
    """The document in UTF-8 with line feeds, as XML processors hand it on. Raises: InputError."""
    data = source.read()
    encodings: list[str | None] = []
    parser = expat.ParserCreate()
    parser.XmlDeclHandler = lambda version, encoding, standalone: encodings.append(encoding)
    with suppress(expat.ExpatError, LookupError, ValueError):  # said by `_examine`, with its place
        parser.Parse(data[:_FEED_BYTES], False)
    encoding = (encodings[0] if encodings and encodings[0] else "utf-8").lower()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    if encoding not in ("utf-8", "utf8", "us-ascii", "ascii"):
        try:
            data = _DECLARATION.sub(b"", data.decode(encoding).encode("utf-8"), 1)
        except (UnicodeError, LookupError) as error:
            raise InputError(f"{source.name} is not in the encoding it declares: {error}", "Convert it to UTF-8.") from error
    elif encoding not in ("utf-8", "utf8"):
        data = _DECLARATION.sub(b"", data, 1)
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _examine(name: str, data: bytes, *, elements: bool = False) -> _Document:
    """What expat says of ``data``; where its top-level elements begin only if ``elements``, for that takes time."""
    document = _Document()
    parser = expat.ParserCreate(namespace_separator="")
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    entities = 0
    depth = 0

    def doctype(root: str, system: str | None, public: str | None, internal: int) -> None:
        if system is not None or public is not None:
            raise InputError(
                f"{name} refers to an external document type ({system or public}), and nothing is fetched",
                "Remove the SYSTEM or PUBLIC identifier from its DOCTYPE.",
            )

    def entity(
        key: str,
        parameter: int,
        value: str | None,
        base: str | None,
        system: str | None,
        public: str | None,
        notation: str | None,
    ) -> None:
        nonlocal entities
        entities += 1
        remedy = 'Only short internal entities such as <!ENTITY owl "http://www.w3.org/2002/07/owl#"> are accepted.'
        if system is not None or public is not None or value is None:
            raise InputError(f"{name} declares the external entity {key}, and nothing is fetched", remedy)
        if parameter or _REFERENCE.search(value):
            raise InputError(f"{name} declares the entity {key} by other entities", remedy)
        if len(value) > LONGEST_ENTITY or entities > MOST_ENTITIES:
            raise InputError(f"{name} declares an entity that is too long, or too many ({key})", remedy)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        if not depth:
            document.root = tag
            _check_root(name, document)
            qualified = _TAG.match(data, parser.CurrentByteIndex)
            document.root_end_tag = b"</" + qualified[1] + b">" if qualified else b""
            if not elements:
                parser.StartElementHandler = parser.EndElementHandler = parser.StartNamespaceDeclHandler = None
        elif depth == 1:
            document.starts.append(parser.CurrentByteIndex)
            document.lines.append(parser.CurrentLineNumber)
        depth += 1

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        if not depth:
            document.end = parser.CurrentByteIndex

    def namespace(prefix: str | None, uri: str | None) -> None:
        document.knows_rdf |= uri == RDF

    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = entity
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartNamespaceDeclHandler = namespace
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        document.error = expat.errors.messages.get(error.code, str(error))
        document.error_line = error.lineno
        document.error_at = document.end = parser.ErrorByteIndex
    return document


def _check_root(name: str, document: _Document) -> None:
    if document.root == OWL + "Ontology":
        raise InputError(
            f"{name} is OWL/XML, which is not read here", "Convert it to RDF/XML, Turtle or functional-style syntax."
        )
    if document.root.lower().endswith("html"):
        raise InputError(f"{name} is an HTML page, not RDF/XML", "Fetch the file itself, not the page about it.")
    if not document.knows_rdf:
        raise InputError(f"{name} is XML, but not RDF/XML: its root element is {document.root}", "Check the file.")
