"""Which events come too late, or are too far ahead to be believed; judged event by event, in
order of source and line.
"""

from __future__ import annotations

from dataclasses import dataclass

from streams.front.rejects import AHEAD, LATE


@dataclass
class EventClock:
    """The newest time that was accepted, and what it lets in: t from newest - ``lateness`` to
    newest + ``max_ahead``. Where the lateness is None nothing is late: a finite source may be
    read in any order.

    >>> clock = EventClock(lateness=2, max_ahead=100)
    >>> [clock.judge(t) for t in (10, 8, 7, 200, 11)], clock.newest, clock.watermark
    (['', '', 'late', 'ahead', ''], 11, 9)
    """

    lateness: int | None = 0
    max_ahead: int = 100_000
    newest: int | None = None

    def judge(self, t: int) -> str:
        """The kind of reject that an event at ``t`` is now, "" if it is accepted, and time goes
        on to it. The first always is.
        """
        if self.newest is None:
            self.newest = t
        elif self.lateness is not None and t < self.newest - self.lateness:
            return LATE
        elif t > self.newest + self.max_ahead:
            return AHEAD
        else:
            self.newest = max(self.newest, t)
        return ""

    @property
    def watermark(self) -> int | None:
        """Nothing before this time is accepted any more; None while that may be anything."""
        return None if self.newest is None or self.lateness is None else self.newest - self.lateness

    def said(self, t: int, kind: str) -> str:
        """Why an event at ``t`` was not accepted, as a sentence."""
        if kind == LATE:
            return (
                f"t = {t} is before {self.watermark}: the newest was {self.newest}, "
                f"and the lateness allowed is {self.lateness}"
            )
        return (
            f"t = {t} is more than {self.max_ahead:,} after the newest, {self.newest} (--max-ahead)"
        )
