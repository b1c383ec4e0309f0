"""Sets of strings, tagged strings, IRIs and octet sequences, all as regular sets.

A string with a language tag is stored as string NUL tag, so facets on either part are regular
conditions. Octet sequences are strings of characters below 256. IRIs are strings in a space of
their own. Source: OWL 2 structural specification, 4.3, 4.5, 4.6; rdf:PlainLiteral, section 3; RFC
4647, 3.3.2.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from shiq.datatypes.automaton import Automaton
from shiq.datatypes.regular_expressions import (
    ASCII_DIGIT,
    CHAR,
    EVERYTHING,
    LETTER,
    LOWER,
    NAME,
    NAME_START,
    OCTET,
    SEPARATOR,
    Regex,
    characters,
    difference,
    intersect,
    negation,
    repeat,
    sequence,
    single,
    text,
    union,
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
    """A regular subset of ``universe``: the strings of it that match ``node``."""

    __slots__ = ("_cached_automaton", "node", "universe")

    def __init__(self, universe: Regex, node: Regex = EVERYTHING) -> None:
        self.universe = universe
        self.node = node
        self._cached_automaton: Automaton | None = None

    @property
    def automaton(self) -> Automaton:
        """The automaton of the set, cached."""
        if self._cached_automaton is None:
            self._cached_automaton = _cached_automaton(intersect([self.universe, self.node]))
        return self._cached_automaton

    def meet(self, other: RegularSet) -> RegularSet:
        """Return the intersection."""
        return RegularSet(self.universe, intersect([self.node, other.node]))

    def complement(self) -> RegularSet:
        """Return the complement within the universe."""
        return RegularSet(self.universe, negation(self.node))

    def has(self, key: str) -> bool | None:
        """Decide whether the string is in the set; None if undecided."""
        return self.automaton.accepts(key)

    def count(self, limit: float) -> float | None:
        """Return min(number of strings, limit); None if undecided."""
        return self.automaton.count(limit)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RegularSet) and (self.universe, self.node) == (
            other.universe,
            other.node,
        )

    def __hash__(self) -> int:
        return hash((self.universe, self.node))


@lru_cache(maxsize=1000)
def _cached_automaton(node: Regex) -> Automaton:
    """The automaton of a regular expression, cached."""
    return Automaton(node)


def length_facet(low: int, high: int | None, universe: Regex) -> Regex:
    """Return the members of `universe` of `low` to `high` characters, without the language tag."""
    return on_strings(
        repeat(characters(OCTET if universe is OCTETS else CHAR), low, high), universe
    )


def on_strings(condition: Regex, universe: Regex) -> Regex:
    """Return the members of `universe` whose string part satisfies `condition`.

    The string part is everything before a language tag.
    """
    return sequence(condition, _SEPARATOR, TAG) if universe is TAGGED_STRING else condition


def language_facet(language_range: str) -> Regex | None:
    """Return the tagged strings whose tag matches a language range by extended filtering.

    None if it is not a language range.
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
