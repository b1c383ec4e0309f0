"""Told literals of A ∪ A⁺ from those of A, outward from what changed, in columns (THEORY,
"Maintenance of the told sets").

A role assertion of A is met where a clause on its role can do more with the label of one end
than with the told one: of a hub whose label stays none is, of one whose label grows those by the
roles on which that matters.
"""

from __future__ import annotations

import numpy as np

from shiq.abox_ops.elements.graph import Graph, flags, longer
from shiq.abox_ops.labels.calculus import CompiledClause, Label
from shiq.abox_ops.labels.label_numbers import Bools, combinations
from shiq.abox_ops.labels.numbered_calculus import Calculus
from shiq.abox_ops.told.saturation import (
    RoundSizes,
    asserted_labels,
    closed,
    combine,
    joined_in_turn,
    received,
    refuted_labels,
)
from shiq.abox_ops.told.work_list import walk_everywhere
from shiq.columns.arrays import NONE, Columns, Ints, unique
from shiq.model.roles import Role


def insert(calculus: Calculus, graph: Graph, touched: Ints) -> None:
    """Brings the labels of ``graph``, which are told of A, to told of A ∪ A⁺, and joins what is
    equal by that. ``touched``: the nodes of A⁺. What is no longer as in A is gathered then.

    Stops because labels grow within finitely many literals and elements only merge.
    """
    outward, pace = _Outward(calculus, graph), RoundSizes()
    changed = outward.start(touched)
    while len(changed):
        while len(changed):
            if pace.is_slow(len(changed), len(graph)):
                changed, steps = walk_everywhere(calculus, graph, changed)
                pace.judge(steps)
            changed = outward.sent(changed)
        changed = outward.merged()


