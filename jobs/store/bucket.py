"""A store in an object store: S3 and what speaks its protocol, and by the same library Google's and Azure's.

Where it is and who may reach it is told by the usual variables (AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, …). There is no
lock: a manifest is put in place on condition that what it replaces is still what the writer read, so that of two writers one wins
and the other is told.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from jobs.store.copies import copies
from shiq.errors import OperationalError, StoreError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

#: Bytes that one request asks for.
_PART = 16 << 20
_RETRIES: Any = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}
_TIMES: dict[str, Any] = {"connect_timeout": timedelta(seconds=10), "timeout": timedelta(seconds=120)}
#: What object stores call a bucket that is not there.
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")
_REACH = (
    "What the store held before stays as it was. Is the address right, and do the variables say where it is and who you are: for "
    "S3 AWS_ENDPOINT_URL (http://… or https://…, AWS_ALLOW_HTTP=true for http), AWS_REGION, AWS_ACCESS_KEY_ID, "
    "AWS_SECRET_ACCESS_KEY?"
)


class Bucket:
    """The part of an object store at an ``address``, as s3://BUCKET/NAME."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._name = sha256(address.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return self.address

    def __repr__(self) -> str:
        return f"Bucket({self.address!r})"

    def __truediv__(self, name: str) -> str:
        return f"{self.address}/{name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bucket) and other.address == self.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __reduce__(self) -> tuple[type[Bucket], tuple[str]]:
        return Bucket, (self.address,)

    def absolute(self) -> Bucket:
        """Itself, as of a path."""
        return self

    @cached_property
    def _library(self) -> ModuleType:
        try:
            import obstore
        except ImportError as error:
            raise OperationalError(
                f"{self}: the library for object stores is missing", "Install it: pip install 'shiq[cloud]', or obstore."
            ) from error
        return obstore

    @cached_property
    def _objects(self) -> ObjectStore:
        from_url = self._library.store.from_url
        with self._reached():
            # Options that are given take the place of all that variables say.
            client: Any = {**_TIMES, "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes", "on")}
            found: ObjectStore = from_url(self.address, retry_config=_RETRIES, client_options=client)
            return found

    # --- files that never change --------------------------------------------------------------------

    def fetched(self, name: str, size: int | None = None) -> Path:
        """A copy of the file ``name``, of ``size`` bytes where that is known. Raises: OSError, StoreError."""
        held = copies()
        found = held.find(self._name, name, size)
        if found is not None:
            return found
        with self._reached(name), held.making(self._name, name) as temporary, temporary.open("wb") as file:
            present = int(self._library.head(self._objects, name)["size"])
            if size not in (None, present):
                raise OSError(errno.EIO, f"it has {present:,} bytes and was written with {size:,}", self / name)
            for start in range(0, present, _PART):
                file.write(self._library.get_range(self._objects, name, start=start, end=min(start + _PART, present)))
        return self.fetched(name, size)

    @contextmanager
    def placed(self, name: str) -> Iterator[Path]:
        """A path to write to; what is there at the end is the file ``name``, in one step, and its copy."""
        with copies().making(self._name, name) as temporary:
            yield temporary
            with self._reached(name):
                self._library.put(self._objects, name, temporary)

    def forget(self, name: str) -> None:
        """Lets the copy of the file ``name`` go, so that it is fetched anew."""
        copies().drop(self._name, name)

    def names(self) -> Iterator[tuple[str, float]]:
        """Every file that is there, and when it was put there, in seconds."""
        with self._reached():
            for some in self._library.list(self._objects):
                yield from ((entry["path"], entry["last_modified"].timestamp()) for entry in some)

    def top(self) -> list[str]:
        """The names of what is there, as of a folder's entries."""
        with self._reached():
            found = self._library.list_with_delimiter(self._objects)
            return sorted([*found["common_prefixes"], *(entry["path"] for entry in found["objects"])])

    def remove(self, name: str) -> None:
        """Removes the file ``name``, if it is there, and its copy."""
        self.forget(name)
        with self._reached(name):
            self._library.delete(self._objects, name)

    def clear(self, folder: str) -> None:
        """Removes every file below ``folder``, and their copies."""
        copies().drop_all(self._name, folder)
        with self._reached():
            for some in self._library.list(self._objects, prefix=folder):
                self._library.delete(self._objects, [entry["path"] for entry in some])

    # --- what is replaced ----------------------------------------------------------------------------

    def read(self, name: str) -> tuple[str, str]:
        """The text of ``name`` now, and what tells it from the next one. Raises: OSError, StoreError."""
        with self._reached(name):
            found = self._library.get(self._objects, name)
            return bytes(found.bytes()).decode(), _stamp(found.meta)

    def stamp(self, name: str) -> str:
        """What tells ``name`` as it is now from the next one; "" if there is none. Raises: StoreError."""
        try:
            with self._reached(name):
                return _stamp(self._library.head(self._objects, name))
        except FileNotFoundError:
            return ""

    def exchange(self, name: str, text: str, stamp: str) -> None:
        """Puts ``text`` in the place of the ``name`` that has the ``stamp``; "" stands for none.

        Raises: StoreError if another is there by now.
        """
        refused = self._library.exceptions
        try:
            with self._reached(name):
                self._library.put(self._objects, name, text.encode(), mode=_as_it_was(stamp))
        except (refused.AlreadyExistsError, refused.PreconditionError) as error:
            # Asked again after an answer was lost, it refuses what it has taken.
            if self.read(name)[0] != text:
                raise self.overtaken() from error
        except StoreError as error:
            raise StoreError(
                f"{error.message}. Whether the snapshot was put in place is not known",
                "`shiq status --store …` says which one the store holds, once it can be reached.",
            ) from error

    def tried(self, name: str) -> None:
        """Finds out, by an empty file ``name``, whether the object store heeds conditions. Raises: StoreError if it does not."""
        refused = self._library.exceptions
        with self._reached(name):
            self._library.put(self._objects, name, b"")
        for stamp in ("", _stamp({"e_tag": '"another"', "version": "1"})):
            try:
                with self._reached(name):
                    self._library.put(self._objects, name, b"", mode=_as_it_was(stamp))
            except (refused.AlreadyExistsError, refused.PreconditionError):
                continue
            raise StoreError(
                f"{self}: the object store ignores conditions (If-Match, If-None-Match), so that writers could undo one another",
                "Use one that heeds them, or a folder.",
            )

    def overtaken(self) -> StoreError:
        """What the writer is told that came second."""
        return StoreError(
            f"{self}: another writer has put a snapshot in place meanwhile",
            "Nothing of this one is in the store: run the same again.",
        )

    @contextmanager
    def _reached(self, name: str = "") -> Iterator[None]:
        """What goes wrong in between, said of the file ``name``. Raises: FileNotFoundError, StoreError."""
        refused = self._library.exceptions
        where = self / name if name else str(self)
        try:
            yield
        except FileNotFoundError as error:
            self._missing(error)
            raise FileNotFoundError(errno.ENOENT, "it is not there", where) from error
        except (refused.AlreadyExistsError, refused.PreconditionError):
            raise
        except refused.BaseError as error:
            self._missing(error)
            what = str(error).partition("\n")[0]
            raise StoreError(f"{where}: cannot be reached: {what}", _REACH) from error
        except BaseException as error:
            # So the library ends where an endpoint has no http:// in front; it is no Exception.
            if type(error).__name__ != "PanicException":
                raise
            raise StoreError(f"{where}: cannot be reached: {error}", _REACH) from error

    def _missing(self, error: Exception) -> None:
        """Raises: StoreError if ``error`` says that there is no such bucket."""
        if any(code in str(error) for code in _NO_BUCKET):
            raise StoreError(
                f"{self}: there is no bucket {self.address.split('/')[2]}",
                "Make it first, or correct the address; is AWS_ENDPOINT_URL that of the object store that has it?",
            ) from error


def _stamp(told: Mapping[str, Any]) -> str:
    return json.dumps({name: told[name] for name in ("e_tag", "version") if told.get(name)})


def _as_it_was(stamp: str) -> Any:
    """The condition to write under."""
    return json.loads(stamp) if stamp else "create"
