"""Random class expressions and data ranges over a small vocabulary, inside SHIQ(D)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from shiq.model import (
    THING,
    Class,
    ClassExpression,
    DataAllValuesFrom,
    DataExactCardinality,
    DataHasValue,
    DataMaxCardinality,
    DataMinCardinality,
    DataProperty,
    DataSomeValuesFrom,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectPropertyExpression,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
)
from tests.tools.random_ontologies.dice import Dice
from tests.tools.random_ontologies.values import data_range, literal


@dataclass(frozen=True)
class Vocabulary:
    """What a random ontology speaks of. ``simple`` are the roles that may be counted."""

    classes: tuple[Class, ...]
    roles: tuple[ObjectProperty, ...]
    simple: tuple[ObjectProperty, ...]
    data: tuple[DataProperty, ...]


@dataclass(frozen=True)
class Concepts:
    """Draws class expressions; ``weights`` by constructor name."""

    dice: Dice
    vocabulary: Vocabulary
    weights: Mapping[str, float]
    inverses: float = 0.2

    def without(self, name: Class) -> Concepts:
        """The same, but for one name."""
        others = tuple(cls for cls in self.vocabulary.classes if cls != name)
        return replace(self, vocabulary=replace(self.vocabulary, classes=others))

    def name(self) -> Class:
        return self.dice.early(self.vocabulary.classes)

    def role(self, simple: bool = False) -> ObjectPropertyExpression:
        role = self.dice.early(self.vocabulary.simple if simple else self.vocabulary.roles)
        return ObjectInverseOf(role) if self.dice.chance(self.inverses) else role

    def literal_concept(self) -> ClassExpression:
        return ObjectComplementOf(self.name()) if self.dice.chance(0.2) else self.name()

    def filler(self, depth: int, top: float = 0.25) -> ClassExpression:
        if self.dice.chance(top):
            return THING
        return self.expression(depth - 1) if self.dice.chance(0.25) else self.literal_concept()

    def expression(self, depth: int = 2) -> ClassExpression:
        """An expression at most so deep."""
        if depth <= 0:
            return self.literal_concept()
        weights = {c: w for c, w in self.weights.items() if self._possible(c)}
        return self.restriction(self.dice.weighted(weights), depth)

    def _possible(self, constructor: str) -> bool:
        if constructor in ("min", "max", "exact"):
            return bool(self.vocabulary.simple)
        return not constructor.startswith("data") or bool(self.vocabulary.data)

    def restriction(self, constructor: str, depth: int = 1) -> ClassExpression:
        """An expression with that constructor outermost."""
        dice = self.dice
        match constructor:
            case "and":
                return ObjectIntersectionOf(
                    (self.expression(depth - 1), self.expression(depth - 1))
                )
            case "or":
                return ObjectUnionOf((self.expression(depth - 1), self.expression(depth - 1)))
            case "not":
                return ObjectComplementOf(self.expression(depth - 1))
            case "some":
                return ObjectSomeValuesFrom(self.role(), self.filler(depth))
            case "all":
                return ObjectAllValuesFrom(self.role(), self.filler(depth, top=0.0))
            case "min":
                return ObjectMinCardinality(
                    dice.pick((1, 2, 2, 3)), self.role(simple=True), self.filler(depth)
                )
            case "max":
                return ObjectMaxCardinality(
                    dice.pick((1, 1, 2, 2, 3)), self.role(simple=True), self.filler(depth)
                )
            case "exact":
                return ObjectExactCardinality(
                    dice.pick((1, 2)), self.role(simple=True), self.filler(depth)
                )
        if constructor.startswith("data"):
            return self._data(constructor)
        return self.literal_concept()

    def _data(self, constructor: str) -> ClassExpression:
        property = self.dice.pick(self.vocabulary.data)
        n = self.dice.pick((1, 1, 2))
        match constructor:
            case "data-some":
                return DataSomeValuesFrom(property, data_range(self.dice))
            case "data-all":
                return DataAllValuesFrom(property, data_range(self.dice))
            case "data-min":
                return DataMinCardinality(n, property, data_range(self.dice))
            case "data-max":
                return DataMaxCardinality(n, property, data_range(self.dice))
            case "data-exact":
                return DataExactCardinality(n, property, data_range(self.dice))
            case "data-value":
                return DataHasValue(property, literal(self.dice))
        raise ValueError(f"no constructor {constructor}")
