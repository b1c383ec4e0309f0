"""Group of the commands ``shiq stream …``, one file for each system."""

from __future__ import annotations

import click

from shiq.jobs.commands.options import CommandGroup

#: Where each command is; only the one that is asked for is imported.
COMMANDS = {
    "plan": "shiq.jobs.commands.stream.consistency",
    "consistency": "shiq.jobs.commands.stream.consistency",
    "discover": "shiq.jobs.commands.stream.discover",
    "enrich": "shiq.jobs.commands.stream.enrich",
    "rules": "shiq.jobs.commands.stream.rules",
}


@click.group(cls=CommandGroup, modules=COMMANDS)
def stream() -> None:
    """Evaluate streams of events against an ontology (docs/STREAMS.md).

    \b
    Which individuals contradict the ontology, and from when to when?  shiq stream consistency
    How is it watched, at which cost, and what is left out?            shiq stream plan
    Which types follow of each event?                                  shiq stream enrich
    What goes with what, as rules, right now?                          shiq stream discover
    What follows, by my rules, of the last points of a stream?         shiq stream rules
    """
