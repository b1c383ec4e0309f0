"""The engine of stream rules in columns: against the naive evaluator, with planted faults, and
what it forgets.
"""

from __future__ import annotations

import json
import tracemalloc
from base64 import b64encode
from collections import Counter as Tally
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from shiq.errors import OperationalError
from shiq.jobs.evaluation.streams.rules import ContentCaching, HeavyJoin, PhotovoltaicGrid
from shiq.streams.front.event import Record
from shiq.streams.front.intake import RejectLog, WatermarkTracker
from shiq.streams.front.local import LocalRunner
from shiq.streams.rules import Program
from shiq.streams.rules.evaluation import Engine
from shiq.streams.rules.fixpoint import RecursiveStratum, update_derivation_counts
from shiq.streams.rules.model import MaintainedRule
from shiq.streams.rules.naive_evaluation import NaiveEvaluator
from shiq.streams.rules.operators import StepExecutor
from shiq.streams.rules.relations import (
    FIRST_CODE,
    NO_ROWS,
    ConstantDictionary,
    Relation,
    calculate_columns,
)
from shiq.streams.rules.session import EvaluationOptions
from shiq.streams.rules.stream import RuleIntake, RulesCollector, RulesOperator
from shiq.streams.rules.syntax import EvaluationError, IntegerOverflow, constant_sort_key
from shiq.streams.rules.windows import History, WindowCounter, WindowView
from tests.tools.rules.random_programs import random_case
from tests.tools.rules_differential import disagreement

Rows = dict[str, list[tuple[Any, ...]]]


def model(found: Any) -> tuple[set[Any], set[Any]]:
    """Whole model and derived part."""
    told = [(predicate, derived) for predicate in found.predicates() for derived in (False, True)]
    parts = {
        flag: {(p, row) for p, derived in told if derived == flag for row in found.rows(p, flag)}
        for flag in (False, True)
    }
    assert {(p, len(found.rows(p))) for p in found.predicates()} == {
        (p, len(found.texts(p))) for p in found.predicates()
    }
    return parts[False], parts[True]


def agree(
    text: str, points: Iterable[tuple[int, Any]], restart: int | None = None, **functions: Any
) -> Engine:
    """Engine and reference on one stream; the engine is put back from its state before the time
    ``restart``.
    """
    checked = Program.parse(text, functions).checked_program
    naive, engine = NaiveEvaluator(checked, functions), Engine(checked, functions)
    for t, rows in points:
        if t == restart:
            state = engine.state()
            engine = Engine(checked, functions)
            engine.restore(state)
        assert model(naive.step(t, rows)) == model(engine.step(t, rows)), t
    return engine


# --- planted faults -------------------------------------------------------------------------------


def _shifted(history: History, after: int, to: int) -> list[Any]:
    return _between(history, after + 1, to + 1)


def _staying(counter: WindowCounter, came: list[Any], went: list[Any]) -> Any:
    return _moved(counter, came, [])


def _positive_only(context: StepExecutor, rule: MaintainedRule, head_only_grows: bool) -> None:
    kept = rule.patterns
    rule.__dict__["patterns"] = [(i, pattern) for i, pattern in kept if pattern.is_positive]
    update_derivation_counts(context, rule, head_only_grows)
    rule.__dict__["patterns"] = kept


def _never_again(rule: MaintainedRule) -> bool:
    return not rule.has_run


def _no_growth(view: WindowView, fresh: Any) -> Any:
    return _grow(view, fresh) if view.is_current_point else NO_ROWS


_between, _moved, _grow = (
    History.rows_between,
    WindowCounter._update_counts,
    WindowView.add_new_rows,
)
FAULTS = {
    "a window off by one": (History, "rows_between", _shifted),
    "departures not counted": (WindowCounter, "_update_counts", _staying),
    "changes of negative literals dropped": (
        "shiq.streams.rules.evaluation",
        "update_derivation_counts",
        _positive_only,
    ),
    "a stratum skipped though its input changed": (MaintainedRule, "is_due", _never_again),
    "window literals without delta in recursion": (WindowView, "add_new_rows", _no_growth),
    "constants forgotten though they are held": (
        ConstantDictionary,
        "free_unused",
        lambda dictionary, used: _forget_all(dictionary),
    ),
}


