"""Ranges of a source as triples: what one task reads, with the lines counted in it.

A file of lines is cut anywhere: a line belongs to the range that it begins in, and nothing else
is read for it. A table of files is cut between row groups. How many lines a range has, it tells
when it was read; so whoever reads all ranges of a source locates what they tell without reading
anything twice (`shiq.rdf.judging`).
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from shiq.errors import InputError
from shiq.formats import LINE_FORMATS, Format
from shiq.packed import Packing
from shiq.rdf.lines import read_lines
from shiq.rdf.table_terms import COLUMNS
from shiq.rdf.tables import TableFile, read_rows, row_groups, rows_of, table_files
from shiq.rdf.triples import Rejects, Triples
from shiq.remote.place import is_address
from shiq.sources import FileSource, TableKind, TableSource, path_of
from shiq.verdict import Leftover

if TYPE_CHECKING:
    from shiq.rml.tables import RowBlock, TableMapping

_STEP = 1 << 20
_MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8


@dataclass
class ParsedRange:
    """The triples of some lines of a source, counted from 1 on, and the ``rejects`` among them;
    ``lines``: how many these are (of a file, its newlines).
    """

    triples: Triples
    rejects: Rejects
    lines: int = 0

    @classmethod
    def of(cls, source: str) -> ParsedRange:
        """Nothing yet of ``source``."""
        triples = Triples()
        triples.begin(source)
        return cls(triples, Rejects(source))


# --- files of lines -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ByteRange:
    """The lines of a file that begin in its bytes ``start`` … ``end`` (all of them if it has a
    ``packing``). ``scope`` begins the names of blank nodes; ``size`` is what whoever cut it saw
    of it; ``quads``: N-Quads instead of N-Triples; ``marked``: a byte order mark may come first.
    """

    source: str
    scope: str
    path: str
    start: int
    end: int
    size: int
    packing: Packing | None = None
    quads: bool = False
    marked: bool = True

    def parse(self) -> ParsedRange:
        """Raises: InputError."""
        parsed = ParsedRange.of(self.source)
        try:
            with self.open() as stream:
                part = _Part(stream, sys.maxsize if self.packing else self._align(stream))
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
        """The file, unpacked. Raises: InputError, OSError."""
        # A worker elsewhere has no copy of what is far away yet.
        path = (
            Path(self.path)
            if os.path.exists(self.path) or not is_address(self.source)
            else path_of(self.source)
        )
        if self.packing is None:
            return path.open("rb")
        return FileSource(self.source, path, Format.NTRIPLES, self.packing).open()

    def _align(self, file: BinaryIO) -> int:
        """Goes to the first line that begins in the range; the length of all that do. Raises:
        InputError.
        """
        size = file.seek(0, io.SEEK_END)
        if size != self.size:
            raise InputError(
                f"{self.source}: an executor sees {size} bytes of it, the driver saw {self.size}",
                "Put it where driver and executors share files, and do not write to it meanwhile.",
            )
        end, start = (_line_from(file, at) for at in (self.end, self.start))
        file.seek(start)
        if start == 0 and self.marked and file.read(len(_MARK)) == _MARK:
            start = len(_MARK)
        file.seek(start)
        return max(0, end - start)


def byte_ranges(source: FileSource, scope: str, width: int) -> list[ByteRange]:
    """A file of lines in ranges of ``width`` bytes; one range if it is packed."""
    size, path = source.path.stat().st_size, str(source.path.absolute())
    whole = ByteRange(
        source.name, scope, path, 0, size, size, source.packing, source.format is Format.NQUADS
    )
    if source.compressed:
        return [whole]
    return [replace(whole, start=at, end=min(at + width, size)) for at in range(0, size, width)]


def _line_from(file: BinaryIO, at: int) -> int:
    """Where the first line begins that begins at ``at`` or later."""
    if at == 0:
        return 0
    file.seek(at - 1)
    while (data := file.readline(_STEP)) and not data.endswith(b"\n"):
        pass
    return file.tell()


class _Part:
    """The next ``left`` bytes of ``stream``; counts the newlines that pass."""

    def __init__(self, stream: BinaryIO, left: int) -> None:
        self._stream, self._left, self.lines = stream, left, 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._left))
        self._left -= len(data)
        self.lines += data.count(b"\n")
        return data


# --- tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableRange:
    """Row groups of a table of files, one after the other (file, number in it): its lines are
    their rows. ``mapping``: what these say, without joins, where they are no triples.
    """

    source: str
    scope: str
    groups: tuple[tuple[TableFile, int], ...]
    mapping: TableMapping | None = None

    def parse(self) -> ParsedRange:
        """Raises: InputError."""
        parsed = ParsedRange.of(self.source)
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
            for rows in rows_of(self.source, file, (group,), COLUMNS):
                read_rows(rows, parsed.lines, parsed.triples, self.scope, parsed.rejects)
                parsed.lines += len(rows[0])
        return parsed

    def _blocks(self, parsed: ParsedRange) -> Iterator[RowBlock]:
        """The rows, counted in ``parsed``."""
        from shiq.rml.tables import RowBlock, columns_wanted

        assert self.mapping is not None
        wanted = columns_wanted(self.mapping.maps)
        for file, group in self.groups:
            for rows in rows_of(self.source, file, (group,), wanted):
                count = len(rows[0]) if rows else 0
                begun, parsed.lines = parsed.lines, parsed.lines + count
                yield RowBlock(range(begun + 1, begun + count + 1), dict(zip(wanted, rows)))


def table_ranges(
    source: TableSource, scope: str, width: int
) -> tuple[list[TableRange], tuple[Leftover, ...]]:
    """A table that is a path in ranges of about ``width`` rows, and the leftover for the files
    of its folder that are not read.

    Raises: InputError for a table without s, p and o, or that cannot be read.
    """
    wanted: Sequence[str] = COLUMNS
    mapping = source.mapping
    if mapping is not None:
        from shiq.rml.tables import columns_wanted

        wanted, mapping = columns_wanted(mapping.maps), mapping.without_tables()
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


def is_cut(source: object) -> bool:
    """Whether ``source`` can be read in ranges: a file of lines, or a table of files that is
    read row by row.
    """
    if isinstance(source, TableSource):
        return source.kind in (TableKind.PARQUET, TableKind.DELTA) and source.is_read_row_by_row
    return (
        isinstance(source, FileSource) and source.format in LINE_FORMATS and source.content is None
    )
