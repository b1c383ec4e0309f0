"""Stores in an object store: they answer as those on disk do, and of two writers one wins."""

from __future__ import annotations

import errno
import io
import pickle
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import shiq
from people import COMPANY, PERSON, SIGNED, TBOX, people
from store_content import different, said

from shiq.answers.verdict import Verdict
from shiq.api import index
from shiq.api import open_store as open_session
from shiq.errors import OperationalError, StoreError, UsageError
from shiq.jobs.store import Store, open_store, parse_location, write
from shiq.jobs.store.files import MANIFEST, DataFile, describe_file
from shiq.jobs.store.manifest import read_manifest
from shiq.jobs.store.table import BlockReader
from shiq.jobs.store.upkeep import commit, compact, prepare, ranges, write_store
from shiq.jobs.store.verify import verify_store
from shiq.model import ClassAssertion
from shiq.model.abox import abox_of
from shiq.remote import copies
from shiq.remote.bucket import Bucket
from shiq.remote.copies import BLOCK
from shiq.remote.remote import Remote, fetch_blocks, fetch_file
from tests.tools.random_ontologies.kb import random_kb

TEXT = """Prefix(:=<urn:t#>) Ontology(<urn:t> Declaration(Class(:Person)) Declaration(Class(:Company))
Declaration(ObjectProperty(:knows)) DisjointClasses(:Person :Company) ObjectPropertyRange(:knows :Person))"""
_TIMES = re.compile(r"\d s( |$)")
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.fixture
def held(bucket: Bucket) -> Store:
    """A store of ten people in ranges of three."""
    return write_store(
        bucket, TBOX, abox_of(people(0, 10)), prepared=prepare(TBOX, abox_of(people(0, 10)), 3)
    )


def forgotten() -> None:
    """All copies gone, as on another machine."""
    for one in copies._open.values():
        shutil.rmtree(one.folder, ignore_errors=True)


def overwritten(place: Remote, name: str, content: bytes, folder: Path) -> None:
    """Another content for the file ``name``, behind the store's back."""
    (folder / "other").write_bytes(content)
    place._upload_file(name, folder / "other")
    place.drop_cached(name)


def test_a_place_is_named_alike_by_whatever_names_it() -> None:
    place = parse_location("s3a://graph/kg/")
    assert (place, str(place), place.absolute()) == (
        parse_location("s3://graph/kg"),
        "s3://graph/kg",
        place,
    )
    assert parse_location(place) is not None and pickle.loads(pickle.dumps(place)) == place
    assert place / "store.json" == "s3://graph/kg/store.json"
    assert (
        str(parse_location("abfs://c@account.dfs.core.windows.net/kg"))
        == "abfss://c@account.dfs.core.windows.net/kg"
    )
    assert (
        parse_location("hdfs://name:8020/graphs/kg/") / "store.json"
        == "hdfs://name:8020/graphs/kg/store.json"
    )
    for named in (
        "s3://",
        Path("s3://graph/kg"),
        "hdfs://host",
        "hdfs:///graphs/kg",
        "ftp://host/kg",
    ):
        with pytest.raises(UsageError):
            parse_location(named)


@pytest.mark.parametrize(
    "name", ["kg?v=2", "kg#2", "my%20kg", "x/../kg", "./kg", "x//kg", "..", "kg/..", "k\ng"]
)
def test_an_address_that_would_be_read_as_that_of_another_store_is_refused(name: str) -> None:
    """`kg#1` and `kg?1` were `kg`: indexing into one replaced the other."""
    with pytest.raises(UsageError, match="another store"):
        parse_location(f"s3://graph/{name}")
    for good in ("kg", "my kg", "kgü", "a..b", ".hidden", "a=1/b@c~d"):
        assert str(parse_location(f"s3://graph/{good}/")) == f"s3://graph/{good}"


