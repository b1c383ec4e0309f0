"""Tables of well-known vocabularies: made from the vocabularies' own files, and compared with them.

    python -m tests.tools.vocabularies FOLDER            compare, term by term and axiom by axiom
    python -m tests.tools.vocabularies FOLDER --write    make the tables

FOLDER holds a file NAME.nq, NAME.nt, NAME.ttl or NAME.n3 for a vocabulary NAME. A vocabulary without a file there is passed over.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click

from shiq import vocabularies
from shiq.functional import axiom_text
from shiq.model import RDF
from shiq.rdf import read_ontology
from shiq.rdf.load import load
from shiq.rdf.vocabulary import TYPE
from shiq.reading import Reading
from shiq.signature import entities
from shiq.verdict import UNREAD

_FOLDER = Path(vocabularies.__file__).parent
_SUFFIXES = ("nq", "nt", "ttl", "n3")


@dataclass(frozen=True)
class Source:
    """What a vocabulary's own file does not say in a way that is alike for all: its title, version and documents."""

    title: str
    version: str
    namespaces: tuple[str, ...]
    ontologies: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()


_W3 = "http://www.w3.org/"
_DC = "http://purl.org/dc/"
SOURCES: dict[str, Source] = {
    "adms": Source("ADMS", "2015-07-22", (_W3 + "ns/adms#",)),
    "dc11": Source("Dublin Core elements", "1.1", (_DC + "elements/1.1/",)),
    "dcat": Source("DCAT", "2", (_W3 + "ns/dcat#",)),
    "dcmitype": Source("DCMI types", "2012-06-14", (_DC + "dcmitype/",)),
    "dcterms": Source("Dublin Core terms", "2020-01-20", (_DC + "terms/",)),
    "foaf": Source("FOAF", "0.99", ("http://xmlns.com/foaf/0.1/",)),
    "org": Source("ORG", "2014-04-12", (_W3 + "ns/org#",)),
    "prov": Source("PROV", "2013-04-30", (_W3 + "ns/prov#",)),
    "schema": Source("schema.org", "2022-10", ("http://schema.org/", "https://schema.org/")),
    "sh": Source("SHACL", "2017-07-20", (_W3 + "ns/shacl#",)),
    "skos": Source("SKOS", "2009-08-18", (_W3 + "2004/02/skos/core#",)),
    "skosxl": Source("SKOS-XL", "2009-08-18", (_W3 + "2008/05/skos-xl#",), (), (_W3 + "2004/02/skos/core",)),
    "sosa": Source("SOSA", "2017-10-19", (_W3 + "ns/sosa/",)),
    "ssn": Source("SSN", "2017-10-19", (_W3 + "ns/ssn/",), (), (_W3 + "ns/sosa/",)),
    "time": Source("OWL-Time", "2017-10-19", (_W3 + "2006/time#",)),
    "vann": Source("VANN", "2010-06-07", ("http://purl.org/vocab/vann/",)),
    "vcard": Source("vCard", "2014-05-22", (_W3 + "2006/vcard/ns#",)),
    "voaf": Source("VOAF", "2.3", ("http://purl.org/vocommons/voaf#",)),
    "void": Source("VoID", "2011-03-06", ("http://rdfs.org/ns/void#",)),
    "vs": Source("VS", "2011-12-12", (_W3 + "2003/06/sw-vocab-status/ns#",)),
    "wgs": Source("WGS84", "2009-04-20", (_W3 + "2003/01/geo/wgs84_pos#",)),
}


def file_of(folder: Path, name: str) -> Path | None:
    return next((path for suffix in _SUFFIXES if (path := folder / f"{name}.{suffix}").is_file()), None)


