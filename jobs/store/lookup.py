"""The look-up file of a data file: the same rows where they can be had one by one.

A Parquet file gives no less than a row group, so that a thousand terms, whose hashes lie
anywhere, would decode the whole table. Beside each data file of a table lies an Arrow file of
the same rows, neither compressed nor encoded, which is mapped into memory: a look-up touches the
pages that its rows lie in and nothing else. Integers take 32 bits where all of a column fit.
Behind it stand the digests of its blocks (`jobs.store.blocks`).
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from jobs.store.blocks import Blocks, digests_of
from jobs.store.files import MOVED, DataFile, damaged, placed
from jobs.store.manifest import LOOKUPS
from shiq.columns.arrays import Column, Columns, Ints, arrow_ints, ranges, runs, stored_ints, take
from shiq.errors import StoreError
from shiq.remote.place import Place, file_at

_HALF = np.iinfo(np.int32)
#: Up to so many rows are verified one by one: arrays of them cost more.
_FEW = 4
#: What is mapped begins at a multiple of so many bytes.
_PAGE = mmap.ALLOCATIONGRANULARITY
#: Bytes at the end of an Arrow file that say how long its footer is.
_TAIL = 10


def lookup_path(path: str) -> str:
    """Where the look-up file of the data file at ``path`` lies, within the store."""
    folder, _, name = path.rpartition("/")
    return f"{LOOKUPS}/{folder.rpartition('/')[2]}/{name}.arrow"


@dataclass(frozen=True, eq=False)
class LookupPart:
    """The rows of one data file as a look-up file holds them, and the digests of their blocks,
    which have a ``digest``.
    """

    content: memoryview
    digests: bytes
    digest: str

    @property
    def size(self) -> int:
        return len(self.content) + len(self.digests)


def lookup_part(columns: Mapping[str, Column]) -> LookupPart:
    """The rows of ``columns`` for a look-up file."""
    batch = pa.RecordBatch.from_arrays(
        [_plain(column) for column in columns.values()], names=list(columns)
    )
    out = pa.BufferOutputStream()
    with pa.ipc.new_file(out, batch.schema) as writer:
        writer.write_batch(batch)
    content = memoryview(out.getvalue())
    return LookupPart(content, *digests_of(content))


def begin_of(end: int) -> int:
    """Where the next part of a look-up file begins after one that ends at ``end``: what is
    mapped begins with a page.
    """
    return -(-end // _PAGE) * _PAGE


def write_lookups(store: Place, path: str, parts: Sequence[LookupPart]) -> None:
    """Write the look-up file of the data file at ``path``, durably, of ``parts`` one behind the
    other (`begin_of`).
    """
    end = 0
    with placed(store, lookup_path(path)) as temporary, temporary.open("wb") as file:
        for part in parts:
            file.seek(begin_of(end))
            file.write(part.content)
            file.write(part.digests)
            end = file.tell()


def _plain(column: Column) -> pa.Array:
    if not isinstance(column, np.ndarray):
        texts = column.cast(pa.large_string())
        return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if len(column) and _HALF.min <= column.min() and column.max() <= _HALF.max:
        return pa.Array.from_buffers(
            pa.int32(), len(column), [None, pa.py_buffer(column.astype(np.int32))]
        )
    return arrow_ints(column)


@dataclass(frozen=True, eq=False)
class _Lain:
    """Place of a column in its file: its cells of ``width`` bytes from ``offset`` on; those of
    texts are their ``ends`` among the letters, which begin at ``letters``.
    """

    offset: int
    width: int
    ends: Ints | None = None
    letters: int = 0

    def verify_run(self, blocks: Blocks, start: int, stop: int) -> None:
        """Verifies the rows from number ``start`` on, before ``stop``, of which there are some."""
        blocks.span(
            self.offset + start * self.width,
            self.offset + (stop + (self.ends is not None)) * self.width,
        )
        if self.ends is not None:
            blocks.span(self.letters + int(self.ends[start]), self.letters + int(self.ends[stop]))

    def verify(self, blocks: Blocks, rows: Ints) -> None:
        """Verifies the ``rows`` (ascending) of the column."""
        blocks.cells(self.offset, self.width, rows)
        if self.ends is not None:
            blocks.cells(self.offset, self.width, rows + 1)
            blocks.spans(self.letters, self.ends[rows], self.ends[rows + 1])


@dataclass(frozen=True, eq=False)
class MappedFile:
    """The rows of one data file in a look-up file, mapped into memory; ``columns`` as they lie
    there: integers of 32 or 64 bits, long texts. ``blocks``: by which they are verified;
    ``lain``: where each column lies.
    """

    key: str
    columns: Mapping[str, Any]
    blocks: Blocks
    lain: Mapping[str, _Lain]

    @property
    def keys(self) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = self.columns[self.key]
        return found

    def __len__(self) -> int:
        return len(self.keys)

    def places(self, keys: Ints) -> Ints:
        """The number of rows before each of ``keys``."""
        return np.searchsorted(self.keys, keys)

    def rows_of(self, wanted: Ints) -> Columns:
        """The rows whose key is among ``wanted`` (ascending, distinct), sorted by key."""
        if not len(self):
            return self.part(0, 0)
        _, low, high = self._runs(wanted)
        return self._at(ranges(low, high))

    def degrees(self, wanted: Ints) -> Ints:
        """How many rows each of ``wanted`` has."""
        found = np.zeros(len(wanted), np.int64)
        if len(self):
            near, low, high = self._runs(wanted)
            found[near] = high - low
        return found

    def between(self, low: int, high: int) -> Columns:
        """The rows with low ≤ key < high, of a file that is verified whole."""
        self.blocks.all()
        return self.part(int(self.keys.searchsorted(low)), int(self.keys.searchsorted(high)))

    def part(self, start: int, stop: int) -> Columns:
        """The rows from number ``start`` on, before ``stop``."""
        return self._at(np.arange(start, stop))

    def _runs(self, wanted: Ints) -> tuple[slice, Ints, Ints]:
        """Which of ``wanted`` lie between the first key and the last, and where the run of each
        of these begins and ends.
        """
        keys = self.keys
        near = slice(
            int(wanted.searchsorted(int(keys[0]))), int(wanted.searchsorted(int(keys[-1]), "right"))
        )
        # Keys of the same width: else numpy would widen, and so read, all of them.
        sought = wanted[near].astype(keys.dtype)
        low, high = runs(keys, sought)
        self._verify_runs(sought, low, high)
        return near, low, high

    def _verify_runs(self, sought: npt.NDArray[Any], low: Ints, high: Ints) -> None:
        """Verifies that the search did not go astray in a damaged block: what stands on either
        side of a run bounds it, keys were written in order.
        """
        if self.blocks.is_whole:
            return
        if len(sought) <= _FEW:
            if not all(map(self._is_run, sought.tolist(), low.tolist(), high.tolist())):
                self._astray()
            return
        keys, key, last = self.keys, self.lain[self.key], len(self) - 1
        before, after = np.maximum(low - 1, 0), np.minimum(high, last)
        first, final = np.minimum(low, last), np.maximum(high - 1, 0)
        for rows in (before, first, final, after):
            if (rows[1:] < rows[:-1]).any():
                self._astray()
            key.verify(self.blocks, rows)
        is_bounded = (
            (low <= high)
            & ((low == 0) | (keys[before] < sought))
            & ((high > last) | (keys[after] > sought))
        )
        if not (
            is_bounded & ((low == high) | ((keys[first] == sought) & (keys[final] == sought)))
        ).all():
            self._astray()

    def _is_run(self, sought: int, low: int, high: int) -> bool:
        """Whether the rows from ``low`` on, before ``high``, are those of the key ``sought``, by
        keys that are verified.
        """
        keys, key, count = self.keys, self.lain[self.key], len(self)
        if not 0 <= low <= high <= count:
            return False
        if high - low <= _FEW:
            key.verify_run(self.blocks, max(low - 1, 0), min(high + 1, count))
        else:
            key.verify_run(self.blocks, low - 1 if low else 0, low + 1)
            key.verify_run(self.blocks, high - 1, min(high + 1, count))
        is_bounded = (low == 0 or keys[low - 1] < sought) and (high == count or keys[high] > sought)
        return bool(
            is_bounded and (low == high or (keys[low] == sought and keys[high - 1] == sought))
        )

    def _astray(self) -> None:
        self.blocks.all()
        raise damaged(self.blocks.path, "its rows are not in the order of their keys")

    def _at(self, rows: Ints) -> Columns:
        if not self.blocks.is_whole and len(rows):
            self._verify(self.blocks, rows)
        found = {name: take(column, rows) for name, column in self.columns.items()}
        return {
            n: column.astype(np.int64) if isinstance(column, np.ndarray) else column
            for n, column in found.items()
        }

    def _verify(self, blocks: Blocks, rows: Ints) -> None:
        """Verifies ``rows`` (ascending, some) of all columns."""
        first, stop = int(rows[0]), int(rows[-1]) + 1
        if stop - first > len(rows) > _FEW:
            for column in self.lain.values():
                column.verify(blocks, rows)
            return
        parts = (
            [(first, stop)]
            if stop - first == len(rows)
            else [(row, row + 1) for row in rows.tolist()]
        )
        for column in self.lain.values():
            for start, end in parts:
                column.verify_run(blocks, start, end)


def mapped(store: Place, file: DataFile, key: str) -> MappedFile:
    """The rows of ``file``, sorted by ``key``, of its look-up file. Raises: StoreError where it
    cannot be read.
    """
    name = lookup_path(file.path)
    try:
        path = file_at(store, name)
        with path.open("rb") as source:
            size = source.seek(0, 2)
            if size < file.lookup_at + file.lookup:
                raise damaged(
                    path,
                    f"it has {size:,} bytes and was written with {file.lookup_at + file.lookup:,}",
                    store,
                )
            pages = mmap.mmap(
                source.fileno(), file.lookup, access=mmap.ACCESS_READ, offset=file.lookup_at
            )
        blocks = Blocks(path, pages, file.lookup_digest)
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
        blocks.all()
        return MappedFile(key, columns, blocks, {})
    lain = {name: _lain(array, content.address) for name, array in arrays.items()}
    blocks.span(0, min(column.offset for column in lain.values()))
    lain[key].verify(blocks, np.array([0, batch.num_rows - 1]))
    return MappedFile(key, columns, blocks, lain)


def _verify_footer(blocks: Blocks) -> None:
    """Verifies what says where the columns lie, at the end of the file; and the beginning of it,
    for what stands there.
    """
    size = len(blocks.content)
    blocks.span(0, min(1, size))
    blocks.span(max(0, size - _TAIL), size)
    footer = int.from_bytes(blocks.content[-_TAIL : 4 - _TAIL], "little")
    blocks.span(max(0, size - _TAIL - footer), size)


def _lain(array: pa.Array, base: int) -> _Lain:
    _, cells, *letters = array.buffers()
    if not letters:
        return _Lain(cells.address - base, array.type.bit_width // 8)
    ends = np.frombuffer(cells, np.int64, len(array) + 1)
    return _Lain(
        cells.address - base, 8, ends, letters[0].address - base if letters[0] is not None else 0
    )
