"""Shapes decided in executors: each Python worker has a reasoner of its own, kept from task to task."""

from __future__ import annotations

import json
import pickle
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.spark.auditing import DrawnShapes
from jobs.spark.kernel import DRAWN, SHAPE
from jobs.spark.reasoners import Asking, reasoner_of
from jobs.spark.worker import kept
from shiq.clause import ClausalTBox
from shiq.deadline import seconds_left
from shiq.reasoner.protocol import Answer
from shiq.verdict import Verdict

DDL = "shape string, modules bigint, verdict string, reason string, used string"
_SCHEMA = pa.schema(
    [("shape", pa.string()), ("modules", pa.int64()), ("verdict", pa.string()), ("reason", pa.string()), ("used", pa.string())]
)
#: More consistent shapes than this are decided again where they are needed.
MOST_REMEMBERED = 200_000


@dataclass(frozen=True)
class DecidedShapes:
    """``modules`` and ``shapes`` by verdict; ``undecided``: the reason by shape; ``inconsistent``: the answers by shape;
    ``consistent``: shapes that are known to be, where they are needed for explaining; ``drawn``: shapes for an audit."""

    modules: dict[str, int]
    shapes: dict[str, int]
    undecided: dict[str, str]
    inconsistent: dict[str, Answer]
    consistent: frozenset[str] = frozenset()
    drawn: DrawnShapes | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why shapes are undecided, the first hundred reasons."""
        return tuple(sorted({*self.undecided.values()})[:100])


def decide(records: DataFrame, clauses: bytes, asking: Asking, tasks: int) -> DataFrame:
    """The answer for each distinct shape of ``records``, whose modules are over the pickled ``clauses``: shape, modules that have
    it, verdict, reason, clauses used."""
    shapes = (
        records.where(F.col("what") == SHAPE)
        .groupBy(F.col("text").alias("shape"))
        .agg(F.sum("count").alias("modules"), F.min("body").alias("body"))
    )
    return shapes.repartition(tasks, "shape").mapInArrow(partial(_decide, clauses, asking), DDL)


def answered(records: DataFrame) -> DataFrame:
    """The same where the groups have decided their modules themselves (criterion `model`)."""
    body = F.col("body").cast("string")
    told = records.where(F.col("what") == SHAPE).select(
        F.col("text").alias("shape"),
        F.col("count").alias("modules"),
        *(F.get_json_object(body, f"$.{name}").alias(name) for name in ("verdict", "reason", "used")),
    )
    return told.groupBy("shape", "verdict").agg(
        F.sum("modules").alias("modules"), F.min("reason").alias("reason"), F.min("used").alias("used")
    )


def collected(answers: DataFrame) -> DecidedShapes:
    """What the driver has to know of the answers."""
    sums = answers.groupBy("verdict").agg(F.sum("modules").alias("modules"), F.count("*").alias("shapes")).collect()
    undecided: dict[str, str] = {}
    inconsistent: dict[str, Answer] = {}
    verdicts = {row.verdict for row in sums}
    if Verdict.UNDETERMINED.value in verdicts:
        rows = answers.where(F.col("verdict") == Verdict.UNDETERMINED.value).select("shape", "reason").collect()
        undecided = {row.shape: row.reason for row in rows}
    if Verdict.INCONSISTENT.value in verdicts:
        for row in answers.where(F.col("verdict") == Verdict.INCONSISTENT.value).collect():
            inconsistent[row.shape] = _refuted(row.reason, row.used)
    return DecidedShapes(
        {row.verdict: row.modules for row in sums}, {row.verdict: row.shapes for row in sums}, undecided, inconsistent
    )


def decided_at_once(records: pa.Table, clauses: bytes) -> DecidedShapes:
    """The same of the ``records`` of one task, with all that may be asked for later: the consistent shapes, and those that are
    drawn, over the pickled ``clauses``."""
    shapes = records.filter(pc.equal(records["what"], SHAPE)).select(["text", "count", "body"]).to_pylist()
    modules, counts = Counter[str](), Counter[str]()
    told = {row["text"]: json.loads(row["body"]) for row in shapes}
    for row in shapes:
        verdict = told[row["text"]]["verdict"]
        modules[verdict] += row["count"]
        counts[verdict] += 1

    def those(verdict: Verdict) -> dict[str, dict[str, str]]:
        return {shape: said for shape, said in told.items() if said["verdict"] == verdict.value}

    undecided = {shape: said["reason"] for shape, said in those(Verdict.UNDETERMINED).items()}
    inconsistent = {shape: _refuted(said["reason"], said["used"]) for shape, said in those(Verdict.INCONSISTENT).items()}
    rows = records.filter(pc.equal(records["what"], DRAWN)).sort_by("text").select(["text", "body"]).to_pylist()
    asked = tuple((pickle.loads(row["body"]), told[row["text"]]["verdict"]) for row in rows)
    known = frozenset(those(Verdict.CONSISTENT))
    drawn_ = DrawnShapes(pickle.loads(clauses), asked) if clauses else None
    return DecidedShapes(dict(modules), dict(counts), undecided, inconsistent, known, drawn_)


def _refuted(reason: str, used: str) -> Answer:
    clauses = json.loads(used)
    return Answer(Verdict.INCONSISTENT, reason, None if clauses is None else frozenset(clauses))


def consistent_shapes(answers: DataFrame) -> frozenset[str]:
    """The names of the consistent shapes, `MOST_REMEMBERED` at most."""
    known = answers.where(F.col("verdict") == Verdict.CONSISTENT.value).select("shape")
    return frozenset(row.shape for row in known.limit(MOST_REMEMBERED).collect())


def drawn(records: DataFrame, clauses: bytes, answers: DataFrame) -> DrawnShapes:
    """The shapes of ``records`` that are drawn for an audit, with their ``answers``."""
    modules = records.where(F.col("what") == DRAWN).groupBy(F.col("text").alias("shape")).agg(F.min("body").alias("body"))
    rows = modules.join(answers.groupBy("shape").agg(F.min("verdict").alias("verdict")), "shape").collect()
    found = sorted((row.shape, pickle.loads(row.body), row.verdict) for row in rows)
    return DrawnShapes(cast(ClausalTBox, pickle.loads(clauses)), tuple((module, verdict) for _, module, verdict in found))


def _decide(clauses: bytes, asking: Asking, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    deadline = None if asking.seconds is None else time.monotonic() + asking.seconds
    tbox = None
    for batch in batches:
        if not batch.num_rows:
            continue
        if tbox is None:
            tbox = kept("clauses", clauses, lambda: cast(ClausalTBox, pickle.loads(clauses)))
        reasoner = reasoner_of(asking)
        modules = [pickle.loads(body) for body in batch.column("body").to_pylist()]
        answers = reasoner.decide(tbox, modules, seconds_left(deadline))
        columns = [
            batch.column("shape"),
            batch.column("modules"),
            [answer.verdict.value for answer in answers],
            [answer.reason for answer in answers],
            [json.dumps(None if answer.used is None else sorted(answer.used)) for answer in answers],
        ]
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=_SCHEMA)
