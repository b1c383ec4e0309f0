"""The names and literals of OWL/XML: prefixes as declared, references resolved against xml:base,
and open elements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from shiq.functional.arguments import RefusedConstruct
from shiq.functional.document import short_text
from shiq.functional.prefixes import Prefixes
from shiq.functional.tokens import IRI, LANGUAGE
from shiq.model import RDF, XSD, Literal
from shiq.rdf.iris import resolve

BLANKS = " \t\r\n"
_TAGGED = (RDF + "PlainLiteral", RDF + "langString")
_IRI = re.compile(IRI)
_LANGUAGE = re.compile(LANGUAGE)


@dataclass(slots=True)
class XmlElement:
    """An open element: ``values`` are its attributes, ``arguments`` what stood in it,
    ``language`` the xml:lang around it.
    """

    name: str
    base: str
    language: str
    values: dict[str, str] = field(default_factory=dict)
    arguments: list[object] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


class XmlNames:
    """The IRIs and literals of a document. ``by_owl_api``: whether the OWL API wrote it."""

    def __init__(self, by_owl_api: bool) -> None:
        self._prefixes, self._by_owl_api = Prefixes(), by_owl_api

    def declare(self, frame: XmlElement) -> None:
        """Take a prefix in. Raises: RefusedConstruct."""
        self._prefixes.declare(
            required(frame, "name") + ":", self.iri(required(frame, "IRI"), frame.base)
        )

    def entity(self, frame: XmlElement) -> str:
        match frame.values:
            case {"IRI": _, "abbreviatedIRI": _}:
                raise RefusedConstruct(f"<{frame.name}> has both an IRI and an abbreviatedIRI")
            case {"IRI": iri}:
                return self.iri(iri, frame.base)
            case {"abbreviatedIRI": name}:
                return self.expand(name)
        raise RefusedConstruct(f"<{frame.name}> has neither IRI nor abbreviatedIRI")

    def iri(self, reference: str, base: str) -> str:
        """The absolute IRI that ``reference`` is, relative to ``base``. Raises: RefusedConstruct.

        The OWL API cuts the base off an IRI that begins with it, and reads what is left behind
        the base. XML Base resolves it: ``/A`` is ``http://e.org/A`` for the base
        ``http://e.org/o``, not ``http://e.org/o/A``. The writer's way counts.
        """
        text = reference.strip(BLANKS)
        try:
            iri = resolve(base, text)
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
        """The IRI that is abbreviated as ``name``. Raises: RefusedConstruct."""
        prefix, colon, local = name.strip(BLANKS).partition(":")
        if not colon:
            raise RefusedConstruct(f"{short_text(name)!r} is no abbreviated IRI: it has no colon")
        return self.iri(self._prefixes.namespace(prefix) + local, "")

    def literal(self, text: str, frame: XmlElement) -> Literal:
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


def required(frame: XmlElement, attribute: str) -> str:
    """The attribute of an element. Raises: RefusedConstruct where it has none."""
    value = frame.values.get(attribute)
    if value is None:
        raise RefusedConstruct(f"<{frame.name}> has no attribute {attribute}")
    return value.strip(BLANKS)
