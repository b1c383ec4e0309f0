"""Programs that are refused, each fault with its line and column; faults of a run; and input
that cannot be read.
"""

from __future__ import annotations

import json
import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shiq.errors import InputError, OperationalError, UsageError
from shiq.streams.rules import EvaluationError, Program, ProgramError


def problems(text: str, **options: object) -> list[tuple[int, int, str]]:
    with pytest.raises(ProgramError) as caught:
        Program.parse(text, **options)  # type: ignore[arg-type]
    return [(problem.line, problem.column, problem.message) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ("a :- b\nc :- d.", 2, 1, "expected ',' or '.'"),
        ("a :- b", 1, 7, "found the end"),
        ("a :- b c.", 1, 8, "found 'c'"),
        ("a :- .", 1, 6, "expected a literal"),
        ("a b.", 1, 3, "expected ':-' or '.'"),
        ("p(X", 1, 4, "')'"),
        ("a | b :- c.", 1, 3, "disjunction"),
        ("a v b.", 1, 3, "disjunction"),
        ("a ; b :- c.", 1, 3, "disjunction"),
        ("{a} :- b.", 1, 1, "choice"),
        ("1 {a; b} 2.", 1, 1, "choice"),
        ("a :- {b} 1.", 1, 6, "choice"),
        (":- a.", 1, 1, "constraints"),
        (":~ a. [1@2]", 1, 1, "weak constraints"),
        ("a(1)?", 1, 5, "queries"),
        ("-a :- b.", 1, 1, "strong negation"),
        ("a :- -b.", 1, 6, "strong negation"),
        ("a(f(X)) :- b(X).", 1, 3, "function symbols"),
        ("a :- b(X), f(X) = 1.", 1, 17, "function symbols"),
        ("a(X..3) :- b(X).", 1, 3, "the bounds of an interval"),
        ("a(1..1000001).", 1, 3, "no more than 1,000,000"),
        ("a(1..2000, 1..2000).", 1, 1, "no more than 1,000,000 facts"),
        ("#temp a(1..3).", 1, 1, "in a fact of constants"),
        ("a(1;2).", 1, 4, "pooling"),
        ("a : b.", 1, 3, "conditional"),
        ("a :- not not b.", 1, 10, "not not"),
        ("#const n=X.", 1, 8, "no constant"),
        ("#const 3=n.", 1, 8, "expected a name"),
        ("#const a=b. #const b=a.", 1, 8, "defined by itself"),
        ("#const a=1.\n#const a=2.", 2, 8, "defined twice, before in program, line 1"),
        ("a :- b. %* c", 1, 9, "this comment has no end"),
        ("a :- @now.century > 1.", 1, 10, "expected a comparison"),
        ("#temp b(X,Y) :- c(X,Y). a :- not b(1,_) in [2].", 1, 30, "of which a rule is #temp"),
        ("#minimize{1:a}.", 1, 1, "'#minimize' is not supported"),
        ("a(#inf).", 1, 3, "#inf"),
        ("a :- b in {}.", 1, 11, "empty window"),
        ("a :- b in [0].", 1, 11, "[0] is refused"),
        ("a :- b in 5.", 1, 11, "expected a window"),
        ("a :- b at least 0 in [3].", 1, 17, "at least 0"),
        ("a :- b count 0 in [3].", 1, 14, "count 0"),
        ("a :- b at most x in [3].", 1, 16, "at most x"),
        ("a :- b at once in [3].", 1, 11, "'least' or 'most'"),
        ("a :- b in [3 days].", 1, 14, "unknown unit"),
        ("a :- b in [1500 msec].", 1, 12, "no multiple"),
        ("a :- b in [-1].", 1, 12, "natural number"),
        ("a :- #count{X:b(X)}.", 1, 20, "compared with something"),
        ("a :- #count{X:b(X) in [2]} > 1.", 1, 15, "no streaming literals with windows"),
        ("a :- #avg{X:b(X)} > 1.", 1, 6, "#avg"),
        ("a :- 1 < X < 3, b(X).", 1, 12, "two sides"),
        ("a :- b(99999999999999999999).", 1, 8, "64 bits"),
        ("a :- b(X), X = 9223372036854775807 + 1.", 1, 36, "64 bits"),
        ("a(" + "(" * 10_000 + "1" + ")" * 10_000 + ").", 1, 103, "no more than 100"),
        ('a("b).', 1, 3, "no end in its line"),
        ('a("\\q").', 1, 3, "in a string"),
        ("a\0b.", 1, 2, "U+0000"),
        ("é.", 1, 1, "U+00E9"),
        ("a(3x).", 1, 3, "'3x'"),
        ("#show a.", 1, 8, "arity"),
        ("#rdf a/3 = <urn:a>.", 1, 8, "a class has 1"),
        ("#rdf a/1 = b.", 1, 12, "<IRI>"),
        ("#rdf a/1 = <urn:a>. #rdf a/1 = <urn:b>.", 1, 21, "mapped twice"),
        ("#trigger_frequency(0) a :- b.", 1, 1, "at least 1"),
        ("a :- &f(;).", 1, 6, "no file defines the function f"),
        ("a :- not &f(;X), b(X).", 1, 11, "without outputs"),
        # safety: where the variable occurs first
        ("a(X) :- b(Y).", 1, 3, "variable X"),
        ("a :- not b(X).", 1, 12, "variable X"),
        ("a :- b(X), X < Y.", 1, 16, "variable Y"),
        ("a :- b(X+1).", 1, 8, "variable X"),
        ("a :- b(X) at most 2 in [3].", 1, 8, "variable X"),
        ("a :- c, b at least X in [3].", 1, 20, "variable X"),
        ("a :- not b(_+1).", 1, 12, "_ is bound by nothing"),
        ("a(_).", 1, 3, "_ is bound by nothing"),
        ("a :- #count{X:b(Y)} > 1.", 1, 13, "variable X"),
        ("a(X) :- #count{X:b(X)} > 1.", 1, 3, "variable X"),
        ("a :- not b(X) count X in [2].", 1, 12, "variable X"),
        # strata
        ("p :- not p.", 1, 6, "p/0 → p/0"),
        ("q :- c. p :- q. r :- p count X in [2].\nq :- r.", 1, 22, "p/0 → r/0 → q/0 → p/0"),
        ("p(X) :- q(X), #count{Y:p(Y)} > 1.", 1, 24, "p/1 → p/1"),
        ("p :- q at most 2 in {1}. q :- p.", 1, 6, "q/0 → p/0 → q/0"),
    ],
)
def test_refusals_say_where_and_why(text: str, line: int, column: int, said: str) -> None:
    found = problems(text)
    assert (line, column) in [(at, place) for at, place, _ in found], found
    assert any(said in message for at, place, message in found if (at, place) == (line, column)), (
        found
    )


