"""The reasoner `own` against HermiT on random clausal TBoxes and modules, on the cases by hand, and on peers' hard cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from clausal_random import PROFILES, random_case
from finite_models import has_model
from own_cases import CASES

from shiq.clause_axioms import clause_axioms, module_assertions
from shiq.reasoner.hermit import HermitReasoner
from shiq.reasoner.own import OwnReasoner
from shiq.verdict import Verdict

pytestmark = pytest.mark.jvm

#: Cases per profile, by default and marked slow.
FEW, MANY = range(30_000, 30_120), range(30_120, 33_120)

WITHOUT_DATA = [name for name, profile in PROFILES.items() if not profile.data]


@pytest.fixture(scope="module")
def hermit() -> Iterator[HermitReasoner]:
    reasoner = HermitReasoner()
    yield reasoner
    reasoner.close()


def compare(hermit: HermitReasoner, profile: str, seeds: range) -> Counter[tuple[str, str]]:
    """Asserts that no two verdicts contradict each other; a time-out or an exhausted budget is no verdict."""
    own, verdicts = OwnReasoner(), Counter[tuple[str, str]]()
    for seed in seeds:
        tbox, module = random_case(seed, PROFILES[profile])
        pair = [reasoner.decide(tbox, [module], 20)[0].verdict for reasoner in (own, hermit)]
        assert set(pair) != {Verdict.CONSISTENT, Verdict.INCONSISTENT}, (profile, seed, pair)
        verdicts[pair[0].value, pair[1].value] += 1
    return verdicts


@pytest.mark.parametrize("profile", WITHOUT_DATA)
def test_random_cases(hermit: HermitReasoner, profile: str) -> None:
    verdicts = compare(hermit, profile, FEW)
    assert verdicts["consistent", "consistent"] > len(FEW) / 5
    assert verdicts["inconsistent", "inconsistent"] > len(FEW) / 5


@pytest.mark.slow
@pytest.mark.parametrize("profile", WITHOUT_DATA)
def test_random_cases_at_length(hermit: HermitReasoner, profile: str) -> None:
    verdicts = compare(hermit, profile, MANY)
    assert (
        sum(verdicts.values()) - verdicts["consistent", "consistent"] - verdicts["inconsistent", "inconsistent"] < len(MANY) / 100
    )


def compare_data(hermit: HermitReasoner, seeds: range) -> int:
    """With HermiT's own datatypes. Where it finds no fault that `own` finds, brute force must not find a model: HermiT miscounts
    some finite ranges (≥3 d.[1, 3] with ≤0 d.[3, ∞) is no fault for it)."""
    own, same = OwnReasoner(), 0
    for seed in seeds:
        tbox, module = random_case(seed, PROFILES["data"])
        verdict = own.decide(tbox, [module])[0].verdict
        axioms, assertions = list(clause_axioms(tbox)), list(module_assertions(tbox, module, "urn:m:"))
        theirs = hermit.consistent(axioms, assertions, 20, proxy_data=False).verdict
        same += verdict is theirs
        assert (verdict, theirs) != (Verdict.CONSISTENT, Verdict.INCONSISTENT), seed
        if (verdict, theirs) == (Verdict.INCONSISTENT, Verdict.CONSISTENT):
            assert not has_model(tbox, module, 2), seed
    return same


def test_random_data(hermit: HermitReasoner) -> None:
    assert compare_data(hermit, FEW) >= len(FEW) * 0.98


@pytest.mark.slow
def test_random_data_at_length(hermit: HermitReasoner) -> None:
    assert compare_data(hermit, MANY) >= len(MANY) * 0.98


def test_cases_by_hand(hermit: HermitReasoner) -> None:
    for name, case in CASES.items():
        expected = Verdict.CONSISTENT if case.consistent else Verdict.INCONSISTENT
        assert hermit.decide(case.tbox, [case.module], 20)[0].verdict is expected, name
