"""Random class expressions and data ranges over a small vocabulary, inside SHIQ(D)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from shiq.model import (
    THING,
    XSD,
    Class,
    ClassExpression,
    DataAllValuesFrom,
    DataComplementOf,
    DataExactCardinality,
    DataHasValue,
    DataMaxCardinality,
    DataMinCardinality,
    DataOneOf,
    DataProperty,
    DataRange,
    DataSomeValuesFrom,
    Datatype,
    DatatypeRestriction,
    Literal,
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

V = TypeVar("V")

INTEGER = XSD + "integer"


class Dice:
    """Draws that rest on `random.Random.random` alone, whose sequence Python keeps across versions."""

    def __init__(self, seed: str) -> None:
        self._next = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        return self._next() < probability

    def between(self, low: int, high: int) -> int:
        return low + int(self._next() * (high - low + 1))

    def pick(self, values: Sequence[V]) -> V:
        return values[int(self._next() * len(values))]

    def two(self, values: Sequence[V]) -> tuple[V, V]:
        """Two different members."""
        first = int(self._next() * len(values))
        second = int(self._next() * (len(values) - 1))
        return values[first], values[second + (second >= first)]

    def weighted(self, weights: Mapping[V, float]) -> V:
        left = self._next() * sum(weights.values())
        for value, weight in weights.items():
            left -= weight
            if left < 0:
                return value
        return next(reversed(list(weights)))

    def shuffled(self, values: Sequence[V]) -> list[V]:
        result = list(values)
        for i in range(len(result) - 1, 0, -1):
            j = int(self._next() * (i + 1))
            result[i], result[j] = result[j], result[i]
        return result


@dataclass(frozen=True)
class Vocabulary:
    """What a random ontology speaks of. ``simple`` are the roles that may be counted."""

    classes: tuple[Class, ...]
    roles: tuple[ObjectProperty, ...]
    simple: tuple[ObjectProperty, ...]
    data: tuple[DataProperty, ...]


def integer(n: int) -> Literal:
    return Literal(str(n), INTEGER)


def literal(dice: Dice) -> Literal:
    """A value; few different ones, so that they meet."""
    return integer(dice.between(0, 5)) if dice.chance(0.75) else Literal(dice.pick(("x", "y")))


def data_range(dice: Dice) -> DataRange:
    kind = dice.weighted({"facets": 5.0, "integer": 1.0, "string": 1.0, "values": 2.0, "complement": 1.0})
    match kind:
        case "integer":
            return Datatype(INTEGER)
        case "string":
            return Datatype(XSD + "string")
        case "values":
            return DataOneOf(tuple(dict.fromkeys(literal(dice) for _ in range(dice.between(1, 3)))))
        case "complement":
            return DataComplementOf(data_range(dice))
    low = dice.between(0, 4)
    lower = (XSD + dice.pick(("minInclusive", "minExclusive")), integer(low))
    upper = (XSD + dice.pick(("maxInclusive", "maxExclusive")), integer(low + dice.between(0, 2)))
    facets = dice.pick(((lower,), (upper,), (lower, upper)))
    return DatatypeRestriction(Datatype(INTEGER), facets)


@dataclass(frozen=True)
class Concepts:
    """Draws class expressions; ``weights`` by constructor name, as in `CONSTRUCTORS`."""

    dice: Dice
    vocabulary: Vocabulary
    weights: Mapping[str, float]
    inverses: float = 0.2

    def name(self) -> Class:
        return self.dice.pick(self.vocabulary.classes)

    def role(self, simple: bool = False) -> ObjectPropertyExpression:
        role = self.dice.pick(self.vocabulary.simple if simple else self.vocabulary.roles)
        return ObjectInverseOf(role) if self.dice.chance(self.inverses) else role

    def literal_concept(self) -> ClassExpression:
        return ObjectComplementOf(self.name()) if self.dice.chance(0.3) else self.name()

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
                return ObjectIntersectionOf((self.expression(depth - 1), self.expression(depth - 1)))
            case "or":
                return ObjectUnionOf((self.expression(depth - 1), self.expression(depth - 1)))
            case "not":
                return ObjectComplementOf(self.expression(depth - 1))
            case "some":
                return ObjectSomeValuesFrom(self.role(), self.filler(depth))
            case "all":
                return ObjectAllValuesFrom(self.role(), self.filler(depth, top=0.0))
            case "min":
                return ObjectMinCardinality(dice.pick((1, 2, 2, 3)), self.role(simple=True), self.filler(depth))
            case "max":
                return ObjectMaxCardinality(dice.pick((1, 1, 2, 2, 3)), self.role(simple=True), self.filler(depth))
            case "exact":
                return ObjectExactCardinality(dice.pick((1, 2)), self.role(simple=True), self.filler(depth))
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
