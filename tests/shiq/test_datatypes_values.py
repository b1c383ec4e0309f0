"""Lexical forms, values and identity, datatype by datatype."""

from __future__ import annotations

import pytest

from shiq.datatypes import DataTheory, DataValue, IllTyped, ill_typed_reason, is_known
from shiq.model import OWL, RDF, RDFS, XSD, Literal

THEORY = DataTheory()
PREFIXES = {"xsd": XSD, "owl": OWL, "rdf": RDF, "rdfs": RDFS, "urn": "urn:"}


def iri(name: str) -> str:
    prefix, local = name.split(":")
    return PREFIXES[prefix] + local


def literal(text: str) -> Literal:
    """``form^^prefix:name``, ``form@tag`` or a plain string."""
    if "^^" in text:
        lexical, _, name = text.rpartition("^^")
        return Literal(lexical, iri(name))
    lexical, at, tag = text.rpartition("@")
    return Literal(lexical, RDF + "langString", tag) if at else Literal(text)


LEGAL = """
    0 -0 +7 007 123456789012345678901234567890123456789012345678901234567890 ^^integer
    -5 +5 5.0 .5 5. -.5 0.00000000000000000000000001 ^^decimal
    1e400 -1E-7 INF -INF +INF NaN .5 5. 1.5e+3 -0 ^^double
    1e400 1.401298464324817e-45 NaN INF ^^float
    -128 127 -0 ^^byte
    0 -0 255 +1 ^^unsignedByte
    18446744073709551615 ^^unsignedLong
    true false 0 1 ^^boolean
    0Aff ^^hexBinary
    AAAA AA== AAA= Zm9vYmE= ^^base64Binary
    http://a/b relative/x?y#z été urn:a%20b ^^anyURI
    2026-11-21T10:00:00 2026-11-21T10:00:00.123456Z 2026-11-21T24:00:00-14:00 -0044-03-15T00:00:00 0000-02-29T00:00:00 ^^dateTime
    12345-01-01T00:00:00+14:00 ^^dateTime
    2026-11-21T10:00:00Z ^^dateTimeStamp
    2024-02-29 2026-08-16Z -0004-02-29 ^^date
    24:00:00 23:59:59.999+01:00 ^^time
    2026 -0001 20260Z ^^gYear
    2026-12 ^^gYearMonth
    --12 --01+01:00 ^^gMonth
    --02-29 --12-31Z ^^gMonthDay
    ---31 ---01-05:00 ^^gDay
    P1Y P1Y2M3DT4H5M6.7S -P1D PT0S PT36H P0Y ^^duration
    P1DT2H PT0.5S ^^dayTimeDuration
    P1Y2M P0M -P3M ^^yearMonthDuration
    en en-US x-klingon ^^language
    a:b _x é ^^Name
    a_b _x é-1 ^^NCName
    a:b 1x -x ^^NMTOKEN
"""

ILLEGAL = """
    abc 1.0 1e3 ++1 １ 0x10 1_000 ^^integer
    1e3 1,5 . + NaN INF ^^decimal
    1e infinity nan Infinity 1e3.5 0x1p3 1_0 ^^double
    -129 128 ^^byte
    -1 256 ^^unsignedByte
    1 ^^negativeInteger
    0 ^^positiveInteger
    1/2 ^^decimal
    yes TRUE True 2 ^^boolean
    0 0G 0af ^^hexBinary
    A AA AA= AB== AAA AAAA= ^^base64Binary
    2026-13-45T99:00:00 2026-02-30T00:00:00 2026-11-21 2026-11-21T25:00:00 2026-11-21T24:00:01 2026-11-21T10:00 ^^dateTime
    2026-11-21T10:00:00+14:01 2026-11-21T10:00:60 26-11-21T10:00:00 02026-01-01T00:00:00 2026-11-21t10:00:00z ^^dateTime
    2026-11-21T10:00:00 ^^dateTimeStamp
    2026-08-16T12:05:34Z 2026-02-29 2026-8-16 16-08-2026 2026-04-31 ^^date
    24:00:01 12:00 ^^time
    26 02026 +2026 ^^gYear
    2026-13 ^^gYearMonth
    --13 12 --1 ^^gMonth
    --02-30 --04-31 ^^gMonthDay
    ---32 ---00 ^^gDay
    P PT P1YT 1Y P1S P-1Y P1.5Y PT1.S P1D2H ^^duration
    P1Y P1M ^^dayTimeDuration
    P1D PT1S P1Y1D P1YT ^^yearMonthDuration
    e_n -en abcdefghi en- ^^language
    1a a+b -x ^^Name
    a:b 1 ^^NCName
    a+b ^^NMTOKEN
"""


def forms(table: str) -> list[tuple[str, str]]:
    rows = [line.split() for line in table.split("\n") if line.strip()]
    return [(form, row[-1].removeprefix("^^")) for row in rows for form in row[:-1]]


