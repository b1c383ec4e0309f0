"""Graphs, stores and worlds in memory, and what they may have lost."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from shiq.api import check_insertions
from shiq.model import RDF, XSD, Literal, Signature
from shiq.rdf import read_assertions, read_ontology
from tests.rdf_helpers import NS, PREFIXES, kinds, write

KNOWN = Signature(frozenset({NS + "C"}), frozenset({NS + "r"}), frozenset({NS + "f"}))
CLEAN = PREFIXES + ':a a :C ; :r _:x , :b ; :f "text" , "hallo"@de , "x"^^xsd:gYear .'


def literals(source: Any) -> list[Literal]:
    return read_assertions([source], KNOWN).abox.literals


# --- rdflib --------------------------------------------------------------------------------------


def rdflib_graph(text: str) -> Any:
    import rdflib

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rdflib.Graph().parse(data=text, format="turtle")


def test_an_rdflib_graph_is_read_and_nothing_is_said_where_nothing_can_be_lost() -> None:
    reading = read_assertions([rdflib_graph(CLEAN)], KNOWN)
    assert (len(reading.abox), reading.leftovers, dict(reading.ledger)) == (6, (), {"assertion": 6})
    assert Literal("hallo", RDF + "langString", "de") in reading.abox.literals
    assert sum(name.startswith("_:a0.") for name in reading.abox.individuals) == 1


@pytest.mark.parametrize(
    "literal",
    [
        '"yes"^^xsd:boolean',
        '"TRUE"^^xsd:boolean',
        '"2026-08-16T12:05:34Z"^^xsd:date',
        '"2026-08-16"^^xsd:dateTime',
        '"12:00"^^xsd:time',
        '"P1W"^^xsd:duration',
        '"1e5"^^xsd:decimal',
        '"1_000"^^xsd:integer',
        '"INF"^^xsd:double',
        '"A A = ="^^xsd:base64Binary',
        '"a\\tb"^^xsd:token',
    ],
)
def test_a_literal_that_rdflib_rewrites_is_told(literal: str) -> None:
    graph = rdflib_graph(PREFIXES + f":a :f {literal} .")
    (leftover,) = read_assertions([graph], KNOWN).leftovers
    assert (leftover.kind, leftover.source, leftover.count) == ("lossy-input", "rdflib graph", 1)
    assert "xsd:" in leftover.message
    assert NS + "a" in leftover.text
    assert "give the file" in leftover.hint


@pytest.mark.parametrize(
    "literal",
    [
        '"true"^^xsd:boolean',
        '"abc"^^xsd:integer',
        '"2026-13-45"^^xsd:date',
        '"0f"^^xsd:hexBinary',
        '"x"^^<urn:mine>',
        '"1/3"^^owl:rational',
    ],
)
def test_a_literal_that_keeps_its_form_is_not(literal: str) -> None:
    reading = read_assertions([rdflib_graph(PREFIXES + f":a :f {literal} .")], KNOWN)
    assert not reading.leftovers
    assert reading.abox.literals[0].lexical == literal.split('"')[1]


def test_only_literals_that_a_model_sees_count() -> None:
    text = """
    :C rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :r ; owl:maxCardinality 1 ] ; owl:versionInfo 5 . :C a owl:Class .
    :r a owl:ObjectProperty . :date a owl:AnnotationProperty . :C :date "2026-08-16"^^xsd:date . :f a owl:DatatypeProperty .
    """
    assert not read_ontology([rdflib_graph(PREFIXES + text)]).leftovers
    assert not read_ontology([oxigraph(PREFIXES + text)]).leftovers
    value = ":D rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :f ; owl:hasValue 5 ] ."
    assert kinds(read_ontology([rdflib_graph(PREFIXES + text + value)])) == {"lossy-input": 1}


def test_a_graph_that_was_not_normalised_is_trusted() -> None:
    import rdflib

    graph = rdflib.Graph()
    graph.add(
        (
            rdflib.URIRef(NS + "a"),
            rdflib.URIRef(NS + "f"),
            rdflib.Literal("007", datatype=XSD + "integer", normalize=False),
        )
    )
    reading = read_assertions([graph], KNOWN)
    assert (reading.abox.literals, reading.leftovers) == ([Literal("007", XSD + "integer")], ())


def test_rdflib_terms_that_are_not_rdf_are_malformed() -> None:
    import rdflib

    graph = rdflib.Graph()
    a, r = rdflib.URIRef(NS + "a"), rdflib.URIRef(NS + "r")
    graph.add((rdflib.URIRef("has space"), r, a))
    graph.add((rdflib.Literal("x"), r, a))
    graph.add((a, rdflib.BNode(), a))
    graph.add((a, rdflib.URIRef(NS + "f"), rdflib.Literal("a\0b")))
    reading = read_assertions([graph], KNOWN)
    assert kinds(reading) == {"malformed": 4}
    assert len(reading.abox) == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
def test_literals_of_rdflib_that_no_file_can_hold_are_malformed() -> None:
    import rdflib

    subject, predicate = rdflib.URIRef(NS + "a"), rdflib.URIRef(NS + "f")
    for value in (
        rdflib.Literal("x", datatype=rdflib.RDF.langString),
        rdflib.Literal("x", lang="abcdefghi"),
        rdflib.Literal("\ud800"),
    ):
        graph = rdflib.Graph()
        graph.add((subject, predicate, value))
        reading = read_assertions([graph], KNOWN)
        assert (len(reading.abox), kinds(reading)) == (0, {"malformed": 1})


def test_a_name_of_rdflib_that_looks_like_a_blank_node_of_the_base_is_none() -> None:
    import rdflib

    dataset = rdflib.Dataset()
    a, r, f = (rdflib.URIRef(NS + name) for name in "arf")
    other = rdflib.URIRef("_:a0.x")
    dataset.add((other, r, a))
    dataset.add((a, r, other))
    dataset.add((a, other, a))
    dataset.add((a, f, rdflib.Literal("1", datatype=other)))
    dataset.add((a, r, rdflib.BNode("x> <urn:y")))
    dataset.graph(other).add((a, r, a))
    reading = read_assertions([dataset], KNOWN)
    assert kinds(reading) == {"malformed": 6}
    assert len(reading.abox) == 0


@pytest.mark.parametrize("form", ["INF", "-INF", "NaN"])
@pytest.mark.parametrize("datatype", ["float", "double"])
def test_a_graph_with_a_number_that_is_not_finite_answers_as_its_file(
    tmp_path: Path, form: str, datatype: str
) -> None:
    tbox = write(
        tmp_path, "t.ttl", PREFIXES + f":f a owl:DatatypeProperty ; rdfs:range xsd:{datatype} ."
    )
    text = PREFIXES + f':a :f "{form}"^^xsd:{datatype} .'
    file = check_insertions(tbox, None, write(tmp_path, "i.ttl", text), reasoner="own")
    graph = check_insertions(tbox, None, rdflib_graph(text), reasoner="own", allow={"lossy-input"})
    told = check_insertions(tbox, None, rdflib_graph(text), reasoner="own")
    assert [x.verdict.value for x in (file, graph, told)] == [
        "consistent",
        "consistent",
        "undetermined",
    ]
    assert literals(rdflib_graph(text)) == [Literal(form, XSD + datatype)]


def test_a_duration_of_no_months_keeps_a_form_of_its_datatype() -> None:
    graph = rdflib_graph(PREFIXES + ':a :f "P0Y"^^xsd:yearMonthDuration .')
    assert literals(graph) == [Literal("P0M", XSD + "yearMonthDuration")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
def test_all_graphs_of_an_rdflib_dataset_are_read() -> None:
    import rdflib

    dataset = rdflib.Dataset()
    a, r = rdflib.URIRef(NS + "a"), rdflib.URIRef(NS + "r")
    dataset.graph(rdflib.URIRef("urn:g")).add((a, r, rdflib.URIRef(NS + "b")))
    dataset.add((a, r, rdflib.URIRef(NS + "c")))
    assert len(read_assertions([dataset], KNOWN).abox) == 2


def test_an_ontology_in_an_rdflib_graph() -> None:
    graph = rdflib_graph(
        PREFIXES
        + ":C a owl:Class ; rdfs:subClassOf [ a owl:Class ; owl:complementOf :D ] . :D a owl:Class ."
    )
    reading = read_ontology([graph])
    assert len(reading.tbox.axioms) == 1
    assert not reading.leftovers


# --- pyoxigraph ----------------------------------------------------------------------------------


def oxigraph(text: str, kind: type = ox.Store) -> Any:
    store = kind()
    for quad in ox.parse(text.encode(), format=ox.RdfFormat.TURTLE):
        store.add(quad)
    return store


def test_a_pyoxigraph_store_is_read() -> None:
    for kind in (ox.Store, ox.Dataset):
        reading = read_assertions([oxigraph(CLEAN, kind)], KNOWN)
        assert (len(reading.abox), reading.leftovers) == (6, ())


@pytest.mark.parametrize(
    ("literal", "told"),
    [
        ('"300"^^xsd:byte', True),
        ('"2026-08-16T12:00:00"^^xsd:dateTimeStamp', True),
        ('"inf"^^xsd:double', True),
        ("1.5e0", False),
        ('"yes"^^xsd:boolean', False),
        ('"2026-02-30"^^xsd:date', False),
    ],
)
def test_what_a_store_keeps_as_a_value_is_told(literal: str, told: bool) -> None:
    text = PREFIXES + f":a :f {literal} ."
    assert bool(read_assertions([oxigraph(text)], KNOWN).leftovers) is told
    assert not read_assertions([oxigraph(text, ox.Dataset)], KNOWN).leftovers


def test_named_graphs_of_a_store_are_read_and_rdf_star_is_refused() -> None:
    store = ox.Store()
    a, b, r = (ox.NamedNode(NS + name) for name in "abr")
    store.add(ox.Quad(a, r, b, ox.NamedNode("urn:g")))
    store.add(ox.Quad(a, r, ox.Triple(a, r, b)))
    reading = read_assertions([store], KNOWN)
    assert len(reading.abox) == 1
    assert kinds(reading) == {"malformed": 1}


# --- owlready2 -----------------------------------------------------------------------------------

XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns="urn:t#" xmlns:x="urn:t#" xml:base="http://example.org/o">
<owl:Ontology rdf:about=""/>
<owl:Class rdf:about="urn:t#C"><rdfs:subClassOf><owl:Class><owl:complementOf><owl:Class rdf:about="urn:t#D"/></owl:complementOf>
</owl:Class></rdfs:subClassOf><rdfs:label xml:lang="en">c</rdfs:label></owl:Class>
<owl:DatatypeProperty rdf:about="urn:t#f"/><owl:ObjectProperty rdf:about="urn:t#r"/>
%s
</rdf:RDF>"""
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
GOOD = f'<C rdf:about="urn:t#a"><f rdf:datatype="{INTEGER}">007</f><f>x</f><r rdf:resource="urn:t#b"/></C>'


