"""Assertions: values about individuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from shiq.model.expressions import (
    ClassExpression,
    DataProperty,
    Individual,
    Literal,
    ObjectPropertyExpression,
)


@dataclass(frozen=True, slots=True)
class ClassAssertion:
    """expression(individual)."""

    expression: ClassExpression
    individual: Individual


@dataclass(frozen=True, slots=True)
class ObjectPropertyAssertion:
    """property(subject, object)."""

    property: ObjectPropertyExpression
    subject: Individual
    object: Individual


@dataclass(frozen=True, slots=True)
class NegativeObjectPropertyAssertion:
    """¬property(subject, object)."""

    property: ObjectPropertyExpression
    subject: Individual
    object: Individual


@dataclass(frozen=True, slots=True)
class DataPropertyAssertion:
    """property(subject, literal)."""

    property: DataProperty
    subject: Individual
    literal: Literal


@dataclass(frozen=True, slots=True)
class NegativeDataPropertyAssertion:
    """¬property(subject, literal)."""

    property: DataProperty
    subject: Individual
    literal: Literal


@dataclass(frozen=True, slots=True)
class SameIndividual:
    """Equality of one pair; readers split longer lists."""

    first: Individual
    second: Individual


@dataclass(frozen=True, slots=True)
class DifferentIndividuals:
    """Inequality of one pair; readers split longer lists."""

    first: Individual
    second: Individual


Assertion: TypeAlias = (
    ClassAssertion
    | ObjectPropertyAssertion
    | NegativeObjectPropertyAssertion
    | DataPropertyAssertion
    | NegativeDataPropertyAssertion
    | SameIndividual
    | DifferentIndividuals
)
