"""Progress: what is done only grows, silence is broken, and files have the names that the user
gave them.
"""

from __future__ import annotations

import io
import re
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from shiq.api import index, open_store
from shiq.jobs.cli import main
from shiq.jobs.gate import gate
from shiq.jobs.progress import ProgressLine


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


def test_a_terminal_shows_the_time_and_the_share_of_what_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream, now = Terminal(), 1_000.0
    monkeypatch.setattr("shiq.jobs.progress.time", SimpleNamespace(monotonic=lambda: now))
    progress = ProgressLine(1, stream, silent=600)
    now += 75
    progress("deciding shapes", 13, 52)
    assert stream.getvalue().endswith("█" * 5 + "░" * 15 + " 13/52 (25 %) deciding shapes 75 s")
    progress("certifying", 0, 0)
    assert stream.getvalue().endswith("certifying 75 s")
    progress.close()


def test_plain_lines_have_the_share_of_what_is_known() -> None:
    stream = io.StringIO()
    progress = ProgressLine(2, stream, silent=60)
    progress("asking HermiT", 3, 8)
    progress("certifying", 0, 0)
    progress("asking HermiT", 4, 8)
    progress.close()
    # A stage is shown at once when it is met, not each time that stages take turns.
    assert re.sub(r" *[\d.]+ s  ", "", stream.getvalue()).splitlines() == [
        "asking HermiT 3/8 (37 %)",
        "certifying",
    ]


def test_a_terminal_is_left_alone_until_there_is_something_new() -> None:
    stream = Terminal()
    progress = ProgressLine(1, stream, silent=0.02)
    progress("deciding shapes", 1, 2)
    progress.clear()
    shown = stream.getvalue()
    time.sleep(0.2)
    assert stream.getvalue() == shown
    progress("explaining conflicts", 1, 2)
    assert "explaining conflicts" in stream.getvalue()
    progress.close()


TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
#: A contradiction that needs a reasoner, and a number restriction, so that neighbours are counted.
AXIOMS = """SubClassOf(:C ObjectSomeValuesFrom(:r :A)) SubClassOf(:D ObjectSomeValuesFrom(:r :B)) DisjointClasses(:A :B)
    FunctionalObjectProperty(:r) FunctionalDataProperty(:d)"""


def test_each_stage_is_shown_as_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of the work, also what is deep inside of it."""
    (tmp_path / "t.ofn").write_text(f"Prefix(:=<urn:t#>) Ontology(<urn:t> {AXIOMS})")
    (tmp_path / "a.nt").write_text(
        f'<urn:t#x> {TYPE} <urn:t#C> .\n<urn:t#x> <urn:t#d> "1" .\n<urn:t#x> <urn:t#r> <urn:t#y> .\n'
    )
    (tmp_path / "i.nt").write_text(f"<urn:t#x> {TYPE} <urn:t#D> .\n")

    def stages(*arguments: object) -> list[str]:
        with pytest.raises(SystemExit):
            main([*map(str, arguments), "-v", "--reasoner", "own"])
        lines = capsys.readouterr().err.splitlines()
        return list(
            dict.fromkeys(
                found[1]
                for line in lines
                if (found := re.match(r" *[\d.]+ s  (.*?)(?: [\d,]+(?:/.*)?)?$", line))
            )
        )

    indexed = stages("index", "-t", tmp_path / "t.ofn", "-s", tmp_path / "kg", tmp_path / "a.nt")
    wanted = [
        "indexing",
        "indexing: inferring classes of individuals",
        "indexing: counting neighbours",
        "certifying",
    ]
    wanted += [
        "certifying: completing the model",
        "checking data values",
        "deciding shapes",
        "writing tables",
    ]
    assert [stage for stage in indexed if stage in wanted] == wanted
    checked = stages("check", "-s", tmp_path / "kg", "-i", tmp_path / "i.nt")
    wanted = [
        "reading the batch",
        "working out what has to be looked at",
        "deciding modules",
        "explaining",
        "explaining conflicts",
    ]
    assert [stage for stage in checked if stage in wanted] == wanted
    assert checked[-1] == "explaining conflicts"


@pytest.mark.jvm
def test_asking_hermit_is_a_stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.ofn").write_text(f"Prefix(:=<urn:t#>) Ontology(<urn:t> {AXIOMS})")
    (tmp_path / "a.nt").write_text(f"<urn:t#x> {TYPE} <urn:t#C> .\n")
    with pytest.raises(SystemExit):
        main(
            [
                "certify",
                str(tmp_path / "t.ofn"),
                str(tmp_path / "a.nt"),
                "-v",
                "--reasoner",
                "hermit",
            ]
        )
    assert "asking HermiT" in capsys.readouterr().err


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
    (tmp_path / "night.nt").write_text(
        f"<urn:t#tom> {kind} <urn:t#Dog> .\n<urn:t#rex> {kind} <urn:t#Dog> .\n"
    )
    index(str(tmp_path / "t.ofn"), str(tmp_path / "a.nt"), tmp_path / "kg", reasoner="own")
    told: list[str] = []
    with open_store(tmp_path / "kg") as session:
        batch = [str(tmp_path / "night.nt")]
        found = gate(
            session,
            batch,
            mode="split",
            reasoner="own",
            progress=lambda stage, done, total: told.append(stage),
        )
    assert found.rounds > 1
    assert not [stage for stage in told if "shiq-gate-" in stage]
    assert {stage for stage in told if "night.nt" in stage} == {f"reading {tmp_path / 'night.nt'}"}
