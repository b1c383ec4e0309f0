"""How far a patch in columns goes at once where rounds repeat: `abox_ops.patch.stride` (THEORY,
"Strides").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from abox_ops.elements.columns import Graph, flags
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import Bools
from abox_ops.patch.effort import Effort
from abox_ops.patch.stride import ModuleSurroundings, strides, surroundings
from abox_ops.patch.widening_columns import WidenedState
from abox_ops.told.region import CertifiedLabels, HalfEdge, Region
from shiq.columns.arrays import NONE, Ints


def stride(state: WidenedState, begun: Mapping[int, Effort]) -> Ints:
    """Raises the efforts of what comes in with ``begun``, elements outside I by number; gives
    these elements.
    """
    graph, walk = state.graph, _OuterEdges(state)
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


class _OpenEdges:
    """Role assertions that labels leave open, by key."""

    def __init__(
        self,
        graph: Graph,
        calculus: Calculus,
        inside: Bools,
        certified: CertifiedLabels | None = None,
    ) -> None:
        self.graph, self.region, self._inside = graph, Region(graph, certified), inside.copy()
        self._undecided = calculus.role_calculus.undecided

    def lead_to(self, key: int, near: Mapping[int, int], far: Mapping[int, int]) -> Iterator[int]:
        """The far ends of those of the element ``key``; ``near``: its label, ``far``: theirs."""
        edges = self._edges_of(key)
        label = near[key]
        return (b for role, b, _ in edges if self._undecided(role, label, far[b]))

    def is_inside(self, key: int) -> bool:
        """Whether an element is in I."""
        number = self.region.known.get(key, -1)
        return 0 <= number < len(self._inside) and bool(self._inside[number])

    def _edges_of(self, key: int) -> list[HalfEdge]:
        found = self.region.edges_of(key)
        if key in self.region.wide and not found:
            graph = self.graph
            number = graph.locate(np.array([key]))
            element = graph.rep[number]
            graph.expand(element)
            _, role, target = graph.half_edges(flags(len(graph), element))
            self.region.take_in(graph.key[target])
            found = [(r, b, False) for r, b in zip(role.tolist(), graph.key[target].tolist())]
            self.region.put(key, found)
        return found


class _OuterEdges(_OpenEdges):
    """Those that lead out of I."""

    def __init__(self, state: WidenedState) -> None:
        super().__init__(state.graph, state.calculus, state.inside, state.certified_of)

    def onward(self, key: int, is_plain: bool) -> Iterator[int]:
        """See `abox_ops.patch.stride.Onward`."""
        certified = self.region.certified
        found = self.lead_to(key, self.region.label if is_plain else certified, certified)
        return (b for b in found if not self.is_inside(b))


class InnerEdges(_OpenEdges):
    """Those within I that told⁺ leaves open; of a range all elements are in I."""

    def __init__(self, graph: Graph, calculus: Calculus, inside: Bools | None) -> None:
        super().__init__(graph, calculus, flags(0, NONE) if inside is None else inside)
        self._is_everyone = inside is None

    def surroundings(self, keys: Ints, effort: Effort) -> ModuleSurroundings[int]:
        """See `abox_ops.patch.stride.surroundings`; elements by their keys."""
        return surroundings(keys.tolist(), effort, self._onward)

    def _onward(self, key: int) -> Iterator[int]:
        label = self.region.label
        return (
            b for b in self.lead_to(key, label, label) if self._is_everyone or self.is_inside(b)
        )
