"""Data ranges as Boolean formulas over value sets.

Datatype definitions are unfolded; a datatype with facets becomes one value set. What has no fixed
meaning becomes an *unknown* leaf: an unknown datatype, a malformed restriction, an unsupported
pattern. Such a leaf is an arbitrary set that contains the literals of its datatype. Source: OWL 2
structural specification, sections 7 and 9.4; THEORY, "The add set": data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from shiq import model as owl
from shiq.datatypes.datatype_map import (
    KNOWN_FACETS,
    LITERAL,
    PARTS,
    TYPES,
    FacetError,
    UndecidedFacetError,
    check_facet,
    denoted_value,
    is_known,
    shorten_iri,
    values_of_facet,
)
from shiq.datatypes.values import FORMS_OF, DataValue, IllTyped, TrivialSet, ValueSet
from shiq.model.axioms import BY_FORM


@dataclass(frozen=True, slots=True)
class KnownRange:
    """A leaf of a range formula: a set of values of known datatype, within one value space.

    datatype: its IRI, if it is a whole datatype.
    """

    space: str
    values: ValueSet
    datatype: str = ""


@dataclass(frozen=True, slots=True)
class UnknownSet:
    """A leaf of a range formula: a set of values of which nothing is known. It is the same set
    wherever its ``source`` occurs.
    """

    source: owl.DataRange


@dataclass(frozen=True, slots=True)
class Enumeration:
    """A leaf of a range formula: a finite set of data values."""

    values: frozenset[DataValue]


@dataclass(frozen=True, slots=True)
class Not:
    """Negation in a range formula: the values outside the operand."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction in a range formula: the values in all operands."""

    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction in a range formula: the values in at least one operand."""

    operands: tuple[Formula, ...]


Leaf: TypeAlias = KnownRange | UnknownSet | Enumeration
Formula: TypeAlias = Leaf | Not | And | Or

EVERY_VALUE = And(())


@dataclass(frozen=True, slots=True)
class RangeFormula:
    """The translation of a data range to a Boolean formula over value sets, with the faults found
    on the way.

    fault: the first fault, or None.
    unknown_datatypes: IRIs of its datatypes without known meaning.
    """

    formula: Formula
    fault: str | None
    unknown_datatypes: frozenset[str]


def read_range(data_range: owl.DataRange, definitions: Mapping[str, owl.DataRange]) -> RangeFormula:
    """Translate an OWL data range to a Boolean formula over value sets, with datatype definitions
    unfolded.

    Malformed parts become unknown leaves; the first fault is recorded.
    """
    reader = _RangeReader(definitions)
    formula = reader.read_range(data_range)
    return RangeFormula(
        formula, reader.faults[0] if reader.faults else None, frozenset(reader.unknown)
    )


class _RangeReader:
    """Translator of OWL data ranges to formulas. It unfolds datatype definitions and records
    faults.
    """

    def __init__(self, definitions: Mapping[str, owl.DataRange]) -> None:
        self.definitions = definitions
        self.faults: list[str] = []
        self.unknown: set[str] = set()
        self.unfolding: list[str] = []

    def record_fault(self, data_range: owl.DataRange, message: str) -> Formula:
        """Record an error in a data range, and return an unknown set that stands for the range."""
        self.faults.append(message)
        return UnknownSet(data_range)

    def read_range(self, data_range: owl.DataRange) -> Formula:
        """Translate a data range to a formula."""
        match data_range:
            case owl.Datatype(iri):
                return self.read_datatype(iri)
            case owl.DataIntersectionOf(operands):
                return And(tuple(self.read_range(operand) for operand in operands))
            case owl.DataUnionOf(operands):
                return Or(tuple(self.read_range(operand) for operand in operands))
            case owl.DataComplementOf(operand):
                return Not(self.read_range(operand))
            case owl.DataOneOf():
                return self.read_enumeration(data_range)
            case owl.DatatypeRestriction():
                return self.read_restriction(data_range)
        raise TypeError(data_range)

    def read_datatype(self, iri: str) -> Formula:
        """Translate a datatype to a formula: a known, a defined or an unknown one."""
        if iri == LITERAL:
            return EVERY_VALUE
        if iri in self.definitions and iri in KNOWN_FACETS:
            self.faults.append(f"{shorten_iri(iri)} is redefined; it keeps its own meaning")
        if iri in PARTS:
            return Or(tuple(self.read_datatype(part) for part in PARTS[iri]))
        if iri in TYPES:
            return KnownRange(TYPES[iri].space, TYPES[iri].values, iri)
        definition = self.definitions.get(iri)
        if definition is None and BY_FORM in self.definitions:
            return KnownRange(FORMS_OF + iri, TrivialSet(True), iri)
        if definition is None:
            self.unknown.add(iri)
            return UnknownSet(owl.Datatype(iri))
        if iri in self.unfolding:
            return self.record_fault(owl.Datatype(iri), f"the definition of <{iri}> is cyclic")
        self.unfolding.append(iri)
        formula = self.read_range(definition)
        self.unfolding.pop()
        return formula

    def read_enumeration(self, data_range: owl.DataOneOf) -> Formula:
        """Translate an enumeration of literals to a formula."""
        values = []
        for literal in data_range.literals:
            value = denoted_value(literal, self.definitions)
            if isinstance(value, IllTyped):
                return self.record_fault(
                    data_range, f"ill-typed literal in an enumeration: {value.reason}"
                )
            if (
                value.is_opaque
                and not is_known(literal.datatype)
                and literal.datatype not in self.definitions
            ):
                self.unknown.add(literal.datatype)
            values.append(value)
        return Enumeration(frozenset(values))

    def read_restriction(self, data_range: owl.DatatypeRestriction) -> Formula:
        """Translate a datatype restricted by facets to a formula."""
        iri = data_range.datatype.iri
        base = self.read_datatype(iri)
        if not data_range.facets:
            return base
        if iri not in KNOWN_FACETS:
            if iri in self.unknown or (
                isinstance(base, KnownRange) and base.space == FORMS_OF + iri
            ):
                return And((base, UnknownSet(data_range)))
            return self.record_fault(
                data_range,
                f"{shorten_iri(iri)} takes no facets: it is not a datatype of the datatype map",
            )
        try:
            for facet, literal in data_range.facets:
                check_facet(iri, facet, literal)
        except FacetError as error:
            return self.record_fault(data_range, str(error))
        parts = [self.apply_facets(part, data_range) for part in PARTS.get(iri, (iri,))]
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def apply_facets(self, iri: str, data_range: owl.DatatypeRestriction) -> Formula:
        """Restrict one known datatype by the facets of a data range, and return the formula.

        If some facet does not belong to the datatype, the result is empty.
        """
        known = TYPES[iri]
        values = known.values
        undecided: list[Formula] = []
        for facet, literal in data_range.facets:
            if facet not in known.facets:
                values = values.meet(values.complement())
                continue
            try:
                values = values.meet(values_of_facet(iri, facet, literal))
            except UndecidedFacetError:
                undecided.append(
                    UnknownSet(owl.DatatypeRestriction(data_range.datatype, ((facet, literal),)))
                )
        return (
            And((KnownRange(known.space, values), *undecided))
            if undecided
            else KnownRange(known.space, values)
        )


def leaves(formula: Formula) -> Iterator[Leaf]:
    """Yield the leaves of a range formula, with repetitions."""
    match formula:
        case Not(operand):
            yield from leaves(operand)
        case And(operands) | Or(operands):
            for operand in operands:
                yield from leaves(operand)
        case _:
            yield formula


def depends_on_unknown(formula: Formula) -> bool:
    """Decide whether a range formula contains an unknown set, or enumerates a value of unknown
    datatype.
    """
    return any(
        isinstance(leaf, UnknownSet)
        or (isinstance(leaf, Enumeration) and any(value.is_opaque for value in leaf.values))
        for leaf in leaves(formula)
    )


def evaluate(formula: Formula, truth: Callable[[Leaf], bool | None]) -> bool | None:
    """Compute the three-valued truth of a range formula; `truth` gives that of its leaves, None is
    undecided.
    """
    match formula:
        case Not(operand):
            value = evaluate(operand, truth)
            return None if value is None else not value
        case And(operands) | Or(operands):
            decisive, undecided = isinstance(formula, Or), False
            for operand in operands:
                value = evaluate(operand, truth)
                if value is decisive:
                    return value
                undecided |= value is None
            return None if undecided else not decisive
    return truth(formula)


def contains_value(formula: Formula, value: DataValue) -> bool | None:
    """Decide whether a data value lies in a range formula, whatever its unknown sets contain.

    Returns None if the answer depends on them.
    """

    def truth(leaf: Leaf) -> bool | None:
        match leaf:
            case KnownRange(space, values, datatype):
                if value.is_opaque:
                    return True if datatype_of(value) == datatype else None
                return values.has(value.key) if value.space == space else False
            case Enumeration(members):
                if value in members:
                    return True
                return (
                    None
                    if members and (value.is_opaque or any(m.is_opaque for m in members))
                    else False
                )
            case UnknownSet(source):
                return (
                    True if value.is_opaque and source == owl.Datatype(datatype_of(value)) else None
                )

    return evaluate(formula, truth)


def datatype_of(value: DataValue) -> str:
    """Return the datatype IRI of a value of unknown datatype."""
    assert isinstance(value.key, tuple)
    return str(value.key[0])
