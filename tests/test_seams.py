"""What other systems build on: the told literals of a small ABox, and the modules of a batch with what each holds."""

from __future__ import annotations

import inspect
from collections import Counter

import pytest

from abox_ops.local import LocalKnowledgeBase
from abox_ops.memory import MemoryKnowledgeBase
from abox_ops.modules.held import HeldModules, modules_of
from abox_ops.told.small import told_fixpoint
from shiq.abox import ABox, abox_of, individuals_of
from shiq.check import Options, certify, certify_store, check_insertions, index
from shiq.clause import ClausalTBox
from shiq.reasoner import create
from shiq.verdict import Verdict
from tests.tools.random_ontologies.kb import RandomKB, random_kb

SEEDS = range(80)


def literals(clauses: ClausalTBox, label: tuple[int, int]) -> list[frozenset[object]]:
    return [frozenset(atom for i, atom in enumerate(clauses.atoms) if mask >> i & 1) for mask in label]


def test_told_literals_are_those_of_the_columns() -> None:
    compared = 0
    for seed in SEEDS:
        kb = random_kb(seed)
        told = told_fixpoint(kb.tbox, kb.abox)
        columns = LocalKnowledgeBase.build(kb.tbox, abox_of(kb.abox)).add_set(ABox(), ABox())
        individuals = sorted({i for a in kb.abox for i in individuals_of(a)})
        assert list(told.elements) == individuals
        for individual, label in zip(individuals, columns.labels(individuals)):
            assert list(told.literals(individual)) == literals(columns.tbox, label), (seed, individual)
            compared += label != (0, 0)
    assert compared > len(SEEDS)


def test_a_told_contradiction() -> None:
    found = [seed for seed in SEEDS if (kb := random_kb(seed)) and told_fixpoint(kb.tbox, kb.union()).contradictory]
    assert found
    own = create("own")
    for seed in found[:10]:
        kb = random_kb(seed)
        assert verdict(modules_of(MemoryKnowledgeBase.build(kb.tbox, ()), abox_of(kb.union()), criterion="none"), own) is not True


def verdict(found: HeldModules, reasoner: object) -> bool | None:
    """Whether all modules are consistent; None where one stays open."""
    if found.contradictory:
        return False
    modules = [m.module for m in found.modules if m.module is not None]
    verdicts = {a.verdict for a in reasoner.decide(found.clauses, modules)}  # type: ignore[attr-defined]
    if Verdict.INCONSISTENT in verdicts:
        return False
    return None if Verdict.UNDETERMINED in verdicts else True


def held(kb: RandomKB, engine: type[LocalKnowledgeBase] | type[MemoryKnowledgeBase], criterion: str) -> HeldModules:
    base = engine.build(kb.tbox, abox_of(kb.abox))
    return modules_of(base, abox_of(kb.insertions), abox_of(kb.deletions), criterion=criterion)


@pytest.mark.parametrize("criterion", ["clausal", "definition7"])
def test_modules_hold_what_a_check_asks(criterion: str) -> None:
    own = create("own")
    tally: Counter[object] = Counter()
    for seed in SEEDS:
        kb = random_kb(seed)
        nothing = MemoryKnowledgeBase.build(kb.tbox, ())
        before = modules_of(nothing, abox_of(a for a in kb.abox if a not in kb.deletions), criterion="none")
        if verdict(before, own) is not True:
            continue
        found = held(kb, LocalKnowledgeBase, criterion)
        plain = held(kb, MemoryKnowledgeBase, criterion)
        assert [(m.individuals, m.assertions, m.inserted) for m in found.modules] == [
            (m.individuals, m.assertions, m.inserted) for m in plain.modules
        ], seed
        whole = modules_of(nothing, abox_of(kb.union()), criterion="none")
        answers = verdict(found, own), verdict(whole, own)
        assert None in answers or answers[0] == answers[1], seed
        tally[answers[0]] += 1
        union = set(kb.union())
        inside = [i for m in (*found.modules, *found.contradictory) for element in m.individuals for i in element]
        assert len(inside) == len(set(inside))
        for module in (*found.modules, *found.contradictory):
            mine = {i for element in module.individuals for i in element}
            assert all(mine.issuperset(individuals_of(a)) for a in module.assertions)
            assert union.issuperset(module.inserted) and set(module.inserted) <= set(kb.insertions)
            tally["inserted"] += len(module.inserted)
    assert tally[True] > 5 and tally[False] > 5 and tally["inserted"] > 50


def test_public_calls_show_their_settings() -> None:
    settings = set(inspect.signature(Options).parameters)
    for call in (check_insertions, certify, certify_store, index):
        assert settings <= set(inspect.signature(call).parameters)
    with pytest.raises(TypeError, match="enginee"):
        certify([], enginee="local")
