"""Axioms that were not understood: `consistent` where a model makes them hold whatever they say."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import certify, check_insertions, index, open_store
from shiq.rdf import axioms_in_doubt as assumptions

HEAD = """@prefix : <http://example.org/onto#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix swrl: <http://www.w3.org/2003/11/swrl#> .
:A a owl:Class . :Creature a owl:Class . :B a owl:Class ; owl:disjointWith :C . :C a owl:Class . :p a owl:ObjectProperty .
:q a owl:DatatypeProperty . :t a owl:ObjectProperty , owl:TransitiveProperty . :open a rdf:Property .
"""
RULE = (
    "[] a swrl:Imp ; swrl:body ( [ a swrl:ClassAtom ; swrl:classPredicate :A ; swrl:argument1 :x ] ) ;"
    " swrl:head ( [ a swrl:ClassAtom ; swrl:classPredicate :B ; swrl:argument1 :x ] ) . :x a swrl:Variable ."
)
TWICE = (
    ":A rdfs:subClassOf [ a owl:Class ; owl:unionOf ( :A :B ) ; owl:intersectionOf ( :A :{} ) ] ."
)
#: Axioms that are not understood, and data that only some meanings of them allow.
UNCLEAR = {
    ":A rdfs:subClassOf xsd:boolean .": ":a a :A .",
    ":A rdfs:subClassOf [ a owl:Class ] .": ":a a :A .",
    ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ] .": ":a a :A .",
    ":A owl:disjointWith rdf:nil .": ":a a :A .",
    ":p rdfs:domain xsd:boolean .": ":a :p :b .",
    ":p rdfs:range [ a owl:Class ] .": ":a :p :b .",
    ":q rdfs:domain xsd:boolean .": ":a :q 1 .",
    ":open rdfs:domain xsd:boolean .": ":a :open :b .",
    ":p rdfs:subPropertyOf owl:DeprecatedProperty .": ":a :p :b .",
    ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :t ; owl:cardinality 1 ] .": ":a a :A .",
    ":t owl:propertyDisjointWith :p .": ":a :t :b .",
    ":t a owl:AsymmetricProperty .": ":a :t :b .",
    RULE: ":a a :A .",
    TWICE.format("B"): ":b a :A .",
}


def certified(folder: Path, text: str) -> Result:
    (folder / "onto.ttl").write_text(HEAD + text)
    return certify(folder / "onto.ttl", reasoner="own")


def kinds(result: Result) -> set[str]:
    return {leftover.kind for leftover in result.evidence.leftovers}


@pytest.mark.parametrize("axiom", UNCLEAR)
def test_an_axiom_that_no_individual_needs_is_in_nobodys_way(tmp_path: Path, axiom: str) -> None:
    result = certified(tmp_path, axiom + " :c a :C .")
    assert result.verdict is Verdict.CONSISTENT and "in-doubt" in kinds(result)
    assert any("whatever it says" in x.message for x in result.evidence.leftovers)


@pytest.mark.parametrize("axiom", [axiom for axiom in UNCLEAR if axiom != TWICE.format("B")])
def test_it_stays_in_the_way_of_data_that_it_may_be_about(tmp_path: Path, axiom: str) -> None:
    result = certified(tmp_path, axiom + UNCLEAR[axiom])
    assert result.verdict is Verdict.UNDETERMINED and "in-doubt" not in kinds(result)
    result = certified(tmp_path, axiom + UNCLEAR[axiom] + " :a a :B , :C .")
    assert result.verdict is Verdict.INCONSISTENT


def test_two_descriptions_of_a_node_are_one_class(tmp_path: Path) -> None:
    # A ⊑ (A ⊔ B) ⊓ (A ⊓ C), and whether A ⊔ B is A ⊓ C is in doubt: then B, beside C, is empty
    axiom = TWICE.format("C")
    assert certified(tmp_path, axiom).verdict is Verdict.CONSISTENT
    assert certified(tmp_path, axiom + ":b a :B .").verdict is Verdict.UNDETERMINED
    assert certified(tmp_path, axiom + ":b a :A , :B .").verdict is Verdict.INCONSISTENT


@pytest.mark.parametrize(
    "axiom",
    [
        ":A owl:equivalentClass xsd:boolean .",
        ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p , :t ; owl:someValuesFrom :B ] .",
        ":A rdfs:subClassOf [ owl:complementOf [ owl:oneOf ( :a 1 ) ; owl:oneOf ( :b 1 ) ] ] .",
        ':a :p "a value" .',
        RULE.replace("swrl:classPredicate :A", "swrl:classPredicate [ a owl:Class ]"),
    ],
)
def test_what_no_assumption_makes_hold_stays_in_the_way(tmp_path: Path, axiom: str) -> None:
    assert certified(tmp_path, axiom).verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    "axiom",
    [
        ":A rdfs:subClassOf xsd:boolean . :B rdfs:subClassOf :Creatur .",
        ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :likess ] .",
        ":A rdfs:subClassOf [ a owl:Class ; owl:intersectionOf ( xsd:int :Creatur ) ] .",
        ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :likes ; :likess :B ] .",
        ":likess rdfs:domain xsd:boolean .",
        ":likess rdfs:subPropertyOf owl:DeprecatedProperty .",
        RULE.replace(":B", ":Creatur"),
    ],
)
def test_a_misspelt_name_stays_in_the_way(tmp_path: Path, axiom: str) -> None:
    meant = certified(tmp_path, ":likes a owl:ObjectProperty . " + _corrected(axiom)).verdict
    assert meant is Verdict.CONSISTENT
    result = certified(tmp_path, ":likes a owl:ObjectProperty . " + axiom)
    assert result.verdict is Verdict.UNDETERMINED and "undeclared" in kinds(result)


def _corrected(axiom: str) -> str:
    return axiom.replace("Creatur ", "Creature ").replace("likess", "likes")


def test_a_store_and_a_check_assume_the_same(tmp_path: Path) -> None:
    onto = tmp_path / "onto.ttl"
    onto.write_text(HEAD + ":A rdfs:subClassOf xsd:boolean .")
    base, more = tmp_path / "base.ttl", tmp_path / "more.ttl"
    base.write_text(HEAD + ":c a :C .")
    assert index(onto, base, tmp_path / "kg", reasoner="own").verdict is Verdict.CONSISTENT
    expected = {
        ":d a :C .": Verdict.CONSISTENT,
        ":d a :A .": Verdict.UNDETERMINED,
        ":d a :B , :C .": Verdict.INCONSISTENT,
        ":d a :A , :B , :C .": Verdict.INCONSISTENT,
    }
    for line, verdict in expected.items():
        more.write_text(HEAD[: HEAD.index(":A a owl")] + line)
        with open_store(tmp_path / "kg") as store:
            assert store.check(more, reasoner="own").verdict is verdict, line
        assert check_insertions(onto, base, more, reasoner="own").verdict is verdict, line
    base.write_text(HEAD + ":c a :A .")
    result = index(onto, base, tmp_path / "other", reasoner="own")
    assert result.verdict is Verdict.UNDETERMINED and "malformed" in kinds(result)
    more.write_text(HEAD[: HEAD.index(":A a owl")] + ":d a :B , :C .")
    with open_store(tmp_path / "other") as store:
        assert store.check(more, reasoner="own").verdict is Verdict.INCONSISTENT


# --- random documents -----------------------------------------------------------------------------

NAMES = [":A", ":B", ":C"]


def _expression(rng: random.Random, depth: int = 2) -> str:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([*NAMES, "owl:Nothing", "owl:Thing"])
    one, two = _expression(rng, depth - 1), _expression(rng, depth - 1)
    return rng.choice(
        [
            f"[ a owl:Class ; owl:complementOf {one} ]",
            f"[ a owl:Class ; owl:unionOf ( {one} {two} ) ]",
            f"[ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom {one} ]",
            f"[ a owl:Restriction ; owl:onProperty :p ; owl:allValuesFrom {one} ]",
        ]
    )


def _document(rng: random.Random) -> str:
    axioms = [
        f"{rng.choice(NAMES)} rdfs:subClassOf {_expression(rng)} ."
        for _ in range(rng.randint(0, 3))
    ]
    facts = [f":{rng.choice('abc')} a {rng.choice(NAMES)} ." for _ in range(rng.randint(0, 2))]
    links = [f":{rng.choice('abc')} :p :{rng.choice('abc')} ." for _ in range(rng.randint(0, 1))]
    return " ".join([*axioms, *facts, *links])


def compare(folder: Path, seeds: range) -> Counter[str]:
    """Hold what is said of documents with an unclear axiom against what is said of them with each
    of some meanings in its place.
    """
    seen: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        document = _document(rng)
        subject = rng.choice(NAMES)
        place = rng.choice(
            [
                f"{subject} rdfs:subClassOf {{}} .",
                "{} rdfs:subClassOf " + subject + " .",
                f"{subject} owl:disjointWith {{}} .",
                ":p rdfs:domain {} .",
                ":p rdfs:range {} .",
            ]
        )
        unclear = certified(folder, f"{document} {place.format('rdf:nil')}").verdict
        seen[unclear.value] += 1
        for _ in range(3):
            meant = certified(folder, f"{document} {place.format(_expression(rng))}").verdict
            assert Verdict.UNDETERMINED in (unclear, meant) or unclear is meant, seed
    return seen


def test_an_answer_holds_for_each_meaning(tmp_path: Path) -> None:
    seen = compare(tmp_path, range(14))
    assert min(seen["consistent"], seen["undetermined"]) > 1


@pytest.mark.slow
def test_an_answer_holds_for_each_meaning_at_length(tmp_path: Path) -> None:
    compare(tmp_path, range(14, 1_500))


def test_an_assumption_that_is_forgotten_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harmless = (assumptions.owl.SubClassOf(assumptions.owl.NOTHING, assumptions.owl.THING),)
    monkeypatch.setattr(assumptions, "assumption_for_triple", lambda *given: harmless)
    with pytest.raises(AssertionError):
        compare(tmp_path, range(14))
