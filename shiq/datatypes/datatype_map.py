"""The known datatypes: value space, lexical-to-value mapping and facets of each.

>>> from shiq.model import XSD, Literal
>>> value_of(Literal("010", XSD + "byte")) == value_of(Literal("10.0", XSD + "decimal"))
True
>>> value_of(Literal("200", XSD + "byte"))
IllTyped(reason='"200" is not a legal xsd:byte: it is greater than 127')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from shiq import model as owl
from shiq.datatypes.calendars import (
    ALL_DURATIONS,
    CALENDARS,
    MomentSet,
    durations_in_bound,
    durations_of_subtype,
    moments_in_bound,
)
from shiq.datatypes.intervals import ALL, NONE, at_least, at_most
from shiq.datatypes.lexical import (
    READERS,
    LexicalError,
    Reader,
    TooLongError,
    read_integer,
    read_plain_literal,
    read_string,
    tagged_key,
)
from shiq.datatypes.patterns import PatternError, UndecidedPatternError, read_pattern
from shiq.datatypes.reals import (
    BINARY64,
    DECIMAL,
    INTEGER,
    RATIONAL,
    SINGLE,
    all_floats,
    bound_interval,
    floats_in_bound,
    reals_in,
)
from shiq.datatypes.regular_expressions import Regex
from shiq.datatypes.strings import (
    OCTETS,
    STRING,
    STRING_TYPES,
    TAGGED_STRING,
    RegularSet,
    restrict_string_part,
    strings_of_language,
    strings_of_length,
)
from shiq.datatypes.values import (
    BASE64,
    BOOLEAN,
    DOUBLE,
    DURATION,
    FLOAT,
    FORMS_OF,
    HEX,
    OPAQUE,
    REAL,
    TAGGED,
    TEXT,
    URI,
    XML,
    DataValue,
    IllTyped,
    TrivialSet,
    ValueSet,
)
from shiq.model.axioms import BY_FORM

BOUNDS: Final = frozenset(
    owl.XSD + f for f in ("minInclusive", "minExclusive", "maxInclusive", "maxExclusive")
)
LENGTHS: Final = frozenset(owl.XSD + f for f in ("length", "minLength", "maxLength"))
PATTERN: Final = owl.XSD + "pattern"
LANGUAGE_RANGE: Final = owl.RDF + "langRange"
LITERAL: Final = owl.RDFS + "Literal"
LANG_STRING: Final = owl.RDF + "langString"
PLAIN_LITERAL: Final = owl.RDF + "PlainLiteral"

_PREFIXES: Final = {"xsd": owl.XSD, "rdf": owl.RDF, "owl": owl.OWL, "rdfs": owl.RDFS}


@dataclass(frozen=True)
class KnownType:
    """One datatype with a fixed meaning: its value space, its values, its lexical-to-value mapping
    and its facets.

    space: the value space that contains its values.
    read: lexical form → key of the value; None if it has no lexical forms.
    facets: IRIs of the facets it allows.
    """

    name: str
    space: str
    values: ValueSet
    read: Reader | None
    facets: frozenset[str]


#: The whole of each space, as a value set.
SPACES: Final[dict[str, ValueSet]] = {
    REAL: reals_in(ALL),
    DOUBLE: all_floats(BINARY64),
    FLOAT: all_floats(SINGLE),
    TEXT: RegularSet(STRING),
    TAGGED: RegularSet(TAGGED_STRING),
    URI: RegularSet(STRING),
    BOOLEAN: TrivialSet(True, 2),
    HEX: RegularSet(OCTETS),
    BASE64: RegularSet(OCTETS),
    XML: TrivialSet(True, math.inf),
    DURATION: ALL_DURATIONS,
    **{name: MomentSet(calendar, ALL, ALL) for name, calendar in CALENDARS.items()},
}

_INTEGER_TYPES: Final[dict[str, tuple[int | None, int | None]]] = {
    "integer": (None, None),
    "nonNegativeInteger": (0, None),
    "nonPositiveInteger": (None, 0),
    "positiveInteger": (1, None),
    "negativeInteger": (None, -1),
    **{
        name: (-(1 << bits - 1), (1 << bits - 1) - 1)
        for name, bits in (("long", 64), ("int", 32), ("short", 16), ("byte", 8))
    },
    **{
        f"unsigned{name}": (0, (1 << bits) - 1)
        for name, bits in (("Long", 64), ("Int", 32), ("Short", 16), ("Byte", 8))
    },
}


def _make_integer_reader(low: int | None, high: int | None) -> Reader:
    """Make the function that reads lexical forms of an integer type with these bounds."""

    def read_bounded(lexical: str) -> int:
        """Read an integer of the type. Raises: LexicalError."""
        try:
            number = read_integer(lexical)
        except TooLongError:
            bound = low if lexical[0] == "-" else high
            if bound is None:
                raise
            raise LexicalError(f"it is far beyond {bound}") from None
        if low is not None and number < low:
            raise LexicalError(f"it is less than {low}")
        if high is not None and number > high:
            raise LexicalError(f"it is greater than {high}")
        return number

    return read_bounded


def _make_string_reader(values: RegularSet) -> Reader:
    """Make the function that reads lexical forms of a string type with these values."""

    def read_member(lexical: str) -> str:
        """Read a string of the type. Raises: LexicalError."""
        if not values.has(read_string(lexical)):
            raise LexicalError
        return lexical

    return read_member


def _make_known_types() -> list[KnownType]:
    """Build the table of known datatypes."""
    length_and_pattern = LENGTHS | {PATTERN}
    none: frozenset[str] = frozenset()
    types = [
        KnownType("owl:real", REAL, SPACES[REAL], None, BOUNDS),
        KnownType("owl:rational", REAL, reals_in(ALL, RATIONAL), READERS["owl:rational"], BOUNDS),
        KnownType("xsd:decimal", REAL, reals_in(ALL, DECIMAL), READERS["xsd:decimal"], BOUNDS),
        KnownType("xsd:double", DOUBLE, SPACES[DOUBLE], READERS["xsd:double"], BOUNDS),
        KnownType("xsd:float", FLOAT, SPACES[FLOAT], READERS["xsd:float"], BOUNDS),
        KnownType(
            "rdf:langString", TAGGED, SPACES[TAGGED], None, length_and_pattern | {LANGUAGE_RANGE}
        ),
        KnownType("xsd:anyURI", URI, SPACES[URI], READERS["xsd:anyURI"], length_and_pattern),
        KnownType("xsd:boolean", BOOLEAN, SPACES[BOOLEAN], READERS["xsd:boolean"], none),
        KnownType("rdf:XMLLiteral", XML, SPACES[XML], READERS["rdf:XMLLiteral"], none),
        KnownType("xsd:hexBinary", HEX, SPACES[HEX], READERS["xsd:hexBinary"], LENGTHS),
        KnownType("xsd:base64Binary", BASE64, SPACES[BASE64], READERS["xsd:base64Binary"], LENGTHS),
        KnownType(
            "xsd:dateTimeStamp",
            "dateTime",
            MomentSet(CALENDARS["dateTime"], NONE, ALL),  # those with a time zone
            READERS["xsd:dateTimeStamp"],
            BOUNDS,
        ),
        KnownType("xsd:duration", DURATION, ALL_DURATIONS, READERS["xsd:duration"], BOUNDS),
        KnownType(
            "xsd:yearMonthDuration",
            DURATION,
            durations_of_subtype("months"),
            READERS["xsd:yearMonthDuration"],
            BOUNDS,
        ),
        KnownType(
            "xsd:dayTimeDuration",
            DURATION,
            durations_of_subtype("seconds"),
            READERS["xsd:dayTimeDuration"],
            BOUNDS,
        ),
    ]
    types += [
        KnownType(f"xsd:{name}", name, SPACES[name], READERS[f"xsd:{name}"], BOUNDS)
        for name in CALENDARS
    ]
    for name, (low, high) in _INTEGER_TYPES.items():
        inside = (ALL if low is None else at_least(low)).meet(
            ALL if high is None else at_most(high)
        )
        types.append(
            KnownType(
                f"xsd:{name}",
                REAL,
                reals_in(inside, INTEGER),
                _make_integer_reader(low, high),
                BOUNDS,
            )
        )
    for name, node in STRING_TYPES.items():
        strings = RegularSet(STRING, node)
        read: Callable[[str], Any] = read_string if node is STRING else _make_string_reader(strings)
        types.append(KnownType(f"xsd:{name}", TEXT, strings, read, length_and_pattern))
    return types


def _expand_prefix(name: str) -> str:
    """Expand a prefixed name such as xsd:int to an IRI."""
    prefix, _, local = name.partition(":")
    return _PREFIXES[prefix] + local


#: The OWL 2 datatype map and the other XSD types, by IRI, but for rdf:PlainLiteral (see `PARTS`)
#: and rdfs:Literal.
TYPES: Final[dict[str, KnownType]] = {_expand_prefix(t.name): t for t in _make_known_types()}
#: The datatypes whose value space is a union of others; they are read, and take facets, part by
#: part.
PARTS: Final[dict[str, tuple[str, ...]]] = {PLAIN_LITERAL: (owl.XSD + "string", LANG_STRING)}
KNOWN_FACETS: Final[dict[str, frozenset[str]]] = {
    **{iri: t.facets for iri, t in TYPES.items()},
    **{
        iri: frozenset(facet for part in parts for facet in TYPES[part].facets)
        for iri, parts in PARTS.items()
    },
}


def shorten_iri(iri: str) -> str:
    """Abbreviate `iri` by its usual prefix, for messages; in angle brackets if it has none."""
    for prefix, namespace in _PREFIXES.items():
        if iri.startswith(namespace):
            return f"{prefix}:{iri[len(namespace) :]}"
    return f"<{iri}>"


def is_known(datatype_iri: str) -> bool:
    """Decide whether the datatype has a fixed meaning.

    Known are the OWL 2 datatype map, rdfs:Literal, and the calendar and duration types of XSD.
    """
    return datatype_iri in KNOWN_FACETS or datatype_iri == LITERAL


def denoted_value(literal: owl.Literal, definitions: Container[str]) -> DataValue | IllTyped:
    """Return the data value of `literal`. `definitions` may demand that unknown datatypes be
    compared by lexical form.

    See `value_of`.
    """
    iri = literal.datatype
    if BY_FORM in definitions and not is_known(iri) and iri not in definitions:
        return DataValue(FORMS_OF + iri, (literal.lexical, literal.language))
    return value_of(literal)


def opaque_value(literal: owl.Literal) -> DataValue:
    """Make the value of a literal of unknown datatype: it is known only by datatype and lexical
    form.
    """
    return DataValue(OPAQUE, (literal.datatype, literal.lexical, literal.language))


def value_of(literal: owl.Literal) -> DataValue | IllTyped:
    """Return the data value that `literal` denotes (THEORY, "The add set": data).

    Opaque if its datatype is unknown, or if it is too long to be evaluated.
    """
    if literal.datatype not in KNOWN_FACETS:
        return opaque_value(literal)
    name = shorten_iri(literal.datatype)
    try:
        if literal.language:
            if literal.datatype not in (LANG_STRING, PLAIN_LITERAL):
                raise LexicalError("a language tag does not go with it")
            return DataValue(TAGGED, tagged_key(literal.lexical, literal.language))
        if literal.datatype == PLAIN_LITERAL:
            string = read_plain_literal(literal.lexical)
            return DataValue(TAGGED if "\0" in string else TEXT, string)
        known = TYPES[literal.datatype]
        if known.read is None:
            raise LexicalError(
                "a language tag is missing"
                if known.space == TAGGED
                else "the datatype has no lexical forms"
            )
        return DataValue(known.space, known.read(literal.lexical))
    except TooLongError:
        return opaque_value(literal)
    except LexicalError as error:
        detail = f": {error}" if str(error) else ""
        return IllTyped(f"{_quote_lexical(literal.lexical)} is not a legal {name}{detail}")


def ill_typed_reason(literal: owl.Literal) -> str | None:
    """Explain why `literal` denotes no value; None if it does, or if its datatype is unknown."""
    value = value_of(literal)
    return value.reason if isinstance(value, IllTyped) else None


def _quote_lexical(lexical: str) -> str:
    """Quote a lexical form for a message; a long one is cut."""
    escaped = (
        lexical.encode("unicode_escape", "surrogatepass").decode("ascii")
        if not lexical.isprintable()
        else lexical
    )
    return f'"{escaped}"' if len(escaped) <= 60 else f'"{escaped[:57]}..."'


class FacetError(Exception):
    """Error: a facet does not belong to its datatype, or has an illegal value."""


class UndecidedFacetError(Exception):
    """Error: a facet is legal, but its set of values cannot be computed here."""


def values_of_facet(datatype: str, facet: str, literal: owl.Literal) -> ValueSet:
    """Return the set of the values, in the value space of `datatype`, that satisfy a facet.

    datatype: one of `TYPES`.
    literal: the facet's value, of the same space. XSD sometimes asks for the datatype itself, but
        the order is that of the space.

    Raises: FacetError, UndecidedFacetError.
    """
    known = TYPES[datatype]
    short = facet.rpartition("#")[2]
    value = value_of(literal)
    if isinstance(value, IllTyped):
        raise FacetError(f"the value of {short} is ill-typed: {value.reason}")
    if value.is_opaque:
        raise UndecidedFacetError(f"the value of {short} is of a datatype that is not known")
    if facet in BOUNDS:
        if value.space != known.space:
            raise FacetError(f"the value of {short} is not comparable with {known.name}")
        return _values_in_bound(known.space, short, value.key)
    universe = {TEXT: STRING, URI: STRING, TAGGED: TAGGED_STRING}.get(known.space, OCTETS)
    if facet in LENGTHS:
        return RegularSet(universe, _values_of_length(short, value, universe))
    if value.space != TEXT:
        raise FacetError(f"the value of {short} is not a string")
    string = str(value.key)
    return RegularSet(
        universe,
        restrict_string_part(_values_of_pattern(string), universe)
        if facet == PATTERN
        else _values_of_language(string),
    )


def check_facet(datatype: str, facet: str, literal: owl.Literal) -> None:
    """Check that a facet belongs to a datatype, and that the literal is a legal value for it.

    Raises: FacetError.
    """
    if facet not in KNOWN_FACETS[datatype]:
        raise FacetError(f"{facet.rpartition('#')[2]} is no facet of {shorten_iri(datatype)}")
    for part in PARTS.get(datatype, (datatype,)):
        if facet in TYPES[part].facets:
            with suppress(UndecidedFacetError):
                values_of_facet(part, facet, literal)


def _values_in_bound(space: str, facet: str, key: Any) -> ValueSet:
    """Return the set of the values that satisfy a min/max facet."""
    match space:
        case "real":
            return reals_in(bound_interval(facet, key, key))
        case "double":
            return floats_in_bound(facet, key, BINARY64)
        case "float":
            return floats_in_bound(facet, key, SINGLE)
        case "duration":
            return durations_in_bound(facet, key)
    return moments_in_bound(CALENDARS[space], facet, key)


def _values_of_length(facet: str, value: DataValue, universe: Regex) -> Regex:
    """Return the expression for the strings that satisfy a length facet. Raises: FacetError,
    UndecidedFacetError.
    """
    number = value.key
    if value.space != REAL or not isinstance(number, int) or number < 0:
        raise FacetError(f"the value of {facet} is not a non-negative integer")
    if number > 1_000_000_000:
        raise UndecidedFacetError(f"the value of {facet} is too large")
    low = 0 if facet == "maxLength" else number
    high = None if facet == "minLength" else number
    return strings_of_length(low, high, universe)


def _values_of_pattern(pattern: str) -> Regex:
    """Return the expression for the strings that match a pattern facet. Raises: FacetError,
    UndecidedFacetError.
    """
    try:
        return read_pattern(pattern)
    except PatternError as error:
        raise FacetError(f"not an XSD pattern: {error}") from None
    except UndecidedPatternError as error:
        raise UndecidedFacetError(str(error)) from None


def _values_of_language(language_range: str) -> Regex:
    """Return the expression for the strings whose language tag is in a language range. Raises:
    FacetError.
    """
    found = strings_of_language(language_range)
    if found is None:
        raise FacetError(f"{language_range!r} is not a language range")
    return found
