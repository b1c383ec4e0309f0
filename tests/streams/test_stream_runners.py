"""Each stream system on both runners: random records with ids, lateness and faults, stopped and
begun again, give the same rows in one process and in the tasks of buckets.

The tasks are those that Spark runs, mostly without Spark; some inputs go through Spark itself.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from shiq.jobs.streaming.buckets import BucketStates, BucketStep
from shiq.jobs.streaming.buckets import final_rows_task as finished
from shiq.jobs.streaming.chunks import FOR_DRIVER, HEADER, ChunkHeader, encode_chunks
from shiq.jobs.streaming.ordering import EventOrderer
from shiq.jobs.streaming.stateful_run import columns_for_collector
from shiq.model import RDF
from shiq.streams.consistency import plan
from shiq.streams.consistency.operator import ConsistencyCollector, ConsistencySettings
from shiq.streams.discovery import RuleMiner
from shiq.streams.discovery.ontology import open_ontology
from shiq.streams.enrichment import open_enricher
from shiq.streams.enrichment.cache import EntryCache
from shiq.streams.enrichment.stream import EnrichmentCollector
from shiq.streams.front import intake
from shiq.streams.front.event import Record
from shiq.streams.front.intake import EventIntake, RejectLog, WatermarkTracker
from shiq.streams.front.local import LocalRunner
from shiq.streams.front.run import open_run
from shiq.streams.front.sources import open_source
from shiq.streams.rules import Program
from shiq.streams.rules.records import RuleRecordReader, TripleMapping
from shiq.streams.rules.session import EvaluationOptions
from shiq.streams.rules.stream import RuleIntake, RulesCollector, RulesOperator
from tests.streams_here import Here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATENESS, AHEAD = 2, 30
AXIOMS = (
    " ".join(f"Declaration(Class(<urn:C{n}>))" for n in range(4))
    + " DisjointClasses(<urn:C0> <urn:C1>) SubClassOf(<urn:C2> <urn:C0>)"
)
RULES = """
#rdf c/1 = <urn:C0>.
d(X) :- b(X) at least 2 in [3].
e(X) :- d(X), not c(X).
"""
#: What a run gives: rows and rejects, in no order.
Written = tuple[list[str], list[str]]


def records(seed: int) -> list[Record]:
    """Lines of events: some late, too far ahead, twice, broken, or blank."""
    draw, t, lines = random.Random(seed), 5, list[str]()
    for _ in range(draw.randint(5, 60)):
        t += draw.choice((0, 0, 1, 1, 2))
        who = [f"<urn:x{draw.randrange(4)}>" for _ in range(draw.randint(0, 2))]
        event: dict[str, Any] = {
            "t": max(0, t - draw.choice((0, 0, 0, 1, 2, 4))) + draw.choice((*[0] * 30, 90)),
            "triples": [f"{one} <{RDF}type> <urn:C{draw.randrange(4)}> ." for one in who],
        }
        if draw.random() < 0.4:
            event["id"] = f"e{draw.randrange(6)}"
        if draw.random() < 0.1:
            event["triples"].append(draw.choice(("no triple", "<urn:a> <urn:unknown> <urn:b> .")))
        event["atoms"] = [f"b({draw.randrange(3)})" for _ in range(draw.randrange(3))]
        lines.append(json.dumps(event) if draw.random() > 0.05 else draw.choice(("{", "[]")))
    return [Record("s", number, line.encode()) for number, line in enumerate(lines, 1)]


class System:
    """Makes the collector of a system, whose rows and rejects come to lists."""

    def __init__(self, name: str, onto: str) -> None:
        self.name = name
        self.plan = plan(onto, 3) if name == "consistency" else None
        self.ontology = open_ontology(onto, None, None, None) if name == "discover" else None
        self.program = Program.parse(RULES) if name == "rules" else None
        self.onto = onto

    def collector(self, rows: list[str], rejects: list[str]) -> Any:
        clock, log = WatermarkTracker(LATENESS, AHEAD), RejectLog(rejects.extend)
        if self.name == "enrich":
            # A cache that is full at once: what is a hit depends on all events before.
            enricher = open_enricher(self.onto, reasoner="own", capacity=3)
            return EnrichmentCollector(enricher, rows.extend, log)
        if self.plan is not None:
            heard = lambda found: rows.extend(map(json.dumps, found))  # noqa: E731
            watch = ConsistencyCollector(
                self.plan, EventIntake(clock, log), ConsistencySettings(batch=7), heard
            )
            watch.load_static(None)
            return watch
        if self.program is not None:
            reader = RuleRecordReader(TripleMapping(self.program.checked_program.mappings, "sec"))
            arrivals = RuleIntake(clock, log, reader=reader)
            return RulesCollector(
                RulesOperator(self.program, EvaluationOptions()), arrivals, rows.extend
            )
        miner = RuleMiner(self.ontology, window=4, slide=2, max_atoms=1)

        def told(report: Any) -> None:
            rows.append(json.dumps({**report.to_dict(), "seconds": None}))

        # A window is reported when nothing can come to it.
        return miner.system(intake=EventIntake(clock, log), on_report=told, max_disorder=LATENESS)


def locally(system: Any, found: Sequence[Record], draw: random.Random) -> Written:
    """In this process; it dies at random, and goes on from where it saved."""
    rows, rejects = list[str](), list[str]()
    runner = LocalRunner(system.collector(rows, rejects))
    saved: tuple[int, bytes | None, int, int] = 0, None, 0, 0
    at, deaths = 0, draw.randint(0, 2)
    while at < len(found):
        runner.process(found[at])
        at += 1
        if draw.random() < 0.1:
            runner.flush()
            saved = at, runner.state(), len(rows), len(rejects)
        if deaths and draw.random() < 0.1:
            deaths -= 1
            at, state, *lengths = saved
            del rows[lengths[0] :], rejects[lengths[1] :]
            runner = LocalRunner(system.collector(rows, rejects))
            if state is not None:
                runner.restore(state)
    runner.finish()
    return sorted(rows), sorted(rejects)


def in_tasks(
    system: Any, found: Sequence[Record], draw: random.Random, folder: Path, losing: float = 0.3
) -> Written:
    """In the tasks of buckets, batch by batch, chunks cut at random; a batch may be lost, and done
    again by another driver, from what was saved.
    """
    rows, rejects = list[str](), list[str]()
    collector = system.collector(rows, rejects)
    operator = collector.operator(in_tasks=True)
    states, order, number, at = (
        BucketStates(folder, operator.buckets, operator.is_stateful),
        EventOrderer(operator.limits),
        -1,
        0,
    )
    while at < len(found):
        size, is_lost = draw.randint(1, 25), draw.random() < losing
        saved = order.state(), collector.state(), len(rows), len(rejects)
        saved = json.loads(json.dumps(saved[0])), *saved[1:]
        for _ in range(1 + is_lost):
            batch = found[at : at + size]
            made, texts = list[tuple[int, str, bytes]](), dict[str, dict[int, str]]()
            cut = draw.randint(0, len(batch))
            for place, part in enumerate((batch[:cut], batch[cut:])):
                chunk = list(
                    encode_chunks(
                        part,
                        operator,
                        lambda first, n, place=place: [0, place, n],
                        source="s",
                        is_topic=True,
                    )
                )
                texts[chunk[0][1]] = {record.line: record.text for record in part}
                made += chunk
            heads = {
                place: ChunkHeader.from_bytes(data) for kind, place, data in made if kind == HEADER
            }
            ordered = order.order_batch(heads, Here(made, texts), closely=operator.shows_events)
            moment, shared = ordered.report.stream_time, SimpleNamespace(value=operator)
            step = BucketStep(
                shared,  # type: ignore[arg-type]
                states,
                number,
                number + 1,
                moment,
                ordered.chunk_ranks,
                ordered.use_masks,
            )
            own = [row for row in made if row[0] >= 0]
            tasks = [
                step.partition_task(operator.buckets, 2)(
                    3 + task, [r for r in own if r[0] % 2 == task]
                )
                for task in range(min(2, operator.buckets))
            ]
            if operator.buckets == 1:
                tasks = [step.partition_task(1, 1)(3, own)]
            seen = columns_for_collector([row for row in made if row[0] == FOR_DRIVER], ordered)
            collector.collect(
                replace(ordered.report, collector_columns=seen),
                [row for task in tasks for data in task for row in json.loads(data)],
            )
            if is_lost:
                is_lost = False
                del rows[saved[2] :], rejects[saved[3] :]
                collector = system.collector(rows, rejects)
                collector.restore(saved[1])
                operator, order = collector.operator(in_tasks=True), EventOrderer(operator.limits)
                order.restore(saved[0])
        at, number = at + size, number + 1
    shared = SimpleNamespace(value=operator)
    last = finished(shared, states, number, order.intake.stream_time)  # type: ignore[arg-type]
    collector.finish(row for b in range(operator.buckets) for row in json.loads(last(b)))
    return sorted(rows), sorted(rejects)


def by_spark(system: Any, found: Sequence[Record], draw: random.Random, folder: Path) -> Written:
    """By Spark, in small batches, from a file that grows; each run goes on from a checkpoint."""
    from shiq.jobs.streaming.session import run_on_spark

    rows, rejects = list[str](), list[str]()
    folder.mkdir()
    source, cut = folder / "s", draw.randint(1, len(found))
    for part in (found[:cut], found):
        source.write_bytes(b"".join(record.data + b"\n" for record in part))
        collector = system.collector(rows, rejects)
        if part is not found:
            # The end of the input is behind the checkpoint.
            collector.finish = lambda last: None
        with open_run([open_source(str(source))], {}, folder / "state") as run:
            run_on_spark(collector, run, [str(source)], batch_bytes=draw.randint(300, 3_000))
    return sorted(rows), sorted(row.replace(str(source), "s") for row in rejects)


def disagreements(
    name: str, seeds: Sequence[int], folder: Path, runner: Callable[..., Written] = in_tasks
) -> Iterator[str]:
    """What the runners do not agree on, seed by seed."""
    onto = folder / "onto.ofn"
    onto.write_text(f"Ontology(<urn:o> {AXIOMS})")
    system = System(name, str(onto))
    for seed in seeds:
        read, draw = records(seed), random.Random(seed)
        here = locally(system, read, draw)
        there = runner(system, read, draw, folder / f"{name}-{seed}")
        if name == "rules":
            # One process says of what is late that its point is closed.
            here, there = (
                (rows, [row for row in rejects if '"late"' not in row])
                for rows, rejects in (here, there)
            )
        if here != there:
            yield f"seed {seed}: {here} but {there}"


SYSTEMS = ("consistency", "discover", "enrich", "rules")


@pytest.mark.parametrize("name", SYSTEMS)
def test_both_runners_give_the_same(name: str, tmp_path: Path) -> None:
    assert [*disagreements(name, range(12), tmp_path)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_both_runners_give_the_same_of_many(name: str, tmp_path: Path) -> None:
    assert [*disagreements(name, range(12, 212), tmp_path)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_spark_gives_the_same(name: str, spark: SparkSession, tmp_path: Path) -> None:
    assert [*disagreements(name, range(212, 214), tmp_path, by_spark)] == []


def _forgetful(restore: Callable[..., None]) -> Callable[..., None]:
    def forget(self: EventOrderer, state: Any) -> None:
        restore(self, state)
        self.intake._ids = intake.RecentIds()

    return forget


@pytest.mark.parametrize(
    ("name", "bug"),
    [(name, bug) for name in ("consistency", "rules") for bug in ("ids", "state")]
    + [("enrich", "cache"), ("enrich", "order")],
)
def test_a_planted_bug_is_seen(
    name: str, bug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if bug == "ids":
        monkeypatch.setattr(EventOrderer, "restore", _forgetful(EventOrderer.restore))
    elif bug == "cache":
        monkeypatch.setattr(EntryCache, "restore", lambda self, state, entries: None)
    elif bug == "order":
        # Chunks are shown to the collector in no order.
        shown = columns_for_collector
        turned = lambda *given: {name: of[::-1] for name, of in shown(*given).items()}  # noqa: E731
        monkeypatch.setitem(globals(), "columns_for_collector", turned)
    else:
        restore = LocalRunner.restore

        def forget(self: LocalRunner[Any], state: bytes) -> None:
            restore(self, state)
            self.states = [self.operator.open_state(0, None)]

        monkeypatch.setattr(LocalRunner, "restore", forget)
    assert any(disagreements(name, range(12), tmp_path))
