"""A canonical text of assertions: the same whatever their individuals and literals are called, and in whatever order they stand.

What stays: classes, properties, the datatypes of literals, and which individuals and literals are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from shiq.explanation.parsed import TYPE, Line

#: A line with numbers for its individuals and literals: (predicate, fixed class or datatype, subject, object or -1).
Row: TypeAlias = tuple[str, str, int, int]

#: More ways to number individuals that look alike than this are not tried.
MOST_TRIED = 2000


def rows_of(lines: Sequence[Line]) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """``lines`` with their individuals and literals numbered as they are first met; and these, by number."""
    numbers: dict[str, int] = {}
    rows: list[Row] = []
    for subject, predicate, object in lines:
        s = numbers.setdefault(subject, len(numbers))
        if predicate == TYPE and object.startswith("<"):
            rows.append((predicate, object, s, -1))
        else:
            o = numbers.setdefault(object, len(numbers))
            rows.append((predicate, _datatype(object), s, o))
    return tuple(rows), tuple(numbers)


def canonical_rows(rows: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[int, ...]]:
    """``rows`` renumbered and sorted, equal for rows that are equal up to numbering and order; and the new number of each.

    Colour refinement, then every choice among nodes that still look alike, up to `MOST_TRIED`.
    """
    count = 1 + max((max(s, o) for _, _, s, o in rows), default=-1)
    best: tuple[tuple[Row, ...], tuple[int, ...]] | None = None
    left = MOST_TRIED
    stack = [_refined(rows, [0] * count)]
    while stack and left:
        colours = stack.pop()
        cells: dict[int, list[int]] = {}
        for node, colour in enumerate(colours):
            cells.setdefault(colour, []).append(node)
        open_ = [cell for _, cell in sorted(cells.items()) if len(cell) > 1]
        if not open_:
            left -= 1
            found = tuple(sorted((p, fixed, colours[s], colours[o] if o >= 0 else -1) for p, fixed, s, o in rows))
            if best is None or found < best[0]:
                best = found, tuple(colours)
            continue
        for node in open_[0]:
            stack.append(_refined(rows, [2 * c + (n != node) for n, c in enumerate(colours)]))
    return best or ((), ())


def canonical_text(rows: Sequence[Row]) -> str:
    return "\n".join(f"{s} {predicate} {fixed}{f' {o}' if o >= 0 else ''}" for predicate, fixed, s, o in rows)


def _refined(rows: Sequence[Row], colours: list[int]) -> list[int]:
    """The coarsest colouring below ``colours`` that tells nodes with different surroundings apart; colours are ranks."""
    colours = _ranked([(c,) for c in colours])
    while True:
        around: list[list[tuple[str, str, int, int]]] = [[] for _ in colours]
        for predicate, fixed, s, o in rows:
            around[s].append((predicate, fixed, 0, colours[o] if o >= 0 else -1))
            if o >= 0:
                around[o].append((predicate, fixed, 1, colours[s]))
        refined = _ranked([(c, *sorted(near)) for c, near in zip(colours, around)])
        if refined == colours:
            return colours
        colours = refined


def _ranked(keys: Sequence[tuple[object, ...]]) -> list[int]:
    order = {key: i for i, key in enumerate(sorted(set(keys)))}
    return [order[key] for key in keys]


def _datatype(object: str) -> str:
    """The datatype of a literal, or that it has a language; "" for an individual."""
    if not object.startswith('"'):
        return ""
    suffix = object[object.rindex('"') + 1 :]
    return "@" if suffix.startswith("@") else suffix or '""'
