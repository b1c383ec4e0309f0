"""Batches read in tasks: the same assertions, ledger and leftovers as in one piece, wherever the files are cut."""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

import jobs
from jobs.spark.rows import ASSERTIONS, abox_of_rows, assertions_of, rows_of
from jobs.spark.splits import LEFTOVER, REPORT, Split, TableSource, Vocabulary, read_rows, read_split
from jobs.spark.worker import StoreKey
from jobs.store.upkeep import write_store
from shiq.abox import abox_of
from shiq.errors import InputError
from shiq.model import (
    XSD,
    Assertion,
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    DifferentIndividuals,
    DisjointClasses,
    Literal,
    NegativeObjectPropertyAssertion,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectSomeValuesFrom,
    SameIndividual,
    Signature,
    TBox,
)
from shiq.model_json import decode
from shiq.packed import Packing
from shiq.rdf import read_assertions
from shiq.rdf.tables import line_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAT, DOG, KNOWS, AGE = Class("urn:Cat"), Class("urn:Dog"), ObjectProperty("urn:knows"), DataProperty("urn:age")
KNOWN = Signature(frozenset(["urn:Cat", "urn:Dog"]), frozenset(["urn:knows"]), frozenset(["urn:age"]))
TBOX = TBox((DisjointClasses((CAT, DOG)),), KNOWN)
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> StoreKey:
    base = abox_of([ClassAssertion(CAT, "urn:tom"), ObjectPropertyAssertion(KNOWS, "urn:tom", "urn:jerry")])
    path = tmp_path_factory.mktemp("store") / "kg"
    return StoreKey(str(path), write_store(path, TBOX, base).manifest)


LINES = [
    f"<urn:tom> {TYPE} <urn:Cat> .",
    "# a comment, and an empty line",
    "",
    "<urn:tom> <urn:knows> _:b1 .",
    '<urn:tom> <urn:age> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .',
    '<urn:ann> <urn:age> "a\\"b\\n"@EN-gb .',
    '<urn:ann> <urn:says> "misspelt" .',
    "<urn:broken>",
    "<urn:ann> <urn:knows> <urn:ümläut> .  ",
    f"<urn:ann>\t{TYPE}\t<urn:Bird> . # odd spacing",
    '<urn:x> "literal" <urn:y> .',
    '<urn:tom> <urn:knows> "a literal" .',
    f"<urn:tom> {TYPE} <urn:Cat> .",
]


def in_splits(
    path: Path, cuts: list[int], store: StoreKey
) -> tuple[set[Assertion], Counter[str], list[tuple[str, int, str, int]]]:
    """What tasks over the given cuts of a file find: assertions, ledger, (kind, line, message, count) of leftovers."""
    size = path.stat().st_size
    ends = [*cuts, size]
    table, found, ledger, first = [], [], Counter[str](), 0
    for i, (start, end) in enumerate(zip([0, *cuts], ends)):
        split = Split(i, str(path), str(path), "a0", start, end, size)
        rows = pa.Table.from_batches(list(read_split(split, Vocabulary(KNOWN), store)))
        report = json.loads(rows.filter(pc.equal(rows["kind"], REPORT))["o"][0].as_py())
        for text in rows.filter(pc.equal(rows["kind"], LEFTOVER))["o"].to_pylist():
            told = decode(json.loads(text)["leftover"])
            found.append((told.kind, told.line + first, told.message, told.count))
        first += report["lines"]
        ledger.update(report["ledger"])
        table.append(rows.filter(pc.is_in(rows["kind"], pa.array(ASSERTIONS))))
    return set(abox_of_rows(pa.concat_tables(table))), +ledger, found


def test_files_may_be_cut_anywhere(tmp_path: Path, store: StoreKey) -> None:
    path = tmp_path / "batch.nt"
    path.write_bytes(("\ufeff" + "\n".join(LINES[:6]) + "\r\n" + "\n".join(LINES[6:])).encode())
    whole = read_assertions([str(path)], KNOWN)
    told = [(x.kind, x.line, x.message, x.count) for x in whole.leftovers]
    assert {kind for kind, *_ in told} == {"malformed", "undeclared"}
    size = path.stat().st_size
    dice = random.Random(1)
    for cuts in ([], *([cut] for cut in range(1, size)), *(sorted(dice.sample(range(1, size), 5)) for _ in range(20))):
        assertions, ledger, leftovers = in_splits(path, cuts, store)
        assert assertions == set(whole.abox)
        assert ledger == Counter(whole.ledger)
        assert sorted(leftovers) == sorted(told)


def test_a_file_that_grew_is_refused(tmp_path: Path, store: StoreKey) -> None:
    path = tmp_path / "batch.nt"
    path.write_text(LINES[0] + "\n")
    rows = pa.Table.from_batches(list(read_split(Split(0, "b", str(path), "a0", 0, 5, 5), Vocabulary(KNOWN), store)))
    assert rows["kind"].to_pylist() == ["failure"]
    assert "an executor sees" in rows["o"][0].as_py()


