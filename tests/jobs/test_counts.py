"""What people are told is counted in axioms and assertions, with triples in brackets where these
are more.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiq.answers.verdict import Leftover, count_leftovers
from shiq.api import check_insertions
from tests.command_line import shiq
from tests.rdf_helpers import PREFIXES, turtle

#: Two axioms outside SHIQ(D) of 9 and 4 triples, one inside of 1; three declarations.
TEXT = """
:A a owl:Class . :B a owl:Class ; owl:disjointWith :A . :r a owl:ObjectProperty .
:A rdfs:subClassOf [ a owl:Class ; owl:oneOf ( :a :b :c ) ] .
:B rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :r ; owl:hasValue :a ] .
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.ttl"
    path.write_text(PREFIXES + TEXT)
    return path


def test_a_reading_counts_both(tmp_path: Path) -> None:
    reading = turtle(tmp_path, TEXT)
    assert sorted((x.kind, x.number, x.count) for x in reading.leftovers) == [
        ("outside-shiq", 1, 4),
        ("outside-shiq", 1, 9),
    ]
    assert reading.ledger["leftover:outside-shiq"] == 13


@pytest.mark.parametrize(
    ("text", "number", "count"),
    [
        (":x :p 1 , 2 , 3 .", 3, 3),  # an undeclared property: each triple is an assertion
        (
            ":A rdfs:subClassOf [ owl:onProperty :q ; owl:maxCardinality true ] .",
            1,
            3,
        ),  # an axiom that cannot be read
        ("[] a owl:Class ; owl:unionOf ( :A :Z ) .", 1, 6),  # an expression that nothing uses
    ],
)
def test_what_one_leftover_stands_for(tmp_path: Path, text: str, number: int, count: int) -> None:
    (leftover,) = turtle(tmp_path, f":A a owl:Class . {text}").leftovers
    assert (leftover.number, leftover.count) == (number, count)


def test_how_it_is_told(file: Path) -> None:
    said = shiq("lint", file, "-q").stdout
    assert "2 outside-shiq (13 triples): an axiom" in said
    assert "not interpreted: 2 outside-shiq (13 triples)" in said
    restriction = "[ a owl:Restriction ; owl:onProperty :q ; owl:maxCardinality true ]"
    file.write_text(f"{PREFIXES} :A a owl:Class ; rdfs:subClassOf {restriction} . :i a :A .")
    result = check_insertions(
        file, None, None, engine="local", reasoner="own", allow=["empty-tbox"]
    )
    assert "1 × malformed (4 triples), first: " in result.reason
    (row,) = (x for x in result.to_dict()["evidence"]["leftovers"] if x["kind"] == "malformed")
    assert (row["items"], row["count"]) == (1, 4)
    assert (
        count_leftovers(
            "undeclared", [Leftover("undeclared", "", count=5), Leftover("undeclared", "")]
        )
        == "6 undeclared"
    )


def test_status_counts_them_so_too(file: Path, tmp_path: Path) -> None:
    lines = "".join(f"<urn:x> <urn:t#p> <urn:{i}> .\n" for i in range(3))
    (tmp_path / "a.nt").write_text(f"<urn:x> a broken line\n{lines}")
    allow = [
        part for kind in ("outside-shiq", "undeclared", "malformed") for part in ("--allow", kind)
    ]
    store = tmp_path / "kg"
    assert (
        shiq(
            "index", "-t", file, "-s", store, tmp_path / "a.nt", "--reasoner", "own", "-q", *allow
        ).returncode
        == 0
    )
    said = shiq("status", "-s", store).stdout
    assert (
        "; 6 leftovers (17 triples), of which allowed, once for all: 1 malformed, 2 outside-shiq, 3 undeclared\n"
        in said
    )
    found = json.loads(shiq("status", "-s", store, "--json", "-").stdout)
    assert (found["leftovers"], found["leftover_triples"]) == (6, 17)


def test_axioms_and_assertions_of_the_ledger(tmp_path: Path) -> None:
    path = tmp_path / "t.ttl"
    path.write_text(
        f"{PREFIXES} :A a owl:Class ; rdfs:subClassOf [ a owl:Class ; owl:complementOf :A ] . :a a :A ."
    )
    said = shiq("lint", path, "-q", "--no-classes").stdout
    assert "1 axioms (3 triples)\n" in said
    assert "1 assertions\n" in said
