"""Imports by a catalog: read once, from its folder alone, and never from the network."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from shiq.errors import InputError
from shiq.inputs.catalog import read_catalog
from shiq.model import Class, SubClassOf
from shiq.rdf import read_assertions, read_ontology
from tests.rdf_helpers import PREFIXES, kinds, write

PROTEGE = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<catalog prefer="public" xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
    <uri id="User Entered Import Resolution" name="http://ex.org/b" uri="parts/b%20b.ttl"/>
    <group id="Folder Repository, directory=, recursive=true, Auto-Update=true" prefer="public" xml:base="parts/">
        <uri id="Automatically generated entry" name="http://ex.org/c" uri="c.ofn"/>
    </group>
    <rewriteURI uriStartString="http://ex.org/more/" rewritePrefix="parts/"/>
</catalog>
"""


def ontology(iri: str, imports: list[str], axiom: str) -> str:
    lines = "".join(f"<{iri}> owl:imports <{x}> .\n" for x in imports)
    return f"{PREFIXES}<{iri}> a owl:Ontology .\n{lines}{axiom}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    write(tmp_path, "catalog-v001.xml", PROTEGE)
    imports = ["http://ex.org/b", "http://ex.org/c", "http://ex.org/a"]
    write(
        tmp_path,
        "a.ttl",
        ontology("http://ex.org/a", imports, ":A a owl:Class ; rdfs:subClassOf :B ."),
    )
    # b imports itself and a again; c, in functional syntax, imports d by a rewritten IRI.
    again = ["http://ex.org/a", "http://ex.org/b"]
    write(
        tmp_path / "parts",
        "b b.ttl",
        ontology("http://ex.org/b", again, ":B a owl:Class ; rdfs:subClassOf :C ."),
    )
    text = (
        "Ontology(<http://ex.org/other> Import(<http://ex.org/more/d.ttl>) Declaration(Class(<urn:t#C>)) "
        "SubClassOf(<urn:t#C> <urn:t#D>))"
    )
    write(tmp_path / "parts", "c.ofn", text)
    write(
        tmp_path / "parts",
        "d.ttl",
        ontology("http://ex.org/d", ["http://ex.org/c"], ":D a owl:Class ; rdfs:subClassOf :E ."),
    )
    return tmp_path


def test_imports_are_read_once_through_cycles(folder: Path) -> None:
    reading = read_ontology([folder / "a.ttl"], catalog=read_catalog(folder / "catalog-v001.xml"))
    names = {(a.sub.iri, a.sup.iri) for a in reading.tbox.axioms if isinstance(a, SubClassOf)}  # type: ignore[union-attr]
    assert names == {
        ("urn:t#A", "urn:t#B"),
        ("urn:t#B", "urn:t#C"),
        ("urn:t#C", "urn:t#D"),
        ("urn:t#D", "urn:t#E"),
    }
    assert [Path(name).name for name in reading.sources] == ["a.ttl", "b b.ttl", "c.ofn", "d.ttl"]
    assert "missing-import" not in kinds(reading)
    assert Class("urn:t#E") not in reading.tbox.axioms


def test_without_a_catalog_an_import_is_missing(folder: Path) -> None:
    assert kinds(read_ontology([folder / "a.ttl"]))["missing-import"] == 2


def test_an_import_that_was_given_is_not_read_again(folder: Path) -> None:
    catalog = read_catalog(folder / "catalog-v001.xml")
    reading = read_ontology([folder / "a.ttl", folder / "parts" / "b b.ttl"], catalog=catalog)
    assert [Path(name).name for name in reading.sources] == ["a.ttl", "b b.ttl", "c.ofn", "d.ttl"]


