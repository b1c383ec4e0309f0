"""Run a command with a time limit, and report the time and memory that it and its descendants used.

``python -I meter.py REPORT SECONDS STDOUT STDERR COMMAND…`` (standard library only, so that this
process stays small: Linux counts the memory of whoever starts a program into the program's
peak).

The report is JSON: code (of the command; negative for a signal), is_expired, wall_seconds,
cpu_seconds (user and system, of all descendants), peak_mb (the largest resident set of one of
them). Nothing is left running: at the limit, at a signal, at the end of this process's standard
input, and when the command ends, whatever it started is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time

_SUBREAPER = 36
_GRACE_SECONDS = 5.0


def main(arguments: list[str]) -> int:
    """Run a command in a session of its own with a time limit, and write the resources it used to a
    file.
    """
    report, limit, out, err, *command = arguments
    _adopt_orphans()
    told_to_end: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: told_to_end.append(received))
    began = time.monotonic()
    opened = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, out, opened, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, err, opened, 0o600),
    ]
    used = _ResourceUse()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions, setsid=True)
    code, expired = _wait_for_command(child, began + float(limit), used, told_to_end)
    wall = time.monotonic() - began
    _reap_orphans(used, 0.0 if expired else _GRACE_SECONDS)
    found = {
        "code": code,
        "is_expired": expired,
        "wall_seconds": wall,
        "cpu_seconds": used.cpu_seconds,
        "peak_mb": used.peak_kb / 1024,
    }
    with open(report, "w", encoding="utf-8") as file:
        json.dump(found, file)
    return 0


class _ResourceUse:
    """Resources used by ended processes: total CPU seconds, and the largest resident set in kB."""

    cpu_seconds = 0.0
    peak_kb = 0

    def add_usage(self, usage: object) -> None:
        """Add the CPU time and memory of an ended process, as ``os.wait4`` gives them."""
        self.cpu_seconds += usage.ru_utime + usage.ru_stime  # type: ignore[attr-defined]
        self.peak_kb = max(self.peak_kb, usage.ru_maxrss)  # type: ignore[attr-defined]


def _adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants, so that it can count and end them."""
    with contextlib.suppress(AttributeError, OSError):  # not Linux: orphans are not counted
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _wait_for_command(
    child: int, deadline: float, used: _ResourceUse, told_to_end: list[int]
) -> tuple[int, bool]:
    """Wait for the process ``child``, the measured command, until ``deadline``. Returns its exit
    code, and whether it was killed at the deadline.

    It is killed at the deadline, by a signal to this process, or when standard input ends.
    """
    expired = False
    pause = 0.001
    listening = [0]
    while True:
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if pid:
            used.add_usage(usage)
            if pid == child:
                return os.waitstatus_to_exitcode(status), expired
            continue
        left = deadline - time.monotonic()
        gone = bool(
            select.select(listening, [], [], max(0.0, min(pause, left)))[0]
        ) and not os.read(0, 1)
        pause = min(pause * 1.5, 0.05)
        if (left <= 0 or gone or told_to_end) and not expired:
            expired = True
            deadline = time.monotonic() + 3600
            listening = []
            _kill_session(child)


def _kill_session(leader: int) -> None:
    """Kill all processes of the session whose leader has the process id ``leader``."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _reap_orphans(used: _ResourceUse, grace: float) -> None:
    """Wait for orphaned descendants, and kill them after ``grace`` seconds."""
    deadline = time.monotonic() + grace
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid:
            used.add_usage(usage)
        elif time.monotonic() >= deadline:
            for orphan in _child_pids():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(orphan, signal.SIGKILL)
            time.sleep(0.02)
        else:
            time.sleep(0.02)


def _child_pids() -> list[int]:
    """Process ids of this process's children."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            if parent == os.getpid():
                found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
