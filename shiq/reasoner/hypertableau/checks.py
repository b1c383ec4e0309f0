"""Neighbours of a node counted, and its data, with what the answers rest on."""

from __future__ import annotations

from itertools import combinations, islice

from shiq.bits import bits
from shiq.reasoner.hypertableau.data import DataStatement
from shiq.reasoner.hypertableau.state import State, TableauClash
from shiq.reasoner.hypertableau.tables import Rule

#: Neighbours of a node from which on bounds look at a few that they count.
MANY_NEIGHBOURS = 64


class NodeChecks(State):
    """What is asked of one node: how its neighbours differ, what counting them rests on, whether
    its data can hold together.
    """

    def _unlikeness(self, pair: tuple[int, int]) -> int:
        """In how many atoms two nodes differ: like ones are merged first."""
        return (self.pos[pair[0]] ^ self.pos[pair[1]]).bit_count()

    def _most_unequal(self, found: list[int], size: int) -> list[int]:
        """``size`` of ``found``, pairwise unequal as far as a greedy choice finds them."""
        if len(found) == size:
            return found
        if not any(map(self.unequal.get, found)):
            return sorted(found)[:size]
        inside = set(found)
        known = {y: self.unequal.get(y, {}).keys() for y in found}
        order = sorted(found, key=lambda y: (-len(known[y] & inside), y))
        chosen: list[int] = []
        for y in order:
            if len(chosen) < size and all(z in known[y] for z in chosen):
                chosen.append(y)
        for y in order:
            if len(chosen) < size and y not in chosen:
                chosen.append(y)
        return chosen

    def _countable_neighbours(self, rule: Rule, x: int, *, every: bool) -> list[int]:
        """The neighbours of x that a ≤n ``rule`` counts; of many only a few more than n, unless
        ``every`` one is wanted.

        Any of them do then, unequal ones best: to look at all after each merge would cost their
        square.
        """
        near, bit, filler, pos = self.near[x], rule.role_bit, rule.branch_body, self.pos
        found = (y for y, roles in near.items() if roles & bit and not filler & ~pos[y])
        if every or len(near) <= MANY_NEIGHBOURS:
            return list(found)
        known = self.unequal
        fewer, other = (known, near) if len(known) < len(near) else (near, known)
        unequal = (
            y for y in fewer if y in other and known[y] and near[y] & bit and not filler & ~pos[y]
        )
        return list(
            dict.fromkeys((*islice(unequal, MANY_NEIGHBOURS), *islice(found, rule.at_most + 1)))
        )

    def _count_rest(self, rule: Rule, x: int, chosen: tuple[int, ...] | list[int]) -> int:
        """What a match of a ≤n rule at x with these branches rests on, with the denials and
        inequalities used.
        """
        if not (self.choices or self.inputs):
            return 0
        rest = self.match_rest(rule, x, -1)
        for y in chosen:
            rest |= self.edge_rests(x, y, rule.role_bit) | self.names_rest(y, rule.branch_body)
        for y, z in combinations(chosen, 2):
            rest |= self.unequal.get(y, {}).get(z, 0)
        return rest

    def check_data(self, x: int) -> None:
        """A clash if the data restrictions and values of x contradict each other."""
        if self.alive[x] and self.data_verdict(x) is False:
            raise TableauClash(self.data_rest(x, self.data_culprits(x)), x)

    def data_verdict(self, x: int) -> bool | None:
        """Whether the data restrictions and values of x can hold together; None: the datatype
        layer cannot say.
        """
        return self.tables.data.verdict(*self._data_of(x))

    def data_culprits(self, x: int) -> frozenset[DataStatement]:
        """The data restrictions and values of x that contradict each other, or are not decided."""
        return self.tables.data.culprits(*self._data_of(x))

    def _data_of(self, x: int) -> tuple[int, frozenset[DataStatement]]:
        return self.pos[x] & self.tables.data_mask, frozenset(
            fact for fact, _ in self.data.get(x, ())
        )

    def data_rest(self, x: int, culprits: frozenset[DataStatement]) -> int:
        """What ``culprits`` at x rest on: of an atom that is also a fact, one is enough."""
        facts = {
            fact: fact_rest
            for fact, fact_rest in reversed(self.data.get(x, ()))
            if fact in culprits
        }
        rest = 0
        for fact_rest in facts.values():
            rest |= fact_rest
        atoms = self.tables.atoms
        for a in bits(self.pos[x] & self.tables.data_mask):
            if (atom := atoms[a]) in culprits and atom not in facts:
                rest |= self.names_rest(x, 1 << a)
        return rest
