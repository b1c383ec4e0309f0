"""Constants: integers, symbols, strings, IRIs; their texts, their total order, arithmetic.

A constant is an int, or the text by which it is written: ``on`` a symbol, ``"on"`` a string,
``<urn:on>`` an IRI. So equal constants are equal values, and what is written out needs no work.
Source: SPEC 004, sections 1 and 2 ("Built-ins").

>>> sorted(['"a"', 'b', 7, '<urn:a>', 'a', -1], key=order)
[-1, 7, 'a', 'b', '"a"', '<urn:a>']
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final, TypeAlias

Value: TypeAlias = int | str
#: The arguments of a ground atom.
Row: TypeAlias = tuple[Value, ...]

#: Integers are from -LIMIT to LIMIT - 1.
LIMIT: Final = 1 << 63
#: Relations as they are from the other side.
FLIPPED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ESCAPED: Final = re.compile(r'\\(["\\n])')
_SPECIAL: Final = {"n": "\n", '"': '"', "\\": "\\"}


class IntegerOverflow(ArithmeticError):
    """A result that 64 bits do not hold."""


def atom_text(name: str, row: Row) -> str:
    """A ground atom, without blanks.

    >>> atom_text("p", (1, "a", '"b c"')), atom_text("q", ())
    ('p(1,a,"b c")', 'q')
    """
    return f"{name}({','.join(map(str, row))})" if row else name


def string(content: str) -> str:
    r"""The string constant with this content.

    >>> print(string('say "a"'))
    "say \"a\""
    """
    return '"' + content.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def content(value: str) -> str:
    """What a symbol, string or IRI says: without quotes, escapes and angle brackets."""
    if value[:1] == '"':
        inner = value[1:-1]
        return _ESCAPED.sub(lambda found: _SPECIAL[found[1]], inner) if "\\" in inner else inner
    return value[1:-1] if value[:1] == "<" else value


def kind(value: Value) -> int:
    """0 for integers, 1 symbols, 2 strings, 3 IRIs."""
    if not isinstance(value, str):
        return 0
    first = value[:1]
    return 2 if first == '"' else 3 if first == "<" else 1


def order(value: Value) -> tuple[int, int, str]:
    """The place in the total order: integers, symbols, strings, IRIs; then by value or code point."""
    return (0, value, "") if not isinstance(value, str) else (kind(value), 0, content(value))


def compare(left: Value, relation: str, right: Value) -> bool:
    """Whether ``left`` stands to ``right`` as =, !=, <, <=, >, >= says; defined on all constants."""
    if relation == "=":
        return left == right
    if relation == "!=":
        return left != right
    before, behind = order(left), order(right)
    if relation == "<":
        return before < behind
    if relation == "<=":
        return before <= behind
    return before > behind if relation == ">" else before >= behind


def arithmetic(operator: str, left: Value, right: Value) -> int | None:
    r"""left operator right; None where it has no value: not of integers, or a division by zero.
    Raises: IntegerOverflow.

    >>> arithmetic("/", -7, 2), arithmetic("\\", -7, 2), arithmetic("/", 7, 0), arithmetic("+", 1, "a")
    (-3, -1, None, None)
    """
    if isinstance(left, str) or isinstance(right, str):
        return None
    if operator in ("/", "\\"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right)
        quotient = quotient if (left < 0) == (right < 0) else -quotient
        found = quotient if operator == "/" else left - quotient * right
    else:
        found = (
            left + right if operator == "+" else left - right if operator == "-" else left * right
        )
    return in_range(found)


def date_part(microseconds: int, part: str) -> int | None:
    """A part of a date in UTC, by the time since 1970: year, month, day, hour, minute, second or
    weekday (Monday is 1).

    None where no calendar has the date.

    >>> date_part(90_061_000_000, "hour"), date_part(0, "weekday"), date_part(-1, "year"), date_part(1 << 63, "year")
    (1, 4, 1969, None)
    """
    try:
        date = datetime(1970, 1, 1) + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
    return date.isoweekday() if part == "weekday" else int(getattr(date, part))


def in_range(number: int) -> int:
    """``number``. Raises: IntegerOverflow where 64 bits do not hold it."""
    if not -LIMIT <= number < LIMIT:
        raise IntegerOverflow(f"{number} is beyond 64 bits")
    return number
