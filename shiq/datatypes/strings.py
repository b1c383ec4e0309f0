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
    character_set,
    characters,
    concatenate,
    difference,
    exact_string,
    intersect,
    negation,
    repeat,
    union,
)

_LOWER_OR_DIGIT: Final = union(LOWER, ASCII_DIGIT)
_DASH: Final = exact_string("-")
_SEPARATOR: Final = characters(((SEPARATOR, SEPARATOR),))
_SUBTAG: Final = repeat(characters(_LOWER_OR_DIGIT), 1, 8)
TAG: Final = concatenate(repeat(characters(LOWER), 1, 8), repeat(concatenate(_DASH, _SUBTAG)))
_NO_BREAK: Final = difference(CHAR, character_set("\t\n\r"))
_SOLID: Final = characters(difference(_NO_BREAK, character_set(" ")))

STRING: Final = repeat(characters(CHAR))
TAGGED_STRING: Final = concatenate(STRING, _SEPARATOR, TAG)
OCTETS: Final = repeat(characters(OCTET))

#: The subtypes of xsd:string, by local name.
STRING_TYPES: Final[dict[str, Regex]] = {
    "string": STRING,
    "normalizedString": repeat(characters(_NO_BREAK)),
    "token": repeat(
        concatenate(repeat(_SOLID, 1), repeat(concatenate(exact_string(" "), repeat(_SOLID, 1)))),
        0,
        1,
    ),
    "language": concatenate(
        repeat(characters(LETTER), 1, 8),
        repeat(concatenate(_DASH, repeat(characters(union(LETTER, ASCII_DIGIT)), 1, 8))),
    ),
    "Name": concatenate(characters(NAME_START), repeat(characters(NAME))),
    "NCName": concatenate(
        characters(difference(NAME_START, character_set(":"))),
        repeat(characters(difference(NAME, character_set(":")))),
    ),
    "NMTOKEN": repeat(characters(NAME), 1),
}


class RegularSet:
    """A regular set of strings: those of ``universe`` that match the expression ``node``."""

    __slots__ = ("_cached_automaton", "node", "universe")

    def __init__(self, universe: Regex, node: Regex = EVERYTHING) -> None:
        self.universe = universe
        self.node = node
        self._cached_automaton: Automaton | None = None

    @property
    def automaton(self) -> Automaton:
        """Return the automaton that accepts the set. Cached."""
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
    """Return the automaton of a regular expression. Cached."""
    return Automaton(node)


def strings_of_length(low: int, high: int | None, universe: Regex) -> Regex:
    """Make the expression for the strings of `universe` with `low` to `high` characters, not
    counting a language tag.
    """
    return restrict_string_part(
        repeat(characters(OCTET if universe is OCTETS else CHAR), low, high), universe
    )


def restrict_string_part(condition: Regex, universe: Regex) -> Regex:
    """Make the expression for the strings of `universe` that match `condition` before their
    language tag.

    The string part is everything before a language tag.
    """
    return concatenate(condition, _SEPARATOR, TAG) if universe is TAGGED_STRING else condition


def strings_of_language(language_range: str) -> Regex | None:
    """Make the expression for the strings whose language tag matches a language range, by extended
    filtering (RFC 4647).

    None if it is not a language range.
    """
    subtags = language_range.lower().split("-")
    if not all(
        tag == "*" or (tag.isascii() and tag.isalnum() and len(tag) <= 8) for tag in subtags
    ):
        return None
    if subtags[0] != "*" and not subtags[0].isalpha():
        return None
    first = characters(LOWER) if subtags[0] == "*" else exact_string(subtags[0])
    # Subtags in between may be passed over unless they are singletons.
    skipped = repeat(concatenate(_DASH, repeat(characters(_LOWER_OR_DIGIT), 2, 8)))
    parts = [repeat(first, 1, 8) if subtags[0] == "*" else first]
    for subtag in subtags[1:]:
        if subtag != "*":
            parts += [skipped, _DASH, exact_string(subtag)]
    parts.append(repeat(concatenate(_DASH, _SUBTAG)))
    return concatenate(STRING, _SEPARATOR, *parts)
