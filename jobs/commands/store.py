"""Commands about a store: ``shiq export``, ``status``, ``compact``, ``history``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from functools import wraps
from itertools import starmap
from pathlib import Path
from typing import Any

import click

from shiq.answers.verdict import Leftover
from shiq.errors import fill_in_store
from shiq.jobs.commands.options import json_option, snapshot_option, store_option
from shiq.jobs.commands.places import STORE, WRITES, GuardedCommand
from shiq.jobs.commands.running import write_json
from shiq.jobs.history import (
    ComparedRow,
    compare_rows,
    fold_old_rows,
    history_text,
    read_history,
    write_table,
)
from shiq.jobs.store import parse_location
from shiq.jobs.text.results import SHOWN, escape_controls
from shiq.model.ntriples import assertion_lines


def store_option_or_argument(command: Callable[..., int]) -> Callable[..., int]:
    """Decorator: let a command take its ``store`` as option ``--store`` or as a bare argument."""

    @wraps(command)
    def call(store: str | None, named: str | None, **options: Any) -> int:
        if store and named:
            raise click.UsageError(f"Two stores: {store} and {named}. Give one.")
        if not store and not named:
            raise click.UsageError("Which store? Give it by --store DIR.")
        return command(store=store or named, **options)

    argument = click.argument("named", metavar="[STORE]", required=False, type=STORE)
    option: Callable[[Any], Callable[..., int]] = store_option()
    return option(argument(call))


@click.command(cls=GuardedCommand)
@store_option_or_argument
@snapshot_option
@click.option(
    "--set-aside",
    is_flag=True,
    help="Export the assertions that were set aside because they contradict, instead.",
)
@click.option(
    "--aside",
    is_flag=True,
    help="Export what was left out when data was read, with place and reason, instead.",
)
def export(store: str, snapshot: int | None, set_aside: bool, aside: bool) -> int:
    """Print the assertions of a store as N-Triples.

    \b
    shiq export kg/ > data.nt
    """
    from shiq.jobs.store import open_store as opened
    from shiq.rdf.values_as_nodes import is_on_value_nodes

    with opened(parse_location(store), snapshot, older=True) as kept:
        if aside:
            for text in map(left_out_text, kept.left_out()):
                click.echo(text, nl=False)
            return 0
        if set_aside:
            click.echo(
                "".join(f"{line}\n" for aside in kept.quarantine for line in aside.triples),
                nl=False,
            )
            return 0
        for assertion in kept.export():
            if not is_on_value_nodes(assertion):
                click.echo("\n".join(assertion_lines(assertion)))
    return 0


@click.command(cls=GuardedCommand)
@store_option_or_argument
@json_option
@click.option(
    "--verify",
    is_flag=True,
    help="Read every file of the store, and name those that are not as they were written.",
)
def status(store: str, json_file: str | None, verify: bool) -> int:
    """Show the content of a store: snapshot, certificate, sizes, and kept snapshots.

    \b
    shiq status kg/
    shiq status kg/ --verify
    """
    from shiq.jobs.store import open_store as opened
    from shiq.jobs.store import status as status_of
    from shiq.jobs.store.verify import verify_store

    place = parse_location(store)
    whole = {"verified": asdict(verify_store(place))} if verify else {}
    with opened(place) as kept:
        found = {**status_of(kept), **whole}
    if json_file != "-":
        click.echo(status_text(found))
    write_json(json_file, found)
    return 0


@click.command(cls=GuardedCommand)
@store_option_or_argument
def compact(store: str) -> int:
    """Rewrite the parts of a store's tables that commits changed, and drop older snapshots.

    A table of which one copy is damaged (`shiq status --verify`) is written anew by the other.

    Files that no snapshot has needed for a week are removed, and in an object store what a build
    that died left.

    \b
    shiq compact --store kg/
    """
    from shiq.jobs.store.upkeep import compact as run

    click.echo(f"snapshot {run(parse_location(store)).snapshot}")
    fold_old_rows(parse_location(store))
    return 0


@click.command(cls=GuardedCommand)
@store_option_or_argument
@json_option
@click.option(
    "--parquet", type=WRITES, metavar="FILE", help="Write it as a table, a row for each run."
)
@click.option("--last", type=click.IntRange(1), metavar="N", help="The newest N runs alone.")
def history(store: str, json_file: str | None, parquet: str | None, last: int | None) -> int:
    """List the checks and gates of a store: when, what was answered, what it took.

    \b
    shiq history --store kg/ --last 14
    shiq history --store kg/ --json history.json
    shiq report --history kg/ --html history/

    A cause of conflicts is new, known or gone beside the run before. A run is listed where it left
    a row: without --no-history, and where the store can be written.
    """
    rows, unread = read_store_history(store)
    shown = rows[-last:] if last else rows
    if json_file != "-":
        click.echo("\n".join(map(escape_controls, history_text(shown).split("\n"))))
    for name in unread:
        click.echo(f"warning: cannot be read: {name}", err=True)
    if parquet:
        write_table(shown, Path(parquet))
    write_json(
        json_file, {"store": store, "runs": [row.to_dict() for row in shown], "unread": unread}
    )
    return 0


def read_store_history(store: str) -> tuple[list[ComparedRow], list[str]]:
    """Read the runs in the history of a store, each compared with the run before it. Returns also
    the names of unreadable files. Raises: StoreError if ``store`` is no store.
    """
    from shiq.jobs.store import parse_location
    from shiq.jobs.store.manifest import read_manifest

    place = parse_location(store)
    read_manifest(place, older=True)
    rows, unread = read_history(place)
    return compare_rows(rows), unread


# What a store holds.


def status_text(found: Mapping[str, Any]) -> str:
    """Text for the terminal of the JSON that `shiq.jobs.store.status` returns."""
    certificate = found["certificate"]
    certified = "not certified"
    if certificate:
        certified = f"{certificate['verdict']}, decided by {certificate['reasoner']} on {certificate['date']}"
        certified += f": {certificate['reason']}" if certificate["reason"] else ""
    tables, read = found["tables"].values(), found.get("verified", {})
    verified = (
        [
            f"verified: {read['files']:,} files, {read['bytes'] / 2**20:,.1f} MiB, are as they were written"
        ]
        if read
        else []
    )
    kinds = ", ".join(
        f"{kind} {found[f'{kind}_assertions']:,}" for kind in ("class", "role", "data")
    )
    text = "\n".join(
        [
            f"snapshot {found['snapshot']}, made {found['created']}",
            f"certificate: {certified}",
            "the model that certified it is kept: checks patch it (criterion model)"
            if found["completed"]
            else "no model is kept: checks use the criterion clausal (`shiq certify --store DIR` makes one)",
            f"{found['assertions']:,} assertions ({kinds}) about {found['individuals']:,} individuals",
            f"{found['axioms']:,} axioms; {_leftovers_text(found)}{_allowed_text(certificate or {})}",
            *_left_out_lines(found["left_out"], found["left_out_unkept"]),
            *_quarantine_lines(found["set_aside"]),
            *starmap(_feed_line, sorted(found["taken"].items())),
            f"{sum(t['files'] for t in tables):,} files, {sum(t['bytes'] for t in tables) / 2**20:,.1f} MiB, "
            f"{sum(t['removed'] for t in tables):,} removed rows",
            *verified,
            *_snapshot_lines(found["snapshots"]),
        ]
    )
    return fill_in_store(text, found["store"])


def _leftovers_text(found: Mapping[str, Any]) -> str:
    """Text with the number of leftovers in base and TBox, and the number of their triples if it
    differs.
    """
    number, triples = found["leftovers"], found["leftover_triples"]
    return f"{number:,} leftovers{f' ({triples:,} triples)' if triples != number else ''}"


def _allowed_text(certificate: Mapping[str, Any]) -> str:
    """Text about the base's leftovers that were allowed when it was certified."""
    counts, allowed = certificate.get("counts", {}), certificate.get("allowed", ())
    parts = [f"{counts[kind]:,} {kind}" for kind in sorted(allowed) if counts.get(kind)]
    return f", of which allowed, once for all: {', '.join(parts)}" if parts else ""


