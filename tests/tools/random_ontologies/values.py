"""Random literals and data ranges, integers and strings; and which literal lies in which range."""

from __future__ import annotations

from shiq.model import (
    XSD,
    DataComplementOf,
    DataOneOf,
    DataRange,
    Datatype,
    DatatypeRestriction,
    Literal,
)
from tests.tools.random_ontologies.dice import Dice

INTEGER = XSD + "integer"


def integer(n: int) -> Literal:
    return Literal(str(n), INTEGER)


def literal(dice: Dice) -> Literal:
    """A value; few different ones, so that they meet."""
    return integer(dice.between(0, 5)) if dice.chance(0.75) else Literal(dice.pick(("x", "y")))


def data_range(dice: Dice) -> DataRange:
    """Facets on integers most often; a datatype, an enumeration, a complement."""
    kind = dice.weighted(
        {"facets": 5.0, "integer": 1.0, "string": 1.0, "values": 2.0, "complement": 1.0}
    )
    match kind:
        case "integer":
            return Datatype(INTEGER)
        case "string":
            return Datatype(XSD + "string")
        case "values":
            return DataOneOf(tuple(dict.fromkeys(literal(dice) for _ in range(dice.between(1, 3)))))
        case "complement":
            return DataComplementOf(data_range(dice))
    low = dice.between(0, 4)
    lower = (XSD + dice.pick(("minInclusive", "minExclusive")), integer(low))
    upper = (XSD + dice.pick(("maxInclusive", "maxExclusive")), integer(low + dice.between(0, 2)))
    facets = dice.pick(((lower,), (upper,), (lower, upper)))
    return DatatypeRestriction(Datatype(INTEGER), facets)


def in_range(literal: Literal, range: DataRange) -> bool:
    """Whether a literal lies in a range, both drawn here."""
    match range:
        case Datatype(iri):
            return literal.datatype == iri
        case DataOneOf(literals):
            return literal in literals
        case DataComplementOf(operand):
            return not in_range(literal, operand)
        case DatatypeRestriction(datatype, facets):
            return literal.datatype == datatype.iri and all(
                _meets(literal, facet, bound) for facet, bound in facets
            )
    raise TypeError(f"no drawn range: {range!r}")


def _meets(literal: Literal, facet: str, bound: Literal) -> bool:
    value, limit = int(literal.lexical), int(bound.lexical)
    match facet.removeprefix(XSD):
        case "minInclusive":
            return value >= limit
        case "minExclusive":
            return value > limit
        case "maxInclusive":
            return value <= limit
    return value < limit
