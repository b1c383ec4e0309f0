"""Sources of Spark: files and tables as a data source of our own, piece by piece; Kafka by its connector."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import reduce
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.functions import lit
from pyspark.sql.types import StructType

from jobs.streaming.chunks import COLUMNS, rows_of
from jobs.streaming.pieces import BATCH_BYTES, PIECES, Piece, Unit, advanced, between, records, units
from jobs.streaming.shipped import ShippedValue
from shiq.errors import UsageError
from streams.front.kafka import kafka_address
from streams.front.kafka_options import NO_OPTIONS, KafkaOptions
from streams.front.record import Record
from streams.front.run import COLLECTING

Batches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
#: What makes the rows of chunks, as `rows_of` does.
ChunkRows = Callable[..., Iterator[tuple[int, str, bytes]]]
#: How the names of sources begin that nothing can read twice.
_READ_ONCE = ("socket://", "rate://")
#: What one batch takes of a topic.
_OFFSETS = 200_000


class Pieces(DataSource):
    """Which pieces of files are next. Options: ``targets`` and ``positions``, JSON; ``format``, ``follow``, ``batch`` (bytes)."""

    @classmethod
    def name(cls) -> str:
        return "shiq_pieces"

    def schema(self) -> str:
        return "piece string"

    def streamReader(self, schema: StructType) -> PiecesReader:
        return PiecesReader(dict(self.options))


class PiecesReader(DataSourceStreamReader):
    def __init__(self, options: dict[str, str]) -> None:
        self.targets: list[str] = json.loads(options["targets"])
        self.format, self.follow, self.batch = options["format"], bool(options["follow"]), int(options["batch"])
        self.positions: dict[str, int] = json.loads(options["positions"])

    def initialOffset(self) -> dict[str, int]:
        return {}

    def latestOffset(self) -> dict[str, int]:
        return advanced(self._units(), self.positions, self.batch)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        # After a restart the batch that was begun comes again, whatever `positions` said.
        self.positions = end
        return [InputPartition(piece.to_text()) for piece in between(self._units(), start, end, self.batch // PIECES)]

    def _units(self) -> list[Unit]:
        return units(self.targets, self.format, follow=self.follow)

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        yield (partition.value,)


def _file_chunks(system: ShippedValue[Any], rows: ChunkRows) -> Batches:
    def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for text in batch.column(0).to_pylist():
                piece, own = Piece.of_text(text), system.value
                unit = piece.unit

                def place(first: Record, number: int, piece: Piece = piece) -> list[Any]:
                    return [piece.unit.source, piece.unit.order, piece.low, number]

                found = records(piece, own.limits.unit)
                yield from _batches(rows(found, own, place, source=unit.name, position=(unit.key, piece.high)))

    return parse


def _topic_chunks(system: ShippedValue[Any], rows: ChunkRows) -> Batches:
    def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [batch.column(name).to_pylist() for name in ("number", "name", "partition", "offset", "value")]
            for number, name, partition in sorted(set(zip(*columns[:3]))):
                source = f"{name}/{partition}"
                found = [
                    Record(source, offset, value or b"", problem="" if value else "an empty message")
                    for *its, offset, value in zip(*columns)
                    if its == [number, name, partition]
                ]

                def place(first: Record, _: int, number: int = number, partition: int = partition) -> list[Any]:
                    return [number, first.line, partition]

                yield from _batches(rows(found, system.value, place, source=source, is_topic=True))

    return parse


def _batches(rows: Iterator[tuple[int, str, bytes]]) -> Iterator[pa.RecordBatch]:
    gc.set_threshold(COLLECTING, *gc.get_threshold()[1:])
    for bucket, place, data in rows:
        columns = [pa.array([bucket], pa.int32()), pa.array([place]), pa.array([data], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["bucket", "place", "data"])


def is_kafka(targets: Sequence[str]) -> bool:
    """Whether they are topics."""
    return bool(targets) and targets[0].startswith("kafka://")


def check_targets(targets: Sequence[str], options: KafkaOptions = NO_OPTIONS) -> None:
    """Raises: UsageError for what Spark cannot read twice, or not side by side, or with ``options``."""
    if once := next((target for target in targets if target == "-" or target.startswith(_READ_ONCE)), None):
        raise UsageError(
            f"{once} can be read once only, and Spark reads again what a task has lost: one machine, or Kafka or a folder",
            "Leave out --engine spark; or send it to a topic, --source kafka://HOST:PORT/TOPIC, or into files of a folder.",
        )
    topics = [target for target in targets if target.startswith("kafka://")]
    if topics and len(topics) < len(targets):
        raise UsageError(
            "files and topics in one run on Spark have no order",
            "Give files and tables, or topics; or leave out --engine spark.",
        )
    for target in topics:
        options.for_spark(kafka_address(target)[1])


def incoming(
    session: SparkSession,
    targets: Sequence[str],
    positions: dict[str, int],
    *,
    format: str = "auto",
    follow: bool = False,
    batch: int = BATCH_BYTES,
    options: KafkaOptions = NO_OPTIONS,
) -> DataFrame:
    """All that ``targets`` have, from ``positions`` on, about ``batch`` bytes at once: pieces, or messages by ``options``.

    Raises: UsageError, InputError.
    """
    check_targets(targets, options)
    if is_kafka(targets):
        return reduce(DataFrame.unionAll, (_topic(session, number, target, options) for number, target in enumerate(targets)))
    units(targets, format, follow=follow)  # what is wrong with them is said here
    session.dataSource.register(Pieces)
    how = {"targets": json.dumps(list(targets)), "positions": json.dumps(positions), "batch": str(batch)}
    how |= {"format": format, "follow": "yes" if follow else ""}
    return session.readStream.format(Pieces.name()).options(**how).load()


def chunked(frame: DataFrame, targets: Sequence[str], system: ShippedValue[Any], rows: ChunkRows = rows_of) -> DataFrame:
    """The chunks of what is `incoming`."""
    parse = (_topic_chunks if is_kafka(targets) else _file_chunks)(system, rows)
    return frame.mapInArrow(parse, COLUMNS)


def _topic(session: SparkSession, number: int, target: str, options: KafkaOptions) -> DataFrame:
    broker, topic = kafka_address(target)
    how = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": str(_OFFSETS), **options.for_spark(topic)}
    _check_client(session, how)
    how |= {"kafka.bootstrap.servers": broker, "subscribe": topic}
    named = (lit(number).alias("number"), lit(f"kafka://{broker}/{topic}").alias("name"))
    return session.readStream.format("kafka").options(**how).load().select(*named, "partition", "offset", "value")


def _check_client(session: SparkSession, how: Iterable[str]) -> None:
    """Raises: UsageError for a setting that Java's client does not know, and would pass over."""
    if given := {key.removeprefix("kafka.") for key in how if key.startswith("kafka.")}:
        java: Any = session._jvm
        known = set(java.org.apache.kafka.clients.consumer.ConsumerConfig.configNames())
        if unknown := sorted(given - known):
            near = get_close_matches(unknown[0], known, 1, 0)[0]
            raise UsageError(f"Kafka's client knows no {unknown[0]}", f"Did you mean --source-option kafka.{near}?")
