"""HTML page of an evaluation: no script, nothing fetched, plots inline. It is written for readers
who know facts and rules but no logic.

The templates are in `jobs/templates/evaluation`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from shiq.jobs.evaluation.evaluate.plots import (
    Bar,
    BarGroup,
    Plot,
    Series,
    colour_css_class,
    lay_out_bars,
    lay_out_lines,
)
from shiq.jobs.evaluation.evaluate.record import (
    BASE,
    OUTCOMES,
    Comparison,
    Run,
    count_answers,
    default_criterion_note,
    merge_runs,
)
from shiq.jobs.pages import render
from shiq.reasoner.external import INCREMENTAL

# Which runs of an evaluation belong together, and how they are called on its page.


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


def list_questions(runs: Iterable[Run]) -> list[tuple[str, str]]:
    """List the questions that the runs answer, each a pair (data set, batch), in order."""
    return list(dict.fromkeys((r.dataset, r.batch) for r in runs if not r.batch.startswith(BASE)))


def own_runs(runs: Iterable[Run], dataset: str, batch: str) -> list[Run]:
    """Select shiq's runs on one question (data set and batch): those of the local engine, and those
    of another engine whose A_add (base assertions that the check looked at) has another size.
    """
    found = [r for r in runs if r.is_own and r.dataset == dataset and r.batch == batch]
    local = {r.criterion: r.sizes.add_set for r in found if r.engine == "local"}
    return [
        r
        for r in found
        if r.engine == "local" or r.sizes.add_set not in (None, local.get(r.criterion))
    ]


def is_random_batch(run: Run) -> bool:
    """Whether the batch of a run is a random one."""
    return not run.batch.startswith((BASE, "slice")) and (
        run.batch == "5 % random" or run.batch.replace(",", "").isdigit()
    )


def group_by_system(runs: Iterable[Run]) -> list[tuple[str, list[Run]]]:
    """Group the runs that have a verdict by system (shiq or another reasoner), as the data series
    of a plot; of shiq only those of the local engine.
    """
    found: dict[str, list[Run]] = {}
    for run in runs:
        if run.outcome == "answered" and (not run.is_own or run.engine == "local"):
            found.setdefault(
                run.label if not run.is_own else f"ours, {run.criterion_label}", []
            ).append(run)
    return list(found.items())


def system_colour(run: Run) -> int:
    """Colour index of a system (for shiq, of a criterion) in all plots."""
    return COLOUR.get(str(run.criterion if run.is_own else run.system), 7)


def run_tooltip(run: Run) -> str:
    """Tooltip of a run in a plot: times, verdict and memory."""
    what = "step" if run.is_own or run.engine == INCREMENTAL else "all"
    times = f"CPU {run.cost.step_cpu_seconds or 0:.3g} s, wall {run.cost.step_seconds or 0:.3g} s"
    return f"{what}: {times}, {run.verdict}, {run.cost.peak_mb or 0:,.0f} MB"


def colour_legend(shown: Collection[str | None]) -> list[tuple[str, str]]:
    """Legend of the plots for the criteria ``shown``: (CSS class of the colour, meaning)."""
    return [
        (colour_css_class(COLOUR[name]), what) for name, what in CRITERIA.items() if name in shown
    ]


def merge_comparisons(documents: Sequence[Mapping[str, Any]]) -> list[Comparison]:
    """Merge the comparisons of several evaluations: one per question, with the answers of all
    systems.
    """
    found: dict[tuple[str, str], Comparison] = {}
    for document in documents:
        for values in document["comparisons"]:
            question = values["dataset"], values["batch"]
            verdicts, truth, why = values["verdicts"], values["truth"], values["why"]
            if old := found.get(question):
                verdicts = {**old.verdicts, **verdicts}
                truth, why = (truth, why) if truth else (old.truth, old.reason)
            found[question] = Comparison(*question, verdicts, truth, why)
    return list(found.values())


def outcome_text(run: Run) -> str:
    """Text for readers of the page: the verdict of a run, or why it has none."""
    return {
        "limit": "time limit reached",
        "crash": "no answer (crashed)",
        "skipped": "not tried",
        "absent": "not installed",
    }.get(run.outcome, run.verdict)


def verdict_css_class(run: Run) -> str:
    """CSS class that shows a verdict as good, bad or undetermined."""
    if run.is_wrong:
        return "bad"
    return {"undetermined": "dim", "consistent": "good"}.get(run.verdict, "")


def percentage(part: int | None, whole: int | None) -> str:
    """Text of ``part`` as a percentage of ``whole``; "" if one is unknown."""
    return "" if part is None or not whole else f"{100 * part / whole:.2g} %"


def count_text(value: float | None) -> str:
    """Text of a number with thousands separators; "" if unknown."""
    return "" if value is None else f"{value:,.0f}"


#: |A_add| / |A⁺| that the percentages of the published evaluation come to (5 % batches), by family:
#: lowest, highest, remark.
PUBLISHED: Mapping[str, tuple[float, float, str]] = {
    "lubm": (2.4, 4.2, "LUBM"),
    "uobm": (13.0, 13.0, "UOBM, about"),
    "npd": (0.8, 1.0, "NPD without general axioms, about"),
}
PUBLICATION = (
    "Wu and Lécué, Towards Consistency Checking over Evolving Ontologies, CIKM 2014, section 5"
)

_LARGE = "5 %"


def render_evaluation_page(documents: Sequence[Mapping[str, Any]]) -> str:
    """Render the HTML page of one or several evaluations; of two runs on the same question the
    later one counts.
    """
    runs = merge_runs(documents)
    datasets = {d["name"]: d for document in documents for d in document["datasets"]}
    comparisons = merge_comparisons(documents)
    return render(
        "evaluation/page.html",
        **_introduction_values(runs, comparisons),
        data=[
            (d, next((r for r in runs if r.dataset == name and r.batch == BASE), None))
            for name, d in datasets.items()
        ],
        key=colour_legend({r.criterion for r in runs}),
        publication=PUBLICATION,
        published=[f"{what} {_range_text(low, high)}" for low, high, what in PUBLISHED.values()],
        share_plot=_plot_looked_at_share(runs),
        ratio_plot=_plot_looked_at_ratio(runs, datasets),
        batch_plots=_plot_times_by_batch_size(runs),
        size_plot=_plot_times_by_base_size(runs, datasets),
        **_peer_section_values(runs, comparisons, documents),
        runs=[r for r in runs if r.outcome != "absent"],
        outcomes=OUTCOMES,
        measurements=[_describe_measurement(document) for document in documents],
        outcome_text=outcome_text,
        verdict_class=verdict_css_class,
        percentage=percentage,
    )


def _introduction_values(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Values for the page's introduction: the share of the data that shiq looked at on each data
    set, its default criteria, and the numbers of questions and of disagreements between systems.
    """
    own = [
        r
        for r in runs
        if r.is_own
        and default_criterion_note(r)
        and r.engine == "local"
        and r.batch.startswith(_LARGE)
    ]
    return {
        "shares": [
            f"on {r.dataset}, {percentage(r.sizes.add_set, r.sizes.assertions)} of the data"
            for r in own
            if r.sizes.add_set is not None and r.batch == "5 % random"
        ],
        "defaults": list(dict.fromkeys(map(default_criterion_note, own))),
        "number_of_questions": len(comparisons),
        "number_of_disagreements": sum(not c.is_agreed for c in comparisons),
    }


