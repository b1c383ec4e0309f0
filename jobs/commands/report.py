"""Command ``shiq report``: make reports from the JSON of an earlier answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from shiq.jobs.commands.options import REPORTS, AnswerOptions, field_option, with_options
from shiq.jobs.commands.places import READS_PATH, STORE, WRITES, GuardedCommand, OutputParameter
from shiq.jobs.option_fields import Heading
from shiq.jobs.outputs import OutputKind


def _page_files(name: str, parameters: Mapping[str, Any]) -> list[tuple[str, OutputKind]]:
    """List what ``--html`` writes, a file or with ``--history`` a folder of pages, so that outputs
    that would replace an input can be refused.
    """
    return [(name, OutputKind.FOLDER if parameters["history"] else OutputKind.FILE)]


WRITES_PAGES = OutputParameter(list_outputs=_page_files)
#: The formats that have an option of their own: the end of the file's name, and the option's help.
FORMATS: Mapping[str, tuple[str, str]] = {
    "html": (
        ".html",
        "One page, for people; it needs no network and no script. With --history, a folder.",
    ),
    "md": (".md", "Markdown, for the summary of a build step."),
    "sarif": (".sarif", "SARIF 2.1.0, for code hosts and editors."),
    "junit": (".junit.xml", "JUnit XML, for build servers."),
    "shacl": (".shacl.ttl", "A SHACL validation report in Turtle, for RDF tools."),
}


def _format_options(command: Any) -> Any:
    """Decorator: add to a command one option for each report format in `FORMATS`."""
    pages: dict[str, Any] = {"type": WRITES_PAGES, "metavar": "FILE|DIR"}
    file: dict[str, Any] = {"type": WRITES, "metavar": "FILE"}
    made = (
        click.option(f"--{name}", help=what, **(pages if name == "html" else file))
        for name, (_, what) in FORMATS.items()
    )
    return with_options(command, made)


@click.command(cls=GuardedCommand)
@click.argument("answer", type=READS_PATH, metavar="VERDICT.JSON", required=False)
@click.option(
    "--history",
    type=STORE,
    metavar="DIR",
    help="Instead of an answer: the history of a store, as pages in the folder --html: trends, and a page for each run.",
)
@_format_options
@click.option(
    "--report",
    "-r",
    "targets",
    multiple=True,
    type=REPORTS,
    metavar="FILE|DIR",
    help="As of `shiq check`: by the end of the name.",
)
@field_option(AnswerOptions, "baseline", heading=Heading.COMMAND)
def report(
    answer: Path | None,
    targets: tuple[str, ...],
    history: str | None,
    baseline: str | None,
    **files: str | None,
) -> int:
    """Make reports again from the JSON that check, certify, index or gate wrote.

    \b
    shiq report verdict.json --html tonight.html --sarif tonight.sarif
    shiq report verdict.json --report reports/
    shiq report --history kg/ --html history/
    """
    if history:
        return _write_history_pages(history, answer, targets, files)
    if answer is None:
        raise click.UsageError("Give VERDICT.JSON, the answer of a run, or --history.")
    from shiq.jobs.reports.write import (
        Target,
        check_targets,
        read_answer,
        read_baseline,
        read_target,
        write_reports,
    )

    asked = [read_target(name) for name in targets]
    asked += [Target(Path(name), FORMATS[key][0]) for key, name in files.items() if name]
    if not asked:
        raise click.UsageError(
            f"Nothing to write: give {', '.join(f'--{name}' for name in FORMATS)} or --report."
        )
    document = read_answer(answer)
    earlier = read_baseline(Path(baseline)) if baseline else None
    check_targets(asked)
    write_reports(document, asked, baseline=earlier)
    return 0


def _write_history_pages(
    store: str, answer: Path | None, targets: tuple[str, ...], files: dict[str, str | None]
) -> int:
    """Write the pages of a store's history into the folder of ``--html``. Returns the exit code.
    Raises: UsageError, StoreError.
    """
    folder = files.pop("html")
    if answer or targets or any(files.values()) or not folder:
        raise click.UsageError(
            "--history goes with --html DIR alone; `shiq history --store DIR --json FILE` has it for machines."
        )
    from shiq.jobs.commands.store import read_store_history
    from shiq.jobs.history_pages import write_pages

    rows, unread = read_store_history(store)
    for name in unread:
        click.echo(f"warning: cannot be read: {name}", err=True)
    click.echo(write_pages(store, rows, Path(folder)))
    return 0
