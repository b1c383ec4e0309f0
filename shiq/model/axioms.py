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
    """Class inclusion: sub ⊑ sup."""

    sub: ClassExpression
    sup: ClassExpression


@dataclass(frozen=True, slots=True)
class EquivalentClasses:
    """Equivalence of class expressions: C₁ ≡ … ≡ Cₙ."""

    expressions: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class DisjointClasses:
    """Pairwise disjointness of class expressions: Cᵢ ⊓ Cⱼ ⊑ ⊥."""

    expressions: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class DisjointUnion:
    """Axiom that ``cls`` is the union of pairwise disjoint class expressions."""

    cls: Class
    expressions: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class SubObjectPropertyOf:
    """Role inclusion: sub ⊑ sup."""

    sub: ObjectPropertyExpression
    sup: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class EquivalentObjectProperties:
    """Equivalence of roles: R₁ ≡ … ≡ Rₙ."""

    properties: tuple[ObjectPropertyExpression, ...]


@dataclass(frozen=True, slots=True)
class DisjointObjectProperties:
    """Pairwise disjointness of roles."""

    properties: tuple[ObjectPropertyExpression, ...]


@dataclass(frozen=True, slots=True)
class InverseObjectProperties:
    """Axiom that two object properties are inverse to each other."""

    first: ObjectPropertyExpression
    second: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class ObjectPropertyDomain:
    """Domain of a role: ∃R.⊤ ⊑ C."""

    property: ObjectPropertyExpression
    domain: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectPropertyRange:
    """Range of a role: ⊤ ⊑ ∀R.C."""

    property: ObjectPropertyExpression
    range: ClassExpression


@dataclass(frozen=True, slots=True)
class FunctionalObjectProperty:
    """Functionality of a role: ⊤ ⊑ ≤1 R."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class InverseFunctionalObjectProperty:
    """Inverse functionality of a role: ⊤ ⊑ ≤1 R⁻."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class SymmetricObjectProperty:
    """Symmetry of a role: R ⊑ R⁻."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class AsymmetricObjectProperty:
    """Asymmetry of a role: R and R⁻ are disjoint."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class IrreflexiveObjectProperty:
    """Irreflexivity of a role: no x has R(x, x)."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class TransitiveObjectProperty:
    """Transitivity of a role: R∘R ⊑ R."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class SubDataPropertyOf:
    """Inclusion of data properties: sub ⊑ sup."""

    sub: DataProperty
    sup: DataProperty


@dataclass(frozen=True, slots=True)
class EquivalentDataProperties:
    """Equivalence of data properties: P₁ ≡ … ≡ Pₙ."""

    properties: tuple[DataProperty, ...]


@dataclass(frozen=True, slots=True)
class DisjointDataProperties:
    """Pairwise disjointness of data properties."""

    properties: tuple[DataProperty, ...]


@dataclass(frozen=True, slots=True)
class DataPropertyDomain:
    """Domain of a data property: whatever has a value for it is in C."""

    property: DataProperty
    domain: ClassExpression


@dataclass(frozen=True, slots=True)
class DataPropertyRange:
    """Range of a data property: all its values are in a data range."""

    property: DataProperty
    range: DataRange


@dataclass(frozen=True, slots=True)
class FunctionalDataProperty:
    """Functionality of a data property: at most one value."""

    property: DataProperty


@dataclass(frozen=True, slots=True)
class DatatypeDefinition:
    """Definition of a datatype: it has the values of ``range``."""

    datatype: Datatype
    range: DataRange


#: "Defined" where every unknown datatype is a value space of its own, whose values are its lexical
#: forms.
BY_FORM: Final = "urn:shiq:unknown-datatypes-by-form"
READ_BY_FORM: Final = DatatypeDefinition(Datatype(BY_FORM), TOP_DATATYPE)


# Outside SHIQ(D): recognised, named, never interpreted.


@dataclass(frozen=True, slots=True)
class ReflexiveObjectProperty:
    """Reflexivity of a role: every x has R(x, x)."""

    property: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class InverseFunctionalDataProperty:
    """Inverse functionality of a data property: individuals with the same value are equal. Not in
    OWL 2 DL.
    """

    property: DataProperty


@dataclass(frozen=True, slots=True)
class SubObjectPropertyChain:
    """Role chain inclusion: R₁ ∘ … ∘ Rₙ ⊑ sup."""

    chain: tuple[ObjectPropertyExpression, ...]
    sup: ObjectPropertyExpression


@dataclass(frozen=True, slots=True)
class HasKey:
    """Key: named members of a class that share values for all key properties are equal."""

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
