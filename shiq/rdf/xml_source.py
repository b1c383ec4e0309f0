"""The bytes of an XML document in UTF-8, and the declarations that it may have: no entity may
fetch or grow.
"""

from __future__ import annotations

import re
from contextlib import suppress
from xml.parsers import expat

from shiq.errors import InputError
from shiq.sources import FileSource

#: Namespace abbreviations are far below; what is larger could be made to grow.
LONGEST_ENTITY = 512
MOST_ENTITIES = 1000
_REFERENCE = re.compile(r"&|%[A-Za-z_:]")
_DECLARATION = re.compile(rb"\s*<\?xml\b[^>]*\?>")
_MARK = b"\xef\xbb\xbf"
_FEED_BYTES = 1 << 16


class Declarations:
    """Refuse the declarations of a document that could fetch or grow, while ``parser`` reads the
    document ``name``.
    """

    def __init__(self, parser: expat.XMLParserType, name: str) -> None:
        self._name, self._entities, self._refers_outside = name, 0, False
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.NotStandaloneHandler = self._not_standalone

    def check(self) -> None:
        """Raises: InputError, at the root, for a document that needs declarations from outside."""
        if self._refers_outside:
            raise InputError(
                f"{self._name} takes declarations from outside by its DOCTYPE, and nothing is fetched",
                "Declare what it needs in the document itself: an entity that is not known would be passed over.",
            )

    def _doctype(self, root: str, system: str | None, public: str | None, internal: int) -> None:
        if system is not None or public is not None:
            raise InputError(
                f"{self._name} refers to an external document type ({system or public}), and nothing is fetched",
                "Remove the SYSTEM or PUBLIC identifier from its DOCTYPE.",
            )

    def _entity(
        self,
        key: str,
        parameter: int,
        value: str | None,
        base: str | None,
        system: str | None,
        public: str | None,
        notation: str | None,
    ) -> None:
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

    def _not_standalone(self) -> int:
        self._refers_outside = True  # said where its DOCTYPE has been read
        return 1


def root_of(head: bytes) -> tuple[str, list[str]]:
    """The root element of a document that begins with ``head``, and its attributes, each as
    namespace and name in one; "" where there is none.
    """
    found: list[tuple[str, list[str]]] = []
    parser = expat.ParserCreate(namespace_separator="")
    Declarations(parser, "")
    parser.StartElementHandler = lambda tag, attributes: (
        None if found else found.append((tag, list(attributes)))
    )
    with suppress(
        expat.ExpatError, InputError, LookupError, ValueError
    ):  # said by whoever reads it
        parser.Parse(head, False)
    return found[0] if found else ("", [])


def line_from(data: bytes, at: int) -> str:
    """All from the line around byte ``at`` on: none of it is read."""
    return data[data.rfind(b"\n", 0, at) + 1 :].decode("utf-8", "backslashreplace")


def utf8_of(source: FileSource) -> bytes:
    """The document in UTF-8. Raises: InputError."""
    data = source.read()
    encodings: list[str | None] = []
    parser = expat.ParserCreate()
    parser.XmlDeclHandler = lambda version, encoding, standalone: encodings.append(encoding)
    with suppress(expat.ExpatError, LookupError, ValueError):  # said later, with its place
        parser.Parse(data[:_FEED_BYTES], False)
    encoding = (encodings[0] if encodings and encodings[0] else "utf-8").lower()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif data.startswith(_MARK):
        data, encoding = data.removeprefix(_MARK), "ascii"  # it is UTF-8, whatever it declares
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
