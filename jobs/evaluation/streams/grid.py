"""The photo-voltaic grid: which panels still reach the central one, from what each delivered
lately (SPEC 004, example 5).

Links as published (each pair of panels with probability 0.075: 11,970 links of 20², 60,682 of
30²), where all that works is reached in a few steps, or between panels at most four steps apart,
where paths are long. Published panels never fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from jobs.evaluation.streams.rules import Column, GeneratedRules, PointRows

RULES: Final = """workingPanel(P) :- energyDelivered(P,W) at least 1 in [4], energyThreshold(Et), W >= Et.
reachable(cea,P2) :- link(cea,P2), workingPanel(P2).
reachable(P1,P3) :- reachable(P1,P2), link(P2,P3), workingPanel(P3).
unlinked :- workingPanel(P), not reachable(cea,P).
regularFunctioning :- unlinked at most 2 in [3].
alert :- not regularFunctioning.
callMaintenance :- alert always in [5].
energyThreshold(10).
"""
#: How far apart linked panels are at most, where links are near; the share of pairs, where they are
#: anywhere.
STEPS, SHARE = 4, 0.075
#: How many points a panel that fails delivers nothing; windows of five points forgive four.
DOWN = 6
#: The panels that are linked with the central one.
ENTRIES = 10


@dataclass(frozen=True)
class Grid:
    """A grid of ``side``² panels. ``failing``: the share that begins to fail at each point;
    ``links``: random or near.
    """

    side: int = 20
    points: int = 60
    failing: float = 0.03
    links: str = "random"
    seed: int = 0

    def stream(self) -> GeneratedRules:
        """Program and rows."""
        first, second = near(self.side) if self.links == "near" else anywhere(self.side, self.seed)
        entries = "".join(
            f"link(cea,{panel}).\n" for panel in range(1, min(ENTRIES, self.side**2) + 1)
        )
        links = "".join(f"link({a},{b}).\n" for a, b in zip(first.tolist(), second.tolist()))
        return GeneratedRules(RULES + entries + links, self._points())

    def _points(self) -> Iterator[PointRows]:
        dice = np.random.default_rng(self.seed)
        panels = np.arange(1, self.side**2 + 1)
        down = np.zeros(len(panels), np.int64)
        for _ in range(self.points):
            down = np.where(dice.random(len(panels)) < self.failing, DOWN, np.maximum(down - 1, 0))
            yield {
                "energyDelivered/2": (
                    panels,
                    np.where(down > 0, 0, dice.integers(10, 14, len(panels))),
                )
            }


def near(side: int) -> tuple[Column, Column]:
    """Links between panels at most `STEPS` apart in either direction."""
    x, y = np.divmod(np.arange(side * side), side)
    close = (
        (abs(x[:, None] - x) <= STEPS)
        & (abs(y[:, None] - y) <= STEPS)
        & (np.arange(side * side)[:, None] != np.arange(side * side))
    )
    first, second = np.nonzero(close)
    return first + 1, second + 1


def anywhere(side: int, seed: int) -> tuple[Column, Column]:
    """Links between random panels, as many as published."""
    panels = side * side
    pairs = panels * (panels - 1)
    chosen = np.sort(
        np.random.default_rng(seed).choice(pairs, int(SHARE * pairs + 1e-9), replace=False)
    )
    first, second = np.divmod(chosen, panels - 1)
    return first + 1, second + (second >= first) + 1
