"""Texts of literals to stand for all: those that T and B name, and between, beside and beyond them.

Of numbers, truth values and times there is one in each interval that T's constants and the
bounds of the datatypes make, and in each a whole number, where one lies there; of other texts
the constants, and of each length that T names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from itertools import pairwise
from math import floor
from typing import Final

#: Bounds of the built-in datatypes of whole numbers.
_BOUNDS: Final = [
    0,
    *(
        sign * 2**n - shift
        for n in (7, 8, 15, 16, 31, 32, 63, 64)
        for sign in (1, -1)
        for shift in (0, 1)
    ),
]
_FIXED: Final = ("", "true", "false", "NaN", "INF", "-INF", "-0.0", "text")
#: Numbers of more digits, and texts that are longer, are left out.
_MOST_DIGITS: Final = 400
_MOST_LETTERS: Final = 1_000


def samples(constants: Collection[str]) -> Iterator[str]:
    """Texts in all intervals and of all lengths that ``constants`` make, each once; the
    constants too.
    """
    return iter(
        dict.fromkeys(
            (
                *sorted(constants),
                *_numbers(constants),
                *_times(constants),
                *_lengths(constants),
                *_FIXED,
            )
        )
    )


def _numbers(constants: Iterable[str]) -> Iterator[str]:
    with localcontext() as context:
        context.prec = 4 * _MOST_DIGITS
        known = {Decimal(n) for n in _BOUNDS} | {
            found for text in constants if (found := _number(text)) is not None
        }
        points = sorted(known)
        wide = [points[0] - 2, *points, points[-1] + 2]
        for low, high in pairwise(wide):
            step = min(Decimal(1), high - low)
            whole = Decimal(floor(low) + 1)
            inside = [
                low,
                *(n for n in (whole, whole + 1) if n < high),
                low + step / 4,
                low + step / 8,
                low + step / 2,
            ]
            yield from (format(value, "f") for value in inside)


def _number(text: str) -> Decimal | None:
    try:
        found = Decimal(text)
    except InvalidOperation:
        return None
    return (
        found
        if found.is_finite() and abs(found.adjusted()) < _MOST_DIGITS and len(text) < _MOST_DIGITS
        else None
    )


def _times(constants: Iterable[str]) -> Iterator[str]:
    found = dict.fromkeys(time for text in constants if (time := _time(text)) is not None)
    seconds, day = timedelta(seconds=1), timedelta(days=1)
    for time in found:
        for moved in (time - day, time - seconds, time + seconds, time + day):
            yield moved.isoformat()
            yield moved.date().isoformat()
    for with_zone in (True, False):
        of_kind = sorted(time for time in found if (time.tzinfo is not None) is with_zone)
        yield from ((low + (high - low) / 2).isoformat() for low, high in pairwise(of_kind))


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Years at the edge of what can be moved are left out.
    return found if "-" in text and date(2, 1, 1) < found.date() < date(9998, 1, 1) else None


def _lengths(constants: Iterable[str]) -> Iterator[str]:
    for text in constants:
        yield text + "x"
        if text.isdecimal() and int(text) < _MOST_LETTERS:
            yield from ("x" * n for n in range(max(0, int(text) - 1), int(text) + 2))
