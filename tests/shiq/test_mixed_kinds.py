"""Properties that a document uses as object and as data property: every axiom counts for each of
the two that allows it.
"""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

from shiq.answers.verdict import Verdict
from shiq.api import certify
from shiq.model import (
    Class,
    DataHasValue,
    DataMaxCardinality,
    DataProperty,
    DataPropertyDomain,
    DataPropertyRange,
    DataSomeValuesFrom,
    Datatype,
    ObjectProperty,
    ObjectPropertyDomain,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    SubDataPropertyOf,
    TransitiveObjectProperty,
)
from shiq.model.walk import parts
from tests.rdf_helpers import PREFIXES, kinds, turtle

DECLARED = """
:Cat a owl:Class . :Dog a owl:Class . :likes a owl:ObjectProperty . :age a owl:DatatypeProperty . :note a owl:AnnotationProperty .
"""


@pytest.mark.parametrize(
    ("text", "axiom"),
    [
        (
            ":Cat rdfs:subClassOf [ owl:onProperty :likes ; owl:someValuesFrom xsd:int ] .",
            DataSomeValuesFrom,
        ),
        (
            ":Cat rdfs:subClassOf [ owl:onProperty :age ; owl:someValuesFrom :Dog ] .",
            ObjectSomeValuesFrom,
        ),
        (":Cat rdfs:subClassOf [ owl:onProperty :likes ; owl:hasValue 5 ] .", DataHasValue),
        (
            ":Cat rdfs:subClassOf [ owl:onProperty :likes ; owl:maxQualifiedCardinality 1 ; owl:onDataRange xsd:int ] .",
            DataMaxCardinality,
        ),
        (":age rdfs:range :Cat .", ObjectPropertyRange),
        (":likes rdfs:range xsd:int .", DataPropertyRange),
        (":age a owl:TransitiveProperty .", TransitiveObjectProperty),
    ],
)
def test_an_axiom_of_the_kind_that_is_not_declared_is_read(
    tmp_path: Path, text: str, axiom: type
) -> None:
    reading = turtle(tmp_path, DECLARED + text + " :likes rdfs:domain :Cat .")
    assert kinds(reading).keys() == {"two-readings"}
    assert [part for each in reading.tbox.axioms for part in parts(each) if isinstance(part, axiom)]
    domains = {type(each) for each in reading.tbox.axioms if "Domain" in type(each).__name__}
    assert domains == (
        {ObjectPropertyDomain, DataPropertyDomain} if ":likes" in text else {ObjectPropertyDomain}
    )


def test_what_an_annotation_property_is_used_for_in_axioms_is_its_kind(tmp_path: Path) -> None:
    reading = turtle(
        tmp_path,
        DECLARED
        + ":Cat rdfs:subClassOf [ owl:onProperty :note ; owl:someValuesFrom :Dog ] . :a :note :b .",
    )
    assert (
        kinds(reading) == {"annotation-punning": 1}
        and len(reading.tbox.axioms) == len(reading.abox) == 1
    )


def test_a_union_of_classes_and_datatypes_is_of_each_its_own(tmp_path: Path) -> None:
    reading = turtle(tmp_path, DECLARED + ":likes rdfs:range [ owl:unionOf ( :Cat xsd:int ) ] .")
    assert kinds(reading).keys() == {"two-readings"}
    assert {*reading.tbox.axioms} == {
        ObjectPropertyRange(ObjectProperty("urn:t#likes"), Class("urn:t#Cat")),
        DataPropertyRange(
            DataProperty("urn:t#likes"), Datatype("http://www.w3.org/2001/XMLSchema#int")
        ),
    }


def test_a_property_above_one_of_the_other_kind_is_of_both(tmp_path: Path) -> None:
    text = ":age rdfs:subPropertyOf :likes . :likes rdfs:subPropertyOf :hates . :hates rdfs:domain :Cat ."
    reading = turtle(tmp_path, DECLARED + text)
    assert (
        DataPropertyDomain(DataProperty("urn:t#hates"), Class("urn:t#Cat")) in reading.tbox.axioms
    )
    assert sum(isinstance(axiom, SubDataPropertyOf) for axiom in reading.tbox.axioms) == 2


def verdict(tmp_path: Path, text: str) -> Verdict:
    (tmp_path / "o.ttl").write_text(PREFIXES + text)
    return certify(tmp_path / "o.ttl", reasoner="own").verdict


TWO = (
    DECLARED
    + ":Cat owl:disjointWith :Dog . :p a owl:ObjectProperty , owl:DatatypeProperty ; rdfs:domain :Cat ."
)


