"""The end of the time that a check may take, wherever it is by then.

Loops that may run for long look at the clock by themselves and end with what they have. For all
that do not (reading, counting, a saturation, a question that is being built) there is an alarm a
little later, which raises `TimeIsOver` in their midst. What was under way is then not to be used
any more: a table may have been half updated.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds that loops have to end by themselves; then the alarm, and again while something keeps the
#: exception from getting out: Python drops what is raised in a finalizer, or while it collects
#: garbage.
GRACE = 0.7
AGAIN = 0.5


class TimeIsOver(BaseException):
    """The time of a check is over. Not an `Exception`: nothing on its way is to take it for a
    fault of what it works on.
    """


def seconds_left(deadline: float | None) -> float | None:
    """Seconds until ``deadline`` (`time.monotonic`), a hundredth at least; None without one."""
    return None if deadline is None else max(0.01, deadline - time.monotonic())


def is_past(deadline: float | None) -> bool:
    """Whether there is a ``deadline`` and it is over."""
    return deadline is not None and time.monotonic() > deadline


@contextmanager
def until(deadline: float | None) -> Iterator[None]:
    """Raises `TimeIsOver` in the body where it goes on after ``deadline`` (`time.monotonic`).
    Only the main thread can be interrupted, and only where nobody else has set SIGALRM;
    elsewhere the loops that look at the clock have to do.
    """
    if deadline is None or not _is_free():
        yield
        return
    listening = True

    def ring(*_: object) -> None:
        if listening:
            raise TimeIsOver

    tell = sys.unraisablehook

    def dropped(what: sys.UnraisableHookArgs) -> None:
        if not issubclass(what.exc_type, TimeIsOver):
            tell(what)

    before = signal.signal(signal.SIGALRM, ring)
    sys.unraisablehook = dropped
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


def _is_free() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
    )
