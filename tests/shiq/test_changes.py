"""A batch from the change data feed of a Delta table is what the two versions differ by, and is
told what it was.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import shiq
from shiq.errors import InputError
from shiq.rdf import delta_changes
from shiq.rdf.load import load_sources
from tests.command_line import shiq as command

FEED = {"delta.enableChangeDataFeed": "true"}
TBOX = "Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>) Declaration(ObjectProperty(<urn:r>)) Declaration(Class(<urn:C>)))"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
Rows = list[tuple[str | None, str | None, str | None]]


def rows_of(*rows: tuple[str | None, str | None, str | None]) -> pa.Table:
    return pa.table(
        {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate("spo")}
    )


def of_class(name: str, cls: str) -> tuple[str, str, str]:
    return f"<urn:{name}>", TYPE, f"<urn:{cls}>"


def triples_of(source: object) -> set[tuple[Any, ...]]:
    found = load_sources([source], "x", None).triples
    return {
        tuple(found.terms[column[row]] for column in (found.subject, found.predicate, found.object))
        for row in range(len(found))
    }


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Version 0: a, b in A; b twice. 1: c in B. 2: a goes. 3: one row of b goes, c becomes A."""
    path = tmp_path / "lake"
    write_deltalake(path, rows_of(of_class("a", "A"), of_class("b", "A")), configuration=FEED)
    write_deltalake(path, rows_of(of_class("b", "A"), of_class("c", "B")), mode="append")
    DeltaTable(path).delete("s = '<urn:a>'")
    DeltaTable(path).update(updates={"o": "'<urn:A>'"}, predicate="s = '<urn:c>'")
    return path


def test_what_came_and_went_is_told_net(lake: Path) -> None:
    taken = shiq.table_changes(lake, 1)
    rdf_type = TYPE[1:-1]
    assert triples_of(taken.insertions) == {
        ("urn:b", rdf_type, "urn:A"),
        ("urn:c", rdf_type, "urn:A"),
    }
    assert triples_of(taken.deletions) == {("urn:a", rdf_type, "urn:A")}
    assert (taken.first, taken.last, taken.rows) == (1, 3, 5)
    one = shiq.table_changes(lake, 3, 3)
    assert triples_of(one.deletions) == {("urn:c", rdf_type, "urn:B")}


def test_a_triple_that_another_row_says_is_not_deleted(tmp_path: Path) -> None:
    path = tmp_path / "lake"
    escaped = ("<urn:\\u0062>", TYPE, "<urn:A>")
    write_deltalake(
        path,
        rows_of(of_class("b", "A"), escaped, ("<urn:b>", "<urn:p>", '"1"')),
        configuration=FEED,
    )
    string = '"1"^^<http://www.w3.org/2001/XMLSchema#string>'
    write_deltalake(path, rows_of(("<urn:b>", "<urn:p>", string)), mode="append")
    DeltaTable(path).delete(f"s = '<urn:b>' and o <> '{string}'")
    assert not triples_of(shiq.table_changes(path, 2).deletions)
    DeltaTable(path).delete("s = '<urn:\\u0062>'")
    assert len(triples_of(shiq.table_changes(path, 2).deletions)) == 1


def test_partitioned_tables_and_rows_without_a_term(tmp_path: Path) -> None:
    path = tmp_path / "lake"
    days = rows_of(of_class("a", "A"), of_class("a", "C")).append_column(
        "day", pa.array(["mo", "tu"])
    )
    write_deltalake(path, days, partition_by=["day"], configuration=FEED)
    broken = rows_of((None, TYPE, "<urn:A>"), ("<urn:x>", TYPE, "broken"))
    write_deltalake(path, broken.append_column("day", pa.array(["tu", "tu"])), mode="append")
    DeltaTable(path).delete("o = '<urn:C>'")
    taken = shiq.table_changes(path, 1)
    loaded = load_sources([taken.insertions], "x", None)
    assert len(loaded.leftovers) == 2 and {found.kind for found in loaded.leftovers} == {
        "malformed"
    }
    assert triples_of(taken.deletions) == {("urn:a", TYPE[1:-1], "urn:C")}


