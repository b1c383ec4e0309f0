"""What a point may still cost: the atoms that it derives, and the rows that its joins have on
their way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from streams.rules.problems import EvaluationError, too_many_derived
from streams.rules.syntax import StreamRule

#: The rows that joins of a point may have, for each atom that it may derive; never fewer than the
#: second.
_JOINED: Final = 10
_LEAST_JOINED: Final = 10_000_000


@dataclass
class PointBudget:
    """Count what a point costs.

    most: the atoms that a point may derive.
    now: its time.
    derived: how many it has derived; of the stratum that is being evaluated, what is known so far.
    left: the rows that its joins may still have.
    """

    most: int
    now: int = 0
    derived: int = 0
    left: int = 0

    def begin(self, now: int) -> None:
        """Begin a point."""
        self.now, self.derived, self.left = now, 0, self._joined

    @property
    def _joined(self) -> int:
        return max(_JOINED * self.most, _LEAST_JOINED)

    def spend(self, rows: int, rule: StreamRule) -> None:
        """Count rows against what may be joined at a point. Raises: EvaluationError."""
        self.left -= rows
        if self.left < 0:
            raise self.too_many_joined(rule)

    def derive(self, atoms: int, rule: StreamRule) -> None:
        """Count atoms that a point derives. Raises: EvaluationError where they are too many."""
        self.derived += atoms
        if self.derived > self.most:
            self.check(self.derived, rule)

    def check(self, atoms: int, rule: StreamRule) -> None:
        """Raises: EvaluationError where the ``atoms`` that a point derives are too many."""
        if atoms > self.most:
            raise too_many_derived(rule, self.now, self.most)

    def too_many_joined(self, rule: StreamRule) -> EvaluationError:
        """The error of joins that explode."""
        return EvaluationError(
            rule,
            f"more than {self._joined:,} rows are joined at t = {self.now} (--max-atoms {self.most})",
            "Add a literal that narrows it; or raise --max-atoms: joins may have ten times as many rows.",
        )
