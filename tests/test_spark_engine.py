"""The engine `spark` against the engine `local`: groups that are certified give together what the batch gives in one piece."""

from __future__ import annotations

import gc
import gzip
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from abox_ops.conflicts.explain import Explainer
from abox_ops.engine import AddSet, Inquiry, NamedModule
from abox_ops.index.columns import vocabulary_of
from abox_ops.labels.numbered import Bools
from abox_ops.local import LocalKnowledgeBase
from abox_ops.local_add_set import LocalAddSet
from abox_ops.modules.decide import Decider
from abox_ops.patch.columns import Patch
from jobs.spark import facts, patching
from jobs.spark.engine import SparkKnowledgeBase
from jobs.spark.explaining import FarExplainer
from jobs.spark.facts import element_names
from jobs.spark.kernel import DELETED, closed
from jobs.spark.plan import Plan, new_names
from jobs.spark.reasoners import Asking
from jobs.spark.rows import rows_of
from jobs.spark.worker import StoreKey
from jobs.store import Certificate
from jobs.store import open_store as open_opened
from jobs.store.manifest import Manifest
from jobs.store.schema import COMPLETION
from jobs.store.upkeep import write_store
from shiq.abox import ABox, abox_of
from shiq.check import check_insertions, index, open_store
from shiq.model import (
    THING,
    Assertion,
    AsymmetricObjectProperty,
    Axiom,
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    DifferentIndividuals,
    DisjointClasses,
    DisjointObjectProperties,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    InverseFunctionalObjectProperty,
    Literal,
    NegativeDataPropertyAssertion,
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
from shiq.reasoner import create
from shiq.reasoner.protocol import Answer
from shiq.result import Result
from shiq.verdict import Verdict
from tests.tools.random_ontologies.kb import RandomKB, random_kb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()


def no_store() -> StoreKey:
    """What a worker tells knowledge bases apart by."""
    return StoreKey(f"in memory {next(_numbers)}", Manifest(0, "", 0, "", {}, {}))


@dataclass(frozen=True)
class Case:
    tbox: TBox
    abox: tuple[Assertion, ...]
    insertions: tuple[Assertion, ...]


def plan_of(kb: LocalKnowledgeBase, insertions: Sequence[Assertion], criterion: str) -> Plan | None:
    """The plan of a batch that may be run in groups; None if it has to be run as one."""
    abox = abox_of(insertions)
    names = new_names(kb.base.names, (set(abox.classes), set(abox.object_properties), set(abox.data_properties)))
    known = kb.base.names.copy()
    for interner, more in zip((known.classes, known.object_properties, known.data_properties), names):
        for name in more:
            interner.id(name)
    classes = np.array(sorted(known.classes.ids[name] for name in abox.classes), np.int64)
    extra = tuple(x for x in vocabulary_of(known, classes, abox.complex, kb.roles) if x not in set(kb.index.extra))
    negative = any(isinstance(a, NegativeDataPropertyAssertion) for a in abox.complex)
    if negative or any(isinstance(x, SubClassOf) for x in extra):
        return None
    return Plan(no_store(), names, extra, Asking("own", "1g", None), criterion)


@dataclass
class Run:
    add_set: LocalAddSet
    read: frozenset[tuple[str, int]]
    changed: frozenset[tuple[str, int]]


def run(kb: LocalKnowledgeBase, insertions: Sequence[Assertion], plan: Plan) -> Run:
    if plan.criterion == "model":
        add_set, _, found = patching.patch(kb, abox_of(insertions), {}, plan)
    else:
        add_set, found = patching.plain_patch(kb, abox_of(insertions), {}, plan)
    _ = len(add_set.modules), list(add_set.kept())
    ids = element_names(add_set.found.graph, add_set.whole)

    def told(by_kind: Mapping[str, Bools]) -> frozenset[tuple[str, int]]:
        return frozenset((kind, i) for kind, flag in by_kind.items() for i in ids[: len(flag)][flag].tolist())

    return Run(add_set, told(found.read), told(found.changed))


def settled(kb: LocalKnowledgeBase, groups: Iterable[Sequence[Assertion]], plan: Plan) -> list[Run]:
    """Runs groups, and as one those that meet, until none do: what `jobs.spark.checking` does with Spark."""
    parts = [list(group) for group in groups]
    runs = [run(kb, part, plan) for part in parts]
    while True:
        pair = next(((i, j) for i, a in enumerate(runs) for j, b in enumerate(runs) if i != j and a.read & b.changed), None)
        if pair is None:
            return runs
        i, j = sorted(pair)
        parts[i] += parts.pop(j)
        runs.pop(j)
        runs[i] = run(kb, parts[i], plan)


def module_of(module: NamedModule, atoms: Sequence[object]) -> object:
    """A module by names, without the numbers of its atoms."""

    def named(label: int) -> frozenset[str]:
        return frozenset(repr(atom) for i, atom in enumerate(atoms) if label >> i & 1)

    m = module.module
    labels = tuple((named(p), named(n)) for p, n in zip(m.positive, m.negative))
    return labels, m.edges, m.negative_edges, m.different, m.data, m.negative_data, module.elements


def described(add_sets: Sequence[LocalAddSet]) -> Mapping[str, object]:
    """What add sets of parts of a batch come to together."""
    return {
        "insertions": sum(a.insertions for a in add_sets),
        "size": sum(a.size for a in add_sets),
        "pulled in": sum(a.pulled_in for a in add_sets),
        "contradictory": sorted(e for a in add_sets for e in a.contradictory),
        "modules": Counter(module_of(m, a.tbox.atoms) for a in add_sets for m in a.modules),
        "kept": Counter(x for a in add_sets for x in a.kept()),
    }


def check(case: Case, groups: int, seed: int, criterion: str = "clausal") -> tuple[int, int]:
    """Compares; how many runs were left, and how many there were at first. (0, 0) where the batch is to be run as one."""
    kb = LocalKnowledgeBase.build(case.tbox, abox_of(case.abox))
    plan = plan_of(kb, case.insertions, criterion)
    if plan is None:
        return 0, 0
    dice = random.Random(seed)
    parts: dict[int, list[Assertion]] = {}
    for assertion in dict.fromkeys(case.insertions):
        parts.setdefault(dice.randrange(groups), []).append(assertion)
    runs = settled(kb, parts.values(), plan)
    if criterion == "model":
        whole, _ = patching.patch_all(kb, abox_of(case.insertions), abox_of([]), plan)
    else:
        whole = kb.add_set(abox_of(case.insertions), abox_of([]))
    assert described([r.add_set for r in runs]) == described([whole])
    return len(runs), len(parts)


# --- random knowledge bases --------------------------------------------------------------------------


def sparse_case(seed: int, *, calm: bool = False) -> Case:
    """Many individuals in small clusters that hang together loosely, and all that lets far things meet: bounds and what
    they merge, universals that send, equalities, disjoint and inverse roles. ``calm``: bases are consistent more often, and roles
    disjoint and asymmetric."""
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
                dice.choice([THING, *names]), ObjectMaxCardinality(dice.choice([1, 1, 2]), role(), dice.choice([THING, some]))
            ),
            SubClassOf(some, ObjectAllValuesFrom(role(), other)),
            SubClassOf(some, ObjectAllValuesFrom(role(), ObjectUnionOf((other, dice.choice(names))))),
            SubClassOf(some, ObjectMinCardinality(dice.choice([1, 2]), role(), dice.choice([THING, other]))),
            DisjointClasses((some, other)),
            ObjectPropertyRange(role(), some),
            FunctionalObjectProperty(dice.choice(properties)),
            SubObjectPropertyOf(role(), role()),
            SubClassOf(some, other),
            *([DisjointObjectProperties((role(), role())), AsymmetricObjectProperty(role())] if calm else ()),
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
        return ObjectPropertyAssertion(dice.choice(properties), *((first, second) if dice.random() < 0.5 else (second, first)))

    abox = [assertion() for _ in range(count if calm else 2 * count)]
    insertions = [assertion(fresh) for _ in range(dice.randint(2, 8))]
    return Case(TBox(tuple(dict.fromkeys(axioms))), tuple(abox), tuple(insertions))


