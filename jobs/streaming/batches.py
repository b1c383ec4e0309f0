"""A stream system on Spark, from sources to outputs; each batch's rows and the checkpoint in one
step.

Our checkpoint is what counts: positions in files, the order's state, rows and the batch whose
buckets' states are on disk. Spark keeps the offsets of topics. What it had done behind our last
checkpoint when the driver died, it does again, from the same offsets and states to the same
rows; a batch that the checkpoint has is passed over. So each row is there once.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from threading import Event, current_thread, main_thread
from traceback import format_exception
from typing import Any, ClassVar, Final, Protocol, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import RDD, Broadcast
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from jobs.spark.session import width_of
from jobs.streaming.chunks import COLUMNS, Row
from jobs.streaming.failures import ATTEMPTS, TOO_SLOW, chain, reason
from jobs.streaming.pieces import BATCH_BYTES, PIECES, Piece, advanced, batch_bytes, between, units
from jobs.streaming.progress import tell, with_figures
from jobs.streaming.sources import (
    ChunkRows,
    check_targets,
    file_chunks,
    is_kafka,
    ticks,
    topic_chunks,
    topics,
)
from jobs.streaming.stages import ChunkRow
from shiq.errors import OperationalError, ShiqError
from streams.front.checkpoint import CheckpointContent
from streams.front.kafka_options import NO_OPTIONS, KafkaOptions
from streams.front.run import StreamRun

#: Seconds between looks whether Ctrl-C was pressed, or all is read.
_LOOK: Final = 0.2
#: How long a followed run waits between looks for what files have grown by.
_TICK: Final = "1 second"
#: What our checkpoints hold: 2 since states are files of ours, and Spark has no state.
_LAYOUT: Final = 2


#: What a face gives at the end.
R_co = TypeVar("R_co", covariant=True)


class Face(Protocol[R_co]):
    """A stream system as it is on the driver: it hears what tasks find, writes to the outputs of
    its run, and keeps what a checkpoint takes beside positions and outputs. ``name``: of the
    system, as Spark's pages show it.
    """

    name: ClassVar[str]

    @property
    def system(self) -> Any:
        """What tasks are sent; of `Query` a `jobs.streaming.chunks.SparkSystem`. Raises:
        UsageError for what Spark cannot do.
        """

    def state(self) -> bytes:
        """What `restore` takes."""

    def restore(self, state: bytes) -> None:
        """Goes on where another run was."""

    def finish(self, rows: list[Row]) -> R_co:
        """Takes the rows that the end of the input brings; the result."""


@dataclass
class Batches:
    """A run on Spark over ``targets``, batch by batch; ``run``: outputs, and the checkpoint that
    takes ``listener``'s state. ``fold`` times ``batch_bytes`` of files are one batch.
    """

    session: SparkSession
    listener: Any
    system: Any
    run: StreamRun
    targets: Sequence[str]
    format: str = "auto"
    batch_bytes: int = BATCH_BYTES
    fold: int = 1
    options: KafkaOptions = NO_OPTIONS
    batch: int = -1
    positions: dict[str, int] = field(default_factory=dict)
    failed: ShiqError | None = None
    _over: Event = field(default_factory=Event)
    pieces: list[Piece] = field(default_factory=list)

    def hear(self, frame: DataFrame, system: Broadcast[Any], number: int) -> Mapping[str, int]:
        """Takes batch ``number``, on the driver; its figures."""
        raise NotImplementedError

    def begin(self) -> None:
        """Looks whether the run can be begun. Raises: UsageError, OperationalError."""

    def saved(self) -> None:
        """Lets go of what only the batches before needed."""

    def finish(self, system: Broadcast[Any]) -> list[Row]:
        """The rows that the end of the input brings."""
        return []

    def drive(self, *, follow: bool = False) -> list[Row]:
        """Has all batches heard; the rows that the end of the input brings. With ``follow``
        Ctrl-C is the end of the input.

        Raises: UsageError, InputError, OperationalError.
        """
        check_targets(self.targets, self.options)
        if self.run.saved is not None:
            self._restore(self.run.saved)
        self.begin()
        system: Broadcast[Any] = self.session.sparkContext.broadcast(self.system)
        try:
            with self._folder as folder:
                attempts, before = 0, self.batch
                while True:
                    try:
                        if self._has_more(follow):
                            self._wait(self._start(system, folder, follow), follow)
                        break
                    except PySparkException as error:
                        attempts, before = (1 if self.batch > before else attempts + 1), self.batch
                        if (
                            self.failed
                            or attempts == ATTEMPTS
                            or not any(TOO_SLOW in said for said in chain(error))
                        ):
                            raise
                return self.finish(system) if self.batch >= 0 else []
        except (PySparkException, Py4JError) as error:
            whole = "".join(
                format_exception(error)
            )  # some errors of Spark show a plan, which has options of sources
            shown = error if self.options.hide(whole) == whole else None
            said = self.options.hide(reason(error))
            raise self.failed or OperationalError(
                f"Spark: {said}", "Look at what Spark's log says."
            ) from shown
        finally:
            system.destroy()

    def _start(self, system: Broadcast[Any], folder: Path, follow: bool) -> StreamingQuery:
        frame = (
            topics(self.session, self.targets, self.options)
            if is_kafka(self.targets)
            else ticks(self.session)
        )
        writer = (
            with_figures(frame, self.query_name)
            .writeStream.outputMode("append")
            .queryName(self.query_name)
        )
        writer = writer.foreachBatch(partial(self._batch, system, follow)).option(
            "checkpointLocation", str(folder / "spark")
        )
        if not is_kafka(self.targets):
            return (writer.trigger(processingTime=_TICK) if follow else writer).start()
        return (writer if follow else writer.trigger(availableNow=True)).start()

    @property
    def query_name(self) -> str:
        """What Spark calls the query; it describes its jobs by that."""
        return f"shiq stream {self.listener.name}"

    @cached_property
    def width(self) -> int:
        """How many tasks are to work side by side."""
        return width_of(self.session)

    def chunks(self, frame: DataFrame, system: Broadcast[Any], rows: ChunkRows) -> RDD[ChunkRow]:
        """The chunks of a batch, as ``rows`` makes them."""
        if is_kafka(self.targets):
            return frame.mapInArrow(topic_chunks(system, rows), COLUMNS).rdd.map(_plain)
        return self.session.sparkContext.parallelize(self.pieces, len(self.pieces)).mapPartitions(
            file_chunks(system, rows)
        )

    def _next(self, follow: bool) -> list[Piece]:
        """The pieces of files that the next batch reads."""
        there = units(self.targets, self.format, follow=follow)
        most = batch_bytes(self.batch_bytes, self.width) * self.fold
        upto = advanced(there, self.positions, most)
        return between(there, self.positions, upto, self.batch_bytes // PIECES)

    def _has_more(self, follow: bool) -> bool:
        return is_kafka(self.targets) or bool(self._next(follow)) or follow

    @cached_property
    def _folder(self) -> _RunFolder:
        return _RunFolder(None if self.run.checkpoint is None else self.run.checkpoint.path)

    def _wait(self, query: StreamingQuery, follow: bool) -> None:
        pressed = list[int]()
        with _taking_down(pressed) if follow else nullcontext():
            try:
                while not pressed and not self._over.wait(_LOOK):
                    if query.awaitTermination(0.001):  # type: ignore[arg-type]
                        break
                    self.run.status.look()
            finally:
                query.stop()

    def _batch(self, system: Broadcast[Any], follow: bool, frame: DataFrame, number: int) -> None:
        """Takes one batch and saves, unless that was done before."""
        try:
            if number <= self.batch or not self._is_any(follow):
                return
            figures = self.hear(frame, system, number)
            self.batch = number
            lengths = self.run.outputs.flush()
            if self.run.checkpoint is not None:
                self.run.checkpoint.save(
                    CheckpointContent(self._places(), lengths, self.listener.state())
                )
            self.saved()
            tell(frame, figures, f"{self.query_name}: batch {number}, what it brought")
            if not follow:
                self._is_any(follow)
        except ShiqError as error:
            self.failed = error
            raise

    def _is_any(self, follow: bool) -> bool:
        """Whether there is something to read, by ``_pieces`` where it is files; their end ends
        the run.
        """
        if is_kafka(self.targets):
            return True
        self.pieces = self._next(follow)
        if not self.pieces and not follow:
            self._over.set()
        return bool(self.pieces)

    def _places(self) -> dict[str, Any]:
        """What a checkpoint says beside the listener's state."""
        return {"layout": _LAYOUT, "batch": self.batch, "read": self.positions}

    def _restore(self, saved: CheckpointContent) -> None:
        folder = None if self.run.checkpoint is None else self.run.checkpoint.path
        if folder is not None and not (folder / "spark" / "offsets").is_dir():
            raise OperationalError(
                f"{folder}: what Spark kept there is gone", "Remove the directory to begin anew."
            )
        self.batch, self.positions = saved.positions["batch"], dict(saved.positions["read"])
        self.listener.restore(saved.state)


def _plain(row: Any) -> ChunkRow:
    return row["bucket"], row["place"], bytes(row["data"])


def check_layout(run: StreamRun) -> None:
    """Raises: OperationalError where the checkpoint of ``run`` is not laid out as those that are
    written here.
    """
    if (
        run.checkpoint is not None
        and run.saved is not None
        and run.saved.positions.get("layout") != _LAYOUT
    ):
        raise OperationalError(
            f"{run.checkpoint.path}: made by another version of shiq, whose state on Spark lies elsewhere",
            "Remove the directory and read the stream from its beginning; or end the run with the version that began it.",
        )


class _RunFolder:
    """The folder of a run, as a context: that of its checkpoint, or one for this run only."""

    def __init__(self, kept: Path | None) -> None:
        self.is_kept, self.path = (
            kept is not None,
            (kept or Path(tempfile.mkdtemp(prefix="shiq-stream-"))).absolute(),
        )

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        if not self.is_kept:
            shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def _taking_down(pressed: list[int]) -> Iterator[None]:
    """Ctrl-C is taken down, and not raised: Spark's own handler would ask the JVM something in
    the middle of an answer.
    """
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
