"""The simplified TBox against HermiT: the same satisfiability, and the same inclusions between
old names, as the TBox itself.

Beside finite interpretations (test_simplify_models) this sees infinite models, and consequences
over several axioms.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from simplify_support import NAMES, random_axioms

from shiq.answers.verdict import Verdict
from shiq.model import (
    NOTHING,
    THING,
    Axiom,
    Class,
    ClassAssertion,
    ClassExpression,
    DifferentIndividuals,
    ObjectComplementOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectSomeValuesFrom,
    SubClassOf,
    TBox,
    TransitiveObjectProperty,
)
from shiq.simplify import simplify
from shiq.simplify.describe import clause_text

pytestmark = pytest.mark.jvm

hermit = pytest.importorskip("shiq.reasoner.hermit", reason="no HermiT backend")
clause_axioms = pytest.importorskip(
    "shiq.model.clause_axioms", reason="no axioms of clauses"
).clause_axioms


@pytest.fixture(scope="module")
def reasoner() -> Iterator[object]:
    backend = hermit.HermitReasoner()
    yield backend
    backend.close()


def verdict(reasoner: object, axioms: Sequence[Axiom], assertions: Sequence[object]) -> Verdict:
    answer = reasoner.decide_consistency(axioms, assertions, timeout=3, proxy_data=False)  # type: ignore[attr-defined]
    assert isinstance(answer.verdict, Verdict)
    return answer.verdict


def questions() -> Iterator[list[ClassAssertion]]:
    """Is the TBox consistent, is a name satisfiable, does one name lie below another?"""
    names: list[ClassExpression] = [Class(name) for name in NAMES]
    yield [ClassAssertion(THING, "urn:a")]
    for first in names:
        yield [ClassAssertion(first, "urn:a")]
        for second in names:
            if first != second:
                yield [
                    ClassAssertion(first, "urn:a"),
                    ClassAssertion(ObjectComplementOf(second), "urn:a"),
                ]
    yield [ClassAssertion(ObjectComplementOf(name), "urn:a") for name in names]


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
)
def test_same_consequences_over_old_names(reasoner: object, seed: int) -> None:
    rng = random.Random(seed)
    seen: Counter[Verdict] = Counter()
    for _ in range(8):
        transitive = rng.random() < 0.5
        axioms = random_axioms(
            rng,
            rng.randint(3, 7),
            rng.choice((1, 1, 2, 3)),
            transitive=transitive,
            data=rng.random() < 0.3,
        )
        simplified = simplify(TBox(axioms))
        forms = [
            axioms,
            clause_axioms(simplified.clauses),
            clause_axioms(simplified.definition4_clauses),
        ]
        for assertions in questions():
            expected, *found = (verdict(reasoner, form, assertions) for form in forms)
            seen[expected] += 1
            if Verdict.UNDETERMINED in (expected, *found):
                break  # a TBox that is hard for HermiT stays so
            shown = (
                axioms,
                assertions,
                [clause_text(clause) for clause in simplified.clauses.clauses],
            )
            assert found == [expected, expected], shown
    assert min(seen[Verdict.CONSISTENT], seen[Verdict.INCONSISTENT]) >= 3, seen
    assert seen[Verdict.UNDETERMINED] <= 4, seen


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
def test_same_consistency_of_aboxes(reasoner: object, seed: int) -> None:
    """With role assertions, so that transitivity, inverses and ≤ are seen at named individuals."""
    rng = random.Random(100 + seed)
    seen: Counter[Verdict] = Counter()
    for _ in range(40):
        axioms = random_axioms(
            rng, rng.randint(2, 4), rng.randint(1, 3), transitive=True, data=False
        )
        simplified = simplify(TBox(axioms))
        individuals = [f"urn:{n}" for n in "abcd"]
        assertions: list[object] = [
            DifferentIndividuals("urn:a", "urn:b"),
            DifferentIndividuals("urn:b", "urn:c"),
        ]
        for _ in range(6):
            property = ObjectProperty(rng.choice("RST"))
            assertions.append(
                ObjectPropertyAssertion(property, rng.choice(individuals), rng.choice(individuals))
            )
        for _ in range(5):
            name = Class(rng.choice(NAMES))
            assertions.append(
                ClassAssertion(
                    rng.choice((name, ObjectComplementOf(name))), rng.choice(individuals)
                )
            )
        assertions = list(dict.fromkeys(assertions))
        expected = verdict(reasoner, axioms, assertions)
        seen[expected] += 1
        for tbox in (simplified.clauses, simplified.definition4_clauses):
            found = verdict(reasoner, clause_axioms(tbox), assertions)
            assert Verdict.UNDETERMINED in (expected, found) or found is expected, (
                axioms,
                assertions,
            )
    assert min(seen[Verdict.CONSISTENT], seen[Verdict.INCONSISTENT]) > 3, seen
    assert seen[Verdict.UNDETERMINED] <= 3, seen


def test_transitivity_under_at_most(reasoner: object) -> None:
    """The trap of THEORY, "Deciding a shape without a JVM": Trans(R), A ⊑ ≤1 S.∃R.B, two unequal
    S-successors that reach B in two R-steps: inconsistent.
    """
    r, s = ObjectProperty("R"), ObjectProperty("S")
    axioms = (
        TransitiveObjectProperty(r),
        SubClassOf(Class("A"), ObjectMaxCardinality(1, s, ObjectSomeValuesFrom(r, Class("B")))),
        SubClassOf(Class("D"), ObjectSomeValuesFrom(ObjectInverseOf(s), NOTHING)),
    )
    assertions = [ClassAssertion(Class("A"), "urn:a"), DifferentIndividuals("urn:x", "urn:y")]
    for n in ("x", "y"):
        assertions += [
            ObjectPropertyAssertion(s, "urn:a", f"urn:{n}"),
            ObjectPropertyAssertion(r, f"urn:{n}", f"urn:{n}1"),
            ObjectPropertyAssertion(r, f"urn:{n}1", f"urn:{n}2"),
            ClassAssertion(Class("B"), f"urn:{n}2"),
        ]
    simplified = simplify(TBox(axioms))
    for given in (
        axioms,
        clause_axioms(simplified.clauses),
        clause_axioms(simplified.definition4_clauses),
    ):
        assert verdict(reasoner, given, assertions) is Verdict.INCONSISTENT
        assert (
            verdict(reasoner, given, [a for a in assertions if a != assertions[1]])
            is Verdict.CONSISTENT
        )
