"""Whether one element can have enough data successors and not too many.

Each value is given a label: the data properties that lead to it, closed upwards under ⊑*. A
*supply* is a number of values that lie in the same ranges and carry the same asserted label. A
need (≥n p.D) wants values of D with p in their label, a limit (≤n q.E) bounds those of E with q
in it. Labels made of what the needs ask for suffice, so the question is a small integer program;
needs that share no limited or disjoint property are decided one by one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from shiq.datatypes.integer_program import Row, feasible

#: Needs that hang together; their labels are looked at subset by subset.
MOST_NEEDS = 8

Label = frozenset[str]


@dataclass(frozen=True, slots=True)
class DataNeed:
    """≥n p.D: ``label`` is p with all properties above it, ``bit`` that of D in signatures."""

    n: int
    property: str
    label: Label
    bit: int


@dataclass(frozen=True, slots=True)
class Limit:
    """≤n property.D."""

    n: int
    property: str
    bit: int


@dataclass(frozen=True, slots=True)
class Supply:
    """``count`` values with the same ``signature`` (bits of the ranges they lie in), all
    carrying ``label``, none may be reached by ``forbidden`` properties.
    """

    signature: int
    count: float
    label: Label = frozenset()
    forbidden: Label = frozenset()


@lru_cache(maxsize=20_000)
def solvable(
    needs: tuple[DataNeed, ...],
    limits: tuple[Limit, ...],
    supplies: tuple[Supply, ...],
    disjoint: frozenset[tuple[str, str]],
) -> bool | None:
    """Whether labels can be chosen so that all needs and limits hold; exact, None if the program
    grows too large.
    """
    for supply in supplies:
        if not _legal(supply.label, supply, disjoint):
            return False
    for limit in limits:
        if _met(limit, supplies) > limit.n:
            return False
    answer: bool | None = True
    for group, is_free in _groups(
        [n for n in needs if _met(n, supplies) < n.n], limits, supplies, disjoint
    ):
        found = (
            _enough(group[0], supplies) if is_free else _solve(group, limits, supplies, disjoint)
        )
        if found is False:
            return False
        if found is None:
            answer = None
    return answer


def _met(atom: DataNeed | Limit, supplies: Sequence[Supply]) -> float:
    """How many values count for ``atom`` by their asserted labels."""
    return sum(
        s.count for s in supplies if atom.property in s.label and s.signature >> atom.bit & 1
    )


def _legal(label: Label, supply: Supply, disjoint: frozenset[tuple[str, str]]) -> bool:
    return not (label & supply.forbidden) and not any(
        p in label and q in label for p, q in disjoint
    )


def _groups(
    needs: list[DataNeed],
    limits: Sequence[Limit],
    supplies: Sequence[Supply],
    disjoint: frozenset[tuple[str, str]],
) -> list[tuple[list[DataNeed], bool]]:
    """The needs, joined where a limited, forbidden or disjoint property connects them; True for
    one that none touches.
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


def _enough(need: DataNeed, supplies: Sequence[Supply]) -> bool:
    """Whether ``need`` can be met where nothing stands against its label: `_solve` without the
    program.
    """
    return sum(s.count for s in supplies if s.signature >> need.bit & 1) >= need.n


def _solve(
    needs: list[DataNeed],
    limits: Sequence[Limit],
    supplies: Sequence[Supply],
    disjoint: frozenset[tuple[str, str]],
) -> bool | None:
    """One group of needs. Variables: how many values of a supply take which larger label."""
    if len(needs) > MOST_NEEDS:
        return None
    labels = {
        frozenset[str]().union(*(need.label for need in chosen))
        for k in range(1, len(needs) + 1)
        for chosen in combinations(needs, k)
    }
    budgets = [limit.n - int(_met(limit, supplies)) for limit in limits]
    uppers: list[Row] = []
    costs: list[dict[int, int]] = [{} for _ in limits]
    gains: list[dict[int, int]] = [{} for _ in needs]
    variables = 0
    for supply in supplies:
        options = _options(supply, labels, needs, limits, budgets, disjoint)
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
    return feasible(
        uppers, [(row, need.n - int(_met(need, supplies))) for row, need in zip(gains, needs)]
    )


def _options(
    supply: Supply,
    labels: Collection[Label],
    needs: Sequence[DataNeed],
    limits: Sequence[Limit],
    budgets: Sequence[int],
    disjoint: frozenset[tuple[str, str]],
) -> list[tuple[frozenset[int], frozenset[int]]]:
    """What a value of ``supply`` can do more: the needs it meets and the limits it uses up, the
    best choices only.
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
            and _legal(supply.label | label, supply, disjoint)
        ):
            found.add((gain, cost))
    return [
        (g, c)
        for g, c in found
        if not any(g <= g2 and c2 <= c and (g, c) != (g2, c2) for g2, c2 in found)
    ]
