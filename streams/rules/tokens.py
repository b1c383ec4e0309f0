"""Tokens of programs and of ground atoms, with their places.

Ground atoms as texts: those of input, and lines of logs.

>>> read_atom(' p( 1, "a b" ) '), read_atom("q")
(('p/2', (1, '"a b"')), ('q/0', ()))
>>> read_line("2020-05-26T12:15:51 b(1); a; @end")
(1590495351, ['b(1)', 'a', '@end'])
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from shiq.errors import InputError
from shiq.streams.front.event import EventError, parse_time
from shiq.streams.rules.syntax import (
    LIMIT,
    IntegerOverflow,
    Position,
    ProgramProblem,
    Row,
    Value,
    Variable,
    in_range,
)

INTEGER, NAME, VARIABLE, STRING, IRI, AT, HASH, PUNCTUATION, WRONG, END = (
    "integer", "name", "variable", "string", "IRI", "@", "#", "punctuation", "wrong", "end"
)  # fmt: skip
#: A string, and an IRI, wherever they stand.
_STRING: Final = r'"(?:[^"\\\n]|\\["\\n])*"'
_IRI_TEXT: Final = r"""<[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*>"""
_WORDS: Final = rf"""
    (?P<blank>(?:\s|%\*(?:[^*]|\*(?!%))*\*%|%(?!\*)[^\n]*)+)
  | (?P<integer>[0-9]+(?![A-Za-z_]))
  | (?P<name>[a-z][A-Za-z0-9_]*)
  | (?P<variable>[A-Z][A-Za-z0-9_]*|_(?![A-Za-z0-9_]))
  | (?P<string>{_STRING})
  | (?P<at>@now\.(?:year|month|day|hour|minute|second|weekday)(?![A-Za-z0-9_(])|@[a-z]*)
  | (?P<hash>\#[a-z_]*)
"""
_PUNCTUATION: Final = r"(?P<punctuation>:-|:~|<=|>=|<>|!=|\.\.|[-+*/=<>,.;:|(){}\[\]&?\\])"
#: `<` begins an IRI only where no comparison can stand: not behind an operand.
_IRI: Final = f"(?P<iri>{_IRI_TEXT})"
_PLAIN: Final = re.compile(f"{_WORDS} | {_PUNCTUATION}", re.VERBOSE | re.ASCII)
_WITH_IRI: Final = re.compile(f"{_WORDS} | {_IRI} | {_PUNCTUATION}", re.VERBOSE | re.ASCII)
_KINDS: Final = {"at": AT, "hash": HASH, "iri": IRI}
_OPERANDS: Final = frozenset({INTEGER, NAME, VARIABLE, STRING, IRI, AT, ")", "}"})


class RuleToken(NamedTuple):
    """``text`` is as written, "" at the end."""

    kind: str
    text: str
    offset: int

    def __str__(self) -> str:
        return f"'{self.text}'" if self.text else "the end"


@dataclass(frozen=True)
class ProgramText:
    """The text of a file, and where its lines begin."""

    file: str
    text: str
    starts: tuple[int, ...]

    def position(self, offset: int) -> Position:
        """The position of a character."""
        line = bisect_right(self.starts, offset)
        return Position(self.file, line, offset - self.starts[line - 1] + 1)


def index_lines(text: str, file: str) -> ProgramText:
    """``text`` with the places of its lines."""
    return ProgramText(file, text, (0, *(found.end() for found in re.finditer("\n", text))))


class Lexer:
    """The tokens of a text, one by one. Characters that begin none are told to ``problems``, and
    are a token of kind WRONG.
    """

    def __init__(self, text: ProgramText, problems: list[ProgramProblem]) -> None:
        self.text, self.problems, self.offset = text, problems, 0
        self._before = ""

    def next_token(self) -> RuleToken:
        source = self.text.text
        while self.offset < len(source):
            found = (_PLAIN if self._before in _OPERANDS else _WITH_IRI).match(source, self.offset)
            if found is None:
                return self._wrong_token(source, self.offset)
            offset, self.offset = self.offset, found.end()
            if found.lastgroup != "blank":
                kind = _KINDS.get(str(found.lastgroup), str(found.lastgroup))
                self._before = found[0] if kind == PUNCTUATION else kind
                return RuleToken(kind, found[0], offset)
        return RuleToken(END, "", len(source.rstrip()))

    def _wrong_token(self, source: str, offset: int) -> RuleToken:
        first = source[offset]
        if first == '"':
            rest = re.compile(r'"(?:[^"\\\n]|\\["\\n])*').match(source, offset)
            self.offset = rest.end() if rest else offset + 1
            if source[self.offset : self.offset + 1] == "\\":
                said = 'in a string \\ stands before ", \\ or n only; write \\\\ for \\ itself'
            else:
                said = 'this string has no end in its line; close it with "'
            self.offset = max(
                self.offset, source.find("\n", offset) if "\n" in source[offset:] else len(source)
            )
        elif first == "%":
            self.offset, said = len(source), "this comment has no end; close it with *%"
        elif first.isascii() and (first.isalnum() or first == "_"):
            word = re.compile(r"\w+", re.ASCII).match(source, offset)
            self.offset = word.end() if word else offset + 1
            word_text = source[offset : self.offset][:40]
            said = f"'{word_text}' is no integer, name or variable; names and variables begin with a letter"
        else:
            self.offset = offset + 1
            shown = (
                f"'{first}' (U+{ord(first):04X})" if first.isprintable() else f"U+{ord(first):04X}"
            )
            said = f"{shown} does not belong here; names are of a-z, A-Z, 0-9 and _, all else stands in a string"
        self._before = NAME
        self.problems.append(ProgramProblem(self.text.position(offset), said))
        return RuleToken(WRONG, source[offset : self.offset], offset)


class TokenFault(Exception):
    """What is wrong with a token; ``expected``: which one was wanted, if a certain one was."""

    def __init__(self, token: RuleToken, message: str, expected: str = "") -> None:
        super().__init__(message)
        self.token, self.message, self.expected = token, message, expected


NO_CONSTANTS: Final[Mapping[str, Value]] = MappingProxyType({})


class Cursor:
    """The tokens of a text, with some looked at before they are taken, and what reading a
    statement needs to know.

    ahead: tokens looked at. unit: of the timeline. constants: by name, the value of a ``#const``.
    intervals: variables that stand for the intervals of the statement or aggregate element.
    operators: in the term so far; anonymous: variables without a name in the statement so far.
    """

    def __init__(
        self,
        text: ProgramText,
        problems: list[ProgramProblem],
        unit: str = "s",
        constants: Mapping[str, Value] = NO_CONSTANTS,
    ) -> None:
        self.text, self.problems, self.lexer = text, problems, Lexer(text, problems)
        self.lookahead: list[RuleToken] = []
        self.unit, self.constants = unit, constants
        self.intervals: list[Variable] = []
        self.operators = self.anonymous = 0

    def begin_rule(self) -> None:
        """Forget variables and intervals of the statement before."""
        self.anonymous = 0
        self.intervals = []

    def peek(self, places: int = 0) -> RuleToken:
        while len(self.lookahead) <= places:
            self.lookahead.append(self.lexer.next_token())
        return self.lookahead[places]

    def take(self) -> RuleToken:
        token = self.peek()
        del self.lookahead[0]
        return token

    def is_next(self, *texts: str) -> bool:
        """Whether the next tokens are these words or signs."""
        return all(
            self.peek(i).text == text and self.peek(i).kind in (PUNCTUATION, NAME, HASH)
            for i, text in enumerate(texts)
        )

    def accept(self, *texts: str) -> bool:
        found = self.is_next(*texts)
        for _ in texts if found else ():
            self.take()
        return found

    def expect(self, text: str, what: str) -> RuleToken:
        if not self.is_next(text):
            raise TokenFault(self.peek(), f"expected {what}, found {self.peek()}", text)
        return self.take()


#: Said among atoms, it closes the point.
END_OF_POINT: Final = "@end"
_CONSTANT: Final = rf"(?:-?[0-9]+|[a-z][A-Za-z0-9_]*|{_STRING}|{_IRI_TEXT})"
_ONE: Final = re.compile(_CONSTANT, re.ASCII)
_ATOM: Final = re.compile(
    rf"\s*(?!not\b)([a-z][A-Za-z0-9_]*)\s*(?:\(\s*({_CONSTANT}(?:\s*,\s*{_CONSTANT})*)?\s*\))?\s*\.?\s*",
    re.ASCII,
)
_PARTS: Final = re.compile(rf'(?:[^;"<]|{_STRING}|{_IRI_TEXT}|["<])+', re.ASCII)
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
        raise AtomError(_explain_non_atom(text))
    if not text.isascii() and SURROGATE.search(text):
        raise AtomError(f"{text[:80]!r} has half a character (a surrogate)")
    name, arguments = found.groups()
    row = tuple(map(_parse_constant, _ONE.findall(arguments))) if arguments else ()
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
    return _parse_constant(text)


def _parse_constant(text: str) -> Value:
    if text[0] not in "-0123456789":
        return text
    number = int(text) if len(text) <= 20 else LIMIT
    if not -LIMIT <= number < LIMIT:
        raise AtomError(f"the integer {text[:40]}{'…' if len(text) > 40 else ''} is beyond 64 bits")
    return number


def _explain_non_atom(text: str) -> str:
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
    t = parse_time(
        {"t": int(word) if word.isascii() and word.isdigit() and len(word) < 20 else word}, unit
    )
    parts = rest.split(";") if '"' not in rest and "<" not in rest else _PARTS.findall(rest)
    return t, [part.strip() for part in parts if part.strip()]


# Rows that come as columns: numpy or pyarrow arrays of integers or texts.


def parse_columns(
    given: Mapping[str, Any],
) -> Iterator[tuple[str, tuple[np.ndarray[Any, Any], ...]]]:
    """For each predicate ``p/2`` its columns: int64, or objects (constants). Raises: InputError."""
    for predicate, columns in given.items():
        if not is_predicate(predicate) or int(predicate.rpartition("/")[2]) != len(columns):
            raise InputError(
                f"{predicate}: {len(columns)} columns",
                "Name predicates as p/2, and give a column an argument.",
            )
        found = tuple(_parse_column(predicate, column) for column in columns)
        if len({len(column) for column in found}) > 1:
            raise InputError(
                f"{predicate}: columns of different lengths", "Give as many values in each."
            )
        yield predicate, found


def _parse_column(predicate: str, column: Any) -> np.ndarray[Any, Any]:
    array = (
        column.to_numpy(zero_copy_only=False)
        if hasattr(column, "to_pylist")
        else np.asarray(column)
    )
    if array.ndim == 1 and (
        array.size == 0
        or array.dtype.kind == "i"
        or (array.dtype.kind == "u" and array.max() < 1 << 63)
    ):
        return array.astype(np.int64)
    if (
        array.ndim != 1
        or array.dtype.kind not in "OUS"
        or not all(isinstance(value, str | int) for value in array.tolist())
    ):
        raise InputError(
            f"{predicate}: a column of {array.dtype}", "Give integers, or texts of constants."
        )
    found = np.empty(len(array), object)
    try:
        found[:] = [
            read_constant(value) if isinstance(value, str) else in_range(int(value))
            for value in array.tolist()
        ]
    except (AtomError, IntegerOverflow) as error:
        raise InputError(
            f"{predicate}: {error}", 'Write constants as in atoms: 5, on, "a text", <urn:x>.'
        ) from error
    return found


def rows_to_columns(rows: Sequence[Row], predicate: str) -> tuple[np.ndarray[Any, Any], ...]:
    """The columns of rows, one an argument: int64 where all are integers, else of objects."""
    columns = list(zip(*rows)) if rows else [()] * int(predicate.rpartition("/")[2])
    return tuple(
        np.array(column, object if any(isinstance(value, str) for value in column) else np.int64)
        for column in columns
    )


def to_rows(rows: Any) -> list[Row]:
    """Rows, from rows or a tuple of columns."""
    if isinstance(rows, tuple):
        return list(zip(*(column.tolist() for column in rows)))
    found: Sequence[Row] = rows
    return list(found)
