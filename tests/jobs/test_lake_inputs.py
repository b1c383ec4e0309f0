"""Tables that only a session of Spark's knows are read as the same triples in files; those that
it cannot read are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException

import shiq
from shiq.api import index
from shiq.errors import InputError, OperationalError, UsageError
from shiq.jobs.gate import gate
from shiq.jobs.spark import session_tables as lake_tables
from shiq.rdf.delta_changes import newest_versions
from tests.command_line import shiq as command
from tests.tools.lake_jars import absent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TBOX = "Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>) Declaration(ObjectProperty(<urn:r>)) Declaration(Class(<urn:C>)))"
SCHEMA = "s string, p string, o string, graph string, day int"
Rows = list[tuple[str | None, str | None, str | None, str | None, int]]
GOOD: Rows = [
    ("<urn:a>", TYPE, "<urn:A>", None, 1),
    ("<urn:b>", TYPE, "<urn:C>", "<urn:g>", 1),
    ("<urn:b>", "<urn:r>", "_:x", None, 2),
    ("_:x", "<urn:r>", "<urn:\\u0062>", None, 2),
]
BAD: Rows = [
    (None, TYPE, "<urn:A>", None, 3),
    ("<urn:c>", TYPE, "A", None, 3),
    ("<urn:c>", TYPE, "<urn:A>", "g", 3),
]


@pytest.fixture
def tbox(tmp_path: Path) -> Path:
    path = tmp_path / "t.ofn"
    path.write_text(TBOX)
    return path


@pytest.fixture
def kg(tbox: Path, tmp_path: Path) -> Path:
    (tmp_path / "base.nt").write_text(
        f"<urn:a> {TYPE} <urn:B> .\n<urn:d> {TYPE} <urn:A> .\n<urn:d> <urn:r> <urn:a> .\n"
    )
    index(tbox, tmp_path / "base.nt", tmp_path / "kg")
    return tmp_path / "kg"


@pytest.fixture
def lake(spark: SparkSession) -> Iterator[SparkSession]:
    if why := absent():
        pytest.skip(why)
    yield spark


def lines(rows: Rows, file: Path) -> Path:
    file.write_text("".join(" ".join(filter(None, row[:4])) + " .\n" for row in rows))
    return file


def exported(store: Path) -> set[str]:
    return set(command("export", "--store", store).stdout.splitlines())


# --- without Spark --------------------------------------------------------------------------------


def test_without_spark_a_table_of_its_is_a_wrong_call(kg: Path) -> None:
    with pytest.raises(
        UsageError, match=r"table:lake\.db\.t is a table that a session of Spark's knows"
    ) as told:
        shiq.check_insertions(None, shiq.open_store(kg), "table:lake.db.t")
    assert "--engine spark" in told.value.remedy
    for side in ("--insert", "--delete"):
        called = command("check", "--store", kg, side, "table:lake.db.t")
        assert called.returncode == 2 and "--engine spark" in called.stderr
    assert (
        command(
            "index", "--tbox", kg.parent / "t.ofn", "--store", kg.parent / "other", "table:t"
        ).returncode
        == 2
    )


@pytest.mark.spark
def test_columns_mapped_by_an_older_protocol_are_refused(
    tbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of such a table have s for what it calls o: read as they are, they would say
    another triple.
    """
    log = tmp_path / "t" / "_delta_log"
    log.mkdir(parents=True)
    named = {"s": "o", "p": "p", "o": "s"}
    pq.write_table(
        pa.table({"s": ["<urn:A>"], "p": [TYPE], "o": ["<urn:a>"]}), tmp_path / "t" / "f.parquet"
    )
    fields = [
        {
            "name": name,
            "type": "string",
            "nullable": True,
            "metadata": {"delta.columnMapping.id": i, "delta.columnMapping.physicalName": of_file},
        }
        for i, (name, of_file) in enumerate(named.items(), 1)
    ]
    settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    actions: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {
            "metaData": {
                "id": "x",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": [],
                "configuration": settings,
                "createdTime": 0,
            }
        },
        {
            "add": {
                "path": "f.parquet",
                "partitionValues": {},
                "size": 1,
                "modificationTime": 0,
                "dataChange": True,
            }
        },
    ]
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))
    # Which version an index takes is in its log, whoever reads the rows.
    assert [*newest_versions([tmp_path / "t"]).values()] == [0]
    refused_by_files(tbox, tmp_path / "t", "local")
    monkeypatch.setattr(lake_tables, "obtain_session", lambda *_, **__: NoDelta())
    refused_by_files(tbox, tmp_path / "t", "spark")


