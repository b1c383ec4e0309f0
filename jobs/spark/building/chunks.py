"""From files and tables to chunks of assertions: each a range of a source (`shiq.rdf.ranges`),
judged by the TBox's vocabulary in one task.

A chunk is a few ten megabytes of whole lines. What speaks of other triples (OWL vocabulary among
assertions) goes to the driver, and the assertions on named classes and properties stay with the
chunk, in numbers of its own. Packed files are unpacked first, each by one task.
"""

from __future__ import annotations

import uuid
from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import BinaryIO

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from jobs.spark.building.files import Scratch, run, save
from jobs.spark.building.left_out import keep
from jobs.spark.reading import triples_of
from jobs.store.schema import KIND_CLASS, KIND_DATA_PROPERTY, KIND_OBJECT_PROPERTY
from shiq.abox import ABox, abox_of
from shiq.abox_parts import without
from shiq.columns.arrays import Ints
from shiq.errors import InputError
from shiq.model import Assertion
from shiq.rdf.assemble import build_abox
from shiq.rdf.judging import Judging, RangeReport, judge, left_out, survey
from shiq.rdf.lines import LONGEST_LINE
from shiq.rdf.ranges import ByteRange, Range, TableRange, byte_ranges, table_ranges
from shiq.rdf.tables import TableFile
from shiq.rdf.triples import MOST_SHOWN
from shiq.sources import FileSource, TableKind, TableSource
from shiq.verdict import Leftover

CHUNK_BYTES = 24 << 20
#: Bytes of a chunk that a row of a table counts for.
ROW_BYTES = 128
#: Rows of a table of Spark's that make a piece.
PIECE_ROWS = CHUNK_BYTES // ROW_BYTES
#: Terms that a chunk tells the driver of, to cut the order of all terms into parts.
SAMPLES = 200


@dataclass
class ChunkSummary:
    """What the driver is told of the assertions of a chunk: names by kind, how many terms, some
    of the terms; ``left_out``: the parts that there are of what became none.
    """

    names: dict[int, list[str]] = field(default_factory=dict)
    terms: int = 0
    samples: list[str] = field(default_factory=list)
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class RangeFile:
    """A range of a source that a task wrote as a file of its own."""

    range: Range
    file: Scratch

    def here(self) -> Range:
        """The range, of the file as this machine sees it."""
        path = str(self.file.path())
        if isinstance(self.range, ByteRange):
            return replace(self.range, path=path)
        return replace(self.range, groups=((TableFile(path), 0),))


# --- cutting --------------------------------------------------------------------------------------