def test_data_may_import_through_the_catalog(folder: Path) -> None:
    catalog = read_catalog(folder / "catalog-v001.xml")
    tbox = read_ontology([folder / "a.ttl"], catalog=catalog)
    batch = write(
        folder,
        "batch.ttl",
        ontology("http://ex.org/batch", ["http://ex.org/facts", "http://ex.org/a"], ":x a :A ."),
    )
    write(folder, "facts.ttl", PREFIXES + ":y a :B .")
    named = {"http://ex.org/facts": "facts.ttl"}
    reading = read_assertions(
        [batch],
        tbox.tbox.signature,
        ontologies=tbox.ontologies,
        axioms=tbox.tbox.axioms,
        catalog=read_catalog(write(folder, "c.json", json.dumps(named))),
    )
    assert (len(reading.abox), reading.leftovers) == (2, ())


def with_entry(folder: Path, value: object, name: str = "c.json") -> Path:
    return write(folder, name, json.dumps({"http://ex.org/b": value}))


@pytest.mark.parametrize(
    ("target", "word"),
    [
        ("../outside.ttl", "outside of the catalog's folder"),
        ("%2e%2e/outside.ttl", "outside of the catalog's folder"),
        ("/etc/hostname", "outside of the catalog's folder"),
        ("file:///etc/hostname", "outside of the catalog's folder"),
        ("link.ttl", "outside of the catalog's folder"),
        ("http://ex.org/b.ttl", "nothing is fetched"),
        ("gone.ttl", "is no file"),
        ("parts", "is no file"),
        ("loop.ttl", "catalog"),
        ("C:\\Windows\\x.ttl", "is no file"),
    ],
)
def test_a_catalog_stays_in_its_folder(folder: Path, target: str, word: str) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "parts").mkdir()
    outside = write(folder, "outside.ttl", ontology("http://ex.org/b", [], ""))
    (inner / "link.ttl").symlink_to(outside)
    (inner / "loop.ttl").symlink_to(inner / "loop.ttl")
    catalog = read_catalog(with_entry(inner, target))
    with pytest.raises(InputError, match=word):
        read_ontology([folder / "a.ttl"], catalog=catalog)


def test_a_hash_holds_a_file_fast(folder: Path) -> None:
    file = folder / "parts" / "b b.ttl"
    entry = {"file": "parts/b b.ttl", "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    catalog = read_catalog(with_entry(folder, entry))
    assert catalog.find("http://ex.org/b") == file.resolve()
    file.write_text(file.read_text() + "\n")
    with pytest.raises(InputError, match="SHA-256 differs"):
        catalog.find("http://ex.org/b")


@pytest.mark.parametrize("content", ["", "\n# nothing is here yet\n", PREFIXES])
def test_an_import_is_not_met_by_an_empty_file(folder: Path, content: str) -> None:
    write(folder / "parts", "b b.ttl", content)
    with pytest.raises(InputError, match=r"b b\.ttl is imported, but holds no triple"):
        read_ontology([folder / "a.ttl"], catalog=read_catalog(folder / "catalog-v001.xml"))


@pytest.mark.parametrize("entry", ['"b.ttl"', '{"file": "b.ttl"}'])
def test_a_catalog_that_says_two_things_of_one_iri_is_refused(folder: Path, entry: str) -> None:
    text = f'{{"http://ex.org/b": "parts/b b.ttl", "http://ex.org/c": {entry}, "http://ex.org/b": {entry}}}'
    with pytest.raises(InputError, match=r"c\.json has 'http://ex\.org/b' twice"):
        read_catalog(write(folder, "c.json", text))


def test_an_import_that_is_too_large_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHIQ_MAX_DOCUMENT", "100")
    with pytest.raises(InputError, match="too large for an import"):
        read_ontology([folder / "a.ttl"], catalog=read_catalog(folder / "catalog-v001.xml"))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("<html/>", "no catalog"),
        ("<catalog", "no well-formed XML"),
        (
            '<!DOCTYPE c [<!ENTITY x "y">]><catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog"/>',
            "declares the entity",
        ),
        (
            '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog"><nextCatalog catalog="http://x.org/"/></catalog>',
            "nextCatalog",
        ),
        ('{"a": 5}', "not understood"),
        ('{"a": {"file": "x", "sha256": "12"}}', "64 hexadecimal"),
        ('{"a": ', "not JSON"),
    ],
)
def test_what_is_no_catalog_is_refused(tmp_path: Path, text: str, word: str) -> None:
    with pytest.raises(InputError, match=word):
        read_catalog(write(tmp_path, "c.xml", text))


