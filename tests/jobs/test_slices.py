"""Batches in slices, each on top of those before it: what the batch gives in one piece."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from shiq.abox_ops.elements import base, quotient
from shiq.abox_ops.engine import Inquiry
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.patch import accepted_layer
from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import index, open_store
from shiq.columns.arrays import Columns, OverlayTable, Table, array_table
from shiq.jobs.checking.slices import split_batch
from shiq.jobs.gate import gate
from shiq.jobs.spark.engine import SparkWork
from shiq.jobs.store import open_store as open_stored
from shiq.model import (
    THING,
    Assertion,
    AsymmetricObjectProperty,
    Axiom,
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    DisjointClasses,
    DisjointObjectProperties,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    InverseFunctionalObjectProperty,
    Literal,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectPropertyExpression,
    ObjectPropertyRange,
    ObjectUnionOf,
    SameIndividual,
    SubClassOf,
    SubObjectPropertyOf,
    TBox,
)
from shiq.model.abox import abox_of
from shiq.model.ntriples import assertion_lines
from shiq.model.walk import signature_of
from tests.abox_ops.test_layer import agree, from_scratch, verdict_of

_SETTINGS: dict[str, Any] = {"reasoner": "own", "allow": ("undeclared", "empty-tbox")}


@dataclass(frozen=True)
class Case:
    tbox: TBox
    abox: tuple[Assertion, ...]
    insertions: tuple[Assertion, ...]


def sparse_case(seed: int, *, calm: bool = False, most: int = 8) -> Case:
    """Many individuals in small clusters that hang together loosely, and all that lets far
    things meet: bounds and what they merge, universals that send, equalities, disjoint and
    inverse roles. ``calm``: bases are consistent more often, and roles disjoint and asymmetric.
    """
    dice = random.Random(seed)
    names = [Class(f"urn:C{i}") for i in range(5)]
    properties = [ObjectProperty(f"urn:r{i}") for i in range(4)]
    count = dice.randint(8, 24)
    individuals = [f"urn:i{i}" for i in range(count)]
    fresh = [f"urn:f{i}" for i in range(4)]

    def role() -> ObjectPropertyExpression:
        chosen = dice.choice(properties)
        return chosen if dice.random() < 0.6 else ObjectInverseOf(chosen)

    def makers() -> list[Axiom]:
        some, other = dice.sample(names, 2)
        return [
            SubClassOf(
                dice.choice([THING, *names]),
                ObjectMaxCardinality(dice.choice([1, 1, 2]), role(), dice.choice([THING, some])),
            ),
            SubClassOf(some, ObjectAllValuesFrom(role(), other)),
            SubClassOf(
                some, ObjectAllValuesFrom(role(), ObjectUnionOf((other, dice.choice(names))))
            ),
            SubClassOf(
                some, ObjectMinCardinality(dice.choice([1, 2]), role(), dice.choice([THING, other]))
            ),
            DisjointClasses((some, other)),
            ObjectPropertyRange(role(), some),
            FunctionalObjectProperty(dice.choice(properties)),
            SubObjectPropertyOf(role(), role()),
            SubClassOf(some, other),
            *(
                [DisjointObjectProperties((role(), role())), AsymmetricObjectProperty(role())]
                if calm
                else ()
            ),
        ]

    axioms = [dice.choice(makers()) for _ in range(dice.randint(3, 6))]

    def near() -> tuple[str, str]:
        i = dice.randrange(count)
        return individuals[i], individuals[min(count - 1, max(0, i + dice.randint(-2, 2)))]

    def assertion(pool: Sequence[str] = ()) -> Assertion:
        first, second = near()
        if pool and dice.random() < 0.4:
            first = dice.choice(pool)
        draw = dice.random()
        if draw < (0.15 if calm else 0.4):
            name = dice.choice(names)
            return ClassAssertion(name if dice.random() < 0.7 else ObjectComplementOf(name), first)
        if draw < 0.45:
            return SameIndividual(first, second)
        return ObjectPropertyAssertion(
            dice.choice(properties), *((first, second) if dice.random() < 0.5 else (second, first))
        )

    abox = [assertion() for _ in range(count if calm else 2 * count)]
    insertions = [assertion(fresh) for _ in range(dice.randint(2, most))]
    return Case(TBox(tuple(dict.fromkeys(axioms))), tuple(abox), tuple(insertions))


def stacked(
    case: Case, seed: int, decider: Decider, folder: Path | None = None
) -> list[tuple[Verdict, Verdict]]:
    """Verdicts on the slices of a random batch, each on top of those before it, beside those
    from scratch of all up to there.
    """
    dice = random.Random(seed)
    if from_scratch(case.tbox, case.abox, decider) is not Verdict.CONSISTENT:
        return []
    base = LocalKnowledgeBase.build(case.tbox, abox_of(case.abox))
    if folder is not None:
        index(case.tbox, abox_of(case.abox), folder, max_conflicts=0, **_SETTINGS)
        base = LocalKnowledgeBase.from_store(open_stored(folder))
    batch = [a for a in dict.fromkeys(case.insertions) if a not in set(case.abox)]
    dice.shuffle(batch)
    pairs: list[tuple[Verdict, Verdict]] = []
    below: list[Assertion] = []
    while batch:
        count = dice.randrange(1, 4)
        part, batch = batch[:count], batch[count:]
        found, answers = base.decide_by_patch(abox_of(part), abox_of([]), Inquiry(decider.decide))
        below += part
        pairs.append(
            (
                verdict_of(found.contradictory, answers),
                from_scratch(case.tbox, [*case.abox, *below], decider),
            )
        )
        above = base.with_accepted(found) if pairs[-1][0] is Verdict.CONSISTENT else None
        if above is None:
            break
        assert len(above) == len({*case.abox, *below})
        base = above
    return pairs


def is_named(assertion: Assertion) -> bool:
    return isinstance(assertion, ClassAssertion) and isinstance(assertion.expression, Class)


def calm_case(seed: int) -> Case:
    """A case of a dozen insertions, that mostly are consistent, some of values."""
    case, dice = sparse_case(seed, calm=True, most=14), random.Random(seed)
    f, never = DataProperty("urn:f"), Class("urn:Never")
    values = [
        DataPropertyAssertion(
            f, f"urn:{dice.choice('if')}{dice.randrange(4)}", Literal(dice.choice("ab"))
        )
        for _ in range(3)
    ]
    # T knows all names: what brings one is taken whole, as is what is asserted to be equal.
    known: list[Axiom] = [DisjointClasses((Class(f"urn:C{i}"), never)) for i in range(5)]
    known += (
        SubObjectPropertyOf(ObjectProperty(f"urn:r{i}"), ObjectProperty("urn:any"))
        for i in range(4)
    )
    axioms = (*case.tbox.axioms, *known, FunctionalDataProperty(f))
    tbox = TBox(axioms, signature_of(axioms))
    insertions = [
        a
        for a in (*case.insertions, *values)
        if isinstance(a, ObjectPropertyAssertion | DataPropertyAssertion) or is_named(a)
    ]
    return replace(case, tbox=tbox, insertions=tuple(insertions))


def deep(found: Sequence[Sequence[object]]) -> int:
    """How many were checked on top of three layers."""
    return sum(len(pairs) > 3 for pairs in found)


def test_layers_stack(tmp_path: Path, decider: Decider) -> None:
    found = [stacked(calm_case(seed), seed, decider) for seed in range(40)]
    found += [
        stacked(calm_case(seed), seed, decider, tmp_path / str(seed)) for seed in range(60, 64)
    ]
    assert agree([pair for pairs in found for pair in pairs]) > 2 and deep(found) > 5


@pytest.mark.slow
def test_layers_stack_often(decider: Decider) -> None:
    found = [stacked(calm_case(seed), seed, decider) for seed in range(100, 2500)]
    assert agree([pair for pairs in found for pair in pairs]) > 100 and deep(found) > 200


def test_a_layer_that_forgets_a_lower_one_is_found_out(
    decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget(table: Table, added: Columns, removed: Columns) -> OverlayTable:
        below = table.table if isinstance(table, OverlayTable) else table
        rows = {name: removed[name] for name in added}
        return OverlayTable(below, *(array_table(table.key, part) for part in (added, rows)))

    for module in (base, quotient, accepted_layer):
        monkeypatch.setattr(module, "overlay_changes", forget)
    with pytest.raises(AssertionError):
        agree([pair for seed in range(10, 30) for pair in stacked(calm_case(seed), seed, decider)])


# --- checks and gates -----------------------------------------------------------------------------


def answer(result: Result) -> dict[str, Any]:
    """What must not depend on slices."""
    value = result.to_dict()
    return {
        **{
            name: value[name]
            for name in ("verdict", "reason", "conflicts", "more_conflicts", "complete")
        },
        "leftovers": value["evidence"]["leftovers"],
        "insertions": value["statistics"]["insertions"],
    }


def is_sliced(result: Result) -> bool:
    return not any("taken whole" in note for note in result.evidence.notes)


def same_in_slices(case: Case, store: Path) -> tuple[bool, Verdict] | None:
    """Whether a batch was taken in slices, and the verdict, which is that of one piece; None for
    an inconsistent base.
    """
    if (
        index(case.tbox, abox_of(case.abox), store, max_conflicts=0, **_SETTINGS).verdict
        is not Verdict.CONSISTENT
    ):
        return None
    asked = {**_SETTINGS, "engine": "spark", "criterion": "model", "explain_seconds": None}
    with open_store(store) as session:
        whole, sliced = (
            session.check(abox_of(case.insertions), driver_rows=rows, **asked)
            for rows in (1_000_000, 2)
        )
        assert is_sliced(whole) and answer(sliced) == answer(whole)
        stopped = session.check(abox_of(case.insertions), driver_rows=2, verdict_only=True, **asked)
        assert stopped.verdict is whole.verdict
        if is_sliced(sliced):
            assert (
                len([*sliced.a_add]) == len(sliced.a_add)
                and len([*sliced.modules]) == sliced.statistics.modules
            )
        return is_sliced(sliced), whole.verdict


def test_checks_in_slices(tmp_path: Path) -> None:
    """A batch that contradicts is looked at whole, so its conflicts name insertions of all slices."""
    found = [same_in_slices(calm_case(seed), tmp_path / str(seed)) for seed in range(8)]
    assert (True, Verdict.CONSISTENT) in found and (False, Verdict.INCONSISTENT) in found


@pytest.mark.slow
def test_checks_in_slices_often(tmp_path: Path) -> None:
    found = [same_in_slices(calm_case(seed), tmp_path / str(seed)) for seed in range(100, 400)]
    assert (
        found.count((True, Verdict.CONSISTENT)) > 30
        and found.count((False, Verdict.INCONSISTENT)) > 30
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_a_gate_sets_the_same_aside(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the slices and the order of lines are; what is committed is one snapshot. (Files
    are read without Spark.)
    """
    monkeypatch.setattr(SparkWork, "distribute_sources", lambda self, given: list(given))
    dice = random.Random(seed)
    cat, dog, likes = Class("urn:Cat"), Class("urn:Dog"), ObjectProperty("urn:likes")
    tbox = TBox((DisjointClasses((cat, dog)), SubClassOf(cat, ObjectAllValuesFrom(likes, cat))))
    base = [ClassAssertion(cat, f"urn:b{i}") for i in range(4)]
    batch: list[Assertion] = [
        ObjectPropertyAssertion(likes, f"urn:b{i % 4}", f"urn:n{i}") for i in range(8)
    ]
    batch += [
        ClassAssertion(dog, "urn:n1"),
        ClassAssertion(dog, "urn:n6"),
        ClassAssertion(dog, "urn:m"),
    ]
    index(tbox, abox_of(base), tmp_path / "kg", **_SETTINGS)
    sides = []
    for rows in (1_000_000, 3, 1):
        dice.shuffle(batch)
        (tmp_path / "b.nt").write_text(
            "".join(f"{line}\n" for a in batch for line in assertion_lines(a))
        )
        with open_store(tmp_path / "kg") as session:
            asked = {"engine": "spark", "driver_rows": rows, **_SETTINGS}
            told = gate(session, [str(tmp_path / "b.nt")], mode="split", dry_run=True, **asked)
            sides.append(({line.line.raw for line in told.set_aside}, told.exit_code))
            clean = [
                a
                for a in batch
                if a != ClassAssertion(dog, "urn:n1") and a != ClassAssertion(dog, "urn:n6")
            ]
            checked = session.check(abox_of(clean), **asked)
            assert checked.verdict is Verdict.CONSISTENT and is_sliced(checked)
    assert sides[0] == sides[1] == sides[2] and len(sides[0][0]) == 4
    with open_store(tmp_path / "kg") as session:
        taken = session.check(
            abox_of(clean), engine="spark", driver_rows=3, commit=True, **_SETTINGS
        )
        assert (
            taken.committed == 2
            and "it is to be committed" in taken.evidence.notes[-1]
            and not is_sliced(taken)
        )


