"""List the data files of a folder that is read as one table.

Spark, Hive and others prefix their own files, and unfinished ones, with ``_`` or ``.``
(``_SUCCESS``, ``.part-0.parquet.crc``). A folder named ``_k=v`` is data: it contains the rows of
one value of the column ``_k``.
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


def files_below(root: Path, log: str = "") -> Iterator[tuple[Path, bool]]:
    """Yield every file below `root`, with whether its name marks it as data (no leading dot or
    underscore).

    log: a folder in `root` that is skipped.

    Raises: InputError for a link out of the folder or to a folder, a pipe, an unreadable folder, or
    a folder that is a table with a log of its own.
    """
    real = root.resolve()
    for where, folders, names in os.walk(root, onerror=refuse_folder):
        here = Path(where)
        if log and here == root:
            folders.remove(log)
        folders.sort()
        apart = any(map(is_ignored_in_table, here.relative_to(root).parts))
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
            yield file, not apart and not is_ignored_in_table(name)


def is_parquet(file: Path) -> bool:
    """Decide by name or first bytes whether `file` is Parquet. Raises: InputError."""
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


def is_ignored_in_table(name: str) -> bool:
    """Decide whether the name of a file or folder in a table's folder marks it as no data."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def refuse_folder(error: OSError) -> None:
    """Refuse a folder that cannot be listed. Raises: InputError."""
    raise InputError(
        f"{error.filename} cannot be listed: {error.strerror}",
        "Check its permissions, and the disk it is on.",
    )


def user_cache(name: str) -> Path:
    """Return the path of the folder `name` in the user's cache directory. It may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "shiq", name)
