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
    assign_weights,
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
    TableauSearch,
    apply_alternative,
    apply_rule,
    check_budget,
    load_assertions,
    saturate,
    settle_match,
)
from shiq.reasoner.hypertableau.state import ADD, Match, TableauClash, TableauState
from shiq.reasoner.hypertableau.tables import Need, Tables
from shiq.reasoner.protocol import Answer, Module
from shiq.support import bits


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The result of a search: its verdict, and for a consistent module the pre-model.

    model: for CONSISTENT, the pre-model
    weights: number of elements that a node of the model stands for, if not one
    is_out_of_budget: undetermined because steps or time were used up
    """

    answer: Answer
    model: TableauState | None = None
    weights: Mapping[int, int] = field(default_factory=dict)
    is_out_of_budget: bool = False


def run_search(search: TableauSearch) -> bool:
    """Load the module of a search and search; return whether a pre-model is found."""
    try:
        load_assertions(search)
    except TableauClash as clash:
        search.clash = clash
        return False
    return find_model(search)


def find_model(search: TableauSearch) -> bool:
    """Search for a pre-model from the facts loaded so far; return whether one is found."""
    while True:
        try:
            saturate(search)
            if not (make_choice(search) or expand_needs(search)):
                _check_undecided_data(search)
                assign_weights(search)
                return True
        except TableauClash as clash:
            search.clash = clash
            if not jump_back(search, clash.depends_on):
                return False


def individuals_at(state: TableauState, nodes: tuple[int, ...]) -> tuple[int, ...]:
    """Map nodes to the individuals that they are, or descend from."""
    found: dict[int, None] = {}
    for x in nodes:
        while x >= state.named and x < len(state.parent):
            x = state.parent[x]
        if 0 <= x < state.named:
            found[x] = None
    return tuple(found)


# --- choosing -------------------------------------------------------------------------------------


def make_choice(search: TableauSearch) -> bool:
    """Try the first disjunct of the most urgent pending match. Return False if no match is pending."""
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
        alternatives = settle_match(search, match)
        if alternatives:
            search.used.add(state.tables.rules.by_number[match[0]].index)
            level = len(trail.choices)
            trail.choices.append((len(trail.entries), len(state.pos), alternatives[0], match))
            apply_alternative(
                search, alternatives[0], 1 << (state.dependencies.inputs + level), match
            )
            return True
        if queue.names or queue.edges or queue.denials or queue.dirty:
            return True
        if agenda.again or agenda.counted:
            return True
    return False


def _is_match_void(state: TableauState, match: Match) -> bool:
    """Decide whether a match can be forgotten, because it can hold again only after a new fact
    wakes it.

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


def jump_back(search: TableauSearch, depends_on: int) -> bool:
    """Backjump: undo the last choice that the clash depends on, and deny it. Return False if the
    clash depends on no choice.
    """
    state, choices = search.state, search.state.trail.choices
    inputs = state.dependencies.inputs
    while depends_on >> (inputs + search.assumed):
        level = depends_on.bit_length() - 1 - inputs
        mark, nodes, (kind, u, v), match = choices[level]
        undo_to(search, mark, nodes)
        del choices[level:]
        others = depends_on ^ 1 << (inputs + level)
        try:
            if kind == ADD:
                search.failures[v] = search.failures.get(v, 0) + 1
                state.deny_atom(u, v, others)
            else:
                state.add_inequality(u, v, others)
        except TableauClash as clash:
            depends_on = clash.depends_on
        else:
            search.agenda.again.append(match)
            return True
    search.clash = TableauClash(depends_on, *search.clash.nodes)
    return False


def undo_to(search: TableauSearch, mark: int, nodes: int) -> None:
    """Restore an earlier state: undo all writes after ``mark`` on the trail, and remove the nodes
    from ``nodes`` on.

    The queues must be empty, or worthless.
    """
    agenda = search.agenda
    reopened = search.state.trail.rewind(mark)
    search.state.drop_newest_nodes(nodes)
    search.state.queue.clear()
    agenda.again.clear()
    agenda.counted.clear()
    agenda.queued.clear()
    for entry in reopened:
        agenda.reopen(entry)


# --- expansion ------------------------------------------------------------------------------------


