"""Commands ``shiq certify``, ``shiq index``, which stores what it certifies, and ``shiq init``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from shiq.answers.verdict import EXIT_CODES, Verdict
from shiq.files import WHY
from shiq.jobs.checking.options import BUILDERS, REPLACE_ALWAYS, Options
from shiq.jobs.commands.options import (
    NearestChoice,
    checking_options,
    engine_option,
    explain_option,
    field_option,
    jar_option,
    lineage_option,
    master_option,
    repairs_option,
)
from shiq.jobs.commands.places import (
    INPUTS,
    STORE,
    GuardedCommand,
    OutputParameter,
)
from shiq.jobs.commands.running import Request, run_check
from shiq.jobs.configuration import write_configuration
from shiq.jobs.option_fields import Heading
from shiq.jobs.outputs import OutputKind
from shiq.jobs.store import parse_location
from shiq.jobs.store.replacing import claim_place


class _IndexCommand(GuardedCommand):
    """Command `shiq index`, whose option ``--replace`` takes a value only after ``=``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; ``--replace`` without a value takes its default."""
        end = args.index("--") if "--" in args else len(args)
        given = [f"--replace={CHECKED}" if word == "--replace" else word for word in args[:end]]
        return super().parse_args(ctx, [*given, *args[end:]])


#: What ``--replace`` means by itself.
CHECKED = "checked"


@click.command(cls=_IndexCommand)
@click.option("--tbox", "-t", multiple=True, type=INPUTS, help="Ontology file; repeatable.")
@click.option(
    "--from-store",
    type=STORE,
    metavar="OLD",
    help="Take TBox and ABox of another store, which stays as it is, with what is set aside or left out there: the way from a "
    "store of an older format to one of this.",
)
@click.option(
    "--store",
    "-s",
    type=OutputParameter(OutputKind.STORE),
    required=True,
    help="Directory or address of the store, which is made. One that is there needs --replace.",
)
@click.argument("abox", nargs=-1, type=INPUTS)
@click.option(
    "--replace",
    "replacing",
    type=NearestChoice([CHECKED, REPLACE_ALWAYS]),
    metavar="[=always]",
    help="Build a store that is there anew, in one step at the end; till then it stays, for sessions that have it open too. A "
    "base that is inconsistent, or undetermined where the old one was consistent, does not take its place (exit 1 or 3); with "
    "--replace=always it does.",
)
@click.option(
    "--set-aside-known",
    "known_file",
    type=OutputParameter(
        path_type=Path,
        list_outputs=lambda name, parameters: [
            (place, OutputKind.FILE) for place in (name, f"{Path(name)}{WHY}")
        ],
    ),
    metavar="FILE",
    help="Set aside what the data contradicts by itself, as little as may be, and certify the rest. Written there as N-Triples, "
    "and why in FILE.why.json; the store keeps it as well.",
)
@field_option(
    Options,
    "engine",
    type=NearestChoice(["local", *BUILDERS]),
    heading=Heading.COMMAND,
    help="Engine that builds it: local (this machine), or spark (in tasks; the same store, for an ABox of any size).",
)
@click.option(
    "--range",
    "range_size",
    type=click.IntRange(1),
    metavar="N",
    help="Individuals of a range: each range of a large table is a file, which commits leave alone until a fifth of it changed. "
    "[default: 131072]",
)
@master_option
@explain_option
@lineage_option
@checking_options
def index(
    tbox: tuple[str, ...],
    from_store: str | None,
    store: str,
    abox: tuple[str, ...],
    replacing: str | None,
    known_file: Path | None,
    **options: Any,
) -> int:
    """Build a store from a TBox and an ABox, and certify it. Exits as certify does.

    \b
    shiq index --tbox onto.owl --store kg/ data.nt.gz
    shiq index --tbox onto.owl --store kg/ --replace data.nt.gz
    shiq index --from-store old/ --store kg/

    A first index makes its store whatever the verdict is. One that is there stays, unless
    --replace is given (exit 2).
    """
    from shiq.api import index as build

    if not tbox and from_store is None:
        raise click.UsageError("No ontology: give --tbox FILE, or --from-store OLD.")
    replace_store: bool | str = (
        REPLACE_ALWAYS if replacing == REPLACE_ALWAYS else replacing is not None
    )
    claim_place(parse_location(store), replace_store)  # before reports of an earlier run go
    run = partial(build, replace_store=replace_store, from_store=from_store)
    asked = Request(
        "index",
        {
            "store": store,
            "tbox": tbox,
            "abox": abox,
            "from_store": from_store,
            "replace": replacing,
            "mapping": options["mapping"],
        },
    )
    if known_file is None:
        return run_check(
            lambda settings: run(list(tbox), list(abox), store, **settings), options, asked
        )
    from shiq.jobs.known_conflicts import ConflictRepair
    from shiq.jobs.text.gates import known_text

    repair = ConflictRepair(known_file)
    is_text = options["json_file"] != "-"
    code = run_check(
        lambda settings: run(
            list(tbox), list(abox), store, repair=repair.with_progress_of(settings), **settings
        ),
        options,
        asked,
    )
    if is_text and repair.known_conflicts:
        click.echo(
            "\n"
            + known_text(
                repair.known_conflicts, is_refuted=code == EXIT_CODES[Verdict.INCONSISTENT]
            )
        )
    return code


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
@repairs_option
@explain_option
@checking_options
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
    from shiq.api import certify as run
    from shiq.api import certify_store

    if bool(store) == bool(ontology):
        raise click.UsageError("Give either files, or --store.")
    if store and options["repairs"]:
        raise click.UsageError(
            f"--repairs goes with files. To repair {store}: shiq export --store {store} > data.nt, then certify data.nt."
        )
    if store is None:
        if tbox:
            raise click.UsageError("--tbox goes with --store; name the files without it.")
        named = Request("certify", {"ontology": ontology, "mapping": options["mapping"]})
        return run_check(lambda settings: run(list(ontology), **settings), options, named)
    asked = Request("certify", {"store": store, "tbox": tbox})
    return run_check(
        lambda settings: certify_store(store, list(tbox) or None, **settings), options, asked
    )


@click.command(cls=GuardedCommand)
@click.option(
    "--tbox", "-t", multiple=True, required=True, type=INPUTS, help="Ontology file; repeatable."
)
@click.option(
    "--store",
    "-s",
    default="kg",
    show_default=True,
    type=STORE,
    help="Folder or address of the new store.",
)
@click.argument("data", nargs=-1, type=INPUTS)
def init(tbox: tuple[str, ...], store: str, data: tuple[str, ...]) -> int:
    """Write shiq.toml, a policy of the gate, and a workflow for pull requests into this folder.

    \b
    shiq init --tbox onto.ttl data.nt.gz
    """
    for name in write_configuration(tbox, data, store):
        click.echo(f"wrote {name}")
    click.echo(f"next: shiq index {' '.join(data) or 'DATA'}")
    return 0
