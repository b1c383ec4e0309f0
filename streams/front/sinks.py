"""Sinks of rows: a file of JSON lines, stdout, a Parquet or Delta table, a Kafka topic.

A file is truncated to its length in the checkpoint, so that a resumed run writes each row once.
Tables and topics are written when the sink is flushed. The offset in a checkpoint is a table's
number of commits or a topic's number of rows.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

from shiq.errors import OperationalError, UsageError
from shiq.files import is_device, report_write_errors
from shiq.streams.front.kafka import KafkaSink, parse_kafka_address

_report_errors = partial(
    report_write_errors,
    remedy="Name a file that may be written.",
    no_room="Make room, then start again: it goes on.",
)


class Sink(Protocol):
    """Interface of an output file, table or topic for rows, each a JSON object as text."""

    def write(self, rows: Sequence[str]) -> None:
        """Write ``rows`` to the output, perhaps buffered. Raises: OperationalError."""

    def flush(self) -> Any:
        """Make all rows durable; return the write offset, which a later `open_sink` takes as
        ``length``.

        Raises: OperationalError.
        """

    def close(self) -> None:
        """Close the output. Raises: OperationalError."""


def open_sink(target: str, length: Any = None) -> Sink:
    """Open the sink (file, table, topic or stdout) that ``target`` names.

    target: ``-`` stdout, ``kafka://HOST:PORT/TOPIC``, ``….parquet``, ``….delta``, else a file of
    JSON lines.
    length: offset in a checkpoint, at which the output is truncated; None empties it.
    Raises: OperationalError if it cannot be written or is shorter than ``length``; UsageError.
    """
    if target == "-":
        return StdoutSink()
    if target.startswith("kafka://"):
        return KafkaSink(*parse_kafka_address(target), length)
    if "://" in target:
        raise UsageError(
            f"{target}: no such sink",
            "Name a file, -, a .parquet or .delta table, or kafka://HOST:PORT/TOPIC.",
        )
    if target.endswith((".parquet", ".delta")):
        from shiq.streams.front.tables import DeltaSink, ParquetSink

        return (ParquetSink if target.endswith(".parquet") else DeltaSink)(Path(target), length)
    return LinesFileSink(Path(target), length)


class StdoutSink:
    """Sink that prints rows to standard output; each batch of rows is visible at once."""

    def __init__(self) -> None:
        self.row_count = 0

    def write(self, rows: Sequence[str]) -> None:
        """Print ``rows`` to standard output."""
        for row in rows:
            sys.stdout.write(row + "\n")
        self.row_count += len(rows)
        sys.stdout.flush()

    def flush(self) -> int:
        """Flush stdout; return the number of rows printed since the sink was opened."""
        sys.stdout.flush()
        return self.row_count

    def close(self) -> None:
        """Flush standard output, which stays open."""
        sys.stdout.flush()


class LinesFileSink:
    """Sink that appends rows to a file, one JSON object a line."""

    def __init__(self, path: Path, length: int | None = None) -> None:
        self.path, self.byte_count = path, length or 0
        with _report_errors(path):
            mode = "ab" if is_device(path) else "wb" if length is None else "r+b"
            self.file: IO[bytes] = open(path, mode, buffering=1 << 16)  # noqa: SIM115 - closed by close()
            if length is not None and not is_device(path):
                self._truncate(length)

    def _truncate(self, length: int) -> None:
        """Truncate the file to the ``length`` in bytes that the checkpoint has. Raises:
        OperationalError if it is shorter.
        """
        has = os.fstat(self.file.fileno()).st_size
        if has < length:
            raise OperationalError(
                f"{self.path} has {has:,} bytes, but {length:,} when the checkpoint was made",
                "Put the file back, or start with another checkpoint directory.",
            )
        self.file.truncate(length)
        self.file.seek(length)

    def write(self, rows: Sequence[str]) -> None:
        """Append ``rows`` to the file. Raises: OperationalError."""
        data = "".join(row + "\n" for row in rows).encode("utf-8", "backslashreplace")
        with _report_errors(self.path):
            self.file.write(data)
        self.byte_count += len(data)

    def make_readable(self) -> None:
        """Flush rows to the file so that other programs can read them; they are not durable yet.
        Raises: OperationalError.
        """
        with _report_errors(self.path):
            self.file.flush()

    def flush(self) -> int:
        """Make all rows durable and return the file's length in bytes. Raises: OperationalError."""
        self.make_readable()
        with _report_errors(self.path):
            if not is_device(self.path):
                os.fsync(self.file.fileno())
        return self.byte_count

    def close(self) -> None:
        """Close the file. Raises: OperationalError."""
        with _report_errors(self.path):
            self.file.close()


def serialise_row(row: Any) -> str:
    """Serialise a row as JSON on one line."""
    return json.dumps(row, ensure_ascii=False, separators=(", ", ": "))
