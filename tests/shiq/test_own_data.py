"""The reasoner `own` where data decides: restrictions and values of a node, disjunctions over
them, merges, opaque datatypes.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shiq.model import (
    TOP_DATATYPE,
    XSD,
    DataComplementOf,
    DataRange,
    Datatype,
    DatatypeRestriction,
    Literal,
)
from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import Role, RoleBox
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Answer, Module

INT, STRING, OPAQUE = Datatype(XSD + "integer"), Datatype(XSD + "string"), Datatype("urn:t:opaque")
S, R = Role("S"), Role("R")


def number(n: int) -> Literal:
    return Literal(str(n), XSD + "integer")


def between(low: int, high: int) -> DatatypeRestriction:
    return DatatypeRestriction(
        INT, ((XSD + "minInclusive", number(low)), (XSD + "maxInclusive", number(high)))
    )


def some(data_range: DataRange, n: int = 1, p: str = "f") -> DataAtLeast:
    return DataAtLeast(n, p, data_range)


def at_most(n: int, data_range: DataRange = TOP_DATATYPE, p: str = "f") -> DataAtMost:
    return DataAtMost(n, p, data_range)


def every(data_range: DataRange, p: str = "f") -> DataAtMost:
    return DataAtMost(0, p, DataComplementOf(data_range))


def ask(
    clauses: Sequence[Clause],
    positive: Sequence[Sequence[Atom]],
    negative: Sequence[Sequence[Atom]] = (),
    edges: Sequence[tuple[int, Role, int]] = (),
    data: Sequence[tuple[int, str, Literal]] = (),
    negative_data: Sequence[tuple[int, str, Literal]] = (),
    roles: RoleBox | None = None,
    steps: int = 50_000,
) -> Answer:
    negative = negative or [[] for _ in positive]
    atoms: dict[Atom, None] = {}
    for clause in clauses:
        atoms.update(
            dict.fromkeys((*clause.body, *clause.head, *clause.branch_body, *clause.branch_head))
        )
    for node in (*positive, *negative):
        atoms.update(dict.fromkeys(node))
    ids = {a: i for i, a in enumerate(atoms)}
    tbox = ClausalTBox(tuple(clauses), roles or RoleBox(), atoms=tuple(atoms))
    masks = [
        tuple(sum(1 << ids[a] for a in node) for node in nodes) for nodes in (positive, negative)
    ]
    module = Module(masks[0], masks[1], tuple(edges), (), (), tuple(data), tuple(negative_data))
    return OwnReasoner(steps).decide(tbox, [module])[0]


def isa(name: str, *head: Atom) -> Clause:
    return Clause((name,), head)


FUNCTIONAL = Clause((), (at_most(1),))
MERGING = Clause((), (), S, (), (), 1)


def verdict(*args: object, **more: object) -> str:
    return ask(*args, **more).verdict.value  # type: ignore[arg-type]


def test_values_alone_are_consistent() -> None:
    assert verdict([], [[]], data=[(0, "f", number(1)), (0, "f", Literal("x"))]) == "consistent"


def test_two_values_of_a_functional_property() -> None:
    assert (
        verdict([FUNCTIONAL], [[]], data=[(0, "f", number(1)), (0, "f", number(2))])
        == "inconsistent"
    )
    assert (
        verdict(
            [FUNCTIONAL], [[]], data=[(0, "f", number(1)), (0, "f", Literal("01", XSD + "int"))]
        )
        == "consistent"
    )
    assert (
        verdict([FUNCTIONAL], [[], []], data=[(0, "f", number(1)), (1, "f", number(2))])
        == "consistent"
    )


def test_functional_above_another_property() -> None:
    roles = RoleBox(data_inclusions=frozenset({("g", "f"), ("h", "f")}))
    values = [(0, "g", number(1)), (0, "h", number(2))]
    assert verdict([FUNCTIONAL], [[]], data=values, roles=roles) == "inconsistent"
    assert verdict([FUNCTIONAL], [[]], data=values) == "consistent"


def test_a_value_out_of_range() -> None:
    clauses = [isa("C", every(INT))]
    assert verdict(clauses, [["C"]], data=[(0, "f", Literal("x"))]) == "inconsistent"
    assert verdict(clauses, [["C"]], data=[(0, "f", number(3))]) == "consistent"


def test_a_need_below_a_range() -> None:
    """C ⊑ ∃g.string, g ⊑ f, f functional with an integer range: C is unsatisfiable, at a
    successor too.
    """
    clauses = [FUNCTIONAL, Clause((), (every(INT),)), isa("C", some(STRING, p="g"))]
    roles = RoleBox(data_inclusions=frozenset({("g", "f")}))
    assert verdict(clauses, [["C"]], roles=roles) == "inconsistent"
    assert verdict(clauses, [[AtLeast(1, R, "C")]], roles=roles) == "inconsistent"
    assert verdict(clauses, [[AtLeast(1, R, "D")]], roles=roles) == "consistent"


def test_sizes_count() -> None:
    clauses = [
        isa("C", some(between(1, 3), 3)),
        isa("D", some(between(1, 3), 4)),
        isa("E", at_most(0, between(2, 2))),
    ]
    assert verdict(clauses, [["C"]]) == "consistent"
    assert verdict(clauses, [["D"]]) == "inconsistent"
    assert verdict(clauses, [["C", "E"]]) == "inconsistent"


def test_a_merge_brings_values_together() -> None:
    values = [(1, "f", number(1)), (2, "f", number(2))]
    edges = [(0, S, 1), (0, S, 2)]
    assert verdict([MERGING, FUNCTIONAL], [[], [], []], edges=edges, data=values) == "inconsistent"
    assert verdict([FUNCTIONAL], [[], [], []], edges=edges, data=values) == "consistent"


def test_a_merge_brings_restrictions_and_values_together() -> None:
    edges = [(0, S, 1), (0, S, 2)]
    clauses = [MERGING, isa("C", every(INT))]
    assert (
        verdict(clauses, [[], ["C"], []], edges=edges, data=[(2, "f", Literal("x"))])
        == "inconsistent"
    )
    assert (
        verdict(clauses, [[], [], ["C"]], edges=edges, data=[(1, "f", Literal("x"))])
        == "inconsistent"
    )
    assert (
        verdict(
            clauses, [[AtLeast(1, S, "C")], []], edges=[(0, S, 1)], data=[(1, "f", Literal("x"))]
        )
        == "inconsistent"
    )


def test_a_merge_brings_a_value_to_its_negation() -> None:
    edges = [(0, S, 1), (0, S, 2)]
    given = {"edges": edges, "data": [(1, "f", number(1))], "negative_data": [(2, "f", number(1))]}
    assert verdict([MERGING], [[], [], []], **given) == "inconsistent"
    assert verdict([], [[], [], []], **given) == "consistent"


def test_negated_values_see_what_is_below() -> None:
    roles = RoleBox(data_inclusions=frozenset({("g", "f")}))
    assert (
        verdict(
            [], [[]], data=[(0, "g", number(1))], negative_data=[(0, "f", number(1))], roles=roles
        )
        == "inconsistent"
    )
    assert (
        verdict(
            [], [[]], data=[(0, "f", number(1))], negative_data=[(0, "g", number(1))], roles=roles
        )
        == "consistent"
    )


def test_disjoint_data_properties() -> None:
    roles = RoleBox(disjoint_data=frozenset({("f", "g")}))
    assert (
        verdict([], [[]], data=[(0, "f", number(1)), (0, "g", number(1))], roles=roles)
        == "inconsistent"
    )
    assert (
        verdict([], [[]], data=[(0, "f", number(1)), (0, "g", number(2))], roles=roles)
        == "consistent"
    )


def test_negated_restrictions() -> None:
    two = some(INT, 2)
    values = [(0, "f", number(1)), (0, "f", number(2))]
    assert verdict([], [[]], [[two]], data=values) == "inconsistent"
    assert verdict([], [[]], [[two]], data=values[:1]) == "consistent"
    assert (
        verdict([], [[at_most(1)]], [[at_most(0, INT)]], data=[(0, "f", Literal("x"))])
        == "inconsistent"
    )
    assert verdict([], [[at_most(1)]], [[at_most(0, INT)]]) == "consistent"
    assert verdict([isa("C", at_most(2), "D")], [["C"]], [[at_most(2), "D"]]) == "inconsistent"


def test_a_disjunction_over_data_is_searched() -> None:
    clauses = [
        isa("C", some(STRING), "D"),
        FUNCTIONAL,
        isa("D", some(between(5, 9)), "E"),
        Clause(("E",)),
    ]
    assert verdict(clauses, [["C"]], data=[(0, "f", number(7))]) == "consistent"
    assert verdict(clauses, [["C"]], data=[(0, "f", number(4))]) == "inconsistent"


def test_a_data_conflict_rests_on_the_choices_that_made_it() -> None:
    clauses = [
        isa("A", "B", "C"),
        isa("X", "Y", "Z"),
        isa("B", some(STRING)),
        FUNCTIONAL,
        isa("C", "D"),
        Clause(("D", "Y")),
        Clause(("D", "Z")),
    ]
    assert verdict(clauses, [["A", "X"]], data=[(0, "f", number(1))]) == "inconsistent"
    assert verdict(clauses[:-1], [["A", "X"]], data=[(0, "f", number(1))]) == "consistent"


def test_an_ill_typed_value_is_a_contradiction() -> None:
    assert verdict([], [[]], data=[(0, "f", Literal("x", XSD + "integer"))]) == "inconsistent"


# --- opaque datatypes -----------------------------------------------------------------------------


def test_what_rests_on_an_opaque_datatype_is_undetermined_and_says_so() -> None:
    answer = ask([isa("C", every(OPAQUE))], [["C"]], data=[(0, "f", number(1))])
    assert answer.verdict.value == "undetermined"
    assert "<urn:t:opaque>" in answer.reason
    assert "<f>" in answer.reason


def test_another_disjunct_saves_an_opaque_one() -> None:
    clauses = [isa("C", every(OPAQUE), some(INT, p="g"))]
    assert verdict(clauses, [["C"]], data=[(0, "f", number(1))]) == "consistent"


def test_no_other_disjunct_left_is_undetermined_not_inconsistent() -> None:
    clauses = [isa("C", every(OPAQUE), "D"), Clause(("D",))]
    assert verdict(clauses, [["C"]], data=[(0, "f", number(1))]) == "undetermined"
    assert (
        verdict([*clauses, isa("C", "E", "D"), Clause(("E",))], [["C"]], data=[(0, "f", number(1))])
        == "inconsistent"
    )


def test_an_opaque_datatype_that_decides_nothing_is_no_obstacle() -> None:
    assert verdict([isa("C", every(OPAQUE))], [["C"]]) == "consistent"
    assert verdict([isa("C", every(OPAQUE))], [[]], data=[(0, "f", number(1))]) == "consistent"
    assert (
        verdict(
            [],
            [[]],
            data=[(0, "f", Literal("x", "urn:t:opaque")), (0, "f", Literal("y", "urn:t:opaque"))],
        )
        == "consistent"
    )


def test_opaque_data_below_a_blocked_node_is_that_of_its_blocker() -> None:
    clauses = [isa("C", AtLeast(1, R, "C")), isa("C", every(OPAQUE), "D"), isa("D", some(INT))]
    assert verdict(clauses, [["C"]]) == "consistent"


@pytest.mark.parametrize("values", [0, 1, 5, 20])
def test_many_values_at_many_nodes(values: int) -> None:
    n = 50
    data = [(i, "f", number(j)) for i in range(n) for j in range(values)]
    expected = "inconsistent" if values > 5 else "consistent"
    assert verdict([isa("C", at_most(5))], [["C"]] * n, data=data) == expected


def test_domains_of_data_properties_are_no_choices() -> None:
    """200 properties with a domain, 100 of them in use, and a clash that only one of them takes
    part in: no choice is made.
    """
    domains = [Clause((), (at_most(0, p=f"f{i}"), f"C{i}")) for i in range(200)]
    needs = [isa("C", some(INT, p=f"f{i}")) for i in range(50)]
    values = [(0, f"f{i}", number(i)) for i in range(50, 100)]
    clauses = [*domains, *needs, *(Clause((f"C{i}", f"C{i + 1}")) for i in range(100, 199))]
    assert verdict(clauses, [["C"]], data=values, steps=1_000) == "consistent"
    assert verdict([*clauses, Clause(("C7", "C99"))], [["C"]], data=values) == "inconsistent"
    assert verdict([*clauses, Clause(("C7", "C100"))], [["C"]], data=values) == "consistent"


def test_a_clash_over_data_goes_back_to_the_choice_that_it_rests_on() -> None:
    """A choice that the data refutes, with 60 after it that have no part in it: not 2^60 ways,
    but one way back.
    """
    late = [isa("C", f"A{i}", f"B{i}") for i in range(60)]
    refuted = [isa("C", every(STRING), "D"), Clause(("D",), (at_most(0, p="g"),))]
    below = [isa(f"A{i}", some(INT, p=f"h{i}")) for i in range(60)]
    assert (
        verdict([*late, *refuted, *below], [["C"]], data=[(0, "f", number(1))], steps=5_000)
        == "consistent"
    )
    values = [(0, "f", number(1)), (0, "g", number(1))]
    assert verdict([*late, *refuted, *below], [["C"]], data=values) == "inconsistent"


def test_what_leads_to_a_limited_property_comes_from_anywhere() -> None:
    """By a property below it, a negated limit, a merge, or an inference: the limit counts."""
    limit = [Clause((), (at_most(0, STRING, "g"), "D")), Clause(("D",))]
    below = RoleBox(data_inclusions=frozenset({("f", "g")}))
    text = Literal("x", XSD + "string")
    assert verdict(limit, [[]], data=[(0, "f", text)], roles=below) == "inconsistent"
    assert verdict(limit, [[]], data=[(0, "f", text)]) == "consistent"
    assert verdict([*limit, isa("C", some(STRING))], [["C"]], roles=below) == "inconsistent"
    assert verdict(limit, [[]], negative=[[at_most(0, STRING)]], roles=below) == "inconsistent"
    merged = [
        *limit,
        Clause((), (), R, at_most=1),
        isa("C", AtLeast(1, R, "E")),
        isa("E", some(STRING, p="g")),
    ]
    assert verdict(merged, [["C"], []], edges=[(0, R, 1)]) == "inconsistent"
    assert (
        verdict([*limit, isa("C", AtLeast(1, R, "E")), isa("E", some(INT, p="g"))], [["C"]])
        == "consistent"
    )
