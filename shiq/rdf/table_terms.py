"""Conversion of rows of a table of triples to lines of N-Quads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, Final, TypeAlias

from shiq.model import XSD, Literal
from shiq.model.ntriples import literal
from shiq.rdf.triples import shorten

COLUMNS: Final = ("s", "p", "o", "graph", "key")

#: A few rows: the values of each of `COLUMNS`, None where there is none.
Rows: TypeAlias = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Misfit:
    """Placeholder of a value that Python cannot represent; ``why``: the reason."""

    why: str

    def __str__(self) -> str:
        return self.why


def values_of(column: Any) -> list[Any]:
    """Values of an Arrow column; a misfit for a value that Python cannot hold, such as a year above
    9999.
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [_value(value) for value in column]


def _value(value: Any) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError) as error:
        return Misfit(f"a value of type {value.type} that cannot be read: {error}")


def texts_of(values: Sequence[Any]) -> list[str | None]:
    """Values of a column as texts; None for a missing value."""
    return [value if value is None or isinstance(value, str) else _text(value) for value in values]


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return (
        None if isinstance(value, float) and isnan(value) else str(value)
    )  # pandas has NaN for nothing


_RESOURCE = re.compile(r"<\S+>|_:\S+")
_LITERAL = re.compile(r'"[^"\\\n\r]*(?:\\.[^"\\\n\r]*)*"(?:\^\^<\S*>|@\S+)?')


def line_of(s: str | None, p: str | None, o: str | None, graph: str | None = None) -> str:
    """Write a row as a line of N-Quads; the line is malformed if a term is missing or is not
    exactly one term.
    """
    if (
        s is not None
        and p is not None
        and o is not None
        and _RESOURCE.fullmatch(s)
        and _RESOURCE.fullmatch(p)
    ):
        if (_LITERAL if o.startswith('"') else _RESOURCE).fullmatch(o):
            if not graph:
                return f"{s} {p} {o} ."
            if _RESOURCE.fullmatch(graph):
                return f"{s} {p} {o} {graph} ."
    return re.sub(r"[\r\n]", " ", f"? {s} {p} {o} {graph or ''} .")


_MARKED = re.compile(r'<\S+>|_:\S+|".*"(?:\^\^<\S*>|@\S+)?', re.DOTALL)
_BARE_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]+')


def bare_rows(rows: Rows) -> Rows:
    """Add the syntax of N-Triples to terms without it: an absolute IRI or, in the column o, a plain
    literal.
    """
    return [
        *(
            [_bracketed(text, i == 2) for text in texts_of(column)]
            for i, column in enumerate(rows[:4])
        ),
        rows[4],
    ]


def _bracketed(text: str | None, is_value: bool) -> str | None:
    if not text or _MARKED.fullmatch(text):
        return text
    if _BARE_IRI.fullmatch(text):
        return f"<{text}>"
    return literal(Literal(text, XSD + "string")) if is_value else text


def problem_of(terms: Sequence[str | None]) -> str:
    """Reason why the terms of a row are no triple; "" if each is a term."""
    for name, term in zip(COLUMNS, terms):
        if not term and name != "graph":
            return f"a row without {name}"
        pattern = _LITERAL if name == "o" and term and term.startswith('"') else _RESOURCE
        if term and not pattern.fullmatch(term):
            return f"{name} is not one N-Triples term: {shorten(term)!r}"
    return ""
