"""Run a stream operator on Spark: each micro-batch is read, ordered, and applied to the state of
each bucket.

Our own checkpoint is authoritative: file positions, the orderer's state, rows, and the number of
the batch whose bucket states are on disk. It is written in one step with the rows. Spark keeps the
offsets of topics. After a crash, Spark repeats what it did since our last checkpoint and writes the
same rows; a batch that the checkpoint already has is skipped. So each row appears exactly once.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from threading import Event, current_thread, main_thread
from traceback import format_exception
from typing import Any, Final, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import RDD, Broadcast
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from shiq.errors import OperationalError, ShiqError, UsageError
from shiq.jobs.spark.session import described_jobs, task_count
from shiq.jobs.streaming.buckets import (
    BucketStates,
    BucketStep,
    ChunkRow,
    ShuffledChunks,
    final_rows_task,
    shuffle_chunks,
)
from shiq.jobs.streaming.chunks import (
    COLUMNS,
    FOR_DRIVER,
    HEADER,
    TIMES,
    ChunkHeader,
    decode_table,
    table_to_columns,
)
from shiq.jobs.streaming.ordering import EventOrderer, OrderedBatch
from shiq.jobs.streaming.sources import (
    BATCH_BYTES,
    PIECES,
    FileRange,
    advance_positions,
    bytes_per_batch,
    check_targets,
    is_kafka,
    list_source_files,
    message_chunking_task,
    message_stream,
    place_prefix,
    range_chunking_task,
    ranges_between,
    read_line_texts,
    read_message_texts,
    tick_stream,
)
from shiq.streams.front.checkpoint import CheckpointContent
from shiq.streams.front.intake import StreamTime
from shiq.streams.front.kafka import NO_OPTIONS, KafkaOptions
from shiq.streams.front.operator import CodedTexts, Collector, Columns, Operator, Row
from shiq.streams.front.run import StreamRun

T = TypeVar("T")

#: Spark waits for ten seconds until a new Python process answers, which a busy machine may exceed.
#: Then the query is begun again, from its own checkpoint, so that nothing of it is lost or done
#: twice; so many times at most without a batch in between.
TOO_SLOW, ATTEMPTS = "to connect back", 5
#: How the last line of a traceback begins.
_EXCEPTION_LINE: Final = re.compile(r"[\w.]+(Error|Exception|Interrupt|Exit)\b")


def error_messages(error: BaseException | None) -> Iterator[str]:
    """Messages of an error and of its causes in Java."""
    while error is not None:
        yield str(error)
        error = getattr(error, "_cause", None)


def root_cause(error: BaseException) -> str:
    """Message of the deepest cause of an error, in one line."""
    said = type(error).__name__
    for message in error_messages(error):
        lines = [line.strip() for line in message.splitlines() if line.strip()]
        said = _python_error(lines) or next(iter(lines), said)
    return said[:300]


def _python_error(lines: Sequence[str]) -> str:
    """Error line of a worker's Python traceback within a message; "" without one."""
    at = next((n for n, line in enumerate(lines) if line.startswith("Traceback")), len(lines))
    return next((line for line in lines[at:] if _EXCEPTION_LINE.match(line)), "")


# What a batch brought, as a metric of Spark's progress reports: `observedMetrics`, by the
# query's name.
#
# The driver knows it only when the batch is over. It is told to a task of the batch as Spark tells
# loggers of tasks what they are about (a local property ``mdc.*``, which slf4j's MDC has there), so
# that Spark counts it without Python. That task reads a row of the batch once more.


#: The figures of a batch.
FIGURES: Final = ("events", "triples", "duplicates", "rejects", "rows", "hits")
#: The property that tells a task all figures, and the column that has them.
_FIGURES_PROPERTY: Final = "mdc.shiq.figures"
_FIGURES_COLUMN: Final = "shiq_figures"


def observe_figures(rows: DataFrame, name: str) -> DataFrame:
    """Add the metric ``name`` to Spark's progress reports; `report_figures` sets its figures."""
    told = F.java_method(F.lit("org.slf4j.MDC"), F.lit("get"), F.lit(_FIGURES_PROPERTY))
    found = F.split(F.col(_FIGURES_COLUMN), ",")
    metrics = [
        F.max(F.get(found, F.lit(place)).try_cast("long")).alias(figure)
        for place, figure in enumerate(FIGURES)
    ]
    return (
        rows.select("*", told.alias(_FIGURES_COLUMN)).observe(name, *metrics).select(rows.columns)
    )


