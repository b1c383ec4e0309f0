"""Reading a file of an object store by blocks: those that are wanted, each verified when it is
read first.

Blocks are kept among the copies on this machine (`shiq.remote.copies`); blocks that lie near one
another come by one request.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from jobs.store.files import DataFile, damaged, part_digest, unreadable
from shiq.remote.place import BLOCK
from shiq.remote.remote import Remote

#: Letters of the digest of a block.
_DIGEST = 8


class BlockReader(io.RawIOBase):
    """The ``file`` of a ``place``, to be read by whoever reads files."""

    def __init__(self, place: Remote, file: DataFile) -> None:
        super().__init__()
        self._place, self._file, self._at = place, file, 0

    def fetch(self, spans: Iterable[tuple[int, int]]) -> None:
        """Bring copies of the blocks that the bytes of ``spans`` lie in, in few requests."""
        wanted = {i for start, end in spans for i in range(start // BLOCK, -(-end // BLOCK))}
        self._copies(sorted(wanted))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = (
            offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.bytes}[whence]
        )
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """The next ``size`` bytes, or all that are left. Raises: StoreError where some are not
        as they were written.
        """
        start, end = self._at, self._file.bytes
        end = end if size is None or size < 0 else min(end, start + size)
        if start >= end:
            return b""
        first, last = start // BLOCK, -(-end // BLOCK)
        content = b"".join(
            self._verified(*copy) for copy in sorted(self._copies(list(range(first, last))).items())
        )
        self._at = end
        return content[start - first * BLOCK : end - first * BLOCK]

    def _verified(self, i: int, path: Path) -> bytes:
        found = path.read_bytes()
        if part_digest(found) != self._file.digests[_DIGEST * i : _DIGEST * (i + 1)]:
            what = f"bytes {i * BLOCK:,} to {i * BLOCK + len(found) - 1:,} of {self._file.path} are not as they were written"
            error = damaged(path, what, self._place)
            self._place.forget(self._file.path)
            raise error
        return found

    def _copies(self, wanted: list[int]) -> dict[int, Path]:
        try:
            return self._place.blocks(self._file.path, wanted, self._file.bytes)
        except OSError as error:
            raise unreadable(self._place, self._file, error) from error
