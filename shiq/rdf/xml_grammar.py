"""Grammar of RDF/XML over the events of an XML parser.

Each open element is a frame; what may be inside follows from the frame around it. A triple is added
where its element ends, so an error inside leaves nothing half done.

Source: RDF 1.1 XML Syntax, section 7.2. Constructs outside that grammar are refused, never ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import pyoxigraph as ox

from shiq.model import RDF, XSD, Literal
from shiq.rdf.terms import resolve_reference
from shiq.rdf.triples import Labels, Term, Triples
from shiq.rdf.vocabulary import FIRST, NIL, REST, TAGGED, TYPE

# XML literals: markup inside RDF/XML, in exclusive canonical XML with comments.


_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"})
_VALUE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;"}
)


class XmlLiteral:
    """Writer of the markup of one XML literal (rdf:parseType="Literal")."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._open: list[
            tuple[str, dict[str, str]]
        ] = []  # name, and the namespaces declared up to there

    @property
    def depth(self) -> int:
        """Number of open elements."""
        return len(self._open)

    @property
    def text(self) -> str:
        """Markup written so far."""
        return "".join(self._parts)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Write a start tag, with the namespace declarations that it needs."""
        name = parse_name(tag)
        named = sorted(
            ((key := parse_name(text)).namespace, key.local, key, value)
            for text, value in attributes.items()
        )
        known = self._open[-1][1] if self._open else {"": ""}
        used = {name.prefix: name.namespace} | {
            key.prefix: key.namespace for _, _, key, _ in named if key.prefix
        }
        new = {
            prefix: uri for prefix, uri in used.items() if known.get(prefix) != uri and uri != XML
        }
        self._open.append((name.qualified_name, {**known, **new}))
        self._parts.append(f"<{name.qualified_name}")
        self._parts += (
            f' xmlns{":" * bool(p)}{p}="{new[p].translate(_VALUE)}"' for p in sorted(new)
        )
        self._parts += (
            f' {key.qualified_name}="{value.translate(_VALUE)}"' for _, _, key, value in named
        )
        self._parts.append(">")

    def end(self) -> None:
        """Write an end tag."""
        self._parts.append(f"</{self._open.pop()[0]}>")

    def characters(self, text: str) -> None:
        """Write text."""
        self._parts.append(text.translate(_TEXT))

    def comment(self, text: str) -> None:
        """Write a comment."""
        self._parts.append(f"<!--{text}-->")

    def instruction(self, target: str, text: str) -> None:
        """Write a processing instruction."""
        self._parts.append(f"<?{target}{' ' * bool(text)}{text}?>")


# Names of elements and attributes in RDF/XML, by their role in the grammar.
#
# Source: RDF 1.1 XML Syntax, sections 6.1.2, 6.1.4 and 7.2.2 to 7.2.7.


#: Between namespace, local name and prefix, as expat hands them on; no XML holds it.
SEPARATOR = "\x01"
XML = "http://www.w3.org/XML/1998/namespace"

_START = (
    r"A-Z_a-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C-\u200D\u2070-\u218F\u2C00-\u2FEF"
    r"\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
)
_NCNAME = re.compile(rf"[{_START}][{_START}\-.0-9\u00B7\u0300-\u036F\u203F-\u2040]*")

_SYNTAX = frozenset({"RDF", "ID", "about", "parseType", "resource", "nodeID", "datatype"})
_REMOVED = frozenset({"aboutEach", "aboutEachPrefix", "bagID"})
_RDF_1_2 = frozenset({"annotation", "annotationNodeID", "version"})
_UNQUALIFIED = frozenset({"ID", "about", "resource", "parseType", "type"})


class RefusedXmlError(Exception):
    """A construct outside the grammar of RDF/XML."""


@dataclass(frozen=True, slots=True)
class QualifiedName:
    """A qualified name of XML."""

    namespace: str
    local: str
    prefix: str

    @property
    def iri(self) -> str:
        """IRI of the name in RDF: namespace and local name joined."""
        return self.namespace + self.local

    @property
    def qualified_name(self) -> str:
        """The name with its prefix, as written in the document."""
        return f"{self.prefix}:{self.local}" if self.prefix else self.local


def parse_name(text: str) -> QualifiedName:
    """Parse a name in expat's notation (namespace, local name and prefix with separators)."""
    parts = text.split(SEPARATOR)
    return (
        QualifiedName("", text, "")
        if len(parts) == 1
        else QualifiedName(parts[0], parts[1], parts[2] if len(parts) > 2 else "")
    )