def test_all_faults_are_told_in_one_pass() -> None:
    text = "a(X) :- b.\nc :- d in [0].\ne :- not e.\nf | g.\nh"
    assert [line for line, _, _ in problems(text)] == [1, 2, 3, 4, 5]
    with pytest.raises(ProgramError, match=r"x\.lp:1:3: unsafe") as caught:
        Program.parse(text, file="x.lp")
    assert isinstance(caught.value, InputError)
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_words_are_words_only_where_the_grammar_wants_them() -> None:
    program = Program.parse(
        "in(at) :- at at least 1 in [3], count count X in{1,2}, always, X > 0, least != most."
    )
    assert str(program.checked_program.rules[0].head) == "in(at)"


def test_empty_programs_and_empty_input() -> None:
    program = Program.parse(" % nothing\n")
    assert [model.atoms for model in program.run([(3, ["a(1)"])])] == [["a(1)"]]
    assert list(program.run([])) == []
    with pytest.raises(UsageError, match="unknown unit"):
        Program.parse("", unit="days")
    with pytest.raises(UsageError, match="timeline"):
        program.session(timeline="loose")


def test_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Program.read(tmp_path / "none.lp")
    (tmp_path / "bad.lp").write_bytes(b"a.\n\xff")
    with pytest.raises(InputError, match=r"bad\.lp:2: this is no UTF-8"):
        Program.read(tmp_path / "bad.lp")
    (tmp_path / "f.py").write_text("def f(x): return x + 1\n")
    (tmp_path / "a.lp").write_text("\ufeffa(Y) :- b(X), &f(X;Y).")
    program = Program.read([tmp_path / "a.lp"], python=tmp_path / "f.py")
    assert [model.derived for model in program.run([(0, ["b(1)"])])] == [["a(2)"]]
    (tmp_path / "g.py").write_text("def f(x) return")
    with pytest.raises(InputError, match="SyntaxError"):
        Program.read(tmp_path / "a.lp", python=tmp_path / "g.py")


