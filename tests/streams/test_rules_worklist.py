"""Narrow recursions, row by row: as the reference has it, without end, and told when a point
derives too much.
"""

from __future__ import annotations

import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiq.streams.rules import Program, fixpoint, operators, worklist
from shiq.streams.rules.evaluation import Engine
from shiq.streams.rules.fixpoint import RecursiveStratum
from shiq.streams.rules.naive_evaluation import NaiveEvaluator
from shiq.streams.rules.syntax import EvaluationError
from shiq.streams.rules.worklist import Worklist
from tests.command_line import shiq
from tests.streams.test_rules_engine import agree, model

#: Rules over edges e/2, starts s/1 and forbidden f/1: p/2, q/1 and r/0 depend on each other.
BASE = "p(X,Y) :- e(X,Y). q(X) :- s(X)."
RULES = [
    "p(X,Z) :- p(X,Y), e(Y,Z).",
    "p(X,Z) :- p(X,Y), p(Y,Z).",
    "p(Y,X) :- p(X,Y), X < Y, not f(X).",
    "q(Y) :- q(X), p(X,Y), not f(Y).",
    "q(X+1) :- q(X), X < 6.",
    "q(X*X-1) :- q(X), not X > 2, X != Y, s(Y).",
    "p(X,X) :- q(X), p(X,_), X != 2.",
    "q(X) :- p(X,X).",
    "p(X,Y) :- r, e(Y,X).",
    "r :- q(3).",
    "r :- p(a,2), not f(1).",
    "q(Z) :- p(a,Z).",
    "q(Y) :- q(X) at least 1 in {1,2}, e(X,Y).",
    "p(Z,Y) :- p(X,Y), Z = X + Y, 0 < Z, Z < 5.",
    "p(X,Y) :- q(X), q(Y), not e(X,Y), X < Y.",
    "q(Y) :- p(X,Y), s(X) always in [1].",
]
VALUES = [0, 1, 2, 3, 4, "a", '"b"']
Points = list[tuple[int, dict[str, list[tuple[Any, ...]]]]]


