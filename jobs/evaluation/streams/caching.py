"""Content Caching: which strategy a cache should follow, by how popular contents were lately;
with what is asked for, by content.

The published program looks at one parameter; here each point also brings requests for many
contents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from jobs.evaluation.streams.rules import GeneratedRules, PointRows

RULES: Final = """rate(C,N) :- request(C,S) count N in [{w}].
popular(C) :- rate(C,N), N >= 3.
cold(C) :- content(C), not requested(C).
requested(C) :- request(C,S) in [{w}].
high :- alpha(V) in [{w}], V >= 18.
mid :- alpha(V) in [{w}], V >= 12, V < 18.
low :- alpha(V) in [{w}], V < 12.
lfu :- high, not low.
lru :- mid, not high.
fifo :- low, not mid.
done :- lfu.
done :- lru.
done :- fifo.
random :- not done.
"""


@dataclass(frozen=True)
class Caching:
    """``events`` requests a point for some of ``contents``, from some of ``sources``."""

    events: int = 500
    window: int = 5
    contents: int = 200
    sources: int = 20
    points: int = 60
    seed: int = 0

    def stream(self) -> GeneratedRules:
        """Program and rows."""
        contents = "".join(f"content({number}).\n" for number in range(self.contents))
        return GeneratedRules(RULES.format(w=self.window) + contents, self._points())

    def _points(self) -> Iterator[PointRows]:
        dice = np.random.default_rng(self.seed)
        for _ in range(self.points):
            # Few contents are asked for often.
            asked = (self.contents * dice.random(self.events) ** 2).astype(np.int64)
            yield {
                "request/2": (asked, dice.integers(0, self.sources, self.events)),
                "alpha/1": (dice.integers(0, 30, 1),),
            }
