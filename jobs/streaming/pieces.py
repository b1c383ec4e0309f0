"""Which pieces of files and tables there are to read, and the records of one: what a task is given.

Positions are by unit, a file: bytes of lines, rows of a table, 1 for a packed file that was
read. A piece of lines begins and ends with lines, so that tasks read pieces side by side; which
number its first line has is known when those before were counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from shiq.errors import InputError
from shiq.inputs.compression import MAGIC_BYTES, packing_of
from shiq.inputs.formats import Format
from shiq.inputs.sources import FileSource, TableSource, table_kind
from shiq.rdf.tables import TableFile, open_parquet, table_files
from shiq.streams.front.event import Record
from shiq.streams.front.sources import EventTable, Folder, read_lines
from shiq.streams.front.tables import file_rows

#: How much one batch takes, about (a packed file is never cut), and which part of that a piece is;
#: what a row counts as.
BATCH_BYTES, PIECES, ROW_BYTES = 128 << 20, 16, 80
#: So many of them are one batch of files that do not grow, for whose rows nobody waits.
FOLD = 4
LINES, PACKED, ROWS = "lines", "packed", "rows"


@dataclass(frozen=True)
class Unit:
    """A file of the source number ``source``, called ``name`` in what is said of records;
    ``size``: up to which position it can be read. ``order``: its place among the files of the
    source; ``values``: those of a table's folders.
    """

    source: int
    order: int
    name: str
    path: str
    kind: str
    size: int
    values: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.source} {self.path}"


@dataclass(frozen=True)
class Piece:
    """A unit from position ``low`` to ``high``."""

    unit: Unit
    low: int
    high: int


def units(targets: Sequence[str], format: str = "auto", *, follow: bool = False) -> list[Unit]:
    """What there is to read now, in order; of lines that are still written, whole ones. Raises:
    InputError.
    """
    return [
        unit
        for number, target in enumerate(targets)
        for unit in _units(number, target, format, follow)
    ]


def _units(number: int, target: str, format: str, follow: bool) -> Iterator[Unit]:
    path = Path(target)
    kind = table_kind(target) if format in ("auto", "table") else None
    if kind is not None:
        files, passed_over = table_files(TableSource(target, kind, path))
        del passed_over  # files that are no data by their names
        for order, file in enumerate(files):
            with open_parquet(file) as parquet:
                yield Unit(
                    number, order, target, file.path, ROWS, parquet.metadata.num_rows, file.values
                )
        return
    for order, name in enumerate(Folder(path).files() if path.is_dir() else [path]):
        try:
            with open(name, "rb") as stream:
                packed = packing_of(stream.read(MAGIC_BYTES)) is not None
                end = stream.seek(0, 2)
                size = (
                    1
                    if packed
                    else _whole_lines(stream, end)
                    if follow and not path.is_dir()
                    else end
                )
        except OSError as error:
            raise InputError(
                f"{name} cannot be read ({error.strerror})", "Check the path and its permissions."
            ) from error
        yield Unit(number, order, str(name), str(name), PACKED if packed else LINES, size)


def _whole_lines(stream: BinaryIO, end: int) -> int:
    """Where the last whole line ends."""
    low = end
    while low > 0:
        low = max(low - (1 << 16), 0)
        stream.seek(low)
        at = stream.read(min(end - low, 1 << 16)).rfind(b"\n")
        if at >= 0:
            return low + at + 1
    return 0


def advanced(there: Sequence[Unit], positions: Mapping[str, int], most: int) -> dict[str, int]:
    """The positions after a batch of about ``most`` bytes more, in order of the units."""
    found = dict(positions)
    for unit in there:
        low = found.get(unit.key, 0)
        if low >= unit.size:
            continue
        if most <= 0:
            break
        if unit.kind == PACKED:
            found[unit.key], most = unit.size, most - Path(unit.path).stat().st_size
        else:
            width = ROW_BYTES if unit.kind == ROWS else 1
            found[unit.key] = _cut(unit, low + max(most // width, 1))
            most -= (found[unit.key] - low) * width
    return found


def batch_bytes(most: int, width: int) -> int:
    """How much a batch takes for ``width`` cores: two pieces each, where ``most`` bytes are too
    few for that.
    """
    return most * max(2 * width, PIECES) // PIECES


def between(
    there: Sequence[Unit], start: Mapping[str, int], end: Mapping[str, int], most: int
) -> list[Piece]:
    """The pieces, of about ``most`` bytes, from one set of positions to another, in order."""
    found, known = [], {unit.key for unit in there}
    gone = next((key for key in end if end[key] > start.get(key, 0) and key not in known), None)
    if gone is not None:
        raise InputError(
            f"{gone.partition(' ')[2]} is gone, and was not read to its end", "Put it back."
        )
    for unit in there:
        low, high = start.get(unit.key, 0), end.get(unit.key, 0)
        # A file may have grown since.
        unit = replace(unit, size=max(high, 0))
        while low < high:
            upto = _cut(unit, low + max(most // (ROW_BYTES if unit.kind == ROWS else 1), 1))
            found.append(Piece(unit, low, upto))
            low = upto
    return found


def _cut(unit: Unit, position: int) -> int:
    """The first place from ``position`` on where the unit may be cut."""
    if position >= unit.size or unit.kind != LINES:
        return min(position, unit.size)
    with open(unit.path, "rb") as stream:
        stream.seek(position - 1)
        while (data := stream.readline(1 << 20)) and not data.endswith(b"\n"):
            pass
        return min(stream.tell(), unit.size)


def records(piece: Piece, unit_of_time: str) -> Iterator[Record]:
    """The records of a piece, those of blank lines too (without data); lines are counted from
    its beginning.
    """
    unit = piece.unit
    if unit.kind == ROWS:
        table = EventTable(unit.name, unit_of_time)
        rows = file_rows(TableFile(unit.path, unit.values), piece.low, piece.high)
        return (table.record(number, values) for number, values in enumerate(rows, 1))
    if unit.kind == PACKED:
        with open(unit.path, "rb") as stream:
            packing = packing_of(stream.read(MAGIC_BYTES))
        return (
            r
            for r, _ in read_lines(
                FileSource(unit.name, Path(unit.path), Format.NTRIPLES, packing).open(),
                unit.name,
                0,
            )
        )
    with open(unit.path, "rb") as stream:
        stream.seek(piece.low)
        data = stream.read(piece.high - piece.low)
    return (record for record, _ in read_lines(BytesIO(data), unit.name, 0))
