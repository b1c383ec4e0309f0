"""Modules by kind: as many of each as there are, whoever their nodes are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from shiq.abox_ops.engine import CRITERIA, NamedModule
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.add_set import (
    NamedModules,
    answer_positions,
    ask_distinct,
    count_verdicts,
)
from shiq.answers.verdict import Verdict
from shiq.functional import parse_functional
from shiq.model.abox import abox_of
from shiq.reasoner.protocol import Answer, Module
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.random_ontologies.kb import random_kb

TBOX = """Prefix(:=<urn:k:>) Ontology(
  SubClassOf(:X ObjectUnionOf(:P :Q)) SubClassOf(:X ObjectUnionOf(:P ObjectComplementOf(:Q)))
  SubClassOf(:X ObjectUnionOf(ObjectComplementOf(:P) :Q))
  SubClassOf(:X ObjectUnionOf(ObjectComplementOf(:P) ObjectComplementOf(:Q)))
  SubClassOf(:W ObjectAllValuesFrom(:r :W)))"""
#: a0 is in a module with a1; the z are apart from each other, so more than a label might be kept of
#: them, but is not.
BATCH = """Prefix(:=<urn:k:>) Ontology(
  ClassAssertion(:P :b) ClassAssertion(:X :a0) ObjectPropertyAssertion(:r :a0 :a1)
  ClassAssertion(:W :z1) ClassAssertion(:W :z2) ClassAssertion(:W :z3)
  DifferentIndividuals(:z1 :z2) DifferentIndividuals(:z1 :z3))"""


def check_counts(modules: Sequence[NamedModule]) -> None:
    named = NamedModules.from_modules(modules)
    assert len(named) == len(list(named))
    counted = Counter(id(m.module) for m in named)
    assert [counted[id(module)] for module in named.distinct] == list(named.counts)
    assert named.crowd == max((len(element) for m in named for element in m.elements), default=0)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_elements_that_are_apart_are_counted_by_their_kind(criterion: str) -> None:
    tbox, batch = (parse_functional(text, "case", "e") for text in (TBOX, BATCH))
    mine = (
        LocalKnowledgeBase.build(tbox.tbox, abox_of([]))
        .add_set(batch.abox, abox_of([]), criterion)
        .modules
    )
    theirs = (
        SpecKnowledgeBase.build(tbox.tbox, []).add_set(batch.abox, abox_of([]), criterion).modules
    )
    check_counts(mine)
    check_counts(theirs)
    assert list(mine) == list(theirs)


def test_random_modules_are_counted_by_their_kind() -> None:
    for seed in range(80):
        kb = random_kb(seed)
        opened = LocalKnowledgeBase.build(kb.tbox, abox_of(kb.abox))
        check_counts(opened.add_set(abox_of(kb.insertions), abox_of([]), "none").modules)


def test_answers_go_to_the_modules_that_they_are_about() -> None:
    good, bad = Module((0,), (0,)), Module((1,), (1,))
    modules = [
        NamedModule(m, ((name,),)) for m, name in ((good, "a"), (bad, "b"), (good, "c"), (bad, "d"))
    ]

    def decide(distinct: Sequence[Module]) -> list[Answer]:
        assert len(distinct) == 2
        return [Answer(Verdict.INCONSISTENT if m is bad else Verdict.CONSISTENT) for m in distinct]

    answers = ask_distinct(modules, decide)
    assert [a.verdict for a in answers] == [Verdict.CONSISTENT, Verdict.INCONSISTENT] * 2
    assert answer_positions(answers, lambda a: a.verdict is Verdict.INCONSISTENT) == [1, 3]
    assert (
        count_verdicts(answers)
        == count_verdicts(list(answers))
        == {Verdict.CONSISTENT: 2, Verdict.INCONSISTENT: 2}
    )
