"""Raw records by RML: what mappings say, what of them is refused, and that direct keys are the
keys of the triples.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shiq.abox_ops.entailment import Entailment
from shiq.answers.verdict import Verdict
from shiq.errors import InputError, UsageError
from shiq.jobs.evaluation.streams import building
from shiq.rml.inputs import compile_mapping
from shiq.rml.program import parse_record
from shiq.streams.enrichment import Enricher, open_enricher
from shiq.streams.enrichment.questions import MappedRecordKeys
from shiq.streams.enrichment.statements import split_lines
from tests.command_line import shiq
from tests.tools import building_gateway

B = building.BUILDING
PREFIXES = (
    "@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> . "
    "@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix : <urn:t#> . "
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("building")
    building.write_building_files(building.BuildingRecipe(5, 60), out)
    return out


@pytest.fixture(scope="module")
def opened(folder: Path) -> Iterator[Enricher]:
    with open_enricher(
        folder / "building.ofn",
        mapping=folder / "mapping.rml.ttl",
        stream="readings",
        static_types=True,
        reasoner="own",
    ) as enricher:
        yield enricher


def _reading(sensor: int, value: Any, name: str = "r") -> Any:
    return parse_record(json.dumps({"reading": name, "sensor": f"sensor{sensor}", "value": value}))


def test_readings_alert_by_room_and_value(opened: Enricher) -> None:
    def alerts(sensor: int, value: float) -> set[str]:
        found = opened.enrich(_reading(sensor, value))
        return {name.removeprefix(B) for name in found.types[B + "r"] if name.endswith("Alert")}

    # Rooms 1 to 5: Library, ClassRoom, MusicClassRoom, SpinningClass, Office.
    heavy = {"HBCoronaAlert", "CoronaAlert"}
    assert [alerts(n, 60) for n in range(1, 6)] == [set(), set(), heavy, heavy, set()]
    assert alerts(2, 100) == set() != alerts(2, 100.5) == {"SSCoronaAlert", "CoronaAlert"}
    assert alerts(1, 1000.5) == {"RBCoronaAlert", "CoronaAlert"} and alerts(5, 5000) == set()
    assert opened.enrich(_reading(2, 101)).static_types == {B + "room2": {B + "AlarmRoom"}}


def test_a_mapping_in_yarrrml_makes_the_same_events(folder: Path, tmp_path: Path) -> None:
    """The readings' map of the building, written as YARRRML; the rest of it is static data."""
    pytest.importorskip("yaml")
    mapping = tmp_path / "m.yml"
    mapping.write_text(
        f"""prefixes: {{ex: "{B}", sosa: "http://www.w3.org/ns/sosa/", xsd: "http://www.w3.org/2001/XMLSchema#"}}
sources:
  readings: {{access: readings, referenceFormulation: jsonpath, iterator: "$"}}
mappings:
  reading:
    sources: readings
    s: ex:$(reading)
    po:
      - [a, sosa:Observation]
      - [sosa:madeBySensor, "ex:$(sensor)~iri"]
      - [sosa:hasSimpleResult, $(value), xsd:decimal]
"""
    )
    records = [parse_record(line) for line in (folder / "readings.jsonl").read_text().splitlines()]
    programs = [
        compile_mapping(file, "readings")[0] for file in (mapping, folder / "mapping.rml.ttl")
    ]
    for record in records:
        ours, theirs = (sorted(program.statements(record)) for program in programs)
        assert ours == theirs and len(ours) == 3
    mapping.write_text(mapping.read_text().replace("po:", "pp:"))
    broken = shiq(
        "stream", "enrich", "-t", folder / "building.ofn", "--mapping", mapping, "-s", "-"
    )
    assert broken.returncode == 2 and f"{mapping}, line 8" in broken.stderr


