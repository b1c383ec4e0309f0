"""The command line as a user meets it: exit codes, messages, JSON. Each trap of the README's
exit-code table has a case.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Called, shiq

from shiq.errors import UsageError
from shiq.jobs.checking.options import Options
from shiq.jobs.store import parse_location

TBOX = """@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class . :chases a owl:ObjectProperty ; rdfs:range :Cat .
:age a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:range xsd:integer .
"""
OWL = "http://www.w3.org/2002/07/owl#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
BASE = f"<urn:t#tom> {TYPE} <urn:t#Cat> .\n<urn:t#rex> {TYPE} <urn:t#Dog> .\n"
GOOD = "<urn:t#rex> <urn:t#chases> <urn:t#tom> .\n"
BAD = "<urn:t#tom> <urn:t#chases> <urn:t#rex> .\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cli")
    (made / "t.ttl").write_text(TBOX)
    (made / "base.nt").write_text(BASE)
    (made / "good.nt").write_text(GOOD)
    (made / "bad.nt").write_text(BAD)
    found = shiq("index", "--tbox", "t.ttl", "--store", "kg", "base.nt", cwd=made)
    assert found.returncode == 0, found.stderr
    return made


def check(folder: Path, *arguments: object) -> Called:
    return shiq("check", "--store", "kg", *arguments, cwd=folder)


def insert(folder: Path, text: str, *arguments: object, name: str = "batch.nt") -> Called:
    (folder / name).write_text(text)
    return check(folder, "--insert", name, *arguments)


def test_the_exit_code_is_that_of_the_process(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "shiq.jobs.cli",
        "check",
        "--store",
        "kg",
        "--insert",
        "bad.nt",
        "-q",
        "--reasoner",
        "own",
    ]
    found = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert (found.returncode, found.stdout.splitlines()[0], found.stderr) == (1, "INCONSISTENT", "")


def test_consistent(folder: Path) -> None:
    found = check(folder, "--insert", "good.nt", "--engine", "local")
    assert (found.returncode, found.stdout.splitlines()[0]) == (0, "CONSISTENT")


def test_the_engine_that_went_names_the_one_to_use(folder: Path) -> None:
    found = check(folder, "--insert", "good.nt", "--engine", "memory")
    assert (found.returncode, "use local" in found.stderr) == (2, True)
    with pytest.raises(UsageError, match="use local"):
        Options(engine="memory")


def test_inconsistent_names_the_culprit_in_text_and_json(folder: Path) -> None:
    found = check(folder, "--insert", "bad.nt", "--json", "out.json")
    assert found.returncode == 1
    assert BAD.strip() in found.stdout
    answer = json.loads((folder / "out.json").read_text())
    assert (answer["schema_version"], answer["verdict"], answer["conflicts_complete"]) == (
        2,
        "inconsistent",
        True,
    )
    [conflict] = answer["conflicts"]
    assert conflict["insertions"] == [BAD.strip()]
    assert conflict["base"] == [BASE.splitlines()[1]]
    assert any("DisjointClasses" in axiom for axiom in conflict["axioms"])
    assert any("ObjectPropertyRange" in axiom for axiom in conflict["axioms"])
    assert answer["statistics"]["insertions"] == 1


def test_without_a_store_and_with_a_bad_base(folder: Path) -> None:
    found = shiq("check", "--tbox", "t.ttl", "--abox", "base.nt", "--insert", "bad.nt", cwd=folder)
    assert found.returncode == 1
    (folder / "broken.nt").write_text(BASE + BAD)
    found = shiq(
        "check",
        "--tbox",
        "t.ttl",
        "--abox",
        "broken.nt",
        "--insert",
        "good.nt",
        "--json",
        "out.json",
        cwd=folder,
    )
    assert found.returncode == 1
    assert {c["origin"] for c in json.loads((folder / "out.json").read_text())["conflicts"]} == {
        "base"
    }


def test_an_inconsistent_base_is_stored_uncertified(folder: Path) -> None:
    (folder / "broken.nt").write_text(BASE + BAD)
    assert (
        shiq("index", "--tbox", "t.ttl", "--store", "kg2", "broken.nt", cwd=folder).returncode == 1
    )
    found = shiq("check", "--store", "kg2", "--insert", "good.nt", cwd=folder)
    assert found.returncode == 3
    assert "not certified" in found.stdout


def test_deletions_come_first(folder: Path) -> None:
    (folder / "gone.nt").write_text(BASE.splitlines()[1] + "\n")
    assert check(folder, "--insert", "bad.nt", "--delete", "gone.nt").returncode == 0


def test_broken_lines_are_all_located_and_the_rest_still_contradicts(folder: Path) -> None:
    found = insert(
        folder,
        "<urn:t#a b> <urn:t#chases> <urn:t#c> .\n" + GOOD + '"x" <urn:t#chases> <urn:t#c> .\n',
    )
    assert found.returncode == 3
    assert "batch.nt:1" in found.stdout
    assert "batch.nt:3" in found.stdout
    assert insert(folder, "<urn:t#a b> <urn:t#chases> <urn:t#c> .\n" + BAD).returncode == 1


def test_a_line_cut_short(folder: Path) -> None:
    assert insert(folder, GOOD + BAD[:25]).returncode == 3


def test_a_truncated_archive(folder: Path) -> None:
    (folder / "cut.nt.gz").write_bytes(gzip.compress(GOOD.encode() * 100)[:-9])
    found = check(folder, "--insert", "cut.nt.gz")
    assert (found.returncode, "cut.nt.gz" in found.stderr) == (4, True)


def test_an_html_page(folder: Path) -> None:
    found = insert(folder, "<!DOCTYPE html><html><body>502 Bad Gateway</body></html>\n")
    assert (found.returncode, "batch.nt" in found.stderr) == (4, True)


def test_a_missing_file(folder: Path) -> None:
    found = check(folder, "--insert", "missing.nt")
    assert (found.returncode, "missing.nt" in found.stderr) == (4, True)


def test_an_ill_typed_literal_contradicts_and_can_be_set_aside(folder: Path) -> None:
    text = '<urn:t#tom> <urn:t#age> "abc"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    found = insert(folder, text)
    assert found.returncode == 1
    assert '"abc"' in found.stdout
    assert insert(folder, text, "--allow", "ill-typed").returncode == 0


def test_an_unknown_property_with_a_near_miss(folder: Path) -> None:
    found = insert(folder, GOOD.replace("chases", "chasess"))
    assert found.returncode == 3
    assert "batch.nt:1" in found.stdout
    assert "urn:t#chases>" in found.stdout or "chases " in found.stdout
    assert (
        insert(folder, GOOD.replace("chases", "chasess"), "--allow", "undeclared").returncode == 0
    )


def test_owl_nothing_is_an_assertion_like_another(folder: Path) -> None:
    assert (
        insert(folder, f"<urn:t#x> {TYPE} <http://www.w3.org/2002/07/owl#Nothing> .\n").returncode
        == 1
    )


def test_an_axiom_outside_shiq(folder: Path) -> None:
    (folder / "o.ttl").write_text(TBOX + ":Cat owl:equivalentClass [ owl:oneOf ( :tom ) ] .")
    found = shiq("certify", "o.ttl", "base.nt", "--outside", "undetermined", cwd=folder)
    assert found.returncode == 3
    assert "ObjectOneOf" in found.stdout or "nominal" in found.stdout.lower()
    assert "--outside ask" in found.stdout
    assert shiq("certify", "o.ttl", "base.nt", "bad.nt", cwd=folder).returncode == 1
    allowed = shiq("certify", "o.ttl", "base.nt", "--allow", "outside-shiq", cwd=folder)
    assert (allowed.returncode, allowed.stdout.splitlines()[0]) == (
        0,
        "CONSISTENT without 1 axiom (1 outside-shiq)",
    )


def test_the_headline_names_what_an_ill_typed_literal_takes_along(folder: Path) -> None:
    """The axiom is left out as a whole, and what else it says with it."""
    ill = '[ a owl:Restriction ; owl:onProperty :age ; owl:hasValue "old"^^<http://www.w3.org/2001/XMLSchema#integer> ]'
    (folder / "o.ttl").write_text(
        f"{TBOX}:age a owl:DatatypeProperty . :Cat rdfs:subClassOf [ owl:intersectionOf ( :Dog {ill} ) ] ."
    )
    assert shiq("certify", "o.ttl", "base.nt", cwd=folder).returncode == 3
    allowed = shiq("certify", "o.ttl", "base.nt", "--allow", "ill-typed", cwd=folder)
    assert (allowed.returncode, allowed.stdout.splitlines()[0]) == (
        0,
        "CONSISTENT without what is 1 ill-typed",
    )


def test_an_axiom_in_a_batch(folder: Path) -> None:
    found = insert(
        folder, "<urn:t#Cat> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:t#Dog> .\n"
    )
    assert found.returncode == 3
    assert "tbox-axiom" in found.stdout


def test_a_batch_that_imports_the_ontology(folder: Path) -> None:
    (folder / "named.ttl").write_text(
        TBOX + "<urn:t> a <http://www.w3.org/2002/07/owl#Ontology> .\n"
    )
    assert (
        shiq("index", "--tbox", "named.ttl", "--store", "named", "base.nt", cwd=folder).returncode
        == 0
    )
    for iri, code in (("urn:t", 0), ("urn:other", 3)):
        header = f"<urn:b> {TYPE} <{OWL}Ontology> .\n<urn:b> <{OWL}imports> <{iri}> .\n"
        (folder / "import.nt").write_text(header + GOOD)
        assert (
            shiq("check", "--store", "named", "--insert", "import.nt", cwd=folder).returncode
            == code
        )


def test_an_empty_tbox(folder: Path) -> None:
    (folder / "empty.ttl").write_text("<urn:o> a <http://www.w3.org/2002/07/owl#Ontology> .\n")
    (folder / "nobody.nt").write_text("")
    arguments = ("check", "--tbox", "empty.ttl", "--abox", "nobody.nt", "--insert", "nobody.nt")
    assert shiq(*arguments, cwd=folder).returncode == 3
    assert shiq(*arguments, "--allow", "empty-tbox", cwd=folder).returncode == 0
    found = shiq("certify", "empty.ttl", cwd=folder)
    assert found.returncode == 0
    assert "empty-tbox" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("chek",), "check"),
        (("check", "--store", "kg", "--insert", "good.nt", "--criterion", "clausl"), "clausal"),
        (("check", "--store", "kg", "--insert", "good.nt", "--allow", "undeclard"), "undeclared"),
        (("check", "--store", "kg"), "Nothing to check"),
        (("check", "--insert", "good.nt"), "--store"),
        (("check", "--store", "kg", "--insert", "good.nt", "--bogus"), "--bogus"),
    ],
)
def test_usage(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    found = shiq(*arguments, cwd=folder)
    assert found.returncode == 2
    assert said in found.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("index", "--tbox", "t.ttl", "base.nt"),
        ("index", "--tbox", "t.ttl", "base.nt", "--engine", "spark"),
        ("check", "--insert", "good.nt"),
        ("check", "--insert", "good.nt", "--commit"),
        ("certify",),
        ("gate", "--insert", "good.nt"),
        ("repro", "pack", "--insert", "good.nt", "-o", "bug.zip"),
        ("export",),
        ("status",),
        ("status", "--verify"),
        ("compact",),
        ("stream", "consistency", "--source", "good.nt", "--window", "3", "--every", "3"),
        ("stream", "enrich", "--source", "good.nt"),
    ],
    ids=" ".join,
)
def test_an_address_of_an_unknown_kind_is_refused_and_makes_no_folder(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    before = sorted(entry.name for entry in folder.iterdir())
    found = shiq(*arguments, "--store", "ftp://graph/kg", cwd=folder)
    assert (found.returncode, "ftp://" in found.stderr) == (2, True), found.stderr
    assert sorted(entry.name for entry in folder.iterdir()) == before


def test_a_place_is_a_path_or_the_address_of_one(folder: Path) -> None:
    assert parse_location("kg") == Path("kg")
    assert parse_location("a:/b") == Path("a:/b")
    assert parse_location(f"file://{folder}/k%20g") == folder / "k g"
    for named in ("ftp://graph/kg", "file://server/kg", Path("ftp://graph/kg")):
        with pytest.raises(UsageError, match="cannot lie there"):
            parse_location(named)


def test_a_panic_of_a_library_is_no_inconsistency(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Panic(BaseException):
        pass

    def panics(*_: object) -> None:
        raise Panic("at some line in Rust")

    monkeypatch.setattr("shiq.jobs.store.open_store", panics)
    found = shiq("status", "--store", "kg", cwd=folder)
    assert (found.returncode, "Rust" in found.stderr) == (4, True), found.stderr


def test_not_a_store(folder: Path) -> None:
    found = shiq("check", "--store", "nowhere", "--insert", "good.nt", cwd=folder)
    assert (found.returncode, "nowhere" in found.stderr) == (4, True)


def test_simplify_shows_clauses_and_parts(folder: Path) -> None:
    found = shiq("simplify", "t.ttl", "--json", "-", cwd=folder)
    report = json.loads(found.stdout)
    assert found.returncode == 0
    assert len(report["clauses"]) == 4
    shown = shiq("simplify", "t.ttl", cwd=folder).stdout
    assert {"roles, inclusions (0)", f"clauses ({len(report['clauses'])})"} <= set(
        shown.splitlines()
    )
    assert "{" not in shown


def test_results_on_stdout_progress_on_stderr(folder: Path) -> None:
    found = check(folder, "--insert", "good.nt", "--json", "-", "-v")
    assert json.loads(found.stdout)["verdict"] == "consistent"
    assert "reading" in found.stderr
    assert check(folder, "--insert", "good.nt", "-q").stderr == ""


@pytest.mark.slow
def test_every_command_ends_alike_fifty_times(folder: Path) -> None:
    for arguments in (
        ("check", "--store", "kg", "--insert", "good.nt"),
        ("check", "--store", "kg", "--insert", "bad.nt"),
        ("check", "--tbox", "t.ttl", "--abox", "base.nt", "--insert", "bad.nt"),
        ("certify", "t.ttl", "base.nt"),
        ("index", "--tbox", "t.ttl", "--store", "kg3", "--replace", "base.nt"),
        ("simplify", "t.ttl"),
    ):
        codes = {shiq(*arguments, "-q", cwd=folder).returncode for _ in range(50)}
        assert codes == {1 if "bad.nt" in arguments else 0}, arguments
