"""The reasoner `own` on random cases, against brute force, against what its own pre-models mean,
and against itself.

Both verdicts are frequent; seeds name the cases: ``random_case(seed, PROFILES[profile])``.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from clausal_random import PROFILES, random_case
from finite_models import has_model
from premodels import check

import shiq.reasoner.hypertableau.tables as tables_module
from shiq.answers.verdict import Verdict
from shiq.model.clause import ClausalTBox
from shiq.reasoner.hypertableau import node_checks
from shiq.reasoner.hypertableau.search import SearchOutcome, decide_module
from shiq.reasoner.hypertableau.tables import Tables, WideRule
from shiq.reasoner.protocol import Module

#: Cases per profile, by default and marked slow; brute force takes a part of them.
FEW, MANY = range(250), range(250, 6_250)


def ask(tbox: ClausalTBox, module: Module) -> SearchOutcome:
    return decide_module(Tables(tbox), module, 50_000 + 200 * len(module.positive), None)


def compare(profile: str, seeds: range) -> Counter[str]:
    """Asserts that CONSISTENT comes with a pre-model, and INCONSISTENT with clauses that suffice
    and without a small model.
    """
    verdicts: Counter[str] = Counter()
    for seed in seeds:
        tbox, module = random_case(seed, PROFILES[profile])
        outcome = ask(tbox, module)
        verdicts[outcome.answer.verdict.value] += 1
        if outcome.model is not None:
            check(outcome.model, tbox, module, outcome.weights)
        elif outcome.answer.verdict is Verdict.INCONSISTENT:
            assert not has_model(tbox, module, 2), (profile, seed)
            used = outcome.answer.used_clauses or frozenset()
            fewer = replace(tbox, clauses=tuple(c for i, c in enumerate(tbox.clauses) if i in used))
            assert ask(fewer, module).answer.verdict is not Verdict.CONSISTENT, (profile, seed)
    return verdicts


@pytest.mark.parametrize("profile", PROFILES)
def test_verdicts_have_grounds(profile: str) -> None:
    verdicts = compare(profile, FEW)
    assert verdicts["consistent"] > len(FEW) / 5
    assert verdicts["inconsistent"] > len(FEW) / 5
    assert verdicts["undetermined"] < len(FEW) / 50


@pytest.mark.parametrize("profile", PROFILES)
def test_verdicts_have_grounds_where_neighbours_are_many(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_checks, "MANY_NEIGHBOURS", 1)
    assert not compare(profile, range(100))["undetermined"] > 2


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_verdicts_have_grounds_at_length(profile: str) -> None:
    verdicts = compare(profile, MANY)
    assert verdicts["undetermined"] < len(MANY) / 200


def test_brute_force_and_own_agree_on_most_small_cases() -> None:
    agree = 0
    for seed in range(200):
        tbox, module = random_case(seed, PROFILES["small"])
        verdict = ask(tbox, module).answer.verdict
        found = has_model(tbox, module, 3)
        assert not (found and verdict is Verdict.INCONSISTENT), seed
        agree += found == (verdict is Verdict.CONSISTENT)
    assert agree > 180


@pytest.mark.parametrize("profile", PROFILES)
def test_rules_that_keep_positions_say_what_rules_with_masks_say(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [random_case(seed, PROFILES[profile]) for seed in range(30_000, 30_100)]
    masks = [ask(*case).answer for case in cases]
    monkeypatch.setattr(tables_module, "WIDE", 0)
    assert any(
        isinstance(rule, WideRule) for tbox, _ in cases for rule in Tables(tbox).rules.by_number
    )
    assert [ask(*case).answer for case in cases] == masks


def renumbered(module: Module, order: list[int]) -> Module:
    """The same module, individual i as ``order[i]``, and its assertions in another order."""
    n = len(order)
    back = [order.index(i) for i in range(n)]
    return Module(
        tuple(module.positive[back[i]] for i in range(n)),
        tuple(module.negative[back[i]] for i in range(n)),
        tuple((order[i], r, order[j]) for i, r, j in reversed(module.edges)),
        tuple((order[i], r, order[j]) for i, r, j in module.negative_edges),
        tuple((order[j], order[i]) for i, j in module.different),
        tuple((order[i], p, v) for i, p, v in reversed(module.data)),
        tuple((order[i], p, v) for i, p, v in module.negative_data),
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_the_order_of_clauses_and_individuals_does_not_matter(profile: str) -> None:
    for seed in range(10_000, 10_150):
        tbox, module = random_case(seed, PROFILES[profile])
        rng = random.Random(seed)
        other = replace(tbox, clauses=tuple(rng.sample(tbox.clauses, len(tbox.clauses))))
        order = rng.sample(range(len(module.positive)), len(module.positive))
        verdicts = {
            ask(tbox, module).answer.verdict,
            ask(other, renumbered(module, order)).answer.verdict,
        }
        assert len(verdicts - {Verdict.UNDETERMINED}) <= 1, (profile, seed)


@pytest.mark.parametrize("profile", PROFILES)
def test_individuals_that_share_nothing_do_not_matter(profile: str) -> None:
    """Two modules side by side are consistent iff both are (THEORY, "Modules")."""
    for seed in range(20_000, 20_100):
        tbox, first = random_case(seed, PROFILES[profile])
        tables = Tables(tbox)
        n = len(first.positive)
        second = renumbered(first, list(range(n)))
        second = replace(
            second, positive=tuple(0 for _ in range(n)), data=(), edges=second.edges[:1]
        )
        both = Module(
            first.positive + second.positive,
            first.negative + second.negative,
            first.edges + tuple((i + n, r, j + n) for i, r, j in second.edges),
            first.negative_edges + tuple((i + n, r, j + n) for i, r, j in second.negative_edges),
            first.different + tuple((i + n, j + n) for i, j in second.different),
            first.data,
            first.negative_data + tuple((i + n, p, v) for i, p, v in second.negative_data),
        )
        single = {decide_module(tables, m, 50_000, None).answer.verdict for m in (first, second)}
        joint = decide_module(tables, both, 50_000, None).answer.verdict
        if Verdict.UNDETERMINED in single | {joint}:
            continue
        expected = Verdict.INCONSISTENT if Verdict.INCONSISTENT in single else Verdict.CONSISTENT
        assert joint is expected, (profile, seed)
