"""Records that are JSON-LD: their triples, their time, and what of them cannot be read."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from shiq.errors import InputError
from shiq.inputs.catalog import Catalog, read_catalog
from shiq.inputs.formats import Format
from shiq.model import RDF, XSD
from shiq.rdf.jsonld import read_json
from shiq.rdf.triples import Rejects, Triples, number_labels
from shiq.streams.enrichment import open_enricher
from shiq.streams.enrichment.jsonld import (
    _InMemoryDocument,
    find_defined_terms,
    parse_jsonld_record,
)
from shiq.streams.front.event import EventError
from tests import air_quality as air
from tests.command_line import shiq

CONTEXT = {"@vocab": "urn:v:", "by": {"@type": "@id"}}


def _said(**members: Any) -> list[str]:
    return parse_jsonld_record(json.dumps({"@context": CONTEXT, **members})).lines


def test_a_record_is_its_triples() -> None:
    assert _said(t=3, **{"@id": "urn:o", "@type": "Observation", "by": "urn:s", "value": 120}) == [
        f"<urn:o> <{RDF}type> <urn:v:Observation> .",
        "<urn:o> <urn:v:by> <urn:s> .",
        f'<urn:o> <urn:v:value> "120"^^<{XSD}integer> .',
    ]
    # Nodes without a label do not meet those that have one; what stands in a named graph is said
    # too.
    assert _said(
        **{
            "@id": "urn:o",
            "by": "_:node0",
            "of": {"by": "urn:s"},
            "@graph": [{"@id": "urn:g", "x": "y"}],
        }
    ) == [
        "<urn:o> <urn:v:by> _:node0 .",
        "<urn:o> <urn:v:of> _:nodex0 .",
        "_:nodex0 <urn:v:by> <urn:s> .",
        '<urn:g> <urn:v:x> "y" .',
    ]
    assert _said() == []


def test_the_time_of_a_record_is_a_statement_where_the_context_has_it(tmp_path: Path) -> None:
    text = '{"@id": "urn:o", "\\u0074" : 5 , "urn:p": {"@id": "urn:s", "urn:t": 6}, "@context": %s}'
    (tmp_path / "c.jsonld").write_text(json.dumps({"@context": {"t": "urn:t"}}))
    (tmp_path / "catalog.json").write_text(json.dumps({"urn:c": "c.jsonld"}))
    catalog: Catalog = read_catalog(tmp_path / "catalog.json")
    own = '{"t": "urn:t"}'
    for context, more in (("{}", 0), ("[{}]", 0), (own, 1), (f"[{{}}, {own}]", 1), ('"urn:c"', 1)):
        found = parse_jsonld_record(text % context, catalog=catalog)
        assert (found.t, found.id) == (5, "urn:o") and len(found.lines) == 2 + more
    assert (
        parse_jsonld_record(
            '{"t": "1970-01-01T00:01:00Z", "id": "e1"}'.replace('"id"', '"@id"'), "min"
        ).t
        == 1
    )
    assert parse_jsonld_record('{"t": "soon"}').t is None
    assert [
        len(_said(t=5, **{"@id": "urn:o", "urn:p": 1, "@context": context}))
        for context in ({"@vocab": "urn:v:"}, None)
    ] == [1, 1]
    # A member of that name further in is none of the record's.
    assert len(_said(**{"@id": "urn:o", "by": {"@id": "urn:s", "t": 5}})) == 2


OWN = {"t": "urn:t"}
SCOPED = {"@id": "urn:C", "@context": OWN}


@pytest.mark.parametrize(
    ("context", "members", "more"),
    [
        # Contexts that types bring along, by whatever name types go.
        ({"C": SCOPED}, {"@type": "C"}, 2),
        ({"C": SCOPED}, {"@type": ["urn:D", "C"]}, 3),
        ({"C": SCOPED, "kind": "type", "type": "@type"}, {"kind": "C"}, 2),
        ([{"type": "@type", "kind": "type"}, {"type": "urn:k", "C": SCOPED}], {"kind": "C"}, 2),
        ({"@vocab": "urn:v:", "C": SCOPED}, {"@type": "C"}, 2),
        ({"C": {"@id": "urn:C", "@context": ["urn:through", {}]}}, {"@type": "C"}, 2),
        ({"C": {"@id": "urn:C", "@context": {"@propagate": False, **OWN}}}, {"@type": "C"}, 2),
        ([OWN, {"C": {"@id": "urn:C", "@context": None}}], {"@type": "C"}, 1),
        # Those of no type of the record's own, and of properties, say nothing about its members.
        ({"C": SCOPED}, {}, 0),
        ({"C": SCOPED}, {"urn:q": {"@id": "urn:x", "@type": "C"}}, 2),
        ({"q": {"@id": "urn:q", "@context": OWN}}, {"q": {"@id": "urn:x"}}, 1),
        ({"q": {"@id": "urn:q", "@context": OWN}, "C": "q"}, {"@type": "C"}, 1),
        # Contexts that name others, and what takes away what was defined.
        ("urn:through", {}, 1),
        ([OWN, None], {}, 0),
        ([None, OWN, {}], {}, 1),
        ([OWN, [{}, [None]]], {}, 0),
        (["urn:through", "urn:none"], {}, 0),
        ({"@vocab": "urn:v:", "@base": "urn:b:"}, {}, 0),
        ({"@vocab": "urn:v:", "t": {"@type": "@id"}}, {}, 1),
        ({"t": "@type"}, {}, 1),
        ({"t": None}, {}, 0),
        (OWN, {"@graph": [{"@id": "urn:x", "urn:q": 1}]}, 2),
    ],
)
def test_what_defines_the_time_of_a_record(
    tmp_path: Path, context: object, members: dict[str, object], more: int
) -> None:
    for name, content in (("through", ["urn:own"]), ("own", OWN), ("none", None)):
        (tmp_path / name).write_text(json.dumps({"@context": content}))
    (tmp_path / "catalog.json").write_text(
        json.dumps({f"urn:{name}": name for name in ("through", "own", "none")})
    )
    record = {"@id": "urn:o", "t": "urn:5", "urn:p": 1, "@context": context, **members}
    found = parse_jsonld_record(json.dumps(record), catalog=read_catalog(tmp_path / "catalog.json"))
    assert len(found.lines) == 1 + more


def _context(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if kind < 0.3 and depth < 3:
        return [_context(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind < 0.5:
        return chance.choice([None, "urn:c0", "urn:c1"])
    found: dict[str, Any] = {}
    for term in chance.sample(["t", "A", "p", "type", "kind"], chance.randrange(4)):
        if term == "t":
            found[term] = chance.choice(
                ["urn:t", "@type", {"@id": "urn:t", "@type": "@id"}, {"@reverse": "urn:t"}]
            )
        elif term in ("type", "kind"):
            found[term] = chance.choice(["@type", "type", "kind", "urn:k"])
        else:
            scope = (
                {"@context": _context(chance, depth + 1)}
                if chance.random() < 0.6 and depth < 3
                else {}
            )
            found[term] = {"@id": f"urn:{term}", **scope}
    return found


def test_random_contexts_define_what_the_reader_takes_for_defined(tmp_path: Path) -> None:
    """Without @vocab the reader tells a member that no context defines."""
    ways: Counter[bool] = Counter()
    for seed in range(1500):
        chance = random.Random(seed)
        for name in ("c0", "c1"):
            (tmp_path / name).write_text(json.dumps({"@context": _context(chance)}))
        (tmp_path / "catalog.json").write_text(json.dumps({"urn:c0": "c0", "urn:c1": "c1"}))
        catalog, types = read_catalog(tmp_path / "catalog.json"), ["@type", "type", "kind"]
        record = {"@context": _context(chance), "@id": "urn:o", "t": {"@id": "urn:y"}}
        record |= {
            key: chance.choice(["A", ["A"], ["p", "urn:B"]])
            for key in chance.sample(types, chance.randrange(3))
        }
        source = _InMemoryDocument("r", Path(), Format.JSONLD, content=json.dumps(record).encode())
        rejects = Rejects("r")
        try:
            read_json(source, Triples(), number_labels("e"), rejects, catalog)
        except InputError:
            continue
        told = [reject.message for reject in rejects.examples]
        if all("no context says what" in message for message in told):
            is_defined = not any("what 't' means" in message for message in told)
            assert ("t" in find_defined_terms(record, catalog)) == is_defined, seed
            ways[is_defined] += 1
    assert ways[True] > 200 < ways[False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"t": 1, "@context": [' + b"{}," * 1_000 + b"{}]}", "over 1000 contexts"),
        (b'{"t": 1, "@context": {"@import": "urn:c"}}', "@import"),
        (b'{"@id": "urn:o", "@context": {"p": {"@id": 5}}, "p": 1}', "^the record: not JSON-LD"),
        (b"[]", "a JSON object"),
        (b"5", "a JSON object"),
        (b'{"a": 1,}', "no JSON"),
        (b'{"a": 1} {}', "no JSON"),
        (b"\xff", "no JSON"),
        (b'{"@id": "urn:o", "urn:p": NaN}', "NaN"),
        (b'{"@id": "urn:o", "urn:p": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", "no JSON"),
        (b'{"t": 1, "t": 2}', "twice"),
        (b'{"@id": "urn:o", "urn:p": 1, "urn:p": 2}', "twice"),
        (b'{"@id": "urn:o", "p": 1}', "no context says what 'p' means"),
        (b'{"@id": "o", "urn:p": 1}', "relative"),
        (b'{"@context": "http://example.org/c", "@id": "urn:o"}', "nothing is fetched"),
        (b'{"@id": "urn:o", "urn:p": {"@id": 5}}', "@id"),
        (b'{"@id": "urn:o", "urn:p": {"@value": "x", "@language": "e n"}}', "language tag"),
        (b'{"@id": "urn:o", "urn:p": 1.00000000000000000001}', "exactly"),
    ],
)
def test_what_cannot_be_read_is_told(text: bytes, said: str) -> None:
    with pytest.raises(EventError, match=said) as told:
        parse_jsonld_record(text)
    assert "line 0" not in str(told.value)


def test_the_time_and_name_of_a_record_that_cannot_be_read_are_known() -> None:
    for text in (
        '{"@id": "urn:o", "t": 9, "p": 1}',
        '{"@id": "urn:o", "t": 9, "@context": "urn:c"}',
    ):
        with pytest.raises(EventError) as told:
            parse_jsonld_record(text)
        assert (told.value.t, told.value.id) == (9, "urn:o")


def test_without_what_is_malformed() -> None:
    assert parse_jsonld_record('{"@id": "urn:o", "p": 1, "urn:q": "x"}', lenient=True).lines == [
        '<urn:o> <urn:q> "x" .'
    ]


def _air(event: list[str], t: int) -> dict[str, Any]:
    """An event of the worked example as JSON-LD."""
    found: dict[str, Any] = {"t": t, "@context": {"@vocab": air.NS}}
    for line in event:
        subject, predicate, value = line.removesuffix(" .").split(" ", 2)
        found["@id"] = subject[1:-1]
        if predicate == f"<{air.TYPE}>":
            found["@type"] = value[1:-1]
        else:
            literal = value.split("^^")
            said = (
                {"@id": value[1:-1]}
                if value[0] == "<"
                else {"@value": literal[0][1:-1], "@type": literal[1][1:-1]}
            )
            found.setdefault(predicate[1:-1], []).append(said)
    return found


def test_records_are_enriched_as_the_events_that_they_say(tmp_path: Path) -> None:
    tbox, static = air.write(tmp_path)
    plain = [
        lines for lines, _, _ in air.EVENTS if len({line.split(" ")[0] for line in lines}) == 1
    ]
    assert len(plain) > 7
    with open_enricher(tbox, static, reasoner="own") as enricher:
        for t, lines in enumerate(plain):
            expected = enricher.enrich(lines)
            found = enricher.enrich(_air(lines, t))
            assert found.types == expected.types and found.hit
        refused = enricher.enrich({"@id": "urn:o", "p": 1})
        assert refused.verdict.value == "undetermined" and "--allow malformed" in refused.reason
    records = [json.dumps(_air(lines, t)) for t, lines in enumerate(plain)]
    (tmp_path / "e").write_text("\n".join([*records, '{"@id": "urn:o", "t": 9, "p": 1}']) + "\n")
    options = [
        "-t",
        tbox,
        "--static",
        static,
        "-s",
        tmp_path / "e",
        "--format",
        "jsonld",
        "--reasoner",
        "own",
        "-q",
    ]
    called = shiq("stream", "enrich", *options, "--out", tmp_path / "o")
    rows = [json.loads(row) for row in (tmp_path / "o").read_text().splitlines()]
    assert (
        called.returncode == 3
        and [row["t"] for row in rows] == [*range(len(plain)), 9]
        and rows[-1]["id"] == "urn:o"
    )
    assert rows[0]["types"] and rows[0]["id"] == _air(plain[0], 0)["@id"]
    assert rows[-1]["verdict"] == "undetermined" and rows[-1]["reason"].startswith(
        f"line {len(rows)}: no context says"
    )
    called = shiq(
        "stream",
        "enrich",
        *options,
        "--window",
        2,
        "--slide",
        3,
        "--out",
        tmp_path / "w",
        "--allow",
        "malformed",
    )
    assert called.returncode == 0 and json.loads((tmp_path / "w").read_text().splitlines()[0])[
        "lines"
    ] == [1, 2, 3]
    refused_call = shiq("stream", "enrich", *options, "--mapping", "m.ttl")
    assert refused_call.returncode == 2 and "--mapping" in refused_call.stderr
