"""Commands about an ontology without a base: ``shiq simplify``, ``vocabularies``,
``draft-mapping``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shiq.files import write_atomically
from shiq.inputs.catalog import read_catalog
from shiq.jobs.commands.options import catalog_option, json_option, quiet_option, vocabulary_option
from shiq.jobs.commands.places import READS, WRITES, GuardedCommand
from shiq.jobs.commands.running import write_json
from shiq.rml.draft import draft_mapping as draft
from shiq.simplify import simplify as simplified
from shiq.simplify.describe import describe_tbox
from shiq.support import pluralize
from shiq.vocabularies import NAMES, choose_tables, load_table, table_for_import


@click.command(cls=GuardedCommand)
@click.argument("tbox", nargs=-1, type=READS, required=True)
@json_option
@quiet_option
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
    """Show how a checker reads a TBox: simplified TBox, DL-clauses, u-part and m-part roles,
    Fs(T), and axioms outside SHIQ(D).

    \b
    shiq simplify onto.owl
    """
    from shiq.rdf import read_ontology

    known = choose_tables(vocabulary) if vocabulary else None
    reading = read_ontology(
        list(tbox), catalog=read_catalog(catalog) if catalog else None, vocabulary=known
    )
    found = describe_tbox(simplified(reading.tbox))
    found["leftovers"] = [str(leftover) for leftover in reading.leftovers]
    if json_file != "-":
        click.echo(simplified_text(found))
    write_json(json_file, found)
    return 0


# A simplified TBox.


def simplified_text(report: dict[str, Any]) -> str:
    """Text of a simplified TBox for the terminal: each part under its name, one row a line."""
    parts: dict[str, Any] = {}
    for name, part in report.items():
        parts.update(
            {f"{name}, {inner}": rows for inner, rows in part.items()}
            if isinstance(part, dict)
            else {name: part}
        )
    lines: list[str] = []
    for name, part in parts.items():
        lines += (
            [f"{name} ({len(part)})", *map(_row_text, part)]
            if isinstance(part, list)
            else [f"{name}: {part}"]
        )
        lines.append("")
    return "\n".join(lines).rstrip()


def _row_text(row: Any) -> str:
    """Text of one row of a simplified TBox."""
    return f"  {', '.join(map(str, row.values())) if isinstance(row, dict) else row}"


# ``shiq vocabularies``: the well-known vocabularies that shiq has tables of.


@click.command(cls=GuardedCommand)
@json_option
def vocabularies(json_file: str | None) -> int:
    """List the well-known vocabularies that need no file: what each term is, and the axioms that
    an import brings.

    The kind of a term is known wherever it is used. The axioms count where the ontology imports
    the vocabulary, or where --vocabulary NAME names it.

    \b
    shiq vocabularies
    shiq check --tbox onto.ttl --abox data.nt --insert tonight.nt --vocabulary skos
    """
    tables = [load_table(name) for name in NAMES]
    if json_file != "-":
        rows = [("name", "vocabulary", "terms", "axioms", "imported as")]
        rows += [
            (x.name, x.label, f"{len(x.kinds):,}", f"{len(x.axioms):,}", x.ontologies[0])
            for x in tables
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        for name, label, terms, axioms, iri in rows:
            line = f"{name:{widths[0]}}  {label:{widths[1]}}  {terms:>{widths[2]}}  {axioms:>{widths[3]}}  {iri}"
            click.echo(line.rstrip())
    found = [
        {
            **{"name": x.name, "title": x.title, "version": x.version, "source": x.source},
            **{
                "terms": len(x.kinds),
                "axioms": len(x.axioms),
                "ontologies": [*x.ontologies],
                "imports": [*x.imports],
            },
            "answered": all(
                table_for_import(iri) is not None for iri in (x.ontologies[0], *x.imports)
            ),
            "beyond": dict(x.non_dl_terms),
        }
        for x in tables
    ]
    write_json(json_file, {"vocabularies": found})
    return 0


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
    from shiq.rdf import read_ontology
    from shiq.rml.inputs import read_table_heads

    folder = Path.cwd() if out == "-" else Path(out).absolute().parent
    text = draft(read_table_heads(tables, folder), read_ontology([*tbox]))
    if out == "-":
        click.echo(text, nl=False)
        return 0
    write_atomically(Path(out), text)
    left = sum(
        line.lstrip().startswith("# column") or line.lstrip().startswith("# file")
        for line in text.splitlines()
    )
    todo = (
        f"; {pluralize(left, 'name')} {'has' if left == 1 else 'have'} no place yet, see its comments"
        if left
        else ""
    )
    click.echo(f"{out}: {pluralize(len(tables), 'table')}{todo}")
    return 0
