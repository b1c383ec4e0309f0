"""Shuffle the chunks (groups of records) of a batch to state buckets in Spark tasks, and advance
the state of each bucket.

The states of a batch are files, one for each bucket, in a folder that all executors share. A
repeated task writes the same file. Chunks are shuffled once for all jobs of a batch: Spark keeps
shuffled data until the batch ends.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import RDD, Broadcast

from shiq.columns.arrays import numpy_ints, one_array
from shiq.errors import OperationalError
from shiq.files import replace_file
from shiq.jobs.building.worker import skip_repeated_imports
from shiq.jobs.streaming.chunks import FOR_DRIVER, HEADER, TIMES, decode_table, table_to_columns
from shiq.streams.front.intake import StreamTime
from shiq.streams.front.operator import BucketState, Columns, Operator

#: A row of a chunk: its bucket, or what it is; its place; what it has.
ChunkRow = tuple[int, str, bytes]
#: Partitions of what is shuffled: one each for heads, times and what the driver is shown; then
#: those of buckets.
_KIND_PARTITIONS: Final = {HEADER: 0, TIMES: 1, FOR_DRIVER: 2}
_FIRST_BUCKET_PARTITION: Final = len(_KIND_PARTITIONS)


@dataclass(frozen=True)
class BucketStates:
    """Files with the states of a stream operator's ``buckets``, by batch, below ``folder``.

    durable: a missing state is an error; states that are not durable may be lost, and are not
    written without a folder
    """

    folder: Path | None
    buckets: int
    durable: bool = True

    def _state_file(self, batch: int, bucket: int) -> Path:
        """Path of the state of one bucket."""
        return (self.folder or Path()) / str(batch) / str(bucket)

    def read_state(self, batch: int, bucket: int) -> bytes | None:
        """Read the state of a bucket after ``batch``; None before the first batch. Raises:
        OperationalError if it is missing or damaged.
        """
        file = self._state_file(batch, bucket)
        if batch < 0 or not (self.durable or (self.folder and file.exists())):
            return None
        try:
            data = file.read_bytes()
        except OSError as error:
            raise OperationalError(
                f"{file} cannot be read ({error.strerror})",
                "Name by --checkpoint a folder that all executors see, or remove it to begin anew.",
            ) from error
        if zlib.crc32(data[4:]) != int.from_bytes(data[:4], "big"):
            raise OperationalError(
                f"{file}: damaged", "Remove the directory of the checkpoint to begin anew."
            )
        return data[4:]

    def write_state(self, batch: int, bucket: int, state: bytes) -> None:
        """Write the state of a bucket after ``batch``, in one step. Raises: OSError."""
        if self.folder is None:
            return
        file = self._state_file(batch, bucket)
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, zlib.crc32(state).to_bytes(4, "big") + state)

    def check_complete(self, batch: int) -> None:
        """Check that every bucket has a state of this batch. Raises: OperationalError."""
        for bucket in range(self.buckets):
            self.read_state(batch, bucket)

    def remove_other_batches(self, batch: int) -> None:
        """Remove the states of all other batches."""
        for folder in self.folder.iterdir() if self.folder and self.folder.is_dir() else ():
            if folder.name != str(batch):
                shutil.rmtree(folder, ignore_errors=True)


def shuffle_chunks(chunks: RDD[ChunkRow], buckets: int, width: int) -> ShuffledChunks:
    """Shuffle encoded chunks of records by state bucket, for about ``width`` tasks."""
    parts = min(buckets, width)
    keyed = chunks.map(
        lambda row: (_KIND_PARTITIONS.get(row[0], _FIRST_BUCKET_PARTITION + row[0] % parts), row)
    )
    return ShuffledChunks(
        keyed.partitionBy(_FIRST_BUCKET_PARTITION + parts, int).values(), buckets, parts
    )


@dataclass(frozen=True)
class ShuffledChunks:
    """Encoded chunks of a batch's records, partitioned by state bucket.

    parts: number of partitions that hold buckets
    """

    rows: RDD[ChunkRow]
    buckets: int
    parts: int

    def rows_of_kind(self, kind: int) -> list[ChunkRow]:
        """Fetch all rows of one kind: chunk headers, tables of event times, or columns for the
        collector.
        """
        return self.rows.context.runJob(self.rows, list, [_KIND_PARTITIONS[kind]])

    def step_buckets(self, step: BucketStep) -> list[bytes]:
        """Advance the state of every bucket by this batch. Returns the output rows, as JSON."""
        found = self.rows.mapPartitionsWithIndex(step.partition_task(self.buckets, self.parts))
        return self.rows.context.runJob(
            found, list, range(_FIRST_BUCKET_PARTITION, _FIRST_BUCKET_PARTITION + self.parts)
        )


@dataclass(frozen=True)
class BucketStep:
    """Advance of all buckets from their states after ``previous_batch`` to those after ``batch``.

    stream_time: time of the stream after the batch
    chunk_ranks, use_masks: see `OrderedBatch`
    """

    system: Broadcast[Operator]
    states: BucketStates
    previous_batch: int
    batch: int
    stream_time: StreamTime
    chunk_ranks: Mapping[str, int]
    use_masks: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)

    def partition_task(
        self, buckets: int, parts: int
    ) -> Callable[[int, Iterable[ChunkRow]], Iterator[bytes]]:
        """Make the Spark task that advances the buckets of one partition."""

        def step(partition: int, rows: Iterable[ChunkRow]) -> Iterator[bytes]:
            skip_repeated_imports()
            own: dict[int, list[ChunkRow]] = {
                bucket: [] for bucket in range(partition - _FIRST_BUCKET_PARTITION, buckets, parts)
            }
            for row in rows:
                own[row[0]].append(row)
            for bucket, found in own.items():
                tables = [
                    self._decode_used_rows(place, data)
                    for _, place, data in sorted(found, key=lambda row: self.chunk_ranks[row[1]])
                ]
                before = self.states.read_state(self.previous_batch, bucket)
                state = _open_state(self.system.value, bucket, before)
                known = list(state.step(tables, self.stream_time))
                after = state.to_bytes()
                self.states.write_state(self.batch, bucket, after)
                _CACHED_STATES[bucket] = self.system.value, after, state
                if known:
                    yield json.dumps(known).encode()

        return step

    def _decode_used_rows(self, place: str, data: bytes) -> Columns:
        """Decode the table that a chunk has for a bucket, without the records that were rejected.
        ``place``: sort key of the chunk.
        """
        table, mask = decode_table(data), self.use_masks.get(place)
        if mask is not None:
            table = table.filter(pa.array(mask[numpy_ints(one_array(table["event"]))]))
        return table_to_columns(table)


#: The states that this worker made last, by bucket: of which operator, as bytes, and to work on.
_CACHED_STATES: Final[dict[int, tuple[Operator, bytes, BucketState]]] = {}


def _open_state(operator: Operator, bucket: int, state: bytes | None) -> BucketState:
    """Open the state of a bucket for work: the one this worker has cached, or a new one from its
    bytes.
    """
    of, before, kept = _CACHED_STATES.pop(bucket, (None, None, None))
    if kept is not None and of is operator and before == state:
        return kept
    return operator.open_state(bucket, state)


def final_rows_task(
    system: Broadcast[Operator], states: BucketStates, batch: int, moment: StreamTime
) -> Callable[[int], bytes]:
    """Make the Spark task that returns a bucket's rows for the end of the stream, as JSON, from its
    state after ``batch``.
    """

    def last(bucket: int) -> bytes:
        skip_repeated_imports()
        state = states.read_state(batch, bucket)
        rows = [] if state is None else system.value.open_state(bucket, state).finish(moment)
        return json.dumps(list(rows)).encode()

    return last