def test_what_keeps_a_batch_whole_is_said(tmp_path: Path) -> None:
    f, cat = ObjectProperty("urn:f"), Class("urn:Cat")
    tbox = TBox((FunctionalObjectProperty(f), SubClassOf(cat, THING)))
    base: list[Assertion] = [
        ObjectPropertyAssertion(f, "urn:a", "urn:b"),
        ClassAssertion(cat, "urn:a"),
    ]
    index(tbox, abox_of(base), tmp_path / "kg", **_SETTINGS)
    links: list[Assertion] = [ObjectPropertyAssertion(f, f"urn:{i}", "urn:b") for i in range(6)]
    equal: list[Assertion] = [*links, ObjectPropertyAssertion(f, "urn:a", "urn:c")]
    asked = {**_SETTINGS, "engine": "spark", "driver_rows": 2}
    with open_store(tmp_path / "kg") as session:
        cases: tuple[tuple[list[Assertion], list[Assertion], str], ...] = (
            (links, [], ""),
            (equal, [], ""),
            ([*links, SameIndividual("urn:0", "urn:1")], [], "are equal or differ"),
            (links, base[1:], "deletions"),
            ([*links, ClassAssertion(ObjectComplementOf(cat), "urn:0")], [], "complex"),
        )
        for batch, gone, why in cases:
            result = session.check(abox_of(batch), abox_of(gone), **asked)
            assert result.verdict is Verdict.CONSISTENT
            assert (
                any(why in note for note in result.evidence.notes) if why else is_sliced(result)
            ), why
        result = session.check(abox_of(links), criterion="clausal", **asked)
        assert any("need the criterion model" in note for note in result.evidence.notes)
        assert is_sliced(session.check(abox_of(links), **{**asked, "engine": "local"}))


