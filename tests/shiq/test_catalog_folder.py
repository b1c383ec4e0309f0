"""Imports from a folder of ontologies: each known by its header, in every syntax, and only where
it is certain which is meant.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest

from shiq.errors import InputError
from shiq.inputs import ontology_folder
from shiq.inputs.catalog import Catalogs, read_catalog
from shiq.inputs.reading import Reading
from shiq.inputs.sources import FileSource, classify_input
from shiq.rdf import read_ontology
from shiq.rdf.headers import read_headers
from shiq.rdf.load import load_sources
from shiq.rdf.ontology_header import document_headers
from tests.command_line import shiq
from tests.rdf_helpers import PREFIXES, kinds, write

OWL, RDF = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
HEADER = f"<urn:b> <{RDF}type> <{OWL}Ontology> .\n<urn:b> <{OWL}versionIRI> <urn:b/2> .\n"
CLASS = f"<urn:t#B> <{RDF}type> <{OWL}Class> .\n"
LINES = HEADER + CLASS
SYNTAXES = {
    "b.ttl": LINES,
    "b.n3": LINES,
    "b": PREFIXES + LINES,
    "b.nt": LINES,
    "b.ttl.gz": gzip.compress(LINES.encode()),
    "b.nq": LINES.replace(" .\n", " <urn:g> .\n"),
    "b.trig": "<urn:g> {" + LINES + "}",
    "b.ofn": "Prefix(o:=<urn:>)\n# Ontology(<urn:x>)\nOntology(o:b <urn:b/2> Declaration(Class(<urn:t#B>)))",
    "b.owl": f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="{OWL}"><Ontology rdf:about="urn:b"><versionIRI rdf:resource="urn:b/2"/>'
    '</Ontology><Class rdf:about="urn:t#B"/></rdf:RDF>',
    "b.owx": f'<Ontology xmlns="{OWL}" ontologyIRI="urn:b" versionIRI="urn:b/2"><Declaration><Class IRI="urn:t#B"/>'
    "</Declaration></Ontology>",
    "b.jsonld": json.dumps(
        [
            {"@id": "urn:b", "@type": OWL + "Ontology", OWL + "versionIRI": {"@id": "urn:b/2"}},
            {"@id": "urn:t#B", "@type": OWL + "Class"},
        ]
    ),
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory of its own, in which files count from the moment that they are written."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(ontology_folder, "_YOUNG", 0.0)
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "onto" / "deep").mkdir(parents=True)
    return tmp_path / "onto"


def document(iri: str, *parts: str, axiom: str = "") -> str:
    return f"{PREFIXES}<{iri}> a owl:Ontology {''.join(f'; {part} ' for part in parts)}.\n{axiom}\n"


def importing(tmp_path: Path, *iris: str) -> Path:
    parts = [f"owl:imports <{iri}>" for iri in iris]
    return write(
        tmp_path, "a.ttl", document("urn:a", *parts, axiom=":A a owl:Class . :B a owl:Class .")
    )


def read(onto: Path, catalog: Catalogs) -> Reading:
    return read_ontology([onto], catalog=read_catalog(catalog))


def names(reading: Reading) -> list[str]:
    return [Path(name).name for name in reading.sources]


@pytest.mark.parametrize("iri", ["urn:b", "urn:b#", "urn:b/2"])
@pytest.mark.parametrize("name", SYNTAXES)
def test_each_syntax_answers_by_its_ontology_iri_and_its_version_iri(
    tmp_path: Path, folder: Path, name: str, iri: str
) -> None:
    write(folder / "deep", name, SYNTAXES[name])
    onto = importing(tmp_path, iri)
    assert kinds(read_ontology([onto]))["missing-import"] == 1
    reading = read(onto, folder)
    assert (names(reading), kinds(reading)) == (["a.ttl", name], {})


def test_headers_are_read_as_loading_reads_them(tmp_path: Path) -> None:
    """The scan for headers, against the reader of whole documents, on random ones."""
    rng = random.Random(1)
    nodes = ["urn:a", "urn:b", "urn:b#", "_:x", "urn:c"]
    properties = ["versionIRI", "imports", "priorVersion", "incompatibleWith"]
    formats = {
        "nq": ox.RdfFormat.N_QUADS,
        "trig": ox.RdfFormat.TRIG,
        "nt": ox.RdfFormat.N_TRIPLES,
        "ttl": ox.RdfFormat.TURTLE,
    }
    formats["rdf"] = ox.RdfFormat.RDF_XML
    seen = 0
    for number in range(400):
        name = rng.choice(list(formats))
        quads = []
        for _ in range(rng.randint(1, 5)):
            subject, graph = rng.choice(nodes), rng.choice([None, None, "urn:g"])
            predicate, value = rng.choice(
                [("type", "Ontology"), ("type", "Class"), (rng.choice(properties), "")]
            )
            target = OWL + value if value else rng.choice(nodes[:3])
            made = ox.BlankNode("x") if subject == "_:x" else ox.NamedNode(subject)
            verb = ox.NamedNode((RDF if predicate == "type" else OWL) + predicate)
            where = ox.NamedNode(graph) if graph and name in ("nq", "trig") else ox.DefaultGraph()
            quads.append(ox.Quad(made, verb, ox.NamedNode(target), where))
        text = ox.serialize(quads, format=formats[name]) or b""
        file = write(
            tmp_path,
            f"{number}.{name}",
            text.replace(b"owl#Ontology", b"owl#\\u004Fntology") if name == "nt" else text,
        )
        source = classify_input(file)
        assert isinstance(source, FileSource)
        expected = document_headers(load_sources([file], "t", None).triples)
        assert set(read_headers(source).ontologies) == expected, text
        seen += bool(expected)
    assert seen > 100


def test_an_exact_version_wins(tmp_path: Path, folder: Path) -> None:
    for number in (1, 2):
        axiom = f":B rdfs:subClassOf :C{number} . :C{number} a owl:Class ."
        write(
            folder,
            f"b{number}.ttl",
            document("urn:b", f"owl:versionIRI <urn:b/{number}>", axiom=axiom),
        )
    write(folder, "c.ttl", document("urn:c", "owl:versionIRI <urn:b>"))
    assert names(read(importing(tmp_path, "urn:b/2"), folder)) == ["a.ttl", "b2.ttl"]
    assert names(read(importing(tmp_path, "urn:b"), folder)) == ["a.ttl", "c.ttl"]


@pytest.mark.parametrize("functional", [False, True])
def test_which_of_several_is_meant_is_ambiguous(
    tmp_path: Path, folder: Path, functional: bool
) -> None:
    for number in (1, 2):
        write(
            folder,
            f"b{number}.ttl",
            document("urn:b", axiom=f":B rdfs:subClassOf :C{number} . :C{number} a owl:Class ."),
        )
    onto = importing(tmp_path, "urn:b")
    if functional:
        onto = write(
            tmp_path, "a.ofn", "Ontology(<urn:a> Import(<urn:b>) SubClassOf(<urn:t#A> <urn:t#B>))"
        )
    reading = read(onto, folder)
    (left,) = (x for x in reading.leftovers if x.kind == "ambiguous-import")
    assert reading.ledger["leftover:ambiguous-import"] == 1 and "missing-import" not in kinds(
        reading
    )
    assert str(folder / "b1.ttl") in left.message and str(folder / "b2.ttl") in left.message
    assert left.term == "urn:b" and names(reading) == [onto.name]
    # The remedy is the one that the hint names.
    catalog = write(
        folder,
        "catalog.json",
        left.hint.partition("write ")[2].partition(" into")[0].replace("FILE", "b2.ttl"),
    )
    assert names(read(onto, [folder, catalog])) == [onto.name, "b2.ttl"]


def test_several_files_that_hold_the_same_are_one(tmp_path: Path, folder: Path) -> None:
    axiom = ":B rdfs:subClassOf :C . :C a owl:Class . :x a :C ."
    write(folder, "b1.ttl", document("urn:b", axiom=axiom))
    write(
        folder,
        "b2.ttl",
        document(
            "urn:b",
            "rdfs:comment 'a copy'",
            axiom=":x a :C . :C a owl:Class . :B rdfs:subClassOf :C .",
        ),
    )
    reading = read(importing(tmp_path, "urn:b"), folder)
    assert (names(reading), kinds(reading)) == (["a.ttl", "b1.ttl"], {})
    for more in (
        ":C rdfs:subClassOf :A .",
        ":y a :C .",
        "<urn:b> owl:imports <urn:n> .",
        ":C owl:disjointWit :D .",
    ):
        write(folder, "b2.ttl", document("urn:b", axiom=axiom + more))
        assert kinds(read(importing(tmp_path, "urn:b"), folder))["ambiguous-import"] == 1, more


ANNOTATED = {
    "a value": (
        ":note a owl:AnnotationProperty .",
        ":x :note 'a' .",
        ":note a owl:DatatypeProperty ; rdfs:range xsd:integer .",
    ),
    "a header": (
        "",
        "<urn:b> rdfs:comment 'a' .",
        "rdfs:comment a owl:DatatypeProperty ; rdfs:range xsd:integer .",
    ),
    "a domain": (
        ":note a owl:AnnotationProperty .",
        ":note rdfs:domain :C .",
        ":note a owl:DatatypeProperty . :x :note 'a' .",
    ),
    "open kind": (
        "",
        "<urn:b> <http://purl.org/dc/terms/created> 'a' .",
        "<http://purl.org/dc/terms/created> rdfs:domain :A .",
    ),
}


@pytest.mark.parametrize("case", ANNOTATED)
def test_files_that_differ_in_annotations_do_not_hold_the_same_where_these_are_assertions(
    tmp_path: Path, folder: Path, case: str
) -> None:
    both, one, elsewhere = ANNOTATED[case]
    common = ":B rdfs:subClassOf :C . :C a owl:Class . :x a :C ." + both
    write(folder, "b1.ttl", document("urn:b", axiom=common))
    write(folder, "b2.ttl", document("urn:b", axiom=common + one))
    onto = importing(tmp_path, "urn:b")
    assert kinds(read(onto, folder)) == {}
    onto.write_text(onto.read_text() + elsewhere)
    (left,) = (x for x in read(onto, folder).leftovers if x.kind == "ambiguous-import")
    assert "b1.ttl" in left.message and "b2.ttl" in left.message
    catalog = write(
        folder,
        "catalog.json",
        left.hint.partition("write ")[2].partition(" into")[0].replace("FILE", "b2.ttl"),
    )
    assert "ambiguous-import" not in kinds(read(onto, [folder, catalog]))


@pytest.mark.parametrize("order", [("urn:b", "urn:c"), ("urn:c", "urn:b")])
def test_the_version_that_another_import_names_is_meant_whatever_the_order(
    tmp_path: Path, folder: Path, order: tuple[str, str]
) -> None:
    for number in (1, 2):
        axiom = f":B rdfs:subClassOf :C{number} . :C{number} a owl:Class ."
        write(
            folder,
            f"b{number}.ttl",
            document("urn:b", f"owl:versionIRI <urn:b/{number}>", axiom=axiom),
        )
    write(folder, "c.ttl", document("urn:c", "owl:imports <urn:b/2>"))
    reading = read(importing(tmp_path, *order), folder)
    assert (sorted(names(reading)), kinds(reading)) == (["a.ttl", "b2.ttl", "c.ttl"], {})


def test_which_files_are_read_does_not_depend_on_the_order(tmp_path: Path, folder: Path) -> None:
    """Random folders in which ontologies share IRIs and versions, each read by its imports in
    several orders.
    """
    rng = random.Random(2)
    seen = set[str]()
    for number in range(60):
        inner = folder / str(number)
        inner.mkdir()
        for name in range(5):
            parts = [f"owl:imports <urn:{rng.choice('bcde')}>" for _ in range(rng.randint(0, 2))]
            parts += [f"owl:versionIRI <urn:{rng.choice('bcde')}>"] * rng.randint(0, 1)
            axiom = f":B rdfs:subClassOf :C{name} . :C{name} a owl:Class ."
            write(inner, f"{name}.ttl", document(f"urn:{rng.choice('bcd')}", *parts, axiom=axiom))
        found = set()
        for order in (("urn:b", "urn:c"), ("urn:c", "urn:b")):
            reading = read(importing(tmp_path, *order), inner)
            seen |= set(kinds(reading))
            found.add(
                (
                    frozenset(reading.sources),
                    frozenset(reading.tbox.axioms),
                    frozenset(kinds(reading).items()),
                )
            )
        assert len(found) == 1, inner
    assert {"ambiguous-import", "missing-import"} <= seen


def test_cycles_and_what_was_given_are_read_once(tmp_path: Path, folder: Path) -> None:
    write(folder, "b.ttl", document("urn:b", "owl:imports <urn:c>"))
    write(folder, "c.ttl", document("urn:c", "owl:imports <urn:b>", "owl:imports <urn:a>"))
    onto = importing(folder, "urn:b")
    assert names(read(onto, [folder, folder / "deep", folder.parent])) == [
        "a.ttl",
        "b.ttl",
        "c.ttl",
    ]


BROKEN = {
    "x.ttl": document("urn:broken") + ":B rdfs:subClassOf",
    "x.owl": f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="{OWL}"><Ontology rdf:about="urn:broken"/><Cl',
    "x.nt": HEADER.replace("urn:b>", "urn:broken>") + "<urn:t#B> is",
    "x.ofn": "Ontology(<urn:broken> SubClassOf(<urn:t#B>",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_matters_only_where_it_is_wanted(
    tmp_path: Path, folder: Path, name: str
) -> None:
    write(folder, "b.ttl", document("urn:b"))
    write(folder, name, BROKEN[name])
    write(folder, "picture.png", b"\x89PNG\r\n\0\0\0\0\0\0\0\0")
    assert kinds(read(importing(tmp_path, "urn:b"), folder)) == {}
    assert kinds(read(importing(tmp_path, "urn:broken"), folder))["malformed"] >= 1


def test_a_file_without_a_header_that_can_be_read_is_named_where_an_import_is_missing(
    tmp_path: Path, folder: Path
) -> None:
    write(folder, "x.rdf", f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="{OWL}"><Ontology rdf:about=')
    (left,) = read(importing(tmp_path, "urn:n"), folder).leftovers
    assert left.kind == "missing-import" and "x.rdf" in left.hint


def test_no_other_iri_is_taken_for_the_one_that_is_imported(tmp_path: Path, folder: Path) -> None:
    write(folder, "b.ttl", document("http://ex.org/b"))
    for iri in (
        "https://ex.org/b",
        "http://www.ex.org/b",
        "http://ex.org/b/",
        "http://ex.org/b.owl",
    ):
        (left,) = read(importing(tmp_path, iri), folder).leftovers
        assert left.kind == "missing-import" and "b.ttl is <http://ex.org/b>" in left.hint


def test_links_that_lead_out_hidden_files_and_tables_are_no_ontologies(
    tmp_path: Path, folder: Path
) -> None:
    outside = write(tmp_path, "b.ttl", document("urn:b"))
    (folder / "link.ttl").symlink_to(outside)
    (folder / "loop.ttl").symlink_to(folder / "loop.ttl")
    write(folder, ".b.ttl", document("urn:b"))
    (folder / ".git").mkdir()
    write(folder / ".git", "b.ttl", document("urn:b"))
    assert kinds(read(importing(tmp_path, "urn:b"), folder)) == {"missing-import": 1}


# --- the index ------------------------------------------------------------------------------------


def test_headers_are_noted_in_the_cache_and_the_folder_is_not_written(
    tmp_path: Path, folder: Path, cache: Path
) -> None:
    write(folder, "b.ttl", document("urn:b"))
    before = sorted(folder.rglob("*"))
    onto = importing(tmp_path, "urn:b")
    assert names(read(onto, folder)) == ["a.ttl", "b.ttl"]
    (index,) = (cache / "shiq" / "ontologies").iterdir()
    assert sorted(folder.rglob("*")) == before
    # What is noted is believed as long as the file is the same, and what it says of itself is
    # checked when it is read.
    index.write_text(index.read_text().replace("urn:b", "urn:c"))
    assert kinds(read(onto, folder)) == {"missing-import": 1}
    with pytest.raises(InputError, match=r"b\.ttl is no longer <urn:c>"):
        read(importing(tmp_path, "urn:c"), folder)
    write(folder, "b.ttl", document("urn:d") + "# longer")
    assert names(read(importing(tmp_path, "urn:d"), folder)) == ["a.ttl", "b.ttl"]
    for damaged in ('{"version": 1, "files": {"b.ttl": [1]}}', "[]", "{", ""):
        index.write_text(damaged)
        assert names(read(importing(tmp_path, "urn:d"), folder)) == ["a.ttl", "b.ttl"]
    assert "urn:d" in index.read_text()
    (folder / "b.ttl").unlink()
    assert kinds(read(importing(tmp_path, "urn:d"), folder)) == {"missing-import": 1}
    assert "urn:d" not in index.read_text()


def test_a_young_file_is_not_noted(
    tmp_path: Path, folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ontology_folder, "_YOUNG", 3600.0)
    write(folder, "b.ttl", document("urn:b"))
    assert names(read(importing(tmp_path, "urn:b"), folder)) == ["a.ttl", "b.ttl"]
    assert not list(cache.rglob("*.json"))


def test_a_cache_that_cannot_be_written_or_lies_in_the_folder_is_left_alone(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "b.ttl", document("urn:b"))
    for place in (folder / "cache", write(tmp_path, "file", "")):
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        assert names(read(importing(tmp_path, "urn:b"), folder)) == ["a.ttl", "b.ttl"]
    assert not (folder / "cache").exists()


def test_processes_at_once_find_the_same(tmp_path: Path, folder: Path) -> None:
    for number in range(50):
        write(folder, f"{number}.ttl", document(f"urn:{number}"))
    code = "import sys; from shiq.inputs.catalog import read_catalog; print(len(read_catalog(sys.argv[1]).folders[0].headers))"
    command = [sys.executable, "-c", code, str(folder)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) for _ in range(4)]
    assert [process.communicate(timeout=120)[0] for process in started] == [b"50\n"] * 4
    assert len(read_catalog(folder).folders[0].headers) == 50


# --- the commands ---------------------------------------------------------------------------------


def test_the_commands_take_files_and_folders(tmp_path: Path, folder: Path) -> None:
    write(folder, "b.ttl", document("urn:b", axiom=":B rdfs:subClassOf :A ."))
    write(
        folder.parent,
        "more.ttl",
        document("urn:c", axiom=":A rdfs:subClassOf :D . :D a owl:Class ."),
    )
    catalog = write(tmp_path, "catalog.json", json.dumps({"urn:c": "more.ttl"}))
    onto = str(importing(tmp_path, "urn:b", "urn:c"))
    both = ["--catalog", str(folder), "--catalog", str(catalog)]
    assert shiq("certify", onto, "-q", "--reasoner", "own", *both).returncode == 0
    assert shiq("certify", onto, "-q", "--reasoner", "own", *both[:2]).returncode == 3
    assert shiq("lint", onto, "-q", *both).returncode == 0
    assert shiq("lint", onto, "-q").returncode == 3
    assert json.loads(shiq("simplify", onto, *both, "--json", "-").stdout)["leftovers"] == []


def test_an_output_may_lie_in_the_folder_but_not_be_an_ontology_of_it(
    tmp_path: Path, folder: Path
) -> None:
    write(folder, "b.ttl", document("urn:b"))
    write(folder, "header.txt", document("urn:c"))
    base = [
        "certify",
        str(importing(tmp_path, "urn:b")),
        "-q",
        "--reasoner",
        "own",
        "--catalog",
        str(folder),
    ]
    for _ in range(2):
        assert shiq(*base, "--json", str(folder / "deep" / "out.json")).returncode == 0
    assert shiq(*base, "--json", str(folder / "b.ttl")).returncode == 2
    assert shiq(*base, "--json", str(folder / "header.txt")).returncode == 2
    assert shiq(*base, "--json", str(folder / "new.owl")).returncode == 2
    assert shiq(*base, "--json", str(folder)).returncode == 2
