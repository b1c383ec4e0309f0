"""Patterns, groups, Manchester text and sentences of conflicts."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path

import pytest

from shiq import check_insertions, open_store
from shiq.answers.result import Conflict
from shiq.api import index
from shiq.explanation import (
    ExplainedConflicts,
    Labels,
    Pattern,
    distinguish_titles,
    group,
    manchester,
    sentence,
)
from shiq.explanation.canonical_text import canonicalise_rows, number_triples
from shiq.explanation.proof import prove
from shiq.functional import parse_functional
from shiq.jobs.evaluation.lubm.generate import generate_lubm_data
from shiq.jobs.reports.statement_reader import (
    english_text,
    manchester_text,
    read_assertions,
    read_axiom,
    read_conflict,
)
from shiq.model import (
    OWL,
    RDF,
    XSD,
    Assertion,
    Class,
    ClassAssertion,
    ClassExpression,
    ObjectHasSelf,
    ObjectHasValue,
    ObjectOneOf,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectSomeValuesFrom,
)
from shiq.model.abox import abox_of
from shiq.model.ntriples import assertion_lines
from shiq.reasoner.hermit import HermitReasoner
from tests.tools.explanations import compared, verified

A, B, C = (f"<urn:v#{n}>" for n in "ABC")
R, S, P = (f"<urn:v#{n}>" for n in ("worksFor", "advisor", "age"))
ROLE = ObjectProperty("urn:v#worksFor")


def conflict(axioms: str, insertions: str, base: str = "") -> Conflict:
    """A conflict of functional syntax."""

    def assertions(text: str) -> list[Assertion]:
        return list(parse_functional(f"Prefix(:=<urn:v#>) Ontology({text})", "t", "").abox)

    read = parse_functional(f"Prefix(:=<urn:v#>) Ontology({axioms})", "t", "")
    assert not read.leftovers
    return Conflict(tuple(assertions(insertions)), tuple(assertions(base)), tuple(read.tbox.axioms))


def stated(
    insertions: Iterable[str], base: Iterable[str] = (), axioms: Iterable[str] = ()
) -> Conflict:
    """A conflict of N-Triples lines and axioms in functional syntax."""
    texts = {"insertions": [*insertions], "base": [*base], "axioms": [*axioms]}
    found = read_conflict(texts)
    for name, lines in texts.items():
        assert len(getattr(found, name)) == len(lines)
    return found


#: Rule, axioms, assertions: each is a contradiction by the rule.
RULES = [
    ("cax-dw", "DisjointClasses(:A :B)", "ClassAssertion(:A :x) ClassAssertion(:B :x)"),
    ("cax-adc", "DisjointClasses(:A :B :C)", "ClassAssertion(:A :x) ClassAssertion(:C :x)"),
    (
        "cls-com",
        "SubClassOf(:A ObjectComplementOf(:B))",
        "ClassAssertion(:A :x) ClassAssertion(:B :x)",
    ),
    ("cls-nothing2", f"SubClassOf(:A <{OWL}Nothing>)", "ClassAssertion(:A :x)"),
    ("prp-irp", "IrreflexiveObjectProperty(:r)", "ObjectPropertyAssertion(:r :x :x)"),
    (
        "prp-asyp",
        "AsymmetricObjectProperty(:r)",
        "ObjectPropertyAssertion(:r :x :y) ObjectPropertyAssertion(:r :y :x)",
    ),
    (
        "prp-pdw",
        "DisjointObjectProperties(:r :s)",
        "ObjectPropertyAssertion(:r :x :y) ObjectPropertyAssertion(:s :x :y)",
    ),
    (
        "prp-fp",
        "FunctionalObjectProperty(:r)",
        "ObjectPropertyAssertion(:r :x :y) ObjectPropertyAssertion(:r :x :z) DifferentIndividuals(:y :z)",
    ),
    (
        "prp-ifp",
        "InverseFunctionalObjectProperty(:r)",
        "ObjectPropertyAssertion(:r :y :x) ObjectPropertyAssertion(:r :z :x) DifferentIndividuals(:y :z)",
    ),
    (
        "prp-fp",
        "FunctionalDataProperty(:p)",
        'DataPropertyAssertion(:p :x "1") DataPropertyAssertion(:p :x "2")',
    ),
    ("prp-npa1", "", "ObjectPropertyAssertion(:r :x :y) NegativeObjectPropertyAssertion(:r :x :y)"),
    ("eq-diff1", "", "SameIndividual(:x :y) DifferentIndividuals(:x :y)"),
    (
        "cls-maxc1",
        "SubClassOf(:A ObjectMaxCardinality(0 :r))",
        "ClassAssertion(:A :x) ObjectPropertyAssertion(:r :x :y)",
    ),
    (
        "cls-maxc2",
        "SubClassOf(:A ObjectMaxCardinality(1 :r))",
        "ClassAssertion(:A :x) ObjectPropertyAssertion(:r :x :y) ObjectPropertyAssertion(:r :x :z) DifferentIndividuals(:y :z)",
    ),
    (
        "cls-maxqc1",
        "SubClassOf(:A ObjectMaxCardinality(0 :r :B))",
        "ClassAssertion(:A :x) ObjectPropertyAssertion(:r :x :y) ClassAssertion(:B :y)",
    ),
    ("dt-not-type", f"DataPropertyRange(:p <{XSD}integer>)", 'DataPropertyAssertion(:p :x "one")'),
    ("dt-not-type", "", f'DataPropertyAssertion(:p :x "one"^^<{XSD}integer>)'),
    (
        "",
        "SubClassOf(:A ObjectUnionOf(:B :C)) DisjointClasses(:A :B) DisjointClasses(:A :C)",
        "ClassAssertion(:A :x)",
    ),
    (
        "cls-com",
        "SubClassOf(:A ObjectSomeValuesFrom(:r :B)) ObjectPropertyRange(:r ObjectComplementOf(:B))",
        "ClassAssertion(:A :x)",
    ),
    (
        "",
        "SubClassOf(:A ObjectMaxCardinality(2 :r))",
        "ClassAssertion(:A :x) ObjectPropertyAssertion(:r :x :y) ObjectPropertyAssertion(:r :x :z) "
        "ObjectPropertyAssertion(:r :x :w) DifferentIndividuals(:y :z :w)",
    ),
]


@pytest.mark.parametrize(("rule", "axioms", "assertions"), RULES)
def test_last_steps_have_the_rule_of_the_profile(rule: str, axioms: str, assertions: str) -> None:
    found = conflict(axioms, assertions)
    (one,) = group([found])
    assert one.pattern.rule == rule
    assert one.pattern.id.startswith(f"{rule or 'conflict'}-")
    values = list(parse_functional(f"Prefix(:=<urn:v#>) Ontology({assertions})", "t", "").abox)
    read = [value for text in found.axioms if (value := read_axiom(text))]
    proof = prove(values, read)  # type: ignore[arg-type]
    assert proof is not None
    if "Negative" not in assertions:
        assert set(proof.axioms) <= set(read)
        text = sentence(found)
        assert "\ue000" not in text
        assert "_:" not in text
        assert text.endswith(".")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            (f"<urn:v#x> <{OWL}differentFrom> <urn:v#x> .",),
            "Tonight's data says that x is not itself. But nothing differs from itself.",
        ),
        (
            (f"<urn:v#x> <{OWL}differentFrom> <urn:v#y> .", f"<urn:v#x> <{OWL}sameAs> <urn:v#y> ."),
            "Tonight's data says that x and y are two different things and x and y are one and the same. "
            "But they are recorded as two different things.",
        ),
    ],
)
def test_what_differs_from_itself_gets_a_whole_sentence(
    lines: tuple[str, ...], expected: str
) -> None:
    found = stated(lines)
    assert sentence(found) == expected
    (one,) = group([found])
    assert (one.pattern.rule, "; but" in one.pattern.sentence) == ("eq-diff1", False)


@pytest.mark.parametrize(
    ("axiom", "fact", "told", "title"),
    [
        (
            "DisjointClasses({A} {A})",
            "{x} {type} {A} .",
            "x is an A. But nothing can be an A.",
            "A: nothing can be an A",
        ),
        (
            "DisjointUnion({B} {A} {A})",
            "{x} {type} {B} .",
            "x is a B. Every B is an A; but nothing can be an A.",
            "A: nothing can be an A",
        ),
        (
            "DisjointObjectProperties({S} {S})",
            "{x} {S} {x} .",
            "x has x as its “advisor”. But nothing can have an “advisor” link to anything.",
            "“advisor”: nothing can have one",
        ),
        (
            "DisjointDataProperties({P} {P})",
            '{x} {P} "1" .',
            "x has “1” as its “age”. But nothing can have an “age”.",
            "“age”: nothing can have one",
        ),
    ],
)
def test_what_is_disjoint_with_itself_gets_a_whole_sentence(
    axiom: str, fact: str, told: str, title: str
) -> None:
    """RDF can say it; the functional syntax of a document may not."""
    names = {"A": A, "B": B, "S": S, "P": P, "x": "<urn:v#x>", "type": f"<{RDF}type>"}
    found = stated((fact.format(**names),), (), (axiom.format(**names),))
    assert sentence(found) == f"Tonight's data says that {told}"
    assert [one.pattern.title for one in group([found])] == [title]


def test_a_sentence_says_who_and_where_from() -> None:
    found = conflict(
        "DisjointClasses(:Wellbore :Company)",
        "ClassAssertion(:Wellbore :w7)",
        "ClassAssertion(:Company :w7)",
    )
    expected = "w7 is recorded as a Wellbore (tonight's data) and as a Company (already known), but nothing can be both."
    assert sentence(found) == expected


def test_one_cause_however_it_came_about() -> None:
    axioms = "DisjointClasses(:C :O) SubClassOf(:S :C) SubClassOf(:S :O)"
    direct = conflict(axioms, "", "ClassAssertion(:S :x)")
    by_domain = conflict(
        f"{axioms} ObjectPropertyDomain(:r :S)", "ObjectPropertyAssertion(:r :a :b)"
    )
    by_range = conflict(
        f"{axioms} DataPropertyDomain(:p :T) SubClassOf(:T :S)", 'DataPropertyAssertion(:p :a "x")'
    )
    other = conflict("DisjointClasses(:C :O)", "ClassAssertion(:C :x)", "ClassAssertion(:O :x)")
    groups = group([direct, other, by_domain, by_range])
    assert [g.conflicts for g in groups] == [(0, 2, 3), (1,)]
    assert groups[0].pattern.title == "S: both C and O"
    assert (
        groups[0].pattern.sentence.startswith("Something is a S.")
        or "Something is an S" in groups[0].pattern.sentence
    )


def test_patterns_do_not_depend_on_names_or_order() -> None:
    rng = random.Random(5)
    axioms = ("FunctionalObjectProperty(<urn:v#r>)", "DisjointClasses(<urn:v#A> <urn:v#B>)")
    texts = [
        "<urn:d#1> <urn:v#r> <urn:d#2> .",
        "<urn:d#1> <urn:v#r> <urn:d#3> .",
        f"<urn:d#2> <{RDF}type> {A} .",
        f"<urn:d#3> <{RDF}type> {B} .",
    ]
    ids = set()
    for _ in range(30):
        names = rng.sample(range(100), 3)
        renamed = [re.sub(r"#(\d)>", lambda m, n=names: f"#x{n[int(m[1]) - 1]}>", t) for t in texts]  # type: ignore[misc]
        rng.shuffle(renamed)
        cut = rng.randrange(5)
        shuffled = rng.sample(axioms, 2)
        ids.add(
            group([stated(tuple(renamed[:cut]), tuple(renamed[cut:]), tuple(shuffled))])[
                0
            ].pattern.id
        )
    assert len(ids) == 1


def test_two_causes_never_share_a_title() -> None:
    course, research = (
        f"DisjointClasses(:Person :Work) SubClassOf(:{name} :Work)"
        for name in ("Course", "Research")
    )
    age = "DataPropertyRange(:age xsd:integer)"
    found = [
        conflict(course, "ClassAssertion(:Person :x) ClassAssertion(:Course :x)"),
        conflict(research, "ClassAssertion(:Person :x) ClassAssertion(:Research :x)"),
        conflict(
            course, "ClassAssertion(:Person :x) ClassAssertion(:Course :y) SameIndividual(:x :y)"
        ),
        conflict(age, 'DataPropertyAssertion(:age :x "old")'),
        conflict(age, 'DataPropertyAssertion(:age :x "1.5"^^xsd:decimal)'),
        conflict(
            "DisjointClasses(:Person :Stone)",
            "ClassAssertion(:Person :x) ClassAssertion(:Stone :x)",
        ),
    ]
    titles = [ExplainedConflicts(found).pattern(i).title for i in range(len(found))]
    assert titles == [
        "both Person and Work (Course, 2 facts)",
        "both Person and Work (Research)",
        "both Person and Work (Course, 3 facts)",
        "“age”: not a whole number (Something has a text as its “age”)",
        "“age”: not a whole number (Something has a number as its “age”)",
        "both Person and Stone",
    ]
    for order in list(permutations(range(len(found))))[::40]:
        again = group([found[i] for i in order])
        assert [g.pattern.title for g in again] == [titles[i] for i in order]
    assert group(found[:1])[0].pattern.title == "both Person and Work"


def test_titles_of_random_patterns_are_told_apart() -> None:
    dice = random.Random(3)
    for _ in range(300):
        made = [
            Pattern(
                f"conflict-{i:08x}",
                "",
                dice.choice(["contradiction", "x (A)", "x", "long " * 60]),
                (),
                (),
                dice.choice(["It is. It is not.", "It is; it was, too.", ""]),
                tuple(sorted(dice.sample("ABCD", dice.randrange(3)))),
                dice.randrange(3),
            )
            for i in range(dice.randrange(1, 9))
        ]
        told = distinguish_titles([*made, made[0]])
        assert [p.id for p in told] == [p.id for p in (*made, made[0])]
        assert len({p.title[:150] for p in told}) == len(made)
        shuffled = dice.sample(made, len(made))
        assert {p.id: p.title for p in distinguish_titles(shuffled)} == {
            p.id: p.title for p in told
        }
        for before, after in zip(made, told):
            if sum(p.title == before.title for p in made) == 1 and "x" not in before.title:
                assert after.title == before.title or before.title.startswith("long")


def test_canonical_rows_of_look_alikes() -> None:
    """Two triangles and a ring of six look alike to colours, and are not the same; every
    numbering of a ring is.
    """

    def rows(edges: list[tuple[int, int]]) -> object:
        facts = (ObjectPropertyAssertion(ROLE, f"urn:d#{a}", f"urn:d#{b}") for a, b in edges)
        return canonicalise_rows(number_triples(facts)[0])[0]

    ring = [(i, (i + 1) % 6) for i in range(6)]
    triangles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    assert rows(ring) != rows(triangles)
    assert (
        len({rows([(p[a], p[b]) for a, b in ring]) for p in list(permutations(range(6)))[::37]})
        == 1
    )


def test_literals_count_by_datatype_and_identity() -> None:
    def pattern(*values: str) -> str:
        axioms = "FunctionalDataProperty(:p)"
        return group(
            [conflict(axioms, " ".join(f"DataPropertyAssertion(:p :x {v})" for v in values))]
        )[0].pattern.id

    assert pattern('"1"', '"2"') == pattern('"3"', '"4"')
    assert pattern('"1"', '"2"') != pattern('"1"', f'"2"^^<{XSD}integer>')


def test_a_hundred_thousand_conflicts_are_a_few_rows() -> None:
    axioms = ("DisjointClasses(<urn:v#A> <urn:v#B>)",)
    made = [
        stated(
            (f"<urn:d#{i}> <{RDF}type> {A} .",),
            (f"<urn:d#{i}> <{RDF}type> {B if i % 3 else A} .",),
            axioms,
        )
        for i in range(20_000)
    ]
    groups = group(made)
    assert sorted(len(g.conflicts) for g in groups) == [6_667, 13_333]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"SubClassOf({A} ObjectSomeValuesFrom({R} {B}))", "A SubClassOf: worksFor some B"),
        (
            f"SubClassOf(ObjectIntersectionOf({A} {B}) ObjectAllValuesFrom(ObjectInverseOf({R}) ObjectComplementOf({C})))",
            "A and B SubClassOf: (inverse worksFor) only (not C)",
        ),
        (
            f"EquivalentClasses({A} ObjectExactCardinality(2 {S}))",
            "A EquivalentTo: advisor exactly 2",
        ),
        (f"DisjointClasses({A} {B} {C})", "DisjointClasses: A, B, C"),
        (f"TransitiveObjectProperty({R})", "worksFor Characteristics: Transitive"),
        (
            f'DataPropertyRange({P} DatatypeRestriction(<{XSD}integer> <{XSD}minInclusive> "0"^^<{XSD}integer>))',
            "age Range: xsd:integer[>= 0]",
        ),
        (f'<urn:d#x> {P} "12"^^<{XSD}integer> .', 'x Facts: age "12"^^xsd:integer'),
        (f"<urn:d#x> <{RDF}type> {A} .", "x Types: A"),
    ],
)
def test_manchester(text: str, expected: str) -> None:
    value = read_axiom(text) or read_assertions((text,))[0]
    assert manchester(value) == expected


def test_assertions_of_an_answer_are_read_without_known_vocabularies() -> None:
    """A TBox may declare a property of a known vocabulary as it likes."""
    title = ObjectProperty("http://purl.org/dc/terms/title")
    value = ClassAssertion(ObjectSomeValuesFrom(title, Class("urn:v#A")), "urn:d#x")
    assert read_assertions(assertion_lines(value)) == (value,)


def test_an_assertion_with_an_escape_that_is_no_character_is_left_out() -> None:
    value = ClassAssertion(ObjectHasValue(ROLE, "urn:d#y"), "urn:d#x")
    lines = assertion_lines(value)
    assert read_assertions([line.replace("urn:d#y", r"\U00FFFFFF") for line in lines]) == ()


def test_an_axiom_of_an_answer_that_cannot_be_read_stays_as_it_is() -> None:
    assert manchester_text("no axiom", Labels()) == english_text("no axiom", Labels()) == "no axiom"


@pytest.mark.parametrize(
    ("axiom", "lines", "expected"),
    [
        (
            f"HasKey({A} ({R}) ({P}))",
            (),
            "two named things, each an A, with the same “works for” and “age” are one and the same",
        ),
        (
            f"HasKey(<{OWL}Thing> () ({P}))",
            (),
            "two named things with the same “age” are one and the same",
        ),
        (f"ReflexiveObjectProperty({R})", (), "everything has a “works for” link to itself"),
        (
            f"SubObjectPropertyOf(ObjectPropertyChain({R} ObjectInverseOf({S})) {R})",
            (),
            "things connected by a “works for” link, then an incoming “advisor” link, are also connected by a “works for” link",
        ),
        (f"SubClassOf({A} ObjectOneOf(<urn:d#p> <urn:d#q>))", (), "every A is p or q"),
        (f"SubClassOf({A} ObjectComplementOf(ObjectOneOf(<urn:d#p>)))", (), "no A is p"),
        (
            f"SubClassOf({A} ObjectHasValue({R} <urn:d#p>))",
            (),
            "every A has a “works for” link to p",
        ),
        (f"SubClassOf({A} ObjectHasSelf({R}))", (), "every A has a “works for” link to itself"),
        (f"SubClassOf({A} {B})", (ObjectOneOf(("urn:d#p", "urn:d#q")),), "x is p or q"),
        (
            f"SubClassOf({A} {B})",
            (ObjectSomeValuesFrom(ROLE, ObjectHasValue(ROLE, "urn:d#p")),),
            "link to p",
        ),
        (f"SubClassOf({A} {B})", (ObjectHasSelf(ROLE),), "x has a “works for” link to itself"),
    ],
)
def test_what_lies_outside_shiq_is_told(
    axiom: str, lines: tuple[ClassExpression, ...], expected: str
) -> None:
    given = tuple(
        line
        for expression in lines
        for line in assertion_lines(ClassAssertion(expression, "urn:d#x"))
    )
    told = stated(given, (), (axiom,))
    assert expected in sentence(told)
    assert len(group([told])) == 1
    if "to p" in expected and given:
        other = stated(tuple(line.replace("urn:d#p", "urn:d#z") for line in given), (), (axiom,))
        assert "to z" in ExplainedConflicts((told, other)).sentence(1)


def test_labels_are_told_apart() -> None:
    labels = Labels(
        {"urn:v#A": "thing\n one"},
        ["http://x.org/a/Name", "http://x.org/b/Name", "http://x.org/well/7"],
    )
    assert labels.name_of("urn:v#A") == "thing one"
    assert labels.name_of("http://x.org/a/Name") == "a/Name"
    assert labels.name_of("http://x.org/b/Name") == "b/Name"
    assert labels.name_of("http://x.org/well/7") == "well/7"
    assert labels.name_of("_:i0.x") == "_:x"
    both = Labels({}, ["_:i3.0.x", "_:i3.1.x", "_:a0.y.1"])
    assert [both.name_of(node) for node in ("_:i3.0.x", "_:i3.1.x", "_:a0.y.1")] == [
        "_:x (of file 1)",
        "_:x (of file 2)",
        "_:y.1",
    ]


ONTOLOGY = """@prefix : <urn:v#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:W a owl:Class ; rdfs:label "Brønnbane"@no , "wellbore"@en ; owl:disjointWith :F .
:F a owl:Class ; <http://www.w3.org/2004/02/skos/core#prefLabel> "company" ; rdfs:label "firm" .
"""


def test_results_speak_with_labels(tmp_path: Path) -> None:
    tbox, data, batch = (tmp_path / name for name in ("t.ttl", "a.nt", "i.nt"))
    tbox.write_text(ONTOLOGY, encoding="utf-8")
    data.write_text(f"<urn:d#x> <{RDF}type> <urn:v#W> .\n")
    batch.write_text(f"<urn:d#x> <{RDF}type> <urn:v#F> .\n")
    index(str(tbox), str(data), tmp_path / "kg", reasoner="own")
    with open_store(tmp_path / "kg") as session:
        stored = session.check(str(batch), reasoner="own")
    direct = check_insertions(str(tbox), str(data), str(batch), reasoner="own", engine="local")
    for result in (stored, direct):
        (one,) = result.groups
        assert one.pattern.manchester == ("wellbore DisjointWith: company",)
        form = result.to_dict()
        assert form["groups"][0]["pattern"] == form["conflicts"][0]["pattern"] == one.pattern.id
        assert "a wellbore" in form["conflicts"][0]["sentence"]
        assert "a company" in form["conflicts"][0]["sentence"]


def test_labels_of_functional_syntax(tmp_path: Path) -> None:
    tbox = tmp_path / "t.ofn"
    tbox.write_text(
        "Prefix(:=<urn:v#>) Prefix(rdfs:=<http://www.w3.org/2000/01/rdf-schema#>) Ontology(Declaration(Class(:W)) "
        'AnnotationAssertion(rdfs:label :W "wellbore") DisjointClasses(:W :F))',
        encoding="utf-8",
    )
    from shiq.rdf import read_ontology

    reading = read_ontology([str(tbox)])
    assert reading.labels == {"urn:v#W": "wellbore"}
    assert reading.ledger["annotation"] == 1
    assert abox_of(reading.abox) is not None


@pytest.mark.slow
def test_planted_contradictions_are_found_and_hermit_agrees(tmp_path: Path) -> None:
    """200 faults of every kind: exactly they are found, and each is a contradiction of which
    nothing can be left out.
    """
    lubm, store = tmp_path / "lubm", tmp_path / "kg"
    generate_lubm_data(1, 1, lubm, faults=200)
    index(str(lubm / "tbox.owl"), str(lubm / "abox.nt.gz"), store)
    with open_store(store) as session:
        result = session.check(str(lubm / "insert.nt"), explain_seconds=None)
    found = compared(
        result.conflicts,
        [fault["insertions"] for fault in json.loads((lubm / "faults.json").read_text())],
    )
    assert (found.precision, found.recall, found.exact, len(result.conflicts)) == (
        1.0,
        1.0,
        200,
        200,
    )
    assert result.complete
    hermit = HermitReasoner()
    try:
        assert [c for c in result.conflicts if not verified(c, hermit).holds] == []
    finally:
        hermit.close()
    assert len(result.groups) < 40


def test_what_is_not_shown_to_be_minimal_is_marked() -> None:
    """An opaque value cannot be a number and none; whether it is one is not known, so no part is
    known to be consistent.
    """
    tbox = parse_functional(
        f"Prefix(:=<urn:v#>) Ontology(SubClassOf(:A DataAllValuesFrom(:p <{XSD}integer>)) "
        f"SubClassOf(:B DataAllValuesFrom(:p DataComplementOf(<{XSD}integer>))) DisjointClasses(:C :D))",
        "t",
        "",
    ).tbox
    doubtful = parse_functional(
        "Prefix(:=<urn:v#>) Ontology(ClassAssertion(:A :x) ClassAssertion(:B :x) ClassAssertion(:C :y) ClassAssertion(:D :y) "
        'DataPropertyAssertion(:p :x "?"^^:opaque))',
        "i",
        "",
    ).abox
    result = check_insertions(tbox, None, doubtful, reasoner="own", engine="local")
    assert sorted((len(c.insertions), c.is_minimal) for c in result.conflicts) == [
        (2, True),
        (3, False),
    ]
