"""Command ``shiq lint``: account for every triple without deciding anything."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shiq.answers.verdict import INFORMATIVE, KINDS, UNINTERPRETED
from shiq.jobs.checking.options import Options, load_waivers
from shiq.jobs.commands.options import (
    catalog_option,
    field_option,
    format_option,
    json_option,
    known_option,
    quiet_option,
    vocabulary_option,
)
from shiq.jobs.commands.places import FORMAT, INPUTS, WRITES, GuardedCommand
from shiq.jobs.commands.running import output_level, shorten_iris, write_json
from shiq.jobs.leftover_waivers import draft_waivers
from shiq.jobs.leftover_waivers import write_waivers as save
from shiq.jobs.option_fields import Heading
from shiq.jobs.progress import ProgressLine
from shiq.jobs.steps import plan_steps, steps_text
from shiq.jobs.text.results import leftovers_text


@click.command(cls=GuardedCommand)
@click.argument("ontology", nargs=-1, type=INPUTS, required=True)
@click.option(
    "--data",
    "-a",
    multiple=True,
    type=INPUTS,
    metavar="FILE",
    help="Assertions to read by the ontology's vocabulary; repeatable.",
)
@field_option(Options, "allow", help="As for `shiq check`; repeatable.", heading=Heading.COMMAND)
@field_option(
    Options,
    "fail_on",
    heading=Heading.COMMAND,
    help=f"Also exit with 3 for a kind that is for information only ({', '.join(sorted(INFORMATIVE))}), or for all of them: "
    f"{UNINTERPRETED}; repeatable.",
)
@format_option
@catalog_option
@vocabulary_option
@known_option
@click.option(
    "--write-known",
    type=WRITES,
    metavar="FILE",
    help="Draft such a file: the entries of --known, and one for each new leftover that blocks.",
)
@click.option(
    "--owner",
    default="",
    metavar="NAME",
    help="Owner of the new entries in the draft. Without it, fill in the owners by hand.",
)
@click.option(
    "--classes/--no-classes",
    default=True,
    show_default=True,
    help="Look for classes that can have no member.",
)
@json_option
@quiet_option
@click.option(
    "-v", "--verbose", is_flag=True, help="All leftovers; with errors, where they come from."
)
def lint(
    ontology: tuple[str, ...],
    data: tuple[str, ...],
    json_file: str | None,
    quiet: bool,
    verbose: bool,
    known: str | None,
    write_known: str | None,
    owner: str,
    **options: Any,
) -> int:
    """Report how every triple is understood, and what is not: counts and samples. Exits with 3 if
    something would block a verdict.

    \b
    shiq lint onto.owl --data tonight.nt
    shiq lint onto.owl --fail-on uninterpreted
    shiq lint onto.owl --data tonight.nt --write-known known.toml --owner ann@example.org
    """
    from shiq.jobs.lint import asked_text, lint_text
    from shiq.jobs.lint import lint as run

    if owner and not write_known:
        raise click.UsageError("--owner goes with --write-known.")
    answered = load_waivers(known)
    progress = ProgressLine(output_level(quiet, verbose))
    try:
        found = run(ontology, data, known=answered, progress=progress, **options)
    finally:
        progress.close()
    given = [
        part
        for name in ("allow", "fail_on")
        for kind in options[name]
        for part in (f"--{name.replace('_', '-')}", kind)
    ]
    given += [part for place in options["catalog"] for part in ("--catalog", str(place))] + (
        ["--known", known] if known else []
    )
    given += [part for name in options["vocabulary"] for part in ("--vocabulary", name)]
    if syntax := click.get_current_context().meta.get(FORMAT):
        given += ["--format", syntax]
    todo = plan_steps(found.in_the_way, ontology, data, given)
    if json_file != "-":
        fail_on = frozenset(KINDS) if UNINTERPRETED in found.fail_on else frozenset(found.fail_on)
        shown = "\n".join(leftovers_text(found.leftovers, found.allowed, fail_on, verbose))
        shown = shorten_iris(shown, {"tbox": ontology, "abox": data})
        lines = [*lint_text(found), *([shown] if shown else []), *asked_text(found)]
        if found.blocking:
            lines += [
                "",
                f"in the way of a verdict: {', '.join(found.blocking)} (--known FILE, or --allow KIND, if that is meant)",
                *steps_text(todo),
            ]
        click.echo("\n".join(lines))
    write_json(json_file, {**found.to_dict(), "steps": [*map(asdict, todo)]})
    if write_known:
        entries = draft_waivers(found.in_the_way, answered, owner, found.allowed, found.fail_on)
        save(Path(write_known), entries)
        open_ones = sum(not entry.owner for entry in entries)
        notes = (
            f"; {open_ones:,} lack an owner, and are refused until they have one"
            if open_ones
            else ""
        )
        unnamed = sum(not x.term for x in found.in_the_way)
        notes += (
            f"; {unnamed:,} not drafted, having no term: shortened, or only counted"
            if unnamed
            else ""
        )
        click.echo(f"{write_known}: {len(entries):,} known leftovers{notes}", err=json_file == "-")
    return found.exit_code
