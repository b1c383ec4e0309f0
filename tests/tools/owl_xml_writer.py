"""Axioms and assertions as OWL/XML, written in the many ways that the syntax has for the same:
``python -m tests.tools.owl_xml_writer SEED`` prints a random ontology.

Independent of the reader: it knows model values and the names of elements only.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from shiq import model as m
from tests.tools.random_ontologies.features import parts
from tests.tools.random_ontologies.kb import random_kb

_ENTITIES = (m.Class, m.ObjectProperty, m.DataProperty)
_TOPS = (m.THING, m.TOP_DATATYPE)
#: The last segment of a relative IRI may not have a colon, and no dots that lead elsewhere.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class OwlXmlWriter:
    """Write values; ``seed`` draws how names are written, and which axioms have annotations."""

    def __init__(self, seed: int, base: str, prefixes: dict[str, str]) -> None:
        self.dice = random.Random(seed)
        self.base, self.prefixes = base, prefixes

    def document(self, values: Iterable[object], prefix: str = "") -> str:
        """A whole document, with a declaration of each entity; ``prefix``: of the elements."""
        tag = f"{prefix}:" if prefix else ""
        values = list(values)
        entities = dict.fromkeys(
            part for part in parts(tuple(values)) if isinstance(part, _ENTITIES)
        )
        lines = [
            f"  <Declaration>{self.element(entity)}</Declaration>"
            for entity in entities
            if m.OWL not in entity.iri
        ]
        lines += [f"  {self.axiom(value)}" for value in values]
        named = [
            f"  <Prefix name={quoteattr(name)} IRI={quoteattr(iri)}/>"
            for name, iri in self.prefixes.items()
        ]
        body = "\n".join([*named, *lines])
        body = re.sub(r"<(/?)(?=[A-Z])", rf"<\1{tag}", body)
        xmlns = f"xmlns{':' + prefix if prefix else ''}={quoteattr(m.OWL)}"
        return (
            '<?xml version="1.0"?>\n<!DOCTYPE Ontology [ <!ENTITY base "' + self.base + '"> ]>\n'
            f'<{tag}Ontology {xmlns} xml:base="{self.base}"\n  ontologyIRI="{self.base}">\n{body}\n</{tag}Ontology>\n'
        )

    def axiom(self, value: object) -> str:
        name, inside = self._parts(value)
        notes = "".join(self._note(2) for _ in range(self.dice.choice((0, 0, 0, 1, 2))))
        return f"<{name}>{notes}{inside}</{name}>"

    def element(self, value: object) -> str:
        match value:
            case m.Class(iri) | m.ObjectProperty(iri) | m.DataProperty(iri) | m.Datatype(iri):
                return self._entity(type(value).__name__, iri)
            case m.Literal(lexical, datatype, language):
                if language:
                    return (
                        f"<Literal xml:lang={quoteattr(language)}>{self._text(lexical)}</Literal>"
                    )
                plain = datatype == m.XSD + "string" and self.dice.random() < 0.7
                return f"<Literal{'' if plain else ' datatypeIRI=' + quoteattr(datatype)}>{self._text(lexical)}</Literal>"
            case str():
                if value.startswith("_:"):
                    return f"<AnonymousIndividual nodeID={quoteattr(value if self.dice.random() < 0.5 else value[2:])}/>"
                return self._entity("NamedIndividual", value)
            case tuple():
                return "".join(map(self.element, value))
        name, inside = self._parts(value)
        cardinality = f' cardinality="{value.cardinality}"' if hasattr(value, "cardinality") else ""
        return f"<{name}{cardinality}>{inside}</{name}>"

    def _parts(self, value: object) -> tuple[str, str]:
        match value:
            case m.SubObjectPropertyChain(chain, sup):
                return (
                    "SubObjectPropertyOf",
                    f"<ObjectPropertyChain>{self.element(chain)}</ObjectPropertyChain>{self.element(sup)}",
                )
            case m.DatatypeRestriction(datatype, facets):
                written = (
                    f"<FacetRestriction facet={quoteattr(f)}>{self.element(v)}</FacetRestriction>"
                    for f, v in facets
                )
                return "DatatypeRestriction", self.element(datatype) + "".join(written)
        fields = [
            getattr(value, name) for name in type(value).__match_args__ if name != "cardinality"
        ]  # type: ignore[attr-defined]
        if hasattr(value, "cardinality") and fields[-1] in _TOPS and self.dice.random() < 0.5:
            fields.pop()
        return type(value).__name__, "".join(map(self.element, fields))

    def _entity(self, name: str, iri: str) -> str:
        ways = [f"IRI={quoteattr(iri)}"]
        ways += [
            f'abbreviatedIRI="{key}:{iri[len(ns) :]}"'
            for key, ns in self.prefixes.items()
            if self._is_below(iri, ns)
        ]
        if self._is_below(iri, self.base + "#"):
            ways += [f'IRI="{iri[len(self.base) :]}"', f'IRI="&base;{iri[len(self.base) :]}"']
        return f"<{name} {self.dice.choice(ways)}/>"

    def _is_below(self, iri: str, namespace: str) -> bool:
        return (
            len(iri) > len(namespace)
            and iri.startswith(namespace)
            and set(iri[len(namespace) :]) <= _PLAIN
        )

    def _note(self, depth: int) -> str:
        deeper = self._note(depth - 1) if depth and self.dice.random() < 0.4 else ""
        value = self.dice.choice(
            (
                "<Literal>a note</Literal>",
                "<IRI>urn:note</IRI>",
                '<AnonymousIndividual nodeID="n"/>',
            )
        )
        return f'<Annotation>{deeper}<AnnotationProperty IRI="urn:says"/>{value}</Annotation>'

    def _text(self, text: str) -> str:
        if "]]>" not in text and "\r" not in text and self.dice.random() < 0.2:
            return f"<![CDATA[{text}]]>"
        return escape(text, {"\r": "&#13;"})


def random_values(seed: int) -> list[object]:
    """The random knowledge base of ``seed``, without disjointness of something and itself: its
    meaning is not defined.
    """
    kb = random_kb(seed)
    return [value for value in (*kb.tbox.axioms, *kb.union()) if not _has_repetitions(value)]


def _has_repetitions(value: object) -> bool:
    members = getattr(value, value.__match_args__[-1])  # type: ignore[attr-defined]
    return type(value).__name__.startswith("Disjoint") and len(set(members)) < len(members)


def random_document(seed: int) -> str:
    """`random_values` as OWL/XML."""
    return OwlXmlWriter(seed, "urn:kb", {"t": "urn:kb:"}).document(random_values(seed))


if __name__ == "__main__":
    print(random_document(int(sys.argv[1])), end="")