def _forget_all(dictionary: ConstantDictionary) -> None:
    dictionary.values = ['"gone"' for _ in dictionary.values]


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, wrong = FAULTS[fault]
    monkeypatch.setattr("shiq.streams.rules.evaluation._SPARE_ROWS", -1)
    if isinstance(where, str):
        monkeypatch.setattr(f"{where}.{name}", wrong)
    else:
        monkeypatch.setattr(where, name, wrong)
    # Some that find one of them come first.
    assert any(
        disagreement(random_case(seed), False, Tally()) for seed in (0, 3, 24, 62, *range(120))
    )


def test_everything_may_be_forgotten_at_each_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiq.streams.rules.evaluation._SPARE_ROWS", -1)
    for seed in range(1000, 1025):
        assert disagreement(random_case(seed), False, Tally()) is None, f"seed {seed}"


# --- streams of the benchmark, small --------------------------------------------------------------


@pytest.mark.parametrize("links", ["random", "near"])
def test_failing_grids(links: str) -> None:
    stream = PhotovoltaicGrid(6, 12, 0.2, links, seed=3).generate_stream()
    points = [
        (
            t,
            {
                name: list(zip(*(column.tolist() for column in columns)))
                for name, columns in rows.items()
            },
        )
        for t, rows in stream.timed_rows()
    ]
    engine = agree(stream.rules, points, restart=7)
    assert engine.step(12, {}).rows("unlinked/0") in ([], [()], ())


@pytest.mark.parametrize(
    "stream",
    [HeavyJoin(40, 3, 8, 12), HeavyJoin(60, 4, 0, 12), ContentCaching(30, 3, 12, 4, 12)],
    ids=["dense", "published", "caching"],
)
def test_joins_and_counts(stream: HeavyJoin | ContentCaching) -> None:
    made = stream.generate_stream()
    agree(made.rules, [(t, dict(rows)) for t, rows in made.timed_rows()], restart=5)


