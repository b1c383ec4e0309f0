"""The engine, as sessions see it; what it is given and gives is said in `streams.rules.syntax`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
