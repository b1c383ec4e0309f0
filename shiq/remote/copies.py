"""Local cache of remote files: a folder of bounded size with least-recently-used eviction.

A store never uses a file name twice, so a cached file never becomes stale. Readers check its
digests; a damaged file is dropped, and the next process fetches it again.
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

#: Bytes of a block of a file, where a file that is large is read in part.
BLOCK = 1 << 16
#: Bytes of all copies, unless SHIQ_CACHE_SIZE says otherwise.
_LIMIT = 16 << 30
#: Seconds for which a copy is left to whoever is about to open it.
_GRACE = 60.0
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(eq=False)
class FileCache:
    """A local cache of remote files: a ``folder`` of at most ``limit`` bytes, with
    least-recently-used eviction.

    bytes_added: bytes added since the folder was last measured; None before the first measurement
    opened_paths: cached files that this process has opened
    """

    folder: Path
    limit: int
    bytes_added: int | None = None
    opened_paths: set[Path] = field(default_factory=set)

    def find(self, store: str, name: str, size: int | None) -> Path | None:
        """Return the path of the cached file ``name`` of ``store``; None if it is missing or its
        size differs.
        """
        path = self.folder / store / name
        try:
            if size is not None and path.stat().st_size != size:
                return None
            os.utime(path)
        except FileNotFoundError:
            return None
        self.opened_paths.add(path)
        return path

    @contextmanager
    def create(self, store: str, name: str) -> Iterator[Path]:
        """Context manager: write the cached file ``name``. Yields a temporary path that is moved
        into place at the end.

        Raises: OperationalError if there is no room for it.
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
        self.opened_paths.add(path)
        self.bytes_added = None if self.bytes_added is None else self.bytes_added + size
        if self.bytes_added is None or self.bytes_added > self.limit // 16:
            self._shrink()

    def drop(self, store: str, name: str) -> None:
        """Remove the cached file ``name`` of ``store``."""
        (self.folder / store / name).unlink(missing_ok=True)

    def drop_all(self, store: str, folder: str) -> None:
        """Remove all cached files of ``store`` below ``folder``."""
        shutil.rmtree(self.folder / store / folder, ignore_errors=True)

    def _shrink(self) -> None:
        """Remove the least recently used files until the folder is within its limit.

        A process that has mapped a removed file can still read it.
        """
        found = []
        for path in self.folder.rglob("*"):
            with suppress(FileNotFoundError):
                told = path.stat()
                if path.is_file():
                    found.append((told.st_mtime, told.st_size, path))
        self.bytes_added, total = 0, sum(size for _, size, _ in found)
        before = time.time() - _GRACE
        for modified, size, path in sorted(found):
            if total <= self.limit or modified > before:
                break
            path.unlink(missing_ok=True)
            self.opened_paths.discard(path)
            total -= size


def shared_cache() -> FileCache:
    """Open the cache that all processes of the user share.

    It is in SHIQ_CACHE, else in the local folder of Spark's executor, else in the folder for
    temporary files. Raises: UsageError, OperationalError.
    """
    spark = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    own = Path(spark or tempfile.gettempdir()) / f"shiq-cache-{_user_id()}"
    return _open_cache(
        Path(os.environ.get("SHIQ_CACHE") or own),
        _parse_size(os.environ.get("SHIQ_CACHE_SIZE") or str(_LIMIT)),
    )


def _user_id() -> int:
    """Return the user's numeric id; 0 on Windows, as `stat` gives there."""
    return os.getuid() if hasattr(os, "getuid") else 0


_open: dict[tuple[Path, int], FileCache] = {}


def _open_cache(folder: Path, limit: int) -> FileCache:
    """Open the cache folder, once per process. Raises: OperationalError."""
    if (folder, limit) in _open:
        return _open[folder, limit]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_ours = folder.stat().st_uid == _user_id()
    except OSError as error:
        raise OperationalError(
            f"{folder}: cannot hold copies ({error.strerror})", "Name another folder in SHIQ_CACHE."
        ) from error
    if not is_ours:
        raise OperationalError(
            f"{folder}: belongs to somebody else", "Name a folder of yours in SHIQ_CACHE."
        )
    return _open.setdefault((folder, limit), FileCache(folder.absolute(), limit))


def _parse_size(text: str) -> int:
    """Parse the size limit in SHIQ_CACHE_SIZE. Raises: UsageError."""
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", text.strip().lower())
    if found is None:
        raise UsageError(f"SHIQ_CACHE_SIZE={text}: no size", "Give it in bytes, or as 500m or 20g.")
    return int(found[1]) * _UNITS[found[2]]


def is_cached_file(path: Path) -> bool:
    """Decide whether ``path`` is a cached file that this process has opened."""
    return any(path in held.opened_paths for held in _open.values())
