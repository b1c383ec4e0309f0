"""Bad inputs, and what a check makes of them: one test for each row of a table of hazards that
users of other tools have met.

Where an input cannot be understood, nothing here may end with exit code 0 and `consistent`.
Formats, archives and documents have their own hazards, tested with the reading of inputs; lost
executors (row 67) with nightly jobs; size in test_hazards_scale.
"""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq import check_insertions, open_store
from shiq.abox_ops.conflicts.explain import Explainer
from shiq.answers.verdict import Verdict
from shiq.api import certify
from shiq.jobs.cli import main
from shiq.jobs.store import open_store as opened_store
from shiq.model import (
    Class,
    ClassAssertion,
    DifferentIndividuals,
    ObjectAllValuesFrom,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    SameIndividual,
    SubClassOf,
    TBox,
)
from shiq.model.abox import abox_of
from shiq.reasoner import create_reasoner
from shiq.reasoner.jvm import Jvm, close_shared_jvms, shared_jvm
from tests.time_limits import pass_time_at_call, ring_at_call

Run = Callable[..., tuple[int, str]]

XSD = "http://www.w3.org/2001/XMLSchema#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
OWL = "http://www.w3.org/2002/07/owl#"
TBOX = """@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class . :chases a owl:ObjectProperty ; rdfs:range :Cat .
:twin a owl:ObjectProperty , owl:FunctionalProperty . :part a owl:ObjectProperty , owl:TransitiveProperty .
:age a owl:DatatypeProperty , owl:FunctionalProperty . :when a owl:DatatypeProperty , owl:FunctionalProperty .
:note a owl:DatatypeProperty . :born a owl:DatatypeProperty ; rdfs:range xsd:date . :seen a owl:DatatypeProperty ;
rdfs:range xsd:dateTime . :tame a owl:DatatypeProperty ; rdfs:range xsd:boolean .
"""
BASE = f"<urn:t#tom> {TYPE} <urn:t#Cat> .\n<urn:t#rex> {TYPE} <urn:t#Dog> .\n"
GOOD = "<urn:t#rex> <urn:t#chases> <urn:t#tom> .\n"
CLASH = "<urn:t#tom> <urn:t#chases> <urn:t#rex> .\n"


def value(subject: str, feature: str, lexical: str, datatype: str) -> str:
    return f'<urn:t#{subject}> <urn:t#{feature}> "{lexical}"^^<{XSD}{datatype}> .\n'


def same(a: str, b: str, word: str = "sameAs") -> str:
    return f"<urn:t#{a}> <{OWL}{word}> <urn:t#{b}> .\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line, in this process: exit code, and all that it printed."""

    def call(*arguments: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        printed = capsys.readouterr()
        return int(stop.value.code or 0), printed.out + printed.err

    return call


@pytest.fixture
def kg(tmp_path: Path, run: Run) -> Path:
    (tmp_path / "t.ttl").write_text(TBOX)
    (tmp_path / "base.nt").write_text(BASE)
    assert (
        run("index", "-t", tmp_path / "t.ttl", "-s", tmp_path / "kg", tmp_path / "base.nt", "-q")[0]
        == 0
    )
    return tmp_path / "kg"


@pytest.fixture
def insert(kg: Path, run: Run) -> Run:
    """Checks a batch given as text."""

    def call(text: str | bytes, *more: object) -> tuple[int, str]:
        path = kg.parent / "batch.nt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return run("check", "-s", kg, "-i", path, "-q", *more)

    return call


def ontology(folder: Path, text: str, name: str = "o.ttl") -> Path:
    path = folder / name
    path.write_text(TBOX + text)
    return path


# --- lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("<urn:t#a b> <urn:t#chases> <urn:t#c> .", id="1-space-in-an-iri"),
        pytest.param("<urn:t#a\\u003E> <urn:t#chases> <urn:t#c> .", id="2-escaped-bracket"),
        pytest.param("<urn:t#a\\u0000> <urn:t#chases> <urn:t#c> .", id="2-escaped-nul"),
        pytest.param(
            "<< <urn:t#a> <urn:t#chases> <urn:t#b> >> <urn:t#chases> <urn:t#c> .",
            id="3-quoted-triple",
        ),
    ],
)
def test_1_2_3_a_line_that_is_no_triple_is_told_and_hides_no_clash(insert: Run, line: str) -> None:
    code, said = insert(f"{line}\n{GOOD}")
    assert (code, "batch.nt:1" in said) == (3, True)
    code, said = insert(f"{line}\n{CLASH}")
    assert (code, "batch.nt:1" in said, CLASH.strip() in said) == (1, True, True)


