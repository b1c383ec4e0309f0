"""Tables of well-known vocabularies: made from the vocabularies' own files, and compared with them.

    python -m tests.tools.vocabularies FOLDER            compare, term by term and axiom by axiom
    python -m tests.tools.vocabularies FOLDER --write    make the tables

FOLDER holds a file NAME.nq, NAME.nt, NAME.ttl or NAME.n3 for a vocabulary NAME. A vocabulary
without a file there is passed over.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click

from shiq import model as owl
from shiq import vocabularies
from shiq.answers.verdict import UNREAD
from shiq.functional import axiom_text
from shiq.inputs.reading import Reading
from shiq.model import RDF
from shiq.model.walk import OF_INDIVIDUALS, entities, is_reserved
from shiq.rdf import read_ontology
from shiq.rdf.load import load_sources
from shiq.rdf.triples import Triples
from shiq.rdf.values_as_nodes import restore_data_properties
from shiq.rdf.vocabulary import (
    ANNOTATIONS,
    CHARACTERISTICS,
    FUNCTIONAL,
    IMPORTS,
    ONTOLOGY,
    TYPE,
)

_FOLDER = Path(vocabularies.__file__).parent
_SUFFIXES = ("nq", "nt", "ttl", "n3")


@dataclass(frozen=True)
class Source:
    """What a vocabulary's own file does not say in a way that is alike for all.

    file: where the file is from. namespaces: of its terms, its ontology IRI beside an end of `#`
    or `/`. documents: further IRIs by which its publisher serves this very version. others:
    namespaces of terms whose own table is another. parts: what it imports, and its file holds
    itself. information: how messages begin of what is no axiom, each with the reason. beyond: as
    `VocabularyTable.non_dl_terms`, by local name.
    """

    title: str
    version: str
    file: str
    namespaces: tuple[str, ...]
    documents: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    information: Mapping[str, str] = field(default_factory=dict)
    beyond: Mapping[str, str] = field(default_factory=dict)

    @property
    def ontologies(self) -> list[str]:
        return list(
            dict.fromkeys([*(space.rstrip("#/") for space in self.namespaces), *self.documents])
        )


_W3 = "http://www.w3.org/"
_DC, _OGC = "http://purl.org/dc/", "http://www.opengis.net/ont/"
_NPM = "npm @zazuko/rdf-vocabularies 2023.1.19"
_HARVEST = "the publisher, as in github.com/linked-solutions/prefix.cc-harvest 2543005"
SOURCES: dict[str, Source] = {
    "acl": Source("ACL", "of 2023-01", _NPM, (_W3 + "ns/auth/acl#",)),
    "adms": Source(
        "ADMS", "2.00", "github.com/SEMICeu/ADMS, releases/2.00/voc/adms.ttl", (_W3 + "ns/adms#",)
    ),
    "bibo": Source("BIBO", "1.3", _NPM, ("http://purl.org/ontology/bibo/",)),
    "cc": Source("Creative Commons", "of 2023-01", _NPM, ("http://creativecommons.org/ns#",)),
    "cnt": Source("Content in RDF", "of 2023-01", _NPM, (_W3 + "2011/content#",)),
    "dc11": Source("Dublin Core elements", "1.1", _NPM, (_DC + "elements/1.1/",)),
    "dcam": Source("DCMI abstract model", "2020-01-20", _NPM, (_DC + "dcam/",)),
    "dcat": Source("DCAT", "2", _NPM, (_W3 + "ns/dcat#",)),
    "dcmitype": Source("DCMI types", "2012-06-14", _NPM, (_DC + "dcmitype/",)),
    "dcterms": Source("Dublin Core terms", "2020-01-20", _NPM, (_DC + "terms/",)),
    "doap": Source("DOAP", "of 2023-01", _NPM, ("http://usefulinc.com/ns/doap#",)),
    "dqv": Source("Data Quality", "of 2023-01", _NPM, (_W3 + "ns/dqv#",)),
    "event": Source("Event", "1.01", _HARVEST, ("http://purl.org/NET/c4dm/event.owl#",)),
    "foaf": Source(
        *("FOAF", "0.99", _NPM, ("http://xmlns.com/foaf/0.1/",)),
        ("http://xmlns.com/foaf/0.1/index.rdf", "http://xmlns.com/foaf/spec/index.rdf"),
    ),
    "frbr": Source(
        *("FRBR", "1.0.1", _NPM, ("http://purl.org/spar/frbr#",)),
        *(("http://purl.org/spar/frbr/2018-03-29",), ("http://purl.org/vocab/frbr/core#",)),
    ),
    "geosparql": Source("GeoSPARQL", "1.0", _NPM, (_OGC + "geosparql#",)),
    "gml": Source("GML", "GeoSPARQL 1.0", _HARVEST, (_OGC + "gml#",)),
    "gr": Source("GoodRelations", "1.0", _NPM, ("http://purl.org/goodrelations/v1#",)),
    "http": Source("HTTP in RDF", "of 2023-01", _NPM, (_W3 + "2011/http#",)),
    "hydra": Source("Hydra", "of 2023-01", _NPM, (_W3 + "ns/hydra/core#",)),
    "ldp": Source(
        *("LDP", "of 2023-01", _NPM, (_W3 + "ns/ldp#",)),
        information={
            "there is no <http://www.w3.org/2002/07/owl#Ind": "a class that no axiom speaks of has a member"
        },
    ),
    "locn": Source("ISA locations", "1.00", _NPM, (_W3 + "ns/locn#",)),
    "oa": Source("Web Annotation", "2016-11-12", _NPM, (_W3 + "ns/oa#",)),
    "ontolex": Source("OntoLex", "1.0 of 2016-01-10", _HARVEST, (_W3 + "ns/lemon/ontolex#",)),
    "org": Source("ORG", "2014-04-12", _NPM, (_W3 + "ns/org#",)),
    "prov": Source(
        "PROV", "2013-04-30", _NPM, (_W3 + "ns/prov#",), parts=(_W3 + "ns/prov-o-inverses#",)
    ),
    "provo": Source(
        *("PROV-O", "2013-04-30", "github.com/w3c/ns, prov-o.ttl", (_W3 + "ns/prov-o#",)),
        *((_W3 + "ns/prov-o-20130430",), (_W3 + "ns/prov#",)),
    ),
    "qb": Source("Data Cube", "0.2", _NPM, ("http://purl.org/linked-data/cube#",)),
    "rev": Source(
        "RDF Review", "2007-11-08", "npm @vocabulary/rev 1.0.6", ("http://purl.org/stuff/rev#",)
    ),
    "rr": Source("R2RML", "2012-07-16", _NPM, (_W3 + "ns/r2rml#",)),
    "schema": Source(
        *("schema.org", "2022-10", _NPM, ("http://schema.org/", "https://schema.org/")),
        information={f"<{TYPE}> where a property": "it is what is beyond OWL 2 DL"},
        beyond={"additionalType": "a property below rdf:type"},
    ),
    "scovo": Source("SCOVO", "2012-08-09", "lov.linkeddata.es", ("http://purl.org/NET/scovo#",)),
    "sd": Source(
        "SPARQL service description", "of 2023-01", _NPM, (_W3 + "ns/sparql-service-description#",)
    ),
    "sdmx": Source("SDMX", "0.3", _NPM, ("http://purl.org/linked-data/sdmx#",)),
    "sf": Source("Simple Features", "GeoSPARQL 1.0", _HARVEST, (_OGC + "sf#",)),
    "sh": Source(
        *("SHACL", "2017-07-20", _NPM, (_W3 + "ns/shacl#",)),
        information={
            "triples of a class expression or list that no": "the members of a list that is the value of sh:in"
        },
    ),
    "sioc": Source("SIOC", "1.36", _NPM, ("http://rdfs.org/sioc/ns#",)),
    "skos": Source("SKOS", "2009-08-18", _NPM, (_W3 + "2004/02/skos/core#",)),
    "skosxl": Source("SKOS-XL", "2009-08-18", _NPM, (_W3 + "2008/05/skos-xl#",)),
    "sosa": Source("SOSA", "2017-10-19", _NPM, (_W3 + "ns/sosa/",)),
    "ssn": Source("SSN", "2017-10-19", _NPM, (_W3 + "ns/ssn/",)),
    "time": Source("OWL-Time", "2017-10-19", _NPM, (_W3 + "2006/time#",)),
    "vaem": Source(
        "VAEM",
        "2.0",
        _NPM,
        ("http://www.linkedmodel.org/schema/vaem#",),
        ("http://www.linkedmodel.org/2.0/schema/vaem",),
    ),
    "vann": Source("VANN", "2010-06-07", _NPM, ("http://purl.org/vocab/vann/",)),
    "vcard": Source("vCard", "2014-05-22", _NPM, (_W3 + "2006/vcard/ns#",)),
    "voaf": Source("VOAF", "2.3", _HARVEST, ("http://purl.org/vocommons/voaf#",)),
    "void": Source(
        *("VoID", "2011-03-06", _NPM, ("http://rdfs.org/ns/void#",)),
        information={
            "there is no <http://www.w3.org/1999/02/22-rdf-syntax-ns#Dat": "a class that no axiom speaks of has a member"
        },
    ),
    "vs": Source("VS", "2011-12-12", _NPM, (_W3 + "2003/06/sw-vocab-status/ns#",)),
    "wgs": Source("WGS84", "2009-04-20", _NPM, (_W3 + "2003/01/geo/wgs84_pos#",)),
    "xkos": Source("XKOS", "1.2", _NPM, ("http://rdf-vocabulary.ddialliance.org/xkos#",)),
}


#: Predicates of axioms that may count if their subject, or object, is no annotation property.
_BETWEEN = tuple(
    owl.OWL + name for name in ("equivalentProperty", "inverseOf", "propertyDisjointWith")
)
_OF_FIRST = (owl.RDFS + "domain", owl.RDFS + "range", *_BETWEEN)
_OF_SECOND = (owl.RDFS + "subPropertyOf", *_BETWEEN)


def file_of(folder: Path, name: str) -> Path | None:
    return next(
        (path for suffix in _SUFFIXES if (path := folder / f"{name}.{suffix}").is_file()), None
    )


def make_table(name: str, path: Path) -> dict[str, Any]:
    """The facts of the vocabulary at ``path``, as its table states them; ``left``: what it says
    that a table cannot.
    """
    source = SOURCES[name]
    # Read without the tables: these are what is made, or compared.
    with (
        patch.object(vocabularies, "_NAMESPACES", {}),
        patch.object(vocabularies, "_ONTOLOGIES", {}),
    ):
        reading = read_ontology([path])
        plain = load_sources([path], "t", None).triples
    first = source.namespaces[0]
    beyond = {first + term: text for term, text in source.beyond.items()}
    kinds = {
        iri: kind
        for iri, kind in _kinds(reading, plain, source.namespaces + source.others).items()
        if iri not in beyond
    }
    headers = {iri.rstrip("#/") for iri, _ in _pairs(plain, TYPE, ONTOLOGY)}
    headers |= {iri.rstrip("#/") for iri in (*source.ontologies, *source.parts)}
    outside = [value for leftover in reading.leftovers for value in leftover.values]
    own = _own_assertions(reading.abox, kinds, headers)
    values = [
        x
        for x in restore_data_properties([*reading.tbox.axioms, *outside, *own])
        if not any(e.iri in beyond for e in entities(x))
    ]
    left = [
        leftover
        for leftover in reading.leftovers
        if leftover.kind in UNREAD | {"punning", "non-simple-role"}
    ]
    messages = {leftover.message for leftover in left if leftover.kind != "missing-import"}
    unsaid = {
        leftover.message
        for leftover in reading.leftovers
        if leftover.kind == "outside-shiq" and not leftover.values
    }
    return {
        **{"title": source.title, "version": source.version, "source": source.file},
        "imports": sorted(
            {iri for _, iri in _pairs(plain, IMPORTS) if iri.rstrip("#/") not in headers}
        ),
        "kinds": {
            kind: sorted(iri.removeprefix(first) for iri, of in kinds.items() if of == kind)
            for kind in sorted({*kinds.values()})
        },
        **{"axioms": sorted({axiom_text(value) for value in values}), "beyond": beyond},
        **({"outside": sorted(unsaid)} if unsaid else {}),
        "of_annotations": sorted(_of_annotations(reading, plain)),
        "left": sorted(
            text
            for text in messages
            if not any(text.startswith(known) for known in source.information)
        ),
    }


def _pairs(triples: Triples, predicate: str, value: str = "") -> Iterable[tuple[str, str]]:
    """Subjects and objects of the triples with ``predicate``, and with ``value`` where one is
    given.
    """
    for row in zip(triples.subject, triples.predicate, triples.object):
        s, p, o = (str(triples.terms[i]) for i in row)
        if p == predicate and value in ("", o):
            yield s, o


def _kinds(reading: Reading, plain: Triples, namespaces: tuple[str, ...]) -> dict[str, str]:
    signature = reading.tbox.signature
    both = signature.open_properties
    found: dict[str, str] = {}
    for kind, names in (
        ("property", {iri for iri, _ in _pairs(plain, TYPE, RDF + "Property")}),
        ("annotation", signature.annotation_properties),
        ("object", signature.object_properties - both),
        ("data", signature.data_properties - both),
        ("property", both),
        ("datatype", signature.datatypes),
        ("class", signature.classes),
    ):
        found.update(dict.fromkeys((str(n) for n in names if str(n).startswith(namespaces)), kind))
    return found


def _of_annotations(reading: Reading, plain: Triples) -> set[str]:
    """The annotation properties of which the file has axioms: a domain or the like, or what is
    below them.
    """
    found = {iri for predicate in _OF_FIRST for iri, _ in _pairs(plain, predicate)}
    found |= {
        iri for word in (*CHARACTERISTICS, FUNCTIONAL) for iri, _ in _pairs(plain, TYPE, word)
    }
    found |= {iri for predicate in _OF_SECOND for _, iri in _pairs(plain, predicate)}
    logical = reading.tbox.signature.object_properties | reading.tbox.signature.data_properties
    return {
        iri
        for iri in found - logical
        if not iri.startswith("_:") and (iri in ANNOTATIONS or not is_reserved(iri))
    }


def _own_assertions(
    values: Iterable[owl.Assertion], kinds: Mapping[str, str], headers: Collection[str]
) -> list[owl.Assertion]:
    """The assertions that are made with the vocabulary's own terms, and document neither the
    file nor a term: what is said of these, and of blank nodes that are values of that, is
    documentation.
    """
    documented = {*kinds, *headers}
    links = [value for value in values if isinstance(value, owl.ObjectPropertyAssertion)]
    while (
        new := {
            x.object
            for x in links
            if x.subject.rstrip("#/") in documented and x.object.startswith("_:")
        }
        - documented
    ):
        documented |= new
    found: list[owl.Assertion] = []
    for value in values:
        match value:
            case owl.ClassAssertion(_, subject) if (
                subject.rstrip("#/") in documented - kinds.keys()
            ):
                continue
            case owl.ObjectPropertyAssertion(_, subject) | owl.DataPropertyAssertion(
                _, subject
            ) if subject.rstrip("#/") in documented:
                continue
        if isinstance(value, OF_INDIVIDUALS) or any(
            entity.iri in kinds for entity in entities(value)
        ):
            found.append(value)
    return found


def compare(name: str, path: Path) -> list[str]:
    """How the table differs from the vocabulary's own file."""
    made, kept = make_table(name, path), json.loads((_FOLDER / f"{name}.json").read_text("utf-8"))
    return [
        *(
            f"{name}: {what} differ"
            for what in ("imports", "beyond", "outside")
            if made.get(what) != kept.get(what)
        ),
        *(f"{name}: the table cannot say: {message}" for message in made["left"]),
        *_missing(name, "the table lacks", _facts(made), _facts(kept)),
        *_missing(name, "only the table has", _facts(kept), _facts(made)),
    ]


