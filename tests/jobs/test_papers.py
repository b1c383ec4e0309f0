"""`shiq evaluate PAPER`: each paper at a tiny size; rows, counts, pages, peers."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from copy import deepcopy
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from command_line import shiq

from shiq.errors import OperationalError, UsageError
from shiq.jobs.evaluation.evaluate.process import MeterReading
from shiq.jobs.evaluation.evaluate.settings import PAPERS, PaperSettings
from shiq.jobs.evaluation.generation import RDF_TYPE
from shiq.jobs.evaluation.harness import current_commit
from shiq.jobs.evaluation.papers import load_paper
from shiq.jobs.evaluation.papers.enrichment import _static_types, enrich_events, group_by_class
from shiq.jobs.evaluation.papers.page import (
    MEASURED,
    SCHEMA,
    PaperRow,
    compute_latencies,
    evaluate_paper,
    find_sustained_rate,
    page_to_html,
    page_to_markdown,
)
from shiq.jobs.evaluation.papers.rules import (
    content_caching,
    evaluate_clingo_from_scratch,
    evaluate_clingo_once,
    evaluate_from_scratch,
    evaluate_incrementally,
)
from shiq.jobs.evaluation.peers import drivers
from shiq.jobs.evaluation.peers.drivers import PeerLauncher
from shiq.jobs.evaluation.streams.enrichment import NAMES, generate_city, generate_university
from shiq.jobs.evaluation.streams.rules import GeneratedRules, PhotovoltaicGrid
from shiq.jobs.reports.write import schema_problems
from shiq.reasoner.external import PEERS as PEERS_BY_NAME
from shiq.reasoner.external import InstalledReasoner
from shiq.streams.enrichment import open_enricher

find_schema_problems = partial(schema_problems, rules=SCHEMA)

pytestmark = pytest.mark.evaluation

#: What each page must have at any size: a table, and one of its axes.
EXPECTED = {
    "streams": [
        ("Section 5, set-up", "LUBM: closure"),
        ("Fig. 5", "LUBM, LTM-2, 6 tasks"),
        ("Fig. 6a", "LUBM, NTM, bolt 1: conjunctions"),
        ("Fig. 6b", "LUBM, LTM-3: cached tuples"),
        ("Fig. 6c", "LUBM, LTM with 3 bolts, a task each"),
        ("Sustained rate", "LUBM, ltm, one process"),
        ("Fig. 5", "NPD"),
    ],
    "incremental": [
        ("Table 1", "LUBM-1: role assertions"),
        ("Fig. 1", "LUBM-1 (0.5): A_add of base"),
        ("Fig. 1", "LUBM-1 (1.0): A_add, DifferentIndividuals"),
        ("Fig. 2", "UOBM-1 (0.5): reasoning by own"),
        ("Fig. 3", "NPD"),
        ("Fig. 4", "UOBM-1: A_add of data"),
    ],
    "enrichment": [
        ("Table 1", "5 departments: a hit"),
        ("Table 2", "100 intersections: misses"),
        ("Table 3", "200 intersections: HermiT"),
        ("Table 4", "10 departments: an event and all queries"),
        ("Table 4", "1 departments: answers of the last event"),
        ("Table 1", "5 departments: ELK"),
        ("Fig. 11", "2 individuals, 100 structures: a hit"),
        ("Fig. 12", "2 individuals, 100 structures: bytes an entry"),
        ("Fig. 13", "misses in the first 100 events"),
        ("Fig. 14", "lru, capacity 5: hits"),
    ],
    "rules": [
        ("Fig. 3 a.1, Content Caching, one event", "window 2, every 1 s: latency, mean"),
        ("Fig. 3 a.2, Content Caching, window 5", "50 events: derived atoms"),
        ("Fig. 3 b.1, Heavy Join, window 2", "50 facts: accepted points"),
        ("Fig. 3 b.2, Heavy Join, window 20", "50 facts: sustained"),
        ("Fig. 4, Photo-voltaic System", "20²: links"),
        ("Fig. 4, Photo-voltaic System", "20², every 0.1 s: total time"),
    ],
    "discovery": [
        ("Table 2", "buses: axioms of an update"),
        ("Fig. 5", "|w| 9, k 1/3: rules"),
        ("Fig. 6", "Φ 2/3, E2"),
        ("Fig. 7", "c8 (support 0.8, confidence 0.8)"),
        ("Fig. 8", "E3, gate printed"),
        ("Fig. 8", "|w| 9, E6, gate off"),
    ],
}
#: Other engines of the paper on enrichment.
ENGINES = {"Pellet", "Subset", "TrOWL", "RDFox", "ELK", "Jena", "QR"}
#: Seconds to minutes even at a tiny size.
SLOW = {"discovery", "incremental", "enrichment"}


def page_of(name: str, **settings: Any) -> dict[str, Any]:
    return evaluate_paper(load_paper(name), PaperSettings(size=0.02, **settings), lambda what: None)


@cache
def first_page(name: str) -> dict[str, Any]:
    """A page that several tests read, and none changes."""
    return page_of(name)


def rows_of(page: dict[str, Any]) -> dict[tuple[str, str], PaperRow]:
    return {(row["table"], row["axis"]): PaperRow(**row) for row in page["rows"]}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in EXPECTED]
)
def test_the_rows_of_a_paper_are_complete(name: str) -> None:
    page = first_page(name)
    rows = rows_of(page)
    assert len(rows) == len(page["rows"]), "two rows of one axis"
    assert set(EXPECTED[name]) <= rows.keys()
    for table in {row.table for row in rows.values()}:
        assert table in page_to_markdown(page) and table in page_to_html(page)
    # NPD has no generator: its rows are dashes that name the recipe. Engines have rows of their own.
    for row in rows.values():
        is_engine = row.axis.rpartition(": ")[2] in ENGINES
        assert row.ours is not None or row.axis.startswith("NPD") or is_engine, row


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in EXPECTED],
)
def test_the_counts_of_a_paper_are_stable(name: str) -> None:
    rows, more = rows_of(first_page(name)), rows_of(page_of(name))
    counts = {key: row.ours for key, row in rows.items() if row.unit not in MEASURED}
    assert rows.keys() == more.keys() and len(counts) > 5
    assert counts == {key: row.ours for key, row in more.items() if row.unit not in MEASURED}


def test_other_seeds_give_other_streams() -> None:
    one, other = rows_of(first_page("streams")), rows_of(page_of("streams", seed=2))
    key = ("Fig. 6a", "LUBM, NTM: evaluations")
    assert one[key].ours != other[key].ours


def test_caches_of_bolts_are_counted() -> None:
    """As the paper says: one bolt at work caches less than two, and LTM-5 as much as NTM."""
    rows = rows_of(first_page("streams"))
    cached = {
        n: rows["Fig. 6b", f"LUBM, {n}: cached tuples"].ours for n in ("NTM", "LTM-3", "LTM-5")
    }
    assert cached["NTM"] == cached["LTM-5"]
    assert (cached["LTM-3"] or 0) > (cached["NTM"] or 0) > 0


def test_a_number_that_is_missing_has_a_reason() -> None:
    page = deepcopy(first_page("streams"))
    assert not find_schema_problems(page)
    page["rows"][0] |= {"ours": None, "why": ""}
    assert find_schema_problems(page)
    page["rows"][0] |= {"ours": "many", "why": "because"}
    assert find_schema_problems(page)


def test_a_page_names_the_commit_of_its_clone() -> None:
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        pytest.skip("not a clone")
    words = ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"]
    head = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    assert current_commit().rstrip("+") == head


def test_peers_stand_with_their_versions() -> None:
    page = page_of("rules") | {"peers": ["hermit", "owlrl", "clingo"]}
    assert "* peers: HermiT 1.4.5, owlrl 7.6.2, clingo\n" in page_to_markdown(page)


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    files = {kind: tmp_path / f"page.{kind}" for kind in ("json", "html", "markdown")}
    words = [word for kind, file in files.items() for word in (f"--{kind}", file)]
    called = shiq("evaluate", "streams", "--size", "0.02", "--seed", "3", "-q", *words)
    assert called.returncode == 0
    page = json.loads(files["json"].read_text(encoding="utf-8"))
    assert not find_schema_problems(page)
    assert "* data: generated\n" in called.stdout
    assert page["seed"] == 3 and page["versions"]["shiq"] and page["machine"]["processor"]
    assert files["markdown"].read_text(encoding="utf-8") in called.stdout
    assert "<svg" in files["html"].read_text(encoding="utf-8")


def test_options_of_something_else_are_refused() -> None:
    refused = shiq("evaluate", "streams", "--variant", "x")
    assert refused.returncode == 2 and "--variant is no option of streams" in refused.stderr
    refused = shiq("evaluate", "lubm", "--size", "0.1")
    assert refused.returncode == 2 and "--size is no option of lubm" in refused.stderr


def test_an_unknown_peer_is_refused() -> None:
    with pytest.raises(UsageError, match="streams has no peer 'clingo'"):
        page_of("streams", peers=("clingo",))


def test_a_queue_grows_only_beyond_the_sustained_rate() -> None:
    assert max(compute_latencies([0.1] * 50, 0.1)) == pytest.approx(0.1)
    assert max(compute_latencies([0.1] * 50, 0.05)) > 2


def test_the_sustained_rate_is_that_of_the_work() -> None:
    def take(count: int) -> None:
        sum(range(50 * count))

    slow = find_sustained_rate(take, 0.05)
    fast = find_sustained_rate(lambda count: take(count // 20), 0.05)
    assert 0 < slow < fast


def test_a_missing_peer_is_a_dash_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    rows = rows_of(page_of("rules", peers=("clingo",)))
    row = rows["Fig. 3 b.1, Heavy Join, window 2", "50 facts: sustained"]
    assert row.peers["clingo"] is None and "clingo is not installed" in row.why


def test_our_rules_and_clingo_derive_the_same() -> None:
    for window, contents in ((2, 1), (5, 30)):
        stream = content_caching(window, contents, 70, 3)
        asked = ("lfu/1", "lru/1", "fifo/1", "random/1", "finish/1")
        ours, anew, theirs = (
            [point.atom_counts for point in evaluate(stream, asked, False)]
            for evaluate in (
                evaluate_incrementally,
                evaluate_from_scratch,
                evaluate_clingo_from_scratch,
            )
        )
        assert ours == anew == theirs
        # All of the program is at work, but what a single content's stream does not bring.
        assert all(map(any, zip(*ours[1:]))) or contents == 1


def test_the_grid_anew_derives_what_the_incremental_engine_does() -> None:
    stream = PhotovoltaicGrid(6, 20, 0.1).generate_stream()
    rows = GeneratedRules(stream.rules, list(stream.points))
    runs = [
        [point.atom_counts for point in evaluate(rows, ("reachable/2",), False)]
        for evaluate in (evaluate_incrementally, evaluate_from_scratch, evaluate_clingo_once)
    ]
    assert runs[0] == runs[1] == runs[2] and len({*map(tuple, runs[0])}) > 2


def test_the_first_rows_of_discovery() -> None:
    rows = islice(
        load_paper("discovery").redo_experiments(PaperSettings(size=0.02), lambda what: None), 12
    )
    *sizes, time, rules = rows
    assert [row.paper for row in sizes] == [300, 53, 60, 270, 600, 81, 6_000, 480, 40, 3_000]
    assert (time.ours or 0) > 0 and rules.ours == rules.peers["scratch (L15)"]


def test_the_first_rows_of_incremental(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The published method looks at most, and a peer that is missing is a dash with its reason."""
    monkeypatch.setenv("SHIQ_PEERS_HOME", str(tmp_path))
    settings = PaperSettings(size=0.01, peers=("pellet",))
    rows = [*islice(load_paper("incremental").redo_experiments(settings, lambda what: None), 26)]
    sizes = {row.axis: row.ours for row in rows if row.table == "Table 1"}
    assert sizes["LUBM-1: concepts"] == 43 and sizes["LUBM-1: roles"] == 25
    share = next(row for row in rows if row.axis == "LUBM-1 (0.5): A_add of base")
    assert 100 >= (share.ours or 0) >= (share.peers["clausal"] or 0) >= (share.peers["auto"] or 0)
    checked = next(row for row in rows if row.axis == "LUBM-1 (0.5): insertions checked")
    assert checked.peers["pellet"] is None and "is not installed" in checked.why
    times = {row.axis: row.ours or 0.0 for row in rows if row.unit == "s"}
    parts = (times["LUBM-1 (0.5): generating"], times["LUBM-1 (0.5): reasoning by own"])
    assert min(parts) > 0 and sum(parts) == pytest.approx(times["LUBM-1 (0.5): insertions checked"])


