"""What was counted at single elements, remembered while no label near them changes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from jobs.columns import Ints
from jobs.engines.graph import Graph, longer
from jobs.engines.labels import Bools

_NONE = np.zeros(0, np.int64)
#: What is counted at an element rests on its own label, on those of its neighbours, and on those of theirs, who may be witnesses.
_REACH = 2


@dataclass
class Remembered:
    """Answers by question and element number: 1 yes, 0 no, -1 not known."""

    _labels: Ints = field(default_factory=lambda: _NONE)
    _rep: Ints = field(default_factory=lambda: _NONE)
    _known: dict[Hashable, npt.NDArray[np.int8]] = field(default_factory=dict)

    def of(self, question: Hashable, graph: Graph) -> npt.NDArray[np.int8]:
        """What is known of a question, for all elements of ``graph``."""
        known = self._known.get(question, np.zeros(0, np.int8))
        if len(known) < len(graph):
            known = np.concatenate([known, np.full(len(graph) - len(known), -1, np.int8)])
            self._known[question] = known
        return known

    def learn(self, question: Hashable, graph: Graph, elements: Ints, answers: Bools, labels: Ints) -> None:
        """Takes in the answers of ``elements``, which rest on ``labels``."""
        self.of(question, graph)[elements] = answers
        self._labels, self._rep = labels.copy(), graph.rep

    def forget(self, graph: Graph, labels: Ints) -> None:
        """Forgets what other ``labels``, or elements that were joined, may have changed."""
        count = len(self._labels)
        if not np.array_equal(self._rep, graph.rep[:count]):
            self._known.clear()
            return
        stale = longer(labels[:count] != self._labels, len(graph))
        if not stale.any():
            return
        source, _, target = graph.half_edges()
        for _ in range(_REACH):
            stale[source[stale[target]]] = True
        for known in self._known.values():
            known[stale[: len(known)]] = -1
