"""IRIs are shortened on the terminal by the prefixes of the files that were read, and full in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiq.jobs.text.results import file_prefixes, shorten
from shiq.model import OWL, RDF
from tests.command_line import shiq

FILES = {
    "t.ttl": "@prefix a: <urn:a#> .\nPREFIX : <http://e.org/x/>\n<urn:a#x> <urn:a#y> <urn:a#z> .",
    "t.ofn": "Prefix(a:=<urn:a#>) Prefix( : = <http://e.org/x/> ) Ontology()",
    "t.owl": f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:a="urn:a#" xmlns:b="http://e.org/x/"/>',
    "t.owx": f'<Ontology xmlns="{OWL}"><Prefix name="a" IRI="urn:a#"/><Prefix name="" IRI="http://e.org/x/"/></Ontology>',
}


@pytest.mark.parametrize("name", FILES)
def test_prefixes_are_found_in_each_syntax(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name])
    found = file_prefixes(
        {"tbox": [str(tmp_path / name)], "abox": (), "insertions": str(tmp_path / "none.nt")}
    )
    assert found["urn:a#"] == "a" and "http://e.org/x/" in found


def test_the_first_of_two_meanings_counts(tmp_path: Path) -> None:
    (tmp_path / "1.ttl").write_text("@prefix a: <urn:1#> . @prefix b: <urn:2#> .")
    (tmp_path / "2.ttl").write_text(
        "@prefix a: <urn:2#> . @prefix c: <urn:1#> . @prefix a: <urn:3#> ."
    )
    inputs = {"tbox": [tmp_path / "1.ttl"], "insertions": [tmp_path / "2.ttl"]}
    assert file_prefixes(inputs) == {"urn:1#": "a", "urn:2#": "b"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<urn:a#x>", "a:x"),
        ("<urn:a#x/y>", "<urn:a#x/y>"),
        ("<urn:a#>", "<urn:a#>"),
        ("<urn:a#x.>", "<urn:a#x.>"),
        ('"<urn:a#x>" <urn:a#x>', '"<urn:a#x>" a:x'),
        (r'"\"<urn:a#x>" <urn:b#x>', r'"\"<urn:a#x>" <urn:b#x>'),
        ("<http://purl.obolibrary.org/obo/GO_1>", "GO:1"),
    ],
)
def test_what_a_name_can_be(text: str, shown: str) -> None:
    assert shorten(text, {"urn:a#": "a", "http://purl.obolibrary.org/obo/GO_": "GO"}) == shown
    assert shorten(text, {}) == text


def test_a_terminal_shows_names_and_json_has_the_iris(tmp_path: Path) -> None:
    (tmp_path / "t.ttl").write_text(
        f"@prefix z: <urn:zoo#> . @prefix owl: <{OWL}> .\nz:Cat a owl:Class . z:Dog owl:disjointWith z:Cat ."
    )
    (tmp_path / "b.nt").write_text(
        "".join(f"<urn:zoo#tom> <{RDF}type> <urn:zoo#{name}> .\n" for name in ("Cat", "Dog", "Cta"))
    )
    command = (
        "check",
        "--tbox",
        tmp_path / "t.ttl",
        "--insert",
        tmp_path / "b.nt",
        "-q",
        "--json",
        tmp_path / "r.json",
    )
    said = shiq(*command).stdout
    assert f"z:tom <{RDF}type> z:Cat ." in said and "DisjointClasses(z:Dog z:Cat)" in said.replace(
        "z:Cat z:Dog", "z:Dog z:Cat"
    )
    assert "does not know the class z:Cta" in said and "<urn:zoo#" not in said
    whole = json.loads((tmp_path / "r.json").read_text())
    assert any(
        "<urn:zoo#tom>" in line for line in whole["conflicts"][0]["insertions"]
    ) and "z:" not in json.dumps(whole["conflicts"])
    alone = shiq("certify", tmp_path / "t.ttl", tmp_path / "b.nt", "-q").stdout
    assert f"z:tom <{RDF}type> z:Cat ." in alone
    linted = shiq("lint", tmp_path / "t.ttl", "--data", tmp_path / "b.nt", "-q").stdout
    shown, _, steps = linted.partition("what to do")
    assert "z:Cta" in shown and "<urn:zoo#" not in shown and "urn:zoo#Cta" in steps
