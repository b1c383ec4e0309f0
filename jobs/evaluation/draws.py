"""Draws that do not wander: what generated data takes from its profile.

The sums over a few universities are what evaluations compare, so draws are *stratified*: cards
are dealt from a shuffled deck, each once, again and again, so that any sum of n draws is off its
mean by less than one deck, for every seed.

>>> from itertools import islice
>>> sorted(islice(deck(random.Random(1), (7, 10)), 4))
[7, 8, 9, 10]
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

V = TypeVar("V")

_STRATA = 5


def below(rng: random.Random, n: int) -> int:
    """A number of 0 … n-1. Rests on `random.Random.random` alone, the one method whose sequence
    Python keeps across versions.
    """
    return int(rng.random() * n)


def shuffle(rng: random.Random, values: list[V]) -> list[V]:
    """Shuffles in place, and hands the list back."""
    for i in range(len(values) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        values[i], values[j] = values[j], values[i]
    return values


def sample(rng: random.Random, population: Sequence[V], k: int) -> list[V]:
    """``k`` members at distinct places; for a ``k`` that is small beside the population."""
    n = len(population)
    chosen: dict[int, None] = {}
    while len(chosen) < k:
        chosen[int(rng.random() * n)] = None
    return [population[i] for i in chosen]


def dealt(rng: random.Random, cards: Iterable[V]) -> Iterator[V]:
    """Endless draws from a deck of those cards, each card once per round."""
    cards = tuple(cards)
    while True:
        yield from shuffle(rng, list(cards))


def deck(rng: random.Random, bounds: tuple[int, int]) -> Iterator[int]:
    """Endless draws of low … high, each value once per round."""
    return dealt(rng, range(bounds[0], bounds[1] + 1))


def stratified(
    rng: random.Random, bounds: tuple[float, float], strata: int = _STRATA
) -> Iterator[float]:
    """Endless draws between two bounds, one of each stratum of the interval per round."""
    low, high = bounds
    width = (high - low) / strata
    for stratum in deck(rng, (0, strata - 1)):
        yield low + width * (stratum + rng.random())
