"""Encode the records of a Spark task in chunks: for each a header, a table of event times, and a
table for each state bucket.

The header summarises the whole chunk. It usually suffices to know that every record is in time. The
driver asks for the table of times (with lines and ids) only if it does not. Texts stay at the
source; those of rejected records are read again. The bucket tables have the operator's own columns.
Their column ``event`` is the position of a record in the chunk, so that rejected records can be
filtered out without decoding anything else. Columns that the operator shows to the collector travel
to the driver, in order of the records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.columns.arrays import (
    arrow_bytes,
    arrow_ints,
    arrow_numbers,
    numpy_ints,
    one_array,
    stored_ints,
)
from shiq.streams.front.event import Event, EventError, Record
from shiq.streams.front.intake import EventLimits
from shiq.streams.front.operator import CodedTexts, Columns, Operator

#: The columns of chunks; heads, times and what the driver is shown of records have numbers of their
#: own beside those of buckets.
COLUMNS: Final = "bucket int, place string, data binary"
FOR_DRIVER, TIMES, HEADER = -3, -2, -1
#: A chunk has at most so many records, or bytes.
MOST_RECORDS, MOST_BYTES = 20_000, 16 << 20
_LZ4: Final = pa.ipc.IpcWriteOptions(compression="lz4")
_TIMES_SCHEMA: Final = pa.schema(
    {
        "line": pa.int64(),
        "t": pa.int64(),
        "id": pa.string(),
        "problem": pa.string(),
        "triples": pa.int64(),
        "text": pa.binary(),
    }
)


class TimeSpan(NamedTuple):
    """Summary of the times of a chunk's events, in the order of its records.

    first: time of the first event
    newest: latest time
    earliest: earliest time
    greatest_delay: most that an event lies behind the latest one before it
    greatest_advance: most that an event lies ahead of the latest one before it
    """

    first: int
    newest: int
    earliest: int
    greatest_delay: int
    greatest_advance: int

    @staticmethod
    def from_times(times: Sequence[int]) -> TimeSpan | None:
        """Summarise ``times``; None for no times."""
        if not times:
            return None
        t = np.array(times, np.int64)
        newest = np.maximum.accumulate(t)
        further = t[1:] - newest[:-1]
        span = (
            t[0],
            newest[-1],
            t.min(),
            max(-further.min(initial=0), 0),
            max(further.max(initial=0), 0),
        )
        return TimeSpan(*map(int, span))


@dataclass(frozen=True)
class ChunkHeader:
    """Summary of a chunk of records, by which the driver accepts it without reading the records.

    source: name of the file or partition
    is_topic: the source is a partition of a topic
    line_count: lines that the chunk covers, counted from 1; offsets for a topic
    skipped_lines: lines of the range before this chunk
    position: (file, position up to which it is read); None for a topic
    rejects: (line, time, row, kind, reason, text) of the records that the operator refused
    counts: the operator's own figures
    record_count: number of records
    is_without_ids: each record is an event without an id
    times: times of the events; None without events
    event_figures: counts of events and triples, valid if every event is in time
    """

    source: str
    is_topic: bool
    line_count: int
    skipped_lines: int
    position: tuple[str, int] | None
    rejects: Sequence[tuple[int, int, int, str, str, str]]
    counts: Mapping[str, int]
    record_count: int
    is_without_ids: bool
    times: TimeSpan | None
    event_figures: Mapping[str, int]

    def to_bytes(self) -> bytes:
        """Encode the header as JSON."""
        return json.dumps(vars(self)).encode()

    @staticmethod
    def from_bytes(data: bytes) -> ChunkHeader:
        """Decode a header from the JSON that `to_bytes` makes."""
        found = json.loads(data)
        return ChunkHeader(**{**found, "times": found["times"] and TimeSpan(*found["times"])})


def encode_table(table: pa.Table, options: pa.ipc.IpcWriteOptions | None = None) -> bytes:
    """Encode a table in Arrow's stream format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def decode_table(data: bytes) -> pa.Table:
    """Decode a table from the bytes that `encode_table` makes."""
    return pa.ipc.open_stream(data).read_all()


def columns_to_table(columns: Columns) -> pa.Table:
    """Convert an operator's columns to an Arrow table; texts become bytes, so that unpaired
    surrogates survive.
    """
    return pa.table({name: _encode_column(column) for name, column in columns.items()})


def _encode_column(column: Any) -> pa.Array:
    """Convert one column to an Arrow array."""
    if isinstance(column, np.ndarray):
        return arrow_numbers(column)
    if isinstance(column, CodedTexts):
        texts = arrow_bytes([_encode_texts(text) for text in column.texts])
        return pa.DictionaryArray.from_arrays(arrow_numbers(column.codes), texts)
    return pa.array([_encode_texts(value) for value in column])


def _encode_texts(value: Any) -> Any:
    """Encode a text as UTF-8, or the texts of a list; other values stay."""
    if isinstance(value, list):
        return [_encode_texts(part) for part in value]
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def table_to_columns(table: pa.Table) -> dict[str, Any]:
    """Convert a table of `columns_to_table` back to columns."""
    return {name: _decode_column(one_array(table[name])) for name in table.column_names}


