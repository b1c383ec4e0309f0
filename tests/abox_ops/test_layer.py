"""A batch laid over a base without being written: checks on top of it agree with checks of
everything, and with commits.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shiq.abox_ops.conflicts import explain
from shiq.abox_ops.engine import AddSet, Inquiry
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.add_set import distinct_answers
from shiq.abox_ops.modules.decide import Decider
from shiq.answers.verdict import Verdict
from shiq.api import check_insertions, index
from shiq.columns.arrays import Columns, Ints, OverlayTable
from shiq.jobs.store import open_store as open_stored
from shiq.model import (
    Assertion,
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    Literal,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectSomeValuesFrom,
    SubClassOf,
    TBox,
)
from shiq.model.abox import ABox, abox_of, individuals_of
from shiq.model.clause import ClausalTBox
from shiq.reasoner.protocol import Answer, Module
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.random_ontologies.kb import random_kb


def verdict_of(contradictory: Sequence[object], answers: Sequence[Answer]) -> Verdict:
    verdicts = {answer.verdict for answer in distinct_answers(answers)}
    if contradictory or Verdict.INCONSISTENT in verdicts:
        return Verdict.INCONSISTENT
    return Verdict.UNDETERMINED if Verdict.UNDETERMINED in verdicts else Verdict.CONSISTENT


def from_scratch(tbox: TBox, assertions: Sequence[Assertion], decider: Decider) -> Verdict:
    """The verdict on everything at once, by the reference."""
    found = SpecKnowledgeBase.build(tbox, assertions).add_set(abox_of([]), abox_of([]), "none")
    return verdict_of(
        found.contradictory, decider.decide(found.tbox, [m.module for m in found.modules])
    )


def on_top(
    seed: int, decider: Decider, folder: Path | None = None
) -> list[tuple[Verdict, Verdict]]:
    """Verdicts on parts of a random batch on top of the rest of it, each beside that from scratch."""
    kb, dice = random_kb(seed), random.Random(seed)
    if folder is None:
        base = LocalKnowledgeBase.build(kb.tbox, abox_of(kb.abox))
    elif index(kb.tbox, abox_of(kb.abox), folder, max_conflicts=0).verdict is Verdict.CONSISTENT:
        base = LocalKnowledgeBase.from_store(open_stored(folder))
    else:
        return []

    def decide(tbox: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
        return decider.decide(tbox, modules)

    def checked(knowledge_base: Any, part: ABox) -> tuple[Any, Verdict]:
        found, answers = knowledge_base.decide_by_patch(part, abox_of([]), Inquiry(decide))
        return found, verdict_of(found.contradictory, answers)

    batch = [a for a in dict.fromkeys(kb.insertions) if a not in set(kb.abox)]
    pairs = []
    for _ in range(3):
        dice.shuffle(batch)
        rest, part = batch[: len(batch) // 2], batch[len(batch) // 2 :]
        accepted, verdict = checked(base, abox_of(rest))
        above = base.with_accepted(accepted) if verdict is Verdict.CONSISTENT else None
        if above is None:
            continue
        for some in (part, part[: len(part) // 2], part[:1]):
            pairs.append(
                (
                    checked(above, abox_of(some))[1],
                    from_scratch(kb.tbox, [*kb.abox, *rest, *some], decider),
                )
            )
    return pairs


def agree(pairs: Sequence[tuple[Verdict, Verdict]]) -> int:
    """Whether no two verdicts contradict each other; how many are inconsistent."""
    assert not [pair for pair in pairs if set(pair) == {Verdict.CONSISTENT, Verdict.INCONSISTENT}]
    return sum(theirs is Verdict.INCONSISTENT for _, theirs in pairs)


def test_checks_on_top_agree_with_checks_of_everything(decider: Decider) -> None:
    pairs = [pair for seed in range(300, 320) for pair in on_top(seed, decider)]
    assert agree(pairs) > 2 and len(pairs) > 32
    assert sum(ours is Verdict.UNDETERMINED for ours, _ in pairs) <= sum(
        theirs is Verdict.UNDETERMINED for _, theirs in pairs
    )


@pytest.mark.slow
def test_checks_on_top_agree_on_many(decider: Decider) -> None:
    agree([pair for seed in range(2000, 3000) for pair in on_top(seed, decider)])


def test_so_they_do_over_a_store(tmp_path: Path, decider: Decider) -> None:
    pairs = [
        pair
        for seed in (301, 307, 309, 310, 313)
        for pair in on_top(seed, decider, tmp_path / str(seed))
    ]
    assert agree(pairs) > 5 and len(pairs) > 20


@pytest.mark.parametrize(
    "seeds", [range(300, 325), pytest.param(range(325, 500), marks=pytest.mark.slow)]
)
def test_deletions_on_top_agree_with_checks_of_everything(decider: Decider, seeds: range) -> None:
    """Of assertions of the base and of the layer, and with them of individuals of either."""
    pairs = []
    for seed in seeds:
        kb, dice = random_kb(seed), random.Random(seed)
        base = LocalKnowledgeBase.build(kb.tbox, abox_of(kb.abox))
        batch = [a for a in dict.fromkeys(kb.insertions) if a not in set(kb.abox)]
        rest, part = batch[: len(batch) // 2], batch[len(batch) // 2 :]
        accepted, answers = base.decide_by_patch(
            abox_of(rest), abox_of([]), Inquiry(decider.decide)
        )
        if verdict_of(accepted.contradictory, answers) is not Verdict.CONSISTENT:
            continue
        above = base.with_accepted(accepted)
        if above is None:
            continue
        held = list(dict.fromkeys([*kb.abox, *rest]))
        gone = set(dice.sample(held, len(held) // 3)) - set(part)
        found, answers = above.decide_by_patch(
            abox_of(part), abox_of(gone), Inquiry(decider.decide)
        )
        left = [*(a for a in held if a not in gone), *part]
        assert len(above.after_deletions(abox_of(gone), abox_of([]))) == len(held) - len(gone), seed
        pairs.append(
            (verdict_of(found.contradictory, answers), from_scratch(kb.tbox, left, decider))
        )
    assert agree(pairs) > 0 and len(pairs) > len(seeds) / 3


def test_a_layer_that_forgets_what_it_brings_is_found_out(
    decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows_of = OverlayTable.rows_of

    def forget(table: OverlayTable, keys: Ints) -> Columns:
        return table.table.rows_of(keys) if table.key == "node" else rows_of(table, keys)

    monkeypatch.setattr(OverlayTable, "rows_of", forget)
    with pytest.raises(AssertionError):
        agree([pair for seed in (321, 345) for pair in on_top(seed, decider)])


def test_fresh_individuals_and_literals_of_a_layer_are_known_by_name(
    tmp_path: Path, decider: Decider
) -> None:
    r, d = ObjectProperty("urn:r"), DataProperty("urn:d")
    some = SubClassOf(Class("urn:A"), ObjectSomeValuesFrom(r, Class("urn:B")))
    tbox = TBox((FunctionalObjectProperty(r), FunctionalDataProperty(d), some))
    base = abox_of(
        [ClassAssertion(Class("urn:A"), "urn:a"), DataPropertyAssertion(d, "urn:a", Literal("0"))]
    )
    index(tbox, base, tmp_path / "kg")
    kb = LocalKnowledgeBase.from_store(open_stored(tmp_path / "kg"))
    rest = [
        ObjectPropertyAssertion(r, "urn:a", "urn:new"),
        DataPropertyAssertion(d, "urn:new", Literal("1")),
    ]
    accepted, _ = kb.decide_by_patch(abox_of(rest), abox_of([]), Inquiry(decider.decide))
    above = kb.with_accepted(accepted)
    assert above is not None
    assert above.base.terms_of(above.base.nodes()) == ["urn:a", "urn:new"]
    assert len(above) == len(kb) + 2
    again = above.decide_by_patch(abox_of(rest), abox_of([]), Inquiry(decider.decide))[0]
    assert again.insertions == 0
    for value, verdict in ("1", Verdict.CONSISTENT), ("2", Verdict.INCONSISTENT):
        part = abox_of([DataPropertyAssertion(d, "urn:new", Literal(value))])
        found, answers = above.decide_by_patch(part, abox_of([]), Inquiry(decider.decide))
        assert verdict_of(found.contradictory, answers) is verdict


def conflicts_of(seed: int) -> object:
    kb = random_kb(seed)
    result = check_insertions(
        kb.tbox, abox_of(kb.abox), abox_of(kb.insertions), criterion="model", explain_seconds=None
    )
    return result.verdict, result.complete, result.conflicts


def test_conflicts_are_those_that_are_found_without_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow way, each time the whole batch, beside the fast one. Layers come into use in three."""
    seeds, used = (*range(300, 306), 317, 321, 339), []
    whole = [conflicts_of(seed) for seed in seeds]
    with_accepted = LocalKnowledgeBase.with_accepted

    def counted(self: LocalKnowledgeBase, add_set: AddSet) -> LocalKnowledgeBase | None:
        found = with_accepted(self, add_set)
        used.append(found)
        return found

    monkeypatch.setattr(explain, "LARGE", 0)
    monkeypatch.setattr(LocalKnowledgeBase, "with_accepted", counted)
    assert [conflicts_of(seed) for seed in seeds] == whole
    assert sum(found is not None for found in used) > 3


