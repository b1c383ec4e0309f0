"""Axioms: values about classes, properties and datatypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from shiq.model.expressions import (
    TOP_DATATYPE,
    Class,
    ClassExpression,
    DataProperty,
    DataRange,
    Datatype,
    ObjectPropertyExpression,
)


@dataclass(frozen=True, slots=True)
class SubClassOf:
    sub: ClassExpression
    sup: ClassExpression


@dataclass(frozen=True, slots=True)
class EquivalentClasses:
    expressions: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class DisjointClasses:
    expressions: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class DisjointUnion:
    cls: Class
    expressions: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class SubObjectPropertyOf:
    sub: ObjectPropertyExpression
    sup: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class EquivalentObjectProperties:
    properties: tuple[ObjectPropertyExpression, ...]


@dataclass(frozen=True, slots=True)
class DisjointObjectProperties:
    properties: tuple[ObjectPropertyExpression, ...]


@dataclass(frozen=True, slots=True)
class InverseObjectProperties:
    first: ObjectPropertyExpression
    second: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class ObjectPropertyDomain:
    property: ObjectPropertyExpression
    domain: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectPropertyRange:
    property: ObjectPropertyExpression
    range: ClassExpression


@dataclass(frozen=True, slots=True)
class FunctionalObjectProperty:
    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class InverseFunctionalObjectProperty:
    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class SymmetricObjectProperty:
    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class AsymmetricObjectProperty:
    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class IrreflexiveObjectProperty:
    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class TransitiveObjectProperty:
    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class SubDataPropertyOf:
    sub: DataProperty
    sup: DataProperty


@dataclass(frozen=True, slots=True)
class EquivalentDataProperties:
    properties: tuple[DataProperty, ...]


@dataclass(frozen=True, slots=True)
class DisjointDataProperties:
    properties: tuple[DataProperty, ...]


@dataclass(frozen=True, slots=True)
class DataPropertyDomain:
    property: DataProperty
    domain: ClassExpression


@dataclass(frozen=True, slots=True)
class DataPropertyRange:
    property: DataProperty
    range: DataRange


@dataclass(frozen=True, slots=True)
class FunctionalDataProperty:
    property: DataProperty


@dataclass(frozen=True, slots=True)
class DatatypeDefinition:
    datatype: Datatype
    range: DataRange


#: "Defined" where every unknown datatype is a value space of its own, whose values are its lexical
#: forms.
BY_FORM: Final = "urn:shiq:unknown-datatypes-by-form"
READ_BY_FORM: Final = DatatypeDefinition(Datatype(BY_FORM), TOP_DATATYPE)


# Outside SHIQ(D): recognised, named, never interpreted.


@dataclass(frozen=True, slots=True)
class ReflexiveObjectProperty:
    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class InverseFunctionalDataProperty:
    """Individuals with one value are one; no axiom of OWL 2 DL."""

    property: DataProperty


@dataclass(frozen=True, slots=True)
class SubObjectPropertyChain:
    """SubObjectPropertyOf(ObjectPropertyChain(...) sup)."""

    chain: tuple[ObjectPropertyExpression, ...]
    sup: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class HasKey:
    expression: ClassExpression
    object_properties: tuple[ObjectPropertyExpression, ...]
    data_properties: tuple[DataProperty, ...]


Axiom: TypeAlias = (
    SubClassOf
    | EquivalentClasses
    | DisjointClasses
    | DisjointUnion
    | SubObjectPropertyOf
    | EquivalentObjectProperties
    | DisjointObjectProperties
    | InverseObjectProperties
    | ObjectPropertyDomain
    | ObjectPropertyRange
    | FunctionalObjectProperty
    | InverseFunctionalObjectProperty
    | SymmetricObjectProperty
    | AsymmetricObjectProperty
    | IrreflexiveObjectProperty
    | TransitiveObjectProperty
    | SubDataPropertyOf
    | EquivalentDataProperties
    | DisjointDataProperties
    | DataPropertyDomain
    | DataPropertyRange
    | FunctionalDataProperty
    | DatatypeDefinition
    | ReflexiveObjectProperty
    | InverseFunctionalDataProperty
    | SubObjectPropertyChain
    | HasKey
)
