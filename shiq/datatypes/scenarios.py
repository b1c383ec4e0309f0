"""Scenarios: the possible cases of what is unknown about data values.

An opaque value may equal another value in play, or any other value. An unknown set may contain any
value. A *scenario* fixes both for the values in play: which are equal, and which sets contain each. A
question has an answer if all scenarios give the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from shiq.datatypes.datatype_map import SPACES
from shiq.datatypes.ranges import (
    Enumeration,
    Formula,
    KnownRange,
    Leaf,
    UnknownSet,
    datatype_of,
    evaluate,
    leaves,
)
from shiq.datatypes.values import OPAQUE, DataValue, TrivialSet, ValueSet
from shiq.model import Datatype
from shiq.support import cached_method

# Partition the value space into cells: within a cell values are interchangeable.
#
# Named values (in enumerations or assertions) are taken out first and stand for themselves. The rest
# of each space is split by the value sets that occur. All values of a cell lie in the same ranges, so
# only their number matters. All spaces in which no set occurs, and the values outside known
# datatypes, form one infinite cell.


#: Of a space that is no one's but an unknown datatype's.
EVERY_FORM = TrivialSet(True)

#: More pieces than this in one space are not looked at.
MOST_PIECES = 512


class TooManyCellsError(Exception):
    """Error: the value space would be split into too many cells."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A set of data values, not named anywhere, that no data range of the question distinguishes:
    only their number matters.

    value_sets: the sets that contain the cell; all others are disjoint from it.
    values: the set of its values; None for the infinite cell of the remaining domain.
    """

    value_sets: frozenset[KnownRange]
    space: str = ""
    values: ValueSet | None = None
    _counts: dict[float, float | None] = field(default_factory=dict, repr=False)

    def count(self, limit: float, named: Iterable[DataValue] = ()) -> float | None:
        """Count the values of the cell, without the `named` ones, at most up to `limit`; None if
        undecided.
        """
        if self.values is None:
            return limit
        here = 0
        for value in named:
            if value.space == self.space:
                member = self.values.has(value.key)
                if member is None:
                    return None
                here += member
        if limit + here not in self._counts:
            self._counts[limit + here] = self.values.count(limit + here)
        found = self._counts[limit + here]
        return None if found is None else max(0, found - here)


def partition_into_cells(sets: Iterable[KnownRange]) -> list[Cell]:
    """Split the value space into the cells that `sets` distinguish. Where counting is undecided, a
    cell may be empty.
    """
    by_space: dict[str, list[KnownRange]] = {}
    for known in dict.fromkeys(sets):
        by_space.setdefault(known.space, []).append(known)
    cells = [Cell(frozenset())]
    for space, members in by_space.items():
        pieces: list[tuple[frozenset[KnownRange], ValueSet]] = [
            (frozenset(), SPACES.get(space, EVERY_FORM))
        ]
        for known in members:
            split = []
            for inside, values in pieces:
                for part, label in (
                    (values.meet(known.values), inside | {known}),
                    (values.meet(known.values.complement()), inside),
                ):
                    if part.count(1) != 0:
                        split.append((label, part))
            pieces = split
            if len(pieces) > MOST_PIECES:
                raise TooManyCellsError
        cells += [Cell(inside, space, values) for inside, values in pieces]
    return cells


@dataclass(frozen=True, slots=True)
class ScenarioValue:
    """A data value in a scenario, a guess about unknown data: its names, its cell, and the unknown
    sets that contain it.

    names: the known or opaque values that are equal to it.
    cell: the cell it lies in, if no known value determines it.
    """

    names: frozenset[DataValue]
    cell: Cell | None = None
    unknown_sets: frozenset[UnknownSet] = frozenset()

    def leaf_truth(self, leaf: Leaf) -> bool | None:
        """Decide whether this value lies in a leaf of a range formula; None if undecided."""
        match leaf:
            case UnknownSet():
                return leaf in self.unknown_sets
            case Enumeration(values):
                return not self.names.isdisjoint(values)
            case KnownRange(space, values):
                if self.cell is not None:
                    return leaf in self.cell.value_sets
                value = next(name for name in self.names if not name.is_opaque)
                return value.space == space and values.has(value.key)
        raise TypeError(leaf)

    def lies_in(self, formula: Formula) -> bool | None:
        """Decide whether this value lies in a range formula; None if undecided."""
        return evaluate(formula, self.leaf_truth)


def subsets(sets: Sequence[UnknownSet]) -> Iterator[frozenset[UnknownSet]]:
    """Yield all subsets of some unknown sets."""
    for choice in product((False, True), repeat=len(sets)):
        yield frozenset(s for s, chosen in zip(sets, choice) if chosen)


def generate_scenarios(
    known: Sequence[DataValue],
    opaque: Sequence[DataValue],
    cells: Sequence[Cell],
    unknown: Sequence[UnknownSet],
    own: Mapping[DataValue, Formula],
) -> Iterator[list[ScenarioValue]]:
    """Yield every possible meaning of unknown data: which named values are equal, and in which cell
    and unknown ranges each lies.

    known, opaque: named values of known and of unknown datatype.
    own: opaque value → range of its datatype, which surely contains it.
    """
    start = [ScenarioValue(frozenset([value])) for value in known]
    for placed in _place_opaque_values(start, list(opaque), cells):
        yield from map(
            list, product(*(_fix_unknown_sets(element, unknown, own) for element in placed))
        )


def _fix_unknown_sets(
    element: ScenarioValue, unknown: Sequence[UnknownSet], own: Mapping[DataValue, Formula]
) -> list[ScenarioValue]:
    """Return copies of a scenario value, one for each choice of unknown sets that may contain it.

    Each opaque name of the value must be able to lie in its datatype.
    """
    formulas = [own[name] for name in element.names if name in own]
    choices = [ScenarioValue(element.names, element.cell, inside) for inside in subsets(unknown)]

    def may_lie_in(candidate: ScenarioValue, formula: Formula) -> bool:
        """Decide whether an element may lie in a formula."""

        def truth(leaf: Leaf) -> bool | None:
            """The truth of a leaf; None for an unknown set that is still undecided."""
            return (
                None
                if isinstance(leaf, UnknownSet) and leaf not in unknown
                else candidate.leaf_truth(leaf)
            )

        return evaluate(formula, truth) is not False

    return [
        candidate
        for candidate in choices
        if all(may_lie_in(candidate, formula) for formula in formulas)
    ]


def _place_opaque_values(
    elements: list[ScenarioValue], opaque: list[DataValue], cells: Sequence[Cell]
) -> Iterator[list[ScenarioValue]]:
    """Yield every way to make opaque values equal to elements, or to each other, or to place them
    in cells.
    """
    if not opaque:
        yield elements
        return
    value, *rest = opaque
    for i, element in enumerate(elements):
        merged = ScenarioValue(element.names | {value}, element.cell)
        yield from _place_opaque_values([*elements[:i], merged, *elements[i + 1 :]], rest, cells)
    for cell in cells:
        yield from _place_opaque_values(
            [*elements, ScenarioValue(frozenset([value]), cell)], rest, cells
        )


# The common ground of all data questions: named values, cells, and the scenarios over both.
#
# Every question (a size, satisfiability, proxies) is about some formulas, and about values that it
# names besides those in their enumerations.


#: Unknown sets and opaque values in one question, and scenarios looked at, before giving up.
MOST_UNKNOWN = 6
MOST_OPAQUE = 8
MOST_SCENARIOS = 2_000


def enumerated_values(formula: Formula) -> Iterator[DataValue]:
    """Yield the values in the enumerations of a range formula."""
    for leaf in leaves(formula):
        if isinstance(leaf, Enumeration):
            yield from leaf.values


class CellPartition:
    """A split of the value space into cells by some range formulas, with the formulas that can hold
    in each cell. Cached.

    formulas: formula → its bit in masks.
    enumerated: values in enumerations.
    unknown, sets: the leaves that are unknown sets, and value sets.
    """

    def __init__(self, formulas: Iterable[Formula]) -> None:
        self.formulas: dict[Formula, int] = {f: i for i, f in enumerate(dict.fromkeys(formulas))}
        found = [leaf for formula in self.formulas for leaf in leaves(formula)]
        self.enumerated = frozenset(
            v for formula in self.formulas for v in enumerated_values(formula)
        )
        self.unknown: tuple[UnknownSet, ...] = tuple(
            dict.fromkeys(leaf for leaf in found if isinstance(leaf, UnknownSet))
        )
        self.sets = tuple(dict.fromkeys(leaf for leaf in found if isinstance(leaf, KnownRange)))
        self._split: dict[frozenset[KnownRange], list[Cell]] = {}

    def cells(self, formulas: Iterable[Formula]) -> Sequence[Cell]:
        """Return the cells of this partition, split further by the value sets in more range
        formulas.
        """
        more = frozenset(
            leaf
            for f in formulas
            for leaf in leaves(f)
            if isinstance(leaf, KnownRange) and leaf not in self.sets
        )
        if more not in self._split:
            self._split[more] = partition_into_cells([*self.sets, *more])
        return self._split[more]

    @cached_method
    def possible_masks(self, cell: Cell) -> tuple[int, ...]:
        """Return which combinations of formulas can hold at an unnamed value of a cell, as bit
        masks.

        There is one for each choice of the unknown sets that contain the value.
        """
        values = (ScenarioValue(frozenset(), cell, inside) for inside in subsets(self.unknown))
        masks = map(self.formula_mask, values)  # never None: the cell decides its value sets
        return tuple(sorted({mask for mask in masks if mask is not None}))

    def formula_mask(self, element: ScenarioValue) -> int | None:
        """Return which formulas hold at a scenario value, as a bit mask; None if one is undecided."""
        mask = 0
        for formula, bit in self.formulas.items():
            holds = element.lies_in(formula)
            if holds is None:
                return None
            mask |= holds << bit
        return mask


class ScenarioSpace:
    """The scenarios of one question: the possible meanings of unknown data for its range formulas
    and the values it mentions.

    own: opaque value → range of its datatype.
    known, opaque: the named values, by whether their datatype is known.
    """

    def __init__(
        self, ground: CellPartition, named: Iterable[DataValue], own: Callable[[str], Formula]
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
            if not isinstance(formula, UnknownSet) or formula in ground.unknown:
                self.own[value] = formula
                values.update(dict.fromkeys(enumerated_values(formula)))
        self.known = [v for v in values if not v.is_opaque]
        self.opaque = [v for v in values if v.is_opaque]
        self.cells = ground.cells(self.own.values())

    @property
    def is_too_large(self) -> bool:
        """Decide whether there are too many unknown ranges, or values of unknown datatype, to try
        all scenarios.
        """
        return len(self.ground.unknown) > MOST_UNKNOWN or len(self.opaque) > MOST_OPAQUE

    def scenarios(self) -> Iterator[list[ScenarioValue]]:
        """Yield every possible meaning of unknown data; see `generate_scenarios`."""
        return generate_scenarios(
            self.known, self.opaque, self.cells, self.ground.unknown, self.own
        )

    def count_unnamed(
        self, cell: Cell, limit: float, scenario: Sequence[ScenarioValue]
    ) -> float | None:
        """Count the values of a cell that no element of `scenario` stands for, at most up to
        `limit`.

        Negative if the scenario needs more values of the cell than it has; None if undecided.
        """
        fresh = sum(element.cell is cell for element in scenario)
        found = cell.count(limit + fresh, self.known)
        return None if found is None else found - fresh


def common_answer(answers: Iterable[float | None]) -> float | None:
    """Return the answer that is the same under every possible meaning of unknown data.

    None if two differ, one is None, or there are no or too many scenarios.
    """
    common: float | None = None
    for number, answer in enumerate(answers):
        if answer is None or number >= MOST_SCENARIOS or (number and answer != common):
            return None
        common = answer
    return common
