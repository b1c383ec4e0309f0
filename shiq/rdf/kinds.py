"""Names by their kind: classes, datatypes, object, data and annotation properties."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from shiq.model import Signature
from shiq.rdf.graph import UnmappedError
from shiq.rdf.vocabulary import (
    ANNOTATIONS,
    BUILT_IN_CLASSES,
    BUILT_IN_DATA,
    BUILT_IN_OBJECT,
    DATATYPES,
)

OBJECT, DATA, ANNOTATION = "object", "data", "annotation"


@dataclass
class Kinds:
    """Names by kind, built-in ones left out. A property in ``punned`` is declared as object and data property both. One that is
    an annotation property beside an object or data property is in both sets, and read as the latter."""

    classes: set[str] = field(default_factory=set)
    datatypes: set[str] = field(default_factory=set)
    object_properties: set[str] = field(default_factory=set)
    data_properties: set[str] = field(default_factory=set)
    annotation_properties: set[str] = field(default_factory=set)
    punned: set[str] = field(default_factory=set)

    def is_class(self, iri: str) -> bool:
        return iri in self.classes or iri in BUILT_IN_CLASSES

    def is_datatype(self, iri: str) -> bool:
        return iri in self.datatypes or iri in DATATYPES

    def property_kind(self, iri: str) -> str:
        """`OBJECT`, `DATA`, `ANNOTATION`, or "" where nothing tells. Raises: UnmappedError for illegal punning."""
        if iri in self.punned:
            raise UnmappedError("punning", f"<{iri}> is an object property and a data property", "use two names")
        if iri in self.object_properties or iri in BUILT_IN_OBJECT:
            return OBJECT
        if iri in self.data_properties or iri in BUILT_IN_DATA:
            return DATA
        if iri in self.annotation_properties or iri in ANNOTATIONS:
            return ANNOTATION
        return ""

    def is_annotation(self, iri: str) -> bool:
        return iri in self.annotation_properties or iri in ANNOTATIONS

    def is_entity(self, iri: str) -> bool:
        """Whether ``iri`` is a class, a property or a datatype."""
        return (
            iri in self.classes
            or iri in self.object_properties
            or iri in self.data_properties
            or iri in self.annotation_properties
            or iri in self.datatypes
            or iri in self.punned
        )

    def signature(self) -> Signature:
        return Signature(
            frozenset(self.classes),
            frozenset(self.object_properties | self.punned),
            frozenset(self.data_properties | self.punned),
            frozenset(self.annotation_properties),
            frozenset(self.datatypes),
        )

    def of_data(self, tbox: Signature) -> Signature:
        """The vocabulary that data may use, given that of the TBox: with annotation properties of its own, and with the TBox's
        annotation properties as what else the data says that they are."""
        notes = tbox.annotation_properties
        unknown = (self.object_properties | self.data_properties) - tbox.object_properties - tbox.data_properties
        return replace(
            tbox,
            object_properties=tbox.object_properties | (self.object_properties & notes),
            data_properties=tbox.data_properties | (self.data_properties & notes),
            annotation_properties=notes | (self.annotation_properties - unknown),
        )


def properties(kinds: Kinds) -> tuple[tuple[str, set[str]], ...]:
    return (OBJECT, kinds.object_properties), (DATA, kinds.data_properties), (ANNOTATION, kinds.annotation_properties)


def kinds_of(kinds: Kinds, iri: str) -> set[str]:
    return {kind for kind, names in properties(kinds) if iri in names}


# --- what use shows ------------------------------------------------------------------------------
