"""Run a stream operator in this process: admit records, and pass batches of events through its
buckets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from time import perf_counter
from typing import Any, Final, Generic, TypeAlias

from shiq.errors import OperationalError
from shiq.streams.front.event import Event, Record
from shiq.streams.front.intake import StreamTime
from shiq.streams.front.operator import (
    BatchReport,
    BucketState,
    Collector,
    Columns,
    Operator,
    PartitionedEvents,
    R_co,
    Row,
)

#: How many triples are taken at once, at most, however few events these are.
_MOST_TRIPLES: Final = 200_000


#: Gives the state of a bucket of an operator, at the beginning or as it was saved.
StateOpener: TypeAlias = Callable[[Any, int, bytes | None], BucketState]


def open_bucket_state(operator: Operator, bucket: int, state: bytes | None) -> BucketState:
    """Open the state of a bucket in this process, new or from saved bytes."""
    return operator.open_state(bucket, state)


@dataclass
class LocalRunner(Generic[R_co]):
    """Runner of a collector's operator in this process.

    opener: opens the state of a bucket.
    """

    collector: Collector[R_co]
    opener: StateOpener = open_bucket_state

    def __post_init__(self) -> None:
        self.operator, self.intake = self.collector.operator(), self.collector.intake
        self.limits, self.batch_size = self.operator.limits, self.collector.batch_size
        self.steps_by_point = self.collector.steps_by_point
        if self.steps_by_point:
            self.intake.before_reject = self._process_buffered_events
        self.states = self._open_states([None] * self.operator.buckets)
        self._waiting, self._records = list[Event](), list[Record]()
        self._triples = self._out_of_limits = 0
        self._last_step, self._max_wait = 0.0, self.collector.max_wait_seconds

    def _open_states(self, states: Iterable[bytes | None]) -> list[BucketState]:
        """Open the state of each bucket, from its saved bytes or new for None."""
        return [self.opener(self.operator, bucket, state) for bucket, state in enumerate(states)]

    def process(self, record: Record) -> bool:
        """Admit a record, and process the buffered events if they are enough; return whether time
        advanced.
        """
        points = self.intake.points
        for event in self.intake.read_events(record):
            if event is None or not self.limits.contains_time(event.t):
                self._out_of_limits += event is not None
                if self.operator.shows_events:
                    self.collector.observe_rejected(record.source_text)
                continue
            self._waiting.append(event)
            self._records.append(record)
            self._triples += len(event.triples)
            if (
                len(self._waiting) >= self.batch_size
                or self._triples >= _MOST_TRIPLES
                or perf_counter() - self._last_step >= self._max_wait
                or (self.steps_by_point and self.intake.points > points)
            ):
                self._process_buffered_events()
        return self.intake.points > points

    def flush(self) -> None:
        """Process the buffered events and write all output rows."""
        self._process_buffered_events()
        self.collector.flush()

    def _process_buffered_events(self) -> None:
        """Pass the buffered events through the operator; give its output rows and a report on the
        batch to the collector.
        """
        if self.steps_by_point and not self._waiting:
            return
        waiting, records, self._last_step = self._waiting, self._records, perf_counter()
        self._waiting, self._records = [], []
        split = self.operator.partition_events(waiting)
        for place, kind, reason, text in split.rejects:
            record = records[place]
            self.intake.rejects.add_reject(kind, record.source, record.line, reason, text)
            self.intake.on_reject(kind, waiting[place].t)
        counts = {"events": len(waiting), "triples": self._triples, "outside": self._out_of_limits}
        self._triples = self._out_of_limits = 0
        shown = {} if split.collector_columns is None else _make_collector_columns(split, records)
        moment = self.intake.stream_time
        report = BatchReport(moment, {}, {**counts, **split.counts}, [], shown, self.states)
        self.collector.collect(report, self._process_in_buckets(split.parts, moment))

    def _process_in_buckets(
        self, parts: Mapping[int, Columns], moment: StreamTime
    ) -> Iterator[Row]:
        """Pass each bucket's part of a batch to its state and yield the output rows; measure the
        seconds.
        """
        begun, seconds = perf_counter(), self.collector.seconds
        steps = [
            state.step([parts[bucket]] if bucket in parts else [], moment)
            for bucket, state in enumerate(self.states)
        ]
        for row in _yield_rows_before_errors(steps):
            seconds["deciding"] += perf_counter() - begun
            yield row
            begun = perf_counter()
        seconds["deciding"] += perf_counter() - begun

    def state(self) -> bytes:
        """State of the collector and of each bucket as bytes, to continue from here."""
        parts = [self.collector.state(), *(state.to_bytes() for state in self.states)]
        return b"".join([json.dumps([len(part) for part in parts]).encode(), b"\n", *parts])

    def restore(self, state: bytes) -> None:
        """Continue from the `state` that another run saved. Raises: OperationalError."""
        if state[:1] == b"[":
            head, _, whole = state.partition(b"\n")
            ends = accumulate(json.loads(head), initial=0)
            own, *buckets = [whole[low:high] for low, high in pairwise(ends)]
        else:
            own, buckets = state, self.collector.legacy_bucket_states(state)
        if len(buckets) == 1 < len(self.states):
            # A version that kept all in one bucket.
            buckets = self.collector.legacy_bucket_states(b"\n".join([own, *buckets]))
        if len(buckets) != len(self.states):
            raise OperationalError(
                f"saved with {len(buckets)} buckets, not {len(self.states)}", "Go on with as many."
            )
        self.collector.restore(own)
        self.states = self._open_states(buckets)

    def finish(self) -> R_co:
        """Process the end of the input and return the collector's result."""
        self.flush()
        moment = self.intake.stream_time
        return self.collector.finish(
            _yield_rows_before_errors([state.finish(moment) for state in self.states])
        )


def _yield_rows_before_errors(steps: Iterable[Iterable[Row]]) -> Iterator[Row]:
    """Yield the output rows of all buckets; if buckets fail, raise the first error after all other
    rows.
    """
    failed = None
    for rows in steps:
        try:
            yield from rows
        except OperationalError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def _make_collector_columns(split: PartitionedEvents, records: list[Record]) -> Columns:
    """Columns about each event that the collector sees: line, text if needed, and ``used`` (always
    true in this process).
    """
    lines, is_used = [record.line for record in records], [True] * len(records)
    texts = {"text": [record.source_text for record in records]} if split.includes_text else {}
    return {**(split.collector_columns or {}), "line": lines, **texts, "used": is_used}
