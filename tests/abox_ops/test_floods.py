"""The cost adversary: no planted line costs more than its neighbourhood, and the mechanisms that
once did are found again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.patch import effort, inside_region
from shiq.abox_ops.patch.effort import Effort
from shiq.abox_ops.told.told_literals import RoundSizes
from shiq.api import Session
from shiq.jobs.gate import hints
from shiq.model import (
    THING,
    Class,
    ClassAssertion,
    DisjointClasses,
    FunctionalObjectProperty,
    ObjectAllValuesFrom,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SubClassOf,
    TBox,
)
from shiq.model.walk import signature_of
from tests.tools.floods import compare, search_floods
from tests.tools.hint_floods import search_hint_floods
from tests.tools.random_ontologies.recurring import RecurringWorld

A, B, C, D = (Class(f"urn:{name}") for name in "ABCD")
R, S = (ObjectProperty(f"urn:{name}") for name in "RS")


def chain(size: int, axioms: tuple[Any, ...], kind: str) -> RecurringWorld:
    """A chain of R with A at its head as the line, and a batch about an individual apart from it."""
    base = [ObjectPropertyAssertion(R, f"urn:{i}", f"urn:{i + 1}") for i in range(size)]
    apart, line = (ClassAssertion(D, "urn:apart"),), ClassAssertion(A, "urn:0")
    return RecurringWorld(
        TBox(axioms, signature_of([*axioms, *base, *apart, line])),
        tuple(base),
        apart,
        line,
        kind,
        "chain",
    )


def alternation(size: int) -> RecurringWorld:
    axioms = (
        SubClassOf(A, ObjectAllValuesFrom(R, ObjectUnionOf((A, C)))),
        SubClassOf(C, ObjectAllValuesFrom(R, ObjectUnionOf((A, B)))),
        SubClassOf(B, ObjectAllValuesFrom(R, A)),
        DisjointClasses((A, B)),
    )
    return chain(size, axioms, "class at the head")


def propagation(size: int) -> RecurringWorld:
    return chain(size, (SubClassOf(A, ObjectAllValuesFrom(R, A)),), "class at the head")


def fork(size: int) -> RecurringWorld:
    """Two chains of a functional role, a batch that speaks of their heads, and a line that
    contradicts what has both for neighbours, and needs a third one there.
    """
    base: list[Any] = [
        ObjectPropertyAssertion(R, f"urn:{x}{i}", f"urn:{x}{i + 1}")
        for x in "xy"
        for i in range(size)
    ]
    base += [ObjectPropertyAssertion(S, "urn:fork", f"urn:{x}0") for x in "xy"] + [
        ClassAssertion(A, "urn:fork")
    ]
    axioms: tuple[Any, ...] = (
        FunctionalObjectProperty(R),
        SubClassOf(THING, ObjectMaxCardinality(2, S)),
        SubClassOf(B, ObjectSomeValuesFrom(S, C)),
        DisjointClasses((A, B)),
    )
    batch, line = tuple(ClassAssertion(D, f"urn:{x}0") for x in "xy"), ClassAssertion(B, "urn:fork")
    signature = signature_of([*axioms, *base, *batch, line])
    return RecurringWorld(
        TBox(axioms, signature), tuple(base), batch, line, "contradiction", "fork"
    )


@pytest.mark.parametrize(
    "seed",
    [
        0,
        2,
        6,
        33,
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in (4, *range(8, 24, 2), 7, 59)),
    ],
)
def test_no_line_floods(seed: int) -> None:
    assert {str(flood) for flood in search_floods(seed) or ()} == set()


@pytest.mark.parametrize(("world", "size"), [(alternation, 24), (propagation, 100), (fork, 24)])
def test_chains_cost_what_they_are_long(world: Callable[[int], RecurringWorld], size: int) -> None:
    assert compare(0, [world(size), world(2 * size)], ("model",)) == []


@pytest.mark.slow
def test_questions_with_residuals_asked_in_full_one_element_a_turn_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Decider, "attempt", Decider.decide)
    monkeypatch.setattr(
        effort,
        "next_effort",
        lambda turns, elements, size: Effort(turns + 1, elements + size),
    )
    floods = compare(0, [alternation(12), alternation(24)], ("model",))
    assert {"laid_out", "handed_on"} & {flood.count for flood in floods or ()}


def test_rounds_over_arrays_for_each_hop_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RoundSizes, "should_use_work_list", lambda *_: False)
    floods = compare(0, [propagation(100), propagation(200)], ("model",))
    assert "work" in {flood.count for flood in floods or ()}


def test_contradictory_elements_that_count_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = inside_region.MergeClasses
    monkeypatch.setattr(inside_region, "MergeClasses", lambda *arguments: made(*arguments[:2]))
    floods = compare(0, [fork(24), fork(48)], ("model",))
    assert {("leaves its neighbourhood (model)", "looked_at")} <= {
        (flood.rule, flood.count) for flood in floods or ()
    }


@pytest.mark.parametrize("seed", [2, 6, 8])
def test_no_hint_floods(seed: int) -> None:
    """Spellings that are consistent, and in 6 all contradictory."""
    assert search_hint_floods(seed, size=12) == []


def test_hints_that_are_checked_one_by_one_with_the_whole_batch_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shiq.jobs.gate.hints.LINES_AT_ONCE", 1)
    monkeypatch.setattr(Session, "checker_above", lambda *_, **__: None)
    assert [flood.split(":")[0] for flood in search_hint_floods(8, size=12) or ()] == ["looked_at"]


@pytest.mark.parametrize("reasoner", ["own", pytest.param("hermit", marks=pytest.mark.jvm)])
def test_hints_that_hermit_is_asked_about_are_found(
    monkeypatch: pytest.MonkeyPatch, reasoner: str
) -> None:
    settings = hints._trial_settings
    monkeypatch.setattr(
        hints, "_trial_settings", lambda options: {**settings(options), "reasoner": reasoner}
    )
    for budget in ("ATTEMPT_STEPS", "ATTEMPT_STEPS_PER_NODE"):
        monkeypatch.setattr(f"shiq.reasoner.own_reasoner.{budget}", 0)
    floods = search_hint_floods(19, size=12) or ()
    assert any("HermiT is asked" in flood for flood in floods) == (reasoner == "hermit")