def is_ncname(text: str) -> bool:
    """Decide whether ``text`` is an NCName of XML."""
    return _NCNAME.fullmatch(text) is not None


def node_element_iri(text: str) -> str:
    """Return the IRI of a node element, its type. Raises: RefusedXmlError."""
    name = parse_name(text)
    if name.namespace == RDF and name.local in _SYNTAX | _REMOVED | {"li"}:
        raise RefusedXmlError(f"rdf:{name.local} is no name of a node")
    return _iri_of_name(name, "element")


def property_iri(text: str) -> str:
    """Return the IRI of a property element; rdf:li is unchanged. Raises: RefusedXmlError."""
    name = parse_name(text)
    if name.namespace == RDF and name.local in _SYNTAX | _REMOVED | {"Description"}:
        raise RefusedXmlError(f"rdf:{name.local} is no name of a property")
    return _iri_of_name(name, "element")


def attribute_role(text: str) -> tuple[str, str]:
    """Classify an attribute: ("xml", local name), ("rdf", local name), or ("", IRI) of a property.

    Raises: RefusedXmlError.
    """
    name = parse_name(text)
    if name.namespace == XML:
        return "xml", name.local
    if name.qualified_name.lower().startswith("xml"):
        raise RefusedXmlError(
            f"the attribute {name.qualified_name} has no meaning: names that begin with xml are reserved"
        )
    if not name.namespace:
        if name.local not in _UNQUALIFIED:
            raise RefusedXmlError(f"the attribute {name.local} has no namespace")
        name = QualifiedName(RDF, name.local, "")
    if name.namespace == RDF:
        if name.local in _SYNTAX - {"RDF"}:
            return "rdf", name.local
        if name.local in _REMOVED:
            raise RefusedXmlError(f"rdf:{name.local} is no part of RDF any more")
        if name.local in _RDF_1_2:
            raise RefusedXmlError(f"rdf:{name.local}: RDF 1.2 is not supported")
        if name.local in ("RDF", "Description", "li"):
            raise RefusedXmlError(f"rdf:{name.local} is no attribute")
    return "", _iri_of_name(name, "attribute")


def _iri_of_name(name: QualifiedName, what: str) -> str:
    """Return the IRI of a qualified name; ``what`` names it in the error. Raises: RefusedXmlError."""
    if not name.namespace:
        raise RefusedXmlError(f"the {what} {name.local} has no namespace")
    try:
        ox.NamedNode(name.iri)
    except ValueError as error:
        raise RefusedXmlError(
            f"the {what} {name.qualified_name} stands for no IRI: {error}"
        ) from error
    return name.iri


_BLANKS = " \t\r\n"
_DESCRIPTION = RDF + "Description"
_LI = RDF + "li"


class _ElementKind(Enum):
    """Kind of an open element, which decides its allowed content."""

    DOCUMENT = "a document"  # rdf:RDF or one node
    NODES = "rdf:RDF"  # nodes
    NODE = "a node"  # properties
    PROPERTY = "a property"  # a node or text
    COLLECTION = "a collection"  # nodes
    EMPTY = "a property whose value is given by attributes"  # nothing
    LITERAL = "an XML literal"  # anything


@dataclass(slots=True)
class _OpenElement:
    """An open XML element, with the triple that it is to become.

    node: subject of the properties inside
    subject, predicate, value: triple of a property; ``value`` is a resource once known
    statement: node of the reified triple, "" for none
    last: last cell of a collection
    """

    kind: _ElementKind
    base: str
    language: str = ""
    node: str = ""
    subject: str = ""
    predicate: str = ""
    line: int = 0
    value: str = ""
    last: str = ""
    statement: str = ""
    datatype: str = ""
    members: int = 0
    text: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _SortedAttributes:
    """Attributes of an element, sorted by role: syntax of RDF/XML, or property.

    syntax: attributes in the rdf: namespace, by local name
    properties: (IRI, value) in the order written
    """

    base: str
    language: str
    syntax: dict[str, str] = field(default_factory=dict)
    properties: list[tuple[str, str]] = field(default_factory=list)


