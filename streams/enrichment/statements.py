"""Statements of an event as tokens of N-Triples, and what T makes of their predicates.

Most events are a few lines that say one thing each: class, link or value of something. These are
split and looked up, no more; whatever else a line may be is `OddError`, and left to the reader
of RDF.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final

from shiq import model as owl
from shiq.model.built_in import TOP
from shiq.model.ntriples import literal as literal_text
from shiq.model.signature import is_reserved
from shiq.rml.model import TYPE, Statement, is_resource
from shiq.streams.enrichment.knowledge import StaticKnowledge
from shiq.streams.enrichment.regions import Regions

SAME, DIFFERENT = f"<{owl.OWL}sameAs>", f"<{owl.OWL}differentFrom>"
_ANNOTATIONS: Final = frozenset(
    f"<{owl.RDFS}{name}>" for name in ("label", "comment", "seeAlso", "isDefinedBy")
)
#: Types that say nothing, and that say all.
_SILENT, _FALSE = frozenset((f"<{owl.OWL}Thing>",)), f"<{owl.OWL}Nothing>"

_LITERAL = re.compile(
    r'"([^"\\\n\r]*)"(?:\^\^<([A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*)>|@([A-Za-z]+(?:-[A-Za-z0-9]+)*))?'
)


class OddError(Exception):
    """Not of the plain kind."""


class Kind(IntEnum):
    """What T makes of a predicate; `DROPPED`: nothing, whatever its objects are."""

    TYPE = 0
    ROLE = 1
    DATA = 2
    COUNTED = 3
    EQUALITY = 4
    DROPPED = 5
    ANNOTATION = 6


class Vocabulary:
    """The predicates and terms of events, as T sees them. ``is_exact``: T sees every predicate,
    and counts all values.
    """

    def __init__(
        self, knowledge: StaticKnowledge, regions: Regions, *, is_exact: bool = False
    ) -> None:
        self._signature, self._seen, self._regions = (
            knowledge.tbox.signature,
            knowledge.seen,
            regions,
        )
        self._is_exact = is_exact
        self._sees_all = is_exact or not TOP.isdisjoint(self._seen)

    def kind(self, predicate: str) -> Kind:
        """Raises: OddError for a predicate that is for the reader."""
        if predicate == TYPE:
            return Kind.TYPE
        if predicate in (SAME, DIFFERENT):
            return Kind.EQUALITY
        if predicate in _ANNOTATIONS:
            return Kind.ANNOTATION
        if not is_resource(predicate) or predicate.startswith("_"):
            raise OddError
        iri, signature = predicate[1:-1], self._signature
        if is_reserved(iri):
            raise OddError
        if iri in signature.data_properties:
            return self._kind_of_data(iri)
        if iri in signature.object_properties:
            return Kind.ROLE if self._sees_all or iri in self._seen else Kind.DROPPED
        if iri in signature.annotation_properties:
            return Kind.ANNOTATION
        return Kind.ROLE if self._is_exact else Kind.DROPPED

    def _kind_of_data(self, iri: str) -> Kind:
        if self._is_exact or self._regions.counts(iri):
            return Kind.COUNTED
        return Kind.DATA if self._sees_all or iri in self._seen else Kind.DROPPED

    def is_data(self, predicate: str) -> bool | None:
        """Whether its values are literals, and are no literals; None if T does not say."""
        iri = predicate[1:-1]
        if iri in self._signature.data_properties:
            return True
        return False if iri in self._signature.object_properties else None


def literal_of(token: str) -> owl.Literal:
    """Raises: OddError."""
    match = _LITERAL.fullmatch(token)
    if match is None:
        raise OddError
    text, datatype, tag = match.groups()
    if tag is not None:
        return owl.Literal(text, owl.RDF + "langString", tag.lower())
    if datatype == owl.RDF + "langString":
        raise OddError
    return owl.Literal(text, datatype or owl.XSD + "string")


def class_atom(token: str) -> str:
    """A class as the key has it; "" for one that says nothing. Raises: OddError."""
    if token in _SILENT:
        return ""
    if token != _FALSE and (token[:1] != "<" or not is_resource(token) or is_reserved(token[1:-1])):
        raise OddError
    return token


def split(lines: Iterable[str]) -> list[Statement]:
    """The statements of plain lines. Raises: OddError for what is none at first sight."""
    found = []
    for line in lines:
        try:
            subject, predicate, object = line.split(" ", 2)
        except ValueError:
            raise OddError from None
        if object[-2:] != " .":
            raise OddError
        found.append((subject, predicate, object[:-2]))
    return found


def assertions_of(statements: Sequence[Statement], vocabulary: Vocabulary) -> list[owl.Assertion]:
    """The assertions that plain statements are."""
    found: list[owl.Assertion] = []
    for subject, predicate, object in statements:
        kind, one = vocabulary.kind(predicate), individual(subject)
        if kind is Kind.TYPE:
            found.append(owl.ClassAssertion(owl.Class(object[1:-1]), one))
        elif kind is Kind.EQUALITY:
            pair = owl.SameIndividual if predicate == SAME else owl.DifferentIndividuals
            found.append(pair(one, individual(object)))
        elif kind is not Kind.ANNOTATION:
            name = predicate[1:-1]
            if object[:1] == '"':
                found.append(
                    owl.DataPropertyAssertion(owl.DataProperty(name), one, literal_of(object))
                )
            else:
                found.append(
                    owl.ObjectPropertyAssertion(owl.ObjectProperty(name), one, individual(object))
                )
    return found


def individual(token: str) -> str:
    """Whom a token names."""
    return token[1:-1] if token[:1] == "<" else token


def token(individual: str) -> str:
    """The token that names ``individual``."""
    return individual if individual.startswith("_:") else f"<{individual}>"


def plain_statement(assertion: owl.Assertion) -> Statement | None:
    """A positive assertion on names as tokens; None for others."""
    match assertion:
        case owl.ClassAssertion(owl.Class(iri), one):
            return token(one), TYPE, f"<{iri}>"
        case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), one, other):
            return token(one), f"<{iri}>", token(other)
        case owl.DataPropertyAssertion(owl.DataProperty(iri), one, value):
            return token(one), f"<{iri}>", literal_text(value)
        case owl.SameIndividual(one, other):
            return token(one), SAME, token(other)
        case owl.DifferentIndividuals(one, other):
            return token(one), DIFFERENT, token(other)
    return None
