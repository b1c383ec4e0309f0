"""Hitting sets of the conflicts found so far: what to leave out to see those that they hide."""

from __future__ import annotations

from abox_ops.elements.quotient import Partition
from shiq import model as owl


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
    """The minimal sets that meet every conflict (at most `HITTING_SETS`), smallest first, in a
    fixed order.
    """
    partial: set[frozenset[owl.Assertion]] = {frozenset()}
    for conflict in sorted(conflicts, key=lambda c: (len(c), sorted(map(repr, c)))):
        grown = {h for h in partial if h & conflict}
        for h in partial - grown:
            grown |= {h | {a} for a in conflict}
        partial = {h for h in grown if not any(o < h for o in grown)}
        if len(partial) > HITTING_SETS:
            partial = set(
                sorted(partial, key=lambda h: (len(h), sorted(map(repr, h))))[:HITTING_SETS]
            )
    return sorted(partial, key=lambda h: (len(h), sorted(map(repr, h))))


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
