"""Folders that are read as one table: each file is read, or named; by every engine alike."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

from shiq import check_insertions, open_store
from shiq.answers.verdict import Leftover, Verdict
from shiq.api import index
from shiq.errors import InputError
from shiq.jobs.cli import main
from shiq.model import Class, DisjointClasses, Signature, TBox
from shiq.model.abox import ABox
from shiq.rdf import read_assertions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KNOWN = Signature(frozenset(["urn:Cat", "urn:Dog"]), frozenset(["urn:knows"]), frozenset())
TBOX = TBox((DisjointClasses((Class("urn:Cat"), Class("urn:Dog"))),), KNOWN)
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
#: A folder that says of its files what their column says, too.
OF_TYPE = f"p={quote(TYPE, safe='')}"


def row(name: str, cls: str = "Cat") -> pa.Table:
    return pa.table({"s": [f"<urn:{name}>"], "p": [TYPE], "o": [f"<urn:{cls}>"]})


def parquet(file: Path, name: str, cls: str = "Cat") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(row(name, cls), file)
    return file


def written(file: Path, text: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def passed_over(folder: Path) -> tuple[int, list[Leftover]]:
    """How many rows are read of a folder, and what is told of the files in it."""
    reading = read_assertions([folder], KNOWN)
    return len(reading.abox), [x for x in reading.leftovers if x.kind == "passed-over"]


@pytest.mark.parametrize(
    "name", ["b.PARQUET", "b", "b.snappy", "_k=v/b", f"{OF_TYPE}/q=2/b.parquet"]
)
def test_a_parquet_file_is_read_whatever_its_name(name: str, tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", "tom")
    parquet(tmp_path / "t" / name, "tom", "Dog")
    result = check_insertions(TBOX, ABox(), tmp_path / "t", reasoner="own")
    assert (result.verdict, result.evidence.leftovers) == (Verdict.INCONSISTENT, ())


@pytest.mark.parametrize("name", ["b.nt", "README.md", "graph=1/b.ttl", "empty", "b.parquet.tmp"])
def test_any_other_file_among_them_is_refused_by_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "t.ofn", "Ontology(DisjointClasses(<urn:Cat> <urn:Dog>))")
    parquet(tmp_path / "t" / "a.parquet", "tom")
    written(tmp_path / "t" / name, f"<urn:tom> {TYPE} <urn:Dog> ." * (name != "empty"))
    with pytest.raises(SystemExit) as stop:
        main(["certify", "t.ofn", "t", "-q"])
    assert stop.value.code == 4
    assert f"t is a folder of Parquet files, but {name} in it is none" in capsys.readouterr().err


def test_what_spark_and_hive_leave_beside_the_data_is_named_for_information(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    parquet(folder / "part-0.parquet", "tom")
    for name in (
        "_SUCCESS",
        "._SUCCESS.crc",
        ".part-0.parquet.crc",
        "_temporary/0/part-1.parquet",
        ".hidden/x.nt",
    ):
        written(folder / name)
    parquet(folder / "_metadata", "ann", "Dog")
    result = check_insertions(TBOX, ABox(), folder, reasoner="own")
    (told,) = result.evidence.leftovers
    assert (result.verdict, told.kind, told.source, told.count) == (
        Verdict.CONSISTENT,
        "passed-over",
        str(folder),
        6,
    )
    for name in ("_SUCCESS", "_temporary/0/part-1.parquet", ".hidden/x.nt", "_metadata"):
        assert name in told.text.split(", ")
    failing = check_insertions(TBOX, ABox(), folder, reasoner="own", fail_on=["passed-over"])
    assert failing.verdict is Verdict.UNDETERMINED


def test_many_files_are_counted_and_the_odd_ones_named_first(tmp_path: Path) -> None:
    for i in range(40):
        parquet(tmp_path / f"part-{i}.parquet", f"i{i}")
        written(tmp_path / f".part-{i}.parquet.crc")
    written(tmp_path / "_data.nt")
    read, (told,) = passed_over(tmp_path)
    assert (read, told.count) == (40, 41)
    assert told.text.startswith("_data.nt, ")
    assert told.text.endswith(" and 21 more")


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "a.nt", f"<urn:tom> {TYPE} <urn:Dog> .\n")
    parquet(tmp_path / "_hidden.parquet", "tom")
    with pytest.raises(InputError, match="is a directory without Parquet files") as refused:
        read_assertions([tmp_path], KNOWN)
    assert "one by one" in refused.value.remedy


def test_links_and_pipes_are_refused_by_name(tmp_path: Path) -> None:
    parquet(tmp_path / "elsewhere" / "b.parquet", "tom", "Dog")
    for name in ("folder", "nothing", "pipe"):
        parquet(tmp_path / name / "a.parquet", "tom")
    (tmp_path / "folder" / "k=1").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "nothing" / "b").symlink_to(tmp_path / "nothing" / "gone")
    os.mkfifo(tmp_path / "pipe" / "b")
    for name, said in (
        ("folder", "k=1 is a link to a folder"),
        ("nothing", "b is no file"),
        ("pipe", "b is no file"),
    ):
        with pytest.raises(InputError, match=said):
            read_assertions([tmp_path / name], KNOWN)


def test_a_folder_that_cannot_be_listed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet(tmp_path / "a.parquet", "tom")
    parquet(tmp_path / "secret" / "b.parquet", "tom", "Dog")
    listed = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match="secret cannot be listed: Permission denied"):
        read_assertions([tmp_path], KNOWN)


def test_a_broken_file_is_refused_by_its_own_name(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", "tom")
    written(tmp_path / "b.parquet", "PAR1 and no more")
    with pytest.raises(InputError, match=r"b\.parquet is not readable as Parquet"):
        read_assertions([tmp_path], KNOWN)


def test_a_delta_table_is_what_its_log_says_and_older_files_are_named(tmp_path: Path) -> None:
    for name in ("old", "tom"):
        write_deltalake(str(tmp_path), row(name), mode="overwrite")
    write_deltalake(str(tmp_path), row("ann"), mode="append")
    written(tmp_path / "b.nt")
    read, (told,) = passed_over(tmp_path)
    assert (read, told.count) == (2, 2)
    assert told.text.startswith("b.nt, part-")
    assert "present version" in told.message


@pytest.mark.parametrize("log", ["_delta_log", ".hoodie"])
def test_a_table_with_a_log_inside_a_folder_is_refused(log: str, tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", "tom")
    parquet(tmp_path / "inner" / "old.parquet", "tom", "Dog")
    written(tmp_path / "inner" / log / "0.json", "{}")
    with pytest.raises(InputError, match=r"inner is a (Delta|Hudi) table inside a folder"):
        read_assertions([tmp_path], KNOWN)


def random_folder(root: Path, dice: random.Random) -> int:
    """Makes a folder of Parquet and other files at random, with one row in each that is Parquet;
    how many files there are.
    """
    folders = ["", "k=1", "k=2/_j=3", "_temporary/0", ".cache", OF_TYPE, "plain"]
    names = [
        "part-0.parquet",
        "B.PARQUET",
        "plain.txt",
        ".part-0.parquet.crc",
        "_SUCCESS",
        "_k=1",
        "c.nt",
        "x%20y z.parquet",
    ]
    made = {
        (folder, name)
        for folder in folders
        for name in dice.sample(names, dice.randrange(len(names)))
    }
    if dice.random() < 0.5:
        made = {(folder, name) for folder, name in made if name != "c.nt"}
    for number, (folder, name) in enumerate(sorted(made)):
        if name == "c.nt":
            written(root / folder / name)
        else:
            parquet(root / folder / name, f"i{number}")
    parquet(root / "always.parquet", "always")
    return len(made) + 1


def test_every_file_of_a_random_folder_is_read_or_named(tmp_path: Path) -> None:
    dice = random.Random(5)
    refused = 0
    for i in range(60):
        root = tmp_path / str(i)
        files = random_folder(root, dice)
        others = [
            x
            for x in root.rglob("c.nt")
            if not any(part in ("_temporary", ".cache") for part in x.parts)
        ]
        assert sum(len(names) for _, _, names in os.walk(root)) == files
        if others:
            refused += 1
            with pytest.raises(InputError, match=r"c\.nt"):
                read_assertions([root], KNOWN)
            continue
        read, told = passed_over(root)
        assert read + sum(x.count for x in told) == files
    assert 10 < refused < 50


def test_the_gate_tells_rows_of_a_folder_apart_and_its_other_files_are_no_rows(
    tmp_path: Path,
) -> None:
    written(tmp_path / "t.ofn", "Ontology(DisjointClasses(<urn:Cat> <urn:Dog>))")
    written(tmp_path / "base.nt", f"<urn:tom> {TYPE} <urn:Cat> .\n")
    parquet(tmp_path / "t" / "a.parquet", "tom", "Dog")
    parquet(tmp_path / "t" / "b", "ann", "Dog")
    written(tmp_path / "t" / "_SUCCESS")
    index(tmp_path / "t.ofn", tmp_path / "base.nt", tmp_path / "kg", reasoner="own")
    sides = ["--accepted", str(tmp_path / "good.nq"), "--quarantine", str(tmp_path / "bad.nq")]
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "gate",
                "--store",
                str(tmp_path / "kg"),
                "--insert",
                str(tmp_path / "t"),
                "--mode",
                "split",
                "-q",
                *sides,
            ]
        )
    assert stop.value.code == 5
    assert "<urn:ann>" in (tmp_path / "good.nq").read_text()
    assert "<urn:tom>" in (tmp_path / "bad.nq").read_text()


@pytest.mark.slow
@pytest.mark.spark
def test_the_engine_spark_reads_and_names_the_same_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    index(TBOX, ABox(), tmp_path / "kg", reasoner="own")
    folder = tmp_path / "a folder%20=é"
    for i, name in enumerate(("a.parquet", "B.PARQUET", "c", "deep/er/d.parquet", "_k=v/e")):
        broken = pa.table(
            {
                "s": [f"<urn:i{i}>", None],
                "p": [TYPE] * 2,
                "o": ["<urn:Dog>"] * 2,
                "key": [None, f"k{i}"],
            }
        )
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(broken, folder / name)
    for name in ("_SUCCESS", ".gone.parquet.crc", "_temporary/0/x.parquet"):
        written(folder / name)
    typed = tmp_path / "types"
    for name, key in (("a.parquet", 7), ("b", "seven")):
        typed.mkdir(exist_ok=True)
        pq.write_table(row(name).append_column("key", [[key]]), typed / name)
    write_deltalake(str(tmp_path / "delta"), row("old"))
    write_deltalake(str(tmp_path / "delta"), row("tom"), mode="overwrite")
    with open_store(tmp_path / "kg") as session:
        for source, kinds in ((folder, 6), (typed, 0), (tmp_path / "delta", 1)):
            local, other = (
                session.check(source, engine=engine, reasoner="own")
                for engine in ("local", "spark")
            )
            assert other.statistics.insertions == local.statistics.insertions
            assert set(other.evidence.leftovers) == set(local.evidence.leftovers)
            assert len(local.evidence.leftovers) == kinds
        written(folder / "b.nt")
        for engine in ("local", "spark"):
            with pytest.raises(InputError, match=r"b\.nt in it is none"):
                session.check(folder, engine=engine, reasoner="own")


def test_lint_and_json_name_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "t.ofn", "Ontology(DisjointClasses(<urn:Cat> <urn:Dog>))")
    parquet(tmp_path / "t" / "a.parquet", "tom")
    written(tmp_path / "t" / "_SUCCESS")
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "lint",
                str(tmp_path / "t.ofn"),
                "--data",
                str(tmp_path / "t"),
                "--json",
                str(tmp_path / "x.json"),
                "-q",
            ]
        )
    assert stop.value.code == 0
    assert "_SUCCESS" in capsys.readouterr().out
    (told,) = json.loads((tmp_path / "x.json").read_text())["leftovers"]
    assert (told["kind"], told["text"], told["count"]) == ("passed-over", "_SUCCESS", 1)


def test_paths_stay_relative_where_they_were_given_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "t.ofn", "Ontology(DisjointClasses(<urn:Cat> <urn:Dog>))")
    written(tmp_path / "base.nt", f"<urn:tom> {TYPE} <urn:Cat> .\n")
    written(tmp_path / "new.nt", f"<urn:tom> {TYPE} <urn:Dog> .\nnothing\n")
    parquet(tmp_path / "table" / "a.parquet", "ann")
    written(tmp_path / "table" / "_SUCCESS")
    for arguments, code in (
        (["index", "--tbox", "t.ofn", "--store", "kg", "base.nt", "table"], 0),
        (["check", "--store", "kg", "--insert", "new.nt", "--insert", "table"], 1),
        (["gate", "--store", "kg", "--insert", "new.nt"], 1),
        (["lint", "t.ofn", "--data", "new.nt"], 3),
    ):
        more = [] if arguments[0] == "lint" else ["--report", f"{arguments[0]}/"]
        with pytest.raises(SystemExit) as stop:
            main([*arguments, *more, "-q", "--json", f"{arguments[0]}.json"])
        assert stop.value.code == code
    made = [
        file
        for file in tmp_path.rglob("*")
        if file.is_file() and "kg" not in file.relative_to(tmp_path).parts
    ]
    said = {file.name: file.read_bytes() for file in made} | {
        "the terminal": "".join(capsys.readouterr()).encode()
    }
    assert len(said) > 15
    assert [name for name, text in said.items() if str(tmp_path).encode() in text] == []
