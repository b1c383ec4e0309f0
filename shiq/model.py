"""The OWL 2 structural model, restricted to what SHIQ(D) can say, as frozen values.

Types carry the names of the OWL 2 structural specification. What SHIQ(D) cannot say is still a value
(`ObjectOneOf`, `ObjectHasSelf`, `SubObjectPropertyChain`, ...), so that it can be named, counted and refused; nothing is dropped.
An axiom is a value about classes, properties and datatypes; an assertion is a value about individuals.

>>> SubClassOf(Class("urn:A"), ObjectSomeValuesFrom(ObjectProperty("urn:r"), Class("urn:B")))
SubClassOf(sub=Class(iri='urn:A'), sup=ObjectSomeValuesFrom(property=ObjectProperty(iri='urn:r'), filler=Class(iri='urn:B')))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

OWL = "http://www.w3.org/2002/07/owl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"


# --- entities -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Class:
    iri: str


@dataclass(frozen=True, slots=True)
class ObjectProperty:
    iri: str


@dataclass(frozen=True, slots=True)
class ObjectInverseOf:
    property: ObjectProperty


ObjectPropertyExpression: TypeAlias = ObjectProperty | ObjectInverseOf


@dataclass(frozen=True, slots=True)
class DataProperty:
    iri: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal as written: lexical form, datatype IRI, language tag (lower case; "" for none).

    A plain literal has datatype xsd:string; one with a tag has rdf:langString. Nothing is normalised, so that an ill-typed
    literal can be shown as it came.
    """

    lexical: str
    datatype: str = XSD + "string"
    language: str = ""


THING = Class(OWL + "Thing")
NOTHING = Class(OWL + "Nothing")

# Individuals are terms: an IRI, or "_:scope.label" for a blank node (scoped by its source). The ABox holds millions of
# them, so they are plain strings.
Individual: TypeAlias = str


# --- data ranges ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Datatype:
    iri: str


@dataclass(frozen=True, slots=True)
class DataIntersectionOf:
    operands: tuple[DataRange, ...]


@dataclass(frozen=True, slots=True)
class DataUnionOf:
    operands: tuple[DataRange, ...]


@dataclass(frozen=True, slots=True)
class DataComplementOf:
    operand: DataRange


@dataclass(frozen=True, slots=True)
class DataOneOf:
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class DatatypeRestriction:
    """``datatype`` restricted by (facet IRI, literal) pairs."""

    datatype: Datatype
    facets: tuple[tuple[str, Literal], ...]


DataRange: TypeAlias = Datatype | DataIntersectionOf | DataUnionOf | DataComplementOf | DataOneOf | DatatypeRestriction

TOP_DATATYPE = Datatype(RDFS + "Literal")


# --- class expressions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ObjectIntersectionOf:
    operands: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class ObjectUnionOf:
    operands: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class ObjectComplementOf:
    operand: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectSomeValuesFrom:
    property: ObjectPropertyExpression
    filler: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectAllValuesFrom:
    property: ObjectPropertyExpression
    filler: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectMinCardinality:
    cardinality: int
    property: ObjectPropertyExpression
    filler: ClassExpression = THING


@dataclass(frozen=True, slots=True)
class ObjectMaxCardinality:
    cardinality: int
    property: ObjectPropertyExpression
    filler: ClassExpression = THING


@dataclass(frozen=True, slots=True)
class ObjectExactCardinality:
    cardinality: int
    property: ObjectPropertyExpression
    filler: ClassExpression = THING


@dataclass(frozen=True, slots=True)
class DataSomeValuesFrom:
    property: DataProperty
    range: DataRange


@dataclass(frozen=True, slots=True)
class DataAllValuesFrom:
    property: DataProperty
    range: DataRange


@dataclass(frozen=True, slots=True)
class DataHasValue:
    property: DataProperty
    literal: Literal


