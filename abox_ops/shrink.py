"""Minimal subsets: the smallest part of a list that still has a monotone property."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

V = TypeVar("V")


def shrink(items: Sequence[V], holds: Callable[[list[V]], bool]) -> list[V]:
    """A minimal sublist of ``items`` with ``holds``, given that ``holds`` is monotone and true of ``items``.

    Removes halves first, then single items: about k·log(n/k) questions for k left of n. Deterministic.

    >>> shrink(list(range(20)), lambda part: {3, 11} <= set(part))
    [3, 11]
    """
    kept = list(items)
    size = len(kept) // 2
    while size > 1:
        kept = _without_chunks(kept, size, holds)
        size = min(size, len(kept)) // 2
    return _without_chunks(kept, 1, holds)


def _without_chunks(items: list[V], size: int, holds: Callable[[list[V]], bool]) -> list[V]:
    kept, start = items, 0
    while start < len(kept):
        shorter = kept[:start] + kept[start + size :]
        if holds(shorter):
            kept = shorter
        else:
            start += size
    return kept
