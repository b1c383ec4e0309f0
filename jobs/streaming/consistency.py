"""Consistency of streams on Spark: the columns and the kernel of one process, a bucket of
individuals at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from jobs.streaming.chunks import EventLimits, Moment, Row, Split
from jobs.streaming.ordering import BatchTold
from shiq.columns.arrays import (
    Ints,
    arrow_bytes,
    arrow_ints,
    arrow_numbers,
    numpy_ints,
    one_array,
    stored_ints,
)
from streams.consistency.beside import Taken, shown
from streams.consistency.events import EventColumns, Numbering, TripleEncoder
from streams.consistency.plan import StreamPlan
from streams.consistency.rows import Rows, order
from streams.consistency.spans import Spans, no_spans, runs
from streams.consistency.state import StreamPartition
from streams.consistency.verdicts import StreamResult
from streams.consistency.violations import Violations
from streams.consistency.watch import Watch
from streams.front.checkpoint import packed, unpacked
from streams.front.event import Event

#: Individuals are kept in so many buckets.
BUCKETS: Final = 32


def bucket_of(names: Sequence[bytes], buckets: int) -> Ints:
    """The bucket of each individual or pair."""
    return np.array([crc32(name) % buckets for name in names], np.int64)


def _encoded(names: Sequence[str]) -> list[bytes]:
    return [name.encode("utf-8", "surrogatepass") for name in names]


def _decoded(names: Sequence[bytes]) -> list[str]:
    return [name.decode("utf-8", "surrogatepass") for name in names]


@dataclass(frozen=True)
class Consistency:
    """`jobs.streaming.chunks.SparkSystem`. ``same``: one name of individuals that have several;
    ``static``: spans by bucket, with the names of their individuals; ``follow``: conflicts are
    told when they open, too; ``shows``: the driver is to see events.
    """

    plan: StreamPlan
    same: Mapping[str, str]
    static: Mapping[int, tuple[list[str], Spans]]
    limits: EventLimits
    follow: bool = False
    shows: bool = False
    buckets: int = BUCKETS

    def split(self, events: Sequence[Event | None]) -> Split:
        """Columns of the events' triples by bucket: who, label, t, and the event."""
        triples = [event.triples if event is not None else () for event in events]
        owner = np.repeat(np.arange(len(events)), [len(texts) for texts in triples])
        times = np.array([event.t if event is not None else -1 for event in events], np.int64)
        intake, refused = (
            TripleEncoder(self.plan.view, self.plan.masks, same=self.same),
            list[tuple[int, str, str, str]](),
        )
        unused = set[int]()

        def tell(place: int, kind: str, reason: str, text: str) -> None:
            unused.add(place)
            refused.append((int(owner[place]), kind, reason, text))

        columns = intake.read([text for texts in triples for text in texts], owner, tell)
        encoded = _encoded(intake.names.names)
        names = np.array(encoded, object)
        bucket = bucket_of(encoded, self.buckets)[columns.key] if len(names) else columns.key
        at = np.argsort(bucket, kind="stable")
        parts = {}
        for rows in np.split(at, runs(bucket[at])[1:]) if len(at) else ():
            who, which = np.unique(columns.key[rows], return_inverse=True)
            columns_of = {
                "who": pa.DictionaryArray.from_arrays(
                    arrow_numbers(which.astype(np.int32)), arrow_bytes(names[who].tolist())
                ),
                "label": arrow_numbers(columns.label[rows].astype(np.int32)),
                "t": arrow_ints(times[columns.time[rows]]),
                "event": arrow_numbers(columns.time[rows].astype(np.int32)),
            }
            parts[int(bucket[rows[0]])] = pa.table(columns_of)
        shown = (
            self._shown([event or Event(-1) for event in events], unused, columns, names)
            if self.shows
            else None
        )
        return Split(parts, refused, {"tuples": intake.tuples}, shown)

    def _shown(
        self,
        events: Sequence[Event],
        unused: set[int],
        columns: EventColumns,
        names: npt.NDArray[Any],
    ) -> pa.Table:
        """What `BucketFindings` makes `Taken` of: the labels of an event, each with whom it is of."""
        said = list(shown(events, unused, columns.time, np.arange(len(columns.time))))
        begins = pa.array(np.cumsum([0, *(len(taken.codes) for taken in said)]), pa.int32())
        at = np.concatenate([taken.codes for taken in said]) if said else columns.key
        whose = pa.array(names[columns.key[at]], pa.binary())
        return pa.table(
            {
                "t": pa.array([taken.t for taken in said], pa.int64()),
                "triples": pa.array(
                    [_encoded(taken.triples) for taken in said], pa.list_(pa.binary())
                ),
                "is_whole": pa.array([taken.is_whole for taken in said], pa.bool_()),
                "who": pa.ListArray.from_arrays(begins, whose),
                "label": pa.ListArray.from_arrays(begins, pa.array(columns.label[at], pa.int64())),
            }
        )

    def step(
        self, bucket: int, state: bytes | None, parts: Sequence[pa.Table], moment: Moment
    ) -> tuple[bytes, list[Row]]:
        """Takes the columns of a batch; final rows, and with ``follow`` those of conflicts that
        opened.
        """
        held, found = _Bucket(self, bucket, state), list[Row]()
        held.telling.heard = found.extend
        held.take(parts)
        held.telling.final(held.partition.retire(moment.watermark or 0))
        if self.follow and moment.newest is not None:
            held.telling.opened(held.partition.open(), moment.first or 0, moment.newest)
        return held.state(), found

    def finish(self, bucket: int, state: bytes, moment: Moment) -> list[Row]:
        """The rows that are left, within the ends of the stream."""
        held = _Bucket(self, bucket, state)
        first = moment.first if self.limits.start is None else self.limits.start
        last = moment.newest if self.limits.end is None else self.limits.end
        found = held.partition.finish()
        if first is None or last is None:
            return []
        start, end = np.maximum(found.start, first), np.minimum(found.end, last)
        return held.telling.final(
            Violations(found.key, found.conflict, start, end).at(start <= end)
        )


