"""Events as they are given, read, and what T makes of their predicates and values.

Most events are a few lines that say one thing each: class, link or value of something. These are
split into tokens of N-Triples and looked up, no more; whatever else a line may be is `OddError`,
and left to the reader of RDF.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from shiq import model as owl
from shiq.answers.verdict import is_blocking
from shiq.datatypes import DataTheory
from shiq.datatypes.ranges import Formula, holds
from shiq.datatypes.values import DataValue, IllTyped
from shiq.errors import InputError, UsageError
from shiq.functional.writer import axiom_text
from shiq.model.abox import ABox
from shiq.model.built_in import TOP
from shiq.model.ntriples import assertion_lines
from shiq.model.ntriples import literal as literal_text
from shiq.model.roles import RoleBox, role_box
from shiq.model.walk import is_reserved, parts
from shiq.rdf import read_assertions
from shiq.rml.model import TYPE, Statement, is_resource
from shiq.streams.enrichment.knowledge import StaticKnowledge, way_out

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


@dataclass(frozen=True, eq=False)
class Regions:
    """``ranges``: those of T and of class expressions in B, in an order of their own;
    ``counting``: the data properties that count values, all where ``counts_all``; ``named``: the
    values that keep their names there.
    """

    theory: DataTheory
    ranges: tuple[owl.DataRange, ...]
    counting: frozenset[str]
    named: frozenset[DataValue]
    counts_all: bool = False

    @classmethod
    def of(cls, axioms: Iterable[owl.Axiom], static: Iterable[owl.Assertion]) -> Regions:
        axioms, static = tuple(axioms), tuple(static)
        roles = role_box(axioms)
        definitions = {
            a.datatype.iri: a.range for a in axioms if isinstance(a, owl.DatatypeDefinition)
        }
        theory = DataTheory(definitions, roles)
        expressions = [
            a
            for a in static
            if isinstance(a, owl.ClassAssertion) and not isinstance(a.expression, owl.Class)
        ]
        ranges = dict.fromkeys(r for value in (*axioms, *expressions) for r in _ranges(value))
        counting = _counting((*axioms, *expressions), static, roles)
        counts_all = not counting.isdisjoint(TOP)
        literals = {
            part
            for value in (*axioms, *expressions)
            for part in parts(value)
            if isinstance(part, owl.Literal)
        }
        literals |= {
            a.literal
            for a in static
            if isinstance(a, _DATA_ASSERTIONS) and (counts_all or a.property.iri in counting)
        }
        values = {theory.value(literal) for literal in literals}
        named = frozenset(value for value in values if isinstance(value, DataValue))
        return cls(theory, tuple(sorted(ranges, key=axiom_text)), counting, named, counts_all)

    def region(self, literal: owl.Literal) -> str:
        """In which of ``ranges`` it lies, as text; the literal itself where that is not decided."""
        value = self.identity(literal)
        row = [holds(formula, value) for formula in self._formulas]
        return (
            literal_text(literal) if None in row else "".join("01"[bool(inside)] for inside in row)
        )

    @cached_property
    def _formulas(self) -> list[Formula]:
        return [self.theory.formula(range) for range in self.ranges]

    def is_value(self, literal: owl.Literal) -> bool:
        """Whether it denotes anything."""
        plain = _SURE.get(literal.datatype)
        if plain is not None and plain.fullmatch(literal.lexical):
            return True
        return not isinstance(self.theory.value(literal), IllTyped)

    def counts(self, property: str) -> bool:
        """Whether T can tell how many values of it something has."""
        return self.counts_all or property in self.counting

    def identity(self, literal: owl.Literal) -> DataValue:
        """What it denotes. Opaque values are one only where the literals are."""
        value = self.theory.value(literal)
        assert isinstance(value, DataValue)
        return value

    def name_of(self, literal: owl.Literal) -> str:
        """Its value, where that keeps its name; else ""."""
        value = self.identity(literal)
        return f"{value.space} {value.key!r}" if value in self.named or value.is_opaque else ""


#: Forms that are certain to denote a value: those of most readings.
_SURE = {
    owl.XSD + "string": re.compile(".*"),
    owl.XSD + "integer": re.compile("-?[0-9]{1,18}"),
    owl.XSD + "int": re.compile("-?[0-9]{1,9}"),
    owl.XSD + "decimal": re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?"),
    owl.XSD + "dateTime": re.compile(
        "[12][0-9]{3}-(0[1-9]|1[0-2])-([01][1-9]|10|2[0-8])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}Z?"
    ),
}

_DATA_ASSERTIONS = (owl.DataPropertyAssertion, owl.NegativeDataPropertyAssertion)


def _ranges(value: object) -> Iterator[owl.DataRange]:
    """The data ranges that restrictions and axioms in ``value`` speak of; a value is a range of
    one.
    """
    for part in parts(value):
        match part:
            case (
                owl.DataSomeValuesFrom(_, found)
                | owl.DataAllValuesFrom(_, found)
                | owl.DataPropertyRange(_, found)
            ):
                yield found
            case (
                owl.DataMinCardinality(_, _, found)
                | owl.DataMaxCardinality(_, _, found)
                | owl.DataExactCardinality(_, _, found)
            ):
                yield found
            case owl.DataHasValue(_, literal):
                yield owl.DataOneOf((literal,))
            case owl.DatatypeDefinition(datatype, found):
                yield datatype
                yield found


def _counting(
    values: Iterable[object], static: Iterable[owl.Assertion], roles: RoleBox
) -> frozenset[str]:
    found: set[str] = set()
    for part in (part for value in values for part in parts(value)):
        match part:
            case owl.FunctionalDataProperty(property):
                found.add(property.iri)
            case owl.HasKey(_, _, properties) | owl.DisjointDataProperties(properties):
                found.update(property.iri for property in properties)
            case owl.DataMinCardinality(n, property, _) if n > 1:
                found.add(property.iri)
            case owl.DataMaxCardinality(_, property, _) | owl.DataExactCardinality(_, property, _):
                found.add(property.iri)
    found.update(a.property.iri for a in static if isinstance(a, owl.NegativeDataPropertyAssertion))
    near = {
        q for p in found for q in (*roles.data_superproperties(p), *roles.data_subproperties(p))
    }
    return frozenset(found | near)


#: Blank nodes of events are named after this, those of B after another.
_SCOPE: Final = "e"
_BLANK: Final = f"_:{_SCOPE}0."
_LABEL: Final = re.compile(r"^_:(\S+)|(?<=> )_:(\S+)(?= *\.\s*$)")


@dataclass(frozen=True)
class EventReading:
    """The assertions of an event; ``reason``: why it cannot be decided, if so."""

    assertions: tuple[owl.Assertion, ...]
    reason: str = ""


def lines_of(event: Any) -> list[str]:
    """The N-Triples lines of an event as callers give it: lines, an ABox, an rdflib Graph.
    Raises: UsageError.
    """
    if isinstance(event, ABox):
        return [line for assertion in event for line in assertion_lines(assertion)]
    if isinstance(event, str | bytes):
        raise UsageError("an event is a list of lines, not one text", "Give text.splitlines().")
    if hasattr(event, "serialize"):
        return str(event.serialize(format="nt")).splitlines()
    return [str(line).strip() for line in event]


def read(lines: Sequence[str], knowledge: StaticKnowledge) -> EventReading:
    """The assertions of N-Triples ``lines`` of any kind."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "event.nt"
        file.write_text(
            "\n".join(line.replace("\n", " ") for line in lines) + "\n",
            encoding="utf-8",
            errors="surrogatepass",
        )
        try:
            reading = read_assertions(
                [file],
                knowledge.tbox.signature,
                ontologies=knowledge.ontologies,
                axioms=knowledge.tbox.axioms,
                scope=_SCOPE,
            )
        except InputError as error:
            return EventReading((), error.message.replace(str(file), "the event"))
    assertions = [
        *reading.abox,
        *(
            value
            for x in reading.leftovers
            for value in x.values
            if not isinstance(value, owl.Axiom)
        ),
    ]
    open_ = [
        x
        for x in reading.leftovers
        if is_blocking(x, knowledge.allow) and x.kind != "undeclared" and not x.values
    ]
    reason = ""
    if open_:
        reason = f"triple {open_[0].line}: {open_[0].message} ({open_[0].kind}){way_out(x.kind for x in open_)}"
    return EventReading(tuple(dict.fromkeys(assertions)), reason)


