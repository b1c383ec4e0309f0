"""Look-up file: a memory-mapped Arrow copy of a data file, for reading single rows.

Digests of its blocks follow the content (`shiq.jobs.store.lookup`), and each block is verified when
it is first read.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.columns.arrays import (
    Column,
    Columns,
    Ints,
    arrow_ints,
    concatenate_ranges,
    run_bounds,
    stored_ints,
    take,
)
from shiq.errors import StoreError
from shiq.jobs.store.files import MOVED, DataFile, damage_error, stage_file
from shiq.jobs.store.manifest import LOOKUPS
from shiq.remote.place import StoreLocation, local_file

# Block digests of a memory-mapped file, so that what a check reads is verified.


#: Bytes of a block; two to the power of `_SHIFT`.
BLOCK, _SHIFT = 4096, 12
_WIDTH = 4


def block_digests(content: memoryview) -> tuple[bytes, str]:
    """Compute the CRC-32 of each block of ``content``, and a digest of all of them."""
    digests = b"".join(
        _crc(content[start : start + BLOCK]) for start in range(0, len(content), BLOCK)
    )
    return digests, _crc(digests).hex()


def _crc(data: bytes | memoryview) -> bytes:
    """CRC-32 of ``data``, as four bytes."""
    return zlib.crc32(data).to_bytes(_WIDTH, "little")


class VerifiedBlocks:
    """Memory-mapped file whose blocks of `BLOCK` bytes are verified by their digests when they are
    first read.
    """

    def __init__(self, path: Path, pages: mmap.mmap, digest: str) -> None:
        count = -(-len(pages) // (BLOCK + _WIDTH))
        end = max(0, len(pages) - _WIDTH * count)
        view = memoryview(pages)
        if _crc(view[end:]).hex() != digest:
            raise damage_error(path, "the digests of its blocks are not as they were written")
        self.path = path
        self.content = view[:end]
        self._digests = view[end:].cast("I")
        self._left = count
        self._seen = bytearray(count)
        self._is_seen = np.frombuffer(self._seen, np.bool_)

    @property
    def is_verified(self) -> bool:
        """Whether every block has been verified."""
        return not self._left

    def verify_span(self, start: int, end: int) -> None:
        """Verify the blocks that contain the bytes start … end-1."""
        if start < end:
            self._verify_range(start >> _SHIFT, (end - 1 >> _SHIFT) + 1)

    def verify_cells(self, offset: int, width: int, places: Ints) -> None:
        """Verify the blocks of some cells of a column that begins at byte ``offset``. ``places``:
        ascending row numbers; ``width``: bytes of a cell.
        """
        if len(places):
            low, high = (
                offset + int(places[0]) * width >> _SHIFT,
                (offset + int(places[-1]) * width >> _SHIFT) + 1,
            )
            if self._has_unverified(low, high, len(places)):
                self._verify_each(offset + places * width >> _SHIFT)

    def verify_spans(self, offset: int, start: Ints, end: Ints) -> None:
        """Verify the bytes from offset + start[i] to offset + end[i] - 1 for each i; ``start`` and
        ``end`` ascend.
        """
        if len(start):
            low, high = offset + int(start[0]) >> _SHIFT, (offset + int(end[-1]) - 1 >> _SHIFT) + 1
            if self._has_unverified(low, high, len(start)):
                first, last = offset + start >> _SHIFT, offset + end - 1 >> _SHIFT
                self._verify_each(concatenate_ranges(first, np.maximum(last + 1, first)))

    def verify_all(self) -> None:
        """Verify every block."""
        self._verify_range(0, len(self._seen))

    def _has_unverified(self, low: int, high: int, wanted: int) -> bool:
        """Decide whether the caller must still verify some of the blocks low … high-1 singly. If at
        least about half as many cells as blocks are ``wanted``, all blocks are verified here at
        once, and the result is False.
        """
        if self._seen.find(0, low, high) < 0:
            return False
        if high - low > 2 + wanted // 2:
            return True
        self._verify_range(low, high)
        return False

    def _verify_each(self, blocks: Ints) -> None:
        """Verify those of the ascending block numbers ``blocks`` that have not been verified."""
        first = blocks[np.concatenate([[True], blocks[1:] != blocks[:-1]])]
        self._verify_blocks(first[~self._is_seen[first]].tolist())

    def _verify_range(self, low: int, high: int) -> None:
        """Verify those of the blocks low … high-1 that have not been verified."""
        if self._seen.find(0, low, high) >= 0:
            self._verify_blocks([block for block in range(low, high) if not self._seen[block]])

    def _verify_blocks(self, blocks: Sequence[int]) -> None:
        """Verify ``blocks`` by their digests and mark them as verified. Raises: StoreError for a
        damaged one.
        """
        content, digests, seen, crc = self.content, self._digests, self._seen, zlib.crc32
        for block in blocks:
            start = block << _SHIFT
            if crc(content[start : start + BLOCK]) != digests[block]:
                end = min(start + BLOCK, len(content)) - 1
                raise damage_error(
                    self.path, f"bytes {start:,} to {end:,} are not as they were written"
                )
            seen[block] = 1
        self._left -= len(blocks)


_HALF = np.iinfo(np.int32)
#: Up to so many rows are verified one by one: arrays of them cost more.
_FEW = 4
#: What is mapped begins at a multiple of so many bytes.
_PAGE = mmap.ALLOCATIONGRANULARITY
#: Bytes at the end of an Arrow file that say how long its footer is.
_TAIL = 10


def lookup_path(path: str) -> str:
    """Path of the look-up file for the data file at ``path``, within the store."""
    folder, _, name = path.rpartition("/")
    return f"{LOOKUPS}/{folder.rpartition('/')[2]}/{name}.arrow"


@dataclass(frozen=True, eq=False)
class LookupPart:
    """Rows of one data file in look-up format (an Arrow file), with the digests of its blocks and a
    ``digest`` of these.
    """

    content: memoryview
    digests: bytes
    digest: str

    @property
    def size(self) -> int:
        """Number of bytes of the part: its content and the digests of its blocks."""
        return len(self.content) + len(self.digests)


def make_lookup_part(columns: Mapping[str, Column]) -> LookupPart:
    """Convert the rows in ``columns`` to look-up format."""
    batch = pa.RecordBatch.from_arrays(
        [_arrow_array(column) for column in columns.values()], names=list(columns)
    )
    out = pa.BufferOutputStream()
    with pa.ipc.new_file(out, batch.schema) as writer:
        writer.write_batch(batch)
    content = memoryview(out.getvalue())
    return LookupPart(content, *block_digests(content))


def aligned_offset(end: int) -> int:
    """First page boundary at or after byte ``end``, where the next part of a shared look-up file
    begins.
    """
    return -(-end // _PAGE) * _PAGE


def write_lookups(store: StoreLocation, path: str, parts: Sequence[LookupPart]) -> None:
    """Write the look-up file of the data file at ``path``, durably; each part begins at an
    `aligned_offset`.
    """
    end = 0
    with stage_file(store, lookup_path(path)) as temporary, temporary.open("wb") as file:
        for part in parts:
            file.seek(aligned_offset(end))
            file.write(part.content)
            file.write(part.digests)
            end = file.tell()


def _arrow_array(column: Column) -> pa.Array:
    """Convert a column to an Arrow array; integers that fit get 32 bits, to save memory."""
    if not isinstance(column, np.ndarray):
        texts = column.cast(pa.large_string())
        return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if len(column) and _HALF.min <= column.min() and column.max() <= _HALF.max:
        return pa.Array.from_buffers(
            pa.int32(), len(column), [None, pa.py_buffer(column.astype(np.int32))]
        )
    return arrow_ints(column)


@dataclass(frozen=True, eq=False)
class _ColumnLayout:
    """Position of a column's values within a look-up file, to find the blocks to verify.

    offset, width: byte of the first cell, and bytes of a cell.
    ends, letters: for texts, the ends of the values and the offset of the characters.
    """

    offset: int
    width: int
    ends: Ints | None = None
    letters: int = 0

    def verify_row_range(self, blocks: VerifiedBlocks, start: int, stop: int) -> None:
        """Verify the blocks with rows start … stop-1, at least one."""
        blocks.verify_span(
            self.offset + start * self.width,
            self.offset + (stop + (self.ends is not None)) * self.width,
        )
        if self.ends is not None:
            blocks.verify_span(
                self.letters + int(self.ends[start]), self.letters + int(self.ends[stop])
            )

    def verify_rows(self, blocks: VerifiedBlocks, rows: Ints) -> None:
        """Verify the blocks with these ascending ``rows``."""
        blocks.verify_cells(self.offset, self.width, rows)
        if self.ends is not None:
            blocks.verify_cells(self.offset, self.width, rows + 1)
            blocks.verify_spans(self.letters, self.ends[rows], self.ends[rows + 1])


@dataclass(frozen=True, eq=False)
class MappedFile:
    """Look-up file mapped into memory: rows sorted by key, verified as they are read.

    columns: as stored, integers of 32 or 64 bits, large texts.
    blocks: verifies what is read.
    layouts: layout of each column.
    """

    key: str
    columns: Mapping[str, Any]
    blocks: VerifiedBlocks
    layouts: Mapping[str, _ColumnLayout]

    @property
    def keys(self) -> npt.NDArray[Any]:
        """Key column, ascending."""
        return self.columns[self.key]

    def __len__(self) -> int:
        return len(self.keys)

    def positions(self, keys: Ints) -> Ints:
        """Number of rows with a smaller key, for each of ``keys``."""
        return np.searchsorted(self.keys, keys)

    def rows_of(self, wanted: Ints) -> Columns:
        """Rows whose key is in ``wanted`` (ascending, distinct), sorted by key."""
        if not len(self):
            return self.row_slice(0, 0)
        _, low, high = self._key_runs(wanted)
        return self._take_rows(concatenate_ranges(low, high))

    def degrees(self, wanted: Ints) -> Ints:
        """Number of rows for each key in ``wanted``."""
        found = np.zeros(len(wanted), np.int64)
        if len(self):
            near, low, high = self._key_runs(wanted)
            found[near] = high - low
        return found

    def rows_between(self, low: int, high: int) -> Columns:
        """Rows with low ≤ key < high; the whole file is verified."""
        self.blocks.verify_all()
        return self.row_slice(int(self.keys.searchsorted(low)), int(self.keys.searchsorted(high)))

    def row_slice(self, start: int, stop: int) -> Columns:
        """Read the rows start … stop-1."""
        return self._take_rows(np.arange(start, stop))

    def _key_runs(self, wanted: Ints) -> tuple[slice, Ints, Ints]:
        """Locate the rows of each wanted key by binary search. Returns: the slice of ``wanted``
        between the file's first and last key, and for each of its keys the first row and the row
        after the last.
        """
        keys = self.keys
        near = slice(
            int(wanted.searchsorted(int(keys[0]))), int(wanted.searchsorted(int(keys[-1]), "right"))
        )
        # Keys of the same width: else numpy would widen, and so read, all of them.
        sought = wanted[near].astype(keys.dtype)
        low, high = run_bounds(keys, sought)
        self._verify_runs(sought, low, high)
        return near, low, high

    def _verify_runs(self, sought: npt.NDArray[Any], low: Ints, high: Ints) -> None:
        """Verify the blocks at both ends of each key's rows low … high-1, so that a damaged block
        cannot mislead the search.
        """
        if self.blocks.is_verified:
            return
        if len(sought) <= _FEW:
            if not all(map(self._is_run, sought.tolist(), low.tolist(), high.tolist())):
                self._refuse_damaged()
            return
        keys, key, last = self.keys, self.layouts[self.key], len(self) - 1
        before, after = np.maximum(low - 1, 0), np.minimum(high, last)
        first, final = np.minimum(low, last), np.maximum(high - 1, 0)
        for rows in (before, first, final, after):
            if (rows[1:] < rows[:-1]).any():
                self._refuse_damaged()
            key.verify_rows(self.blocks, rows)
        is_bounded = (
            (low <= high)
            & ((low == 0) | (keys[before] < sought))
            & ((high > last) | (keys[after] > sought))
        )
        if not (
            is_bounded & ((low == high) | ((keys[first] == sought) & (keys[final] == sought)))
        ).all():
            self._refuse_damaged()

    def _is_run(self, sought: int, low: int, high: int) -> bool:
        """Decide whether exactly the rows low … high-1 have the key ``sought``; the blocks of the
        neighbouring keys are verified first.
        """
        keys, key, count = self.keys, self.layouts[self.key], len(self)
        if not 0 <= low <= high <= count:
            return False
        if high - low <= _FEW:
            key.verify_row_range(self.blocks, max(low - 1, 0), min(high + 1, count))
        else:
            key.verify_row_range(self.blocks, low - 1 if low else 0, low + 1)
            key.verify_row_range(self.blocks, high - 1, min(high + 1, count))
        is_bounded = (low == 0 or keys[low - 1] < sought) and (high == count or keys[high] > sought)
        return bool(
            is_bounded and (low == high or (keys[low] == sought and keys[high - 1] == sought))
        )

    def _refuse_damaged(self) -> None:
        """Raise the StoreError for a file whose keys are out of order."""
        self.blocks.verify_all()
        raise damage_error(self.blocks.path, "its rows are not in the order of their keys")

    def _take_rows(self, rows: Ints) -> Columns:
        """Read these ``rows`` of all columns, verified."""
        if not self.blocks.is_verified and len(rows):
            self._verify_rows(self.blocks, rows)
        found = {name: take(column, rows) for name, column in self.columns.items()}
        return {
            n: column.astype(np.int64) if isinstance(column, np.ndarray) else column
            for n, column in found.items()
        }

    def _verify_rows(self, blocks: VerifiedBlocks, rows: Ints) -> None:
        """Verify the blocks that hold these ascending ``rows``, in all columns."""
        first, stop = int(rows[0]), int(rows[-1]) + 1
        if stop - first > len(rows) > _FEW:
            for column in self.layouts.values():
                column.verify_rows(blocks, rows)
            return
        parts = (
            [(first, stop)]
            if stop - first == len(rows)
            else [(row, row + 1) for row in rows.tolist()]
        )
        for column in self.layouts.values():
            for start, end in parts:
                column.verify_row_range(blocks, start, end)


def map_lookup_file(store: StoreLocation, file: DataFile, key: str) -> MappedFile:
    """Map the look-up file of ``file``. Raises: StoreError if it is missing or damaged."""
    name = lookup_path(file.path)
    try:
        path = local_file(store, name)
        with path.open("rb") as source:
            size = source.seek(0, 2)
            if size < file.lookup_at + file.lookup:
                raise damage_error(
                    path,
                    f"it has {size:,} bytes and was written with {file.lookup_at + file.lookup:,}",
                    store,
                )
            pages = mmap.mmap(
                source.fileno(), file.lookup, access=mmap.ACCESS_READ, offset=file.lookup_at
            )
        blocks = VerifiedBlocks(path, pages, file.lookup_digest)
        _verify_footer(blocks)
        content = pa.py_buffer(blocks.content)
        with pa.ipc.open_file(pa.BufferReader(content)) as reader:
            batch = reader.get_batch(0)
            arrays = {name: batch.column(name) for name in batch.schema.names}
    except (OSError, ValueError, pa.ArrowInvalid) as error:
        raise StoreError(f"{store / name}: cannot be read ({error})", MOVED, store) from error
    columns = {
        n: a if pa.types.is_large_string(a.type) else stored_ints(a) for n, a in arrays.items()
    }
    if not batch.num_rows:
        blocks.verify_all()
        return MappedFile(key, columns, blocks, {})
    lain = {name: _column_layout(array, content.address) for name, array in arrays.items()}
    blocks.verify_span(0, min(column.offset for column in lain.values()))
    lain[key].verify_rows(blocks, np.array([0, batch.num_rows - 1]))
    return MappedFile(key, columns, blocks, lain)


def _verify_footer(blocks: VerifiedBlocks) -> None:
    """Verify the beginning and the footer of the file; the footer says where the columns are."""
    size = len(blocks.content)
    blocks.verify_span(0, min(1, size))
    blocks.verify_span(max(0, size - _TAIL), size)
    footer = int.from_bytes(blocks.content[-_TAIL : 4 - _TAIL], "little")
    blocks.verify_span(max(0, size - _TAIL - footer), size)


def _column_layout(array: pa.Array, base: int) -> _ColumnLayout:
    """Find where an Arrow array's values lie in the file, by its buffers. ``base``: address of the
    mapped file.
    """
    _, cells, *letters = array.buffers()
    if not letters:
        return _ColumnLayout(cells.address - base, array.type.bit_width // 8)
    ends = np.frombuffer(cells, np.int64, len(array) + 1)
    return _ColumnLayout(
        cells.address - base, 8, ends, letters[0].address - base if letters[0] is not None else 0
    )
