"""What a round of a patch has to look at again, in columns: elements that changed since they
were last read, and those whose answers rest on them. The others are as they were found;
`tests.spec.patch` walks all of I in every round.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from abox_ops.counting.fine_columns import FineCounts
from abox_ops.elements.columns import Graph
from abox_ops.labels.numbered import Bools
from shiq.columns.arrays import Ints


class Frontier:
    """Columns by element number, and counts, as they were when elements were last read."""

    def __init__(self) -> None:
        self._rep: Ints | None = None
        self._columns: list[npt.NDArray[np.generic]] = []
        self._counts: FineCounts | None = None

    def remember(self, graph: Graph, counts: FineCounts | None, *columns: Ints | Bools) -> None:
        """What was read just now."""
        self._rep, self._counts = graph.rep, counts
        # Numbers of labels and elements are small: half the memory.
        self._columns = [
            column.astype(np.int32 if column.dtype == np.int64 else np.bool_) for column in columns
        ]

    def reached(self, graph: Graph, counts: FineCounts | None, *columns: Ints | Bools) -> Bools:
        """The elements that were met since, or of which a column is another now, or of which a
        role assertion leads to one of those; counting reads the fillers of ≥-atoms one step
        further. All where elements were joined.
        """
        if self._rep is None or not np.array_equal(self._rep, graph.rep[: len(self._rep)]):
            return np.ones(len(graph), np.bool_)
        changed = np.zeros(len(graph), np.bool_)
        changed[len(self._rep) :] = True
        for column, before in zip(columns, self._columns):
            changed[: len(before)] |= column[: len(before)] != before
        if counts is not None and self._counts is not None:
            fillers, known = counts.read().fillers, self._counts.read().fillers[: len(self._rep)]
            further = np.zeros(len(graph), np.bool_)
            further[: len(known)] = fillers[: len(known)] != known
            changed |= graph.with_readers(further)
        return graph.with_readers(changed)

    def stale(self, graph: Graph, counts: FineCounts, *columns: Ints | Bools) -> Bools:
        """The same with all that are, or were, of a merge class with one of them."""
        found = self.reached(graph, counts, *columns)
        if self._counts is None or found.all():
            return found
        return counts.with_mates(found) | self._counts.with_mates(found)
