"""The files of a folder that is read as one table: those that hold data, and those that their
names set apart from it.

What Spark, Hive and others leave beside the data begins with ``_`` or ``.`` (``_SUCCESS``,
``.part-0.parquet.crc``), and so does what they have not finished. A folder named ``_k=v`` holds
the rows of a value of the column ``_k``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from shiq.errors import InputError

#: The log of a Delta table, a folder of its own inside the table's.
DELTA_LOG = "_delta_log"
#: Folders that say which of the files around them are the table.
_LOGS = {DELTA_LOG: "a Delta table", ".hoodie": "a Hudi table"}
_ALONE = "Give the file itself."


def files_of(root: Path, log: str = "") -> Iterator[tuple[Path, bool]]:
    """Every file below ``root`` but for the folder ``log`` in it, folder by folder, and whether
    it is data by its name.

    Raises: InputError for what cannot be told to be a file of this table: a link that leads out
    of the folder or to another folder, a pipe, a folder that cannot be listed, one that is a
    table with a log of its own.
    """
    real = root.resolve()
    for where, folders, names in os.walk(root, onerror=_refuse):
        here = Path(where)
        if log and here == root:
            folders.remove(log)
        folders.sort()
        apart = any(map(is_apart, here.relative_to(root).parts))
        for name in folders:
            if name in _LOGS:
                raise InputError(
                    f"{here} is {_LOGS[name]} inside a folder of files",
                    "Give the table as a source of its own, outside of the folder.",
                )
            if (here / name).is_symlink():
                raise InputError(
                    f"{here / name} is a link to a folder, in a folder that is read as one table",
                    "Give the folder itself.",
                )
        for name in sorted(names):
            file = here / name
            if not file.resolve().is_relative_to(real):
                raise InputError(f"{root}: {name} is a link that leads out of the folder", _ALONE)
            if not file.is_file():
                raise InputError(
                    f"{file} is no file that can be read: a link to nothing, or a pipe",
                    "Move it out of the folder.",
                )
            yield file, not apart and not is_apart(name)


def is_parquet(file: Path) -> bool:
    """Whether ``file`` is Parquet by its first bytes, or says so by its name. Raises: InputError."""
    if file.suffix.lower() == ".parquet":
        return True
    try:
        with open(file, "rb") as stream:
            return stream.read(4) == b"PAR1"
    except OSError as error:
        raise InputError(
            f"{file} cannot be read: {error.strerror}",
            "Check its permissions, and the disk it is on.",
        ) from error


def is_apart(name: str) -> bool:
    """Whether the name of a file or folder sets it apart from data."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _refuse(error: OSError) -> None:
    raise InputError(
        f"{error.filename} cannot be listed: {error.strerror}",
        "Check its permissions, and the disk it is on.",
    )


def user_cache(name: str) -> Path:
    """The folder ``name`` for what is worked out again where it is lost, in the user's cache
    directory; it need not be there.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "shiq", name)
