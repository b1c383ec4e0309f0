"""The reasoner `own` on cases by hand: the verdict, the clauses used, budgets, and what blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from own_cases import CASES, Case, Not, R, S, at_most, isa, some
from premodels import check

from shiq.answers.verdict import Verdict
from shiq.model.clause import AtLeast, ClausalTBox, Clause
from shiq.reasoner.hypertableau import rules
from shiq.reasoner.hypertableau.node_checks import blocked_nodes
from shiq.reasoner.hypertableau.rules import TableauSearch, load_assertions
from shiq.reasoner.hypertableau.search import decide_module
from shiq.reasoner.hypertableau.state import TableauState
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Module


def verdict_of(case: Case) -> Verdict:
    return OwnReasoner().decide(case.tbox, [case.module])[0].verdict


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    case = CASES[name]
    outcome = decide_module(Tables(case.tbox), case.module, 50_000, None)
    assert outcome.answer.verdict is (
        Verdict.CONSISTENT if case.consistent else Verdict.INCONSISTENT
    ), outcome.answer
    if outcome.model:
        check(outcome.model, case.tbox, case.module, outcome.weights)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.consistent])
def test_used_clauses_suffice(name: str) -> None:
    case = CASES[name]
    used = OwnReasoner().decide(case.tbox, [case.module])[0].used_clauses
    assert used is not None
    fewer = replace(
        case.tbox, clauses=tuple(c for i, c in enumerate(case.tbox.clauses) if i in used)
    )
    assert OwnReasoner().decide(fewer, [case.module])[0].verdict is Verdict.INCONSISTENT


def test_used_clauses_leave_out_what_did_not_fire() -> None:
    case = Case(False, [isa("X", then=["Y"]), isa("A", then=["B"]), isa("B"), isa("X")], [["A"]])
    assert OwnReasoner().decide(case.tbox, [case.module])[0].used_clauses == {1, 2}


def test_answers_come_in_the_order_of_the_modules() -> None:
    tbox = CASES["≥3 and ≤2"].tbox
    empty, bad = Module((0,), (0,)), CASES["≥3 and ≤2"].module
    answers = OwnReasoner().decide(tbox, [empty, bad, empty])
    assert [a.verdict.value for a in answers] == ["consistent", "inconsistent", "consistent"]


def test_two_tboxes_are_kept_apart() -> None:
    reasoner = OwnReasoner()
    cases = [
        CASES[name]
        for name in (
            "≥3 and ≤2",
            "≥3 and ≤2 of a part",
            "a name below another",
            "nothing",
            "a loop counts once",
        )
    ]
    for case in cases * 3:
        expected = Verdict.CONSISTENT if case.consistent else Verdict.INCONSISTENT
        assert reasoner.decide(case.tbox, [case.module])[0].verdict is expected
    reasoner.close()
    reasoner.close()


def test_a_rule_for_a_negated_need_stays_where_it_belongs() -> None:
    tbox = Case(True, [], [[Not(some(R))]]).tbox
    first, second = Module((0, 0), (1, 0), ((0, R, 1),)), Module((0, 0), (0, 0), ((0, R, 1),))
    answers = OwnReasoner().decide(tbox, [second, first, second])
    assert [a.verdict.value for a in answers] == ["consistent", "inconsistent", "consistent"]
    assert answers[1].used_clauses == frozenset()


# --- budgets --------------------------------------------------------------------------------------


def pigeons(n: int) -> Case:
    """n + 1 successors that exclude each other by names, in n places: refuted by trying."""
    names = [f"A{i}" for i in range(n + 1)]
    clauses = [at_most(n, S), *(Clause((a, b)) for i, a in enumerate(names) for b in names[:i])]
    return Case(False, clauses, [[], *([a] for a in names)], [(0, S, i + 1) for i in range(n + 1)])


@pytest.mark.parametrize("different", [(), ((5, 7),), ((5, 7), (7, 390), (5, 390))])
def test_a_hub_is_not_counted_whole_after_each_merge(
    different: Sequence[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, select = list[int](), rules.select_unequal

    def counted(state: TableauState, nodes: list[int], size: int) -> list[int]:
        looked.append(len(nodes))
        return select(state, nodes, size)

    monkeypatch.setattr(rules, "select_unequal", counted)
    hub = Case(
        len(different) < 3,
        [at_most(2, R)],
        [[]] * 401,
        [(0, R, i) for i in range(1, 401)],
        different=different,
    )
    assert (verdict_of(hub) is Verdict.CONSISTENT) == hub.consistent
    assert sum(looked) < 20 * 400


def test_out_of_steps_is_undetermined_and_says_so() -> None:
    case = pigeons(8)
    answer = OwnReasoner(steps=10, steps_per_node=1).decide(case.tbox, [case.module])[0]
    assert answer.verdict is Verdict.UNDETERMINED
    assert "budget of 20 steps for 10 individuals" in answer.reason
    assert OwnReasoner().decide(case.tbox, [case.module])[0].verdict is Verdict.INCONSISTENT


def test_out_of_time_is_undetermined() -> None:
    case = pigeons(8)
    answers = OwnReasoner().decide(case.tbox, [case.module] * 2, timeout=0.0)
    assert [a.verdict for a in answers] == [Verdict.UNDETERMINED] * 2
    assert all("time-out" in a.reason for a in answers)


def test_a_long_chain_needs_no_recursion() -> None:
    n = 5_000
    case = Case(
        False,
        [Clause(("A",), (), R, (), ("A",))],
        [["A"], *([] for _ in range(n - 1)), [Not("A")]],
        [(i, R, i + 1) for i in range(n)],
    )
    assert verdict_of(case) is Verdict.INCONSISTENT


# --- blocking -------------------------------------------------------------------------------------


def forest(*children: tuple[int, str, AtLeast]) -> TableauState:
    """One individual, named A, and unnamed nodes (parent, name, the role that made them),
    without any rule applied.
    """
    names = dict.fromkeys(["A", *(name for _, name, _ in children)])
    tbox = ClausalTBox((), CASES["nothing"].roles, atoms=tuple(names))
    search = TableauSearch(Tables(tbox), Module((1,), (0,)), 10_000, None)
    load_assertions(search)
    state = search.state
    for parent, name, need in children:
        child = state.add_node(parent)
        state.add_edge(
            parent, child, state.tables.roles.up[state.tables.roles.role_code(need.role)], 0
        )
        state.add_atom(child, tbox.atom_ids[name], 0)
    return state


def test_a_node_blocks_a_younger_one_like_it() -> None:
    assert blocked_nodes(forest((0, "B", some(R)), (0, "B", some(R)))) == {2: 1}


def test_roles_names_and_parents_names_must_be_the_same() -> None:
    assert blocked_nodes(forest((0, "B", some(R)), (0, "B", some(S)))) == {}
    assert blocked_nodes(forest((0, "B", some(R)), (0, "C", some(R)))) == {}
    assert blocked_nodes(forest((0, "B", some(R)), (1, "B", some(R)))) == {}
    assert blocked_nodes(forest((0, "B", some(R)), (1, "B", some(R)), (2, "B", some(R)))) == {3: 2}


def test_what_is_below_a_blocked_node_is_blocked_and_blocks_nobody() -> None:
    # 1 blocks 2; 3 is below 2, and 4 is like 3: not blocked by it
    state = forest(
        (0, "B", some(R)),
        (0, "B", some(R)),
        (2, "C", some(S)),
        (1, "C", some(S)),
        (1, "C", some(S)),
    )
    assert blocked_nodes(state) == {2: 1, 3: -1, 5: 4}


def test_nodes_that_are_gone_neither_block_nor_are_blocked() -> None:
    state = forest((0, "B", some(R)), (0, "B", some(R)), (0, "B", some(R)))
    state.merge_nodes(0, 1, 0)
    assert not state.alive[1]
    assert blocked_nodes(state) == {3: 2}
