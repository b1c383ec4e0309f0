"""The criterion `model` in columns: equal to the reference; kept in stores, and renewed by
commits (THEORY, "N in a store, and its renewal").
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_local import chain_case
from test_model import CASES, Case

from shiq.abox_ops import snapshot_delta as growth
from shiq.abox_ops.counting import groups, merge_class_fixpoint
from shiq.abox_ops.counting.groups import CountedGraph, CountedLabels, ElementAnswers
from shiq.abox_ops.counting.merge_classes import MergeClasses
from shiq.abox_ops.elements.graph import EdgeTable, Graph, extend_flags
from shiq.abox_ops.engine import Inquiry, ModelKnowledgeBase
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.patch.certified_model import read_stored_model
from shiq.abox_ops.patch.inside_region import RoundSnapshot
from shiq.abox_ops.patch.patch import Patch
from shiq.abox_ops.patch.renewal import Renewal
from shiq.answers.verdict import Verdict
from shiq.api import Session, index, open_store
from shiq.jobs.store import open_store as open_stored
from shiq.model import (
    THING,
    Assertion,
    Class,
    ClassAssertion,
    DisjointClasses,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    SubClassOf,
    TBox,
)
from shiq.model.abox import ABox, abox_of
from shiq.model.clause import ClausalTBox
from shiq.reasoner.protocol import Answer, Module
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.random_ontologies.kb import random_kb


def facts(
    base: ModelKnowledgeBase, insertions: ABox, decider: Decider, deletions: ABox | None = None
) -> dict[str, object]:
    """All that a patch comes to."""

    def decide(tbox: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
        return decider.decide(tbox, modules)

    found, answers = base.decide_by_patch(
        insertions, deletions or abox_of([]), Inquiry(decide, attempt=decider.attempt)
    )
    return {
        "insertions": found.insertions,
        "size": found.size,
        "pulled in": found.pulled_in,
        "contradictory": sorted(found.contradictory),
        "kept": frozenset(found.kept_assertions()),
        "modules": sorted(
            ((m.elements, m.module, a.verdict.value) for m, a in zip(found.modules, answers)),
            key=repr,
        ),
    }


def check_equal(
    tbox: TBox, base: Sequence[Assertion], batch: Sequence[Assertion], decider: Decider
) -> None:
    memory, local = (
        SpecKnowledgeBase.build(tbox, base),
        LocalKnowledgeBase.build(tbox, abox_of(base)),
    )
    assert facts(local, abox_of(batch), decider) == facts(memory, abox_of(batch), decider)


@pytest.mark.parametrize("start", range(0, 90, 30))
def test_equal_to_the_reference(start: int, decider: Decider) -> None:
    for seed in range(start, start + 30):
        kb = random_kb(seed)
        check_equal(kb.tbox, kb.abox, kb.insertions, decider)


def test_a_batch_with_definitions_leaves_the_merge_classes_of_the_certified_model(
    decider: Decider,
) -> None:
    kb = random_kb(20754)
    check_equal(kb.tbox, kb.abox, kb.insertions, decider)


@pytest.mark.slow
def test_equal_to_the_reference_on_many(decider: Decider) -> None:
    for seed in range(2000, 4000):
        kb = random_kb(seed)
        check_equal(kb.tbox, kb.abox, kb.insertions, decider)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_case(case: Case, decider: Decider) -> None:
    check_equal(case.axioms(), case.base(), case.batch(), decider)


def _of_itself(
    counted: CountedGraph,
    clause: Any,
    members: Any,
    group: Any,
    count: int,
    state: Any,
    tieable: Any,
) -> Any:
    found = _TIES(counted, clause, members, group, count, state, tieable)
    state.representative[:] = -1
    state.representative[members] = members
    return found


_TIES = merge_class_fixpoint.pairs_to_merge
COUNTING: dict[str, tuple[int, object, str, Callable[..., Any]]] = {
    "what was counted under other labels is believed": (
        179,
        ElementAnswers,
        "drop_answers",
        lambda *arguments: None,
    ),
    "a class is tied to its own member": (4723, merge_class_fixpoint, "pairs_to_merge", _of_itself),
}


@pytest.mark.parametrize("name", COUNTING)
def test_a_planted_mistake_in_counting_is_found(
    name: str, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, owner, function, mistaken = COUNTING[name]
    kb = random_kb(seed)
    check_equal(kb.tbox, kb.abox, kb.insertions, decider)
    monkeypatch.setattr(owner, function, mistaken)
    with pytest.raises(AssertionError):
        check_equal(kb.tbox, kb.abox, kb.insertions, decider)


#: In the last one the fillers of neighbours' neighbours matter.
SEEDS = (*range(40), 274)


def remembered_and_afresh(seed: int, decider: Decider) -> None:
    """Counts under random labels, after those under others were remembered, against counts that
    remember nothing.
    """
    kb, dice = random_kb(seed), random.Random(seed)
    base = LocalKnowledgeBase.build(kb.tbox, abox_of(kb.abox))
    patch = base.decide_by_patch(abox_of(kb.insertions), abox_of([]), Inquiry(decider.decide))[
        0
    ].patch
    assert patch is not None
    region, remembered = patch.region, ElementAnswers()
    graph, calculus = region.graph, region.calculus
    while not graph.edges.is_fetched.all():
        graph.fetch_edges(graph.representatives())
    labels = region.labels.mu.copy()
    clauses, nobody = calculus.space.m_type, np.zeros(len(graph), np.bool_)
    for _ in range(8):
        counts = [
            MergeClasses(CountedGraph(calculus, graph, labels.copy, known), nobody)
            for known in (remembered, ElementAnswers())
        ]
        for clause in clauses:
            here, afresh = (
                groups.is_within_bound_alone(of.counted, graph.representatives(), clause).tolist()
                for of in counts
            )
            assert here == afresh, (seed, clause)
        for i in dice.sample(range(len(graph)), min(2, len(graph))):
            labels[i] = labels[dice.randrange(len(graph))]


def test_what_is_remembered_is_what_would_be_counted(decider: Decider) -> None:
    for seed in SEEDS:
        remembered_and_afresh(seed, decider)


def _blind(which: str) -> Callable[[ElementAnswers, Graph, CountedLabels], None]:
    """Forgets only what may change with the rest of what is read."""

    def forget(self: ElementAnswers, graph: Graph, read: CountedLabels) -> None:
        kept = self._labels_read
        self._labels_read = kept._replace(**{which: getattr(read, which)[: len(kept.label)]})
        _FORGET(self, graph, read)

    return forget


_FORGET = ElementAnswers.drop_answers


@pytest.mark.parametrize("which", CountedLabels._fields)
def test_remembering_without_looking_is_found(
    which: str, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ElementAnswers, "drop_answers", _blind(which))
    with pytest.raises(AssertionError):
        for seed in SEEDS:
            remembered_and_afresh(seed, decider)


def _without_neighbours(edges: EdgeTable, chosen: Bools) -> Bools:
    """The ``chosen`` elements alone."""
    return extend_flags(chosen, len(edges.is_fetched))


def _unread(self: RoundSnapshot, graph: Graph, counts: MergeClasses | None, *columns: Any) -> Any:
    """The elements that changed, and none that read them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EdgeTable, "with_neighbours", _without_neighbours)
        return _REACHED(self, graph, counts, *columns)


