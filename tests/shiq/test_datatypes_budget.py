"""What patterns, lengths and bounds cost: each question ends within its steps, and says so where
these do not decide it.
"""

from __future__ import annotations

import math
import random

import pytest
from test_datatypes_properties import random_pattern

from shiq import model as owl
from shiq.answers.verdict import Verdict
from shiq.datatypes import DataTheory
from shiq.datatypes.automaton import Automaton, is_nonempty
from shiq.datatypes.patterns import read_pattern
from shiq.datatypes.regular_expressions import FUEL, intersect, negation, shared_fuel
from shiq.model.clause import ClausalTBox, DataAtLeast
from shiq.model.roles import RoleBox
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Module

STRING = owl.Datatype(owl.XSD + "string")
NOT = owl.DataComplementOf


def matching(pattern: str) -> owl.DatatypeRestriction:
    return owl.DatatypeRestriction(
        STRING, ((owl.XSD + "pattern", owl.Literal(pattern, STRING.iri)),)
    )


def need(*parts: owl.DataRange, n: int = 1) -> DataAtLeast:
    return DataAtLeast(n, "urn:p", owl.DataIntersectionOf(parts))


LAST_A, LAST_B = "(a|b)*a(a|b){25}", "(a|b)*b(a|b){25}"
#: Its automaton has 2^25 states, and nothing shorter than they shows that nothing is left.
HARD = (matching(LAST_A), NOT(matching(LAST_A + "c?")))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((matching(LAST_A), NOT(matching(LAST_B))), True),
        ((matching(LAST_A), matching(LAST_B)), False),
        ((NOT(matching(LAST_A)),), True),
        ((matching("(a?){25}a{25}"), NOT(matching("a{25,50}"))), False),
    ],
)
def test_patterns_with_exponential_automata_are_decided(
    parts: tuple[owl.DataRange, ...], expected: bool
) -> None:
    assert DataTheory().satisfiable([need(*parts)], [], []) is expected


@pytest.mark.parametrize(
    "parts",
    [
        HARD,
        tuple(matching(f".*[{letter}].*") for letter in "abcdefghijklmnop"),
        (
            *(NOT(matching(f".*[{letter}].*")) for letter in "abcdefghijklmnop"),
            matching("[a-q]{3}"),
        ),
        (
            *(matching(f"(a{{{prime}}})*") for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23)),
            matching("a+"),
        ),
        (matching("((a?){1000}b?){1000}"), NOT(matching("((a?){1000}b?){999}"))),
        (matching("a{999999999}"), NOT(matching("a{3}"))),
    ],
)
def test_a_question_ends_with_its_steps(parts: tuple[owl.DataRange, ...]) -> None:
    theory = DataTheory()
    with shared_fuel() as fuel:
        assert theory.satisfiable([need(*parts)], [], []) is not False
    assert fuel.steps_taken <= FUEL * 1.1
    assert theory.exhausted == {"urn:p"}


def test_a_spent_budget_is_not_remembered_of_the_questions_that_shared_it() -> None:
    theory, easy = DataTheory(), matching("[a-z]{3}")
    letters = [matching(f".*[{letter}].*") for letter in "abcdefghijklmnop"]
    assert theory.satisfiable([need(*letters, easy)], [], []) is None
    assert theory.satisfiable([need(easy, letters[0])], [], []) is True
    assert theory.size(easy) == 26**3


def test_what_was_given_up_costs_nothing_again() -> None:
    automaton = Automaton(intersect([read_pattern(LAST_A), negation(read_pattern(LAST_A + "c?"))]))
    used = []
    for _ in range(2):
        with shared_fuel() as fuel:
            assert automaton.count(1) is None
        used.append(fuel.steps_taken)
    assert used[0] > 1_000
    assert used[1] == 0


def test_branches_find_a_string_where_the_automaton_does() -> None:
    draw, seen = random.Random(5), set()
    for _ in range(400):
        first, second, third = (read_pattern(random_pattern(draw, 3)) for _ in "abc")
        automaton = Automaton(intersect([first, second, negation(third)]))
        exact = automaton._count_paths(math.inf) > 0
        assert is_nonempty(automaton, 0) is exact
        seen.add(exact)
    assert seen == {True, False}


def test_the_reason_says_what_takes_so_long_and_hard_questions_are_steps() -> None:
    atoms = tuple(
        DataAtLeast(1, f"urn:p{i}", owl.DataIntersectionOf((*HARD, NOT(matching("x" * i)))))
        for i in range(1, 30)
    )
    own = OwnReasoner(steps=10_000)
    tbox = ClausalTBox((), RoleBox(), atoms=atoms)
    alone, all_of_them = own.decide(
        tbox, [Module((1,), (0,)), Module(tuple(1 << i for i in range(29)), (0,) * 29)]
    )
    assert alone.verdict is all_of_them.verdict is Verdict.UNDETERMINED
    assert "comparing their patterns and lengths takes more than" in alone.reason
    assert "budget of" in all_of_them.reason


def test_bounds_of_thousands_of_digits_are_counted() -> None:
    theory, integer, decimal = DataTheory(), owl.XSD + "integer", owl.XSD + "decimal"
    low, high = owl.XSD + "minInclusive", owl.XSD + "maxInclusive"
    huge = "9" * 4_000
    between = owl.DatatypeRestriction(
        owl.Datatype(integer),
        ((low, owl.Literal("-" + huge, integer)), (high, owl.Literal(huge, integer))),
    )
    dense = owl.DatatypeRestriction(
        owl.Datatype(decimal),
        ((low, owl.Literal("0", decimal)), (high, owl.Literal(huge, decimal))),
    )
    assert theory.size(between) == 2 * int(huge) + 1
    assert theory.size(dense) == math.inf
    assert theory.satisfiable([need(between, dense, n=10**9)], [], []) is True
    assert theory.satisfiable([need(between, n=2 * int(huge) + 2)], [], []) is False
