"""The model of wall time on more cores: small logs, made by hand, whose times can be worked out."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

from shiq.errors import InputError, UsageError
from tests.tools.event_model import StageTasks, fitted, logged_run, modelled
from tests.tools.spark_events import main, run_of


def log_of(
    stages: Sequence[Sequence[float]],
    cores: int,
    *,
    before: float = 0,
    between: float = 0,
    warm: float = 0,
) -> list[Any]:
    """A log of stages of tasks that each went to the first free core: ``between`` goes by
    without a task ahead of each stage, and each core's first task of a stage takes ``warm``
    longer.
    """
    clock = before
    events: list[Any] = [
        {"Event": "SparkListenerApplicationStart", "Timestamp": 0},
        {"Event": "SparkListenerExecutorAdded", "Executor Info": {"Total Cores": cores}},
        {"Event": "SparkListenerJobStart", "Submission Time": before * 1000},
    ]
    for number, tasks in enumerate(stages):
        clock += between
        free = [clock] * cores
        for place, seconds in enumerate(tasks):
            core = min(range(cores), key=free.__getitem__)
            start, free[core] = free[core], free[core] + seconds + (warm if place < cores else 0)
            events.append(ended(number, start, free[core]))
        clock = max(free)
    return [*events, {"Event": "SparkListenerApplicationEnd", "Timestamp": clock * 1000}]


def ended(stage: int, start: float, end: float, reason: str = "Success") -> dict[str, Any]:
    times = {"Launch Time": start * 1000, "Finish Time": end * 1000}
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Stage Attempt ID": 0,
        "Task End Reason": {"Reason": reason},
        "Task Info": times,
    }


def test_tasks_spread_and_the_driver_does_not() -> None:
    run = logged_run(log_of([[2.0] * 8, [6.0]], 2, before=10, between=1))
    assert (run.cores, run.before, run.alone, run.work, run.wall) == (2, 10, 2, 22, 26)
    assert [modelled(run, cores) for cores in (1, 2, 4, 8, 1000)] == [24, 16, 12, 10, 10]


def test_a_stage_takes_as_long_as_its_longest_task() -> None:
    run = logged_run(log_of([[1.0, 1, 1, 1, 8]], 1))
    assert [modelled(run, cores) for cores in (1, 2, 4, 5, 100)] == [12, 10, 9, 8, 8]


@pytest.mark.parametrize("seed", range(10))
def test_on_its_own_cores_the_model_says_what_the_log_says(seed: int) -> None:
    rng = random.Random(seed)
    stages = [
        [rng.randrange(1, 64) / 8 for _ in range(rng.randrange(1, 30))]
        for _ in range(rng.randrange(1, 6))
    ]
    cores = rng.randrange(1, 5)
    run = logged_run(log_of(stages, cores, before=3, between=0.5))
    without_warming = replace(run, stages=tuple(StageTasks(s.seconds, 0) for s in run.stages))
    assert run.alone == 0.5 * len(stages)
    assert modelled(without_warming, cores) == pytest.approx(run.wall - 3)
    by_cores = [modelled(without_warming, n) for n in (1, 2, 4, 1000)]
    assert by_cores[0] == pytest.approx(run.work + run.alone)
    assert by_cores[-1] == pytest.approx(run.alone + sum(max(s) for s in stages))


def test_each_core_warms_up() -> None:
    """Not the two of the log alone: 40 tasks of a second, of which each core's first takes three
    more.
    """
    run = logged_run(log_of([[1.0] * 40], 2, warm=3))
    assert run.stages[0].warming == 3
    assert [modelled(run, cores) for cores in (2, 4, 40)] == [23, 13, 4]


def test_a_core_that_is_first_used_later_starts_its_worker() -> None:
    run = logged_run(log_of([[4.0], [1.0] * 10], 1))
    assert run.starting == 4, "all of the only first task may have been the worker's start"
    assert modelled(run, 10) == 4 + 5
    assert modelled(run, 1) == 4 + 10


def test_what_failed_is_no_work() -> None:
    events = [*log_of([[2.0, 2]], 2), ended(0, 0, 100, "ExceptionFailure")]
    assert logged_run(events).work == 4
    with pytest.raises(ValueError, match="no task"):
        logged_run(log_of([], 2))


def test_tasks_at_once_cover_their_time_once() -> None:
    events = [ended(0, 0, 4), ended(1, 1, 3), ended(2, 2, 6), ended(3, 8, 9)]
    run = logged_run(events)
    assert (run.wall, run.alone, len(run.stages)) == (9, 2, 4)


def test_a_line_says_how_sure_it_is() -> None:
    exact = fitted([(10, 12.0), (50, 20), (100, 30)], 8000)
    assert (exact.value, exact.least, exact.most) == pytest.approx((1610, 1610, 1610))
    unsure = fitted([(10, 12.0), (50, 20), (100, 33)], 8000)
    assert unsure.least == pytest.approx(1610) and unsure.most == pytest.approx(33 + 13 / 50 * 7900)
    assert unsure.least < unsure.value < unsure.most
    with pytest.raises(ValueError, match="two places"):
        fitted([(10, 1.0), (10, 2.0)], 5)


def test_the_command(tmp_path: Path) -> None:
    for size in (10, 50, 100):
        lines = map(json.dumps, log_of([[1.0] * size], 2, before=5, between=1))
        (tmp_path / f"log{size}").write_text("\n".join(lines) + "\n")
    logs = [f"{size}={tmp_path / f'log{size}'}" for size in (10, 50, 100)]
    told = CliRunner().invoke(
        main, ["--model", "10", "--fit", "8000", *logs], catch_exceptions=False
    )
    assert "size 8000, 10 cores: 801.0 s" in told.output, told.output
    alone = CliRunner().invoke(
        main, ["--model", "10", str(tmp_path / "log100")], catch_exceptions=False
    )
    assert [line.split()[-1] for line in alone.output.splitlines()[-2:]] == ["51.00", "11.00"]
    told = CliRunner().invoke(
        main, ["--model", "10", "--fit", "900", logs[0].replace("10=", "200=", 1), logs[2]]
    )
    assert "says nothing" in told.output
    for arguments in (["--fit", "5", logs[0]], ["--fit", "5", str(tmp_path / "log10")]):
        with pytest.raises(UsageError):
            CliRunner().invoke(main, ["--model", "10", *arguments], catch_exceptions=False)
    (tmp_path / "none").write_text('{"Event":"SparkListenerLogStart"}\n')
    with pytest.raises(InputError, match="no task"):
        run_of(tmp_path / "none")
