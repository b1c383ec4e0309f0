"""Time limits of checks, by cooperation and by an alarm.

Long loops look at the clock themselves and end with what they have. For everything else (reading,
counting, saturation, building a question) an alarm raises `DeadlineExceeded` a little later. After
that the interrupted data structures must not be used: a table may be half updated.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Seconds that loops have to end by themselves; then the alarm, and again while something keeps the
#: exception from getting out: Python drops what is raised in a finalizer, or while it collects
#: garbage.
GRACE = 0.7
AGAIN = 0.5


class DeadlineExceeded(BaseException):
    """Signal: the time limit of a check has passed.

    Derives from `BaseException` so that ``except Exception`` cannot swallow it.
    """


def seconds_left(deadline: float | None) -> float | None:
    """Return the seconds until `deadline` (`time.monotonic`), at least 0.01; None without a
    deadline.
    """
    return None if deadline is None else max(0.01, deadline - time.monotonic())


def is_past(deadline: float | None) -> bool:
    """Decide whether a `deadline` (`time.monotonic`) is set and has passed."""
    return deadline is not None and time.monotonic() > deadline


@contextmanager
def interrupt_after(deadline: float | None) -> Iterator[None]:
    """Context manager: raise `DeadlineExceeded` in the body once `deadline` (`time.monotonic`) is
    over.

    Works only in the main thread and while SIGALRM is not used by others. Elsewhere it does
    nothing, and only the loops that look at the clock end in time.
    """
    if deadline is None or not _is_alarm_free():
        yield
        return
    listening = True

    def raise_deadline(*_: object) -> None:
        """Raise `DeadlineExceeded` in the body."""
        if listening:
            raise DeadlineExceeded

    tell = sys.unraisablehook

    def hide_deadline(what: sys.UnraisableHookArgs) -> None:
        """Hide a deadline that is raised where exceptions cannot propagate."""
        if not issubclass(what.exc_type, DeadlineExceeded):
            tell(what)

    before = signal.signal(signal.SIGALRM, raise_deadline)
    sys.unraisablehook = hide_deadline
    signal.setitimer(signal.ITIMER_REAL, max(0.001, deadline + GRACE - time.monotonic()), AGAIN)
    try:
        try:
            yield
        finally:
            listening = False
    finally:
        # Here too where it rang on the way out, before nobody was listening.
        listening = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = tell


def _is_alarm_free() -> bool:
    """Decide whether this thread may set the process's alarm (SIGALRM)."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
    )


# Progress of long computations: the current stage, reported to a listener.
#
# Steps deep inside have no caller to report to, so they report here. Without a listener that costs
# nothing.


#: Called as (stage, done, total); total is 0 where it is not known.
Listener = Callable[[str, int, int], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report_stage(stage: str, done: int = 0, total: int = 0) -> None:
    """Report the progress of a long computation to its listener: ``stage`` is under way, ``done``
    of ``total`` units.
    """
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


@contextmanager
def report_stages_to(listener: Listener | None) -> Iterator[None]:
    """Context manager: pass what `report_stage` reports in the body, in this thread, to
    ``listener``.

    >>> heard = []
    >>> with report_stages_to(lambda *stage: heard.append(stage)):
    ...     report_stage("indexing", 1, 2)
    >>> report_stage("certifying")
    >>> heard
    [('indexing', 1, 2)]
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