@pytest.mark.parametrize(("form", "name"), forms(LEGAL))
def test_legal_forms_have_values(form: str, name: str) -> None:
    value = THEORY.value(Literal(form, XSD + name))
    assert isinstance(value, DataValue) and not value.is_opaque
    assert ill_typed_reason(Literal(form, XSD + name)) is None


@pytest.mark.parametrize(("form", "name"), forms(ILLEGAL))
def test_illegal_forms_are_ill_typed(form: str, name: str) -> None:
    wrong = Literal(form, XSD + name)
    assert isinstance(THEORY.value(wrong), IllTyped)
    reason = ill_typed_reason(wrong)
    assert reason is not None and form in reason and f"xsd:{name}" in reason


@pytest.mark.parametrize(
    "name", ["integer", "double", "boolean", "dateTime", "duration", "token", "NCName", "hexBinary"]
)
def test_white_space_is_not_collapsed(name: str) -> None:
    good = {
        "double": "1e0",
        "boolean": "true",
        "dateTime": "2026-11-21T10:00:00",
        "duration": "P1D",
        "NCName": "a",
    }.get(name, "10")
    assert ill_typed_reason(Literal(good, XSD + name)) is None
    for bad in (" " + good, good + " ", good + "\n"):
        assert ill_typed_reason(Literal(bad, XSD + name)) is not None


SAME = [
    "1^^xsd:integer 1.0^^xsd:decimal",
    "01^^xsd:integer 1^^xsd:byte",
    "-0^^xsd:integer 0^^xsd:unsignedInt",
    "1/2^^owl:rational 0.5^^xsd:decimal",
    "-4/2^^owl:rational -2^^xsd:integer",
    "1^^xsd:boolean true^^xsd:boolean",
    "0a^^xsd:hexBinary 0A^^xsd:hexBinary",
    "NaN^^xsd:double NaN^^xsd:double",
    "1e0^^xsd:double 1.0^^xsd:double",
    "0.1^^xsd:float 0.10000000149011612^^xsd:float",
    "1e400^^xsd:double INF^^xsd:double",
    "-1e-400^^xsd:double -0^^xsd:double",
    "a^^xsd:string a^^xsd:token",
    "a^^xsd:NCName a",
    "a@^^rdf:PlainLiteral a",
    "a@b@en^^rdf:PlainLiteral a@b@EN",
    "x@en x@EN",
    "2026-01-01T00:00:00Z^^xsd:dateTime 2026-01-01T00:00:00+00:00^^xsd:dateTime",
    "2026-01-01T00:00:00Z^^xsd:dateTime 2026-01-01T00:00:00.000-00:00^^xsd:dateTimeStamp",
    "2025-12-31T24:00:00^^xsd:dateTime 2026-01-01T00:00:00^^xsd:dateTime",
    "24:00:00^^xsd:time 00:00:00^^xsd:time",
    "P1Y^^xsd:duration P12M^^xsd:yearMonthDuration",
    "P1DT24H^^xsd:duration PT48H^^xsd:dayTimeDuration",
    "P0Y^^xsd:yearMonthDuration PT0S^^xsd:dayTimeDuration",
    "z^^urn:unknown z^^urn:unknown",
]
DIFFERENT = [
    "1^^xsd:integer 1^^xsd:double",
    "1^^xsd:float 1^^xsd:double",
    "1.0^^xsd:decimal 1.0^^xsd:double",
    "0^^xsd:float -0^^xsd:float",
    "0^^xsd:double -0.0^^xsd:double",
    "0.3333333333333333^^xsd:decimal 1/3^^owl:rational",
    "a a@en",
    "a@en a@en-us",
    "a^^xsd:anyURI a",
    "00^^xsd:hexBinary AA==^^xsd:base64Binary",
    "1^^xsd:boolean 1^^xsd:integer",
    "1956-06-25T04:00:00-05:00^^xsd:dateTime 1956-06-25T10:00:00+01:00^^xsd:dateTime",
    "2026-01-01T00:00:00Z^^xsd:dateTime 2026-01-01T00:00:00^^xsd:dateTime",
    "2026-01-01^^xsd:date 2026-01-01T00:00:00^^xsd:dateTime",
    "2026^^xsd:gYear 2026^^xsd:integer",
    "P1M^^xsd:duration P30D^^xsd:duration",
    "P400Y^^xsd:duration P146097D^^xsd:duration",
    "en^^xsd:language EN^^xsd:language",
]


@pytest.mark.parametrize("pair", SAME)
def test_identical_values(pair: str) -> None:
    first, second = map(literal, pair.split())
    assert THEORY.denote_same(first, second) is True
    assert THEORY.value(first) == THEORY.value(second) and hash(THEORY.value(first)) == hash(
        THEORY.value(second)
    )


@pytest.mark.parametrize("pair", DIFFERENT)
def test_values_that_are_not_identical(pair: str) -> None:
    first, second = map(literal, pair.split())
    assert THEORY.denote_same(first, second) is False


