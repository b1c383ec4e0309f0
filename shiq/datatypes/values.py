"""Data values, and the parts of the data domain that they live in.

The value spaces of the OWL 2 datatype map fall into pairwise disjoint *spaces*, mostly one per
primitive datatype: owl:real (with all decimals and integers) is one; the strings, and the
strings with language tags, which together make up rdf:PlainLiteral, are two. A value is a space
and a key; two values are identical, in the sense of OWL 2 (structural specification, section 4),
iff both agree. Order and equality, which only facets use, belong to the value sets of each
space.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

REAL: Final = "real"
DOUBLE: Final = "double"
FLOAT: Final = "float"
TEXT: Final = "text"
TAGGED: Final = "tagged"
URI: Final = "uri"
BOOLEAN: Final = "boolean"
HEX: Final = "hexBinary"
BASE64: Final = "base64Binary"
XML: Final = "XMLLiteral"
DURATION: Final = "duration"
OPAQUE: Final = "opaque"
#: The space of an unknown datatype that is read by form (`shiq.model.axioms.BY_FORM`) is this with
#: its IRI.
FORMS_OF: Final = "forms of "


@dataclass(frozen=True, slots=True)
class DataValue:
    """An element of the data domain; ``==`` is identity of values.

    ``key`` by ``space``: ``real`` an int or, where it is not whole, a Fraction;
    ``double``/``float`` the rank among all values of that format (-0 below 0, NaN above INF);
    ``text``, ``uri`` and ``XMLLiteral`` a string; ``tagged`` string, NUL, language tag; the
    binary spaces a str of characters below 256; ``boolean`` a bool; calendar spaces (index or
    seconds, time zone offset in minutes or None); ``duration`` (months, seconds); ``opaque``
    (datatype IRI, lexical form, language), of which nothing else is known; the forms of a
    datatype (lexical form, language).
    """

    space: str
    key: Hashable

    @property
    def is_opaque(self) -> bool:
        return self.space == OPAQUE


@dataclass(frozen=True, slots=True)
class IllTyped:
    """What a literal denotes whose lexical form its datatype does not have: nothing. ``reason``
    is for people.
    """

    reason: str


S = TypeVar("S", bound="ValueSet")


class ValueSet(Protocol):
    """A facet-definable subset of one space, closed under the Boolean operations of that space."""

    def meet(self: S, other: S) -> S: ...

    def complement(self: S) -> S: ...

    def has(self, key: Any) -> bool | None:
        """Whether the value with this key belongs to the set; None if that is not decided."""

    def count(self, limit: float) -> float | None:
        """min(number of values, limit), exactly; None if not decided. With limit inf: the number
        itself, or inf.
        """


@dataclass(frozen=True, slots=True)
class WholeOrNothing:
    """A set in a space without facets: all of it or none of it (booleans, XML literals)."""

    full: bool
    total: float = math.inf

    def meet(self, other: WholeOrNothing) -> WholeOrNothing:
        return WholeOrNothing(self.full and other.full, self.total)

    def complement(self) -> WholeOrNothing:
        return WholeOrNothing(not self.full, self.total)

    def has(self, key: Any) -> bool:
        return self.full

    def count(self, limit: float) -> float:
        return min(self.total, limit) if self.full else 0
