"""A store that lies in no folder of this machine: what all kinds of such places have in common.

Files are read from copies on this machine (`shiq.remote.copies`). There is no lock: a manifest
is put in place on condition that what it replaces is still what the writer read, so that of two
writers one wins and the other is told.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

from shiq.errors import StoreError
from shiq.remote.copies import copies
from shiq.remote.place import BLOCK

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
    return f"{name}{_BLOCKS}/{i}"


def _bytes_at(path: Path, start: int, end: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(end - start)


def _few_spans(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Spans (a first number, and the one after the last) that hold all of the ascending
    ``numbers``, the widest gaps left out.
    """
    gaps = sorted(
        ((b - a, i + 1) for i, (a, b) in enumerate(pairwise(numbers)) if b - a > _NEAR),
        reverse=True,
    )
    cuts = sorted(i for _, i in gaps[: _MOST_REQUESTS - 1])
    return [
        (numbers[a], numbers[b - 1] + 1) for a, b in pairwise([0, *cuts, len(numbers)]) if a < b
    ]


class FileVersion(NamedTuple):
    """A file as it is at some time: its bytes, and what tells its content from another one."""

    size: int
    stamp: str


class Remote(ABC):
    """A place of files at an ``address``, as s3://BUCKET/NAME."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._name = sha256(address.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return self.address

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def __truediv__(self, name: str) -> str:
        return f"{self.address}/{name}"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.address == self.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __reduce__(self) -> tuple[type[Remote], tuple[str]]:
        return type(self), (self.address,)

    def absolute(self: R) -> R:
        """Itself, as of a path."""
        return self

    # --- files that never change ------------------------------------------------------------------

    def fetched(self, name: str, size: int | None = None) -> Path:
        """A copy of the file ``name``, of ``size`` bytes where that is known. Raises: OSError,
        StoreError.
        """
        held = copies()
        found = held.find(self._name, name, size)
        if found is not None:
            return found
        with (
            self._reached(name),
            held.making(self._name, name) as temporary,
            temporary.open("wb") as file,
        ):
            present = self._size(name)
            if size not in (None, present):
                raise OSError(
                    errno.EIO,
                    f"it has {present:,} bytes and was written with {size:,}",
                    self / name,
                )
            for part in self._parts(name, present):
                file.write(part)
        return self.fetched(name, size)

    def blocks(self, name: str, wanted: Sequence[int], size: int) -> dict[int, Path]:
        """Copies of the blocks ``wanted`` (ascending numbers) of the file ``name``, of ``size``
        bytes, which never changes. Those that are not at hand come in at most `_MOST_REQUESTS`
        requests, with what lies between. Raises: OSError, StoreError.
        """
        held, found, missing = copies(), dict[int, Path](), list[int]()
        for i in wanted:
            path = held.find(self._name, _block_name(name, i), min(BLOCK, size - i * BLOCK))
            missing += [i] if path is None else []
            found |= {i: path} if path is not None else {}
        whole = held.find(self._name, name, size) if missing else None
        for first, last in _few_spans(missing):
            start, end = first * BLOCK, min(size, last * BLOCK)
            with self._reached(name):
                content = memoryview(
                    _bytes_at(whole, start, end) if whole else self._range(name, start, end)
                )
            if len(content) != end - start:
                raise OSError(errno.EIO, f"it has other than {size:,} bytes", self / name)
            for i in range(first, last):
                with held.making(self._name, _block_name(name, i)) as temporary:
                    temporary.write_bytes(content[(i - first) * BLOCK : (i - first + 1) * BLOCK])
                found[i] = held.folder / self._name / _block_name(name, i)
        return found

    @contextmanager
    def placed(self, name: str) -> Iterator[Path]:
        """A path to write to; what is there at the end is the file ``name``, in one step, and
        its copy.

        Blocks of a file that had the name before go: a build writes the elements again once they
        are certified.
        """
        copies().drop_all(self._name, name + _BLOCKS)
        with copies().making(self._name, name) as temporary:
            yield temporary
            with self._reached(name):
                self._put(name, temporary)

    def forget(self, name: str) -> None:
        """Lets the copy of the file ``name``, and those of its blocks, go, so that it is fetched
        anew.
        """
        copies().drop(self._name, name)
        copies().drop_all(self._name, name + _BLOCKS)

    def remove(self, name: str) -> None:
        """Removes the file ``name``, if it is there, and its copy."""
        self.forget(name)
        with self._reached(name):
            self._delete(name)

    def clear(self, folder: str) -> None:
        """Removes every file below ``folder``, and their copies."""
        copies().drop_all(self._name, folder)
        with self._reached():
            self._delete_all(folder)

    @abstractmethod
    def names(self) -> Iterator[tuple[str, float]]:
        """Every file that is there, and when it was put there, in seconds."""

    @abstractmethod
    def top(self) -> list[str]:
        """The names of what is there, as of a folder's entries."""

    # --- files that may change --------------------------------------------------------------------

    @abstractmethod
    def version(self, name: str) -> FileVersion | None:
        """The file ``name`` as it is now; None if there is none. Raises: StoreError."""

    @abstractmethod
    def files(self) -> dict[str, FileVersion]:
        """Every file that is there, by name, in order. Raises: StoreError."""

    def copied(self, name: str, wanted: FileVersion, folder: str) -> Path | None:
        """A copy of the file ``name``, which was ``wanted`` when it was asked for, in a
        ``folder`` of copies; None if it is another one by now. Raises: StoreError, OSError.
        """
        held, path = copies(), f"{folder}/{name}"
        if found := held.find(self._name, path, wanted.size):
            return found
        with self._reached(name), held.making(self._name, path) as temporary:
            with temporary.open("wb") as file:
                for part in self._parts(name, wanted.size):
                    file.write(part)
            if temporary.stat().st_size != wanted.size or self.version(name) != wanted:
                return None
        return held.find(self._name, path, wanted.size)

    # --- what is replaced -------------------------------------------------------------------------

    @abstractmethod
    def read(self, name: str) -> tuple[str, str]:
        """The text of ``name`` now, and what tells it from the next one. Raises: OSError,
        StoreError.
        """

    @abstractmethod
    def stamp(self, name: str) -> str:
        """What tells ``name`` as it is now from the next one; "" if there is none. Raises:
        StoreError.
        """

    @abstractmethod
    def tried(self, name: str) -> None:
        """Finds out, by an empty file ``name``, whether writers can be kept apart here. Raises:
        StoreError if they cannot.
        """

    def exchange(self, name: str, text: str, stamp: str) -> None:
        """Puts ``text`` in the place of the ``name`` that has the ``stamp``; "" stands for none.

        Raises: StoreError if another is there by now.
        """
        try:
            # Asked again after an answer was lost, the place refuses what it has taken.
            if not self._exchanged(name, text, stamp) and self.read(name)[0] != text:
                raise self.overtaken()
        except OvertakenError:
            raise
        except StoreError as error:
            raise StoreError(
                f"{error.message}. Whether the snapshot was put in place is not known",
                "`shiq status --store DIR` says which one the store holds, once it can be reached.",
                self,
            ) from error

    def overtaken(self) -> OvertakenError:
        """What the writer is told that came second."""
        return OvertakenError(
            f"{self}: another writer has put a snapshot in place meanwhile",
            "Nothing of this one is in the store: run the same again.",
        )

    # --- how it is done ---------------------------------------------------------------------------

    @abstractmethod
    def _reached(self, name: str = "") -> AbstractContextManager[None]:
        """What goes wrong in between, said of the file ``name``. Raises: FileNotFoundError,
        StoreError.
        """

    @abstractmethod
    def _size(self, name: str) -> int:
        """The bytes of the file ``name``."""

    def _parts(self, name: str, size: int) -> Iterator[bytes]:
        """The content of the file ``name``, which has ``size`` bytes."""
        for start in range(0, size, _PART):
            yield self._range(name, start, min(start + _PART, size))

    @abstractmethod
    def _range(self, name: str, start: int, end: int) -> bytes:
        """The bytes of the file ``name`` from ``start`` on, before ``end``."""

    @abstractmethod
    def _put(self, name: str, file: Path) -> None:
        """Makes the content of ``file`` that of the file ``name``, in one step."""

    @abstractmethod
    def _delete(self, name: str) -> None:
        """Removes the file ``name``, if it is there."""

    @abstractmethod
    def _delete_all(self, folder: str) -> None:
        """Removes every file below ``folder``."""

    @abstractmethod
    def _exchanged(self, name: str, text: str, stamp: str) -> bool:
        """Whether ``text`` has come in the place of the ``name`` that has the ``stamp``."""


class OvertakenError(StoreError):
    """Another writer came first."""
