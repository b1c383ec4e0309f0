"""``shiq stream discover``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jobs.commands.options import Nearest, catalog_option
from jobs.commands.places import READS, WRITES, GuardedCommand, Writes
from jobs.commands.stream.options import Feed, feeding, refuse_idle, static_option, was_given
from jobs.outputs import OutputKind
from shiq.errors import InputError, UsageError
from streams.discovery.settings import GATES, LANGUAGES, METHODS

if TYPE_CHECKING:
    from streams.discovery.stream import Mining

_SHARE = click.FloatRange(0, 1)


def _report_files(name: str, parameters: Mapping[str, Any]) -> list[tuple[str, OutputKind]]:
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
    help="How many snapshots a window has.",
)
@click.option(
    "--slide",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="By how many the next begins later.",
)
@click.option(
    "--step",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Snapshot t/STEP has what came at t.",
)
@click.option(
    "--vocabulary",
    type=READS,
    metavar="FILE",
    help="Class expressions, one a line; else all named classes of the ontology.",
)
@click.option("--method", type=Nearest(list(METHODS)), default="exact", show_default=True)
@click.option(
    "--min-support", type=_SHARE, default=0.4, show_default=True, help="The share of the window."
)
@click.option(
    "--min-confidence", type=_SHARE, default=0.8, show_default=True, help="More than this."
)
@click.option(
    "--max-atoms", type=click.IntRange(min=1), default=3, show_default=True, help="Of a body."
)
@click.option(
    "--max-variables", type=click.IntRange(min=1), default=3, show_default=True, help="Of a body."
)
@click.option("--language", type=Nearest(list(LANGUAGES)), default="variables", show_default=True)
@click.option(
    "--rules",
    type=READS,
    metavar="FILE",
    help="Rules that are counted whatever their counts are, as JSON.",
)
@click.option(
    "--instances",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="How many of a rule are shown.",
)
@click.option("--refute", is_flag=True, help="Count the snapshots that contradict a rule.")
@click.option(
    "--eps", metavar="N,…", help="For inkd: how often what was there already was there, as 1,2,4-9."
)
@click.option(
    "--gate",
    type=Nearest(list(GATES)),
    default="printed",
    show_default=True,
    help="For inkd: which slides count.",
)
@click.option("--min-rarity", type=_SHARE, default=0.0, show_default=True, help="For the gate.")
@click.option("--max-similarity", type=_SHARE, default=0.6, show_default=True, help="For the gate.")
@click.option("--max-rules", type=click.IntRange(min=1), default=100_000, show_default=True)
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
@click.option(
    "--export-share",
    "export_share",
    type=_SHARE,
    default=0.9,
    show_default=True,
    help="For --export: the share of its cases in which a rule must have held.",
)
@click.option(
    "--report",
    "folder",
    type=Writes(OutputKind.FOLDER, written=_report_files),
    metavar="DIR",
    help="Write rules.parquet, windows.parquet and rules.md.",
)
@catalog_option
@feeding()
def discover(
    feed: Feed,
    tbox: tuple[str, ...],
    static: tuple[str, ...],
    step: int,
    vocabulary: str | None,
    rules: str | None,
    entailments: str | None,
    exported: str | None,
    export_share: float,
    folder: str | None,
    catalog: tuple[str, ...],
    **options: Any,
) -> int:
    """What goes with what in the last snapshots of a stream, as rules over an ontology?

    \b shiq stream discover --tbox city.ofn --static roads.nt.gz --source buses.jsonl.gz --source
    events.jsonl.gz \\
        --window 1000 --slide 333 --json rules.json --report report/

    Exit codes: 0 all well; 1 a snapshot contradicts the ontology (it is named and left out); 3
    something was not interpreted, or a limit stopped it; 2; 4.
    """
    from jobs.text.discovery import discovery_text
    from streams.discovery import RuleMiner
    from streams.discovery.delivery import Delivery
    from streams.discovery.settings import eps_of

    if exported is not None and not exported.endswith((".ofn", ".lp")):
        raise UsageError(
            f"--export {exported}: neither .ofn nor .lp", "Name a file that ends in one of these."
        )
    if options["method"] != "inkd":
        refuse_idle(("eps", "gate", "min_rarity", "max_similarity"), "--method inkd")
    if exported is None:
        refuse_idle(("export_share",), "--export FILE")
    options["refute"] |= exported is not None
    options["eps"] = eps_of(options["eps"]) if options["eps"] else None
    miner = RuleMiner(
        list(tbox),
        static=list(static) or None,
        vocabulary=vocabulary,
        rules=_json(rules),
        step=step,
        allow=feed.allow,
        catalog=catalog,
        **options,
    )
    settings = {
        **{k: str(v) for k, v in miner.settings.to_dict().items()},
        "ontology": miner.ontology.fingerprint,
        "step": str(step),
    }
    with feed.started(settings) as run:
        delivery = Delivery(
            miner, run.outputs.to("out"), entailments, exported, folder, export_share
        )
        kept = feed.json_file is not None or folder is not None
        system = miner.system(
            arrivals=feed.arrivals(run, unordered=True), heard=delivery.take, kept=kept
        )
        if feed.follow:
            system.wait = 0
            if not was_given("lateness"):
                system.arrivals.clock.lateness = miner.settings.window
        result: Mining
        if feed.engine == "spark":
            from jobs.streaming.discovery import EntailedWindows

            result = feed.on_spark(run, EntailedWindows(system))
        else:
            time = (
                None if feed.follow else system.ordered(run.input.sources, feed.unit, feed.format)
            )
            result = run.drive(system, follow=feed.follow, time=time)
        left_out = delivery.finish(result)
    return feed.end(
        discovery_text(result, miner, left_out, feed.allow, verbose=feed.verbose),
        result,
        delivery.document(result),
    )


def _json(file: str | None) -> Any:
    if file is None:
        return None
    try:
        return json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file} has no rules: {error}", 'Write a JSON list of {"body": […], "head": […]}.'
        ) from error
