"""The order of a batch: which of its records are used, and how far time is by them.

What is late, or an id's second event, depends on all that came before, event by event, in order
of source and line. Spark's own watermark would not do: it moves between batches, drops in
silence what is behind it, and is a time stamp, which t need not be. So one place judges, on the
driver. Mostly the heads of chunks say that all is in time, and it sees nothing else. Where an id
is given, an event is late, or a record is broken it asks for times, lines and ids of the batch,
and then for the texts of what it rejects. Time moves by events alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.columns.arrays import Ints
from shiq.jobs.streaming.chunks import ChunkHeader, TimeSpan
from shiq.streams.front.arrivals import EventIntake, EventLimits, RejectLog, WatermarkTracker
from shiq.streams.front.event import Event, Record
from shiq.streams.front.operator import BatchReport, Reject


class _RejectCapture(RejectLog):
    """Rejects, handed on as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.rejects: list[tuple[str, str, int, str, str]] = []

    def add(self, kind: str, source: str, line: int, reason: str, text: str) -> None:
        self.rejects.append((kind, source, line, reason, text))


class BatchRecords(Protocol):
    """What the order asks for if the heads of a batch do not say enough; chunks by their places."""

    def times(self) -> Mapping[str, pa.Table]:
        """The tables of times of all chunks."""

    def texts(self, lines: Mapping[str, Sequence[int]]) -> Mapping[tuple[str, int], str]:
        """The texts of records, by chunk and line in it."""


class OrderedBatch(NamedTuple):
    """``ranks``: the number of each chunk among all, by its place; ``used``: of chunks whose
    records are not all used, which are; ``order``: the number of each record among all;
    ``before``: what is added to the lines of a chunk.
    """

    report: BatchReport
    chunk_ranks: Mapping[str, int]
    use_masks: Mapping[str, npt.NDArray[np.bool_]]
    record_numbers: Mapping[str, Ints]
    line_offsets: Mapping[str, int]


