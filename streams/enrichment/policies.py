"""What goes first where no more entries may be kept (SPEC 001, section 4)."""

from __future__ import annotations

import sys
from typing import Final, get_args

from shiq.cache import Policy
from shiq.errors import UsageError

#: By name: the one not asked for the longest, the oldest, the newest, the one asked for last.
POLICIES: Final[tuple[Policy, ...]] = ("lru", "fifo", "lifo", "mru")
assert {*POLICIES} <= {*get_args(Policy)}


def policy_named(name: str) -> Policy:
    """Raises: UsageError."""
    for policy in POLICIES:
        if policy == name:
            return policy
    raise UsageError(f"unknown policy {name!r}", f"Known are {', '.join(POLICIES)}.")


def capacity_of(value: int | str | None) -> int:
    """How many entries are kept; None and "none": any number. Raises: UsageError."""
    if value is None or value == "none":
        return sys.maxsize
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    raise UsageError(
        f"a capacity of {value!r}", "Say a number of entries from 0, or none for no bound."
    )
