"""Read a batch on Spark: text files by Spark's reader, table files by ranges of rows, DataFrames by
partition.

Tasks parse; the driver joins the parts (`shiq.rdf.source_ranges`). The result is as with any
engine:
assertions, ledger, leftovers and places.
"""

from __future__ import annotations

import io
import pickle
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial, reduce
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from shiq.errors import InputError
from shiq.inputs.formats import Format
from shiq.inputs.sources import FileSource, TableKind, TableSource, classify_input
from shiq.jobs.building.worker import skip_repeated_imports
from shiq.jobs.spark.session import is_connect, task_count
from shiq.rdf.lines import read_lines
from shiq.rdf.source_ranges import (
    ParsedRange,
    Range,
    TransferredRange,
    byte_ranges,
    can_be_cut,
    pack_range,
    table_ranges,
)
from shiq.rdf.tables import check_columns, read_rows
from shiq.rdf.terms import COLUMNS, arrow_values
from shiq.remote.place import is_address
from shiq.rml.tables import RowBlock, TableMapping, read_blocks, referenced_columns

#: Bytes of lines that make one part.
PART_BYTES = 16 << 20
#: Rows of a table that make one part.
PART_ROWS = 1 << 17
#: A part by the number of its source, where in that it begins, and which one it is of those that
#: begin there.
DDL = "source bigint, at bigint, number bigint, bytes bigint, body binary"
_SCHEMA = pa.schema(
    [*((name, pa.int64()) for name in ("source", "at", "number", "bytes")), ("body", pa.binary())]
)
#: Lines of fewer bytes are one partition.
LEAST_BYTES = 1 << 20
#: Characters that Hadoop takes for a pattern, or for the end of a scheme, and how names begin that
#: Spark passes over.
_PATTERN, _HIDDEN = re.compile(r"[{}\[\]*?\\:]"), ("_", ".")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8, which Spark's reader drops

Batches: TypeAlias = Iterator[pa.RecordBatch]


