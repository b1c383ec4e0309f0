"""A stream system as its runners know it: an operator and a collector.

The *operator* says what becomes of events. `Operator.partition_events` takes those of a chunk apart into
columns by bucket, and a bucket's state steps from what came to the rows that are final. It may
run anywhere: in this process (`shiq.streams.front.local`), or in the tasks of Spark
(`shiq.jobs.streaming`). The *collector* is on the driver: it takes the rows of all buckets to the
outputs, and has the result. What comes out depends neither on batches nor on restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from shiq.answers.verdict import EXIT_CODES, Leftover, Verdict
from shiq.columns.arrays import Ints
from shiq.streams.front.arrivals import EventIntake, EventLimits, StreamTime, leftover_rows
from shiq.streams.front.event import Event

Row = dict[str, Any]
#: Columns by name, of one length: numpy arrays of numbers, `CodedTexts`, or lists.
Columns = Mapping[str, Any]
#: An event that was not used wholly: its place in the chunk, the kind, why, and how it reads.
RejectedEvent = tuple[int, str, str, str]
R_co = TypeVar("R_co", covariant=True)


class CodedTexts(NamedTuple):
    """A column of texts: each is ``texts[code]``."""

    codes: Ints
    texts: Sequence[str]


@dataclass(frozen=True)
class PartitionedEvents:
    """A chunk's events, taken apart: columns by bucket, of which ``event`` is the place of the
    event; what was not used; figures to be summed up; what the collector is shown of each event,
    ``includes_text`` of its record.
    """

    parts: Mapping[int, Columns]
    rejects: Sequence[RejectedEvent] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    collector_columns: Columns | None = None
    includes_text: bool = False


class BucketState(Protocol):
    """What one bucket knows."""

    def step(self, parts: Sequence[Columns], moment: StreamTime) -> Iterable[Row]:
        """Take parts of chunks, in order, and give the rows that are final by ``moment``."""

    def finish(self, moment: StreamTime) -> Iterable[Row]:
        """The rows that the end of the input brings."""

    def to_bytes(self) -> bytes:
        """What `Operator.open_state` goes on from; no pickle."""


class Operator(Protocol):
    """Takes events apart, and has a state for each bucket. Workers get copies."""

    @property
    def limits(self) -> EventLimits: ...

    @property
    def buckets(self) -> int:
        """How many there are, from 0 on; fixed for a checkpoint."""

    @property
    def shows_events(self) -> bool:
        """Whether the collector is shown each event."""

    @property
    def is_stateful(self) -> bool:
        """Whether rows depend on what buckets know; else it may be lost."""

    def partition_events(self, events: Sequence[Event | None]) -> PartitionedEvents:
        """Take the events of a chunk apart; None stands where a record is not used."""

    def open_state(self, bucket: int, state: bytes | None) -> BucketState:
        """The state of a bucket, at the beginning or as it was saved. Raises: OperationalError."""


#: A reject: kind, source, line, why, text; then its time, or None.
Reject = tuple[str, str, int, str, str, int | None]


@dataclass
class BatchReport:
    """What became of the records of a batch. ``counts``: figures, to which the collector may add;
    ``rejects``: those that the collector's intake does not have yet; ``collector_columns``: columns of
    what the operator shows of each record, in order, with its ``line``, whether it is ``used``,
    and maybe its ``text``; ``states``: those of the buckets, where they are in this process.
    """

    stream_time: StreamTime
    positions: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    collector_columns: Columns = field(default_factory=dict)
    states: Sequence[Any] = ()

    def apply_to(self, arrivals: EventIntake, counts: dict[str, int]) -> None:
        """Bring the intake of a collector, and its ``counts``, to where the stream is."""
        arrivals.first, arrivals.tracker.newest = self.stream_time.first, self.stream_time.newest
        arrivals.duplicates += self.counts.get("duplicates", 0)
        for name in counts.keys() & self.counts.keys():
            counts[name] += self.counts[name]
        for kind, source, line, reason, text, t in self.rejects:
            arrivals.rejects.add(kind, source, line, reason, text)
            arrivals.on_reject(kind, t)


class Collector(Protocol[R_co]):
    """Takes what the operator finds to the outputs of a run. ``name``: of the system, as Spark's
    pages show it; ``intake``: the intake, which counts what came and what was rejected.
    """

    name: ClassVar[str]

    @property
    def intake(self) -> EventIntake: ...

    def operator(self, *, in_tasks: bool = False) -> Operator:
        """What is done with events, in the tasks of a cluster or in this process. Raises:
        UsageError for what cannot be done there.
        """

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Take the rows of all buckets."""

    def state(self) -> bytes:
        """What `restore` takes."""

    def restore(self, state: bytes) -> None:
        """Go on where another run was."""

    def finish(self, rows: Iterable[Row]) -> R_co:
        """Take the rows that the end of the input brings; the result."""


# What came of a stream, as systems with a verdict tell it.


@dataclass(frozen=True)
class StreamAnswer:
    """``leftovers``: what was not understood or not used; ``statistics``: counts, and seconds by
    what they went to.
    """

    verdict: Verdict
    leftovers: tuple[Leftover, ...]
    statistics: dict[str, Any]

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """As ``--json`` writes it."""
        return {
            "verdict": self.verdict.value,
            "leftovers": leftover_rows(self.leftovers),
            "statistics": self.statistics,
        }


def stream_verdict(contradicted: bool, is_open: bool) -> Verdict:
    """That of a stream in which something contradicts, or something could not be told."""
    return (
        Verdict.INCONSISTENT
        if contradicted
        else Verdict.UNDETERMINED
        if is_open
        else Verdict.CONSISTENT
    )
