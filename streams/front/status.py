"""What a followed run says of itself while it goes on: one moving line on a terminal, plain
lines elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from streams.front.event import UNITS
from streams.front.lateness import EventClock
from streams.front.rejects import RejectLog

#: Seconds between redraws of a moving line, and between plain lines.
MOVING: Final = 0.5
PLAIN: Final = 10.0
#: Times this far from the clock's, in seconds, are none of it: points that are only counted.
_YEAR: Final = 366 * 24 * 3600
_CLEAR: Final = "\r\x1b[2K"


@dataclass
class Status:
    """``write``: takes text, None where nobody is told; ``is_moving``: on a terminal;
    ``figures``: what is told beside the rate, by name (None: nothing yet); ``records``: how many
    were read.
    """

    write: Callable[[str], object] | None = None
    is_moving: bool = False
    figures: dict[str, Callable[[], int | None]] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    records: int = 0
    _last: tuple[float, int] = (0.0, 0)
    _is_shown: bool = False

    def __post_init__(self) -> None:
        self._last = self.clock(), 0

    def look(self, records: int = 0) -> None:
        """Counts ``records`` more, and tells how things are if that is due."""
        self.records += records
        if self.write is None:
            return
        (then, before), now = self._last, self.clock()
        if now - then < (MOVING if self.is_moving else PLAIN):
            return
        self._last = now, self.records
        told = {name: figure() for name, figure in self.figures.items()}
        text = status_text((self.records - before) / (now - then), told)
        self.write(f"{_CLEAR}{text}" if self.is_moving else f"{text}\n")
        self._is_shown = self.is_moving

    def end(self) -> None:
        """Clears a moving line, so that something else can be printed."""
        if self.write is not None and self._is_shown:
            self.write(_CLEAR)
            self._is_shown = False

    def tell_time(self, clock: EventClock, unit: str, now: Callable[[], float] = time.time) -> None:
        """Tells how far ``clock`` is, and, where its times are those of the day, how far behind
        ``now``.
        """

        def lag() -> int | None:
            if clock.newest is None:
                return None
            seconds = now() - clock.newest * UNITS[unit] / 1_000_000
            return round(seconds) if abs(seconds) < _YEAR else None

        self.figures |= {
            "newest": lambda: clock.newest,
            "lag in seconds": lag,
            "watermark": lambda: clock.watermark,
        }

    def tell_rejects(self, rejects: RejectLog) -> None:
        """Tells how many records were not used."""
        self.figures["rejects"] = lambda: sum(rejects.counts.values())


def status_text(rate: float, figures: Mapping[str, int | None]) -> str:
    """How a run goes, in a line.

    >>> status_text(1234.4, {"newest": 17, "lag in seconds": None, "rejects": 1000})
    '1,234 records/s, newest 17, rejects 1,000'
    """
    times = ("newest", "watermark")
    told = [
        f"{name} {figure if name in times else f'{figure:,}'}"
        for name, figure in figures.items()
        if figure is not None
    ]
    return ", ".join([f"{rate:,.0f} records/s", *told])
