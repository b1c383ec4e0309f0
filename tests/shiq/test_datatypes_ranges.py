"""Facets, sizes and membership of data ranges; what is malformed, unknown or undecided."""

from __future__ import annotations

import math

import pytest

from shiq.datatypes import KNOWN_FACETS, DataTheory
from shiq.datatypes.regular_expressions import CHAR, count_characters
from shiq.model import (
    OWL,
    RDF,
    TOP_DATATYPE,
    XSD,
    DataComplementOf,
    DataIntersectionOf,
    DataOneOf,
    DataRange,
    Datatype,
    DatatypeRestriction,
    DataUnionOf,
    Literal,
)

THEORY = DataTheory()


def xsd(name: str) -> Datatype:
    return Datatype(XSD + name)


def typed(lexical: str, name: str) -> Literal:
    return Literal(lexical, XSD + name)


def restricted(name: str, *facets: tuple[str, str], of: str = "") -> DatatypeRestriction:
    """Facet values are of the restricted type, of ``of``, or of the type that the facet asks for."""
    kinds = {
        "pattern": "string",
        "length": "integer",
        "minLength": "integer",
        "maxLength": "integer",
    }
    pairs = tuple(
        (XSD + facet, typed(value, kinds.get(facet, of or name))) for facet, value in facets
    )
    return DatatypeRestriction(xsd(name), pairs)


def both(*ranges: DataRange) -> DataRange:
    return DataIntersectionOf(ranges)


def without(first: DataRange, second: DataRange) -> DataRange:
    return both(first, DataComplementOf(second))


SUBTYPES = [
    ("byte", "short"),
    ("short", "int"),
    ("int", "long"),
    ("long", "integer"),
    ("unsignedByte", "unsignedShort"),
    ("unsignedShort", "unsignedInt"),
    ("unsignedInt", "unsignedLong"),
    ("unsignedLong", "nonNegativeInteger"),
    ("positiveInteger", "nonNegativeInteger"),
    ("negativeInteger", "nonPositiveInteger"),
    ("nonPositiveInteger", "integer"),
    ("integer", "decimal"),
    ("NCName", "Name"),
    ("Name", "token"),
    ("Name", "NMTOKEN"),
    ("NMTOKEN", "token"),
    ("language", "token"),
    ("token", "normalizedString"),
    ("normalizedString", "string"),
    ("dateTimeStamp", "dateTime"),
    ("dayTimeDuration", "duration"),
    ("yearMonthDuration", "duration"),
]


@pytest.mark.parametrize(("sub", "sup"), SUBTYPES)
def test_derived_types_are_proper_subsets(sub: str, sup: str) -> None:
    assert THEORY.size(without(xsd(sub), xsd(sup))) == 0
    assert THEORY.size_up_to(without(xsd(sup), xsd(sub)), 1) == 1


def test_the_numeric_tower() -> None:
    rational, real = Datatype(OWL + "rational"), Datatype(OWL + "real")
    assert (
        THEORY.size(without(xsd("decimal"), rational)) == 0
        and THEORY.size(without(rational, real)) == 0
    )
    assert THEORY.size(without(real, rational)) == math.inf
    assert THEORY.contains(xsd("decimal"), Literal("1/3", OWL + "rational")) is False
    assert THEORY.contains(xsd("decimal"), Literal("1/8", OWL + "rational")) is True
    assert THEORY.contains(real, typed("-INF", "float")) is False
    # Between two decimals there is always a rational that is not one, and no integer between 1 and
    # 2.
    gap = restricted("decimal", ("minExclusive", "1"), ("maxExclusive", "2"))
    assert THEORY.size(gap) == math.inf and THEORY.size(both(gap, xsd("integer"))) == 0


PRIMITIVES = (
    "decimal double float string anyURI boolean hexBinary base64Binary dateTime date time "
    "gYear gYearMonth gMonth gMonthDay gDay duration"
)


def test_primitive_types_are_disjoint() -> None:
    names = [xsd(name) for name in PRIMITIVES.split()] + [
        Datatype(RDF + "XMLLiteral"),
        Datatype(RDF + "langString"),
    ]
    for i, first in enumerate(names):
        assert all(THEORY.size(both(first, second)) == 0 for second in names[:i])


