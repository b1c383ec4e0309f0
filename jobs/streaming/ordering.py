"""The first stage: all heads of a batch in order of source and line, and what of the records is used.

What is late, or an id's second event, depends on all that came before, event by event. Spark's own watermark would not do: it
moves between batches, drops in silence what is behind it, and is a time stamp, which t need not be. So one task judges; it sees a
few bytes of each record, hands parts of chunks whose events are all used on as they are, and tells every bucket how far time is,
so that what is over goes without input of its own: time moves by events alone, and whenever it does each bucket hears of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from jobs.streaming.chunks import HEAD, SHOWN, TOLD, Head, Moment, SparkSystem, packed, unpacked
from shiq.columns.arrays import Ints
from streams.front.arrivals import Arrivals
from streams.front.event import Event
from streams.front.lateness import EventClock
from streams.front.record import Record
from streams.front.rejects import RejectLog

#: A reject: kind, source, line, why, text; then its time, or None.
Reject = tuple[str, str, int, str, str, int | None]


class _Heard(RejectLog):
    """Rejects, handed on as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, str, int, str, str]] = []

    def add(self, kind: str, source: str, line: int, reason: str, text: str) -> None:
        self.heard.append((kind, source, line, reason, text))


@dataclass
class BatchTold:
    """What a batch tells the driver. ``shown``: what it sees of records, with their ``rank`` and whether they are ``used``."""

    moment: Moment
    positions: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    shown: list[pa.Table] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        return json.dumps([self.moment, self.positions, self.counts, self.rejects]).encode()

    @staticmethod
    def of_bytes(data: bytes) -> BatchTold:
        moment, positions, counts, rejects = json.loads(data)
        return BatchTold(Moment(*moment), positions, counts, [tuple(reject) for reject in rejects])

    def settle(self, arrivals: Arrivals, counts: dict[str, int]) -> None:
        """Takes it down where one process does: what became of records, and sums of figures."""
        arrivals.first, arrivals.clock.newest = self.moment.first, self.moment.newest
        arrivals.duplicates += self.counts.get("duplicates", 0)
        for name in counts.keys() & self.counts.keys():
            counts[name] += self.counts[name]
        for kind, source, line, reason, text, t in self.rejects:
            arrivals.rejects.add(kind, source, line, reason, text)
            arrivals.unused(kind, t)


class Order:
    """Judges the records of batch after batch; ``state``: of the one before."""

    def __init__(self, system: SparkSystem, state: bytes | None = None) -> None:
        self.limits, self.buckets, self.heard = system.limits, system.buckets, _Heard()
        self.times: list[int | None] = []
        self.arrivals = Arrivals(
            EventClock(self.limits.lateness, self.limits.max_ahead),
            self.heard,
            self.limits.unit,
            self.limits.window,
            unused=lambda kind, t: self.times.append(t),
        )
        self.lines: dict[str, int] = {}
        if state is not None:
            found, self.lines = json.loads(state)
            self.arrivals.restore(found)

    def state(self) -> bytes:
        return json.dumps([self.arrivals.state(), self.lines]).encode()

    def take(self, rows: Iterable[tuple[int, str, bytes]]) -> Iterator[tuple[int, str, bytes]]:
        """The rows for the buckets, and what is told, of the rows of a batch."""
        heads, parts = list[tuple[str, Head]](), list[tuple[str, int, bytes]]()
        for bucket, place, data in rows:
            if bucket == HEAD:
                heads.append((place, Head.of_bytes(data)))
            else:
                parts.append((place, bucket, data))
        heads.sort(key=lambda item: json.loads(item[0]))
        ranks = {place: rank for rank, (place, _) in enumerate(heads)}
        duplicates = self.arrivals.duplicates
        used, order, rejects, counts = self._judge([self._numbered(head) for _, head in heads])
        for place, bucket, data in sorted(parts, key=lambda item: (ranks[item[0]], item[1])):
            mask = used[ranks[place]]
            if bucket == SHOWN:
                columns = {"rank": pa.array(order[ranks[place]]), "used": pa.array(mask)}
                table = unpacked(data)
                yield SHOWN, "", packed(pa.table({**dict(zip(table.column_names, table.columns)), **columns}))
                continue
            yield bucket, f"{ranks[place]:09d}", data if mask.all() else _kept(data, mask)
        counts["duplicates"] = self.arrivals.duplicates - duplicates
        positions = dict(head.position for _, head in heads if head.position is not None)
        moment = Moment(self.arrivals.first, self.arrivals.clock.newest, self.arrivals.clock.watermark)
        for bucket in range(self.buckets):
            yield bucket, "", json.dumps(moment).encode()
        yield TOLD, "", BatchTold(moment, positions, counts, rejects).to_bytes()

    def _numbered(self, head: Head) -> tuple[Head, int]:
        """A head, and what is added to its lines."""
        before = 0 if head.is_topic else self.lines.get(head.source, 0)
        if not head.is_topic:
            self.lines[head.source] = before + head.covers
        return head, before

    def _judge(
        self, heads: Sequence[tuple[Head, int]]
    ) -> tuple[list[npt.NDArray[np.bool_]], list[Ints], list[Reject], dict[str, int]]:
        """Which records of each head are used; their ranks among all; what is not used; figures."""
        columns = _Columns.of(heads)
        accepted = _all_in_time(self.arrivals, columns)
        rejects = list[tuple[int, Reject]]()
        if accepted is None:
            accepted, rejects = self._one_by_one(heads, columns)
        inside = columns.t >= (self.limits.start or 0)
        if self.limits.end is not None:
            inside &= columns.t <= self.limits.end
        used = accepted & inside
        masks, counts = list[npt.NDArray[np.bool_]](), {"events": int(used.sum()), "outside": int((accepted & ~inside).sum())}
        counts["triples"] = int(columns.triples[used].sum())
        by_head = np.empty(len(used), bool)
        by_head[columns.position] = used
        ranks = np.empty(len(used), np.int64)
        ranks[columns.position] = np.arange(len(used))
        at, order = 0, list[Ints]()
        for head, before in heads:
            mask = by_head[at : at + head.records.num_rows]
            masks.append(mask)
            order.append(ranks[at : at + head.records.num_rows])
            for row, kind, reason, text in head.refused:
                if mask[row]:
                    line, t = head.records["line"][row].as_py() + before, head.records["t"][row].as_py()
                    rejects.append((int(ranks[at + row]), (kind, head.source, line, reason, text, t)))
            for name, value in head.counts.items():
                counts[name] = counts.get(name, 0) + value
            at += head.records.num_rows
        return masks, order, [reject for _, reject in sorted(rejects, key=lambda item: item[0])], counts

    def _one_by_one(
        self, heads: Sequence[tuple[Head, int]], columns: _Columns
    ) -> tuple[npt.NDArray[np.bool_], list[tuple[int, Reject]]]:
        """What `_all_in_time` says, whatever the records are."""
        parts = [(head, before, head.records.to_pylist()) for head, before in heads]
        accepted, rejects = np.zeros(len(columns.t), bool), list[tuple[int, Reject]]()
        for rank, (number, row) in enumerate(zip(columns.head.tolist(), columns.row.tolist())):
            head, before, records = parts[number]
            found = records[row]
            event = None if found["t"] is None else Event(found["t"], id=found["id"])
            record = Record(head.source, found["line"] + before, found["text"], event, found["problem"] or "")
            accepted[rank] = self.arrivals.accept(record) is not None
            if self.heard.heard:
                rejects.append((rank, (*self.heard.heard.pop(), self.times.pop())))
        return accepted, rejects


