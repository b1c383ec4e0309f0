"""What a refutation rests on (`shiq.reasoner.hypertableau.search`): a part of the module,
inconsistent by itself, and small.
"""

from __future__ import annotations

from collections import Counter

import pytest
from clausal_random import PROFILES, random_case

from shiq.abox_ops.conflicts.support_sets import refutation_core
from shiq.answers.verdict import Verdict
from shiq.model.abox import abox_of
from shiq.reasoner.hypertableau.search import LISTS, decide_module, find_core
from shiq.reasoner.hypertableau.state import TableauState
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Module
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.random_ontologies.kb import random_kb

SEEDS = range(250)
STEPS = 100_000
#: A part of a module may take more steps than the whole: less is said of it, so that more is tried
#: (seed 2167: over 400,000).
STEPS_OF_A_PART = 20 * STEPS


def size(module: Module) -> int:
    literals = sum(mask.bit_count() for mask in (*module.positive, *module.negative))
    return literals + sum(len(getattr(module, kind)) for kind in LISTS)


def is_part(part: Module, module: Module) -> bool:
    masks = zip((*part.positive, *part.negative), (*module.positive, *module.negative), strict=True)
    rows = all(set(getattr(part, kind)) <= set(getattr(module, kind)) for kind in LISTS)
    return rows and not any(small & ~large for small, large in masks)


def compare(profile: str, seeds: range) -> Counter[str]:
    """Asserts that each core is an inconsistent part of its module; how often it is smaller, and
    how often there is none.
    """
    seen: Counter[str] = Counter()
    for seed in seeds:
        tbox, module = random_case(seed, PROFILES[profile])
        tables = Tables(tbox)
        verdict = decide_module(tables, module, STEPS, None).answer.verdict
        part = find_core(tables, module, STEPS, None)
        if verdict is Verdict.CONSISTENT:
            assert part is None, (profile, seed)
        elif part is None:
            seen["none"] += 1
        else:
            assert is_part(part, module), (profile, seed)
            assert (
                decide_module(tables, part, STEPS_OF_A_PART, None).answer.verdict
                is Verdict.INCONSISTENT
            ), (profile, seed)
            seen["smaller" if size(part) < size(module) else "whole"] += 1
    return seen


@pytest.mark.parametrize("profile", PROFILES)
def test_a_core_is_an_inconsistent_part(profile: str) -> None:
    seen = compare(profile, SEEDS)
    assert seen["smaller"] > 2 * (seen["whole"] + seen["none"])


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_a_core_is_an_inconsistent_part_at_length(profile: str) -> None:
    compare(profile, range(250, 4_000))


def test_a_premise_that_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableauState, "denial_dependencies", lambda self, x, names: 0)
    with pytest.raises(AssertionError):
        for profile in PROFILES:
            compare(profile, SEEDS)


@pytest.mark.parametrize("seeds", [range(70), pytest.param(range(70, 500), marks=pytest.mark.slow)])
def test_a_core_of_assertions_is_inconsistent_by_itself(seeds: range) -> None:
    own = OwnReasoner()
    found = Counter[bool]()
    for seed in seeds:
        kb = random_kb(seed)
        assertions = sorted({*kb.abox, *kb.insertions}, key=repr)
        base = SpecKnowledgeBase.build(kb.tbox, assertions)
        tbox = base.simplified_tbox.clauses
        part = refutation_core(tbox, assertions, lambda module: own.core(tbox, module))  # noqa: B023
        if part is not None:
            assert set(part) <= set(assertions)
            add_set = SpecKnowledgeBase.build(kb.tbox, part).add_set(
                abox_of([]), abox_of([]), "none"
            )
            answers = own.decide(add_set.tbox, [m.module for m in add_set.modules])
            assert add_set.contradictory or any(
                a.verdict is Verdict.INCONSISTENT for a in answers
            ), seed
            found[len(part) < len(assertions)] += 1
    assert found[True] > len(seeds) / 8
    own.close()
