"""Golden cases: every directory below data/cases, on every engine, criterion and reasoner.

Each holds tbox.ofn, abox.ofn, insertions.ofn, maybe deletions.ofn, and expected.json with the
verdict and the case's story.
"""

from __future__ import annotations

import json

import pytest

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq import check_insertions
from shiq.api import ENGINES as ALL_ENGINES
from shiq.functional import axiom_text
from shiq.model import Assertion
from tests.conftest import CASES

# The engines left out need seconds for each case: below for spark, tests/jobs/test_graphframes.py for
# the other.
ENGINES = [name for name in ALL_ENGINES if name not in ("graphframes", "spark")]
NAMES = sorted(p.name for p in CASES.iterdir() if p.is_dir())


def check(name: str, criterion: str, engine: str, reasoner: str):
    folder = CASES / name
    deletions = folder / "deletions.ofn"
    return check_insertions(
        folder / "tbox.ofn",
        folder / "abox.ofn",
        folder / "insertions.ofn",
        deletions if deletions.exists() else None,
        criterion=criterion,
        engine=engine,
        reasoner=reasoner,
    )


def expected(name: str) -> dict:
    return json.loads((CASES / name / "expected.json").read_text())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("criterion", ["clausal", "definition7", "none"])
@pytest.mark.parametrize("name", NAMES)
def test_verdict(name: str, criterion: str, engine: str) -> None:
    result = check(name, criterion, engine, "own")
    assert result.verdict.value == expected(name)["verdict"], result.reason
    if result.verdict.value == "inconsistent":
        assert result.conflicts
        assert result.complete
        assert all(c.origin == "insertions" and c.insertions for c in result.conflicts)


@pytest.mark.jvm
@pytest.mark.parametrize("criterion", ["clausal", "definition7"])
@pytest.mark.parametrize("name", NAMES)
def test_verdict_by_hermit(name: str, criterion: str) -> None:
    assert check(name, criterion, "spec", "hermit").verdict.value == expected(name)["verdict"]


@pytest.mark.parametrize("engine", ENGINES)
def test_example_2_keeps_what_the_paper_says(engine: str) -> None:
    result = check("PaperExample2", "definition7", engine, "own")
    kept = {axiom_text(a) for a in result.a_add}
    here = "urn:case#"

    def fact(kind: str, *terms: str) -> str:
        return f"{kind}({' '.join(f'<{here}{t}>' for t in terms)})"

    assert fact("DifferentIndividuals", "c1", "c2") in kept
    assert fact("ObjectPropertyAssertion", "teach", "p", "c1") in kept
    assert fact("ObjectPropertyAssertion", "teach", "p", "c2") in kept
    assert fact("ClassAssertion", "UGradCourse", "c1") in kept
    assert fact("ClassAssertion", "GradCourse", "c2") in kept
    assert fact("ClassAssertion", "Prof", "p") in kept
    assert fact("ObjectPropertyAssertion", "supervise", "p", "s") not in kept
    assert fact("ClassAssertion", "Stud", "s") not in kept


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_keeps_the_same(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        for criterion in ("clausal", "definition7", "none"):
            with subtests.test(name=name, criterion=criterion):
                mine, theirs = (
                    check(name, criterion, engine, "own") for engine in ("spark", "spec")
                )
                assert mine.verdict.value == expected(name)["verdict"]
                assert set(mine.a_add) == set(theirs.a_add)
                assert mine.statistics.pulled_in == theirs.statistics.pulled_in
                assert mine.conflicts == theirs.conflicts


def test_engines_keep_the_same(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        for criterion in ("clausal", "definition7", "none"):
            with subtests.test(name=name, criterion=criterion):
                results = [check(name, criterion, engine, "own") for engine in ENGINES]
                kept: list[set[Assertion]] = [set(r.a_add) for r in results]
                assert all(k == kept[0] for k in kept)
                assert len({r.statistics.pulled_in for r in results}) == 1
                assert len({r.conflicts for r in results}) == 1
