"""The real data sets: known counts, every W3C premise, and speed that did not get lost."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyoxigraph as ox
import pytest

from shiq.inputs.reading import Reading
from shiq.model import (
    Class,
    EquivalentClasses,
    InverseObjectProperties,
    SubObjectPropertyOf,
    TransitiveObjectProperty,
)
from shiq.model.walk import parts
from shiq.rdf import read_assertions, read_ontology


def families(reading: Reading) -> tuple[int, int, int]:
    abox = reading.abox
    return len(abox.class_rows.subject), len(abox.role_rows.subject), len(abox.data_rows.subject)


def used(reading: Reading) -> Counter[str]:
    """How often each construct stands in the axioms."""
    return Counter(type(part).__name__ for axiom in reading.tbox.axioms for part in parts(axiom))


def test_lubm(data_path: Path) -> None:
    tbox = read_ontology([data_path / "lubm/univ-bench.owl"])
    counts = used(tbox)
    assert (
        counts["TransitiveObjectProperty"]
        == len([a for a in tbox.tbox.axioms if isinstance(a, TransitiveObjectProperty)])
        == 1
    )
    assert len([a for a in tbox.tbox.axioms if isinstance(a, InverseObjectProperties)]) == 3
    assert len([a for a in tbox.tbox.axioms if isinstance(a, SubObjectPropertyOf)]) == 5
    assert counts["ObjectSomeValuesFrom"] == 8
    signature = tbox.tbox.signature
    assert [
        len(s) for s in (signature.classes, signature.object_properties, signature.data_properties)
    ] == [43, 25, 7]
    equivalences = [axiom for axiom in tbox.tbox.axioms if isinstance(axiom, EquivalentClasses)]
    names = {
        first.iri.rpartition("#")[2]
        for axiom in equivalences
        if isinstance(first := axiom.expressions[0], Class)
    }
    assert names == {"Student", "Employee", "Chair", "Director", "Dean", "TeachingAssistant"}
    assert not tbox.leftovers
    data = read_assertions([data_path / "lubm/L1.nt.gz"], signature, ontologies=tbox.ontologies)
    assert families(data) == (18_128, 49_336, 33_079)
    assert len(data.abox.individuals) == 17_174
    assert dict(data.ledger) == {"assertion": 103_074}
    assert not data.leftovers


def test_reading_data_with_its_tbox_or_after_it_is_the_same(data_path: Path) -> None:
    tbox, abox = data_path / "lubm/univ-bench.owl", data_path / "lubm/L1.nt.gz"
    together = read_ontology([abox, tbox])
    after = read_assertions([abox], read_ontology([tbox]).tbox.signature)
    assert families(together) == families(after)
    assert together.abox.individuals == after.abox.individuals
    assert together.abox.role_rows.object == after.abox.role_rows.object


def test_uobm(data_path: Path) -> None:
    tbox = read_ontology([data_path / "uobm/univ-bench-dl.owl"])
    assert not tbox.leftovers
    counts = used(tbox)
    expected = {
        "TransitiveObjectProperty": 2,
        "InverseObjectProperties": 7,
        "SymmetricObjectProperty": 2,
        "FunctionalObjectProperty": 1,
        "InverseFunctionalObjectProperty": 1,
        "ObjectAllValuesFrom": 3,
        "ObjectMinCardinality": 3,
        "ObjectMaxCardinality": 1,
        "ObjectComplementOf": 2,
        "DisjointClasses": 1,
    }
    assert {name: counts[name] for name in expected} == expected
    data = read_assertions([data_path / "uobm/U1.nt.gz"], tbox.tbox.signature)
    assert families(data) == (44_657, 154_117, 58_884)
    (leftover,) = data.leftovers
    assert leftover.kind == "undeclared"
    assert "JournalArtical" in leftover.message
    assert leftover.hint.endswith("#JournalArticle>?")
    assert (leftover.count, data.ledger["leftover:undeclared"]) == (769, 769)


def test_npd(data_path: Path) -> None:
    reading = read_ontology([data_path / "npd/npd-v2-complete.fixed.owl"])
    assert len(reading.abox.same) == 177
    assert used(reading)["DisjointClasses"] == 47
    assert {leftover.kind for leftover in reading.leftovers} == {
        "annotation-punning",
        "unknown-datatype",
    }
    assert families(reading) == (978, 2_396, 3_977)
    signature = reading.tbox.signature
    # The file declares owl:sameAs as the 148th object property; it stays what it is.
    assert [len(s) for s in (signature.object_properties, signature.data_properties)] == [147, 237]


@pytest.mark.parametrize("name", ["wine", "NTNcombined", "moral"])
def test_tbox_and_abox_in_one_file(data_path: Path, name: str) -> None:
    reading = read_ontology([data_path / f"real/{name}.owl"])
    individuals = {"wine": 206, "NTNcombined": 724, "moral": 202}[name]
    assert len(reading.abox.individuals) == individuals
    assert {leftover.kind for leftover in reading.leftovers} == (
        {"outside-shiq"} if name == "wine" else set()
    )
    if name == "moral":
        assert len(reading.abox.class_rows.subject) + len(reading.abox.complex) == 4_646


def test_outside_constructs_of_owl2bench(data_path: Path) -> None:
    tbox = read_ontology([data_path / "owl2bench/UNIV-BENCH-OWL2DL.owl"])
    assert {leftover.kind for leftover in tbox.leftovers} == {"outside-shiq"}
    told = " ".join(leftover.message for leftover in tbox.leftovers)
    assert all(word in told for word in ("HasKey", "ObjectOneOf", "ObjectHasValue"))
    assert not any(word in told for word in ("chain", "ObjectHasSelf", "Reflexive"))
    data = read_assertions([data_path / "owl2bench/OWL2DL-1.abox.nt.gz"], tbox.tbox.signature)
    assert not data.leftovers
    assert sum(data.ledger.values()) == 50_076


def test_every_w3c_premise_is_read_and_accounted_for(data_path: Path) -> None:
    cases = json.loads((data_path / "owl2tests/index.json").read_text())
    assert len(cases) == 247
    for case in cases:
        path = data_path / "owl2tests" / case["premise"]
        reading = read_ontology([path])
        triples = sum(
            1 for _ in ox.parse(path=str(path), format=ox.RdfFormat.RDF_XML, base_iri="urn:base")
        )
        assert sum(reading.ledger.values()) == triples, case["id"]
        assert all(count > 0 for count in reading.ledger.values()), case["id"]
        told: Counter[str] = Counter()
        for leftover in reading.leftovers:
            told[f"leftover:{leftover.kind}"] += leftover.count
        assert all(
            told[bucket] >= count
            for bucket, count in reading.ledger.items()
            if bucket.startswith("leftover:")
        ), case["id"]


#: The only cases among OWL 2 DL's whose premise is not read whole: what is wrong is in the premise.
NOT_WHOLE = {
    "FS2RDF-domain-range-expression-ar": "two-readings",  # inverses of data properties
    "WebOnt-sameAs-001": "individuals-only",  # sameAs between classes
}


def test_w3c_premises_inside_shiqd_are_read_whole(data_path: Path) -> None:
    cases = json.loads((data_path / "owl2tests/index.json").read_text())
    found = {}
    for case in cases:
        if case["shiqd"] and "DL" in case["species"]:
            reading = read_ontology([data_path / "owl2tests" / case["premise"]])
            if reading.leftovers:
                found[case["id"]] = reading.leftovers[0].kind
    assert found == NOT_WHOLE
