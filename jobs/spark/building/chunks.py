"""From files of N-Triples to chunks of assertions: read, validated and judged by the TBox's vocabulary, in one task each.

A chunk is a few ten megabytes of whole lines. Its task does with it what `shiq.rdf` does with a file, by the same functions; what
speaks of other triples (OWL vocabulary among assertions) goes to the driver, and the assertions on named classes and properties
stay with the chunk, in numbers of its own. Packed files are unpacked first, each by one task.
"""

from __future__ import annotations

import io
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from jobs.spark.building.files import placed, run, save
from jobs.store.schema import KIND_CLASS, KIND_DATA_PROPERTY, KIND_OBJECT_PROPERTY
from shiq.abox import ABox, abox_of
from shiq.abox_parts import without
from shiq.columns.arrays import Ints
from shiq.errors import InputError
from shiq.formats import Format
from shiq.model import Assertion, Signature
from shiq.rdf.assemble import build_abox
from shiq.rdf.bulk import Bulk, column, graph_rows, individuals_of, resolve
from shiq.rdf.ill_typed import take_ill_typed
from shiq.rdf.lines import LONGEST_LINE, read_lines
from shiq.rdf.rejects import MOST_SHOWN, Rejects
from shiq.rdf.triples import Term, Triples
from shiq.rdf.vocabulary import BUILT_IN_DATA, BUILT_IN_OBJECT
from shiq.sources import FileSource
from shiq.verdict import Leftover

CHUNK_BYTES = 24 << 20
#: Terms that a chunk tells the driver of, to cut the order of all terms into parts.
SAMPLES = 200


@dataclass(frozen=True)
class Chunk:
    """Bytes ``start`` … ``end`` of a plain file, whole lines; ``line``: how many lines of the source come before them;
    ``quads``: N-Quads instead of N-Triples."""

    number: int
    source: str
    scope: str
    path: str
    start: int
    end: int
    line: int
    quads: bool = False


@dataclass(frozen=True)
class Judging:
    """By what a chunk is judged: the vocabulary; names of ontologies, and of axioms that are nodes (see `resolve`); the names
    that are asked for as individuals, and those of them that are."""

    known: Signature
    headers: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    typed: frozenset[str] = frozenset()


@dataclass
class Summary:
    """What the driver is told of a chunk. ``rare``: triples for the driver, with their lines; ``typed``: the asked names that
    are individuals here; ``error``: why the source cannot be used at all, and what to do."""

    rare: list[tuple[str, str, Term, int]] = field(default_factory=list)
    rejected: int = 0
    unsure: int = 0
    triples: int = 0
    rejects: list[Leftover] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    typed: set[str] = field(default_factory=set)
    names: dict[int, list[str]] = field(default_factory=dict)
    terms: int = 0
    assertions: int = 0
    samples: list[str] = field(default_factory=list)
    error: tuple[str, str] | None = None


# --- cutting --------------------------------------------------------------------------------------


def cut(session: SparkSession, sources: Sequence[tuple[FileSource, str]], scratch: Path, size: int = CHUNK_BYTES) -> list[Chunk]:
    """The chunks of ``sources`` (each with the scope of its blank nodes), about ``size`` bytes each.

    Raises: InputError for an archive that is broken.
    """
    packed = [i for i, (source, _) in enumerate(sources) if source.compressed]
    tasks = [(i, sources[i][0], str(scratch)) for i in packed]
    unpacked = dict(zip(packed, run(session, partial(_unpack, size=size), tasks, "unpacking")))
    pieces: list[tuple[int, str, int, int, int]] = []
    ranges: list[tuple[int, str, int, int]] = []
    for i, (source, _) in enumerate(sources):
        if source.compressed:
            found, error = unpacked[i]
            if error is not None:
                raise InputError(*error)
            pieces += [(i, path, 0, length, lines) for path, length, lines in found]
        else:
            length = source.path.stat().st_size
            ranges += [(i, str(source.path.absolute()), at, min(at + size, length)) for at in range(0, length, size)]
    pieces += [(i, path, *where) for (i, path, _, _), where in zip(ranges, run(session, _aligned, ranges, "cutting"))]
    chunks: list[Chunk] = []
    for i, (source, scope) in enumerate(sources):
        mine = [piece for piece in pieces if piece[0] == i and piece[3] > piece[2]]
        before = [0, *accumulate(piece[4] for piece in mine)]
        chunks += [
            Chunk(k, source.name, scope, path, start, end, line, source.format is Format.NQUADS)
            for k, ((_, path, start, end, _), line) in enumerate(zip(mine, before), len(chunks))
        ]
    return chunks


