"""Tokens of programs and of ground atoms, with their places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from streams.rules.problems import Position, ProgramProblem
from streams.rules.syntax import Variable
from streams.rules.values import Value

INTEGER, NAME, VARIABLE, STRING, IRI, AT, HASH, PUNCTUATION, WRONG, END = (
    "integer", "name", "variable", "string", "IRI", "@", "#", "punctuation", "wrong", "end"
)  # fmt: skip
_WORDS: Final = r"""
    (?P<blank>(?:\s|%\*(?:[^*]|\*(?!%))*\*%|%(?!\*)[^\n]*)+)
  | (?P<integer>[0-9]+(?![A-Za-z_]))
  | (?P<name>[a-z][A-Za-z0-9_]*)
  | (?P<variable>[A-Z][A-Za-z0-9_]*|_(?![A-Za-z0-9_]))
  | (?P<string>"(?:[^"\\\n]|\\["\\n])*")
  | (?P<at>@now\.(?:year|month|day|hour|minute|second|weekday)(?![A-Za-z0-9_(])|@[a-z]*)
  | (?P<hash>\#[a-z_]*)
"""
_PUNCTUATION: Final = r"(?P<punctuation>:-|:~|<=|>=|<>|!=|\.\.|[-+*/=<>,.;:|(){}\[\]&?\\])"
#: `<` begins an IRI only where no comparison can stand: not behind an operand.
_IRI: Final = r"""(?P<iri><[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*>)"""
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
class Text:
    """The text of a file, and where its lines begin."""

    file: str
    text: str
    starts: tuple[int, ...]

    def place(self, offset: int) -> Position:
        """The position of a character."""
        line = bisect_right(self.starts, offset)
        return Position(self.file, line, offset - self.starts[line - 1] + 1)


def numbered(text: str, file: str) -> Text:
    """``text`` with the places of its lines."""
    return Text(file, text, (0, *(found.end() for found in re.finditer("\n", text))))


class Lexer:
    """The tokens of a text, one by one. Characters that begin none are told to ``problems``, and
    are a token of kind WRONG.
    """

    def __init__(self, text: Text, problems: list[ProgramProblem]) -> None:
        self.text, self.problems, self.at = text, problems, 0
        self._before = ""

    def next(self) -> RuleToken:
        source = self.text.text
        while self.at < len(source):
            found = (_PLAIN if self._before in _OPERANDS else _WITH_IRI).match(source, self.at)
            if found is None:
                return self._wrong(source, self.at)
            offset, self.at = self.at, found.end()
            if found.lastgroup != "blank":
                kind = _KINDS.get(str(found.lastgroup), str(found.lastgroup))
                self._before = found[0] if kind == PUNCTUATION else kind
                return RuleToken(kind, found[0], offset)
        return RuleToken(END, "", len(source.rstrip()))

    def _wrong(self, source: str, offset: int) -> RuleToken:
        first = source[offset]
        if first == '"':
            rest = re.compile(r'"(?:[^"\\\n]|\\["\\n])*').match(source, offset)
            self.at = rest.end() if rest else offset + 1
            if source[self.at : self.at + 1] == "\\":
                said = 'in a string \\ stands before ", \\ or n only; write \\\\ for \\ itself'
            else:
                said = 'this string has no end in its line; close it with "'
            self.at = max(
                self.at, source.find("\n", offset) if "\n" in source[offset:] else len(source)
            )
        elif first == "%":
            self.at, said = len(source), "this comment has no end; close it with *%"
        elif first.isascii() and (first.isalnum() or first == "_"):
            word = re.compile(r"\w+", re.ASCII).match(source, offset)
            self.at = word.end() if word else offset + 1
            said = f"'{source[offset : self.at][:40]}' is no integer, name or variable; names and variables begin with a letter"
        else:
            self.at = offset + 1
            shown = (
                f"'{first}' (U+{ord(first):04X})" if first.isprintable() else f"U+{ord(first):04X}"
            )
            said = f"{shown} does not belong here; names are of a-z, A-Z, 0-9 and _, all else stands in a string"
        self._before = NAME
        self.problems.append(ProgramProblem(self.text.place(offset), said))
        return RuleToken(WRONG, source[offset : self.at], offset)


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
        text: Text,
        problems: list[ProgramProblem],
        unit: str = "s",
        constants: Mapping[str, Value] = NO_CONSTANTS,
    ) -> None:
        self.text, self.problems, self.lexer = text, problems, Lexer(text, problems)
        self.ahead: list[RuleToken] = []
        self.unit, self.constants = unit, constants
        self.intervals: list[Variable] = []
        self.operators = self.anonymous = 0

    def begin_rule(self) -> None:
        """Forget variables and intervals of the statement before."""
        self.anonymous = 0
        self.intervals = []

    def peek(self, places: int = 0) -> RuleToken:
        while len(self.ahead) <= places:
            self.ahead.append(self.lexer.next())
        return self.ahead[places]

    def take(self) -> RuleToken:
        token = self.peek()
        del self.ahead[0]
        return token

    def sees(self, *texts: str) -> bool:
        """Whether the next tokens are these words or signs."""
        return all(
            self.peek(i).text == text and self.peek(i).kind in (PUNCTUATION, NAME, HASH)
            for i, text in enumerate(texts)
        )

    def accept(self, *texts: str) -> bool:
        found = self.sees(*texts)
        for _ in texts if found else ():
            self.take()
        return found

    def expect(self, text: str, what: str) -> RuleToken:
        if not self.sees(text):
            raise TokenFault(self.peek(), f"expected {what}, found {self.peek()}", text)
        return self.take()
