"""Data ranges: complements and the empty range.

>>> from shiq.model import XSD, Datatype
>>> integer = Datatype(XSD + "integer")
>>> simplified_range(DataComplementOf(DataComplementOf(integer))) == integer
True
"""

from __future__ import annotations

from shiq.model import (
    TOP_DATATYPE,
    DataComplementOf,
    DataIntersectionOf,
    DataOneOf,
    DataRange,
    DataUnionOf,
)


def complement_of_range(data_range: DataRange) -> DataRange:
    """¬data_range, a double complement taken off."""
    return data_range.operand if isinstance(data_range, DataComplementOf) else DataComplementOf(data_range)


def simplified_range(data_range: DataRange) -> DataRange | None:
    """``data_range`` without double complements and without ⊤ and ∅ in unions and intersections; None for the empty range."""
    match data_range:
        case DataComplementOf(DataComplementOf(inner)):
            return simplified_range(inner)
        case DataComplementOf(operand):
            inner_range = simplified_range(operand)
            if inner_range is None:
                return TOP_DATATYPE
            return None if inner_range == TOP_DATATYPE else complement_of_range(inner_range)
        case DataIntersectionOf(operands):
            parts = [simplified_range(o) for o in operands]
            if any(part is None for part in parts):
                return None
            kept = tuple(dict.fromkeys(p for p in parts if p is not None and p != TOP_DATATYPE))
            return TOP_DATATYPE if not kept else kept[0] if len(kept) == 1 else DataIntersectionOf(kept)
        case DataUnionOf(operands):
            present = tuple(dict.fromkeys(p for p in map(simplified_range, operands) if p is not None))
            if TOP_DATATYPE in present:
                return TOP_DATATYPE
            return None if not present else present[0] if len(present) == 1 else DataUnionOf(present)
        case DataOneOf(()):
            return None
    return data_range
