"""The finer G of the criterion `model` in columns: `tests.spec.counting` with ``fine``
(THEORY, "Border rules").

Merge classes exist twice: those of I, made here from the labels that a patch gives its elements,
and those that the certified model knows outside, which are stored. A class is named by a *code*:
twice a number, and one more inside I.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from abox_ops.counting.groups_columns import GroupCounts
from abox_ops.counting.remembered import ElementAnswers
from abox_ops.elements.columns import Graph, flag_of, flags, longer
from abox_ops.elements.partition import components
from abox_ops.labels.calculus import CompiledClause
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import Bools
from shiq.columns.arrays import NONE, Ints, distinct, row_codes, unique

#: Why neighbours are made one class: they are counted; there are witnesses of their own; and a bit
#: for each kind of taker.
_TIED, _OWN = 1, 2


class _Overfull:
    """What is known of one clause while classes grow, by element. ``elements``: those of a class
    over which it may be broken, as it then may for good; ``tied``: by what reasons its
    neighbours were made one class already, a bit for each; ``hub``: one of those, or -1.
    """

    def __init__(self, elements: Bools) -> None:
        self.elements = elements
        self.tied = np.zeros(len(elements), np.int64)
        self.hub = np.full(len(elements), -1, np.int64)


class FineCounts(GroupCounts):
    """Counts of ``graph`` under ``labels()`` (by number, as many as the graph has by now);
    classes of the ``inside`` elements. ``remembered``: what earlier counts of the graph have
    left. ``contradictory``: elements of I that are in no merge class, of I or of the outside
    (THEORY, "Contradictory elements").
    """

    def __init__(
        self,
        calculus: Calculus,
        graph: Graph,
        labels: Callable[[], Ints],
        inside: Bools,
        remembered: ElementAnswers | None = None,
        contradictory: Bools | None = None,
    ) -> None:
        super().__init__(calculus, graph, labels, remembered or ElementAnswers())
        self._inside = inside
        self._contradictory = (
            np.zeros(len(graph), np.bool_) if contradictory is None else contradictory
        )
        self._class = np.arange(len(graph), dtype=np.int64)
        self._outside = NONE
        self._within: dict[int, dict[int, bool]] = {}
        if calculus.space.m_type:
            self._merge()

    # --- classes ------------------------------------------------------------------------

    def inside(self, elements: Ints) -> Bools:
        """Which elements are in I; those met since are not."""
        return flag_of(self._inside, elements)

    def outside_classes(self) -> Ints:
        """For each number of the graph one of its merge class: that of the certified model where
        it knows the number, else that of the element's own group.
        """
        known = len(self._outside)
        if known < len(self.graph):
            number = np.arange(known, len(self.graph), dtype=np.int64)
            _, inverse, example = distinct(self.graph.group[known:])
            self._outside = np.concatenate([self._outside, number[example][inverse]])
        return self._outside

    def classes(self, elements: Ints) -> Ints:
        """The code of the class of each element, in its part."""
        inside = self.inside(elements)
        found = self.outside_classes()[elements] * 2
        found[inside] = self._class[elements[inside]] * 2 + 1
        return found

    def pairs(self, classes: Ints) -> tuple[Ints, Ints]:
        """(code, element) for every element of the classes; of those outside, elements that are
        in I now are among them, unless they are contradictory.
        """
        rep, out = self.graph.rep, self.outside_classes()
        is_in = classes % 2 == 1
        own, others = (flags(len(rep), classes[chosen] // 2) for chosen in (is_in, ~is_in))
        inner = np.flatnonzero(own[: len(self._class)][self._class] & self._inside)
        inner = inner[rep[inner] == inner]
        # By every number: an element of a class may be part of a larger one by now, which another
        # of its parts stands for.
        outer = np.flatnonzero(others[out])
        outer = outer[~flag_of(self._contradictory, rep[outer])]
        element, code = rep[outer], out[outer] * 2
        if (element != outer).any():
            once = distinct(row_codes(code, element))[2]
            code, element = code[once], element[once]
        return np.concatenate([self._class[inner] * 2 + 1, code]), np.concatenate([inner, element])

    def with_mates(self, chosen: Bools) -> Bools:
        """The elements in ``chosen`` (a flag by number), and all of a merge class with one of
        them: inside, outside, or both.
        """
        rep, out = self.graph.rep, self.outside_classes()
        parts = longer(chosen, len(rep))[rep]
        found = flags(len(rep), rep[flags(len(rep), out[parts])[out]]) | parts
        known = len(self._class)
        found[:known] |= (
            flags(known, self._class[parts[:known] & self._inside])[self._class] & self._inside
        )
        return found

    def class_numbers(self) -> Ints:
        """The merge class of each number: one of the elements that its class in I has; itself
        for those outside.
        """
        return np.concatenate([self._class, np.arange(len(self._class), len(self.graph))])

    def sizes(self, elements: Ints) -> Ints:
        """How many elements the class of each of ``elements`` has."""
        codes = self.classes(elements)
        found, inverse, _ = distinct(self.pairs(codes)[0])
        sizes: Ints = np.bincount(inverse)[np.searchsorted(found, codes)] if len(codes) else codes
        return sizes

    def is_within(self, elements: Ints, clause: CompiledClause) -> Bools:
        """Whether ``clause`` cannot be broken at each element of I: over its merge class, or
        outside over that of the certified model less what is in I.
        """
        known = self._within.setdefault(clause.index, {})
        codes, inverse, _ = distinct(self.classes(elements))
        new = np.array([c for c in codes.tolist() if c not in known], np.int64)
        if len(new):
            code, member = self.pairs(new)
            kept = (code % 2 == 1) | ~self.inside(member)
            group = new.searchsorted(code[kept])
            member = member[kept]
            single = np.bincount(group, minlength=len(new))[group] == 1
            full = self._full(clause, member[~single], group[~single], len(new))
            full[group[single]] = ~self.is_within_alone(member[single], clause)
            known.update(zip(new.tolist(), (~full).tolist()))
        return np.fromiter((known[c] for c in codes.tolist()), np.bool_, len(codes))[inverse]

    # --- merging ----------------------------------------------------------------------------------

    def _merge(self) -> None:
        """The least equivalence on I such that an overfull class makes its E, and what may be
        generated there, one class.

        Stops because classes only grow together.
        """
        members = (self._inside & ~self._contradictory).nonzero()[0]
        if not len(members):
            return
        states = {clause: self._overfull(clause, members) for clause in self.calculus.space.m_type}
        group, count = np.arange(len(members)), len(members)
        are_alone = True
        while count:
            ties = []
            for clause, state in states.items():
                full = flags(count, group[state.elements[members]])
                if not are_alone:
                    open_ = ~full[group]
                    full |= self._full(clause, members[open_], group[open_], count)
                chosen = full[group]
                if chosen.any():
                    ties.append(self._ties(clause, members[chosen], group[chosen], count, state))
            if not ties:
                break
            grown = self._union(ties)
            members = (flags(len(self._class), grown)[self._class] & self._inside).nonzero()[0]
            group, count, are_alone = grown.searchsorted(self._class[members]), len(grown), False
        self._within.clear()

    def _overfull(self, clause: CompiledClause, members: Ints) -> _Overfull:
        return _Overfull(flags(len(self._class), members[~self.is_within_alone(members, clause)]))

    def _ties(
        self, clause: CompiledClause, members: Ints, group: Ints, count: int, state: _Overfull
    ) -> tuple[Ints, Ints]:
        """Pairs of elements of I that have to be of one class, since ``clause`` may be broken
        over all of these groups: ∪E, and what may take a member for its witness, or, if a member
        has witnesses of its own there, every neighbour.

        A member whose neighbours were tied for all these reasons before stands for them by its hub.
        """
        state.elements[members] = True
        own = flags(count, group[self._owns(clause, members)])
        reasons = np.where(own, _TIED | _OWN, _TIED)
        taken = {}
        for i, atom in enumerate(self._view.takers(clause)):
            taken[atom] = self._taken(atom, members, group, count) & ~own
            reasons[taken[atom]] |= _OWN << i + 1
        done = reasons[group] & ~state.tied[members] == 0
        rest, rest_group = members[~done], group[~done]
        active, edges = rest[self._active(clause, rest)], self._edges(rest, rest_group)
        chosen = self._counted(clause, active, edges)
        chosen |= own[edges.group] & flags(len(self.graph), active)[edges.source]
        chosen |= self._asked(taken, edges)
        chosen &= self._may_be_tied(edges.target)
        before = done & (state.hub[members] >= 0)
        looping = own[group] & ~done & self.calculus.may_loop(clause)
        themselves = np.flatnonzero(looping & flags(len(self.graph), active)[members])
        groups = np.concatenate([edges.group[chosen], group[before], group[themselves]])
        elements = np.concatenate(
            [edges.target[chosen], state.hub[members[before]], members[themselves]]
        )
        hub = np.full(count, -1, np.int64)
        hub[groups] = elements
        state.tied[members], state.hub[members] = reasons[group], hub[group]
        return hub[groups], elements

    def _may_be_tied(self, elements: Ints) -> Bools:
        """Which elements are of the classes that are made here."""
        return self.inside(elements) & ~flag_of(self._contradictory, elements)

    def _union(self, pairs: list[tuple[Ints, Ints]]) -> Ints:
        """Unites; the classes that grew."""
        first, second = (np.concatenate([pair[i] for pair in pairs]) for i in (0, 1))
        before = self._class
        apart = before[first] != before[second]
        first, second = first[apart], second[apart]
        if not len(first):
            return NONE
        everyone = np.arange(len(before))
        self._class = components(
            len(before), np.concatenate([everyone, first]), np.concatenate([before, second])
        )
        return unique(self._class[first])
