"""E and G over groups of elements, in columns: `tests.spec.counting` with ``fine``
(THEORY, "Border rules").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from abox_ops.counting.remembered import CountedLabels, ElementAnswers
from abox_ops.counting.view_columns import CountingView
from abox_ops.elements.columns import Graph, flags
from abox_ops.labels.calculus import CompiledClause
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import Bools
from shiq.clause import AtLeast
from shiq.columns.arrays import NONE, Ints, contained, distinct_pairs, unique


@dataclass(frozen=True)
class Edges:
    """Role assertions from members, and the ``group`` that the member of each is in."""

    source: Ints
    role: Ints
    target: Ints
    group: Ints


class GroupCounts:
    """Counts of ``graph`` under ``labels()`` (by number, as many as the graph has by now).
    ``remembered``: what earlier counts of the graph have left.
    """

    def __init__(
        self,
        calculus: Calculus,
        graph: Graph,
        labels: Callable[[], Ints],
        remembered: ElementAnswers,
    ) -> None:
        self.calculus, self.graph, self._labels = calculus, graph, labels
        self._row = NONE
        self._was_read = CountedLabels(NONE, NONE)
        self._remembered = remembered
        if calculus.space.m_type:
            remembered.forget(graph, self.read())

    @cached_property
    def _view(self) -> CountingView:
        return self.calculus.once(CountingView)

    def read(self) -> CountedLabels:
        """What counting reads of the labels, by number of element."""
        known = len(self._was_read.label)
        if known < len(self.graph):
            calculus, label = self.calculus, self._labels()[known:]
            more = [
                calculus.table.cut(label, mask)
                for mask in (calculus.counting_bits, calculus.filler_bits)
            ]
            self._was_read = CountedLabels(
                *(np.concatenate(columns) for columns in zip(self._was_read, more))
            )
        return self._was_read

    def _seen(self, elements: Ints, asked: Callable[[], Bools]) -> Bools:
        """What the view says, by row, of the label of each element."""
        rows = self._rows(elements)
        found: Bools = asked()[rows]
        return found

    def _rows(self, elements: Ints) -> Ints:
        """Where the label of each element stands in the view."""
        known = len(self._row)
        if known < len(self.graph):
            self._row = np.concatenate([self._row, self._view.rows(self.read().label[known:])])
        return self._row[elements]

    def is_within_alone(self, elements: Ints, clause: CompiledClause) -> Bools:
        """The same over each element by itself."""
        new = elements[self._remembered.of(clause, self.graph)[elements] < 0]
        if len(new):
            full = self._full(clause, new, np.arange(len(new)), len(new))
            self._remembered.learn(clause, self.graph, new, full, self.read())
        found: Bools = self._remembered.of(clause, self.graph)[elements] == 0
        return found

    def _full(self, clause: CompiledClause, members: Ints, group: Ints, count: int) -> Bools:
        """Over which of ``count`` groups ``clause`` may be broken, ``group[i]`` being that of
        ``members[i]``.
        """
        active = self._active(clause, members)
        if not active.any():
            return np.zeros(count, np.bool_)
        is_active = flags(count, group[active])
        chosen = is_active[group]
        members, group, active = members[chosen], group[chosen], active[chosen]
        edges = self._edges(members, group)
        counted = self._counted(clause, members[active], edges)
        pair_group, pair_element = distinct_pairs(edges.group[counted], edges.target[counted])
        known = np.bincount(pair_group, minlength=count) + self._own(clause, members, group, count)
        full: Bools = is_active & (known > clause.n)
        taken = {
            atom: self._taken(atom, members, group, count) for atom in self._view.takers(clause)
        }
        takers = np.logical_or.reduce([*taken.values()]) if taken else np.zeros(count, np.bool_)
        if taken and takers.any():
            asked = self._asked(taken, edges)
            children = np.bincount(
                group, self._needed(members, self._view.at_least), minlength=count
            ).astype(np.int64)
            asked_group, asked_element = distinct_pairs(edges.group[asked], edges.target[asked])
            more = ~_contained(asked_group, asked_element, pair_group, pair_element)
            extra = np.bincount(asked_group[more], minlength=count)
            full |= is_active & takers & (known + children + extra > clause.n)
        return full

    def _active(self, clause: CompiledClause, members: Ints) -> Bools:
        """Which members leave ``clause`` open."""
        return ~self._seen(members, lambda: self._view.decided_at_centre(clause))

    def _edges(self, members: Ints, group: Ints) -> Edges:
        graph = self.graph
        graph.expand(members)
        source, role, target = graph.half_edges(flags(len(graph), members))
        where = np.zeros(len(graph), np.int64)
        where[members] = group
        return Edges(source, role, target, where[source])

    def _counted(self, clause: CompiledClause, active: Ints, edges: Edges) -> Bools:
        """Which ``edges`` make E of the ``active`` members."""
        found = self.calculus.among(edges.role, self.calculus.below(clause))
        found = found & flags(len(self.graph), active)[edges.source]
        found[found] = ~self._seen(
            edges.target[found], lambda: self._view.denied(clause.branch_body)
        )
        return found

    def _own(self, clause: CompiledClause, members: Ints, group: Ints, count: int) -> Ints:
        """How many witnesses of its own a member of each group may have below the role of
        ``clause``, at most.
        """
        own = np.zeros(count, np.int64)
        needs = self._view.givers(clause)
        if needs:
            np.maximum.at(own, group, self._needed(members, needs))
        return own

    def _owns(self, clause: CompiledClause, elements: Ints) -> Bools:
        """Which elements may by themselves have a witness of their own below the role of
        ``clause``.
        """
        question = ("owns", clause.index)
        new = elements[self._remembered.of(question, self.graph)[elements] < 0]
        if len(new):
            found = self._own(clause, new, np.arange(len(new)), len(new)) > 0
            self._remembered.learn(question, self.graph, new, found, self.read())
        owns: Bools = self._remembered.of(question, self.graph)[elements] == 1
        return owns

    def _has(self, need: AtLeast, elements: Ints) -> Bools:
        return self._seen(elements, lambda: self._view.needs(need))

    def _needed(self, members: Ints, needs: Sequence[AtLeast]) -> Ints:
        """Σ k over those ``needs`` ≥k R.D of each member that may take a witness beyond its told
        ones.
        """
        found = np.zeros(len(members), np.int64)
        for need in needs:
            found += need.n * self._unmet(need, members)
        return found

    def _unmet(self, need: AtLeast, elements: Ints) -> Bools:
        """Which elements have ``need``, and, if it is for one witness, no told neighbour that
        meets it.
        """
        found = self._has(need, elements)
        if need.n > 1 or need.is_loop or not found.any():
            return found
        asked = elements[found]
        new = asked[self._remembered.of(need, self.graph)[asked] < 0]
        if len(new):
            self._remembered.learn(need, self.graph, new, ~self._is_met(need, new), self.read())
        found[found] = self._remembered.of(need, self.graph)[asked] == 1
        return found

    def _is_met(self, need: AtLeast, elements: Ints) -> Bools:
        """Which elements have a told neighbour that is a witness of ``need``."""
        self.graph.expand(elements)
        source, role, target = self.graph.half_edges(flags(len(self.graph), elements))
        met = self.calculus.among(role, self.calculus.tbox.roles.subroles(need.role))
        if need.filler is not None:
            bit = 1 << self.calculus.tbox.atom_ids[need.filler]
            met[met] = self._seen(target[met], lambda: self._view.told(bit))
        found: Bools = flags(len(self.graph), source[met])[elements]
        return found

    def _taken(self, atom: AtLeast, members: Ints, group: Ints, count: int) -> Bools:
        """Which of ``count`` groups have a member that may be a witness of ``atom``."""
        bit = 0 if atom.filler is None else 1 << self.calculus.tbox.atom_ids[atom.filler]
        return flags(count, group[~self._seen(members, lambda: self._view.denied(bit))])

    def _asked(self, taken: dict[AtLeast, Bools], edges: Edges) -> Bools:
        """Which ``edges`` lead to those that may take a member for their witness and so become
        its S-neighbours; ``taken``: which groups may be taken at all.
        """
        asked = np.zeros(len(edges.source), np.bool_)
        if not taken:
            return asked
        apart = edges.source != edges.target
        others = unique(edges.target[apart])
        for atom, groups in taken.items():
            unmet = self._unmet(atom, others)
            if unmet.any():
                asked |= groups[edges.group] & flags(len(self.graph), others[unmet])[edges.target]
        asked &= apart
        return asked


def _contained(first: Ints, second: Ints, among_first: Ints, among_second: Ints) -> Bools:
    return contained([first, second], [among_first, among_second])
