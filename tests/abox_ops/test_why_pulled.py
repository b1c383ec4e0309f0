"""What pulls individuals in: every element that was pulled in has one reason, and the clause
that is named asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq.abox_ops.engine import Inquiry
from shiq.abox_ops.local_add_set import LocalAddSet
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.add_set import NOTHING, PulledInReasons
from shiq.abox_ops.modules.decide import Decider
from shiq.answers.result import Result
from shiq.api import check_insertions
from shiq.columns.arrays import set_difference
from shiq.errors import UsageError
from shiq.jobs.reports.write import answer_problems
from shiq.jobs.text.results import result_text
from shiq.model.abox import abox_of
from shiq.model.clause import ClausalTBox
from shiq.reasoner import create_reasoner
from shiq.reasoner.protocol import Answer, Module
from tests.conftest import CASES
from tests.tools.random_ontologies.kb import random_kb

NAMES = sorted(p.name for p in CASES.iterdir() if p.is_dir())
_REASONER = create_reasoner("own")
_DECIDER = Decider(_REASONER)


def decide(tbox: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
    return _DECIDER.decide(tbox, modules)


def add_set(seed: int, criterion: str) -> LocalAddSet:
    kb = random_kb(seed)
    base = LocalKnowledgeBase.build(kb.tbox, abox_of(kb.abox))
    if criterion == "clausal":
        return base.add_set(abox_of(kb.insertions), abox_of([]), criterion)
    return base.decide_by_patch(abox_of(kb.insertions), abox_of([]), Inquiry(decide))[0]


def unexplained(of: LocalAddSet) -> list[int]:
    """The elements that were pulled in without a note, and that the batch did not make."""
    pulled = set_difference(of.columns.region, of.columns.touched_elements)
    codes = of.columns.pulled_in.codes(of.columns.graph)
    is_new = of.columns.graph.is_new()
    return [e for e in pulled.tolist() if codes[e] == NOTHING and not is_new[e]]


@pytest.mark.parametrize("criterion", ["clausal", "model"])
def test_reasons_cover_what_was_pulled_in(criterion: str) -> None:
    reasons: Counter[str] = Counter()
    for seed in range(120):
        found = add_set(seed, criterion)
        told = found.why_pulled()
        assert sum(x.count for x in told) == found.pulled_in, seed
        assert not unexplained(found), seed
        assert all(len(set(x.examples)) == min(x.count, 3) for x in told), seed
        reasons.update({x.reason: x.count for x in told})
    assert reasons["clause"] > 20


@pytest.mark.parametrize("criterion", ["clausal", "model"])
def test_a_reason_that_is_not_noted_is_missed(
    criterion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PulledInReasons, "note", lambda *arguments: None)
    assert any(unexplained(add_set(seed, criterion)) for seed in range(120))


@pytest.mark.parametrize("criterion", ["clausal", "model"])
@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, criterion: str) -> None:
    folder = CASES / name
    deletions = folder / "deletions.ofn"
    found = check_insertions(
        folder / "tbox.ofn",
        folder / "abox.ofn",
        folder / "insertions.ofn",
        deletions if deletions.exists() else None,
        criterion=criterion,
        reasoner="own",
        why_pulled=True,
    )
    assert found.why_pulled is not None
    assert sum(x.count for x in found.why_pulled) == found.statistics.pulled_in
    assert all(x.text for x in found.why_pulled if x.reason == "clause")
    assert not answer_problems(found.to_dict())


TBOX = """@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Cat owl:disjointWith :Dog . :Cat rdfs:subClassOf [ owl:onProperty :chases ; owl:allValuesFrom :Mouse ] .
:Cat a owl:Class . :Dog a owl:Class . :Mouse a owl:Class ; rdfs:subClassOf [ owl:unionOf ( :Toy :Alive ) ] .
:Toy a owl:Class ; owl:disjointWith :Dog . :Alive a owl:Class . :chases a owl:ObjectProperty .
"""


def small(tmp_path: Path, **settings: object) -> Result:
    a = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    (tmp_path / "t.ttl").write_text(TBOX)
    (tmp_path / "a.nt").write_text(
        "".join(f"<urn:t#tom> <urn:t#chases> <urn:t#x{i}> .\n" for i in range(4))
    )
    (tmp_path / "i.nt").write_text(f"<urn:t#tom> {a} <urn:t#Cat> .\n")
    files = [tmp_path / name for name in ("t.ttl", "a.nt", "i.nt")]
    return check_insertions(*files, reasoner="own", **{"criterion": "clausal", **settings})  # type: ignore[arg-type]


def test_text_and_json(tmp_path: Path) -> None:
    quiet = small(tmp_path)
    assert (
        quiet.why_pulled is None
        and "why_pulled" not in quiet.to_dict()
        and "pulled in, by" not in result_text(quiet)
    )
    found = small(tmp_path, why_pulled=True)
    assert found.to_dict()["why_pulled"] == [
        {
            "reason": "clause",
            "count": 4,
            "examples": ["urn:t#x0", "urn:t#x1", "urn:t#x2"],
            "clause": "Cat(x) ∧ chases(x,y) → Mouse(y)",
            "axioms": ["SubClassOf(<urn:t#Cat> ObjectAllValuesFrom(<urn:t#chases> <urn:t#Mouse>))"],
        }
    ]
    assert "4  Cat(x) ∧ chases(x,y) → Mouse(y)\n" in result_text(found)
    assert "nothing was pulled in" in result_text(replace(found, why_pulled=()))


def test_only_where_it_is_known(tmp_path: Path) -> None:
    for settings in ({"engine": "spec"}, {"criterion": "definition7"}):
        with pytest.raises(UsageError, match="engines local and spark"):
            check_insertions(tmp_path, None, tmp_path, why_pulled=True, **settings)  # type: ignore[arg-type]


def test_notes_of_joined_elements() -> None:
    class Joined:
        rep = np.array([0, 0, 2, 3])

        def __len__(self) -> int:
            return 4

    noted = PulledInReasons()
    noted.note(np.array([1, 2]), np.array([7, 8]))
    noted.note(np.array([2]), 9)
    assert noted.codes(Joined()).tolist()[::2] == [7, 8]  # type: ignore[arg-type]
    assert noted.codes(Joined())[3] == NOTHING  # type: ignore[arg-type]
