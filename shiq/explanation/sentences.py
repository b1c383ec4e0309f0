"""Conflicts in plain English."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shiq.explanation.labels import Labels
from shiq.explanation.manchester import manchester

if TYPE_CHECKING:
    from shiq.result import Conflict


def sentence(conflict: Conflict, labels: Labels | None = None) -> str:
    """``conflict`` with its own individuals, for someone who knows no logic."""
    labels = labels or Labels()
    parts = []
    for title, rows in (
        ("Tonight's data says", conflict.insertions),
        ("already known is", conflict.base),
        ("the ontology says", conflict.axioms),
    ):
        if rows:
            parts.append(f"{title}: {'; '.join(manchester(row, labels) for row in rows)}")
    return ". ".join(parts) + ". Together this is impossible."


def general_sentence(conflict: Conflict, labels: Labels) -> str:
    return "; ".join(manchester(row, labels) for row in conflict.axioms) + ": the data contradicts this."
