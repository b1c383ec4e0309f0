"""The reasoner `own`: a hypertableau in Python. No JVM; exact, within a budget of steps.

The calculus is imported when a module is decided: most checks of a few insertions have none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property

from shiq.answers.verdict import Verdict
from shiq.cache import Cache
from shiq.model.clause import ClausalTBox
from shiq.reasoner.hypertableau.large_numbers import (
    AS_MANY_AS_POSSIBLE,
    FIRST,
    MORE_TRIES,
    MOST_BUILT,
    BuildingPolicy,
)
from shiq.reasoner.hypertableau.search import decide_module, find_core, is_refuted
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import LARGE_NUMBER, Answer, Module
from shiq.reasoner.unfolding import AssertedAtom, Unfolding, unfold_lazily

#: CompiledTBox TBoxes kept.
KEPT_TBOXES = 4

#: The steps of an attempt, and how many more there are for each individual.
ATTEMPT_STEPS = 2_000
ATTEMPT_STEPS_PER_NODE = 10


class OwnReasoner:
    """The built-in reasoner: a hypertableau calculus in Python, exact within a budget of steps."""

    name = "own"

    def __init__(self, steps: int = 50_000, steps_per_node: int = 200) -> None:
        self.steps = steps
        self.steps_per_node = steps_per_node
        self._compiled = Cache[int, CompiledTBox](KEPT_TBOXES, "lru")

    def decide(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """Decide each module, in order. ``timeout``: seconds for all modules together."""
        deadline = None if timeout is None else time.monotonic() + timeout
        compiled = self._compile_cached(tbox)
        return [compiled.decide(m, self.steps, self.steps_per_node, deadline) for m in modules]

    def decide_if_easy(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """Decide each module within a small budget of steps; UNDETERMINED for those that need more."""
        deadline = None if timeout is None else time.monotonic() + timeout
        compiled = self._compile_cached(tbox)
        return [
            compiled.decide_if_easy(
                m, ATTEMPT_STEPS + len(m.positive) * ATTEMPT_STEPS_PER_NODE, deadline
            )
            for m in modules
        ]

    def core(
        self, tbox: ClausalTBox, module: Module, timeout: float | None = None
    ) -> Module | None:
        """Return an inconsistent part of a module; see `shiq.reasoner.protocol.CoreFinder`."""
        deadline = None if timeout is None else time.monotonic() + timeout
        steps = self.steps + self.steps_per_node * len(module.positive)
        return find_core(self._compile_cached(tbox).tables, module, steps, deadline)

    def close(self) -> None:
        """Drop the cache of compiled TBoxes."""
        self._compiled.clear()

    def _compile_cached(self, tbox: ClausalTBox) -> CompiledTBox:
        """Compile ``tbox`` for the hypertableau. The last few compiled TBoxes are cached."""
        # What is kept holds its TBox, so that no other one has its id.
        return self._compiled.get_or_make(id(tbox), lambda: CompiledTBox(tbox))


# A TBox compiled for the hypertableau, and how the steps for a module are spent on it.


#: Of the steps that do not depend on the module: the part, as a divisor, that is tried before
#: definitions are unfolded lazily.
_BEFORE_UNFOLDING = 32

#: Steps for showing that a fact follows from others of its node.
_STEPS_FOR_A_FACT = 1_000


class CompiledTBox:
    """A TBox compiled for the hypertableau; its unfolded form is computed on first use."""

    def __init__(self, tbox: ClausalTBox) -> None:
        self.tables = Tables(tbox)

    @cached_property
    def _unfolding_with_tables(self) -> tuple[Unfolding, Tables] | None:
        """Return the TBox with definitions unfolded lazily, compiled; None if unfolding gains
        nothing. Cached.
        """
        found = unfold_lazily(self.tables.tbox)
        return None if found is None else (found, Tables(found.tbox))

    @cached_property
    def _building_policies(self) -> tuple[BuildingPolicy, ...]:
        """List the ways to build or count successors that are tried when large numbers leave a
        module undecided.
        """
        counted = any(FIRST.large < need.n <= MOST_BUILT for need in self.tables.needs.values())
        return (*MORE_TRIES, AS_MANY_AS_POSSIBLE) if counted else MORE_TRIES

    def decide(
        self, module: Module, steps: int, steps_per_node: int, deadline: float | None
    ) -> Answer:
        """Decide ``module`` within ``steps``, and ``steps_per_node`` more for each individual.

        If a few steps are not enough, half of them are spent on the unfolded TBox, and the rest on
        the TBox itself.
        """
        more = steps_per_node * len(module.positive)
        outcome = decide_module(self.tables, module, steps // _BEFORE_UNFOLDING + more, deadline)
        for building in self._building_policies:
            if not outcome.answer.reason.startswith(LARGE_NUMBER):
                break
            try_ = decide_module(self.tables, module, steps + more, deadline, building)
            outcome = outcome if try_.is_out_of_budget else try_
        if not outcome.is_out_of_budget:
            return outcome.answer
        answer = self.decide_unfolded(module, (steps + more) // 2, deadline)
        return (
            decide_module(self.tables, module, steps + more, deadline).answer
            if answer is None
            else answer
        )

    def decide_if_easy(self, module: Module, limit: int, deadline: float | None) -> Answer:
        """Decide ``module`` within ``limit`` steps; if these are not enough, within as many on the
        unfolded TBox.
        """
        outcome = decide_module(self.tables, module, limit, deadline)
        return (
            self.decide_unfolded(module, limit, deadline) if outcome.is_out_of_budget else None
        ) or outcome.answer

    def decide_unfolded(self, module: Module, limit: int, deadline: float | None) -> Answer | None:
        """Decide ``module`` with definitions unfolded lazily; None if there are none, or this does
        not decide it.
        """
        if self._unfolding_with_tables is None:
            return None
        rewriting, tables = self._unfolding_with_tables
        rewritten, lacking = rewriting.rewrite_module(module)
        answer = decide_module(tables, rewritten, limit, deadline).answer
        if answer.verdict is Verdict.INCONSISTENT and answer.used_clauses is not None:
            return Answer(
                answer.verdict,
                used_clauses=frozenset(
                    i for i in answer.used_clauses if i < len(self.tables.tbox.clauses)
                ),
                near_nodes=answer.near_nodes,
            )
        if answer.verdict is Verdict.CONSISTENT and self._all_follow(module, lacking):
            return answer
        return None

    def _all_follow(self, module: Module, facts: Sequence[AssertedAtom]) -> bool:
        """Decide whether each of ``facts`` of ``module`` follows from the other atoms asserted at
        the same node.
        """
        left_out: dict[int, int] = {}
        for fact in facts:
            left_out[fact.node] = left_out.get(fact.node, 0) | 1 << fact.atom
        opposites = set()
        for x, atom, holds in facts:
            positive, negative = (
                module.positive[x] & ~left_out[x],
                module.negative[x] & ~left_out[x],
            )
            opposites.add(
                (positive, negative | 1 << atom) if holds else (positive | 1 << atom, negative)
            )
        return all(
            is_refuted(self.tables, Module((p,), (n,)), _STEPS_FOR_A_FACT) for p, n in opposites
        )
