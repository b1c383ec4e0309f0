"""The model of a point, as programs give it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from streams.rules.protocol import PointModel


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
