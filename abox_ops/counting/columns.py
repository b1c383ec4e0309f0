"""E, G and merge classes in columns: `tests.spec.counting` (THEORY, "Irrelevant role
assertions").

The merge classes of A are part of its index. For a batch they are recomputed where a centre's
labels, role assertions or neighbours' labels changed: classes that such a centre may have made
are dissolved, and all centres around them asked again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from abox_ops.elements.columns import Graph, flags
from abox_ops.elements.partition import components
from abox_ops.labels.calculus import CompiledClause
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import Bools
from shiq.clause import AtLeast
from shiq.columns.arrays import NONE, Ints, distinct, distinct_pairs, unique
from shiq.roles import Role


@dataclass(frozen=True)
class ClassCounts:
    """Counts of each of ``classes``: |∪E| + max G; the (class, element) pairs of ∪E; whether G > 0."""

    classes: Ints
    total: Ints
    generates: Bools
    pair_class: Ints
    pair_element: Ints


class Counts:
    """Merge classes of ``graph`` under its present labels. ``class_of`` gives the class of each
    number, by one of its numbers.

    Only what a clause with a ≤n or a ≥-atom speaks of matters here, so labels are cut down to
    that: few distinct ones are left.
    """

    def __init__(self, calculus: Calculus, graph: Graph) -> None:
        self.calculus, self.graph = calculus, graph
        self.class_of = NONE
        self._label = NONE
        self._within: dict[int, dict[int, bool]] = {}
        self._sync()

    # --- classes ----------------------------------------------------------------------------------

    def _sync(self) -> None:
        """Takes in elements that the graph has met meanwhile, in the merge classes that they
        have in A.
        """
        known = len(self.class_of)
        if known == len(self.graph):
            return
        number = np.arange(known, len(self.graph), dtype=np.int64)
        _, inverse, example = distinct(self.graph.group[known:])
        self.class_of = np.concatenate([self.class_of, number[example][inverse]])
        if self.calculus.space.m_type:
            label = self.graph.label[known:]
            self._label = np.concatenate(
                [self._label, self.calculus.table.cut(label, self.calculus.counting_bits)]
            )

    def classes(self, elements: Ints) -> Ints:
        """The class of each element."""
        self._sync()
        return self.class_of[elements]

    def members(self, classes: Ints) -> Ints:
        """The elements in ``classes``."""
        self._sync()
        reps = self.graph.reps()
        return reps[flags(len(self.graph), classes)[self.class_of[reps]]]

    def pairs(self, classes: Ints) -> tuple[Ints, Ints]:
        """(class, element) for every element in ``classes``."""
        members = self.members(classes)
        return self.class_of[members], members

    def sizes(self, elements: Ints) -> Ints:
        """How many elements the class of each of ``elements`` has."""
        self._sync()
        size = np.bincount(self.class_of[self.graph.reps()], minlength=len(self.graph))
        found: Ints = size[self.class_of[elements]]
        return found

    def _union(self, first: Ints, second: Ints) -> Ints:
        """Unites; the classes that grew."""
        before = self.class_of
        apart = before[first] != before[second]
        everyone = np.arange(len(before))
        self.class_of = components(
            len(before), np.concatenate([everyone, first]), np.concatenate([before, second])
        )
        return unique(self.class_of[first[apart]])

    def of_batch(self, changed: Ints, detached: Ints, *, everywhere: bool = False) -> None:
        """The merge classes of A ∪ A⁺, where the labels of ``changed`` elements, or what they
        consist of, or their role assertions are not those of A; ``detached`` are those that
        deletions have changed. ``everywhere``: at every element of the graph, which is all of A
        ∪ A⁺.
        """
        if not self.calculus.space.m_type:
            return
        if everywhere:
            self.graph.expand(self.graph.reps())
            self._sync()
            self.class_of = self.graph.rep.copy()
            self._merge(self.graph.reps())
            return
        self.graph.expand(np.concatenate([changed, detached]))
        self._sync()
        number = np.arange(len(self.graph))
        self._union(number, self.graph.rep)
        changed = unique(np.concatenate([changed, detached]))
        asked = self._dissolve(
            unique(np.concatenate([changed, self._neighbours(changed)])), detached
        )
        self._merge(self.class_of[asked])

    def _neighbours(self, elements: Ints) -> Ints:
        _, _, target = self.graph.half_edges(flags(len(self.graph), elements))
        return unique(target)

    def _dissolve(self, dirty: Ints, detached: Ints) -> Ints:
        """Takes apart every class that the class of a ``dirty`` element may have made, and so
        on, and those of the ``detached`` elements; gives the elements whose classes have to be
        asked again.

        Stops because a class is taken apart once.
        """
        asked, around = dirty, dirty
        while True:
            centres = self.members(unique(self.class_of[asked]))
            self.graph.expand(centres)
            self._sync()
            reached = np.concatenate([self._neighbours(centres), detached])
            reached = unique(self.classes(reached[self.sizes(reached) > 1]))
            if not len(reached):
                return unique(np.concatenate([asked, around]))
            loose = self.members(reached)
            apart = flags(len(self.graph), reached)[self.class_of]
            self.class_of[apart] = self.graph.rep[apart]
            self.graph.expand(loose)
            self._sync()
            asked = unique(np.concatenate([asked, loose]))
            around = unique(np.concatenate([around, self._neighbours(loose)]))

    def _merge(self, classes: Ints) -> None:
        """Unites from ``classes`` on until nothing grows. Stops because classes only grow together."""
        queue = unique(classes)
        while len(queue):
            self.graph.expand(self.members(queue))
            self._sync()
            first, second = [NONE], [NONE]
            for clause in self.calculus.space.m_type:
                a, b = self._together(clause, queue)
                first.append(a)
                second.append(b)
            queue = self._union(np.concatenate(first), np.concatenate(second))
        self._within.clear()

    def _together(self, clause: CompiledClause, classes: Ints) -> tuple[Ints, Ints]:
        """Pairs of elements that overfull ``classes`` make one class."""
        counted = self._count(clause, classes)
        full = flags(len(self.graph), counted.classes[counted.total > clause.n])
        class_, element = counted.pair_class, counted.pair_element
        more = flags(len(self.graph), counted.classes[counted.generates])
        chosen = np.zeros(len(self.graph), np.bool_)
        reps = self.graph.reps()
        chosen[reps] = more[self.class_of[reps]] & self._active(clause, reps)
        source, _, target = self.graph.half_edges(chosen)
        own = np.flatnonzero(chosen) if self.calculus.may_loop(clause) else source[:0]
        class_ = np.concatenate([class_, self.class_of[source], self.class_of[own]])
        element = np.concatenate([element, target, own])
        kept = full[class_]
        class_, element = class_[kept], element[kept]
        hub = np.zeros(len(self.graph), np.int64)
        hub[class_] = element
        return hub[class_], element

    # --- counts -----------------------------------------------------------------------------------

    def is_within(self, elements: Ints, clause: CompiledClause) -> Bools:
        """Whether |∪E| + max G ≤ n over the merge class of each element: ``clause`` cannot be
        broken there.
        """
        self._sync()
        known = self._within.setdefault(clause.index, {})
        classes, inverse, _ = distinct(self.class_of[elements])
        new = np.array([c for c in classes.tolist() if c not in known], np.int64)
        if len(new):
            self.graph.expand(self.members(new))
            self._sync()
            counted = self._count(clause, new)
            known.update(zip(counted.classes.tolist(), (counted.total <= clause.n).tolist()))
        return np.fromiter((known[c] for c in classes.tolist()), np.bool_, len(classes))[inverse]

    def _active(self, clause: CompiledClause, elements: Ints) -> Bools:
        return ~self.calculus.table.where(self._label[elements], clause.decided_at_centre)

    def _count(self, clause: CompiledClause, classes: Ints) -> ClassCounts:
        """|∪E| + max G of each of ``classes``, whose members are expanded."""
        graph, table = self.graph, self.calculus.table
        classes = unique(classes)
        members = self.members(classes)
        position = classes.searchsorted(self.class_of[members])
        is_active = self._active(clause, members)
        some_active = flags(len(classes), position[is_active])
        source, role, target = graph.half_edges(flags(len(graph), members))
        active = flags(len(graph), members[is_active])
        counted = active[source] & self.calculus.among(role, self.calculus.below(clause))
        counted[counted] = ~table.where(
            self._label[target[counted]], lambda x: bool(clause.branch_body & x[1])
        )
        pair_class, pair_element = distinct_pairs(self.class_of[source[counted]], target[counted])
        total = np.bincount(classes.searchsorted(pair_class), minlength=len(classes))
        generated = self._generated(clause, classes, members, (source, role, target))
        generated[~some_active] = 0
        return ClassCounts(classes, total + generated, generated > 0, pair_class, pair_element)

    def _generated(
        self, clause: CompiledClause, classes: Ints, members: Ints, edges: tuple[Ints, Ints, Ints]
    ) -> Ints:
        """max G by class: needs below S at one member, and what may take the class as its witness."""
        below = self.calculus.below(clause)
        position = classes.searchsorted(self.class_of[members])
        found = np.zeros(len(classes), np.int64)
        np.maximum.at(found, position, self._own(below, members, edges))
        takers = [a for a in self.calculus.space.at_least.values() if a.role.inverse in below]
        if takers:
            self._taken(takers, classes, members, edges, found)
        return found

    def _own(self, below: frozenset[Role], members: Ints, edges: tuple[Ints, Ints, Ints]) -> Ints:
        """Σ k over the needed ≥k R.D of each member with R among ``below``; a k of 1 counts 0
        where a told neighbour meets it.
        """
        calculus, labels = self.calculus, self.calculus.table.labels
        found, inverse, _ = distinct(self._label[members])
        needs = [calculus.needs_below(labels[i], below) for i in found.tolist()]
        own = np.array([several for several, _ in needs], np.int64)[inverse]
        for need in dict.fromkeys(need for _, ones in needs for need in ones):
            has = np.fromiter((need in ones for _, ones in needs), np.bool_, len(needs))[inverse]
            own += has & ~self._met(need, edges)[members]
        return own

    def _met(self, need: AtLeast, edges: tuple[Ints, Ints, Ints]) -> Bools:
        """Whether an asserted R-neighbour is told D, by number of element."""
        source, role, target = edges
        met = self.calculus.among(role, self.calculus.tbox.roles.subroles(need.role))
        if need.filler is not None:
            bit = 1 << self.calculus.tbox.atom_ids[need.filler]
            met[met] = self.calculus.table.where(
                self._label[target[met]], lambda x: bool(x[0] & bit)
            )
        return flags(len(self.graph), source[met])

    def _taken(
        self,
        takers: list[AtLeast],
        classes: Ints,
        members: Ints,
        edges: tuple[Ints, Ints, Ints],
        found: Ints,
    ) -> None:
        """Adds to ``found`` what may take a class as its witness: asserted neighbours that need
        it, and members' children.
        """
        table, needed = self.calculus.table, self.calculus.needs.needed
        source, _, target = edges
        apart = source != target
        source, target = source[apart], target[apart]
        position = classes.searchsorted(self.class_of[members])
        where = classes.searchsorted(self.class_of[source])
        taken = np.zeros(len(classes), np.bool_)
        asking = np.zeros(len(source), np.bool_)
        for taker in takers:
            may_be = self._may_be(taker, members)
            here = flags(len(classes), position[may_be])
            taken |= here
            asking |= here[where] & table.where(
                self._label[target],
                lambda x, t=taker: t in needed(x),  # type: ignore[misc]
            )
        asked_class, _ = distinct_pairs(where[asking], target[asking])
        labels, inverse, _ = distinct(self._label[members])
        sums = [sum(need.n for need in needed(table.labels[i])) for i in labels.tolist()]
        children = np.array(sums, np.int64)[inverse]
        found += np.where(taken, np.bincount(asked_class, minlength=len(classes)), 0)
        found += np.where(
            taken, np.bincount(position, children, minlength=len(classes)).astype(np.int64), 0
        )

    def _may_be(self, taker: AtLeast, members: Ints) -> Bools:
        if taker.filler is None:
            return np.ones(len(members), np.bool_)
        bit = 1 << self.calculus.tbox.atom_ids[taker.filler]
        return ~self.calculus.table.where(self._label[members], lambda x: bool(x[1] & bit))
