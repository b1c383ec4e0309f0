"""Lazy unfolding: the same verdicts as without it, what it makes of clauses and modules, and
when it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from definitions_random import random_case

from shiq.answers.verdict import Verdict
from shiq.model import (
    NOTHING,
    THING,
    Axiom,
    Class,
    EquivalentClasses,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectIntersectionOf,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SubClassOf,
    SubObjectPropertyOf,
    TBox,
    TransitiveObjectProperty,
)
from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause
from shiq.model.roles import Role
from shiq.reasoner.hypertableau.search import decide_module
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.own_reasoner import CompiledTBox, OwnReasoner
from shiq.reasoner.protocol import Answer, Module
from shiq.reasoner.unfolding import acyclic_definitions, existence_names, unfold_lazily
from shiq.simplify import simplify

FEW, MANY = range(250), range(250, 40_000)

A, B, C, D, E, F = (Class(f"urn:t:{letter}") for letter in "ABCDEF")
R, P, Q = (ObjectProperty(f"urn:t:{letter}") for letter in "rpq")

#: A definition that makes every node choose: one that has neither A nor B has D.
NEITHER = EquivalentClasses(
    (D, ObjectIntersectionOf((ObjectComplementOf(A), ObjectComplementOf(B))))
)


def clausal(*axioms: Axiom) -> ClausalTBox:
    return simplify(TBox(axioms)).clauses


def module_of(
    tbox: ClausalTBox,
    *nodes: tuple[Sequence[Class | Atom], Sequence[Class | Atom]],
    edges: Sequence[tuple[int, ObjectProperty, int]] = (),
    different: Sequence[tuple[int, int]] = (),
) -> Module:
    """A module; a node is what is asserted there and what is asserted not to hold."""

    def mask(atoms: Sequence[Class | Atom]) -> int:
        return sum(1 << tbox.atom_ids[a.iri if isinstance(a, Class) else a] for a in atoms)

    return Module(
        tuple(mask(node[0]) for node in nodes),
        tuple(mask(node[1]) for node in nodes),
        edges=tuple((x, Role(p.iri), y) for x, p, y in edges),
        different=tuple(different),
    )


def unfolded(tbox: ClausalTBox, module: Module) -> Answer | None:
    return CompiledTBox(tbox).decide_unfolded(module, 20_000, None)


def verdict(tbox: ClausalTBox, module: Module) -> Verdict | None:
    answer = unfolded(tbox, module)
    return None if answer is None else answer.verdict


def compare(seeds: range) -> Counter[tuple[str, str]]:
    """Asserts that unfolding never contradicts the search without it, and that the clauses it
    uses suffice.
    """
    verdicts: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        tbox, module = random_case(seed)
        expected = decide_module(Tables(tbox), module, 20_000, None).answer.verdict
        compiled = CompiledTBox(tbox)
        answer = compiled.decide_unfolded(module, 20_000, None)
        if answer is not None:
            assert {answer.verdict, expected} != {Verdict.CONSISTENT, Verdict.INCONSISTENT}, seed
            if answer.verdict is Verdict.INCONSISTENT:
                assert answer.used_clauses is not None
                fewer = replace(
                    tbox,
                    clauses=tuple(
                        c for i, c in enumerate(tbox.clauses) if i in answer.used_clauses
                    ),
                )
                assert (
                    decide_module(Tables(fewer), module, 20_000, None).answer.verdict
                    is not Verdict.CONSISTENT
                ), seed
        verdicts["none" if answer is None else answer.verdict.value, expected.value] += 1
    return verdicts


def test_random_cases() -> None:
    verdicts = compare(FEW)
    assert verdicts["consistent", "consistent"] > len(FEW) / 5
    assert verdicts["inconsistent", "inconsistent"] > len(FEW) / 5


@pytest.mark.slow
def test_random_cases_at_length() -> None:
    compare(MANY)


def test_nothing_is_asked_of_a_node_where_no_definition_is() -> None:
    tbox = clausal(
        NEITHER,
        EquivalentClasses((E, ObjectSomeValuesFrom(R, D))),
        EquivalentClasses((F, ObjectComplementOf(E))),
    )
    found = unfold_lazily(tbox)
    assert found is not None
    outcome = decide_module(Tables(found.tbox), Module((0,), (0,)), 100, None)
    assert outcome.model is not None
    assert outcome.model.pos == [0]


def test_both_sides_of_a_definition_are_asked_where_it_is() -> None:
    tbox = clausal(NEITHER, EquivalentClasses((E, ObjectSomeValuesFrom(R, D))), SubClassOf(A, C))
    for yes, no, expected in (
        ([], [D, A, B], Verdict.INCONSISTENT),
        ([D, A], [], Verdict.INCONSISTENT),
        ([], [D, C, B], Verdict.INCONSISTENT),
        ([], [D, A], Verdict.CONSISTENT),
        ([D], [A, C], Verdict.CONSISTENT),
        ([A], [C], Verdict.INCONSISTENT),
    ):
        assert verdict(tbox, module_of(tbox, (yes, no))) is expected
    assert (
        verdict(tbox, module_of(tbox, ([], [E]), ([], [A, B]), edges=[(0, R, 1)]))
        is Verdict.INCONSISTENT
    )
    assert (
        verdict(tbox, module_of(tbox, ([], [E]), ([], [A]), edges=[(0, R, 1)]))
        is Verdict.CONSISTENT
    )


def test_a_property_that_only_says_has_some_is_a_name() -> None:
    """C and F are each other's complement by way of P, C has a definition besides."""
    some, none = ObjectSomeValuesFrom(P, THING), ObjectExactCardinality(0, P)
    tbox = clausal(
        EquivalentClasses((C, some)),
        EquivalentClasses((F, none)),
        EquivalentClasses((C, ObjectUnionOf((A, B)))),
    )
    names = existence_names(tbox)
    assert len(names) == 1
    assert acyclic_definitions(tbox, names) == {C.iri: 2, next(iter(names.values())): 0, F.iri: 1}
    assert (
        verdict(tbox, module_of(tbox, ([F], []), ([], []), edges=[(0, P, 1)]))
        is Verdict.INCONSISTENT
    )
    assert verdict(tbox, module_of(tbox, ([F], [A]))) is Verdict.CONSISTENT
    assert verdict(tbox, module_of(tbox, ([F, A], []))) is Verdict.INCONSISTENT
    assert (
        verdict(tbox, module_of(tbox, ([], [A, B]), ([], []), edges=[(0, P, 1)]))
        is Verdict.INCONSISTENT
    )
    assert (
        verdict(tbox, module_of(tbox, ([], [A, B]), ([], []), edges=[(1, P, 0)]))
        is Verdict.CONSISTENT
    )


