"""DataFrames through a gate: the rows of both sides, in queries of Structured Streaming too, and
what is refused.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import shiq
from shiq.errors import OperationalError, StoreError
from shiq.jobs.gate.output_tables import REASON_COLUMNS
from shiq.spark import check, gate, index
from tests.command_line import shiq as command
from tests.planted_rows import COLUMNS, FAULTS, GOOD, ROWS, TYPE, store_in
from tests.tools.lake_jars import absent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DDL = "id int, s string, p string, o string, graph string, raw binary"
TBOX = "Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>))"


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    return store_in(tmp_path)


def stored(tmp_path: Path) -> Path:
    tbox, data, store = tmp_path / "t.ofn", tmp_path / "a.nt", tmp_path / "kg"
    tbox.write_text(TBOX)
    data.write_text(f"<urn:a> {TYPE} <urn:A> .\n")
    assert command("index", "--tbox", tbox, data, "--store", store, "-q").returncode == 0
    return store


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    found = [
        tuple(bytes(x) if isinstance(x, bytearray) else x for x in row) for row in frame.collect()
    ]
    return sorted(found, key=lambda row: row[0])


def assert_planted(accepted: DataFrame, quarantine: DataFrame) -> None:
    """Each row is on its side, whole, the faults with their causes."""
    assert accepted.columns == list(COLUMNS) and quarantine.columns == [
        *COLUMNS,
        *REASON_COLUMNS.names,
    ]
    assert rows(accepted) == GOOD
    found = rows(quarantine)
    assert [row[:6] for row in found] == [row for row, _ in FAULTS]
    for row, (_, cause) in zip(found, FAULTS):
        assert row[6] and row[7].startswith(cause) and bool(row[8]) == cause.endswith("-"), row


def test_importing_the_face_loads_no_spark() -> None:
    code = "import sys, shiq.spark; print([m for m in ('pyspark', 'numpy', 'pyarrow', 'jobs') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_rows_keep_their_columns_and_are_decided_once(
    spark: SparkSession, kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiq.jobs.gate import frames

    calls: list[str] = []
    decide = frames.gate
    monkeypatch.setattr(
        frames, "gate", lambda *given, **named: calls.append("decided") or decide(*given, **named)
    )
    batch = spark.createDataFrame(ROWS, DDL).withColumnRenamed("s", "the.subject")
    with gate(batch, kg, commit=True, columns={"s": "the.subject"}) as gated:
        accepted, quarantine, conflicts = gated
        assert_planted(
            accepted.withColumnRenamed("the.subject", "s"),
            quarantine.withColumnRenamed("the.subject", "s"),
        )
        ids = {x for row in quarantine.collect() for x in row["conflict"]}
        assert {row["conflict"] for row in conflicts.collect()} == ids and len(ids) == 3
        assert (gated.outcome, gated.verdict, calls) == (
            "split",
            shiq.Verdict.INCONSISTENT,
            ["decided"],
        )
        kept = Path(gated._files.folder)
        assert kept.is_dir() and gated.answer.result.committed == 2
    assert not kept.exists()
    with pytest.raises(OperationalError, match="Spark's session cannot read it"):
        gate(spark.sql("SELECT CAST(raise_error('gone') AS STRING) AS s, 'p' AS p, 'o' AS o"), kg)


def test_the_sides_are_those_of_the_same_lines_and_a_batch_may_be_refused(
    spark: SparkSession, kg: Path
) -> None:
    batch = spark.createDataFrame(ROWS, DDL)
    with gate(batch, kg, mode="reject") as gated:
        assert gated.outcome == "refused" and not gated.accepted.collect()
        refused = {row["id"]: row["cause"] for row in gated.quarantine.collect()}
        assert sorted(refused) == sorted(row[0] for row in ROWS) and refused[1] == "batch"
    lines = [" ".join(filter(None, row[1:5])) + " .\n" for row in ROWS]
    (kg.parent / "b.nq").write_text("".join(lines))
    with shiq.open_store(kg) as session, gate(batch, session, aside="least") as gated:
        from shiq.jobs.gate import gate as of_lines

        told = of_lines(session, [str(kg.parent / "b.nq")], mode="split", aside="least")
        expected = {ROWS[x.line.number - 1][0] for x in told.set_aside}
        assert {row["id"] for row in gated.quarantine.collect()} == expected


def test_what_cannot_be_gated_is_refused_with_a_remedy(spark: SparkSession, kg: Path) -> None:
    batch = spark.createDataFrame(ROWS[:1], DDL)
    taken = batch.withColumnRenamed("raw", "HINT")
    for frame, told, settings in (
        (taken, "withColumnRenamed", {}),
        (batch.withColumnRenamed("s", "x"), "no column 's'", {}),
        (batch, "no column 'y', which is to hold s", {"columns": {"s": "y"}}),
        (batch, "columns= names 'subject'", {"columns": {"subject": "s"}}),
        (batch.withColumnRenamed("raw", "_change_type"), "deletions", {}),
        (spark.readStream.format("rate").load(), "is a stream", {}),
    ):
        with pytest.raises(shiq.ShiqError) as refused:
            gate(frame, kg, **settings)  # type: ignore[arg-type]
        assert told in str(refused.value)
    assert check(batch, kg, engine="local").verdict is shiq.Verdict.CONSISTENT
    assert (
        check(taken.withColumnRenamed("s", "x"), kg, columns={"s": "x"}, engine="local").verdict
        is shiq.Verdict.CONSISTENT
    )


def test_a_mapping_says_what_columns_mean_and_rows_go_whole(
    spark: SparkSession, kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapping = kg.parent / "m.yml"
    mapping.write_text(
        'prefixes: {u: "urn:"}\nmappings:\n  m:\n    sources: [rows.csv~csv]\n    s: u:$(name)\n'
        "    po:\n      - [a, u:$(kind)~iri]\n      - [u:n, $(count)]\n"
    )
    batch = spark.createDataFrame(
        [(1, "a", "A", 5), (2, "g", "A", 6), (3, "h", None, None)],
        "id int, name string, kind string, count int",
    )
    with gate(batch, kg, commit=True, mapping=mapping, allow=["punning"]) as (
        accepted,
        quarantine,
        _,
    ):
        assert [row[0] for row in rows(accepted)] == [2, 3] and [
            row[0] for row in rows(quarantine)
        ] == [1]
    with shiq.open_store(kg) as session:
        assert len(session) == 3
    # Executors read it, not this process.
    monkeypatch.setattr("shiq.rml.tables.read_mapped", None)
    found = check(batch, kg, mapping=mapping)
    assert (
        found.verdict is shiq.Verdict.INCONSISTENT
        and found.conflicts[0].places[0][0].column == "kind"
    )
    monkeypatch.undo()
    made = index(
        batch.where("id = 2"),
        kg.parent / "t.ofn",
        kg.parent / "made",
        mapping=mapping,
        engine="local",
    )
    assert made.verdict is shiq.Verdict.CONSISTENT


# --- queries --------------------------------------------------------------------------------------


def test_micro_batches_are_gated_and_taken_in_once(spark: SparkSession, tmp_path: Path) -> None:
    """The process ends after a commit and before its rows are delivered: Spark sends the batch
    again, and they are.
    """
    store, feed, checkpoint = stored(tmp_path), tmp_path / "feed", tmp_path / "checkpoint"
    feed.mkdir()
    calls: list[tuple[int, bool, list[str], list[str]]] = []

    def put(name: str, *given: tuple[str, str, str, str]) -> None:
        (feed / name).write_text("".join("\t".join(row) + "\n" for row in given))

    def drive(fails: bool = False) -> None:
        def each(frame: DataFrame, batch: int) -> None:
            with gate(frame, store, commit=True, explain_seconds=0) as (accepted, quarantine, _):
                if fails:
                    raise RuntimeError("the process ends before the rows are delivered")
                calls.append(
                    (
                        batch,
                        fails,
                        *(
                            sorted(row["key"] for row in side.collect())
                            for side in (accepted, quarantine)
                        ),
                    )
                )

        frame = (
            spark.readStream.schema("key string, s string, p string, o string")
            .option("sep", "\t")
            .option("quote", "")
        )
        query = frame.csv(str(feed)).writeStream.foreachBatch(each)
        running = (
            query.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        )
        try:
            running.awaitTermination()
        except Exception:
            assert fails

    put(
        "1.tsv",
        ("k1", "_:x", TYPE, "<urn:A>"),
        ("k2", "<urn:a>", TYPE, "<urn:B>"),
        ("k3", "<urn:a", TYPE, "<urn:B>"),
    )
    drive(fails=True)
    with shiq.open_store(store) as session:
        assert len(session) == 2 and list(session.taken.values()) == [0]
        before = session.identity
    drive()
    with shiq.open_store(store) as session:
        assert session.identity == before
    put("2.tsv", ("k4", "<urn:b>", TYPE, "<urn:B>"))
    drive()
    assert calls == [(0, False, ["k1"], ["k2", "k3"]), (1, False, ["k4"], [])]
    with shiq.open_store(store) as session:
        assert len(session) == 3 and list(session.taken.values()) == [1]


_QUERY_SCRIPT = """
import os, signal, sys
import shiq
from shiq.jobs.spark.session import spark_session
from shiq.spark import gate
folder, is_killed = sys.argv[1], sys.argv[2] == "killed"
spark, _ = spark_session(master="local[2]", settings={"spark.sql.shuffle.partitions": "2"})
session = shiq.open_store(f"{folder}/kg")

