"""Progress: what is done only grows, silence is broken, and files have the names that the user gave them."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import pytest

from jobs.gate import gate
from jobs.progress import ProgressLine
from shiq.check import index, open_store


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_done_only_grows() -> None:
    stream = io.StringIO()
    progress = ProgressLine(1, stream)
    for done, total in ((2, 4), (4, 4), (1, 3), (3, 3), (1, 5)):
        progress._shown = progress._started = -1e9
        progress("deciding shapes", done, total)
    progress.close()
    shown = re.findall(r"deciding shapes ([\d,]+)/([\d,]+)", stream.getvalue())
    assert shown == [("2", "4"), ("4", "4"), ("5", "7"), ("7", "7"), ("8", "12")]


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_silence_is_broken_until_the_end(stream: io.StringIO) -> None:
    progress = ProgressLine(1, stream, silent=0.05)
    progress("adding up", 3, 9)
    before = len(stream.getvalue())
    while len(stream.getvalue()) == before:
        time.sleep(0.01)
    assert "adding up" in stream.getvalue()[before:]
    progress.close()
    after = stream.getvalue()
    time.sleep(0.2)
    assert stream.getvalue() == after


def test_nobody_is_told_who_does_not_want_to_be() -> None:
    stream = io.StringIO()
    progress = ProgressLine(0, stream, silent=0.01)
    progress("reading", 1, 2)
    time.sleep(0.05)
    progress.close()
    assert stream.getvalue() == ""


def test_a_gate_reads_files_by_the_names_that_were_given(tmp_path: Path) -> None:
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    (tmp_path / "t.ofn").write_text("Ontology(<urn:t> DisjointClasses(<urn:t#Cat> <urn:t#Dog>))")
    (tmp_path / "a.nt").write_text(f"<urn:t#tom> {kind} <urn:t#Cat> .\n")
    (tmp_path / "night.nt").write_text(f"<urn:t#tom> {kind} <urn:t#Dog> .\n<urn:t#rex> {kind} <urn:t#Dog> .\n")
    index(str(tmp_path / "t.ofn"), str(tmp_path / "a.nt"), tmp_path / "kg", reasoner="own")
    told: list[str] = []
    with open_store(tmp_path / "kg") as session:
        batch = [str(tmp_path / "night.nt")]
        found = gate(session, batch, mode="split", reasoner="own", progress=lambda stage, done, total: told.append(stage))
    assert found.rounds > 1
    assert not [stage for stage in told if "shiq-gate-" in stage]
    assert {stage for stage in told if "night.nt" in stage} == {f"reading {tmp_path / 'night.nt'}"}
