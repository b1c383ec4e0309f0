"""The look-up file of a data file: the same rows where they can be had one by one.

A Parquet file gives no less than a row group, so that a thousand terms, whose hashes lie anywhere, would decode the whole table.
Beside each data file of a table lies an Arrow file of the same rows, neither compressed nor encoded, which is mapped into memory:
a look-up touches the pages that its rows lie in and nothing else. Integers take 32 bits where all of a column fit.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from jobs.columns import Column, Columns, Ints, arrow_ints, matching_rows, run_lengths, stored_ints, take
from jobs.store.manifest import LOOKUPS, DataFile, placed, sync_directory
from shiq.errors import StoreError

#: What to do where a file of a store cannot be read.
MOVED = "The store was rebuilt meanwhile (open it again), or files are missing (build it again with `shiq index`)."
_HALF = np.iinfo(np.int32)


def lookup_path(file: DataFile) -> str:
    """Where the look-up file of a data ``file`` lies, within the store."""
    folder, _, name = file.path.rpartition("/")
    return f"{LOOKUPS}/{folder.rpartition('/')[2]}/{name}.arrow"


def write_lookup(store: Path, file: DataFile, columns: Mapping[str, Column]) -> int:
    """Writes the look-up file of ``file``, whose rows are ``columns``, durably; gives its size in bytes."""
    path = store / lookup_path(file)
    batch = pa.RecordBatch.from_arrays([_plain(column) for column in columns.values()], names=list(columns))
    with placed(path) as temporary, pa.OSFile(str(temporary), "wb") as out, pa.ipc.new_file(out, batch.schema) as writer:
        writer.write_batch(batch)
    sync_directory(path.parent)
    return path.stat().st_size


def _plain(column: Column) -> pa.Array:
    if not isinstance(column, np.ndarray):
        texts = column.cast(pa.large_string())
        return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if len(column) and _HALF.min <= column.min() and column.max() <= _HALF.max:
        return pa.Array.from_buffers(pa.int32(), len(column), [None, pa.py_buffer(column.astype(np.int32))])
    return arrow_ints(column)


@dataclass(frozen=True, eq=False)
class MappedFile:
    """A look-up file, mapped into memory; ``columns`` as they lie there: integers of 32 or 64 bits, long texts."""

    key: str
    columns: Mapping[str, Any]

    @property
    def keys(self) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = self.columns[self.key]
        return found

    def __len__(self) -> int:
        return len(self.keys)

    def rows_of(self, wanted: Ints) -> Columns:
        """The rows whose key is among ``wanted`` (ascending, distinct), sorted by key."""
        keys = self.keys
        if not len(keys):
            return self.part(0, 0)
        near = wanted[np.searchsorted(wanted, int(keys[0])) : np.searchsorted(wanted, int(keys[-1]), "right")]
        # Keys of the same width: else numpy would widen, and so read, all of them.
        rows = matching_rows(keys, near.astype(keys.dtype))
        return self._at(rows)

    def degrees(self, wanted: Ints) -> Ints:
        """How many rows each of ``wanted`` has."""
        keys = self.keys
        found = np.zeros(len(wanted), np.int64)
        if len(keys):
            low, high = np.searchsorted(wanted, int(keys[0])), np.searchsorted(wanted, int(keys[-1]), "right")
            found[low:high] = run_lengths(keys, wanted[low:high].astype(keys.dtype))
        return found

    def part(self, start: int, stop: int) -> Columns:
        """The rows from number ``start`` on, before ``stop``."""
        return self._at(np.arange(start, stop))

    def _at(self, rows: Ints) -> Columns:
        found = {name: take(column, rows) for name, column in self.columns.items()}
        return {n: column.astype(np.int64) if isinstance(column, np.ndarray) else column for n, column in found.items()}


def mapped(store: Path, file: DataFile, key: str) -> MappedFile:
    """The look-up file of ``file``, whose rows are sorted by ``key``. Raises: StoreError where it cannot be read."""
    path = store / lookup_path(file)
    try:
        with path.open("rb") as source:
            pages = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
        with pa.ipc.open_file(pa.BufferReader(pa.py_buffer(pages))) as reader:
            batch = reader.get_batch(0)
            arrays = {name: batch.column(name) for name in batch.schema.names}
    except (OSError, pa.ArrowInvalid) as error:
        raise StoreError(f"{path}: cannot be read ({error})", MOVED) from error
    return MappedFile(key, {n: a if pa.types.is_large_string(a.type) else stored_ints(a) for n, a in arrays.items()})
