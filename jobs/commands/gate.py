"""Command ``shiq gate``: accept a batch, or its consistent part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shiq.api import open_store as opened
from shiq.deadline import report_stages_to
from shiq.errors import UsageError
from shiq.files import WHY
from shiq.jobs.checking.inputs import input_sources
from shiq.jobs.checking.options import Options, options_from_settings
from shiq.jobs.commands.options import (
    NearestChoice,
    after_run_options,
    checking_options,
    criterion_option,
    deletions_option,
    engine_option,
    field_option,
    field_options,
    insertions_option,
    is_update_file,
    jar_option,
    master_option,
    module_option,
    refuse_first,
    rows_option,
    store_option,
)
from shiq.jobs.commands.places import (
    READS,
    READS_PATH,
    GuardedCommand,
    OutputParameter,
)
from shiq.jobs.commands.running import (
    EarlyAnswer,
    FollowUp,
    Request,
    answer_writer,
    echo_unsliced_note,
    output_level,
    shorten_iris,
)
from shiq.jobs.gate import (
    GateAnswer,
    GateOptions,
    OutputFiles,
    Policy,
    QuarantineLimit,
    gate_with_repair,
    parse_limit,
    read_policy,
    write_outputs,
    write_reasons,
)
from shiq.jobs.gate import gate as run
from shiq.jobs.gate.culprits import LEAST
from shiq.jobs.gate.lines import output_file_name
from shiq.jobs.gate.output_tables import (
    is_delta_output,
    is_table_output,
    open_table_outputs,
    place_of_output,
)
from shiq.jobs.leftover_waivers import read_waivers
from shiq.jobs.outputs import OutputKind
from shiq.jobs.progress import ProgressLine
from shiq.jobs.text.gates import gate_text, headline

if TYPE_CHECKING:
    from shiq.api import Session
    from shiq.inputs.sources import TextInput


def _parse_quarantine_limit(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> QuarantineLimit | None:
    """Parse the value of ``--max-quarantine``; None if it is not given. Raises: UsageError."""
    return None if value is None else parse_limit(value)


def _gate_output_type(beside: str = "") -> OutputParameter:
    """Make the parameter type for the output of accepted, quarantined or tolerated lines: a file,
    or a folder for several batch files. ``beside``: suffix of a second file next to it.
    """

    def list_outputs(name: str, parameters: Mapping[str, Any]) -> list[tuple[str, OutputKind]]:
        if is_table_output(name):
            place = place_of_output(name)
            is_file = place == name and not is_delta_output(name)
            return [(place, OutputKind.FILE if is_file else OutputKind.OWN)] if place else []
        batch = parameters["insertions"]
        files = (
            [f"{Path(name)}/{i}-{output_file_name(file)}" for i, file in enumerate(batch)]
            if len(batch) > 1
            else []
        )
        own = (name, OutputKind.FOLDER if files else OutputKind.FILE)
        more = [*files, *([f"{Path(name)}{beside}"] if beside else [])]
        return [own, *((file, OutputKind.FILE) for file in more)]

    return OutputParameter(path_type=Path, list_outputs=list_outputs)


@click.command(cls=GuardedCommand)
@store_option(required=True)
@insertions_option(
    help="File of insertions; repeatable. N-Triples and N-Quads come out line by line as they stand; Turtle, TriG, RDF/XML and "
    "JSON-LD as N-Quads; tables (with --engine spark table:NAME too, or by --mapping) as N-Quads, or row by row where the sides "
    "are tables.",
)
@deletions_option()
@click.option(
    "--changes",
    type=READS,
    metavar="FILE.ru",
    help="Instead: a file of SPARQL Update, with INSERT DATA and DELETE DATA alone. Its insertions come out as N-Quads.",
)
@field_option(GateOptions, "mode")
@field_option(GateOptions, "unit", default=None, show_default=False)
@field_option(GateOptions, "aside")
@click.option(
    "--repair",
    type=NearestChoice(("none", LEAST)),
    default="none",
    show_default=True,
    help="least: accept literals in the spelling that the ontology wants, where a check confirms it, and set as few other lines "
    "aside as possible (--mode split --aside least). The quarantine keeps each corrected line as it came.",
)
@click.option(
    "--accepted",
    type=_gate_output_type(),
    metavar="FILE",
    help="Write the accepted lines there. Where the batch is one table: its rows, to a table (.delta, .parquet, .csv, .tsv; with "
    "--engine spark .delta, table:NAME). Delta and Iceberg tables are added to, once for each run.",
)
@click.option(
    "--quarantine",
    type=_gate_output_type(WHY),
    metavar="FILE",
    help="Write the lines set aside there, and why in FILE.why.json; or the rows to a table, with the columns reason, cause, "
    "conflict, axioms and hint. --mode split needs it, except with --dry-run.",
)
@field_option(GateOptions, "max_quarantine", callback=_parse_quarantine_limit)
@click.option(
    "--tolerated",
    type=_gate_output_type(),
    metavar="FILE",
    help="Write the lines there that contradict and that the policy lets pass; else they go with the quarantine.",
)
@click.option(
    "--policy",
    type=READS_PATH,
    metavar="FILE",
    help="Severities and waivers (TOML or JSON, docs/GATE.md): which conflicts do not hold the batch up.",
)
@click.option(
    "--today",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DAY",
    help="The day by which waivers, also those of --known, are judged.",
)
@field_option(GateOptions, "identities")
@field_option(Options, "require_nonempty", help="Fail (4) if a file of insertions has no triple.")
@field_options(GateOptions, "dry_run", "commit")
@field_option(
    Options,
    "explain_seconds",
    help="Seconds for suggesting corrections of lines set aside, at the end; 0 for none. Conflicts are "
    "explained without a limit, so that the quarantine does not depend on time.",
)
@criterion_option
@engine_option
@jar_option
@module_option
@rows_option
@master_option
@after_run_options
@checking_options
def gate(
    store: str,
    insertions: tuple[str, ...],
    deletions: tuple[str, ...],
    changes: str | None,
    repair: str,
    accepted: Path | None,
    quarantine: Path | None,
    tolerated: Path | None,
    policy: Path | None,
    today: datetime | None,
    quiet: bool,
    verbose: bool,
    json_file: str | None,
    reports: tuple[str, ...],
    baseline: str | None,
    **options: Any,
) -> int:
    """Accept a batch, or the part of it that contradicts nothing: 0 all accepted, 5 split, 1
    refused, 3 undetermined.

    \b
    shiq gate --store kg/ --insert tonight.nt --mode split --accepted good.nt --quarantine bad.nt --commit
    shiq gate --store kg/ --insert tonight.nt --repair least --accepted good.nt --quarantine bad.nt
    """
    refuse_first(
        (
            (
                changes and (insertions or deletions),
                UsageError(
                    "--changes are the whole batch",
                    "Leave --insert and --delete out, or --changes.",
                ),
            ),
            (
                not (insertions or changes),
                UsageError("nothing to gate", "Give --insert, or --changes FILE.ru."),
            ),
            (
                changes and not is_update_file(changes),
                UsageError(
                    f"{changes} is no file of SPARQL Update by its name, and the gate takes no other changes",
                    "Name it FILE.ru. Changes of a Delta table are for `shiq check --changes`.",
                ),
            ),
        )
    )
    if repair == LEAST:
        options |= {"mode": "split", "aside": LEAST}
    if options["mode"] == "split" and quarantine is None and not options["dry_run"]:
        raise UsageError(
            "--mode split sets lines aside, and no --quarantine says where they go",
            "Add --quarantine aside.nq, or --dry-run to see what would happen.",
        )
    after = FollowUp.pop_options(options)
    answer, so_far = (
        answer_writer(reports, json_file, baseline),
        answer_writer(reports, None if json_file == "-" else json_file, baseline),
    )
    day = (today or datetime.now(timezone.utc)).date()
    said = read_policy(policy, day) if policy else Policy(today=day)
    if known := options.pop("known"):
        options["known"] = read_waivers(Path(known), day)
    inputs = {"store": store, "insertions": insertions, "deletions": deletions}
    inputs |= {
        "changes": changes or "",
        "mode": options["mode"],
        "unit": options["unit"],
        "aside": options["aside"],
        "policy": str(policy or ""),
    }
    inputs |= {
        "mapping": options["mapping"],
        "quarantine": str(quarantine or ""),
        "max_quarantine": str(options["max_quarantine"] or ""),
    }
    good, bad = (str(side) if side else None for side in (accepted, quarantine))
    has_tables = _are_outputs_tables(good, bad, tolerated, options)
    coming, going = _batch_sides(insertions, deletions, changes, has_tables=has_tables)
    inputs["unit"] = options["unit"] = options["unit"] or (
        "row" if has_tables and options["mapping"] else "triple"
    )
    sides, asked = OutputFiles(accepted, quarantine, tolerated), Request("gate", inputs)
    progress, is_printed = ProgressLine(output_level(quiet, verbose)), json_file != "-"
    early = EarlyAnswer[GateAnswer](
        headline if is_printed else None,
        lambda found: so_far(found, asked, session.labels),
        progress,
    )
    with opened(store) as session, closing(progress), closing(early), report_stages_to(progress):
        labels = session.labels
        settings = {**options, "policy": said, "progress": progress}
        if has_tables and repair == LEAST:
            raise UsageError(
                "--repair corrects triples, and the sides are tables",
                "Name files of triples by --accepted and --quarantine.",
            )
        if not has_tables:
            gated = (gate_with_repair if repair == LEAST else run)(
                session,
                coming,
                going,
                deliver=partial(write_outputs, sides=sides),
                announce=early,
                **settings,
            )
        else:
            gate_rows = _gate_spark_table if options["engine"] == "spark" else _gate_local_table
            gated = gate_rows(session, insertions, deletions, good, bad, **settings)
    if early.answer is not None and not gated.dry_run:
        write_reasons(gated, sides)
    echo_unsliced_note(gated.result)
    if is_printed:
        text = shorten_iris(gate_text(gated, verbose=verbose), inputs)
        click.echo(text if early.answer is None else text.partition("\n")[2])
    answer(gated, asked, labels)
    after.run(gated, asked, gated.exit_code, has_row=not gated.dry_run)
    return gated.exit_code


def _batch_sides(
    insertions: Sequence[str],
    deletions: Sequence[str],
    changes: str | None,
    *,
    has_tables: bool,
) -> tuple[Sequence[str | TextInput], Sequence[str | TextInput]]:
    """Split the inputs of a batch into insertions and deletions; a SPARQL update becomes one text
    of each. Raises: UsageError, InputError.
    """
    if not changes:
        return insertions, deletions
    if has_tables:
        raise UsageError(
            "a side that is a table has the rows of a table, and --changes names none",
            "Name --accepted and --quarantine .nq.",
        )
    # Loaded where one is named.
    from shiq.rdf.sparql_update import update_changes

    update = update_changes(changes)
    return update.insertions, update.deletions


def _are_outputs_tables(
    accepted: str | None, quarantine: str | None, tolerated: Path | None, options: Mapping[str, Any]
) -> bool:
    """Decide whether the gate writes tables of rows instead of files of lines. Raises: UsageError
    for a mixture.
    """
    tables = [name is not None and is_table_output(name) for name in (accepted, quarantine)]
    if not any(tables):
        return False
    if (
        any(name is not None and not table for name, table in zip((accepted, quarantine), tables))
        or tolerated
    ):
        raise UsageError(
            "--accepted and --quarantine are both tables, or both files, and --tolerated goes with files",
            "Name both .delta (or .parquet, .csv, table:NAME), or both .nq; tolerated rows go to the quarantine.",
        )
    if options["mapping"] and options["unit"] not in (None, "row"):
        raise UsageError(
            "a row that a mapping reads goes to one side as a whole",
            "Leave --unit out, or say --unit row.",
        )
    return True


def _gate_local_table(
    session: Session,
    insertions: tuple[str, ...],
    deletions: tuple[str, ...],
    accepted: str | None,
    quarantine: str | None,
    **settings: Any,
) -> GateAnswer:
    """Gate a batch that is one table, and write accepted and quarantined rows on this machine."""
    tables = input_sources(list(insertions), options_from_settings(settings))
    sides = open_table_outputs(tables, accepted, quarantine, session.path)
    return run(
        session, [sides.source.source], deletions, deliver=sides.write, hints_first=True, **settings
    )


def _gate_spark_table(
    session: Session,
    insertions: tuple[str, ...],
    deletions: tuple[str, ...],
    accepted: str | None,
    quarantine: str | None,
    **settings: Any,
) -> GateAnswer:
    """Gate a batch that is one table of Spark; executors write accepted and quarantined rows."""
    from shiq.jobs.gate.frames import gate_tables

    return gate_tables(
        session,
        insertions,
        deletions=deletions,
        accepted=accepted,
        quarantine=quarantine,
        **settings,
    )
