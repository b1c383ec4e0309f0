"""What was counted at single elements, remembered while no label near them changes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from abox_ops.elements.columns import Graph, longer
from abox_ops.labels.numbered import Bools
from shiq.columns.arrays import NONE, Ints


class CountedLabels(NamedTuple):
    """What counting reads of the label of each element, by number: all of it, of the element
    itself and of its neighbours; the fillers of ≥-atoms, of their neighbours too, who may be
    witnesses.
    """

    label: Ints
    fillers: Ints

    def before(self, count: int) -> CountedLabels:
        """The same of the first ``count`` elements."""
        return CountedLabels(self.label[:count], self.fillers[:count])


@dataclass
class ElementAnswers:
    """Answers by question and element number: 1 yes, 0 no, -1 not known."""

    _read: CountedLabels = field(default_factory=lambda: CountedLabels(NONE, NONE))
    _rep: Ints = field(default_factory=lambda: NONE)
    _known: dict[Hashable, npt.NDArray[np.int8]] = field(default_factory=dict)

    def of(self, question: Hashable, graph: Graph) -> npt.NDArray[np.int8]:
        """What is known of a question, for all elements of ``graph``."""
        known = self._known.get(question, np.zeros(0, np.int8))
        if len(known) < len(graph):
            known = np.concatenate([known, np.full(len(graph) - len(known), -1, np.int8)])
            self._known[question] = known
        return known

    def learn(
        self, question: Hashable, graph: Graph, elements: Ints, answers: Bools, read: CountedLabels
    ) -> None:
        """Takes in the answers of ``elements``, which rest on what was ``read``."""
        self.of(question, graph)[elements] = answers
        self._read, self._rep = read, graph.rep

    def forget(self, graph: Graph, read: CountedLabels) -> None:
        """Forgets what a change of what is ``read``, or elements that were joined, may have
        changed.
        """
        before, now = self._read, read.before(len(self._read.label))
        count = len(before.label)
        if not np.array_equal(self._rep, graph.rep[:count]):
            self._known.clear()
            return
        other = longer(now.label != before.label, len(graph))
        if not other.any():
            return
        source, _, target = graph.half_edges()
        stale = longer(now.fillers != before.fillers, len(graph))
        stale[source[stale[target]]] = True
        stale |= other
        stale[source[stale[target]]] = True
        for known in self._known.values():
            known[stale[: len(known)]] = -1
