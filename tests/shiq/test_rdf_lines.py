"""N-Triples: plain lines in bulk, odd ones by the parser, broken ones reported, everything else
still read.
"""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pyoxigraph as ox
import pytest

from shiq.errors import InputError
from shiq.model import RDF, XSD, Literal, Signature
from shiq.rdf import lines, read_assertions
from shiq.rdf.terms import RefusedTermError, quad_adder
from shiq.rdf.triples import Rejects, Triples, keep_labels, number_labels
from tests.rdf_helpers import kinds, write

KNOWN = Signature(frozenset({"urn:C"}), frozenset({"urn:p"}), frozenset({"urn:d"}))


def parsed(content: bytes, *, quads: bool = False) -> tuple[list[tuple[object, ...]], Rejects]:
    import io

    triples, rejects = Triples(), Rejects("f.nt")
    triples.begin_source("f.nt")
    lines.read_lines(io.BytesIO(content), triples, "s", rejects, quads=quads)
    rows = zip(triples.subject, triples.predicate, triples.object, triples.line)
    graphs = [(triples.graph_of(row),) if quads else () for row in range(len(triples))]
    return [
        (*(triples.terms[i] for i in row[:3]), row[3], *graph) for row, graph in zip(rows, graphs)
    ], rejects


def literal(line: str) -> object:
    (triple,), rejects = parsed(f"<urn:a> <urn:d> {line} .\n".encode())
    assert not rejects.total
    return triple[2]


def test_terms_are_kept_as_written() -> None:
    assert literal('"007"^^<http://www.w3.org/2001/XMLSchema#integer>') == Literal(
        "007", XSD + "integer"
    )
    assert literal('"yes"^^<http://www.w3.org/2001/XMLSchema#boolean>') == Literal(
        "yes", XSD + "boolean"
    )
    assert literal('"x"@EN-us') == Literal("x", RDF + "langString", "en-us")
    assert literal('""') == Literal("")
    assert literal(r'"tab\t quote\" back\\slash line\n A"') == Literal(
        'tab\t quote" back\\slash line\n A'
    )
    assert literal('"é \u200b \U0001f600"') == Literal("é \u200b \U0001f600")
    assert literal("_:b1.x") == "_:s.b1.x"


def test_spacing_comments_and_line_ends_do_not_matter() -> None:
    content = (
        b"# comment\n\n  <urn:a>\t<urn:p>   <urn:b>.\r\n<urn:a> <urn:p> <urn:c> . # why\n"
        b"<urn:a> <urn:p> <urn:d> .\r\n<urn:a> <urn:p> <urn:e> .\r<urn:a> <urn:p> <urn:f> ."
    )
    triples, rejects = parsed(content)
    assert [(o, line) for _, _, o, line in triples] == [
        ("urn:b", 3),
        ("urn:c", 4),
        ("urn:d", 5),
        ("urn:e", 6),
        ("urn:f", 6),
    ]
    assert not rejects.total


BROKEN = [
    (b"<urn:a b> <urn:p> <urn:c> .", "code point"),
    (b"<urn:a> <urn:p> <urn:\\u003Ec> .", "code point"),
    (b"<urn:a> <urn:p> <c> .", "scheme"),
    (b"<urn:a> <urn:p> <urn:c>", ""),
    (b"<urn:a> <urn:p> .", ""),
    (b"<urn:a> _:p <urn:c> .", ""),
    (b'"x" <urn:p> <urn:c> .', ""),
    (b'<urn:a> <urn:d> "x"@en_US .', ""),
    (b'<urn:a> <urn:d> "x .', ""),
    (b'<urn:a> <urn:d> "x" "y" .', ""),
    (b'<urn:a> <urn:d> "\\uD800" .', "unicode"),
    (b'<urn:a> <urn:d> "a\\u0000b" .', "U+0000"),
    (b'<urn:a> <urn:d> "a\x00b" .', "U+0000"),
    (b'<urn:a> <urn:d> "caf\xe9" .', "UTF-8"),
    (
        b'<urn:a> <urn:d> "x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .',
        "langString",
    ),
    (b'<urn:a> <urn:d> "x"@en--ltr .', "RDF 1.2"),
    (b"<urn:a> <urn:p> <<( <urn:a> <urn:p> <urn:b> )>> .", "RDF 1.2"),
    (b"<< <urn:a> <urn:p> <urn:b> >> <urn:p> <urn:b> .", ""),
    (b"<urn:a> <urn:p> <urn:b> <urn:graph> .", ""),
    (b"<urn:a> <urn:p> <urn:b> . trailing", ""),
]


