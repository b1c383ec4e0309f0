r"""Parse XSD regular expressions into regular sets.

Differences from Python: a pattern matches the whole string; ``^`` and ``$`` are ordinary
characters; there are no backreferences, lazy quantifiers or non-capturing groups; classes can be
subtracted (``[a-z-[aeiou]]``). Source: XSD 1.1 part 2, appendix G.

>>> from shiq.datatypes.automaton import Automaton
>>> [Automaton(read_pattern(r"[A-Z]{2}\d+|x?")).accepts(s) for s in ("AB12", "x", "", "AB", "xAB1")]
[True, True, True, False, False]
"""

from __future__ import annotations

from typing import Final

from shiq.datatypes.regular_expressions import (
    BLOCKS,
    CHAR,
    EPSILON,
    LINE_BREAKS,
    Ranges,
    Regex,
    category,
    characters,
    choice,
    complement,
    difference,
    escape,
    intersection,
    repeat,
    sequence,
    union,
)

_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t"} | {c: c for c in "\\|.?*+(){}-[]^$"}
_META: Final = frozenset(".\\?*+{}()|[]")
_LONGEST: Final = 2000


class PatternError(Exception):
    """The text is not an XSD regular expression."""


class UndecidedPatternError(Exception):
    """A pattern may be legal, but uses an unsupported feature (a Unicode block, great length)."""


def read_pattern(pattern: str) -> Regex:
    """Parse `pattern` to the set of matching strings of XML characters.

    Raises: PatternError if it is malformed, UndecidedPatternError if it is not supported.
    """
    if len(pattern) > _LONGEST:
        raise UndecidedPatternError(f"the pattern is longer than {_LONGEST} characters")
    reader = _PatternReader(pattern)
    try:
        result = reader.alternatives()
    except RecursionError:
        raise UndecidedPatternError("the pattern is nested too deeply") from None
    if not reader.is_at_end:
        raise PatternError(f"unbalanced ) at {reader.at}")
    return result


class _PatternReader:
    """Recursive-descent reader of one pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    @property
    def is_at_end(self) -> bool:
        """Decide whether the pattern is read completely."""
        return self.at == len(self.pattern)

    def peek(self, length: int = 1) -> str:
        """Return the next characters without consuming them."""
        return self.pattern[self.at : self.at + length]

    def take(self) -> str:
        """Consume one character. Raises: PatternError at the end."""
        if self.is_at_end:
            raise PatternError("the pattern ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def expect(self, character: str) -> None:
        """Consume this character. Raises: PatternError for another one."""
        if self.peek() != character:
            raise PatternError(f"{character} expected at {self.at}")
        self.at += 1

    def alternatives(self) -> Regex:
        """Read branches separated by ``|``."""
        branches = [self.branch()]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.branch())
        return choice(branches)

    def branch(self) -> Regex:
        """Read a sequence of quantified atoms."""
        pieces = []
        while not self.is_at_end and self.peek() not in "|)":
            pieces.append(self.quantify(self.atom()))
        return sequence(*pieces) if pieces else EPSILON

    def quantify(self, atom: Regex) -> Regex:
        """Read a quantifier, and apply it to ``atom``."""
        match self.peek():
            case "?":
                low, high = 0, 1
            case "*":
                low, high = 0, -1
            case "+":
                low, high = 1, -1
            case "{":
                self.at += 1
                low, high = self.bounds()
                return repeat(atom, low, None if high < 0 else high)
            case _:
                return atom
        self.at += 1
        return repeat(atom, low, None if high < 0 else high)

    def bounds(self) -> tuple[int, int]:
        """Read the bounds after ``{``; -1 for no upper bound."""
        low = high = self.number()
        if self.peek() == ",":
            self.at += 1
            high = -1 if self.peek() == "}" else self.number()
        self.expect("}")
        if 0 <= high < low:
            raise PatternError(f"empty quantifier range before {self.at}")
        return low, high

    def number(self) -> int:
        """Read a number. Raises: PatternError."""
        start = self.at
        while self.peek() and self.peek() in "0123456789":
            self.at += 1
        digits = self.pattern[start : self.at]
        if not digits:
            raise PatternError(f"a number expected at {start}")
        if len(digits) > 9:
            raise UndecidedPatternError(f"the quantifier {digits} is too large")
        return int(digits)

    def atom(self) -> Regex:
        """Read one atom: a group, a class, an escape or a character."""
        character = self.take()
        if character == "(":
            inner = self.alternatives()
            self.expect(")")
            return inner
        if character == ".":
            return _legal_characters(complement(LINE_BREAKS))
        if character == "[":
            return _legal_characters(self.group())
        if character == "\\":
            return _legal_characters(self.escape()[0])
        if character in _META:
            raise PatternError(f"{character} out of place at {self.at - 1}")
        return _legal_characters(_character_range(character))

    def escape(self) -> tuple[Ranges, str]:
        """Read an escape after its backslash: the class, and the character if it is a single one."""
        letter = self.take()
        if letter in "pP":
            self.expect("{")
            end = self.pattern.find("}", self.at)
            if end < 0:
                raise PatternError("unterminated category escape")
            name, self.at = self.pattern[self.at : end], end + 1
            return _property_ranges(name, letter == "P"), ""
        if letter in _ESCAPED:
            return _character_range(_ESCAPED[letter]), _ESCAPED[letter]
        found = escape(letter)
        if found is None:
            raise PatternError(f"unknown escape \\{letter}")
        return found, ""

    def group(self) -> Ranges:
        """Read a character class expression after its ``[``, including the closing bracket."""
        negative = self.peek() == "^"
        self.at += negative
        collected: list[Ranges] = []
        removed: Ranges = ()
        while self.peek() != "]" or not collected:
            if self.peek(2) == "-[" and collected:
                self.at += 2
                removed = self.group()
                if self.peek() != "]":
                    raise PatternError(f"] expected after a subtraction at {self.at}")
                break
            collected.append(self.member())
        self.expect("]")
        everything = union(*collected)
        return difference(complement(everything) if negative else everything, removed)

    def member(self) -> Ranges:
        """Read one character, range or escape of a class."""
        ranges, low = self.single()
        if not low or self.peek() != "-" or self.peek(2) in ("-]", "-["):
            return ranges
        self.at += 1
        _, high = self.single()
        if not high or ord(high) < ord(low):
            raise PatternError(f"broken range before {self.at}")
        return ((ord(low), ord(high)),)

    def single(self) -> tuple[Ranges, str]:
        """Read a single character or escape inside a class."""
        character = self.take()
        if character == "\\":
            return self.escape()
        if character in "[]":
            raise PatternError(f"{character} out of place at {self.at - 1}")
        return _character_range(character), character


def _character_range(character: str) -> Ranges:
    """The range of one character."""
    return ((ord(character), ord(character)),)


def _legal_characters(ranges: Ranges) -> Regex:
    """The expression for a character of ``ranges`` that XML allows."""
    return characters(intersection(ranges, CHAR))


def _property_ranges(name: str, negative: bool) -> Ranges:
    """The characters of a Unicode category or block."""
    if name.startswith("Is"):
        if name[2:] not in BLOCKS:
            raise UndecidedPatternError(f"the Unicode block {name[2:]} is not supported")
        found: Ranges | None = (BLOCKS[name[2:]],)
    else:
        found = category(name)
    if found is None:
        raise PatternError(f"no such category: {name}")
    return complement(found) if negative else found
