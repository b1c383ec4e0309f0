"""I of a patch, and the labels that hold at its elements and outside, in columns (THEORY,
"Inside: assumed and plain elements").

The labels are those of `tests.spec.patch`, worked out once per distinct combination.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from abox_ops.counting.fine_columns import FineCounts
from abox_ops.counting.remembered import ElementAnswers
from abox_ops.elements.columns import ElementFlags, Graph, flags
from abox_ops.engine import NamedModule
from abox_ops.index.columns import Index
from abox_ops.index.touched import TouchedNodes
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import EMPTY_ID, Bools, by_distinct, combinations
from abox_ops.labels.seen import is_violated
from abox_ops.modules.found_columns import AddSetColumns
from abox_ops.modules.open_assertions import OpenAssertions
from abox_ops.patch.frontier import Frontier
from abox_ops.patch.outside_columns import OutsideCompletion
from shiq.columns.arrays import NONE, Ints, contained, distinct, row_codes
from shiq.roles import Role

#: Names the individuals of the modules of a closure.
Named = Callable[[AddSetColumns], Sequence[NamedModule]]


@dataclass(frozen=True, eq=False)
class PatchInput:
    """What a patch is made of: (T, A) as ``index`` and N as ``outside`` have it, A ∪ A⁺ as
    ``graph`` has it. ``name``: gives the modules of what is kept; ``absent``: names that T has
    not without the batch; ``all_plain``: see `tests.spec.inside`.
    """

    index: Index
    calculus: Calculus
    graph: Graph
    touched: TouchedNodes
    outside: OutsideCompletion
    name: Named
    absent: int = 0
    all_plain: bool = False


class PatchState(OpenAssertions):
    """I of one batch, growing; ``mu`` is the label of each element in its part, ``certified``
    told_N.
    """

    counts: FineCounts
    inside, plain, active = ElementFlags(), ElementFlags(), ElementFlags()
    #: Elements that A does not have, or not as they are now; elements that were made of several.
    is_new, joined = ElementFlags(), ElementFlags()
    #: Elements that this round has to look at again; those that some round had to, since inserted
    #: role assertions were last looked at.
    stale, uncertain = ElementFlags(), ElementFlags()

    def __init__(self, given: PatchInput) -> None:
        super().__init__(given.index, given.calculus, given.graph, given.touched)
        self.outside, self.absent, self.all_plain = given.outside, given.absent, given.all_plain
        self.inside = np.zeros(0, np.bool_)
        self.plain = np.zeros(0, np.bool_)
        self.active = np.zeros(0, np.bool_)
        self.is_new = self.joined = self.stale = self.uncertain = self.inside
        self._certified = self._mu = NONE
        self._first: Ints | None = None
        #: With the labels that are guessed without triggers, and with those that hold.
        self._counted_before, self._counted = ElementAnswers(), ElementAnswers()
        #: The triggers of each element, as the number of a label, or -1; and what they rest on.
        self._tried, self._guessed = NONE, Frontier()

    # --- by number --------------------------------------------------------------------------------

    @property
    def certified(self) -> Ints:
        """told_N."""
        self._label_more()
        return self._certified

    def certified_of(self, keys: Ints, labels: Ints, numbers: Ints) -> Ints:
        """told_N of elements by their keys, with labels in A, and numbers or -1
        (`abox_ops.told.region`).
        """
        known = numbers >= 0
        found = np.zeros(len(keys), np.int64)
        found[known] = self.certified[numbers[known]]
        found[~known] = self.outside.labels(
            self.calculus, keys[~known], labels[~known], self.absent
        )
        return found

    @property
    def mu(self) -> Ints:
        """The label of each element in its part."""
        self._label_more()
        return self._mu

    def _label_more(self) -> None:
        """Takes in elements that the graph has met meanwhile; they are outside."""
        known, graph = len(self._certified), self.graph
        if known < len(graph):
            more = self.outside.labels(
                self.calculus, graph.key[known:], graph.old[known:], self.absent
            )
            self._certified = np.concatenate([self._certified, more])
            self._mu = np.concatenate([self._mu, more])

    def labels(self) -> Ints:
        return self.mu

    def _members(self) -> Ints:
        """I."""
        return self.inside.nonzero()[0]

    def _new(self) -> Bools:
        """Whether A lacks an element, or has it not as it is now, by number."""
        return self.graph.is_new()

    def _joined(self) -> Bools:
        """Whether an element was made of several, by number."""
        return self.graph.is_joined()

    def clashing(self) -> Bools:
        """Whether told⁺ contradicts an element, by number."""
        return self._clashes_among(self.active)

    def _clashes_among(self, elements: Bools) -> Bools:
        found = elements.copy()
        found[found] = self.calculus.table.clashes(self.graph.label[found])
        return found

    def contradictory(self) -> Bools:
        """Whether an element is in I and told⁺ alone contradicts it, by number."""
        return self._clashes_among(self.inside)

    def may_clash(self, first: Ints, second: Ints) -> Bools:
        """Whether a disjointness, asymmetry or irreflexivity axiom or a negative assertion may
        contradict what stands between two elements: either may be one with another, or what is
        asserted of the two contradicts as it is.
        """
        if not len(first):
            return np.zeros(0, np.bool_)
        found: Bools = self._may_share(first) | self._may_share(second)
        rest = (~found).nonzero()[0]
        found[rest] = are_violated(self.calculus, self.graph, first[rest], second[rest])
        return found

    def _may_share(self, elements: Ints) -> Bools:
        return self.joined[elements] | (self.counts.sizes(elements) > 1)

    # --- what is assumed --------------------------------------------------------------------------

    def assume(self) -> None:
        """A label for every element of I: first without triggers, then with those of clauses
        that such labels leave overfull.
        """
        graph, table = self.graph, self.calculus.table
        self.is_new = self._new()
        self.joined = self._joined()
        self._mu = self.certified.copy()
        members = self._members()
        if not len(members):
            return
        graph.expand(members)
        told = graph.label[members]
        self.mu[members] = told
        if self.all_plain:
            return
        guessed = ~self.plain[members] & ~table.clashes(told)
        members, told = members[guessed], told[guessed]
        start = told.copy()
        old = (~self.is_new[members]).nonzero()[0]
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
        """The head atoms that are better tried as true at each of ``elements`` (ascending), as
        the number of a label.
        """
        graph, counts = self.graph, None
        if self.calculus.bounded:
            nobody = np.zeros(len(graph), np.bool_)
            counts = FineCounts(self.calculus, graph, self.labels, nobody, self._counted_before)
        stale = self._guessed.reached(graph, counts, self.mu)
        self._tried = np.concatenate(
            [self._tried, np.full(len(graph) - len(self._tried), -1, np.int64)]
        )
        asked = elements[stale[elements] | (self._tried[elements] < 0)]
        self._tried[asked] = self._new_triggers(asked, counts)
        self._guessed.remember(graph, counts, self.mu)
        return self._tried[elements]

    def _new_triggers(self, elements: Ints, counts: FineCounts | None) -> Ints:
        graph, calculus, table = self.graph, self.calculus, self.calculus.table
        source, role, target = graph.half_edges(flags(len(graph), elements))
        keys, inverse = calculus.role_calculus.distinct(role, self.mu[source], self.mu[target])
        heads = np.array([calculus.role_calculus.unmet(*key) for key in keys], np.int64)[inverse]
        said = heads != EMPTY_ID
        at, received = [np.searchsorted(elements, source[said])], [heads[said]]
        if counts is not None:
            for c, names in calculus.bounded:
                broken = np.flatnonzero(~counts.is_within_alone(elements, c))
                at.append(broken)
                received.append(np.full(len(broken), table.id((names, 0)), np.int64))
        start = np.full(len(elements), EMPTY_ID, np.int64)
        return table.accumulate(start, np.concatenate(at), np.concatenate(received))


def are_violated(calculus: Calculus, graph: Graph, first: Ints, second: Ints) -> Bools:
    """Whether what is asserted between each two elements contradicts as it is: a disjointness,
    asymmetry or irreflexivity axiom or a negative assertion.
    """
    if not len(first):
        return np.zeros(0, np.bool_)
    graph.expand(first)
    box = calculus.tbox.roles
    asserted, sets = roles_between(calculus, graph, first, second)
    keys, inverse = combinations(asserted, (first == second).astype(np.int64))
    found: Bools = np.array(
        [is_violated(sets[i], (), bool(loop), box) for i, loop in keys], np.bool_
    )[inverse]
    negated: dict[tuple[int, int], set[Role]] = {}
    for x, named, y in graph.rare.negative_edges:
        negated.setdefault((int(graph.rep[x]), int(graph.rep[y])), set()).add(named)
    for i, *pair in zip(range(len(first)), first.tolist(), second.tolist()) if negated else ():
        if against := negated.get((pair[0], pair[1])):
            found[i] |= is_violated(sets[asserted[i]], against, pair[0] == pair[1], box)
    return found


def roles_between(
    calculus: Calculus, graph: Graph, first: Ints, second: Ints
) -> tuple[Ints, list[frozenset[Role]]]:
    """The roles that are asserted between each two elements, as a number of the list that goes
    with it.
    """
    roles = calculus.roles
    source, role, target = graph.half_edges(flags(len(graph), first))
    between = contained([source, target], [first, second])
    source, role, target = source[between], role[between], target[between]
    _, pair, _ = distinct(
        row_codes(np.concatenate([first, source]), np.concatenate([second, target]))
    )
    edge, pair = pair[len(first) :], pair[: len(first)]
    once = distinct(row_codes(edge, role))[2]
    edge, role = edge[once], role[once]
    order = np.lexsort((role, edge))
    edge, role = edge[order], role[order]
    start = edge.searchsorted(np.arange(pair.max() + 2))
    size = np.diff(start)
    sets: list[frozenset[Role]] = [frozenset()]
    number = {sets[0]: 0}
    found = np.zeros(len(size), np.int64)
    for i in range(int(size.max(initial=0))):
        longer_ = (size > i).nonzero()[0]
        keys, inverse = combinations(found[longer_], role[start[longer_] + i])
        grown = [sets[s] | {roles[r]} for s, r in keys]
        for roles_ in grown:
            if roles_ not in number:
                number[roles_] = len(sets)
                sets.append(roles_)
        found[longer_] = np.array([number[roles_] for roles_ in grown], np.int64)[inverse]
    return found[pair], sets
