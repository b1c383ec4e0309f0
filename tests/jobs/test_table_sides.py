"""Sides of a gate as tables, on one machine: rows with all their columns, each on one side;
repeated runs, what does not fit.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, write_deltalake

from shiq.api import open_store
from shiq.errors import OperationalError
from shiq.jobs.gate.appending import AppendRun, DeltaAppender, write_part
from shiq.jobs.gate.output_tables import REASON_COLUMNS
from tests.command_line import shiq
from tests.planted_rows import COLUMNS, FAULTS, GOOD, ROWS, TYPE, store_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store_in(tmp_path)
    write_deltalake(
        tmp_path / "in", pa.table([pa.array(column) for column in zip(*ROWS)], names=list(COLUMNS))
    )
    return tmp_path


def gate(
    folder: Path, *options: str, batch: str = "in", good: str = "good.delta", bad: str = "bad.delta"
) -> int:
    sides = ("--accepted", good, "--quarantine", bad)
    called = shiq(
        "gate", "-s", "kg", "-i", batch, "--mode", "split", *sides, *options, "-q", cwd=folder
    )
    assert called.returncode in (0, 1, 5) or called.stderr, called
    (folder / "said").write_text(called.stderr)
    return called.returncode


def rows(path: Path) -> list[dict[str, object]]:
    return DeltaTable(path).to_pyarrow_table().sort_by("id").to_pylist()


def test_each_row_is_on_one_side_with_its_columns_and_a_repeated_run_adds_none(
    folder: Path,
) -> None:
    for number in range(3):
        assert gate(folder, "--commit", "--json", "j.json") == 5
        good, bad = (rows(folder / name) for name in ("good.delta", "bad.delta"))
        assert [tuple(row.values()) for row in good] == [(*row[:4], row[4], row[5]) for row in GOOD]
        assert [tuple(row[name] for name in COLUMNS) for row in bad] == [row for row, _ in FAULTS]
        assert [list(row)[6:] for row in bad] == [REASON_COLUMNS.names] * len(FAULTS)
        for row, (_, cause) in zip(bad, FAULTS):
            assert str(row["cause"]).startswith(cause) and row["reason"], row
        assert (
            not number
            or DeltaTable(folder / "bad.delta").version()
            == DeltaTable(folder / "good.delta").version()
            == 0
        )
    conflicts = {x for row in bad for x in row["conflict"]}  # type: ignore[attr-defined]
    assert len(conflicts) == len(json.loads((folder / "j.json").read_text())["conflicts"]) == 3
    assert bad[0]["axioms"] == ["DisjointClasses(<urn:A> <urn:B>)"] and "urn:r>" in str(
        bad[9]["hint"]
    )
    with open_store(folder / "kg") as session:
        assert len(session) == 1 + 2 + 3 * 2  # A blank node of a batch is a new one.


def test_another_decision_about_the_same_rows_is_another_run(folder: Path) -> None:
    assert gate(folder) == 5
    (folder / "gone.nt").write_text((folder / "a.nt").read_text())
    assert gate(folder, "--delete", "gone.nt") == 5
    assert (
        DeltaTable(folder / "good.delta").version()
        == DeltaTable(folder / "bad.delta").version()
        == 1
    )
    assert len(rows(folder / "bad.delta")) == 2 * len(FAULTS) - 2


def test_the_same_triples_in_other_rows_are_another_run(folder: Path) -> None:
    """What counts is all columns: rows of another night may say the same again."""
    for key in (1, 2):
        pq.write_table(
            pa.table({"id": [key], "s": ["<urn:k>"], "p": [TYPE], "o": ["<urn:C>"]}),
            folder / "n.parquet",
        )
        assert gate(folder, batch="n.parquet") == gate(folder, batch="n.parquet") == 0
    assert [row["id"] for row in rows(folder / "good.delta")] == [1, 2]


def test_files_are_replaced_and_texts_hold_lists_as_json(folder: Path) -> None:
    for _ in range(2):
        assert gate(folder, good="good.parquet", bad="bad.csv") == 5
    assert pq.read_table(folder / "good.parquet").column("raw").to_pylist() == [
        row[5] for row in GOOD
    ]
    with open(folder / "bad.csv", newline="") as file:
        found = list(csv.DictReader(file))
    assert [int(row["id"]) for row in found] == [row[0] for row, _ in FAULTS] and len(
        json.loads(found[0]["conflict"])
    ) == 1


def test_a_refused_batch_is_in_the_quarantine_with_all_rows(folder: Path) -> None:
    assert gate(folder, "--max-quarantine", "3") == 1
    assert not rows(folder / "good.delta")
    causes = {row["id"]: str(row["cause"]) for row in rows(folder / "bad.delta")}
    assert sorted(causes) == sorted(row[0] for row in ROWS) and {
        causes[row[0]] for row in GOOD
    } == {"batch"}
    assert all(causes[row[0]].startswith(cause) for row, cause in FAULTS)


def test_rows_of_a_mapped_table_go_as_a_whole_and_shared_triples_stay(folder: Path) -> None:
    (folder / "m.yml").write_text(
        'prefixes: {u: "urn:"}\nmappings:\n  m:\n    sources: [r.csv~csv]\n    s: u:$(id)\n'
        "    po:\n      - [a, u:$(kind)~iri]\n      - [u:r, u:$(site)~iri]\n"
        "  s:\n    sources: [r.csv~csv]\n    s: u:$(site)\n    po:\n      - [a, u:C]\n"
    )
    (folder / "r.csv").write_text(
        'id,kind,site,note\na,A,s1,"first, bad"\nx,A,s1,\ny,Q,s1,third\nz\nw,B,s2,last\n'
    )
    assert (
        gate(folder, "--mapping", "m.yml", "--commit", batch="r.csv", good="g.csv", bad="b.csv")
        == 5
    )
    assert (folder / "g.csv").read_text().split() == [
        '"id","kind","site","note"',
        '"x","A","s1",',
        '"w","B","s2","last"',
    ]
    with open(folder / "b.csv", newline="") as file:
        found = [
            (row["id"], row["note"], row["cause"].partition("-")[0]) for row in csv.DictReader(file)
        ]
    assert found == [
        ("a", "first, bad", "cax"),
        ("y", "third", "undeclared"),
        ("", "", "malformed"),
    ]
    with open_store(folder / "kg") as session:
        assert (
            len(session) == 1 + 2 * 3
        )  # The site of the rows that went is that of one that stays.


def test_what_does_not_fit_ends_before_any_work(folder: Path) -> None:
    write_deltalake(
        folder / "other.delta", pa.table({"id": ["text"], "s": [""], "p": [""], "o": [""]})
    )
    write_deltalake(folder / "cut.delta", pa.table({"id": [1], "s": ["a"]}), partition_by=["id"])
    renamed = pa.table([pa.array(column) for column in zip(*ROWS)], names=[*COLUMNS[:5], "Reason"])
    pq.write_table(renamed, folder / "reason.parquet")
    before = (folder / "kg").stat().st_mtime_ns
    for code, told, options in (
        (
            4,
            "other.delta: the table's columns are not those of the rows to add: id int64, graph",
            {"bad": "other.delta"},
        ),
        (4, "table:delta.`", {"good": "cut.delta"}),
        (2, "a column 'Reason', which is what the quarantine calls", {"batch": "reason.parquet"}),
        (2, "both tables, or both files", {"good": "good.nq"}),
        (2, "Add --engine spark", {"bad": "table:lake.bad"}),
        (2, "names no table", {"batch": "a.nt"}),
    ):
        assert (
            gate(folder, "--commit", **options) == code and told in (folder / "said").read_text()
        ), (told, options)  # type: ignore[arg-type]
    assert (folder / "kg").stat().st_mtime_ns == before and not (folder / "bad.delta").exists()


def test_rows_count_when_the_log_says_so_and_once(tmp_path: Path) -> None:
    appender, schema = DeltaAppender(tmp_path / "t.delta"), pa.schema([("a", pa.int64())])
    made = list(write_part(appender.make_folder(), schema, [pa.table({"a": [1, 2]})]))
    run = AppendRun("batches", 3)
    assert not appender.has_run(run)
    appender.append(made, schema, run)
    assert [appender.has_run(AppendRun("batches", number)) for number in (2, 3, 4)] == [
        True,
        True,
        False,
    ]
    assert DeltaTable(tmp_path / "t.delta").count() == 2
    (tmp_path / "t.delta" / made[0].name).unlink()
    with pytest.raises(OperationalError, match="written by an executor"):
        appender.append(made, schema, AppendRun("other"))
