"""Laws of the datatype layer on random small inputs, each against plain enumeration."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Iterable
from fractions import Fraction

import pytest

from shiq.datatypes import DataTheory
from shiq.datatypes.automaton import Automaton
from shiq.datatypes.datatype_map import BY_FORM
from shiq.datatypes.integer_program import is_feasible
from shiq.datatypes.intervals import Intervals
from shiq.datatypes.patterns import read_pattern
from shiq.datatypes.ranges import And, Formula, Not, Or
from shiq.datatypes.reals import BINARY64, SINGLE, float_rank
from shiq.datatypes.regular_expressions import alternation, intersect, negation
from shiq.model import (
    TOP_DATATYPE,
    XSD,
    DataComplementOf,
    DataIntersectionOf,
    DataOneOf,
    DataRange,
    Datatype,
    DatatypeRestriction,
    DataUnionOf,
    Literal,
)
from shiq.model.clause import DataAtLeast, DataAtMost
from shiq.model.roles import RoleBox

INTEGER = Datatype(XSD + "integer")


def number(n: int) -> Literal:
    return Literal(str(n), XSD + "integer")


def between(low: int, high: int) -> DatatypeRestriction:
    return DatatypeRestriction(
        INTEGER, ((XSD + "minInclusive", number(low)), (XSD + "maxInclusive", number(high)))
    )


def test_intervals_agree_with_points() -> None:
    draw = random.Random(1)
    points = [Fraction(n, 2) for n in range(-1, 12)]
    for _ in range(400):
        a, b = (
            Intervals(
                draw.random() < 0.5,
                tuple(sorted(draw.sample([(n, s) for n in range(6) for s in (0, 1)], 3))),
            )
            for _ in "ab"
        )
        both_in = a.meet(b)
        assert all(both_in.has(p) == (a.has(p) and b.has(p)) for p in points)
        assert all(a.complement().has(p) != a.has(p) for p in points)
        assert both_in.complement().complement() == both_in


@pytest.mark.parametrize(("form", "convert"), [(BINARY64, float), (SINGLE, None)])
def test_ranks_follow_the_order_and_round_to_the_nearest(
    form: object, convert: Callable[[str], float] | None
) -> None:
    assert form in (BINARY64, SINGLE)
    kind = BINARY64 if form is BINARY64 else SINGLE
    draw = random.Random(2)
    numbers = sorted(
        Fraction(draw.getrandbits(70), draw.getrandbits(40) + 1)
        * Fraction(2) ** draw.randint(-200, 140)
        for _ in range(300)
    )
    ranks = [float_rank(False, x, kind) for x in numbers]
    assert ranks == sorted(ranks)
    for x in numbers:
        assert float_rank(True, x, kind) == -float_rank(False, x, kind) - 1
        if convert:
            value = x.numerator / x.denominator
            assert float_rank(False, x, kind) == float_rank(False, Fraction(value), kind)


def random_pattern(draw: random.Random, depth: int) -> str:
    if depth == 0:
        return draw.choice(["a", "b", "[ab]", "[^a]", "."])
    left, right = (random_pattern(draw, depth - 1) for _ in "lr")
    return draw.choice(
        [
            left + right,
            f"({left}|{right})",
            f"({left})*",
            f"({left})?",
            f"({left}){{1,2}}",
            f"({left})+",
        ]
    )


def test_patterns_agree_with_python_where_they_mean_the_same() -> None:
    draw = random.Random(3)
    words = ["".join(w) for n in range(5) for w in itertools.product("abc", repeat=n)]
    for _ in range(150):
        first, second = (random_pattern(draw, 3) for _ in "ab")
        a, b = read_pattern(first), read_pattern(second)
        plain_a, plain_b = re.compile(first), re.compile(second)
        combined = Automaton(intersect([a, negation(b)]))
        either = Automaton(alternation([a, b]))
        for word in words:
            in_a, in_b = bool(plain_a.fullmatch(word)), bool(plain_b.fullmatch(word))
            assert combined.accepts(word) == (in_a and not in_b), (first, second, word)
            assert either.accepts(word) == (in_a or in_b)


def test_counts_of_regular_sets_agree_with_enumeration() -> None:
    draw = random.Random(4)
    short = read_pattern("[abc]{0,4}")
    words = ["".join(w) for n in range(5) for w in itertools.product("abc", repeat=n)]
    for _ in range(150):
        first, second = (random_pattern(draw, 3) for _ in "ab")
        node = intersect([short, read_pattern(first), negation(read_pattern(second))])
        expected = sum(bool(re.fullmatch(first, w)) and not re.fullmatch(second, w) for w in words)
        assert Automaton(node).count(math.inf) == expected
        assert Automaton(node).count(5) == min(5, expected)


def _random_range(draw: random.Random, depth: int) -> DataRange:
    if depth == 0:
        low = draw.randint(-1, 4)
        return draw.choice(
            [
                between(low, low + draw.randint(0, 3)),
                DataOneOf(tuple(number(draw.randint(-1, 4)) for _ in range(draw.randint(1, 3)))),
                Datatype(
                    XSD + draw.choice(["byte", "nonNegativeInteger", "decimal", "negativeInteger"])
                ),
            ]
        )
    parts = tuple(_random_range(draw, depth - 1) for _ in range(2))
    return draw.choice([DataUnionOf(parts), DataIntersectionOf(parts), DataComplementOf(parts[0])])


def test_sizes_agree_with_enumeration() -> None:
    draw = random.Random(5)
    theory = DataTheory()
    window = between(-3, 8)
    for _ in range(300):
        data_range = DataIntersectionOf((window, _random_range(draw, 3)))
        expected = sum(theory.contains(data_range, number(n)) is True for n in range(-3, 9))
        assert theory.size(data_range) == expected
        assert theory.size_up_to(data_range, 2) == min(2, expected)


def test_integer_programs_agree_with_enumeration() -> None:
    draw = random.Random(6)
    seen = set()
    for _ in range(300):

        def rows(count: int, bound: int) -> list[tuple[dict[int, int], int]]:
            return [
                (
                    dict.fromkeys(draw.sample(range(3), draw.randint(1, 3)), 1),
                    draw.randint(0, bound),
                )
                for _ in range(count)
            ]

        uppers, lowers = (
            [*rows(draw.randint(1, 3), 3), ({0: 1, 1: 1, 2: 1}, 6)],
            rows(draw.randint(1, 3), 4),
        )
        expected = any(
            all(sum(c * x[v] for v, c in row.items()) <= b for row, b in uppers)
            and all(sum(c * x[v] for v, c in row.items()) >= b for row, b in lowers)
            for x in itertools.product(range(7), repeat=3)
        )
        assert is_feasible(uppers, lowers) == expected
        seen.add(expected)
    assert seen == {True, False}


PROPERTIES = ("p", "q", "r")
UNIVERSE = range(3)


def _random_question(
    draw: random.Random,
) -> tuple[
    RoleBox,
    list[DataAtLeast],
    list[DataAtMost],
    list[tuple[str, Literal]],
    list[tuple[str, Literal]],
]:
    inclusions = draw.choice([[], [("p", "q")], [("p", "q"), ("q", "r")], [("p", "r"), ("q", "r")]])
    disjoint = draw.choice([[], [], [("p", "q")], [("q", "r")]])
    roles = RoleBox(data_inclusions=frozenset(inclusions), disjoint_data=frozenset(disjoint))

    def pick() -> DataRange:
        low = draw.randint(0, 2)
        part: DataRange = draw.choice(
            [between(low, low + draw.randint(0, 2)), DataOneOf((number(low),)), TOP_DATATYPE]
        )
        return DataComplementOf(part) if draw.random() < 0.3 else part

    needs = [
        DataAtLeast(draw.randint(1, 2), draw.choice(PROPERTIES), pick())
        for _ in range(draw.randint(0, 3))
    ]
    limits = [
        DataAtMost(draw.randint(0, 2), draw.choice(PROPERTIES), pick())
        for _ in range(draw.randint(0, 2))
    ]
    limits += [DataAtMost(0, p, DataComplementOf(between(0, 2))) for p in PROPERTIES]
    values = [
        (draw.choice(PROPERTIES), number(draw.choice(UNIVERSE))) for _ in range(draw.randint(0, 2))
    ]
    negative = [
        (draw.choice(PROPERTIES), number(draw.choice(UNIVERSE)))
        for _ in range(draw.choice([0, 0, 1]))
    ]
    return roles, needs, limits, values, negative


def _brute_force(
    members: Callable[[DataRange], set[object]],
    domain: Iterable[object],
    roles: RoleBox,
    needs: list[DataAtLeast],
    limits: list[DataAtMost],
    values: list[tuple[str, object]],
    negative: list[tuple[str, object]],
) -> bool:
    """Tries every choice of successors in ``domain``."""
    used = sorted(
        {a.property for a in (*needs, *limits)}
        | {p for p, _ in (*values, *negative)}
        | {p for pair in roles.data_inclusions for p in pair}
    )
    labels = [set(s) for k in range(len(used) + 1) for s in itertools.combinations(used, k)]
    closed = [s for s in labels if all(q in s for p, q in roles.data_inclusions if p in s)]
    allowed = [s for s in closed if not any(p in s and q in s for p, q in roles.disjoint_data)]
    things = list(domain)
    at_least = [(a.n, a.property, members(a.range)) for a in needs]
    at_most = [(a.n, a.property, members(a.range)) for a in limits]
    options = [
        [
            s
            for s in allowed
            if all(p in s for p, v in values if v == thing)
            and not any(p in s for p, v in negative if v == thing)
        ]
        for thing in things
    ]
    return any(
        all(
            sum(p in s and thing in extent for s, thing in zip(choice, things)) >= n
            for n, p, extent in at_least
        )
        and all(
            sum(p in s and thing in extent for s, thing in zip(choice, things)) <= n
            for n, p, extent in at_most
        )
        for choice in itertools.product(*options)
    )


def _members_in_universe(theory: DataTheory) -> Callable[[DataRange], set[object]]:
    known: dict[DataRange, set[object]] = {}

    def members(data_range: DataRange) -> set[object]:
        if data_range not in known:
            known[data_range] = {n for n in UNIVERSE if theory.contains(data_range, number(n))}
        return known[data_range]

    return members


def test_satisfiable_agrees_with_brute_force() -> None:
    draw = random.Random(7)
    verdicts = {True: 0, False: 0}
    for _ in range(1500):
        roles, needs, limits, values, negative = _random_question(draw)
        theory = DataTheory({}, roles)
        members = _members_in_universe(theory)
        expected = _brute_force(
            members,
            UNIVERSE,
            roles,
            needs,
            limits,
            [(p, int(v.lexical)) for p, v in values],
            [(p, int(v.lexical)) for p, v in negative],
        )
        assert theory.satisfiable(needs, limits, values, negative) == expected, (
            roles,
            needs,
            limits,
            values,
            negative,
        )
        if not expected:
            part = theory.culprits(needs, limits, values, negative)
            assert theory.satisfiable(*part) is False
            assert all(
                set(p) <= set(whole) for p, whole in zip(part, (needs, limits, values, negative))
            )
        verdicts[expected] += 1
    assert min(verdicts.values()) > 200


def test_proxies_keep_satisfiability() -> None:
    draw = random.Random(8)
    verdicts = {True: 0, False: 0}
    for _ in range(600):
        roles, needs, limits, values, negative = _random_question(draw)
        theory = DataTheory({}, roles)
        largest = max(1, sum(n.n for n in needs) + len(values))
        proxies = theory.encode_as_integers(
            [a.range for a in (*needs, *limits)], [v for _, v in (*values, *negative)], largest
        )
        assert proxies is not None
        for data_range, proxy in proxies.range.items():
            assert all(
                theory.contains(proxy, p) == theory.contains(data_range, v)
                for v, p in proxies.literal.items()
            )
        answer = theory.satisfiable(needs, limits, values, negative)
        again = theory.satisfiable(
            [DataAtLeast(a.n, a.property, proxies.range[a.range]) for a in needs],
            [DataAtMost(a.n, a.property, proxies.range[a.range]) for a in limits],
            [(p, proxies.literal[v]) for p, v in values],
            [(p, proxies.literal[v]) for p, v in negative],
        )
        assert answer is not None and again == answer
        verdicts[answer] += 1
    assert min(verdicts.values()) > 60


OPAQUE = Datatype("urn:opaque")


def _opaque_question(
    draw: random.Random,
) -> tuple[RoleBox, list[DataAtLeast], list[DataAtMost], list[tuple[str, Literal]]]:
    roles = RoleBox(
        data_inclusions=frozenset(draw.choice([[], [("p", "q")]])),
        disjoint_data=frozenset(draw.choice([[], [], [("p", "q")]])),
    )

    def pick() -> DataRange:
        part: DataRange = draw.choice(
            [between(0, draw.randint(0, 1)), TOP_DATATYPE, OPAQUE, OPAQUE]
        )
        return DataComplementOf(part) if draw.random() < 0.4 else part

    needs = [
        DataAtLeast(draw.choice((1, 1, 2)), draw.choice("pq"), pick())
        for _ in range(draw.randint(0, 2))
    ]
    limits = [
        DataAtMost(draw.randint(0, 2), draw.choice("pq"), pick()) for _ in range(draw.randint(0, 3))
    ]
    tokens = [Literal("a", OPAQUE.iri), Literal("b", OPAQUE.iri), number(0)]
    values = [(draw.choice("pq"), draw.choice(tokens)) for _ in range(draw.randint(1, 2))]
    return roles, needs, limits, values


def test_opaque_answers_hold_in_every_interpretation() -> None:
    """With an unknown datatype and its literals: True and False are right whatever these denote."""
    draw = random.Random(9)
    answers: dict[bool | None, int] = {True: 0, False: 0, None: 0}
    missed = 0
    domain: list[object] = [0, 1, "x", "y"]
    for _ in range(250):
        roles, needs, limits, values = _opaque_question(draw)
        theory = DataTheory({}, roles)
        answer = theory.satisfiable(needs, limits, values)
        answers[answer] += 1
        verdicts: set[bool] = set()
        for place, extent in _interpretations(domain):

            def members(
                data_range: DataRange, extent: set[object] = extent, theory: DataTheory = theory
            ) -> set[object]:
                if data_range == OPAQUE:
                    return extent
                if isinstance(data_range, DataComplementOf):
                    return set(domain) - members(data_range.operand)
                return (
                    set(domain)
                    if data_range == TOP_DATATYPE
                    else {n for n in UNIVERSE if theory.contains(data_range, number(n))}
                )

            asserted = [(p, place.get(v.lexical, 0)) for p, v in values]
            verdicts.add(_brute_force(members, domain, roles, needs, limits, asserted, []))
            if len(verdicts) == 2:
                break
        if answer is None:
            missed += len(verdicts) == 1
        else:
            assert verdicts == {answer}, (roles, needs, limits, values)
    assert all(count > 20 for count in answers.values()), answers
    assert missed < 40, missed


def test_a_datatype_that_is_read_by_form_is_like_any_other_space_of_its_own() -> None:
    """The same questions about xsd:hexBinary, which shares no value with numbers and strings
    either.
    """
    draw = random.Random(11)
    hexadecimal, known = Datatype(XSD + "hexBinary"), {"a": "0A", "b": "0B"}

    def renamed(part: DataRange) -> DataRange:
        if isinstance(part, DataComplementOf):
            return DataComplementOf(renamed(part.operand))
        return hexadecimal if part == OPAQUE else part

    answers: dict[bool | None, int] = {True: 0, False: 0, None: 0}
    for _ in range(600):
        roles, needs, limits, values = _opaque_question(draw)
        answer = DataTheory({BY_FORM: TOP_DATATYPE}, roles).satisfiable(needs, limits, values)
        twin = DataTheory({}, roles).satisfiable(
            [DataAtLeast(x.n, x.property, renamed(x.range)) for x in needs],
            [DataAtMost(x.n, x.property, renamed(x.range)) for x in limits],
            [
                (p, Literal(known[v.lexical], hexadecimal.iri) if v.datatype == OPAQUE.iri else v)
                for p, v in values
            ],
        )
        assert answer is twin, (roles, needs, limits, values)
        open_ = DataTheory({}, roles).satisfiable(needs, limits, values)
        assert open_ in (None, answer), "what holds however it is meant holds so"
        answers[answer] += 1
    assert answers[None] == 0
    assert min(answers[True], answers[False]) > 100


def test_taking_a_question_apart_changes_no_answer() -> None:
    """Several questions over properties of their own, as one: the conjunction, and never less
    than the whole gives.
    """
    draw = random.Random(10)
    answers: dict[bool | None, int] = {True: 0, False: 0, None: 0}
    for _ in range(300):
        asked: list[tuple[list[DataAtLeast], list[DataAtMost], list[tuple[str, Literal]]]] = []
        inclusions: set[tuple[str, str]] = set()
        disjoint: set[tuple[str, str]] = set()
        for i in range(draw.randint(2, 3)):
            roles, needs, limits, values = _opaque_question(draw)
            inclusions |= {(f"{p}{i}", f"{q}{i}") for p, q in roles.data_inclusions}
            disjoint |= {
                (f"{p}{i}", f"{q}{i}") for p, q in roles.disjoint_data - roles.data_inclusions
            }
            asked.append(
                (
                    [DataAtLeast(a.n, f"{a.property}{i}", a.range) for a in needs],
                    [DataAtMost(a.n, f"{a.property}{i}", a.range) for a in limits],
                    [(f"{p}{i}", v) for p, v in values],
                )
            )
        theory = DataTheory(
            {}, RoleBox(data_inclusions=frozenset(inclusions), disjoint_data=frozenset(disjoint))
        )
        needs, limits, values = ([x for question in asked for x in question[j]] for j in range(3))  # type: ignore[assignment]
        answer = theory.satisfiable(needs, limits, values)
        whole = theory.decide_part((needs, limits, values, []))
        assert answer == whole or whole is None, (inclusions, disjoint, needs, limits, values)
        parts = [theory.satisfiable(*question) for question in asked]  # type: ignore[misc]
        assert None in parts or answer is (False not in parts)
        assert answer is False or False not in parts
        answers[answer] += 1
    assert all(count > 20 for count in answers.values()), answers


def _interpretations(domain: list[object]) -> Iterable[tuple[dict[str, object], set[object]]]:
    """What the two opaque literals denote, and what their datatype holds: these two and perhaps
    others.
    """
    for a, b in itertools.product(domain, repeat=2):
        others = [d for d in domain if d not in (a, b)]
        for size in range(len(others) + 1):
            for extra in itertools.combinations(others, size):
                yield {"a": a, "b": b}, {a, b, *extra}


def test_formulas_are_values() -> None:
    theory = DataTheory()
    formula: Formula = theory.range_formula(
        DataUnionOf((INTEGER, DataComplementOf(DataIntersectionOf((INTEGER, TOP_DATATYPE)))))
    )
    assert formula == Or(
        (theory.range_formula(INTEGER), Not(And((theory.range_formula(INTEGER), And(())))))
    )
