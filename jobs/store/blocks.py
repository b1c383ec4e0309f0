"""Digests of the blocks of a file that is mapped into memory, so that what a check reads is what
was written.

Behind the content of a look-up file stands the CRC-32 of each of its blocks, and the manifest
names the CRC-32 of these. A block is held against its own when something in it is read for the
first time in a process; a check that reads little verifies little.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jobs.store.files import damaged
from shiq.columns.arrays import Ints, ranges

#: Bytes of a block; two to the power of `_SHIFT`.
BLOCK, _SHIFT = 4096, 12
_WIDTH = 4


def digests_of(content: memoryview) -> tuple[bytes, str]:
    """The digests of the blocks of ``content``, which are written behind it, and their own digest."""
    digests = b"".join(
        _crc(content[start : start + BLOCK]) for start in range(0, len(content), BLOCK)
    )
    return digests, _crc(digests).hex()


def _crc(data: bytes | memoryview) -> bytes:
    return zlib.crc32(data).to_bytes(_WIDTH, "little")


class Blocks:
    """The blocks of the mapped file at ``path``, whose digests have the given ``digest``;
    ``content``: all but the digests.
    """

    def __init__(self, path: Path, pages: mmap.mmap, digest: str) -> None:
        count = -(-len(pages) // (BLOCK + _WIDTH))
        end = max(0, len(pages) - _WIDTH * count)
        view = memoryview(pages)
        if _crc(view[end:]).hex() != digest:
            raise damaged(path, "the digests of its blocks are not as they were written")
        self.path = path
        self.content = view[:end]
        self._digests = view[end:].cast("I")
        self._left = count
        self._seen = bytearray(count)
        self._is_seen = np.frombuffer(self._seen, np.bool_)

    @property
    def is_whole(self) -> bool:
        """Whether every block has been verified."""
        return not self._left

    def span(self, start: int, end: int) -> None:
        """Verifies the bytes from ``start`` on, before ``end``."""
        if start < end:
            self._range(start >> _SHIFT, (end - 1 >> _SHIFT) + 1)

    def cells(self, offset: int, width: int, places: Ints) -> None:
        """Verifies the cells of ``width`` bytes at ascending ``places`` of a column that begins
        at ``offset``.
        """
        if len(places):
            low, high = (
                offset + int(places[0]) * width >> _SHIFT,
                (offset + int(places[-1]) * width >> _SHIFT) + 1,
            )
            if self._has_unseen(low, high, len(places)):
                self._each(offset + places * width >> _SHIFT)

    def spans(self, offset: int, start: Ints, end: Ints) -> None:
        """Verifies the bytes from start[i] on, before end[i], for each i, of what begins at
        ``offset``; both ascend.
        """
        if len(start):
            low, high = offset + int(start[0]) >> _SHIFT, (offset + int(end[-1]) - 1 >> _SHIFT) + 1
            if self._has_unseen(low, high, len(start)):
                first, last = offset + start >> _SHIFT, offset + end - 1 >> _SHIFT
                self._each(ranges(first, np.maximum(last + 1, first)))

    def all(self) -> None:
        """Verifies every block."""
        self._range(0, len(self._seen))

    def _has_unseen(self, low: int, high: int, wanted: int) -> bool:
        """Whether some of a range of blocks are still to be verified; where most of them are
        ``wanted``, they are, here.
        """
        if self._seen.find(0, low, high) < 0:
            return False
        if high - low > 2 + wanted // 2:
            return True
        self._range(low, high)
        return False

    def _each(self, blocks: Ints) -> None:
        """Verifies ``blocks``, which ascend."""
        first = blocks[np.concatenate([[True], blocks[1:] != blocks[:-1]])]
        self._verify(first[~self._is_seen[first]].tolist())

    def _range(self, low: int, high: int) -> None:
        if self._seen.find(0, low, high) >= 0:
            self._verify([block for block in range(low, high) if not self._seen[block]])

    def _verify(self, blocks: Sequence[int]) -> None:
        content, digests, seen, crc = self.content, self._digests, self._seen, zlib.crc32
        for block in blocks:
            start = block << _SHIFT
            if crc(content[start : start + BLOCK]) != digests[block]:
                end = min(start + BLOCK, len(content)) - 1
                raise damaged(self.path, f"bytes {start:,} to {end:,} are not as they were written")
            seen[block] = 1
        self._left -= len(blocks)
