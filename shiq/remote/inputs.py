"""Read inputs in object stores and HDFS: each is copied to this machine, all of it as of one point
in time.

The content of a copy is identified by ETag, time or size, so equal content is fetched once. Code
that reads an input twice does so inside `pin_inputs`; there, an address whose content changed is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from shiq.errors import InputError, StoreError
from shiq.inputs.folders import DELTA_LOG, is_ignored_in_table
from shiq.remote.place import parse_location
from shiq.remote.remote import STAYS, copy_version

if TYPE_CHECKING:
    from shiq.remote.endpoint import EndpointSnapshot
    from shiq.remote.remote import FileVersion, Remote

#: Files that a prefix may have.
_MOST_FILES = 100_000
_CHECK = "Check the address."
#: What was read of each address, in the present moment; None outside of one.
_moment: dict[str, str | EndpointSnapshot] | None = None


@contextmanager
def pin_inputs() -> Iterator[None]:
    """Context manager: in the body each remote address has one content. Reading a file that changed
    meanwhile raises InputError.
    """
    global _moment  # noqa: PLW0603 - threads that read the same input share the moment
    before = _moment
    _moment = {} if before is None else before
    try:
        yield
    finally:
        _moment = before


def local_copy(address: str) -> Path:
    """Copy the file at ``address`` as it is now, and return the path of the copy; for a prefix that
    is a table, a folder of its files.

    Raises: InputError if it is missing, unreachable, or changed while it is read.
    """
    with _as_input_errors(address):
        place, name = _split_address(address)
        found = None if address.endswith("/") else place.file_version(name)
        if found is not None:
            _record_stamp(address, found.stamp)
            return _copy_file(place, name, found, _address_digest(found.stamp))
        below, files = _files_below(address)
        if not _is_table_folder(files):
            raise InputError(
                f"{address} is a prefix with {len(files):,} files", "Give the address of one file."
            )
        copy = _copy_files(below, files, address)
        if below.file_versions() != files:
            raise _changed_error(address)
        return copy


def endpoint_copy(address: str) -> EndpointSnapshot:
    """Fetch the triples of a SPARQL endpoint, once in the body of `pin_inputs`. Raises: InputError,
    UsageError.
    """
    from shiq.remote.endpoint import read_endpoint

    known = (_moment or {}).get(address)
    found = read_endpoint(address) if known is None or isinstance(known, str) else known
    if _moment is not None:
        _moment[address] = found
    return found


def folder_copy(address: str) -> Path:
    """Copy all files below ``address`` to a local folder. Raises: InputError."""
    with _as_input_errors(address):
        place, files = _files_below(address)
        return _copy_files(place, files, address.rstrip("/"))


def inputs_at(address: str) -> list[str]:
    """List the addresses of the inputs at ``address``: itself if it is a file or table, else the
    files below.

    Hidden files and marker files (``_SUCCESS``) are left out. Raises: InputError.
    """
    with _as_input_errors(address):
        place, name = _split_address(address)
        if not address.endswith("/") and place.file_version(name) is not None:
            return [address]
        _, files = _files_below(address)
        if _is_table_folder(files):
            return [address.rstrip("/")]
        names = [
            name for name in files if not any(map(is_ignored_in_table, PurePosixPath(name).parts))
        ]
        if not names:
            raise InputError(f"{address} has no file but hidden ones", _CHECK)
        return [f"{address.rstrip('/')}/{name}" for name in names]


def is_remote_folder(address: str) -> bool:
    """Decide whether ``address`` is a folder (key prefix) and not a file. Raises: InputError."""
    with _as_input_errors(address):
        place, name = _split_address(address)
        return address.endswith("/") or place.file_version(name) is None


def _split_address(address: str) -> tuple[Remote, str]:
    """Split ``address`` into its remote storage and the name of the file there."""
    parent, _, name = address.rstrip("/").rpartition("/")
    return _remote_storage(parent), name


def _remote_storage(address: str) -> Remote:
    """Return the remote storage that an address lies in. Raises: InputError."""
    place = parse_location(address)
    if isinstance(place, Path):
        raise InputError(f"{address} is no address of a file", _CHECK)
    return place


def _files_below(address: str) -> tuple[Remote, dict[str, FileVersion]]:
    """List the files below an address, with their versions. Raises: InputError."""
    place = _remote_storage(address.rstrip("/"))
    files = place.file_versions()
    if not files:
        raise InputError(f"{address} does not exist", _CHECK)
    if len(files) > _MOST_FILES:
        raise InputError(f"{address} has over {_MOST_FILES:,} files", "Name a smaller part of it.")
    return place, files


def _is_table_folder(files: dict[str, FileVersion]) -> bool:
    """Decide whether the files of a folder form a table (Delta or Parquet)."""
    return any(
        name.startswith(f"{DELTA_LOG}/")
        or (
            name.lower().endswith(".parquet")
            and not any(map(is_ignored_in_table, PurePosixPath(name).parts))
        )
        for name in files
    )


def _copy_file(place: Remote, name: str, found: FileVersion, digest: str) -> Path:
    """Copy the version ``found`` of a file to the cache. Raises: InputError if it has changed."""
    copy = copy_version(place, name, found, digest)
    if copy is None:
        raise _changed_error(place / name)
    return copy


def _copy_files(place: Remote, files: dict[str, FileVersion], address: str) -> Path:
    """Copy the files below ``address`` to the cache, as of one time. Return the folder of the copies.
    Raises: InputError if they have changed.
    """
    digest = _address_digest("\n".join(f"{name} {found.stamp}" for name, found in files.items()))
    _record_stamp(address, digest)
    copies = [_copy_file(place, name, found, digest) for name, found in files.items()]
    return copies[0].parents[len(PurePosixPath(next(iter(files))).parts) - 1]


def _address_digest(text: str) -> str:
    """Hash an address or stamp to a short name for a folder."""
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _record_stamp(address: str, stamp: str) -> None:
    """Record the version of an address in this `pin_inputs`; refuse one that differs from the
    recorded one. Raises: InputError.
    """
    if _moment is not None and _moment.setdefault(address, stamp) != stamp:
        raise _changed_error(address)


def _changed_error(address: str) -> InputError:
    """Make the error for a file that changed while it was read."""
    return InputError(
        f"{address} was changed while it was read", "Run the same again, when nobody writes to it."
    )


@contextmanager
def _as_input_errors(address: str) -> Iterator[None]:
    """Context manager: turn errors of the storage into InputErrors about ``address``."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{address} does not exist", _CHECK) from error
    except StoreError as error:
        raise InputError(error.message, error.remedy.removeprefix(STAYS)) from error
    except OSError as error:
        raise InputError(f"{address} cannot be read: {error.strerror or error}", _CHECK) from error
