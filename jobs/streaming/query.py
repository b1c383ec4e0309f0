"""A stream system on Spark, from sources to outputs; each batch's rows and the checkpoint in one step.

What Spark had done behind our last checkpoint when the driver died, it does again, from the same offsets and states to the same
rows; a batch that the checkpoint has is not written again. So each row is there once.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import current_thread, main_thread
from traceback import format_exception
from typing import Any, ClassVar, Final, Protocol, TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from jobs.spark.costs import described
from jobs.streaming.chunks import SHOWN, TOLD, Moment, Row, unpacked
from jobs.streaming.ordering import BatchTold
from jobs.streaming.pieces import BATCH_BYTES
from jobs.streaming.shipped import ShippedValue
from jobs.streaming.sources import chunked, incoming, is_kafka
from jobs.streaming.stages import LAST, STATE, finishing, staged
from shiq.errors import OperationalError, ShiqError
from streams.front.checkpoint import CheckpointContent
from streams.front.kafka_options import NO_OPTIONS, KafkaOptions
from streams.front.run import StreamRun

#: Seconds between looks whether Ctrl-C was pressed.
_LOOK = 1
#: Spark waits for ten seconds until a new Python process answers, which a busy machine may exceed. Then the query is begun again,
#: from its own checkpoint, so that nothing of it is lost or done twice; so many times at most without a batch in between.
_TOO_SLOW, _ATTEMPTS = "to connect back", 5
#: How the last line of a traceback begins.
_RAISED: Final = re.compile(r"[\w.]+(Error|Exception|Interrupt|Exit)\b")


#: What a face gives at the end.
R_co = TypeVar("R_co", covariant=True)


class Face(Protocol[R_co]):
    """A stream system as it is on the driver: it hears what tasks find, writes to the outputs of its run, and keeps what a
    checkpoint takes beside positions and outputs. ``name``: of the system, as Spark's pages show it."""

    name: ClassVar[str]

    @property
    def system(self) -> Any:
        """What tasks are sent; of `Query` a `jobs.streaming.chunks.SparkSystem`. Raises: UsageError for what Spark cannot do."""

    def state(self) -> bytes:
        """What `restore` takes."""

    def restore(self, state: bytes) -> None:
        """Goes on where another run was."""

    def finish(self, rows: list[Row]) -> R_co:
        """Takes the rows that the end of the input brings; the result."""


class Listener(Face[R_co], Protocol[R_co]):
    """The face of a system in buckets."""

    def hear(self, told: BatchTold, rows: list[Row]) -> None:
        """Takes what the order tells, and the rows of all buckets."""


