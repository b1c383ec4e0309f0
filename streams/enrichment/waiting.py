"""Signs of life while an event is decided that was not met before."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final

#: Seconds after which a line is written where none was.
SILENT: Final = 8.0


class SilenceNotice:
    """Entered for each event that is decided: has ``tell`` write a line where that, or many of
    them, take ``silent`` seconds; ``before`` is called first, so that rows that are ready do not
    wait.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        before: Callable[[], None] = lambda: None,
        silent: float = SILENT,
    ) -> None:
        self._tell, self.before, self._silent = tell, before, silent
        self._begun: float | None = None
        self._number = 0
        self._told = self._opened = time.monotonic()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        self.before()
        self._number += 1
        self._begun = time.monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._live, daemon=True)
            self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._begun = None

    def _live(self) -> None:
        while not self._closed.wait(self._silent / 8):
            begun, now = self._begun, time.monotonic()
            if begun is not None and now - self._told >= self._silent:
                self._told = now
                self._tell(
                    f"{now - self._opened:6.1f} s  reasoning about structure {self._number:,}, for {now - begun:,.1f} s"
                )

    def close(self) -> None:
        """Ends it; it may be called twice."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