def test_a_property_below_another_is_no_name() -> None:
    axioms: list[Axiom] = [
        NEITHER,
        EquivalentClasses((E, ObjectSomeValuesFrom(P, THING))),
        SubClassOf(C, ObjectAllValuesFrom(Q, NOTHING)),
    ]
    tbox = clausal(*axioms, SubObjectPropertyOf(P, Q))
    assert not existence_names(tbox)
    assert verdict(tbox, module_of(tbox, ([E, C], []))) is Verdict.INCONSISTENT
    apart = clausal(*axioms)
    assert verdict(apart, module_of(apart, ([E, C], []))) is Verdict.CONSISTENT


def test_what_is_counted_is_not_unfolded() -> None:
    other = EquivalentClasses(
        (E, ObjectIntersectionOf((ObjectComplementOf(A), ObjectComplementOf(C))))
    )
    tbox = clausal(NEITHER, SubClassOf(THING, ObjectMaxCardinality(1, R, D)), other)
    assert set(acyclic_definitions(tbox, {})) == {E.iri}
    three = module_of(
        tbox, ([], []), ([], [A, B]), ([], [A, B]), edges=[(0, R, 1), (0, R, 2)], different=[(1, 2)]
    )
    assert verdict(tbox, three) is Verdict.INCONSISTENT


def test_a_negated_at_least_over_a_defined_name_is_not_lost() -> None:
    tbox = clausal(NEITHER, EquivalentClasses((E, ObjectSomeValuesFrom(R, D))))
    need = AtLeast(1, Role(R.iri), D.iri)
    module = module_of(tbox, ([], [need]), ([], [A, B]), edges=[(0, R, 1)])
    assert decide_module(Tables(tbox), module, 1_000, None).answer.verdict is Verdict.INCONSISTENT
    assert verdict(tbox, module) is not Verdict.CONSISTENT


