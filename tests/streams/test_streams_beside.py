"""What is done beside deciding: events on two sides, windows checked against a store, drawn events."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from shiq import model as owl
from shiq.answers.verdict import Verdict
from shiq.api import check_insertions, open_store
from shiq.model.abox import abox_of
from shiq.streams.consistency import check_stream, plan, spans
from shiq.streams.consistency import verdicts as module
from shiq.streams.consistency.check import run_consistency
from shiq.streams.consistency.operator import ConsistencySettings
from shiq.streams.front.intake import EventIntake, RejectLog, WatermarkTracker
from shiq.streams.front.run import open_run
from shiq.streams.front.sources import open_source
from tests.streams.test_streams_consistency import (
    AXIOMS,
    BOB,
    STREAM,
    T,
    event,
    isa,
    lines,
    ran,
    read,
)
from tests.streams_random import drawn, events, shuffled


def sides(
    watched: Any, source: str, folder: Path, static: Any, end: int, lateness: int, batch: int
) -> tuple[Any, list[Any]]:
    """The result of a run, and the accepted events and those set aside."""
    files = {name: str(folder / f"{name}.jsonl") for name in ("accepted", "quarantine")}
    with open_run([open_source(source)], files) as run:
        arrivals = EventIntake(WatermarkTracker(lateness), RejectLog())
        result = run_consistency(run, watched, arrivals, ConsistencySettings(0, end, batch), static)
    return result, [read(Path(file)) for file in files.values()]


def obvious(watched: Any, stream: list[Any], static: Any, end: int) -> list[Any]:
    """Each event in order of time is accepted if nothing contradicts that did not before."""
    accepted: list[Any] = []
    before = rows_of(watched, [], static, end)
    for one in sorted(stream, key=lambda item: item["t"]):
        now = rows_of(watched, [*accepted, one], static, end)
        if now <= before:
            accepted.append(one)
            before = now
    return accepted


def rows_of(watched: Any, stream: list[Any], static: Any, end: int) -> set[str]:
    """Who contradicts by what, and when; ``end`` is far enough for all to be over."""
    found = check_stream(watched, [event(0), *stream, event(end)], static, 0, end).spans
    return {
        f"{row['individual']} {row.get('other')} {row['conflict']} {c}"
        for row in found
        for c in range(row["from"], row["to"] + 1)
    }


def disagreements(folder: Path, seeds: int) -> tuple[list[int], int]:
    """The random streams whose sides are not the obvious ones; how many events are set aside in
    all.
    """
    wrong, set_aside = list[int](), 0
    for seed in range(seeds):
        draw, case = random.Random(seed), drawn(seed)
        static = abox_of(case.static) if case.static else None
        watched, lateness = plan(case.tbox, case.window), draw.choice((0, 3))
        if watched.leftovers or (
            static and check_stream(watched, [event(0)], static, 0, case.end).spans
        ):
            continue
        given = [
            dict(item, id=str(n))
            for n, item in enumerate(events(shuffled(case.stream, lateness, draw)))
        ]
        source = lines(folder / "e.jsonl", *given)
        _, (accepted, aside) = sides(
            watched, source, folder, static, case.end, lateness, draw.choice((1, 4, 100))
        )
        assert sorted(map(repr, [*accepted, *aside])) == sorted(map(repr, given))
        is_right = not rows_of(watched, accepted, static, case.end)
        wrong += (
            [] if is_right and accepted == obvious(watched, given, static, case.end) else [seed]
        )
        set_aside += len(aside)
    return wrong, set_aside


def test_random_streams_on_two_sides(tmp_path: Path) -> None:
    wrong, set_aside = disagreements(tmp_path, 30)
    assert wrong == []
    assert set_aside > 20


def test_sides_that_forget_too_early_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        module,
        "make_live_spans",
        lambda codes, times, window: spans.make_live_spans(codes, times, max(window - 1, 0)),
    )
    assert disagreements(tmp_path, 30)[0]


def test_whatever_is_not_used_is_set_aside_as_it_stood(tmp_path: Path) -> None:
    late, broken, half = event(0), '{"t": 2, "trip', event(6, "no triple", isa("ann", "Student"))
    second = event(4, isa("bob", "Publication"), id="b")
    stream = [
        STREAM[0],
        broken,
        second,
        second,
        STREAM[2],
        half,
        late,
        event(9, isa("x", "Student")),
        event(50),
    ]
    source = lines(tmp_path / "e.jsonl", *stream)
    found = [
        "--source",
        source,
        "--from",
        "0",
        "--to",
        "40",
        "-q",
        "--out",
        str(tmp_path / "rows.jsonl"),
    ]
    (tmp_path / "onto.ofn").write_text(_ontology())
    files = [str(tmp_path / "accepted.jsonl"), str(tmp_path / "quarantine.jsonl")]
    common = ["consistency", "--tbox", str(tmp_path / "onto.ofn"), "--window", "2", *found]
    assert ran(*common, "--accepted", files[0], "--quarantine", files[1]) == 1
    accepted, aside = (
        (tmp_path / f"{name}.jsonl").read_text().splitlines() for name in ("accepted", "quarantine")
    )
    texts = [item if isinstance(item, str) else json.dumps(item) for item in stream]
    assert sorted([*accepted, *aside]) == sorted(texts)
    assert [json.loads(text)["t"] for text in accepted] == [1, 4, 9]
    assert (
        ran(
            *["--source" if word == source else word for word in common[:5]],
            "--source",
            files[0],
            "-q",
            "--to",
            "40",
        )
        == 0
    )


def _ontology(*more: owl.Axiom) -> str:
    from shiq.functional.writer import ontology_text

    return ontology_text((*AXIOMS, *more), ())


# --- stores ---------------------------------------------------------------------------------------


def test_windows_are_checked_against_a_store(tmp_path: Path) -> None:
    """Who knows two is no student: outside DL-Lite, and found where the window is checked whole."""
    from shiq.jobs.checking.calls import index

    role = owl.ObjectProperty(T + "p")
    limit = owl.SubClassOf(owl.Class(T + "Student"), owl.ObjectMaxCardinality(1, role))
    (tmp_path / "onto.ofn").write_text(_ontology(limit))
    (tmp_path / "base.nt").write_text(
        f"<{T}bob> <{T}p> <{T}ann> .\n<{T}ann> <{owl.OWL}differentFrom> <{T}eve> .\n"
        + isa("tom", "Publication")
        + "\n"
    )
    index([str(tmp_path / "onto.ofn")], [str(tmp_path / "base.nt")], str(tmp_path / "kg"))
    stream = [
        event(1, isa("bob", "Student")),
        event(3, f"<{T}bob> <{T}p> <{T}eve> ."),
        event(5, isa("tom", "Student")),
        event(12, isa("zoe", "Student"), isa("zoe", "Publication")),
        event(30),
    ]
    out, runs = tmp_path / "rows.jsonl", tmp_path / "runs.jsonl"
    asked = [
        "--source",
        lines(tmp_path / "e.jsonl", *stream),
        "--from",
        "0",
        "--to",
        "20",
        "--window",
        "3",
        "-q",
    ]
    asked += [
        "--out",
        str(out),
        "--verdicts",
        str(runs),
        "--checkpoint",
        str(tmp_path / "state"),
        "--allow",
        "outside-dl-lite",
    ]
    assert ran("consistency", "--store", str(tmp_path / "kg"), "--every", "2", *asked) == 1
    rows = sorted(read(out), key=lambda row: (row["from"], row["individual"], "store" in row))
    assert [
        (row["individual"].removeprefix(T), row["from"], row["to"], "store" in row) for row in rows
    ] == [
        ("bob", 4, 4, True),
        ("tom", 6, 6, True),
        ("tom", 8, 8, True),
        ("zoe", 12, 15, False),
        ("zoe", 12, 12, True),
        ("zoe", 14, 14, True),
    ]
    assert rows[0]["conflict"] == sorted([isa("bob", "Student"), f"<{T}bob> <{T}p> <{T}eve> ."])
    assert len(rows[0]["store"]) == 2
    assert [(run["from"], run["to"]) for run in read(runs) if run["verdict"] == "inconsistent"] == [
        (4, 4),
        (6, 6),
        (8, 8),
        (12, 15),
    ]
    wanted = out.read_text()
    assert ran("consistency", "--store", str(tmp_path / "kg"), "--every", "2", *asked) == 1
    assert out.read_text() == wanted
    with open_store(str(tmp_path / "kg")) as session:
        verdict = session.check(
            abox_of([owl.ClassAssertion(owl.Class(T + "Student"), T + "tom")])
        ).verdict
    assert verdict is Verdict.INCONSISTENT
    assert check_insertions(BOB, [], []).verdict is Verdict.CONSISTENT


# --- rates ----------------------------------------------------------------------------------------


def test_drawn_events_are_the_same_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "onto.ofn").write_text(_ontology())
    common = (
        "consistency",
        "--tbox",
        str(tmp_path / "onto.ofn"),
        "--window",
        "5",
        "--source",
        "rate://5",
        "-q",
    )
    files = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    assert [ran(*common, "--out", file) for file in files] == [1, 1]
    assert read(Path(files[0])) == read(Path(files[1]))
    assert len(read(Path(files[0]))) > 10
    assert ran(*common[:-2], "rate://x") == 2
    assert "not a rate" in capsys.readouterr().err


def test_drawn_events_go_on() -> None:
    from shiq.streams.consistency.events import open_rate_source

    whole = [record.data for record in open_rate_source("rate://3", BOB.signature).read(False)]
    for stop in (1, 3, 4):
        first, second = (open_rate_source("rate://3", BOB.signature) for _ in range(2))
        begun = first.read(False)
        read_first = [next(begun).data for _ in range(stop)]
        second.position = first.position
        assert read_first + [record.data for record in second.read(False)] == whole
