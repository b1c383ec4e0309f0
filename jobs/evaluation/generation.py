"""Shared parts of the generators of benchmark data: draws, and writing, counting and reporting of
data and TBoxes.

The sums over a few universities are what evaluations compare, so draws are *stratified*. Cards are
dealt from a shuffled deck, each once, again and again. So any sum of n draws is off its mean by
less than one deck, for every seed. TBoxes are RDF/XML after the OWL 2 mapping to RDF graphs, for
the axioms that the generators make and no others.

>>> from itertools import islice
>>> sorted(islice(deck(random.Random(1), (7, 10)), 4))
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
from xml.sax.saxutils import escape, quoteattr

from shiq import model as owl
from shiq.functional import parse_functional
from shiq.model import RDF, XSD, Axiom

RDF_TYPE = f"<{RDF}type>"
#: Called with the parts (departments and the like) written and the parts in all.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TripleCounts:
    """Triples by kind, of N-Triples lines whose literals are plain strings."""

    triples: int = 0
    class_assertions: int = 0
    data_assertions: int = 0

    @property
    def role_assertions(self) -> int:
        """Number of role assertions."""
        return self.triples - self.class_assertions - self.data_assertions

    def add_lines(self, lines: list[str]) -> TripleCounts:
        """With what ``lines`` say."""
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
    """Writes N-Triples lines part by part, gzipped: the same bytes for the same lines, with the
    same zlib.
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


def parse_axioms(namespace: str, axioms: Iterable[str]) -> tuple[Axiom, ...]:
    """Parse ``axioms`` in functional syntax, in which ``:`` stands for ``namespace``."""
    text = f"Prefix(:=<{namespace}>) Prefix(xsd:=<{XSD}>) Ontology({' '.join(axioms)})"
    return parse_functional(text, namespace, "").tbox.axioms


V = TypeVar("V")

_STRATA = 5


def draw_below(rng: random.Random, n: int) -> int:
    """A number of 0 … n-1. Rests on `random.Random.random` alone, the one method whose sequence
    Python keeps across versions.
    """
    return int(rng.random() * n)