def loaded(folder: Path, body: str) -> tuple[Any, Any]:
    import owlready2

    world = owlready2.World()
    return world, world.get_ontology(write(folder, "o.owl", XML % body).as_uri()).load()


def test_an_owlready2_ontology_and_world_are_read(tmp_path: Path) -> None:
    world, ontology = loaded(tmp_path, GOOD)
    for source in (world, ontology):
        reading = read_ontology([source])
        assert (len(reading.tbox.axioms), len(reading.abox)) == (1, 4)
        assert not reading.leftovers
        assert "http://example.org/o#" in reading.ontologies


@pytest.mark.parametrize(
    "body",
    [
        '<C rdf:about="urn:t#a" x:f="attribute"/>',
        '<C rdf:about="urn:t/a/"/>',
        '<C rdf:about="urn:t#a"><r rdf:parseType="Resource"><f>x</f></r></C>',
        '<C rdf:about="urn:t#a" xml:lang="de"><f>x</f></C>',
        f'<C rdf:about="urn:t#a"><f rdf:datatype="{INTEGER}">1_000</f></C>',
        '<C rdf:about="urn:t#a"><f rdf:datatype="http://www.w3.org/2001/XMLSchema#decimal">1e5</f></C>',
    ],
)
def test_what_owlready2_drops_or_changes_is_told(tmp_path: Path, body: str) -> None:
    _, ontology = loaded(tmp_path, GOOD + "\n" + body)
    lossy = [
        leftover
        for leftover in read_ontology([ontology]).leftovers
        if leftover.kind == "lossy-input"
    ]
    assert len(lossy) == 1
    assert "not in the ontology that owlready2 loaded" in lossy[0].message
    assert lossy[0].source.endswith("o.owl")
    assert lossy[0].line == 9
    assert not [
        leftover
        for leftover in read_ontology([loaded(tmp_path, GOOD)[1]]).leftovers
        if leftover.kind == "lossy-input"
    ]


