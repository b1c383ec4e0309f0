"""`shiq evaluate`: batches, metered processes, peers' answers, comparisons, the JSON form and
the page. No peer is needed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import stat
import sys
import time
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from shiq.answers.result import Evidence, Result
from shiq.answers.verdict import Verdict
from shiq.errors import InputError, OperationalError, UsageError
from shiq.files import write_atomically
from shiq.jobs.cli import main
from shiq.jobs.evaluation.evaluate.data import (
    datasets,
    draw_random_batch,
    read_triples,
    slice_bounds,
    write_batches,
)
from shiq.jobs.evaluation.evaluate.page import render_evaluation_page
from shiq.jobs.evaluation.evaluate.plots import (
    Bar,
    BarGroup,
    Plot,
    Series,
    lay_out_bars,
    lay_out_lines,
)
from shiq.jobs.evaluation.evaluate.process import MeterReading, run_metered
from shiq.jobs.evaluation.evaluate.record import (
    SCHEMA,
    CheckSizes,
    Run,
    RunCost,
    compare_runs,
    count_answers,
    format_table,
    merge_runs,
    read_evaluation,
)
from shiq.jobs.evaluation.evaluate.run import evaluate
from shiq.jobs.evaluation.evaluate.settings import BenchmarkSettings
from shiq.jobs.evaluation.peers import install
from shiq.jobs.evaluation.peers.drivers import (
    PeerQuestion,
    make_command,
    read_verdicts,
    triple_to_functional,
    write_peer_document,
)
from shiq.jobs.pages import environment
from shiq.jobs.reports.write import schema_problems
from shiq.rdf import read_ontology
from shiq.reasoner.external import (
    INCOMPLETE,
    PEERS,
    InstalledReasoner,
    MissingReasoner,
    find_external_reasoner,
)

find_schema_problems = partial(schema_problems, rules=SCHEMA)

pytestmark = pytest.mark.evaluation

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TBOX = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
<owl:Class rdf:about="urn:t#Cat"><owl:disjointWith rdf:resource="urn:t#Dog"/></owl:Class>
<owl:Class rdf:about="urn:t#Dog"/>
<owl:ObjectProperty rdf:about="urn:t#chases"><rdfs:range rdf:resource="urn:t#Cat"/></owl:ObjectProperty>
<owl:DatatypeProperty rdf:about="urn:t#name"/>
</rdf:RDF>
"""


def facts(animals: int) -> list[str]:
    """So many cats and dogs each; dogs chase cats; everybody has a name. No contradiction."""
    made = []
    for i in range(animals):
        made += [
            f"<urn:t#cat{i}> {TYPE} <urn:t#Cat> .",
            f"<urn:t#dog{i}> {TYPE} <urn:t#Dog> .",
            f"<urn:t#dog{i}> <urn:t#chases> <urn:t#cat{i}> .",
            f'<urn:t#dog{i}> <urn:t#name> "Rex <{i}> . \\"the dog\\"" .',
        ]
    return made