def test_a_table_cut_into_folders_by_iris_tells_its_changes_in_one_way_or_the_other(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lake"
    write_deltalake(
        path,
        rows_of(of_class("a", "A"), of_class("b", "A")),
        partition_by=["p"],
        configuration=FEED,
    )
    write_deltalake(path, rows_of(of_class("c", "A")), mode="append")
    DeltaTable(path).delete("s = '<urn:a>'")
    taken = shiq.table_changes(path, 1)
    assert triples_of(taken.insertions) == {("urn:c", TYPE[1:-1], "urn:A")}
    assert triples_of(taken.deletions) == {("urn:a", TYPE[1:-1], "urn:A")}


def test_without_a_whole_feed_files_tell(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = shiq.table_changes(lake, 1)
    monkeypatch.setattr(delta_changes, "_count_rows", lambda path, version: 7)
    again = shiq.table_changes(lake, 1)
    assert told.by_feed and not again.by_feed and "its change data feed has gaps" in str(again)
    assert triples_of(told.insertions) == triples_of(again.insertions)
    assert triples_of(told.deletions) == triples_of(again.deletions)
    monkeypatch.undo()
    silent = tmp_path / "silent"
    write_deltalake(silent, rows_of(of_class("a", "A")))
    assert triples_of(shiq.table_changes(silent, 0).insertions) == {("urn:a", TYPE[1:-1], "urn:A")}


def test_random_lives_of_a_table(tmp_path: Path) -> None:
    ways: Counter[bool] = Counter()
    for seed in range(6):
        chance, path = random.Random(seed), tmp_path / str(seed)
        write_deltalake(path, rows_of(of_class("i0", "A")), configuration=FEED)
        for _ in range(6):
            name, cls = f"i{chance.randrange(4)}", chance.choice("ABC")
            match chance.randrange(4):
                case 0:
                    DeltaTable(path).delete(f"s = '<urn:{name}>'")
                case 1:
                    DeltaTable(path).update(
                        updates={"o": f"'<urn:{cls}>'"}, predicate=f"s = '<urn:{name}>'"
                    )
                case 2:
                    DeltaTable(path).optimize.compact()
                case _:
                    write_deltalake(
                        path, rows_of(of_class(name, cls), of_class("i1", cls)), mode="append"
                    )
        newest = DeltaTable(path).version()
        for first in range(1, newest + 1):
            for last in range(first, newest + 1):
                before, after = (
                    triples_of(DeltaTable(path, version).to_pyarrow_table())
                    for version in (first - 1, last)
                )
                taken = shiq.table_changes(path, first, last)
                ways[taken.by_feed] += 1
                gone, come = triples_of(taken.deletions), triples_of(taken.insertions)
                assert (before - gone) | come == after, (seed, first, last)
                assert not gone & after, (seed, first, last)
    assert ways[True] > ways[False]


def test_what_cannot_be_told_is_refused(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="has no version 5"):
        shiq.table_changes(lake, 5)
    with pytest.raises(InputError, match="has no version 9"):
        shiq.table_changes(lake, 1, 9)
    assert not triples_of(shiq.table_changes(lake, 4).insertions)
    assert not triples_of(shiq.table_changes(lake, 4, 3).insertions)
    with pytest.raises(InputError, match="has no version -1"):
        shiq.table_changes(lake, -1)
    for first, last in ((2, 1), (3, 0), (0, -1)):
        with pytest.raises(InputError, match="end before they begin"):
            shiq.table_changes(lake, first, last)
    with pytest.raises(InputError, match="is not a Delta table"):
        shiq.table_changes(tmp_path / "none", 0)
    DeltaTable(lake).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    monkeypatch.setattr(delta_changes, "_changes_from_feed", lambda *_: None)
    with pytest.raises(InputError, match="vacuumed"):
        shiq.table_changes(lake, 1)


@pytest.mark.parametrize("versions", [(["x"], ["y"]), (["x"], []), ([], ["y"])])
@pytest.mark.parametrize("feed", [True, False])
def test_a_table_of_something_else_is_no_batch_without_rows(
    versions: tuple[list[str], ...], feed: bool, tmp_path: Path
) -> None:
    """Rows that have none of the columns were all alike: as many that came as went were nothing."""
    path = tmp_path / "other"
    for values in versions:
        table = pa.table({"subject": pa.array(values, pa.string())})
        write_deltalake(path, table, mode="overwrite", configuration=FEED if feed else None)
    for first in (0, 1, 2):
        with pytest.raises(InputError, match="no column 's'"):
            shiq.table_changes(path, first)
    write_deltalake(path, rows_of(of_class("a", "A")), mode="overwrite", schema_mode="overwrite")
    assert len(triples_of(shiq.table_changes(path, 0).insertions)) == 1
    with pytest.raises(InputError, match="version 1: no column 's'"):
        shiq.table_changes(path, 2)


def test_the_command_takes_a_day_of_changes(lake: Path, tmp_path: Path) -> None:
    tbox, kg, out = tmp_path / "t.ofn", tmp_path / "kg", tmp_path / "out.json"
    tbox.write_text(TBOX)
    before = tmp_path / "before.nt"
    before.write_text("".join(f"{' '.join(of_class(name, 'A'))} .\n" for name in "ab"))
    assert command("index", "--tbox", tbox, before, "--store", kg, "-q").returncode == 0
    day = ["check", "--store", str(kg), "--changes", str(lake), "-q", "--json", str(out)]
    assert command(*day, "--from-version", "1", "--commit").returncode == 0
    told = json.loads(out.read_text())
    assert (
        told["about"]["to_version"] == "3"
        and "versions 1 to 3: 5 rows" in told["evidence"]["notes"][-1]
    )
    assert set(command("export", "--store", kg).stdout.splitlines()) == {
        f"{' '.join(of_class(name, 'A'))} ." for name in "bc"
    }
    empty = command(*day, "--from-version", "4", "--require-nonempty")
    assert empty.returncode == 4 and "missing" not in empty.stderr
    write_deltalake(lake, rows_of(of_class("b", "B")), mode="append")
    assert command(*day, "--from-version", "4").returncode == 1
    assert json.loads(out.read_text())["conflicts"][0]["insertions"] == [
        f"{' '.join(of_class('b', 'B'))} ."
    ]
    assert command(*day, "--from-version", "1", "--insert", before).returncode == 2


def test_the_store_goes_on_after_the_version_that_it_took(lake: Path, tmp_path: Path) -> None:
    tbox, kg, out = tmp_path / "t.ofn", tmp_path / "kg", tmp_path / "out.json"
    tbox.write_text(TBOX)
    (tmp_path / "none.nt").write_text("")
    assert (
        command("index", "--tbox", tbox, tmp_path / "none.nt", "--store", kg, "-q").returncode == 0
    )
    day = ["check", "--store", str(kg), "--changes", str(lake), "-q", "--json", str(out)]

    def taken() -> tuple[str, str]:
        about = json.loads(out.read_text())["about"]
        return about["from_version"], about["to_version"]

    # The store does not know where to begin: it says how.
    refused = command(*day, "--commit")
    assert (
        refused.returncode == 2
        and f"--store {kg} --changes {lake} --from-version 0 --commit" in refused.stderr
    )
    assert command("check", "--tbox", tbox, "--changes", lake).returncode == 2
    assert command(*day, "--from-version", "0", "--to-version", "1", "--commit").returncode == 0
    assert f"taken of {lake}: up to version 1" in command("status", kg).stdout.splitlines()
    # A check that does not commit begins there, too, and changes nothing.
    assert command(*day).returncode == 0 and taken() == ("2", "3")
    assert command(*day, "--to-version", "2", "--commit").returncode == 0 and taken() == ("2", "2")
    assert command(*day, "--commit").returncode == 0 and taken() == ("3", "3")
    assert set(command("export", "--store", kg).stdout.splitlines()) == {
        f"{' '.join(of_class(name, 'A'))} ." for name in "bc"
    }
    # Nothing came: the batch is empty, and the place stays.
    assert command(*day, "--commit", "--require-nonempty").returncode == 4
    assert command(*day, "--commit").returncode == 0 and taken() == ("4", "3")
    # What is refused is not taken.
    write_deltalake(lake, rows_of(of_class("b", "B")), mode="append")
    assert (
        command(*day, "--commit").returncode == 1
        and command(*day, "--commit").returncode == 1
        and taken() == ("4", "4")
    )
    DeltaTable(lake).delete("o = '<urn:B>'")
    assert command(*day, "--commit").returncode == 0 and taken() == ("4", "5")
    with shiq.open_store(kg) as session:
        assert list(session.taken.values()) == [5]
    status = json.loads(command("status", kg, "--json", "-").stdout)
    assert status["taken"] == {shiq.table_changes(lake, 5).feed: 5}
    # One that was made anew in its place is another.
    write_deltalake(tmp_path / "other", rows_of(of_class("z", "A")), configuration=FEED)
    shutil.rmtree(lake)
    shutil.copytree(tmp_path / "other", lake)
    refused = command(*day, "--commit")
    assert (
        refused.returncode == 4
        and "is another table than the one whose version 5" in refused.stderr
    )
    assert command(*day, "--from-version", "0", "--commit").returncode == 0
    write_deltalake(lake, rows_of(of_class("y", "A")), mode="append")
    assert command(*day, "--commit").returncode == 0 and taken() == ("1", "1")
    assert f"{' '.join(of_class('y', 'A'))} ." in command("export", "--store", kg).stdout


def test_a_store_that_another_writer_took_on_meanwhile(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older deletions would come after newer insertions."""
    tbox, kg = tmp_path / "t.ofn", tmp_path / "kg"
    tbox.write_text(TBOX)
    (tmp_path / "none.nt").write_text("")
    assert (
        command("index", "--tbox", tbox, tmp_path / "none.nt", "--store", kg, "-q").returncode == 0
    )
    day = ["check", "--store", kg, "--changes", lake, "-q", "--commit"]
    assert command(*day, "--from-version", "0", "--to-version", "1").returncode == 0

    def overtaken(*given: Any) -> int | None:
        monkeypatch.undo()
        assert command(*day).returncode == 0
        return 2

    monkeypatch.setattr(delta_changes, "next_version", overtaken)
    refused = command(*day, "--to-version", "2")
    assert refused.returncode == 4 and "took versions of a table meanwhile" in refused.stderr
    assert command(*day).returncode == 0


def test_the_last_version_that_was_taken_is_that_of_the_same_table() -> None:
    ids = {0: "a", 1: "a", 2: "b", 3: "b"}

    def id_at(version: int) -> str:
        if version not in ids:
            raise InputError("none", "")
        return ids[version]

    def last(**feeds: int) -> int | None:
        return delta_changes.last_committed_version(
            {name.replace("__", "#"): n for name, n in feeds.items()}, "t", "b", id_at
        )

    assert last() is None and last(u__b=3, query=7) is None
    assert (
        last(t__a=1) == 1
        and last(t__a=1, t__b=2) == 2
        and last(t__old=9, t__b=3) == 3
        and last(t__old=9, t__a=1) == 1
    )
    for other in ({"t__a": 2}, {"t__a": 7}, {"t__old": 3}):
        with pytest.raises(InputError, match=f"whose version {max(other.values())}"):
            last(**other)


def test_versions_between_what_was_taken_and_what_is_asked_for_are_missed(
    lake: Path, tmp_path: Path
) -> None:
    tbox, kg = tmp_path / "t.ofn", tmp_path / "kg"
    tbox.write_text(TBOX)
    assert command("index", "--tbox", tbox, "--store", kg, "-q", lake).returncode == 0
    for name in "xyz":
        write_deltalake(lake, rows_of(of_class(name, "A")), mode="append")
    day = ["check", "--store", str(kg), "--changes", str(lake), "-q", "--commit"]
    for begin, left in (
        (("--from-version", "6"), "versions 4 to 5"),
        (("--after-version", "4"), "version 4"),
    ):
        refused = command(*day, *begin)
        assert (
            refused.returncode == 4
            and f"took version 3 last, so that the changes of {left} would be missing"
            in refused.stderr
        )
        assert "--from-version 4" in refused.stderr
    # What was taken may come again; of a table that the store took nothing of, nothing is known.
    assert command(*day, "--from-version", "2").returncode == 0
    write_deltalake(tmp_path / "other", rows_of(of_class("v", "A")))
    write_deltalake(tmp_path / "other", rows_of(of_class("w", "A")), mode="append")
    assert command(*day, "--changes", tmp_path / "other", "--from-version", "1").returncode == 0
    exported = command("export", "--store", kg).stdout
    assert all(
        (f"{' '.join(of_class(name, 'A'))} ." in exported) is (name != "v") for name in "xyzvw"
    )


def test_a_table_made_anew_in_the_same_place_is_another(lake: Path, tmp_path: Path) -> None:
    tbox, kg = tmp_path / "t.ofn", tmp_path / "kg"
    tbox.write_text(TBOX)
    before = tmp_path / "before.nt"
    before.write_text("".join(f"{' '.join(of_class(name, 'A'))} .\n" for name in "ab"))
    assert command("index", "--tbox", tbox, before, "--store", kg, "-q").returncode == 0
    day = ["check", "--store", str(kg), "--changes", str(lake), "-q", "--commit", "--from-version"]
    assert command(*day, "1", "--to-version", "2").returncode == 0
    with shiq.open_store(kg) as session:
        assert session.taken == {shiq.table_changes(lake, 1).feed: 2}
    assert command(*day, "3").returncode == 0
    old = shiq.table_changes(lake, 4)
    shutil.rmtree(lake)
    for _ in range(5):
        write_deltalake(lake, rows_of(of_class("z", "B")), mode="append", configuration=FEED)
    called = command(*day, "4")
    assert (
        called.returncode == 4 and "is another table than the one whose version 3" in called.stderr
    )
    with shiq.open_store(kg) as session:
        assert session.taken == {old.feed: 3} and shiq.table_changes(lake, 4).feed != old.feed
    # What the old one said is to stay.
    assert command(*day, "0", "--to-version", "3").returncode == 0
    assert command(*day, "4").returncode == 0
    assert f"{' '.join(of_class('z', 'B'))} ." in command("export", "--store", kg).stdout


@pytest.mark.parametrize(
    "engine", ["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])]
)
def test_a_table_that_a_store_was_built_from_and_made_anew_is_another(
    engine: str, lake: Path, tmp_path: Path
) -> None:
    """However its path is spelt, and before any changes of it were taken."""
    tbox, kg = tmp_path / "t.ofn", tmp_path / "kg"
    tbox.write_text(TBOX)
    assert (
        command("index", "--tbox", tbox, lake, "--store", kg, "-q", "--engine", engine).returncode
        == 0
    )
    with shiq.open_store(kg) as session:
        assert session.taken == {shiq.table_changes(lake, 4).feed: 3}
    day = ["check", "--store", str(kg), "-q", "--commit", "--from-version", "4", "--changes"]
    assert command(*day, lake).returncode == 0
    shutil.rmtree(lake)
    for _ in range(5):
        write_deltalake(lake, rows_of(of_class("z", "B")), mode="append", configuration=FEED)
    for spelling in (lake, tmp_path / "kg" / ".." / lake.name):
        called = command(*day, spelling)
        assert (
            called.returncode == 4
            and "is another table than the one whose version 3" in called.stderr
        )
    # Built anew, it is the one that is there now.
    assert (
        command(
            "index", "--tbox", tbox, lake, "--store", kg, "--replace", "-q", "--engine", engine
        ).returncode
        == 0
    )
    assert command(*day, lake).returncode == 0


@pytest.mark.parametrize("feed", [True, False])
def test_named_graphs_of_rows_are_kept(
    feed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lake"

    def rows(*named: tuple[str, str | None]) -> pa.Table:
        graphs = pa.array([graph for _, graph in named], pa.string())
        return rows_of(*(of_class(name, "A") for name, _ in named)).append_column("graph", graphs)

    write_deltalake(path, rows(("a", "<urn:g>"), ("a", "<urn:h>")), configuration=FEED)
    if not feed:
        monkeypatch.setattr(delta_changes, "_changes_from_feed", lambda *_: None)
    write_deltalake(
        path,
        rows(("b", "<urn:g>"), ("b", "<urn:h>"), ("c", None), ("d", "no graph")),
        mode="append",
    )
    DeltaTable(path).delete("graph = '<urn:h>'")
    taken = shiq.table_changes(path, 1)
    loaded = load_sources([taken.insertions], "x", None)
    assert (
        len(loaded.leftovers) == 1
        and "graph is not one N-Triples term" in loaded.leftovers[0].message
    )
    found = taken.insertions.value.to_pylist()
    assert {(row["s"], row["graph"]) for row in found} == {
        ("<urn:b>", "<urn:g>"),
        ("<urn:c>", None),
        ("<urn:d>", "no graph"),
    }
    # The other graph still says what went with one.
    assert not triples_of(taken.deletions) and taken.by_feed == feed
    DeltaTable(path).delete("s = '<urn:a>'")
    assert triples_of(shiq.table_changes(path, 3).deletions) == {("urn:a", TYPE[1:-1], "urn:A")}


def test_rows_without_a_term_go_as_they_came_without_saying_anything(tmp_path: Path) -> None:
    path = tmp_path / "lake"
    broken: Rows = [
        (None, TYPE, "<urn:A>"),
        ("<urn:x>", "", "<urn:y>"),
        ("<urn:x>", TYPE, None),
        ("<urn:x>", TYPE, "broken"),
    ]
    write_deltalake(path, rows_of(of_class("a", "A"), *broken), configuration=FEED)
    DeltaTable(path).delete("s is null or p = '' or o is null or s = '<urn:a>'")
    taken = shiq.table_changes(path, 1)
    loaded = load_sources([taken.deletions], "x", None)
    assert not loaded.leftovers and triples_of(taken.deletions) == {("urn:a", TYPE[1:-1], "urn:A")}
    assert taken.void == 3 and "3 removed rows had no s, p or o" in str(taken)
    # What might have been read as something by another reader is told.
    DeltaTable(path).delete()
    taken = shiq.table_changes(path, 2)
    assert not taken.void and [
        found.kind for found in load_sources([taken.deletions], "x", None).leftovers
    ] == ["malformed"]
