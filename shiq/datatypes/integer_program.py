"""Small integer programs, solved exactly: find an integral x ≥ 0 that satisfies all rows.

Simplex over fractions (phase one, Bland's rule) with branch and bound. Programs here have few rows,
and their relaxations are almost always integral.

>>> one_value_each, three_of_the_first = ({0: 1, 1: 1}, 4), ({0: 1}, 3)
>>> is_feasible([one_value_each], [three_of_the_first, ({1: 1}, 2)])
False
>>> is_feasible([one_value_each], [three_of_the_first, ({1: 1}, 1)])
True
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

#: Nodes of branch and bound before giving up.
MOST_NODES = 400

#: Coefficients (not negative) by variable, and the right-hand side.
Row: TypeAlias = tuple[Mapping[int, int], int]


def is_feasible(uppers: Sequence[Row], lowers: Sequence[Row]) -> bool | None:
    """Decide whether non-negative integers satisfy all linear constraints; None if branch and bound
    grows too large.

    uppers: rows Σ coefficient·x ≤ bound.
    lowers: rows Σ coefficient·x ≥ bound.
    """
    point = find_integral_solution(uppers, lowers)
    return None if point is None else point is not False


def find_integral_solution(
    uppers: Sequence[Row], lowers: Sequence[Row]
) -> dict[int, int] | Literal[False] | None:
    """Find non-negative integers that satisfy all linear constraints: variable → value, zeros left
    out; False if there are none.

    Returns None if branch and bound grows too large. Arguments as in `is_feasible`.
    """
    stack: list[tuple[list[Row], list[Row]]] = [(list(uppers), list(lowers))]
    nodes = 0
    while stack:
        nodes += 1
        if nodes > MOST_NODES:
            return None
        upper, lower = stack.pop()
        point = _solve_relaxation(upper, lower)
        if point is None:
            continue
        broken = next(((i, x) for i, x in point.items() if x.denominator != 1), None)
        if broken is None:
            return {i: int(value) for i, value in point.items()}
        variable, x = broken
        stack.append((upper, [*lower, ({variable: 1}, math.ceil(x))]))
        stack.append(([*upper, ({variable: 1}, math.floor(x))], lower))
    return False


def _solve_relaxation(uppers: list[Row], lowers: list[Row]) -> dict[int, Fraction] | None:
    """Find non-negative rational numbers that satisfy all linear constraints, by the simplex
    method; None if there are none.
    """
    variables = sorted({i for row, _ in (*uppers, *lowers) for i in row})
    width, height = len(variables), len(uppers) + len(lowers)
    column = {variable: j for j, variable in enumerate(variables)}
    # Tableau columns: variables, one slack or surplus per row, right-hand side. Each row's basic
    # variable is its slack, or for a lower row an artificial variable (numbered from width +
    # height) that phase one drives to 0.
    table: list[list[Fraction]] = []
    basis: list[int] = []
    for number, (row, bound) in enumerate((*uppers, *lowers)):
        line = [Fraction(0)] * (width + height + 1)
        for variable, coefficient in row.items():
            line[column[variable]] = Fraction(coefficient)
        line[-1] = Fraction(bound)
        is_upper = number < len(uppers)
        line[width + number] = Fraction(1 if is_upper else -1)
        basis.append(width + number if is_upper else width + height + number)
        if bound < 0:
            if is_upper:
                return None  # coefficients are non-negative, so the left side is
            basis[-1] = width + number
            line = [-x for x in line]
        table.append(line)
    while True:
        artificial = [r for r in range(height) if basis[r] >= width + height]
        if all(table[r][-1] == 0 for r in artificial):
            return {
                variables[b]: table[r][-1]
                for r, b in enumerate(basis)
                if b < width and table[r][-1]
            }
        entering = next(
            (j for j in range(width + height) if sum(table[r][j] for r in artificial) > 0), None
        )
        if entering is None:
            return None
        candidates = [
            (table[r][-1] / table[r][entering], basis[r], r)
            for r in range(height)
            if table[r][entering] > 0
        ]
        _, _, leaving = min(candidates)
        _pivot_row(table, leaving, entering)
        basis[leaving] = entering


def _pivot_row(table: list[list[Fraction]], pivot: int, entering: int) -> None:
    """Pivot the simplex tableau `table` in place: the variable `entering` becomes basic in row
    `pivot`.
    """
    scale = table[pivot][entering]
    line = table[pivot] = [x / scale if x else x for x in table[pivot]]
    for r, other in enumerate(table):
        factor = other[entering]
        if r != pivot and factor:
            table[r] = [a - factor * b if b else a for a, b in zip(other, line)]