def test_groups_give_what_the_batch_gives() -> None:
    apart = joined = 0
    for seed in range(120):
        left, first = check(sparse_case(seed), 4, seed)
        apart += left > 1
        joined += left < first
    assert apart > 40 and joined > 40


def test_groups_give_what_the_batch_gives_under_model() -> None:
    apart = joined = 0
    for seed in range(40):
        left, first = check(sparse_case(seed, calm=True), 4, seed, "model")
        apart += left > 1
        joined += left < first
    assert apart > 15 and joined > 15


@pytest.mark.parametrize("criterion", ["clausal", "model"])
def test_groups_give_what_the_batch_gives_on_random_knowledge_bases(criterion: str) -> None:
    apart = 0
    for seed in range(40):
        kb = random_kb(seed)
        left, _ = check(Case(kb.tbox, kb.abox, kb.insertions), 3, seed, criterion)
        apart += left > 1
    assert apart > 1


@pytest.mark.slow
def test_groups_give_what_the_batch_gives_often() -> None:
    for seed in range(1000, 6000):
        check(sparse_case(seed), 4, seed)
    for seed in range(1000, 3000):
        kb = random_kb(seed)
        check(Case(kb.tbox, kb.abox, kb.insertions), 3, seed)


@pytest.mark.slow
def test_groups_give_what_the_batch_gives_under_model_often() -> None:
    for seed in range(1000, 3000):
        check(sparse_case(seed, calm=seed % 3 > 0), 4, seed, "model")
    for seed in range(1000, 2000):
        kb = random_kb(seed)
        check(Case(kb.tbox, kb.abox, kb.insertions), 3, seed, "model")


