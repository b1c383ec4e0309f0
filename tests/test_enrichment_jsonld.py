"""Records that are JSON-LD: their triples, their time, and what of them cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shiq.catalog import Catalog, read_catalog
from shiq.model import RDF, XSD
from streams.enrichment import open_enricher
from streams.enrichment.jsonld import record_of
from streams.front.event import EventError
from tests import air_quality as air
from tests.command_line import shiq

CONTEXT = {"@vocab": "urn:v:", "by": {"@type": "@id"}}


def _said(**members: Any) -> list[str]:
    return record_of(json.dumps({"@context": CONTEXT, **members})).lines


def test_a_record_is_its_triples() -> None:
    assert _said(t=3, **{"@id": "urn:o", "@type": "Observation", "by": "urn:s", "value": 120}) == [
        f"<urn:o> <{RDF}type> <urn:v:Observation> .",
        "<urn:o> <urn:v:by> <urn:s> .",
        f'<urn:o> <urn:v:value> "120"^^<{XSD}integer> .',
    ]
    # Nodes without a label do not meet those that have one; what stands in a named graph is said too.
    assert _said(**{"@id": "urn:o", "by": "_:node0", "of": {"by": "urn:s"}, "@graph": [{"@id": "urn:g", "x": "y"}]}) == [
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
        found = record_of(text % context, catalog=catalog)
        assert (found.t, found.id) == (5, "urn:o") and len(found.lines) == 2 + more
    assert record_of('{"t": "1970-01-01T00:01:00Z", "id": "e1"}'.replace('"id"', '"@id"'), "min").t == 1
    assert record_of('{"t": "soon"}').t is None
    # A member of that name further in is none of the record's.
    assert len(_said(**{"@id": "urn:o", "by": {"@id": "urn:s", "t": 5}})) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
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
    with pytest.raises(EventError, match=said):
        record_of(text)


def test_without_what_is_malformed() -> None:
    assert record_of('{"@id": "urn:o", "p": 1, "urn:q": "x"}', lenient=True).lines == ['<urn:o> <urn:q> "x" .']


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
            said = {"@id": value[1:-1]} if value[0] == "<" else {"@value": literal[0][1:-1], "@type": literal[1][1:-1]}
            found.setdefault(predicate[1:-1], []).append(said)
    return found


def test_records_are_enriched_as_the_events_that_they_say(tmp_path: Path) -> None:
    tbox, static = air.write(tmp_path)
    plain = [lines for lines, _, _ in air.EVENTS if len({line.split(" ")[0] for line in lines}) == 1]
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
    options = ["-t", tbox, "--static", static, "-s", tmp_path / "e", "--format", "jsonld", "--reasoner", "own", "-q"]
    called = shiq("stream", "enrich", *options, "--out", tmp_path / "o")
    rows = [json.loads(row) for row in (tmp_path / "o").read_text().splitlines()]
    assert called.returncode == 3 and [row["t"] for row in rows] == [*range(len(plain)), None]
    assert rows[0]["types"] and rows[0]["id"] == _air(plain[0], 0)["@id"]
    assert rows[-1]["verdict"] == "undetermined" and rows[-1]["reason"].startswith(f"line {len(rows)}: no context says")
    called = shiq("stream", "enrich", *options, "--window", 2, "--slide", 3, "--out", tmp_path / "w", "--allow", "malformed")
    assert called.returncode == 0 and json.loads((tmp_path / "w").read_text().splitlines()[0])["lines"] == [1, 2, 3]
    refused_call = shiq("stream", "enrich", *options, "--mapping", "m.ttl")
    assert refused_call.returncode == 2 and "--mapping" in refused_call.stderr
