"""Nothing is dropped: undeclared names, punning, broken lists, typing errors, imports, rules,
and the ledger.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from shiq.answers.verdict import KINDS, Leftover, Verdict
from shiq.api import certify, check_insertions, index, open_store
from shiq.inputs.reading import Reading
from shiq.inputs.sources import FileSource, classify_input
from shiq.model import (
    OWL,
    Class,
    ClassAssertion,
    DataPropertyAssertion,
    ObjectPropertyAssertion,
    Signature,
    SubClassOf,
    TBox,
)
from shiq.model.ntriples import assertion_lines
from shiq.model.walk import signature_of
from shiq.rdf import read_assertions, read_ontology
from shiq.rdf.range_reports import (
    LEFT_OUT,
    RangeReport,
    VocabularyContext,
    interpret_range,
    leftover_records,
    shift_lines,
)
from shiq.rdf.source_ranges import byte_ranges
from tests.rdf_helpers import LINES_BEFORE, NS, PREFIXES, data, kinds, turtle, write

DECLARED = """
:Cat a owl:Class . :Dog a owl:Class . :likes a owl:ObjectProperty . :age a owl:DatatypeProperty . :note a owl:AnnotationProperty .
"""
FIRST_LINE = LINES_BEFORE + 1


def only(reading: Reading) -> Leftover:
    (leftover,) = reading.leftovers
    return leftover


def test_every_kind_is_a_known_one(tmp_path: Path) -> None:
    texts = [
        ":x a :Unknown .",
        ":p rdfs:domain :Cat .",
        ":Cat owl:disjointwith :Dog .",
        ":Cat owl:oneOf :l .",
        "[] owl:unionOf () .",
    ]
    for text in texts:
        reading = turtle(tmp_path, DECLARED + text)
        assert reading.leftovers
        assert {leftover.kind for leftover in reading.leftovers} <= KINDS.keys()


# --- undeclared ----------------------------------------------------------------------------------


def test_an_undeclared_property_is_one_row_with_count_place_and_near_miss_and_is_kept(
    tmp_path: Path,
) -> None:
    tbox = turtle(tmp_path, DECLARED)
    reading = data(tmp_path, ":a :like :b .\n:b :like :c .\n:a :agee 5 .\n:a :likes :c .", tbox)
    first, second = reading.leftovers
    assert (first.kind, first.line, first.count, first.hint) == (
        "undeclared",
        FIRST_LINE,
        2,
        f"did you mean <{NS}likes>?",
    )
    assert (second.line, second.count, second.hint) == (
        FIRST_LINE + 2,
        1,
        f"did you mean <{NS}age>?",
    )
    assert f"<{NS}like>" in first.message
    assert Counter(map(type, reading.abox)) == {
        ObjectPropertyAssertion: 3,
        DataPropertyAssertion: 1,
    }
    assert dict(reading.ledger) == {"leftover:undeclared": 3, "assertion": 1}


def test_an_undeclared_class_is_kept_and_told(tmp_path: Path) -> None:
    reading = data(
        tmp_path,
        ":a a :Kat . :b a :Kat , :Cat . :c a <urn:other#Cat> .",
        turtle(tmp_path, DECLARED),
    )
    assert len(reading.abox) == 4
    assert [(leftover.kind, leftover.count, leftover.hint) for leftover in reading.leftovers] == [
        ("undeclared", 2, f"did you mean <{NS}Cat>?"),
        ("foreign", 1, ""),
    ]


def test_names_inside_complex_assertions_are_looked_at_too(tmp_path: Path) -> None:
    text = ":a a [ owl:complementOf :Kat ] . [] owl:sourceIndividual :a ; owl:assertionProperty :likess ; owl:targetIndividual :b ."  # noqa: E501
    reading = data(tmp_path, text, turtle(tmp_path, DECLARED))
    assert kinds(reading) == {"undeclared": 2 + 3}
    assert len(reading.abox.complex) == 2


def test_a_name_that_only_the_data_declares_stays_undeclared(tmp_path: Path) -> None:
    reading = data(
        tmp_path,
        ":hates a owl:ObjectProperty . :a :hates :b . :c a owl:AnnotationProperty . :a :c 5 .",
        turtle(tmp_path, DECLARED),
    )
    assert only(reading).kind == "undeclared"
    assert dict(reading.ledger) == {"declaration": 2, "leftover:undeclared": 1, "annotation": 1}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (":p rdfs:range xsd:int .", "data"),
        (":p rdfs:range [ a rdfs:Datatype ; owl:oneOf ( 1 ) ] .", "data"),
        (":p rdfs:range [ owl:oneOf ( 1 ) ] .", "data"),
        (":p rdfs:range :Cat .", "object"),
        (":p rdfs:range [ owl:unionOf ( :Cat :Dog ) ] .", "object"),
        (":Cat rdfs:subClassOf [ owl:onProperty :p ; owl:someValuesFrom xsd:int ] .", "data"),
        (":Cat rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom :Dog ] .", "object"),
        (":Cat rdfs:subClassOf [ owl:onProperty :p ; owl:hasValue 5 ] .", "data"),
        (
            ":Cat rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 1 ; owl:onClass :Dog ] .",
            "object",
        ),
        (
            ":Cat rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 1 ; owl:onDataRange xsd:int ] .",
            "data",
        ),
        (":p rdfs:subPropertyOf :likes .", "object"),
        (":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :age .", "data"),
        (":p owl:equivalentProperty :age .", "data"),
        (":p rdfs:subPropertyOf rdfs:label .", "annotation"),
        (":p rdfs:subPropertyOf owl:topDataProperty .", "data"),
        (":p owl:inverseOf :q .", "object"),
        (":q owl:propertyChainAxiom ( :p :likes ) .", "object"),
        (":p a owl:TransitiveProperty .", "object"),
        ("[] a owl:AllDisjointProperties ; owl:members ( :age :p ) .", "data"),
        ("[] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetValue 5 .", "data"),
    ],
)
def test_the_kind_of_an_undeclared_property_shows_in_its_use(
    tmp_path: Path, text: str, kind: str
) -> None:
    signature = turtle(tmp_path, DECLARED + text).tbox.signature
    found = {
        "object": signature.object_properties,
        "data": signature.data_properties,
        "annotation": signature.annotation_properties,
    }
    assert [name for name, names in found.items() if NS + "p" in names] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        ":p a owl:FunctionalProperty .",
        ":p rdfs:domain :Cat .",
        ":Cat rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality 1 ] .",
    ],
)
def test_where_nothing_shows_the_kind_the_axiom_counts_in_both_readings(
    tmp_path: Path, text: str
) -> None:
    reading = turtle(tmp_path, DECLARED + text)
    used = [signature_of([axiom]) for axiom in reading.tbox.axioms]
    assert [(len(names.object_properties), len(names.data_properties)) for names in used] == [
        (1, 0),
        (0, 1),
    ]
    assert only(reading).kind == "two-readings"
    assert "declare it" in only(reading).hint


# --- punning -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"), [(":p a owl:Class , rdfs:Datatype .", "class and datatype")]
)
def test_illegal_punning_is_told(tmp_path: Path, text: str, words: str) -> None:
    leftover = only(turtle(tmp_path, DECLARED + text))
    assert leftover.kind == "punning"
    assert words in leftover.message


@pytest.mark.parametrize(
    "text",
    [
        ":Cat a :Dog , owl:ObjectProperty . :likes :likes :Cat .",
        ":d a rdfs:Datatype , rdfs:Class .",
        "owl:Thing a owl:Class . rdfs:label a owl:AnnotationProperty . xsd:int a rdfs:Datatype . rdf:List a owl:Class .",
        "rdf:type a rdf:Property . owl:sameAs a owl:ObjectProperty .",
    ],
)
def test_legal_punning_and_idle_declarations_are_not(tmp_path: Path, text: str) -> None:
    assert not turtle(tmp_path, DECLARED + text).leftovers


@pytest.mark.parametrize(
    "text", ["rdfs:label a owl:DatatypeProperty .", "xsd:string a owl:Class ."]
)
def test_a_declaration_of_a_built_in_term_as_something_else_has_no_effect(
    tmp_path: Path, text: str
) -> None:
    assert only(turtle(tmp_path, DECLARED + text)).kind == "without-effect"


@pytest.mark.parametrize("declared", ["rdfs:label a owl:DatatypeProperty .", ""])
def test_an_annotation_property_of_the_language_that_axioms_speak_of_is_read_with_them(
    tmp_path: Path, declared: str
) -> None:
    reading = turtle(
        tmp_path,
        DECLARED
        + declared
        + ':Cat rdfs:subClassOf [ owl:onProperty rdfs:label ; owl:someValuesFrom xsd:string ] . :a rdfs:label "a" .',
    )
    assert (
        kinds(reading).keys() == {"annotation-punning"}
        and len(reading.tbox.axioms) == len(reading.abox) == 1
    )


def test_a_property_of_two_kinds_loses_no_assertion_and_its_axioms_count_for_both(
    tmp_path: Path,
) -> None:
    text = (
        DECLARED
        + ":p a owl:ObjectProperty , owl:DatatypeProperty ; rdfs:domain :Cat . :a :p :b , 5 ."
    )
    reading = turtle(tmp_path, text)
    assert kinds(reading) == {"two-readings": 2}
    assert len(reading.abox) == len(reading.tbox.axioms) == 2


# --- malformed -----------------------------------------------------------------------------------


def test_a_literal_on_an_object_property_and_the_reverse_are_malformed(tmp_path: Path) -> None:
    reading = data(
        tmp_path,
        ":a :likes 5 .\n:a :age :b .\n:a :age _:c .\n:a a xsd:int .",
        turtle(tmp_path, DECLARED),
    )
    assert sorted(
        (leftover.kind, leftover.line, leftover.count) for leftover in reading.leftovers
    ) == [
        ("malformed", FIRST_LINE, 1),
        ("malformed", FIRST_LINE + 1, 2),
        ("malformed", FIRST_LINE + 3, 1),
    ]
    assert len(reading.abox) == 0


@pytest.mark.parametrize(
    "text",
    [
        ':a a "Cat" .',
        ":Cat rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :likes ] .",
        ":Cat rdfs:subClassOf [ a owl:Restriction ; owl:someValuesFrom :Dog ] .",
        ":Cat rdfs:subClassOf [ owl:onProperty :likes , :hates ; owl:someValuesFrom :Dog ] .",
        ":Cat rdfs:subClassOf [ owl:onProperty :likes ; owl:someValuesFrom 5 ] .",
        ":Cat rdfs:subClassOf [ owl:onProperty :likes ; owl:maxCardinality -1 ] .",
        ":Cat rdfs:subClassOf [ owl:onProperty :likes ; owl:maxCardinality 1.5 ] .",
        ":Cat rdfs:subClassOf [ owl:onProperty :likes ; owl:maxCardinality :one ] .",
        ":Cat rdfs:subClassOf [ owl:onProperty :likes ; owl:maxQualifiedCardinality 1 ] .",
        ":Cat rdfs:subClassOf [ owl:onProperty :likes ; owl:hasSelf false ] .",
        ":Cat rdfs:subClassOf [] .",
        ":Cat rdfs:subClassOf [ a owl:Class ] .",
        ":Cat rdfs:subClassOf _:x . _:x owl:complementOf _:x .",
        ":Cat rdfs:subClassOf [ owl:oneOf ( :a 5 ) ] .",
        ":Cat a owl:Restriction ; owl:onProperty :likes .",
        ":likes owl:propertyChainAxiom ( :likes ) .",
        ":likes owl:inverseOf [ owl:inverseOf [ owl:inverseOf :likes ] ] .",
        ":a owl:sameAs 5 .",
        ":Cat owl:sameAs :a .",
        "[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ; owl:assertionProperty :likes .",
        "[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ; owl:assertionProperty :age ; owl:targetValue :b .",
        "[] a owl:AllDifferent .",
        "[] a owl:Axiom ; owl:annotatedSource :Cat ; owl:annotatedTarget :Dog .",
        "[] a owl:AllDifferent ; owl:members ( :a :b ) ; :likes :c .",
    ],
)
def test_axioms_that_do_not_fit_the_mapping(tmp_path: Path, text: str) -> None:
    reading = turtle(tmp_path, DECLARED + text)
    assert not reading.tbox.axioms
    assert "malformed" in kinds(reading)
    assert (
        sum(
            count
            for key, count in reading.ledger.items()
            if key not in ("declaration", "assertion")
        )
        > 0
    )


@pytest.mark.parametrize(
    ("member", "words"),
    [('"likes"', "literal"), ("owl:topDataProperty", "an object property is expected")],
)
def test_a_chain_of_one_member_that_is_no_role_is_told_by_its_member(
    tmp_path: Path, member: str, words: str
) -> None:
    reading = turtle(tmp_path, DECLARED + f":likes owl:propertyChainAxiom ( {member} ) .")
    assert words in only(reading).message


def test_too_many_different_individuals_are_told(tmp_path: Path) -> None:
    members = " ".join(f":a{i}" for i in range(2001))
    assert kinds(
        turtle(tmp_path, DECLARED + f"[] a owl:AllDifferent ; owl:members ( {members} ) .")
    ) == {"malformed": 2 + 2 * 2001}


# --- lists, structures, words --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("_:l rdf:first :Dog ; rdf:rest _:l .", "cyclic"),
        ("_:l rdf:first :Dog , :Cat ; rdf:rest () .", "forked"),
        ("_:l rdf:first :Dog ; rdf:rest () , ( :Cat ) .", "forked"),
        ("_:l rdf:first :Dog ; rdf:rest _:m .", "does not end"),
        ("_:l rdf:first :Dog .", "lacks rdf:rest"),
        ("_:l rdf:rest () .", "lacks rdf:first"),
        ("_:l rdf:first :Dog ; rdf:rest 5 .", "literal"),
    ],
)
def test_broken_lists(tmp_path: Path, text: str, words: str) -> None:
    reading = turtle(tmp_path, DECLARED + ":Cat owl:unionOf _:l . " + text)
    leftover = only(reading)
    assert (leftover.kind, reading.tbox.axioms) == ("broken-list", ())
    assert words in leftover.message
    assert (
        reading.ledger["leftover:broken-list"] == leftover.count == sum(reading.ledger.values()) - 5
    )


@pytest.mark.parametrize(
    ("text", "near"),
    [
        (":Cat owl:disjointwith :Dog .", "owl:disjointWith"),
        (":Cat rdfs:subClasOf :Dog .", "rdfs:subClassOf"),
        (":Cat a owl:Klass .", "owl:Class"),
        (":Cat rdf:subClassOf :Dog .", "rdfs:subClassOf"),
        (":age rdfs:range xsd:interger .", "xsd:integer"),
        (':a :age "5"^^xsd:interger .', "xsd:integer"),
        (":a a owl:Nothin .", "owl:Nothing"),
        (":a :likes owl:Nothin .", "owl:Nothing"),
    ],
)
def test_misspelt_words_of_the_language(tmp_path: Path, text: str, near: str) -> None:
    leftover = only(turtle(tmp_path, DECLARED + text))
    assert (leftover.kind, leftover.hint) == ("unknown-vocabulary", f"did you mean {near}?")


@pytest.mark.parametrize(
    "text",
    [
        ":Cat rdfs:description 'purrs' .",
        ":Cat rdfs:kabel 'cat' ; rdfs:isdefinedby <urn:doc> .",
        "<urn:doc> a owl:Ontology ; rdf:about 'cats' .",
        ":q a rdfs:Property ; rdfs:domain :Cat .",
        ":q a owl:DatatypeProperty ; rdfs:range rdf:Resource .",
        ":q rdfs:subPropertyOf rdfs:Label .",
        ":a a rdfs:Description .",
    ],
)
def test_unknown_words_where_no_axiom_can_be_meant_are_information(
    tmp_path: Path, text: str
) -> None:
    reading = turtle(tmp_path, DECLARED + text)
    found = [leftover for leftover in reading.leftovers if leftover.kind != "two-readings"]
    assert {leftover.kind for leftover in found} == {"unknown-word"}
    assert sum(leftover.count for leftover in found) == reading.ledger["leftover:unknown-word"]


@pytest.mark.parametrize(
    "text",
    [
        ":Cat rdfs:subclasof 'x' .",
        ":Cat owl:valu 'x' .",
        "[] rdfs:description 'x' .",
        ":Cat owl:isEquivalentTo :Dog .",
        ":Cat rdfs:description :Dog .",
        ":Cat rdfs:coment :Dog .",
        *(
            f":a {word} :Dog ."
            for word in (
                "rdfs:is",
                "rdf:is",
                "owl:incompatible",
                "rdf:instance",
                "rdfs:individualOf",
            )
        ),
        *(
            f":Cat {word} 1 ."
            for word in (
                "owl:not",
                "owl:atMost",
                "owl:exactly",
                "owl:upperBound",
                "owl:isFunctional",
                "rdfs:is",
            )
        ),
        ":likes owl:irreflexive true .",
        ":q a owl:FunctionalPropety .",
        "rdf:Resource rdfs:subClassOf :Cat .",
        ":q a owl:DatatypeProperty ; rdfs:range xsd:dateTme .",
        ":a :age '1'^^xsd:Integer .",
        ":Cat rdfs:subclassOf :Dog .",
    ],
)
def test_unknown_words_where_an_axiom_may_be_meant_block(tmp_path: Path, text: str) -> None:
    assert "unknown-vocabulary" in kinds(turtle(tmp_path, DECLARED + text))


@pytest.mark.parametrize("name", ["xsd:Double", "xsd:datetime", "rdfs:string", "xsd:numeric"])
def test_a_datatype_that_does_not_exist_is_opaque(tmp_path: Path, name: str) -> None:
    text = DECLARED + f":size a owl:DatatypeProperty ; rdfs:range {name} . "
    (leftover,) = turtle(tmp_path, text).leftovers
    assert leftover.kind == "unknown-datatype" and bool(leftover.hint) == (name != "xsd:numeric")
    (tmp_path / "t.ttl").write_text(PREFIXES + text)
    (tmp_path / "u.ttl").write_text(PREFIXES + text + ":tom :size 'x' .")
    assert certify(tmp_path / "t.ttl", reasoner="own").verdict is Verdict.CONSISTENT
    assert certify(tmp_path / "u.ttl", reasoner="own").verdict is Verdict.UNDETERMINED


def test_structures_that_nothing_uses(tmp_path: Path) -> None:
    text = (
        DECLARED
        + "\n[] owl:unionOf ( :Cat :Dog ) .\n[] owl:onProperty :likes ; owl:someValuesFrom [ owl:complementOf :Cat ] ."
    )
    reading = turtle(tmp_path, text)
    assert [leftover.count for leftover in reading.leftovers] == [5, 3]
    assert {leftover.kind for leftover in reading.leftovers} == {"unattached"}


IDLE = ":One a owl:Class ; owl:sameAs :Two . :Two a owl:Class ; rdfs:label 'two' ."
DEFINED_BY_ITSELF = (
    "_:b a owl:Class ; owl:intersectionOf ( :Cat [ a owl:Class ; owl:unionOf ( _:b :Dog ) ] ) ."
)


def test_what_every_model_can_meet_is_told_and_in_nobody_s_way(tmp_path: Path) -> None:
    for text, kind in ((IDLE, "individuals-only"), (DEFINED_BY_ITSELF, "without-effect")):
        reading = turtle(tmp_path, DECLARED + text, closed=True)
        assert set(kinds(reading)) == {kind}, text
        assert not reading.tbox.axioms


@pytest.mark.parametrize(
    ("tbox", "batch", "verdict"),
    [
        (
            ":p a owl:FunctionalProperty .",
            ":p a owl:AnnotationProperty . :a :p :b , :c . :b owl:differentFrom :c .",
            "inconsistent",
        ),
        (
            ":p a owl:FunctionalProperty .",
            ":Cat :p :b , :c . :b owl:differentFrom :c .",
            "inconsistent",
        ),
        (
            ":Cat owl:disjointWith :Dog . :p rdfs:domain :Dog .",
            ":tom a :Cat ; :p :b .",
            "inconsistent",
        ),
        (
            ":Cat owl:disjointWith :Dog . :One a owl:Class ; owl:sameAs :Two . :Two a owl:Class .",
            ":tom a :One .",
            "consistent",
        ),
    ],
)
def test_a_batch_that_uses_what_nothing_used_before(
    tmp_path: Path, tbox: str, batch: str, verdict: str
) -> None:
    """The first came out `consistent` while what the TBox says there was for information only:
    as an annotation the batch passed, and the axiom had been set aside. The last is: owl:sameAs
    between classes is about the individuals of these names.
    """
    some = DECLARED + ":likes rdfs:domain :Cat . "
    base, inserted = (
        write(tmp_path, "t.ttl", PREFIXES + some + tbox),
        write(tmp_path, "b.ttl", PREFIXES + batch),
    )
    assert check_insertions(base, None, inserted, reasoner="own").verdict is Verdict(verdict)
    assert "without-effect" not in kinds(read_ontology([base, inserted], closed=True))


@pytest.mark.parametrize(
    "text",
    [
        ":p owl:equivalentProperty :q . :q rdfs:subPropertyOf :r . :a :r :b .",
        ":p a owl:FunctionalProperty . :Cat rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:hasValue :odd ] .",
        "_:b a owl:Class ; owl:complementOf _:b .",
        "_:b a owl:Class ; owl:unionOf ( :Cat [ owl:complementOf _:b ] ) .",
        "_:b owl:unionOf ( :Cat :Dog ) .",
        ":likes a owl:FunctionalProperty . :p rdfs:subPropertyOf [] .",
        # Two definitions of one node are an axiom: here Dog is a subclass of Cat.
        "_:b a owl:Class ; owl:intersectionOf ( :Cat _:b ) ; owl:unionOf ( :Dog _:b ) .",
        "_:b a owl:Class ; owl:unionOf _:l . _:l rdf:first :Cat , _:b ; rdf:rest _:l , rdf:nil .",
        "_:b a owl:Restriction ; owl:onProperty :likes ; owl:someValuesFrom _:b , :Cat .",
        # Classes of which more is said: if they are meant to be equal, and not only their names,
        # tom contradicts.
        ":Cat owl:sameAs :Dog ; owl:disjointWith :Dog . :tom a :Cat .",
        ":Cat owl:sameAs :Dog . :tom a :Cat .",
        ":Cat owl:sameAs :Dog ; rdfs:subClassOf :Pet .",
        ":likes owl:sameAs :hates . :hates a owl:ObjectProperty . :a :likes :b .",
        ":likes owl:sameAs :hates . :hates a owl:ObjectProperty , owl:AsymmetricProperty .",
    ],
)
def test_what_something_uses_is_not_without_effect(tmp_path: Path, text: str) -> None:
    assert "without-effect" not in kinds(turtle(tmp_path, DECLARED + text, closed=True))


def test_functional_syntax_uses_names_as_well(tmp_path: Path) -> None:
    turtle_file = write(tmp_path, "t.ttl", PREFIXES + DECLARED + ":p rdfs:domain :Dog .")
    for text in (
        "ClassAssertion(ObjectSomeValuesFrom(:p :Cat) :tom)",
        "ObjectPropertyAssertion(:p :tom :b)",
    ):
        functional = write(tmp_path, "f.ofn", f"Prefix(:=<{NS}>) Ontology(<urn:f> {text})")
        assert "without-effect" not in kinds(read_ontology([turtle_file, functional], closed=True))


def test_rules_are_outside(tmp_path: Path) -> None:
    text = """@prefix swrl: <http://www.w3.org/2003/11/swrl#> .
    :rule a swrl:Imp ; rdfs:label "r" ; <urn:enabled> true ; swrl:body [ a swrl:AtomList ; rdf:first [ a swrl:ClassAtom ;
    swrl:classPredicate :Cat ; swrl:argument1 :x ] ; rdf:rest rdf:nil ] ; swrl:head () . :x a swrl:Variable .
    """
    reading = turtle(tmp_path, DECLARED + text)
    assert (only(reading).kind, only(reading).message) == (
        "outside-shiq",
        "1 SWRL rules: rules are outside SHIQ(D)",
    )
    assert dict(reading.ledger) == {"declaration": 5, "leftover:outside-shiq": 10, "annotation": 2}


# --- headers and imports -------------------------------------------------------------------------


def test_imports_are_answered_by_the_other_sources_or_told(tmp_path: Path) -> None:
    tbox = write(
        tmp_path,
        "t.ttl",
        PREFIXES
        + "<urn:onto> a owl:Ontology ; owl:versionIRI <urn:onto/2> ; owl:versionInfo '2' .",
    )
    other = write(
        tmp_path,
        "other.ttl",
        PREFIXES + "<urn:x> a owl:Ontology ; owl:imports <urn:onto#> , <urn:onto/2> , <t.ttl> .",
    )
    lost = write(
        tmp_path,
        "lost.ttl",
        PREFIXES
        + "<urn:y> a owl:Ontology ; owl:imports <urn:gone> , <http://www.w3.org/2002/07/owl> .",
    )
    assert dict(read_ontology([tbox, other]).ledger) == {"annotation": 7}
    leftover = only(read_ontology([lost, tbox]))
    assert (leftover.kind, leftover.line) == ("missing-import", LINES_BEFORE + 1)
    assert "<urn:gone>" in leftover.message


def test_data_that_imports_its_tbox(tmp_path: Path) -> None:
    tbox = turtle(tmp_path, "<urn:onto#> a owl:Ontology . " + DECLARED)
    text = "<> a owl:Ontology ; owl:imports <urn:onto> ; <urn:by> 'me' . :a a :Cat ."
    assert not data(tmp_path, text, tbox).leftovers
    path = write(tmp_path, "e.ttl", PREFIXES + text)
    assert kinds(read_assertions([path], tbox.tbox.signature)) == {"missing-import": 1}


def test_functional_sources_import_and_are_imported(tmp_path: Path) -> None:
    first = write(tmp_path, "a.ofn", "Ontology(<urn:one> Import(<urn:two>))")
    second = write(
        tmp_path, "b.ttl", PREFIXES + "<urn:two> a owl:Ontology ; owl:imports <urn:one> ."
    )
    assert not read_ontology([first, second]).leftovers
    assert kinds(read_ontology([first])) == {"missing-import": 1}


# --- annotations ---------------------------------------------------------------------------------


def test_documentation_needs_no_declaration_where_it_cannot_matter(tmp_path: Path) -> None:
    text = """
    <urn:o> a owl:Ontology ; <urn:creator> <urn:me> .
    :Cat <urn:hint> "a pet" ; <http://purl.org/dc/terms/source> <urn:book> ; :note :anything ; rdfs:seeAlso :Dog .
    """
    assert not turtle(tmp_path, DECLARED + text).leftovers


def test_a_slip_that_looks_like_documentation_is_told(tmp_path: Path) -> None:
    leftover = only(turtle(tmp_path, DECLARED + ":Cat :disjointWith :Dog ."))
    assert (leftover.kind, leftover.count) == ("undeclared", 1)


# --- axioms among assertions ---------------------------------------------------------------------


def test_axioms_among_assertions_are_told_unless_the_tbox_has_them(tmp_path: Path) -> None:
    tbox = turtle(tmp_path, DECLARED + ":Cat rdfs:subClassOf :Dog .")
    text = ":a a :Cat . :Cat rdfs:subClassOf :Dog . :Dog rdfs:subClassOf [ owl:complementOf :Cat ] . :Cat a owl:Class ."
    path = write(tmp_path, "d.ttl", PREFIXES + text)
    reading = read_assertions([path], tbox.tbox.signature, axioms=tbox.tbox.axioms)
    assert kinds(reading) == {"tbox-axiom": 2}
    assert dict(reading.ledger) == {
        "assertion": 1,
        "axiom": 1,
        "leftover:tbox-axiom": 2,
        "declaration": 1,
    }
    assert not reading.tbox.axioms
    assert kinds(read_assertions([path], tbox.tbox.signature)) == {"tbox-axiom": 3}


def test_axioms_that_the_tbox_leaves_out_are_not_told_again_of_the_data(tmp_path: Path) -> None:
    """One file as T and as A, of axioms outside SHIQ(D): what is left out of T is left out once."""
    text = ":Cat rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :owner ; owl:hasValue :ann ] . :tom a :Cat ; :owner :ann ."
    text = DECLARED + ":owner a owl:ObjectProperty . :Cat owl:hasKey ( :owner ) . " + text
    tbox = turtle(tmp_path, text)
    assert [leftover.kind for leftover in tbox.leftovers] == ["outside-shiq", "outside-shiq"]
    path = write(tmp_path, "both.ttl", PREFIXES + text)
    both = read_assertions(
        [path], tbox.tbox.signature, axioms=tbox.tbox.axioms, beside=tbox.leftovers
    )
    assert not both.leftovers and len(both.abox) == 2
    other = write(tmp_path, "other.ttl", PREFIXES + text + ":Dog owl:hasKey ( :owner ) .")
    more = read_assertions(
        [other], tbox.tbox.signature, axioms=tbox.tbox.axioms, beside=tbox.leftovers
    )
    assert [leftover.kind for leftover in more.leftovers] == ["tbox-axiom"]


@pytest.mark.jvm
def test_one_file_with_nominals_is_t_a_and_a_batch(tmp_path: Path, data_path: Path) -> None:
    file = data_path / "real" / "wine.owl"
    first = index([file], [file], tmp_path / "kg")
    with open_store(tmp_path / "kg") as store:
        again = store.check([file])
    assert [first.verdict.value, again.verdict.value] == ["consistent", "consistent"]


def test_a_rewritten_axiom_is_still_the_tbox_s_own(tmp_path: Path) -> None:
    text = DECLARED + ":likes owl:propertyChainAxiom ( :likes :likes ) ."
    tbox = turtle(tmp_path, text)
    path = tmp_path / "o.ttl"
    assert not read_assertions([path], tbox.tbox.signature, axioms=tbox.tbox.axioms).leftovers


def test_values_pass_through(tmp_path: Path) -> None:
    cat, dog = Class(NS + "Cat"), Class(NS + "Dog")
    tbox = turtle(tmp_path, DECLARED)
    given = data(
        tmp_path,
        ":a a :Cat . _:x :likes :a ; :odd :a . :a owl:sameAs :b . :a a [ owl:complementOf :Dog ] .",
        tbox,
    )
    path = write(tmp_path, "more.nt", f"_:x <{NS}likes> _:y .\n")
    once = read_assertions([given.abox, path], tbox.tbox.signature)
    assert set(given.abox) < set(once.abox)
    assert len(once.abox) == len(given.abox) + 1
    assert len(set(once.abox.individuals)) == 5
    assert kinds(once) == {"undeclared": 1}
    clash = read_assertions([path, given.abox], tbox.tbox.signature)
    assert {name for name in clash.abox.individuals if name.startswith("_:")} == {
        "_:a0.x",
        "_:a0x.x",
        "_:a0x.y",
    }
    both = read_ontology(
        [tbox, TBox((SubClassOf(cat, dog),), Signature(frozenset({cat.iri, dog.iri}))), given]
    )
    assert both.tbox.axioms == (SubClassOf(cat, dog),)
    assert set(both.abox) == set(given.abox)
    assert sum(both.ledger.values()) == sum(tbox.ledger.values()) + sum(given.ledger.values()) + 1
    assert kinds(both) == {"undeclared": 1}


def test_functional_syntax_is_read_with_the_rest(tmp_path: Path) -> None:
    text = f"""Prefix(:=<{NS}>) Prefix(owl:=<{OWL}>) Ontology(<urn:f>
    Declaration(Class(:Cat)) SubClassOf(:Cat :Dog) SubClassOf(:Cat ObjectOneOf(:tom))
    ClassAssertion(:Cat :a) ClassAssertion(:Kat _:a) ObjectPropertyAssertion(ObjectInverseOf(:likes) :a :b)
    DifferentIndividuals(:a :b :c)
    )"""
    reading = read_ontology(
        [write(tmp_path, "a.ofn", text), write(tmp_path, "b.ttl", PREFIXES + DECLARED)]
    )
    assert Counter(map(type, reading.abox))[ClassAssertion] == 2
    assert ObjectPropertyAssertion in map(type, reading.abox)
    assert "_:t0.a" in reading.abox.individuals
    assert [(leftover.kind, leftover.line) for leftover in reading.leftovers] == [
        ("outside-shiq", 2),
        ("undeclared", 3),
    ]
    assert dict(reading.ledger) == {
        "declaration": 6,
        "axiom": 1,
        "leftover:outside-shiq": 1,
        "assertion": 3,
        "leftover:undeclared": 1,
    }


# --- the ledger ----------------------------------------------------------------------------------


def test_very_many_leftovers_are_counted(tmp_path: Path) -> None:
    lines = "".join(f"<urn:a{i}> <urn:p{i}> <urn:b> .\n" for i in range(3000))
    reading = read_assertions([write(tmp_path, "a.nt", lines)], Signature())
    assert kinds(reading) == {"foreign": 3000}
    assert len(reading.leftovers) == 1001


def test_top_and_bottom_properties_in_assertions(tmp_path: Path) -> None:
    reading = turtle(
        tmp_path, DECLARED + ":a owl:topObjectProperty :b . :a owl:bottomObjectProperty :b ."
    )
    assert list(reading.abox) == [ClassAssertion(Class(OWL + "Nothing"), NS + "a")]
    assert dict(reading.ledger) == {"declaration": 5, "assertion": 2}


@pytest.mark.parametrize("seed", range(12))
def test_what_ranges_leave_out_is_what_a_source_in_one_piece_does(
    seed: int, tmp_path: Path
) -> None:
    """Each line and triple as it stands, wherever the file is cut; of each part by line."""
    dice = random.Random(seed)
    kinds_of_lines = [
        "<urn:i{0}> <urn:likes> <urn:i{0}> .",
        "<urn:i{0}> <urn:likes> <urn:i{0}",
        "<urn:i{0}> <urn:age> <urn:i{0}> <urn:graph> .",
        "<urn:i{0}> <urn:age> <urn:i{0}> .",
        '<urn:i{0}> <urn:likes> "{0}" .',
        "<urn:i{0}> <urn:unknown> _:b{0} .",
        f'<urn:i{{0}}> <urn:age> "{{0}}{"9" * 400}"^^<http://www.w3.org/2001/XMLSchema#date> .',
    ]
    file = tmp_path / "a.nq"
    file.write_text(
        "\n".join(dice.choice(kinds_of_lines).format(i) for i in range(dice.randrange(1, 40)))
    )
    known = Signature(
        object_properties=frozenset({"urn:likes"}), data_properties=frozenset({"urn:age"})
    )
    source = classify_input(file)
    assert isinstance(source, FileSource)
    before, found, judging = (
        0,
        [list[Leftover]() for _ in LEFT_OUT],
        VocabularyContext(known, drops_ill_typed=True),
    )
    for part in byte_ranges(source, "a0", dice.choice([40, 300, 10_000])):
        parsed = part.parse()
        bulk = interpret_range(parsed, judging, RangeReport(part.source, part.scope), most_aside=1)
        for leftovers, some in zip(found, leftover_records(parsed, bulk)):
            leftovers += (shift_lines(leftover, before) for leftover in some)
        before += parsed.lines
    lines, triples, ill_typed = found
    whole = read_assertions([file], known, scope="a")
    assert sorted([*lines, *triples], key=repr) == sorted(whole.left_out, key=repr)
    assert [x.text for x in ill_typed] == [
        " ".join(assertion_lines(a)) for a in whole.abox if "9999" in str(a)
    ]
    assert all([x.line for x in some] == sorted(x.line for x in some) for some in found)
