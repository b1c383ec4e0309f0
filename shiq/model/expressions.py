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
    """Inverse R⁻ of an object property."""

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
    """Intersection of data ranges: D₁ ⊓ … ⊓ Dₙ."""

    operands: tuple[DataRange, ...]


@dataclass(frozen=True, slots=True)
class DataUnionOf:
    """Union of data ranges: D₁ ⊔ … ⊔ Dₙ."""

    operands: tuple[DataRange, ...]


@dataclass(frozen=True, slots=True)
class DataComplementOf:
    """Complement of a data range: ¬D."""

    operand: DataRange


@dataclass(frozen=True, slots=True)
class DataOneOf:
    """Enumeration of literals as a data range."""

    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class DatatypeRestriction:
    """Data range: a datatype restricted by facets, which are pairs (facet IRI, literal)."""

    datatype: Datatype
    facets: tuple[tuple[str, Literal], ...]


DataRange: TypeAlias = (
    Datatype | DataIntersectionOf | DataUnionOf | DataComplementOf | DataOneOf | DatatypeRestriction
)

TOP_DATATYPE = Datatype(RDFS + "Literal")


# --- class expressions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ObjectIntersectionOf:
    """Intersection of class expressions: C₁ ⊓ … ⊓ Cₙ."""

    operands: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class ObjectUnionOf:
    """Union of class expressions: C₁ ⊔ … ⊔ Cₙ."""

    operands: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class ObjectComplementOf:
    """Complement of a class expression: ¬C."""

    operand: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectSomeValuesFrom:
    """Existential restriction ∃R.C on an object property."""

    property: ObjectPropertyExpression
    filler: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectAllValuesFrom:
    """Universal restriction ∀R.C on an object property."""

    property: ObjectPropertyExpression
    filler: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectMinCardinality:
    """Restriction ≥n R.C on an object property."""

    cardinality: int
    property: ObjectPropertyExpression
    filler: ClassExpression = THING


@dataclass(frozen=True, slots=True)
class ObjectMaxCardinality:
    """Restriction ≤n R.C on an object property."""

    cardinality: int
    property: ObjectPropertyExpression
    filler: ClassExpression = THING


@dataclass(frozen=True, slots=True)
class ObjectExactCardinality:
    """Restriction =n R.C on an object property."""

    cardinality: int
    property: ObjectPropertyExpression
    filler: ClassExpression = THING


@dataclass(frozen=True, slots=True)
class DataSomeValuesFrom:
    """Existential restriction ∃P.D on a data property."""

    property: DataProperty
    range: DataRange


@dataclass(frozen=True, slots=True)
class DataAllValuesFrom:
    """Universal restriction ∀P.D on a data property."""

    property: DataProperty
    range: DataRange


@dataclass(frozen=True, slots=True)
class DataHasValue:
    """Restriction on a data property: one of its values is ``literal``."""

    property: DataProperty
    literal: Literal


@dataclass(frozen=True, slots=True)
class DataMinCardinality:
    """Restriction ≥n P.D on a data property."""

    cardinality: int
    property: DataProperty
    range: DataRange = TOP_DATATYPE


@dataclass(frozen=True, slots=True)
class DataMaxCardinality:
    """Restriction ≤n P.D on a data property."""

    cardinality: int
    property: DataProperty
    range: DataRange = TOP_DATATYPE


@dataclass(frozen=True, slots=True)
class DataExactCardinality:
    """Restriction =n P.D on a data property."""

    cardinality: int
    property: DataProperty
    range: DataRange = TOP_DATATYPE


# Outside SHIQ(D): recognised, named, never interpreted.


@dataclass(frozen=True, slots=True)
class ObjectOneOf:
    """Nominal: the class of the listed individuals."""

    individuals: tuple[Individual, ...]


@dataclass(frozen=True, slots=True)
class ObjectHasValue:
    """Restriction ∃R.{a}: an R-neighbour is the individual a."""

    property: ObjectPropertyExpression
    individual: Individual


@dataclass(frozen=True, slots=True)
class ObjectHasSelf:
    """Self restriction: the class of all x with R(x, x)."""

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