def test_direct_keys_are_those_of_the_triples(opened: Enricher, folder: Path) -> None:
    assert opened.reader.record_keys is not None and opened.reader.record_keys.is_possible
    for line in (folder / "readings.jsonl").read_text().splitlines():
        record = parse_record(line)
        found = opened.reader.record_keys.find_record_key(record)
        assert found is not None
        statements = opened.reader.record_keys.program.statements(record)
        expected = opened.keys.key_of_statements(statements)
        assert (found[0].key, [*found[0].order]) == (expected.key, [*expected.order])
        answer = opened.enrich(record)
        assert (
            split_lines(answer.lines) == statements
            and opened.enrich(list(answer.lines)).types == answer.types
        )


def test_equal_names_and_counted_values_are_in_direct_keys(tmp_path: Path) -> None:
    (tmp_path / "t.ofn").write_text(
        "Prefix(:=<urn:t#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>) Ontology(FunctionalDataProperty(:f)"
        " SubDataPropertyOf(:g :f) SubClassOf(ObjectHasSelf(:r) :Loop) SubClassOf(ObjectSomeValuesFrom(:r :A) :B))"
    )
    mapping = tmp_path / "m.ttl"
    mapping.write_text(
        PREFIXES
        + ':m rml:logicalSource [ rml:source "s" ; rml:referenceFormulation ql:JSONPath ] ;'
        ' rr:subjectMap [ rr:template "urn:e:{a}" ; rr:class :A ] ;'
        ' rr:predicateObjectMap [ rr:predicate :r ; rr:objectMap [ rr:template "urn:e:{b}" ] ] ;'
        ' rr:predicateObjectMap [ rr:predicate :f ; rr:objectMap [ rml:reference "v" ; rr:datatype xsd:decimal ] ] ;'
        ' rr:predicateObjectMap [ rr:predicate :g ; rr:objectMap [ rml:reference "w" ; rr:datatype xsd:decimal ] ] .'
    )
    rng = random.Random("direct")
    with open_enricher(
        tmp_path / "t.ofn", mapping=mapping, reasoner="own", allow=["missing-value"]
    ) as enricher:
        assert isinstance(enricher.reader.record_keys, MappedRecordKeys)
        for _ in range(300):
            texts = {
                name: f"{rng.choice(('', '0'))}{rng.randrange(2)}{rng.choice(('', '.0'))}"
                for name in "vw"
            }
            record = {"a": str(rng.randrange(2)), "b": str(rng.randrange(2)), **texts}
            found = enricher.reader.record_keys.find_record_key(record)
            assert (
                found is not None
                and found[0].key
                == enricher.keys.key_of_statements(
                    enricher.reader.record_keys.program.statements(record)
                ).key
            )
        assert len(enricher.reader.record_keys.keys_by_code) == 4


def test_after_prefilling_all_that_the_mapping_makes_hits(folder: Path) -> None:
    """Every reading that is generated; and entries are those that the readings themselves would
    have made.
    """
    settings: dict[str, Any] = {"mapping": folder / "mapping.rml.ttl", "stream": "readings"}
    records = [parse_record(line) for line in (folder / "readings.jsonl").read_text().splitlines()]
    with (
        open_enricher(folder / "building.ofn", **settings, reasoner="own") as ahead,
        open_enricher(folder / "building.ofn", **settings, reasoner="own") as plain,
    ):
        told = ahead.prefill(60)
        assert (told.new_entries, told.undetermined_entries, len(ahead.entries)) == (
            60,
            0,
            60,
        ) and told.tried_combinations < told.possible_combinations
        assert "60 new" in ahead.notes[0] and ahead.statistics["events"] == 0
        assert all(ahead.enrich(record).hit for record in records)
        for record in records:
            one, other = ahead.enrich(record), plain.enrich(record)
            assert (one.types, one.verdict) == (other.types, other.verdict)
        before = len(ahead.entries)
        ahead.entries.capacity = before + 3
        assert ahead.prefill().new_entries == 3 and ahead.entries.evictions == 0


