"""The names of elements and attributes in RDF/XML, sorted as its grammar has them.

Source: RDF 1.1 XML Syntax, sections 6.1.2, 6.1.4 and 7.2.2 to 7.2.7.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyoxigraph as ox

from shiq.model import RDF

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
    """What the grammar of RDF/XML does not have."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name of XML: ``iri`` is what it stands for in RDF."""

    namespace: str
    local: str
    prefix: str

    @property
    def iri(self) -> str:
        return self.namespace + self.local

    @property
    def qualified(self) -> str:
        return f"{self.prefix}:{self.local}" if self.prefix else self.local


def name_of(text: str) -> Name:
    """The name that expat hands on as ``text``."""
    parts = text.split(SEPARATOR)
    return (
        Name("", text, "")
        if len(parts) == 1
        else Name(parts[0], parts[1], parts[2] if len(parts) > 2 else "")
    )


def is_ncname(text: str) -> bool:
    return _NCNAME.fullmatch(text) is not None


def node_type(text: str) -> str:
    """The IRI of a node element. Raises: RefusedXmlError."""
    name = name_of(text)
    if name.namespace == RDF and name.local in _SYNTAX | _REMOVED | {"li"}:
        raise RefusedXmlError(f"rdf:{name.local} is no name of a node")
    return _iri(name, "element")


def property_of(text: str) -> str:
    """The IRI of a property element, rdf:li as it stands. Raises: RefusedXmlError."""
    name = name_of(text)
    if name.namespace == RDF and name.local in _SYNTAX | _REMOVED | {"Description"}:
        raise RefusedXmlError(f"rdf:{name.local} is no name of a property")
    return _iri(name, "element")


def attribute_of(text: str) -> tuple[str, str]:
    """("xml", local name) and ("rdf", local name) for what belongs to the syntax, else ("",
    IRI). Raises: RefusedXmlError.
    """
    name = name_of(text)
    if name.namespace == XML:
        return "xml", name.local
    if name.qualified.lower().startswith("xml"):
        raise RefusedXmlError(
            f"the attribute {name.qualified} says nothing: names that begin with xml are reserved"
        )
    if not name.namespace:
        if name.local not in _UNQUALIFIED:
            raise RefusedXmlError(f"the attribute {name.local} has no namespace")
        name = Name(RDF, name.local, "")
    if name.namespace == RDF:
        if name.local in _SYNTAX - {"RDF"}:
            return "rdf", name.local
        if name.local in _REMOVED:
            raise RefusedXmlError(f"rdf:{name.local} is no part of RDF any more")
        if name.local in _RDF_1_2:
            raise RefusedXmlError(f"rdf:{name.local}: RDF 1.2 is not supported")
        if name.local in ("RDF", "Description", "li"):
            raise RefusedXmlError(f"rdf:{name.local} is no attribute")
    return "", _iri(name, "attribute")


def _iri(name: Name, what: str) -> str:
    if not name.namespace:
        raise RefusedXmlError(f"the {what} {name.local} has no namespace")
    try:
        ox.NamedNode(name.iri)
    except ValueError as error:
        raise RefusedXmlError(f"the {what} {name.qualified} stands for no IRI: {error}") from error
    return name.iri