def _unpack(task: tuple[int, FileSource, str], *, size: int) -> tuple[list[tuple[str, int, int]], tuple[str, str] | None]:
    """Writes an archive as plain pieces of whole lines: path, bytes and lines of each; or what is wrong with it."""
    number, source, scratch = task
    found: list[tuple[str, int, int]] = []
    try:
        with source.open() as stream:
            while data := _lines(stream, size, source.name):
                path = Path(scratch) / "unpacked" / f"{number}-{len(found)}.nt"
                with placed(path) as temporary:
                    temporary.write_bytes(data)
                found.append((str(path), len(data), data.count(b"\n")))
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


def _aligned(task: tuple[int, str, int, int]) -> tuple[int, int, int]:
    """Start and end of the lines that begin within a range of bytes, and how many newlines they have."""
    _, path, low, high = task
    with open(path, "rb") as file:
        start, end = (_line_from(file, at) for at in (low, high))
        file.seek(start)
        lines, left = 0, end - start
        while left > 0 and (data := file.read(min(left, 1 << 20))):
            lines += data.count(b"\n")
            left -= len(data)
    return start, end, lines


def _line_from(file: BinaryIO, at: int) -> int:
    """Where the first line begins that begins at ``at`` or later."""
    if at == 0:
        return 0
    file.seek(at - 1)
    while (data := file.readline(1 << 20)) and not data.endswith(b"\n"):
        pass
    return file.tell()


# --- judging --------------------------------------------------------------------------------------


def judge(chunk: Chunk, judging: Judging, root: str, aside: bool = False, gone: Collection[Assertion] = ()) -> Summary:
    """Reads ``chunk``, leaves its assertions below ``root`` but for those that are ``gone``, and tells what the driver has to
    know of it. ``aside``: ill-typed data assertions are left out, and reported."""
    summary, triples = Summary(), Triples()
    triples.begin(chunk.source)
    rejects = Rejects(chunk.source)
    try:
        _read(chunk, triples, rejects)
    except InputError as error:
        summary.error = error.message, error.remedy
        return summary
    summary.rejected, summary.unsure, summary.triples = rejects.total, rejects.unsure, len(triples)
    summary.rejects = [_moved(leftover, chunk.line) for leftover in rejects.shown]
    triples.line = (
        array("I", (np.frombuffer(triples.line, np.uint32) + np.uint32(chunk.line)).tobytes()) if len(triples) else triples.line
    )
    summary.rare = list(_rare(triples))
    if judging.asked:
        summary.typed = individuals_of(triples) & judging.asked
    bulk = resolve(
        triples,
        judging.known,
        headers=judging.headers,
        nodes=judging.nodes,
        individuals=lambda: judging.typed,
        counted=len(triples),
    )
    summary.leftovers, summary.ledger = bulk.leftovers, bulk.ledger
    if aside:
        _set_aside(triples, bulk, summary)
    abox = build_abox(triples, bulk.classes, bulk.roles, bulk.data, ())
    leave(less(abox, gone), folder_of(Path(root), chunk.number), summary)
    return summary


def _set_aside(triples: Triples, bulk: Bulk, summary: Summary) -> None:
    """Takes out the data assertions whose literal denotes nothing. A few are reported one by one, the others counted."""
    rows = take_ill_typed(triples, bulk)
    summary.leftovers += [triples.leftover("ill-typed", "an ill-typed literal was set aside", row) for row in rows[:MOST_SHOWN]]
    if len(rows) > MOST_SHOWN:
        more = len(rows) - MOST_SHOWN
        summary.leftovers.append(Leftover("ill-typed", "more ill-typed literals were set aside", triples.names[0], count=more))