class _Bucket:
    """The kernel for one bucket, with the state that it had; at first with what is static."""

    def __init__(self, system: Consistency, bucket: int, state: bytes | None) -> None:
        self.partition, self.names = StreamPartition(system.plan), Numbering()
        self.telling = Rows(
            system.plan, self.partition.finder, self.names, system.limits.end, lambda rows: None
        )
        if state is None:
            names, spans = system.static.get(bucket, ([], no_spans()))
            self.names.set(list(names))
        else:
            self.telling.told, columns = unpacked(state)
            self.names.of_column(columns.pop("names"))
            spans = Spans(**columns)
        self.partition.restore(spans)

    def take(self, parts: Sequence[pa.Table]) -> None:
        """Takes the columns of `Consistency.split`."""
        key, label, time = list[Ints](), list[Ints](), list[Ints]()
        for part in parts:
            who, which, t = (one_array(part[name]) for name in ("who", "label", "t"))
            names = _decoded(who.dictionary.to_pylist())
            key.append(np.array(self.names.all(names), np.int64)[stored_ints(who.indices)])
            label.append(numpy_ints(which))
            time.append(numpy_ints(t))
        if key:
            self.partition.take(np.concatenate(key), np.concatenate(label), np.concatenate(time))

    def state(self) -> bytes:
        """The live spans and their names, and which open conflicts were told."""
        key = self.partition.keys()
        self.partition.renumber(self.names.keep(key[runs(key)]))
        return packed(
            self.telling.told, {**self.partition.spans._asdict(), "names": self.names.column()}
        )


@dataclass(frozen=True)
class BucketFindings:
    """What buckets find, taken down by ``watch``, which has begun and decides nothing itself;
    `jobs.streaming.query.Listener`.
    """

    name: ClassVar[str] = "consistency"
    watch: Watch

    @cached_property
    def system(self) -> Consistency:
        """What ``watch`` does; it hands over what is static."""
        watch = self.watch
        names, spans = watch.intake.names, watch.partition.spans
        key, label = watch.plan.masks.split(spans.code)
        bucket = bucket_of(_encoded(names.names), BUCKETS)[key] if len(key) else key
        static = {}
        for number in np.unique(bucket).tolist():
            rows = np.flatnonzero(bucket == number)
            who, which = np.unique(key[rows], return_inverse=True)
            code = watch.plan.masks.code(which.astype(np.int64), label[rows])
            static[number] = (
                [names.names[n] for n in who.tolist()],
                spans.at(rows)._replace(code=code),
            )
        if not watch.beside:
            names.set([])
        watch.partition.spans = no_spans()
        clock = watch.arrivals.clock
        limits = EventLimits(
            watch.arrivals.unit,
            clock.lateness,
            clock.max_ahead,
            watch.plan.window,
            watch.start,
            watch.end,
        )
        return Consistency(
            watch.plan, watch.intake.same, static, limits, watch.follow, bool(watch.beside)
        )

    def hear(self, told: BatchTold, rows: Sequence[Row]) -> None:
        """Takes the figures, rejects and rows of a batch."""
        told.settle(self.watch.arrivals, self.watch.counts)
        self.watch.intake.tuples += told.counts.get("tuples", 0)
        self._take(rows)
        self._show(told.shown)

    def _show(self, tables: Sequence[pa.Table]) -> None:
        """Shows what is beside the records of a batch, in their order, as one process would."""
        watch = self.watch
        for row in sorted(
            (row for table in tables for row in table.to_pylist()), key=lambda row: row["rank"]
        ):
            if not row["used"]:
                for one in watch.beside:
                    one.refuse(row["text"])
                continue
            who = np.array(watch.intake.names.all(_decoded(row["who"])), np.int64)
            codes = watch.plan.masks.code(who, np.array(row["label"], np.int64))
            for one in watch.beside:
                one.take(
                    row["text"], Taken(row["t"], _decoded(row["triples"]), codes, row["is_whole"])
                )
        watch.passed((watch.arrivals.clock.watermark or 0) - 1)
        watch.forget(
            np.unique(
                np.concatenate([np.empty(0, np.int64), *(one.keys() for one in watch.beside)])
            )
        )

    def _take(self, rows: Sequence[Row]) -> None:
        ordered = sorted(rows, key=order)
        self.watch.heard(ordered)
        final = [row for row in ordered if row["final"]]
        self.watch.verdicts.add(final)
        self.watch.rows += final

    def state(self) -> bytes:
        return self.watch.state()

    def restore(self, state: bytes) -> None:
        self.watch.restore(state)

    def finish(self, rows: Sequence[Row]) -> StreamResult:
        """Takes the last rows; what is known."""
        self._take(rows)
        return self.watch.finish()
