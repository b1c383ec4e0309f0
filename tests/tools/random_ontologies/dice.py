"""Repeatable draws."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

V = TypeVar("V")


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

    def early(self, values: Sequence[V]) -> V:
        """A member, the first ones more often than the others: so that what is drawn apart meets."""
        return values[int(self._next() * self._next() * len(values))]

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
