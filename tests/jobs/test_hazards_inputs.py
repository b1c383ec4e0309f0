"""Bad inputs and the right behaviour, from the command line: no answer `consistent` for what was
not read as it was meant.
"""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
import socket
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from shiq.jobs.cli import main
from shiq.rdf import read_ontology
from tests.rdf_helpers import PREFIXES, kinds

ROOT = Path(__file__).resolve().parents[2]
TBOX = (
    PREFIXES
    + """
:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class . :chases a owl:ObjectProperty ; rdfs:range :Cat .
:name a owl:DatatypeProperty , owl:FunctionalProperty . :says a owl:DatatypeProperty .
"""
)
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
BASE = f"<urn:t#tom> {TYPE} <urn:t#Cat> .\n<urn:t#rex> {TYPE} <urn:t#Dog> .\n"
GOOD = "<urn:t#rex> <urn:t#chases> <urn:t#tom> .\n"
BAD = "<urn:t#tom> <urn:t#chases> <urn:t#rex> .\n"
XML = (
    '<?xml version="1.0"?>\n{doctype}<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="urn:t#">'
    "{body}</rdf:RDF>"
)


@dataclass
class Shiq:
    """The command line in a folder with the ontology t.ttl and the store kg."""

    folder: Path
    capture: pytest.CaptureFixture[str]
    code: int = 0
    out: str = ""
    err: str = ""

    def __call__(self, *arguments: object) -> int:
        self.capture.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(x) for x in arguments])
        self.out, self.err = self.capture.readouterr()
        self.code = stop.value.code  # type: ignore[assignment]
        return self.code

    def insert(self, name: str, content: str | bytes, *more: object) -> int:
        """Checks a file of insertions against the store."""
        (self.folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return self("check", "-s", "kg", "--reasoner", "own", "-i", name, *more)

    def leftovers(self, *more: object) -> list[tuple[str, str, int]]:
        found = json.loads((self.folder / "out.json").read_text())["evidence"]["leftovers"]
        return [(x["kind"], Path(x["source"]).name, x["line"]) for x in found]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from shiq.api import index

    folder = tmp_path_factory.mktemp("hazards")
    (folder / "t.ttl").write_text(TBOX)
    (folder / "base.nt").write_text(BASE)
    index(folder / "t.ttl", folder / "base.nt", folder / "kg", reasoner="own")
    return folder


@pytest.fixture
def shiq(kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shiq:
    def refuse(*_: object) -> None:
        raise AssertionError("something opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.chdir(kept)
    return Shiq(kept, capsys)


# --- files that are cut short --------------------------------------------------------------------


def test_a_file_that_ends_inside_a_line_is_not_a_shorter_file(shiq: Shiq) -> None:
    assert shiq.insert("a.nt", GOOD + "<urn:t#rex> <urn:t#cha", "--json", "out.json") == 3
    assert shiq.leftovers() == [("malformed", "a.nt", 2)]
    assert shiq.insert("a.nt", BAD + "<urn:t#rex> <urn:t#cha") == 1
    assert shiq.insert("a.ttl", f"{PREFIXES}:rex :chases :tom .\n:rex :chas") == 3


def test_a_missing_last_newline_is_fine(shiq: Shiq) -> None:
    assert shiq.insert("a.nt", GOOD.rstrip("\n")) == 0


@pytest.mark.parametrize("damage", ["cut", "crc"])
def test_a_broken_gzip_file_is_refused_and_nothing_of_it_accepted(shiq: Shiq, damage: str) -> None:
    packed = gzip.compress(
        "".join(f"<urn:t#rex> <urn:t#chases> <urn:t#n{i}> .\n" for i in range(9_000)).encode()
    )
    broken = packed[: len(packed) // 2] if damage == "cut" else packed[:-8] + bytes(4) + packed[-4:]
    assert shiq.insert("a.nt.gz", broken, "--commit") == 4
    assert "broken gzip archive" in shiq.err
    assert "nothing of it was used" in shiq.err
    assert shiq("status", "-s", "kg", "--json", "-") == 0
    assert json.loads(shiq.out)["snapshot"] == 1


# --- documents made to do harm, or to reach out --------------------------------------------------


def test_billion_laughs_are_refused(shiq: Shiq) -> None:
    entities = '<!ENTITY l0 "lol">' + "".join(
        f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10)
    )
    document = XML.format(
        doctype=f"<!DOCTYPE rdf:RDF [{entities}]>\n",
        body="<Cat rdf:about='urn:t#x'><says>&l9;</says></Cat>",
    )
    assert shiq.insert("a.rdf", document) == 4
    assert "declares the entity" in shiq.err


@pytest.mark.parametrize("system", ["file:///etc/hostname", "http://169.254.169.254/latest"])
def test_an_external_entity_is_refused_and_no_literal_altered(shiq: Shiq, system: str) -> None:
    body = "<Cat rdf:about='urn:t#x'><says>&x;</says></Cat>"
    assert (
        shiq.insert(
            "a.rdf",
            XML.format(doctype=f'<!DOCTYPE rdf:RDF [<!ENTITY x SYSTEM "{system}">]>\n', body=body),
        )
        == 4
    )
    assert "nothing is fetched" in shiq.err


@pytest.mark.parametrize("context", ["http://169.254.169.254/c", "file:///etc/hostname"])
def test_a_remote_json_ld_context_is_refused_unless_a_catalog_has_it(
    shiq: Shiq, context: str
) -> None:
    document = json.dumps({"@context": context, "@id": "urn:t#rex", "chases": {"@id": "urn:t#tom"}})
    assert shiq.insert("a.jsonld", document) == 4
    assert "a.jsonld, line 1: the context" in shiq.err
    (shiq.folder / "c.jsonld").write_text('{"@context": {"@vocab": "urn:t#"}}')
    (shiq.folder / "catalog.json").write_text(json.dumps({context: "c.jsonld"}))
    assert shiq.insert("a.jsonld", document, "--catalog", "catalog.json") == 0


def test_an_import_is_never_fetched_and_a_missing_one_keeps_the_verdict_open(shiq: Shiq) -> None:
    (shiq.folder / "o.ttl").write_text(
        f"{TBOX}<urn:o> a owl:Ontology ; owl:imports <http://internal.example/rest> .\n"
    )
    command = (
        "check",
        "--tbox",
        "o.ttl",
        "--abox",
        "base.nt",
        "--insert",
        "a.nt",
        "--reasoner",
        "own",
    )
    (shiq.folder / "a.nt").write_text(BAD.replace("chases", "likes"))
    assert shiq(*command) == 3
    assert "<http://internal.example/rest> is imported, but not read" in shiq.out
    (shiq.folder / "rest.ttl").write_text(
        f"{PREFIXES}:likes a owl:ObjectProperty ; rdfs:subPropertyOf :chases .\n"
    )
    (shiq.folder / "catalog.json").write_text('{"http://internal.example/rest": "rest.ttl"}')
    assert shiq(*command, "--catalog", "catalog.json") == 1
    assert (
        shiq("certify", "o.ttl", "base.nt", "--reasoner", "own", "--catalog", "catalog.json") == 0
    )


def test_import_cycles_are_read_once_and_a_huge_import_is_refused(shiq: Shiq) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        imports = f"<urn:{name}> a owl:Ontology ; owl:imports <urn:{other}> , <urn:{name}> , <urn:huge> .\n"
        (shiq.folder / f"{name}.ttl").write_text(TBOX + imports)
    files = {"urn:one": "one.ttl", "urn:two": "two.ttl", "urn:huge": "small.ttl"}
    (shiq.folder / "small.ttl").write_text(f"{PREFIXES}<urn:huge> a owl:Ontology .\n")
    (shiq.folder / "catalog.json").write_text(json.dumps(files))
    command = ("certify", "one.ttl", "base.nt", "--reasoner", "own", "--catalog", "catalog.json")
    assert shiq(*command) == 0
    with open(shiq.folder / "huge.ttl", "wb") as huge:
        huge.truncate(5 << 30)  # takes no room on the disk
    (shiq.folder / "catalog.json").write_text(json.dumps({**files, "urn:huge": "huge.ttl"}))
    assert shiq(*command) == 4
    assert "too large for an import" in shiq.err
    (shiq.folder / "huge.ttl").unlink()


# --- deep, long and broken structures ------------------------------------------------------------


def test_a_hundred_thousand_nested_blank_nodes_are_read(shiq: Shiq) -> None:
    n = 100_000
    (shiq.folder / "a.ttl").write_text(f"{PREFIXES}:rex :chases {'[ :chases ' * n}:tom{' ]' * n} .")
    assert shiq("check", "-s", "kg", "--reasoner", "own", "--delete", "a.ttl") == 0
    assert shiq.insert("a.jsonld", '{"urn:t#chases":' * n + "{}" + "}" * n) == 4
    assert "levels deep" in shiq.err


@pytest.mark.parametrize(
    "items",
    [
        "_:l rdf:first :Cat ; rdf:rest _:l .",
        "_:l rdf:first :Cat ; rdf:rest _:m , _:n . _:m rdf:first :Dog ; rdf:rest rdf:nil . "
        "_:n rdf:first :Cat ; rdf:rest rdf:nil .",
        "_:l rdf:first :Cat ; rdf:rest _:m . _:m rdf:first :Dog .",
    ],
    ids=["cyclic", "forked", "unterminated"],
)
def test_a_broken_list_is_told_with_its_line(shiq: Shiq, items: str) -> None:
    (shiq.folder / "l.ttl").write_text(
        f"{TBOX}:Pet a owl:Class ; owl:equivalentClass [ a owl:Class ; owl:unionOf _:l ] .\n{items}\n"
    )
    assert shiq("certify", "l.ttl", "base.nt", "--reasoner", "own", "--json", "out.json") == 3
    assert [
        kind
        for kind, name, line in shiq.leftovers()
        if name == "l.ttl" and line >= TBOX.count("\n")
    ] == ["broken-list"]


def test_a_long_list_is_read(tmp_path: Path) -> None:
    names = " ".join(f":C{i}" for i in range(20_000))
    listed = f"[ a owl:Class ; owl:oneOf ( {names} ) ]"
    (tmp_path / "m.ttl").write_text(
        f"{PREFIXES}:Pet a owl:Class ; owl:equivalentClass {listed} .\n"
    )
    assert kinds(read_ontology([tmp_path / "m.ttl"])).keys() <= {"outside-shiq"}


# --- literals and encodings ----------------------------------------------------------------------


def test_sixty_digits_and_a_megabyte_are_exact_and_a_line_without_end_is_refused(
    shiq: Shiq,
) -> None:
    number = '<urn:t#rex> <urn:t#name> "{}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    digits = "123456789012345678901234567890123456789012345678901234567890"
    assert shiq.insert("a.nt", number.format(digits) + number.format("00" + digits)) == 0
    assert shiq.insert("a.nt", number.format(digits) + number.format(digits[:-1] + "1")) == 1
    text = '<urn:t#rex> <urn:t#name> "{}" .\n'
    long = "x" * (1 << 20)
    assert shiq.insert("a.nt", text.format(long) + text.format(long)) == 0
    assert shiq.insert("a.nt", text.format(long + "y") + text.format(long + "z")) == 1
    for name in ("a.nt", "a.ttl"):
        assert shiq.insert(name, text.format("x" * (65 << 20))) == 4
        assert "has a line of over 64 MB" in shiq.err


def test_a_bad_language_tag_is_told_and_case_does_not_matter(shiq: Shiq) -> None:
    line = '<urn:t#rex> <urn:t#name> "Rex"@{} .\n'
    assert shiq.insert("a.nt", line.format("en") + line.format("EN")) == 0
    assert shiq.insert("a.nt", line.format("en") + line.format("de")) == 1
    assert shiq.insert("a.nt", GOOD + line.format("en_US"), "--json", "out.json") == 3
    assert shiq.leftovers() == [("malformed", "a.nt", 2)]


@pytest.mark.parametrize("text", [b"a\\u0000b", b"a\0b", b"a\\uD800b", b"a\xed\xa0\x80b"])
@pytest.mark.parametrize("name", ["a.nt", "a.nq", "a.ttl", "a.trig"])
def test_nul_and_half_a_surrogate_pair_are_told(shiq: Shiq, name: str, text: bytes) -> None:
    content = GOOD.encode() + b'<urn:t#rex> <urn:t#says> "' + text + b'" .\n'
    assert shiq.insert(name, content, "--json", "out.json") == 3
    assert {(kind, line) for kind, _, line in shiq.leftovers()} == {("malformed", 2)}


def test_byte_order_marks_and_carriage_returns_are_fine(shiq: Shiq) -> None:
    for name in ("a.nt", "a.nq", "a.ttl", "a.trig"):
        assert shiq.insert(name, b"\xef\xbb\xbf" + (GOOD * 2).replace("\n", "\r\n").encode()) == 0
    document = '{"@id": "urn:t#rex",\r\n"urn:t#chases": {"@id": "urn:t#tom"}}'
    assert shiq.insert("a.jsonld", b"\xef\xbb\xbf" + document.encode()) == 0


def test_bytes_that_are_not_utf_8_are_told_with_their_line(shiq: Shiq) -> None:
    latin = '<urn:t#rex> <urn:t#says> "caf\u00e9" .\n'
    for name in ("a.nt", "a.nq", "a.ttl", "a.trig"):
        assert (
            shiq.insert(
                name, GOOD.encode() + latin.encode() + latin.encode("latin-1"), "--json", "out.json"
            )
            == 3
        )
        assert {(kind, line) for kind, _, line in shiq.leftovers()} == {("malformed", 3)}
    assert (
        shiq.insert(
            "a.jsonld", '{"@id": "urn:t#rex",\n"urn:t#says": "caf\u00e9"}'.encode("latin-1")
        )
        == 4
    )
    assert "line 2: not UTF-8" in shiq.err


def test_characters_that_turn_text_round_are_shown_as_codes(shiq: Shiq) -> None:
    turned = '<urn:t#rex> <urn:t#name> "a\u202eb" .\n<urn:t#rex> <urn:t#name> "c\u2066d" .\n'
    assert shiq.insert("a.nt", turned) == 1
    assert "\u202e" not in shiq.out + shiq.err
    assert "\\u202E" in shiq.out


# --- tables and named graphs ---------------------------------------------------------------------


def test_rows_without_subject_with_wrong_types_or_extra_columns(shiq: Shiq) -> None:
    rows = {
        "s": ["<urn:t#tom>", None, "<urn:t#tom>"],
        "p": ["<urn:t#chases>"] * 3,
        "o": ["<urn:t#rex>", "<urn:t#rex>", "rex"],
        "key": ["k1", "k2", "k3"],
        "loaded_at": [1.5, 2.5, 3.5],
    }
    pq.write_table(pa.table(rows), shiq.folder / "a.parquet")
    assert (
        shiq("check", "-s", "kg", "--reasoner", "own", "-i", "a.parquet", "--json", "out.json") == 1
    )
    answer = json.loads((shiq.folder / "out.json").read_text())
    assert [conflict["keys"] for conflict in answer["conflicts"]] == [["k1"]]
    assert [(x["line"], x["hint"]) for x in answer["evidence"]["leftovers"]] == [
        (2, "row key k2"),
        (3, "row key k3"),
    ]
    pq.write_table(pa.table({**rows, "o": [1, 2, 3]}), shiq.folder / "a.parquet")
    assert shiq("check", "-s", "kg", "--reasoner", "own", "-i", "a.parquet") == 3
    pq.write_table(
        pa.table({**rows, "object": rows["o"]}).drop_columns(["o"]), shiq.folder / "a.parquet"
    )
    assert shiq("check", "-s", "kg", "--reasoner", "own", "-i", "a.parquet") == 4


def test_graph_names_that_are_missing_blank_or_several_for_one_triple(shiq: Shiq) -> None:
    line = BAD.rstrip(".\n")
    content = f"{line} .\n{line} <urn:g1> .\n{line} _:g .\n{line} <urn:g 2> .\n{GOOD}"
    assert shiq.insert("a.nq", content, "--json", "out.json") == 1
    (conflict,) = json.loads((shiq.folder / "out.json").read_text())["conflicts"]
    assert len(conflict["graphs"]) == 2
    assert [place["line"] for place in conflict["places"][0]] == [1, 2, 3]
    assert shiq.leftovers() == [("malformed", "a.nq", 4)]
    assert "in       <urn:g1>" in shiq.out


# --- names of files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["two words.nt", "mäuse ☂.nt", "C:\\data\\batch.nt", "100%25.nt", "#1?.nt", "a.b.nt.gz"]
)
def test_file_names_with_spaces_unicode_or_drive_letters(shiq: Shiq, name: str) -> None:
    content = BAD.encode()
    assert (
        shiq.insert(
            name, gzip.compress(content) if name.endswith(".gz") else content, "--json", "out.json"
        )
        == 1
    )
    (conflict,) = json.loads((shiq.folder / "out.json").read_text())["conflicts"]
    assert conflict["places"] == [[{"source": name, "line": 1}]]


def test_a_catalog_does_not_lead_out_of_its_folder(shiq: Shiq) -> None:
    inner = shiq.folder / "inner"
    inner.mkdir()
    (inner / "link.ttl").symlink_to(shiq.folder / "t.ttl")
    (shiq.folder / "o.ttl").write_text(f"{TBOX}<urn:o> a owl:Ontology ; owl:imports <urn:rest> .\n")
    for target in ("../t.ttl", "link.ttl", str(shiq.folder / "t.ttl"), "..\\..\\t.ttl/../../t.ttl"):
        (inner / "catalog.json").write_text(json.dumps({"urn:rest": target}))
        assert (
            shiq(
                "certify",
                "o.ttl",
                "base.nt",
                "--reasoner",
                "own",
                "--catalog",
                inner / "catalog.json",
            )
            == 4
        )
        assert "outside of the catalog's folder" in shiq.err


def test_archives_of_several_files_are_never_unpacked(shiq: Shiq) -> None:
    (shiq.folder / "b.nt").write_text(GOOD)
    with zipfile.ZipFile(shiq.folder / "a.zip", "w") as made:
        made.write(shiq.folder / "b.nt", "../../b.nt")
    with tarfile.open(shiq.folder / "a.nt.tar.gz", "w:gz") as packed:
        packed.add(shiq.folder / "b.nt", "../../b.nt")
    for name in ("a.zip", "a.nt.tar.gz"):
        assert shiq("check", "-s", "kg", "-i", name) == 4
        assert name in shiq.err


# --- objects of Python ---------------------------------------------------------------------------


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (self.path,)


def test_pickles_are_never_read(shiq: Shiq) -> None:
    sprung = shiq.folder / "sprung"
    for name in ("a.pkl", "a.pickle", "a.nt", "a.parquet"):
        assert shiq.insert(name, pickle.dumps(Trap(str(sprung)))) == 4
        assert not sprung.exists()


def test_nothing_of_ours_unpickles() -> None:
    """But tasks on Spark what other tasks of the same job made, as Spark itself does with
    functions; and a build, and shards of rules, what their own worker processes say, by pipes,
    never by files.
    """
    readers = re.compile(
        r"\b(?:import|from) (?:pickle|dill|joblib|shelve|marshal|cloudpickle)\b|allow_pickle=True|read_pickle"
    )
    found = {
        path.relative_to(ROOT).parts[:2]
        for package in ("shiq", "simplify", "abox_ops", "jobs")
        for path in (ROOT / package).rglob("*.py")
        if readers.search(path.read_text(encoding="utf-8"))
    }
    rooms = (("jobs", "building"), ("jobs", "commands"))
    assert found <= {("jobs", "spark"), ("jobs", "graphframes"), *rooms}
    by_pipe = [
        path.name
        for room in rooms
        for path in sorted(ROOT.joinpath(*room).rglob("*.py"))
        if readers.search(path.read_text(encoding="utf-8"))
    ]
    assert by_pipe == ["executor.py", "rules.py"]
