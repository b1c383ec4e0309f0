"""Batches read in tasks: the same assertions, ledger and leftovers as in one piece, wherever the files are cut."""

from __future__ import annotations

import gzip
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

import jobs
from jobs.spark.reading import account, read_frame, read_range, told_in
from jobs.spark.rows import ASSERTIONS, SCHEMA, abox_of_rows, assertions_of, rows_of
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
from shiq.packed import Packing
from shiq.rdf import read_assertions
from shiq.rdf.judging import Judging, RangeReport, entities_of, first_lines
from shiq.rdf.ranges import ByteRange, Range, byte_ranges, table_ranges
from shiq.rdf.table_terms import COLUMNS, line_of
from shiq.reading import Place
from shiq.sources import FileSource, TableSource, source_of
from shiq.verdict import Leftover

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


JUDGING = Judging(KNOWN, asked=entities_of(KNOWN))


def read(ranges: Sequence[Range], store: StoreKey) -> tuple[pa.Table, list[RangeReport], list[Leftover], Counter[str]]:
    """What tasks over ``ranges`` give: rows of assertions, reports; leftovers and ledger of all."""
    parts = dict(enumerate(ranges))
    batches = [batch for number, part in parts.items() for batch in read_range(number, part, JUDGING, store)]
    rows = pa.Table.from_batches(batches, SCHEMA)
    reports = [told.report for told in told_in(rows)]
    return rows.filter(pc.is_in(rows["kind"], pa.array(ASSERTIONS))), reports, *account(parts, reports)


def cut_at(path: Path, cuts: Sequence[int]) -> list[ByteRange]:
    size = path.stat().st_size
    return [ByteRange(str(path), "a0", str(path), a, b, size) for a, b in pairwise([0, *cuts, size])]


def test_files_may_be_cut_anywhere(tmp_path: Path, store: StoreKey) -> None:
    path = tmp_path / "batch.nt"
    path.write_bytes(("\ufeff" + "\n".join(LINES[:6]) + "\r\n" + "\n".join(LINES[6:])).encode())
    whole = read_assertions([str(path)], KNOWN)
    assert {x.kind for x in whole.leftovers} == {"malformed", "undeclared"}
    size = path.stat().st_size
    dice = random.Random(1)
    for cuts in ([], *([cut] for cut in range(1, size)), *(sorted(dice.sample(range(1, size), 5)) for _ in range(20))):
        rows, _, leftovers, ledger = read(cut_at(path, cuts), store)
        assert set(abox_of_rows(rows)) == set(whole.abox)
        assert ledger == Counter(whole.ledger)
        assert leftovers == list(whole.leftovers)


def test_a_file_that_grew_is_refused(tmp_path: Path, store: StoreKey) -> None:
    path = tmp_path / "batch.nt"
    path.write_text(LINES[0] + "\n")
    _, (report,), _, _ = read([ByteRange("b", "a0", str(path), 0, 5, 5)], store)
    assert report.error is not None and "an executor sees" in report.error[0]
    with pytest.raises(InputError, match="cannot be read: No such file"):
        ByteRange("b", "a0", str(tmp_path / "none.nt"), 0, 5, 5).parse()


def test_an_archive_cut_short_is_refused_after_a_broken_line_too(tmp_path: Path, store: StoreKey) -> None:
    path, dice = tmp_path / "batch.nt.gz", random.Random(3)
    lines = ["<urn:broken>", *(f"<urn:{dice.random()}> <urn:knows> <urn:{dice.random()}> ." for _ in range(5000))]
    packed = gzip.compress("\n".join(lines).encode())[:-20]
    path.write_bytes(packed)
    _, (report,), _, _ = read([ByteRange("b", "a0", str(path), 0, len(packed), len(packed), Packing.GZIP)], store)
    assert report.error is not None and "broken gzip" in report.error[0]


