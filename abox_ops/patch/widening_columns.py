"""How a patch in columns goes on after a module failed (THEORY, "How much is asked, and how far I grows"): what is assumed is
given up, and what residuals kept out comes in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from abox_ops.labels.numbered import Bools
from abox_ops.patch.effort import CLOSED, Effort
from abox_ops.patch.effort_columns import EffortColumns
from abox_ops.patch.state_columns import PatchInput, PatchState
from shiq.columns.arrays import NONE, Ints, is_in, unique


class WidenedState(PatchState):
    """I of one batch, with the effort of its elements."""

    def __init__(self, given: PatchInput) -> None:
        super().__init__(given)
        self.effort = EffortColumns()
        #: What of the residuals each role assertion that is kept out asserts: element inside and outside, residual, clause.
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
        for elements in map(self._elements, modules):
            effort = self.effort.after_turn(elements)
            is_closed = effort.reach == CLOSED
            guessed = elements[self._is_guessed(elements)]
            self.effort.raise_to(elements, effort if is_closed else replace(effort, reach=0))
            self.plain[elements if is_closed else guessed] = True
            if is_closed or not len(guessed):
                wanted = self._is_kept_out_of(elements)
                self.pulled_in.note(out[wanted], codes[wanted])
                pulled.append((out[wanted], effort))
        for targets, effort in pulled:
            self.inside[targets] = True
            self.effort.raise_to(targets, effort)
            self.plain[targets[self.effort.reaches(targets)]] = True

    def closed(self) -> int:
        """See `abox_ops.patch.widening.Patch`."""
        return self.effort.closed(self._members())

    def _is_guessed(self, elements: Ints) -> Bools:
        """Whether more is assumed of each of ``elements`` than told."""
        found: Bools = self.inside[elements] & (self.mu[elements] != self.graph.label[elements]) & ~self.plain[elements]
        return found

    def _is_kept_out_of(self, elements: Ints) -> Bools:
        """Which role assertions that are kept out are so by residuals of ``elements``."""
        here, out, _, _ = self._kept_out
        found: Bools = is_in(here, elements) & ~self.inside[out]
        return found