def shuffle(rng: random.Random, values: list[V]) -> list[V]:
    """Shuffles in place, and hands the list back."""
    for i in range(len(values) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        values[i], values[j] = values[j], values[i]
    return values


def sample(rng: random.Random, population: Sequence[V], k: int) -> list[V]:
    """Draw ``k`` members at distinct places; meant for a ``k`` that is small against the
    population.
    """
    n = len(population)
    chosen: dict[int, None] = {}
    while len(chosen) < k:
        chosen[int(rng.random() * n)] = None
    return [population[i] for i in chosen]


def deal(rng: random.Random, cards: Iterable[V]) -> Iterator[V]:
    """Endless draws from a deck of those cards, each card once per round."""
    cards = tuple(cards)
    while True:
        yield from shuffle(rng, list(cards))


def deck(rng: random.Random, bounds: tuple[int, int]) -> Iterator[int]:
    """Endless draws of low … high, each value once per round."""
    return deal(rng, range(bounds[0], bounds[1] + 1))


def draw_stratified(
    rng: random.Random, bounds: tuple[float, float], strata: int = _STRATA
) -> Iterator[float]:
    """Endless draws between two bounds, one of each stratum of the interval per round."""
    low, high = bounds
    width = (high - low) / strata
    for stratum in deck(rng, (0, strata - 1)):
        yield low + width * (stratum + rng.random())


_CHARACTERISTICS: dict[type[owl.Axiom], str] = {
    owl.AsymmetricObjectProperty: "AsymmetricProperty",
    owl.FunctionalDataProperty: "FunctionalProperty",
    owl.FunctionalObjectProperty: "FunctionalProperty",
    owl.InverseFunctionalObjectProperty: "InverseFunctionalProperty",
    owl.SymmetricObjectProperty: "SymmetricProperty",
    owl.TransitiveObjectProperty: "TransitiveProperty",
}


def _reference(tag: str, iri: str) -> str:
    return f"<{tag} rdf:resource={quoteattr(iri)}/>"


def _number(tag: str, n: int) -> str:
    return f'<{tag} rdf:datatype="{owl.XSD}nonNegativeInteger">{n}</{tag}>'


def _role(tag: str, role: owl.ObjectPropertyExpression) -> str:
    if isinstance(role, owl.ObjectInverseOf):
        return f"<{tag}><rdf:Description>{_reference('owl:inverseOf', role.property.iri)}</rdf:Description></{tag}>"
    return _reference(tag, role.iri)


def _collection(tag: str, members: Iterable[str]) -> str:
    return f'<{tag} rdf:parseType="Collection">{"".join(members)}</{tag}>'


def _filler(tag: str, expression: owl.ClassExpression) -> str:
    return (
        _reference(tag, expression.iri)
        if isinstance(expression, owl.Class)
        else f"<{tag}>{_node(expression)}</{tag}>"
    )


def _restriction(role: owl.ObjectPropertyExpression, *parts: str) -> str:
    return f"<owl:Restriction>{_role('owl:onProperty', role)}{''.join(parts)}</owl:Restriction>"


def _node(expression: owl.ClassExpression) -> str:
    match expression:
        case owl.Class(iri):
            return f"<owl:Class rdf:about={quoteattr(iri)}/>"
        case owl.ObjectIntersectionOf(operands):
            return (
                f"<owl:Class>{_collection('owl:intersectionOf', map(_node, operands))}</owl:Class>"
            )
        case owl.ObjectUnionOf(operands):
            return f"<owl:Class>{_collection('owl:unionOf', map(_node, operands))}</owl:Class>"
        case owl.ObjectComplementOf(operand):
            return f"<owl:Class>{_filler('owl:complementOf', operand)}</owl:Class>"
        case owl.ObjectSomeValuesFrom(role, filler):
            return _restriction(role, _filler("owl:someValuesFrom", filler))
        case owl.ObjectAllValuesFrom(role, filler):
            return _restriction(role, _filler("owl:allValuesFrom", filler))
        case owl.ObjectMinCardinality(n, role, owl.Class(iri)) if iri == owl.OWL + "Thing":
            return _restriction(role, _number("owl:minCardinality", n))
        case owl.ObjectMaxCardinality(n, role, owl.Class(iri)) if iri == owl.OWL + "Thing":
            return _restriction(role, _number("owl:maxCardinality", n))
        case owl.ObjectMaxCardinality(n, role, filler):
            return _restriction(
                role, _number("owl:maxQualifiedCardinality", n), _filler("owl:onClass", filler)
            )
        case owl.ObjectMinCardinality(n, role, filler):
            return _restriction(
                role, _number("owl:minQualifiedCardinality", n), _filler("owl:onClass", filler)
            )
        case owl.DataSomeValuesFrom(data, range):
            return _restriction(owl.ObjectProperty(data.iri), _range("owl:someValuesFrom", range))
        case owl.DataAllValuesFrom(data, range):
            return _restriction(owl.ObjectProperty(data.iri), _range("owl:allValuesFrom", range))
    raise TypeError(f"no RDF/XML for {expression!r}")


def _range(tag: str, range: owl.DataRange) -> str:
    match range:
        case owl.Datatype(iri):
            return _reference(tag, iri)
        case owl.DatatypeRestriction(datatype, facets):
            members = (
                f"<rdf:Description>{_facet(facet.replace(owl.XSD, 'xsd:'), value)}</rdf:Description>"
                for facet, value in facets
            )
            restrictions = _collection("owl:withRestrictions", members)
            return f"<{tag}><rdfs:Datatype>{_reference('owl:onDatatype', datatype.iri)}{restrictions}</rdfs:Datatype></{tag}>"
    raise TypeError(f"no RDF/XML for {range!r}")


def _facet(tag: str, value: owl.Literal) -> str:
    return f"<{tag} rdf:datatype={quoteattr(value.datatype)}>{escape(value.lexical)}</{tag}>"


def _axiom(axiom: owl.Axiom) -> tuple[str, str]:
    """The subject of an axiom and what is said there; subject "" for a node of its own."""
    match axiom:
        case owl.SubClassOf(owl.Class(iri), sup):
            return iri, _filler("rdfs:subClassOf", sup)
        case owl.EquivalentClasses((owl.Class(iri), other)):
            return iri, _filler("owl:equivalentClass", other)
        case owl.DisjointClasses(expressions):
            members = _collection("owl:members", map(_node, expressions))
            return "", f"<owl:AllDisjointClasses>{members}</owl:AllDisjointClasses>"
        case owl.DisjointObjectProperties((owl.ObjectProperty(iri), other)):
            return iri, _role("owl:propertyDisjointWith", other)
        case owl.EquivalentObjectProperties((owl.ObjectProperty(iri), other)):
            return iri, _role("owl:equivalentProperty", other)
        case owl.SubObjectPropertyOf(owl.ObjectProperty(iri), sup):
            return iri, _role("rdfs:subPropertyOf", sup)
        case owl.InverseObjectProperties(owl.ObjectProperty(iri), second):
            return iri, _role("owl:inverseOf", second)
        case owl.ObjectPropertyDomain(owl.ObjectProperty(iri), cls):
            return iri, _filler("rdfs:domain", cls)
        case owl.ObjectPropertyRange(owl.ObjectProperty(iri), cls):
            return iri, _filler("rdfs:range", cls)
        case owl.DataPropertyDomain(data, cls):
            return data.iri, _filler("rdfs:domain", cls)
        case owl.DataPropertyRange(data, range):
            return data.iri, _range("rdfs:range", range)
    characteristic = _CHARACTERISTICS.get(type(axiom))
    property = getattr(axiom, "property", None)
    if characteristic is None or property is None or isinstance(property, owl.ObjectInverseOf):
        raise TypeError(f"no RDF/XML for {axiom!r}")
    return property.iri, _reference("rdf:type", owl.OWL + characteristic)


def tbox_as_rdfxml(
    tbox: owl.TBox, ontology: str, assertions: Iterable[owl.ClassAssertion] = ()
) -> str:
    """``tbox`` with its declarations, as the ontology of that IRI, and the classes of some
    individuals that come with it.

    Raises TypeError for an axiom, or a class asserted, outside what is handled here.
    """
    said: dict[str, list[str]] = {}
    for axiom in tbox.axioms:
        subject, text = _axiom(axiom)
        said.setdefault(subject, []).append(text)
    for assertion in assertions:
        said.setdefault(assertion.individual, []).append(_filler("rdf:type", assertion.expression))
    entities = dict.fromkeys(tbox.signature.classes, "owl:Class")
    entities |= dict.fromkeys(tbox.signature.object_properties, "owl:ObjectProperty")
    entities |= dict.fromkeys(tbox.signature.data_properties, "owl:DatatypeProperty")
    entities |= {iri: "rdf:Description" for iri in said if iri and iri not in entities}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<rdf:RDF xmlns:rdf="{owl.RDF}" xmlns:rdfs="{owl.RDFS}" xmlns:owl="{owl.OWL}" xmlns:xsd="{owl.XSD}">',
        f"<owl:Ontology rdf:about={quoteattr(ontology)}/>",
    ]
    for iri, kind in sorted(entities.items(), key=lambda item: (item[1], item[0])):
        lines.append(f"<{kind} rdf:about={quoteattr(iri)}>")
        lines += (f"  {text}" for text in said.get(iri, ()))
        lines.append(f"</{kind}>")
    lines += said.get("", ())
    return "\n".join([*lines, "</rdf:RDF>", ""])
