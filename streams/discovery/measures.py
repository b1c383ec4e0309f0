"""Changes, similarity and rarity of what a stream entails (SPEC 1, Definitions 2 to 5).

>>> changes({1, 2}, {2, 3, 4})
Changes(new=2, obsolete=1, invariant=1)
>>> changes({1, 2}, {2, 3, 4}).similarity
Fraction(1, 4)
>>> [rarity([{1, 2}, {2}], e) for e in (1, 2)]
[Fraction(1, 2), Fraction(1, 2)]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Set
from fractions import Fraction
from typing import NamedTuple


class Changes(NamedTuple):
    """How many assertions are entailed in the second window alone, in the first alone, in both."""

    new: int
    obsolete: int
    invariant: int

    @property
    def similarity(self) -> Fraction | None:
        """Φ; None without a basis."""
        basis = sum(self)
        return Fraction(self.invariant, basis) if basis else None


def changes(before: Set[Hashable], after: Set[Hashable]) -> Changes:
    """Definition 2, of what two windows entail."""
    return Changes(len(after - before), len(before - after), len(after & before))


def counts(snapshots: Iterable[Collection[Hashable]]) -> dict[int, int]:
    """How many assertions exactly so many snapshots entail, by that number."""
    times = Counter(assertion for entailed in snapshots for assertion in entailed)
    return dict(sorted(Counter(times.values()).items()))


def rarity(snapshots: Iterable[Collection[Hashable]], e: int) -> Fraction | None:
    """ϱ_e: the share of assertions that exactly e snapshots entail; None if none entails any."""
    by_count = counts(snapshots)
    distinct = sum(by_count.values())
    return Fraction(by_count.get(e, 0), distinct) if distinct else None