@pytest.mark.parametrize(("line", "words"), BROKEN)
def test_a_broken_line_is_rejected_with_its_number_and_the_others_are_read(
    line: bytes, words: str
) -> None:
    triples, rejects = parsed(
        b"<urn:a> <urn:p> <urn:b> .\n" + line + b"\n<urn:a> <urn:p> <urn:c> .\n"
    )
    assert [(o, at) for _, _, o, at in triples] == [("urn:b", 1), ("urn:c", 3)]
    (leftover,) = rejects.leftovers()
    assert (leftover.kind, leftover.source, leftover.line) == ("malformed", "f.nt", 2)
    assert words in leftover.message
    assert leftover.text


def test_all_broken_lines_are_found_in_one_pass(tmp_path: Path) -> None:
    good = [b"<urn:a> <urn:p> <urn:o%d> ." % i for i in range(3000)]
    mixed = [
        line for i, each in enumerate(good) for line in (each, *(b for b, _ in BROKEN[i : i + 1]))
    ]
    path = write(tmp_path, "a.nt.gz", gzip.compress(b"\n".join(mixed)))
    reading = read_assertions([path], KNOWN)
    assert len(reading.abox) == 3000
    assert dict(reading.ledger) == {"assertion": 3000, "leftover:malformed": len(BROKEN)}
    assert [leftover.line for leftover in reading.leftovers] == [
        2 * i + 2 for i in range(len(BROKEN))
    ]


def test_very_many_broken_lines_are_counted(tmp_path: Path) -> None:
    reading = read_assertions(
        [write(tmp_path, "a.nt", b"<urn:a> <urn:p> <urn:o> .\n" + b"<urn:a b> .\n" * 5000)], KNOWN
    )
    assert kinds(reading) == {"malformed": 5000}
    assert len(reading.leftovers) < 1100


def test_prose_is_not_ntriples_but_one_broken_line_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not N-Triples"):
        read_assertions([write(tmp_path, "a.nt", "Dear all,\nplease find attached\n")], KNOWN)
    reading = read_assertions([write(tmp_path, "b.nt", "<urn:a b> <urn:p> <urn:c> .\n")], KNOWN)
    assert kinds(reading) == {"malformed": 1}


def test_a_line_without_end_is_over_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 16)
    with pytest.raises(InputError, match="has a line of over"):
        read_assertions(
            [write(tmp_path, "a.nt", b'<urn:a> <urn:d> "' + b"x" * (1 << 18) + b'" .')], KNOWN
        )


def test_the_last_newline_may_be_missing_and_the_file_may_be_empty(tmp_path: Path) -> None:
    assert (
        len(read_assertions([write(tmp_path, "a.nt", "<urn:a> <urn:p> <urn:b> .")], KNOWN).abox)
        == 1
    )
    empty = read_assertions([write(tmp_path, "b.nt", "")], KNOWN)
    assert (len(empty.abox), empty.leftovers, dict(empty.ledger)) == (0, (), {})


@pytest.mark.parametrize("quads", [False, True])
def test_differential_plain_lines_and_parser_agree(quads: bool) -> None:
    """Whatever pyoxigraph accepts is read alike, and whatever it refuses is refused."""
    random.seed(7)
    pieces = [
        "<urn:a>",
        "<urn:b#x>",
        "_:x",
        "_:x.y",
        '"v"',
        '"v"@en',
        '"1"^^<urn:t>',
        "<urn:%41>",
        "<urn:%4>",
        "<http://h:80/p?q#f>",
    ]
    pieces += [
        "<http://h:x/>",
        "<urn:é>",
        '"é\\n"',
        '"\\u00e9"',
        '"\\x"',
        "<urn:a#b#c>",
        "_:é",
        "_:-x",
        "<rel>",
        '"a"^^_:t',
        ".",
    ]
    for _ in range(3000):
        line = " ".join(
            random.choice(pieces) for _ in range(random.choice((3, 3, 3, 4)))
        ) + random.choice((" .", " .", ".", ""))
        # Alone in its block, with another triple, and with a quad: plain lines are read a block at
        # a time.
        before = random.choice(
            (
                b"",
                b"<urn:ok> <urn:ok> <urn:ok> .\n",
                b"<urn:ok> <urn:ok> <urn:ok> <urn:ok> .\n" * quads,
            )
        )
        ours, rejects = parsed(
            before + b"<urn:ok> <urn:ok> <urn:ok> .\n" + line.encode() + b"\n", quads=quads
        )
        theirs = Triples()
        add = quad_adder(theirs, keep_labels("s"))
        refused = False
        try:
            for quad in list(
                ox.parse(
                    line.encode(), format=ox.RdfFormat.N_QUADS if quads else ox.RdfFormat.N_TRIPLES
                )
            ):
                add(quad, 2)
        except (SyntaxError, RefusedTermError):
            refused = True
        expected = [
            (
                *(theirs.terms[c[i]] for c in (theirs.subject, theirs.predicate, theirs.object)),
                *[theirs.graph_of(i)] * quads,
            )
            for i in range(len(theirs))
        ]
        assert [(*row[:3], *row[4:]) for row in ours[1 + bool(before) :]] == expected, line
        assert bool(rejects.total) is refused, line


