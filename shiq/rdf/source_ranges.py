"""Cut a source into ranges of lines for parallel reading; lines are counted within each range.

A file of lines is cut anywhere: a line belongs to the range that it begins in. A table of files is
    cut between row groups. The number of lines is known once a range is read, so the ranges of a
    source are located afterwards (`shiq.rdf.range_reports`).

Assembly of parts of a source that other processes parsed; the result is that of reading it in
one piece.

Parsing dominates the cost of reading lines, and each line is parsed by itself. So tasks parse
ranges of a source into columns over their own terms. Here the terms are
renumbered and the lines counted on.
"""

from __future__ import annotations

import io
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from shiq.answers.verdict import Leftover
from shiq.errors import InputError
from shiq.inputs.compression import Compression
from shiq.inputs.formats import LINE_FORMATS, Format
from shiq.inputs.sources import FileSource, TableKind, TableSource, local_path_of
from shiq.model import Literal
from shiq.rdf.lines import read_lines
from shiq.rdf.tables import TableFile, read_file_rows, read_rows, row_groups, table_files
from shiq.rdf.terms import COLUMNS
from shiq.rdf.triples import BLANK, IRI, LITERAL, Rejects, Triples, numpy_view
from shiq.remote.place import is_address, is_endpoint

if TYPE_CHECKING:
    from shiq.rml.tables import RowBlock, TableMapping


_STEP = 1 << 20


@dataclass
class ParsedRange:
    """Triples and malformed lines of one range of a source; lines count from 1 in each range.

    lines: number of lines (of a file, its newlines)
    """

    triples: Triples
    rejects: Rejects
    lines: int = 0

    @classmethod
    def empty(cls, source: str) -> ParsedRange:
        """Make a range of ``source`` that has no lines."""
        triples = Triples()
        triples.begin_source(source)
        return cls(triples, Rejects(source))


# --- files of lines -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ByteRange:
    """A range of a file: the lines that begin in bytes ``start`` … ``end``. A compressed file is
    one range.

    scope: begins the names of blank nodes
    size: bytes of the file when it was cut
    quads: whether it is N-Quads instead of N-Triples
    may_have_bom: whether a byte order mark may come first
    """

    source: str
    scope: str
    path: str
    start: int
    end: int
    size: int
    packing: Compression | None = None
    quads: bool = False
    may_have_bom: bool = True

    def parse(self) -> ParsedRange:
        """Read the triples of the range. Raises: InputError."""
        parsed = ParsedRange.empty(self.source)
        try:
            with self.open() as stream:
                part = _ByteCounter(stream, sys.maxsize if self.packing else self._align(stream))
                read_lines(
                    cast(BinaryIO, part),
                    parsed.triples,
                    self.scope,
                    parsed.rejects,
                    quads=self.quads,
                    part=True,
                )
        except OSError as error:
            raise InputError(f"{self.source} cannot be read: {error.strerror or error}") from error
        return replace(parsed, lines=part.lines)

    def open(self) -> BinaryIO:
        """Open the file, decompressed. Raises: InputError, OSError."""
        # A worker elsewhere has no copy of what is far away yet.
        path = (
            Path(self.path)
            if os.path.exists(self.path) or not is_address(self.source)
            else local_path_of(self.source)
        )
        if self.packing is None:
            return path.open("rb")
        return FileSource(self.source, path, Format.NTRIPLES, self.packing).open()

    def _align(self, file: BinaryIO) -> int:
        """Seek to the first line that begins in the range, and return the bytes of all its lines.
        Raises: InputError.
        """
        size = file.seek(0, io.SEEK_END)
        if size != self.size:
            raise InputError(
                f"{self.source}: an executor sees {size} bytes of it, the driver saw {self.size}",
                "Put it where driver and executors share files, and do not write to it meanwhile.",
            )
        end, start = (_next_line_offset(file, at) for at in (self.end, self.start))
        file.seek(start)
        if start == 0 and self.may_have_bom and file.read(len(BOM_UTF8)) == BOM_UTF8:
            start = len(BOM_UTF8)
        file.seek(start)
        return max(0, end - start)


