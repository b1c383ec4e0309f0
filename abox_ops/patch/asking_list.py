"""Turns of told⁺ one element after another, where each turn brings in few:
`abox_ops.patch.start_columns` by a work list (THEORY, "The loop": turns of told⁺).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from abox_ops.elements.base import FRESH
from abox_ops.labels.calculus import clashes
from abox_ops.labels.numbered import Bools
from abox_ops.patch.start_columns import NEW, ToldTurns
from abox_ops.patch.state_columns import PatchState
from abox_ops.told.region import HalfEdge, Region
from abox_ops.told.work_list import WorkList, active_after, adopt
from shiq.columns.arrays import Ints


class AskingList:
    """I of ``state``, growing turn by turn from elements that have just come in. ``walk``:
    told⁺; ``codes``: what asked for each element that came in, by key.
    """

    def __init__(self, state: PatchState, asking: ToldTurns) -> None:
        graph = state.graph
        self.state, self.asking = state, asking
        self.region = Region(graph, state.certified_of)
        self.walk = WorkList(state.calculus, self.region, set(graph.key[state.active].tolist()))
        self.inside: set[int] = set(graph.key[state.inside].tolist())
        self.codes: dict[int, int] = {}
        self._changed: dict[int, None] = {}

    def run(self, elements: Ints) -> None:
        """Goes on from the ``elements``, until no turn brings in more, or one is for arrays: at
        an element with many role assertions, or after a clash.
        """
        walk, frontier = self.walk, self.state.graph.key[elements].tolist()
        while frontier:
            walk.active.update(frontier)
            walk.todo.update(dict.fromkeys(frontier))
            walk.close()
            changed, walk.changed = walk.changed, {}
            self._changed.update(dict.fromkeys((*frontier, *changed)))
            if walk.has_stopped or walk.has_clash:
                return
            self.inside.update(walk.find(key) for key, _ in walk.unions if key in self.inside)
            frontier = self._turn(dict.fromkeys(map(walk.find, (*frontier, *changed))))

    def _turn(self, elements: Iterable[int]) -> list[int]:
        """What these elements, which have come in or changed, bring in."""
        found: dict[int, int] = {}
        for key in elements:
            if key in self.inside:
                edges = self.region.edges_of(key)
                if key in self.region.wide:
                    self.walk.has_stopped = True
                elif not clashes(self.state.calculus.table.labels[self.region.label[key]]):
                    self._ask(key, edges, found)
            elif self._is_new(key) or self.asking.says_more(
                self.region.label[key], self.region.certified[key]
            ):
                found[key] = 0
        if self.walk.has_stopped:
            return []
        self.codes.update(found)
        self.inside.update(found)
        return list(found)

    def _ask(self, a: int, edges: list[HalfEdge], found: dict[int, int]) -> None:
        """Notes what the role assertions of ``a``, in I, ask for."""
        region, inside, find, code = self.region, self.inside, self.walk.find, self.asking.code
        label, certified = region.label[a], region.certified
        is_new = self._is_new(a)
        for role, b, inserted in edges:
            b = find(b)
            if b in inside or b in found:
                continue
            asks = code(role, label, NEW, certified[b])
            if (
                asks
                and not is_new
                and not self._is_new(b)
                and (not inserted or (role, b, False) in edges)
            ):
                asks = code(role, label, certified[a], certified[b])
            if asks:
                found[b] = asks

    def _is_new(self, key: int) -> bool:
        """Whether A does not have the element as it is now."""
        return key >= FRESH or key in self.walk.joined or self.region.is_joined(key)

    def adopt(self) -> Bools:
        """Takes over into ``state`` what came of the turns; which elements have changed or come in."""
        state, graph, walk = self.state, self.state.graph, self.walk
        reps = adopt(graph, walk, [*self._changed, *self.codes])
        state.active = active_after(graph, state.active, reps)
        inside = np.array(list(self.codes), np.int64)
        number = graph.rep[graph.locate(inside)]
        state.pulled_in.note(number, np.array(list(self.codes.values()), np.int64))
        state.inside[number] = True
        found = np.zeros(len(graph), np.bool_)
        found[reps] = True
        return found
