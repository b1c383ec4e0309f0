"""The engine `local` against the reference `memory`: equal add sets on every input; and the cost
of a check follows its batch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiq.abox_ops.counting import merge_classes as merging
from shiq.abox_ops.elements.quotient import component_minima, make_partition
from shiq.abox_ops.engine import CRITERIA, AddSet
from shiq.abox_ops.index import deletion
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.open_assertions import OpenAssertions
from shiq.abox_ops.snapshot_delta import compute_told_union, grow_merge_classes
from shiq.abox_ops.told.told_literals import saturate
from shiq.answers.verdict import Verdict
from shiq.columns.arrays import (
    Ints,
    array_table,
    concatenate,
    distinct_with_inverse,
    is_in,
    is_row_in,
    matching_rows,
    row_codes,
    set_difference,
    unique,
)
from shiq.errors import UsageError
from shiq.jobs.store import Store
from shiq.jobs.store.upkeep import write_store
from shiq.model import (
    NOTHING,
    THING,
    XSD,
    Assertion,
    Axiom,
    Class,
    ClassAssertion,
    ClassExpression,
    DataProperty,
    DataPropertyAssertion,
    DataPropertyRange,
    Datatype,
    DifferentIndividuals,
    DisjointClasses,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    Literal,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectPropertyExpression,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SameIndividual,
    SubClassOf,
    SubObjectPropertyOf,
    TBox,
)
from shiq.model.abox import ABox, ABoxBuilder, abox_of, individuals_of
from shiq.rdf import read_assertions, read_ontology
from shiq.reasoner import create_reasoner
from tests.builders import concept, tbox, triples
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.random_ontologies.kb import random_kb


@dataclass(frozen=True)
class Case:
    tbox: TBox
    abox: tuple[Assertion, ...]
    insertions: tuple[Assertion, ...]
    deletions: tuple[Assertion, ...] = ()


def atoms_of(add_set: AddSet, mask: int) -> frozenset[object]:
    return frozenset(atom for i, atom in enumerate(add_set.tbox.atoms) if mask >> i & 1)


def described(add_set: AddSet) -> dict[str, object]:
    """All that an add set says, without the numbers of its atoms."""
    modules = [
        (
            [atoms_of(add_set, label) for label in (*m.module.positive, *m.module.negative)],
            (
                m.module.edges,
                m.module.negative_edges,
                m.module.different,
                m.module.data,
                m.module.negative_data,
            ),
            m.elements,
        )
        for m in add_set.modules
    ]
    return {
        "contradictory": list(add_set.contradictory),
        "insertions": add_set.insertions,
        "pulled in": add_set.pulled_in,
        "size": add_set.size,
        "modules": modules,
        "kept": list(add_set.kept_assertions()),
    }


def verdict(add_set: AddSet) -> Verdict:
    if add_set.contradictory:
        return Verdict.INCONSISTENT
    answers = create_reasoner("own").decide(add_set.tbox, [m.module for m in add_set.modules])
    found = {answer.verdict for answer in answers}
    return next(
        (v for v in (Verdict.INCONSISTENT, Verdict.UNDETERMINED) if v in found), Verdict.CONSISTENT
    )


def compare(
    case: Case, local: LocalKnowledgeBase, memory: SpecKnowledgeBase, criterion: str
) -> bool:
    """Asserts that both engines agree on everything; whether nothing clashed by unit propagation
    alone.
    """
    insertions, deletions = abox_of(case.insertions), abox_of(case.deletions)
    mine, theirs = (kb.add_set(insertions, deletions, criterion) for kb in (local, memory))
    assert described(mine) == described(theirs)
    if not case.deletions:
        assert list(mine.modules) == list(theirs.modules), "the atoms have the same numbers too"
    for individual in {i for a in (*case.abox, *case.insertions) for i in individuals_of(a)} | {
        "urn:nobody"
    }:
        one, other = (of.all_assertions_about([individual])[individual] for of in (mine, theirs))
        assert list(one) == list(other)
        if criterion == "clausal":
            for one, other in zip(mine.labels([individual])[0], theirs.labels([individual])[0]):
                assert atoms_of(mine, one) == atoms_of(theirs, other)
    for assertion in (*case.abox, *case.insertions, *case.deletions):
        assert mine.is_inserted(assertion) == theirs.is_inserted(assertion)
    return not mine.contradictory


def check(case: Case, criteria: Sequence[str] = CRITERIA) -> int:
    """Compares the engines by each criterion; how many of the comparisons were exact."""
    local, memory = (
        LocalKnowledgeBase.build(case.tbox, abox_of(case.abox)),
        SpecKnowledgeBase.build(case.tbox, case.abox),
    )
    assert len(local) == len(memory)
    return sum(compare(case, local, memory, criterion) for criterion in criteria)


# --- random knowledge bases -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "start",
    [0, 20, 40, *(pytest.param(start, marks=pytest.mark.slow) for start in range(60, 160, 20))],
)
def test_equal_on_random_knowledge_bases(start: int) -> None:
    exact = 0
    for seed in range(start, start + 20):
        kb = random_kb(seed)
        exact += check(Case(kb.tbox, kb.abox, kb.insertions, kb.deletions))
    assert exact > 30, "most cases are not settled by unit propagation"


@pytest.mark.slow
def test_equal_on_many_random_knowledge_bases() -> None:
    for seed in range(1000, 2000):
        kb = random_kb(seed)
        check(Case(kb.tbox, kb.abox, kb.insertions, kb.deletions))


def small_vocabulary(
    dice: random.Random, least: int, most: int, straight: float
) -> tuple[list[Class], list[ObjectProperty], list[str], Callable[[], ObjectPropertyExpression]]:
    """Classes, properties, from ``least`` to ``most`` individuals, and what draws a role, which
    is no inverse as often as ``straight``.
    """
    names = [Class(f"urn:C{i}") for i in range(4)]
    properties = [ObjectProperty(f"urn:r{i}") for i in range(3)]

    def role() -> ObjectPropertyExpression:
        chosen = dice.choice(properties)
        return chosen if dice.random() < straight else ObjectInverseOf(chosen)

    return names, properties, [f"urn:i{i}" for i in range(dice.randint(least, most))], role


def counting_case(seed: int) -> Case:
    """Much of what `random_kb` is too broad to hit often: bounds that are just met, merge
    classes that come and go.
    """
    dice = random.Random(seed)
    names, properties, individuals, role = small_vocabulary(dice, 4, 8, 0.7)

    def class_assertion() -> Assertion:
        name = dice.choice(names)
        return ClassAssertion(
            name if dice.random() < 0.4 else ObjectComplementOf(name), dice.choice(individuals)
        )

    def role_assertion() -> Assertion:
        return ObjectPropertyAssertion(
            dice.choice(properties), dice.choice(individuals), dice.choice(individuals)
        )

    axioms: list[Axiom] = []
    for _ in range(dice.randint(1, 3)):
        bound = ObjectMaxCardinality(
            dice.choice([1, 1, 2]), role(), dice.choice([*names, *names, THING])
        )
        axioms.append(SubClassOf(dice.choice([THING, THING, *names]), bound))
    for _ in range(dice.randint(0, 2)):
        other = dice.choice(names)
        axioms.append(
            SubClassOf(dice.choice(names), dice.choice([ObjectComplementOf(other), other]))
        )
    for _ in range(dice.randint(0, 2)):
        need = ObjectMinCardinality(dice.choice([1, 1, 2]), role(), dice.choice([*names, THING]))
        axioms.append(SubClassOf(dice.choice([THING, *names]), need))
    if dice.random() < 0.4:
        axioms.append(SubObjectPropertyOf(role(), role()))
    if dice.random() < 0.3:
        axioms.append(
            SubClassOf(dice.choice(names), ObjectAllValuesFrom(role(), dice.choice(names)))
        )
    abox = [
        (role_assertion if dice.random() < 0.65 else class_assertion)()
        for _ in range(3 * len(individuals))
    ]
    insertions = [
        (class_assertion if dice.random() < 0.6 else role_assertion)()
        for _ in range(dice.randint(1, 3))
    ]
    for part in (abox, insertions):
        if dice.random() < 0.2:
            part.append(SameIndividual(*dice.sample(individuals, 2)))
    deletions = dice.sample(abox, 2) if dice.random() < 0.3 else []
    return Case(
        TBox(tuple(dict.fromkeys(axioms))), tuple(abox), tuple(insertions), tuple(deletions)
    )


@pytest.mark.parametrize(
    "seeds", [range(80), pytest.param(range(80, 250), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_equal_where_counting_decides(seeds: range) -> None:
    exact = sum(check(counting_case(seed), ["clausal"]) for seed in seeds)
    assert exact > 0.4 * len(seeds)


def test_names_that_only_deletions_mention_are_still_names_of_the_base() -> None:
    """Else the in-memory engine keeps a name's negation outside where the others have no such
    literal.
    """
    assert check(counting_case(1378), ["clausal"])


def merge_classes(case: Case) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]] | None:
    """Merge classes after a batch, by individual that a commit looks at: as it grows them, and
    made anew. None where a commit builds all anew.
    """
    base = LocalKnowledgeBase.build(case.tbox, abox_of(case.abox))
    after = base.after_deletions(abox_of(case.deletions), abox_of(case.insertions))
    whole = after.union_with(abox_of(case.insertions))
    told = compute_told_union(after, whole)
    if (
        base.index.is_contradictory
        or told is None
        or told.calculus.table.clashes(told.graph.label).any()
    ):
        return None
    classes, graph = grow_merge_classes(after.index, told), told.graph
    graph.fetch_members(graph.representatives())
    element, node = graph.nodes_of(graph.representatives())
    now = {*case.abox} - {*case.deletions} | {*case.insertions}
    anew = LocalKnowledgeBase.build(case.tbox, abox_of(sorted(now, key=repr)))
    nodes = anew.base.nodes()
    terms = anew.base.terms_of(nodes)
    expected = _by_class(
        terms, anew.index.merge_classes.group_of(anew.index.equality.group_of(nodes)).tolist()
    )
    found = _by_class(whole.terms_of(node), classes[element].tolist())
    return found, {term: expected.get(term, frozenset((term,))) for term in found}


def _by_class(terms: Sequence[str], classes: Sequence[int]) -> dict[str, frozenset[str]]:
    members: dict[int, set[str]] = {}
    for term, class_ in zip(terms, classes):
        members.setdefault(class_, set()).add(term)
    return {term: frozenset(members[class_]) for term, class_ in zip(terms, classes)}


def compare_classes(seeds: Iterable[int]) -> tuple[int, int, int]:
    """How many cases have merge classes to compare; in how many of these some class lacks what a
    new count puts into it; in how many some class is larger than that.
    """
    found = [both for seed in seeds if (both := merge_classes(counting_case(seed))) is not None]
    lacking = sum(any(not anew[term] <= grown[term] for term in grown) for grown, anew in found)
    return len(found), lacking, sum(first != second for first, second in found)


@pytest.mark.parametrize(
    "seeds", [range(100), pytest.param(range(400), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_merge_classes_grow_around_what_a_batch_changes(seeds: range) -> None:
    compared, lacking, larger = compare_classes(seeds)
    assert compared > 0.375 * len(seeds) and not lacking and larger < compared / 10


def test_merge_classes_that_do_not_grow_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases above would find commits that unite nothing."""
    monkeypatch.setattr(merging, "missing_merges", lambda _, elements: (elements[:0], elements[:0]))
    assert compare_classes(range(100))[1]


