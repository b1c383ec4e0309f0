"""Stream consistency stopped and started again: the same rows, none twice and none lost; what is
open is told once.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shiq.errors import OperationalError
from shiq.streams.consistency import StreamPlan, plan
from shiq.streams.consistency.operator import ConsistencyCollector, ConsistencySettings
from shiq.streams.front.intake import EventIntake, RejectLog, WatermarkTracker
from shiq.streams.front.local import LocalRunner
from shiq.streams.front.run import open_run
from shiq.streams.front.sources import open_source
from tests.killing import killed_at_last
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
from tests.streams_random import drawn, events, every_plan, shuffled

LATENESS = 2


class Killed(BaseException):
    """The process ends here."""


def watched(
    found: StreamPlan,
    folder: Path,
    start: int,
    end: int | None,
    batch: int,
    dies_after: int | None = None,
) -> None:
    """One run over events.jsonl with a checkpoint."""
    targets = {name: str(folder / f"{name}.jsonl") for name in ("out", "rejects", "verdicts")}
    with open_run(
        [open_source(str(folder / "events.jsonl"))], targets, folder / "checkpoint", found.settings
    ) as run:
        arrivals = EventIntake(
            WatermarkTracker(LATENESS), RejectLog(run.outputs.make_text_writer("rejects"))
        )
        watch = ConsistencyCollector(
            found, arrivals, ConsistencySettings(start, end, batch), run.outputs.make_writer("out")
        )
        watch.load_static(None)
        runner = LocalRunner(watch)
        if dies_after is not None:
            take, left = runner.process, iter(range(dies_after))

            def taken(record: Any) -> bool:
                if next(left, None) is None:
                    raise Killed
                return take(record)

            runner.process = taken  # type: ignore[method-assign]
        run.outputs.write_rows("verdicts", run.feed_system(runner).verdicts)


def undisturbed(found: StreamPlan, folder: Path, end: int | None, batch: int) -> list[list[str]]:
    """What a run writes that nothing stops; its checkpoint is gone after it."""
    shutil.rmtree(folder / "checkpoint", ignore_errors=True)
    watched(found, folder, 0, end, batch)
    shutil.rmtree(folder / "checkpoint")
    return written(folder)


def written(folder: Path) -> list[list[str]]:
    return [
        sorted((folder / f"{name}.jsonl").read_text().splitlines())
        for name in ("out", "rejects", "verdicts")
    ]


def disagreement(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a run says otherwise that dies again and again; "" for nothing."""
    draw, case = random.Random(seed), drawn(seed)
    found = draw.choice(every_plan(case))
    stream = events(shuffled(case.stream, LATENESS, draw))
    stream += [event(case.end + 20, "no triple", id="a")] * 2 + [event(0, id="b")]
    lines(folder / "events.jsonl", *stream)
    batch, end = draw.choice((1, 3, 100)), draw.choice((None, case.end))
    monkeypatch.setattr(
        "shiq.streams.front.checkpoint.POINTS_PER_CHECKPOINT", draw.choice((1, 2, 5))
    )
    want = undisturbed(found, folder, end, batch)
    for _ in range(3):
        with suppress(Killed):
            watched(found, folder, 0, end, batch, draw.randrange(len(stream)))
    watched(found, folder, 0, end, batch)
    return (
        ""
        if written(folder) == want
        else f"seed {seed}: {found.strategy}, {want}, {written(folder)}"
    )


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 100), marks=pytest.mark.slow)])
def test_random_streams_stopped_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: range
) -> None:
    assert [told for seed in seeds if (told := disagreement(seed, tmp_path, monkeypatch))] == []


def test_a_state_that_forgets_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restore = LocalRunner.restore

    def forgetful(self: LocalRunner[Any], state: bytes) -> None:
        restore(self, state)
        self.states = [self.operator.open_state(0, None)]

    monkeypatch.setattr(LocalRunner, "restore", forgetful)
    assert any(disagreement(seed, tmp_path, monkeypatch) for seed in range(100))