OFFSETS = 2 * 840 + 1


@pytest.mark.parametrize(
    ("data_range", "expected"),
    [
        (xsd("boolean"), 2),
        (xsd("byte"), 256),
        (xsd("unsignedInt"), 2**32),
        (xsd("long"), 2**64),
        (xsd("float"), 2**32 - 2 * (2**23 - 1) + 1),  # all bit patterns, less the NaNs, plus one
        (xsd("double"), 2**64 - 2 * (2**52 - 1) + 1),
        (xsd("integer"), math.inf),
        (xsd("string"), math.inf),
        (xsd("gMonth"), 12 * (OFFSETS + 1)),
        (xsd("gDay"), 31 * (OFFSETS + 1)),
        (xsd("gMonthDay"), 366 * (OFFSETS + 1)),
        (xsd("time"), math.inf),
        (xsd("dateTime"), math.inf),
        (TOP_DATATYPE, math.inf),
        (DataComplementOf(TOP_DATATYPE), 0),
        (DataUnionOf(()), 0),
        (DataComplementOf(xsd("integer")), math.inf),
        (both(xsd("byte"), xsd("unsignedInt")), 128),
        (both(xsd("nonNegativeInteger"), xsd("nonPositiveInteger")), 1),
        (both(xsd("short"), xsd("unsignedInt")), 2**15),
        (
            DataUnionOf(
                (xsd("byte"), xsd("boolean"), DataOneOf((typed("7", "byte"), typed("x", "string"))))
            ),
            259,
        ),
        (DataOneOf((typed("1", "integer"), typed("1.0", "decimal"), typed("1", "double"))), 2),
        (restricted("integer", ("minExclusive", "3"), ("maxInclusive", "10")), 7),
        (restricted("integer", ("minInclusive", "10"), ("maxInclusive", "3")), 0),
        (restricted("integer", ("minExclusive", "3.5"), ("maxInclusive", "5.5"), of="decimal"), 2),
        (restricted("decimal", ("minInclusive", "3.5"), ("maxInclusive", "3.5")), 1),
        (
            restricted("float", ("minExclusive", "0.0"), ("maxExclusive", "1.401298464324817e-45")),
            0,
        ),
        (restricted("float", ("minInclusive", "0"), ("maxInclusive", "0")), 2),
        (restricted("float", ("minExclusive", "-0"), ("maxInclusive", "1.401298464324817e-45")), 1),
        (restricted("float", ("minInclusive", "1"), ("maxExclusive", "2")), 2**23),
        (restricted("double", ("minInclusive", "NaN")), 0),
        (restricted("double", ("minInclusive", "INF")), 1),
        (restricted("string", ("length", "1")), count_characters(CHAR)),
        (restricted("string", ("maxLength", "0")), 1),
        (restricted("string", ("minLength", "5")), math.inf),
        (
            restricted("string", ("maxLength", "600")),
            (count_characters(CHAR) ** 601 - 1) // (count_characters(CHAR) - 1),
        ),
        (restricted("string", ("pattern", "a(b|c)")), 2),
        (restricted("string", ("pattern", "[a-z-[aeiou]]{2}")), 21**2),
        (restricted("string", ("pattern", "[0-9]{3}"), ("pattern", "1.*")), 100),
        (restricted("NCName", ("maxLength", "1"), ("pattern", "[A-Z:]*")), 26),
        (restricted("hexBinary", ("length", "2")), 65536),
        (restricted("base64Binary", ("maxLength", "1")), 257),
        (restricted("anyURI", ("pattern", "urn:[ab]?")), 3),
        (
            restricted(
                "dateTime",
                ("minInclusive", "2026-01-01T00:00:00Z"),
                ("maxInclusive", "2026-01-01T00:00:00Z"),
            ),
            OFFSETS,
        ),
        (
            restricted(
                "dateTime",
                ("minInclusive", "2026-01-01T00:00:00"),
                ("maxInclusive", "2026-01-01T00:00:00"),
            ),
            1,
        ),
        (
            restricted(
                "time", ("minInclusive", "00:00:00+14:00"), ("maxInclusive", "00:00:00+14:00")
            ),
            1,
        ),
        (
            restricted("date", ("minInclusive", "2024-02-27"), ("maxExclusive", "2024-03-02")),
            4 + 1440 + OFFSETS + 1440,
        ),
        (
            restricted("date", ("minInclusive", "2024-01-01Z"), ("maxExclusive", "2024-01-02Z")),
            OFFSETS,
        ),
        (restricted("gYear", ("minInclusive", "-0001"), ("maxInclusive", "0002")), 4 + 2 * OFFSETS),
        (
            restricted("gYearMonth", ("minExclusive", "2023-11"), ("maxExclusive", "2024-02")),
            2 + 2 * OFFSETS,
        ),
        (restricted("duration", ("minInclusive", "P1M"), ("maxInclusive", "P1M")), 1),
        (restricted("duration", ("minInclusive", "P400Y"), ("maxInclusive", "P146097D")), 2),
        (restricted("yearMonthDuration", ("minExclusive", "P1Y"), ("maxInclusive", "P15M")), 3),
        (restricted("dayTimeDuration", ("minInclusive", "P1D"), ("maxInclusive", "PT24H")), 1),
        (restricted("dayTimeDuration", ("minInclusive", "P1D")), math.inf),
    ],
)
def test_sizes(data_range: DataRange, expected: float) -> None:
    assert THEORY.range_fault(data_range) is None
    assert THEORY.size(data_range) == expected
    for limit in (1, 2, 1000):
        assert THEORY.size_up_to(data_range, limit) == min(limit, expected)


