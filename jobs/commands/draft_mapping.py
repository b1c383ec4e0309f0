"""``shiq draft-mapping``."""

from __future__ import annotations

from pathlib import Path

import click

from jobs.commands.places import READS, WRITES, GuardedCommand


@click.command("draft-mapping", cls=GuardedCommand)
@click.argument("tables", nargs=-1, type=READS, required=True)
@click.option(
    "--tbox", "-t", multiple=True, type=READS, required=True, help="Ontology file; repeatable."
)
@click.option(
    "--out",
    "-o",
    type=WRITES,
    default="-",
    metavar="FILE",
    help="Write it there, as .yml.  [default: stdout]",
)
def draft_mapping(tables: tuple[str, ...], tbox: tuple[str, ...], out: str) -> int:
    """Write a first mapping of tables (YARRRML), from the names of their columns and of the
    ontology's terms.

    \b
    shiq draft-mapping machines.csv sensors.csv --tbox plant.ttl --out mapping.yml
    shiq certify plant.ttl machines.csv sensors.csv --mapping mapping.yml

    What it could not place is a comment in it: edit it.
    """
    from jobs.files import write_whole
    from shiq.amounts import count
    from shiq.rdf import read_ontology
    from shiq.rml.draft import draft_mapping as draft
    from shiq.rml.inputs import table_heads

    folder = Path.cwd() if out == "-" else Path(out).absolute().parent
    text = draft(table_heads(tables, folder), read_ontology([*tbox]))
    if out == "-":
        click.echo(text, nl=False)
        return 0
    write_whole(Path(out), text)
    left = sum(
        line.lstrip().startswith("# column") or line.lstrip().startswith("# file")
        for line in text.splitlines()
    )
    todo = (
        f"; {count(left, 'name')} {'has' if left == 1 else 'have'} no place yet, see its comments"
        if left
        else ""
    )
    click.echo(f"{out}: {count(len(tables), 'table')}{todo}")
    return 0
