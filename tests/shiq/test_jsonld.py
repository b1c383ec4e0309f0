"""JSON-LD: nothing is passed over in silence, nothing is fetched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiq.errors import InputError
from shiq.inputs.catalog import read_catalog
from shiq.inputs.reading import Reading
from shiq.model import (
    RDF,
    XSD,
    DataPropertyAssertion,
    Literal,
    ObjectProperty,
    ObjectPropertyAssertion,
    Signature,
)
from shiq.rdf import read_assertions, read_ontology
from tests.rdf_helpers import write

KNOWN = Signature(frozenset({"urn:C"}), frozenset({"urn:p"}), frozenset({"urn:d"}))


def read(folder: Path, document: object, **settings: object) -> Reading:
    text = document if isinstance(document, str | bytes) else json.dumps(document, indent=1)
    return read_assertions([write(folder, "d.jsonld", text)], KNOWN, **settings)  # type: ignore[arg-type]


def about(reading: Reading) -> list[str]:
    return [f"{x.message} @{x.line}" for x in reading.leftovers if x.kind == "malformed"]


KNOWS = {"p": {"@id": "urn:p", "@type": "@id"}, "d": "urn:d"}


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ({"@context": KNOWS, "@id": "urn:a", "q": "x"}, "no context says what 'q' means"),
        (
            {"@context": [KNOWS, None], "@id": "urn:a", "p": "urn:b"},
            "no context says what 'p' means",
        ),
        (
            {"@context": {**KNOWS, "@vocab": None}, "@id": "urn:a", "q": 1},
            "no context says what 'q' means",
        ),
        (
            {
                "@context": {"r": {"@id": "urn:p", "@context": None}},
                "@id": "urn:a",
                "r": {"@id": "urn:b", "q": 1},
            },
            "what 'q'",
        ),
        ({"@id": "urn:a", "@type": "Person"}, "no context says what 'Person' means"),
        ({"@id": "urn:a", "full name": "x"}, "no context says what 'full name' means"),
        ({"@id": "urn:a", "_:p": "x"}, "no context says what '_:p' means"),
        ({"@id": "urn:a b", "urn:d": "x"}, "'urn:a b' stands where an IRI is meant"),
        ({"@id": "urn:a", "urn:p": {"@id": "http://[x"}}, "stands where an IRI is meant"),
        ({"@id": "urn:a", "urn:p": {"@id": "@Id"}}, "stands where an IRI is meant"),
        ({"@context": KNOWS, "@id": "urn:a", "p": "urn:b c"}, "stands where an IRI is meant"),
        (
            {"@context": {"d": "urn:d e"}, "@id": "urn:a", "d": "x"},
            "stands in a context where an IRI is meant",
        ),
        (
            {"@id": "urn:a", "urn:d": {"@value": "x", "@type": "urn:a type"}},
            "stands where an IRI is meant",
        ),
        (
            {"@id": "urn:a", "urn:d": {"@value": "x", "@language": "en_US"}},
            "'en_US' is no language tag",
        ),
        (
            {
                "@context": {"d": {"@id": "urn:d", "@container": "@language"}},
                "@id": "urn:a",
                "d": {"en_US": "x"},
            },
            "'en_US' is no language tag",
        ),
        (
            {
                "@context": {"l": "@language"},
                "@id": "urn:a",
                "urn:d": {"@value": "x", "l": "en_US"},
            },
            "is no language tag",
        ),
        (
            {
                "@context": {"m": "l", "l": "@language"},
                "@id": "urn:a",
                "urn:d": {"@value": "x", "m": "en_US"},
            },
            "is no language tag",
        ),
        (
            {
                "@context": {"w": "v", "v": "@value"},
                "@id": "urn:a",
                "urn:d": 1,
                "@graph": [{"w": "x"}],
            },
            "'x' stands where a node is meant",
        ),
        (
            {
                "@context": {
                    "d": "urn:d",
                    "A": {"@id": "urn:A", "@context": {"d": "urn:e"}},
                    "B": {"@id": "urn:B", "@context": {}},
                },
                "@id": "urn:a",
                "@type": ["B", "A"],
                "d": 1,
            },
            "the types A and B both bring a context along",
        ),
        ({"@Id": "urn:a", "urn:d": "x"}, "there is no keyword @Id"),
        ({"@context": {"@base": None}, "@id": "a", "urn:d": "x"}, "is relative"),
        (
            {
                "@context": {"p": {"@id": "urn:p", "@context": {"full name": "urn:d"}}},
                "@id": "urn:a",
                "full name": "x",
            },
            "no context says what 'full name' means",
        ),
        (
            {
                "@context": {
                    "p": {"@id": "urn:p", "@container": "@index", "@context": {"p": "urn:p"}}
                },
                "@id": "urn:a",
                "p": {"1": {"@id": "urn:b", "p": {"a key": "x"}}},
            },
            "'a key' means",
        ),
        ('{"@id": "urn:a", "urn:d": "1", "urn:d": "2"}', "'urn:d' stands twice"),
        ('{"@id": "urn:a", "urn:d": 12345678901234567890123}', "does not keep exactly"),
        ('{"@id": "urn:a", "urn:d": 1e400}', "does not keep exactly"),
        ('{"@id": "urn:a", "urn:d": "\\ud800"}', "half of a surrogate pair"),
        ('{"@id": "urn:a", "urn:d": "a\\u0000b"}', "U+0000"),
        (
            '{"@id": "urn:a", "urn:d": "urn:x-shiq-text:7.", "urn:x-shiq-unmapped:x": 1}',
            "means, and it is no IRI",
        ),
    ],
)
def test_what_json_ld_passes_over_is_told(tmp_path: Path, document: object, word: str) -> None:
    reading = read(tmp_path, document)
    assert any(word in message for message in about(reading)), about(reading)
    assert reading.ledger["leftover:malformed"] >= 1


@pytest.mark.parametrize(
    "value",
    [
        "x",
        5,
        True,
        {"@value": "x"},
        {"v": "x"},
        {"@list": [{"@id": "urn:b", "p": "urn:b"}]},
        {"@set": ["x"]},
        ["x"],
        {"l": [7]},
    ],
)
@pytest.mark.parametrize("where", ["@graph", "g", "top", "inner"])
def test_what_stands_among_nodes_and_is_said_of_nothing_is_told_once(
    tmp_path: Path, value: object, where: str
) -> None:
    context = {**KNOWS, "g": "@graph", "v": "@value", "l": "@list"}
    node = {"@id": "urn:a", "p": "urn:b"}
    documents: dict[str, object] = {
        "@graph": {"@context": context, "@graph": [value, node, None]},
        "g": {"@context": context, "g": [node, {"@set": [node]}, value]},
        "top": [{"@context": context, "@set": [value]}, {"@context": context, **node}],
        "inner": {"@context": context, **node, "urn:p": {"@id": "urn:b", "@graph": value}},
    }
    reading = read(tmp_path, documents[where])
    [message] = about(reading)
    assert "stands where a node is meant" in message
    assert ObjectPropertyAssertion(ObjectProperty("urn:p"), "urn:a", "urn:b") in set(reading.abox)


def test_terms_may_have_any_name_and_may_be_left_out(tmp_path: Path) -> None:
    document = {
        "@context": {"full name": "urn:d", "note": None},
        "@id": "urn:a",
        "full name": "x",
        "note": "y",
    }
    reading = read(tmp_path, document)
    assert (len(reading.abox), reading.leftovers) == (1, ())


def test_texts_that_are_no_iri_are_literals_as_written(tmp_path: Path) -> None:
    texts = [
        "John Smith",
        "12:30",
        "@home",
        'say "x" \\ <b>',
        "é\n",
        "",
        "urn:x-shiq-text:0.",
        "_:not a label",
    ]
    reading = read(tmp_path, {"@context": KNOWS, "@id": "urn:a", "d": texts})
    assert not reading.leftovers
    assert {a.literal.lexical for a in reading.abox if isinstance(a, DataPropertyAssertion)} == set(
        texts
    )


def test_values_of_all_kinds(tmp_path: Path) -> None:
    context = {
        "@vocab": "urn:",
        "id": "@id",
        "m": {"@id": "urn:d", "@container": "@language"},
        "i": {"@container": "@index"},
    }
    context |= {"i": {"@id": "urn:p", "@container": "@index"}}  # type: ignore[dict-item]
    document = {
        "@context": context,
        "id": "urn:a",
        "m": {"en": "x y", "de-AT": "z"},
        "d": [
            True,
            7,
            1.5,
            {"@value": "1", "@type": XSD + "decimal"},
            {"@value": {"k l": ["m n"]}, "@type": "@json"},
        ],
        "i": {"1st floor": {"id": "urn:b"}, "2nd floor": {"id": "_:c"}},
    }
    reading = read(tmp_path, document)
    assert [m for m in about(reading) if "'k l'" not in m] == []
    found = {a.literal for a in reading.abox if isinstance(a, DataPropertyAssertion)}
    assert found == {
        Literal("x y", RDF + "langString", "en"),
        Literal("z", RDF + "langString", "de-at"),
        Literal("true", XSD + "boolean"),
        Literal("7", XSD + "integer"),
        Literal("1.5E0", XSD + "double"),
        Literal("1", XSD + "decimal"),
        Literal('{"k l":["m n"]}', RDF + "JSON"),
    }
    assert {a.object for a in reading.abox if isinstance(a, ObjectPropertyAssertion)} == {
        "urn:b",
        "_:a0.c",
    }


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ('{"@id": "urn:a",\n "urn:d": "x"', "line 2, column"),
        ('{"@id": "urn:a", "urn:d": NaN}', "NaN is no JSON"),
        ('"urn:a"', "no JSON-LD"),
        ('["urn:a"]', "no JSON-LD"),
        ("[" * 300 + "]" * 300, "levels deep"),
        (b'{"@id": "urn:a", "urn:d": "caf\xe9"}', "not UTF-8"),
        ('{"@context": {"@import": "x"}, "@id": "urn:a"}', "@import"),
        ('{"@context": 7, "@id": "urn:a"}', "no context"),
    ],
)
def test_what_is_no_json_ld_is_refused(tmp_path: Path, document: str | bytes, word: str) -> None:
    with pytest.raises(InputError, match=word):
        read(tmp_path, document)


def test_lines_of_nodes_are_known(tmp_path: Path) -> None:
    document = {
        "@context": KNOWS,
        "@graph": [{"@id": "urn:a", "d": "x"}, {"@id": "urn:b", "p": "urn:a", "typo": 1}],
    }
    reading = read(tmp_path, document)
    text = (tmp_path / "d.jsonld").read_text().splitlines()
    lines = {x.subject: place.line for x, (place,) in reading.places(reading.abox).items()}  # type: ignore[union-attr]
    assert '"urn:a"' in text[lines["urn:a"] - 1]
    assert '"urn:b"' in text[lines["urn:b"] - 1]
    assert '"typo"' in text[reading.leftovers[0].line - 1]


@pytest.mark.parametrize(
    "context",
    [
        "http://169.254.169.254/latest",
        "https://schema.org/",
        "file:///etc/passwd",
        "context.jsonld",
        ["http://x.org/c"],
    ],
)
def test_a_context_from_elsewhere_is_refused_with_its_line(tmp_path: Path, context: object) -> None:
    write(tmp_path, "context.jsonld", '{"@context": {"p": "urn:p"}}')
    documents = [
        {"@context": context, "@id": "urn:a", "p": {"@id": "urn:b"}},
        {"@context": KNOWS, "@id": "urn:a", "p": {"@context": context, "@id": "urn:b"}},
        {
            "@context": {"p": {"@id": "urn:p", "@context": context}},
            "@id": "urn:a",
            "p": {"@id": "urn:b"},
        },
    ]
    for document in documents:
        with pytest.raises(
            InputError, match=r"d\.jsonld, line \d+: the context .* nothing is fetched"
        ):
            read(tmp_path, document)


def test_a_context_is_taken_from_the_catalog(tmp_path: Path) -> None:
    write(
        tmp_path,
        "c.jsonld",
        '{"@context": ["http://x.org/more", {"p": {"@id": "urn:p", "@type": "@id"}}]}',
    )
    write(tmp_path, "more.jsonld", '{"@context": {"d": "urn:d"}}')
    write(tmp_path, "loop.jsonld", '{"@context": "http://x.org/loop"}')
    files = {
        "http://x.org/c": "c.jsonld",
        "http://x.org/more": "more.jsonld",
        "http://x.org/loop": "loop.jsonld",
    }
    catalog = read_catalog(write(tmp_path, "catalog.json", json.dumps(files)))
    reading = read(
        tmp_path,
        {"@context": "http://x.org/c", "@id": "urn:a", "p": "urn:b", "d": "x y"},
        catalog=catalog,
    )
    assert (len(reading.abox), reading.leftovers) == (2, ())
    with pytest.raises(InputError, match="takes itself as a context"):
        read(tmp_path, {"@context": "http://x.org/loop", "@id": "urn:a"}, catalog=catalog)


def test_a_tbox_in_json_ld(tmp_path: Path) -> None:
    owl, rdfs = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#"
    node = {"@id": "urn:A", "@type": owl + "Class", rdfs + "subClassOf": {"@id": "urn:B"}}
    reading = read_ontology(
        [write(tmp_path, "o.jsonld", json.dumps([node, {"@id": "urn:B", "@type": owl + "Class"}]))]
    )
    assert (len(reading.tbox.axioms), reading.leftovers) == (1, ())
