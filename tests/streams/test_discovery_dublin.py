"""The generated city: what it is, and that what was planted is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiq.jobs.evaluation.streams.dublin import (
    CAUSES,
    RATES,
    City,
    DublinRecipe,
    city_ontology,
    generate_city,
)
from shiq.streams.discovery import RuleMiner
from tests.command_line import shiq
from tests.discovery_cases import told

pytestmark = pytest.mark.evaluation


def test_sizes_are_those_of_the_source() -> None:
    assert (
        city_ontology().count("Declaration(Class"),
        city_ontology().count("Declaration(ObjectProperty"),
    ) == (55, 19)
    assert (
        abs(len(list(City(300, 1).static_lines())) + city_ontology().count("SubClassOf(") - 25_456)
        < 10
    )


def test_the_same_seed_gives_the_same_city(tmp_path: Path) -> None:
    for name in ("one", "two"):
        generate_city(DublinRecipe(12, 6, 5), tmp_path / name)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes(), file.name


def test_planted_causes_are_found_and_faults_named(tmp_path: Path) -> None:
    assert (
        shiq(
            "generate",
            "dublin",
            "--roads",
            12,
            "--snapshots",
            30,
            "--seed",
            3,
            "--faults",
            2,
            "--out",
            tmp_path,
        ).returncode
        == 0
    )
    faults = json.loads((tmp_path / "faults.json").read_text(encoding="utf-8"))
    sources = [part for name in RATES for part in ("--source", tmp_path / f"{name}.jsonl.gz")]
    done = shiq(
        "stream", "discover", "--tbox", tmp_path / "tbox.ofn", "--static", tmp_path / "static.nt.gz", *sources, "--window", 30,
        "--rules", tmp_path / "planted.json", "--max-atoms", 1, "--max-variables", 2, "--json", tmp_path / "found.json", "--out",
        tmp_path / "rows.jsonl", "--export", tmp_path / "rules.ofn",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "SubClassOf(" in (tmp_path / "rules.ofn").read_text(encoding="utf-8")
    assert (
        shiq(
            "certify", tmp_path / "tbox.ofn", tmp_path / "static.nt.gz", tmp_path / "rules.ofn"
        ).returncode
        == 0
    )
    (window,) = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["windows"]
    assert window["inconsistent"] == faults and len(faults) == 2
    event, _, _ = window["tracked"]
    assert len(CAUSES) == 3 and event["support"] >= 0.5 * event["body_support"] > 0


def test_exact_is_scratch_on_a_city(tmp_path: Path) -> None:
    generate_city(DublinRecipe(9, 12, 4), tmp_path)
    sources = [tmp_path / f"{name}.jsonl.gz" for name in ("events", "buses")]
    found = []
    for method in ("exact", "scratch"):
        miner = RuleMiner(
            tmp_path / "tbox.ofn",
            static=tmp_path / "static.nt.gz",
            window=8,
            slide=4,
            method=method,
            max_atoms=2,
            max_variables=2,
        )
        found.append([told(report.to_dict()) for report in miner.run(sources)])
    assert found[0] == found[1] and len(found[0]) == 2 and found[0][0]["rules"]
