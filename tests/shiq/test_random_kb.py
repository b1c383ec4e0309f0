"""The random knowledge bases of the differential test: what they are made of, how often, and how
they shrink.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from shiq.answers.verdict import Verdict
from shiq.model import (
    AsymmetricObjectProperty,
    Class,
    ClassAssertion,
    Datatype,
    DifferentIndividuals,
    DisjointClasses,
    DisjointObjectProperties,
    FunctionalObjectProperty,
    InverseFunctionalObjectProperty,
    IrreflexiveObjectProperty,
    NegativeObjectPropertyAssertion,
    ObjectExactCardinality,
    ObjectHasSelf,
    ObjectHasValue,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectOneOf,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectPropertyRange,
    SameIndividual,
    SubClassOf,
    SubObjectPropertyOf,
    TBox,
    TransitiveObjectProperty,
)
from shiq.model.roles import role_box, role_of
from shiq.reasoner.hermit import HermitReasoner
from tests.tools.random_ontologies.features import FEATURES, features_of, parts
from tests.tools.random_ontologies.gadgets import GADGETS, gadget, renamed
from tests.tools.random_ontologies.kb import RandomKB, flavour_of, random_kb, shrink
from tests.tools.random_ontologies.tbox import FLAVOURS, is_legal
from tests.tools.random_ontologies.told import PlainClashes

SEEDS = range(600)
A, B, C = (Class(f"urn:{name}") for name in "ABC")
r, s = ObjectProperty("urn:r"), ObjectProperty("urn:s")


@pytest.fixture(scope="module")
def kbs() -> list[RandomKB]:
    return [random_kb(seed) for seed in SEEDS]


def test_sizes_are_small(kbs: list[RandomKB]) -> None:
    for seed, kb in enumerate(kbs):
        inside = bool(flavour_of(seed).gadgets)
        individuals = {x for a in (*kb.abox, *kb.insertions) for x in vars_of(a)}
        assert 3 <= len(kb.tbox.signature.classes) <= 8 + 6 * inside
        assert 2 <= len(kb.tbox.signature.object_properties) <= 5 + 6 * inside
        assert 4 - 2 * inside <= len(kb.tbox.axioms) <= 14 and len(individuals) <= 8 + 2 * inside
        assert 1 <= len(kb.insertions) <= 8 and len(kb.deletions) <= 3 and kb.abox
        assert len(set(kb.tbox.axioms)) == len(kb.tbox.axioms) and len(set(kb.insertions)) == len(
            kb.insertions
        )


def vars_of(assertion: object) -> list[str]:
    names = ("individual", "subject", "object", "first", "second")
    return [getattr(assertion, name) for name in names if hasattr(assertion, name)]


def test_all_is_inside_shiq(kbs: list[RandomKB]) -> None:
    for kb in kbs:
        assert is_legal(kb.tbox.axioms)
        box = role_box(kb.tbox.axioms)
        for value in (*kb.tbox.axioms, *kb.abox, *kb.insertions):
            for part in parts(value):
                assert not isinstance(part, ObjectOneOf | ObjectHasValue | ObjectHasSelf)
                if isinstance(
                    part, ObjectMaxCardinality | ObjectMinCardinality | ObjectExactCardinality
                ):
                    assert box.is_simple(role_of(part.property)), part


def test_counting_needs_simple_roles() -> None:
    below = (TransitiveObjectProperty(r), SubObjectPropertyOf(r, s))
    for axiom in (
        FunctionalObjectProperty(s),
        InverseFunctionalObjectProperty(r),
        AsymmetricObjectProperty(ObjectInverseOf(s)),
        IrreflexiveObjectProperty(s),
        DisjointObjectProperties((ObjectProperty("urn:t"), s)),
        SubClassOf(A, ObjectMaxCardinality(1, s)),
    ):
        assert is_legal((axiom, below[1])) and not is_legal((axiom, *below))


def test_everything_is_declared(kbs: list[RandomKB]) -> None:
    for kb in kbs:
        signature = kb.tbox.signature
        known = signature.classes | signature.object_properties | signature.data_properties
        for value in (*kb.tbox.axioms, *kb.abox, *kb.insertions):
            used = {
                x.iri for x in parts(value) if hasattr(x, "iri") and not isinstance(x, Datatype)
            }
            assert all(
                iri in known or iri.startswith("http://www.w3.org/2002/07/owl#") for iri in used
            )


def test_every_feature_is_frequent(kbs: list[RandomKB]) -> None:
    shares = Counter(feature for kb in kbs for feature in kb.features)
    rare = {
        feature: shares[feature] / len(kbs)
        for feature in FEATURES
        if shares[feature] < 0.1 * len(kbs)
    }
    assert not rare


def test_flavours_take_turns_and_seeds_decide(kbs: list[RandomKB]) -> None:
    assert len({flavour.name for flavour in FLAVOURS}) == len(FLAVOURS) > 5
    assert [random_kb(seed) for seed in range(20)] == kbs[:20]
    assert len({(kb.tbox.axioms, kb.abox) for kb in kbs}) == len(kbs)


def test_deletions_come_before_insertions() -> None:
    one, two, three = (ClassAssertion(cls, "urn:a") for cls in (A, B, C))
    kb = RandomKB(TBox(), (one, two), (one, three), (one, two), frozenset())
    assert set(kb.union()) == {one, three}


def test_features_are_read_off() -> None:
    def features(*assertions: ObjectPropertyAssertion) -> frozenset[str]:
        return features_of(TBox(), assertions, (), ())

    path = [ObjectPropertyAssertion(r, f"urn:{i}", f"urn:{i + 1}") for i in range(3)]
    assert features(*path) == {"chain of roles"} and not features(*path[:2])
    axioms = (
        SubClassOf(A, ObjectMaxCardinality(1, r, B)),
        SubClassOf(A, ObjectMaxCardinality(1, r)),
    )
    assert features_of(TBox(axioms[:1]), (), (), ()) == {"at most", "qualified at most"}
    assert features_of(TBox(axioms[1:]), (), (), ()) == {"at most"}
    assert features_of(TBox((TransitiveObjectProperty(r),)), (), (), path) == {
        "transitivity",
        "deletions",
    }


def test_plain_clashes_are_seen_and_others_are_not() -> None:
    tbox = TBox(
        (
            DisjointClasses((A, B)),
            SubClassOf(C, A),
            ObjectPropertyRange(s, B),
            SubObjectPropertyOf(r, s),
            FunctionalObjectProperty(s),
            AsymmetricObjectProperty(s),
        )
    )
    clashes = PlainClashes(tbox)
    edge = ObjectPropertyAssertion(r, "urn:a", "urn:b")
    is_c = ClassAssertion(C, "urn:b")
    same = SameIndividual("urn:b", "urn:x")
    assert clashes.found_in([edge, is_c])
    assert clashes.found_in([edge, ClassAssertion(C, "urn:x"), same])
    assert clashes.found_in([edge, NegativeObjectPropertyAssertion(s, "urn:a", "urn:x"), same])
    assert clashes.found_in([edge, ObjectPropertyAssertion(s, "urn:b", "urn:a")])
    assert clashes.found_in([same, DifferentIndividuals("urn:x", "urn:b")])
    assert clashes.found_in(
        [edge, ObjectPropertyAssertion(r, "urn:a", "urn:c"), DifferentIndividuals("urn:b", "urn:c")]
    )
    assert not clashes.found_in(
        [edge, ObjectPropertyAssertion(r, "urn:c", "urn:b"), DifferentIndividuals("urn:a", "urn:c")]
    )
    assert not clashes.found_in([edge, ClassAssertion(C, "urn:a"), same])


def test_shrinking_leaves_what_fails() -> None:
    kb = random_kb(3)
    needed = (kb.insertions[-1], kb.abox[2], kb.tbox.axioms[1])

    def failing(smaller: RandomKB) -> bool:
        return (
            needed[0] in smaller.insertions
            and needed[1] in smaller.abox
            and needed[2] in smaller.tbox.axioms
        )

    smaller = shrink(kb, failing)
    assert smaller == replace(
        smaller,
        tbox=replace(kb.tbox, axioms=needed[2:]),
        abox=needed[1:2],
        insertions=needed[:1],
        deletions=(),
    )
    assert smaller.features == features_of(smaller.tbox, smaller.abox, smaller.insertions, ())


def test_renaming_reaches_every_name() -> None:
    inside = gadget("values counted over a class")
    names = {
        name: f"urn:new:{i}"
        for i, name in enumerate(sorted(inside.signature.classes | {*inside.individuals}))
    }
    for value in (*inside.axioms, *inside.assertions):
        text = repr(renamed(value, names))
        assert not any(f"'{name}'" in text for name in names)


@pytest.mark.jvm
def test_gadgets_are_contradictions_of_several_assertions() -> None:
    reasoner = HermitReasoner(timeout=20)
    try:
        for name in GADGETS:
            inside = gadget(name)
            assert (
                reasoner.decide_consistency(inside.axioms, inside.assertions).verdict
                is Verdict.INCONSISTENT
            ), name
            without = [
                inside.assertions[:i] + inside.assertions[i + 1 :]
                for i in range(len(inside.assertions))
            ]
            needed = sum(
                reasoner.decide_consistency(inside.axioms, rest).verdict is Verdict.CONSISTENT
                for rest in without
            )
            assert needed >= 2 and needed > 0.5 * len(without), name
    finally:
        reasoner.close()


@pytest.mark.slow
@pytest.mark.jvm
def test_both_verdicts_are_frequent() -> None:
    reasoner = HermitReasoner(timeout=20)
    try:
        verdicts: Counter[tuple[Verdict, Verdict]] = Counter()
        for seed in range(240):
            kb = random_kb(seed)
            base, union = (
                reasoner.decide_consistency(kb.tbox.axioms, assertions).verdict
                for assertions in (kb.abox, kb.union())
            )
            verdicts[base, union] += 1
            if base is Verdict.CONSISTENT is union:
                assert not PlainClashes(kb.tbox).found_in(kb.union()), (
                    f"seed {seed}: no clash, let alone a plain one"
                )
        consistent = sum(n for (base, _), n in verdicts.items() if base is Verdict.CONSISTENT)
        assert consistent > 0.5 * 240
        assert (
            0.2 * consistent < verdicts[Verdict.CONSISTENT, Verdict.INCONSISTENT] < 0.6 * consistent
        )
    finally:
        reasoner.close()