def test_checkpoints_of_other_runs_are_refused(
    onto: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, place = lines(tmp_path / "e.jsonl", *STREAM), str(tmp_path / "checkpoint")

    def code(*more: str, tbox: str = onto, window: str = "2") -> int:
        common = (
            "--source",
            source,
            "--checkpoint",
            place,
            "--out",
            str(tmp_path / "rows.jsonl"),
            "-q",
        )
        return ran("consistency", "--tbox", tbox, "--window", window, *common, *more)

    assert code() == 1
    rows = read(tmp_path / "rows.jsonl")
    assert code() == 1
    assert read(tmp_path / "rows.jsonl") == rows
    capsys.readouterr()
    for more, said in (
        ({"window": "3"}, "window 2, but this run has 3"),
        ({"more": ("--strategy", "ntm")}, "strategy mask, but this run has ntm"),
        ({"more": ("--lateness", "1")}, "lateness 0, but this run has 1"),
        (
            {"more": ("--verdicts", str(tmp_path / "v.jsonl"))},
            "outputs out, but this run has out, verdicts",
        ),
    ):
        assert code(*more.get("more", ()), window=more.get("window", "2")) == 4  # type: ignore[arg-type]
        assert said in capsys.readouterr().err
    other = tmp_path / "other.ofn"
    other.write_text(Path(onto).read_text().replace("#Student", "#Teacher"))
    assert code(tbox=str(other)) == 4
    assert "made with tbox " in capsys.readouterr().err
    assert read(tmp_path / "rows.jsonl") == rows


@pytest.fixture
def onto(tmp_path: Path) -> str:
    from shiq.functional.writer import ontology_text

    (tmp_path / "onto.ofn").write_text(ontology_text(AXIOMS, ()))
    return str(tmp_path / "onto.ofn")


def test_open_conflicts_are_told_when_they_open(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    source = tmp_path / "e.jsonl"
    lines(source, *STREAM[:2])
    follow, ended, now = open_source(str(source)), threading.Event(), list[Any]()

    class Followed:
        name, position = "followed", 0

        def read(self, follow: bool) -> Any:
            for number, item in enumerate(opened.read(True), 1):
                self.position = number
                yield item
                if item.line == 6:
                    return

    opened = follow
    with open_run([Followed()], {}) as run:
        watch = ConsistencyCollector(
            plan(BOB, 3),
            EventIntake(WatermarkTracker(), RejectLog()),
            ConsistencySettings(0, None, 1, follow=True),
            rows.extend,
        )
        watch.load_static(None)

        def more() -> None:
            _until(lambda: bool(rows))
            now.append(watch.inconsistent_count)
            with open(source, "a") as file:
                for item in (STREAM[2], event(9), event(20, isa("ann", "Publication")), event(30)):
                    file.write(json.dumps(item) + "\n")
            ended.set()

        threading.Thread(target=more, daemon=True).start()
        run.feed_system(LocalRunner(watch), follow=True)
        assert (run.status.records, watch.inconsistent_count) == (6, 0)
    assert ended.is_set() and now == [1]
    assert [(row["individual"], row["from"], row["to"], row["final"]) for row in rows] == [
        (T + "bob", 4, 4, False),
        (T + "bob", 4, 7, True),
    ]


def _until(holds: Any, seconds: float = 300.0) -> None:
    patience = time.monotonic() + seconds
    while not holds() and time.monotonic() < patience:
        time.sleep(0.02)
    assert holds()


def _conflicts(number: int) -> list[dict[str, Any]]:
    draw, found = random.Random(7), list[dict[str, Any]]()
    for t in range(number):
        who = draw.randrange(40)
        found.append(
            event(
                max(0, t // 4 - draw.randrange(2)),
                isa(f"x{who}", draw.choice(("Student", "Publication"))),
                id=str(t),
            )
        )
    return found


@pytest.mark.slow
def test_killed_processes_lose_nothing_and_write_nothing_twice(onto: str, tmp_path: Path) -> None:
    draw = random.Random(11)
    whole = _conflicts(8_000)
    lines(tmp_path / "events.jsonl", *whole)
    names = ("out", "verdicts", "rejects")

    def command(folder: Path) -> list[str]:
        asked = [
            "--tbox",
            onto,
            "--window",
            "5",
            "--lateness",
            "1",
            "--batch",
            "50",
            "--source",
            str(tmp_path / "events.jsonl"),
        ]
        asked += [word for name in names for word in (f"--{name}", str(folder / f"{name}.jsonl"))]
        return [
            sys.executable,
            "-m",
            "shiq",
            "stream",
            "consistency",
            "-q",
            "--checkpoint",
            str(folder / "checkpoint"),
            *asked,
        ]

    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    undisturbed.mkdir()
    killed.mkdir()
    assert subprocess.run(command(undisturbed), check=False).returncode == 1
    deaths = 0
    for _ in range(10):
        begun = (killed / "out.jsonl").stat().st_mtime_ns if (killed / "out.jsonl").exists() else 0
        with subprocess.Popen(command(killed)) as child:
            with suppress(AssertionError):
                out = killed / "out.jsonl"
                _until(
                    lambda: (
                        child.poll() is not None
                        or (out.exists() and out.stat().st_mtime_ns > begun)  # noqa: B023
                    )
                )
            time.sleep(draw.random() / 4)
            if child.poll() is None:
                os.kill(child.pid, signal.SIGKILL)
                deaths += 1
            child.wait()
    assert subprocess.run(command(killed), check=False).returncode == 1
    assert deaths >= 3
    for name in names:
        rows = [
            sorted((folder / f"{name}.jsonl").read_text().splitlines())
            for folder in (undisturbed, killed)
        ]
        assert rows[0] == rows[1]
    assert len(read(undisturbed / "out.jsonl")) > 400


def test_a_full_disk_is_said_and_the_next_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiq.streams.front import checkpoint as module

    found = plan(BOB, 2)
    lines(tmp_path / "events.jsonl", *_conflicts(400))
    monkeypatch.setattr(module, "POINTS_PER_CHECKPOINT", 5)
    want = undisturbed(found, tmp_path, None, 10)
    replace, room = module.replace_file, iter(range(12))

    def full(path: Path, data: bytes) -> None:
        if next(room, None) is None:
            raise OSError(28, "No space left on device")
        replace(path, data)

    monkeypatch.setattr(module, "replace_file", full)
    with pytest.raises(OperationalError, match=r"cannot be written \(No space left"):
        watched(found, tmp_path, 0, None, 10)
    monkeypatch.setattr(module, "replace_file", replace)
    watched(found, tmp_path, 0, None, 10)
    assert written(tmp_path) == want


def test_a_followed_run_ends_by_ctrl_c_and_goes_on(onto: str, tmp_path: Path) -> None:
    source, out = lines(tmp_path / "events.jsonl", *STREAM[:2]), tmp_path / "out.jsonl"
    asked = [
        "--tbox",
        onto,
        "--window",
        "3",
        "--source",
        source,
        "--out",
        str(out),
        "--follow",
        "-q",
    ]
    command = [
        sys.executable,
        "-m",
        "shiq",
        "stream",
        "consistency",
        "--checkpoint",
        str(tmp_path / "state"),
        *asked,
    ]
    for number, more in enumerate((STREAM[2], event(20))):
        with killed_at_last(subprocess.Popen(command, stderr=subprocess.PIPE)) as child:
            _until(lambda: out.exists() and out.read_text().count("\n") >= 1)
            with open(source, "a") as file:
                file.write(json.dumps(more) + "\n")
            want = 1 + number
            _until(
                lambda: _read_events(tmp_path / "state") == 3 + number and len(read(out)) == want  # noqa: B023
            )
            child.send_signal(signal.SIGINT)
            assert child.wait(300) == 1
    assert [(row["from"], row["to"], row["final"]) for row in read(out)] == [
        (4, 4, False),
        (4, 7, True),
    ]


def _read_events(place: Path) -> int:
    """How many lines the last checkpoint had read."""
    file = place / "checkpoint.json"
    found = json.loads(file.read_text())["positions"] if file.exists() else {}
    return sum(position["line"] for position in found.values())
