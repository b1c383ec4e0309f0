"""Damaged stores: whatever bit is flipped on a disk, a check answers as before, or names the
damaged file; no other verdict.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from command_line import shiq
from test_store import chain

from shiq.answers.verdict import Verdict
from shiq.api import index, open_store
from shiq.columns.arrays import Columns
from shiq.errors import StoreError
from shiq.jobs.store import open_store as opened
from shiq.jobs.store.files import MANIFEST
from shiq.jobs.store.lookup import MappedFile, lookup_path, map_lookup_file
from shiq.jobs.store.manifest import read_manifest
from shiq.jobs.store.schema import write_part
from shiq.jobs.store.upkeep import compact
from shiq.jobs.store.verify import verify_store
from shiq.model import (
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    DisjointClasses,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    Literal,
    ObjectAllValuesFrom,
    ObjectProperty,
    ObjectPropertyAssertion,
    Signature,
    SubClassOf,
    TBox,
)
from shiq.model.abox import ABox, abox_of

CAT, DOG, OWNER = Class("urn:Cat"), Class("urn:Dog"), Class("urn:CatOwner")
OWNS, NAME = ObjectProperty("urn:owns"), DataProperty("urn:name")
TBOX = TBox(
    (
        DisjointClasses((CAT, DOG)),
        SubClassOf(OWNER, ObjectAllValuesFrom(OWNS, CAT)),
        FunctionalDataProperty(NAME),
        FunctionalObjectProperty(ObjectProperty("urn:homeOf")),
    ),
    Signature(
        frozenset((CAT.iri, DOG.iri, OWNER.iri)),
        object_properties=frozenset((OWNS.iri, "urn:homeOf")),
        data_properties=frozenset((NAME.iri,)),
    ),
)
BATCHES = [
    abox_of([ClassAssertion(DOG, "urn:i3"), ClassAssertion(CAT, "urn:new")]),
    abox_of([ObjectPropertyAssertion(OWNS, "urn:o5", "urn:rex")]),
    abox_of([DataPropertyAssertion(NAME, "urn:i7", Literal("another name"))]),
    abox_of([ClassAssertion(CAT, "urn:i11"), ObjectPropertyAssertion(OWNS, "urn:o1", "urn:i9")]),
]


def animals(count: int) -> ABox:
    return abox_of(
        [
            ClassAssertion(DOG, "urn:rex"),
            *(ClassAssertion(CAT, f"urn:i{i}") for i in range(count)),
            *(ClassAssertion(OWNER, f"urn:o{i}") for i in range(count)),
            *(ObjectPropertyAssertion(OWNS, f"urn:o{i}", f"urn:i{i}") for i in range(count)),
            *(DataPropertyAssertion(NAME, f"urn:i{i}", Literal(f"name {i}")) for i in range(count)),
        ]
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three snapshots, with rows that were removed, and files of all kinds."""
    path = tmp_path_factory.mktemp("damage") / "kg"
    index(TBOX, animals(40), path, reasoner="own")
    with open_store(path) as session:
        gone = [ClassAssertion(CAT, "urn:i2"), ObjectPropertyAssertion(OWNS, "urn:o2", "urn:i2")]
        session.check(
            abox_of([ClassAssertion(CAT, "urn:late")]), abox_of(gone), commit=True, reasoner="own"
        )
        session.check(
            abox_of([ObjectPropertyAssertion(OWNS, "urn:o2", "urn:late")]),
            commit=True,
            reasoner="own",
        )
    return path


@contextmanager
def flipped(file: Path, bit: int) -> Iterator[None]:
    """``file`` with one bit turned over, for a while."""
    before = file.read_bytes()
    data = bytearray(before)
    data[bit >> 3] ^= 1 << (bit & 7)
    file.write_bytes(data)
    try:
        yield
    finally:
        file.write_bytes(before)


def answers(path: Path) -> list[object]:
    with open_store(path) as session:
        found = [session.check(batch, reasoner="own") for batch in BATCHES]
    return [(one.verdict, one.reason, sorted(map(repr, one.conflicts))) for one in found]


