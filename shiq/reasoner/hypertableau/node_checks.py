"""Check one node of the tableau: its counted neighbours and its data, with the dependency sets of
the answers.
"""

from __future__ import annotations

from itertools import combinations, islice

from shiq.reasoner.hypertableau.node_data import DataStatement
from shiq.reasoner.hypertableau.state import TableauClash, TableauState
from shiq.reasoner.hypertableau.tables import Rule
from shiq.support import bits

#: Neighbours of a node from which on bounds look at a few that they count.
MANY_NEIGHBOURS = 64


def select_unequal(state: TableauState, nodes: list[int], size: int) -> list[int]:
    """Select ``size`` of ``nodes``, as many pairwise unequal ones as a greedy choice finds."""
    unequal = state.unequal
    if len(nodes) == size:
        return nodes
    if not any(map(unequal.get, nodes)):
        return sorted(nodes)[:size]
    inside = set(nodes)
    known = {y: unequal.get(y, {}).keys() for y in nodes}
    order = sorted(nodes, key=lambda y: (-len(known[y] & inside), y))
    chosen: list[int] = []
    for y in order:
        if len(chosen) < size and all(z in known[y] for z in chosen):
            chosen.append(y)
    for y in order:
        if len(chosen) < size and y not in chosen:
            chosen.append(y)
    return chosen


def counted_neighbours(state: TableauState, rule: Rule, x: int, *, every: bool) -> list[int]:
    """Find the neighbours of node x that a ≤n rule counts.

    Of many only a few more than n, unless ``every`` one is wanted. Any of them do then, unequal
    ones best: to look at all after each merge would cost their square.
    """
    near, bit, filler, pos = state.near[x], rule.role_bit, rule.branch_body, state.pos
    found = (y for y, roles in near.items() if roles & bit and not filler & ~pos[y])
    if every or len(near) <= MANY_NEIGHBOURS:
        return list(found)
    known = state.unequal
    fewer, other = (known, near) if len(known) < len(near) else (near, known)
    unequal = (
        y for y in fewer if y in other and known[y] and near[y] & bit and not filler & ~pos[y]
    )
    some = (*islice(unequal, MANY_NEIGHBOURS), *islice(found, rule.at_most + 1))
    return list(dict.fromkeys(some))


def count_dependencies(
    state: TableauState, rule: Rule, x: int, counted: tuple[int, ...] | list[int]
) -> int:
    """Return the dependency set of the conclusion that a ≤n rule at node x counts these pairwise
    unequal neighbours.
    """
    if not (state.trail.choices or state.dependencies.inputs):
        return 0
    found = state.match_dependencies(rule, x, -1)
    for y in counted:
        found |= state.edge_dependencies(x, y, rule.role_bit)
        found |= state.name_dependencies(y, rule.branch_body)
    for y, z in combinations(counted, 2):
        found |= state.unequal.get(y, {}).get(z, 0)
    return found


def check_data(state: TableauState, x: int) -> None:
    """Check the data restrictions and values of node x. Raises: TableauClash if they contradict
    each other.
    """
    if state.alive[x] and data_verdict(state, x) is False:
        raise TableauClash(data_dependencies(state, x, data_culprits(state, x)), x)


def data_verdict(state: TableauState, x: int) -> bool | None:
    """Decide whether the data restrictions and values of node x can hold together; None if
    undecided.
    """
    return state.tables.data.verdict(*_data_statements_at(state, x))


def data_culprits(state: TableauState, x: int) -> frozenset[DataStatement]:
    """Select data restrictions and values of node x that are contradictory, or undecided, by
    themselves.
    """
    return state.tables.data.culprits(*_data_statements_at(state, x))


def _data_statements_at(state: TableauState, x: int) -> tuple[int, frozenset[DataStatement]]:
    """Return the data restrictions that hold at node x, as a mask of atoms, and its other data
    statements.
    """
    facts = frozenset(fact for fact, _ in state.data.get(x, ()))
    return state.pos[x] & state.tables.data_mask, facts


def data_dependencies(state: TableauState, x: int, culprits: frozenset[DataStatement]) -> int:
    """Return the dependency set of some data restrictions and values at node x. Of two sources for
    one, the fact's is used.
    """
    facts = {
        fact: depends_on for fact, depends_on in reversed(state.data.get(x, ())) if fact in culprits
    }
    found = 0
    for depends_on in facts.values():
        found |= depends_on
    atoms = state.tables.atoms
    for a in bits(state.pos[x] & state.tables.data_mask):
        if (atom := atoms[a]) in culprits and atom not in facts:
            found |= state.name_dependencies(x, 1 << a)
    return found


# Anywhere pairwise blocking: which unnamed nodes need no successors of their own.


def blocked_nodes(state: TableauState) -> dict[int, int]:
    """Find the nodes that need no successors because an older node is like them: node → blocker, -1
    if an ancestor is blocked.

    In order of age, a node is blocked by an older unblocked node with the same names, the same
    names at the parent and the same roles between them. Everything below a blocked node is blocked
    too, and a blocked node blocks no other node. This is sound because a blocked node can get a
    copy of its blocker's subtree. Clauses are stars around a node and depend on these three only;
    ≥-atoms and data restrictions occur in heads alone, so the blocker's are enough.
    """
    names = ~(state.tables.need_mask | state.tables.data_mask)
    pos, near, parents, alive = state.pos, state.near, state.parent, state.alive
    blockers: dict[tuple[int, int, int], int] = {}
    blocked: dict[int, int] = {}
    for x in range(state.named, len(pos)):
        if not alive[x]:
            continue
        parent = parents[x]
        if parent in blocked:
            blocked[x] = -1
            continue
        blocker = blockers.setdefault((pos[x] & names, pos[parent] & names, near[parent][x]), x)
        if blocker != x:
            blocked[x] = blocker
    return blocked