class EventOrderer:
    """Judges the records of batch after batch."""

    def __init__(self, limits: EventLimits) -> None:
        self.limits, self.captured = limits, _RejectCapture()
        self.reject_times: list[int | None] = []
        clock = WatermarkTracker(limits.lateness, limits.max_ahead)
        unused = lambda kind, t: self.reject_times.append(t)  # noqa: E731
        self.intake = EventIntake(
            clock, self.captured, limits.unit, limits.window, on_reject=unused
        )
        self.line_counts: dict[str, int] = {}

    def state(self) -> Any:
        """What `restore` takes, as JSON."""
        return [self.intake.state(), self.line_counts]

    def restore(self, state: Any) -> None:
        """Goes on where another run was."""
        found, self.line_counts = state
        self.intake.restore(found)

    def order_batch(
        self, heads: Mapping[str, ChunkHeader], records: BatchRecords, *, closely: bool = False
    ) -> OrderedBatch:
        """Judges a batch by the ``heads`` of its chunks, and by its ``records`` if that does not
        do, or ``closely``.
        """
        places = sorted(heads, key=json.loads)
        chunks = [
            _PlacedChunk(place, heads[place], self._line_offset(heads[place])) for place in places
        ]
        duplicates = self.intake.duplicates
        seen = (
            None
            if closely
            else _span_if_all_in_time(self.intake.tracker, [head for _, head, _ in chunks])
        )
        if seen is None:
            used, order, rejects, counts = self._accept_by_times(chunks, records)
        else:
            used, order, (rejects, counts) = {}, {}, self._accept_all(chunks, seen)
        for _, head, _ in chunks:
            for name, value in head.counts.items():
                counts[name] = counts.get(name, 0) + value
        counts["duplicates"] = self.intake.duplicates - duplicates
        positions = dict(head.position for _, head, _ in chunks if head.position is not None)
        told = BatchReport(self.intake.stream_time, positions, counts, rejects)
        ranks = {place: rank for rank, place in enumerate(places)}
        return OrderedBatch(
            told, ranks, used, order, {one.place: one.line_offset for one in chunks}
        )

    def _line_offset(self, head: ChunkHeader) -> int:
        """What is added to the lines of a chunk: those of its source before it."""
        before = 0 if head.is_topic else self.line_counts.get(head.source, 0)
        if not head.is_topic:
            self.line_counts[head.source] = before + head.line_count
        return before

    def _accept_all(
        self, chunks: Sequence[_PlacedChunk], seen: TimeSpan
    ) -> tuple[list[Reject], dict[str, int]]:
        """Accepts all records; what of them could not be used, and figures."""
        self.intake.first = (
            seen.earliest if self.intake.first is None else min(seen.earliest, self.intake.first)
        )
        self.intake.tracker.newest = seen.newest
        names = ("events", "outside", "triples")
        counts = {name: sum(head.event_figures[name] for _, head, _ in chunks) for name in names}
        refused = [
            (
                ((line, head.source) if head.is_topic else (0, ""), number, row),
                (kind, head.source, line + before, reason, text, t),
            )
            for number, (_, head, before) in enumerate(chunks)
            for line, t, row, kind, reason, text in head.rejects
        ]
        return [reject for _, reject in sorted(refused, key=lambda item: item[0])], counts

    def _accept_by_times(
        self, chunks: Sequence[_PlacedChunk], records: BatchRecords
    ) -> tuple[dict[str, npt.NDArray[np.bool_]], dict[str, Ints], list[Reject], dict[str, int]]:
        """Looks at the times of all records: which are used; their numbers among all; what is
        not used; figures.
        """
        times = records.times()
        tables = [times[place] for place, _, _ in chunks]
        columns = _BatchColumns.from_tables([head for _, head, _ in chunks], tables)
        accepted = _accept_all_in_time(self.intake, columns)
        rejects = list[tuple[int, Reject]]()
        if accepted is None:
            accepted, rejects = self._accept_one_by_one(chunks, tables, columns, records)
        inside = columns.t >= (self.limits.start or 0)
        if self.limits.end is not None:
            inside &= columns.t <= self.limits.end
        used = accepted & inside
        counts = {"events": int(used.sum()), "outside": int((accepted & ~inside).sum())}
        counts["triples"] = int(columns.triples[used].sum())
        by_chunk, ranks = np.empty(len(used), bool), np.empty(len(used), np.int64)
        by_chunk[columns.position] = used
        ranks[columns.position] = np.arange(len(used))
        ends = np.cumsum([head.record_count for _, head, _ in chunks])[:-1]
        masks = {chunk.place: mask for chunk, mask in zip(chunks, np.split(by_chunk, ends))}
        order = {chunk.place: rank for chunk, rank in zip(chunks, np.split(ranks, ends))}
        for place, head, before in chunks:
            for line, t, row, kind, reason, text in head.rejects:
                if masks[place][row]:
                    rejects.append(
                        (
                            int(order[place][row]),
                            (kind, head.source, line + before, reason, text, t),
                        )
                    )
        told = [reject for _, reject in sorted(rejects, key=lambda item: item[0])]
        return {place: mask for place, mask in masks.items() if not mask.all()}, order, told, counts

    def _accept_one_by_one(
        self,
        chunks: Sequence[_PlacedChunk],
        tables: Sequence[pa.Table],
        columns: _BatchColumns,
        records: BatchRecords,
    ) -> tuple[npt.NDArray[np.bool_], list[tuple[int, Reject]]]:
        """Accept records one by one; gives the same as `_accept_all_in_time` for any records."""
        parts = [table.to_pylist() for table in tables]
        accepted, rejects = np.zeros(len(columns.t), bool), list[tuple[int, Reject]]()
        wanted, asked = dict[str, list[int]](), dict[int, tuple[str, int]]()
        for rank, (number, row) in enumerate(zip(columns.chunk.tolist(), columns.row.tolist())):
            (place, head, before), found = chunks[number], parts[number][row]
            event = None if found["t"] is None else Event(found["t"], id=found["id"])
            record = Record(
                head.source,
                found["line"] + before,
                found["text"] or b"",
                event,
                found["problem"] or "",
            )
            accepted[rank] = self.intake.accept(record) is not None
            if self.captured.rejects:
                rejects.append((rank, (*self.captured.rejects.pop(), self.reject_times.pop())))
                if found["text"] is None:
                    wanted.setdefault(place, []).append(found["line"])
                    asked[rank] = place, found["line"]
        texts = records.texts(wanted) if wanted else {}
        for at, (rank, (*said, _, t)) in enumerate(rejects):
            if rank in asked:
                rejects[at] = rank, (*said, texts[asked[rank]], t)  # type: ignore[assignment]
        return accepted, rejects


