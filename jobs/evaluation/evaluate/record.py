"""What an evaluation writes down: one record per run, checked against its schema before it is
written.

>>> run = Run("LUBM-1", "shiq", "clausal", "local", "1", outcome="answered", verdict="consistent")
>>> problems({"schema_version": 1, "machine": {}, "runs": [run.to_dict()], "comparisons": [], "batches": [], "datasets": []})
[]
>>> problems({"schema_version": 1, "machine": {}, "runs": [{}], "comparisons": [], "batches": [], "datasets": []})[0]
'runs[0]: dataset is missing'
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

#: Version of the JSON form; it changes when a field changes its meaning or goes.
SCHEMA_VERSION = 1

#: The system that is evaluated; every other one is a peer.
OWN = "shiq"

OUTCOMES = {
    "answered": "a verdict, or a reason why there is none",
    "limit": "stopped at the time limit",
    "crash": "ended without an answer",
    "absent": "not installed",
    "skipped": "not tried: the same system ran into the time limit on the same base, or crashed on the base itself",
}
VERDICTS = ("consistent", "inconsistent", "undetermined")

#: The batch of the runs that build and certify the base itself.
BASE = "base"


@dataclass(frozen=True)
class Run:
    """One question to one system, in a process of its own.

    ``criterion``: of ours, None for peers, and where it was `AUTO`, ``used``: the one that this
    was; ``engine``: of ours, or that of a peer; ``batch``: its name, or `BASE`. ``assertions``:
    |A|; ``insertions``: |A⁺ \\ A|; ``add_set``: |A_add|; ``pulled_in``, ``modules``, ``shapes``:
    see `shiq.result.Statistics`; None where it does not apply or is not known. ``seconds``: wall
    time by stage; ``prepare_seconds``: what is done before a batch is known (index; load and
    first check), ``step_seconds``: from the batch to the answer (for a run from scratch: all of
    it); ``prepare_cpu_seconds``, ``step_cpu_seconds``: the same in CPU time; ``cpu_seconds``:
    user and system, all processes of the run; ``peak_mb``: MiB, the largest resident set among
    them. ``expected``: the verdict that is known from how the data was made, or None; ``note``:
    reason, error or remark.
    """

    dataset: str
    system: str
    criterion: str | None
    engine: str
    batch: str
    assertions: int | None = None
    insertions: int | None = None
    add_set: int | None = None
    pulled_in: int | None = None
    modules: int | None = None
    shapes: int | None = None
    contradictory: int | None = None
    outcome: str = "answered"
    verdict: str = "undetermined"
    expected: str | None = None
    base_verdict: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    prepare_seconds: float | None = None
    step_seconds: float | None = None
    prepare_cpu_seconds: float | None = None
    step_cpu_seconds: float | None = None
    cpu_seconds: float | None = None
    peak_mb: float | None = None
    universities: int | None = None
    note: str = ""
    used: str = ""

    @property
    def is_own(self) -> bool:
        return self.system == OWN

    @property
    def label(self) -> str:
        """The system as a reader tells it from others."""
        return (
            f"{self.system} {self.rule}, {self.engine}"
            if self.is_own
            else f"{self.system}, {self.engine}"
        )

    @property
    def rule(self) -> str:
        """The criterion, and what it was where that was left open."""
        return f"{self.criterion} ({self.used})" if self.used else str(self.criterion)

    def to_dict(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["seconds"] = {stage: round(value, 4) for stage, value in self.seconds.items()}
        for name in (
            "prepare_seconds",
            "step_seconds",
            "prepare_cpu_seconds",
            "step_cpu_seconds",
            "cpu_seconds",
            "peak_mb",
        ):
            if values[name] is not None:
                values[name] = round(values[name], 4)
        return values

    @staticmethod
    def of(values: Mapping[str, Any]) -> Run:
        """The record that ``values`` is the JSON form of; unknown fields are left out."""
        return Run(**{name: values[name] for name in Run.__dataclass_fields__ if name in values})


def what_users_get(run: Run) -> str:
    """What a run measured, in words, if its criterion is the one that a check has unless another
    is named; else "".
    """
    return (
        f"what a check does unless it is told otherwise: the criterion {run.used} here"
        if run.used
        else ""
    )


#: What the JSON of a field is, by the type of the field.
_JSON: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str, type(None)),
    "int | None": (int, type(None)),
    "float | None": (int, float, type(None)),
    "Mapping[str, float]": (dict,),
}
#: Fields that came later: records from before do without.
_LATER = ("contradictory", "base_verdict", "universities", "used")
_REQUIRED = {
    field.name: _JSON[str(field.type)] for field in fields(Run) if field.name not in _LATER
}
_PARTS: dict[str, type] = {
    "machine": dict,
    "datasets": list,
    "batches": list,
    "runs": list,
    "comparisons": list,
}


def problems(document: Mapping[str, Any]) -> list[str]:
    """What in ``document`` is not as the schema has it, each as one sentence; [] if all is well."""
    found = [
        f"{name} is missing, or not a {kind.__name__}"
        for name, kind in _PARTS.items()
        if not isinstance(document.get(name), kind)
    ]
    if document.get("schema_version") != SCHEMA_VERSION:
        found.append(f"schema_version is not {SCHEMA_VERSION}")
    runs = document.get("runs")
    for i, run in enumerate(runs if isinstance(runs, list) else []):
        found += [f"runs[{i}]: {problem}" for problem in _run_problems(run)]
    return found


def _run_problems(run: Mapping[str, Any]) -> list[str]:
    found = []
    for name, kinds in _REQUIRED.items():
        if name not in run:
            found.append(f"{name} is missing")
        elif not isinstance(run[name], kinds) or isinstance(run[name], bool):
            found.append(f"{name} is {run[name]!r}")
    if run.get("outcome") not in OUTCOMES:
        found.append(f"outcome is {run.get('outcome')!r}")
    if run.get("verdict") not in VERDICTS:
        found.append(f"verdict is {run.get('verdict')!r}")
    if run.get("outcome") != "answered" and run.get("verdict") != "undetermined":
        found.append(f"a verdict, but the outcome is {run.get('outcome')!r}")
    return found


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "processor": _first("/proc/cpuinfo", "model name")
        or platform.processor()
        or platform.machine(),
        "cores": os.cpu_count(),
        "memory_mb": _memory_mb(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def _first(path: str, key: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return next(
                (line.split(":", 1)[1].strip() for line in file if line.startswith(key)), ""
            )
    except OSError:
        return ""


def _memory_mb() -> int | None:
    value = _first("/proc/meminfo", "MemTotal").split(" ")[0]
    return int(value) // 1024 if value.isdigit() else None


def runs_of(documents: Sequence[Mapping[str, Any]]) -> list[Run]:
    """The runs of several evaluations, in their order; of two that asked the same, the later one
    counts.
    """
    found: dict[tuple[object, ...], Run] = {}
    for document in documents:
        for values in document["runs"]:
            run = Run.of(values)
            found[(run.dataset, run.system, run.criterion, run.engine, run.batch)] = run
    return list(found.values())