def drawn(seed: int) -> tuple[str, Points]:
    """Some of the rules, and points whose input changes a little from one to the next."""
    dice = random.Random(seed)
    text = "\n".join([BASE, *dice.sample(RULES, dice.randint(2, 6))])
    edges, starts, forbidden = (
        set[tuple[Any, ...]](),
        set[tuple[Any, ...]](),
        set[tuple[Any, ...]](),
    )
    points: Points = []
    for t in range(7):
        for held, arity, most in ((edges, 2, 5), (starts, 1, 2), (forbidden, 1, 2)):
            for row in dice.sample(sorted(held, key=str), len(held) // 3):
                held.discard(row)
            while len(held) < most and dice.random() < 0.8:
                held.add(tuple(dice.choice(VALUES) for _ in range(arity)))
        points.append(
            (
                t,
                {
                    "e/2": sorted(edges, key=str),
                    "s/1": sorted(starts, key=str),
                    "f/1": sorted(forbidden, key=str),
                },
            )
        )
    return text, points


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often lists were begun, and were given back before their end; each recursion goes row
    by row, joins in small parts.
    """
    told, run = Counter[str](), Worklist.derive_consequences

    def counted(self: Worklist, fresh: Any) -> Any:
        left = run(self, fresh)
        told["lists"] += 1
        told["wide"] += any(map(len, left.values()))
        told["derived"] += sum(len(reasons.heads) for reasons in self._reasons)
        return left

    monkeypatch.setattr(Worklist, "derive_consequences", counted)
    monkeypatch.setattr(RecursiveStratum, "_max_narrow_rounds", 0)
    monkeypatch.setattr(fixpoint, "_LEAST_NARROW_ROUNDS", 0)
    monkeypatch.setattr(operators, "_ROWS_PER_PART", 3)
    return told


def test_row_by_row_is_as_the_reference_has_it(
    counts: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(50):
        monkeypatch.setattr(worklist, "_MOST_PENDING_ROWS", 1 + seed % 7)
        text, points = drawn(seed)
        agree(text, points, restart=4 if seed % 3 == 0 else None)
    assert counts["lists"] > 100 and counts["wide"] > 15 and counts["derived"] > 200, counts


@pytest.mark.parametrize("most", [3, 9])
def test_row_by_row_ends_where_the_reference_does(most: int, counts: Counter[str]) -> None:
    def models(evaluator: Engine | NaiveEvaluator, points: Points) -> list[Any]:
        found: list[Any] = []
        try:
            for t, rows in points:
                found.append(model(evaluator.step(t, rows)))
        except EvaluationError:
            found.append("too many")
        return found

    ended = Counter[bool]()
    for seed in range(30):
        text, points = drawn(seed)
        checked = Program.parse(text).checked_program
        wanted = models(NaiveEvaluator(checked, {}, max_atoms=most), points)
        assert models(Engine(checked, {}, max_atoms=most), points) == wanted, seed
        ended["too many" in wanted] += 1
    assert counts["lists"] and min(ended.values()) > 2, ended


def test_rows_that_join_with_many_go_back_to_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list is left where its rows join with many; it is begun again later and later, and each
    join is counted once.
    """
    told, run = Counter[str](), Worklist.derive_consequences

    def counted(self: Worklist, fresh: Any) -> Any:
        told["lists"] += 1
        return run(self, fresh)

    monkeypatch.setattr(Worklist, "derive_consequences", counted)
    engine = Engine(
        Program.parse("p(X) :- s(X). p(Y) :- p(X), e(X,Y), b(Z), Z < Y.").checked_program, {}
    )
    links, hub = 2_000, 1_000
    rows = {
        "e/2": [(n, n + 1) for n in range(links)],
        "s/1": [(0,)],
        "b/1": [(-n,) for n in range(hub)],
    }
    assert len(engine.step(0, rows).rows("p/1", True)) == links + 1
    assert 0 < told["lists"] <= 4
    spent = 10_000_000 - engine.context.budget.remaining_rows
    assert links * hub <= spent <= links * (hub + 2)


def _no_reasons(self: Worklist, *_: Any) -> Any:
    written = _written(self)
    for reasons in self._reasons:
        for i, _ in reasons.places:
            reasons.rule.head.relation.row_arrays["reason", i][:] = 0
    return written


def _no_last_row(self: Worklist, *_: Any) -> Any:
    for reasons in self._reasons:
        del reasons.heads[-1:], reasons.bodies[-1:]
    return _written(self)


_written = Worklist._write_results_back


@pytest.mark.parametrize("fault", [_no_reasons, _no_last_row])
def test_planted_faults_are_found(
    fault: Callable[..., Any], counts: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Worklist, "_write_results_back", fault)
    wrong = 0
    for seed in range(30):
        try:
            agree(*drawn(seed))
        except AssertionError:
            wrong += 1
    assert wrong > 1


def test_a_long_chain_is_taken_row_by_row_in_rounds_that_do_not_grow_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds, grown = Counter[str](), RecursiveStratum._mark_rows_true

    def counted(self: RecursiveStratum, fresh: Any) -> Any:
        rounds["columns"] += 1
        return grown(self, fresh)

    monkeypatch.setattr(RecursiveStratum, "_mark_rows_true", counted)
    text = "p(X) :- s(X). p(Y) :- p(X), e(X,Y), not f(Y)."
    engine = Engine(Program.parse(text).checked_program, {})
    for t, links in enumerate((1_000, 4_000)):
        rounds.clear()
        found = engine.step(
            t, {"e/2": [(n, n + 1) for n in range(links)], "s/1": [(0,)], "f/1": [(3_500,)]}
        )
        assert len(found.rows("p/1", True)) == min(links + 1, 3_500)
        assert rounds["columns"] <= 2 * fixpoint.MOST_NARROW_ROWS + links // 16


def test_a_rule_without_end_is_told_with_its_line_and_what_earlier_points_gave_is_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "r.lp").write_text("a(X) :- b(X).\nn(X+1) :- n(X).\nn(X) :- c(X).\n")
    (tmp_path / "s.log").write_text("0 b(1)\n1 b(2)\n2 c(1)\n3 b(3)\n")
    arguments = (tmp_path / "r.lp", "--source", tmp_path / "s.log", "--out", tmp_path / "o")
    called = shiq("stream", "rules", *arguments, "--max-atoms", 20_000)
    assert called.returncode == 4 and "r.lp:2:1: n(X+1) :- n(X)." in called.stderr
    assert "more than 20,000 atoms are derived at t = 2 (--max-atoms 20000)" in called.stderr
    assert [json.loads(line)["atoms"] for line in (tmp_path / "o").read_text().splitlines()] == [
        ["a(1)"],
        ["a(2)"],
    ]


@pytest.mark.parametrize(
    ("rules", "rows", "most", "ends"),
    [
        ("p(X) :- b(X).", {"b/1": [(n,) for n in range(500)]}, 499, True),
        ("p(X) :- b(X).", {"b/1": [(n,) for n in range(500)]}, 500, False),
        ("p(X,Y) :- b(X), b(Y).", {"b/1": [(n,) for n in range(3_000)]}, 1_000_000, True),
        ("q :- b(X), b(Y), X + Y = 7.", {"b/1": [(n,) for n in range(2_000)]}, 1, False),
        ("p(X+1) :- p(X), &f(X). p(X) :- b(X).", {"b/1": [(0,)]}, 1_000, True),
        ("p(Y) :- p(X) at least 1 in [1], Y = X + 1. p(X) :- b(X).", {"b/1": [(0,)]}, 1_000, True),
    ],
)
def test_what_a_point_derives_is_bounded_and_inputs_and_joins_are_not(
    rules: str, rows: Any, most: int, ends: bool
) -> None:
    functions = {"f": lambda x: True}
    engine = Engine(Program.parse(rules, functions).checked_program, functions, max_atoms=most)
    tracemalloc.start()
    try:
        if ends:
            with pytest.raises(
                EvaluationError, match=f"more than {most:,} atoms are derived at t = 0"
            ):
                engine.step(0, rows)
        else:
            engine.step(0, rows)
        assert tracemalloc.get_traced_memory()[1] < 300 << 20
    finally:
        tracemalloc.stop()