def left_out_text(one: Leftover) -> str:
    """Text of a left-out statement (not understood, so not in the store), below a comment with its
    file, line and reason.
    """
    # Tabs stay.
    parts = [map(escape_controls, line.split("\t")) for line in one.text.split("\n") if one.text]
    times = f" [{one.number:,} of them]" if one.number > 1 else ""
    return "\n".join([f"# {escape_controls(str(one))}{times}", *map("\t".join, parts), ""])


def _left_out_lines(counts: Mapping[str, int], unkept: int) -> list[str]:
    """Lines about statements of the data that were not understood and take part in no check.
    ``counts``: by kind of leftover; ``unkept``: how many were counted but not recorded.
    """
    parts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    told = (
        [
            f"left out when the data was read, and in no check: {parts} (`shiq export --store DIR --aside` prints them)"
        ]
        if parts
        else []
    )
    return (
        [*told, f"of these {unkept:,} are only counted, or shortened: they are in the data alone"]
        if unkept
        else told
    )


def _feed_line(feed: str, number: int) -> str:
    """Line about the last batch of a feed: a table version, a snapshot's time, or a batch number of
    a Spark query.
    """
    name, mark, table = feed.rpartition("#")
    if not mark:
        return f"taken of the query {table}: up to batch {number}"
    if table == "iceberg":
        moment = datetime.fromtimestamp(number / 1000, timezone.utc).isoformat(
            timespec="milliseconds"
        )
        return f"taken of {name}: up to the snapshot of {moment}"
    return f"taken of {name}: up to version {number}"


def _quarantine_lines(counts: Mapping[str, int]) -> list[str]:
    """Line with the number of assertions in the store's quarantine ledger (set aside because they
    contradict the base); empty if there are none.
    """
    parts = ", ".join(f"{count:,} {why}" for why, count in sorted(counts.items()))
    return (
        [f"set aside, and in no check: {parts} (`shiq export --store DIR --set-aside` prints them)"]
        if parts
        else []
    )


def _snapshot_lines(kept: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines about the kept snapshots, latest first."""
    lines = [f"{len(kept):,} snapshot{'s' if len(kept) != 1 else ''} kept:"]
    for past in kept[:SHOWN]:
        verdict = past["verdict"] or "not certified"
        lines.append(
            f"  {past['snapshot']}, made {past['created']}: {past['assertions']:,} assertions, {verdict}"
        )
    if len(kept) > SHOWN:
        lines.append(f"  … down to {kept[-1]['snapshot']}: --json FILE lists them all.")
    return lines
