"""Stores and files in object storage: S3 and compatible services, Google Cloud Storage, Azure.

The usual variables (AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, …) set endpoint and access. A
manifest is replaced under the object store's own conditions (If-Match, If-None-Match).
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shiq.errors import OperationalError, StoreError
from shiq.remote.remote import STAYS, FileVersion, Remote

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_RETRIES: Any = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}
_TIMES: dict[str, Any] = {
    "connect_timeout": timedelta(seconds=10),
    "timeout": timedelta(seconds=120),
}
#: What object stores call a bucket that is not there.
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")
_REACH = (
    f"{STAYS}Is the address right, and do the variables say where it is and who you are: for "
    "S3 AWS_ENDPOINT_URL (http://… or https://…, AWS_ALLOW_HTTP=true for http), AWS_REGION, AWS_ACCESS_KEY_ID, "
    "AWS_SECRET_ACCESS_KEY?"
)


class Bucket(Remote):
    """A folder (key prefix) in an object store, by its ``address`` as s3://BUCKET/NAME."""

    @cached_property
    def _library(self) -> ModuleType:
        """The client library for object stores. Raises: OperationalError if it is missing."""
        try:
            import obstore
        except ImportError as error:
            raise OperationalError(
                f"{self}: the library for object stores is missing",
                "Install it: pip install 'shiq[cloud]', or obstore.",
            ) from error
        return obstore

    @cached_property
    def _objects(self) -> ObjectStore:
        """The client of this object store."""
        from_url = self._library.store.from_url
        with self._translate_errors():
            # Options that are given take the place of all that variables say.
            client: Any = {
                **_TIMES,
                "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower()
                in ("1", "true", "yes", "on"),
            }
            return from_url(self.address, retry_config=_RETRIES, client_options=client)

    def files_with_times(self) -> Iterator[tuple[str, float]]:
        """See `Remote.files_with_times`."""
        with self._translate_errors():
            for some in self._library.list(self._objects):
                yield from ((entry["path"], entry["last_modified"].timestamp()) for entry in some)

    def top_level_names(self) -> list[str]:
        """See `Remote.top_level_names`."""
        with self._translate_errors():
            found = self._library.list_with_delimiter(self._objects)
            return sorted(
                [*found["common_prefixes"], *(entry["path"] for entry in found["objects"])]
            )

    def file_version(self, name: str) -> FileVersion | None:
        """See `Remote.file_version`."""
        try:
            with self._translate_errors(name):
                return _file_version(self._library.head(self._objects, name))
        except FileNotFoundError:
            return None

    def file_versions(self) -> dict[str, FileVersion]:
        """See `Remote.file_versions`. An empty object whose name ends with a slash is a folder."""
        with self._translate_errors():
            found = [entry for some in self._library.list(self._objects) for entry in some]
        folders = {entry["path"].rpartition("/")[0] for entry in found}
        files = (
            x
            for x in sorted(found, key=itemgetter("path"))
            if x["size"] or x["path"] not in {"", *folders}
        )
        return {entry["path"]: _file_version(entry) for entry in files}

    def read_with_stamp(self, name: str) -> tuple[str, str]:
        """See `Remote.read_with_stamp`."""
        with self._translate_errors(name):
            found = self._library.get(self._objects, name)
            return bytes(found.bytes()).decode(), _version_stamp(found.meta)

    def version_stamp(self, name: str) -> str:
        """See `Remote.version_stamp`."""
        try:
            with self._translate_errors(name):
                return _version_stamp(self._library.head(self._objects, name))
        except FileNotFoundError:
            return ""

    def check_conditional_writes(self, name: str) -> None:
        """See `Remote.check_conditional_writes`: tests that the object store honours conditions."""
        with self._translate_errors(name):
            self._library.put(self._objects, name, b"")
        for stamp in ("", _version_stamp({"e_tag": '"another"', "version": "1"})):
            if self._swap_if_unchanged(name, "", stamp):
                raise StoreError(
                    f"{self}: the object store ignores conditions (If-Match, If-None-Match), so that writers could undo one "
                    "another",
                    "Use one that heeds them, or a folder.",
                )

    def _swap_if_unchanged(self, name: str, text: str, stamp: str) -> bool:
        """Write a file if its version stamp still is ``stamp``; False if it is another."""
        refused = self._library.exceptions
        try:
            with self._translate_errors(name):
                self._library.put(self._objects, name, text.encode(), mode=_write_condition(stamp))
        except (refused.AlreadyExistsError, refused.PreconditionError):
            return False
        return True

    def _read_range(self, name: str, start: int, end: int) -> bytes:
        """Read the bytes ``start`` … ``end`` - 1 of a file."""
        return bytes(self._library.get_range(self._objects, name, start=start, end=end))

    def _upload_file(self, name: str, file: Path) -> None:
        """Upload a file."""
        self._library.put(self._objects, name, file)

    def _delete_file(self, name: str) -> None:
        """Delete a file."""
        self._library.delete(self._objects, name)

    def _delete_folder(self, folder: str) -> None:
        """Delete every file below a folder."""
        for some in self._library.list(self._objects, prefix=folder):
            self._library.delete(self._objects, [entry["path"] for entry in some])

    @contextmanager
    def _translate_errors(self, name: str = "") -> Iterator[None]:
        """Context manager: turn errors of the client library into errors that name the file.
        Raises: FileNotFoundError, StoreError.
        """
        refused = self._library.exceptions
        where = self / name if name else str(self)
        try:
            yield
        except FileNotFoundError as error:
            self._refuse_missing_bucket(error)
            raise FileNotFoundError(errno.ENOENT, "it is not there", where) from error
        except (refused.AlreadyExistsError, refused.PreconditionError):
            raise
        except refused.BaseError as error:
            self._refuse_missing_bucket(error)
            what = str(error).partition("\n")[0]
            raise StoreError(f"{where}: cannot be reached: {what}", _REACH) from error
        except BaseException as error:
            # So the library ends where an endpoint has no http:// in front; it is no Exception.
            if type(error).__name__ != "PanicException":
                raise
            raise StoreError(f"{where}: cannot be reached: {error}", _REACH) from error

    def _refuse_missing_bucket(self, error: Exception) -> None:
        """Raise StoreError if ``error`` is due to a missing bucket."""
        if any(code in str(error) for code in _NO_BUCKET):
            raise StoreError(
                f"{self}: there is no bucket {self.address.split('/')[2]}",
                "Make it first, or correct the address; is AWS_ENDPOINT_URL that of the object store that has it?",
            ) from error


def _version_stamp(told: Mapping[str, Any]) -> str:
    """Return the version stamp of an object (its ETag or version) from its metadata."""
    return json.dumps({name: told[name] for name in ("e_tag", "version") if told.get(name)})


def _file_version(told: Mapping[str, Any]) -> FileVersion:
    """Return size and version stamp of an object from its metadata."""
    return FileVersion(
        int(told["size"]), f"{told['e_tag']} {told['last_modified'].isoformat()} {told['size']}"
    )


def _write_condition(stamp: str) -> Any:
    """Make the condition of a write that succeeds only if the object still has the version
    ``stamp``.
    """
    return json.loads(stamp) if stamp else "create"
