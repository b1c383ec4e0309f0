"""Why elements that a batch does not touch came into a check: the first thing that asked for each, in columns."""

from __future__ import annotations

import numpy as np

from abox_ops.elements.columns import Graph
from abox_ops.labels.calculus import CompiledClause
from shiq.columns.arrays import Ints

#: What asked for an element: 0 if nothing was noted, as where individuals became equal; an axiom on roles or negative assertion;
#: from `_CLAUSES` on, a clause.
NOTHING, ROLES, _CLAUSES = 0, 1, 2


def code_of(clause: CompiledClause) -> int:
    """What is noted for a clause."""
    return _CLAUSES + clause.index


def clause_of(code: int) -> int | None:
    """The index of the clause that a code stands for, if it does."""
    return code - _CLAUSES if code >= _CLAUSES else None


class PulledInReasons:
    """Reasons of elements that came in, by element number: what asked for each first."""

    def __init__(self) -> None:
        self._codes = np.zeros(0, np.int64)

    def note(self, elements: Ints, codes: Ints | int) -> None:
        """Says what asked for ``elements``, where nothing has been noted; of an element that stands twice, one code."""
        if not len(elements):
            return
        count = int(elements.max()) + 1
        if count > len(self._codes):
            self._codes = np.concatenate([self._codes, np.zeros(count - len(self._codes), np.int64)])
        new = self._codes[elements] == NOTHING
        self._codes[elements[new]] = codes[new] if isinstance(codes, np.ndarray) else codes

    def codes(self, graph: Graph) -> Ints:
        """The code of each element, by its `rep`: that of one of its parts."""
        found = np.zeros(len(graph), np.int64)
        noted = np.flatnonzero(self._codes)
        found[graph.rep[noted]] = self._codes[noted]
        found[noted] = np.where(graph.rep[noted] == noted, self._codes[noted], found[noted])
        return found
