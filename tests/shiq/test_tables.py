"""Tables of triples as base, insertions and deletions, with every engine: broken rows one by
one, keys into the conflicts.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.dataset as ds  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq import check_insertions, open_store
from shiq.api import index
from shiq.errors import InputError, UsageError
from shiq.inputs.reading import Reading
from shiq.inputs.sources import TableSource, classify_input
from shiq.model import Class, ClassAssertion, DisjointClasses, ObjectProperty, Signature, TBox
from shiq.rdf import read_assertions
from shiq.rdf.source_ranges import table_ranges

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAT, DOG, KNOWS = Class("urn:Cat"), Class("urn:Dog"), ObjectProperty("urn:knows")
KNOWN = Signature(
    frozenset(["urn:Cat", "urn:Dog"]), frozenset(["urn:knows"]), frozenset(["urn:age"])
)
TBOX = TBox((DisjointClasses((CAT, DOG)),), KNOWN)
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

ROWS = [
    ("<urn:tom>", TYPE, "<urn:Dog>", "<urn:g1>", "k0"),
    ("<urn:tom>", TYPE, "<urn:Dog>", None, "k1"),
    ("<urn:ann>", "<urn:knows>", "_:b", None, None),
    (None, "<urn:knows>", "<urn:tom>", None, "k3"),
    ("<urn:ann>", "<urn:knows>", "bare", None, "k4"),
    ("<urn:ann>", "<urn:knows>", "<urn:tom> . <urn:x> <urn:knows> <urn:y>", None, "k5"),
    ("<urn:ann>", "<urn:knows>", "<urn:tom>", "<urn:g h>", "k6"),
    ("<urn:ann>", '"knows"', "<urn:tom>", None, "k7"),
    ("<urn:ann>", "<urn:age>", '"7"', None, None),
]
COLUMNS: dict[str, list[Any]] = {
    name: [row[i] for row in ROWS] for i, name in enumerate(("s", "p", "o", "graph", "key"))
}
PROBLEMS = [
    "a row without s",
    "o is not one N-Triples term",
    "o is not one N-Triples term",
    "graph is not one N-Triples term",
    "p is not one N-Triples term",
]
BASE = pa.table({"s": ["<urn:tom>"], "p": [TYPE], "o": ["<urn:Cat>"], "loaded_at": [5]})


def parquet(folder: Path, name: str, table: pa.Table) -> Path:
    pq.write_table(table, folder / name)
    return folder / name


def sources(folder: Path) -> dict[str, Any]:
    table = pa.table({**COLUMNS, "extra": list(range(len(ROWS)))})
    (folder / "parts" / "_temporary").mkdir(parents=True)
    parquet(folder / "parts", "part-0.parquet", table.slice(0, 4))
    parquet(folder / "parts", "part-1.parquet", table.slice(4))
    parquet(folder / "parts" / "_temporary", "part-9.parquet", table)
    write_deltalake(str(folder / "delta"), table)
    return {
        "parquet": parquet(folder, "t.parquet", table),
        "folder": folder / "parts",
        "delta": str(folder / "delta"),
        "arrow": table,
        "dataset": ds.dataset(folder / "t.parquet"),
        "pandas": pd.DataFrame(COLUMNS),
    }


def told(reading: Reading) -> list[tuple[int, str]]:
    return [(x.line, x.hint) for x in reading.leftovers if x.kind == "malformed"]


def test_broken_rows_are_told_by_number_and_key_and_the_others_are_read(tmp_path: Path) -> None:
    for name, source in sources(tmp_path).items():
        reading = read_assertions([source], KNOWN)
        assert len(reading.abox) == 3, name
        assert told(reading) == [(i + 1, f"row key k{i}") for i in range(3, 8)], name
        assert [
            x.message.split(":")[0] for x in reading.leftovers if x.kind == "malformed"
        ] == PROBLEMS
        assert sum(reading.ledger.values()) == len(ROWS)
        (places,) = reading.places([ClassAssertion(DOG, "urn:tom")]).values()
        assert [(p.line, p.graph, p.key) for p in places] == [(1, "<urn:g1>", "k0"), (2, "", "k1")]


@pytest.mark.parametrize("engine", ["local", "spec"])
def test_keys_and_graphs_come_back_in_the_conflicts(tmp_path: Path, engine: str) -> None:
    for source in sources(tmp_path).values():
        result = check_insertions(TBOX, BASE, source, engine=engine, reasoner="own")
        (conflict,) = result.conflicts
        assert (conflict.keys, conflict.graphs) == (("k0", "k1"), ("<urn:g1>",))


def test_a_store_from_tables_and_deletions_from_tables(tmp_path: Path) -> None:
    assert index(TBOX, BASE, tmp_path / "kg", reasoner="own").verdict.value == "consistent"
    good = pd.DataFrame({"s": ["<urn:tom>"], "p": [TYPE], "o": ["<urn:Dog>"], "key": [17]})
    with open_store(tmp_path / "kg") as session:
        refused = session.check(good, commit=True, reasoner="own")
        assert (refused.verdict.value, refused.conflicts[0].keys) == ("inconsistent", ("17",))
        result = session.check(good, BASE, commit=True, reasoner="own")
        assert result.committed


def test_wrong_types_are_broken_rows(tmp_path: Path) -> None:
    numbers = pa.table(
        {"s": pa.array([1, 2]), "p": [TYPE] * 2, "o": ["<urn:Cat>"] * 2, "key": [10, 11]}
    )
    assert told(read_assertions([numbers], KNOWN)) == [(1, "row key 10"), (2, "row key 11")]
    mixed = pd.DataFrame(
        {"s": ["<urn:a>", 5, None, float("nan"), ["x"]], "p": [TYPE] * 5, "o": ["<urn:Cat>"] * 5}
    )
    reading = read_assertions([mixed], KNOWN)
    assert ([line for line, _ in told(reading)], len(reading.abox)) == ([2, 3, 4, 5], 1)
    binary = pa.table({"s": [b"<urn:a>", b"<urn:\xff>"], "p": [TYPE] * 2, "o": ["<urn:Cat>"] * 2})
    reading = read_assertions([binary], KNOWN)
    assert ([line for line, _ in told(reading)], len(reading.abox)) == ([2], 1)
    nested = pa.table({"s": [{"iri": "<urn:a>"}], "p": [TYPE], "o": ["<urn:Cat>"]})
    assert len(told(read_assertions([nested], KNOWN))) == 1


def test_a_schema_that_drifts_costs_the_rows_that_lack_something(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    parquet(folder, "0.parquet", pa.table({"s": ["<urn:a>"], "p": [TYPE], "o": ["<urn:Cat>"]}))
    parquet(
        folder,
        "1.parquet",
        pa.table({"s": ["<urn:b>"], "p": [TYPE], "object": ["<urn:Cat>"], "key": ["k"]}),
    )
    parquet(
        folder,
        "2.parquet",
        pa.table({"s": [7], "p": [TYPE], "o": ["<urn:Cat>"], "graph": ["<urn:g>"]}),
    )
    reading = read_assertions([folder], KNOWN)
    assert (told(reading), len(reading.abox)) == ([(2, "row key k"), (3, "")], 1)


@pytest.mark.parametrize(
    ("table", "word"),
    [
        (pa.table({"s": ["<urn:a>"], "p": [TYPE], "object": ["<urn:C>"]}), "no column 'o'"),
        (
            pa.Table.from_arrays([pa.array(["x"])] * 4, names=["s", "p", "o", "o"]),
            "'o' is there twice",
        ),
        (pd.DataFrame({"a": [1]}), "no column 's'"),
    ],
)
def test_a_table_without_triples_is_refused(table: Any, word: str) -> None:
    with pytest.raises(InputError, match=word):
        read_assertions([table], KNOWN)


def test_a_broken_table_is_refused(tmp_path: Path) -> None:
    whole = parquet(tmp_path, "t.parquet", pa.table(COLUMNS)).read_bytes()
    for content in (whole[: len(whole) // 2], whole[:4] + bytes(40) + whole[44:-4] + b"PAR1"):
        (tmp_path / "broken.parquet").write_bytes(content)
        with pytest.raises(InputError, match="not readable as Parquet"):
            read_assertions([tmp_path / "broken.parquet"], KNOWN)
    (tmp_path / "nodelta" / "_delta_log").mkdir(parents=True)
    with pytest.raises(InputError, match="not a readable Delta table"):
        read_assertions([tmp_path / "nodelta"], KNOWN)
    with pytest.raises(UsageError, match="not a source"):
        read_assertions([{"s": []}], KNOWN)


def test_tables_that_are_cut_into_folders_by_graph_or_predicate(tmp_path: Path) -> None:
    rows = {name: COLUMNS[name][:3] for name in ("s", "p", "o", "graph")}
    write_deltalake(str(tmp_path / "delta"), pa.table(rows), partition_by=["graph", "p"])
    ds.write_dataset(
        pa.table(rows),
        tmp_path / "hive",
        format="parquet",
        partitioning=["graph", "p"],
        partitioning_flavor="hive",
    )
    for source in (tmp_path / "delta", tmp_path / "hive"):
        reading = read_assertions([source], KNOWN)
        assert (len(reading.abox), reading.leftovers) == (2, ())
        (places,) = reading.places([ClassAssertion(DOG, "urn:tom")]).values()
        assert {place.graph for place in places} == {"<urn:g1>", ""}


@pytest.mark.parametrize("name", ["p", "graph", "key"])
def test_a_folder_and_a_column_that_say_different_things_are_refused(
    tmp_path: Path, name: str
) -> None:
    """Nothing of either is passed over; where they say the same, they are read."""
    values = {"p": ("<urn:knows>", "<urn:age>"), "graph": ("<urn:g>", None), "key": ("7", 8)}[name]
    for i, (value, fits) in enumerate(zip((*values, values[0]), (True, False, True))):
        told = {"s": "<urn:ann>", "p": "<urn:knows>", "o": "<urn:tom>", name: value}
        folder = tmp_path / str(i) / f"{name}={quote(str(values[0]), safe='')}"
        folder.mkdir(parents=True)
        rows = {column: [text, text] for column, text in told.items()}
        parquet(
            folder,
            "a.parquet",
            pa.table({column: text for column, text in rows.items() if column != name}),
        )
        parquet(folder, "b.parquet", pa.table(rows))
        if fits:
            assert len(read_assertions([tmp_path / str(i)], KNOWN).abox) == 1
        else:
            with pytest.raises(InputError, match=f"b.parquet has a column {name!r} that says"):
                read_assertions([tmp_path / str(i)], KNOWN)


@pytest.mark.parametrize(
    ("first", "second"),
    [("<urn:age>", "<urn:knows>"), (None, "<urn:knows>"), ("<urn:knows>", None)],
)
def test_folders_that_say_different_things_of_a_column_are_refused(
    tmp_path: Path, first: str | None, second: str | None
) -> None:
    """Neither is passed over, on the driver or in ranges; one that says the same again, or says
    it of no column, is read.
    """
    rows = pa.table({"s": ["<urn:ann>"], "o": ["<urn:tom>"]})

    def inside(*values: str | None) -> Path:
        root = tmp_path / str(len([*tmp_path.iterdir()]))
        said = (
            f"p={'__HIVE_DEFAULT_PARTITION__' if value is None else quote(value, safe='')}"
            for value in values
        )
        folder = root.joinpath(*said, "day=1", "day=2")
        folder.mkdir(parents=True)
        parquet(folder, "a.parquet", rows)
        return root

    assert len(read_assertions([inside("<urn:knows>", "<urn:knows>")], KNOWN).abox) == 1
    bad = inside(first, second)
    told = re.escape(
        f"{next(bad.rglob('day=2'))} is in a folder that says {first!r} of the column 'p', and in one that says {second!r}"
    )
    with pytest.raises(InputError, match=told):
        read_assertions([bad], KNOWN)
    source = classify_input(bad)
    assert isinstance(source, TableSource)
    with pytest.raises(InputError, match=told):
        table_ranges(source, "a", 10)


def test_a_table_does_not_lead_out_of_its_folder(tmp_path: Path) -> None:
    outside = parquet(tmp_path, "outside.parquet", BASE)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "0.parquet").symlink_to(outside)
    with pytest.raises(InputError, match="leads out of the folder"):
        read_assertions([tmp_path / "t"], KNOWN)


@pytest.mark.slow
@pytest.mark.spark
def test_the_engine_spark_reads_the_same(spark: SparkSession, tmp_path: Path) -> None:
    index(TBOX, BASE, tmp_path / "kg", reasoner="own")
    lines = "".join(f"{s} {p} {o} {g or ''} .\n" for s, p, o, g, _ in ROWS[:3])
    (tmp_path / "d.nq").write_text(lines)
    rows = {name: COLUMNS[name][:3] for name in ("s", "p", "o", "graph")}
    write_deltalake(str(tmp_path / "cut"), pa.table(rows), partition_by=["graph"])
    frame = spark.createDataFrame(ROWS, "s string, p string, o string, graph string, key string")
    with open_store(tmp_path / "kg") as session:
        given = {
            **sources(tmp_path),
            "frame": frame,
            "quads": tmp_path / "d.nq",
            "cut": tmp_path / "cut",
        }
        del given["dataset"]
        for name, source in given.items():
            (conflict,) = session.check(source, engine="spark", reasoner="own").conflicts
            assert conflict.graphs == ("<urn:g1>",), name
            assert conflict.keys == (() if name in ("quads", "cut") else ("k0", "k1")), name
        # A DataFrame is read by the other engines too.
        (conflict,) = session.check(frame, reasoner="own").conflicts
        assert conflict.keys == ("k0", "k1")
