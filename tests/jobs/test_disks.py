"""Disks that are full or may not be written: exit code 4 and what to do, and the store stays as
it was.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import Called, shiq

from shiq.files import write_atomically
from shiq.jobs.store import Store, files
from shiq.jobs.store import open_store as opened
from shiq.jobs.store.lookup import lookup_path
from shiq.jobs.store.manifest import read_manifest
from shiq.jobs.store.verify import verify_store

ONTOLOGY = "Ontology(<urn:o> Declaration(Class(<urn:Cat>)) Declaration(Class(<urn:Dog>)) DisjointClasses(<urn:Cat> <urn:Dog>))"


def members(first: int, last: int) -> str:
    return "".join(
        f"<urn:i{i}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Cat> .\n"
        for i in range(first, last)
    )


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    (tmp_path / "t.ofn").write_text(ONTOLOGY)
    (tmp_path / "few.nt").write_text(members(0, 20))
    (tmp_path / "many.nt").write_text(members(0, 30_000))
    (tmp_path / "new.nt").write_text(members(40_000, 40_001))
    return tmp_path


def writers(inputs: Path, store: Path) -> dict[str, Callable[[], Called]]:
    return {
        "index": lambda: shiq(
            "index",
            "--tbox",
            "t.ofn",
            "--store",
            store,
            "--replace",
            "many.nt",
            "-q",
            "--reasoner",
            "own",
            cwd=inputs,
        ),
        "commit": lambda: shiq(
            "check",
            "--store",
            store,
            "--insert",
            "new.nt",
            "--commit",
            "-q",
            "--reasoner",
            "own",
            cwd=inputs,
        ),
        "compact": lambda: shiq("compact", "--store", store, cwd=inputs),
        "certify": lambda: shiq("certify", "--store", store, "-q", "--reasoner", "own", cwd=inputs),
    }


def indexed(inputs: Path, store: Path) -> None:
    assert (
        shiq(
            "index",
            "--tbox",
            "t.ofn",
            "--store",
            store,
            "few.nt",
            "-q",
            "--reasoner",
            "own",
            cwd=inputs,
        ).returncode
        == 0
    )


def refused(told: Called, store: Path, words: str) -> None:
    assert told.returncode == 4, told
    assert (
        str(store) in told.stderr and words in told.stderr and "run the same again" in told.stderr
    )
    assert "fault of shiq" not in told.stderr and "Traceback" not in told.stderr


@pytest.mark.parametrize("command", ["index", "commit", "compact", "certify"])
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "not allowed"),
        (errno.EIO, "Input/output"),
    ],
)
def test_what_cannot_be_written(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, command: str, code: int, words: str
) -> None:
    store = inputs / "kg"
    indexed(inputs, store)
    before = read_manifest(store)

    def refusing(file: Path) -> None:
        raise OSError(code, os.strerror(code), str(file))

    with monkeypatch.context() as patched:
        patched.setattr(files, "sync_file", refusing)
        refused(writers(inputs, store)[command](), store, words)
    assert read_manifest(store) == before
    verify_store(store)
    for run in writers(inputs, store).values():
        assert run().returncode == 0


@pytest.mark.parametrize("full", ["stdout", "stderr"])
def test_output_that_cannot_be_printed(inputs: Path, full: str) -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("no /dev/full here")
    words = (
        ["check", "--help"]
        if full == "stdout"
        else ["check", "--store", "none", "--insert", "new.nt"]
    )
    with open("/dev/full", "wb") as device:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {full: device}
        ended = subprocess.run(
            [sys.executable, "-m", "shiq.jobs.cli", *words], check=False, **streams
        )  # type: ignore[call-overload]
    assert ended.returncode == 4
    if full == "stdout":
        assert b"the disk is full" in ended.stderr and b"fault of shiq" not in ended.stderr


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_or_device_is_written_to_and_stays(tmp_path: Path, linked: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    named = tmp_path / "link" if linked else pipe
    if linked:
        named.symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(named, "all of it")
        assert os.read(reader, 100) == b"all of it"
    finally:
        os.close(reader)
    assert pipe.is_fifo() and named.is_symlink() == linked


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 600 kB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", folder], check=False
        ).returncode
    except OSError:
        made = 1
    if made:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk(inputs: Path, small: Path) -> None:
    store = small / "kg"
    refused(writers(inputs, store)["index"](), store, "the disk is full")
    assert "never finished" in shiq("status", "--store", store).stderr
    for file in sorted(small.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    indexed(inputs, store)
    before = read_manifest(store)
    with (small / "rest").open("wb", buffering=0) as rest, pytest.raises(OSError, match="space"):
        while True:
            rest.write(b"." * 1024)
    for run in writers(inputs, store).values():
        refused(run(), store, "the disk is full")
    assert read_manifest(store) == before
    assert (
        shiq(
            "check", "--store", store, "--insert", "new.nt", "-q", "--reasoner", "own", cwd=inputs
        ).returncode
        == 0
    )
    (small / "rest").unlink()
    verify_store(store)
    assert writers(inputs, store)["commit"]().returncode == 0


def test_a_disk_that_is_read_only(inputs: Path, small: Path) -> None:
    store = small / "kg"
    indexed(inputs, store)
    subprocess.run(["mount", "-o", "remount,ro", small], check=True)
    for name, run in writers(inputs, store).items():
        if name != "index":
            refused(run(), store, "read-only")
    for place in (store, small / "another"):  # seen before any work
        told = writers(inputs, place)["index"]()
        assert (
            told.returncode,
            "Read-only file system" in told.stderr,
            str(place) in told.stderr,
        ) == (2, True, True)
    assert (
        shiq(
            "check", "--store", store, "--insert", "new.nt", "-q", "--reasoner", "own", cwd=inputs
        ).returncode
        == 0
    )
    assert shiq("status", "--store", store, "--verify").returncode == 0


# --- what compaction frees, and when --------------------------------------------------------------


def aged(store: Path, days: float) -> None:
    """As if so many days had gone by."""
    for file in store.rglob("*"):
        if file.is_file():
            then = file.stat().st_mtime - days * 24 * 3600
            os.utime(file, (then, then))


def test_what_compaction_replaces_stays_for_a_week(inputs: Path) -> None:
    """Who has opened a snapshot before reads on, though nothing of it was read by then: tables,
    look-up files, documents.
    """
    store = inputs / "kg"
    indexed(inputs, store)
    run = writers(inputs, store)
    (inputs / "gone.nt").write_text(members(3, 5))
    gone = ("check", "--store", store, "--delete", "gone.nt", "--commit", "-q", "--reasoner", "own")
    assert run["commit"]().returncode == 0 and shiq(*gone, cwd=inputs).returncode == 0
    old = [opened(store, number) for number in (1, 2, 3)]
    aged(store, 30)
    assert run["compact"]().returncode == 0
    assert [len(list(one.export())) for one in old] == [20, 21, 19]
    aged(store, 6)
    (inputs / "new.nt").write_text(members(50_000, 50_001))
    assert run["commit"]().returncode == 0 and run["compact"]().returncode == 0
    # As by a process that has read the manifest and nothing else.
    again = [Store(one.path, one.manifest) for one in old]
    assert [len(list(one.export())) for one in again] == [20, 21, 19]
    assert all(
        one.tbox.axioms and one.index_document is not None and one.leftovers == () for one in again
    )
    aged(store, 2)
    (inputs / "new.nt").write_text(members(60_000, 60_001))
    assert run["commit"]().returncode == 0 and run["compact"]().returncode == 0
    left = {str(file.relative_to(store)) for file in store.rglob("*") if file.is_file()}
    freed = {
        file.path
        for one in old
        for table in one.manifest.tables.values()
        for file in table.all_files
    }
    freed -= {
        file.path for table in read_manifest(store).tables.values() for file in table.all_files
    }
    assert freed and not freed & left
    assert not {lookup_path(name) for name in freed} & left
    verify_store(store)
    with opened(store) as present:
        assert len(list(present.export())) == 21
