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
    expression: ClassExpression
    individual: Individual


@dataclass(frozen=True, slots=True)
class ObjectPropertyAssertion:
    property: ObjectPropertyExpression
    subject: Individual
    object: Individual


@dataclass(frozen=True, slots=True)
class NegativeObjectPropertyAssertion:
    property: ObjectPropertyExpression
    subject: Individual
    object: Individual


@dataclass(frozen=True, slots=True)
class DataPropertyAssertion:
    property: DataProperty
    subject: Individual
    literal: Literal


@dataclass(frozen=True, slots=True)
class NegativeDataPropertyAssertion:
    property: DataProperty
    subject: Individual
    literal: Literal


@dataclass(frozen=True, slots=True)
class SameIndividual:
    """One pair; longer lists are split by the reader."""

    first: Individual
    second: Individual


@dataclass(frozen=True, slots=True)
class DifferentIndividuals:
    """One pair; longer lists are split by the reader."""

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
