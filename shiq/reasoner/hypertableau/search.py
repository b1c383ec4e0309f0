"""Choices, expansion and jumping back: the search for a clash-free pre-model.

Saturate, choose, expand, in this order, until there is a pre-model or every alternative is
refuted. A chosen alternative depends on its choice point alone: a clash then refutes it by what
else the clash depends on, and it is denied on the strength of that, before the match is looked at
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop
from itertools import count
from typing import Any

from shiq.answers.verdict import Verdict
from shiq.reasoner.hypertableau.large_numbers import (
    FIRST,
    BuildingPolicy,
    accept_numbers,
    share_successors,
)
from shiq.reasoner.hypertableau.node_checks import (
    blocked_nodes,
    data_culprits,
    data_dependencies,
    data_verdict,
)
from shiq.reasoner.hypertableau.rules import (
    OutOfBudget,
    Search,
    apply,
    check_budget,
    fire,
    load,
    saturate,
    settle,
)
from shiq.reasoner.hypertableau.state import ADD, Match, State, TableauClash
from shiq.reasoner.hypertableau.tables import Need, Tables
from shiq.reasoner.protocol import Answer, Module
from shiq.support import bits


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The answer of a search.

    model: for CONSISTENT, the pre-model
    weights: number of elements that a node of the model stands for, if not one
    is_out_of_budget: undetermined because steps or time were used up
    """

    answer: Answer
    model: State | None = None
    weights: Mapping[int, int] = field(default_factory=dict)
    is_out_of_budget: bool = False


def run(search: Search) -> bool:
    """Load the module and search; return whether a pre-model is found."""
    try:
        load(search)
    except TableauClash as clash:
        search.clash = clash
        return False
    return find_model(search)


def find_model(search: Search) -> bool:
    """Search from the loaded facts; return whether a pre-model is found."""
    while True:
        try:
            saturate(search)
            if not (choose(search) or expand(search)):
                _accept_data(search)
                accept_numbers(search)
                return True
        except TableauClash as clash:
            search.clash = clash
            if not jump_back(search, clash.depends_on):
                return False


def individuals_at(state: State, nodes: tuple[int, ...]) -> tuple[int, ...]:
    """Find the individuals that ``nodes`` are, or descend from."""
    found: dict[int, None] = {}
    for x in nodes:
        while x >= state.named and x < len(state.parent):
            x = state.parent[x]
        if 0 <= x < state.named:
            found[x] = None
    return tuple(found)


# --- choosing -------------------------------------------------------------------------------------


def choose(search: Search) -> bool:
    """Try the first disjunct of the most urgent pending match; return False if all matches are
    satisfied.
    """
    state, agenda = search.state, search.agenda
    heap, pending, trail, queue = agenda.heap, agenda.pending, state.trail, state.queue
    while heap:
        entry = heappop(heap)
        order, match = entry[:3], entry[4]
        if pending.get(match) != order:
            continue
        del pending[match]
        if _is_match_void(state, match):
            continue
        if trail.choices:
            trail.entries.append((None, entry, None))
        search.steps += 1
        if search.steps >= search.checkpoint:
            check_budget(search)
        alternatives = settle(search, match)
        if alternatives:
            search.used.add(state.tables.rules.by_number[match[0]].index)
            level = len(trail.choices)
            trail.choices.append((len(trail.entries), len(state.pos), alternatives[0], match))
            apply(search, alternatives[0], 1 << (state.dependencies.inputs + level), match)
            return True
        if queue.names or queue.edges or queue.denials or queue.dirty:
            return True
        if agenda.again or agenda.counted:
            return True
    return False


def _is_match_void(state: State, match: Match) -> bool:
    """Decide whether a match can hold again only after something wakes it again.

    Facts at live nodes only grow until they are undone, while merges can be undone.
    """
    number, x, y = match
    rule, pos, alive = state.tables.rules.by_number[number], state.pos, state.alive
    if x >= len(pos) or y >= len(pos):
        return True
    if rule.body & ~pos[x]:
        return alive[x]
    if y >= 0 and (rule.branch_body & ~pos[y] or not state.near[x].get(y, 0) & rule.role_bit):
        return alive[x] and alive[y]
    return False


