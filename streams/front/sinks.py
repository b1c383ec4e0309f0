"""Where rows go: a file of JSON lines, stdout, a Parquet or Delta table, a Kafka topic.

A file can be cut back to a length that a checkpoint holds, so that a run that goes on writes
each row once. Tables and topics are written when the sink is flushed; what a checkpoint counts
of a table are its files, of a topic the rows that were sent.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from shiq.errors import NO_ROOM, OperationalError, UsageError
from shiq.files import is_device
from shiq.streams.front.kafka import KafkaSink, kafka_address


class Sink(Protocol):
    """Takes rows, each a JSON object as text."""

    def write(self, rows: Sequence[str]) -> None:
        """Takes ``rows``. Raises: OperationalError."""

    def flush(self) -> Any:
        """Makes all rows durable; gives what `open_sink` takes as ``length`` to go on from here,
        a JSON value.

        Raises: OperationalError.
        """

    def close(self) -> None: ...


def open_sink(target: str, length: Any = None) -> Sink:
    """The sink that ``target`` names: ``-`` stdout, ``kafka://HOST:PORT/TOPIC``, ``….parquet``,
    ``….delta``, else a file of JSON lines. ``length``: what was written up to a checkpoint; all
    behind it goes; None begins anew.

    Raises: OperationalError where it cannot be written, or is shorter than ``length``; UsageError.
    """
    if target == "-":
        return Stdout()
    if target.startswith("kafka://"):
        return KafkaSink(*kafka_address(target), length)
    if "://" in target:
        raise UsageError(
            f"{target}: no such sink",
            "Name a file, -, a .parquet or .delta table, or kafka://HOST:PORT/TOPIC.",
        )
    if target.endswith((".parquet", ".delta")):
        from shiq.streams.front.tables import DeltaSink, ParquetSink

        return (ParquetSink if target.endswith(".parquet") else DeltaSink)(Path(target), length)
    return LinesFile(Path(target), length)


class Stdout:
    """Standard output; each batch of rows is seen at once."""

    def __init__(self) -> None:
        self.row_count = 0

    def write(self, rows: Sequence[str]) -> None:
        for row in rows:
            sys.stdout.write(row + "\n")
        self.row_count += len(rows)
        sys.stdout.flush()

    def flush(self) -> int:
        sys.stdout.flush()
        return self.row_count

    def close(self) -> None:
        sys.stdout.flush()


class LinesFile:
    """A file of one JSON object a line."""

    def __init__(self, path: Path, length: int | None = None) -> None:
        self.path, self.byte_count = path, length or 0
        with _explain_write_errors(path):
            mode = "ab" if is_device(path) else "wb" if length is None else "r+b"
            self.file: IO[bytes] = open(path, mode, buffering=1 << 16)  # noqa: SIM115 - closed by close()
            if length is not None and not is_device(path):
                self._truncate(length)

    def _truncate(self, length: int) -> None:
        has = os.fstat(self.file.fileno()).st_size
        if has < length:
            raise OperationalError(
                f"{self.path} has {has:,} bytes, but {length:,} when the checkpoint was made",
                "Put the file back, or start with another checkpoint directory.",
            )
        self.file.truncate(length)
        self.file.seek(length)

    def write(self, rows: Sequence[str]) -> None:
        data = "".join(row + "\n" for row in rows).encode("utf-8", "backslashreplace")
        with _explain_write_errors(self.path):
            self.file.write(data)
        self.byte_count += len(data)

    def make_readable(self) -> None:
        """Makes all rows readable, not yet durable. Raises: OperationalError."""
        with _explain_write_errors(self.path):
            self.file.flush()

    def flush(self) -> int:
        self.make_readable()
        with _explain_write_errors(self.path):
            if not is_device(self.path):
                os.fsync(self.file.fileno())
        return self.byte_count

    def close(self) -> None:
        with _explain_write_errors(self.path):
            self.file.close()


@contextmanager
def _explain_write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = (
            "Make room, then start again: it goes on."
            if error.errno in NO_ROOM
            else "Name a file that may be written."
        )
        raise OperationalError(
            f"{path}: cannot be written ({error.strerror or error})", remedy
        ) from error


def row_text(row: Any) -> str:
    """A row as every sink takes it: JSON on one line."""
    return json.dumps(row, ensure_ascii=False, separators=(", ", ": "))