def _settled(self: RoundSnapshot, graph: Graph, *read: Any) -> Any:
    found = _REACHED(self, graph, *read)
    return found if self._rep is None else np.zeros_like(found)


_REACHED = RoundSnapshot.changed_elements
_K, _C, _D, _P, _Q = (Class(f"urn:{x}") for x in "KCDPQ")
_R, _S = (ObjectProperty(f"urn:{x}") for x in "RS")
#: C comes to y when y has come in, and makes x and y one at c, which does not change then.
_COMES_LATE = (
    TBox(
        (
            SubClassOf(_K, ObjectAllValuesFrom(_R, _C)),
            SubClassOf(THING, ObjectMaxCardinality(1, _S, _C)),
            SubClassOf(_D, ObjectComplementOf(_K)),
            DisjointClasses((_P, _Q)),
        )
    ),
    (
        *(ObjectPropertyAssertion(_S, "c", other) for other in "xy"),
        ObjectPropertyAssertion(_R, "h", "y"),
        *(ClassAssertion(name, "x") for name in (_C, _P)),
        ClassAssertion(_Q, "y"),
    ),
    (ClassAssertion(_K, "h"), ClassAssertion(_D, "c")),
)


def _drawn(case: Any) -> tuple[TBox, Sequence[Assertion], Sequence[Assertion]]:
    return case.tbox, case.abox, case.insertions


