"""Sources of Spark: Kafka by its connector; files and tables piece by piece, at the ticks of a
clock.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from shiq.errors import UsageError
from shiq.jobs.spark.worker import spare_imports
from shiq.jobs.streaming.chunks import rows_of, texts_at
from shiq.jobs.streaming.pieces import Piece, records
from shiq.jobs.streaming.stages import ChunkRow
from shiq.streams.front.event import Record
from shiq.streams.front.kafka import kafka_address
from shiq.streams.front.kafka_options import NO_OPTIONS, KafkaOptions
from shiq.streams.front.run import COLLECTING

Batches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
#: How the names of sources begin that nothing can read twice.
_READ_ONCE = ("socket://", "rate://")
#: What one batch takes of a topic.
_OFFSETS = 200_000


def file_chunks(system: Broadcast[Any]) -> Callable[[Iterable[Piece]], Iterator[ChunkRow]]:
    """What makes chunks of pieces in a task, as `rows_of` does."""

    def parse(pieces: Iterable[Piece]) -> Iterator[ChunkRow]:
        _spare()
        for piece in pieces:
            own, unit = system.value, piece.unit

            def place(first: Record, number: int, piece: Piece = piece) -> list[Any]:
                return [*place_of(piece), number]

            yield from rows_of(
                records(piece, own.limits.unit),
                own,
                place,
                source=unit.name,
                position=(unit.key, piece.high),
            )

    return parse


def place_of(piece: Piece) -> list[int]:
    """How the places of a piece's chunks begin."""
    return [piece.unit.source, piece.unit.order, piece.low]


def piece_texts(unit: str, wanted: tuple[Piece, Sequence[int]]) -> dict[int, str]:
    """In a task: the texts of lines of a piece."""
    piece, lines = wanted
    return texts_at(records(piece, unit), set(lines))


def topic_chunks(system: Broadcast[Any]) -> Batches:
    """What makes chunks of messages in a task, as `rows_of` does, and counts them."""

    def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _spare()
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

                for bucket, at, data in rows_of(
                    found, system.value, place, source=source, is_topic=True
                ):
                    yield pa.RecordBatch.from_pydict(
                        {"bucket": pa.array([bucket], pa.int32()), "place": [at], "data": [data]}
                    )

    return parse


def _spare() -> None:
    """What each task of a worker does first."""
    spare_imports()
    gc.set_threshold(COLLECTING, *gc.get_threshold()[1:])


def is_kafka(targets: Sequence[str]) -> bool:
    """Whether they are topics."""
    return bool(targets) and targets[0].startswith("kafka://")


def check_targets(targets: Sequence[str], options: KafkaOptions = NO_OPTIONS) -> None:
    """Raises: UsageError for what Spark cannot read twice, or not side by side, or with
    ``options``.
    """
    if once := next(
        (target for target in targets if target == "-" or target.startswith(_READ_ONCE)), None
    ):
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


def ticks(session: SparkSession) -> DataFrame:
    """A row a batch: which pieces of files it reads is up to the driver."""
    return (
        session.readStream.format("rate-micro-batch")
        .options(rowsPerBatch=1, numPartitions=1)
        .load()
    )


def topics(
    session: SparkSession, targets: Sequence[str], options: KafkaOptions = NO_OPTIONS
) -> DataFrame:
    """All messages of topics, with the number and name of their target. Raises: UsageError."""
    return reduce(
        DataFrame.unionAll,
        (_topic(session, number, target, options) for number, target in enumerate(targets)),
    )


def topic_texts(
    frame: DataFrame, wanted: Mapping[tuple[int, int], Sequence[int]]
) -> dict[tuple[int, int, int], str]:
    """The texts of messages, by target, partition and offset; they are read again."""
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


def _topic(session: SparkSession, number: int, target: str, options: KafkaOptions) -> DataFrame:
    broker, topic = kafka_address(target)
    how = {
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(_OFFSETS),
        **options.for_spark(topic),
    }
    _check_client(session, how)
    how |= {"kafka.bootstrap.servers": broker, "subscribe": topic}
    named = (lit(number).alias("number"), lit(f"kafka://{broker}/{topic}").alias("name"))
    return (
        session.readStream.format("kafka")
        .options(**how)
        .load()
        .select(*named, "partition", "offset", "value")
    )


def _check_client(session: SparkSession, how: Iterable[str]) -> None:
    """Raises: UsageError for a setting that Java's client does not know, and would pass over."""
    if given := {key.removeprefix("kafka.") for key in how if key.startswith("kafka.")}:
        java: Any = session._jvm
        known = set(java.org.apache.kafka.clients.consumer.ConsumerConfig.configNames())
        if unknown := sorted(given - known):
            near = get_close_matches(unknown[0], known, 1, 0)[0]
            raise UsageError(
                f"Kafka's client knows no {unknown[0]}",
                f"Did you mean --source-option kafka.{near}?",
            )
