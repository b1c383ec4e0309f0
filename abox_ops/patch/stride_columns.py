"""How far a patch in columns goes at once where rounds repeat: `abox_ops.patch.stride` (THEORY, "Strides")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from abox_ops.elements.columns import flags
from abox_ops.patch.effort import Effort
from abox_ops.patch.stride import strides
from abox_ops.patch.widening_columns import WidenedState
from abox_ops.told.region import HalfEdge, Region
from shiq.columns.arrays import Ints


def stride(state: WidenedState, begun: Mapping[int, Effort]) -> Ints:
    """Raises the efforts of what comes in with ``begun``, elements outside I by number; gives these elements."""
    graph, walk = state.graph, _Walk(state)
    codes = state.pulled_in.codes(graph)
    found: list[Ints] = [np.array(list(begun), np.int64)]
    for number, effort in begun.items():
        further = strides({int(graph.key[number]): effort}, walk.onward)
        numbers = graph.locate(np.array(list(further), np.int64))
        elements = graph.rep[numbers]
        state.effort.raise_each(elements, list(further.values()))
        state.pulled_in.note(elements, int(codes[number]))
        found.append(elements)
    elements = np.concatenate(found)
    # What was read of A is known to have been.
    graph.expand(elements)
    return elements


class _Walk:
    """Role assertions outside I that the labels leave open, by key."""

    def __init__(self, state: WidenedState) -> None:
        self.state, self.region = state, Region(state.graph, state.certified_of)
        self._inside = state.inside.copy()

    def onward(self, key: int, is_plain: bool) -> Iterator[int]:
        """See `abox_ops.patch.stride.Onward`."""
        undecided, certified, edges = self.state.calculus.role_calculus.undecided, self.region.certified, self._edges_of(key)
        label = self.region.label[key] if is_plain else certified[key]
        for role, b, _ in edges:
            number = self.region.known.get(b, -1)
            is_inside = 0 <= number < len(self._inside) and self._inside[number]
            if not is_inside and undecided(role, label, certified[b]):
                yield b

    def _edges_of(self, key: int) -> list[HalfEdge]:
        found = self.region.edges_of(key)
        if key in self.region.wide and not found:
            graph = self.state.graph
            element = np.array([self.region.known[key]])
            graph.expand(element)
            _, role, target = graph.half_edges(flags(len(graph), element))
            self.region.take_in(graph.key[target])
            found = [(r, b, False) for r, b in zip(role.tolist(), graph.key[target].tolist())]
            self.region.put(key, found)
        return found