@dataclass(frozen=True)
class _Columns:
    """All records of a batch in order: in which head, and which row there; ``position``: among those of all heads one after the
    other. A time of -1 is none; ``plain``: none has an id or is none."""

    head: Ints
    row: Ints
    position: Ints
    t: Ints
    triples: Ints
    plain: bool

    @staticmethod
    def of(heads: Sequence[tuple[Head, int]]) -> _Columns:
        sizes = [head.records.num_rows for head, _ in heads]
        number = np.repeat(np.arange(len(heads)), sizes)
        row = np.concatenate([np.arange(size) for size in sizes] or [np.empty(0, np.int64)])
        tables = [head.records for head, _ in heads]
        t = _numbers(tables, "t")
        # The partitions of a topic go on side by side: by offset, not one after the other.
        topics = sorted({head.source for head, _ in heads if head.is_topic})
        topic = np.repeat([topics.index(head.source) if head.is_topic else -1 for head, _ in heads], sizes)
        order = np.lexsort((row, number, topic, np.where(topic < 0, 0, _numbers(tables, "line"))))
        plain = all(table["id"].null_count == len(table) == table["problem"].null_count for table in tables)
        return _Columns(number[order], row[order], order, t[order], _numbers(tables, "triples")[order], plain)


def _numbers(tables: Sequence[pa.Table], name: str) -> Ints:
    parts = [table[name].fill_null(-1).to_numpy() for table in tables]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _all_in_time(arrivals: Arrivals, columns: _Columns) -> npt.NDArray[np.bool_] | None:
    """Accepts all records at once, if none has to be looked at alone; else None, and nothing has changed."""
    clock, t = arrivals.clock, columns.t
    if not columns.plain or not len(t):
        return None if len(t) else np.zeros(0, bool)
    newest = np.maximum.accumulate(np.concatenate(([t[0] if clock.newest is None else clock.newest], t)))
    before = newest[:-1]
    if (t - before > clock.max_ahead).any() or (clock.lateness is not None and (before - t > clock.lateness).any()):
        return None
    arrivals.points += int((newest[1:] > before).sum()) + (clock.newest is None)
    clock.newest = int(newest[-1])
    arrivals.first = min(int(t.min()), clock.newest if arrivals.first is None else arrivals.first)
    return np.ones(len(t), bool)


def _kept(data: bytes, mask: npt.NDArray[np.bool_]) -> bytes:
    """A part without the records that are not used."""
    table = unpacked(data)
    return packed(table.filter(pa.array(mask[table["event"].to_numpy()])))


def moment_of(data: bytes) -> Moment:
    return Moment(*json.loads(data))
