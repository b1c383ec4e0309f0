"""Reports of answers: that they fit the schema, say what happened, hide nothing, and take in
whatever data holds.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from command_line import shiq
from jsonschema import Draft202012Validator  # type: ignore[import-untyped, unused-ignore]

from shiq.api import check_insertions
from shiq.errors import OperationalError
from shiq.files import write_atomically
from shiq.jobs.commands.running import Request, complete_answer
from shiq.jobs.pages import escape_invisible
from shiq.jobs.reports.html import html_page
from shiq.jobs.reports.junit import junit
from shiq.jobs.reports.markdown import markdown
from shiq.jobs.reports.report import WITH_THE_BATCH, read_report
from shiq.jobs.reports.sarif import PER_RULE, RESULTS, sarif
from shiq.jobs.reports.tables import COLUMNS, parquet_tables
from shiq.jobs.reports.write import FORMATS, answer_problems, schema

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
TBOX = """@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Cat a owl:Class ; owl:disjointWith :Dog ; rdfs:label "house cat" . :Dog a owl:Class .
:chases a owl:ObjectProperty ; rdfs:range :Cat .
:age a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:range xsd:integer .
:name a owl:DatatypeProperty ; rdfs:range xsd:string .
"""
BASE = f"<urn:t#tom> {TYPE} <urn:t#Cat> .\n<urn:t#rex> {TYPE} <urn:t#Dog> .\n"
GOOD = "<urn:t#rex> <urn:t#chases> <urn:t#tom> .\n"
BAD = "<urn:t#tom> <urn:t#chases> <urn:t#rex> .\n"
EVIL = "</code></script><script>alert('x')</script>`|&\u202edrow\u0007]]>"
LITERAL = EVIL.replace("\u0007", "\\u0007")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("reports")
    (made / "t.ttl").write_text(TBOX)
    (made / "base.nt").write_text(BASE)
    (made / "good.nt").write_text(GOOD)
    (made / "bad.nt").write_text(f"# tonight\n{GOOD}{BAD}")
    (made / "open.nt").write_text(f"{GOOD}<urn:t#tom> <urn:t#chaes> <urn:t#rex> .\n")
    assert (
        shiq("index", "--tbox", made / "t.ttl", "--store", made / "kg", made / "base.nt", "-q")[0]
        == 0
    )
    return made


def check(folder: Path, batch: str, *more: object) -> tuple[int, str, str]:
    return shiq("check", "--store", folder / "kg", "--insert", folder / batch, "-q", *more)


def answer(folder: Path, batch: str) -> dict[str, Any]:
    check(folder, batch, "--json", folder / "answer.json")
    return json.loads((folder / "answer.json").read_text())


def evil_answer() -> dict[str, Any]:
    """One whose data holds what formats could take for something else."""
    batch = f'<urn:t#{EVIL[:2]}> <urn:t#age> "4" .\n'
    document: dict[str, Any] = {
        "schema_version": 1,
        "verdict": "inconsistent",
        "reason": EVIL,
        "statistics": {
            **dict.fromkeys(
                (
                    "assertions",
                    "insertions",
                    "add_set",
                    "pulled_in",
                    "modules",
                    "shapes",
                    "reasoner_calls",
                ),
                1,
            ),
            "seconds": {EVIL: 1.0},
        },
        "conflicts": [
            {
                "origin": "insertions",
                "insertions": [f'<urn:t#a{EVIL}> <urn:t#name> "{LITERAL}"@en .', EVIL, batch],
                "base": [f"<urn:t#a> {TYPE} <urn:t#\u202eC> ."],
                "axioms": [f"SubClassOf(<urn:t#{EVIL}> <urn:t#B>)", EVIL],
                "keys": [EVIL],
                "locations": [
                    {"side": "insertions", "index": 0, "source": f"in put/{EVIL}.nt", "line": 7}
                ],
            }
        ],
        "more_conflicts": 2,
        "conflicts_complete": False,
        "evidence": {
            "criterion": EVIL,
            "engine": "local",
            "reasoner": EVIL,
            "ledger": {"assertion": 3, f"leftover:{EVIL}": 1},
            "leftovers": [
                {
                    "kind": EVIL,
                    "message": EVIL,
                    "source": EVIL,
                    "line": 3,
                    "text": EVIL,
                    "hint": EVIL,
                    "count": 2,
                },
                {
                    "kind": "undeclared",
                    "message": "",
                    "source": "",
                    "line": 0,
                    "text": "",
                    "hint": "",
                    "count": 1,
                },
            ],
            "allowed": [EVIL],
            "certificate": {"verdict": EVIL, "tbox_hash": EVIL},
            "decided": {EVIL: 1},
            "undecided": [EVIL],
        },
        "committed": 0,
        "labels": {"urn:t#B": EVIL},
        "about": {
            "command": "check",
            "store": EVIL,
            "insertions": [EVIL],
            "made": "2030-01-01T00:00:00Z",
        },
        "a key of later days": EVIL,
    }
    assert answer_problems(document) == []
    return document


def many(count: int, causes: int) -> dict[str, Any]:
    """An answer with ``count`` contradictions of so many causes."""
    document = evil_answer()
    document["conflicts"] = [
        {
            "origin": "insertions",
            "insertions": [f"<urn:d#{i}> {TYPE} <urn:t#A{i % causes}> ."],
            "base": [f"<urn:d#{i}> {TYPE} <urn:t#B> ."],
            "axioms": [f"DisjointClasses(<urn:t#A{i % causes}> <urn:t#B>)"],
        }
        for i in range(count)
    ]
    return document


# --- the JSON -------------------------------------------------------------------------------------


def test_answers_fit_the_schema(folder: Path) -> None:
    gated = (
        "gate",
        "--store",
        folder / "kg",
        "--insert",
        folder / "bad.nt",
        "-q",
        "--mode",
        "split",
        "--json",
        folder / "g.json",
    )
    shiq(*gated, "--quarantine", folder / "aside.nt")
    shiq(
        "certify",
        folder / "t.ttl",
        folder / "base.nt",
        folder / "bad.nt",
        "-q",
        "--json",
        folder / "c.json",
    )
    documents = [answer(folder, name) for name in ("good.nt", "bad.nt", "open.nt")]
    documents += [json.loads((folder / name).read_text()) for name in ("g.json", "c.json")]
    assert [d["verdict"] for d in documents] == [
        "consistent",
        "inconsistent",
        "undetermined",
        "inconsistent",
        "inconsistent",
    ]
    for document in documents:
        assert answer_problems(document) == []
        assert document["about"]["made"].endswith("Z")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "fine"),
        (("schema_version",), 4),
        (("conflicts", 0, "axioms"), "none"),
        (("conflicts", 0, "locations", 0, "line"), 0),
        (("statistics", "modules"), -1),
        (("statistics", "modules"), True),
        (("evidence", "leftovers", 0, "kind"), None),
        (("evidence", "ledger", "assertion"), 1.5),
    ],
)
def test_what_does_not_fit_is_named(path: tuple[str | int, ...], value: object) -> None:
    document: Any = evil_answer()
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    assert "/".join(map(str, path)) in answer_problems(document)[0]


def test_the_schema_itself_is_one() -> None:
    Draft202012Validator.check_schema(schema())
    assert set(re.findall(r"#/\$defs/(\w+)", json.dumps(schema()))) <= set(schema()["$defs"])


def test_problems_are_few_and_short_and_of_the_form_that_is_meant() -> None:
    document = evil_answer()
    document["conflicts"] *= 50
    for conflict in document["conflicts"]:
        conflict["axioms"] = {EVIL: "x" * 1000}
    found = answer_problems(document)
    assert len(found) == 10
    for i, problem in enumerate(found):
        assert problem.startswith(f"conflicts/{i}/axioms: ") and len(problem) < 400
        assert problem.isprintable()
    del document["conflicts"]
    assert answer_problems(document) == ["the document: 'conflicts' is a required property"]
    assert answer_problems([]) == ["the document: [] is not of type 'object'"] * len(
        answer_problems([])
    )


# --- writing --------------------------------------------------------------------------------------


def test_a_folder_holds_all_and_is_made_again_from_the_json(folder: Path) -> None:
    assert (
        check(folder, "bad.nt", "--report", f"{folder}/one/", "--report", folder / "x.html")[0] == 1
    )
    assert shiq("report", folder / "one" / "verdict.json", "-r", f"{folder}/two/")[0] == 0
    names = sorted(
        str(p.relative_to(folder / "one")) for p in (folder / "one").rglob("*") if p.is_file()
    )
    assert names == sorted(
        [
            "verdict.json",
            *(f"report{end}" for end in FORMATS if end != ".json"),
            *(f"tables/{name}.parquet" for name in COLUMNS),
        ]
    )
    for name in names:
        assert (folder / "one" / name).read_bytes() == (folder / "two" / name).read_bytes(), name
    assert (folder / "x.html").read_bytes() == (folder / "one" / "report.html").read_bytes()
    (folder / "plain").touch()
    assert (folder / "x.html").stat().st_mode == (folder / "plain").stat().st_mode


def test_the_json_comes_last_and_no_old_one_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(path: Path, content: bytes | str) -> None:
        if path.suffix == ".sarif":
            raise OperationalError(f"{path}: cannot be written", "")
        write_atomically(path, content)

    made = folder / "stuck"
    made.mkdir()
    (made / "verdict.json").write_text('{"verdict": "consistent"}')
    monkeypatch.setattr("shiq.jobs.reports.write.write_atomically", write)
    code, _, said = check(folder, "good.nt", "--report", made)
    assert (code, "report.sarif" in said) == (4, True)
    assert not (made / "verdict.json").exists()
    assert [p for p in made.iterdir() if p.name.startswith(".")] == []


def test_a_folder_in_the_place_of_a_report_is_told_before_the_work(folder: Path) -> None:
    made = folder / "taken"
    (made / "report.sarif").mkdir(parents=True)
    (made / "verdict.json").write_text("{}")
    code, out, said = check(folder, "good.nt", "--report", made)
    assert (code, out, "report.sarif is a folder" in said) == (2, "", True)
    assert (made / "verdict.json").read_text() == "{}"


@pytest.mark.parametrize("name", ["x.pdf", "x.xml", "x.parquet", "a/b.c"])
def test_unknown_ends_are_refused_before_the_work(folder: Path, name: str) -> None:
    code, out, said = check(folder, "bad.nt", "--report", folder / name)
    assert (code, out) == (2, "")
    assert ".junit.xml" in said


def test_a_folder_that_is_missing_is_told_before_the_work(folder: Path) -> None:
    code, out, said = check(folder, "bad.nt", "--report", folder / "nowhere" / "x.html")
    assert (code, out) == (2, "")
    assert "nowhere" in said


def test_what_is_no_answer_is_refused(folder: Path) -> None:
    (folder / "no.json").write_text('{"schema_version": 1, "verdict": "consistent"}')
    code, _, said = shiq("report", folder / "no.json", "--html", folder / "no.html")
    assert (code, "no.json" in said, (folder / "no.html").exists()) == (4, True, False)
    assert shiq("report", folder / "no.json")[0] == 2


# --- places ---------------------------------------------------------------------------------------


def test_facts_are_found_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "t.ttl").write_text(TBOX)
    (tmp_path / "base.nt").write_text(BASE)
    odd = f"\n\t<urn:t#t\\u006Fm>\t<urn:t#chases><urn:t#rex>.\n{GOOD}{BAD}"
    (tmp_path / "a.nt.gz").write_bytes(gzip.compress(odd.encode()))
    ages = "".join(f'_:b <urn:t#age> "{age}"^^{INTEGER} .\n' for age in (1, 2))
    (tmp_path / "b.nt").write_text(f"# blank nodes are those of their file\n{ages}")
    files = [str(tmp_path / "a.nt.gz"), str(tmp_path / "b.nt")]
    inputs = (str(tmp_path / "t.ttl"), str(tmp_path / "base.nt"))
    result = check_insertions(*inputs, files, reasoner="own")
    asked = Request("check", {"tbox": inputs[:1], "abox": inputs[1:], "insertions": files})
    found = complete_answer(result.to_dict(), asked)
    report = read_report(found)
    places = {
        (fact.text.split()[0], fact.text.split()[1], place.source, place.line)
        for i in range(len(report.conflicts))
        for fact in (*report.conflict_at(i).insertions, *report.conflict_at(i).base)
        for place in fact.places
    }
    assert places == {
        ("<urn:t#tom>", "<urn:t#chases>", files[0], 2),
        ("<urn:t#tom>", "<urn:t#chases>", files[0], 4),
        ("<urn:t#rex>", TYPE, inputs[1], 2),
        ("_:i1.b", "<urn:t#age>", files[1], 2),
        ("_:i1.b", "<urn:t#age>", files[1], 3),
    }


# --- the page -------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Whether tags match, and what there is."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "br", "input", "wbr", "path", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "circle"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


def read_page(text: str) -> tuple[Tags, str]:
    """The page, seen to be well-formed, to fetch nothing, to lead nowhere else, and to hide
    nothing; and what it says.
    """
    parser = Tags()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    tags = [tag for tag, _ in parser.tags]
    assert (tags.count("script"), tags.count("style"), tags.count("h1"), tags.count("main")) == (
        1,
        1,
        1,
        1,
    )
    assert not set(tags) & {"img", "link", "iframe", "object", "base", "form"}
    ids = [a["id"] for _, a in parser.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in parser.tags:
        assert not {
            name
            for name in attributes
            if name.startswith("on") or name in ("src", "srcset", "action")
        }
        link = attributes.get("href")
        assert link is None or (link.startswith("#") and link[1:] in ids), link
    said = "".join(parser.text)
    assert all(c.isprintable() or c == "\n" for c in text)
    return parser, " ".join(said.split())


def test_the_page_says_what_happened_and_what_to_do(folder: Path) -> None:
    _, good = read_page(html_page(read_report(answer(folder, "good.nt"))))
    assert "can be added" in good and "--commit" in good
    _, bad = read_page(html_page(read_report(answer(folder, "bad.nt"))))
    assert (
        "cannot be added" in bad
        and "house cat" in bad
        and f"{folder}/bad.nt:3" in bad
        and "--mode split" in bad
    )
    _, left = read_page(html_page(read_report(answer(folder, "open.nt"))))
    assert "No verdict" in left and f"{folder}/open.nt:2" in left
    assert "the ontology does not know the property" in left and "did you mean chases?" in left, (
        "names, with their IRIs as titles"
    )
    assert "--allow undeclared" in left


def test_the_page_of_a_gate(folder: Path) -> None:
    (folder / "mixed.nt").write_text(f"{GOOD}{BAD}this is no triple\n")
    gated = (
        "gate",
        "--store",
        folder / "kg",
        "--insert",
        folder / "mixed.nt",
        "-q",
        "--mode",
        "split",
    )
    assert (
        shiq(*gated, "--quarantine", folder / "aside.nt", "--report", folder / "gate.json")[0] == 5
    )
    _, said = read_page(html_page(read_report(json.loads((folder / "gate.json").read_text()))))
    assert (
        "1 line accepted, 2 set aside" in said
        and f"{folder}/mixed.nt:2" in said
        and "this is no triple" in said
    )
    assert "house cat" in said


def test_a_malformed_line_stands_as_it_is(folder: Path) -> None:
    (folder / "space.nt").write_text("<urn:t#a b> <urn:t#chases> <urn:t#tom> .\n")
    _, said = read_page(html_page(read_report(answer(folder, "space.nt"))))
    assert "<urn:t#a b> <urn:t#chases> <urn:t#tom> ." in said


def test_a_base_that_contradicts_itself_can_be_set_aside(folder: Path) -> None:
    (folder / "wrong.nt").write_text(f"{BASE}{BAD}")
    made = (
        "index",
        "--tbox",
        folder / "t.ttl",
        "--store",
        folder / "wrong",
        folder / "wrong.nt",
        "-q",
    )
    assert shiq(*made, "--json", folder / "wrong.json").returncode == 1
    _, said = read_page(html_page(read_report(json.loads((folder / "wrong.json").read_text()))))
    assert "--replace" in said and "wrong.nt --set-aside-known known.nt" in said
    assert shiq(*made, "--replace", "--set-aside-known", folder / "known.nt").returncode == 0


def test_a_refused_batch_is_told_once_and_not_line_by_line(folder: Path) -> None:
    """A rule in the TBox leaves every check of the store open, whatever the batch is."""
    (folder / "rule.ttl").write_text(f"{TBOX}[] a <http://www.w3.org/2003/11/swrl#Imp> .")
    assert (
        shiq(
            "index",
            "--tbox",
            folder / "rule.ttl",
            "--store",
            folder / "open",
            folder / "base.nt",
            "-q",
        )[0]
        == 3
    )
    (folder / "odd.nt").write_text(f"{GOOD}{GOOD.replace('rex', 'max')}this is no triple\n")
    gated = (
        "gate",
        "--store",
        folder / "open",
        "--insert",
        folder / "odd.nt",
        "-q",
        "--mode",
        "split",
    )
    code, text, _ = shiq(
        *gated, "--quarantine", folder / "aside.nt", "--report", folder / "gate.json"
    )
    assert (
        code == 3
        and "none of its 3 lines is accepted" in text
        and f"{folder}/odd.nt:3: not a triple" in text
    )
    assert "the batch was refused" not in text and f"{folder}/odd.nt:1" not in text
    document = json.loads((folder / "gate.json").read_text())
    assert [x["reason"] for x in document["set_aside"][:2]] == [WITH_THE_BATCH] * 2
    _, said = read_page(html_page(read_report(document)))
    assert "1 line of the batch" in said and f"{folder}/odd.nt:1" not in said


def test_the_page_takes_whatever_data_holds() -> None:
    document = evil_answer()
    _, said = read_page(html_page(read_report(document)))
    assert "alert('x')" in said and "\\u202Edrow\\u0007" in said
    document |= {"verdict": "undetermined", "conflicts": []}
    read_page(html_page(read_report(document)))
    aside = {"source": EVIL, "line": 1, "text": EVIL, "reason": EVIL, "conflicts": [0, 99]}
    gated = {
        **evil_answer(),
        "decision": "split",
        "accepted": 1,
        "set_aside": [aside],
        "tolerated": [aside],
        "result": document,
    }
    same = {
        "individuals": ["<urn:a>", EVIL],
        "insertions": [EVIL],
        "base": [EVIL],
        "axioms": [EVIL],
    }
    judged = {
        **evil_answer()["conflicts"][0],
        "judgement": {"effect": "waived", "owner": EVIL, "expires": EVIL, "reason": EVIL},
    }
    _, said = read_page(
        html_page(
            read_report(
                {**gated, "identities": [same], "conflicts": [judged], "disputes": [judged]}
            )
        )
    )
    assert "Waived by </code>" in said
    assert escape_invisible("\ud800") == "\\uD800"


def test_many_contradictions_make_a_small_page_and_whole_tables() -> None:
    report = read_report(many(5000, 3))
    text = html_page(report)
    _, said = read_page(text)
    assert len(text) < 200_000
    assert "1,667 contradictions" in said and "1,662 more of this kind are not shown here" in said
    made = {
        name: pq.read_table(io.BytesIO(data)).to_pylist()
        for name, data in parquet_tables(report).items()
    }
    assert len(made["conflicts"]) == 5000
    assert len(made["assertions"]) == 15000
    assert {row["pattern"]: row["conflicts"] for row in made["groups"]} == {
        g.pattern.id: len(g.conflicts) for g in report.causes
    }
    assert len(html_page(read_report(many(3000, 3000)))) < 2_000_000


# --- other formats --------------------------------------------------------------------------------


def test_sarif() -> None:
    document = many(500, 4)
    found = json.loads(sarif(read_report(document)))
    [run] = found["runs"]
    results, rules = run["results"], run["tool"]["driver"]["rules"]
    for result in results:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert len(results) == 4 * PER_RULE + 2
    assert "300 results are left out" in json.dumps(run["invocations"])
    prints = {
        r["partialFingerprints"]["shiqConflict/v1"]
        for r in results
        if "shiqConflict/v1" in r["partialFingerprints"]
    }
    assert len(prints) == 4 * PER_RULE
    assert len(json.loads(sarif(read_report(many(3000, 3000))))["runs"][0]["results"]) == RESULTS
    [first, *_] = json.loads(sarif(read_report(evil_answer())))["runs"][0]["results"]
    place = first["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] == 7
    assert re.fullmatch(r"[!$'()*+,\-./0-9;=@A-Z_a-z~%]+", place["artifactLocation"]["uri"])


def test_sarif_knows_a_contradiction_again(folder: Path) -> None:
    (folder / "again.nt").write_text(f"{BAD}{GOOD}<urn:t#tom> {TYPE} <urn:t#Dog> .\n")
    prints = []
    for batch in ("bad.nt", "again.nt"):
        [run] = json.loads(sarif(read_report(answer(folder, batch))))["runs"]
        prints.append(
            {(r["ruleId"], r["partialFingerprints"]["shiqConflict/v1"]) for r in run["results"]}
        )
    assert prints[0] < prints[1]


def test_sarif_and_junit_of_what_a_policy_lets_pass() -> None:
    document = many(4, 4)
    for conflict, effect in zip(document["conflicts"], ("fail", "warn", "waived", "known")):
        conflict["judgement"] = {
            "effect": effect,
            **({"owner": "Ann"} if effect == "waived" else {}),
        }
    report = read_report(document)
    results = json.loads(sarif(report))["runs"][0]["results"][:4]
    assert [r["level"] for r in results] == ["error", "warning", "error", "error"]
    assert ["suppressions" in r for r in results] == [False, False, True, True]
    root = ElementTree.fromstring(junit(report).encode())
    assert set(root.attrib) == {"name", "tests", "failures", "errors", "time"}
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "3")


def test_junit(folder: Path) -> None:
    expected = {"good.nt": ("1", "0", "0"), "bad.nt": ("1", "1", "0"), "open.nt": ("1", "0", "1")}
    for batch, counts in expected.items():
        suite = ElementTree.fromstring(junit(read_report(answer(folder, batch))).encode())[0]
        assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == counts, batch
    text = junit(read_report(evil_answer()))
    assert "alert('x')" in "".join(ElementTree.fromstring(text.encode()).itertext())
    assert "\\u202E" in text


def test_reports_name_what_blocks_because_the_user_asked_for_it(tmp_path: Path) -> None:
    """A kind that is for information only blocks where --fail-on names it."""
    for name, text in {"t.ttl": TBOX, "base.nt": BASE, "good.nt": GOOD, "gone.nt": BAD}.items():
        (tmp_path / name).write_text(text)
    tbox, base, good, gone = (tmp_path / n for n in ("t.ttl", "base.nt", "good.nt", "gone.nt"))
    for fail_on, blocks in (
        ((), False),
        (("unmatched-deletion",), True),
        (("uninterpreted",), True),
    ):
        found = check_insertions(tbox, base, good, gone, fail_on=fail_on)
        assert found.verdict.value == ("undetermined" if blocks else "consistent")
        report = read_report(complete_answer(found.to_dict(), Request("check", {})))
        assert [x.blocks for x in report.leftovers] == [blocks]
        assert ("Nothing here stands in the way" in html_page(report)) is not blocks
        assert ("undetermined.unmatched-deletion" in junit(report)) is blocks


def test_markdown_stays_what_it_is() -> None:
    text = markdown(read_report(evil_answer()))
    assert all(c.isprintable() or c == "\n" for c in text)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "<script" not in outside and "`" not in outside
    for line in outside.splitlines():
        if line.startswith("|"):
            assert line.count("|") in (4, 6), line
    assert len(markdown(read_report(many(3000, 3000)))) < 60_000
