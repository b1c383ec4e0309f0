"""Satisfiability of one element's data restrictions, and proxies: W3C cases, hazards, and cases
by hand.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from shiq.datatypes import DataTheory
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
from shiq.model.clause import DataAtLeast, DataAtMost
from shiq.model.roles import RoleBox

P, Q, R = "urn:p", "urn:q", "urn:r"
TOP, BOTTOM = OWL + "topDataProperty", OWL + "bottomDataProperty"


def xsd(name: str) -> Datatype:
    return Datatype(XSD + name)


def typed(lexical: str, name: str = "integer") -> Literal:
    return Literal(lexical, XSD + name)


def one_of(*literals: Literal) -> DataRange:
    return DataOneOf(literals)


def between(low: str, high: str, name: str = "integer") -> DataRange:
    return DatatypeRestriction(
        xsd(name),
        ((XSD + "minInclusive", typed(low, name)), (XSD + "maxInclusive", typed(high, name))),
    )


def some(data_range: DataRange, property: str = P, n: int = 1) -> DataAtLeast:
    return DataAtLeast(n, property, data_range)


def only(data_range: DataRange, property: str = P) -> DataAtMost:
    return DataAtMost(0, property, DataComplementOf(data_range))


def functional(property: str = P) -> DataAtMost:
    return DataAtMost(1, property, TOP_DATATYPE)


def exactly(n: int, property: str = P) -> tuple[DataAtLeast, DataAtMost]:
    return DataAtLeast(n, property, TOP_DATATYPE), DataAtMost(n, property, TOP_DATATYPE)


Atom = DataAtLeast | DataAtMost


def decide(
    *atoms: Atom,
    values: tuple[tuple[str, Literal], ...] = (),
    negative: tuple[tuple[str, Literal], ...] = (),
    roles: RoleBox | None = None,
    theory: DataTheory | None = None,
) -> bool | None:
    return (theory or DataTheory({}, roles)).satisfiable(
        [a for a in atoms if isinstance(a, DataAtLeast)],
        [a for a in atoms if isinstance(a, DataAtMost)],
        values,
        negative,
    )


def pattern(text: str) -> DataRange:
    return DatatypeRestriction(xsd("string"), ((XSD + "pattern", Literal(text)),))


def xml(text: str) -> Literal:
    return Literal(text, RDF + "XMLLiteral")


DISJOINT = RoleBox(disjoint_data=frozenset([(P, Q)]))
BYTES_AND_UNSIGNED = (only(xsd("byte")), only(xsd("unsignedInt")))
VENN_1 = '<br />\n<img src="vn.png" alt="Venn diagram" longdesc="vn.html" title="Venn"></img>'
VENN_2 = (
    '<br \n></br>\n<img \nsrc="vn.png" title=\n"Venn" alt\n="Venn diagram" longdesc=\n"vn.html" />'
)

#: The W3C cases on data, by their ids: what each asks of its one element.
W3C: dict[str, bool | None] = {
    "consistent-dataproperty-disjointness": decide(
        some(between("18", "18"), Q), values=((P, typed("10")),), roles=DISJOINT
    ),
    "Contradicting datatype Restrictions": decide(
        some(DatatypeRestriction(xsd("integer"), ((XSD + "minInclusive", typed("4")),))),
        only(one_of(typed("2"), typed("3"))),
        only(one_of(typed("3"), typed("4"))),
    ),
    "Inconsistent Data Complement with the Restrictions": decide(
        some(DataComplementOf(one_of(typed("3")))),
        only(one_of(typed("2"), typed("3"))),
        only(one_of(typed("3"), typed("4"))),
    ),
    "Datatype-Float-Discrete-001": decide(
        some(
            DatatypeRestriction(
                xsd("float"),
                (
                    (XSD + "minExclusive", typed("0.0", "float")),
                    (XSD + "maxExclusive", typed("1.401298464324817e-45", "float")),
                ),
            )
        )
    ),
    "Inconsistent Byte Filler": decide(only(xsd("byte")), some(one_of(typed("6542145")))),
    "Inconsistent String Pattern with Disjoint Dataproperties": decide(
        some(pattern("a(b|c)"), Q), values=((P, Literal("ab")), (P, Literal("ac"))), roles=DISJOINT
    ),
    "string-integer-clash": decide(only(xsd("integer")), values=((P, Literal("aString")),)),
    "functionality-clash": decide(functional(), values=((P, typed("18")), (P, typed("19")))),
    "Plus and Minus Zero Integer": decide(only(one_of(typed("0"))), some(one_of(typed("-0")))),
    "Minus Infinity is not in owl:real": decide(
        some(one_of(typed("-INF", "float"), typed("0"))),
        only(Datatype(OWL + "real")),
        negative=((P, typed("0", "unsignedInt")),),
    ),
    "Consistent owl:real range with DataOneOf": decide(
        some(one_of(typed("-INF", "float"), typed("0"))), only(Datatype(OWL + "real"))
    ),
    "New-Feature-Rational-001": decide(only(Datatype(OWL + "rational")), some(TOP_DATATYPE, n=2)),
    "New-Feature-Rational-003": decide(
        only(one_of(typed("0.3333333333333333", "decimal"), Literal("1/3", OWL + "rational"))),
        some(TOP_DATATYPE, n=2),
    ),
    "New-Feature-BottomDataProperty-001": decide(some(TOP_DATATYPE, BOTTOM)),
    "New-Feature-DisjointDataProperties-001": decide(
        values=((P, Literal("Peter Griffin")), (Q, Literal("Peter Griffin"))), roles=DISJOINT
    ),
    "New-Feature-DisjointDataProperties-002": decide(
        values=((P, Literal("Peter Griffin")),), roles=DISJOINT
    ),
    "New-Feature-NegativeDataPropertyAssertion-001": decide(
        values=((P, typed("5")),), negative=((P, typed("5")),)
    ),
    "WebOnt-I5.8-001": decide(*exactly(257), only(xsd("byte"))),
    "WebOnt-I5.8-003": decide(*exactly(129), *BYTES_AND_UNSIGNED),
    "WebOnt-I5.8-005": decide(*exactly(127), *BYTES_AND_UNSIGNED),
    "WebOnt-I5.8-008": decide(only(xsd("short")), only(xsd("unsignedInt"))),
    "WebOnt-I5.8-010": decide(only(xsd("nonNegativeInteger")), some(xsd("nonPositiveInteger"))),
    "WebOnt-Restriction-004": decide(some(xsd("byte"))),
    "WebOnt-oneOf-004": decide(
        some(TOP_DATATYPE), only(one_of(*map(typed, "1234"))), only(one_of(*map(typed, "456")))
    ),
    "WebOnt-miscellaneous-202": decide(functional(), values=((P, xml(VENN_1)), (P, xml(VENN_2)))),
    "WebOnt-miscellaneous-204": decide(
        functional(),
        values=(
            (P, xml("<span xml:lang='en'><b>Good!</b></span>")),
            (P, xml("<span xml:lang='en'><b>Bad!</b></span>")),
        ),
    ),
}
INCONSISTENT = {
    "Contradicting datatype Restrictions",
    "Inconsistent Data Complement with the Restrictions",
    "Datatype-Float-Discrete-001",
    "Inconsistent Byte Filler",
    "Inconsistent String Pattern with Disjoint Dataproperties",
    "string-integer-clash",
    "functionality-clash",
    "Minus Infinity is not in owl:real",
    "New-Feature-BottomDataProperty-001",
    "New-Feature-DisjointDataProperties-001",
    "New-Feature-NegativeDataPropertyAssertion-001",
    "WebOnt-I5.8-001",
    "WebOnt-I5.8-003",
    "WebOnt-miscellaneous-204",
}


@pytest.mark.parametrize("case", W3C)
def test_w3c_cases(case: str) -> None:
    assert W3C[case] is (case not in INCONSISTENT)


def test_w3c_expectations_are_those_of_the_suite(data_path: Path) -> None:
    suite = {
        c["id"]: c["expected"]
        for c in json.loads((data_path / "owl2tests" / "index.json").read_text())
    }
    assert {case: suite[case] for case in W3C} == {
        c: "inconsistent" if c in INCONSISTENT else "consistent" for c in W3C
    }


# --- the hazards of bad input: what users meet ----------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        typed("abc"),
        typed("2026-13-45T99:00:00", "dateTime"),
        typed("2026-08-16T12:05:34Z", "date"),
        typed("yes", "boolean"),
        Literal("x", RDF + "langString", "en_US"),
        Literal("\0"),
        Literal("\ud800"),
    ],
)
def test_an_ill_typed_literal_is_a_clash_on_any_property(wrong: Literal) -> None:
    assert decide(values=(("urn:nobody-asks", wrong),)) is False
    assert decide(negative=(("urn:nobody-asks", wrong),)) is False


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        (typed("1"), typed("1.0", "decimal"), True),
        (typed("1.0", "decimal"), typed("1.0", "double"), False),
        (typed("0", "double"), typed("-0", "double"), False),
        (typed("NaN", "double"), typed("NaN", "double"), True),
        (typed("INF", "double"), typed("1e400", "double"), True),
        (typed("2026-08-16Z", "date"), typed("2026-08-16+00:00", "date"), True),
        (typed("2026", "gYear"), typed("2027", "gYear"), False),
        (typed("PT24H", "duration"), typed("P1D", "duration"), True),
        (
            typed("2026-01-01T00:00:00.123456Z", "dateTime"),
            typed("2026-01-01T00:00:00.1234560Z", "dateTime"),
            True,
        ),
        (
            typed("1956-06-25T04:00:00-05:00", "dateTime"),
            typed("1956-06-25T10:00:00+01:00", "dateTime"),
            False,
        ),
        (typed("9" * 60), typed("0" + "9" * 60), True),
        (Literal("x", RDF + "langString", "en"), Literal("x", RDF + "langString", "EN"), True),
        (Literal("x", RDF + "langString", "en"), Literal("x"), False),
        (Literal("a", "urn:t"), Literal("b", "urn:t"), None),
        (Literal("a", "urn:t"), Literal("a", "urn:t"), True),
        (Literal("a", "urn:t"), Literal("a"), None),
    ],
)
def test_a_functional_property_with_two_literals(
    first: Literal, second: Literal, answer: bool | None
) -> None:
    assert decide(functional(), values=((P, first), (P, second))) is answer
    # The same through two properties below the functional one.
    roles = RoleBox(data_inclusions=frozenset([(Q, P), (R, P)]))
    assert decide(functional(), values=((Q, first), (R, second)), roles=roles) is answer


# --- by hand --------------------------------------------------------------------------------------


def test_nothing_to_decide() -> None:
    assert decide() is True
    assert decide(functional(), only(xsd("string"))) is True
    assert decide(values=((P, typed("1")), (P, Literal("x")), (P, Literal("y", "urn:t")))) is True


def test_the_property_hierarchy() -> None:
    """THEORY, "Deciding a shape without a JVM": g ⊑ f, f functional, ranges string and integer:
    ∃g.string cannot be.
    """
    roles = RoleBox(data_inclusions=frozenset([(Q, P)]))
    assert decide(some(xsd("string"), Q), only(xsd("integer")), roles=roles) is False
    assert decide(some(xsd("string"), Q), some(xsd("integer")), functional(), roles=roles) is False
    assert decide(some(xsd("string"), Q), some(xsd("string")), functional(), roles=roles) is True
    assert decide(some(xsd("string")), only(xsd("integer"), Q), roles=roles) is True
    # THEORY, "The add set": C ⊑ ∃f.int≥10, A = {f(a)=5}.
    ten = DatatypeRestriction(xsd("integer"), ((XSD + "minInclusive", typed("10")),))
    assert decide(some(ten), functional(), values=((P, typed("5")),)) is False
    assert decide(some(ten), functional(), values=((Q, typed("15")),), roles=roles) is True


def test_values_are_shared_between_needs_where_limits_demand_it() -> None:
    roles = RoleBox(data_inclusions=frozenset([(P, R), (Q, R)]))
    low, high = between("1", "3"), between("3", "5")
    two = [some(low), some(high, Q)]
    assert decide(*two, functional(R), roles=roles) is True
    assert decide(*two, functional(R), values=((R, typed("3")),), roles=roles) is True
    assert decide(*two, functional(R), values=((R, typed("2")),), roles=roles) is False
    assert decide(*two, functional(R), negative=((P, typed("3")),), roles=roles) is False
    assert (
        decide(
            *two,
            functional(R),
            roles=RoleBox(
                roles.inclusions,
                data_inclusions=roles.data_inclusions,
                disjoint_data=frozenset([(P, Q)]),
            ),
        )
        is False
    )
    assert (
        decide(some(low, n=3), some(high, Q, 3), DataAtMost(5, R, TOP_DATATYPE), roles=roles)
        is True
    )
    assert (
        decide(some(low, n=3), some(high, Q, 3), DataAtMost(4, R, TOP_DATATYPE), roles=roles)
        is False
    )


def test_large_numbers() -> None:
    million = 1_000_000
    assert (
        decide(
            some(xsd("integer"), n=million),
            some(xsd("string"), n=million),
            DataAtMost(2 * million, P, TOP_DATATYPE),
        )
        is True
    )
    assert (
        decide(
            some(xsd("integer"), n=million),
            some(xsd("string"), n=million),
            DataAtMost(2 * million - 1, P, TOP_DATATYPE),
        )
        is False
    )
    assert decide(some(xsd("unsignedShort"), n=65536), only(xsd("unsignedShort"))) is True
    assert decide(some(xsd("unsignedShort"), n=65537), only(xsd("unsignedShort"))) is False


def test_enumerations_and_negative_assertions_take_values_away() -> None:
    three = one_of(*map(typed, "123"))
    assert decide(some(three, n=3)) is True
    assert decide(some(three, n=4)) is False
    assert decide(some(three, n=3), negative=((P, typed("2")),)) is False
    assert decide(some(three, n=2), negative=((P, typed("2")),), values=((P, typed("1")),)) is True
    assert decide(some(xsd("boolean"), n=2), negative=((P, typed("1", "boolean")),)) is False
    roles = RoleBox(data_inclusions=frozenset([(Q, P)]))
    assert decide(some(three, Q, 3), negative=((P, typed("2")),), roles=roles) is False
    assert decide(some(three, n=3), negative=((Q, typed("2")),), roles=roles) is True


def test_disjoint_properties_share_no_value() -> None:
    assert decide(some(xsd("boolean"), P, 2), some(xsd("boolean"), Q), roles=DISJOINT) is False
    assert decide(some(xsd("boolean"), P), some(xsd("boolean"), Q), roles=DISJOINT) is True
    above = RoleBox(data_inclusions=frozenset([(R, P)]), disjoint_data=frozenset([(P, Q)]))
    assert decide(some(xsd("boolean"), R, 2), some(xsd("boolean"), Q), roles=above) is False
    both = RoleBox(data_inclusions=frozenset([(R, P), (R, Q)]), disjoint_data=frozenset([(P, Q)]))
    assert decide(some(TOP_DATATYPE, R), roles=both) is False
    assert decide(some(TOP_DATATYPE, P), roles=RoleBox(disjoint_data=frozenset([(P, P)]))) is False


def test_top_and_bottom_data_property() -> None:
    assert decide(values=((TOP, typed("1")),)) is True
    assert decide(negative=((TOP, typed("1")),)) is False
    assert decide(negative=((BOTTOM, typed("1")),)) is True
    assert decide(values=((BOTTOM, typed("1")),)) is False
    assert (
        decide(some(xsd("byte"), TOP, 256)) is True and decide(some(xsd("byte"), TOP, 257)) is False
    )
    assert (
        decide(DataAtMost(255, TOP, xsd("byte"))) is False
        and decide(DataAtMost(256, TOP, xsd("byte"))) is True
    )
    assert decide(functional(TOP)) is False
    assert (
        decide(some(xsd("byte")), roles=RoleBox(data_inclusions=frozenset([(P, BOTTOM)]))) is False
    )
    assert decide(some(xsd("byte")), roles=RoleBox(data_inclusions=frozenset([(TOP, P)]))) is None


def test_open_ended_value_spaces() -> None:
    nothing_known = DataIntersectionOf(
        tuple(DataComplementOf(xsd(n)) for n in ("string", "decimal", "double", "float", "boolean"))
    )
    assert decide(some(nothing_known, n=1000), only(nothing_known)) is True
    irrational = DataIntersectionOf(
        (Datatype(OWL + "real"), DataComplementOf(Datatype(OWL + "rational")))
    )
    assert decide(some(irrational, n=1000), only(irrational)) is True


OPAQUE = Datatype("urn:t")


def opaque(lexical: str) -> Literal:
    return Literal(lexical, "urn:t")


def test_opaque_values_are_in_their_datatype_and_perhaps_elsewhere() -> None:
    assert decide(only(OPAQUE), values=((P, opaque("x")),)) is True
    assert decide(only(OPAQUE), functional(), values=((P, opaque("x")),)) is True
    assert decide(only(DataComplementOf(OPAQUE)), values=((P, opaque("x")),)) is False
    assert decide(only(xsd("string")), values=((P, opaque("x")),)) is None
    assert decide(only(OPAQUE), values=((P, Literal("x")),)) is None
    assert decide(some(OPAQUE), only(OPAQUE)) is True
    assert decide(some(OPAQUE, n=2)) is None
    assert decide(some(OPAQUE), only(OPAQUE), functional(), values=((P, opaque("x")),)) is True
    assert decide(some(OPAQUE), only(DataComplementOf(OPAQUE))) is False
    # One opaque value is one value, wherever it is.
    assert decide(DataAtMost(0, P, TOP_DATATYPE), values=((P, opaque("x")),)) is False
    assert (
        decide(DataAtMost(2, P, TOP_DATATYPE), values=((P, opaque("x")), (P, opaque("y")))) is True
    )
    assert decide(values=((P, opaque("x")),), negative=((P, opaque("y")),)) is None
    assert decide(values=((P, opaque("x")),), negative=((P, opaque("x")),)) is False
    assert decide(values=((P, opaque("x")), (Q, opaque("y"))), roles=DISJOINT) is None
    assert (
        decide(
            some(xsd("boolean"), n=2),
            only(xsd("boolean")),
            DataAtMost(3, P, TOP_DATATYPE),
            values=((Q, opaque("y")),),
        )
        is True
    )


@pytest.mark.parametrize("count", [1, 8, 40])
def test_any_number_of_opaque_values_lie_under_their_own_range(count: int) -> None:
    values = tuple((P, opaque(str(i))) for i in range(count))
    unknown_or_string, at_most = (
        DataUnionOf((OPAQUE, xsd("string"))),
        DataAtMost(count, P, TOP_DATATYPE),
    )
    for needed in (
        OPAQUE,
        TOP_DATATYPE,
        unknown_or_string,
        DataComplementOf(DataComplementOf(OPAQUE)),
    ):
        assert decide(some(needed), only(OPAQUE), at_most, values=values) is True
    assert decide(some(DataComplementOf(OPAQUE)), only(OPAQUE), values=values) is False
    # Whether they are values of another type too, or one value, is open; what is refuted though
    # they are is not.
    assert decide(some(xsd("integer")), only(OPAQUE), values=values) is None
    assert decide(some(OPAQUE, n=2), values=values) is None
    assert decide(only(OPAQUE), functional(), values=values) is (True if count == 1 else None)
    integers = DataAtMost(0, P, DataComplementOf(xsd("boolean")))
    assert decide(some(OPAQUE), some(xsd("boolean"), n=3), integers, values=values) is False


def test_what_rests_on_nothing_opaque_is_decided_beside_it() -> None:
    assert (
        decide(
            functional(),
            functional(Q),
            values=((P, typed("1")), (P, typed("2")), (Q, opaque("x")), (Q, opaque("y"))),
        )
        is False
    )
    assert decide(functional(), functional(Q), values=((P, typed("1")), (Q, opaque("x")))) is True


def test_literals_of_defined_datatypes_are_opaque_members() -> None:
    theory = DataTheory({"urn:t": one_of(Literal("a"), Literal("b"))})
    assert decide(only(xsd("string")), values=((P, opaque("x")),), theory=theory) is True
    assert decide(only(xsd("integer")), values=((P, opaque("x")),), theory=theory) is False
    assert decide(only(one_of(Literal("a"))), values=((P, opaque("x")),), theory=theory) is None
    three = tuple((P, opaque(c)) for c in "xyz")
    assert decide(DataAtMost(2, P, TOP_DATATYPE), values=three, theory=theory) is True
    half_known = DataTheory({"urn:t": DataUnionOf((Datatype("urn:u"), xsd("string")))})
    assert decide(only(xsd("integer")), values=((P, opaque("x")),), theory=half_known) is None


def test_too_long_numerals_are_numbers_all_the_same() -> None:
    long = typed("9" * 200_000)
    assert decide(only(xsd("integer")), values=((P, long),)) is True
    assert decide(only(xsd("string")), values=((P, long),)) is False
    assert decide(only(xsd("byte")), values=((P, long),)) is None


def test_malformed_and_undecided_ranges_leave_the_answer_open() -> None:
    malformed = DatatypeRestriction(xsd("integer"), ((XSD + "pattern", Literal("[0-9]")),))
    assert decide(only(malformed), values=((P, typed("7")),)) is None
    assert decide(some(malformed)) is None
    assert decide(some(DataIntersectionOf((malformed, DataComplementOf(malformed))))) is False
    strange = pattern(r"\p{IsKlingon}")
    assert decide(only(strange), values=((P, typed("7")),)) is False
    assert decide(only(strange), values=((P, Literal("x")),)) is None


def test_many_needs_on_unrelated_properties_are_decided_one_by_one() -> None:
    needs = [some(xsd("byte"), f"urn:p{i}", 3) for i in range(40)]
    limits = [DataAtMost(3, f"urn:p{i}", TOP_DATATYPE) for i in range(40)]
    assert decide(*needs, *limits) is True
    assert decide(*needs, *limits, DataAtMost(2, "urn:p7", xsd("short"))) is False


# --- proxies --------------------------------------------------------------------------------------


def test_proxies_are_integers_and_what_is_none_of_them() -> None:
    theory = DataTheory()
    ranges = [
        xsd("string"),
        xsd("byte"),
        DataComplementOf(xsd("string")),
        xsd("boolean"),
        between("0", "1", "float"),
    ]
    literals = [
        Literal("x"),
        Literal("x", XSD + "token"),
        typed("2026-01-01", "date"),
        typed("1", "byte"),
        typed("1.0", "decimal"),
    ]
    proxies = theory.encode_as_integers([*ranges, TOP_DATATYPE], literals, 5)
    assert proxies is not None
    numbers = {literal: int(proxy.lexical) for literal, proxy in proxies.literal.items()}
    assert all(proxy.datatype == XSD + "integer" for proxy in proxies.literal.values())
    assert (
        numbers[literals[0]] == numbers[literals[1]]
        and numbers[literals[3]] == numbers[literals[4]]
    )
    assert len(set(numbers.values())) == 3
    for data_range in (*ranges, TOP_DATATYPE):
        for literal in literals:
            proxy = proxies.literal[literal]
            assert theory.contains(proxies.range[data_range], proxy) == theory.contains(
                data_range, literal
            ), (data_range, literal)
    assert theory.size(proxies.range[xsd("boolean")]) == 2
    assert theory.size(proxies.range[xsd("string")]) == 1 + 5
    assert theory.size(proxies.range[ranges[2]]) == math.inf
    assert proxies.range[TOP_DATATYPE] == TOP_DATATYPE
    assert theory.encode_as_integers([DataComplementOf(TOP_DATATYPE)], [], 3) is not None


def test_no_proxies_where_something_is_open() -> None:
    theory = DataTheory()
    assert theory.encode_as_integers([OPAQUE], [], 2) is None
    assert theory.encode_as_integers([], [opaque("x")], 2) is None
    assert theory.encode_as_integers([], [typed("x")], 2) is None
    assert (
        theory.encode_as_integers(
            [DatatypeRestriction(xsd("integer"), ((XSD + "pattern", Literal("1")),))], [], 2
        )
        is None
    )


def test_literals_of_one_cell_are_interchangeable() -> None:
    theory = DataTheory()
    positive = xsd("positiveInteger")
    ranges = (
        positive,
        DataComplementOf(positive),
        one_of(typed("3"), typed("red", "string")),
        xsd("string"),
    )
    literals = [
        typed("3"),
        typed("03"),
        typed("4"),
        typed("5", "decimal"),
        typed("-1"),
        typed("0", "byte"),
    ]
    literals += [typed("red", "string"), typed("blue", "string"), typed("4", "string")]
    literals += [typed("x"), typed("y"), Literal("2", "urn:unknown")]
    cells = [theory.cell_key(literal, ranges) for literal in literals]
    assert cells[0] == cells[1] != cells[2] == cells[3] != cells[4] == cells[5]
    assert cells[6] != cells[7] == cells[8]
    assert len({*cells[9:]}) == 3 and not {*cells[9:]} & {*cells[:9]}, (
        "what denotes nothing or is not decided is by itself"
    )
    for n in (0, 1):
        for restricted in ranges:
            answers: dict[object, set[bool | None]] = {}
            for cell, literal in zip(cells, literals):
                answer = theory.satisfiable([], [DataAtMost(n, P, restricted)], [(P, literal)])
                answers.setdefault(cell, set()).add(answer)
            assert all(len(found) == 1 for found in answers.values())
