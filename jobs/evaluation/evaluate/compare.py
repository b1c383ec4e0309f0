"""Answers side by side: where systems disagree, and which of them are known to be wrong.

An answer is known to be wrong if it is not the one that follows from how the batch was made, or,
for `consistent`, if a small conflict inside the batch and the base was found and HermiT
confirmed it (consistency is antitone).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.evaluation.evaluate.record import BASE, Run

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
    why: str

    @property
    def decided(self) -> dict[str, str]:
        return {
            label: verdict for label, verdict in self.verdicts.items() if verdict != "undetermined"
        }

    @property
    def is_agreed(self) -> bool:
        return len(set(self.decided.values())) <= 1

    @property
    def wrong(self) -> list[str]:
        """The systems whose answer is known to be wrong."""
        return [
            label for label, verdict in self.decided.items() if self.truth and verdict != self.truth
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "batch": self.batch,
            "agreed": self.is_agreed,
            "verdicts": dict(self.verdicts),
            "truth": self.truth,
            "why": self.why,
            "wrong": self.wrong,
        }


def compare(runs: Sequence[Run], arbiter: Arbiter | None = None) -> list[Comparison]:
    """One comparison per data set and batch that at least one system was asked about."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.batch != BASE and run.outcome not in ("absent", "skipped"):
            groups.setdefault((run.dataset, run.batch), []).append(run)
    return [_compared(dataset, batch, found, arbiter) for (dataset, batch), found in groups.items()]


def _compared(dataset: str, batch: str, runs: Sequence[Run], arbiter: Arbiter | None) -> Comparison:
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
