"""Base class of remote storage: files are read through the local cache, and replaced only if
unchanged.

There is no lock. A manifest is replaced on condition that it is still the one that the writer read,
so of two writers one succeeds and the other gets an error.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

from shiq.errors import StoreError
from shiq.remote.copies import BLOCK, shared_cache

R = TypeVar("R", bound="Remote")

#: What holds of a store whatever goes wrong with it.
STAYS = "What the store held before stays as it was. "
#: Bytes that one request asks for, where a file is fetched whole.
_PART = 16 << 20
#: Requests for blocks of a file at a time, and blocks between two that are wanted which cost less
#: than a request.
_MOST_REQUESTS, _NEAR = 4, 4
#: The folder of the copies of a file's blocks.
_BLOCKS = ".blocks"


def _block_name(name: str, i: int) -> str:
    """Return the name in the cache of block ``i`` of a file."""
    return f"{name}{_BLOCKS}/{i}"


def _read_bytes(path: Path, start: int, end: int) -> bytes:
    """Read the bytes ``start`` … ``end`` - 1 of a local file."""
    with path.open("rb") as file:
        file.seek(start)
        return file.read(end - start)


def _cover_by_spans(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Cover ascending block numbers by a few half-open intervals, so that few requests fetch them."""
    gaps = sorted(
        ((b - a, i + 1) for i, (a, b) in enumerate(pairwise(numbers)) if b - a > _NEAR),
        reverse=True,
    )
    cuts = sorted(i for _, i in gaps[: _MOST_REQUESTS - 1])
    return [
        (numbers[a], numbers[b - 1] + 1) for a, b in pairwise([0, *cuts, len(numbers)]) if a < b
    ]


class FileVersion(NamedTuple):
    """Size and version stamp of a remote file at one time.

    size: in bytes
    stamp: identifies the content (ETag, modification time)
    """

    size: int
    stamp: str