def byte_ranges(source: FileSource, scope: str, width: int) -> list[ByteRange]:
    """Cut a file of lines into ranges of ``width`` bytes; a compressed file is one range."""
    size, path = source.path.stat().st_size, str(source.path.absolute())
    whole = ByteRange(
        source.name, scope, path, 0, size, size, source.packing, source.format is Format.NQUADS
    )
    if source.is_compressed:
        return [whole]
    return [replace(whole, start=at, end=min(at + width, size)) for at in range(0, size, width)]


def _next_line_offset(file: BinaryIO, at: int) -> int:
    """Return the offset of the first line that begins at or after the offset ``at``."""
    if at == 0:
        return 0
    file.seek(at - 1)
    while (data := file.readline(_STEP)) and not data.endswith(b"\n"):
        pass
    return file.tell()


class _ByteCounter:
    """The next ``left`` bytes of a stream as a file; counts the newlines that were read."""

    def __init__(self, stream: BinaryIO, left: int) -> None:
        self._stream, self._remaining, self.lines = stream, left, 0

    def read(self, size: int) -> bytes:
        """Read up to ``size`` bytes, as a file does."""
        data = self._stream.read(min(size, self._remaining))
        self._remaining -= len(data)
        self.lines += data.count(b"\n")
        return data


# --- tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableRange:
    """A range of a table in Parquet files: some row groups, each as (file, index in it). Rows count
    as lines.

    mapping: mapping without joins, for a table that is not of triples
    """

    source: str
    scope: str
    groups: tuple[tuple[TableFile, int], ...]
    mapping: TableMapping | None = None

    def parse(self) -> ParsedRange:
        """Read the triples of the row groups. Raises: InputError."""
        parsed = ParsedRange.empty(self.source)
        if self.mapping is not None:
            # Loaded where a mapping says what rows mean.
            from shiq.rml.tables import read_blocks

            read_blocks(
                self.source,
                self.mapping,
                self._blocks(parsed),
                parsed.triples,
                self.scope,
                parsed.rejects,
            )
            return parsed
        for file, group in self.groups:
            for rows in read_file_rows(self.source, file, (group,), COLUMNS):
                read_rows(rows, parsed.lines, parsed.triples, self.scope, parsed.rejects)
                parsed.lines += len(rows[0])
        return parsed

    def _blocks(self, parsed: ParsedRange) -> Iterator[RowBlock]:
        """Yield blocks of rows, and count the rows in ``parsed``."""
        from shiq.rml.tables import RowBlock, referenced_columns

        assert self.mapping is not None
        wanted = referenced_columns(self.mapping.maps)
        for file, group in self.groups:
            for rows in read_file_rows(self.source, file, (group,), wanted):
                count = len(rows[0]) if rows else 0
                begun, parsed.lines = parsed.lines, parsed.lines + count
                yield RowBlock(range(begun + 1, begun + count + 1), dict(zip(wanted, rows)))


def table_ranges(
    source: TableSource, scope: str, width: int
) -> tuple[list[TableRange], tuple[Leftover, ...]]:
    """Cut a table in files into ranges of about ``width`` rows.

    Returns: the ranges, and the leftover on files of its folder that are not read.
    Raises: InputError for a table without s, p and o, or an unreadable one.
    """
    wanted: Sequence[str] = COLUMNS
    mapping = source.mapping
    if mapping is not None:
        from shiq.rml.tables import referenced_columns

        wanted, mapping = referenced_columns(mapping.maps), mapping.drop_tables()
    files, passed_over = table_files(source, wanted)
    ranges: list[list[tuple[TableFile, int]]] = []
    full = width
    for file, group, rows in row_groups(source.name, files, wanted):
        if full >= width:
            ranges.append([])
            full = 0
        ranges[-1].append((file, group))
        full += rows
    return [
        TableRange(source.name, scope, tuple(groups), mapping) for groups in ranges
    ], passed_over


#: What one task reads.
Range = ByteRange | TableRange


def can_be_cut(source: object) -> bool:
    """Decide whether ``source`` can be read in ranges: a file of lines, or a table in files whose
    mapping has no joins.
    """
    if isinstance(source, TableSource):
        return source.kind in (TableKind.PARQUET, TableKind.DELTA) and source.is_read_row_by_row
    return (
        isinstance(source, FileSource)
        and source.format in LINE_FORMATS
        and source.content is None
        and not is_endpoint(source.name)  # a copy of this machine alone
    )


Ids = npt.NDArray[np.int32]


