"""`shiq check --reduced`: a file that is consistent exactly where base and batch are, and says
in its first line if it is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq import model as owl
from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import certify, check_insertions
from shiq.functional import parse_functional
from shiq.functional.writer import declaration_text, declared_term
from shiq.jobs import reduced_ontology as reduced
from shiq.model import RDF, XSD, TBox
from shiq.model.abox import abox_of
from shiq.model.walk import parts
from tests.command_line import shiq
from tests.conftest import CASES
from tests.tools.random_ontologies.kb import random_kb
from tests.tools.reduced import FileReasoner, checked, compare

NAMES = sorted(p.name for p in CASES.iterdir() if p.is_dir())
A, B, C = (owl.Class(f"urn:t#{name}") for name in "ABC")
r, f = owl.ObjectProperty("urn:t#r"), owl.DataProperty("urn:t#f")
APART = owl.DisjointClasses((A, B))


def of_case(name: str, engine: str = "spec") -> Result:
    folder = CASES / name
    files = [folder / f"{part}.ofn" for part in ("tbox", "abox", "insertions", "deletions")]
    given = [file if file.exists() else None for file in files]
    return check_insertions(
        *given,
        engine=engine,
        criterion="definition7",
        reasoner="own",
        max_conflicts=0,
        outside="undetermined",
    )


def read_again(file: Path) -> Verdict:
    """What shiq itself says of a file; it must have understood all of it."""
    found = certify(file, reasoner="own", allow=("empty-tbox",), max_conflicts=0)
    assert {leftover.kind for leftover in found.evidence.leftovers} <= {"unsatisfiable-class"}, (
        found.evidence.leftovers
    )
    return found.verdict


def wrong_verdicts(
    results: Iterator[tuple[str, Result]], folder: Path, endings: tuple[str, ...] = (".ofn", ".nt")
) -> list[str]:
    """The names of those of ``results`` whose file is read as something else than was decided."""
    wrong = []
    for name, result in results:
        for ending in endings:
            gaps = reduced.write_reduced(result, folder / f"x{ending}")
            if not gaps and read_again(folder / f"x{ending}") is not result.verdict:
                wrong.append(f"{name}{ending}")
    return wrong


def result_of(tbox: list[Any], base: list[Any], batch: list[Any], **settings: Any) -> Result:
    given = {
        "engine": "spec",
        "criterion": "definition7",
        "reasoner": "own",
        "max_conflicts": 0,
        **settings,
    }
    return check_insertions(TBox(tuple(tbox)), abox_of(base), abox_of(batch), **given)


def test_golden_cases_read_again(tmp_path: Path) -> None:
    assert not wrong_verdicts(((name, of_case(name)) for name in NAMES[::6]), tmp_path, (".ofn",))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["spec", "local"])
def test_all_cases_and_random_batches_read_again(engine: str, tmp_path: Path) -> None:
    cases = ((name, of_case(name, engine)) for name in NAMES)
    assert not wrong_verdicts(cases, tmp_path)
    assert not wrong_verdicts(
        ((str(seed), checked(random_kb(seed), engine)) for seed in range(120)), tmp_path
    )


@pytest.mark.slow
def test_hermit_over_the_files_of_random_batches(tmp_path: Path) -> None:
    asked = FileReasoner()
    try:
        found = [compare(seed, asked, tmp_path) for seed in range(2000, 2100)]
        assert [each for one in found for each in one if not each[1]] == []
    finally:
        asked.close()


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        (owl.ObjectPropertyAssertion, "PaperExample2"),
        (owl.DifferentIndividuals, "PaperExample2"),
        (owl.DataPropertyAssertion, "DataFunctional"),
        (owl.ClassAssertion, "OwlNothing"),
        (owl.ClassAssertion, "RemedyBringsItsOwn"),
    ],
)
def test_what_is_left_out_is_seen(
    planted: type, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = reduced._add_set_assertions

    def wrong(add_set: Any) -> Iterator[reduced.Part]:
        for assertions, individuals in before(add_set):
            yield [a for a in assertions if not isinstance(a, planted)], individuals

    assert not wrong_verdicts(iter([(name, of_case(name))]), tmp_path)
    monkeypatch.setattr(reduced, "_add_set_assertions", wrong)
    assert wrong_verdicts(iter([(name, of_case(name))]), tmp_path, (".ofn",))


def undeclared(file: Path) -> set[tuple[str, str]]:
    """The kind and IRI of what a file mentions and does not declare."""
    text = file.read_text()
    reading = parse_functional(text, "x", "x")
    used = {
        declared_term(part)
        for value in (*reading.tbox.axioms, *reading.abox)
        for part in parts(value)
    }
    return {term for term in used if term is not None and declaration_text(*term) not in text}


def test_every_term_is_declared_and_fresh_ones_have_one_prefix(tmp_path: Path) -> None:
    loop = owl.SubClassOf(owl.ObjectHasSelf(r), A)
    deep = owl.SubClassOf(
        A, owl.ObjectAllValuesFrom(r, owl.ObjectUnionOf((B, owl.ObjectSomeValuesFrom(r, C))))
    )
    chain = owl.TransitiveObjectProperty(owl.ObjectProperty("urn:t#s"))
    below = owl.SubClassOf(
        C, owl.ObjectAllValuesFrom(owl.ObjectProperty("urn:t#s"), owl.ObjectComplementOf(A))
    )
    says = owl.ClassAssertion(owl.ObjectMinCardinality(2, r, A), "_:x")
    no = owl.NegativeObjectPropertyAssertion(owl.ObjectProperty("urn:t#s"), "urn:t#a", "_:x")
    data = owl.DataPropertyAssertion(
        f, "urn:t#a", owl.Literal('a "<urn:shiq:b>" c', XSD + "string")
    )
    functional = owl.FunctionalDataProperty(f)
    result = result_of(
        [loop, deep, chain, below, functional],
        [],
        [says, no, data, owl.SameIndividual("urn:t#a", "urn:t#b")],
    )
    file = tmp_path / "x.ofn"
    assert reduced.write_reduced(result, file) == []
    text = file.read_text()
    assert not undeclared(file)
    assert (
        text.count("<urn:shiq:") == text.count(f"<{reduced.FRESH_PREFIX}") + 1
        and '"a \\"<urn:shiq:b>\\" c"' in text
    )
    assert "SameIndividual(<urn:t#a> <urn:t#b>)" in text and " _:" not in text
    assert read_again(file) is result.verdict


def test_all_forms_hold_the_same(tmp_path: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet
    from deltalake import DeltaTable

    result = result_of(
        [APART],
        [owl.ClassAssertion(A, "urn:t#a")],
        [owl.ClassAssertion(owl.ObjectComplementOf(A), "urn:t#a")],
    )
    for ending in reduced.ENDINGS:
        reduced.write_reduced(result, tmp_path / f"x{ending}")
    lines = [
        line.removesuffix(" .").split(" ", 2)
        for line in (tmp_path / "x.nt").read_text().splitlines()
    ]
    tables = (
        pyarrow.csv.read_csv(tmp_path / "x.csv"),
        pyarrow.parquet.read_table(tmp_path / "x.parquet"),
    )
    for table in (*tables, DeltaTable(str(tmp_path / "x.delta")).to_pyarrow_table()):
        assert [list(row.values()) for row in table.to_pylist()] == lines
    assert f"<urn:t#a> <{RDF}type> <{owl.OWL}Nothing>" in map(" ".join, lines)
    for ending in (".ofn", ".nt", ".parquet"):
        assert read_again(tmp_path / f"x{ending}") is Verdict.INCONSISTENT


def test_a_property_of_two_kinds_has_two_names(tmp_path: Path) -> None:
    both = owl.DataProperty(r.iri)
    bounds = [
        owl.SubClassOf(A, owl.ObjectMaxCardinality(0, r)),
        owl.SubClassOf(A, owl.DataMaxCardinality(0, both)),
    ]
    for batch in (
        owl.ObjectPropertyAssertion(r, "urn:t#a", "urn:t#b"),
        owl.DataPropertyAssertion(both, "urn:t#a", owl.Literal("1")),
    ):
        result = result_of(bounds, [owl.ClassAssertion(A, "urn:t#a")], [batch])
        reduced.write_reduced(result, tmp_path / "x.ofn")
        text = (tmp_path / "x.ofn").read_text()
        assert (
            f"Declaration(DataProperty(<{reduced.FRESH_PREFIX}data:{r.iri}>))" in text
            and f"Declaration(ObjectProperty(<{r.iri}>))" in text
        )
        assert read_again(tmp_path / "x.ofn") is Verdict.INCONSISTENT


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("t.ofn").write_text(
        "Ontology(Declaration(Class(<urn:t#A>)) Declaration(Class(<urn:t#B>)) Declaration(ObjectProperty(<urn:t#r>))"
        " DisjointClasses(<urn:t#A> <urn:t#B>) ObjectPropertyRange(<urn:t#r> <urn:t#A>))"
    )
    Path("a.nt").write_text(f"<urn:t#a> <{RDF}type> <urn:t#A> .\n")
    Path("clean.nt").write_text("<urn:t#b> <urn:t#r> <urn:t#a> .\n")
    Path("broken.nt").write_text("<urn:t#b> <urn:t#r> <urn:t#a> .\n<urn:t#b> <urn:t#r>\n")
    return tmp_path


def asked(batch: str, *options: str, base: str = "a.nt") -> tuple[int, str]:
    """The exit code of a check with --reduced, and the first line of the file."""
    given = [
        "check",
        "-t",
        "t.ofn",
        "-a",
        base,
        "-i",
        batch,
        "--criterion",
        "definition7",
        "--reasoner",
        "own",
        "-q",
    ]
    code = shiq(*given, "--reduced", "x.ofn", *options).returncode
    return code, Path("x.ofn").read_text().splitlines()[0]


def test_the_first_line_says_what_the_file_is(folder: Path) -> None:
    code, first = asked("clean.nt")
    assert code == 0 and "if and only if base and batch are" in first
    code, first = asked("broken.nt")
    assert code == 3 and "NOT THE WHOLE QUESTION" in first and "1 × malformed" in first
    code, first = asked("broken.nt", "--allow", "malformed")
    assert code == 3 and "NOT THE WHOLE QUESTION" in first
    Path("twice.nt").write_text(
        f"<urn:t#a> <{RDF}type> <urn:t#A> .\n<urn:t#a> <{RDF}type> <urn:t#B> .\n"
    )
    code, first = asked("clean.nt", base="twice.nt")
    assert code == 1 and "the base is inconsistent by itself" in first
    assert read_again(Path("x.ofn")) is Verdict.INCONSISTENT


def test_what_is_outside_and_asked_of_hermit_is_not_in_it(folder: Path) -> None:
    text = Path("t.ofn").read_text().removesuffix(")")
    Path("t.ofn").write_text(f"{text} SubClassOf(<urn:t#A> ObjectOneOf(<urn:t#a>)))")
    code, first = asked("clean.nt", "--outside", "undetermined")
    assert code == 3 and "1 × outside-shiq" in first


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (["--reduced", "x.ofn"], "give --criterion definition7 too"),
        (
            ["--reduced", "x.xml", "--criterion", "definition7"],
            "written as .ofn, .nt, .csv, .parquet, .delta",
        ),
        (
            ["--reduced", "old.delta", "--criterion", "definition7"],
            "is there already, and is not replaced",
        ),
        (
            ["--reduced", "clean.nt", "--criterion", "definition7"],
            "would replace what --insert reads",
        ),
    ],
)
def test_what_is_refused(given: list[str], what: str, folder: Path) -> None:
    Path("old.delta").mkdir()
    code, _, output = shiq("check", "-t", "t.ofn", "-a", "a.nt", "-i", "clean.nt", *given)
    assert code == 2 and what in " ".join(output.split())


def test_a_store_that_is_committed_to(folder: Path) -> None:
    assert shiq("index", "-t", "t.ofn", "-s", "kg", "--reasoner", "own", "-q", "a.nt")[0] == 0
    given = [
        "-s",
        "kg",
        "-i",
        "clean.nt",
        "--criterion",
        "definition7",
        "--commit",
        "--reduced",
        "x.nt",
        "--json",
        "v.json",
        "-q",
    ]
    assert shiq("check", *given)[0] == 0
    assert json.loads(Path("v.json").read_text())["committed"] == 2
    assert read_again(Path("x.nt")) is Verdict.CONSISTENT