@pytest.mark.parametrize(
    ("data_range", "inside", "outside"),
    [
        (
            restricted("double", ("minInclusive", "-1"), ("maxInclusive", "1")),
            ["0", "-0", "1e0"],
            ["NaN", "INF", "1.1"],
        ),
        (restricted("double", ("minExclusive", "-0")), ["1e-300"], ["0", "-0", "NaN"]),
        (
            restricted("dateTime", ("minInclusive", "1956-01-01T04:00:00-05:00")),
            [
                "1956-06-25T04:00:00-05:00",
                "1956-06-25T10:00:00+01:00",
                "1956-01-01T10:00:00Z",
                "1956-01-01T09:00:00Z",
            ],
            ["1956-01-01T10:00:00", "1956-01-01T08:59:59Z", "1956-01-01T23:00:00"],
        ),
        (
            restricted("dateTime", ("maxExclusive", "2026-01-01T12:00:00")),
            ["2025-12-31T21:59:59Z", "2026-01-01T11:59:59"],
            ["2025-12-31T22:00:00Z", "2026-01-01T12:00:00"],
        ),
        (
            restricted("date", ("maxInclusive", "2026-01-01Z")),
            ["2026-01-01+14:00", "2026-01-01Z", "2025-12-31"],
            ["2026-01-01-01:00", "2026-01-02+14:00", "2026-01-01"],
        ),
        (
            restricted("duration", ("maxExclusive", "P1M")),
            ["P27D", "-P1Y"],
            ["P28D", "P30D", "P1M", "P32D"],
        ),
        (
            restricted("duration", ("minExclusive", "P1M")),
            ["P32D", "P1M1D", "P1MT0.1S"],
            ["P31D", "P1M", "P28D"],
        ),
        (
            restricted("duration", ("minInclusive", "P1Y")),
            ["P1Y", "P12M", "P367D"],
            ["P365D", "P366D", "P11M30D"],
        ),
        (restricted("string", ("pattern", r"\p{Lu}\d+")), ["É٣", "A1"], ["a1", "A", "A1x"]),
        (restricted("string", ("pattern", "^a$")), ["^a$"], ["a"]),
        (restricted("string", ("pattern", r"\i\c*|\S\s")), ["a:b-1", "1 "], ["1a", " 1"]),
        (restricted("string", ("length", "2")), ["ab", "𝄞𝄞"], ["a", "abc", "𝄞"]),
    ],
)
def test_facets(data_range: DatatypeRestriction, inside: list[str], outside: list[str]) -> None:
    def contains(form: str) -> bool | None:
        return THEORY.contains(data_range, Literal(form, data_range.datatype.iri))

    assert [form for form in inside if contains(form) is not True] == []
    assert [form for form in outside if contains(form) is not False] == []
    complement = DataComplementOf(data_range)
    assert all(
        THEORY.contains(complement, Literal(form, data_range.datatype.iri)) is False
        for form in inside
    )