# --- runs


def test_atoms_that_cannot_be_read_are_rejected_and_the_rest_counts() -> None:
    session = Program.parse("c(X) :- b(X).").session()
    session.push(
        0,
        ["b(1)", "b(X)", "b(", "b(f(1))", "b(" + "9" * 30 + ")", "", "B(1)", "b(1", "b(1))", "\0"],
    )
    assert [model.derived for model in session.finish()] == [["c(1)"]]
    reasons = [leftover.message for leftover in session.rejects.leftovers()]
    assert len(reasons) == 9 and "X is a variable" in reasons[0] and "beyond 64 bits" in reasons[3]


def test_late_rows_and_rows_far_ahead_are_rejected() -> None:
    session = Program.parse("c(X) :- b(X).").session(lateness=1, max_ahead=10)
    times = [5, 6, 5, 4, 17, 16, 14, 15]
    found = [model.t for t in times for model in session.push(t, ["b(1)"])] + [
        model.t for model in session.finish()
    ]
    assert found == list(range(5, 17))
    assert dict(session.rejects.counts) == {"late": 2, "ahead": 1}
    assert session.push(16, ["b(1)"]) == []
    assert session.rejects.counts["late"] == 3


def test_the_end_of_a_point_closes_it() -> None:
    session = Program.parse("c(X) :- b(X).").session(lateness=5)
    assert [model.t for model in session.push(3, ["b(1)", "@end"])] == [3]
    assert session.push(3, ["b(2)"]) == [] and session.rejects.counts["late"] == 1


def test_overflow_ends_the_run_with_the_rule() -> None:
    program = Program.parse("\n c(Y) :- b(X), Y = X*X.", file="o.lp")
    with pytest.raises(EvaluationError, match=r"o\.lp:2:2: c\(Y\) :- b\(X\), Y=X\*X"):
        list(program.run([(0, ["b(9223372036854775807)"])]))
    fine = Program.parse("c(Y) :- b(X), Y = X+0-1.")
    assert [model.derived for model in fine.run([(0, ["b(-9223372036854775807)"])])] == [
        ["c(-9223372036854775808)"]
    ]


def _raising(x: object) -> object:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_raising, "ValueError: no"),
        (lambda x: 1.5, "no constant"),
        (lambda x: math.nan, "no constant"),
        (lambda x: None, "no constant"),
        (lambda x: 1 << 70, "beyond 64 bits"),
        (lambda x: (1, 2), "2 values"),
        (lambda: 1, "TypeError"),
        (lambda x: sys.exit(3), "SystemExit: 3"),
        (lambda x: "\ud800", "half a character"),
    ],
)
def test_functions_that_fail_end_the_run(function: object, said: str) -> None:
    program = Program.parse("c(Y) :- b(X), &f(X;Y).", {"f": function})  # type: ignore[dict-item]
    with pytest.raises(
        EvaluationError, match=rf"(?s)c\(Y\) :- b\(X\), &f\(X;Y\).*&f\('a'\).*{said}"
    ):
        list(program.run([(0, ["b(a)"])]))


