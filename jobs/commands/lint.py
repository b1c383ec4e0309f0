"""``shiq lint``: the ledger alone."""

from __future__ import annotations

from typing import Any

import click

from jobs.commands.options import Nearest
from jobs.commands.running import level, write_json
from jobs.progress import ProgressLine
from shiq.verdict import INFORMATIVE, KINDS, UNINTERPRETED


@click.command()
@click.argument("ontology", nargs=-1, required=True)
@click.option("--data", "-a", multiple=True, metavar="FILE", help="Assertions to read by the ontology's vocabulary; repeatable.")
@click.option("--allow", type=Nearest(list(KINDS)), multiple=True, metavar="KIND", help="As for `shiq check`; repeatable.")
@click.option(
    "--fail-on",
    type=Nearest([UNINTERPRETED, *KINDS]),
    multiple=True,
    metavar="KIND",
    help=f"Also exit with 3 for a kind that is for information only ({', '.join(sorted(INFORMATIVE))}), or for all of them: "
    f"{UNINTERPRETED}; repeatable.",
)
@click.option("--classes/--no-classes", default=True, show_default=True, help="Look for classes that can have no member.")
@click.option("--json", "json_file", metavar="FILE", help="Write it as JSON; - for stdout.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="All leftovers; with errors, where they come from.")
def lint(
    ontology: tuple[str, ...],
    data: tuple[str, ...],
    json_file: str | None,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """How every triple was understood, and what was not: counts and samples. Exits with 3 if something stands in the way.

    \b
    shiq lint onto.owl --data tonight.nt
    shiq lint onto.owl --fail-on uninterpreted
    """
    from jobs.lint import lint as run
    from jobs.lint import lint_text
    from jobs.text.results import leftovers_text

    progress = ProgressLine(level(quiet, verbose))
    try:
        found = run(ontology, data, progress=progress, **options)
    finally:
        progress.close()
    if json_file != "-":
        fail_on = frozenset(KINDS) if UNINTERPRETED in found.fail_on else frozenset(found.fail_on)
        lines = [*lint_text(found), *leftovers_text(found.leftovers, found.allowed, fail_on, verbose)]
        if found.blocking:
            lines += ["", f"in the way of a verdict: {', '.join(found.blocking)} (--allow KIND if that is meant)"]
        click.echo("\n".join(lines))
    write_json(json_file, found.to_dict())
    return found.exit_code