def test_two_runs_of_discovery_are_compared(tmp_path: Path) -> None:
    def report(window: list[int], *heads: str) -> str:
        rules = [{"body": [["urn:A", 0]], "head": [[head, 0]], "support": 3} for head in heads]
        return json.dumps({"window": window, "rules": rules}) + "\n"

    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_text(report([0, 9], "urn:B", "urn:C") + report([5, 14], "urn:B"), encoding="utf-8")
    other.write_text(report([0, 9], "urn:C", "urn:D"), encoding="utf-8")
    called = shiq(
        "evaluate",
        "discovery",
        "--accuracy",
        one,
        "--accuracy",
        other,
        "-q",
        "--json",
        tmp_path / "j",
    )
    assert called.returncode == 0
    rows = rows_of(json.loads((tmp_path / "j").read_text(encoding="utf-8")))
    assert rows["Two runs", "window 0–9: accuracy"].ours == pytest.approx(1 / 3, abs=1e-3)
    assert rows["Two runs", "window 0–9: rules"].peers == {"second run": 2, "both": 1}
    assert "second run does not have" in rows["Two runs", "window 5–14"].why
    other.write_text("\n", encoding="utf-8")
    refused = shiq("evaluate", "discovery", "--accuracy", one, "--accuracy", other, "-q")
    assert refused.returncode == 4 and f"{other}:1" in refused.stderr
    refused = shiq("evaluate", "streams", "--accuracy", one)
    assert refused.returncode == 2 and "--accuracy is no option of streams" in refused.stderr