def test_a_join_that_explodes_is_stopped() -> None:
    program = Program.parse("c(X,Y,Z) :- b(X), b(Y), b(Z).")
    with pytest.raises(EvaluationError, match="max-atoms"):
        list(program.run([(0, [f"b({i})" for i in range(300)])], max_atoms=100_000))


def test_columns_in_and_out() -> None:
    session = Program.parse("hot(X,W) :- energy(X,W), W > 5.").session()
    session.push(0, {"energy/2": (pa.array(["p1", '"p 2"', "p3"]), np.array([4, 6, 7]))})
    session.push(0, ["energy(p4,9)"])
    (model,) = session.finish()
    assert model.derived == ['hot("p 2",6)', "hot(p3,7)", "hot(p4,9)"]
    names, watts = model.columns("hot/2")
    assert sorted(zip(names.tolist(), watts.tolist())) == [('"p 2"', 6), ("p3", 7), ("p4", 9)]
    assert [len(column) for column in model.columns("none/3")] == [0, 0, 0]
    with pytest.raises(InputError, match="different lengths"):
        session.push(1, {"energy/2": (np.array([1]), np.array([1, 2]))})
    with pytest.raises(InputError, match="float64"):
        session.push(1, {"energy/2": (np.array([1.5]), np.array([1]))})
    with pytest.raises(InputError, match="no constant"):
        session.push(1, {"energy/2": (["a b"], np.array([1]))})
    with pytest.raises(InputError, match="p/2"):
        session.push(1, {"energy": (np.array([1]),)})


def test_what_is_no_row_is_refused_and_leaves_the_session_as_it_was() -> None:
    session = Program.parse("c(X) :- b(X,_).").session()
    for name, columns in (
        ("B/1", ([1],)),
        ("not/1", ([1],)),
        ("b c/1", ([1],)),
        ("b/1", ([1 << 70],)),
        ("b/0", ()),
    ):
        with pytest.raises(InputError):
            session.push(0, {"b/2": ([1], [2]), name: columns})
    for t, atoms in ((0, "b(1,2)"), (0, ["b(1,2)", 3]), (1.5, []), ("1", [])):
        with pytest.raises(UsageError):
            session.push(t, atoms)  # type: ignore[arg-type]
    assert session.finish() == []
    session.push(np.int64(2), {"b/2": ([], [])})  # type: ignore[arg-type]
    assert json.loads(session.state().splitlines()[0])["newest"] == 2
    assert [model.atoms for model in session.finish()] == [[]]


def test_sessions_are_saved_and_damage_is_seen(tmp_path: Path) -> None:
    program = Program.parse("c(X) :- b(X) at least 2 in [3].")
    session = program.session(lateness=1)
    session.push(0, ["b(1)"])
    session.push(2, ["b(1)"])
    session.save(tmp_path / "state")
    other = program.restore(tmp_path / "state")
    assert [(m.t, m.derived) for m in other.finish()] == [
        (m.t, m.derived) for m in session.finish()
    ]
    with pytest.raises(OperationalError, match="saved by program"):
        Program.parse("c(X) :- b(X).").restore(tmp_path / "state")
    whole = (tmp_path / "state").read_bytes()
    for cut in (0, 5, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:cut])
        with pytest.raises(OperationalError):
            program.restore(tmp_path / "cut")


def test_an_at_most_that_could_bind_says_how() -> None:
    with pytest.raises(
        ProgramError,
        match=r"the variable X is bound by no positive literal; .* \(--at-most-binds\)",
    ):
        Program.parse("c(X) :- b(X) at most 2 in [3].")
    with pytest.raises(ProgramError) as caught:
        Program.parse("c(X) :- not b(X).")
    assert "--at-most-binds" not in str(caught.value)


def test_an_option_that_a_session_has_not_is_named() -> None:
    with pytest.raises(UsageError, match="no option 'unit'"):
        Program.parse("p.").session(unit="sec")
