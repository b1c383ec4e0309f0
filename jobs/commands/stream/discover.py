"""Command ``shiq stream discover``: mine rules from a stream."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import click

from shiq.errors import InputError, UsageError
from shiq.jobs.commands.options import catalog_option, field_option
from shiq.jobs.commands.places import READS, WRITES, GuardedCommand, OutputParameter
from shiq.jobs.commands.stream.options import (
    StreamArguments,
    refuse_ineffective,
    static_option,
    stream_options,
    was_given,
)
from shiq.jobs.outputs import OutputKind
from shiq.jobs.text.results import SHOWN, escape_controls, leftovers_text, seconds_text
from shiq.streams.discovery.miner import RuleMiner
from shiq.streams.discovery.report_outputs import ReportOutputs
from shiq.streams.discovery.sentences import describe_rule
from shiq.streams.discovery.settings import (
    GateSettings,
    MinerSettings,
    ReportSettings,
    parse_eps,
    refuse_unknown_sources,
)
from shiq.streams.discovery.stream import MiningResult
from shiq.support import pluralize

#: Settings that older checkpoints do not have.
_FINAL_OPTIONS = ("head", "min_lift", "body_sources", "head_sources", "list_changes")


def _report_files(name: str, parameters: Mapping[str, Any]) -> list[tuple[str, OutputKind]]:
    """List the files that ``--report FOLDER`` writes, so that outputs that would replace an input
    can be refused.
    """
    inner = ("rules.parquet", "windows.parquet", "rules.md")
    return [(name, OutputKind.FOLDER), *((f"{name}/{file}", OutputKind.FILE) for file in inner)]


@click.command(cls=GuardedCommand)
@click.option(
    "--tbox", "-t", multiple=True, type=READS, required=True, help="Ontology file; repeatable."
)
@static_option
@click.option(
    "--window",
    "-w",
    type=click.IntRange(min=1),
    required=True,
    help="Snapshots in a window.",
)
@field_option(MinerSettings, "slide")
@click.option(
    "--step",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Units of time in a snapshot: an event at t is in snapshot t/STEP.",
)
@click.option(
    "--vocabulary",
    type=READS,
    metavar="FILE",
    help="File of class expressions, one a line. [default: all named classes of the ontology]",
)
@field_option(MinerSettings, "method")
@field_option(MinerSettings, "min_support")
@field_option(MinerSettings, "min_confidence")
@field_option(MinerSettings, "max_atoms")
@field_option(MinerSettings, "max_variables")
@field_option(MinerSettings, "language")
@click.option(
    "--rules",
    type=READS,
    metavar="FILE",
    help='Rules that are counted whatever their counts are: [{"body": [["<class>", "?x0"]], "head": […]}].',
)
@field_option(MinerSettings, "body_sources")
@field_option(MinerSettings, "head_sources")
@field_option(ReportSettings, "min_lift")
@field_option(ReportSettings, "head")
@field_option(ReportSettings, "instances")
@field_option(ReportSettings, "refute")
@field_option(ReportSettings, "list_changes")
@click.option(
    "--eps",
    metavar="N,…",
    help="For inkd: numbers of snapshots in which a body that occurred before may count, as 1,2,4-9. [default: all]",
)
@field_option(GateSettings, "gate")
@field_option(GateSettings, "min_rarity")
@field_option(GateSettings, "max_similarity")
@field_option(MinerSettings, "max_rules")
@click.option(
    "--entailments",
    type=WRITES,
    metavar="FILE",
    help="Write what each snapshot entails, as a Parquet table.",
)
@click.option(
    "--export",
    "exported",
    type=WRITES,
    metavar="FILE",
    help="Write the last rules that nothing refutes: .ofn (OWL) or .lp (ASP).",
)
@field_option(ReportSettings, "min_share")
@click.option(
    "--report",
    "folder",
    type=OutputParameter(OutputKind.FOLDER, list_outputs=_report_files),
    metavar="DIR",
    help="Write rules.parquet, windows.parquet and rules.md.",
)
@catalog_option
@stream_options()
def discover(
    feed: StreamArguments,
    tbox: tuple[str, ...],
    static: tuple[str, ...],
    step: int,
    vocabulary: str | None,
    rules: str | None,
    entailments: str | None,
    exported: str | None,
    folder: str | None,
    catalog: tuple[str, ...],
    **options: Any,
) -> int:
    """Mine rules from the last snapshots of a stream: facts that occur together, over an ontology.

    \b
    shiq stream discover --tbox city.ofn --static roads.nt.gz --source buses.jsonl.gz --source events.jsonl.gz \\
        --window 1000 --slide 333 --json rules.json --report report/

    Exit codes: 0 every snapshot was mined; 1 a snapshot contradicts the ontology (it is named and
    left out); 3 something was not interpreted, or a limit ended the search; 2 usage; 4 operational.
    """
    if exported is not None and not exported.endswith((".ofn", ".lp")):
        raise UsageError(
            f"--export {exported}: neither .ofn nor .lp", "Name a file that ends in one of these."
        )
    if exported is not None and options["language"] == "ground":
        raise UsageError(
            "--export writes rules with variables, and --language ground mines rules of individuals",
            "Leave out --export, or --language ground; --out and --json have ground rules.",
        )
    if options["method"] != "inkd":
        refuse_ineffective(("eps", "gate", "min_rarity", "max_similarity"), "--method inkd")
    if exported is None:
        refuse_ineffective(("min_share",), "--export FILE")
    options["refute"] |= exported is not None
    options["eps"] = parse_eps(options["eps"]) if options["eps"] else None
    miner = RuleMiner(
        list(tbox),
        static=list(static) or None,
        vocabulary=vocabulary,
        rules=_read_rules(rules),
        step=step,
        allow=feed.allow,
        catalog=catalog,
        **options,
    )
    refuse_unknown_sources(miner.settings, feed.sources)
    settings = {
        # Older checkpoints do not have those that say nothing by default.
        **{
            k: str(v)
            for k, v in miner.settings.to_dict().items()
            if k != "min_share" and (v or k not in _FINAL_OPTIONS)
        },
        "ontology": miner.ontology.fingerprint,
        "step": str(step),
    }
    with feed.start_run(settings) as run:
        delivery = ReportOutputs(
            miner, run.outputs.make_writer("out"), entailments, exported, folder
        )
        kept = feed.summary.json_file is not None or folder is not None
        system = miner.system(
            intake=feed.make_intake(run, unordered=True),
            on_report=delivery.deliver,
            keeps_all_reports=kept,
        )
        if feed.follow:
            system.max_disorder = 0
            if not was_given("lateness"):
                system.intake.tracker.lateness = miner.settings.window
        is_merged = feed.engine == "local" and not feed.follow
        time = (
            system.record_time_reader(run.input.sources, feed.unit, feed.format)
            if is_merged
            else None
        )
        result: MiningResult = feed.drive(run, system, time)
        exports = delivery.finish(result)
    if exports and not feed.summary.quiet:
        click.echo("\n".join(map(escape_controls, exports)), err=True)
    return feed.finish(
        discovery_text(result, miner, feed.allow, verbose=feed.summary.verbose),
        result,
        delivery.json_document(result),
    )


def _read_rules(file: str | None) -> Any:
    """Read the rules to evaluate from a JSON file; None without a file. Raises: InputError."""
    if file is None:
        return None
    try:
        return json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file} has no rules: {error}", 'Write a JSON list of {"body": […], "head": […]}.'
        ) from error


def discovery_text(
    result: MiningResult,
    miner: RuleMiner,
    allowed: Collection[str],
    *,
    verbose: bool,
) -> str:
    """Text of mining results: verdict, rules of the last window, figures."""
    lines = [result.verdict.value.upper()]
    if miner.windows.knowledge.static_entailments is None:
        lines.append(
            "  the ontology and the static assertions contradict each other: nothing was mined"
        )
    if result.inconsistent_snapshots:
        lines.append(
            f"  left out, since they contradict the ontology: snapshots {', '.join(map(str, result.inconsistent_snapshots))}"
        )
    if not result.windows:
        lines.append(
            f"  no window is full: the stream has fewer than {pluralize(miner.settings.window, 'snapshot')}"
        )
    else:
        last = result.windows[-1]
        lines.append(
            f"  snapshots {last['window'][0]} to {last['window'][1]}: {pluralize(len(last['rules']), 'rule')}"
            + (
                f", {last['untold']:,} more not asked for (--min-lift, --head)"
                if "untold" in last
                else ""
            )
        )
        shown = last["rules"] if verbose else last["rules"][:SHOWN]
        lines += [
            f"    {escape_controls(describe_rule(rule, miner.ontology.labels))}" for rule in shown
        ]
    if result.is_truncated:
        lines.append(f"  stopped at {miner.settings.max_rules:,} rules (--max-rules)")
    lines += leftovers_text(result.leftovers, allowed, verbose=verbose)
    spent = seconds_text(result.statistics["seconds"])
    figures = result.statistics
    told = [
        pluralize(figures["events"], "event"),
        pluralize(figures["triples"], "triple"),
        pluralize(figures["windows"], "window"),
    ]
    return "\n".join([*lines, "", f"{', '.join(told)}; {miner.settings.method}; {spent}"])
