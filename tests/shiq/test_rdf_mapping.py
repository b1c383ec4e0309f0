"""Every construct of the OWL 2 mapping from RDF graphs, and the forms of OWL 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiq.functional import axiom_text, read_document
from shiq.model import (
    OWL,
    RDF,
    XSD,
    Assertion,
    Axiom,
    Class,
    EquivalentClasses,
    Literal,
    SubClassOf,
)
from shiq.rdf import read_ontology
from tests.rdf_helpers import LINES_BEFORE, NS, kinds, turtle, write

DECLARED = """
:A a owl:Class . :B a owl:Class . :C a owl:Class .
:r a owl:ObjectProperty . :s a owl:ObjectProperty . :t a owl:ObjectProperty .
:f a owl:DatatypeProperty . :g a owl:DatatypeProperty . :note a owl:AnnotationProperty . :T a rdfs:Datatype .
"""
ONE, TWO = '"1"^^xsd:integer', '"2"^^xsd:integer'
SOME = "[ a owl:Restriction ; owl:onProperty :r ; owl:someValuesFrom :B ]"

#: Turtle, and the same in functional syntax; each is read alone.
AXIOMS = [
    (":r a owl:ReflexiveProperty .", "ReflexiveObjectProperty(:r)"),
    (
        ":t owl:propertyChainAxiom ( :r [ owl:inverseOf :s ] ) .",
        "SubObjectPropertyOf(ObjectPropertyChain(:r ObjectInverseOf(:s)) :t)",
    ),
    (
        ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :r ; owl:hasSelf true ] .",
        "SubClassOf(:A ObjectHasSelf(:r))",
    ),
    (":A rdfs:subClassOf :B .", "SubClassOf(:A :B)"),
    (f"{SOME} rdfs:subClassOf :A .", "SubClassOf(ObjectSomeValuesFrom(:r :B) :A)"),
    (":A rdfs:subClassOf rdfs:Resource .", "SubClassOf(:A owl:Thing)"),
    (":A owl:equivalentClass :B .", "EquivalentClasses(:A :B)"),
    (":A owl:disjointWith :B .", "DisjointClasses(:A :B)"),
    ("[] a owl:AllDisjointClasses ; owl:members ( :A :B :C ) .", "DisjointClasses(:A :B :C)"),
    (":A owl:disjointUnionOf ( :B :C ) .", "DisjointUnion(:A :B :C)"),
    (":r rdfs:subPropertyOf :s .", "SubObjectPropertyOf(:r :s)"),
    (":f rdfs:subPropertyOf :g .", "SubDataPropertyOf(:f :g)"),
    ("[ owl:inverseOf :r ] rdfs:subPropertyOf :s .", "SubObjectPropertyOf(ObjectInverseOf(:r) :s)"),
    (":r owl:equivalentProperty :s .", "EquivalentObjectProperties(:r :s)"),
    (":f owl:equivalentProperty :g .", "EquivalentDataProperties(:f :g)"),
    (":r owl:propertyDisjointWith :s .", "DisjointObjectProperties(:r :s)"),
    (":f owl:propertyDisjointWith :g .", "DisjointDataProperties(:f :g)"),
    (
        "[] a owl:AllDisjointProperties ; owl:members ( :r [ owl:inverseOf :s ] :t ) .",
        "DisjointObjectProperties(:r ObjectInverseOf(:s) :t)",
    ),
    ("[] a owl:AllDisjointProperties ; owl:members ( :f :g ) .", "DisjointDataProperties(:f :g)"),
    (":r owl:inverseOf :s .", "InverseObjectProperties(:r :s)"),
    (":r owl:inverseOf [ owl:inverseOf :s ] .", "InverseObjectProperties(:r ObjectInverseOf(:s))"),
    (":r rdfs:domain :A .", "ObjectPropertyDomain(:r :A)"),
    (":r rdfs:range :A .", "ObjectPropertyRange(:r :A)"),
    (":f rdfs:domain :A .", "DataPropertyDomain(:f :A)"),
    (":f rdfs:range xsd:integer .", "DataPropertyRange(:f xsd:integer)"),
    (":r a owl:FunctionalProperty .", "FunctionalObjectProperty(:r)"),
    (":f a owl:FunctionalProperty .", "FunctionalDataProperty(:f)"),
    (
        "[ owl:inverseOf :r ] a owl:FunctionalProperty .",
        "FunctionalObjectProperty(ObjectInverseOf(:r))",
    ),
    (":r a owl:InverseFunctionalProperty .", "InverseFunctionalObjectProperty(:r)"),
    (":r a owl:SymmetricProperty .", "SymmetricObjectProperty(:r)"),
    (":r a owl:AsymmetricProperty .", "AsymmetricObjectProperty(:r)"),
    (":r a owl:IrreflexiveProperty .", "IrreflexiveObjectProperty(:r)"),
    (":r a owl:TransitiveProperty .", "TransitiveObjectProperty(:r)"),
    (
        ":T owl:equivalentClass [ a rdfs:Datatype ; owl:oneOf ( 1 2 ) ] .",
        f"DatatypeDefinition(:T DataOneOf({ONE} {TWO}))",
    ),
    (
        "[ a rdfs:Datatype ; owl:oneOf ( 1 ) ] owl:equivalentClass :T .",
        f"DatatypeDefinition(:T DataOneOf({ONE}))",
    ),
    # OWL 1: descriptions on names
    (":A owl:intersectionOf ( :B :C ) .", "EquivalentClasses(:A ObjectIntersectionOf(:B :C))"),
    (":A owl:unionOf ( :B :C ) .", "EquivalentClasses(:A ObjectUnionOf(:B :C))"),
    (":A owl:complementOf :B .", "EquivalentClasses(:A ObjectComplementOf(:B))"),
    (
        ":A a owl:Restriction ; owl:onProperty :r ; owl:allValuesFrom :B .",
        "EquivalentClasses(:A ObjectAllValuesFrom(:r :B))",
    ),
    (":T owl:oneOf ( 1 2 ) .", f"DatatypeDefinition(:T DataOneOf({ONE} {TWO}))"),
    (":A owl:intersectionOf ( :B ) .", "EquivalentClasses(:A :B)"),
    (":A owl:intersectionOf () .", "EquivalentClasses(:A owl:Thing)"),
    (":A owl:unionOf () .", "EquivalentClasses(:A owl:Nothing)"),
    (":A owl:oneOf () .", "EquivalentClasses(:A owl:Nothing)"),
]

RESTRICTIONS = [
    ("owl:onProperty :r ; owl:someValuesFrom :B", "ObjectSomeValuesFrom(:r :B)"),
    (
        "owl:onProperty [ owl:inverseOf :r ] ; owl:allValuesFrom :B",
        "ObjectAllValuesFrom(ObjectInverseOf(:r) :B)",
    ),
    (
        "owl:onProperty [ a owl:ObjectProperty ; owl:inverseOf :r ] ; owl:someValuesFrom owl:Thing",
        "ObjectSomeValuesFrom(ObjectInverseOf(:r) owl:Thing)",
    ),
    ("owl:onProperty :r ; owl:minCardinality 2", "ObjectMinCardinality(2 :r)"),
    (
        'owl:onProperty :r ; owl:maxCardinality "1"^^xsd:nonNegativeInteger',
        "ObjectMaxCardinality(1 :r)",
    ),
    ('owl:onProperty :r ; owl:cardinality "+01"^^xsd:int', "ObjectExactCardinality(1 :r)"),
    ('owl:onProperty :r ; owl:cardinality "1"', "ObjectExactCardinality(1 :r)"),
    (
        "owl:onProperty :r ; owl:minQualifiedCardinality 2 ; owl:onClass :B",
        "ObjectMinCardinality(2 :r :B)",
    ),
    (
        "owl:onProperty :r ; owl:maxQualifiedCardinality 2 ; owl:onClass :B",
        "ObjectMaxCardinality(2 :r :B)",
    ),
    (
        "owl:onProperty :r ; owl:qualifiedCardinality 2 ; owl:onClass :B",
        "ObjectExactCardinality(2 :r :B)",
    ),
    ("owl:onProperty :r ; owl:cardinality 2 ; owl:onClass :B", "ObjectExactCardinality(2 :r :B)"),
    ("owl:onProperty :f ; owl:someValuesFrom xsd:string", "DataSomeValuesFrom(:f xsd:string)"),
    ("owl:onProperty :f ; owl:allValuesFrom :T", "DataAllValuesFrom(:f :T)"),
    ('owl:onProperty :f ; owl:hasValue "x"@EN', 'DataHasValue(:f "x"@en)'),
    ("owl:onProperty :f ; owl:maxCardinality 1", "DataMaxCardinality(1 :f)"),
    ("owl:onProperty :f ; owl:cardinality 1", "DataExactCardinality(1 :f)"),
    (
        "owl:onProperty :f ; owl:minQualifiedCardinality 1 ; owl:onDataRange xsd:int",
        "DataMinCardinality(1 :f xsd:int)",
    ),
]

RANGES = [
    ("[ a rdfs:Datatype ; owl:intersectionOf ( xsd:int :T ) ]", "DataIntersectionOf(xsd:int :T)"),
    ("[ a rdfs:Datatype ; owl:unionOf ( xsd:int :T ) ]", "DataUnionOf(xsd:int :T)"),
    ("[ a rdfs:Datatype ; owl:datatypeComplementOf :T ]", "DataComplementOf(:T)"),
    ("[ a rdfs:Datatype ; owl:complementOf :T ]", "DataComplementOf(:T)"),
    ('[ a owl:DataRange ; owl:oneOf ( "a" 1.50 ) ]', 'DataOneOf("a" "1.50"^^xsd:decimal)'),
    ("[ owl:oneOf ( true ) ]", 'DataOneOf("true"^^xsd:boolean)'),
    ("[ a rdfs:Datatype ; owl:oneOf () ]", "DataComplementOf(rdfs:Literal)"),
    (
        "[ a rdfs:Datatype ; owl:onDatatype xsd:integer ; owl:withRestrictions ([ xsd:minInclusive 1 ] [ xsd:maxExclusive 2 ])]",
        f"DatatypeRestriction(xsd:integer xsd:minInclusive {ONE} xsd:maxExclusive {TWO})",
    ),
    (
        '[ a rdfs:Datatype ; owl:onDatatype rdf:PlainLiteral ; owl:withRestrictions ( [ rdf:langRange "en" ] ) ]',
        'DatatypeRestriction(rdf:PlainLiteral rdf:langRange "en")',
    ),
]

OUTSIDE = [
    (":A owl:hasKey ( :r :f ) .", "HasKey(:A (:r) (:f))"),
    (":A rdfs:subClassOf [ owl:oneOf ( :a _:b ) ] .", "SubClassOf(:A ObjectOneOf(:a _:b))"),
    (":A owl:oneOf ( :a :b ) .", "EquivalentClasses(:A ObjectOneOf(:a :b))"),
    (
        ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :r ; owl:hasValue :a ] .",
        "SubClassOf(:A ObjectHasValue(:r :a))",
    ),
]

ASSERTIONS = [
    (":a a :A .", "ClassAssertion(:A :a)"),
    (":a a owl:Nothing .", "ClassAssertion(owl:Nothing :a)"),
    (f":a a {SOME} .", "ClassAssertion(ObjectSomeValuesFrom(:r :B) :a)"),
    (":a :r _:b .", "ObjectPropertyAssertion(:r :a _:b)"),
    (':a :f "yes"^^xsd:boolean .', 'DataPropertyAssertion(:f :a "yes"^^xsd:boolean)'),
    (":a owl:sameAs :b .", "SameIndividual(:a :b)"),
    (":a owl:differentFrom :b .", "DifferentIndividuals(:a :b)"),
    ("[] a owl:AllDifferent ; owl:members ( :a :b :c ) .", "DifferentIndividuals(:a :b :c)"),
    ("[] a owl:AllDifferent ; owl:distinctMembers ( :a :b ) .", "DifferentIndividuals(:a :b)"),
    (
        "[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ; owl:assertionProperty :r ; owl:targetIndividual :b .",
        "NegativeObjectPropertyAssertion(:r :a :b)",
    ),
    (
        "[] owl:sourceIndividual :a ; owl:assertionProperty [ owl:inverseOf :r ] ; owl:targetIndividual :b .",
        "NegativeObjectPropertyAssertion(:r :b :a)",
    ),
    (
        "[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ; owl:assertionProperty :f ; owl:targetValue 1 .",
        f"NegativeDataPropertyAssertion(:f :a {ONE})",
    ),
]


def said(text: str) -> tuple[list[Axiom], list[Assertion]]:
    prefixes = f"Prefix(:=<{NS}>) Prefix(xsd:=<{XSD}>) Prefix(owl:=<{OWL}>) Prefix(rdf:=<{RDF}>)"
    document = read_document(f"{prefixes} Ontology({text})", "expected", "t0")
    assert not document.leftovers, document.leftovers
    return [axiom for _, axiom in document.axioms], [
        assertion for _, assertion in document.assertions
    ]


@pytest.mark.parametrize(("text", "expected"), AXIOMS)
def test_axioms(tmp_path: Path, text: str, expected: str) -> None:
    reading = turtle(tmp_path, DECLARED + text)
    assert list(reading.tbox.axioms) == said(expected)[0]
    assert {leftover.kind for leftover in reading.leftovers} <= {"unknown-datatype"}
    assert set(reading.ledger) <= {"declaration", "axiom"}


@pytest.mark.parametrize(("text", "expected"), RESTRICTIONS)
def test_restrictions(tmp_path: Path, text: str, expected: str) -> None:
    for typed in ("a owl:Restriction ; ", "a owl:Restriction , owl:Class ; ", ""):
        reading = turtle(tmp_path, DECLARED + f":A rdfs:subClassOf [ {typed}{text} ] .")
        assert list(reading.tbox.axioms) == said(f"SubClassOf(:A {expected})")[0]
        assert {leftover.kind for leftover in reading.leftovers} <= {"unknown-datatype"}


@pytest.mark.parametrize(("text", "expected"), RANGES)
def test_data_ranges(tmp_path: Path, text: str, expected: str) -> None:
    reading = turtle(tmp_path, DECLARED + f":f rdfs:range {text} .")
    assert list(reading.tbox.axioms) == said(f"DataPropertyRange(:f {expected})")[0]
    assert {leftover.kind for leftover in reading.leftovers} <= {"unknown-datatype"}


@pytest.mark.parametrize(("text", "expected"), OUTSIDE)
def test_what_lies_outside_is_named_with_its_axiom_and_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    reading = turtle(tmp_path, DECLARED + "\n" + text)
    assert not reading.tbox.axioms
    (leftover,) = reading.leftovers
    assert (leftover.kind, leftover.line) == (
        "outside-shiq",
        LINES_BEFORE + DECLARED.count("\n") + 2,
    )
    assert leftover.text == axiom_text(said(expected)[0][0])
    assert set(reading.ledger) == {"declaration", "leftover:outside-shiq"}
    assert leftover.count == reading.ledger["leftover:outside-shiq"]


@pytest.mark.parametrize(("text", "expected"), ASSERTIONS)
def test_assertions(tmp_path: Path, text: str, expected: str) -> None:
    reading = turtle(tmp_path, DECLARED + text)
    assert list(reading.abox) == said(expected)[1]
    assert not reading.leftovers
    assert set(reading.ledger) == {"declaration", "assertion"}


def test_a_chain_of_one_role_with_itself_is_transitivity(tmp_path: Path) -> None:
    reading = turtle(tmp_path, DECLARED + ":r owl:propertyChainAxiom ( :r :r ) .")
    assert list(reading.tbox.axioms) == said("TransitiveObjectProperty(:r)")[0]
    assert dict(reading.ledger) == {"declaration": 10, "axiom": 5}


@pytest.mark.parametrize("present", [True, False])
def test_annotated_axioms_count_once_and_even_without_their_triple(
    tmp_path: Path, present: bool
) -> None:
    reified = """
    [] a owl:Axiom ; owl:annotatedSource :A ; owl:annotatedProperty rdfs:subClassOf ; owl:annotatedTarget :B ; :note "why" .
    [] a owl:Axiom ; owl:annotatedSource :a ; owl:annotatedProperty :r ; owl:annotatedTarget :b ; :note "why" .
    [] a owl:Axiom ; owl:annotatedSource :x ; owl:annotatedProperty rdf:type ; owl:annotatedTarget owl:Class .
    _:n a owl:Annotation ; owl:annotatedSource _:m ; owl:annotatedProperty rdfs:comment ; owl:annotatedTarget "why" ; :note "so" .
    """
    plain = ":A rdfs:subClassOf :B . :a :r :b . :x a owl:Class ." if present else ""
    reading = turtle(tmp_path, DECLARED + reified + plain)
    assert (list(reading.tbox.axioms), list(reading.abox)) == (
        said("SubClassOf(:A :B)")[0],
        said("ObjectPropertyAssertion(:r :a :b)")[1],
    )
    assert NS + "x" in reading.tbox.signature.classes
    assert not reading.leftovers
    assert sum(reading.ledger.values()) == 10 + 19 + 3 * present


def test_annotations_of_a_complex_axiom_find_it_by_its_blank_node(tmp_path: Path) -> None:
    text = f"""
    :A rdfs:subClassOf _:x . _:x owl:complementOf :B .
    [] a owl:Axiom ; owl:annotatedSource :A ; owl:annotatedProperty rdfs:subClassOf ; owl:annotatedTarget _:x ; rdfs:label "l" .
    :C rdfs:subClassOf {SOME} .
    """
    reading = turtle(tmp_path, DECLARED + text)
    assert (
        list(reading.tbox.axioms)
        == said("SubClassOf(:A ObjectComplementOf(:B)) SubClassOf(:C ObjectSomeValuesFrom(:r :B))")[
            0
        ]
    )
    assert dict(reading.ledger) == {"declaration": 10, "axiom": 6, "annotation": 5}


def test_several_descriptions_of_one_name_are_several_equivalences(tmp_path: Path) -> None:
    reading = turtle(
        tmp_path, DECLARED + ":A owl:unionOf ( :B :C ) ; owl:complementOf :C ; owl:unionOf ( :C ) ."
    )
    assert len(reading.tbox.axioms) == 3
    assert all(
        isinstance(axiom, EquivalentClasses) and axiom.expressions[0] == Class(NS + "A")
        for axiom in reading.tbox.axioms
    )


def test_a_shared_expression_is_read_in_each_axiom(tmp_path: Path) -> None:
    reading = turtle(
        tmp_path,
        DECLARED
        + f"_:x owl:unionOf ( :B :C ) . :A rdfs:subClassOf _:x . {SOME} rdfs:subClassOf _:x .",
    )
    assert len(reading.tbox.axioms) == 2
    assert not reading.leftovers


def test_sharing_cannot_make_an_expression_explode(tmp_path: Path) -> None:
    nodes = "\n".join(f"_:n{i} owl:unionOf ( _:n{i + 1} _:n{i + 1} ) ." for i in range(60))
    reading = turtle(
        tmp_path, DECLARED + nodes + "\n_:n60 owl:complementOf :B .\n:A rdfs:subClassOf _:n0 ."
    )
    assert not reading.tbox.axioms
    assert [leftover.kind for leftover in reading.leftovers] == ["malformed"]


def test_declarations_of_one_file_serve_the_others(tmp_path: Path) -> None:
    head = f"@prefix : <{NS}> . @prefix owl: <{OWL}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    use = write(tmp_path, "use.ttl", head + ":p rdfs:domain :A . :a :p :b .")
    declare = write(tmp_path, "declare.ttl", head + ":p a owl:ObjectProperty . :A a owl:Class .")
    functional = write(
        tmp_path, "f.ofn", f"Prefix(:=<{NS}>) Ontology(Declaration(ObjectProperty(:p)))"
    )
    assert not read_ontology([use, declare]).leftovers
    assert not read_ontology([use, functional]).leftovers
    assert kinds(read_ontology([use])) == {"two-readings": 1}


def test_repeated_triples_give_one_axiom_and_are_all_counted(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "o.nt",
        f"<{NS}A> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{NS}B> .\n" * 3,
    )
    reading = read_ontology([path, path])
    assert reading.tbox.axioms == (SubClassOf(Class(NS + "A"), Class(NS + "B")),)
    assert dict(reading.ledger) == {"axiom": 6}


def test_a_long_subclass_chain(tmp_path: Path) -> None:
    sub = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
    path = write(
        tmp_path, "o.nt", "".join(f"<urn:c{i}> <{sub}> <urn:c{i + 1}> .\n" for i in range(20_000))
    )
    assert len(read_ontology([path]).tbox.axioms) == 20_000


def test_literals_keep_their_form(tmp_path: Path) -> None:
    reading = turtle(
        tmp_path,
        DECLARED + ':a :f "2026-08-16T12:05:34Z"^^xsd:date , "007"^^xsd:integer , 1.50 , 1E400 .',
    )
    assert [
        (value.lexical, value.datatype.removeprefix(XSD)) for value in reading.abox.literals
    ] == [
        ("2026-08-16T12:05:34Z", "date"),
        ("007", "integer"),
        ("1.50", "decimal"),
        ("1E400", "double"),
    ]
    assert reading.abox.literals[0] == Literal("2026-08-16T12:05:34Z", XSD + "date")
    assert not reading.leftovers
