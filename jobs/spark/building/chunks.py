"""From files and tables to chunks of assertions: each a range of a source (`shiq.rdf.ranges`), judged by the TBox's vocabulary in
one task.

A chunk is a few ten megabytes of whole lines. What speaks of other triples (OWL vocabulary among assertions) goes to the driver,
and the assertions on named classes and properties stay with the chunk, in numbers of its own. Packed files are unpacked first,
each by one task.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from jobs.spark.building.files import placed, run, save
from jobs.spark.building.left_out import keep
from jobs.store.schema import KIND_CLASS, KIND_DATA_PROPERTY, KIND_OBJECT_PROPERTY
from shiq.abox import ABox, abox_of
from shiq.abox_parts import without
from shiq.columns.arrays import Ints
from shiq.errors import InputError
from shiq.model import Assertion
from shiq.rdf.assemble import build_abox
from shiq.rdf.judging import Judging, RangeReport, judge, left_out, survey
from shiq.rdf.lines import LONGEST_LINE
from shiq.rdf.ranges import ByteRange, Range, byte_ranges, table_ranges
from shiq.rdf.triples import MOST_SHOWN
from shiq.sources import FileSource, TableSource
from shiq.verdict import Leftover

CHUNK_BYTES = 24 << 20
#: Bytes of a chunk that a row of a table counts for.
ROW_BYTES = 128
#: Terms that a chunk tells the driver of, to cut the order of all terms into parts.
SAMPLES = 200


@dataclass
class ChunkSummary:
    """What the driver is told of the assertions of a chunk: names by kind, how many terms and assertions, some of the terms;
    ``left_out``: the parts that there are of what became none."""

    names: dict[int, list[str]] = field(default_factory=dict)
    terms: int = 0
    assertions: int = 0
    samples: list[str] = field(default_factory=list)
    left_out: tuple[str, ...] = ()


# --- cutting --------------------------------------------------------------------------------------


def cut(
    session: SparkSession, sources: Sequence[tuple[FileSource | TableSource, str]], scratch: Path, size: int = CHUNK_BYTES
) -> tuple[list[Range], dict[str, tuple[Leftover, ...]]]:
    """The ranges of ``sources`` (each with the scope of its blank nodes), about ``size`` bytes each; by scope, the leftovers for
    files of tables that are not read.

    Raises: InputError for an archive that is broken, and for a table without s, p and o.
    """
    packed = [(source, scope) for source, scope in sources if isinstance(source, FileSource) and source.compressed]
    tasks = [(range_, str(scratch)) for source, scope in packed for range_ in byte_ranges(source, scope, size)]
    unpacked = {scope: found for (_, scope), found in zip(packed, run(session, partial(_unpack, size=size), tasks, "unpacking"))}
    ranges: list[Range] = []
    passed_over: dict[str, tuple[Leftover, ...]] = {}
    for source, scope in sources:
        if scope in unpacked:
            found, error = unpacked[scope]
            if error is not None:
                raise InputError(*error)
            ranges += found
        elif isinstance(source, TableSource):
            tables, passed_over[scope] = table_ranges(source, scope, max(1, size // ROW_BYTES))
            ranges += tables
        else:
            ranges += byte_ranges(source, scope, size)
    return ranges, passed_over


def _unpack(task: tuple[ByteRange, str], *, size: int) -> tuple[list[ByteRange], tuple[str, str] | None]:
    """Writes an archive as plain pieces of whole lines; or what is wrong with it."""
    packed, scratch = task
    found: list[ByteRange] = []
    try:
        with packed.open() as stream:
            while data := _lines(stream, size, packed.source):
                path = Path(scratch) / "unpacked" / f"{packed.scope}-{len(found)}.nt"
                with placed(path) as temporary:
                    temporary.write_bytes(data)
                whole = replace(packed, path=str(path), end=len(data), size=len(data), packing=None, marked=False)
                found.append(whole)
    except InputError as error:
        return [], (error.message, error.remedy)
    return found, None


def _lines(stream: BinaryIO, size: int, name: str) -> bytes:
    data = stream.read(size)
    if len(data) == size and not data.endswith(b"\n"):
        rest = stream.readline(LONGEST_LINE + 1)
        if len(rest) > LONGEST_LINE:
            raise InputError(f"{name} has a line of over {LONGEST_LINE >> 20} MB", "Is it N-Triples? One line is one triple.")
        data += rest
    return data


# --- judging --------------------------------------------------------------------------------------


def read_chunk(
    chunk: tuple[int, Range], judging: Judging, root: str, gone: Collection[Assertion] = ()
) -> tuple[RangeReport, ChunkSummary]:
    """Reads a range, leaves its assertions below ``root`` but for those that are ``gone``, and what is left out, and tells what
    the driver has to know of it."""
    number, part = chunk
    report = RangeReport(part.source, part.scope, number)
    try:
        parsed = part.parse()
    except InputError as error:
        report.error = error.message, error.remedy
        return report, ChunkSummary()
    survey(parsed, judging, report)
    bulk = judge(parsed, judging, report, most_aside=MOST_SHOWN)
    abox = build_abox(parsed.triples, bulk.classes, bulk.roles, bulk.data, ())
    folder = folder_of(Path(root), number)
    return report, replace(leave(less(abox, gone), folder), left_out=keep(left_out(parsed, bulk), folder))


def less(abox: ABox, gone: Collection[Assertion]) -> ABox:
    """``abox`` without those of its assertions that are ``gone``, and without what they alone mention."""
    found = without(abox, gone) if gone else abox
    return found if len(found) == len(abox) else abox_of(found)


# --- what a chunk leaves --------------------------------------------------------------------------


def folder_of(root: Path, chunk: int) -> Path:
    return root / str(chunk)


def leave(abox: ABox, folder: Path) -> ChunkSummary:
    """Writes the plain assertions of ``abox`` in numbers of its own: its terms sorted, its literals, its rows."""
    terms = pa.array(abox.individuals, pa.large_string())
    order = pc.sort_indices(terms)
    ordered = terms.take(order)
    save(folder / "terms", {"term": ordered, "local": order.cast(pa.int32())})
    texts = {name: [getattr(x, name) for x in abox.literals] for name in ("lexical", "datatype", "language")}
    save(folder / "literals", {name: pa.array(values, pa.large_string()) for name, values in texts.items()})
    save(folder / "classes", {"subject": _ints(abox.class_subject), "class": _ints(abox.class_name)})
    save(
        folder / "roles",
        {"subject": _ints(abox.role_subject), "role": _ints(abox.role_name), "object": _ints(abox.role_object)},
    )
    save(
        folder / "data",
        {"subject": _ints(abox.data_subject), "property": _ints(abox.data_name), "literal": _ints(abox.data_literal)},
    )
    names = {
        KIND_CLASS: abox.classes,
        KIND_OBJECT_PROPERTY: abox.object_properties,
        KIND_DATA_PROPERTY: abox.data_properties,
    }
    step = max(1, len(ordered) // SAMPLES)
    samples = ordered.take(pa.array(np.arange(step // 2, len(ordered), step))).to_pylist()
    return ChunkSummary(names, len(abox.individuals), len(abox), samples)


def _ints(values: array[int]) -> Ints:
    return np.asarray(values, np.int64)
