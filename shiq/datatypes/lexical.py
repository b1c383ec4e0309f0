"""Readers: lexical form → key of the value, one per datatype.

A reader raises `LexicalError` for an illegal form. White space is not collapsed, since RDF takes
lexical forms literally. Source: XSD 1.1 part 2, section 3; OWL 2 structural specification, section
4.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Final, TypeAlias
from xml.etree import ElementTree

from shiq.datatypes.calendars import (
    CALENDARS,
    DAY,
    Calendar,
    Duration,
    Moment,
    days_before,
    days_in_month,
)
from shiq.datatypes.reals import BINARY64, SINGLE, FloatFormat, float_rank

#: Longer numerals are not evaluated: their literals are opaque.
LONGEST_NUMERAL: Final = 100_000


class LexicalError(ValueError):
    """Error: a lexical form is illegal for its datatype."""


class TooLongError(Exception):
    """Error: a lexical form is too long to be evaluated; it may be legal."""


Reader: TypeAlias = Callable[[str], Hashable]
#: A number whose whole values are ints, the others Fractions.
Exact: TypeAlias = int | Fraction

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_RATIONAL = re.compile(r"([+-]?[0-9]+)/([0-9]+)")
_FLOAT = re.compile(r"([+-]?)(?:([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[Ee]([+-]?[0-9]+))?|(INF))")
_NOT_CHAR = re.compile("[^\x01-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_BASE64 = re.compile(
    r"(?:(?:[A-Za-z0-9+/] ?){4})*"
    r"(?:(?:[A-Za-z0-9+/] ?){3}[A-Za-z0-9+/]|(?:[A-Za-z0-9+/] ?){2}[AEIMQUYcgkosw048] ?=|[A-Za-z0-9+/] ?[AQgw] ?= ?=)?"
)
_ZONE = r"(?P<zone>Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
_YEAR = r"(?P<year>-?(?:[1-9][0-9]{3,}|0[0-9]{3}))"
_MONTH = r"(?P<month>0[1-9]|1[0-2])"
_DAY = r"(?P<day>0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9](?:\.[0-9]+)?)|(?P<midnight>24:00:00(?:\.0+)?)"
_CALENDAR_FORMS: Final = {
    name: re.compile(pattern + _ZONE)
    for name, pattern in {
        "dateTime": f"{_YEAR}-{_MONTH}-{_DAY}T(?:{_CLOCK})",
        "time": f"(?:{_CLOCK})",
        "date": f"{_YEAR}-{_MONTH}-{_DAY}",
        "gYear": _YEAR,
        "gYearMonth": f"{_YEAR}-{_MONTH}",
        "gMonth": f"--{_MONTH}",
        "gMonthDay": f"--{_MONTH}-{_DAY}",
        "gDay": f"---{_DAY}",
    }.items()
}
_DURATION = re.compile(
    r"(-?)P(?=.)(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)D)?"
    r"(?:T(?=.)(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?"
)


def read_integer(lexical: str) -> int:
    """Convert the lexical form of an xsd:integer to its value. Raises: LexicalError, TooLongError."""
    _match_form(_INTEGER, lexical)
    return _parse_integer(lexical)


def _match_form(form: re.Pattern[str], lexical: str) -> re.Match[str]:
    """Match a whole lexical form. Raises: LexicalError."""
    found = form.fullmatch(lexical)
    if found is None:
        raise LexicalError
    return found


def read_decimal(lexical: str) -> Exact:
    """Convert the lexical form of an xsd:decimal to its exact value. Raises: LexicalError,
    TooLongError.
    """
    _match_form(_DECIMAL, lexical)
    return _parse_decimal(lexical)


def _parse_integer(numeral: str) -> int:
    """Convert a decimal numeral of any length to an integer. Raises: TooLongError."""
    if len(numeral) < 1000:
        return int(numeral)
    digits = numeral.lstrip("+-").lstrip("0") or "0"
    if len(digits) > LONGEST_NUMERAL:
        raise TooLongError
    number = int(Decimal(digits))  # int(str) stops at some number of digits
    return -number if numeral[0] == "-" else number


def _parse_decimal(numeral: str) -> Exact:
    """Convert a decimal numeral with a point to an exact number. Raises: TooLongError."""
    if "." not in numeral:
        return _parse_integer(numeral)
    if len(numeral) > LONGEST_NUMERAL:
        raise TooLongError
    number = Fraction(Decimal(numeral))
    return number.numerator if number.denominator == 1 else number


def read_rational(lexical: str) -> Exact:
    """Convert the lexical form of an owl:rational (integer/positive integer) to its exact value."""
    parts = _match_form(_RATIONAL, lexical)
    if not parts[2].strip("0"):
        raise LexicalError("the denominator is 0")
    return Fraction(_parse_integer(parts[1]), _parse_integer(parts[2]))


def read_float(form: FloatFormat, lexical: str) -> int:
    """Convert the lexical form of an xsd:float or xsd:double to its rank in the order of the
    format's values.
    """
    if lexical == "NaN":
        return form.nan
    parts = _match_form(_FLOAT, lexical)
    sign, digits, exponent, infinite = parts.groups()
    if infinite:
        return float_rank(sign == "-", Fraction(2) ** 2000, form)
    magnitude = Fraction(_parse_decimal(digits))
    if magnitude and exponent:
        power = _parse_integer(exponent)
        # The leading digit stands near 10 ** (power + span): far beyond either end only the
        # rounding result matters.
        span = len(str(digits))
        if abs(power) > 500 + span:
            magnitude = Fraction(10) ** (500 if power > 0 else -500)
        else:
            magnitude *= Fraction(10) ** power
    return float_rank(sign == "-", magnitude, form)


def read_boolean(lexical: str) -> bool:
    """Convert the lexical form of an xsd:boolean to its value."""
    if lexical not in ("true", "false", "0", "1"):
        raise LexicalError
    return lexical in ("true", "1")


def read_string(lexical: str) -> str:
    """Check the lexical form of an xsd:string, which may contain only characters that XML allows,
    and return it.
    """
    bad = _NOT_CHAR.search(lexical)
    if bad:
        raise LexicalError(f"U+{ord(bad[0]):04X} is not an XML character")
    return lexical


def read_plain_literal(lexical: str) -> str:
    """Convert the lexical form of an rdf:PlainLiteral (string@ or string@tag) to the string, with
    NUL and tag if it has one.
    """
    string, at, tag = lexical.rpartition("@")
    if not at:
        raise LexicalError("@ is missing")
    return tagged_key(string, tag) if tag else read_string(string)


def tagged_key(string: str, tag: str) -> str:
    """Make the key that identifies a string with a language tag; the tag's case does not matter."""
    if not _TAG.fullmatch(tag):
        raise LexicalError(f"{tag!r} is not a language tag")
    return read_string(string) + "\0" + tag.lower()


