"""Sources of records: files of lines (also compressed), folders, stdin, sockets, tables and Kafka
topics.

A source yields records in order. Its ``position``, a JSON value, says how far the yielded records
go. If it is set before `read`, reading starts there. It is replaced, never mutated. Files count
lines and, if not packed, bytes.
"""

from __future__ import annotations

import heapq
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Thread
from typing import Any, BinaryIO, Protocol, TypeAlias
from urllib.parse import urlsplit

from shiq.errors import InputError, OperationalError, UsageError
from shiq.inputs.compression import MAGIC_BYTES, compression_of
from shiq.inputs.formats import Format
from shiq.inputs.sources import FileSource, TableSource, table_kind
from shiq.streams.front.event import EventError, Record, parse_time
from shiq.streams.front.kafka import NO_OPTIONS, KafkaOptions, KafkaSource, parse_kafka_address

#: Bytes of a line, at most; a longer one is told and passed over, so that no line fills the memory.
LONGEST_LINE = 1 << 28
#: Seconds between looks at a file or folder that is followed.
_POLL_SECONDS = 0.2


class Source(Protocol):
    """Interface of a source of records, as an option ``--source`` names it."""

    @property
    def name(self) -> str:
        """Name of the source in messages and checkpoints."""

    position: Any

    def read(self, follow: bool) -> Iterator[Record]:
        """Yield the records after ``position``; with ``follow`` wait for new ones too.

        Raises: InputError, OperationalError.
        """


def open_source(
    target: str, unit: str = "sec", format: str = "auto", options: KafkaOptions = NO_OPTIONS
) -> Source:
    """Open the source (file, folder, table, socket, topic or stdin) that ``target`` names.

    target: a file, a folder, ``-``, a table, ``kafka://HOST:PORT/TOPIC`` or ``socket://HOST:PORT``.
    format: ``table``, ``auto`` (a table if it looks like one), or any other for lines.
    options: of a topic.
    Raises: InputError if a file does not exist, UsageError for a malformed address.
    """
    if target == "-":
        return StdinSource()
    if target.startswith("kafka://"):
        return KafkaSource(*parse_kafka_address(target), options)
    if target.startswith("socket://"):
        return SocketSource(target)
    if "://" in target:
        raise UsageError(
            f"{target}: no such source",
            "Name a file, a folder, -, a table, kafka://HOST:PORT/TOPIC or socket://HOST:PORT.",
        )
    path = Path(target)
    if not path.exists():
        raise InputError(f"{target} does not exist", "Check the path.")
    kind = table_kind(target) if format in ("auto", "table") else None
    if kind is not None:
        return EventTableSource(target, unit)
    if format == "table":
        raise InputError(
            f"{target} is no table", "Give a Parquet file, a folder of them, or a Delta table."
        )
    return FolderSource(path) if path.is_dir() else LinesFileSource(path)


def read_lines(
    stream: BinaryIO, name: str, before: int, wait: Callable[[], bool] = lambda: False
) -> Iterator[tuple[Record, int]]:
    """Yield the lines of a byte stream as records, each with its length in bytes.

    before: number of lines read earlier.
    wait: called at the end of the stream; returns whether to try again.
    """
    number, begun = before, b""
    while True:
        data = stream.readline(LONGEST_LINE)
        if not data or not data.endswith(b"\n"):
            begun += data
            if len(begun) < LONGEST_LINE and wait():
                continue
            if not begun:
                return
            data, begun = begun, b""
        else:
            data, begun = begun + data, b""
        number += 1
        problem = (
            ""
            if data.endswith(b"\n") or len(data) < LONGEST_LINE
            else f"a line of more than {LONGEST_LINE:,} bytes"
        )
        yield (
            Record(name, number, data.rstrip(b"\r\n") if data.strip() else b"", problem=problem),
            len(data),
        )


def _nonblank_records(stream: BinaryIO, name: str) -> Iterator[Record]:
    """Yield the lines of a byte stream as records, without blank lines."""
    return (record for record, _ in read_lines(stream, name, 0) if record.data)


