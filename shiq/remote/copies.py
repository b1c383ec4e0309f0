"""Copies of files of object stores on this machine: a folder of bounded size, out of which what
was used least recently goes.

Names within a store are never used twice, so that a copy never grows old. What is read of one is
held against digests as in any store; one that was damaged goes, so that the next process fetches
it again.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from shiq.errors import NO_ROOM, OperationalError, UsageError

#: Bytes of all copies, unless SHIQ_CACHE_SIZE says otherwise.
_LIMIT = 16 << 30
#: Seconds for which a copy is left to whoever is about to open it.
_GRACE = 60.0
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(eq=False)
class Copies:
    """The ``folder`` of copies, of ``limit`` bytes. ``come``: bytes that came since it was last
    measured, None if it never was; ``used``: the copies that this process has opened.
    """

    folder: Path
    limit: int
    come: int | None = None
    used: set[Path] = field(default_factory=set)

    def find(self, store: str, name: str, size: int | None) -> Path | None:
        """The copy of the file ``name`` of a ``store``, where there is one of that size."""
        path = self.folder / store / name
        try:
            if size is not None and path.stat().st_size != size:
                return None
            os.utime(path)
        except FileNotFoundError:
            return None
        self.used.add(path)
        return path

    @contextmanager
    def making(self, store: str, name: str) -> Iterator[Path]:
        """A path to write to; what is there at the end is the copy of the file ``name``. Raises:
        OperationalError where there is no room for it.
        """
        path = self.folder / store / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            yield temporary
            size = temporary.stat().st_size
            os.replace(temporary, path)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise OperationalError(
                f"{self.folder}: no room for copies ({error.strerror})",
                "Make room there, or name another folder in SHIQ_CACHE; SHIQ_CACHE_SIZE bounds what is kept.",
            ) from error
        finally:
            temporary.unlink(missing_ok=True)
        self.used.add(path)
        self.come = None if self.come is None else self.come + size
        if self.come is None or self.come > self.limit // 16:
            self._shrink()

    def drop(self, store: str, name: str) -> None:
        """Lets the copy of the file ``name`` go."""
        (self.folder / store / name).unlink(missing_ok=True)

    def drop_all(self, store: str, folder: str) -> None:
        """Lets the copies of all files below ``folder`` go."""
        shutil.rmtree(self.folder / store / folder, ignore_errors=True)

    def _shrink(self) -> None:
        """Removes what was used least recently, down to the limit. What is mapped stays readable
        for who has it mapped.
        """
        found = []
        for path in self.folder.rglob("*"):
            with suppress(FileNotFoundError):
                told = path.stat()
                if path.is_file():
                    found.append((told.st_mtime, told.st_size, path))
        self.come, total = 0, sum(size for _, size, _ in found)
        before = time.time() - _GRACE
        for modified, size, path in sorted(found):
            if total <= self.limit or modified > before:
                break
            path.unlink(missing_ok=True)
            self.used.discard(path)
            total -= size


def copies() -> Copies:
    """The copies of this process and of others of the same user: in SHIQ_CACHE, else where
    Spark's executor has its files, else among temporary files. Raises: UsageError,
    OperationalError.
    """
    spark = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    own = Path(spark or tempfile.gettempdir()) / f"shiq-cache-{os.getuid()}"
    return _opened(
        Path(os.environ.get("SHIQ_CACHE") or own),
        _size(os.environ.get("SHIQ_CACHE_SIZE") or str(_LIMIT)),
    )


_open: dict[tuple[Path, int], Copies] = {}


def _opened(folder: Path, limit: int) -> Copies:
    if (folder, limit) in _open:
        return _open[folder, limit]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_ours = folder.stat().st_uid == os.getuid()
    except OSError as error:
        raise OperationalError(
            f"{folder}: cannot hold copies ({error.strerror})", "Name another folder in SHIQ_CACHE."
        ) from error
    if not is_ours:
        raise OperationalError(
            f"{folder}: belongs to somebody else", "Name a folder of yours in SHIQ_CACHE."
        )
    return _open.setdefault((folder, limit), Copies(folder.absolute(), limit))


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", text.strip().lower())
    if found is None:
        raise UsageError(f"SHIQ_CACHE_SIZE={text}: no size", "Give it in bytes, or as 500m or 20g.")
    return int(found[1]) * _UNITS[found[2]]


def is_copy(path: Path) -> bool:
    """Whether ``path`` is a copy that this process has opened."""
    return any(path in held.used for held in _open.values())
