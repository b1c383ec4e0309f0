"""Minimal subsets: the smallest part of a list that still has a monotone property."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from shiq.model import Assertion
from shiq.model.abox import individuals_of

V = TypeVar("V")


def shrink(items: Sequence[V], holds: Callable[[list[V]], bool]) -> list[V]:
    """A minimal sublist of ``items`` with ``holds``, given that ``holds`` is monotone and true
    of ``items``.

    Removes halves first, then single items: about k·log(n/k) questions for k left of n.
    Deterministic.

    >>> shrink(list(range(20)), lambda part: {3, 11} <= set(part))
    [3, 11]
    """
    kept = list(items)
    size = len(kept) // 2
    while size > 1:
        kept = _without_chunks(kept, size, holds)
        size = min(size, len(kept)) // 2
    return _without_chunks(kept, 1, holds)


#: Areas are not split further below this many items.
SMALL = 24


def areas(items: Sequence[V], holds: Callable[[list[V]], bool]) -> list[list[V]]:
    """Disjoint small sublists of ``items`` with ``holds``, given that it is monotone and true of
    ``items``.

    Halves are looked at by themselves, so items that belong together should stand near each
    other: then parts in which nothing holds fall away at once. Where neither half holds alone,
    the list is narrowed as a whole. At least one area is found.

    >>> [len(a) <= SMALL for a in areas(list(range(1000)), lambda part: {3, 4} <= set(part) or {700, 705} <= set(part))]
    [True, True]
    """
    found: list[list[V]] = []
    stack = [list(items)]
    while stack:
        part = stack.pop()
        if len(part) <= SMALL:
            found.append(part)
            continue
        middle = len(part) // 2
        halves = [half for half in (part[middle:], part[:middle]) if holds(half)]
        if halves:
            stack.extend(halves)
        else:
            size = middle // 2
            while size > SMALL // 4:
                part = _without_chunks(part, size, holds)
                size = min(size, len(part)) // 2
            found.append(part)
    return found


def connected(beginning: Iterable[Assertion], assertions: Sequence[Assertion]) -> list[Assertion]:
    """Those of ``assertions`` that hang together with the ``beginning`` by individuals."""
    about: dict[str, list[int]] = {}
    for i, assertion in enumerate(assertions):
        for individual in individuals_of(assertion):
            about.setdefault(individual, []).append(i)
    stack = [individual for assertion in beginning for individual in individuals_of(assertion)]
    found: set[int] = set()
    while stack:
        for i in about.pop(stack.pop(), ()):
            if i not in found:
                found.add(i)
                stack.extend(individuals_of(assertions[i]))
    return [assertions[i] for i in sorted(found)]


def _without_chunks(items: list[V], size: int, holds: Callable[[list[V]], bool]) -> list[V]:
    kept, start = items, 0
    while start < len(kept):
        shorter = kept[:start] + kept[start + size :]
        if holds(shorter):
            kept = shorter
        else:
            start += size
    return kept