@pytest.mark.slow
@pytest.mark.parametrize("planted", ["counted ends", "I"])
def test_what_groups_change_matters(monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
    """The cases above would find a certificate that forgets one kind of change. (What differs visibly is in I as well: forgetting
    that alone makes no difference.)"""
    if planted == "counted ends":
        monkeypatch.setattr(facts, "counted_roles", lambda calculus: frozenset())
    else:
        monkeypatch.setattr(patching, "inside_of", lambda patch: np.zeros(len(patch.graph), np.bool_))
    with pytest.raises(AssertionError):
        for seed in range(1500):
            check(sparse_case(seed), 4, seed)


def far_merges() -> Case:
    """One insertion overfills ≤2 s at x, so that y1 and y2 may be equal, and w1 and w2 for that; the other, at w1, breaks ≤1 t
    only if they are."""
    s, f, t = (ObjectProperty(f"urn:{name}") for name in "sft")
    tbox = TBox((SubClassOf(THING, ObjectMaxCardinality(2, s, THING)), FunctionalObjectProperty(f), FunctionalObjectProperty(t)))
    pairs = [(s, "x", "y1"), (s, "x", "y2"), (f, "y1", "w1"), (f, "y2", "w2"), (t, "w2", "u")]
    abox = tuple(ObjectPropertyAssertion(p, f"urn:{a}", f"urn:{b}") for p, a, b in pairs)
    inserted = [(s, "x", "y3"), (t, "w1", "v")]
    return Case(tbox, abox, tuple(ObjectPropertyAssertion(p, f"urn:{a}", f"urn:{b}") for p, a, b in inserted))


def test_merge_classes_that_change_far_away_join_groups() -> None:
    assert {check(far_merges(), 2, seed) for seed in range(8)} == {(1, 1), (1, 2)}


def meetings() -> dict[str, Case]:
    """Insertions that are nothing by themselves, and something together: about a pair, seen from either end; about what
    is counted at an element that both have outside, or its values; one that says more of an element that the other takes in; and
    those that make x and z equal at a, which one touches: what the other says of y, where the model has it already, goes there
    along what is asserted."""
    c, r, s = Class("urn:C"), ObjectProperty("urn:r"), ObjectProperty("urn:s")
    one = TBox((DisjointObjectProperties((r, ObjectInverseOf(s))), SubClassOf(c, THING)))
    two = TBox((InverseFunctionalObjectProperty(r), SubClassOf(c, THING)))
    three = TBox((FunctionalDataProperty(DataProperty("urn:f")), SubClassOf(c, THING)))
    known = tuple(ClassAssertion(c, f"urn:{i}") for i in "xyb")
    d, e, f, u = Class("urn:D"), Class("urn:E"), Class("urn:F"), ObjectProperty("urn:u")
    other = (SubClassOf(e, THING), SubClassOf(e, Class("urn:G")), SubClassOf(f, Class("urn:G")))
    b = Class("urn:B")
    bound = SubClassOf(b, ObjectMaxCardinality(1, s, d))
    four = TBox((*other, SubClassOf(c, ObjectAllValuesFrom(r, d)), bound))
    fork = (
        ClassAssertion(b, "urn:a"),
        ObjectPropertyAssertion(s, "urn:a", "urn:x"),
        ObjectPropertyAssertion(s, "urn:a", "urn:z"),
        ClassAssertion(d, "urn:z"),
        ObjectPropertyAssertion(r, "urn:y", "urn:x"),
    )
    touching = ObjectPropertyAssertion(u, "urn:a", "urn:x")
    no_e = ClassAssertion(ObjectComplementOf(e), "urn:y")

    def fork_of(*names: Class) -> Assertion:
        return ClassAssertion(ObjectUnionOf(names), "urn:y")

    far_counted = sparse_case(91, calm=True)
    return {
        "seen": Case(one, known, (ObjectPropertyAssertion(r, "urn:x", "urn:y"), ObjectPropertyAssertion(s, "urn:y", "urn:x"))),
        "counted": Case(
            two,
            (*known, DifferentIndividuals("urn:x", "urn:y")),
            (ObjectPropertyAssertion(r, "urn:x", "urn:b"), ObjectPropertyAssertion(r, "urn:y", "urn:b")),
        ),
        "values": Case(
            three, known, tuple(DataPropertyAssertion(DataProperty("urn:f"), "urn:x", Literal(v)) for v in ("one", "two"))
        ),
        "label": Case(four, (*fork, fork_of(c, e, f)), (no_e, ClassAssertion(ObjectComplementOf(f), "urn:y"), touching)),
        "sent": Case(four, (*fork, fork_of(c, e)), (no_e, touching)),
        "I": far_counted,
        "new": Case(two, known, (SameIndividual("urn:m", "urn:n"), DifferentIndividuals("urn:m", "urn:n"))),
    }


def without_new(patch: Patch) -> patching.Footprint:
    """What a patch rested on, as if new elements were not changed."""
    found, graph = _FOOTPRINT(patch), patch.graph
    changed = found.changed[patching.STATE] & ~graph.is_new()[graph.rep]
    return patching.Footprint(found.read, {**found.changed, patching.STATE: changed})


_FOOTPRINT = patching.footprint
_PLANTED: dict[str, tuple[object, str, object]] = {
    "seen": (patching, "seen_ends", lambda patch: np.zeros(0, np.int64)),
    "counted": (facts, "counted_roles", lambda calculus: frozenset()),
    "values": (patching, "counted_ends", lambda calculus, whole: facts.CountedEnds(*[np.zeros(0, np.int64)] * 2)),
    "I": (patching, "inside_of", lambda patch: np.zeros(len(patch.graph), np.bool_)),
    "label": (patching, "changed_of", lambda graph: graph.is_new()[graph.rep]),
    "sent": (patching, "awaited", lambda patch: np.zeros(len(patch.graph), np.bool_)),
    "new": (patching, "footprint", without_new),
}


@pytest.mark.parametrize("name", list(_PLANTED))
def test_what_patches_change_matters(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The groups meet; and each kind of change is needed for that."""
    case = meetings()[name]

    def run_all() -> set[tuple[int, int]]:
        return {check(case, groups, seed, "model") for seed in (range(8) if name != "I" else [91]) for groups in (2, 4)}

    assert name == "I" or {left for left, _ in run_all()} == {1}
    monkeypatch.setattr(*_PLANTED[name])
    with pytest.raises(AssertionError):
        run_all()


@pytest.mark.parametrize("criterion", ["clausal", "model"])
def test_new_elements_are_inside(criterion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So forgetting either that they are new, or that they are in I, makes no difference; both does ("new", above)."""
    seen = 0

    def told(patch: Patch) -> patching.Footprint:
        nonlocal seen
        new = patch.graph.is_new()[patch.graph.rep]
        assert not (new & ~patch.inside[patch.graph.rep]).any()
        seen += bool(new.any())
        return _FOOTPRINT(patch)

    monkeypatch.setattr(patching, "footprint", told)
    for seed in range(20):
        check(sparse_case(seed, calm=criterion == "model"), 4, seed, criterion)
    assert seen > 20


# --- a batch in one task: deletions ------------------------------------------------------------------


def less_of(seed: int) -> tuple[RandomKB, list[Assertion]]:
    """A random knowledge base, and some of what it asserts."""
    kb = random_kb(seed)
    return kb, random.Random(seed).sample(sorted(kb.abox, key=repr), min(len(kb.abox), 1 + seed % 4))


def patched_less(seed: int, path: Path) -> bool:
    """What a task makes of rows, some of them deletions, is what `local` says of them; False for an inconsistent base."""
    kb, deletions = less_of(seed)
    if index(kb.tbox, abox_of(kb.abox), path, max_conflicts=0, **_SETTINGS).verdict is not Verdict.CONSISTENT:
        return False
    with open_opened(path) as store:
        plan = Plan(StoreKey(str(path), store.manifest), ((), (), ()), (), Asking("own", "1g", None), "model", True)
        gone = rows_of(abox_of(deletions))
        split = gone.schema.get_field_index("split")
        gone = gone.set_column(split, "split", pa.array([DELETED] * len(gone), pa.int64()))
        ran = closed(pa.concat_tables([gone, rows_of(abox_of(kb.insertions))]), plan)
        local = LocalKnowledgeBase.from_store(store)
        found, answers = local.patched(abox_of(kb.insertions), abox_of(deletions), Inquiry(Decider(create("own")).decide))
        assert ran.answers is not None and described([ran.add_set]) == described([found]), seed
        assert verdicts_of(ran.add_set, ran.answers) == verdicts_of(found, answers), seed
    return True


def verdicts_of(add_set: LocalAddSet, answers: Sequence[Answer]) -> Mapping[object, int]:
    return Counter((module_of(m, add_set.tbox.atoms), a.verdict) for m, a in zip(add_set.modules, answers))


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 300), marks=pytest.mark.slow)], ids=["few", "many"])
def test_a_task_patches_random_deletions_as_local_does(tmp_path: Path, seeds: range) -> None:
    assert sum(patched_less(seed, tmp_path / str(seed)) for seed in seeds) > len(seeds) // 3


