"""What an evaluation of benchmark data writes down: one record per run; read again, compared, and
as a table.

>>> run = Run("LUBM-1", "shiq", "clausal", "local", "1", outcome="answered", verdict="consistent")
>>> problems({"schema_version": 1, "machine": {}, "runs": [run.to_dict()], "comparisons": [], "batches": [], "datasets": []})
[]
>>> problems({"schema_version": 1, "machine": {}, "runs": [{}], "comparisons": [], "batches": [], "datasets": []})[0]
"runs/0: 'dataset' is a required property"
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from shiq.errors import InputError
from shiq.jobs.reports.write import schema_problems

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
class RunSizes:
    """Sizes of a question and of the part that is looked at; None for what does not apply or is
    unknown.
    """

    assertions: int | None = None
    insertions: int | None = None
    add_set: int | None = None
    pulled_in: int | None = None
    modules: int | None = None
    shapes: int | None = None
    contradictory: int | None = None


@dataclass(frozen=True)
class RunCost:
    """Cost of a run.

    seconds: wall time by stage
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    prepare_seconds: float | None = None
    step_seconds: float | None = None
    prepare_cpu_seconds: float | None = None
    step_cpu_seconds: float | None = None
    cpu_seconds: float | None = None
    peak_mb: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures with four digits after the point."""
        figures = {
            name: value if value is None else round(value, 4)
            for name, value in vars(self).items()
            if name != "seconds"
        }
        return {
            "seconds": {stage: round(value, 4) for stage, value in self.seconds.items()},
            **figures,
        }


@dataclass(frozen=True)
class Run:
    """One question to one system, in a process of its own; in JSON ``sizes`` and ``cost`` are its
    own fields.

    ``criterion``: of ours, None for peers, and where it was `AUTO`, ``used``: the one that this
    was; ``engine``: of ours, or that of a peer; ``batch``: its name, or `BASE`. ``expected``: the
    verdict that is known from how the data was made, or None; ``note``: reason, error or remark.
    """

    dataset: str
    system: str
    criterion: str | None
    engine: str
    batch: str
    sizes: RunSizes = RunSizes()
    cost: RunCost = RunCost()
    outcome: str = "answered"
    verdict: str = "undetermined"
    expected: str | None = None
    base_verdict: str | None = None
    universities: int | None = None
    note: str = ""
    used: str = ""

    @property
    def is_own(self) -> bool:
        """Is the system this program, rather than a peer?"""
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
    def is_wrong(self) -> bool:
        """Whether the verdict is not the one that is known from how the data was made."""
        return bool(self.expected) and self.verdict not in (self.expected, "undetermined")

    @property
    def rule(self) -> str:
        """The criterion, and what it was where that was left open."""
        return f"{self.criterion} ({self.used})" if self.used else str(self.criterion)

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON."""
        own = {name: value for name, value in vars(self).items() if name not in _PARTS}
        return {**own, **vars(self.sizes), **self.cost.to_dict()}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Run:
        """The record that ``values`` is the JSON form of; unknown fields are left out."""
        own, sizes, cost = (
            {field.name: values[field.name] for field in fields(part) if field.name in values}
            for part in (Run, RunSizes, RunCost)
        )
        return Run(**own, sizes=RunSizes(**sizes), cost=RunCost(**cost))


def what_users_get(run: Run) -> str:
    """Note that a run's criterion is the default of a check; empty for other runs."""
    return (
        f"what a check does unless it is told otherwise: the criterion {run.used} here"
        if run.used
        else ""
    )


