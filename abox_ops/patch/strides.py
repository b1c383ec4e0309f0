"""Strides: growing I by several levels at once where rounds repeat (THEORY, "Strides").

Border rules bring in one element behind the other, a round each, and a round looks at all of I. The
*depth* of an element counts the role assertions from where it began (`shiq.abox_ops.patch.effort`).
From `DEEP` on, as many further levels of open role assertions come in at once, so the depth doubles
with each round. `elements_by_strides` is the walk; `raise_stride_efforts` walks over a region.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from shiq.abox_ops.elements.graph import Graph, flags
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.patch.effort import DEEP, Effort
from shiq.abox_ops.patch.inside_region import PatchRegion
from shiq.abox_ops.told.element_cache import CertifiedLabels, ElementCache, HalfEdge
from shiq.columns.arrays import NONE, Ints, unique

E = TypeVar("E", bound=Hashable)

#: Elements next to a module that failed; if there are more they do not know of it.
WIDEST_RIM = 512

#: The elements outside I that role assertions of an element lead to which labels leave open: told_N
#: of the far end, and of the element told_N, or, where it would be plain in I, told⁺.
Onward = Callable[[E, bool], Iterable[E]]


def elements_by_strides(
    pulled: Mapping[E, Effort], onward: Onward[E]
) -> Iterator[tuple[E, Effort, E]]:
    """Yield the elements up to several levels away that enter the region I together with those in
    ``pulled``.

    Each with its effort and the one of ``pulled`` that it is near. Elements of one effort go
    together.
    """
    together: dict[Effort, list[E]] = {}
    for begun, effort in pulled.items():
        together.setdefault(effort, []).append(begun)
    for effort, several in together.items():
        for element, (hops, begun) in _elements_within_stride(several, effort, onward).items():
            yield element, replace(effort, depth=effort.depth + hops), begun


def _elements_within_stride(
    start: Sequence[E], effort: Effort, onward: Onward[E]
) -> dict[E, tuple[int, E]]:
    """Find the elements within the stride of ``start``: for each, its distance and the element it
    was reached from.

    Whole levels are taken, as many as the depth, while there are at most 2 · depth elements for
    each of ``start``.
    """
    reached = {x: (0, x) for x in start}
    level = reached
    for hops in range(effort.depth if effort.depth >= DEEP else 0):
        level = {
            y: (hops + 1, origin)
            for x, (_, origin) in level.items()
            for y in onward(x, effort.is_closed)
            if y not in reached
        }
        if not level or len(reached) + len(level) > 2 * effort.depth * len(start):
            break
        reached.update(level)
    return reached


@dataclass(frozen=True, slots=True)
class ModuleSurroundings(Generic[E]):
    """The elements in and around a failed module that change with it.

    plain: the elements that become plain, its own among them. rim: the elements next to these.
    effort: the new effort of both.
    """

    plain: Collection[E]
    rim: Collection[E]
    effort: Effort


def surroundings(
    elements: Collection[E], effort: Effort, onward: Callable[[E], Iterable[E]]
) -> ModuleSurroundings[E]:
    """Find the elements around a failed module of ``elements`` that change with it, given the
    ``effort`` of the module.

    ``onward``: see `Onward`, within I.

    Around a closed module whole levels become plain, with at most twice the effort's elements; the
    first level always. A rim that is too large is dropped.
    """
    reached, level = dict.fromkeys(elements), list(elements)
    most, is_first = len(elements) + 2 * effort.elements, True
    while level := list(dict.fromkeys(y for x in level for y in onward(x) if y not in reached)):
        if not effort.is_closed or not (is_first or len(reached) + len(level) <= most):
            break
        reached.update(dict.fromkeys(level))
        is_first = False
    count = effort.elements + len(reached) - len(elements)
    rim = level if len(level) <= max(most, WIDEST_RIM) else ()
    return ModuleSurroundings(reached, rim, Effort(effort.turns, count))


def raise_stride_efforts(state: PatchRegion, start: Mapping[int, Effort]) -> Ints:
    """Find the elements that enter the region I several levels around ``start``, and raise their
    efforts; return these elements.

    ``start``: elements outside I, by number.
    """
    graph = state.graph
    walk = OpenEdges(graph, state.calculus, state.is_inside, state.model_labels_of)
    pulled = {int(graph.key[number]): effort for number, effort in start.items()}
    found = list(elements_by_strides(pulled, partial(outer_neighbours, walk)))
    if not found:
        return NONE
    keys, efforts, origins = zip(*found)
    numbers = graph.locate(np.array(keys + origins, np.int64))
    elements, near = np.split(graph.rep[numbers], 2)
    state.effort.raise_each(elements, efforts)
    state.pulled_in.note(elements, state.pulled_in.codes(graph)[near])
    # What was read of A is known to have been.
    graph.fetch_edges(unique(elements))
    return elements


class OpenEdges:
    """Walk over the role assertions that labels leave undecided; elements by key. ``inside``: a flag
    by number; None: all elements are in I, as in a range.
    """

    def __init__(
        self,
        graph: Graph,
        calculus: NumberedCalculus,
        inside: Bools | None,
        certified: CertifiedLabels | None = None,
    ) -> None:
        self.graph, self.cache = graph, ElementCache(graph, certified)
        self._is_inside = None if inside is None else inside.copy()
        self._undecided = calculus.role_propagation.undecided_clauses

    def open_neighbours(
        self, key: int, labels: Mapping[int, int], neighbour_labels: Mapping[int, int]
    ) -> Iterator[int]:
        """Yield the neighbours of the element ``key`` over undecided role assertions.

        ``labels``: labels to use for the element, ``neighbour_labels``: for the far ends.
        """
        edges = self._fetch_edges_of(key)
        label = labels[key]
        return (b for role, b, _ in edges if self._undecided(role, label, neighbour_labels[b]))

    def is_inside(self, key: int) -> bool:
        """Decide whether an element is in the region I."""
        number, inside = self.cache.number.get(key, -1), self._is_inside
        return inside is None or (0 <= number < len(inside) and bool(inside[number]))

    def _fetch_edges_of(self, key: int) -> list[HalfEdge]:
        """The role assertions of an element; read from the graph where the cache leaves out those
        of a hub.
        """
        found = self.cache.edges_of(key)
        if key in self.cache.wide_keys and not found:
            graph = self.graph
            number = graph.locate(np.array([key]))
            element = graph.rep[number]
            graph.fetch_edges(element)
            _, role, target = graph.edges.half_edges(flags(len(graph), element))
            self.cache.note_elements(graph.key[target])
            found = [(r, b, False) for r, b in zip(role.tolist(), graph.key[target].tolist())]
            self.cache.set_edges(key, found)
        return found

    def surroundings(self, keys: Ints, effort: Effort) -> ModuleSurroundings[int]:
        """Find the elements around a failed module of ``keys`` that change with it, given the
        ``effort`` of the module.
        """
        return surroundings(keys.tolist(), effort, self._inner_neighbours)

    def _inner_neighbours(self, key: int) -> Iterator[int]:
        """Yield the neighbours in the region I of ``key`` over role assertions that told literals
        leave undecided.
        """
        label = self.cache.label
        return (b for b in self.open_neighbours(key, label, label) if self.is_inside(b))


def outer_neighbours(walk: OpenEdges, key: int, is_plain: bool) -> Iterator[int]:
    """Yield the elements outside the region I that an undecided role assertion links to ``key``;
    ``is_plain``: undecided by told literals alone.
    """
    certified = walk.cache.model_label
    found = walk.open_neighbours(key, walk.cache.label if is_plain else certified, certified)
    return (b for b in found if not walk.is_inside(b))