@pytest.mark.parametrize("value", ["5", ":b"])
def test_what_holds_of_both_refutes_what_is_asserted_of_one(tmp_path: Path, value: str) -> None:
    assert verdict(tmp_path, f"{TWO} :a a :Cat ; :p {value} .") is Verdict.CONSISTENT
    assert verdict(tmp_path, f"{TWO} :a a :Dog ; :p {value} .") is Verdict.INCONSISTENT


def test_a_contradiction_that_needs_one_property_to_be_both_is_none(tmp_path: Path) -> None:
    """At least two values of each are asked for, and at most one: of data, or of individuals,
    but nothing says of which.
    """
    text = (
        DECLARED + ":p a owl:ObjectProperty , owl:DatatypeProperty . :q rdfs:range :Dog , xsd:int ."
    )
    few = ":Cat rdfs:subClassOf [ owl:onProperty :q ; owl:maxCardinality 0 ] . :a a :Cat ."
    assert verdict(tmp_path, text + few + ":a :q 5 .") is Verdict.INCONSISTENT
    assert verdict(
        tmp_path,
        text + few + ":Cat rdfs:subClassOf [ owl:onProperty :q ; owl:someValuesFrom :Dog ] .",
    ) is (Verdict.UNDETERMINED)


def random_document(chance: random.Random) -> tuple[str, str]:
    """Axioms on properties of which some are used in two kinds, and their declarations."""
    names = [f":p{i}" for i in range(4)]
    classes = [f":C{i}" for i in range(3)]
    lines = [":C0 owl:disjointWith :C1 .", *(f"{c} a owl:Class ." for c in classes)]
    for _ in range(chance.randint(3, 7)):
        p, q, c, d = (
            chance.choice(names),
            chance.choice(names),
            chance.choice(classes),
            chance.choice(classes),
        )
        filler = chance.choice([d, "xsd:int", "xsd:string"])
        lines.append(
            chance.choice(
                [
                    f"{p} rdfs:domain {c} .",
                    f"{p} rdfs:range {filler} .",
                    f"{p} rdfs:subPropertyOf {q} .",
                    f"{p} a owl:FunctionalProperty .",
                    f"{c} rdfs:subClassOf [ owl:onProperty {p} ; owl:someValuesFrom {filler} ] .",
                    f"{c} rdfs:subClassOf [ owl:onProperty {p} ; owl:allValuesFrom {filler} ] .",
                    f"{c} rdfs:subClassOf [ owl:onProperty {p} ; owl:maxCardinality {chance.randint(0, 1)} ] .",
                    f"{c} rdfs:subClassOf [ owl:onProperty {p} ; owl:minCardinality {chance.randint(1, 2)} ] .",
                ]
            )
        )
    for i in range(chance.randint(1, 4)):
        lines.append(f":a{i % 2} a {chance.choice(classes)} .")
        lines.append(
            f":a{i % 2} {chance.choice(names)} {chance.choice([':a0', ':a1', '5', chr(34) + 'x' + chr(34)])} ."
        )
    kinds = "".join(
        f"{p} a owl:{chance.choice(['ObjectProperty', 'DatatypeProperty'])} .\n" for p in names
    )
    return "\n".join(lines) + "\n", kinds


def single_reading(text: str, chosen: dict[str, tuple[str, ...]]) -> tuple[str, bool]:
    """The document where each property is of the ``chosen`` kinds, under a name for each: every
    line in all ways that make sense (a slow reference), and whether that keeps all assertions.
    """
    kept, whole = [], True
    for line in text.splitlines():
        used = [p for p in chosen if p in line]
        says_data = any(word in line for word in ("xsd:", " 5 .", '"x"'))
        says_object = any(f"{word} :C" in line for word in ("range", "ValuesFrom")) or any(
            f"{p} :a" in line for p in used
        )
        made = []
        for way in product(*(chosen[p] for p in used)):
            if (
                len({*way}) > 1
                or (says_data and "object" in way)
                or (says_object and "data" in way)
            ):
                continue
            changed = line
            for p, kind in zip(used, way):
                changed = changed.replace(p, f"{p}{kind}")
            made.append(changed)
        whole &= bool(made) or not line.startswith(":a")
        kept += made
    declared = [
        f"{p}{k} a owl:{ {'data': 'Datatype', 'object': 'Object'}[k] }Property ."
        for p in chosen
        for k in chosen[p]
    ]
    return "\n".join([*declared, *kept]) + "\n", whole


