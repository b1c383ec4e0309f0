"""What versions of a table that Spark knows brought and took is the batch that the same files
would be.
"""

from __future__ import annotations

import json
import random
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from shiq.api import index, open_store
from shiq.errors import InputError
from shiq.jobs.checking.options import Options
from shiq.jobs.spark.session_tables import VersionRange, lake_changes
from shiq.rdf.load import load_sources
from tests.command_line import shiq as command
from tests.tools.lake_jars import absent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.lake

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TBOX = "Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>) Declaration(ObjectProperty(<urn:r>)) Declaration(Class(<urn:C>)))"
SCHEMA = "s string, p string, o string, graph string"
SPARK = Options(engine="spark")
Triple = tuple[Any, Any, Any]
Row = tuple[str | None, str, str, str | None]
#: Makes a table of rows, by its name: `table:` and what SQL calls it.
Made = Callable[[str, list[Row]], str]


@pytest.fixture
def lake(spark: SparkSession) -> Iterator[SparkSession]:
    if why := absent():
        pytest.skip(why)
    yield spark


@pytest.fixture(params=["delta", "iceberg", "merge-on-read"])
def made(request: pytest.FixtureRequest, lake: SparkSession, tmp_path: Path) -> Made:
    def make(name: str, rows: list[Row]) -> str:
        if request.param == "delta":
            table, how = (
                f"delta.`{tmp_path / name}`",
                "delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
            )
        else:
            modes = "'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read'"
            how = (
                f"iceberg TBLPROPERTIES ({modes})"
                if request.param == "merge-on-read"
                else "iceberg"
            )
            table = f"ice.db.{name}_{request.param.replace('-', '_')}"
        lake.sql(f"DROP TABLE IF EXISTS {table}")
        lake.sql(f"CREATE TABLE {table} ({SCHEMA}) USING {how}")
        lake.createDataFrame(rows, SCHEMA).coalesce(1).writeTo(table).append()
        return table

    return make


def versions(lake: SparkSession, table: str) -> list[int]:
    if table.startswith("delta"):
        return sorted(
            row[0] for row in lake.sql(f"DESCRIBE HISTORY {table}").select("version").collect()
        )
    return [
        row[0]
        for row in lake.sql(
            f"SELECT snapshot_id FROM {table}.history ORDER BY made_current_at"
        ).collect()
    ]


def of_class(name: str, cls: str, graph: str | None = None) -> Row:
    return f"<urn:{name}>", TYPE, f"<urn:{cls}>", graph


def triples_of(source: object) -> set[Triple]:
    found = load_sources([source], "x", None).triples
    return {
        tuple(found.terms[column[row]] for column in (found.subject, found.predicate, found.object))
        for row in range(len(found))
    }


def named(*pairs: str) -> set[Triple]:
    return {(f"urn:{pair[0]}", TYPE[1:-1], f"urn:{pair[1]}") for pair in pairs}


