"""Deletions: delete and rederive (THEORY, "Maintenance of the told sets").

Told literals may support each other in circles, so everything that propagation could have derived from what is deleted is taken
away first, by a forward walk over role assertions; then it is derived again from what is left. An element that loses something
is taken apart into its asserted equals first. The work is bounded by that walk, not by A.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from abox_ops.elements.base import Base, LessBase
from abox_ops.elements.columns import Graph, flags
from abox_ops.elements.partition import OverlaidPartition, components, lifted
from abox_ops.index.columns import Index, PatchedLabels, alone, least_nodes
from abox_ops.labels.calculus import CompiledClause, Label, LabelSpace
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import EMPTY_ID, Bools, combinations
from abox_ops.told.columns import asserted_labels, refuted_labels, saturate
from shiq.columns.arrays import Ints, is_in, unique, without
from shiq.columns.rows import SAME
from shiq.roles import Role, RoleBox


def index_without(index: Index, base: Base, less: LessBase, roles: RoleBox) -> Index:
    """The index of ``less`` = ``base`` less role, class, data assertions and pairs, from the ``index`` of ``base``."""
    touched = unique(np.concatenate([rows["node"] for rows in less.removed.values()]))
    lost = _reach(index, base, less, roles, touched)
    return _rederived(index, less, roles, lost)


# --- what may be lost ------------------------------------------------------------------------------


def _reach(index: Index, base: Base, less: LessBase, roles: RoleBox, touched: Ints) -> Ints:
    """The nodes of the elements of ``base`` whose label or members may rest on what was deleted at ``touched`` nodes."""
    calculus = index.calculus
    old = Graph(alone(base), roles, index.equal, index.labels.of)
    left = Graph(alone(less), roles, index.equal, index.labels.of)
    frontier = unique(old.elements_of(touched))
    lost = flags(len(old), frontier)
    while len(frontier):
        old.expand(frontier)
        lost = np.concatenate([lost, np.zeros(len(old) - len(lost), np.bool_)])
        certain = np.full(len(old), EMPTY_ID, np.int64)
        certain[frontier] = _certain(calculus, left, old.key[frontier])
        source, role, target = old.half_edges(flags(len(old), frontier))
        outside = ~lost[target]
        source, role, target = source[outside], role[outside], target[outside]
        hit = _may_have_sent(calculus, role, old.label[source], certain[source], old.label[target])
        hit |= _are_several(old, target)
        frontier = unique(target[hit])
        lost[frontier] = True
    chosen = np.flatnonzero(lost)
    old.gather(chosen)
    return np.sort(old.nodes_of(chosen)[1])


def _certain(calculus: Calculus, left: Graph, keys: Ints) -> Ints:
    """The literals that follow at each element from what is still asserted there; none where several individuals are one."""
    numbers = left.locate(keys)
    left.gather(numbers)
    ordered = np.sort(numbers)
    label = calculus.table.join(asserted_labels(calculus, left, ordered), refuted_labels(calculus, left, ordered))
    label = calculus.table.close(label)
    found: Ints = label[np.searchsorted(ordered, numbers)]
    found[_are_several(left, numbers)] = EMPTY_ID
    return found


def _are_several(graph: Graph, elements: Ints) -> Bools:
    """Which elements have more than one member."""
    if not len(graph.equal):
        return np.zeros(len(elements), np.bool_)
    keys = unique(graph.key[elements])
    group, _ = graph.equal.members(keys)
    several = keys[np.bincount(np.searchsorted(keys, group), minlength=len(keys)) > 1]
    return is_in(graph.key[elements], several)


def _may_have_sent(calculus: Calculus, role: Ints, source: Ints, certain: Ints, target: Ints) -> Bools:
    """Whether a role assertion may have given its object a literal, by one of its subject's that is not ``certain``."""
    reduced = calculus.role_calculus.reduced
    found, which = combinations(role, reduced(role, source), reduced(role, certain), reduced(role ^ 1, target))
    labels, space = calculus.table.labels, calculus.space
    answers = [may_have_sent(space, calculus.roles[r], labels[a], labels[k], labels[b]) for r, a, k, b in found]
    return np.array(answers, np.bool_)[which]


def may_have_sent(space: LabelSpace, role: Role, source: Label, certain: Label, target: Label) -> bool:
    """Whether some u-type clause on ``role`` has all its literals at the subject refuted there, one of them by a literal that is
    not ``certain``, and a literal at the object that holds there."""

    def sends(here: tuple[int, int], there: tuple[int, int]) -> bool:
        head, body = here
        refuted = not (head & ~source[1] or body & ~source[0])
        uncertain = head & source[1] & ~certain[1] or body & source[0] & ~certain[0]
        return bool(refuted and uncertain and (there[0] & target[0] or there[1] & target[1]))

    def centre(c: CompiledClause) -> tuple[int, int]:
        return c.head, c.body

    def branch(c: CompiledClause) -> tuple[int, int]:
        return c.branch_head, c.branch_body

    return any(sends(centre(c), branch(c)) for c in space.clauses_of(role) if not c.n) or any(
        sends(branch(c), centre(c)) for c in space.clauses_of(role.inverse) if not c.n
    )


# --- what is derived again -------------------------------------------------------------------------


def _rederived(index: Index, less: LessBase, roles: RoleBox, lost: Ints) -> Index:
    """``index`` with the elements of the ``lost`` nodes (ascending) worked out from ``less`` alone."""
    calculus = index.calculus
    parts = _asserted_equals(less, lost)
    equal = OverlaidPartition(index.equal.by_member, index.equal.by_group, lost, parts)
    labels = PatchedLabels(index.labels.table, unique(parts), np.full(len(unique(parts)), EMPTY_ID, np.int64))
    graph = Graph(alone(less), roles, equal, labels.of)
    elements = np.sort(graph.locate(unique(parts)))
    graph.expand(elements)
    graph.label[elements] = calculus.table.join(
        asserted_labels(calculus, graph, elements), refuted_labels(calculus, graph, elements)
    )
    active = saturate(calculus, graph, flags(len(graph), elements), from_outside=True)
    reps = np.flatnonzero(active)
    name = least_nodes(graph)
    element, node = graph.nodes_of(reps)
    order = np.argsort(node)
    by_name = np.argsort(name[reps])
    found = OverlaidPartition(index.equal.by_member, index.equal.by_group, node[order], name[element[order]])
    left = unique(found.of(without(lost, less.vanished)))
    return replace(
        index,
        same=OverlaidPartition(index.same.by_member, index.same.by_group, lost, parts),
        equal=found,
        merged=lifted(index.merged, unique(index.equal.of(lost)), left, index.equal.of(left)),
        labels=PatchedLabels(index.labels.table, name[reps][by_name], graph.label[reps][by_name]),
        stored_labels=len(calculus.table.labels),
        detached=lost,
    )


def _asserted_equals(less: LessBase, nodes: Ints) -> Ints:
    """The least node that is asserted to be the same as each of ``nodes`` (ascending; whole elements)."""
    rows = less.table("pairs").rows_of(nodes)
    told = rows["kind"] == SAME
    first, second = (np.searchsorted(nodes, rows[name][told]) for name in ("node", "neighbour"))
    return nodes[components(len(nodes), first, second)]