ROUNDS: dict[
    str,
    tuple[tuple[TBox, Sequence[Assertion], Sequence[Assertion]], object, str, Callable[..., Any]],
] = {
    "what the first round has seen is settled": (
        _drawn(random_kb(10)),
        RoundSnapshot,
        "stale_elements",
        _settled,
    ),
    "elements beside one that changed are settled": (
        _drawn(chain_case(308)),
        RoundSnapshot,
        "changed_elements",
        _unread,
    ),
    "only what changed is made equal": (
        _COMES_LATE,
        EdgeTable,
        "with_neighbours",
        _without_neighbours,
    ),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round_that_passes_over_what_it_should_look_at_is_found(
    name: str, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, owner, function, mistaken = ROUNDS[name]
    check_equal(*case, decider)
    monkeypatch.setattr(owner, function, mistaken)
    with pytest.raises(AssertionError):
        check_equal(*case, decider)


# --- in a store -----------------------------------------------------------------------------------

_SETTINGS: dict[str, Any] = {
    "reasoner": "own",
    "allow": ("undeclared", "empty-tbox"),
    "max_conflicts": 0,
}


def check(
    session: Session, batch: Sequence[Assertion], deletions: Sequence[Assertion] = (), **more: Any
) -> tuple[Verdict, str, int]:
    result = session.check(abox_of(batch), abox_of(deletions), **_SETTINGS, **more)
    return result.verdict, result.evidence.criterion, len(result.a_add)


def test_a_store_keeps_the_completion_and_auto_uses_it(tmp_path: Path, decider: Decider) -> None:
    used = 0
    for seed in range(20):
        kb, path = random_kb(seed), tmp_path / str(seed)
        if index(kb.tbox, abox_of(kb.abox), path, **_SETTINGS).verdict is not Verdict.CONSISTENT:
            continue
        fresh = facts(
            LocalKnowledgeBase.build(kb.tbox, abox_of(kb.abox)), abox_of(kb.insertions), decider
        )
        with open_store(path) as session:
            verdict, criterion, size = check(session, kb.insertions)
            assert (criterion, size) == ("model", fresh["size"])
            assert verdict is check(session, kb.insertions, criterion="clausal")[0]
            gone = abox_of(kb.abox[:1])
            assert session.check(abox_of([]), gone, **_SETTINGS).evidence.criterion == (
                "clausal" if gone.complex else "model"
            )
            used += 1
    assert used > 10


# --- renewed by commits ---------------------------------------------------------------------------


def scratch(tbox: TBox, assertions: Sequence[Assertion], decider: Decider) -> Verdict:
    found = SpecKnowledgeBase.build(tbox, []).add_set(abox_of(assertions), abox_of([]), "none")
    verdicts = {
        answer.verdict for answer in decider.decide(found.tbox, [m.module for m in found.modules])
    }
    for verdict in (Verdict.INCONSISTENT, Verdict.UNDETERMINED):
        if verdict in verdicts or (found.contradictory and verdict is Verdict.INCONSISTENT):
            return verdict
    return Verdict.CONSISTENT


def is_plain(a: Assertion) -> bool:
    return not isinstance(a, ClassAssertion) or isinstance(a.expression, Class)


def steps(seed: int) -> tuple[TBox, list[Assertion], list[list[Assertion]]]:
    """A TBox, a base that uses all the vocabulary there is, and batches that bring none."""
    kb = random_kb(seed)
    abox = sorted(kb.abox, key=repr)
    random.Random(seed).shuffle(abox)
    plain = [a for a in abox if is_plain(a)]
    insertions = [a for a in kb.insertions if is_plain(a)]
    names = {
        a.expression.iri
        for a in (*plain, *insertions)
        if isinstance(a, ClassAssertion) and isinstance(a.expression, Class)
    }
    half, part = len(plain) // 2, max(1, (len(plain) - len(plain) // 2) // 3)
    base = [
        *plain[:half],
        *(a for a in abox if not is_plain(a)),
        *(ClassAssertion(Class(name), f"urn:of:{i}") for i, name in enumerate(sorted(names))),
    ]
    return (
        kb.tbox,
        base,
        [*(plain[i : i + part] for i in range(half, len(plain), part)), insertions],
    )


def is_refuted(path: Path, decider: Decider) -> bool:
    """Whether (T, A) has no model that gives each element its certified label, and keeps apart
    what the store says is apart.
    """
    with open_stored(path) as store:
        base = LocalKnowledgeBase.from_store(store)
        index, completion = base.index, read_stored_model(base.index, store)
        if completion is None:
            return False
        same_clauses = SpecKnowledgeBase(
            store.tbox, frozenset(), index.extra, index.simplified_tbox, base.roles
        )
        found = same_clauses.add_set(abox_of(store.export()), abox_of([]), "none")
        asked = []
        for module in found.modules:
            keys = index.equality.group_of(
                base.base.nodes_of([members[0] for members in module.elements])
            )
            labels = completion.model_labels(index.calculus, keys, index.labels.label_of(keys))
            known = [index.calculus.table.labels[i] for i in labels.tolist()]
            where = np.stack([completion.classes.group_of(keys), completion.modules.group_of(keys)])
            apart = {
                (i, j)
                for i, j in combinations(range(len(keys)), 2)
                if keys[i] != keys[j] and (where[:, i] != where[:, j]).any()
            }
            asked.append(
                replace(
                    module.module,
                    positive=tuple(a | b for a, (b, _) in zip(module.module.positive, known)),
                    negative=tuple(a | b for a, (_, b) in zip(module.module.negative, known)),
                    different=tuple(sorted({*module.module.different, *apart})),
                )
            )
        return any(a.verdict is Verdict.INCONSISTENT for a in decider.decide(found.tbox, asked))


def disagreement(
    seed: int, path: Path, decider: Decider, *, deleting: bool = False
) -> tuple[str, int]:
    """Takes batch after batch into a store: where the verdict is not that from scratch; and how
    many checks used the model.

    ``deleting``: each batch takes some of what there is away as well, and brings back what is
    gone with odds of one half.
    """
    tbox, base, batches = steps(seed)
    dice = random.Random(seed)
    used = 0
    if index(tbox, abox_of(base), path, **_SETTINGS).verdict is not Verdict.CONSISTENT:
        return "", used
    now, gone = dict.fromkeys(base), list[Assertion]()
    for i, insertions in enumerate([*batches, [], []] if deleting else batches):
        deletions, batch = list[Assertion](), list(insertions)
        if deleting:
            plain = [a for a in now if is_plain(a) and not isinstance(a, _NEGATIVE)]
            deletions = dice.sample(plain, min(len(plain), dice.randint(0, 4)))
            batch += [a for a in gone if dice.random() < 0.5]
        with open_store(path) as session:
            verdict, criterion, _ = check(session, batch, deletions, commit=True)
        used += criterion == "model"
        after = {a: None for a in now if a not in deletions} | dict.fromkeys(batch)
        expected = scratch(tbox, list(after), decider)
        if Verdict.UNDETERMINED in (verdict, expected):
            break
        if verdict is not expected:
            return f"seed {seed}, batch {i}: {verdict.value} instead of {expected.value}", used
        if is_refuted(path, decider):
            return f"seed {seed}, batch {i}: no model is as the store says", used
        if verdict is Verdict.CONSISTENT:
            gone = [a for a in (*gone, *deletions) if a not in after]
            now = after
    return "", used


_NEGATIVE = (NegativeObjectPropertyAssertion, NegativeDataPropertyAssertion)


@pytest.mark.parametrize("deleting", [False, True], ids=["insertions", "deletions too"])
def test_commits_renew_the_completion(tmp_path: Path, decider: Decider, deleting: bool) -> None:
    used = 0
    for seed in range(
        6
    ):  # a planted mistake of each kind is found below, and many more seeds are slow
        wrong, count = disagreement(seed, tmp_path / str(seed), decider, deleting=deleting)
        assert not wrong
        used += count
    assert used > 10


@pytest.mark.slow
@pytest.mark.parametrize("deleting", [False, True], ids=["insertions", "deletions too"])
def test_commits_renew_the_completion_on_many(
    tmp_path: Path, decider: Decider, deleting: bool
) -> None:
    for seed in range(1000, 1400):
        wrong, _ = disagreement(seed, tmp_path / str(seed), decider, deleting=deleting)
        assert not wrong


def _without(table: str) -> Callable[..., Renewal]:
    real = growth.renew_model

    def forgetful(*arguments: Any) -> Renewal:
        found = real(*arguments)
        nothing = {name: column[:0] for name, column in found[table][0].items()}
        return found | {table: (nothing, nothing)}

    return forgetful


def _outside_alone(patch: Patch, *arguments: Any) -> Renewal:
    patch.region.is_inside = np.zeros(len(patch.region.is_inside), np.bool_)
    return _REAL(patch, *arguments)


_REAL = growth.renew_model
PLANTED: dict[str, tuple[int, Callable[..., Renewal]]] = {
    "the labels of I are not renewed": (10, _without("completed")),
    "the modules of I are not renewed": (10, _without("certified")),
    "the merge classes are not renewed": (10, _without("outside")),
    "I keeps what it had outside": (23, _outside_alone),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(
    name: str, tmp_path: Path, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, mistaken = PLANTED[name]
    monkeypatch.setattr(growth, "renew_model", mistaken)
    assert disagreement(seed, tmp_path / "kg", decider)[0]