def test_a_negated_at_least_along_a_transitive_role_is_not_lost() -> None:
    """D ≡ ¬∃r.A holds at a node that is denied ∃r.A, though nothing asks for D there."""
    some = ObjectSomeValuesFrom(R, A)
    tbox = clausal(
        TransitiveObjectProperty(R),
        EquivalentClasses((D, ObjectComplementOf(some))),
        EquivalentClasses((E, ObjectIntersectionOf((D, B)))),
    )
    module = module_of(tbox, ([], [AtLeast(1, Role(R.iri), A.iri)]), ([B], [E]), edges=[(0, R, 1)])
    assert decide_module(Tables(tbox), module, 1_000, None).answer.verdict is Verdict.INCONSISTENT
    assert verdict(tbox, module) is not Verdict.CONSISTENT


def test_cycles_are_not_unfolded() -> None:
    itself = clausal(NEITHER, EquivalentClasses((E, ObjectUnionOf((ObjectComplementOf(E), A)))))
    assert set(acyclic_definitions(itself, {})) == {D.iri}
    assert verdict(itself, module_of(itself, ([], [A]))) is Verdict.INCONSISTENT
    round_about = clausal(
        NEITHER,
        EquivalentClasses((E, ObjectUnionOf((ObjectComplementOf(F), A)))),
        EquivalentClasses((F, ObjectUnionOf((E, B)))),
    )
    assert len(acyclic_definitions(round_about, {})) == 2
    assert verdict(round_about, module_of(round_about, ([], [A, F]))) is Verdict.INCONSISTENT


def test_of_two_definitions_of_a_name_both_count() -> None:
    tbox = clausal(NEITHER, EquivalentClasses((D, ObjectIntersectionOf((B, C)))))
    assert verdict(tbox, module_of(tbox, ([D], []))) is Verdict.INCONSISTENT
    assert verdict(tbox, module_of(tbox, ([B, C], []))) is Verdict.INCONSISTENT
    assert verdict(tbox, module_of(tbox, ([A], []))) is Verdict.CONSISTENT


def test_a_fact_about_a_fresh_name_has_to_follow() -> None:
    tbox = clausal(
        NEITHER, EquivalentClasses((E, ObjectSomeValuesFrom(R, ObjectIntersectionOf((D, C)))))
    )
    (fresh,) = (Class(name) for name in tbox.fresh)
    assert verdict(tbox, module_of(tbox, ([], [fresh, C]))) is Verdict.CONSISTENT
    assert unfolded(tbox, module_of(tbox, ([], [fresh]))) is None


def test_a_name_like_ours_is_left_alone() -> None:
    tbox = clausal(NEITHER, SubClassOf(A, Class("urn:shiq:fresh:unfolding:not:urn:t:D")))
    assert unfold_lazily(tbox) is None


def test_horn_definitions_are_left_to_the_search() -> None:
    assert unfold_lazily(clausal(EquivalentClasses((D, ObjectIntersectionOf((A, B)))))) is None


def test_clauses_keep_their_places() -> None:
    tbox = clausal(NEITHER, EquivalentClasses((E, ObjectSomeValuesFrom(R, D))))
    found = unfold_lazily(tbox)
    assert found is not None
    assert [clause.origins for clause in found.tbox.clauses[: len(tbox.clauses)]] == [
        c.origins for c in tbox.clauses
    ]
    assert found.tbox.clauses[len(tbox.clauses) :] == tuple(
        Clause(body=pair) for pair in found.complements.items()
    )


def test_own_unfolds_where_the_search_takes_too_long() -> None:
    """Dₙ ≡ ¬∃r.Dₙ₋₁ ⊓ ¬∃s.Dₙ₋₁: every node chooses for every n, and few choices fit together."""
    names = [Class(f"urn:t:D{i}") for i in range(30)]
    axioms = [
        EquivalentClasses(
            (
                name,
                ObjectIntersectionOf(
                    tuple(ObjectComplementOf(ObjectSomeValuesFrom(r, below)) for r in (R, P))
                ),
            )
        )
        for below, name in pairwise(names)
    ]
    tbox = clausal(*axioms)
    module = module_of(tbox, ([names[-1]], []), ([], []), edges=[(0, R, 1)])
    assert decide_module(Tables(tbox), module, 20_000, None).is_out_of_budget
    assert (
        OwnReasoner(steps=20_000, steps_per_node=0).decide(tbox, [module])[0].verdict
        is Verdict.CONSISTENT
    )
