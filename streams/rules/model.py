"""The model of a point, as engines and programs give it; what sessions see of an engine is said in `streams.rules.syntax`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from streams.rules.values import Row


class PointModel(Protocol):
    """The model of one point."""

    @property
    def t(self) -> int: ...

    def predicates(self) -> Iterable[str]:
        """Those that hold for something."""

    def rows(self, predicate: str, derived: bool = False) -> Sequence[Row]:
        """The rows of a predicate, each once; with ``derived`` only heads of rules with a body (input may say them too)."""

    def texts(self, predicate: str, derived: bool = False) -> Sequence[str]:
        """The same as texts of atoms."""

    def columns(self, predicate: str, derived: bool = False) -> tuple[Any, ...]:
        """The same as numpy arrays, one an argument: int64 where all are integers, else of objects (the constants)."""


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
            if self.shown is None or predicate in self.shown:
                found += self.point.texts(predicate, derived)
        return sorted(found)

    def columns(self, predicate: str) -> tuple[Any, ...]:
        """An array for each argument of ``p/2``; empty ones where nothing holds."""
        return self.point.columns(predicate)
