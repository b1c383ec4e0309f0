"""The tables of well-known vocabularies: whole, as their own files say, and used where they should be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shiq import vocabularies
from shiq.check import certify
from shiq.functional import read_document
from shiq.result import Result
from shiq.verdict import Verdict
from tests.tools.vocabularies import SOURCES, compare, file_of

HEAD = """@prefix : <http://example.org/onto#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class .
"""
BOTH = ":x a skos:Concept , skos:ConceptScheme .\n"
IMPORT = "<http://example.org/onto> a owl:Ontology ; owl:imports <http://www.w3.org/2004/02/skos/core> .\n"


def certified(tmp_path: Path, text: str) -> Result:
    (tmp_path / "onto.ttl").write_text(HEAD + text)
    return certify(tmp_path / "onto.ttl", reasoner="own")


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_each_table_is_whole(name: str) -> None:
    table = vocabularies.table(name)
    document = read_document(f"Ontology({' '.join(table.axioms)})", name, "v")
    assert table.kinds and len(document.axioms) == len(table.axioms) and not document.leftovers
    assert table.version and all(vocabularies.kind_of(iri) == kind for iri, kind in table.kinds.items())
    answered = {vocabularies.answering(iri) for iri in table.ontologies}
    assert answered == ({None} if table.left else {table})


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_each_table_says_what_the_vocabulary_s_own_file_says(name: str) -> None:
    folder = os.environ.get("SHIQ_VOCABULARIES", "")
    path = file_of(Path(folder), name) if folder else None
    if path is None or name not in vocabularies.NAMES:
        pytest.skip(f"SHIQ_VOCABULARIES names no folder with a file of {name}")
    assert compare(name, path) == []


def test_kinds_are_known_without_an_import_and_axioms_are_not_used(tmp_path: Path) -> None:
    result = certified(tmp_path, BOTH + ':tom a :Cat ; skos:prefLabel "Tom" ; dcterms:created "2026" ; foaf:name "Tom" .')
    assert result.verdict is Verdict.CONSISTENT and [x.kind for x in result.evidence.leftovers] == ["other-language"]


def test_an_import_is_answered_by_the_table_and_its_axioms_refute(tmp_path: Path) -> None:
    result = certified(tmp_path, IMPORT + BOTH)
    assert result.verdict is Verdict.INCONSISTENT and "core#ConceptScheme" in result.conflicts[0].axioms[0]
    assert [x.kind for x in result.evidence.leftovers] == ["vocabulary"]


@pytest.mark.parametrize("value", ['"Ann"', ":ann"])
@pytest.mark.parametrize(
    "axiom",
    [
        "dcterms:creator rdfs:domain :Dog .",
        ":by a owl:DatatypeProperty ; rdfs:subPropertyOf dcterms:creator . dcterms:creator rdfs:domain :Dog . :tom :by 'x' .",
        "[] a owl:Restriction ; owl:onProperty dcterms:creator ; owl:minCardinality 1 ; rdfs:subClassOf :Dog .",
    ],
)
def test_own_axioms_on_an_imported_term_of_open_kind_count_in_both_readings(tmp_path: Path, axiom: str, value: str) -> None:
    text = IMPORT.replace("http://www.w3.org/2004/02/skos/core", "http://purl.org/dc/terms/") + axiom
    result = certified(tmp_path, text + f":tom a :Cat ; dcterms:creator {value} .")
    assert result.verdict is Verdict.INCONSISTENT
    assert certified(tmp_path, text + f":tom a :Dog ; dcterms:creator {value} .").verdict is Verdict.CONSISTENT


def test_a_term_of_a_table_at_an_axiom_annotates_it(tmp_path: Path) -> None:
    result = certified(tmp_path, "[] a owl:AllDisjointClasses ; owl:members ( :Cat :Dog :Bird ) ; dcterms:source 'a book' .")
    assert result.verdict is Verdict.CONSISTENT and result.evidence.ledger["annotation"] == 1


def test_an_import_of_another_version_stays_missing(tmp_path: Path) -> None:
    result = certified(tmp_path, IMPORT.replace("/2004/02/skos/core", "/2009/08/skos-reference/skos.rdf") + BOTH)
    assert result.verdict is Verdict.UNDETERMINED and "missing-import" in result.reason


def test_a_vocabulary_of_which_the_table_lacks_something_answers_no_import(tmp_path: Path) -> None:
    result = certified(tmp_path, IMPORT.replace("http://www.w3.org/2004/02/skos/core", "http://xmlns.com/foaf/0.1/"))
    assert result.verdict is Verdict.UNDETERMINED and "missing-import" in result.reason


def test_what_the_ontology_says_of_a_term_goes_before_the_table(tmp_path: Path) -> None:
    own = "skos:prefLabel a owl:DatatypeProperty ; rdfs:domain :Dog ."
    assert certified(tmp_path, own + ':tom a :Cat ; skos:prefLabel "Tom" .').verdict is Verdict.INCONSISTENT


def test_documentation_of_an_ontology_and_its_terms_is_no_assertion(tmp_path: Path) -> None:
    text = '<http://example.org/onto> a owl:Ontology ; dcterms:creator "Ann" . :Cat dcterms:created "2026" ; skos:broader :Dog .'
    ledger = certified(tmp_path, text).evidence.ledger
    assert ledger["annotation"] == 3 and ledger["leftover:other-language"] == 1


def test_a_property_below_one_of_annotations_says_nothing(tmp_path: Path) -> None:
    result = certified(tmp_path, ":name a owl:DatatypeProperty ; rdfs:subPropertyOf rdfs:label . :tom :name 'Tom' .")
    assert result.verdict is Verdict.CONSISTENT


def test_same_as_between_classes_is_about_individuals(tmp_path: Path) -> None:
    result = certified(tmp_path, ":Cat owl:sameAs :Kitty . :Kitty a owl:Class . :tom a :Kitty , :Dog .")
    assert result.verdict is Verdict.CONSISTENT
    assert [x.kind for x in result.evidence.leftovers] == ["individuals-only"]
