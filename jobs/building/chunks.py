"""Read files and tables as chunks: the assertions of one range of a source
(`shiq.rdf.source_ranges`), with individuals numbered within the chunk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import BinaryIO

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from shiq.answers.verdict import Leftover
from shiq.columns.rows import remove_assertions
from shiq.errors import InputError
from shiq.inputs.reading import decode_leftover, encode_leftover
from shiq.inputs.sources import FileSource, TableSource
from shiq.jobs.building.exchange import Executor, RangeFile, Scratch, save_columns
from shiq.jobs.store.schema import KIND_CLASS, KIND_DATA_PROPERTY, KIND_OBJECT_PROPERTY
from shiq.model import Assertion
from shiq.model.abox import ABox, abox_of
from shiq.rdf.abox_assembly import build_abox
from shiq.rdf.lines import LONGEST_LINE
from shiq.rdf.range_reports import (
    LEFT_OUT,
    RangeReport,
    VocabularyContext,
    interpret_range,
    leftover_records,
    scan_range,
    shift_lines,
)
from shiq.rdf.source_ranges import ByteRange, Range, byte_ranges, table_ranges
from shiq.rdf.triples import MOST_SHOWN

# What the chunks of a build leave out, each line and triple as it stands, in files that the
# tasks write: however many.


def write_left_out(parts: Sequence[Iterator[Leftover]], folder: Scratch) -> tuple[str, ...]:
    """Write the leftovers of a chunk to files below ``folder``, one file for each of the three
    kinds in `LEFT_OUT` (lines, triples, ill-typed).

    parts: leftovers, in the order of `LEFT_OUT`. Returns the names of the parts that have some.
    """
    kept = []
    for name, leftovers in zip(LEFT_OUT, parts):
        if (first := next(leftovers, None)) is not None:
            with _left_out_file(folder, name).stage() as temporary, temporary.open("wb") as file:
                file.writelines(map(encode_leftover, chain([first], leftovers)))
            kept.append(name)
    return tuple(kept)


@dataclass(frozen=True)
class LeftOutFiles:
    """Leftovers of one kind (a member of `LEFT_OUT`) of all chunks, read from their files; may be
    iterated several times.

    chunks: folder of each chunk that has such lines, in order, and the lines of its source before
        it
    """

    part: str
    chunks: Sequence[tuple[Scratch, int]]

    def __iter__(self) -> Iterator[Leftover]:
        for folder, before in self.chunks:
            with _left_out_file(folder, self.part).path().open("rb") as lines:
                for line in lines:
                    yield shift_lines(decode_leftover(line), before)


def _left_out_file(folder: Scratch, part: str) -> Scratch:
    """The file with the leftovers of kind ``part`` (a member of `LEFT_OUT`) of one chunk."""
    return folder / f"left-out-{part}"


CHUNK_BYTES = 24 << 20
#: Bytes of a chunk that a row of a table counts for.
ROW_BYTES = 128
#: Terms that a chunk tells the driver of, to cut the order of all terms into parts.
SAMPLED_TERMS = 200


@dataclass
class ChunkSummary:
    """Summary of a chunk for the driver: names by kind (class, object or data property), number of
    individuals, and a sample of individuals.
    """

    names: dict[int, list[str]] = field(default_factory=dict)
    terms: int = 0
    samples: list[str] = field(default_factory=list)
    left_out: tuple[str, ...] = ()


# --- cutting --------------------------------------------------------------------------------------


def cut_ranges(
    executor: Executor,
    sources: Sequence[tuple[FileSource | TableSource, str]],
    scratch: Scratch,
    size: int = CHUNK_BYTES,
) -> tuple[list[Range | RangeFile], dict[str, tuple[Leftover, ...]]]:
    """Cut ``sources`` (files and tables) into ranges of about ``size`` bytes, which tasks read as
    chunks.

    sources: each with the scope of its blank nodes. Returns the ranges; and by scope, the leftovers
    for files of tables that are not read. Raises: InputError for a broken archive, and for a table
    without s, p and o.
    """
    packed = [
        (source, scope)
        for source, scope in sources
        if isinstance(source, FileSource) and source.is_compressed
    ]
    tasks = [
        (range_, scratch / "unpacked")
        for source, scope in packed
        for range_ in byte_ranges(source, scope, size)
    ]
    unpacked = {
        scope: found
        for (_, scope), found in zip(
            packed, executor.run(partial(_unpack_archive, size=size), tasks, "unpacking")
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
        elif not isinstance(source, TableSource):
            ranges += byte_ranges(source, scope, size)
        elif (pieces := executor.cut_table(source, scope, scratch / "tables")) is not None:
            ranges += pieces
        else:
            tables, passed_over[scope] = table_ranges(source, scope, max(1, size // ROW_BYTES))
            ranges += tables
    return ranges, passed_over


def _unpack_archive(
    task: tuple[ByteRange, Scratch], *, size: int
) -> tuple[list[RangeFile], tuple[str, str] | None]:
    """Task: unpack an archive into plain files of complete lines. Returns these and None, or
    nothing and the (message, remedy) of the error.
    """
    packed, scratch = task
    found: list[RangeFile] = []
    try:
        with packed.open() as stream:
            while data := _read_lines(stream, size, packed.source):
                at = scratch / f"{packed.scope}-{len(found)}.nt"
                with at.stage() as temporary:
                    temporary.write_bytes(data)
                found.append(
                    RangeFile(
                        replace(
                            packed, end=len(data), size=len(data), packing=None, may_have_bom=False
                        ),
                        at,
                    )
                )
    except InputError as error:
        return [], (error.message, error.remedy)
    return found, None


def _read_lines(stream: BinaryIO, size: int, name: str) -> bytes:
    """Read about ``size`` bytes, up to the end of a line. Raises: InputError for an overlong line."""
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
    context: VocabularyContext,
    root: Scratch,
    excluded: Collection[Assertion] = (),
) -> tuple[RangeReport, ChunkSummary]:
    """Task: read one range of a source into a chunk on disk: its assertions, less the ``excluded``
    ones, and its leftovers.

    Returns the report of the range and a summary for the driver.
    """
    number, cut_ = chunk
    part = cut_.local_range() if isinstance(cut_, RangeFile) else cut_
    report = RangeReport(part.source, part.scope, number)
    try:
        parsed = part.parse()
    except InputError as error:
        report.error = error.message, error.remedy
        return report, ChunkSummary()
    scan_range(parsed, context, report)
    bulk = interpret_range(parsed, context, report, most_aside=MOST_SHOWN)
    abox = build_abox(parsed.triples, bulk.classes, bulk.roles, bulk.data, ())
    folder = root / number
    return report, replace(
        write_chunk(exclude_assertions(abox, excluded), folder),
        left_out=write_left_out(leftover_records(parsed, bulk), folder),
    )


def exclude_assertions(abox: ABox, excluded: Collection[Assertion]) -> ABox:
    """Remove the assertions ``excluded`` from ``abox``, and the individuals that only these mention."""
    found = remove_assertions(abox, excluded) if excluded else abox
    return found if len(found) == len(abox) else abox_of(found)


# --- what a chunk leaves --------------------------------------------------------------------------


def write_chunk(abox: ABox, folder: Scratch) -> ChunkSummary:
    """Write the class, role and data assertions of ``abox``, numbered within the chunk. Returns a
    summary.

    Terms are sorted; the files have its terms, its literals and its rows.
    """
    terms = pa.array(abox.individuals, pa.large_string())
    order = pc.sort_indices(terms)
    ordered = terms.take(order)
    save_columns(folder / "terms", {"term": ordered, "local": order.cast(pa.int32())})
    texts = {
        name: [getattr(x, name) for x in abox.literals]
        for name in ("lexical", "datatype", "language")
    }
    save_columns(
        folder / "literals",
        {name: pa.array(values, pa.large_string()) for name, values in texts.items()},
    )
    rows = {
        "classes": {"subject": abox.class_rows.subject, "class": abox.class_rows.name},
        "roles": {
            "subject": abox.role_rows.subject,
            "role": abox.role_rows.name,
            "object": abox.role_rows.object,
        },
        "data": {
            "subject": abox.data_rows.subject,
            "property": abox.data_rows.name,
            "literal": abox.data_rows.literal,
        },
    }
    for file, columns in rows.items():
        save_columns(folder / file, {n: np.asarray(x, np.int64) for n, x in columns.items()})
    names = {
        KIND_CLASS: abox.classes,
        KIND_OBJECT_PROPERTY: abox.object_properties,
        KIND_DATA_PROPERTY: abox.data_properties,
    }
    step = max(1, len(ordered) // SAMPLED_TERMS)
    samples = ordered.take(pa.array(np.arange(step // 2, len(ordered), step))).to_pylist()
    return ChunkSummary(names, len(abox.individuals), samples)
