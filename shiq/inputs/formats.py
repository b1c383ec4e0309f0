"""Recognise the syntax of a file by its first bytes, and by its name where these are ambiguous.

Declarations of a document in XML are checked here too: no entity may fetch or grow.
"""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from enum import Enum
from pathlib import Path
from xml.parsers import expat

from shiq.errors import InputError


class Format(Enum):
    """The supported syntaxes of input files."""

    NTRIPLES = "N-Triples"
    NQUADS = "N-Quads"
    TURTLE = "Turtle"
    TRIG = "TriG"
    RDFXML = "RDF/XML"
    OWLXML = "OWL/XML"
    JSONLD = "JSON-LD"
    FUNCTIONAL = "OWL 2 functional-style syntax"


#: The formats by the names that ``--format`` and `shiq.TextInput` take.
FORMAT_NAMES = {
    "ntriples": Format.NTRIPLES,
    "nquads": Format.NQUADS,
    "turtle": Format.TURTLE,
    "trig": Format.TRIG,
    "rdfxml": Format.RDFXML,
    "jsonld": Format.JSONLD,
    "owlxml": Format.OWLXML,
    "functional": Format.FUNCTIONAL,
}
#: Formats in which a line is a statement.
LINE_FORMATS = frozenset({Format.NTRIPLES, Format.NQUADS})
#: Formats that say axioms, not triples.
AXIOM_FORMATS = frozenset({Format.FUNCTIONAL, Format.OWLXML})

REMEDY = (
    "Give N-Triples, N-Quads, Turtle, TriG, RDF/XML, JSON-LD, OWL/XML, OWL 2 functional-style syntax (each also as .gz, .bz2, "
    ".xz or .zst), or a Parquet or Delta table of triples."
)
_PACKED = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"\x1f\x8b": "a gzip archive inside another archive",
    b"%PDF": "a PDF document",
    b"PAR1": "a Parquet file inside an archive",
    b"SQLite format 3": "an SQLite database",
}
_ELEMENT = re.compile(
    rb"<(?:\?xml\b|!DOCTYPE\b|!--|[A-Za-z_][\w.-]*(?::[\w.-]+)?\s+[A-Za-z_][\w:.-]*\s*=\s*[\"'])"
)
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_JSON = re.compile(rb"\{\s*[\"}]|\[\s*[\{\"]")
_KEYWORD = re.compile(rb'"@(?:context|graph|id|type)"')
_FUNCTIONAL = re.compile(rb"(?:Prefix|Ontology)\s*\(")
_MANCHESTER = re.compile(rb"(?:Prefix|Ontology)\s*:")
_OBO = re.compile(rb"(?:![^\n]*\n\s*)*(?:format-version\s*:|\[(?:Term|Typedef)\])")
_DIRECTIVE = re.compile(rb"^[ \t]*(?:@prefix|@base|prefix|base)\s", re.IGNORECASE | re.MULTILINE)
_TRIPLE = re.compile(
    rb"^[ \t]*(?:<[^>\n]*>|_:\S+)[ \t]*<[^>\n]*>.*\.[ \t]*(?:#.*)?\r?$", re.MULTILINE
)
_QUAD = re.compile(
    rb"^[ \t]*(?:<[^>\n]*>|_:\S+)[ \t]*<[^>\n]*>[ \t]*(?:<[^>\n]*>|_:\S+|\"(?:[^\"\\\n]|\\.)*\"(?:\^\^<[^>\n]*>|@[\w-]+)?)"
    rb"[ \t]*(?:<[^>\n]*>|_:\S+)[ \t]*\.[ \t]*(?:#.*)?\r?$",
    re.MULTILINE,
)
_COMMENTS = re.compile(rb"(?:\s+|#[^\r\n]*)*")
#: What extensions say where the first bytes leave it open.
EXTENSIONS = {
    ".nt": Format.NTRIPLES,
    ".ntriples": Format.NTRIPLES,
    ".nq": Format.NQUADS,
    ".nquads": Format.NQUADS,
    ".ttl": Format.TURTLE,
    ".turtle": Format.TURTLE,
    ".n3": Format.TURTLE,
    ".trig": Format.TRIG,
    ".jsonld": Format.JSONLD,
    ".ofn": Format.FUNCTIONAL,
    ".fss": Format.FUNCTIONAL,
    ".owx": Format.OWLXML,
}
#: By these names an ontology may be imported.
ONTOLOGY_EXTENSIONS = (".owl", ".rdf", ".xml", *EXTENSIONS)
#: Syntaxes of ontologies that another tool converts.
_CONVERTED = {".omn": "Manchester syntax", ".obo": "OBO"}
_UNSUPPORTED = {".hdt": "HDT", ".trix": "TriX"}
#: Python's own serialisation can run code when it is read; nothing here ever reads it.
_PICKLES = (".pkl", ".pickle", ".joblib", ".dill")


