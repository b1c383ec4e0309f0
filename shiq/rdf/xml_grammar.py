"""RDF/XML as a grammar over the events of an XML parser.

Each element that is open is a frame; what an element may be, and what may stand in it, follows
from the frame around it. A triple is made where the element that says it ends, so that an error
inside it leaves nothing half said.

Source: RDF 1.1 XML Syntax, section 7.2. What that grammar does not have is refused, never passed
over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import pyoxigraph as ox

from shiq.model import RDF, XSD, Literal
from shiq.rdf.iris import resolve
from shiq.rdf.triples import Labels, Term, Triples
from shiq.rdf.vocabulary import FIRST, NIL, REST, TYPE
from shiq.rdf.xml_literal import XmlLiteral
from shiq.rdf.xml_names import (
    XML,
    RefusedXmlError,
    attribute_of,
    is_ncname,
    name_of,
    node_type,
    property_of,
)

_BLANKS = " \t\r\n"
_DESCRIPTION = RDF + "Description"
_LI = RDF + "li"
_TAGGED = {RDF + "langString", RDF + "dirLangString"}


class _Kind(Enum):
    """What an open element is, and so what may stand in it."""

    DOCUMENT = "a document"  # rdf:RDF or one node
    NODES = "rdf:RDF"  # nodes
    NODE = "a node"  # properties
    PROPERTY = "a property"  # a node or text
    COLLECTION = "a collection"  # nodes
    EMPTY = "a property whose value is told by attributes"  # nothing
    LITERAL = "an XML literal"  # anything


@dataclass(slots=True)
class _Frame:
    """``node``: what properties in it are said of. Of a property, ``subject``, ``predicate`` and
    ``value`` (a resource, once it is known) are its triple, and ``statement`` the node that
    stands for it, "" for none; ``last``: a collection's last cell.
    """

    kind: _Kind
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
class _Attributes:
    """The attributes of an element: ``syntax`` by local name of rdf:, ``properties`` in the
    order written.
    """

    base: str
    language: str
    syntax: dict[str, str] = field(default_factory=dict)
    properties: list[tuple[str, str]] = field(default_factory=list)


class Grammar:
    """Takes the events of one document and adds its triples. Every method raises RefusedXmlError
    for what is no RDF/XML, after which `leave` goes on behind the element at the top.
    """

    def __init__(self, triples: Triples, label: Labels, base: str, line: Callable[[], int]) -> None:
        self._triples, self._label, self._line = triples, label, line
        self._stack = [_Frame(_Kind.DOCUMENT, base.partition("#")[0])]
        self._literal: XmlLiteral | None = None
        self._made = 0
        self._taken: set[str] = set()
        self._attribute_names: dict[str, tuple[str, str]] = {}
        self._nodes: dict[str, str] = {}
        self._properties: dict[str, str] = {}
        self._languages: set[str] = {""}
        self._labels: dict[str, str] = {}

    def leave(self) -> None:
        """Gives up the elements that are open, but for rdf:RDF."""
        del self._stack[self.top :]
        self._literal = None

    @property
    def top(self) -> int:
        """How many frames hold the elements at the top of the document."""
        return 2 if len(self._stack) > 1 and self._stack[1].kind is _Kind.NODES else 1

    # --- events ---

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._literal is not None:
            self._literal.start(tag, attributes)
            return
        parent = self._stack[-1]
        match parent.kind:
            case _Kind.NODE:
                self._property(tag, attributes, parent)
            case _Kind.EMPTY:
                raise RefusedXmlError(
                    "an element inside a property whose value its attributes tell already"
                )
            case _Kind.DOCUMENT if (name := name_of(tag)).iri == RDF + "RDF":
                of_xml = {
                    text: value
                    for text, value in attributes.items()
                    if name_of(text).namespace == XML
                }
                found = self._sorted(of_xml, parent)
                self._stack.append(_Frame(_Kind.NODES, found.base, found.language))
                if len(of_xml) < len(attributes):
                    raise RefusedXmlError(
                        f"{name.qualified} may have no attributes but those of xml"
                    )
            case _:
                self._node(tag, attributes, parent)

    def end(self) -> None:
        if self._literal is not None and self._literal.depth:
            self._literal.end()
            return
        frame = self._stack.pop()
        value: Term
        match frame.kind:
            case _Kind.PROPERTY if not frame.value:
                text = "".join(frame.text)
                value = (
                    Literal(text, frame.datatype)
                    if frame.datatype
                    else self._plain(text, frame.language)
                )
            case _Kind.PROPERTY | _Kind.EMPTY:
                value = frame.value
            case _Kind.NODE if frame.predicate:
                value = frame.node
            case _Kind.COLLECTION:
                value = frame.value or NIL
                if frame.last:
                    self._triples.add(frame.last, REST, NIL, frame.line)
            case _Kind.LITERAL:
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
        if self._literal is not None:
            self._literal.characters(text)
            return
        frame = self._stack[-1]
        if frame.kind is _Kind.PROPERTY and not frame.value:
            frame.text.append(text)
        elif text.strip(_BLANKS):
            raise RefusedXmlError(
                f"text where {frame.kind.value} may have none: {text.strip(_BLANKS)[:60]!r}"
            )

    def comment(self, text: str) -> None:
        if self._literal is not None:
            self._literal.comment(text)

    def instruction(self, target: str, text: str) -> None:
        if self._literal is not None:
            self._literal.instruction(target, text)

    # --- elements ---

    def _node(self, tag: str, attributes: Mapping[str, str], parent: _Frame) -> None:
        if parent.kind is _Kind.PROPERTY:
            if parent.value:
                raise RefusedXmlError("two nodes in one property")
            if parent.datatype or "".join(parent.text).strip(_BLANKS):
                raise RefusedXmlError("a node and text, or a datatype, in one property")
        iri = self._nodes.get(tag) or self._nodes.setdefault(tag, node_type(tag))
        found = self._sorted(attributes, parent)
        line = self._line()
        names = found.syntax.keys() & {"ID", "about", "nodeID"}
        if len(names) > 1 or len(names) < len(found.syntax):
            raise RefusedXmlError(
                f"{_listed(found.syntax)} on one node: it is named by one of rdf:ID, rdf:about and rdf:nodeID"
            )
        subject = self._reference(found) if names else self._fresh()
        if iri != _DESCRIPTION:
            self._triples.add(subject, TYPE, self._known(iri), line)
        self._described(subject, found, line)
        if parent.kind is _Kind.PROPERTY:
            parent.value = subject
        elif parent.kind is _Kind.COLLECTION:
            cell = self._fresh()
            if parent.last:
                self._triples.add(parent.last, REST, cell, line)
            self._triples.add(cell, FIRST, subject, line)
            parent.value, parent.last = parent.value or cell, cell
        self._stack.append(_Frame(_Kind.NODE, found.base, found.language, subject))

    def _property(self, tag: str, attributes: Mapping[str, str], parent: _Frame) -> None:
        iri = self._properties.get(tag) or self._properties.setdefault(tag, property_of(tag))
        if iri == _LI:
            parent.members += 1
            iri = f"{RDF}_{parent.members}"
        frame = _Frame(
            _Kind.PROPERTY,
            parent.base,
            parent.language,
            "",
            parent.node,
            self._known(iri),
            self._line(),
        )
        self._stack.append(frame)
        if not attributes:
            return
        found = self._sorted(attributes, parent)
        frame.base, frame.language = found.base, found.language
        syntax = found.syntax
        if "about" in syntax:
            raise RefusedXmlError("rdf:about on a property: is rdf:resource meant?")
        told = [name for name in ("parseType", "resource", "nodeID", "datatype") if name in syntax]
        if len(told) > 1 or (found.properties and told and told[0] in ("parseType", "datatype")):
            others = ", ".join(name for name, _ in found.properties)
            raise RefusedXmlError(
                f"{_listed(syntax)}{' and ' * bool(others)}{others} on one property: they exclude each other"
            )
        if "ID" in syntax:
            frame.statement = self._identified(syntax["ID"], found.base)
        if "parseType" in syntax:
            self._parsed(syntax["parseType"], frame)
        elif "datatype" in syntax:
            frame.datatype = self._resolved(syntax["datatype"], found.base)
            if frame.datatype in _TAGGED:
                raise RefusedXmlError(
                    "rdf:datatype may not be rdf:langString: give the language by xml:lang"
                )
        elif told or found.properties:
            frame.kind = _Kind.EMPTY
            frame.value = self._reference(found) if told else self._fresh()
            self._described(frame.value, found, frame.line)

    def _parsed(self, kind: str, frame: _Frame) -> None:
        if kind == "Resource":
            frame.kind, frame.node = _Kind.NODE, self._fresh()
        elif kind == "Collection":
            frame.kind = _Kind.COLLECTION
        elif kind == "Triple":
            raise RefusedXmlError('rdf:parseType="Triple": RDF 1.2 is not supported')
        else:
            frame.kind, self._literal = _Kind.LITERAL, XmlLiteral()

    def _described(self, subject: str, found: _Attributes, line: int) -> None:
        """The property attributes of an element."""
        for iri, text in found.properties:
            value = (
                self._resolved(text, found.base)
                if iri == TYPE
                else self._plain(text, found.language)
            )
            self._triples.add(subject, self._known(iri), value, line)

    # --- attributes and terms ---

    def _sorted(self, attributes: Mapping[str, str], parent: _Frame) -> _Attributes:
        found = _Attributes(parent.base, parent.language)
        for text, value in attributes.items():
            known = self._attribute_names.get(text)
            if known is None:
                known = self._attribute_names[text] = attribute_of(text)
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
                found.base = self._resolved(value, parent.base).partition("#")[0]
        return found

    def _language(self, tag: str) -> str:
        if tag not in self._languages:
            try:
                ox.Literal("", language=tag)
            except ValueError as error:
                raise RefusedXmlError(f"{tag!r} is no language tag: {error}") from error
            self._languages.add(tag)
        return tag.lower()

    def _plain(self, text: str, language: str) -> Literal:
        return (
            Literal(text, RDF + "langString", language)
            if language
            else Literal(text, XSD + "string")
        )

    def _reference(self, found: _Attributes) -> str:
        """What the one of rdf:ID, rdf:about, rdf:resource and rdf:nodeID means that is there."""
        syntax = found.syntax
        if "nodeID" in syntax:
            return self._named(syntax["nodeID"])
        reference = syntax.get("about", syntax.get("resource"))
        return (
            self._identified(syntax["ID"], found.base)
            if reference is None
            else self._resolved(reference, found.base)
        )

    def _identified(self, name: str, base: str) -> str:
        if not is_ncname(name):
            raise RefusedXmlError(f"rdf:ID={name!r} is no name of XML without a colon")
        iri = self._resolved("#" + name, base)
        if iri in self._taken:
            raise RefusedXmlError(
                f"rdf:ID={name!r} is there twice: of one base it stands for one element"
            )
        self._taken.add(iri)
        return iri

    def _named(self, name: str) -> str:
        if not is_ncname(name):
            raise RefusedXmlError(f"rdf:nodeID={name!r} is no name of XML without a colon")
        if not name.endswith("."):
            return self._label(name)
        return self._labels.get(name) or self._labels.setdefault(
            name, self._fresh()
        )  # no label of N-Triples

    def _fresh(self) -> str:
        self._made += 1
        return self._label(f"{self._made:032x}")

    def _resolved(self, reference: str, base: str) -> str:
        known = self._triples.ids.get(reference)
        if known is not None and not reference.startswith("_:"):
            return reference
        try:
            return self._known(resolve(base, reference))
        except ValueError as error:
            raise RefusedXmlError(f"{reference!r} is no IRI: {error}") from error

    def _known(self, iri: str) -> str:
        """``iri``. Raises: ValueError where it is none."""
        if iri not in self._triples.ids:
            ox.NamedNode(iri)
        return iri


def _listed(syntax: Mapping[str, str]) -> str:
    return ", ".join(f"rdf:{name}" for name in syntax)
