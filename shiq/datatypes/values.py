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
    """An element of the data domain; ``==`` is identity of values.

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
        """Decide whether only the datatype and lexical form of the value are known."""
        return self.space == OPAQUE


@dataclass(frozen=True, slots=True)
class IllTyped:
    """The result for a literal whose lexical form is illegal: it denotes no value.

    reason: for messages.
    """

    reason: str


S = TypeVar("S", bound="ValueSet")


class ValueSet(Protocol):
    """A facet-definable subset of one space, closed under the Boolean operations of that space."""

    def meet(self: S, other: S) -> S:
        """Return the intersection."""

    def complement(self: S) -> S:
        """Return the complement within the space."""

    def has(self, key: Any) -> bool | None:
        """Decide whether the value with this key belongs to the set; None if undecided."""

    def count(self, limit: float) -> float | None:
        """Return min(number of values, limit), exactly; None if undecided. With limit inf: the
        number, or inf.
        """


@dataclass(frozen=True, slots=True)
class TrivialSet:
    """A set in a space without facets (booleans, XML literals): everything or nothing."""

    full: bool
    total: float = math.inf

    def meet(self, other: TrivialSet) -> TrivialSet:
        """Return the intersection."""
        return TrivialSet(self.full and other.full, self.total)

    def complement(self) -> TrivialSet:
        """Return the complement."""
        return TrivialSet(not self.full, self.total)

    def has(self, key: Any) -> bool:
        """Decide membership: the same for all values."""
        return self.full

    def count(self, limit: float) -> float:
        """Return min(number of values, limit)."""
        return min(self.total, limit) if self.full else 0
