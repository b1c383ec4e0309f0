"""Annotation properties that are object or data properties too: read as the latter and told, in
every format and order.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shiq.answers.result import Result
from shiq.answers.verdict import INFORMATIVE, Verdict
from shiq.api import check_insertions
from shiq.model import DataProperty, DataPropertyAssertion, Literal
from shiq.model.abox import abox_of
from tests.rdf_helpers import NS, PREFIXES, write

FUNCTIONAL = f"""
Prefix(:=<{NS}>) Prefix(owl:=<http://www.w3.org/2002/07/owl#>) Prefix(rdfs:=<http://www.w3.org/2000/01/rdf-schema#>)
Ontology(
"""
#: At most one :age, which is a number; no Cat is a Dog; nothing :likes a Dog.
TBOX = """
:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class . :likes a owl:ObjectProperty ; rdfs:range :Cat .
:age a owl:DatatypeProperty , owl:FunctionalProperty . :note a owl:AnnotationProperty .
"""
BASE = ':a :age "1" . :d a :Dog .'


def check(
    folder: Path, insertions: object, *, tbox: str = TBOX, base: str = BASE, **options: object
) -> Result:
    ontology, abox = (
        write(folder, "t.ttl", PREFIXES + tbox),
        write(folder, "b.ttl", PREFIXES + base),
    )
    return check_insertions(ontology, abox, insertions, engine="local", reasoner="own", **options)  # type: ignore[arg-type]


def functional(folder: Path, text: str, name: str = "i.ofn") -> Path:
    return write(folder, name, f"{FUNCTIONAL}{text})")


def turtle(folder: Path, text: str, name: str = "i.ttl") -> Path:
    return write(folder, name, PREFIXES + text)


def told(result: Result, kind: str = "annotation-punning") -> list[tuple[str, int]]:
    return [
        (x.source.rpartition("/")[2], x.line) for x in result.evidence.leftovers if x.kind == kind
    ]


def test_it_is_for_information() -> None:
    assert "annotation-punning" in INFORMATIVE


@pytest.mark.parametrize(
    "note",
    ['AnnotationAssertion(:age :a "2")', 'AnnotationAssertion(Annotation(:note "n") :age :a "2")'],
)
def test_an_annotation_assertion_of_a_data_property_is_a_data_assertion(
    tmp_path: Path, note: str
) -> None:
    result = check(tmp_path, functional(tmp_path, note))
    assert result.verdict is Verdict.INCONSISTENT
    assert result.conflicts[0].insertions == (f'<{NS}a> <{NS}age> "2" .',)
    assert told(result) == [("i.ofn", 4)]


def test_an_annotation_assertion_of_an_object_property_is_one_on_roles(tmp_path: Path) -> None:
    assert (
        check(tmp_path, functional(tmp_path, "AnnotationAssertion(:likes :a :d)")).verdict
        is Verdict.INCONSISTENT
    )
    result = check(tmp_path, functional(tmp_path, "AnnotationAssertion(:likes :a :c)"))
    assert (result.verdict, result.evidence.ledger["assertion"], len(told(result))) == (
        Verdict.CONSISTENT,
        1,
        1,
    )


@pytest.mark.parametrize(
    "note", ['AnnotationAssertion(:likes :a "text")', "AnnotationAssertion(:age :a :d)"]
)
def test_one_whose_value_does_not_fit_stands_in_the_way(tmp_path: Path, note: str) -> None:
    result = check(tmp_path, functional(tmp_path, note))
    assert (result.verdict, told(result, "malformed")) == (Verdict.UNDETERMINED, [("i.ofn", 4)])


def test_plain_annotations_stay_annotations_and_silent(tmp_path: Path) -> None:
    notes = 'AnnotationAssertion(:note :a "2") AnnotationAssertion(rdfs:label :Cat "cat") AnnotationAssertion(:new :a :d)'
    result = check(tmp_path, functional(tmp_path, notes))
    assert (result.verdict, result.evidence.leftovers, dict(result.evidence.ledger)) == (
        Verdict.CONSISTENT,
        (),
        {"annotation": 3},
    )


@pytest.mark.parametrize("name", ["owl:sameAs", "rdfs:subClassOf", "owl:disjointWith"])
def test_words_of_the_language_are_no_annotation_properties(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, functional(tmp_path, f"AnnotationAssertion({name} :Cat :Dog)"))
    assert (result.verdict, told(result, "malformed")) == (Verdict.UNDETERMINED, [("i.ofn", 4)])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("i.ofn", 'Declaration(AnnotationProperty(:age)) DataPropertyAssertion(:age :a "2")'),
        ("i.ofn", 'DataPropertyAssertion(Annotation(:age "3") :age :a "2")'),
        ("i.ttl", ':age a owl:AnnotationProperty . :a :age "2" .'),
    ],
)
def test_a_batch_that_calls_a_data_property_an_annotation_property_is_told_and_decided(
    tmp_path: Path, name: str, text: str
) -> None:
    batch = (functional if name == "i.ofn" else turtle)(tmp_path, text)
    result = check(tmp_path, batch)
    assert result.verdict is Verdict.INCONSISTENT
    assert [source for source, _ in told(result)] == [name]
    harmless = (functional if name == "i.ofn" else turtle)(tmp_path, text.replace('"2"', '"1"'))
    result = check(tmp_path, harmless)
    assert (result.verdict, len(told(result))) == (Verdict.CONSISTENT, 1)
    assert check(tmp_path, harmless, fail_on=["annotation-punning"]).verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    "axioms",
    [
        ":p a owl:AnnotationProperty , owl:DatatypeProperty , owl:FunctionalProperty .",
        ":p a owl:FunctionalProperty . :p a owl:AnnotationProperty . :q a owl:DatatypeProperty . :p a owl:DatatypeProperty .",
    ],
)
def test_a_tbox_that_calls_a_property_both_is_read_as_the_logical_one(
    tmp_path: Path, axioms: str
) -> None:
    insertions = turtle(tmp_path, ':a :p "1" , "2" .')
    result = check(tmp_path, insertions, tbox=TBOX + axioms)
    assert (result.verdict, [source for source, _ in told(result)]) == (
        Verdict.INCONSISTENT,
        ["t.ttl"],
    )
    assert (
        check(tmp_path, turtle(tmp_path, ':a :p "1" .'), tbox=TBOX + axioms).verdict
        is Verdict.CONSISTENT
    )


def test_its_axioms_count(tmp_path: Path) -> None:
    tbox = (
        TBOX
        + ":p a owl:AnnotationProperty , owl:ObjectProperty ; rdfs:domain :Cat ; rdfs:subPropertyOf rdfs:seeAlso ."
    )
    assert (
        check(tmp_path, turtle(tmp_path, ":d :p :a ."), tbox=tbox).verdict is Verdict.INCONSISTENT
    )
    # It is known from the TBox already: nothing new is told of the batch.
    result = check(
        tmp_path, turtle(tmp_path, ":p a owl:AnnotationProperty . :c :p :a ."), tbox=tbox
    )
    assert (result.verdict, told(result)) == (Verdict.CONSISTENT, [("t.ttl", 9)])


def test_annotations_of_axioms_may_use_it(tmp_path: Path) -> None:
    note = "[] a owl:Axiom ; owl:annotatedSource :Cat ; owl:annotatedProperty owl:disjointWith ; owl:annotatedTarget :Dog ; :p :x ."  # noqa: E501
    tbox = f"{TBOX} :p a owl:AnnotationProperty , owl:ObjectProperty . {note}"
    result = check(tmp_path, turtle(tmp_path, ":c a :Cat ."), tbox=tbox)
    assert (result.verdict, len(result.evidence.leftovers)) == (Verdict.CONSISTENT, 1)


@pytest.mark.parametrize(
    "text",
    [
        "Declaration(AnnotationProperty(:p)) Declaration(DataProperty(:p)) FunctionalDataProperty(:p)",
        'AnnotationAssertion(:p :Cat "x") FunctionalDataProperty(:p)',
        'FunctionalDataProperty(Annotation(:p "x") :p)',
    ],
)
def test_a_tbox_in_functional_syntax(tmp_path: Path, text: str) -> None:
    tbox = functional(tmp_path, f"{text} DisjointClasses(:Cat :Dog)", "t.ofn")
    for batch in (
        turtle(tmp_path, ':a :p "1" , "2" .'),
        functional(tmp_path, 'AnnotationAssertion(:p :a "1") DataPropertyAssertion(:p :a "2")'),
    ):
        result = check_insertions(tbox, None, batch, engine="local", reasoner="own")
        assert (result.verdict, told(result)) == (Verdict.INCONSISTENT, [("t.ofn", 4)])


def test_two_files_of_a_tbox_may_differ(tmp_path: Path) -> None:
    files = [
        turtle(tmp_path, ":p a owl:AnnotationProperty .", "a.ttl"),
        functional(tmp_path, "FunctionalDataProperty(:p)", "b.ofn"),
    ]
    for tbox in (files, files[::-1]):
        result = check_insertions(
            tbox, None, turtle(tmp_path, ':a :p "1" , "2" .'), engine="local", reasoner="own"
        )
        assert (result.verdict, len(told(result))) == (Verdict.INCONSISTENT, 1)


@pytest.mark.parametrize(
    "axiom",
    [
        "AnnotationPropertyRange(:likes :Dog)",
        "AnnotationPropertyDomain(:age :Dog)",
        "SubAnnotationPropertyOf(:likes :hates)",
    ],
)
def test_an_axiom_on_annotations_that_may_be_meant_of_the_other_stands_in_the_way(
    tmp_path: Path, axiom: str
) -> None:
    text = f"Declaration(ObjectProperty(:likes)) Declaration(ObjectProperty(:hates)) Declaration(DataProperty(:age))\n{axiom}"
    tbox = functional(tmp_path, f"{text} DisjointClasses(:Cat :Dog)", "t.ofn")
    batch = turtle(tmp_path, ":a a :Cat .")
    result = check_insertions(tbox, None, batch, engine="local", reasoner="own")
    assert (result.verdict, told(result, "punning")) == (Verdict.UNDETERMINED, [("t.ofn", 5)])


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: turtle(folder, ':note a owl:DatatypeProperty . :a :note "x" .'),
        lambda folder: functional(
            folder, 'Declaration(DataProperty(:note)) DataPropertyAssertion(:note :a "x")'
        ),
        lambda folder: functional(folder, 'DataPropertyAssertion(:note :a "x")'),
        lambda folder: abox_of(
            [DataPropertyAssertion(DataProperty(f"{NS}note"), "urn:a", Literal("x"))]
        ),
    ],
)
def test_what_the_tbox_passed_over_as_annotations_stands_in_the_way(
    tmp_path: Path, make: object
) -> None:
    """The TBox said something of :note, and the base too: none of it was read as an axiom or
    assertion on a data property.
    """
    result = check(
        tmp_path,
        make(tmp_path),
        tbox=TBOX + ":note rdfs:range :Number .",
        base=BASE + ' :a :note "y" .',
    )  # type: ignore[operator]
    (leftover,) = (x for x in result.evidence.leftovers if x.kind == "punning")
    assert (result.verdict, "passed over" in leftover.message) == (Verdict.UNDETERMINED, True)
    assert "declare it as a data property in the TBox" in leftover.hint
    assert result.evidence.ledger["assertion"] == 1


@pytest.mark.parametrize(
    "text",
    [
        ":n a owl:AnnotationProperty , owl:ObjectProperty . :a :n :b .",
        ":n a owl:ObjectProperty . :a :n :b .",
    ],
)
def test_a_property_that_the_tbox_does_not_know_stays_undeclared(tmp_path: Path, text: str) -> None:
    result = check(tmp_path, turtle(tmp_path, text))
    assert (result.verdict, len(told(result, "undeclared"))) == (Verdict.UNDETERMINED, 1)


def test_illegal_puns_stay_in_the_way(tmp_path: Path) -> None:
    for text in (
        ":p a owl:Class , rdfs:Datatype , owl:AnnotationProperty .",
        ":p a owl:Class , rdfs:Datatype , owl:ObjectProperty , owl:AnnotationProperty .",
    ):
        result = check(tmp_path, turtle(tmp_path, ":c a :Cat ."), tbox=TBOX + text)
        assert (result.verdict, len(told(result, "punning"))) == (Verdict.UNDETERMINED, 1)


def test_a_property_declared_as_object_and_data_property_is_two(tmp_path: Path) -> None:
    text = ":p a owl:ObjectProperty , owl:DatatypeProperty , owl:AnnotationProperty ."
    both = functional(
        tmp_path,
        "Declaration(ObjectProperty(:p)) Declaration(DataProperty(:p)) DisjointClasses(:Cat :Dog)",
        "t.ofn",
    )
    batch = turtle(tmp_path, ":c a :Cat .")
    for result in (
        check(tmp_path, batch, tbox=TBOX + text),
        check_insertions(both, None, batch, engine="local", reasoner="own"),
    ):
        assert (result.verdict, len(told(result, "two-readings"))) == (Verdict.CONSISTENT, 1)
