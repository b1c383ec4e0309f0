"""Random OWL 2 DL against HermiT, which is given the whole as it is written, from scratch; and
chains by words against models.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq import check_insertions
from shiq.abox_ops.outside_question import write_question
from shiq.functional.reader import parse_functional
from shiq.functional.writer import ontology_text
from shiq.reasoner.hermit import HermitReasoner
from shiq.simplify.locality import names_of, select_reachable_axioms
from tests.outside_random import random_owl

pytestmark = pytest.mark.jvm

#: How many are decided; 500 were once, with `SHIQ_OUTSIDE_SEEDS=500`.
SEEDS = int(os.environ.get("SHIQ_OUTSIDE_SEEDS", "30"))


@pytest.fixture(scope="module")
def hermit() -> Iterator[HermitReasoner]:
    made = HermitReasoner()
    yield made
    made.close()


def test_no_verdict_differs_in_reach_or_out_of_reach(
    tmp_path: Path, hermit: HermitReasoner
) -> None:
    met = set()
    for seed in range(SEEDS):
        axioms, base, batch = random_owl(seed)
        texts = {
            "t": ontology_text(axioms, []),
            "a": ontology_text([], base),
            "i": ontology_text([], batch),
        }
        for name, text in texts.items():
            (tmp_path / f"{name}.ofn").write_text(text)
        truth = hermit.decide_consistency(axioms, [*base, *batch])
        settings = {
            "engine": "spec",
            "allow": ["undeclared", "empty-tbox"],
            "explain_seconds": 0,
            "timeout": 60.0,
        }
        found = check_insertions(*(tmp_path / f"{name}.ofn" for name in texts), **settings)  # type: ignore[arg-type]
        assert found.verdict is truth.verdict, f"seed {seed}: {found.reason} {truth.reason}"
        is_far = any(x.kind == "out-of-reach" for x in found.evidence.leftovers)
        was_asked = any("HermiT was asked" in note for note in found.evidence.notes)
        met.add((found.verdict.value, "asked" if was_asked else "far" if is_far else "inside"))
    assert len(met) >= 5


def test_what_is_reached_goes_on_from_what_was() -> None:
    """As from scratch, for the names of T, A and A⁺ in two lots."""
    met = set()
    for seed in range(300):
        axioms, base, batch = random_owl(seed)
        first, second = names_of(base[:2]), names_of(batch[:1])
        before, whole = (
            select_reachable_axioms(axioms, first),
            select_reachable_axioms(axioms, first | second),
        )
        more = second - before.names
        assert (
            select_reachable_axioms(axioms, before.names | more) if more else before
        ).places == whole.places, seed
        met.add((bool(more), before.places != whole.places, len(whole.places) < len(axioms)))
    assert len(met) >= 4, met


#: Where HermiT 1.3.8 (or 1.4.3) is wrong about what is written, decided by hand; as a whole
#: question it is right.
FAULTS = {
    "chains and an inverse inclusion": (
        "inconsistent",
        "TransitiveObjectProperty(:R2) SubObjectPropertyOf(ObjectPropertyChain(ObjectInverseOf(:R0) ObjectInverseOf(:R0)) :R1)"
        " SubObjectPropertyOf(:R1 :R2) SubObjectPropertyOf(:R1 ObjectInverseOf(:R2))"
        " SubClassOf(:A ObjectAllValuesFrom(:R2 ObjectComplementOf(:A))) ObjectPropertyAssertion(:R0 :b :c)"
        " ObjectPropertyAssertion(:R0 :c :a) ClassAssertion(:A :a)",
    ),
    "a chain below an inverse": (
        "consistent",
        "TransitiveObjectProperty(:R1) SubObjectPropertyOf(ObjectPropertyChain(:R1 :R0 :R0) :R2)"
        " SubObjectPropertyOf(:R1 ObjectInverseOf(:R2)) SubClassOf(ObjectSomeValuesFrom(:R1 owl:Thing) :A)"
        " SubClassOf(ObjectAllValuesFrom(:R2 :A) ObjectComplementOf(:A)) ObjectPropertyAssertion(:R1 :a :b)",
    ),
    "a key on a complex class": (
        "inconsistent",
        "DisjointClasses(:A0 :A1) HasKey(ObjectSomeValuesFrom(:R0 ObjectComplementOf(:A0)) (:R0) ())"
        " ObjectPropertyAssertion(:R0 :a :c) ObjectPropertyAssertion(:R0 :c :c) ClassAssertion(:A1 :c)"
        " ClassAssertion(ObjectComplementOf(:A1) :a)",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_hermit_errs_on_does_not_reach_it(hermit: HermitReasoner, name: str) -> None:
    expected, text = FAULTS[name]
    owl = "Prefix(owl:=<http://www.w3.org/2002/07/owl#>)"
    read = parse_functional(f"Prefix(:=<urn:x#>) {owl} Ontology({text})", "fault", "")
    assert not read.leftovers
    put = write_question(read.tbox.axioms, read.abox)
    assert hermit.decide_consistency(read.tbox.axioms, list(read.abox)).verdict.value != expected
    assert (
        hermit.decide_consistency(put.axioms, put.assertions, is_normal=True).verdict.value
        == expected
    )