def read_hex(lexical: str) -> str:
    """Convert the lexical form of an xsd:hexBinary to a string with one character per octet."""
    _match_form(_HEX, lexical)
    return bytes.fromhex(lexical).decode("latin-1")


def read_base64(lexical: str) -> str:
    """Convert the lexical form of an xsd:base64Binary to a string with one character per octet."""
    _match_form(_BASE64, lexical)
    return base64.b64decode(lexical.replace(" ", "")).decode("latin-1")


def read_xml(lexical: str) -> str:
    """Convert the lexical form of an rdf:XMLLiteral to its canonical XML, with comments."""
    try:
        return ElementTree.canonicalize(f"<x>{lexical}</x>", with_comments=True)
    except (ElementTree.ParseError, ValueError) as error:
        raise LexicalError(f"not balanced XML: {error}") from None


def read_moment(calendar: Calendar, zone_required: bool, lexical: str) -> Moment:
    """Convert the lexical form of a calendar value to (index or seconds, time zone offset in
    minutes or None).
    """
    parts = _match_form(_CALENDAR_FORMS[calendar.name], lexical)
    found = parts.groupdict()
    if zone_required and found["zone"] is None:
        raise LexicalError("the time zone offset is missing")
    year_form = found.get("year") or "1972"
    month, day = int(found.get("month") or "12"), int(found.get("day") or "1")
    leap_year = int(
        year_form[-4:]
    )  # 400 divides 10,000, so these digits tell, and a fault shows before a numeral is too long
    if day > days_in_month(leap_year, month):
        raise LexicalError(f"month {month} has no day {day}")
    year = _parse_integer(year_form)
    seconds: Exact = 0
    if found.get("hour"):
        seconds = (
            3600 * int(found["hour"]) + 60 * int(found["minute"]) + _parse_decimal(found["second"])
        )
    elif found.get("midnight") and calendar.name == "dateTime":
        seconds = DAY
    match calendar.name:
        case "time":
            key: Exact = seconds
        case "dateTime":
            key = days_before(year, month, day) * DAY + seconds
        case "date":
            key = days_before(year, month, day)
        case "gYear":
            key = year
        case "gYearMonth":
            key = year * 12 + month - 1
        case "gMonth":
            key = month - 1
        case "gMonthDay":
            key = days_before(1972, month, day) - days_before(1972, 1, 1)
        case _:
            key = day - 1
    return key, _zone_minutes(found["zone"])


def _zone_minutes(zone: str | None) -> int | None:
    """Convert a time zone such as Z or +01:00 to minutes; None if there is none."""
    if zone is None or zone == "Z":
        return None if zone is None else 0
    minutes = int(zone[1:3]) * 60 + int(zone[4:])
    return -minutes if zone[0] == "-" else minutes


def read_duration(kind: str, lexical: str) -> Duration:
    """Convert the lexical form of a duration to (months, seconds).

    kind: "months" or "seconds" for the subtypes with only these fields, "" for xsd:duration.
    """
    parts = _match_form(_DURATION, lexical)
    if (kind == "months" and ("T" in lexical or parts[4])) or (
        kind == "seconds" and (parts[2] or parts[3])
    ):
        raise LexicalError
    years, months, days, hours, minutes, seconds = (
        _parse_decimal(field or "0") for field in parts.groups()[1:]
    )
    sign = -1 if parts[1] else 1
    return sign * int(years * 12 + months), sign * (
        ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    )


#: Reader by datatype, for the datatypes whose lexical forms are their own; derived types
#: are in `datatype_map`.
READERS: Final[dict[str, Reader]] = {
    "xsd:integer": read_integer,
    "xsd:decimal": read_decimal,
    "owl:rational": read_rational,
    "xsd:double": partial(read_float, BINARY64),
    "xsd:float": partial(read_float, SINGLE),
    "xsd:boolean": read_boolean,
    "xsd:string": read_string,
    "xsd:anyURI": read_string,
    "xsd:hexBinary": read_hex,
    "xsd:base64Binary": read_base64,
    "rdf:XMLLiteral": read_xml,
    "xsd:dateTimeStamp": partial(read_moment, CALENDARS["dateTime"], True),
    "xsd:duration": partial(read_duration, ""),
    "xsd:yearMonthDuration": partial(read_duration, "months"),
    "xsd:dayTimeDuration": partial(read_duration, "seconds"),
    **{
        f"xsd:{name}": partial(read_moment, calendar, False) for name, calendar in CALENDARS.items()
    },
}
