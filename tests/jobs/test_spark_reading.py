"""Batches parsed in tasks: what reading in one piece gives, wherever the files are cut."""

from __future__ import annotations

import gzip
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

import shiq.jobs
from shiq.errors import InputError
from shiq.inputs.compression import Compression
from shiq.inputs.reading import Reading
from shiq.inputs.sources import FileSource, TableSource, classify_input
from shiq.jobs.spark import reading
from shiq.jobs.spark.reading import SparkReading, decode_part, encode_part, read_frame
from shiq.model import (
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    DisjointClasses,
    Literal,
    ObjectProperty,
    ObjectPropertyAssertion,
    Signature,
    TBox,
)
from shiq.rdf import read_assertions
from shiq.rdf.source_ranges import (
    ByteRange,
    Range,
    TransferredRange,
    byte_ranges,
    pack_range,
    table_ranges,
)
from shiq.rdf.terms import COLUMNS, quad_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAT, DOG, KNOWS, AGE = (
    Class("urn:Cat"),
    Class("urn:Dog"),
    ObjectProperty("urn:knows"),
    DataProperty("urn:age"),
)
KNOWN = Signature(
    frozenset(["urn:Cat", "urn:Dog"]), frozenset(["urn:knows"]), frozenset(["urn:age"])
)
TBOX = TBox((DisjointClasses((CAT, DOG)),), KNOWN)
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SAME = "<http://www.w3.org/2002/07/owl#sameAs>"


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
    f"<urn:tom> {SAME} _:b1 .",
]


def read(*sources: tuple[str, Sequence[Range]]) -> Reading:
    """What is read of ``sources`` whose ranges tasks have parsed."""

    def parsed(ranges: Sequence[Range]) -> Iterator[TransferredRange]:
        return (decode_part(encode_part(pack_range(part.parse()))) for part in ranges)

    def source(name: str, ranges: Sequence[Range]) -> FileSource | TableSource:
        known = classify_input(name)
        assert isinstance(known, FileSource | TableSource)
        return replace(known, parts=lambda: parsed(ranges))

    return read_assertions([source(*given) for given in sources], KNOWN)


def assert_equal(found: Reading, whole: Reading) -> None:
    """Whether two readings are of the same, exactly."""
    assert set(found.abox) == set(whole.abox)
    assert found.ledger == whole.ledger
    assert found.leftovers == whole.leftovers
    assert [*found.left_out] == [*whole.left_out]
    assert [*found.leftover_places()] == [*whole.leftover_places()]
    assert found.places(list(whole.abox)) == whole.places(list(whole.abox))


def cut_at(path: Path, cuts: Sequence[int]) -> list[ByteRange]:
    size = path.stat().st_size
    return [ByteRange(str(path), "", str(path), a, b, size) for a, b in pairwise([0, *cuts, size])]


def test_files_may_be_cut_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "batch.nt"
    path.write_bytes(("\ufeff" + "\n".join(LINES[:6]) + "\r\n" + "\n".join(LINES[6:])).encode())
    whole = read_assertions([str(path)], KNOWN)
    assert {x.kind for x in whole.leftovers} == {"malformed", "undeclared"}
    size = path.stat().st_size
    dice = random.Random(1)
    for cuts in (
        [],
        *([cut] for cut in range(1, size, 3)),
        *(sorted(dice.sample(range(1, size), 5)) for _ in range(20)),
    ):
        assert_equal(read((str(path), cut_at(path, cuts))), whole)


def test_a_file_that_grew_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "batch.nt"
    path.write_text(LINES[0] + "\n")
    with pytest.raises(InputError, match="an executor sees"):
        ByteRange("b", "", str(path), 0, 5, 5).parse()
    with pytest.raises(InputError, match="cannot be read: No such file"):
        ByteRange("b", "", str(tmp_path / "none.nt"), 0, 5, 5).parse()


def test_what_a_task_complains_of_is_told(tmp_path: Path) -> None:
    path, dice = tmp_path / "batch.nt.gz", random.Random(3)
    lines = [
        "<urn:broken>",
        *(f"<urn:{dice.random()}> <urn:knows> <urn:{dice.random()}> ." for _ in range(5000)),
    ]
    packed = gzip.compress("\n".join(lines).encode())[:-20]
    path.write_bytes(packed)
    cut = ByteRange(str(path), "", str(path), 0, len(packed), len(packed), Compression.GZIP)
    asked: list[tuple[int, int, Range]] = [(0, 0, cut)]
    (row,) = reading._parse_ranges(asked, iter([pa.RecordBatch.from_pydict({"id": [0]})]))
    part = decode_part(row.column(4)[0].as_py())
    assert part.error is not None and "broken gzip" in part.error[0]
    source = classify_input(str(path))
    assert isinstance(source, FileSource)
    with pytest.raises(InputError, match="broken gzip"):
        read_assertions([replace(source, parts=lambda: [part])], KNOWN)


