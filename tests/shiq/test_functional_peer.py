"""Functional-style syntax and OWL/XML beside the OWL API: of random documents both read the same
axioms; a slip is refused or told, or both still read the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from shiq.errors import InputError
from shiq.functional import Document, axiom_text, read_document
from shiq.functional.owl_xml import read_owl_xml
from tests.functional_random import document, mutated
from tests.tools.owl_api import NoAnswer, OwlApi, is_there

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.skipif(not is_there(), reason="no Java, no OWL API or no py4j"),
]

#: Documents in the default suite, and the rest of the thousand in the slow one.
SHARES = [
    pytest.param(range(16), id="some"),
    pytest.param(range(16, 1000), id="rest", marks=pytest.mark.slow),
]


class Read(NamedTuple):
    """Axioms of the OWL API, how many there are, and without their annotations those that are
    logical.
    """

    total: int
    logical: Any


@pytest.fixture(scope="module")
def owl_api() -> Iterator[OwlApi]:
    machine = OwlApi()
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def peer(owl_api: OwlApi) -> Callable[[str], Read | None]:
    """Reads a text as the OWL API does; None where that refuses it."""
    manager, parser = owl_api.manager(), owl_api.parser()

    def parse(text: str) -> Read:
        ontology = manager.createOntology()
        try:
            parser.parse(owl_api.api.io.StringDocumentSource(text), ontology)
        finally:
            manager.removeOntology(ontology)
        logical = owl_api.view.java.util.HashSet()
        for axiom in list(ontology.getLogicalAxioms()):
            logical.add(axiom.getAxiomWithoutAnnotations())
        return Read(ontology.getAxiomCount(), logical)

    def read(text: str) -> Read | None:
        try:
            return owl_api.call(lambda: parse(text))
        except NoAnswer as refusal:
            if "Parser" not in str(refusal):
                raise
            return None

    return read


@pytest.fixture(scope="module")
def owl_xml(owl_api: OwlApi) -> Callable[[str], str]:
    """Converts a text in functional-style syntax to OWL/XML, as the OWL API does."""
    api, manager, parser = owl_api.api, owl_api.manager(), owl_api.parser()

    def convert(text: str) -> str:
        ontology = manager.createOntology()
        parser.parse(api.io.StringDocumentSource(text), ontology)
        target = api.io.StringDocumentTarget()
        manager.saveOntology(ontology, api.io.OWLXMLOntologyFormat(), target)
        manager.removeOntology(ontology)
        return str(target.toString())

    return lambda text: owl_api.call(lambda: convert(text))


def ours(text: str) -> Document | None:
    """What we read; None where anything is told of it."""
    try:
        found = read_document(text, "x.ofn", "")
    except InputError:
        return None
    return None if found.leftovers else found


def assert_same(found: Document, theirs: Read, peer: Callable[[str], Read | None]) -> None:
    annotations = len(found.annotations) + len(found.annotation_axioms)
    assert (
        sum(found.ledger[name] for name in ("axiom", "assertion", "declaration")) + annotations
        == theirs.total
    )
    lines = [axiom_text(value) for _, value in (*found.axioms, *found.assertions)]
    again = peer("\n".join(["Ontology(", *lines, ")"]))
    assert again is not None
    assert again.logical.equals(theirs.logical), (
        f"{again.logical} where the OWL API has {theirs.logical}"
    )


@pytest.mark.parametrize("seeds", SHARES)
def test_random_documents_are_read_alike(seeds: range, peer: Callable[[str], Read | None]) -> None:
    for seed in seeds:
        found, theirs = ours(document(seed)), peer(document(seed, plain=True))
        assert (found is not None, theirs is not None) == (True, True), seed
        assert_same(found, theirs, peer)  # type: ignore[arg-type]


@pytest.mark.parametrize("seeds", SHARES)
def test_a_slip_is_told_or_means_to_both_the_same(
    seeds: range, peer: Callable[[str], Read | None]
) -> None:
    told = 0
    for seed in seeds:
        text = mutated(document(seed, plain=True), seed)
        found = ours(text)
        if found is None:
            told += 1
            continue
        theirs = peer(text)
        assert theirs is not None, f"{seed}: we read what the OWL API refuses"
        assert_same(found, theirs, peer)
    assert told > len(seeds) / 2


@pytest.mark.parametrize("seeds", SHARES)
def test_what_the_owl_api_writes_as_owl_xml_is_read_alike(
    seeds: range, peer: Callable[[str], Read | None], owl_xml: Callable[[str], str]
) -> None:
    for seed in seeds:
        text = document(seed, plain=True)
        found = read_owl_xml(owl_xml(text).encode(), "x.owx", "urn:x", "")
        theirs = peer(text)
        assert theirs is not None and not found.leftovers, seed
        assert_same(found, theirs, peer)