def test_4_a_missing_file_is_named(kg: Path, run: Run) -> None:
    for arguments in (
        ("check", "-s", kg, "-i", kg / "none.nt"),
        ("check", "-s", kg.parent / "none", "-i", kg.parent / "base.nt"),
        ("certify", kg.parent / "none.nt"),
        ("index", "-t", kg.parent / "none.nt", "-s", kg.parent / "kg2"),
    ):
        code, said = run(*arguments, "-q")
        assert (code, "none" in said) == (4, True)


def test_6_an_empty_batch_is_told_and_can_be_refused(insert: Run) -> None:
    code, said = insert("")
    assert (code, "0 inserted" in said) == (0, True)
    code, said = insert("# a comment\n", "--require-nonempty")
    assert (code, "nothing" in said) == (4, True)
    assert insert(GOOD, "--require-nonempty")[0] == 0


def test_7_a_tbox_without_axioms_refutes_nothing(tmp_path: Path, run: Run) -> None:
    (tmp_path / "t.ttl").write_text("")
    (tmp_path / "b.nt").write_text(GOOD)
    for tail, expected in (((), 3), (("--allow", "empty-tbox", "--allow", "foreign"), 0)):
        code, said = run("check", "-t", tmp_path / "t.ttl", "-i", tmp_path / "b.nt", "-q", *tail)
        assert (code, "/t.ttl: empty-tbox" in said) == (expected, True)


# --- axioms ---------------------------------------------------------------------------------------


def test_19_cycles_and_long_chains_of_inclusions(tmp_path: Path) -> None:
    count = 1_200
    chain = [SubClassOf(Class(f"urn:C{i}"), Class(f"urn:C{i + 1}")) for i in range(count)]
    tbox = TBox((*chain, SubClassOf(Class(f"urn:C{count}"), Class("urn:C0"))))
    result = check_insertions(
        tbox, None, abox_of([ClassAssertion(Class("urn:C0"), "urn:a")]), reasoner="own", timeout=60
    )
    assert result.verdict is Verdict.CONSISTENT


# --- literals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "lexical", "datatype"),
    [
        pytest.param("age", "abc", "integer", id="20"),
        pytest.param("when", "2026-13-45T99:00:00", "dateTime", id="21"),
        pytest.param("born", "2026-08-16T12:05:34Z", "date", id="22"),
        pytest.param("tame", "yes", "boolean", id="23"),
    ],
)
def test_20_to_23_an_ill_typed_literal_contradicts_as_it_was_written(
    insert: Run, feature: str, lexical: str, datatype: str
) -> None:
    code, said = insert(GOOD + value("tom", feature, lexical, datatype))
    assert (code, f'"{lexical}"' in said) == (1, True)
    code, said = insert(GOOD + value("tom", feature, lexical, datatype), "--allow", "ill-typed")
    assert (code, f'"{lexical}"' in said) == (0, True)


