"""Conflicts with one cause, together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shiq.explanation.labels import Labels
from shiq.explanation.patterns import Pattern, pattern_key, pattern_of

if TYPE_CHECKING:
    from shiq.result import Conflict


@dataclass(frozen=True, slots=True)
class Group:
    """Conflicts with one cause; ``conflicts``: their places in the list that was grouped, ascending."""

    pattern: Pattern
    conflicts: tuple[int, ...]


def group(conflicts: Sequence[Conflict], labels: Labels | None = None) -> tuple[Group, ...]:
    """``conflicts`` by pattern, biggest group first, then as first met. Time is linear in their number: patterns are worked out
    once for conflicts that are equal up to renaming."""
    labels = labels or Labels()
    patterns: dict[Any, Pattern] = {}
    places: dict[Pattern, list[int]] = {}
    for i, conflict in enumerate(conflicts):
        key = pattern_key(conflict)
        pattern = patterns.get(key)
        if pattern is None:
            pattern = patterns[key] = pattern_of(conflict, labels)
        places.setdefault(pattern, []).append(i)
    found = [Group(pattern, tuple(numbers)) for pattern, numbers in places.items()]
    return tuple(sorted(found, key=lambda g: (-len(g.conflicts), g.conflicts[0])))
