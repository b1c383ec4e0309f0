"""Parser of OWL/XML; the grammar is that of functional syntax, with XML elements for keywords.

The events of an XML parser, which knows lines and fetches nothing, become arguments of
`shiq.functional.grammar`. What is wrong inside an axiom becomes a leftover, and reading goes on
at the next axiom. Elements and attributes that OWL/XML does not have are refused, never passed
over. Source: OWL 2 XML serialization, section 3.

>>> axiom = '<SubClassOf><Class IRI="urn:A"/><Class IRI="urn:B"/></SubClassOf>'
>>> text = f'<Ontology xmlns="http://www.w3.org/2002/07/owl#">{axiom}</Ontology>'
>>> read_owl_xml(text.encode(), "example.owx", "urn:base", "e").axioms
((1, SubClassOf(sub=Class(iri='urn:A'), sup=Class(iri='urn:B'))),)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any
from xml.parsers import expat

from shiq.errors import InputError
from shiq.functional.arguments import (
    ArgumentGroup,
    BlankIndividual,
    KindedIri,
    RefusedConstruct,
    literal,
)
from shiq.functional.document import MAX_DEPTH, Document, DocumentBuilder, short_text
from shiq.functional.grammar import AXIOMS, CONSTRUCTS, build_construct, unknown_construct
from shiq.functional.tokens import BLANK_LABEL, IRI, LANGUAGE, Prefixes
from shiq.inputs.formats import DeclarationCheck
from shiq.model import OWL, RDF, XSD, Literal, ObjectInverseOf
from shiq.rdf.terms import resolve_reference
from shiq.rdf.xml import text_from_line
from shiq.rdf.xml_grammar import SEPARATOR, XML, QualifiedName, parse_name

# Names and literals of OWL/XML: prefixes, references resolved against xml:base, open elements.


BLANKS = " \t\r\n"
_TAGGED = (RDF + "PlainLiteral", RDF + "langString")
_IRI = re.compile(IRI)
_LANGUAGE = re.compile(LANGUAGE)


@dataclass(slots=True)
class XmlElement:
    """An open XML element with the values of its finished children.

    values: attributes
    arguments: values of its children
    language: xml:lang in scope
    """

    name: str
    base: str
    language: str
    values: dict[str, str] = field(default_factory=dict)
    arguments: list[object] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


class XmlNames:
    """Resolver of IRIs and literals of a document.

    by_owl_api: whether the OWL API wrote the document
    """

    def __init__(self, by_owl_api: bool) -> None:
        self._prefixes, self._by_owl_api = Prefixes(), by_owl_api

    def declare(self, frame: XmlElement) -> None:
        """Declare a prefix. Raises: RefusedConstruct."""
        self._prefixes.declare(
            required_attribute(frame, "name") + ":",
            self.iri(required_attribute(frame, "IRI"), frame.base),
        )

    def entity(self, frame: XmlElement) -> str:
        """Return the IRI of an entity element, from its attribute IRI or abbreviatedIRI. Raises:
        RefusedConstruct.
        """
        match frame.values:
            case {"IRI": _, "abbreviatedIRI": _}:
                raise RefusedConstruct(f"<{frame.name}> has both an IRI and an abbreviatedIRI")
            case {"IRI": iri}:
                return self.iri(iri, frame.base)
            case {"abbreviatedIRI": name}:
                return self.expand(name)
        raise RefusedConstruct(f"<{frame.name}> has neither IRI nor abbreviatedIRI")

    def iri(self, reference: str, base: str) -> str:
        """Resolve ``reference`` against ``base`` to an absolute IRI. Raises: RefusedConstruct.

        The OWL API cuts the base off an IRI that begins with it, and reads what is left behind
        the base. XML Base resolves it: ``/A`` is ``http://e.org/A`` for the base
        ``http://e.org/o``, not ``http://e.org/o/A``. The writer's way counts.
        """
        text = reference.strip(BLANKS)
        try:
            iri = resolve_reference(base, text)
        except ValueError as error:
            raise RefusedConstruct(f"{short_text(text)!r} is no IRI: {error}") from error
        if iri not in (text, base + text):
            if not self._by_owl_api:
                message = f"{short_text(text)!r} is <{iri}> by XML Base, and <{base}{text}> to the OWL API"
                raise RefusedConstruct(message, hint="write the whole IRI")
            iri = base + text
        if not _IRI.fullmatch(iri):
            raise RefusedConstruct(f"{short_text(iri)!r} is no IRI")
        return iri

    def expand(self, name: str) -> str:
        """Expand the abbreviated IRI ``name``. Raises: RefusedConstruct."""
        prefix, colon, local = name.strip(BLANKS).partition(":")
        if not colon:
            raise RefusedConstruct(f"{short_text(name)!r} is no abbreviated IRI: it has no colon")
        return self.iri(self._prefixes.namespace(prefix) + local, "")

    def literal(self, text: str, frame: XmlElement) -> Literal:
        """Make the literal of an element, by its datatype and language attributes. Raises:
        RefusedConstruct.
        """
        datatype, own = frame.values.get("datatypeIRI"), frame.values.get("lang")
        iri = "" if datatype is None else self.iri(datatype, frame.base)
        if own and iri in ("", *_TAGGED):
            if not _LANGUAGE.fullmatch(own):
                raise RefusedConstruct(f"{own!r} is no language tag")
            return Literal(text, RDF + "langString", own.lower())
        if own:
            raise RefusedConstruct(f"a literal of datatype <{iri}> with the language tag {own}")
        if not iri and frame.language:
            hint = "write xml:lang, or the datatype, at the literal itself"
            raise RefusedConstruct(
                f"a literal inside an element with xml:lang={frame.language!r}: readers differ",
                hint=hint,
            )
        if iri in (RDF + "langString", RDF + "dirLangString"):
            raise RefusedConstruct("a literal of datatype rdf:langString without a language tag")
        if iri == RDF + "PlainLiteral" and "@" not in text:  # as the OWL API writes plain text
            iri = ""
        return Literal(text, iri or XSD + "string")


def required_attribute(frame: XmlElement, attribute: str) -> str:
    """Value of a required attribute. Raises: RefusedConstruct if it is missing."""
    value = frame.values.get(attribute)
    if value is None:
        raise RefusedConstruct(f"<{frame.name}> has no attribute {attribute}")
    return value.strip(BLANKS)


#: Elements that name something, and what they say that it is.
_ENTITIES = {
    "Class": "class",
    "ObjectProperty": "object property",
    "DataProperty": "data property",
    "AnnotationProperty": "annotation property",
    "Datatype": "datatype",
    "NamedIndividual": "individual",
}
_CARDINALITIES = tuple(name for name in CONSTRUCTS if name.endswith("Cardinality"))
#: The attributes that an element may have beside those of XML itself; none for all others.
_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_ENTITIES, ("IRI", "abbreviatedIRI")),
    **dict.fromkeys(_CARDINALITIES, ("cardinality",)),
    "Ontology": ("ontologyIRI", "versionIRI"),
    "Prefix": ("name", "IRI"),
    "AnonymousIndividual": ("nodeID",),
    "Literal": ("datatypeIRI",),
    "FacetRestriction": ("facet",),
}
#: Elements that hold text, and nothing else.
_OF_TEXT = frozenset({"IRI", "AbbreviatedIRI", "Literal", "Import"})
#: Elements that hold nothing.
_EMPTY = frozenset({*_ENTITIES, "AnonymousIndividual", "Prefix"})
_INSIDE = frozenset(
    {*CONSTRUCTS, "IRI", "AbbreviatedIRI", "AnonymousIndividual", "Literal", "FacetRestriction"}
)
_AT_TOP = frozenset({*AXIOMS, "Annotation", "Prefix"})
#: What a document of another language puts among the axioms.
_RULES = frozenset({"DLSafeRule", "DescriptionGraphRule"})
_OF_XML = frozenset({"base", "lang", "space", "id"})
_OF_SCHEMAS = "http://www.w3.org/2001/XMLSchema-instance"
#: How far from the end a document says who wrote it.
_COMMENT_BYTES = 1000
_LABEL = re.compile(BLANK_LABEL)
_NUMBER = re.compile(r"\+?[0-9]{1,18}")


def read_owl_xml(
    data: bytes, source: str, base: str, scope: str, *, header_only: bool = False
) -> Document:
    """Parse the OWL/XML document ``data``, in UTF-8.

    Truncated or broken XML becomes a leftover with its line, after the axioms before it.

    Args:
    base: IRI of the document
    scope: a blank node ``_:x`` becomes ``_:{scope}.x``
    header_only: whether only the part before the axioms is parsed

    Raises: InputError for XML that is not OWL/XML, for entities that are no plain abbreviations,
        and for a document without a readable item.
    """
    reader = _OwlXmlReader(data, source, base, scope, header_only)
    try:
        return reader.read()
    finally:
        vars(reader).clear()  # parser and handlers hold each other, and the data


class _EndOfHeader(Exception):
    """Signal: the first axiom was reached and only the header is wanted."""


class _OwlXmlReader:
    """Parser of one OWL/XML document by XML events. The first open element is the ontology.

    refusal: the error in the open item, with its line. While it is set, frames above the first are
        not kept.
    """

    def __init__(self, data: bytes, source: str, base: str, scope: str, header_only: bool) -> None:
        self.data, self.source, self.header_only = data, source, header_only
        self.blank_prefix = f"_:{scope}." if scope else "_:"
        self.names, self.builder = (
            XmlNames(b"Generated by the OWL API" in data[-_COMMENT_BYTES:]),
            DocumentBuilder(source),
        )
        self.frames = [XmlElement("", base, "")]
        self.depth = self.item_line = self.item_start = 0
        self.just_opened = False
        self.refusal: tuple[RefusedConstruct, int] | None = None
        self.header: list[str] = ["", ""]
        self.parser = parser = expat.ParserCreate(namespace_separator=SEPARATOR)
        parser.namespace_prefixes = True
        parser.buffer_text = True
        self.declarations = DeclarationCheck(parser, source)
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters

    def read(self) -> Document:
        """Parse the document. Raises: InputError."""
        try:
            self.parser.Parse(self.data, True)
        except _EndOfHeader:
            pass
        except expat.ExpatError as error:
            message = expat.errors.messages.get(error.code, str(error))
            if not self.builder.ledger:
                raise InputError(
                    f"{self.source}, line {error.lineno}: not well-formed XML, and no axiom before it: {message}",
                    "Check the file; is it cut short, or something else than OWL/XML?",
                ) from error
            text = text_from_line(self.data, self.parser.ErrorByteIndex)
            self.builder.add_leftover(
                RefusedConstruct(f"not well-formed XML: {message}"), error.lineno, text
            )
            if self.depth > 1:
                self.record_refusal(RefusedConstruct("the document breaks off inside this axiom"))
                self.finish_item(len(self.data))
        return self.builder.build(*self.header)

    # --- events ---

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle a start tag."""
        name = parse_name(tag)
        self.depth += 1
        self.just_opened = True
        if self.depth == 1:
            self.declarations.check()
            if name.iri != OWL + "Ontology":
                raise InputError(
                    f"{self.source} is XML, but not OWL/XML: its root element is {name.iri}",
                    "Check the file.",
                )
        if self.header_only and self.depth == 2 and name.local in AXIOMS and name.local != "Import":
            raise _EndOfHeader
        if self.depth <= 2:
            self.item_line, self.item_start = (
                self.parser.CurrentLineNumber,
                self.parser.CurrentByteIndex,
            )
        if self.refusal is None:
            try:
                self.open_element(name, attributes)
            except RefusedConstruct as refused:
                self.record_refusal(refused)

    def end(self, tag: str) -> None:
        """Handle an end tag."""
        if self.refusal is None:
            try:
                self.close_element()
            except RefusedConstruct as refused:
                self.record_refusal(refused)
        self.depth -= 1
        if self.depth == 1:
            self.finish_item(self.end_of_tag())
        self.just_opened = False

    def characters(self, text: str) -> None:
        """Handle text. Misplaced text is recorded as an error."""
        self.just_opened = False
        if self.refusal is not None or not self.depth:
            return
        frame = self.frames[-1]
        if frame.name in _OF_TEXT:
            frame.text.append(text)
        elif text.strip(BLANKS):
            refused = RefusedConstruct(
                f"the text {short_text(text)!r} inside <{frame.name}>, which holds elements only"
            )
            line = self.parser.CurrentLineNumber - text.lstrip(BLANKS).count("\n")
            if self.depth > 1:
                self.record_refusal(refused, line)
            else:
                self.builder.add_leftover(refused, line, text)

    def record_refusal(self, refused: RefusedConstruct, line: int = 0) -> None:
        """Record the first error in the open item (axiom or declaration)."""
        if self.refusal is None:
            self.refusal = refused, line or self.parser.CurrentLineNumber
            del self.frames[2:]

    def end_of_tag(self) -> int:
        """Return the byte offset after the current end tag. For ``<a/>`` the parser itself reports
        the offset after it.
        """
        at = self.parser.CurrentByteIndex
        return (
            at
            if self.just_opened and self.data[at - 2 : at] == b"/>"
            else self.data.find(b">", at) + 1
        )

    # --- elements ---

    def begin_ontology(self, frame: XmlElement) -> None:
        """Read ontology IRI and version IRI from the root element."""
        for at, key in enumerate(_ATTRIBUTES["Ontology"]):
            if key in frame.values:
                try:
                    self.header[at] = self.names.iri(frame.values[key], frame.base)
                except RefusedConstruct as refused:
                    self.record_root_error(refused)

    def record_root_error(self, refused: RefusedConstruct) -> None:
        """Record an error in an attribute of the root element. Its axioms are read all the same."""
        end = self.data.find(b">", self.item_start) + 1
        self.builder.add_leftover(
            refused,
            self.item_line,
            self.data[self.item_start : end].decode("utf-8", "backslashreplace"),
        )

    def open_element(self, name: QualifiedName, attributes: dict[str, str]) -> None:
        """Push an element on the stack. Raises: RefusedConstruct if it may not stand here."""
        parent, element = self.frames[-1], name.local
        if name.namespace != OWL:
            raise RefusedConstruct(
                f"the element {name.qualified_name} is none of OWL/XML: it is in the namespace {name.namespace!r}"
            )
        if parent.name in _OF_TEXT or parent.name in _EMPTY:
            raise RefusedConstruct(f"<{element}> inside <{parent.name}>, which holds no elements")
        if self.depth > 1 and element not in (_AT_TOP if self.depth == 2 else _INSIDE):
            raise _refuse_element(
                element,
                "where an axiom is expected" if self.depth == 2 else f"inside <{parent.name}>",
            )
        frame = XmlElement(element, parent.base, parent.language)
        for text, value in attributes.items():
            try:
                self.apply_attribute(frame, parse_name(text), value)
            except RefusedConstruct as refused:
                if self.depth > 1:
                    raise
                self.record_root_error(refused)
        if self.depth == 1:
            self.begin_ontology(frame)
        if len(self.frames) > MAX_DEPTH + 1:
            raise RefusedConstruct(f"nested deeper than {MAX_DEPTH} levels")
        self.frames.append(frame)

    def apply_attribute(self, frame: XmlElement, attribute: QualifiedName, value: str) -> None:
        """Store an attribute in an open element. Raises: RefusedConstruct."""
        if attribute.namespace == XML and attribute.local in _OF_XML:
            if attribute.local == "base":
                frame.base = self.names.iri(value, frame.base)
            elif attribute.local == "lang":
                frame.language = frame.values["lang"] = value.strip(BLANKS)
        elif attribute.namespace == "" and attribute.local in _ATTRIBUTES.get(frame.name, ()):
            frame.values[attribute.local] = value
        elif attribute.namespace != _OF_SCHEMAS:
            raise RefusedConstruct(f"<{frame.name}> has no attribute {attribute.qualified_name}")

    def close_element(self) -> None:
        """Pop an element, and pass its value to the parent or the document. Raises:
        RefusedConstruct.
        """
        frame = self.frames.pop()
        if self.depth == 1:
            return
        value = self.element_value(frame)
        if self.depth > 2:
            self.frames[-1].arguments += value if isinstance(value, list) else [value]
            if frame.name == "Annotation":
                self.builder.use_property("annotation", value.property, self.item_line)
        elif frame.name != "Prefix":
            end = self.end_of_tag()
            self.builder.accept(
                value,
                frame.name,
                self.item_line,
                lambda: self.data[self.item_start : end].decode("utf-8", "backslashreplace"),
            )

    def finish_item(self, end: int) -> None:
        """Record the item that ends at byte ``end`` as a leftover, if any part of it was refused."""
        if self.refusal is not None:
            (refused, line), self.refusal = self.refusal, None
            text = self.data[self.item_start : end].decode("utf-8", "backslashreplace")
            self.builder.add_leftover(refused, self.item_line, text, line)

    def element_value(self, frame: XmlElement) -> Any:
        """Make the value of a finished element; of a facet, two arguments. Raises:
        RefusedConstruct.
        """
        name, text = frame.name, "".join(frame.text)
        match name:
            case "IRI":
                return KindedIri(self.names.iri(text, frame.base), "IRI")
            case "AbbreviatedIRI":
                return KindedIri(self.names.expand(text), "IRI")
            case "Import":
                return build_construct(name, [KindedIri(self.names.iri(text, frame.base), "IRI")])
            case "Prefix":
                return self.names.declare(frame)
            case "AnonymousIndividual":
                label = required_attribute(frame, "nodeID").removeprefix("_:")
                if not _LABEL.fullmatch(label):
                    raise RefusedConstruct(f"{label!r} is no label of an anonymous individual")
                return BlankIndividual(self.blank_prefix + label)
            case "Literal":
                return self.names.literal(text, frame)
            case "FacetRestriction":
                if len(frame.arguments) != 1:
                    raise RefusedConstruct(
                        f"<FacetRestriction> takes one literal, here are {len(frame.arguments)} elements"
                    )
                return [
                    KindedIri(
                        self.names.iri(required_attribute(frame, "facet"), frame.base), "IRI"
                    ),
                    literal(frame.arguments[0]),
                ]
            case _ if name in _ENTITIES:
                iri = KindedIri(self.names.entity(frame), _ENTITIES[name])
                return (
                    build_construct(name, [iri]) if self.frames[-1].name == "Declaration" else iri
                )
            case _ if name in _CARDINALITIES:
                number = required_attribute(frame, "cardinality")
                if not _NUMBER.fullmatch(number):
                    raise RefusedConstruct(f"{number!r} is no cardinality")
                return build_construct(name, [int(number), *frame.arguments])
            case "HasKey":
                return build_construct(name, _group_key_properties(frame.arguments))
        return build_construct(name, frame.arguments)