@pytest.mark.parametrize(
    ("one", "other", "datatype", "equal"),
    [
        ("2026-01-01Z", "2026-01-01+00:00", "date", True),
        ("2026-01-01Z", "2026-01-02Z", "date", False),
        ("12:00:00Z", "12:00:00.0+00:00", "time", True),
        ("2026", "2027", "gYear", False),
        ("P1Y", "P12M", "duration", True),
        ("P1D", "PT23H", "duration", False),
    ],
)
def test_25_dates_times_and_durations_are_compared_by_value(
    insert: Run, one: str, other: str, datatype: str, equal: bool
) -> None:
    code, said = insert(value("tom", "when", one, datatype) + value("tom", "when", other, datatype))
    assert code == (0 if equal else 1), said


def test_26_six_digits_of_a_second(insert: Run) -> None:
    assert insert(value("tom", "seen", "2026-01-01T00:00:00.123456Z", "dateTime"))[0] == 0
    two = value("tom", "when", "2026-01-01T00:00:00.123456Z", "dateTime") + value(
        "tom", "when", "2026-01-01T00:00:00.123457Z", "dateTime"
    )
    assert insert(two)[0] == 1


@pytest.mark.parametrize(
    ("one", "other", "code"),
    [
        (("1", "integer"), ("1.0", "decimal"), 0),
        (("1.0", "decimal"), ("1.0", "double"), 1),
        (("1e400", "double"), ("INF", "double"), 0),
        (("NaN", "double"), ("NaN", "double"), 0),
        (("-0", "double"), ("0", "double"), 1),
        (("-0", "integer"), ("0", "integer"), 0),
    ],
)
def test_28_29_numbers_are_compared_exactly(
    insert: Run, one: tuple[str, str], other: tuple[str, str], code: int
) -> None:
    found, said = insert(value("tom", "age", *one) + value("tom", "age", *other))
    assert found == code, said
    if code:
        assert f'"{one[0]}"' in said


# --- names ----------------------------------------------------------------------------------------


def test_36_the_kind_of_an_undeclared_property_shows_in_its_use(tmp_path: Path, run: Run) -> None:
    path = ontology(tmp_path, ":owns rdfs:range :Cat .")
    (tmp_path / "b.nt").write_text(
        f"<urn:t#rex> {TYPE} <urn:t#Dog> .\n<urn:t#a> <urn:t#owns> <urn:t#rex> .\n"
    )
    code, said = run("check", "-t", path, "-i", tmp_path / "b.nt", "-q")
    assert code == 1, said


def test_37_a_property_that_nobody_knows_is_not_dropped(insert: Run) -> None:
    code, said = insert(GOOD.replace("chases", "hunts") * 3)
    assert (code, "undeclared" in said, "× 3" in said) == (3, True, True)
    assert insert(GOOD.replace("chases", "hunts"), "--allow", "undeclared")[0] == 0


def test_39_a_literal_where_a_thing_is_expected_and_the_reverse(insert: Run) -> None:
    for line in ('<urn:t#rex> <urn:t#chases> "tom" .\n', "<urn:t#rex> <urn:t#age> <urn:t#tom> .\n"):
        code, said = insert(GOOD + line)
        assert (code, "batch.nt:2" in said, "malformed" in said) == (3, True, True)


def test_40_malformed_axioms(tmp_path: Path, run: Run, insert: Run) -> None:
    code, said = insert(f'<urn:t#tom> {TYPE} "A" .\n')
    assert (code, "malformed" in said) == (3, True)
    axiom = ":Cat rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :chases ] ."
    code, said = run("certify", ontology(tmp_path, f"{axiom} :tom a :Cat ."), "-q")
    assert (code, "malformed" in said, "o.ttl:" in said) == (3, True, True)
    code, said = run("certify", ontology(tmp_path, axiom), "-q")  # no data can be about it
    assert (code, "in-doubt" in said, "o.ttl:" in said) == (0, True, True)


def test_41_punning(tmp_path: Path, run: Run) -> None:
    code, said = run("certify", ontology(tmp_path, ":Cat a rdfs:Datatype ."), "-q")
    assert (code, "punning" in said) == (3, True)
    assert (
        run(
            "certify",
            ontology(tmp_path, ":age a owl:ObjectProperty , owl:AnnotationProperty ."),
            "-q",
        )[0]
        == 0
    )
    assert run("certify", ontology(tmp_path, ":Cat a :Dog ."), "-q")[0] == 0


