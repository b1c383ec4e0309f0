"""The differential test itself: it passes on a few seeds, and finds, shrinks and keeps what is
wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq.answers.verdict import Verdict
from shiq.functional import parse_functional
from tests.tools import differential


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(differential.main, arguments)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--seeds", "5:5"), "no seeds"),
        (("--seeds", "a:b"), "expected FROM:TO"),
        (("--criteria", "clausal,other"), "not among"),
        (("--jobs", "0"), "0"),
    ],
)
def test_wrong_arguments_are_usage_errors(arguments: tuple[str, ...], complaint: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2 and complaint in result.output


@pytest.mark.jvm
def test_a_few_seeds_agree() -> None:
    result = invoke("--seeds", "0:24", "--engines", "spec")
    assert result.exit_code == 0, result.output
    assert "24 random knowledge bases" in result.output and "0 disagreements" in result.output
    cases = int(result.output.split(" with a consistent base")[0].split()[-1])
    assert f"{4 * cases} comparisons" in result.output and cases > 8


@pytest.mark.jvm
def test_a_wrong_checker_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def credulous(*_: Any, **__: Any) -> SimpleNamespace:
        return SimpleNamespace(verdict=Verdict.CONSISTENT, reason="")

    monkeypatch.setattr(differential, "check_insertions", credulous)
    result = invoke(
        "--seeds",
        "0:32",
        "--criteria",
        "clausal",
        "--engines",
        "spec",
        "--reasoners",
        "own",
        "--keep",
        str(tmp_path),
    )
    assert result.exit_code == 1 and "says consistent, HermiT inconsistent" in result.output
    cases = sorted(tmp_path.iterdir())
    assert cases
    for case in cases:
        about = json.loads((case / "case.json").read_text())
        assert (
            about["expected"] == "inconsistent" and case.name == f"{about['seed']}-clausal-spec-own"
        )
        base = parse_functional((case / "base.ofn").read_text(), "base.ofn", "b")
        batch = parse_functional((case / "insertions.ofn").read_text(), "insertions.ofn", "i")
        assert not base.leftovers and not batch.leftovers and len(batch.abox)
        assert not (
            case / "deletions.ofn"
        ).exists()  # leaving a deletion out keeps an inconsistency


@pytest.mark.jvm
def test_an_exception_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a planted mistake")

    monkeypatch.setattr(differential, "check_insertions", broken)
    result = invoke(
        "--seeds", "0:8", "--criteria", "clausal", "--engines", "spec", "--reasoners", "own"
    )
    assert (
        result.exit_code == 1
        and "says error" in result.output
        and "a planted mistake" in result.output
    )