def shown(individual: str) -> str:
    """An individual of an event as its answer names it."""
    return "_:" + individual.removeprefix(_BLANK) if individual.startswith(_BLANK) else individual


def shown_line(line: str) -> str:
    """A statement with blank nodes of the event as its answer names them."""
    return relabelled(line, {label: shown(f"_:{label}")[2:] for label in labels_of([line])})


def labels_of(lines: Iterable[str]) -> frozenset[str]:
    """The labels of the blank nodes in ``lines``."""
    return frozenset(
        match[1] or match[2] for line in lines if "_:" in line for match in _LABEL.finditer(line)
    )


def relabelled(line: str, labels: Mapping[str, str]) -> str:
    """``line`` with other ``labels`` for blank nodes."""
    return (
        _LABEL.sub(lambda match: f"_:{labels.get(label := match[1] or match[2], label)}", line)
        if "_:" in line
        else line
    )


def apart(labels: Sequence[Iterable[str]]) -> list[dict[str, str]]:
    """What the ``labels`` of several events are called as those of one: where several have one,
    by the event's place too.
    """
    several = Counter(label for found in labels for label in found)
    taken, named = {*several}, list[dict[str, str]]()
    for number, found in enumerate(labels, 1):
        new = {label: f"{label}-{number}" for label in found if several[label] > 1}
        for label, name in new.items():
            while new[label] in taken:
                new[label] = name = f"{name}x"
        named.append(new)
    return named


def together(events: Iterable[Sequence[str]]) -> list[str]:
    """The lines of several events as those of one. A label of blank nodes that several have is
    of another node in each.
    """
    given = [list(lines) for lines in events]
    named = zip(given, apart([labels_of(lines) for lines in given]))
    return list(dict.fromkeys(relabelled(line, new) for lines, new in named for line in lines))