def test_published_links_and_results() -> None:
    assert [
        PhotovoltaicGrid(side).generate_stream().rules.count("link(") - 12 for side in (20, 30)
    ] == [11_970, 60_682]
    for facts in (50, 500):
        recipe = HeavyJoin(facts=facts, values=0, points=4).generate_stream()
        session = Program.parse(recipe.rules).session()
        models = [model for t, rows in recipe.timed_rows() for model in session.push(t, rows)]
        assert [len(model.columns("a/2")[0]) for model in models] == [facts // 2, facts, facts]


# --- recursion that follows what changed ----------------------------------------------------------

#: Recursive strata that are maintained: two ways, cycles of two, negation, windows of the past,
#: repeated variables, arithmetic.
RECURSIONS = (
    "r(X) :- s(X). r(Y) :- r(X), e(X,Y), not f(Y).",
    "p(X,Y) :- e(X,Y). p(X,Z) :- p(X,Y), p(Y,Z). loop(X) :- p(X,X). many :- p(X,X) count 1 in [2].",
    "o(Y) :- v(X), e(X,Y) in [1]. v(Y) :- o(X), e(X,Y), not f(X) in [1]. v(X) :- s(X). n(N) :- #count{X: o(X)} = N.",
    "r(X) :- s(X). r(Y) :- r(X), e(X,Y), X != 3. r(X) :- r(X) at least 2 in {1,2}, e(X,X). t :- not r(1).",
    "g(X,X) :- s(X). g(X,Y) :- e(A,X), g(A,B), e(B,Y). u(X) :- g(X,X), not s(X). late(X) :- g(X,Y) always in [1].",
    "d(X,0) :- s(X). d(Y,D+1) :- d(X,D), e(X,Y), D < 4. h :- d(7,D), d(6,D).",
    "z :- s(X), z2. z2 :- e(1,X), z. z :- f(3). z2 :- not f(1), z.",
)


def _graphs(seed: int, points: int) -> list[tuple[int, dict[str, list[tuple[int, ...]]]]]:
    """A few edges come and go at each point; now and then heads of rules are input too."""
    dice = np.random.default_rng(seed)
    edges = {(int(a), int(b)) for a, b in dice.integers(0, 8, (int(dice.integers(4, 26)), 2))}
    found = []
    for t in range(points):
        edges ^= {(int(a), int(b)) for a, b in dice.integers(0, 8, (int(dice.integers(0, 4)), 2))}
        rows = {
            "e/2": list(edges),
            "s/1": [(1,)] if dice.random() < 0.8 else [(1,), (int(dice.integers(8)),)],
        }
        rows["f/1"] = [(int(x),) for x in dice.integers(0, 8, int(dice.integers(0, 3)))]
        rows["r/1"] = [(int(x),) for x in dice.integers(0, 8, int(dice.integers(0, 2)))]
        rows["p/2"] = [(5, 6)] if dice.random() < 0.2 else []
        found.append((t, rows))
    return found


@pytest.mark.parametrize("rules", RECURSIONS, ids=range(len(RECURSIONS)))
def test_recursion_follows_what_changed(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    anew: list[int] = []
    real = RecursiveStratum._evaluate_from_scratch
    monkeypatch.setattr(
        RecursiveStratum,
        "_evaluate_from_scratch",
        lambda self, *rest: (anew.append(1), real(self, *rest))[1],
    )
    for seed in range(2):
        agree(rules, _graphs(seed, 20), restart=13)
    # Once at the beginning of each stratum, and after the restart.
    assert 0 < len(anew) <= 2 * 2 * 2


@pytest.mark.parametrize(
    "fault", ["reasons are kept", "what may be derived again is not", "denied instances are kept"]
)
def test_faults_of_recursion_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def kept(self: RecursiveStratum, lost: dict[str, Any]) -> Any:
        monkeypatch.setattr(self, "_reason_patterns", [], raising=False)
        return deleted(self, lost)

    def lost_for_good(self: RecursiveStratum, lost: dict[str, Any]) -> Any:
        suspects, gone = deleted(self, lost)
        return {name: rows[:0] for name, rows in suspects.items()}, gone

    deleted = RecursiveStratum._delete_with_dependents
    if fault == "reasons are kept":
        monkeypatch.setattr(RecursiveStratum, "_delete_with_dependents", kept)
    elif fault == "denied instances are kept":
        monkeypatch.setattr(RecursiveStratum, "_heads_lost_by_negation", lambda *_: ())
    else:
        monkeypatch.setattr(RecursiveStratum, "_delete_with_dependents", lost_for_good)
    with pytest.raises(AssertionError):
        for seed in range(6):
            agree(RECURSIONS[0], _graphs(seed, 25))


# --- by hand --------------------------------------------------------------------------------------


def test_two_atoms_that_support_each_other_go_together() -> None:
    """What counts of derivations alone would keep for ever."""
    agree(
        "p(X) :- a(X). p(X) :- q(X). q(X) :- p(X).",
        [(0, {"a/1": [(1,), (2,)]}), (1, {"a/1": [(2,)]}), (2, {}), (3, {"a/1": [(1,)]})],
    )


def test_one_literal_twice_in_a_rule() -> None:
    """Both change at once: the pairs must not be counted twice."""
    rules = "s(X,Y) :- a(X,Z) in [1], a(Z,Y) in [1], not a(X,Y)."
    agree(rules, [(t, {"a/2": [(t % 3, (t + 1) % 4), (1, t % 2), (t % 2, 2)]}) for t in range(12)])


def test_rows_beyond_the_range_of_an_index() -> None:
    """New values outside of what was packed, numbers among texts, and keys that are too wide to
    be packed.
    """
    rules = "j(X,Y,Z) :- a(X,Y), b(Y,Z) in [3]. n(X) :- a(X,Y), not b(X,Y) in [2]."
    wide = [0, 1, "x", '"x"', 1 << 62, -(1 << 63), (1 << 63) - 1, -(1 << 60), "<urn:a>", 7]
    points = [
        (
            t,
            {
                "a/2": [(wide[i % 10], wide[(i * t) % 10]) for i in range(t + 3)],
                "b/2": [(wide[(i + t) % 10], wide[i % 10]) for i in range(6)],
            },
        )
        for t in range(14)
    ]
    agree(rules, points, restart=9)


def test_always_ends_where_the_window_observes_another_point() -> None:
    """At 5 the window {1,5} observes a second point, without `a`: how often `a` held stays 1."""
    points = [(t, {"a/1": [(1,)]} if 3 <= t <= 5 else {"b/1": [(0,)]}) for t in range(9)]
    agree("m(X) :- a(X) always in {1,5}.", points)


def test_gaps_in_time() -> None:
    """Points that are passed over are empty, and count."""
    rules = "k(1). w(X) :- a(X) in [3]. n(N) :- k(1) count N in [4]. m(X) :- a(X) always in {1,5}. z :- not a(1) in {2,3}."
    agree(
        rules,
        [(t, {"a/1": [(1,), (t % 3,)]}) for t in (0, 1, 4, 5, 9, 10, 11, 100_000, 100_001)],
        restart=9,
    )


def test_calculation() -> None:
    numbers = np.array([7, -7, 7, -7, -(1 << 63), 0])
    assert calculate_columns("/", numbers, np.array([2, 2, -2, -2, 1, 5]))[0].tolist() == [
        3,
        -3,
        -3,
        3,
        -(1 << 63),
        0,
    ]
    assert calculate_columns("/", np.array([1, 1]), np.array([0, 1]))[1].tolist() == [False, True]  # type: ignore[union-attr]
    large = np.array([(1 << 63) - 1])
    for operator, left, right in (
        ("+", large, np.array([1])),
        ("-", -large, np.array([2])),
        ("*", large, np.array([2])),
        ("/", -large - 1, np.array([-1])),
    ):
        with pytest.raises(IntegerOverflow):
            calculate_columns(operator, left, right)


def test_constants_are_ordered_and_forgotten() -> None:
    dictionary = ConstantDictionary()
    values = [5, "b", '"a"', 1 << 62, "a", -(1 << 63), "<urn:a>", 0]
    codes = dictionary.encode_column(values)
    assert dictionary.decode_constants(codes) == values
    (ranks,) = dictionary.rank_constants(codes)
    assert [values[i] for i in np.argsort(ranks)] == sorted(values, key=constant_sort_key)
    dictionary.free_unused([codes[1:2]])
    assert (
        len(dictionary),
        dictionary.find_or_assign_code("b"),
        dictionary.find_or_assign_code("new") >= FIRST_CODE,
    ) == (
        1,
        codes[1],
        True,
    )


def test_relations_find_rows_whatever_their_keys() -> None:
    dice = np.random.default_rng(0)
    relation, known = Relation("p/3", 3), dict[tuple[int, ...], int]()
    for width in (5, 1 << 20, 1 << 60):
        for _ in range(30):
            rows = np.unique(dice.integers(-width, width, (100, 3)), axis=0)
            for row, number in zip(rows.tolist(), relation.add_rows(list(rows.T)).tolist()):
                assert known.setdefault(tuple(row), number) == number
    assert relation.size == len(known)
    columns = [np.array(column) for column in zip(*known)]
    assert relation.find_row_numbers(columns).tolist() == list(known.values())
    which, found = relation.find_matches((1,), [columns[1]], 1 << 40)
    assert set(zip(which.tolist(), found.tolist())) >= {
        (i, number) for i, number in enumerate(known.values())
    }


# --- faults and limits ----------------------------------------------------------------------------


def test_a_join_that_explodes_is_stopped() -> None:
    engine = Engine(
        Program.parse("p(X,Y,Z) :- a(X), a(Y), a(Z).").checked_program, {}, max_atoms=100_000
    )
    with pytest.raises(EvaluationError, match=r"program:1:1.*\n.*more than 100,?000"):
        engine.step(0, {"a/1": (np.arange(1000),)})


def test_overflow_names_the_rule() -> None:
    engine = Engine(Program.parse("q(1).\np(X*X) :- a(X).").checked_program, {})
    engine.step(0, {"a/1": [(3_000_000_000,)]})
    with pytest.raises(EvaluationError, match="program:2:1"):
        engine.step(1, {"a/1": [(4_000_000_000,)]})


@pytest.mark.parametrize(
    "text",
    [
        "p(X,Y) :- q(X), &after(X;Y+1), r(Y).",
        "p(X,Y) :- &after(X;Z+Y), q(X), r(Y), s(Z).",
        "p(X,Y) :- q(X), r(Y), &after(X;Y+1) , #count{Z : s(Z), Z < X} = Y.",
    ],
)
def test_a_function_waits_for_what_its_outputs_are_compared_with(text: str) -> None:
    points = [
        (0, {"q/1": [(1,), (5,)], "r/1": [(1,), (5,)], "s/1": [(1,), (4,)]}),
        (1, {"q/1": [(5,), (1,)], "r/1": [(5,), (0,)], "s/1": [(1,)]}),
    ]
    engine = agree(text, points, after=lambda number: number + 1)
    assert engine.point == 1


def test_functions_are_called_once_for_each_distinct_arguments() -> None:
    calls: list[int] = []
    functions = {"f": lambda x: (calls.append(x), x + 1)[1]}
    engine = Engine(
        Program.parse(
            "p(X,Z) :- a(X,Y), &f(Y;Z). q(Z) :- b(Y), &f(Y;Z).", functions
        ).checked_program,
        functions,
    )
    engine.step(0, {"a/2": [(1, 5), (2, 5), (3, 6)], "b/1": [(5,)]})
    assert sorted(calls) == [5, 6]


def test_what_is_no_state_is_refused() -> None:
    checked = Program.parse("p(X) :- a(X) in [2].").checked_program
    engine = Engine(checked, {})
    engine.step(0, {"a/1": [("x",)]})
    state = engine.state()
    for broken in (
        b"",
        b"{}",
        state[:-30],
        state[:100],
        Engine(Program.parse("r(X) :- other(X) in [2].").checked_program, {}).state()[:50],
    ):
        with pytest.raises(OperationalError, match="no state"):
            Engine(checked, {}).restore(broken)


def test_models_stay_as_they_were() -> None:
    """Rows are asked for after the engine went on, and forgot."""
    engine = Engine(Program.parse("p(X) :- a(X) in [1].").checked_program, {})
    models = [engine.step(t, {"a/1": [(f"c{t}_{i}",) for i in range(3000)]}) for t in range(8)]
    for t, found in enumerate(models):
        wanted = {f"c{u}_{i}" for u in (t - 1, t) if u >= 0 for i in range(3000)}
        assert {row[0] for row in found.rows("p/1", derived=True)} == wanted
        assert set(found.columns("p/1")[0]) == wanted
        assert len(found.texts("a/1")) == 3000


def test_constants_in_passing_are_forgotten() -> None:
    engine = Engine(Program.parse("p(X) :- a(X) in [5], not b(X).").checked_program, {})
    peaks = []
    tracemalloc.start()
    try:
        for t in range(60):
            engine.step(t, {"a/1": [(f"passing{t * 1000 + i}",) for i in range(1000)]})
            if t % 20 == 19:
                peaks.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert len(engine.dictionary) < 20_000
    assert peaks[2] < 2 * peaks[0] + 1_000_000


def test_an_aggregate_binds_both_of_its_guards() -> None:
    program = Program.parse(
        "p(N,M) :- N = #count{X : a(X)} = M. q(N,M) :- k(N), N = #count{X : a(X)} = M."
    )
    models = list(program.run([(0, ["a(1)", "k(1)", "k(2)"]), (1, ["a(1)", "a(2)", "k(1)"])]))
    assert [model.derived for model in models] == [["p(1,1)", "q(1,1)"], ["p(2,2)"]]


def test_a_checkpoint_of_shards_in_one_session_is_gone_on_with() -> None:
    """As versions wrote it whose shards were evaluators of one session."""
    program = Program.parse("c(X) :- b(X) at least 2 in [3]. k(1). d(X) :- c(X), k(_).")
    found: list[str] = []

    def stream(shards: int) -> RulesCollector:
        arrivals = RuleIntake(WatermarkTracker(1), RejectLog())
        operator = RulesOperator(program, EvaluationOptions(lateness=1), buckets=shards)
        return RulesCollector(operator, arrivals, found.extend)

    def take(runner: LocalRunner[Any], times: range) -> None:
        for t in times:
            runner.process(Record("s", t, f"{t} b({t % 5}); b({t % 2})".encode()))

    whole, apart = LocalRunner(stream(1)), LocalRunner(stream(3))
    take(whole, range(6))
    take(apart, range(6))
    for runner in (whole, apart):
        runner.flush()
    own, *buckets = whole.collector.state(), *(one.to_bytes() for one in apart.states)
    states = json.dumps([b64encode(one.partition(b"\n")[2]).decode() for one in buckets]).encode()
    session = whole.states[0].to_bytes().partition(b"\n")[0] + b"\n" + states
    head = json.dumps([len(own), len(session)]).encode()
    again = LocalRunner(stream(3))
    again.restore(b"".join([head, b"\n", own, session]))
    found.clear()
    take(whole, range(6, 12))
    whole.finish()
    wanted = list(found)
    found.clear()
    take(again, range(6, 12))
    again.finish()
    assert found == wanted and any("d(1)" in row for row in found)
    lost = LocalRunner(stream(2))
    with pytest.raises(OperationalError, match="saved with 3 shards, not 2"):
        lost.restore(b"".join([head, b"\n", own, session]))