#: The JSON types of a field, by its type in Python.
_JSON: dict[str, list[str]] = {
    "str": ["string"],
    "str | None": ["string", "null"],
    "int | None": ["integer", "null"],
    "float | None": ["number", "null"],
    "Mapping[str, float]": ["object"],
}
#: Fields of a run whose own fields stand beside the others in JSON.
_PARTS = ("sizes", "cost")
#: Fields that came later: records from before do without.
_LATER = ("contradictory", "base_verdict", "universities", "used")
_REQUIRED = [
    field
    for part in (Run, RunSizes, RunCost)
    for field in fields(part)
    if field.name not in (*_LATER, *_PARTS)
]
_RUN_SCHEMA: dict[str, Any] = {
    "required": [field.name for field in _REQUIRED],
    "properties": {
        **{field.name: {"type": _JSON[str(field.type)]} for field in _REQUIRED},
        "outcome": {"enum": list(OUTCOMES)},
        "verdict": {"enum": list(VERDICTS)},
    },
    # Without an answer there is no verdict.
    "if": {"properties": {"outcome": {"enum": [o for o in OUTCOMES if o != "answered"]}}},
    "then": {"properties": {"verdict": {"const": "undetermined"}}},
}
#: The JSON Schema of an evaluation.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["schema_version", "machine", "datasets", "batches", "runs", "comparisons"],
    "properties": {
        "schema_version": {"const": SCHEMA_VERSION},
        "machine": {"type": "object"},
        "datasets": {"type": "array"},
        "batches": {"type": "array"},
        "runs": {"type": "array", "items": {"type": "object", **_RUN_SCHEMA}},
        "comparisons": {"type": "array"},
    },
}


def problems(document: object) -> list[str]:
    """Return what keeps ``document`` from fitting `SCHEMA`, each as one sentence."""
    return schema_problems(document, SCHEMA)


def runs_of(documents: Sequence[Mapping[str, Any]]) -> list[Run]:
    """The runs of several evaluations, in their order; of two that asked the same, the later one
    counts.
    """
    found: dict[tuple[object, ...], Run] = {}
    for document in documents:
        for values in document["runs"]:
            run = Run.from_dict(values)
            found[(run.dataset, run.system, run.criterion, run.engine, run.batch)] = run
    return list(found.values())


# Answers side by side: where systems disagree, and which of them are known to be wrong.
#
# An answer is known to be wrong if it is not the one that follows from how the batch was made, or,
# for `consistent`, if a small conflict inside the batch and the base was found and HermiT
# confirmed it (consistency is antitone).


#: Called with a data set and a batch: whether a conflict in it was confirmed, and what there is to
#: say.
Arbiter = Callable[[str, str], tuple[bool, str]]


@dataclass(frozen=True)
class Comparison:
    """The answers to one question. ``truth``: the verdict that is known to be right, or None;
    ``why`` it is known.
    """

    dataset: str
    batch: str
    verdicts: dict[str, str]
    truth: str | None
    reason: str

    @property
    def decided_verdicts(self) -> dict[str, str]:
        """Verdicts of the systems that decided, by system."""
        return {
            label: verdict for label, verdict in self.verdicts.items() if verdict != "undetermined"
        }

    @property
    def is_agreed(self) -> bool:
        """Do all systems that decided agree?"""
        return len(set(self.decided_verdicts.values())) <= 1

    @property
    def wrong(self) -> list[str]:
        """The systems whose answer is known to be wrong."""
        return [
            label
            for label, verdict in self.decided_verdicts.items()
            if self.truth and verdict != self.truth
        ]

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON."""
        return {
            "dataset": self.dataset,
            "batch": self.batch,
            "agreed": self.is_agreed,
            "verdicts": dict(self.verdicts),
            "truth": self.truth,
            "why": self.reason,
            "wrong": self.wrong,
        }


def compare(runs: Sequence[Run], arbiter: Arbiter | None = None) -> list[Comparison]:
    """One comparison per data set and batch that at least one system was asked about."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.batch != BASE and run.outcome not in ("absent", "skipped"):
            groups.setdefault((run.dataset, run.batch), []).append(run)
    return [
        _compare_answers(dataset, batch, found, arbiter)
        for (dataset, batch), found in groups.items()
    ]


