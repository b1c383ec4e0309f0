"""Cache of the role assertions of elements as plain dictionaries, for walks from one element to the
next.

A walk goes one step at a time, and an array of one row costs as much as one of a thousand. So
elements with nearby numbers are fetched together, the more of them, the more often something was
missing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiq.abox_ops.elements.base import FRESH
from shiq.abox_ops.elements.graph import Graph, elements_by_key
from shiq.columns.arrays import Ints, insertion_points, unique
from shiq.columns.rows import DIFFERENT

#: A role assertion from one end: role number, the other end, whether the batch inserts it.
HalfEdge = tuple[int, int, bool]

#: told_N of elements by their keys, labels, and numbers in the graph (-1 for those that it has not
#: met).
CertifiedLabels = Callable[[Ints, Ints, Ints], Ints]

#: Elements with more role assertions are not for walks.
_WIDE = 512
#: Numbers around the one asked for that are fetched with it: about what costs as much as asking
#: once more.
_AROUND = 256


class ElementCache:
    """Cache of labels and role assertions of elements as dictionaries, for walks from element to
    element.

    Elements are given by *key*, that of their representative in ``graph``, which is not changed.

    label: the label in ``graph``, or in A for elements that ``graph`` does not have.
    model_label: told_N, where it is asked for.
    number: the number of elements that ``graph`` has.
    unequal_keys: elements with an asserted inequality.
    wide_keys: elements with too many role assertions for a walk; these are not fetched.
    """

    def __init__(self, graph: Graph, certified: CertifiedLabels | None = None) -> None:
        self.graph, self._certified = graph, certified
        self.label: dict[int, int] = {}
        self.model_label: dict[int, int] = {}
        self.number: dict[int, int] = {}
        self.unequal_keys: set[int] = set()
        self.wide_keys: set[int] = set()
        self.fetches = 0
        self._edges: dict[int, list[HalfEdge]] = {}
        self._parts: dict[int, list[int]] = {}
        joined = np.flatnonzero(graph.rep != np.arange(len(graph)))
        for part, whole in zip(graph.key[joined].tolist(), graph.key[graph.rep[joined]].tolist()):
            self._parts.setdefault(whole, [whole]).append(part)
        self._have_pairs = graph.union.has_rows("pairs")

    def is_joined(self, key: int) -> bool:
        """Decide whether the batch made the element of several elements of A."""
        return key in self._parts

    def edges_of(self, key: int) -> list[HalfEdge]:
        """The role assertions of an element, fetched on first use; empty for a hub with too many
        (`wide_keys`).
        """
        found = self._edges.get(key)
        if found is None:
            self._fetch_with_nearby(key)
            found = self._edges[key]
        return found

    def set_edges(self, key: int, edges: list[HalfEdge]) -> None:
        """Replace the role assertions of an element."""
        self._edges[key] = edges

    def _fetch_with_nearby(self, key: int) -> None:
        """Fetch the role assertions of an element, together with those of elements with nearby
        keys.
        """
        parts = self._parts.get(key)
        self._edges[key] = []
        self._read_edges(
            np.array(sorted(parts), np.int64) if parts else self._nearby_keys(key), key
        )

    def _nearby_keys(self, key: int) -> Ints:
        """The keys to fetch together with ``key``, ascending.

        Whenever the number of fetches has doubled, a wider range is fetched.
        """
        self.fetches += 1
        doubled = self.fetches & (self.fetches - 1) == 0
        width = _AROUND * (self.fetches if doubled and self.fetches > 1 else 1)
        numbers = np.arange(
            max(key - width // 4, FRESH if key >= FRESH else 0), key + width, dtype=np.int64
        )
        return (
            unique(self.graph.base_elements.keys_of(numbers))
            if key < FRESH and len(self.graph.base_elements.equality)
            else numbers
        )

    def _read_edges(self, keys: Ints, asked: int) -> None:
        """Read the role assertions of ``keys`` into the cache; those of hubs are noted as
        `wide_keys`.
        """
        graph = self.graph
        node, key = self._members_of_keys(keys)
        is_wide = self._estimate_degrees(node) > _WIDE
        self.wide_keys.update(key[is_wide].tolist())
        node, key = node[~is_wide], key[~is_wide]
        rows = graph.union.rows_of("half_edges", node)
        source = key[node.searchsorted(rows["node"])]
        target = graph.base_elements.keys_of(rows["neighbour"])
        met = unique(np.concatenate([source, target, np.array([asked], np.int64)]))
        stands_for = self.note_elements(met)
        wholes = dict(zip(met.tolist(), stands_for.tolist()))
        columns = (
            source.tolist(),
            rows["role"].tolist(),
            stands_for[insertion_points(met, target)].tolist(),
            rows["inserted"].tolist(),
        )
        edges, parts = self._edges, self._parts
        is_part = asked in parts
        mine: dict[int, list[HalfEdge]] = {asked: edges[asked]}
        for a, role, b, inserted in zip(*columns):
            whole = wholes[a]
            if (
                (whole == asked)
                if is_part
                else (whole not in parts and (whole == asked or whole not in edges))
            ):
                mine.setdefault(whole, []).append((role, b, inserted))
        edges.update(mine)
        if not self.wide_keys.isdisjoint(parts.get(asked, (asked,))):
            self.wide_keys.add(asked)
        if self._have_pairs:
            pairs = graph.union.rows_of("pairs", node)
            differs = pairs["kind"] // 2 * 2 == DIFFERENT
            self.unequal_keys.update(
                wholes.get(k, k) for k in key[node.searchsorted(pairs["node"][differs])].tolist()
            )

    def _estimate_degrees(self, node: Ints) -> Ints:
        """Estimate the number of role assertions of each node (ascending)."""
        whole, name = self.graph.union, "half_edges"
        found = whole.inserted_tables[name].degrees(node)
        old = node < FRESH
        if old.any() and len(whole.base.table(name)):
            found[old] += whole.base.table(name).degrees(node[old])
        return found

    def _members_of_keys(self, keys: Ints) -> tuple[Ints, Ints]:
        """List (node, key) for each member of the elements ``keys``, by node."""
        is_old = keys < FRESH
        if not len(self.graph.base_elements.equality) or not is_old.any():
            return keys, keys
        key, node = self.graph.base_elements.members(keys)
        order = node.argsort()
        return node[order], key[order]

    def note_elements(self, keys: Ints) -> Ints:
        """Put labels and element numbers of ``keys`` into the cache; return the keys of their
        representatives.
        """
        graph = self.graph
        number = elements_by_key(graph, keys)
        is_known = number >= 0
        found, label = keys.copy(), np.zeros(len(keys), np.int64)
        found[is_known], label[is_known] = (
            graph.key[number[is_known]],
            graph.label[number[is_known]],
        )
        old = ~is_known & (keys < FRESH)
        label[old] = graph.base_elements.label_of(keys[old])
        new = [key not in self.label for key in found.tolist()]
        self.label.update(zip(found[new].tolist(), label[new].tolist()))
        self.number.update(zip(found[is_known].tolist(), number[is_known].tolist()))
        if self._certified is not None:
            told_n = self._certified(found[new], label[new], number[new])
            self.model_label.update(zip(found[new].tolist(), told_n.tolist()))
        return found
