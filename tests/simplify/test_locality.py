"""Modules by ⊥-locality (`shiq.simplify.locality`): which axioms a vocabulary reaches."""

from __future__ import annotations

import pytest

from shiq import model as m
from shiq.simplify.locality import relevant_axioms, select_reachable_axioms
from tests.builders import NAMESPACE, tbox, triples


def reached(axioms: str, names: str) -> list[int]:
    """The places of the axioms that a vocabulary reaches."""
    vocabulary = [NAMESPACE + name for name in names.split()]
    return list(select_reachable_axioms(tbox(axioms).axioms, vocabulary).places)


@pytest.mark.parametrize(
    ("axiom", "reaching", "silent"),
    [
        ("A ⊑ B", "A", "B"),
        ("A ⊓ B ⊑ C", "A B", "A"),
        ("A ⊔ B ⊑ C", "A", "C"),
        ("A ⊑ B ⊔ ∀r.C", "A r", "A"),
        ("A ⊑ ¬B", "A B", "A"),
        ("∃r.A ⊑ B", "r A", "r"),
        ("≥2 r.A ⊑ B", "r A", "A"),
        ("A ⊑ ≤1 r.B", "A r B", "A r"),
        ("A ≡ B", "B", "C"),
        ("Disjoint(A, B)", "A B", "A"),
        ("r ⊑ s", "r", "s"),
        ("r⁻ ⊑ s", "r", "s"),
        ("r ∘ s ⊑ t", "r s", "s t"),
        ("Disjoint(r, s)", "r s", "r"),
        ("Trans(r)", "r", "s"),
        ("Func(r)", "r", "s"),
    ],
)
def test_one_axiom(axiom: str, reaching: str, silent: str) -> None:
    assert reached(axiom, reaching) == [0]
    assert reached(axiom, silent) == []


def test_a_module_grows_by_the_names_of_its_axioms() -> None:
    axioms = "r ⊑ s; ∃s.⊤ ⊑ A; A ⊑ B; Disjoint(B, C); C ⊑ D"
    assert reached(axioms, "r") == [0, 1, 2]
    assert reached(axioms, "r C") == [0, 1, 2, 3, 4]
    assert reached(axioms, "D") == []


def test_a_reflexive_role_and_what_holds_everywhere_are_in_every_module() -> None:
    assert reached("Ref(r); ⊤ ⊑ A; A ⊑ ⊤", "B") == [0, 1]


def test_assertions_reach_what_contradicts_them() -> None:
    """Every justification lies inside: the axioms that make a and b contradictory."""
    axioms = tbox("r ⊑ s; A ⊑ ∀s.B; B ⊑ ¬C; D ⊑ E").axioms
    found = relevant_axioms(axioms, triples("a a A; r b . b a C"))
    assert found == list(axioms[:3])
    assert relevant_axioms(axioms, [m.Class(NAMESPACE + "E")]) == []