def jump_back(search: Search, depends_on: int) -> bool:
    """Go back to the last choice point that a clash depends on, and deny its choice; False if
    there is none.
    """
    state, choices = search.state, search.state.trail.choices
    inputs = state.dependencies.inputs
    while depends_on >> (inputs + search.assumed):
        level = depends_on.bit_length() - 1 - inputs
        mark, nodes, (kind, u, v), match = choices[level]
        undo(search, mark, nodes)
        del choices[level:]
        others = depends_on ^ 1 << (inputs + level)
        try:
            if kind == ADD:
                search.failures[v] = search.failures.get(v, 0) + 1
                state.deny(u, v, others)
            else:
                state.separate(u, v, others)
        except TableauClash as clash:
            depends_on = clash.depends_on
        else:
            search.agenda.again.append(match)
            return True
    search.clash = TableauClash(depends_on, *search.clash.nodes)
    return False


def undo(search: Search, mark: int, nodes: int) -> None:
    """Undo all writes after the first ``mark`` of the trail, and the nodes from ``nodes`` on. The
    queues must be empty, or worthless.
    """
    agenda = search.agenda
    reopened = search.state.trail.rewind(mark)
    search.state.shrink(nodes)
    search.state.queue.clear()
    agenda.again.clear()
    agenda.counted.clear()
    agenda.queued.clear()
    for entry in reopened:
        agenda.reopen(entry)


# --- expansion ------------------------------------------------------------------------------------


def expand(search: Search) -> bool:
    """Give unmet at-least atoms at unblocked nodes their successors, those of individuals first;
    False if there are none.
    """
    state = search.state
    waiting = sorted(x for x in state.queue.open if state.alive[x])
    unmet = [(x, needs) for x in waiting if (needs := _unmet_needs(search, x))]
    individuals = [(x, needs) for x, needs in unmet if x < state.named]
    if not individuals and unmet:
        blocked = blocked_nodes(state)
        unmet = [(x, needs) for x, needs in unmet if x not in blocked]
    for x, needs in individuals or unmet:
        for a in needs:
            depends_on = state.name_dependencies(x, 1 << a)
            if not share_successors(search, x, a, depends_on):
                _add_successors(search, x, a, depends_on)
        state.trail.remove(state.queue.open, x)
    return bool(individuals or unmet)


def _unmet_needs(search: Search, x: int) -> list[int]:
    """Find the at-least atoms at x that are not met; x is no longer open if there are none."""
    state = search.state
    needs, mask = state.tables.needs, state.pos[x] & state.tables.need_mask
    unmet = [a for a in bits(mask) if not _is_met(search, x, needs[a])]
    if not unmet:
        state.trail.remove(state.queue.open, x)
    return unmet


def _is_met(search: Search, x: int, need: Need) -> bool:
    """Tell whether n distinct neighbours suit: distinct nodes are distinct elements, and a merge
    opens x again. Of a large n few are enough, one of them a child, which can stand for more.
    """
    state = search.state
    bit, filler, pos, enough = need.role_bit, need.filler, state.pos, need.n
    suitable, has_child = 0, False
    if enough > search.building.large:
        enough = search.building.successors(state.tables, need)
    for y, roles in state.near[x].items():
        if roles & bit and not filler & ~pos[y]:
            suitable += 1
            has_child = has_child or state.parent[y] == x
            if suitable >= need.n or (suitable >= enough and has_child):
                return True
    return False


def _add_successors(search: Search, x: int, atom: int, depends_on: int) -> None:
    """Make fresh, pairwise unequal successors that suit: n of them, or a few for a large n."""
    state = search.state
    fresh: list[int] = []
    need = state.tables.needs[atom]
    for _ in range(search.building.successors(state.tables, need)):
        search.steps += 1 + len(fresh)
        if search.steps >= search.checkpoint:
            check_budget(search)
        y = state.grow(x)
        search.grown_for[y] = atom
        for z in fresh:
            state.separate(y, z, depends_on)
        fresh.append(y)
        state.link(x, y, need.roles, depends_on)
        if need.filler:
            state.add(y, need.filler_atom, depends_on)
        for rule in state.tables.rules.start:
            fire(search, rule, y, -1)


