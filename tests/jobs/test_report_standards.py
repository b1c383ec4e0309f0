"""Reports in the formats of others: each is read by a tool of its own, and all tell the same
contradictions.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyshacl  # type: ignore[import-untyped, unused-ignore]
import pytest
import rdflib

from shiq.jobs.reports.report import read_report
from shiq.jobs.reports.sarif import RESULTS, baseline_of, sarif
from shiq.jobs.reports.shacl import shacl
from tests.command_line import shiq
from tests.jobs.test_reports import evil_answer, many

SH, PROV, DQV = (
    rdflib.Namespace(f"http://www.w3.org/ns/{name}#") for name in ("shacl", "prov", "dqv")
)
OURS = rdflib.Namespace("urn:shiq:report:")
TBOX = (
    "Ontology(<urn:o> Declaration(ObjectProperty(<urn:p>)) DisjointClasses(<urn:A> <urn:B>) "
    "SubClassOf(<urn:A> ObjectAllValuesFrom(<urn:p> <urn:B>)))"
)
TURTLE = (
    "@prefix : <urn:> .\n\n:a a :A ;\n   :p :c .\n:c\n  a :A .\n_:x a :A , :B .\n[] a :A ; a :B .\n"
)
XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="urn:">\n<A rdf:about="urn:a">\n'
    ' <p rdf:resource="urn:c"/>\n</A>\n<A rdf:about="urn:c"/>\n</rdf:RDF>\n'
)
FUNCTIONAL = (
    "Ontology(<urn:b>\nClassAssertion(<urn:A> <urn:a>)\nObjectPropertyAssertion(<urn:p> <urn:a> <urn:c>)\n\n"
    "ClassAssertion(<urn:A> <urn:c>)\nNegativeObjectPropertyAssertion(<urn:p> <urn:d> <urn:e>)\n"
    "ObjectPropertyAssertion(<urn:p> <urn:d> <urn:e>)\n)\n"
)
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
#: What SHACL says of a validation report (sections 3.6.1 and 3.6.2).
SHAPES = """
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix s: <urn:s:> .
@prefix prov: <http://www.w3.org/ns/prov#> . @prefix dqv: <http://www.w3.org/ns/dqv#> .
s:report a sh:NodeShape ; sh:targetClass sh:ValidationReport ;
  sh:property [ sh:path sh:conforms ; sh:datatype xsd:boolean ; sh:minCount 1 ; sh:maxCount 1 ] ;
  sh:property [ sh:path sh:result ; sh:class sh:ValidationResult ] ;
  sh:property [ sh:path prov:wasGeneratedBy ; sh:class prov:Activity ; sh:minCount 1 ; sh:maxCount 1 ] .
s:result a sh:NodeShape ; sh:targetClass sh:ValidationResult ;
  sh:property [ sh:path sh:focusNode ; sh:minCount 1 ; sh:maxCount 1 ] ;
  sh:property [ sh:path sh:resultPath ; sh:maxCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path sh:value ; sh:maxCount 1 ] ;
  sh:property [ sh:path sh:resultMessage ; sh:minCount 1 ; sh:minLength 1 ] ;
  sh:property [ sh:path sh:sourceConstraintComponent ; sh:minCount 1 ; sh:maxCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path sh:resultSeverity ; sh:minCount 1 ; sh:maxCount 1 ; sh:in (sh:Violation sh:Warning sh:Info) ] .
s:measure a sh:NodeShape ; sh:targetClass dqv:QualityMeasurement ;
  sh:property [ sh:path dqv:isMeasurementOf ; sh:class dqv:Metric ; sh:minCount 1 ; sh:maxCount 1 ] ;
  sh:property [ sh:path dqv:value ; sh:datatype xsd:integer ; sh:minCount 1 ; sh:maxCount 1 ] .
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("standards")
    (made / "t.ofn").write_text(TBOX)
    for name, text in (("b.ttl", TURTLE), ("b.rdf", XML), ("b.ofn", FUNCTIONAL)):
        (made / name).write_text(text)
    (made / "i.nt").write_text(f"<urn:c> {TYPE} <urn:B> .\n")
    (made / "good.nt").write_text(f"<urn:z> {TYPE} <urn:B> .\n")
    (made / "open.nt").write_text(f"<urn:z> {TYPE} <urn:B> .\n<urn:z> <urn:unknown> <urn:y> .\n")
    return made


