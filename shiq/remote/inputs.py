"""Inputs in object stores and in Hadoop's file system: each is copied to this machine as it was
at one moment, and read there.

A copy goes by what tells the content from another one (ETag, time, size), so the same content is
fetched once. Whoever reads an input twice does so inside `at_one_moment`: there a name stands
for one content, and one that was changed is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from shiq.errors import InputError, StoreError
from shiq.folders import DELTA_LOG, is_apart
from shiq.remote.place import place_of
from shiq.remote.remote import STAYS

if TYPE_CHECKING:
    from shiq.remote.remote import FileVersion, Remote

#: Files that a prefix may have.
_MOST_FILES = 100_000
_CHECK = "Check the address."
#: What was read of each address, in the present moment; None outside of one.
_moment: dict[str, str] | None = None


@contextmanager
def at_one_moment() -> Iterator[None]:
    """Lets an address stand for one content inside: reading another one raises InputError."""
    global _moment  # noqa: PLW0603 - threads that read the same input share the moment
    before = _moment
    _moment = {} if before is None else before
    try:
        yield
    finally:
        _moment = before


def local_copy(address: str) -> Path:
    """A copy of the file at ``address`` as it is now; of a prefix that is one table, a folder of
    copies of its files.

    Raises: InputError if there is none, it cannot be reached, or is changed while it is read.
    """
    with _as_input(address):
        place, name = _inside(address)
        found = None if address.endswith("/") else place.version(name)
        if found is not None:
            _keep_moment(address, found.stamp)
            return _copied(place, name, found, _digest(found.stamp))
        below, files = _below(address)
        if not _is_table(files):
            raise InputError(
                f"{address} is a prefix with {len(files):,} files", "Give the address of one file."
            )
        digest = _digest("\n".join(f"{name} {found.stamp}" for name, found in files.items()))
        _keep_moment(address, digest)
        copies = [_copied(below, name, found, digest) for name, found in files.items()]
        if below.files() != files:
            raise _changed(address)
        return _root_of(copies[0], next(iter(files)))


def folder_copy(address: str) -> Path:
    """A folder of copies of all files below ``address``. Raises: InputError."""
    with _as_input(address):
        place, files = _below(address)
        digest = _digest("\n".join(f"{name} {found.stamp}" for name, found in files.items()))
        _keep_moment(address.rstrip("/"), digest)
        copies = [_copied(place, name, found, digest) for name, found in files.items()]
        return _root_of(copies[0], next(iter(files)))


def inputs_at(address: str) -> list[str]:
    """The addresses of all inputs that ``address`` stands for: of itself, if it is a file or a
    table, else of each file below, hidden ones and those that their names set apart
    (``_SUCCESS``) left out. Raises: InputError.
    """
    with _as_input(address):
        place, name = _inside(address)
        if not address.endswith("/") and place.version(name) is not None:
            return [address]
        _, files = _below(address)
        if _is_table(files):
            return [address.rstrip("/")]
        names = [name for name in files if not any(map(is_apart, PurePosixPath(name).parts))]
        if not names:
            raise InputError(f"{address} has no file but hidden ones", _CHECK)
        return [f"{address.rstrip('/')}/{name}" for name in names]


def is_prefix(address: str) -> bool:
    """Whether ``address`` is no file. Raises: InputError."""
    with _as_input(address):
        place, name = _inside(address)
        return address.endswith("/") or place.version(name) is None


def _inside(address: str) -> tuple[Remote, str]:
    """The place around what is at ``address``, and its name there."""
    parent, _, name = address.rstrip("/").rpartition("/")
    return _remote(parent), name


def _remote(address: str) -> Remote:
    place = place_of(address)
    if isinstance(place, Path):
        raise InputError(f"{address} is no address of a file", _CHECK)
    return place


def _below(address: str) -> tuple[Remote, dict[str, FileVersion]]:
    place = _remote(address.rstrip("/"))
    files = place.files()
    if not files:
        raise InputError(f"{address} does not exist", _CHECK)
    if len(files) > _MOST_FILES:
        raise InputError(f"{address} has over {_MOST_FILES:,} files", "Name a smaller part of it.")
    return place, files


def _is_table(files: dict[str, FileVersion]) -> bool:
    return any(
        name.startswith(f"{DELTA_LOG}/")
        or (name.lower().endswith(".parquet") and not any(map(is_apart, PurePosixPath(name).parts)))
        for name in files
    )


def _copied(place: Remote, name: str, found: FileVersion, digest: str) -> Path:
    copy = place.copied(name, found, digest)
    if copy is None:
        raise _changed(place / name)
    return copy


def _root_of(copy: Path, name: str) -> Path:
    return copy.parents[len(PurePosixPath(name).parts) - 1]


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _keep_moment(address: str, stamp: str) -> None:
    if _moment is not None and _moment.setdefault(address, stamp) != stamp:
        raise _changed(address)


def _changed(address: str) -> InputError:
    return InputError(
        f"{address} was changed while it was read", "Run the same again, when nobody writes to it."
    )


@contextmanager
def _as_input(address: str) -> Iterator[None]:
    """Says of what goes wrong inside that it is an input. Raises: InputError."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{address} does not exist", _CHECK) from error
    except StoreError as error:
        raise InputError(error.message, error.remedy.removeprefix(STAYS)) from error
    except OSError as error:
        raise InputError(f"{address} cannot be read: {error.strerror or error}", _CHECK) from error
