"""Turtle and RDF/XML: errors with lines, reading on behind them, entities, encodings, blank nodes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from shiq.api import check_insertions
from shiq.errors import InputError
from shiq.inputs.reading import Reading
from shiq.model import OWL, RDF, Literal, ObjectPropertyAssertion, Signature
from shiq.rdf import read_assertions, read_ontology
from tests.rdf_helpers import PREFIXES, kinds, write

KNOWN = Signature(
    frozenset({"urn:C", "urn:D"}), frozenset({"urn:p", "urn:q"}), frozenset({"urn:d"})
)
P = b"@prefix : <urn:> .\n"
START = b'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="urn:"\n  xml:base="urn:b">\n'  # noqa: E501
END = b"</rdf:RDF>\n"


def read(folder: Path, name: str, content: bytes) -> Reading:
    return read_assertions([write(folder, name, content)], KNOWN)


def objects(reading: Reading) -> list[str]:
    return [a.object for a in reading.abox if isinstance(a, ObjectPropertyAssertion)]


def literals(reading: Reading) -> list[str]:
    return [value.lexical for value in reading.abox.literals]


# --- Turtle --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        (b":a :p <urn:x y> .", 3),
        (b":a\n:p ?? .", 4),
        (b":a :p unknown:x .", 3),
        (b':a "x" :b .', 3),
        (b':a :d "caf\xe9" .', 3),
        (b':a :d "a\\u0000b" .', 3),
        (b":a :p ( :b\n ?? ) .", 4),
        (b"<< :a :p :b >> :q :c .", 3),
    ],
)
def test_a_broken_statement_is_told_with_its_line_and_the_others_are_read(
    tmp_path: Path, broken: bytes, line: int
) -> None:
    reading = read(tmp_path, "a.ttl", P + b":a :p :b .\n" + broken + b"\n:a :p :c .\n")
    assert {"urn:b", "urn:c"} <= set(objects(reading))
    malformed = [leftover for leftover in reading.leftovers if leftover.kind == "malformed"]
    assert malformed
    assert malformed[0].line == line
    assert reading.ledger["leftover:malformed"] == len(malformed)


def test_truncated_turtle_is_malformed_after_what_was_read(tmp_path: Path) -> None:
    for cut in (b":a :p :c", b":a :p", b':a :d "no end', b":a :p [ :q :x"):
        reading = read(tmp_path, "a.ttl", P + b":a :p :b .\n" + cut)
        assert "urn:b" in objects(reading)
        assert kinds(reading)["malformed"] == 1, cut


BROKEN_DIRECTIVES = [
    "@prefix : <urn:x y#> .",
    "@prefix : <urn:x#>",
    "@prefix : urn:x# .",
    "@prefix : .",
    "@prefix :\n <urn:x y#>\n .",
    "@prefix\n: <urn:x#> ;",
    "PREFIX : <urn:x y>",
    "prefix : <urn:\\u00zz>",
    "@prefix <urn:x#> .",
    "@prefix : <urn:\xe9#> .",
    '_:x <urn:d> """text\n@prefix : <urn:x#> .\n_:x <urn:d> """more""" .',
    ':x :d "no end .\n@prefix : <urn:x y#> .',
    ":a :p :b2\n@prefix : <urn:x y#> .",
    ":a :p :b2 . @prefix : <urn:x y#> .",
    ":a :p [ :p :b2 .\n@prefix : <urn:x y#> .",
]


@pytest.mark.parametrize("broken", BROKEN_DIRECTIVES)
@pytest.mark.parametrize("name", ["a.ttl", "a.trig"])
def test_a_prefix_means_nothing_after_a_broken_directive(
    tmp_path: Path, broken: str, name: str
) -> None:
    text = (
        f"@prefix q: <urn:> .\n@prefix : <urn:> .\n:a :p :b .\n{broken}\n:a :p :c .\nq:a q:p q:d .\n"
        "@prefix : <urn:> .\n:a :p :e .\n"
    )
    reading = read(tmp_path, name, text.encode("latin-1"))
    found = objects(reading)
    assert found[0] == "urn:b"
    assert "urn:c" not in found
    assert found[-1] == "urn:e"
    # Where the directive does not even say which prefix it is about, none has a meaning; a string
    # without end takes the rest.
    assert ("urn:d" in found) == (broken != "@prefix <urn:x#> ." and "more" not in broken)
    first = min(leftover.line for leftover in reading.leftovers)
    assert first in (4, 5, 6)
    assert all(leftover.kind == "malformed" for leftover in reading.leftovers)