def test_identity_is_undecided_where_something_is_opaque_or_denotes_nothing() -> None:
    assert THEORY.denote_same(literal("a^^urn:t"), literal("b^^urn:t")) is None
    assert THEORY.denote_same(literal("a^^urn:t"), literal("a")) is None
    assert THEORY.denote_same(literal("x^^xsd:integer"), literal("y^^xsd:integer")) is None


def test_language_tags_and_strings() -> None:
    assert ill_typed_reason(literal("x@en_US")) is not None
    assert ill_typed_reason(Literal("x", RDF + "langString")) is not None
    assert ill_typed_reason(Literal("x", XSD + "string", "en")) is not None
    assert ill_typed_reason(Literal("no at sign", RDF + "PlainLiteral")) is not None
    for bad in ("\0", "a\ud800", "\ufffe"):
        assert "not an XML character" in (ill_typed_reason(Literal(bad)) or "")
    assert ill_typed_reason(Literal("tab\tnewline\n bidi \u202e")) is None
    assert ill_typed_reason(Literal("a\nb", XSD + "normalizedString")) is not None
    assert (
        ill_typed_reason(Literal("a b", XSD + "token")) is None
        and ill_typed_reason(Literal("a  b", XSD + "token")) is not None
    )


def test_datatypes_without_lexical_forms() -> None:
    assert "no lexical forms" in (ill_typed_reason(Literal("1", OWL + "real")) or "")
    assert is_known(OWL + "real") and is_known(RDFS + "Literal") and is_known(RDF + "PlainLiteral")
    assert not is_known("urn:t") and not is_known(XSD + "QName")


def test_xml_literals_are_compared_by_canonical_form() -> None:
    def xml(text: str) -> Literal:
        return Literal(text, RDF + "XMLLiteral")

    assert THEORY.denote_same(xml("<a x='1'  y=\"2\"/>"), xml('<a y="2" x="1"></a>')) is True
    assert THEORY.denote_same(xml("<b>Good!</b>"), xml("<b>Bad!</b>")) is False
    assert THEORY.denote_same(xml("<a><!--c--></a>"), xml("<a></a>")) is False
    for bad in (
        "<a>",
        "</x><x>",
        "&nbsp;",
        '<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>',
        "<p:a/>",
        "\0",
        "\ud800",
    ):
        assert ill_typed_reason(xml(bad)) is not None, bad


def test_long_numerals_are_exact_up_to_a_limit_and_opaque_beyond() -> None:
    long = "9" * 20_000
    assert (
        THEORY.denote_same(Literal(long, XSD + "integer"), Literal("0" + long, XSD + "integer"))
        is True
    )
    assert (
        THEORY.denote_same(Literal(long, XSD + "integer"), Literal("8" + long, XSD + "integer"))
        is False
    )
    longer = Literal("9" * 200_000, XSD + "integer")
    value = THEORY.value(longer)
    assert isinstance(value, DataValue) and value.is_opaque and ill_typed_reason(longer) is None
    assert "far beyond 127" in (ill_typed_reason(Literal("9" * 200_000, XSD + "byte")) or "")
    assert "far beyond 0" in (
        ill_typed_reason(Literal("-" + "9" * 200_000, XSD + "nonNegativeInteger")) or ""
    )
    assert (
        THEORY.denote_same(
            Literal("-" + "0" * 200_000 + "7", XSD + "byte"), Literal("-7", XSD + "byte")
        )
        is True
    )
    assert ill_typed_reason(Literal("1/" + "0" * 200_000, OWL + "rational")) is not None
    assert ill_typed_reason(Literal("9" * 200_000 + "1-02-29", XSD + "date")) is not None
    assert ill_typed_reason(Literal("x" * 1_000_000)) is None
    reason = ill_typed_reason(Literal("x" * 1_000_000, XSD + "integer"))
    assert reason is not None and len(reason) < 120
    assert (
        THEORY.denote_same(
            Literal("1" + "0" * 200 + "e-200", XSD + "double"), Literal("1", XSD + "double")
        )
        is True
    )
    assert (
        THEORY.denote_same(Literal("1e99999999999", XSD + "float"), Literal("INF", XSD + "float"))
        is True
    )
    assert (
        THEORY.denote_same(Literal("0e99999999999", XSD + "float"), Literal("0", XSD + "float"))
        is True
    )


def test_floats_round_to_the_nearest_value_of_their_own_format() -> None:
    # Rounding to a double first would give 1.0 (ties to even, twice).
    text = "1.000000059604644775390626"
    assert (
        THEORY.denote_same(
            Literal(text, XSD + "float"), Literal("1.00000011920928955078125", XSD + "float")
        )
        is True
    )
    assert (
        THEORY.denote_same(Literal("16777217", XSD + "float"), Literal("16777216", XSD + "float"))
        is True
    )
    assert (
        THEORY.denote_same(
            Literal("9007199254740993", XSD + "double"), Literal("9007199254740992", XSD + "double")
        )
        is True
    )
