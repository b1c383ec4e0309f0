"""What T can tell of a value: in which of its data ranges it lies; and where it can tell values
from each other at all.

Two literals of one region are interchangeable on a property that does not count values. On one
that does, it matters besides which literals of the event denote one value, and whether that is a
value that T or B names (docs/ENRICHMENT.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from shiq import model as owl
from shiq.datatypes import DataTheory
from shiq.datatypes.ranges import Formula, holds
from shiq.datatypes.values import DataValue, IllTyped
from shiq.functional.writer import axiom_text
from shiq.model.built_in import TOP
from shiq.model.ntriples import literal as literal_text
from shiq.model.roles import RoleBox, role_box
from shiq.model.walk import parts


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
