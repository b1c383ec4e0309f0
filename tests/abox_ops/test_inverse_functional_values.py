"""Inverse functional data properties: individuals with one value below one are one, blank ones
too, on every engine.
"""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import certify, certify_store, check_insertions, index, open_store
from shiq.datatypes.datatype_map import value_of
from shiq.jobs.cli import cli
from shiq.jobs.gate import gate
from shiq.model import XSD, Literal
from shiq.rdf.values_as_nodes import literal_of, node_of
from tests.rdf_helpers import PREFIXES, turtle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TBOX = """
:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class . :likes a owl:ObjectProperty , owl:FunctionalProperty .
:id a owl:DatatypeProperty , owl:InverseFunctionalProperty . :age a owl:DatatypeProperty .
:code rdfs:subPropertyOf :id . :tag owl:equivalentProperty :code .
"""
ASKS = ":Cat rdfs:subClassOf [ owl:onProperty :tag ; owl:minCardinality 1 ] ."


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(PREFIXES + text)
    return folder / name


def certified(folder: Path, text: str, tbox: str = TBOX) -> Result:
    return certify(write(folder, "o.ttl", tbox + text), reasoner="own")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("", Verdict.CONSISTENT),
        (':a a :Cat ; :id "x" . :b a :Dog ; :id "y" .', Verdict.CONSISTENT),
        (':a a :Cat ; :id "x" . :b a :Dog ; :id "x" .', Verdict.INCONSISTENT),
        (":a a :Cat ; :age 1 . :b a :Dog ; :age 1 .", Verdict.CONSISTENT),
        (':a a :Cat ; :id "x" . [] a :Dog ; :code "x" .', Verdict.INCONSISTENT),
        (":a a :Cat ; :tag 1 . [] a :Dog ; :code '01'^^xsd:byte .", Verdict.INCONSISTENT),
        (":a a :Cat ; :tag 1 . [] a :Dog ; :code '1' .", Verdict.CONSISTENT),
        (
            ":a :likes :b . :c :likes :d ; :id 7 . :a :id 7 . :b a :Cat . :d a :Dog .",
            Verdict.INCONSISTENT,
        ),
        (":a :id 7 . :b :id 7 ; owl:differentFrom :a .", Verdict.INCONSISTENT),
    ],
)
def test_individuals_with_one_value_are_one(tmp_path: Path, text: str, verdict: Verdict) -> None:
    assert certified(tmp_path, text).verdict is verdict


def test_a_conflict_is_told_in_the_terms_of_the_document(tmp_path: Path) -> None:
    (conflict,) = certified(tmp_path, ':a a :Cat ; :id "x" . :b a :Dog ; :code "x" .').conflicts
    assert not any("urn:shiq" in text for text in (*conflict.axioms, *conflict.base))
    assert {text.partition("(")[0] for text in conflict.axioms} == {
        *("SubDataPropertyOf", "InverseFunctionalDataProperty", "DisjointClasses")
    }
    assert len(conflict.base) == 4


def test_values_that_axioms_ask_for_leave_a_consistent_verdict_open(tmp_path: Path) -> None:
    """What asks for a value may be given one that another individual has, and nothing compares
    these.
    """
    tbox = TBOX + ASKS
    assert certified(tmp_path, "", tbox).verdict is Verdict.CONSISTENT
    result = certified(tmp_path, ":a a :Cat .", tbox)
    assert (
        result.verdict is Verdict.UNDETERMINED
        and "may have values that nothing asserts" in result.reason
    )
    assert (
        certified(tmp_path, ':a a :Cat ; :id "x" . :b a :Dog ; :id "x" .', tbox).verdict
        is Verdict.INCONSISTENT
    )


@pytest.mark.parametrize(
    "text",
    [
        ":a a [ owl:onProperty :code ; owl:someValuesFrom xsd:string ] .",
        ":a :id 'x'^^:unknown .",
        ":Dog rdfs:subClassOf [ owl:complementOf [ owl:onProperty :id ; owl:allValuesFrom xsd:int ] ] . :a a :Dog .",
    ],
)
def test_values_that_are_not_known_leave_it_open_too(tmp_path: Path, text: str) -> None:
    assert certified(tmp_path, text).verdict is Verdict.UNDETERMINED


def test_restrictions_that_ask_for_no_value_do_not(tmp_path: Path) -> None:
    text = ":Dog rdfs:subClassOf [ owl:onProperty :id ; owl:maxCardinality 1 ] . "
    text += ":Dog rdfs:subClassOf [ owl:onProperty :id ; owl:allValuesFrom xsd:int ] . "
    text += "[ owl:onProperty :code ; owl:someValuesFrom xsd:int ] rdfs:subClassOf :Dog . :a a :Dog ; :code 5 ."
    assert certified(tmp_path, text).verdict is Verdict.CONSISTENT


