"""Clauses written back as axioms say what the clauses say (THEORY, "DL-clauses")."""

from __future__ import annotations

import random

import pytest

from shiq.model import (
    NOTHING,
    THING,
    XSD,
    Assertion,
    AsymmetricObjectProperty,
    Axiom,
    Class,
    ClassAssertion,
    ClassExpression,
    DataMaxCardinality,
    DataMinCardinality,
    DataOneOf,
    DataProperty,
    DataPropertyAssertion,
    Datatype,
    DatatypeDefinition,
    DifferentIndividuals,
    DisjointDataProperties,
    DisjointObjectProperties,
    IrreflexiveObjectProperty,
    Literal,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    SubClassOf,
    SubDataPropertyOf,
    SubObjectPropertyOf,
    TBox,
    TransitiveObjectProperty,
)
from shiq.model.clause import AtLeast, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.clause_axioms import clause_axiom, clause_axioms, module_assertions, numbered_names
from shiq.model.roles import Role, RoleBox, role_box
from shiq.reasoner.protocol import Module
from shiq.support import bits

A, B, C, D = (Class(f"urn:{name}") for name in "ABCD")
R, S = ObjectProperty("urn:r"), ObjectProperty("urn:s")
r, s = Role("urn:r"), Role("urn:s")
F, G = DataProperty("urn:f"), DataProperty("urn:g")
INTEGER = Datatype(XSD + "integer")


@pytest.mark.parametrize(
    ("clause", "sub", "sup"),
    [
        (Clause(body=(A.iri,), head=(B.iri,)), A, B),
        (Clause(body=(A.iri, B.iri)), ObjectIntersectionOf((A, B)), NOTHING),
        (Clause(head=(A.iri, B.iri)), THING, ObjectUnionOf((A, B))),
        (
            Clause(body=(A.iri,), head=(AtLeast(2, r.inverse, B.iri), AtLeast(1, s))),
            A,
            ObjectUnionOf(
                (ObjectMinCardinality(2, ObjectInverseOf(R), B), ObjectMinCardinality(1, S, THING))
            ),
        ),
        (
            Clause(
                body=(A.iri,), head=(DataAtLeast(1, F.iri, INTEGER), DataAtMost(0, F.iri, INTEGER))
            ),
            A,
            ObjectUnionOf((DataMinCardinality(1, F, INTEGER), DataMaxCardinality(0, F, INTEGER))),
        ),
        (
            Clause(
                body=(A.iri,),
                head=(D.iri,),
                role=r.inverse,
                branch_body=(B.iri,),
                branch_head=(C.iri,),
            ),
            A,
            ObjectUnionOf(
                (
                    D,
                    ObjectAllValuesFrom(
                        ObjectInverseOf(R), ObjectUnionOf((ObjectComplementOf(B), C))
                    ),
                )
            ),
        ),
        (Clause(role=r), THING, ObjectAllValuesFrom(R, NOTHING)),
        (Clause(role=r, at_most=1), THING, ObjectMaxCardinality(1, R, THING)),
        (
            Clause(body=(A.iri,), head=(D.iri,), role=r, branch_body=(B.iri,), at_most=2),
            A,
            ObjectUnionOf((D, ObjectMaxCardinality(2, R, B))),
        ),
    ],
)
def test_clause(clause: Clause, sub: ClassExpression, sup: ClassExpression) -> None:
    assert clause_axiom(clause) == SubClassOf(sub, sup)


def test_role_box_is_written_back_without_transitivity() -> None:
    roles = RoleBox(
        inclusions=frozenset({(r, s.inverse)}),
        transitive=frozenset({s, s.inverse}),
        disjoint=frozenset({(r, s), (r, r)}),
        asymmetric=frozenset({r}),
        irreflexive=frozenset({s}),
        data_inclusions=frozenset({(F.iri, G.iri)}),
        disjoint_data=frozenset({(F.iri, G.iri), (G.iri, G.iri)}),
    )
    axioms = clause_axioms(
        ClausalTBox(
            (), roles, definitions={"urn:small": DataOneOf((Literal("1", XSD + "integer"),))}
        )
    )
    assert set(axioms) == {
        SubObjectPropertyOf(R, ObjectInverseOf(S)),
        DisjointObjectProperties((R, S)),
        SubClassOf(THING, ObjectAllValuesFrom(R, NOTHING)),
        AsymmetricObjectProperty(R),
        IrreflexiveObjectProperty(S),
        SubDataPropertyOf(F, G),
        DisjointDataProperties((F, G)),
        SubClassOf(THING, DataMaxCardinality(0, G)),
        DatatypeDefinition(Datatype("urn:small"), DataOneOf((Literal("1", XSD + "integer"),))),
    }
    assert role_box(axioms).inclusions == roles.inclusions