class _PlacedChunk(NamedTuple):
    """A chunk; ``before``: what is added to its lines."""

    place: str
    head: ChunkHeader
    line_offset: int


def _span_if_all_in_time(clock: WatermarkTracker, heads: Sequence[ChunkHeader]) -> TimeSpan | None:
    """The times of all records, if by the heads each of them is accepted, whatever the others
    are; else None.
    """
    spans = [head.times for head in heads if head.times is not None]
    if not spans or not all(head.is_without_ids for head in heads):
        return None
    if len({head.source for head in heads if head.is_topic}) > 1:
        # The partitions of a topic go on side by side: in which order their times come is not
        # known.
        newest, least = max(span.newest for span in spans), min(span.earliest for span in spans)
        spans = [TimeSpan(newest, newest, least, newest - least, newest - least)]
    newest = spans[0].first if clock.newest is None else clock.newest
    for span in spans:
        if max(span.first - newest, span.greatest_advance) > clock.max_ahead:
            return None
        if (
            clock.lateness is not None
            and max(newest - span.earliest, span.greatest_delay) > clock.lateness
        ):
            return None
        newest = max(newest, span.newest)
    return TimeSpan(spans[0].first, newest, min(span.earliest for span in spans), 0, 0)


@dataclass(frozen=True)
class _BatchColumns:
    """All records of a batch in order: in which chunk, and which row there; ``position``: among
    those of all chunks one after the other. A time of -1 is none; ``plain``: none has an id or
    is none.
    """

    chunk: Ints
    row: Ints
    position: Ints
    t: Ints
    triples: Ints
    is_without_ids: bool

    @staticmethod
    def from_tables(heads: Sequence[ChunkHeader], tables: Sequence[pa.Table]) -> _BatchColumns:
        sizes = [head.record_count for head in heads]
        number = np.repeat(np.arange(len(heads)), sizes)
        row = np.concatenate([np.arange(size) for size in sizes] or [np.empty(0, np.int64)])
        t = _int_column(tables, "t")
        # The partitions of a topic go on side by side: by offset, not one after the other.
        topics = sorted({head.source for head in heads if head.is_topic})
        topic = np.repeat(
            [topics.index(head.source) if head.is_topic else -1 for head in heads], sizes
        )
        order = np.lexsort(
            (row, number, topic, np.where(topic < 0, 0, _int_column(tables, "line")))
        )
        plain = all(head.is_without_ids for head in heads)
        return _BatchColumns(
            number[order], row[order], order, t[order], _int_column(tables, "triples")[order], plain
        )


def _int_column(tables: Sequence[pa.Table], name: str) -> Ints:
    parts = [table[name].fill_null(-1).to_numpy() for table in tables]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _accept_all_in_time(
    arrivals: EventIntake, columns: _BatchColumns
) -> npt.NDArray[np.bool_] | None:
    """Accepts all records at once, if none has to be looked at alone; else None, and nothing has
    changed.
    """
    clock, t = arrivals.tracker, columns.t
    if not columns.is_without_ids or not len(t):
        return None if len(t) else np.zeros(0, bool)
    newest = np.maximum.accumulate(
        np.concatenate(([t[0] if clock.newest is None else clock.newest], t))
    )
    before = newest[:-1]
    if (t - before > clock.max_ahead).any() or (
        clock.lateness is not None and (before - t > clock.lateness).any()
    ):
        return None
    clock.newest = int(newest[-1])
    arrivals.first = min(int(t.min()), clock.newest if arrivals.first is None else arrivals.first)
    return np.ones(len(t), bool)
