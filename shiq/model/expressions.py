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
    """A named class."""

    iri: str


@dataclass(frozen=True, slots=True)
class ObjectProperty:
    """A named object property."""

    iri: str


@dataclass(frozen=True, slots=True)
class ObjectInverseOf:
    """ObjectInverseOf(property)."""

    property: ObjectProperty


ObjectPropertyExpression: TypeAlias = ObjectProperty | ObjectInverseOf


@dataclass(frozen=True, slots=True)
class DataProperty:
    """A named data property."""

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
    """A named datatype."""

    iri: str


@dataclass(frozen=True, slots=True)
class DataIntersectionOf:
    """DataIntersectionOf(operand₁ … operandₙ)."""

    operands: tuple[DataRange, ...]


@dataclass(frozen=True, slots=True)
class DataUnionOf:
    """DataUnionOf(operand₁ … operandₙ)."""

    operands: tuple[DataRange, ...]


@dataclass(frozen=True, slots=True)
class DataComplementOf:
    """DataComplementOf(operand)."""

    operand: DataRange


@dataclass(frozen=True, slots=True)
class DataOneOf:
    """DataOneOf(literal₁ … literalₙ)."""

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
    """ObjectIntersectionOf(operand₁ … operandₙ)."""

    operands: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class ObjectUnionOf:
    """ObjectUnionOf(operand₁ … operandₙ)."""

    operands: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class ObjectComplementOf:
    """ObjectComplementOf(operand)."""

    operand: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectSomeValuesFrom:
    """ObjectSomeValuesFrom(property filler)."""

    property: ObjectPropertyExpression
    filler: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectAllValuesFrom:
    """ObjectAllValuesFrom(property filler)."""

    property: ObjectPropertyExpression
    filler: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectMinCardinality:
    """ObjectMinCardinality(cardinality property filler)."""

    cardinality: int
    property: ObjectPropertyExpression
    filler: ClassExpression = THING


@dataclass(frozen=True, slots=True)
class ObjectMaxCardinality:
    """ObjectMaxCardinality(cardinality property filler)."""

    cardinality: int
    property: ObjectPropertyExpression
    filler: ClassExpression = THING


@dataclass(frozen=True, slots=True)
class ObjectExactCardinality:
    """ObjectExactCardinality(cardinality property filler)."""

    cardinality: int
    property: ObjectPropertyExpression
    filler: ClassExpression = THING


@dataclass(frozen=True, slots=True)
class DataSomeValuesFrom:
    """DataSomeValuesFrom(property range)."""

    property: DataProperty
    range: DataRange


@dataclass(frozen=True, slots=True)
class DataAllValuesFrom:
    """DataAllValuesFrom(property range)."""

    property: DataProperty
    range: DataRange


@dataclass(frozen=True, slots=True)
class DataHasValue:
    """DataHasValue(property literal)."""

    property: DataProperty
    literal: Literal


@dataclass(frozen=True, slots=True)
class DataMinCardinality:
    """DataMinCardinality(cardinality property range)."""

    cardinality: int
    property: DataProperty
    range: DataRange = TOP_DATATYPE


@dataclass(frozen=True, slots=True)
class DataMaxCardinality:
    """DataMaxCardinality(cardinality property range)."""

    cardinality: int
    property: DataProperty
    range: DataRange = TOP_DATATYPE


@dataclass(frozen=True, slots=True)
class DataExactCardinality:
    """DataExactCardinality(cardinality property range)."""

    cardinality: int
    property: DataProperty
    range: DataRange = TOP_DATATYPE


# Outside SHIQ(D): recognised, named, never interpreted.


@dataclass(frozen=True, slots=True)
class ObjectOneOf:
    """ObjectOneOf(individual₁ … individualₙ)."""

    individuals: tuple[Individual, ...]


@dataclass(frozen=True, slots=True)
class ObjectHasValue:
    """ObjectHasValue(property individual)."""

    property: ObjectPropertyExpression
    individual: Individual


@dataclass(frozen=True, slots=True)
class ObjectHasSelf:
    """ObjectHasSelf(property)."""

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
