"""Merge classes: elements that at-most restrictions may make equal in some extension (THEORY,
"Border rules"; `tests.spec.counting` with ``fine``).

They exist twice: those of I, made here from the labels that a patch gives its elements, and those
that the certified model knows outside, which are stored. A class is named by a *code*: twice a
number, and one more inside I. Stored classes grow: over the ranges of A in rounds (THEORY, "By
ranges of ids"), and around what a commit changed (THEORY, "The add set").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiq.abox_ops.counting.groups import (
    CountedGraph,
    is_within_bound_alone,
    may_exceed_bound,
    open_witnesses,
)
from shiq.abox_ops.counting.merge_class_fixpoint import (
    OverfullClasses,
    merge_inside,
    pairs_to_merge,
)
from shiq.abox_ops.elements.graph import Graph, extend_flags, flags, flags_at
from shiq.abox_ops.elements.quotient import component_minima
from shiq.abox_ops.labels.label_calculus import CompiledClause
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.columns.arrays import NONE, Ints, distinct_with_inverse, row_codes, unique


class MergeClasses:
    """The merge classes of a graph: computed by counting inside the region I, and taken from the
    certified model outside.

    contradictory: elements of I that are in no merge class, neither of I nor outside (THEORY,
        "Contradictory elements").
    """

    def __init__(
        self, counted: CountedGraph, inside: Bools, contradictory: Bools | None = None
    ) -> None:
        graph = counted.graph
        self.counted, self.graph = counted, graph
        self._is_inside = inside
        self._is_contradictory = (
            np.zeros(len(graph), np.bool_) if contradictory is None else contradictory
        )
        self._class = merge_inside(counted, inside, self._is_contradictory)
        self._outside_class = NONE
        self._answers: dict[int, dict[int, bool]] = {}

    def is_inside(self, elements: Ints) -> Bools:
        """Decide whether each element is in the region I; False for elements numbered after the
        classes were computed.
        """
        return flags_at(self._is_inside, elements)

    def outside_classes(self) -> Ints:
        """The merge class of each element outside the region I, named by one of its elements: that
        of the certified model, or of A where it has none.
        """
        known = len(self._outside_class)
        if known < len(self.graph):
            number = np.arange(known, len(self.graph), dtype=np.int64)
            _, inverse, example = distinct_with_inverse(self.graph.group[known:])
            self._outside_class = np.concatenate([self._outside_class, number[example][inverse]])
        return self._outside_class

    def class_codes(self, elements: Ints) -> Ints:
        """The code of each element's merge class: odd for classes of the region I, even for classes
        outside.
        """
        inside = self.is_inside(elements)
        found = self.outside_classes()[elements] * 2
        found[inside] = self._class[elements[inside]] * 2 + 1
        return found

    def members(self, classes: Ints) -> tuple[Ints, Ints]:
        """List (code, element) for every member of the ``classes``, given by code. Outside classes
        keep elements that are in the region I now, unless these are contradictory.
        """
        rep, out = self.graph.rep, self.outside_classes()
        is_in = classes % 2 == 1
        own, others = (flags(len(rep), classes[chosen] // 2) for chosen in (is_in, ~is_in))
        inner = np.flatnonzero(own[: len(self._class)][self._class] & self._is_inside)
        inner = inner[rep[inner] == inner]
        # By every number: an element of a class may be part of a larger one by now, which another
        # of its parts stands for.
        outer = np.flatnonzero(others[out])
        outer = outer[~flags_at(self._is_contradictory, rep[outer])]
        element, code = rep[outer], out[outer] * 2
        if (element != outer).any():
            once = distinct_with_inverse(row_codes(code, element))[2]
            code, element = code[once], element[once]
        return np.concatenate([self._class[inner] * 2 + 1, code]), np.concatenate([inner, element])

    def with_class_mates(self, chosen: Bools) -> Bools:
        """Extend the elements in ``chosen`` (a flag by element number) by all members of their
        merge classes.
        """
        rep, out = self.graph.rep, self.outside_classes()
        parts = extend_flags(chosen, len(rep))[rep]
        found = flags(len(rep), rep[flags(len(rep), out[parts])[out]]) | parts
        known = len(self._class)
        found[:known] |= (
            flags(known, self._class[parts[:known] & self._is_inside])[self._class]
            & self._is_inside
        )
        return found

    def classes_by_element(self) -> Ints:
        """The merge class of every element within the region I, named by one of its elements;
        elements outside the region I are their own class.
        """
        return np.concatenate([self._class, np.arange(len(self._class), len(self.graph))])

    def class_sizes(self, elements: Ints) -> Ints:
        """Number of elements in the merge class of each of ``elements``."""
        codes = self.class_codes(elements)
        found, inverse, _ = distinct_with_inverse(self.members(codes)[0])
        return np.bincount(inverse)[np.searchsorted(found, codes)] if len(codes) else codes

    def is_within_bound(self, elements: Ints, clause: CompiledClause) -> Bools:
        """Decide whether the bound of ``clause`` certainly holds at each element.

        For elements of I it is counted over their merge class, for others over the certified
        model's class less the elements in I.
        """
        known = self._answers.setdefault(clause.index, {})
        codes, inverse, _ = distinct_with_inverse(self.class_codes(elements))
        new = np.array([c for c in codes.tolist() if c not in known], np.int64)
        if len(new):
            code, member = self.members(new)
            kept = (code % 2 == 1) | ~self.is_inside(member)
            group = new.searchsorted(code[kept])
            member = member[kept]
            single = np.bincount(group, minlength=len(new))[group] == 1
            full = may_exceed_bound(self.counted, clause, member[~single], group[~single], len(new))
            full[group[single]] = ~is_within_bound_alone(self.counted, member[single], clause)
            known.update(zip(new.tolist(), (~full).tolist()))
        return np.fromiter((known[c] for c in codes.tolist()), np.bool_, len(codes))[inverse]

    def unite_outside(self, first: Ints, second: Ints) -> Ints:
        """Unite the outside classes of first[i] and second[i]; return an element of each class that
        grew.
        """
        before = self.outside_classes()
        first, second = before[first], before[second]
        apart = first != second
        if not apart.any():
            return NONE
        number = np.arange(len(before))
        self._outside_class = component_minima(
            len(before), np.concatenate([number, first]), np.concatenate([before, second])
        )
        self._answers.clear()
        return self.graph.rep[unique(self._outside_class[first[apart]])]


def outside_merge_classes(
    calculus: NumberedCalculus, graph: Graph, labels: Callable[[], Ints]
) -> MergeClasses:
    """Take the merge classes of ``graph`` as they are stored for A: no element is in the region I."""
    return MergeClasses(CountedGraph(calculus, graph, labels), np.zeros(len(graph), np.bool_))


def missing_merges(classes: MergeClasses, elements: Ints) -> tuple[Ints, Ints]:
    """Find pairs of elements in the merge classes of ``elements`` that must share a class but do
    not yet.
    """
    counted = classes.counted
    calculus, graph = counted.calculus, counted.graph
    codes = unique(classes.class_codes(elements))
    code, member = classes.members(codes)
    group = codes.searchsorted(code)

    def may_merge(elements: Ints) -> Bools:
        """Decide whether each element may be merged: no clash in its label."""
        return ~calculus.table.clashes(counted.labels()[elements])

    found = []
    for clause in calculus.space.m_type:
        full = ~classes.is_within_bound(member, clause)
        if full.any():
            nobody = OverfullClasses(flags(len(graph), member[:0]))
            found.append(
                pairs_to_merge(
                    counted, clause, member[full], group[full], len(codes), nobody, may_merge
                )
            )
    first, second = (np.concatenate([member[:0], *(pair[i] for pair in found)]) for i in (0, 1))
    apart = classes.class_codes(first) != classes.class_codes(second)
    return first[apart], second[apart]


def grow_classes(classes: MergeClasses, changed: Ints, detached: Ints) -> Ints:
    """Unite merge classes until they are closed again after insertions and deletions.

    Classes only grow: where a smaller one would now do, it stays.

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
    graph.fetch_edges(detached)
    near = _neighbours_of(graph, detached)
    # What a detached neighbour was the witness of may be open now, which counts one step on.
    needs = classes.counted.label_bits.at_least_atoms
    needing = near[open_witnesses(classes.counted, near, needs) > 0]
    graph.fetch_edges(needing)
    asked = np.concatenate([changed, detached, near, _neighbours_of(graph, needing)])
    while len(asked):
        asked = classes.unite_outside(*missing_merges(classes, unique(asked)))
    return classes.outside_classes()


def _neighbours_of(graph: Graph, elements: Ints) -> Ints:
    """The neighbours of ``elements``."""
    return unique(graph.edges.half_edges(flags(len(graph), elements))[2])
