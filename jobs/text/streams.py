"""Streams: how they are watched, and what was found in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shiq.jobs.text.results import SHOWN, leftovers_text, safe, seconds_text
from shiq.streams.consistency.plan import StreamPlan
from shiq.streams.consistency.verdicts import StreamResult
from shiq.streams.front.operator import StreamAnswer
from shiq.support import pluralize


def plan_text(plan: StreamPlan, *, verbose: bool = False) -> str:
    """What `shiq stream plan` prints."""
    sizes = " / ".join(str(len(group)) for group in plan.groups) or "none"
    lines = [
        f"inclusions   {len(plan.positive):,} positive, {len(plan.negative):,} negative, {len(plan.horn):,} Horn rules",
        f"closure      {plan.closure:,}; {pluralize(len(plan.roots), 'root')}, {pluralize(plan.lanes, 'lane')} of 64",
        f"groups       {sizes} ({plan.grouping})",
    ]
    for number, bolt in enumerate(plan.bolts, 1):
        lines.append(
            f"bolt {number:<8}{pluralize(bolt.groups, 'group')}: {pluralize(bolt.conjunctions, 'conjunction')}, "
            f"{pluralize(bolt.inferences, 'inference')}, {bolt.expected_evaluations:,.0f} evaluations expected"
        )
    if plan.unsatisfiable:
        lines.append(f"cannot have members: {_some(plan.unsatisfiable, verbose)}")
    return "\n".join(lines + leftovers_text(plan.leftovers, (), verbose=verbose))


def stream_text(
    result: StreamResult, plan: StreamPlan, allowed: Collection[str], *, verbose: bool = False
) -> str:
    """What `shiq stream consistency` prints: the verdict, when it is inconsistent, what was left
    out, figures.
    """
    figures = result.statistics
    lines = [result.verdict.value.upper()]
    wrong = [run for run in result.verdicts if run["verdict"] == "inconsistent"]
    for run in wrong if verbose else wrong[:SHOWN]:
        lines.append(
            f"  {run['from']} to {run['to']}: {pluralize(run['individuals'], 'individual')}"
        )
    if not verbose and len(wrong) > SHOWN:
        lines.append(f"  … {len(wrong) - SHOWN:,} more runs: --verdicts FILE writes them.")
    lines += leftovers_text(result.leftovers, allowed, verbose=verbose)
    spent = seconds_text(figures["seconds"])
    told = [
        pluralize(figures["events"], "event"),
        pluralize(figures["triples"], "triple"),
        pluralize(len(result.spans), "row"),
    ]
    told += [f"{figures[name]:,} {name}" for name in ("duplicates", "outside") if figures[name]]
    return "\n".join(
        [*lines, "", f"{', '.join(told)}; {plan.strategy}, window {plan.window}; {spent}"]
    )


def enrichment_text(
    result: StreamAnswer, allowed: Collection[str], notes: Sequence[str], *, verbose: bool = False
) -> str:
    """What `shiq stream enrich` prints: the verdict, what was left out, figures."""
    figures = result.statistics
    lines = [
        result.verdict.value.upper(),
        *leftovers_text(result.leftovers, allowed, verbose=verbose),
        *notes,
    ]
    told = [
        pluralize(figures["events"], "event"),
        f"{figures['hits']:,} met before ({figures['hit_rate']:.1%})",
    ]
    told += [
        f"{figures[name]:,} {name}"
        for name in ("entries", "evictions", "bypassed", "inconsistent", "undetermined")
        if figures[name]
    ]
    spent = seconds_text(figures["seconds"])
    return "\n".join(
        [
            *lines,
            "",
            f"{', '.join(told)}; {pluralize(figures['reasoner_calls'], 'question')}; {spent}",
        ]
    )


def _some(names: Sequence[str], verbose: bool) -> str:
    shown = names if verbose else names[:SHOWN]
    more = f", and {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
    return safe(", ".join(shown)) + more
