"""Class assertions whose nominals only name another individual, said without nominals.

a:∃r.{b} is r(a,b); a:{b} is a = b; a:¬{b,c} is a ≠ b and a ≠ c; a:∃r.Self is r(a,a). What no
assertion of SHIQ(D) says, such as a:{b,c}, keeps its nominal, so that it can be named and
refused.

>>> from shiq.model import ObjectProperty
>>> inside = without_nominals(owl.ClassAssertion(owl.ObjectHasValue(ObjectProperty("urn:r"), "urn:b"), "urn:a"))
>>> list(inside) == [owl.ObjectPropertyAssertion(ObjectProperty("urn:r"), "urn:a", "urn:b")]
True
"""

from __future__ import annotations

from collections.abc import Iterator

from shiq import model as owl
from shiq.signature import parts

_NOMINALS = (owl.ObjectOneOf, owl.ObjectHasValue, owl.ObjectHasSelf)


def without_nominals(assertion: owl.Assertion) -> Iterator[owl.Assertion]:
    """Assertions that together say what ``assertion`` says, with nominals only where they cannot
    be done without.
    """
    if not isinstance(assertion, owl.ClassAssertion) or not any(
        isinstance(part, _NOMINALS) for part in parts(assertion)
    ):
        yield assertion
        return
    subject = assertion.individual
    match _negation_inwards(assertion.expression):
        case owl.ObjectIntersectionOf(operands):
            for operand in operands:
                yield from without_nominals(owl.ClassAssertion(operand, subject))
        case owl.ObjectUnionOf((operand,)):
            yield from without_nominals(owl.ClassAssertion(operand, subject))
        case owl.ObjectOneOf(individuals) if subject in individuals:
            return
        case owl.ObjectOneOf(individuals) if len(set(individuals)) == 1:
            yield owl.SameIndividual(subject, individuals[0])
        case owl.ObjectComplementOf(owl.ObjectOneOf(individuals)):
            yield from (
                owl.DifferentIndividuals(subject, other) for other in dict.fromkeys(individuals)
            )
        case owl.ObjectHasValue(property, other):
            yield owl.ObjectPropertyAssertion(property, subject, other)
        case owl.ObjectComplementOf(owl.ObjectHasValue(property, other)):
            yield owl.NegativeObjectPropertyAssertion(property, subject, other)
        case owl.ObjectHasSelf(property):
            yield owl.ObjectPropertyAssertion(property, subject, subject)
        case owl.ObjectComplementOf(owl.ObjectHasSelf(property)):
            yield owl.NegativeObjectPropertyAssertion(property, subject, subject)
        case owl.ObjectSomeValuesFrom(property, filler) | owl.ObjectMinCardinality(
            1, property, filler
        ) if _named_by(filler):
            yield owl.ObjectPropertyAssertion(property, subject, _named_by(filler))
            yield from without_nominals(owl.ClassAssertion(filler, _named_by(filler)))
        case owl.ObjectAllValuesFrom(property, filler):
            yield from _everywhere(subject, property, _negation_inwards(filler))
        case expression:
            yield owl.ClassAssertion(expression, subject)


def _everywhere(
    subject: str, property: owl.ObjectPropertyExpression, filler: owl.ClassExpression
) -> Iterator[owl.Assertion]:
    """a:∀r.filler, taken apart."""
    match filler:
        case owl.ObjectIntersectionOf(operands):
            for operand in operands:
                yield from _everywhere(subject, property, _negation_inwards(operand))
        case owl.ObjectComplementOf(owl.ObjectOneOf(individuals)):
            yield from (
                owl.NegativeObjectPropertyAssertion(property, subject, other)
                for other in dict.fromkeys(individuals)
            )
        case _:
            yield owl.ClassAssertion(owl.ObjectAllValuesFrom(property, filler), subject)


def _named_by(expression: owl.ClassExpression) -> str:
    """The individual that alone can be an instance of ``expression``, or ""."""
    match expression:
        case owl.ObjectOneOf(individuals) if len(set(individuals)) == 1:
            return individuals[0]
        case owl.ObjectIntersectionOf(operands):
            return next(filter(None, map(_named_by, operands)), "")
    return ""


def _negation_inwards(expression: owl.ClassExpression) -> owl.ClassExpression:
    """An equivalent of ``expression`` whose outermost negation stands before a name, a nominal
    or a number restriction.
    """
    match expression:
        case owl.ObjectComplementOf(owl.ObjectComplementOf(operand)):
            return _negation_inwards(operand)
        case owl.ObjectComplementOf(owl.ObjectUnionOf(operands)):
            return owl.ObjectIntersectionOf(tuple(map(owl.ObjectComplementOf, operands)))
        case owl.ObjectComplementOf(owl.ObjectIntersectionOf(operands)):
            return owl.ObjectUnionOf(tuple(map(owl.ObjectComplementOf, operands)))
        case owl.ObjectComplementOf(
            owl.ObjectSomeValuesFrom(property, filler)
            | owl.ObjectMinCardinality(1, property, filler)
        ):
            return owl.ObjectAllValuesFrom(property, owl.ObjectComplementOf(filler))
        case owl.ObjectComplementOf(owl.ObjectAllValuesFrom(property, filler)):
            return owl.ObjectSomeValuesFrom(
                property, _negation_inwards(owl.ObjectComplementOf(filler))
            )
        case owl.ObjectMaxCardinality(0, property, filler) | owl.ObjectExactCardinality(
            0, property, filler
        ):
            return owl.ObjectAllValuesFrom(property, owl.ObjectComplementOf(filler))
    return expression
