"""Data values, and the spaces that partition the data domain.

The value spaces of the OWL 2 datatype map fall into pairwise disjoint *spaces*, mostly one per
primitive datatype. owl:real, with all decimals and integers, is one; rdf:PlainLiteral is two,
strings with and without language tag. A value is a space and a key. Two values are identical (OWL 2
structural specification, section 4) iff both agree. Order and equality matter only to facets; the
value sets of each space implement them.
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
    """A data value, identified by its value space and a key. ``==`` is OWL's identity of values,
    not numeric equality.

    Keys by space:

    * ``real``: an int, or a Fraction if it is not an integer;
    * ``double``, ``float``: the rank among all values of the format (-0 below 0, NaN above INF);
    * ``text``, ``uri``, ``XMLLiteral``: a string;
    * ``tagged``: string, NUL, language tag;
    * binary spaces: a string of characters below 256;
    * ``boolean``: a bool;
    * calendar spaces: (index or seconds, time zone offset in minutes or None);
    * ``duration``: (months, seconds);
    * ``opaque``: (datatype IRI, lexical form, language), and nothing else is known of it;
    * the forms of a datatype: (lexical form, language).
    """

    space: str
    key: Hashable

    @property
    def is_opaque(self) -> bool:
        """Decide whether the datatype is unknown, so that only the lexical form is known of the
        value.
        """
        return self.space == OPAQUE


@dataclass(frozen=True, slots=True)
class IllTyped:
    """Result for a literal that denotes no value, because its lexical form is illegal for its
    datatype.

    reason: for messages.
    """

    reason: str


S = TypeVar("S", bound="ValueSet")


class ValueSet(Protocol):
    """A set of values within one value space that facets can define. Closed under the Boolean
    operations of the space.
    """

    def meet(self: S, other: S) -> S:
        """Return the intersection."""

    def complement(self: S) -> S:
        """Return the complement within the space."""

    def has(self, key: Any) -> bool | None:
        """Decide whether the value with this key belongs to the set; None if undecided."""

    def count(self, limit: float) -> float | None:
        """Count the values, at most up to `limit` (may be inf); exact, or None if undecided."""


@dataclass(frozen=True, slots=True)
class TrivialSet:
    """All values, or none, of a value space without facets (booleans, XML literals)."""

    full: bool
    total: float = math.inf

    def meet(self, other: TrivialSet) -> TrivialSet:
        """Return the intersection."""
        return TrivialSet(self.full and other.full, self.total)

    def complement(self) -> TrivialSet:
        """Return the complement."""
        return TrivialSet(not self.full, self.total)

    def has(self, key: Any) -> bool:
        """Decide whether a value is in the set: all are, or none."""
        return self.full

    def count(self, limit: float) -> float:
        """Return min(number of values, limit)."""
        return min(self.total, limit) if self.full else 0
