"""Maintain told literals: from those of A to those of A ∪ A⁺, propagated outward from what changed,
in columns (THEORY, "Maintenance of the told sets").

A role assertion of A is read only where a clause on its role can do more with the new label of one
end than with the old one. Of a hub with an unchanged label none is read.
"""

from __future__ import annotations

import numpy as np

from shiq.abox_ops.elements.graph import Graph, extend_flags, flags
from shiq.abox_ops.labels.label_calculus import (
    CompiledClause,
    Label,
    literal_count,
    unrefuted_literals,
)
from shiq.abox_ops.labels.label_numbers import Bools, distinct_rows
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.told.told_literals import (
    RoundSizes,
    add_inserted_literals,
    close_labels,
    combine_part_labels,
    forced_pairs,
    receive_labels,
)
from shiq.abox_ops.told.work_list import saturate_all_by_list
from shiq.columns.arrays import NONE, Columns, Ints, unique
from shiq.model.roles import Role


def saturate_insertions(calculus: NumberedCalculus, graph: Graph, touched: Ints) -> None:
    """Bring the labels of ``graph`` from told of A to told of A ∪ A⁺, and join the elements that
    become equal.

    ``touched``: the nodes of A⁺. Members of all changed elements are fetched. Stops because labels
    grow within finitely many literals and elements only merge.
    """
    outward, pace = _OutwardWalk(calculus, graph), RoundSizes()
    changed = outward.start(touched)
    while len(changed):
        while len(changed):
            if pace.should_use_work_list(len(changed), len(graph)):
                changed, steps = saturate_all_by_list(calculus, graph, changed)
                pace.note_list_steps(steps)
            changed = outward.send_round(changed)
        changed = outward.merge_round()


