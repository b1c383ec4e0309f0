"""``shiq index``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jobs.checking.options import BUILDERS
from jobs.commands.options import Nearest, common, explain_option, lineage_option, master_option
from jobs.commands.places import READS, GuardedCommand, Writes, file_beside
from jobs.commands.running import Request, run_check
from jobs.files import WHY
from jobs.outputs import OutputKind


@click.command(cls=GuardedCommand)
@click.option("--tbox", "-t", multiple=True, type=READS, required=True, help="Ontology file; repeatable.")
@click.option(
    "--store", "-s", type=Writes(OutputKind.STORE), required=True, help="Directory of the store; made, or replaced atomically."
)
@click.argument("abox", nargs=-1, type=READS)
@click.option(
    "--set-aside-known",
    "known_file",
    type=Writes(path_type=Path, written=file_beside(WHY)),
    metavar="FILE",
    help="Set aside what the data contradicts by itself, as little as may be, and certify the rest. Written there as N-Triples, "
    "and why in FILE.why.json; the store keeps it as well.",
)
@click.option(
    "--engine",
    type=Nearest(["local", *BUILDERS]),
    default="local",
    show_default=True,
    help="Who builds it: local (in memory), or spark (in tasks; the same store, for an ABox of any size, best as N-Triples).",
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
@common
def index(tbox: tuple[str, ...], store: str, abox: tuple[str, ...], known_file: Path | None, **options: Any) -> int:
    """Build a store from a TBox and an ABox, and certify it. Exits as certify does."""
    from shiq.check import index as run

    asked = Request("index", {"store": store, "tbox": tbox, "abox": abox})
    if known_file is None:
        return run_check(lambda settings: run(list(tbox), list(abox), store, **settings), options, asked)
    from jobs.repair.known_conflicts import Repairing
    from jobs.text.gates import known_text
    from shiq.verdict import EXIT_CODES, Verdict

    repair = Repairing(known_file)
    is_text = options["json_file"] != "-"
    code = run_check(
        lambda settings: run(list(tbox), list(abox), store, repair=repair.during(settings), **settings), options, asked
    )
    if is_text and repair.known:
        click.echo("\n" + known_text(repair.known, is_refuted=code == EXIT_CODES[Verdict.INCONSISTENT]))
    return code
