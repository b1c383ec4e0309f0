"""The criterion `model` (THEORY, "The criterion `model`"): its rules one by one, with what goes
wrong without each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner

from shiq import check_insertions
from shiq.abox_ops.labels.label_calculus import Label, join
from shiq.abox_ops.modules.components import KeptAssertions
from shiq.answers.result import Result
from shiq.errors import UsageError
from shiq.functional import parse_functional
from shiq.model import Assertion, TBox
from shiq.model.abox import abox_of
from shiq.model.roles import Role
from shiq.partition import Partition
from shiq.reasoner.hermit import HermitReasoner
from tests.abox_ops.test_golden import NAMES, check, expected
from tests.spec.border import Border
from tests.spec.certified_model import CertifiedModel
from tests.spec.counting import _Count
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.spec.patch import Patch
from tests.tools import differential
from tests.tools.differential import Combination, Oracle, Settings, compare

PREFIX = "Prefix(:=<urn:t#>) Prefix(owl:=<http://www.w3.org/2002/07/owl#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)"


@dataclass(frozen=True)
class Case:
    """An input by its axioms and assertions; every one is inconsistent, and its base consistent."""

    name: str
    tbox: str
    abox: str
    insertions: str

    def axioms(self) -> TBox:
        return _read(self.tbox)[0]

    def base(self) -> list[Assertion]:
        return _read(self.abox)[1]

    def batch(self) -> list[Assertion]:
        return _read(self.insertions)[1]


def _read(text: str) -> tuple[TBox, list[Assertion]]:
    reading = parse_functional(f"{PREFIX} Ontology({text})", "test", "t")
    assert not reading.leftovers
    return reading.tbox, list(reading.abox)


#: E with B, and E with C, are contradictory, but not by unit propagation.
_HIDDEN = (
    "SubClassOf(ObjectIntersectionOf(:E :B) ObjectIntersectionOf(:G ObjectComplementOf(:G)))"
    "SubClassOf(ObjectIntersectionOf(:E :C) ObjectIntersectionOf(:H ObjectComplementOf(:H)))"
)

CASES = [
    Case(
        "new pair",
        "SubClassOf(:A ObjectAllValuesFrom(:S ObjectUnionOf(:B :C)))" + _HIDDEN,
        "ClassAssertion(:A :a) ClassAssertion(:E :b)",
        "ObjectPropertyAssertion(:S :a :b) ClassAssertion(:D :a)",
    ),
    Case(
        "new pair outside",
        "SubClassOf(:A ObjectAllValuesFrom(:S ObjectUnionOf(:B :C)))" + _HIDDEN,
        "ClassAssertion(:A :a) ClassAssertion(:E :b)",
        "ObjectPropertyAssertion(:S :a :b)",
    ),
    Case(
        "pulled in with what was inserted",
        "SubClassOf(:K ObjectAllValuesFrom(:S ObjectUnionOf(:B :C))) SubClassOf(:F ObjectUnionOf(:A :E))"
        + _HIDDEN,
        "ObjectPropertyAssertion(:S :b :a) ClassAssertion(:F :a) ClassAssertion(:F :b)",
        "ClassAssertion(:E :a) ClassAssertion(:K :b)",
    ),
    Case(
        "neq",
        "SubClassOf(:B ObjectMaxCardinality(1 :S :E)) SubClassOf(:F ObjectUnionOf(:D :E))"
        "SubClassOf(ObjectIntersectionOf(:F :D) ObjectIntersectionOf(:G ObjectComplementOf(:G)))",
        "ClassAssertion(:B :b) ObjectPropertyAssertion(:S :b :a) ObjectPropertyAssertion(:S :b :a2)"
        "ClassAssertion(:F :a) ClassAssertion(:F :a2)",
        "DifferentIndividuals(:a :a2)",
    ),
    Case(
        "fill",
        "SubClassOf(:B ObjectMaxCardinality(1 :S :C))",
        "ClassAssertion(:B :b) ObjectPropertyAssertion(:S :b :a) ObjectPropertyAssertion(:S :b :a2) ClassAssertion(:C :a2)"
        "DifferentIndividuals(:a :a2)",
        "ClassAssertion(:C :a)",
    ),
    Case(
        "wit",
        "SubClassOf(:B ObjectIntersectionOf(ObjectMaxCardinality(1 :S) ObjectSomeValuesFrom(:S :C)))",
        "ClassAssertion(:B :b) ObjectPropertyAssertion(:S :b :a)",
        "ClassAssertion(ObjectComplementOf(:C) :a)",
    ),
    Case(
        "inv",
        "FunctionalObjectProperty(:S) FunctionalObjectProperty(:T) SubObjectPropertyOf(:R :T)"
        "SubObjectPropertyOf(ObjectInverseOf(:R) :S) SubClassOf(:N ObjectSomeValuesFrom(:R owl:Thing))",
        "ClassAssertion(:N :n) ClassAssertion(:C :n) ObjectPropertyAssertion(:T :n :b) ObjectPropertyAssertion(:S :b :a)",
        "ClassAssertion(ObjectComplementOf(:C) :a)",
    ),
    Case(
        "one witness for two",
        "SubClassOf(:B ObjectIntersectionOf(ObjectMinCardinality(2 :S :C) ObjectMaxCardinality(2 :S)))"
        "FunctionalObjectProperty(ObjectInverseOf(:Q))",
        "ClassAssertion(:B :b) ObjectPropertyAssertion(:S :b :a) ObjectPropertyAssertion(:S :b :a2)"
        "ClassAssertion(:C :a) ClassAssertion(:C :a2) DifferentIndividuals(:a :a2)",
        "ClassAssertion(ObjectComplementOf(:C) :a) ClassAssertion(:C :x)",
    ),
    Case(
        "a name in a complex assertion alone",
        "FunctionalObjectProperty(:r)",
        "ClassAssertion(ObjectSomeValuesFrom(:r :A) :b) ObjectPropertyAssertion(:r :b :a)",
        "ClassAssertion(ObjectComplementOf(:A) :a)",
    ),
    Case(
        "a witness is a neighbour by another role",
        "SubObjectPropertyOf(:R :T) SubObjectPropertyOf(:R :S) SubClassOf(:N ObjectSomeValuesFrom(:R owl:Thing))"
        "FunctionalObjectProperty(:T) FunctionalObjectProperty(:S) FunctionalObjectProperty(:Q)",
        "ClassAssertion(:N :c) ObjectPropertyAssertion(:T :c :e) ObjectPropertyAssertion(:S :c :b)"
        "ObjectPropertyAssertion(:Q :e :d1) ObjectPropertyAssertion(:Q :b :d2) ClassAssertion(ObjectComplementOf(:D) :d1)",
        "ClassAssertion(:D :d2)",
    ),
    Case(
        "a witness that cannot be",
        "SubClassOf(:A ObjectSomeValuesFrom(:R :B)) DisjointClasses(:B :C) ObjectPropertyRange(:R :C)",
        "ClassAssertion(:B :b)",
        "ClassAssertion(:A :a)",
    ),
    Case(
        "disjoint roles of a pair",
        "DisjointObjectProperties(:R :T)",
        "ObjectPropertyAssertion(:R :a :b)",
        "ObjectPropertyAssertion(:T :a :b)",
    ),
    Case(
        "a generated role on a pair",
        "DisjointObjectProperties(:R :T) SubObjectPropertyOf(:R :P) SubObjectPropertyOf(:T :P) FunctionalObjectProperty(:P)"
        "SubClassOf(:A ObjectSomeValuesFrom(:R owl:Thing)) SubObjectPropertyOf(:U :P)",
        "ClassAssertion(:A :a) ObjectPropertyAssertion(:U :a :b)",
        "ObjectPropertyAssertion(:T :a :b)",
    ),
    Case(
        "data under a crossing",
        "SubClassOf(:A ObjectAllValuesFrom(:S ObjectUnionOf(:B DataAllValuesFrom(:f xsd:string))))"
        "SubClassOf(ObjectIntersectionOf(:E :B) ObjectIntersectionOf(:G ObjectComplementOf(:G)))",
        'ClassAssertion(:E :b) DataPropertyAssertion(:f :b "1"^^xsd:integer) ObjectPropertyAssertion(:S :a :b)',
        "ClassAssertion(:A :a)",
    ),
    Case(
        "data of an element outside",
        "FunctionalDataProperty(:f) SubClassOf(:A DataSomeValuesFrom(:f xsd:integer))",
        "ClassAssertion(:A :a)",
        'DataPropertyAssertion(:f :a "x")',
    ),
]
BY_NAME = {case.name: case for case in CASES}


def verdict(case: Case) -> str:
    return answer(case).verdict.value


def answer(case: Case) -> Result:
    return check_insertions(
        case.axioms(),
        abox_of(case.base()),
        abox_of(case.batch()),
        criterion="model",
        engine="spec",
        reasoner="own",
        allow=["undeclared"],
    )


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_case(case: Case) -> None:
    result = answer(case)
    assert result.verdict.value == "inconsistent" and not result.reason
    assert result.conflicts and result.complete


@pytest.mark.parametrize("name", NAMES)
def test_golden_case(name: str) -> None:
    result = check(name, "model", "spec", "own")
    assert result.verdict.value == expected(name)["verdict"], result.reason
    if result.verdict.value == "inconsistent":
        assert result.conflicts == check(name, "clausal", "spec", "own").conflicts


@pytest.mark.jvm
def test_hermit_says_the_same_of_the_cases() -> None:
    hermit = HermitReasoner(timeout=20.0)
    try:
        for case in CASES:
            assert (
                hermit.decide_consistency(case.axioms().axioms, case.base()).verdict.value
                == "consistent"
            ), case.name
            assert (
                hermit.decide_consistency(
                    case.axioms().axioms, [*case.base(), *case.batch()]
                ).verdict.value
                == "inconsistent"
            ), case.name
    finally:
        hermit.close()


# --- planted mistakes that a case finds -----------------------------------------------------------


def _always(*_: Any) -> bool:
    return True


PLANTED: dict[str, tuple[type, str, Any]] = {
    "new pair": (Patch, "_was_asserted", _always),
    "new pair outside": (Border, "is_covered_outside", _always),
    "pulled in with what was inserted": (
        Patch,
        "_told_plus_label",
        lambda self, e: self.told_plus.base_label(e),
    ),
    "neq": (Border, "_is_apart", _always),
    "fill": (Border, "_has_filler", _always),
    "wit": (Border, "_witness_survives", _always),
    "inv": (Border, "_takes_nobody", _always),
    "a witness is a neighbour by another role": (_Count, "generated_neighbours", frozenset()),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_rule_without_its_condition_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, mistaken = PLANTED[name]
    monkeypatch.setattr(owner, attribute, mistaken)
    assert verdict(BY_NAME[name]) == "consistent"


# --- what random ontologies find ------------------------------------------------------------------


@pytest.mark.jvm
def test_random_ontologies_agree_with_hermit() -> None:
    arguments = [
        "--seeds",
        "200:240",
        "--criteria",
        "model",
        "--engines",
        "spec",
        "--reasoners",
        "own,hermit",
    ]
    result = CliRunner().invoke(differential.main, arguments)
    assert result.exit_code == 0, result.output
    assert "0 disagreements" in result.output


# Mistakes in the loop and in counting, and a seed on which each shows.

_BOTH, _TOLD_PLUS = Patch._make_add_sets, Patch._told_plus_label


def _never(*_: Any) -> bool:
    return False


def _assumptions_as_proof(patch: Patch) -> tuple[KeptAssertions, KeptAssertions]:
    asked, _ = _BOTH(patch)
    return asked, asked


def _assumptions_not_asked(patch: Patch) -> tuple[KeptAssertions, KeptAssertions]:
    _, bare = _BOTH(patch)
    return bare, bare


def _told_reads_assumptions(patch: Patch, element: str) -> Label:
    return patch._assumed_labels.get(element, _TOLD_PLUS(patch, element))


def _told_reads_completion(patch: Patch, element: str) -> Label:
    return patch.space.close(join(_TOLD_PLUS(patch, element), patch.model.label(element)))


def _bounds_forgotten(patch: Patch, role: Role, a: str, b: str) -> bool:
    return patch._irrelevance.open_clauses(role, patch.label(a), patch.label(b)).is_relevant


FUZZED: dict[str, tuple[int, type, str, Any]] = {
    "an assumption proves": (10, Patch, "_make_add_sets", _assumptions_as_proof),
    "an assumption is not asked": (10, Patch, "_make_add_sets", _assumptions_not_asked),
    "told⁺ reads assumptions": (45, Patch, "_told_plus_label", _told_reads_assumptions),
    "told⁺ reads N": (2, Patch, "_told_plus_label", _told_reads_completion),
    "no ≤n inside": (22, Patch, "_is_open", _bounds_forgotten),
    "no ≤n outside": (33, Border, "is_within_bound_outside", _always),
    "no residuals": (23, Border, "unmet_clauses", lambda *_: iter(())),
    "every element is replaced": (57, Border, "_is_replaced", _always),
    "no merge classes outside": (70, CertifiedModel, "classes", Partition()),
    "no disjoint roles": (99, Patch, "_may_clash", _never),
}


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    found = Oracle(Settings(()))
    yield found
    found.close()


@pytest.mark.jvm
@pytest.mark.parametrize("name", FUZZED)
def test_a_planted_mistake_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch, oracle: Oracle
) -> None:
    settings = Settings((Combination("model", "spec", "own"),))
    seed, owner, attribute, mistaken = FUZZED[name]
    assert not compare(seed, oracle, settings).disagreements
    monkeypatch.setattr(owner, attribute, mistaken)
    assert compare(seed, oracle, settings).disagreements


# --- where it is to be had ------------------------------------------------------------------------


def test_an_add_set_alone_is_refused() -> None:
    case = CASES[0]
    base = SpecKnowledgeBase.build(case.axioms(), case.base())
    with pytest.raises(UsageError, match="unknown criterion"):
        base.add_set(abox_of(case.batch()), abox_of([]), "model")
