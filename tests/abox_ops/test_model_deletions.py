"""The criterion `model` with deletions: what the model that certified A says of what is left of
A (THEORY, "N in a store, and its renewal").
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from test_model import _HIDDEN, PREFIX
from test_model_columns import _SETTINGS, check, facts, scratch

from shiq.abox_ops.index.index import Index
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.patch.certified_model import CertifiedModel
from shiq.answers.verdict import Verdict
from shiq.api import index, open_store
from shiq.columns.arrays import Ints
from shiq.errors import UsageError
from shiq.functional import parse_functional
from shiq.model.abox import ABox, abox_of
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.random_ontologies.kb import random_kb

# --- against the reference ------------------------------------------------------------------------


def check_equal_less(seed: int, decider: Decider) -> bool:
    """Deletes some of a random base whose completion is known, and inserts: engines are equal,
    and right; False for an inconsistent base.
    """
    kb = random_kb(seed)
    deletions = random.Random(seed).sample(
        sorted(kb.abox, key=repr), min(len(kb.abox), 1 + seed % 4)
    )
    try:
        if scratch(kb.tbox, kb.abox, decider) is not Verdict.CONSISTENT:
            return False
    except UsageError:  # outside SHIQ(D), by a complex assertion
        return False
    bases = (
        SpecKnowledgeBase.build(kb.tbox, kb.abox),
        LocalKnowledgeBase.build(kb.tbox, abox_of(kb.abox)),
    )
    for base in bases:
        facts(base, abox_of([]), decider)
    memory, local = (
        facts(base, abox_of(kb.insertions), decider, abox_of(deletions)) for base in bases
    )
    assert local == memory, seed
    left = [a for a in kb.abox if a not in set(deletions)]
    expected = scratch(kb.tbox, list(dict.fromkeys([*left, *kb.insertions])), decider)
    answers = {answer for _, _, answer in memory["modules"]}  # type: ignore[attr-defined]
    refuted = memory["contradictory"] or Verdict.INCONSISTENT.value in answers
    if Verdict.UNDETERMINED is not expected and Verdict.UNDETERMINED.value not in answers:
        assert expected is (Verdict.INCONSISTENT if refuted else Verdict.CONSISTENT), seed
    return True


def test_equal_to_the_reference_less_deletions(decider: Decider) -> None:
    assert sum(check_equal_less(seed, decider) for seed in range(25)) > 12


@pytest.mark.slow
def test_equal_to_the_reference_less_deletions_on_many(decider: Decider) -> None:
    assert sum(check_equal_less(seed, decider) for seed in range(6000, 7500)) > 800


# --- by hand --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A consistent base that stays so with ``insertions``; without ``deletions`` as well it is
    inconsistent with them.
    """

    name: str
    tbox: str
    base: str
    deletions: str
    insertions: str

    def read(self, text: str) -> ABox:
        reading = parse_functional(f"{PREFIX} Ontology({text})", "test", "t")
        assert not reading.leftovers
        return reading.abox


#: At most two, k and another: i and j are one, but no unit propagation says so.
_AT_MOST_TWO = "SubClassOf(owl:Thing ObjectMaxCardinality(2 :S))"
_I_AND_J = (
    "ObjectPropertyAssertion(:S :h :i) ObjectPropertyAssertion(:S :h :j) ObjectPropertyAssertion(:S :h :k)"
    "DifferentIndividuals(:k :i) DifferentIndividuals(:k :j) SameIndividual(:i :j)"
)
CASES = [
    Case(
        "what is left keeps its label",
        "SubClassOf(ObjectComplementOf(:A) ObjectAllValuesFrom(:S ObjectUnionOf(:B :C)))" + _HIDDEN,
        "ClassAssertion(:A :a) ObjectPropertyAssertion(:S :a :b) ClassAssertion(:E :b)",
        "ClassAssertion(:A :a)",
        "ClassAssertion(ObjectComplementOf(:A) :a)",
    ),
    Case(
        "parts are not known to be different",
        _AT_MOST_TWO,
        _I_AND_J,
        "SameIndividual(:i :j)",
        "DifferentIndividuals(:i :j)",
    ),
    Case(
        "parts may be equal",
        _AT_MOST_TWO + "SubClassOf(owl:Thing ObjectMaxCardinality(2 :T))",
        _I_AND_J
        + "ObjectPropertyAssertion(:T :i :x) ObjectPropertyAssertion(:T :j :y) ObjectPropertyAssertion(:U :z :z)"
        "DifferentIndividuals(:x :y) DifferentIndividuals(:x :z) DifferentIndividuals(:y :z)",
        "SameIndividual(:i :j)",
        "ObjectPropertyAssertion(:T :i :z)",
    ),
]