def test_an_archive_cut_short_is_refused_after_a_broken_line_too(tmp_path: Path, store: StoreKey) -> None:
    path, dice = tmp_path / "batch.nt.gz", random.Random(3)
    lines = ["<urn:broken>", *(f"<urn:{dice.random()}> <urn:knows> <urn:{dice.random()}> ." for _ in range(5000))]
    packed = gzip.compress("\n".join(lines).encode())[:-20]
    path.write_bytes(packed)
    split = Split(0, "b", str(path), "a0", 0, len(packed), len(packed), Packing.GZIP)
    rows = pa.Table.from_batches(list(read_split(split, Vocabulary(KNOWN), store)))
    assert rows["kind"].to_pylist() == ["failure"]
    assert "broken gzip" in rows["o"][0].as_py()


def test_individuals_are_looked_up(tmp_path: Path, store: StoreKey) -> None:
    path = tmp_path / "batch.nt"
    path.write_text("<urn:tom> <urn:knows> <urn:new> .\n<urn:new> <urn:knows> <urn:jerry> .\n")
    size = path.stat().st_size
    rows = pa.Table.from_batches(list(read_split(Split(0, "b", str(path), "a0", 0, size, size), Vocabulary(KNOWN), store)))
    nodes = [(s >= 0, o >= 0) for s, o in zip(rows["s_node"].to_pylist(), rows["o_node"].to_pylist())][:2]
    assert sorted(nodes) == [(False, True), (True, False)]


def test_vocabulary_needs_the_whole(tmp_path: Path, store: StoreKey) -> None:
    path = tmp_path / "batch.nt"
    path.write_text(f"{LINES[0]}\n<urn:tom> <http://www.w3.org/2002/07/owl#sameAs> <urn:tim> .\n")
    size = path.stat().st_size
    rows = pa.Table.from_batches(list(read_split(Split(0, "b", str(path), "a0", 0, size, size), Vocabulary(KNOWN), store)))
    assert [json.loads(text)["whole"] for text in rows["o"].to_pylist()] == [True]


# --- tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("s", "p", "o"),
    [
        (None, "<urn:p>", "<urn:o>"),
        ("<urn:s> <urn:p> <urn:o> . #", "<urn:p>", "<urn:o>"),
        ("<urn:s>", "<urn:p>", '"a" . <urn:s> <urn:p> "b"'),
        ("<urn:s>", "<urn:p>", "<urn:o> . #"),
        ("<urn:s>", "<urn:p>", '"a\nb"'),
        ("<urn:s>", "<urn:p>", "bare"),
        ("# a comment", "<urn:p>", "<urn:o>"),
        ("", "", ""),
    ],
)
def test_rows_that_are_no_triple(store: StoreKey, s: str | None, p: str | None, o: str | None) -> None:
    assert "\n" not in line_of(s, p, o)
    columns = {"s": [s], "p": [p], "o": [o], "graph": [None], "key": ["k1"]}
    batch = pa.RecordBatch.from_pydict({**{n: pa.array(v, pa.string()) for n, v in columns.items()}, "row": pa.array([7])})
    rows = pa.Table.from_batches(list(read_rows(iter([batch]), TableSource("t", "a0", 0), Vocabulary(KNOWN), store)))
    assert sorted(rows["kind"].to_pylist()) == [LEFTOVER, REPORT]
    told = decode(json.loads(rows.filter(pc.equal(rows["kind"], LEFTOVER))["o"][0].as_py())["leftover"])
    assert (told.kind, told.line, told.hint) == ("malformed", 7, "row key k1")


def test_rows_keep_their_keys(store: StoreKey) -> None:
    terms = [("<urn:a>", TYPE, "<urn:Cat>"), ("<urn:a>", "<urn:age>", '"x y"@en'), ("_:b", "<urn:knows>", "<urn:a>")]
    columns = {name: [t[i] for t in terms] for i, name in enumerate("spo")} | {"graph": [None] * 3, "key": ["k0", None, "k2"]}
    batch = pa.RecordBatch.from_pydict({**{n: pa.array(v, pa.string()) for n, v in columns.items()}, "row": pa.array([0, 0, 0])})
    rows = pa.Table.from_batches(list(read_rows(iter([batch]), TableSource("t", "a0", 0), Vocabulary(KNOWN), store)))
    found = {a: place.key for a, place in assertions_of(rows.filter(pc.is_in(rows["kind"], pa.array(ASSERTIONS))))}
    assert found == {
        ClassAssertion(CAT, "urn:a"): "k0",
        DataPropertyAssertion(AGE, "urn:a", Literal("x y", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "en")): "",
        ObjectPropertyAssertion(KNOWS, "_:a0.b", "urn:a"): "k2",
    }