def _read(chunk: Chunk, triples: Triples, rejects: Rejects) -> None:
    with open(chunk.path, "rb") as file:
        file.seek(chunk.start)
        data = file.read(chunk.end - chunk.start)
    if chunk.line == 0 and chunk.start == 0:
        data = data.removeprefix(b"\xef\xbb\xbf")
    read_lines(io.BytesIO(data.removesuffix(b"\n")), triples, chunk.scope, rejects, quads=chunk.quads, part=True)


def _moved(leftover: Leftover, lines: int) -> Leftover:
    return Leftover(
        leftover.kind,
        leftover.message,
        leftover.source,
        leftover.line + lines,
        leftover.text,
        leftover.hint,
        leftover.count,
    )


def _rare(triples: Triples) -> Iterator[tuple[str, str, Term, int]]:
    """The triples that the driver reads together, in the order of their lines."""
    built_in = [i for name in BUILT_IN_OBJECT | BUILT_IN_DATA if (i := triples.ids.get(name)) is not None]
    rows = np.union1d(graph_rows(triples), np.flatnonzero(np.isin(column(triples.predicate), built_in)))
    terms = triples.terms
    for row in rows.tolist():
        subject, predicate = str(terms[triples.subject[row]]), str(terms[triples.predicate[row]])
        yield subject, predicate, terms[triples.object[row]], triples.line[row]


def less(abox: ABox, gone: Collection[Assertion]) -> ABox:
    """``abox`` without those of its assertions that are ``gone``, and without what they alone mention."""
    found = without(abox, gone) if gone else abox
    return found if len(found) == len(abox) else abox_of(found)


# --- what a chunk leaves --------------------------------------------------------------------------


def folder_of(root: Path, chunk: int) -> Path:
    return root / str(chunk)


def leave(abox: ABox, folder: Path, summary: Summary) -> None:
    """Writes the plain assertions of ``abox`` in numbers of its own: its terms sorted, its literals, its rows."""
    terms = pa.array(abox.individuals, pa.large_string())
    order = pc.sort_indices(terms)
    ordered = terms.take(order)
    save(folder / "terms", {"term": ordered, "local": order.cast(pa.int32())})
    literals = abox.literals
    save(
        folder / "literals",
        {
            "lexical": pa.array([x.lexical for x in literals], pa.large_string()),
            "datatype": pa.array([x.datatype for x in literals], pa.large_string()),
            "language": pa.array([x.language for x in literals], pa.large_string()),
        },
    )
    save(folder / "classes", {"subject": _ints(abox.class_subject), "class": _ints(abox.class_name)})
    save(
        folder / "roles",
        {"subject": _ints(abox.role_subject), "role": _ints(abox.role_name), "object": _ints(abox.role_object)},
    )
    save(
        folder / "data",
        {"subject": _ints(abox.data_subject), "property": _ints(abox.data_name), "literal": _ints(abox.data_literal)},
    )
    summary.names = {
        KIND_CLASS: abox.classes,
        KIND_OBJECT_PROPERTY: abox.object_properties,
        KIND_DATA_PROPERTY: abox.data_properties,
    }
    summary.terms = len(abox.individuals)
    summary.assertions = len(abox)
    step = max(1, len(ordered) // SAMPLES)
    summary.samples = ordered.take(pa.array(np.arange(step // 2, len(ordered), step))).to_pylist()


def _ints(values: array[int]) -> Ints:
    return np.asarray(values, np.int64)


def rejects_of(source: str, summaries: Collection[Summary]) -> tuple[list[Leftover], int]:
    """The broken lines of one source, of which at most `MOST_SHOWN` are shown, and how many there are.

    Raises: InputError where none of its lines is a triple.
    """
    total = sum(summary.rejected for summary in summaries)
    shown = [leftover for summary in summaries for leftover in summary.rejects][:MOST_SHOWN]
    if total and sum(s.unsure for s in summaries) == total and not any(s.triples for s in summaries):
        raise InputError(
            f"{source} is not N-Triples or N-Quads: no line of it is a triple ({shown[0].message})",
            "Check the file and the format that its name stands for.",
        )
    if total > len(shown):
        shown.append(Leftover("malformed", f"{total - len(shown)} more lines like those above", source, count=total - len(shown)))
    return shown, total