def test_what_came_and_went_is_told_net(lake: SparkSession, made: Made) -> None:
    table = made(
        "net",
        [
            of_class("a", "A"),
            of_class("b", "A"),
            ("<urn:\\u0062>", TYPE, "<urn:A>", None),
            of_class("m", "C", "<urn:g>"),
        ],
    )
    begun = versions(lake, table)[-1]
    lake.sql(
        f"INSERT INTO {table} VALUES ('<urn:c>', '{TYPE}', '<urn:B>', NULL), ('<urn:d>', '{TYPE}', '<urn:B>', NULL)"
    )
    second = versions(lake, table)[-1]
    lake.sql(f"DELETE FROM {table} WHERE s IN ('<urn:a>', '<urn:b>', '<urn:d>')")
    lake.sql(f"UPDATE {table} SET o = '<urn:A>' WHERE s = '<urn:c>'")
    lake.sql(f"UPDATE {table} SET graph = '<urn:h>' WHERE s = '<urn:m>'")
    taken = lake_changes(f"table:{table}", SPARK, after=begun)
    assert triples_of(taken.insertions) == named("cA", "mC") and triples_of(
        taken.deletions
    ) == named("aA")
    again = lake_changes(f"table:{table}", SPARK, second)
    assert (again.first, again.last, again.rows) == (second, versions(lake, table)[-1], taken.rows)
    # In the table another row says b, spelt otherwise; m in another graph.
    assert triples_of(again.insertions) == triples_of(taken.insertions) and triples_of(
        again.deletions
    ) == named("aA")
    one = lake_changes(f"table:{table}", SPARK, second, second)
    assert triples_of(one.insertions) == named("cB", "dB") and not triples_of(one.deletions)
    whole = lake_changes(f"table:{table}", SPARK, versions(lake, table)[0])
    assert triples_of(whole.insertions) == named("bA", "cA", "mC") and not triples_of(
        whole.deletions
    )
    nothing = lake_changes(f"table:{table}", SPARK, after=again.last)
    assert nothing.rows == 0 and f"--after-version {again.last}" in str(nothing)
    for bad in ({"first": 77}, {"after": 77}, {"first": second, "last": 77}):
        with pytest.raises(InputError, match="no version 77"):
            lake_changes(f"table:{table}", SPARK, **bad)
    with pytest.raises(InputError, match="comes before the first version"):
        lake_changes(f"table:{table}", SPARK, after=second, last=begun)


