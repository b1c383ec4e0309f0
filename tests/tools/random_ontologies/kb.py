"""Random knowledge bases with insertions and deletions, inside SHIQ(D), for differential tests;
and how to shrink one.

A pool of assertions is drawn over few individuals, and some of it held back as insertions. So
what contradicts the pool is mostly spread over base and batch: the base is often consistent, the
union often is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from shiq.model import (
    Assertion,
    ClassAssertion,
    DataPropertyAssertion,
    DifferentIndividuals,
    Individual,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectPropertyAssertion,
    SameIndividual,
    Signature,
    TBox,
)
from shiq.model.abox import individuals_of
from tests.tools.random_ontologies.concepts import Concepts
from tests.tools.random_ontologies.dice import Dice
from tests.tools.random_ontologies.features import features_of
from tests.tools.random_ontologies.gadgets import Gadget, gadget, renamed, signature_of
from tests.tools.random_ontologies.tbox import FLAVOURS, PREFIX, Flavour, is_legal, random_tbox
from tests.tools.random_ontologies.told import PlainClashes
from tests.tools.random_ontologies.values import literal

_ASSERTIONS = {
    **{"class": 6.0, "complex": 1.0, "role": 6.0, "same": 0.5, "different": 0.8},
    **{"negative-role": 0.4, "data": 1.5, "negative-data": 0.5},
}


#: How often a gadget's name is one of the random names, and how often an axiom or assertion of it
#: is left out.
_SHARED = 0.25
_LEFT_OUT = 0.04
#: How many batches speak of one or two individuals alone, so that the rest has to be found along
#: the old role assertions.
_NARROW = 0.65
#: How many assertions the other batches hold back as insertions.
_HELD_BACK = (1, 2, 3, 3, 4, 5, 5, 6, 6, 7, 8)
#: How many of the assertions that contradict others at first sight are kept.
_PLAIN_CLASHES = 0.02


@dataclass(frozen=True)
class RandomKB:
    """``deletions`` come before ``insertions``; ``features`` say what occurs in it (`features`)."""

    tbox: TBox
    abox: tuple[Assertion, ...]
    insertions: tuple[Assertion, ...]
    deletions: tuple[Assertion, ...]
    features: frozenset[str]

    def union(self) -> tuple[Assertion, ...]:
        """(A less deletions) ∪ insertions: an assertion both deleted and inserted is inserted."""
        gone = set(self.deletions)
        return tuple(dict.fromkeys([*(a for a in self.abox if a not in gone), *self.insertions]))


def flavour_of(seed: int) -> Flavour:
    return FLAVOURS[seed % len(FLAVOURS)]


def random_kb(seed: int) -> RandomKB:
    """The knowledge base of that seed: 3–8 classes, 2–5 roles, 4–14 axioms, 3–8 individuals, 1–8
    insertions; a few more of each where a gadget is inside.
    """
    return random_kb_of(Dice(f"random kb {seed}"), flavour_of(seed))


def random_kb_of(dice: Dice, flavour: Flavour) -> RandomKB:
    """The same of a flavour, as the dice fall."""
    if flavour.gadgets:
        tbox, abox, insertions = _around_gadget(dice, flavour)
    else:
        tbox, concepts = random_tbox(dice, flavour, dice.between(4, 14))
        individuals = [f"{PREFIX}i{i}" for i in range(dice.pick((3, 4, 5, 6, 6, 7, 7, 8)))]
        wanted = dice.between(len(individuals) + 6, 2 * len(individuals) + 14)
        pool = _pool(dice, flavour, tbox, concepts, individuals, wanted)
        insertions = (
            _narrow(dice, pool[1:]) if dice.chance(_NARROW) else pool[1:][: dice.pick(_HELD_BACK)]
        )
        abox = [assertion for assertion in pool if assertion not in insertions]
    deletions: list[Assertion] = []
    if dice.chance(0.25):
        deletions = dice.shuffled(abox)[: dice.between(1, 3)]
        if dice.chance(0.15):
            insertions = insertions[:7] + deletions[:1]
    if dice.chance(0.1):
        insertions = [*insertions[:7], dice.pick(abox)]
    made = RandomKB(
        tbox, tuple(abox), tuple(dict.fromkeys(insertions)), tuple(deletions), frozenset()
    )
    return with_features(made)


def with_features(kb: RandomKB) -> RandomKB:
    return replace(kb, features=features_of(kb.tbox, kb.abox, kb.insertions, kb.deletions))


def _around_gadget(dice: Dice, flavour: Flavour) -> tuple[TBox, list[Assertion], list[Assertion]]:
    """T, A and A⁺ around a gadget: some of it is held back or left out, some of its names are
    among the random ones.
    """
    inside = gadget(dice.pick(flavour.gadgets))
    random, concepts = random_tbox(dice, flavour, dice.between(2, 5), most=3)
    individuals = [f"{PREFIX}i{i}" for i in range(max(len(inside.individuals), dice.between(3, 7)))]
    names = _names(dice, inside, random.signature, _SHARED)
    if not is_legal([renamed(axiom, names) for axiom in inside.axioms]):
        names = _names(dice, inside, random.signature, 0.0)
    names |= zip(inside.individuals, dice.shuffled(individuals))
    axioms = list(
        dict.fromkeys(
            renamed(axiom, names) for axiom in inside.axioms if not dice.chance(_LEFT_OUT)
        )
    )
    shuffled = dice.shuffled(inside.assertions)
    given = list(
        dict.fromkeys(
            renamed(assertion, names) for assertion in shuffled if not dice.chance(_LEFT_OUT)
        )
    )
    for axiom in random.axioms:
        if axiom not in axioms and is_legal([*axioms, axiom]):
            axioms.append(axiom)
    tbox = TBox(tuple(axioms), random.signature | signature_of(axioms, given))
    pool = _pool(dice, flavour, tbox, concepts, individuals, dice.between(1, 6), given)
    split = min(dice.pick((1, 1, 1, 2, 2, 3)), len(given))
    insertions = given[:split] + pool[1:][: dice.pick((0, 0, 0, 1, 2))]
    return tbox, [a for a in dice.shuffled(given + pool) if a not in insertions], insertions


def _names(dice: Dice, inside: Gadget, random: Signature, shared: float) -> dict[str, str]:
    """Names for a gadget's classes and properties: with a chance of ``shared`` random ones, else
    new ones.
    """
    names: dict[str, str] = {}
    for used, known, letter in (
        (inside.signature.classes, random.classes, "A"),
        (inside.signature.object_properties, random.object_properties, "r"),
        (inside.signature.data_properties, random.data_properties, "d"),
    ):
        for i, name in enumerate(sorted(used)):
            names[name] = f"{PREFIX}{letter}{len(known) + i}"
            if known and dice.chance(shared):
                names[name] = dice.early(sorted(known))
    return names


def _narrow(dice: Dice, pool: list[Assertion]) -> list[Assertion]:
    """One to three assertions that share an individual."""
    first = pool[0]
    about = set(individuals_of(first))
    near = [assertion for assertion in pool[1:] if about.issuperset(individuals_of(assertion))]
    return [first, *near[: dice.pick((0, 0, 1, 2))]]


def _pool(
    dice: Dice,
    flavour: Flavour,
    tbox: TBox,
    concepts: Concepts,
    individuals: list[Individual],
    wanted: int,
    given: Sequence[Assertion] = (),
) -> list[Assertion]:
    """``wanted`` assertions, most of which contradict neither each other nor ``given`` in a
    plain way.
    """
    weights = {
        kind: weight + flavour.assertions.get(kind, 0.0) for kind, weight in _ASSERTIONS.items()
    }
    if not concepts.vocabulary.data:
        weights |= {"data": 0.0, "negative-data": 0.0}
    pairs = _pairs(dice, flavour.shape, individuals)
    clashes = PlainClashes(tbox)
    pool: dict[Assertion, None] = {}
    attempts = 0
    while (len(pool) < wanted and attempts < 3 * wanted) or len(pool) < min(wanted, 3):
        attempts += 1
        assertion = _assertion(dice, dice.weighted(weights), concepts, individuals, pairs)
        # A TBox that contradicts whatever is said gets its few assertions all the same.
        if (
            attempts > 3 * wanted
            or dice.chance(_PLAIN_CLASHES)
            or not clashes.found_in([*given, *pool, assertion])
        ):
            pool[assertion] = None
    return dice.shuffled(list(pool))


def _pairs(
    dice: Dice, shape: str, individuals: list[Individual]
) -> list[tuple[Individual, Individual]]:
    """The pairs that role assertions are about, most of the time; fewer than there are, so that
    roles meet.
    """
    pairs = [
        (dice.pick(individuals), dice.pick(individuals)) for _ in range(len(individuals) // 2 + 1)
    ]
    if shape == "star":
        centre = dice.pick(individuals)
        pairs += ((centre, dice.pick(individuals)) for _ in range(3))
    elif shape == "path":
        pairs += pairwise(individuals)
    return pairs


def _assertion(
    dice: Dice,
    kind: str,
    concepts: Concepts,
    individuals: list[Individual],
    pairs: list[tuple[Individual, Individual]],
) -> Assertion:
    one = dice.pick(individuals)
    match kind:
        case "class":
            return ClassAssertion(
                concepts.literal_concept() if dice.chance(0.4) else concepts.name(), one
            )
        case "complex":
            return ClassAssertion(concepts.expression(), one)
        case "same":
            return SameIndividual(*dice.two(individuals))
        case "different":
            return DifferentIndividuals(*dice.two(individuals))
        case "data":
            return DataPropertyAssertion(dice.pick(concepts.vocabulary.data), one, literal(dice))
        case "negative-data":
            return NegativeDataPropertyAssertion(
                dice.pick(concepts.vocabulary.data), one, literal(dice)
            )
    subject, object = dice.pick(pairs) if dice.chance(0.85) else (one, dice.pick(individuals))
    role = dice.early(concepts.vocabulary.roles)
    if kind == "negative-role":
        return NegativeObjectPropertyAssertion(role, subject, object)
    return ObjectPropertyAssertion(role, subject, object)


def shrink(kb: RandomKB, failing: Callable[[RandomKB], bool]) -> RandomKB:
    """A knowledge base that still fails, from which no single axiom or assertion can be left out
    any more.

    ``failing`` holds of ``kb``; it is asked a few times as often as there are axioms and
    assertions.
    """
    smaller = kb
    while True:
        before = smaller
        for part in _PARTS:
            smaller = _without(smaller, part, failing)
        if smaller == before:
            return with_features(smaller)


_Part = tuple[
    Callable[[RandomKB], tuple[object, ...]], Callable[[RandomKB, tuple[Any, ...]], RandomKB]
]

_PARTS: tuple[_Part, ...] = (
    (lambda kb: kb.deletions, lambda kb, values: replace(kb, deletions=values)),
    (lambda kb: kb.insertions, lambda kb, values: replace(kb, insertions=values)),
    (lambda kb: kb.abox, lambda kb, values: replace(kb, abox=values)),
    (
        lambda kb: kb.tbox.axioms,
        lambda kb, values: replace(kb, tbox=replace(kb.tbox, axioms=values)),
    ),
)


def _without(kb: RandomKB, part: _Part, failing: Callable[[RandomKB], bool]) -> RandomKB:
    """Leaves out of one part what can be left out: halves first, then ever smaller runs."""
    values_of, with_values = part
    size = len(values_of(kb))
    while size > 0:
        start = 0
        while start < len(values := values_of(kb)):
            candidate = with_values(kb, values[:start] + values[start + size :])
            if failing(candidate):
                kb = candidate
            else:
                start += size
        size //= 2
    return kb