def test_42_a_number_restriction_on_a_transitive_role_names_it(tmp_path: Path, run: Run) -> None:
    text = ":has a owl:ObjectProperty . :part rdfs:subPropertyOf :has . :has a owl:FunctionalProperty ."
    code, said = run("certify", ontology(tmp_path, f"{text} :a :has :b ."), "-q")
    assert (code, "non-simple-role" in said, ":part" in said, ":has" in said) == (
        3,
        True,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        (":Cat owl:equivalentClass [ owl:oneOf ( :tom ) ] .", "nominal", 3),
        (":chases owl:propertyChainAxiom ( :twin :chases :twin ) .", "not regular", 0),
        (":Cat owl:hasKey ( :age ) .", "HasKey", 0),
        (":part a owl:AsymmetricProperty .", "simple", 0),
        (":part a owl:AsymmetricProperty . :a :part :b .", "simple", 3),
        ("[] a <http://www.w3.org/2003/11/swrl#Imp> .", "SWRL", 3),
    ],
)
def test_43_what_lies_outside_is_named_and_never_dropped(
    tmp_path: Path, run: Run, text: str, words: str, code: int
) -> None:
    """Told, whether the data can reach it (3) or not (0); tests/abox_ops/test_outside.py has what HermiT
    makes of it.
    """
    found, said = run("certify", ontology(tmp_path, text), "-q", "--outside", "undetermined")
    assert (found, words.lower() in said.lower()) == (code, True), said


@pytest.mark.jvm
def test_43_what_is_within_reach_is_named_and_decided(tmp_path: Path, run: Run) -> None:
    code, said = run(
        "certify", ontology(tmp_path, ":Cat owl:equivalentClass [ owl:oneOf ( :tom ) ] ."), "-q"
    )
    assert code == 0 and "for 1 outside SHIQ(D) and within reach of the data, first: " in said
    assert "HermiT was asked about the whole, " in said and "the nominal ObjectOneOf" in said


@pytest.mark.parametrize(
    "text",
    [
        ":chases owl:propertyDisjointWith :twin . :a :chases :b ; :twin :b .",
        ":chases a owl:AsymmetricProperty . :a :chases :b . :b :chases :a .",
        ":chases a owl:IrreflexiveProperty . :a :chases :a .",
        ":chases a owl:ReflexiveProperty . :twin owl:propertyDisjointWith :chases . :a :twin :a .",
        ":chases owl:propertyChainAxiom ( :part :twin ) . :a a :Cat ; :part :b . :b :twin :c . "
        ":Cat rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :chases ; owl:allValuesFrom owl:Nothing ] .",
        ":Cat rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :twin ; owl:hasSelf true ] . "
        ":twin a owl:IrreflexiveProperty . :a a :Cat .",
        "[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ; owl:assertionProperty :chases ; "
        "owl:targetIndividual :b . :a :chases :b .",
    ],
)
def test_43_what_some_reasoners_drop_is_decided(tmp_path: Path, run: Run, text: str) -> None:
    code, said = run("certify", ontology(tmp_path, text), "-q")
    assert code == 1, said


