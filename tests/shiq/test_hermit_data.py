"""Data reaches HermiT as proxies: verdicts by hand, opaque data between bounds."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from shiq.answers.verdict import Verdict
from shiq.datatypes import DataTheory
from shiq.model import (
    NOTHING,
    TOP_DATATYPE,
    XSD,
    Assertion,
    Axiom,
    Class,
    ClassAssertion,
    ClassExpression,
    DataAllValuesFrom,
    DataComplementOf,
    DataExactCardinality,
    DataHasValue,
    DataIntersectionOf,
    DataMaxCardinality,
    DataMinCardinality,
    DataOneOf,
    DataProperty,
    DataPropertyAssertion,
    DataPropertyRange,
    DataRange,
    DataSomeValuesFrom,
    Datatype,
    DatatypeDefinition,
    DatatypeRestriction,
    DataUnionOf,
    DisjointDataProperties,
    FunctionalDataProperty,
    Literal,
    NegativeDataPropertyAssertion,
    ObjectComplementOf,
    ObjectUnionOf,
    SubClassOf,
    SubDataPropertyOf,
    TBox,
)
from shiq.model.clause import ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import RoleBox
from shiq.reasoner.data_proxies import MOST_VALUES, replace_data
from shiq.reasoner.hermit import HermitReasoner
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Answer, Module
from shiq.simplify import simplify

pytestmark = pytest.mark.jvm

CONSISTENT, INCONSISTENT, UNDETERMINED = (
    Verdict.CONSISTENT,
    Verdict.INCONSISTENT,
    Verdict.UNDETERMINED,
)
A, B, C, D = (Class(f"urn:{name}") for name in "ABCD")
F, G, H = (DataProperty(f"urn:{name}") for name in "fgh")
INTEGER, DATE, BOOLEAN, STRING = (
    Datatype(XSD + name) for name in ("integer", "date", "boolean", "string")
)
a = "urn:a"


@pytest.fixture(scope="module")
def hermit() -> Iterator[HermitReasoner]:
    reasoner = HermitReasoner("512m", 60.0)
    yield reasoner
    reasoner.close()


def _is(assertion_class: Class, *names: str) -> list[Assertion]:
    return [ClassAssertion(assertion_class, name) for name in names]


def _int(n: int) -> Literal:
    return Literal(str(n), INTEGER.iri)


def _f(subject: str, lexical: str, datatype: str, property: DataProperty = F) -> Assertion:
    return DataPropertyAssertion(property, subject, Literal(lexical, XSD + datatype))


def _between(low: int, high: int) -> DatatypeRestriction:
    return DatatypeRestriction(
        INTEGER, ((XSD + "minInclusive", _int(low)), (XSD + "maxInclusive", _int(high)))
    )


FUNCTIONAL: list[Axiom] = [FunctionalDataProperty(F)]
DATA: list[tuple[str, list[Axiom], list[Assertion], Verdict]] = [
    ("two dates", FUNCTIONAL, [_f(a, "2026-01-01", "date"), _f(a, "2026-01-02", "date")], INCONSISTENT),
    ("a date twice", FUNCTIONAL, [_f(a, "2026-01-01", "date"), _f(a, "2026-01-01", "date"), *_is(A, a)], CONSISTENT),
    ("a day in two ways", FUNCTIONAL, [_f(a, "2026-01-01Z", "date"), _f(a, "2026-01-01+00:00", "date")], CONSISTENT),
    ("times", FUNCTIONAL, [_f(a, "10:00:00", "time"), _f(a, "10:00:01", "time")], INCONSISTENT),
    ("gYear", FUNCTIONAL, [_f(a, "2026", "gYear"), _f(a, "2027", "gYear")], INCONSISTENT),
    ("one duration in two ways", FUNCTIONAL, [_f(a, "P1Y", "duration"), _f(a, "P12M", "duration")], CONSISTENT),
    ("two durations", FUNCTIONAL, [_f(a, "P1M", "duration"), _f(a, "P30D", "duration")], INCONSISTENT),
    ("microseconds", FUNCTIONAL,
     [_f(a, "2026-01-01T00:00:00.123456", "dateTime"), _f(a, "2026-01-01T00:00:00.123457", "dateTime")], INCONSISTENT),
    ("integer and decimal", FUNCTIONAL, [_f(a, "1", "integer"), _f(a, "1.0", "decimal")], CONSISTENT),
    ("a range of dates", [DataPropertyRange(F, DATE)], [_f(a, "2026", "gYear")], INCONSISTENT),
    ("the same range, met", [DataPropertyRange(F, DATE)], [_f(a, "2026-02-28", "date")], CONSISTENT),
    ("an ill-typed literal", [], [_f(a, "2026-02-30", "date")], INCONSISTENT),
    ("a value made out of the value space", [DataPropertyRange(F, BOOLEAN),
     SubClassOf(A, DataMinCardinality(3, F))], _is(A, a), INCONSISTENT),
    ("two truth values", [DataPropertyRange(F, BOOLEAN), SubClassOf(A, DataMinCardinality(2, F))], _is(A, a),
     CONSISTENT),
    ("an interval too small", [SubClassOf(A, DataMinCardinality(4, F, _between(1, 3)))], _is(A, a), INCONSISTENT),
    ("an interval just large enough", [SubClassOf(A, DataMinCardinality(3, F, _between(1, 3)))], _is(A, a), CONSISTENT),
    ("two disjoint properties, one interval", [SubDataPropertyOf(F, H), SubDataPropertyOf(G, H),
     DisjointDataProperties((F, G)), SubClassOf(A, DataMinCardinality(2, F, _between(1, 3))),
     SubClassOf(A, DataMinCardinality(2, G, _between(1, 3)))], _is(A, a), INCONSISTENT),
    ("a property disjoint from itself", [DisjointDataProperties((F, F))], [_f(a, "1", "integer")], INCONSISTENT),
    ("a value asserted not to be", [SubDataPropertyOf(G, F)], [_f(a, "1", "integer", G),
     NegativeDataPropertyAssertion(F, a, Literal("1.0", XSD + "decimal"))], INCONSISTENT),
    ("has value", [SubClassOf(A, DataHasValue(F, _int(5))), DataPropertyRange(F, _between(1, 3))], _is(A, a), INCONSISTENT),
    ("a defined datatype",
     [DatatypeDefinition(Datatype("urn:small"), _between(1, 3)), DataPropertyRange(F, Datatype("urn:small"))],
     [_f(a, "4", "integer")], INCONSISTENT),
    ("a negated ∀", [SubClassOf(DataAllValuesFrom(F, INTEGER), NOTHING), DataPropertyRange(F, DataOneOf((_int(1), _int(2))))],
     _is(A, a), INCONSISTENT),
    ("a negated ∀ of everything", [SubClassOf(DataAllValuesFrom(F, TOP_DATATYPE), B)],
     [ClassAssertion(ObjectComplementOf(B), a)], INCONSISTENT),
    ("counted for ≤", [SubClassOf(A, DataMaxCardinality(1, F, _between(1, 9)))],
     [*_is(A, a), _f(a, "1", "integer"), _f(a, "2", "integer"), _f(a, "10", "integer")], INCONSISTENT),
    ("not counted for ≤", [SubClassOf(A, DataMaxCardinality(1, F, _between(1, 9)))],
     [*_is(A, a), _f(a, "1", "integer"), _f(a, "0", "integer"), _f(a, "10", "integer")], CONSISTENT),
    ("counted in a union", [SubClassOf(A, DataMaxCardinality(1, F, DataUnionOf((_between(0, 1), _between(11, 17)))))],
     [*_is(A, a), _f(a, "1", "integer"), _f(a, "11", "integer"), _f(a, "5", "integer")], INCONSISTENT),
    ("not counted in a union", [SubClassOf(A, DataMaxCardinality(1, F, DataUnionOf((_between(0, 1), _between(11, 17)))))],
     [*_is(A, a), _f(a, "2", "integer"), _f(a, "11", "integer"), _f(a, "5", "integer")], CONSISTENT),
    ("exactly in a union, negated",
     [SubClassOf(A, ObjectComplementOf(DataExactCardinality(1, F, DataUnionOf((_between(0, 1), _between(11, 17))))))],
     [*_is(A, a), _f(a, "2", "integer"), _f(a, "11", "integer")], CONSISTENT),
    ("all but a value, and that", [SubClassOf(A, DataMinCardinality(3, F, DataComplementOf(DataOneOf((_int(1),))))),
     DataPropertyRange(F, DataOneOf((_int(1), _int(2), _int(3))))], _is(A, a), INCONSISTENT),
    ("all but a value", [SubClassOf(A, DataMinCardinality(3, F, DataComplementOf(DataOneOf((_int(1),))))),
     DataPropertyRange(F, DataComplementOf(DataOneOf((_int(2),))))], [*_is(A, a), _f(a, "1", "integer")], CONSISTENT),
    ("counted in all but a value", [SubClassOf(A, DataMaxCardinality(1, F, DataComplementOf(DataOneOf((_int(1),)))))],
     [*_is(A, a), _f(a, "1", "integer"), _f(a, "x", "string"), _f(a, "2026", "gYear")], INCONSISTENT),
    ("not counted in all but a value", [SubClassOf(A, DataMaxCardinality(1, F, DataComplementOf(DataOneOf((_int(1),)))))],
     [*_is(A, a), _f(a, "1", "integer"), _f(a, "x", "string")], CONSISTENT),
    ("sub-property and range", [SubDataPropertyOf(G, F), FunctionalDataProperty(F), DataPropertyRange(F, STRING),
     SubClassOf(A, DataSomeValuesFrom(G, INTEGER))], _is(A, a), INCONSISTENT),
]  # fmt: skip


@pytest.mark.parametrize(
    ("axioms", "assertions", "expected"), [o[1:] for o in DATA], ids=[o[0] for o in DATA]
)
def test_data_through_proxies(
    hermit: HermitReasoner, axioms: list[Axiom], assertions: list[Assertion], expected: Verdict
) -> None:
    assert hermit.decide_consistency(axioms, assertions) == Answer(expected)


def test_values_that_no_range_speaks_of_are_not_listed() -> None:
    """Nor as many as keys may need: a range of rdfs:Literal, or all but some values, is as long
    as what it leaves out.
    """
    theory, count = DataTheory(), MOST_VALUES + 1
    names = [_f(a, f"name {i}", "string", G) for i in range(count)]
    two = DataOneOf((_int(1), _int(2)))
    not_two = SubClassOf(A, DataMinCardinality(count, F, DataComplementOf(two)))
    axioms, assertions = replace_data(
        theory, [DataPropertyRange(G, TOP_DATATYPE), not_two], [*names, _f(a, "1", "integer")]
    )
    top, sent = axioms
    assert top == DataPropertyRange(G, TOP_DATATYPE)
    assert isinstance(sent, SubClassOf) and isinstance(sent.sup, DataMinCardinality)
    assert isinstance(sent.sup.range, DataComplementOf) and isinstance(
        sent.sup.range.operand, DataOneOf
    )
    left_out = sent.sup.range.operand.literals
    assert len(left_out) == 2
    values = [
        assertion.literal
        for assertion in assertions
        if isinstance(assertion, DataPropertyAssertion)
    ]
    assert len(set(values)) == count + 1
    assert [value in left_out for value in values] == [False] * count + [True]


def test_what_hermit_itself_says_of_dates_is_undetermined(hermit: HermitReasoner) -> None:
    answer = hermit.decide_consistency(FUNCTIONAL, [_f(a, "2026-01-01", "date")], proxy_data=False)
    assert answer.verdict is UNDETERMINED
    assert "UnsupportedDatatypeException" in answer.reason


def test_where_hermits_own_datatypes_are_wrong_proxies_are_right(hermit: HermitReasoner) -> None:
    """Should a later HermiT be right natively, the first half of this test says so."""
    wrong: list[tuple[list[Axiom], list[Assertion]]] = [
        (
            [
                SubClassOf(
                    A, DataMaxCardinality(1, F, DataUnionOf((_between(0, 1), _between(11, 17))))
                )
            ],
            [*_is(A, a), _f(a, "0", "integer"), _f(a, "11", "integer")],
        ),
        (
            [
                SubClassOf(A, DataSomeValuesFrom(F, _between(59, 59))),
                DataPropertyRange(F, DataComplementOf(_between(0, 59))),
            ],
            _is(A, a),
        ),
        (
            [],
            [
                _f(a, "3", "integer"),
                NegativeDataPropertyAssertion(F, a, Literal("3.0", XSD + "decimal")),
            ],
        ),
    ]
    for axioms, assertions in wrong:
        assert hermit.decide_consistency(axioms, assertions, proxy_data=False) == Answer(CONSISTENT)
        assert hermit.decide_consistency(axioms, assertions) == Answer(INCONSISTENT)


F_ONCE = Clause(body=(A.iri,), head=(DataAtMost(1, F.iri, TOP_DATATYPE),))
MONTHS = DatatypeRestriction(
    INTEGER, ((XSD + "minInclusive", _int(1)), (XSD + "maxInclusive", _int(12)))
)
DATA_TBOX = ClausalTBox(
    (F_ONCE, Clause(body=(B.iri,), head=(DataAtLeast(2, G.iri, MONTHS),))),
    RoleBox(data_inclusions=frozenset({(G.iri, F.iri)})),
    atoms=(
        A.iri,
        B.iri,
        F_ONCE.head[0],
        DataAtLeast(2, G.iri, MONTHS),
        DataAtLeast(13, G.iri, MONTHS),
    ),
)


def test_data_modules(hermit: HermitReasoner) -> None:
    day, other = Literal("2026-01-01", DATE.iri), Literal("2026-01-02", DATE.iri)
    cases: list[tuple[Module, Verdict]] = [
        (Module((1,), (0,), data=((0, F.iri, day),)), CONSISTENT),
        (Module((1,), (0,), data=((0, F.iri, day), (0, G.iri, other))), INCONSISTENT),
        (Module((0,), (0,), data=((0, F.iri, day), (0, G.iri, other))), CONSISTENT),
        (Module((0,), (4,), data=((0, F.iri, day),)), CONSISTENT),
        (Module((3,), (0,)), INCONSISTENT),
        (Module((2,), (8,)), INCONSISTENT),
        (Module((16,), (0,)), INCONSISTENT),
        (Module((0,), (16,)), CONSISTENT),
        (
            Module((0,), (0,), data=((0, G.iri, day),), negative_data=((0, F.iri, day),)),
            INCONSISTENT,
        ),
        (Module((0,), (0,), data=((0, F.iri, day),), negative_data=((0, G.iri, day),)), CONSISTENT),
        (Module((0,), (0,), data=((0, F.iri, Literal("2026-02-30", DATE.iri)),)), INCONSISTENT),
        (Module((1, 1), (0, 0), data=((0, F.iri, day), (1, F.iri, other))), CONSISTENT),
    ]
    expected = [Answer(verdict) for _, verdict in cases]
    assert hermit.decide(DATA_TBOX, [module for module, _ in cases]) == expected
    assert [hermit.decide(DATA_TBOX, [module])[0] for module, _ in cases] == expected


def test_opaque_data_is_decided_where_nothing_rests_on_it(hermit: HermitReasoner) -> None:
    unknown = Datatype("urn:unknown")
    some, only, value = (
        DataAtLeast(1, F.iri, unknown),
        DataAtMost(0, F.iri, unknown),
        Literal("x", unknown.iri),
    )
    tbox = ClausalTBox(
        (
            Clause(body=(A.iri,), head=(some, B.iri)),
            Clause(body=(C.iri,), head=(some,)),
            Clause(body=(B.iri,), head=(DataAtMost(0, F.iri, TOP_DATATYPE),)),
            Clause(body=(B.iri, D.iri)),
        ),
        RoleBox(),
        atoms=(A.iri, B.iri, C.iri, D.iri, some, only),
    )
    cases = [
        ("B will do", Module((1,), (0,)), CONSISTENT),
        ("only the opaque disjunct is left", Module((1 | 8,), (0,)), UNDETERMINED),
        ("B and D, whatever the rest", Module((2 | 8,), (0,)), INCONSISTENT),
        ("is there a value at all?", Module((4,), (0,)), UNDETERMINED),
        ("there must be one, and may be none", Module((2 | 4,), (0,)), INCONSISTENT),
        ("no value will do", Module((0,), (16,)), CONSISTENT),
        ("no value will do either", Module((32,), (0,)), CONSISTENT),
        ("one is needed", Module((0,), (32,)), UNDETERMINED),
        ("one is needed where none may be", Module((2,), (32,)), INCONSISTENT),
        ("an opaque value", Module((0,), (0,), data=((0, G.iri, value),)), UNDETERMINED),
        (
            "an opaque value where none may be",
            Module((2,), (0,), data=((0, F.iri, value),)),
            INCONSISTENT,
        ),
        (
            "an opaque value that may not be",
            Module((2,), (0,), negative_data=((0, F.iri, value),)),
            CONSISTENT,
        ),
    ]
    answers = hermit.decide(tbox, [module for _, module, _ in cases])
    for (name, _, expected), answer in zip(cases, answers):
        assert answer.verdict is expected, name
    assert answers[1].reason == "hermit: opaque datatype <urn:unknown>"
    assert (
        hermit.decide_consistency([DataPropertyRange(F, unknown)], []).reason
        == "hermit: opaque datatype <urn:unknown>"
    )


def test_bounds_that_coincide_with_other_axioms_are_counted_once(hermit: HermitReasoner) -> None:
    """Without its opaque disjunct the one clause says what the other says."""
    head = DataAtLeast(1, F.iri, Datatype("urn:unknown"))
    tbox = ClausalTBox(
        (Clause(body=(A.iri,)), Clause(body=(A.iri,), head=(head,))),
        RoleBox(),
        atoms=(A.iri, B.iri, head),
    )
    answers = hermit.decide(tbox, [Module((2,), (0,)), Module((1,), (0,))])
    assert answers == [Answer(CONSISTENT), Answer(INCONSISTENT)]


def test_many_modules_with_values_of_their_own(hermit: HermitReasoner) -> None:
    """300 lots of values; every seventh module has two for a functional property."""
    modules = []
    for i in range(300):
        days = [
            Literal(f"{2000 + i}-01-0{day}", DATE.iri) for day in ((1, 2) if i % 7 == 0 else (1,))
        ]
        modules.append(Module((1,), (0,), data=tuple((0, F.iri, day) for day in days)))
    answers = hermit.decide(DATA_TBOX, modules)
    assert [i for i, answer in enumerate(answers) if answer.verdict is INCONSISTENT] == list(
        range(0, 300, 7)
    )
    assert {answer.verdict for answer in answers} == {CONSISTENT, INCONSISTENT}


def _random_literal(rng: random.Random) -> Literal:
    number = rng.randint(0, 6)
    return rng.choice(
        (
            Literal(str(number), INTEGER.iri),
            Literal(f"{number}.{rng.choice('05')}", XSD + "decimal"),
            Literal(f"2026-01-0{1 + number % 4}", DATE.iri),
            Literal(rng.choice(("true", "false", "1")), BOOLEAN.iri),
        )
    )


def _random_range(rng: random.Random, depth: int) -> DataRange:
    kind = rng.randrange(8 if depth else 5)
    if kind == 0:
        return rng.choice((INTEGER, Datatype(XSD + "decimal"), DATE, BOOLEAN, TOP_DATATYPE, STRING))
    if kind < 3:
        return _between(rng.randint(0, 5), rng.randint(0, 6))
    if kind < 5:
        return DataOneOf(tuple(_random_literal(rng) for _ in range(rng.randint(1, 3))))
    if kind == 5:
        return DataComplementOf(_random_range(rng, depth - 1))
    return rng.choice((DataUnionOf, DataIntersectionOf))(
        (_random_range(rng, depth - 1), _random_range(rng, depth - 1))
    )


def _random_class(rng: random.Random, depth: int) -> ClassExpression:
    property, range, number = rng.choice((F, G, H)), _random_range(rng, 2), rng.randint(0, 3)
    if depth and rng.random() < 0.4:
        first, second = _random_class(rng, depth - 1), _random_class(rng, depth - 1)
        return rng.choice((ObjectComplementOf(first), ObjectUnionOf((first, second))))
    return rng.choice(
        (
            rng.choice((A, B, C)),
            DataSomeValuesFrom(property, range),
            DataAllValuesFrom(property, range),
            DataMinCardinality(number + 1, property, range),
            DataMaxCardinality(number, property, range),
            DataExactCardinality(number, property, range),
            DataHasValue(property, _random_literal(rng)),
        )
    )


def test_random_data_from_scratch_through_clauses_and_by_own(hermit: HermitReasoner) -> None:
    """One individual with data: HermiT on the raw ontology, HermiT on clauses and a module, and
    our own tableau agree.
    """
    own = OwnReasoner()
    seen = dict.fromkeys(Verdict, 0)
    for seed in range(80):
        rng = random.Random(seed)
        properties = (F, G, H)
        axioms: list[Axiom] = [
            SubClassOf(rng.choice((A, B, C)), _random_class(rng, 2)) for _ in range(4)
        ]
        axioms += rng.sample(
            (
                SubDataPropertyOf(F, G),
                SubDataPropertyOf(G, H),
                DisjointDataProperties((F, H)),
                FunctionalDataProperty(rng.choice(properties)),
                DataPropertyRange(G, _random_range(rng, 1)),
            ),
            2,
        )
        classes = rng.sample((A, B, C), 2)
        values = [(rng.choice(properties), _random_literal(rng)) for _ in range(3)]
        absent = rng.choice(properties), _random_literal(rng)
        assertions: list[Assertion] = [
            *(ClassAssertion(cls, a) for cls in classes),
            *(DataPropertyAssertion(property, a, value) for property, value in values),
            NegativeDataPropertyAssertion(absent[0], a, absent[1]),
        ]
        tbox = simplify(TBox(tuple(axioms)), (A, B, C)).clauses
        module = Module(
            (sum(1 << tbox.atom_ids[cls.iri] for cls in classes),),
            (0,),
            data=tuple((0, property.iri, value) for property, value in values),
            negative_data=((0, absent[0].iri, absent[1]),),
        )
        verdict = hermit.decide_consistency(axioms, assertions).verdict
        assert verdict is not UNDETERMINED
        assert hermit.decide(tbox, [module])[0].verdict is verdict, f"seed {seed}"
        assert own.decide(tbox, [module])[0].verdict is verdict, f"seed {seed}"
        seen[verdict] += 1
    assert min(seen[CONSISTENT], seen[INCONSISTENT]) >= 15, seen


def test_axioms_about_data_are_written_once_for_each_version_of_their_proxies(
    hermit: HermitReasoner,
) -> None:
    """Answers do not depend on what was asked before; as `own`, which has no proxies."""
    rng, own = random.Random(7), OwnReasoner()
    small = DatatypeRestriction(INTEGER, ((XSD + "minInclusive", Literal("1", XSD + "integer")),))
    tbox = simplify(
        TBox((SubClassOf(A, DataAllValuesFrom(F, small)), FunctionalDataProperty(F))), (A,)
    ).clauses
    for _ in range(12):
        values = tuple(
            (0, F.iri, Literal(str(rng.randint(-1, 3)), XSD + "integer"))
            for _ in range(rng.randint(0, 2))
        )
        module = Module((1 << tbox.atom_ids[A.iri],), (0,), data=values)
        assert hermit.decide(tbox, [module])[0].verdict is own.decide(tbox, [module])[0].verdict, (
            values
        )
    prepared = hermit._prepare(tbox)
    assert len(prepared.documents) < 12
