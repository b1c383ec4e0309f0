"""Ground atoms as texts: those of input, and lines of logs.

>>> read_atom(' p( 1, "a b" ) '), read_atom("q")
(('p/2', (1, '"a b"')), ('q/0', ()))
>>> read_line("2020-05-26T12:15:51 b(1); a; @end")
(1590495351, ['b(1)', 'a', '@end'])
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from streams.front.event import EventError, time_of
from streams.rules.values import LIMIT, Row, Value

#: Said among atoms, it closes the point.
END_OF_POINT: Final = "@end"
_STRING: Final = r'"(?:[^"\\\n]|\\["\\n])*"'
_IRI: Final = r"""<[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*>"""
_CONSTANT: Final = rf"(?:-?[0-9]+|[a-z][A-Za-z0-9_]*|{_STRING}|{_IRI})"
_ONE: Final = re.compile(_CONSTANT, re.ASCII)
_ATOM: Final = re.compile(
    rf"\s*(?!not\b)([a-z][A-Za-z0-9_]*)\s*(?:\(\s*({_CONSTANT}(?:\s*,\s*{_CONSTANT})*)?\s*\))?\s*\.?\s*",
    re.ASCII,
)
_PARTS: Final = re.compile(rf'(?:[^;"<]|{_STRING}|{_IRI}|["<])+', re.ASCII)
#: Python's texts may hold halves of characters; no file does.
SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PREDICATE: Final = re.compile(r"(?!not/)[a-z][A-Za-z0-9_]*/[1-9][0-9]*", re.ASCII)
_VARIABLE: Final = re.compile(r"[(,]\s*([A-Z_]\w*)\s*[,)]")


class AtomError(ValueError):
    """Why a text is no ground atom."""


@lru_cache(maxsize=1 << 14)
def read_atom(text: str) -> tuple[str, Row]:
    """Predicate and row of a ground atom. Raises: AtomError."""
    found = _ATOM.fullmatch(text)
    if found is None:
        raise AtomError(_reason(text))
    if not text.isascii() and SURROGATE.search(text):
        raise AtomError(f"{text[:80]!r} has half a character (a surrogate)")
    name, arguments = found.groups()
    row = tuple(map(_constant, _ONE.findall(arguments))) if arguments else ()
    return f"{name}/{len(row)}", row


def is_predicate(text: str) -> bool:
    """Whether a text names a predicate with arguments, as in p/2."""
    return _PREDICATE.fullmatch(text) is not None


def read_constant(text: str) -> Value:
    """A constant as it is written. Raises: AtomError."""
    if _ONE.fullmatch(text) is None:
        raise AtomError(
            f'{text[:80]!r} is no constant; write an integer, a symbol, a "string" or an <IRI>'
        )
    return _constant(text)


def _constant(text: str) -> Value:
    if text[0] not in "-0123456789":
        return text
    number = int(text) if len(text) <= 20 else LIMIT
    if not -LIMIT <= number < LIMIT:
        raise AtomError(f"the integer {text[:40]}{'…' if len(text) > 40 else ''} is beyond 64 bits")
    return number


def _reason(text: str) -> str:
    variable = _VARIABLE.search(text)
    if variable is not None:
        return f"{variable[1]} is a variable; atoms of input are ground"
    shown = text.strip()[:80]
    return f'{shown!r} is no ground atom, as in p(1,a,"b")' if shown else "an atom is missing"


def read_line(line: str, unit: str = "sec") -> tuple[int, list[str]]:
    """Time and atoms of a line of a log: ``time atom; atom; …``. Raises: EventError."""
    word, _, rest = (
        line.strip().partition(" ")
        if "\t" not in line
        else line.strip().replace("\t", " ", 1).partition(" ")
    )
    if not word:
        raise EventError("a line of a log begins with a time")
    t = time_of(
        {"t": int(word) if word.isascii() and word.isdigit() and len(word) < 20 else word}, unit
    )
    parts = rest.split(";") if '"' not in rest and "<" not in rest else _PARTS.findall(rest)
    return t, [part.strip() for part in parts if part.strip()]
