"""What the steps of a build leave for one another: column files at the place of the store, and
tasks that read and write them.

Each step is one Spark job with a task per part (a chunk of the input, a range of terms, a range
of ids). What all parts of one step have for all parts of the next goes by Spark's shuffles
(`jobs.spark.building.exchange`); what a task needs of few others lies in files, which are put in
place whole, under names that follow from the step and the part, with contents that follow from
the input; so a task may run twice, or be lost and run again. What goes to the driver are counts
and whatever is rare.
"""

from __future__ import annotations

import pickle
import shutil
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from jobs.spark.costs import described
from jobs.spark.imports import spare_imports
from jobs.spark.session import hand_on, width_of
from jobs.store.files import placed
from jobs.store.replacing import BUILDING
from shiq.columns.arrays import NONE, Columns, Ints
from shiq.errors import OperationalError
from shiq.remote.place import Place, file_at

T = TypeVar("T")
R = TypeVar("R")

#: Bytes of pickled parts that go along with every task of a step, however many tasks there are.
MOST_ALONG = 1 << 20


def run(session: SparkSession, task: Callable[[T], R], parts: Sequence[T], what: str) -> list[R]:
    """``task`` of each part, in order, one Spark task each."""
    if not parts:
        return []
    rows, along = tasks_of(session, parts)
    with described(session, f"shiq index: {what}"):
        told = rows.mapInArrow(partial(_told, task, along), "number bigint, body binary").toArrow()
    bodies = dict(zip(told["number"].to_pylist(), told["body"].to_pylist()))
    return [pickle.loads(bodies[i]) for i in range(len(parts))]


def _told(
    task: Callable[[T], R], parts: Sequence[bytes], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for number, part in parts_of(parts, batches):
        body = pickle.dumps(task(part))
        yield pa.record_batch(
            [pa.array([number], pa.int64()), pa.array([body], pa.binary())],
            names=["number", "body"],
        )


def tasks_of(session: SparkSession, parts: Sequence[object]) -> tuple[DataFrame, Sequence[bytes]]:
    """Rows by the numbers of ``parts``, a Spark task each, and the pickled parts that go along
    with every task; where these are many, none does, and each row has its own (`parts_of`).
    """
    count, pickled = len(parts), [pickle.dumps(part) for part in parts]
    if sum(map(len, pickled)) <= MOST_ALONG:
        return session.range(0, count, 1, count), pickled
    return by_part(
        session.createDataFrame(
            pa.table({"part": pa.array(range(count), pa.int32()), "body": pickled})
        ),
        count,
    ), ()


def by_part(rows: DataFrame, count: int) -> DataFrame:
    """``rows`` in a task for each of ``count`` parts, by their column `part`."""
    # Spark 4.0 has but the second, by which several parts may meet in one task.
    split = (
        rows.repartitionById(count, "part")
        if hasattr(rows, "repartitionById")
        else rows.repartition(count, "part")
    )
    return split.sortWithinPartitions("part")


def parts_of(
    along: Sequence[bytes], batches: Iterator[pa.RecordBatch]
) -> Iterator[tuple[int, Any]]:
    """The numbers in ``batches``, which a task was given, with the part of each, unpickled;
    ``along``: see `tasks_of`.
    """
    spare_imports()
    for batch in batches:
        numbers = batch.column(0).to_pylist()
        own = [along[number] for number in numbers] if along else batch.column(1).to_pylist()
        yield from ((number, pickle.loads(part)) for number, part in zip(numbers, own))


@dataclass(frozen=True, order=True)
class Scratch:
    """A ``name`` below the ``place`` of a store, of what the steps of its build leave for one
    another.
    """

    place: Place
    name: str

    def __truediv__(self, name: object) -> Scratch:
        return Scratch(self.place, f"{self.name}/{name}")

    def path(self) -> Path:
        """What is there, or a copy of it."""
        return file_at(self.place, self.name)

    def placed(self) -> AbstractContextManager[Path]:
        """A path to write to; what is there at the end is put there in one step."""
        return placed(self.place, self.name, durable=False)


@contextmanager
def scratch_of(session: SparkSession, store: Place, *, keep: bool = False) -> Iterator[Scratch]:
    """A name of its own below the ``store`` for what a build leaves between its steps. All of
    that goes at the end, unless it is kept.

    Raises: OperationalError where an executor does not see what the driver writes there.
    """
    hand_on(session, store)
    if isinstance(store, Path):
        shutil.rmtree(store / BUILDING, ignore_errors=True)
    scratch = Scratch(store, f"{BUILDING}/{uuid.uuid4().hex[:12]}")
    try:
        if isinstance(store, Path):
            _check_seen(session, store, scratch / "mark")
        yield scratch
    finally:
        if not keep and isinstance(store, Path):
            shutil.rmtree(store / BUILDING, ignore_errors=True)
        elif not keep and not isinstance(store, Path):
            store.clear(scratch.name)


def _check_seen(session: SparkSession, store: Path, mark: Scratch) -> None:
    with mark.placed() as temporary:
        temporary.write_text(mark.name)
    seen = run(session, _sees, [mark] * width_of(session), "checking the store's place")
    if blind := sorted({host for host, sees in seen if not sees}):
        raise OperationalError(
            f"{store}: not seen by the executors on {', '.join(blind)}",
            "Put the store where driver and executors share files, or into an object store (s3://BUCKET/NAME).",
        )


def _sees(mark: Scratch) -> tuple[str, bool]:
    return socket.gethostname(), mark.path().exists()


def save(scratch: Scratch, columns: Mapping[str, Any]) -> None:
    """Writes parallel columns (numbers, or Arrow arrays) to an uncompressed file that can be
    memory-mapped.
    """
    table = table_of(columns)
    with (
        scratch.placed() as temporary,
        pa.OSFile(str(temporary), "wb") as out,
        pa.ipc.new_file(out, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=max(len(table), 1))


def load(scratch: Scratch) -> dict[str, Any]:
    """The columns that `save` wrote, memory-mapped: numbers as arrays, texts as Arrow arrays."""
    return columns_of(pa.ipc.open_file(pa.memory_map(str(scratch.path()))).read_all())


def table_of(columns: Mapping[str, Any]) -> pa.Table:
    """Parallel columns (numbers, or Arrow arrays) as a table."""
    arrays = {
        name: column if isinstance(column, pa.Array) else pa.array(column)
        for name, column in columns.items()
    }
    return pa.table(arrays).combine_chunks()


def columns_of(table: pa.Table) -> dict[str, Any]:
    """Its columns: numbers as arrays, texts as Arrow arrays."""
    return {name: _column(table.column(name)) for name in table.column_names}


def _column(column: pa.ChunkedArray) -> Any:
    array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return array.to_numpy() if pa.types.is_integer(array.type) else array


def joined(parts: Sequence[Mapping[str, Ints]], names: Sequence[str]) -> Columns:
    """The rows of all ``parts``, integers as 64 bits."""
    return {
        name: np.concatenate([NONE, *(np.asarray(part[name], np.int64) for part in parts)])
        for name in names
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
