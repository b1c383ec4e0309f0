"""Progress on stderr: one moving line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

#: Seconds between plain lines of one stage.
QUIET = 5.0
#: Seconds between redraws on a terminal.
REDRAW = 0.1


class ProgressLine:
    """Shows (stage, done, total). ``level``: 0 quiet, 1 normal, 2 verbose (a line for every stage, at once)."""

    def __init__(self, level: int = 1, stream: TextIO | None = None) -> None:
        self._level = level
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._stage = ""
        self._shown = 0.0
        self._started = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        if self._level == 0:
            return
        now = time.monotonic()
        new = stage != self._stage
        if self._terminal:
            if new or now - self._shown >= REDRAW:
                self._shown = now
                self._stream.write(f"\r\x1b[2K{self._bar(done, total)} {stage}")
                self._stream.flush()
        elif (new and self._level > 1) or now - max(self._shown, self._started) >= QUIET:
            self._shown = now
            self._stream.write(f"{now - self._started:6.1f} s  {stage}{_amount(done, total)}\n")
            self._stream.flush()
        self._stage = stage

    def close(self) -> None:
        """Clears the moving line."""
        if self._terminal and self._stage:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
            self._stage = ""

    def _bar(self, done: int, total: int) -> str:
        if not total:
            return f"{done:>12,}" if done else " " * 12
        filled = round(20 * min(done, total) / total)
        return "█" * filled + "░" * (20 - filled) + f" {done:,}/{total:,}"


def _amount(done: int, total: int) -> str:
    return f" {done:,}/{total:,}" if total else f" {done:,}" if done else ""