@pytest.mark.parametrize(
    "broken", ["@base <urn x> .", "BASE <urn x>", "@base urn:x .", "@base <http://h/>"]
)
def test_relative_names_mean_nothing_after_a_broken_base(tmp_path: Path, broken: str) -> None:
    text = (
        f"@base <http://h/> .\n@prefix : <urn:> .\n<a> :p <b> .\n{broken}\n<a> :p <c> .\n:a :p :d .\n"
        "@base <http://h/> .\n<a> :p <e> .\n"
    )
    reading = read(tmp_path, "a.ttl", text.encode())
    assert objects(reading) == ["http://h/b", "urn:d", "http://h/e"]


def test_directives_in_comments_strings_and_names_are_none(tmp_path: Path) -> None:
    text = (
        '# @prefix : <urn:x#> .\n:a :p :b . # base <urn:x>\n:a :d """\n@prefix : <urn:x#> .\n""" , "@prefix : <urn:x#> ." .\n'
        ":prefix :p <urn:#prefix> . :a :p :base .\n:a :p ?? .\nPREFIX r: <urn:> r:a r:p r:c .\n"
    )
    reading = read(tmp_path, "a.ttl", P + text.replace('"""', '"""').encode())
    assert objects(reading)[0] == "urn:b"
    assert objects(reading)[-1] == "urn:c"
    assert [leftover.line for leftover in reading.leftovers][-1:] == [8]


ESCAPED = [
    r":x\/base <urn:q> :b .",
    r":x\~prefix <urn:q> :b .",
    ':x\\#y <urn:d> "@prefix" . @prefix : <urn:y/> .',
    ":it\\'s <urn:d> ' @prefix : <urn:x#> . ' .",
]


@pytest.mark.parametrize("escaped", ESCAPED)
def test_an_escape_in_a_name_begins_no_directive_comment_or_string(
    tmp_path: Path, escaped: str
) -> None:
    text = f"@prefix : <urn:y/> .\n:a :p ?? .\n{escaped}\n<urn:a> <urn:p> :c , <r> .\n"
    assert objects(read(tmp_path, "a.ttl", text.encode()))[-2:] == [
        "urn:y/c",
        (tmp_path / "r").as_uri(),
    ]


def test_a_contradiction_of_a_prefix_that_was_never_bound_is_none(tmp_path: Path) -> None:
    tbox = write(
        tmp_path, "t.ttl", PREFIXES + ":A a owl:Class ; owl:disjointWith :B . :B a owl:Class ."
    )
    text = PREFIXES + "@prefix d: <urn:d1#> .\nd:a a :A .\n@prefix d: <urn:d2 #> .\nd:a a :B .\n"
    result = check_insertions(tbox, None, write(tmp_path, "i.ttl", text), reasoner="own")
    assert result.verdict.value == "undetermined"


def test_turtle_of_which_nothing_can_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.ttl, line 1: not Turtle"):
        read(tmp_path, "a.ttl", b"Dear all, please find attached")
    assert read(tmp_path, "b.ttl", b"").ledger == {}


def test_byte_order_marks_and_carriage_returns_are_fine(tmp_path: Path) -> None:
    turtle = (b"\xef\xbb\xbf" + P + b":a :p :b ;\n  :p :c .\n").replace(b"\n", b"\r\n")
    xml = (b"\xef\xbb\xbf" + START + b'<C rdf:about="urn:a">\n<d>x\ny</d></C>\n' + END).replace(
        b"\n", b"\r\n"
    )
    assert objects(read(tmp_path, "a.ttl", turtle)) == ["urn:b", "urn:c"]
    reading = read(tmp_path, "a.owl", xml)
    assert literals(reading) == ["x\ny"]
    assert not reading.leftovers


def test_a_hundred_thousand_nested_blank_nodes(tmp_path: Path) -> None:
    n = 100_000
    reading = read(tmp_path, "a.ttl", P + b":a :p " + b"[ :p " * n + b":z" + b" ]" * n + b" .")
    assert len(reading.abox) == n + 1
    assert not reading.leftovers


