"""Minimal subsets: smallest sublists with a monotone property, and minimal hitting sets of the
sublists found.

How much is asked on the way is limited by counts, so that nothing hangs on the machine's speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from shiq import model as owl
from shiq.model import Assertion
from shiq.model.abox import individuals_of
from shiq.partition import Partition
from shiq.support import bits

V = TypeVar("V")


def minimal_sublist(items: Sequence[V], holds: Callable[[list[V]], bool]) -> list[V]:
    """Find a minimal sublist of ``items`` for which the monotone test ``holds`` is true, as it is
    of ``items``.

    Removes halves first, then single items: about k·log(n/k) questions for k left of n.
    Deterministic.

    >>> minimal_sublist(list(range(20)), lambda part: {3, 11} <= set(part))
    [3, 11]
    """
    kept = list(items)
    size = len(kept) // 2
    while size > 1:
        kept = _drop_chunks(kept, size, holds)
        size = min(size, len(kept)) // 2
    return _drop_chunks(kept, 1, holds)


#: Areas are not split further below this many items.
SMALL = 24


def disjoint_sublists(items: Sequence[V], holds: Callable[[list[V]], bool]) -> list[list[V]]:
    """Find disjoint small sublists of ``items`` for which the monotone test ``holds`` is true.

    Halves are looked at by themselves, so items that belong together should stand near each
    other: then parts in which nothing holds fall away at once. Where neither half holds alone,
    the list is narrowed as a whole. At least one area is found.

    >>> holds = lambda part: {3, 4} <= set(part) or {700, 705} <= set(part)
    >>> [len(a) <= SMALL for a in disjoint_sublists(list(range(1000)), holds)]
    [True, True]
    """
    found: list[list[V]] = []
    stack = [list(items)]
    while stack:
        part = stack.pop()
        if len(part) <= SMALL:
            found.append(part)
            continue
        middle = len(part) // 2
        halves = [half for half in (part[middle:], part[:middle]) if holds(half)]
        if halves:
            stack.extend(halves)
        else:
            size = middle // 2
            while size > SMALL // 4:
                part = _drop_chunks(part, size, holds)
                size = min(size, len(part)) // 2
            found.append(part)
    return found


def connected_assertions(
    beginning: Iterable[Assertion], assertions: Sequence[Assertion]
) -> list[Assertion]:
    """Select the ``assertions`` that shared individuals connect with those of ``beginning``, in any
    number of steps.
    """
    about: dict[str, list[int]] = {}
    for i, assertion in enumerate(assertions):
        for individual in individuals_of(assertion):
            about.setdefault(individual, []).append(i)
    stack = [individual for assertion in beginning for individual in individuals_of(assertion)]
    found: set[int] = set()
    while stack:
        for i in about.pop(stack.pop(), ()):
            if i not in found:
                found.add(i)
                stack.extend(individuals_of(assertions[i]))
    return [assertions[i] for i in sorted(found)]


def _drop_chunks(items: list[V], size: int, holds: Callable[[list[V]], bool]) -> list[V]:
    """Drop consecutive runs of ``size`` items where ``holds`` stays true of the remaining list."""
    kept, start = items, 0
    while start < len(kept):
        shorter = kept[:start] + kept[start + size :]
        if holds(shorter):
            kept = shorter
        else:
            start += size
    return kept


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
    """Budget of reasoner questions: for explaining one conflict, and for all of them. Between
    conflicts nothing is counted.

    assertions_left: assertions that further questions about this conflict may hold together.
    hard_left: questions about this conflict that may go beyond the small reasoning budget.
    total_assertions_left, total_hard_left: the same for all further conflicts.
    is_told_first: ask told literals before a reasoner, since they show what it leaves open.
    """

    assertions_left: int = 0
    hard_left: int = 0
    total_assertions_left: int = field(default_factory=lambda: MOST_OF_ALL)
    total_hard_left: int = HARD_OF_ALL
    is_told_first: bool = False
    is_counted: bool = False

    def begin(self, *, is_told: bool) -> None:
        """Start the count for one conflict. ``is_told``: told literals alone show it, so no hard
        question is allowed.

        No question may be hard where told literals alone show the conflict.
        """
        self.assertions_left = max(LEAST, min(MOST, self.total_assertions_left))
        self.hard_left = 0 if is_told else HARD
        self.is_told_first, self.is_counted = False, True

    def end(self) -> None:
        """Stop counting, until the next conflict begins."""
        self.is_counted = False

    def is_exceeded_by(self, assertions: int) -> bool:
        """Decide whether a question about this number of ``assertions`` exceeds the budget; charge
        it if not.
        """
        if not self.is_counted:
            return False
        if assertions > self.assertions_left:
            self.assertions_left = 0
            return True
        self.assertions_left -= assertions
        self.total_assertions_left = max(0, self.total_assertions_left - assertions)
        return False

    def charge_undecided(self) -> None:
        """Charge the budget for a question that stayed undecided."""
        self.assertions_left, self.is_told_first = max(0, self.assertions_left - OPEN), True

    @property
    def is_empty(self) -> bool:
        """Decide whether no further question is allowed."""
        return self.is_counted and not self.assertions_left

    def may_ask_hard(self) -> bool:
        """Decide whether one more question may go beyond the small budget; charge it if so."""
        self.hard_left, self.total_hard_left = (
            self.hard_left - 1,
            self.total_hard_left - (self.hard_left > 0),
        )
        return self.hard_left >= 0 and self.total_hard_left >= 0


def overlapping_conflicts(
    conflicts: list[frozenset[owl.Assertion]],
) -> list[list[frozenset[owl.Assertion]]]:
    """Group the conflicts into connected components, where conflicts with a common insertion are
    connected.
    """
    together: Partition[int] = Partition()
    first: dict[owl.Assertion, int] = {}
    for i, conflict in enumerate(conflicts):
        for assertion in conflict:
            together.union(first.setdefault(assertion, i), i)
    found: dict[int, list[frozenset[owl.Assertion]]] = {}
    for i, conflict in enumerate(conflicts):
        found.setdefault(together.find(i), []).append(conflict)
    return list(found.values())


#: More hitting sets of one group than this are not enumerated.
HITTING_SETS = 200


def minimal_hitting_sets(
    conflicts: list[frozenset[owl.Assertion]],
) -> list[frozenset[owl.Assertion]]:
    """List the minimal hitting sets of ``conflicts`` (at most `HITTING_SETS`), smallest first, in a
    fixed order.

    Sets are bit masks, the first assertion the highest bit. Those so far that meet the next
    conflict stay minimal. Each other one is joined with each element of it, which none of these
    has; so no two of the joined sets contain each other, and only one that stays can be a part
    of one.
    """
    elements = sorted(frozenset().union(*conflicts), key=repr, reverse=True)
    bit = {element: 1 << i for i, element in enumerate(elements)}
    masks = [sum(map(bit.__getitem__, conflict)) for conflict in conflicts]
    partial = [0]
    for conflict in sorted(masks, key=_hitting_set_order):
        staying = [h for h in partial if h & conflict]
        grown = list[int]()
        for one in (1 << i for i in bits(conflict)):
            rests = [h & ~one for h in staying if h & one]
            grown += [
                h | one
                for h in partial
                if not h & conflict and not any(not rest & ~h for rest in rests)
            ]
        partial = sorted((*staying, *grown), key=_hitting_set_order)[:HITTING_SETS]
    return [frozenset(elements[i] for i in bits(h)) for h in partial]


def _hitting_set_order(mask: int) -> tuple[int, int]:
    """Sort key of a hitting set: its size, then its first elements."""
    return mask.bit_count(), -mask


def next_hitting_sets(
    conflicts: list[frozenset[owl.Assertion]], tried: set[frozenset[owl.Assertion]]
) -> tuple[set[owl.Assertion], set[frozenset[owl.Assertion]]]:
    """Choose an untried minimal hitting set for each set of overlapping conflicts.

    Returns: the union of the chosen sets, to be removed from the batch; and the untried ones among
    them, none if all were tried.
    """
    removed: set[owl.Assertion] = set()
    fresh: set[frozenset[owl.Assertion]] = set()
    for group in overlapping_conflicts(conflicts):
        hitting = minimal_hitting_sets(group)
        if not hitting:
            continue  # a conflict without insertions: A by itself, which nothing taken away mends
        untried = next((h for h in hitting if h not in tried), None)
        if untried is not None:
            fresh.add(untried)
        removed |= untried if untried is not None else hitting[0]
    return removed, fresh
