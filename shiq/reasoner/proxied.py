"""Data on its way to a reasoner that must not see our literals: integers instead, or bounds where nothing can stand for it.

The datatype layer splits the values into cells and numbers them (`DataTheory.proxies`). What it cannot number (an unknown
datatype, a malformed range) is *opaque*. An ontology with opaque data is put twice: once such that opaque ranges hold wherever
that helps (if even that is inconsistent, so is the ontology), once such that nothing rests on them (if even that is consistent,
so is the ontology). Between the two it is undetermined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TypeVar

from shiq.datatypes import DataTheory, IllTyped
from shiq.model import (
    NOTHING,
    THING,
    TOP_DATATYPE,
    Assertion,
    Axiom,
    ClassAssertion,
    ClassExpression,
    DataAllValuesFrom,
    DataExactCardinality,
    DataHasValue,
    DataMaxCardinality,
    DataMinCardinality,
    DataProperty,
    DataPropertyAssertion,
    DataPropertyRange,
    DataRange,
    DataSomeValuesFrom,
    Literal,
    NegativeDataPropertyAssertion,
    ObjectComplementOf,
    ObjectUnionOf,
    SubClassOf,
)
from shiq.reasoner.structure import data_of, parts, with_data
from shiq.signature import is_reserved

S = TypeVar("S", Axiom, Assertion)

_ONE_VALUE = (DataSomeValuesFrom, DataAllValuesFrom, DataHasValue, DataPropertyAssertion, NegativeDataPropertyAssertion)
_COUNTED = (DataMinCardinality, DataMaxCardinality, DataExactCardinality)


class OpaqueData(Exception):
    """There are no proxies; ``str`` is the reason."""


class Bound(Enum):
    """Which side opaque data is put on."""

    MET = "what is opaque holds whatever helps"
    UNUSED = "nothing rests on what is opaque"


def proxied(
    theory: DataTheory, axioms: Sequence[Axiom], assertions: Sequence[Assertion], negated_ranges: bool = False
) -> tuple[list[Axiom], list[Assertion]]:
    """``axioms`` and ``assertions`` over integers, consistent if and only if they are. Raises OpaqueData.

    rdfs:Literal becomes the integers that stand for something. Where the reasoner may have to negate a range by itself
    (``negated_ranges``: ¬∀f.D), every data property gets that as its range.
    """
    axioms = list(axioms)
    if negated_ranges:
        properties = {part.iri for value in (*axioms, *assertions) for part in parts(value) if isinstance(part, DataProperty)}
        axioms += [DataPropertyRange(DataProperty(iri), TOP_DATATYPE) for iri in sorted(properties) if not is_reserved(iri)]
    ranges, literals = data_of([*axioms, *assertions])
    largest = 1 << values_needed([*axioms, *assertions]).bit_length()  # rounded up: the same text for more questions
    proxies = theory.proxies(ranges, literals, largest)
    if proxies is None:
        raise OpaqueData(_why(theory, ranges, literals))
    return (
        [with_data(axiom, proxies.range, proxies.literal) for axiom in axioms],
        [with_data(assertion, proxies.range, proxies.literal) for assertion in assertions],
    )


def values_needed(values: Iterable[object]) -> int:
    """More data values than one individual can be asked to have: every restriction and assertion at once, negated or not."""
    total = 1
    for value in values:
        for part in parts(value):
            if isinstance(part, _COUNTED):
                total += part.cardinality + 1
            elif isinstance(part, _ONE_VALUE):
                total += 1
    return total


def ill_typed_refuted(theory: DataTheory, assertions: Iterable[Assertion]) -> list[Assertion]:
    """A data assertion with an ill-typed literal can hold of nothing."""

    def refuted(assertion: Assertion) -> Assertion:
        match assertion:
            case DataPropertyAssertion(_, subject, literal) | NegativeDataPropertyAssertion(_, subject, literal):
                if isinstance(theory.value(literal), IllTyped):
                    return ClassAssertion(NOTHING, subject)
        return assertion

    return [refuted(assertion) for assertion in assertions]


def opaque_in(theory: DataTheory, values: Iterable[Axiom | Assertion]) -> str | None:
    """What is opaque in ``values``, for a reason; None if nothing is."""
    ranges, literals = data_of(values)
    opaque_ranges = {r for r in ranges if is_opaque(theory, r)}
    opaque_literals = {literal for literal in literals if is_opaque(theory, literal)}
    return _why(theory, opaque_ranges, opaque_literals) if opaque_ranges or opaque_literals else None


def is_opaque(theory: DataTheory, data: DataRange | Literal) -> bool:
    """Whether the datatype layer does not know what ``data`` means."""
    if isinstance(data, Literal):
        value = theory.value(data)
        return isinstance(value, IllTyped) or value.is_opaque
    return bool(theory.unknown_datatypes(data)) or theory.malformed(data) is not None


def bounded(theory: DataTheory, value: S, bound: Bound) -> S:
    """``value`` without opaque data: weaker for `Bound.MET`, stronger for `Bound.UNUSED`.

    For inclusions whose left side holds no data, and for assertions, as `clause_axioms` and `module_assertions` make them.
    """
    met = bound is Bound.MET
    match value:
        case SubClassOf(sub, sup):
            return SubClassOf(sub, _bounded(theory, sup, met))
        case ClassAssertion(expression, individual):
            return ClassAssertion(_bounded(theory, expression, met), individual)
        case DataPropertyAssertion(property, subject, literal) if is_opaque(theory, literal):
            return ClassAssertion(DataMinCardinality(1, property) if met else NOTHING, subject)
        case NegativeDataPropertyAssertion(property, subject, literal) if is_opaque(theory, literal):
            return ClassAssertion(THING if met else DataMaxCardinality(0, property), subject)
    return value


def _bounded(theory: DataTheory, expression: ClassExpression, met: bool) -> ClassExpression:
    """≥n f.D makes ≥n f true, and ≤n f makes ≤n f.D true, whatever D is."""
    match expression:
        case ObjectUnionOf(operands):
            return ObjectUnionOf(tuple(_bounded(theory, operand, met) for operand in operands))
        case DataMinCardinality(n, property, range) if is_opaque(theory, range):
            return DataMinCardinality(n, property) if met else NOTHING
        case DataMaxCardinality(n, property, range) if is_opaque(theory, range):
            return THING if met else DataMaxCardinality(n, property)
        case ObjectComplementOf(DataMinCardinality(n, property, range)) if is_opaque(theory, range):
            return THING if met else DataMaxCardinality(n - 1, property)
        case ObjectComplementOf(DataMaxCardinality(n, property, range)) if is_opaque(theory, range):
            return DataMinCardinality(n + 1, property) if met else NOTHING
    return expression


def _why(theory: DataTheory, ranges: Iterable[DataRange], literals: Iterable[Literal]) -> str:
    unknown = {iri for r in ranges for iri in theory.unknown_datatypes(r)}
    malformed = {text for r in ranges if (text := theory.malformed(r))}
    for literal in literals:
        value = theory.value(literal)
        if isinstance(value, IllTyped):
            malformed.add(value.reason)
        elif value.is_opaque:
            unknown.add(literal.datatype)
    if unknown:
        return "opaque datatype " + ", ".join(f"<{iri}>" for iri in sorted(unknown))
    if malformed:
        return "malformed data: " + "; ".join(sorted(malformed))
    return "the data ranges are too large to be split into cells"