@dataclass
class LinesFileSource:
    """Source that reads a file of lines, decompressed if needed. Its position is the number of
    lines and bytes read.
    """

    path: Path
    line: int = 0
    byte: int = 0

    @property
    def name(self) -> str:
        """Path of the source file."""
        return str(self.path)

    @property
    def position(self) -> Any:
        """Number of lines and bytes read."""
        return {"line": self.line, "byte": self.byte}

    @position.setter
    def position(self, at: Any) -> None:
        self.line, self.byte = at["line"], at["byte"]

    def read(self, follow: bool) -> Iterator[Record]:
        """Yield the lines of the file after ``position``; with ``follow`` wait for more."""
        with open(self.path, "rb") as stream:
            packing = compression_of(stream.read(MAGIC_BYTES))
        if packing is None:
            yield from self._read_unpacked(follow)
            return
        done = self.line
        unpacked = FileSource(self.name, self.path, Format.NTRIPLES, packing).open()
        for record in _nonblank_records(unpacked, self.name):
            if record.line > done:
                self.line = record.line
                yield record

    def _read_unpacked(self, follow: bool) -> Iterator[Record]:
        """Yield the lines of a file that is not compressed, from the byte position of the source
        on.
        """

        def wait_for_more() -> bool:
            """Wait a moment if the file is followed; return whether it is."""
            if follow:
                time.sleep(_POLL_SECONDS)
            return follow

        try:
            with open(self.path, "rb") as stream:
                stream.seek(self.byte)
                for record, size in read_lines(stream, self.name, self.line, wait_for_more):
                    self.line, self.byte = record.line, self.byte + size
                    if record.data:
                        yield record
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be read ({error.strerror or error})",
                "Check the path and its permissions.",
            ) from error


@dataclass
class FolderSource:
    """Source that reads the files of a folder in order of name; with ``follow`` also new files. It
    has a position for each file.
    """

    path: Path
    position: dict[str, Any] = field(default_factory=lambda: {"done": [], "file": "", "at": None})

    @property
    def name(self) -> str:
        """Path of the source folder."""
        return str(self.path)

    def read(self, follow: bool) -> Iterator[Record]:
        """Yield the lines of each file after ``position``."""
        while True:
            done = set(self.position["done"])
            for file in self.list_files():
                if file.name in done:
                    continue
                lines = LinesFileSource(file)
                if self.position["file"] == file.name:
                    lines.position = self.position["at"]
                for record in lines.read(False):
                    self.position = {
                        "done": self.position["done"],
                        "file": file.name,
                        "at": lines.position,
                    }
                    yield record
                self.position = {
                    "done": [*self.position["done"], file.name],
                    "file": "",
                    "at": None,
                }
            if not follow:
                return
            time.sleep(_POLL_SECONDS)

    def list_files(self) -> list[Path]:
        """List the files of the folder now, by name. Raises: InputError for a nested folder."""
        entries = sorted(
            entry for entry in self.path.iterdir() if not entry.name.startswith((".", "_"))
        )
        folder = next((entry for entry in entries if entry.is_dir()), None)
        if folder is not None:
            raise InputError(
                f"{folder} is a folder within a folder of events",
                "Give it as a --source of its own.",
            )
        return entries


@dataclass
class StdinSource:
    """Source that reads standard input; a resumed run reads only what is sent to it then."""

    name: str = "-"
    position: int = 0

    def read(self, follow: bool) -> Iterator[Record]:
        """Yield the lines of standard input."""
        for record in _nonblank_records(sys.stdin.buffer, self.name):
            self.position = record.line
            yield record


@dataclass
class SocketSource:
    """Source that connects to a TCP server of lines. Lines that were sent to a killed run are lost."""

    name: str
    position: int = 0

    def read(self, follow: bool) -> Iterator[Record]:
        """Connect and yield the lines of the server."""
        found = urlsplit(self.name)
        if not found.hostname or not found.port:
            raise UsageError(
                f"{self.name}: not the address of a server", "Write socket://HOST:PORT."
            )
        try:
            with socket.create_connection((found.hostname, found.port), timeout=30) as connection:
                connection.settimeout(None)
                with connection.makefile("rb") as stream:
                    for record in _nonblank_records(stream, self.name):
                        self.position = record.line
                        yield record
        except OSError as error:
            raise OperationalError(
                f"{self.name}: {error.strerror or error}", "See that the server runs."
            ) from error


