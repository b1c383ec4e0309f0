"""``shiq stream plan``."""

from __future__ import annotations

from typing import Any

import click

from jobs.commands.places import GuardedCommand
from jobs.commands.running import write_json
from jobs.commands.stream.options import answering, watching


@click.command(cls=GuardedCommand)
@watching
@answering
def plan(
    tbox: tuple[str, ...], json_file: str | None, quiet: bool, verbose: bool, **options: Any
) -> int:
    """How a stream is watched for contradictions with an ontology, and what of the ontology is
    not. Exits with 0, or 3 if something is left out.

    \b
    shiq stream plan --tbox onto.owl
    shiq stream plan --tbox onto.owl --strategy ltm --cut 1,2 --grouping depth --json plan.json
    """
    from jobs.text.streams import plan_text
    from shiq.errors import UsageError
    from streams.consistency import plan as planned

    if not tbox:
        raise UsageError("no ontology is given", "Give --tbox.")
    found = planned(list(tbox), **options)
    if json_file != "-" and not quiet:
        click.echo(plan_text(found, verbose=verbose))
    write_json(json_file, found.to_dict())
    return 3 if found.leftovers else 0
