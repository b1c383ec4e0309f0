"""docs/papers/CORRECTIONS.md: on each counterexample in data/corrections the right answer is given, and
it is another than what follows from the printed text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shiq.streams.consistency import check_stream, plan
from shiq.streams.discovery import RuleMiner
from shiq.streams.discovery.mining import apply_a1
from shiq.streams.enrichment import open_enricher
from shiq.streams.rules import Program

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "data" / "corrections"


def case(name: str) -> tuple[Path, dict[str, Any]]:
    folder = CASES / name
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert expected["right"] != expected["printed"] and expected["story"]
    return folder, expected


def events_of(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "events.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_case_is_told() -> None:
    page = (ROOT / "docs/papers/CORRECTIONS.md").read_text(encoding="utf-8")
    for folder in CASES.iterdir():
        assert f"data/corrections/{folder.name}" in page, folder.name


@pytest.mark.parametrize("name", ["role-step", "lost-conjunction"])
@pytest.mark.parametrize("grouping", ["depth", "printed"])
def test_contradictions_of_streams_are_found_by_every_topology(name: str, grouping: str) -> None:
    folder, expected = case(name)
    groups = len(plan(folder / "tbox.ofn", 5, grouping=grouping).root_groups)
    topologies: list[tuple[str, tuple[int, ...]]] = [("mask", ()), ("ntm", ())]
    topologies += [("ltm", (cut,)) for cut in range(groups + 1)]
    for strategy, cut in topologies:
        watched = plan(folder / "tbox.ofn", 5, strategy, cut, grouping)
        rows = check_stream(watched, folder / "events.jsonl").spans
        assert sorted({row["individual"] for row in rows}) == expected["right"], (strategy, cut)


def test_a_low_value_does_not_hide_a_high_one() -> None:
    folder, expected = case("data-check")
    with open_enricher(folder / "tbox.ofn", reasoner="own") as enricher:
        found = [enricher.enrich(event["triples"]) for event in events_of(folder)]
    told = [sorted({"urn:c#Alert"} & set().union(*one.types.values())) for one in found]
    assert told == expected["right"]
    assert [one.hit for one in found] == [False, False]


def test_equal_enrichments_are_of_two_structures() -> None:
    folder, _ = case("converse")
    with open_enricher(folder / "tbox.ofn", reasoner="own") as enricher:
        found = [enricher.enrich(event["triples"]) for event in events_of(folder)]
    first, second = ({*one.types.values()} for one in found)
    assert first == second and len(enricher.entries) == 2


def test_a_snapshot_without_the_head_counts_when_it_leaves() -> None:
    folder, expected = case("guard")
    reports = mined(folder, 2, method="inkd", gate="off", min_confidence=0.4, min_support=0.4)
    counts = [
        count
        for report in reports
        for rule in report["rules"]
        if "Event" in str(rule["body"]) and "Jam" in str(rule["head"])
        for count in (rule["support"], rule["body_support"])
    ]
    assert counts == expected["right"]
    # A1 as printed does nothing for the snapshot that leaves, and the union keeps both copies.
    assert [1, 2, *apply_a1((1, 2), 1, 1, 1)] == expected["printed"]


def mined(folder: Path, window: int, **options: Any) -> list[dict[str, Any]]:
    miner = RuleMiner(folder / "tbox.ofn", window=window, slide=1, max_atoms=1, **options)
    return [report.to_dict() for report in miner.run(folder / "events.jsonl")]


def test_what_is_not_similar_may_still_expand_a_rule() -> None:
    folder, expected = case("rare")
    for method in ("exact", "scratch"):
        report = mined(folder, 3, method=method, min_confidence=0.3, min_support=0.3)[-1]
        found = [
            "A ⇒ B"
            for rule in report["rules"]
            if "#A" in str(rule["body"]) and "#B" in str(rule["head"])
        ]
        assert found == expected["right"]


def test_rules_are_evaluated_behind_all_that_they_need() -> None:
    folder, expected = case("order")
    session = Program.parse((folder / "program.lp").read_text(encoding="utf-8")).session()
    models = []
    for line in (folder / "stream.log").read_text(encoding="utf-8").splitlines():
        t, _, atoms = line.partition(" ")
        models += [*session.push(int(t), atoms.split("; ")), *session.finish()]
    assert [sorted(model.derived) for model in models] == expected["right"]
