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
    """SubClassOf(sub sup)."""

    sub: ClassExpression
    sup: ClassExpression


@dataclass(frozen=True, slots=True)
class EquivalentClasses:
    """EquivalentClasses(expression₁ … expressionₙ)."""

    expressions: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class DisjointClasses:
    """DisjointClasses(expression₁ … expressionₙ)."""

    expressions: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class DisjointUnion:
    """DisjointUnion(cls expression₁ … expressionₙ)."""

    cls: Class
    expressions: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class SubObjectPropertyOf:
    """SubObjectPropertyOf(sub sup)."""

    sub: ObjectPropertyExpression
    sup: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class EquivalentObjectProperties:
    """EquivalentObjectProperties(property₁ … propertyₙ)."""

    properties: tuple[ObjectPropertyExpression, ...]


@dataclass(frozen=True, slots=True)
class DisjointObjectProperties:
    """DisjointObjectProperties(property₁ … propertyₙ)."""

    properties: tuple[ObjectPropertyExpression, ...]


@dataclass(frozen=True, slots=True)
class InverseObjectProperties:
    """InverseObjectProperties(first second)."""

    first: ObjectPropertyExpression
    second: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class ObjectPropertyDomain:
    """ObjectPropertyDomain(property domain)."""

    property: ObjectPropertyExpression
    domain: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectPropertyRange:
    """ObjectPropertyRange(property range)."""

    property: ObjectPropertyExpression
    range: ClassExpression


@dataclass(frozen=True, slots=True)
class FunctionalObjectProperty:
    """FunctionalObjectProperty(property)."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class InverseFunctionalObjectProperty:
    """InverseFunctionalObjectProperty(property)."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class SymmetricObjectProperty:
    """SymmetricObjectProperty(property)."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class AsymmetricObjectProperty:
    """AsymmetricObjectProperty(property)."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class IrreflexiveObjectProperty:
    """IrreflexiveObjectProperty(property)."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class TransitiveObjectProperty:
    """TransitiveObjectProperty(property)."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class SubDataPropertyOf:
    """SubDataPropertyOf(sub sup)."""

    sub: DataProperty
    sup: DataProperty


@dataclass(frozen=True, slots=True)
class EquivalentDataProperties:
    """EquivalentDataProperties(property₁ … propertyₙ)."""

    properties: tuple[DataProperty, ...]


@dataclass(frozen=True, slots=True)
class DisjointDataProperties:
    """DisjointDataProperties(property₁ … propertyₙ)."""

    properties: tuple[DataProperty, ...]


@dataclass(frozen=True, slots=True)
class DataPropertyDomain:
    """DataPropertyDomain(property domain)."""

    property: DataProperty
    domain: ClassExpression


@dataclass(frozen=True, slots=True)
class DataPropertyRange:
    """DataPropertyRange(property range)."""

    property: DataProperty
    range: DataRange


@dataclass(frozen=True, slots=True)
class FunctionalDataProperty:
    """FunctionalDataProperty(property)."""

    property: DataProperty


@dataclass(frozen=True, slots=True)
class DatatypeDefinition:
    """DatatypeDefinition(datatype range)."""

    datatype: Datatype
    range: DataRange


#: "Defined" where every unknown datatype is a value space of its own, whose values are its lexical
#: forms.
BY_FORM: Final = "urn:shiq:unknown-datatypes-by-form"
READ_BY_FORM: Final = DatatypeDefinition(Datatype(BY_FORM), TOP_DATATYPE)


# Outside SHIQ(D): recognised, named, never interpreted.


@dataclass(frozen=True, slots=True)
class ReflexiveObjectProperty:
    """ReflexiveObjectProperty(property)."""

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
    """HasKey(expression object_property₁ … object_propertyₙ data_property₁ … data_propertyₙ)."""

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
