"""A parsed ontology document: axioms and assertions with lines, declarations, annotations, imports.

`DocumentBuilder` collects the items of a document, whatever its syntax.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shiq import model as owl
from shiq.answers.verdict import Leftover
from shiq.functional.arguments import (
    Annotation,
    AnnotationAxiom,
    DeclaredEntity,
    DifferentMembers,
    ImportDeclaration,
    RefusedConstruct,
)
from shiq.model.walk import PROPERTIES, is_reserved, signature_of

#: Deeper nesting is refused: whatever walks expressions by recursion must not overflow later.
MAX_DEPTH = 200

_LONGEST_TEXT = 200
_SIGNATURE_FIELDS = {
    "class": "classes",
    "object property": "object_properties",
    "data property": "data_properties",
    "annotation property": "annotation_properties",
    "datatype": "datatypes",
}


@dataclass(frozen=True)
class Document:
    """One parsed ontology document. Axioms and assertions come with the line on which they begin.

    left_out: one leftover for each unread item; ``leftovers`` merges equal ones
    ledger: number of items by destination
    signature: declared names, and names in axioms (not in assertions)
    annotations: (line, property, subject, value)
    annotation_axioms: other axioms on annotation properties: (line, keyword, properties)
    properties: (kind, IRI, first line, count) of names declared or used as "object", "data" or
        "annotation" property
    different_lists: (line, individuals that are pairwise different), not among the assertions
    """

    axioms: tuple[tuple[int, owl.Axiom], ...] = ()
    assertions: tuple[tuple[int, owl.Assertion], ...] = ()
    leftovers: tuple[Leftover, ...] = ()
    left_out: tuple[Leftover, ...] = ()
    ledger: Mapping[str, int] = field(default_factory=Counter)
    signature: owl.Signature = field(default_factory=owl.Signature)
    iri: str = ""
    version: str = ""
    imports: tuple[str, ...] = ()
    annotations: tuple[tuple[int, str, str, str | owl.Literal], ...] = ()
    annotation_axioms: tuple[tuple[int, str, tuple[str, ...]], ...] = ()
    properties: tuple[tuple[str, str, int, int], ...] = ()
    different_lists: tuple[tuple[int, tuple[str, ...]], ...] = ()

    @property
    def labels(self) -> Iterator[tuple[str, str, owl.Literal]]:
        """Yield the labels in the annotations, as (IRI, one of `shiq.model.walk.PROPERTIES`,
        label).
        """
        for _, property, subject, value in self.annotations:
            if property in PROPERTIES and isinstance(value, owl.Literal):
                yield subject, property, value

    @property
    def header(self) -> tuple[str, str]:
        """Return ontology IRI and version IRI, "" if missing. An imported IRI is never the version
        IRI.
        """
        imported = {iri.removesuffix("#") for iri in self.imports}
        return self.iri, self.version if self.iri and self.version.removesuffix(
            "#"
        ) not in imported else ""

    @property
    def iris(self) -> frozenset[str]:
        """Return the IRIs under which other ontologies can import this document."""
        return frozenset(filter(None, self.header))


class DocumentBuilder:
    """Builder of a document: sorts its items (axioms, declarations, …) by kind, and counts each in
    the ledger.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._axioms: list[tuple[int, owl.Axiom]] = []
        self._assertions: list[tuple[int, owl.Assertion]] = []
        self._different_lists: list[tuple[int, tuple[str, ...]]] = []
        self._declared: dict[str, set[str]] = {name: set() for name in _SIGNATURE_FIELDS}
        self._imports: list[str] = []
        self._annotations: list[tuple[int, str, str, str | owl.Literal]] = []
        self._annotation_axioms: list[tuple[int, str, tuple[str, ...]]] = []
        self._properties: dict[tuple[str, str], tuple[int, int]] = {}
        self._leftovers: dict[tuple[str, str], Leftover] = {}
        self._left_out: list[Leftover] = []
        self.ledger: Counter[str] = Counter()

    def accept(self, value: Any, keyword: str, line: int, text: Callable[[], str]) -> None:
        """Add a parsed item, which begins with ``keyword`` on ``line``; ``text`` gives it as
        written.

        Args:
        text: gives the source text of the item
        """
        match value:
            case tuple():
                self.ledger["assertion"] += 1
                self._assertions += ((line, assertion) for assertion in value)
                match value:
                    case (
                        owl.ObjectPropertyAssertion(
                            owl.ObjectProperty(iri) | owl.ObjectInverseOf(owl.ObjectProperty(iri))
                        ),
                    ):
                        self.use_property("object", iri, line)
                    case (owl.DataPropertyAssertion(owl.DataProperty(iri)),):
                        self.use_property("data", iri, line)
            case DifferentMembers(individuals):
                self.ledger["assertion"] += 1
                self._different_lists.append((line, individuals))
            case DeclaredEntity(kind, iri):
                self.ledger["declaration"] += 1
                self._declared.get(kind, set()).add(iri)
                if kind.endswith(" property"):
                    self.use_property(kind.removesuffix(" property"), iri, line)
            case AnnotationAxiom(properties, subject, annotated):
                self.ledger["annotation"] += 1
                if keyword == "AnnotationAssertion":
                    value = annotated if isinstance(annotated, owl.Literal) else str(annotated)
                    self._annotations.append((line, properties[0], subject, value))
                else:
                    self._annotation_axioms.append((line, keyword, properties))
                self._declared["annotation property"].update(properties)
                for iri in properties:
                    self.use_property("annotation", iri, line)
            case Annotation(iri):
                self.ledger["annotation"] += 1
                self.use_property("annotation", iri, line)
            case ImportDeclaration(iri):
                self._imports.append(iri)
                hint = "give the imported ontology as a source too"
                refused = RefusedConstruct(
                    f"<{iri}> is imported, but not read", "missing-import", hint
                )
                self.add_leftover(refused, line, text())
            case _:
                self.ledger["axiom"] += 1
                self._axioms.append((line, value))

    def use_property(self, kind: str, iri: str, line: int) -> None:
        """Record that ``iri`` is used as a property of ``kind`` on ``line``."""
        first, count = self._properties.get((kind, iri), (line, 0))
        self._properties[kind, iri] = (first, count + 1)

    def add_leftover(
        self, refused: RefusedConstruct, line: int, text: str, refused_line: int = 0
    ) -> None:
        """Record a refused item as a leftover. Items refused for the same reason share one
        leftover.
        """
        self.ledger[f"leftover:{refused.kind}"] += 1
        key = (refused.kind, refused.message)
        leftover = Leftover(refused.kind, refused.message, self._source, line, text, refused.hint)
        self._left_out.append(leftover)
        if key in self._leftovers:
            self._leftovers[key] = replace(
                self._leftovers[key], count=self._leftovers[key].count + 1
            )
            return
        where = f" (line {refused_line})" if refused_line > line else ""
        self._leftovers[key] = replace(
            leftover, message=refused.message + where, text=short_text(text)
        )

    def build(self, iri: str, version: str) -> Document:
        """Build the document, given its ontology IRI and version IRI."""
        names = {
            field: frozenset(name for name in self._declared[kind] if not is_reserved(name))
            for kind, field in _SIGNATURE_FIELDS.items()
        }
        return Document(
            tuple(self._axioms),
            tuple(self._assertions),
            tuple(self._leftovers.values()),
            tuple(self._left_out),
            self.ledger,
            owl.Signature(**names, declared=frozenset().union(*names.values()))
            | signature_of(axiom for _, axiom in self._axioms),
            iri=iri,
            version=version,
            imports=tuple(self._imports),
            annotations=tuple(self._annotations),
            annotation_axioms=tuple(self._annotation_axioms),
            properties=tuple((*key, *place) for key, place in self._properties.items()),
            different_lists=tuple(self._different_lists),
        )


def short_text(text: str) -> str:
    """Shorten ``text`` to one line for messages."""
    line = " ".join(text[: 2 * _LONGEST_TEXT].split())
    return line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…"
