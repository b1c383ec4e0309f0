"""What runs along a chain is done by a work list: equal to the reference, and no round over
arrays for each step (THEORY, "Maintenance of the told sets" and "The loop").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from test_local import Case, chain_case, check, counting_case, deletion_case
from test_model_columns import check_equal
from test_told_maintenance import KINDS, differ

from shiq.abox_ops.counting.merge_classes import MergeClasses
from shiq.abox_ops.engine import Inquiry
from shiq.abox_ops.index import deletion
from shiq.abox_ops.labels.label_numbers import RolePropagation
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.patch import told_plus
from shiq.abox_ops.patch.told_plus import ToldPlusWorkList
from shiq.abox_ops.snapshot_delta import compute_told_union
from shiq.abox_ops.told import element_cache
from shiq.abox_ops.told.element_cache import ElementCache
from shiq.abox_ops.told.maintenance import _OutwardWalk
from shiq.abox_ops.told.told_literals import RoundSizes
from shiq.abox_ops.told.work_list import WorkList
from shiq.columns.arrays import Ints
from shiq.model import (
    Assertion,
    Class,
    ClassAssertion,
    FunctionalObjectProperty,
    ObjectAllValuesFrom,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    SameIndividual,
    SubClassOf,
    TBox,
)
from shiq.model.abox import abox_of
from tests.tools.random_ontologies.kb import random_kb

A, B, C = (Class(f"urn:{x}") for x in "ABC")
R, S = (ObjectProperty(f"urn:{x}") for x in "rs")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lists from the first round on, over as little as may be fetched at a time; the steps of each."""
    taken: list[int] = []
    monkeypatch.setattr(
        RoundSizes, "should_use_work_list", lambda self, changed, everything: changed > 0
    )
    monkeypatch.setattr(RoundSizes, "note_list_steps", lambda self, steps: taken.append(steps))
    monkeypatch.setattr(element_cache, "_AROUND", 2)
    return taken


def compare_chain(seed: int, decider: Decider) -> None:
    case = chain_case(seed)
    check(case, ["clausal"])
    if not case.deletions:
        check_equal(case.tbox, case.abox, case.insertions, decider)


def compare_all(seeds: range, decider: Decider) -> None:
    """Asserts that lists give what the reference gives, under both criteria."""
    for seed in seeds:
        compare_chain(seed, decider)
        kb = random_kb(seed)
        check(Case(kb.tbox, kb.abox, kb.insertions, kb.deletions), ["clausal"])
        for other in (deletion_case, counting_case):
            check(other(seed), ["clausal"])
        check_equal(kb.tbox, kb.abox, kb.insertions, decider)


def _runs_on(self: ToldPlusWorkList, elements: Ints) -> None:
    """Brings in what the elements as they came in ask for, and goes on whether or not told⁺ is
    closed.
    """
    frontier = self.state.graph.key[elements].tolist()
    while frontier:
        self.walk.active_keys.update(frontier)
        self._changed_keys.update(dict.fromkeys(frontier))
        frontier = self._take_turn(frontier)


@pytest.mark.parametrize("start", [0, pytest.param(20, marks=pytest.mark.slow)])
def test_equal_to_the_reference(start: int, decider: Decider, at_once: list[int]) -> None:
    compare_all(range(start, 1000 if start else 20), decider)
    assert sum(at_once) > 100


