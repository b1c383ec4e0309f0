"""``shiq vocabularies``: the well-known vocabularies that shiq has tables of."""

from __future__ import annotations

import click

from jobs.commands.places import WRITES, GuardedCommand
from jobs.commands.running import write_json


@click.command(cls=GuardedCommand)
@click.option(
    "--json", "json_file", type=WRITES, metavar="FILE", help="Write it as JSON; - for stdout."
)
def vocabularies(json_file: str | None) -> int:
    """List the well-known vocabularies that need no file: what each term is, and the axioms that
    an import brings.

    The kind of a term is known wherever it is used. The axioms count where the ontology imports
    the vocabulary, or where --vocabulary NAME names it.

    \b
    shiq vocabularies
    shiq check --tbox onto.ttl --abox data.nt --insert tonight.nt --vocabulary skos
    """
    from shiq.vocabularies import NAMES, answering, table

    tables = [table(name) for name in NAMES]
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
            "answered": all(answering(iri) is not None for iri in (x.ontologies[0], *x.imports)),
            "beyond": dict(x.beyond),
        }
        for x in tables
    ]
    write_json(json_file, {"vocabularies": found})
    return 0
