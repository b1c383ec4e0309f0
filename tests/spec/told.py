"""The told literals of many elements at once: the least fixpoint along role assertions, with
entailed equalities.

Literals travel along role assertions between *active* elements only; the labels of the others
are read, never changed (THEORY, "Told literals" and "The add set"). Where a ≤1 S.C is in force
at an active element, its told neighbours become one element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shiq.abox_ops.labels.data_restrictions import DataRestrictions
from shiq.abox_ops.labels.label_calculus import EMPTY, CompiledClause, Label, LabelCalculus, join
from shiq.model.roles import Role
from tests.spec.element_graph import ElementGraph


def told_labels(
    space: LabelCalculus, data: DataRestrictions, graph: ElementGraph
) -> dict[str, Label]:
    """told of every element of ``graph``; entailed equalities become part of ``graph.elements``."""
    labels = dict.fromkeys(graph.element_names(), EMPTY)
    saturate(space, data, graph, labels)
    return labels


def saturate(
    space: LabelCalculus,
    data: DataRestrictions,
    graph: ElementGraph,
    labels: dict[str, Label],
    otherwise: Callable[[str], Label] = lambda element: EMPTY,
) -> None:
    """Brings ``labels`` to the fixpoint, in place; its keys are the active elements,
    ``otherwise`` labels the others.

    Elements that an entailed equality makes are active too and replace those that they are made
    of; ``graph.elements`` is updated with them. Stops because labels grow within finitely many
    literals and elements only merge.
    """
    _Saturation(space, data, graph, labels, otherwise).run()


class _Saturation:
    def __init__(
        self,
        space: LabelCalculus,
        data: DataRestrictions,
        graph: ElementGraph,
        labels: dict[str, Label],
        otherwise: Callable[[str], Label],
    ) -> None:
        self.space, self.data, self.graph, self.labels, self.otherwise = (
            space,
            data,
            graph,
            labels,
            otherwise,
        )
        self.functional = [c for c in space.m_type if c.n == 1]

    def run(self) -> None:
        self._join_asserted(self.labels)
        changed = set(self.labels)
        while changed:
            while changed:
                changed = self._send(changed)
            changed = self._merge()

    def _join_asserted(self, elements: Iterable[str]) -> None:
        """Joins what is asserted of ``elements`` to their labels."""
        for x in elements:
            told = join(self.graph.asserted_label(x), self.data.refuted_label(self.graph.values(x)))
            self.labels[x] = self.space.close(join(self.labels[x], told))

    def _send(self, changed: set[str]) -> set[str]:
        """One round along the role assertions of the ``changed`` elements; the active elements
        that it changed.
        """
        labels = self.labels
        received: dict[str, Label] = {}
        for x in changed:
            for role, y in self.graph.neighbours(x):
                if y in labels:
                    sent = self.space.send(role, labels[x], labels[y])
                    received[x] = join(received.get(x, EMPTY), sent.subject)
                    received[y] = join(received.get(y, EMPTY), sent.object)
        grown = {x: self.space.close(join(labels[x], label)) for x, label in received.items()}
        grown = {x: label for x, label in grown.items() if label != labels[x]}
        labels.update(grown)
        return set(grown)

    def _merge(self) -> set[str]:
        """Joins the told neighbours of every active element at which a ≤1 S.C is in force; the
        elements to send from then.
        """
        groups = [
            g
            for x in self.labels
            for c in self.functional
            if len(g := self._forced_equal(c, x)) > 1
        ]
        parts = {y: self._label(y) for group in groups for y in group}
        for group in groups:
            self.graph.elements.union_all(sorted(group))
        whole: dict[str, Label] = {}
        for part, label in parts.items():
            name = self.graph.elements.find(part)
            whole[name] = join(whole.get(name, EMPTY), label)
            self.labels.pop(part, None)
        self.labels.update(whole)
        self._join_asserted(whole)
        return set(whole) | {
            y for x in whole for _, y in self.graph.neighbours(x) if y in self.labels
        }

    def _label(self, element: str) -> Label:
        found = self.labels.get(element)
        return self.otherwise(element) if found is None else found

    def _forced_equal(self, clause: CompiledClause, x: str) -> set[str]:
        """The told neighbours of ``x`` that ``clause``, a ≤1 S.C, makes equal if it is in force
        there.
        """
        role, centre = self.space.tbox.clauses[clause.index].role, self.labels[x]
        if role is None or clause.body & ~centre[0] or clause.head & ~centre[1]:
            return set()
        below: frozenset[Role] = self.space.tbox.roles.subroles(role)
        return {
            y
            for r, y in self.graph.neighbours(x)
            if r in below and not clause.branch_body & ~self._label(y)[0]
        }
