"""An evaluation as one HTML page: no script, nothing fetched, plots inline. For readers who know
what facts and rules are.

Whatever comes from data (names, notes, reasons) is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.evaluation.evaluate.compare import wrong_counts
from jobs.evaluation.evaluate.pieces import (
    COLOUR,
    colour_of,
    comparison_of,
    counted,
    decimal,
    is_random,
    key_of,
    merged,
    numbers,
    outcome_text,
    own_runs,
    percentage,
    questions,
    saying,
    seconds_cell,
    series_of,
    table_of,
    texts,
    tip_of,
    verdict_cell,
)
from jobs.evaluation.evaluate.plots import STYLE as PLOTS
from jobs.evaluation.evaluate.plots import Bar, BarGroup, Series, bars, lines
from jobs.evaluation.evaluate.record import BASE, OUTCOMES, Run, runs_of, what_users_get
from jobs.pages import escaped, framed

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
_STYLE = """
main{max-width:940px;padding-bottom:3rem} h1{font-size:1.7em;margin-bottom:.2em}
h2{font-size:1.25em;margin-top:2.2em;border-top:1px solid var(--line);padding-top:.8em} .lead{font-size:1.08em}
table{width:auto;font-size:.88em;margin:.8em 0} th,td{padding:.25em .6em} th{vertical-align:bottom}
td:first-child,.scroll td{white-space:nowrap} .bad{font-weight:600}
.entry{white-space:nowrap;margin-right:1em}
.key{display:inline-block;width:.9em;height:.9em;margin-right:.35em;vertical-align:-.1em;border-radius:2px}
summary{font-weight:600;margin-top:1em} dt{font-weight:600} dd{margin:0 0 .5em 1.2em}
"""


def page(documents: Sequence[Mapping[str, Any]]) -> str:
    """The page for one evaluation, or for several together (of two runs that asked the same, the
    later one counts).
    """
    runs = runs_of(documents)
    datasets = {d["name"]: d for document in documents for d in document["datasets"]}
    comparisons = merged(documents)
    parts = [
        "<h1>How much must a consistency check look at?</h1>",
        _introduction(runs, comparisons),
        _data(datasets, runs),
        _amplification(runs, datasets),
        _by_batch(runs),
        _by_size(runs, datasets),
        _peers(runs, comparisons, documents),
        _all_runs(runs),
        _method(documents),
    ]
    return framed(
        "Consistency checks compared", f"<main>{''.join(parts)}</main>", style=PLOTS + _STYLE
    )


# --- sections -------------------------------------------------------------------------------------


def _introduction(runs: Sequence[Run], comparisons: Sequence[Mapping[str, Any]]) -> str:
    own = [
        r
        for r in runs
        if r.is_own and what_users_get(r) and r.engine == "local" and r.batch.startswith(_LARGE)
    ]
    said = [
        f"on {r.dataset}, {percentage(r.add_set, r.assertions)} of the data"
        for r in own
        if r.add_set is not None and r.batch == "5 % random"
    ]
    disagreed = [c for c in comparisons if not c["agreed"]]
    text = (
        '<p class="lead">A knowledge base holds <em>facts</em> (Ann teaches Logic) and <em>rules</em> (whoever teaches is a '
        "person; nothing is both a person and a course). A <em>batch</em> of new facts arrives: do they contradict the facts and "
        "rules that are there already? Looking at all the facts again would always answer that. This page measures how small a "
        "part suffices, how long the "
        "answer takes, and how other reasoners do on the same questions.</p>"
    )
    if said:
        text += f"<p>To check a random batch of 5 % of the data, our default method looked at: {escaped('; '.join(said))}.</p>"
    for what in dict.fromkeys(map(what_users_get, own)):
        text += f"<p><em>auto</em> is {escaped(what)}. The other methods are there to compare.</p>"
    asked = len(comparisons)
    verdict = (
        "all systems that answered agreed"
        if not disagreed
        else f"in {len(disagreed)} the answers differed"
    )
    return text + (
        f"<p>{asked} questions were put to more than one method or system; {verdict}.</p>"
        if asked
        else ""
    )


def _data(datasets: Mapping[str, Mapping[str, Any]], runs: Sequence[Run]) -> str:
    rows = []
    for name, dataset in datasets.items():
        base = next((r for r in runs if r.dataset == name and r.batch == BASE), None)
        rows.append(
            [
                escaped(name),
                escaped(dataset["about"]),
                counted(base.assertions) if base else "",
                verdict_cell(base) if base else "",
                seconds_cell(base.prepare_seconds) if base else "",
                decimal(base.cpu_seconds) if base else "",
                counted(base.peak_mb) if base else "",
            ]
        )
    columns = texts("data", "what it is") + numbers("facts") + texts("by itself")
    columns += numbers("index and certify, s", "CPU s", "peak MB")
    return (
        "<h2>The data</h2><p>Before any batch, each base is indexed and certified: its facts must not contradict the rules.</p>"
        + table_of(columns, rows)
    )


def _amplification(runs: Sequence[Run], datasets: Mapping[str, Mapping[str, Any]]) -> str:
    share, ratio = [], []
    for dataset, batch in questions(runs):
        if not batch.startswith(_LARGE):
            continue
        found = own_runs(runs, dataset, batch)
        title = f"{dataset}, batch: {batch}"
        share.append(BarGroup(title, tuple(_amplified(r, r.assertions, "%", 100.0) for r in found)))
        published = (
            PUBLISHED.get(str(datasets.get(dataset, {}).get("family")))
            if _has_published(dataset)
            else None
        )
        low, high = published[:2] if published else (None, None)
        if published:
            title += f" (published: {_range(low, high)})"
        ratio.append(
            BarGroup(
                title,
                tuple(
                    _amplified(r, r.insertions, "×", 1.0) for r in found if r.criterion != "none"
                ),
                low,
                high,
            )
        )
    first = bars(
        share, unit="share of the base's facts, %", title="share of the data that is looked at"
    )
    second = bars(
        ratio,
        unit="facts looked at per inserted fact",
        title="facts looked at per inserted fact",
        logarithmic=True,
    )
    if not first:
        return ""
    numbers = "; ".join(f"{what} {_range(low, high)}" for low, high, what in PUBLISHED.values())
    return (
        "<h2>How much is looked at</h2>"
        "<p>A method picks the old facts that could matter to the batch, and leaves out the rest with a proof that it cannot. "
        "Batches of 5 % of the data: a random one has half of its facts about individuals never heard of before. What is looked "
        "at includes the batch, so that looking at everything may be more than 100 %.</p>"
        f"<p class='note'>{key_of({r.criterion for r in runs})}</p>{first}"
        "<p>The same as a ratio: how many facts are looked at for each inserted one. 1 is the least that is possible for a batch "
        "of which every fact matters; facts that follow already need not be looked at. The yellow band is what the published "
        f"evaluation reports ({escaped(PUBLICATION)}), as a ratio to the batch, computed from its percentages: "
        f"{escaped(numbers)}. Its batches and data are not the same as ours, and its method is <em>definition7</em>.</p>"
        + second
    )


def _range(low: float | None, high: float | None) -> str:
    return f"{low:g}×" if low == high else f"{low:g}–{high:g}×"


def _has_published(dataset: str) -> bool:
    """Whether the published evaluation has this data, with this TBox."""
    return "disjointness" not in dataset and "whole" not in dataset and dataset != "NPD"


def _amplified(run: Run, per: int | None, unit: str, factor: float) -> Bar:
    label = run.rule + ("" if run.engine == "local" else f" ({run.engine})")
    colour = COLOUR.get(str(run.criterion), 7)
    if run.add_set is None or not per:
        return Bar(label, None, "", colour, outcome_text(run))
    value = factor * run.add_set / per
    shown = f"{value:.3g} %" if unit == "%" else f"{value:.3g}×"
    return Bar(
        label,
        value,
        f"{shown}  ({run.add_set:,})",
        colour,
        f"{counted(run.pulled_in)} pulled in, {counted(run.modules)} modules",
    )


def _by_batch(runs: Sequence[Run]) -> str:
    plots = []
    for dataset in dict.fromkeys(r.dataset for r in runs):
        series = []
        for label, found in series_of(r for r in runs if r.dataset == dataset and is_random(r)):
            points = tuple(
                (float(r.insertions or 0), r.step_cpu_seconds, tip_of(r))
                for r in found
                if r.step_cpu_seconds and r.verdict != "undetermined"
            )
            if len(points) > 1:
                series.append(Series(label, points, colour_of(found[0])))
        drawn = lines(
            series,
            x="facts in the batch",
            y="CPU seconds",
            title=f"time by size of the batch, {dataset}",
        )
        if drawn:
            plots.append(f"<h3>{escaped(dataset)}</h3>{drawn}")
    if not plots:
        return ""
    return (
        "<h2>Time by size of the batch</h2>"
        "<p>From the batch to the answer, in processor time, which other work on the machine disturbs least. Ours is a process "
        "that starts from nothing, opens the index, reads the batch and decides. A system called <em>incremental</em> is a "
        "running process that has loaded and checked the base; only its step is counted here. One called <em>from scratch</em> "
        "loads and checks everything.</p>" + "".join(plots)
    )


def _by_size(runs: Sequence[Run], datasets: Mapping[str, Mapping[str, Any]]) -> str:
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
        for label, found in series_of(plain):
            points = tuple(
                (float(r.assertions or 0), r.step_cpu_seconds, f"{r.dataset}: {tip_of(r)}")
                for r in found
                if r.step_cpu_seconds
            )
            if len({x for x, _, _ in points}) > 1:
                series.append(Series(f"{family.upper()}: {label}", points, colour_of(found[0])))
    drawn = lines(series, x="facts in the base", y="CPU seconds", title="time by size of the base")
    return (
        f"<h2>Time by size of the base</h2><p>Random batches of 5 %, from the batch to the answer.</p>{drawn}"
        if drawn
        else ""
    )


def _peers(
    runs: Sequence[Run],
    comparisons: Sequence[Mapping[str, Any]],
    documents: Sequence[Mapping[str, Any]],
) -> str:
    absent = {r.label if r.is_own else r.system: r.note for r in runs if r.outcome == "absent"}
    groups = []
    for dataset, batch in questions(runs):
        if not batch.startswith(_LARGE):
            continue
        found = [
            r for r in runs if r.dataset == dataset and r.batch == batch and r.outcome != "absent"
        ]
        found = [
            r for r in found if not r.is_own or (r.engine == "local" and r.criterion != "none")
        ]
        if any(not r.is_own for r in found):
            groups.append(BarGroup(f"{dataset}, batch: {batch}", tuple(map(_timed, found))))
    drawn = bars(
        groups,
        unit="CPU seconds (faint: before the batch is known; full: from the batch to the answer)",
        title="time of each system",
    )
    counts = wrong_counts([comparison_of(c) for c in comparisons], runs)
    columns = texts("system") + numbers(
        "asked", "answered", "known wrong", "crashed", "time limit", "not tried"
    )
    rows = []
    for label, row in counts.items():
        if row["absent"]:
            continue
        wrong = f"<span class='bad'>{row['wrong']}</span>" if row["wrong"] else "0"
        rows.append(
            [
                escaped(label),
                *(counted(row[k]) for k in ("asked", "answered")),
                wrong,
                *(counted(row[k]) for k in ("crash", "limit", "skipped")),
            ]
        )
    text = "<h2>Beside other reasoners</h2>"
    if groups:
        text += (
            "<p>Each system got the same files, one after the other, on the same machine; Konclude uses two threads. The faint "
            "part can be done before the batch is known: our index, or an incremental reasoner's load and first check.</p>"
            + drawn
        )
    text += "<p>Whether the answers are right is counted too. An answer is known to be wrong if the batch was made to have "
    text += (
        "another one, or if a few facts and rules of it that contradict each other were found and confirmed.</p>"
        + table_of(columns, rows)
    )
    disagreed = [c for c in comparisons if not c["agreed"] or c["wrong"]]
    if disagreed:
        text += "<h3>Where the answers differ</h3>" + table_of(
            texts("data", "batch", "consistent", "inconsistent", "right"),
            [
                [
                    escaped(c["dataset"]),
                    escaped(c["batch"]),
                    *(saying(c, verdict) for verdict in ("consistent", "inconsistent")),
                    escaped(
                        f"{c['truth']}: {c['why']}"
                        if c["truth"]
                        else f"not settled{': ' + c['why'] if c['why'] else ''}"
                    ),
                ]
                for c in disagreed
            ],
        )
    failed = [r for r in runs if r.outcome in ("crash", "limit")]
    if failed:
        text += "<h3>Runs without an answer</h3>" + table_of(
            texts("data", "batch", "system", "what happened"),
            [
                [
                    escaped(r.dataset),
                    escaped(r.batch),
                    escaped(r.label),
                    escaped(f"{r.outcome}: {r.note}"),
                ]
                for r in failed
            ],
        )
    if absent:
        text += (
            "<h3>Not installed</h3><ul>"
            + "".join(f"<li>{escaped(n)}: {escaped(why)}</li>" for n, why in absent.items())
            + "</ul>"
        )
    not_asked = _not_asked(runs, documents)
    if not_asked:
        text += f"<p class='note'>Not asked for in this evaluation: {escaped(', '.join(not_asked))}.</p>"
    return text


def _not_asked(runs: Sequence[Run], documents: Sequence[Mapping[str, Any]]) -> list[str]:
    asked = {r.system for r in runs}
    return list(
        dict.fromkeys(
            p["title"] for d in documents for p in d.get("peers", ()) if p["name"] not in asked
        )
    )


def _timed(run: Run) -> Bar:
    colour = colour_of(run)
    if run.step_cpu_seconds is None or run.outcome != "answered":
        return Bar(run.label, None, "", colour, outcome_text(run))
    before = run.prepare_cpu_seconds or 0.0
    return Bar(
        run.label,
        run.step_cpu_seconds,
        f"{run.step_cpu_seconds:.3g} s, {run.verdict}",
        colour,
        f"before: {before:.3g} s",
        before,
    )


def _all_runs(runs: Sequence[Run]) -> str:
    columns = texts("data", "batch", "system")
    columns += numbers(
        "facts", "inserted", "looked at", "of base", "pulled in", "modules", "shapes"
    ) + texts("answer")
    columns += numbers("before, CPU s", "step, CPU s", "step, wall s", "CPU s in all", "peak MB")
    rows = [
        [
            escaped(r.dataset),
            escaped(r.batch),
            escaped(r.label),
            *map(counted, (r.assertions, r.insertions, r.add_set)),
            percentage(r.add_set, r.assertions) if r.add_set is not None else "",
            *map(counted, (r.pulled_in, r.modules, r.shapes)),
            verdict_cell(r),
            seconds_cell(r.prepare_cpu_seconds),
            seconds_cell(r.step_cpu_seconds),
            seconds_cell(r.step_seconds),
            decimal(r.cpu_seconds),
            counted(r.peak_mb),
        ]
        for r in runs
        if r.outcome != "absent"
    ]
    outcomes = "".join(
        f"<dt>{escaped(name)}</dt><dd>{escaped(what)}</dd>"
        for name, what in OUTCOMES.items()
        if name != "answered"
    )
    return (
        f"<h2>Every run</h2><details><summary>{len(rows)} runs</summary><div class='scroll'>{table_of(columns, rows)}</div>"
        "<p class='note'>CPU seconds and the peak of memory are of the whole run: for peers, loading and the first check too.</p>"
        f"<dl class='note'>{outcomes}</dl></details>"
    )


def _method(documents: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for document in documents:
        m, s = document["machine"], document.get("settings", {})
        rows.append(
            [
                escaped(str(document.get("made", ""))),
                escaped(
                    f"{m.get('processor')}, {m.get('cores')} cores, {m.get('memory_mb')} MB, {m.get('system')}"
                ),
                escaped(str(m.get("load"))),
                escaped(
                    f"seed {s.get('seed')}, limit {s.get('limit_seconds')} s, heap {s.get('heap')}, reasoner {s.get('reasoner')}"
                ),
            ]
        )
    return (
        "<h2>How it was measured</h2><ul><li>One process for each run, one at a time; CPU seconds and memory are those of that "
        "process and whatever it started. Wall times on a shared machine are noisy: read the ratios.</li>"
        "<li>A random batch draws facts of the data evenly; half of them get a fresh individual as subject, the others any "
        "individual of the data; a fact that links two individuals gets any individual as object. So such a batch may "
        "contradict the rules.</li>"
        "<li>A slice is a part of the data itself, inserted into the rest of it.</li>"
        "<li>Ours is timed until the verdict is there and conflicts are counted; they are not explained.</li>"
        "<li>What was not understood or not decided is never counted as consistent: the answer is then “undetermined”.</li></ul>"
        + table_of(texts("made", "machine", "load", "settings"), rows)
    )
