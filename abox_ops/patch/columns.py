"""A_add under the criteria `model` and `clausal`, in columns: `abox_ops.patch.reference` and `abox_ops.patch.border` (THEORY,
"The add set", "Inside" and "Border rules").

The steps are those of the reference; each runs over all elements or role assertions at once, and asks `abox_ops` once per
distinct combination of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from abox_ops.counting.fine_columns import CountingView, FineCounts
from abox_ops.counting.remembered import Remembered
from abox_ops.elements.columns import ElementFlags, Graph, flags
from abox_ops.elements.pulled_in import ROLES, code_of
from abox_ops.engine import Certain, NamedModule, unheard
from abox_ops.index.columns import Index
from abox_ops.index.touched import Touched
from abox_ops.labels.calculus import clashes
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import EMPTY_ID, Bools, by_distinct, combinations
from abox_ops.labels.seen import is_violated
from abox_ops.modules.add_set_columns import Found
from abox_ops.modules.open_assertions import OpenAssertions
from abox_ops.patch.border_columns import Border
from abox_ops.patch.outside_columns import OutsideCompletion
from abox_ops.told.columns import combine, saturate
from shiq.clause import ClausalTBox
from shiq.columns.arrays import Columns, Ints, contained, distinct, row_codes, unique
from shiq.columns.rows import DIFFERENT, SAME
from shiq.roles import Role

_NONE = np.zeros(0, np.int64)
#: Names the individuals of the modules of a closure.
Named = Callable[[Found], Sequence[NamedModule]]


class Patch(OpenAssertions):
    """I of one batch, growing; ``mu`` is the label of each element in its part, ``certified`` told_N. ``name``: gives the modules
    of what is kept. ``all_plain``: see `abox_ops.patch.reference.Patch`. ``all_around``: reads all role assertions of what is
    touched, also where nothing changes."""

    counts: FineCounts
    inside, plain, active = ElementFlags(), ElementFlags(), ElementFlags()
    #: Elements that A does not have, or not as they are now; elements that were made of several.
    is_new, joined = ElementFlags(), ElementFlags()

    def __init__(
        self,
        index: Index,
        calculus: Calculus,
        graph: Graph,
        touched: Touched,
        outside: OutsideCompletion,
        name: Named,
        absent: int = 0,
        *,
        all_plain: bool = False,
        all_around: bool = False,
    ) -> None:
        super().__init__(index, calculus, graph, touched)
        self.outside, self.absent, self._name = outside, absent, name
        self.all_plain, self.all_around = all_plain, all_around
        self.inside = np.zeros(0, np.bool_)
        self.plain = np.zeros(0, np.bool_)
        self.active = np.zeros(0, np.bool_)
        self.is_new = self.joined = self.inside
        self._certified = self._mu = _NONE
        self._first: Ints | None = None
        self._view = CountingView(calculus)
        #: With the labels that are guessed without triggers, and with those that hold.
        self._counted_before, self._counted = Remembered(), Remembered()
        self._asked: Sequence[NamedModule] | None = None
        self._rows: tuple[Columns, Columns] | None = None

    @property
    def tbox(self) -> ClausalTBox:
        """The clauses over which modules are asked: with the names of residuals."""
        return self.calculus.residuals.tbox

    # --- by number ---------------------------------------------------------------------------------

    @property
    def certified(self) -> Ints:
        """told_N."""
        self._label_more()
        return self._certified

    @property
    def mu(self) -> Ints:
        """The label of each element in its part."""
        self._label_more()
        return self._mu

    def _label_more(self) -> None:
        """Takes in elements that the graph has met meanwhile; they are outside."""
        known, graph = len(self._certified), self.graph
        if known < len(graph):
            more = self.outside.labels(self.calculus, graph.key[known:], graph.old[known:], self.absent)
            self._certified = np.concatenate([self._certified, more])
            self._mu = np.concatenate([self._mu, more])

    def labels(self) -> Ints:
        return self.mu

    def _members(self) -> Ints:
        """I."""
        return np.flatnonzero(self.inside)

    def _new(self) -> Bools:
        """By number: elements that A does not have, or not as they are now."""
        return self.graph.is_new()

    def _joined(self) -> Bools:
        """By number: elements that were made of several."""
        return np.bincount(self.graph.rep, minlength=len(self.graph)) > 1

    # --- told⁺ -------------------------------------------------------------------------------------

    def _saturate(self) -> None:
        """told⁺ of what the batch touches and of I."""
        graph = self.graph
        if self._first is None:
            self._first = graph.locate_nodes(self.touched.nodes)
            if self.all_around or self.grown_tbox:
                graph.expand(self._first)
            else:
                graph.meet_insertions()
                graph.gather(self._first)
            combine(self.calculus, graph, unique(graph.rep))
            self.take_in(unique(graph.rep[self._first]), inserted_only=not self.grown_tbox)
            self.active = flags(len(graph), graph.rep[self._first])
        else:
            fresh = self._members()
            fresh = fresh[~self.active[fresh]]
            if not len(fresh):
                return
            graph.expand(fresh)
            self.active[fresh] = True
            if self.grown_tbox:
                self.take_in_all(fresh)
        self.active = saturate(self.calculus, graph, self.active, self.take_in_all if self.grown_tbox else lambda elements: None)
        self.inside = flags(len(graph), graph.rep[self._members()])
        self.plain = flags(len(graph), graph.rep[np.flatnonzero(self.plain)])

    def _contradictory(self) -> Bools:
        """By number: elements of I that told⁺ alone contradicts."""
        return self._clashes_among(self.inside)

    # --- what is assumed ---------------------------------------------------------------------------

    def _assume(self) -> None:
        """A label for every element of I: first without triggers, then with those of clauses that such labels leave overfull."""
        graph, table = self.graph, self.calculus.table
        self.is_new = self._new()
        self.joined = self._joined()
        self._mu = self.certified.copy()
        members = self._members()
        graph.expand(members)
        told = graph.label[members]
        self.mu[members] = told
        if self.all_plain:
            return
        guessed = ~self.plain[members] & ~table.clashes(told)
        members, told = members[guessed], told[guessed]
        start = told.copy()
        old = np.flatnonzero(~self.is_new[members])
        both = table.close(table.join(told[old], self.certified[members[old]]))
        start[old] = np.where(table.clashes(both), told[old], both)
        completed = self.calculus.completions.of
        self.mu[members] = by_distinct(start, lambda i: table.id(completed(table.labels[i])))
        mask = self._triggers(members)
        said = mask != EMPTY_ID
        keys, inverse = combinations(told[said], mask[said])
        labels = [table.id(completed(table.labels[i], table.labels[m][0])) for i, m in keys]
        self.mu[members[said]] = np.array(labels, np.int64)[inverse]

    def _triggers(self, elements: Ints) -> Ints:
        """For each of ``elements`` (ascending), as the number of a label: the head atoms that are better tried as true there."""
        graph, calculus, table = self.graph, self.calculus, self.calculus.table
        source, role, target = graph.half_edges(flags(len(graph), elements))
        keys, inverse = calculus.role_calculus.distinct(role, self.mu[source], self.mu[target])
        heads = np.array([calculus.role_calculus.unmet(*key) for key in keys], np.int64)[inverse]
        said = heads != EMPTY_ID
        at, received = [np.searchsorted(elements, source[said])], [heads[said]]
        bounded = calculus.bounded
        if bounded and len(elements):
            nobody = np.zeros(len(graph), np.bool_)
            counts = FineCounts(calculus, graph, self.labels, nobody, self._view, self._counted_before)
            for c, names in bounded:
                broken = np.flatnonzero(~counts.is_within_alone(elements, c))
                at.append(broken)
                received.append(np.full(len(broken), table.id((names, 0)), np.int64))
        start = np.full(len(elements), EMPTY_ID, np.int64)
        return table.accumulate(start, np.concatenate(at), np.concatenate(received))

    # --- I -----------------------------------------------------------------------------------------

    def close(self, *, to_clash: bool = False, certain: Certain = unheard) -> bool:
        """See `abox_ops.patch.reference.Patch.close`. Stops because I and the plain elements grow, and elements merge, in finite
        sets."""
        self._asked = self._rows = None
        while True:
            self._saturate()
            clashing = self._clashing()
            if clashing.any():
                certain()
                if to_clash:
                    self.inside = clashing
                    return True
            self._assume()
            self.counts = FineCounts(self.calculus, self.graph, self.labels, self.inside, self._view, self._counted)
            self.border = Border(self.calculus, self.graph, self.outside, self.counts, self)
            grown, unassumed = self._crossings()
            grown = unique(np.concatenate([grown, self._start()]))
            if self.inside[grown].all() and self.plain[unassumed].all():
                # Last, since a pair that crosses by then has the border rules.
                grown = self._uncovered()
                if not len(grown):
                    return False
            self.inside[grown] = True
            self.plain[unassumed] = True

    def _clashing(self) -> Bools:
        """By number: the elements that told⁺ contradicts."""
        return self._clashes_among(self.active)

    def _clashes_among(self, elements: Bools) -> Bools:
        found = elements.copy()
        found[found] = self.calculus.table.clashes(self.graph.label[found])
        return found

    def _start(self) -> Ints:
        """The elements of which the insertions say what is not part of the certified model, role assertions apart."""
        graph = self.graph
        active = np.flatnonzero(self.active & ~self.inside)
        started = [active[self.is_new[active] | self._says_more(active)], graph.elements_of(self.touched.negative)]
        pairs = self.graph.whole.inserted["pairs"].columns
        same = pairs["kind"] // 2 * 2 == SAME
        started.append(graph.elements_of(pairs["node"][same]))
        apart = pairs["kind"] == DIFFERENT
        a, b = (graph.elements_of(pairs[end][apart]) for end in ("node", "neighbour"))
        open_ = ~(self.inside[a] & self.inside[b])
        a, b = a[open_], b[open_]
        known = ~self.is_new[a] & ~self.is_new[b] & self.border.are_different(a, b)
        started += [a[~known], b[~known]]
        data = self.touched.data
        element = graph.elements_of(data["node"])
        outside = ~self.inside[element]
        element = element[outside]
        started.append(element[~self._decided(element, data["property"][outside], data["literal"][outside])])
        return unique(np.concatenate(started))

    def _says_more(self, elements: Ints) -> Bools:
        """Whether told⁺ of each element goes beyond told_N."""
        table, visible = self.calculus.table, self.calculus.space.visible

        def more(told: int, known: int) -> bool:
            label, certified = table.labels[told], table.labels[known]
            positive, negative = visible(label)
            return (clashes(label) and not (self.all_plain and clashes(certified))) or bool(
                positive & ~certified[0] or negative & ~certified[1]
            )

        keys, inverse = combinations(self.graph.label[elements], self.certified[elements])
        return np.array([more(*key) for key in keys], np.bool_)[inverse] if keys else np.zeros(0, np.bool_)

    def _uncovered(self) -> Ints:
        """The ends of inserted role assertions that no rule covers as things are."""
        graph = self.graph
        source, role, target = graph.half_edges()
        rows = graph.edges["inserted"] & (graph.edges["role"] % 2 == 0)
        rows &= ~(self.inside[source] & self.inside[target])
        source, role, target = source[rows], role[rows], target[rows]
        open_ = np.zeros(len(source), np.bool_)
        seen = self._seen(source, role, target)
        at = np.flatnonzero(seen)
        open_[at] = self._may_clash(source[at], target[at])
        beyond = ~(self.inside[source] | self.inside[target])
        open_ |= beyond & (self.is_new[source] | self.is_new[target])
        rest = np.flatnonzero(beyond & ~open_)
        # What A asserts at the ends of those that are seen was fetched to see whether they clash.
        old = ~graph.edges["inserted"]
        pairs = [graph.rep[graph.edges[end][old]] for end in ("source", "target")]
        open_[rest] = seen[rest] & contained([source[rest], target[rest]], pairs)
        rest = rest[~open_[rest]]
        open_[rest] = self._relevant(source[rest], role[rest], target[rest])
        return unique(np.concatenate([source[open_], target[open_]]))

    def _may_clash(self, first: Ints, second: Ints) -> Bools:
        """Whether a disjointness, asymmetry or irreflexivity axiom or a negative assertion may contradict what stands between two
        elements."""
        if not len(first):
            return np.zeros(0, np.bool_)
        found = self._may_share(first) | self._may_share(second)
        rest = np.flatnonzero(~found)
        if not len(rest):
            return found
        graph, box = self.graph, self.calculus.tbox.roles
        graph.expand(first[rest])
        first, second = first[rest], second[rest]
        asserted, sets = self._roles_between(first, second)
        keys, inverse = combinations(asserted, (first == second).astype(np.int64))
        found[rest] = np.array([is_violated(sets[i], (), bool(loop), box) for i, loop in keys], np.bool_)[inverse]
        negated: dict[tuple[int, int], set[Role]] = {}
        for x, named, y in graph.rare.negative_edges:
            negated.setdefault((int(graph.rep[x]), int(graph.rep[y])), set()).add(named)
        for i, *pair in zip(range(len(first)), first.tolist(), second.tolist()) if negated else ():
            if against := negated.get((pair[0], pair[1])):
                found[rest[i]] |= is_violated(sets[asserted[i]], against, pair[0] == pair[1], box)
        return found

    def _roles_between(self, first: Ints, second: Ints) -> tuple[Ints, list[frozenset[Role]]]:
        """The roles that are asserted between each two elements, as a number of the list that goes with it."""
        graph, roles = self.graph, self.calculus.roles
        source, role, target = graph.half_edges(flags(len(graph), first))
        between = contained([source, target], [first, second])
        source, role, target = source[between], role[between], target[between]
        _, pair, _ = distinct(row_codes(np.concatenate([first, source]), np.concatenate([second, target])))
        edge, pair = pair[len(first) :], pair[: len(first)]
        once = distinct(row_codes(edge, role))[2]
        edge, role = edge[once], role[once]
        order = np.lexsort((role, edge))
        edge, role = edge[order], role[order]
        start = np.searchsorted(edge, np.arange(pair.max() + 2))
        size = np.diff(start)
        sets: list[frozenset[Role]] = [frozenset()]
        number = {sets[0]: 0}
        found = np.zeros(len(size), np.int64)
        for i in range(int(size.max(initial=0))):
            longer_ = np.flatnonzero(size > i)
            keys, inverse = combinations(found[longer_], role[start[longer_] + i])
            grown = [sets[s] | {roles[r]} for s, r in keys]
            for roles_ in grown:
                if roles_ not in number:
                    number[roles_] = len(sets)
                    sets.append(roles_)
            found[longer_] = np.array([number[roles_] for roles_ in grown], np.int64)[inverse]
        return found[pair], sets

    def _may_share(self, elements: Ints) -> Bools:
        return self.joined[elements] | (self.counts.sizes(elements) > 1)

    # --- the border --------------------------------------------------------------------------------

    def _crossings(self) -> tuple[Ints, Ints]:
        """The elements that must come in over role assertions, and the elements whose assumption leaves a clause unmet.

        Notes the residuals of the others. An element that contradicts itself settles the matter and asks for nothing.
        """
        graph, table = self.graph, self.calculus.table
        calm = self.inside & ~self._contradictory()
        source, role, target = graph.half_edges()
        rows = calm[source] & ~self.inside[target]
        source, role, target, inserted = source[rows], role[rows], target[rows], graph.edges["inserted"][rows]
        seen = np.flatnonzero(self._seen(source, role, target))
        clash = seen[self._may_clash(source[seen], target[seen])]
        pulled, unassumed = [target[clash]], [_NONE]
        self.pulled_in.note(target[clash], ROLES)
        left = np.ones(len(source), np.bool_)
        left[clash] = False
        source, role, target, inserted = source[left], role[left], target[left], inserted[left]
        asserted = ~inserted
        is_old = contained([source, role, target], [source[asserted], role[asserted], target[asserted]])
        is_old &= ~self.is_new[source] & ~self.is_new[target]
        at, received, kept_out = [_NONE], [_NONE], [(_NONE, _NONE, _NONE)]
        for clause, at_branch, open_ in self._open_instances(source, role, target):
            a, b = source[open_], target[open_]
            uncovered = ~self.border.is_covered(clause, at_branch, a, b, is_old[open_])
            a, b = a[uncovered], b[uncovered]
            code = code_of(clause)
            if self.all_plain:
                pulled.append(b)
                self.pulled_in.note(b, code)
                continue
            residual = self.border.residual(clause, at_branch, self.mu[a])
            said = residual >= 0
            at.append(a[said])
            received.append(residual[said])
            kept_out.append((a[said], b[said], np.full(int(said.sum()), code, np.int64)))
            a, b = a[~said], b[~said]
            gives_up = self.border.residual(clause, at_branch, graph.label[a]) >= 0
            unassumed.append(a[gives_up])
            pulled.append(b[~gives_up])
            self.pulled_in.note(b[~gives_up], code)
        self._kept_out = tuple(map(np.concatenate, zip(*kept_out)))
        start = np.full(len(graph), EMPTY_ID, np.int64)
        self.residual = table.accumulate(start, np.concatenate(at), np.concatenate(received))
        return unique(np.concatenate(pulled)), unique(np.concatenate(unassumed))

    # --- what is kept ------------------------------------------------------------------------------

    def found(self, *, bare: bool = True) -> Found:
        """A_add; ``bare``: with told⁺ alone, else with what is assumed and the residuals."""
        graph, table = self.graph, self.calculus.table
        clash = self._contradictory()
        kept = graph.label.copy()
        elements = np.flatnonzero(self.inside)
        if bare:
            kept[elements] = table.visible(graph.label[elements])
        else:
            kept[elements] = table.join(table.visible(self.mu[elements]), _at(self.residual, elements))
        edges, data = self._kept()
        touched = unique(graph.rep[self._first]) if self._first is not None else _NONE
        clashing = np.flatnonzero(clash)
        return Found(graph, elements, self.active, graph.label, kept, touched, clashing, edges, data, pulled_in=self.pulled_in)

    def _kept(self) -> tuple[Columns, Columns]:
        """The role assertions and data of I that are kept."""
        if self._rows is None:
            self._rows = self._kept_rows()
        return self._rows

    def _kept_rows(self) -> tuple[Columns, Columns]:
        graph = self.graph
        rest = self.inside & ~self._contradictory()
        source, role, target = graph.half_edges(rest)
        inner = rest[target]
        source, role, target = source[inner], role[inner], target[inner]
        open_ = self._relevant(source, role, target)
        seen = self._seen(source, role, target) & ~open_
        code = row_codes(source, target)
        linked = np.isin(code, code[open_])
        also = np.flatnonzero(seen & ~linked)
        seen[also] = self._may_clash(source[also], target[also])
        kept = (open_ | seen) & (role % 2 == 0)
        data = self._kept_data(np.flatnonzero(rest))
        return {"source": source[kept], "role": role[kept], "target": target[kept]}, data

    def asked(self) -> Sequence[NamedModule]:
        """The modules as they are asked: with what is assumed, and residuals."""
        if self._asked is None:
            self._asked = self._name(self.found(bare=False))
        return self._asked

    def bare(self) -> Sequence[NamedModule]:
        """The same modules, in the same order, with told⁺ alone."""
        return self._name(self.found())

    # --- after a failure ---------------------------------------------------------------------------

    def _elements(self, individuals: Sequence[str]) -> Ints:
        return unique(self.graph.elements_of(self.graph.whole.nodes_of(individuals)))

    def give_up_assumptions(self, individuals: Sequence[str]) -> bool:
        """Makes the elements of ``individuals`` plain; whether any of them was assumed to be more than it is told."""
        elements = self._elements(individuals)
        taken = self.inside[elements] & (self.mu[elements] != self.graph.label[elements]) & ~self.plain[elements]
        self.plain[elements[taken]] = True
        return bool(taken.any())

    def pull_in_for(self, individuals: Sequence[str]) -> bool:
        """Takes in what the residuals of the elements of ``individuals`` kept out; whether there was any."""
        here, out, codes = self._kept_out
        pulled = np.isin(here, self._elements(individuals))
        pulled &= ~self.inside[out]
        self.pulled_in.note(out[pulled], codes[pulled])
        pulled = out[pulled]
        self.inside[pulled] = True
        return bool(len(pulled))


def _at(column: Ints, elements: Ints) -> Ints:
    known = elements < len(column)
    found = np.full(len(elements), EMPTY_ID, np.int64)
    found[known] = column[elements[known]]
    return found
