"""The two primitives that a build is made of, and what parts send each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.columns.arrays import Ints, unique
from shiq.inputs.sources import TableSource
from shiq.jobs.building.files import RangeFile, Scratch, columns_of, concatenate, table_of
from shiq.remote.place import Place

T = TypeVar("T")
R = TypeVar("R")

#: Columns for a part, by a name.
Sent: TypeAlias = tuple[int, str, Mapping[str, Any]]
#: What came to a part under each name: sender and columns, by sender.
Received: TypeAlias = Mapping[str, Sequence[tuple[int, dict[str, Any]]]]


class Executor(Protocol):
    """Runner of the tasks of a build. Tasks are functions of modules, and what they are given and
    give back is pickled. A task may run twice.
    """

    @property
    def width(self) -> int:
        """How many tasks there should be at least, so that every core has one."""

    def run(self, task: Callable[[T], R], parts: Sequence[T], what: str) -> list[R]:
        """Run ``task`` on each part. Returns the results in order."""

    def exchange(
        self,
        send: Callable[[T], Iterable[Sent]],
        senders: Sequence[T],
        receive: Callable[[int, Received], R],
        count: int,
        what: str,
        answer: Callable[[int, Received], Iterable[Sent]] | None = None,
    ) -> list[R]:
        """Send columns from each part to each other, and receive them there.

        send: gives the columns of one part by receiver.
        receive: called for each of ``count`` parts with what arrived.
        answer: called for each part with what arrived; gives what is received in its place.
        """

    def reach(self, place: Place) -> None:
        """Let tasks reach ``place`` as this process does."""

    def cut_table(
        self, source: TableSource, scope: str, scratch: Scratch
    ) -> list[RangeFile] | None:
        """Cut a table that only the executor can read; None for any other table."""


def look_up(
    executor: Executor,
    ask: Callable[[int], Ints],
    column: Callable[[int], Ints],
    width: int,
    receive: Callable[[int, Callable[[Ints], Ints]], R],
    count: int,
    what: str,
) -> list[R]:
    """Look up values at ids that other parts own, by two shuffles."""
    asking, answering, taking = (
        partial(_send_ids, ask, width),
        partial(_send_values, column, width),
        partial(_receive_values, receive),
    )
    return executor.exchange(asking, range(count), taking, count, what, answering)


def _send_ids(ask: Callable[[int], Ints], width: int, i: int) -> Iterator[Sent]:
    ids = unique(ask(i))
    return ((k, "ids", part) for k, part in cut({"id": ids}, ids, width))


def _send_values(
    column: Callable[[int], Ints], width: int, i: int, received: Received
) -> Iterator[Sent]:
    own = column(i)
    for asker, rows in received.get("ids", ()):
        yield asker, "values", {"id": rows["id"], "value": own[rows["id"] - i * width]}


def _receive_values(
    receive: Callable[[int, Callable[[Ints], Ints]], R], i: int, received: Received
) -> R:
    rows = concatenate(received_from(received, "values"), ("id", "value"))
    return receive(i, lambda ids: rows["value"][np.searchsorted(rows["id"], ids)])


def pack(columns: Mapping[str, Any]) -> pa.Buffer:
    """Write columns as an Arrow stream."""
    table, out = table_of(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def unpack(body: pa.Buffer) -> dict[str, Any]:
    """Read the columns of `pack`."""
    return columns_of(pa.ipc.open_stream(body).read_all())


def cut(columns: Mapping[str, Any], key: Ints, width: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Split rows with an ascending ``key`` into ranges of ``width`` keys."""
    owner, first = np.unique(key // width, return_index=True)
    for i, low, high in zip(owner.tolist(), first.tolist(), [*first[1:].tolist(), len(key)]):
        yield i, {name: column[low:high] for name, column in columns.items()}


def received_from(received: Received, name: str) -> list[dict[str, Any]]:
    """Select what arrived under ``name``, by sender."""
    return [columns for _, columns in received.get(name, ())]
