"""Run the tasks of a build on Spark, for ``shiq index --engine spark``."""

from __future__ import annotations

import pickle
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from typing import Any, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from shiq.answers.result import Result
from shiq.inputs.sources import TableKind, TableSource
from shiq.jobs.building.chunks import CHUNK_BYTES, ROW_BYTES
from shiq.jobs.building.exchange import (
    IncomingColumns,
    OutgoingColumns,
    RangeFile,
    Scratch,
    decode_columns,
    encode_columns,
)
from shiq.jobs.building.indexing import index as index_by
from shiq.jobs.building.worker import skip_repeated_imports
from shiq.jobs.checking.calls import BuildRequest
from shiq.jobs.spark.reading import triple_columns
from shiq.jobs.spark.session import (
    described_jobs,
    share_access,
    spark_session,
    stop_session,
    task_count,
)
from shiq.rdf.source_ranges import TableRange
from shiq.remote.place import StoreLocation

T = TypeVar("T")
R = TypeVar("R")

#: Bytes of pickled parts that go along with every task of a step, however many tasks there are.
MOST_BYTES_PER_TASK = 1 << 20
#: Rows of a table of Spark's that make a piece.
PIECE_ROWS = CHUNK_BYTES // ROW_BYTES

_MESSAGE_SCHEMA = pa.schema(
    [("part", pa.int32()), ("sender", pa.int32()), ("name", pa.string()), ("body", pa.binary())]
)
_RESULT_SCHEMA = pa.schema([("part", pa.int32()), ("body", pa.binary())])
_MESSAGE_DDL, _RESULT_DDL = (
    "part int, sender int, name string, body binary",
    "part int, body binary",
)
#: No name: a part is there, though nobody has anything for it.
_PLACEHOLDER = ""


@dataclass(frozen=True)
class SparkExecutor:
    """Executor of a build's tasks by Spark; see `shiq.jobs.building.exchange.Executor`. A task has
    one part of the data.
    """

    session: SparkSession

    @property
    def least_tasks(self) -> int:
        """Least number of Spark tasks that gives every core one."""
        return task_count(self.session)

    def share_access(self, place: StoreLocation) -> None:
        """Give Spark's workers this process's access to ``place``."""
        share_access(self.session, place)

    def run(self, task: Callable[[T], R], parts: Sequence[T], what: str) -> list[R]:
        """Run ``task`` on each part as a Spark task. Returns the results in order."""
        if not parts:
            return []
        rows, along = make_task_rows(self.session, parts)
        with described_jobs(self.session, f"shiq index: {what}"):
            told = rows.mapInArrow(
                partial(_run_tasks, task, along), "number bigint, body binary"
            ).toArrow()
        bodies = dict(zip(told["number"].to_pylist(), told["body"].to_pylist()))
        return [pickle.loads(bodies[i]) for i in range(len(parts))]

    def exchange(
        self,
        send: Callable[[T], Iterable[OutgoingColumns]],
        senders: Sequence[T],
        receive: Callable[[int, IncomingColumns], R],
        count: int,
        what: str,
        answer: Callable[[int, IncomingColumns], Iterable[OutgoingColumns]] | None = None,
    ) -> list[R]:
        """Let each sender compute columns for the receivers 0 … count-1, send them by a Spark
        shuffle, and run ``receive`` on those of each receiver. With ``answer``, the receivers reply
        by a second shuffle before that.
        """
        rows, along = make_task_rows(self.session, senders)
        with described_jobs(self.session, f"shiq index: {what}"):
            rows = repartition_by_part(
                rows.mapInArrow(partial(_send_columns, send, along, count), _MESSAGE_DDL), count
            )
            if answer is not None:
                rows = repartition_by_part(
                    rows.mapInArrow(partial(_answer_columns, answer, count), _MESSAGE_DDL), count
                )
            told = rows.mapInArrow(partial(_receive_columns, receive), _RESULT_DDL).toArrow()
        found = dict(zip(told["part"].to_pylist(), told["body"].to_pylist()))
        return [pickle.loads(found[part]) for part in range(count)]

    def cut_table(
        self, source: TableSource, scope: str, scratch: Scratch
    ) -> list[RangeFile] | None:
        """Write a table of Spark's to files in ``scratch``, in pieces; the driver does not hold it,
        and each row is read once. None for other tables.
        """
        if source.kind is not TableKind.SPARK:
            return None
        frame = triple_columns(source).mapInArrow(
            partial(_write_rows, scratch=scratch), "name string"
        )
        whole = TableRange(source.name, scope, ())
        return [RangeFile(whole, scratch / row["name"]) for row in frame.collect()]


def index(request: BuildRequest) -> Result:
    """Build and certify a store on Spark; see `shiq.jobs.building.indexing.index`."""
    session, started = spark_session(master=request.options.master, name="shiq index", brief=True)
    try:
        return index_by(SparkExecutor(session), request)
    finally:
        if started:
            stop_session(session)


