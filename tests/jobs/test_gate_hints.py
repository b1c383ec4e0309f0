"""Hints of a gate: looked for last, one by one beside what is accepted, without HermiT, and
within their time.
"""

from __future__ import annotations

import gzip
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_gate import BASE, PREFIX, a, kg, run, t
from test_gate_split import GOOD, split, store, units

from shiq.api import open_store
from shiq.jobs.checking import deciders
from shiq.jobs.checking.session import Session
from shiq.jobs.cli import main
from shiq.jobs.evaluation.lubm.generate import generate_lubm_data
from shiq.jobs.gate import gate as gate_of
from shiq.jobs.gate import hints
from shiq.jobs.spellings import SpellingSuggestions
from tests.killing import killed_at_last

__all__ = ["kg", "store", "units"]

INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
#: Each with the line to write instead.
MEANT = {
    t("ann", "likes", f'"{PREFIX}tom"'): t("ann", "likes", "tom"),
    t("ann", "lieks", "tom"): t("ann", "likes", "tom"),
    a("joe", "Catt"): a("joe", "Cat"),
}


def told(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The hints that name a line to write, by the line that was set aside."""
    return {x["text"]: x["hint"][6:-8] for x in rows if x.get("hint", "").startswith("write ")}


def ended(*arguments: object) -> int:
    """The exit code of the command line."""
    with pytest.raises(SystemExit) as stop:
        main([str(x) for x in arguments])
    return int(stop.value.code or 0)


def asked(kg: Path, lines: list[str], *more: object) -> list[object]:
    (kg.parent / "batch.nt").write_text("".join(f"{line}\n" for line in lines))
    sides = [
        "--accepted",
        kg.parent / "good.nt",
        "--quarantine",
        kg.parent / "bad.nt",
        "--json",
        kg.parent / "v.json",
    ]
    return [
        "gate",
        "-s",
        kg,
        "-i",
        kg.parent / "batch.nt",
        "--mode",
        "split",
        *sides,
        "--report",
        kg.parent / "v.md",
        "-q",
        *more,
    ]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Functions to be called as soon as another spelling is looked for, each once."""
    todo: list[Any] = []
    spellings = SpellingSuggestions.spellings

    def watching(self: SpellingSuggestions, *arguments: Any) -> Any:
        while todo:
            todo.pop(0)()
        return spellings(self, *arguments)

    monkeypatch.setattr(SpellingSuggestions, "spellings", watching)
    yield todo
    assert not todo


def test_all_is_written_and_committed_before_any_hint_is_looked_for(
    kg: Path, watched: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, before = kg.parent, {}

    def look() -> None:
        assert set(run("export", "-s", kg).output.splitlines()) == {*BASE, *GOOD}
        assert (folder / "good.nt").read_text().splitlines() == GOOD
        assert (folder / "bad.nt").read_text().splitlines() == list(MEANT)
        before.update(
            {
                name: json.loads((folder / name).read_text())
                for name in ("bad.nt.why.json", "v.json")
            }
        )
        before["v.md"] = (folder / "v.md").read_text()
        assert "SPLIT\n" in capsys.readouterr().out

    watched.append(look)
    assert ended(*asked(kg, [*MEANT, *GOOD], "--commit")) == 5
    for name in ("bad.nt.why.json", "v.json"):
        after = json.loads((folder / name).read_text())
        early = before[name]
        assert (early["complete"], early["unexamined_lines"], told(early["set_aside"])) == (
            False,
            len(MEANT),
            {},
        )
        assert (after["complete"], after["unexamined_lines"], told(after["set_aside"])) == (
            True,
            0,
            MEANT,
        )
        same = {"complete", "unexamined_lines", "set_aside", "result", "about"}
        assert {k: v for k, v in early.items() if k not in same} == {
            k: v for k, v in after.items() if k not in same
        }
    after = (folder / "v.md").read_text()
    assert f"{PREFIX}Cat" in after and after != before["v.md"]
    printed = capsys.readouterr().out
    assert (
        not printed.startswith("SPLIT")
        and printed.count("write <") == len(MEANT)
        and "committed: the store" in printed
    )


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_ends_looking_and_nothing_else(kg: Path, stop: signal.Signals) -> None:
    """In a process of its own, which says that it is looking, and waits to be stopped."""
    child = (
        "import sys, time\n"
        "from shiq.jobs.spellings import SpellingSuggestions\n"
        "def wait(*_):\n    print('looking', file=sys.stderr, flush=True)\n    time.sleep(600)\n"
        "SpellingSuggestions.spellings = wait\n"
        "from shiq.jobs.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", child, *map(str, asked(kg, [*MEANT, *GOOD], "--commit"))]
    started = subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with killed_at_last(started) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"looking\n"
        time.sleep(0.1)
        process.send_signal(stop)
        printed, complaint = process.communicate(timeout=300)
    assert (process.returncode, complaint) == (5, b""), complaint
    assert b"3 lines were left without a suggestion" in printed
    after = json.loads((kg.parent / "v.json").read_text())
    assert (after["outcome"], after["complete"], after["unexamined_lines"]) == ("split", True, 3)


def test_without_time_nothing_is_looked_at_and_that_is_told(
    kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SpellingSuggestions, "spellings", None)
    tried = run(*asked(kg, [*MEANT, *GOOD], "--explain-seconds", "0"))
    assert tried.return_value == 5 and "3 lines were left without a suggestion" in tried.output
    assert json.loads((kg.parent / "v.json").read_text())["unexamined_lines"] == 3


def test_what_was_found_in_time_stays(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line is looked at at a time; the time is over at one look at the clock after another."""
    monkeypatch.setattr("shiq.jobs.gate.hints.LINES_AT_ONCE", 1)
    looks = 0

    def is_past(deadline: float | None) -> bool:
        nonlocal looks
        assert deadline is not None
        looks -= 1
        return looks < 0

    monkeypatch.setattr(hints, "is_past", is_past)
    counts = []
    for most in range(20):
        looks = most
        gated = split(store, tmp_path, [*MEANT, *GOOD])
        found = sum(x.hint.startswith("write ") for x in gated.set_aside)
        counts.append((found, gated.unexamined_lines))
        assert found + gated.unexamined_lines in (len(MEANT), len(MEANT) - 1) and gated.is_final
    assert (
        counts == sorted(counts, key=lambda x: (x[0], -x[1]))
        and counts[0] == (0, 3)
        and counts[-1] == (3, 0)
    )
    assert len(set(counts)) >= 4


def test_hermit_is_not_asked(kg: Path, watched: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A second value of a functional property is no other spelling away from being right: its
    range is every literal. What the own reasoner leaves open is no hint.
    """
    created = []

    def create(name: str, **settings: Any) -> Any:
        created.append(name)
        return make(name, **settings)

    make = deciders.create_reasoner
    monkeypatch.setattr(deciders, "create_reasoner", create)
    watched.append(created.clear)
    assert ended(*asked(kg, [t("tom", "age", f'"4"^^{INTEGER}'), *MEANT, *GOOD])) == 5
    assert created == ["own"]
    assert told(json.loads((kg.parent / "v.json").read_text())["set_aside"]) == MEANT


@pytest.mark.parametrize("commit", [False, True])
def test_a_blank_node_of_a_hint_is_the_one_that_is_accepted(kg: Path, commit: bool) -> None:
    lines = [
        a("_:cat", "Cat"),
        a("_:dog", "Dog"),
        t("ann", "lieks", "_:cat"),
        t("ann", "lieks", "_:dog"),
    ]
    run(*asked(kg, lines, *["--commit"] * commit))
    found = json.loads((kg.parent / "v.json").read_text())
    assert told(found["set_aside"]) == {lines[2]: t("ann", "likes", "_:cat")}


SIZES = f"""Prefix(:=<{PREFIX}>)
Ontology(
Declaration(DataProperty(:size)) FunctionalDataProperty(:size)
DataPropertyRange(:size DataUnionOf(DataOneOf("small" "large") <http://www.w3.org/2001/XMLSchema#string>))
)
"""


def test_a_hint_holds_beside_what_else_went_for_the_same_conflict(tmp_path: Path) -> None:
    """Two sizes are one too many. A near one is a hint where it is the other one, which was set
    aside as well.
    """
    (tmp_path / "t.ofn").write_text(SIZES)
    (tmp_path / "a.nt").write_text(t("ann", "size", '"large"') + "\n")
    run(
        "index",
        "--tbox",
        tmp_path / "t.ofn",
        "--store",
        tmp_path / "kg",
        tmp_path / "a.nt",
        "--reasoner",
        "own",
        "-q",
    )
    lines = [
        t(x, "size", f'"{size}"')
        for x, size in (("x", "small"), ("x", "SMALL"), ("y", "large"), ("y", "SMALL"))
    ]
    gated = split(tmp_path / "kg", tmp_path, [*lines, t("z", "size", '"large"')])
    assert {x.line.text: x.hint for x in gated.set_aside} == {
        lines[0]: "",
        lines[1]: f"write {lines[0]} instead",
        lines[2]: "",
        lines[3]: "",
    }


def test_a_refused_batch_has_hints_where_the_rest_is_consistent(kg: Path) -> None:
    assert ended(*asked(kg, list(MEANT))) == 1
    assert told(json.loads((kg.parent / "v.json").read_text())["set_aside"]) == MEANT
    assert ended(*asked(kg, [*MEANT, *GOOD], "--max-quarantine", "2")) == 1
    assert told(json.loads((kg.parent / "v.json").read_text())["set_aside"]) == MEANT


PIECES = [
    t("ann", "weighs", '"0.4"'),
    t("tom", "weighs", '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
    t("ann", "way", '"LEFT_TO_RIGHT"'),
    t("ann", "way", '"sideways"'),
    t("bob", "likes", f'"<{PREFIX}tom>"'),
    t("ann", "likes", f'"{PREFIX}rex"'),
    t("ann", "lieks", "tom"),
    t("joe", "lieks", "rex"),
    t("joe", "lieks", "new"),
    t("joe", "likes", f'"{PREFIX}new"'),
    a("new", "Dogg"),
    a("new", "Catt"),
    a("joe", "Dog"),
    a("joe", "Cat"),
    t("ann", "likes", "joe"),
    a("new", "Dog"),
]


@pytest.mark.parametrize("seed", range(8))
def test_hints_are_those_of_whole_checks(
    units: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On top of what is accepted, committed or not, as by a check of all that is accepted with
    the line instead, one by one.
    """
    rng = random.Random(seed)
    lines = [*rng.sample(PIECES, rng.randint(5, 10)), *GOOD]
    (tmp_path / "batch.nt").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "gone.nt").write_text(a("rex", "Dog") + "\n")
    deletions = [str(tmp_path / "gone.nt")] * (seed % 2)
    found = []
    for how in ("above", "whole", "committed"):
        with monkeypatch.context() as patch:
            if how == "whole":
                patch.setattr(Session, "checker_above", lambda *_, **__: None)
                patch.setattr("shiq.jobs.gate.hints.LINES_AT_ONCE", 1)
            place = units
            if how == "committed":
                place = tmp_path / "kg"
                run(
                    "index",
                    "--tbox",
                    units.parent / "t.ofn",
                    "--store",
                    place,
                    units.parent / "a.nt",
                    "--reasoner",
                    "own",
                    "-q",
                )
            with open_store(place) as session:
                files = [str(tmp_path / "batch.nt")]
                gated = gate_of(
                    session,
                    files,
                    deletions,
                    mode="split",
                    reasoner="own",
                    commit=how == "committed",
                )
        assert gated.unexamined_lines == 0
        found.append({(x.line.number, x.line.text): x.hint for x in gated.set_aside})
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
def test_a_batch_of_lubm_with_many_faults(
    tmp_path: Path, watched: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With HermiT at hand: of 60 faults one line has another spelling, which takes one check and
    no question to a reasoner.
    """
    generate_lubm_data(1, 19, tmp_path, disjointness=True, faults=60)
    (tmp_path / "base.nt").write_bytes(gzip.decompress((tmp_path / "abox.nt.gz").read_bytes()))
    kg = tmp_path / "kg"
    run("index", "--tbox", tmp_path / "tbox.owl", "--store", kg, tmp_path / "base.nt", "-q")
    checks: list[int] = []
    make = hints._correction_trials

    def counted(*given: Any) -> Any:
        hold = make(*given)

        def are_consistent(pairs: Any) -> bool:
            checks.append(len(pairs))
            return hold(pairs)

        return are_consistent

    monkeypatch.setattr(hints, "_correction_trials", counted)
    watched.append(
        lambda: monkeypatch.setattr("shiq.abox_ops.modules.decide.Decider._decide_shapes", None)
    )
    assert ended(*asked(kg, (tmp_path / "insert.nt").read_text().splitlines(), "--commit")) == 5
    assert set((tmp_path / "bad.nt").read_text().splitlines()) == set(
        (tmp_path / "culprits.nt").read_text().splitlines()
    )
    found = json.loads((tmp_path / "v.json").read_text())
    assert (checks, len(told(found["set_aside"])), found["unexamined_lines"]) == ([1], 1, 0)