def each(frame, number):
    sides = {"accepted": f"{folder}/good.delta", "quarantine": f"{folder}/bad.delta"}
    with gate(frame, session, commit=True, explain_seconds=0, **sides) as gated:
        print(number, gated.outcome, flush=True)
    if is_killed:
        os.kill(os.getpid(), signal.SIGKILL)

rows = spark.readStream.schema("id int, s string, p string, o string, graph string, raw binary").parquet(f"{folder}/feed")
query = rows.writeStream.foreachBatch(each).option("checkpointLocation", f"{folder}/checkpoint")
query.trigger(availableNow=True).start().awaitTermination()
"""


@pytest.mark.slow
def test_a_query_that_is_killed_between_batches_has_each_row_once(
    spark: SparkSession, kg: Path
) -> None:
    from deltalake import DeltaTable

    folder = kg.parent
    (folder / "query.py").write_text(_QUERY_SCRIPT)

    def drive(how: str) -> str:
        call = [sys.executable, folder / "query.py", folder, how]
        root = Path(__file__).parents[2]
        environment = {**os.environ, "PYTHONPATH": str(root)}
        return subprocess.run(
            call, capture_output=True, text=True, check=False, cwd=root, env=environment
        ).stdout

    (folder / "feed").mkdir()
    for number, some in enumerate((ROWS[:9], ROWS[9:])):
        spark.createDataFrame(some, DDL).coalesce(1).write.mode("append").parquet(
            str(folder / "feed")
        )
        # Killed when a batch was added to the tables and taken in, and before Spark knew.
        assert drive("killed").split() == [str(number), "split"]
        assert drive("whole").split() == [str(number), "split"]
    made = [
        spark.createDataFrame(DeltaTable(folder / side).to_pyarrow_table())
        for side in ("good.delta", "bad.delta")
    ]
    assert_planted(*made)
    with shiq.open_store(kg) as session:
        assert list(session.taken.values()) == [1] and len(session) == 1 + 4


@pytest.fixture
def query_of(spark: SparkSession) -> Iterator[Any]:
    """Says which batch of which query is at work."""
    from shiq.jobs.gate.frames import _BATCH, _QUERY

    def say(query: str | None, batch: int | None) -> None:
        spark.sparkContext.setLocalProperty(_QUERY, query)
        spark.sparkContext.setLocalProperty(_BATCH, None if batch is None else str(batch))

    yield say
    say(None, None)


def test_a_micro_batch_that_changes_nothing_is_not_taken_in_later_either(
    spark: SparkSession, tmp_path: Path, query_of: Any
) -> None:
    """What it says is in the store already; sent again after somebody deleted that, it would
    bring it back.
    """
    store, gone = stored(tmp_path), tmp_path / "gone.nt"
    gone.write_text(f"<urn:a> {TYPE} <urn:A> .\n")
    void = spark.createDataFrame([("<urn:a>", TYPE, "<urn:A>")], "s string, p string, o string")
    query_of("q", 4)
    check(void, store, commit=True, engine="local")
    with shiq.open_store(store) as session:
        assert session.taken == {"q": 4} and len(session) == 1
        assert session.check(None, gone, commit=True).verdict is shiq.Verdict.CONSISTENT
    gate(void, store, commit=True).close()
    with shiq.open_store(store) as session:
        assert len(session) == 0
        before = session.identity
        # Told once, it is no new snapshot.
        assert session.check(None, gone, commit=True, taken={"q": 4}).committed == before[1]
        assert session.identity == before
    query_of("q", 5)
    gate(void, store, commit=True).close()
    with shiq.open_store(store) as session:
        assert len(session) == 1 and session.taken == {"q": 5}


# --- tables ---------------------------------------------------------------------------------------


def test_executors_add_to_a_delta_table_once_and_what_does_not_fit_ends_before(
    spark: SparkSession, kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver writes the log of the table alone, and no jar is needed."""
    from deltalake import DeltaTable

    from shiq.jobs.gate import output_frames

    # In this process: those of the tasks import their own.
    monkeypatch.setattr(output_frames, "write_part", None)
    folder = kg.parent
    spark.createDataFrame(ROWS, DDL).write.parquet(str(folder / "in"))
    sides = ("--accepted", "good.delta", "--quarantine", "bad.delta")
    call = (
        "gate",
        "--engine",
        "spark",
        "-s",
        "kg",
        "-i",
        "in",
        "--mode",
        "split",
        *sides,
        "--commit",
        "-q",
    )
    for _ in range(2):
        assert command(*call, cwd=folder).returncode == 5
        made = [
            spark.createDataFrame(DeltaTable(folder / side).to_pyarrow_table())
            for side in ("good.delta", "bad.delta")
        ]
        assert_planted(*made)
    spark.createDataFrame(ROWS, DDL).createOrReplaceTempView("tonight")
    for code, told, options in (
        (4, "CREATE TABLE lake_bad (`id` int", ("--quarantine", "table:lake_bad")),
        (2, "is one file", ("--quarantine", "bad.csv")),
    ):
        called = command(
            "gate",
            "--engine",
            "spark",
            "-s",
            "kg",
            "-i",
            "table:tonight",
            "--mode",
            "split",
            *options,
            cwd=folder,
        )
        assert called.returncode == code and told in called.stderr, called


