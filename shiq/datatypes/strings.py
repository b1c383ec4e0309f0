"""Sets of strings, of strings with language tags, of IRIs and of octet sequences, all as regular
sets.

A string with a tag is kept as string NUL tag, so that facets on either part are regular
conditions. Octet sequences are strings of characters below 256; IRIs are strings of their own
space. Source: OWL 2 structural specification, 4.3, 4.5, 4.6; rdf:PlainLiteral, section 3; RFC
4647, 3.3.2.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from shiq.datatypes.automaton import Automaton
from shiq.datatypes.characters import (
    ASCII_DIGIT,
    CHAR,
    LETTER,
    LOWER,
    NAME,
    NAME_START,
    OCTET,
    SEPARATOR,
    difference,
    single,
    union,
)
from shiq.datatypes.regular import (
    EVERYTHING,
    Regex,
    both,
    characters,
    negation,
    repeat,
    sequence,
    text,
)

_LOWER_OR_DIGIT: Final = union(LOWER, ASCII_DIGIT)
_DASH: Final = text("-")
_SEPARATOR: Final = characters(((SEPARATOR, SEPARATOR),))
_SUBTAG: Final = repeat(characters(_LOWER_OR_DIGIT), 1, 8)
TAG: Final = sequence(repeat(characters(LOWER), 1, 8), repeat(sequence(_DASH, _SUBTAG)))
_NO_BREAK: Final = difference(CHAR, single("\t\n\r"))
_SOLID: Final = characters(difference(_NO_BREAK, single(" ")))

STRING: Final = repeat(characters(CHAR))
TAGGED_STRING: Final = sequence(STRING, _SEPARATOR, TAG)
OCTETS: Final = repeat(characters(OCTET))

#: The subtypes of xsd:string, by local name.
STRING_TYPES: Final[dict[str, Regex]] = {
    "string": STRING,
    "normalizedString": repeat(characters(_NO_BREAK)),
    "token": repeat(
        sequence(repeat(_SOLID, 1), repeat(sequence(text(" "), repeat(_SOLID, 1)))), 0, 1
    ),
    "language": sequence(
        repeat(characters(LETTER), 1, 8),
        repeat(sequence(_DASH, repeat(characters(union(LETTER, ASCII_DIGIT)), 1, 8))),
    ),
    "Name": sequence(characters(NAME_START), repeat(characters(NAME))),
    "NCName": sequence(
        characters(difference(NAME_START, single(":"))),
        repeat(characters(difference(NAME, single(":")))),
    ),
    "NMTOKEN": repeat(characters(NAME), 1),
}


class RegularSet:
    """A regular subset of ``universe``; ``node`` is its condition, read inside the universe."""

    __slots__ = ("_automaton", "node", "universe")

    def __init__(self, universe: Regex, node: Regex = EVERYTHING) -> None:
        self.universe = universe
        self.node = node
        self._automaton: Automaton | None = None

    @property
    def automaton(self) -> Automaton:
        if self._automaton is None:
            self._automaton = _automaton(both([self.universe, self.node]))
        return self._automaton

    def meet(self, other: RegularSet) -> RegularSet:
        return RegularSet(self.universe, both([self.node, other.node]))

    def complement(self) -> RegularSet:
        return RegularSet(self.universe, negation(self.node))

    def has(self, key: str) -> bool | None:
        return self.automaton.accepts(key)

    def count(self, limit: float) -> float | None:
        return self.automaton.count(limit)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RegularSet) and (self.universe, self.node) == (
            other.universe,
            other.node,
        )

    def __hash__(self) -> int:
        return hash((self.universe, self.node))


@lru_cache(maxsize=1000)
def _automaton(node: Regex) -> Automaton:
    return Automaton(node)


def length_facet(low: int, high: int | None, universe: Regex) -> Regex:
    """The members of ``universe`` of ``low`` to ``high`` characters, the language tag not counted."""
    return on_strings(
        repeat(characters(OCTET if universe is OCTETS else CHAR), low, high), universe
    )


def on_strings(condition: Regex, universe: Regex) -> Regex:
    """The members of ``universe`` whose string part (all, but for tagged strings) meets
    ``condition``.
    """
    return sequence(condition, _SEPARATOR, TAG) if universe is TAGGED_STRING else condition


def language_facet(language_range: str) -> Regex | None:
    """The tagged strings whose tag the range matches (extended filtering); None if it is not a
    language range.
    """
    subtags = language_range.lower().split("-")
    if not all(
        tag == "*" or (tag.isascii() and tag.isalnum() and len(tag) <= 8) for tag in subtags
    ):
        return None
    if subtags[0] != "*" and not subtags[0].isalpha():
        return None
    first = characters(LOWER) if subtags[0] == "*" else text(subtags[0])
    # Subtags in between may be passed over unless they are singletons.
    skipped = repeat(sequence(_DASH, repeat(characters(_LOWER_OR_DIGIT), 2, 8)))
    parts = [repeat(first, 1, 8) if subtags[0] == "*" else first]
    for subtag in subtags[1:]:
        if subtag != "*":
            parts += [skipped, _DASH, text(subtag)]
    parts.append(repeat(sequence(_DASH, _SUBTAG)))
    return sequence(STRING, _SEPARATOR, *parts)
