"""Hadoop's file system on this machine for tests, and a folder of its own for each of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiq.remote.hdfs import Hdfs
from tests.tools import hdfs_cluster


@pytest.fixture(scope="session")
def hdfs_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address."""
    pytest.importorskip("hdfs_native", reason="needs hdfs-native (the extra `cloud`)")
    if absent := hdfs_cluster.absent():
        pytest.skip(absent)
    with hdfs_cluster.cluster(tmp_path_factory.mktemp("hdfs")) as address:
        yield address


@pytest.fixture
def hdfs(hdfs_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hdfs:
    """A place for a store, and a folder of its own for copies."""
    monkeypatch.setenv("SHIQ_CACHE", str(tmp_path / "copies"))
    return Hdfs(f"{hdfs_address}/{uuid.uuid4().hex}/kg")
