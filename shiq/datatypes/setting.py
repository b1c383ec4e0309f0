"""What a question about data ranges plays out on: the named values, the cells, and the worlds
over them.

Every question (a size, a satisfiability, proxies) is asked of the same things: some formulas,
and the values that it names besides those in their enumerations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from shiq.datatypes.cells import Cell, cells_of
from shiq.datatypes.ranges import (
    Enumeration,
    Formula,
    KnownRange,
    Unknown,
    datatype_of,
    evaluate,
    leaves,
)
from shiq.datatypes.values import OPAQUE, DataValue
from shiq.datatypes.worlds import Element, cell_truth, subsets, worlds
from shiq.model import Datatype

#: Unknown sets and opaque values in one question, and worlds looked at, before giving up.
MOST_UNKNOWN = 6
MOST_OPAQUE = 8
MOST_WORLDS = 2_000


def enumerated(formula: Formula) -> Iterator[DataValue]:
    for leaf in leaves(formula):
        if isinstance(leaf, Enumeration):
            yield from leaf.values


class Ground:
    """The part of a setting that the formulas alone decide; kept for many questions."""

    def __init__(self, formulas: Iterable[Formula]) -> None:
        self.formulas: dict[Formula, int] = {f: i for i, f in enumerate(dict.fromkeys(formulas))}
        found = [leaf for formula in self.formulas for leaf in leaves(formula)]
        self.enumerated = frozenset(v for formula in self.formulas for v in enumerated(formula))
        self.unknown: tuple[Unknown, ...] = tuple(
            dict.fromkeys(leaf for leaf in found if isinstance(leaf, Unknown))
        )
        self.sets = tuple(dict.fromkeys(leaf for leaf in found if isinstance(leaf, KnownRange)))
        self._split: dict[frozenset[KnownRange], list[Cell]] = {}
        self._signatures: dict[Cell, tuple[int, ...]] = {}

    def cells(self, formulas: Iterable[Formula]) -> Sequence[Cell]:
        """The cells, split by the value sets of further ``formulas`` too."""
        more = frozenset(
            leaf
            for f in formulas
            for leaf in leaves(f)
            if isinstance(leaf, KnownRange) and leaf not in self.sets
        )
        if more not in self._split:
            self._split[more] = cells_of([*self.sets, *more])
        return self._split[more]

    def signatures(self, cell: Cell) -> tuple[int, ...]:
        """Which formulas can hold together at a value of ``cell`` that no question names: a bit
        mask for each way in which the unknown sets may contain it.
        """
        found = self._signatures.get(cell)
        if found is None:
            masks = {self._mask(cell_truth(cell, inside)) for inside in subsets(self.unknown)}
            found = self._signatures[cell] = tuple(sorted(masks))
        return found

    def signature(self, element: Element) -> int | None:
        """The bit mask of the formulas that hold at ``element``; None if one is not decided."""
        mask = 0
        for formula, bit in self.formulas.items():
            holds = element.lies_in(formula)
            if holds is None:
                return None
            mask |= holds << bit
        return mask

    def _mask(self, truth: Callable[[KnownRange | Unknown | Enumeration], bool]) -> int:
        return sum(bool(evaluate(formula, truth)) << bit for formula, bit in self.formulas.items())


class Setting:
    """A ground with the values that one question names. ``own`` gives the range of a datatype by
    its IRI.
    """

    def __init__(
        self, ground: Ground, named: Iterable[DataValue], own: Callable[[str], Formula]
    ) -> None:
        self.ground = ground
        values = dict.fromkeys([*named, *ground.enumerated])
        # An unknown datatype holds the literals typed with it, so it is not empty.
        present = {datatype_of(v) for v in values if v.is_opaque}
        for leaf in ground.unknown:
            if isinstance(leaf.source, Datatype) and leaf.source.iri not in present:
                values[DataValue(OPAQUE, (leaf.source.iri, "", "witness"))] = None
        self.own: dict[DataValue, Formula] = {}
        for value in [v for v in values if v.is_opaque]:
            formula = own(datatype_of(value))
            if not isinstance(formula, Unknown) or formula in ground.unknown:
                self.own[value] = formula
                values.update(dict.fromkeys(enumerated(formula)))
        self.known = [v for v in values if not v.is_opaque]
        self.opaque = [v for v in values if v.is_opaque]
        self.cells = ground.cells(self.own.values())

    @property
    def is_too_large(self) -> bool:
        return len(self.ground.unknown) > MOST_UNKNOWN or len(self.opaque) > MOST_OPAQUE

    def worlds(self) -> Iterator[list[Element]]:
        return worlds(self.known, self.opaque, self.cells, self.ground.unknown, self.own)

    def count(self, cell: Cell, limit: float, world: Sequence[Element]) -> float | None:
        """min(number of values of ``cell`` that no element of ``world`` is, limit); negative if
        the world has too many.
        """
        fresh = sum(element.cell is cell for element in world)
        found = cell.count(limit + fresh, self.known)
        return None if found is None else found - fresh


def unanimous(answers: Iterable[float | None]) -> float | None:
    """The common answer of all worlds; None if two differ, one is None, there are none or too many."""
    common: float | None = None
    for number, answer in enumerate(answers):
        if answer is None or number >= MOST_WORLDS or (number and answer != common):
            return None
        common = answer
    return common
