"""N: what the model that certified the base says beyond what is entailed (THEORY, "Outside
completion").

N is any set of literals and inequalities about the elements of A with (T, A ∪ N) consistent. It
serves to keep elements out of a check, and is never part of A_add. Here it is read off a
certificate: elements with their completed labels, found consistent by modules, and elements of
different modules, which are different in the model that the modules' models make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from shiq.abox_ops.labels.irrelevance import Needs
from shiq.abox_ops.labels.label_calculus import EMPTY, Label, LabelCalculus, clashes, join
from shiq.partition import Partition
from tests.spec.counting import Counts
from tests.spec.element_graph import ElementGraph
from tests.spec.graphs import ReadOnlyGraph


@dataclass(frozen=True, eq=False)
class CertifiedModel:
    """N over the elements of ``graph`` (A).

    ``told``: told by element; ``certified``: told_N by element; ``module_of``: the module of the
    certificate in which an element was decided; ``absent``: names that nothing in T or A speaks
    of, taken for empty; ``inherited``: the merge classes of the certified model, where they are
    not those of ``graph``.
    """

    space: LabelCalculus
    graph: ElementGraph
    told_labels: Mapping[str, Label]
    model_labels: Mapping[str, Label]
    module_of: Mapping[str, int] = field(default_factory=dict)
    absent: int = 0
    inherited_classes: Partition[str] | None = None
    _labels: dict[str, Label] = field(default_factory=dict)

    @classmethod
    def told_model(
        cls,
        space: LabelCalculus,
        graph: ElementGraph,
        told: Mapping[str, Label],
        classes: Partition[str] | None = None,
    ) -> CertifiedModel:
        """The N that says nothing beyond what is told; ``classes``: its merge classes, where
        they are known.
        """
        return cls(space, ReadOnlyGraph(graph), told, told, inherited_classes=classes)

    def label(self, element: str) -> Label:
        """told_N of an element of A."""
        found = self._labels.get(element)
        if found is None:
            found = self.space.close(join(self.model_labels.get(element, EMPTY), (0, self.absent)))
            self._labels[element] = found
        return found

    @cached_property
    def classes(self) -> Partition[str]:
        """The merge classes of A under told_N."""
        if self.inherited_classes is not None:
            return self.inherited_classes
        return Counts(self.space, self.graph, self.label, Needs(self.space)).classes

    def are_different(self, first: str, second: str) -> bool:
        """Whether two elements of A are different in the certified model."""
        if second in self.graph.unequal_elements(first) or clashes(
            join(self.label(first), self.label(second))
        ):
            return True
        modules = self.module_of.get(first), self.module_of.get(second)
        return None not in modules and modules[0] != modules[1]

    @property
    def is_guessed(self) -> bool:
        """Whether it says more than told."""
        return self.model_labels is not self.told_labels

    def after_deletion(self, graph: ElementGraph, told: Mapping[str, Label]) -> CertifiedModel:
        """N of A less deletions, of which ``graph`` and ``told`` are (THEORY, "N in a store, and
        its renewal"). The model stays: what is left of an element keeps its label, and is of one
        merge class and of one module with whatever else is left of it.
        """
        origin = {e: self.graph.elements.find(e) for e in graph.element_names()}
        return replace(
            self,
            graph=ReadOnlyGraph(graph),
            told_labels=told,
            model_labels={e: self.model_labels.get(old, EMPTY) for e, old in origin.items()},
            module_of={
                e: self.module_of[old] for e, old in origin.items() if old in self.module_of
            },
            inherited_classes=regroup_after_deletion(self.classes, origin),
            _labels={},
        )

    def with_vocabulary(self, space: LabelCalculus, absent: int) -> CertifiedModel:
        """The same N under a TBox with further definitions Q ⊑ C, every Q in ``absent``.

        The model is one of the larger TBox with Q empty, since neither T nor A mentions it; so
        its merge classes stay.
        """
        if space.tbox is self.space.tbox:
            return self
        return replace(self, space=space, absent=absent, inherited_classes=self.classes, _labels={})


def regroup_after_deletion(classes: Partition[str], origin: Mapping[str, str]) -> Partition[str]:
    """The merge ``classes`` of A, of what deletions left: ``origin`` gives the element of A that
    each element is left of, and what is left of one class is one class.
    """
    together: dict[str, list[str]] = {}
    for element, old in origin.items():
        together.setdefault(classes.find(old), []).append(element)
    found: Partition[str] = Partition()
    for elements in together.values():
        found.union_all(elements)
    return found