@pytest.mark.parametrize("seeds", [range(24), pytest.param(range(24, 200), marks=pytest.mark.slow)])
def test_what_is_settled_tells_the_same(decider: Decider, seeds: range) -> None:
    """An add set that has let go of its patch and role assertions, beside one that has not."""
    refuted = 0
    for seed in seeds:
        kb = random_kb(seed)
        base = LocalKnowledgeBase.build(kb.tbox, abox_of(kb.abox))
        kept, let_go = (
            base.decide_by_patch(
                abox_of(kb.insertions), abox_of(kb.deletions), Inquiry(decider.decide)
            )[0]
            for _ in range(2)
        )
        let_go = let_go.release_memory()
        refuted += bool(kept.contradictory)
        individuals = sorted({i for a in (*kb.abox, *kb.insertions) for i in individuals_of(a)})
        for told in ("size", "insertions", "pulled_in", "contradictory"):
            assert getattr(let_go, told) == getattr(kept, told), (seed, told)
        assert set(let_go.kept_assertions()) == set(kept.kept_assertions()), seed
        assert let_go.labels(individuals) == kept.labels(individuals), seed
        assert [let_go.merged_elements(), let_go.why_pulled()] == [
            kept.merged_elements(),
            kept.why_pulled(),
        ], seed
        assert let_go.all_assertions_about(individuals) == kept.all_assertions_about(individuals), (
            seed
        )
        assert let_go.patch is None and not len(let_go.columns.graph.edges.columns["source"])
    assert refuted > len(seeds) / 12