def test_44_chains_of_equal_individuals(
    kg: Path, insert: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed by union-find: a chain of any length is one element and is decided; one that is
    larger than `OVERSIZE` is told, and stands in the way where that is asked for.
    """
    chain = [SameIndividual(f"urn:t#i{k}", f"urn:t#i{k + 1}") for k in range(3_000)]
    facts = [
        ClassAssertion(Class("urn:t#Cat"), "urn:t#i0"),
        ClassAssertion(Class("urn:t#Dog"), "urn:t#i3000"),
    ]
    with open_store(kg) as session:
        assert session.check(abox_of(chain), max_conflicts=0).verdict is Verdict.CONSISTENT
        assert (
            session.check(abox_of([*chain, *facts]), max_conflicts=0).verdict
            is Verdict.INCONSISTENT
        )
    monkeypatch.setattr("shiq.jobs.checking.answer.OVERSIZE", 100)
    long = "".join(same(f"i{k}", f"i{k + 1}") for k in range(100))
    code, said = insert(long)
    assert (code, "101 many-equal" in said, "101 individuals are one" in said) == (0, True, True), (
        said
    )
    assert insert(long, "--fail-on", "many-equal")[0] == 3
    code, said = insert(same("a", "b") + same("b", "a", "differentFrom"))
    assert (code, "differentFrom" in said) == (1, True)


@pytest.mark.parametrize("word", ["sameAs", "differentFrom"])
def test_46_identity_of_classes_and_literals_is_rejected(
    insert: Run, run: Run, tmp_path: Path, word: str
) -> None:
    """Between a class and an individual only where all there is was read: OWL 2 lets a class be
    an individual too, and real data does that (OWL2Bench), so in a batch, whose base may say so,
    it is taken as it stands: an individual of that name.
    """
    code, said = insert(GOOD + f'<urn:t#tom> <{OWL}{word}> "tom" .\n')
    assert (code, "malformed" in said, "batch.nt:2" in said) == (3, True, True), said
    code, said = run("certify", ontology(tmp_path, f":tom a :Cat ; owl:{word} :Cat ."), "-q")
    assert (code, "malformed" in said, "o.ttl:" in said) == (3, True, True), said
    code, said = insert(GOOD + same("Cat", "Dog", word))
    assert (code, "individuals-only" in said, "batch.nt:2" in said) == (0, True, True), said


def test_47_a_hub(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub by a functional property merges its neighbours into one element: linear work, the
    verdict decided. One whose role assertions all count is told; a time limit leaves
    undetermined what takes longer.
    """
    hub = [
        ObjectPropertyAssertion(ObjectProperty("urn:t#twin"), "urn:t#tom", f"urn:t#n{k}")
        for k in range(300)
    ]
    with open_store(kg) as session:
        result = session.check(abox_of(hub))
        assert (result.verdict, result.statistics.insertions) == (Verdict.CONSISTENT, 300)
        bad = [
            *hub,
            ClassAssertion(Class("urn:t#Cat"), "urn:t#n1"),
            ClassAssertion(Class("urn:t#Dog"), "urn:t#n2"),
        ]
        result = session.check(abox_of(bad))
        assert result.verdict is Verdict.INCONSISTENT
        assert len(result.conflicts[0].insertions) == 4
    monkeypatch.setattr("shiq.jobs.checking.answer.OVERSIZE", 100)
    likes, pets = ObjectProperty("urn:likes"), ObjectUnionOf((Class("urn:Dog"), Class("urn:Bird")))
    tbox = TBox((SubClassOf(Class("urn:Cat"), ObjectAllValuesFrom(likes, pets)),))
    liked = [ObjectPropertyAssertion(likes, "urn:tom", f"urn:n{k}") for k in range(101)]
    result = check_insertions(
        tbox, None, abox_of([ClassAssertion(Class("urn:Cat"), "urn:tom"), *liked]), reasoner="own"
    )
    (told,) = result.evidence.leftovers
    assert (result.verdict, told.kind, told.count, "<urn:tom>" in told.message) == (
        Verdict.CONSISTENT,
        "hub",
        101,
        True,
    )
    most = SubClassOf(Class("urn:Cat"), ObjectMaxCardinality(7, likes))
    # Whether a random graph can be coloured with seven colours takes long, on any machine.
    draw = random.Random(0)
    pairs = ((j, k) for k in range(101) for j in range(k) if draw.random() < 0.2)
    apart = [DifferentIndividuals(f"urn:n{j}", f"urn:n{k}") for j, k in pairs]
    hard = abox_of([ClassAssertion(Class("urn:Cat"), "urn:tom"), *liked, *apart])
    result = check_insertions(
        TBox((*tbox.axioms, most)), None, hard, reasoner="own", timeout=0.2, max_conflicts=0
    )
    assert result.verdict is Verdict.UNDETERMINED, result.reason


# --- the base -------------------------------------------------------------------------------------


def test_49_axioms_in_a_batch_are_refused(insert: Run) -> None:
    code, said = insert(
        f"<urn:t#Cat> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:t#Dog> .\n{GOOD}",
        "--json",
        "-",
    )
    found = json.loads(said[said.index("{") :])
    assert (code, [x["kind"] for x in found["evidence"]["leftovers"]]) == (3, ["tbox-axiom"])


def test_51_an_inconsistent_base_is_no_base(tmp_path: Path, run: Run) -> None:
    (tmp_path / "t.ttl").write_text(TBOX)
    (tmp_path / "base.nt").write_text(BASE + CLASH)
    (tmp_path / "good.nt").write_text(GOOD)
    assert (
        run("index", "-t", tmp_path / "t.ttl", "-s", tmp_path / "kg", tmp_path / "base.nt", "-q")[0]
        == 1
    )
    code, said = run("check", "-s", tmp_path / "kg", "-i", tmp_path / "good.nt", "-q")
    assert (code, "not certified" in said) == (3, True)


def test_52_a_tbox_that_nothing_can_meet(tmp_path: Path, run: Run) -> None:
    code, said = run(
        "certify", ontology(tmp_path, ":E a owl:Class ; rdfs:subClassOf :Cat , :Dog ."), "-q"
    )
    assert (code, "unsatisfiable-class" in said, " :E " in said) == (0, True, True)
    code, said = run("certify", ontology(tmp_path, "owl:Thing rdfs:subClassOf :Cat , :Dog ."), "-q")
    assert (code, "DisjointClasses" in said) == (1, True)


@pytest.mark.parametrize("field", ["tbox_hash", "snapshot", "version"])
def test_53_a_certificate_of_something_else(kg: Path, run: Run, field: str) -> None:
    path = kg / "store.json"
    document = json.loads(path.read_text())
    place = document if field == "version" else document["certificate"]
    place[field] = 99 if field != "tbox_hash" else "0" * 64
    path.write_text(json.dumps(document))
    code, said = run("check", "-s", kg, "-i", kg.parent / "base.nt", "-q")
    assert code in (3, 4), said
    assert "certif" in said or "version" in said


def test_54_the_base_changed_while_the_job_ran(kg: Path, tmp_path: Path) -> None:
    (tmp_path / "good.nt").write_text(GOOD)
    (tmp_path / "more.nt").write_text(GOOD.replace("rex", "max"))
    with open_store(kg) as slow, open_store(kg) as fast:
        assert slow.check(tmp_path / "more.nt").verdict is Verdict.CONSISTENT
        assert fast.check(tmp_path / "good.nt", commit=True).committed
        found = slow.check(tmp_path / "more.nt", commit=True)  # against what the store holds by now
        assert (found.committed, found.snapshot) == (3, 2)


def test_56_halves_that_contradict_together_and_conflicts_through_the_base(insert: Run) -> None:
    halves = (f"<urn:t#new> {TYPE} <urn:t#Cat> .", f"<urn:t#new> {TYPE} <urn:t#Dog> .")
    code, said = insert("\n".join(halves) + "\n", "--json", "-")
    [conflict] = json.loads(said)["conflicts"]
    assert (code, sorted(conflict["insertions"])) == (1, sorted(halves))
    code, said = insert(CLASH, "--json", "-")
    [conflict] = json.loads(said)["conflicts"]
    assert (code, conflict["base"]) == (1, [BASE.splitlines()[1]])


def test_57_many_conflicts_with_one_cause_are_one_pattern(insert: Run) -> None:
    """All are counted, as many as wished are explained; those with one cause are one row with
    its count and samples.
    """
    text = "".join(
        f"<urn:t#i{k}> {TYPE} <urn:t#Cat> .\n<urn:t#i{k}> {TYPE} <urn:t#Dog> .\n"
        for k in range(2_000)
    )
    code, said = insert(text, "--max-conflicts", "5", "--json", "-")
    found = json.loads(said)
    assert (
        code,
        len(found["conflicts"]),
        found["more_conflicts"],
        found["conflicts_complete"],
    ) == (1, 5, 1_995, False)
    whole = ("--max-conflicts", "5000", "--explain-seconds", "3600")
    code, said = insert(text, *whole, "--json", "-")
    (group,) = json.loads(said)["groups"]
    assert (code, group["count"], group["rule"]) == (1, 2_000, "cax-dw")
    code, said = insert(text + CLASH, *whole)
    assert (code, "2,001 × both Cat and Dog" in said, said.count("conflict ")) == (1, True, 1), said


def chain_to_nothing(count: int) -> TBox:
    """A member of urn:C0 contradicts by ``count`` + 1 axioms."""
    chain = [SubClassOf(Class(f"urn:C{i}"), Class(f"urn:C{i + 1}")) for i in range(count)]
    return TBox((*chain, SubClassOf(Class(f"urn:C{count}"), Class(f"{OWL}Nothing"))))


def test_58_explaining_is_bounded_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of inclusions is one conflict of 61 axioms. Where making it minimal takes too
    long, the best so far is given, and marked; where the time for all of it is over, the verdict
    stands and the conflict is counted.
    """
    tbox, batch = chain_to_nothing(60), abox_of([ClassAssertion(Class("urn:C0"), "urn:a")])
    monkeypatch.setattr("shiq.abox_ops.conflicts.justify.PATIENCE", 3600.0)
    check = partial(check_insertions, tbox, None, batch, reasoner="own", explain_seconds=None)
    (conflict,) = check().conflicts
    assert (len(conflict.axioms), conflict.is_minimal) == (61, True)
    monkeypatch.setattr("shiq.abox_ops.conflicts.justify.PATIENCE", 0.0)
    result = check()
    (conflict,) = result.conflicts
    assert (result.verdict, conflict.is_minimal, len(conflict.insertions)) == (
        Verdict.INCONSISTENT,
        False,
        1,
    )
    assert len(conflict.axioms) >= 61
    ring_at_call(monkeypatch, Explainer, "run")
    result = check(timeout=600)
    assert (result.verdict, result.more_conflicts) == (Verdict.INCONSISTENT, 1)


# --- the machine ----------------------------------------------------------------------------------


def test_62_a_page_in_place_of_data(insert: Run) -> None:
    """Endpoints are not read; what was saved from one in place of data, with status 200, is
    refused.
    """
    code, said = insert("<!DOCTYPE html><html><body>502 Bad Gateway</body></html>\n")
    assert (code, "batch.nt" in said) == (4, True)


def test_63_no_java(insert: Run, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    close_shared_jvms()  # one that an earlier test has started would go on
    text = f"_:b {TYPE} <urn:t#Cat> .\n"
    code, said = insert(text, "--reasoner", "hermit")
    assert (code, "no Java" in said, "--reasoner own" in said) == (4, True, True), said
    assert insert(text)[0] == 0
    assert "no Java" in run("doctor")[1]


class Holder:
    """Somebody who uses the shared JVM."""


@pytest.mark.jvm
def test_65_a_reasoner_that_is_killed_gives_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """137: the JVM is killed while it is asked; an answer counts only if the JVM lived to give it."""
    path = ontology(
        tmp_path,
        ":Cat rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :chases ; owl:someValuesFrom :Cat ] .",
    )
    hermit = create_reasoner("hermit")
    user = Holder()
    try:
        assert certify([path, _nt(tmp_path)], reasoner="hermit").verdict is Verdict.CONSISTENT
        jvm = shared_jvm(user, "1g")
        os.killpg(jvm.pid, signal.SIGKILL)
        result = certify([path, _nt(tmp_path)], reasoner="hermit")
        assert result.verdict is Verdict.CONSISTENT  # a fresh one was started
        pass_time_at_call(monkeypatch, Jvm, "_exchange")
        result = certify([path, _nt(tmp_path)], reasoner="hermit", timeout=600)
        assert result.verdict is Verdict.UNDETERMINED
        assert "hermit" in result.reason
    finally:
        hermit.close()


def _nt(folder: Path) -> Path:
    path = folder / "a.nt"
    path.write_text(BASE)
    return path


def test_66_scratch_is_private_removed_and_its_lack_is_told(
    kg: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    (tmp_path / "bad.nt").write_text(GOOD + CLASH)
    code, _ = run(
        "gate",
        "-s",
        kg,
        "-i",
        tmp_path / "bad.nt",
        "--mode",
        "split",
        "--quarantine",
        tmp_path / "aside.nt",
        "-q",
    )
    assert (code, list(scratch.iterdir())) == (5, [])
    with tempfile.TemporaryDirectory() as made:
        assert stat.S_IMODE(os.stat(made).st_mode) == 0o700
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    # A gate checks what is left from memory.
    code, said = run(
        "gate",
        "-s",
        kg,
        "-i",
        tmp_path / "bad.nt",
        "--mode",
        "split",
        "--quarantine",
        tmp_path / "aside.nt",
        "-q",
    )
    assert (code, "not there" in said) == (5, False)
    code, said = run(
        "check", "-s", kg, "-i", tmp_path / "bad.nt", "--json", tmp_path / "none" / "v.json", "-q"
    )
    assert (code, "--json" in said, "none" in said) == (2, True, True)


def test_68_two_jobs_at_once_and_a_job_that_is_ended(kg: Path, tmp_path: Path, run: Run) -> None:
    """A store is taken by one writer; a job that is ended leaves the old snapshot or the new
    one, never a part.
    """
    from shiq.jobs.store.files import hold_write_lock

    (tmp_path / "good.nt").write_text(GOOD)
    before = _snapshot(kg)
    with hold_write_lock(kg):
        code, said = run("check", "-s", kg, "-i", tmp_path / "good.nt", "--commit", "-q")
    assert (code, "writ" in said, _snapshot(kg)) == (4, True, before)
    command = [
        sys.executable,
        "-m",
        "shiq.jobs.cli",
        "check",
        "-s",
        str(kg),
        "-i",
        str(tmp_path / "good.nt"),
        "--commit",
        "-q",
    ]
    for delay in (0.3, 0.9):
        job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        job.send_signal(signal.SIGTERM)
        job.wait()
        with opened_store(kg) as store:
            assert (store.snapshot, len(list(store.export()))) in {(before, 2), (before + 1, 3)}
    assert run("check", "-s", kg, "-i", tmp_path / "good.nt", "--commit", "-q")[0] == 0
    assert _snapshot(kg) == before + 1


def _snapshot(kg: Path) -> int:
    with opened_store(kg) as store:
        return int(store.snapshot)


def test_a_deletion_of_nothing_is_told(kg: Path, tmp_path: Path, run: Run) -> None:
    gone = tmp_path / "gone.nt"
    gone.write_text(
        BASE.splitlines()[0] + "\n" + BASE.splitlines()[1].replace("rex", "max") + "\n" + CLASH
    )
    for engine in ("local", "spec"):
        code, said = run("check", "-s", kg, "-d", gone, "--engine", engine, "-q")
        assert (code, "2 unmatched-deletion" in said) == (0, True), said
        assert (
            run(
                "check",
                "-s",
                kg,
                "-d",
                gone,
                "--engine",
                engine,
                "--fail-on",
                "unmatched-deletion",
                "-q",
            )[0]
            == 3
        )
    gone.write_text(BASE)
    assert "unmatched" not in run("check", "-s", kg, "-d", gone, "-q")[1]
