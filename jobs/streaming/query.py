"""A stream system in buckets, on Spark: a batch is read, put in order, and decided bucket by
bucket.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import Broadcast
from pyspark.sql import DataFrame

from jobs.spark.costs import described
from jobs.streaming.batches import Batches, Face, R_co
from jobs.streaming.chunks import HEAD, SHOWN, TIMES, Head, Moment, Row, rows_of, unpacked
from jobs.streaming.failures import ATTEMPTS, TOO_SLOW, reason
from jobs.streaming.ordering import BatchTold, Order
from jobs.streaming.sources import is_kafka, piece_texts, place_of, topic_texts
from jobs.streaming.stages import BucketStates, BucketStep, ShuffledChunks, finish, shuffle_chunks
from shiq.errors import OperationalError, UsageError
from streams.front.checkpoint import CheckpointContent

T = TypeVar("T")


class Listener(Face[R_co], Protocol[R_co]):
    """The face of a system in buckets."""

    def hear(self, told: BatchTold, rows: list[Row]) -> None:
        """Takes what the order tells, and the rows of all buckets."""


@dataclass
class Query(Batches):
    """Batches through the order and the buckets of ``system``."""

    listener: Listener[Any]
    moment: Moment = field(default_factory=Moment)

    @cached_property
    def order(self) -> Order:
        return Order(self.system.limits)

    @cached_property
    def states(self) -> BucketStates:
        """Where buckets keep what they know."""
        return BucketStates(self._folder.path / "buckets", self.system.buckets)

    def begin(self) -> None:
        if self.run.checkpoint is None and not str(self.session.sparkContext.master).startswith(
            "local"
        ):
            raise UsageError(
                f"{self.query_name} on a cluster keeps its state in files that all executors see",
                "Name a folder for them: --checkpoint DIR.",
            )
        if self.batch >= 0:
            self.states.check(self.batch)

    def hear(self, frame: DataFrame, system: Broadcast[Any], number: int) -> Mapping[str, int]:
        chunks = shuffle_chunks(
            self.chunks(frame, system, rows_of), self.system.buckets, self.width
        )
        heads = self.run_job("read", number, lambda: chunks.rows_of(HEAD))
        shown = (
            self.run_job("show", number, lambda: chunks.rows_of(SHOWN)) if self.system.shows else []
        )
        records = _Records(
            self, frame, number, chunks, {place: Head.of_bytes(data) for _, place, data in heads}
        )
        ordered = self.order.judge(records.heads, records, closely=bool(shown))
        told = ordered.told
        step = BucketStep(
            system, self.states, self.batch, number, told.moment, ordered.ranks, ordered.used
        )
        rows = [
            row
            for found in self.run_job("decide", number, lambda: chunks.step(step))
            for row in json.loads(found)
        ]
        self.positions.update(told.positions)
        self.moment = told.moment
        self.run.status.records += told.counts.get("events", 0)
        tables = [
            _shown(unpacked(data), ordered.order[place], ordered.used.get(place))
            for _, place, data in shown
        ]
        self.listener.hear(replace(told, shown=tables), rows)
        figures = {name: told.counts.get(name, 0) for name in ("events", "triples", "duplicates")}
        return {**figures, "rejects": len(told.rejects), "rows": len(rows)}

    def finish(self, system: Broadcast[Any]) -> list[Row]:
        with described(self.session, f"{self.query_name}: the end of the input"):
            buckets = self.session.sparkContext.parallelize(
                range(self.system.buckets), min(self.system.buckets, self.width)
            )
            last = buckets.map(finish(system, self.states, self.batch, self.moment)).collect()
        return [row for rows in last for row in json.loads(rows)]

    def run_job(self, what: str, number: int, job: Callable[[], T]) -> T:
        """Runs a job of a batch; once more where that may do. Raises: OperationalError."""
        with described(self.session, f"{self.query_name}: batch {number}, {what}"):
            for attempt in range(ATTEMPTS):
                try:
                    return job()
                except Py4JError as error:
                    if attempt + 1 < ATTEMPTS and TOO_SLOW in str(error):
                        continue
                    raise OperationalError(
                        f"Spark: {self.options.hide(reason(error))}",
                        "Look at what Spark's log says.",
                    ) from None
        raise AssertionError

    def _places(self) -> dict[str, Any]:
        return {**super()._places(), "order": self.order.state()}

    def _restore(self, saved: CheckpointContent) -> None:
        super()._restore(saved)
        self.order.restore(saved.positions["order"])
        self.moment = self.order.moment

    def saved(self) -> None:
        self.states.forget(self.batch)


@dataclass(frozen=True)
class _Records:
    """The records of a batch, where they are; see `jobs.streaming.ordering.BatchRecords`."""

    query: Query
    frame: DataFrame
    number: int
    chunks: ShuffledChunks
    heads: Mapping[str, Head]

    def times(self) -> dict[str, pa.Table]:
        rows = self.query.run_job("order", self.number, lambda: self.chunks.rows_of(TIMES))
        return {place: unpacked(data) for _, place, data in rows}

    def texts(self, lines: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], str]:
        found = self.query.run_job("read what is rejected", self.number, lambda: self._texts(lines))
        return {
            (place, line): text for place, texts in found.items() for line, text in texts.items()
        }

    def _texts(self, lines: Mapping[str, Sequence[int]]) -> dict[str, dict[int, str]]:
        wanted = dict[tuple[int, ...], list[int]]()
        for place, some in lines.items():
            wanted.setdefault(_source_of(place, self.heads[place]), []).extend(
                line + self.heads[place].shift for line in some
            )
        if is_kafka(self.query.targets):
            texts: dict[tuple[int, ...], str] = {**topic_texts(self.frame, wanted)}  # type: ignore[arg-type,dict-item]
        else:
            pieces = [piece for piece in self.query.pieces if tuple(place_of(piece)) in wanted]
            asked = [(piece, wanted[tuple(place_of(piece))]) for piece in pieces]
            context, unit = self.query.session.sparkContext, self.query.system.limits.unit
            found = context.parallelize(asked, len(asked)).map(partial(piece_texts, unit)).collect()
            texts = {
                (*place_of(piece), line): text
                for piece, part in zip(pieces, found)
                for line, text in part.items()
            }
        return {
            place: {line: texts[(*_source_of(place, head), line + head.shift)] for line in some}
            for place, some in lines.items()
            for head in [self.heads[place]]
        }


def _source_of(place: str, head: Head) -> tuple[int, ...]:
    """What has the records of a chunk: a partition of a topic, or a piece."""
    found = json.loads(place)
    return (found[0], found[2]) if head.is_topic else tuple(found[:3])


def _shown(table: pa.Table, order: Any, used: Any) -> pa.Table:
    """What the driver is shown, with the number of each record and whether it is used."""
    mask = pa.array(used) if used is not None else pa.array([True] * len(table))
    return table.append_column("rank", pa.array(order)).append_column("used", mask)
