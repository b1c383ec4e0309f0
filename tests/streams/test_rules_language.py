"""What programs for clingo are written with: comments, intervals, constants, projections; and
cycles that are none.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from shiq.streams.rules import Program
from shiq.streams.rules.evaluation import Engine
from shiq.streams.rules.explanation import ExplainingEvaluator
from shiq.streams.rules.naive_evaluation import NaiveEvaluator
from shiq.streams.rules.session import EvaluationOptions, RuleSession
from shiq.streams.rules.tokens import read_atom
from tests.command_line import shiq


def models(
    text: str, events: Iterable[tuple[int, list[str]]], **options: object
) -> list[tuple[int, list[str]]]:
    """What holds at each point, by the engine, which the naive evaluator agrees with."""
    program, events = Program.parse(text, **options), list(events)  # type: ignore[arg-type]
    found = [(model.t, model.atoms) for model in program.run(events)]
    slow = RuleSession(program, EvaluationOptions())
    slow.evaluator = NaiveEvaluator(program.checked_program, program.functions)
    naive = [(model.t, model.atoms) for t, atoms in events for model in slow.push(t, atoms)]
    assert found == naive + [(model.t, model.atoms) for model in slow.finish()]
    return found


def by_clingo(text: str) -> list[str]:
    clingo = pytest.importorskip("clingo")
    control = clingo.Control(["--warn=none"])
    control.add("base", [], text)
    control.ground([("base", [])])
    found: list[list[str]] = []
    control.solve(on_model=lambda model: found.append(sorted(map(str, model.symbols(atoms=True)))))
    assert len(found) == 1
    return found[0]


def random_text(seed: int) -> str:
    """A program that is one of clingo's, too: without windows."""
    dice = random.Random(seed)
    names = ["1", "2", "n", "m", "k"]
    facts = [f"e({dice.choice(names)},{dice.choice(names)})." for _ in range(3)]
    facts += [f"f({dice.randint(-2, 1)}..{dice.choice('12mn')})."]
    heads = []
    for name in "abc":
        atom = dice.choice(
            ["e(X,_)", "e(_,X)", "e(_,_)", "f(X)", "f(_)", *(f"{other}(_)" for other in heads)]
        )
        extra = dice.choice(
            [
                "",
                f", X != {dice.choice(names)}",
                ", X\\2 = 1",
                ", X = 0..m",
                f", X = {dice.choice('12nm')}..3",
            ]
        )
        facts.append(f"{name}(X) :- f(X), not {atom}{extra}. %* {name}(9) :- e(_,_).\n *%")
        if dice.random() < 0.5:
            facts.append(
                f"{name}({dice.choice(['1..2', 'n..m', 'X+n'])}) :- f(X), not e(X,_), #count{{Y : Y = 1..n, f(Y)}} > 1."
            )
        heads.append(name)
    lines = ["#const n = m+1.", "#const m = 2.", *facts]
    dice.shuffle(lines)
    return "\n".join(lines)


def test_programs_without_windows_mean_what_they_mean_to_clingo() -> None:
    for seed in range(60):
        text = random_text(seed)
        assert models(text, [(0, [])]) == [(0, by_clingo(text))], text


def test_a_projection_in_a_window_counts_points() -> None:
    text = "few(X) :- k(X), b(X,_) at most 1 in [2]. none :- not b(_,_) in {1}. k(1)."
    found = models(text, [(0, ["b(1,1)", "b(1,2)"]), (1, ["b(1,3)"]), (4, [])])
    assert [("few(1)" in atoms, "none" in atoms) for _, atoms in found] == [
        (True, True), (False, False), (False, False), (True, True), (True, True)
    ]  # fmt: skip


def test_an_at_most_that_binds_ranges_over_atoms_as_before() -> None:
    found = models(
        "few(X) :- b(X,_) at most 1 in [2].", [(0, ["b(1,1)"]), (1, ["b(1,2)"])], at_most_binds=True
    )
    assert [atoms for _, atoms in found] == [["b(1,1)", "few(1)"], ["b(1,2)", "few(1)"]]