def test_a_catalog_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_catalog(tmp_path / "none.xml")


# --- what is no document of the ontology that is imported ----------------------------------------

IMPORTER = "<urn:o> a owl:Ontology ; owl:imports <urn:core> . :A a owl:Class . :B a owl:Class . :r a owl:ObjectProperty .\n"
MENTIONS = {
    "mention": IMPORTER + "<urn:core> a owl:Ontology .",
    "mention of the fragment": IMPORTER + "<urn:core#> a owl:Ontology .",
    "version of another": IMPORTER + "<urn:x> owl:versionIRI <urn:core> .",
    "version of what imports": IMPORTER + "<urn:o> owl:versionIRI <urn:core> .",
    "several versions": IMPORTER.replace("imports <urn:core>", "imports <urn:v1>")
    + "<urn:o> owl:versionIRI <urn:v1> , <urn:v2> .",
    "cycle": IMPORTER + "<urn:core> a owl:Ontology ; owl:imports <urn:o> .",
    "untyped importer": IMPORTER.replace("<urn:o> a owl:Ontology ;", "<urn:o>")
    + "<urn:core> a owl:Ontology .",
    "blank header": IMPORTER.replace("<urn:o>", "[]") + "<urn:core> a owl:Ontology .",
    "predecessor": IMPORTER + "<urn:o> owl:priorVersion <urn:core> . <urn:core> a owl:Ontology .",
}


@pytest.mark.parametrize("case", MENTIONS)
def test_a_mention_meets_no_import(tmp_path: Path, case: str) -> None:
    onto = write(tmp_path, "onto.ttl", PREFIXES + MENTIONS[case])
    assert "missing-import" in kinds(read_ontology([onto]))
    wanted = "urn:v1" if case == "several versions" else "urn:core"
    write(tmp_path, "core.ttl", PREFIXES + ":A rdfs:subClassOf :B .")
    write(tmp_path, "catalog.json", json.dumps({wanted: "core.ttl", "urn:o": "onto.ttl"}))
    reading = read_ontology([onto], catalog=read_catalog(tmp_path / "catalog.json"))
    assert [Path(name).name for name in reading.sources] == ["onto.ttl", "core.ttl"]
    assert not reading.leftovers


@pytest.mark.parametrize(
    "other",
    [
        "<urn:core> a owl:Ontology . <urn:more> a owl:Ontology .",
        "[] a owl:Ontology . <urn:core> a owl:Ontology .",
        "<urn:next> a owl:Ontology ; owl:priorVersion <urn:core> . <urn:core> a owl:Ontology .",
        "<urn:x> a owl:Ontology . <urn:y> owl:versionIRI <urn:core> .",
        "<urn:x> a owl:Ontology ; owl:versionIRI <urn:core> , <urn:core2> .",
        "<urn:x> a owl:Ontology ; owl:versionIRI <urn:core> ; owl:imports <urn:core> .",
    ],
)
def test_a_document_that_leaves_open_which_ontology_it_is_meets_no_import(
    tmp_path: Path, other: str
) -> None:
    files = [
        write(tmp_path, "onto.ttl", PREFIXES + IMPORTER),
        write(tmp_path, "other.ttl", PREFIXES + other),
    ]
    assert "missing-import" in kinds(read_ontology(files))


CORE_GRAPH = "<urn:g> { <urn:core> a owl:Ontology . :A a owl:Class . }"
IN_GRAPHS = {
    CORE_GRAPH: True,
    CORE_GRAPH.replace(
        "core> a owl:Ontology", "c> a owl:Ontology ; owl:versionIRI <urn:core>"
    ): True,
    CORE_GRAPH + "<urn:h> { <urn:more> a owl:Ontology ; owl:imports <urn:core> . }": True,
    "<urn:o> owl:imports <urn:core> . " + CORE_GRAPH: True,
    "<urn:g> { <urn:core> a owl:Ontology . }": False,
    "<urn:g> { <urn:core> a owl:Ontology . } <urn:h> { :A a owl:Class . }": False,
    CORE_GRAPH.replace("<urn:core> a", "<urn:more> a owl:Ontology . <urn:core> a"): False,
    CORE_GRAPH.replace(
        "<urn:core> a", "<urn:more> a owl:Ontology ; owl:imports <urn:core> . <urn:core> a"
    ): False,
}


