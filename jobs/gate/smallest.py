"""A smallest set of lines that breaks every conflict: a minimum hitting set, where what hits
costs several lines.

>>> smallest([[frozenset({1}), frozenset({2})], [frozenset({2}), frozenset({3})]], {1: 0, 2: 1, 3: 2})
(frozenset({2}), True)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

#: The ways to break a conflict: each a set of lines of which all have to go.
Ways: TypeAlias = list[frozenset[int]]
#: Choices that are looked at for conflicts that hang together, before the best set known is taken.
MOST: Final = 20_000


def smallest(
    conflicts: Iterable[Sequence[frozenset[int]]], rank: Mapping[int, int]
) -> tuple[frozenset[int], bool]:
    """A set of lines that holds one of the ways of each of ``conflicts``, and whether it is
    known to be a smallest one. Of its lines none could be left out in any case. It follows from
    the ``rank`` of lines, not from the order of what is given.
    """
    named = {
        frozenset(frozenset(rank[i] for i in way) for way in ways) for ways in conflicts if ways
    }
    line_at = {place: line for line, place in rank.items()}
    todo = sorted({tuple(_least(ways)) for ways in named}, key=_key)
    chosen: set[int] = set()
    is_proven = True
    for part in _parts(list(map(list, todo))):
        search = _Search(part)
        chosen |= search.run()
        is_proven = is_proven and search.left > 0
    return frozenset(line_at[i] for i in chosen), is_proven


def _least(ways: Iterable[frozenset[int]]) -> Ways:
    """``ways`` without those that cost what another one does, and more."""
    kept: Ways = []
    for way in sorted(ways, key=_order):
        if not any(other <= way for other in kept):
            kept.append(way)
    return kept


def _order(way: Iterable[int]) -> tuple[int, list[int]]:
    found = sorted(way)
    return len(found), found


def _key(ways: Iterable[frozenset[int]]) -> list[tuple[int, list[int]]]:
    return [_order(way) for way in ways]


def _parts(conflicts: list[Ways]) -> list[list[Ways]]:
    """``conflicts`` by what hangs together by lines."""
    parts: list[tuple[set[int], list[Ways]]] = []
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


class _Search:
    """Search by branch and bound: what breaks the conflict with the fewest ways is tried way by
    way; conflicts that share no line bound what is still to be paid.
    """

    def __init__(self, conflicts: list[Ways]) -> None:
        self._conflicts = conflicts
        self.left = MOST
        self._best = self._greedy()

    def run(self) -> set[int]:
        self._extend(set(), self._conflicts)
        return self._needed(self._best, sorted(self._best))

    def _extend(self, chosen: set[int], conflicts: list[Ways]) -> None:
        stack = [(chosen, conflicts)]
        while stack and self.left > 0:
            chosen, conflicts = stack.pop()
            self.left -= 1
            todo = [ways for ways in conflicts if not any(way <= chosen for way in ways)]
            if len(chosen) + self._bound(chosen, todo) >= len(self._best):
                continue
            if not todo:
                self._best = chosen
                continue
            ways = min(todo, key=len)
            stack += [
                (chosen | way, todo)
                for way in sorted(ways, key=lambda way: _order(way - chosen), reverse=True)
            ]

    def _bound(self, chosen: set[int], todo: Sequence[Ways]) -> int:
        met: set[int] = set()
        cost = 0
        for ways in sorted(todo, key=len):
            lines = set().union(*ways) - chosen
            if not lines & met:
                met |= lines
                cost += min(len(way - chosen) for way in ways)
        return cost

    def _greedy(self) -> set[int]:
        """What breaks most conflicts for each line goes first; then lines that are not needed
        are put back, the last first.
        """
        chosen: set[int] = set()
        order: list[int] = []
        todo = self._conflicts
        while todo:
            gain: dict[frozenset[int], int] = {}
            for ways in todo:
                for way in ways:
                    gain[way] = gain.get(way, 0) + 1
            best = min(gain, key=lambda way: (-gain[way] / len(way - chosen), _order(way)))
            order += sorted(best - chosen)
            chosen |= best
            todo = [ways for ways in todo if not any(way <= chosen for way in ways)]
        return self._needed(chosen, order)

    def _needed(self, chosen: set[int], order: Sequence[int]) -> set[int]:
        for line in reversed(order):
            fewer = chosen - {line}
            if all(any(way <= fewer for way in ways) for ways in self._conflicts):
                chosen = fewer
        return chosen
