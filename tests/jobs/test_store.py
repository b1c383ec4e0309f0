"""The store: exact, atomic, one writer, and look-ups that read what they must and no more."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from shiq.answers.verdict import Leftover, Verdict
from shiq.columns.rows import term_key
from shiq.errors import StoreError
from shiq.jobs.store import Certificate, Store, open_store, tbox_hash
from shiq.jobs.store import read as reading
from shiq.jobs.store import write as writing
from shiq.jobs.store.files import MANIFEST, DataFile
from shiq.jobs.store.files import hold_write_lock as holding_the_lock
from shiq.jobs.store.lookup import lookup_path
from shiq.jobs.store.manifest import LOOKUPS, TableVersion, read_manifest, write_manifest
from shiq.jobs.store.numbering import BLOCK, GAP, local_rank, spread
from shiq.jobs.store.schema import ALWAYS, ROW_GROUP
from shiq.jobs.store.upkeep import build as building
from shiq.jobs.store.upkeep import certify, commit, compact, write_store
from shiq.model import (
    XSD,
    Assertion,
    Class,
    ClassAssertion,
    DataIntersectionOf,
    DataMinCardinality,
    DataOneOf,
    DataProperty,
    DataPropertyAssertion,
    Datatype,
    DatatypeRestriction,
    DifferentIndividuals,
    FunctionalObjectProperty,
    Literal,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    SameIndividual,
    Signature,
    SubClassOf,
    TBox,
)
from shiq.model.abox import ABox, ABoxBuilder, abox_of

R, F = ObjectProperty("urn:r"), DataProperty("urn:f")
RANGE = DataIntersectionOf(
    (
        Datatype(XSD + "integer"),
        DatatypeRestriction(Datatype(XSD + "integer"), ((XSD + "minInclusive", Literal("1")),)),
    )
)
TEXT = TBox(
    (
        SubClassOf(
            Class("urn:A"),
            ObjectUnionOf(
                (ObjectMaxCardinality(2, ObjectInverseOf(R)), DataMinCardinality(1, F, RANGE))
            ),
        ),
    ),
    Signature(
        classes=frozenset({"urn:A", "urn:B"}),
        object_properties=frozenset({R.iri}),
        data_properties=frozenset({F.iri}),
    ),
)


def random_assertions(seed: int, size: int = 200) -> list[Assertion]:
    """All kinds; odd terms and literals; blank nodes; pairs both ways; loops."""
    rng = random.Random(seed)
    terms = [f"urn:i{i}" for i in range(size // 4)] + [
        "_:scope.b0",
        "urn:ä/ö?x#'\"",
        "urn:" + "long" * 60,
    ]
    literals = [
        Literal("1", XSD + "integer"),
        Literal("01", XSD + "integer"),
        Literal("", XSD + "string"),
        Literal("\0\n\U0001f600"),
        Literal("x", XSD + "string", "de"),
    ]
    literals += [Literal(str(i)) for i in range(size // 5)]
    makers = [
        lambda: ClassAssertion(Class(f"urn:C{rng.randrange(5)}"), rng.choice(terms)),
        lambda: ObjectPropertyAssertion(
            ObjectProperty(f"urn:r{rng.randrange(4)}"), rng.choice(terms), rng.choice(terms)
        ),
        lambda: DataPropertyAssertion(
            DataProperty(f"urn:f{rng.randrange(3)}"), rng.choice(terms), rng.choice(literals)
        ),
        lambda: SameIndividual(rng.choice(terms), rng.choice(terms)),
        lambda: DifferentIndividuals(rng.choice(terms), rng.choice(terms)),
        lambda: ClassAssertion(
            ObjectUnionOf((Class("urn:A"), ObjectMaxCardinality(1, R))), rng.choice(terms)
        ),
        lambda: NegativeObjectPropertyAssertion(R, rng.choice(terms), rng.choice(terms)),
        lambda: NegativeDataPropertyAssertion(F, rng.choice(terms), rng.choice(literals)),
        lambda: ClassAssertion(
            DataMinCardinality(1, F, DataOneOf((rng.choice(literals),))), rng.choice(terms)
        ),
    ]
    return [rng.choice(makers)() for _ in range(size)]


def certificate(verdict: Verdict = Verdict.CONSISTENT, tbox: TBox = TEXT) -> Certificate:
    return Certificate(
        verdict,
        "own",
        "2026-01-01T00:00:00+00:00",
        tbox_hash=tbox_hash(tbox),
        allowed=("malformed",),
    )


@pytest.mark.parametrize("seed", range(8))
def test_export_gives_back_what_was_written(tmp_path: Path, seed: int) -> None:
    abox = abox_of(random_assertions(seed))
    leftovers = (Leftover("malformed", "no", "f.nt", 3, "<a> <b>", count=7),)
    write_store(tmp_path / "a store", TEXT, abox, leftovers=leftovers, certificate=certificate())
    with open_store(tmp_path / "a store") as store:
        exported = list(store.export())
        assert len(store) == len(abox) == len(exported)
        assert set(exported) == set(abox)
        assert store.tbox == TEXT and store.leftovers == leftovers
        assert store.certificate is not None and store.certificate.verdict is Verdict.CONSISTENT
        assert (store.certificate.snapshot, store.certificate.leftovers) == (1, ("malformed",))


def test_empty_abox(tmp_path: Path) -> None:
    store = write_store(tmp_path / "kg", TBox(), ABox())
    assert (len(store), list(store.export()), store.certificate) == (0, [], None)
    assert store.nodes_of(["urn:a"]).tolist() == [-1]
    assert len(store.table("half_edges").rows_of(np.array([0, 5]))["node"]) == 0


def chain(length: int) -> ABox:
    builder = ABoxBuilder()
    for i in range(length):
        builder.add_role(f"urn:i{i}", R.iri, f"urn:i{i + 1}")
        builder.add_class(f"urn:i{i}", "urn:A")
        builder.add_data(f"urn:i{i}", F.iri, Literal(str(i)))
    return builder.build()


def without_look_ups(path: Path) -> None:
    """Makes the store at ``path`` one as object stores have: without look-up files."""
    shutil.rmtree(path / LOOKUPS)
    manifest = read_manifest(path)

    def without(file: DataFile) -> DataFile:
        return replace(file, lookup=0, lookup_digest="")

    tables = {
        name: replace(
            table,
            files=tuple(map(without, table.files)),
            removed=table.removed and without(table.removed),
        )
        for name, table in manifest.tables.items()
    }
    write_manifest(path, replace(manifest, tables=tables))


def test_a_look_up_reads_the_rows_that_it_finds(tmp_path: Path) -> None:
    store = write_store(tmp_path / "kg", TEXT, chain(60_000))
    nodes = store.nodes_of(["urn:i10", "urn:i30000", "urn:unknown"])
    assert nodes[2] == -1 and store.terms_of(nodes[:2]) == ["urn:i10", "urn:i30000"]
    rows = store.table("half_edges").rows_of(nodes[:2])
    assert sorted(store.terms_of(rows["neighbour"])) == [
        "urn:i11",
        "urn:i29999",
        "urn:i30001",
        "urn:i9",
    ]
    assert (store.reads.row_groups, store.reads.rows) == (0, 14)


def test_a_store_without_look_up_files_is_read_by_row_groups(tmp_path: Path) -> None:
    write_store(tmp_path / "kg", TEXT, chain(30_000)).close()
    without_look_ups(tmp_path / "kg")
    store = open_store(tmp_path / "kg")
    edges = store.table("half_edges")
    nodes = store.nodes_of(["urn:i10", "urn:i15000", "urn:unknown"])
    assert nodes[2] == -1 and store.terms_of(nodes[:2]) == ["urn:i10", "urn:i15000"]
    store.reads.row_groups = 0
    rows = edges.rows_of(nodes[:2])
    assert sorted(store.terms_of(rows["neighbour"])) == [
        "urn:i11",
        "urn:i14999",
        "urn:i15001",
        "urn:i9",
    ]
    before = store.reads.row_groups
    assert 0 < before <= 3 and before * ROW_GROUP < len(edges)
    edges.rows_of(nodes[:2])
    assert store.reads.row_groups == before, "a decoded row group is kept"


def test_the_tables_of_a_commit_share_a_file(tmp_path: Path) -> None:
    """At most twelve files come with a commit, and readers of Parquet find the rows of a table
    in the one that is shared.
    """
    plain = TBox((SubClassOf(Class("urn:A"), Class("urn:B")),), TEXT.signature)
    store = write_store(tmp_path / "kg", plain, chain(30))
    for turn in range(3):
        before = {*(tmp_path / "kg").rglob("*")}
        now, new = (
            set(store.export()),
            [*chain(turn + 2), ClassAssertion(Class("urn:A"), f"urn:new{turn}")],
        )
        new += [
            DataPropertyAssertion(F, f"urn:new{turn}", Literal("x")),
            SameIndividual("urn:i1", "urn:new0"),
        ]
        gone = sorted(now, key=repr)[:: turn + 3]
        store = commit(tmp_path / "kg", abox_of(new), abox_of(gone), checked=store.identity)
        assert set(store.export()) == (now - set(gone)) | set(new)
        came = [path for path in {*(tmp_path / "kg").rglob("*")} - before if path.is_file()]
        assert len(came) <= 12
    shared = {
        file.path
        for table in store.manifest.tables.values()
        for file in table.all_files
        if file.is_shared
    }
    assert 1 < len(shared) <= 3
    for name, table in store.manifest.tables.items():
        last = [file for file in table.files if file.is_shared][-1:]
        for file in last:
            rows = pq.read_table(
                tmp_path / "kg" / file.path,
                filters=[("table", "==", name), ("removed", "==", False)],
            )
            found = store.table_of(name, TableVersion((file,))).all()
            assert {column: rows[column].to_pylist() for column in found} == {
                c: v.tolist() if isinstance(v, np.ndarray) else v.to_pylist()
                for c, v in found.items()
            }
    without_look_ups(tmp_path / "kg")
    assert set(open_store(tmp_path / "kg").export()) == set(store.export())
    assert set(compact(tmp_path / "kg").export()) == set(store.export())


@pytest.mark.parametrize("looked_up", [False, True])
def test_rows_of_equals_a_scan(tmp_path: Path, looked_up: bool) -> None:
    write_store(tmp_path / "kg", TEXT, chain(20_000)).close()
    if not looked_up:
        without_look_ups(tmp_path / "kg")
    store = open_store(tmp_path / "kg")
    rng = np.random.default_rng(1)
    for name in ("half_edges", "class_assertions", "data_assertions", "individuals"):
        table = store.table(name)
        everything = table.all()
        for wanted in (rng.integers(-5, 25_000, 50), np.array([], np.int64), everything[table.key]):
            found = table.rows_of(wanted)
            expected = np.isin(everything[table.key], wanted)
            for column, values in everything.items():
                kept = (
                    values[expected] if isinstance(values, np.ndarray) else values.filter(expected)
                )
                assert (
                    found[column].tolist() == kept.tolist()
                    if isinstance(values, np.ndarray)
                    else found[column].equals(kept)
                )


def test_the_manifest_names_all_rows_that_are_valid(tmp_path: Path) -> None:
    """Delta logs in a store showed rows that were deleted: now there are none, and Parquet less
    what is removed is A.
    """
    first = write_store(tmp_path / "kg", TEXT, chain(40_000))
    assert set(first.manifest.tables) == set(ALWAYS)
    gone = [ClassAssertion(Class("urn:A"), f"urn:i{i}") for i in range(100)]
    second = commit(tmp_path / "kg", abox_of([]), abox_of(gone), checked=first.identity)
    table = second.manifest.tables["class_assertions"]
    assert (
        table.removed is not None
        and table.removed.rows == 100
        and len(second.table("class_assertions")) == 39_900
    )
    assert (
        sum(pq.ParquetFile(tmp_path / "kg" / file.path).metadata.num_rows for file in table.files)
        == 40_000
    )
    assert not list((tmp_path / "kg").rglob("_delta_log"))
    edges = pq.ParquetFile(
        tmp_path / "kg" / first.manifest.tables["half_edges"].files[0].path
    ).metadata
    assert edges.num_row_groups == -(-80_000 // ROW_GROUP)
    lows = [edges.row_group(i).column(0).statistics.min for i in range(edges.num_row_groups)]
    assert lows == sorted(lows)


def test_terms_with_one_hash_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (reading, building):
        monkeypatch.setattr(module, "term_key", lambda terms: term_key([""] * len(list(terms))))
    store = write_store(
        tmp_path / "kg",
        TEXT,
        abox_of([ClassAssertion(Class("urn:A"), f"urn:{i}") for i in range(5)]),
    )
    nodes = store.nodes_of([f"urn:{i}" for i in range(6)])
    assert nodes[5] == -1 and store.terms_of(nodes[:5]) == [f"urn:{i}" for i in range(5)]


def test_neighbours_get_near_ids_whatever_the_order() -> None:
    rng = np.random.default_rng(0)
    groups, size = 300, 100
    first = np.arange(groups * size)
    second = first // size * size + rng.integers(0, size, len(first))
    shuffle = rng.permutation(len(first))
    rank = local_rank(
        [f"urn:{rng.integers(1 << 40)}" for _ in first], shuffle[first], shuffle[second]
    )
    ids = spread(rank)
    assert len(np.unique(ids)) == len(ids)
    distance = np.abs(ids[shuffle[first]] - ids[shuffle[second]])
    assert np.quantile(distance, 0.9) < 2 * size + GAP
    assert ids.max() < len(ids) + (len(ids) // BLOCK + 1) * GAP


# --- the certificate ------------------------------------------------------------------------------


def test_certify_replaces_the_certificate(tmp_path: Path) -> None:
    path = tmp_path / "kg"
    write_store(path, TEXT, chain(3))
    assert open_store(path).certificate is None
    certify(path, certificate(Verdict.INCONSISTENT))
    certified = open_store(path).certificate
    assert certified is not None and certified.verdict is Verdict.INCONSISTENT
    certify(path, Certificate.create(verdict="consistent", reasoner="own", allowed=["undeclared"]))
    certified = open_store(path).certificate
    assert certified is not None and certified.verdict is Verdict.CONSISTENT
    assert (certified.tbox_hash, certified.snapshot, certified.allowed) == (
        tbox_hash(TEXT),
        1,
        ("undeclared",),
    )
    certify(path, None)
    assert open_store(path).certificate is None


def test_a_certificate_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kg"
    with pytest.raises(StoreError, match="another TBox"):
        write_store(path, TEXT, chain(3), certificate=certificate(tbox=TBox()))
    assert not path.exists()
    write_store(path, TEXT, chain(3))
    with pytest.raises(StoreError, match="another TBox"):
        certify(path, certificate(tbox=TBox((FunctionalObjectProperty(R),))))
    old = Certificate(Verdict.CONSISTENT, "own", "2026-01-01", snapshot=7)
    with pytest.raises(StoreError, match="snapshot"):
        certify(path, old)


def test_tbox_hash_tells_order_and_vocabulary_apart() -> None:
    first, second = FunctionalObjectProperty(R), SubClassOf(Class("urn:A"), Class("urn:B"))
    boxes = [
        TBox((first, second)),
        TBox((second, first)),
        TBox((first, second), Signature(classes=frozenset({"urn:A"}))),
        TBox(),
    ]
    assert len({tbox_hash(box) for box in boxes}) == 4
    assert tbox_hash(TBox((first, second))) == tbox_hash(boxes[0])


# --- what is no store -----------------------------------------------------------------------------


def test_what_is_no_store_is_said_with_a_remedy(tmp_path: Path) -> None:
    file, folder, damaged, newer, unfinished = (
        tmp_path / name for name in ("file", "folder", "damaged", "newer", "unfinished")
    )
    file.write_text("x")
    folder.mkdir()
    (unfinished / "tables").mkdir(parents=True)
    damaged.mkdir()
    (damaged / MANIFEST).write_text("<html>")
    write_store(newer, TEXT, chain(2))
    manifest = json.loads((newer / MANIFEST).read_text())
    (newer / MANIFEST).write_text(json.dumps({**manifest, "version": 99}))
    for path, words in (
        (tmp_path / "none", "no store"),
        (file, "a file"),
        (folder, "not a store"),
        (damaged, "not the manifest"),
        (newer, "version 99"),
        (unfinished, "never finished"),
    ):
        with pytest.raises(StoreError, match=words) as caught:
            open_store(path)
        assert caught.value.remedy


@pytest.mark.parametrize(
    "change", ["drop", "truncate", "drop lookup", "truncate lookup", "document"]
)
def test_a_damaged_store_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "kg"
    write_store(path, TEXT, chain(5))
    manifest = read_manifest(path)
    edges, document = manifest.tables["half_edges"].files[0], path / manifest.documents["tbox"].path
    table = path / (lookup_path(edges.path) if "lookup" in change else edges.path)
    if "drop" in change:
        table.unlink()
    elif "truncate" in change:
        table.write_bytes(table.read_bytes()[:-9])
    else:
        document.write_bytes(document.read_bytes()[:-1] + b" ")
    with pytest.raises(StoreError):
        open_store(path).tbox  # noqa: B018


def test_what_lives_in_the_directory_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(StoreError, match=r"thesis\.tex"):
        write_store(tmp_path, TEXT, chain(2))
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


# --- one writer, and crashes ----------------------------------------------------------------------


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kg"
    write_store(path, TEXT, chain(2))
    with holding_the_lock(path):
        with pytest.raises(StoreError, match=f"process {os.getpid()}"):
            write_store(path, TEXT, chain(3))
        with pytest.raises(StoreError, match="another writer"):
            certify(path, certificate())
        assert len(open_store(path)) == 6, "a reader is not disturbed"
    certify(path, certificate())


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "kg"
    write_store(path, TEXT, chain(2))
    code = (
        "import time; from pathlib import Path; from shiq.jobs.store.files import hold_write_lock\n"
        f"with hold_write_lock(Path({str(path)!r})):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=f"process {holder.pid}"):
            certify(path, certificate())
        holder.kill()
    certify(path, certificate())


class Crash(BaseException):
    """Stands for a kill: nothing may handle it."""


def steps(monkeypatch: pytest.MonkeyPatch, crash_at: int) -> list[str]:
    """Crashes before the ``crash_at``-th step that changes something on disk, or comes after all
    of them; gives those taken.
    """
    taken: list[str] = []
    for module, name in (
        (building, "write_table"),
        (writing, "write_document"),
        (writing, "write_manifest"),
        (os, "replace"),
        (writing, "open_store"),
    ):
        real = getattr(module, name)

        def step(*args: object, real: object = real, name: str = name, **kwargs: object) -> object:
            taken.append(name)
            if len(taken) == crash_at:
                raise Crash
            return real(*args, **kwargs)  # type: ignore[operator]

        monkeypatch.setattr(module, name, step)
    return taken


def content(store: Store) -> tuple[int, set[Assertion], TBox, bool]:
    return store.snapshot, set(store.export()), store.tbox, store.certificate is not None


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_crash_at_any_step_leaves_old_or_new(tmp_path: Path, every: int) -> None:
    old, new = abox_of(random_assertions(1)), abox_of(random_assertions(2))
    before = content(write_store(tmp_path / "old", TEXT, old, certificate=certificate()))
    with pytest.MonkeyPatch.context() as patch:
        taken = steps(patch, 0)
        write_store(tmp_path / "kg", TBox(), new)
    assert len(taken) > len(ALWAYS) and taken[-1] == "open_store"
    seen = set()
    for crash_at in {*range(1, len(taken), every), len(taken)}:
        path = tmp_path / f"kg{crash_at}"
        shutil.copytree(tmp_path / "old", path)
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Crash):
            steps(patch, crash_at)
            write_store(path, TBox(), new)
        after = content(open_store(path))
        assert after in (before, (2, set(new), TBox(), False))
        seen.add(after[0])
        if crash_at % 7 in (0, 1):
            write_store(path, TBox(), new)
            assert content(open_store(path))[1:] == (set(new), TBox(), False), (
                "the next writer cleans up"
            )
    assert seen == {1, 2}


@pytest.mark.parametrize("kills", [3, pytest.param(12, marks=pytest.mark.slow)])
def test_killed_in_mid_build(tmp_path: Path, kills: int) -> None:
    """kill -9 at random moments: the store opens and is whole, as it was or as it was to be."""
    path = tmp_path / "kg"
    write_store(path, TEXT, chain(300))
    code = (
        "import sys; sys.path.insert(0, 'tests/jobs')\n"
        "from test_store import TEXT, chain, write_store, Path\n"
        f"print('go', flush=True)\nwhile True: write_store(Path({str(path)!r}), TEXT, chain(500))"
    )
    rng = random.Random(5)
    for _ in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None and writer.stdout.readline() == "go\n"
            time.sleep(rng.uniform(0.0, 0.4))
            writer.send_signal(signal.SIGKILL)
        with open_store(path) as store:
            assert len(list(store.export())) == len(store) in (900, 1500)
            assert store.tbox == TEXT


@pytest.mark.parametrize("turns", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_exit_code_of_a_process_that_writes_and_reads(tmp_path: Path, turns: int) -> None:
    code = (
        "import sys; sys.path.insert(0, 'tests/jobs')\n"
        "from test_store import TEXT, chain, write_store, open_store, Path\n"
        f"store = write_store(Path({str(tmp_path)!r}) / sys.argv[1], TEXT, chain(2000))\n"
        "assert sum(1 for _ in open_store(store.path).export()) == 6000\n"
    )
    codes = [
        subprocess.run([sys.executable, "-c", code, f"kg{i}"], check=False).returncode
        for i in range(turns)
    ]
    assert codes == [0] * turns
