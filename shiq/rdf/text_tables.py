"""Read tables in text files (CSV, TSV, JSON lines) in blocks. A row's position is its first line.

Malformed rows are reported and the others read: wrong number of values, unterminated quotes, bytes
    that are not UTF-8, lines that are no JSON.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from shiq.errors import InputError
from shiq.inputs.sources import TableKind, TableSource
from shiq.rdf.lines import utf8_error
from shiq.rdf.terms import Rows
from shiq.rdf.triples import Rejects

#: Rows of CSV, and records of JSON lines, that are read at a time.
BATCH_ROWS, BATCH_RECORDS = 1 << 16, 1 << 13
#: A value of CSV that is longer ends the reading of its file: a quote that was never closed, more
#: likely.
LARGEST_VALUE: Final = 1 << 26
#: What stands for a byte that is not UTF-8.
_BYTE: Final = re.compile("[\udc80-\udcff]")


@contextmanager
def _open_csv(source: TableSource) -> Iterator[Any]:
    """Context manager: open a CSV or TSV file; gives the reader of its rows."""
    # Python's own limit, of all of its readers, is 131,072; it is never lowered.
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST_VALUE))
    with source.open() as stream:
        text = io.TextIOWrapper(stream, "utf-8", "surrogateescape", newline="")
        yield csv.reader(text, delimiter="\t" if source.kind is TableKind.TSV else ",", strict=True)


def _column_names(source: TableSource, reader: Iterator[list[str]]) -> list[str]:
    """Read the column names from the first line. Raises: InputError."""
    try:
        found = next(reader, [])
    except csv.Error as error:
        raise InputError(
            f"{source.name}, line 1: {error}", "Its first line names the columns."
        ) from error
    if not found or any(map(_BYTE.search, found)):
        what = "is not UTF-8" if found else "has no line that names the columns"
        raise InputError(
            f"{source.name} {what}",
            "The first line of a table names its columns; convert it to UTF-8.",
        )
    return found


def read_header(source: TableSource) -> list[str]:
    """Return the column names of a table in CSV or TSV. Raises: InputError."""
    with _open_csv(source) as reader:
        return _column_names(source, reader)


def text_rows(
    source: TableSource, wanted: Sequence[str], rejects: Rejects
) -> Iterator[tuple[Sequence[int], Rows]]:
    """Yield the ``wanted`` columns of a table in CSV or TSV in blocks, with the first line of each
    row.

    An empty value is None. Malformed rows become ``rejects``. Raises: InputError.
    """
    with _open_csv(source) as reader:
        head = _column_names(source, reader)
        places = [head.index(name) if name in head else None for name in wanted]
        rows: list[list[str]] = []
        numbers: list[int] = []

        def take_block() -> tuple[Sequence[int], Rows]:
            """Return the rows collected so far as columns."""
            columns = list(zip(*rows)) if rows else [()] * len(head)
            none = [None] * len(rows)
            found = (
                list(numbers),
                [none if at is None else [text or None for text in columns[at]] for at in places],
            )
            rows.clear()
            numbers.clear()
            return found

        while True:
            at = reader.line_num + 1
            try:
                row = next(reader, None)
            except csv.Error as error:
                if "field limit" in str(error):
                    raise InputError(
                        f"{source.name}, line {at}: the row has a value of more than {csv.field_size_limit():,} characters",
                        "Is a quote never closed? Mend the row; nothing of the file was used.",
                    ) from error
                rejects.add(f"no row: {error}", at)
                continue
            if row is None:
                break
            if not (text := "".join(row)).isascii() and _BYTE.search(text):
                rejects.add(_invalid_bytes_message(row, head), at, _row_text(row))
            elif len(row) != len(head):
                if row:
                    rejects.add(f"{len(row)} values for {len(head)} columns", at, _row_text(row))
            else:
                rows.append(row)
                numbers.append(at)
                if len(rows) == BATCH_ROWS:
                    yield take_block()
        yield take_block()


def _row_text(row: Sequence[str]) -> str:
    """Write a row for messages."""
    return ",".join(row).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _invalid_bytes_message(row: Sequence[str], head: Sequence[str]) -> str:
    """Return a message on the bytes of ``row`` that are not UTF-8; ``head``: column names."""
    at = next(i for i, text in enumerate(row) if _BYTE.search(text))
    byte = ord(_BYTE.findall(row[at])[0]) - 0xDC00
    return f"column {head[at] if at < len(head) else at + 1}: not UTF-8: byte 0x{byte:02X}"


def json_records(
    source: TableSource, parse: Callable[[bytes], Any], rejects: Rejects
) -> Iterator[tuple[list[int], list[Any]]]:
    """Yield the records of JSON lines in blocks, with the line of each. Malformed lines are
    recorded in ``rejects``. Raises: InputError.
    """
    numbers: list[int] = []
    records: list[Any] = []
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            text = line.strip()
            if not text:
                continue
            try:
                record = parse(text)
                if not isinstance(record, dict):
                    raise ValueError("a record is an object, {…}")
                records.append(record)
                numbers.append(number)
            except (ValueError, RecursionError) as error:
                rejects.add(
                    utf8_error(text) or f"no JSON: {error}",
                    number,
                    text.decode("utf-8", "backslashreplace"),
                )
            if len(records) == BATCH_RECORDS:
                yield numbers, records
                numbers, records = [], []
    yield numbers, records
