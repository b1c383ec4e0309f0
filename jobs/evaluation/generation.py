"""Tools that all data generators share: seeded random draws, counting and writing of triples, and
TBoxes as RDF/XML.

The sums over a few universities are what evaluations compare, so draws are *stratified*. Cards are
dealt from a shuffled deck, each once, again and again. So any sum of n draws is off its mean by
less than one deck, for every seed. TBoxes are RDF/XML after the OWL 2 mapping to RDF graphs, for
the axioms that the generators make and no others.

>>> from itertools import islice
>>> sorted(islice(draw_range_in_rounds(random.Random(1), (7, 10)), 4))
[7, 8, 9, 10]
>>> from shiq.model import Class, SubClassOf, TBox
>>> "rdfs:subClassOf" in tbox_as_rdfxml(TBox((SubClassOf(Class("urn:A"), Class("urn:B")),)), "urn:o")
True
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyoxigraph as ox

from shiq import model as owl
from shiq.functional import parse_functional
from shiq.model import RDF, XSD, Axiom
from shiq.model.ntriples import assertion_lines, axiom_lines, declaration_line

RDF_TYPE = f"<{RDF}type>"
#: Called with the parts (departments and the like) written and the parts in all.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TripleCounts:
    """Numbers of triples by kind (class, role and data assertions), counted in N-Triples lines
    whose literals are plain strings.
    """

    triples: int = 0
    class_assertions: int = 0
    data_assertions: int = 0

    @property
    def role_assertions(self) -> int:
        """Number of role assertions."""
        return self.triples - self.class_assertions - self.data_assertions

    def add_lines(self, lines: list[str]) -> TripleCounts:
        """Copy of the counts with more lines counted."""
        classes, data = (
            sum(RDF_TYPE in line for line in lines),
            sum(line.endswith('" .\n') for line in lines),
        )
        return TripleCounts(
            self.triples + len(lines), self.class_assertions + classes, self.data_assertions + data
        )


@dataclass(frozen=True, kw_only=True)
class GenerationReport(TripleCounts):
    """Report of a generator on the data it wrote."""

    directory: Path
    departments: int
    files: tuple[str, ...]
    seconds: float
    insertions: int = 0
    faults: int = 0
    culprits: int = 0


def write_triples(
    path: Path, parts: Iterable[list[str]], total: int, progress: Progress | None
) -> TripleCounts:
    """Write N-Triples lines part by part to a gzipped file, which depends on nothing but the lines.
    Returns their counts.
    """
    counts = TripleCounts()
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=5, fileobj=raw, mtime=0) as file,
    ):
        for done, lines in enumerate(parts, 1):
            file.write("".join(lines).encode())
            counts = counts.add_lines(lines)
            if progress is not None:
                progress(done, total)
    return counts


def university_term(number: int) -> str:
    """N-Triples term of a university."""
    return f"<http://www.University{number}.edu>"


def parse_axioms(namespace: str, axioms: Iterable[str]) -> tuple[Axiom, ...]:
    """Parse ``axioms`` in functional syntax, in which ``:`` stands for ``namespace``."""
    text = f"Prefix(:=<{namespace}>) Prefix(xsd:=<{XSD}>) Ontology({' '.join(axioms)})"
    return parse_functional(text, namespace, "").tbox.axioms


V = TypeVar("V")

_STRATA = 5


def draw_below(rng: random.Random, n: int) -> int:
    """Draw an integer of 0 … n-1, the same for the same seed in every version of Python."""
    return int(rng.random() * n)


def shuffle(rng: random.Random, values: list[V]) -> list[V]:
    """Shuffle a list in place and return it."""
    for i in range(len(values) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        values[i], values[j] = values[j], values[i]
    return values


def sample_distinct(rng: random.Random, population: Sequence[V], k: int) -> list[V]:
    """Draw ``k`` members at distinct positions; fast only if ``k`` is small against the population."""
    n = len(population)
    chosen: dict[int, None] = {}
    while len(chosen) < k:
        chosen[int(rng.random() * n)] = None
    return [population[i] for i in chosen]


def draw_in_rounds(rng: random.Random, cards: Iterable[V]) -> Iterator[V]:
    """Draw from ``cards`` without end, in rounds: each round yields every card once, in random
    order.
    """
    cards = tuple(cards)
    while True:
        yield from shuffle(rng, list(cards))


def draw_range_in_rounds(rng: random.Random, bounds: tuple[int, int]) -> Iterator[int]:
    """Draw integers between two bounds (inclusive) without end; each round has each integer once."""
    return draw_in_rounds(rng, range(bounds[0], bounds[1] + 1))


def draw_stratified(
    rng: random.Random, bounds: tuple[float, float], strata: int = _STRATA
) -> Iterator[float]:
    """Draw random floats between two bounds without end, stratified: of every ``strata`` successive
    draws, one is from each of as many equal parts of the interval.
    """
    low, high = bounds
    width = (high - low) / strata
    for stratum in draw_range_in_rounds(rng, (0, strata - 1)):
        yield low + width * (stratum + rng.random())


def tbox_as_rdfxml(
    tbox: owl.TBox, ontology: str, assertions: Iterable[owl.ClassAssertion] = ()
) -> str:
    """Write ``tbox`` with its declarations as the ontology of that IRI, and the classes of some
    individuals that come with it.

    Raises: TypeError for an axiom that `shiq.model.ntriples.axiom_lines` does not write.
    """
    names = {
        "Class": tbox.signature.classes,
        "ObjectProperty": tbox.signature.object_properties,
        "DataProperty": tbox.signature.data_properties,
    }
    lines = [f"<{ontology}> {RDF_TYPE} <{owl.OWL}Ontology> ."]
    lines += [declaration_line(kind, iri) for kind, iris in names.items() for iri in sorted(iris)]
    lines += [line for axiom in tbox.axioms for line in axiom_lines(axiom)]
    lines += [line for assertion in assertions for line in assertion_lines(assertion)]
    # Triples of one subject together: the writer makes an element of each run.
    triples = sorted(
        ox.parse("\n".join(lines), format=ox.RdfFormat.N_TRIPLES), key=lambda t: str(t.subject)
    )
    prefixes = {"rdf": owl.RDF, "rdfs": owl.RDFS, "owl": owl.OWL, "xsd": owl.XSD}
    document = ox.serialize(triples, format=ox.RdfFormat.RDF_XML, prefixes=prefixes)
    return (document or b"").decode()