class NoDelta:
    """A session without delta-spark."""

    read = property(lambda self: self)
    format = option = lambda self, *_: self

    def load(self, path: str) -> None:
        raise NotFound("delta")


class NotFound(AnalysisException):
    def getCondition(self) -> str:
        return "DATA_SOURCE_NOT_FOUND"


def refused_by_files(tbox: Path, table: Path, engine: str) -> None:
    with pytest.raises(
        InputError, match="columnMapping, which its files alone do not show"
    ) as told:
        shiq.check_insertions(tbox, None, table, engine=engine)
    assert "--engine spark" in told.value.remedy


# --- a session without more -----------------------------------------------------------------------


@pytest.mark.parametrize("rows", [GOOD, GOOD[1:], GOOD[1:] + BAD])
def test_a_table_is_read_as_the_same_lines(spark: SparkSession, kg: Path, rows: Rows) -> None:
    spark.createDataFrame(rows, SCHEMA).createOrReplaceTempView("batch")
    readable = [row for row in rows if row[0] is not None]
    files = lines(readable, kg.parent / "batch.nq")
    with shiq.open_store(kg) as session:
        told, of_table = (session.check(given, engine="spark") for given in (files, "table:batch"))
        committed = session.check("table:batch", engine="spark", commit=True)
    assert told.verdict is of_table.verdict is committed.verdict
    assert (
        told.statistics.insertions
        == of_table.statistics.insertions
        == committed.statistics.insertions
    )
    # A line without a subject is nothing; a row without one is there.
    for found in (of_table, committed):
        assert sum(found.evidence.ledger.values()) == len(rows)
        assert found.evidence.ledger.get("leftover:malformed", 0) == len(rows) - len(
            [r for r in rows if r not in BAD]
        )
        assert (
            "table:batch: as it was when it was read; Spark has no version of it"
            in found.evidence.notes
        )
    assert {x.source for x in of_table.evidence.leftovers if x.kind == "malformed"} <= {
        "table:batch"
    }


def test_the_command_takes_tables_on_both_sides_and_indexes_them(
    spark: SparkSession, tbox: Path, tmp_path: Path
) -> None:
    spark.createDataFrame(GOOD, SCHEMA).createOrReplaceTempView("base")
    spark.createDataFrame(GOOD[:1], SCHEMA).createOrReplaceTempView("gone")
    spark.createDataFrame(
        [("<urn:a>", TYPE, "<urn:B>")], "s string, p string, o string"
    ).createOrReplaceTempView("came")
    kg, answer = tmp_path / "kg", tmp_path / "answer.json"
    assert (
        command(
            "index", "--engine", "spark", "--tbox", tbox, "--store", kg, "table:base", "-q"
        ).returncode
        == 0
    )
    index(tbox, lines(GOOD, tmp_path / "base.nq"), tmp_path / "of-lines")
    assert len(exported(kg)) == len(GOOD) and exported(kg) == exported(tmp_path / "of-lines")
    call = (
        "check",
        "--engine",
        "spark",
        "--store",
        kg,
        "--insert",
        "table:came",
        "--json",
        answer,
        "-q",
    )
    assert command(*call).returncode == 1
    (place,) = json.loads(answer.read_text())["conflicts"][0]["places"][0]
    assert place["source"] == "table:came"
    assert command(*call, "--delete", "table:gone", "--commit").returncode == 0
    assert json.loads(answer.read_text())["about"]["insertions"] == ["table:came"]
    left = exported(kg)
    assert f"<urn:a> {TYPE} <urn:B> ." in left and f"<urn:a> {TYPE} <urn:A> ." not in left


