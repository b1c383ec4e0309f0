"""Consistency of a stream as an operator: columns of triples by bucket of individuals; a bucket's
live spans step to violations, as rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar
from zlib import crc32

import numpy as np

from shiq.columns.arrays import Ints
from shiq.streams.consistency.events import EventColumns, Numbering, TripleEncoder
from shiq.streams.consistency.plan import StreamPlan
from shiq.streams.consistency.spans import Spans, runs
from shiq.streams.consistency.state import StreamPartition
from shiq.streams.consistency.verdicts import Row, shown
from shiq.streams.consistency.violations import Rows, Violations
from shiq.streams.front.arrivals import EventLimits, Moment
from shiq.streams.front.checkpoint import packed, unpacked
from shiq.streams.front.event import Event
from shiq.streams.front.operator import CodedTexts, Columns, Refused, Split

#: Names are given up when so many more are known than live.
_SPARE_NAMES = 10_000


def bucket_of(names: Sequence[str], buckets: int) -> Ints:
    """The bucket of each individual or pair."""
    if buckets == 1:
        return np.zeros(len(names), np.int64)
    return np.array(
        [crc32(name.encode("utf-8", "surrogatepass")) % buckets for name in names], np.int64
    )


@dataclass(frozen=True)
class ConsistencyOperator:
    """`shiq.streams.front.operator.Operator`. ``same``: one name of individuals that have several;
    ``static``: names, and of what holds at all times of whom it is and its label; ``follow``: conflicts are told when
    they open, too; ``shows``: the collector is to see events.
    """

    durable: ClassVar[bool] = True
    plan: StreamPlan
    same: Mapping[str, str]
    static: tuple[Sequence[str], Ints, Ints]
    limits: EventLimits
    follow: bool = False
    shows: bool = False
    buckets: int = 1

    @cached_property
    def _encoder(self) -> TripleEncoder:
        return TripleEncoder(self.plan.view, self.plan.masks, same=self.same)

    def split(self, events: Sequence[Event | None]) -> Split:
        """Columns of the events' triples by bucket: who, label, t, and the event."""
        texts = [text for event in events if event is not None for text in event.triples]
        counts = [0 if event is None else len(event.triples) for event in events]
        owner = np.repeat(np.arange(len(events)), counts)
        times = np.array([-1 if event is None else event.t for event in events], np.int64)
        # What was found out about values is shared, names are numbered anew.
        encoder, refused = replace(self._encoder, names=Numbering(), tuples=0), list[Refused]()
        unused = set[int]()

        def tell(place: int, kind: str, reason: str, text: str) -> None:
            unused.add(place)
            refused.append((int(owner[place]), kind, reason, text))

        columns, names = encoder.read(texts, owner, tell), encoder.names.names
        seen = self._shown(events, unused, columns, names) if self.shows else None
        parts = {bucket: _part(own, times) for bucket, own in self._by_bucket(columns, names)}
        return Split(parts, refused, {"tuples": encoder.tuples}, seen, with_text=True)

    def _by_bucket(
        self, columns: EventColumns, names: Sequence[str]
    ) -> Iterator[tuple[int, tuple[EventColumns, Sequence[str]]]]:
        """The columns of each bucket, with the texts of its individuals alone."""
        if self.buckets == 1 or not len(columns.key):
            yield 0, (columns, names)
            return
        bucket = bucket_of(names, self.buckets)[columns.key]
        at = np.argsort(bucket, kind="stable")
        for rows in np.split(at, runs(bucket[at])[1:]):
            who, which = np.unique(columns.key[rows], return_inverse=True)
            own = EventColumns(which, columns.label[rows], columns.time[rows])
            yield int(bucket[rows[0]]), (own, [names[n] for n in who.tolist()])

    def _shown(
        self,
        events: Sequence[Event | None],
        unused: set[int],
        columns: EventColumns,
        names: Sequence[str],
    ) -> Columns:
        """What observers make `Taken` of: the labels of an event, each with whom it is of."""
        whole = [event or Event(-1) for event in events]
        seen = list(shown(whole, unused, columns.time, np.arange(len(columns.time))))
        ends = np.cumsum([len(taken.codes) for taken in seen]).tolist()
        at = np.concatenate([columns.key[:0], *(taken.codes for taken in seen)])
        who, label = [names[n] for n in columns.key[at].tolist()], columns.label[at].tolist()
        bounds = list(zip([0, *ends], ends))
        return {
            "t": [taken.t for taken in seen],
            "triples": [list(taken.triples) for taken in seen],
            "is_whole": [taken.is_whole for taken in seen],
            "who": [who[low:high] for low, high in bounds],
            "label": [label[low:high] for low, high in bounds],
        }

    def open(self, bucket: int, state: bytes | None) -> ConsistencyState:
        """Spans that are live, at first those that are static, and their names."""
        found = ConsistencyState(self)
        if state is None:
            names, key, label = self.static
            rows = np.flatnonzero(bucket_of(names, self.buckets)[key] == bucket)
            who, which = np.unique(key[rows], return_inverse=True)
            found.names.set([names[n] for n in who.tolist()])
            found.partition.take_static(which.astype(np.int64), label[rows])
        else:
            document, columns = unpacked(state)
            found.names.of_column(columns.pop("names"))
            found.partition.restore(Spans(**columns))
            # States of Spark's buckets had only what was told.
            found.rows.told = document.get("told", document)
            found.partition.strategy.evaluations = document.get("evaluations", 0)
            found.partition.most_rows, found.partition.most_bytes = document.get("cached", (0, 0))
        return found