def test_an_endpoint_without_http_is_said_to_be_wrong(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library panics; Python's exit code for that is that of an inconsistent batch."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "127.0.0.1:9")
    found = shiq("status", "--store", bucket)
    assert (found.returncode, "AWS_ENDPOINT_URL (http://" in found.stderr) == (4, True), (
        found.stderr
    )


def test_the_library_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    found = shiq("check", "--store", "s3://graph/kg", "--insert", "x.nt")
    assert (found.returncode, "pip install" in found.stderr) == (4, True), found.stderr


def _timeless(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not _TIMES.search(line)]


@pytest.mark.scale
@pytest.mark.slow
def test_commands_answer_as_on_disk(bucket: Bucket, tmp_path: Path) -> None:
    """Index, check, commit, snapshots, status, certify, compact, export: cold and warm."""
    (tmp_path / "t.ofn").write_text(TEXT)
    (tmp_path / "a.nt").write_text(
        "".join(f"<urn:t#p{i}> {TYPE} <urn:t#Person> .\n" for i in range(20))
    )
    (tmp_path / "good.nt").write_text("<urn:t#p3> <urn:t#knows> <urn:t#new> .\n<urn:t#broken> .\n")
    (tmp_path / "bad.nt").write_text(
        f"<urn:t#p3> <urn:t#knows> <urn:t#c> .\n<urn:t#c> {TYPE} <urn:t#Company> .\n"
    )
    (tmp_path / "gone.nt").write_text(f"<urn:t#p5> {TYPE} <urn:t#Person> .\n")
    allow = ("--allow", "malformed", "-q", "--reasoner", "own")
    calls = [
        (0, ("index", "--tbox", "t.ofn", "a.nt", "--range", "4", *allow)),
        (1, ("check", "--insert", "bad.nt", *allow)),
        (0, ("check", "--insert", "good.nt", "--delete", "gone.nt", "--commit", *allow)),
        (0, ("status", "--verify")),
        (0, ("export",)),
        (0, ("export", "--aside")),
        (0, ("export", "--snapshot", "1")),
        (0, ("check", "--snapshot", "1", "--insert", "good.nt", *allow)),
        (0, ("certify", *allow)),
        (0, ("compact",)),
        (4, ("export", "--snapshot", "1")),
        (0, ("status",)),
        (0, ("index", "--tbox", "t.ofn", "--replace", "a.nt", "good.nt", *allow)),
        (0, ("export",)),
    ]
    for turn, (code, arguments) in enumerate(calls):
        if turn % 2:
            forgotten()
        there = shiq(*arguments, "--store", bucket, cwd=tmp_path)
        here = shiq(*arguments, "--store", "kg", cwd=tmp_path)
        assert (there.returncode, here.returncode) == (code, code), there.stderr
        if arguments[0] == "export":
            assert there.stdout == here.stdout
        elif arguments[0] == "check":
            assert _timeless(there.stdout) == _timeless(here.stdout)
        if code in (0, 1):
            with open_store(bucket) as one, open_store(tmp_path / "kg") as other:
                assert said(one) == said(other)
                assert [len(t.files) for t in one.manifest.tables.values()] == [
                    len(t.files) for t in other.manifest.tables.values()
                ]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]
)
def test_commits_come_to_the_same_as_a_store_built_anew(
    seed: int, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "_FEW", 1)
    monkeypatch.setattr(ranges, "MOST_SMALL", 1)
    kb, dice = random_kb(seed), random.Random(seed)
    pool = sorted({*kb.abox, *kb.insertions}, key=repr)
    now = set(dice.sample(pool, len(pool) // 2))
    store = write_store(
        bucket,
        kb.tbox,
        abox_of(sorted(now, key=repr)),
        prepared=prepare(kb.tbox, abox_of(sorted(now, key=repr)), 2),
    )
    for turn in range(3):
        come, go = dice.sample(pool, 3), dice.sample(pool, 2)
        store = commit(bucket, abox_of(come), abox_of(go), checked=store.identity)
        now = (now - set(go)) | set(come)
        if turn % 2:
            forgotten()
        anew = write_store(tmp_path / "anew", kb.tbox, abox_of(sorted(now, key=repr)))
        assert not different(store, anew), f"seed {seed}"
    assert said(compact(bucket)) == said(store)


def test_a_session_reads_copies_and_sees_what_others_commit(bucket: Bucket) -> None:
    """A warm one fetches nothing but the manifest: it goes on where all else is gone from the
    object store.
    """
    index(SIGNED, abox_of(people(0, 10)), str(bucket), range_size=3)
    company = abox_of([ClassAssertion(COMPANY, "urn:t#p3")])
    with open_session(str(bucket)) as session:
        assert session.check(company).verdict is Verdict.INCONSISTENT
        with open_session(str(bucket)) as other:
            other.check(None, abox_of([ClassAssertion(PERSON, "urn:t#p3")]), commit=True)
        found = session.check(company)
        assert (found.verdict, found.snapshot) == (Verdict.CONSISTENT, 2)
        done = session.check(company, commit=True)
        assert (done.verdict, done.committed) == (Verdict.CONSISTENT, 3)
    with open_session(str(bucket)) as session:
        assert (
            session.check(abox_of([ClassAssertion(PERSON, "urn:t#p3")])).verdict
            is Verdict.INCONSISTENT
        )
    for name, _ in [*bucket.files_with_times()]:
        if name != MANIFEST:
            bucket._delete_file(name)
    with open_session(str(bucket)) as session:
        assert (
            session.check(abox_of([ClassAssertion(PERSON, "urn:t#p3")])).verdict
            is Verdict.INCONSISTENT
        )
    forgotten()
    with pytest.raises(StoreError, match="cannot be read"), open_session(str(bucket)) as session:
        session.check(company)


def test_copies_stay_within_their_bound(
    held: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHIQ_CACHE_SIZE", "20k")
    monkeypatch.setattr(copies, "_GRACE", 0.0)
    forgotten()
    whole = said(held)
    with open_store(bucket) as store:
        assert said(store) == whole
    left = copies.shared_cache()
    assert (
        0 < sum(path.stat().st_size for path in left.folder.rglob("*") if path.is_file()) <= 24_000
    )
    monkeypatch.setenv("SHIQ_CACHE_SIZE", "much")
    with pytest.raises(UsageError, match="SHIQ_CACHE_SIZE"):
        copies.shared_cache()


def test_large_files_come_in_parts(
    held: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiq.remote.remote._PART", 100)
    whole = said(held)
    forgotten()
    with open_store(bucket) as store:
        assert said(store) == whole
    content = random.Random(1).randbytes(12_000_000)
    with bucket.replace_file("documents/large") as path:
        path.write_bytes(content)
    monkeypatch.setattr("shiq.remote.remote._PART", 5 << 20)
    forgotten()
    assert fetch_file(bucket, "documents/large", len(content)).read_bytes() == content


def test_no_room_for_copies_is_said(
    held: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    forgotten()
    with (
        monkeypatch.context() as patch,
        pytest.raises(OperationalError, match="no room for copies") as told,
    ):
        patch.setattr("shiq.remote.copies.os.replace", full)
        open_store(bucket).tbox  # noqa: B018
    assert "SHIQ_CACHE" in told.value.remedy
    assert open_store(bucket).tbox == TBOX


def test_a_damaged_copy_is_noticed_and_fetched_anew(held: Store, bucket: Bucket) -> None:
    whole = said(held)
    for table in ("individuals", "half_edges", "elements"):
        file = held.manifest.tables[table].files[0]
        copy = fetch_blocks(bucket, file.path, [0], file.bytes)[0]
        content = bytearray(copy.read_bytes())
        content[len(content) // 2] ^= 1
        copy.write_bytes(content)
        with pytest.raises(StoreError, match="the copy of a file"), open_store(bucket) as store:
            said(store)
        with open_store(bucket) as store:
            assert said(store) == whole
    copy.write_bytes(content[:-1])
    with open_store(bucket) as store:
        assert said(store) == whole
    for table in ("individuals", "half_edges", "elements"):
        file = held.manifest.tables[table].files[0]
        copy = fetch_blocks(bucket, file.path, [0], file.bytes)[0]
        copy.write_bytes(bytes([*copy.read_bytes()[:-1], 7]))
    # Each run would notice one of them.
    with pytest.raises(StoreError) as told, open_store(bucket) as store:
        said(store)
    assert "--verify` fetches all anew" in told.value.remedy
    assert verify_store(bucket).files > 20
    with open_store(bucket) as store:
        assert said(store) == whole


def test_a_damaged_object_is_named(held: Store, bucket: Bucket, tmp_path: Path) -> None:
    assert verify_store(bucket).files > 20
    file = held.manifest.tables["half_edges"].files[1]
    for name in (file.path, held.manifest.documents["tbox"].path):
        sound = fetch_file(bucket, name).read_bytes()
        overwritten(bucket, name, bytes([sound[0] ^ 1, *sound[1:]]), tmp_path)
        with pytest.raises(StoreError, match=name.rpartition("/")[2]):
            verify_store(bucket)
        overwritten(bucket, name, sound, tmp_path)
    assert verify_store(bucket).files > 20


@pytest.mark.scale
def test_of_two_writers_the_second_is_told(
    held: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one comes after this one has read the manifest, at each of its steps."""
    real = type(bucket).compare_and_swap

    def late(self: Remote, name: str, text: str, stamp: str) -> None:
        monkeypatch.setattr(type(bucket), "compare_and_swap", real)
        commit(bucket, abox_of(people(30, 33)), abox_of([]), checked=held.identity)
        real(self, name, text, stamp)

    monkeypatch.setattr(type(bucket), "compare_and_swap", late)
    with pytest.raises(StoreError, match="another writer"):
        commit(bucket, abox_of(people(20, 25)), abox_of(people(0, 1)), checked=held.identity)
    with open_store(bucket) as store:
        assert set(store.export()) == {*people(0, 10), *people(30, 33)}
        identity = store.identity
    after = commit(bucket, abox_of(people(20, 25)), abox_of([]), checked=identity)
    assert set(after.export()) == {*people(0, 10), *people(30, 33), *people(20, 25)}
    assert verify_store(bucket).files > 20


def test_where_no_answer_comes_nothing_is_promised(
    held: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = type(bucket).compare_and_swap

    def cut_off(self: Remote, name: str, text: str, stamp: str) -> None:
        monkeypatch.setattr("shiq.remote.bucket._RETRIES", {"max_retries": 0})
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        real(Bucket(self.address), name, text, stamp)

    monkeypatch.setattr(type(bucket), "compare_and_swap", cut_off)
    with pytest.raises(StoreError, match="is not known"):
        commit(bucket, abox_of(people(20, 22)), abox_of([]), checked=held.identity)


def test_a_lost_answer_is_no_other_writer(
    held: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = type(bucket).compare_and_swap

    def twice(self: Remote, name: str, text: str, stamp: str) -> None:
        real(self, name, text, stamp)
        real(self, name, text, stamp)

    monkeypatch.setattr(type(bucket), "compare_and_swap", twice)
    assert commit(bucket, abox_of(people(20, 22)), abox_of([]), checked=held.identity).snapshot == 2


_WRITER = """
import sys
sys.path[:0] = {paths!r}
from shiq.jobs.store import open_store, parse_location
from shiq.jobs.store.upkeep import commit
from shiq.model.abox import abox_of
from shiq.errors import StoreError
from people import people
place, first = parse_location(sys.argv[1]), int(sys.argv[2])
identity = open_store(place).identity
print("ready", flush=True)
sys.stdin.readline()
try:
    commit(place, abox_of(people(first, first + 3)), abox_of(people(0, 1)), checked=identity)
except StoreError as error:
    print(error)
    sys.exit(4)
"""


@pytest.mark.scale
@pytest.mark.slow
def test_writers_at_once_one_wins_and_the_others_exit_with_4(held: Store, bucket: Bucket) -> None:
    code = _WRITER.format(paths=[str(Path(__file__).parents[1]), str(Path(__file__).parents[2])])
    expected = set(held.export())
    for turn in range(2):
        firsts = [100 * (turn + 1) + 10 * i for i in range(3)]
        children = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(bucket), str(first)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for first in firsts
        ]
        for child in children:
            assert child.stdout and child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin
            child.stdin.write("go\n")
            child.stdin.flush()
        ended = [(child.communicate()[0], child.returncode)[1] for child in children]
        assert sorted(ended) in ([0, 4, 4],), ended
        expected = (expected - set(people(0, 1))) | set(
            people(firsts[ended.index(0)], firsts[ended.index(0)] + 3)
        )
        forgotten()
        with open_store(bucket) as store:
            assert set(store.export()) == expected
            assert store.snapshot == turn + 2
    assert verify_store(bucket).files > 20


@pytest.mark.scale
def test_two_builds_at_once(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    real = type(bucket).compare_and_swap

    def late(self: Remote, name: str, text: str, stamp: str) -> None:
        monkeypatch.setattr(type(bucket), "compare_and_swap", real)
        write_store(bucket, TBOX, abox_of(people(0, 3)))
        real(self, name, text, stamp)

    monkeypatch.setattr(type(bucket), "compare_and_swap", late)
    with pytest.raises(StoreError, match="another writer"):
        write_store(bucket, TBOX, abox_of(people(5, 9)))
    with open_store(bucket) as store:
        assert set(store.export()) == set(people(0, 3))


@pytest.mark.scale
def test_a_crash_before_the_manifest_leaves_the_old_snapshot(
    held: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("compare_and_swap", "replace_file"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(type(bucket), step, crash)
            commit(bucket, abox_of(people(20, 25)), abox_of(people(0, 2)), checked=held.identity)
        forgotten()
        with open_store(bucket) as store:
            assert (store.snapshot, set(store.export())) == (1, set(people(0, 10)))
    assert set(
        commit(bucket, abox_of(people(20, 25)), abox_of([]), checked=held.identity).export()
    ) == {*people(0, 10), *people(20, 25)}


def test_what_a_build_that_died_left_is_kept_for_a_week(
    held: Store, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another may be at work until then."""
    name = f"{write.BUILDING}/0123456789ab/rows/0.arrow"
    overwritten(bucket, name, b"rows", tmp_path)
    for days, is_there in ((6, True), (8, False)):
        with monkeypatch.context() as later:
            later.setattr(time, "time", lambda now=time.time, days=days: now() + days * 24 * 3600)
            compact(bucket)
        assert (name in {found for found, _ in bucket.files_with_times()}) is is_there


def test_files_stay_for_a_week_after_the_last_snapshot_that_needs_them(
    held: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = commit(bucket, abox_of(people(20, 25)), abox_of(people(0, 2)), checked=held.identity)
    compact(bucket)
    old = [
        set(store.export())
        for store in (Store(bucket, held.manifest), Store(bucket, second.manifest))
    ]
    assert old == [set(people(0, 10)), {*people(0, 10), *people(20, 25)} - set(people(0, 2))]
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + 6 * 24 * 3600)
    present = compact(bucket)
    assert set(Store(bucket, second.manifest).export()) == old[1]
    monkeypatch.setattr(write, "GRACE_SECONDS", 3600.0)
    forgotten()
    assert set(compact(bucket).export()) == set(present.export()) == old[1]
    assert verify_store(bucket).files > 20
    with pytest.raises(StoreError):
        set(Store(bucket, held.manifest).export())
    left = {name for name, _ in bucket.files_with_times()}
    assert held.manifest.tables["individuals"].files[0].path not in left
    assert {
        file.path for table in read_manifest(bucket).tables.values() for file in table.files
    } <= left


def test_what_is_no_store_is_not_overwritten(bucket: Bucket, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store here"):
        open_store(bucket)
    overwritten(bucket, "thesis.tex", b"...", tmp_path)
    with pytest.raises(StoreError, match=r"thesis\.tex"):
        write_store(bucket, TBOX, abox_of(people(0, 3)))


@pytest.mark.parametrize("heeded", ["create", "update"])
def test_an_object_store_that_ignores_conditions_is_refused(
    heeded: str, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Careless:
        def __getattr__(self, name: str) -> object:
            return getattr(obstore, name)

        def put(self, objects: object, name: str, content: object, mode: object = None) -> object:
            is_heeded = mode is not None and (mode == "create") == (heeded == "create")
            return obstore.put(objects, name, content, mode=mode if is_heeded else None)

    obstore = bucket._library
    monkeypatch.setitem(bucket.__dict__, "_library", Careless())
    with pytest.raises(StoreError, match="ignores conditions"):
        write_store(bucket, TBOX, abox_of(people(0, 3)))


def test_a_bucket_that_is_not_there_is_named(bucket: Bucket) -> None:
    nowhere = Bucket("s3://nobody-has-it/kg")
    for use in (
        lambda: open_store(nowhere),
        lambda: write_store(nowhere, TBOX, abox_of(people(0, 3))),
    ):
        with pytest.raises(StoreError, match="there is no bucket nobody-has-it") as told:
            use()
        assert "Make it first" in told.value.remedy


def test_a_place_that_cannot_be_reached_is_said(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiq.remote.bucket._RETRIES", {"max_retries": 0})
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(OperationalError, match="cannot be reached") as told:
        open_store(bucket)
    assert "AWS_ENDPOINT_URL" in told.value.remedy


def _scattered(bucket: Bucket, size: int) -> tuple[DataFile, bytes]:
    content = random.Random(2).randbytes(size)
    with bucket.replace_file("tables/x/one.parquet") as path:
        path.write_bytes(content)
    file = describe_file(bucket, "tables/x/one.parquet")
    forgotten()
    return file, content


def test_blocks_that_are_wanted_come_in_few_requests(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, content = _scattered(bucket, 40 * BLOCK + 7)
    requests, real = list[tuple[int, int]](), Bucket._read_range

    def counted(self: Bucket, name: str, start: int, end: int) -> bytes:
        requests.append((start, end))
        return real(self, name, start, end)

    monkeypatch.setattr(Bucket, "_read_range", counted)
    reader = BlockReader(bucket, file)
    wanted = [
        (0, 5),
        (3 * BLOCK - 1, 3 * BLOCK + 1),
        (20 * BLOCK, 20 * BLOCK + 1),
        (40 * BLOCK, file.bytes),
    ]
    reader.fetch(wanted)
    assert [(start // BLOCK, -(-end // BLOCK)) for start, end in requests] == [
        (0, 4),
        (20, 21),
        (40, 41),
    ]
    for start, end in wanted:
        reader.seek(start)
        assert reader.read(end - start) == content[start:end]
    reader.fetch([(2 * i * BLOCK, 2 * i * BLOCK + 1) for i in range(20)])
    assert len(requests) <= 3 + 4, "gaps that cost less than a request are read"
    reader.seek(-9, io.SEEK_END)
    assert (reader.read(), reader.read(3)) == (content[-9:], b"") and len(requests) <= 7
    reader.seek(0)
    assert reader.read() == content
    requests.clear()
    assert BlockReader(bucket, file).read() == content and not requests, (
        "blocks are kept among the copies"
    )


def test_a_damaged_block_goes_and_is_fetched_anew(bucket: Bucket, tmp_path: Path) -> None:
    file, content = _scattered(bucket, 3 * BLOCK)
    copy = fetch_blocks(bucket, file.path, [0, 1, 2], file.bytes)[1]
    copy.write_bytes(bytes(BLOCK))
    reader = BlockReader(bucket, file)
    with pytest.raises(StoreError, match="the copy of a file"):
        reader.read()
    assert BlockReader(bucket, file).read() == content
    overwritten(bucket, file.path, content[:-1], tmp_path)
    with pytest.raises(StoreError, match="cannot be read"):
        BlockReader(bucket, file).read()


@pytest.mark.slow
def test_a_check_of_a_large_store_fetches_little_of_it(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched, real = [0], Bucket._read_range

    def counted(self: Bucket, name: str, start: int, end: int) -> bytes:
        fetched[0] += end - start
        return real(self, name, start, end)

    count = 60_000
    index(SIGNED, abox_of(people(0, count)), str(bucket), range_size=10_000)
    whole = sum(
        file.bytes for table in read_manifest(bucket).tables.values() for file in table.files
    )
    forgotten()
    monkeypatch.setattr(Bucket, "_read_range", counted)
    with open_session(str(bucket)) as session:
        assert (
            session.check(abox_of([ClassAssertion(COMPANY, "urn:t#p7")])).verdict
            is Verdict.INCONSISTENT
        )
    assert 0 < fetched[0] < whole / 3