def test_nested_class_expressions_are_bounded(tmp_path: Path) -> None:
    head = (
        P
        + b"@prefix owl: <http://www.w3.org/2002/07/owl#> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    )
    for n, known in ((150, True), (20_000, False)):
        body = (
            b":A rdfs:subClassOf "
            + b"[ a owl:Class ; owl:complementOf " * n
            + b":B"
            + b" ]" * n
            + b" ."
        )
        reading = read_ontology([write(tmp_path, "o.ttl", head + body)])
        assert bool(reading.tbox.axioms) is known
        assert reading.ledger == (
            {"axiom": 2 * n + 1} if known else {"leftover:malformed": 2 * n + 1}
        )


# --- RDF/XML -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tail", "line"),
    [
        (b"", 6),
        (b"<C", 6),
        (b'<C rdf:about="urn:x"><d>no end', 6),
        (b'<C rdf:about="urn:x">\n<d></p></C>' + END, 7),
        (b"&undefined;" + END, 6),
        (b'<C rdf:about="urn:x"><d>caf\xe9</d></C>\n' + END, 6),
        (END + b"<again/>", 7),
    ],
)
def test_xml_that_breaks_off_is_malformed_with_its_line_after_what_was_read(
    tmp_path: Path, tail: bytes, line: int
) -> None:
    reading = read(
        tmp_path, "a.rdf", START + b'<C rdf:about="urn:a"><p rdf:resource="urn:b"/></C>\n\n' + tail
    )
    assert objects(reading) == ["urn:b"]
    (leftover,) = [leftover for leftover in reading.leftovers if leftover.kind == "malformed"]
    assert leftover.line == line
    assert not literals(reading)


def test_an_error_of_rdf_costs_its_element_only(tmp_path: Path) -> None:
    elements = [
        b'<C rdf:about="urn:a"><p rdf:resource="urn:b1"/></C>',
        b'<C rdf:about="urn:a b"><p rdf:resource="urn:b2"/></C>',
        b'<C rdf:nodeID="n">\n<p rdf:resource="urn:b3"/>\n<p rdf:resource="not an IRI"/><p rdf:resource="urn:b4"/></C>',
        b'<C rdf:about="urn:a"><p rdf:nodeID="n"/></C>',
    ]
    reading = read(tmp_path, "a.rdf", START + b"\n".join(elements) + b"\n" + END)
    assert objects(reading) == ["urn:b1", "urn:b3", "_:a0.n"]
    assert [(leftover.kind, leftover.line) for leftover in reading.leftovers] == [
        ("malformed", 5),
        ("malformed", 8),
    ]


def test_both_kinds_of_errors_at_once(tmp_path: Path) -> None:
    elements = [
        b'<C rdf:about="urn:a b"/>',
        b'<C rdf:about="urn:a"><p rdf:resource="urn:b1"/></C>',
        b'<C rdf:about="urn:c"><p rdf:resource="urn:b2"/><p rdf:resource="urn:b3"></C>',
        b'<C rdf:about="urn:d"><p rdf:resource="urn:b4"/></C>',
    ]
    reading = read(tmp_path, "a.rdf", START + b"\n".join(elements) + b"\n" + END)
    assert objects(reading) == ["urn:b1", "urn:b2"]
    assert sorted((leftover.kind, leftover.line) for leftover in reading.leftovers) == [
        ("malformed", 4),
        ("malformed", 6),
    ]


XML_LITERAL = RDF + "XMLLiteral"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ('<d rdf:parseType="daml:collection"><C rdf:about="urn:b"/>\n</d>', '<C xmlns="urn:" rdf:about="urn:b"></C>\n'),
        ('<d rdf:parseType="collection"/>', ""),
        ('<d rdf:parseType="Literal">a &amp; <x:b xmlns:x="urn:x" z="&quot;" x:a=""><!--c--><?p i?></x:b></d>', "a &amp; "
         '<x:b xmlns:x="urn:x" z="&quot;" x:a=""><!--c--><?p i?></x:b>'),
    ],
)  # fmt: skip
def test_an_unknown_parse_type_is_an_xml_literal(tmp_path: Path, markup: str, text: str) -> None:
    reading = read(tmp_path, "a.rdf", START + f'<C rdf:about="urn:a">{markup}</C>'.encode() + END)
    text = text.replace("rdf:about", f'xmlns:rdf="{RDF}" rdf:about') if "rdf:" in text else text
    assert reading.abox.literals == [Literal(text, XML_LITERAL)]
    assert not reading.leftovers


