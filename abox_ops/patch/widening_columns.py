"""How a patch in columns goes on after a module failed (THEORY, "How much is asked, and how far
I grows"): what is assumed is given up, and what residuals kept out comes in.
`abox_ops.patch.effort` says how far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from abox_ops.labels.numbered import Bools
from abox_ops.patch.effort import CLOSED, DEEP, Effort, next_effort
from abox_ops.patch.state_columns import PatchInput, PatchState
from shiq.columns.arrays import NONE, Ints, is_in, unique


class EffortColumns:
    """Turns, elements, reach and depth, a row each; 0 of elements beyond the columns."""

    def __init__(self) -> None:
        self._rows = np.zeros((4, 0), np.int64)

    @property
    def has_any(self) -> bool:
        """Whether any element has turns, elements or a reach."""
        return bool(self._rows[:3].any())

    def reaches(self, elements: Ints) -> Bools:
        """Whether each of ``elements`` pulls in what no rule covers, without a residual."""
        known = elements < self._rows.shape[1]
        found = np.zeros(len(elements), np.bool_)
        found[known] = self._rows[2, elements[known]] > 0
        return found

    def closed(self, elements: Ints) -> int:
        """How many of ``elements`` are closed."""
        return int((self._rows[2, elements[elements < self._rows.shape[1]]] == CLOSED).sum())

    def after_turn(self, elements: Ints) -> Effort:
        """See `abox_ops.patch.effort.turn`; ``elements``: those of the module."""
        turns, laid_out, *_ = (
            self._rows[:, elements[elements < self._rows.shape[1]]].max(axis=1, initial=0).tolist()
        )
        return next_effort(turns, laid_out, len(elements))

    def raise_to(self, elements: Ints, effort: Effort) -> None:
        """Gives each of ``elements`` the greater of its own effort and ``effort``."""
        if len(elements):
            self._lengthen(int(elements.max()) + 1)
            least = np.array(
                [(effort.turns, effort.elements, effort.reach, effort.depth)], np.int64
            ).T
            self._rows[:, elements] = np.maximum(self._rows[:, elements], least)

    def hand_on(self, source: Ints, target: Ints, *, deeper: bool) -> None:
        """Gives each of ``target`` what it has of coming in over a role assertion of ``source``;
        ``deeper``: by a border rule.
        """
        if not len(source):
            return
        self._lengthen(int(max(source.max(), target.max())) + 1)
        turns, laid_out, reach, depth = self._rows[:, source]
        reach = np.where(reach == CLOSED, reach, np.maximum(reach - 1, 0))
        self._raise(target, turns, laid_out, reach, depth + 1 if deeper else 0 * depth)

    def deep(self, elements: Ints) -> dict[int, Effort]:
        """The efforts of those of ``elements`` that bring in more, which have all been handed on
        to.
        """
        chosen = unique(elements[self._rows[3, elements] >= DEEP]) if len(elements) else NONE
        return {e: Effort(*self._rows[:, e].tolist()) for e in chosen.tolist()}

    def raise_each(self, elements: Ints, efforts: Sequence[Effort]) -> None:
        """Gives each of ``elements`` the greater of its own effort and that of ``efforts``."""
        self._lengthen(int(elements.max(initial=-1)) + 1)
        self._raise(
            elements,
            *np.array(
                [(effort.turns, effort.elements, effort.reach, effort.depth) for effort in efforts],
                np.int64,
            )
            .reshape(-1, len(self._rows))
            .T,
        )

    def merge(self, rep: Ints) -> None:
        """Gives each element that is made of several the greatest efforts of its parts; ``rep``:
        the element of each number.
        """
        moved = np.flatnonzero(rep[: self._rows.shape[1]] != np.arange(self._rows.shape[1]))
        if len(moved):
            self._lengthen(int(rep[moved].max()) + 1)
            self._raise(rep[moved], *self._rows[:, moved])

    def _raise(self, elements: Ints, *efforts: Ints) -> None:
        for row, values in zip(self._rows, efforts):
            np.maximum.at(row, elements, values)

    def _lengthen(self, count: int) -> None:
        if (more := count - self._rows.shape[1]) > 0:
            self._rows = np.concatenate(
                [self._rows, np.zeros((len(self._rows), more), np.int64)], axis=1
            )


class WidenedState(PatchState):
    """I of one batch, with the effort of its elements."""

    def __init__(self, given: PatchInput) -> None:
        super().__init__(given)
        self.effort = EffortColumns()
        #: What of the residuals each role assertion that is kept out asserts: element inside and
        #: outside, residual, clause.
        self._kept_out = (NONE, NONE, NONE, NONE)

    def _elements(self, individuals: Sequence[str]) -> Ints:
        return unique(self.graph.elements_of(self.graph.whole.nodes_of(individuals)))

    def can_widen(self, modules: Sequence[Sequence[str]]) -> list[bool]:
        """See `abox_ops.patch.widening.Patch`."""
        return [
            bool(self._is_guessed(elements).any() or self._is_kept_out_of(elements).any())
            for elements in map(self._elements, modules)
        ]

    def widen(self, modules: Sequence[Sequence[str]]) -> None:
        """See `abox_ops.patch.widening.Patch`."""
        _, out, _, codes = self._kept_out
        pulled: list[tuple[Ints, Effort]] = []
        failed: list[tuple[Ints, Effort]] = []
        for elements in map(self._elements, modules):
            effort = self.effort.after_turn(elements)
            is_closed = effort.reach == CLOSED
            guessed = elements[self._is_guessed(elements)]
            self.effort.raise_to(elements, effort if is_closed else replace(effort, reach=0))
            self.plain[elements if is_closed else guessed] = True
            failed.append((elements, effort))
            if is_closed or not len(guessed):
                wanted = self._is_kept_out_of(elements)
                self.pulled_in.note(out[wanted], codes[wanted])
                pulled.append((out[wanted], effort))
        self._spread(failed)
        for targets, effort in pulled:
            self.inside[targets] = True
            self.effort.raise_to(targets, effort)
            self.plain[targets[self.effort.reaches(targets)]] = True

    def _spread(self, failed: Sequence[tuple[Ints, Effort]]) -> None:
        """What modules that ``failed`` change around them (`abox_ops.patch.stride.surroundings`)."""
        from abox_ops.patch.stride_columns import InnerEdges

        inner = InnerEdges(self.graph, self.calculus, self.inside)
        for elements, effort in failed:
            around = inner.surroundings(self.graph.key[elements], effort)
            near, rim = (
                self.graph.locate(np.array(list(keys), np.int64))
                for keys in (around.plain, around.rim)
            )
            if effort.reach:
                self.plain[self.graph.rep[near]] = True
            self.effort.raise_to(self.graph.rep[np.concatenate([near, rim])], around.effort)

    def closed(self) -> int:
        """See `abox_ops.patch.widening.Patch`."""
        return self.effort.closed(self._members())

    def _is_guessed(self, elements: Ints) -> Bools:
        """Whether more is assumed of each of ``elements`` than told."""
        found: Bools = (
            self.inside[elements]
            & (self.mu[elements] != self.graph.label[elements])
            & ~self.plain[elements]
        )
        return found

    def _is_kept_out_of(self, elements: Ints) -> Bools:
        """Which role assertions that are kept out are so by residuals of ``elements``."""
        here, out, _, _ = self._kept_out
        found: Bools = is_in(here, elements) & ~self.inside[out]
        return found
