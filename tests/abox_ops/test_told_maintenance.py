"""Told literals and equalities after insertions, outward from what changed: as from scratch, and
nobody else met; and the merge classes of a store with and without N.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from store_content import different
from test_local import Case, counting_case, deletion_case, small_vocabulary
from test_model_columns import _SETTINGS, is_plain, scratch, steps

from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.snapshot_delta import compute_told_union
from shiq.abox_ops.told import maintenance
from shiq.abox_ops.told.maintenance import _OutwardWalk
from shiq.answers.verdict import Verdict
from shiq.api import index, open_store
from shiq.columns.arrays import unique
from shiq.jobs.store import open_store as open_stored
from shiq.jobs.store.upkeep import write_store
from shiq.model import (
    THING,
    Assertion,
    Class,
    ClassAssertion,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectIntersectionOf,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectSomeValuesFrom,
    SubClassOf,
    TBox,
)
from shiq.model.abox import abox_of
from tests.tools.random_ontologies.kb import random_kb

_NEGATIVE = (NegativeObjectPropertyAssertion, NegativeDataPropertyAssertion)


def as_maintained_and_anew(case: Case) -> tuple[object, object] | None:
    """Label and equals of each individual that is there afterwards: as they are kept, and made
    anew.
    """
    base = LocalKnowledgeBase.build(case.tbox, abox_of(case.abox))
    after = base.after_deletions(abox_of(case.deletions), abox_of(case.insertions))
    whole = after.union_with(abox_of(case.insertions))
    told = None if base.index.is_contradictory else compute_told_union(after, whole, counting=False)
    now = sorted({*case.abox} - {*case.deletions} | {*case.insertions}, key=repr)
    anew = LocalKnowledgeBase.build(case.tbox, abox_of(now))
    if (
        told is None
        or anew.index.simplified_tbox.clauses.clauses != base.index.simplified_tbox.clauses.clauses
    ):
        return None
    graph, labels = told.graph, told.calculus.table.labels
    if told.calculus.table.clashes(graph.label).any():
        return True, anew.index.is_contradictory
    atoms = told.calculus.tbox.atoms
    nodes = anew.base.nodes()
    terms = anew.base.terms_of(nodes)
    keys = anew.index.equality.group_of(nodes)

    def read(label: tuple[int, int]) -> tuple[frozenset[Any], ...]:
        return tuple(frozenset(a for i, a in enumerate(atoms) if mask >> i & 1) for mask in label)

    known = anew.index.calculus.table.labels
    expected = {
        t: (k, read(known[i]))
        for t, k, i in zip(terms, keys.tolist(), anew.index.labels.label_of(keys).tolist())
    }
    element = graph.elements_of(whole.nodes_of(terms))
    found = {
        t: (e, read(labels[i]))
        for t, e, i in zip(terms, element.tolist(), graph.label[element].tolist())
    }
    return tuple(
        (_classes(values), {t: label for t, (_, label) in values.items()})
        for values in (found, expected)
    )


def _classes(values: dict[str, tuple[int, object]]) -> set[frozenset[str]]:
    by_class: dict[int, set[str]] = {}
    for term, (class_, _) in values.items():
        by_class.setdefault(class_, set()).add(term)
    return {frozenset(members) for members in by_class.values()}


def random_case(seed: int) -> Case:
    kb = random_kb(seed)
    return Case(kb.tbox, tuple(kb.abox), tuple(kb.insertions), ())


def joining_case(seed: int) -> Case:
    """Functional roles that come into force, or find a filler, by what travels to them over hubs."""
    dice = random.Random(seed)
    names, properties, individuals, role = small_vocabulary(dice, 5, 12, 0.6)
    axioms = [
        SubClassOf(
            dice.choice(names), ObjectMaxCardinality(1, role(), dice.choice([THING, *names]))
        )
        for _ in range(2)
    ]
    axioms += [
        SubClassOf(dice.choice(names), ObjectAllValuesFrom(role(), dice.choice(names)))
        for _ in range(3)
    ]
    axioms.append(
        SubClassOf(
            ObjectIntersectionOf((names[0], ObjectSomeValuesFrom(role(), names[1]))), names[2]
        )
    )
    hub = individuals[0]

    def edge() -> Assertion:
        ends = (
            [hub, dice.choice(individuals)]
            if dice.random() < 0.5
            else dice.choices(individuals, k=2)
        )
        return ObjectPropertyAssertion(dice.choice(properties), *dice.sample(ends, 2))

    def told() -> Assertion:
        return ClassAssertion(dice.choice(names), dice.choice(individuals))

    abox = [edge() for _ in range(2 * len(individuals))] + [
        told() for _ in range(len(individuals) // 2)
    ]
    abox += [ClassAssertion(name, f"urn:of{i}") for i, name in enumerate(names)]
    insertions = [(edge if dice.random() < 0.4 else told)() for _ in range(dice.randint(1, 3))]
    return Case(TBox(tuple(dict.fromkeys(axioms))), tuple(abox), tuple(insertions), ())


KINDS: dict[str, Callable[[int], Case]] = {
    "random": random_case,
    "counting": counting_case,
    "deletions": deletion_case,
    "joining": joining_case,
}


def differ(kind: str, seeds: Iterable[int]) -> Iterator[bool]:
    """Whether each case that there is something to compare in differs."""
    for seed in seeds:
        both = as_maintained_and_anew(KINDS[kind](seed))
        if both is not None:
            yield both[0] != both[1]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_told_from_scratch(kind: str) -> None:
    found = list(differ(kind, range(50)))  # each planted mistake differs in one of them
    assert len(found) > 20 and not any(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_told_from_scratch_on_many(kind: str) -> None:
    assert not any(differ(kind, range(1000, 4000)))


def _sends_alone(self: _OutwardWalk, role: Any, before: Any, now: Any) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(self.calculus), "functional_clauses", [])
        return _MATTERS(self, role, before, now)


def _equates_alone(self: _OutwardWalk, role: Any, before: Any, now: Any) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maintenance, "_count_unrefuted", lambda literals, label: 2)
        return _MATTERS(self, role, before, now)


def _unread(self: _OutwardWalk, elements: Any) -> None:
    self.graph.fetch_members(elements)


_MATTERS = _OutwardWalk._may_send_more
PLANTED: dict[str, tuple[str, object, str, Callable[..., Any]]] = {
    "no role assertion of A takes part": (
        "deletions",
        _OutwardWalk,
        "_fetch_pending_edges",
        _unread,
    ),
    "what a neighbour may be sent is not looked at": (
        "deletions",
        _OutwardWalk,
        "_may_send_more",
        _equates_alone,
    ),
    "a filler that comes is not looked at": (
        "joining",
        _OutwardWalk,
        "_may_send_more",
        _sends_alone,
    ),
    "only a literal that is the last one missing is sent": (
        "joining",
        maintenance,
        "_count_unrefuted",
        lambda literals, label: min(1, _OPEN(literals, label)),
    ),
    "equalities of insertions bring no labels": (
        "counting",
        maintenance,
        "combine_part_labels",
        lambda *arguments: None,
    ),
    "nobody is made equal": (
        "joining",
        _OutwardWalk,
        "_forced_pairs",
        lambda self, clause: (maintenance.NONE,) * 2,
    ),
}
_OPEN = maintenance._count_unrefuted


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, owner, function, mistaken = PLANTED[name]
    monkeypatch.setattr(owner, function, mistaken)
    assert any(differ(kind, range(50)))


def test_a_hub_that_stays_as_it_is_brings_no_neighbours() -> None:
    """And one that changes, those by the roles on which that matters."""
    hub, knows, near = "urn:hub", ObjectProperty("urn:knows"), ObjectProperty("urn:near")
    tbox = TBox((SubClassOf(Class("urn:Seen"), ObjectAllValuesFrom(near, Class("urn:Close"))),))
    edges = [ObjectPropertyAssertion(knows, f"urn:i{i}", hub) for i in range(100)]
    edges += [ObjectPropertyAssertion(near, hub, f"urn:n{i}") for i in range(3)]
    base = LocalKnowledgeBase.build(
        tbox, abox_of([*edges, ClassAssertion(Class("urn:Seen"), "urn:other")])
    )

    def met(*insertions: Assertion) -> set[str]:
        whole = base.union_with(abox_of(insertions))
        told = compute_told_union(base, whole)
        assert told is not None
        return set(whole.terms_of(unique(told.graph.key)))

    assert met(ObjectPropertyAssertion(knows, "urn:new", hub)) == {hub, "urn:new"}
    assert met(ClassAssertion(Class("urn:Seen"), hub)) == {hub, "urn:n0", "urn:n1", "urn:n2"}


# --- in a store -----------------------------------------------------------------------------------


def life(seed: int, path: Path, decider: Decider) -> list[str]:
    """Commits on a certified store, the last one under `clausal`: what it says that one built
    anew does not; and verdicts under `clausal`, which goes by the classes of N before that, that
    are not those from scratch.
    """
    tbox, base, batches = steps(seed)
    dice = random.Random(seed)
    wrong: list[str] = []
    if index(tbox, abox_of(base), path / "kg", **_SETTINGS).verdict is not Verdict.CONSISTENT:
        return wrong
    now = dict.fromkeys(base)
    for i, insertions in enumerate([*batches, []]):
        plain = [a for a in now if is_plain(a) and not isinstance(a, _NEGATIVE)]
        deletions = dice.sample(plain, min(len(plain), dice.randint(0, 2)))
        after = {a: None for a in now if a not in deletions} | dict.fromkeys(insertions)
        criterion = "clausal" if i == len(batches) else "auto"
        with open_store(path / "kg") as session:
            batch = abox_of(insertions), abox_of(deletions)
            asked = session.check(*batch, criterion="clausal", **_SETTINGS).verdict
            found = session.check(*batch, commit=True, criterion=criterion, **_SETTINGS).verdict
        if Verdict.UNDETERMINED in (asked, found):
            return wrong
        if len({asked, found, scratch(tbox, list(after), decider)}) > 1:
            wrong.append(f"seed {seed}, batch {i}: {asked.value} under clausal")
        if found is Verdict.CONSISTENT:
            now = after
            wrong += [f"seed {seed}, batch {i}: {name}" for name in _unlike(tbox, list(now), path)]
    return wrong


def _unlike(tbox: TBox, now: Sequence[Assertion], path: Path) -> list[str]:
    write_store(path / "anew", tbox, abox_of(sorted(now, key=repr))).close()
    with open_stored(path / "kg") as kept, open_stored(path / "anew") as anew:
        # Nobody keeps those of told beside N.
        passed_over = {"merged"} if kept.is_completed else set()
        return [name for name in different(kept, anew) if name not in passed_over]


def test_a_life_of_a_certified_store(tmp_path: Path, decider: Decider) -> None:
    for seed in range(3):
        assert not life(seed, tmp_path / str(seed), decider)


@pytest.mark.slow
def test_lives_of_certified_stores(tmp_path: Path, decider: Decider) -> None:
    for seed in range(2000, 2200):
        assert not life(seed, tmp_path / str(seed), decider)


@pytest.mark.parametrize("seeds", [range(1, 4), pytest.param(range(4, 30), marks=pytest.mark.slow)])
def test_a_model_that_only_the_session_has_keeps_no_classes(tmp_path: Path, seeds: range) -> None:
    """A store without N, and a commit that was accepted by an N which an earlier check of the
    session has made.
    """
    renewed = 0
    for seed in seeds:
        tbox, base, batches = steps(seed)
        path = tmp_path / str(seed)
        if (
            index(tbox, abox_of(base), path / "kg", criterion="clausal", **_SETTINGS).verdict
            is not Verdict.CONSISTENT
        ):
            continue
        now = dict.fromkeys(base)
        for insertions in batches:
            with open_store(path / "kg") as session:
                session.check(abox_of(insertions), criterion="model", **_SETTINGS)
                if (
                    session.check(abox_of(insertions), commit=True, **_SETTINGS).verdict
                    is not Verdict.CONSISTENT
                ):
                    break
            now |= dict.fromkeys(insertions)
            assert not _unlike(tbox, list(now), path), seed
            renewed += 1
    assert renewed > len(seeds) / 2


def test_what_changes_nothing_leaves_the_model_where_it_is(tmp_path: Path) -> None:
    """Also under `clausal`, whose classes nobody keeps beside N: a store that is sent the same
    again stays as it is.
    """
    knows = ObjectProperty("urn:knows")
    tbox = TBox((SubClassOf(THING, ObjectMaxCardinality(2, knows, THING)),))
    base = [ObjectPropertyAssertion(knows, "urn:a", f"urn:{i}") for i in "bcd"]
    assert index(tbox, abox_of(base), tmp_path / "kg", **_SETTINGS).verdict is Verdict.CONSISTENT
    for criterion in ("clausal", "auto"):
        with open_store(tmp_path / "kg") as session:
            assert (
                session.check(
                    abox_of(base[:1]), commit=True, criterion=criterion, **_SETTINGS
                ).verdict
                is Verdict.CONSISTENT
            )
        with open_stored(tmp_path / "kg") as store:
            assert (store.snapshot, store.is_completed) == (1, True)
