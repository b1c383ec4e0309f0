"""Compute told literals by a work list, element after element, for chains and lists where each
round would change little (THEORY, "Maintenance of the told sets": the work list).

A round of `shiq.abox_ops.told.told_literals` costs what arrays cost, for each step. A work list looks
only at the role assertions of changed elements. It may stop at any step: the fixpoint does not
depend on the order, and rounds go on from there.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from shiq.abox_ops.elements.graph import Graph, extend_flags, flags
from shiq.abox_ops.labels.label_calculus import clashes, is_refuted
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.told.element_cache import ElementCache, HalfEdge
from shiq.columns.arrays import Ints, unique
from shiq.support import cached_method


class WorkList:
    """Work list that saturates the told labels in ``cache``, element after element.

    Literals run between ``active`` elements. ``from_outside``: see
    `shiq.abox_ops.told.told_literals.saturate`.

    Elements are keys; `representative_of` gives the representative.

    changed_keys: elements with a new label, or merged ones. unions: pairs that became one.
    steps: number of elements examined. has_clash: whether one of ``changed_keys`` clashes.
    has_stopped: whether an element was met that only rounds can handle.
    """

    def __init__(
        self,
        calculus: NumberedCalculus,
        region: ElementCache,
        active: set[int],
        *,
        from_outside: bool = False,
    ) -> None:
        self.calculus, self.cache, self.active_keys, self._from_outside = (
            calculus,
            region,
            active,
            from_outside,
        )
        self.changed_keys: dict[int, None] = {}
        self.unions: list[tuple[int, int]] = []
        self.merged_keys: set[int] = set()
        self.todo: dict[int, None] = {}
        self.steps = 0
        self.has_stopped = self.has_clash = False
        self._root: dict[int, int] = {}
        self._send_memo: dict[tuple[int, int, int], tuple[int, int]] = {}
        roles = range(len(calculus.roles))
        self._bounds = [
            (
                c,
                frozenset(r for r in roles if calculus.roles[r] in calculus.space.roles_below(c)),
                c.branch_body,
            )
            for c in calculus.functional_clauses
        ]

    def representative_of(self, key: int) -> int:
        """The key of the representative of an element."""
        root = self._root
        while key in root:
            key = root[key]
        return key

    def run_until_done(self) -> None:
        """Work until the list is empty, or until an element is met that only rounds can handle."""
        bounded = frozenset[int]().union(*(below for _, below, _ in self._bounds))
        while self.todo and not self.has_stopped:
            key, _ = self.todo.popitem()
            self.steps += 1
            edges = self._edges_or_stop(key)
            if self._send_along(key, edges):
                self.todo[key] = None
            elif bounded and not self.has_stopped:
                self._merge_around(key, edges, bounded)

    def _edges_or_stop(self, key: int) -> list[HalfEdge]:
        """The role assertions of an element; for a hub none, and the work list stops."""
        edges = self.cache.edges_of(key)
        self.has_stopped = self.has_stopped or key in self.cache.wide_keys
        return edges

    def _send_along(self, x: int, edges: list[HalfEdge]) -> bool:
        """Send literals along the role assertions of ``x``; return whether the label of ``x``
        itself changed.
        """
        label, active, known, root = self.cache.label, self.active_keys, self._send_memo, self._root
        before = label[x]
        for role, y, _ in edges:
            if root:
                y = self.representative_of(y)
            is_active = y in active
            if not is_active and not self._from_outside:
                continue
            key = (role, label[x], label[y])
            found = known.get(key)
            if found is None:
                found = known[key] = self._labels_after(*key)
            if found[0] != label[x]:
                self._set_label(x, found[0])
            if is_active and found[1] != label[y]:
                self._set_label(
                    y, found[1] if x != y else self.calculus.table.extend(label[x], found[1])
                )
        return label[x] != before

    def _labels_after(self, role: int, subject: int, object: int) -> tuple[int, int]:
        """Compute the labels of both ends after a role assertion has sent literals between them."""
        extend = self.calculus.table.extend
        to_subject, to_object = self.calculus.role_propagation.send_one(role, subject, object)
        return extend(subject, to_subject) if to_subject else subject, extend(
            object, to_object
        ) if to_object else object

    def _set_label(self, key: int, label: int) -> None:
        """Set the label of an element, and put it on the list."""
        self.cache.label[key] = label
        self.changed_keys[key] = None
        self.todo[key] = None
        self.has_clash = self.has_clash or clashes(self.calculus.table.labels[label])

    # --- equalities -------------------------------------------------------------------------------

    def _merge_around(self, key: int, edges: list[HalfEdge], bounded: frozenset[int]) -> None:
        """Merge the elements that a ≤1 S.C forces to be equal at ``key`` and at its neighbours.
        ``bounded``: the roles below any such S.
        """
        centres = {self.representative_of(y): None for role, y, _ in edges if role ^ 1 in bounded}
        for centre in (key, *centres):
            if centre in self.active_keys or self._from_outside:
                self._merge_at(self.representative_of(centre))

    def _merge_at(self, centre: int) -> None:
        """Merge the told neighbours of ``centre`` that its ≤1 S.C in force make equal."""
        label, labels = self.cache.label, self.calculus.table.labels
        for below, filler in self._bounds_in_force(label[centre]):
            edges = self._edges_or_stop(centre)
            ends = {self.representative_of(y) for role, y, _ in edges if role in below}
            if len(ends) > 1:
                ends = {y for y in ends if not filler & ~labels[label[y]][0]}
            if len(ends) > 1 and not self.has_stopped:
                self._merge_parts(ends)
                centre = self.representative_of(centre)

    @cached_method
    def _bounds_in_force(self, label: int) -> list[tuple[frozenset[int], int]]:
        """List, for each ≤1 S.C in force at a label, the ids of the roles below S, and the bitmask
        of C.
        """
        literals = self.calculus.table.labels[label]
        return [
            (below, filler)
            for c, below, filler in self._bounds
            if is_refuted(c.literals_at(False), literals)
        ]

    def _merge_parts(self, keys: set[int]) -> None:
        """Merge the elements ``keys`` into the one with the most role assertions."""
        region = self.cache
        edges = {part: self._edges_or_stop(part) for part in keys}
        # What is asserted to differ is known of those whose role assertions are.
        self.has_stopped = self.has_stopped or not region.unequal_keys.isdisjoint(keys)
        if self.has_stopped:
            return
        whole = max(keys, key=lambda part: (len(edges[part]), -part))
        label = region.label[whole]
        together = edges[whole] = list(edges[whole])
        for part in keys - {whole}:
            label = self.calculus.table.extend(label, region.label[part])
            together += edges[part]
            self._root[part] = whole
            self.unions.append((part, whole))
            self.changed_keys.pop(part, None)
            self.todo.pop(part, None)
        region.set_edges(whole, together)
        self.active_keys.add(whole)
        self.merged_keys.add(whole)
        self._set_label(whole, label)


def saturate_active_by_list(
    calculus: NumberedCalculus, graph: Graph, active: Bools, changed: Bools, *, from_outside: bool
) -> tuple[Bools, Bools, int]:
    """Saturate told labels from the ``changed`` elements by a work list. Returns: the active
    elements, those that have changed, and the number of steps.
    """
    region = ElementCache(graph)
    walk = WorkList(calculus, region, set(graph.key[active].tolist()), from_outside=from_outside)
    walk.todo = dict.fromkeys(graph.key[changed & active].tolist())
    walk.run_until_done()
    reps = write_back_work_list(graph, walk, walk.changed_keys)
    begun = changed.nonzero()[0]
    return (
        active_after_merges(graph, active, reps),
        flags(len(graph), graph.rep[np.concatenate([begun, reps])]),
        walk.steps,
    )


class _EveryElement(set[int]):
    """A set that claims to contain every element."""

    def __contains__(self, key: object) -> bool:
        return True


def saturate_all_by_list(
    calculus: NumberedCalculus, graph: Graph, changed: Ints
) -> tuple[Ints, int]:
    """Saturate from the ``changed`` elements of A ∪ A⁺ by a work list in which every element takes
    part. Returns: the changed elements, and the number of steps.
    """
    walk = WorkList(calculus, ElementCache(graph), _EveryElement())
    walk.todo = dict.fromkeys(graph.key[changed].tolist())
    walk.run_until_done()
    reps = write_back_work_list(graph, walk, walk.changed_keys)
    return unique(graph.rep[np.concatenate([changed, reps])]), walk.steps


def write_back_work_list(graph: Graph, walk: WorkList, keys: Iterable[int]) -> Ints:
    """Write the labels and merges of a work list into ``graph``; return the element numbers of
    ``keys`` there.
    """
    chosen = np.array([*dict.fromkeys(map(walk.representative_of, keys))], np.int64)
    number = graph.locate(chosen)
    if walk.unions:
        first, second = (graph.locate(np.array(ends, np.int64)) for ends in zip(*walk.unions))
        graph.join(first, second)
    graph.fetch_edges(graph.rep[number])
    reps: Ints = graph.rep[number]
    label = walk.cache.label
    graph.label[reps] = np.array([label[key] for key in chosen.tolist()], np.int64)
    return reps


def active_after_merges(graph: Graph, active: Bools, reps: Ints) -> Bools:
    """Extend the ``active`` flags by the elements ``reps``, and drop elements that were merged into
    others.
    """
    found = extend_flags(active, len(graph))
    found[reps] = True
    found &= graph.rep == np.arange(len(graph))
    return found