def _part(own: tuple[EventColumns, Sequence[str]], times: Ints) -> Columns:
    columns, names = own
    return {
        "who": CodedTexts(columns.key.astype(np.int32), names),
        "label": columns.label.astype(np.int32),
        "t": times[columns.time],
        "event": columns.time.astype(np.int32),
    }


class ConsistencyState:
    """The live spans of a bucket and the names of its individuals. ``inconsistent``: how many of
    them contradict at the newest time, where that is followed; ``live``: the names that are left
    where others were given up by the last step.
    """

    def __init__(self, operator: ConsistencyOperator) -> None:
        self.operator, self.names = operator, Numbering()
        self.partition = StreamPartition(operator.plan)
        self.rows = Rows(operator.plan, self.partition.finder, self.names, operator.limits.end)
        self.inconsistent: int | None = None
        self.live: set[str] | None = None

    def step(self, parts: Sequence[Columns], moment: Moment) -> list[Row]:
        """Take columns; final rows, and where it is followed those of conflicts that opened."""
        taken = [
            (np.array(self.names.all(part["who"].texts), np.int64)[part["who"].codes], part)
            for part in parts
        ]
        if taken:
            key, label, time = (
                np.concatenate(columns).astype(np.int64, copy=False)
                for columns in zip(*((key, part["label"], part["t"]) for key, part in taken))
            )
            self.partition.take(key, label, time)
        rows = self.rows.final(self.partition.retire(moment.watermark or 0))
        if self.operator.follow and moment.newest is not None:
            found = self.partition.open()
            now = (found.start <= moment.newest) & (found.end >= moment.newest)
            self.inconsistent = len(np.unique(found.key[now]))
            rows = [*rows, *self.rows.opened(found, moment.first or 0, moment.newest)]
        self.live = None
        key = self.partition.keys()
        if len(self.names.names) > 2 * len(live := key[runs(key)]) + _SPARE_NAMES:
            self._keep(live)
            self.live = {name or "" for n in range(len(live)) for name in self.names.pair(n)}
        return rows

    def _keep(self, live: Ints) -> None:
        """Give the individuals that are ``live`` (ascending) new numbers; forget the others."""
        self.partition.renumber(self.names.keep(live))

    def finish(self, moment: Moment) -> list[Row]:
        """The rows that are left, within the ends of the stream."""
        limits, found = self.operator.limits, self.partition.finish()
        first = moment.first if limits.start is None else limits.start
        last = moment.newest if limits.end is None else limits.end
        if first is None or last is None:
            return []
        start, end = np.maximum(found.start, first), np.minimum(found.end, last)
        within = Violations(found.key, found.conflict, start, end).at(start <= end)
        return self.rows.final(within)

    def to_bytes(self) -> bytes:
        """The live spans and their names, and which open conflicts were told."""
        key, partition = self.partition.keys(), self.partition
        self._keep(key[runs(key)])
        document = {
            "told": self.rows.told,
            "evaluations": partition.strategy.evaluations,
            "cached": [partition.most_rows, partition.most_bytes],
        }
        return packed(document, {**partition.spans._asdict(), "names": self.names.column()})
