"""Sets of characters (code points) as sorted, disjoint, inclusive ranges; the classes that XML
and XSD name.

Source: XML 1.1 for ``Char`` (of which XML 1.0's is a subset; XSD 1.1 leaves the choice open),
XML 1.0 fifth edition for names, XSD 1.1 part 2 appendix G for the escapes. Unicode categories
are those of the running Python.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final, TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

LAST: Final = 0x10FFFF
#: No character of a string: parts a string from its language tag in a key of the text space.
SEPARATOR: Final = 0


def ranges_of(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """The union of inclusive ranges, in normal form."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def single(characters: str) -> Ranges:
    return ranges_of((ord(c), ord(c)) for c in characters)


def union(*sets: Ranges) -> Ranges:
    return ranges_of(pair for ranges in sets for pair in ranges)


def complement(ranges: Ranges) -> Ranges:
    """All other code points, the separator and surrogates included: intersect with `CHAR` where
    strings are meant.
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
    return complement(union(complement(a), complement(b)))


def difference(a: Ranges, b: Ranges) -> Ranges:
    return intersection(a, complement(b))


def size(ranges: Ranges) -> int:
    return sum(high - low + 1 for low, high in ranges)


CHAR: Final[Ranges] = ((0x1, 0xD7FF), (0xE000, 0xFFFD), (0x10000, LAST))
OCTET: Final[Ranges] = ((0, 255),)
LINE_BREAKS: Final = single("\n\r")
SPACE: Final = single(" \t\n\r")
NAME_START: Final[Ranges] = ranges_of(
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
def _categories() -> dict[str, Ranges]:
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
def category(name: str) -> Ranges | None:
    """The characters of a general category ("Lu") or group of categories ("L"); None if there is
    no such category.
    """
    table = _categories()
    if name == "Cs" or len(name) not in (1, 2):
        return None
    members = [ranges for key, ranges in table.items() if key.startswith(name) and key != "Cs"]
    return union(*members) if members else None


@cache
def escape(letter: str) -> Ranges | None:
    """The class of a multi-character escape such as ``\\d``; None if there is no such escape."""
    if letter.isupper():
        positive = escape(letter.lower())
        return None if positive is None else complement(positive)
    match letter:
        case "s":
            return SPACE
        case "i":
            return NAME_START
        case "c":
            return NAME
        case "d":
            return category("Nd")
        case "w":
            return complement(union(category("P") or (), category("Z") or (), category("C") or ()))
    return None
