"""What is asserted between two elements, in columns, and whether it contradicts by itself."""

from __future__ import annotations

import numpy as np

from abox_ops.elements.columns import Graph, flags
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import Bools, combinations
from abox_ops.labels.seen import is_violated
from shiq.columns.arrays import Ints, contained, distinct, row_codes
from shiq.roles import Role


def are_violated(calculus: Calculus, graph: Graph, first: Ints, second: Ints) -> Bools:
    """Whether what is asserted between each two elements contradicts as it is: a disjointness, asymmetry or irreflexivity axiom
    or a negative assertion."""
    if not len(first):
        return np.zeros(0, np.bool_)
    graph.expand(first)
    box = calculus.tbox.roles
    asserted, sets = roles_between(calculus, graph, first, second)
    keys, inverse = combinations(asserted, (first == second).astype(np.int64))
    found: Bools = np.array([is_violated(sets[i], (), bool(loop), box) for i, loop in keys], np.bool_)[inverse]
    negated: dict[tuple[int, int], set[Role]] = {}
    for x, named, y in graph.rare.negative_edges:
        negated.setdefault((int(graph.rep[x]), int(graph.rep[y])), set()).add(named)
    for i, *pair in zip(range(len(first)), first.tolist(), second.tolist()) if negated else ():
        if against := negated.get((pair[0], pair[1])):
            found[i] |= is_violated(sets[asserted[i]], against, pair[0] == pair[1], box)
    return found


def roles_between(calculus: Calculus, graph: Graph, first: Ints, second: Ints) -> tuple[Ints, list[frozenset[Role]]]:
    """The roles that are asserted between each two elements, as a number of the list that goes with it."""
    roles = calculus.roles
    source, role, target = graph.half_edges(flags(len(graph), first))
    between = contained([source, target], [first, second])
    source, role, target = source[between], role[between], target[between]
    _, pair, _ = distinct(row_codes(np.concatenate([first, source]), np.concatenate([second, target])))
    edge, pair = pair[len(first) :], pair[: len(first)]
    once = distinct(row_codes(edge, role))[2]
    edge, role = edge[once], role[once]
    order = np.lexsort((role, edge))
    edge, role = edge[order], role[order]
    start = edge.searchsorted(np.arange(pair.max() + 2))
    size = np.diff(start)
    sets: list[frozenset[Role]] = [frozenset()]
    number = {sets[0]: 0}
    found = np.zeros(len(size), np.int64)
    for i in range(int(size.max(initial=0))):
        longer_ = (size > i).nonzero()[0]
        keys, inverse = combinations(found[longer_], role[start[longer_] + i])
        grown = [sets[s] | {roles[r]} for s, r in keys]
        for roles_ in grown:
            if roles_ not in number:
                number[roles_] = len(sets)
                sets.append(roles_)
        found[longer_] = np.array([number[roles_] for roles_ in grown], np.int64)[inverse]
    return found[pair], sets