class _OutwardWalk:
    """Propagation of told literals outward from the insertions. Role assertions have the element
    numbers from before joins as their ends.

    active_edges: role assertions that take part (source, role, target): inserted ones from both
        ends, others from the end that asked for them.
    pending_edges: further role assertions of changed elements (source, role, node).
    """

    def __init__(self, calculus: NumberedCalculus, graph: Graph) -> None:
        self.calculus, self.graph = calculus, graph
        rows = graph.union.inserted_tables["half_edges"].columns
        ends = {
            "source": graph.locate_nodes(rows["node"]),
            "target": graph.locate_nodes(rows["neighbour"]),
        }
        self.active_edges: Columns = {**ends, "role": rows["role"]}
        self.pending_edges: Columns = dict.fromkeys(("source", "role", "node"), NONE)
        self._has_read = np.zeros(0, np.bool_)

    def start(self, touched: Ints) -> Ints:
        """Add the inserted assertions at the ``touched`` nodes to the labels of their elements;
        return these elements.
        """
        calculus, graph = self.calculus, self.graph
        first = graph.locate_nodes(touched)
        graph.fetch_members(first)
        elements = unique(graph.rep[first])
        combine_part_labels(calculus, graph, elements)
        add_inserted_literals(calculus, graph, elements)
        close_labels(calculus, graph, flags(len(graph), elements))
        return elements

    def send_round(self, changed: Ints) -> Ints:
        """Send literals along the role assertions of the ``changed`` elements; return the elements
        whose label grew.
        """
        graph = self.graph
        self._fetch_pending_edges(changed)
        self._activate_edges(self._may_have_effect(changed))
        source, role, target = self._active_edge_columns()
        rows = flags(len(graph), changed)[source]
        source, role, target = source[rows], role[rows], target[rows]
        to_source, to_target = self.calculus.role_propagation.send(
            role, graph.label[source], graph.label[target]
        )
        return receive_labels(
            self.calculus,
            graph,
            np.concatenate([source, target]),
            np.concatenate([to_source, to_target]),
        )

    def merge_round(self) -> Ints:
        """Join the told neighbours that a ≤1 S.C in force makes equal, at changed elements and
        their neighbours; return the elements that grew.
        """
        calculus, graph = self.calculus, self.graph
        pairs = [self._forced_pairs(clause) for clause in calculus.functional_clauses]
        first, second = (np.concatenate([NONE, *(pair[i] for pair in pairs)]) for i in (0, 1))
        grown = graph.join(first, second) if len(first) else NONE
        if len(grown):
            graph.fetch_members(grown)
            combine_part_labels(calculus, graph, grown)
            close_labels(calculus, graph, flags(len(graph), grown))
        return grown

    def _forced_pairs(self, clause: CompiledClause) -> tuple[Ints, Ints]:
        """Find the pairs of told neighbours that ``clause``, a ≤1 S.C in force, makes equal."""
        calculus, graph, below = self.calculus, self.graph, self.calculus.space.roles_below(clause)
        source, role, target = self._active_edge_columns()
        changed = graph.rep[
            (graph.label[graph.rep] != graph.base_label) | graph.is_joined()[graph.rep]
        ]
        near = [
            source[calculus.is_role_in(role, below)],
            target[calculus.is_role_in(role ^ 1, below)],
        ]
        centres = unique(np.concatenate([changed, *near]))
        centres = centres[calculus.is_in_force(graph.label[centres], clause)]
        self._fetch_pending_edges(centres)
        mine = flags(len(graph), centres)[graph.rep[self.pending_edges["source"]]]
        self._activate_edges(mine & calculus.is_role_in(self.pending_edges["role"], below))
        source, role, target = self._active_edge_columns()
        return forced_pairs(calculus, graph, clause, centres, (source, role, target))

    def _active_edge_columns(self) -> tuple[Ints, Ints, Ints]:
        """The active role assertions as columns source, role, target, with ends after joins."""
        rep = self.graph.rep
        return (
            rep[self.active_edges["source"]],
            self.active_edges["role"],
            rep[self.active_edges["target"]],
        )

    # --- role assertions of A ---------------------------------------------------------------------

    def _fetch_pending_edges(self, elements: Ints) -> None:
        """Fetch the role assertions of ``elements`` in A as pending ones, unless that was done
        before.
        """
        graph = self.graph
        graph.fetch_members(elements)
        self._has_read = extend_flags(self._has_read, len(graph))
        todo = graph.parts(elements)
        todo = todo[~self._has_read[todo]]
        self._has_read[todo] = True
        node, element = graph.members.of_elements(todo)
        rows = graph.union.rows_of("half_edges", node, with_inserted=False)
        found = {
            "source": element[node.searchsorted(rows["node"])],
            "role": rows["role"],
            "node": rows["neighbour"],
        }
        self.pending_edges = {
            name: np.concatenate([column, found[name]])
            for name, column in self.pending_edges.items()
        }

    def _activate_edges(self, wanted: Bools) -> None:
        """Make the ``wanted`` pending role assertions active, so that they take part in the
        propagation.
        """
        found = {name: column[wanted] for name, column in self.pending_edges.items()}
        found["target"] = self.graph.locate_nodes(found["node"])
        self.active_edges = {
            name: np.concatenate([column, found[name]])
            for name, column in self.active_edges.items()
        }
        self.pending_edges = {name: column[~wanted] for name, column in self.pending_edges.items()}

    def _may_have_effect(self, changed: Ints) -> Bools:
        """Decide whether each pending role assertion of ``changed`` elements may send or merge more
        than it did in A.
        """
        graph, labels = self.graph, self.calculus.table.labels
        wanted = flags(len(graph), changed)[graph.rep[self.pending_edges["source"]]]
        source, role = self.pending_edges["source"][wanted], self.pending_edges["role"][wanted]
        reduced = self.calculus.role_propagation.reduce_labels
        keys, which = distinct_rows(
            role,
            reduced(role, graph.base_label[source]),
            reduced(role, graph.label[graph.rep[source]]),
        )
        answers = [
            self._may_send_more(self.calculus.roles[r], labels[before], labels[now])
            for r, before, now in keys
        ]
        wanted[wanted] = np.array(answers, np.bool_)[which]
        return wanted

    def _may_send_more(self, role: Role, before: Label, now: Label) -> bool:
        """Decide whether an assertion of ``role`` may send or merge more with the label ``now`` at
        its subject than with ``before``.

        Whatever the label of its object is.
        """
        space = self.calculus.space
        here = [ends.near_literals for ends in space.clause_ends(role) if not ends.clause.n]
        return any(
            _count_unrefuted(c, now) < min(2, _count_unrefuted(c, before)) for c in here
        ) or any(
            role.inverse in self.calculus.space.roles_below(c)
            and c.branch_body & ~before[0]
            and not c.branch_body & ~now[0]
            for c in self.calculus.functional_clauses
        )


def _count_unrefuted(literals: Label, label: Label) -> int:
    """Count the literals at one end of a clause that ``label`` does not refute."""
    return literal_count(unrefuted_literals(literals, label))
