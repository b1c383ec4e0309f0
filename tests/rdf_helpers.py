"""Small documents for the tests of reading RDF."""

from __future__ import annotations

from pathlib import Path

from shiq.inputs.reading import Reading
from shiq.rdf import read_assertions, read_ontology

PREFIXES = """\
@prefix : <urn:t#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
#: Lines before the text that `turtle` is given.
LINES_BEFORE = PREFIXES.count("\n")
NS = "urn:t#"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def turtle(folder: Path, text: str, name: str = "o.ttl", *, closed: bool = False) -> Reading:
    """The ontology that ``text`` says, in Turtle with the usual prefixes."""
    return read_ontology([write(folder, name, PREFIXES + text)], closed=closed)


def data(folder: Path, text: str, tbox: Reading, name: str = "d.ttl") -> Reading:
    """The assertions that ``text`` says, given the vocabulary of ``tbox``."""
    return read_assertions(
        [write(folder, name, PREFIXES + text)], tbox.tbox.signature, ontologies=tbox.ontologies
    )


def kinds(reading: Reading) -> dict[str, int]:
    """How many triples the leftovers stand for, by kind."""
    counts: dict[str, int] = {}
    for leftover in reading.leftovers:
        counts[leftover.kind] = counts.get(leftover.kind, 0) + leftover.count
    return counts
