"""Stream rules on Spark give the lines of one process, whatever the batches and shards."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shiq.streams.front.event import Event, Record
from shiq.streams.front.intake import RejectLog, WatermarkTracker
from shiq.streams.front.local import LocalRunner
from shiq.streams.rules import Program
from shiq.streams.rules.session import EvaluationOptions
from shiq.streams.rules.stream import RuleIntake, RulesCollector, RulesOperator, RulesResult
from tests.command_line import shiq
from tests.streams_here import judged
from tests.tools.rules.random_programs import FUNCTIONS, Case, random_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

KEYED = """c(X) :- b(X) at least 2 in [3]. e(X) :- c(X) in [2], not b(X). g(X,Y) :- b(X), &twice(X;Y).
#trigger_frequency(3) h(X) :- c(X), f(X). f(1). f(3).
"""
PYTHON = "def twice(x):\n    return 2 * x if isinstance(x, int) else x\n"


def _keyed(number: int) -> Iterator[Case]:
    seed = 0
    while number:
        case = random_case(seed)
        seed += 1
        if (
            "key" in case.used
            and Program.parse(case.text, FUNCTIONS, at_most_binds=case.at_most_binds).key.key
            is not None
        ):
            number -= 1
            yield case


def test_buckets_in_batches_are_one_session() -> None:
    from shiq.streams.front.intake import EventLimits, StreamTime
    from shiq.streams.rules.stream import RulesOperator

    for case in _keyed(12):
        draw = random.Random(case.seed)
        program = Program.parse(case.text, FUNCTIONS, at_most_binds=case.at_most_binds)
        wanted = [(model.t, model.derived) for model in program.run(case.events, **case.options)]
        options = EvaluationOptions(**case.options)
        system = RulesOperator(program, options, EventLimits(), buckets=3)
        open_states: list[Any] = [None] * 3
        found: dict[int, list[str]] = {t: [] for t, _ in wanted}
        states: list[bytes | None] = [None] * 3
        left, first = list(case.events), case.events[0][0]
        while left:
            size = draw.randint(1, 4)
            batch, left = left[:size], left[size:]
            split = system.partition_events([Event(t, atoms=tuple(atoms)) for t, atoms in batch])
            assert not split.rejects
            moment = StreamTime(first, batch[-1][0], batch[-1][0])
            for bucket in range(3):
                if draw.random() < 0.5 or open_states[bucket] is None:
                    open_states[bucket] = system.open_state(bucket, states[bucket])
                parts = [split.parts[bucket]] if bucket in split.parts else []
                for row in open_states[bucket].step(parts, moment):
                    found[row["t"]] += row["atoms"]
                states[bucket] = open_states[bucket].to_bytes()
        for bucket, state in enumerate(states):
            assert state is not None
            for row in system.open_state(bucket, state).finish(moment):
                found[row["t"]] += row["atoms"]
        assert [(t, sorted(set(atoms))) for t, atoms in sorted(found.items())] == wanted, (
            f"seed {case.seed}"
        )


def test_the_second_event_of_an_id_is_dropped_in_one_process_and_on_spark() -> None:
    """By the judge of a batch on Spark, which needs no Spark, and by one process; also over a
    restart.
    """
    from shiq.jobs.streaming.chunks import encode_chunks
    from shiq.jobs.streaming.ordering import EventOrderer

    program = Program.parse("c(X) :- b(X) at least 1 in [3].")
    options, draw = EvaluationOptions(lateness=2, max_ahead=20), random.Random(5)
    times = [max(0, n // 3 + draw.randint(-3, 1)) for n in range(300)]
    events = [
        {"t": t, "atoms": [f"b({n})"], "id": f"e{draw.randint(0, 30)}"} for n, t in enumerate(times)
    ]
    records = [
        Record("s", line, json.dumps(event).encode()) for line, event in enumerate(events, 1)
    ]

    def stream() -> tuple[LocalRunner[RulesResult], list[str]]:
        rows: list[str] = []
        arrivals = RuleIntake(WatermarkTracker(2, 20), RejectLog())
        return LocalRunner(
            RulesCollector(RulesOperator(program, options), arrivals, rows.extend)
        ), rows

    (whole, lines), (first, some), (second, others) = stream(), stream(), stream()
    for record in records:
        whole.process(record)
    for record in records[:150]:
        first.process(record)
    first.flush()
    second.restore(first.state())
    for record in records[150:]:
        second.process(record)
    assert (
        whole.finish().statistics["duplicates"]
        == second.finish().statistics["duplicates"]
        == whole.intake.duplicates
        > 30
    )
    assert lines == some + others
    rules = whole.collector.operator(in_tasks=True)
    chunks = list(encode_chunks(records, rules, lambda record, number: [number], source="s"))
    told, _, _ = judged(
        EventOrderer(rules.limits),
        chunks,
        {chunks[0][1]: {record.line: record.text for record in records}},
    )
    assert (told.counts["duplicates"], told.counts["events"]) == (
        whole.intake.duplicates,
        whole.collector.counts["atoms"],
    )


@pytest.mark.slow
def test_spark_gives_the_lines_of_one_process(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.lp").write_text(KEYED)
    (tmp_path / "f.py").write_text(PYTHON)
    draw = random.Random(4)
    lines = [
        f"{t} {'; '.join(f'b({draw.randrange(9)})' for _ in range(draw.randrange(4)))}"
        for t in range(0, 60, 2)
    ]
    lines[7] += "; b(X)"
    lines.insert(12, "3 b(1)")
    lines.append(json.dumps({"t": 61, "atoms": ["b(1)", 'b("a")']}))
    (tmp_path / "in").write_text("\n".join(lines) + "\n")

    def ran(*more: object) -> tuple[str, list[tuple[str, int]]]:
        outputs = ("--rejects", "rejects.jsonl", "--json", "r.json", "-q")
        done = shiq(
            "stream",
            "rules",
            "a.lp",
            "-s",
            tmp_path / "in",
            "--python",
            "f.py",
            *outputs,
            *more,
            cwd=tmp_path,
        )
        assert done.returncode == 3, done.stderr
        assert json.loads((tmp_path / "r.json").read_text())["statistics"]["points"] == 62
        rejects = map(json.loads, (tmp_path / "rejects.jsonl").read_text().splitlines())
        return done.stdout, [(row["kind"], row["line"]) for row in rejects]

    assert ran("--engine", "spark", "--shards", 3, "--checkpoint", "state") == ran()