@pytest.mark.parametrize("seed", range(60))
def test_no_verdict_differs_from_that_of_a_single_reading(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    text, declared = random_document(chance)
    found = verdict(tmp_path, declared + text)
    every = list(product((("object",), ("data",), ("object", "data")), repeat=4))
    for kinds_of_all in chance.sample(every, 8):
        single, whole = single_reading(text, dict(zip((":p0", ":p1", ":p2", ":p3"), kinds_of_all)))
        if found is Verdict.CONSISTENT or (found is Verdict.INCONSISTENT and whole):
            assert verdict(tmp_path, single) is found, single


# --- words of the language in axioms ------------------------------------------------------------


@pytest.mark.parametrize(
    ("axiom", "reaching"),
    [
        (":Cat rdfs:subClassOf owl:FunctionalProperty .", ":a a :Cat ."),
        (":likes rdfs:subPropertyOf rdf:type .", ":a :likes :b ."),
        (":likes rdfs:subPropertyOf owl:sameAs .", ":a :likes :b ."),
        (
            ":Cat rdfs:subClassOf [ owl:onProperty rdfs:subClassOf ; owl:someValuesFrom :Dog ] .",
            ":a a :Cat .",
        ),
    ],
)
def test_a_word_of_the_language_matters_where_the_data_reaches_its_axiom(
    tmp_path: Path, axiom: str, reaching: str
) -> None:
    text = DECLARED + ":Cat owl:disjointWith :Dog . :hates a owl:ObjectProperty . :c :hates :d ."
    assert verdict(tmp_path, text + axiom) is Verdict.CONSISTENT
    assert verdict(tmp_path, text + axiom + reaching) is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    "axiom",
    [
        "rdf:type rdfs:domain :Cat .",
        "owl:FunctionalProperty rdfs:subClassOf :Cat .",
        "rdf:type rdfs:subPropertyOf :likes .",
    ],
)
def test_what_holds_of_a_word_of_the_language_is_always_reached(tmp_path: Path, axiom: str) -> None:
    assert verdict(tmp_path, DECLARED + ":a a :Dog ." + axiom) is Verdict.UNDETERMINED


def test_a_property_below_difference_is_irreflexive(tmp_path: Path) -> None:
    text = DECLARED + ":likes rdfs:subPropertyOf owl:differentFrom ."
    assert verdict(tmp_path, text + ":a :likes :b .") is Verdict.CONSISTENT
    assert verdict(tmp_path, text + ":a :likes :b ; owl:sameAs :b .") is Verdict.INCONSISTENT


def test_lists_in_axioms(tmp_path: Path) -> None:
    text = (
        DECLARED
        + ":L rdfs:subClassOf rdf:List , [ owl:onProperty rdf:first ; owl:allValuesFrom :Cat ] ."
    )
    assert verdict(tmp_path, text + ":a a :Cat .") is Verdict.CONSISTENT
    assert (
        verdict(tmp_path, text + ":a a :L ; rdf:first :b ; rdf:rest () .") is Verdict.UNDETERMINED
    )
    assert verdict(tmp_path, text + ":a a :L .") is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    "said",
    [
        ":likes owl:inverseOf _:x .",
        ":likes owl:inverseOf _:x . _:x a owl:ObjectProperty ; rdfs:label 'x' .",
    ],
)
def test_an_inverse_without_a_name_is_one_on_either_side(tmp_path: Path, said: str) -> None:
    text = DECLARED + ":Cat owl:disjointWith :Dog ." + said
    assert (
        verdict(tmp_path, text + "_:x rdfs:domain :Cat . :a :likes :b . :b a :Dog .")
        is Verdict.INCONSISTENT
    )
    assert (
        verdict(tmp_path, text + "_:x rdfs:domain :Cat . :a :likes :b . :a a :Dog .")
        is Verdict.CONSISTENT
    )


def test_a_datatype_below_all_values_says_nothing(tmp_path: Path) -> None:
    text = (
        DECLARED
        + ":d a rdfs:Datatype ; rdfs:subClassOf rdfs:Literal . xsd:int rdfs:subClassOf rdfs:Resource ."
    )
    assert not turtle(tmp_path, text).leftovers


def test_a_value_at_an_axiom_is_asserted_of_its_node_and_one_of_another_kind_at_a_header_is_an_annotation(
    tmp_path: Path,
) -> None:
    text = (
        DECLARED
        + "[] a owl:AllDisjointClasses ; owl:members ( :Cat :Dog ) ; :age 5 . :o a owl:Ontology ; :likes 'x' ; :age :b ."
    )
    reading = turtle(tmp_path, text)
    assert not reading.leftovers and len(reading.abox) == 1


def test_a_class_that_is_the_same_as_a_name_of_another_vocabulary_is_told(tmp_path: Path) -> None:
    assert kinds(turtle(tmp_path, DECLARED + ":Cat owl:sameAs <http://elsewhere.net/Cat> .")) == {
        "individuals-only": 1
    }
    used = ":Cat owl:sameAs <http://elsewhere.net/tom> . <http://elsewhere.net/tom> a :Dog ."
    assert kinds(turtle(tmp_path, DECLARED + used)) == {"malformed": 1}
