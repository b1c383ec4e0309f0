"""Where a store lies: a local folder, an object store or HDFS.

Files of a store never change and never reuse a name; only the manifest is replaced. Remote files
are therefore read from cached copies (`shiq.remote.copies`), and conditional replacement of the
manifest decides between two writers (`shiq.remote.remote`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from shiq.errors import UsageError

if TYPE_CHECKING:
    from shiq.remote.remote import Remote

#: Where a store lies; ``place / name`` is what a message calls a file there.
StoreLocation: TypeAlias = "Path | Remote"

#: Kinds of addresses of stores that lie in no folder, and the one that each is short for.
REMOTE = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gs",
    "az": "az",
    "abfs": "abfss",
    "abfss": "abfss",
    "hdfs": "hdfs",
}

#: Hosts that are this machine, to which a secret may go unencrypted.
LOOPBACK = ("localhost", "127.0.0.1", "::1")

#: What the address of a SPARQL endpoint begins with.
ENDPOINT = "sparql:"

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//?)(.*)", re.DOTALL)

#: What those who read an address cut off, resolve or take for another character.
_ODD = re.compile(r"[?#%\x00-\x1f\x7f]|/\.{0,2}(?=/)")


def is_address(name: str) -> bool:
    """Decide whether ``name`` is an address in an object store or HDFS, such as s3://BUCKET/NAME."""
    return "://" in name and name.partition("://")[0].lower() in REMOTE


def is_endpoint(name: str) -> bool:
    """Decide whether ``name`` is the address of a SPARQL endpoint (sparql:https://…)."""
    return name.startswith((f"{ENDPOINT}http://", f"{ENDPOINT}https://"))


def parse_location(named: str | StoreLocation) -> StoreLocation:
    """Parse a path, file://PATH or remote address into the location of a store, which need not
    exist.

    Raises: UsageError for any other address.
    """
    found = _SCHEME.fullmatch(str(named))
    # A path that was made of an address has lost a slash, and no folder is meant by one that ends
    # in a colon.
    if found is None or (found[2] == "/" and not isinstance(named, Path)):
        return Path(str(named))
    scheme, rest = found[1].lower(), found[3].strip("/")
    if scheme == "file" and found[3].startswith("/"):
        from urllib.parse import unquote

        return Path(unquote(found[3]))
    form = f"{scheme}://{'HOST:PORT' if scheme == 'hdfs' else 'BUCKET'}/NAME"
    is_whole = rest and (scheme != "hdfs" or (not found[3].startswith("/") and "/" in rest))
    if scheme in REMOTE and found[2] == "//" and is_whole:
        if odd := _ODD.search(f"/{rest}/"):
            raise UsageError(
                f"{named}: {odd[0]!r} in an address would be read as another address, perhaps of another store",
                f"Name it as {form}, with none of ? # % and no empty part, . or .. in it.",
            )
        if scheme == "hdfs":
            from shiq.remote.hdfs import Hdfs

            return Hdfs(f"hdfs://{rest}")
        from shiq.remote.bucket import Bucket

        return Bucket(f"{REMOTE[scheme]}://{rest}")
    if scheme in REMOTE:
        raise UsageError(
            f"{named}: no address of a store", f"Name it as {form}, as text and not as a path."
        )
    raise UsageError(
        f"{named}: a store cannot lie there: nothing is known of {scheme}://",
        f"Name a folder, one of this machine or one that is mounted here, or one of {', '.join(f'{s}://' for s in REMOTE)}.",
    )


def local_file(place: StoreLocation, name: str, size: int | None = None) -> Path:
    """Return a local path of the file ``name`` of a store: the file itself, or a cached copy of a
    remote one.

    Args:
    size: its bytes, if known

    Raises: OSError if it is missing or has another size; StoreError if the place is unreachable.
    """
    if isinstance(place, Path):
        return place / name
    from shiq.remote.remote import fetch_file

    return fetch_file(place, name, size)


def remove_file(place: StoreLocation, name: str) -> None:
    """Remove the file ``name`` at the location ``place`` of a store, if it exists."""
    if isinstance(place, Path):
        (place / name).unlink(missing_ok=True)
    else:
        place.remove(name)
