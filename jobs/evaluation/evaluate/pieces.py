"""Cells, tables and keys of the page of an evaluation; which runs belong together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.evaluation.evaluate.compare import Comparison as _Comparison
from jobs.evaluation.evaluate.plots import colour_class
from jobs.evaluation.evaluate.record import BASE, Run
from jobs.pages import escaped
from shiq.reasoner.installed import INCREMENTAL

CRITERIA = {
    "auto": "auto: what users get",
    "model": "model: ours, with the model of the base",
    "clausal": "clausal: ours, without a model",
    "definition7": "definition7: as published",
    "none": "none: look at everything",
}
COLOUR = {
    "auto": 0,
    "model": 0,
    "clausal": 6,
    "definition7": 1,
    "none": 7,
    "konclude": 2,
    "hermit": 3,
    "openllet": 4,
    "pellet": 5,
}


@dataclass(frozen=True)
class Column:
    """A column of a table: heading, and whether its cells are numbers."""

    title: str
    number: bool = False


def texts(*titles: str) -> list[Column]:
    return [Column(title) for title in titles]


def numbers(*titles: str) -> list[Column]:
    return [Column(title, True) for title in titles]


def questions(runs: Iterable[Run]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((r.dataset, r.batch) for r in runs if not r.batch.startswith(BASE)))


def own_runs(runs: Iterable[Run], dataset: str, batch: str) -> list[Run]:
    """Our runs on one question; an engine other than local only where it differs (all engines
    keep the same).
    """
    found = [r for r in runs if r.is_own and r.dataset == dataset and r.batch == batch]
    local = {r.criterion: r.add_set for r in found if r.engine == "local"}
    return [
        r for r in found if r.engine == "local" or r.add_set not in (None, local.get(r.criterion))
    ]


def is_random(run: Run) -> bool:
    return not run.batch.startswith((BASE, "slice")) and (
        run.batch == "5 % random" or run.batch.replace(",", "").isdigit()
    )


def series_of(runs: Iterable[Run]) -> list[tuple[str, list[Run]]]:
    """Runs by system; of ours, those of the engine local."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        if run.outcome == "answered" and (not run.is_own or run.engine == "local"):
            found.setdefault(run.label if not run.is_own else f"ours, {run.rule}", []).append(run)
    return list(found.items())


def colour_of(run: Run) -> int:
    return COLOUR.get(str(run.criterion if run.is_own else run.system), 7)


def tip_of(run: Run) -> str:
    what = "step" if run.is_own or run.engine == INCREMENTAL else "all"
    times = f"CPU {run.step_cpu_seconds or 0:.3g} s, wall {run.step_seconds or 0:.3g} s"
    return f"{what}: {times}, {run.verdict}, {run.peak_mb or 0:,.0f} MB"


def key_of(shown: Collection[str | None]) -> str:
    return "".join(
        f"<span class='entry'><span class='key {colour_class(COLOUR[name])}'></span>{escaped(what)}</span> "
        for name, what in CRITERIA.items()
        if name in shown
    )


def comparison_of(values: Mapping[str, Any]) -> _Comparison:
    return _Comparison(
        values["dataset"], values["batch"], values["verdicts"], values["truth"], values["why"]
    )


def merged(documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The comparisons of several evaluations: the answers to one question together."""
    found: dict[tuple[str, str], _Comparison] = {}
    for document in documents:
        for new in map(comparison_of, document["comparisons"]):
            old = found.get((new.dataset, new.batch))
            if old is not None:
                truth, why = (new.truth, new.why) if new.truth else (old.truth, old.why)
                new = _Comparison(
                    new.dataset, new.batch, {**old.verdicts, **new.verdicts}, truth, why
                )
            found[(new.dataset, new.batch)] = new
    return [comparison.to_dict() for comparison in found.values()]


def saying(comparison: Mapping[str, Any], verdict: str) -> str:
    labels = [label for label, said in comparison["verdicts"].items() if said == verdict]
    return (
        ", ".join(
            f"<span class='bad'>{escaped(x)}</span>" if x in comparison["wrong"] else escaped(x)
            for x in labels
        )
        or "–"
    )


def outcome_text(run: Run) -> str:
    return {
        "limit": "time limit reached",
        "crash": "no answer (crashed)",
        "skipped": "not tried",
        "absent": "not installed",
    }.get(run.outcome, run.verdict)


def verdict_cell(run: Run) -> str:
    if run.outcome != "answered":
        return f"<span class='bad' title='{escaped(run.note)}'>{escaped(outcome_text(run))}</span>"
    wrong = run.expected and run.verdict not in (run.expected, "undetermined")
    css = (
        "bad"
        if wrong
        else "dim"
        if run.verdict == "undetermined"
        else "good"
        if run.verdict == "consistent"
        else ""
    )
    return f"<span class='{css}' title='{escaped(run.note)}'>{escaped(run.verdict)}{' (wrong)' if wrong else ''}</span>"


def table_of(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th{' class=n' if c.number else ''}>{escaped(c.title)}</th>" for c in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{' class=n' if c.number else ''}>{cell}</td>"
            for c, cell in zip(columns, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def counted(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def decimal(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def seconds_cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def percentage(part: int | None, whole: int | None) -> str:
    return "" if part is None or not whole else f"{100 * part / whole:.2g} %"
