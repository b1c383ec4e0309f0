"""Which step of a long computation is under way, for whoever shows it.

Steps deep inside have no caller to report to; they name themselves here. Without a listener that
costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Called as (stage, done, total); total is 0 where it is not known.
Listener = Callable[[str, int, int], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def enter_stage(stage: str, done: int = 0, total: int = 0) -> None:
    """Report that ``stage`` is under way, with ``done`` of ``total``."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


@contextmanager
def report_stages_to(listener: Listener | None) -> Iterator[None]:
    """Report the stages of the body, in this thread, to ``listener``.

    >>> heard = []
    >>> with report_stages_to(lambda *stage: heard.append(stage)):
    ...     enter_stage("indexing", 1, 2)
    >>> enter_stage("certifying")
    >>> heard
    [('indexing', 1, 2)]
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