def test_a_class_in_a_daml_collection_is_told(tmp_path: Path) -> None:
    text = (
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:owl="{OWL}"><owl:Class rdf:about="urn:A"><owl:unionOf rdf:parseType="daml:collection">'
        '<owl:Class rdf:about="urn:B"/></owl:unionOf></owl:Class></rdf:RDF>'
    )
    reading = read_ontology([write(tmp_path, "o.owl", text)])
    (leftover,) = reading.leftovers
    assert (leftover.kind, leftover.line) == ("broken-list", 1)
    assert "daml" not in leftover.message


@pytest.mark.parametrize(
    ("element", "values"),
    [
        ('<C rdf:about="urn:a" xmlns:x="urn:" x:d="x\ny\tz&#10;"/>', ["x y z\n"]),
        ('<C rdf:about="urn:a" xml:lang="en"><d xml:lang="">x</d><d>y</d></C>', ["x", "y@en"]),
        ('<C rdf:about="urn:a"><d>x<!-- c -->y<?pi z?><![CDATA[<]]>&lt;</d></C>', ["xy<<"]),
        ('<C rdf:about="urn:a"><d>\r\n&#13;</d></C>', ["\n\r"]),
        ('<C about="urn:a"><p rdf:resource="urn:b">\n</p><d/></C>', [""]),
        ('<C rdf:about="urn:a"><d rdf:datatype="urn:t" xml:lang="en"/></C>', [""]),
    ],
)
def test_texts_and_values_are_those_of_xml(tmp_path: Path, element: str, values: list[str]) -> None:
    reading = read(tmp_path, "a.rdf", START + element.encode() + END)
    found = [
        value.lexical + f"@{value.language}" * bool(value.language)
        for value in reading.abox.literals
    ]
    assert (found, [x for x in reading.leftovers if x.kind == "malformed"]) == (values, [])


@pytest.mark.parametrize(
    "element",
    [
        '<C rdf:ID="a"/>\n<C rdf:ID="a"/>',
        '<C rdf:ID="a"/>\n<C xml:base="#x"><p rdf:ID="a" rdf:resource="urn:b"/></C>',
        '\n<C rdf:bagID="x" rdf:about="urn:a"/>',
        '\n<C rdf:about="urn:a"><p rdf:bagID="x" rdf:resource="urn:b"/></C>',
        '\n<C rdf:aboutEach="urn:a"/>',
        '\n<C rdf:aboutEachPrefix="urn:a"/>',
        '\n<C rdf:about="urn:a" rdf:li="x"/>',
        '\n<C rdf:about="urn:a" rdf:ID="x"/>',
        '\n<C rdf:about="urn:a" rdf:nodeID="x"/>',
        '\n<C rdf:about="_:a0.x"/>',
        '\n<C rdf:about="urn:a" about="urn:b"/>',
        '\n<C rdf:about="urn:a" rdf:resource="urn:b"/>',
        '\n<C rdf:about="urn:a" d2="x" xml-d="y"/>',
        '\n<C rdf:ID="1a"/>',
        '\n<C rdf:nodeID="a:b"/>',
        "\n<rdf:RDF/>",
        "\n<rdf:li/>",
        "\n<rdf:resource/>",
        '\n<C rdf:about="urn:a"><rdf:Description/></C>',
        '\n<C rdf:about="urn:a"><p rdf:resource="urn:b" rdf:nodeID="b"/></C>',
        '\n<C rdf:about="urn:a"><p rdf:resource="urn:b" rdf:parseType="Resource"/></C>',
        '\n<C rdf:about="urn:a"><p rdf:parseType="Resource" x:d="x" xmlns:x="urn:"/></C>',
        '\n<C rdf:about="urn:a"><p rdf:about="urn:b"/></C>',
        '\n<C rdf:about="urn:a"><p rdf:resource="urn:b">x</p></C>',
        '\n<C rdf:about="urn:a"><p rdf:resource="urn:b"><C/></p></C>',
        '\n<C rdf:about="urn:a"><p>x<C/></p></C>',
        '\n<C rdf:about="urn:a"><p><C/>x</p></C>',
        '\n<C rdf:about="urn:a"><p><C/><C/></p></C>',
        '\n<C rdf:about="urn:a"><p rdf:datatype="urn:t"><C/></p></C>',
        '\n<C rdf:about="urn:a"><d xml:lang="e_n">x</d></C>',
        '\n<C rdf:about="urn:a">x</C>',
        "\nx",
        '\n<C rdf:about="urn:a"><d rdf:parseType="Triple"/></C>',
        '\n<C rdf:about="urn:a" rdf:version="1.2"/>',
    ],
)
def test_what_the_grammar_of_rdf_xml_does_not_have_is_told_with_its_line(
    tmp_path: Path, element: str
) -> None:
    reading = read(
        tmp_path,
        "a.rdf",
        START + element.encode() + b'\n<C rdf:about="urn:z"><p rdf:resource="urn:z2"/></C>' + END,
    )
    assert [(x.kind, x.line) for x in reading.leftovers] == [("malformed", 5)]
    assert objects(reading)[-1] == "urn:z2"


