"""Deletion by delete and rederive: update the index of A when assertions go (THEORY, "Maintenance
of the told sets").

Told literals may support each other in circles, so everything that propagation could have
derived from what is deleted is taken away first, by a forward walk over role assertions; then it
is derived again from what is left. An element that loses something is taken apart into its
asserted equals first. The work is bounded by that walk, not by A.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiq.abox_ops.elements.base import Base, OverlayBase
from shiq.abox_ops.elements.graph import BaseElements, Graph, empty_labels, extend_flags, flags
from shiq.abox_ops.elements.quotient import component_minima, regroup_after_deletion
from shiq.abox_ops.index.index import Index, ToldLabelTable, least_nodes, view_without_batch
from shiq.abox_ops.labels.label_calculus import (
    Label,
    LabelCalculus,
    is_refuted,
    is_satisfied,
)
from shiq.abox_ops.labels.label_numbers import EMPTY_ID, Bools, distinct_rows
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.told.element_cache import ElementCache
from shiq.abox_ops.told.told_literals import RoundSizes, asserted_labels, refuted_labels, saturate
from shiq.columns.arrays import Ints, is_in, replace_rows, set_difference, unique
from shiq.columns.rows import SAME
from shiq.model.roles import Role, RoleBox
from shiq.support import cached_method


def index_after_deletion(
    index: Index, base: Base, remaining: OverlayBase, touched: Ints, roles: RoleBox
) -> Index:
    """Update ``index`` of ``base`` to that of ``remaining``, which lacks the assertions deleted at the
    ``touched`` nodes.
    """
    lost = _find_lost_nodes(index, base, remaining, roles, touched)
    return _rederive_elements(index, remaining, roles, lost)


# --- what may be lost -----------------------------------------------------------------------------


def _find_lost_nodes(
    index: Index, base: Base, remaining: OverlayBase, roles: RoleBox, touched: Ints
) -> Ints:
    """Find the nodes of elements that may lose literals or members by the deletions at ``touched``
    nodes.
    """
    calculus = index.calculus
    old = Graph(view_without_batch(base), roles, index.base_elements())
    left = Graph(view_without_batch(remaining), roles, index.base_elements())
    frontier, pace = unique(old.elements_of(touched)), RoundSizes()
    lost = flags(len(old), frontier)
    while len(frontier):
        if pace.should_use_work_list(len(frontier), len(old)):
            walk = _LostElementWalk(calculus, old, left, lost)
            walk.run(old.key[frontier].tolist())
            more = old.locate(np.array([*walk.todo, *walk.lost_keys], np.int64))
            frontier, more = more[: len(walk.todo)], more[len(walk.todo) :]
            lost = extend_flags(lost, len(old))
            lost[more] = True
            pace.note_list_steps(len(walk.lost_keys))
        old.fetch_edges(frontier)
        lost = extend_flags(lost, len(old))
        certain = np.full(len(old), EMPTY_ID, np.int64)
        certain[frontier] = _certain_labels(calculus, left, old.key[frontier])
        source, role, target = old.edges.half_edges(flags(len(old), frontier))
        outside = ~lost[target]
        source, role, target = source[outside], role[outside], target[outside]
        hit = _may_have_sent_each(
            calculus, role, old.label[source], certain[source], old.label[target]
        )
        hit |= _have_several_members(old, target)
        frontier = unique(target[hit])
        lost[frontier] = True
    chosen = np.flatnonzero(lost)
    old.fetch_members(chosen)
    return np.sort(old.nodes_of(chosen)[1])


class _LostElementWalk:
    """Work list over elements that may lose literals, for chains where each round over arrays would
    find few. Elements are keys.

    lost: known lost elements, a flag by number.
    lost_keys: further lost elements found.
    todo: elements to go on from; at the end, those left to the rounds over arrays.
    """

    def __init__(self, calculus: NumberedCalculus, old: Graph, left: Graph, lost: Bools) -> None:
        self.calculus, self.old_graph, self.remaining_graph = calculus, old, left
        self.cache = ElementCache(old)
        self.lost_keys: dict[int, None] = {}
        self.todo: list[int] = []
        self._lost = set(old.key[lost].tolist())
        self._certain_label: dict[int, int] = {}
        self._merged_keys: set[int] = set()

    def run(self, start: list[int]) -> None:
        """Search from the elements ``start`` until none is left, or until an element has too many
        role assertions.
        """
        region, lost, self.todo = self.cache, self._lost, start
        while self.todo:
            key = self.todo.pop()
            edges = region.edges_of(key)
            if key in region.wide_keys:
                self.todo.append(key)
                return
            if not self._certain_label.keys() >= {key, *(b for _, b, _ in edges)}:
                self._fetch_met_elements()
            label, certain = region.label[key], self._certain_label[key]
            for role, b, _ in edges:
                if b not in lost and (
                    b in self._merged_keys
                    or self._may_have_sent_literal(role, label, certain, region.label[b])
                ):
                    lost.add(b)
                    self.lost_keys[b] = None
                    self.todo.append(b)

    def _fetch_met_elements(self) -> None:
        """Fetch the certain labels of elements that were seen since the last call."""
        keys = np.array(
            [key for key in self.cache.label if key not in self._certain_label], np.int64
        )
        self._certain_label.update(
            zip(keys.tolist(), _certain_labels(self.calculus, self.remaining_graph, keys).tolist())
        )
        self._merged_keys.update(keys[_have_several_by_key(self.old_graph, keys)].tolist())

    @cached_method
    def _may_have_sent_literal(self, role: int, label: int, certain: int, other: int) -> bool:
        """Decide whether a role assertion may have given its other end a literal that rests on one
        outside ``certain``; cached.
        """
        space, labels = self.calculus.space, self.calculus.table.labels
        return may_have_sent(
            space, self.calculus.roles[role], labels[label], labels[certain], labels[other]
        )


def _certain_labels(calculus: NumberedCalculus, remaining_graph: Graph, keys: Ints) -> Ints:
    """Compute the literals that follow at each element from its remaining assertions alone; none
    for elements of several individuals.
    """
    numbers = remaining_graph.locate(keys)
    remaining_graph.fetch_members(numbers)
    ordered = np.sort(numbers)
    label = calculus.table.join(
        asserted_labels(calculus, remaining_graph, ordered),
        refuted_labels(calculus, remaining_graph, ordered),
    )
    label = calculus.table.close(label)
    found: Ints = label[np.searchsorted(ordered, numbers)]
    found[_have_several_members(remaining_graph, numbers)] = EMPTY_ID
    return found


def _have_several_members(graph: Graph, elements: Ints) -> Bools:
    """Decide whether each element is made of several individuals."""
    return _have_several_by_key(graph, graph.key[elements])


def _have_several_by_key(graph: Graph, keys: Ints) -> Bools:
    """Decide whether each element, given by its key, is made of several individuals."""
    if not len(graph.base_elements.equality):
        return np.zeros(len(keys), np.bool_)
    ordered = unique(keys)
    group, _ = graph.base_elements.equality.members(ordered)
    several = ordered[np.bincount(np.searchsorted(ordered, group), minlength=len(ordered)) > 1]
    return is_in(keys, several)


def _may_have_sent_each(
    calculus: NumberedCalculus, role: Ints, source: Ints, certain: Ints, target: Ints
) -> Bools:
    """Decide for each role assertion whether it may have given its object a literal that rests on
    an uncertain one of its subject.
    """
    reduced = calculus.role_propagation.reduce_labels
    found, which = distinct_rows(
        role, reduced(role, source), reduced(role, certain), reduced(role ^ 1, target)
    )
    labels, space = calculus.table.labels, calculus.space
    answers = [
        may_have_sent(space, calculus.roles[r], labels[a], labels[k], labels[b])
        for r, a, k, b in found
    ]
    return np.array(answers, np.bool_)[which]


def may_have_sent(
    space: LabelCalculus, role: Role, source: Label, certain: Label, target: Label
) -> bool:
    """Decide whether some u-type clause on ``role`` may have sent a literal to the object because
    of an uncertain one at the subject.

    All its literals at the subject are refuted there, one of them by a literal that is not
    ``certain``. One of its literals at the object holds there.
    """

    def may_send(here: Label, there: Label) -> bool:
        """Decide whether a clause may have sent a literal from one end to the other."""
        head, body = here
        uncertain = head & source[1] & ~certain[1] or body & source[0] & ~certain[0]
        return bool(uncertain) and is_refuted(here, source) and is_satisfied(there, target)

    return any(
        may_send(ends.near_literals, ends.far_literals)
        for ends in space.clause_ends(role)
        if not ends.clause.n
    )


# --- what is derived again ------------------------------------------------------------------------


def _rederive_elements(index: Index, remaining: OverlayBase, roles: RoleBox, lost: Ints) -> Index:
    """Recompute the elements of the ``lost`` nodes (ascending) in ``index`` from ``remaining`` alone."""
    calculus = index.calculus
    parts = _least_equal_nodes(remaining, lost)
    names = unique(parts)

    def labels(elements: Ints, label: Ints) -> ToldLabelTable:
        """Labels of the index, with those of the lost elements replaced."""
        rows = {"element": elements, "label": label}
        return ToldLabelTable(
            replace_rows(index.labels.table, np.concatenate([names, elements]), rows)
        )

    graph = Graph(
        view_without_batch(remaining),
        roles,
        BaseElements(
            index.equality.assign_groups(lost, parts), labels(names, empty_labels(names)).label_of
        ),
    )
    elements = np.sort(graph.locate(names))
    graph.fetch_edges(elements)
    graph.label[elements] = calculus.table.join(
        asserted_labels(calculus, graph, elements), refuted_labels(calculus, graph, elements)
    )
    active = saturate(calculus, graph, flags(len(graph), elements), from_outside=True)
    reps = np.flatnonzero(active)
    name = least_nodes(graph)
    element, node = graph.nodes_of(reps)
    equal = index.equality.assign_groups(node, name[element])
    left = unique(equal.group_of(set_difference(lost, remaining.vanished_nodes)))
    return replace(
        index,
        asserted_equality=index.asserted_equality.assign_groups(lost, parts),
        equality=equal,
        merge_classes=regroup_after_deletion(
            index.merge_classes,
            unique(index.equality.group_of(lost)),
            left,
            index.equality.group_of(left),
        ),
        labels=labels(name[reps], graph.label[reps]),
        stored_labels=len(calculus.table.labels),
        detached_nodes=lost,
    )


def _least_equal_nodes(remaining: OverlayBase, nodes: Ints) -> Ints:
    """For each of ``nodes`` (ascending; complete elements), the least node that asserted equalities
    connect it with.
    """
    rows = remaining.table("pairs").rows_of(nodes)
    told = rows["kind"] == SAME
    first, second = (np.searchsorted(nodes, rows[name][told]) for name in ("node", "neighbour"))
    return nodes[component_minima(len(nodes), first, second)]
