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
from xml.sax.saxutils import escape, quoteattr

from shiq import model as owl
from shiq.functional import parse_functional
from shiq.model import RDF, XSD, Axiom

RDF_TYPE = f"<{RDF}type>"
#: Called with the parts (departments and the like) written and the parts in all.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TripleCounts:
    """Numbers of triples by kind, in N-Triples lines whose literals are plain strings."""

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
    """Write N-Triples lines part by part to a gzipped file; equal lines give equal bytes. Return
    their counts.
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
    """Draw from ``cards`` without end; each round has each card once, in random order."""
    cards = tuple(cards)
    while True:
        yield from shuffle(rng, list(cards))


def draw_range_in_rounds(rng: random.Random, bounds: tuple[int, int]) -> Iterator[int]:
    """Draw integers between two bounds (inclusive) without end; each round has each integer once."""
    return draw_in_rounds(rng, range(bounds[0], bounds[1] + 1))


def draw_stratified(
    rng: random.Random, bounds: tuple[float, float], strata: int = _STRATA
) -> Iterator[float]:
    """Draw numbers between two bounds without end; each round has one number of each stratum of the
    interval.
    """
    low, high = bounds
    width = (high - low) / strata
    for stratum in draw_range_in_rounds(rng, (0, strata - 1)):
        yield low + width * (stratum + rng.random())


_CHARACTERISTICS: dict[type[owl.Axiom], str] = {
    owl.AsymmetricObjectProperty: "AsymmetricProperty",
    owl.FunctionalDataProperty: "FunctionalProperty",
    owl.FunctionalObjectProperty: "FunctionalProperty",
    owl.InverseFunctionalObjectProperty: "InverseFunctionalProperty",
    owl.SymmetricObjectProperty: "SymmetricProperty",
    owl.TransitiveObjectProperty: "TransitiveProperty",
}


def _reference_element(tag: str, iri: str) -> str:
    """XML element with a reference to an IRI."""
    return f"<{tag} rdf:resource={quoteattr(iri)}/>"


def _number_element(tag: str, n: int) -> str:
    """XML element with a non-negative integer."""
    return f'<{tag} rdf:datatype="{owl.XSD}nonNegativeInteger">{n}</{tag}>'


def _role_element(tag: str, role: owl.ObjectPropertyExpression) -> str:
    """XML element with a role or an inverse role."""
    if isinstance(role, owl.ObjectInverseOf):
        return f"<{tag}><rdf:Description>{_reference_element('owl:inverseOf', role.property.iri)}</rdf:Description></{tag}>"
    return _reference_element(tag, role.iri)


def _collection_element(tag: str, members: Iterable[str]) -> str:
    """XML element with an RDF list of members."""
    return f'<{tag} rdf:parseType="Collection">{"".join(members)}</{tag}>'


def _class_element(tag: str, expression: owl.ClassExpression) -> str:
    """XML element with a class: a reference if it is named, else its definition."""
    return (
        _reference_element(tag, expression.iri)
        if isinstance(expression, owl.Class)
        else f"<{tag}>{_class_node(expression)}</{tag}>"
    )


def _restriction_element(role: owl.ObjectPropertyExpression, *parts: str) -> str:
    """XML element of an OWL restriction on a role."""
    return f"<owl:Restriction>{_role_element('owl:onProperty', role)}{''.join(parts)}</owl:Restriction>"


def _class_node(expression: owl.ClassExpression) -> str:
    """XML node that defines a class expression."""
    match expression:
        case owl.Class(iri):
            return f"<owl:Class rdf:about={quoteattr(iri)}/>"
        case owl.ObjectIntersectionOf(operands):
            return f"<owl:Class>{_collection_element('owl:intersectionOf', map(_class_node, operands))}</owl:Class>"
        case owl.ObjectUnionOf(operands):
            return f"<owl:Class>{_collection_element('owl:unionOf', map(_class_node, operands))}</owl:Class>"
        case owl.ObjectComplementOf(operand):
            return f"<owl:Class>{_class_element('owl:complementOf', operand)}</owl:Class>"
        case owl.ObjectSomeValuesFrom(role, filler):
            return _restriction_element(role, _class_element("owl:someValuesFrom", filler))
        case owl.ObjectAllValuesFrom(role, filler):
            return _restriction_element(role, _class_element("owl:allValuesFrom", filler))
        case owl.ObjectMinCardinality(n, role, owl.Class(iri)) if iri == owl.OWL + "Thing":
            return _restriction_element(role, _number_element("owl:minCardinality", n))
        case owl.ObjectMaxCardinality(n, role, owl.Class(iri)) if iri == owl.OWL + "Thing":
            return _restriction_element(role, _number_element("owl:maxCardinality", n))
        case owl.ObjectMaxCardinality(n, role, filler):
            return _restriction_element(
                role,
                _number_element("owl:maxQualifiedCardinality", n),
                _class_element("owl:onClass", filler),
            )
        case owl.ObjectMinCardinality(n, role, filler):
            return _restriction_element(
                role,
                _number_element("owl:minQualifiedCardinality", n),
                _class_element("owl:onClass", filler),
            )
        case owl.DataSomeValuesFrom(data, range):
            return _restriction_element(
                owl.ObjectProperty(data.iri), _data_range_element("owl:someValuesFrom", range)
            )
        case owl.DataAllValuesFrom(data, range):
            return _restriction_element(
                owl.ObjectProperty(data.iri), _data_range_element("owl:allValuesFrom", range)
            )
    raise TypeError(f"no RDF/XML for {expression!r}")


def _data_range_element(tag: str, range: owl.DataRange) -> str:
    """XML element with a datatype or a datatype restriction."""
    match range:
        case owl.Datatype(iri):
            return _reference_element(tag, iri)
        case owl.DatatypeRestriction(datatype, facets):
            members = (
                f"<rdf:Description>{_facet_element(facet.replace(owl.XSD, 'xsd:'), value)}</rdf:Description>"
                for facet, value in facets
            )
            restrictions = _collection_element("owl:withRestrictions", members)
            on = _reference_element("owl:onDatatype", datatype.iri)
            return f"<{tag}><rdfs:Datatype>{on}{restrictions}</rdfs:Datatype></{tag}>"
    raise TypeError(f"no RDF/XML for {range!r}")


def _facet_element(tag: str, value: owl.Literal) -> str:
    """XML element with the literal of a facet."""
    return f"<{tag} rdf:datatype={quoteattr(value.datatype)}>{escape(value.lexical)}</{tag}>"


def _axiom_element(axiom: owl.Axiom) -> tuple[str, str]:
    """Subject IRI of an axiom and the XML element that states it; "" if the element is a node of
    its own.
    """
    match axiom:
        case owl.SubClassOf(owl.Class(iri), sup):
            return iri, _class_element("rdfs:subClassOf", sup)
        case owl.EquivalentClasses((owl.Class(iri), other)):
            return iri, _class_element("owl:equivalentClass", other)
        case owl.DisjointClasses(expressions):
            members = _collection_element("owl:members", map(_class_node, expressions))
            return "", f"<owl:AllDisjointClasses>{members}</owl:AllDisjointClasses>"
        case owl.DisjointObjectProperties((owl.ObjectProperty(iri), other)):
            return iri, _role_element("owl:propertyDisjointWith", other)
        case owl.EquivalentObjectProperties((owl.ObjectProperty(iri), other)):
            return iri, _role_element("owl:equivalentProperty", other)
        case owl.SubObjectPropertyOf(owl.ObjectProperty(iri), sup):
            return iri, _role_element("rdfs:subPropertyOf", sup)
        case owl.InverseObjectProperties(owl.ObjectProperty(iri), second):
            return iri, _role_element("owl:inverseOf", second)
        case owl.ObjectPropertyDomain(owl.ObjectProperty(iri), cls):
            return iri, _class_element("rdfs:domain", cls)
        case owl.ObjectPropertyRange(owl.ObjectProperty(iri), cls):
            return iri, _class_element("rdfs:range", cls)
        case owl.DataPropertyDomain(data, cls):
            return data.iri, _class_element("rdfs:domain", cls)
        case owl.DataPropertyRange(data, range):
            return data.iri, _data_range_element("rdfs:range", range)
    characteristic = _CHARACTERISTICS.get(type(axiom))
    property = getattr(axiom, "property", None)
    if characteristic is None or property is None or isinstance(property, owl.ObjectInverseOf):
        raise TypeError(f"no RDF/XML for {axiom!r}")
    return property.iri, _reference_element("rdf:type", owl.OWL + characteristic)


def tbox_as_rdfxml(
    tbox: owl.TBox, ontology: str, assertions: Iterable[owl.ClassAssertion] = ()
) -> str:
    """Serialise a TBox with its declarations and some class assertions as an ontology in RDF/XML.

    Raises: TypeError for an axiom or class that the generators do not use.
    """
    said: dict[str, list[str]] = {}
    for axiom in tbox.axioms:
        subject, text = _axiom_element(axiom)
        said.setdefault(subject, []).append(text)
    for assertion in assertions:
        said.setdefault(assertion.individual, []).append(
            _class_element("rdf:type", assertion.expression)
        )
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
