"""Time that is over at a call of a function, and work that is counted: the same on any machine."""

from __future__ import annotations

import itertools
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

import pytest


def before_call(
    patch: pytest.MonkeyPatch, owner: object, name: str, count: int, act: Callable[[], object]
) -> None:
    """Call ``act`` just before the call ``count`` of the function ``name`` of ``owner``."""
    called, original = itertools.count(1), getattr(owner, name)

    def acting(*values: object, **others: object) -> object:
        if next(called) == count:
            act()
        return original(*values, **others)

    patch.setattr(owner, name, acting)


def ring_at_call(patch: pytest.MonkeyPatch, owner: object, name: str, count: int = 1) -> None:
    """The alarm of the time limit rings as the call ``count`` of ``name`` begins."""
    before_call(patch, owner, name, count, lambda: signal.raise_signal(signal.SIGALRM))


def pass_time_at_call(patch: pytest.MonkeyPatch, owner: object, name: str, count: int = 1) -> None:
    """The clock is a day ahead from the call ``count`` of ``name``; no alarm rings."""
    clock = time.monotonic
    before_call(
        patch,
        owner,
        name,
        count,
        lambda: patch.setattr(time, "monotonic", lambda: clock() + 86_400.0),
    )


def calls_of(work: Callable[[], object]) -> int:
    """The Python functions that ``work`` calls: a cost that does not depend on the machine."""
    calls, before = 0, sys.getprofile()

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
