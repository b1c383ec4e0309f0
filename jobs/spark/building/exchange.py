"""Steps of a build that meet in one of Spark's shuffles: what each part of one step has for each part of the next.

A row of the shuffle is what one sender has for one part, as columns in one body. So Spark moves, spills and, where an executor is
lost, makes again few rows of some size, and nothing is opened by who sends it and who receives it.
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

from jobs.spark.building.files import columns_of, table_of
from jobs.spark.costs import described
from jobs.spark.imports import spare_imports
from shiq.columns.arrays import Ints

T = TypeVar("T")
R = TypeVar("R")

#: Columns for a part, by a name.
Sent: TypeAlias = tuple[int, str, Mapping[str, Any]]
#: What came to a part under each name: sender and columns, by sender.
Received: TypeAlias = Mapping[str, Sequence[tuple[int, dict[str, Any]]]]

_SENT = pa.schema([("part", pa.int32()), ("sender", pa.int32()), ("name", pa.string()), ("body", pa.binary())])
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
) -> list[R]:
    """What ``receive`` makes of each of ``count`` parts, from what ``send`` has of each of ``senders``, a Spark task each.

    Both may run twice, and have to come to the same each time.
    """
    sending = partial(_sent, send, [pickle.dumps(sender) for sender in senders], count)
    with described(session, f"shiq index: {what}"):
        rows = session.range(0, len(senders), 1, len(senders)).mapInArrow(sending, _SENT_DDL)
        # Spark 4.0 has but the second, by which several parts may meet in one task.
        split = rows.repartitionById(count, "part") if hasattr(rows, "repartitionById") else rows.repartition(count, "part")
        told = split.sortWithinPartitions("part").mapInArrow(partial(_received, receive), _TOLD_DDL).toArrow()
    found = dict(zip(told["part"].to_pylist(), told["body"].to_pylist()))
    return [pickle.loads(found[part]) for part in range(count)]


def _sent(
    send: Callable[[T], Iterable[Sent]], senders: Sequence[bytes], count: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    spare_imports()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            if not number:
                yield _rows(_SENT, *([part, 0, _THERE, b""] for part in range(count)))
            for part, name, columns in send(pickle.loads(senders[number])):
                yield _rows(_SENT, [part, number, name, _packed(columns)])


def _received(receive: Callable[[int, Received], R], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    spare_imports()
    rows = (row for batch in batches for row in zip(*batch.columns))
    for part, mine in groupby(rows, lambda row: int(row[0].as_py())):
        found = defaultdict[str, list[tuple[int, dict[str, Any]]]](list)
        for _, sender, name, body in mine:
            if name.as_py() != _THERE:
                found[name.as_py()].append((sender.as_py(), _unpacked(body.as_buffer())))
        for came in found.values():
            came.sort(key=lambda x: x[0])
        yield _rows(_TOLD, [part, pickle.dumps(receive(part, found))])


def _rows(schema: pa.Schema, *rows: Sequence[object]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(values, field.type) for values, field in zip(zip(*rows), schema)], schema=schema)


def _packed(columns: Mapping[str, Any]) -> bytes:
    table, out = table_of(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    found: bytes = out.getvalue().to_pybytes()
    return found


def _unpacked(body: pa.Buffer) -> dict[str, Any]:
    return columns_of(pa.ipc.open_stream(body).read_all())


def cut(columns: Mapping[str, Any], key: Ints, width: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows by range: those of an ascending ``key`` with i·width ≤ key < (i+1)·width, for each i that has some."""
    owner, first = np.unique(key // width, return_index=True)
    for i, low, high in zip(owner.tolist(), first.tolist(), [*first[1:].tolist(), len(key)]):
        yield i, {name: column[low:high] for name, column in columns.items()}


def sent(received: Received, name: str) -> list[dict[str, Any]]:
    """What came under ``name``, by sender."""
    return [columns for _, columns in received.get(name, ())]
