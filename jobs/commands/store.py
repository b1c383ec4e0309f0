"""``shiq export | status | compact``: what a store holds, and keeping it small."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from jobs.commands.options import snapshot_option
from jobs.commands.places import STORE, WRITES, GuardedCommand
from jobs.commands.running import write_json


def store_named(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command its ``store``: by the option, or as an argument."""

    @wraps(command)
    def call(store: str | None, named: str | None, **options: Any) -> int:
        if store and named:
            raise click.UsageError(f"Two stores: {store} and {named}. Give one.")
        if not store and not named:
            raise click.UsageError("Which store? Give it by --store DIR.")
        return command(store=store or named, **options)

    argument = click.argument("named", metavar="[STORE]", required=False, type=STORE)
    option = click.option("--store", "-s", type=STORE, help="A store that `shiq index` built.")
    return option(argument(call))


@click.command(cls=GuardedCommand)
@store_named
@snapshot_option
@click.option(
    "--set-aside",
    is_flag=True,
    help="What belongs to the data and was set aside because it contradicts, instead.",
)
@click.option(
    "--aside",
    is_flag=True,
    help="What was left out when data was read, with its place and why, instead.",
)
def export(store: str, snapshot: int | None, set_aside: bool, aside: bool) -> int:
    """Print the assertions of a store as N-Triples."""
    from jobs.store import open_store as opened
    from jobs.store import place_of
    from jobs.text.stores import left_out_text
    from shiq.ntriples import assertion_lines
    from shiq.rdf.values_as_nodes import is_on_nodes

    with opened(place_of(store), snapshot, older=True) as kept:
        if aside:
            for text in map(left_out_text, kept.left_out()):
                click.echo(text, nl=False)
            return 0
        if set_aside:
            click.echo(
                "".join(f"{line}\n" for aside in kept.asides for line in aside.triples), nl=False
            )
            return 0
        for assertion in kept.export():
            if not is_on_nodes(assertion):
                click.echo("\n".join(assertion_lines(assertion)))
    return 0


@click.command(cls=GuardedCommand)
@store_named
@click.option(
    "--json", "json_file", type=WRITES, metavar="FILE", help="Write it as JSON; - for stdout."
)
@click.option(
    "--verify",
    is_flag=True,
    help="Read every file of the store, and name those that are not as they were written.",
)
def status(store: str, json_file: str | None, verify: bool) -> int:
    """What a store holds: snapshot, certificate, sizes, and which snapshots it keeps."""
    from dataclasses import asdict

    from jobs.store import open_store as opened
    from jobs.store import place_of
    from jobs.store import status as status_of
    from jobs.store.verify import verified
    from jobs.text.stores import status_text

    place = place_of(store)
    whole = {"verified": asdict(verified(place))} if verify else {}
    with opened(place) as kept:
        found = {**status_of(kept), **whole}
    if json_file != "-":
        click.echo(status_text(found))
    write_json(json_file, found)
    return 0


@click.command(cls=GuardedCommand)
@store_named
def compact(store: str) -> int:
    """Write the ranges of a store's tables that commits changed anew, and let older snapshots go.

    A table of which one copy is damaged (`shiq status --verify`) is written anew by the other.

    Files that no snapshot has needed for a week are removed, and in an object store what a build
    that died left.
    """
    from jobs.store import place_of
    from jobs.store.upkeep import compact as run

    click.echo(f"snapshot {run(place_of(store)).snapshot}")
    return 0
