"""Commands ``shiq stream consistency`` and ``shiq stream plan``: watch a stream for contradictions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any

import click

from shiq.errors import UsageError
from shiq.jobs.commands.options import field_options, refuse_first
from shiq.jobs.commands.places import WRITES_ROWS, GuardedCommand
from shiq.jobs.commands.running import write_json
from shiq.jobs.commands.stream.options import (
    StreamArguments,
    answer_options,
    plan_options,
    refuse_ineffective,
    static_option,
    store_option,
    stream_options,
)
from shiq.jobs.text.results import SHOWN, escape_controls, leftovers_text, seconds_text
from shiq.streams.consistency import plan as planned
from shiq.streams.consistency.check import run_consistency
from shiq.streams.consistency.events import open_rate_source
from shiq.streams.consistency.operator import ConsistencySettings
from shiq.streams.consistency.plan import Labels, StreamPlan
from shiq.streams.consistency.verdicts import StreamResult
from shiq.support import pluralize


@click.command(cls=GuardedCommand)
@click.option(
    "--window",
    "-w",
    type=click.IntRange(min=0),
    required=True,
    help="Width W: the window at c holds the events from c-W to c.",
)
@static_option
@store_option
@click.option(
    "--every",
    type=click.IntRange(min=1),
    metavar="K",
    help="With --store: check the whole window every K units.",
)
@field_options(ConsistencySettings, "start", "end", "batch")
@click.option(
    "--verdicts",
    type=WRITES_ROWS,
    metavar="FILE",
    help="Write one row for each run of points with one verdict.",
)
@click.option(
    "--accepted",
    type=WRITES_ROWS,
    metavar="FILE",
    help="Write the events that contradict no accepted one, unchanged.",
)
@click.option(
    "--quarantine",
    type=WRITES_ROWS,
    metavar="FILE",
    help="Write the other events: the newest of each conflict.",
)
@plan_options
@stream_options()
def consistency(
    feed: StreamArguments,
    tbox: tuple[str, ...],
    static: tuple[str, ...],
    store: str | None,
    every: int | None,
    verdicts: str | None,
    accepted: str | None,
    quarantine: str | None,
    **options: Any,
) -> int:
    """Report the individuals of a stream that contradict an ontology: from when to when, and by
    which assertions.

    \b
    shiq stream consistency --tbox onto.owl --source events.jsonl --window 3
    zcat log.gz | shiq stream consistency -t onto.owl -s - -w 60 --lateness 5 --out rows.jsonl --verdicts runs.jsonl
    shiq stream consistency --store kg/ --every 10 --source kafka://localhost:9092/events --follow --window 60
      --checkpoint state

    Exit codes: 0 consistent at every point of time; 1 inconsistent at some; 3 nothing contradicts,
    but something was left out; 2 usage; 4 operational.
    """
    from shiq.api import open_store  # all of the checks, which a stream without a store needs not

    if options["strategy"] != "ltm":
        refuse_ineffective(("rates", "grouping"), "--strategy ltm")
    refuse_first(
        (
            (
                accepted and not quarantine,
                UsageError(
                    "--accepted would lose the events that it leaves out",
                    "Say by --quarantine where these go.",
                ),
            ),
            (
                (every is None) != (store is None),
                UsageError("--store and --every go together", "Give both, or neither."),
            ),
            (
                not tbox and store is None,
                UsageError("no ontology is given", "Give --tbox, or --store with --every."),
            ),
        )
    )
    asked = ConsistencySettings(
        **{name: options.pop(name) for name in ("start", "end", "batch")},
        allow=feed.allow,
        follow=feed.follow,
    )
    with ExitStack() as stack:
        session = stack.enter_context(open_store(store)) if store else None
        found = planned(list(tbox) or (session and session.tbox), **options, allow=feed.allow)  # type: ignore[arg-type]
        settings = {
            **found.settings,
            "static": ", ".join(static),
            "from": str(asked.start),
            "to": str(asked.end),
            "store": f"{store} each {every}" if store else "none",
        }
        files = {"verdicts": verdicts, "accepted": accepted, "quarantine": quarantine}
        made = {
            name: open_rate_source(name, found.view.signature)
            for name in feed.sources
            if name.startswith("rate://")
        }
        run = stack.enter_context(feed.start_run(settings, made, **files))
        checks = (session, every) if session and every else None
        given = list(static) or None
        result = run_consistency(
            run, found, feed.make_intake(run), asked, given, checks, drive=feed.drive
        )
    return feed.finish(stream_text(result, found, feed.allow, verbose=feed.summary.verbose), result)


# ``shiq stream plan``.


@click.command(cls=GuardedCommand)
@plan_options
@answer_options
def plan(
    tbox: tuple[str, ...], json_file: str | None, quiet: bool, verbose: bool, **options: Any
) -> int:
    """Show how a stream is watched for contradictions with an ontology, and which parts of the
    ontology are left out. Exits with 0, or 3 if something is left out.

    \b
    shiq stream plan --tbox onto.owl
    shiq stream plan --tbox onto.owl --strategy ltm --cut 1,2 --grouping depth --json plan.json
    """
    if not tbox:
        raise UsageError("no ontology is given", "Give --tbox.")
    found = planned(list(tbox), **options)
    if json_file != "-" and not quiet:
        click.echo(plan_text(found, verbose=verbose))
    write_json(json_file, found.to_dict())
    return 3 if found.leftovers else 0


def plan_text(plan: StreamPlan, *, verbose: bool = False) -> str:
    """Text of a plan for the terminal."""
    sizes = " / ".join(str(len(group)) for group in plan.groups) or "none"
    lines = [
        f"inclusions   {len(plan.positive):,} positive, {len(plan.negative):,} negative, {len(plan.horn):,} Horn rules",
        f"closure      {plan.closure:,}; {pluralize(len(plan.roots), 'root')}, {pluralize(plan.lanes, 'lane')} of 64",
        f"groups       {sizes} ({plan.grouping})",
    ]
    if plan.mask is not None:
        labels, sides, size, evaluations = plan.mask.values()
        lines.append(
            f"mask         {labels:,.0f} labels, {sides:,.0f} sides: {size:,.0f} bytes, "
            f"{evaluations:,.0f} evaluations expected"
        )
        lines += _inclusion_lines(plan.groups) if verbose else []
    groups = iter(plan.groups)
    for number, bolt in enumerate(plan.bolts, 1):
        lines.append(
            f"bolt {number:<8}{pluralize(bolt.groups, 'group')}: {pluralize(bolt.conjunctions, 'conjunction')}, "
            f"{pluralize(bolt.inferences, 'inference')}, {bolt.expected_evaluations:,.0f} evaluations expected"
        )
        own = list(islice(groups, bolt.groups))
        lines += _inclusion_lines(own) if verbose else []
    if plan.unsatisfiable:
        lines.append(f"cannot have members: {_sample_text(plan.unsatisfiable, verbose)}")
    return "\n".join(lines + leftovers_text(plan.leftovers, (), verbose=verbose))


def _inclusion_lines(groups: Iterable[Iterable[Labels]]) -> list[str]:
    """Lines for the negative inclusions in ``groups``, each a set of labels that no individual may
    have together.
    """
    return [
        f"  {escape_controls(', '.join(dict.fromkeys(root)))}" for group in groups for root in group
    ]


def stream_text(
    result: StreamResult, plan: StreamPlan, allowed: Collection[str], *, verbose: bool = False
) -> str:
    """Text of a stream's result: verdict, spans of inconsistency, leftovers, figures."""
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


def _sample_text(names: Sequence[str], verbose: bool) -> str:
    """Join ``names`` by commas: the first `SHOWN` and how many more there are, or all with
    ``verbose``.
    """
    shown = names if verbose else names[:SHOWN]
    more = f", and {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
    return escape_controls(", ".join(shown)) + more
