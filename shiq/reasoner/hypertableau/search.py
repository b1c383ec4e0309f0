"""Choices, expansion and jumping back: the search for a clash-free pre-model."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeAlias

from shiq.bits import bits
from shiq.reasoner.hypertableau.blocking import blocked_nodes
from shiq.reasoner.hypertableau.numbers import FIRST, Building, accept_numbers, share
from shiq.reasoner.hypertableau.rules import ADD, Alternative, OutOfBudget, Saturation
from shiq.reasoner.hypertableau.state import State, TableauClash
from shiq.reasoner.hypertableau.tables import Need, Tables
from shiq.reasoner.hypertableau.trail import Match
from shiq.reasoner.protocol import Answer, Module
from shiq.verdict import Verdict

#: Length of the trail and number of nodes before, the alternative tried, the match it comes from.
Choice: TypeAlias = tuple[int, int, Alternative, Match]


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """An answer, and for CONSISTENT the pre-model it rests on; ``stopped``: undetermined because
    steps or time were used up.
    """

    answer: Answer
    model: State | None = None
    stopped: bool = False


class Search(Saturation):
    """Saturate, choose, expand, in this order, until there is a pre-model or every alternative
    is refuted.

    A chosen alternative rests on its choice point alone: a clash then refutes it by what else
    the clash rests on, and it is denied on the strength of that, before the match is looked at
    again. ``opaque`` says of what the datatype layer could not decide something that some
    pre-model rested on; with it, a failed search has refuted nothing. Such a search rests on the
    inputs ``rests_on``. In a pre-model a node stands for as many elements as ``weights`` says,
    if not for one; ``grown_for`` is the need that it was made for.
    """

    choices: list[Choice]
    #: The first choice points that are no choices but what is assumed (`questions`): nothing else
    #: is tried for them.
    assumed = 0
    opaque = ""
    building = FIRST
    last: tuple[int, ...] = ()
    rests_on = 0

    def __init__(self, tables: Tables, module: Module, limit: int, deadline: float | None) -> None:
        super().__init__(tables, module, limit, deadline)
        self.weights: dict[int, int] = {}
        self.grown_for: dict[int, int] = {}

    def run(self) -> bool:
        """Whether a pre-model is found. Stops because a denied alternative is not chosen again
        under the same premises, and blocking bounds the nodes (THEORY, "Deciding a shape without
        a JVM"); a `OutOfBudget` ends it before.
        """
        try:
            self.load()
        except TableauClash as clash:
            self.last, self.rests_on = clash.nodes, clash.rests_on
            return False
        return self.search()

    def search(self) -> bool:
        """`run` for what is loaded."""
        while True:
            try:
                self.saturate()
                if not (self.choose() or self.expand()):
                    self.accept_data()
                    accept_numbers(self)
                    return True
            except TableauClash as clash:
                self.last = clash.nodes
                if not self.jump_back(clash.rests_on):
                    return False

    def around(self, nodes: tuple[int, ...]) -> tuple[int, ...]:
        """The individuals that ``nodes`` are, or hang on."""
        found: dict[int, None] = {}
        for x in nodes:
            while x >= self.named and x < len(self.parent):
                x = self.parent[x]
            if 0 <= x < self.named:
                found[x] = None
        return tuple(found)

    # --- choosing ---------------------------------------------------------------------------------

    def choose(self) -> bool:
        """Tries the first disjunct of the pending match that comes first; False if all are met."""
        heap, pending = self.heap, self.pending
        while heap:
            entry = heappop(heap)
            order, match = entry[:3], entry[4]
            if pending.get(match) != order:
                continue
            del pending[match]
            if self._lapsed(match):
                continue
            if self.choices:
                self.trail.append((None, entry, None))
            self.steps += 1
            if self.steps >= self.checkpoint:
                self.tick()
            alternatives = self.settle(match)
            if alternatives:
                self.used.add(self.tables.rules[match[0]].index)
                self.choices.append((len(self.trail), len(self.pos), alternatives[0], match))
                self.apply(alternatives[0], 1 << (self.inputs + len(self.choices) - 1), match)
                return True
            if (
                self.new_names
                or self.new_edges
                or self.new_denials
                or self.again
                or self.counted
                or self.dirty
            ):
                return True
        return False

    def _lapsed(self, match: Match) -> bool:
        """Whether a match can hold again only after something wakes it again: facts at live
        nodes only grow until they are taken back, while merges can be taken back.
        """
        number, x, y = match
        rule, pos = self.tables.rules[number], self.pos
        if x >= len(pos) or y >= len(pos):
            return True
        if rule.body & ~pos[x]:
            return self.alive[x]
        if y >= 0 and (rule.branch_body & ~pos[y] or not self.near[x].get(y, 0) & rule.role_bit):
            return self.alive[x] and self.alive[y]
        return False

    def jump_back(self, rests_on: int) -> bool:
        """Goes back to the last choice point that a clash rests on and denies what was tried
        there; False if there is none.
        """
        while rests_on >> (self.inputs + self.assumed):
            level = rests_on.bit_length() - 1 - self.inputs
            mark, nodes, (kind, u, v), match = self.choices[level]
            self.undo(mark, nodes)
            del self.choices[level:]
            rest = rests_on ^ 1 << (self.inputs + level)
            try:
                if kind == ADD:
                    self.failures[v] = self.failures.get(v, 0) + 1
                    self.deny(u, v, rest)
                else:
                    self.separate(u, v, rest)
            except TableauClash as clash:
                rests_on = clash.rests_on
            else:
                self.again.append(match)
                return True
        self.rests_on = rests_on
        return False

    def undo(self, mark: int, nodes: int) -> None:
        super().undo(mark, nodes)
        self.again.clear()
        self.counted.clear()
        self.counted_queued.clear()
        for entry in self.repending:
            match = entry[4]
            known = self.pending.get(match)
            if known is None or entry[:3] < known:
                self.pending[match] = entry[:3]
                heappush(self.heap, entry)
        self.repending.clear()

    # --- expansion --------------------------------------------------------------------------------

    def expand(self) -> bool:
        """Gives unmet ≥-atoms at unblocked nodes their successors, those of individuals first;
        False if there are none.
        """
        waiting = sorted(x for x in self.open if self.alive[x])
        unmet = [(x, needs) for x in waiting if (needs := self._unmet(x))]
        individuals = [(x, needs) for x, needs in unmet if x < self.named]
        if not individuals and unmet:
            blocked = blocked_nodes(self)
            unmet = [(x, needs) for x, needs in unmet if x not in blocked]
        for x, needs in individuals or unmet:
            for a in needs:
                rest = self.names_rest(x, 1 << a)
                if not share(self, x, a, rest):
                    self._add_successors(x, a, rest)
            self.remove(self.open, x)
        return bool(individuals or unmet)

    def _unmet(self, x: int) -> list[int]:
        """The ≥-atoms at x that are not met; x is no longer open if there are none."""
        needs = self.tables.needs
        unmet = [
            a for a in bits(self.pos[x] & self.tables.need_mask) if not self._is_met(x, needs[a])
        ]
        if not unmet:
            self.remove(self.open, x)
        return unmet

    def _is_met(self, x: int, need: Need) -> bool:
        """Whether n distinct neighbours suit: distinct nodes are distinct elements, and a merge
        opens x again. Of a large n few are enough, one of them a child, which can stand for
        more.
        """
        bit, filler, pos, enough, met, has_child = (
            need.role_bit,
            need.filler,
            self.pos,
            need.n,
            0,
            False,
        )
        if enough > self.building.large:
            enough = self.building.successors(self.tables, need)
        for y, roles in self.near[x].items():
            if roles & bit and not filler & ~pos[y]:
                met += 1
                has_child = has_child or self.parent[y] == x
                if met >= need.n or (met >= enough and has_child):
                    return True
        return False

    def _add_successors(self, x: int, atom: int, rest: int) -> None:
        """Fresh, pairwise unequal successors that suit: n of them, or a few for a large n."""
        fresh: list[int] = []
        need = self.tables.needs[atom]
        for _ in range(self.building.successors(self.tables, need)):
            self.steps += 1 + len(fresh)
            if self.steps >= self.checkpoint:
                self.tick()
            y = self.grow(x)
            self.grown_for[y] = atom
            for z in fresh:
                self.separate(y, z, rest)
            fresh.append(y)
            self.link(x, y, need.roles, rest)
            if need.filler:
                self.add(y, need.filler_atom, rest)
            for rule in self.tables.start:
                self.fire(rule, y, -1)

    # --- data -------------------------------------------------------------------------------------

    def accept_data(self) -> None:
        """A clash if the pre-model rests on data that the datatype layer cannot decide: then it
        is none, and ``opaque`` says so.
        """
        if not (self.data or self.tables.data_mask):
            return
        unknown = [
            x for x in range(len(self.pos)) if self.alive[x] and self.data_verdict(x) is None
        ]
        blocked = blocked_nodes(self) if unknown and unknown[-1] >= self.named else {}
        for x in unknown:
            if x not in blocked:
                culprits = self.data_culprits(x)
                self.opaque = self.opaque or self.tables.data.describe(culprits)
                raise TableauClash(self.data_rest(x, culprits), x)


def decide(
    tables: Tables, module: Module, limit: int, deadline: float | None, building: Building = FIRST
) -> SearchOutcome:
    """Whether ``module`` is consistent with the TBox of ``tables``, within ``limit`` steps and
    until ``deadline``. ``building``: which numbers are counted, not built.
    """
    search = Search(tables, module, limit, deadline)
    search.building = building
    try:
        found = search.run()
    except OutOfBudget as stop:
        return SearchOutcome(Answer(Verdict.UNDETERMINED, str(stop)), stopped=True)
    if found:
        return SearchOutcome(Answer(Verdict.CONSISTENT), search)
    if search.opaque:
        return SearchOutcome(Answer(Verdict.UNDETERMINED, search.opaque))
    return SearchOutcome(
        Answer(
            Verdict.INCONSISTENT,
            used=frozenset(search.used - {-1}),
            near=search.around(search.last),
        )
    )


def refuted(tables: Tables, module: Module, limit: int) -> bool:
    """Whether ``module`` contradicts the TBox by what follows without a choice or a fresh
    successor, within ``limit`` steps.
    """
    search = Search(tables, module, limit, None)
    try:
        search.load()
        search.saturate()
    except TableauClash:
        return True
    except OutOfBudget:
        pass
    return False