@dataclass
class Batches:
    """A run on Spark over ``targets``, batch by batch; ``run``: outputs, and the checkpoint that takes ``listener``'s state."""

    session: SparkSession
    listener: Any
    system: Any
    run: StreamRun
    targets: Sequence[str]
    format: str = "auto"
    batch_bytes: int = BATCH_BYTES
    options: KafkaOptions = NO_OPTIONS
    batch: int = -1
    moment: Moment = field(default_factory=Moment)
    positions: dict[str, int] = field(default_factory=dict)
    failed: ShiqError | None = None

    def planned(self, system: ShippedValue[Any], *, follow: bool) -> DataFrame:
        """What Spark makes of each batch by itself."""
        raise NotImplementedError

    def hear(self, frame: DataFrame, system: ShippedValue[Any], *, is_new: bool) -> None:
        """Hears a batch, on the driver; one that is not new has been heard, and was to be made again."""
        raise NotImplementedError

    def finish(self, folder: Path, system: ShippedValue[Any]) -> list[Row]:
        """The rows that the end of the input brings."""
        return []

    def drive(self, *, follow: bool = False) -> list[Row]:
        """Has all batches heard; the rows that the end of the input brings. With ``follow`` Ctrl-C is the end of the input.

        Raises: UsageError, InputError, OperationalError."""
        if self.run.saved is not None:
            self._restore(self.run.saved)
        system = ShippedValue(self.session.sparkContext, self.system)
        try:
            with self._folder() as folder:
                attempts, before = 0, self.batch
                while True:
                    try:
                        self._wait(self._start(system, folder, follow), follow)
                        break
                    except PySparkException as error:
                        attempts, before = (1 if self.batch > before else attempts + 1), self.batch
                        if attempts == _ATTEMPTS or not any(_TOO_SLOW in said for said in _chain(error)):
                            raise
                return self.finish(folder, system) if self.batch >= 0 else []
        except PySparkException as error:
            whole = "".join(format_exception(error))  # some errors of Spark show a plan, which has options of sources
            shown = error if self.options.hide(whole) == whole else None
            said = self.options.hide(_reason(error))
            raise self.failed or OperationalError(f"Spark: {said}", "Look at what Spark's log says.") from shown
        finally:
            system.destroy()

    def _start(self, system: ShippedValue[Any], folder: Path, follow: bool) -> StreamingQuery:
        writer = self.planned(system, follow=follow).writeStream.outputMode("append")
        writer = writer.foreachBatch(partial(self._batch, system)).option("checkpointLocation", str(folder))
        writer = writer.queryName(self.query_name)
        return (writer.trigger(availableNow=True) if is_kafka(self.targets) and not follow else writer).start()

    @property
    def query_name(self) -> str:
        """What Spark calls the query; it describes its jobs by that."""
        return f"shiq stream {self.listener.name}"

    def incoming(self, *, follow: bool) -> DataFrame:
        """What is to be read."""
        how: dict[str, Any] = {"format": self.format, "follow": follow, "batch": self.batch_bytes, "options": self.options}
        return incoming(self.session, self.targets, self.positions, **how)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """Where Spark keeps its own checkpoint: beside ours, or for this run only."""
        if self.run.checkpoint is not None:
            yield (self.run.checkpoint.path / "spark").absolute()
            return
        folder = Path(tempfile.mkdtemp(prefix="shiq-stream-"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _wait(self, query: StreamingQuery, follow: bool) -> None:
        pressed = list[int]()
        with _taking_down(pressed) if follow else nullcontext():
            try:
                if follow or is_kafka(self.targets):
                    while not pressed and not query.awaitTermination(_LOOK):
                        self.run.status.look()
                else:
                    query.processAllAvailable()
            finally:
                query.stop()

    def _batch(self, system: ShippedValue[Any], frame: DataFrame, number: int) -> None:
        """Hears one batch and saves, unless that was done before."""
        try:
            self.hear(frame, system, is_new=number > self.batch)
            if number <= self.batch:
                return
            self.batch = number
            lengths = self.run.outputs.flush()
            if self.run.checkpoint is not None:
                places = {"batch": number, "moment": self.moment, "read": self.positions}
                self.run.checkpoint.save(CheckpointContent(places, lengths, self.listener.state()))
        except ShiqError as error:
            self.failed = error
            raise

    def _restore(self, saved: CheckpointContent) -> None:
        if self.run.checkpoint is not None and not (self.run.checkpoint.path / "spark" / "offsets").is_dir():
            raise OperationalError(
                f"{self.run.checkpoint.path}: what Spark kept there is gone", "Remove the directory to begin anew."
            )
        self.batch, self.moment = saved.positions["batch"], Moment(*saved.positions["moment"])
        self.positions = dict(saved.positions["read"])
        self.listener.restore(saved.state)


@dataclass
class Query(Batches):
    """Batches through the order and the buckets of ``system``."""

    listener: Listener[Any]

    def planned(self, system: ShippedValue[Any], *, follow: bool) -> DataFrame:
        return staged(chunked(self.incoming(follow=follow), self.targets, system), system)

    def hear(self, frame: DataFrame, system: ShippedValue[Any], *, is_new: bool) -> None:
        # Spark's states of it are to be committed in any case.
        told, rows = _read(frame.toArrow())
        if is_new:
            self.positions.update(told.positions)
            self.moment = told.moment
            self.run.status.records += told.counts.get("events", 0)
            self.listener.hear(told, rows)

    def finish(self, folder: Path, system: ShippedValue[Any]) -> list[Row]:
        states = self.session.read.format("statestore").options(operatorId=str(LAST), batchId=str(self.batch), stateVarName=STATE)
        values = states.load(str(folder)).select("key.bucket", "value.data")
        with described(self.session, f"{self.query_name}: the end of the input"):
            found = values.mapInArrow(finishing(system, self.moment), "rows binary").toArrow()
        return [row for rows in found.column("rows").to_pylist() for row in json.loads(rows)]


@contextmanager
def _taking_down(pressed: list[int]) -> Iterator[None]:
    """Ctrl-C is taken down, and not raised: Spark's own handler would ask the JVM something in the middle of an answer."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _read(table: Any) -> tuple[BatchTold, list[Row]]:
    told, rows, shown = BatchTold(Moment()), list[Row](), list[Any]()
    for bucket, data in zip(table.column("bucket").to_pylist(), table.column("data").to_pylist()):
        if bucket == TOLD:
            told = BatchTold.of_bytes(data)
        elif bucket == SHOWN:
            shown.append(unpacked(data))
        else:
            rows += json.loads(data)
    return replace(told, shown=shown), rows


def _chain(error: BaseException | None) -> Iterator[str]:
    """What an error says, and what those say that Java had as its causes."""
    while error is not None:
        yield str(error)
        error = getattr(error, "_cause", None)


def _reason(error: BaseException) -> str:
    """What was at the bottom of it, in a line."""
    said = type(error).__name__
    for message in _chain(error):
        lines = [line.strip() for line in message.splitlines() if line.strip()]
        said = _of_python(lines) or next(iter(lines), said)
    return said[:300]


def _of_python(lines: Sequence[str]) -> str:
    """What a worker raised, of the traceback in the message."""
    at = next((n for n, line in enumerate(lines) if line.startswith("Traceback")), len(lines))
    return next((line for line in lines[at:] if _RAISED.match(line)), "")
