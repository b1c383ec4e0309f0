"""`own`: our hypertableau as a reasoner. No JVM; exact, within a budget of steps.

The calculus is loaded where a module is decided: most checks of a few insertions have none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shiq.clause import ClausalTBox
from shiq.reasoner.protocol import Answer, Module

if TYPE_CHECKING:
    from shiq.reasoner.compiled import CompiledTBox

#: CompiledTBox TBoxes kept.
KEPT_TBOXES = 4

#: The steps of an attempt, and how many more there are for each individual.
ATTEMPT_STEPS = 2_000
ATTEMPT_STEPS_PER_NODE = 10


class OwnReasoner:
    """Decides modules by the hypertableau of THEORY, "Deciding a shape without a JVM".

    CONSISTENT only with a clash-free pre-model that unravels into a model, INCONSISTENT only if
    every alternative is refuted; else UNDETERMINED, with the reason. A module of n individuals
    has ``steps + n * steps_per_node`` steps.
    """

    name = "own"

    def __init__(self, steps: int = 50_000, steps_per_node: int = 200) -> None:
        self.steps = steps
        self.steps_per_node = steps_per_node
        self._compiled: list[CompiledTBox] = []

    def decide(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """The answers in the order of ``modules``; ``timeout`` is seconds for all of them."""
        deadline = None if timeout is None else time.monotonic() + timeout
        compiled = self._compile(tbox)
        return [compiled.decide(m, self.steps, self.steps_per_node, deadline) for m in modules]

    def attempt(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """`decide` within a small budget: UNDETERMINED where a module is not easy."""
        deadline = None if timeout is None else time.monotonic() + timeout
        compiled = self._compile(tbox)
        return [
            compiled.attempt(m, ATTEMPT_STEPS + len(m.positive) * ATTEMPT_STEPS_PER_NODE, deadline)
            for m in modules
        ]

    def core(
        self, tbox: ClausalTBox, module: Module, timeout: float | None = None
    ) -> Module | None:
        """See `shiq.reasoner.protocol.Tracing`."""
        deadline = None if timeout is None else time.monotonic() + timeout
        return self._compile(tbox).core(
            module, self.steps + self.steps_per_node * len(module.positive), deadline
        )

    def close(self) -> None:
        """Forgets the compiled TBoxes."""
        self._compiled.clear()

    def _compile(self, tbox: ClausalTBox) -> CompiledTBox:
        """``tbox`` compiled, by identity; the last few are kept."""
        for i, compiled in enumerate(self._compiled):
            if compiled.tables.tbox is tbox:
                self._compiled.append(self._compiled.pop(i))
                return compiled
        from shiq.reasoner.compiled import CompiledTBox

        compiled = CompiledTBox(tbox)
        self._compiled = [*self._compiled[1 - KEPT_TBOXES :], compiled]
        return compiled