def test_an_attribute_of_the_root_costs_nothing_but_a_bad_base_costs_all(tmp_path: Path) -> None:
    body = b'<C rdf:about="urn:a"><p rdf:resource="urn:b"/></C>' + END
    for attribute, found in (
        (b'z="1"', ["urn:b"]),
        (b'rdf:about="urn:x"', ["urn:b"]),
        (b'xml:lang="e_n"', []),
    ):
        reading = read(
            tmp_path, "a.rdf", START.replace(b"<rdf:RDF", b"<rdf:RDF " + attribute) + body
        )
        assert (objects(reading), kinds(reading)) == (found, {"malformed": 1})
    assert not objects(read(tmp_path, "a.rdf", START.replace(b'"urn:b"', b'"x y"') + body))


def test_an_entity_that_nothing_declares_does_not_vanish(tmp_path: Path) -> None:
    for body in ('<C rdf:about="urn:a"><d>x&gone;y</d></C>', '<C rdf:about="urn:a&gone;"/>'):
        with pytest.raises(InputError, match="declarations from outside"):
            read(tmp_path, "a.owl", doctype("%gone;", body))


def test_references_are_resolved_against_the_base_around_them(tmp_path: Path) -> None:
    elements = (
        '<C rdf:about="urn:a" xml:base="http://h/b/c?q#f"><p rdf:resource=""/><p rdf:resource="#x"/><p rdf:resource="../y/./z"/>'
        '<p rdf:resource="?r"/><p xml:base="//o" rdf:resource="k"/><p rdf:resource="urn:x/../y"/><p><C rdf:ID="i"/></p></C>'
    )
    assert objects(read(tmp_path, "a.rdf", START + elements.encode() + END)) == [
        "http://h/b/c?q",
        "http://h/b/c?q#x",
        "http://h/y/z",
        "http://h/b/c?r",
        "http://o/k",
        "urn:x/../y",
        "http://h/b/c?q#i",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (
            b'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>',
            "HTML page",
        ),
        (
            b'<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2006/12/owl2-xml#"/>',
            "not RDF/XML",
        ),
        (b'<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom"/>', "not RDF/XML"),
        (START, "no triple before it"),
        (START[:40], "no triple before it"),
    ],
)
def test_xml_that_is_no_rdf_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, "a.rdf", content)
    assert "a.rdf" in caught.value.message


def doctype(declarations: str, body: str = '<C rdf:about="urn:a"/>') -> bytes:
    start = START.decode().replace(
        "<rdf:RDF", f"<!DOCTYPE rdf:RDF [\n{declarations}\n]>\n<rdf:RDF", 1
    )
    return (start + body + END.decode()).encode()