class _Outward:
    """``met``: the role assertions that take part (source, role, target), from the end that
    wanted them, the inserted ones from both; ``unmet``: the others of elements that changed
    (source, role, node). Ends are elements as they are numbered.
    """

    def __init__(self, calculus: Calculus, graph: Graph) -> None:
        self.calculus, self.graph = calculus, graph
        rows = graph.whole.inserted["half_edges"].columns
        ends = {
            "source": graph.locate_nodes(rows["node"]),
            "target": graph.locate_nodes(rows["neighbour"]),
        }
        self.met: Columns = {**ends, "role": rows["role"]}
        self.unmet: Columns = dict.fromkeys(("source", "role", "node"), NONE)
        self._has_read = np.zeros(0, np.bool_)

    def start(self, touched: Ints) -> Ints:
        """Takes in what is asserted at the ``touched`` nodes; their elements."""
        calculus, graph = self.calculus, self.graph
        first = graph.locate_nodes(touched)
        graph.gather(first)
        elements = unique(graph.rep[first])
        combine(calculus, graph, elements)
        for labels in (asserted_labels, refuted_labels):
            more = labels(calculus, graph, elements, inserted_only=True)
            graph.label[elements] = calculus.table.join(graph.label[elements], more)
        closed(calculus, graph, flags(len(graph), elements))
        return elements

    def sent(self, changed: Ints) -> Ints:
        """One round from the ``changed`` elements; which elements it changed."""
        graph = self.graph
        self._read(changed)
        self._meet(self._wanted(changed))
        source, role, target = self._edges()
        rows = flags(len(graph), changed)[source]
        source, role, target = source[rows], role[rows], target[rows]
        to_source, to_target = self.calculus.role_calculus.sent(
            role, graph.label[source], graph.label[target]
        )
        return received(
            self.calculus,
            graph,
            np.concatenate([source, target]),
            np.concatenate([to_source, to_target]),
        )

    def merged(self) -> Ints:
        """Joins the told neighbours of every element at which a ≤1 S.C is in force, and which or
        whose neighbours changed; the elements that grew.
        """
        calculus, graph = self.calculus, self.graph
        pairs = [self._forced_equal(clause) for clause in calculus.functional]
        first, second = (np.concatenate([NONE, *(pair[i] for pair in pairs)]) for i in (0, 1))
        grown = graph.join(first, second) if len(first) else NONE
        if len(grown):
            graph.gather(grown)
            combine(calculus, graph, grown)
            closed(calculus, graph, flags(len(graph), grown))
        return grown

    def _forced_equal(self, clause: CompiledClause) -> tuple[Ints, Ints]:
        calculus, graph, below = self.calculus, self.graph, self.calculus.below(clause)
        source, role, target = self._edges()
        changed = graph.rep[(graph.label[graph.rep] != graph.old) | graph.is_joined()[graph.rep]]
        near = [source[calculus.among(role, below)], target[calculus.among(role ^ 1, below)]]
        centres = unique(np.concatenate([changed, *near]))
        centres = centres[calculus.in_force(graph.label[centres], clause)]
        self._read(centres)
        mine = flags(len(graph), centres)[graph.rep[self.unmet["source"]]]
        self._meet(mine & calculus.among(self.unmet["role"], below))
        source, role, target = self._edges()
        return joined_in_turn(calculus, graph, clause, centres, (source, role, target))

    def _edges(self) -> tuple[Ints, Ints, Ints]:
        rep = self.graph.rep
        return rep[self.met["source"]], self.met["role"], rep[self.met["target"]]

    # --- role assertions of A ---------------------------------------------------------------------

    def _read(self, elements: Ints) -> None:
        """Fetches the role assertions of A of ``elements``, where that was not done before;
        nobody is met by that.
        """
        graph = self.graph
        graph.gather(elements)
        self._has_read = longer(self._has_read, len(graph))
        todo = graph.peers(elements)
        todo = todo[~self._has_read[todo]]
        self._has_read[todo] = True
        node, element = graph.sorted_members(todo)
        rows = graph.whole.rows_of("half_edges", node, with_inserted=False)
        found = {
            "source": element[node.searchsorted(rows["node"])],
            "role": rows["role"],
            "node": rows["neighbour"],
        }
        self.unmet = {
            name: np.concatenate([column, found[name]]) for name, column in self.unmet.items()
        }

    def _meet(self, wanted: Bools) -> None:
        """Lets the ``wanted`` ones of the unmet role assertions take part."""
        found = {name: column[wanted] for name, column in self.unmet.items()}
        found["target"] = self.graph.locate_nodes(found["node"])
        self.met = {
            name: np.concatenate([column, found[name]]) for name, column in self.met.items()
        }
        self.unmet = {name: column[~wanted] for name, column in self.unmet.items()}

    def _wanted(self, changed: Ints) -> Bools:
        """Which unmet role assertions of ``changed`` elements may do what they did not do in A."""
        graph, labels = self.graph, self.calculus.table.labels
        wanted = flags(len(graph), changed)[graph.rep[self.unmet["source"]]]
        source, role = self.unmet["source"][wanted], self.unmet["role"][wanted]
        reduced = self.calculus.role_calculus.reduced
        keys, which = combinations(
            role, reduced(role, graph.old[source]), reduced(role, graph.label[graph.rep[source]])
        )
        answers = [
            self._matters(self.calculus.roles[r], labels[before], labels[now])
            for r, before, now in keys
        ]
        wanted[wanted] = np.array(answers, np.bool_)[which]
        return wanted

    def _matters(self, role: Role, before: Label, now: Label) -> bool:
        """Whether an assertion of ``role`` may send, or make equal, more with the label ``now``
        at its subject than with the one ``before``, whatever the label of its object.
        """
        space = self.calculus.space
        here = [(c.head, c.body) for c in space.clauses_of(role) if not c.n]
        here += [(c.branch_head, c.branch_body) for c in space.clauses_of(role.inverse) if not c.n]
        return any(_open(c, now) < min(2, _open(c, before)) for c in here) or any(
            role.inverse in self.calculus.below(c)
            and c.branch_body & ~before[0]
            and not c.branch_body & ~now[0]
            for c in self.calculus.functional
        )


def _open(literals: Label, label: Label) -> int:
    """How many literals of one end of a clause ``label`` does not refute."""
    head, body = literals
    return (head & ~label[1]).bit_count() + (body & ~label[0]).bit_count()
