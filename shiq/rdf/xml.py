"""Reader of RDF/XML: parses the XML, and recovers after errors. `shiq.rdf.xml_grammar` has the
grammar.

expat decides well-formedness and normalises texts and values, from UTF-8 bytes. Entities that could
fetch or grow are refused. An RDF error (such as an IRI with a space) costs the top-level element
that it is in; the others are read.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable
from contextlib import suppress
from xml.parsers import expat

from shiq.errors import InputError
from shiq.inputs.formats import DeclarationCheck
from shiq.inputs.sources import FileSource
from shiq.model import RDF
from shiq.rdf.triples import Labels, Rejects, Triples
from shiq.rdf.xml_grammar import SEPARATOR, RdfXmlGrammar, RefusedXmlError, parse_name

_DECLARATION = re.compile(rb"\s*<\?xml\b[^>]*\?>")
_FEED_BYTES = 1 << 16


def text_from_line(data: bytes, at: int) -> str:
    """Text from the line around byte ``at`` to the end."""
    return data[data.rfind(b"\n", 0, at) + 1 :].decode("utf-8", "backslashreplace")


def utf8_of(source: FileSource) -> bytes:
    """Read a document as UTF-8. Raises: InputError."""
    data = source.read()
    encodings: list[str | None] = []
    parser = expat.ParserCreate()
    parser.XmlDeclHandler = lambda version, encoding, standalone: encodings.append(encoding)
    with suppress(expat.ExpatError, LookupError, ValueError):  # said later, with its place
        parser.Parse(data[:_FEED_BYTES], False)
    encoding = (encodings[0] if encodings and encodings[0] else "utf-8").lower()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif data.startswith(BOM_UTF8):
        data, encoding = data.removeprefix(BOM_UTF8), "ascii"  # it is UTF-8, whatever it declares
    if encoding not in ("utf-8", "utf8", "us-ascii", "ascii"):
        try:
            data = _DECLARATION.sub(b"", data.decode(encoding).encode("utf-8"), 1)
        except (UnicodeError, LookupError) as error:
            raise InputError(
                f"{source.name} is not in the encoding it declares: {error}", "Convert it to UTF-8."
            ) from error
    elif encoding not in ("utf-8", "utf8"):
        data = _DECLARATION.sub(b"", data, 1)
    return data


_SHOWN_BYTES = 400


def read_xml(
    source: FileSource,
    triples: Triples,
    label: Labels,
    rejects: Rejects,
    progress: Callable[[str, int], None] | None = None,
) -> None:
    """Read RDF/XML into ``triples``. Broken or truncated XML is recorded in ``rejects``; the
    triples before it stay.

    Raises: InputError for XML that is not RDF/XML, for entities that are no plain abbreviations,
        and if nothing could be read.
    """
    data, begun = utf8_of(source), len(triples)
    document = _RdfXmlDocument(source, data, triples, label, rejects, progress)
    parser = document.parser
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        message = expat.errors.messages.get(error.code, str(error))
        rejects.add(
            f"not well-formed XML: {message}",
            error.lineno,
            text_from_line(data, parser.ErrorByteIndex),
        )
        if len(triples) == begun:
            raise InputError(
                f"{source.name}, line {error.lineno}: not well-formed XML, and no triple before it: {message}",
                "Check the file; is it cut short, or something else than RDF/XML?",
            ) from error
    finally:
        vars(document).clear()  # parser and handlers hold each other, and the data
    if progress is not None:
        progress(source.name, len(triples) - begun)


class _RdfXmlDocument:
    """Handler of the XML parser's events: passes them to the grammar, and skips top-level elements
    with an error.
    """

    def __init__(
        self,
        source: FileSource,
        data: bytes,
        triples: Triples,
        label: Labels,
        rejects: Rejects,
        progress: Callable[[str, int], None] | None,
    ) -> None:
        self._name, self._data, self._triples, self._rejects, self._progress = (
            source.name,
            data,
            triples,
            rejects,
            progress,
        )
        self._opened_elements = self._reported = len(triples)
        self._depth = 0
        self._knows_rdf = self._given_up = False
        self.parser = parser = expat.ParserCreate(namespace_separator=SEPARATOR)
        self._grammar = RdfXmlGrammar(triples, label, source.iri, lambda: parser.CurrentLineNumber)
        parser.namespace_prefixes = True
        parser.buffer_text = True
        self._declarations = DeclarationCheck(parser, source.name)
        parser.StartNamespaceDeclHandler = self._note_namespace
        parser.StartElementHandler = self._start_element
        parser.EndElementHandler = self._end_element
        parser.CharacterDataHandler = self._add_characters
        parser.CommentHandler = self._grammar.comment
        parser.ProcessingInstructionHandler = self._grammar.instruction

    # --- elements ---

    def _start_element(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle a start tag: pass it to the grammar, unless its top-level element is skipped."""
        if not self._depth:
            self._declarations.check()
            self.parser.StartNamespaceDeclHandler = None
            _check_root(self._name, parse_name(tag).iri, knows_rdf=self._knows_rdf)
        self._depth += 1
        if not self._given_up:
            try:
                self._grammar.start(tag, attributes)
            except RefusedXmlError as error:
                self._give_up_element(error)

    def _end_element(self, tag: str) -> None:
        """Handle an end tag: pass it to the grammar, unless its top-level element is skipped."""
        self._depth -= 1
        if not self._given_up:
            self._grammar.end()
        elif self._depth < self._grammar.root_depth:
            self._given_up = False
        if (
            self._depth == 1
            and self._progress is not None
            and len(self._triples) - self._reported >= 65536
        ):
            self._reported = len(self._triples)
            self._progress(self._name, self._reported - self._opened_elements)

    def _add_characters(self, text: str) -> None:
        """Handle text."""
        if not self._given_up:
            try:
                self._grammar.characters(text)
            except RefusedXmlError as error:
                self._give_up_element(error, text.lstrip())

    def _give_up_element(self, error: RefusedXmlError, text: str = "") -> None:
        """Record an error, and skip the top-level element that has it."""
        self._given_up = self._depth >= self._grammar.root_depth
        self._grammar.abandon_element()
        hint = "the rest of this element was not read" if self._given_up else ""
        line, at = self.parser.CurrentLineNumber, self.parser.CurrentByteIndex
        line, at = line - text.count("\n"), max(0, at - len(text.encode()))
        self._rejects.add(str(error), line, _line_at(self._data, at), hint)

    # --- declarations ---

    def _note_namespace(self, prefix: str | None, uri: str | None) -> None:
        """Note whether the RDF namespace is declared."""
        self._knows_rdf |= uri == RDF


def _line_at(data: bytes, at: int) -> str:
    """Return the line around byte ``at``; of a long line only the part nearby."""
    start = max(data.rfind(b"\n", 0, at) + 1, at - _SHOWN_BYTES)
    end = data.find(b"\n", at, at + _SHOWN_BYTES)
    return data[start : end if end >= 0 else at + _SHOWN_BYTES].decode("utf-8", "backslashreplace")


def _check_root(name: str, root: str, *, knows_rdf: bool) -> None:
    """Refuse a root element that is not RDF/XML. Raises: InputError."""
    if root.lower().endswith("html"):
        raise InputError(
            f"{name} is an HTML page, not RDF/XML", "Fetch the file itself, not the page about it."
        )
    if not knows_rdf:
        raise InputError(
            f"{name} is XML, but not RDF/XML: its root element is {root}", "Check the file."
        )
