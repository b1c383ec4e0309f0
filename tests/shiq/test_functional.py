"""Functional-style syntax: round trips, recovery from errors, and what it counts."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from owl_values import assertion_strategies, axiom_strategies, class_expressions, data_ranges

from shiq import model as m
from shiq.answers.verdict import Verdict
from shiq.api import check_insertions
from shiq.errors import InputError
from shiq.functional import axiom_text, ontology_text, parse_functional, read_document
from shiq.functional.reader import MAX_DEPTH
from shiq.inputs.reading import Reading
from shiq.model.abox import abox_of
from shiq.model.walk import MOST_DIFFERENT

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / os.environ.get("SHIQ_PEERS", "../shared/peers")
CASES = sorted((PEERS / "cases").rglob("*.ofn"))

A, B = m.Class("urn:A"), m.Class("urn:B")
R = m.ObjectProperty("urn:r")
PREFIX = "Prefix(:=<urn:>)\n"

relaxed = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def read(body: str, scope: str = "") -> Reading:
    return parse_functional(f"{PREFIX}Ontology(\n{body}\n)", "test.ofn", scope)


def one_axiom(body: str) -> m.Axiom:
    reading = read(body)
    assert reading.leftovers == ()
    (axiom,) = reading.tbox.axioms
    return axiom


# --- round trips ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", axiom_strategies, ids=lambda kind: kind.__name__)
def test_axioms_come_back(kind: type) -> None:
    @relaxed
    @given(axiom_strategies[kind])
    def check(axiom: Any) -> None:
        document = read_document(f"Ontology({axiom_text(axiom)})", "t", "")
        assert document.leftovers == ()
        assert [value for _, value in document.axioms] == [axiom]

    check()


@pytest.mark.parametrize("kind", assertion_strategies, ids=lambda kind: kind.__name__)
def test_assertions_come_back(kind: type) -> None:
    @relaxed
    @given(assertion_strategies[kind])
    def check(assertion: Any) -> None:
        document = read_document(f"Ontology({axiom_text(assertion)})", "t", "")
        assert document.leftovers == ()
        assert [value for _, value in document.assertions] == [assertion]

    check()


@relaxed
@given(class_expressions, data_ranges)
def test_expressions_come_back(expression: Any, range: Any) -> None:
    text = f"SubClassOf({axiom_text(expression)} DataSomeValuesFrom(<urn:d> {axiom_text(range)}))"
    assert one_axiom(text) == m.SubClassOf(
        expression, m.DataSomeValuesFrom(m.DataProperty("urn:d"), range)
    )


def test_every_constructor_is_generated() -> None:
    assert set(axiom_strategies) == set(get_args(m.Axiom))
    assert set(assertion_strategies) == set(get_args(m.Assertion))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.one_of(*axiom_strategies.values()), max_size=8),
    st.lists(st.one_of(*assertion_strategies.values()), max_size=8),
)
def test_documents_come_back(axioms: list[Any], assertions: list[Any]) -> None:
    reading = parse_functional(ontology_text(axioms, assertions), "t", "")
    assert reading.leftovers == ()
    assert reading.tbox.axioms == tuple(dict.fromkeys(axioms))
    assert list(reading.abox) == list(abox_of(assertions))
    counts = dict(reading.ledger)
    counts.pop("declaration", None)
    assert sum(counts.values()) == len(axioms) + len(assertions)


@pytest.mark.skipif(not CASES, reason="the peers' cases are not here (SHIQ_PEERS)")
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_peer_cases_come_back(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    reading = parse_functional(text, path.name, "s")
    assert reading.leftovers == ()
    assert len(reading.tbox.axioms) + len(reading.abox) > 0
    lines = sum(
        1 for line in text.splitlines() if line and not line.startswith(("Prefix", "Ontology", ")"))
    )
    assert sum(reading.ledger.values()) == lines
    again = parse_functional(ontology_text(reading.tbox.axioms, reading.abox), path.name, "s")
    assert again.leftovers == ()
    assert again.tbox.axioms == reading.tbox.axioms
    assert list(again.abox) == list(reading.abox)


# --- reading --------------------------------------------------------------------------------------


def test_whole_document() -> None:
    text = """\ufeff# a comment
    Prefix(:=<http://e/>) Prefix( ex: = <http://x#> )
    Ontology(<http://e/o> <http://e/o/1>   # header
      Import(<http://e/other>)
      Annotation(Annotation(rdfs:label "inner") rdfs:comment "a (nested) \\"one\\" # no comment"@en-GB)
      Declaration(Class(:A)) Declaration(Annotation(rdfs:label "x") DataProperty(:d)) Declaration(NamedIndividual(:a))
      Declaration(Datatype(:T)) Declaration(AnnotationProperty(:note)) Declaration(ObjectProperty(ex:r))
      SubClassOf(Annotation(:note _:b) :A ObjectSomeValuesFrom(ObjectInverseOf(ex:r) owl:Thing))
      AnnotationAssertion(:note2 :A "3"^^xsd:integer) SubAnnotationPropertyOf(:note :note3)
      AnnotationPropertyDomain(:note :A) AnnotationPropertyRange(:note xsd:string)
      SameIndividual(:a :b :c) DifferentIndividuals(:a _:x :a :d)
      ClassAssertion(:A _:x) DataPropertyAssertion(:d :a "one
two"@EN)
      NegativeObjectPropertyAssertion(ObjectInverseOf(ex:r) :a :b)
      HasKey(:A () (:d)) SubObjectPropertyOf(ObjectPropertyChain(ex:r ex:r) ex:r)
    )"""
    document = read_document(text, "doc.ofn", "f7")
    assert (document.iri, document.version, document.imports) == (
        "http://e/o",
        "http://e/o/1",
        ("http://e/other",),
    )
    assert [(leftover.kind, leftover.line) for leftover in document.leftovers] == [
        ("missing-import", 4)
    ]
    assert document.ledger == {
        "leftover:missing-import": 1,
        "annotation": 5,
        "declaration": 6,
        "axiom": 3,
        "assertion": 5,
    }
    r = m.ObjectProperty("http://x#r")
    assert document.axioms == (
        (
            8,
            m.SubClassOf(
                m.Class("http://e/A"), m.ObjectSomeValuesFrom(m.ObjectInverseOf(r), m.THING)
            ),
        ),
        (15, m.HasKey(m.Class("http://e/A"), (), (m.DataProperty("http://e/d"),))),
        (15, m.SubObjectPropertyChain((r, r), r)),
    )
    assertions = [value for _, value in document.assertions]
    assert m.SameIndividual("http://e/b", "http://e/c") in assertions
    assert [value for value in assertions if isinstance(value, m.DifferentIndividuals)] == [
        m.DifferentIndividuals("http://e/a", "_:f7.x"),
        m.DifferentIndividuals("http://e/a", "http://e/d"),
        m.DifferentIndividuals("_:f7.x", "http://e/d"),
    ]
    assert m.ClassAssertion(m.Class("http://e/A"), "_:f7.x") in assertions
    literal = m.Literal("one\ntwo", m.RDF + "langString", "en")
    assert (
        m.DataPropertyAssertion(m.DataProperty("http://e/d"), "http://e/a", literal) in assertions
    )
    assert document.signature == m.Signature(
        frozenset({"http://e/A"}),
        frozenset({"http://x#r"}),
        frozenset({"http://e/d"}),
        frozenset({"http://e/note", "http://e/note2", "http://e/note3"}),
        frozenset({"http://e/T"}),
    )


def test_assertions_declare_nothing() -> None:
    assert (
        read("ClassAssertion(:Typo :a) ObjectPropertyAssertion(:r :a :b)").tbox.signature
        == m.Signature()
    )


def test_axioms_are_kept_once() -> None:
    reading = read(
        'SubClassOf(:A :B) SubClassOf(Annotation(rdfs:label "again") :A :B) ClassAssertion(:A :a) ClassAssertion(:A :a)'
    )
    assert reading.tbox.axioms == (m.SubClassOf(A, B),)
    assert len(reading.abox) == 1
    assert reading.ledger == {"axiom": 2, "assertion": 2}


def test_strings_are_unescaped() -> None:
    reading = read(
        r'DataPropertyAssertion(:d :a "q\"b\\n") DataPropertyAssertion(:d :a "x" ^^ xsd:string)'
    )
    assert reading.leftovers == ()
    assert reading.abox.literals == [m.Literal('q"b\\n'), m.Literal("x")]


def test_disjointness_is_a_set() -> None:
    assert one_axiom("DisjointClasses(:A :B :A)") == m.DisjointClasses((A, B))


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("SubClassOf(:A)", "malformed", "takes 2 arguments, here are 1"),
        ("SubClassOf(:A foo:B)", "malformed", "prefix foo: is not declared"),
        ('SubClassOf(:A "B")', "malformed", "Literal where a class is expected"),
        ("SubClassOf(:A _:b)", "malformed", "where a class is expected"),
        (
            "SubClassOf(:A ObjectSomeValuesFrom(2 :B))",
            "malformed",
            "2 where an object property is expected",
        ),
        ("SubClassOf(:A ObjectMinCardinality(:r 2))", "malformed", "where a number is expected"),
        (
            "SubClassOf(:A ObjectSomeValuesFrom(ObjectInverseOf(ObjectInverseOf(:r)) :B))",
            "malformed",
            "ObjectInverseOf where",
        ),
        ("SubClassOf(:A ObjectIntersectionOf())", "malformed", "at least 1"),
        (
            "SubClassOf(:A SubObjectPropertyOf(:r :s))",
            "malformed",
            "closing parenthesis is missing",
        ),
        ("SubClassOf(:A Class(:B))", "malformed", "Entity where a class is expected"),
        ("SubClassOf(:A Annotation(:n :v) :B)", "malformed", "here are 3"),
        ("SubClassOf(:A (:B))", "malformed", "Group where a class is expected"),
        ("SubClassOf(:A <not an iri>)", "malformed", "is not an absolute IRI"),
        ("SubClassOf(:A <relative>)", "malformed", "is not an absolute IRI"),
        ("SubClassOf(:A = :B)", "malformed", "cannot stand here"),
        ("EquivalentClasses(:A)", "malformed", "at least 2"),
        ("DisjointClasses(:A :A)", "malformed", "all members are the same"),
        ("DifferentIndividuals(:a :a)", "malformed", "all members are the same"),
        (r'DataPropertyAssertion(:d :a "a\nb")', "malformed", "escape"),
        ('DataPropertyAssertion(:d :a "a"^^)', "malformed", "datatype or language tag is broken"),
        (
            "DatatypeDefinition(:T DatatypeRestriction(xsd:integer xsd:minInclusive))",
            "malformed",
            "at least 3",
        ),
        ("ObjectSomeValuesFrom(:r :B)", "malformed", "cannot stand where an axiom is expected"),
        ("SubClasOf(:A :B)", "malformed", "SubClasOf is no construct"),
        (
            "SubClassOf(:A ObjectSomeValueFrom(:r :B))",
            "malformed",
            "ObjectSomeValueFrom is no construct",
        ),
        ("Prefix(:=<urn:y>)", "outside-shiq", "Prefix is no construct"),
        (
            "DLSafeRule(Body(ClassAtom(:A Variable(<urn:x>))) Head(ClassAtom(:B Variable(<urn:x>))))",
            "outside-shiq",
            "DLSafeRule",
        ),
        (
            "SubClassOf(:A DataSomeValuesFrom(:d :e xsd:integer))",
            "outside-shiq",
            "several properties",
        ),
        ("SubClassOf(:A owl:Nothin)", "unknown-vocabulary", "owl#Nothin"),
        ("Declaration(Class(rdfs:Klass))", "unknown-vocabulary", "Klass"),
        (
            "SubClassOf(:A ObjectSomeValuesFrom(owl:topProperty :B))",
            "unknown-vocabulary",
            "topProperty",
        ),
        ("DataPropertyRange(:d xsd:integr)", "unknown-vocabulary", "XMLSchema#integr"),
        ('DataPropertyAssertion(:d :a "1"^^xsd:integr)', "unknown-vocabulary", "XMLSchema#integr"),
        (f"SubClassOf(:A ObjectMinCardinality({'9' * 5000} :r))", "malformed", "cannot stand here"),
    ],
)
def test_errors_are_leftovers(body: str, kind: str, message: str) -> None:
    reading = read(f"SubClassOf(:A :B)\n{body}\nSubClassOf(:B :A)\nClassAssertion(:A :a)")
    assert set(reading.tbox.axioms) >= {m.SubClassOf(A, B), m.SubClassOf(B, A)}
    assert len(reading.abox) == 1
    first = reading.leftovers[0]
    assert (first.kind, first.source, first.line) == (kind, "test.ofn", 4)
    assert message in first.message
    assert sum(reading.ledger.values()) == 3 + sum(
        leftover.count for leftover in reading.leftovers
    ) + (1 if "SubObjectPropertyOf" in body else 0)


def test_same_individuals_stay_the_same_without_an_axiom_about_some_of_them() -> None:
    def pairs(*members: str) -> set[frozenset[str]]:
        text = f"SameIndividual({' '.join(f'<urn:{name}>' for name in members)})"
        return {
            frozenset((a.first, a.second))
            for _, a in read_document(f"Ontology({text})", "t", "").assertions
        }

    assert not pairs(*"abcd") - pairs(*"dbca")
    for gone in ("ab", "ac", "bcd"):
        left, alike = pairs(*"abcd") - pairs(*gone), {"urn:a"}
        for _ in left:
            alike |= {name for pair in left if pair & alike for name in pair}
        assert alike == {f"urn:{name}" for name in "abcd"}, gone


def test_too_many_same_individuals_are_refused() -> None:
    text = f"SameIndividual({' '.join(f'<urn:i{k}>' for k in range(MOST_DIFFERENT + 1))})"
    (leftover,) = read_document(f"Ontology({text})", "t", "").leftovers
    assert (
        leftover.message.startswith("SameIndividual of 2001 is over the limit of 2000")
        and "pairs" in leftover.hint
    )


def test_hints() -> None:
    assert read("SubClasOf(:A :B)").leftovers[0].hint == "did you mean SubClassOf?"
    assert "owl#Thing" in read("SubClassOf(owl:Thng :B)").leftovers[0].hint
    assert "XMLSchema#integer" in read("DataPropertyRange(:d xsd:integr)").leftovers[0].hint
    assert read("DataPropertyRange(:d xsd:QName)").leftovers == ()


def test_missing_parenthesis_costs_one_axiom() -> None:
    reading = read("SubClassOf(:A ObjectSomeValuesFrom(:r :B)\nSubClassOf(:A :B)")
    assert reading.tbox.axioms == (m.SubClassOf(A, B),)
    assert [(leftover.line, leftover.text) for leftover in reading.leftovers] == [
        (3, "SubClassOf(:A ObjectSomeValuesFrom(:r :B)")
    ]


def test_parenthesis_too_many() -> None:
    reading = read("SubClassOf(:A :B))\nSubClassOf(:B :A)")
    assert reading.tbox.axioms == (m.SubClassOf(A, B), m.SubClassOf(B, A))
    assert [leftover.line for leftover in reading.leftovers] == [3]
    assert len(read("SubClassOf(:A :B)\n)").leftovers) == 1


def test_missing_quote_hides_nothing() -> None:
    reading = read(
        'DataPropertyAssertion(:d :a "open)\nDataPropertyAssertion(:d :b "x")\nSubClassOf(:A :B)'
    )
    assert reading.tbox.axioms == (m.SubClassOf(A, B),)
    assert list(reading.abox) == [
        m.DataPropertyAssertion(m.DataProperty("urn:d"), "urn:b", m.Literal("x"))
    ]
    assert [leftover.line for leftover in reading.leftovers] == [3]
    last = read('SubClassOf(:A :B)\nDataPropertyAssertion(:d :a "open)')
    assert last.tbox.axioms == (m.SubClassOf(A, B),)
    assert {leftover.kind for leftover in last.leftovers} == {"malformed"}


def test_a_quoted_axiom_is_no_axiom() -> None:
    reading = read(
        'SubClassOf(Annotation(rdfs:comment "as in\nSubClassOf(:B :A)\n") :A foo:B)\nSubClassOf(:A :B)'
    )
    assert reading.tbox.axioms == (m.SubClassOf(A, B),)
    assert len(reading.leftovers) == 1


def test_what_a_foreign_construct_holds_is_not_read() -> None:
    reading = read("Not(\nSubClassOf(:A :B)\n)\nSubClassOf(:B :A)")
    assert reading.tbox.axioms == (m.SubClassOf(B, A),)
    assert [leftover.kind for leftover in reading.leftovers] == ["outside-shiq"]


def test_equal_leftovers_are_one_row() -> None:
    reading = read("\n".join(f"ClassAssertion(foo:A :a{i})" for i in range(1000)))
    assert [(leftover.count, leftover.line) for leftover in reading.leftovers] == [(1000, 3)]
    assert reading.ledger == {"leftover:malformed": 1000}


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_cut_file_is_noticed(cut: int) -> None:
    text = f"{PREFIX}Ontology(SubClassOf(:A :B)\nSubClassOf(:B ObjectSomeValuesFrom(:r :A)))"
    try:
        reading = parse_functional(text[:-cut], "cut.ofn", "")
    except InputError:
        assert "Ontology(" not in text[:-cut]
    else:
        assert {leftover.kind for leftover in reading.leftovers} == {"malformed"}


def test_a_file_cut_between_axioms_is_noticed() -> None:
    reading = parse_functional(f"{PREFIX}Ontology(SubClassOf(:A :B)\nSubClassOf(:B ", "cut.ofn", "")
    assert ["cut short" in leftover.message for leftover in reading.leftovers] == [True]
    reading = parse_functional(f"{PREFIX}Ontology(SubClassOf(:A :B)\n", "cut.ofn", "")
    assert ["cut short" in leftover.message for leftover in reading.leftovers] == [True]


def test_deep_nesting() -> None:
    def nested(depth: int) -> str:
        return f"SubClassOf(:A {'ObjectComplementOf(' * depth}:B{')' * depth})"

    reading = read(nested(100_000) + "\nSubClassOf(:A :B)")
    assert reading.tbox.axioms == (m.SubClassOf(A, B),)
    assert [(leftover.kind, leftover.line) for leftover in reading.leftovers] == [("malformed", 3)]
    assert f"{MAX_DEPTH} levels" in reading.leftovers[0].message
    deepest = one_axiom(nested(MAX_DEPTH - 1))
    assert one_axiom(axiom_text(deepest)) == deepest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   # nothing\n",
        "<!DOCTYPE html><html></html>",
        "<urn:a> <urn:b> <urn:c> .",
        PREFIX,
        "Class: A",
        f"{PREFIX}SubClassOf(:A :B)",
    ],
)
def test_not_functional_syntax(text: str) -> None:
    with pytest.raises(
        InputError, match=r"page\.ofn is not an ontology in OWL 2 functional-style syntax"
    ):
        parse_functional(text, "page.ofn", "s")


def test_broken_prefixes() -> None:
    text = "Prefix(a:=<urn:1#>)\nPrefix(d:=<urn:>)\nPrefix(b)\nPrefix(c:=<urn:3#>\nOntology(SubClassOf(d:A <urn:B>))"
    reading = parse_functional(text, "p.ofn", "")
    assert [leftover.line for leftover in reading.leftovers] == [3, 4]
    assert reading.tbox.axioms == (m.SubClassOf(A, B),)


@pytest.mark.parametrize(
    "again",
    [
        "Prefix(a:=<urn:>) Prefix(a:=<urn:2#>)",
        "Prefix(a:=<urn:>) Prefix(a:=<urn:2#>) Prefix(a:=<urn:>)",
    ],
)
def test_a_prefix_that_is_bound_to_two_iris_means_nothing(again: str) -> None:
    reading = parse_functional(
        f"{again}\nOntology(\nSubClassOf(a:A <urn:B>)\nSubClassOf(<urn:A> <urn:B>))", "p.ofn", ""
    )
    assert reading.leftovers[-1].line == 3
    assert "stands for two IRIs" in reading.leftovers[-1].message
    assert reading.tbox.axioms == (m.SubClassOf(A, B),)


@pytest.mark.parametrize(
    "value", ['"x"@abcdefghi', '"x"@en-abcdefghi', '"x"@en_US', '"x"^^rdf:langString', '"a\0b"']
)
def test_literals_that_rdf_does_not_have_are_malformed(value: str) -> None:
    reading = read(
        f'DataPropertyAssertion(:d :x {value})\nDataPropertyAssertion(:d :x "x"@en-Latn-x-abcdefgh)'
    )
    assert [(leftover.kind, leftover.count) for leftover in reading.leftovers] == [("malformed", 1)]
    assert len(reading.abox) == 1


def test_a_contradiction_by_a_prefix_bound_anew_is_none(tmp_path: Path) -> None:
    batch = tmp_path / "i.ofn"
    batch.write_text("Prefix(owl:=<urn:own#>)\nOntology(ClassAssertion(owl:Nothing <urn:x>))")
    tbox = tmp_path / "t.ofn"
    tbox.write_text("Ontology(SubClassOf(<urn:A> <urn:B>))")
    assert check_insertions(tbox, None, batch, reasoner="own").verdict is Verdict.UNDETERMINED


FRAGMENTS = [
    *'()<>"\\@^:_=# \n1a',
    "SubClassOf(",
    "HasKey(",
    "Foo(",
    ":A ",
    "<urn:x>",
    '"x"^^',
    "\nClassAssertion(",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join))
def test_any_text_is_accounted_for(body: str) -> None:
    reading = read(body + "\nSubClassOf(:A :B)")
    assert sum(reading.ledger.values()) > 0
    if reading.tbox.axioms == () or m.SubClassOf(A, B) not in reading.tbox.axioms:
        assert reading.leftovers != ()


# --- writing --------------------------------------------------------------------------------------


def test_texts() -> None:
    assert axiom_text(m.SubClassOf(A, m.ObjectMaxCardinality(2, m.ObjectInverseOf(R)))) == (
        "SubClassOf(<urn:A> ObjectMaxCardinality(2 ObjectInverseOf(<urn:r>)))"
    )
    assert axiom_text(m.SubObjectPropertyChain((R, m.ObjectInverseOf(R)), R)) == (
        "SubObjectPropertyOf(ObjectPropertyChain(<urn:r> ObjectInverseOf(<urn:r>)) <urn:r>)"
    )
    assert axiom_text(m.HasKey(A, (R,), ())) == "HasKey(<urn:A> (<urn:r>) ())"
    assert axiom_text(
        m.DataPropertyAssertion(
            m.DataProperty("urn:d"), "_:f 1.x", m.Literal('a"\\', m.XSD + "string")
        )
    ) == ('DataPropertyAssertion(<urn:d> _:f_x20_1.x "a\\"\\\\")')


def test_deep_values_are_written() -> None:
    value: Any = A
    for _ in range(5000):
        value = m.ObjectComplementOf(value)
    assert axiom_text(value).count("ObjectComplementOf(") == 5000


def test_no_iri_breaks_out() -> None:
    with pytest.raises(ValueError, match="not an IRI"):
        axiom_text(m.SubClassOf(m.Class("urn:A> <urn:B"), B))


def test_declarations() -> None:
    axioms = [
        m.SubClassOf(A, m.DataSomeValuesFrom(m.DataProperty("urn:d"), m.Datatype("urn:T"))),
        m.SubClassOf(A, m.THING),
    ]
    text = ontology_text(axioms, [m.ObjectPropertyAssertion(R, "urn:a", "_:b")])
    declared = [line for line in text.splitlines() if line.startswith("Declaration")]
    assert sorted(declared) == [
        "Declaration(Class(<urn:A>))",
        "Declaration(DataProperty(<urn:d>))",
        "Declaration(Datatype(<urn:T>))",
        "Declaration(NamedIndividual(<urn:a>))",
        "Declaration(ObjectProperty(<urn:r>))",
    ]


def test_repeated_members_are_written_as_what_they_mean() -> None:
    axioms: list[m.Axiom] = [
        m.EquivalentClasses((A, A)),
        m.DisjointClasses((A, B, A)),
        m.DisjointObjectProperties((R, R)),
        m.DisjointDataProperties((m.DataProperty("urn:d"), m.DataProperty("urn:d"))),
        m.DisjointUnion(A, (B, B)),
    ]
    reading = parse_functional(
        ontology_text(
            axioms, [m.SameIndividual("urn:a", "urn:a"), m.DifferentIndividuals("urn:a", "urn:a")]
        ),
        "t",
        "",
    )
    assert reading.leftovers == ()
    assert set(reading.tbox.axioms) == {
        m.SubClassOf(A, m.NOTHING),
        m.DisjointClasses((A, B)),
        m.SubClassOf(m.THING, m.ObjectAllValuesFrom(R, m.NOTHING)),
        m.SubClassOf(m.THING, m.DataMaxCardinality(0, m.DataProperty("urn:d"))),
        m.SubClassOf(B, A),
        m.SubClassOf(A, m.ObjectUnionOf((B, B))),
        m.SubClassOf(B, m.NOTHING),
    }
    assert list(reading.abox) == [m.ClassAssertion(m.NOTHING, "urn:a")]


# --- against another reader -----------------------------------------------------------------------


def _hermit_jar() -> Path | None:
    spec = find_spec("owlready2")
    return Path(spec.origin).parent / "hermit" / "HermiT.jar" if spec and spec.origin else None


@pytest.mark.jvm
@pytest.mark.skipif(
    shutil.which("java") is None or _hermit_jar() is None, reason="no Java, or no HermiT"
)
@pytest.mark.parametrize(
    ("axioms", "assertions", "consistent"),
    [
        (
            [m.SubClassOf(A, B)],
            [
                m.ClassAssertion(A, "urn:a"),
                m.ClassAssertion(m.ObjectComplementOf(B), "_:some file.x"),
            ],
            True,
        ),
        ([], [m.DifferentIndividuals("urn:a", "urn:a")], False),
        ([m.DisjointClasses((A, A))], [m.ClassAssertion(A, "_:/tmp/x#1")], False),
        (
            [m.DisjointObjectProperties((R, R))],
            [m.ObjectPropertyAssertion(R, "urn:a", "urn:b")],
            False,
        ),
        (
            [m.DisjointUnion(A, (B, B)), m.EquivalentClasses((A, A))],
            [m.ClassAssertion(A, "urn:a")],
            False,
        ),
        (
            [m.FunctionalDataProperty(m.DataProperty("urn:d"))],
            [
                m.DataPropertyAssertion(m.DataProperty("urn:d"), "urn:a", m.Literal(text))
                for text in ('a"\\\n\t# )', 'a"\\\n\t# )(')
            ],
            False,
        ),
    ],
    ids=["plain", "different", "disjoint", "disjoint-roles", "disjoint-union", "escapes"],
)
def test_hermit_reads_it(
    tmp_path: Path, axioms: list[m.Axiom], assertions: list[m.Assertion], consistent: bool
) -> None:
    path = tmp_path / "o.ofn"
    path.write_text(ontology_text(axioms, assertions), encoding="utf-8")
    command = ["java", "-Xmx256m", "-jar", str(_hermit_jar()), "-k", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (
        "Thing is satisfiable" in done.stdout,
        "InconsistentOntologyException" in done.stderr,
    ) == (consistent, not consistent)
