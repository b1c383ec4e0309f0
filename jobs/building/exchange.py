"""Protocol of executors with its two primitives, run and exchange; and the files and Arrow columns
that build steps pass on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.columns.arrays import NONE, Columns, Ints, unique
from shiq.inputs.sources import TableSource
from shiq.jobs.store.files import stage_file
from shiq.rdf.source_ranges import ByteRange, Range
from shiq.rdf.tables import TableFile
from shiq.remote.place import StoreLocation, local_file

T = TypeVar("T")
R = TypeVar("R")

#: Columns for a part, by a name.
OutgoingColumns: TypeAlias = tuple[int, str, Mapping[str, Any]]
#: What came to a part under each name: sender and columns, by sender.
IncomingColumns: TypeAlias = Mapping[str, Sequence[tuple[int, dict[str, Any]]]]


class Executor(Protocol):
    """Protocol: runs the tasks of a build, on this machine or on Spark.

    Tasks are functions of modules; their arguments and results are pickled. A task may run twice.
    """

    @property
    def least_tasks(self) -> int:
        """The least number of tasks that keeps every core busy."""

    def run(self, task: Callable[[T], R], parts: Sequence[T], what: str) -> list[R]:
        """Run ``task`` on each of ``parts``, in parallel. Returns the results in order."""

    def exchange(
        self,
        send: Callable[[T], Iterable[OutgoingColumns]],
        senders: Sequence[T],
        receive: Callable[[int, IncomingColumns], R],
        count: int,
        what: str,
        answer: Callable[[int, IncomingColumns], Iterable[OutgoingColumns]] | None = None,
    ) -> list[R]:
        """Shuffle: let every sender produce columns for numbered parts, then let every part receive
        the columns sent to it.

        send: gives the columns of one part by receiver.
        receive: called for each of ``count`` parts with what arrived.
        answer: called for each part with what arrived; gives what is received in its place.
        """

    def share_access(self, place: StoreLocation) -> None:
        """Let the tasks use this process's credentials for the store's location ``place``."""

    def cut_table(
        self, source: TableSource, scope: str, scratch: Scratch
    ) -> list[RangeFile] | None:
        """Cut a table that only this executor (such as Spark) can read into files of its rows; None
        for any other table.
        """


def look_up(
    executor: Executor,
    ask: Callable[[int], Ints],
    column: Callable[[int], Ints],
    width: int,
    receive: Callable[[int, Callable[[Ints], Ints]], R],
    count: int,
    what: str,
) -> list[R]:
    """Look up values at ids that other parts hold, by two shuffles: one sends the ids, the other
    sends the values back.
    """
    asking, answering, taking = (
        partial(_send_ids, ask, width),
        partial(_send_values, column, width),
        partial(_receive_values, receive),
    )
    return executor.exchange(asking, range(count), taking, count, what, answering)


def _send_ids(ask: Callable[[int], Ints], width: int, i: int) -> Iterator[OutgoingColumns]:
    """Task of `look_up`: send the wanted ids to the parts that hold them."""
    ids = unique(ask(i))
    return ((k, "ids", part) for k, part in split_rows({"id": ids}, ids, width))


def _send_values(
    column: Callable[[int], Ints], width: int, i: int, received: IncomingColumns
) -> Iterator[OutgoingColumns]:
    """Task of `look_up`: send each part that asked the values at its ids."""
    own = column(i)
    for asker, rows in received.get("ids", ()):
        yield asker, "values", {"id": rows["id"], "value": own[rows["id"] - i * width]}


def _receive_values(
    receive: Callable[[int, Callable[[Ints], Ints]], R], i: int, received: IncomingColumns
) -> R:
    """Task of `look_up`: call ``receive`` with a function from ids to the values that arrived."""
    rows = concatenate_rows(columns_from_senders(received, "values"), ("id", "value"))
    return receive(i, lambda ids: rows["value"][np.searchsorted(rows["id"], ids)])


def scatter(
    executor: Executor,
    values: Callable[[T], tuple[Ints, Ints]],
    senders: Sequence[T],
    width: int,
    folder: Scratch,
    name: str,
    count: int,
    what: str,
) -> None:
    """Give each part the values of its ids, which other parts hold, by one shuffle.

    values: gives ids, each of which exactly one sender has, and their values
    width: ids of a part
    folder, name: part ``i`` writes the values, in the order of ids, to the file ``folder / i / name``
    """
    send, receive = partial(_send_pairs, values, width), partial(_write_values, folder, name)
    executor.exchange(send, senders, receive, count, what)


def _send_pairs(
    values: Callable[[T], tuple[Ints, Ints]], width: int, sender: T
) -> Iterator[OutgoingColumns]:
    """Task of `scatter`: send ids and values to the parts that hold the ids."""
    ids, value = values(sender)
    order = np.argsort(ids)
    rows = {"id": ids[order], "value": value[order]}
    return ((k, "values", part) for k, part in split_rows(rows, rows["id"], width))


def _write_values(folder: Scratch, name: str, i: int, received: IncomingColumns) -> None:
    """Task of `scatter`: write the values that arrived, in the order of their ids."""
    rows = concatenate_rows(columns_from_senders(received, "values"), ("id", "value"))
    save_columns(folder / i / name, {"value": rows["value"][np.argsort(rows["id"])]})


def encode_columns(columns: Mapping[str, Any]) -> pa.Buffer:
    """Encode columns as the bytes of an Arrow stream."""
    table, out = columns_to_table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def decode_columns(body: pa.Buffer) -> dict[str, Any]:
    """Decode the bytes of `encode_columns`."""
    return table_to_columns(pa.ipc.open_stream(body).read_all())


def split_rows(
    columns: Mapping[str, Any], key: Ints, width: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Split rows with an ascending ``key`` into blocks of ``width`` key values. Yields (block
    number, its rows).
    """
    owner, first = np.unique(key // width, return_index=True)
    for i, low, high in zip(owner.tolist(), first.tolist(), [*first[1:].tolist(), len(key)]):
        yield i, {name: column[low:high] for name, column in columns.items()}


def columns_from_senders(received: IncomingColumns, name: str) -> list[dict[str, Any]]:
    """Select the columns that arrived under ``name``, in order of their senders."""
    return [columns for _, columns in received.get(name, ())]


@dataclass(frozen=True, order=True)
class Scratch:
    """A folder or file ``name`` for intermediate data, below the location ``place`` of a store."""

    place: StoreLocation
    name: str

    def __truediv__(self, name: object) -> Scratch:
        return Scratch(self.place, f"{self.name}/{name}")

    def path(self) -> Path:
        """The local path of the content, downloaded if the store is remote."""
        return local_file(self.place, self.name)

    def stage(self) -> AbstractContextManager[Path]:
        """Context manager: a path to write to; its content appears here in one step."""
        return stage_file(self.place, self.name, durable=False)


@dataclass(frozen=True)
class RangeFile:
    """A range of a source whose lines a task has written to a file of its own."""

    range: Range
    file: Scratch

    def local_range(self) -> Range:
        """The range as a source range that reads from the file's path on this machine."""
        path = str(self.file.path())
        if isinstance(self.range, ByteRange):
            return replace(self.range, path=path)
        return replace(self.range, groups=((TableFile(path), 0),))


def save_columns(scratch: Scratch, columns: Mapping[str, Any]) -> None:
    """Write parallel columns (numbers, or Arrow arrays) to a file that can be memory-mapped."""
    table = columns_to_table(columns)
    with (
        scratch.stage() as temporary,
        pa.OSFile(str(temporary), "wb") as out,
        pa.ipc.new_file(out, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=max(len(table), 1))


def load_columns(scratch: Scratch) -> dict[str, Any]:
    """Read the columns that `save_columns` wrote, memory-mapped: numbers as arrays, texts as Arrow
    arrays.
    """
    return table_to_columns(pa.ipc.open_file(pa.memory_map(str(scratch.path()))).read_all())


def load_column(scratch: Scratch, name: str = "value") -> Ints:
    """Read one column of numbers that `save_columns` wrote."""
    return load_columns(scratch)[name]


def columns_to_table(columns: Mapping[str, Any]) -> pa.Table:
    """Convert parallel columns to an Arrow table."""
    arrays = {
        name: column if isinstance(column, pa.Array) else pa.array(column)
        for name, column in columns.items()
    }
    return pa.table(arrays).combine_chunks()


def table_to_columns(table: pa.Table) -> dict[str, Any]:
    """Convert an Arrow table to columns: numbers as arrays, texts as Arrow arrays."""
    return {name: _arrow_to_column(table.column(name)) for name in table.column_names}


def _arrow_to_column(column: pa.ChunkedArray) -> Any:
    """Convert an Arrow column: integers to a numpy array, texts stay."""
    array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return array.to_numpy() if pa.types.is_integer(array.type) else array


def concatenate_rows(parts: Sequence[Mapping[str, Ints]], names: Sequence[str]) -> Columns:
    """Concatenate the rows of ``parts``, for the columns ``names``; integers get 64 bits."""
    return {
        name: np.concatenate([NONE, *(np.asarray(part[name], np.int64) for part in parts)])
        for name in names
    }


def distinct_rows(columns: Columns) -> Columns:
    """Drop duplicate rows; the result is sorted by the columns in order."""
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