def test_a_source_of_which_no_line_is_a_triple_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "batch.nt"
    path.write_text("one\ntwo\n")
    with pytest.raises(InputError, match="is not N-Triples") as refused:
        read_assertions([str(path)], KNOWN)
    with pytest.raises(InputError) as again:
        read((str(path), cut_at(path, [4])))
    assert (again.value.message, again.value.remedy) == (
        refused.value.message,
        refused.value.remedy,
    )


# --- Spark's reader of lines ----------------------------------------------------------------------


def lines_by_spark(path: Path, cuts: Sequence[int], rows: int) -> Iterator[pa.RecordBatch]:
    """What Spark's reader gives of the blocks of a file, so many rows at a time: lines without
    their ends, nor a byte order mark.
    """
    data = path.read_bytes()
    lines: list[tuple[bytes, str, int]] = []
    at, begins = 0, [0, *cuts]
    for line in data.split(b"\n")[: -1 if data.endswith(b"\n") else None]:
        block = max(x for x in begins if x <= at)
        lines.append(
            (line.removeprefix(b"\xef\xbb\xbf") if at == 0 else line, path.as_uri(), block)
        )
        at += len(line) + 1
    for i in range(0, len(lines), rows):
        values, paths, starts = (list(column) for column in zip(*lines[i : i + rows]))
        texts = pa.Array.from_buffers(
            pa.string(), len(values), pa.array(values, pa.binary()).buffers()
        )  # as Java has them
        columns = [texts, pa.array(paths), pa.array(starts, pa.int64())]
        yield pa.RecordBatch.from_arrays(columns, names=["value", "file_path", "file_block_start"])


def parts_by_spark(
    path: Path, batches: Iterator[pa.RecordBatch]
) -> tuple[list[TransferredRange], int]:
    """The parts that tasks make of lines, in order, and how many bytes these had."""
    told = [
        row.to_pylist()[0]
        for row in reading._parse_lines({str(path): (0, str(path), False)}, batches)
    ]
    told.sort(key=lambda row: (row["at"], row["number"]))
    return [decode_part(row["body"]) for row in told], sum(row["bytes"] for row in told)