def test_numbers_keep_their_value_in_owlready2(tmp_path: Path) -> None:
    body = "".join(
        f'<f rdf:datatype="http://www.w3.org/2001/XMLSchema#{datatype}">{text}</f>'
        for datatype, text in (
            ("double", "NaN"),
            ("double", "-INF"),
            ("decimal", "1.50"),
            ("double", "1E300"),
            ("decimal", "1000000"),
        )
    )
    _, ontology = loaded(tmp_path, f'<C rdf:about="urn:t#a">{body}</C>')
    reading = read_ontology([ontology])
    assert {value.lexical for value in reading.abox.literals} == {
        "NaN",
        "-INF",
        "1.5",
        "1e+300",
        "1000000.0",
    }
    assert not reading.leftovers


def test_an_ontology_made_by_calls_is_trusted_and_one_of_unknown_origin_is_not(
    tmp_path: Path,
) -> None:
    import owlready2

    world = owlready2.World()
    made = world.get_ontology("http://example.org/made#")
    with made:
        cat = type("Cat", (owlready2.Thing,), {})
        dog = type("Dog", (owlready2.Thing,), {})
        owlready2.AllDisjoint([cat, dog])
        cat("tom")
    reading = read_ontology([made])
    assert (len(reading.abox), reading.leftovers) == (1, ())
    with open(write(tmp_path, "o.owl", XML % GOOD), "rb") as stream:
        unknown = owlready2.World().get_ontology("http://example.org/unknown").load(fileobj=stream)
    assert kinds(read_ontology([unknown])) == {"lossy-input": 1}


