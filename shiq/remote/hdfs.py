"""Stores and files in Hadoop's file system.

Hadoop's own settings (HADOOP_CONF_DIR, HADOOP_USER_NAME, Kerberos tickets) select name node and
user.

HDFS has no conditional replace, but a rename onto an existing file fails. So a replaceable file is
a folder of numbered files, of which the highest number is current. Of two writers that read the
same number, only one can create the next.
"""

from __future__ import annotations

import errno
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from shiq.errors import OperationalError, StoreError
from shiq.remote.remote import STAYS, FileVersion, Remote

if TYPE_CHECKING:
    from hdfs_native import Client, FileStatus

#: Bytes that are moved at once.
_PART = 16 << 20
#: Times that a name node is asked, each a little later: about ten seconds.
_ATTEMPTS = {"dfs.client.failover.max.attempts": "5"}
#: What is added to the name of what is exchanged, for the folder of its numbered files.
_NUMBERED = ".d"
#: Seconds for which the files of numbers that do not count any more stay: a writer that saw one of
#: them is not to find it free.
_KEPT = 24 * 3600.0
_REACH = (
    f"{STAYS}Is the address right, and do Hadoop's settings say where the name node is and "
    "who you are (HADOOP_CONF_DIR, HADOOP_USER_NAME; a Kerberos ticket where the cluster asks for one)?"
)


