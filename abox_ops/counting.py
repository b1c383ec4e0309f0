"""Counting: when ≤n S.C cannot be broken, however the rest turns out (THEORY.md 2.3).

*E*: the asserted S-neighbours of an element that may be C. *G*: how many more it can be made to have. A *merge class* is what
may have to be equal; counts are taken over a class, of elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from abox_ops.elements import ElementGraph
from abox_ops.quotient import Partition
from abox_ops.told import EMPTY, CompiledClause, Label, LabelSpace, bits
from shiq.clause import AtLeast
from shiq.roles import Role


@dataclass
class Needs:
    """The ≥k R.D that may have to be met at an element, by label, memoised."""

    space: LabelSpace

    def __post_init__(self) -> None:
        self._needed: dict[Label, tuple[AtLeast, ...]] = {}
        names = sum(1 << i for i, a in enumerate(self.space.tbox.atoms) if isinstance(a, str))
        self._heads: list[tuple[int, int, int]] = []
        at_least = sum(1 << i for i in self.space.at_least)
        for c in self.space.compiled:
            for i in bits(c.head & at_least):
                self._heads.append((i, c.body, c.head & names))

    def needed(self, label: Label) -> tuple[AtLeast, ...]:
        """≥k R.D told at ``label``, or in the head of a clause without a body name negated or a head name told there."""
        found = self._needed.get(label)
        if found is None:
            positive, negative = label
            ids = {i for i, body, names in self._heads if not body & negative and not names & positive} | {
                i for i in self.space.at_least if positive >> i & 1
            }
            found = self._needed[label] = tuple(self.space.at_least[i] for i in sorted(ids))
        return found


class Counts:
    """E, G and merge classes of one element graph under one assignment of labels."""

    def __init__(self, space: LabelSpace, graph: ElementGraph, label: Callable[[str], Label], needs: Needs) -> None:
        self.space, self.graph, self.label, self.needs = space, graph, label, needs
        self.classes: Partition[str] = Partition()
        self._within: dict[tuple[str, int], bool] = {}
        if space.m_type:
            self._merge()

    def neighbours(self, element: str, clause: CompiledClause) -> set[str]:
        """E(element): asserted S-neighbours whose told literals do not refute C."""
        below = self.space.tbox.roles.subroles(self._role(clause))
        return {y for r, y in self.graph.neighbours(element) if r in below and not clause.branch_body & self.label(y)[1]}

    def is_within(self, element: str, clause: CompiledClause) -> bool:
        """Whether |∪E| + max G ≤ n over the merge class of ``element``: the clause cannot be broken there."""
        name = self.classes.find(element)
        key = (name, clause.index)
        found = self._within.get(key)
        if found is None:
            members = self.classes.members(name)
            everyone, generated, _ = self._count(members, clause)
            found = self._within[key] = len(everyone) + generated <= clause.n
        return found

    def _role(self, clause: CompiledClause) -> Role:
        role = self.space.tbox.clauses[clause.index].role
        assert role is not None
        return role

    def _count(self, members: tuple[str, ...], clause: CompiledClause) -> tuple[set[str], int, list[str]]:
        active = [m for m in members if not clause.decided_at_centre(self.label(m))]
        everyone = {y for m in active for y in self.neighbours(m, clause)}
        return everyone, self._generated(members, clause) if active else 0, active

    def _generated(self, members: tuple[str, ...], clause: CompiledClause) -> int:
        """max G: needs below S at one member, and what may take the class as its witness."""
        roles = self.space.tbox.roles
        below = roles.subroles(self._role(clause))
        own = max(
            sum(
                need.n
                for need in self.needs.needed(self.label(m))
                if need.role in below and not (need.n == 1 and self._is_met(m, need))
            )
            for m in members
        )
        takers = [a for a in self.space.at_least.values() if a.role.inverse in below and self._may_be(members, a.filler)]
        if not takers:
            return own
        asking = {
            y
            for m in members
            for _, y in self.graph.neighbours(m)
            if y != m and any(need in takers for need in self.needs.needed(self.label(y)))
        }
        children = sum(need.n for m in members for need in self.needs.needed(self.label(m)))
        return own + len(asking) + children

    def _may_be(self, members: tuple[str, ...], filler: str | None) -> bool:
        if filler is None:
            return True
        bit = self.space.tbox.atom_ids[filler]
        return any(not self.label(m)[1] >> bit & 1 for m in members)

    def _is_met(self, element: str, need: AtLeast) -> bool:
        below = self.space.tbox.roles.subroles(need.role)
        bit = None if need.filler is None else self.space.tbox.atom_ids[need.filler]
        return any(r in below and (bit is None or self.label(y)[0] >> bit & 1) for r, y in self.graph.neighbours(element))

    def _merge(self) -> None:
        """The least equivalence such that an overfull class makes its E, and where G > 0 all its neighbours, one class.

        Stops because classes only grow together.
        """
        queue = sorted(self.graph.names())
        queued = set(queue)
        while queue:
            x = queue.pop()
            queued.discard(x)
            name = self.classes.find(x)
            for clause in self.space.m_type:
                members = self.classes.members(self.classes.find(name))
                everyone, generated, active = self._count(members, clause)
                if len(everyone) + generated <= clause.n:
                    continue
                together = everyone
                if generated:
                    together = together | {y for m in active for _, y in self.graph.neighbours(m)}
                if self.classes.union_all(sorted(together)):
                    joined = self.classes.find(next(iter(together)))
                    for again in (joined, self.classes.find(name)):
                        if again not in queued:
                            queued.add(again)
                            queue.append(again)
        self._within.clear()


def label_of(labels: dict[str, Label]) -> Callable[[str], Label]:
    return lambda element: labels.get(element, EMPTY)
