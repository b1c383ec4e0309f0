"""``make bench``: the benchmark's rows, ours and other reasoners in one run, kept as JSON, and
what got worse since the last one.

``python -m tests.tools.bench.run [--rows ROW,…] [--repeats N] [--data DIR] [--log DIR]``. Rows
and targets: `rows`. Every run is a process of its own, one after the other; each repeat draws
batches of its own, from a seed that the log keeps. Figures are medians over the repeats. A wrong
verdict, or a run of ours that failed, misses every target of its row.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from shiq.errors import OperationalError, ShiqError, UsageError
from shiq.files import write_atomically
from shiq.jobs.evaluation.harness import describe_machine
from shiq.jobs.evaluation.papers.page import current_commit
from shiq.jobs.progress import ProgressLine
from tests.tools.bench.discovery import DISCOVERY_ROWS
from tests.tools.bench.enrichment import ENRICHMENT_ROWS
from tests.tools.bench.enrichment_peers import PEER_ROWS
from tests.tools.bench.process import Bench, NotMeasured, Settings
from tests.tools.bench.record import (
    SCHEMA_VERSION,
    TOLERATED,
    Measured,
    RowRecord,
    last_kept,
    worse,
)
from tests.tools.bench.repeat import Repeat, Row
from tests.tools.bench.rows import ROWS as BATCH_ROWS
from tests.tools.bench.rule_rows import RULE_ROWS
from tests.tools.bench.scale import SCALE_ROWS
from tests.tools.bench.small_batches import SMALL_BATCH_ROWS
from tests.tools.bench.streams import STREAM_ROWS

ROWS = {
    **BATCH_ROWS,
    **SMALL_BATCH_ROWS,
    **RULE_ROWS,
    **STREAM_ROWS,
    **ENRICHMENT_ROWS,
    **PEER_ROWS,
    **DISCOVERY_ROWS,
    **SCALE_ROWS,
}
_ROOT = Path(__file__).resolve().parents[3]
LOG = _ROOT / "docs" / "benchmarks"


def measure(row: Row, bench: Bench, repeats: int) -> RowRecord:
    """The row, measured ``repeats`` times."""
    values: dict[str, list[float]] = {figure.name: [] for figure in row.figures}
    notes: list[str] = []
    wrong: list[str] = []
    for number in range(repeats):
        repeat = Repeat(bench, number)
        try:
            row.measure(repeat)
        except (NotMeasured, OperationalError, UsageError) as why:
            repeat.wrong.append(f"not measured: {why}")
        for name, value in repeat.values.items():
            values[name].append(value)
        notes += repeat.notes
        wrong += repeat.wrong
    measured = tuple(Measured(figure, tuple(values[figure.name])) for figure in row.figures)
    return RowRecord(
        row.name, row.title, measured, tuple(dict.fromkeys([*wrong, *notes])), not wrong
    )


def document(
    rows: Sequence[RowRecord], seed: int, repeats: int, began: float, machine_facts: dict[str, Any]
) -> dict[str, Any]:
    """The JSON form of a run."""
    return {
        "schema_version": SCHEMA_VERSION,
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)),
        "commit": current_commit(),
        "machine": machine_facts,
        "seed": seed,
        "repeats": repeats,
        "rows": [row.to_dict() for row in rows],
    }


def run(
    rows: Sequence[Row],
    settings: Settings,
    seed: int,
    folder: Path,
    log: Path | None,
    progress: Callable[[str, int, int], None],
) -> list[RowRecord]:
    """Measures ``rows``, prints each when it is done, keeps the run in ``log``, and prints what
    got worse since the last one.
    """
    began, facts = time.time(), describe_machine()
    kept = last_kept(log, facts) if log and log.is_dir() else {}
    file = log / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(began))}.json" if log else None
    bench = Bench(folder, settings, seed)
    records: list[RowRecord] = []
    for done, row in enumerate(rows):
        bench.say = partial(_say, progress, row.name, done, len(rows))
        records.append(measure(row, bench, settings.repeats))
        print(records[-1].text(), flush=True)
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(
                file,
                json.dumps(
                    document(records, seed, settings.repeats, began, facts),
                    indent=1,
                    ensure_ascii=False,
                )
                + "\n",
            )
    _tell(records, kept, file)
    return records


def _say(
    progress: Callable[[str, int, int], None], row: str, done: int, total: int, what: str
) -> None:
    progress(f"{row}: {what}", done, total)


def _tell(
    records: Sequence[RowRecord], kept: Mapping[str, Mapping[str, float]], file: Path | None
) -> None:
    """Prints how many targets are met, and what got worse."""
    met = [
        m.is_met and record.is_right
        for record in records
        for m in record.measured
        if m.is_met is not None
    ]
    print(f"\n{sum(map(bool, met))} of {len(met)} targets that were measured are met")
    if not kept:
        print("no earlier run on a machine like this one is kept: nothing to compare with")
    else:
        found = worse({record.name: record.measured for record in records}, kept)
        print(
            f"{len(found)} figures got worse by more than {TOLERATED:.0%} since they were last kept".replace(
                "%", " %"
            )
        )
        for entry in found:
            print(f"  {entry.text}")
    if file:
        print(f"kept in {file}")


def _rows(names: str) -> list[Row]:
    """The rows that are named, commas between them. Raises UsageError."""
    wanted = [name.strip() for name in names.split(",") if name.strip()] or [
        name for name in ROWS if name not in SCALE_ROWS
    ]
    for name in wanted:
        if name not in ROWS:
            near = difflib.get_close_matches(name, ROWS, 1, 0)
            raise UsageError(
                f"unknown row {name!r}", f"Did you mean {near[0]!r}? Known: {', '.join(ROWS)}."
            )
    return [ROWS[name] for name in wanted]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 unless it could not be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.bench.run", description=__doc__)
    parser.add_argument(
        "--rows",
        default="",
        metavar="ROW,…",
        help=f"of {', '.join(ROWS)}; default: all but {', '.join(SCALE_ROWS)}",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=3,
        metavar="N",
        help="how often each row is measured (default: 3)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=_data(),
        metavar="DIR",
        help="real data; else it is generated, but for NPD",
    )
    parser.add_argument(
        "--large", type=Path, metavar="DIR", help="LUBM-50, generated already (with insert.nt)"
    )
    parser.add_argument(
        "--large-store",
        type=Path,
        metavar="DIR",
        help="its store with LUBM's own TBox, read and copied only",
    )
    parser.add_argument(
        "--limit", type=float, default=900.0, metavar="S", help="seconds for one run (default: 900)"
    )
    parser.add_argument(
        "--heap", default="8g", metavar="SIZE", help="memory for a peer's JVM (default: 8g)"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="of the batches (default: another one each time)"
    )
    parser.add_argument(
        "--log",
        type=Path,
        default=LOG,
        metavar="DIR",
        help="where runs are kept (default: docs/benchmarks)",
    )
    parser.add_argument("--no-log", action="store_true", help="keep nothing, compare with nothing")
    parser.add_argument("--work", type=Path, metavar="DIR", help="keep intermediate files there")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    given = parser.parse_args(arguments)
    progress = ProgressLine(0 if given.quiet else 2)
    folder = given.work or Path(tempfile.mkdtemp(prefix="shiq-bench-"))
    seed = (
        given.seed if given.seed is not None else random.SystemRandom().randrange(1, 1_000_000_000)
    )
    try:
        if given.repeats < 1:
            raise UsageError("--repeats is a number from 1", "Leave it out for 3.")
        settings = Settings(
            given.repeats, given.data, given.limit, given.heap, given.large, given.large_store
        )
        run(
            _rows(given.rows), settings, seed, folder, None if given.no_log else given.log, progress
        )
    except ShiqError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 4
    finally:
        progress.close()
        if given.work is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def _data() -> Path | None:
    """The user's copy of real data: the setting SHIQ_DATA, else as the tests look for it."""
    path = _ROOT / os.environ.get("SHIQ_DATA", "../shared/data")
    return path if path.is_dir() else None


if __name__ == "__main__":
    sys.exit(main())