def test_the_gate_splits_a_table_as_it_does_the_same_lines(spark: SparkSession, kg: Path) -> None:
    """Each of two tables is read once, so what is committed is what was checked, whatever
    becomes of it meanwhile.
    """
    rows = GOOD + BAD[1:]
    spark.createDataFrame(
        [("<urn:d>", "<urn:r>", "<urn:a>")], "s string, p string, o string"
    ).createOrReplaceTempView("gone")
    gone = lines([("<urn:d>", "<urn:r>", "<urn:a>", None, 1)], kg.parent / "gone.nt")
    found = []
    for order in (rows, rows[::-1]):
        spark.createDataFrame(order, SCHEMA).createOrReplaceTempView("batch")
        with shiq.open_store(kg) as session:
            found.append(
                gate(
                    session,
                    ["table:batch"],
                    ["table:gone"],
                    mode="split",
                    engine="spark",
                    dry_run=True,
                )
            )
    of_table = found[0]
    assert (
        found[1].run == of_table.run
        and found[1].to_dict()["set_aside"] == of_table.to_dict()["set_aside"]
    )
    with shiq.open_store(kg) as session:
        told = gate(
            session,
            [str(lines(rows, kg.parent / "batch.nq"))],
            [str(gone)],
            mode="split",
            dry_run=True,
        )
        assert of_table.verdict is told.verdict and of_table.decision == told.decision == "split"
        said = [
            (len(x.accepted), sorted(y.kind for y in x.set_aside), len(x.conflicts))
            for x in (of_table, told)
        ]
        assert said[0] == said[1] == (len(GOOD) - 1, ["conflict", "malformed", "malformed"], 1)
        assert {x["source"] for x in of_table.to_dict()["set_aside"]} == {"table:batch"}
        for name in ("batch", "gone"):
            assert (
                f"table:{name}: as it was when it was read; Spark has no version of it"
                in of_table.result.evidence.notes
            )
        taken = gate(
            session, ["table:batch"], ["table:gone"], mode="split", engine="spark", commit=True
        )
    assert taken.result.committed == 2 and taken.run == of_table.run
    left = exported(kg)
    assert (
        len(left) == 2 + len(GOOD) - 1
        and f"<urn:a> {TYPE} <urn:A> ." not in left
        and "<urn:d> <urn:r> <urn:a> ." not in left
    )


def test_a_table_that_is_not_there_or_holds_no_triples_is_told(
    spark: SparkSession, kg: Path
) -> None:
    with shiq.open_store(kg) as session:
        with pytest.raises(
            InputError, match=r"table:nowhere\.db\.t: Spark's session cannot read it"
        ):
            session.check("table:nowhere.db.t", engine="spark")
        spark.range(3).createOrReplaceTempView("numbers")
        with pytest.raises(InputError, match="table:numbers: no column 's'"):
            session.check("table:numbers", engine="spark")
        with pytest.raises(InputError, match="cannot read it"):
            session.check("table:a b; drop", engine="spark")


@pytest.mark.parametrize("engine", ["spark", "local"])
def test_where_spark_fails_on_the_driver_it_is_told(
    engine: str, spark: SparkSession, kg: Path
) -> None:
    frame = spark.sql(f"SELECT '<urn:a>' AS s, '{TYPE}' AS p, raise_error('a file is gone') AS o")
    with shiq.open_store(kg) as session:
        failed = "DataFrame: Spark failed to read it" if engine == "local" else "Spark gave up"
        with pytest.raises(OperationalError, match=rf"{failed}: .*a file is gone"):
            session.check(frame, engine=engine, commit=True)
        assert session.check(lines(GOOD[1:2], kg.parent / "in.nq"), commit=True).committed


# --- Delta and Iceberg ----------------------------------------------------------------------------