def test_merge_classes_grow_at_neighbours_of_what_deletions_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``x`` may take ``c`` for its witness when ``w`` is its witness no longer."""
    need, witness = Class("urn:B"), Class("urn:D")
    s, r = ObjectProperty("urn:s"), ObjectProperty("urn:r")
    axioms = (
        SubClassOf(THING, ObjectMaxCardinality(1, s)),
        SubClassOf(need, ObjectSomeValuesFrom(ObjectInverseOf(s), witness)),
    )
    needs_none = [ClassAssertion(ObjectComplementOf(need), i) for i in ("c", "w", "y")]
    is_witness = ClassAssertion(witness, "w")
    edges = [ObjectPropertyAssertion(*row) for row in ((s, "c", "y"), (r, "c", "x"), (s, "w", "x"))]
    abox = (*edges, *needs_none, ClassAssertion(need, "x"), is_witness)
    case = Case(TBox(axioms), abox, (), (is_witness,))
    found = merge_classes(case)
    assert found and found[0]["x"] == found[1]["x"] == {"x", "y"}
    monkeypatch.setattr(merging, "_neighbours_of", lambda _, elements: elements[:0])
    found = merge_classes(case)
    assert found and found[0]["x"] == {"x"}


def test_merge_classes_grow_where_a_deletion_leaves_a_neighbour_without_its_witness() -> None:
    """``n`` may have a third neighbour, of two, when ``w`` is its witness no longer."""
    axioms = tbox("A ⊑ ≤2 s.⊤; A ⊑ ∃s.D")
    is_witness, *others = triples("w a D . n a A; s w; s v")
    no_needs = [ClassAssertion(concept("¬A"), "urn:t#w"), ClassAssertion(concept("¬A"), "urn:t#v")]
    found = merge_classes(Case(axioms, (is_witness, *others, *no_needs), (), (is_witness,)))
    assert found and found[0] == found[1] and found[0]["urn:t#w"] == {"urn:t#w", "urn:t#v"}


def deletion_case(seed: int) -> Case:
    """Told literals that travel far and support each other in circles, elements that are equal
    for a reason; much is deleted.
    """
    dice = random.Random(seed)
    names = [Class(f"urn:C{i}") for i in range(5)]
    properties = [ObjectProperty(f"urn:r{i}") for i in range(3)]
    individuals = [f"urn:i{i}" for i in range(dice.randint(5, 10))]

    def role() -> ObjectPropertyExpression:
        chosen = dice.choice(properties)
        return chosen if dice.random() < 0.6 else ObjectInverseOf(chosen)

    axioms: list[Axiom] = [
        SubClassOf(dice.choice(names), ObjectAllValuesFrom(role(), dice.choice(names)))
        for _ in range(4)
    ]
    axioms += (SubClassOf(dice.choice(names), dice.choice(names)) for _ in range(2))
    axioms.append(ObjectPropertyRange(role(), dice.choice(names)))
    if dice.random() < 0.3:
        axioms.append(DisjointClasses((names[0], names[1])))
    if dice.random() < 0.6:
        axioms.append(
            SubClassOf(
                dice.choice([THING, *names]),
                ObjectMaxCardinality(1, role(), dice.choice([THING, *names])),
            )
        )
    if dice.random() < 0.3:
        axioms.append(SubObjectPropertyOf(role(), role()))

    def assertion() -> Assertion:
        if dice.random() < 0.25:
            name = dice.choice(names)
            return ClassAssertion(
                name if dice.random() < 0.8 else ObjectComplementOf(name), dice.choice(individuals)
            )
        if dice.random() < 0.1:
            return SameIndividual(*dice.sample(individuals, 2))
        return ObjectPropertyAssertion(
            dice.choice(properties), dice.choice(individuals), dice.choice(individuals)
        )

    abox = [assertion() for _ in range(2 * len(individuals))]
    deletions = dice.sample(abox, dice.randint(1, 4))
    return Case(
        TBox(tuple(dict.fromkeys(axioms))),
        tuple(abox),
        (assertion(), assertion()),
        tuple(deletions),
    )


def chain_case(seed: int) -> Case:
    """Literals and equalities that run along chains, some of them closed to rings, with what
    gets in their way.
    """
    dice = random.Random(seed)
    names, properties = (
        [Class(f"urn:{x}") for x in "ABC"],
        [ObjectProperty(f"urn:{x}") for x in "rs"],
    )
    forward, other = properties

    def role() -> ObjectPropertyExpression:
        chosen = dice.choice((forward, forward, other))
        return chosen if dice.random() < 0.8 else ObjectInverseOf(chosen)

    def filler() -> ClassExpression:
        return dice.choice(
            [
                *names,
                *names,
                ObjectUnionOf(tuple(dice.sample(names, 2))),
                ObjectComplementOf(dice.choice(names)),
            ]
        )

    axioms: list[Axiom] = [
        SubClassOf(dice.choice(names), ObjectAllValuesFrom(role(), filler())) for _ in range(3)
    ]
    if dice.random() < 0.5:
        axioms.append(
            SubClassOf(
                dice.choice([THING, *names]),
                ObjectMaxCardinality(1, role(), dice.choice([THING, *names])),
            )
        )
    if dice.random() < 0.4:
        axioms.append(DisjointClasses(tuple(dice.sample(names, 2))))
    chains = [[f"urn:{x}{i}" for i in range(dice.randint(2, 5))] for x in "ab"]
    abox: list[Assertion] = []
    for chain in chains:
        abox += (
            ObjectPropertyAssertion(dice.choice((*[forward] * 3, other)), *ends)
            for ends in pairwise(chain)
        )
        if dice.random() < 0.2:
            abox.append(ObjectPropertyAssertion(forward, chain[-1], chain[0]))
    everyone = [i for chain in chains for i in chain]
    for _ in range(dice.randint(0, 3)):
        name = dice.choice(names)
        abox.append(
            ClassAssertion(
                name if dice.random() < 0.5 else ObjectComplementOf(name), dice.choice(everyone)
            )
        )
    if dice.random() < 0.2:
        abox.append(DifferentIndividuals(*dice.sample(everyone, 2)))
    if dice.random() < 0.2:
        abox.append(SameIndividual(*dice.sample(everyone, 2)))
    batch: list[Assertion] = [ClassAssertion(dice.choice(names), chains[0][0])]
    if dice.random() < 0.4:
        batch.append(SameIndividual(chains[0][0], chains[1][0]))
    if dice.random() < 0.3:
        batch.append(ObjectPropertyAssertion(forward, *dice.sample([*everyone, "urn:new"], 2)))
    deletions = dice.sample(abox, 1) if dice.random() < 0.2 else []
    return Case(
        TBox(tuple(dict.fromkeys(axioms))),
        tuple(dict.fromkeys(abox)),
        tuple(batch),
        tuple(deletions),
    )


@pytest.mark.parametrize("count", [60, pytest.param(1_000, marks=pytest.mark.slow)])
def test_equal_after_deletions(count: int) -> None:
    assert (
        sum(check(deletion_case(seed), ["clausal", "definition7"]) for seed in range(count)) > count
    )


@pytest.mark.parametrize("planted", ["nothing is reached", "nothing comes from outside"])
def test_deletions_that_reach_far_matter(monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
    """The cases above would find an engine that forgets what a deletion reaches, or where the
    rest gets its literals from.
    """
    if planted == "nothing is reached":
        monkeypatch.setattr(deletion, "may_have_sent", lambda *labels: False)
    else:
        monkeypatch.setattr(deletion, "saturate", lambda *state, **settings: saturate(*state))
    with pytest.raises(AssertionError):
        for seed in range(60):
            check(deletion_case(seed), ["clausal"])


# --- by hand --------------------------------------------------------------------------------------

A, B, C, D = (Class(f"urn:{x}") for x in "ABCD")
R, S, T = (ObjectProperty(f"urn:{x}") for x in "rst")
F, G = DataProperty("urn:f"), DataProperty("urn:g")
INTEGER = XSD + "integer"

BY_HAND = {
    "a class dissolved by a literal": Case(
        TBox((SubClassOf(THING, ObjectMaxCardinality(1, S, C)), FunctionalObjectProperty(R))),
        (
            ObjectPropertyAssertion(S, "a", "b1"),
            ObjectPropertyAssertion(S, "a", "b2"),
            ObjectPropertyAssertion(R, "b1", "x"),
            ObjectPropertyAssertion(R, "b2", "y"),
        ),
        (ClassAssertion(ObjectComplementOf(C), "b1"),),
    ),
    "owl:Thing and owl:Nothing": Case(
        TBox((SubClassOf(A, B),)),
        (ClassAssertion(THING, "a"), ClassAssertion(A, "b")),
        (
            ClassAssertion(THING, "new"),
            ClassAssertion(ObjectComplementOf(NOTHING), "b"),
            ClassAssertion(A, "a"),
        ),
    ),
    "nothing is inserted": Case(TBox((SubClassOf(A, B),)), (ClassAssertion(A, "a"),), ()),
    "all is known": Case(
        TBox((SubClassOf(A, B),)), (ClassAssertion(A, "a"),), (ClassAssertion(A, "a"),)
    ),
    "an empty base": Case(
        TBox((SubClassOf(A, B),)),
        (),
        (ClassAssertion(A, "a"), ObjectPropertyAssertion(R, "a", "b")),
    ),
    "deleted and inserted": Case(
        TBox((ObjectPropertyRange(R, B),)),
        (ObjectPropertyAssertion(R, "a", "b"), ObjectPropertyAssertion(R, "b", "c")),
        (ObjectPropertyAssertion(R, "a", "b"), ClassAssertion(C, "b")),
        (
            ObjectPropertyAssertion(R, "a", "b"),
            ObjectPropertyAssertion(R, "b", "c"),
            ClassAssertion(A, "nobody"),
        ),
    ),
    "all is deleted": Case(
        TBox((ObjectPropertyRange(R, B),)),
        (ObjectPropertyAssertion(R, "a", "b"), ClassAssertion(ObjectSomeValuesFrom(R, A), "b")),
        (ClassAssertion(A, "b"),),
        (ObjectPropertyAssertion(R, "a", "b"), ClassAssertion(ObjectSomeValuesFrom(R, A), "b")),
    ),
    "values are compared, not literals": Case(
        TBox((FunctionalDataProperty(F), DataPropertyRange(G, Datatype(INTEGER)))),
        (
            DataPropertyAssertion(F, "a", Literal("1", INTEGER)),
            DataPropertyAssertion(F, "b", Literal("1", INTEGER)),
            DataPropertyAssertion(G, "b", Literal("7", INTEGER)),
        ),
        (
            DataPropertyAssertion(F, "a", Literal("01", INTEGER)),
            DataPropertyAssertion(F, "b", Literal("1", INTEGER)),
            DataPropertyAssertion(G, "b", Literal("8", INTEGER)),
            DataPropertyAssertion(DataProperty("urn:h"), "b", Literal("x")),
        ),
    ),
    "sameAs joins old and new": Case(
        TBox((FunctionalObjectProperty(S), DisjointClasses((A, B)), ObjectPropertyRange(R, C))),
        (
            ClassAssertion(A, "a"),
            SameIndividual("b", "c"),
            ObjectPropertyAssertion(S, "c", "d"),
            ObjectPropertyAssertion(S, "e", "g"),
            DifferentIndividuals("d", "a"),
        ),
        (
            SameIndividual("c", "e"),
            SameIndividual("new", "a"),
            ObjectPropertyAssertion(R, "b", "new"),
        ),
    ),
    "negative assertions across a merge class": Case(
        TBox((SubClassOf(THING, ObjectMaxCardinality(2, S)), SubObjectPropertyOf(R, T))),
        (
            NegativeObjectPropertyAssertion(T, "x", "b"),
            ObjectPropertyAssertion(S, "a", "x"),
            ObjectPropertyAssertion(S, "a", "y"),
            ObjectPropertyAssertion(R, "z", "b"),
        ),
        (ObjectPropertyAssertion(S, "a", "z"),),
    ),
    "a batch that brings axioms": Case(
        TBox(
            (SubClassOf(A, ObjectMaxCardinality(2, R)), SubClassOf(B, ObjectSomeValuesFrom(S, C)))
        ),
        (
            ClassAssertion(A, "a"),
            ObjectPropertyAssertion(R, "a", "b"),
            ObjectPropertyAssertion(R, "a", "c"),
            ObjectPropertyAssertion(S, "d", "e"),
            ObjectPropertyAssertion(S, "d", "g"),
            ClassAssertion(B, "d"),
        ),
        (
            ClassAssertion(ObjectMaxCardinality(1, S, C), "d"),
            ClassAssertion(ObjectMinCardinality(2, R, D), "a"),
        ),
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_equal_by_hand(name: str) -> None:
    check(BY_HAND[name])


def test_an_unknown_criterion_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="clausal"):
        LocalKnowledgeBase.build(TBox(), ABox()).add_set(ABox(), ABox(), "claussal")


def test_a_criterion_without_a_procedure_is_no_other_criterion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shiq.abox_ops.local_engine.CRITERIA", (*CRITERIA, "definition9"))
    with pytest.raises(NotImplementedError, match="definition9"):
        LocalKnowledgeBase.build(TBox(), ABox()).add_set(ABox(), ABox(), "definition9")


# --- from a store ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [2, 3, 5, 8, 13, 21, 34, 55])
def test_equal_from_a_store(tmp_path: Path, seed: int) -> None:
    kb = random_kb(seed)
    case = Case(kb.tbox, kb.abox, kb.insertions, kb.deletions)
    local = LocalKnowledgeBase.from_store(write_store(tmp_path / "kg", kb.tbox, abox_of(kb.abox)))
    memory = SpecKnowledgeBase.build(kb.tbox, kb.abox)
    for criterion in CRITERIA:
        compare(case, local, memory, criterion)


@pytest.mark.parametrize("name", BY_HAND)
def test_equal_from_a_store_by_hand(tmp_path: Path, name: str) -> None:
    case = BY_HAND[name]
    local = LocalKnowledgeBase.from_store(
        write_store(tmp_path / "kg", case.tbox, abox_of(case.abox))
    )
    memory = SpecKnowledgeBase.build(case.tbox, case.abox)
    for criterion in CRITERIA:
        compare(case, local, memory, criterion)


CHAINS = TBox(
    (
        ObjectPropertyRange(R, B),
        DisjointClasses((B, C)),
        SubClassOf(A, ObjectAllValuesFrom(S, D)),
        FunctionalObjectProperty(T),
    )
)


def chains(count: int) -> ABox:
    """``count`` chains of 20 individuals each."""
    builder = ABoxBuilder()
    for chain in range(count):
        for i in range(20):
            one, next_ = f"urn:n{chain}/{i}", f"urn:n{chain}/{i + 1}"
            builder.add_role(one, R.iri, next_)
            builder.add_role(one, S.iri, next_)
            builder.add_role(one, T.iri, next_)
            builder.add_class(one, D.iri)
            builder.add_data(one, F.iri, Literal(f"{chain} {i}"))
    return builder.build()


def reads_of_a_check(store: Store) -> int:
    """How many rows one small batch reads in a cold process."""
    local = LocalKnowledgeBase.from_store(store)
    batch = abox_of(
        [ClassAssertion(A, "urn:n1/3"), ObjectPropertyAssertion(R, "urn:n1/5", "urn:fresh")]
    )
    add_set = local.add_set(batch, ABox())
    assert (len(add_set.modules), add_set.size > 0, list(add_set.contradictory)) == (2, True, [])
    assert store.reads.row_groups == 0
    return store.reads.rows


def test_what_a_check_reads_does_not_grow_with_the_store(tmp_path: Path) -> None:
    small, large = (
        reads_of_a_check(write_store(tmp_path / f"kg{n}", CHAINS, chains(n))) for n in (500, 2000)
    )
    assert 0 < large <= 1.2 * small < 1000


# --- real data ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "lubm/L1.nt.gz lubm/univ-bench.owl 3000",
        pytest.param("uobm/U1.nt.gz uobm/univ-bench-dl.owl 3000", marks=pytest.mark.slow),
    ],
)
def test_equal_on_slices_of_real_data(data_path: Path, source: str) -> None:
    data, ontology, size = source.split()
    tbox = read_ontology([data_path / ontology]).tbox
    everything = list(read_assertions([data_path / data], tbox.signature).abox)
    dice = random.Random(1)
    start = dice.randrange(len(everything) - int(size))
    part = [*everything[start : start + int(size)]]
    dice.shuffle(part)
    cut = int(size) // 20
    case = Case(tbox, tuple(part[cut:]), tuple(part[:cut]), tuple(part[-50:]))
    assert check(case, ["clausal", "definition7"]) == 2


# --- the columns ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_column_functions_against_plain_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    span = int(rng.choice([1, 5, 1000, 1 << 40]))
    values, others = (rng.integers(-span, span + 1, int(rng.integers(0, 60))) for _ in range(2))
    assert unique(values).tolist() == sorted(set(values.tolist()))
    found, which, example = distinct_with_inverse(values)
    assert found[which].tolist() == values.tolist() and values[example].tolist() == found.tolist()
    rows = list(zip(values.tolist(), values[::-1].tolist(), (values * 3).tolist()))
    codes = row_codes(values, values[::-1], values * 3).tolist()
    assert len(set(zip(rows, codes))) == len(set(rows)) == len(set(codes))
    assert is_row_in([values, values], [others, others]).tolist() == [
        v in set(others.tolist()) for v in values.tolist()
    ]
    assert is_in(values, others).tolist() == [v in set(others.tolist()) for v in values.tolist()]
    assert set_difference(values, others).tolist() == sorted(
        set(values.tolist()) - set(others.tolist())
    )
    keys = np.sort(values)
    assert keys[matching_rows(keys, unique(others))].tolist() == [
        k for k in keys.tolist() if k in set(others.tolist())
    ]


@pytest.mark.parametrize("seed", range(20))
def test_groupings_against_plain_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 30, 12), rng.integers(0, 30, 12)
    least = list(range(30))
    for _ in range(30):
        for a, b in zip(first.tolist(), second.tolist()):
            least[a] = least[b] = min(least[a], least[b])
    assert component_minima(30, first, second).tolist() == least
    groups = make_partition(np.arange(30), np.array(least))
    assert groups.group_of(np.arange(30)).tolist() == least
    name, member = groups.members(unique(np.array(least)))
    assert sorted(zip(member.tolist(), name.tolist())) == list(enumerate(least))


def test_concatenate_and_tables_of_nothing() -> None:
    none = {"node": np.zeros(0, np.int64), "other": np.zeros(0, np.int64)}
    assert concatenate([], none) is none
    assert len(array_table("node", none).rows_of(np.array([3]))["other"]) == 0


def test_role_assertions_that_clauses_settle_are_not_listed_by_clause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many clauses are open on an assertion, one of u-type settles that it is relevant:
    rows for each clause would take clauses times assertions.
    """
    many = range(30)
    axioms = tbox("; ".join(f"A{i} ⊑ ∀r.B{i}" for i in many))
    batch = triples(" . ".join(f"x{i} r y{i}" for i in many))
    seen, listed = list[int](), list[int]()
    is_relevant, instances = OpenAssertions.is_relevant, OpenAssertions.open_instances

    def list_instances(self: OpenAssertions, source: Ints, *ends: Ints) -> Iterator[Any]:
        listed.append(len(source))
        return instances(self, source, *ends)

    def judge(self: OpenAssertions, source: Ints, *ends: Ints) -> Bools:
        with monkeypatch.context() as patch:
            patch.setattr(OpenAssertions, "open_instances", list_instances)
            found = is_relevant(self, source, *ends)
        seen.append(int(found.sum()))
        return found

    monkeypatch.setattr(OpenAssertions, "is_relevant", judge)
    base = LocalKnowledgeBase.build(axioms, ABox())
    base.add_set(abox_of(batch), ABox(), "clausal")
    assert (max(seen), sum(listed)) == (2 * len(many), 0)  # seen from both ends
