"""Effort: the cost of questions about an element so far, which sets how far I grows around it
(THEORY, "How much is asked, and how far I grows").

Modules that fail are asked again with more in them. The more often that happened, the more comes
in together; past a bound a module is *closed*: nothing is assumed of its elements, no residual
keeps anything out there, nor at what they pull in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiq.abox_ops.labels.label_numbers import Bools
from shiq.columns.arrays import NONE, Ints, unique

#: Questions about the modules of one element, two for each turn, and elements in these modules,
#: each turn counted again. A module past either is closed.
MOST_QUESTIONS = 2
MOST_ELEMENTS = 20_000

#: The depth from which on an element brings in more (`shiq.abox_ops.patch.strides`).
DEEP = 8


@dataclass(frozen=True, slots=True)
class Effort:
    """Cost of the questions asked about one element so far; it decides how far the region I grows
    around the element.

    turns: how often modules of the element failed and were widened. elements: the elements in these
        modules.
    is_closed: whether uncovered neighbours are pulled in without a residual.
    depth: the number of role assertions, one behind the other, over which border rules brought it
        in (`shiq.abox_ops.patch.strides`).
    """

    turns: int = 0
    elements: int = 0
    is_closed: bool = False
    depth: int = 0


def next_effort(turns: int, elements: int, size: int) -> Effort:
    """Compute the effort of a widened module from the greatest ``turns`` and ``elements`` among its
    elements.

    A closed module goes on in strides.
    """
    turns, elements = turns + 1, elements + size
    is_closed = 2 * turns > MOST_QUESTIONS or elements > MOST_ELEMENTS
    return Effort(turns, elements, is_closed, DEEP if is_closed else 0)


class EffortColumns:
    """The efforts (costs of questions) of elements, in growing columns by element number; 0 for
    elements beyond their length.
    """

    def __init__(self) -> None:
        self._rows = np.zeros((4, 0), np.int64)

    @property
    def has_any(self) -> bool:
        """Decide whether any element has an effort, so that some module failed before."""
        return bool(self._rows[:2].any())

    def are_closed(self, elements: Ints) -> Bools:
        """Decide whether each element has had its share of questions (is closed), so that its
        uncovered neighbours are pulled in without a residual.
        """
        known = elements < self._rows.shape[1]
        found = np.zeros(len(elements), np.bool_)
        found[known] = self._rows[2, elements[known]] > 0
        return found

    def after_turn(self, elements: Ints) -> Effort:
        """Compute the effort of the module of ``elements`` after it failed once more."""
        turns, laid_out, *_ = (
            self._rows[:, elements[elements < self._rows.shape[1]]].max(axis=1, initial=0).tolist()
        )
        return next_effort(turns, laid_out, len(elements))

    def raise_to(self, elements: Ints, effort: Effort) -> None:
        """Raise the effort of each of ``elements`` to at least ``effort``."""
        if len(elements):
            self._lengthen(int(elements.max()) + 1)
            self._rows[:, elements] = np.maximum(self._rows[:, elements], _effort_rows([effort]))

    def pass_to_neighbours(self, source: Ints, target: Ints, *, deeper: bool) -> None:
        """Raise the effort of each ``target``, an element that enters the region I, to the effort
        of its neighbour ``source`` over a role assertion.

        deeper: whether a border rule brought the element in; then its depth is one more than its
        neighbour's.
        """
        if not len(source):
            return
        self._lengthen(int(max(source.max(), target.max())) + 1)
        turns, laid_out, closed, depth = self._rows[:, source]
        self._raise_rows(target, turns, laid_out, closed, depth + 1 if deeper else 0 * depth)

    def deep_elements(self, elements: Ints) -> dict[int, Effort]:
        """Select the ``elements`` that entered over many role assertions in a row, around which I
        grows several levels at once; with their efforts.
        """
        chosen = unique(elements[self._rows[3, elements] >= DEEP]) if len(elements) else NONE
        return {e: Effort(*self._rows[:, e].tolist()) for e in chosen.tolist()}

    def raise_each(self, elements: Ints, efforts: Sequence[Effort]) -> None:
        """Raise the effort of each of ``elements`` to at least the one at the same position in
        ``efforts``.
        """
        self._lengthen(int(elements.max(initial=-1)) + 1)
        self._raise_rows(elements, *_effort_rows(efforts))

    def merge(self, rep: Ints) -> None:
        """Give each merged element the greatest effort among the elements joined into it; ``rep``:
        the representative of each number.
        """
        moved = np.flatnonzero(rep[: self._rows.shape[1]] != np.arange(self._rows.shape[1]))
        if len(moved):
            self._lengthen(int(rep[moved].max()) + 1)
            self._raise_rows(rep[moved], *self._rows[:, moved])

    def _raise_rows(self, elements: Ints, *efforts: Ints) -> None:
        """Raise the columns at ``elements`` to at least the given rows."""
        for row, values in zip(self._rows, efforts):
            np.maximum.at(row, elements, values)

    def _lengthen(self, count: int) -> None:
        """Extend the columns with zeros to ``count`` elements."""
        if (more := count - self._rows.shape[1]) > 0:
            self._rows = np.concatenate(
                [self._rows, np.zeros((len(self._rows), more), np.int64)], axis=1
            )


def _effort_rows(efforts: Sequence[Effort]) -> Ints:
    """Convert efforts to the rows of `EffortColumns`, a column each."""
    values = [(e.turns, e.elements, e.is_closed, e.depth) for e in efforts]
    return np.array(values, np.int64).reshape(-1, 4).T
