"""Efforts of elements one by one (THEORY, "How much is asked, and how far I grows")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shiq.abox_ops.patch import effort as bounds
from shiq.abox_ops.patch.effort import Effort

NO_EFFORT = Effort()


def greatest(one: Effort, other: Effort) -> Effort:
    """The greater value of each field of two efforts."""
    return Effort(
        max(one.turns, other.turns),
        max(one.elements, other.elements),
        one.is_closed or other.is_closed,
        max(one.depth, other.depth),
    )


def without_depth(effort: Effort) -> Effort:
    """The effort of an element that enters I by told literals over a role assertion of this one."""
    return replace(effort, depth=0)


def one_deeper(effort: Effort) -> Effort:
    """The effort of an element that enters I by a border rule over a role assertion of this one."""
    return replace(effort, depth=effort.depth + 1)


def widened_effort(before: Iterable[Effort], size: int) -> Effort:
    """The effort of a module with ``size`` elements after it failed and was widened. ``before``: the
    efforts of its elements.
    """
    known = NO_EFFORT
    for effort in before:
        known = greatest(known, effort)
    return bounds.next_effort(known.turns, known.elements, size)
