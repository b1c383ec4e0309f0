"""Sources of streams on Spark: topics by Kafka's connector; files and tables in ranges, one batch
at each tick of a clock.

Positions count bytes of a file of lines, rows of a table file, and 1 for a compressed file that was
read. Ranges of lines begin and end at line boundaries, so that tasks read them in parallel. The
number of a range's first line is known once the ranges before it are counted.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import reduce
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from shiq.errors import InputError, UsageError
from shiq.inputs.compression import MAGIC_BYTES, compression_of
from shiq.inputs.formats import Format
from shiq.inputs.sources import FileSource, TableSource, table_kind
from shiq.jobs.building.worker import skip_repeated_imports
from shiq.jobs.streaming.buckets import ChunkRow
from shiq.jobs.streaming.chunks import encode_chunks
from shiq.rdf.tables import TableFile, open_parquet, table_files
from shiq.streams.front.event import Record
from shiq.streams.front.kafka import NO_OPTIONS, KafkaOptions, parse_kafka_address
from shiq.streams.front.run import GC_THRESHOLD
from shiq.streams.front.sources import EventTableSource, FolderSource, read_lines
from shiq.streams.front.tables import read_file_rows

ArrowTask = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
#: How the names of sources begin that nothing can read twice.
_UNREPEATABLE_SCHEMES = ("socket://", "rate://")
#: What one batch takes of a topic.
_MESSAGES_PER_BATCH = 200_000


def range_chunking_task(
    system: Broadcast[Any],
) -> Callable[[Iterable[FileRange]], Iterator[ChunkRow]]:
    """Make a Spark task that reads ranges of files and encodes their records in chunks."""

    def parse(pieces: Iterable[FileRange]) -> Iterator[ChunkRow]:
        _prepare_worker()
        for piece in pieces:
            own, unit = system.value, piece.file

            def place(first: Record, number: int, piece: FileRange = piece) -> list[Any]:
                return [*place_prefix(piece), number]

            yield from encode_chunks(
                read_records(piece, own.limits.unit),
                own,
                place,
                source=unit.name,
                position=(unit.key, piece.high),
            )

    return parse


def place_prefix(piece: FileRange) -> list[int]:
    """First components of the sort keys of a file range's chunks: source, file and start position."""
    return [piece.file.source, piece.file.order, piece.low]


def read_line_texts(unit: str, wanted: tuple[FileRange, Sequence[int]]) -> dict[int, str]:
    """Spark task: read the texts of some lines of a file range again, by line."""
    piece, lines = wanted[0], set(wanted[1])
    return {
        record.line: record.text for record in read_records(piece, unit) if record.line in lines
    }


def message_chunking_task(system: Broadcast[Any]) -> ArrowTask:
    """Make a Spark task that encodes Kafka messages in chunks."""

    def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _prepare_worker()
        for batch in batches:
            columns = [
                batch.column(name).to_pylist()
                for name in ("number", "name", "partition", "offset", "value")
            ]
            for number, name, partition in sorted(set(zip(*columns[:3]))):
                source = f"{name}/{partition}"
                found = [
                    Record(
                        source, offset, value or b"", problem="" if value else "an empty message"
                    )
                    for *its, offset, value in zip(*columns)
                    if its == [number, name, partition]
                ]

                def place(
                    first: Record, _: int, number: int = number, partition: int = partition
                ) -> list[Any]:
                    return [number, first.line, partition]

                for bucket, at, data in encode_chunks(
                    found, system.value, place, source=source, is_topic=True
                ):
                    yield pa.RecordBatch.from_pydict(
                        {"bucket": pa.array([bucket], pa.int32()), "place": [at], "data": [data]}
                    )

    return parse


def _prepare_worker() -> None:
    """Prepare a Python worker for a task: skip repeated imports and collect garbage less often."""
    skip_repeated_imports()
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])


def is_kafka(targets: Sequence[str]) -> bool:
    """Decide whether the stream's sources are topics."""
    return bool(targets) and targets[0].startswith("kafka://")


def check_targets(targets: Sequence[str], options: KafkaOptions = NO_OPTIONS) -> None:
    """Check that Spark can read the stream's sources repeatedly and in one order. Raises:
    UsageError.
    """
    if once := next(
        (target for target in targets if target == "-" or target.startswith(_UNREPEATABLE_SCHEMES)),
        None,
    ):
        raise UsageError(
            f"{once} can be read only once, but Spark reads again after a task has failed",
            "Leave out --engine spark; or send it to a topic, --source kafka://HOST:PORT/TOPIC, or into files of a folder.",
        )
    topics = [target for target in targets if target.startswith("kafka://")]
    if topics and len(topics) < len(targets):
        raise UsageError(
            "Spark cannot put files and topics in one order",
            "Give only files and tables, or only topics; or leave out --engine spark.",
        )
    for target in topics:
        options.spark_options(parse_kafka_address(target)[1])