def _group_key_properties(arguments: list[object]) -> list[object]:
    """Split the arguments of HasKey into object and data properties, as the grammar has them."""
    first = next(
        (
            i
            for i, x in enumerate(arguments)
            if isinstance(x, ObjectInverseOf) or "property" in _stated_kind(x)
        ),
        len(arguments),
    )
    properties: tuple[list[object], list[object]] = [], []
    for argument in arguments[first:]:
        properties[_stated_kind(argument) == "data property"].append(argument)
    return [*arguments[:first], *(ArgumentGroup(tuple(group)) for group in properties)]


def _stated_kind(value: object) -> str:
    """Return the entity kind that an argument states; "" if it states none."""
    return value.kind if isinstance(value, KindedIri) else ""


def _refuse_element(element: str, place: str) -> RefusedConstruct:
    """Make the refusal of an element that cannot stand at ``place``."""
    if element in _RULES:
        return unknown_construct(element, place)
    known = _INSIDE | _AT_TOP | {"Ontology"}
    if element in known:
        return RefusedConstruct(f"<{element}> cannot stand {place}")
    near = get_close_matches(element, known, 1, 0.8)
    return RefusedConstruct(
        f"<{element}> is no element of OWL/XML", hint=f"did you mean <{near[0]}>?" if near else ""
    )
