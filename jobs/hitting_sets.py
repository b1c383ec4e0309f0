"""Minimum hitting set of conflicts: a smallest set of lines to remove that breaks each of them. A
conflict may have several ways to break it, each of several lines.

>>> smallest_hitting_set([[frozenset({1}), frozenset({2})], [frozenset({2}), frozenset({3})]], {1: 0, 2: 1, 3: 2})
(frozenset({2}), True)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

#: The ways to break a conflict: each a set of lines of which all have to go.
Repairs: TypeAlias = list[frozenset[int]]
#: Choices that are looked at for conflicts that hang together, before the best set known is taken.
SEARCH_STEPS: Final = 20_000


def smallest_hitting_set(
    conflicts: Iterable[Sequence[frozenset[int]]], rank: Mapping[int, int]
) -> tuple[frozenset[int], bool]:
    """Choose a smallest set of lines whose removal breaks every conflict.

    conflicts: each a list of ways to break it; a way is a set of lines that all have to go.
    rank: total order of the lines; the result depends on it and not on the order of the arguments.

    Returns: the lines, and whether the set is proven to be smallest. It is always irredundant.
    """
    named = {
        frozenset(frozenset(rank[i] for i in way) for way in ways) for ways in conflicts if ways
    }
    line_at = {place: line for line, place in rank.items()}
    todo = sorted(
        {tuple(_minimal_repairs(ways)) for ways in named}, key=lambda ways: [*map(_sort_key, ways)]
    )
    chosen: set[int] = set()
    is_proven = True
    for part in _independent_groups(list(map(list, todo))):
        search = _HittingSetSearch(part)
        chosen |= search.run()
        is_proven = is_proven and search.budget > 0
    return frozenset(line_at[i] for i in chosen), is_proven


def _minimal_repairs(ways: Iterable[frozenset[int]]) -> Repairs:
    """Drop the ways to break a conflict that contain another way."""
    kept: Repairs = []
    for way in sorted(ways, key=_sort_key):
        if not any(other <= way for other in kept):
            kept.append(way)
    return kept


def _sort_key(way: Iterable[int]) -> tuple[int, list[int]]:
    """Sort key of a set of lines: its size, then its lines."""
    found = sorted(way)
    return len(found), found


def _independent_groups(conflicts: list[Repairs]) -> list[list[Repairs]]:
    """Group conflicts so that those of different groups share no line."""
    parts: list[tuple[set[int], list[Repairs]]] = []
    for ways in conflicts:
        lines, together = set().union(*ways), [ways]
        apart = []
        for known, part in parts:
            if known & lines:
                lines |= known
                together = part + together
            else:
                apart.append((known, part))
        parts = [*apart, (lines, together)]
    return [part for _, part in parts]


class _HittingSetSearch:
    """Branch-and-bound search for a smallest set of lines that breaks every conflict.

    The conflict with the fewest ways is branched on first. Conflicts without common lines give the
    lower bound.
    """

    def __init__(self, conflicts: list[Repairs]) -> None:
        self._conflicts = conflicts
        self.budget = SEARCH_STEPS
        self._best = self._greedy_solution()

    def run(self) -> set[int]:
        """Search for a smallest hitting set, and drop redundant lines from it."""
        # Branch: extend the chosen lines conflict by conflict, within the budget of steps.
        stack = [(set[int](), self._conflicts)]
        while stack and self.budget > 0:
            chosen, conflicts = stack.pop()
            self.budget -= 1
            todo = [ways for ways in conflicts if not any(way <= chosen for way in ways)]
            if len(chosen) + self._lower_bound(chosen, todo) >= len(self._best):
                continue
            if not todo:
                self._best = chosen
                continue
            ways = min(todo, key=len)
            stack += [
                (chosen | way, todo)
                for way in sorted(ways, key=lambda way: _sort_key(way - chosen), reverse=True)
            ]
        return self._without_redundant(self._best, sorted(self._best))

    def _lower_bound(self, chosen: set[int], todo: Sequence[Repairs]) -> int:
        """Bound: least number of lines still needed. Conflicts in ``todo`` without common lines
        each need some.
        """
        met: set[int] = set()
        cost = 0
        for ways in sorted(todo, key=len):
            lines = set().union(*ways) - chosen
            if not lines & met:
                met |= lines
                cost += min(len(way - chosen) for way in ways)
        return cost

    def _greedy_solution(self) -> set[int]:
        """Compute a first solution: repeatedly take the way that breaks most conflicts per line,
        then drop redundant lines.
        """
        chosen: set[int] = set()
        order: list[int] = []
        todo = self._conflicts
        while todo:
            gain: dict[frozenset[int], int] = {}
            for ways in todo:
                for way in ways:
                    gain[way] = gain.get(way, 0) + 1
            best = min(gain, key=lambda way: (-gain[way] / len(way - chosen), _sort_key(way)))
            order += sorted(best - chosen)
            chosen |= best
            todo = [ways for ways in todo if not any(way <= chosen for way in ways)]
        return self._without_redundant(chosen, order)

    def _without_redundant(self, chosen: set[int], order: Sequence[int]) -> set[int]:
        """Drop lines that are not needed to break every conflict."""
        for line in reversed(order):
            fewer = chosen - {line}
            if all(any(way <= fewer for way in ways) for ways in self._conflicts):
                chosen = fewer
        return chosen
