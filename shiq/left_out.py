"""What was left out in reading: each line, triple or axiom as it stands, where a verdict tells
only the first ones.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import IO

from shiq.verdict import CUT, IN_DATA, INFORMATIVE, Leftover

#: Bytes that a spool holds in memory; what goes beyond that goes to a temporary file.
_MOST_HELD = 1 << 20
_FIELDS = ("kind", "message", "source", "line", "text", "hint", "count", "items")


def line_of(leftover: Leftover) -> bytes:
    """``leftover``, less what it says as values, as a line of JSON; `leftover_of` reads it."""
    return (
        json.dumps([getattr(leftover, name) for name in _FIELDS], separators=(",", ":")).encode()
        + b"\n"
    )


def leftover_of(line: bytes) -> Leftover:
    return Leftover(**dict(zip(_FIELDS, json.loads(line))))


class Spool:
    """Leftovers in the order in which they came, however many: in bounded memory."""

    def __init__(self, leftovers: Iterable[Leftover] = ()) -> None:
        self._file: IO[bytes] | None = None
        for leftover in leftovers:
            self.add(leftover)

    def add(self, leftover: Leftover) -> None:
        if self._file is None:
            self._file = SpooledTemporaryFile(max_size=_MOST_HELD)  # noqa: SIM115 - it goes when nobody holds the spool any more
        self._file.seek(0, os.SEEK_END)
        self._file.write(line_of(leftover))

    def __iter__(self) -> Iterator[Leftover]:
        if self._file is not None:
            self._file.seek(0)
            yield from map(leftover_of, self._file)


#: Kinds of what is no line, triple or axiom of data that is missing.
_NO_DATA = INFORMATIVE | {"missing-import", "ambiguous-import", "empty-tbox"}


def of_data(left: Iterable[Leftover]) -> Iterator[Leftover]:
    """What of ``left`` is in no check, nor kept as a value."""
    return (leftover for leftover in left if leftover.kind not in _NO_DATA and not leftover.said)


def of_summaries(leftovers: Iterable[Leftover]) -> Iterator[Leftover]:
    """The same where only ``leftovers`` are at hand. What is said with a name that the TBox does
    not know is in A.
    """
    return (leftover for leftover in of_data(leftovers) if leftover.kind not in IN_DATA)


def unkept(leftover: Leftover) -> int:
    """How many lines, axioms or assertions it only counts, or does not give as they stand."""
    if leftover.number > 1:
        return leftover.number
    return int(leftover.text.endswith(CUT) or (leftover.kind == "malformed" and not leftover.text))
