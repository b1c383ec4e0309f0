"""Command ``shiq check``: is the base with a batch consistent?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

import shiq
from shiq.answers.verdict import EXIT_CODES, Verdict
from shiq.errors import StoreError, UsageError
from shiq.inputs.sources import TABLE, classify_input
from shiq.jobs.checking.options import PUBLISHED, Options
from shiq.jobs.commands.options import (
    KINDS_LISTED,
    after_run_options,
    checking_options,
    criterion_option,
    deletions_option,
    engine_option,
    explain_option,
    field_option,
    insertions_option,
    is_update_file,
    jar_option,
    lineage_option,
    master_option,
    module_option,
    refuse_first,
    repairs_option,
    rows_option,
    snapshot_option,
    store_option,
)
from shiq.jobs.commands.places import INPUTS, READS, GuardedCommand, OutputParameter
from shiq.jobs.commands.running import Request, run_check
from shiq.jobs.outputs import OutputKind

if TYPE_CHECKING:
    from shiq.rdf.delta_changes import TableChanges


def _reduced_output(name: str, parameters: Mapping[str, Any]) -> list[tuple[str, OutputKind]]:
    """List what ``--reduced`` writes, a file or a folder, so that outputs that would replace an
    input can be refused.
    """
    # Loaded where it is asked for.
    from shiq.jobs.reduced_ontology import output_kind

    return [(name, output_kind(name, parameters["engine"]))]


@click.command(cls=GuardedCommand, epilog=KINDS_LISTED)
@store_option()
@click.option(
    "--tbox",
    "-t",
    multiple=True,
    type=INPUTS,
    help="Ontology file, instead of a store; repeatable.",
)
@click.option(
    "--abox",
    "-a",
    multiple=True,
    type=INPUTS,
    help="ABox file, instead of a store; repeatable. The base is certified first.",
)
@insertions_option()
@deletions_option()
@click.option(
    "--changes",
    type=READS,
    help="A Delta table of triples (with --engine spark table:NAME too): its changes are the batch. Or a file FILE.ru of "
    "SPARQL Update, with INSERT DATA and DELETE DATA alone.",
)
@click.option(
    "--from-version",
    type=click.IntRange(0),
    help="The first version of --changes whose changes count.  [default: the one after the last that the store took]",
)
@click.option(
    "--after-version",
    type=click.IntRange(0),
    help="Instead: the last version whose changes were taken before.",
)
@click.option("--to-version", type=click.IntRange(0), help="The last one.  [default: the newest]")
@click.option(
    "--commit",
    is_flag=True,
    help="Take the batch into the store, in one step, if it is consistent.",
)
@field_option(Options, "require_nonempty")
@field_option(Options, "why_pulled")
@field_option(Options, "verdict_only")
@click.option(
    "--reduced",
    type=OutputParameter(list_outputs=_reduced_output),
    metavar="FILE",
    help="With --criterion definition7: write what was decided, A_add with the simplified TBox, for a reasoner of your own: "
    ".ofn, .nt, or a table of triples (.csv, .parquet, .delta). 3 if that is not the whole question.",
)
@repairs_option
@snapshot_option
@criterion_option
@engine_option
@jar_option
@module_option
@rows_option
@master_option
@explain_option
@lineage_option
@after_run_options
@checking_options
def check(
    store: str | None,
    tbox: tuple[str, ...],
    abox: tuple[str, ...],
    insertions: tuple[str, ...],
    deletions: tuple[str, ...],
    changes: str | None,
    from_version: int | None,
    after_version: int | None,
    to_version: int | None,
    commit: bool,
    reduced: str | None,
    snapshot: int | None,
    **options: Any,
) -> int:
    """Does this batch keep the knowledge base consistent?

    \b
    shiq check --store kg/ --insert tonight.nt --commit
    shiq check --tbox t.owl --abox data.nt.gz --insert tonight.nt --delete gone.nt
    shiq check --store kg/ --changes lake/triples --from-version 18 --commit
    shiq check --store kg/ --changes tonight.ru --commit
    """
    from shiq.api import check_insertions
    from shiq.api import open_store as opened

    begun = (from_version is not None) + (after_version is not None)
    is_update = bool(changes) and is_update_file(str(changes))
    has_range = bool(begun) or to_version is not None
    file = abox[0] if abox else ""
    is_published = options["criterion"] == PUBLISHED or options["engine"] == "graphframes"
    rules = (
        (bool(store) == bool(tbox), "Give either --store, or --tbox (with --abox)."),
        (
            store and abox,
            f"--abox goes with --tbox; a store has its own ABox. To add the file to it: shiq check --store {store} --insert "
            f"{file} --commit. To check against the file: --tbox FILE instead of --store.",
        ),
        (commit and not store, "--commit goes with --store."),
        (snapshot is not None and not store, "--snapshot goes with --store."),
        (
            commit and snapshot is not None,
            "A batch can only be committed onto the present snapshot: leave --snapshot or --commit out.",
        ),
        (
            not (insertions or deletions or changes),
            "Nothing to check: give --insert, --delete or both, or --changes.",
        ),
        (
            is_update and has_range,
            f"{changes} is the whole batch: leave --from-version, --after-version and --to-version out.",
        ),
        (
            begun > 1 or (has_range and not changes),
            "--changes goes with --from-version or --after-version, and perhaps --to-version.",
        ),
        (
            changes and not (is_update or begun or store),
            "--changes goes with --from-version or --after-version, where no --store remembers what it took.",
        ),
        (
            changes and (insertions or deletions),
            "--changes are the whole batch: leave --insert and --delete out.",
        ),
        (
            reduced and not is_published,
            f"--reduced is what the published method decides: give --criterion {PUBLISHED} too.",
        ),
    )
    refuse_first((is_broken, click.UsageError(message)) for is_broken, message in rules)
    if reduced:
        # Loaded where it is asked for.
        from shiq.jobs.reduced_ontology import refuse_output

        refuse_output(reduced, options["engine"])

    inputs: dict[str, Any] = {"store": store, "snapshot": snapshot, "tbox": tbox, "abox": abox}
    inputs |= {
        "insertions": insertions,
        "deletions": deletions,
        "changes": changes,
        "mapping": options["mapping"],
    }

    gaps: list[str] = []

    def run(settings: dict[str, Any]) -> shiq.Result:
        with ExitStack() as stack:
            result = check_batch(settings, stack)
            if not reduced:
                return result
            # Loaded where it is asked for.
            from shiq.jobs.reduced_ontology import write_reduced

            gaps[:] = write_reduced(result, Path(reduced))
            notes = [f"{reduced} is not the whole question: {'; '.join(gaps)}"] if gaps else []
            return replace(
                result, evidence=replace(result.evidence, notes=(*result.evidence.notes, *notes))
            )

    def check_batch(settings: dict[str, Any], stack: ExitStack) -> shiq.Result:
        session = stack.enter_context(opened(store, snapshot)) if store else None
        if is_update or not changes:
            added: Sequence[Any]
            removed: Sequence[Any]
            added, removed = insertions, deletions
            if is_update:
                update = shiq.update_changes(str(changes))
                added, removed = update.insertions, update.deletions
            if session is None:
                return check_insertions(
                    list(tbox), list(abox), list(added), list(removed), **settings
                )
            return session.check(list(added), list(removed), commit=commit, **settings)
        assert changes
        taken = session.taken if session else {}
        batch = _table_changes(changes, from_version, after_version, to_version, settings, taken)
        if batch is None:
            on_spark = " --engine spark" if settings["engine"] == "spark" else ""
            raise UsageError(
                f"{store} has taken no version of {changes} that it could go on from",
                "Say once where to begin, 0 for all of its rows: "
                f"shiq check{on_spark} --store {quote(str(store))} --changes {quote(changes)} --from-version 0 --commit",
            )
        inputs.update(from_version=str(batch.first), to_version=str(batch.last))
        if session is None:
            result = check_insertions(
                list(tbox), list(abox), [batch.insertions], [batch.deletions], **settings
            )
        else:
            batch.refuse_other_table(session.taken)
            if not begun and session.taken != taken:
                raise StoreError(
                    f"{store}: another writer took versions of a table meanwhile",
                    "Run the same again.",
                )
            feed = {batch.feed: batch.number} if batch.feed else None
            result = session.check(
                [batch.insertions], [batch.deletions], commit=commit, taken=feed, **settings
            )
        return replace(
            result, evidence=replace(result.evidence, notes=(*result.evidence.notes, str(batch)))
        )

    code = run_check(run, options, Request("check", inputs))
    return EXIT_CODES[Verdict.UNDETERMINED] if gaps and code == 0 else code


def _table_changes(
    table: str,
    first: int | None,
    after: int | None,
    last: int | None,
    options: dict[str, Any],
    taken: Mapping[str, int],
) -> TableChanges | None:
    """Read the changes of ``table`` up to version ``last``: from ``first`` on, or after ``after``,
    or by default after the version that ``taken`` records as applied. Spark reads tables that
    nothing else can read.

    Returns None if no version is known. Raises: InputError, UsageError, OperationalError.
    """
    if options["engine"] == "spark":
        from shiq.jobs.spark.session_tables import applied_version, hidden_version, lake_changes

        if not table.startswith(TABLE) and hidden_version(table) is not None:
            table = f"{TABLE}delta.`{Path(table).absolute()}`"
        if table.startswith(TABLE):
            on_spark = Options(engine="spark", master=options["master"])
            if (
                first is None
                and after is None
                and (after := applied_version(table, on_spark, taken)) is None
            ):
                return None
            return lake_changes(table, on_spark, first, last, after=after)
    if table.startswith(TABLE):
        classify_input(table)
    from shiq.rdf.delta_changes import next_version

    if after is not None:
        first = after + 1
    if first is None and (first := next_version(table, taken)) is None:
        return None
    return shiq.table_changes(table, first, last)