def _compare_answers(
    dataset: str, batch: str, runs: Sequence[Run], arbiter: Arbiter | None
) -> Comparison:
    verdicts = {run.label: run.verdict for run in runs}
    expected = next((run.expected for run in runs if run.expected), None)
    if expected:
        return Comparison(dataset, batch, verdicts, expected, "known from how the batch was made")
    found = Comparison(dataset, batch, verdicts, None, "")
    own_refutes = any(run.is_own and run.verdict == "inconsistent" for run in runs)
    if found.is_agreed or not own_refutes or arbiter is None:
        return found
    confirmed, why = arbiter(dataset, batch)
    return Comparison(dataset, batch, verdicts, "inconsistent" if confirmed else None, why)


def wrong_counts(
    comparisons: Iterable[Comparison], runs: Iterable[Run]
) -> dict[str, dict[str, int]]:
    """Counts of each system: questions asked, answered, known to be answered wrongly; runs that
    crashed or ran into the limit.
    """
    counts: dict[str, dict[str, int]] = {}
    for run in runs:
        if run.batch == BASE:
            continue
        row = counts.setdefault(
            run.label,
            dict.fromkeys(("asked", "answered", "wrong", "crash", "limit", "absent", "skipped"), 0),
        )
        row["asked"] += 1
        row["answered"] += run.verdict != "undetermined"
        if run.outcome in row and run.outcome != "answered":
            row[run.outcome] += 1
    for comparison in comparisons:
        for label in comparison.wrong:
            counts[label]["wrong"] += 1
    return counts


def read_document(path: Path) -> dict[str, Any]:
    """An evaluation that was written earlier. Raises InputError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}", "Name a file that `shiq evaluate` wrote.") from error
    wrong = problems(document)
    if wrong:
        raise InputError(
            f"{path} is not an evaluation: {wrong[0]}", "Name a file that `shiq evaluate` wrote."
        )
    return dict(document)


def table(runs: Sequence[Run], comparisons: Sequence[dict[str, Any]]) -> str:
    """The runs as lines of text, and what there is to say about disagreements."""
    head = (
        "data",
        "batch",
        "system",
        "looked at",
        "of base",
        "answer",
        "before CPU s",
        "step CPU s",
        "step wall s",
        "MB",
    )
    rows = [head, *(_row(run) for run in runs if run.outcome != "absent")]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    used = dict.fromkeys(
        f"{run.criterion} is {what_users_get(run)}" for run in runs if what_users_get(run)
    )
    lines += used
    absent = dict.fromkeys(
        (run.label if run.is_own else run.system, run.note)
        for run in runs
        if run.outcome == "absent"
    )
    lines += [f"not installed: {name}: {note}" for name, note in absent]
    lines += [
        f"{run.dataset}, {run.batch}: {row[2]}: {row[5]}: {run.note}"
        for run, row in zip((run for run in runs if run.outcome != "absent"), rows[1:], strict=True)
        if run.note and run.verdict == "undetermined"
    ]
    disagreed = [c for c in comparisons if not c["agreed"] or c["wrong"]]
    lines.append(
        f"{len(comparisons)} questions compared, {len(disagreed)} with different or wrong answers"
    )
    for c in disagreed:
        said = "; ".join(
            f"{label}: {verdict}"
            for label, verdict in c["verdicts"].items()
            if verdict != "undetermined"
        )
        right = (
            f"right: {c['truth']} ({c['why']})"
            if c["truth"]
            else f"not settled {c['why']}".rstrip()
        )
        lines.append(f"  {c['dataset']}, {c['batch']}: {said}; {right}")
    return "\n".join(lines)


def _row(run: Run) -> tuple[str, ...]:
    share = (
        f"{100 * run.sizes.add_set / run.sizes.assertions:.2f} %"
        if run.sizes.add_set is not None and run.sizes.assertions
        else ""
    )
    return (
        run.dataset,
        run.batch,
        run.label if run.batch != BASE else run.system,
        "" if run.sizes.add_set is None else f"{run.sizes.add_set:,}",
        share,
        run.verdict if run.outcome == "answered" else run.outcome,
        *(
            "" if value is None else f"{value:.2f}"
            for value in (
                run.cost.prepare_cpu_seconds,
                run.cost.step_cpu_seconds,
                run.cost.step_seconds,
            )
        ),
        "" if run.cost.peak_mb is None else f"{run.cost.peak_mb:.0f}",
    )
