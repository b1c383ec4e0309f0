"""Unknown datatypes, such as those of units, from outside: what is decided, what stays open,
that nobody is asked in vain.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import check_insertions, index, open_store

CONSISTENT, INCONSISTENT, UNDETERMINED = (
    Verdict.CONSISTENT,
    Verdict.INCONSISTENT,
    Verdict.UNDETERMINED,
)

TBOX = """Prefix(:=<urn:o#>) Prefix(unit:=<urn:unit#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(<urn:o>
  DataPropertyRange(:runtime unit:second) DataPropertyDomain(:runtime :Film) FunctionalDataProperty(:runtime)
  DataPropertyRange(:length unit:metre) DataPropertyRange(:year xsd:integer)
  DisjointDataProperties(:length :year)
  SubClassOf(:Film DataSomeValuesFrom(:runtime unit:second)) SubClassOf(:Film DataSomeValuesFrom(:length unit:metre))
  DisjointClasses(:Film :Person)
)"""

BASE = """<urn:d#a> <urn:o#runtime> "214.0"^^<urn:unit#second> .
<urn:d#b> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:o#Person> .
"""

UNIT, YEARS = "^^<urn:unit#second>", "^^<http://www.w3.org/2001/XMLSchema#integer>"


def check(tmp_path: Path, *lines: str, **settings: object) -> Result:
    for name, text in (
        ("tbox.ofn", TBOX),
        ("base.nt", BASE),
        ("batch.nt", "".join(f"{line} .\n" for line in lines)),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return check_insertions(
        *(tmp_path / name for name in ("tbox.ofn", "base.nt", "batch.nt")), **settings
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f'<urn:d#c> <urn:o#runtime> "215.0"{UNIT}', CONSISTENT),
        (f'<urn:d#a> <urn:o#runtime> "214.0"{UNIT}', CONSISTENT),
        (
            f'<urn:d#b> <urn:o#runtime> "215.0"{UNIT}',
            INCONSISTENT,
        ),  # a person is no film, whatever the value
        (f'<urn:d#a> <urn:o#runtime> "215.0"{UNIT}', UNDETERMINED),  # one value or two?
        ('<urn:d#c> <urn:o#runtime> "215.0"', UNDETERMINED),  # is a string a second?
        (f'<urn:d#c> <urn:o#runtime> "215"{YEARS}', UNDETERMINED),
        (f'<urn:d#c> <urn:o#year> "215"{UNIT}', UNDETERMINED),
        (
            '<urn:d#c> <urn:o#length> "1.80"^^<urn:unit#second>',
            UNDETERMINED,
        ),  # is a second a metre?
    ],
)
def test_what_a_unit_decides_and_what_it_leaves_open(
    tmp_path: Path, line: str, expected: Verdict
) -> None:
    for result in (check(tmp_path, line), check(tmp_path, line, engine="local", criterion="none")):
        assert result.verdict is expected, result.reason
        assert not result.evidence.sent, "no reasoner is asked that cannot know more"
        assert "unknown-datatype" in {leftover.kind for leftover in result.evidence.leftovers}, (
            "told for information"
        )
        assert expected is not UNDETERMINED or "opaque datatype <urn:unit#" in result.reason


def test_many_values_of_a_unit_are_no_obstacle(tmp_path: Path) -> None:
    lines = [f'<urn:d#c> <urn:o#length> "{i}"^^<urn:unit#metre>' for i in range(50)]
    result = check(
        tmp_path, "<urn:d#c> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:o#Film>", *lines
    )
    assert result.verdict is CONSISTENT, result.reason


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f'<urn:d#a> <urn:o#runtime> "214.0"{UNIT}', CONSISTENT),
        (f'<urn:d#a> <urn:o#runtime> "215.0"{UNIT}', INCONSISTENT),
        (f'<urn:d#a> <urn:o#runtime> "214.00"{UNIT}', INCONSISTENT),
        ('<urn:d#c> <urn:o#runtime> "215.0"', INCONSISTENT),
        (f'<urn:d#c> <urn:o#year> "215"{UNIT}', INCONSISTENT),
        ('<urn:d#c> <urn:o#length> "1.80"^^<urn:unit#second>', INCONSISTENT),
    ],
)
def test_allowed_units_are_told_apart_by_lexical_form(
    tmp_path: Path, line: str, expected: Verdict
) -> None:
    allow = ["unknown-datatype"]
    for result in (
        check(tmp_path, line, allow=allow),
        check(tmp_path, line, allow=allow, engine="local", criterion="none"),
    ):
        assert (result.verdict, result.reason) == (expected, "")
        assert all(conflict.is_minimal for conflict in result.conflicts)
        assert any("by your decision" in note for note in result.evidence.notes)
    # The decision is made with a check, or with the certificate of the store, where it stays.
    for agreed in ([], allow):
        store = tmp_path / f"kg{len(agreed)}"
        index(tmp_path / "tbox.ofn", tmp_path / "base.nt", store, allow=agreed)
        with open_store(store) as session:
            assert session.check(tmp_path / "batch.nt", allow=allow).verdict is expected
            later = session.check(tmp_path / "batch.nt")
            assert later.verdict is (expected if agreed else check(tmp_path, line).verdict)
            assert session.check(tmp_path / "batch.nt", allow=allow).verdict is expected


@pytest.mark.spark
def test_spark_tells_allowed_units_apart_too(spark: object, tmp_path: Path) -> None:
    lines = [f'<urn:d#a> <urn:o#runtime> "21{i}.0"{UNIT}' for i in (4, 5)]
    for line, expected in zip(lines, (CONSISTENT, INCONSISTENT)):
        result = check(tmp_path, line, allow=["unknown-datatype"], engine="spark")
        assert (result.verdict, result.reason) == (expected, "")
    for allow, in_the_store in ((["unknown-datatype"], []), ([], ["unknown-datatype"])):
        store = tmp_path / f"kg{len(allow)}"
        index(tmp_path / "tbox.ofn", tmp_path / "base.nt", store, allow=in_the_store)
        with open_store(store) as session:
            result = session.check(tmp_path / "batch.nt", allow=allow, engine="spark")
            assert result.verdict is INCONSISTENT and any(
                "by your decision" in note for note in result.evidence.notes
            )
            asked = session.check(tmp_path / "batch.nt", engine="spark")
            assert (asked.verdict, "--allow unknown-datatype" in asked.reason) == (
                (UNDETERMINED, True),
                (INCONSISTENT, False),
            )[not allow]


def test_the_way_out_is_told_where_it_is_one(tmp_path: Path) -> None:
    told = "--allow unknown-datatype"
    assert told in check(tmp_path, f'<urn:d#a> <urn:o#runtime> "215.0"{UNIT}').reason
    huge = f'<urn:d#c> <urn:o#year> "{"7" * 70_000}"{YEARS}'
    result = check(tmp_path, huge, allow=["unknown-datatype"])
    assert told not in result.reason
