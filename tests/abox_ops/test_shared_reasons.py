"""Axioms behind conflicts of a session are those that each conflict has by itself, whatever was
explained before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shiq import check_insertions, open_store
from shiq.abox_ops.conflicts.refuter import Refuter
from shiq.answers.result import Result
from shiq.api import Session, index
from shiq.functional import parse_functional

TBOX = """
    SubClassOf(:B ObjectComplementOf(:A)) DataPropertyDomain(:p :A)
    SubClassOf(:Gone owl:Nothing) DataPropertyDomain(:gone :Gone)
    DataPropertyRange(:q DatatypeRestriction(xsd:integer xsd:minInclusive "10"^^xsd:integer))
    DataPropertyRange(:q DatatypeRestriction(xsd:integer xsd:maxInclusive "20"^^xsd:integer))
    SubDataPropertyOf(:r :s) DataPropertyDomain(:r DataHasValue(:s "3"^^xsd:integer))
    SubClassOf(:E :D) SubClassOf(DataHasValue(:t "25"^^xsd:integer) DataHasValue(:t "3"^^xsd:integer))
"""
INT = "^^xsd:integer"
OF_B = "ClassAssertion(:B :x) DataPropertyAssertion(:p :x {})"
GONE = "DataPropertyAssertion(:gone :x {})"
RANGE = "DataPropertyAssertion(:q :x {})"
#: The second literal needs another axiom beside E below D.
BOUNDED = """ClassAssertion(:E :x) DataPropertyAssertion(:t :x {}) ClassAssertion(ObjectUnionOf(ObjectComplementOf(:D)
    DataAllValuesFrom(:t DatatypeRestriction(xsd:integer xsd:minInclusive "10"^^xsd:integer))) :x)"""
DENIED = "DataPropertyAssertion(:r :x {}) NegativeDataPropertyAssertion(:s :x {})"
PREFIXES = "Prefix(:=<urn:v#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>) Prefix(owl:=<http://www.w3.org/2002/07/owl#>)"


def batch(text: str, *literals: str) -> object:
    return parse_functional(f"{PREFIXES} Ontology({text.format(*literals)})", "t", "").abox


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("reasons")
    tbox, abox = folder / "t.ofn", folder / "a.ofn"
    tbox.write_text(f"{PREFIXES} Ontology({TBOX})", encoding="utf-8")
    abox.write_text(f"{PREFIXES} Ontology(ClassAssertion(:A :y))", encoding="utf-8")
    index(tbox, abox, folder / "kg")
    return tbox, abox, folder / "kg"


@pytest.fixture
def session(files: tuple[Path, Path, Path]) -> Iterator[Session]:
    with open_store(files[2]) as opened:
        yield opened


def told(result: Result) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return sorted((c.insertions, c.axioms) for c in result.conflicts)


@pytest.mark.parametrize(
    ("text", "before", "now"),
    [
        (OF_B, ('"one"',), ('"another"',)),
        (OF_B, (f'"1"{INT}',), (f'"2"{INT}',)),
        (GONE, (f'"1"{INT}',), (f'"none"{INT}',)),
        (GONE, (f'"none"{INT}',), (f'"1"{INT}',)),
        (RANGE, (f'"5"{INT}',), (f'"25"{INT}',)),
        (RANGE, (f'"5"{INT}',), (f'"6"{INT}',)),
        (BOUNDED, (f'"5"{INT}',), (f'"25"{INT}',)),
        (DENIED, (f'"1"{INT}', f'"01"{INT}'), (f'"2"{INT}', f'"3"{INT}')),
    ],
)
def test_as_if_nothing_was_explained_before(
    files: tuple[Path, Path, Path],
    session: Session,
    text: str,
    before: tuple[str, ...],
    now: tuple[str, ...],
) -> None:
    for literals in (before, now):
        alone = check_insertions(*files[:2], batch(text, *literals))
        assert told(session.check(batch(text, *literals))) == told(alone)
        assert len(alone.conflicts) == 1


def test_literals_that_the_axioms_do_not_speak_of_need_no_proof(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = session.check(batch(OF_B, '"one"'))
    monkeypatch.setattr(Refuter, "is_refuted_by", lambda *_: pytest.fail("asked again"))
    again = session.check(batch(OF_B, '"another"'))
    assert [c.axioms for c in again.conflicts] == [c.axioms for c in first.conflicts]