def test_prefilling_has_all_regions_names_and_equalities(tmp_path: Path) -> None:
    """Random records of a mapping with two names, two counted values, a whole number and a text."""
    (tmp_path / "t.ofn").write_text(
        "Prefix(:=<urn:t#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>) Ontology(FunctionalDataProperty(:f)"
        " SubDataPropertyOf(:g :f) SubClassOf(ObjectHasSelf(:r) :Loop) SubClassOf(ObjectSomeValuesFrom(:r :A) :B)"
        ' SubClassOf(DataSomeValuesFrom(:f DatatypeRestriction(xsd:decimal xsd:minInclusive "0.5"^^xsd:decimal)) :High)'
        ' SubClassOf(DataSomeValuesFrom(:n DatatypeRestriction(xsd:integer xsd:minExclusive "7"^^xsd:integer'
        ' xsd:maxExclusive "9"^^xsd:integer)) :Eight) SubClassOf(DataHasValue(:s "on") :On) ClassAssertion(:A <urn:e:k>))'
    )
    mapping = tmp_path / "m.ttl"
    mapping.write_text(
        PREFIXES
        + ':m rml:logicalSource [ rml:source "s" ; rml:referenceFormulation ql:JSONPath ] ;'
        ' rr:subjectMap [ rr:template "urn:e:{a}" ] ;'
        ' rr:predicateObjectMap [ rr:predicate :r ; rr:objectMap [ rr:template "urn:e:{b.c}" ] ] ;'
        ' rr:predicateObjectMap [ rr:predicate :n ; rr:objectMap [ rml:reference "n" ; rr:datatype xsd:integer ] ] ;'
        ' rr:predicateObjectMap [ rr:predicate :s ; rr:objectMap [ rml:reference "s" ] ] ;'
        ' rr:predicateObjectMap [ rr:predicate :f ; rr:objectMap [ rml:reference "v" ; rr:datatype xsd:decimal ] ] ;'
        ' rr:predicateObjectMap [ rr:predicate :g ; rr:objectMap [ rml:reference "w" ; rr:datatype xsd:decimal ] ] .'
    )
    rng = random.Random("prefill")
    with open_enricher(tmp_path / "t.ofn", mapping=mapping, reasoner="own") as enricher:
        enricher.realizer.entailed_types = lambda assertions: Entailment(Verdict.CONSISTENT)  # type: ignore[method-assign]
        told = enricher.prefill()
        assert told.tried_combinations == told.possible_combinations and told.new_entries == len(
            enricher.entries
        )
        for _ in range(400):
            record = {
                "a": rng.choice("klm"),
                "b": {"c": rng.choice("klm")},
                "s": rng.choice(("on", "off")),
            }
            record |= {
                "n": rng.choice(("7", "08", "9")),
                **{name: rng.choice(("0.4", "0.3", "1", "1.0", "2")) for name in "vw"},
            }
            assert enricher.enrich(record).hit, record
    with open_enricher(tmp_path / "t.ofn", reasoner="own") as enricher, pytest.raises(UsageError):
        enricher.prefill()


def _statements(tmp_path: Path, body: str, record: Any, *, lenient: bool = False) -> Any:
    (tmp_path / "m.ttl").write_text(PREFIXES + body)
    program, lines = compile_mapping(tmp_path / "m.ttl", "s", lenient=lenient)
    return program.statements(record), lines


SOURCE = 'rml:logicalSource [ rml:source "s" ; rml:referenceFormulation ql:JSONPath ; rml:iterator "{}" ]'


