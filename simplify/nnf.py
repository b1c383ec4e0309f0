"""Pass 2: rewrite sub ⊑ sup to ⊤ ⊑ C, with C in negation normal form.

Source: THEORY, "Simplified TBox": step 1. In the result ¬ stands only before names; ⊤ and ⊥ occur
only alone; ⊓ and ⊔ are flat. ≥0, ≤0 and restrictions on ⊥ are gone (≤0 R.C is ∀R.¬C, ≥n R.⊥ is ⊥).
The filler of ≤ is unchanged, since its polarity is reversed.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiq import model as owl
from shiq.simplify.inclusion import Context, Inclusion, at_least, intersection_of, union_of


def to_nnf(inclusions: Sequence[Inclusion], context: Context) -> list[Inclusion]:
    """Rewrite every inclusion to ⊤ ⊑ nnf(¬sub ⊔ sup), in order; drop those that become ⊤ ⊑ ⊤."""
    concepts = ((union_of((nnf(i.sub, False), nnf(i.sup))), i.origins) for i in inclusions)
    return [
        Inclusion(owl.THING, concept, origins)
        for concept, origins in concepts
        if concept != owl.THING
    ]


def nnf(expression: owl.ClassExpression, positive: bool = True) -> owl.ClassExpression:
    """Return the negation normal form of `expression`, or of its complement if not `positive`.

    nnf(¬nnf(¬C)) = nnf(C). Accepts the constructors that `desugar` leaves. Linear in the size of
    `expression`.

    >>> nnf(owl.ObjectComplementOf(owl.ObjectIntersectionOf((owl.Class("urn:A"), owl.THING))))
    ObjectComplementOf(operand=Class(iri='urn:A'))
    """
    match expression:
        case owl.Class():
            if expression in (owl.THING, owl.NOTHING):
                return owl.THING if (expression == owl.THING) is positive else owl.NOTHING
            return expression if positive else owl.ObjectComplementOf(expression)
        case owl.ObjectComplementOf(operand):
            return nnf(operand, not positive)
        case owl.ObjectIntersectionOf(operands) | owl.ObjectUnionOf(operands):
            join = (
                intersection_of
                if isinstance(expression, owl.ObjectIntersectionOf) is positive
                else union_of
            )
            return join(nnf(operand, positive) for operand in operands)
        case owl.ObjectSomeValuesFrom(property, filler):
            return (
                _simplified_existential(property, nnf(filler))
                if positive
                else _simplified_universal(property, nnf(filler, False))
            )
        case owl.ObjectAllValuesFrom(property, filler):
            return (
                _simplified_universal(property, nnf(filler))
                if positive
                else _simplified_existential(property, nnf(filler, False))
            )
        case owl.ObjectMinCardinality(n, property, filler):
            return (
                _at_least_in_nnf(n, property, filler)
                if positive
                else _at_most_in_nnf(n - 1, property, filler)
            )
        case owl.ObjectMaxCardinality(n, property, filler):
            return (
                _at_most_in_nnf(n, property, filler)
                if positive
                else _at_least_in_nnf(n + 1, property, filler)
            )
        case owl.DataMinCardinality(n, data_property, data_range):
            return (
                _simplified_data_minimum(n, data_property, data_range)
                if positive
                else _simplified_data_maximum(n - 1, data_property, data_range)
            )
        case owl.DataMaxCardinality(n, data_property, data_range):
            return (
                _simplified_data_maximum(n, data_property, data_range)
                if positive
                else _simplified_data_minimum(n + 1, data_property, data_range)
            )
    raise TypeError(expression)


def _simplified_existential(
    property: owl.ObjectPropertyExpression, filler: owl.ClassExpression
) -> owl.ClassExpression:
    """Return ∃property.filler; ⊥ if the filler is ⊥."""
    return owl.NOTHING if filler == owl.NOTHING else owl.ObjectSomeValuesFrom(property, filler)


def _simplified_universal(
    property: owl.ObjectPropertyExpression, filler: owl.ClassExpression
) -> owl.ClassExpression:
    """Return ∀property.filler; ⊤ if the filler is ⊤."""
    return owl.THING if filler == owl.THING else owl.ObjectAllValuesFrom(property, filler)


def _at_least_in_nnf(
    n: int, property: owl.ObjectPropertyExpression, filler: owl.ClassExpression
) -> owl.ClassExpression:
    """Return ≥n property.filler in NNF, simplified if it is trivial."""
    if n <= 0:
        return owl.THING
    inner = nnf(filler)
    return owl.NOTHING if inner == owl.NOTHING else at_least(n, property, inner)


def _at_most_in_nnf(
    n: int, property: owl.ObjectPropertyExpression, filler: owl.ClassExpression
) -> owl.ClassExpression:
    """Return ≤n property.filler in NNF, simplified if it is trivial."""
    if n < 0:
        return owl.NOTHING
    if n == 0:
        return _simplified_universal(property, nnf(filler, False))
    inner = nnf(filler)
    return owl.THING if inner == owl.NOTHING else owl.ObjectMaxCardinality(n, property, inner)


def _simplified_data_minimum(
    n: int, property: owl.DataProperty, data_range: owl.DataRange
) -> owl.ClassExpression:
    """Return ≥n property.data_range, simplified if it is trivial."""
    if n <= 0:
        return owl.THING
    inner = simplify_range(data_range)
    return owl.NOTHING if inner is None else owl.DataMinCardinality(n, property, inner)


def _simplified_data_maximum(
    n: int, property: owl.DataProperty, data_range: owl.DataRange
) -> owl.ClassExpression:
    """Return ≤n property.data_range, simplified if it is trivial."""
    if n < 0:
        return owl.NOTHING
    inner = simplify_range(data_range)
    return owl.THING if inner is None else owl.DataMaxCardinality(n, property, inner)


def complement_of_range(data_range: owl.DataRange) -> owl.DataRange:
    """Return ¬data_range, without double complement."""
    return (
        data_range.operand
        if isinstance(data_range, owl.DataComplementOf)
        else owl.DataComplementOf(data_range)
    )


def simplify_range(data_range: owl.DataRange) -> owl.DataRange | None:
    """Remove double complements, and ⊤ and ∅ in unions and intersections; None for the empty range."""
    match data_range:
        case owl.DataComplementOf(owl.DataComplementOf(inner)):
            return simplify_range(inner)
        case owl.DataComplementOf(operand):
            inner_range = simplify_range(operand)
            if inner_range is None:
                return owl.TOP_DATATYPE
            return None if inner_range == owl.TOP_DATATYPE else complement_of_range(inner_range)
        case owl.DataIntersectionOf(operands):
            parts = [simplify_range(o) for o in operands]
            if any(part is None for part in parts):
                return None
            kept = tuple(dict.fromkeys(p for p in parts if p is not None and p != owl.TOP_DATATYPE))
            return (
                owl.TOP_DATATYPE
                if not kept
                else kept[0]
                if len(kept) == 1
                else owl.DataIntersectionOf(kept)
            )
        case owl.DataUnionOf(operands):
            present = tuple(
                dict.fromkeys(p for p in map(simplify_range, operands) if p is not None)
            )
            if owl.TOP_DATATYPE in present:
                return owl.TOP_DATATYPE
            return (
                None
                if not present
                else present[0]
                if len(present) == 1
                else owl.DataUnionOf(present)
            )
        case owl.DataOneOf(()):
            return None
    return data_range
