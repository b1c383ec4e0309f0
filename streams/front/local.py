"""The runner of an operator in this process: records through the intake, chunks through the
operator, rows to the collector.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from time import perf_counter
from typing import Any, ClassVar, Final, Generic, Protocol, TypeAlias

from shiq.errors import OperationalError
from shiq.streams.front.arrivals import Moment
from shiq.streams.front.event import Event, Record
from shiq.streams.front.operator import (
    BatchReport,
    BucketState,
    Collector,
    Columns,
    Operator,
    R_co,
    Row,
    Split,
)

#: How many triples are taken at once, at most, however few events these are.
_MOST_TRIPLES: Final = 200_000


class LocalCollector(Collector[R_co], Protocol[R_co]):
    """A collector whose operator may run in this process, too. ``batch``: how many events are
    taken at once; ``by_point``: they are taken when time goes on, too, and before a reject;
    ``patience``: how many seconds one waits at most; ``seconds``: what was spent, by what on.
    """

    patience: ClassVar[float]
    seconds: dict[str, float]

    @property
    def batch(self) -> int: ...

    @property
    def by_point(self) -> bool: ...

    def flush(self) -> None:
        """Write the rows that wait."""

    def bucket_states(self, state: bytes) -> list[bytes]:
        """The states of buckets in a checkpoint of versions whose systems ran themselves."""


#: Gives the state of a bucket of an operator, at the beginning or as it was saved.
Opener: TypeAlias = Callable[[Any, int, bytes | None], BucketState]


def open_here(operator: Operator, bucket: int, state: bytes | None) -> BucketState:
    """The state of a bucket in this process."""
    return operator.open(bucket, state)


@dataclass
class LocalRunner(Generic[R_co]):
    """Runs the operator of a collector in this process (`shiq.streams.front.run.StreamSystem`).
    ``opener``: gives the state of a bucket of an operator.
    """

    collector: LocalCollector[R_co]
    opener: Opener = open_here

    def __post_init__(self) -> None:
        self.operator, self.arrivals = self.collector.operator(), self.collector.arrivals
        self.limits, self.batch = self.operator.limits, self.collector.batch
        self.by_point = self.collector.by_point
        if self.by_point:
            self.arrivals.before_reject = self._take_waiting
        self.states = self._opened([None] * self.operator.buckets)
        self._waiting, self._records = list[Event](), list[Record]()
        self._triples = self._outside = 0
        self._taken, self._patience = 0.0, self.collector.patience

    def _opened(self, states: Iterable[bytes | None]) -> list[BucketState]:
        return [self.opener(self.operator, bucket, state) for bucket, state in enumerate(states)]

    def take(self, record: Record) -> bool:
        """Take a record, and step if enough wait; whether time went on by it."""
        points = self.arrivals.points
        for event in self.arrivals.events(record):
            if event is None or not self.limits.has(event.t):
                self._outside += event is not None
                if self.operator.shows:
                    self.collector.refuse(record.whole)  # type: ignore[attr-defined]
                continue
            self._waiting.append(event)
            self._records.append(record)
            self._triples += len(event.triples)
            if (
                len(self._waiting) >= self.batch
                or self._triples >= _MOST_TRIPLES
                or perf_counter() - self._taken >= self._patience
                or (self.by_point and self.arrivals.points > points)
            ):
                self._take_waiting()
        return self.arrivals.points > points

    def flush(self) -> None:
        """Step with the events that wait, and write the rows."""
        self._take_waiting()
        self.collector.flush()

    def _take_waiting(self) -> None:
        if self.by_point and not self._waiting:
            return
        waiting, records, self._taken = self._waiting, self._records, perf_counter()
        self._waiting, self._records = [], []
        split = self.operator.split(waiting)
        for place, kind, reason, text in split.refused:
            record = records[place]
            self.arrivals.rejects.add(kind, record.source, record.line, reason, text)
            self.arrivals.unused(kind, waiting[place].t)
        counts = {"events": len(waiting), "triples": self._triples, "outside": self._outside}
        self._triples = self._outside = 0
        shown = {} if split.shown is None else _shown(split, records)
        moment = self.arrivals.moment
        report = BatchReport(moment, {}, {**counts, **split.counts}, [], shown, self.states)
        self.collector.collect(report, self._step(split.parts, moment))

    def _step(self, parts: Mapping[int, Columns], moment: Moment) -> Iterator[Row]:
        """Step all buckets; count the seconds that the rows take to be made."""
        begun, seconds = perf_counter(), self.collector.seconds
        steps = [
            state.step([parts[bucket]] if bucket in parts else [], moment)
            for bucket, state in enumerate(self.states)
        ]
        for row in _in_full(steps):
            seconds["deciding"] += perf_counter() - begun
            yield row
            begun = perf_counter()
        seconds["deciding"] += perf_counter() - begun

    def state(self) -> bytes:
        """All that is needed to go on from here: the collector, then each bucket."""
        parts = [self.collector.state(), *(state.to_bytes() for state in self.states)]
        return b"".join([json.dumps([len(part) for part in parts]).encode(), b"\n", *parts])

    def restore(self, state: bytes) -> None:
        """Go on from the `state` of another run. Raises: OperationalError."""
        if state[:1] == b"[":
            head, _, whole = state.partition(b"\n")
            ends = accumulate(json.loads(head), initial=0)
            own, *buckets = [whole[low:high] for low, high in pairwise(ends)]
        else:
            own, buckets = state, self.collector.bucket_states(state)
        if len(buckets) == 1 < len(self.states):
            # A version that kept all in one bucket.
            buckets = self.collector.bucket_states(b"\n".join([own, *buckets]))
        if len(buckets) != len(self.states):
            raise OperationalError(
                f"saved with {len(buckets)} buckets, not {len(self.states)}", "Go on with as many."
            )
        self.collector.restore(own)
        self.states = self._opened(buckets)

    def finish(self) -> R_co:
        """Step to the end of the input; the result."""
        self.flush()
        moment = self.arrivals.moment
        return self.collector.finish(_in_full([state.finish(moment) for state in self.states]))


def _in_full(steps: Iterable[Iterable[Row]]) -> Iterator[Row]:
    """The rows of all buckets; where one fails, those of the others come before its error."""
    failed = None
    for rows in steps:
        try:
            yield from rows
        except OperationalError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def _shown(split: Split, records: list[Record]) -> Columns:
    lines, is_used = [record.line for record in records], [True] * len(records)
    texts = {"text": [record.whole for record in records]} if split.with_text else {}
    return {**(split.shown or {}), "line": lines, **texts, "used": is_used}
