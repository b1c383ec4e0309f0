"""Random knowledge bases of repeated pieces, at any size, with a batch and one line that may
flood them.

A seed fixes the TBox, the piece, how pieces are linked, and the line. Only the number of pieces
depends on ``size``, so that the cost of the line can be compared between sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from shiq.model import (
    NOTHING,
    THING,
    Assertion,
    Axiom,
    Class,
    ClassAssertion,
    ClassExpression,
    DisjointClasses,
    FunctionalObjectProperty,
    ObjectAllValuesFrom,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    SameIndividual,
    SubClassOf,
    TBox,
)
from tests.tools.random_ontologies.concepts import Concepts
from tests.tools.random_ontologies.dice import Dice
from tests.tools.random_ontologies.gadgets import signature_of
from tests.tools.random_ontologies.tbox import FLAVOURS, is_legal, random_tbox

_FLAVOURS = tuple(
    flavour
    for flavour in FLAVOURS
    if flavour.name in ("mixed", "counting", "transitivity", "identity")
)
#: More than any base has individuals.
BIG = 10**9


@dataclass(frozen=True)
class RecurringWorld:
    """``line``: the assertion to plant in ``batch``. ``kind``, ``shape``: its kind, and how the
    pieces are linked.
    """

    tbox: TBox
    base: tuple[Assertion, ...]
    batch: tuple[Assertion, ...]
    line: Assertion
    kind: str
    shape: str


def random_world(seed: int, size: int) -> RecurringWorld:
    """The world of that seed, with ``size`` pieces (at least 4)."""
    dice = Dice(f"recurring world {seed}")
    flavour = dice.pick(_FLAVOURS)
    random, concepts = random_tbox(dice, flavour, dice.between(2, 6), most=3)
    vocabulary = concepts.vocabulary
    axioms = list(random.axioms)
    for axiom in _MECHANISMS[dice.pick(sorted(_MECHANISMS))](dice, concepts):
        if axiom not in axioms and is_legal([*axioms, axiom]):
            axioms.append(axiom)
    shape = dice.pick(sorted(_SHAPES))
    link, leaf = vocabulary.roles[0], dice.pick(vocabulary.roles)
    inner, outer = _pattern(dice, concepts), _pattern(dice, concepts)

    def piece(i: int, name: str) -> Iterator[Assertion]:
        """The leaf of piece ``i``, and the classes of both its individuals."""
        yield ObjectPropertyAssertion(leaf, _node(i), name)
        for individual, pattern in ((_node(i), inner), (name, outer)):
            if pattern[i % len(pattern)] is not None:
                yield ClassAssertion(pattern[i % len(pattern)], individual)

    links = (ObjectPropertyAssertion(link, _node(i), _node(j)) for i, j in _SHAPES[shape](size))
    base = dict.fromkeys([*links, *(a for i in range(size) for a in piece(i, f"urn:leaf{i}"))])
    batch = dict.fromkeys(a for i in (0, size // 2, size - 1) for a in piece(i, f"urn:new{i}"))
    kind = dice.pick(sorted(_LINES))
    line = _LINES[kind](dice, concepts, size)
    if kind == "contradiction" and (disjoint := _disjoint_names(axioms)):
        # Told literals go on where clauses contradict, which an asserted owl:Nothing does not make
        # them do.
        first, line = (ClassAssertion(name, _node(size // 2)) for name in disjoint)
        batch[first] = None
    tbox = TBox(tuple(axioms), random.signature | signature_of(axioms, [*base, line]))
    return RecurringWorld(
        tbox, tuple(base), tuple(a for a in batch if a not in base), line, kind, shape
    )


def _disjoint_names(axioms: Sequence[Axiom]) -> tuple[ClassExpression, ClassExpression] | None:
    """Two classes that an axiom makes disjoint."""
    pairs = (a.expressions for a in axioms if isinstance(a, DisjointClasses))
    return next(((p[0], p[1]) for p in pairs if all(isinstance(x, Class) for x in p[:2])), None)


def _node(i: int) -> str:
    return f"urn:node{i}"


def _pattern(dice: Dice, concepts: Concepts) -> list[Class | None]:
    """The classes of consecutive pieces, over and over."""
    return [concepts.name() if dice.chance(0.6) else None for _ in range(dice.between(1, 3))]


# --- what makes a flood possible ------------------------------------------------------------------


def _alternation(dice: Dice, concepts: Concepts) -> list[Axiom]:
    """Classes that go on along a role with a choice at every step, of which one end is closed."""
    role, first = concepts.vocabulary.roles[0], dice.shuffled(concepts.vocabulary.classes)[:3]
    axioms: list[Axiom] = [DisjointClasses((first[0], first[1]))]
    for sub, others in ((first[0], (0, 2)), (first[2], (0, 1)), (first[1], (0,))):
        fillers: tuple[ClassExpression, ...] = tuple(first[i] for i in others)
        axioms.append(
            SubClassOf(
                sub,
                ObjectAllValuesFrom(
                    role, ObjectUnionOf(fillers) if len(fillers) > 1 else fillers[0]
                ),
            )
        )
    return axioms


def _bounds(dice: Dice, concepts: Concepts) -> list[Axiom]:
    """Numbers of neighbours that make merge classes possible, beside a pair of disjoint classes."""
    role, two = dice.pick(concepts.vocabulary.roles), dice.two(concepts.vocabulary.classes)
    sub = concepts.name() if dice.chance(0.6) else THING
    filler = concepts.name() if dice.chance(0.5) else THING
    return [
        SubClassOf(sub, ObjectMaxCardinality(dice.pick((1, 2, 3)), role, filler)),
        DisjointClasses(two),
    ]


def _propagation(dice: Dice, concepts: Concepts) -> list[Axiom]:
    """A class that every individual passes on."""
    name = concepts.name()
    return [SubClassOf(name, ObjectAllValuesFrom(concepts.vocabulary.roles[0], name))]


def _lists(dice: Dice, concepts: Concepts) -> list[Axiom]:
    """A functional role: equal heads make equal tails."""
    return [
        FunctionalObjectProperty(concepts.vocabulary.roles[0]),
        DisjointClasses(dice.two(concepts.vocabulary.classes)),
    ]


_MECHANISMS: dict[str, Callable[[Dice, Concepts], list[Axiom]]] = {
    "alternation": _alternation,
    "bounds": _bounds,
    "propagation": _propagation,
    "lists": _lists,
}


# --- how pieces are linked ------------------------------------------------------------------------


def _tree(size: int) -> Iterator[tuple[int, int]]:
    return (((i - 1) // 2, i) for i in range(1, size))


def _grid(size: int) -> Iterator[tuple[int, int]]:
    """A ladder: two rails and rungs."""
    yield from ((i, i + 2) for i in range(size - 2))
    yield from ((i, i + 1) for i in range(0, size - 1, 2))


_SHAPES: dict[str, Callable[[int], Iterator[tuple[int, int]]]] = {
    "chain": lambda size: ((i, i + 1) for i in range(size - 1)),
    "ring": lambda size: ((i, (i + 1) % size) for i in range(size)),
    "tree": _tree,
    "ladder": _grid,
    "star": lambda size: ((0, i) for i in range(1, size)),
    "sink": lambda size: ((i, 0) for i in range(1, size)),
    "cells": lambda size: ((i, i - i % 3) for i in range(size) if i % 3),
}


# --- the line -------------------------------------------------------------------------------------


def _contradiction(dice: Dice, concepts: Concepts, size: int) -> Assertion:
    """A class that nothing can have, at an individual in the middle."""
    return ClassAssertion(NOTHING, _node(size // 2))


def _class_at_head(dice: Dice, concepts: Concepts, size: int) -> Assertion:
    return ClassAssertion(concepts.name(), _node(0))


def _merge(dice: Dice, concepts: Concepts, size: int) -> Assertion:
    return SameIndividual(_node(0), _node(size // 2 if dice.chance(0.5) else 1))


def _link(dice: Dice, concepts: Concepts, size: int) -> Assertion:
    return ObjectPropertyAssertion(dice.pick(concepts.vocabulary.roles), _node(0), _node(size // 2))


def _big_number(dice: Dice, concepts: Concepts, size: int) -> Assertion:
    if not concepts.vocabulary.simple:
        return _class_at_head(dice, concepts, size)
    role = dice.pick(concepts.vocabulary.simple)
    return ClassAssertion(ObjectMinCardinality(BIG, role, concepts.name()), _node(0))


_LINES: dict[str, Callable[[Dice, Concepts, int], Assertion]] = {
    "contradiction": _contradiction,
    "class at the head": _class_at_head,
    "merge": _merge,
    "link": _link,
    "big number": _big_number,
}
