"""HTML pages of a store's history: trends, causes over time, and a page for each run.

Templates are in `jobs/templates/history`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from shiq.errors import OperationalError
from shiq.files import write_atomically
from shiq.jobs.history import (
    MOST_CAUSES,
    MOST_NAMES,
    ComparedRow,
    HistoryCause,
    HistoryRow,
    batch_name,
    cause_changes,
)
from shiq.support import pluralize

#: Runs that get a page of their own, the newest.
MOST_PAGES: Final = 1000
#: Runs in the strip of a cause, the newest.
MOST_IN_STRIP: Final = 60


def write_pages(store: str, rows: Sequence[ComparedRow], folder: Path) -> Path:
    """Write the history of a store as HTML pages into ``folder``: `index.html`, and a page for each
    run.

    Returns: the first page. Raises: OperationalError.
    """
    # Loaded where pages are written.
    from shiq.jobs.pages import render

    shown = list(rows)[-MOST_PAGES:]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OperationalError(
            f"{folder}: cannot be written ({error.strerror})", "Name another folder."
        ) from error
    first = folder / "index.html"
    if first.exists() and b"<title>History of " not in first.read_bytes():
        raise OperationalError(
            f"{first}: not a page of a history, so it is not replaced", "Name another folder."
        )
    titles = {cause.id: cause.title for x in rows for cause in x.row.causes}
    common = {
        "store": store,
        "titles": titles,
        "batch_name": batch_name,
        "tone": answer_tone,
        "time": time_text,
    }
    for i, x in enumerate(shown):
        near = {
            "before": shown[i - 1] if i else None,
            "after": shown[i + 1] if i + 1 < len(shown) else None,
        }
        write_atomically(
            folder / page_name(x),
            render("history/run.html", run=x, page=page_name, **near, **common),
        )
    page = render(
        "history/index.html",
        rows=shown[::-1],
        left_out=len(rows) - len(shown),
        page=page_name,
        changes=cause_changes,
        trends=_trend_charts(shown),
        causes=_cause_rows(shown),
        steps=_next_steps(store, shown),
        **common,
    )
    write_atomically(first, page)
    return first


def page_name(row: ComparedRow) -> str:
    """File name of the page of a run."""
    return f"run-{row.row.id}.html"


def time_text(made: str) -> str:
    """Format the time of a run for people, to the minute.

    >>> time_text("2030-01-01T02:00:07Z")
    '2030-01-01 02:00'
    """
    return made[:16].replace("T", " ")


def answer_tone(row: HistoryRow) -> str:
    """Colour class of a run's answer: good, bad or open."""
    if row.decision:
        return {"accepted": "good", "split": "open"}.get(row.decision, "bad")
    return {"consistent": "good", "inconsistent": "bad"}.get(row.verdict, "open")


def _trend_charts(rows: Sequence[ComparedRow]) -> list[dict[str, Any]]:
    """Values for bar charts over the runs: title, unit, and for each run the value and its height
    in percent of the largest.
    """
    measures = (
        ("Conflicts", "", [float(x.row.counts["conflicts"]) for x in rows]),
        (
            "Looked at, of data and batch",
            "%",
            [_share_looked_at(x.row) for x in rows],
        ),
        ("Seconds", "s", [x.row.seconds for x in rows]),
    )
    return [
        {
            "title": title,
            "unit": unit,
            "most": most,
            "bars": [(x, value, 100 * value / (most or 1.0)) for x, value in zip(rows, values)],
        }
        for title, unit, values in measures
        for most in (max(values, default=0.0),)
    ]


def _share_looked_at(row: HistoryRow) -> float:
    """Share of base and batch that a run read, in percent."""
    there = row.counts["assertions"] + row.counts["inserted"]
    return 100 * row.counts["looked_at"] / max(1, there)


def _cause_rows(rows: Sequence[ComparedRow]) -> list[dict[str, Any]]:
    """Values for the list of causes, the latest first: the runs in which each occurred, and its
    present state.
    """
    met: dict[str, list[tuple[HistoryRow, HistoryCause]]] = {}
    for x in rows:
        for cause in x.row.causes:
            met.setdefault(cause.id, []).append((x.row, cause))
    last = rows[-1].row if rows else None
    found = []
    for key, runs in met.items():
        (first, _), (latest, cause) = runs[0], runs[-1]
        counts = {row.id: met_there.count for row, met_there in runs}
        found.append(
            {
                "id": key,
                "runs": len(runs),
                "first": first.made,
                "last": latest.made,
                "state": "gone" if latest is not last else cause.effect or "open",
                "strip": [(x.row, counts.get(x.row.id, 0)) for x in rows[-MOST_IN_STRIP:]],
            }
        )
    return sorted(found, key=lambda x: (x["last"], x["runs"]), reverse=True)[:MOST_CAUSES]


def _next_steps(store: str, rows: Sequence[ComparedRow]) -> list[str]:
    """Recommend what to do after the last run, as sentences with commands."""
    if not rows:
        return [shlex.join(["shiq", "check", "--store", store, "--insert", "tonight.nt"])]
    last, x = rows[-1], rows[-1].row
    batch = f"--store {shlex.quote(store)} {_batch_options(x)}"
    call = f"shiq check {batch}"
    if x.decision and x.counts["set_aside"]:
        aside = f"{pluralize(x.counts['set_aside'], 'line')} of {batch_name(x)}"
        return [f"See why {aside} went to the quarantine, mend them, and gate them again."]
    if x.decision == "accepted":
        known = [f"{cause.title} ({cause.effect})" for cause in x.causes if cause.effect]
        return [f"Nothing now. Does not block: {'; '.join(known[:5])}."] if known else []
    if x.counts["conflicts"]:
        new = pluralize(len(last.new), "cause") + " that the run before did not have"
        parts = "--mode split --accepted good.nt --quarantine aside.nq --commit"
        return [
            f"Look at the conflicts{f' ({new})' if last.new else ''}: {call} --report tonight/",
            *(
                []
                if x.changes_from
                else [f"Take what contradicts nothing: shiq gate {batch} {parts}"]
            ),
        ]
    if x.verdict != "consistent":
        return [f"See why: {call} -v"]
    return [] if x.committed or x.decision else [f"Take the batch in: {call} --commit"]


def _batch_options(row: HistoryRow) -> str:
    """Command-line options that name the batch of a row; BATCH stands for names that were not
    recorded.
    """
    if max(len(row.insertions_from), len(row.deletions_from)) >= MOST_NAMES:
        return "--insert BATCH"
    names = [word for name in row.insertions_from for word in ("--insert", name)]
    names += [word for name in row.deletions_from for word in ("--delete", name)]
    names += ["--changes", row.changes_from] if row.changes_from else []
    return shlex.join(names) or "--insert BATCH"