def flip_and_check(kept: Path, path: Path, flips: int, seed: int) -> None:
    shutil.copytree(kept, path)
    dice, expected, told = random.Random(seed), answers(path), 0
    kinds: dict[str, list[Path]] = {}
    for file in sorted(path.rglob("*")):
        if file.is_file() and file.stat().st_size:
            kinds.setdefault(file.relative_to(path).parts[0], []).append(file)
    assert {MANIFEST, "documents", "lookup", "tables", "snapshots", "lock"} <= set(kinds)
    for turn in range(flips):
        file = dice.choice(kinds[dice.choice(sorted(kinds))])
        bit = dice.randrange(8 * file.stat().st_size)
        with flipped(file, bit):
            try:
                found = answers(path)
            except StoreError as error:
                told += 1
                assert str(path) in error.message and error.remedy and "DIR" not in error.remedy
                continue
            assert found == expected, (
                f"seed {seed}, turn {turn}: bit {bit} of {file.relative_to(path)}"
            )
    assert told
    assert answers(path) == expected


def test_a_flipped_bit_changes_no_answer(kept: Path, tmp_path: Path) -> None:
    flip_and_check(kept, tmp_path / "kg", 40, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_two_thousand_flipped_bits_change_no_answer(kept: Path, tmp_path: Path, seed: int) -> None:
    flip_and_check(kept, tmp_path / "kg", 500, seed)


# --- one look-up file, of many blocks, against the columns that were written ----------------------


def written(
    tmp_path: Path, dice: np.random.Generator
) -> tuple[MappedFile, Path, Columns, Callable[[], MappedFile]]:
    rows = 20_000
    keys = np.sort(dice.integers(0, rows // 2, rows))
    if dice.integers(2):
        keys = keys + (1 << 40)
    columns: Columns = {"node": keys, "class": dice.integers(0, 9, rows)}
    file = write_part(tmp_path, "class_assertions", "part.parquet", columns)
    return (
        map_lookup_file(tmp_path, file, "node"),
        tmp_path / lookup_path(file.path),
        columns,
        lambda: map_lookup_file(tmp_path, file, "node"),
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_look_up_gives_the_rows_that_were_written_or_none(tmp_path: Path, seed: int) -> None:
    """A damaged key may lead the search astray though the rows that it ends at are whole: that
    is seen too.
    """
    dice = np.random.default_rng(seed)
    whole, path, columns, again = written(tmp_path, dice)
    keys, refused, cell = columns["node"], 0, whole.layouts["node"]
    crossed = [len(keys) * i >> 3 for i in range(1, 8)]
    for turn in range(120):
        # Few are verified one by one, more of them together.
        several = 1 + turn % 5
        wanted = np.unique(
            np.concatenate(
                [dice.choice(keys, several), dice.integers(keys[0] - 2, keys[-1] + 3, turn % 3)]
            )
        )
        expected = np.flatnonzero(np.isin(keys, wanted))
        bit = int(dice.integers(0, 8 * path.stat().st_size))
        if turn % 3 == 1:
            # One of the keys that every search comes across first.
            bit = 8 * (cell.offset + cell.width * int(dice.choice(crossed))) + int(
                dice.integers(0, 8 * cell.width)
            )
        elif turn % 3 == 2:
            # One of the rows that are looked up.
            at = whole.layouts[str(dice.choice(["node", "class"]))]
            bit = 8 * (at.offset + at.width * int(dice.choice(expected))) + int(
                dice.integers(0, 8 * at.width)
            )
        with flipped(path, bit):
            try:
                file = again()
                found, degrees = file.rows_of(wanted), file.degrees(wanted)
            except StoreError as error:
                assert str(path) in error.message
                refused += 1
                continue
        assert turn % 3 < 2
        assert found["class"].tolist() == columns["class"][expected].tolist()
        assert found["node"].tolist() == keys[expected].tolist()
        assert degrees.tolist() == [int((keys == key).sum()) for key in wanted.tolist()]
    assert 40 < refused < 120
    assert whole.row_slice(0, len(keys))["class"].tolist() == columns["class"].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_texts_come_as_they_were_written_or_not(tmp_path: Path, seed: int) -> None:
    dice = np.random.default_rng(seed)
    store = index(TBOX, animals(900), tmp_path / "kg", reasoner="own") and opened(tmp_path / "kg")
    file = store.manifest.tables["individuals"].files[0]
    rows = store.table("individuals").all()
    terms, path, refused = rows["term"].to_pylist(), tmp_path / "kg" / lookup_path(file.path), 0
    texts = map_lookup_file(tmp_path / "kg", file, "node").layouts["term"]
    for turn in range(80):
        some = np.sort(dice.choice(len(terms), 1 + turn % 6, replace=False))
        bit = int(dice.integers(0, 8 * path.stat().st_size))
        if turn % 2:
            # Where one of these texts ends, or in the midst of it.
            row = int(dice.choice(some))
            assert texts.ends is not None
            cells = (
                texts.offset + 8 * row,
                texts.offset + 8 * row + 8,
                texts.letters + int(texts.ends[row]),
            )
            bit = 8 * int(dice.choice(cells)) + int(dice.integers(0, 8))
        with flipped(path, bit):
            try:
                found = map_lookup_file(tmp_path / "kg", file, "node").rows_of(rows["node"][some])
            except StoreError:
                refused += 1
                continue
        assert turn % 2 == 0
        assert found["term"].to_pylist() == [terms[i] for i in some.tolist()]
    assert 40 < refused < 80


# --- what is said, and what can be mended ---------------------------------------------------------


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)


def test_every_damaged_file_is_named(kept: Path, tmp_path: Path) -> None:
    path = tmp_path / "kg"
    shutil.copytree(kept, path)
    told = shiq("status", "--store", path, "--verify")
    assert told.returncode == 0 and "are as they were written" in told.stdout
    manifest = read_manifest(path)
    some = [
        manifest.tables["half_edges"].files[0].path,
        lookup_path(manifest.tables["names"].files[0].path),
    ]
    some += [manifest.documents["tbox"].path, manifest.before.path if manifest.before else ""]
    for name in some:
        damage(path / name)
    told = shiq("status", "--store", path, "--verify")
    assert told.returncode == 4
    assert all(str(path / name) in told.stderr for name in some)
    assert "4 files are damaged" in told.stderr and "shiq compact" in told.stderr
    (tmp_path / "one.nt").write_text(
        "<urn:new> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Cat> .\n"
    )
    told = shiq("check", "--store", path, "--insert", tmp_path / "one.nt", "--reasoner", "own")
    assert told.returncode == 4 and "is damaged" in told.stderr and "Traceback" not in told.stderr


@pytest.mark.parametrize("which", ["look-up", "look-up missing", "table"])
def test_compaction_mends_a_file_by_its_copy(kept: Path, tmp_path: Path, which: str) -> None:
    path = tmp_path / "kg"
    shutil.copytree(kept, path)
    expected = answers(path)
    names = {file.path for table in read_manifest(path).tables.values() for file in table.all_files}
    for name in names:
        if which == "look-up missing":
            (path / lookup_path(name)).unlink()
        else:
            damage(path / (name if which == "table" else lookup_path(name)))
    with pytest.raises(StoreError):
        verify_store(path)
    compact(path)
    verify_store(path)
    assert answers(path) == expected


def test_compaction_makes_nothing_of_what_is_damaged_twice(kept: Path, tmp_path: Path) -> None:
    path = tmp_path / "kg"
    shutil.copytree(kept, path)
    file = read_manifest(path).tables["half_edges"].files[0]
    for name in (file.path, lookup_path(file.path)):
        damage(path / name)
    before = (path / MANIFEST).read_bytes()
    with pytest.raises(StoreError, match="is damaged"):
        compact(path)
    assert (path / MANIFEST).read_bytes() == before


def test_a_chain_longer_than_a_block_says_what_it_said(tmp_path: Path) -> None:
    index(TBox(), chain(3_000), tmp_path / "kg", reasoner="own", allow=["empty-tbox", "undeclared"])
    with opened(tmp_path / "kg") as store:
        assert set(store.export()) == set(chain(3_000))
    with open_store(tmp_path / "kg") as session:
        found = session.check(chain(3), reasoner="own", allow=["empty-tbox", "undeclared"])
    assert found.verdict is Verdict.CONSISTENT
