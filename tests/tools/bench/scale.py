"""The row ``lubm-100`` (``make bench-scale``): LUBM-100 beside LUBM-10, on Spark and `local`.

Batches are triples drawn evenly from the data, which the bases lack. Runs are processes of their
own, watched from outside (`tests.tools.bench.watch`), with an event log. Memory of all processes
is resident, and summed more than a cgroup counts; that of the driver is its own, without the
pages of the store that it maps.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiq.jobs.evaluation.evaluate.process import worker_python_path
from tests.tools.bench.data import DATA_SEED, held_out
from tests.tools.bench.process import NotMeasured
from tests.tools.bench.record import Figure
from tests.tools.bench.repeat import Repeat, Row
from tests.tools.bench.watch import Watched, watched
from tests.tools.event_model import LoggedRun, fitted, modelled
from tests.tools.spark_events import run_of

LITTLE, LARGE = 10, 100
FEW, MANY = 1_000, 100_000
#: Cores of the model, and how Spark is to cut its tasks.
CORES = 100
_CONFIGURED = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}


@dataclass(frozen=True)
class Scaled:
    """A base of LUBM: its TBox, its triples, and insertions that they lack."""

    universities: int
    tbox: Path
    triples: Path
    few: Path
    many: Path
    store: Path


@dataclass(frozen=True)
class Ran:
    """A run that was watched, its JSON, and, on Spark, its event log as a run."""

    used: Watched
    answer: dict[str, Any]
    logged: LoggedRun | None
    begun: float

    @property
    def driver_share(self) -> float:
        """What the driver's Python used of all CPU time since the first job, in percent."""
        since = self.used.cpu_since(self.begun)
        return 100 * since["driver"] / sum(since.values())

    @property
    def spark(self) -> dict[str, int]:
        return dict(self.answer["statistics"]["spark"])


def scaled(repeat: Repeat, universities: int) -> Scaled:
    """The base of so many universities, its batches drawn."""
    bench = repeat.bench
    folder = bench.lubm(universities)
    found = Scaled(
        universities,
        folder / "tbox.owl",
        *(folder / name for name in ("rest.nt.gz", "few.nt", "many.nt")),
        bench.folder / f"scaled-{universities}.kg",
    )
    files = [found.few, found.many]
    bench.once(
        ("held out", universities),
        lambda: held_out(folder / "abox.nt.gz", [FEW, MANY], DATA_SEED, found.triples, files),
    )
    return found


def run(
    repeat: Repeat,
    what: str,
    *arguments: object,
    cores: int | None = None,
    settings: dict[str, str] | None = None,
) -> Ran:
    """The command line of ours, watched; on Spark with so many ``cores``. Raises NotMeasured
    where it gives no verdict.
    """
    bench = repeat.bench
    bench.say(what)
    folder = bench.folder / "watched"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "log").mkdir(parents=True)
    configured = {**_CONFIGURED, "spark.eventLog.dir": str(folder / "log"), **(settings or {})}
    submit = " ".join(f"--conf {name}={value}" for name, value in configured.items())
    environment = {
        **os.environ,
        "PYTHONPATH": worker_python_path(),
        "PYSPARK_SUBMIT_ARGS": f"{submit} pyspark-shell",
    }
    spark = [] if cores is None else ["--engine", "spark", "--master", f"local[{cores}]"]
    answer = folder / "answer.json"
    command = [
        sys.executable,
        "-m",
        "shiq.jobs.cli",
        *map(str, arguments),
        *spark,
        "-q",
        "--json",
        str(answer),
    ]
    used = watched(command, bench.settings.limit, folder, environment)
    if used.code or not answer.exists():
        raise NotMeasured(f"{what}: exit code {used.code}: {used.err[-300:]}")
    told = json.loads(answer.read_text(encoding="utf-8"))
    repeat.expect(told["verdict"], "consistent", what)
    if cores is None:
        return Ran(used, told, None, used.timeline[0][0])
    logged = run_of(folder / "log")
    return Ran(used, told, logged, logged.begun + logged.before)


def index(repeat: Repeat, of: Scaled, cores: int | None = None) -> Ran:
    """Builds the store of a base, in the place of the one that is there."""
    shutil.rmtree(of.store, ignore_errors=True)
    what = f"LUBM-{of.universities}: index, {'local' if cores is None else 'spark'}"
    return run(
        repeat, what, "index", "--tbox", of.tbox, "--store", of.store, of.triples, cores=cores
    )


def check(
    repeat: Repeat, of: Scaled, batch: Path, *more: str, cores: int | None = 2, **settings: str
) -> Ran:
    """Checks a batch against the store of a base."""
    what = f"LUBM-{of.universities}: check of {batch.stem} insertions{' '.join(['', *more])}"
    return run(
        repeat,
        what,
        "check",
        "--store",
        of.store,
        "--insert",
        batch,
        *more,
        cores=cores,
        settings=settings,
    )


