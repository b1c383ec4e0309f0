"""Stores in Hadoop's file system: what holds of those in an object store holds of them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from command_line import shiq
from people import people
from test_places import (  # noqa: F401
    held,
    test_a_crash_before_the_manifest_leaves_the_old_snapshot,
    test_a_damaged_copy_is_noticed_and_fetched_anew,
    test_a_damaged_object_is_named,
    test_a_lost_answer_is_no_other_writer,
    test_a_session_reads_copies_and_sees_what_others_commit,
    test_commands_answer_as_on_disk,
    test_files_stay_for_a_week_after_the_last_snapshot_that_needs_them,
    test_of_two_writers_the_second_is_told,
    test_two_builds_at_once,
    test_what_a_build_that_died_left_is_kept_for_a_week,
    test_what_is_no_store_is_not_overwritten,
    test_writers_at_once_one_wins_and_the_others_exit_with_4,
)
from test_places_spark import test_commands_on_spark  # noqa: F401

from shiq.errors import StoreError
from shiq.jobs.store import open_store
from shiq.jobs.store.files import MANIFEST
from shiq.jobs.store.read import Store
from shiq.jobs.store.upkeep import commit
from shiq.model.abox import abox_of
from shiq.remote.hdfs import Hdfs

# Each file takes HDFS some tenths of a second.
pytestmark = [pytest.mark.hdfs, pytest.mark.slow]


@pytest.fixture
def bucket(hdfs: Hdfs) -> Hdfs:
    """What the tests of object stores are given here."""
    return hdfs


def test_numbers_that_count_no_more_go_after_a_day(
    held: Store,  # noqa: F811
    hdfs: Hdfs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A writer that saw one of them does not find it free, and nobody sees another manifest than
    the newest.
    """
    store = held
    for turn in range(3):
        store = commit(
            hdfs, abox_of(people(20 + turn, 21 + turn)), abox_of([]), checked=store.identity
        )
    assert hdfs.version_stamp(MANIFEST) == "4"
    for stale in ("", "1", "3"):
        with pytest.raises(StoreError, match="another writer"):
            hdfs.compare_and_swap(MANIFEST, "{}", stale)
    # One that looked before the others came, and is as late as can be.
    asked, real = iter(["2"]), Hdfs.version_stamp
    with monkeypatch.context() as late, pytest.raises(StoreError, match="another writer"):
        late.setattr(
            Hdfs, "version_stamp", lambda self, name: next(asked, None) or real(self, name)
        )
        hdfs.compare_and_swap(MANIFEST, "{}", "2")
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + 25 * 3600)
    store = commit(hdfs, abox_of(people(30, 31)), abox_of([]), checked=store.identity)
    assert sorted(name for name, _, _ in hdfs._list_folder(f"{MANIFEST}.d")) == [
        f"{MANIFEST}.d/4",
        f"{MANIFEST}.d/5",
    ]
    with open_store(hdfs) as again:
        assert set(again.export()) == set(store.export())


def test_a_folder_is_cleared(hdfs: Hdfs, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"1")
    for name in ("building/a/b", "building/c", "tables/d"):
        hdfs._upload_file(name, tmp_path / "one")
    for _ in range(2):
        hdfs.remove_folder("building")
        assert [name for name, _ in hdfs.files_with_times()] == ["tables/d"]


def test_a_name_node_that_does_not_answer_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hdfs_native", reason="needs hdfs-native (the extra `cloud`)")
    monkeypatch.setenv("SHIQ_CACHE", str(tmp_path))
    monkeypatch.setattr("shiq.remote.hdfs._ATTEMPTS", {"dfs.client.failover.max.attempts": "1"})
    for address in ("hdfs://127.0.0.1:9/kg", "hdfs://nobody/kg"):
        found = shiq("status", "--store", address)
        assert (found.returncode, "HADOOP_CONF_DIR" in found.stderr) == (4, True), found.stderr


def test_what_may_not_be_written_is_said(
    held: Store,  # noqa: F811
    hdfs: Hdfs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "nobody")
    with pytest.raises(StoreError, match=r"cannot be reached: .*[Pp]ermission"):
        commit(Hdfs(hdfs.address), abox_of(people(20, 21)), abox_of([]), checked=held.identity)