def report_figures(frame: DataFrame, figures: Mapping[str, int], text: str) -> None:
    """Let Spark observe the ``figures`` of a batch, in a job described by ``text``.

    frame: the batch, from a stream made by `observe_figures`
    """
    context = frame.sparkSession.sparkContext
    context.setLocalProperty(
        _FIGURES_PROPERTY, ",".join(str(figures.get(name, "")) for name in FIGURES)
    )
    try:
        with described_jobs(frame.sparkSession, text):
            frame.take(1)
    finally:
        context.setLocalProperty(_FIGURES_PROPERTY, None)  # type: ignore[arg-type]  # None takes it away


#: Seconds between looks whether Ctrl-C was pressed, or all is read.
_POLL_SECONDS: Final = 0.2
#: How long a followed run waits between looks for what files have grown by.
_FILE_POLL_INTERVAL: Final = "1 second"
#: What our checkpoints hold: 2 since states are files of ours, and Spark has no state.
_CHECKPOINT_LAYOUT: Final = 2


@dataclass
class StatefulRun:
    """Run of a stream operator on Spark, micro-batch by micro-batch.

    collector: receives rows and reports on the driver
    system: the operator that runs in tasks
    run: outputs and checkpoint
    batch_bytes, batch_factor: a batch reads about ``batch_bytes`` × ``batch_factor`` bytes of files
    batch: number of the last finished batch
    positions: position up to which each file is read
    ranges: file ranges of the present batch
    """

    session: SparkSession
    collector: Collector[Any]
    system: Operator
    run: StreamRun
    targets: Sequence[str]
    format: str = "auto"
    batch_bytes: int = BATCH_BYTES
    batch_factor: int = 1
    options: KafkaOptions = NO_OPTIONS
    batch: int = -1
    positions: dict[str, int] = field(default_factory=dict)
    failure: ShiqError | None = None
    _end_of_input: Event = field(default_factory=Event)
    ranges: list[FileRange] = field(default_factory=list)
    stream_time: StreamTime = field(default_factory=StreamTime)

    def drive(self, *, follow: bool = False) -> list[Row]:
        """Process all batches. Returns the rows that the end of the stream gives. With ``follow``,
        Ctrl-C ends the stream.

        Raises: UsageError, InputError, OperationalError.
        """
        check_targets(self.targets, self.options)
        if self.run.saved_content is not None:
            self._restore(self.run.saved_content)
        self._check_start()
        system: Broadcast[Any] = self.session.sparkContext.broadcast(self.system)
        try:
            attempts, before = 0, self.batch
            while True:
                try:
                    if self._has_more_input(follow):
                        self._wait_for_query(self._start_query(system, follow), follow)
                    break
                except PySparkException as error:
                    attempts, before = (1 if self.batch > before else attempts + 1), self.batch
                    if (
                        self.failure
                        or attempts == ATTEMPTS
                        or not any(TOO_SLOW in said for said in error_messages(error))
                    ):
                        raise
            return self._last_rows(system) if self.batch >= 0 else []
        except (PySparkException, Py4JError) as error:
            whole = "".join(
                format_exception(error)
            )  # some errors of Spark show a plan, which has options of sources
            shown = error if self.options.hide_secrets(whole) == whole else None
            said = self.options.hide_secrets(root_cause(error))
            raise self.failure or OperationalError(
                f"Spark: {said}", "Look at what Spark's log says."
            ) from shown
        finally:
            if self.run.checkpoint is None:
                shutil.rmtree(self._run_folder, ignore_errors=True)
            system.destroy()

    def _start_query(self, system: Broadcast[Any], follow: bool) -> StreamingQuery:
        """Start the streaming query whose batches `_run_batch` processes."""
        frame = (
            message_stream(self.session, self.targets, self.options)
            if is_kafka(self.targets)
            else tick_stream(self.session)
        )
        writer = (
            observe_figures(frame, self.query_name)
            .writeStream.outputMode("append")
            .queryName(self.query_name)
        )
        writer = writer.foreachBatch(partial(self._run_batch, system, follow)).option(
            "checkpointLocation", str(self._run_folder / "spark")
        )
        if not is_kafka(self.targets):
            return (
                writer.trigger(processingTime=_FILE_POLL_INTERVAL) if follow else writer
            ).start()
        return (writer if follow else writer.trigger(availableNow=True)).start()

    @property
    def query_name(self) -> str:
        """Name of the streaming query; Spark's job descriptions begin with it."""
        return f"shiq stream {self.collector.name}"

    @cached_property
    def task_count(self) -> int:
        """Number of tasks to run in parallel."""
        return task_count(self.session)

    def _read_chunks(self, frame: DataFrame, system: Broadcast[Any]) -> RDD[ChunkRow]:
        """Read a batch in Spark tasks, as encoded chunks of records."""
        if is_kafka(self.targets):
            return frame.mapInArrow(message_chunking_task(system), COLUMNS).rdd.map(
                lambda row: (row["bucket"], row["place"], bytes(row["data"]))
            )
        return self.session.sparkContext.parallelize(self.ranges, len(self.ranges)).mapPartitions(
            range_chunking_task(system)
        )

    def _next_ranges(self, follow: bool) -> list[FileRange]:
        """Choose the file ranges that the next batch reads."""
        there = list_source_files(self.targets, self.format, follow=follow)
        most = bytes_per_batch(self.batch_bytes, self.task_count) * self.batch_factor
        upto = advance_positions(there, self.positions, most)
        return ranges_between(there, self.positions, upto, self.batch_bytes // PIECES)

    def _has_more_input(self, follow: bool) -> bool:
        """Decide whether input is left to read, or more may arrive."""
        return is_kafka(self.targets) or bool(self._next_ranges(follow)) or follow

    @cached_property
    def _run_folder(self) -> Path:
        """Folder of the run: the checkpoint's, or a temporary one."""
        kept = None if self.run.checkpoint is None else self.run.checkpoint.path
        return (kept or Path(tempfile.mkdtemp(prefix="shiq-stream-"))).absolute()

    def _wait_for_query(self, query: StreamingQuery, follow: bool) -> None:
        """Wait until the query ends, the input is read, or Ctrl-C is pressed; then stop the query."""
        pressed = list[int]()
        with _record_interrupts(pressed) if follow else nullcontext():
            try:
                while not pressed and not self._end_of_input.wait(_POLL_SECONDS):
                    if query.awaitTermination(0.001):  # type: ignore[arg-type]
                        break
                    self.run.status.update()
            finally:
                query.stop()

    def _run_batch(
        self, system: Broadcast[Any], follow: bool, frame: DataFrame, number: int
    ) -> None:
        """Process one batch and save the checkpoint; skip a batch that the checkpoint already has."""
        try:
            if number <= self.batch or not self._plan_batch(follow):
                return
            figures = self._step_batch(frame, system, number)
            self.batch = number
            lengths = self.run.outputs.flush()
            if self.run.checkpoint is not None:
                position = {
                    "layout": _CHECKPOINT_LAYOUT,
                    "batch": self.batch,
                    "read": self.positions,
                    "order": self.orderer.state(),
                }
                self.run.checkpoint.save(
                    CheckpointContent(position, lengths, self.collector.state())
                )
            self.bucket_states.remove_other_batches(self.batch)
            report_figures(frame, figures, f"{self.query_name}: batch {number}, what it brought")
            if not follow:
                self._plan_batch(follow)
        except ShiqError as error:
            self.failure = error
            raise

    def _plan_batch(self, follow: bool) -> bool:
        """Choose the next batch's file ranges. Returns whether there is input; else the run may
        end.
        """
        if is_kafka(self.targets):
            return True
        self.ranges = self._next_ranges(follow)
        if not self.ranges and not follow:
            self._end_of_input.set()
        return bool(self.ranges)

    def _restore(self, saved: CheckpointContent) -> None:
        """Continue from a checkpoint. Raises: OperationalError if Spark's part of it is missing."""
        folder = None if self.run.checkpoint is None else self.run.checkpoint.path
        if folder is not None and not (folder / "spark" / "offsets").is_dir():
            raise OperationalError(
                f"{folder}: what Spark kept there is gone", "Remove the directory to begin anew."
            )
        self.batch, self.positions = saved.positions["batch"], dict(saved.positions["read"])
        self.collector.restore(saved.state)
        if "order" in saved.positions:
            self.orderer.restore(saved.positions["order"])
        else:  # a system that once had no order, and counted lines itself
            self.orderer.line_counts = self.collector.legacy_lines(saved.state)  # type: ignore[attr-defined]
        self.stream_time = self.orderer.intake.stream_time

    @cached_property
    def orderer(self) -> EventOrderer:
        """Intake that accepts or rejects events on the driver."""
        return EventOrderer(self.system.limits)

    @cached_property
    def bucket_states(self) -> BucketStates:
        """Files with the state of each bucket."""
        is_seen = self.run.checkpoint is not None or self._is_local
        folder = self._run_folder / "buckets" if is_seen else None
        return BucketStates(folder, self.system.buckets, self.system.is_stateful)

    @property
    def _is_local(self) -> bool:
        """Decide whether Spark's executors run on this machine only."""
        return str(self.session.sparkContext.master).startswith("local")

    def _check_start(self) -> None:
        """Check that the operator's state can be kept and is complete. Raises: UsageError,
        OperationalError.
        """
        if self.run.checkpoint is None and self.system.is_stateful and not self._is_local:
            raise UsageError(
                f"{self.query_name} on a cluster keeps its state in files that all executors see",
                "Name a folder for them: --checkpoint DIR.",
            )
        if self.batch >= 0:
            self.bucket_states.check_complete(self.batch)

    def _step_batch(
        self, frame: DataFrame, system: Broadcast[Any], number: int
    ) -> Mapping[str, int]:
        """Process batch ``number``: read, order, advance the buckets, collect rows. Returns its
        figures.
        """
        chunks = shuffle_chunks(
            self._read_chunks(frame, system), self.system.buckets, self.task_count
        )
        heads = self.run_job("read", number, lambda: chunks.rows_of_kind(HEADER))
        shown = (
            self.run_job("show", number, lambda: chunks.rows_of_kind(FOR_DRIVER))
            if self.system.shows_events
            else []
        )
        records = _BatchRecords(
            self,
            frame,
            number,
            chunks,
            {place: ChunkHeader.from_bytes(data) for _, place, data in heads},
        )
        ordered = self.orderer.order_batch(records.heads, records, closely=bool(shown))
        told = ordered.report
        step = BucketStep(
            system,
            self.bucket_states,
            self.batch,
            number,
            told.stream_time,
            ordered.chunk_ranks,
            ordered.use_masks,
        )
        rows = [
            row
            for found in self.run_job("decide", number, lambda: chunks.step_buckets(step))
            for row in json.loads(found)
        ]
        self.positions.update(told.positions)
        self.stream_time = told.stream_time
        self.run.status.records += told.counts.get("events", 0)
        self.collector.collect(
            replace(told, collector_columns=columns_for_collector(shown, ordered)), rows
        )
        return {**told.counts, "rejects": len(told.rejects), "rows": len(rows)}

    def _last_rows(self, system: Broadcast[Any]) -> list[Row]:
        """Compute the output rows for the end of the stream."""
        with described_jobs(self.session, f"{self.query_name}: the end of the input"):
            buckets = self.session.sparkContext.parallelize(
                range(self.system.buckets), min(self.system.buckets, self.task_count)
            )
            last = buckets.map(
                final_rows_task(system, self.bucket_states, self.batch, self.stream_time)
            ).collect()
        return [row for rows in last for row in json.loads(rows)]

    def run_job(self, what: str, number: int, job: Callable[[], T]) -> T:
        """Run a Spark job, again if a Python worker answered too slowly. Raises: OperationalError."""
        with described_jobs(self.session, f"{self.query_name}: batch {number}, {what}"):
            for attempt in range(ATTEMPTS):
                try:
                    return job()
                except Py4JError as error:
                    if attempt + 1 < ATTEMPTS and TOO_SLOW in str(error):
                        continue
                    raise OperationalError(
                        f"Spark: {self.options.hide_secrets(root_cause(error))}",
                        "Look at what Spark's log says.",
                    ) from None
        raise AssertionError


def check_checkpoint_layout(run: StreamRun) -> None:
    """Check that this version can read the checkpoint of ``run``. Raises: OperationalError."""
    if (
        run.checkpoint is not None
        and run.saved_content is not None
        and run.saved_content.positions.get("layout") != _CHECKPOINT_LAYOUT
    ):
        raise OperationalError(
            f"{run.checkpoint.path}: made by another version of shiq, whose state on Spark lies elsewhere",
            "Remove the directory and read the stream from its beginning; or end the run with the version that began it.",
        )


@contextmanager
def _record_interrupts(pressed: list[int]) -> Iterator[None]:
    """Context manager: record Ctrl-C in ``pressed`` instead of raising. Spark's own handler would
    call the JVM in the middle of an answer.
    """
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class _BatchRecords:
    """Records of a batch, fetched by Spark jobs; see `shiq.jobs.streaming.ordering.BatchRecords`."""

    query: StatefulRun
    frame: DataFrame
    number: int
    chunks: ShuffledChunks
    heads: Mapping[str, ChunkHeader]

    def fetch_times(self) -> dict[str, pa.Table]:
        """Fetch the tables of event times of all chunks, by the chunk's sort key."""
        rows = self.query.run_job("order", self.number, lambda: self.chunks.rows_of_kind(TIMES))
        return {place: decode_table(data) for _, place, data in rows}

    def fetch_texts(self, lines: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], str]:
        """Fetch the texts of records, by the chunk's sort key and the line within it."""
        found = self.query.run_job(
            "read what is rejected", self.number, lambda: self._read_texts_again(lines)
        )
        return {
            (place, line): text for place, texts in found.items() for line, text in texts.items()
        }

    def _read_texts_again(self, lines: Mapping[str, Sequence[int]]) -> dict[str, dict[int, str]]:
        """Read texts of records again, by the chunk's sort key and the line within it."""
        wanted = dict[tuple[int, ...], list[int]]()
        for place, some in lines.items():
            wanted.setdefault(_chunk_origin(place, self.heads[place]), []).extend(
                line + self.heads[place].skipped_lines for line in some
            )
        if is_kafka(self.query.targets):
            texts: dict[tuple[int, ...], str] = {**read_message_texts(self.frame, wanted)}  # type: ignore[arg-type,dict-item]
        else:
            pieces = [piece for piece in self.query.ranges if tuple(place_prefix(piece)) in wanted]
            asked = [(piece, wanted[tuple(place_prefix(piece))]) for piece in pieces]
            context, unit = self.query.session.sparkContext, self.query.system.limits.unit
            found = (
                context.parallelize(asked, len(asked)).map(partial(read_line_texts, unit)).collect()
            )
            texts = {
                (*place_prefix(piece), line): text
                for piece, part in zip(pieces, found)
                for line, text in part.items()
            }
        return {
            place: {
                line: texts[(*_chunk_origin(place, head), line + head.skipped_lines)]
                for line in some
            }
            for place, some in lines.items()
            for head in [self.heads[place]]
        }