def test_individuals_are_looked_up(tmp_path: Path, store: StoreKey) -> None:
    path = tmp_path / "batch.nt"
    path.write_text("<urn:tom> <urn:knows> <urn:new> .\n<urn:new> <urn:knows> <urn:jerry> .\n")
    rows, *_ = read(cut_at(path, []), store)
    nodes = [(s >= 0, o >= 0) for s, o in zip(rows["s_node"].to_pylist(), rows["o_node"].to_pylist())]
    assert sorted(nodes) == [(False, True), (True, False)]


@pytest.mark.parametrize(
    "line", ["<urn:tom> <http://www.w3.org/2002/07/owl#sameAs> <urn:tim> .", f"<urn:Cat> {TYPE} <urn:Dog> ."]
)
def test_vocabulary_needs_the_whole(tmp_path: Path, store: StoreKey, line: str) -> None:
    path = tmp_path / "batch.nt"
    path.write_text(f"{LINES[0]}\n{line}\n")
    rows, (report,), _, _ = read(cut_at(path, []), store)
    assert report.needs_whole and not len(rows)


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
def test_rows_that_are_no_triple(tmp_path: Path, store: StoreKey, s: str | None, p: str | None, o: str | None) -> None:
    assert "\n" not in line_of(s, p, o)
    columns = {"s": [s], "p": [p], "o": [o], "graph": [None], "key": ["k1"]}
    good = {"s": "<urn:a>", "p": "<urn:knows>", "o": "<urn:b>", "graph": None, "key": None}
    table = pa.table({name: pa.array([good[name]] * 6 + values, pa.string()) for name, values in columns.items()})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    source = source_of(str(tmp_path / "t.parquet"))
    assert isinstance(source, TableSource)
    ranges, _ = table_ranges(source, "a0", 2)
    assert len(ranges) == 4
    rows, _, leftovers, ledger = read(ranges, store)
    assert ledger == {"assertion": 6, "leftover:malformed": 1} and rows["line"].to_pylist() == [1, 2] * 3
    assert leftovers == list(read_assertions([source.name], KNOWN).leftovers)
    assert [(x.kind, x.line, x.hint, x.count) for x in leftovers] == [("malformed", 7, "row key k1", 1)]


def test_rows_keep_their_keys(store: StoreKey) -> None:
    terms = [("<urn:a>", TYPE, "<urn:Cat>"), ("<urn:a>", "<urn:age>", '"x y"@en'), ("_:b", "<urn:knows>", "<urn:a>")]
    columns = {name: [t[i] for t in terms] for i, name in enumerate("spo")} | {"graph": [None] * 3, "key": ["k0", None, "k2"]}
    batch = pa.RecordBatch.from_pydict({n: pa.array(columns[n], pa.string()) for n in COLUMNS})
    rows = pa.Table.from_batches(list(read_frame(iter([batch]), 0, "a0", JUDGING, store)))
    found = {a: place.key for a, place in assertions_of(rows.filter(pc.is_in(rows["kind"], pa.array(ASSERTIONS))))}
    assert found == {
        ClassAssertion(CAT, "urn:a"): "k0",
        DataPropertyAssertion(AGE, "urn:a", Literal("x y", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "en")): "",
        ObjectPropertyAssertion(KNOWS, "_:a0.b", "urn:a"): "k2",
    }


def random_lines(dice: random.Random) -> bytes:
    """Lines of all sorts, ended by \\n and \\r\\n, with bare \\r inside; the last one perhaps not ended."""
    ends = [b"\n", b"\n", b"\r\n"]
    names = ["<urn:tom>", "<urn:ann>", "_:b1", "_:b2", "<urn:ümläut>", "<urn:n{}>"]
    found = [b"\xef\xbb\xbf"] if dice.random() < 0.5 else []
    for i in range(dice.randrange(1, 60)):
        s, o = (dice.choice(names).format(dice.randrange(9)) for _ in range(2))
        line = dice.choice([*LINES, f"{s} <urn:knows> {o} .", f"{s} {TYPE} <urn:Dog> .", f'{s} <urn:age> "{i}" .']).encode()
        line = dice.choice([line] * 6 + [line + b" # \r" + line, b"\xff" + line, b" \t" + line, line.replace(b" ", b"  "), b"\r"])
        found += [line, dice.choice(ends)]
    return b"".join(found[: dice.choice([len(found), -1])])


