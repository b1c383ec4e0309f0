"""Class assertions whose nominals only name another individual, said without nominals.

a:∃r.{b} is r(a,b); a:{b} is a = b; a:¬{b,c} is a ≠ b and a ≠ c; a:∃r.Self is r(a,a). What no assertion of SHIQ(D) says, such as
a:{b,c}, keeps its nominal, so that it can be named and refused.

>>> from shiq.model import ObjectProperty
>>> inside = without_nominals(ClassAssertion(ObjectHasValue(ObjectProperty("urn:r"), "urn:b"), "urn:a"))
>>> list(inside) == [ObjectPropertyAssertion(ObjectProperty("urn:r"), "urn:a", "urn:b")]
True
"""

from __future__ import annotations

from collections.abc import Iterator

from shiq.model import (
    Assertion,
    ClassAssertion,
    ClassExpression,
    DifferentIndividuals,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectHasSelf,
    ObjectHasValue,
    ObjectIntersectionOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectOneOf,
    ObjectPropertyAssertion,
    ObjectPropertyExpression,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SameIndividual,
)
from shiq.signature import parts

_NOMINALS = (ObjectOneOf, ObjectHasValue, ObjectHasSelf)


def without_nominals(assertion: Assertion) -> Iterator[Assertion]:
    """Assertions that together say what ``assertion`` says, with nominals only where they cannot be done without."""
    if not isinstance(assertion, ClassAssertion) or not any(isinstance(part, _NOMINALS) for part in parts(assertion)):
        yield assertion
        return
    subject = assertion.individual
    match _negation_inwards(assertion.expression):
        case ObjectIntersectionOf(operands):
            for operand in operands:
                yield from without_nominals(ClassAssertion(operand, subject))
        case ObjectUnionOf((operand,)):
            yield from without_nominals(ClassAssertion(operand, subject))
        case ObjectOneOf(individuals) if subject in individuals:
            return
        case ObjectOneOf(individuals) if len(set(individuals)) == 1:
            yield SameIndividual(subject, individuals[0])
        case ObjectComplementOf(ObjectOneOf(individuals)):
            yield from (DifferentIndividuals(subject, other) for other in dict.fromkeys(individuals))
        case ObjectHasValue(property, other):
            yield ObjectPropertyAssertion(property, subject, other)
        case ObjectComplementOf(ObjectHasValue(property, other)):
            yield NegativeObjectPropertyAssertion(property, subject, other)
        case ObjectHasSelf(property):
            yield ObjectPropertyAssertion(property, subject, subject)
        case ObjectComplementOf(ObjectHasSelf(property)):
            yield NegativeObjectPropertyAssertion(property, subject, subject)
        case ObjectSomeValuesFrom(property, filler) | ObjectMinCardinality(1, property, filler) if _named_by(filler):
            yield ObjectPropertyAssertion(property, subject, _named_by(filler))
            yield from without_nominals(ClassAssertion(filler, _named_by(filler)))
        case ObjectAllValuesFrom(property, filler):
            yield from _everywhere(subject, property, _negation_inwards(filler))
        case expression:
            yield ClassAssertion(expression, subject)


def _everywhere(subject: str, property: ObjectPropertyExpression, filler: ClassExpression) -> Iterator[Assertion]:
    """a:∀r.filler, taken apart."""
    match filler:
        case ObjectIntersectionOf(operands):
            for operand in operands:
                yield from _everywhere(subject, property, _negation_inwards(operand))
        case ObjectComplementOf(ObjectOneOf(individuals)):
            yield from (NegativeObjectPropertyAssertion(property, subject, other) for other in dict.fromkeys(individuals))
        case _:
            yield ClassAssertion(ObjectAllValuesFrom(property, filler), subject)


def _named_by(expression: ClassExpression) -> str:
    """The individual that alone can be an instance of ``expression``, or ""."""
    match expression:
        case ObjectOneOf(individuals) if len(set(individuals)) == 1:
            return individuals[0]
        case ObjectIntersectionOf(operands):
            return next(filter(None, map(_named_by, operands)), "")
    return ""


def _negation_inwards(expression: ClassExpression) -> ClassExpression:
    """An equivalent of ``expression`` whose outermost negation stands before a name, a nominal or a number restriction."""
    match expression:
        case ObjectComplementOf(ObjectComplementOf(operand)):
            return _negation_inwards(operand)
        case ObjectComplementOf(ObjectUnionOf(operands)):
            return ObjectIntersectionOf(tuple(map(ObjectComplementOf, operands)))
        case ObjectComplementOf(ObjectIntersectionOf(operands)):
            return ObjectUnionOf(tuple(map(ObjectComplementOf, operands)))
        case ObjectComplementOf(ObjectSomeValuesFrom(property, filler) | ObjectMinCardinality(1, property, filler)):
            return ObjectAllValuesFrom(property, ObjectComplementOf(filler))
        case ObjectComplementOf(ObjectAllValuesFrom(property, filler)):
            return ObjectSomeValuesFrom(property, _negation_inwards(ObjectComplementOf(filler)))
        case ObjectMaxCardinality(0, property, filler) | ObjectExactCardinality(0, property, filler):
            return ObjectAllValuesFrom(property, ObjectComplementOf(filler))
    return expression
