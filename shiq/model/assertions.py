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
    """Class assertion C(a): ``individual`` is a member of ``expression``."""

    expression: ClassExpression
    individual: Individual


@dataclass(frozen=True, slots=True)
class ObjectPropertyAssertion:
    """Role assertion R(a, b) between individuals."""

    property: ObjectPropertyExpression
    subject: Individual
    object: Individual


@dataclass(frozen=True, slots=True)
class NegativeObjectPropertyAssertion:
    """Negative role assertion ¬R(a, b) between individuals."""

    property: ObjectPropertyExpression
    subject: Individual
    object: Individual


@dataclass(frozen=True, slots=True)
class DataPropertyAssertion:
    """Data property assertion: ``subject`` has the value ``literal``."""

    property: DataProperty
    subject: Individual
    literal: Literal


@dataclass(frozen=True, slots=True)
class NegativeDataPropertyAssertion:
    """Negative data property assertion: ``subject`` does not have the value ``literal``."""

    property: DataProperty
    subject: Individual
    literal: Literal


@dataclass(frozen=True, slots=True)
class SameIndividual:
    """Equality a = b of two individuals; readers split longer lists into pairs."""

    first: Individual
    second: Individual


@dataclass(frozen=True, slots=True)
class DifferentIndividuals:
    """Inequality a ≠ b of two individuals; readers split longer lists into pairs."""

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