def test_the_cache_meets_each_structure_once(tmp_path: Path) -> None:
    """Hits and misses have the same types; a city of 20 has no more structures than sensors × regions."""
    scenario = generate_city(20, 400, 1)
    run = enrich_events(scenario, tmp_path)
    assert run.hits.count(False) == run.entries <= 20 * (3 + 3 + 3)
    assert len(run.hits) == 400 and run.bytes > 0
    students = generate_university(2, 40, 1)
    assert enrich_events(students, tmp_path).hits.count(True) > 20
    assert all(len(event) == 16 for event in students.events)
    assert all(len(event) == 6 for event in scenario.events)
    with open_enricher(tmp_path / "t.ofn", tmp_path / "b.nt", allow=("undeclared",)) as enricher:
        found = [enricher.enrich(event).types for event in students.events]
    names = {name for types in found for classes in types.values() for name in classes}
    assert {f"{NAMES}LeisureStudent", f"{NAMES}EngineeringStudent"} <= names


def test_answers_over_static_data_are_those_of_each_individual(tmp_path: Path) -> None:
    scenario = generate_university(1, 10, 1)
    enrich_events(scenario, tmp_path)
    with open_enricher(
        tmp_path / "t.ofn", tmp_path / "b.nt", allow=("undeclared",), reasoner="own"
    ) as enricher:
        found = group_by_class(_static_types(enricher.knowledge))
        for one in ("course0-0", "teacher0-3", "department0", "hobby2"):
            line = f"<{NAMES}{one}> {RDF_TYPE} <http://www.w3.org/2002/07/owl#Thing> ."
            types = enricher.enrich([line]).types[NAMES + one]
            assert types == {name for name, those in found.items() if NAMES + one in those}
    assert len(found[NAMES + "Course"]) == 20