@pytest.mark.lake
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_tables_of_a_lake_are_added_to_once(spark: SparkSession, kg: Path, format: str) -> None:
    if why := absent():
        pytest.skip(why)
    reasons = (
        ", reason string, cause string, conflict array<string>, axioms array<string>, hint string"
    )
    names = {"batch": DDL, "good": DDL, "bad": DDL + reasons, "narrow": "id int"}
    batch, good, bad, narrow = (
        f"ice.db.{x}" if format == "iceberg" else f"delta.`{kg.parent}/{x}`" for x in names
    )
    for name, columns in zip((batch, good, bad, narrow), names.values()):
        spark.sql(f"CREATE TABLE {name} ({columns}) USING {format}")
    spark.createDataFrame(ROWS, DDL).writeTo(batch).append()
    call = [
        "gate",
        "--engine",
        "spark",
        "-s",
        kg,
        "-i",
        f"table:{batch}",
        "--mode",
        "split",
        "--commit",
        "-q",
    ]
    for _ in range(2):
        called = command(*call, "--accepted", f"table:{good}", "--quarantine", f"table:{bad}")
        assert called.returncode == 5, called
        assert_planted(spark.table(good), spark.table(bad))
    called = command(*call, "--quarantine", f"table:{narrow}")
    assert called.returncode == 4 and "columns are not those of the rows" in called.stderr


