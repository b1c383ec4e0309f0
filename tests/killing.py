"""Processes that are killed at some moment of their work."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any


def run_and_kill(
    command: Sequence[str], environment: Mapping[str, str], after: float | None
) -> None:
    """Runs ``command``, which says a line when it is ready and waits for one; kills it so many
    seconds after that it may go, or lets it end (None).
    """
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        child.stdin.write("go\n")
        child.stdin.flush()
        if after is not None:
            time.sleep(after)
            child.send_signal(signal.SIGKILL)
        child.wait()


@contextmanager
def killed_at_last(process: subprocess.Popen[Any]) -> Iterator[subprocess.Popen[Any]]:
    """``process``, which does not outlive the block: a test that fails does not wait for it."""
    with process:
        try:
            yield process
        finally:
            process.kill()