@dataclass(frozen=True, repr=False)
class Remote(ABC):
    """Folder in remote storage, at an ``address`` such as s3://BUCKET/NAME."""

    address: str

    @cached_property
    def _name(self) -> str:
        """The name of this folder in the cache."""
        return sha256(self.address.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return self.address

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def __truediv__(self, name: str) -> str:
        return f"{self.address}/{name}"

    def __reduce__(self) -> tuple[type[Remote], tuple[str]]:
        return type(self), (self.address,)

    def absolute(self: R) -> R:
        """Return this location itself; `pathlib.Path` has a method of the same name."""
        return self

    # --- files that never change ------------------------------------------------------------------

    @contextmanager
    def replace_file(self, name: str) -> Iterator[Path]:
        """Context manager: write the file ``name``. Yields a local path whose content is uploaded
        in one step at the end.

        The content is cached as well. Cached blocks of an earlier file of that name are dropped: a
        build rewrites the elements once they are certified.
        """
        shared_cache().drop_all(self._name, name + _BLOCKS)
        with shared_cache().create(self._name, name) as temporary:
            yield temporary
            with self._translate_errors(name):
                self._upload_file(name, temporary)

    def drop_cached(self, name: str) -> None:
        """Remove the cached copies of the file ``name`` and of its blocks."""
        shared_cache().drop(self._name, name)
        shared_cache().drop_all(self._name, name + _BLOCKS)

    def remove(self, name: str) -> None:
        """Remove the file ``name``, if it exists, and its cached copy."""
        self.drop_cached(name)
        with self._translate_errors(name):
            self._delete_file(name)

    def remove_folder(self, folder: str) -> None:
        """Remove every file below ``folder``, and the cached copies."""
        shared_cache().drop_all(self._name, folder)
        with self._translate_errors():
            self._delete_folder(folder)

    @abstractmethod
    def files_with_times(self) -> Iterator[tuple[str, float]]:
        """Yield all files as (name, modification time in seconds)."""

    @abstractmethod
    def top_level_names(self) -> list[str]:
        """List the names of the files and folders at the top level."""

    # --- files that may change --------------------------------------------------------------------

    @abstractmethod
    def file_version(self, name: str) -> FileVersion | None:
        """Return size and version stamp of the file ``name``; None if there is none. Raises:
        StoreError.
        """

    @abstractmethod
    def file_versions(self) -> dict[str, FileVersion]:
        """Return size and version stamp of all files by name, in order. Raises: StoreError."""

    # --- what is replaced -------------------------------------------------------------------------

    @abstractmethod
    def read_with_stamp(self, name: str) -> tuple[str, str]:
        """Read the text of the mutable file ``name``, with its version stamp. Raises: OSError,
        StoreError.
        """

    @abstractmethod
    def version_stamp(self, name: str) -> str:
        """Return the version stamp of the file ``name``; "" if there is none. Raises: StoreError."""

    @abstractmethod
    def check_conditional_writes(self, name: str) -> None:
        """Test, with an empty file ``name``, that the storage supports conditional writes.

        Raises: StoreError if it does not.
        """

    def compare_and_swap(self, name: str, text: str, stamp: str) -> None:
        """Replace the file ``name`` by ``text`` only if its version stamp still is ``stamp``.

        Args:
        stamp: "" for a file that must not exist yet

        Raises: StoreError if another writer was first.
        """
        try:
            # Asked again after an answer was lost, the place refuses what it has taken.
            if (
                not self._swap_if_unchanged(name, text, stamp)
                and self.read_with_stamp(name)[0] != text
            ):
                raise self.conflict_error()
        except WriteConflictError:
            raise
        except StoreError as error:
            raise StoreError(
                f"{error.message}. Whether the snapshot was put in place is not known",
                "`shiq status --store DIR` says which one the store holds, once it can be reached.",
                self,
            ) from error

    def conflict_error(self) -> WriteConflictError:
        """Make the error for a writer that lost the race against another one."""
        return WriteConflictError(
            f"{self}: another writer has put a snapshot in place meanwhile",
            "Nothing of this one is in the store: run the same again.",
        )

    # --- how it is done ---------------------------------------------------------------------------

    @abstractmethod
    def _translate_errors(self, name: str = "") -> AbstractContextManager[None]:
        """Context manager: turn errors of the client library into errors that name the file
        ``name``.

        Raises: FileNotFoundError, StoreError.
        """

    def _read_parts(self, name: str, size: int) -> Iterator[bytes]:
        """Read the file ``name``, of ``size`` bytes, in pieces of bounded size."""
        for start in range(0, size, _PART):
            yield self._read_range(name, start, min(start + _PART, size))

    @abstractmethod
    def _read_range(self, name: str, start: int, end: int) -> bytes:
        """Read the bytes ``start`` … ``end`` - 1 of the file ``name``."""

    @abstractmethod
    def _upload_file(self, name: str, file: Path) -> None:
        """Upload the local ``file`` as ``name``, in one step."""

    @abstractmethod
    def _delete_file(self, name: str) -> None:
        """Delete the file ``name``, if it exists."""

    @abstractmethod
    def _delete_folder(self, folder: str) -> None:
        """Delete every file below ``folder``."""

    @abstractmethod
    def _swap_if_unchanged(self, name: str, text: str, stamp: str) -> bool:
        """Replace the file ``name`` by ``text`` if its version stamp still is ``stamp``; False if
        it is another.
        """


# --- files through the local cache ----------------------------------------------------------------


def fetch_file(place: Remote, name: str, size: int | None = None) -> Path:
    """Return the path of a cached copy of the file ``name`` of ``place``, which has ``size`` bytes if
    known. Raises: OSError, StoreError.
    """
    held = shared_cache()
    found = held.find(place._name, name, size)
    if found is not None:
        return found
    with place._translate_errors(name), held.create(place._name, name) as temporary:
        present = place.file_version(name)
        if present is None:
            raise FileNotFoundError(name)
        if size not in (None, present.size):
            raise OSError(
                errno.EIO,
                f"it has {present.size:,} bytes and was written with {size:,}",
                place / name,
            )
        _write_parts(place, name, present.size, temporary)
    return fetch_file(place, name, size)


def copy_version(place: Remote, name: str, wanted: FileVersion, folder: str) -> Path | None:
    """Copy the version ``wanted`` of the file ``name`` of ``place`` into the cache ``folder``, and
    return the path.

    Returns: None if the file has changed since. Raises: StoreError, OSError.
    """
    held, path = shared_cache(), f"{folder}/{name}"
    if found := held.find(place._name, path, wanted.size):
        return found
    with place._translate_errors(name), held.create(place._name, path) as temporary:
        _write_parts(place, name, wanted.size, temporary)
        if temporary.stat().st_size != wanted.size or place.file_version(name) != wanted:
            return None
    return held.find(place._name, path, wanted.size)


def _write_parts(place: Remote, name: str, size: int, path: Path) -> None:
    """Write the file ``name`` of ``place``, of ``size`` bytes, to a local path."""
    with path.open("wb") as file:
        for part in place._read_parts(name, size):
            file.write(part)


def fetch_blocks(place: Remote, name: str, wanted: Sequence[int], size: int) -> dict[int, Path]:
    """Return, by block number, the paths of cached copies of the ``wanted`` blocks of the immutable
    file ``name`` of ``place``.

    Missing blocks are fetched in at most `_MOST_REQUESTS` requests, with the blocks between them.

    Args:
    size: bytes of the whole file

    Raises: OSError, StoreError.
    """
    held, found, missing = shared_cache(), dict[int, Path](), list[int]()
    for i in wanted:
        path = held.find(place._name, _block_name(name, i), min(BLOCK, size - i * BLOCK))
        missing += [i] if path is None else []
        found |= {i: path} if path is not None else {}
    whole = held.find(place._name, name, size) if missing else None
    for first, last in _cover_by_spans(missing):
        start, end = first * BLOCK, min(size, last * BLOCK)
        with place._translate_errors(name):
            content = memoryview(
                _read_bytes(whole, start, end) if whole else place._read_range(name, start, end)
            )
        if len(content) != end - start:
            raise OSError(errno.EIO, f"it has other than {size:,} bytes", place / name)
        for i in range(first, last):
            with held.create(place._name, _block_name(name, i)) as temporary:
                temporary.write_bytes(content[(i - first) * BLOCK : (i - first + 1) * BLOCK])
            found[i] = held.folder / place._name / _block_name(name, i)
    return found


class WriteConflictError(StoreError):
    """Another writer has replaced the file in the meantime."""
