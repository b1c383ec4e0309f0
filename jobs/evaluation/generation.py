"""What the generators of benchmark data share: how the data is written, counted and reported.

Draws that do not wander: what generated data takes from its profile.

The sums over a few universities are what evaluations compare, so draws are *stratified*: cards
are dealt from a shuffled deck, each once, again and again, so that any sum of n draws is off its
mean by less than one deck, for every seed.

>>> from itertools import islice
>>> sorted(islice(deck(random.Random(1), (7, 10)), 4))
[7, 8, 9, 10]
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from shiq.functional import parse_functional
from shiq.model import RDF, XSD, Axiom

RDF_TYPE = f"<{RDF}type>"
#: Called with the parts (departments and the like) written and the parts in all.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TripleCounts:
    """Triples by kind, of N-Triples lines whose literals are plain strings."""

    triples: int = 0
    class_assertions: int = 0
    data_assertions: int = 0

    @property
    def role_assertions(self) -> int:
        return self.triples - self.class_assertions - self.data_assertions

    def plus(self, lines: list[str]) -> TripleCounts:
        """With what ``lines`` say."""
        classes, data = (
            sum(RDF_TYPE in line for line in lines),
            sum(line.endswith('" .\n') for line in lines),
        )
        return TripleCounts(
            self.triples + len(lines), self.class_assertions + classes, self.data_assertions + data
        )


@dataclass(frozen=True, kw_only=True)
class GenerationReport(TripleCounts):
    """What a generator wrote. Counts are of distinct triples; the ``culprits`` are among the
    ``insertions``.
    """

    out: Path
    departments: int
    files: tuple[str, ...]
    seconds: float
    insertions: int = 0
    faults: int = 0
    culprits: int = 0


def write_triples(
    path: Path, parts: Iterable[list[str]], total: int, progress: Progress | None
) -> TripleCounts:
    """Writes N-Triples lines part by part, gzipped: the same bytes for the same lines, with the
    same zlib.
    """
    counts = TripleCounts()
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=5, fileobj=raw, mtime=0) as file,
    ):
        for done, lines in enumerate(parts, 1):
            file.write("".join(lines).encode())
            counts = counts.plus(lines)
            if progress is not None:
                progress(done, total)
    return counts


def stated(namespace: str, axioms: Iterable[str]) -> tuple[Axiom, ...]:
    """``axioms`` in functional syntax, in which ``:`` stands for ``namespace``."""
    text = f"Prefix(:=<{namespace}>) Prefix(xsd:=<{XSD}>) Ontology({' '.join(axioms)})"
    return parse_functional(text, namespace, "").tbox.axioms


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
