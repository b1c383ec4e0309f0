"""Heavy Join: pairs that meet within a window (SPEC 004, section 5).

Published, it alternates two fixed sets of facts that join on one value only (500 results); dense, the facts are random pairs over
few values, so that nearly all pairs meet, and other ones at each point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jobs.evaluation.streams.rules import GeneratedRules, PointRows

#: How many facts of either predicate join on 0 in the published sets: 20 · 25 results.
_MEET = (20, 25)


@dataclass(frozen=True)
class GeneratedJoin:
    """``facts`` a point, half of each predicate; ``values``: so many of each argument; 0 is the published kind."""

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
        number = np.arange(self.facts // 2)
        for point in range(self.points):
            # The two sets share no value but 0.
            left, right, apart = *_MEET, (1 + point % 2) * self.facts
            yield {
                "b/2": (number, np.where(number < left, 0, number + apart)),
                "c/2": (np.where(number < right, 0, -number - apart), number),
            }
