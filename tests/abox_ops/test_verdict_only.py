"""A check that ends where an inconsistency is certain: the verdict is the same, and what it had
looked at shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from shiq.abox_ops.engine import Inquiry, ModelKnowledgeBase
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.patch import told_plus
from shiq.abox_ops.patch.inside_region import PatchRegion
from shiq.answers.verdict import Verdict
from shiq.api import certify, check_insertions, index
from shiq.errors import UsageError
from shiq.jobs.reports.write import answer_problems
from shiq.model.abox import abox_of
from shiq.model.clause import ClausalTBox
from shiq.reasoner.protocol import Answer, Module
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.random_ontologies.kb import RandomKB, random_kb

SEEDS = range(50)


def found(
    base: ModelKnowledgeBase, kb: RandomKB, decider: Decider, *, verdict_only: bool
) -> dict[str, object]:
    def decide(tbox: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
        return decider.decide(tbox, modules)

    add_set, answers = base.decide_by_patch(
        abox_of(kb.insertions), abox_of([]), Inquiry(decide, verdict_only=verdict_only)
    )
    verdicts = {a.verdict for a in answers}
    refuted = bool(add_set.contradictory) or Verdict.INCONSISTENT in verdicts
    return {
        "refuted": refuted,
        "decided": refuted or Verdict.UNDETERMINED not in verdicts,
        "contradictory": sorted(add_set.contradictory),
        "kept": frozenset(add_set.kept_assertions()),
        "modules": sorted(
            ((m.elements, m.module, a.verdict.value) for m, a in zip(add_set.modules, answers)),
            key=repr,
        ),
    }


def check(seed: int, decider: Decider) -> str:
    """Checks a random batch with both engines, to the end and to the verdict; where the verdict
    came from.
    """
    kb = random_kb(seed)
    local = LocalKnowledgeBase.build(kb.tbox, abox_of(kb.abox))
    memory = SpecKnowledgeBase.build(kb.tbox, kb.abox)
    stopped = found(local, kb, decider, verdict_only=True)
    whole = found(local, kb, decider, verdict_only=False)
    assert stopped == found(memory, kb, decider, verdict_only=True), seed
    assert (stopped["refuted"], stopped["decided"]) == (whole["refuted"], whole["decided"]), seed
    if not stopped["refuted"]:
        assert stopped == whole, seed
        return "consistent"
    if stopped["contradictory"]:
        assert stopped["modules"] == [], seed
        # Elements may become one with others later.
        later = [set(element) for element in whole["contradictory"]]  # type: ignore[attr-defined]
        assert all(
            any(known.issuperset(element) for known in later)
            for element in stopped["contradictory"]
        ), seed  # type: ignore[attr-defined]
        return "told"
    return "module"


def test_the_verdict_is_that_of_the_whole_check(decider: Decider) -> None:
    ends = Counter(check(seed, decider) for seed in SEEDS)
    assert min(ends["consistent"], ends["told"]) > 5
    assert ends["module"]


def _guessed(region: PatchRegion) -> Bools:
    found = region.is_active.copy()
    table, certified = region.calculus.table, region.labels.model_label
    found[found] = table.clashes(table.join(region.graph.label[found], certified[found]))
    return found


def test_a_clash_with_what_is_assumed_is_no_contradiction(
    decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(told_plus, "is_clashing", _guessed)
    with pytest.raises(AssertionError):
        for seed in SEEDS:
            check(seed, decider)


TBOX = """@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class . :Bird a owl:Class .
"""
A = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.mark.parametrize("criterion", ["model", "clausal", "definition7", "none"])
@pytest.mark.parametrize("engine", ["local", "spec"])
def test_what_is_said_of_it(criterion: str, engine: str, tmp_path: Path) -> None:
    (tmp_path / "t.ttl").write_text(TBOX)
    (tmp_path / "a.nt").write_text(f"<urn:t#tom> {A} <urn:t#Cat> .\n")
    (tmp_path / "bad.nt").write_text(
        f"<urn:t#tom> {A} <urn:t#Dog> .\n<urn:t#tweety> {A} <urn:t#Bird> .\n"
    )
    (tmp_path / "good.nt").write_text(f"<urn:t#tweety> {A} <urn:t#Bird> .\n")

    def said(batch: str, *, verdict_only: bool) -> dict[str, object]:
        files = [tmp_path / name for name in ("t.ttl", "a.nt", batch)]
        result = check_insertions(
            *files, criterion=criterion, engine=engine, reasoner="own", verdict_only=verdict_only
        )
        document = result.to_dict()
        assert not answer_problems(document)
        document["statistics"]["seconds"] = {}
        return document

    assert said("good.nt", verdict_only=True) == said("good.nt", verdict_only=False)
    stopped = said("bad.nt", verdict_only=True)
    assert (stopped["verdict"], stopped["conflicts"], stopped["more_conflicts"]) == (
        "inconsistent",
        [],
        1,
    )
    assert not stopped["conflicts_complete"]
    assert any("verdict only" in note for note in stopped["evidence"]["notes"])  # type: ignore[index]


def test_graphframes_does_not_stop_early() -> None:
    with pytest.raises(UsageError, match="in parallel"):
        check_insertions("t.ttl", None, "batch.nt", engine="graphframes", verdict_only=True)


def test_nothing_is_decided_where_told_literals_contradict(decider: Decider) -> None:
    """The cost of a stopped check is that of told⁺: no label is guessed, nothing is counted."""
    seed = next(seed for seed in SEEDS if check(seed, decider) == "told")
    kb = random_kb(seed)
    base = LocalKnowledgeBase.build(kb.tbox, abox_of(kb.abox))
    base.decide_by_patch(abox_of([]), abox_of([]), Inquiry(decider.decide))
    asked: list[int] = []

    def decide(tbox: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
        asked.append(len(modules))
        return decider.decide(tbox, modules)

    add_set, _ = base.decide_by_patch(
        abox_of(kb.insertions), abox_of([]), Inquiry(decide, verdict_only=True)
    )
    assert not asked
    patch = add_set.patch
    assert patch is not None
    assert np.array_equal(
        np.flatnonzero(patch.region.is_inside), np.sort(add_set.columns.contradictory)
    )


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 100), marks=pytest.mark.slow)])
def test_a_store_is_never_certified_by_what_ended_early(tmp_path: Path, seeds: range) -> None:
    """A base that a clash or a module refutes is stored as inconsistent, and not with a model of
    a part of it.
    """
    verdicts = Counter[str]()
    for seed in seeds:
        kb = random_kb(seed)
        everything = abox_of([*kb.abox, *kb.insertions])
        stored = index(kb.tbox, everything, tmp_path / str(seed), reasoner="own", explain_seconds=0)
        assert (
            stored.verdict
            is certify(kb.tbox, everything, reasoner="own", explain_seconds=0).verdict
        ), seed
        verdicts[stored.verdict.value] += 1
    assert verdicts["inconsistent"] > len(seeds) / 5
    assert verdicts["consistent"] > len(seeds) / 8
