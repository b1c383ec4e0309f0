"""``shiq check``."""

from __future__ import annotations

from typing import Any

import click

import shiq
from jobs.commands.options import (
    KINDS_LISTED,
    common,
    criterion_option,
    engine_option,
    explain_option,
    jar_option,
    master_option,
    snapshot_option,
)
from jobs.commands.running import Request, run_check


@click.command(epilog=KINDS_LISTED)
@click.option("--store", "-s", help="A store that `shiq index` built.")
@click.option("--tbox", "-t", multiple=True, help="Ontology file, instead of a store; repeatable.")
@click.option("--abox", "-a", multiple=True, help="ABox file, instead of a store; repeatable. The base is certified first.")
@click.option("--insert", "-i", "insertions", multiple=True, help="File of insertions; repeatable.")
@click.option("--delete", "-d", "deletions", multiple=True, help="File of deletions, which come first; repeatable.")
@click.option("--commit", is_flag=True, help="Take the batch into the store, in one step, if it is consistent.")
@click.option("--require-nonempty", is_flag=True, help="End with 4 if the batch holds nothing: a feed that broke off, perhaps.")
@click.option("--why-pulled", is_flag=True, help="Print, clause by clause, what made it look at more than the batch touches.")
@click.option(
    "--verdict-only", is_flag=True, help="Stop where an inconsistency is certain: no conflicts, counts of what was seen."
)
@snapshot_option
@criterion_option
@engine_option
@jar_option
@master_option
@explain_option
@common
def check(
    store: str | None,
    tbox: tuple[str, ...],
    abox: tuple[str, ...],
    insertions: tuple[str, ...],
    deletions: tuple[str, ...],
    commit: bool,
    require_nonempty: bool,
    why_pulled: bool,
    verdict_only: bool,
    snapshot: int | None,
    **options: Any,
) -> int:
    """Does this batch keep the knowledge base consistent?

    \b
    shiq check --store kg/ --insert tonight.nt --commit
    shiq check --tbox t.owl --abox data.nt.gz --insert tonight.nt --delete gone.nt
    """
    from shiq.check import check_insertions
    from shiq.check import open_store as opened

    if bool(store) == bool(tbox):
        raise click.UsageError("Give either --store, or --tbox (with --abox).")
    if store and abox:
        raise click.UsageError("--abox goes with --tbox; a store has its own ABox.")
    if (commit or snapshot is not None) and not store:
        raise click.UsageError(f"{'--commit' if commit else '--snapshot'} goes with --store.")
    if commit and snapshot is not None:
        raise click.UsageError("A batch can only be committed onto the present snapshot: leave --snapshot or --commit out.")
    if not insertions and not deletions:
        raise click.UsageError("Nothing to check: give --insert, --delete or both.")

    options |= {"require_nonempty": require_nonempty, "why_pulled": why_pulled, "verdict_only": verdict_only}

    def run(settings: dict[str, Any]) -> shiq.Result:
        if store is None:
            return check_insertions(list(tbox), list(abox), list(insertions), list(deletions), **settings)
        with opened(store, snapshot) as session:
            return session.check(list(insertions), list(deletions), commit=commit, **settings)

    inputs = {"store": store, "snapshot": snapshot, "tbox": tbox, "abox": abox, "insertions": insertions, "deletions": deletions}
    return run_check(run, options, Request("check", inputs))
