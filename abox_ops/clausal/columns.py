"""A_add under the clausal criterion, in columns: the closure of `abox_ops.clausal.reference` (THEORY, "Irrelevant role
assertions" and "The add set"), frontier by frontier.

The steps and their order are those of the reference; each runs over all elements at once, and asks `abox_ops` once per distinct
combination of labels.
"""

from __future__ import annotations

import numpy as np

from abox_ops.counting.columns import Counts
from abox_ops.elements.columns import flag_of, flags, longer
from abox_ops.elements.pulled_in import ROLES, code_of
from abox_ops.labels.numbered import Bools
from abox_ops.modules.add_set_columns import Found
from abox_ops.modules.open_assertions import OpenAssertions
from abox_ops.told.columns import combine, saturate
from shiq.columns.arrays import Ints, distinct, unique

_NONE = np.zeros(0, np.int64)


class Clausal(OpenAssertions):
    """One run for one batch."""

    counts: Counts

    def run(self) -> Found:
        """See `abox_ops.clausal.reference`."""
        graph = self.graph
        first = graph.locate_nodes(self.touched.nodes)
        graph.expand(first)
        if self.grown_tbox and self.calculus.space.m_type:
            graph.locate(unique(graph.keys_of(graph.whole.nodes())))
            graph.expand(graph.reps())
        combine(self.calculus, graph, unique(graph.rep))
        self.take_in(unique(graph.rep[first]), inserted_only=not self.grown_tbox)
        active = flags(len(graph), graph.rep[first])
        seen = _NONE
        while True:
            active = saturate(self.calculus, graph, active, self.take_in_all if self.grown_tbox else lambda elements: None)
            self.active = active
            self.counts = Counts(self.calculus, graph)
            self._recount()
            self.is_new = graph.is_new()
            touched = unique(graph.rep[first])
            closed = self._close(unique(np.concatenate([graph.rep[seen], self._start()])))
            self._extend_flags()
            if np.array_equal(closed, seen) and self.active[closed].all():
                break
            seen, active = closed, self.active
            fresh = seen[~active[seen]]
            active[seen] = True
            if self.grown_tbox and len(fresh):
                self.take_in_all(fresh)
        return self._result(seen, touched)

    def _recount(self) -> None:
        """The merge classes where labels, members or role assertions are not those of A."""
        graph = self.graph
        if not self.calculus.space.m_type:
            return
        reps = graph.reps()
        changed = flags(len(graph), reps[graph.label[reps] != graph.old[reps]])
        changed |= graph.is_new()
        changed[graph.rep[graph.edges["source"][graph.edges["inserted"]]]] = True
        detached = unique(graph.elements_of(self.index.detached))
        self.counts.of_batch(np.flatnonzero(changed), detached, everywhere=self.grown_tbox)

    def _extend_flags(self) -> None:
        """Takes in elements that were met since the flags were made."""
        more = np.zeros(len(self.graph) - len(self.active), np.bool_)
        self.active = np.concatenate([self.active, more])
        self.is_new = np.concatenate([self.is_new, more])

    # --- I -----------------------------------------------------------------------------------------

    def _start(self) -> Ints:
        """The touched elements that a check must see, and those that A⁺ makes or enlarges."""
        graph, table = self.graph, self.calculus.table
        active = np.flatnonzero(self.active)
        differs = table.visible(graph.label[active]) != table.visible(graph.old[active])
        started = [active[differs | flag_of(self.is_new, active)], graph.elements_of(self.touched.always)]
        rows = graph.edges["inserted"] & (graph.edges["role"] % 2 == 0)
        source, role, target = (graph.edges[name][rows] for name in ("source", "role", "target"))
        source, target = graph.rep[source], graph.rep[target]
        kept = self._relevant(source, role, target) | self._seen(source, role, target)
        started += [source[kept], target[kept]]
        data = self.touched.data
        element = graph.elements_of(data["node"])
        started.append(element[~self._decided(element, data["property"], data["literal"])])
        return unique(np.concatenate(started))

    def _may_share(self, elements: Ints) -> Bools:
        """Which elements may be equal to another one, or have become so by A⁺."""
        return (self.counts.sizes(elements) > 1) | (flag_of(self.active, elements) & flag_of(self.is_new, elements))

    def _crosses(self, source: Ints, role: Ints, target: Ints) -> Bools:
        """Which role assertions pull in the end that is outside I."""
        crosses = self._relevant(source, role, target)
        rest = np.flatnonzero(~crosses)
        seen = self._seen(source[rest], role[rest], target[rest])
        rest = rest[seen]
        crosses[rest] = self._may_share(source[rest]) | self._may_share(target[rest])
        return crosses

    def _close(self, start: Ints) -> Ints:
        """I: everything that ``start`` pulls in. Stops because I grows within the elements of A ∪ A⁺."""
        graph = self.graph
        closed = flags(len(graph), start)
        frontier = start
        while len(frontier):
            graph.expand(frontier)
            closed = longer(closed, len(graph))
            source, role, target = graph.half_edges(flags(len(graph), frontier))
            outside = ~closed[target]
            source, role, target = source[outside], role[outside], target[outside]
            crosses = self._crosses(source, role, target)
            source, role, target = source[crosses], role[crosses], target[crosses]
            reached = unique(target)
            self._note(source, role, target)
            closed = longer(closed, len(graph))
            closed[reached] = True
            frontier = reached
        return np.flatnonzero(closed)

    def _note(self, source: Ints, role: Ints, target: Ints) -> None:
        """Says which clause asks for the elements that role assertions pull in: a u-type one rather than one that counts."""
        _, _, example = distinct(target)
        source, role, target = source[example], role[example], target[example]
        codes, counted = np.full(len(target), ROLES, np.int64), []
        for clause, at_branch, rows in self._open_instances(source, role, target):
            if clause.n:
                counted.append((clause, at_branch, rows))
            else:
                codes[rows] = code_of(clause)
        for clause, at_branch, rows in counted:
            rows = rows[codes[rows] == ROLES]
            centre = target[rows] if at_branch else source[rows]
            codes[rows[~self.counts.is_within(centre, clause)]] = code_of(clause)
        self.pulled_in.note(target, codes)

    # --- A_add -------------------------------------------------------------------------------------

    def _result(self, seen: Ints, touched: Ints) -> Found:
        graph, table = self.graph, self.calculus.table
        clash = table.clashes(graph.label[seen])
        rest = flags(len(graph), seen[~clash])
        source, role, target = graph.half_edges(rest)
        inside = rest[target] & (role % 2 == 0)
        source, role, target = source[inside], role[inside], target[inside]
        kept = self._relevant(source, role, target) | self._seen(source, role, target)
        edges = {"source": source[kept], "role": role[kept], "target": target[kept]}
        data = self._kept_data(seen[~clash])
        visible = graph.label.copy()
        visible[seen] = table.visible(graph.label[seen])
        return Found(graph, seen, self.active, graph.label, visible, touched, seen[clash], edges, data, pulled_in=self.pulled_in)
