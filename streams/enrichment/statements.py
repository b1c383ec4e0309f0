"""Read events as statements, and classify predicates and values by what the ontology can
distinguish.

Most events are a few simple lines: a class, link or value of an individual. They are split into
N-Triples tokens and looked up. All other lines raise `UnkeyableEventError` and are left to the RDF
reader.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Final

from shiq import model as owl
from shiq.answers.verdict import is_blocking
from shiq.datatypes import DataTheory
from shiq.datatypes.ranges import Formula, contains_value
from shiq.datatypes.values import DataValue, IllTyped
from shiq.errors import InputError, UsageError
from shiq.functional.writer import axiom_text
from shiq.model.abox import ABox
from shiq.model.built_in import TOP
from shiq.model.ntriples import assertion_lines
from shiq.model.ntriples import literal_term as literal_text
from shiq.model.roles import RoleBox, role_box
from shiq.model.walk import is_reserved, parts
from shiq.rdf import read_assertions
from shiq.rml.model import TYPE, Statement, is_resource
from shiq.streams.enrichment.knowledge import StaticKnowledge, allow_hint, lines_source

SAME_AS, DIFFERENT_FROM = f"<{owl.OWL}sameAs>", f"<{owl.OWL}differentFrom>"
_ANNOTATIONS: Final = frozenset(
    f"<{owl.RDFS}{name}>" for name in ("label", "comment", "seeAlso", "isDefinedBy")
)
#: Types that say nothing, and that say all.
_TRIVIAL_TYPES, _NOTHING = frozenset((f"<{owl.OWL}Thing>",)), f"<{owl.OWL}Nothing>"

_LITERAL_PATTERN = re.compile(
    r'"([^"\\\n\r]*)"(?:\^\^<([A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*)>|@([A-Za-z]+(?:-[A-Za-z0-9]+)*))?'
)


class UnkeyableEventError(Exception):
    """Signal that an event has other than simple N-Triples lines and needs the full RDF reader."""


class PredicateKind(IntEnum):
    """Kind of a predicate for the ontology: type, role, data, counted data, equality, dropped or
    annotation. `DROPPED` predicates never influence entailed types.
    """

    TYPE = 0
    ROLE = 1
    DATA = 2
    COUNTED = 3
    EQUALITY = 4
    DROPPED = 5
    ANNOTATION = 6


class Vocabulary:
    """Classifier of predicates by their use in the ontology.

    is_exact: treat every predicate as used and all values as counted.
    """

    def __init__(
        self, knowledge: StaticKnowledge, regions: ValueRegions, *, is_exact: bool = False
    ) -> None:
        self._signature, self._used_names, self._regions = (
            knowledge.tbox.signature,
            knowledge.used_names,
            regions,
        )
        self._is_exact = is_exact
        self._sees_all = is_exact or not TOP.isdisjoint(self._used_names)

    def predicate_kind(self, predicate: str) -> PredicateKind:
        """Kind of a predicate. Raises: UnkeyableEventError for one that needs the RDF reader."""
        if predicate == TYPE:
            return PredicateKind.TYPE
        if predicate in (SAME_AS, DIFFERENT_FROM):
            return PredicateKind.EQUALITY
        if predicate in _ANNOTATIONS:
            return PredicateKind.ANNOTATION
        if not is_resource(predicate) or predicate.startswith("_"):
            raise UnkeyableEventError
        iri, signature = predicate[1:-1], self._signature
        if is_reserved(iri):
            raise UnkeyableEventError
        if iri in signature.data_properties:
            return self._data_kind(iri)
        if iri in signature.object_properties:
            return (
                PredicateKind.ROLE
                if self._sees_all or iri in self._used_names
                else PredicateKind.DROPPED
            )
        if iri in signature.annotation_properties:
            return PredicateKind.ANNOTATION
        return PredicateKind.ROLE if self._is_exact else PredicateKind.DROPPED

    def _data_kind(self, iri: str) -> PredicateKind:
        """Kind of a data property: its values are counted, only distinguished, or without
        influence.
        """
        if self._is_exact or self._regions.is_value_counted(iri):
            return PredicateKind.COUNTED
        return (
            PredicateKind.DATA
            if self._sees_all or iri in self._used_names
            else PredicateKind.DROPPED
        )

    def has_literal_values(self, predicate: str) -> bool | None:
        """Whether the values of a predicate are literals; None if the ontology does not declare it."""
        iri = predicate[1:-1]
        if iri in self._signature.data_properties:
            return True
        return False if iri in self._signature.object_properties else None


def parse_literal(token: str) -> owl.Literal:
    """Parse the token of a literal. Raises: UnkeyableEventError."""
    match = _LITERAL_PATTERN.fullmatch(token)
    if match is None:
        raise UnkeyableEventError
    text, datatype, tag = match.groups()
    if tag is not None:
        return owl.Literal(text, owl.RDF + "langString", tag.lower())
    if datatype == owl.RDF + "langString":
        raise UnkeyableEventError
    return owl.Literal(text, datatype or owl.XSD + "string")


def class_key_text(token: str) -> str:
    """Text of a class in keys; "" for owl:Thing. Raises: UnkeyableEventError."""
    if token in _TRIVIAL_TYPES:
        return ""
    if token != _NOTHING and (
        token[:1] != "<" or not is_resource(token) or is_reserved(token[1:-1])
    ):
        raise UnkeyableEventError
    return token


def split_lines(lines: Iterable[str]) -> list[Statement]:
    """Split simple N-Triples lines into tokens. Raises: UnkeyableEventError for other lines."""
    found = []
    for line in lines:
        try:
            subject, predicate, object = line.split(" ", 2)
        except ValueError:
            raise UnkeyableEventError from None
        if object[-2:] != " .":
            raise UnkeyableEventError
        found.append((subject, predicate, object[:-2]))
    return found


def to_assertions(statements: Sequence[Statement], vocabulary: Vocabulary) -> list[owl.Assertion]:
    """Convert simple statements to assertions."""
    found: list[owl.Assertion] = []
    for subject, predicate, object in statements:
        kind, one = vocabulary.predicate_kind(predicate), individual_of(subject)
        if kind is PredicateKind.TYPE:
            found.append(owl.ClassAssertion(owl.Class(object[1:-1]), one))
        elif kind is PredicateKind.EQUALITY:
            pair = owl.SameIndividual if predicate == SAME_AS else owl.DifferentIndividuals
            found.append(pair(one, individual_of(object)))
        elif kind is not PredicateKind.ANNOTATION:
            name = predicate[1:-1]
            if object[:1] == '"':
                found.append(
                    owl.DataPropertyAssertion(owl.DataProperty(name), one, parse_literal(object))
                )
            else:
                found.append(
                    owl.ObjectPropertyAssertion(
                        owl.ObjectProperty(name), one, individual_of(object)
                    )
                )
    return found


def individual_of(token: str) -> str:
    """Individual that a token names."""
    return token[1:-1] if token[:1] == "<" else token


def token_of(individual: str) -> str:
    """Text that stands for an individual in statements: ``<IRI>``, or ``_:label`` for a blank node."""
    return individual if individual.startswith("_:") else f"<{individual}>"


@dataclass(frozen=True, eq=False)
class ValueRegions:
    """Partition of data values into regions within which the ontology cannot distinguish values.

    ranges: data ranges of T and of class expressions in B, sorted.
    counted_properties: data properties whose values are counted; all if ``counts_all``.
    named_values: values that keys identify exactly.
    """

    theory: DataTheory
    ranges: tuple[owl.DataRange, ...]
    counted_properties: frozenset[str]
    named_values: frozenset[DataValue]
    counts_all: bool = False

    @classmethod
    def from_knowledge(
        cls, axioms: Iterable[owl.Axiom], static: Iterable[owl.Assertion]
    ) -> ValueRegions:
        """Compute the regions from axioms and static assertions."""
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
        ranges = dict.fromkeys(
            r for value in (*axioms, *expressions) for r in _find_data_ranges(value)
        )
        counting = _find_counted_properties((*axioms, *expressions), static, roles)
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

    def region_of(self, literal: owl.Literal) -> str:
        """Region of a literal as a text of bits, one per data range; the literal itself if a data
        range leaves it undecided.
        """
        value = self.value_of(literal)
        row = [contains_value(formula, value) for formula in self._formulas]
        return (
            literal_text(literal) if None in row else "".join("01"[bool(inside)] for inside in row)
        )

    @cached_property
    def _formulas(self) -> list[Formula]:
        """Formulas of the data ranges that the ontology uses."""
        return [self.theory.range_formula(range) for range in self.ranges]

    def has_value(self, literal: owl.Literal) -> bool:
        """Whether a literal has a value, so that it is not ill-typed."""
        plain = _CERTAIN_FORMS.get(literal.datatype)
        if plain is not None and plain.fullmatch(literal.lexical):
            return True
        return not isinstance(self.theory.value(literal), IllTyped)

    def is_value_counted(self, property: str) -> bool:
        """Whether the ontology can count the values of a property."""
        return self.counts_all or property in self.counted_properties

    def value_of(self, literal: owl.Literal) -> DataValue:
        """Value of a literal. Literals of unknown datatypes have equal values only if they are
        equal.
        """
        value = self.theory.value(literal)
        assert isinstance(value, DataValue)
        return value

    def name_of(self, literal: owl.Literal) -> str:
        """Name of a literal's value if keys must identify exactly this value (named by the
        ontology, or opaque), else "".
        """
        value = self.value_of(literal)
        return (
            f"{value.space} {value.key!r}" if value in self.named_values or value.is_opaque else ""
        )


#: Forms that are certain to denote a value: those of most readings.
_CERTAIN_FORMS = {
    owl.XSD + "string": re.compile(".*"),
    owl.XSD + "integer": re.compile("-?[0-9]{1,18}"),
    owl.XSD + "int": re.compile("-?[0-9]{1,9}"),
    owl.XSD + "decimal": re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?"),
    owl.XSD + "dateTime": re.compile(
        "[12][0-9]{3}-(0[1-9]|1[0-2])-([01][1-9]|10|2[0-8])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}Z?"
    ),
}

_DATA_ASSERTIONS = (owl.DataPropertyAssertion, owl.NegativeDataPropertyAssertion)


def _find_data_ranges(value: object) -> Iterator[owl.DataRange]:
    """Yield the data ranges in restrictions and axioms; a constant is the range with only this
    value.
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


