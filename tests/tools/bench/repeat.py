"""A row of the benchmark, and one repeat of it: what it measures, what it notes, what of ours
went wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.tools.bench.process import Bench, NotMeasured
from tests.tools.bench.record import Figure


@dataclass
class Repeat:
    """One repeat of a row: figures by name, remarks, and what of ours went wrong."""

    bench: Bench
    number: int
    values: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def seed(self) -> int:
        return self.bench.seed + self.number

    def key(self, *of: object) -> tuple[object, ...]:
        """Names something that the rows of this repeat share."""
        return (*of, self.number)

    def expect(self, verdict: str, expected: str, what: str) -> None:
        """Notes a verdict that is not the known one."""
        if verdict != expected:
            self.wrong.append(f"{what}: {verdict}, but {expected} is right")

    def attempt(self, measure: Callable[[], None]) -> None:
        """Measures what a peer is needed for; without it, the rest of the row stands, and the
        note says why.
        """
        try:
            measure()
        except NotMeasured as why:
            self.notes.append(str(why))


@dataclass(frozen=True)
class Row:
    """A row: its name, what it is about, its figures, and how one repeat measures them."""

    name: str
    title: str
    figures: tuple[Figure, ...]
    measure: Callable[[Repeat], None]


# --- LUBM-5 beside Pellet -------------------------------------------------------------------------
