"""The command ``shiq evaluate``: runs an evaluation, writes it as JSON and as a page, and prints
a short table.

``python -m shiq.jobs.evaluation.evaluate.command PAGE.html EVALUATION.json…`` makes one page of
evaluations that were written earlier.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shiq.errors import InputError
from shiq.files import write_whole
from shiq.jobs.evaluation.evaluate.page import page
from shiq.jobs.evaluation.evaluate.record import BASE, Run, problems, runs_of, what_users_get
from shiq.jobs.evaluation.evaluate.run import Progress, evaluate
from shiq.jobs.evaluation.evaluate.settings import Settings


def run_command(
    settings: Settings,
    json_file: str | None,
    html_file: str | None,
    earlier: Sequence[str],
    progress: Progress | None = None,
) -> str:
    """Evaluates, writes ``json_file`` and ``html_file`` (after every batch too; None: not), and
    returns the table to print.

    The page shows the ``earlier`` evaluations as well. Raises UsageError, OperationalError.
    """
    before = [read_document(Path(name)) for name in earlier]

    def save(document: dict[str, Any]) -> None:
        if json_file is not None:
            write_whole(Path(json_file), json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        if html_file is not None:
            write_whole(Path(html_file), page([*before, document]))

    found = evaluate(settings, progress, save)
    save(found)
    return table(runs_of([found]), found["comparisons"])


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
        f"{100 * run.add_set / run.assertions:.2f} %"
        if run.add_set is not None and run.assertions
        else ""
    )
    return (
        run.dataset,
        run.batch,
        run.label if run.batch != BASE else run.system,
        "" if run.add_set is None else f"{run.add_set:,}",
        share,
        run.verdict if run.outcome == "answered" else run.outcome,
        *(
            "" if value is None else f"{value:.2f}"
            for value in (run.prepare_cpu_seconds, run.step_cpu_seconds, run.step_seconds)
        ),
        "" if run.peak_mb is None else f"{run.peak_mb:.0f}",
    )


def main(arguments: Sequence[str]) -> int:
    """One page of the evaluations that are named after it; the table of all of them on stdout."""
    target, *names = arguments
    documents = [read_document(Path(name)) for name in names]
    write_whole(Path(target), page(documents))
    print(table(runs_of(documents), [c for document in documents for c in document["comparisons"]]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
