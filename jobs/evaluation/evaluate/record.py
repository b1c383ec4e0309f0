"""Records of an evaluation of benchmark data: one per run; reading, comparing and listing them.

>>> run = Run("LUBM-1", "shiq", "clausal", "local", "1", outcome="answered", verdict="consistent")
>>> parts = {"machine": {}, "comparisons": [], "batches": [], "datasets": []}
>>> schema_problems({"schema_version": 1, "runs": [run.to_dict()], **parts}, SCHEMA)
[]
>>> schema_problems({"schema_version": 1, "runs": [{}], **parts}, SCHEMA)[0]
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
class CheckSizes:
    """Sizes of a check, as numbers of assertions; None if they do not apply or are unknown.

    assertions, insertions: in the base and in the batch
    add_set: base assertions that the check looked at (A_add)
    pulled_in: individuals looked at that the batch does not mention
    modules, shapes: parts that the check decided, and different ones among them
    contradictory: modules that contradict
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
    """Time and memory of a run.

    seconds: wall time by stage
    prepare_…: before the batch is known; step_…: from the batch to the answer
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    prepare_seconds: float | None = None
    step_seconds: float | None = None
    prepare_cpu_seconds: float | None = None
    step_cpu_seconds: float | None = None
    cpu_seconds: float | None = None
    peak_mb: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON value, with figures rounded to four digits after the point."""
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
    """Record of one question (data set and batch) put to one system in a process of its own.

    criterion: that of shiq, None for other reasoners; used: the one that `AUTO` chose
    engine: that of shiq, or the kind of the other reasoner
    batch: its name, or `BASE` for building the base
    expected: verdict that is known from how the data was generated, or None
    note: reason, error or remark
    In JSON the fields of ``sizes`` and ``cost`` stand beside the others.
    """

    dataset: str
    system: str
    criterion: str | None
    engine: str
    batch: str
    sizes: CheckSizes = CheckSizes()
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
        """Whether the system of the run is shiq, not another reasoner."""
        return self.system == OWN

    @property
    def label(self) -> str:
        """Name of the system with engine, and with criterion if it is shiq."""
        return (
            f"{self.system} {self.criterion_label}, {self.engine}"
            if self.is_own
            else f"{self.system}, {self.engine}"
        )

    @property
    def is_wrong(self) -> bool:
        """Whether the verdict contradicts the right one, known from how the data was generated."""
        return bool(self.expected) and self.verdict not in (self.expected, "undetermined")

    @property
    def criterion_label(self) -> str:
        """Name of the run's criterion; if it was `AUTO`, with the criterion that this chose in
        brackets.
        """
        return f"{self.criterion} ({self.used})" if self.used else str(self.criterion)

    def to_dict(self) -> dict[str, Any]:
        """JSON value of the run."""
        own = {name: value for name, value in vars(self).items() if name not in _PARTS}
        return {**own, **vars(self.sizes), **self.cost.to_dict()}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Run:
        """Parse the JSON of a run; unknown fields are ignored."""
        own, sizes, cost = (
            {field.name: values[field.name] for field in fields(part) if field.name in values}
            for part in (Run, CheckSizes, RunCost)
        )
        return Run(**own, sizes=CheckSizes(**sizes), cost=RunCost(**cost))


def default_criterion_note(run: Run) -> str:
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
    for part in (Run, CheckSizes, RunCost)
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


def merge_runs(documents: Sequence[Mapping[str, Any]]) -> list[Run]:
    """Merge the runs of several evaluations in their order; of two on the same question the later
    one counts.
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
    """Verdicts of all systems on one question.

    truth: verdict that is known to be right, or None; reason: why it is known
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
        """Whether all systems with a decided verdict agree."""
        return len(set(self.decided_verdicts.values())) <= 1

    @property
    def wrong_systems(self) -> list[str]:
        """Systems whose verdict is known to be wrong."""
        return [
            label
            for label, verdict in self.decided_verdicts.items()
            if self.truth and verdict != self.truth
        ]

    def to_dict(self) -> dict[str, Any]:
        """JSON value of the comparison."""
        return {
            "dataset": self.dataset,
            "batch": self.batch,
            "agreed": self.is_agreed,
            "verdicts": dict(self.verdicts),
            "truth": self.truth,
            "why": self.reason,
            "wrong": self.wrong_systems,
        }


def compare_runs(runs: Sequence[Run], arbiter: Arbiter | None = None) -> list[Comparison]:
    """Compare the verdicts on each question (data set and batch) that was put to a system.
    ``arbiter``: decides a disagreement.

    arbiter: called for disagreements without a known verdict
    """
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
    """Compare the verdicts of all systems on one question; if they differ and none is known to be
    right, ask the arbiter (another reasoner).
    """
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


def count_answers(
    comparisons: Iterable[Comparison], runs: Iterable[Run]
) -> dict[str, dict[str, int]]:
    """Count for each system: questions asked, answered and answered wrongly, and failed runs by
    kind of failure.
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
        for label in comparison.wrong_systems:
            counts[label]["wrong"] += 1
    return counts


def read_evaluation(path: Path) -> dict[str, Any]:
    """Read the JSON document of an evaluation. Raises: InputError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}", "Name a file that `shiq evaluate` wrote.") from error
    if wrong := schema_problems(document, SCHEMA):
        raise InputError(
            f"{path} is not an evaluation: {wrong[0]}", "Name a file that `shiq evaluate` wrote."
        )
    return dict(document)


def format_table(runs: Sequence[Run], comparisons: Sequence[dict[str, Any]]) -> str:
    """Format runs as a text table, followed by remarks about failures and disagreements."""
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
    rows = [head, *(_table_row(run) for run in runs if run.outcome != "absent")]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    used = dict.fromkeys(
        f"{run.criterion} is {default_criterion_note(run)}"
        for run in runs
        if default_criterion_note(run)
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


def _table_row(run: Run) -> tuple[str, ...]:
    """Cells of a run in the text table."""
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