@dataclass(frozen=True, slots=True)
class DataMinCardinality:
    cardinality: int
    property: DataProperty
    range: DataRange = TOP_DATATYPE


@dataclass(frozen=True, slots=True)
class DataMaxCardinality:
    cardinality: int
    property: DataProperty
    range: DataRange = TOP_DATATYPE


@dataclass(frozen=True, slots=True)
class DataExactCardinality:
    cardinality: int
    property: DataProperty
    range: DataRange = TOP_DATATYPE


# Outside SHIQ(D): recognised, named, never interpreted.


@dataclass(frozen=True, slots=True)
class ObjectOneOf:
    individuals: tuple[Individual, ...]


@dataclass(frozen=True, slots=True)
class ObjectHasValue:
    property: ObjectPropertyExpression
    individual: Individual


@dataclass(frozen=True, slots=True)
class ObjectHasSelf:
    property: ObjectPropertyExpression


ClassExpression: TypeAlias = (
    Class
    | ObjectIntersectionOf
    | ObjectUnionOf
    | ObjectComplementOf
    | ObjectSomeValuesFrom
    | ObjectAllValuesFrom
    | ObjectMinCardinality
    | ObjectMaxCardinality
    | ObjectExactCardinality
    | DataSomeValuesFrom
    | DataAllValuesFrom
    | DataHasValue
    | DataMinCardinality
    | DataMaxCardinality
    | DataExactCardinality
    | ObjectOneOf
    | ObjectHasValue
    | ObjectHasSelf
)


# --- axioms --------------------------------------------------------------------------------------


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


# Outside SHIQ(D): recognised, named, never interpreted.


@dataclass(frozen=True, slots=True)
class ReflexiveObjectProperty:
    property: ObjectPropertyExpression


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
    | SubObjectPropertyChain
    | HasKey
)


# --- assertions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClassAssertion:
    expression: ClassExpression
    individual: Individual


@dataclass(frozen=True, slots=True)
class ObjectPropertyAssertion:
    property: ObjectPropertyExpression
    subject: Individual
    object: Individual


@dataclass(frozen=True, slots=True)
class NegativeObjectPropertyAssertion:
    property: ObjectPropertyExpression
    subject: Individual
    object: Individual


@dataclass(frozen=True, slots=True)
class DataPropertyAssertion:
    property: DataProperty
    subject: Individual
    literal: Literal


@dataclass(frozen=True, slots=True)
class NegativeDataPropertyAssertion:
    property: DataProperty
    subject: Individual
    literal: Literal


@dataclass(frozen=True, slots=True)
class SameIndividual:
    """One pair; longer lists are split by the reader."""

    first: Individual
    second: Individual


@dataclass(frozen=True, slots=True)
class DifferentIndividuals:
    """One pair; longer lists are split by the reader."""

    first: Individual
    second: Individual


Assertion: TypeAlias = (
    ClassAssertion
    | ObjectPropertyAssertion
    | NegativeObjectPropertyAssertion
    | DataPropertyAssertion
    | NegativeDataPropertyAssertion
    | SameIndividual
    | DifferentIndividuals
)


# --- TBox ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Signature:
    """The vocabulary that a TBox declares or uses, IRIs by kind (built-in entities left out)."""

    classes: frozenset[str] = frozenset()
    object_properties: frozenset[str] = frozenset()
    data_properties: frozenset[str] = frozenset()
    annotation_properties: frozenset[str] = frozenset()
    datatypes: frozenset[str] = frozenset()

    def __or__(self, other: Signature) -> Signature:
        return Signature(
            self.classes | other.classes,
            self.object_properties | other.object_properties,
            self.data_properties | other.data_properties,
            self.annotation_properties | other.annotation_properties,
            self.datatypes | other.datatypes,
        )


@dataclass(frozen=True)
class TBox:
    """Axioms in the order read, without duplicates, and the vocabulary they are about."""

    axioms: tuple[Axiom, ...] = ()
    signature: Signature = field(default_factory=Signature)
