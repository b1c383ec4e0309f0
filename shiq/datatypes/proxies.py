"""Integers in place of literals, for a reasoner that must not see ours.

The value space is split into the cells that the ranges generate; each named value gets an
integer, each other cell a block of them, as long as the cell has values, up to the number that
one element may need. What lies in no block stands for the rest of the values, in spaces of which
no range speaks: as many as there are. A range becomes a union of blocks, or the complement of
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shiq import model as owl
from shiq.datatypes.ranges import Formula
from shiq.datatypes.setting import Setting
from shiq.datatypes.values import DataValue
from shiq.datatypes.worlds import Element

_INTEGER = owl.Datatype(owl.XSD + "integer")


@dataclass(frozen=True)
class Proxies:
    """``range`` and ``literal`` give what to say instead, in xsd:integer alone.

    The Boolean operations are kept: the complement of a proxied range stands for the complement
    of the range, and rdfs:Literal for itself.
    """

    range: Mapping[owl.DataRange, owl.DataRange]
    literal: Mapping[owl.Literal, owl.Literal]


def make_proxies(
    ranges: Mapping[owl.DataRange, Formula],
    literals: Mapping[owl.Literal, DataValue],
    setting: Setting,
    largest: int,
) -> Proxies | None:
    """Proxies for ``ranges`` and ``literals``, in a setting of exactly these; None if something
    about them is not decided.
    """
    ground = setting.ground
    if setting.opaque or ground.unknown:
        return None
    blocks: list[tuple[int, int, int]] = []  # first, last, signature
    number_of: dict[DataValue, int] = {}
    for value in setting.known:
        signature = ground.signature(Element(frozenset([value])))
        if signature is None:
            return None
        number_of[value] = len(number_of)
        blocks.append((number_of[value], number_of[value], signature))
    rest, *cells = setting.cells
    (of_rest,) = ground.signatures(rest)
    following = len(number_of)
    for cell in cells:
        (signature,) = ground.signatures(cell)
        if signature == of_rest:
            continue
        count = setting.count(cell, largest, ())
        if count is None:
            return None
        if count > 0:
            blocks.append((following, following + int(count) - 1, signature))
            following += int(count)

    def proxy(formula: Formula) -> owl.DataRange:
        bit = ground.formulas[formula]
        has_rest = of_rest >> bit & 1
        others = [(a, b) for a, b, mask in blocks if mask >> bit & 1 != has_rest]
        if has_rest:
            return owl.DataComplementOf(_integers(others)) if others else owl.TOP_DATATYPE
        return _integers(others)

    return Proxies(
        {r: proxy(formula) for r, formula in ranges.items()},
        {literal: _literal(number_of[value]) for literal, value in literals.items()},
    )


def _literal(number: int) -> owl.Literal:
    return owl.Literal(str(number), owl.XSD + "integer")


def _integers(blocks: Iterable[tuple[int, int]]) -> owl.DataRange:
    """The union of inclusive, increasing blocks; an empty interval if there are none."""
    merged: list[tuple[int, int]] = []
    for first, last in blocks:
        if merged and merged[-1][1] + 1 == first:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    parts = tuple(
        owl.DatatypeRestriction(
            _INTEGER,
            ((owl.XSD + "minInclusive", _literal(a)), (owl.XSD + "maxInclusive", _literal(b))),
        )
        for a, b in merged or [(1, 0)]
    )
    return parts[0] if len(parts) == 1 else owl.DataUnionOf(parts)