PLANTED: dict[str, tuple[int, object, str, Callable[..., Any]]] = {
    "told⁺ does not come back from those that came in": (87, ToldPlusWorkList, "run", _runs_on),
    "what stood is asked for": (11, ToldPlusWorkList, "_differs_from_base", lambda self, key: True),
    "elements that clash ask": (31, told_plus, "clashes", lambda label: False),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(
    name: str, decider: Decider, at_once: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, *planted = PLANTED[name]
    compare_chain(seed, decider)
    monkeypatch.setattr(*planted)
    with pytest.raises(AssertionError):
        compare_chain(seed, decider)


# --- how much is done -----------------------------------------------------------------------------


@dataclass
class Work:
    """What a check did: ``rounds`` over arrays, ``counts`` of all of I, ``fetches`` and
    ``steps`` of walks.
    """

    rounds: int = 0
    counts: int = 0
    fetches: int = 0
    steps: int = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    found = Work()

    def counted(owner: Any, function: str, field: str) -> None:
        before = getattr(owner, function)

        def call(*arguments: Any, **settings: Any) -> Any:
            setattr(found, field, getattr(found, field) + 1)
            return before(*arguments, **settings)

        monkeypatch.setattr(owner, function, call)

    counted(RolePropagation, "send", "rounds")
    counted(MergeClasses, "__init__", "counts")
    counted(ElementCache, "_fetch_with_nearby", "fetches")
    counted(WorkList, "_send_along", "steps")
    return found


def chain(name: str, length: int, order: Callable[[int], int] = int) -> list[Assertion]:
    """R from each element to the next; ``order``: how they are named."""
    return [
        ObjectPropertyAssertion(R, f"urn:{name}{order(i):05}", f"urn:{name}{order(i + 1):05}")
        for i in range(length)
    ]


def scattered(i: int) -> int:
    """Names of which those of neighbours are far from each other."""
    return i * 7919 % 10_007


EVERYWHERE = TBox((SubClassOf(A, ObjectAllValuesFrom(R, A)),))
EITHER = TBox(
    (
        SubClassOf(A, ObjectAllValuesFrom(R, ObjectUnionOf((A, B)))),
        SubClassOf(B, ObjectAllValuesFrom(R, A)),
    )
)
FUNCTIONAL = TBox((FunctionalObjectProperty(R),))


def two_lists(length: int) -> list[Assertion]:
    return [*chain("a", length), *chain("b", length)]


CHAINS: dict[str, tuple[TBox, Callable[[int], list[Assertion]], Assertion]] = {
    "a class that runs along": (
        EVERYWHERE,
        lambda n: chain("a", n),
        ClassAssertion(A, "urn:a00000"),
    ),
    "far apart in the base": (
        EVERYWHERE,
        lambda n: chain("a", n, scattered),
        ClassAssertion(A, "urn:a00000"),
    ),
    "a clause that asks for the next": (
        EITHER,
        lambda n: chain("a", n),
        ClassAssertion(A, "urn:a00000"),
    ),
    "two lists": (FUNCTIONAL, two_lists, SameIndividual("urn:a00000", "urn:b00000")),
}


#: Under `model`, a disjunction is left to a residual.
BOTH = [
    (name, c)
    for name in CHAINS
    for c in ("model", "clausal")
    if (CHAINS[name][0], c) != (EITHER, "model")
]


@pytest.mark.parametrize(("name", "criterion"), BOTH)
def test_a_chain_takes_a_step_an_element_and_no_round(
    name: str, criterion: str, decider: Decider, work: Work
) -> None:
    tbox, base_of, inserted = CHAINS[name]
    found = {}
    for length in (200, 800):
        base = LocalKnowledgeBase.build(tbox, abox_of(base_of(length)))
        _ = base.certify(Inquiry(decider.decide)) if criterion == "model" else base.index
        work.__init__()  # type: ignore[misc]
        if criterion == "model":
            add_set = base.decide_by_patch(
                abox_of([inserted]), abox_of([]), Inquiry(decider.decide)
            )[0]
        else:
            add_set = base.add_set(abox_of([inserted]), abox_of([]))
        assert add_set.pulled_in >= length - 1
        found[length] = Work(**vars(work))
    less, more = found[200], found[800]
    assert more.rounds <= less.rounds + 2 and more.counts <= less.counts + 2
    assert more.fetches <= less.fetches + 8
    assert more.steps <= 5 * max(less.steps, 200)


@pytest.mark.parametrize(
    "head", [ClassAssertion(A, "urn:a00000"), SameIndividual("urn:a00000", "urn:b00000")]
)
def test_an_index_of_a_chain_takes_a_step_an_element_and_no_round(
    head: Assertion, work: Work
) -> None:
    tbox = EVERYWHERE if isinstance(head, ClassAssertion) else FUNCTIONAL
    found = []
    for length in (200, 800):
        work.__init__()  # type: ignore[misc]
        _ = LocalKnowledgeBase.build(tbox, abox_of([*two_lists(length), head])).index
        found.append(Work(**vars(work)))
    assert found[1].rounds <= found[0].rounds + 2
    assert found[1].steps <= 5 * found[0].steps


# --- commits and deletions ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_commits_by_lists_keep_what_is_made_anew(kind: str, at_once: list[int]) -> None:
    found = list(differ(kind, range(100)))
    assert len(found) > 40 and not any(found)
    assert sum(at_once) > 100


@pytest.mark.parametrize(
    ("name", "owner", "function"),
    [
        ("two lists", _OutwardWalk, "send_round"),
        ("a class that runs along", _OutwardWalk, "send_round"),
        ("two lists", deletion, "_may_have_sent_each"),
        ("a class that runs along", deletion, "_may_have_sent_each"),
    ],
)
def test_a_commit_along_a_chain_takes_few_rounds(
    name: str, owner: Any, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is inserted at its head, or deleted there."""
    tbox, base_of, line = CHAINS[name]
    rounds, before = list[int](), getattr(owner, function)
    monkeypatch.setattr(owner, function, lambda *arguments: rounds.append(1) or before(*arguments))
    found = []
    for length in (200, 800):
        rounds.clear()
        if owner is deletion:
            base = LocalKnowledgeBase.build(tbox, abox_of([*base_of(length), line]))
            assert (
                len(base.after_deletions(abox_of([line]), abox_of([])).index.detached_nodes)
                >= length
            )
        else:
            base = LocalKnowledgeBase.build(tbox, abox_of(base_of(length)))
            told = compute_told_union(base, base.union_with(abox_of([line])))
            assert told is not None and len(told.graph) > length
        found.append(len(rounds))
    assert found[1] <= found[0] + 4 < 30


def test_a_list_looks_up_far_ends_that_were_met_late() -> None:
    """Several individuals that are one may come apart, so what they are is asked of each that is
    met, not of those gone on from alone.
    """
    line = SameIndividual("urn:a00000", "urn:b00000")
    base = LocalKnowledgeBase.build(FUNCTIONAL, abox_of([*two_lists(1500), line]))
    assert len(base.after_deletions(abox_of([line]), abox_of([])).index.detached_nodes) == 3002
