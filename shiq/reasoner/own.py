"""`own`: our hypertableau as a reasoner. No JVM; exact, within a budget of steps."""

from __future__ import annotations

import time
from collections.abc import Sequence

from shiq.clause import ClausalTBox
from shiq.reasoner.hypertableau.search import decide
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import Answer, Module

#: Compiled TBoxes kept.
KEPT_TBOXES = 4


class OwnReasoner:
    """Decides modules by the hypertableau of THEORY.md 4.

    CONSISTENT only with a clash-free pre-model that unravels into a model, INCONSISTENT only if every alternative is refuted;
    else UNDETERMINED, with the reason. A module of n individuals has ``steps + n * steps_per_node`` steps.
    """

    name = "own"

    def __init__(self, steps: int = 50_000, steps_per_node: int = 200) -> None:
        self.steps = steps
        self.steps_per_node = steps_per_node
        self._compiled: list[Tables] = []

    def decide(self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None) -> list[Answer]:
        """The answers in the order of ``modules``; ``timeout`` is seconds for all of them."""
        deadline = None if timeout is None else time.monotonic() + timeout
        tables = self._tables(tbox)
        return [decide(tables, m, self.steps + self.steps_per_node * len(m.positive), deadline).answer for m in modules]

    def close(self) -> None:
        """Forgets the compiled TBoxes."""
        self._compiled.clear()

    def _tables(self, tbox: ClausalTBox) -> Tables:
        """``tbox`` compiled, by identity; the last few are kept."""
        for i, tables in enumerate(self._compiled):
            if tables.tbox is tbox:
                self._compiled.append(self._compiled.pop(i))
                return tables
        tables = Tables(tbox)
        self._compiled = [*self._compiled[1 - KEPT_TBOXES :], tables]
        return tables
