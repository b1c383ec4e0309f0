"""Run a command or a worker of shiq in a process of its own, and measure its time, CPU time and
memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiq.errors import OperationalError
from shiq.jobs.evaluation.evaluate import meter as evaluate_meter

_TAIL = 4000


@dataclass(frozen=True)
class MeterReading:
    """Result of a measured command: exit code, output, wall and CPU seconds, and peak memory in MB."""

    code: int
    is_expired: bool
    stdout: str
    stderr: str
    wall_seconds: float
    cpu_seconds: float
    peak_mb: float

    def error_summary(self) -> str:
        """Exit code and the most telling line of the output, for a note about a failed command."""
        lines = [line.strip() for line in (self.stderr or self.stdout).splitlines() if line.strip()]
        telling = [
            line for line in lines if "Exception" in line or "Error" in line or "error" in line
        ]
        said = (telling or lines or [""])[0 if telling else -1][:300]
        return f"exit code {self.code}" + (f": {said}" if said else "")


def worker_python_path() -> str:
    """PYTHONPATH for a worker process, with this copy of shiq first."""
    return os.pathsep.join(
        [str(Path(__file__).resolve().parents[3]), os.environ.get("PYTHONPATH", "")]
    ).rstrip(os.pathsep)


def run_metered(
    command: Sequence[str], limit: float, folder: Path, environment: Mapping[str, str] | None = None
) -> MeterReading:
    """Run a command for at most ``limit`` seconds, with its output in files of ``folder``.

    No process that it starts outlives the call.
    """
    folder.mkdir(parents=True, exist_ok=True)
    report, out, err = (folder / name for name in ("meter.json", "stdout", "stderr"))
    report.unlink(missing_ok=True)
    meter = [
        sys.executable,
        "-I",
        str(evaluate_meter.__file__),
        str(report),
        str(limit),
        str(out),
        str(err),
        *command,
    ]
    # The pipe is how the meter notices that this process is gone.
    with subprocess.Popen(
        meter,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    ) as run:
        try:
            assert run.stderr is not None
            trouble = run.stderr.read()
            run.wait()
        except BaseException:
            assert run.stdin is not None
            run.stdin.close()
            run.wait()
            raise
    if not report.exists():
        raise OperationalError(
            f"{command[0]} could not be run: {trouble.decode('utf-8', 'replace').strip()[-300:]}",
            "Is it there?",
        )
    found = json.loads(report.read_text(encoding="utf-8"))
    return MeterReading(stdout=_read_text(out), stderr=_read_text(err)[-_TAIL:], **found)


def run_worker(
    module: str,
    task: Mapping[str, Any],
    limit: float,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> tuple[MeterReading, Any]:
    """Run ``python -m module TASK.json ANSWER.json`` in a process of its own, with ``task`` as the
    content of the first file. Returns the resources used, and the JSON of the second file (None if
    there is none).
    """
    folder.mkdir(parents=True, exist_ok=True)
    given, answer = folder / "task.json", folder / "answer.json"
    answer.unlink(missing_ok=True)
    given.write_text(json.dumps(task), encoding="utf-8")
    program = [sys.executable, "-m", module, str(given), str(answer)]
    used = run_metered(
        program, limit, folder, {**(environment or os.environ), "PYTHONPATH": worker_python_path()}
    )
    is_answered = not used.is_expired and not used.code and answer.exists()
    return used, json.loads(answer.read_text(encoding="utf-8")) if is_answered else None


def _read_text(path: Path) -> str:
    """Read a text file; "" if it does not exist."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
