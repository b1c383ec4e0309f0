"""How much faster than one process `shiq stream consistency --engine spark` would be on many
cores, by what its parts cost here.

``python -m tests.tools.stream_model TBOX EVENTS [CORES]``: the parts of a batch are run one by
one in this process and their CPU seconds taken, so that other load hardly counts. Tasks of a
stage go to whichever core is free first, stages come one after the other, and what the driver
does comes in between. What Spark itself takes for a batch (`JOBS`) is assumed, not measured.
"""

from __future__ import annotations

import heapq
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from types import SimpleNamespace
from typing import Any, Final

from jobs.streaming.chunks import HEAD, EventLimits, Head, rows_of
from jobs.streaming.consistency import Consistency
from jobs.streaming.ordering import Order
from jobs.streaming.pieces import (
    BATCH_BYTES,
    PIECES,
    advanced,
    batch_bytes,
    between,
    records,
    units,
)
from jobs.streaming.stages import BucketStates, BucketStep
from streams.consistency import check_stream, plan

WINDOW, LATENESS = 3, 3
#: Seconds that Spark takes to start and end the jobs of a batch: three, one of them of a task, and
#: the job that tells figures.
JOBS: Final = 0.5


def spread(seconds: Iterable[float], cores: int) -> float:
    """The seconds until tasks are done, each on the core that is free first."""
    free = [0.0] * cores
    for taken in seconds:
        heapq.heapreplace(free, free[0] + taken)
    return max(free)


def timed(work: Any) -> tuple[float, Any]:
    begun = process_time()
    found = work()
    return process_time() - begun, found


def batches(
    tbox: str, events: str, cores: int
) -> Iterable[tuple[list[float], float, list[float], int]]:
    """Of each batch: seconds of tasks that parse, of the order, of tasks with buckets; rows."""
    system = Consistency(plan(tbox, WINDOW), {}, {}, EventLimits(window=WINDOW, lateness=LATENESS))
    order, there, at, before = Order(system.limits), units([events]), dict[str, int](), -1
    with TemporaryDirectory() as folder:
        states = BucketStates(Path(folder), system.buckets)
        while (then := advanced(there, at, batch_bytes(BATCH_BYTES, cores))) != at:
            parsing, rows = list[float](), list[Any]()
            for number, piece in enumerate(between(there, at, then, BATCH_BYTES // PIECES)):
                how: dict[str, Any] = {"source": events, "position": (piece.unit.key, piece.high)}
                place = lambda _, n, number=number: [0, number, n]  # noqa: E731
                taken, found = timed(
                    lambda p=piece, a=place, h=how: list(rows_of(records(p, "sec"), system, a, **h))
                )  # type: ignore[misc]
                parsing.append(taken)
                rows += found
            heads = {place: Head.of_bytes(data) for bucket, place, data in rows if bucket == HEAD}
            judging, ordered = timed(lambda h=heads: order.judge(h, SimpleNamespace()))  # type: ignore[misc]
            shared: Any = SimpleNamespace(value=system)
            step = BucketStep(
                shared, states, before, before + 1, ordered.told.moment, ordered.ranks, ordered.used
            )
            deciding, said = list[float](), 0
            for bucket in range(system.buckets):
                own = [row for row in rows if row[0] == bucket]
                taken, found = timed(
                    lambda step=step, b=bucket, o=own: list(
                        step.of_partition(b + 1, system.buckets)(b + 3, o)
                    )
                )  # type: ignore[misc]
                deciding.append(taken)
                said += sum(len(json.loads(data)) for data in found)
            states.forget(before + 1)
            at, before = then, before + 1
            yield parsing, judging, deciding, said


def main(tbox: str, events: str, cores: int = 100) -> None:
    one, _ = timed(lambda: check_stream(plan(tbox, WINDOW), events, lateness=LATENESS))
    whole = 0.0
    for number, (parsing, judging, deciding, said) in enumerate(batches(tbox, events, cores)):
        wall = spread(parsing, cores) + judging + spread(deciding, cores) + JOBS
        whole += wall
        stages = f"{len(parsing)} pieces {sum(parsing):.2f} s (longest {max(parsing):.2f}), order {judging:.3f}"
        stages += f", buckets {sum(deciding):.2f} (longest {max(deciding):.2f})"
        print(f"batch {number}: {stages}, {said} rows; {wall:.2f} s on {cores} cores")
    print(f"one process {one:.2f} s, {cores} cores {whole:.2f} s: {one / whole:.1f} x")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