@pytest.fixture
def npd(tmp_path: Path) -> Path:
    """A folder that looks like the user's copy of a benchmark, with 200 facts about animals."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "npd-v2-complete.fixed.owl").write_text(TBOX)
    (folder / "npd.clean.nt.gz").write_bytes(gzip.compress(("\n".join(facts(50)) + "\n").encode()))
    return folder


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!{sys.executable}\nimport sys, time\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def konclude(path: Path, verdict: str) -> Path:
    """A program that talks like Konclude, and has read every fact it was given or complains."""
    return program(
        path,
        "text = open(sys.argv[sys.argv.index('-i') + 1]).read()\n"
        "if text.count('Assertion(') < 200: print('{error} 1 >> facts are missing')\n"
        "print('{info} 1 >> Ontology parsed in 7 ms.')\n"
        f"print(\"{{info}} 1 >> Ontology 'x.ofn' is {verdict}.\")",
    )


# --- batches --------------------------------------------------------------------------------------


def triples_of(lines: list[str]) -> list[tuple[str, str, str]]:
    return [(s, p, o) for s, p, o in (line.removesuffix(" .").split(" ", 2) for line in lines)]


@pytest.fixture
def animals(tmp_path: Path) -> Path:
    file = tmp_path / "a.nt"
    file.write_text("# a comment\n\n" + "\n".join([*facts(100), *facts(3), "not a triple"]) + "\n")
    return file


def test_reading_keeps_distinct_triples_and_counts_the_rest(animals: Path) -> None:
    triples = read_triples(animals)
    assert (len(triples), triples.unread) == (400, 1)
    assert triples.join_lines().splitlines() == facts(100)
    assert triples.join_lines(4, 6).splitlines() == facts(100)[4:6]


def test_a_random_batch_is_new_distinct_and_repeatable(animals: Path) -> None:
    triples = read_triples(animals)
    batch = draw_random_batch(triples, 300, seed=5)
    assert len(set(batch)) == 300
    assert not set(batch) & set(facts(100))
    assert batch == draw_random_batch(triples, 300, seed=5)
    assert batch != draw_random_batch(triples, 300, seed=6)
    assert batch[:3] == draw_random_batch(read_triples(animals), 300, seed=5)[:3]


def test_a_random_batch_follows_the_recipe(animals: Path) -> None:
    found = triples_of(draw_random_batch(read_triples(animals), 300, seed=5))
    individuals = {s for s, _, _ in triples_of(facts(100))}
    fresh = [s for s, _, _ in found if s not in individuals]
    assert all(s.startswith("<urn:shiq:evaluate:fresh:") for s in fresh)
    assert 0.4 < len(fresh) / len(found) < 0.6
    assert 1.3 < len(fresh) / len(set(fresh)) < 4
    assert {o for _, p, o in found if p == TYPE} == {"<urn:t#Cat>", "<urn:t#Dog>"}
    assert {o for _, p, o in found if p == "<urn:t#chases>"} <= individuals
    names = {o for _, p, o in triples_of(facts(100)) if p == "<urn:t#name>"}
    assert {o for _, p, o in found if p == "<urn:t#name>"} <= names
    assert {p for _, p, _ in found} == {TYPE, "<urn:t#chases>", "<urn:t#name>"}


def test_a_random_batch_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "one.nt").write_text(f"<urn:a> {TYPE} <urn:A> .\n")
    with pytest.raises(InputError, match="no 50 different"):
        draw_random_batch(read_triples(tmp_path / "one.nt"), 50, seed=1, fresh=0.0)
    (tmp_path / "none.nt").write_text("nothing here\n")
    with pytest.raises(InputError, match="no line is a triple"):
        read_triples(tmp_path / "none.nt")
    with pytest.raises(InputError, match="missing"):
        read_triples(tmp_path / "missing.nt")


def test_slices_are_a_partition() -> None:
    bounds = [slice_bounds(403, 20, i) for i in range(20)]
    assert [b for _, b in bounds[:-1]] == [a for a, _ in bounds[1:]]
    assert (bounds[0][0], bounds[-1][1]) == (0, 403)


def test_batches_of_a_data_set(npd: Path, tmp_path: Path) -> None:
    [dataset] = datasets("npd", (1,), npd.parent / "data", 1, tmp_path)
    made = {batch.name: batch for batch in write_batches(dataset, tmp_path / "w", 1, slices=2)}
    assert list(made) == ["5 % random", "1", "slice 6 of 20", "slice 16 of 20"]
    assert [made[n].insertions for n in made] == [10, 1, 10, 10]
    part = made["slice 6 of 20"]
    assert part.assertions == 190
    assert sorted(
        part.base.read_text().splitlines() + part.file.read_text().splitlines()
    ) == sorted(facts(50))
    assert made["1"].base.read_text().splitlines() == facts(50)
    with pytest.raises(UsageError, match="--data"):
        next(iter(datasets("npd", (1,), None, 1, tmp_path)))
    with pytest.raises(UsageError, match="no NPD data"):
        list(datasets("npd", (1,), tmp_path, 1, tmp_path))


# --- processes ------------------------------------------------------------------------------------


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_is_measured(tmp_path: Path) -> None:
    busy = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    body = f"x = bytearray(96 << 20); {busy}\nprint('done')"
    ran = run_metered([sys.executable, "-c", body], 60, tmp_path)
    assert (ran.code, ran.is_expired, ran.stdout) == (0, False, "done\n")
    assert ran.peak_mb > 96
    assert ran.cpu_seconds >= 0.3
    small = run_metered(
        [sys.executable, "-S", "-c", "import sys; print('Error: x', file=sys.stderr); sys.exit(3)"],
        60,
        tmp_path,
    )
    assert (small.code, small.stdout, small.error_summary()) == (3, "", "exit code 3: Error: x")
    assert small.peak_mb < 60, "the memory of the process that measures is not counted"


def test_the_limit_ends_everything(tmp_path: Path) -> None:
    # A shell, which says whom it started long before the limit.
    ran = run_metered(["sh", "-c", "setsid sleep 600 & echo $!; sleep 600"], 2, tmp_path)
    assert ran.is_expired
    deadline = time.monotonic() + 60
    while alive(int(ran.stdout)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(int(ran.stdout))


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match="could not be run"):
        run_metered([str(tmp_path / "nothing")], 5, tmp_path)


# --- peers ----------------------------------------------------------------------------------------


def ran(out: str, code: int = 0, err: str = "") -> MeterReading:
    return MeterReading(code, False, out, err, 2.0, 1.0, 50.0)


JAVA = InstalledReasoner(PEERS["pellet"], "java", "x.jar")
KONCLUDE = InstalledReasoner(PEERS["konclude"], "Konclude")
SAID = """peer stage=start seconds=0.1 cpu=0.2
peer stage=load seconds=1.5 cpu=1.6 tbox=3 assertions=200 unread=1
peer stage=first-check seconds=0.5 cpu=0.6 consistent=true
peer stage=reading-the-batch seconds=0.02 cpu=0.02 assertions=10 unread=2
peer stage=step seconds=0.25 cpu=0.3 consistent=false
"""


def test_what_a_java_peer_says() -> None:
    answer = read_verdicts(JAVA, ran(SAID + "peer stage=end seconds=0.0 cpu=0.0 peak_kb=1\n"))
    assert (answer.verdict, answer.base_verdict, answer.read, answer.unread) == (
        "inconsistent",
        "consistent",
        210,
        2,
    )
    assert (answer.seconds["first check"], answer.cpu_seconds["step"]) == (0.5, 0.3)


def test_half_an_answer_is_none() -> None:
    cut = read_verdicts(
        JAVA, ran(SAID, 1, "Exception in thread main: java.lang.OutOfMemoryError\n\tat x")
    )
    assert (cut.verdict, cut.base_verdict) == ("", "consistent")
    assert "OutOfMemoryError" in cut.trouble
    assert read_verdicts(JAVA, ran(SAID)).verdict == ""
    assert (
        read_verdicts(JAVA, ran("", 1, "Error: no main class")).trouble
        == "exit code 1: Error: no main class"
    )


def test_konclude_calls_a_missing_file_consistent_and_is_not_believed() -> None:
    missing = (
        "{error} 06:54 >> File 'nothere.ofn' not found.\n"
        "{info} 06:54 >> Ontology parsed in 0 ms.\n"
        "{info} 06:54 >> Ontology 'nothere.ofn' is consistent.\n"
    )
    answer = read_verdicts(KONCLUDE, ran(missing))
    assert (answer.verdict, answer.trouble) == ("", "File 'nothere.ofn' not found.")
    parsed = "{info} 1 >> Ontology parsed in 1500 ms.\n"
    good = read_verdicts(KONCLUDE, ran(parsed + "{info} 1 >> Ontology 'k.ofn' is inconsistent.\n"))
    assert (good.verdict, good.seconds["load"], good.seconds["check"]) == ("inconsistent", 1.5, 0.5)
    assert (
        read_verdicts(KONCLUDE, ran("{info} 1 >> Ontology 'k.ofn' is inconsistent.\n")).verdict
        == ""
    )
    assert read_verdicts(KONCLUDE, ran(parsed)).verdict == ""


def test_commands(tmp_path: Path) -> None:
    question = PeerQuestion(
        tmp_path / "t.owl", tmp_path / "b.nt", tmp_path / "i.nt", tmp_path / "d.ofn"
    )
    java = make_command(JAVA, question, "2g")
    assert java[0] == "java"
    assert "-Xmx2g" in java
    assert java[-4:] == [
        "incremental",
        str(tmp_path / "t.owl"),
        str(tmp_path / "b.nt"),
        str(tmp_path / "i.nt"),
    ]
    assert make_command(KONCLUDE, question, "2g")[-1] == str(tmp_path / "d.ofn")


@pytest.mark.parametrize(
    ("line", "written"),
    [
        (f"<urn:a> {TYPE} <urn:A> .", "ClassAssertion(<urn:A> <urn:a>)"),
        ("<urn:a> <urn:r> _:b1 .", "ObjectPropertyAssertion(<urn:r> <urn:a> _:b1)"),
        ('<urn:a> <urn:f> "1"^^<urn:d> .', 'DataPropertyAssertion(<urn:f> <urn:a> "1"^^<urn:d>)'),
        ('<urn:a> <urn:f> "x"@en-GB  .', 'DataPropertyAssertion(<urn:f> <urn:a> "x"@en-GB)'),
        (
            r'<urn:a> <urn:f> "q\" \\ \u00E9\n" .',
            'DataPropertyAssertion(<urn:f> <urn:a> "q\\" \\\\ \u00e9\n")',
        ),
        (
            "<urn:a> <http://www.w3.org/2002/07/owl#sameAs> <urn:b> .",
            "SameIndividual(<urn:a> <urn:b>)",
        ),
        ("<urn:a> <urn:unknown> <urn:b> .", ""),
        ('<urn:a> <urn:r> "a literal" .', ""),
        ("<urn:a b> <urn:r> <urn:b> .", ""),
        ("nonsense", ""),
    ],
)
def test_lines_in_functional_syntax(line: str, written: str) -> None:
    assert triple_to_functional(line, frozenset(["<urn:r>"]), frozenset(["<urn:f>"])) == written


def test_jars_are_pinned() -> None:
    for peer in (*PEERS.values(), *INCOMPLETE.values()):
        jars = install.jars_of_peer(peer)
        assert bool(jars) == peer.is_java
        assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) for jar in jars)
        assert len({jar.name for jar in jars}) == len(jars)
    assert [peer.name for peer in PEERS.values() if peer.is_agpl] == ["pellet", "openllet"]


def test_the_repository_is_the_users_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(install.MAVEN_SETTING, raising=False)
    settings = tmp_path / "settings.xml"
    assert install.find_repository(settings).startswith("https://")
    settings.write_text(
        '<settings xmlns="http://maven.apache.org/SETTINGS/1.2.0"><mirrors>'
        "<mirror><mirrorOf>other</mirrorOf><url>https://a.example/</url></mirror>"
        "<mirror><mirrorOf>central</mirrorOf><url>https://b.example/m2/</url></mirror></mirrors></settings>"
    )
    assert install.find_repository(settings) == "https://b.example/m2"
    monkeypatch.setenv(install.MAVEN_SETTING, "https://c.example/")
    assert install.find_repository(settings) == "https://c.example"


def test_a_jar_with_another_checksum_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = install.Jar("org.example", "thing", "1", hashlib.sha256(b"right").hexdigest())
    monkeypatch.setattr(install, "jars_of_peer", lambda _: [jar])
    monkeypatch.setattr(install.shutil, "which", lambda _: "/bin/true")
    there = tmp_path / "repository" / jar.repository_path
    there.parent.mkdir(parents=True)
    source = (tmp_path / "repository").as_uri()
    there.write_bytes(b"wrong")
    with pytest.raises(OperationalError, match="not the file it should be"):
        install.install_peer(PEERS["hermit"], tmp_path / "home", source)
    assert not list((tmp_path / "home").rglob("*.jar"))
    there.write_bytes(b"right")
    install.install_peer(PEERS["hermit"], tmp_path / "home", source)
    assert [p.read_bytes() for p in (tmp_path / "home").rglob("*.jar")] == [b"right"]


def test_agpl_only_when_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert install.main(["pellet", "openllet", "--home", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "AGPL-3.0" in said
    assert "--accept-agpl" in said
    assert not list(tmp_path.iterdir())
    absent = find_external_reasoner("pellet", tmp_path)
    assert isinstance(absent, MissingReasoner)
    assert "AGPL" in absent.reason


# --- whole evaluations ----------------------------------------------------------------------------


def test_an_evaluation(npd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIQ_KONCLUDE", str(konclude(tmp_path / "Fake", "inconsistent")))
    monkeypatch.setenv("SHIQ_PEERS_HOME", str(tmp_path / "nothing"))
    settings = BenchmarkSettings(
        "npd",
        data=npd,
        peers=("konclude", "hermit"),
        criteria=("clausal", "definition7"),
        engines=("local",),
        batches=("5 %",),
        slices=0,
        reasoner="own",
        work=tmp_path / "w",
    )
    said: list[str] = []
    saved: list[int] = []
    found = evaluate(
        settings,
        lambda what, done, total: said.append(what),
        lambda d: saved.append(len(d["runs"])),
    )
    assert find_schema_problems(found) == []
    assert json.loads(json.dumps(found)) == found
    runs = {(r["system"], r["criterion"], r["batch"]): r for r in found["runs"]}
    assert list(runs) == [
        ("shiq", "auto", "base"),
        ("shiq", "clausal", "5 % random"),
        ("shiq", "definition7", "5 % random"),
        ("konclude", None, "5 % random"),
        ("hermit", None, "5 % random"),
    ]
    base = runs[("shiq", "auto", "base")]
    assert (base["verdict"], base["assertions"]) == ("consistent", 200)
    for criterion in ("clausal", "definition7"):
        run = runs[("shiq", criterion, "5 % random")]
        assert (run["verdict"], run["insertions"], run["base_verdict"]) == (
            "inconsistent",
            10,
            "consistent",
        )
        assert 0 < run["add_set"] < 100
        assert run["cpu_seconds"] > 0
        assert run["peak_mb"] > 10
        assert "deciding" in run["seconds"]
    peer = runs[("konclude", None, "5 % random")]
    assert (peer["outcome"], peer["verdict"], peer["note"]) == ("answered", "inconsistent", "")
    missing = runs[("hermit", None, "5 % random")]
    assert (missing["outcome"], missing["verdict"]) == ("absent", "undetermined")
    assert "not installed" in missing["note"]
    [comparison] = found["comparisons"]
    assert (comparison["agreed"], len(comparison["verdicts"])) == (True, 3)
    assert saved == [5]
    assert any("Konclude" in what for what in said)
    text = format_table(merge_runs([found]), found["comparisons"])
    assert "not installed: hermit" in text
    assert "1 questions compared, 0 with different or wrong answers" in text
    write_atomically(tmp_path / "x.json", json.dumps(found))
    assert read_evaluation(tmp_path / "x.json") == found
    assert (
        "Konclude" not in render_evaluation_page([found]).split("Not asked for")[0].split("<h1>")[0]
    )
    check_page(render_evaluation_page([found]))


def test_peers_that_fail_are_recorded_and_not_tried_again(
    npd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outcomes(body: str, limit: float) -> list[tuple[str, str]]:
        monkeypatch.setenv("SHIQ_KONCLUDE", str(program(tmp_path / "Fake", body)))
        settings = BenchmarkSettings(
            "npd", data=npd, peers=("konclude",), criteria=(), slices=1, limit=limit
        )
        found = evaluate(settings)
        assert find_schema_problems(found) == []
        assert all(run["verdict"] == "undetermined" for run in found["runs"])
        return [(run["batch"], run["outcome"]) for run in found["runs"]]

    # A slice goes into another base, so there it is tried once more.
    assert outcomes("print('{error} 1 >> no memory')", 30) == [
        ("5 % random", "crash"),
        ("1", "skipped"),
        ("slice 11 of 20", "crash"),
    ]
    assert [outcome for _, outcome in outcomes("time.sleep(100)", 1)] == [
        "limit",
        "skipped",
        "limit",
    ]


@pytest.mark.slow
@pytest.mark.jvm
@pytest.mark.parametrize("name", PEERS)
def test_installed_peers_read_everything_and_answer(name: str, npd: Path, tmp_path: Path) -> None:
    found = find_external_reasoner(name)
    if isinstance(found, MissingReasoner):
        pytest.skip(found.reason)
    facts_of = {
        "good": f"<urn:t#new> {TYPE} <urn:t#Cat> .\n",
        "bad": "<urn:t#cat1> <urn:t#chases> <urn:t#dog1> .\n",
    }
    (tmp_path / "base.nt").write_text("\n".join(facts(50)) + "\n")
    (tmp_path / "odd.nt").write_text(
        r'<urn:t#x> <urn:t#name> "tab\t \u00E9 \U0001F600 \"" .'
        + "\n<urn:t#x> <urn:t#unknown> _:b .\n"
    )
    for verdict, batch, unread in (
        ("consistent", "good", 0),
        ("inconsistent", "bad", 0),
        ("consistent", "odd", 1),
    ):
        if batch in facts_of:
            (tmp_path / f"{batch}.nt").write_text(facts_of[batch])
        tbox, base, file, text = (
            tmp_path / n for n in ("t.owl", "base.nt", f"{batch}.nt", "d.ofn")
        )
        tbox.write_text(TBOX)
        left_out = write_peer_document(text, read_ontology([str(tbox)]), (base, file))
        ran = run_metered(
            make_command(found, PeerQuestion(tbox, base, file, text), "512m"), 120, tmp_path / "run"
        )
        answer = read_verdicts(found, ran)
        assert (answer.verdict, answer.trouble) == (verdict, "")
        assert left_out == unread
        if found.peer.is_java:
            assert (answer.read, answer.unread) == (201, unread)


@pytest.mark.jvm
def test_a_wrong_answer_is_settled_by_a_conflict(
    npd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHIQ_KONCLUDE", str(konclude(tmp_path / "Fake", "consistent")))
    settings = BenchmarkSettings(
        "npd",
        data=npd,
        peers=("konclude",),
        criteria=("clausal",),
        engines=("local",),
        batches=("5 %",),
        slices=0,
        reasoner="own",
    )
    [comparison] = evaluate(settings)["comparisons"]
    assert (comparison["agreed"], comparison["truth"]) == (False, "inconsistent")
    assert comparison["wrong"] == ["konclude, from scratch"]
    assert "HermiT confirms" in comparison["why"]


# --- comparisons ----------------------------------------------------------------------------------


def own(verdict: str, batch: str = "b", **more: object) -> Run:
    return Run("D", "shiq", "clausal", "local", batch, verdict=verdict, **more)  # type: ignore[arg-type]


def peer(name: str, verdict: str, batch: str = "b", **more: object) -> Run:
    return Run("D", name, None, PEERS[name].engine, batch, verdict=verdict, **more)  # type: ignore[arg-type]


def test_known_truth_counts_whoever_is_wrong() -> None:
    runs = [
        own("undetermined", expected="consistent"),
        peer("hermit", "inconsistent"),
        peer("konclude", "consistent"),
    ]
    [found] = compare_runs(runs)
    assert (found.is_agreed, found.truth, found.wrong_systems) == (
        False,
        "consistent",
        ["hermit, from scratch"],
    )
    counts = count_answers([found], runs)
    assert counts["hermit, from scratch"]["wrong"] == 1
    assert (counts["shiq clausal, local"]["asked"], counts["shiq clausal, local"]["answered"]) == (
        1,
        0,
    )


def test_an_arbiter_is_asked_only_where_we_refute() -> None:
    asked: list[tuple[str, str]] = []

    def arbiter(dataset: str, batch: str) -> tuple[bool, str]:
        asked.append((dataset, batch))
        return batch == "proved", "because"

    runs = [
        *(own("inconsistent", b) for b in ("proved", "open")),
        own("consistent", "theirs"),
        *(peer("pellet", "consistent", b) for b in ("proved", "open")),
        peer("pellet", "inconsistent", "theirs"),
        own("inconsistent", "same"),
        peer("pellet", "inconsistent", "same"),
        peer("pellet", "undetermined", "same", outcome="crash"),
        peer("hermit", "undetermined", "gone", outcome="absent"),
    ]
    found = {c.batch: c for c in compare_runs(runs, arbiter)}
    assert asked == [("D", "proved"), ("D", "open")]
    assert found["proved"].wrong_systems == ["pellet, incremental"]
    assert (found["open"].wrong_systems, found["open"].truth) == ([], None)
    assert (found["theirs"].wrong_systems, found["theirs"].is_agreed) == ([], False)
    assert "gone" not in found


# --- the JSON form and the page -------------------------------------------------------------------


def document(*runs: Run) -> dict[str, object]:
    return {
        "schema_version": 1,
        "made": "now",
        "machine": {"processor": "a <b> & c", "cores": 2},
        "settings": {"seed": 1},
        "datasets": [
            {"name": name, "family": "lubm", "about": "a <i>set</i>", "allowed": []}
            for name in {r.dataset for r in runs}
        ],
        "batches": [],
        "peers": [
            {
                "name": "pellet",
                "title": "Pellet",
                "licence": "AGPL-3.0",
                "engine": "incremental",
                "installed": False,
            }
        ],
        "runs": [run.to_dict() for run in runs],
        "comparisons": [c.to_dict() for c in compare_runs(runs)],
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verdict": "maybe"}, "runs/0/verdict: 'maybe' is not one of"),
        ({"outcome": "gone"}, "runs/0/outcome: 'gone' is not one of"),
        ({"outcome": "crash"}, "runs/0/verdict: 'undetermined' was expected"),
        ({"add_set": "many"}, "runs/0/add_set: 'many' is not of type 'integer', 'null'"),
        ({"add_set": True}, "runs/0/add_set: True is not of type"),
        ({"seconds": None}, "runs/0/seconds: None is not of type 'object'"),
    ],
)
def test_the_schema_is_checked(change: dict[str, object], said: str) -> None:
    run = {**own("consistent").to_dict(), **change}
    assert said in find_schema_problems({**document(), "runs": [run]})[0]


def test_the_schema_names_what_is_missing(tmp_path: Path) -> None:
    assert find_schema_problems(document(own("consistent"))) == []
    assert "schema_version: 1 was expected" in find_schema_problems({"schema_version": 2})
    assert len(find_schema_problems({})) == 6
    (tmp_path / "x.json").write_text('{"runs": []}')
    with pytest.raises(InputError, match="not an evaluation"):
        read_evaluation(tmp_path / "x.json")
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(InputError, match=r"not an evaluation: the document: \[\] is not of type"):
        read_evaluation(tmp_path / "x.json")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(InputError):
        read_evaluation(tmp_path / "x.json")


class Tags(HTMLParser):
    """Every start tag with its attributes; fails where an end tag closes another one."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "rect", "line", "circle", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("rect", "circle"):
            return
        assert self.open.pop() == tag