def test_a_batch_taken_whole_is_said_on_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a check, and by a gate of whose rounds the last one alone goes in slices. (Files are
    read without Spark.)
    """
    from shiq.jobs.cli import main

    monkeypatch.setattr(SparkWork, "distribute_sources", lambda self, given: list(given))
    cat, dog = Class("urn:Cat"), Class("urn:Dog")
    base = abox_of([ClassAssertion(cat, "urn:a")])
    index(TBox((DisjointClasses((cat, dog)),)), base, tmp_path / "kg", **_SETTINGS)
    batch = [ClassAssertion(dog, f"urn:{name}") for name in "abcd"]
    (tmp_path / "b.nt").write_text(
        "".join(f"{line}\n" for a in batch for line in assertion_lines(a))
    )
    given = ["--store", f"{tmp_path}/kg", "-i", f"{tmp_path}/b.nt", "--reasoner", "own"]
    given += ["--engine", "spark", "--driver-rows", "2", "-q"]
    for command, code in ((["check"], 1), (["gate", "--mode", "split", "--dry-run"], 5)):
        with pytest.raises(SystemExit) as ended:
            main([*command, *given])
        out, err = capsys.readouterr()
        assert ended.value.code == code, err
        assert "the batch was taken whole, not in slices of 2 insertions: a slice" in err
        assert "taken whole" not in out


def test_crowds_are_told_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that one slice looks at; where they stand in the way, the batch is taken whole."""
    monkeypatch.setattr("shiq.jobs.checking.answer.OVERSIZE", 3)
    f = ObjectProperty("urn:f")
    tbox = TBox((InverseFunctionalObjectProperty(f), SubClassOf(Class("urn:Cat"), THING)))
    index(tbox, abox_of([ClassAssertion(Class("urn:Cat"), "urn:b")]), tmp_path / "kg", **_SETTINGS)
    links = abox_of(ObjectPropertyAssertion(f, f"urn:{i}", "urn:b") for i in range(8))
    asked = {**_SETTINGS, "engine": "spark"}
    with open_store(tmp_path / "kg") as session:
        whole = session.check(links, **asked)
        sliced = session.check(links, driver_rows=2, **asked)
        assert is_sliced(sliced) and answer(sliced) == answer(whole)
        assert "8 individuals are one" in str(answer(sliced)["leftovers"])
        strict = session.check(links, driver_rows=2, fail_on=("many-equal",), **asked)
        assert not is_sliced(strict) and strict.verdict is Verdict.UNDETERMINED


def test_slices_hold_each_assertion_once() -> None:
    for seed in range(20):
        case = calm_case(seed)
        plain = abox_of(case.insertions)
        parts = list(
            split_batch(LocalKnowledgeBase.build(case.tbox, abox_of(case.abox)).base, plain, 3)
        )
        assert sorted((a for part in parts for a in part), key=repr) == sorted(plain, key=repr)
        subjects = [
            {a.individual if isinstance(a, ClassAssertion) else a.subject for a in part}
            for part in parts
        ]  # type: ignore[union-attr]
        assert sum(map(len, subjects)) == len(set().union(*subjects))