def _find_counted_properties(
    values: Iterable[object], static: Iterable[owl.Assertion], roles: RoleBox
) -> frozenset[str]:
    """Data properties whose values axioms or assertions can count, with super- and subproperties."""
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
_BLANK_NODE_SCOPE: Final = "e"
_BLANK_NODE_PREFIX: Final = f"_:{_BLANK_NODE_SCOPE}0."
_BLANK_NODE_PATTERN: Final = re.compile(r"^_:(\S+)|(?<=> )_:(\S+)(?= *\.\s*$)")


@dataclass(frozen=True)
class EventReading:
    """Assertions read from an event; ``reason``: why it cannot be decided, or ""."""

    assertions: tuple[owl.Assertion, ...]
    reason: str = ""


def event_lines(event: Any) -> list[str]:
    """N-Triples lines of an event given as lines, ABox or rdflib Graph. Raises: UsageError."""
    if isinstance(event, ABox):
        return [line for assertion in event for line in assertion_lines(assertion)]
    if isinstance(event, str | bytes):
        raise UsageError("an event is a list of lines, not one text", "Give text.splitlines().")
    if hasattr(event, "serialize"):
        return str(event.serialize(format="nt")).splitlines()
    return [str(line).strip() for line in event]


def read_rdf(lines: Sequence[str], knowledge: StaticKnowledge) -> EventReading:
    """Read N-Triples lines of any kind as assertions."""
    try:
        reading = read_assertions(
            [lines_source(lines, "the event")],
            knowledge.tbox.signature,
            ontologies=knowledge.ontologies,
            axioms=knowledge.tbox.axioms,
            scope=_BLANK_NODE_SCOPE,
        )
    except InputError as error:
        return EventReading((), error.message)
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
        reason = f"triple {open_[0].line}: {open_[0].message} ({open_[0].kind}){allow_hint(x.kind for x in open_)}"
    return EventReading(tuple(dict.fromkeys(assertions)), reason)


