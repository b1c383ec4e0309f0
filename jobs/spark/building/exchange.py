"""Steps of a build that meet in one of Spark's shuffles: what each part of one step has for each
part of the next.

A row of the shuffle is what one sender has for one part, as columns in one body. So Spark moves,
spills and, where an executor is lost, makes again few rows of some size, and nothing is opened
by who sends it and who receives it.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from jobs.spark.building.files import by_part, columns_of, joined, parts_of, table_of, tasks_of
from jobs.spark.costs import described
from jobs.spark.imports import spare_imports
from shiq.columns.arrays import Ints, unique

T = TypeVar("T")
R = TypeVar("R")

#: Columns for a part, by a name.
Sent: TypeAlias = tuple[int, str, Mapping[str, Any]]
#: What came to a part under each name: sender and columns, by sender.
Received: TypeAlias = Mapping[str, Sequence[tuple[int, dict[str, Any]]]]

_SENT = pa.schema(
    [("part", pa.int32()), ("sender", pa.int32()), ("name", pa.string()), ("body", pa.binary())]
)
_TOLD = pa.schema([("part", pa.int32()), ("body", pa.binary())])
_SENT_DDL, _TOLD_DDL = "part int, sender int, name string, body binary", "part int, body binary"
#: No name: a part is there, though nobody has anything for it.
_THERE = ""


def exchange(
    session: SparkSession,
    send: Callable[[T], Iterable[Sent]],
    senders: Sequence[T],
    receive: Callable[[int, Received], R],
    count: int,
    what: str,
    answer: Callable[[int, Received], Iterable[Sent]] | None = None,
) -> list[R]:
    """What ``receive`` makes of each of ``count`` parts, from what ``send`` has of each of
    ``senders``, a Spark task each.

    ``answer``: the parts send on what they make of what came, and that is received. All may run
    twice, and have to come to the same each time.
    """
    rows, along = tasks_of(session, senders)
    with described(session, f"shiq index: {what}"):
        rows = by_part(rows.mapInArrow(partial(_sent, send, along, count), _SENT_DDL), count)
        if answer is not None:
            rows = by_part(rows.mapInArrow(partial(_answered, answer, count), _SENT_DDL), count)
        told = rows.mapInArrow(partial(_received, receive), _TOLD_DDL).toArrow()
    found = dict(zip(told["part"].to_pylist(), told["body"].to_pylist()))
    return [pickle.loads(found[part]) for part in range(count)]


def look_up(
    session: SparkSession,
    ask: Callable[[int], Ints],
    column: Callable[[int], Ints],
    width: int,
    receive: Callable[[int, Callable[[Ints], Ints]], R],
    count: int,
    what: str,
) -> list[R]:
    """What ``receive`` makes of each of ``count`` parts and of the values at the ids that
    ``ask`` names for it.

    ``column`` has the values of the ids i·width … (i+1)·width-1 of part i. ``receive`` gets a
    function that gives them by id.
    """
    asking, answering, taking = (
        partial(_asked, ask, width),
        partial(_values, column, width),
        partial(_taken, receive),
    )
    return exchange(session, asking, range(count), taking, count, what, answering)


def _asked(ask: Callable[[int], Ints], width: int, i: int) -> Iterator[Sent]:
    ids = unique(ask(i))
    return ((k, "ids", part) for k, part in cut({"id": ids}, ids, width))


def _values(
    column: Callable[[int], Ints], width: int, i: int, received: Received
) -> Iterator[Sent]:
    own = column(i)
    for asker, rows in received.get("ids", ()):
        yield asker, "values", {"id": rows["id"], "value": own[rows["id"] - i * width]}


def _taken(receive: Callable[[int, Callable[[Ints], Ints]], R], i: int, received: Received) -> R:
    rows = joined(sent(received, "values"), ("id", "value"))
    return receive(i, lambda ids: rows["value"][np.searchsorted(rows["id"], ids)])


def _sent(
    send: Callable[[T], Iterable[Sent]],
    along: Sequence[bytes],
    count: int,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for number, sender in parts_of(along, batches):
        yield from _rows_of(number, send(sender), count)


def _answered(
    answer: Callable[[int, Received], Iterable[Sent]], count: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for part, received in _parts(batches):
        yield from _rows_of(part, answer(part, received), count)


def _rows_of(sender: int, what: Iterable[Sent], count: int) -> Iterator[pa.RecordBatch]:
    if not sender:
        yield _rows(_SENT, *([part, 0, _THERE, b""] for part in range(count)))
    for part, name, columns in what:
        yield _rows(_SENT, [part, sender, name, _packed(columns)])


def _received(
    receive: Callable[[int, Received], R], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for part, received in _parts(batches):
        yield _rows(_TOLD, [part, pickle.dumps(receive(part, received))])


def _parts(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Received]]:
    spare_imports()
    rows = (row for batch in batches for row in zip(*batch.columns))
    for part, mine in groupby(rows, lambda row: int(row[0].as_py())):
        found = defaultdict[str, list[tuple[int, dict[str, Any]]]](list)
        for _, sender, name, body in mine:
            if name.as_py() != _THERE:
                found[name.as_py()].append((sender.as_py(), _unpacked(body.as_buffer())))
        for came in found.values():
            came.sort(key=lambda x: x[0])
        yield part, found


def _rows(schema: pa.Schema, *rows: Sequence[object]) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array(values, field.type) for values, field in zip(zip(*rows), schema)], schema=schema
    )


def _packed(columns: Mapping[str, Any]) -> bytes:
    table, out = table_of(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    found: bytes = out.getvalue().to_pybytes()
    return found


def _unpacked(body: pa.Buffer) -> dict[str, Any]:
    return columns_of(pa.ipc.open_stream(body).read_all())


def cut(columns: Mapping[str, Any], key: Ints, width: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows by range: those of an ascending ``key`` with i·width ≤ key < (i+1)·width, for
    each i that has some.
    """
    owner, first = np.unique(key // width, return_index=True)
    for i, low, high in zip(owner.tolist(), first.tolist(), [*first[1:].tolist(), len(key)]):
        yield i, {name: column[low:high] for name, column in columns.items()}


def sent(received: Received, name: str) -> list[dict[str, Any]]:
    """What came under ``name``, by sender."""
    return [columns for _, columns in received.get(name, ())]
