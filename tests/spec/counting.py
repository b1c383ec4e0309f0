"""Counting: when ≤n S.C cannot be broken, however the rest turns out (THEORY, "Irrelevant role
assertions").

*E*: the asserted S-neighbours of an element that may be C. *G*: how many more it can be made to
have. A *merge class* is what may have to be equal; counts are taken over a class, of elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shiq.abox_ops.labels.irrelevance import Needs
from shiq.abox_ops.labels.label_calculus import CompiledClause, Label, LabelCalculus, is_satisfied
from shiq.model.clause import AtLeast
from shiq.model.roles import Role
from shiq.partition import Partition
from tests.spec.element_graph import ElementGraph


@dataclass
class _Count:
    """What one m-type clause sees of one merge class: E, and the parts of G. All of it only
    grows when classes merge.

    ``own``: the most needs below S at one member. ``asking``: by ≥-atom that could make a member
    an S-neighbour of another element, the neighbours that may need it. ``takers``: those of
    these atoms whose filler some member may be. ``children``: all needs of the members.
    ``near``: all neighbours of active members, and these where they may be their own.
    ``is_full``: the bound can be broken.
    """

    everyone: set[str]
    own: int
    asking: dict[AtLeast, set[str]]
    takers: set[AtLeast]
    children: int
    near: set[str]
    is_active: bool
    members: list[str]
    is_full: bool = False

    def absorb(self, other: _Count) -> None:
        self.everyone |= other.everyone
        self.own = max(self.own, other.own)
        for atom, elements in other.asking.items():
            self.asking.setdefault(atom, set()).update(elements)
        self.takers |= other.takers
        self.children += other.children
        self.near |= other.near
        self.is_active |= other.is_active
        self.is_full |= other.is_full
        self.members += other.members

    @property
    def generated_neighbours(self) -> set[str]:
        """What else has to be of the class with E, where the bound can be broken: who may be a
        generated S-neighbour.
        """
        if self.own:
            return self.near
        return set().union(*(self.asking.get(atom, set()) for atom in self.takers))

    def keep_representatives(self, among: frozenset[str]) -> None:
        """Drops all but one element of each set that `joined` is the union of: they were put
        into one merge class, since the bound is broken, so that one stands for all when the
        class is counted again.
        """
        if self.own:
            self.near = set(list(self.near & among)[:1])
            return
        for atom in self.takers & self.asking.keys():
            self.asking[atom] = set(list(self.asking[atom] & among)[:1])

    def breaks(self, n: int) -> bool:
        """Whether |∪E| + max G > n, where any member is active."""
        known = len(self.everyone) + self.own
        if not self.is_active or known > n or not self.takers:
            return self.is_active and known > n
        asking = set().union(*(self.asking.get(atom, set()) for atom in self.takers))
        return known + self.children + len(asking - self.everyone) > n


class Counting:
    """E and G of single elements, or of given groups, of one element graph under one assignment
    of labels.
    """

    def __init__(
        self,
        space: LabelCalculus,
        graph: ElementGraph,
        label: Callable[[str], Label],
        needs: Needs,
    ) -> None:
        self.space, self.graph, self.label, self.needs = space, graph, label, needs
        self._unmet_needs: dict[str, tuple[AtLeast, ...]] = {}
        self._below = {c.index: space.roles_below(c) for c in space.m_type}
        self._looped = {c.index for c in space.m_type if space.may_loop(c)}
        self._could_take = {
            c.index: [a for a in space.at_least.values() if a.role.inverse in self._below[c.index]]
            for c in space.m_type
        }

    def may_take(self, clause: CompiledClause, label: Label) -> bool:
        """Whether another element could take one with ``label`` as a witness and so become its
        S-neighbour.
        """
        return any(self._may_be(label, a.filler) for a in self._could_take[clause.index])

    def is_within_bound_together(self, members: Iterable[str], clause: CompiledClause) -> bool:
        """Whether |∪E| + max G ≤ n, were ``members`` one merge class."""
        counts = [self._count(x, clause, self.graph.neighbours(x)) for x in members]
        for other in counts[1:]:
            counts[0].absorb(other)
        return not counts or not counts[0].breaks(clause.n)

    def _count(
        self, element: str, clause: CompiledClause, neighbours: set[tuple[Role, str]]
    ) -> _Count:
        """What ``clause`` sees of ``element`` alone."""
        label = self.label(element)
        below = self._below[clause.index]
        is_active = not is_satisfied(clause.literals_at(False), label)
        needed = self._may_generate(element)
        takers = {a for a in self._could_take[clause.index] if self._may_be(label, a.filler)}
        asking: dict[AtLeast, set[str]] = {}
        if self._could_take[clause.index]:
            for _, y in neighbours:
                if y != element:
                    for need in self._may_generate(y):
                        if need in self._could_take[clause.index]:
                            asking.setdefault(need, set()).add(y)
        near = {y for _, y in neighbours} | ({element} if clause.index in self._looped else set())
        everyone: set[str] = set()
        if is_active:
            everyone = {
                y for r, y in neighbours if r in below and not clause.branch_body & self.label(y)[1]
            }
        return _Count(
            everyone=everyone,
            own=sum(need.n for need in needed if need.role in below),
            asking=asking,
            takers=takers,
            children=sum(need.n for need in needed),
            near=near if is_active else set(),
            is_active=is_active,
            members=[element],
        )

    def _may_generate(self, element: str) -> tuple[AtLeast, ...]:
        """The needs of ``element`` that may take a witness beyond its told ones."""
        found = self._unmet_needs.get(element)
        if found is None:
            needed = self.needs.possible_needs(self.label(element))
            neighbours = self.graph.neighbours(element) if needed else set()
            found = tuple(
                need for need in needed if need.n > 1 or not self._is_met(need, neighbours)
            )
            self._unmet_needs[element] = found
        return found

    def _may_be(self, label: Label, filler: str | None) -> bool:
        return filler is None or not label[1] >> self.space.tbox.atom_ids[filler] & 1

    def _is_met(self, need: AtLeast, neighbours: set[tuple[Role, str]]) -> bool:
        if need.is_loop:
            return False
        below = self.space.tbox.roles.subroles(need.role)
        bit = None if need.filler is None else self.space.tbox.atom_ids[need.filler]
        return any(
            r in below and (bit is None or self.label(y)[0] >> bit & 1) for r, y in neighbours
        )


class Counts(Counting):
    """E, G and merge classes of one element graph under one assignment of labels; centres
    ``among`` the elements, if given: only these are put into classes.
    """

    def __init__(
        self,
        space: LabelCalculus,
        graph: ElementGraph,
        label: Callable[[str], Label],
        needs: Needs,
        among: Iterable[str] | None = None,
    ) -> None:
        super().__init__(space, graph, label, needs)
        self.classes: Partition[str] = Partition()
        self._members = frozenset(graph.element_names() if among is None else among)
        self._counts: dict[str, list[_Count]] = {}
        if space.m_type:
            self._merge()

    def is_within_bound(self, element: str, clause: CompiledClause) -> bool:
        """Whether |∪E| + max G ≤ n over the merge class of ``element``: the clause cannot be
        broken there.
        """
        counts = self._counts[self.classes.find(element)]
        return not counts[self.space.m_type.index(clause)].is_full

    def _merge(self) -> None:
        """The least equivalence such that an overfull class makes its E, and what may be
        generated there, one class.

        Stops because classes only grow together; counts only grow with them, so a class once
        overfull stays so.
        """
        names = sorted(self._members)
        for x in names:
            neighbours = self.graph.neighbours(x)
            self._counts[x] = [self._count(x, clause, neighbours) for clause in self.space.m_type]
        queue = list(names)
        while queue:
            x = queue.pop()
            if x not in self._counts:
                continue
            for i, clause in enumerate(self.space.m_type):
                count = self._counts[self.classes.find(x)][i]
                count.is_full = count.is_full or count.breaks(clause.n)
                if not count.is_full:
                    continue
                together = count.everyone & self._members
                count.everyone = set(list(together)[:1])
                together |= count.generated_neighbours & self._members
                count.keep_representatives(self._members)
                for y in together:
                    self._union(next(iter(together)), y, queue)

    def _union(self, first: str, second: str, queue: list[str]) -> None:
        a, b = self.classes.find(first), self.classes.find(second)
        if a == b:
            return
        larger, smaller = self._counts.pop(a), self._counts.pop(b)
        if len(larger[0].members) < len(smaller[0].members):
            larger, smaller = smaller, larger
        name = self.classes.union(a, b)
        for mine, theirs in zip(larger, smaller):
            mine.absorb(theirs)
        self._counts[name] = larger
        queue.append(name)
