"""Checkpoints of older versions are gone on from, to the rows that these would have written."""

from __future__ import annotations

import json
import random
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shiq.streams.enrichment import open_enricher
from shiq.streams.enrichment.stream import EnrichmentCollector
from shiq.streams.front.checkpoint import Checkpoint
from shiq.streams.front.event import Record
from shiq.streams.front.intake import RejectLog
from tests.conftest import ROOT
from tests.streams.test_rules_command import shiq
from tests.streams.test_stream_runners import in_tasks, locally

ARCHIVE = ROOT / "data" / "checkpoints" / "systems-apart.tar.xz"
COMMANDS = {
    "consistency": "-t onto.ofn -s e.jsonl -w 3 --lateness 2",
    "rules": "r.lp -s log --lateness 2",
    "discover": "-t onto.ofn -s e.jsonl -w 4 --slide 2 --max-atoms 2 --lateness 2",
    "enrich": "-t onto.ofn -s e.jsonl --reasoner own",
}


def _rows(file: Path) -> list[Any]:
    """The rows of a file, without seconds; events that are none stay as they stood."""
    return [_row(line) for line in file.read_text().splitlines()]


def _row(line: str) -> Any:
    try:
        found = json.loads(line)
    except ValueError:
        return line
    return {name: value for name, value in found.items() if name != "seconds"}


@pytest.mark.parametrize("system", COMMANDS)
def test_a_checkpoint_of_a_system_that_ran_itself(system: str, tmp_path: Path) -> None:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    for first, second in (("e.jsonl", "rest.jsonl"), ("log", "log_rest")):
        with (tmp_path / first).open("ab") as file:
            file.write((tmp_path / second).read_bytes())
    outputs = sorted(file.name for file in (tmp_path / system / "want").iterdir())
    before = {name: _rows(tmp_path / system / name) for name in outputs}
    options = {"out" if name == "rows" else name: f"{system}/{name}" for name in outputs}
    told = [text for name, file in options.items() for text in (f"--{name}", file)]
    command = ["stream", system, *COMMANDS[system].split(), *told]
    done = shiq(*command, "--checkpoint", f"{system}/state", "-q", cwd=tmp_path)
    assert done.returncode in (1, 3), done.stderr
    for name in outputs:
        rows = _rows(tmp_path / system / name)
        assert rows == _rows(tmp_path / system / "want" / name), name
        assert len(rows) > len(before[name])


def test_a_checkpoint_of_enrichment_on_spark_without_an_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines go on where they were counted then, and hits are those of a run that was not stopped."""
    query = pytest.importorskip("shiq.jobs.streaming.stateful_run")
    with tarfile.open(ARCHIVE.with_name("enrich-on-spark.tar.xz")) as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    lines = [
        *Path("e.jsonl").read_bytes().splitlines(),
        *Path("rest.jsonl").read_bytes().splitlines(),
    ]
    records = [Record("e.jsonl", number, line) for number, line in enumerate(lines, 1)]

    def opened(rows: list[str], rejects: list[str]) -> EnrichmentCollector:
        enricher = open_enricher("onto.ofn", reasoner="own", capacity=3)
        return EnrichmentCollector(enricher, rows.extend, RejectLog(rejects.extend))

    whole = locally(SimpleNamespace(collector=opened), records, random.Random(0))
    told, rejected = list[str](), list[str]()
    stream, checkpoint = opened(told, rejected), Checkpoint(Path("enrich-spark/state"), {})
    monkeypatch.setattr(checkpoint, "_require_same_settings", lambda settings: None)
    saved, run = checkpoint.load(), SimpleNamespace(checkpoint=checkpoint)
    again = query.StatefulRun(None, stream, stream.operator(in_tasks=True), run, ["e.jsonl"])
    again._restore(saved)
    assert again.orderer.line_counts == {"e.jsonl": 40} and again.positions == {"0 e.jsonl": 4101}
    again.bucket_states.check_complete(again.batch)  # of buckets there are no states

    def going_on(rows: list[str], rejects: list[str]) -> EnrichmentCollector:
        stream.write, stream.rejects.write = rows.extend, rejects.extend
        return stream

    kept: Any = SimpleNamespace(collector=going_on)
    found = in_tasks(kept, records[40:], random.Random(0), tmp_path / "buckets", losing=0)
    before = [Path(f"enrich-spark/{name}").read_text().splitlines() for name in ("rows", "rejects")]
    rejects = [row.replace('"source": "s"', '"source": "e.jsonl"') for row in found[1]]
    assert sorted(before[0] + found[0]) == whole[0] and sorted(before[1] + rejects) == whole[1]
