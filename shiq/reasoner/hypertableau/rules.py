"""The deterministic phase of a search: everything that follows without a choice, or a clash.

Every new fact wakes the rules that mention it, from both ends. A match with no disjunct left is a
clash, one with one left is applied, one with more is *pending* for a choice. At-most rules wait
until the rest is quiet, so that a node with many neighbours is counted seldom.
"""

from __future__ import annotations

import time
from collections import deque
from heapq import heappush
from itertools import combinations

from shiq.reasoner.hypertableau.large_numbers import FIRST
from shiq.reasoner.hypertableau.node_checks import (
    check_data,
    count_dependencies,
    counted_neighbours,
    select_unequal,
)
from shiq.reasoner.hypertableau.state import (
    ADD,
    MERGE,
    Alternative,
    Match,
    Pending,
    TableauClash,
    TableauState,
    load_module,
)
from shiq.reasoner.hypertableau.tables import Rule, RulesToExamine, Tables
from shiq.reasoner.protocol import Module
from shiq.support import bits

#: Kinds of alternatives in the order of choice: a limit on data brings nothing new, a name may
#: bring needs.
LIMIT_KIND, NAME_KIND, DATA_KIND, MERGE_KIND, NEED_KIND = range(5)

#: Steps between two looks at the clock.
CLOCK_STEPS = 512


class OutOfBudget(Exception):
    """Signal: a search has used up its steps or its time; the argument is the reason."""


class PendingMatches:
    """The rule matches of a search that wait to be applied, or for a choice between several
    disjuncts.

    pending: match → its priority, while it waits for a choice. heap: the same, most urgent first.
    again: matches to look at again after a merge. counted, queued: matches of ≤n rules that wait.
    """

    __slots__ = ("again", "arrivals", "counted", "heap", "pending", "queued")

    def __init__(self) -> None:
        self.pending: dict[Match, tuple[int, int, int]] = {}
        self.heap: list[Pending] = []
        self.arrivals = 0
        self.again: list[Match] = []
        self.counted: deque[Match] = deque()
        self.queued: set[Match] = set()

    def reopen(self, entry: Pending) -> None:
        """Put a match back into the queue for choices, since looking at it was undone."""
        match = entry[4]
        known = self.pending.get(match)
        if known is None or entry[:3] < known:
            self.pending[match] = entry[:3]
            heappush(self.heap, entry)


class TableauSearch:
    """One search for a clash-free pre-model of a module: its tableau state, its pending rule
    matches and its limits.

    steps: taken so far
    limit, deadline: of steps and of time
    checkpoint: the step at which both are checked next
    used: indices of the clauses that were applied
    failures: by atom, how often it was refuted
    building: policy for large numbers
    weights: number of elements that a node of the pre-model stands for, if not one
    grown_for: the need a node was made for
    assumed: the first choice points that are assumptions: they have no alternatives
    opaque: reason why some pre-model depended on undecided data; if set, a failed search refutes
        nothing
    clash: the last one; after a failed search the traced assertions that it depends on
    """

    __slots__ = (
        "agenda",
        "assumed",
        "building",
        "checkpoint",
        "clash",
        "deadline",
        "failures",
        "grown_for",
        "limit",
        "module",
        "opaque",
        "state",
        "steps",
        "used",
        "weights",
    )

    def __init__(self, tables: Tables, module: Module, limit: int, deadline: float | None) -> None:
        self.module, self.state, self.agenda = (
            module,
            TableauState(tables, module),
            PendingMatches(),
        )
        self.steps, self.limit, self.deadline, self.checkpoint = 0, limit, deadline, 0
        self.used: set[int] = set()
        self.failures: dict[int, int] = {}
        self.building = FIRST
        self.weights: dict[int, int] = {}
        self.grown_for: dict[int, int] = {}
        self.assumed = 0
        self.opaque = ""
        self.clash = TableauClash(0)


