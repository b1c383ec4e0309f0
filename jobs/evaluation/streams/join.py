"""Heavy Join: pairs that meet within a window (SPEC 004, section 5).

Published, it alternates two fixed sets of facts that join on one value only: half as many
results as facts at the first point, then as many as facts. Dense, the facts are random pairs
over few values, so that nearly all pairs meet, and other ones at each point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jobs.evaluation.streams.rules import GeneratedRules, PointRows


@dataclass(frozen=True)
class GeneratedJoin:
    """``facts`` a point, half of each predicate; ``values``: so many of each argument; 0 is the
    published kind.
    """

    facts: int = 500
    window: int = 20
    values: int = 50
    points: int = 60
    seed: int = 0

    def stream(self) -> GeneratedRules:
        """Program and rows."""
        rules = f"a(X,Y) :- b(X,Z) in [{self.window}], c(Z,Y) in [{self.window}].\n"
        return GeneratedRules(rules, self._dense() if self.values else self._published())

    def _dense(self) -> Iterator[PointRows]:
        dice, size = np.random.default_rng(self.seed), self.facts // 2
        for _ in range(self.points):
            columns = [dice.integers(0, self.values, size) for _ in range(4)]
            yield {"b/2": (columns[0], columns[1]), "c/2": (columns[2], columns[3])}

    def _published(self) -> Iterator[PointRows]:
        half = self.facts // 2
        for point in range(self.points):
            number, zeros = np.arange(half) + half * (point % 2), np.zeros(half, np.int64)
            # Each b(X,0) meets c(0,0) alone, which is of the first set.
            yield {"b/2": (number, zeros), "c/2": (number, zeros)}
