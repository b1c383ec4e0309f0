"""Interfaces of a stream system: an operator that processes events in buckets, and a collector of
its output rows.

`Operator.partition_events` splits a chunk of events into columns by bucket. The state of a bucket
steps over its columns and returns final rows. An operator runs in this process
(`shiq.streams.front.local`) or in the tasks of Spark (`shiq.jobs.streaming`). The collector runs on
the driver: it writes the rows of all buckets to the outputs and holds the result. Output depends
neither on batches nor on restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from shiq.answers.verdict import EXIT_CODES, Leftover, Verdict
from shiq.columns.arrays import Ints
from shiq.streams.front.event import Event
from shiq.streams.front.intake import EventIntake, EventLimits, StreamTime, leftovers_to_rows

Row = dict[str, Any]
#: Columns by name, of one length: numpy arrays of numbers, `CodedTexts`, or lists.
Columns = Mapping[str, Any]
#: An event that was not used wholly: its place in the chunk, the kind, why, and how it reads.
RejectedEvent = tuple[int, str, str, str]
R_co = TypeVar("R_co", covariant=True)


class CodedTexts(NamedTuple):
    """Dictionary-encoded column of texts: row i is ``texts[codes[i]]``."""

    codes: Ints
    texts: Sequence[str]


@dataclass(frozen=True)
class PartitionedEvents:
    """Chunk of events, encoded as columns and split by bucket (partition of the operator's state).

    parts: columns by bucket; the column ``event`` is the event's index in the chunk.
    rejects: events that were not used completely.
    counts: figures to be summed over chunks.
    collector_columns: columns that the collector is shown of each event.
    includes_text: whether it is shown the record's text too.
    """

    parts: Mapping[int, Columns]
    rejects: Sequence[RejectedEvent] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    collector_columns: Columns | None = None
    includes_text: bool = False


class BucketState(Protocol):
    """Interface of the state of one bucket: a fixed part of the key space, such as individuals by
    hash.
    """

    def step(self, parts: Sequence[Columns], moment: StreamTime) -> Iterable[Row]:
        """Process the bucket's parts of chunks in order; return the output rows that are final at
        ``moment``.
        """

    def finish(self, moment: StreamTime) -> Iterable[Row]:
        """Return the output rows that become final at the end of the input: by default none, since
        `step` has returned all of them.
        """
        return ()

    def to_bytes(self) -> bytes:
        """Serialise the state for `Operator.open_state`, without pickle."""


class Operator(Protocol):
    """Interface of an operator: splits events by bucket, and opens the state of each bucket.
    Cluster tasks get copies of it.
    """

    #: Rules by which records are accepted as events of this operator.
    limits: EventLimits
    #: Number of buckets; a checkpoint fixes it.
    buckets: int = 1
    #: Whether the collector sees each event besides the output rows.
    shows_events: bool = False
    #: Whether output rows depend on the states of buckets. If not, a lost state does no harm.
    is_stateful: ClassVar[bool] = True

    def partition_events(self, events: Sequence[Event | None]) -> PartitionedEvents:
        """Encode a chunk of events and split it by bucket; None stands for a record that is not
        used.
        """

    def open_state(self, bucket: int, state: bytes | None) -> BucketState:
        """Open the state of a bucket, new or from its bytes. Raises: OperationalError."""


#: A reject: kind, source, line, why, text; then its time, or None.
Reject = tuple[str, str, int, str, str, int | None]


@dataclass
class BatchReport:
    """Report to the collector on the records of a batch: progress, counts and rejects.

    stream_time: progress of the stream after the batch.
    counts: figures to be added to the collector's.
    rejects: rejects that the collector's intake has not logged yet.
    collector_columns: columns that the operator shows of each record, with ``line``, ``used`` and
    maybe ``text``.
    states: states of the buckets if they are in this process.
    """

    stream_time: StreamTime
    positions: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    collector_columns: Columns = field(default_factory=dict)
    states: Sequence[Any] = ()

    def update_intake(self, intake: EventIntake, counts: dict[str, int]) -> None:
        """Add the report's progress, counts and rejects to a collector's intake and its ``counts``."""
        intake.first, intake.tracker.newest = self.stream_time.first, self.stream_time.newest
        intake.duplicates += self.counts.get("duplicates", 0)
        for name in counts.keys() & self.counts.keys():
            counts[name] += self.counts[name]
        for kind, source, line, reason, text, t in self.rejects:
            intake.rejects.add_reject(kind, source, line, reason, text)
            intake.on_reject(kind, t)


class Collector(Protocol[R_co]):
    """Interface of a collector: writes an operator's output rows and makes the result of the run.

    name: the system's name in Spark's pages.
    intake: counts accepted and rejected records.
    seconds: seconds spent, by activity.
    steps_by_point: whether to step also when time advances and before a reject is logged.
    max_wait_seconds: longest time that an event waits for a step.
    """

    name: ClassVar[str]
    intake: EventIntake
    seconds: dict[str, float]
    steps_by_point: ClassVar[bool] = False
    max_wait_seconds: ClassVar[float] = inf

    @property
    def batch_size(self) -> int:
        """Number of events in a step, if the operator runs in this process."""

    def operator(self, *, in_tasks: bool = False) -> Operator:
        """Operator to run in this process, or in the tasks of a cluster. Raises: UsageError if it
        cannot run there.
        """

    def observe_rejected(self, text: str) -> None:
        """Receive the text of a rejected record, if the operator shows events; ignore it by
        default.
        """
        return

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Write the output rows that all buckets give for a batch."""

    def flush(self) -> None:
        """Write the buffered output rows; by default none are buffered."""
        return

    def state(self) -> bytes:
        """State of the collector for a checkpoint; `restore` reads it."""

    def restore(self, state: bytes) -> None:
        """Continue from the `state` that a collector of another run saved."""

    def legacy_bucket_states(self, state: bytes) -> list[bytes]:
        """Convert the state in a checkpoint of an older version, without buckets, to a list with
        the state of each bucket; by default one empty state.
        """
        return [b""]

    def finish(self, rows: Iterable[Row]) -> R_co:
        """Write the last output rows and return the result."""


# What came of a stream, as systems with a verdict tell it.


@dataclass(frozen=True)
class StreamAnswer:
    """Result of a stream system that gives a verdict.

    leftovers: input that was not understood or not used.
    statistics: counts, and seconds by activity.
    """

    verdict: Verdict
    leftovers: tuple[Leftover, ...]
    statistics: dict[str, Any]

    @property
    def exit_code(self) -> int:
        """Exit code of the command for the verdict."""
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """JSON value as ``--json`` prints it."""
        return {
            "verdict": self.verdict.value,
            "leftovers": leftovers_to_rows(self.leftovers),
            "statistics": self.statistics,
        }


def stream_verdict(contradicted: bool, is_open: bool) -> Verdict:
    """Verdict of a stream: inconsistent if ``contradicted``; else undetermined if ``is_open``
    (something stayed undecided); else consistent.
    """
    return (
        Verdict.INCONSISTENT
        if contradicted
        else Verdict.UNDETERMINED
        if is_open
        else Verdict.CONSISTENT
    )