class Hdfs(Remote):
    """A folder in HDFS, by its ``address`` as hdfs://HOST:PORT/NAME or hdfs://NAMESERVICE/NAME."""

    @cached_property
    def _root(self) -> str:
        """Path of this folder in HDFS."""
        return "/" + self.address.split("/", 3)[3]

    @cached_property
    def _client(self) -> Client:
        """The client of HDFS. Raises: OperationalError if its library is missing."""
        try:
            from hdfs_native import Client
        except ImportError as error:
            raise OperationalError(
                f"{self}: the library for HDFS is missing",
                "Install it: pip install 'shiq[cloud]', or hdfs-native.",
            ) from error
        with self._translate_errors():
            return Client("/".join(self.address.split("/", 3)[:3]), _ATTEMPTS)

    def files_with_times(self) -> Iterator[tuple[str, float]]:
        """See `Remote.files_with_times`."""
        for name, modified, is_folder in self._list_folder("", recursive=True):
            if not is_folder and f"{_NUMBERED}/" not in name:
                yield name, modified

    def top_level_names(self) -> list[str]:
        """See `Remote.top_level_names`."""
        return sorted(name.removesuffix(_NUMBERED) for name, _, _ in self._list_folder(""))

    def file_version(self, name: str) -> FileVersion | None:
        """See `Remote.file_version`."""
        try:
            with self._translate_errors(name):
                found = self._client.get_file_info(self._path(name))
        except FileNotFoundError:
            return None
        return None if found.isdir else _file_version(found)

    def file_versions(self) -> dict[str, FileVersion]:
        """See `Remote.file_versions`."""
        with self._translate_errors():
            entries = list(self._client.list_status(self._root, True))
        versions = {
            self._name_of(entry): _file_version(entry) for entry in entries if not entry.isdir
        }
        return dict(sorted(versions.items()))

    def read_with_stamp(self, name: str) -> tuple[str, str]:
        """See `Remote.read_with_stamp`."""
        stamp = self.version_stamp(name)
        with self._translate_errors(name):
            if not stamp:
                raise FileNotFoundError(name)
            return self._client.read(
                self._path(_numbered_version_path(name, stamp))
            ).read().decode(), stamp

    def version_stamp(self, name: str) -> str:
        """See `Remote.version_stamp`: the highest of the numbers under which versions of the file
        are stored.
        """
        numbers = [
            int(last)
            for file, _, _ in self._list_folder(name + _NUMBERED)
            if (last := file.rpartition("/")[2]).isdecimal()
        ]
        return str(max(numbers)) if numbers else ""

    def check_conditional_writes(self, name: str) -> None:
        """Test that the folder is writable; HDFS always lets only one of two writers succeed
        (`Remote.check_conditional_writes`).
        """
        with self._translate_errors(name):
            self._write_file(self._path(name), [b""])

    def _swap_if_unchanged(self, name: str, text: str, stamp: str) -> bool:
        """Write a file if its version stamp still is ``stamp``; False if it is another."""
        if self.version_stamp(name) != stamp:
            return False
        temporary = self._path(f"{name}{_NUMBERED}/{uuid.uuid4().hex}.tmp")
        with self._translate_errors(name):
            self._write_file(temporary, [text.encode()])
            try:
                self._client.rename(
                    temporary,
                    self._path(_numbered_version_path(name, str(int(stamp or 0) + 1))),
                    overwrite=False,
                )
            except FileExistsError:
                self._client.delete(temporary)
                return False
            self._remove_old_versions(name, int(stamp or 0))
        return True

    def _remove_old_versions(self, name: str, below: int) -> None:
        """Remove the old versions of ``name`` with a number less than ``below``, and temporary
        files of interrupted writers.
        """
        for file, modified, _ in self._list_folder(name + _NUMBERED):
            last = file.rpartition("/")[2]
            if time.time() - modified > _KEPT and not (last.isdecimal() and int(last) >= below):
                self._client.delete(self._path(file))

    def _list_folder(
        self, folder: str, *, recursive: bool = False
    ) -> list[tuple[str, float, bool]]:
        """List the entries of ``folder`` as (name, modification time in seconds, whether a folder).

        A missing folder has no entries.
        """
        try:
            with self._translate_errors(folder):
                found = list(self._client.list_status(self._path(folder), recursive))
        except FileNotFoundError:
            return []
        return [
            (self._name_of(entry), entry.modification_time / 1000, entry.isdir) for entry in found
        ]

    def _name_of(self, entry: FileStatus) -> str:
        """Return the name, in this folder, of a listed file."""
        return entry.path[len(self._root) + 1 :]

    def _path(self, name: str) -> str:
        """Return the path in HDFS of a file of this folder."""
        return f"{self._root}/{name}" if name else self._root

    def _read_range(self, name: str, start: int, end: int) -> bytes:
        """Read the bytes ``start`` … ``end`` - 1 of a file."""
        return bytes(self._client.read(self._path(name)).read_range(start, end - start))

    def _upload_file(self, name: str, file: Path) -> None:
        """Upload a file."""
        path = self._path(name)
        temporary = f"{path}.{uuid.uuid4().hex}.tmp"
        with file.open("rb") as source:
            self._write_file(temporary, iter(lambda: source.read(_PART), b""))
        self._client.rename(temporary, path, overwrite=True)

    def _write_file(self, path: str, parts: Iterator[bytes] | list[bytes]) -> None:
        """Write a file from the pieces ``parts`` of its content."""
        from hdfs_native import WriteOptions

        with self._client.create(path, WriteOptions(overwrite=True, create_parent=True)) as file:
            for part in parts:
                file.write(part)

    def _delete_file(self, name: str) -> None:
        """Delete a file."""
        self._client.delete(self._path(name))

    def _delete_folder(self, folder: str) -> None:
        """Delete every file below a folder."""
        self._client.delete(self._path(folder), recursive=True)

    @contextmanager
    def _translate_errors(self, name: str = "") -> Iterator[None]:
        """Context manager: turn errors of the client library into errors that name the file.
        Raises: FileNotFoundError, StoreError.
        """
        where = self / name if name else str(self)
        try:
            yield
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, "it is not there", where) from error
        except (OSError, RuntimeError) as error:
            # What goes wrong with copies on this machine names its file.
            if (
                getattr(error, "filename", None) is not None
                or getattr(error, "errno", None) is not None
            ):
                raise
            what = str(error).partition("\n")[0]
            raise StoreError(f"{where}: cannot be reached: {what}", _REACH) from error


def _file_version(entry: FileStatus) -> FileVersion:
    """Return size and version stamp of a file from its status."""
    return FileVersion(entry.length, str(entry.modification_time))


def _numbered_version_path(name: str, number: str) -> str:
    """Return the path of version ``number`` of the file ``name``."""
    return f"{name}{_NUMBERED}/{number}"
