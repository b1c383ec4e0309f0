"""``shiq evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from shiq.errors import UsageError
from shiq.files import write_whole
from shiq.jobs.commands.options import Nearest, Seconds
from shiq.jobs.commands.places import READS, READS_PATH, WRITES, GuardedCommand, Writes
from shiq.jobs.commands.running import level
from shiq.jobs.evaluation.papers import paper_of
from shiq.jobs.outputs import OutputKind
from shiq.jobs.progress import ProgressLine

FAMILIES = ("lubm", "uobm", "npd")
PAPERS = ("incremental", "streams", "enrichment", "discovery", "rules")
_BOTH = frozenset(
    [
        "family",
        "data",
        "peers",
        "seed",
        "limit",
        "heap",
        "json_file",
        "html_file",
        "quiet",
        "verbose",
    ]
)
OF_PAPERS = _BOTH | {"full", "size", "markdown_file"}
#: What one paper has alone.
OF_ONE = {"incremental": {"reasoner", "repeats"}, "discovery": {"accuracy"}}
OF_FAMILIES = _BOTH | frozenset(
    ["universities", "criteria", "engines", "variants", "batches", "slices", "work", "earlier"]
)


@click.command(cls=GuardedCommand)
@click.argument("family", type=Nearest([*FAMILIES, *PAPERS]))
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
    help="Systems to run beside: pellet, openllet, hermit, konclude; those of a paper are others.",
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
@click.option("--full", is_flag=True, help="Of a paper: its own sizes, which may take hours.")
@click.option(
    "--size",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Of a paper: scale of the experiments; 1 takes up to ten minutes.",
)
@click.option(
    "--reasoner",
    type=Nearest(["own", "hermit", "pellet"]),
    default="own",
    show_default=True,
    help="Of incremental: checks what the published method keeps.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    help="Of incremental: check each batch so often; the fastest counts.",
)
@click.option(
    "--accuracy",
    multiple=True,
    type=READS,
    metavar="FILE",
    help="Of discovery, twice: compare the rules that two runs of `shiq stream discover` wrote, window by window.",
)
@click.option(
    "--markdown",
    "markdown_file",
    type=WRITES,
    metavar="FILE",
    help="Of a paper: write the tables there.",
)
@click.option("--json", "json_file", type=WRITES, metavar="FILE", help="Write the figures there.")
@click.option(
    "--html", "html_file", type=WRITES, metavar="FILE", help="Write a page with plots there."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="More of everything.")
@click.pass_context
def evaluate(
    context: click.Context,
    /,
    json_file: str | None,
    html_file: str | None,
    markdown_file: str | None,
    earlier: tuple[str, ...],
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Measure checks on benchmark data (lubm, uobm, npd), or redo the experiments of a paper
    beside its figures and other systems.
    """
    progress = ProgressLine(level(quiet, verbose))
    name = options["family"]
    own = OF_ONE.get(name, set())
    _check_options(context, OF_PAPERS | own if name in PAPERS else OF_FAMILIES)
    try:
        if name in PAPERS:
            files = {"json": json_file, "html": html_file, "markdown": markdown_file}
            shown = _paper(name, options, files, progress)
        else:
            from shiq.jobs.evaluation.evaluate.command import run_command
            from shiq.jobs.evaluation.evaluate.settings import settings_of

            of_papers = ("full", "size", "reasoner", "repeats", "accuracy")
            known = {key: value for key, value in options.items() if key not in of_papers}
            shown = run_command(settings_of(known), json_file, html_file, earlier, progress)
    finally:
        progress.close()
    click.echo(shown)
    return 0


def _check_options(context: click.Context, known: frozenset[str]) -> None:
    """Refuse options that were given and mean nothing here. Raises: UsageError."""
    name = context.params["family"]
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if source is ParameterSource.COMMANDLINE and option.name not in known:
            raise UsageError(f"{option.opts[0]} is no option of {name}", "Leave it out.")


def _paper(
    name: str, options: dict[str, Any], files: dict[str, str | None], progress: ProgressLine
) -> str:
    """Redo the experiments of a paper and write its page; the tables to print."""
    from shiq.jobs.evaluation.papers.page import (
        PaperSettings,
        evaluate_paper,
        html,
        json_page,
        markdown,
    )

    peers = tuple(word.strip() for word in options["peers"].split(",") if word.strip())
    names = ("full", "size", "seed", "data", "limit", "heap", "reasoner", "repeats")
    kept = {key: options[key] for key in names}
    kept["accuracy"] = tuple(map(Path, options["accuracy"]))
    if len(kept["accuracy"]) not in (0, 2):
        raise UsageError("--accuracy compares two files", "Give it twice.")
    kept["data"] = Path(kept["data"]) if kept["data"] else None
    page = evaluate_paper(
        paper_of(name), PaperSettings(peers=peers, **kept), lambda what: progress(what, 0, 0)
    )
    for kind, write in (("html", html), ("markdown", markdown), ("json", json_page)):
        if (file := files[kind]) is not None:
            write_whole(Path(file), write(page))
    return markdown(page)
