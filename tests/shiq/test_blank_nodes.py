"""Deleting assertions about blank nodes, by the labels that `shiq export` prints."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from shiq.answers.verdict import Verdict
from shiq.api import check_insertions, index, open_store
from shiq.jobs.store import open_store as open_stored
from shiq.model import Class, ClassAssertion, DisjointClasses, ObjectProperty, Signature, TBox
from shiq.model.abox import abox_of
from shiq.model.ntriples import assertion_lines, blank_term, parse_blank_label

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
PERSON, COMPANY, KNOWS = (
    Class("urn:t#Person"),
    Class("urn:t#Company"),
    ObjectProperty("urn:t#knows"),
)
TBOX = TBox(
    (DisjointClasses((PERSON, COMPANY)),),
    Signature(frozenset((PERSON.iri, COMPANY.iri)), frozenset((KNOWS.iri,)), frozenset()),
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Of two files with labelled nodes and one without labels."""
    (tmp_path / "one.nt").write_text(
        f"_:b <{TYPE}> <{PERSON.iri}> .\n_:b <{KNOWS.iri}> <urn:t#z> .\n"
    )
    (tmp_path / "two.nt").write_text(f"_:b <{TYPE}> <{COMPANY.iri}> .\n")
    (tmp_path / "three.ttl").write_text(f"<urn:t#z> <{KNOWS.iri}> [ a <{PERSON.iri}> ] .\n")
    data = [tmp_path / name for name in ("one.nt", "two.nt", "three.ttl")]
    assert index(TBOX, data, tmp_path / "kg", reasoner="own").verdict is Verdict.CONSISTENT
    return tmp_path / "kg"


def exported(store: Path) -> list[str]:
    with open_stored(store) as opened:
        return [line for assertion in opened.export() for line in assertion_lines(assertion)]


def test_all_that_is_exported_can_be_deleted(store: Path, tmp_path: Path) -> None:
    lines = exported(store)
    assert len(lines) == 5
    for i, line in enumerate(lines):
        (tmp_path / f"gone{i}.nt").write_text(line + "\n")
        with open_store(store) as session:
            result = session.check(None, tmp_path / f"gone{i}.nt", reasoner="own", commit=True)
        assert (result.verdict, result.evidence.leftovers) == (Verdict.CONSISTENT, ())
        assert exported(store) == [other for other in lines[i + 1 :] if other in exported(store)]
    assert exported(store) == []


def test_a_label_means_one_node_in_several_files(store: Path, tmp_path: Path) -> None:
    lines = [line for line in exported(store) if line.startswith("_:a0.b ")]
    for name in ("first.nt", "second.nt"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    with open_store(store) as session:
        result = session.check(
            None, [tmp_path / "first.nt", tmp_path / "second.nt"], reasoner="own", commit=True
        )
    assert (result.verdict, result.evidence.leftovers) == (Verdict.CONSISTENT, ())
    assert len(exported(store)) == 3


def test_the_verdict_goes_without_it(store: Path, tmp_path: Path) -> None:
    (tmp_path / "old.nt").write_text(f"_:a1.b <{TYPE}> <{COMPANY.iri}> .\n")
    with open_store(store) as session:
        insertions = [ClassAssertion(PERSON, "_:a1.b")]
        assert session.check(abox_of(insertions), reasoner="own").verdict is Verdict.INCONSISTENT
        assert (
            session.check(abox_of(insertions), tmp_path / "old.nt", reasoner="own").verdict
            is Verdict.CONSISTENT
        )


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark_too(spark: object, store: Path, tmp_path: Path) -> None:
    """In tables as in lines; deletions without such a label are read in tasks, and told with
    their places all the same.
    """
    deletions = {
        "old.nt": f"_:a1.b <{TYPE}> <{COMPANY.iri}> .\n",
        "nobody.nt": f"# nobody\n_:c <{TYPE}> <{PERSON.iri}> .\n",
    }
    deletions["named.nt"] = f"\n<urn:t#n> <{TYPE}> <{PERSON.iri}> .\n"
    for name, text in deletions.items():
        (tmp_path / name).write_text(text)
    table = pa.table({"s": ["_:a1.b"], "p": [f"<{TYPE}>"], "o": [f"<{COMPANY.iri}>"]})
    insertions = abox_of([ClassAssertion(PERSON, "_:a1.b")])
    with open_store(store) as session:
        for gone in (tmp_path / "old.nt", table):
            assert (
                session.check(insertions, gone, reasoner="own", engine="spark").verdict
                is Verdict.CONSISTENT
            )
        for name in ("nobody.nt", "named.nt"):
            told, alike = (
                session.check(None, tmp_path / name, reasoner="own", engine=e)
                for e in ("spark", "local")
            )
            assert told.evidence.leftovers == alike.evidence.leftovers != ()
            assert [(x.kind, x.line) for x in told.evidence.leftovers] == [
                ("unmatched-deletion", 2)
            ]


@pytest.mark.parametrize("label", ["b", "a0.c", "a7.b", "i1.0.b", "q_xd800_"])
def test_a_label_of_no_node_is_told_with_its_place(store: Path, tmp_path: Path, label: str) -> None:
    (tmp_path / "old.nt").write_text(f"# nobody\n_:{label} <{TYPE}> <{PERSON.iri}> .\n")
    with open_store(store) as session:
        [told] = session.check(None, tmp_path / "old.nt", reasoner="own").evidence.leftovers
    assert (told.kind, told.source, told.line) == (
        "unmatched-deletion",
        str(tmp_path / "old.nt"),
        2,
    )
    assert told.text.startswith(f"{blank_term(parse_blank_label(label))} ")
    assert "shiq export" in told.hint
    assert len(exported(store)) == 5


def test_without_a_store_as_conflicts_print_it(tmp_path: Path) -> None:
    (tmp_path / "base.nt").write_text(
        f"_:b <{TYPE}> <{PERSON.iri}> .\n<urn:t#x> <{KNOWS.iri}> _:b .\n"
    )
    (tmp_path / "old.nt").write_text(f"_:a0.b <{TYPE}> <{PERSON.iri}> .\n")
    result = check_insertions(
        TBOX, tmp_path / "base.nt", None, deletions=tmp_path / "old.nt", reasoner="own"
    )
    assert (result.verdict, result.evidence.leftovers) == (Verdict.CONSISTENT, ())


@pytest.mark.parametrize(
    "individual",
    ["_:a0.b", "_:a0..5", "_:", "_:a x", "_:_x20_", "_:-é.", "_:a_\U0001f600_", "_:x_x"],
)
def test_every_label_that_is_printed_is_understood(individual: str) -> None:
    assert parse_blank_label(blank_term(individual)[2:]) == individual