# --- with Spark --------------------------------------------------------------------------------------


def answer(result: Result) -> dict[str, object]:
    value = result.to_dict()
    value["statistics"] = {k: v for k, v in value["statistics"].items() if k not in ("seconds", "reasoner_calls", "spark")}
    value["evidence"] = {k: v for k, v in value["evidence"].items() if k not in ("engine", "run")}
    return {**value, "conflicts": [c["insertions"] for c in value["conflicts"]]}


def chains(count: int) -> Case:
    """Far-apart chains; the batch touches many of them, joins two by a fresh individual, and contradicts one."""
    cat, dog, likes = Class("urn:Cat"), Class("urn:Dog"), ObjectProperty("urn:likes")
    tbox = TBox(
        (
            DisjointClasses((cat, dog)),
            SubClassOf(cat, ObjectAllValuesFrom(likes, cat)),
            SubClassOf(cat, ObjectMaxCardinality(2, likes, THING)),
        )
    )
    abox: list[Assertion] = []
    insertions: list[Assertion] = []
    for i in range(count):
        names = [f"urn:{i}/{j}" for j in range(4)]
        abox += (ObjectPropertyAssertion(likes, a, b) for a, b in itertools.pairwise(names))
        abox.append(ClassAssertion(dog, names[3]))
        insertions.append(ClassAssertion(dog, f"urn:{i}/0"))
    insertions += [
        ObjectPropertyAssertion(likes, "urn:0/1", "urn:new"),
        ObjectPropertyAssertion(likes, "urn:new", f"urn:{count - 1}/0"),
        ClassAssertion(cat, "urn:0/1"),
    ]
    return Case(tbox, tuple(abox), tuple(insertions))


