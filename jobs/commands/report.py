"""``shiq report``: the reports of an answer that was written earlier."""

from __future__ import annotations

from pathlib import Path

import click

from shiq.jobs.commands.options import REPORTS
from shiq.jobs.commands.places import READS_PATH, WRITES, GuardedCommand

FORMATS = {"html": ".html", "md": ".md", "sarif": ".sarif", "junit": ".junit.xml"}


@click.command(cls=GuardedCommand)
@click.argument("answer", type=READS_PATH, metavar="VERDICT.JSON")
@click.option(
    "--html",
    type=WRITES,
    metavar="FILE",
    help="One page, for people; it needs no network and no script.",
)
@click.option(
    "--md", type=WRITES, metavar="FILE", help="Markdown, for the summary of a build step."
)
@click.option(
    "--sarif", type=WRITES, metavar="FILE", help="SARIF 2.1.0, for code hosts and editors."
)
@click.option("--junit", type=WRITES, metavar="FILE", help="JUnit XML, for build servers.")
@click.option(
    "--report",
    "-r",
    "targets",
    multiple=True,
    type=REPORTS,
    metavar="FILE|DIR",
    help="As of `shiq check`: by the end of the name.",
)
def report(answer: Path, targets: tuple[str, ...], **files: str | None) -> int:
    """Make reports again from the JSON that check, certify, index or gate wrote.

    \b
    shiq report verdict.json --html tonight.html --sarif tonight.sarif
    shiq report verdict.json --report reports/
    """
    from shiq.jobs.reports.write import Target, prepare, read_answer, target_of, write_reports

    asked = [target_of(name) for name in targets]
    asked += [Target(Path(name), FORMATS[key]) for key, name in files.items() if name]
    if not asked:
        raise click.UsageError("Nothing to write: give --html, --md, --sarif, --junit or --report.")
    document = read_answer(answer)
    prepare(asked)
    write_reports(document, asked)
    return 0
