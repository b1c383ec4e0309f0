"""Data ranges: complements and the empty range.

>>> from shiq.model import XSD, Datatype
>>> integer = Datatype(XSD + "integer")
>>> simplified_range(owl.DataComplementOf(owl.DataComplementOf(integer))) == integer
True
"""

from __future__ import annotations

from shiq import model as owl


def complement_of_range(data_range: owl.DataRange) -> owl.DataRange:
    """¬data_range, a double complement taken off."""
    return data_range.operand if isinstance(data_range, owl.DataComplementOf) else owl.DataComplementOf(data_range)


def simplified_range(data_range: owl.DataRange) -> owl.DataRange | None:
    """``data_range`` without double complements and without ⊤ and ∅ in unions and intersections; None for the empty range."""
    match data_range:
        case owl.DataComplementOf(owl.DataComplementOf(inner)):
            return simplified_range(inner)
        case owl.DataComplementOf(operand):
            inner_range = simplified_range(operand)
            if inner_range is None:
                return owl.TOP_DATATYPE
            return None if inner_range == owl.TOP_DATATYPE else complement_of_range(inner_range)
        case owl.DataIntersectionOf(operands):
            parts = [simplified_range(o) for o in operands]
            if any(part is None for part in parts):
                return None
            kept = tuple(dict.fromkeys(p for p in parts if p is not None and p != owl.TOP_DATATYPE))
            return owl.TOP_DATATYPE if not kept else kept[0] if len(kept) == 1 else owl.DataIntersectionOf(kept)
        case owl.DataUnionOf(operands):
            present = tuple(dict.fromkeys(p for p in map(simplified_range, operands) if p is not None))
            if owl.TOP_DATATYPE in present:
                return owl.TOP_DATATYPE
            return None if not present else present[0] if len(present) == 1 else owl.DataUnionOf(present)
        case owl.DataOneOf(()):
            return None
    return data_range
