"""The reasoner `own` on large modules: steps and time grow with the module, not with its square."""

from __future__ import annotations

import time

import pytest
from large_modules import KNOWS, TAKES, university_module, university_tbox

from shiq.answers.verdict import Verdict
from shiq.reasoner.hypertableau.rules import TableauSearch
from shiq.reasoner.hypertableau.search import run_search
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Module
from tests.time_limits import calls_of


@pytest.mark.parametrize("size", [1_000, 4_000])
def test_steps_per_individual_do_not_grow(size: int) -> None:
    tbox = university_tbox()
    search = TableauSearch(Tables(tbox), university_module(tbox, size), 10**9, None)
    assert run_search(search)
    assert search.steps < 30 * size
    assert len(search.state.trail.choices) > size


def test_a_large_inconsistent_module_is_refuted_at_once() -> None:
    tbox = university_tbox()
    answer = OwnReasoner().decide(tbox, [university_module(tbox, 4_000, fault=True)])[0]
    assert answer.verdict is Verdict.INCONSISTENT
    assert answer.used_clauses
    assert len(answer.used_clauses) < len(tbox.clauses)


@pytest.mark.slow
def test_the_size_of_uobms_largest_module() -> None:
    tbox = university_tbox()
    module = university_module(tbox, 18_333)
    started = time.process_time()
    assert OwnReasoner().decide(tbox, [module])[0].verdict is Verdict.CONSISTENT
    assert time.process_time() - started < 30


def test_a_small_module_costs_little() -> None:
    """Compiling the TBox is paid once, and a module of three individuals takes a few calls."""
    tbox = university_tbox()
    bit = {a: 1 << i for i, a in enumerate(tbox.atoms)}
    module = Module((bit["Graduate"], bit["Course"], 0), (0, 0, 0), ((0, TAKES, 1), (0, KNOWS, 2)))
    reasoner = OwnReasoner()
    first = calls_of(lambda: reasoner.decide(tbox, [module]))
    more = calls_of(lambda: reasoner.decide(tbox, [module] * 100))
    assert more / 100 < 400 < first / 2
    assert {a.verdict for a in reasoner.decide(tbox, [module] * 100)} == {Verdict.CONSISTENT}