def reports(folder: Path, out: Path, *arguments: object) -> int:
    return shiq("check", "-t", folder / "t.ofn", *arguments, "--report", f"{out}/", "-q")[0]


def read_shacl(text: str) -> rdflib.Graph:
    """The graph of a report, of which SHACL's own shapes hold."""
    found = rdflib.Graph().parse(data=text, format="turtle")
    shapes = rdflib.Graph().parse(data=SHAPES, format="turtle")
    conforms, _, problems = pyshacl.validate(found, shacl_graph=shapes)
    assert conforms, problems
    return found


@pytest.mark.parametrize("arguments", [("-i", "b.ttl"), ("-a", "b.ofn", "-i", "i.nt")])
def test_all_formats_tell_the_same_contradictions(
    folder: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    given = [folder / x if "." in x else x for x in arguments]
    assert reports(folder, tmp_path, *given) == 1
    answer = json.loads((tmp_path / "verdict.json").read_text())
    conflicts = answer["conflicts"]
    causes = Counter({group["pattern"]: len(group["conflicts"]) for group in answer["groups"]})
    assert sum(causes.values()) == len(conflicts) >= 2
    run = json.loads((tmp_path / "report.sarif").read_text())["runs"][0]
    assert Counter(result["ruleId"] for result in run["results"]) == causes
    suite = ElementTree.parse(tmp_path / "report.junit.xml").getroot()
    failed = [case.get("classname", "") for case in suite.iter("testcase") if len(case)]
    assert {name.rpartition(".")[2] for name in failed} == set(causes)
    graph = read_shacl((tmp_path / "report.shacl.ttl").read_text())
    nodes = {
        (graph.value(r, OURS.contradiction), graph.value(r, SH.sourceConstraintComponent))
        for r in graph.subjects(rdflib.RDF.type, SH.ValidationResult)
    }
    assert Counter(str(pattern).removeprefix(OURS) for _, pattern in nodes) == causes
    stated = {
        tuple(
            sorted(
                str(text)
                for m in graph.objects(node, side)
                for text in graph.objects(m, OURS.statement)
            )
        )
        for node, _ in nodes
        for side in (OURS.insertion, OURS.baseAssertion)
    }
    assert stated - {()} == {
        tuple(sorted(c[s])) for c in conflicts for s in ("insertions", "base")
    } - {()}
    assert (None, SH.conforms, rdflib.Literal(False)) in graph
    measured = {
        graph.value(m, DQV.isMeasurementOf): graph.value(m, DQV.value)
        for m in graph.subjects(rdflib.RDF.type, DQV.QualityMeasurement)
    }
    assert measured[OURS.contradictions] == rdflib.Literal(len(conflicts))
    used = {str(x) for x in graph.objects(None, PROV.used)}
    assert used == {
        x.as_uri() for x in (folder / "t.ofn", *(x for x in given if isinstance(x, Path)))
    }


@pytest.mark.parametrize(
    ("batch", "code", "conforms"), [("good.nt", 0, True), ("open.nt", 3, False)]
)
def test_only_what_is_consistent_conforms(
    folder: Path, tmp_path: Path, batch: str, code: int, conforms: bool
) -> None:
    assert reports(folder, tmp_path, "-i", folder / batch) == code
    graph = read_shacl((tmp_path / "report.shacl.ttl").read_text())
    assert (None, SH.conforms, rdflib.Literal(conforms)) in graph
    results = set(graph.subjects(rdflib.RDF.type, SH.ValidationResult))
    assert bool(results) is not conforms
    assert {graph.value(r, SH.resultSeverity) for r in results} <= {SH.Warning}


def test_shacl_takes_whatever_data_holds() -> None:
    read_shacl(shacl(read_report(evil_answer())))
    graph = read_shacl(shacl(read_report(many(1500, 30))))
    assert len(set(graph.subjects(rdflib.RDF.type, OURS.Contradiction))) == 1500


@pytest.mark.parametrize(
    ("base", "lines"),
    [
        ("b.ttl", {(8,), (7,), (3, 4, 6)}),
        ("b.rdf", {(2, 3, 5)}),
        ("b.ofn", {(2, 3, 5), (6, 7)}),
    ],
)
@pytest.mark.parametrize("side", ["-a", "-i"])
def test_facts_have_their_lines_in_every_format(
    folder: Path, tmp_path: Path, base: str, lines: set[tuple[int, ...]], side: str
) -> None:
    more = ["-i", folder / "good.nt"] if side == "-a" else []
    assert reports(folder, tmp_path, side, folder / base, *more) == 1
    run = json.loads((tmp_path / "report.sarif").read_text())["runs"][0]
    found = {
        tuple(
            sorted(
                {
                    place["physicalLocation"]["region"]["startLine"]
                    for place in (*result["locations"], *result.get("relatedLocations", ()))
                }
            )
        )
        for result in run["results"]
    }
    assert found == lines


def states(text: str) -> Counter[str]:
    run: dict[str, Any] = json.loads(text)["runs"][0]
    assert all(
        run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"]
    )
    return Counter(result.get("baselineState", "") for result in run["results"])


def test_sarif_says_what_is_new_unchanged_and_gone(folder: Path, tmp_path: Path) -> None:
    assert reports(folder, tmp_path / "one", "-i", folder / "b.ttl") == 1
    (folder / "c.ttl").write_text(TURTLE.replace(":c\n  a :A .\n", "") + ":q a :A , :B .\n")
    for baseline in ("report.sarif", "verdict.json"):
        known = ("--baseline", tmp_path / "one" / baseline)
        assert reports(folder, tmp_path / "two", "-i", folder / "c.ttl", *known) == 1
        found = (tmp_path / "two/report.sarif").read_text()
        assert states(found) == {"unchanged": 2, "new": 1, "absent": 1}
        again = shiq(
            "report", tmp_path / "two/verdict.json", "--sarif", tmp_path / "x.sarif", *known
        )
        assert again[0] == 0 and (tmp_path / "x.sarif").read_text() == found
    # What is absent once is not absent again the night after.
    known = ("--baseline", tmp_path / "two/report.sarif")
    assert reports(folder, tmp_path / "three", "-i", folder / "c.ttl", *known) == 1
    assert states((tmp_path / "three/report.sarif").read_text()) == {"unchanged": 3}


def test_a_baseline_that_left_results_out_calls_none_new() -> None:
    before, now = many(3 * RESULTS, 1), many(3 * RESULTS + 5, 1)
    capped = baseline_of(json.loads(sarif(read_report(before))))
    assert not capped.is_complete
    assert "new" not in states(sarif(read_report(now), capped))
    whole = baseline_of(json.loads(sarif(read_report(before), is_capped=False)))
    assert whole.is_complete and len(whole.results) == 3 * RESULTS + 2
    assert "absent" not in states(sarif(read_report(now), whole))


def test_what_is_no_baseline_is_told_before_the_work(folder: Path, tmp_path: Path) -> None:
    batch = ("check", "-t", folder / "t.ofn", "-i", folder / "b.ttl", "-q")
    code, _, said = shiq(*batch, "--report", tmp_path / "x.sarif", "--baseline", folder / "b.ttl")
    assert (code, "is no baseline" in said) == (4, True)
    code, _, said = shiq(*batch, "--baseline", folder / "b.ttl")
    assert (code, "--report FILE.sarif" in said) == (2, True)
    assert not (tmp_path / "x.sarif").exists()
