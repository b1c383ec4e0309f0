"""The published profile of LUBM's data generator UBA, and draws from it that do not wander.

A range of the profile (Guo, Pan, Heflin: *LUBM: A Benchmark for OWL Knowledge Base Systems*, 2005) is drawn from evenly. The sums
over a few universities are what evaluations compare, so the draws are *stratified*: every range is dealt from a shuffled deck
with each value once, again and again, so that any sum of n draws is off its mean by less than one deck, for every seed.

>>> from itertools import islice
>>> sorted(islice(deck(random.Random(1), (7, 10)), 4))
[7, 8, 9, 10]
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

V = TypeVar("V")

#: Departments of a university.
DEPARTMENTS = (15, 25)
#: Faculty of a department, by rank.
FACULTY = {"FullProfessor": (7, 10), "AssociateProfessor": (10, 14), "AssistantProfessor": (8, 11), "Lecturer": (5, 7)}
#: Publications of one member of the faculty, by rank; and how many of those a graduate student has a hand in.
PUBLICATIONS = {"FullProfessor": (15, 20), "AssociateProfessor": (10, 18), "AssistantProfessor": (5, 10), "Lecturer": (0, 5)}
GRADUATE_PUBLICATIONS = (0, 5)
#: Courses that one member of the faculty teaches, of each of the two levels; nobody else teaches them.
COURSES = (1, 2)
RESEARCH_GROUPS = (10, 20)
#: Students per member of the faculty, drawn once per department.
UNDERGRADUATES_PER_FACULTY = (8.0, 14.0)
GRADUATES_PER_FACULTY = (3.0, 4.0)
#: Courses that one student takes.
UNDERGRADUATE_TAKES = (2, 4)
GRADUATE_TAKES = (1, 3)
#: Shares of the graduate students that assist in teaching (one course each, nobody else's) or research; disjoint.
TEACHING_ASSISTANTS = (1 / 5, 1 / 4)
RESEARCH_ASSISTANTS = (1 / 4, 1 / 3)
#: One undergraduate in so many has a professor as advisor; every graduate student has.
ADVISED = 5
#: Degrees come from this many universities, whether their own data is generated or not.
UNIVERSITIES = 1000
RESEARCH_INTERESTS = 30

# Two figures of the reference data that the profile's ranges alone do not fix: its first university has 15 departments, its first
# five have 93 together.
_FIRST = 15
_FIRST_FIVE = (91, 95)
_STRATA = 5


def below(rng: random.Random, n: int) -> int:
    """A number of 0 … n-1. Rests on `random.Random.random` alone, the one method whose sequence Python keeps across versions."""
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


def deck(rng: random.Random, bounds: tuple[int, int]) -> Iterator[int]:
    """Endless draws of low … high, each value once per round."""
    values = range(bounds[0], bounds[1] + 1)
    while True:
        yield from shuffle(rng, list(values))


def stratified(rng: random.Random, bounds: tuple[float, float]) -> Iterator[float]:
    """Endless draws between two bounds, one of each fifth of the interval per round."""
    low, high = bounds
    width = (high - low) / _STRATA
    for stratum in deck(rng, (0, _STRATA - 1)):
        yield low + width * (stratum + rng.random())


def departments(rng: random.Random) -> Iterator[int]:
    """How many departments the universities have, in their order.

    Every eleven universities have each number of the profile's range once. The first has 15, the first five between 91 and 95
    together, as the reference data of 1 and 5 universities has.
    """
    low, high = DEPARTMENTS
    rest = [n for n in range(low, high + 1) if n != _FIRST]
    while True:
        first = [_FIRST, *shuffle(rng, rest)]
        if _FIRST_FIVE[0] <= sum(first[:5]) <= _FIRST_FIVE[1]:
            break
    yield from first
    yield from deck(rng, DEPARTMENTS)