def tick_stream(session: SparkSession) -> DataFrame:
    """Make a Spark stream with one row for each batch of files; the driver chooses what each batch
    reads.
    """
    return (
        session.readStream.format("rate-micro-batch")
        .options(rowsPerBatch=1, numPartitions=1)
        .load()
    )


def message_stream(
    session: SparkSession, targets: Sequence[str], options: KafkaOptions = NO_OPTIONS
) -> DataFrame:
    """Make a Spark stream of all messages of the topics, each with index and name of its topic.
    Raises: UsageError.
    """
    return reduce(
        DataFrame.unionAll,
        (_topic_stream(session, number, target, options) for number, target in enumerate(targets)),
    )


def read_message_texts(
    frame: DataFrame, wanted: Mapping[tuple[int, int], Sequence[int]]
) -> dict[tuple[int, int, int], str]:
    """Read the texts of some messages again, by topic index, partition and offset."""
    asked = [
        (number, partition, offset)
        for (number, partition), offsets in wanted.items()
        for offset in offsets
    ]
    keys = frame.sparkSession.createDataFrame(asked, "number int, partition int, offset long")
    found = frame.join(keys, ["number", "partition", "offset"], "left_semi").select(
        "number", "partition", "offset", "value"
    )
    return {
        (n, p, o): Record("", o, bytes(value or b"")).text for n, p, o, value in found.collect()
    }


def _topic_stream(
    session: SparkSession, number: int, target: str, options: KafkaOptions
) -> DataFrame:
    """Make a Spark stream of the messages of one topic. ``number``: its index among the sources."""
    broker, topic = parse_kafka_address(target)
    how = {
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(_MESSAGES_PER_BATCH),
        **options.spark_options(topic),
    }
    _check_client_settings(session, how)
    how |= {"kafka.bootstrap.servers": broker, "subscribe": topic}
    named = (lit(number).alias("number"), lit(f"kafka://{broker}/{topic}").alias("name"))
    return (
        session.readStream.format("kafka")
        .options(**how)
        .load()
        .select(*named, "partition", "offset", "value")
    )


def _check_client_settings(session: SparkSession, how: Iterable[str]) -> None:
    """Check that Kafka's Java client knows the settings; it would ignore unknown ones. Raises:
    UsageError.
    """
    if given := {key.removeprefix("kafka.") for key in how if key.startswith("kafka.")}:
        java: Any = session._jvm
        known = set(java.org.apache.kafka.clients.consumer.ConsumerConfig.configNames())
        if unknown := sorted(given - known):
            near = get_close_matches(unknown[0], known, 1, 0)[0]
            raise UsageError(
                f"Kafka's client knows no {unknown[0]}",
                f"Did you mean --source-option kafka.{near}?",
            )


#: How much one batch takes, about (a packed file is never cut), and which part of that a piece is;
#: what a row counts as.
BATCH_BYTES, PIECES, ROW_BYTES = 128 << 20, 16, 80
#: So many of them are one batch of files that do not grow, for whose rows nobody waits.
BATCH_FACTOR = 4
LINES, PACKED, ROWS = "lines", "packed", "rows"