@pytest.mark.parametrize("engine", ["spec", "local"])
def test_a_batch_and_deletions(tmp_path: Path, engine: str) -> None:
    tbox = write(tmp_path, "t.ttl", TBOX)
    base = write(tmp_path, "base.ttl", ":a a :Cat ; :id 1 , '01'^^xsd:int . :c a :Cat ; :code 1 .")
    dog = write(tmp_path, "dog.ttl", ":b a :Dog ; :id '1'^^xsd:long .")
    gone = {
        name: write(tmp_path, f"{name}.ttl", text)
        for name, text in {
            "some": ":a :id 1 .",
            "a": ":a :id 1 , '01'^^xsd:int .",
            "all": ":a :id 1 , '01'^^xsd:int . :c :code 1 .",
        }.items()
    }
    expected = {
        None: Verdict.INCONSISTENT,
        "some": Verdict.INCONSISTENT,
        "a": Verdict.INCONSISTENT,
        "all": Verdict.CONSISTENT,
    }
    if engine == "spec":
        for name, verdict in expected.items():
            result = check_insertions(
                tbox, base, dog, gone.get(name), engine=engine, reasoner="own"
            )
            assert result.verdict is verdict, name
        return
    assert index(tbox, base, tmp_path / "kg", reasoner="own").verdict is Verdict.CONSISTENT
    with open_store(tmp_path / "kg") as store:
        for name, verdict in expected.items():
            assert store.check(dog, gone.get(name), reasoner="own").verdict is verdict, name
        assert store.check(None, gone["all"], reasoner="own", commit=True).committed
        assert store.check(dog, reasoner="own", commit=True).verdict is Verdict.CONSISTENT
        assert (
            store.check(write(tmp_path, "b.ttl", "[] a :Cat ; :tag 1 ."), reasoner="own").verdict
            is Verdict.INCONSISTENT
        )


def test_an_ontology_that_no_longer_says_so_compares_no_values(tmp_path: Path) -> None:
    base = write(tmp_path, "a.ttl", ":a a :Cat ; :id 1 .")
    dog = write(tmp_path, "dog.ttl", ":b a :Dog ; :id 1 .")
    index(write(tmp_path, "t.ttl", TBOX), base, tmp_path / "kg", reasoner="own")
    plain = write(tmp_path, "plain.ttl", TBOX.replace(" , owl:InverseFunctionalProperty", ""))
    for tbox, verdict in ((plain, Verdict.CONSISTENT), (tmp_path / "t.ttl", Verdict.INCONSISTENT)):
        assert certify_store(tmp_path / "kg", tbox, reasoner="own").verdict is Verdict.CONSISTENT
        with open_store(tmp_path / "kg") as store:
            assert store.check(dog, reasoner="own").verdict is verdict
    assert (
        "urn:shiq"
        not in CliRunner().invoke(cli, ["export", "--store", str(tmp_path / "kg")]).output
    )


def test_the_gate_sets_the_data_aside(tmp_path: Path) -> None:
    index(
        write(tmp_path, "t.ttl", TBOX),
        write(tmp_path, "a.ttl", ":a a :Cat ; :id 'x' ."),
        tmp_path / "kg",
        reasoner="own",
    )
    lines = [
        f"<urn:t#b> <{NS_TYPE}> <urn:t#Dog> .",
        '<urn:t#b> <urn:t#id> "x" .',
        f"<urn:t#c> <{NS_TYPE}> <urn:t#Dog> .",
    ]
    (tmp_path / "b.nt").write_text("".join(f"{line}\n" for line in lines))
    with open_store(tmp_path / "kg") as store:
        answer = gate(store, [str(tmp_path / "b.nt")], mode="split", reasoner="own")
        assert [x.line.text for x in answer.set_aside] == lines[:2]
        assert (
            store.check(write(tmp_path, "d.ttl", ":d a :Dog ; :id 'y' ."), reasoner="own").verdict
            is Verdict.CONSISTENT
        )


NS_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@pytest.mark.parametrize(
    "literal",
    [Literal("a b:c%", XSD + "string"), Literal("", XSD + "int"), Literal("x", XSD + "p", "en-GB")],
)
def test_a_node_is_of_one_literal(literal: Literal) -> None:
    assert literal_of(node_of(literal)) == literal


