"""Anywhere pairwise blocking: which unnamed nodes need no successors of their own."""

from __future__ import annotations

from shiq.reasoner.hypertableau.state import State


def blocked_nodes(state: State) -> dict[int, int]:
    """The live unnamed nodes that are blocked, each with its blocker, or with -1 where an
    ancestor is blocked.

    In order of age, a node is blocked by an older unblocked one with the same names, the same
    names at the parent and the same roles between them; whatever lies below a blocked node is
    blocked too, and a blocked node blocks nobody. A blocked node can be given a copy of its
    blocker's subtree: clauses are stars around a node, and see no more than these three (≥-atoms
    and data restrictions stand in heads alone, so the blocker's own serve).
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