# --- plots ----------------------------------------------------------------------------------------


def _five_percent_batches(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """List the questions (data set, batch) whose batch has 5 % as many triples as the data."""
    return [(dataset, batch) for dataset, batch in list_questions(runs) if batch.startswith(_LARGE)]


def _plot_looked_at_share(runs: Sequence[Run]) -> Plot | None:
    """Bar plot, for the 5 % batches: share of the base that a check looks at, by criterion; None
    without such runs.
    """
    groups = []
    for dataset, batch in _five_percent_batches(runs):
        found = own_runs(runs, dataset, batch)
        amounts = tuple(_looked_at_bar(r, r.sizes.assertions, "%", 100.0) for r in found)
        groups.append(BarGroup(f"{dataset}, batch: {batch}", amounts))
    return lay_out_bars(
        groups, unit="share of the base's facts, %", title="share of the data that is looked at"
    )


def _plot_looked_at_ratio(
    runs: Sequence[Run], datasets: Mapping[str, Mapping[str, Any]]
) -> Plot | None:
    """Bar plot, for the 5 % batches: facts looked at per inserted fact, with the published range;
    None without such runs.
    """
    groups = []
    for dataset, batch in _five_percent_batches(runs):
        title, low, high = f"{dataset}, batch: {batch}", None, None
        family = str(datasets.get(dataset, {}).get("family"))
        if family in PUBLISHED and _has_published_figures(dataset):
            low, high, _ = PUBLISHED[family]
            title += f" (published: {_range_text(low, high)})"
        amounts = tuple(
            _looked_at_bar(r, r.sizes.insertions, "×", 1.0)
            for r in own_runs(runs, dataset, batch)
            if r.criterion != "none"
        )
        groups.append(BarGroup(title, amounts, low, high))
    what = "facts looked at per inserted fact"
    return lay_out_bars(groups, unit=what, title=what, logarithmic=True)


def _range_text(low: float, high: float) -> str:
    """Text of a range of factors, such as "2.4–4.2×" for 2.4 to 4.2."""
    return f"{low:g}×" if low == high else f"{low:g}–{high:g}×"


def _has_published_figures(dataset: str) -> bool:
    """Whether the published evaluation used this data set with the same TBox."""
    return "disjointness" not in dataset and "whole" not in dataset and dataset != "NPD"


def _looked_at_bar(run: Run, per: int | None, unit: str, factor: float) -> Bar:
    """Bar of a run: facts looked at, divided by ``per`` and multiplied by ``factor``."""
    label = run.criterion_label + ("" if run.engine == "local" else f" ({run.engine})")
    colour = COLOUR.get(str(run.criterion), 7)
    if run.sizes.add_set is None or not per:
        return Bar(label, None, "", colour, outcome_text(run))
    value = factor * run.sizes.add_set / per
    shown = f"{value:.3g} %" if unit == "%" else f"{value:.3g}×"
    return Bar(
        label,
        value,
        f"{shown}  ({run.sizes.add_set:,})",
        colour,
        f"{count_text(run.sizes.pulled_in)} pulled in, {count_text(run.sizes.modules)} modules",
    )


def _plot_times_by_batch_size(runs: Sequence[Run]) -> list[tuple[str, Plot]]:
    """Line plot for each data set: CPU seconds by number of insertions, a line for each system."""
    plots = []
    for dataset in dict.fromkeys(r.dataset for r in runs):
        series = []
        for label, found in group_by_system(
            r for r in runs if r.dataset == dataset and is_random_batch(r)
        ):
            points = tuple(
                (float(r.sizes.insertions or 0), r.cost.step_cpu_seconds, run_tooltip(r))
                for r in found
                if r.cost.step_cpu_seconds and r.verdict != "undetermined"
            )
            if len(points) > 1:
                series.append(Series(label, points, system_colour(found[0])))
        drawn = lay_out_lines(
            series,
            x="facts in the batch",
            y="CPU seconds",
            title=f"time by size of the batch, {dataset}",
        )
        if drawn:
            plots.append((dataset, drawn))
    return plots


def _plot_times_by_base_size(
    runs: Sequence[Run], datasets: Mapping[str, Mapping[str, Any]]
) -> Plot | None:
    """Line plot of CPU seconds by size of the base, a line for each benchmark and system; None if
    there is nothing to show.
    """
    series = []
    for family in dict.fromkeys(str(d["family"]) for d in datasets.values()):
        chosen = [
            r
            for r in runs
            if datasets.get(r.dataset, {}).get("family") == family
            and r.batch == "5 % random"
            and r.universities
        ]
        plain = [r for r in chosen if r.dataset == f"{family.upper()}-{r.universities}"]
        for label, found in group_by_system(plain):
            points = tuple(
                (
                    float(r.sizes.assertions or 0),
                    r.cost.step_cpu_seconds,
                    f"{r.dataset}: {run_tooltip(r)}",
                )
                for r in found
                if r.cost.step_cpu_seconds
            )
            if len({x for x, _, _ in points}) > 1:
                series.append(Series(f"{family.upper()}: {label}", points, system_colour(found[0])))
    return lay_out_lines(
        series, x="facts in the base", y="CPU seconds", title="time by size of the base"
    )


def _time_bars_by_batch(runs: Sequence[Run]) -> list[BarGroup]:
    """Bars with the times of all systems, for each 5 % batch that another reasoner was asked about."""
    groups = []
    for dataset, batch in _five_percent_batches(runs):
        found = [
            r
            for r in runs
            if (r.dataset, r.batch) == (dataset, batch)
            and r.outcome != "absent"
            and (not r.is_own or (r.engine == "local" and r.criterion != "none"))
        ]
        if any(not r.is_own for r in found):
            groups.append(BarGroup(f"{dataset}, batch: {batch}", tuple(map(_time_bar, found))))
    return groups


def _time_bar(run: Run) -> Bar:
    """Bar of a run: CPU seconds from batch to answer, and in a faint colour those spent before the
    batch.
    """
    colour = system_colour(run)
    if run.cost.step_cpu_seconds is None or run.outcome != "answered":
        return Bar(run.label, None, "", colour, outcome_text(run))
    before = run.cost.prepare_cpu_seconds or 0.0
    return Bar(
        run.label,
        run.cost.step_cpu_seconds,
        f"{run.cost.step_cpu_seconds:.3g} s, {run.verdict}",
        colour,
        f"before: {before:.3g} s",
        before,
    )


# --- tables ---------------------------------------------------------------------------------------


def _peer_section_values(
    runs: Sequence[Run],
    comparisons: Sequence[Comparison],
    documents: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Values for the page's comparison with other reasoners: times, counts, disagreements,
    failures.
    """
    groups = _time_bars_by_batch(runs)
    unit = "CPU seconds (faint: before the batch is known; full: from the batch to the answer)"
    return {
        "has_peers": bool(groups),
        "peer_plot": lay_out_bars(groups, unit=unit, title="time of each system"),
        "counts": count_answers(comparisons, runs),
        "differing": [c.to_dict() for c in comparisons if not c.is_agreed or c.wrong_systems],
        "failures": [r for r in runs if r.outcome in ("crash", "limit")],
        "absent": {
            r.label if r.is_own else r.system: r.note for r in runs if r.outcome == "absent"
        },
        "not_asked": _unasked_peers(runs, documents),
    }


def _unasked_peers(runs: Sequence[Run], documents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Titles of the reasoners that an evaluation knows but did not ask."""
    asked = {r.system for r in runs}
    return list(
        dict.fromkeys(
            p["title"] for d in documents for p in d.get("peers", ()) if p["name"] not in asked
        )
    )


def _describe_measurement(document: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Date, machine, load and settings of an evaluation, as texts."""
    m, s = document["machine"], document.get("settings", {})
    return (
        str(document.get("made", "")),
        f"{m.get('processor')}, {m.get('cores')} cores, {m.get('memory_mb')} MB, {m.get('system')}",
        str(m.get("load")),
        f"seed {s.get('seed')}, limit {s.get('limit_seconds')} s, heap {s.get('heap')}, reasoner {s.get('reasoner')}",
    )
