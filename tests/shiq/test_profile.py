"""What is inside SHIQ(D), what is not, and that what is brought inside keeps its meaning."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from direct_semantics import BOTTOM as BOTTOM_IRI
from direct_semantics import TOP as TOP_IRI
from direct_semantics import Random

from shiq import model as m
from shiq.answers.verdict import KINDS
from shiq.functional import parse_functional
from shiq.model.built_in import remove_built_in, remove_built_in_from_assertion, uses_built_in
from shiq.model.profile import rewrite_nominals, split_assertions, split_axioms
from shiq.model.walk import parts

ROOT = Path(__file__).resolve().parents[2]
CASES = sorted((ROOT / os.environ.get("SHIQ_PEERS", "../shared/peers") / "cases").rglob("*.ofn"))

A, B = m.Class("urn:A"), m.Class("urn:B")
R, S, T = (m.ObjectProperty(f"urn:{x}") for x in "rst")
D, E = m.DataProperty("urn:d"), m.DataProperty("urn:e")
TOP, BOTTOM = m.ObjectProperty(TOP_IRI), m.ObjectProperty(BOTTOM_IRI)
TOP_DATA, BOTTOM_DATA = (
    m.DataProperty(m.OWL + "topDataProperty"),
    m.DataProperty(m.OWL + "bottomDataProperty"),
)
INTEGER = m.Datatype(m.XSD + "integer")
MINE = m.Datatype("urn:mine")


def inverse(role: m.ObjectProperty) -> m.ObjectInverseOf:
    return m.ObjectInverseOf(role)


def kinds(axioms: list[m.Axiom]) -> list[str]:
    return [kind for _, kind, _ in split_axioms(axioms)[1]]


# --- constructs outside ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axiom", "named"),
    [
        (m.SubClassOf(A, m.ObjectOneOf(("urn:a",))), "ObjectOneOf"),
        (
            m.SubClassOf(m.ObjectSomeValuesFrom(R, m.ObjectHasValue(S, "urn:a")), B),
            "ObjectHasValue",
        ),
        (m.SubObjectPropertyChain((R, inverse(R)), R), "ObjectPropertyChain"),
        (m.SubObjectPropertyChain((R, R, R), R), "ObjectPropertyChain"),
        (m.HasKey(A, (R,), (D,)), "HasKey"),
        (m.SubObjectPropertyOf(TOP, R), "topObjectProperty"),
        (m.SubClassOf(A, m.ObjectSomeValuesFrom(TOP, B)), "topObjectProperty"),
        (m.FunctionalObjectProperty(TOP), "topObjectProperty"),
        (m.SubDataPropertyOf(TOP_DATA, D), "topDataProperty"),
        (m.DataPropertyRange(TOP_DATA, INTEGER), "topDataProperty"),
        (m.SubClassOf(A, m.DataSomeValuesFrom(TOP_DATA, INTEGER)), "topDataProperty"),
    ],
)
def test_outside(axiom: m.Axiom, named: str) -> None:
    inside, reported = split_axioms([axiom, m.SubClassOf(A, B)])
    assert inside == [m.SubClassOf(A, B)]
    ((refused, kind, message),) = reported
    assert (refused, kind) == (axiom, "outside-shiq")
    assert named in message


def test_inside_is_untouched() -> None:
    axioms: list[m.Axiom] = [
        m.SubClassOf(A, m.ObjectMinCardinality(0, R)),
        m.SubClassOf(A, m.ObjectMinCardinality(1, R, B)),
        m.SubClassOf(A, m.DataHasValue(D, m.Literal("1", m.XSD + "integer"))),
        m.FunctionalObjectProperty(R),
        m.TransitiveObjectProperty(T),
        m.DisjointObjectProperties((R, S)),
        m.SubObjectPropertyOf(R, T),
    ]
    assert split_axioms(axioms) == (axioms, [])


def test_transitivity_as_a_chain() -> None:
    assert split_axioms([m.SubObjectPropertyChain((R, R), R)]) == (
        [m.TransitiveObjectProperty(R)],
        [],
    )
    both = (inverse(R), inverse(R))
    assert split_axioms([m.SubObjectPropertyChain(both, inverse(R))]) == (
        [m.TransitiveObjectProperty(inverse(R))],
        [],
    )
    assert kinds([m.SubObjectPropertyChain((R, R), R), m.FunctionalObjectProperty(R)]) == [
        "non-simple-role"
    ]


@pytest.mark.skipif(not CASES, reason="the peers' cases are not here (SHIQ_PEERS)")
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_peer_cases_are_inside(path: Path) -> None:
    reading = parse_functional(path.read_text(encoding="utf-8"), path.name, "s")
    assert split_axioms(reading.tbox.axioms) == (list(reading.tbox.axioms), [])
    assert split_assertions(list(reading.abox), reading.tbox.axioms) == (list(reading.abox), [])


# --- simple roles ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "axiom",
    [
        m.FunctionalObjectProperty(S),
        m.InverseFunctionalObjectProperty(S),
        m.AsymmetricObjectProperty(S),
        m.IrreflexiveObjectProperty(S),
        m.DisjointObjectProperties((R, S)),
        m.SubClassOf(A, m.ObjectMaxCardinality(1, S)),
        m.SubClassOf(m.ObjectMinCardinality(2, inverse(S), B), A),
        m.SubClassOf(A, m.ObjectSomeValuesFrom(R, m.ObjectExactCardinality(1, S))),
    ],
)
def test_roles_that_are_not_simple(axiom: m.Axiom) -> None:
    hierarchy: list[m.Axiom] = [m.TransitiveObjectProperty(T), m.SubObjectPropertyOf(T, inverse(S))]
    assert split_axioms([axiom]) == ([axiom], [])
    inside, reported = split_axioms([axiom, *hierarchy])
    assert inside == hierarchy
    ((refused, kind, message),) = reported
    assert (refused, kind) == (axiom, "non-simple-role")
    assert "<urn:s>" in message and "transitive subrole" in message and "<urn:t>" in message


def test_a_transitive_role_itself() -> None:
    ((_, kind, message),) = split_axioms(
        [m.TransitiveObjectProperty(R), m.FunctionalObjectProperty(inverse(R))]
    )[1]
    assert (kind, message) == (
        "non-simple-role",
        "a functional role must be simple, but the inverse of <urn:r> is transitive",
    )


def test_bounds_that_no_number_needs() -> None:
    transitive = m.TransitiveObjectProperty(R)
    union = m.ObjectUnionOf(
        (
            m.ObjectMaxCardinality(0, R, A),
            m.ObjectExactCardinality(0, R),
            m.ObjectMinCardinality(0, R),
        )
    )
    inside, reported = split_axioms(
        [transitive, m.SubClassOf(m.ObjectMinCardinality(1, R, A), union)]
    )
    assert reported == []
    assert inside == [
        transitive,
        m.SubClassOf(
            m.ObjectSomeValuesFrom(R, A),
            m.ObjectUnionOf(
                (
                    m.ObjectAllValuesFrom(R, m.ObjectComplementOf(A)),
                    m.ObjectAllValuesFrom(R, m.ObjectComplementOf(m.THING)),
                    m.THING,
                )
            ),
        ),
    ]


def test_random_bounds_keep_their_meaning() -> None:
    draw, changed = Random(3), 0
    for _ in range(600):
        axiom = m.SubClassOf(draw.expression(3), draw.expression(3))
        inside, reported = split_axioms([m.TransitiveObjectProperty(R), axiom])
        if reported:
            assert {kind for _, kind, _ in reported} == {"non-simple-role"}
            continue
        changed += inside[1] != axiom
        for _ in range(10):
            world = draw.world(closed=("urn:r",))
            assert world.holds(axiom) == world.holds(inside[1]), (axiom, world)
    assert changed > 100


# --- top and bottom properties --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axiom", "plain"),
    [
        (m.SubObjectPropertyOf(R, TOP), ()),
        (
            m.SubObjectPropertyOf(R, BOTTOM),
            (m.SubClassOf(m.THING, m.ObjectAllValuesFrom(R, m.NOTHING)),),
        ),
        (
            m.SubObjectPropertyChain((R, S), BOTTOM),
            (m.SubClassOf(m.THING, m.ObjectAllValuesFrom(R, m.ObjectAllValuesFrom(S, m.NOTHING))),),
        ),
        (m.SubClassOf(A, m.ObjectSomeValuesFrom(BOTTOM, B)), (m.SubClassOf(A, m.NOTHING),)),
        (
            m.SubClassOf(A, m.ObjectMaxCardinality(1, inverse(BOTTOM), B)),
            (m.SubClassOf(A, m.THING),),
        ),
        (m.ObjectPropertyDomain(TOP, A), (m.SubClassOf(m.THING, A),)),
        (m.AsymmetricObjectProperty(TOP), (m.SubClassOf(m.THING, m.NOTHING),)),
        (m.TransitiveObjectProperty(TOP), ()),
        (m.ReflexiveObjectProperty(TOP), ()),
        (m.SubDataPropertyOf(D, TOP_DATA), ()),
        (m.SubDataPropertyOf(D, BOTTOM_DATA), (m.SubClassOf(m.THING, m.DataMaxCardinality(0, D)),)),
        (m.DisjointDataProperties((D, E, BOTTOM_DATA)), (m.DisjointDataProperties((D, E)),)),
        (
            m.DisjointDataProperties((D, TOP_DATA)),
            (m.SubClassOf(m.THING, m.DataMaxCardinality(0, D)),),
        ),
        (m.FunctionalDataProperty(BOTTOM_DATA), ()),
        (m.FunctionalDataProperty(TOP_DATA), (m.SubClassOf(m.THING, m.NOTHING),)),
        (m.DataPropertyDomain(TOP_DATA, A), (m.SubClassOf(m.THING, A),)),
        (m.DataPropertyRange(TOP_DATA, m.TOP_DATATYPE), ()),
        (
            m.SubClassOf(A, m.DataSomeValuesFrom(BOTTOM_DATA, INTEGER)),
            (m.SubClassOf(A, m.NOTHING),),
        ),
        (m.SubClassOf(A, m.DataAllValuesFrom(BOTTOM_DATA, INTEGER)), (m.SubClassOf(A, m.THING),)),
        (m.SubClassOf(A, m.DataMinCardinality(7, TOP_DATA)), (m.SubClassOf(A, m.THING),)),
        (m.SubClassOf(A, m.DataMaxCardinality(7, TOP_DATA)), (m.SubClassOf(A, m.NOTHING),)),
        (m.SubClassOf(A, m.DataExactCardinality(0, BOTTOM_DATA)), (m.SubClassOf(A, m.THING),)),
    ],
)
def test_built_in_properties(axiom: m.Axiom, plain: tuple[m.Axiom, ...]) -> None:
    assert remove_built_in(axiom) == plain
    assert split_axioms([axiom]) == (list(plain), [])


def test_random_built_in_properties_keep_their_meaning() -> None:
    draw, seen = Random(1), Counter[str]()
    for _ in range(2000):
        axiom = draw.axiom(0.6)
        plain = remove_built_in(axiom)
        seen["without" if not any(map(uses_built_in, plain)) else "with"] += 1
        for _ in range(8):
            world = draw.world()
            assert world.holds(axiom) == all(map(world.holds, plain)), (axiom, plain, world)
    assert seen["without"] > 1000 and seen["with"] > 100


def test_random_assertions_with_built_in_properties_keep_their_meaning() -> None:
    draw = Random(2)
    for _ in range(1000):
        a, b, role = draw.individual(), draw.individual(), draw.role(0.7)
        for assertion in (
            m.ClassAssertion(draw.expression(2, 0.6), a),
            m.ObjectPropertyAssertion(role, a, b),
            m.NegativeObjectPropertyAssertion(role, a, b),
        ):
            plain = remove_built_in_from_assertion(assertion)
            for _ in range(4):
                world = draw.world()
                assert world.holds(assertion) == all(map(world.holds, plain)), (
                    assertion,
                    plain,
                    world,
                )


def test_data_assertions_on_built_in_properties() -> None:
    one = m.Literal("1", m.XSD + "integer")
    on_top, on_bottom = (m.DataPropertyAssertion(p, "urn:a", one) for p in (TOP_DATA, BOTTOM_DATA))
    assert split_assertions([on_bottom]) == ([m.ClassAssertion(m.NOTHING, "urn:a")], [])
    assert split_assertions([m.NegativeDataPropertyAssertion(BOTTOM_DATA, "urn:a", one)]) == (
        [],
        [],
    )
    inside, ((refused, kind, _),) = split_assertions([on_top])
    assert (inside, refused, kind) == ([], on_top, "outside-shiq")


# --- datatypes ------------------------------------------------------------------------------------


def test_unknown_datatypes_stay_inside_and_are_told() -> None:
    axiom = m.DataPropertyRange(D, m.DataUnionOf((INTEGER, MINE)))
    has = m.SubClassOf(A, m.DataHasValue(D, m.Literal("x", "urn:other")))
    inside, reported = split_axioms([axiom, has])
    assert inside == [axiom, has]
    assert [(refused, kind) for refused, kind, _ in reported] == [
        (axiom, "unknown-datatype"),
        (has, "unknown-datatype"),
    ]
    assert "<urn:mine>" in reported[0][2] and "<urn:other>" in reported[1][2]


def test_defined_datatypes_are_known() -> None:
    axioms: list[m.Axiom] = [
        m.DataPropertyRange(D, MINE),
        m.DatatypeDefinition(MINE, m.DataComplementOf(INTEGER)),
    ]
    assert split_axioms(axioms) == (axioms, [])


def test_reported_is_what_was_given() -> None:
    chain = m.SubObjectPropertyChain((R, R), R)
    bounded = m.SubClassOf(m.ObjectSomeValuesFrom(BOTTOM, A), m.ObjectMaxCardinality(2, R))
    opaque = m.SubClassOf(m.ObjectMinCardinality(1, R), m.DataSomeValuesFrom(D, MINE))
    inside, reported = split_axioms([chain, bounded, opaque])
    assert inside == [
        m.TransitiveObjectProperty(R),
        m.SubClassOf(m.ObjectSomeValuesFrom(R, m.THING), m.DataSomeValuesFrom(D, MINE)),
    ]
    assert [(axiom, kind) for axiom, kind, _ in reported] == [
        (bounded, "non-simple-role"),
        (opaque, "unknown-datatype"),
    ]


def test_definitions_that_are_none() -> None:
    mine, yours = MINE, m.Datatype("urn:yours")
    cyclic: list[m.Axiom] = [
        m.DatatypeDefinition(mine, m.DataComplementOf(yours)),
        m.DatatypeDefinition(yours, mine),
    ]
    assert kinds(cyclic) == ["malformed", "malformed"]
    used = m.DataPropertyRange(D, mine)
    inside, reported = split_axioms([*cyclic, used])
    assert inside == [used]
    assert Counter(kind for _, kind, _ in reported) == {"malformed": 2, "unknown-datatype": 1}
    twice: list[m.Axiom] = [
        m.DatatypeDefinition(mine, INTEGER),
        m.DatatypeDefinition(mine, m.TOP_DATATYPE),
    ]
    inside, ((refused, kind, message),) = split_axioms(twice)
    assert (inside, refused, kind) == (twice[:1], twice[1], "malformed")
    assert "twice" in message


def test_broken_restrictions() -> None:
    number, text = m.Literal("1", m.XSD + "integer"), m.Literal("one")
    for facet, value in ((m.XSD + "length", number), (m.XSD + "minInclusive", text)):
        axiom = m.DataPropertyRange(D, m.DatatypeRestriction(INTEGER, ((facet, value),)))
        assert kinds([axiom]) == ["malformed"]
        assert split_axioms([axiom])[0] == []
    assert kinds([m.SubClassOf(A, m.DataHasValue(D, m.Literal("one", m.XSD + "integer")))]) == [
        "ill-typed"
    ]


# --- punning --------------------------------------------------------------------------------------


def test_punning() -> None:
    first, second = m.ObjectPropertyDomain(R, A), m.DataPropertyDomain(m.DataProperty("urn:r"), A)
    third = m.DataPropertyRange(D, m.Datatype("urn:A"))
    inside, reported = split_axioms(
        [first, second, second, third, m.DatatypeDefinition(m.Datatype("urn:A"), INTEGER)]
    )
    assert inside[:4] == [first, second, second, third]
    assert [(axiom, kind, message) for axiom, kind, message in reported] == [
        (second, "punning", "<urn:r> is used as object property and as data property"),
        (third, "punning", "<urn:A> is used as class and as datatype"),
    ]
    # A class may share its IRI with a property or an individual.
    assert split_axioms([m.ObjectPropertyDomain(R, m.Class("urn:r"))])[1] == []


# --- assertions -----------------------------------------------------------------------------------

a, b, c = "urn:a", "urn:b", "urn:c"


def nominal(*individuals: str) -> m.ObjectOneOf:
    return m.ObjectOneOf(individuals)


@pytest.mark.parametrize(
    ("expression", "plain"),
    [
        (m.ObjectHasValue(R, b), [m.ObjectPropertyAssertion(R, a, b)]),
        (
            m.ObjectComplementOf(m.ObjectHasValue(inverse(R), b)),
            [m.NegativeObjectPropertyAssertion(inverse(R), a, b)],
        ),
        (m.ObjectSomeValuesFrom(R, nominal(b)), [m.ObjectPropertyAssertion(R, a, b)]),
        (
            m.ObjectSomeValuesFrom(R, m.ObjectIntersectionOf((A, nominal(b)))),
            [m.ObjectPropertyAssertion(R, a, b), m.ClassAssertion(A, b)],
        ),
        (
            m.ObjectAllValuesFrom(R, m.ObjectComplementOf(nominal(b))),
            [m.NegativeObjectPropertyAssertion(R, a, b)],
        ),
        (
            m.ObjectComplementOf(m.ObjectSomeValuesFrom(R, nominal(b))),
            [m.NegativeObjectPropertyAssertion(R, a, b)],
        ),
        (nominal(b), [m.SameIndividual(a, b)]),
        (nominal(a, b), []),
        (
            m.ObjectComplementOf(nominal(b, c)),
            [m.DifferentIndividuals(a, b), m.DifferentIndividuals(a, c)],
        ),
        (
            m.ObjectComplementOf(m.ObjectUnionOf((nominal(b), A))),
            [m.DifferentIndividuals(a, b), m.ClassAssertion(m.ObjectComplementOf(A), a)],
        ),
        (m.ObjectHasSelf(R), [m.ObjectPropertyAssertion(R, a, a)]),
        (m.ObjectComplementOf(m.ObjectHasSelf(R)), [m.NegativeObjectPropertyAssertion(R, a, a)]),
    ],
)
def test_nominals_that_name_an_individual(
    expression: m.ClassExpression, plain: list[m.Assertion]
) -> None:
    assert split_assertions([m.ClassAssertion(expression, a)]) == (plain, [])


def test_nominals_that_stay() -> None:
    mixed = m.ObjectIntersectionOf((A, nominal(b, c), m.ObjectHasValue(R, b)))
    inside, reported = split_assertions([m.ClassAssertion(mixed, a)])
    assert inside == [m.ClassAssertion(A, a), m.ObjectPropertyAssertion(R, a, b)]
    ((refused, kind, message),) = reported
    assert (refused, kind) == (m.ClassAssertion(mixed, a), "outside-shiq")
    assert "ObjectOneOf" in message


def test_random_nominals_keep_their_meaning() -> None:
    draw, seen = Random(4), Counter[bool]()
    for _ in range(1500):
        assertion = m.ClassAssertion(draw.expression(3, nominals=0.3), draw.individual())
        plain = list(rewrite_nominals(assertion))
        nominals = (m.ObjectOneOf, m.ObjectHasValue, m.ObjectHasSelf)
        if any(isinstance(part, nominals) for part in parts(assertion)):
            seen[any(isinstance(part, nominals) for value in plain for part in parts(value))] += 1
        for _ in range(6):
            world = draw.world()
            assert world.holds(assertion) == all(map(world.holds, plain)), (assertion, plain, world)
    assert seen[False] > 150 and seen[True] > 150


def test_assertions_on_roles_that_are_not_simple() -> None:
    transitive = [m.TransitiveObjectProperty(R)]
    bounded = m.ClassAssertion(m.ObjectMaxCardinality(1, R), a)
    negative = m.NegativeObjectPropertyAssertion(R, a, b)
    assert split_assertions([bounded, negative]) == ([bounded, negative], [])
    inside, reported = split_assertions(
        [bounded, negative, m.ClassAssertion(m.ObjectMinCardinality(1, R, A), a)], transitive
    )
    assert inside == [negative, m.ClassAssertion(m.ObjectSomeValuesFrom(R, A), a)]
    assert [(refused, kind) for refused, kind, _ in reported] == [(bounded, "non-simple-role")]


def test_data_in_assertions() -> None:
    opaque = m.ClassAssertion(m.DataSomeValuesFrom(D, MINE), a)
    broken = m.ClassAssertion(m.DataHasValue(D, m.Literal("x", m.XSD + "integer")), a)
    plain = m.DataPropertyAssertion(D, a, m.Literal("x", m.XSD + "integer"))
    inside, reported = split_assertions([opaque, broken, plain])
    assert inside == [opaque, plain]
    assert [(refused, kind) for refused, kind, _ in reported] == [
        (opaque, "unknown-datatype"),
        (broken, "ill-typed"),
    ]
    assert split_assertions([opaque], [m.DatatypeDefinition(MINE, INTEGER)]) == ([opaque], [])


def test_every_kind_is_known() -> None:
    assert {
        "outside-shiq",
        "non-simple-role",
        "malformed",
        "ill-typed",
        "unknown-datatype",
        "punning",
    } <= set(KINDS)