def name_in_answer(individual: str) -> str:
    """Name of an event's individual as answers show it."""
    return (
        "_:" + individual.removeprefix(_BLANK_NODE_PREFIX)
        if individual.startswith(_BLANK_NODE_PREFIX)
        else individual
    )


def line_in_answer(line: str) -> str:
    """N-Triples line with blank nodes named as answers show them."""
    return rename_blank_nodes(
        line, {label: name_in_answer(f"_:{label}")[2:] for label in find_labels([line])}
    )


def find_labels(lines: Iterable[str]) -> frozenset[str]:
    """Labels of the blank nodes in ``lines``."""
    return frozenset(
        match[1] or match[2]
        for line in lines
        if "_:" in line
        for match in _BLANK_NODE_PATTERN.finditer(line)
    )


def rename_blank_nodes(line: str, labels: Mapping[str, str]) -> str:
    """Rename blank nodes in a line."""
    return (
        _BLANK_NODE_PATTERN.sub(
            lambda match: f"_:{labels.get(label := match[1] or match[2], label)}", line
        )
        if "_:" in line
        else line
    )


def make_labels_distinct(labels: Sequence[Iterable[str]]) -> list[dict[str, str]]:
    """Map the blank node labels of several events to new ones, so that no two events share a label."""
    several = Counter(label for found in labels for label in found)
    taken, named = {*several}, list[dict[str, str]]()
    for number, found in enumerate(labels, 1):
        new = {label: f"{label}-{number}" for label in found if several[label] > 1}
        for label, name in new.items():
            while new[label] in taken:
                new[label] = name = f"{name}x"
        named.append(new)
    return named


def join_events(events: Iterable[Sequence[str]]) -> list[str]:
    """Join the lines of several events, with blank nodes renamed apart."""
    given = [list(lines) for lines in events]
    named = zip(given, make_labels_distinct([find_labels(lines) for lines in given]))
    return list(
        dict.fromkeys(rename_blank_nodes(line, new) for lines, new in named for line in lines)
    )
