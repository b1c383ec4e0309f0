"""Rules learnt by Spark are those of one process, whatever the batches, tasks and deaths; a
followed run counts nothing twice.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from shiq import model as owl
from shiq.streams.discovery import RuleMiner
from shiq.streams.discovery.ontology import MinerOntology
from shiq.streams.discovery.report_outputs import ReportOutputs
from shiq.streams.front.intake import EventIntake, RejectLog, WatermarkTracker
from shiq.streams.front.local import LocalRunner
from shiq.streams.front.run import open_run
from shiq.streams.front.sources import open_source
from tests.conftest import ROOT
from tests.discovery_cases import lines, random_case, told
from tests.streams_here import judged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

#: A seed whose stream has a snapshot that contradicts T, and rules in its windows.
SEED, SNAPSHOTS, STEP = 73, 150, 10
OPTIONS: dict[str, Any] = {
    "window": 70,
    "slide": 20,
    "min_support": 0.1,
    "min_confidence": 0.3,
    "max_atoms": 2,
    "refute": True,
}


def events() -> list[str]:
    """What two sources say: snapshots divided, repeated, missing and broken."""
    stream = random_case(SEED)[2]
    told_then = [lines(stream[t]) for t in sorted(stream)]
    found = []
    for t in range(SNAPSHOTS):
        texts = told_then[t * 7 % len(told_then)]
        if t % 31 == 5:
            continue
        found.append(json.dumps({"t": t * STEP, "triples": texts[::2]}))
        found.append(
            json.dumps(
                {"t": t * STEP + 3, "triples": [*texts, "no triple"] if t % 40 == 1 else texts}
            )
        )
    return [*found[:50], "no json", *found[50:]]


def ontology() -> MinerOntology:
    tbox, static, _ = random_case(SEED)
    return MinerOntology(
        tbox, tuple(static), {f"<{iri}>": owl.Class(iri) for iri in sorted(tbox.signature.classes)}
    )


def ran(
    session: SparkSession | None,
    targets: Sequence[str],
    folder: Path,
    *,
    checkpoint: Path | None = None,
    follow: bool = False,
    batch_bytes: int = 5_000,
) -> tuple[Any, Any]:
    """The JSON of a run, by Spark where there is a session, without seconds; and its rejects."""
    from shiq.jobs.streaming.session import run_on_spark

    folder.mkdir(exist_ok=True)
    out, rejected = folder / "rows.jsonl", folder / "rejects.jsonl"
    miner = RuleMiner(ontology(), step=STEP, **OPTIONS)
    with open_run(
        [open_source(t) for t in targets], {"out": str(out), "rejects": str(rejected)}, checkpoint
    ) as run:
        lateness = OPTIONS["window"] if follow else None
        arrivals = EventIntake(
            WatermarkTracker(lateness), RejectLog(run.outputs.make_text_writer("rejects"))
        )
        delivery = ReportOutputs(miner, run.outputs.make_writer("out"))
        system = miner.system(intake=arrivals, on_report=delivery.deliver)
        system.max_disorder = 0 if follow else None
        if session is not None:
            result = run_on_spark(
                system,
                run,
                targets,
                follow=follow,
                session=session,
                batch_bytes=batch_bytes,
            )
        else:
            time = None if follow else system.record_time_reader(run.input.sources)
            result = run.feed_system(LocalRunner(system), follow=follow, time=time)
        document = delivery.json_document(result)
    return cleaned(document), sorted(rejected.read_text().splitlines())


def cleaned(document: dict[str, Any]) -> dict[str, Any]:
    """The JSON without seconds."""
    del document["statistics"]["seconds"]
    document["leftovers"].sort(key=str)
    return {**document, "windows": list(map(told, document["windows"]))}


def rows(folder: Path) -> list[Any]:
    return [told(json.loads(line)) for line in (folder / "rows.jsonl").read_text().splitlines()]


def sources(folder: Path) -> list[str]:
    """Two files."""
    both = events()
    for name, part in (("a", both[::2]), ("b", both[1::2])):
        (folder / f"{name}.jsonl").write_text("\n".join(part) + "\n")
    return [str(folder / "a.jsonl"), str(folder / "b.jsonl")]


def by_batches(targets: Sequence[str], folder: Path, dice: Random) -> tuple[Any, Any]:
    """What `ran` gives by Spark, without it: records in order of the sources, cut into chunks
    and batches at random.
    """
    from shiq.jobs.streaming.chunks import encode_chunks
    from shiq.jobs.streaming.ordering import EventOrderer

    folder.mkdir()
    miner = RuleMiner(ontology(), step=STEP, **OPTIONS)
    out, rejected = folder / "rows.jsonl", folder / "rejects.jsonl"
    with open_run(
        [open_source(t) for t in targets], {"out": str(out), "rejects": str(rejected)}
    ) as run:
        delivery = ReportOutputs(miner, run.outputs.make_writer("out"))
        arrivals = EventIntake(
            WatermarkTracker(None), RejectLog(run.outputs.make_text_writer("rejects"))
        )
        listener = miner.system(intake=arrivals, on_report=delivery.deliver)
        system = listener.operator(in_tasks=True)
        states: dict[int, bytes] = {}
        kept_order: Any = None
        for place, target in enumerate(targets):
            records = list(open_source(target).read(False))
            while records:
                size = dice.randint(1, 60)
                batch, records = records[:size], records[size:]
                chunks = encode_chunks(
                    batch,
                    system,
                    lambda first, n, place=place: [place, 0, first.line, n],
                    source=target,
                    is_topic=True,
                )
                order = EventOrderer(pickle.loads(pickle.dumps(system.limits)))
                if kept_order is not None:
                    order.restore(json.loads(json.dumps(kept_order)))
                told_now, parts, _ = judged(order, chunks)
                found = []
                for bucket in range(system.buckets):
                    worker = system if dice.random() < 0.5 else pickle.loads(pickle.dumps(system))
                    state = worker.open_state(bucket, states.get(bucket))
                    rows_now = list(state.step(parts.get(bucket, []), told_now.stream_time))
                    states[bucket] = state.to_bytes()
                    found += json.loads(json.dumps(rows_now))
                kept_order = order.state()
                listener.collect(told_now, found)
        document = delivery.json_document(listener.finish())
        run.outputs.flush()
    return cleaned(document), sorted(rejected.read_text().splitlines())


def test_any_batches_give_the_json_of_one_process(tmp_path: Path) -> None:
    targets = sources(tmp_path)
    here = ran(None, targets, tmp_path / "here")
    assert here[0]["windows"][-1]["rules"] and here[1] and here[0]["verdict"] == "inconsistent"
    assert by_batches(targets, tmp_path / "batches", Random(1)) == here
    assert rows(tmp_path / "batches") == rows(tmp_path / "here")


def test_any_batches_tell_the_same_rules_that_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OPTIONS, "min_lift", 2.0)
    monkeypatch.setitem(OPTIONS, "head", ["urn:A", "urn:D"])
    targets = sources(tmp_path)
    here = ran(None, targets, tmp_path / "here")
    assert {(len(each["rules"]), each["untold"]) for each in here[0]["windows"]} == {(2, 3)}
    assert by_batches(targets, tmp_path / "batches", Random(2)) == here


@pytest.mark.slow
@pytest.mark.spark
def test_spark_gives_the_json_of_one_process(tmp_path: Path, spark: SparkSession) -> None:
    from shiq.jobs.streaming.session import streaming_session

    session, _ = streaming_session()
    targets = sources(tmp_path)
    here = ran(None, targets, tmp_path / "here")
    assert here[0]["windows"][-1]["rules"] and here[1] and here[0]["verdict"] == "inconsistent"
    assert ran(session, targets, tmp_path / "spark", batch_bytes=1 << 20) == here
    assert rows(tmp_path / "spark") == rows(tmp_path / "here")


# --- deaths ---------------------------------------------------------------------------------------


def program(source: str, folder: str, master: str, follow: bool) -> None:
    """A run in small batches, with a checkpoint, in a process that may be killed; in this
    process alone without a ``master``.
    """
    from shiq.jobs.spark.session import stop_session
    from shiq.jobs.streaming.session import streaming_session

    session = streaming_session(master)[0] if master else None
    place = Path(folder)
    ran(
        session, [source], place, checkpoint=place / "checkpoint", follow=follow, batch_bytes=10_000
    )
    if session is not None:
        stop_session(session)


def begin(source: Path, folder: Path, master: str, *, follow: bool) -> subprocess.Popen[bytes]:
    call = f"program({str(source)!r}, {str(folder)!r}, {master!r}, {follow})"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    folder.mkdir(exist_ok=True)
    with (folder / "log").open("ab") as log:
        code = f"from tests.streams.test_discovery_spark import program; {call}"
        return subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=log, stderr=log
        )


def wait_for(process: subprocess.Popen[bytes], folder: Path, windows: int) -> None:
    """Until the checkpoint has the rows of so many windows."""
    file, deadline = folder / "checkpoint" / "checkpoint.json", time.monotonic() + 600
    while (
        not file.exists()
        or len((folder / "rows.jsonl").read_bytes()[: kept(file)].splitlines()) < windows
    ):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise AssertionError((folder / "log").read_text()[-3000:])
        time.sleep(0.1)


def kept(file: Path) -> int:
    """Up to where a checkpoint knows the rows."""
    return int(json.loads(file.read_bytes())["lengths"]["out"])


@pytest.mark.slow
@pytest.mark.parametrize("master", ["", pytest.param("local[2]", marks=pytest.mark.spark)])
def test_a_followed_run_that_is_killed_counts_nothing_twice(tmp_path: Path, master: str) -> None:
    """Snapshots divided between what is there before a death and after it."""
    source, folder, texts = tmp_path / "events.jsonl", tmp_path / "followed", events()
    source.write_text("\n".join(texts) + "\n")
    expected = ran(None, [str(source)], tmp_path / "here")
    assert len(expected[0]["windows"]) == 5
    for windows, upto in ((1, 184), (3, 250)):
        source.write_text("\n".join(texts[:upto]) + "\n")
        killed = begin(source, folder, master, follow=True)
        wait_for(killed, folder, windows)
        killed.kill()
        killed.wait()
    source.write_text("\n".join(texts) + "\n")
    last = begin(source, folder, master, follow=True)
    wait_for(last, folder, 4)
    last.send_signal(signal.SIGINT)
    assert last.wait() == 0, (folder / "log").read_text()[-3000:]
    assert rows(folder) == rows(tmp_path / "here")
    assert sorted((folder / "rejects.jsonl").read_text().splitlines()) == expected[1]


@pytest.mark.slow
@pytest.mark.spark
def test_an_executor_is_killed(tmp_path: Path) -> None:
    from tests.spark_cluster import cluster, kill_a_worker

    source, folder = tmp_path / "events.jsonl", tmp_path / "killed"
    source.write_text("\n".join(events()) + "\n")
    expected = ran(None, [str(source)], tmp_path / "here")
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as made:
        process = begin(source, folder, made.url, follow=False)
        wait_for(process, folder, 0)
        kill_a_worker(made)
        assert process.wait() == 0, (folder / "log").read_text()[-3000:]
    assert rows(folder) == rows(tmp_path / "here")
    assert sorted((folder / "rejects.jsonl").read_text().splitlines()) == expected[1]
