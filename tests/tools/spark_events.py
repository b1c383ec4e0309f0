"""What a Spark job read, shuffled and wrote, from its event log.

``python -m tests.tools.spark_events LOG…`` sums up logs (files, or folders of them) side by
side. ``python -m tests.tools.spark_events --model CORES LOG…`` says how long each application
would take on so many cores, by `tests.tools.event_model`; with ``--fit SIZE``, and arguments
SIZE=LOG, also that of another size, by a line through those given.

Spark counts what it reads itself (lines, tables of its own) and what it shuffles. Packed files,
Parquet and Delta go through Python, which Spark does not see.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import click

from shiq.errors import InputError, ShiqError, UsageError
from tests.tools.event_model import LoggedRun, fitted, logged_run, modelled


@dataclass(frozen=True)
class TaskCost:
    """Sums over the tasks that succeeded: bytes, rows (records), milliseconds; ``result_bytes``
    is what went to the driver.
    """

    jobs: int = 0
    tasks: int = 0
    failed_tasks: int = 0
    input_bytes: int = 0
    input_rows: int = 0
    shuffle_read_bytes: int = 0
    shuffle_read_rows: int = 0
    shuffle_written_bytes: int = 0
    shuffle_written_rows: int = 0
    spilled_bytes: int = 0
    result_bytes: int = 0
    run_ms: int = 0

    def __add__(self, other: TaskCost) -> TaskCost:
        return TaskCost(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values())))


def costs(log: Path) -> dict[int, TaskCost]:
    """The cost of each job (by its number) of an event log: a file, or a folder of the files of
    one application.

    Raises: InputError where there is no event log that is not compressed.
    """
    job_of: dict[int, int] = {}
    found: dict[int, TaskCost] = {}
    for event in _events(log):
        match event.get("Event"):
            case "SparkListenerJobStart":
                found[event["Job ID"]] = TaskCost(jobs=1)
                # A stage that several jobs share is run, and counted, for the first of them.
                for stage in event["Stage IDs"]:
                    job_of.setdefault(stage, event["Job ID"])
            case "SparkListenerTaskEnd":
                job = job_of.get(event["Stage ID"], -1)
                found[job] = found.get(job, TaskCost()) + _task(event)
    return found


def total(log: Path) -> TaskCost:
    """The cost of all jobs of an event log."""
    found = TaskCost()
    for cost in costs(log).values():
        found = found + cost
    return found


def _events(log: Path) -> Iterator[dict[str, Any]]:
    files = (
        sorted(
            p for p in log.rglob("*") if p.is_file() and not p.name.startswith((".", "appstatus"))
        )
        if log.is_dir()
        else [log]
    )
    seen = False
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith('{"Event"'):
                    seen = True
                    try:
                        yield json.loads(line)
                    except ValueError:  # the last line of a log that is still written
                        continue
    if not seen:
        raise InputError(
            f"{log}: no event log",
            "Run the job with spark.eventLog.enabled=true and spark.eventLog.compress=false.",
        )


def _task(event: Mapping[str, Any]) -> TaskCost:
    if event["Task End Reason"]["Reason"] != "Success":
        return TaskCost(failed_tasks=1)
    metrics = event.get("Task Metrics") or {}
    read, shuffled = metrics.get("Input Metrics", {}), metrics.get("Shuffle Read Metrics", {})
    written = metrics.get("Shuffle Write Metrics", {})
    return TaskCost(
        tasks=1,
        input_bytes=read.get("Bytes Read", 0),
        input_rows=read.get("Records Read", 0),
        shuffle_read_bytes=shuffled.get("Remote Bytes Read", 0)
        + shuffled.get("Local Bytes Read", 0),
        shuffle_read_rows=shuffled.get("Total Records Read", 0),
        shuffle_written_bytes=written.get("Shuffle Bytes Written", 0),
        shuffle_written_rows=written.get("Shuffle Records Written", 0),
        spilled_bytes=metrics.get("Disk Bytes Spilled", 0),
        result_bytes=metrics.get("Result Size", 0),
        run_ms=metrics.get("Executor Run Time", 0),
    )


# --- side by side ---------------------------------------------------------------------------------


def table(columns: Mapping[str, Mapping[str, object]]) -> str:
    """Columns side by side, as text."""
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    rows = [
        ["", *columns],
        *([name, *(_text(column.get(name, "")) for column in columns.values())] for name in names),
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        )
        for row in rows
    )


def _text(value: object) -> str:
    return (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:,.2f}"
        if isinstance(value, float)
        else str(value)
    )


# --- on more cores --------------------------------------------------------------------------------


def run_of(log: Path) -> LoggedRun:
    """The run that an event log tells of. Raises: InputError."""
    try:
        return logged_run(_events(log))
    except ValueError as error:
        raise InputError(f"{log}: {error}", "Model the log of a run that did something.") from error


def model(run: LoggedRun, cores: int) -> dict[str, object]:
    """What is known of a run, and its seconds on so many ``cores``, as a column of `table`."""
    return {
        "cores": run.cores,
        "seconds before the first job": run.before,
        "seconds from then on": run.wall - run.before,
        "… without a task": run.alone,
        "seconds of all tasks": run.work,
        "stages": len(run.stages),
        "tasks": sum(len(stage.seconds) for stage in run.stages),
        "the longest task of each stage": sum(max(stage.seconds) for stage in run.stages),
        f"model, {run.cores} cores": modelled(run, run.cores),
        f"model, {cores} cores": modelled(run, cores),
    }


def fit(runs: Sequence[tuple[float, LoggedRun]], cores: int, size: float) -> str:
    """What a line through the model's seconds by size says of another size. Raises: UsageError
    for a single size.
    """
    try:
        found = fitted([(at, modelled(run, cores)) for at, run in runs], size)
    except ValueError as error:
        raise UsageError(
            f"no fit: {error}", "Name two logs or more as SIZE=LOG, of different sizes."
        ) from error
    if found.least <= 0:
        return f"size {size:g}, {cores} cores: the times do not grow with the size, so that a line says nothing"
    return (
        f"size {size:g}, {cores} cores: {found.value:,.1f} s from the first job on; "
        f"by lines through two sizes each {found.least:,.1f} to {found.most:,.1f} s"
    )


def _sized(argument: str) -> tuple[float, Path]:
    size, _, log = argument.partition("=")
    try:
        return float(size), Path(log)
    except ValueError as error:
        raise UsageError(
            f"{argument} has no size", "Write SIZE=LOG with --fit: 10=log10 100=log100."
        ) from error


@click.command(help=__doc__)
@click.argument("what", nargs=-1, required=True)
@click.option(
    "--model",
    "cores",
    type=click.IntRange(1),
    metavar="CORES",
    help="Say how long on so many cores.",
)
@click.option(
    "--fit",
    "size",
    type=float,
    metavar="SIZE",
    help="With --model: of another size; arguments are SIZE=LOG.",
)
def main(what: tuple[str, ...], cores: int | None, size: float | None) -> None:
    if cores is not None:
        sized = (
            [(0.0, Path(log)) for log in what]
            if size is None
            else [_sized(argument) for argument in what]
        )
        runs = [(at, run_of(log)) for at, log in sized]
        click.echo(table({name: model(run, cores) for name, (_, run) in zip(what, runs)}))
        if size is not None:
            click.echo(fit(runs, cores, size))
    else:
        found = {log: total(Path(log)) for log in what}
        click.echo(
            table(
                {
                    log: {
                        f.name.replace("_", " "): getattr(found[log], f.name)
                        for f in fields(TaskCost)
                    }
                    for log in what
                }
            )
        )


if __name__ == "__main__":
    try:
        main()
    except ShiqError as error:
        print(f"shiq: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 4)
