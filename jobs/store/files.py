"""Files of a store: written durably under their final names, and verified when they are read."""

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
from datetime import datetime, timezone
from pathlib import Path

from shiq.errors import BUILD_ANEW, StoreError
from shiq.remote.copies import BLOCK as DIGESTED
from shiq.remote.place import StoreLocation, local_file

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


#: The file that names the snapshot of a store, and the folder of its tables.
MANIFEST, TABLES = "store.json", "tables"
#: The folder of rows that checks leave (`shiq.jobs.history`).
HISTORY = "history"
#: The folder of files that tables share.
SHARED = "tables/commit"


@dataclass(frozen=True, slots=True)
class DataFile:
    """Description of a file of a snapshot, or of the rows that one table has in a file shared by
    several tables.

    path: within the store.
    bytes, sha256: of the file.
    rows, start: number of rows, and the first one in a shared file.
    low, high: first and last key; None without rows, or for old files.
    lookup: bytes of its look-up file or of its part in a shared one; 0 if there is none.
    lookup_at: offset of that part.
    lookup_digest: digest of the block digests (`shiq.jobs.store.lookup`).
    digests: CRC-32 of each `DIGESTED` bytes; in object stores only.
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
        """Whether several tables share the file."""
        return self.path.startswith(f"{SHARED}/")


def is_store(folder: Path) -> bool:
    """Whether ``folder`` holds a store; True also for an unfinished or damaged one."""
    if not folder.is_dir():
        return False
    return (folder / TABLES).is_dir() and (
        (folder / MANIFEST).is_file() or (folder / LOCK).is_file()
    )


@contextmanager
def report_store_errors(store: StoreLocation) -> Iterator[None]:
    """Context manager: turn an OSError about a file of ``store`` into a StoreError with a remedy."""
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
def stage_file(
    store: StoreLocation, name: str, temporary: Path | None = None, *, durable: bool = True
) -> Iterator[Path]:
    """Context manager: a temporary path whose content becomes the file ``name`` of the store in one
    step.

    durable: sync it to disk. temporary: a fixed path; by default a unique one, since a task may run
        twice at once.
    """
    if not isinstance(store, Path):
        with store.replace_file(name) as path:
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


def describe_file(store: StoreLocation, name: str, rows: int = 0) -> DataFile:
    """Describe the file ``name`` for a manifest: size, digest, rows."""
    size, digest, digests = _digest(local_file(store, name))
    return DataFile(name, size, rows, digest, digests="" if isinstance(store, Path) else digests)


def write_json(store: StoreLocation, folder: str, name: str, value: object) -> DataFile:
    """Write ``value`` as JSON; its file is named after ``name`` and a digest of the content."""
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    digest = hashlib.sha256(content).hexdigest()
    path = f"{folder}/{name}-{digest[:16]}.json"
    with stage_file(store, path) as temporary:
        temporary.write_bytes(content)
    return DataFile(path, len(content), sha256=digest)


def read_json(store: StoreLocation, file: DataFile) -> object:
    """Read a file of `write_json`. Raises: StoreError if it is missing or damaged."""
    try:
        path = local_file(store, file.path, file.bytes)
        content = path.read_bytes()
    except OSError as error:
        raise unreadable_error(store, file, error) from error
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise damage_error(path, store=store)
    return json.loads(content)


def verify(store: StoreLocation, file: DataFile) -> None:
    """Verify a file by size and digest. Raises: StoreError."""
    try:
        path = local_file(store, file.path)
        size, digest, _ = _digest(path) if file.sha256 else (path.stat().st_size, "", "")
    except OSError as error:
        raise unreadable_error(store, file, error) from error
    if (size, digest) != (file.bytes, file.sha256):
        raise damage_error(path, store=store)


def unreadable_error(store: StoreLocation, file: DataFile, error: OSError) -> StoreError:
    """Error for a file that cannot be read."""
    return StoreError(f"{store / file.path}: cannot be read ({error.strerror})", MOVED, store)


def damage_error(
    path: Path, what: str = "it is not as it was written", store: StoreLocation | str = ""
) -> StoreError:
    """Make the error for a damaged file of a store. If it is a local copy of a remote file, delete
    it, so that it is fetched again.
    """
    # Loaded where something is damaged, or far.
    from shiq.remote.copies import is_cached_file

    if is_cached_file(path):
        path.unlink(missing_ok=True)
        return StoreError(
            f"{path}: the copy of a file of the store is damaged ({what})", COPIED, store
        )
    root = store or next(
        (folder for folder in path.parents if (folder / "store.json").exists()), ""
    )
    return StoreError(f"{path}: the file is damaged ({what})", DAMAGED, root)


def _digest(path: Path) -> tuple[int, str, str]:
    """Compute the size of a file in bytes, its SHA-256, and the CRC-32 of each of its blocks."""
    size, found, digests = 0, hashlib.sha256(), list[str]()
    with path.open("rb") as source:
        while part := source.read(DIGESTED):
            size += len(part)
            found.update(part)
            digests.append(part_digest(part))
    return size, found.hexdigest(), "".join(digests)


def part_digest(part: bytes) -> str:
    """CRC-32 of one block of a file, as eight hexadecimal digits."""
    return f"{zlib.crc32(part):08x}"


def sync_directory(directory: Path) -> None:
    """Make renames and new files in ``directory`` durable (fsync). Does nothing on Windows, which
    cannot open folders.
    """
    if os.name != "nt":
        sync_file(directory)


def sync_file(file: Path) -> None:
    """Make the content of ``file`` durable."""
    handle = os.open(file, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# Writer lock of a store: an advisory lock that the kernel releases when its holder dies.


LOCK = "lock"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@contextmanager
def hold_write_lock(store: StoreLocation) -> Iterator[None]:
    """Context manager: hold the writer lock of ``store``. Does nothing for a store in an object
    store.
    """
    if not isinstance(store, Path):
        with report_store_errors(store):
            yield
        return
    with report_store_errors(store):
        file = os.open(store / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            _take_lock(file)
        except (BlockingIOError, PermissionError):
            raise StoreError(
                f"{store}: another writer is at work ({_holder(file)})",
                "Wait until it has ended, then try again.",
            ) from None
        with report_store_errors(store):
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, json.dumps(_identity()).encode())
            yield
    finally:
        os.close(file)


def _take_lock(file: int) -> None:
    """Lock an open file for this process. Raises: OSError if another one has it."""
    try:
        import fcntl
    except ImportError:  # Windows: a byte behind the text is locked, which stays readable
        import msvcrt

        os.lseek(file, 1 << 20, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _identity() -> dict[str, object]:
    """Describe this process for other writers: process id, boot id of the machine, and present
    time.
    """
    boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
    return {
        "process": os.getpid(),
        "boot": boot,
        "since": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def _holder(file: int) -> str:
    """Text that names the process holding the lock, and since when, for messages."""
    try:
        os.lseek(file, 0, os.SEEK_SET)
        told = json.loads(os.read(file, 4096))
        return f"process {told['process']}, since {told['since']}"
    except (ValueError, KeyError, TypeError):
        return "it has not given its name yet"
