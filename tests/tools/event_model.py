"""The wall time of a Spark application on more cores, from its event log.

The driver's own time (no task runs) stays as it was. Stages come one after the other; the tasks
of each, as long as they took, go in their order to whichever core is free first. What a worker
does once comes again on each core: in a stage, what the first tasks of the log's cores took
beyond the median of the others, and all that of the application's first stage for a core that
had nothing to do before.

How a batch is cut into tasks follows the cores that Spark says it has: run with
spark.default.parallelism set to the cores to be modelled. Shuffled bytes and what a store's
disks or network take from many at once are not in the model.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from itertools import combinations
from typing import Any

import numpy as np


@dataclass(frozen=True)
class StageTasks:
    """The tasks of a stage that succeeded, seconds each, as they were launched; and how many of
    them were the first on their core.
    """

    seconds: tuple[float, ...]
    first: int

    @property
    def warming(self) -> float:
        """What a first task took beyond the median of the others; 0 where there were no others."""
        rest = self.seconds[self.first :]
        return (
            max(0.0, min(self.seconds[: self.first], default=0.0) - statistics.median(rest))
            if rest
            else 0.0
        )

    @property
    def own(self) -> tuple[float, ...]:
        """What the tasks take where nothing has to be warmed."""
        return tuple(s - self.warming if i < self.first else s for i, s in enumerate(self.seconds))


@dataclass(frozen=True)
class LoggedRun:
    """An application as its log has it, which ``begun`` at a second since 1970. ``before``:
    seconds from then to its first job; ``alone``: from that to its end, while no task ran.
    """

    begun: float
    cores: int
    wall: float
    before: float
    alone: float
    stages: tuple[StageTasks, ...]

    @property
    def work(self) -> float:
        return sum(sum(stage.seconds) for stage in self.stages)

    @property
    def starting(self) -> float:
        """What a core's worker takes to start: at most the shortest of the log's very first tasks."""
        first = self.stages[0]
        return first.warming if len(first.seconds) > first.first else min(first.seconds)


def logged_run(events: Iterable[Mapping[str, Any]]) -> LoggedRun:
    """The run that ``events`` of a log tell of. Raises: ValueError where no task of it succeeded."""
    tasks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    times: list[float] = []
    jobs: list[float] = []
    cores = 0
    for event in events:
        match event.get("Event"):
            case "SparkListenerApplicationStart" | "SparkListenerApplicationEnd":
                times.append(event["Timestamp"] / 1000)
            case "SparkListenerExecutorAdded":
                cores += event["Executor Info"]["Total Cores"]
            case "SparkListenerJobStart":
                jobs.append(event["Submission Time"] / 1000)
            case "SparkListenerTaskEnd" if event["Task End Reason"]["Reason"] == "Success":
                info = event["Task Info"]
                ran = info["Launch Time"] / 1000, info["Finish Time"] / 1000
                tasks.setdefault((event["Stage ID"], event["Stage Attempt ID"]), []).append(ran)
    if not tasks:
        raise ValueError("no task succeeded")
    stages = sorted((sorted(some) for some in tasks.values()), key=lambda some: some[0])
    busy = _covered(ran for some in stages for ran in some)
    first, last = min([*jobs, stages[0][0][0]]), max(end for some in stages for _, end in some)
    begun, ended = min([*times, first]), max([*times, last])
    cores = max(1, cores)
    return LoggedRun(
        begun,
        cores,
        ended - begun,
        first - begun,
        ended - first - busy,
        tuple(
            StageTasks(tuple(end - start for start, end in some), min(cores, len(some)))
            for some in stages
        ),
    )


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """The length of the union of ``spans``."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def modelled(run: LoggedRun, cores: int) -> float:
    """The wall seconds of ``run`` on so many ``cores``, from its first job on."""
    used, total = 0, run.alone
    for number, stage in enumerate(run.stages):
        starting = run.starting if number else 0.0
        taken = min(cores, len(stage.seconds))
        free = [stage.warming + (starting if core >= used else 0.0) for core in range(taken)]
        heapify(free)
        for seconds in stage.own:
            heapreplace(free, free[0] + seconds)
        used = max(used, taken)
        total += max(free)
    return total


@dataclass(frozen=True)
class Fit:
    """A line through points, by least squares: its value elsewhere, and the least and the most
    of the lines through two of the points each.
    """

    value: float
    least: float
    most: float


def fitted(points: Sequence[tuple[float, float]], at: float) -> Fit:
    """What a line through ``points`` says ``at`` another place. Raises: ValueError for less than
    two places.
    """
    if len({x for x, _ in points}) < 2:
        raise ValueError("a line needs two places")
    xs, ys = np.array(points, np.float64).T
    slope, level = np.polyfit(xs, ys, 1)
    pairs = [
        y + (b - y) / (a - x) * (at - x) for (x, y), (a, b) in combinations(points, 2) if a != x
    ]
    return Fit(float(level + slope * at), min(pairs), max(pairs))