def test_a_peer_counts_only_if_it_read_all_of_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    java = InstalledReasoner(PEERS_BY_NAME["hermit"], "java")
    monkeypatch.setattr(drivers, "require_peer", lambda name: java)
    load, event = "peer stage=load seconds=0 cpu=0.5 unread={}", "peer stage=event seconds=1 cpu=2"
    said = [
        load.format(0),
        "urn:a\turn:C",
        event,
        load.format(0),
        event,
        "peer stage=end seconds=0",
    ]

    def ask(lines: list[str], events: int) -> list[tuple[float, int]]:
        used = MeterReading(0, False, "\n".join(lines), "", 1.0, 1.0, 1.0)
        monkeypatch.setattr(PeerLauncher, "run_command", lambda self, title, words: used)
        files = [Path("e.nt")] * events
        found = drivers.ask_java_peer("hermit", Path("t.ofn"), files, PeerLauncher(Path(), 1.0))
        return [(one.seconds, len(one.types)) for one in found]

    assert ask(said, 2) == [(2.0, 1), (2.0, 0)]
    for lines, events, words in (
        (said, 3, "exit code"),
        (said[:-1], 2, "exit code"),
        ([load.format(2), *said[1:]], 2, "did not read 2 lines"),
    ):
        with pytest.raises(OperationalError, match=words):
            ask(lines, events)


def test_every_paper_can_be_redone() -> None:
    assert set(EXPECTED) == set(PAPERS)
    for name in EXPECTED:
        assert load_paper(name).name == name
