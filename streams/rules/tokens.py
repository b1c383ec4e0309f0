"""Lexer of rule programs, and parsers of ground atoms, log lines and input columns.

>>> read_atom(' p( 1, "a b" ) '), read_atom("q")
(('p/2', (1, '"a b"')), ('q/0', ()))
>>> read_log_line("2020-05-26T12:15:51 b(1); a; @end")
(1590495351, ['b(1)', 'a', '@end'])
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from shiq.errors import InputError
from shiq.streams.front.event import EventError, parse_time
from shiq.streams.rules.syntax import (
    INTEGER_LIMIT,
    IntegerOverflow,
    Position,
    ProgramProblem,
    Row,
    Value,
    Variable,
    require_64_bits,
)

INTEGER, NAME, VARIABLE, STRING, IRI, AT, HASH, PUNCTUATION, WRONG, END = (
    "integer", "name", "variable", "string", "IRI", "@", "#", "punctuation", "wrong", "end"
)  # fmt: skip
#: A string, and an IRI, wherever they stand.
_STRING_REGEX: Final = r'"(?:[^"\\\n]|\\["\\n])*"'
_IRI_REGEX: Final = r"""<[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*>"""
_WORDS_REGEX: Final = rf"""
    (?P<blank>(?:\s|%\*(?:[^*]|\*(?!%))*\*%|%(?!\*)[^\n]*)+)
  | (?P<integer>[0-9]+(?![A-Za-z_]))
  | (?P<name>[a-z][A-Za-z0-9_]*)
  | (?P<variable>[A-Z][A-Za-z0-9_]*|_(?![A-Za-z0-9_]))
  | (?P<string>{_STRING_REGEX})
  | (?P<at>@now\.(?:year|month|day|hour|minute|second|weekday)(?![A-Za-z0-9_(])|@[a-z]*)
  | (?P<hash>\#[a-z_]*)
"""
_PUNCTUATION_REGEX: Final = r"(?P<punctuation>:-|:~|<=|>=|<>|!=|\.\.|[-+*/=<>,.;:|(){}\[\]&?\\])"
#: `<` begins an IRI only where no comparison can stand: not behind an operand.
_IRI_GROUP_REGEX: Final = f"(?P<iri>{_IRI_REGEX})"
_TOKEN_PATTERN: Final = re.compile(f"{_WORDS_REGEX} | {_PUNCTUATION_REGEX}", re.VERBOSE | re.ASCII)
_TOKEN_OR_IRI_PATTERN: Final = re.compile(
    f"{_WORDS_REGEX} | {_IRI_GROUP_REGEX} | {_PUNCTUATION_REGEX}", re.VERBOSE | re.ASCII
)
_TOKEN_KINDS: Final = {"at": AT, "hash": HASH, "iri": IRI}
_OPERAND_KINDS: Final = frozenset({INTEGER, NAME, VARIABLE, STRING, IRI, AT, ")", "}"})


class RuleToken(NamedTuple):
    """Token of a rule program; ``text`` is as written, "" at the end of the program."""

    kind: str
    text: str
    offset: int

    def __str__(self) -> str:
        return f"'{self.text}'" if self.text else "the end"


@dataclass(frozen=True)
class ProgramText:
    """Text of a program file."""

    file: str
    text: str

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Offsets at which lines begin."""
        return (0, *(found.end() for found in re.finditer("\n", self.text)))

    def position_at(self, offset: int) -> Position:
        """Line and column of an offset in the text."""
        line = bisect_right(self.starts, offset)
        return Position(self.file, line, offset - self.starts[line - 1] + 1)


class Lexer:
    """Lexer of a program text.

    Unknown characters give a token of kind WRONG and are reported to ``problems``.
    """

    def __init__(self, text: ProgramText, problems: list[ProgramProblem]) -> None:
        self.text, self.problems, self.offset = text, problems, 0
        self._before = ""

    def next_token(self) -> RuleToken:
        """Read and return the next token; at the end of the text one of kind END."""
        source = self.text.text
        while self.offset < len(source):
            found = (
                _TOKEN_PATTERN if self._before in _OPERAND_KINDS else _TOKEN_OR_IRI_PATTERN
            ).match(source, self.offset)
            if found is None:
                return self._report_wrong_token(source, self.offset)
            offset, self.offset = self.offset, found.end()
            if found.lastgroup != "blank":
                kind = _TOKEN_KINDS.get(str(found.lastgroup), str(found.lastgroup))
                self._before = found[0] if kind == PUNCTUATION else kind
                return RuleToken(kind, found[0], offset)
        return RuleToken(END, "", len(source.rstrip()))

    def _report_wrong_token(self, source: str, offset: int) -> RuleToken:
        """Report characters that begin no token to ``problems``, and skip them."""
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
        self.problems.append(ProgramProblem(self.text.position_at(offset), said))
        return RuleToken(WRONG, source[offset : self.offset], offset)


class TokenFault(Exception):
    """Syntax error at a token; ``expected``: the token that should stand there, if only one could."""

    def __init__(self, token: RuleToken, message: str, expected: str = "") -> None:
        super().__init__(message)
        self.token, self.message, self.expected = token, message, expected


EMPTY_CONSTANTS: Final[Mapping[str, Value]] = MappingProxyType({})


class TokenCursor:
    """Tokens of a program text with lookahead, and the context for parsing the current statement.

    lookahead: tokens that were read but not consumed.
    unit: of the timeline.
    constants: values of ``#const`` names.
    intervals: variables for the intervals of the current statement or aggregate element.
    operators: number of operators in the current term.
    anonymous: number of anonymous variables in the current statement.
    """

    def __init__(
        self,
        text: ProgramText,
        problems: list[ProgramProblem],
        unit: str = "s",
        constants: Mapping[str, Value] = EMPTY_CONSTANTS,
    ) -> None:
        self.text, self.problems, self.lexer = text, problems, Lexer(text, problems)
        self.lookahead: list[RuleToken] = []
        self.unit, self.constants = unit, constants
        self.intervals: list[Variable] = []
        self.operators = self.anonymous = 0

    def begin_statement(self) -> None:
        """Reset the anonymous variables and intervals before a new statement."""
        self.anonymous = 0
        self.intervals = []

    def peek(self, places: int = 0) -> RuleToken:
        """Return the token ``places`` after the next one without consuming it."""
        while len(self.lookahead) <= places:
            self.lookahead.append(self.lexer.next_token())
        return self.lookahead[places]

    def take_token(self) -> RuleToken:
        """Consume the next token and return it."""
        token = self.peek()
        del self.lookahead[0]
        return token

    def is_next(self, *texts: str) -> bool:
        """Whether the next tokens are the words or signs ``texts``."""
        return all(
            self.peek(i).text == text and self.peek(i).kind in (PUNCTUATION, NAME, HASH)
            for i, text in enumerate(texts)
        )

    def accept(self, *texts: str) -> bool:
        """Consume the next tokens if they are ``texts``; return whether they are."""
        found = self.is_next(*texts)
        for _ in texts if found else ():
            self.take_token()
        return found

    def expect(self, text: str, what: str) -> RuleToken:
        """Consume the token ``text``, or raise TokenFault that ``what`` is expected."""
        if not self.is_next(text):
            raise TokenFault(self.peek(), f"expected {what}, found {self.peek()}", text)
        return self.take_token()


#: Said among atoms, it closes the point.
END_OF_POINT: Final = "@end"
_CONSTANT_REGEX: Final = rf"(?:-?[0-9]+|[a-z][A-Za-z0-9_]*|{_STRING_REGEX}|{_IRI_REGEX})"
_CONSTANT_PATTERN: Final = re.compile(_CONSTANT_REGEX, re.ASCII)
_ATOM_PATTERN: Final = re.compile(
    rf"\s*(?!not\b)([a-z][A-Za-z0-9_]*)\s*(?:\(\s*({_CONSTANT_REGEX}(?:\s*,\s*{_CONSTANT_REGEX})*)?\s*\))?\s*\.?\s*",
    re.ASCII,
)
_ATOM_LIST_PATTERN: Final = re.compile(rf'(?:[^;"<]|{_STRING_REGEX}|{_IRI_REGEX}|["<])+', re.ASCII)
#: Python's texts may hold halves of characters; no file does.
SURROGATE_PATTERN: Final = re.compile("[\ud800-\udfff]")
_PREDICATE_PATTERN: Final = re.compile(r"(?!not/)[a-z][A-Za-z0-9_]*/[1-9][0-9]*", re.ASCII)
_VARIABLE_PATTERN: Final = re.compile(r"[(,]\s*([A-Z_]\w*)\s*[,)]")


class AtomError(ValueError):
    """Error: a text is not a ground atom."""


@lru_cache(maxsize=1 << 14)
def read_atom(text: str) -> tuple[str, Row]:
    """Parse the text of a ground atom as (predicate, row). Raises: AtomError."""
    found = _ATOM_PATTERN.fullmatch(text)
    if found is None:
        raise AtomError(_explain_non_atom(text))
    if not text.isascii() and SURROGATE_PATTERN.search(text):
        raise AtomError(f"{text[:80]!r} has half a character (a surrogate)")
    name, arguments = found.groups()
    row = tuple(map(_parse_constant, _CONSTANT_PATTERN.findall(arguments))) if arguments else ()
    return f"{name}/{len(row)}", row


def is_predicate(text: str) -> bool:
    """Whether a text names a predicate with arguments, as p/2 does."""
    return _PREDICATE_PATTERN.fullmatch(text) is not None


def read_constant(text: str) -> Value:
    """Parse the text of a constant. Raises: AtomError."""
    if _CONSTANT_PATTERN.fullmatch(text) is None:
        raise AtomError(
            f'{text[:80]!r} is no constant; write an integer, a symbol, a "string" or an <IRI>'
        )
    return _parse_constant(text)


def _parse_constant(text: str) -> Value:
    """Convert the text of a constant, which is well-formed. Raises: AtomError for integers beyond
    64 bits.
    """
    if text[0] not in "-0123456789":
        return text
    number = int(text) if len(text) <= 20 else INTEGER_LIMIT
    if not -INTEGER_LIMIT <= number < INTEGER_LIMIT:
        raise AtomError(f"the integer {text[:40]}{'…' if len(text) > 40 else ''} is beyond 64 bits")
    return number


def _explain_non_atom(text: str) -> str:
    """Explain to users why a text is not a ground atom."""
    variable = _VARIABLE_PATTERN.search(text)
    if variable is not None:
        return f"{variable[1]} is a variable; atoms of input are ground"
    shown = text.strip()[:80]
    return f'{shown!r} is no ground atom, as in p(1,a,"b")' if shown else "an atom is missing"


def read_log_line(line: str, unit: str = "sec") -> tuple[int, list[str]]:
    """Parse a log line ``time atom; atom; …`` as the time and the texts of its atoms. Raises:
    EventError.
    """
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
    parts = (
        rest.split(";") if '"' not in rest and "<" not in rest else _ATOM_LIST_PATTERN.findall(rest)
    )
    return t, [part.strip() for part in parts if part.strip()]


# Rows that come as columns: numpy or pyarrow arrays of integers or texts.


def parse_columns(
    given: Mapping[str, Any],
) -> Iterator[tuple[str, tuple[np.ndarray[Any, Any], ...]]]:
    """Check input columns; yield each predicate ``p/2`` with its columns as int64, or as objects
    (constants). Raises: InputError.
    """
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
    """Convert a numpy or Arrow column to int64 or to constants. Raises: InputError."""
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
            read_constant(value) if isinstance(value, str) else require_64_bits(int(value))
            for value in array.tolist()
        ]
    except (AtomError, IntegerOverflow) as error:
        raise InputError(
            f"{predicate}: {error}", 'Write constants as in atoms: 5, on, "a text", <urn:x>.'
        ) from error
    return found


def copy_as_rows(rows: Any) -> list[Row]:
    """Copy input rows to a list; a tuple of columns is converted to rows."""
    if isinstance(rows, tuple):
        return list(zip(*(column.tolist() for column in rows)))
    found: Sequence[Row] = rows
    return list(found)
