"""Progress on stderr: one moving line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

#: Seconds between plain lines of one stage.
LINE_SECONDS = 5.0
#: Seconds between redraws on a terminal.
REDRAW_SECONDS = 0.1
#: Seconds after which a stage that reports nothing is shown again with the time: in plain lines,
#: and on a terminal.
SILENT_SECONDS = 8.0
TICK_SECONDS = 1.0


class ProgressLine:
    """Progress display, called with (stage, done, total). ``level``: 0 quiet, 1 normal, 2 verbose."""

    def __init__(
        self, level: int = 1, stream: TextIO | None = None, silent: float | None = None
    ) -> None:
        self._level = level
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._stage = ""
        self._hidden = False
        self._shown = 0.0
        self._started = time.monotonic()
        self._amounts: dict[str, tuple[int, int, int]] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._silent = (
            (TICK_SECONDS if self._terminal else SILENT_SECONDS) if silent is None else silent
        )
        if level:
            threading.Thread(target=self._keep_moving, daemon=True).start()

    def __call__(self, stage: str, done: int, total: int) -> None:
        if self._level == 0:
            return
        with self._lock:
            now = time.monotonic()
            new = stage not in self._amounts  # stages may take turns many times a second
            self._stage, self._hidden = stage, False
            done, total = self._add_up(stage, done, total)
            if self._terminal:
                if new or now - self._shown >= REDRAW_SECONDS:
                    self._draw_line(now)
            elif (new and self._level > 1) or now - max(self._shown, self._started) >= LINE_SECONDS:
                self._draw_line(now)

    def clear(self) -> None:
        """Clear the moving line, so that other text can be printed."""
        with self._lock:
            if self._terminal and self._stage:
                self._stream.write("\r\x1b[2K")
                self._stream.flush()
                self._hidden = True

    def close(self) -> None:
        """End the progress line."""
        self._closed.set()
        self.clear()

    def _add_up(self, stage: str, done: int, total: int) -> tuple[int, int]:
        """Sum up the progress of ``stage``, which may begin several times. Returns (done, total)."""
        before, last, of = self._amounts.get(stage, (0, 0, 0))
        if done < last:
            before += of or last
        self._amounts[stage] = before, done, total
        return before + done, before + total if total else 0

    def _keep_moving(self) -> None:
        """Thread: redraw the progress line while no progress is reported."""
        while not self._closed.wait(self._silent / 4):
            with self._lock:
                now = time.monotonic()
                if (
                    not self._closed.is_set()
                    and not self._hidden
                    and now - max(self._shown, self._started) >= self._silent
                ):
                    self._draw_line(now)

    def _draw_line(self, now: float) -> None:
        """Redraw the progress line; if the output is no terminal, print a new line."""
        self._shown = now
        before, done, total = self._amounts.get(self._stage, (0, 0, 0))
        done, total = before + done, before + total if total else 0
        stage = self._stage or "working"
        if self._terminal:
            self._stream.write(
                f"\r\x1b[2K{self._bar_text(done, total)} {stage} {now - self._started:,.0f} s"
            )
        else:
            self._stream.write(
                f"{now - self._started:6.1f} s  {stage}{_amount_text(done, total)}\n"
            )
        self._stream.flush()

    def _bar_text(self, done: int, total: int) -> str:
        """Text of a progress bar with amounts."""
        if not total:
            return f"{done:>12,}" if done else " " * 12
        filled = round(20 * min(done, total) / total)
        return "█" * filled + "░" * (20 - filled) + _amount_text(done, total)


def _amount_text(done: int, total: int) -> str:
    """Text of the amount done, with its share of the total."""
    share = f" ({100 * min(done, total) // total} %)" if total else ""
    return f" {done:,}/{total:,}{share}" if total else f" {done:,}" if done else ""
