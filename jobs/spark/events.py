"""What a Spark job read, shuffled and wrote, from its event log.

``python -m jobs.spark.events LOG…`` sums up logs (files, or folders of them) side by side.
``python -m jobs.spark.events --compare KG:BATCH KG:BATCH…`` checks each batch against its store in a session of its own and shows
what that cost, side by side: with batches of one size and stores of different sizes, nothing may grow with the store.
``python -m jobs.spark.events --model CORES LOG…`` says how long each application would take on so many cores, by
`jobs.spark.event_model`; with ``--fit SIZE``, and arguments SIZE=LOG, also that of another size, by a line through those given.

Spark counts what it reads itself (the batch) and what it shuffles. What tasks read of a store goes through pyarrow, which Spark
does not see; the tasks count it, in rows, and the check's figures sum it up.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import click

from jobs.spark.event_model import LoggedRun, fitted, logged_run, modelled
from shiq.errors import InputError, ShiqError, UsageError


@dataclass(frozen=True)
class TaskCost:
    """Sums over the tasks that succeeded: bytes, rows (records), milliseconds; ``result_bytes`` is what went to the driver."""

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
    """The cost of each job (by its number) of an event log: a file, or a folder of the files of one application.

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
        sorted(p for p in log.rglob("*") if p.is_file() and not p.name.startswith((".", "appstatus"))) if log.is_dir() else [log]
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
            f"{log}: no event log", "Run the job with spark.eventLog.enabled=true and spark.eventLog.compress=false."
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
        shuffle_read_bytes=shuffled.get("Remote Bytes Read", 0) + shuffled.get("Local Bytes Read", 0),
        shuffle_read_rows=shuffled.get("Total Records Read", 0),
        shuffle_written_bytes=written.get("Shuffle Bytes Written", 0),
        shuffle_written_rows=written.get("Shuffle Records Written", 0),
        spilled_bytes=metrics.get("Disk Bytes Spilled", 0),
        result_bytes=metrics.get("Result Size", 0),
        run_ms=metrics.get("Executor Run Time", 0),
    )


# --- side by side ---------------------------------------------------------------------------------


def compared(pairs: Sequence[tuple[Path, Path]], master: str) -> dict[str, dict[str, object]]:
    """What checking each (store, batch) cost, by the store's name: the answer, what tasks read of the store, the log's sums.

    Each check has a process and a session of its own, so that nothing is warm.
    """
    found: dict[str, dict[str, object]] = {}
    for store, batch in pairs:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            found[store.name] = pool.submit(checked, store, batch, master).result()
    return found


def checked(store: Path, batch: Path, master: str) -> dict[str, object]:
    """What one check cost. Raises: InputError where a session is active already."""
    from jobs.spark.engine import SparkKnowledgeBase
    from jobs.spark.session import spark_session, stop
    from shiq.check import open_store

    with tempfile.TemporaryDirectory(prefix="shiq-events-") as log:
        logging = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": log,
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
        }
        session, started = spark_session(master=master, settings=logging)
        if not started:
            raise InputError("a Spark session is active", "Compare in a process of its own.")
        try:
            with open_store(store) as opened:
                result = opened.check(str(batch), engine="spark", max_conflicts=0)
                base = opened.knowledge_base("spark")
                assert isinstance(base, SparkKnowledgeBase) and base.figures is not None
                figures = asdict(base.figures)
        finally:
            stop(session)
        sums = asdict(total(Path(log)))
    return {
        "verdict": result.verdict.value,
        "base assertions": result.statistics.assertions,
        "insertions": result.statistics.insertions,
        "|A_add|": result.statistics.add_set,
        "modules": result.statistics.modules,
        **{name.replace("_", " "): value for name, value in {**figures, **sums}.items()},
    }


def table(columns: Mapping[str, Mapping[str, object]]) -> str:
    """Columns side by side, as text."""
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    rows = [["", *columns], *([name, *(_text(column.get(name, "")) for column in columns.values())] for name in names)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths)))
        for row in rows
    )


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}" if isinstance(value, float) else str(value)


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
    """What a line through the model's seconds by size says of another size. Raises: UsageError for a single size."""
    try:
        found = fitted([(at, modelled(run, cores)) for at, run in runs], size)
    except ValueError as error:
        raise UsageError(f"no fit: {error}", "Name two logs or more as SIZE=LOG, of different sizes.") from error
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
        raise UsageError(f"{argument} has no size", "Write SIZE=LOG with --fit: 10=log10 100=log100.") from error


@click.command(help=__doc__)
@click.argument("what", nargs=-1, required=True)
@click.option("--compare", is_flag=True, help="The arguments are KG:BATCH pairs, to be checked.")
@click.option("--model", "cores", type=click.IntRange(1), metavar="CORES", help="Say how long on so many cores.")
@click.option("--fit", "size", type=float, metavar="SIZE", help="With --model: of another size; arguments are SIZE=LOG.")
@click.option("--master", default="local[2]", show_default=True)
def main(what: tuple[str, ...], compare: bool, cores: int | None, size: float | None, master: str) -> None:
    if compare:
        pairs = [(Path(kg), Path(batch)) for kg, _, batch in (pair.partition(":") for pair in what)]
        click.echo(table(compared(pairs, master)))
    elif cores is not None:
        sized = [(0.0, Path(log)) for log in what] if size is None else [_sized(argument) for argument in what]
        runs = [(at, run_of(log)) for at, log in sized]
        click.echo(table({name: model(run, cores) for name, (_, run) in zip(what, runs)}))
        if size is not None:
            click.echo(fit(runs, cores, size))
    else:
        found = {log: total(Path(log)) for log in what}
        click.echo(
            table({log: {f.name.replace("_", " "): getattr(found[log], f.name) for f in fields(TaskCost)} for log in what})
        )


if __name__ == "__main__":
    try:
        main()
    except ShiqError as error:
        print(f"shiq: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 4)
