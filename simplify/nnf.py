"""Pass 2: sub ⊑ sup becomes ⊤ ⊑ C with C in negation normal form (THEORY 1.1, step 1).

In the result ¬ stands before names only; ⊤ and ⊥ occur only as the whole of C or not at all; ⊓ and ⊔ are flat; ≥0, ≤0 and
restrictions on ⊥ are gone (≤0 R.C is ∀R.¬C, ≥n R.⊥ is ⊥). The filler of ≤ stays as it is: it occurs with reversed polarity.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiq.model import (
    NOTHING,
    THING,
    Class,
    ClassExpression,
    DataMaxCardinality,
    DataMinCardinality,
    DataProperty,
    DataRange,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectIntersectionOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectPropertyExpression,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
)
from simplify.data_ranges import simplified_range
from simplify.inclusion import Context, Inclusion, at_least, intersection_of, union_of


def to_nnf(inclusions: Sequence[Inclusion], context: Context) -> list[Inclusion]:
    """⊤ ⊑ nnf(¬sub ⊔ sup) for every inclusion, in order; those that say nothing (⊤ ⊑ ⊤) are dropped."""
    concepts = ((union_of((nnf(i.sub, False), nnf(i.sup))), i.origins) for i in inclusions)
    return [Inclusion(THING, concept, origins) for concept, origins in concepts if concept != THING]


def nnf(expression: ClassExpression, positive: bool = True) -> ClassExpression:
    """The negation normal form of ``expression``, or with ``positive`` False of its complement.

    nnf(¬nnf(¬C)) = nnf(C). Takes the constructors that `desugar` leaves; linear in the size of ``expression``.

    >>> nnf(ObjectComplementOf(ObjectIntersectionOf((Class("urn:A"), THING))))
    ObjectComplementOf(operand=Class(iri='urn:A'))
    """
    match expression:
        case Class():
            if expression in (THING, NOTHING):
                return THING if (expression == THING) is positive else NOTHING
            return expression if positive else ObjectComplementOf(expression)
        case ObjectComplementOf(operand):
            return nnf(operand, not positive)
        case ObjectIntersectionOf(operands):
            parts = [nnf(operand, positive) for operand in operands]
            return intersection_of(parts) if positive else union_of(parts)
        case ObjectUnionOf(operands):
            parts = [nnf(operand, positive) for operand in operands]
            return union_of(parts) if positive else intersection_of(parts)
        case ObjectSomeValuesFrom(property, filler):
            return _some(property, nnf(filler)) if positive else _all(property, nnf(filler, False))
        case ObjectAllValuesFrom(property, filler):
            return _all(property, nnf(filler)) if positive else _some(property, nnf(filler, False))
        case ObjectMinCardinality(n, property, filler):
            return _minimum(n, property, filler) if positive else _maximum(n - 1, property, filler)
        case ObjectMaxCardinality(n, property, filler):
            return _maximum(n, property, filler) if positive else _minimum(n + 1, property, filler)
        case DataMinCardinality(n, data_property, data_range):
            return _data_minimum(n, data_property, data_range) if positive else _data_maximum(n - 1, data_property, data_range)
        case DataMaxCardinality(n, data_property, data_range):
            return _data_maximum(n, data_property, data_range) if positive else _data_minimum(n + 1, data_property, data_range)
    raise TypeError(expression)


def _some(property: ObjectPropertyExpression, filler: ClassExpression) -> ClassExpression:
    return NOTHING if filler == NOTHING else ObjectSomeValuesFrom(property, filler)


def _all(property: ObjectPropertyExpression, filler: ClassExpression) -> ClassExpression:
    return THING if filler == THING else ObjectAllValuesFrom(property, filler)


def _minimum(n: int, property: ObjectPropertyExpression, filler: ClassExpression) -> ClassExpression:
    if n <= 0:
        return THING
    inner = nnf(filler)
    return NOTHING if inner == NOTHING else at_least(n, property, inner)


def _maximum(n: int, property: ObjectPropertyExpression, filler: ClassExpression) -> ClassExpression:
    if n < 0:
        return NOTHING
    if n == 0:
        return _all(property, nnf(filler, False))
    inner = nnf(filler)
    return THING if inner == NOTHING else ObjectMaxCardinality(n, property, inner)


def _data_minimum(n: int, property: DataProperty, data_range: DataRange) -> ClassExpression:
    if n <= 0:
        return THING
    inner = simplified_range(data_range)
    return NOTHING if inner is None else DataMinCardinality(n, property, inner)


def _data_maximum(n: int, property: DataProperty, data_range: DataRange) -> ClassExpression:
    if n < 0:
        return NOTHING
    inner = simplified_range(data_range)
    return THING if inner is None else DataMaxCardinality(n, property, inner)