@pytest.mark.parametrize("seed", range(20))
def test_lines_by_spark_are_the_lines_of_the_file(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(seed)
    path = tmp_path / f"a b%20{seed}.nt"
    while not path.exists() or path.stat().st_size < 4:
        path.write_bytes(random_lines(dice))
    monkeypatch.setattr(reading, "PART_BYTES", dice.choice([1, 200, 1 << 20]))
    source, size = classify_input(str(path)), path.stat().st_size
    assert isinstance(source, FileSource) and reading.is_read_by_spark(source)
    cuts = sorted(dice.sample(range(1, size), min(size - 1, dice.randrange(4))))
    parts, seen = parts_by_spark(path, lines_by_spark(path, cuts, dice.choice([1, 3, 100])))
    assert seen == reading._bytes_expected(path)
    whole = read_assertions([str(path)], KNOWN)
    assert_equal(read_assertions([replace(source, parts=lambda: iter(parts))], KNOWN), whole)


@pytest.mark.parametrize(
    "name", ["_a.nt", ".a.nt", "a[b].nt", "a*.nt", "a{b}.nt", "a?.nt", "a:b.nt", "a\\.nt"]
)
def test_names_that_spark_reads_otherwise_go_by_ranges(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(LINES[0])
    source = classify_input(str(tmp_path / name))
    assert isinstance(source, FileSource) and not reading.is_read_by_spark(source)


# --- tables ---------------------------------------------------------------------------------------


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
def test_rows_that_are_no_triple(
    tmp_path: Path, s: str | None, p: str | None, o: str | None
) -> None:
    assert "\n" not in quad_line(s, p, o)
    columns = {"s": [s], "p": [p], "o": [o], "graph": [None], "key": ["k1"]}
    good = {"s": "<urn:a>", "p": "<urn:knows>", "o": "<urn:b>", "graph": None, "key": None}
    table = pa.table(
        {name: pa.array([good[name]] * 6 + values, pa.string()) for name, values in columns.items()}
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    source = classify_input(str(tmp_path / "t.parquet"))
    assert isinstance(source, TableSource)
    ranges, _ = table_ranges(source, "", 2)
    assert len(ranges) == 4
    found = read((source.name, ranges))
    assert found.ledger == {"assertion": 6, "leftover:malformed": 1}
    assert_equal(found, read_assertions([source.name], KNOWN))
    assert [(x.kind, x.line, x.hint, x.count) for x in found.leftovers] == [
        ("malformed", 7, "row key k1", 1)
    ]


def test_rows_of_a_frame_keep_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = [
        ("<urn:a>", TYPE, "<urn:Cat>"),
        ("<urn:a>", "<urn:age>", '"x y"@en'),
        ("_:b", "<urn:knows>", "<urn:a>"),
        ("a", "b", "c"),
    ]
    columns = {name: [t[i] for t in terms] for i, name in enumerate("spo")} | {
        "graph": [None] * 4,
        "key": ["k0", None, "k2", "k3"],
    }
    whole = pa.RecordBatch.from_pydict({n: pa.array(columns[n], pa.string()) for n in COLUMNS})
    monkeypatch.setattr(reading, "PART_ROWS", 2)
    rows = [
        row.to_pylist()[0]
        for row in read_frame(iter([whole.slice(0, 2), whole.slice(2)]), 0, "frame")
    ]
    assert [row["number"] for row in rows] == [0, 1, 2]
    parts = [decode_part(row["body"]) for row in rows]
    source = classify_input(pa.Table.from_batches([whole]))
    assert isinstance(source, TableSource)
    found = read_assertions([replace(source, parts=lambda: parts)], KNOWN)
    places = found.places(list(found.abox))
    assert {a: [(p.key, p.line) for p in at] for a, at in places.items()} == {
        ClassAssertion(CAT, "urn:a"): [("k0", 0)],
        DataPropertyAssertion(
            AGE,
            "urn:a",
            Literal("x y", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "en"),
        ): [("", 0)],
        ObjectPropertyAssertion(KNOWS, "_:a0.b", "urn:a"): [("k2", 0)],
    }
    assert [(x.kind, x.line, x.hint) for x in found.leftovers] == [("malformed", 0, "row key k3")]


def random_lines(dice: random.Random) -> bytes:
    """Lines of all sorts, ended by \\n and \\r\\n, with bare \\r inside; the last one perhaps
    not ended.
    """
    ends = [b"\n", b"\n", b"\r\n"]
    names = ["<urn:tom>", "<urn:ann>", "_:b1", "_:b2", "<urn:ümläut>", "<urn:n{}>"]
    found = [b"\xef\xbb\xbf"] if dice.random() < 0.5 else []
    for i in range(dice.randrange(1, 60)):
        s, o = (dice.choice(names).format(dice.randrange(9)) for _ in range(2))
        line = dice.choice(
            [*LINES, f"{s} <urn:knows> {o} .", f"{s} {TYPE} <urn:Dog> .", f'{s} <urn:age> "{i}" .']
        ).encode()
        line = dice.choice(
            [line] * 6
            + [
                line + b" # \r" + line,
                b"\xff" + line,
                b" \t" + line,
                line.replace(b" ", b"  "),
                b"\r",
            ]
        )
        found += [line, dice.choice(ends)]
    return b"".join(found[: dice.choice([len(found), -1])])


@pytest.mark.parametrize("seed", range(40))
def test_ranges_give_what_reading_in_one_piece_gives(seed: int, tmp_path: Path) -> None:
    """Plain and packed files and a table, cut at random: assertions with their places, ledger,
    leftovers, each exactly.
    """
    dice = random.Random(seed)
    plain, packed, folder = tmp_path / "a.nt", tmp_path / "b.nt.gz", tmp_path / "c"
    plain.write_bytes(random_lines(dice))
    packed.write_bytes(gzip.compress(random_lines(dice)))
    folder.mkdir()
    terms, classes = (
        ["<urn:tom>", "_:b1", '"7"', "odd", None],
        ["<urn:Cat>", "<urn:Bird>", "odd", None],
    )
    pairs = [
        (p, o)
        for p, some in ((TYPE, classes), ("<urn:knows>", terms), ("<urn:says>", terms))
        for o in some
    ]
    for name in ("1.parquet", "2.parquet"):
        rows = [
            [dice.choice(terms), *dice.choice(pairs), str(i)] for i in range(dice.randrange(20))
        ]
        columns = {
            c: pa.array([row[i] for row in rows], pa.string())
            for i, c in enumerate(("s", "p", "o", "key"))
        }
        pq.write_table(pa.table(columns), folder / name, row_group_size=dice.randrange(1, 8))
    size = plain.stat().st_size
    table, unpacked = classify_input(str(folder)), classify_input(str(packed))
    assert isinstance(table, TableSource) and isinstance(unpacked, FileSource)
    cuts = sorted(dice.sample(range(size + 1), min(size, dice.randrange(6))))
    found = read(
        (str(plain), cut_at(plain, cuts)),
        (str(packed), byte_ranges(unpacked, "", 1)),
        (str(folder), table_ranges(table, "", dice.randrange(1, 9))[0]),
    )
    assert_equal(found, read_assertions([str(plain), str(packed), str(folder)], KNOWN))


# --- with Spark -----------------------------------------------------------------------------------


@contextmanager
def named(_: str) -> Iterator[None]:
    yield


def read_on_spark(spark: SparkSession, sources: Sequence[object]) -> Reading:
    return read_assertions(SparkReading(spark, named).with_spark_readers(sources), KNOWN)


@pytest.mark.spark
def test_sources_of_all_kinds(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-Triples plain, packed and by odd names, N-Quads, Parquet, Delta and DataFrames at once,
    beside what the driver reads.
    """
    from deltalake import write_deltalake

    dice = random.Random(5)
    plain = [
        tmp_path / name
        for name in ("a b%20#.nt", "_hidden.nt", "a[1].nt", "marked.nt", "empty.nt", "ümläut.nt")
    ]
    for path in plain:
        path.write_bytes(
            "\n".join(LINES).encode() + b"\r\n" + random_lines(dice).removeprefix(b"\xef\xbb\xbf")
        )
    plain[3].write_bytes(b"\xef\xbb\xbf" + "\n".join(LINES).encode())
    plain[4].write_bytes(b"")
    packed, quads, turtle = tmp_path / "b.nt.gz", tmp_path / "q.nq", tmp_path / "t.ttl"
    packed.write_bytes(gzip.compress("\n".join(LINES[3:]).encode()))
    quads.write_text(
        "<urn:a> <urn:knows> <urn:b> <urn:g> .\n<urn:a> <urn:knows> <urn:c> .\n<urn:a> <urn:knows> _:b _:g .\n"
    )
    turtle.write_text("<urn:tom> a <urn:Dog> .")
    terms = {
        "s": ["<urn:a>", "<urn:b>"],
        "p": [TYPE, "<urn:knows>"],
        "o": ["<urn:Cat>", "bare"],
        "key": ["k1", "k2"],
    }
    pq.write_table(pa.table(terms), tmp_path / "t.parquet")
    write_deltalake(str(tmp_path / "delta"), pa.table({**terms, "s": ["<urn:c>", "<urn:d>"]}))
    files = [
        str(x)
        for x in (
            *plain,
            packed,
            quads,
            turtle,
            plain[0],
            tmp_path / "t.parquet",
            tmp_path / "delta",
        )
    ]
    whole = read_assertions(files, KNOWN)
    for part_bytes in (1 << 20, 100):
        monkeypatch.setattr(reading, "PART_BYTES", part_bytes)
        assert_equal(read_on_spark(spark, files), whole)
    assert not read_on_spark(spark, [str(plain[4])]).abox
    frame = spark.createDataFrame(
        [("<urn:e>", TYPE, "<urn:Dog>", 5)], "s string, p string, o string, key int"
    )
    found = read_on_spark(spark, [str(turtle), frame, frame.limit(0)])
    assert set(found.abox) == {ClassAssertion(DOG, "urn:tom"), ClassAssertion(DOG, "urn:e")}
    assert [
        place.key
        for place in found.places([ClassAssertion(DOG, "urn:e")])[ClassAssertion(DOG, "urn:e")]
    ] == ["5"]
    with pytest.raises(InputError, match="no column 'o'"):
        read_on_spark(spark, [frame.drop("o")])


@pytest.mark.spark
def test_lines_that_executors_do_not_see_are_missed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: a reader that passes lines over. Such a batch is refused, and not
    consistent.
    """
    path = tmp_path / "a.nt"
    path.write_text("\n".join(LINES))
    made = SparkReading(spark, named)
    (source,) = made.with_spark_readers([str(path)])
    path.write_text("\n".join(LINES[:-1]))
    with pytest.raises(InputError, match="executors see"):
        read_assertions([source], KNOWN)


@pytest.mark.spark
def test_workers_run_this_interpreter_unless_another_is_named(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiq.jobs.spark.session import spark_session

    def asked(_: int) -> tuple[str, str]:
        import shiq.jobs

        return sys.executable, str(shiq.jobs.__file__)

    context = spark.sparkContext
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(
        context, "pythonExec", "python-that-is-not-there"
    )  # as a session of the user's has some python3
    monkeypatch.setattr(context, "environment", {})
    assert spark_session() == (spark, False)
    assert context.parallelize([0], 1).map(asked).collect() == [
        (sys.executable, shiq.jobs.__file__)
    ]
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
def test_java_options_of_the_user_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str
) -> None:
    """They may name another collector: two keep a JVM from starting."""
    from shiq.jobs.spark import session

    for other in (*session._JAVA_VARIABLES, "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(other, raising=False)
    assert not session._has_java_options({"spark.ui.enabled": "false"})
    assert session._has_java_options({"spark.driver.extraJavaOptions": ""})
    if name == "SPARK_CONF_DIR":
        (tmp_path / "spark-defaults.conf").write_text(value)
        value = str(tmp_path)
    monkeypatch.setenv(name, value)
    assert session._has_java_options({})
