"""Command ``shiq evaluate``: measure checks, and redo the experiments of papers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from shiq.errors import UsageError
from shiq.jobs.commands.options import (
    NearestChoice,
    brief_verbose_option,
    field_options,
    quiet_option,
)
from shiq.jobs.commands.places import READS, WRITES, GuardedCommand
from shiq.jobs.commands.running import output_level
from shiq.jobs.evaluation.evaluate.settings import (
    FAMILIES,
    PAPERS,
    BenchmarkSettings,
    PaperSettings,
)
from shiq.jobs.option_fields import declared_names
from shiq.jobs.progress import ProgressLine

if TYPE_CHECKING:
    from shiq.jobs.evaluation.harness import Harness

#: What one paper has alone.
_ONE_FAMILY_OPTIONS = {"reasoner": "incremental", "repeats": "incremental", "accuracy": "discovery"}


@click.command(cls=GuardedCommand)
@click.argument("family", type=NearestChoice([*FAMILIES, *PAPERS]))
@field_options(BenchmarkSettings, "universities", "data", "peers", "criteria", "engines")
@field_options(BenchmarkSettings, "variants", "batches", "slices", "seed", "limit", "heap", "work")
@click.option(
    "--with",
    "earlier",
    multiple=True,
    type=READS,
    metavar="FILE",
    help="JSON of an earlier evaluation, for the page; repeatable.",
)
@field_options(PaperSettings, "full", "size", "reasoner", "repeats", "accuracy")
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
@quiet_option
@brief_verbose_option
@click.pass_context
def evaluate(
    context: click.Context,
    /,
    family: str,
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

    \b
    shiq evaluate lubm --universities 1,5 --peers hermit --html lubm.html
    shiq evaluate streams --json streams.json --markdown streams.md
    """
    progress = ProgressLine(output_level(quiet, verbose))
    is_paper = family in PAPERS
    names = [
        name
        for name in declared_names(PaperSettings if is_paper else BenchmarkSettings)
        if _ONE_FAMILY_OPTIONS.get(name, family) == family
    ]
    _check_options(context, {*names, "markdown_file" if is_paper else "earlier"})
    known = {name: options[name] for name in names}
    try:
        settings = PaperSettings(**known) if is_paper else BenchmarkSettings(family, **known)
        files = {"json": json_file, "html": html_file, "markdown": markdown_file}
        shown = _find_harness(family, earlier).run(settings, files, progress)
    finally:
        progress.close()
    click.echo(shown)
    return 0


def _find_harness(name: str, earlier: Sequence[str] = ()) -> Harness:
    """Find the `Harness` that runs the benchmark or paper ``name`` and renders its page, which also
    shows the results in the files ``earlier``. Raises: InputError for an unreadable file.
    """
    # Loaded where something is measured, with numpy.
    from shiq.jobs.evaluation.harness import Harness

    if name in PAPERS:
        from shiq.jobs.evaluation.papers import load_paper, page

        return Harness(
            partial(page.measure_paper, load_paper(name)), page.page_to_html, page.page_to_markdown
        )
    from shiq.jobs.evaluation.evaluate import record
    from shiq.jobs.evaluation.evaluate.page import render_evaluation_page as render_page
    from shiq.jobs.evaluation.evaluate.run import evaluate

    before = [record.read_evaluation(Path(file)) for file in earlier]
    return Harness(
        evaluate,
        lambda document: render_page([*before, document]),
        lambda document: record.format_table(
            record.merge_runs([document]), document["comparisons"]
        ),
    )


def _check_options(context: click.Context, known: set[str]) -> None:
    """Refuse options given on the command line that the benchmark or paper does not have;
    ``known``: parameters that it has. Raises: UsageError.
    """
    own = known | {"family", "json_file", "html_file", "quiet", "verbose"}
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if source is ParameterSource.COMMANDLINE and option.name not in own:
            name = context.params["family"]
            raise UsageError(f"{option.opts[0]} is no option of {name}", "Leave it out.")