@dataclass(frozen=True)
class TransferredRange:
    """A parsed range as plain lists and bytes, to be sent from one process to another.

    iris, blank_labels, literals: terms, numbered in that order; labels have no scope
    columns: subject, predicate, object, line and graph as bytes
    rejected_lines: malformed lines, of which ``unsure`` do not even look like a triple
    marks: see `Triples.column_marks`
    error: message and remedy if the source cannot be used at all
    """

    lines: int = 0
    iris: list[str] = field(default_factory=list)
    blank_labels: list[str] = field(default_factory=list)
    literals: list[tuple[str, str, str]] = field(default_factory=list)
    columns: tuple[bytes, ...] = (b"",) * 5
    keys: dict[int, str] = field(default_factory=dict)
    rejected_lines: list[tuple[str, int, str, str]] = field(default_factory=list)
    unsure: int = 0
    marks: list[tuple[int, str]] = field(default_factory=list)
    error: tuple[str, str] | None = None


def pack_range(parsed: ParsedRange) -> TransferredRange:
    """Convert a range, parsed with the scope "", to the form that is sent to another process."""
    triples, rejects = parsed.triples, parsed.rejects
    kinds = np.frombuffer(bytes(triples.kinds), np.uint8)
    number = np.empty(len(kinds), np.int32)
    number[np.argsort(kinds, kind="stable")] = np.arange(len(kinds), dtype=np.int32)
    terms = triples.terms
    by_kind = {kind: (kinds == kind).nonzero()[0].tolist() for kind in (IRI, BLANK, LITERAL)}
    literals = [value for i in by_kind[LITERAL] if isinstance(value := terms[i], Literal)]
    graph = numpy_view(triples.graph)
    columns = (
        *(
            number[numpy_view(ids)].tobytes()
            for ids in (triples.subject, triples.predicate, triples.object)
        ),
        triples.line.tobytes(),
        np.where(graph < 0, np.int32(-1), number[graph]).astype(np.int32).tobytes()
        if len(graph)
        else b"",
    )
    return TransferredRange(
        parsed.lines,
        [str(terms[i]) for i in by_kind[IRI]],
        [str(terms[i]).removeprefix("_:.") for i in by_kind[BLANK]],
        [(x.lexical, x.datatype, x.language) for x in literals],
        columns,
        triples.keys,
        [(x.message, x.line, x.text, x.hint) for x in rejects.all_lines] if rejects.total else [],
        rejects.unsure,
        triples.column_marks,
    )


def read_transferred(
    parts: Iterable[TransferredRange],
    triples: Triples,
    scope: str,
    rejects: Rejects,
    progress: Callable[[str, int], None] | None = None,
) -> None:
    """Add byte ranges of one source, which other processes parsed, to ``triples``, in their order.
    Malformed lines are recorded in ``rejects``.

    Raises: InputError if a range has an ``error``.
    """
    before, begun = 0, len(triples)
    for part in parts:
        if part.error is not None:
            raise InputError(*part.error)
        _add_transferred(part, triples, scope, before)
        for message, line, text, hint in part.rejected_lines:
            rejects.add(message, line + before if line else 0, text, hint)
        rejects.unsure += part.unsure
        before += part.lines
        if progress is not None:
            progress(rejects.source, len(triples) - begun)


def _add_transferred(part: TransferredRange, triples: Triples, scope: str, before: int) -> None:
    """Add one transferred range to the triples of its source; ``before``: number of lines before
    it.
    """
    names = triples.add_names(part.iris) if part.iris else []
    blank = [triples.id_of(f"_:{scope}.{label}") for label in part.blank_labels]
    literals = [triples.id_of(Literal(*parts)) for parts in part.literals]
    number = np.array([*names, *blank, *literals], np.int32)
    *terms, lines, graphs = part.columns
    graph = np.frombuffer(graphs, np.int32)
    if len(graph):
        triples.add_graphs(np.where(graph < 0, np.int32(-1), number[graph]).tolist())
    begun = len(triples)
    for ids, own in zip((triples.subject, triples.predicate, triples.object), terms):
        ids.frombytes(number[np.frombuffer(own, np.int32)].tobytes())
    line = np.frombuffer(lines, np.uint32)
    triples.line.frombytes(
        np.where(line > 0, line + np.uint32(before), line).astype(np.uint32).tobytes()
    )
    triples.add_column_marks(begun, part.marks)
    triples.keys.update((begun + row, key) for row, key in part.keys.items())
