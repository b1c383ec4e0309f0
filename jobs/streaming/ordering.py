"""Decide on the driver, in stream order, which records of a batch are accepted, and advance the
watermark.

An event's lateness, or whether it repeats an id, depends on all events before it, in order of
source and line. Spark's own watermark does not fit: it moves between batches only, drops late rows
silently, and needs time stamps. Chunk headers usually show that all events are in time, and then
nothing else is read. If an event has an id or is late, or a record is broken, times, lines and ids
of the batch are fetched. Texts are fetched for rejected records only. Time advances by events
alone.
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
from shiq.streams.front.event import Event, Record
from shiq.streams.front.intake import EventIntake, EventLimits, RejectLog, WatermarkTracker
from shiq.streams.front.operator import BatchReport, Reject


class _RejectCapture(RejectLog):
    """Log of rejected records that keeps them in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.rejects: list[tuple[str, str, int, str, str]] = []

    def add_reject(self, kind: str, source: str, line: int, reason: str, text: str) -> None:
        """Keep a rejected record."""
        self.rejects.append((kind, source, line, reason, text))


class BatchRecords(Protocol):
    """Access to the records of a batch, for when their chunks' headers do not suffice. A chunk is
    identified by its sort key ("place").
    """

    def fetch_times(self) -> Mapping[str, pa.Table]:
        """Fetch the tables of event times of all chunks, by the chunk's sort key."""

    def fetch_texts(self, lines: Mapping[str, Sequence[int]]) -> Mapping[tuple[str, int], str]:
        """Fetch the texts of records, by the chunk's sort key and the line within it."""


class OrderedBatch(NamedTuple):
    """Result of ordering a batch: which records are accepted, and in which order.

    report: figures, rejects and positions for the collector
    chunk_ranks: rank of each chunk, by its sort key
    use_masks: accepted records of a chunk within the time limits, as a mask; absent if that is all
    of them
    record_numbers: rank of each record in the batch, by chunk
    line_offsets: number to add to the line numbers of a chunk
    """

    report: BatchReport
    chunk_ranks: Mapping[str, int]
    use_masks: Mapping[str, npt.NDArray[np.bool_]]
    record_numbers: Mapping[str, Ints]
    line_offsets: Mapping[str, int]


class EventOrderer:
    """Intake of a stream's events on the driver: accepts or rejects the records of each batch by
    time and id.
    """

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
        """State of the intake as JSON, for `restore`."""
        return [self.intake.state(), self.line_counts]

    def restore(self, state: Any) -> None:
        """Restore the intake from the ``state`` of an earlier run, to continue it."""
        found, self.line_counts = state
        self.intake.restore(found)

    def order_batch(
        self, heads: Mapping[str, ChunkHeader], records: BatchRecords, *, closely: bool = False
    ) -> OrderedBatch:
        """Accept or reject the records of a batch.

        heads: chunk headers by place
        records: fetches details where the headers do not suffice
        closely: fetch the details in any case
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
        """Number of lines of the chunk's source before this chunk; counts the chunk's own lines for
        the next one.
        """
        before = 0 if head.is_topic else self.line_counts.get(head.source, 0)
        if not head.is_topic:
            self.line_counts[head.source] = before + head.line_count
        return before

    def _accept_all(
        self, chunks: Sequence[_PlacedChunk], seen: TimeSpan
    ) -> tuple[list[Reject], dict[str, int]]:
        """Accept every record of the chunks. ``seen``: summary of their times. Returns the rejects
        of the operator itself, and figures.
        """
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
        """Accept or reject the records of chunks by their event times.

        Returns: masks of the used records, numbers of the records, rejects, figures.
        """
        times = records.fetch_times()
        tables = [times[place] for place, _, _ in chunks]
        columns = _RecordColumns.from_tables([head for _, head, _ in chunks], tables)
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
        columns: _RecordColumns,
        records: BatchRecords,
    ) -> tuple[npt.NDArray[np.bool_], list[tuple[int, Reject]]]:
        """Accept or reject records one by one, by time and id. Unlike `_accept_all_in_time` it
        handles any records. Returns a mask, and the rejects by rank.
        """
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
            accepted[rank] = self.intake.read_and_admit(record) is not None
            if self.captured.rejects:
                rejects.append((rank, (*self.captured.rejects.pop(), self.reject_times.pop())))
                if found["text"] is None:
                    wanted.setdefault(place, []).append(found["line"])
                    asked[rank] = place, found["line"]
        texts = records.fetch_texts(wanted) if wanted else {}
        for at, (rank, (*said, _, t)) in enumerate(rejects):
            if rank in asked:
                rejects[at] = rank, (*said, texts[asked[rank]], t)  # type: ignore[assignment]
        return accepted, rejects


class _PlacedChunk(NamedTuple):
    """Chunk header with the chunk's sort key (``place``) and the number to add to its line numbers."""

    place: str
    head: ChunkHeader
    line_offset: int


def _span_if_all_in_time(clock: WatermarkTracker, heads: Sequence[ChunkHeader]) -> TimeSpan | None:
    """Summarise the times of all chunks, if their headers prove that no record is late, too far
    ahead or a duplicate; else None.
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
class _RecordColumns:
    """Times and sizes of all records of a batch, in stream order.

    chunk, row: chunk number of each record, and its row there
    position: position of the record among the rows of all chunks, concatenated
    t: time; -1 without an event
    triples: number of triples
    is_without_ids: every record is an event without an id
    """

    chunk: Ints
    row: Ints
    position: Ints
    t: Ints
    triples: Ints
    is_without_ids: bool

    @staticmethod
    def from_tables(heads: Sequence[ChunkHeader], tables: Sequence[pa.Table]) -> _RecordColumns:
        """Sort the records of all time ``tables`` into stream order."""
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
        return _RecordColumns(
            number[order], row[order], order, t[order], _int_column(tables, "triples")[order], plain
        )


def _int_column(tables: Sequence[pa.Table], name: str) -> Ints:
    """Concatenate one integer column of several tables; nulls become -1."""
    parts = [table[name].fill_null(-1).to_numpy() for table in tables]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _accept_all_in_time(
    arrivals: EventIntake, columns: _RecordColumns
) -> npt.NDArray[np.bool_] | None:
    """Accept all records at once if none is late, too far ahead, or has an id or a problem.
    Otherwise return None and change nothing.
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
