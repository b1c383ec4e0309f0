"""Canonical form of coloured, labelled graphs: isomorphic graphs get equal forms.

A graph has nodes 0 … n-1, each with a colour, and arcs (label, from, to). An arc to -1 labels a
single node. Colours and labels are compared, so all of them must be of comparable types. Give a
node a unique colour, such as its name, to keep it apart from all others.

Colour refinement separates most nodes. The remaining ones fall into independent components: between
different colours all nodes are connected alike. Each component is ordered by itself, then the
components are sorted. Only in a component that does not fall apart a node is singled out by trial.

>>> square, other = [("r", 0, 1), ("r", 1, 2), ("r", 2, 3), ("r", 3, 0)], [("r", 2, 0), ("r", 0, 3), ("r", 3, 1), ("r", 1, 2)]
>>> canonical_form([0] * 4, square) == canonical_form([0] * 4, other)
True
>>> canonical_form(["a", "b", "", ""], square) == canonical_form(["a", "", "b", ""], square)
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


def canonical_form(colours: Sequence[Any], arcs: Sequence[Arc]) -> Form:
    """Renumber a graph with coloured nodes and labelled arcs, so that isomorphic graphs, and only
    these, become equal.
    """
    order = canonical_order(colours, arcs)
    place = node_positions(order)
    return tuple(colours[node] for node in order), renumber_arcs(arcs, place)


def renumber_arcs(arcs: Iterable[Arc], place: Sequence[int]) -> tuple[Arc, ...]:
    """Replace the nodes of `arcs` by their positions in `place`; sort the arcs."""
    return tuple(sorted((label, place[a], place[b] if b >= 0 else -1) for label, a, b in arcs))


def node_positions(order: Sequence[int]) -> list[int]:
    """Invert a permutation: return the position of each node in `order`."""
    place = [0] * len(order)
    for i, node in enumerate(order):
        place[node] = i
    return place


def canonical_order(colours: Sequence[Any], arcs: Sequence[Arc]) -> list[int]:
    """Return the nodes of a coloured graph in an order that depends only on its structure; sorted
    by colour first.
    """
    colour, nodes = _rank_colours(colours), range(len(colours))
    if len(set(colour)) == len(colours):
        return sorted(nodes, key=colour.__getitem__)
    graph = _ColouredGraph(len(colours), arcs)
    graph.refine(colour, nodes, nodes)
    return graph.order_nodes(list(nodes), colour)


class _ColouredGraph:
    """A graph with nodes 0 … n-1, for colour refinement. A node's colour is the number of nodes
    with a smaller colour.

    A cell that is split off gets the next free colour.

    left: nodes that trials may still visit (`MOST_TRIED`).
    around: by node, (label with direction, neighbour) of each arc.
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
        """Split the colours of `nodes`, in place, until nodes of one colour have the same arcs to
        each colour.

        Stable: nodes of one colour have equally many arcs of each kind to each colour.

        touched: nodes near which a colour or an arc has changed.
        """
        inside = set(nodes)
        cells = _group_by_colour(inside, colour)
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

    def order_nodes(self, nodes: list[int], colour: list[int]) -> list[int]:
        """Sort `nodes` by their refined `colour`; nodes of one colour come in canonical order."""
        cells = _group_by_colour(nodes, colour)
        if len(cells) == len(nodes):
            return sorted(nodes, key=colour.__getitem__)
        parts = self._components(
            [node for cell in cells.values() if len(cell) > 1 for node in cell], cells, colour
        )
        if len(parts) == 1 and len(parts[0]) == len(nodes):
            return self._order_by_trial(nodes, cells, colour)
        found: list[tuple[list[int], list[Arc], int, list[int]]] = []
        for part in parts:
            order = self.order_nodes(part, colour)
            last = max(node for node in part if colour[node] == colour[order[0]])
            found.append(
                ([colour[node] for node in order], self._induced_arcs(order), -last, order)
            )
        alone = [cell[0] for cell in cells.values() if len(cell) == 1]
        return sorted(
            alone + [node for *_, order in sorted(found) for node in order], key=colour.__getitem__
        )

    def _order_by_trial(
        self, nodes: list[int], cells: dict[int, list[int]], colour: list[int]
    ) -> list[int]:
        """Give each node of the first shared colour a colour of its own in turn; return the least
        order that results.
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
            order = self.order_nodes(nodes, finer)
            for a, b in zip(found.setdefault(tuple(self._induced_arcs(order)), order), order):
                if orbit[a] != orbit[b]:
                    old, new = orbit[a], orbit[b]
                    orbit = {n: new if o == old else o for n, o in orbit.items()}
        return found[min(found)]

    def _induced_arcs(self, order: Sequence[int]) -> list[Arc]:
        """Return the arcs among the nodes of `order`, with the nodes replaced by their positions in
        it.
        """
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
        """Split `nodes` into components that can be ordered independently of each other, given
        their refined `colour`.

        An arc connects two nodes, unless its label connects all nodes of one colour with all of the
        other.
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


def _rank_colours(colours: Sequence[Any]) -> list[int]:
    """Replace each colour by the number of nodes with a smaller one."""
    first: dict[Any, int] = {}
    for i, colour in enumerate(sorted(colours)):
        first.setdefault(colour, i)
    return [first[colour] for colour in colours]


def _group_by_colour(nodes: Iterable[int], colour: Sequence[int]) -> dict[int, list[int]]:
    """Group nodes by their colour."""
    found: dict[int, list[int]] = {}
    for node in nodes:
        found.setdefault(colour[node], []).append(node)
    return found
