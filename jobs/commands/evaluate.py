"""``shiq evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jobs.commands.options import Nearest, Seconds
from jobs.commands.places import READS, READS_PATH, WRITES, GuardedCommand, Writes
from jobs.commands.running import level
from jobs.outputs import OutputKind
from jobs.progress import ProgressLine


@click.command(cls=GuardedCommand)
@click.argument("family", type=Nearest(["lubm", "uobm", "npd"]))
@click.option(
    "--universities",
    "-n",
    default="1",
    show_default=True,
    metavar="N[,N…]",
    help="Sizes of LUBM and UOBM.",
)
@click.option(
    "--data",
    type=READS_PATH,
    metavar="DIR",
    help="Your copy of the data; else it is generated (not NPD).",
)
@click.option(
    "--peers",
    default="",
    metavar="P,…",
    help="Reasoners to run beside: pellet, openllet, hermit, konclude.",
)
@click.option(
    "--criteria", default="auto,clausal,definition7,none", show_default=True, metavar="C,…"
)
@click.option("--engines", default="", metavar="E,…", help="Default: local, spark.")
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="PATTERN",
    help="Only data sets with this in their names; repeatable.",
)
@click.option(
    "--batch",
    "batches",
    multiple=True,
    metavar="PATTERN",
    help="Only batches with this in their names; repeatable.",
)
@click.option(
    "--slices",
    type=click.IntRange(0, 20),
    default=2,
    show_default=True,
    help="Twentieths of the data to hold out.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Of batches and generated data.",
)
@click.option(
    "--limit",
    type=Seconds(1),
    default=300.0,
    show_default=True,
    metavar="TIME",
    help="Seconds for one run.",
)
@click.option(
    "--heap",
    default="4g",
    show_default=True,
    metavar="SIZE",
    help="Memory for a JVM, as 512m or 4g.",
)
@click.option(
    "--work",
    type=Writes(OutputKind.FOLDER, Path),
    metavar="DIR",
    help="Keep intermediate files there.",
)
@click.option(
    "--with",
    "earlier",
    multiple=True,
    type=READS,
    metavar="FILE",
    help="JSON of an earlier evaluation, for the page; repeatable.",
)
@click.option("--json", "json_file", type=WRITES, metavar="FILE", help="Write the runs there.")
@click.option(
    "--html", "html_file", type=WRITES, metavar="FILE", help="Write a page with plots there."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="More of everything.")
def evaluate(
    json_file: str | None,
    html_file: str | None,
    earlier: tuple[str, ...],
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Measure checks on benchmark data: how much they look at, how long they take, and other
    reasoners beside them.
    """
    from jobs.evaluation.evaluate.command import run_command
    from jobs.evaluation.evaluate.settings import settings_of

    progress = ProgressLine(level(quiet, verbose))
    try:
        shown = run_command(settings_of(options), json_file, html_file, earlier, progress)
    finally:
        progress.close()
    click.echo(shown)
    return 0