@dataclass
class SparkReading:
    """Sources of a batch, which Spark tasks parse in parts.

    All are parsed when the first one is asked for. ``tag_stage`` is the context of the jobs.
    """

    spark: SparkSession
    tag_stage: Callable[[str], AbstractContextManager[None]]
    _frames: list[DataFrame] = field(default_factory=list)
    _lines: dict[str, tuple[int, str, bool]] = field(default_factory=dict)
    _bytes: dict[int, tuple[str, int]] = field(default_factory=dict)
    _ranges: list[tuple[int, int, Range]] = field(default_factory=list)
    _parts: dict[int, list[tuple[int, int, bytes]]] | None = None

    def with_spark_readers(self, given: Sequence[object]) -> list[object]:
        """Replace the sources ``given`` by ones that Spark reads, where that is possible. Raises:
        InputError.
        """
        return [self._with_spark_reader(value, number) for number, value in enumerate(given)]

    def _with_spark_reader(self, value: object, number: int) -> object:
        """Convert source ``value`` with index ``number`` to one whose parts Spark parses; unchanged
        if Spark cannot read it.
        """
        known = classify_input(value)
        parts = partial(self.parts, number)
        if (
            isinstance(known, TableSource)
            and known.kind is TableKind.SPARK
            and known.is_read_row_by_row
        ):
            mapping = known.mapping and known.mapping.drop_tables()
            task = partial(read_frame, number=number, source=known.name, mapping=mapping)
            self._frames.append(_triple_input_columns(known).mapInArrow(task, DDL))
            return replace(known, parts=parts)
        if not can_be_cut(known) or not self._is_shared(known):
            return value
        if isinstance(known, TableSource):
            ranges, _ = table_ranges(known, "", PART_ROWS)
            self._ranges += ((number, i, part) for i, part in enumerate(ranges))
            return replace(known, parts=parts)
        assert isinstance(known, FileSource)
        path = str(known.path.absolute())
        if is_read_by_spark(known) and path not in self._lines:
            self._lines[path] = number, known.name, known.format is Format.NQUADS
            self._bytes[number] = known.name, _bytes_expected(known.path)
        else:
            self._ranges += (
                (number, i, part) for i, part in enumerate(byte_ranges(known, "", PART_BYTES))
            )
        return replace(known, parts=parts)

    def _is_shared(self, source: object) -> bool:
        """Do executors see the file ``source``? Temporary files of this machine are not shared."""
        if not isinstance(source, FileSource) or is_connect(self.spark):
            return True
        is_here = str(self.spark.sparkContext.master).startswith("local")
        return (
            is_here
            or Path(tempfile.gettempdir()) not in source.path.absolute().parents
            or is_address(source.name)
        )

    # --- on the driver ----------------------------------------------------------------------------

    def parts(self, number: int) -> Iterator[TransferredRange]:
        """Iterate over the parsed parts of the source with index ``number``, in order; only once."""
        if self._parts is None:
            with self.tag_stage("reading the batch"):
                self._parts = self._parse_all()
        for _, _, body in sorted(self._parts.pop(number, ())):
            yield decode_part(body)

    def _parse_all(self) -> dict[int, list[tuple[int, int, bytes]]]:
        """Parse all sources on Spark. Returns the parts (position, number, encoded part) by index
        of the source. Raises: InputError if a column is missing.
        """
        frames = [*self._frames_of_lines(), *self._frames_of_ranges(), *self._frames]
        if not frames:
            return {}  # All files are empty.
        whole = reduce(DataFrame.unionAll, frames)
        found: dict[int, list[tuple[int, int, bytes]]] = defaultdict(list)
        seen: dict[int, int] = defaultdict(int)
        with self._stream_rows(whole) as rows:
            for row in rows:
                found[row.source].append((row.at, row.number, bytes(row.body)))
                seen[row.source] += row.bytes
        for number, (name, size) in self._bytes.items():
            if seen[number] != size:
                raise InputError(
                    f"{name}: executors see {seen[number]:,} bytes of its lines, the driver {size:,}",
                    "Put it where driver and executors share files, and do not write to it meanwhile.",
                )
        asked = {(number, at) for number, at, _ in self._ranges}
        told = {(number, at) for number, some in found.items() for at, _, _ in some}
        assert asked <= told, "each range tells"
        return found

    def _frames_of_lines(self) -> list[DataFrame]:
        """DataFrames of the parts of text files that Spark's own reader reads."""
        if not self._lines:
            return []
        reader = (
            self.spark.read.option("lineSep", "\n")
            .option("ignoreCorruptFiles", "false")
            .option("ignoreMissingFiles", "false")
        )
        lines = reader.text([f"file://{path}" for path in self._lines])
        columns = "value", "_metadata.file_path", "_metadata.file_block_start"
        return [lines.select(*columns).mapInArrow(partial(_parse_lines, self._lines), DDL)]

    def _frames_of_ranges(self) -> list[DataFrame]:
        """DataFrames of the parts of files that are cut into ranges of bytes or rows."""
        count = len(self._ranges)
        if not count:
            return []
        rows = self.spark.range(0, count, 1, min(count, max(task_count(self.spark), count // 8)))
        return [rows.mapInArrow(partial(_parse_ranges, self._ranges), DDL)]

    @contextmanager
    def _stream_rows(self, frame: DataFrame) -> Iterator[Iterator[Row]]:
        """Context manager: an iterator over the rows of ``frame``, fetched one partition at a time.

        With several partitions all tasks have run by then.
        """
        size = sum(size for _, size in self._bytes.values())
        if not self._frames and not self._ranges and size < LEAST_BYTES:
            yield frame.toLocalIterator()
            return
        frame = frame.persist()
        try:
            frame.select("source").toArrow()
            yield frame.toLocalIterator(prefetchPartitions=True)
        finally:
            frame.unpersist()


def triple_columns(source: TableSource) -> DataFrame:
    """Select the columns `COLUMNS` (s, p, o, graph) of a DataFrame, as texts. Raises: InputError."""
    frame: DataFrame = source.value
    check_columns(source.name, frame.columns)
    return frame.select(
        *(
            (F.col(c) if c in frame.columns else F.lit(None)).cast("string").alias(c)
            for c in COLUMNS
        )
    )


def _triple_input_columns(source: TableSource) -> DataFrame:
    """Select the columns of a DataFrame from which its triples are made. Raises: InputError."""
    if source.mapping is None:
        return triple_columns(source)
    wanted = referenced_columns(source.mapping.maps)
    frame: DataFrame = source.value
    check_columns(source.name, frame.columns, wanted=wanted)
    return frame.select(*(frame[f"`{column}`"] for column in wanted))


def is_read_by_spark(source: FileSource) -> bool:
    """Decide whether Spark's text reader would read all lines of ``source``.

    It skips hidden names, takes some names for patterns, and unpacks without the limits of shiq.
    """
    path = source.path.absolute()
    is_plain = not _PATTERN.search(str(path)) and not path.name.startswith(_HIDDEN)
    return (
        is_plain
        and not source.is_compressed
        and not is_address(source.name)
        and path.stat().st_size > len(_BYTE_ORDER_MARK)
    )


def _bytes_expected(path: Path) -> int:
    """Number of bytes that Spark should read from a file: its lines with line ends, without the
    byte order mark.
    """
    with path.open("rb") as file:
        marked = file.read(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK
        size = file.seek(-1, io.SEEK_END) + 1
        return size + (file.read(1) != b"\n") - marked * len(_BYTE_ORDER_MARK)


# --- in tasks -------------------------------------------------------------------------------------


def _parse_lines(files: Mapping[str, tuple[int, str, bool]], batches: Batches) -> Batches:
    """Spark task: parse the lines of text files. Yields parts with the file and block that Spark
    read them from.
    """
    skip_repeated_imports()
    block: tuple[str, int] | None = None
    texts: list[bytes] = []
    number = lines = size = 0

    def parse_texts() -> pa.RecordBatch:
        assert block is not None
        source, name, quads = files[unquote(urlsplit(block[0]).path)]
        found = ParsedRange.empty(name)
        try:
            read_lines(
                io.BytesIO(b"\n".join(texts)),
                found.triples,
                "",
                found.rejects,
                quads=quads,
                part=True,
            )
            part = pack_range(replace(found, lines=lines))
        except InputError as error:
            part = TransferredRange(error=(error.message, error.remedy))
        return encode_part_row(source, block[1], number, part, size)

    for batch in batches:
        for path, at, values in _rows_by_block(batch):
            if (path, at) != block or size >= PART_BYTES:
                if texts:
                    yield parse_texts()
                number = number + 1 if (path, at) == block else 0
                block, texts, lines, size = (path, at), [], 0, 0
            texts.append(_join_lines(values))
            lines += len(values)
            size += len(texts[-1]) + 1
    if texts:
        yield parse_texts()


def _rows_by_block(batch: pa.RecordBatch) -> Iterator[tuple[str, int, pa.Array]]:
    """Split the rows of ``batch`` by file and block."""
    if not batch.num_rows:
        return
    paths, starts = batch.column(1).dictionary_encode(), batch.column(2).to_numpy()
    names = paths.indices.to_numpy()
    ends = [
        *(np.flatnonzero((names[1:] != names[:-1]) | (starts[1:] != starts[:-1])) + 1).tolist(),
        batch.num_rows,
    ]
    for begin, end in zip([0, *ends], ends):
        yield (
            paths.dictionary[int(names[begin])].as_py(),
            int(starts[begin]),
            batch.column(0).slice(begin, end - begin),
        )


def _join_lines(lines: pa.Array) -> bytes:
    """Join ``lines``, which need not be UTF-8, with newlines."""
    texts = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines.cast(pa.binary()))
    return pc.binary_join(texts, b"\n")[0].as_py()


def _parse_ranges(ranges: Sequence[tuple[int, int, Range]], batches: Batches) -> Batches:
    """Spark task: parse ranges of files. A row of ``batches`` has the index of a range in
    ``ranges``.
    """
    skip_repeated_imports()
    for batch in batches:
        for i in batch.column(0).to_pylist():
            source, at, asked = ranges[i]
            try:
                part = pack_range(asked.parse())
            except InputError as error:
                part = TransferredRange(error=(error.message, error.remedy))
            yield encode_part_row(source, at, 0, part)


def read_frame(
    batches: Batches, number: int, source: str, mapping: TableMapping | None = None
) -> Batches:
    """Spark task: parse the rows of a DataFrame, by the columns `COLUMNS` or by an RML ``mapping``
    without joins. Yields parts of source ``number``.

    Rows have no line numbers.
    """
    skip_repeated_imports()
    context = TaskContext.get()
    at = 0 if context is None else context.partitionId()
    found, i = ParsedRange.empty(source), 0
    for batch in batches:
        rows = [arrow_values(values) for values in batch.columns]
        if mapping is None:
            read_rows(rows, 0, found.triples, "", found.rejects)
        else:
            block = RowBlock(range(1, batch.num_rows + 1), dict(zip(batch.schema.names, rows)))
            read_blocks(source, mapping, [block], found.triples, "", found.rejects)
        if len(found.triples) + found.rejects.total >= PART_ROWS:
            yield encode_part_row(number, at, i, _drop_line_numbers(pack_range(found)))
            found, i = ParsedRange.empty(source), i + 1
    yield encode_part_row(number, at, i, _drop_line_numbers(pack_range(found)))


def _drop_line_numbers(part: TransferredRange) -> TransferredRange:
    """Remove line numbers from ``part``; rows of a DataFrame have none."""
    *terms, lines, graphs = part.columns
    rejected = [(message, 0, text, hint) for message, _, text, hint in part.rejected_lines]
    return replace(part, columns=(*terms, bytes(len(lines)), graphs), rejected_lines=rejected)


def encode_part_row(
    source: int, at: int, number: int, part: TransferredRange, size: int = 0
) -> pa.RecordBatch:
    """Encode a parsed part as a row of `DDL`. ``at``, ``number``: its position in the source;
    ``size``: bytes of its lines.
    """
    columns = [pa.array([value], pa.int64()) for value in (source, at, number, size)]
    return pa.RecordBatch.from_arrays(
        [*columns, pa.array([encode_part(part)], pa.binary())], schema=_SCHEMA
    )


def encode_part(part: TransferredRange) -> bytes:
    """Serialise a parsed part, for `decode_part`."""
    return pickle.dumps(
        [getattr(part, name.name) for name in fields(part)], pickle.HIGHEST_PROTOCOL
    )


def decode_part(body: bytes) -> TransferredRange:
    """Deserialise a part that a task of this run encoded."""
    return TransferredRange(*pickle.loads(body))
