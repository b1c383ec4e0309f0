"""Numbers of things, in words."""

from __future__ import annotations


def count(n: int, one: str, many: str = "") -> str:
    """``n`` things: "1 fact", "2 facts"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