@pytest.mark.parametrize("seed", range(40))
def test_ranges_give_what_reading_in_one_piece_gives(
    seed: int, tmp_path: Path, store: StoreKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain and packed files and a table, cut at random: assertions with their places, ledger, leftovers, each exactly."""
    dice = random.Random(seed)
    monkeypatch.setattr("shiq.rdf.assertion_rows._PIECE", dice.choice([3, 1 << 17]))
    plain, packed, folder = tmp_path / "a.nt", tmp_path / "b.nt.gz", tmp_path / "c"
    plain.write_bytes(random_lines(dice))
    packed.write_bytes(gzip.compress(random_lines(dice)))
    folder.mkdir()
    terms, classes = ["<urn:tom>", "_:b1", '"7"', "odd", None], ["<urn:Cat>", "<urn:Bird>", "odd", None]
    pairs = [(p, o) for p, some in ((TYPE, classes), ("<urn:knows>", terms), ("<urn:says>", terms)) for o in some]
    for name in ("1.parquet", "2.parquet"):
        rows = [[dice.choice(terms), *dice.choice(pairs), str(i)] for i in range(dice.randrange(20))]
        columns = {c: pa.array([row[i] for row in rows], pa.string()) for i, c in enumerate(("s", "p", "o", "key"))}
        pq.write_table(pa.table(columns), folder / name, row_group_size=dice.randrange(1, 8))
    sources = [str(plain), str(packed), str(folder)]
    whole = read_assertions(sources, KNOWN)
    size = plain.stat().st_size
    table, unpacked = source_of(str(folder)), source_of(str(packed))
    assert isinstance(table, TableSource) and isinstance(unpacked, FileSource)
    cuts = sorted(dice.sample(range(size + 1), min(size, dice.randrange(6))))
    ranges = [*cut_at(plain, cuts), *byte_ranges(unpacked, "a1", 1), *table_ranges(table, "a2", dice.randrange(1, 9))[0]]
    rows_, reports, leftovers, ledger = read(ranges, store)
    assert [replace(x, hint=x.hint.partition("row key")[0].rstrip("; ")) for x in leftovers] == [
        replace(x, hint=x.hint.partition("row key")[0].rstrip("; ")) for x in whole.leftovers
    ]
    assert ledger == Counter(whole.ledger)
    assert sum(ledger.values()) == sum(report.triples + report.rejected for report in reports)
    assert set(abox_of_rows(rows_)) == set(whole.abox)
    origins = {x.number: (x.source, first) for x, first in zip(reports, first_lines(reports))}
    places: dict[Assertion, list[Place]] = {}
    for assertion, place in assertions_of(rows_, origins):
        places.setdefault(assertion, []).append(place)
    assert {a: tuple(dict.fromkeys(found)) for a, found in places.items()} == whole.places(list(whole.abox))


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JAVA_TOOL_OPTIONS", "-XX:+UseG1GC"),
        ("SPARK_SUBMIT_OPTS", "-Xint"),
        ("PYSPARK_SUBMIT_ARGS", "--driver-java-options -Xint pyspark-shell"),
        ("SPARK_CONF_DIR", "spark.driver.defaultJavaOptions -Xint"),
    ],
)
def test_java_options_of_the_user_are_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str) -> None:
    """They may name another collector: two keep a JVM from starting."""
    from jobs.spark import session

    for other in (*session._JAVA_VARIABLES, "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(other, raising=False)
    assert not session._java_options_are_said({"spark.ui.enabled": "false"})
    assert session._java_options_are_said({"spark.driver.extraJavaOptions": ""})
    if name == "SPARK_CONF_DIR":
        (tmp_path / "spark-defaults.conf").write_text(value)
        value = str(tmp_path)
    monkeypatch.setenv(name, value)
    assert session._java_options_are_said({})