def test_an_import_that_owlready2_loaded_is_answered(tmp_path: Path) -> None:
    import owlready2

    write(tmp_path, "o.owl", XML % GOOD)
    importing = f"""<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
      xmlns:owl="http://www.w3.org/2002/07/owl#"><owl:Ontology rdf:about="http://example.org/second">
      <owl:imports rdf:resource="{(tmp_path / "o.owl").as_uri()}"/></owl:Ontology></rdf:RDF>"""
    ontology = (
        owlready2.World().get_ontology(write(tmp_path, "second.owl", importing).as_uri()).load()
    )
    reading = read_ontology([ontology])
    assert len(reading.abox) == 4
    assert not reading.leftovers


def test_a_broken_line_that_owlready2_takes_for_a_triple_is_told(tmp_path: Path) -> None:
    import owlready2

    path = write(tmp_path, "o.nt", f"<{NS}a> <{NS}r> <{NS}b> .\n<{NS}a> <{NS}r> <{NS}b c> .\n")
    reading = read_assertions([owlready2.World().get_ontology(path.as_uri()).load()], KNOWN)
    assert [(leftover.kind, leftover.line) for leftover in reading.leftovers] == [
        ("malformed", 2),
        ("malformed", 0),
    ]
    assert len(reading.abox) == 1


# --- light imports -------------------------------------------------------------------------------


def test_reading_a_file_imports_neither_rdflib_nor_owlready2(tmp_path: Path) -> None:
    path = write(tmp_path, "a.nt", "<urn:a> <urn:p> <urn:b> .\n")
    code = (
        "import sys; from shiq.rdf import read_ontology; read_ontology([sys.argv[1]]);"
        "assert not {'rdflib', 'owlready2', 'pandas', 'pyspark'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