@pytest.mark.lake
def test_tables_that_keep_versions_are_read_as_of_one(
    lake: SparkSession, kg: Path, tbox: Path, tmp_path: Path
) -> None:
    delta = tmp_path / "delta"
    settings = "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name'"
    lake.sql(f"CREATE TABLE delta.`{delta}` ({SCHEMA}) USING delta TBLPROPERTIES ({settings})")
    lake.sql(
        f"CREATE TABLE ice.db.read ({SCHEMA}) USING iceberg TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"
    )
    rows, extra = GOOD[1:] + BAD, ("<urn:gone>", TYPE, "<urn:A>", None, 9)
    for table in (f"delta.`{delta}`", "ice.db.read"):
        lake.createDataFrame([*rows, extra], SCHEMA).coalesce(1).writeTo(table).append()
        lake.sql(f"DELETE FROM {table} WHERE day = 9")
    (snapshot,) = lake.sql("SELECT snapshot_id FROM ice.db.read.refs").first() or ()
    files = lines(rows[:-3] + rows[-2:], tmp_path / "rows.nq")
    with shiq.open_store(kg) as session:
        told = session.check(files, engine="spark")
        for given, version in (
            (str(delta), f"{delta}: Delta version 2"),
            (f"table:delta.`{delta}`", f"table:delta.`{delta}`: Delta version 2"),
            ("table:ice.db.read", f"table:ice.db.read: Iceberg snapshot {snapshot}"),
        ):
            found = session.check(given, engine="spark")
            assert found.evidence.notes[-1] == version
            assert (found.verdict, found.statistics.insertions) == (
                told.verdict,
                told.statistics.insertions,
            )
            assert sum(found.evidence.ledger.values()) == len(rows) and found.evidence.ledger[
                "leftover:malformed"
            ] == len(BAD)
    index(tbox, lines(GOOD, tmp_path / "good.nq"), tmp_path / "of-lines")
    for number, given in enumerate((delta, "table:ice.db.read")):
        if number:
            lake.sql("DELETE FROM ice.db.read WHERE day = 3")
            lake.createDataFrame(GOOD[:1], SCHEMA).writeTo("ice.db.read").append()
        else:
            lake.sql(f"DELETE FROM delta.`{delta}` WHERE day = 3")
            lake.createDataFrame(GOOD[:1], SCHEMA).writeTo(f"delta.`{delta}`").append()
        made = index(tbox, given, tmp_path / f"kg{number}", engine="spark")
        assert exported(tmp_path / f"kg{number}") == exported(tmp_path / "of-lines") != set()
        assert "version" in made.evidence.notes[-1] or "snapshot" in made.evidence.notes[-1]
    with pytest.raises(
        InputError, match="columnMapping, deletionVectors, which its files alone do not show"
    ):
        shiq.check_insertions(tbox, None, delta)


@pytest.mark.lake
def test_columns_that_iceberg_renamed_are_read_by_their_present_names(
    lake: SparkSession, kg: Path
) -> None:
    lake.sql("CREATE TABLE ice.db.renamed (o string, p string, s string) USING iceberg")
    lake.sql(f"INSERT INTO ice.db.renamed VALUES ('<urn:d>', '{TYPE}', '<urn:B>')")
    for before, after in (("s", "x"), ("o", "s"), ("x", "o")):
        lake.sql(f"ALTER TABLE ice.db.renamed RENAME COLUMN {before} TO {after}")
    with shiq.open_store(kg) as session:
        found = session.check("table:ice.db.renamed", engine="spark")
    assert (
        found.verdict is shiq.Verdict.INCONSISTENT
        and "Spark has no version" in found.evidence.notes[-1]
    )


@pytest.mark.lake
def test_a_branch_of_iceberg_is_read(lake: SparkSession, kg: Path) -> None:
    lake.sql("CREATE TABLE ice.db.branched (s string, p string, o string) USING iceberg")
    lake.createDataFrame([("<urn:e>", TYPE, "<urn:C>")], "s string, p string, o string").writeTo(
        "ice.db.branched"
    ).append()
    lake.sql("ALTER TABLE ice.db.branched CREATE BRANCH tonight")
    lake.sql(f"INSERT INTO ice.db.branched.branch_tonight VALUES ('<urn:d>', '{TYPE}', '<urn:B>')")
    with shiq.open_store(kg) as session:
        assert (
            session.check("table:ice.db.branched", engine="spark").verdict
            is shiq.Verdict.CONSISTENT
        )
        assert (
            session.check("table:ice.db.branched.branch_tonight", engine="spark").verdict
            is shiq.Verdict.INCONSISTENT
        )
