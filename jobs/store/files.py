"""The files of a store: written whole and durably under their final names, and believed only as
they were written.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shiq.errors import BUILD_ANEW, StoreError
from shiq.remote.place import BLOCK as DIGESTED
from shiq.remote.place import Place, file_at

#: What to do where a file of a store cannot be read.
MOVED = f"The store was rebuilt meanwhile (open it again), or files are missing (build it again: {BUILD_ANEW})."
#: What to do where a file of a store is damaged.
DAMAGED = (
    "`shiq status --store DIR --verify` names every damaged file, and `shiq compact --store DIR` writes tables anew of which a "
    f"whole copy is left. Else put the store back from a backup, or build it again: {BUILD_ANEW}."
)

#: What to do where a copy of one is.
COPIED = (
    "The copy was removed: run the same again, and it is fetched anew. `shiq status --store DIR --verify` fetches all anew, "
    "as others may be damaged too, and names what is damaged in the store itself."
)


#: The folder of files that tables share.
SHARED = "tables/commit"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a snapshot, or the rows of one table in a file that several tables share.

    path: within the store. bytes, sha256: of the file. In a place that is no folder also
    ``digests``, the CRC-32 of each `DIGESTED` bytes of it. start, rows: the first row, and how
    many there are. low, high: the first key and the last; None where there are no rows, or the
    file was written without. lookup: bytes of its look-up file, or of its part of a shared one,
    which begins at ``lookup_at``; 0 where it has none. lookup_digest: of the digests of the
    blocks of these (`jobs.store.blocks`).
    """

    path: str
    bytes: int
    rows: int = 0
    sha256: str = ""
    lookup: int = 0
    lookup_digest: str = ""
    low: int | None = None
    high: int | None = None
    start: int = 0
    lookup_at: int = 0
    digests: str = ""

    @property
    def is_shared(self) -> bool:
        """Whether tables share it."""
        return self.path.startswith(f"{SHARED}/")


def is_store(folder: Path) -> bool:
    """Whether a store lies in ``folder``, be it unfinished or damaged."""
    if not folder.is_dir():
        return False
    # Loaded where there is a folder: most runs name files.
    from jobs.store.lock import LOCK
    from jobs.store.manifest import MANIFEST, TABLES

    return (folder / TABLES).is_dir() and (
        (folder / MANIFEST).is_file() or (folder / LOCK).is_file()
    )


@contextmanager
def writable(store: Place) -> Iterator[None]:
    """Says of what goes wrong in writing below ``store`` what it is and what to do. Raises:
    StoreError.
    """
    try:
        yield
    except ConnectionError:
        raise
    except OSError as error:
        what = _REFUSED.get(error.errno or 0, error.strerror or str(error))
        raise StoreError(
            f"{error.filename or store}: cannot be written: {what}",
            "What the store held before stays as it was. Put that right (room on the disk, the right to write) and run the same "
            "again, or name another place.",
        ) from error


_REFUSED = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of the disk is used up",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "writing there is not allowed",
    errno.EPERM: "writing there is not allowed",
    errno.EFBIG: "a file may not be that large there",
}


@contextmanager
def placed(
    store: Place, name: str, temporary: Path | None = None, *, durable: bool = True
) -> Iterator[Path]:
    """A path to write to; what is there at the end is the file ``name`` of the store, in one
    step, durably, unless it need not outlive the machine. Without ``temporary`` the path is
    nobody else's: a task may be run twice at once.
    """
    if not isinstance(store, Path):
        with store.placed(name) as path:
            yield path
        return
    path = store / name
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary or path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield temporary
        if durable:
            sync_file(temporary)
        os.replace(temporary, path)
        if durable:
            sync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def described(store: Place, name: str, rows: int = 0) -> DataFile:
    """The file ``name`` of the store as a manifest names it."""
    size, digest, digests = _digest(file_at(store, name))
    return DataFile(name, size, rows, digest, digests="" if isinstance(store, Path) else digests)


def write_json(store: Place, folder: str, name: str, value: object) -> DataFile:
    """Writes ``value`` below ``folder`` of the store, under ``name`` and a digest of its content."""
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    digest = hashlib.sha256(content).hexdigest()
    path = f"{folder}/{name}-{digest[:16]}.json"
    with placed(store, path) as temporary:
        temporary.write_bytes(content)
    return DataFile(path, len(content), sha256=digest)


def read_json(store: Place, file: DataFile) -> object:
    """What `write_json` wrote. Raises: StoreError unless it is there as it was written."""
    try:
        path = file_at(store, file.path, file.bytes)
        content = path.read_bytes()
    except OSError as error:
        raise unreadable(store, file, error) from error
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise damaged(path, store=store)
    return json.loads(content)


def verify(store: Place, file: DataFile) -> None:
    """Raises: StoreError unless ``file`` is as it was written, as far as that is known."""
    try:
        path = file_at(store, file.path)
        size, digest, _ = _digest(path) if file.sha256 else (path.stat().st_size, "", "")
    except OSError as error:
        raise unreadable(store, file, error) from error
    if (size, digest) != (file.bytes, file.sha256):
        raise damaged(path, store=store)


def unreadable(store: Place, file: DataFile, error: OSError) -> StoreError:
    """What is said of a ``file`` that could not be read."""
    return StoreError(f"{store / file.path}: cannot be read ({error.strerror})", MOVED, store)


def damaged(
    path: Path, what: str = "it is not as it was written", store: Place | str = ""
) -> StoreError:
    """What is said of a file of ``store`` at ``path`` that is not as it was written. A copy
    goes, so that it is fetched anew.
    """
    # Loaded where something is damaged, or far.
    from shiq.remote.copies import is_copy

    if is_copy(path):
        path.unlink(missing_ok=True)
        return StoreError(
            f"{path}: the copy of a file of the store is damaged ({what})", COPIED, store
        )
    root = store or next(
        (folder for folder in path.parents if (folder / "store.json").exists()), ""
    )
    return StoreError(f"{path}: the file is damaged ({what})", DAMAGED, root)


def _digest(path: Path) -> tuple[int, str, str]:
    """The bytes of a file, its digest, and those of its parts."""
    size, found, digests = 0, hashlib.sha256(), list[str]()
    with path.open("rb") as source:
        while part := source.read(DIGESTED):
            size += len(part)
            found.update(part)
            digests.append(part_digest(part))
    return size, found.hexdigest(), "".join(digests)


def part_digest(part: bytes) -> str:
    """The digest of a part of a file, in eight letters."""
    return f"{zlib.crc32(part):08x}"


def sync_directory(directory: Path) -> None:
    """Makes renames and new files within ``directory`` durable."""
    sync_file(directory)


def sync_file(file: Path) -> None:
    handle = os.open(file, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
