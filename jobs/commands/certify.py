"""``shiq certify``."""

from __future__ import annotations

from typing import Any

import click

from jobs.commands.options import common, engine_option, explain_option, jar_option, master_option
from jobs.commands.places import INPUTS, STORE, GuardedCommand
from jobs.commands.running import Request, run_check


@click.command(cls=GuardedCommand)
@click.argument("ontology", nargs=-1, type=INPUTS)
@click.option(
    "--store",
    "-s",
    type=STORE,
    help="Certify what this store holds, and record the certificate in it.",
)
@click.option(
    "--tbox",
    "-t",
    multiple=True,
    type=INPUTS,
    help="Ontology file that takes the place of the store's TBox; repeatable.",
)
@explain_option
@common
@engine_option
@master_option
@jar_option
def certify(
    ontology: tuple[str, ...], store: str | None, tbox: tuple[str, ...], **options: Any
) -> int:
    """Is TBox + ABox consistent by itself? Both may share a file; or they are those of a store.

    \b
    shiq certify onto.owl data.ttl
    shiq certify --store kg/
    shiq certify --store kg/ --tbox new.owl
    """
    from shiq.check import certify as run
    from shiq.check import certify_store

    if bool(store) == bool(ontology):
        raise click.UsageError("Give either files, or --store.")
    if store is None:
        if tbox:
            raise click.UsageError("--tbox goes with --store; name the files without it.")
        named = Request("certify", {"ontology": ontology, "mapping": options["mapping"]})
        return run_check(lambda settings: run(list(ontology), **settings), options, named)
    asked = Request("certify", {"store": store, "tbox": tbox})
    return run_check(
        lambda settings: certify_store(store, list(tbox) or None, **settings), options, asked
    )
