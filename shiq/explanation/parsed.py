"""The texts of a conflict as values again: axioms in functional syntax, assertions as N-Triples
lines.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from shiq import model as owl
from shiq.errors import ShiqError
from shiq.functional import parse_functional

TYPE, SAME, DIFFERENT = f"<{owl.RDF}type>", f"<{owl.OWL}sameAs>", f"<{owl.OWL}differentFrom>"

_LINE = re.compile(
    r'\s*(<[^>]*>|_:\S+)\s+(<[^>]*>)\s+(<[^>]*>|_:\S+|".*"(?:@[\w-]+|\^\^<[^>]*>)?)\s*\.\s*\Z',
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


class TripleLine(NamedTuple):
    """A triple as its N-Triples terms."""

    subject: str
    predicate: str
    object: str


def line_of(text: str) -> TripleLine | None:
    """The terms of an N-Triples line; None for what is none."""
    match = _LINE.match(text)
    return TripleLine(match[1], match[2], match[3]) if match else None


def term_of(text: str) -> str:
    """The IRI in ``<IRI>``; a blank node as it stands."""
    return _unescaped(text[1:-1]) if text.startswith("<") else text


def literal_of(text: str) -> owl.Literal:
    """The literal that an N-Triples term stands for."""
    end = text.rindex('"')
    lexical, suffix = _unescaped(text[1:end]), text[end + 1 :]
    if suffix.startswith("@"):
        return owl.Literal(lexical, owl.RDF + "langString", suffix[1:].lower())
    return owl.Literal(lexical, suffix[3:-1] if suffix else owl.XSD + "string")


def assertion_of(line: TripleLine) -> owl.Assertion:
    """What a triple by itself says; one of a class expression says nothing that makes sense alone."""
    subject = term_of(line.subject)
    if line.object.startswith('"'):
        return owl.DataPropertyAssertion(
            owl.DataProperty(term_of(line.predicate)), subject, literal_of(line.object)
        )
    value = term_of(line.object)
    if line.predicate == TYPE:
        return owl.ClassAssertion(owl.Class(value), subject)
    if line.predicate == SAME:
        return owl.SameIndividual(subject, value)
    if line.predicate == DIFFERENT:
        return owl.DifferentIndividuals(subject, value)
    return owl.ObjectPropertyAssertion(owl.ObjectProperty(term_of(line.predicate)), subject, value)


@lru_cache(maxsize=65536)
def axiom_of(text: str) -> owl.Axiom | owl.Assertion | None:
    """The axiom, or assertion, that ``text`` in functional syntax says; None if it cannot be read."""
    try:
        reading = parse_functional(f"Ontology({text})", "axiom", "", verbatim=True)
    except ShiqError:
        return None
    found: list[owl.Axiom | owl.Assertion] = [*reading.tbox.axioms, *reading.abox]
    return found[0] if len(found) == 1 else None


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "uU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _SHORT.get(code, code)
