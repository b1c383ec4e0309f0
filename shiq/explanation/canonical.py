"""A canonical text of assertions: the same whatever their individuals and literals are called,
and in whatever order they stand.

What stays: classes, properties, the datatypes of literals, and which individuals and literals
are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from shiq.canonical import canonical_order, places
from shiq.explanation.parsed import TYPE, TripleLine

#: A line with numbers for its individuals and literals: (predicate, fixed class or datatype,
#: subject, object or -1).
Row: TypeAlias = tuple[str, str, int, int]


def rows_of(lines: Sequence[TripleLine]) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """``lines`` with their individuals and literals numbered as they are first met; and these,
    by number.
    """
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
    """``rows`` renumbered and sorted, equal for rows that are equal up to numbering and order;
    and the new number of each.
    """
    count = 1 + max((max(s, o) for _, _, s, o in rows), default=-1)
    place = places(
        canonical_order(
            [0] * count, [((predicate, fixed), s, o) for predicate, fixed, s, o in rows]
        )
    )
    return tuple(
        sorted((p, fixed, place[s], place[o] if o >= 0 else -1) for p, fixed, s, o in rows)
    ), tuple(place)


def canonical_text(rows: Sequence[Row]) -> str:
    return "\n".join(
        f"{s} {predicate} {fixed}{f' {o}' if o >= 0 else ''}" for predicate, fixed, s, o in rows
    )


def _datatype(object: str) -> str:
    """The datatype of a literal, or that it has a language; "" for an individual."""
    if not object.startswith('"'):
        return ""
    suffix = object[object.rindex('"') + 1 :]
    return "@" if suffix.startswith("@") else suffix or '""'
