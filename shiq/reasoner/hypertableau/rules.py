"""The deterministic phase: everything that follows without a choice, or a clash."""

from __future__ import annotations

import time
from collections import deque
from heapq import heappush
from itertools import combinations
from typing import TypeAlias

from shiq.bits import bits
from shiq.reasoner.hypertableau.checks import NodeChecks
from shiq.reasoner.hypertableau.state import TableauClash
from shiq.reasoner.hypertableau.tables import Rule, Tables, Wake
from shiq.reasoner.hypertableau.trail import Match, Pending
from shiq.reasoner.protocol import Module

#: One disjunct: (ADD, node, atom) or (MERGE, node, node).
Alternative: TypeAlias = tuple[int, int, int]
ADD, MERGE = 0, 1

#: Kinds of alternatives in the order of choice: a limit on data brings nothing new, a name may
#: bring needs.
LIMIT_KIND, NAME_KIND, DATA_KIND, MERGE_KIND, NEED_KIND = range(5)

#: Steps between two looks at the clock.
CLOCK_STEPS = 512


class OutOfBudget(Exception):
    """The steps or the time are used up; the argument says which."""


class Saturation(NodeChecks):
    """A state with its queues emptied by rule applications.

    Every new fact wakes the rules that mention it, from both ends. A match with no disjunct left
    is a clash, one with one left is applied, one with more is *pending* for a choice. ≤n rules
    wait until the rest is quiet, so that a node with many neighbours is counted seldom.
    """

    def __init__(self, tables: Tables, module: Module, limit: int, deadline: float | None) -> None:
        self.steps = 0
        self.limit = limit
        self.deadline = deadline
        self.checkpoint = 0
        self.pending: dict[Match, tuple[int, int, int]] = {}
        self.heap: list[Pending] = []
        self.arrivals = 0
        self.again: list[Match] = []
        self.failures: dict[int, int] = {}
        self.counted: deque[Match] = deque()
        self.counted_queued: set[Match] = set()
        super().__init__(tables, module)

    def load(self) -> None:
        super().load()
        for x in range(self.named):
            for rule in self.tables.local_rules(self.pos[x]):
                self.fire(rule, x, -1)

    def tick(self) -> None:
        """Raises `OutOfBudget` when steps or time are used up."""
        if self.steps >= self.limit:
            raise OutOfBudget(
                f"budget of {self.limit:,} steps for {self.named:,} individuals used up ({len(self.pos):,} nodes)"
            )
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise OutOfBudget(f"time-out after {self.steps:,} steps")
        self.checkpoint = min(self.limit, self.steps + CLOCK_STEPS)

    def saturate(self) -> None:
        """Empties all queues. Stops because facts over the present nodes are finite, and merges
        take nodes away.
        """
        names, edges, denials, alive = self.new_names, self.new_edges, self.new_denials, self.alive
        on_name, on_denial = self.tables.on_name, self.tables.on_denial
        while True:
            self.steps += 1
            if self.steps >= self.checkpoint:
                self.tick()
            if names:
                x, atom = names.pop()
                if alive[x]:
                    self.wake(on_name[atom], x)
            elif edges:
                x, y, roles = edges.pop()
                if alive[x] and alive[y]:
                    self.wake_edge(x, y, roles)
            elif denials:
                x, atom = denials.pop()
                if alive[x]:
                    self.wake(on_denial[atom], x)
            elif self.again or self.counted:
                self._settle_next()
            elif self.dirty:
                self.check_data(self.dirty.popitem()[0])
                self.steps += self.tables.data.charge()
            else:
                return

    def _settle_next(self) -> None:
        if self.again:
            match = self.again.pop()
        else:
            match = self.counted.popleft()
            self.counted_queued.discard(match)
        alternatives = self.settle(match)
        if alternatives:
            self.pend(match, len(alternatives), self.kind(alternatives[0]))

    # --- waking -----------------------------------------------------------------------------------

    def wake(self, wake: Wake, x: int) -> None:
        """Looks at the matches of the rules of ``wake`` at x. No edge changes meanwhile: only
        `settle` merges.
        """
        pos, near, reach = self.pos, self.near[x], self.reach[x]
        for rule in wake.local:
            if not rule.body & ~pos[x]:
                self.fire(rule, x, -1)
        for rule in wake.centre:
            bit, body = rule.role_bit, rule.branch_body
            if reach & bit and not rule.body & ~pos[x] and not rule.head & pos[x]:
                for y, roles in near.items():
                    if roles & bit and not body & ~pos[y]:
                        self.fire(rule, x, y)
        for rule in wake.branch:
            bit, body = rule.inverse_bit, rule.body
            if reach & bit and not rule.branch_body & ~pos[x] and not rule.branch_head & pos[x]:
                for y, roles in near.items():
                    if roles & bit and not body & ~pos[y]:
                        self.fire(rule, y, x)
        for rule in wake.counted:
            if reach & rule.role_bit:
                self.count(rule, x)
        for rule in wake.counted_branch:
            bit = rule.inverse_bit
            if reach & bit:
                for y, roles in near.items():
                    if roles & bit:
                        self.count(rule, y)

    def wake_edge(self, x: int, y: int, roles: int) -> None:
        """Looks at the matches that new ``roles`` from x to y make possible, from both ends."""
        tables, pos = self.tables, self.pos
        for rule, forward in tables.edge_rules(pos[x], roles, pos[y]):
            if forward:
                self.fire(rule, x, y)
            else:
                self.fire(rule, y, x)
        for rule in tables.counted_rules(roles):
            self.count(rule, x)
        for rule in tables.counted_rules(tables.inverse(roles)):
            self.count(rule, y)

    def count(self, rule: Rule, x: int) -> None:
        """Queues a ≤n rule at x, if its body holds and there are neighbours enough."""
        if len(self.near[x]) > rule.at_most and not rule.body & ~self.pos[x]:
            match = (rule.number, x, -1)
            if match not in self.counted_queued:
                self.counted_queued.add(match)
                self.counted.append(match)

    # --- matches ----------------------------------------------------------------------------------

    def fire(self, rule: Rule, x: int, y: int) -> None:
        """A match of a local (y = -1) or u-type rule, body and role known to hold: clash, apply,
        or leave pending.
        """
        head = rule.head
        if head & self.pos[x]:
            return
        live = head & ~self.neg[x]
        branch_live = 0
        if y >= 0:
            branch_live = rule.branch_head
            if branch_live & self.pos[y]:
                return
            branch_live &= ~self.neg[y]
        left = live.bit_count() + branch_live.bit_count()
        if left > 1:
            self.pend((rule.number, x, y), left, self._kind_of_atoms(live | branch_live))
            return
        self.steps += 1
        self.used.add(rule.index)
        rest = self.match_rest(rule, x, y)
        if live:
            self.add(x, live.bit_length() - 1, rest)
        elif branch_live:
            self.add(y, branch_live.bit_length() - 1, rest)
        else:
            raise TableauClash(rest, x, *([y] if y >= 0 else []))

    def settle(self, match: Match) -> list[Alternative] | None:
        """Applies a match that has at most one disjunct left; else its disjuncts in the order of
        choice. None also if it does not hold now, or is met.
        """
        number, x, y = match
        rule, pos = self.tables.rules[number], self.pos
        if x >= len(pos) or not self.alive[x] or rule.body & ~pos[x] or rule.head & pos[x]:
            return None
        if rule.at_most:
            return self._at_most(rule, x)
        alternatives = [(ADD, x, a) for a in bits(rule.head & ~self.neg[x])]
        if y >= 0:
            if y >= len(pos) or not self.alive[y] or not self.near[x].get(y, 0) & rule.role_bit:
                return None
            if rule.branch_body & ~pos[y] or rule.branch_head & pos[y]:
                return None
            alternatives += [(ADD, y, a) for a in bits(rule.branch_head & ~self.neg[y])]
        if len(alternatives) < 2:
            self.fire(rule, x, y)
            return None
        alternatives.sort(key=self._cost)
        return alternatives

    def _cost(self, alternative: Alternative) -> tuple[int, int]:
        """The order of choice: by kind, then what has been refuted least often."""
        return self.kind(alternative), 0 if alternative[0] == MERGE else self.failures.get(
            alternative[2], 0
        )

    def kind(self, alternative: Alternative) -> int:
        return MERGE_KIND if alternative[0] == MERGE else self._kind_of_atoms(1 << alternative[2])

    def _kind_of_atoms(self, atoms: int) -> int:
        """The first kind among ``atoms``."""
        tables = self.tables
        if atoms & tables.limit_mask:
            return LIMIT_KIND
        if atoms & ~(tables.need_mask | tables.data_mask):
            return NAME_KIND
        return DATA_KIND if atoms & tables.data_mask else NEED_KIND

    def pend(self, match: Match, left: int, kind: int) -> None:
        """Keeps a match with ``left`` disjuncts, the first of this kind, for a choice."""
        order = (int(match[1] >= self.named), left, kind)
        known = self.pending.get(match)
        if known is None or order < known:
            self.arrivals += 1
            self.pending[match] = order
            heappush(self.heap, (*order, self.arrivals, match))

    # --- counting ---------------------------------------------------------------------------------

    def _at_most(self, rule: Rule, x: int) -> list[Alternative] | None:
        """≤n R.C at x, its body holding: more than n neighbours are merged if there is no other
        way; else the disjuncts.
        """
        n, live = rule.at_most, rule.head & ~self.neg[x]
        found = self._countable_neighbours(rule, x, every=n == 1 and not live)
        if len(found) <= n:
            return None
        if n == 1 and not live:
            self.used.add(rule.index)
            self._merge_all(rule, x, sorted(found))
            return None
        chosen = sorted(self._most_unequal(found, n + 1))
        pairs = [(y, z) for y, z in combinations(chosen, 2) if z not in self.unequal.get(y, ())]
        alternatives = [(ADD, x, a) for a in bits(live)]
        alternatives += [(MERGE, y, z) for y, z in sorted(pairs, key=self._unlikeness)]
        if len(alternatives) > 1:
            alternatives.sort(key=self._cost)
            return alternatives
        self.used.add(rule.index)
        rest = self._count_rest(rule, x, chosen)
        if not alternatives:
            raise TableauClash(rest, x, *chosen)
        self.apply(alternatives[0], rest, (rule.number, x, -1))
        return None

    def _merge_all(self, rule: Rule, x: int, found: list[int]) -> None:
        """≤1: all of ``found`` are one. A merge may take x itself or other candidates away; then
        the rest is counted again.
        """
        first = found[0]
        for y in found[1:]:
            if not (self.alive[x] and self.alive[first] and self.alive[y]):
                break
            self.steps += 1
            self.merge(first, y, self._count_rest(rule, x, (first, y)))
        if self.alive[x]:
            self.count(rule, x)

    def apply(self, alternative: Alternative, rest: int, match: Match) -> None:
        """Applies a disjunct of ``match``. After a merge there may still be too many neighbours,
        so the match comes again.
        """
        kind, u, v = alternative
        if kind == ADD:
            self.add(u, v, rest)
        else:
            self.again.append(match)
            self.merge(u, v, rest)
