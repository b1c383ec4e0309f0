"""What runs along a chain is done by a work list: equal to the reference, and no round over arrays for each step (THEORY,
"Maintenance of the told sets" and "The loop")."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from test_local import Case, check, counting_case, deletion_case
from test_model_columns import check_equal

from abox_ops.modules.decide import Decider
from abox_ops.patch import asking_list
from abox_ops.patch.asking_list import AskingList
from abox_ops.told import region
from abox_ops.told.work_list import Pace, WorkList
from shiq.model import (
    THING,
    Assertion,
    Axiom,
    Class,
    ClassAssertion,
    DifferentIndividuals,
    DisjointClasses,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    SameIndividual,
    SubClassOf,
    TBox,
)
from shiq.reasoner import create
from tests.tools.random_ontologies.kb import random_kb

A, B, C = (Class(f"urn:{x}") for x in "ABC")
R, S = (ObjectProperty(f"urn:{x}") for x in "rs")


@pytest.fixture(scope="module")
def decider() -> Iterator[Decider]:
    reasoner = create("own")
    yield Decider(reasoner)
    reasoner.close()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lists from the first round on, over as little as may be fetched at a time; the steps of each."""
    taken: list[int] = []
    monkeypatch.setattr(Pace, "is_slow", lambda self, changed, everything: changed > 0)
    monkeypatch.setattr(Pace, "judge", lambda self, steps: taken.append(steps))
    monkeypatch.setattr(region, "_AROUND", 2)
    return taken


def chain_case(seed: int) -> Case:
    """Literals and equalities that run along chains, some of them closed to rings, with what gets in their way."""
    dice = random.Random(seed)
    names = [A, B, C]

    def role() -> Any:
        chosen = dice.choice((R, R, S))
        return chosen if dice.random() < 0.8 else ObjectInverseOf(chosen)

    def filler() -> Any:
        return dice.choice([*names, *names, ObjectUnionOf(tuple(dice.sample(names, 2))), ObjectComplementOf(dice.choice(names))])

    axioms: list[Axiom] = [SubClassOf(dice.choice(names), ObjectAllValuesFrom(role(), filler())) for _ in range(3)]
    if dice.random() < 0.5:
        axioms.append(SubClassOf(dice.choice([THING, *names]), ObjectMaxCardinality(1, role(), dice.choice([THING, *names]))))
    if dice.random() < 0.4:
        axioms.append(DisjointClasses(tuple(dice.sample(names, 2))))
    chains = [[f"urn:{x}{i}" for i in range(dice.randint(2, 5))] for x in "ab"]
    abox: list[Assertion] = []
    for chain in chains:
        abox += (ObjectPropertyAssertion(dice.choice((R, R, R, S)), *ends) for ends in pairwise(chain))
        if dice.random() < 0.2:
            abox.append(ObjectPropertyAssertion(R, chain[-1], chain[0]))
    everyone = [i for chain in chains for i in chain]
    for _ in range(dice.randint(0, 3)):
        name = dice.choice(names)
        abox.append(ClassAssertion(name if dice.random() < 0.5 else ObjectComplementOf(name), dice.choice(everyone)))
    if dice.random() < 0.2:
        abox.append(DifferentIndividuals(*dice.sample(everyone, 2)))
    if dice.random() < 0.2:
        abox.append(SameIndividual(*dice.sample(everyone, 2)))
    batch: list[Assertion] = [ClassAssertion(dice.choice(names), chains[0][0])]
    if dice.random() < 0.4:
        batch.append(SameIndividual(chains[0][0], chains[1][0]))
    if dice.random() < 0.3:
        batch.append(ObjectPropertyAssertion(R, *dice.sample([*everyone, "urn:new"], 2)))
    deletions = dice.sample(abox, 1) if dice.random() < 0.2 else []
    return Case(TBox(tuple(dict.fromkeys(axioms))), tuple(dict.fromkeys(abox)), tuple(batch), tuple(deletions))


def compare_all(seeds: range, decider: Decider) -> None:
    """Asserts that lists give what the reference gives, under both criteria."""
    for seed in seeds:
        case, kb = chain_case(seed), random_kb(seed)
        check(case, ["clausal"])
        check(Case(kb.tbox, kb.abox, kb.insertions, kb.deletions), ["clausal"])
        for other in (deletion_case, counting_case):
            check(other(seed), ["clausal"])
        if not case.deletions:
            check_equal(case.tbox, case.abox, case.insertions, decider)
        check_equal(kb.tbox, kb.abox, kb.insertions, decider)


def _runs_on(self: AskingList, elements: Ints) -> None:
    """Brings in what the elements as they came in ask for, and goes on whether or not told⁺ is closed."""
    frontier = self.state.graph.key[elements].tolist()
    while frontier:
        self.walk.active.update(frontier)
        self._changed.update(dict.fromkeys(frontier))
        frontier = self._turn(frontier)


@pytest.mark.parametrize("start", [0, 20, pytest.param(40, marks=pytest.mark.slow)])
def test_equal_to_the_reference(start: int, decider: Decider, at_once: list[int]) -> None:
    compare_all(range(start, start + 20 if start < 40 else 1000), decider)
    assert sum(at_once) > 100


_AFTER = WorkList._after
PLANTED: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "told⁺ does not come back from those that came in": (AskingList, "run", _runs_on),
    "what stood is asked for": (AskingList, "_is_new", lambda self, key: True),
    "elements that clash ask": (asking_list, "clashes", lambda label: False),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str, decider: Decider, at_once: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*PLANTED[name])
    with pytest.raises(AssertionError):
        compare_all(range(200), decider)