def _pair(repeat: Repeat, name: str, large: Ran, little: Ran, *, per_triple: bool = False) -> None:
    """The figures of one run on both bases."""
    ratio = large.used.cpu_seconds / little.used.cpu_seconds
    if per_triple:
        ratio *= (
            little.answer["statistics"]["assertions"] / large.answer["statistics"]["assertions"]
        )
    repeat.values[f"{name}: CPU{' per triple' if per_triple else ''}"] = ratio
    for part in ("driver", "jvm"):
        repeat.values[f"{name}: {part} peak"] = large.used.own[part] / max(
            1.0, little.used.own[part]
        )
    repeat.values[f"{name}: memory, all processes"] = large.used.peak
    repeat.values[f"{name}: driver's share"] = large.driver_share
    for size, ran in ((LITTLE, little), (LARGE, large)):
        used = ran.used
        parts = ", ".join(
            f"{part} {used.cpu[part]:.1f} s {used.own[part]:.0f} of {used.peaks[part]:.0f} MiB"
            for part in ("driver", "jvm", "workers")
        )
        jobs = f"; {ran.spark}" if ran.answer["statistics"].get("spark") else ""
        repeat.notes.append(f"LUBM-{size}, {name}: {parts}; {used.peak:.0f} MiB in all{jobs}")


def _measure(repeat: Repeat) -> None:
    little, large = scaled(repeat, LITTLE), scaled(repeat, LARGE)
    both = (large, little)
    on_spark = [index(repeat, of, 2) for of in both]
    _pair(repeat, "index", *on_spark, per_triple=True)
    alone = [index(repeat, of) for of in both]
    repeat.values["index: workers' CPU over local's"] = (
        on_spark[0].used.cpu["workers"] / alone[0].used.cpu_seconds
    )
    for name, batch in (("check of 1,000", "few"), ("check of 100,000", "many")):
        checks = [check(repeat, of, getattr(of, batch)) for of in both]
        _pair(repeat, name, *checks)
    local = [check(repeat, of, of.few, cores=None) for of in both]
    repeat.values["check of 1,000, local: CPU"] = (
        local[0].used.cpu_seconds / local[1].used.cpu_seconds
    )
    _parallel(repeat, large)
    _pair(repeat, "commit of 1,000", *(check(repeat, of, of.few, "--commit") for of in both))


def _parallel(repeat: Repeat, large: Scaled) -> None:
    """The large batch as a hundred cores would have it; and what the model says of two cores by
    the log of one.
    """
    middle = scaled(repeat, 50)
    index(repeat, middle)
    cut = {"spark.default.parallelism": str(CORES)}
    wall, cpu = [], []
    for of in (scaled(repeat, LITTLE), middle, large):
        ran = check(repeat, of, of.many, **cut)
        assert ran.logged is not None
        wall.append(modelled(ran.logged, CORES))
        cpu.append((float(of.universities), ran.used.cpu_seconds))
    told = ran.spark
    repeat.values["100 cores: joint groups"] = float(told["joint_groups"])
    repeat.values["100 cores: insertions in the largest"] = 100 * told["largest_group"] / MANY
    repeat.values["100 cores: model, LUBM-100"] = wall[-1]
    # The longest path gets shorter where the same batch falls into more groups; what grows is the
    # work.
    fit = fitted(cpu, 8000)
    repeat.values["100 cores: longest model, and CPU of LUBM-8000 by a fit"] = (
        max(wall) + fit.value / CORES
    )
    repeat.notes.append(
        f"CPU of LUBM-8000: lines through two sizes each say {fit.least:.0f} to {fit.most:.0f} s"
    )
    one, two = (check(repeat, large, large.many, cores=cores, **cut).logged for cores in (1, 2))
    assert one is not None and two is not None
    repeat.values["model of 2 cores by a log of 1, over 2"] = modelled(one, 2) / (
        two.wall - two.before
    )


_RUNS = ("index", "check of 1,000", "check of 100,000", "commit of 1,000")
FIGURES = (
    *(Figure(f"{name}: driver peak", "×", 1.2) for name in _RUNS),
    *(Figure(f"{name}: jvm peak", "×") for name in _RUNS),
    *(Figure(f"{name}: CPU{' per triple' if name == 'index' else ''}", "×", 1.2) for name in _RUNS),
    *(Figure(f"{name}: driver's share", "%", 5.0) for name in _RUNS),
    *(Figure(f"{name}: memory, all processes", "MiB", 3072.0) for name in _RUNS),
    Figure("index: workers' CPU over local's", "×", 1.5),
    Figure("check of 1,000, local: CPU", "×", 1.2),
    Figure("100 cores: joint groups", "", 8.0, 1),
    Figure("100 cores: insertions in the largest", "%", 25.0),
    Figure("100 cores: model, LUBM-100", "s", 60.0),
    Figure("100 cores: longest model, and CPU of LUBM-8000 by a fit", "s"),
    Figure("model of 2 cores by a log of 1, over 2", "×", better=0),
)

SCALE_ROWS = {
    "lubm-100": Row(
        "lubm-100", "LUBM-100 beside LUBM-10, local[2], cold processes", FIGURES, _measure
    )
}
