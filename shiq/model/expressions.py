"""Entities, literals, data ranges and class expressions."""

from __future__ import annotations

from dataclasses import dataclass
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

    A plain literal has datatype xsd:string; one with a tag has rdf:langString. Nothing is
    normalised, so that an ill-typed literal can be shown as it came.
    """

    lexical: str
    datatype: str = XSD + "string"
    language: str = ""


THING = Class(OWL + "Thing")
NOTHING = Class(OWL + "Nothing")

# Individuals are terms: an IRI, or "_:scope.label" for a blank node (scoped by its source). The
# ABox holds millions of them, so they are plain strings.
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


DataRange: TypeAlias = (
    Datatype | DataIntersectionOf | DataUnionOf | DataComplementOf | DataOneOf | DatatypeRestriction
)

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