class RdfXmlGrammar:
    """Grammar of RDF/XML: handles XML events and adds the triples of one document.

    Every method raises RefusedXmlError for events outside of RDF/XML; `abandon_element` then
    recovers.
    """

    def __init__(self, triples: Triples, label: Labels, base: str, line: Callable[[], int]) -> None:
        self._triples, self._label, self._line = triples, label, line
        self._stack = [_OpenElement(_ElementKind.DOCUMENT, base.partition("#")[0])]
        self._literal: XmlLiteral | None = None
        self._made = 0
        self._taken: set[str] = set()
        self._attribute_names: dict[str, tuple[str, str]] = {}
        self._nodes: dict[str, str] = {}
        self._properties: dict[str, str] = {}
        self._languages: set[str] = {""}
        self._labels: dict[str, str] = {}

    def abandon_element(self) -> None:
        """Drop the open elements after an error, except rdf:RDF."""
        del self._stack[self.root_depth :]
        self._literal = None

    @property
    def root_depth(self) -> int:
        """Number of elements on the stack below a top-level node element: 2 inside rdf:RDF, else 1."""
        return 2 if len(self._stack) > 1 and self._stack[1].kind is _ElementKind.NODES else 1

    # --- events ---

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle a start tag. Raises: RefusedXmlError."""
        if self._literal is not None:
            self._literal.start(tag, attributes)
            return
        parent = self._stack[-1]
        match parent.kind:
            case _ElementKind.NODE:
                self._open_property(tag, attributes, parent)
            case _ElementKind.EMPTY:
                raise RefusedXmlError(
                    "an element inside a property whose value its attributes give already"
                )
            case _ElementKind.DOCUMENT if (name := parse_name(tag)).iri == RDF + "RDF":
                of_xml = {
                    text: value
                    for text, value in attributes.items()
                    if parse_name(text).namespace == XML
                }
                found = self._sort_attributes(of_xml, parent)
                self._stack.append(_OpenElement(_ElementKind.NODES, found.base, found.language))
                if len(of_xml) < len(attributes):
                    raise RefusedXmlError(
                        f"{name.qualified_name} may have no attributes but those of xml"
                    )
            case _:
                self._open_node(tag, attributes, parent)

    def end(self) -> None:
        """Handle an end tag, and add the triple of the element. Raises: RefusedXmlError."""
        if self._literal is not None and self._literal.depth:
            self._literal.end()
            return
        frame = self._stack.pop()
        value: Term
        match frame.kind:
            case _ElementKind.PROPERTY if not frame.value:
                text = "".join(frame.text)
                value = (
                    Literal(text, frame.datatype)
                    if frame.datatype
                    else self._plain_literal(text, frame.language)
                )
            case _ElementKind.PROPERTY | _ElementKind.EMPTY:
                value = frame.value
            case _ElementKind.NODE if frame.predicate:
                value = frame.node
            case _ElementKind.COLLECTION:
                value = frame.value or NIL
                if frame.last:
                    self._triples.add(frame.last, REST, NIL, frame.line)
            case _ElementKind.LITERAL:
                assert self._literal is not None
                value, self._literal = Literal(self._literal.text, RDF + "XMLLiteral"), None
            case _:
                return
        self._triples.add(frame.subject, frame.predicate, value, frame.line)
        if frame.statement:
            self._triples.add(frame.statement, TYPE, RDF + "Statement", frame.line)
            parts: tuple[tuple[str, Term], ...] = (
                ("subject", frame.subject),
                ("predicate", frame.predicate),
                ("object", value),
            )
            for part, term in parts:
                self._triples.add(frame.statement, RDF + part, term, frame.line)

    def characters(self, text: str) -> None:
        """Handle text. Raises: RefusedXmlError."""
        if self._literal is not None:
            self._literal.characters(text)
            return
        frame = self._stack[-1]
        if frame.kind is _ElementKind.PROPERTY and not frame.value:
            frame.text.append(text)
        elif text.strip(_BLANKS):
            raise RefusedXmlError(
                f"text where {frame.kind.value} may have none: {text.strip(_BLANKS)[:60]!r}"
            )

    def comment(self, text: str) -> None:
        """Handle a comment, which only an XML literal keeps."""
        if self._literal is not None:
            self._literal.comment(text)

    def instruction(self, target: str, text: str) -> None:
        """Handle a processing instruction, which only an XML literal keeps."""
        if self._literal is not None:
            self._literal.instruction(target, text)

    # --- elements ---

    def _open_node(self, tag: str, attributes: Mapping[str, str], parent: _OpenElement) -> None:
        """Open a node element. Raises: RefusedXmlError."""
        if parent.kind is _ElementKind.PROPERTY:
            if parent.value:
                raise RefusedXmlError("two nodes in one property")
            if parent.datatype or "".join(parent.text).strip(_BLANKS):
                raise RefusedXmlError("a node and text, or a datatype, in one property")
        iri = self._nodes.get(tag) or self._nodes.setdefault(tag, node_element_iri(tag))
        found = self._sort_attributes(attributes, parent)
        line = self._line()
        names = found.syntax.keys() & {"ID", "about", "nodeID"}
        if len(names) > 1 or len(names) < len(found.syntax):
            raise RefusedXmlError(
                f"{_attribute_list(found.syntax)} on one node: it is named by one of rdf:ID, rdf:about and rdf:nodeID"
            )
        subject = self._reference(found) if names else self._fresh_blank_node()
        if iri != _DESCRIPTION:
            self._triples.add(subject, TYPE, self._check_iri(iri), line)
        self._property_attributes(subject, found, line)
        if parent.kind is _ElementKind.PROPERTY:
            parent.value = subject
        elif parent.kind is _ElementKind.COLLECTION:
            cell = self._fresh_blank_node()
            if parent.last:
                self._triples.add(parent.last, REST, cell, line)
            self._triples.add(cell, FIRST, subject, line)
            parent.value, parent.last = parent.value or cell, cell
        self._stack.append(_OpenElement(_ElementKind.NODE, found.base, found.language, subject))

    def _open_property(self, tag: str, attributes: Mapping[str, str], parent: _OpenElement) -> None:
        """Open a property element. Raises: RefusedXmlError."""
        iri = self._properties.get(tag) or self._properties.setdefault(tag, property_iri(tag))
        if iri == _LI:
            parent.members += 1
            iri = f"{RDF}_{parent.members}"
        frame = _OpenElement(
            _ElementKind.PROPERTY,
            parent.base,
            parent.language,
            "",
            parent.node,
            self._check_iri(iri),
            self._line(),
        )
        self._stack.append(frame)
        if not attributes:
            return
        found = self._sort_attributes(attributes, parent)
        frame.base, frame.language = found.base, found.language
        syntax = found.syntax
        if "about" in syntax:
            raise RefusedXmlError("rdf:about on a property: is rdf:resource meant?")
        told = [name for name in ("parseType", "resource", "nodeID", "datatype") if name in syntax]
        if len(told) > 1 or (found.properties and told and told[0] in ("parseType", "datatype")):
            others = ", ".join(name for name, _ in found.properties)
            raise RefusedXmlError(
                f"{_attribute_list(syntax)}{' and ' * bool(others)}{others} on one property: they exclude each other"
            )
        if "ID" in syntax:
            frame.statement = self._resolve_id(syntax["ID"], found.base)
        if "parseType" in syntax:
            self._apply_parse_type(syntax["parseType"], frame)
        elif "datatype" in syntax:
            frame.datatype = self._resolve_iri(syntax["datatype"], found.base)
            if frame.datatype in TAGGED:
                raise RefusedXmlError(
                    "rdf:datatype may not be rdf:langString: give the language by xml:lang"
                )
        elif told or found.properties:
            frame.kind = _ElementKind.EMPTY
            frame.value = self._reference(found) if told else self._fresh_blank_node()
            self._property_attributes(frame.value, found, frame.line)

    def _apply_parse_type(self, kind: str, frame: _OpenElement) -> None:
        """Apply rdf:parseType to an open element. Raises: RefusedXmlError."""
        if kind == "Resource":
            frame.kind, frame.node = _ElementKind.NODE, self._fresh_blank_node()
        elif kind == "Collection":
            frame.kind = _ElementKind.COLLECTION
        elif kind == "Triple":
            raise RefusedXmlError('rdf:parseType="Triple": RDF 1.2 is not supported')
        else:
            frame.kind, self._literal = _ElementKind.LITERAL, XmlLiteral()

    def _property_attributes(self, subject: str, found: _SortedAttributes, line: int) -> None:
        """Add the triples of an element's attributes that are properties."""
        for iri, text in found.properties:
            value = (
                self._resolve_iri(text, found.base)
                if iri == TYPE
                else self._plain_literal(text, found.language)
            )
            self._triples.add(subject, self._check_iri(iri), value, line)

    # --- attributes and terms ---

    def _sort_attributes(
        self, attributes: Mapping[str, str], parent: _OpenElement
    ) -> _SortedAttributes:
        """Sort attributes into syntax and properties. Raises: RefusedXmlError."""
        found = _SortedAttributes(parent.base, parent.language)
        for text, value in attributes.items():
            known = self._attribute_names.get(text)
            if known is None:
                known = self._attribute_names[text] = attribute_role(text)
            namespace, name = known
            if namespace == "rdf":
                if name in found.syntax:
                    raise RefusedXmlError(f"rdf:{name} twice on one element")
                found.syntax[name] = value
            elif namespace == "":
                found.properties.append((name, value))
            elif name == "lang":
                found.language = self._language(value)
            elif name == "base":
                found.base = self._resolve_iri(value, parent.base).partition("#")[0]
        return found

    def _language(self, tag: str) -> str:
        """Check a language tag, and return it in lower case. Raises: RefusedXmlError."""
        if tag not in self._languages:
            try:
                ox.Literal("", language=tag)
            except ValueError as error:
                raise RefusedXmlError(f"{tag!r} is no language tag: {error}") from error
            self._languages.add(tag)
        return tag.lower()

    def _plain_literal(self, text: str, language: str) -> Literal:
        """Make a literal with or without language."""
        return (
            Literal(text, RDF + "langString", language)
            if language
            else Literal(text, XSD + "string")
        )

    def _reference(self, found: _SortedAttributes) -> str:
        """Return the resource that rdf:ID, rdf:about, rdf:resource or rdf:nodeID names."""
        syntax = found.syntax
        if "nodeID" in syntax:
            return self._blank_node(syntax["nodeID"])
        reference = syntax.get("about", syntax.get("resource"))
        return (
            self._resolve_id(syntax["ID"], found.base)
            if reference is None
            else self._resolve_iri(reference, found.base)
        )

    def _resolve_id(self, name: str, base: str) -> str:
        """Resolve an rdf:ID. Raises: RefusedXmlError for an illegal or repeated one."""
        if not is_ncname(name):
            raise RefusedXmlError(f"rdf:ID={name!r} is no name of XML without a colon")
        iri = self._resolve_iri("#" + name, base)
        if iri in self._taken:
            raise RefusedXmlError(
                f"rdf:ID={name!r} is there twice: of one base it stands for one element"
            )
        self._taken.add(iri)
        return iri

    def _blank_node(self, name: str) -> str:
        """The blank node of an rdf:nodeID. Raises: RefusedXmlError."""
        if not is_ncname(name):
            raise RefusedXmlError(f"rdf:nodeID={name!r} is no name of XML without a colon")
        if not name.endswith("."):
            return self._label(name)
        return self._labels.get(name) or self._labels.setdefault(
            name, self._fresh_blank_node()
        )  # no label of N-Triples

    def _fresh_blank_node(self) -> str:
        """Make a fresh blank node."""
        self._made += 1
        return self._label(f"{self._made:032x}")

    def _resolve_iri(self, reference: str, base: str) -> str:
        """Resolve a reference to an absolute IRI. Raises: RefusedXmlError."""
        known = self._triples.ids.get(reference)
        if known is not None and not reference.startswith("_:"):
            return reference
        try:
            return self._check_iri(resolve_reference(base, reference))
        except ValueError as error:
            raise RefusedXmlError(f"{reference!r} is no IRI: {error}") from error

    def _check_iri(self, iri: str) -> str:
        """Check an IRI and return it. Raises: ValueError."""
        if iri not in self._triples.ids:
            ox.NamedNode(iri)
        return iri


def _attribute_list(syntax: Mapping[str, str]) -> str:
    """List the names of attributes for messages."""
    return ", ".join(f"rdf:{name}" for name in syntax)