@pytest.mark.parametrize("seed", range(2))
def test_feeds_and_versions_tell_the_same_of_random_lives(
    seed: int, lake: SparkSession, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    table, states = made("life", [of_class("i0", "A"), of_class("i0", "A")]), list[set[Triple]]()
    for step in range(6):
        if step:
            name, cls = f"i{chance.randrange(3)}", chance.choice("ABC")
            lake.sql(
                chance.choice(
                    (
                        f"DELETE FROM {table} WHERE s = '<urn:{name}>'",
                        f"UPDATE {table} SET o = '<urn:{cls}>' WHERE s = '<urn:{name}>'",
                        f"INSERT INTO {table} VALUES ('<urn:{name}>', '{TYPE}', '<urn:{cls}>', '<urn:{cls}>')",
                        f"INSERT INTO {table} VALUES ('<urn:{name}>', '{TYPE}', '<urn:{cls}>', NULL)",
                    )
                )
            )
    every = versions(lake, table)
    for version in every:
        rows = lake.sql(f"SELECT s, p, o FROM {table} VERSION AS OF {version}").collect()
        states.append({tuple(term[1:-1] for term in row) for row in rows})
    ways: Counter[bool] = Counter()
    for _ in range(4):
        before, last = sorted(chance.sample(range(len(every)), 2))
        found = lake_changes(f"table:{table}", SPARK, after=every[before], last=every[last])
        with monkeypatch.context() as patch:
            patch.setattr(VersionRange, "_feed_rows", no_feed)
            compared = lake_changes(f"table:{table}", SPARK, after=every[before], last=every[last])
        ways[found.by_feed] += 1
        for taken in (found, compared):
            came, went = triples_of(taken.insertions), triples_of(taken.deletions)
            assert (states[before] - went) | came == states[last] and not came & went
        assert not compared.by_feed
    assert ways[True] or "merge_on_read" in table


def no_feed(self: VersionRange) -> None:
    raise PySparkException("none")


def test_a_day_of_changes_is_the_batch_of_the_same_files(
    lake: SparkSession, made: Made, tmp_path: Path
) -> None:
    (tmp_path / "t.ofn").write_text(TBOX)
    table = made("day", [of_class("a", "A"), of_class("b", "A"), (None, TYPE, "<urn:A>", None)])
    base, kg, answer = tmp_path / "base.nt", tmp_path / "kg", tmp_path / "answer.json"
    base.write_text(
        "".join(f"{s} {p} {o} .\n" for s, p, o, _ in (of_class("a", "A"), of_class("b", "A")))
    )
    begun = versions(lake, table)[-1]
    index(tmp_path / "t.ofn", base, kg)
    lake.sql(
        f"INSERT INTO {table} VALUES ('<urn:a>', '<urn:r>', '<urn:c>', NULL), ('<urn:c>', '{TYPE}', '<urn:B>', NULL)"
    )
    lake.sql(f"DELETE FROM {table} WHERE s = '<urn:b>'")
    (tmp_path / "in.nt").write_text(f"<urn:a> <urn:r> <urn:c> .\n<urn:c> {TYPE} <urn:B> .\n")
    (tmp_path / "out.nt").write_text(f"<urn:b> {TYPE} <urn:A> .\n")
    feed = (
        "check",
        "--engine",
        "spark",
        "--store",
        kg,
        "--changes",
        f"table:{table}",
        "--after-version",
        begun,
        "--json",
        answer,
    )
    assert command(*feed, "-q").returncode == 0
    told = json.loads(answer.read_text())
    files = (
        "check",
        "--engine",
        "spark",
        "--store",
        kg,
        "--insert",
        tmp_path / "in.nt",
        "--delete",
        tmp_path / "out.nt",
    )
    assert command(*files, "--json", answer, "-q").returncode == 0
    same = json.loads(answer.read_text())
    assert (
        told["evidence"]["ledger"] == same["evidence"]["ledger"]
        and told["statistics"]["insertions"] == 2
    )
    assert (
        told["about"]["to_version"] == str(versions(lake, table)[-1])
        and "--after-version" in told["evidence"]["notes"][-1]
    )
    assert command(*feed, "--commit", "-q").returncode == 0
    lines = set(command("export", "--store", kg).stdout.splitlines())
    assert lines == {
        f"<urn:a> {TYPE} <urn:A> .",
        f"<urn:c> {TYPE} <urn:B> .",
        "<urn:a> <urn:r> <urn:c> .",
    }
    lake.sql(f"INSERT INTO {table} VALUES ('<urn:c>', '{TYPE}', '<urn:A>', NULL)")
    # The store goes on where it stands, and its place stays where a batch is refused.
    on = (*feed[:7], "--commit", "--json", answer, "-q")
    assert command(*on).returncode == 1 and command(*on).returncode == 1
    assert json.loads(answer.read_text())["about"]["to_version"] == str(versions(lake, table)[-1])
    assert f"taken of {table if table.startswith('ice.') else tmp_path / 'day'}" in command(
        "status", kg
    ).stdout.replace("table:", "")
    later = (*feed[:8], told["about"]["to_version"], "-q")
    assert command(*later).returncode == 1
    assert (
        command(
            *later, "--to-version", told["about"]["to_version"], "--require-nonempty"
        ).returncode
        == 4
    )


def test_the_whole_table_is_taken_first_and_then_what_came_since(
    lake: SparkSession, made: Made, tmp_path: Path
) -> None:
    (tmp_path / "t.ofn").write_text(TBOX)
    (tmp_path / "none.nt").write_text("")
    table, kg = made("whole", [of_class("a", "A")]), tmp_path / "kg"
    index(tmp_path / "t.ofn", tmp_path / "none.nt", kg)
    call = (
        "check",
        "--engine",
        "spark",
        "--store",
        kg,
        "--changes",
        f"table:{table}",
        "--commit",
        "-q",
    )
    refused = command(*call)
    assert refused.returncode == 2
    # The command that the message gives.
    begin = shlex.split(refused.stderr.partition(": shiq ")[2])
    assert begin[:3] == ["check", "--engine", "spark"] and command(*begin, "-q").returncode == 0
    lake.sql(f"INSERT INTO {table} VALUES ('<urn:b>', '{TYPE}', '<urn:A>', NULL)")
    assert command(*call).returncode == 0 and command(*call).returncode == 0
    lines = set(command("export", "--store", kg).stdout.splitlines())
    assert lines == {f"<urn:{name}> {TYPE} <urn:A> ." for name in "ab"}
    if table.startswith("ice."):
        # Another one of that name.
        lake.sql(f"DROP TABLE {table}")
        lake.sql(f"CREATE TABLE {table} ({SCHEMA}) USING iceberg")
        lake.createDataFrame([of_class("c", "A")], SCHEMA).coalesce(1).writeTo(table).append()
        refused = command(*call)
        assert refused.returncode == 4 and "has expired, or is of another table" in refused.stderr


def test_delta_tables_with_deletion_vectors_tell_their_changes_by_their_path(
    lake: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "t.ofn").write_text(TBOX)
    delta = f"delta.`{tmp_path / 'lake'}`"
    settings = "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name'"
    lake.sql(f"CREATE TABLE {delta} ({SCHEMA}) USING delta TBLPROPERTIES ({settings})")
    lake.createDataFrame([of_class("a", "A"), of_class("b", "A")], SCHEMA).coalesce(1).writeTo(
        delta
    ).append()
    lake.sql(f"DELETE FROM {delta} WHERE s = '<urn:a>'")
    call = (
        "check",
        "--tbox",
        tmp_path / "t.ofn",
        "--changes",
        tmp_path / "lake",
        "--from-version",
        2,
        "-q",
    )
    assert command(*call).returncode == 4
    called = command(*call, "--engine", "spark", "--json", "-")
    told = json.loads(called.stdout)
    # There is no change data feed.
    assert "by comparing its versions" in told["evidence"]["notes"][-1]
    assert (
        sum(
            x["count"] or 1
            for x in told["evidence"]["leftovers"]
            if x["kind"] == "unmatched-deletion"
        )
        == 1
    )


def test_a_delta_table_made_anew_under_its_name_is_another_one(
    lake: SparkSession, tmp_path: Path
) -> None:
    """Its versions are numbered from 0 again; one that was replaced goes on, though its id is
    another.
    """
    (tmp_path / "t.ofn").write_text(TBOX)
    (tmp_path / "none.nt").write_text("")
    kg, path = tmp_path / "kg", tmp_path / "la ke"
    index(tmp_path / "t.ofn", tmp_path / "none.nt", kg)
    delta = f"delta.`{path}`"

    def call(*more: object) -> Any:
        return command(
            "check",
            "--engine",
            "spark",
            "--store",
            kg,
            "--changes",
            f"table:{delta}",
            "--commit",
            "-q",
            *more,
        )

    def append(name: str) -> None:
        lake.createDataFrame([of_class(name, "A")], SCHEMA).coalesce(1).writeTo(delta).append()

    lake.sql(f"CREATE TABLE {delta} ({SCHEMA}) USING delta")
    append("a")
    assert call("--from-version", 0).returncode == 0
    lake.sql(
        f"CREATE OR REPLACE TABLE {delta} USING delta AS SELECT * FROM {delta} VERSION AS OF 1"
    )
    assert call("--after-version", 1).returncode == 0
    lake.sql(f"DROP TABLE IF EXISTS {delta}")
    shutil.rmtree(path, ignore_errors=True)
    lake.sql(f"CREATE TABLE {delta} ({SCHEMA}) USING delta")
    for name in "bcde":
        append(name)
    refused = call("--after-version", 2)
    assert (
        refused.returncode == 4
        and f"{path} is another table than the one whose version 2" in refused.stderr
    )
    assert call("--from-version", 0).returncode == 0
    with open_store(kg) as session:
        assert [feed.rpartition("#")[0] for feed in session.taken] == [str(path)] * len(
            session.taken
        )


def test_without_spark_changes_of_its_tables_are_a_wrong_call(tmp_path: Path) -> None:
    (tmp_path / "t.ofn").write_text(TBOX)
    called = command(
        "check", "--tbox", tmp_path / "t.ofn", "--changes", "table:t", "--from-version", 1
    )
    assert called.returncode == 2 and "--engine spark" in called.stderr
    called = command(
        "check",
        "--tbox",
        tmp_path / "t.ofn",
        "--changes",
        "t",
        "--from-version",
        1,
        "--after-version",
        1,
    )
    assert called.returncode == 2 and "--after-version" in called.stderr
