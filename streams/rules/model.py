"""The model of a point, as engines and programs give it.

**The interface to the engine.** `CheckedProgram` is safe, stratified, and has its units
converted. An `Evaluator` is built from it as ``Engine(checked, functions,
complete_windows=False, most_atoms=MOST_DERIVED)`` and called point by point:

* ``step(t, rows)``: t is greater than that of the step before. Points between the two exist, are
  empty (facts do not hold there either) and count in windows. The first step's t is t0. ``rows``
  has the point's input by predicate (``"p/2"``), as a list of rows, or as a tuple of equally
  long numpy columns (int64, or objects); the same row may come twice. It gives a `PointModel`.
* A rule (`StreamRule`) without a body holds as a fact does, where its ``frequency`` lets it;
  facts proper are in ``CheckedProgram.facts`` and are `plain`: never temporary. ``frequency`` f:
  the rule is applied only where t - t0 is a multiple of f.
* ``strata``: components of rules in an order that satisfies all arcs; each is evaluated to its
  least fixpoint before the next. Non-harmless literals are about lower strata only.
  ``recursive`` where rules of the stratum use what it defines.
* `WindowedLiteral` is every streaming literal. ``window`` None: the degenerate form, this point
  only. ``operator`` is "at least" (also for ``in``), "always", "count", "at most"; ``count`` the
  counting term (None for always). Let m and N be as in section 2: at least c: m ≥ c; always: m =
  N > 0 (with ``complete_windows``: N = |D|); count c: m = c; at most c: m ≤ c. ``negated`` is
  the opposite of each, in the order of terms (`values.order`) where c is no integer. A positive
  at least or count with a c that is no integer ≥ 1 is false. A counting variable of a positive
  count that nothing else binds is bound to m ≥ 1. ``binds`` (only at most, option
  at_most_binds): it ranges over the atoms with m ≥ 1, and binds its variables.
* `Aggregate`: ``guards`` are read "value relation term". The body of an element has degenerate
  literals, comparisons, externals.
* ``persistent`` part: input, facts, and heads of instances of rules that are not ``temporary``,
  on the final stream; it is what later windows see. `CheckedProgram.horizons` has for each
  predicate the largest offset that any window asks for.
* Each variable has one name; ``_`` has become ``_1``, ``_2``, … in each rule. ``body`` of a rule
  is in an order in which every literal is bound when it is reached, from left to right
  (`safety`); the engine may plan anew.
* Arithmetic without a value (division by zero, no integers): no instance. Overflow, a function
  that fails, more atoms derived at a point than ``most_atoms``: `problems.EvaluationError` with
  the rule. Functions are called by `functions.call`, once for each distinct arguments and point.
* ``state()``: bytes, JSON or Arrow, never pickle; ``restore(state)`` puts an evaluator of the
  same program where that one was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from streams.rules.syntax import is_own
from streams.rules.values import Row


class PointModel(Protocol):
    """The model of one point."""

    @property
    def t(self) -> int: ...

    def predicates(self) -> Iterable[str]:
        """Those that hold for something."""

    def rows(self, predicate: str, derived: bool = False) -> Sequence[Row]:
        """The rows of a predicate, each once; with ``derived`` only heads of rules with a body
        (input may say them too).
        """

    def texts(self, predicate: str, derived: bool = False) -> Sequence[str]:
        """The same as texts of atoms."""

    def columns(self, predicate: str, derived: bool = False) -> tuple[Any, ...]:
        """The same as numpy arrays, one an argument: int64 where all are integers, else of
        objects (the constants).
        """


class Evaluator(Protocol):
    """Evaluates a checked program point by point."""

    def step(self, t: int, rows: Mapping[str, Any]) -> PointModel:
        """The model of the point ``t``. Raises: EvaluationError."""

    def state(self) -> bytes:
        """All that later points depend on."""

    def restore(self, state: bytes) -> None:
        """Puts back what `state` gave. Raises: OperationalError where it is no such state."""


@dataclass(frozen=True)
class Model:
    """What holds at ``t``. ``shown``: the predicates of #show, None for all."""

    point: PointModel
    shown: frozenset[str] | None = None

    @property
    def t(self) -> int:
        return self.point.t

    @cached_property
    def atoms(self) -> list[str]:
        """The whole model as sorted texts: input, facts, and what was derived."""
        return self._texts(self.point.predicates(), False)

    @cached_property
    def derived(self) -> list[str]:
        """The heads of rules with a body, as sorted texts."""
        return self._texts(self.point.predicates(), True)

    def _texts(self, predicates: Iterable[str], derived: bool) -> list[str]:
        found: list[str] = []
        for predicate in predicates:
            if predicate in self.shown if self.shown is not None else is_own(predicate):
                found += self.point.texts(predicate, derived)
        return sorted(found)

    def columns(self, predicate: str) -> tuple[Any, ...]:
        """An array for each argument of ``p/2``; empty ones where nothing holds."""
        return self.point.columns(predicate)