def make_table(name: str, path: Path) -> dict[str, Any]:
    """The facts of the vocabulary at ``path``, as its table states them."""
    source = SOURCES[name]
    # Read without the tables: these are what is made, or compared.
    with patch.object(vocabularies, "_NAMESPACES", {}):
        reading = read_ontology([path])
        kinds = _kinds(reading, path, source.namespaces)
    outside = [value for leftover in reading.leftovers for value in leftover.said]
    axioms = sorted({axiom_text(axiom) for axiom in (*reading.tbox.axioms, *outside) if _is_own(axiom, source.namespaces)})
    left = [leftover for leftover in reading.leftovers if leftover.kind in UNREAD | {"punning", "non-simple-role"}]
    left = [leftover for leftover in left if leftover.kind != "missing-import"]
    first = source.namespaces[0]
    terms = {
        kind: sorted(iri.removeprefix(first) for iri, of in kinds.items() if of == kind) for kind in sorted({*kinds.values()})
    }
    ontologies = source.ontologies or tuple(namespace.rstrip("#/") for namespace in source.namespaces)
    return {
        **{"title": source.title, "version": source.version, "ontologies": list(ontologies), "imports": list(source.imports)},
        **{"kinds": terms, "axioms": axioms, "left": sorted({leftover.message for leftover in left})},
    }


def _kinds(reading: Reading, path: Path, namespaces: tuple[str, ...]) -> dict[str, str]:
    signature = reading.tbox.signature
    both = signature.open_properties
    found: dict[str, str] = {}
    plain = load([path], "t", None).triples
    typed = zip(plain.subject, plain.predicate, plain.object)
    untold = {plain.terms[s] for s, p, o in typed if plain.terms[p] == TYPE and plain.terms[o] == RDF + "Property"}
    for kind, names in (
        ("property", untold),
        ("annotation", signature.annotation_properties),
        ("object", signature.object_properties - both),
        ("data", signature.data_properties - both),
        ("property", both),
        ("datatype", signature.datatypes),
        ("class", signature.classes),
    ):
        found.update(dict.fromkeys((str(n) for n in names if str(n).startswith(namespaces)), kind))
    return found


def _is_own(axiom: object, namespaces: tuple[str, ...]) -> bool:
    """Whether the axiom says something of a term of the vocabulary."""
    return any(entity.iri.startswith(namespaces) for entity in entities(axiom))


def compare(name: str, path: Path) -> list[str]:
    """How the table differs from the vocabulary's own file."""
    made, kept = make_table(name, path), json.loads((_FOLDER / f"{name}.json").read_text("utf-8"))
    return [
        *(f"{name}: {what} differ" for what in ("ontologies", "imports", "left") if made[what] != kept[what]),
        *_missing(name, "the table lacks", _facts(made), _facts(kept)),
        *_missing(name, "only the table has", _facts(kept), _facts(made)),
    ]


def _facts(table: dict[str, Any]) -> set[str]:
    return {f"{term} is of kind {kind}" for kind, terms in table["kinds"].items() for term in terms} | {*table["axioms"]}


def _missing(name: str, what: str, these: set[str], those: set[str]) -> Iterable[str]:
    return (f"{name}: {what}: {fact}" for fact in sorted(these - those))


def write_tables(folder: Path) -> None:
    for name in SOURCES:
        if path := file_of(folder, name):
            text = json.dumps(make_table(name, path), indent=0, ensure_ascii=False, sort_keys=True)
            (_FOLDER / f"{name}.json").write_text(text + "\n", "utf-8")
    made = {name: list(source.namespaces) for name, source in SOURCES.items() if (_FOLDER / f"{name}.json").is_file()}
    (_FOLDER / "namespaces.json").write_text(json.dumps(made, indent=1) + "\n", "utf-8")


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--write", is_flag=True, help="Make the tables anew.")
def main(folder: Path, write: bool) -> None:
    if write:
        write_tables(folder)
    absent = [name for name in SOURCES if file_of(folder, name) is None]
    differences = [found for name in SOURCES if (path := file_of(folder, name)) for found in compare(name, path)]
    for found in differences:
        click.echo(found)
    click.echo(f"{len(SOURCES) - len(absent)} vocabularies compared, {len(differences)} differences")
    click.echo(f"no file of {', '.join(absent) or 'none'}")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