LOCAL = "n(S,X) :- h(S) count X in [1]. s(S) :- n(S,X), X > 0. n(S,0) :- k(S), not s(S). k(1..2)."


def test_a_cycle_by_name_alone_has_strata_and_input_is_seen() -> None:
    found = models(LOCAL, [(0, ["h(1)"]), (1, ["n(2,5)"]), (2, ["n(1,0)"])])
    assert [[atom for atom in atoms if atom[0] in "ns"] for _, atoms in found] == [
        ["n(1,1)", "n(2,0)", "s(1)"],
        ["n(1,1)", "n(2,5)", "s(1)", "s(2)"],
        ["n(1,0)", "n(2,0)"],
    ]


@pytest.mark.parametrize("comparison", ["X >= 0", "0 < X+1", "X != 1", "not X = 0", "X = Y, f(Y)"])
def test_a_cycle_that_comparisons_do_not_exclude_stays_one(comparison: str) -> None:
    with pytest.raises(Exception, match="has no strata"):
        Program.parse(f"n(S,X) :- h(S,X). s(S) :- n(S,X), {comparison}. n(S,0) :- k(S), not s(S).")


def test_dates_of_points_are_in_utc_and_by_the_unit() -> None:
    text = "d(@now.year,@now.month,@now.day,@now.hour,@now.minute,@now.second,@now.weekday)."
    assert models(text, [(1_678_881_835, [])]) == [(1_678_881_835, ["d(2023,3,15,12,3,55,3)"])]
    assert models(text, [(1_678_881_835 // 60, [])], unit="min")[0][1] == ["d(2023,3,15,12,3,0,3)"]
    assert models("x :- @now.year > 0. y :- not z.", [(1 << 60, [])]) == [(1 << 60, ["y"])]


def test_why_shows_what_was_written() -> None:
    program = Program.parse("a(X) :- f(X), not e(X,_), X = 1..3. f(1..2)." + LOCAL)
    checked = program.checked_program
    explaining = ExplainingEvaluator(Engine(checked, {}), NaiveEvaluator(checked), 0)
    session = RuleSession(program, EvaluationOptions())
    session.evaluator = explaining
    session.push(0, ["e(1,5)", "n(2,7)"])
    session.finish()
    found = explaining.explain_atom(program, *read_atom("a(2)"))
    assert found is not None
    assert [line.strip() for line in found.text_lines()][1:] == [
        "by program line 1: a(X) :- f(X), not e(X,_), X=1..3.", "with X=2", "f(2)", "fact, program line 1",
        "not e(2,_)   (absent)", "2=2",
    ]  # fmt: skip
    found = explaining.explain_atom(program, *read_atom("s(2)"))
    assert found is not None
    assert "n(2,7)" in "\n".join(found.text_lines())
    assert "#" not in "\n".join(found.text_lines())


def test_what_nothing_defines_is_told(tmp_path: Path) -> None:
    (tmp_path / "p.lp").write_text("a(X) :- tmp(X), X > 3.\nb :- not rain(_).\n")
    (tmp_path / "s.log").write_text("0 temp(4)\n1 rain(1)\n")
    done = shiq(
        "stream",
        "rules",
        tmp_path / "p.lp",
        "--source",
        tmp_path / "s.log",
        "--json",
        tmp_path / "r.json",
    )
    assert done.returncode == 0
    assert (
        "p.lp:1:9: nothing defines tmp/1, and no input brought it; did you mean temp/1?"
        in done.stderr
    )
    assert "rain" not in done.stderr
    assert "tmp/1" in (tmp_path / "r.json").read_text()


def test_a_saved_run_remembers_what_was_brought(tmp_path: Path) -> None:
    program = Program.parse("a :- b. c :- d(_).")
    session = program.session()
    session.push(0, ["b"])
    session.push(1, [])
    session.save(tmp_path / "state")
    again = program.restore(tmp_path / "state")
    assert program.undefined_predicates(again.seen_predicates) == [
        "program:1:14: nothing defines d/1, and no input brought it"
    ]