@dataclass
class EventTableSource:
    """Source that reads the rows of a Parquet or Delta table as events.

    Its columns are s, p, o, t, or atom, t. Position: rows.
    """

    name: str
    unit: str = "sec"
    position: int = 0

    def read(self, follow: bool) -> Iterator[Record]:
        """Yield the table rows after ``position`` as records."""
        from shiq.streams.front.tables import read_event_rows

        kind = table_kind(self.name)
        if kind is None:
            raise InputError(f"{self.name} is no table", "Check the path.")
        for number, values in enumerate(
            read_event_rows(TableSource(self.name, kind, Path(self.name))), 1
        ):
            if number <= self.position:
                continue
            self.position = number
            yield self.row_to_record(number, values)

    def row_to_record(self, number: int, values: dict[str, Any]) -> Record:
        """Convert a table row to a record. ``number``: 1-based number of the row."""
        from shiq.streams.front.tables import event_from_row

        shown = " ".join(str(value) for value in values.values())
        try:
            return Record(
                self.name,
                number,
                shown.encode(),
                event_from_row(values, parse_time(values, self.unit)),
            )
        except EventError as error:
            return Record(self.name, number, shown.encode(), problem=str(error))


# Several sources as one input: one after the other, merged by time, or, where they are
# followed, as records come.


#: Records that wait, at most, and seconds until it is said that none came.
_QUEUE_SIZE, _QUEUE_TIMEOUT = 1000, 0.2
#: A record, of which source, and how far that source is with it.
_QueuedRecord: TypeAlias = tuple[str, Record, Any]


@dataclass
class MergedInput:
    """All sources of a run as one input: read one after the other, merged by time, or followed side
    by side.

    sources: have different names.
    start_positions: by source, where reading starts.
    """

    sources: Sequence[Source]
    start_positions: dict[str, Any] = field(default_factory=dict)
    _current: Source | None = None

    def __post_init__(self) -> None:
        twice = [
            name
            for name, count in Counter(source.name for source in self.sources).items()
            if count > 1
        ]
        if twice:
            raise UsageError(f"the source {twice[0]} is given twice", "Give each once.")
        for source in self.sources:
            source.position = self.start_positions.get(source.name, source.position)

    @property
    def positions(self) -> dict[str, Any]:
        """Read position of each source after the records yielded so far."""
        current = self._current
        return self.start_positions | (
            {current.name: current.position} if current is not None else {}
        )

    def read(
        self, follow: bool = False, time: Callable[[Record], int | None] | None = None
    ) -> Iterator[Record | None]:
        """Yield the records of all sources, one source after the other, merged by ``time``, or
        followed.

        time: if given, merge the sources by this time of a record; a record without time is yielded
        at once.
        follow: yield records as they come, and None when none came for a while.
        """
        if follow:
            yield from self._read_followed()
        elif time is not None:
            yield from self._read_merged(time)
        else:
            for source in self.sources:
                self._current = source
                yield from source.read(False)
                self.start_positions = self.positions

    def _read_merged(self, time: Callable[[Record], int | None]) -> Iterator[Record]:
        """Merge the sources by the time of their records; equal times in order of the sources."""
        readers = [source.read(False) for source in self.sources]
        heads: list[tuple[int, int, Record, Any]] = []

        def push_next(at: int) -> None:
            """Push the next record of source ``at`` onto the heap."""
            record = next(readers[at], None)
            if record is not None:
                when = time(record)
                heapq.heappush(
                    heads, (-1 if when is None else when, at, record, self.sources[at].position)
                )

        for at in range(len(readers)):
            push_next(at)
        while heads:
            _, at, record, position = heapq.heappop(heads)
            self.start_positions[self.sources[at].name] = position
            yield record
            push_next(at)

    def _read_followed(self) -> Iterator[Record | None]:
        """Yield records of all sources as they come, and None if none came for a while; each source
        is read by a thread of its own.
        """
        arrived: Queue[_QueuedRecord | BaseException | None] = Queue(_QUEUE_SIZE)
        stopped = threading.Event()

        def put_in_queue(item: _QueuedRecord | BaseException | None) -> None:
            """Queue an item unless reading was stopped."""
            while not stopped.is_set():
                try:
                    return arrived.put(item, timeout=_QUEUE_TIMEOUT)
                except Full:
                    continue

        def read_source(source: Source) -> None:
            """Thread: queue the records of a source, then None or its error."""
            try:
                for record in source.read(True):
                    put_in_queue((source.name, record, source.position))
                    if stopped.is_set():
                        return
                put_in_queue(None)
            except BaseException as error:
                put_in_queue(error)

        for source in self.sources:
            Thread(target=read_source, args=(source,), daemon=True).start()
        left = len(self.sources)
        try:
            while left:
                try:
                    item = arrived.get(timeout=_QUEUE_TIMEOUT)
                except Empty:
                    yield None
                    continue
                if item is None:
                    left -= 1
                elif isinstance(item, BaseException):
                    raise item
                else:
                    name, record, self.start_positions[name] = item
                    yield record
        finally:
            stopped.set()