def test_language_ranges() -> None:
    def tagged(language_range: str) -> DatatypeRestriction:
        return DatatypeRestriction(
            Datatype(RDF + "PlainLiteral"), ((RDF + "langRange", Literal(language_range)),)
        )

    def matched(language_range: str, *tags: str) -> list[str]:
        return [
            tag
            for tag in tags
            if THEORY.contains(tagged(language_range), Literal("x", RDF + "langString", tag))
        ]

    assert matched("de", "de", "de-AT", "DE-Latn-at", "den", "en-de") == [
        "de",
        "de-AT",
        "DE-Latn-at",
    ]
    assert matched("*", "de", "x-klingon") == ["de", "x-klingon"]
    assert matched("de-DE", "de-de", "de-Latn-DE", "de-DE-1996", "de", "de-x-DE", "de-Deva") == [
        "de-de",
        "de-Latn-DE",
        "de-DE-1996",
    ]
    assert THEORY.contains(tagged("*"), Literal("x")) is False
    assert THEORY.size(without(tagged("de-DE"), tagged("de"))) == 0
    assert THEORY.size(DataIntersectionOf((tagged("*"), xsd("string")))) == 0
    assert "language range" in (THEORY.range_fault(tagged("de_DE")) or "")


def test_plain_literals_are_strings_with_and_without_tags() -> None:
    plain = Datatype(RDF + "PlainLiteral")
    parts = DataUnionOf((xsd("string"), Datatype(RDF + "langString")))
    assert THEORY.size(without(plain, parts)) == 0 == THEORY.size(without(parts, plain))
    short = DatatypeRestriction(
        plain, ((XSD + "maxLength", typed("2", "integer")), (XSD + "pattern", Literal("[ab]*")))
    )
    assert THEORY.contains(short, Literal("ab", RDF + "langString", "en")) is True
    assert THEORY.contains(short, Literal("ab")) is True
    assert THEORY.contains(short, Literal("aba", RDF + "langString", "en")) is False
    assert THEORY.size(both(short, xsd("string"))) == 7 and THEORY.size(short) == math.inf


@pytest.mark.parametrize(
    ("data_range", "word"),
    [
        (restricted("integer", ("pattern", "[0-9]")), "pattern is no facet of xsd:integer"),
        (restricted("string", ("minInclusive", "a")), "minInclusive is no facet of xsd:string"),
        (restricted("boolean", ("length", "1")), "length is no facet of xsd:boolean"),
        (restricted("integer", ("minInclusive", "abc")), "ill-typed"),
        (restricted("integer", ("minInclusive", "1"), of="double"), "not comparable"),
        (restricted("float", ("maxInclusive", "1"), of="double"), "not comparable"),
        (restricted("string", ("pattern", "a{2")), "not an XSD pattern"),
        (restricted("string", ("pattern", "(?:a)")), "not an XSD pattern"),
        (restricted("string", ("pattern", "a**")), "not an XSD pattern"),
        (restricted("string", ("pattern", "[b-a]")), "not an XSD pattern"),
        (restricted("string", ("pattern", r"\p{Nope}")), "not an XSD pattern"),
        (
            DatatypeRestriction(xsd("string"), ((XSD + "length", typed("-1", "integer")),)),
            "non-negative",
        ),
        (
            DatatypeRestriction(xsd("string"), ((XSD + "length", typed("1.5", "decimal")),)),
            "non-negative",
        ),
        (
            DatatypeRestriction(TOP_DATATYPE, ((XSD + "length", typed("1", "integer")),)),
            "no facets",
        ),
        (
            DatatypeRestriction(
                Datatype("urn:age"), ((XSD + "minInclusive", typed("1", "integer")),)
            ),
            "no facets",
        ),
        (DataOneOf((typed("1", "integer"), typed("one", "integer"))), "ill-typed"),
        (DataComplementOf(DataUnionOf((xsd("string"), Datatype("urn:loop")))), "cyclic"),
    ],
)
def test_malformed_ranges_are_told_and_not_decided(data_range: DataRange, word: str) -> None:
    theory = DataTheory(
        {"urn:loop": DataComplementOf(Datatype("urn:loop")), "urn:age": xsd("byte")}
    )
    reason = theory.range_fault(data_range)
    assert reason is not None and word in reason
    assert theory.contains(data_range, typed("1", "integer")) is None
    assert theory.size(data_range) is None


