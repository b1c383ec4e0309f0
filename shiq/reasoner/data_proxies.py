"""Replace data for a reasoner that must not see it: by integers, or by approximations where nothing
can stand for it.

The datatype layer splits the values into cells and numbers them (`DataTheory.encode_as_integers`). Data
without a number (an unknown datatype, a malformed range) is *opaque*. An ontology with opaque data
is asked about twice (`OpaqueReading`). If it is inconsistent even though opaque ranges satisfy
everything that helps, it is inconsistent. If it is consistent even though nothing depends on them,
it is consistent. Between the two it is undetermined. Large numbers are treated in the same way,
because that reasoner would build their successors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from typing import TypeVar

from shiq import model as owl
from shiq.datatypes import DataTheory, IllTyped
from shiq.model.walk import parts
from shiq.reasoner.protocol import LARGE_NUMBER, OPAQUE
from shiq.reasoner.structure import data_parts, entity_kinds, replace_data_parts

S = TypeVar("S", owl.Axiom, owl.Assertion)

#: A larger enumeration is not sent.
MOST_VALUES = 20_000

#: Numbers above are not sent; where one must be replaced, by this one.
MOST_SENT, SENT_INSTEAD = 64, 12

_ONE_VALUE = (
    owl.DataSomeValuesFrom,
    owl.DataAllValuesFrom,
    owl.DataHasValue,
    owl.DataPropertyAssertion,
    owl.NegativeDataPropertyAssertion,
)
_NEEDS = (
    owl.DataSomeValuesFrom,
    owl.DataHasValue,
    owl.DataMinCardinality,
    owl.DataExactCardinality,
)
_COUNTED = (owl.DataMinCardinality, owl.DataMaxCardinality, owl.DataExactCardinality)
_NUMBERED = (
    *_COUNTED,
    owl.ObjectMinCardinality,
    owl.ObjectMaxCardinality,
    owl.ObjectExactCardinality,
)


class OpaqueData(Exception):
    """Error: no integers can stand for the data, because something about it is unknown; ``str`` is
    the reason.
    """


class OpaqueReading(Enum):
    """The two extreme meanings of data of unknown datatype: the most and the least favourable to
    consistency.

    OPTIMISTIC: opaque data satisfies everything that helps; then inconsistent is final.
    PESSIMISTIC: nothing depends on opaque data; then consistent is final.
    """

    OPTIMISTIC = "what is opaque holds whatever helps"
    PESSIMISTIC = "nothing rests on what is opaque"


def replace_data(
    theory: DataTheory,
    axioms: Sequence[owl.Axiom],
    assertions: Sequence[owl.Assertion],
    negated_ranges: bool = False,
) -> tuple[list[owl.Axiom], list[owl.Assertion]]:
    """Replace the literals and data ranges in axioms and assertions by integers, without a change
    to their consistency.

    negated_ranges: whether the reasoner may have to negate a range (¬∀f.D)

    Raises: OpaqueData.
    """
    values = [*axioms, *assertions]
    ranges, literals = data_parts(values)
    # A reasoner that negates restrictions may make needs of bounds.
    needs = (*_NEEDS, owl.DataAllValuesFrom, owl.DataMaxCardinality) if negated_ranges else _NEEDS
    keys = {
        p
        for a in axioms
        if isinstance(a, owl.HasKey)
        for key in a.data_properties
        for p in theory.roles.data_subproperties(key.iri)
    }
    apart = any(
        isinstance(part, needs) and part.property.iri in keys
        for axiom in axioms
        for part in parts(axiom)
    )
    needed = values_needed(values, bool(theory.roles.disjoint_data), apart)
    proxies = theory.encode_as_integers(
        sorted(ranges, key=repr), sorted(literals, key=repr), needed
    )
    if proxies is None:
        raise OpaqueData(_describe_opaque(theory, ranges, literals))
    sent = {data_range: _as_enumeration(proxy) for data_range, proxy in proxies.range.items()}
    return (
        [replace_data_parts(axiom, sent, proxies.literal) for axiom in axioms],
        [replace_data_parts(assertion, sent, proxies.literal) for assertion in assertions],
    )


def values_needed(values: Sequence[object], together: bool, apart: bool = False) -> int:
    """Compute an upper bound on the number of interchangeable data values that one individual may
    need.

    No range distinguishes interchangeable values. The restrictions of an individual can share their
    values, which keeps every ≥, ∀ and ≤. So the largest number in a ≥n, or a negated ≤n, is enough.
    There are two exceptions. If properties are disjoint (``together``), all restrictions may need
    values of their own. If a key is on a property with chosen values (``apart``), each individual
    has values of its own; then no key makes two individuals equal, except by asserted values.
    """
    counts = [
        part.cardinality + 1
        for value in values
        for part in parts(value)
        if isinstance(part, _COUNTED)
    ]
    of_one = sum(counts) + _count_named_values(values) if together else max(counts, default=1)
    if apart:
        individuals = sum(1 for kind, _ in entity_kinds(values) if kind == "individual")
        return (individuals + 1) * of_one
    return of_one


def _count_named_values(values: Sequence[object]) -> int:
    """Compute an upper bound on the number of values that restrictions and assertions name one by
    one.
    """
    return sum(1 for value in values for part in parts(value) if isinstance(part, _ONE_VALUE)) + 1


def _as_enumeration(proxy: owl.DataRange) -> owl.DataRange:
    """Rewrite a union of integer intervals as an enumeration, and a complement as the complement of
    one. Raises: OpaqueData if it is huge.

    HermiT 1.3.8 is right on enumerations but wrong on unions of intervals. It misreads ≤n f.D for a
    union D. Where intersected intervals have equal bounds, it checks only one for being inclusive:
    it finds 59 in both [59, 59] and the complement of [0, 59].
    """
    if proxy == owl.TOP_DATATYPE:
        return proxy
    if isinstance(proxy, owl.DataComplementOf):
        return owl.DataComplementOf(_as_enumeration(proxy.operand))
    intervals = [
        _interval_bounds(part)
        for part in (proxy.operands if isinstance(proxy, owl.DataUnionOf) else (proxy,))
    ]
    if sum(last - first + 1 for first, last in intervals) > MOST_VALUES:
        raise OpaqueData(f"a data range needs more than {MOST_VALUES} values")
    numbers = [number for first, last in intervals for number in range(first, last + 1)]
    return owl.DataOneOf(tuple(owl.Literal(str(number), owl.XSD + "integer") for number in numbers))


def _interval_bounds(proxy: owl.DataRange) -> tuple[int, int]:
    """Return the least and the greatest integer of an interval."""
    match proxy:
        case owl.DatatypeRestriction(_, ((lower, owl.Literal(first)), (upper, owl.Literal(last)))):
            if (lower, upper) == (owl.XSD + "minInclusive", owl.XSD + "maxInclusive"):
                return int(first), int(last)
    raise TypeError(f"not an interval of integers: {proxy}")


def refute_ill_typed(
    theory: DataTheory, assertions: Iterable[owl.Assertion]
) -> list[owl.Assertion]:
    """Replace each data assertion whose literal is ill-typed by the contradiction ⊥(subject)."""

    def contradiction_for(assertion: owl.Assertion) -> owl.Assertion:
        """The contradiction for an assertion with an ill-typed literal; else the assertion itself."""
        match assertion:
            case owl.DataPropertyAssertion(_, subject, literal) | owl.NegativeDataPropertyAssertion(
                _, subject, literal
            ):
                if theory.is_ill_typed(literal):
                    return owl.ClassAssertion(owl.NOTHING, subject)
        return assertion

    return [contradiction_for(assertion) for assertion in assertions]


def opacity_reason(theory: DataTheory, values: Iterable[owl.Axiom | owl.Assertion]) -> str | None:
    """Explain why data in ``values`` cannot be sent: an unknown datatype, a malformed range or a
    large number. None if it can.
    """
    values = tuple(values)
    ranges, literals = data_parts(values)
    opaque_ranges = {r for r in ranges if is_opaque(theory, r)}
    opaque_literals = {literal for literal in literals if is_opaque(theory, literal)}
    if opaque_ranges or opaque_literals:
        return _describe_opaque(theory, opaque_ranges, opaque_literals)
    largest = max((_cardinality_of(part) for value in values for part in parts(value)), default=0)
    return (
        f"{LARGE_NUMBER}: {largest:,}, where at most {MOST_SENT} are built"
        if largest > MOST_SENT
        else None
    )


def has_large_number(part: object) -> bool:
    """Decide whether ``part`` is a cardinality restriction whose number is too large to be sent."""
    return _cardinality_of(part) > MOST_SENT


def _cardinality_of(part: object) -> int:
    """Return the number of a cardinality restriction; 0 for other parts."""
    return part.cardinality if isinstance(part, _NUMBERED) else 0


def is_opaque(theory: DataTheory, data: owl.DataRange | owl.Literal) -> bool:
    """Decide whether a data range or literal has no known meaning: unknown datatype, malformed or
    ill-typed.
    """
    if isinstance(data, owl.Literal):
        return theory.is_incomparable(data)
    return bool(theory.unknown_datatypes(data)) or theory.range_fault(data) is not None


def approximate_opaque(theory: DataTheory, value: S, bound: OpaqueReading) -> S:
    """Replace data of unknown meaning and large numbers in ``value``, by something weaker
    (OPTIMISTIC) or stronger (PESSIMISTIC).

    ``value``: an inclusion without data on its left side, or an assertion, as `clause_axioms` and
        `module_assertions` make them.
    """
    met = bound is OpaqueReading.OPTIMISTIC
    match value:
        case owl.SubClassOf(sub, sup):
            return owl.SubClassOf(sub, _approximate_expression(theory, sup, met))
        case owl.ClassAssertion(expression, individual):
            return owl.ClassAssertion(_approximate_expression(theory, expression, met), individual)
        case owl.DataPropertyAssertion(property, subject, positive):
            if is_opaque(theory, positive):
                return owl.ClassAssertion(
                    owl.DataMinCardinality(1, property) if met else owl.NOTHING, subject
                )
        case owl.NegativeDataPropertyAssertion(property, subject, negative):
            if is_opaque(theory, negative):
                return owl.ClassAssertion(
                    owl.THING if met else owl.DataMaxCardinality(0, property), subject
                )
    return value


def _approximate_expression(
    theory: DataTheory, expression: owl.ClassExpression, met: bool
) -> owl.ClassExpression:
    """Replace data of unknown meaning and large numbers in a class expression, by something weaker
    if ``met``, else stronger.

    Whatever D is, ≥n f.D implies ≥n f, and ≤n f implies ≤n f.D. For m < n, ≥n R.C implies ≥m R.C,
    and ≤m R.C implies ≤n R.C.
    """
    match expression:
        case owl.ObjectUnionOf(operands):
            return owl.ObjectUnionOf(
                tuple(_approximate_expression(theory, operand, met) for operand in operands)
            )
        case owl.ObjectComplementOf(owl.ObjectMinCardinality(n, role, filler)) if n > MOST_SENT:
            return owl.THING if met else owl.ObjectMaxCardinality(SENT_INSTEAD, role, filler)
        case owl.ObjectComplementOf(owl.DataMinCardinality(n, property, range)) if n > MOST_SENT:
            return _approximate_expression(
                theory, owl.DataMaxCardinality(n - 1, property, range), met
            )
        case owl.ObjectComplementOf(owl.DataMaxCardinality(n, property, range)) if n >= MOST_SENT:
            return _approximate_expression(
                theory, owl.DataMinCardinality(n + 1, property, range), met
            )
        case owl.ObjectMinCardinality() | owl.DataMinCardinality() if has_large_number(expression):
            return (
                _approximate_expression(theory, replace(expression, cardinality=SENT_INSTEAD), met)
                if met
                else owl.NOTHING
            )
        case owl.ObjectMaxCardinality() | owl.DataMaxCardinality() if has_large_number(expression):
            return (
                owl.THING
                if met
                else _approximate_expression(
                    theory, replace(expression, cardinality=SENT_INSTEAD), met
                )
            )
        case owl.DataMinCardinality(n, property, range) if is_opaque(theory, range):
            return owl.DataMinCardinality(n, property) if met else owl.NOTHING
        case owl.DataMaxCardinality(n, property, range) if is_opaque(theory, range):
            return owl.THING if met else owl.DataMaxCardinality(n, property)
        case owl.ObjectComplementOf(owl.DataMinCardinality(n, property, range)) if is_opaque(
            theory, range
        ):
            return owl.THING if met else owl.DataMaxCardinality(n - 1, property)
        case owl.ObjectComplementOf(owl.DataMaxCardinality(n, property, range)) if is_opaque(
            theory, range
        ):
            return owl.DataMinCardinality(n + 1, property) if met else owl.NOTHING
    return expression


def _describe_opaque(
    theory: DataTheory, ranges: Iterable[owl.DataRange], literals: Iterable[owl.Literal]
) -> str:
    """Describe the unknown datatypes, malformed ranges and ill-typed literals among these, for a
    message.
    """
    unknown = {iri for r in ranges for iri in theory.unknown_datatypes(r)}
    malformed = {text for r in ranges if (text := theory.range_fault(r))}
    for literal in literals:
        value = theory.value(literal)
        if isinstance(value, IllTyped):
            malformed.add(value.reason)
        elif value.is_opaque:
            unknown.add(literal.datatype)
    if unknown:
        return f"{OPAQUE} " + ", ".join(f"<{iri}>" for iri in sorted(unknown))
    if malformed:
        return "malformed data: " + "; ".join(sorted(malformed))
    return "the data ranges are too large to be split into cells"
