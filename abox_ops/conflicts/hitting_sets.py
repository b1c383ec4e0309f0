"""Hitting sets of the conflicts found so far: what to leave out to see those that they hide."""

from __future__ import annotations

from shiq import model as owl
from shiq.abox_ops.elements.quotient import Partition
from shiq.bits import bits


def groups_of(conflicts: list[frozenset[owl.Assertion]]) -> list[list[frozenset[owl.Assertion]]]:
    """Conflicts that share insertions, directly or by others, together."""
    together: Partition[int] = Partition()
    first: dict[owl.Assertion, int] = {}
    for i, conflict in enumerate(conflicts):
        for assertion in conflict:
            together.union(first.setdefault(assertion, i), i)
    found: dict[int, list[frozenset[owl.Assertion]]] = {}
    for i, conflict in enumerate(conflicts):
        found.setdefault(together.find(i), []).append(conflict)
    return list(found.values())


#: More hitting sets of one group than this are not enumerated.
HITTING_SETS = 200


def hitting_sets(conflicts: list[frozenset[owl.Assertion]]) -> list[frozenset[owl.Assertion]]:
    """List the minimal sets that meet every conflict (at most `HITTING_SETS`), smallest first, in
    a fixed order.

    Sets are bit masks, the first assertion the highest bit. Those so far that meet the next
    conflict stay minimal. Each other one is joined with each element of it, which none of these
    has; so no two of the joined sets contain each other, and only one that stays can be a part
    of one.
    """
    elements = sorted(frozenset().union(*conflicts), key=repr, reverse=True)
    bit = {element: 1 << i for i, element in enumerate(elements)}
    masks = [sum(map(bit.__getitem__, conflict)) for conflict in conflicts]
    partial = [0]
    for conflict in sorted(masks, key=_order):
        staying = [h for h in partial if h & conflict]
        grown = list[int]()
        for one in (1 << i for i in bits(conflict)):
            rests = [h & ~one for h in staying if h & one]
            grown += [
                h | one
                for h in partial
                if not h & conflict and not any(not rest & ~h for rest in rests)
            ]
        partial = sorted((*staying, *grown), key=_order)[:HITTING_SETS]
    return [frozenset(elements[i] for i in bits(h)) for h in partial]


def _order(mask: int) -> tuple[int, int]:
    """The order of sets: by size, then by their first elements."""
    return mask.bit_count(), -mask


def next_removal(
    conflicts: list[frozenset[owl.Assertion]], tried: set[frozenset[owl.Assertion]]
) -> tuple[set[owl.Assertion], set[frozenset[owl.Assertion]]]:
    """One untried minimal hitting set of each group, all together; nothing if every one has been
    tried.
    """
    removed: set[owl.Assertion] = set()
    fresh: set[frozenset[owl.Assertion]] = set()
    for group in groups_of(conflicts):
        hitting = hitting_sets(group)
        if not hitting:
            continue  # a conflict without insertions: A by itself, which nothing taken away mends
        untried = next((h for h in hitting if h not in tried), None)
        if untried is not None:
            fresh.add(untried)
        removed |= untried if untried is not None else hitting[0]
    return removed, fresh
