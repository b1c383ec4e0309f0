"""Sources that nothing can read twice (standard input, sockets, drawn events): their lines are kept in a file as they come.

Spark does tasks and batches again, and its own source of sockets forgets what it had read. So a thread of the driver reads the
source, and appends each line to a file beside Spark's checkpoint before Spark knows of it; tasks read that file as any other.
What came is so read again after a death; what was sent while nobody ran is lost, as in one process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import IO

from jobs.files import naming
from jobs.streaming.pieces import whole_lines
from streams.front.sources import Source

_CHUNK = 1 << 20


def is_received(target: str) -> bool:
    """Whether it can be read once only."""
    return target == "-" or target.startswith(("socket://", "rate://"))


@dataclass
class ReceivedLines:
    """The lines of ``source`` at ``path``, appended as they come; ``failed``: why that ended before the source did."""

    source: Source
    path: Path
    failed: BaseException | None = None

    @contextmanager
    def coming(self, follow: bool) -> Iterator[None]:
        """Receives while it is entered."""
        stopped = Event()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab+") as file:
            file.truncate(whole_lines(file, file.seek(0, os.SEEK_END)))
            # Where a run goes on, lines are counted on.
            self.source.position = _lines(file)
            self._file = file
            self._thread = Thread(target=self._receive, args=(file, follow, stopped), daemon=True)
            self._thread.start()
            try:
                yield
            finally:
                stopped.set()

    @property
    def is_over(self) -> bool:
        """Whether all has come. Raises: what ended it."""
        is_over = not self._thread.is_alive()  # asked first: what fails in between is no end
        if self.failed is not None:
            raise self.failed
        return is_over

    def sync(self) -> None:
        """Makes what came durable, before a checkpoint counts on it."""
        with naming(self.path):
            os.fsync(self._file.fileno())

    def _receive(self, file: IO[bytes], follow: bool, stopped: Event) -> None:
        try:
            last = self.source.position
            for record in self.source.read(follow):
                if stopped.is_set():
                    return
                data = record.data if record.event is None else record.whole.encode()
                with naming(self.path):
                    # Blank lines count.
                    file.write(b"\n" * (record.line - last - 1) + data + (b"" if record.problem else b"\n"))
                    file.flush()
                last = record.line
        except BaseException as error:
            self.failed = error


def _lines(file: IO[bytes]) -> int:
    file.seek(0)
    return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b""))