def load_assertions(search: TableauSearch) -> None:
    """Record the assertions of the module in the tableau, and apply the rules that concern one
    individual alone.
    """
    state = search.state
    load_module(state, search.module)
    for x in range(state.named):
        for rule in state.tables.rules.local_rules(state.pos[x]):
            apply_rule(search, rule, x, -1)


def check_budget(search: TableauSearch) -> None:
    """Check the limits of a search. Raises: OutOfBudget if its steps or its time are used up."""
    if search.steps >= search.limit:
        state = search.state
        raise OutOfBudget(
            f"budget of {search.limit:,} steps for {state.named:,} individuals used up ({len(state.pos):,} nodes)"
        )
    if search.deadline is not None and time.monotonic() >= search.deadline:
        raise OutOfBudget(f"time-out after {search.steps:,} steps")
    search.checkpoint = min(search.limit, search.steps + CLOCK_STEPS)


def saturate(search: TableauSearch) -> None:
    """Derive everything that follows without a choice, until all queues are empty. Raises:
    TableauClash, OutOfBudget.

    Ends because facts over the present nodes are finite, and merges remove nodes.
    """
    state, agenda = search.state, search.agenda
    queue, alive, tables = state.queue, state.alive, state.tables
    names, edges, denials, dirty = queue.names, queue.edges, queue.denials, queue.dirty
    on_name, on_denial = tables.rules.on_name, tables.rules.on_denial
    while True:
        search.steps += 1
        if search.steps >= search.checkpoint:
            check_budget(search)
        if names:
            x, atom = names.pop()
            if alive[x]:
                wake_rules(search, on_name[atom], x)
        elif edges:
            x, y, roles = edges.pop()
            if alive[x] and alive[y]:
                wake_edge(search, x, y, roles)
        elif denials:
            x, atom = denials.pop()
            if alive[x]:
                wake_rules(search, on_denial[atom], x)
        elif agenda.again or agenda.counted:
            _settle_next_match(search)
        elif dirty:
            check_data(state, dirty.popitem()[0])
            search.steps += tables.data.take_new_steps()
        else:
            return


def _settle_next_match(search: TableauSearch) -> None:
    """Apply the next waiting match of a ≤n rule, or queue it for a choice."""
    agenda = search.agenda
    if agenda.again:
        match = agenda.again.pop()
    else:
        match = agenda.counted.popleft()
        agenda.queued.discard(match)
    alternatives = settle_match(search, match)
    if alternatives:
        queue_choice(
            search, match, len(alternatives), alternative_kind(search.state.tables, alternatives[0])
        )


# --- waking ---------------------------------------------------------------------------------------


def wake_rules(search: TableauSearch, woken: RulesToExamine, x: int) -> None:
    """Look for matches at node x of the rules that a new fact there concerns, and apply them.

    No edge changes meanwhile: only `settle_match` merges.
    """
    state = search.state
    pos, near, reach = state.pos, state.near[x], state.reach[x]
    for rule in woken.local:
        if not rule.body & ~pos[x]:
            apply_rule(search, rule, x, -1)
    for rule in woken.centre:
        bit, body = rule.role_bit, rule.branch_body
        if reach & bit and not rule.body & ~pos[x] and not rule.head & pos[x]:
            for y, roles in near.items():
                if roles & bit and not body & ~pos[y]:
                    apply_rule(search, rule, x, y)
    for rule in woken.branch:
        bit, body = rule.inverse_bit, rule.body
        if reach & bit and not rule.branch_body & ~pos[x] and not rule.branch_head & pos[x]:
            for y, roles in near.items():
                if roles & bit and not body & ~pos[y]:
                    apply_rule(search, rule, y, x)
    for rule in woken.at_most:
        if reach & rule.role_bit:
            queue_at_most(search, rule, x)
    for rule in woken.at_most_branch:
        bit = rule.inverse_bit
        if reach & bit:
            for y, roles in near.items():
                if roles & bit:
                    queue_at_most(search, rule, y)


