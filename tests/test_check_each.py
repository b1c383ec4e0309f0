"""A query of Spark feeds a store: each micro-batch is checked and taken in once, whatever ends in between."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import shiq
from shiq.errors import StoreError, UsageError
from shiq.result import NotConsistent
from tests.command_line import shiq as command

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TBOX = "Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>))"


def stored(tmp_path: Path) -> Path:
    tbox, data, store = tmp_path / "t.ofn", tmp_path / "a.nt", tmp_path / "kg"
    tbox.write_text(TBOX)
    data.write_text(f"<urn:a> {TYPE} <urn:A> .\n")
    assert command("index", "--tbox", tbox, data, "--store", store, "-q").returncode == 0
    return store


def test_each_micro_batch_is_taken_in_once(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.streaming.each import check_each

    store, feed, checkpoint = stored(tmp_path), tmp_path / "feed", tmp_path / "checkpoint"
    feed.mkdir()
    refused: list[tuple[int, str]] = []

    def told(frame: DataFrame, batch: int, result: shiq.Result) -> None:
        refused.append((batch, result.verdict.value))

    def put(name: str, *rows: tuple[str, str, str]) -> None:
        (feed / name).write_text("".join("\t".join(row) + "\n" for row in rows))

    calls: list[tuple[int, bool]] = []

    def drive(fails: bool = False) -> None:
        each = check_each(store, refused=told)

        def once(frame: DataFrame, batch: int) -> None:
            each(frame, batch)
            calls.append((batch, fails))
            if fails:
                raise RuntimeError("the process ends before Spark hears of it")

        frame = spark.readStream.schema("s string, p string, o string").option("sep", "\t").option("quote", "").csv(str(feed))
        query = frame.writeStream.foreachBatch(once).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        running = query.start()
        try:
            running.awaitTermination()
        except Exception:
            assert fails

    put("1.tsv", ("_:x", TYPE, "<urn:A>"))
    drive(fails=True)
    with shiq.open_store(store) as session:
        taken, first = dict(session.taken), session.identity
        assert len(session) == 2 and list(taken.values()) == [0]
    drive()
    with shiq.open_store(store) as session:
        assert session.identity == first
    put("2.tsv", ("<urn:a>", TYPE, "<urn:B>"))
    drive()
    put("3.tsv", ("<urn:b>", TYPE, "<urn:B>"))
    drive()
    assert calls == [(0, True), (0, False), (1, False), (2, False)] and refused == [(1, "inconsistent")]
    with shiq.open_store(store) as session:
        assert len(session) == 3 and list(session.taken.values()) == [2]


def test_a_micro_batch_that_changes_nothing_is_not_taken_in_later_either(spark: SparkSession, tmp_path: Path) -> None:
    """What it says is in the store already; sent again after somebody deleted that, it would bring it back."""
    from jobs.streaming.each import _QUERY, check_each

    store, gone = stored(tmp_path), tmp_path / "gone.nt"
    gone.write_text(f"<urn:a> {TYPE} <urn:A> .\n")
    void = spark.createDataFrame([("<urn:a>", TYPE, "<urn:A>")], "s string, p string, o string")
    spark.sparkContext.setLocalProperty(_QUERY, "q")
    try:
        check_each(store)(void, 4)
        with shiq.open_store(store) as session:
            assert session.taken == {"q": 4} and len(session) == 1
            assert session.check(None, gone, commit=True).verdict is shiq.Verdict.CONSISTENT
        check_each(store)(void, 4)
        with shiq.open_store(store) as session:
            assert len(session) == 0
            before = session.identity
            # Told once, it is no new snapshot.
            assert session.check(None, gone, commit=True, taken={"q": 4}).committed == before[1]
            assert session.identity == before
        check_each(store)(void, 5)
        with shiq.open_store(store) as session:
            assert len(session) == 1 and session.taken == {"q": 5}
    finally:
        spark.sparkContext.setLocalProperty(_QUERY, None)


def test_without_refused_the_query_ends_and_deletions_are_not_taken_for_insertions(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.streaming.each import check_each

    each = check_each(stored(tmp_path))
    with pytest.raises(NotConsistent):
        each(spark.createDataFrame([("<urn:a>", TYPE, "<urn:B>")], "s string, p string, o string"), 0)
    changes = spark.createDataFrame([("<urn:a>", TYPE, "<urn:A>", "delete")], "s string, p string, o string, _change_type string")
    with pytest.raises(UsageError, match="_change_type"):
        each(changes, 1)


def test_a_store_says_which_batch_of_a_feed_it_took_last(tmp_path: Path) -> None:
    from jobs.store.upkeep import compact

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
        # An older one never takes the number back: not where nothing changes, nor by a small commit, nor by building anew.
        before = session.identity
        assert session.check(plain, commit=True, taken={"f": 3, "g": 2}).committed == before[1] and session.identity == before
        for insertions, deletions in ((None, plain), (complex_, None), (None, complex_), (plain, None)):
            assert session.check(insertions, deletions, commit=True, taken={"f": 3, "g": 1}).committed > before[1]
            assert session.taken == {"f": 8, "g": 2}
    compact(store).close()
    with shiq.open_store(store) as session:
        assert session.taken == {"f": 8, "g": 2}


def test_a_session_that_is_closed_says_so(tmp_path: Path) -> None:
    session = shiq.open_store(stored(tmp_path))
    assert session.taken == {}
    session.close()
    for ask in (lambda: session.taken, lambda: len(session), lambda: session.labels, lambda: session.left([]), session.check):
        with pytest.raises(StoreError, match="the store is closed"):
            ask()
