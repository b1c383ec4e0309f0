"""Random ontologies that the OWL API writes as RDF/XML, Turtle and OWL/XML: we count as many
axioms as it reads back itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiq.functional import ontology_text
from shiq.model import ObjectIntersectionOf, ObjectUnionOf
from shiq.rdf import read_ontology
from tests.tools.owl_api import OwlApi, is_there
from tests.tools.random_ontologies.features import parts
from tests.tools.random_ontologies.kb import random_kb

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.skipif(not is_there(), reason="no Java, no OWL API or no py4j"),
]


@pytest.fixture(scope="module")
def jvm() -> Iterator[OwlApi]:
    machine = OwlApi()
    yield machine
    machine.close()


def written_and_counted(jvm: OwlApi, text: str, folder: Path) -> dict[Path, int]:
    """The files that the OWL API writes of an ontology, and how many axioms it finds in each."""
    api, manager = jvm.api, jvm.manager()
    ontology = manager.createOntology()
    jvm.parser().parse(api.io.StringDocumentSource(text), ontology)
    found = {}
    turtle = jvm.view.org.coode.owlapi.turtle.TurtleOntologyFormat()
    formats = {
        "a.rdf": api.io.RDFXMLOntologyFormat(),
        "a.ttl": turtle,
        "a.owx": api.io.OWLXMLOntologyFormat(),
    }
    for name, format in formats.items():
        place = api.model.IRI.create((folder / name).as_uri())
        manager.saveOntology(ontology, format, place)
        again = jvm.manager().loadOntologyFromOntologyDocument(place)
        found[folder / name] = int(again.getLogicalAxiomCount())
    return found


def compare(jvm: OwlApi, seed: int, folder: Path) -> None:
    kb = random_kb(seed)
    text = ontology_text(kb.tbox.axioms, kb.union())
    # The OWL API keeps A ⊓ A as an intersection of one class, which to us is the class: two axioms
    # may then be one.
    operators = [
        x
        for x in parts((kb.tbox.axioms, kb.union()))
        if isinstance(x, (ObjectIntersectionOf, ObjectUnionOf))
    ]
    repeated = sum(len(set(x.operands)) < len(x.operands) for x in operators)
    for path, count in jvm.call(lambda: written_and_counted(jvm, text, folder)).items():
        reading = read_ontology([path])
        ours = len(reading.tbox.axioms) + len(reading.abox)
        assert not reading.leftovers, (seed, path.name)
        assert count - repeated <= ours <= count, (seed, path.name)


def test_as_many_axioms_as_the_owl_api_counts(jvm: OwlApi, tmp_path: Path) -> None:
    for seed in range(10):
        compare(jvm, seed, tmp_path)


@pytest.mark.slow
def test_as_many_axioms_as_the_owl_api_counts_in_very_many_ontologies(
    jvm: OwlApi, tmp_path: Path
) -> None:
    for seed in range(10, 260):
        compare(jvm, seed, tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "lubm/univ-bench.owl",
        "uobm/univ-bench-dl.owl",
        "npd/npd-v2-complete.fixed.owl",
        "real/wine.owl",
    ],
)
def test_real_ontologies_that_the_owl_api_converts_to_owl_xml_say_the_same(
    jvm: OwlApi, tmp_path: Path, data_path: Path, name: str
) -> None:
    def convert() -> None:
        api, manager = jvm.api, jvm.manager()
        manager.setSilentMissingImportsHandling(True)
        ontology = manager.loadOntologyFromOntologyDocument(
            jvm.view.java.io.File(str(data_path / name))
        )
        manager.saveOntology(
            ontology,
            api.io.OWLXMLOntologyFormat(),
            api.model.IRI.create((tmp_path / "a.owl").as_uri()),
        )

    jvm.call(convert)
    theirs, ours = read_ontology([tmp_path / "a.owl"]), read_ontology([data_path / name])
    assert {*map(words_of, theirs.tbox.axioms)} == {*map(words_of, ours.tbox.axioms)}
    # Of NPD the OWL API declares owl:sameAs to be an object property.
    kinds = Counter(x.kind for x in theirs.leftovers if "owl#sameAs" not in x.message)
    assert kinds == Counter(x.kind for x in ours.leftovers)
    first, second = (
        replace(reading.tbox.signature, annotation_properties=frozenset())
        for reading in (theirs, ours)
    )
    assert first == second


def words_of(axiom: object) -> tuple[str, ...]:
    """An axiom without the order of its parts, which the OWL API does not keep, and without
    intersections, which it has of one class.
    """
    return tuple(
        sorted(
            word
            for word in re.findall(r"[\w:/#.+-]+", repr(axiom))
            if word not in ("ObjectIntersectionOf", "operands")
        )
    )
