"""A canonical order of the nodes of a graph: isomorphic graphs become equal when their nodes are
renumbered by it.

A graph has nodes 0 … n-1, each with a colour, and arcs (label, from, to); to -1: the label is
said of one node. Colours and labels are compared and sorted, so that each has to be of one kind.
A node that is to be kept has a colour of its own, such as its name.

Colour refinement tells most nodes apart. What is left open falls into components that do not
depend on each other, as all nodes of one colour are tied to other ones in the same way; each is
ordered by itself, and the components by what they are then. Only in one that stays whole a node
is set apart by trial.

>>> square, other = [("r", 0, 1), ("r", 1, 2), ("r", 2, 3), ("r", 3, 0)], [("r", 2, 0), ("r", 0, 3), ("r", 3, 1), ("r", 1, 2)]
>>> form([0] * 4, square) == form([0] * 4, other)
True
>>> form(["a", "b", "", ""], square) == form(["a", "", "b", ""], square)
False
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

#: An arc: label, from, to (or -1).
Arc: TypeAlias = tuple[Any, int, int]
#: Colours in the order of the nodes, and the sorted arcs.
Form: TypeAlias = tuple[tuple[Hashable, ...], tuple[Arc, ...]]

#: Trials end after so many nodes, those of each trial counted again. What is open then is ordered
#: by the first trial, so that equal forms still mean isomorphic graphs, but two isomorphic ones
#: (strongly regular or the like) may differ in form.
MOST_TRIED = 10_000


def form(colours: Sequence[Any], arcs: Sequence[Arc]) -> Form:
    """The graph renumbered: equal for isomorphic graphs, and for no others."""
    order = canonical_order(colours, arcs)
    place = places(order)
    return tuple(colours[node] for node in order), renumbered(arcs, place)


def renumbered(arcs: Iterable[Arc], place: Sequence[int]) -> tuple[Arc, ...]:
    """``arcs`` between the ``place`` of each node, sorted."""
    return tuple(sorted((label, place[a], place[b] if b >= 0 else -1) for label, a, b in arcs))


def places(order: Sequence[int]) -> list[int]:
    """Where each node stands in ``order``."""
    place = [0] * len(order)
    for i, node in enumerate(order):
        place[node] = i
    return place


def canonical_order(colours: Sequence[Any], arcs: Sequence[Arc]) -> list[int]:
    """The nodes in canonical order, by their colours first."""
    colour, nodes = _numbered(colours), range(len(colours))
    if len(set(colour)) == len(colours):
        return sorted(nodes, key=colour.__getitem__)
    graph = _Graph(len(colours), arcs)
    graph.refine(colour, nodes, nodes)
    return graph.ordered(list(nodes), colour)


class _Graph:
    """A graph whose colours are numbers: how many nodes have a lesser one. A part that is split
    off gets the next number.
    """

    def __init__(self, size: int, arcs: Sequence[Arc]) -> None:
        self.left = MOST_TRIED
        kinds = {label: i for i, label in enumerate(sorted({label for label, _, _ in arcs}))}
        # Label, direction and the colour at the other end make up one number; that of no node is
        # -1.
        width = size + 1
        self.around: list[list[tuple[int, int]]] = [[] for _ in range(size)]
        for label, a, b in arcs:
            kind = (2 * kinds[label]) * width + 1
            self.around[a].append((kind, b))
            if b >= 0:
                self.around[b].append((kind + width, a))

    def refine(self, colour: list[int], nodes: Iterable[int], touched: Iterable[int]) -> None:
        """Splits the colours of ``nodes`` until nodes of one colour are tied to as many of each
        other; ``touched``: the nodes near which something has changed.
        """
        inside = set(nodes)
        cells = _cells(inside, colour)
        colour.append(-1)
        while touched:
            found: list[tuple[int, list[list[int]]]] = []
            for number in {colour[node] for node in touched}:
                if len(cells[number]) > 1:
                    parts: dict[tuple[int, ...], list[int]] = {}
                    for node in cells[number]:
                        near = tuple(
                            sorted([kind + colour[other] for kind, other in self.around[node]])
                        )
                        parts.setdefault(near, []).append(node)
                    if len(parts) > 1:
                        found.append((number, [parts[near] for near in sorted(parts)]))
            changed: list[int] = []
            for number, split in found:
                at = number
                for part in split:
                    cells[at] = part
                    if at > number:
                        changed += part
                        for node in part:
                            colour[node] = at
                    at += len(part)
            touched = {
                other for node in changed for _, other in self.around[node] if other in inside
            }
        colour.pop()

    def ordered(self, nodes: list[int], colour: list[int]) -> list[int]:
        """``nodes`` by ``colour``, which is as fine as it gets, and those of one colour in
        canonical order.
        """
        cells = _cells(nodes, colour)
        if len(cells) == len(nodes):
            return sorted(nodes, key=colour.__getitem__)
        parts = self._components(
            [node for cell in cells.values() if len(cell) > 1 for node in cell], cells, colour
        )
        if len(parts) == 1 and len(parts[0]) == len(nodes):
            return self._by_trial(nodes, cells, colour)
        found: list[tuple[list[int], list[Arc], int, list[int]]] = []
        for part in parts:
            order = self.ordered(part, colour)
            last = max(node for node in part if colour[node] == colour[order[0]])
            found.append(([colour[node] for node in order], self._inner(order), -last, order))
        alone = [cell[0] for cell in cells.values() if len(cell) == 1]
        return sorted(
            alone + [node for *_, order in sorted(found) for node in order], key=colour.__getitem__
        )

    def _by_trial(
        self, nodes: list[int], cells: dict[int, list[int]], colour: list[int]
    ) -> list[int]:
        """The least that comes of setting apart one node of the first colour; of nodes that an
        automorphism exchanges, one is tried.
        """
        number = min(cells)
        found: dict[tuple[Arc, ...], list[int]] = {}
        orbit = {node: node for node in nodes}
        tried: list[int] = []
        for node in sorted(cells[number], reverse=True):
            if tried and (self.left <= 0 or any(orbit[node] == orbit[other] for other in tried)):
                continue
            self.left -= len(nodes)
            tried.append(node)
            finer = colour.copy()
            for other in cells[number]:
                finer[other] += other != node
            self.refine(finer, nodes, nodes)
            order = self.ordered(nodes, finer)
            for a, b in zip(found.setdefault(tuple(self._inner(order)), order), order):
                if orbit[a] != orbit[b]:
                    old, new = orbit[a], orbit[b]
                    orbit = {n: new if o == old else o for n, o in orbit.items()}
        return found[min(found)]

    def _inner(self, order: Sequence[int]) -> list[Arc]:
        """The arcs among nodes, by their places in ``order``."""
        place = {node: i for i, node in enumerate(order)}
        return sorted(
            (kind, i, place[b])
            for i, a in enumerate(order)
            for kind, b in self.around[a]
            if b in place
        )

    def _components(
        self, nodes: list[int], cells: dict[int, list[int]], colour: list[int]
    ) -> list[list[int]]:
        """``nodes`` by what ties them together: an arc, unless its label ties all nodes of the
        one colour to all of the other.
        """
        inside = set(nodes)
        ties = [(kind, a, b) for a in nodes for kind, b in self.around[a] if b in inside and a != b]
        count = Counter((kind, colour[a], colour[b]) for kind, a, b in set(ties))
        near: dict[int, list[int]] = {node: [] for node in nodes}
        for kind, a, b in ties:
            all_of = len(cells[colour[a]]) * (len(cells[colour[b]]) - (colour[a] == colour[b]))
            if count[kind, colour[a], colour[b]] < all_of:
                near[a].append(b)
        found: list[list[int]] = []
        seen: set[int] = set()
        for node in nodes:
            if node not in seen:
                seen.add(node)
                part = [node]
                for member in part:
                    fresh = [other for other in near[member] if other not in seen]
                    seen.update(fresh)
                    part += dict.fromkeys(fresh)
                found.append(part)
        return found


def _numbered(colours: Sequence[Any]) -> list[int]:
    """The number of each colour: how many are less."""
    first: dict[Any, int] = {}
    for i, colour in enumerate(sorted(colours)):
        first.setdefault(colour, i)
    return [first[colour] for colour in colours]


def _cells(nodes: Iterable[int], colour: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for node in nodes:
        found.setdefault(colour[node], []).append(node)
    return found