@pytest.mark.parametrize("dataset", IN_GRAPHS)
def test_a_header_in_a_named_graph_meets_an_import_if_the_graph_declares_terms(
    tmp_path: Path, dataset: str
) -> None:
    """A graph with a header alone only describes an ontology; so does one with several headers."""
    other = write(tmp_path, "other.trig", PREFIXES + dataset)
    found = kinds(read_ontology([write(tmp_path, "onto.ttl", PREFIXES + IMPORTER), other]))
    assert ("missing-import" not in found) == IN_GRAPHS[dataset]


@pytest.mark.parametrize(
    "header",
    [
        "Ontology(<urn:o> <urn:core> Import(<urn:core>))",
        "Ontology(none:x <urn:core>)",
        "Ontology(<urn:o>)",
    ],
)
def test_functional_syntax_meets_no_import_either(tmp_path: Path, header: str) -> None:
    files = [write(tmp_path, "onto.ttl", PREFIXES + IMPORTER), write(tmp_path, "other.ofn", header)]
    assert "missing-import" in kinds(read_ontology(files))


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("core.ttl", "<urn:core> a owl:Ontology ; owl:imports <urn:o> ."),
        (
            "core.ttl",
            "<urn:c> a owl:Ontology ; owl:versionIRI <urn:core> ; owl:imports <urn:o> ; owl:priorVersion <urn:c0> .",
        ),
        ("core.ttl", "<urn:core#> a owl:Ontology ; owl:imports <urn:core> ."),
        ("core.ofn", "Ontology(<urn:core> <urn:core/2> Import(<urn:o>))"),
        ("core.ofn", "Ontology(<urn:c> <urn:core>)"),
    ],
)
def test_an_ontology_that_was_given_meets_its_import_by_its_iri_or_version(
    tmp_path: Path, name: str, header: str
) -> None:
    core = write(tmp_path, name, header if name.endswith("ofn") else PREFIXES + header)
    assert not read_ontology([write(tmp_path, "onto.ttl", PREFIXES + IMPORTER), core]).leftovers


def test_owlready2_answers_for_what_it_loaded_only(tmp_path: Path) -> None:
    import owlready2

    world = owlready2.World()
    onto = world.get_ontology("urn:o#")
    with onto:
        type("Cat", (owlready2.Thing,), {})
    onto.imported_ontologies.append(world.get_ontology("urn:core#"))
    assert kinds(read_ontology([world])) == {"missing-import": 1}
    with world.get_ontology("urn:core#"):
        type("Dog", (owlready2.Thing,), {})
    assert not read_ontology([world]).leftovers


def test_what_a_catalog_has_is_named_as_the_catalog_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onto = write(tmp_path, "onto.ttl", PREFIXES + IMPORTER)
    (tmp_path / "sub").mkdir()
    write(
        tmp_path / "sub",
        "core.ttl",
        PREFIXES + "<urn:core> a owl:Ontology .\n<urn:Cat> owl:disjointWit <urn:Dog> .",
    )
    (tmp_path / "sub" / "catalog.json").write_text('{"urn:core": "core.ttl"}')
    monkeypatch.chdir(tmp_path)
    for name, shown in (
        ("sub/catalog.json", "sub/core.ttl"),
        (tmp_path / "sub" / "catalog.json", f"{tmp_path}/sub/core.ttl"),
    ):
        told = read_ontology([onto], catalog=read_catalog(name)).leftovers
        assert [x.source for x in told if x.kind == "unknown-vocabulary"] == [shown]
    relative = read_catalog("sub/catalog.json")
    monkeypatch.chdir("sub")  # the name means another place now, and the file is found all the same
    assert read_ontology([onto], catalog=relative).leftovers
