"""How much faster than one process `shiq stream consistency --engine spark` would be on many
cores, by what its parts cost here.

``python -m tests.tools.stream_model TBOX EVENTS [CORES]``: the parts of a batch are run one by
one in this process and their CPU seconds taken, so that other load hardly counts. Tasks of a
stage go to whichever core is free first, stages come one after the other, and what the driver
does (cuts pieces, judges the order, writes rows) comes in between. What Spark itself takes for a
batch is the time that as many tasks take here which do nothing: more than a cluster's driver
takes, since these cores run the tasks too.
"""

from __future__ import annotations

import heapq
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from types import SimpleNamespace
from typing import Any, NamedTuple

from shiq.jobs.streaming.buckets import BucketStates, BucketStep
from shiq.jobs.streaming.chunks import HEADER, ChunkHeader, encode_chunks
from shiq.jobs.streaming.ordering import EventOrderer
from shiq.jobs.streaming.session import streaming_session
from shiq.jobs.streaming.sources import (
    BATCH_BYTES,
    BATCH_FACTOR,
    PIECES,
    advance_positions,
    bytes_per_batch,
    list_source_files,
    ranges_between,
    read_records,
)
from shiq.streams.consistency import check_stream, plan
from shiq.streams.consistency.operator import ConsistencyCollector
from shiq.streams.front.intake import EventIntake, RejectLog, WatermarkTracker

WINDOW, LATENESS = 3, 3
#: How often Spark's jobs are timed; the first time it loads what they need.
TIMES = 4


class BatchCost(NamedTuple):
    """CPU seconds of a batch: of tasks that parse, and of the driver for them; of tasks with
    buckets, and of the driver for their rows.
    """

    parsing: list[float]
    ordering: float
    deciding: list[float]
    hearing: float
    rows: int


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


def batches(tbox: str, events: str, cores: int) -> Iterator[BatchCost]:
    """What each batch for so many cores costs."""
    watch = ConsistencyCollector(
        plan(tbox, WINDOW), EventIntake(WatermarkTracker(LATENESS), RejectLog())
    )
    watch.load_static(None)
    system, at, before = watch.operator(in_tasks=True), dict[str, int](), -1
    order, most = EventOrderer(system.limits), bytes_per_batch(BATCH_BYTES, cores) * BATCH_FACTOR
    with TemporaryDirectory() as folder:
        states = BucketStates(Path(folder), system.buckets)
        while True:
            begun = process_time()
            there = list_source_files([events])
            then = advance_positions(there, at, most)
            pieces = ranges_between(there, at, then, BATCH_BYTES // PIECES)
            cutting = process_time() - begun
            if not pieces:
                return
            parsing, rows = list[float](), list[Any]()
            for number, piece in enumerate(pieces):
                how: dict[str, Any] = {"source": events, "position": (piece.file.key, piece.high)}
                place = lambda _, n, number=number: [0, number, n]  # noqa: E731
                taken, found = timed(
                    lambda p=piece, a=place, h=how: list(
                        encode_chunks(read_records(p, "sec"), system, a, **h)
                    )
                )  # type: ignore[misc]
                parsing.append(taken)
                rows += found
            begun = process_time()
            heads = {
                place: ChunkHeader.from_bytes(data)
                for bucket, place, data in rows
                if bucket == HEADER
            }
            ordered = order.order_batch(heads, SimpleNamespace())  # type: ignore[arg-type]
            judging = process_time() - begun
            shared: Any = SimpleNamespace(value=system)
            moment = ordered.report.stream_time
            step = BucketStep(
                shared, states, before, before + 1, moment, ordered.chunk_ranks, ordered.use_masks
            )
            deciding, said = list[float](), list[bytes]()
            for bucket in range(system.buckets):
                own = [row for row in rows if row[0] == bucket]
                taken, found = timed(
                    lambda step=step, b=bucket, o=own: list(
                        step.partition_task(b + 1, system.buckets)(b + 3, o)
                    )
                )  # type: ignore[misc]
                deciding.append(taken)
                said += found
            hearing, heard = timed(lambda s=said: [row for data in s for row in json.loads(data)])  # type: ignore[misc]
            hearing += timed(
                lambda o=ordered, h=heard: watch.collect(replace(o.report, collector_columns=[]), h)
            )[0]  # type: ignore[misc]
            states.remove_other_batches(before + 1)
            at, before = then, before + 1
            yield BatchCost(parsing, cutting + judging, deciding, hearing, len(heard))


def spark_seconds(counts: Iterable[tuple[int, int]]) -> list[float]:
    """How long Spark takes for the jobs of batches, each of so many pieces and buckets, whose
    tasks do nothing: the least of several times.
    """
    session, _ = streaming_session("local[2]", follow=False)
    found = list[float]()
    try:
        for pieces, buckets in counts:
            times = list[float]()
            for _ in range(TIMES):
                begun = perf_counter()
                session.range(0, pieces, 1, pieces).repartition(3 + buckets).count()
                for _ in ("heads", "figures"):
                    session.range(1).collect()
                times.append(perf_counter() - begun)
            found.append(min(times))
    finally:
        session.stop()
    return found


def main(tbox: str, events: str, cores: int = 100) -> None:
    one, _ = timed(lambda: check_stream(plan(tbox, WINDOW), events, lateness=LATENESS))
    costs = list(batches(tbox, events, cores))
    jobs = spark_seconds((len(cost.parsing), len(cost.deciding)) for cost in costs)
    whole = serial = 0.0
    for number, (cost, job) in enumerate(zip(costs, jobs)):
        driver = cost.ordering + cost.hearing
        wall = spread(cost.parsing, cores) + spread(cost.deciding, cores) + driver + job
        whole, serial = whole + wall, serial + driver + job
        parsing, deciding = cost.parsing, cost.deciding
        stages = f"{len(parsing)} pieces {sum(parsing):.2f} s (longest {max(parsing):.2f})"
        stages += f", order {cost.ordering:.3f}, rows {cost.hearing:.3f}, Spark {job:.2f}"
        stages += f", buckets {sum(deciding):.2f} (longest {max(deciding):.2f}), {cost.rows} rows"
        print(f"batch {number}: {stages}; {wall:.2f} s on {cores} cores")
    print(f"one process {one:.2f} s, {cores} cores {whole:.2f} s: {one / whole:.1f} x")
    print(f"of them one after the other, measured: {serial:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
