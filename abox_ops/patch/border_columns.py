"""The border rules in columns (`tests.spec.border`, THEORY, "Border rules"): when a check
may leave out a role assertion that leaves I.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from abox_ops.counting.fine_columns import FineCounts
from abox_ops.elements.columns import Graph, flags
from abox_ops.labels.calculus import CompiledClause, Label
from abox_ops.labels.columns import Calculus
from abox_ops.labels.needs import is_served
from abox_ops.labels.numbered import Bools, by_distinct
from abox_ops.patch.outside_columns import OutsideCompletion
from shiq.columns.arrays import Ints, contained, unique
from shiq.roles import Role


class PatchLabels(Protocol):
    """The labels of a patch, by number, as many as the graph has by now. ``mu``: the label of an
    element in its part; ``certified``: told_N; ``is_new``: whether A does not have it, or not as
    it is now.
    """

    @property
    def mu(self) -> Ints: ...
    @property
    def certified(self) -> Ints: ...
    @property
    def is_new(self) -> Bools: ...


class Border:
    """The rules for one I and one assignment of labels, those of a patch."""

    def __init__(
        self,
        calculus: Calculus,
        graph: Graph,
        outside: OutsideCompletion,
        counts: FineCounts,
        labels: PatchLabels,
    ) -> None:
        self.calculus, self.graph, self.outside, self.counts, self.labels = (
            calculus,
            graph,
            outside,
            counts,
            labels,
        )

    def residual(self, clause: CompiledClause, at_branch: bool, labels: Ints) -> Ints:
        """The number of what to assert at an end with each of ``labels``; -1 where every literal
        is refuted there.
        """
        table, residuals = self.calculus.table, self.calculus.residuals

        def number(i: int) -> int:
            found = residuals.at(clause, at_branch, table.labels[i])
            return -1 if found is None else table.id(found)

        return by_distinct(labels, number)

    def is_covered(
        self, clause: CompiledClause, at_branch: bool, a: Ints, b: Ints, is_old: Bools
    ) -> Bools:
        """Which role assertions (a inside, b outside) have ``clause`` met by the certified
        model, or bounded (rules R0, C, R).
        """
        table = self.calculus.table
        if clause.n and not at_branch:
            return self.counts.is_within(a, clause)
        if clause.n:
            found = self.counts.is_within(b, clause)
            rest = (~found & is_old).nonzero()[0]
            if len(rest):
                found[rest] = self._is_replaced(clause, a[rest], b[rest])
            return found
        head, body = (
            (clause.branch_head, clause.branch_body) if at_branch else (clause.head, clause.body)
        )
        met: Bools = is_old & table.where(
            self.labels.certified[a], lambda x: not head & ~x[1] and not body & ~x[0]
        )
        return met

    def _is_replaced(self, clause: CompiledClause, a: Ints, b: Ints) -> Bools:
        """Rule R: ``clause`` is ≤n S.C at b outside; a stands where it stood among b's
        S-neighbours in the certified model.
        """
        calculus, table, graph = self.calculus, self.calculus.table, self.graph
        below = calculus.below(clause)
        takers = [need for need in calculus.space.at_least.values() if need.role.inverse in below]

        def takes_nobody(label: Label) -> bool:
            ids = calculus.tbox.atom_ids
            return not any(
                need.filler is None or not label[1] >> ids[need.filler] & 1 for need in takers
            )

        found: Bools = self.counts.sizes(b) == 1
        found &= table.where(self.labels.mu[b], takes_nobody)
        found &= table.where(self.labels.certified[a], lambda x: not clause.branch_body & ~x[0])
        rest = found.nonzero()[0]
        if not len(rest):
            return found
        graph.expand(unique(b[rest]))
        neighbours: dict[int, set[tuple[Role, int]]] = {}
        roles = calculus.roles
        for x, r, y in zip(
            *(column.tolist() for column in graph.half_edges(flags(len(graph), b[rest])))
        ):
            neighbours.setdefault(x, set()).add((roles[r], y))
        labels = table.labels
        for i in rest.tolist():
            x, y = int(a[i]), int(b[i])
            mu, at_x = self.labels.mu, labels[int(self.labels.certified[x])]
            near = {z for r, z in neighbours[y] if r in below and z != x}
            others = np.array(
                [z for z in sorted(near) if not clause.branch_body & labels[int(mu[z])][1]],
                np.int64,
            )
            apart = ~self.labels.is_new[others] & self.are_different(
                np.full(len(others), x, np.int64), others
            )
            needs = [
                need for need in calculus.needs.needed(labels[int(mu[y])]) if need.role in below
            ]
            met = {r for r, z in neighbours[y] if z == x}
            found[i] = apart.all() and all(
                is_served(calculus.tbox, need, at_x, labels[int(mu[x])], met) for need in needs
            )
        return found

    def are_different(self, first: Ints, second: Ints) -> Bools:
        """Which pairs of elements of A are different in the certified model."""
        if not len(first):
            return np.zeros(0, np.bool_)
        graph, table = self.graph, self.calculus.table
        found = table.clashes(
            table.join(self.labels.certified[first], self.labels.certified[second])
        )
        found |= self.outside.are_apart(graph.key[first], graph.key[second])
        graph.gather(first)
        told = ~graph.different["inserted"]
        source, target = (graph.rep[graph.different[end][told]] for end in ("source", "target"))
        return found | contained([first, second], [source, target])
