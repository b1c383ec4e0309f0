"""How much is asked while what stands behind conflicts is made minimal: counts, so that nothing
hangs on the machine's speed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: Assertions that questions about one conflict hold together, for the base and for the axioms, and
#: those about all conflicts.
MOST = 15_000
MOST_OF_ALL = 40_000
#: So many, of one conflict, are asked about in any case.
LEAST = 400
#: What a question that a small budget leaves open counts for, in assertions.
OPEN = 300
#: Questions about one conflict that go beyond a small budget of the own reasoner, and those about
#: all; and the seconds of each.
HARD = 8
HARD_OF_ALL = 100
HARD_SECONDS = 5.0


@dataclass
class QuestionBudget:
    """What may still be asked about a conflict; nothing is counted between conflicts.

    left: assertions in questions; hard: questions that go beyond a small budget; of_all,
    hard_of_all: those for all further ones. is_told_first: whether told literals are looked at
    before a reasoner is asked, since they show what it leaves open.
    """

    left: int = 0
    hard: int = 0
    of_all: int = field(default_factory=lambda: MOST_OF_ALL)
    hard_of_all: int = HARD_OF_ALL
    is_told_first: bool = False
    is_counted: bool = False

    def begin(self, *, is_told: bool) -> None:
        """Allow what one conflict has for its base, or for its axioms; nothing hard where told
        literals alone show it.
        """
        self.left = max(LEAST, min(MOST, self.of_all))
        self.hard = 0 if is_told else HARD
        self.is_told_first, self.is_counted = False, True

    def end(self) -> None:
        """Stop counting."""
        self.is_counted = False

    def is_spent(self, assertions: int) -> bool:
        """Whether a question about so many ``assertions`` is one too many; else it is taken off."""
        if not self.is_counted:
            return False
        if assertions > self.left:
            self.left = 0
            return True
        self.left -= assertions
        self.of_all = max(0, self.of_all - assertions)
        return False

    def count_open(self) -> None:
        """Take off what an open question costs."""
        self.left, self.is_told_first = max(0, self.left - OPEN), True

    @property
    def is_empty(self) -> bool:
        """Whether every further question is one too many."""
        return self.is_counted and not self.left

    def takes_hard(self) -> bool:
        """Whether one more question may go beyond a small budget; it is taken off then."""
        self.hard, self.hard_of_all = self.hard - 1, self.hard_of_all - (self.hard > 0)
        return self.hard >= 0 and self.hard_of_all >= 0
