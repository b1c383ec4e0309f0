"""Merge classes that grow from those that are known: of a range of A, in rounds over all ranges
(THEORY, "By ranges of ids"), and around what a commit changed (THEORY, "The add set").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiq.abox_ops.counting.groups import CountedGraph, open_witnesses
from shiq.abox_ops.counting.merge_classes import MergeClasses
from shiq.abox_ops.counting.merging import Overfull, tie_groups
from shiq.abox_ops.elements.graph import Graph, flags
from shiq.abox_ops.labels.numbered import Bools
from shiq.abox_ops.labels.numbered_calculus import Calculus
from shiq.columns.arrays import Ints, unique


def known_classes(calculus: Calculus, graph: Graph, labels: Callable[[], Ints]) -> MergeClasses:
    """The merge classes that ``graph`` has its elements in, as those of the outside: I is empty."""
    return MergeClasses(CountedGraph(calculus, graph, labels), np.zeros(len(graph), np.bool_))


def missing_ties(classes: MergeClasses, elements: Ints) -> tuple[Ints, Ints]:
    """Pair the elements that have to be of one class, and are not, since the classes of
    ``elements`` are as they are.
    """
    counted = classes.counted
    calculus, graph = counted.calculus, counted.graph
    codes = unique(classes.classes(elements))
    code, member = classes.pairs(codes)
    group = codes.searchsorted(code)

    def tieable(elements: Ints) -> Bools:
        return ~calculus.table.clashes(counted.labels()[elements])

    found = []
    for clause in calculus.space.m_type:
        full = ~classes.is_within(member, clause)
        if full.any():
            nobody = Overfull(flags(len(graph), member[:0]))
            found.append(
                tie_groups(counted, clause, member[full], group[full], len(codes), nobody, tieable)
            )
    first, second = (np.concatenate([member[:0], *(pair[i] for pair in found)]) for i in (0, 1))
    apart = classes.classes(first) != classes.classes(second)
    return first[apart], second[apart]


def grow_classes(classes: MergeClasses, changed: Ints, detached: Ints) -> Ints:
    """Unite classes until they hold what they have to again, after insertions and deletions.
    Classes only grow: where a smaller one would do now, it stays.

    Stops because classes only grow together.

    Args:
        changed: elements with new members or role assertions; more literals alone never raise a
            count.
        detached: elements of which deletions took members, literals or role assertions.

    Returns:
        The class of each element, by number: one of its numbers.
    """
    graph = classes.graph
    classes.unite_outside(np.arange(len(graph)), graph.rep)
    graph.expand(detached)
    near = _neighbours(graph, detached)
    # What a detached neighbour was the witness of may be open now, which counts one step on.
    needs = classes.counted.view.at_least
    needing = near[open_witnesses(classes.counted, near, needs) > 0]
    graph.expand(needing)
    asked = np.concatenate([changed, detached, near, _neighbours(graph, needing)])
    while len(asked):
        asked = classes.unite_outside(*missing_ties(classes, unique(asked)))
    return classes.outside_classes()


def _neighbours(graph: Graph, elements: Ints) -> Ints:
    found: Ints = unique(graph.half_edges(flags(len(graph), elements))[2])
    return found
