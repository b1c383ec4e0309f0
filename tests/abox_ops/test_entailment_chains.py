"""Entailment with property chains, Self and reflexive roles read as clauses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from shiq import model as owl
from shiq.abox_ops.entailment import Entailer, Premises
from shiq.abox_ops.entailment import chains_as_clauses as plain_reading
from shiq.abox_ops.entailment.chains_as_clauses import ClausalReading
from shiq.abox_ops.entailment.event_modules import AskedVocabulary
from shiq.abox_ops.entailment.reasoners import Reasoners
from shiq.answers.verdict import Verdict
from shiq.simplify import chains
from tests.chains_random import random_chains
from tests.spec.entailment import denied_entailment

A, B, C, K = (owl.Class(f"urn:{name}") for name in "ABCK")
R, S, T = (owl.ObjectProperty(f"urn:{name}") for name in "rst")
X, Y, Z = "urn:x", "urn:y", "urn:z"
_CHAIN = owl.SubObjectPropertyChain((R, S), T)
_ALL = owl.SubClassOf(A, owl.ObjectAllValuesFrom(T, B))


def _verdict(
    axioms: Sequence[owl.Axiom], static: Sequence[owl.Assertion], event: Sequence[owl.Assertion]
) -> Verdict:
    """By clauses, without HermiT."""
    premises = Premises.build(axioms, static)
    assert ClausalReading.build(premises, AskedVocabulary(None, ())) is not None
    with Entailer(premises, reasoners=Reasoners("own")) as entailer:
        return entailer.entailment(event).verdict


def _denied(name: owl.Class) -> owl.ClassExpression:
    return owl.ObjectComplementOf(name)


def test_reflexive_in_chain() -> None:
    axioms = [_CHAIN, owl.ReflexiveObjectProperty(S), _ALL, owl.DisjointClasses((B, C))]
    static = [owl.ObjectPropertyAssertion(R, X, Y), owl.ClassAssertion(C, Y)]
    assert _verdict(axioms, static, [owl.ClassAssertion(A, X)]) is Verdict.INCONSISTENT
    assert (
        _verdict(axioms[:1] + axioms[2:], static, [owl.ClassAssertion(A, X)]) is Verdict.CONSISTENT
    )


def test_chain_through_witness() -> None:
    some = owl.ObjectSomeValuesFrom(R, owl.ObjectSomeValuesFrom(S, _denied(B)))
    axioms = [_CHAIN, _ALL, owl.SubClassOf(K, some)]
    assert (
        _verdict(axioms, [owl.ClassAssertion(K, X)], [owl.ClassAssertion(A, X)])
        is Verdict.INCONSISTENT
    )
    assert _verdict(
        [*axioms[1:], owl.ReflexiveObjectProperty(S)],
        [owl.ClassAssertion(K, X)],
        [owl.ClassAssertion(A, X)],
    ) is (Verdict.CONSISTENT)


def test_an_asserted_loop_is_told() -> None:
    axioms = [
        owl.EquivalentClasses((A, owl.ObjectHasSelf(R))),
        owl.SubObjectPropertyOf(S, owl.ObjectInverseOf(R)),
    ]
    with Entailer(Premises.build(axioms), reasoners=Reasoners("own")) as entailer:
        found = entailer.entailment(
            [owl.ObjectPropertyAssertion(S, X, X), owl.ObjectPropertyAssertion(R, X, Y)]
        )
        assert found.types == {X: {A.iri}, Y: frozenset()}


def test_roles_that_a_chain_and_a_loop_make() -> None:
    axioms = [_CHAIN, owl.ReflexiveObjectProperty(S)]
    facts = [owl.ObjectPropertyAssertion(R, X, Y), owl.ObjectPropertyAssertion(S, Y, Z)]
    with Entailer(
        Premises.build(axioms), [], [T.iri, S.iri], reasoners=Reasoners("own")
    ) as entailer:
        found = entailer.entailment(facts)
    assert found.pairs == {
        (T.iri, X, Y),
        (T.iri, X, Z),
        (S.iri, Y, Z),
        *((S.iri, i, i) for i in (X, Y, Z)),
    }


@pytest.mark.parametrize(
    ("axioms", "facts"),
    [
        # A merge makes a loop; a loop is counted; chains are irregular; a nominal.
        (
            [owl.SubClassOf(owl.ObjectHasSelf(R), A), owl.FunctionalObjectProperty(S)],
            [owl.ObjectPropertyAssertion(R, X, Y)],
        ),
        ([owl.FunctionalObjectProperty(R), owl.SubClassOf(C, owl.ObjectHasSelf(R))], []),
        (
            [
                owl.SubObjectPropertyChain((R, S, R), S),
                _ALL,
                owl.SubClassOf(A, owl.ObjectAllValuesFrom(S, B)),
            ],
            [],
        ),
        ([_CHAIN, owl.SubClassOf(A, owl.ObjectHasValue(R, X))], []),
    ],
)
def test_what_is_not_read_as_clauses(axioms: list[owl.Axiom], facts: list[owl.Assertion]) -> None:
    assert ClausalReading.build(Premises.build(axioms, facts), AskedVocabulary(None, ())) is None


def test_an_event_that_may_make_loops_is_not_for_clauses() -> None:
    reading = ClausalReading.build(
        Premises.build([owl.SubClassOf(owl.ObjectHasSelf(R), A)]), AskedVocabulary(None, ())
    )
    assert reading is not None
    pair = owl.ObjectPropertyAssertion(R, X, Y)
    assert reading.read_event([pair]) == (pair,)
    assert reading.read_event([pair, owl.SameIndividual(X, Y)]) is None


def _differences(seeds: range) -> Iterator[int]:
    """The seeds at which clauses and HermiT, asked of each class, tell different things."""
    own, hermit = Reasoners("own"), Reasoners(timeout=30)
    for seed in seeds:
        axioms, static, event = random_chains(seed)
        premises, is_static = Premises.build(axioms, static), seed % 6 == 0
        roles = ["urn:t:r0", "urn:t:s0"] if seed % 4 == 0 else []
        if (
            premises.is_in_shiq
            or ClausalReading.build(premises, AskedVocabulary(None, tuple(roles))) is None
        ):
            continue
        fast = Entailer(premises, None, roles, static=is_static, reasoners=own).entailment(event)
        if fast.verdict is Verdict.UNDETERMINED:
            continue
        slow = denied_entailment(premises, event, None, roles, static=is_static, reasoners=hermit)
        if slow.verdict is not Verdict.UNDETERMINED and slow != fast:
            yield seed
    hermit.close()


@pytest.mark.jvm
def test_random_chains_and_loops_as_hermit_says() -> None:
    assert not list(_differences(range(16)))


@pytest.mark.slow
@pytest.mark.jvm
def test_many_random_chains_and_loops_as_hermit_says() -> None:
    assert not list(_differences(range(10_000, 20_000)))


@pytest.mark.jvm
@pytest.mark.parametrize(("bug", "first"), [("no local clauses", 0), ("no told loops", 84)])
def test_the_comparison_sees_naive_readings(
    bug: str, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if bug == "no local clauses":
        monkeypatch.setattr(chains, "contract_loops", lambda inclusions, context: inclusions)
    else:
        monkeypatch.setattr(plain_reading, "_asserted_loops", lambda tbox, assertions: ([], False))
    assert next(_differences(range(first, first + 30)), None) is not None