def decode_utf8(content: bytes, name: str) -> str:
    """Decode the document ``name``. Raises: InputError, with the line of the first bad byte."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}, line {line}: not UTF-8 ({error.reason})", "Convert the file to UTF-8."
        ) from error


def recognise_format(name: str, extension: str, head: bytes) -> Format:
    """Recognise the format of a file by its first bytes (``head``), and by its extension if these
    are ambiguous. Raises: InputError.

    Raises: InputError for a format that is not read.
    """
    if extension in _PICKLES:
        raise InputError(f"{name} is a Python pickle by its name, and these are never read", REMEDY)
    for magic, what in _PACKED.items():
        if head.startswith(magic):
            raise InputError(f"{name} is {what}", "Unpack or convert it first. " + REMEDY)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        if _ELEMENT.match(head.decode("utf-16", "replace").encode("utf-8", "replace").lstrip()):
            return _format_of_xml(head)
        raise InputError(f"{name} is written in UTF-16", "Convert it to UTF-8.")
    if head[:1024].count(b"\0") * 50 > len(head[:1024]):
        raise InputError(f"{name} is a binary file", REMEDY)
    body = head[_COMMENTS.match(head).end() :]  # type: ignore[union-attr]
    if _HTML.match(body):
        raise InputError(
            f"{name} is an HTML page, not an ontology or data",
            "Fetch the file itself, not the page about it.",
        )
    if _ELEMENT.match(body):
        return _format_of_xml(head)
    if extension != ".trig" and _JSON.match(body):
        return _format_of_json(name, extension, head)
    if _FUNCTIONAL.match(body):
        return Format.FUNCTIONAL
    syntax = _CONVERTED.get(extension) or (
        "Manchester syntax" if _MANCHESTER.match(body) else "OBO" if _OBO.match(body) else ""
    )
    if syntax:
        raise _unread_syntax_error(name, syntax)
    if extension in _UNSUPPORTED:
        raise InputError(
            f"{name} is {_UNSUPPORTED[extension]} by its name, which is not read here", REMEDY
        )
    if _DIRECTIVE.search(head):
        return Format.TRIG if extension == ".trig" else Format.TURTLE
    if extension in EXTENSIONS:
        return EXTENSIONS[extension]
    if _QUAD.search(head):
        return Format.NQUADS
    if _TRIPLE.search(head):
        return Format.NTRIPLES
    raise InputError(
        f"{name} is {'empty' if not body else 'in no format that is read here'}", REMEDY
    )


def _unread_syntax_error(name: str, syntax: str) -> InputError:
    """Error: the file is in an OWL syntax that is not supported; with the command that converts it."""
    target = str(Path(name).with_suffix(".owl"))
    if target == name:
        target = str(Path(name).with_suffix(".ofn"))
    command = shlex.join(["robot", "convert", "--input", name, "--output", target])
    return InputError(
        f"{name} is in {syntax}, which is not read here",
        f"Convert it, for example with ROBOT: {command}",
    )


def _format_of_xml(head: bytes) -> Format:
    """Decide between OWL/XML and RDF/XML.

    An RDF/XML document may have a named owl:Ontology at its root too.
    """
    root, attributes = root_element(head)
    owl = root == "http://www.w3.org/2002/07/owl#Ontology"
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    return (
        Format.OWLXML
        if owl and not any(text.startswith(rdf) for text in attributes)
        else Format.RDFXML
    )


#: Namespace abbreviations are far below; what is larger could be made to grow.
LONGEST_ENTITY = 512
MOST_ENTITIES = 1000
_REFERENCE = re.compile(r"&|%[A-Za-z_:]")


class DeclarationCheck:
    """Guard of an XML parser against external and huge entities, while it reads the document
    ``name``.
    """

    def __init__(self, parser: expat.XMLParserType, name: str) -> None:
        self._name, self._entities, self._refers_outside = name, 0, False
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartDoctypeDeclHandler = self._check_doctype
        parser.EntityDeclHandler = self._check_entity
        parser.NotStandaloneHandler = self._note_external_reference

    def check(self) -> None:
        """Refuse a document that needs external declarations; called at its root element. Raises:
        InputError.
        """
        if self._refers_outside:
            raise InputError(
                f"{self._name} takes declarations from outside by its DOCTYPE, and nothing is fetched",
                "Declare what it needs in the document itself: an entity that is not known would be passed over.",
            )

    def _check_doctype(
        self, root: str, system: str | None, public: str | None, internal: int
    ) -> None:
        """Refuse an external document type. Raises: InputError."""
        if system is not None or public is not None:
            raise InputError(
                f"{self._name} refers to an external document type ({system or public}), and nothing is fetched",
                "Remove the SYSTEM or PUBLIC identifier from its DOCTYPE.",
            )

    def _check_entity(
        self,
        key: str,
        parameter: int,
        value: str | None,
        base: str | None,
        system: str | None,
        public: str | None,
        notation: str | None,
    ) -> None:
        """Refuse entities that are external, long or too many. Raises: InputError."""
        self._entities += 1
        remedy = 'Only short internal entities such as <!ENTITY owl "http://www.w3.org/2002/07/owl#"> are accepted.'
        if system is not None or public is not None or value is None:
            raise InputError(
                f"{self._name} declares the external entity {key}, and nothing is fetched", remedy
            )
        if parameter or _REFERENCE.search(value):
            raise InputError(f"{self._name} declares the entity {key} by other entities", remedy)
        if len(value) > LONGEST_ENTITY or self._entities > MOST_ENTITIES:
            raise InputError(
                f"{self._name} declares an entity that is too long, or too many ({key})", remedy
            )

    def _note_external_reference(self) -> int:
        """Record that the document refers to external declarations."""
        self._refers_outside = True  # said where its DOCTYPE has been read
        return 1


def root_element(head: bytes) -> tuple[str, list[str]]:
    """Return the root element of a document that begins with ``head``, and its attributes; "" if
    there is none.

    Names have namespace and local name in one.
    """
    found: list[tuple[str, list[str]]] = []
    parser = expat.ParserCreate(namespace_separator="")
    DeclarationCheck(parser, "")
    parser.StartElementHandler = lambda tag, attributes: (
        None if found else found.append((tag, list(attributes)))
    )
    with suppress(
        expat.ExpatError, InputError, LookupError, ValueError
    ):  # said by whoever reads it
        parser.Parse(head, False)
    return found[0] if found else ("", [])


def _format_of_json(name: str, extension: str, head: bytes) -> Format:
    """Recognise JSON-LD among JSON documents; other ones are refused. Raises: InputError."""
    if extension == ".jsonld":
        return Format.JSONLD
    named = EXTENSIONS.get(extension)
    if named is not None:
        raise InputError(
            f"{name} is JSON, though its name says {named.value}",
            "Rename JSON-LD to .jsonld; convert other JSON.",
        )
    if not _KEYWORD.search(head):
        raise InputError(
            f"{name} is JSON, but nothing in it says that it is JSON-LD",
            "Name it .jsonld if it is; else convert it.",
        )
    return Format.JSONLD