def test_namespace_entities_are_fine(tmp_path: Path) -> None:
    text = doctype(
        '<!ENTITY n "urn:">\n<!ENTITY owl "http://www.w3.org/2002/07/owl#">',
        '<C rdf:about="&n;a"><d>&lt;&n;</d></C>',
    )
    reading = read(tmp_path, "a.owl", text)
    assert literals(reading) == ["<urn:"]
    assert not reading.leftovers


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY x SYSTEM "file:///etc/hostname">',
        '<!ENTITY x PUBLIC "-//x" "http://127.0.0.1/x">',
        '<!ENTITY % x SYSTEM "http://127.0.0.1/x">',
        '<!ENTITY a "lol">\n<!ENTITY b "&a;&a;&a;">',
        '<!ENTITY % a "lol">',
        f'<!ENTITY a "{"x" * 600}">',
        "\n".join(f'<!ENTITY a{i} "x">' for i in range(1001)),
    ],
)
def test_other_entities_are_refused(tmp_path: Path, declaration: str) -> None:
    with pytest.raises(InputError, match=r"a\.owl declares"):
        read(tmp_path, "a.owl", doctype(declaration))


def test_an_external_document_type_is_refused(tmp_path: Path) -> None:
    text = (
        START.replace(b"<rdf:RDF", b'<!DOCTYPE rdf:RDF SYSTEM "http://127.0.0.1/x.dtd">\n<rdf:RDF')
        + END
    )
    with pytest.raises(InputError, match="external document type"):
        read(tmp_path, "a.owl", text)


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "windows-1252", "us-ascii"])
def test_other_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    letter = "e" if encoding == "us-ascii" else "é"
    text = (
        START.decode().replace("?>", f' encoding="{encoding}"?>')
        + f'<C rdf:about="urn:a"><d>caf{letter}</d></C>'
        + END.decode()
    )
    assert literals(read(tmp_path, "a.rdf", text.encode(encoding))) == [f"caf{letter}"]


def test_a_mark_of_utf_8_outdoes_the_encoding_that_is_declared(tmp_path: Path) -> None:
    text = (
        START.decode().replace("?>", ' encoding="iso-8859-1"?>')
        + '<C rdf:about="urn:a"><d>café</d></C>'
        + END.decode()
    )
    assert literals(read(tmp_path, "a.rdf", text.encode("utf-8-sig"))) == ["café"]
    assert literals(read(tmp_path, "b.rdf", gzip.compress(text.encode("utf-8-sig")))) == ["café"]


def test_an_encoding_that_does_not_hold_is_refused(tmp_path: Path) -> None:
    text = START.replace(b"?>", b' encoding="utf-16"?>') + END
    with pytest.raises(InputError, match=r"a\.rdf"):
        read(tmp_path, "a.rdf", text + b"x")


def test_lines_of_leftovers_are_those_of_the_triples(tmp_path: Path) -> None:
    xml = (
        START
        + b'<C rdf:about="urn:a">\n<p\n rdf:resource="urn:b"/>\n<typo rdf:resource="urn:b"/></C>\n'
        + END
    )
    turtle = P + b":a :p :b ;\n\n  :typo :c ,\n :d .\n"
    for name, content, line in (("a.rdf", xml, 7), ("a.ttl", turtle, 4)):
        (leftover,) = read(tmp_path, name, content).leftovers
        assert (leftover.kind, leftover.line) == ("undeclared", line)


# --- blank nodes ---------------------------------------------------------------------------------


def test_blank_nodes_are_scoped_by_file_and_deterministic(tmp_path: Path) -> None:
    files = [
        write(tmp_path, "a.nt", "_:x <urn:p> _:y .\n"),
        write(tmp_path, "b.nt", "_:x <urn:p> _:y .\n"),
        write(tmp_path, "c.ttl", P + b"_:x :p [ :p [] ] ."),
        write(tmp_path, "d.rdf", START + b'<C rdf:nodeID="x"><p><C/></p></C>' + END),
    ]
    first, second = (read_assertions(files, KNOWN) for _ in range(2))
    assert first.abox.individuals == second.abox.individuals
    assert len(first.abox.individuals) == len(set(first.abox.individuals)) == 9
    assert {"_:a0.x", "_:a1.x", "_:a2.x", "_:a3.x"} <= set(first.abox.individuals)
    other = read_assertions(files[:1], KNOWN, scope="i")
    assert not set(other.abox.individuals) & set(first.abox.individuals)
