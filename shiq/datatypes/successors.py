"""Decide whether one element can have enough data successors, and not too many.

The *label* of a value is the set of data properties that lead to it, closed upwards under ⊑*. A
*supply* is a number of values in the same ranges and with the same asserted label. A need (≥n p.D)
requires values of D with p in their label. A limit (≤n q.E) bounds the values of E with q in it.
Labels made of the needed properties suffice, so the question is a small integer program. Needs
without a common limited or disjoint property are decided one by one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from shiq.datatypes.integer_program import Row, is_feasible

#: Needs that hang together; their labels are looked at subset by subset.
MOST_NEEDS = 8

Label = frozenset[str]


@dataclass(frozen=True, slots=True)
class DataNeed:
    """The restriction ≥n p.D on an element's data values.

    label: p with all properties above it.
    bit: position of D in signatures.
    """

    n: int
    property: str
    label: Label
    bit: int


@dataclass(frozen=True, slots=True)
class DataLimit:
    """The restriction ≤n p.D on an element's data values.

    bit: position of D in signatures.
    """

    n: int
    property: str
    bit: int


@dataclass(frozen=True, slots=True)
class ValueSupply:
    """Interchangeable data values: how many there are, the ranges that contain them, and the
    properties asserted of them.

    signature: bits of the ranges that contain them.
    label: properties asserted to lead to all of them.
    forbidden: properties that lead to none of them.
    """

    signature: int
    count: float
    label: Label = frozenset()
    forbidden: Label = frozenset()


@lru_cache(maxsize=20_000)
def is_solvable(
    needs: tuple[DataNeed, ...],
    limits: tuple[DataLimit, ...],
    supplies: tuple[ValueSupply, ...],
    disjoint: frozenset[tuple[str, str]],
) -> bool | None:
    """Decide whether each available value can be given data properties so that all ≥n and ≤n
    restrictions hold.

    supplies: the available values. disjoint: pairs of disjoint properties.

    Exact; None if the program grows too large.
    """
    for supply in supplies:
        if not _is_label_allowed(supply.label, supply, disjoint):
            return False
    for limit in limits:
        if _count_asserted(limit, supplies) > limit.n:
            return False
    answer: bool | None = True
    for group, is_free in _group_needs(
        [n for n in needs if _count_asserted(n, supplies) < n.n], limits, supplies, disjoint
    ):
        found = (
            _has_enough_values(group[0], supplies)
            if is_free
            else _solve_group(group, limits, supplies, disjoint)
        )
        if found is False:
            return False
        if found is None:
            answer = None
    return answer


def _count_asserted(atom: DataNeed | DataLimit, supplies: Sequence[ValueSupply]) -> float:
    """Count the values that satisfy a restriction's property and range by assertion alone."""
    return sum(
        s.count for s in supplies if atom.property in s.label and s.signature >> atom.bit & 1
    )


def _is_label_allowed(
    label: Label, supply: ValueSupply, disjoint: frozenset[tuple[str, str]]
) -> bool:
    """Decide whether values of `supply` may have all properties in `label`: none is forbidden, no
    two are disjoint.
    """
    return not (label & supply.forbidden) and not any(
        p in label and q in label for p, q in disjoint
    )


def _group_needs(
    needs: list[DataNeed],
    limits: Sequence[DataLimit],
    supplies: Sequence[ValueSupply],
    disjoint: frozenset[tuple[str, str]],
) -> list[tuple[list[DataNeed], bool]]:
    """Group the ≥n restrictions that must be decided together, since they share a limited,
    forbidden or disjoint property.

    The flag is True for a need that shares none.
    """
    touched = {limit.property for limit in limits} | {p for s in supplies for p in s.forbidden}
    marks = []
    for need in needs:
        mark: set[object] = set(need.label & touched)
        mark |= {pair for pair in disjoint if pair[0] in need.label or pair[1] in need.label}
        marks.append(mark)
    groups: list[tuple[set[object], list[DataNeed]]] = []
    for need, mark in zip(needs, marks):
        joined = [group for group in groups if group[0] & mark]
        groups = [group for group in groups if not (group[0] & mark)]
        merged = mark.union(*(group[0] for group in joined))
        groups.append((merged, [*(n for group in joined for n in group[1]), need]))
    return [(group, not mark) for mark, group in groups]


def _has_enough_values(need: DataNeed, supplies: Sequence[ValueSupply]) -> bool:
    """Decide whether enough values lie in the range of a ≥n restriction that shares no property
    with a limit.
    """
    return sum(s.count for s in supplies if s.signature >> need.bit & 1) >= need.n


def _solve_group(
    needs: list[DataNeed],
    limits: Sequence[DataLimit],
    supplies: Sequence[ValueSupply],
    disjoint: frozenset[tuple[str, str]],
) -> bool | None:
    """Decide ≥n restrictions that share properties, together with all limits, by an integer
    program.

    Variables: how many values of a supply take each larger set of properties.
    """
    if len(needs) > MOST_NEEDS:
        return None
    labels = {
        frozenset[str]().union(*(need.label for need in chosen))
        for k in range(1, len(needs) + 1)
        for chosen in combinations(needs, k)
    }
    budgets = [limit.n - int(_count_asserted(limit, supplies)) for limit in limits]
    uppers: list[Row] = []
    costs: list[dict[int, int]] = [{} for _ in limits]
    gains: list[dict[int, int]] = [{} for _ in needs]
    variables = 0
    for supply in supplies:
        options = _best_choices(supply, labels, needs, limits, budgets, disjoint)
        mine = range(variables, variables + len(options))
        variables += len(options)
        for variable, (gain, cost) in zip(mine, options):
            for i in gain:
                gains[i][variable] = 1
            for i in cost:
                costs[i][variable] = 1
        if options and supply.count < math.inf:
            uppers.append((dict.fromkeys(mine, 1), int(supply.count)))
    if not all(gains):
        return False
    uppers += [(row, budget) for row, budget in zip(costs, budgets) if row]
    return is_feasible(
        uppers,
        [(row, need.n - int(_count_asserted(need, supplies))) for row, need in zip(gains, needs)],
    )


def _best_choices(
    supply: ValueSupply,
    labels: Collection[Label],
    needs: Sequence[DataNeed],
    limits: Sequence[DataLimit],
    budgets: Sequence[int],
    disjoint: frozenset[tuple[str, str]],
) -> list[tuple[frozenset[int], frozenset[int]]]:
    """List the useful ways to give properties to one value of `supply`: (indexes of needs it meets,
    of limits it counts for).
    """
    my_needs = [
        (i, n.property)
        for i, n in enumerate(needs)
        if supply.signature >> n.bit & 1 and n.property not in supply.label
    ]
    my_limits = [
        (i, m.property)
        for i, m in enumerate(limits)
        if supply.signature >> m.bit & 1 and m.property not in supply.label
    ]
    found: set[tuple[frozenset[int], frozenset[int]]] = set()
    for label in labels if my_needs else ():
        gain = frozenset(i for i, p in my_needs if p in label)
        cost = frozenset(i for i, p in my_limits if p in label)
        if (
            gain
            and all(budgets[i] for i in cost)
            and _is_label_allowed(supply.label | label, supply, disjoint)
        ):
            found.add((gain, cost))
    return [
        (g, c)
        for g, c in found
        if not any(g <= g2 and c2 <= c and (g, c) != (g2, c2) for g2, c2 in found)
    ]
