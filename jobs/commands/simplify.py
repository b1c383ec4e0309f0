"""``shiq simplify``."""

from __future__ import annotations

import click

from jobs.commands.options import catalog_option, vocabulary_option
from jobs.commands.places import READS, WRITES, GuardedCommand
from jobs.commands.running import write_json


@click.command(cls=GuardedCommand)
@click.argument("tbox", nargs=-1, type=READS, required=True)
@click.option(
    "--json", "json_file", type=WRITES, metavar="FILE", help="Write it as JSON; - for stdout."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="With errors, where they come from.")
@catalog_option
@vocabulary_option
def simplify(
    tbox: tuple[str, ...],
    json_file: str | None,
    quiet: bool,
    verbose: bool,
    catalog: tuple[str, ...],
    vocabulary: tuple[str, ...],
) -> int:
    """What a TBox says to a checker: simplified TBox, DL-clauses, u-part and m-part roles,
    Fs(T), what lies outside SHIQ(D).
    """
    from jobs.text.simplified import simplified_text
    from shiq.catalog import read_catalog
    from shiq.rdf import read_ontology
    from shiq.vocabularies import choose
    from simplify import simplify as simplified
    from simplify.describe import report

    known = choose(vocabulary) if vocabulary else None
    reading = read_ontology(
        list(tbox), catalog=read_catalog(catalog) if catalog else None, vocabulary=known
    )
    found = report(simplified(reading.tbox))
    found["leftovers"] = [str(leftover) for leftover in reading.leftovers]
    if json_file != "-":
        click.echo(simplified_text(found))
    write_json(json_file, found)
    return 0
