"""A command, watched from outside: CPU seconds and memory of the driver, of the JVM and of
Spark's Python workers apart.

What the command starts is in its session; every process of that is looked at some times a
second. A share of the CPU time of processes that live shorter is lost. Resident memory is summed
over processes, so that pages that several map count for each: the sum is above what a cgroup
would count. Pages of files that a process maps are the system's to take back; what a process
holds beside them is its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PARTS = ("driver", "jvm", "executors", "workers")
_PAUSE = 0.1
_SIZES = ("VmHWM:", "RssAnon:", "RssShmem:")
_TICK, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


@dataclass
class Watched:
    """How a command ended and what each of `PARTS` used: the driver's Python, its JVM (in which
    tasks run as well, on one machine), JVMs of executors, Python workers. ``peaks`` of resident
    memory and ``own`` of what is no file's, in MiB; ``timeline``: CPU seconds so far, by clock.
    """

    code: int = 0
    out: str = ""
    err: str = ""
    cpu: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    peaks: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    own: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    peak: float = 0.0
    timeline: list[tuple[float, Mapping[str, float]]] = field(default_factory=list)

    @property
    def cpu_seconds(self) -> float:
        return sum(self.cpu.values())

    def cpu_since(self, clock: float) -> dict[str, float]:
        """CPU seconds of each part after ``clock`` (`time.time`)."""
        at = min(bisect_left([seen for seen, _ in self.timeline], clock), len(self.timeline) - 1)
        return {part: self.cpu[part] - self.timeline[at][1][part] for part in PARTS}


@dataclass(frozen=True)
class _Process:
    part: str
    cpu: float
    resident: float
    highest: float
    own: float


def watched(
    command: Sequence[str], limit: float, folder: Path, environment: Mapping[str, str]
) -> Watched:
    """Runs ``command`` for at most ``limit`` seconds; nothing of it outlives the call. The exit
    code is negative if it was stopped.
    """
    folder.mkdir(parents=True, exist_ok=True)
    out, err = folder / "stdout", folder / "stderr"
    found, spent, kinds = Watched(), dict[int, float](), dict[int, str]()
    deadline = time.monotonic() + limit
    with out.open("wb") as to, err.open("wb") as errors:
        run = subprocess.Popen(
            command, stdout=to, stderr=errors, env=dict(environment), start_new_session=True
        )
    try:
        while run.poll() is None and time.monotonic() < deadline:
            _look(found, _session(run.pid), spent, kinds)
            time.sleep(_PAUSE)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        for pid in _session(run.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        found.code = run.wait()
    found.out, found.err = (
        file.read_text(encoding="utf-8", errors="replace") for file in (out, err)
    )
    return found


def _look(
    found: Watched,
    processes: Mapping[int, _Process],
    spent: dict[int, float],
    kinds: dict[int, str],
) -> None:
    resident, own = (dict.fromkeys(PARTS, 0.0) for _ in range(2))
    for pid, process in processes.items():
        spent[pid], kinds[pid] = max(spent.get(pid, 0.0), process.cpu), process.part
        resident[process.part] += process.resident
        own[process.part] += process.own
        if process.part in ("driver", "jvm"):
            found.peaks[process.part] = max(found.peaks[process.part], process.highest)
    for part in ("executors", "workers"):
        found.peaks[part] = max(found.peaks[part], resident[part])
    found.own = {part: max(found.own[part], own[part]) for part in PARTS}
    found.peak = max(found.peak, sum(resident.values()))
    found.cpu = dict.fromkeys(PARTS, 0.0)
    for pid, seconds in spent.items():
        found.cpu[kinds[pid]] += seconds
    found.timeline.append((time.time(), found.cpu))


def _session(leader: int) -> dict[int, _Process]:
    """The processes of the session, by pid."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError, IndexError):
            stat = (
                Path("/proc", name, "stat")
                .read_text(encoding="utf-8", errors="replace")
                .rpartition(")")[2]
                .split()
            )
            if int(stat[3]) == leader and stat[0] != "Z":
                status = Path("/proc", name, "status").read_text(encoding="utf-8", errors="replace")
                sizes = {
                    line.split()[0]: float(line.split()[1]) / 1024
                    for line in status.splitlines()
                    if line.startswith(_SIZES)
                }
                words = Path("/proc", name, "cmdline").read_text(encoding="utf-8", errors="replace")
                if not words:  # it is about to end
                    continue
                part = "driver" if int(name) == leader else _part(words)
                cpu = (int(stat[11]) + int(stat[12])) / _TICK
                found[int(name)] = _Process(
                    part,
                    cpu,
                    int(stat[21]) * _PAGE / 2**20,
                    sizes.get("VmHWM:", 0.0),
                    sizes.get("RssAnon:", 0.0) + sizes.get("RssShmem:", 0.0),
                )
    return found


def _part(words: str) -> str:
    if "CoarseGrainedExecutorBackend" in words:
        return "executors"
    return "workers" if "pyspark" in words and "SparkSubmit" not in words else "jvm"
