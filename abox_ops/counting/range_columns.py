"""Merge classes of a range of A: `abox_ops.counting.fine_columns`, where the classes are made in
rounds over all ranges (THEORY, "By ranges of ids").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from abox_ops.counting.fine_columns import FineCounts, _Overfull
from abox_ops.elements.columns import Graph, flags
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import Bools
from shiq.columns.arrays import Ints, unique


class RangeCounts(FineCounts):
    """Counts over the merge classes that ``graph`` has its elements in, all of A being in I."""

    def __init__(self, calculus: Calculus, graph: Graph, labels: Callable[[], Ints]) -> None:
        super().__init__(calculus, graph, labels, np.zeros(len(graph), np.bool_))

    def ties(self, elements: Ints) -> tuple[Ints, Ints]:
        """Pairs of elements that have to be of one class, since the classes of ``elements`` are
        as they are.
        """
        codes = unique(self.classes(elements))
        code, member = self.pairs(codes)
        group = codes.searchsorted(code)
        found = []
        for clause in self.calculus.space.m_type:
            full = ~self.is_within(member, clause)
            if full.any():
                nobody = _Overfull(flags(len(self.graph), member[:0]))
                found.append(self._ties(clause, member[full], group[full], len(codes), nobody))
        first, second = (np.concatenate([member[:0], *(pair[i] for pair in found)]) for i in (0, 1))
        apart = self.classes(first) != self.classes(second)
        return first[apart], second[apart]

    def _may_be_tied(self, elements: Ints) -> Bools:
        return np.ones(len(elements), np.bool_)
