"""Regular expressions over code points, with complement and intersection.

Expressions are interned, so ``is`` is equality, and equal derivatives are recognised
(`shiq.datatypes.automaton`).

The budget of automaton steps that one question may use.

A single automaton is bounded by itself, but a question about m patterns has up to 2^m cells with an
automaton each. So all of them share one budget.

>>> with shared_fuel() as outer, shared_fuel() as inner:
...     outer is inner
True

Sets of characters as sorted, disjoint, inclusive ranges of code points; classes of XML and XSD.

Source: XML 1.1 for the production Char (a superset of XML 1.0's; XSD 1.1 leaves the choice open), XML 1.0
fifth edition for names, XSD 1.1 part 2 appendix G for the escapes. Unicode categories are those of
the running Python.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import count as counter
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

Ranges: TypeAlias = tuple[tuple[int, int], ...]

LAST: Final = 0x10FFFF
#: No character of a string: parts a string from its language tag in a key of the text space.
SEPARATOR: Final = 0


def merge_ranges(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Merge inclusive code point ranges into sorted, disjoint ones."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def character_set(characters: str) -> Ranges:
    """Make the code point ranges of these characters."""
    return merge_ranges((ord(c), ord(c)) for c in characters)


def union(*sets: Ranges) -> Ranges:
    """Return the union of sets of code points."""
    return merge_ranges(pair for ranges in sets for pair in ranges)


def complement(ranges: Ranges) -> Ranges:
    """Return all code points outside a set, including separators and surrogates.

    Intersect with `CHAR` to get the characters that strings may have.
    """
    result, low = [], 0
    for first, last in ranges:
        if low < first:
            result.append((low, first - 1))
        low = last + 1
    if low <= LAST:
        result.append((low, LAST))
    return tuple(result)


def intersection(a: Ranges, b: Ranges) -> Ranges:
    """Return the intersection of two sets of code points."""
    return complement(union(complement(a), complement(b)))


def difference(a: Ranges, b: Ranges) -> Ranges:
    """Return the code points of `a` that are not in `b`."""
    return intersection(a, complement(b))


def count_characters(ranges: Ranges) -> int:
    """Count the code points in a set."""
    return sum(high - low + 1 for low, high in ranges)


CHAR: Final[Ranges] = ((0x1, 0xD7FF), (0xE000, 0xFFFD), (0x10000, LAST))
OCTET: Final[Ranges] = ((0, 255),)
LINE_BREAKS: Final = character_set("\n\r")
SPACE: Final = character_set(" \t\n\r")
NAME_START: Final[Ranges] = merge_ranges(
    (
        *(
            (0x3A, 0x3A),
            (0x41, 0x5A),
            (0x5F, 0x5F),
            (0x61, 0x7A),
            (0xC0, 0xD6),
            (0xD8, 0xF6),
            (0xF8, 0x2FF),
            (0x370, 0x37D),
        ),
        *(
            (0x37F, 0x1FFF),
            (0x200C, 0x200D),
            (0x2070, 0x218F),
            (0x2C00, 0x2FEF),
            (0x3001, 0xD7FF),
            (0xF900, 0xFDCF),
        ),
        *((0xFDF0, 0xFFFD), (0x10000, 0xEFFFF)),
    )
)
NAME: Final = union(
    NAME_START, ((0x2D, 0x2E), (0x30, 0x39), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040))
)
LOWER: Final = ((0x61, 0x7A),)
LETTER: Final = ((0x41, 0x5A), (0x61, 0x7A))
ASCII_DIGIT: Final = ((0x30, 0x39),)

#: The Unicode blocks that patterns name in practice; any other block is not decided.
BLOCKS: Final[dict[str, tuple[int, int]]] = {
    "BasicLatin": (0x0000, 0x007F),
    "Latin-1Supplement": (0x0080, 0x00FF),
    "LatinExtended-A": (0x0100, 0x017F),
    "LatinExtended-B": (0x0180, 0x024F),
    "IPAExtensions": (0x0250, 0x02AF),
    "SpacingModifierLetters": (0x02B0, 0x02FF),
    "CombiningDiacriticalMarks": (0x0300, 0x036F),
    "GreekandCoptic": (0x0370, 0x03FF),
    "Greek": (0x0370, 0x03FF),
    "Cyrillic": (0x0400, 0x04FF),
    "Armenian": (0x0530, 0x058F),
    "Hebrew": (0x0590, 0x05FF),
    "Arabic": (0x0600, 0x06FF),
    "Devanagari": (0x0900, 0x097F),
    "Thai": (0x0E00, 0x0E7F),
    "LatinExtendedAdditional": (0x1E00, 0x1EFF),
    "GreekExtended": (0x1F00, 0x1FFF),
    "GeneralPunctuation": (0x2000, 0x206F),
    "CurrencySymbols": (0x20A0, 0x20CF),
    "LetterlikeSymbols": (0x2100, 0x214F),
    "Arrows": (0x2190, 0x21FF),
    "MathematicalOperators": (0x2200, 0x22FF),
    "Hiragana": (0x3040, 0x309F),
    "Katakana": (0x30A0, 0x30FF),
    "CJKUnifiedIdeographs": (0x4E00, 0x9FFF),
    "HangulSyllables": (0xAC00, 0xD7AF),
    "PrivateUseArea": (0xE000, 0xF8FF),
}


@cache
def _unicode_categories() -> dict[str, Ranges]:
    """Collect the code points of each Unicode general category."""
    found: dict[str, list[tuple[int, int]]] = {}
    category = unicodedata.category
    start, current = 0, category("\0")
    for code in range(1, LAST + 2):
        here = category(chr(code)) if code <= LAST else ""
        if here != current:
            found.setdefault(current, []).append((start, code - 1))
            start, current = code, here
    return {name: tuple(pairs) for name, pairs in found.items()}


@cache
def category_characters(name: str) -> Ranges | None:
    """Return the code points of a Unicode general category ("Lu") or group of categories ("L");
    None if it does not exist.
    """
    table = _unicode_categories()
    if name == "Cs" or len(name) not in (1, 2):
        return None
    members = [ranges for key, ranges in table.items() if key.startswith(name) and key != "Cs"]
    return union(*members) if members else None


@cache
def escape_characters(letter: str) -> Ranges | None:
    r"""Return the code points that a multi-character escape such as ``\d`` matches; None if it does
    not exist.
    """
    if letter.isupper():
        positive = escape_characters(letter.lower())
        return None if positive is None else complement(positive)
    match letter:
        case "s":
            return SPACE
        case "i":
            return NAME_START
        case "c":
            return NAME
        case "d":
            return category_characters("Nd")
        case "w":
            return complement(
                union(
                    category_characters("P") or (),
                    category_characters("Z") or (),
                    category_characters("C") or (),
                )
            )
    return None


#: Steps of one question: less than a second.
FUEL: Final = 400_000


class OutOfFuelError(Exception):
    """Signal: a question about automata needs more steps than its budget has."""


class Fuel:
    """The step budget of one question about automata.

    is_spent: a step was requested when none was left.
    ran_out: an automaton was abandoned, for lack of steps or of its own share of them.
    """

    __slots__ = ("is_spent", "left", "ran_out")

    def __init__(self, steps: int = FUEL) -> None:
        self.left = steps
        self.is_spent = self.ran_out = False

    @property
    def steps_taken(self) -> int:
        """Return the number of steps taken so far, at most the whole budget."""
        return FUEL - self.left

    def burn(self, steps: int, floor: int = 0) -> None:
        """Take `steps` from the step budget. Raises: OutOfFuelError if fewer than `floor` would be
        left.
        """
        self.left -= steps
        if self.left < floor:
            self.is_spent |= self.left < 0
            raise OutOfFuelError


_current: ContextVar[Fuel | None] = ContextVar("fuel", default=None)


def current_fuel() -> Fuel:
    """Return the step budget of the current question, or a fresh one outside of questions."""
    return _current.get() or Fuel()


@contextmanager
def shared_fuel() -> Iterator[Fuel]:
    """Context manager: give all automata used inside one step budget. A nested question uses the
    outer one.
    """
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    token = _current.set(Fuel())
    try:
        yield current_fuel()
    finally:
        _current.reset(token)


class Regex:
    """A regular expression with complement and intersection, as an interned tree node: equal ones
    are one object.

    kind, parts: the operator and its operands (nodes, character ranges or numbers).
    nullable: whether the empty string matches.
    shortest: a lower bound on the length of its strings.
    """

    __slots__ = ("__weakref__", "kind", "nullable", "parts", "serial", "shortest")
    kind: str
    parts: tuple[Any, ...]
    nullable: bool
    serial: int
    shortest: float


_interned: WeakValueDictionary[tuple[Any, ...], Regex] = WeakValueDictionary()
_serials = counter()


def _intern_node(kind: str, nullable: bool, *parts: Any) -> Regex:
    """Return the one expression node with this operator and these operands; make it if it is new."""
    key = (kind, *parts)
    found = _interned.get(key)
    if found is None:
        found = Regex()
        found.kind, found.parts, found.nullable, found.serial = (
            kind,
            parts,
            nullable,
            next(_serials),
        )
        found.shortest = _shortest_length(kind, nullable, parts)
        _interned[key] = found
    return found


def _shortest_length(kind: str, nullable: bool, parts: tuple[Any, ...]) -> float:
    """Compute a lower bound on the length of the strings that an expression matches."""
    match kind:
        case "sequence":
            return float(sum(part.shortest for part in parts))
        case "or":
            return min((part.shortest for part in parts), default=math.inf)
        case "and":
            return max((part.shortest for part in parts), default=0)
        case "repeat":
            return float(parts[0].shortest * parts[1]) if parts[1] else 0
    return 0 if nullable else 1


EMPTY: Final = _intern_node("or", False)
EPSILON: Final = _intern_node("epsilon", True)
EVERYTHING: Final = _intern_node("and", True)


def characters(ranges: Ranges) -> Regex:
    """Make the expression that matches one character out of `ranges`."""
    return _intern_node("characters", False, ranges) if ranges else EMPTY


def concatenate(*parts: Regex) -> Regex:
    """Make the concatenation of several expressions."""
    result = EPSILON
    for part in reversed(parts):
        result = concatenate_two(part, result)
    return result


def concatenate_two(first: Regex, rest: Regex) -> Regex:
    """Make the concatenation of two expressions."""
    if first is EMPTY or rest is EMPTY:
        return EMPTY
    if first is EPSILON:
        return rest
    if rest is EPSILON:
        return first
    if first.kind == "sequence":
        return concatenate_two(first.parts[0], concatenate_two(first.parts[1], rest))
    return _intern_node("sequence", first.nullable and rest.nullable, first, rest)


def exact_string(string: str) -> Regex:
    """Make the expression that matches exactly this string."""
    return concatenate(*(characters(merge_ranges([(ord(c), ord(c))])) for c in string))


def _flatten_parts(kind: str, parts: Iterable[Regex]) -> list[Regex]:
    """Collect the operands of a union or intersection, with nested ones of the same kind flattened
    and repeats dropped.
    """
    distinct: dict[int, Regex] = {}
    for part in parts:
        for inner in part.parts if part.kind == kind else (part,):
            distinct[inner.serial] = inner
    return [distinct[serial] for serial in sorted(distinct)]


def alternation(parts: Iterable[Regex]) -> Regex:
    """Make the union of expressions."""
    flat = _flatten_parts("or", parts)
    if EVERYTHING in flat:
        return EVERYTHING
    if len(flat) == 1:
        return flat[0]
    return _intern_node("or", any(p.nullable for p in flat), *flat)


def intersect(parts: Iterable[Regex]) -> Regex:
    """Make the intersection of expressions."""
    flat = _merge_length_constraints(_flatten_parts("and", parts))
    if EMPTY in flat:
        return EMPTY
    if len(flat) == 1:
        return flat[0]
    return _intern_node("and", all(p.nullable for p in flat), *flat)


def _merge_length_constraints(parts: list[Regex]) -> list[Regex]:
    """Merge those operands of an intersection that only bound the length, over the same characters."""
    spans: dict[Regex, list[tuple[int, float]]] = {}
    for node in parts:
        if is_length_constraint(node):
            part, low, high = node.parts
            spans[part] = [
                (max(low, a), b if high is None else min(high, b))
                for a, b in spans.get(part, [(0, math.inf)])
            ]
    others = []
    for node in parts:
        inner = node.parts[0] if node.kind == "not" else None
        if inner is not None and is_length_constraint(inner) and inner.parts[0] in spans:
            part, low, high = inner.parts
            outside = [(0, low - 1)] if high is None else [(0, low - 1), (high + 1, math.inf)]
            spans[part] = [(max(a, c), min(b, d)) for a, b in spans[part] for c, d in outside]
        elif not is_length_constraint(node):
            others.append(node)
    for part, pieces in spans.items():
        lengths = [repeat(part, a, None if b == math.inf else int(b)) for a, b in pieces if a <= b]
        others.append(alternation(lengths))
    return sorted(others, key=lambda node: node.serial)


def is_length_constraint(node: Regex) -> bool:
    """Decide whether an expression only bounds the length of strings over some set of characters."""
    return node.kind == "repeat" and node.parts[0].kind == "characters"


def negation(part: Regex) -> Regex:
    """Make the complement of an expression, relative to all strings of code points."""
    if part.kind == "not":
        return part.parts[0]
    if part is EMPTY or part is EVERYTHING:
        return EVERYTHING if part is EMPTY else EMPTY
    return _intern_node("not", not part.nullable, part)


def repeat(part: Regex, low: int = 0, high: int | None = None) -> Regex:
    """Make the expression for `low` to `high` copies of `part`; None is no upper bound."""
    if part.nullable:
        low = 0
    if high == 0 or part is EPSILON:
        return EPSILON
    if part is EMPTY:
        return EMPTY if low else EPSILON
    if (low, high) == (1, 1):
        return part
    if part.kind == "repeat" and part.parts[1] <= 1:
        inner, inner_low, inner_high = part.parts  # the numbers of copies that arise have no gaps
        return repeat(
            inner,
            inner_low * low,
            None if high is None or inner_high is None else inner_high * high,
        )
    return _intern_node("repeat", low == 0, part, low, high)


def remaining_repeats(node: Regex) -> Regex:
    """Return the expression for the further copies of a repetition, after one copy."""
    part, low, high = node.parts
    return repeat(part, max(low - 1, 0), None if high is None else high - 1)
