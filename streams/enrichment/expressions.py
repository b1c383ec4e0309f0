"""Assertions as tokens for keys: negative ones, and class expressions in a normal form."""

from __future__ import annotations

from typing import Any

from shiq import model as owl
from shiq.functional.writer import axiom_text
from shiq.ntriples import literal as literal_text
from shiq.rml.tokens import TYPE, Statement
from shiq.signature import parts
from streams.enrichment.statements import plain_statement, token


def statement(assertion: owl.Assertion) -> Statement:
    """An assertion as tokens, those of complex ones made for keys alone."""
    match assertion:
        case owl.ClassAssertion(expression, one) if not isinstance(expression, owl.Class):
            return token(one), TYPE, f"({normal_text(expression)})"
        case owl.ObjectPropertyAssertion(owl.ObjectInverseOf(property), one, other):
            return token(other), f"<{property.iri}>", token(one)
        case owl.NegativeObjectPropertyAssertion(owl.ObjectInverseOf(property), one, other):
            return token(other), f"¬<{property.iri}>", token(one)
        case owl.NegativeObjectPropertyAssertion(owl.ObjectProperty(iri), one, other):
            return token(one), f"¬<{iri}>", token(other)
        case owl.NegativeDataPropertyAssertion(property, one, value):
            return token(one), f"¬<{property.iri}>", literal_text(value)
    found = plain_statement(assertion)
    assert found is not None
    return found


def named_in(assertion: owl.Assertion) -> list[str]:
    """Whom the class expression of an assertion names."""
    if not isinstance(assertion, owl.ClassAssertion):
        return []
    return [part for part in parts(assertion.expression) if isinstance(part, str)]


def normal_text(expression: owl.ClassExpression) -> str:
    """A class expression with the operands of sets in order, each once."""
    return axiom_text(_sorted(expression))


def _sorted(value: Any) -> Any:
    match value:
        case owl.ObjectIntersectionOf(operands) | owl.ObjectUnionOf(operands):
            members = {axiom_text(member): member for member in map(_sorted, operands)}
            return type(value)(tuple(members[text] for text in sorted(members)))
        case owl.ObjectOneOf(individuals):
            return owl.ObjectOneOf(tuple(sorted(set(individuals))))
        case owl.ObjectSomeValuesFrom(property, filler) | owl.ObjectAllValuesFrom(property, filler):
            return type(value)(property, _sorted(filler))
        case owl.ObjectMinCardinality(n, property, filler) | owl.ObjectMaxCardinality(
            n, property, filler
        ):
            return type(value)(n, property, _sorted(filler))
        case owl.ObjectComplementOf(operand):
            return owl.ObjectComplementOf(_sorted(operand))
    return value
