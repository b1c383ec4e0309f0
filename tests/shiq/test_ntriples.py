"""Assertions as N-Triples: valid lines that say the same, and the same lines for the same
assertion.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from owl_values import assertion_strategies, iris, literals, texts
from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple, parse
from pyoxigraph import Literal as OxLiteral

from shiq import model as m
from shiq.model.ntriples import assertion_lines, blank_term, individual_term, literal_term
from shiq.rdf import read_assertions

A, B, R, D = m.Class("urn:A"), m.Class("urn:B"), m.ObjectProperty("urn:r"), m.DataProperty("urn:d")
INVERSE = m.ObjectInverseOf(R)
INTEGER = m.Datatype(m.XSD + "integer")
ONE = m.Literal("1", m.XSD + "integer")

any_assertion = st.one_of(*assertion_strategies.values())


def triples(lines: tuple[str, ...]) -> list[Triple]:
    """What a parser makes of ``lines``; one triple each."""
    parsed = [quad.triple for quad in parse("\n".join(lines).encode(), format=RdfFormat.N_TRIPLES)]
    assert len(parsed) == len(lines)
    return parsed


def outline(assertion: m.Assertion) -> list[str]:
    """The triples with short names: blank nodes are numbered in the order seen."""
    nodes: dict[str, str] = {}

    def short(node: Any) -> str:
        if isinstance(node, BlankNode):
            return nodes.setdefault(node.value, f"_{len(nodes) + 1}")
        if isinstance(node, OxLiteral):
            return f"'{node.value}'"
        return str(node.value).replace("#", ":").rsplit("/", 1)[-1].removeprefix("urn:")

    def known(triple: Triple) -> bool:
        return isinstance(triple.subject, NamedNode) or triple.subject.value in nodes

    waiting, found = triples(assertion_lines(assertion)), []
    while waiting:
        triple = next(filter(known, waiting), waiting[0])
        waiting.remove(triple)
        found.append(" ".join(map(short, (triple.subject, triple.predicate, triple.object))))
    return [
        line.replace("22-rdf-syntax-ns:", "rdf:").replace("rdf-schema:", "rdfs:") for line in found
    ]


# --- terms ----------------------------------------------------------------------------------------


@settings(deadline=None)
@given(iris)
def test_iris_come_back(iri: str) -> None:
    (triple,) = triples((f"{individual_term(iri)} <urn:p> <urn:o> .",))
    assert triple.subject == NamedNode(iri)


@settings(deadline=None)
@given(texts | st.text(st.sampled_from('"\\\n\r\t\0\x0b\x0c\x1c\x85\u2028\u2029a'), max_size=8))
def test_literals_come_back(text: str) -> None:
    line = f"<urn:s> <urn:p> {literal_term(m.Literal(text))} ."
    assert len(line.splitlines()) == 1
    (triple,) = triples((line,))
    assert triple.object == OxLiteral(text)


@settings(deadline=None)
@given(literals)
def test_datatypes_and_tags_come_back(value: m.Literal) -> None:
    (triple,) = triples((f"<urn:s> <urn:p> {literal_term(value)} .",))
    assert isinstance(triple.object, OxLiteral)
    assert (triple.object.value, triple.object.datatype.value) == (value.lexical, value.datatype)
    assert (triple.object.language or "") == value.language


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.sampled_from("_x5f.-a /é\n"), max_size=8),
    st.text(st.sampled_from("_x5f.-a /é\n"), max_size=8),
)
def test_blank_nodes_stay_valid_and_distinct(first: str, second: str) -> None:
    triples((f"{individual_term('_:' + first)} <urn:p> {individual_term('_:' + second)} .",))
    assert (blank_term("_:" + first) == blank_term("_:" + second)) == (first == second)


def test_blank_nodes_keep_valid_labels() -> None:
    assert individual_term("_:f1.b0-2_y") == "_:f1.b0-2_y"
    assert individual_term("_:/tmp/a b.nt.x") == "_:_x2f_tmp_x2f_a_x20_b.nt.x"


def test_no_term_breaks_out_of_its_line() -> None:
    for text in ("urn:a> <urn:b", "urn:a b", "urn:a\nb", 'urn:"'):
        assert not set(individual_term(text)[1:-1]) & set('<>" \n')


# --- assertions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assertion", "line"),
    [
        (m.ClassAssertion(A, "urn:a"), f"<urn:a> <{m.RDF}type> <urn:A> ."),
        (m.ClassAssertion(m.NOTHING, "_:s.a"), f"_:s.a <{m.RDF}type> <{m.OWL}Nothing> ."),
        (m.ObjectPropertyAssertion(R, "urn:a", "_:s.b"), "<urn:a> <urn:r> _:s.b ."),
        (m.ObjectPropertyAssertion(INVERSE, "urn:a", "urn:b"), "<urn:b> <urn:r> <urn:a> ."),
        (
            m.DataPropertyAssertion(
                D, "urn:a", m.Literal('say "hi"\n', m.RDF + "langString", "en")
            ),
            '<urn:a> <urn:d> "say \\"hi\\"\\n"@en .',
        ),
        (m.DataPropertyAssertion(D, "urn:a", ONE), f'<urn:a> <urn:d> "1"^^<{m.XSD}integer> .'),
        (m.SameIndividual("urn:a", "urn:b"), f"<urn:a> <{m.OWL}sameAs> <urn:b> ."),
        (m.DifferentIndividuals("urn:a", "urn:b"), f"<urn:a> <{m.OWL}differentFrom> <urn:b> ."),
    ],
)
def test_simple_assertions_are_one_line(assertion: m.Assertion, line: str) -> None:
    assert assertion_lines(assertion) == (line,)


@settings(max_examples=80, deadline=None)
@given(any_assertion, any_assertion)
def test_lines_are_valid_deterministic_and_their_own(first: Any, second: Any) -> None:
    lines = assertion_lines(first)
    assert lines == assertion_lines(first)
    triples(lines)

    def made(assertion: Any) -> set[str]:
        text = " ".join(assertion_lines(assertion)).split()
        return {word for word in text if word.startswith("_:n") and len(word) > 25}

    if lines != assertion_lines(second):
        assert not made(first) & made(second)


def test_negative_assertions() -> None:
    expected = [
        "_1 rdf:type owl:NegativePropertyAssertion",
        "_1 owl:sourceIndividual a",
        "_1 owl:assertionProperty r",
    ]
    assert outline(m.NegativeObjectPropertyAssertion(R, "urn:a", "urn:b")) == [
        *expected,
        "_1 owl:targetIndividual b",
    ]
    assert outline(m.NegativeObjectPropertyAssertion(INVERSE, "urn:b", "urn:a")) == [
        *expected,
        "_1 owl:targetIndividual b",
    ]
    expected[2] = "_1 owl:assertionProperty d"
    assert outline(m.NegativeDataPropertyAssertion(D, "urn:a", ONE)) == [
        *expected,
        "_1 owl:targetValue '1'",
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (m.ObjectComplementOf(A), {"_1 rdf:type owl:Class", "_1 owl:complementOf A"}),
        (
            m.ObjectIntersectionOf((A, B)),
            {
                "_1 rdf:type owl:Class",
                "_1 owl:intersectionOf _2",
                "_2 rdf:first A",
                "_2 rdf:rest _3",
                "_3 rdf:first B",
                "_3 rdf:rest rdf:nil",
            },
        ),
        (
            m.ObjectUnionOf((A,)),
            {"_1 rdf:type owl:Class", "_1 owl:unionOf _2", "_2 rdf:first A", "_2 rdf:rest rdf:nil"},
        ),
        (
            m.ObjectOneOf(("urn:b",)),
            {"_1 rdf:type owl:Class", "_1 owl:oneOf _2", "_2 rdf:first b", "_2 rdf:rest rdf:nil"},
        ),
        (
            m.ObjectSomeValuesFrom(R, A),
            {"_1 rdf:type owl:Restriction", "_1 owl:onProperty r", "_1 owl:someValuesFrom A"},
        ),
        (
            m.ObjectAllValuesFrom(INVERSE, A),
            {
                "_1 rdf:type owl:Restriction",
                "_1 owl:onProperty _2",
                "_2 owl:inverseOf r",
                "_1 owl:allValuesFrom A",
            },
        ),
        (
            m.ObjectHasValue(R, "urn:b"),
            {"_1 rdf:type owl:Restriction", "_1 owl:onProperty r", "_1 owl:hasValue b"},
        ),
        (
            m.ObjectHasSelf(R),
            {"_1 rdf:type owl:Restriction", "_1 owl:onProperty r", "_1 owl:hasSelf 'true'"},
        ),
        (
            m.ObjectMinCardinality(2, R),
            {"_1 rdf:type owl:Restriction", "_1 owl:onProperty r", "_1 owl:minCardinality '2'"},
        ),
        (
            m.ObjectMaxCardinality(2, R, A),
            {
                "_1 rdf:type owl:Restriction",
                "_1 owl:onProperty r",
                "_1 owl:maxQualifiedCardinality '2'",
                "_1 owl:onClass A",
            },
        ),
        (
            m.ObjectExactCardinality(2, R),
            {"_1 rdf:type owl:Restriction", "_1 owl:onProperty r", "_1 owl:cardinality '2'"},
        ),
        (
            m.ObjectExactCardinality(2, R, A),
            {
                "_1 rdf:type owl:Restriction",
                "_1 owl:onProperty r",
                "_1 owl:qualifiedCardinality '2'",
                "_1 owl:onClass A",
            },
        ),
        (
            m.DataMinCardinality(2, D, INTEGER),
            {
                "_1 rdf:type owl:Restriction",
                "_1 owl:onProperty d",
                "_1 owl:minQualifiedCardinality '2'",
                "_1 owl:onDataRange XMLSchema:integer",
            },
        ),
        (
            m.DataMaxCardinality(0, D),
            {"_1 rdf:type owl:Restriction", "_1 owl:onProperty d", "_1 owl:maxCardinality '0'"},
        ),
        (
            m.DataHasValue(D, ONE),
            {"_1 rdf:type owl:Restriction", "_1 owl:onProperty d", "_1 owl:hasValue '1'"},
        ),
        (
            m.DataAllValuesFrom(D, m.DataComplementOf(INTEGER)),
            {
                "_1 rdf:type owl:Restriction",
                "_1 owl:onProperty d",
                "_1 owl:allValuesFrom _2",
                "_2 rdf:type rdfs:Datatype",
                "_2 owl:datatypeComplementOf XMLSchema:integer",
            },
        ),
        (
            m.DataSomeValuesFrom(
                D, m.DatatypeRestriction(INTEGER, ((m.XSD + "minInclusive", ONE),))
            ),
            {
                "_1 rdf:type owl:Restriction",
                "_1 owl:onProperty d",
                "_1 owl:someValuesFrom _2",
                "_2 rdf:type rdfs:Datatype",
                "_2 owl:onDatatype XMLSchema:integer",
                "_2 owl:withRestrictions _3",
                "_3 rdf:first _4",
                "_3 rdf:rest rdf:nil",
                "_4 XMLSchema:minInclusive '1'",
            },
        ),
        (
            m.DataSomeValuesFrom(D, m.DataOneOf((ONE,))),
            {
                "_1 rdf:type owl:Restriction",
                "_1 owl:onProperty d",
                "_1 owl:someValuesFrom _2",
                "_2 rdf:type rdfs:Datatype",
                "_2 owl:oneOf _3",
                "_3 rdf:first '1'",
                "_3 rdf:rest rdf:nil",
            },
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_class_expressions(expression: m.ClassExpression, expected: set[str]) -> None:
    first, *rest = outline(m.ClassAssertion(expression, "urn:a"))
    assert first == "a rdf:type _1"
    assert _renumbered(rest, expected)
    assert len(rest) == len(expected)


def _renumbered(lines: list[str], expected: set[str]) -> bool:
    """Whether ``lines`` are ``expected`` under some naming of the blank nodes but the first."""
    from itertools import permutations

    nodes = sorted(
        {word for line in lines for word in line.split() if word.startswith("_")} - {"_1"}
    )
    names = [dict(zip(nodes, order)) for order in permutations(nodes)]
    return any(
        {" ".join(new.get(word, word) for word in line.split()) for line in lines} == expected
        for new in names
    )


def test_values_with_many_parts_share_no_node() -> None:
    inner = m.ObjectSomeValuesFrom(R, m.ObjectComplementOf(A))
    lines = assertion_lines(m.ClassAssertion(m.ObjectUnionOf((inner, inner)), "urn:a"))
    assert len(set(lines)) == len(lines)
    assert sum(line.endswith(f"<{m.OWL}Restriction> .") for line in lines) == 2


# --- and back -------------------------------------------------------------------------------------

IN_SHIQ = [
    m.ObjectComplementOf(A),
    m.ObjectIntersectionOf((A, m.ObjectUnionOf((B, m.ObjectSomeValuesFrom(INVERSE, A))))),
    m.ObjectAllValuesFrom(R, m.ObjectMinCardinality(2, INVERSE, A)),
    m.ObjectMaxCardinality(1, R),
    m.ObjectExactCardinality(3, R, m.ObjectComplementOf(B)),
    m.DataSomeValuesFrom(D, m.DatatypeRestriction(INTEGER, ((m.XSD + "minInclusive", ONE),))),
    m.DataAllValuesFrom(
        D,
        m.DataUnionOf(
            (INTEGER, m.DataIntersectionOf((m.DataOneOf((ONE,)), m.DataComplementOf(INTEGER))))
        ),
    ),
    m.DataHasValue(D, m.Literal('a "b"\\\n', m.RDF + "langString", "en")),
    m.DataMinCardinality(2, D, INTEGER),
    m.DataMaxCardinality(2, D),
    m.DataExactCardinality(2, D),
]


@pytest.mark.parametrize(
    "assertion",
    [
        *(m.ClassAssertion(expression, "urn:a") for expression in IN_SHIQ),
        m.NegativeObjectPropertyAssertion(R, "urn:a", "urn:b"),
        m.NegativeDataPropertyAssertion(D, "urn:a", ONE),
        m.SameIndividual("urn:a", "urn:b"),
        m.DifferentIndividuals("urn:a", "urn:b"),
        m.DataPropertyAssertion(D, "urn:a", m.Literal("\t\u2028")),
    ],
    ids=lambda value: type(getattr(value, "expression", value)).__name__,
)
def test_our_reader_gives_it_back(assertion: m.Assertion, tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_text("\n".join(assertion_lines(assertion)) + "\n", encoding="utf-8")
    known = m.Signature(frozenset({"urn:A", "urn:B"}), frozenset({"urn:r"}), frozenset({"urn:d"}))
    reading = read_assertions([path], known)
    assert reading.leftovers == ()
    assert list(reading.abox) == [assertion]
