"""The data of a merge class is counted by label and region: once for each value, however many
elements the class has.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq.answers.verdict import Verdict
from shiq.datatypes import DataTheory
from shiq.jobs.checking.calls import certify


def star(size: int, folder: Path) -> Path:
    """A hub with ``size`` neighbours that may all be one, each with a need for a text, and a
    number as its only value.
    """
    lines = [
        "Prefix(:=<urn:t#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>) Ontology(",
        "Declaration(DataProperty(:f)) FunctionalDataProperty(:f)",
        "SubClassOf(:H ObjectMaxCardinality(2 :S)) SubClassOf(:A DataMinCardinality(1 :f))",
        "ClassAssertion(:H :h)",
    ]
    for i in range(size):
        lines += [f"ClassAssertion(:A :x{i}) ObjectPropertyAssertion(:S :h :x{i})"]
        lines += [f'DataPropertyAssertion(:f :x{i} "{i}"^^xsd:integer)']
    file = folder / f"{size}.ofn"
    file.write_text("\n".join([*lines, ")"]))
    return file


def test_a_merge_class_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    contains = DataTheory.contains
    monkeypatch.setattr(
        DataTheory, "contains", lambda self, *of: asked.append(of) or contains(self, *of)
    )
    counts = []
    for size in (100, 200):
        asked.clear()
        result = certify([star(size, tmp_path)], reasoner="own", explain_seconds=0)
        assert result.verdict is Verdict.INCONSISTENT
        counts.append(len(asked))
    assert counts[1] < 2.5 * counts[0]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_engines_count_alike(size: int, tmp_path: Path) -> None:
    file = star(size, tmp_path)
    answers = [
        certify([file], reasoner="own", explain_seconds=0, engine=engine)
        for engine in ("local", "spec")
    ]
    assert (
        answers[0].verdict
        is answers[1].verdict
        is (Verdict.CONSISTENT if size < 3 else Verdict.INCONSISTENT)
    )
    assert answers[0].statistics.add_set == answers[1].statistics.add_set