# --- stores ---------------------------------------------------------------------------------------


def test_a_store_says_which_batch_of_a_feed_it_took_last(tmp_path: Path) -> None:
    from shiq.jobs.store.upkeep import compact

    store, plain, complex_ = stored(tmp_path), tmp_path / "b.nt", tmp_path / "b.ofn"
    plain.write_text(f"<urn:x> {TYPE} <urn:A> .\n")
    complex_.write_text("Ontology(ClassAssertion(ObjectComplementOf(<urn:B>) <urn:x>))")
    with shiq.open_store(store) as session:
        assert session.check(plain, commit=True, taken={"f": 7}).committed == 2
        assert session.check(complex_, commit=True, taken={"g": 1}).committed == 3
        # What is complex goes by building the store anew.
        assert session.check(None, complex_, commit=True, taken={"g": 2}).committed == 4
        assert session.check(plain, commit=True, taken={"f": 8}).verdict is shiq.Verdict.CONSISTENT
        assert session.taken == {"f": 8, "g": 2}
        # An older one never takes the number back: not where nothing changes, nor by a small
        # commit, nor by building anew.
        before = session.identity
        assert (
            session.check(plain, commit=True, taken={"f": 3, "g": 2}).committed == before[1]
            and session.identity == before
        )
        for insertions, deletions in (
            (None, plain),
            (complex_, None),
            (None, complex_),
            (plain, None),
        ):
            assert (
                session.check(insertions, deletions, commit=True, taken={"f": 3, "g": 1}).committed
                > before[1]
            )
            assert session.taken == {"f": 8, "g": 2}
    compact(store).close()
    with shiq.open_store(store) as session:
        assert session.taken == {"f": 8, "g": 2}


def test_a_session_that_is_closed_says_so(tmp_path: Path) -> None:
    session = shiq.open_store(stored(tmp_path))
    assert session.taken == {}
    session.close()
    for ask in (
        lambda: session.taken,
        lambda: len(session),
        lambda: session.labels,
        lambda: session.blocking_leftovers([]),
        session.check,
    ):
        with pytest.raises(StoreError, match="the store is closed"):
            ask()


@pytest.mark.slow
@pytest.mark.spark
def test_other_rows_of_the_same_triples_are_added_and_the_same_rows_are_not(
    spark: SparkSession, kg: Path
) -> None:
    from deltalake import DeltaTable

    good = str(kg.parent / "good.delta")
    for key in (1, 1, 2):
        frame = spark.createDataFrame([(key, "<urn:k>", TYPE, "<urn:C>", None, None)], DDL)
        gate(frame, kg, accepted=good).close()
    assert sorted(DeltaTable(good).to_pyarrow_table().column("id").to_pylist()) == [1, 2]
