"""What is sent means what was to be said, also where the OWL API keeps sets; and it is counted
right.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import pytest

from shiq.model import (
    NOTHING,
    THING,
    TOP_DATATYPE,
    XSD,
    Assertion,
    Axiom,
    Class,
    ClassAssertion,
    DataComplementOf,
    DataHasValue,
    DataIntersectionOf,
    DataMaxCardinality,
    DataOneOf,
    DataProperty,
    DataPropertyAssertion,
    DataSomeValuesFrom,
    Datatype,
    DatatypeRestriction,
    DataUnionOf,
    DifferentIndividuals,
    DisjointClasses,
    DisjointDataProperties,
    DisjointObjectProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentObjectProperties,
    HasKey,
    InverseObjectProperties,
    Literal,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectHasValue,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMinCardinality,
    ObjectOneOf,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    SameIndividual,
    SubClassOf,
    SubObjectPropertyChain,
    SubObjectPropertyOf,
)
from shiq.reasoner.ontology_text import (
    Unsendable,
    cover_by_cliques,
    make_sendable,
    write_ontology_text,
)
from shiq.reasoner.structure import (
    data_parts,
    entity_kinds,
    rename_individuals,
    replace_data_parts,
    structural_key,
)

A, B, C = (Class(f"urn:{name}") for name in "ABC")
R, S, T = (ObjectProperty(f"urn:{name}") for name in "rst")
F, G = DataProperty("urn:f"), DataProperty("urn:g")
INTEGER = Datatype(XSD + "integer")
ONE, TWO = Literal("1", INTEGER.iri), Literal("2", INTEGER.iri)
EMPTY_ROLE = ObjectAllValuesFrom(R, NOTHING)


@pytest.mark.parametrize(
    ("axiom", "sent"),
    [
        (DisjointClasses((A, A)), [SubClassOf(A, NOTHING)]),
        (DisjointClasses((A, B, A)), [SubClassOf(A, NOTHING), DisjointClasses((A, B))]),
        (
            DisjointClasses((ObjectIntersectionOf((A, B)), ObjectIntersectionOf((B, A)))),
            [SubClassOf(ObjectIntersectionOf((B, A)), NOTHING)],
        ),
        (DisjointClasses((A,)), []),
        (DisjointUnion(A, (B, C)), [DisjointUnion(A, (B, C))]),
        (DisjointUnion(A, (B, B)), [EquivalentClasses((A, B)), SubClassOf(B, NOTHING)]),
        (
            DisjointUnion(A, (B, C, B)),
            [EquivalentClasses((A, ObjectUnionOf((B, C)))), SubClassOf(B, NOTHING), DisjointClasses((B, C))],
        ),
        (DisjointUnion(A, ()), [EquivalentClasses((A, NOTHING))]),
        (DisjointObjectProperties((R, R)), [SubClassOf(THING, EMPTY_ROLE)]),
        (DisjointObjectProperties((R, ObjectInverseOf(R))), [DisjointObjectProperties((R, ObjectInverseOf(R)))]),
        (DisjointDataProperties((F, G, F)), [SubClassOf(THING, DataMaxCardinality(0, F)), DisjointDataProperties((F, G))]),
        (EquivalentClasses((A, A)), []),
        (EquivalentObjectProperties((R,)), []),
        (SubObjectPropertyChain((R,), S), [SubObjectPropertyOf(R, S)]),
        (SubClassOf(ObjectIntersectionOf(()), ObjectUnionOf(())), [SubClassOf(THING, NOTHING)]),
        (SubClassOf(ObjectIntersectionOf((ObjectUnionOf((A,)),)), ObjectOneOf(())), [SubClassOf(A, NOTHING)]),
        (
            SubClassOf(A, DataSomeValuesFrom(F, DataUnionOf((DataOneOf(()), DataIntersectionOf(())))),),
            [SubClassOf(A, DataSomeValuesFrom(F, DataUnionOf((DataComplementOf(TOP_DATATYPE), TOP_DATATYPE))))],
        ),
        (SubClassOf(A, DataSomeValuesFrom(F, DatatypeRestriction(INTEGER, ()))), [SubClassOf(A, DataSomeValuesFrom(F, INTEGER))]),
    ],
)  # fmt: skip
def test_axioms(axiom: Axiom, sent: list[Axiom]) -> None:
    assert make_sendable([axiom], []) == (sent, [])


@pytest.mark.parametrize(
    ("assertion", "sent"),
    [
        (SameIndividual("urn:a", "urn:a"), ClassAssertion(THING, "urn:a")),
        (DifferentIndividuals("urn:a", "urn:a"), ClassAssertion(NOTHING, "urn:a")),
        (
            DifferentIndividuals("_:x.a", "urn:a"),
            DifferentIndividuals("urn:shiq:blank:x.a", "urn:a"),
        ),
        (ClassAssertion(ObjectOneOf(("_:a", "_:b")), "_:c"), None),
    ],
)
def test_assertions(assertion: Assertion, sent: Assertion | None) -> None:
    if sent is None:
        sent = ClassAssertion(
            ObjectOneOf(("urn:shiq:blank:a", "urn:shiq:blank:b")), "urn:shiq:blank:c"
        )
    assert make_sendable([], [assertion]) == ([], [sent])


def test_what_the_owl_api_would_merge_is_sent_once() -> None:
    axioms: list[Axiom] = [
        InverseObjectProperties(R, S),
        InverseObjectProperties(S, R),
        EquivalentClasses((A, ObjectUnionOf((B, C)))),
        EquivalentClasses((ObjectUnionOf((C, B)), A)),
        SubObjectPropertyChain((R, S), R),
        SubObjectPropertyChain((S, R), R),
    ]
    assert len(make_sendable(axioms, [])[0]) == 4
    assert structural_key(axioms[4]) != structural_key(axioms[5])


def test_structure() -> None:
    value = SubClassOf(
        ObjectHasValue(R, "_:a"), DataSomeValuesFrom(F, DataUnionOf((INTEGER, DataOneOf((ONE,)))))
    )
    assert entity_kinds([value]) == {
        ("object property", R.iri),
        ("individual", "_:a"),
        ("data property", F.iri),
        ("datatype", INTEGER.iri),
    }
    has_value = ClassAssertion(DataHasValue(F, TWO), "urn:a")
    ranges, literals = data_parts([value, has_value])
    assert ranges == {DataUnionOf((INTEGER, DataOneOf((ONE,))))}, "the outermost only"
    assert literals == {TWO}, "those in ranges are the ranges' own"
    swapped = replace_data_parts(has_value, {}, {TWO: ONE})
    assert swapped == ClassAssertion(DataHasValue(F, ONE), "urn:a")
    with pytest.raises(KeyError):
        replace_data_parts(value, {}, {})
    assert rename_individuals(value, str.upper) == SubClassOf(ObjectHasValue(R, "_:A"), value.sup)


@pytest.mark.parametrize(
    "value",
    [
        SubClassOf(Class("internal:def#0"), B),
        ClassAssertion(A, "internal:x"),
        SubClassOf(Class("urn:a b"), A),
    ],
)
def test_names_that_cannot_be_sent_are_refused(value: Axiom | Assertion) -> None:
    with pytest.raises(Unsendable):
        write_ontology_text([value])


@pytest.mark.jvm
def test_many_different_individuals_are_sent_as_lists() -> None:
    names = [f"urn:t#i{k}" for k in range(40)]
    pairs = [DifferentIndividuals(*pair) for pair in combinations(names, 2)]
    sent = write_ontology_text([*pairs, DifferentIndividuals("urn:t#x", "urn:t#i7")])
    assert (sent.axioms, sent.text.count("DifferentIndividuals(")) == (2, 2)
    assert len(sent.entities) == 41


def test_cliques_hold_each_pair_and_no_other() -> None:
    draw = random.Random(3)
    for _ in range(300):
        names = [f"i{k}" for k in range(draw.randint(2, 12))]
        density = draw.random()
        pairs = {pair for pair in combinations(names, 2) if draw.random() < density}
        given = [pair if draw.random() < 0.5 else pair[::-1] for pair in pairs]
        found = cover_by_cliques(given)
        assert {tuple(sorted(pair)) for group in found for pair in combinations(group, 2)} == {
            tuple(sorted(p)) for p in pairs
        }
        assert all(len(set(group)) == len(group) > 1 for group in found)
        assert len(found) <= len(pairs)


@pytest.mark.jvm
def test_the_owl_api_counts_as_we_do() -> None:
    """A wrong count of ours would make every answer undetermined."""
    from shiq.reasoner.hermit import HermitReasoner
    from shiq.reasoner.jvm import shared_jvm

    facets = tuple(
        (XSD + name, literal) for name, literal in (("minInclusive", ONE), ("maxExclusive", TWO))
    )
    lots: list[Sequence[Axiom | Assertion]] = [
        [],
        [SubClassOf(A, ObjectMinCardinality(2, R)), SubClassOf(A, DataMaxCardinality(1, F))],
        [
            SubClassOf(THING, B),
            InverseObjectProperties(R, S),
            HasKey(A, (R,), (F,)),
            SubObjectPropertyChain((R, R), T),
        ],
        [SubClassOf(A, DataSomeValuesFrom(F, DatatypeRestriction(INTEGER, facets)))],
        [
            DataPropertyAssertion(F, "urn:a", Literal("x")),
            DataPropertyAssertion(F, "urn:a", Literal("1", XSD + "byte")),
        ],
        [
            DataPropertyAssertion(
                F,
                "urn:a",
                Literal("x", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "en"),
            )
        ],
        [
            ClassAssertion(ObjectOneOf(("urn:a", "urn:b")), "urn:a"),
            ClassAssertion(Class("urn:a"), "urn:A"),
            ClassAssertion(A, "urn:A"),
        ],
        [
            ObjectPropertyAssertion(ObjectInverseOf(R), "urn:a", "urn:b"),
            NegativeObjectPropertyAssertion(R, "urn:a", "urn:a"),
        ],
        [
            ClassAssertion(
                DataHasValue(F, Literal('a "quoted"\nback\\slash')), "http://x.example/ü#é?a=b&c(d)"
            )
        ],
    ]
    reasoner = HermitReasoner()
    try:
        jvm = shared_jvm(reasoner, "1g")
        for values in lots:
            assert jvm.is_consistent((), write_ontology_text(values), 60) is True, values
    finally:
        reasoner.close()
