"""Anywhere pairwise blocking: which unnamed nodes need no successors of their own."""

from __future__ import annotations

from shiq.reasoner.hypertableau.state import State


def blocked_nodes(state: State) -> set[int]:
    """The live unnamed nodes that are blocked, directly or by an ancestor.

    In order of age, a node is blocked by an older unblocked one with the same names, the same names at the parent and the
    same roles between them; whatever lies below a blocked node is blocked too, and a blocked node blocks nobody. A blocked
    node can be given a copy of its blocker's subtree: clauses are stars around a node, and see no more than these three
    (≥-atoms and data restrictions stand in heads alone, so the blocker's own serve).
    """
    names = ~(state.tables.need_mask | state.tables.data_mask)
    pos, near, parents, alive = state.pos, state.near, state.parent, state.alive
    blockers: set[tuple[int, int, int]] = set()
    blocked: set[int] = set()
    for x in range(state.named, len(pos)):
        if not alive[x]:
            continue
        parent = parents[x]
        if parent in blocked:
            blocked.add(x)
            continue
        key = (pos[x] & names, pos[parent] & names, near[parent][x])
        if key in blockers:
            blocked.add(x)
        else:
            blockers.add(key)
    return blocked
