"""What the commands about consistency share: how a TBox is watched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from jobs.commands.options import Nearest
from shiq.errors import InputError
from shiq.verdict import KINDS
from streams.consistency.negative_inclusions import GROUPINGS
from streams.consistency.plan import ASSUMPTIONS, STRATEGIES

F = TypeVar("F", bound=Callable[..., Any])


def _cut(context: click.Context, parameter: click.Parameter, value: str) -> str | tuple[int, ...]:
    if value in ("auto", "none"):
        return value if value == "auto" else ()
    try:
        return tuple(int(word) for word in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is none of auto, none, and numbers such as 1,2.", context, parameter) from None


def _rates(context: click.Context, parameter: click.Parameter, file: str | None) -> dict[str, float] | None:
    if file is None:
        return None
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
        return {str(iri): float(rate) for iri, rate in found.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{file} has no rates: {error}", 'Write a JSON object: {"IRI": events per unit}.') from error


def watching(command: F) -> F:
    """The options of `streams.consistency.plan`, and what all commands have."""
    for option in reversed(
        (
            click.option("--tbox", "-t", multiple=True, required=True, help="Ontology file; repeatable."),
            click.option("--strategy", type=Nearest(list(STRATEGIES)), default="mask", show_default=True),
            click.option(
                "--cut",
                default="auto",
                show_default=True,
                callback=_cut,
                metavar="auto|none|N,…",
                help="For ltm: after which groups bolts end; none: one bolt; auto: what costs least.",
            ),
            click.option("--grouping", type=Nearest(list(GROUPINGS)), default="printed", show_default=True),
            click.option("--rates", callback=_rates, metavar="FILE", help="Events a unit by IRI, as JSON; else all alike."),
            click.option(
                "--assume", type=Nearest(list(ASSUMPTIONS)), multiple=True, help="What the ontology does not say; repeatable."
            ),
            click.option(
                "--allow",
                type=Nearest(list(KINDS)),
                multiple=True,
                metavar="KIND",
                help="Do not let this kind of leftover stand in the way of `consistent`; repeatable.",
            ),
            click.option("--json", "json_file", metavar="FILE", help="Write the result as JSON too; - for stdout."),
            click.option("-q", "--quiet", is_flag=True, help="No summary."),
            click.option("-v", "--verbose", is_flag=True, help="All of it; with errors, where they come from."),
        )
    ):
        command = option(command)
    return command