def test_terms_of_every_kind(tmp_path: Path) -> None:
    record = parse_record(
        '{"name": "a b/ü", "n": 1.50, "yes": true, "in": {"x": ["p", "q"]}, "iri": "urn:whole:iri", "z": null, "big": 1e400}'
    )
    body = (
        f':m {SOURCE.format("$")} ; rr:subjectMap [ rr:template "http://x/{{name}}" ] ; rr:predicateObjectMap '
        + " , ".join(
            f"[ rr:predicate :p{i} ; rr:objectMap [ {term} ] ]"
            for i, term in enumerate(
                [
                    'rml:reference "n" ; rr:datatype xsd:decimal',
                    'rml:reference "name" ; rr:language "de"',
                    'rr:template "n={n}" ; rr:termType rr:Literal',
                    'rml:reference "in.x[*]"',
                    'rml:reference "$.in.x[1]"',
                    'rml:reference "iri" ; rr:termType rr:IRI',
                    'rr:template "b{name}" ; rr:termType rr:BlankNode',
                    "rr:constant :c",
                    'rml:reference "yes"',
                    'rml:reference "big"',
                ]
            )
        )
    )
    found, _ = _statements(tmp_path, body + " .", record)
    said: dict[str, list[str]] = {}
    for subject, predicate, value in found:
        assert subject == "<http://x/a%20b%2Fü>"
        said.setdefault(predicate[-3:-1], []).append(value)
    assert said == {
        "p0": ['"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>'],
        "p1": ['"a b/ü"@de'],
        "p2": ['"n=1.50"'],
        "p3": ['"p"', '"q"'],
        "p4": ['"q"'],
        "p5": ["<urn:whole:iri>"],
        "p6": [said["p6"][0]],
        "p7": ["<urn:t#c>"],
        "p8": ['"true"'],
        "p9": ['"1e400"'],
    }
    assert said["p6"][0].startswith("_:")


def test_joins_with_csv_and_sqlite(tmp_path: Path) -> None:
    (tmp_path / "rooms.csv").write_text("room,floor no\n1,3\n2,\n")
    with closing(sqlite3.connect(tmp_path / "m.db")) as database, database:
        database.execute("create table s (sensor integer, room text)")
        database.executemany("insert into s values (?, ?)", [(7, "1"), (8, "2"), (8, "1")])
    body = (
        f':m {SOURCE.format("$.all[*]")} ; rr:subjectMap [ rr:template "urn:o:{{id}}" ] ;'
        " rr:predicateObjectMap [ rr:predicate :at ; rr:objectMap [ rr:parentTriplesMap :s ;"
        ' rr:joinCondition [ rr:child "sensor" ; rr:parent "sensor" ] ] ] .\n'
        ':s rml:logicalSource [ rml:source :db ; rml:referenceFormulation ql:CSV ; rml:query "select * from s" ] ;'
        ' rr:subjectMap [ rr:template "urn:room:{room}" ; rr:class :Room ] .\n'
        ':db <http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#jdbcDSN> "jdbc:sqlite:m.db" .\n'
        ':r rml:logicalSource [ rml:source "rooms.csv" ; rml:referenceFormulation ql:CSV ] ;'
        ' rr:subjectMap [ rr:template "urn:room:{room}" ] ;'
        ' rr:predicateObjectMap [ rr:predicate :floor ; rr:objectMap [ rml:reference "floor no" ] ] .'
    )
    record = parse_record(
        '{"all": [{"id": "a", "sensor": 7}, {"id": "b", "sensor": 8}, {"id": "c", "sensor": 9}]}'
    )
    found, lines = _statements(tmp_path, body, record)
    assert found == [
        ("<urn:o:a>", "<urn:t#at>", "<urn:room:1>"),
        ("<urn:o:b>", "<urn:t#at>", "<urn:room:2>"),
        ("<urn:o:b>", "<urn:t#at>", "<urn:room:1>"),
    ]
    assert '<urn:room:1> <urn:t#floor> "3" .' in lines and len(lines) == 3


@pytest.mark.parametrize(
    "body",
    [
        f':m {SOURCE.format("$..x")} ; rr:subjectMap [ rr:template "urn:{{a}}" ] .',
        f':m {SOURCE.format("$")} ; rr:subjectMap [ rr:template "urn:{{a}}" ; rr:graph :g ] .',
        f':m {SOURCE.format("$")} ; rr:subjectMap [ rr:template "urn:{{a}}" ] ; <urn:more> 1 .',
        ':m rml:logicalSource [ rml:source "s" ; rml:referenceFormulation ql:XPath ] ; rr:subjectMap [ rr:template "urn:{a}" ] .',
        f':m {SOURCE.format("$")} ; rr:subjectMap [ rr:template "urn:{{a}}" ] ; rr:predicateObjectMap [ rr:predicate :p ;'
        " rr:objectMap [ <http://semweb.mmlab.be/ns/fnml#functionValue> [ ] ] ] .",
        f":m {SOURCE.format('$')} .",
        ":m rr:subjectMap [ rr:constant :a ] .",
    ],
)
def test_what_is_not_known_is_refused_by_name(tmp_path: Path, body: str) -> None:
    with pytest.raises((InputError, UsageError)) as refused:
        _statements(tmp_path, body, {})
    assert "m.ttl" in str(refused.value)