def _facts(table: dict[str, Any]) -> set[str]:
    kinds = {
        f"{term} is of kind {kind}" for kind, terms in table["kinds"].items() for term in terms
    }
    return (
        kinds
        | {*table["axioms"]}
        | {f"<{iri}> is an annotation property of axioms" for iri in table["of_annotations"]}
    )


def _missing(name: str, what: str, these: set[str], those: set[str]) -> Iterable[str]:
    return (f"{name}: {what}: {fact}" for fact in sorted(these - those))


def write_tables(folder: Path) -> None:
    for name in SOURCES:
        if path := file_of(folder, name):
            made = make_table(name, path)
            del made["left"]
            text = json.dumps(made, indent=0, ensure_ascii=False, sort_keys=True)
            (_FOLDER / f"{name}.json").write_text(text + "\n", "utf-8")
    index = {
        name: {"namespaces": list(source.namespaces), "ontologies": source.ontologies}
        for name, source in SOURCES.items()
        if (_FOLDER / f"{name}.json").is_file()
    }
    (_FOLDER / "index.json").write_text(json.dumps(index, indent=1) + "\n", "utf-8")


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--write", is_flag=True, help="Make the tables anew.")
def main(folder: Path, write: bool) -> None:
    if write:
        write_tables(folder)
    absent = [name for name in SOURCES if file_of(folder, name) is None]
    differences = [
        found
        for name in SOURCES
        if (path := file_of(folder, name))
        for found in compare(name, path)
    ]
    for found in differences:
        click.echo(found)
    click.echo(
        f"{len(SOURCES) - len(absent)} vocabularies compared, {len(differences)} differences"
    )
    click.echo(f"no file of {', '.join(absent) or 'none'}")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