def check_page(text: str) -> Tags:
    """That the page is well-formed, and neither runs nor fetches anything."""
    parser = Tags()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    assert not {tag for tag, _ in parser.tags} & {
        "script",
        "img",
        "link",
        "iframe",
        "object",
        "base",
        "form",
    }
    assert not [
        a
        for _, attributes in parser.tags
        for a in attributes
        if a.startswith("on") or a in ("src", "href")
    ]
    for svg in re.findall("<svg.*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(svg)
    return parser


EVIL = "</td><script>alert('x')</script>&\"<img src=x onerror=y>"


def test_the_page_escapes_whatever_comes_from_data() -> None:
    runs = [
        Run(
            EVIL,
            "shiq",
            "clausal",
            "local",
            "base",
            CheckSizes(1000, 0, 50, 0, 5, 5),
            RunCost(prepare_seconds=1.0),
            verdict="consistent",
        ),
        Run(
            EVIL,
            "shiq",
            "clausal",
            "local",
            "5 % random",
            CheckSizes(1000, 50, 48, 1, 9, 8),
            RunCost(step_seconds=0.5, step_cpu_seconds=0.5),
            verdict="consistent",
            expected="inconsistent",
            note=EVIL,
        ),
        Run(
            EVIL,
            "shiq",
            "clausal",
            "local",
            "1",
            CheckSizes(1000, 1, 1, 0, 1, 1),
            RunCost(step_seconds=0.2, step_cpu_seconds=0.1),
            verdict="consistent",
        ),
        Run(EVIL, EVIL, None, EVIL, "5 % random", CheckSizes(1000, 50), outcome="crash", note=EVIL),
        Run(
            EVIL,
            "pellet",
            None,
            "incremental",
            f"5 % {EVIL}",
            CheckSizes(1000, 50),
            outcome="absent",
            note=EVIL,
        ),
    ]
    made = document(*runs)
    assert find_schema_problems(made) == []
    text = render_evaluation_page([made])
    check_page(text)
    assert "alert(&#39;x&#39;)" in text
    assert "known wrong" in text
    assert "(wrong)" in text
    assert "<svg" in text


def test_the_page_of_two_evaluations_takes_the_later_run() -> None:
    first = document(own("consistent", "5 % random", sizes=CheckSizes(100, 5, 77)))
    second = document(own("inconsistent", "5 % random", sizes=CheckSizes(100, 5, 11)))
    [run] = merge_runs([first, second])
    assert (run.verdict, run.sizes.add_set) == ("inconsistent", 11)
    assert "(77)" not in render_evaluation_page([first, second])
    assert "(11)" in render_evaluation_page([first, second])
    check_page(render_evaluation_page([document()]))


def test_the_page_of_two_evaluations_joins_their_answers() -> None:
    first = document(own("consistent"), peer("hermit", "inconsistent"))
    second = document(own("consistent"), peer("konclude", "inconsistent"))
    text = render_evaluation_page([first, second])
    differing = text.split("Where the answers differ")[1].split("</table>")[0]
    assert "hermit" in differing
    assert "konclude" in differing
    assert differing.count("<tr>") == 2


def test_what_users_get_is_measured_first_and_named(npd: Path) -> None:
    assert BenchmarkSettings("npd", data=npd).criteria[0] == "auto"
    settings = BenchmarkSettings(
        "npd",
        data=npd,
        criteria=("auto", "clausal"),
        engines=("local",),
        batches=("5 %",),
        slices=0,
    )
    found = evaluate(settings)
    labels = [(run["criterion"], run["used"]) for run in found["runs"] if run["batch"] != "base"]
    assert labels == [("auto", "model"), ("clausal", "")]
    said = "auto is what a check does unless it is told otherwise: the criterion model here"
    text = format_table(merge_runs([found]), found["comparisons"])
    assert said in text
    assert "shiq auto (model), local" in text
    drawn = render_evaluation_page([found])
    assert said in re.sub("<.*?>", "", drawn)
    assert "our default method looked at: on NPD" in drawn
    # An evaluation of a time when that was not recorded is still read, and says nothing of it.
    for run in found["runs"]:
        del run["used"]
    assert find_schema_problems(found) == []
    assert "our default method" not in render_evaluation_page([found])


def test_what_was_not_asked_for_is_not_named(npd: Path) -> None:
    """The base is always built as `auto` has it."""
    settings = BenchmarkSettings(
        "npd", data=npd, criteria=("clausal",), engines=("local",), batches=("5 %",), slices=0
    )
    found = evaluate(settings)
    assert "auto" not in format_table(merge_runs([found]), found["comparisons"])


def test_where_nothing_is_left_to_be_measured(npd: Path) -> None:
    asked = BenchmarkSettings("npd", data=npd, engines=("spark",), slices=0)
    with pytest.raises(UsageError, match="no data set is left"):
        evaluate(replace(asked, variants=("nothing",)))
    with pytest.raises(UsageError, match="no batch is left") as caught:
        evaluate(replace(asked, batches=("nothing",)))
    assert "Known: 5 % random, 1." in caught.value.remedy
    with pytest.raises(UsageError, match="nothing is left to be measured"):
        evaluate(replace(asked, batches=("^1$",)))


def test_a_run_that_ended_by_its_time_says_so_and_has_no_figures(
    npd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiq.jobs.evaluation.evaluate import run as module

    over = Result(
        Verdict.UNDETERMINED,
        "not decided: the time of 9 s was over while reading",
        evidence=Evidence("auto"),
    )

    def worked(_: str, task: dict[str, Any], limit: float, *more: Any) -> tuple[MeterReading, Any]:
        assert task["timeout"] == 0.9 * limit
        used, answer = real(_, task, limit, *more)
        return used, over.to_dict() if task["action"] == "check" else answer

    real = module.run_worker
    monkeypatch.setattr(module, "run_worker", worked)
    found = evaluate(
        BenchmarkSettings(
            "npd", data=npd, criteria=("auto",), engines=("local",), batches=("5 %",), slices=0
        )
    )
    run = next(run for run in merge_runs([found]) if run.batch != "base")
    sizes = run.sizes
    assert (sizes.assertions, sizes.insertions, sizes.add_set, run.used) == (200, 10, None, "")
    text = format_table([run], [])
    assert f"NPD, 5 % random: shiq auto, local: undetermined: {over.reason}" in text
    assert "what a check does" not in text


def test_what_stands_in_the_way_of_a_run_is_printed(
    npd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    monkeypatch.setenv("SHIQ_GRAPHFRAMES_JAR", "/no/such.jar")
    found = evaluate(
        BenchmarkSettings(
            "npd",
            data=npd,
            criteria=("definition7",),
            engines=("graphframes",),
            batches=("5 %",),
            slices=0,
        )
    )
    text = format_table(merge_runs([found]), found["comparisons"])
    assert (
        "NPD, 5 % random: shiq definition7, graphframes: crash: /no/such.jar: there is no such jar"
        in text
    )


def test_an_engine_that_is_not_installed_is_absent(
    npd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyspark.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'pyspark'\", name='pyspark')"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = evaluate(
        BenchmarkSettings(
            "npd", data=npd, criteria=("clausal",), engines=("spark",), batches=("5 %",), slices=0
        )
    )
    run = next(run for run in merge_runs([found]) if run.batch != "base")
    assert run.outcome == "absent"
    text = format_table(merge_runs([found]), found["comparisons"])
    assert (
        "not installed: shiq clausal, spark: this needs the package pyspark, which is not installed"
        in text
    )


def draw(plot: Plot | None) -> str:
    """Return the SVG of a plot."""
    assert plot is not None
    return str(environment().get_template("evaluation/plots.html").module.draw(plot))  # type: ignore[attr-defined]


def test_plots_have_their_colours_from_the_page_for_light_and_dark() -> None:
    group = BarGroup(
        "g", (Bar("a", 10.0, "10", first_part=3.0), Bar("b", None, "", note="none")), 1.0, 2.0
    )
    points = lay_out_lines([Series("s", ((1, 1, "x"), (2, 2, "y")), 9)], x="n", y="s", title="t")
    drawn = draw(lay_out_bars([group], unit="s", title="t")) + draw(points)
    assert "#" not in drawn
    assert "fill=" not in drawn
    base, plots = (
        environment().get_template(name).render() for name in ("base.css", "evaluation/style.css")
    )
    used = set(re.findall(r"var\((--\w+)\)", plots))
    for scheme in (r"^:root{(.*?)}", r"dark\){:root{(.*?)}"):
        known = ";".join(re.findall(scheme, f"{base}\n{plots}", re.DOTALL | re.MULTILINE))
        assert used - {"--c"} <= set(re.findall(r"(--[\w-]+):", known))
    assert set(re.findall(r'class="([^"]*)"', drawn)) == {
        "axis",
        "head",
        "band",
        "c0",
        "c0 rest",
        "beside",
        "none",
        "c1",
    }


def widths(svg: str) -> list[float]:
    return [
        float(rect.attrib["width"])
        for rect in ElementTree.fromstring(svg).iter()
        if rect.tag.endswith("rect")
    ]


def test_bars_are_as_long_as_their_values() -> None:
    group = BarGroup(
        "g", (Bar("a", 10.0, "10"), Bar("b", 20.0, "20"), Bar("c", None, "", note="no <answer>"))
    )
    svg = draw(lay_out_bars([group], unit="s", title="t"))
    [first, second] = widths(svg)
    assert abs(second - 2 * first) < 0.2
    assert "no &lt;answer&gt;" in svg
    [before, after] = widths(
        draw(
            lay_out_bars(
                [BarGroup("g", (Bar("a", 10.0, "10", first_part=30.0),))], unit="s", title="t"
            )
        )
    )
    assert abs(before - 3 * after) < 0.2
    assert lay_out_bars([BarGroup("g", ())], unit="s", title="t") is None


def test_lines_have_equal_steps_on_a_logarithmic_axis() -> None:
    series = Series("s", ((1, 0.1, "x"), (10, 1.0, "y"), (100, 10.0, "z")))
    svg = draw(lay_out_lines([series], x="n", y="s", title="t"))
    points = [
        float(c.attrib["cx"])
        for c in ElementTree.fromstring(svg).iter()
        if c.tag.endswith("circle")
    ][:3]
    assert abs((points[1] - points[0]) - (points[2] - points[1])) < 0.2
    assert lay_out_lines([Series("s", ((0, 0, "x"),))], x="n", y="s", title="t") is None


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["npd"], 2, "--data"),
        (["lubbm"], 2, "lubm"),
        (["lubm", "--peers", "pelet"], 2, "pellet"),
        (["lubm", "--engines", "lokal"], 2, "local"),
        (["lubm", "--universities", "one"], 2, "Write 1"),
        (["lubm", "--universities", "0"], 2, "Write 1"),
        (["lubm", "--heap", "lots"], 2, "heap"),
        (["lubm", "--batch", "5 (%"], 2, "regular expression"),
        (["lubm", "--with", "nothing.json"], 4, "nothing.json"),
    ],
)
def test_usage(
    arguments: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", *arguments, "--json", str(tmp_path / "x.json"), "-q"])
    assert stop.value.code == code
    assert said in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def test_the_command_writes_both_files(
    npd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out"
    target.mkdir()
    arguments = [
        "evaluate",
        "npd",
        "--data",
        str(npd),
        "--criteria",
        "clausal",
        "--engines",
        "local",
        "--slices",
        "0",
    ]
    with pytest.raises(SystemExit) as stop:
        main(
            [
                *arguments,
                "--batch",
                "5 %",
                "--json",
                str(target / "x.json"),
                "--html",
                str(target / "x.html"),
                "-q",
            ]
        )
    assert stop.value.code == 0
    assert "5 % random" in capsys.readouterr().out
    assert find_schema_problems(json.loads((target / "x.json").read_text())) == []
    check_page((target / "x.html").read_text())
    assert sorted(os.listdir(target)) == ["x.html", "x.json"]


def test_the_command_needs_no_file_to_write(
    npd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "evaluate",
                "npd",
                "--data",
                str(npd),
                "--engines",
                "local",
                "--slices",
                "0",
                "--batch",
                "5 %",
                "-q",
            ]
        )
    assert stop.value.code == 0
    assert "shiq auto (model), local" in capsys.readouterr().out
    assert os.listdir() == []