def _chunk_origin(place: str, head: ChunkHeader) -> tuple[int, ...]:
    """Origin of a chunk: (topic index, partition), or the prefix of a file range's sort keys."""
    found = json.loads(place)
    return (found[0], found[2]) if head.is_topic else tuple(found[:3])


def columns_for_collector(chunks: Iterable[ChunkRow], ordered: OrderedBatch) -> Columns:
    """Merge the columns that an operator's tasks give to the collector, in order of the records."""
    rows = sorted(
        (
            row
            for _, place, data in chunks
            for row in _collector_rows(
                table_to_columns(decode_table(data)),
                ordered.record_numbers[place],
                ordered.use_masks.get(place),
                ordered.line_offsets[place],
            )
        ),
        key=lambda row: row["rank"],
    )
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def _collector_rows(columns: Columns, order: Any, used: Any, before: int) -> Iterator[Row]:
    """Rows of one chunk for the collector, each with its rank in the batch and whether it was
    accepted.
    """
    is_used = [True] * len(order) if used is None else used.tolist()
    found = {name: _decode_column(column) for name, column in columns.items()}
    found |= {"line": [line + before for line in found["line"]], "rank": order.tolist()}
    found["used"] = is_used
    return (dict(zip(found, values)) for values in zip(*found.values()))


def _decode_column(column: Any) -> Sequence[Any]:
    """Values of a column as a sequence; dictionary-coded texts are decoded."""
    if isinstance(column, CodedTexts):
        return [column.texts[code] for code in column.codes.tolist()]
    return column.tolist() if hasattr(column, "tolist") else column
