"""What the steps of a build leave for one another: column files below the store, and tasks that read and write them.

Each step is one Spark job with a task per part (a chunk of the input, a range of terms, a range of ids). A task reads slices of
the files of the step before, memory-mapped, and leaves one file for each part of the next step to take its slice from. Files
are put in place whole, under names that follow from the step and the part, with contents that follow from the input; so a task
may run twice, or be lost and run again. What goes to the driver are counts and whatever is rare.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from jobs.spark.session import hand_on
from jobs.store.place import Place
from shiq.columns.arrays import Columns, Ints
from shiq.errors import OperationalError

T = TypeVar("T")
R = TypeVar("R")

#: The folder of a store that a build works in.
BUILDING = "building"


def run(session: SparkSession, task: Callable[[T], R], parts: Sequence[T], what: str) -> list[R]:
    """``task`` of each part, in order, one Spark task each."""
    if not parts:
        return []
    context = session.sparkContext
    context.setJobDescription(f"shiq index: {what}")
    try:
        found: list[R] = context.parallelize(parts, len(parts)).map(task).collect()
    finally:
        context.setJobDescription(None)  # type: ignore[arg-type]
    return found


@contextmanager
def scratch_of(session: SparkSession, store: Place, *, keep: bool = False) -> Iterator[Path]:
    """An empty folder for what a build leaves between its steps: below the ``store``, or, for one in an object store, below
    SHIQ_SCRATCH or that of temporary files. It goes at the end, unless it is kept.

    Raises: OperationalError where an executor does not see what the driver writes there.
    """
    hand_on(session, store)
    if isinstance(store, Path):
        scratch = store / BUILDING
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
    else:
        scratch = Path(tempfile.mkdtemp(prefix="shiq-building-", dir=os.environ.get("SHIQ_SCRATCH")))
    try:
        mark = scratch / "mark"
        mark.write_text(scratch.as_posix())
        seen = run(session, _sees, [str(mark)] * session.sparkContext.defaultParallelism, "checking the store's place")
        blind = sorted({host for host, sees in seen if not sees})
        if blind:
            raise OperationalError(
                f"{scratch.parent}: not seen by the executors on {', '.join(blind)}",
                "Put the store where driver and executors share files; for one in an object store, name such a folder in "
                "SHIQ_SCRATCH.",
            )
        yield scratch
    finally:
        if not keep:
            shutil.rmtree(scratch, ignore_errors=True)


def _sees(mark: str) -> tuple[str, bool]:
    return socket.gethostname(), Path(mark).exists()


@contextmanager
def placed(path: Path) -> Iterator[Path]:
    """A name to write to; what is there at the end is put at ``path`` in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def save(path: Path, columns: Mapping[str, Any]) -> None:
    """Writes parallel columns (numbers, or Arrow arrays) to an uncompressed file that can be memory-mapped."""
    table = pa.table({name: column if isinstance(column, pa.Array) else pa.array(column) for name, column in columns.items()})
    with placed(path) as temporary, pa.OSFile(str(temporary), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=max(len(table), 1))


def load(path: Path) -> dict[str, Any]:
    """The columns that `save` wrote, memory-mapped: numbers as arrays, texts as Arrow arrays."""
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    return {name: _column(table.column(name)) for name in table.column_names}


def _column(column: pa.ChunkedArray) -> Any:
    array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return array.to_numpy() if pa.types.is_integer(array.type) else array


def slices(paths: Sequence[Path], key: str, low: int, high: int) -> list[dict[str, Any]]:
    """The rows of each file (sorted by ``key``) with low ≤ key < high."""
    found = []
    for path in paths:
        columns = load(path)
        first, last = np.searchsorted(columns[key], [low, high]).tolist()
        found.append({name: column[first:last] for name, column in columns.items()})
    return found


def joined(parts: Sequence[Mapping[str, Ints]], names: Sequence[str]) -> Columns:
    """The rows of all ``parts``, integers as 64 bits."""
    return {
        name: np.concatenate([np.zeros(0, np.int64), *(np.asarray(part[name], np.int64) for part in parts)]) for name in names
    }


def distinct_rows(columns: Columns) -> Columns:
    """The rows sorted by the columns in order, each once."""
    names = list(columns)
    order = np.lexsort([columns[name] for name in reversed(names)])
    ordered = {name: columns[name][order] for name in names}
    if not len(order):
        return ordered
    differs = np.zeros(len(order), np.bool_)
    differs[0] = True
    for column in ordered.values():
        differs[1:] |= column[1:] != column[:-1]
    return {name: column[differs] for name, column in ordered.items()}