@pytest.mark.spark
@pytest.mark.parametrize("more", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_spark_gives_what_local_gives(spark: SparkSession, tmp_path: Path, more: bool) -> None:
    case = chains(12 if more else 6)
    store = tmp_path / "kg"
    certified = Certificate.now(verdict="consistent", reasoner="own")
    write_store(store, case.tbox, abox_of(case.abox), certificate=certified)
    spark.conf.set("spark.shiq.range", "8")
    try:
        with open_store(store) as session:
            others = (
                ((), (), "clausal"),
                (case.insertions, case.abox[:3], "clausal"),
                (case.insertions, (), "definition7"),
            )
            found = []
            for batch, deletions, criterion in ((case.insertions, (), "clausal"), *(others if more else ())):
                results = [
                    session.check(
                        abox_of(batch),
                        abox_of(deletions),
                        engine=engine,
                        criterion=criterion,
                        reasoner="own",
                        explain_seconds=None,
                    )
                    for engine in ("local", "spark")
                ]
                found.append(results[1])
                assert answer(results[0]) == answer(results[1])
                assert sorted(results[0].modules) == sorted(results[1].modules)
                assert Counter(results[0].a_add) == Counter(results[1].a_add)
                base = session.knowledge_base("spark")
                assert isinstance(base, SparkKnowledgeBase) and base.figures is not None
                if criterion == "clausal" and batch and not deletions:
                    assert 1 < base.figures.joints < base.figures.groups
            again = session.check(abox_of(case.insertions[::-1]), engine="spark", criterion="clausal", reasoner="own")
            other = session.check(abox_of(case.insertions[1:]), engine="spark", criterion="clausal", reasoner="own")
            first = found[0]
            assert first.evidence.run == again.evidence.run != other.evidence.run
            assert first.a_add.frame().count() == len(first.a_add)  # type: ignore[attr-defined]
    finally:
        spark.conf.unset("spark.shiq.range")


def same_answers(
    path: Path,
    insertions: Sequence[Assertion],
    engines: Sequence[str],
    criterion: str,
    deletions: Sequence[Assertion] = (),
) -> list[Result]:
    """The results of ``engines`` for one batch, which are equal."""
    given = abox_of(insertions), abox_of(deletions)
    with open_store(path) as session:
        results = [session.check(*given, engine=engine, criterion=criterion, **_SETTINGS) for engine in engines]
        first = results[0]
        for other in results[1:]:
            assert answer(other) == answer(first)
            assert sorted(other.modules) == sorted(first.modules)
            assert Counter(other.a_add) == Counter(first.a_add)
        return results


_SETTINGS: dict[str, Any] = {"reasoner": "own", "allow": ("undeclared", "empty-tbox")}


def descriptions(spark: SparkSession) -> list[str]:
    """Of the jobs with the tag of checks, ascending."""
    context = spark.sparkContext._jsc.sc()  # type: ignore[union-attr]
    found = sorted(context.statusTracker().getJobIdsForTag("shiq"))
    return [context.statusStore().job(job).description().get() for job in found]


@pytest.mark.spark
@pytest.mark.parametrize("criterion", ["clausal", "model"])
def test_a_small_batch_is_one_task(spark: SparkSession, tmp_path: Path, criterion: str) -> None:
    """Run and decided in one job; the caller's session is as it was."""
    case, store = chains(6), tmp_path / "kg"
    assert index(case.tbox, abox_of(case.abox), store, **_SETTINGS).verdict is Verdict.CONSISTENT
    before, told = len(descriptions(spark)), "what the caller does"
    spark.sparkContext.setJobDescription(told)
    consistent = [a for a in case.insertions if isinstance(a, ObjectPropertyAssertion)]
    clean, _ = same_answers(store, consistent, ("spark", "local"), criterion)
    assert clean.verdict is Verdict.CONSISTENT and not clean.conflicts
    cost = clean.statistics.spark
    assert (cost["jobs"], cost["rounds"], cost["groups"], cost["joint_groups"], cost["shuffled_bytes"]) == (1, 1, 1, 1, 0)
    assert cost["largest_group"] == len(set(consistent))
    assert cost["tasks"] and cost["result_bytes"] and cost["store_rows"] and cost["cache_hits"] + cost["cache_misses"]
    less, _ = same_answers(store, case.insertions, ("spark", "local"), criterion, case.abox[:3])
    assert less.conflicts and less.statistics.spark["jobs"] <= 6
    found = descriptions(spark)[before:]
    assert found[0] == "shiq: closing and deciding the batch, in one task" and "shiq: insertions of groups" in found
    assert spark.sparkContext.getLocalProperty("spark.job.description") == told
    assert not spark.sparkContext.getJobTags()
    spark.sparkContext.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.spark
def test_spark_patches_as_local_does(spark: SparkSession, tmp_path: Path) -> None:
    """In groups; `auto` chooses it where N is stored; with deletions, and without N, in one task."""
    case, store = chains(12), tmp_path / "kg"
    assert index(case.tbox, abox_of(case.abox), store, **_SETTINGS).verdict is Verdict.CONSISTENT
    spark.conf.set("spark.shiq.range", "8")
    try:
        found, _ = same_answers(store, case.insertions, ("spark", "local"), "auto")
        assert found.evidence.criterion == "model" and found.conflicts
        with open_store(store) as session:
            session.check(abox_of(case.insertions), engine="spark", criterion="model", **_SETTINGS)
            base = cast(SparkKnowledgeBase, session.knowledge_base("spark"))
            assert base.figures is not None and 1 < base.figures.joints < base.figures.groups
    finally:
        spark.conf.unset("spark.shiq.range")
    less, _ = same_answers(store, case.insertions, ("spark", "local"), "auto", case.abox[:2])
    assert less.evidence.criterion == "model" and less.conflicts


@pytest.mark.spark
@pytest.mark.parametrize("seeds", [range(2, 4), pytest.param(range(4, 30), marks=pytest.mark.slow)], ids=["few", "many"])
def test_spark_patches_random_knowledge_bases(spark: SparkSession, tmp_path: Path, seeds: range) -> None:
    used = 0
    spark.conf.set("spark.shiq.range", "4")
    try:
        for seed in seeds:
            kb = random_kb(seed)
            if index(kb.tbox, abox_of(kb.abox), tmp_path / str(seed), max_conflicts=0, **_SETTINGS).verdict is Verdict.CONSISTENT:
                found = same_answers(tmp_path / str(seed), kb.insertions, ("spark", "local", "memory"), "model")
                used += bool(found[0].statistics.insertions)
    finally:
        spark.conf.unset("spark.shiq.range")
    assert used


@pytest.mark.spark
@pytest.mark.parametrize("seeds", [range(2, 4), pytest.param(range(4, 20), marks=pytest.mark.slow)], ids=["few", "many"])
def test_spark_patches_random_deletions(spark: SparkSession, tmp_path: Path, seeds: range) -> None:
    """`auto` is `model` as with `local`, unless what is deleted is complex; that is noted."""
    used: Counter[str] = Counter()
    for seed in seeds:
        kb, deletions = less_of(seed)
        if index(kb.tbox, abox_of(kb.abox), tmp_path / str(seed), max_conflicts=0, **_SETTINGS).verdict is Verdict.CONSISTENT:
            found, _ = same_answers(tmp_path / str(seed), kb.insertions, ("spark", "local"), "auto", deletions)
            void = abox_of(deletions).complex
            assert (found.evidence.criterion, len(found.evidence.notes)) == (("clausal", 1) if void else ("model", 0))
            used[found.evidence.criterion] += 1
    assert used["model"]


@pytest.mark.spark
@pytest.mark.slow
def test_spark_patches_lubm_as_local_does(spark: SparkSession, data_path: Path, tmp_path: Path) -> None:
    """Every twentieth triple of LUBM-1 inserted into the others, in several groups."""
    with gzip.open(data_path / "lubm" / "L1.nt.gz", "rt", encoding="utf-8") as file:
        lines = sorted(set(file))
    tbox, store = data_path / "lubm" / "univ-bench.owl", tmp_path / "kg"
    for name, part in (("base", [x for i, x in enumerate(lines) if i % 20]), ("batch", lines[::20])):
        (tmp_path / f"{name}.nt").write_text("".join(part))
    assert index(tbox, tmp_path / "base.nt", store, reasoner="own").verdict is Verdict.CONSISTENT
    spark.conf.set("spark.shiq.range", "4096")
    try:
        with open_store(store) as session:
            results = [session.check(tmp_path / "batch.nt", engine=engine, reasoner="own") for engine in ("spark", "local")]
    finally:
        spark.conf.unset("spark.shiq.range")
    assert results[0].evidence.criterion == "model"
    assert answer(results[0]) == answer(results[1])


@pytest.mark.spark
def test_a_commit_by_spark_keeps_the_completion(spark: SparkSession, tmp_path: Path) -> None:
    case = chains(3)
    cats = [a for a in case.insertions if isinstance(a, ClassAssertion) and a.expression == Class("urn:Dog")]
    for engine in ("local", "spark"):
        index(case.tbox, abox_of(case.abox), tmp_path / engine, **_SETTINGS)
        with open_store(tmp_path / engine) as session:
            assert session.check(abox_of(cats[:1]), engine=engine, commit=True, **_SETTINGS).committed == 2
            less = session.check(abox_of(cats[1:2]), abox_of(case.abox[:2]), engine=engine, commit=True, **_SETTINGS)
            assert (less.committed, less.evidence.criterion) == (3, "model")
    with open_opened(tmp_path / "local") as local, open_opened(tmp_path / "spark") as far:
        assert far.is_completed
        for name in COMPLETION:
            assert {c: list(x) for c, x in far.table(name).all().items()} == {
                c: list(x) for c, x in local.table(name).all().items()
            }


def test_conflicts_that_only_show_when_others_are_gone() -> None:
    """With a:D in, the group of a is contradictory and sees no further; without it, a and b contradict each other."""
    a, b, c, d = (Class(f"urn:{x}") for x in "ABCD")
    role = ObjectProperty("urn:r")
    tbox = TBox((SubClassOf(a, ObjectUnionOf((d, ObjectAllValuesFrom(role, b)))), DisjointClasses((b, c))))
    base = [ObjectPropertyAssertion(role, "a", "b"), ClassAssertion(ObjectComplementOf(d), "a")]
    batch = [ClassAssertion(a, "a"), ClassAssertion(d, "a"), ClassAssertion(c, "b")]
    kb = LocalKnowledgeBase.build(tbox, abox_of(base))
    decider = Decider(create("own"))

    def check(part: ABox) -> tuple[AddSet, list[tuple[str, ...]]]:
        found = cast(AddSet, kb.add_set(part, abox_of([])))
        answers = decider.decide(found.tbox, [m.module for m in found.modules])
        bad = [m for m, x in zip(found.modules, answers) if x.verdict is Verdict.INCONSISTENT]
        return found, [*found.contradictory, *(tuple(i for e in m.elements for i in e) for m in bad)]

    whole, groups = check(abox_of(batch))
    expected = Explainer(tbox, decider, check).run(abox_of(batch), whole, groups)
    assert len(expected) == 2
    here, groups = check(abox_of(batch[:2]))
    far = FarExplainer(tbox, decider, check, elsewhere=lambda removed: [x for x in batch if x not in removed])
    assert {x.insertions for x in far.run(abox_of(batch[:2]), here, groups)} == {x.insertions for x in expected}
    assert far.complete
    blind = FarExplainer(tbox, decider, check)
    assert len(blind.run(abox_of(batch[:2]), here, groups)) == 1


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    ("tbox", "data", "width"),
    [("lubm/univ-bench.owl", "lubm/L1.nt.gz", 4608), ("uobm/univ-bench-dl.owl", "uobm/U1.nt.gz", None)],
)
def test_real_data(spark: SparkSession, data_path: Path, tmp_path: Path, tbox: str, data: str, width: int | None) -> None:
    """5 % of the data, its subjects exchanged, half of them for fresh ones."""
    for file in (tbox, data):
        if not (data_path / file).is_file():
            pytest.skip(f"no {file} in the test data")
    lines = gzip.decompress((data_path / data).read_bytes()).decode().splitlines()
    dice = random.Random(0)
    batch = tmp_path / "batch.nt"
    chosen = [line.split(" ", 1)[1] for line in dice.sample(lines, len(lines) // 20)]
    subjects = [dice.choice(lines).split(" ", 1)[0] if dice.random() < 0.5 else f"<urn:{dice.randrange(2000)}>" for _ in chosen]
    batch.write_text("".join(f"{s} {rest}\n" for s, rest in zip(subjects, chosen)))
    index(str(data_path / tbox), str(data_path / data), tmp_path / "kg")
    if width:
        spark.conf.set("spark.shiq.range", str(width))
    try:
        with open_store(tmp_path / "kg") as session:
            results = [session.check(str(batch), engine=engine, max_conflicts=5) for engine in ("local", "spark")]
            assert answer(results[0]) == answer(results[1])
            assert sorted(results[0].modules) == sorted(results[1].modules)
            assert Counter(results[0].a_add) == Counter(results[1].a_add)
    finally:
        spark.conf.unset("spark.shiq.range")


@pytest.mark.spark
def test_a_temporary_store_stays_for_who_reads_the_add_set_later(spark: SparkSession, tmp_path: Path) -> None:
    """Without a store one is made for the check; tasks of workers that have not opened it read it when A_add is asked for."""
    case = chains(2)
    result = check_insertions(case.tbox, abox_of(case.abox), abox_of(case.insertions), engine="spark", reasoner="own")
    gc.collect()
    store = Path(result.a_add.add_set.batch.plan.store.path)  # type: ignore[attr-defined]
    assert store.is_dir() and len([*result.a_add]) == len(result.a_add)
    del result
    gc.collect()
    assert not store.exists()