@dataclass(frozen=True)
class SourceFile:
    """One file of a stream's source, as it can be read now.

    source: number of the source
    order: position among the files of the source
    name: name in messages
    kind: `LINES`, `PACKED` or `ROWS`
    size: position up to which the file can be read
    values: values of partition columns, from the names of a table's folders
    """

    source: int
    order: int
    name: str
    path: str
    kind: str
    size: int
    values: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Key of the file in a checkpoint: index of the source, and path."""
        return f"{self.source} {self.path}"


@dataclass(frozen=True)
class FileRange:
    """Part of a file, from position ``low`` to ``high`` (bytes, or rows of a table)."""

    file: SourceFile
    low: int
    high: int


def list_source_files(
    targets: Sequence[str], format: str = "auto", *, follow: bool = False
) -> list[SourceFile]:
    """List the files of the stream's sources, in order, with the position up to which each can be
    read; of a growing file, complete lines only. Raises: InputError.
    """
    return [
        unit
        for number, target in enumerate(targets)
        for unit in _files_of_target(number, target, format, follow)
    ]


def _files_of_target(number: int, target: str, format: str, follow: bool) -> Iterator[SourceFile]:
    """List the files of one source: those of a table or folder, or the file itself."""
    path = Path(target)
    kind = table_kind(target) if format in ("auto", "table") else None
    if kind is not None:
        files, passed_over = table_files(TableSource(target, kind, path))
        del passed_over  # files that are no data by their names
        for order, file in enumerate(files):
            with open_parquet(file) as parquet:
                yield SourceFile(
                    number, order, target, file.path, ROWS, parquet.metadata.num_rows, file.values
                )
        return
    for order, name in enumerate(FolderSource(path).list_files() if path.is_dir() else [path]):
        try:
            with open(name, "rb") as stream:
                packed = compression_of(stream.read(MAGIC_BYTES)) is not None
                end = stream.seek(0, 2)
                size = (
                    1
                    if packed
                    else _end_of_last_line(stream, end)
                    if follow and not path.is_dir()
                    else end
                )
        except OSError as error:
            raise InputError(
                f"{name} cannot be read ({error.strerror})", "Check the path and its permissions."
            ) from error
        yield SourceFile(number, order, str(name), str(name), PACKED if packed else LINES, size)


def _end_of_last_line(stream: BinaryIO, end: int) -> int:
    """Position after the last complete line before ``end``."""
    low = end
    while low > 0:
        low = max(low - (1 << 16), 0)
        stream.seek(low)
        at = stream.read(min(end - low, 1 << 16)).rfind(b"\n")
        if at >= 0:
            return low + at + 1
    return 0


def advance_positions(
    there: Sequence[SourceFile], positions: Mapping[str, int], most: int
) -> dict[str, int]:
    """Compute the positions up to which files are read after one more batch of about ``most``
    bytes.
    """
    found = dict(positions)
    for unit in there:
        low = found.get(unit.key, 0)
        if low >= unit.size:
            continue
        if most <= 0:
            break
        if unit.kind == PACKED:
            found[unit.key], most = unit.size, most - Path(unit.path).stat().st_size
        else:
            width = ROW_BYTES if unit.kind == ROWS else 1
            found[unit.key] = _next_boundary(unit, low + max(most // width, 1))
            most -= (found[unit.key] - low) * width
    return found


def bytes_per_batch(most: int, width: int) -> int:
    """Number of bytes that a batch reads: at least ``most``, and enough for two ranges on each of
    ``width`` cores.
    """
    return most * max(2 * width, PIECES) // PIECES


def ranges_between(
    there: Sequence[SourceFile], start: Mapping[str, int], end: Mapping[str, int], most: int
) -> list[FileRange]:
    """Cut the files between two sets of positions into ranges of about ``most`` bytes, in order.
    Raises: InputError if a file is gone.
    """
    found, known = [], {unit.key for unit in there}
    gone = next((key for key in end if end[key] > start.get(key, 0) and key not in known), None)
    if gone is not None:
        raise InputError(
            f"{gone.partition(' ')[2]} is gone, and was not read to its end", "Put it back."
        )
    for unit in there:
        low, high = start.get(unit.key, 0), end.get(unit.key, 0)
        # A file may have grown since.
        unit = replace(unit, size=max(high, 0))
        while low < high:
            upto = _next_boundary(
                unit, low + max(most // (ROW_BYTES if unit.kind == ROWS else 1), 1)
            )
            found.append(FileRange(unit, low, upto))
            low = upto
    return found


def _next_boundary(unit: SourceFile, position: int) -> int:
    """First position at or after ``position`` where the file may be cut: the end of a line or row."""
    if position >= unit.size or unit.kind != LINES:
        return min(position, unit.size)
    with open(unit.path, "rb") as stream:
        stream.seek(position - 1)
        while (data := stream.readline(1 << 20)) and not data.endswith(b"\n"):
            pass
        return min(stream.tell(), unit.size)


def read_records(piece: FileRange, unit_of_time: str) -> Iterator[Record]:
    """Records of a file range, blank lines included (without data). Lines count from the beginning
    of the range.
    """
    unit = piece.file
    if unit.kind == ROWS:
        table = EventTableSource(unit.name, unit_of_time)
        rows = read_file_rows(TableFile(unit.path, unit.values), piece.low, piece.high)
        return (table.row_to_record(number, values) for number, values in enumerate(rows, 1))
    if unit.kind == PACKED:
        with open(unit.path, "rb") as stream:
            packing = compression_of(stream.read(MAGIC_BYTES))
        return (
            r
            for r, _ in read_lines(
                FileSource(unit.name, Path(unit.path), Format.NTRIPLES, packing).open(),
                unit.name,
                0,
            )
        )
    with open(unit.path, "rb") as stream:
        stream.seek(piece.low)
        data = stream.read(piece.high - piece.low)
    return (record for record, _ in read_lines(BytesIO(data), unit.name, 0))
