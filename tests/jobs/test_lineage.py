"""Runs as OpenLineage events: what the public schema asks for, and what was read, written and
found.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import shiq
from shiq.answers.result import Evidence
from shiq.jobs.reports.lineage import RunEvents
from tests.command_line import shiq as command

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
#: Names a copy of the schema, spec/OpenLineage.json of the project OpenLineage.
SCHEMA = "SHIQ_OPENLINEAGE_SCHEMA"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.ofn").write_text("Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>))")
    (tmp_path / "a.nt").write_text(f"<urn:a> {TYPE} <urn:A> .\n")
    (tmp_path / "good.nt").write_text(f"<urn:b> {TYPE} <urn:B> .\n")
    (tmp_path / "bad.nt").write_text(f"<urn:a> {TYPE} <urn:B> .\n")
    return tmp_path


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]


def called(folder: Path, *arguments: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """The exit code of a command, and the two events of its run."""
    before = len(events(folder)) if (folder / "runs.jsonl").exists() else 0
    code = command(*arguments, "--lineage", "runs.jsonl", "-q", cwd=folder).returncode
    first, last = events(folder)[before:]
    assert (
        first["eventType"] == "START"
        and first["run"]["runId"] == last["run"]["runId"]
        and first["job"] == last["job"]
    )
    return code, first, last


def test_events_tell_what_was_read_written_and_found(folder: Path) -> None:
    code, first, last = called(folder, "index", "-t", "t.ofn", "-s", "kg", "a.nt")
    assert (
        code == 0
        and last["eventType"] == "COMPLETE"
        and last["job"] == {"namespace": "shiq", "name": f"index {folder / 'kg'}"}
    )
    assert [x["name"] for x in first["inputs"]] == [str(folder / "a.nt"), str(folder / "t.ofn")]
    assert [x["name"] for x in last["outputs"]] == [str(folder / "kg")]
    for name, commit, exit_code in (
        ("bad", "--commit", 1),
        ("good", "--commit", 0),
        ("good", "-q", 0),
    ):
        code, first, last = called(folder, "check", "-s", "kg", "-i", f"{name}.nt", commit)
        batch, store = last["inputs"]
        found, *causes = batch["inputFacets"]["dataQualityAssertions"]["assertions"]
        assert (
            code == exit_code
            and (found["assertion"], found["success"]) == ("consistent", code == 0)
            and (found["expected"], found["actual"] == "consistent") == ("consistent", code == 0)
            and "inputFacets" not in store
        )
        assert last["run"]["facets"]["shiq_verdict"]["verdict"] == (
            "consistent" if code == 0 else "inconsistent"
        )
        assert [(x["success"], x["severity"], x["actual"]) for x in causes] == (
            [] if code == 0 else [(False, "error", "1")]
        )
        versions = [x["facets"]["version"]["datasetVersion"] for x in last["outputs"]]
        assert (
            versions == (["2"] if (name, commit) == ("good", "--commit") else [])
            and not first["outputs"]
        )
    code, _, last = called(folder, "check", "-s", "kg", "-i", "missing.nt")
    assert code == 4 and last["eventType"] == "FAIL" and not last["outputs"]
    assert "missing.nt does not exist" in last["run"]["facets"]["errorMessage"]["message"]
    code, _, last = called(folder, "index", "-t", "t.ofn", "-s", "other", "missing.nt")
    assert code == 4 and last["eventType"] == "FAIL" and not last["outputs"]
    for event in events(folder):
        conforms(event)


def test_a_file_that_cannot_be_written_ends_the_run_before_it_begins(folder: Path) -> None:
    run = command(
        "index", "-t", "t.ofn", "-s", "kg", "a.nt", "--lineage", "no/where.jsonl", cwd=folder
    )
    assert run.returncode == 2 and "where.jsonl" in run.stderr and not (folder / "kg").exists()


def test_a_run_that_fails_over_its_changes_is_told(folder: Path) -> None:
    assert command("index", "-t", "t.ofn", "-s", "kg", "a.nt", "-q", cwd=folder).returncode == 0
    code, first, last = called(
        folder, "check", "-s", "kg", "--changes", "a.nt", "--from-version", "1"
    )
    assert (
        code == 4
        and last["eventType"] == "FAIL"
        and first["inputs"][0]["name"] == str(folder / "a.nt")
    )
    assert "is not a Delta table" in last["run"]["facets"]["errorMessage"]["message"]
    for event in events(folder):
        conforms(event)


def test_a_file_that_cannot_be_written_at_the_end_does_not_change_what_was_found(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(error: Exception | None) -> str:
        file = folder / "runs.jsonl"
        with RunEvents(file, "check", {"store": "kg"}) as run:
            run.record_result(shiq.Result(shiq.Verdict.CONSISTENT))
            file.unlink()
            file.mkdir()
            if error is not None:
                raise error
        return capsys.readouterr().err

    assert "runs.jsonl: cannot be written" in told(None)
    (folder / "runs.jsonl").rmdir()
    with pytest.raises(shiq.InputError, match="what went wrong"):
        told(shiq.InputError("what went wrong", ""))


def test_an_interrupted_run_is_aborted(folder: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        RunEvents(folder / "runs.jsonl", "check", {"store": "kg"}),
    ):
        raise KeyboardInterrupt
    assert [event["eventType"] for event in events(folder)] == ["START", "ABORT"]


def test_tables_and_buckets_go_by_their_names_and_versions(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "night")
    inputs = {"store": "s3://lake/kg", "insertions": ("table:lake.db.t", "/lake/x"), "abox": ()}
    result = shiq.Result(
        shiq.Verdict.UNDETERMINED,
        evidence=Evidence(notes=("table:lake.db.t: Iceberg snapshot 77", "another")),
    )
    with RunEvents(folder / "runs.jsonl", "check", inputs) as told:
        told.record_result(replace(result, snapshot=3))
    feed = {
        "changes": "table:lake.db.t",
        "from_version": "4",
        "to_version": "9",
        "tbox": ("t.ofn",),
    }
    with RunEvents(folder / "runs.jsonl", "check", feed) as told:
        told.record_result(result)
    _, last, _, of_feed = events(folder)
    named = [
        (x["namespace"], x["name"], x.get("facets", {}).get("version", {}).get("datasetVersion"))
        for x in last["inputs"]
    ]
    assert named == [
        ("spark", "lake.db.t", "77"),
        ("file", "/lake/x", None),
        ("s3://lake", "kg", "3"),
    ]
    assert last["job"] == {"namespace": "night", "name": "check kg"}
    assert not last["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"][0]["success"]
    assert [
        x.get("facets", {}).get("version", {}).get("datasetVersion") for x in of_feed["inputs"]
    ] == ["9", None]
    for event in events(folder):
        conforms(event)


def test_the_public_schema_takes_the_events(folder: Path) -> None:
    if SCHEMA not in os.environ:
        pytest.skip(f"{SCHEMA} names no copy of OpenLineage's schema")
    validator_of = pytest.importorskip("jsonschema").Draft202012Validator

    called(folder, "index", "-t", "t.ofn", "-s", "kg", "a.nt")
    called(folder, "check", "-s", "kg", "-i", "good.nt", "--commit")
    called(folder, "check", "-s", "kg", "-i", "missing.nt")
    validator = validator_of(json.loads(Path(os.environ[SCHEMA]).read_text()))
    for event in events(folder):
        validator.validate(event)


def conforms(event: dict[str, Any]) -> None:
    """What OpenLineage's schema asks of a RunEvent."""
    assert event["eventType"] in ("START", "COMPLETE", "ABORT", "FAIL")
    assert datetime.fromisoformat(event["eventTime"].replace("Z", "+00:00")).tzinfo
    assert (
        uuid.UUID(event["run"]["runId"])
        and urlsplit(event["producer"]).scheme
        and urlsplit(event["schemaURL"]).scheme
    )
    for thing in (event["job"], *event["inputs"], *event["outputs"]):
        assert (
            isinstance(thing["namespace"], str) and isinstance(thing["name"], str) and thing["name"]
        )
    for facets in facets_of(event):
        for facet in facets.values():
            assert urlsplit(facet["_producer"]).scheme and urlsplit(facet["_schemaURL"]).scheme


def facets_of(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key in ("facets", "inputFacets", "outputFacets"):
                yield part
            yield from facets_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from facets_of(part)