def wake_edge(search: TableauSearch, x: int, y: int, roles: int) -> None:
    """Look for the rule matches that new ``roles`` from node x to node y make possible, from both
    ends.
    """
    tables, pos = search.state.tables, search.state.pos
    for rule, forward in tables.rules.edge_rules(pos[x], roles, pos[y]):
        if forward:
            apply_rule(search, rule, x, y)
        else:
            apply_rule(search, rule, y, x)
    for rule in tables.rules.at_most_rules(roles):
        queue_at_most(search, rule, x)
    for rule in tables.rules.at_most_rules(tables.roles.inverse_mask(roles)):
        queue_at_most(search, rule, y)


def queue_at_most(search: TableauSearch, rule: Rule, x: int) -> None:
    """Queue a ≤n rule at node x for counting, if its body holds and x has more than n neighbours."""
    state, agenda = search.state, search.agenda
    if len(state.near[x]) > rule.at_most and not rule.body & ~state.pos[x]:
        match = (rule.number, x, -1)
        if match not in agenda.queued:
            agenda.queued.add(match)
            agenda.counted.append(match)


# --- matches --------------------------------------------------------------------------------------


def apply_rule(search: TableauSearch, rule: Rule, x: int, y: int) -> None:
    """Apply a rule match: add the only open disjunct, queue the match for a choice, or raise a
    clash if none is open.

    rule: local (y = -1) or u-type. Its body and role must hold.
    """
    state, head = search.state, rule.head
    pos, neg = state.pos, state.neg
    if head & pos[x]:
        return
    live = head & ~neg[x]
    branch_live = 0
    if y >= 0:
        branch_live = rule.branch_head
        if branch_live & pos[y]:
            return
        branch_live &= ~neg[y]
    left = live.bit_count() + branch_live.bit_count()
    if left > 1:
        queue_choice(
            search, (rule.number, x, y), left, _first_kind(state.tables, live | branch_live)
        )
        return
    search.steps += 1
    search.used.add(rule.index)
    depends_on = state.match_dependencies(rule, x, y)
    if live:
        state.add_atom(x, live.bit_length() - 1, depends_on)
    elif branch_live:
        state.add_atom(y, branch_live.bit_length() - 1, depends_on)
    else:
        raise TableauClash(depends_on, x, *([y] if y >= 0 else []))


def settle_match(search: TableauSearch, match: Match) -> list[Alternative] | None:
    """Apply a match with at most one open disjunct. If several are open, return them in the order
    in which to try them.

    Returns None also if the match does not hold now, or its head does.
    """
    number, x, y = match
    state = search.state
    rule, pos = state.tables.rules.by_number[number], state.pos
    if x >= len(pos) or not state.alive[x] or rule.body & ~pos[x] or rule.head & pos[x]:
        return None
    if rule.at_most:
        return _settle_at_most(search, rule, x)
    alternatives = [(ADD, x, a) for a in bits(rule.head & ~state.neg[x])]
    if y >= 0:
        if y >= len(pos) or not state.alive[y] or not state.near[x].get(y, 0) & rule.role_bit:
            return None
        if rule.branch_body & ~pos[y] or rule.branch_head & pos[y]:
            return None
        alternatives += [(ADD, y, a) for a in bits(rule.branch_head & ~state.neg[y])]
    if len(alternatives) < 2:
        apply_rule(search, rule, x, y)
        return None
    return _order_alternatives(search, alternatives)


def _order_alternatives(
    search: TableauSearch, alternatives: list[Alternative]
) -> list[Alternative]:
    """Sort disjuncts in the order in which to try them: by kind, then the least often refuted
    first.
    """
    failures, tables = search.failures, search.state.tables

    def choice_order(alternative: Alternative) -> tuple[int, int]:
        """Sort key of a disjunct: its kind, then how often it was refuted."""
        refuted = 0 if alternative[0] == MERGE else failures.get(alternative[2], 0)
        return alternative_kind(tables, alternative), refuted

    alternatives.sort(key=choice_order)
    return alternatives