def test_each_axiom_once_and_in_a_fixed_order() -> None:
    clauses = (
        Clause(body=(B.iri,)),
        Clause(body=(A.iri,)),
        Clause(body=(B.iri,), origins=frozenset({3})),
    )
    assert clause_axioms(ClausalTBox(clauses, RoleBox())) == (
        SubClassOf(B, NOTHING),
        SubClassOf(A, NOTHING),
    )


def test_module() -> None:
    one = Literal("1", XSD + "integer")
    tbox = ClausalTBox((), RoleBox(), atoms=(A.iri, AtLeast(2, r), DataAtMost(0, F.iri, INTEGER)))
    module = Module(
        positive=(0b011, 0, 0),
        negative=(0b100, 0b010, 0),
        edges=((0, r, 1), (0, s.inverse, 2), (2, s, 0)),
        negative_edges=((1, r.inverse, 2),),
        different=((1, 0), (0, 1), (2, 2)),
        data=((0, F.iri, one),),
        negative_data=((1, G.iri, one),),
    )
    assert module_assertions(tbox, module, numbered_names(module, "urn:m:")) == [
        ClassAssertion(A, "urn:m:0"),
        ClassAssertion(ObjectMinCardinality(2, R), "urn:m:0"),
        ClassAssertion(ObjectComplementOf(DataMaxCardinality(0, F, INTEGER)), "urn:m:0"),
        ClassAssertion(ObjectComplementOf(ObjectMinCardinality(2, R)), "urn:m:1"),
        ClassAssertion(THING, "urn:m:2"),
        ObjectPropertyAssertion(R, "urn:m:0", "urn:m:1"),
        ObjectPropertyAssertion(S, "urn:m:2", "urn:m:0"),
        NegativeObjectPropertyAssertion(R, "urn:m:2", "urn:m:1"),
        DifferentIndividuals("urn:m:0", "urn:m:1"),
        ClassAssertion(NOTHING, "urn:m:2"),
        DataPropertyAssertion(F, "urn:m:0", one),
        NegativeDataPropertyAssertion(G, "urn:m:1", one),
    ]


def test_bits() -> None:
    assert list(bits(0)) == []
    assert list(bits((1 << 200) | 0b101)) == [0, 2, 200]


def _random_expression(rng: random.Random, depth: int) -> ClassExpression:
    kind = rng.randrange(7) if depth else rng.randrange(2)
    role = rng.choice((R, S, ObjectInverseOf(R), ObjectInverseOf(S)))
    if kind == 0:
        return rng.choice((A, B, C))
    if kind == 1:
        return ObjectComplementOf(rng.choice((A, B, C)))
    first, second = _random_expression(rng, depth - 1), _random_expression(rng, depth - 1)
    simple = rng.choice((S, ObjectInverseOf(S)))
    return (
        ObjectIntersectionOf((first, second)),
        ObjectUnionOf((first, second)),
        ObjectAllValuesFrom(role, first),
        ObjectMinCardinality(rng.randint(1, 2), simple, first),
        ObjectMaxCardinality(rng.randint(0, 2), simple, first),
    )[kind - 2]


@pytest.mark.jvm
def test_same_satisfiability_as_the_axioms_they_come_from() -> None:
    """On random SHIQ TBoxes with an ABox, HermiT gives the clauses written back and the original
    axioms the same verdict.
    """
    from shiq.answers.verdict import Verdict
    from shiq.reasoner.hermit import HermitReasoner
    from shiq.simplify import simplify

    seen = dict.fromkeys(Verdict, 0)
    reasoner = HermitReasoner()
    try:
        for seed in range(80):
            rng = random.Random(seed)
            axioms: list[Axiom] = [
                SubClassOf(_random_expression(rng, 1), _random_expression(rng, 2)) for _ in range(5)
            ]
            role_axioms = (
                TransitiveObjectProperty(R),
                SubObjectPropertyOf(S, R),
                SubObjectPropertyOf(S, ObjectInverseOf(R)),
            )
            axioms += rng.sample(role_axioms, 2)
            people = ("urn:a", "urn:b", "urn:c")
            assertions: list[Assertion] = [
                *(ClassAssertion(_random_expression(rng, 0), rng.choice(people)) for _ in range(3)),
                *(
                    ObjectPropertyAssertion(
                        rng.choice((R, S)), rng.choice(people), rng.choice(people)
                    )
                    for _ in range(3)
                ),
            ]
            simplified = simplify(TBox(tuple(axioms)))
            expected = reasoner.decide_consistency(axioms, assertions)
            found = reasoner.decide_consistency(clause_axioms(simplified.clauses), assertions)
            assert found == expected, f"seed {seed}"
            seen[expected.verdict] += 1
    finally:
        reasoner.close()
    assert seen[Verdict.CONSISTENT] >= 20, seen
    assert seen[Verdict.INCONSISTENT] >= 20, seen
