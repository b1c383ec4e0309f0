"""Random stream rules in small number: what is evaluated one by one, restarted, by shards and by
clingo is the same.
"""

from __future__ import annotations

from collections import Counter

import pytest

from shiq.streams.rules import naive_evaluation as reference
from tests.tools.rules.random_programs import CONSTRUCTS, random_case
from tests.tools.rules_differential import bounded, disagreement


def _clingo() -> bool:
    try:
        import clingo  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.mark.parametrize("first", [0, 10])
def test_ways_agree(first: int) -> None:
    told = Counter[str]()
    for seed in range(first, first + 10):
        assert disagreement(random_case(seed), _clingo() and seed % 5 == 0, told) is None, (
            f"seed {seed}"
        )
    assert told["engine"] == told["in parts"] == told["restarted"] == 10


def test_a_bound_on_what_a_point_derives_is_met_at_the_same_point_by_engine_and_reference() -> None:
    ended = Counter[bool]()
    for seed in range(40):
        case = random_case(seed)
        for most in (1, 2, 3, 5):
            wanted = bounded(case, most, by_reference=True)
            assert bounded(case, most, by_reference=False) == wanted, f"seed {seed}, at most {most}"
            ended[wanted[1]] += 1
    assert min(ended.values()) > 20


def test_every_construct_is_in_a_tenth_of_the_programs() -> None:
    used = Counter(construct for seed in range(400) for construct in random_case(seed).used)
    assert {name: used[name] for name in CONSTRUCTS if used[name] < 40} == {}
    assert set(used) <= set(CONSTRUCTS)


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of w points instead of w + 1, on one side."""
    from tests.tools import rules_differential

    monkeypatch.setattr(rules_differential, "naive", _short(rules_differential.naive, monkeypatch))
    assert any(disagreement(random_case(seed), False, Counter()) for seed in range(30))


def _short(naive: object, monkeypatch: pytest.MonkeyPatch) -> object:
    right = reference._Step.observed

    def wrong(step: reference._Step, literal: object) -> object:
        found = right(step, literal)  # type: ignore[arg-type]
        return found[:-1] if len(found) > 1 else found

    def planted(case: object) -> object:
        with monkeypatch.context() as patch:
            patch.setattr(reference._Step, "observed", wrong)
            return naive(case)  # type: ignore[operator]

    return planted