def cut(
    session: SparkSession,
    sources: Sequence[tuple[FileSource | TableSource, str]],
    scratch: Scratch,
    size: int = CHUNK_BYTES,
) -> tuple[list[Range | RangeFile], dict[str, tuple[Leftover, ...]]]:
    """The ranges of ``sources`` (each with the scope of its blank nodes), about ``size`` bytes
    each; by scope, the leftovers for files of tables that are not read.

    Raises: InputError for an archive that is broken, and for a table without s, p and o.
    """
    packed = [
        (source, scope)
        for source, scope in sources
        if isinstance(source, FileSource) and source.compressed
    ]
    tasks = [
        (range_, scratch / "unpacked")
        for source, scope in packed
        for range_ in byte_ranges(source, scope, size)
    ]
    unpacked = {
        scope: found
        for (_, scope), found in zip(
            packed, run(session, partial(_unpack, size=size), tasks, "unpacking")
        )
    }
    ranges: list[Range | RangeFile] = []
    passed_over: dict[str, tuple[Leftover, ...]] = {}
    for source, scope in sources:
        if scope in unpacked:
            found, error = unpacked[scope]
            if error is not None:
                raise InputError(*error)
            ranges += found
        elif isinstance(source, TableSource) and source.kind is TableKind.SPARK:
            ranges += as_pieces(source, scope, scratch / "tables")
        elif isinstance(source, TableSource):
            tables, passed_over[scope] = table_ranges(source, scope, max(1, size // ROW_BYTES))
            ranges += tables
        else:
            ranges += byte_ranges(source, scope, size)
    return ranges, passed_over


def _unpack(
    task: tuple[ByteRange, Scratch], *, size: int
) -> tuple[list[RangeFile], tuple[str, str] | None]:
    """Writes an archive as plain pieces of whole lines; or what is wrong with it."""
    packed, scratch = task
    found: list[RangeFile] = []
    try:
        with packed.open() as stream:
            while data := _lines(stream, size, packed.source):
                at = scratch / f"{packed.scope}-{len(found)}.nt"
                with at.placed() as temporary:
                    temporary.write_bytes(data)
                found.append(
                    RangeFile(
                        replace(packed, end=len(data), size=len(data), packing=None, marked=False),
                        at,
                    )
                )
    except InputError as error:
        return [], (error.message, error.remedy)
    return found, None


def as_pieces(source: TableSource, scope: str, scratch: Scratch) -> list[RangeFile]:
    """A table of Spark's, cut: the driver does not hold it, and each row is read once from the
    table.
    """
    frame = triples_of(source).mapInArrow(partial(_write_rows, scratch=scratch), "name string")
    whole = TableRange(source.name, scope, ())
    return [RangeFile(whole, scratch / row["name"]) for row in frame.collect()]


def _write_rows(batches: Iterator[pa.RecordBatch], *, scratch: Scratch) -> Iterator[pa.RecordBatch]:
    """Writes rows as pieces; their names, which no other run of the task has."""
    rows: list[pa.RecordBatch] = []
    for batch in chain(batches, [None]):
        if rows and (batch is None or sum(map(len, rows)) + len(batch) > PIECE_ROWS):
            name = f"{uuid.uuid4().hex}.parquet"
            table = pa.Table.from_batches(rows)
            with (scratch / name).placed() as temporary:
                pq.write_table(
                    table,
                    temporary,
                    row_group_size=len(table),
                    compression="zstd",
                    compression_level=1,
                )
            yield pa.record_batch([pa.array([name])], names=["name"])
            rows = []
        if batch is not None and len(batch):
            rows.append(batch)


def _lines(stream: BinaryIO, size: int, name: str) -> bytes:
    data = stream.read(size)
    if len(data) == size and not data.endswith(b"\n"):
        rest = stream.readline(LONGEST_LINE + 1)
        if len(rest) > LONGEST_LINE:
            raise InputError(
                f"{name} has a line of over {LONGEST_LINE >> 20} MB",
                "Is it N-Triples? One line is one triple.",
            )
        data += rest
    return data


# --- judging --------------------------------------------------------------------------------------


def read_chunk(
    chunk: tuple[int, Range | RangeFile],
    judging: Judging,
    root: Scratch,
    gone: Collection[Assertion] = (),
) -> tuple[RangeReport, ChunkSummary]:
    """Reads a range, leaves its assertions below ``root`` but for those that are ``gone``, and
    what is left out, and tells what the driver has to know of it.
    """
    number, cut_ = chunk
    part = cut_.here() if isinstance(cut_, RangeFile) else cut_
    report = RangeReport(part.source, part.scope, number)
    try:
        parsed = part.parse()
    except InputError as error:
        report.error = error.message, error.remedy
        return report, ChunkSummary()
    survey(parsed, judging, report)
    bulk = judge(parsed, judging, report, most_aside=MOST_SHOWN)
    abox = build_abox(parsed.triples, bulk.classes, bulk.roles, bulk.data, ())
    folder = folder_of(root, number)
    return report, replace(
        leave(less(abox, gone), folder), left_out=keep(left_out(parsed, bulk), folder)
    )


def less(abox: ABox, gone: Collection[Assertion]) -> ABox:
    """``abox`` without those of its assertions that are ``gone``, and without what they alone
    mention.
    """
    found = without(abox, gone) if gone else abox
    return found if len(found) == len(abox) else abox_of(found)


# --- what a chunk leaves --------------------------------------------------------------------------


def folder_of(root: Scratch, chunk: int) -> Scratch:
    return root / chunk


def leave(abox: ABox, folder: Scratch) -> ChunkSummary:
    """Writes the plain assertions of ``abox`` in numbers of its own: its terms sorted, its
    literals, its rows.
    """
    terms = pa.array(abox.individuals, pa.large_string())
    order = pc.sort_indices(terms)
    ordered = terms.take(order)
    save(folder / "terms", {"term": ordered, "local": order.cast(pa.int32())})
    texts = {
        name: [getattr(x, name) for x in abox.literals]
        for name in ("lexical", "datatype", "language")
    }
    save(
        folder / "literals",
        {name: pa.array(values, pa.large_string()) for name, values in texts.items()},
    )
    save(
        folder / "classes", {"subject": _ints(abox.class_subject), "class": _ints(abox.class_name)}
    )
    save(
        folder / "roles",
        {
            "subject": _ints(abox.role_subject),
            "role": _ints(abox.role_name),
            "object": _ints(abox.role_object),
        },
    )
    save(
        folder / "data",
        {
            "subject": _ints(abox.data_subject),
            "property": _ints(abox.data_name),
            "literal": _ints(abox.data_literal),
        },
    )
    names = {
        KIND_CLASS: abox.classes,
        KIND_OBJECT_PROPERTY: abox.object_properties,
        KIND_DATA_PROPERTY: abox.data_properties,
    }
    step = max(1, len(ordered) // SAMPLES)
    samples = ordered.take(pa.array(np.arange(step // 2, len(ordered), step))).to_pylist()
    return ChunkSummary(names, len(abox.individuals), samples)


def _ints(values: array[int]) -> Ints:
    return np.asarray(values, np.int64)