def _run_tasks(
    task: Callable[[T], R], parts: Sequence[bytes], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Spark task: run ``task`` on each part of the data with an index in ``batches``. Yields
    pickled results, by index.
    """
    for number, part in unpickle_arguments(parts, batches):
        body = pickle.dumps(task(part))
        yield pa.record_batch(
            [pa.array([number], pa.int64()), pa.array([body], pa.binary())],
            names=["number", "body"],
        )


def make_task_rows(
    session: SparkSession, parts: Sequence[object]
) -> tuple[DataFrame, Sequence[bytes]]:
    """Make a DataFrame with one row and one Spark task for each of ``parts`` (arguments of the
    tasks). Returns it, and the pickled parts for all tasks.

    If the parts are large, each row carries its own part instead, and the pickled parts are empty
    (`unpickle_arguments`).
    """
    count, pickled = len(parts), [pickle.dumps(part) for part in parts]
    if sum(map(len, pickled)) <= MOST_BYTES_PER_TASK:
        return session.range(0, count, 1, count), pickled
    return repartition_by_part(
        session.createDataFrame(
            pa.table({"part": pa.array(range(count), pa.int32()), "body": pickled})
        ),
        count,
    ), ()


def repartition_by_part(rows: DataFrame, count: int) -> DataFrame:
    """Repartition ``rows`` so that each value 0 … count-1 of the column `part` gets a task, sorted
    within.
    """
    # Spark 4.0 has but the second, by which several parts may meet in one task.
    split = (
        rows.repartitionById(count, "part")
        if hasattr(rows, "repartitionById")
        else rows.repartition(count, "part")
    )
    return split.sortWithinPartitions("part")


def unpickle_arguments(
    along: Sequence[bytes], batches: Iterator[pa.RecordBatch]
) -> Iterator[tuple[int, Any]]:
    """Unpickle the arguments of a Spark task from the rows that `make_task_rows` made. Yields pairs
    (index, argument).

    along: the pickled arguments of all tasks; empty if each row has its own
    """
    skip_repeated_imports()
    for batch in batches:
        numbers = batch.column(0).to_pylist()
        own = [along[number] for number in numbers] if along else batch.column(1).to_pylist()
        yield from ((number, pickle.loads(part)) for number, part in zip(numbers, own))


def _send_columns(
    send: Callable[[T], Iterable[OutgoingColumns]],
    along: Sequence[bytes],
    count: int,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Spark task: run ``send`` on each sender's argument. Yields the messages to receivers as rows."""
    for number, sender in unpickle_arguments(along, batches):
        yield from _message_rows(number, send(sender), count)


def _answer_columns(
    answer: Callable[[int, IncomingColumns], Iterable[OutgoingColumns]],
    count: int,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Spark task: run ``answer`` on the messages to each receiver. Yields its replies as rows."""
    for part, received in _columns_by_receiver(batches):
        yield from _message_rows(part, answer(part, received), count)


def _message_rows(
    sender: int, what: Iterable[OutgoingColumns], count: int
) -> Iterator[pa.RecordBatch]:
    """Encode the messages of one sender as rows. The first sender adds an empty message for each of
    ``count`` receivers, so that each gets a task.
    """
    if not sender:
        yield _record_batch(
            _MESSAGE_SCHEMA, *([part, 0, _PLACEHOLDER, b""] for part in range(count))
        )
    for part, name, columns in what:
        yield _record_batch(
            _MESSAGE_SCHEMA, [part, sender, name, encode_columns(columns).to_pybytes()]
        )


def _receive_columns(
    receive: Callable[[int, IncomingColumns], R], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Spark task: run ``receive`` on the messages to each receiver. Yields pickled results."""
    for part, received in _columns_by_receiver(batches):
        yield _record_batch(_RESULT_SCHEMA, [part, pickle.dumps(receive(part, received))])


def _columns_by_receiver(
    batches: Iterator[pa.RecordBatch],
) -> Iterator[tuple[int, IncomingColumns]]:
    """Decode rows of messages, sorted by receiver. Yields each receiver with its columns, by name
    and sender.
    """
    skip_repeated_imports()
    rows = (row for batch in batches for row in zip(*batch.columns))
    for part, mine in groupby(rows, lambda row: int(row[0].as_py())):
        found = defaultdict[str, list[tuple[int, dict[str, Any]]]](list)
        for _, sender, name, body in mine:
            if name.as_py() != _PLACEHOLDER:
                found[name.as_py()].append((sender.as_py(), decode_columns(body.as_buffer())))
        for came in found.values():
            came.sort(key=lambda x: x[0])
        yield part, found


def _record_batch(schema: pa.Schema, *rows: Sequence[object]) -> pa.RecordBatch:
    """Make an Arrow record batch of ``rows``, each a sequence of values."""
    return pa.record_batch(
        [pa.array(values, field.type) for values, field in zip(zip(*rows), schema)], schema=schema
    )


def _write_rows(batches: Iterator[pa.RecordBatch], *, scratch: Scratch) -> Iterator[pa.RecordBatch]:
    """Spark task: write rows to files in ``scratch``. Yields the files' names, which no other run
    of the task uses.
    """
    rows: list[pa.RecordBatch] = []
    for batch in chain(batches, [None]):
        if rows and (batch is None or sum(map(len, rows)) + len(batch) > PIECE_ROWS):
            name = f"{uuid.uuid4().hex}.parquet"
            table = pa.Table.from_batches(rows)
            with (scratch / name).stage() as temporary:
                pq.write_table(
                    table,
                    temporary,
                    row_group_size=len(table),
                    compression="zstd",
                    compression_level=1,
                )
            yield pa.record_batch([pa.array([name])], names=["name"])
            rows = []
        if batch is not None and len(batch):
            rows.append(batch)