# --- data -----------------------------------------------------------------------------------------


def _accept_data(search: Search) -> None:
    """Check the data that the pre-model depends on.

    Raises: TableauClash if the datatype layer cannot decide it; then ``opaque`` has the reason.
    """
    state = search.state
    if not (state.data or state.tables.data_mask):
        return
    nodes = range(len(state.pos))
    unknown = [x for x in nodes if state.alive[x] and data_verdict(state, x) is None]
    blocked = blocked_nodes(state) if unknown and unknown[-1] >= state.named else {}
    for x in unknown:
        if x not in blocked:
            culprits = data_culprits(state, x)
            search.opaque = search.opaque or state.tables.data.describe(culprits)
            raise TableauClash(data_dependencies(state, x, culprits), x)


# --- answers --------------------------------------------------------------------------------------


def decide(
    tables: Tables,
    module: Module,
    limit: int,
    deadline: float | None,
    building: BuildingPolicy = FIRST,
) -> SearchOutcome:
    """Decide whether ``module`` is consistent with the TBox of ``tables``, within ``limit`` steps
    and until ``deadline``. ``building``: which numbers are counted, not built.
    """
    search = Search(tables, module, limit, deadline)
    search.building = building
    try:
        found = run(search)
    except OutOfBudget as stop:
        return SearchOutcome(Answer(Verdict.UNDETERMINED, str(stop)), is_out_of_budget=True)
    if found:
        return SearchOutcome(Answer(Verdict.CONSISTENT), search.state, search.weights)
    if search.opaque:
        return SearchOutcome(Answer(Verdict.UNDETERMINED, search.opaque))
    return SearchOutcome(
        Answer(
            Verdict.INCONSISTENT,
            used_clauses=frozenset(search.used - {-1}),
            near_nodes=individuals_at(search.state, search.clash.nodes),
        )
    )


def is_refuted(tables: Tables, module: Module, limit: int) -> bool:
    """Decide whether ``module`` contradicts the TBox without choices and fresh successors,
    within ``limit`` steps.
    """
    search = Search(tables, module, limit, None)
    try:
        load(search)
        saturate(search)
    except TableauClash:
        return True
    except OutOfBudget:
        pass
    return False


# The assertions that a refutation depends on: the search once more, with what the module asserts
# traced like choice points (THEORY, "Deciding a shape without a JVM").


#: The parts of a module that are lists.
LISTS = ("data", "negative_data", "different", "negative_edges", "edges")


def trace_inputs(state: State, module: Module) -> None:
    """Number every assertion of ``module``, and make each the dependency set of itself: literals
    by node, then the rows of the lists.
    """
    sets = state.dependencies
    for known, masks in ((sets.names, module.positive), (sets.denials, module.negative)):
        for x, mask in enumerate(masks):
            for a in bits(mask):
                known[x * state.width + a] = 1 << sets.inputs
                sets.inputs += 1
    for kind in LISTS:
        sets.first_input[kind] = sets.inputs
        sets.inputs += len(getattr(module, kind))


def part_of(module: Module, inputs: int) -> Module:
    """Keep the assertions whose numbers by `trace_inputs` are among the bits ``inputs``."""
    number = count()

    def kept_literals(masks: Iterable[int]) -> tuple[int, ...]:
        """The literals whose numbers are among the bits."""
        return tuple(
            sum(1 << a for a in bits(mask) if inputs >> next(number) & 1) for mask in masks
        )

    positive, negative = kept_literals(module.positive), kept_literals(module.negative)
    rows: dict[str, Any] = {
        kind: tuple(row for row in getattr(module, kind) if inputs >> next(number) & 1)
        for kind in LISTS
    }
    return Module(positive, negative, **rows)


def core_of(tables: Tables, module: Module, limit: int, deadline: float | None) -> Module | None:
    """Find an inconsistent part of ``module`` over the same nodes; small, not always minimal.

    None if the search shows none within ``limit`` steps or until ``deadline``.
    """
    search = Search(tables, module, limit, deadline)
    trace_inputs(search.state, module)
    try:
        found = run(search)
    except OutOfBudget:
        return None
    return None if found or search.opaque else part_of(module, search.clash.depends_on)
