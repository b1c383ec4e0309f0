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
    alternation,
    category_characters,
    characters,
    complement,
    concatenate,
    difference,
    escape_characters,
    intersection,
    repeat,
    union,
)

_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t"} | {c: c for c in "\\|.?*+(){}-[]^$"}
_META: Final = frozenset(".\\?*+{}()|[]")
_LONGEST: Final = 2000
#: Quantifiers of one character: least and greatest number of copies, None for no greatest.
_QUANTIFIERS: Final = {"?": (0, 1), "*": (0, None), "+": (1, None)}


class PatternError(Exception):
    """Error: the text is not an XSD regular expression."""


class UndecidedPatternError(Exception):
    """Error: a pattern may be legal, but is too long or uses an unsupported feature, such as a
    Unicode block.
    """


def read_pattern(pattern: str) -> Regex:
    """Parse the XSD regular expression `pattern`. Only characters that XML allows match.

    Raises: PatternError if it is malformed, UndecidedPatternError if it is not supported.
    """
    if len(pattern) > _LONGEST:
        raise UndecidedPatternError(f"the pattern is longer than {_LONGEST} characters")
    reader = _PatternReader(pattern)
    try:
        result = reader.read_alternatives()
    except RecursionError:
        raise UndecidedPatternError("the pattern is nested too deeply") from None
    if not reader.is_at_end:
        raise PatternError(f"unbalanced ) at {reader.at}")
    return result


class _PatternReader:
    """Recursive-descent parser of one XSD regular expression."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    @property
    def is_at_end(self) -> bool:
        """Decide whether the whole pattern has been read."""
        return self.at == len(self.pattern)

    def peek(self, length: int = 1) -> str:
        """Return the next `length` characters of the pattern without consuming them."""
        return self.pattern[self.at : self.at + length]

    def take(self) -> str:
        """Consume and return the next character. Raises: PatternError at the end."""
        if self.is_at_end:
            raise PatternError("the pattern ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def expect(self, character: str) -> None:
        """Consume the next character, which must be `character`. Raises: PatternError."""
        if self.peek() != character:
            raise PatternError(f"{character} expected at {self.at}")
        self.at += 1

    def read_alternatives(self) -> Regex:
        """Parse alternatives separated by ``|``."""
        branches = [self.read_branch()]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.read_branch())
        return alternation(branches)

    def read_branch(self) -> Regex:
        """Parse one alternative: a sequence of quantified atoms."""
        pieces = []
        while not self.is_at_end and self.peek() not in "|)":
            pieces.append(self.read_quantifier(self.read_atom()))
        return concatenate(*pieces) if pieces else EPSILON

    def read_quantifier(self, atom: Regex) -> Regex:
        """Parse an optional quantifier, and apply it to the expression ``atom`` before it."""
        sign = self.peek()
        if not sign or sign not in "?*+{":
            return atom
        self.at += 1
        return repeat(atom, *(self.read_bounds() if sign == "{" else _QUANTIFIERS[sign]))

    def read_bounds(self) -> tuple[int, int | None]:
        """Parse the bounds of a quantifier after its ``{``: (least, greatest) number of copies, None
        for no greatest.
        """
        low = self.read_number()
        high: int | None = low
        if self.peek() == ",":
            self.at += 1
            high = None if self.peek() == "}" else self.read_number()
        self.expect("}")
        if high is not None and high < low:
            raise PatternError(f"empty quantifier range before {self.at}")
        return low, high

    def read_number(self) -> int:
        """Parse a decimal number. Raises: PatternError."""
        start = self.at
        while self.peek() and self.peek() in "0123456789":
            self.at += 1
        digits = self.pattern[start : self.at]
        if not digits:
            raise PatternError(f"a number expected at {start}")
        if len(digits) > 9:
            raise UndecidedPatternError(f"the quantifier {digits} is too large")
        return int(digits)

    def read_atom(self) -> Regex:
        """Parse one atom: a group in parentheses, a character class, an escape or a character."""
        character = self.take()
        if character == "(":
            inner = self.read_alternatives()
            self.expect(")")
            return inner
        if character == ".":
            return _legal_characters(complement(LINE_BREAKS))
        if character == "[":
            return _legal_characters(self.read_class())
        if character == "\\":
            return _legal_characters(self.read_escape()[0])
        if character in _META:
            raise PatternError(f"{character} out of place at {self.at - 1}")
        return _legal_characters(_character_range(character))

    def read_escape(self) -> tuple[Ranges, str]:
        """Parse an escape after its backslash. Return the characters it matches, and the character
        if it is a single one.
        """
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
        found = escape_characters(letter)
        if found is None:
            raise PatternError(f"unknown escape \\{letter}")
        return found, ""

    def read_class(self) -> Ranges:
        """Parse a character class after its ``[``, including the closing bracket."""
        negative = self.peek() == "^"
        self.at += negative
        collected: list[Ranges] = []
        removed: Ranges = ()
        while self.peek() != "]" or not collected:
            if self.peek(2) == "-[" and collected:
                self.at += 2
                removed = self.read_class()
                if self.peek() != "]":
                    raise PatternError(f"] expected after a subtraction at {self.at}")
                break
            collected.append(self.read_class_member())
        self.expect("]")
        everything = union(*collected)
        return difference(complement(everything) if negative else everything, removed)

    def read_class_member(self) -> Ranges:
        """Parse one member of a character class: a character, a range or an escape."""
        ranges, low = self.read_class_character()
        if not low or self.peek() != "-" or self.peek(2) in ("-]", "-["):
            return ranges
        self.at += 1
        _, high = self.read_class_character()
        if not high or ord(high) < ord(low):
            raise PatternError(f"broken range before {self.at}")
        return ((ord(low), ord(high)),)

    def read_class_character(self) -> tuple[Ranges, str]:
        """Parse one character or escape in a character class. Return the characters it matches, and
        the character if single.
        """
        character = self.take()
        if character == "\\":
            return self.read_escape()
        if character in "[]":
            raise PatternError(f"{character} out of place at {self.at - 1}")
        return _character_range(character), character


def _character_range(character: str) -> Ranges:
    """Return the code point range of one character."""
    return ((ord(character), ord(character)),)


def _legal_characters(ranges: Ranges) -> Regex:
    """Make the expression for one character of ``ranges`` that XML allows."""
    return characters(intersection(ranges, CHAR))


def _property_ranges(name: str, negative: bool) -> Ranges:
    r"""Return the code points of a Unicode category or block, as in ``\p{Lu}``; the others if
    ``negative``.
    """
    if name.startswith("Is"):
        if name[2:] not in BLOCKS:
            raise UndecidedPatternError(f"the Unicode block {name[2:]} is not supported")
        found: Ranges | None = (BLOCKS[name[2:]],)
    else:
        found = category_characters(name)
    if found is None:
        raise PatternError(f"no such category: {name}")
    return complement(found) if negative else found