def _decode_column(array: pa.Array) -> Any:
    """Convert an Arrow array to a column: the inverse of `_encode_column`."""
    if pa.types.is_dictionary(array.type):
        texts = _decode_texts(array.dictionary.to_pylist())
        return CodedTexts(stored_ints(array.indices), texts)
    return (
        numpy_ints(array) if pa.types.is_integer(array.type) else _decode_texts(array.to_pylist())
    )


def _decode_texts(value: Any) -> Any:
    """Decode a text from UTF-8, or the texts of a list; other values stay."""
    if isinstance(value, list):
        return [_decode_texts(part) for part in value]
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def split_records(records: Iterable[Record]) -> Iterator[tuple[int, list[Record]]]:
    """Split consecutive records into chunks of bounded size. Yields each with the number of the
    line before it; without records one empty chunk.
    """
    chunk, size, before = list[Record](), 0, 0
    for record in records:
        chunk.append(record)
        size += len(record.data)
        if len(chunk) >= MOST_RECORDS or size >= MOST_BYTES:
            yield before, chunk
            before, chunk, size = record.line, [], 0
    if chunk or not before:
        yield before, chunk


def encode_chunks(
    records: Iterable[Record],
    system: Operator,
    place: Callable[[Record, int], list[Any]],
    *,
    source: str,
    is_topic: bool = False,
    position: tuple[str, int] | None = None,
) -> Iterator[tuple[int, str, bytes]]:
    """Parse consecutive records, divide them into chunks, and encode each. Yields rows (bucket or
    kind, sort key, bytes): header, event times, and a table for each state bucket.

    place: gives the sort key of a chunk from its first record and its index
    position: (file, position) up to which the records read it; without records an empty chunk
    carries it
    """
    for number, (before, whole) in enumerate(split_records(records)):
        covers = whole[-1].line - before if whole else 0
        shift = 0 if is_topic else before
        chunk = [record for record in whole if record.data or record.event or record.problem]
        events, problems = list[Event | None](), list[str | None]()
        for record in chunk:
            event, problem = _parse_event(record, system.limits)
            events.append(event)
            problems.append(problem)
        used = [
            event if event is not None and system.limits.contains_time(event.t) else None
            for event in events
        ]
        split = system.partition_events(used)
        lines = [record.line - shift for record in chunk]
        is_plain = not any(problems) and not any(
            event.id is not None for event in events if event is not None
        )
        held = [event for event in used if event is not None]
        counts = {
            "events": len(held),
            "outside": len(chunk) - len(held),
            "triples": sum(len(event.triples) for event in held),
        }
        head = ChunkHeader(
            source,
            is_topic,
            covers,
            shift,
            position,
            [(lines[row], events[row].t, row, *said) for row, *said in split.rejects],  # type: ignore[union-attr,misc]
            split.counts,
            len(chunk),
            is_plain,
            TimeSpan.from_times([event.t for event in events if event is not None]),
            counts,
        )
        at = json.dumps(place(whole[0] if whole else Record(source, 1, b""), number))
        yield HEADER, at, head.to_bytes()
        yield (
            TIMES,
            at,
            encode_table(_times_table(chunk, lines, events, problems, is_plain), _LZ4),
        )
        for bucket, part in split.parts.items():
            yield bucket, at, encode_table(columns_to_table(part))
        if split.collector_columns is not None:
            shown = {**split.collector_columns, "line": lines}
            if split.includes_text:
                shown["text"] = [record.source_text for record in chunk]
            yield FOR_DRIVER, at, encode_table(columns_to_table(shown))


def _times_table(
    chunk: Sequence[Record],
    lines: Sequence[int],
    events: Sequence[Event | None],
    problems: Sequence[str | None],
    is_plain: bool,
) -> pa.Table:
    """Make the table of a chunk's event times. Line, id, problem and text are included where the
    driver may need them. ``is_plain``: no record has an id or a problem.
    """
    triples = [0 if event is None else len(event.triples) for event in events]
    if is_plain:
        times = [event.t for event in events if event is not None]
        numbers = {"line": lines, "t": times, "triples": triples}
        found = {name: arrow_ints(np.array(of, np.int64)) for name, of in numbers.items()}
        arrays = [
            found.get(field.name, pa.nulls(len(chunk), field.type)) for field in _TIMES_SCHEMA
        ]
        return pa.Table.from_arrays(arrays, schema=_TIMES_SCHEMA)
    columns = {
        "line": lines,
        "t": [None if event is None else event.t for event in events],
        "id": [None if event is None else event.id for event in events],
        "problem": problems,
        "triples": triples,
        "text": [r.data if problem else None for r, problem in zip(chunk, problems)],
    }
    return pa.table(columns, schema=_TIMES_SCHEMA)


def _parse_event(record: Record, limits: EventLimits) -> tuple[Event | None, str | None]:
    """Parse the event of a record. Returns the event, or a message about what is wrong with the
    record.
    """
    try:
        return limits.read_event(record), None
    except EventError as error:
        return None, str(error)