def test_a_missing_value_is_undetermined_or_makes_no_triple(folder: Path, opened: Enricher) -> None:
    found = opened.enrich({"reading": "r", "sensor": "sensor1"})
    assert (found.verdict, "$.value" in found.reason) == (Verdict.UNDETERMINED, True)
    with open_enricher(
        folder / "building.ofn",
        mapping=folder / "mapping.rml.ttl",
        stream="readings",
        reasoner="own",
        allow=["missing-value"],
    ) as lenient:
        assert lenient.enrich({"reading": "r", "sensor": "sensor1"}).types[B + "r"] == {
            building.SOSA + "Observation",
            B + "CO2Observation",
        }
    with pytest.raises(UsageError):
        open_enricher(folder / "building.ofn", mapping=folder / "mapping.rml.ttl", reasoner="own")


def test_the_demo_alerts_and_a_room_changes(tmp_path: Path) -> None:
    called = CliRunner().invoke(
        building_gateway.main, [str(tmp_path / "b"), "--events", "200", "--seconds", "0.2"]
    )
    assert called.exit_code == 0, called.output
    assert "room5 (SpinningClass)" in called.output and "room5 (Office)" not in called.output


def test_a_building_is_generated(tmp_path: Path) -> None:
    called = shiq("generate", "building", "--rooms", 3, "--events", 7, "--out", tmp_path)
    assert (
        called.returncode == 0 and len((tmp_path / "readings.jsonl").read_text().splitlines()) == 7
    )


def test_the_command_takes_raw_records(folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "raw.jsonl"
    lines = (folder / "readings.jsonl").read_text().splitlines()[:20]
    source.write_text("\n".join([*lines, '{"reading": "x"}', "[1]"]) + "\n")
    arguments = [
        "-t",
        folder / "building.ofn",
        "--mapping",
        folder / "mapping.rml.ttl",
        "--stream",
        "readings",
        "--reasoner",
        "own",
    ]
    called = shiq(
        "stream",
        "enrich",
        *arguments,
        "-s",
        source,
        "--out",
        tmp_path / "o",
        "--only",
        B + "CoronaAlert",
        "-q",
    )
    rows = [json.loads(line) for line in (tmp_path / "o").read_text().splitlines()]
    assert called.returncode == 3, called
    assert 0 < len(rows) < 20 and all(row["verdict"] == "consistent" for row in rows)
    assert {row["t"] for row in rows} <= {0, 60, 120, 180}
    more = ("--prefill", "--capacity", 70, "--json", tmp_path / "j")
    again = shiq("stream", "enrich", *arguments, "-s", source, "--out", tmp_path / "o", "-q", *more)
    rows = [json.loads(line) for line in (tmp_path / "o").read_text().splitlines()]
    assert again.returncode == 3 and [row["line"] for row in rows] == list(range(1, 23))
    assert [row["verdict"] for row in rows[-2:]] == ["undetermined"] * 2 and "$.sensor" in rows[-2][
        "reason"
    ]
    assert (
        all(row["hit"] for row in rows[:-2])
        and json.loads((tmp_path / "j").read_text())["statistics"]["misses"] == 2
    )


def test_a_record_after_an_event_that_was_read_otherwise(opened: Enricher) -> None:
    text = f'<{B}a> <http://www.w3.org/ns/sosa/hasSimpleResult>  "7"^^<http://www.w3.org/2001/XMLSchema#decimal> .'
    assert opened.enrich([text]).verdict is Verdict.CONSISTENT
    assert opened.enrich(_reading(2, 123.25)).verdict is Verdict.CONSISTENT