def verdicts(case: Case, path: Path) -> tuple[Verdict, Verdict]:
    """Of the deletions and insertions of ``case`` in one batch, and of the insertions where the
    deletions were committed before; all under the criterion `model`.
    """
    path.mkdir(parents=True)
    tbox = parse_functional(f"{PREFIX} Ontology({case.tbox})", "test", "t").tbox
    base, deletions, insertions = (
        list(case.read(text)) for text in (case.base, case.deletions, case.insertions)
    )
    assert index(tbox, abox_of(base), path / "kg", **_SETTINGS).verdict is Verdict.CONSISTENT
    with open_store(path / "kg") as session:
        once, criterion, _ = check(session, insertions, deletions)
        assert criterion == "model"
        assert check(session, [], deletions, commit=True)[0] is Verdict.CONSISTENT
        twice, criterion, _ = check(session, insertions)
        assert criterion == "model", "the completion is still there"
    return once, twice


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_case(case: Case, tmp_path: Path) -> None:
    assert verdicts(case, tmp_path / "kg") == (Verdict.INCONSISTENT, Verdict.INCONSISTENT)


Less = Callable[[CertifiedModel, Index, Index, Ints], CertifiedModel]
_REAL: Less = CertifiedModel.after_deletion


def _without_labels(
    completion: CertifiedModel, before: Index, after: Index, vanished: Ints
) -> CertifiedModel:
    found = _REAL(completion, before, after, vanished)
    return replace(found, exceptional_labels=completion.exceptional_labels)


def _without_classes(
    completion: CertifiedModel, before: Index, after: Index, vanished: Ints
) -> CertifiedModel:
    return replace(_REAL(completion, before, after, vanished), classes=completion.classes)


def _without_modules(
    completion: CertifiedModel, before: Index, after: Index, vanished: Ints
) -> CertifiedModel:
    return replace(_REAL(completion, before, after, vanished), modules=completion.modules)


@pytest.mark.parametrize(
    ("case", "planted"),
    [*zip(CASES, [_without_labels, _without_modules, _without_classes])],
    ids=[c.name for c in CASES],
)
def test_a_planted_mistake_is_found(
    case: Case, planted: Less, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CertifiedModel, "after_deletion", planted)
    assert verdicts(case, tmp_path / "kg") == (Verdict.CONSISTENT, Verdict.CONSISTENT)


def test_a_complex_deletion_makes_it_void(tmp_path: Path) -> None:
    """It takes definitions with it: the criterion is `clausal`, and the evidence says why."""
    case = Case(
        "",
        "SubClassOf(:A :B)",
        "ClassAssertion(ObjectComplementOf(:B) :a) ClassAssertion(:A :b)",
        "",
        "",
    )
    tbox = parse_functional(f"{PREFIX} Ontology({case.tbox})", "test", "t").tbox
    assert (
        index(tbox, case.read(case.base), tmp_path / "kg", **_SETTINGS).verdict
        is Verdict.CONSISTENT
    )
    gone = case.read("ClassAssertion(ObjectComplementOf(:B) :a)")
    with open_store(tmp_path / "kg") as session:
        result = session.check(case.read("ClassAssertion(:A :a)"), gone, commit=True, **_SETTINGS)
        assert (result.verdict, result.evidence.criterion) == (Verdict.CONSISTENT, "clausal")
        assert any("complex" in note for note in result.evidence.notes)
