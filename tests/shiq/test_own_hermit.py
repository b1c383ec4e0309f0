"""The reasoner `own` against HermiT, on random clausal TBoxes and modules, and on the cases by
hand.

Data reaches HermiT as proxies: with its own datatypes it miscounts some finite ranges (≥3 d.[1,
3] beside ≤0 d.[3, ∞) is no fault for it), and takes 1.0 for another value than 1 in a negative
assertion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import clausal_random
import pytest
import test_own_numbers
from clausal_random import PROFILES, random_case
from own_cases import CASES

from shiq.answers.verdict import Verdict
from shiq.model import XSD, DataComplementOf, Datatype, DataUnionOf, Literal
from shiq.reasoner.hermit import HermitReasoner
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import LARGE_NUMBER, OPAQUE

pytestmark = pytest.mark.jvm

#: Cases per profile, by default and marked slow.
FEW, MANY = range(30_000, 30_040), range(30_040, 32_600)


@pytest.fixture(scope="module")
def hermit() -> Iterator[HermitReasoner]:
    reasoner = HermitReasoner()
    yield reasoner
    reasoner.close()


def compare(hermit: HermitReasoner, profile: str, seeds: range) -> Counter[tuple[str, str]]:
    """Asserts that no two verdicts contradict each other; a time-out or an exhausted budget is
    no verdict.
    """
    own, verdicts = OwnReasoner(), Counter[tuple[str, str]]()
    for seed in seeds:
        tbox, module = random_case(seed, PROFILES[profile])
        pair = [reasoner.decide(tbox, [module], 20)[0].verdict for reasoner in (own, hermit)]
        assert set(pair) != {Verdict.CONSISTENT, Verdict.INCONSISTENT}, (profile, seed, pair)
        verdicts[pair[0].value, pair[1].value] += 1
    return verdicts


@pytest.mark.parametrize("profile", PROFILES)
def test_random_cases(hermit: HermitReasoner, profile: str) -> None:
    verdicts = compare(hermit, profile, FEW)
    assert verdicts["consistent", "consistent"] > len(FEW) / 5
    assert verdicts["inconsistent", "inconsistent"] > len(FEW) / 5


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_random_cases_at_length(hermit: HermitReasoner, profile: str) -> None:
    verdicts = compare(hermit, profile, MANY)
    assert (
        sum(verdicts.values())
        - verdicts["consistent", "consistent"]
        - verdicts["inconsistent", "inconsistent"]
        < len(MANY) / 100
    )


def test_what_own_leaves_open_for_opaque_data_hermit_leaves_open(
    hermit: HermitReasoner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So `auto` does not ask it (of about 430 such cases HermiT decided none). What own decides
    HermiT does not contradict.
    """
    unknown, other = Datatype("urn:t:unknown"), Datatype("urn:t:other")
    ranges = (
        unknown,
        unknown,
        other,
        DataComplementOf(unknown),
        DataUnionOf((unknown, Datatype(XSD + "integer"))),
    )
    literals = (Literal("a", unknown.iri), Literal("b", unknown.iri), Literal("a", other.iri))
    monkeypatch.setattr(clausal_random, "RANGES", (*clausal_random.RANGES, *ranges))
    monkeypatch.setattr(clausal_random, "LITERALS", (*clausal_random.LITERALS, *literals))
    verdicts = Counter[tuple[str, str]]()
    for seed in range(50):
        tbox, module = random_case(seed, PROFILES["data"])
        mine, its = (reasoner.decide(tbox, [module], 20)[0] for reasoner in (OwnReasoner(), hermit))
        assert {mine.verdict, its.verdict} != {Verdict.CONSISTENT, Verdict.INCONSISTENT}, seed
        assert not mine.reason.startswith(OPAQUE) or its.verdict is Verdict.UNDETERMINED, seed
        verdicts[mine.verdict.value, its.verdict.value] += 1
    assert verdicts["undetermined", "undetermined"] > 8
    assert verdicts["consistent", "undetermined"] > 1, "own looks at the values, not only at bounds"


def test_cases_by_hand(hermit: HermitReasoner) -> None:
    for name, case in CASES.items():
        expected = Verdict.CONSISTENT if case.consistent else Verdict.INCONSISTENT
        assert hermit.decide(case.tbox, [case.module], 20)[0].verdict is expected, name


def test_large_numbers_are_counted_as_hermit_builds_small_ones(hermit: HermitReasoner) -> None:
    verdicts = Counter[tuple[str, str]]()
    for profile in test_own_numbers.PROFILES:
        for seed in range(40_000, 40_040):
            tbox, module = random_case(seed, replace(profile, max_n=5))
            mine = test_own_numbers.ask((tbox, module), test_own_numbers.COUNTED[0]).answer.verdict
            pair = mine, hermit.decide(tbox, [module], 20)[0].verdict
            assert set(pair) != {Verdict.CONSISTENT, Verdict.INCONSISTENT}, seed
            verdicts[pair[0].value, pair[1].value] += 1
    assert min(verdicts["consistent", "consistent"], verdicts["inconsistent", "inconsistent"]) > 10


@pytest.mark.parametrize("name", test_own_numbers.DECIDED)
def test_hermit_is_not_sent_what_it_would_build(hermit: HermitReasoner, name: str) -> None:
    case = test_own_numbers.DECIDED[name]
    answer = hermit.decide(case.tbox, [case.module])[0]
    if answer.verdict is Verdict.UNDETERMINED:
        assert LARGE_NUMBER in answer.reason
    else:
        assert answer.verdict is (Verdict.CONSISTENT if case.consistent else Verdict.INCONSISTENT)