def test_rows_hold_every_assertion() -> None:
    assertions = [
        ClassAssertion(CAT, "urn:a"),
        ClassAssertion(ObjectSomeValuesFrom(KNOWS, DOG), "urn:a"),
        ObjectPropertyAssertion(KNOWS, "urn:a", "_:t0.b"),
        DataPropertyAssertion(AGE, "urn:a", Literal("07", XSD + "integer")),
        NegativeObjectPropertyAssertion(KNOWS, "urn:c", "urn:d"),
        SameIndividual("urn:e", "urn:a"),
        DifferentIndividuals("urn:e", "urn:f"),
    ]
    rows = rows_of(abox_of(assertions))
    assert set(abox_of_rows(pa.concat_tables([rows, rows]))) == set(assertions)
    assert len(abox_of_rows(pa.concat_tables([rows, rows]))) == len(assertions)
    assert {a for a, _ in assertions_of(rows)} == set(assertions)


# --- with Spark --------------------------------------------------------------------------------------


@pytest.mark.spark
def test_sources_of_all_kinds(spark: SparkSession, store: StoreKey, tmp_path: Path) -> None:
    """N-Triples packed and in splits, Parquet, Delta and a DataFrame at once; then what only the driver can read."""
    from deltalake import write_deltalake

    from jobs.spark import reading

    plain, packed = tmp_path / "a.nt", tmp_path / "b.nt.gz"
    plain.write_text("\n".join(LINES) + "\n")
    packed.write_bytes(gzip.compress("\n".join(LINES[3:]).encode()))
    terms = {"s": ["<urn:a>", "<urn:b>"], "p": [TYPE, "<urn:knows>"], "o": ["<urn:Cat>", "bare"], "key": ["k1", "k2"]}
    pq.write_table(pa.table(terms), tmp_path / "t.parquet")
    write_deltalake(str(tmp_path / "delta"), pa.table({**terms, "s": ["<urn:c>", "<urn:d>"]}))
    frame = spark.createDataFrame([("<urn:e>", TYPE, "<urn:Dog>", 5)], "s string, p string, o string, key int")
    tables = [str(tmp_path / "t.parquet"), str(tmp_path / "delta"), frame]
    before = reading.LEAST_BYTES
    reading.LEAST_BYTES = 64
    try:
        found = reading.read_batch(spark, [str(plain), str(packed), *tables], TBOX, store, scope="a", aside=False)
    finally:
        reading.LEAST_BYTES = before
    whole = read_assertions([str(plain), str(packed)], KNOWN)
    rows = found.frame.toArrow()
    added = {ClassAssertion(CAT, "urn:a"), ClassAssertion(CAT, "urn:c"), ClassAssertion(DOG, "urn:e")}
    assert set(abox_of_rows(rows)) == set(whole.abox) | added
    assert {place.key for a, place in assertions_of(rows) if a in added} == {"k1", "5"}
    assert found.ledger == Counter(whole.ledger) + Counter({"assertion": 3, "leftover:malformed": 2})
    own = [x for x in found.leftovers if x.source in (str(plain), str(packed))]
    assert sorted(own, key=repr) == sorted(whole.leftovers, key=repr)
    others = {(Path(x.source).name, x.line, x.hint) for x in found.leftovers if x not in own}
    assert others == {("t.parquet", 2, "row key k2"), ("delta", 2, "row key k2")}
    found.release()

    same = spark.createDataFrame(
        [("<urn:a>", "<http://www.w3.org/2002/07/owl#sameAs>", "<urn:b>")], "s string, p string, o string"
    )
    found = reading.read_batch(spark, [same, str(plain)], TBOX, store, scope="a", aside=False)
    assert SameIndividual("urn:a", "urn:b") in set(abox_of_rows(found.frame.toArrow()))
    assert {x.source for x in found.leftovers} == {str(plain)}
    with pytest.raises(InputError, match="no column 'o'"):
        reading.read_batch(spark, [frame.drop("o")], TBOX, store, scope="a", aside=False)


@pytest.mark.spark
def test_workers_run_this_interpreter_unless_another_is_named(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from jobs.spark.session import spark_session

    def asked(_: int) -> tuple[str, str]:
        import jobs

        return sys.executable, str(jobs.__file__)

    context = spark.sparkContext
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(context, "pythonExec", "python-that-is-not-there")  # as a session of the user's has some python3
    monkeypatch.setattr(context, "environment", {})
    assert spark_session() == (spark, False)
    assert context.parallelize([0], 1).map(asked).collect() == [(sys.executable, jobs.__file__)]
    monkeypatch.setenv("PYSPARK_PYTHON", "/named/by/the/user")
    assert spark_session() == (spark, False)
    assert context.pythonExec == "/named/by/the/user"
