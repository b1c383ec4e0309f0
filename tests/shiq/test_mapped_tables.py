"""Tables by a mapping: the triples of random tables and mappings, row by row and in blocks; rows
and columns; what is refused.
"""

from __future__ import annotations

import csv
import io
import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

from shiq import check_insertions, open_store
from shiq.answers.verdict import Leftover, Verdict
from shiq.api import certify, index
from shiq.errors import InputError, OperationalError, UsageError
from shiq.inputs.sources import TableKind, TableSource
from shiq.jobs.gate.lines import read_statements
from shiq.rdf import text_tables
from shiq.rdf.source_ranges import can_be_cut, pack_range, table_ranges
from shiq.rdf.triples import Rejects, Triples
from shiq.rml import tables
from shiq.rml.inputs import mapped_sources
from shiq.rml.model import LogicalSource, TermMap, TriplesMap
from shiq.rml.program import MappingProgram, make_term, read_source_rows
from shiq.rml.reader import read_mapping
from shiq.rml.tables import read_mapped, referenced_columns, row_blocks
from tests.command_line import shiq

PREFIXES = (
    "@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> . "
    "@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix : <urn:t#> . "
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
)
ONTOLOGY = """
@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Machine a owl:Class ; owl:disjointWith :Sensor . :Sensor a owl:Class .
:on a owl:ObjectProperty ; rdfs:range :Machine . :limit a owl:DatatypeProperty ; rdfs:range xsd:decimal .
:name a owl:DatatypeProperty .
"""
YARRRML = """
prefixes: {t: "urn:t#", d: "urn:d:"}
mappings:
  machines:
    sources: [machines.csv~csv]
    s: d:$(id)
    po:
      - [a, t:Machine]
      - [t:name, $(name)]
      - [t:limit, $(limit), xsd:decimal]
  sensors:
    sources: [sensors.csv~csv]
    s: d:$(id)
    po:
      - [a, t:Sensor]
      - p: t:on
        o: {mapping: machines, condition: {function: equal, parameters: [[str1, $(machine)], [str2, $(id)]]}}
"""
#: The same as in YARRRML, line by line.
RML = PREFIXES + (
    ':machines rml:logicalSource [ rml:source "machines.csv" ; rml:referenceFormulation ql:CSV ] ;\n'
    ' rr:subjectMap [ rr:template "urn:d:{id}" ; rr:class :Machine ] ;\n'
    ' rr:predicateObjectMap [ rr:predicate :name ; rr:objectMap [ rml:reference "name" ] ] ;\n'
    ' rr:predicateObjectMap [ rr:predicate :limit ; rr:objectMap [ rml:reference "limit" ; rr:datatype xsd:decimal ] ] .\n'
    ':sensors rml:logicalSource [ rml:source "sensors.csv" ; rml:referenceFormulation ql:CSV ] ;\n'
    ' rr:subjectMap [ rr:template "urn:d:{id}" ; rr:class :Sensor ] ;\n'
    " rr:predicateObjectMap [ rr:predicate :on ; rr:objectMap [\n"
    '  rr:parentTriplesMap :machines ; rr:joinCondition [ rr:child "machine" ; rr:parent "id" ] ] ] .\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "onto.ttl").write_text(ONTOLOGY)
    (tmp_path / "m.yml").write_text(YARRRML)
    (tmp_path / "m.ttl").write_text(RML)
    (tmp_path / "machines.csv").write_text(
        'id,name,limit\nm1,Press,80.5\nm2,,70\nm3,"Saw,\nold",abc\nm4,Mill,12\n'
    )
    (tmp_path / "sensors.csv").write_text("id,machine\ns1,m1\ns2,m9\nm4,m2\n")
    return tmp_path


def lines_of(source: object, mapping: Path) -> tuple[set[str], tuple[Leftover, ...]]:
    """The triples that a table is by a mapping, as N-Triples, and what is left."""
    (mapped,) = mapped_sources([source], mapping)
    statements, left = read_statements(mapped)
    return {x.text for x in statements}, left


def places_of(
    leftovers: tuple[Leftover, ...], kind: str = "malformed"
) -> list[tuple[str, int, str]]:
    return [
        (Path(x.source).name, x.line, x.message.partition(":")[0])
        for x in leftovers
        if x.kind == kind
    ]


# --- the twin: row by row, from the rows that Python's own readers give ---------------------------


def slow_lines(mapping: Path, rows: dict[str, list[dict[str, Any]]]) -> set[str]:
    """The triples of ``rows``, by file, made one by one."""
    every = read_mapping(mapping)
    found = set()
    for triples_map in every.values():
        program = MappingProgram([triples_map], every, lenient=True)
        for row in rows.get(triples_map.source.name, ()):
            found |= {
                f"{s} {p} {o} .".replace("_:m", "_:b0.m") for s, p, o in program.statements(row)
            }
    return found


#: How a term can be made of a row.
TERMS = (
    'rml:reference "text"',
    'rml:reference "text" ; rr:language "de"',
    'rml:reference "number" ; rr:datatype xsd:decimal',
    'rr:template "is {text}, {number}" ; rr:termType rr:Literal',
    'rr:template "http://x/{text}/{number}"',
    'rr:template "{text}-{id}" ; rr:termType rr:BlankNode',
    'rml:reference "iri" ; rr:termType rr:IRI',
    "rr:constant :c",
    'rr:constant "two\\nlines"',
    'rr:parentTriplesMap :room ; rr:joinCondition [ rr:child "room" ; rr:parent "key" ]',
    "rr:parentTriplesMap :self",
)


def random_mapping(rng: random.Random, form: str = "CSV") -> str:
    subject = rng.choice(
        (
            'rr:template "http://x/{id}"',
            'rr:template "{id}" ; rr:termType rr:BlankNode',
            'rr:template "urn:{text}"',
        )
    )
    pairs = "".join(
        f" ; rr:predicateObjectMap [ rr:predicate :p{i} ; rr:objectMap [ {rng.choice(TERMS)} ] ]"
        for i in range(rng.randrange(1, 6))
    )
    return (
        PREFIXES
        + f':m rml:logicalSource [ rml:source "rows.csv" ; rml:referenceFormulation ql:{form} ] ;'
        + f" rr:subjectMap [ {subject} ; rr:class :Row ]{pairs} .\n"
        + f':self rml:logicalSource [ rml:source "rows.csv" ; rml:referenceFormulation ql:{form} ] ;'
        + ' rr:subjectMap [ rr:template "urn:self:{text}" ] .\n'
        + ':room rml:logicalSource [ rml:source "rooms.csv" ; rml:referenceFormulation ql:CSV ] ;'
        + ' rr:subjectMap [ rr:template "http://x/room/{key}/{floor}" ] .\n'
    )


def random_rows(rng: random.Random) -> list[dict[str, Any]]:
    texts = ("plain", "two words", "a/b", "50 %", 'quote " and \\', "ünïcode", "line\nbreak", "")
    return [
        {
            "id": f"r{rng.randrange(9)}",
            "text": rng.choice(texts),
            "number": rng.choice(("7", "-1.50", "")),
            "iri": rng.choice(("urn:i:1", "http://y/z", "")),
            "room": rng.choice(("1", "2", "nowhere", "")),
        }
        for _ in range(rng.randrange(12))
    ]


def csv_text(rows: list[dict[str, Any]], delimiter: str = ",") -> str:
    out = io.StringIO()
    writer = csv.DictWriter(
        out, ["id", "text", "number", "iri", "room"], delimiter=delimiter, lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


ROOMS = "key,floor\n1,a\n1,b\n2,\n3,c\n"


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table(
        {
            name: pa.array([row[name] or None for row in rows], pa.string())
            for name in ("id", "text", "number", "iri", "room")
        }
    )


def sources_in(folder: Path, rows: list[dict[str, Any]]) -> Iterator[tuple[str, object]]:
    """The same rows in each kind of table."""
    (folder / "rows.csv").write_text(csv_text(rows))
    yield "csv", folder / "rows.csv"
    (folder / "rows.tsv").write_text(csv_text(rows, "\t"))
    yield "tsv", folder / "rows.tsv"
    table = table_of(rows)
    pq.write_table(table, folder / "rows.parquet", row_group_size=3)
    yield "parquet", folder / "rows.parquet"
    if rows:
        write_deltalake(folder / "delta", table, mode="overwrite")
        yield "delta", folder / "delta"
    yield "arrow", TableSource("rows.csv", TableKind.ARROW, table)
    yield (
        "pandas",
        TableSource("rows.csv", TableKind.PANDAS, pd.DataFrame(rows, columns=table.schema.names)),
    )


@pytest.mark.parametrize("seed", range(25))
def test_random_tables_say_what_they_say_row_by_row(tmp_path: Path, seed: int) -> None:
    rng = random.Random(f"mapped {seed}")
    (tmp_path / "rooms.csv").write_text(ROOMS)
    mapping = tmp_path / "m.ttl"
    for _ in range(4):
        mapping.write_text(random_mapping(rng))
        rows = random_rows(rng)
        filled = [{name: value for name, value in row.items() if value != ""} for row in rows]
        expected = slow_lines(mapping, {"rows.csv": filled})
        for kind, source in sources_in(tmp_path, rows):
            found, left = lines_of(source, mapping)
            assert found == expected, kind
            assert {x.kind for x in left} <= {"no-partner", "passed-over"}, kind
        mapping.write_text(random_mapping(rng, "JSONPath"))
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        expected = slow_lines(mapping, {"rows.csv": filled})
        found, left = lines_of(tmp_path / "rows.jsonl", mapping)
        assert found == expected and {x.kind for x in left} <= {"no-partner", "no-value"}


def test_parts_that_tasks_read_say_what_the_table_says(tmp_path: Path) -> None:
    """Row groups of a file, and batches of a DataFrame, each by itself; not where rows are joined."""
    from shiq.jobs.spark.reading import decode_part, encode_part, read_frame

    (tmp_path / "rooms.csv").write_text(ROOMS)
    rng, seen = random.Random("parts"), 0
    for _ in range(60):
        (tmp_path / "m.ttl").write_text(random_mapping(rng).replace("xsd:decimal", "xsd:integer"))
        table = table_of(random_rows(rng))
        pq.write_table(table, tmp_path / "rows.parquet", row_group_size=3)
        (source,) = mapped_sources([tmp_path / "rows.parquet"], tmp_path / "m.ttl")
        assert isinstance(source, TableSource) and source.mapping
        assert can_be_cut(source) == source.is_read_row_by_row == source.mapping.is_without_joins
        if not can_be_cut(source):
            continue
        ranges, _ = table_ranges(source, "", 2)
        parts = [decode_part(encode_part(pack_range(each.parse()))) for each in ranges]
        whole, (statements, left) = (
            read_statements(source),
            read_statements(replace(source, parts=partial(iter, parts))),
        )
        assert Counter(statements) == Counter(whole[0]) and Counter(left) == Counter(whole[1])
        seen += bool(left) and len(parts) > 1
        columns = referenced_columns(source.mapping.maps)
        batches = table.select(columns).to_batches(2)
        sent = read_frame(iter(batches), 0, source.name, source.mapping.drop_tables())
        parts = [decode_part(body) for batch in sent for body in batch.column(4).to_pylist()]
        statements, left = read_statements(replace(source, parts=partial(iter, parts)))
        assert Counter(statements) == Counter(replace(x, line=0) for x in whole[0])
        assert Counter(x.message for x in left) == Counter(x.message for x in whole[1])
    assert seen > 5


def test_the_comparison_sees_a_cell_that_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tables._text_of_value
    monkeypatch.setattr(
        tables,
        "make_term",
        lambda terms, texts, datatype="": make_term(
            terms, [texts[0].strip(), *texts[1:]], datatype
        ),
    )
    assert real("x", ("a",)) == ("x", "")
    (tmp_path / "m.ttl").write_text(
        PREFIXES
        + ':m rml:logicalSource [ rml:source "rows.csv" ; rml:referenceFormulation ql:CSV ] ; rr:subjectMap'
        ' [ rr:template "urn:{id}" ] ; rr:predicateObjectMap [ rr:predicate :p ; rr:objectMap [ rml:reference "text" ] ] .'
    )
    (tmp_path / "rows.csv").write_text("id,text\n1, a\n")
    found, _ = lines_of(tmp_path / "rows.csv", tmp_path / "m.ttl")
    assert found != slow_lines(
        tmp_path / "m.ttl",
        {"rows.csv": [*read_source_rows(LogicalSource("rows.csv", "csv", folder=tmp_path))]},
    )


def test_yarrrml_and_rml_are_the_same_mapping(folder: Path) -> None:
    for name in ("machines.csv", "sensors.csv"):
        yarrrml, rml = (lines_of(folder / name, folder / file) for file in ("m.yml", "m.ttl"))
        assert yarrrml[0] == rml[0] and yarrrml[0]
        assert places_of(yarrrml[1]) == places_of(rml[1])


def test_typed_columns_have_their_own_datatypes(tmp_path: Path) -> None:
    columns = {
        "id": ["a", "b"],
        "n": [1, None],
        "x": [0.5, float("nan")],
        "yes": [True, False],
        "day": [date(2024, 2, 29), None],
        "price": [Decimal("1.50"), None],
        "bytes": [b"\x01\xff", None],
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    (tmp_path / "m.yml").write_text(
        "mappings: {m: {sources: [t.parquet~csv], s: 'urn:$(id)', po: ["
        + ", ".join(f"['urn:{name}', $({name})]" for name in columns if name != "id")
        + "]}}"
    )
    xsd = "http://www.w3.org/2001/XMLSchema#"
    found, left = lines_of(tmp_path / "t.parquet", tmp_path / "m.yml")
    assert not left and found == {
        f'<urn:a> <urn:n> "1"^^<{xsd}integer> .',
        f'<urn:a> <urn:x> "0.5"^^<{xsd}double> .',
        f'<urn:b> <urn:x> "NaN"^^<{xsd}double> .',
        f'<urn:a> <urn:yes> "true"^^<{xsd}boolean> .',
        f'<urn:b> <urn:yes> "false"^^<{xsd}boolean> .',
        f'<urn:a> <urn:day> "2024-02-29"^^<{xsd}date> .',
        f'<urn:a> <urn:price> "1.50"^^<{xsd}decimal> .',
        f'<urn:a> <urn:bytes> "01FF"^^<{xsd}hexBinary> .',
    }


# --- rows and columns -----------------------------------------------------------------------------


@pytest.mark.parametrize("mapping", ["m.yml", "m.ttl"])
def test_conflicts_name_file_row_and_column(folder: Path, mapping: str) -> None:
    result = check_insertions(
        folder / "onto.ttl",
        folder / "machines.csv",
        folder / "sensors.csv",
        mapping=folder / mapping,
        allow=["malformed"],
    )
    assert result.verdict is Verdict.INCONSISTENT
    (place,) = {place for c in result.conflicts for places in c.places for place in places}
    assert (Path(place.source).name, place.line, place.column) == ("sensors.csv", 4, "id")
    (alone,) = [x for x in result.evidence.leftovers if x.kind == "no-partner"]
    assert (alone.line, alone.count) == (3, 1)


def test_what_a_conflict_has_of_the_base_names_its_rows_too(folder: Path) -> None:
    arguments = (
        "certify",
        folder / "onto.ttl",
        folder / "machines.csv",
        folder / "sensors.csv",
        "--mapping",
        folder / "m.yml",
    )
    called = shiq(*arguments, "-q", "--json", folder / "j.json")
    assert called.returncode == 1
    for name, line in (("machines.csv", 6), ("sensors.csv", 4)):
        assert f"at {folder / name}:{line}, column id" in called.stdout, called.stdout
    places = [
        x for c in json.loads((folder / "j.json").read_text())["conflicts"] for x in c["locations"]
    ]
    assert {(Path(x["source"]).name, x["line"], x["column"]) for x in places} >= {
        ("machines.csv", 6, "id"),
        ("sensors.csv", 4, "id"),
    }


def test_a_cell_that_is_no_value_is_malformed_with_its_row_and_column(folder: Path) -> None:
    _, left = lines_of(folder / "machines.csv", folder / "m.yml")
    # The row before it has a line break.
    assert (
        places_of(left) == [("machines.csv", 4, "column limit")]
        and "'abc' is no value of xsd:decimal" in left[0].message
    )
    (folder / "iri.yml").write_text(
        "mappings: {m: {sources: [x.csv~csv], s: $(id), po: [[a, 'urn:t#Machine']]}}"
    )
    (folder / "x.csv").write_text("id\nurn:a\nb c\n\nurn:d\n")
    found, left = lines_of(folder / "x.csv", folder / "iri.yml")
    assert len(found) == 2 and places_of(left) == [("x.csv", 3, "column id")]


def test_ragged_rows_quotes_and_bytes_are_malformed_and_the_others_are_read(folder: Path) -> None:
    (folder / "machines.csv").write_bytes(
        b'id,name,limit\nm1,a,1\nm2,b\nm3,c,1,2\nm4,caf\xe9,1\nm5,"a"\xffb,1\nm6,"two\nlines",1\nm7,d,1\nm8,"never ends,1\n'
    )
    found, left = lines_of(folder / "machines.csv", folder / "m.yml")
    assert {x.split()[0] for x in found} == {"<urn:d:m1>", "<urn:d:m6>", "<urn:d:m7>"}
    assert [(x.line, x.message) for x in left] == [
        (3, "2 values for 3 columns"),
        (4, "4 values for 3 columns"),
        (5, "column name: not UTF-8: byte 0xE9"),
        (6, "no row: ',' expected after '\"'"),
        (10, "no row: unexpected end of data"),
    ]


def test_json_lines_are_nested_and_broken_ones_are_told(folder: Path) -> None:
    (folder / "j.yml").write_text(
        "mappings:\n  m:\n    sources: [[x.jsonl~jsonpath, $]]\n    s: urn:$(id)\n    po:\n"
        "      - [urn:deep, $(in.deep)]\n      - [urn:each, '$(list[*])', xsd:integer]\n      - [urn:typo, $(tpyo)]\n"
    )
    (folder / "x.jsonl").write_bytes(
        b'{"id": "a", "in": {"deep": 1.50}, "list": [1, "x", 2]}\n\n{"id": "b", "list": 7}\n{"id": "c", "id": "d"}\n[\n'
        b'{"id": "\xff"}\n{"id": {"no": "value"}}\n[1]\nnull\n7\n"text"\n{"id": "e", "in": [{"deep": 1}], "list": null}\n'
    )
    found, left = lines_of(folder / "x.jsonl", folder / "j.yml")
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert found == {
        f'<urn:a> <urn:deep> "1.50"^^<{xsd}double> .',
        f'<urn:a> <urn:each> "1"^^<{xsd}integer> .',
        f'<urn:a> <urn:each> "2"^^<{xsd}integer> .',
    }
    assert [x.line for x in left if x.kind == "malformed"] == [4, 5, 6, 8, 9, 10, 11, 7, 12, 1, 3]
    assert [x.message for x in left if x.line in (3, 8, 12)] == [
        "no JSON: a record is an object, {…}",
        "column $.in.deep: $.in is no object",
        "column $.list[*]: $.list is no array or object",
    ]
    (typo,) = [x for x in left if x.kind == "no-value"]
    assert "$.tpyo" in typo.message and "line 8" in typo.message


def test_blank_nodes_of_two_tables_are_two(folder: Path) -> None:
    (folder / "b.ttl").write_text(
        PREFIXES + ':m rml:logicalSource [ rml:source "x.csv" ; rml:referenceFormulation ql:CSV ] ;'
        ' rr:subjectMap [ rr:template "{id}" ; rr:termType rr:BlankNode ; rr:class :Machine ] .'
    )
    (folder / "x.csv").write_text("id\na\na\n")
    (folder / "y.csv").write_text("id\na\n")
    result = certify(
        [folder / "onto.ttl", folder / "x.csv", folder / "y.csv"], mapping=folder / "b.ttl"
    )
    assert result.verdict is Verdict.CONSISTENT and result.statistics.assertions == 2


def test_an_iterator_over_what_has_no_members_is_malformed(folder: Path) -> None:
    (folder / "j.yml").write_text(
        "mappings: {m: {sources: [[x.jsonl~jsonpath, '$.items[*]']], s: 'urn:$(id)', po: [[a, 'urn:C']]}}"
    )
    (folder / "x.jsonl").write_text(
        '{"items": [{"id": "a"}, 5]}\n{"items": 7}\n{"items": null}\n{}\n'
    )
    found, left = lines_of(folder / "x.jsonl", folder / "j.yml")
    assert len(found) == 1
    assert [(x.line, x.message) for x in left if x.kind == "malformed"] == [
        (2, "no rows at $.items[*]: $.items is no array or object"),
        (1, "column id: $ is no object"),
    ]


def test_values_that_are_no_single_ones_join_nothing(folder: Path) -> None:
    (folder / "j.yml").write_text(
        "mappings:\n  p:\n    sources: [[p.jsonl~jsonpath, $]]\n    s: urn:p:$(id)\n  c:\n    sources: [[c.jsonl~jsonpath, $]]\n"
        "    s: urn:c:$(id)\n    po:\n      - p: <urn:on>\n"
        "        o: {mapping: p, condition: {function: equal, parameters: [[str1, $(key)], [str2, $(key)]]}}\n"
    )
    (folder / "p.jsonl").write_text(
        '{"id": 1, "key": {"a": 1}}\n{"id": 2, "key": "x"}\n{"id": 3, "key": [1]}\n{"id": 4}\n'
    )
    (folder / "c.jsonl").write_text(
        '{"id": 1, "key": {"b": 2}}\n{"id": 2, "key": "x"}\n{"id": 3}\n'
    )
    mapped = mapped_sources([folder / "c.jsonl", folder / "p.jsonl"], folder / "j.yml")
    statements, left = read_statements(mapped[0])
    assert {x.text for x in statements} == {"<urn:c:2> <urn:on> <urn:p:2> ."}
    assert sorted(places_of(left)) == [
        ("c.jsonl", 1, "column key"),
        ("p.jsonl", 1, "column key"),
        ("p.jsonl", 3, "column key"),
    ]


def test_a_column_that_is_there_twice_is_refused(folder: Path) -> None:
    (folder / "machines.csv").write_text("id,name,limit,name\nm1,a,1,b\n")
    called = shiq(
        "certify", folder / "onto.ttl", folder / "machines.csv", "--mapping", folder / "m.yml", "-q"
    )
    assert called.returncode == 4 and "the column 'name' is there twice" in called.stderr, (
        called.stderr
    )
    (folder / "machines.csv").write_text("id,name,limit,note,note\nm1,a,1,b,c\n")
    assert len(lines_of(folder / "machines.csv", folder / "m.yml")[0]) == 3


def test_a_long_value_is_read_and_one_beyond_the_bound_ends_its_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = csv.field_size_limit()
    inside = "x" * 200_000 + "\nm9,evil,1\n"
    (folder / "machines.csv").write_text(f'id,name,limit\nm0,a,1\nm1,"{inside}",2\n')
    try:
        found, left = lines_of(folder / "machines.csv", folder / "m.yml")
        assert len(found) == 6 and not left and not any("m9>" in x for x in found)
        csv.field_size_limit(131_072)
        monkeypatch.setattr(text_tables, "LARGEST_VALUE", 131_072)
        with pytest.raises(
            InputError,
            match=r"machines\.csv, line 3: the row has a value of more than 131,072 characters",
        ):
            lines_of(folder / "machines.csv", folder / "m.yml")
    finally:
        csv.field_size_limit(before)


def test_a_time_outside_of_what_can_be_read_is_malformed(folder: Path) -> None:
    times = pa.array([0, 10**18 // 2 * 5, None], pa.timestamp("us"))
    pq.write_table(pa.table({"id": ["a", "b", "c"], "at": times}), folder / "x.parquet")
    (folder / "t.yml").write_text(
        "mappings: {m: {sources: [x.csv~csv], s: 'urn:$(id)', po: [[<urn:at>, $(at)]]}}"
    )
    found, left = lines_of(folder / "x.parquet", folder / "t.yml")
    assert found == {
        '<urn:a> <urn:at> "1970-01-01T00:00:00"^^<http://www.w3.org/2001/XMLSchema#dateTime> .'
    }
    assert (
        places_of(left) == [("x.parquet", 2, "column at")]
        and "timestamp[us] that cannot be read" in left[0].message
    )


def test_iris_without_prefix_and_dollar_signs_are_written_plainly(folder: Path) -> None:
    (folder / "x.yml").write_text(
        "mappings: {m: {sources: [machines.csv~csv], s: '<d:$(id)>', po: [[<p:a>, 'US\\$ 5'], ['mailto:a@b', $5], "
        "['http://x/y', 'tag:$(id)']]}}"
    )
    found, _ = lines_of(folder / "machines.csv", folder / "x.yml")
    assert {x for x in found if "d:m1" in x} == {
        '<d:m1> <p:a> "US$ 5" .',
        '<d:m1> <mailto:a@b> "$5" .',
        '<d:m1> <http://x/y> "tag:m1" .',
    }


# --- what is refused before data is read ----------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "line", "what"),
    [
        (("$(limit)", "$(limti)"), 10, "has no column 'limti'"),
        (("str2, $(id)", "str2, $(nr)"), 17, "has no column 'nr'"),
        (("mapping: machines", "mapping: machine"), 17, "there is no mapping 'machine'"),
        (
            ("po:\n      - [a, t:Machine]", "pairs:\n      - [a, t:Machine]"),
            7,
            "'pairs' is not known",
        ),
        (("t:name", "x:na me"), 9, "is no absolute IRI"),
        (("machines.csv~csv", "machines.csv~xpath"), 5, "'xpath' is not supported"),
        (("function: equal", "function: like"), 17, "the condition of a join is equal"),
        (("prefixes: {", "prefixes: {{"), 3, "no YAML"),
        (("t:name", "tt:name"), 9, "did you mean the prefix 't'?"),
        (("[a, t:Machine]", "[a, tt:Machine]"), 8, "did you mean the prefix 't'?"),
        (("xsd:decimal", "xs:decimal"), 10, "did you mean the prefix 'xsd'?"),
        (
            (
                "    s: d:$(id)\n    po:\n      - [a, t:Machine]",
                "    s: dd:$(id)\n    po:\n      - [a, t:Machine]",
            ),
            6,
            "prefix 'd'?",
        ),
        (("$(name)", "zz:$(name)~iri"), 9, "write <zz:> for an IRI"),
        (("$(name)", "$name)"), 9, "is no reference at '$name)'"),
        (("$(name)", '"$(name"'), 9, "is no reference at '$('"),
        (("$(name)", '"$(name) $name"'), 9, "is no reference at '$n'"),
        (("xsd:decimal", "$(name)"), 10, "a datatype by a reference"),
        (
            ("[[str1, $(machine)], [str2, $(id)]]", "{str1: $(machine), str2: $(id)}"),
            17,
            "the parameters of equal are a list",
        ),
        (("[str2, $(id)]", "str2: $(id)"), 17, "the parameters of equal are a list"),
        (("[str2, $(id)]", "[str2, $(id), s]"), 17, "the parameters of equal are a list"),
        (("$(limit), xsd:decimal", "[]"), 10, "a list with nothing in it"),
        (('d: "urn:d:"', 'd: "urn:d:", d: "urn:e:"'), 2, "'d' is there twice"),
    ],
)
def test_a_broken_mapping_ends_with_its_line_before_data_is_read(
    folder: Path, change: tuple[str, str], line: int, what: str
) -> None:
    assert change[0] in YARRRML
    (folder / "m.yml").write_text(YARRRML.replace(*change))
    arguments = (
        "certify",
        folder / "onto.ttl",
        folder / "machines.csv",
        folder / "sensors.csv",
        "--mapping",
        folder / "m.yml",
    )
    called = shiq(*arguments, "-q")
    assert called.returncode == 2 and what in called.stderr and f"line {line}" in called.stderr, (
        called.stderr
    )


@pytest.mark.parametrize(
    ("change", "line", "what"),
    [
        (('rml:reference "limit"', 'rml:reference "limti"'), 5, "Did you mean 'limit'?"),
        (('rr:parent "id"', 'rr:parent "nr"'), 9, "has no column 'nr'"),
        (("rr:predicate :limit ;", ""), 5, "needs a predicate and an object"),
        (("xsd:decimal ]", "xsd:decimal"), 5, ""),
        (
            (":sensors rml:logicalSource", ":sensors rml:logicalSorce"),
            6,
            "logicalSorce> is not supported",
        ),
        (
            (":sensors rml:logicalSource", ":sensors rr:logicalTable"),
            6,
            "logicalTable> is not supported",
        ),
        (
            (
                ':sensors rml:logicalSource [ rml:source "sensors.csv" ; rml:referenceFormulation ql:CSV ] ;',
                ":sensors",
            ),
            7,
            "has no rml:logical",
        ),
        (
            (":machines rml:logicalSource", ":other a rr:TriplesMap . :machines rml:logicalSource"),
            2,
            "has no rml:logicalSource",
        ),
        (
            (
                ":machines rml:logicalSource",
                ":lost rr:predicate :p ; rr:object :o .\n:machines rml:logicalSource",
            ),
            2,
            "leads to",
        ),
        (
            (
                ":machines rml:logicalSource",
                ":lost rml:subjectMpa [] .\n:machines rml:logicalSource",
            ),
            2,
            "subjectMpa",
        ),
    ],
)
def test_a_broken_rml_mapping_ends_with_its_line(
    folder: Path, change: tuple[str, str], line: int, what: str
) -> None:
    assert change[0] in RML
    (folder / "m.ttl").write_text(RML.replace(*change))
    for command in (
        ("certify", folder / "onto.ttl", folder / "machines.csv", folder / "sensors.csv"),
        (
            "check",
            "-t",
            folder / "onto.ttl",
            "-a",
            folder / "machines.csv",
            "-i",
            folder / "sensors.csv",
        ),
        (
            "index",
            "-t",
            folder / "onto.ttl",
            "-s",
            folder / "kg",
            folder / "machines.csv",
            folder / "sensors.csv",
        ),
    ):
        called = shiq(*command, "--mapping", folder / "m.ttl", "-q")
        assert (
            called.returncode == 2 and what in called.stderr and f"line {line}" in called.stderr
        ), called.stderr
        assert not (folder / "kg").exists()


def test_without_the_extra_the_command_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import builtins

    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "yaml":
            raise ModuleNotFoundError("No module named 'yaml'", name="yaml")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(OperationalError, match=r"pip install 'shiq\[yarrrml\]'"):
        read_mapping(folder / "m.yml")
    called = shiq(
        "certify", folder / "onto.ttl", folder / "machines.csv", "--mapping", folder / "m.yml", "-q"
    )
    assert called.returncode == 4 and "pip install 'shiq[yarrrml]'" in called.stderr


def test_a_table_is_known_by_its_name_or_its_columns(folder: Path) -> None:
    (folder / "sensors.csv").rename(folder / "tonight.csv")
    result = check_insertions(
        folder / "onto.ttl",
        folder / "machines.csv",
        folder / "tonight.csv",
        mapping=folder / "m.yml",
        allow=["malformed"],
    )
    assert any("tonight.csv was read as sensors.csv of" in note for note in result.evidence.notes)
    (folder / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(
        UsageError,
        match=r"does not say which of its sources .*other\.csv is: machines\.csv, sensors\.csv",
    ):
        certify([folder / "onto.ttl", folder / "other.csv"], mapping=folder / "m.yml")
    with pytest.raises(UsageError, match="blank nodes"):
        (folder / "m.ttl").write_text(
            RML.replace('"urn:d:{id}" ; rr:class :Machine', '"{id}" ; rr:termType rr:BlankNode')
        )
        certify(
            [folder / "onto.ttl", folder / "machines.csv", folder / "tonight.csv"],
            mapping=folder / "m.ttl",
        )


def test_a_store_and_a_session_take_mapped_tables(folder: Path) -> None:
    settings: dict[str, Any] = {"mapping": folder / "m.yml", "allow": ["malformed"]}
    assert (
        index(folder / "onto.ttl", folder / "machines.csv", folder / "kg", **settings).verdict
        is Verdict.CONSISTENT
    )
    with open_store(folder / "kg") as session:
        frame = pd.DataFrame({"id": ["s1", "m4"], "machine": ["m1", float("nan")]})
        result = session.check(TableSource("sensors.csv", TableKind.PANDAS, frame), **settings)
        assert [p.line for c in result.conflicts for places in c.places for p in places] == [2]
        assert session.check(
            pa.table({"id": ["s1"], "machine": ["m1"]}), commit=True, **settings
        ).committed


@pytest.mark.parametrize("unit", ["triple", "row"])
def test_the_gate_sets_rows_aside_with_their_columns(folder: Path, unit: str) -> None:
    (folder / "plain.csv").write_text("id,name,limit\nm1,Press,1\n")
    called = shiq(
        "index", "-t", "onto.ttl", "-s", "kg", "plain.csv", "--mapping", "m.yml", "-q", cwd=folder
    )
    assert called.returncode == 0, called
    (folder / "sensors.csv").write_text("id,machine\ns1,m1\nm1,m1\n\n")
    (folder / "machines.csv").write_text("id,name,limit\nm1,Press,1\nm7,Saw,ten\nm8,Mill\n")
    options = (
        "--mode",
        "split",
        "--unit",
        unit,
        "--quarantine",
        "bad",
        "--accepted",
        "good",
        "--mapping",
        "m.yml",
        "-q",
    )
    called = shiq(
        "gate",
        "-s",
        "kg",
        "-i",
        "sensors.csv",
        "-i",
        "machines.csv",
        *options,
        "--json",
        "j.json",
        cwd=folder,
    )
    assert called.returncode == 5, called
    document = json.loads((folder / "j.json").read_text())
    rows = {(x["source"], x["line"], x.get("column", ""), x["kind"]) for x in document["set_aside"]}
    expected = {
        ("sensors.csv", 3, "id", "conflict"),
        ("machines.csv", 3, "", "malformed"),
        ("machines.csv", 4, "", "malformed"),
    }
    # The join of the row of m1 says that it is mounted on m1; the row of m7 has a limit that is
    # none.
    others = {("sensors.csv", 3, "machine"), ("machines.csv", 3, "id"), ("machines.csv", 3, "name")}
    assert (
        rows - expected == ({(*x, "unit") for x in others} if unit == "row" else set())
        and expected <= rows
    )
    assert [p["line"] for c in document["conflicts"] for places in c["places"] for p in places] == [
        3
    ]
    reasons = {x["line"]: x["reason"] for x in document["set_aside"] if x["kind"] == "malformed"}
    assert (
        "column limit: 'ten' is no value of xsd:decimal" in reasons[3]
        and "2 values for 3 columns" in reasons[4]
    )
    assert (b"urn:d:m7" in (folder / "good" / "1-machines.nq").read_bytes()) == (unit == "triple")
    assert json.loads((folder / "bad.why.json").read_text())["set_aside"] == document["set_aside"]


def test_the_gate_tells_rows_without_a_partner_and_broken_ones_of_the_other_table(
    folder: Path,
) -> None:
    (folder / "plain.csv").write_text("id,name,limit\nm1,Press,1\n")
    called = shiq(
        "index", "-t", "onto.ttl", "-s", "kg", "plain.csv", "--mapping", "m.yml", "-q", cwd=folder
    )
    assert called.returncode == 0, called
    (folder / "sensors.csv").write_text("id,machine\ns1,m1\ns2,m9\ns3,m4\n")
    (folder / "machines.csv").write_text(
        "id,name,limit\nm1,Press,1\nm4\n"
    )  # beside the mapping, and no input
    call = (
        "gate",
        "-s",
        "kg",
        "-i",
        "sensors.csv",
        "--mapping",
        "m.yml",
        "--mode",
        "split",
        "--json",
        "j.json",
        "-q",
        "--commit",
    )
    sides = ("--quarantine", "bad.csv", "--accepted", "good.csv")
    called = shiq(*call, *sides, "--fail-on", "no-partner", cwd=folder)
    document = json.loads((folder / "j.json").read_text())
    assert called.returncode == 3 and "without a partner" in document["reason"], called
    with open_store(folder / "kg") as session:
        before = len(session)
    called = shiq(*call, *sides, cwd=folder)
    document = json.loads((folder / "j.json").read_text())
    assert called.returncode == 5, called
    (alone,) = (x for x in document["result"]["evidence"]["leftovers"] if x["kind"] == "no-partner")
    assert (alone["line"], alone["count"]) == (3, 2)
    # The broken row is the third of the other table; the third row here stays.
    (broken,) = document["set_aside"]
    assert "machines.csv:3: " in broken["reason"]
    assert (
        len((folder / "good.csv").read_text().splitlines()) == 4
        and "machines.csv:3" in (folder / "bad.csv").read_text()
    )
    with open_store(folder / "kg") as session:
        assert len(session) == before + 3 + 1


def test_bare_terms_of_a_table_of_triples(folder: Path) -> None:
    (folder / "t.csv").write_text(
        "s,p,o\nurn:d:a,http://www.w3.org/1999/02/22-rdf-syntax-ns#type,urn:t#Machine\nurn:d:a,urn:t#name,a name: of two\n"
        '<urn:d:a>,<urn:t#limit>,"""1.5""^^<http://www.w3.org/2001/XMLSchema#decimal>"\nurn:d:a,name,x\n'
    )
    called = shiq(
        "certify", folder / "onto.ttl", folder / "t.csv", "--terms", "auto", "--json", "-", "-q"
    )
    found = json.loads(called.stdout)
    assert found["statistics"]["assertions"] == 3 and [
        x["line"] for x in found["evidence"]["leftovers"]
    ] == [5]
    assert shiq("certify", folder / "onto.ttl", folder / "t.csv", "-q").returncode == 3


def test_reading_a_table_takes_as_much_memory_as_a_block_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that say the same triple: what is kept of them is nothing."""
    monkeypatch.setattr("shiq.rdf.text_tables.BATCH_ROWS", 1 << 10)

    class Few(Triples):
        def begin_columns(self, names: str) -> None:
            self.truncate(0)

    terms = TermMap("IRI", ("urn:", ("id",)))
    triples_map = TriplesMap("m", LogicalSource("x.csv", "csv"), terms, ("urn:C",), ())

    def peak(rows: int) -> int:
        (tmp_path / "x.csv").write_text("id\n" + "".join(f"{i % 7}\n" for i in range(rows)))
        mapping = tables.TableMapping("m", (triples_map,), {"m": triples_map}, {})
        source = TableSource("x.csv", TableKind.CSV, tmp_path / "x.csv", mapping=mapping)
        tracemalloc.start()
        read_mapped(
            TableSource(str(tmp_path / "x.csv"), source.kind, source.value, mapping=mapping),
            Few(),
            "b",
            Rejects("x"),
        )
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)
    assert peak(80_000) < 2 * peak(10_000)
    blocks = list(
        row_blocks(
            TableSource(str(tmp_path / "x.csv"), TableKind.CSV, tmp_path / "x.csv"),
            ["id"],
            Rejects("x"),
        )
    )
    assert max(len(block.lines) for block in blocks) == 1 << 10