@pytest.mark.parametrize(
    ("content", "good"),
    [
        (b"<urn:a> <urn:p> <urn:b> . <urn:a>\n<urn:p> <urn:c> .\n", 0),
        (b"<urn:a> <urn:p> <urn:b>\n.\n", 0),
        (b"<urn:a> <urn:p>\n<urn:b> .\n<urn:a> <urn:p> <urn:c> .\n", 1),
        (b"<urn:a>\n<urn:p> <urn:b> . . <urn:a> <urn:p> <urn:b> .\n", 0),
    ],
)
def test_a_triple_over_two_lines_is_none(content: bytes, good: int) -> None:
    triples, rejects = parsed(content)
    assert len(triples) == good
    assert rejects.total == 2


def test_a_comment_ends_where_its_line_does() -> None:
    for before in (b"", b"<urn:a> <urn:p> <urn:z> .\n"):
        triples, rejects = parsed(
            before + b"# note\r<urn:a> <urn:p> <urn:b> .\r# end\r\n# plain\r\n"
        )
        assert [o for _, _, o, _ in triples][-1] == "urn:b"
        assert not rejects.total


def test_tags_are_those_of_the_parser() -> None:
    for tag in ("en", "en-us", "de-1996", "x-private", "en-a", "a-b", "EN-a", "i-klingon"):
        triples, rejects = parsed(f'<urn:a> <urn:d> "x"@{tag} .\n'.encode())
        try:
            ox.Literal("x", language=tag)
        except ValueError:
            assert (len(triples), rejects.total) == (0, 1), tag
        else:
            assert (len(triples), rejects.total) == (1, 0), tag


def test_names_that_are_looked_at_together_are_names() -> None:
    """Whatever passes as plain passes the parser's test, which most of these names do."""
    random.seed(11)
    pieces = [
        "http:",
        "urn:",
        "a+b:",
        "//",
        "host",
        ":80",
        ":",
        "/",
        "?",
        "#",
        "%41",
        "%4",
        "@",
        "[::1]",
        "é",
        "\ud7ff",
        "\ue000",
        " ",
        "'",
        "|",
        "-",
    ]
    plain = 0
    for _ in range(20_000):
        name = "".join(random.choice(pieces) for _ in range(random.randint(1, 7)))
        if lines._PLAIN_NAMES.fullmatch(f"<{name}>"):
            ox.NamedNode(name)
            plain += 1
    assert plain > 1_000


def test_made_labels_are_numbered_and_never_meet_written_ones() -> None:
    label = number_labels("s")
    made = ["afaac3cd7568b545a88b4b40fad27a4", "c0c002ca9b5fe1674448ff5087517809"]
    assert [label(each) for each in (*made, made[0], "x", "0")] == [
        "_:s..0",
        "_:s..1",
        "_:s..0",
        "_:s.x",
        "_:s.0",
    ]


def test_turtle_in_a_file_of_triples_is_called_turtle() -> None:
    _, rejects = parsed(b'@prefix : <urn:> .\n<urn:a> a <urn:C> .\n<urn:a> <urn:p> "is a b" , .\n')
    turtle = [found.message.startswith("“@prefix” is Turtle") for found in rejects.examples]
    assert turtle == [True, False, False]
    assert rejects.examples[1].message.startswith("“a” is Turtle")
    assert "Turtle" not in rejects.examples[2].message
