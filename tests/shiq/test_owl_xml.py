"""OWL/XML: read as the same axioms in any spelling; what is wrong is counted with its line, and
nothing is lost.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import islice
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shiq.errors import InputError
from shiq.functional import read_document
from shiq.functional.document import Document
from shiq.functional.owl_xml import read_owl_xml
from shiq.inputs.formats import Format
from shiq.inputs.sources import FileSource, classify_input
from shiq.model import OWL, RDF, XSD, Class, Literal, SubClassOf
from shiq.rdf import read_ontology
from shiq.rdf.headers import FileHeaders, read_headers
from shiq.rdf.ontology_header import OntologyHeader
from tests.command_line import shiq
from tests.functional_random import document
from tests.tools.owl_xml_writer import OwlXmlWriter, random_document, random_values

BEGIN = '<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#" xml:base="http://e.org/o" ontologyIRI="http://e.org/o">\n'
PREFIXES = {"": "urn:t#", "e": "http://e.org/x/", "v": "http://e.org/x/v1#"}


def read(body: str, begin: str = BEGIN) -> Document:
    return read_owl_xml(f"{begin}{body}\n</Ontology>".encode(), "x.owx", "file:///x.owx", "s")


def refusal(body: str, begin: str = BEGIN) -> tuple[str, str, int]:
    """Kind, message and line of the one leftover; all else is empty."""
    found = read(body, begin)
    assert not found.axioms and not found.assertions and found.ledger.total() == 1
    (leftover,) = found.leftovers
    return leftover.kind, leftover.message, leftover.line


def both(expression: str) -> str:
    return f'<SubClassOf>{expression}<Class IRI="#B"/></SubClassOf>'


# --- the same axioms as elsewhere ----------------------------------------------------------------


def assert_same(seed: int, folder: Path) -> None:
    path = folder / "a.owx"
    path.write_text(random_document(seed), encoding="utf-8")
    reading = read_ontology([path])
    assert not reading.leftovers, (seed, reading.leftovers)
    assert {*reading.tbox.axioms, *reading.abox} == set(random_values(seed)), seed


def test_random_ontologies_come_back_as_they_are(tmp_path: Path) -> None:
    for seed in range(60):
        assert_same(seed, tmp_path)


@pytest.mark.slow
def test_very_many_random_ontologies_come_back_as_they_are(tmp_path: Path) -> None:
    for seed in range(60, 1500):
        assert_same(seed, tmp_path)


def test_every_construct_is_read_as_in_functional_syntax() -> None:
    constructs: set[str] = set()
    for seed in range(400):
        expected = read_document(document(seed), "x.ofn", "s")
        values = [value for _, value in (*expected.axioms, *expected.assertions)]
        prefix = ("", "o")[seed % 2]
        text = OwlXmlWriter(seed, "urn:t", PREFIXES).document(values, prefix)
        found = read_owl_xml(text.encode(), "x.owx", "file:///x.owx", "s")
        # The writer writes _:s.x for a blank node, which the reader puts into its own scope once
        # more.
        assert [value for _, value in (*found.axioms, *found.assertions)] == values, seed
        counts = found.ledger
        assert found.leftovers == () and counts["axiom"] + counts["assertion"] == len(values)
        constructs |= set(re.findall(r"<(?:o:)?([A-Z]\w*)", text))
    assert len(constructs) > 60, sorted(constructs)


def test_lines_are_where_axioms_begin() -> None:
    axiom = both('<Class IRI="#A"/>')
    found = read(f'<!-- a\ncomment -->\n{axiom}\n\n<Declaration\n><Class IRI="#B"/></Declaration>')
    assert found.axioms == ((5, SubClassOf(Class("http://e.org/o#A"), Class("http://e.org/o#B"))),)
    assert found.signature.classes == {"http://e.org/o#A", "http://e.org/o#B"}


# --- names and literals --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "iri"),
    [
        ('IRI="#A"', "http://e.org/o#A"),
        ('IRI="urn:x:A"', "urn:x:A"),
        ('IRI="#A" xml:base="http://other.org/z"', "http://other.org/z#A"),
        ('IRI="A" xml:base="http://other.org/z/"', "http://other.org/z/A"),
        ('abbreviatedIRI="p:A"', "urn:p#A"),
        ('abbreviatedIRI=":A"', "http://e.org/o#A"),
        ('abbreviatedIRI="owl:Thing"', OWL + "Thing"),
        ('abbreviatedIRI="p:a:b"', "urn:p#a:b"),
    ],
)
def test_names_are_resolved(name: str, iri: str) -> None:
    prefixes = '<Prefix name="p" IRI="urn:p#"/><Prefix name="" IRI="#"/>'
    assert read(prefixes + both(f"<Class {name}/>")).axioms[0][1] == SubClassOf(
        Class(iri), Class("http://e.org/o#B")
    )


@pytest.mark.parametrize(
    ("base", "reference", "standard", "owl_api"),
    [
        ("http://e.org/o", "/A", "http://e.org/A", "http://e.org/o/A"),
        ("http://e.org/o#", "A", "http://e.org/A", "http://e.org/o#A"),
        ("http://e.org/on", "tology#A", "http://e.org/tology#A", "http://e.org/ontology#A"),
        (OWL, "Nothing", "http://www.w3.org/2002/07/Nothing", OWL + "Nothing"),
    ],
)
def test_relative_names_that_readers_resolve_differently(
    base: str, reference: str, standard: str, owl_api: str
) -> None:
    """Read as whoever wrote the document means them; told where it does not say who did."""
    begin = f'<Ontology xmlns="http://www.w3.org/2002/07/owl#" xml:base="{base}">\n\n'
    axiom = both(f'<Class IRI="{reference}"/>').replace('"#B"', '"urn:B"')
    kind, message, line = refusal(axiom, begin)
    assert (kind, line) == (
        "malformed",
        3,
    ) and f"<{standard}> by XML Base, and <{owl_api}> to the OWL API" in message
    by_owl_api = f"{begin}{axiom}</Ontology><!-- Generated by the OWL API (version 4.5) https://github.com/owlcs/owlapi -->"
    found = read_owl_xml(by_owl_api.encode(), "x", "file:///x", "")
    assert found.axioms[0][1] == SubClassOf(Class(owl_api), Class("urn:B")) and not found.leftovers


def test_without_a_base_names_are_relative_to_the_document() -> None:
    found = read(both('<Class IRI="#A"/>'), '<Ontology xmlns="http://www.w3.org/2002/07/owl#">')
    assert found.axioms[0][1] == SubClassOf(Class("file:///x.owx#A"), Class("file:///x.owx#B"))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("<Literal> a\n b </Literal>", Literal(" a\n b ")),
        ("<Literal/>", Literal("")),
        ('<Literal xml:lang="EN-gb">a</Literal>', Literal("a", RDF + "langString", "en-gb")),
        (
            f'<Literal xml:lang="en" datatypeIRI="{RDF}PlainLiteral">a</Literal>',
            Literal("a", RDF + "langString", "en"),
        ),
        (f'<Literal datatypeIRI="{RDF}PlainLiteral">a</Literal>', Literal("a")),
        (
            f'<Literal datatypeIRI="{RDF}PlainLiteral">a@en</Literal>',
            Literal("a@en", RDF + "PlainLiteral"),
        ),
        (
            f'<Literal datatypeIRI="{XSD}integer">1<!-- one -->2</Literal>',
            Literal("12", XSD + "integer"),
        ),
        ("<Literal><![CDATA[<a>]]>&amp;&#x41;</Literal>", Literal("<a>&A")),
    ],
)
def test_literals(written: str, value: Literal) -> None:
    individual = '<NamedIndividual IRI="#i"/>'
    found = read(
        f'<DataPropertyAssertion><DataProperty IRI="#d"/>{individual}{written}</DataPropertyAssertion>'
    )
    assert found.assertions[0][1].literal == value  # type: ignore[union-attr]


def test_header_imports_and_annotations(tmp_path: Path) -> None:
    begin = '<Ontology xmlns="http://www.w3.org/2002/07/owl#" xml:base="http://e.org/o" ontologyIRI="" versionIRI="http://e.org/o/1"\n>'
    found = read(
        "<Import> http://e.org/other </Import><Annotation><Annotation><AnnotationProperty IRI='#q'/><IRI>#a</IRI></Annotation>"
        "<AnnotationProperty IRI='#p'/><Literal>x</Literal></Annotation>"
        "<AnnotationAssertion><AnnotationProperty abbreviatedIRI='rdfs:label'/><IRI>#A</IRI><Literal>an A</Literal>"
        "</AnnotationAssertion><AnnotationPropertyDomain><AnnotationProperty IRI='#p'/><AbbreviatedIRI>owl:Thing</AbbreviatedIRI>"
        "</AnnotationPropertyDomain>",
        begin,
    )
    assert (found.iri, found.version) == ("http://e.org/o", "http://e.org/o/1")
    assert found.imports == ("http://e.org/other",)
    assert found.ledger == Counter({"annotation": 3, "leftover:missing-import": 1})
    assert [*found.labels] == [
        ("http://e.org/o#A", "http://www.w3.org/2000/01/rdf-schema#label", Literal("an A"))
    ]
    assert ("annotation", "http://e.org/o#q", 2, 1) in found.properties
    other = tmp_path / "other.ofn"
    other.write_text("Ontology(<http://e.org/other> Declaration(Class(<urn:Z>)))")
    own = tmp_path / "own.xml"
    own.write_text(begin + "<Import>http://e.org/other</Import></Ontology>")
    assert "urn:Z" in read_ontology([own, other]).tbox.signature.classes
    assert not read_ontology([own, other]).leftovers
    assert [x.kind for x in read_ontology([own]).leftovers] == ["missing-import"]


def test_anonymous_individuals_are_scoped_with_and_without_underscore() -> None:
    found = read(
        '<SameIndividual><AnonymousIndividual nodeID="_:a"/><AnonymousIndividual nodeID="a"/></SameIndividual>'
        '<ClassAssertion><Class IRI="#A"/><AnonymousIndividual nodeID="_:a"/></ClassAssertion>'
    )
    assert {value.individual for _, value in found.assertions if hasattr(value, "individual")} == {
        "_:s.a"
    }


# --- what is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (both('<Klass IRI="#A"/>'), "<Klass> is no element of OWL/XML"),
        (both('<Class iri="#A"/>'), "<Class> has no attribute iri"),
        (both('<Class IRI="#A" xmlns:x="urn:x" x:IRI="#A"/>'), "<Class> has no attribute x:IRI"),
        (both('<Class IRI="#A" abbreviatedIRI="owl:Thing"/>'), "both"),
        (both("<Class/>"), "neither"),
        (both('<Class IRI="#a b"/>'), "no IRI"),
        (both('<Class abbreviatedIRI="q:A"/>'), "prefix q: is not declared"),
        (both('<Class abbreviatedIRI="A"/>'), "no colon"),
        (
            both('<ObjectProperty IRI="#A"/>'),
            "the object property <http://e.org/o#A> where a class is expected",
        ),
        (both("<IRI>#A</IRI>"), "where a class is expected"),
        (both('<Class IRI="#A"><Class IRI="#A"/></Class>'), "which holds no elements"),
        (both('text<Class IRI="#A"/>'), "the text 'text' inside <SubClassOf>"),
        (both('<x:Class xmlns:x="urn:x" IRI="#A"/>'), "x:Class is none of OWL/XML"),
        (
            both('<SubClassOf><Class IRI="#A"/><Class IRI="#A"/></SubClassOf>'),
            "cannot stand inside <SubClassOf>",
        ),
        ('<Class IRI="#A"/>', "cannot stand where an axiom is expected"),
        (
            '<SubClassOf cardinality="1"><Class IRI="#A"/><Class IRI="#B"/></SubClassOf>',
            "no attribute cardinality",
        ),
        (
            both('<ObjectMinCardinality><ObjectProperty IRI="#r"/></ObjectMinCardinality>'),
            "no attribute cardinality",
        ),
        (
            both(
                '<ObjectMinCardinality cardinality="-1"><ObjectProperty IRI="#r"/></ObjectMinCardinality>'
            ),
            "no cardinality",
        ),
        ('<SubClassOf><Class IRI="#A"/></SubClassOf>', "takes 2 arguments, here are 1"),
        ('<Prefix name="owl" IRI="urn:mine#"/>', "stands for"),
        ("stray", "the text 'stray' inside <Ontology>"),
        (
            '<SameIndividual><NamedIndividual IRI="#a"/><AnonymousIndividual nodeID="a b"/></SameIndividual>',
            "no label",
        ),
    ],
)
def test_what_is_wrong_is_malformed_with_its_line(body: str, words: str) -> None:
    kind, message, line = refusal(body)
    assert (kind, line) == ("malformed", 3) and words in message


@pytest.mark.parametrize(
    "literal",
    ['<Literal xml:lang="e n">a</Literal>', f'<Literal datatypeIRI="{RDF}langString">a</Literal>'],
)
def test_literals_that_are_wrong(literal: str) -> None:
    individual = '<NamedIndividual IRI="#i"/>'
    body = f'<DataPropertyAssertion><DataProperty IRI="#d"/>{individual}{literal}</DataPropertyAssertion>'
    assert refusal(body)[0] == "malformed"


def test_a_language_that_is_inherited_is_told_since_readers_differ() -> None:
    body = '<DataPropertyAssertion xml:lang="en"><DataProperty IRI="#d"/><NamedIndividual IRI="#i"/><Literal>a</Literal>'
    assert "readers differ" in refusal(body + "</DataPropertyAssertion>")[1]


def test_rules_are_outside_shiq_and_a_line_inside_an_axiom_is_told() -> None:
    assert refusal("<DLSafeRule><Body/><Head/></DLSafeRule>")[0] == "outside-shiq"
    assert refusal('<SubClassOf>\n<Class IRI="#A"/>\n<Class/></SubClassOf>')[1].endswith("(line 5)")


def test_an_attribute_of_the_root_that_is_wrong_leaves_the_axioms() -> None:
    found = read(both('<Class IRI="#A"/>'), BEGIN.replace("ontologyIRI", "ontologyURI"))
    assert len(found.axioms) == 1 and [x.message for x in found.leftovers] == [
        "<Ontology> has no attribute ontologyURI"
    ]


def test_what_is_left_out_is_there_as_it_was_written() -> None:
    axiom = '<SubClassOf><Class IRI="#ü"/><Klass/></SubClassOf>'
    empty = "<SubClassOf/>"
    found = read(f"{axiom}{empty}\n{axiom}")
    assert [x.text for x in found.left_out] == [axiom, empty, axiom]
    assert [(x.count, x.line) for x in found.leftovers] == [(2, 3), (1, 3)]


def test_a_document_that_is_cut_short_is_read_up_to_there() -> None:
    for seed in range(20):
        whole = random_document(seed).encode()
        everything = {value for _, value in read_owl_xml(whole, "x", "file:///x", "").axioms}
        at = random.Random(seed).randrange(len(whole) - 12)
        try:
            found = read_owl_xml(whole[:at], "x", "file:///x", "")
        except InputError as error:
            assert "not well-formed" in str(error)
            continue
        assert {value for _, value in found.axioms} <= everything
        assert found.leftovers[0].message.startswith("not well-formed XML")


_SPOILT = (
    lambda dice, element: element.set("made", "up"),
    lambda dice, element: setattr(element, "tag", element.tag + "x"),
    lambda dice, element: setattr(element, "tag", "{urn:else}" + element.tag.partition("}")[2]),
    lambda dice, element: setattr(element, "tail", "stray"),
)


def test_what_goes_in_comes_out_by_count() -> None:
    """Elements of the axioms are spoilt one by one: each costs its axiom, which is counted, and
    no other.
    """
    ElementTree.register_namespace("", OWL)
    for seed in range(80):
        dice = random.Random(seed)
        root = ElementTree.fromstring(random_document(seed))
        prefixes = len(root.findall(f"{{{OWL}}}Prefix"))
        axioms = list(root)[prefixes:]
        whole = read_owl_xml(ElementTree.tostring(root), "x", "file:///x", "")
        assert whole.ledger.total() == len(axioms) and not whole.leftovers
        spoilt = set(dice.sample(range(len(axioms)), dice.randint(1, 4)))
        for i in spoilt:
            inside = list(islice(axioms[i].iter(), 1, None))
            dice.choice(_SPOILT)(dice, dice.choice(inside))
        found = read_owl_xml(ElementTree.tostring(root), "x", "file:///x", "")
        assert found.ledger.total() == len(axioms)
        assert sum(x.count for x in found.leftovers) == len(found.left_out) == len(spoilt), seed
        assert all(x.kind == "malformed" and x.line for x in found.leftovers)


@pytest.mark.parametrize(
    ("doctype", "words"),
    [
        ('<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">', "by other entities"),
        ('<!ENTITY x SYSTEM "file:///etc/passwd">', "external entity"),
        ('<!ENTITY % p SYSTEM "http://e.org/p">', "external entity"),
        (f'<!ENTITY a "{"a" * 600}">', "too long"),
    ],
)
def test_entities_that_fetch_or_grow_are_refused(doctype: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.owl"
    path.write_text(
        BEGIN.replace("\n<", f"\n<!DOCTYPE Ontology [{doctype}]>\n<", 1) + "</Ontology>"
    )
    with pytest.raises(InputError, match=words):
        read_ontology([path])


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.owx", "a.owl", "a.xml", "a.rdf", "a", "a.ttl"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_files_are_known_by_what_they_hold(name: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / name
    declared = encoding.removesuffix("-sig")
    text = (
        BEGIN.replace("?>", f' encoding="{declared}"?><!-- <rdf:RDF> -->', 1)
        + both('<Class IRI="#é"/>')
        + "</Ontology>"
    )
    path.write_bytes(text.encode(encoding))
    source = classify_input(path)
    assert isinstance(source, FileSource) and source.format is Format.OWLXML
    assert (
        SubClassOf(Class("http://e.org/o#é"), Class("http://e.org/o#B"))
        in read_ontology([path]).tbox.axioms
    )


def test_a_header_is_read_without_the_axioms(tmp_path: Path) -> None:
    path = tmp_path / "o.owl"
    begin = BEGIN.replace("ontologyIRI", 'versionIRI="http://e.org/o/2" ontologyIRI')
    path.write_text(
        begin
        + "<Import>http://e.org/p</Import><Annotation/><Declaration/>"
        + "no XML from here on <"
    )
    source = classify_input(path)
    assert isinstance(source, FileSource)
    assert read_headers(source) == FileHeaders(
        (OntologyHeader("http://e.org/o", "http://e.org/o/2"),)
    )


def test_an_ontology_at_the_root_of_rdf_xml_is_rdf_xml(tmp_path: Path) -> None:
    path = tmp_path / "a.owl"
    path.write_text(f'<owl:Ontology xmlns:owl="{OWL}" xmlns:rdf="{RDF}" rdf:about="urn:o"/>')
    source = classify_input(path)
    assert isinstance(source, FileSource) and source.format is Format.RDFXML
    assert "urn:o" in read_ontology([path]).ontologies


def test_another_document_with_the_extension_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.owx"
    path.write_text("no XML")
    with pytest.raises(InputError, match="not well-formed"):
        read_ontology([path])


def test_a_base_and_a_batch_in_owl_xml(tmp_path: Path) -> None:
    names = {
        "t.owx": '<DisjointClasses><Class IRI="#A"/><Class IRI="#B"/></DisjointClasses>',
        "a.owx": '<ClassAssertion><Class IRI="#A"/><NamedIndividual IRI="#i"/></ClassAssertion>',
        "b.owx": '\n<ClassAssertion><Class IRI="#B"/><NamedIndividual IRI="#i"/></ClassAssertion>',
    }
    for name, body in names.items():
        (tmp_path / name).write_text(BEGIN + body + "</Ontology>")
    tbox, base, batch = (str(tmp_path / name) for name in names)
    called = shiq("check", "--tbox", tbox, "--abox", base, "--insert", batch)
    assert called.returncode == 1 and f"{batch}:4" in called.stdout
