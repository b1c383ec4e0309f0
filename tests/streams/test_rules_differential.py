"""Random stream rules in small number: what is evaluated one by one, restarted, by shards and by
clingo is the same.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from shiq.streams.rules import Program
from shiq.streams.rules import naive_evaluation as reference
from tests.tools.rules.random_programs import CONSTRUCTS, random_case
from tests.tools.rules_differential import bounded, clingo_answer, disagreement


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


@pytest.mark.parametrize(
    "seeds", [(*range(13), 88), pytest.param(range(13, 200), marks=pytest.mark.slow)]
)
def test_a_bound_on_what_a_point_derives_is_met_at_the_same_point_by_engine_and_reference(
    seeds: Sequence[int],
) -> None:
    ended = Counter[bool]()
    for seed in seeds:
        case = random_case(seed)
        for most in (1, 2, 3, 5):
            wanted = bounded(case, most, by_reference=True)
            assert bounded(case, most, by_reference=False) == wanted, f"seed {seed}, at most {most}"
            ended[wanted[1]] += 1
    assert min(ended.values()) > len(seeds) / 2


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
    right = reference._PointEvaluation.window_points

    def wrong(step: reference._PointEvaluation, literal: object) -> object:
        found = right(step, literal)  # type: ignore[arg-type]
        return found[:-1] if len(found) > 1 else found

    def planted(case: object) -> object:
        with monkeypatch.context() as patch:
            patch.setattr(reference._PointEvaluation, "window_points", wrong)
            return naive(case)  # type: ignore[operator]

    return planted


#: What published programs for sensors are made of: a count of none by a negated rule of the same
#: predicate, the hour of a point, chains of points by recursion through functions, and spells
#: that go on from the point before.
PUMPS = """
pump("north"). pump("south").
loud(70) :- @now.hour >= 7, @now.hour < 20.
loud(60) :- not loud(70).
noisy(P) :- noise(P,N), loud(L), &geq(N,L;).
times(P,N) :- noisy(P) count N in [5 min].
some(P) :- times(P,N), N > 0.
times(P,0) :- pump(P), not some(P).
flow(P,V,@now) :- rate(P,V).
seen(P,V,T) :- flow(P,V,T) in [3 min].
before(P,S,T) :- seen(P,_,S), seen(P,_,T), S < T.
next(P,S,T) :- before(P,S,T), not between(P,S,T).
between(P,S,T) :- before(P,S,U), before(P,U,T).
follows(P,T) :- next(P,_,T).
total(P,T,V) :- seen(P,V,T), not follows(P,T).
total(P,T,W) :- next(P,S,T), seen(P,V,T), total(P,S,U), &plus(U,V;W).
mean(P,W/C) :- total(P,T,W), not next(P,T,_), pump(P), #count{S : seen(P,_,S)} = C.
level(P,M/10) :- mean(P,M).
kept(P) :- level(P,_) in {1}.
spell(P,1,@now,L) :- level(P,L), not kept(P).
spell(P,N,@now,L) :- spell(P,M,_,L) in {1}, N = M+1, level(P,L).
spell(P,1,@now,L) :- level(P,L), level(P,K) in {1}, K != L.
rare(P) :- pump(P), noise(P,_) at most 1 in [4].
"""


@pytest.mark.skipif(not _clingo(), reason="clingo is not installed")
def test_a_program_for_sensors_is_what_clingo_says_at_each_point() -> None:
    draw, events = random.Random(4), list[tuple[int, list[str]]]()
    for t in range(6 * 60 + 48, 7 * 60 + 12):
        atoms = [
            f'{name}("{pump}",{draw.randrange(5, 90)})'
            for name, share in (("noise", 0.4), ("rate", 0.6))
            for pump in ("north", "south")
            if draw.random() < share
        ]
        events.append((t, atoms))
    functions = {"geq": lambda one, other: one >= other, "plus": lambda one, other: one + other}
    program = Program.parse(PUMPS, functions, unit="min")
    found = [(model.t, model.atoms, model.derived) for model in program.run(events)]
    options = {"timeline": "dense", "complete_windows": False}
    assert found == clingo_answer(program, events, options)
    derived = Counter(atom.partition("(")[0] for _, _, atoms in found for atom in atoms)
    assert min(derived[name] for name in ("times", "total", "spell", "rare", "between")) > 10