def random_case(chance: random.Random) -> tuple[str, list[tuple[str, str, str]], str]:
    """Axioms that ask for no value, values of individuals, and other assertions."""
    axioms = [":likes a owl:ObjectProperty .", ":Cat owl:disjointWith :Dog ."]
    axioms += chance.sample(
        [
            ":likes a owl:FunctionalProperty .",
            ":Cat rdfs:subClassOf [ owl:onProperty :likes ; owl:someValuesFrom :Dog ] .",
            ":Cat rdfs:subClassOf [ owl:onProperty :likes ; owl:allValuesFrom :Dog ] .",
            ":Dog rdfs:subClassOf [ owl:onProperty :q ; owl:maxCardinality 1 ] .",
            ":p rdfs:subPropertyOf :q .",
            ":r owl:equivalentProperty :p .",
            ":q rdfs:domain :Cat .",
            "[ owl:onProperty :p ; owl:someValuesFrom xsd:int ] rdfs:subClassOf :Dog .",
        ],
        4,
    )
    names = [":a", ":b", ":c", "_:d", "_:e"]
    # Few values, and most individuals of one class: a contradiction then mostly rests on a value
    # that two have.
    literals = chance.choice(
        [["1", "'1'^^xsd:byte", "1.0", "2"], ["'x'", "'x'^^xsd:token", "'x'@en", "true"]]
    )
    values = [
        (x, chance.choice([":p", ":q", ":r"]), chance.choice(literals))
        for x in chance.sample(names, chance.randint(2, 5))
    ]
    sorts = dict.fromkeys(names, ":Cat") | dict.fromkeys(chance.sample(names, 1), ":Dog")
    others = "".join(f"{x} a {sorts[x]} . " for x in chance.sample(names, 4))
    others += "".join(
        f"{chance.choice(names)} :likes {chance.choice(names)} . "
        for _ in range(chance.randint(0, 2))
    )
    declared = "".join(f"{p} a owl:DatatypeProperty . " for p in (":p", ":q", ":r"))
    return declared + "\n".join(axioms), values, others


def same(folder: Path, axioms: str, values: list[tuple[str, str, str]]) -> str:
    """Individuals with one value below :q, by comparing every two (a slow reference)."""
    below = {":q"}
    if ":p rdfs:subPropertyOf :q" in axioms:
        below |= {":p"} | ({":r"} if ":r owl:equivalentProperty" in axioms else set())
    text = "".join(f":x{i} :z {value} . " for i, (_, _, value) in enumerate(values))
    abox = turtle(folder, f":z a owl:DatatypeProperty . {text}").abox
    found = {a.subject.rpartition("#")[2]: value_of(a.literal) for a in abox}  # type: ignore[union-attr]
    return "".join(
        f"{values[i][0]} owl:sameAs {values[k][0]} . "
        for i, k in combinations(range(len(values)), 2)
        if {values[i][1], values[k][1]} <= below and found[f"x{i}"] == found[f"x{k}"]
    )


@pytest.mark.slow
@pytest.mark.jvm
@pytest.mark.parametrize(
    "seeds", [range(16), pytest.param(range(16, 400), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_hermit_agrees_where_the_same_individuals_are_written_out(
    tmp_path: Path, seeds: range
) -> None:
    verdicts = set()
    for seed in seeds:
        axioms, values, others = random_case(random.Random(seed))
        rows = "".join(f"{x} {p} {v} . " for x, p, v in values) + others
        found = certified(tmp_path, rows, axioms + " :q a owl:InverseFunctionalProperty . ").verdict
        written = write(tmp_path, "written.ttl", axioms + rows + same(tmp_path, axioms, values))
        assert certify(written, reasoner="hermit").verdict is found, (seed, axioms, rows)
        verdicts.add(found)
    assert verdicts == {Verdict.CONSISTENT, Verdict.INCONSISTENT}


@pytest.mark.spark
def test_spark_gives_the_same(spark: SparkSession, tmp_path: Path) -> None:
    tbox = write(tmp_path, "t.ttl", TBOX)
    type_ = f"<{NS_TYPE}>"
    (tmp_path / "a.nt").write_text(
        f'<urn:t#a> {type_} <urn:t#Cat> .\n<urn:t#a> <urn:t#id> "x" .\n<urn:t#c> <urn:t#code> "x" .\n'
    )
    (tmp_path / "dog.nt").write_text(
        f'<urn:t#b> {type_} <urn:t#Dog> .\n<urn:t#b> <urn:t#id> "x"^^<{XSD}token> .\n'
    )
    (tmp_path / "gone.nt").write_text('<urn:t#a> <urn:t#id> "x" .\n')
    built = index(tbox, tmp_path / "a.nt", tmp_path / "kg", reasoner="own", engine="spark")
    assert built.verdict is Verdict.CONSISTENT
    with open_store(tmp_path / "kg") as store:
        for engine in ("local", "spark"):
            bad = store.check(tmp_path / "dog.nt", reasoner="own", engine=engine)
            assert bad.verdict is Verdict.INCONSISTENT and "urn:shiq" not in str(bad.conflicts[0])
            good = store.check(
                tmp_path / "dog.nt", tmp_path / "gone.nt", reasoner="own", engine=engine
            )
            assert good.verdict is Verdict.CONSISTENT, engine
            cat = write(tmp_path, "cat.ttl", ":c a :Dog .")
            assert (
                store.check(cat, tmp_path / "gone.nt", reasoner="own", engine=engine).verdict
                is Verdict.CONSISTENT
            )
            assert store.check(cat, reasoner="own", engine=engine).verdict is Verdict.INCONSISTENT
