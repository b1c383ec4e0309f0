"""Languages beside OWL: told once each, never in the way, and no axiom is lost for them (THEORY,
"Languages beside OWL").
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import certify
from shiq.rdf.other_languages import LANGUAGES

HEAD = """@prefix : <http://example.org/onto#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix sp: <http://spinrdf.org/sp#> .
@prefix spin: <http://spinrdf.org/spin#> . @prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix schema: <https://schema.org/> .
:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class . :likes a owl:ObjectProperty ; rdfs:range :Cat .
:age a owl:DatatypeProperty . :tom a :Cat ; :likes :tim .
"""
SHAPE = """:CatShape a sh:NodeShape ; sh:targetClass :Cat ; sh:property [ sh:path :likes ; sh:in ( :tim :tom ) ; sh:class :Cat ] ;
  sh:or ( [ sh:path ( :likes [ sh:inversePath :likes ] ) ] [ sh:not [ sh:hasValue :rex ] ] ) .
"""
STATEMENTS = {
    "SHACL": (SHAPE, 11),
    "SKOS": (
        ":s a skos:ConceptScheme . :c a skos:Concept ; skos:inScheme :s ; skos:broader :d . :d skos:prefLabel 'd' .",
        4,
    ),
    "SPIN": (
        ":Cat spin:rule [ a sp:Construct ; sp:where ( [ sp:subject spin:_this ; sp:predicate :likes ] ) ] .",
        5,
    ),
    "R2RML": ("<#m> rr:subjectMap [ rr:class :Cat ; rr:template '{id}' ] .", 3),
    "schema.org": (":likes schema:domainIncludes :Cat , :Dog ; schema:rangeIncludes :Cat .", 3),
}


def certified(tmp_path: Path, text: str, **settings: object) -> Result:
    (tmp_path / "onto.ttl").write_text(HEAD + text)
    return certify(tmp_path / "onto.ttl", reasoner="own", **settings)


def told(result: Result) -> dict[str, int]:
    return {leftover.kind: leftover.count for leftover in result.evidence.leftovers}


@pytest.mark.parametrize("language", STATEMENTS)
def test_a_language_is_told_once_with_a_count(tmp_path: Path, language: str) -> None:
    text, count = STATEMENTS[language]
    result = certified(tmp_path, text)
    assert result.verdict is Verdict.CONSISTENT
    (leftover,) = result.evidence.leftovers
    assert (leftover.kind, leftover.count) == (
        "other-language",
        count,
    ) and f"statements of {language} " in leftover.message
    assert result.evidence.ledger["leftover:other-language"] == count
    assert certified(tmp_path, text, fail_on=["other-language"]).verdict is Verdict.UNDETERMINED


def test_an_axiom_that_shares_a_node_with_a_shape_counts(tmp_path: Path) -> None:
    shared = (
        SHAPE
        + ":s sh:class _:u ; sh:in _:l . _:u a owl:Class ; owl:unionOf _:l . _:l rdf:first :Dog ; rdf:rest () . "
    )
    assert certified(tmp_path, shared + ":tim a :Dog .").verdict is Verdict.INCONSISTENT
    assert certified(tmp_path, shared).verdict is Verdict.CONSISTENT
    assert (
        certified(tmp_path, shared + ":age rdfs:domain _:u . :tom :age 3 .").verdict
        is Verdict.INCONSISTENT
    )
    restricted = ":Cat rdfs:subClassOf [ sh:minCount 1 ; a owl:Restriction ; owl:onProperty :likes ; owl:allValuesFrom :Dog ] ."
    assert certified(tmp_path, restricted).verdict is Verdict.INCONSISTENT


def test_a_shape_that_is_a_class_keeps_its_axioms(tmp_path: Path) -> None:
    text = ":Pup a owl:Class , sh:NodeShape ; rdfs:subClassOf :Dog ; sh:property [ sh:path :likes ; sh:minCount 1 ] . "
    assert certified(tmp_path, text + ":rex a :Pup .").verdict is Verdict.CONSISTENT
    assert certified(tmp_path, text + ":tom a :Pup .").verdict is Verdict.INCONSISTENT


def test_a_term_that_an_axiom_speaks_of_is_read_as_any_other(tmp_path: Path) -> None:
    assert (
        certified(tmp_path, ":tom a skos:Concept . skos:Concept rdfs:subClassOf :Dog .").verdict
        is Verdict.INCONSISTENT
    )
    assert (
        certified(tmp_path, ":rex a :Dog . :p sh:node :rex . sh:node rdfs:range :Cat .").verdict
        is Verdict.INCONSISTENT
    )
    result = certified(
        tmp_path,
        ":s sh:in _:l . _:l a rdf:List , :Cat ; rdf:first 1 ; rdf:rest () . rdf:List rdfs:subClassOf :Dog .",
    )
    assert result.verdict is Verdict.UNDETERMINED and told(result)["unattached"]


@pytest.mark.parametrize(
    "text",
    [
        ":tom a :Cta . " + SHAPE,
        SHAPE + "_:x rdf:first :Cat ; rdf:rest () .",
        SHAPE + "[ owl:unionOf ( :Cat :Dog ) ] .",
        ":Cat owl:unionof _:l . :s sh:in _:l . _:l rdf:first :Dog ; rdf:rest () .",
        "_:x owl:members _:l . :s sh:in _:l . _:l rdf:first :Dog ; rdf:rest () .",
        ":s sh:in [ owl:members ( :Cat :Dog ) ] .",
        ":s :shows ( :tom ) .",
        ":Pup <http://elsewhere.net/v#subClassOf> [ a owl:Restriction ; owl:onProperty :likes ; owl:allValuesFrom :Dog ] .",
        ":Pup <http://elsewhere.net/v#neither> [ owl:complementOf :Dog ] .",
        ":Pup <http://elsewhere.net/v#eachOf> ( :Cat :Dog ) .",
        ":s sh:in ( :tom 'x'^^xsd:integer ) .",
        ":s sh:minCount '1'^^xsd:Integer .",
        "sh:path a owl:ObjectProperty . :s sh:pahtt :likes .",
    ],
)
def test_what_is_of_no_statement_still_blocks(tmp_path: Path, text: str) -> None:
    assert certified(tmp_path, text).verdict is Verdict.UNDETERMINED


def test_lists_in_statements_that_were_read_are_parts_of_them(tmp_path: Path) -> None:
    text = ":rated a owl:AnnotationProperty ; rdfs:range [ a rdfs:Datatype ; owl:oneOf ( 1 2 ) ] . :tom :rated ( 1 ) ; :likes :l ."  # noqa: E501
    text += ":l a rdf:List ; rdf:first :tim ; rdf:rest ( :tom ) . rdf:nil a rdf:List . :tom rdfs:member :l ; a rdf:Bag ."
    assert certified(tmp_path, text).verdict is Verdict.CONSISTENT


@pytest.mark.parametrize("seed", range(40))
def test_statements_of_languages_change_no_verdict(tmp_path: Path, seed: int) -> None:
    """Against the same document without them: lemma F, on random documents that share nodes with
    shapes.
    """
    dice = random.Random(seed)
    classes, roles, people = (
        [":Cat", ":Dog", ":A", ":B"],
        [":likes", ":p"],
        [":tom", ":tim", ":rex", ":ann"],
    )
    axioms = [
        f"{dice.choice(classes)} rdfs:subClassOf _:n{i} . _:n{i} a owl:Restriction ; owl:onProperty {dice.choice(roles)} ; "
        f"owl:{dice.choice(['some', 'all'])}ValuesFrom {dice.choice(classes)} ."
        for i in range(3)
    ]
    facts = [
        f"{dice.choice(people)} a {dice.choice(classes)} ; {dice.choice(roles)} {dice.choice(people)} ."
        for _ in range(5)
    ]
    owl = (
        ":A a owl:Class . :B a owl:Class . :p a owl:ObjectProperty . :A owl:disjointWith :B . "
        + "\n".join(axioms + facts)
    )
    terms = [
        *classes,
        *roles,
        *people,
        *(f"_:n{i}" for i in range(3)),
        *(f"_:s{i}" for i in range(3)),
        "_:list",
        "4",
    ]
    words = ["sh:path", "sh:in", "skos:broader", "spin:rule", "rr:class", "schema:domainIncludes"]
    subjects = [term for term in terms if term[0] in ":_"]
    beside = [
        f"{dice.choice(subjects)} {dice.choice(words)} {dice.choice(terms)} ." for _ in range(8)
    ]
    beside.append("_:s0 sh:or _:list . _:list rdf:first :Cat ; rdf:rest ( _:n0 _:s1 ) .")
    with_them, without = certified(tmp_path, owl + "\n".join(beside)), certified(tmp_path, owl)
    assert with_them.verdict is without.verdict
    assert with_them.evidence.ledger["leftover:other-language"] == len(set(beside))


def test_each_language_has_namespaces_of_its_own() -> None:
    spaces = Counter(space for language in LANGUAGES for space in language.namespaces)
    assert max(spaces.values()) == 1
