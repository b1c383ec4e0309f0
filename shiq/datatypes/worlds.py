"""The cases that what is unknown leaves open.

An opaque value may be equal to another value in play, or be any other value; an unknown set may
hold any value. A *world* fixes that for the values in play: which of them are equal, and in
which of the sets each lies. A question has an answer if every world gives the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from shiq.datatypes.cells import Cell
from shiq.datatypes.ranges import Enumeration, Formula, KnownRange, Leaf, Unknown, evaluate
from shiq.datatypes.values import DataValue


@dataclass(frozen=True, slots=True)
class Element:
    """One value of a world: the known or opaque values that are this one; the cell it lies in,
    if no known value says where; the unknown sets that hold it.
    """

    names: frozenset[DataValue]
    cell: Cell | None = None
    inside: frozenset[Unknown] = frozenset()

    def truth(self, leaf: Leaf) -> bool | None:
        match leaf:
            case Unknown():
                return leaf in self.inside
            case Enumeration(values):
                return not self.names.isdisjoint(values)
            case KnownRange(space, values):
                if self.cell is not None:
                    return leaf in self.cell.inside
                value = next(name for name in self.names if not name.is_opaque)
                return value.space == space and values.has(value.key)
        raise TypeError(leaf)

    def lies_in(self, formula: Formula) -> bool | None:
        return evaluate(formula, self.truth)


def cell_truth(cell: Cell, inside: frozenset[Unknown]) -> Callable[[Leaf], bool]:
    """The truth of leaves at the values of ``cell`` that nothing names."""

    def truth(leaf: Leaf) -> bool:
        match leaf:
            case Unknown():
                return leaf in inside
            case KnownRange():
                return leaf in cell.inside
        return False

    return truth


def subsets(sets: Sequence[Unknown]) -> Iterator[frozenset[Unknown]]:
    for choice in product((False, True), repeat=len(sets)):
        yield frozenset(s for s, chosen in zip(sets, choice) if chosen)


def worlds(
    known: Sequence[DataValue],
    opaque: Sequence[DataValue],
    cells: Sequence[Cell],
    unknown: Sequence[Unknown],
    own: Mapping[DataValue, Formula],
) -> Iterator[list[Element]]:
    """Every way to fix the values in play; ``own`` gives the range that an opaque value surely
    lies in, that of its datatype.
    """
    start = [Element(frozenset([value])) for value in known]
    for placed in _placements(start, list(opaque), cells):
        yield from map(list, product(*(_fixed(element, unknown, own) for element in placed)))


def _fixed(
    element: Element, unknown: Sequence[Unknown], own: Mapping[DataValue, Formula]
) -> list[Element]:
    """``element`` with each choice of unknown sets around it that lets its opaque names lie in
    their datatypes.
    """
    formulas = [own[name] for name in element.names if name in own]
    choices = [Element(element.names, element.cell, inside) for inside in subsets(unknown)]

    def may_lie_in(candidate: Element, formula: Formula) -> bool:
        def truth(leaf: Leaf) -> bool | None:
            return (
                None if isinstance(leaf, Unknown) and leaf not in unknown else candidate.truth(leaf)
            )

        return evaluate(formula, truth) is not False

    return [
        candidate
        for candidate in choices
        if all(may_lie_in(candidate, formula) for formula in formulas)
    ]


def _placements(
    elements: list[Element], opaque: list[DataValue], cells: Sequence[Cell]
) -> Iterator[list[Element]]:
    if not opaque:
        yield elements
        return
    value, *rest = opaque
    for i, element in enumerate(elements):
        merged = Element(element.names | {value}, element.cell)
        yield from _placements([*elements[:i], merged, *elements[i + 1 :]], rest, cells)
    for cell in cells:
        yield from _placements([*elements, Element(frozenset([value]), cell)], rest, cells)
