"""told⁺: the told literals of A ∪ A⁺ at the elements that a check looks at (THEORY, "The add set").

The *active* elements are the touched ones and those of I; literals run along every role
assertion between them, on top of told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shiq.abox_ops.labels.data_restrictions import DataRestrictions
from shiq.abox_ops.labels.label_calculus import EMPTY, Label, LabelCalculus, join
from tests.spec.element_graph import ElementGraph
from tests.spec.told import saturate


class ToldPlus:
    """``old`` with its told labels is A less the deletions, ``whole`` that with A⁺; ``labels``:
    told⁺ of the active elements.
    """

    def __init__(
        self,
        space: LabelCalculus,
        data: DataRestrictions,
        old: ElementGraph,
        old_labels: Mapping[str, Label],
        whole: ElementGraph,
    ) -> None:
        self.space, self.data, self.base_graph, self.base_labels, self.graph = (
            space,
            data,
            old,
            old_labels,
            whole,
        )
        self.labels: dict[str, Label] = {}

    def saturate(self, elements: Iterable[str]) -> None:
        """Makes ``elements`` active too and brings told⁺ to its fixpoint; entailed equalities
        become part of ``whole``.
        """
        find = self.graph.elements.find
        active = {find(e) for e in (*self.labels, *elements)}
        if active == self.labels.keys():
            return
        labels: dict[str, Label] = {}
        for element in active:
            label = self.labels.get(element, EMPTY)
            for member in self.graph.elements.members(element):
                label = join(label, self._told_label(member))
            labels[element] = label
        saturate(self.space, self.data, self.graph, labels, self.base_label)
        self.labels = labels

    def _told_label(self, individual: str) -> Label:
        return self.base_labels.get(self.base_graph.elements.find(individual), EMPTY)

    def base_label(self, element: str) -> Label:
        """told of an element that the batch did not change."""
        return self._told_label(element)

    def is_fresh_or_joined(self, element: str) -> bool:
        """Whether an individual of the element is not one of A, or A⁺ made the element of several."""
        members = self.graph.elements.members(element)
        if any(m not in self.base_graph.individuals for m in members):
            return True
        return len({self.base_graph.elements.find(m) for m in members}) > 1