def expand_needs(search: TableauSearch) -> bool:
    """Create successors for unsatisfied ≥n restrictions at unblocked nodes, individuals first.
    Return False if there are none.
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


def _unmet_needs(search: TableauSearch, x: int) -> list[int]:
    """Find the ≥n restrictions at node x that are not satisfied. If there are none, x is no longer
    open.
    """
    state = search.state
    needs, mask = state.tables.needs, state.pos[x] & state.tables.need_mask
    unmet = [a for a in bits(mask) if not _is_need_met(search, x, needs[a])]
    if not unmet:
        state.trail.remove(state.queue.open, x)
    return unmet


def _is_need_met(search: TableauSearch, x: int, need: Need) -> bool:
    """Decide whether node x has n distinct neighbours that satisfy a ≥n restriction.

    Distinct nodes are distinct elements, and a merge opens x again. For a large n a few are enough,
    one of them a child, which can stand for more.
    """
    state = search.state
    bit, filler, pos, enough = need.role_bit, need.filler, state.pos, need.n
    suitable, has_child = 0, False
    if enough > search.building.large:
        enough = search.building.successors_to_build(state.tables, need)
    for y, roles in state.near[x].items():
        if roles & bit and not filler & ~pos[y]:
            suitable += 1
            has_child = has_child or state.parent[y] == x
            if suitable >= need.n or (suitable >= enough and has_child):
                return True
    return False


def _add_successors(search: TableauSearch, x: int, atom: int, depends_on: int) -> None:
    """Create fresh, pairwise unequal successors for a ≥n restriction at node x: n of them, or a few
    for a large n.
    """
    state = search.state
    fresh: list[int] = []
    need = state.tables.needs[atom]
    for _ in range(search.building.successors_to_build(state.tables, need)):
        search.steps += 1 + len(fresh)
        if search.steps >= search.checkpoint:
            check_budget(search)
        y = state.add_node(x)
        search.grown_for[y] = atom
        for z in fresh:
            state.add_inequality(y, z, depends_on)
        fresh.append(y)
        state.add_edge(x, y, need.roles, depends_on)
        if need.filler:
            state.add_atom(y, need.filler_atom, depends_on)
        for rule in state.tables.rules.start:
            apply_rule(search, rule, y, -1)


# --- data -----------------------------------------------------------------------------------------


def _check_undecided_data(search: TableauSearch) -> None:
    """Check that no data restrictions and values of the pre-model are undecided.

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
            search.opaque = search.opaque or state.tables.data.describe_undecided(culprits)
            raise TableauClash(data_dependencies(state, x, culprits), x)


# --- answers --------------------------------------------------------------------------------------


def decide_module(
    tables: Tables,
    module: Module,
    limit: int,
    deadline: float | None,
    building: BuildingPolicy = FIRST,
) -> SearchOutcome:
    """Decide whether ``module`` is consistent with a compiled TBox, within ``limit`` steps and
    until ``deadline``.

    building: which numbers are counted, not built.
    """
    search = TableauSearch(tables, module, limit, deadline)
    search.building = building
    try:
        found = run_search(search)
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
    """Decide whether ``module`` contradicts the TBox already without choices and fresh successors,
    within ``limit`` steps.
    """
    search = TableauSearch(tables, module, limit, None)
    try:
        load_assertions(search)
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


def trace_inputs(state: TableauState, module: Module) -> None:
    """Number the assertions of ``module``, and make each its own dependency set, so that a clash
    names the assertions behind it.

    Order: literals by node, then the rows of the lists.
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


def select_inputs(module: Module, inputs: int) -> Module:
    """Keep the assertions of ``module`` whose numbers, given by `trace_inputs`, are among the bits
    ``inputs``.
    """
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


def find_core(tables: Tables, module: Module, limit: int, deadline: float | None) -> Module | None:
    """Find an inconsistent part of ``module`` over the same nodes; small, not always minimal.

    None if the search shows none within ``limit`` steps or until ``deadline``.
    """
    search = TableauSearch(tables, module, limit, deadline)
    trace_inputs(search.state, module)
    try:
        found = run_search(search)
    except OutOfBudget:
        return None
    return None if found or search.opaque else select_inputs(module, search.clash.depends_on)