def alternative_kind(tables: Tables, alternative: Alternative) -> int:
    """Return the kind of a disjunct (limit, name, data, merge or need), by which the order of
    choice is made.
    """
    return MERGE_KIND if alternative[0] == MERGE else _first_kind(tables, 1 << alternative[2])


def _first_kind(tables: Tables, atoms: int) -> int:
    """Return the kind among ``atoms`` that is tried first."""
    if atoms & tables.limit_mask:
        return LIMIT_KIND
    if atoms & ~(tables.need_mask | tables.data_mask):
        return NAME_KIND
    return DATA_KIND if atoms & tables.data_mask else NEED_KIND


def queue_choice(search: TableauSearch, match: Match, left: int, kind: int) -> None:
    """Queue a match for a choice. ``left``: its number of open disjuncts; ``kind``: that of the
    first one.
    """
    agenda, order = search.agenda, (int(match[1] >= search.state.named), left, kind)
    known = agenda.pending.get(match)
    if known is None or order < known:
        agenda.arrivals += 1
        agenda.pending[match] = order
        heappush(agenda.heap, (*order, agenda.arrivals, match))


# --- counting -------------------------------------------------------------------------------------


def _settle_at_most(search: TableauSearch, rule: Rule, x: int) -> list[Alternative] | None:
    """Apply ≤n R.C at node x, whose body holds: merge neighbours if only one way is open, else
    return the ways to choose from.
    """
    state = search.state
    n, live = rule.at_most, rule.head & ~state.neg[x]
    found = counted_neighbours(state, rule, x, every=n == 1 and not live)
    if len(found) <= n:
        return None
    if n == 1 and not live:
        search.used.add(rule.index)
        _merge_neighbours(search, rule, x, sorted(found))
        return None
    chosen = sorted(select_unequal(state, found, n + 1))
    pairs = [(y, z) for y, z in combinations(chosen, 2) if z not in state.unequal.get(y, ())]
    pairs.sort(key=lambda pair: (state.pos[pair[0]] ^ state.pos[pair[1]]).bit_count())  # like first
    alternatives = [(ADD, x, a) for a in bits(live)]
    alternatives += [(MERGE, y, z) for y, z in pairs]
    if len(alternatives) > 1:
        return _order_alternatives(search, alternatives)
    search.used.add(rule.index)
    depends_on = count_dependencies(state, rule, x, chosen)
    if not alternatives:
        raise TableauClash(depends_on, x, *chosen)
    apply_alternative(search, alternatives[0], depends_on, (rule.number, x, -1))
    return None


def _merge_neighbours(search: TableauSearch, rule: Rule, x: int, nodes: list[int]) -> None:
    """Merge ``nodes``, which ≤1 at node x forces to be equal.

    A merge may remove x itself or other candidates; then the rest is counted again.
    """
    state, first = search.state, nodes[0]
    for y in nodes[1:]:
        if not (state.alive[x] and state.alive[first] and state.alive[y]):
            break
        search.steps += 1
        state.merge_nodes(first, y, count_dependencies(state, rule, x, (first, y)))
    if state.alive[x]:
        queue_at_most(search, rule, x)


def apply_alternative(
    search: TableauSearch, alternative: Alternative, depends_on: int, match: Match
) -> None:
    """Add the atom, or make the merge, that a chosen disjunct of ``match`` says.

    After a merge there may still be too many neighbours, so the match is looked at again.
    """
    kind, u, v = alternative
    if kind == ADD:
        search.state.add_atom(u, v, depends_on)
    else:
        search.agenda.again.append(match)
        search.state.merge_nodes(u, v, depends_on)