def test_a_redefined_builtin_keeps_its_meaning_and_is_told() -> None:
    theory = DataTheory({XSD + "byte": xsd("string")})
    assert "redefined" in (theory.range_fault(xsd("byte")) or "")
    assert theory.contains(xsd("byte"), typed("1", "byte")) is True


def test_definitions_are_unfolded() -> None:
    theory = DataTheory(
        {
            "urn:age": restricted("integer", ("minInclusive", "0"), ("maxExclusive", "150")),
            "urn:old": without(Datatype("urn:age"), restricted("integer", ("maxExclusive", "100"))),
        }
    )
    assert theory.size(Datatype("urn:old")) == 50
    assert theory.contains(Datatype("urn:old"), typed("100", "byte")) is True
    assert theory.unknown_datatypes(Datatype("urn:old")) == frozenset()
    assert theory.range_fault(Datatype("urn:old")) is None


def test_unknown_datatypes_are_opaque() -> None:
    unknown = Datatype("urn:t")
    assert THEORY.unknown_datatypes(
        DataUnionOf((unknown, xsd("string"), DataOneOf((Literal("x", "urn:u"),))))
    ) == {"urn:t", "urn:u"}
    assert THEORY.contains(unknown, Literal("x", "urn:t")) is True
    assert THEORY.contains(DataComplementOf(unknown), Literal("x", "urn:t")) is False
    assert THEORY.contains(unknown, Literal("x")) is None
    assert THEORY.contains(xsd("string"), Literal("x", "urn:t")) is None
    assert THEORY.contains(TOP_DATATYPE, Literal("x", "urn:t")) is True
    assert THEORY.contains(DataOneOf((Literal("x", "urn:t"),)), Literal("x", "urn:t")) is True
    assert THEORY.contains(DataOneOf((Literal("x", "urn:t"),)), Literal("y", "urn:t")) is None
    assert THEORY.size(unknown) is None
    assert THEORY.size(DataUnionOf((unknown, DataComplementOf(unknown)))) == math.inf
    assert THEORY.size(both(unknown, DataComplementOf(unknown))) == 0
    assert THEORY.size_up_to(unknown, 1) == 1  # it holds the literals typed with it
    restriction = DatatypeRestriction(unknown, ((XSD + "minInclusive", typed("1", "integer")),))
    assert THEORY.range_fault(restriction) is None and THEORY.size(restriction) is None


def test_ill_typed_literals_are_in_no_range() -> None:
    assert THEORY.contains(TOP_DATATYPE, typed("x", "integer")) is False
    assert THEORY.contains(DataComplementOf(xsd("integer")), typed("x", "integer")) is False


def test_what_costs_too_much_is_not_decided() -> None:
    blow_up = restricted("string", ("pattern", "(a|b)*a(a|b){60}"))
    assert THEORY.range_fault(blow_up) is None
    assert (
        THEORY.contains(blow_up, Literal("a" * 61)) is True
        and THEORY.contains(blow_up, Literal("b" * 100)) is False
    )
    strange_block = restricted("string", ("pattern", r"\p{IsKlingon}+"))
    assert (
        THEORY.range_fault(strange_block) is None
        and THEORY.contains(strange_block, Literal("x")) is None
    )
    assert THEORY.contains(strange_block, typed("1", "integer")) is False
    assert THEORY.size(DataUnionOf((strange_block, xsd("byte")))) is None


def test_known_facets() -> None:
    assert KNOWN_FACETS[RDF + "PlainLiteral"] == {
        XSD + f for f in ("length", "minLength", "maxLength", "pattern")
    } | {RDF + "langRange"}
    assert KNOWN_FACETS[XSD + "boolean"] == frozenset()
