"""One check on Spark: read, group, run the kernel group by group until nothing meets, decide shapes, explain conflicts.

Tasks are functions of the batch and the store and write nothing, so that a lost executor, a speculative duplicate or a lost cache
only costs time: what was lost is computed again, and comes out the same. The driver sees groups by number, counts, verdicts of
shapes, leftovers, and the insertions of groups that are inconsistent.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import shiq
from abox_ops.conflicts.identities import Identity
from abox_ops.engine import MODEL
from abox_ops.index.columns import vocabulary_of
from abox_ops.local import LocalKnowledgeBase
from jobs.spark import rows as rows_
from jobs.spark.costs import TaggedJobs, describe
from jobs.spark.deciding import DecidedShapes, answered, collected, consistent_shapes, decide, decided_at_once, drawn
from jobs.spark.kernel import (
    CLAUSES,
    DELETED,
    SHAPE,
    SUMMARY,
    AskedRecords,
    GroupSummary,
    kept_of,
    merged_by,
    modules_of,
    run_group,
)
from jobs.spark.kernel import DDL as RECORDS
from jobs.spark.plan import Plan, new_names
from jobs.spark.reading import BatchRows
from jobs.spark.reasoners import Asking
from jobs.spark.rounds import conflicting, grouped, range_width, united
from jobs.spark.session import width_of
from jobs.spark.worker import StoreKey
from shiq.columns.rows import Names
from shiq.model import Assertion, NegativeDataPropertyAssertion, SubClassOf
from shiq.model_json import decode, encode
from shiq.ntriples import assertion_lines
from shiq.result import UndecidedModule
from shiq.verdict import Verdict

_CONTENT = ("kind", "s", "p", "o", "datatype", "language")
#: A batch of no more rows is run by one task: to spread it costs more than it takes.
MOST_AT_ONCE = 10_000


@dataclass(frozen=True)
class Figures:
    """What a check cost: rounds, groups at first and at last, rows of the batch in the ``largest`` of these; rows that its tasks
    read of the store, to look terms up and to close; how often a worker had kept what the tasks asked for."""

    rounds: int = 0
    groups: int = 0
    joints: int = 0
    largest: int = 0
    lookup_rows: int = 0
    rows: int = 0
    cache_hits: int = 0
    cache_misses: int = 0

    def to_dict(self) -> dict[str, int]:
        return {
            "rounds": self.rounds,
            "groups": self.groups,
            "joint_groups": self.joints,
            "largest_group": self.largest,
            "store_rows": self.lookup_rows + self.rows,
            "cache_hits": self.cache_hits,
            "cache_misses": self.cache_misses,
        }


@dataclass(frozen=True)
class ClosedBatch:
    """A batch at the end of its rounds: which group is run with which, and the records of each joint group; ``rows``: what all
    rounds read of the store; ``collected``: the records of a batch that was run at once, on the driver."""

    joint: dict[int, int]
    parts: tuple[tuple[DataFrame, frozenset[int]], ...]
    summaries: dict[int, GroupSummary]
    clauses: bytes
    rounds: int
    rows: int
    collected: pa.Table | None = None

    @property
    def records(self) -> DataFrame:
        frames = [frame.where(F.col("joint").isin(*live)) for frame, live in self.parts if live]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.unionAll(frame)
        return whole

    @property
    def total(self) -> GroupSummary:
        found = GroupSummary()
        for joint in sorted(set(self.joint.values())):
            found = found + self.summaries[joint]
        return found


@dataclass
class BatchGroups:
    """A batch in groups, and what runs it. ``at_once``: it is one group, and so small that the task that runs it decides too,
    and the driver takes all that it tells."""

    spark: SparkSession
    plan: Plan
    rows: DataFrame
    groups: list[int]
    at_once: bool = False
    held: list[DataFrame] = field(default_factory=list)

    def release(self) -> None:
        for frame in self.held:
            frame.unpersist()
        self.held.clear()

    @property
    def tasks(self) -> int:
        return width_of(self.spark)

    # --- rounds -----------------------------------------------------------------------------------

    def close(self) -> ClosedBatch:
        """Runs every group, then as one those that meet, until none do. Stops because groups only join."""
        if self.at_once:
            return self._closed_at_once()
        return self._settled(self.rows, {group: group for group in self.groups}, set(self.groups), None)

    def close_without(self, before: ClosedBatch, removed: pa.Table) -> ClosedBatch:
        """The same for the batch less the rows of ``removed``; groups without such rows are not run again."""
        out = self.spark.createDataFrame(removed.select(list(_CONTENT))).distinct()
        gone = self.rows.join(F.broadcast(out), list(_CONTENT), "left_semi").select("group").distinct().collect()
        stale = {before.joint[row.group] for row in gone}
        rows = self.rows.join(F.broadcast(out), list(_CONTENT), "left_anti")
        return self._settled(rows, dict(before.joint), stale, before)

    def _settled(self, rows: DataFrame, joint: dict[int, int], todo: set[int], before: ClosedBatch | None) -> ClosedBatch:
        parts = list(before.parts) if before else []
        summaries = dict(before.summaries) if before else {}
        clauses = before.clauses if before else b""
        rounds = rows_read = 0
        while True:
            rounds += 1
            describe(self.spark, f"closing groups, round {rounds}: {len(todo)} of {len(set(joint.values()))}")
            several = len(set(joint.values())) > 1
            clauses_by = min(todo, default=None) if self._needs_clauses and not clauses else None
            records = self._run(rows, joint, todo, AskedRecords(several, clauses_by)).persist()
            self.held.append(records)
            live = frozenset(set(joint.values()) - todo)
            parts = [(frame, there & live) for frame, there in parts] + [(records, frozenset(todo))]
            told = records.where(F.col("what").isin(SUMMARY, CLAUSES)).select("joint", "what", "text", "body").collect()
            summaries |= {name: GroupSummary() for name in todo}
            new_summaries = {row.joint: GroupSummary.from_json(row.text) for row in told if row.what == SUMMARY}
            rows_read += sum(summary.rows for summary in new_summaries.values())
            summaries |= new_summaries
            clauses = next((bytes(row.body) for row in told if row.what == CLAUSES), clauses)
            closed = ClosedBatch(joint, tuple(parts), summaries, clauses, rounds, rows_read)
            pairs = conflicting(closed.records) if several else []
            if not pairs:
                return closed
            new = united(joint, pairs)
            todo = {new[group] for group, name in joint.items() if new[group] != name}
            joint = new

    @property
    def _needs_clauses(self) -> bool:
        """Whether modules are put to reasoners by others than who made them."""
        return bool(self.plan.asking.audit) or not (self.at_once or self.plan.criterion == MODEL)

    def _closed_at_once(self) -> ClosedBatch:
        (group,) = self.groups
        describe(self.spark, "closing and deciding the batch, in one task")
        asked = AskedRecords(clauses_by=group if self._needs_clauses else None, answers=True)
        records = self._run(self.rows, {group: group}, {group}, asked).toArrow()
        told = {what: records.filter(pc.equal(records["what"], what)) for what in (SUMMARY, CLAUSES)}
        summary = sum((GroupSummary.from_json(text) for text in told[SUMMARY]["text"].to_pylist()), GroupSummary())
        clauses = next(iter(told[CLAUSES]["body"].to_pylist()), b"")
        return ClosedBatch({group: group}, (), {group: summary}, clauses, 1, summary.rows, records)

    def _run(self, rows: DataFrame, joint: Mapping[int, int], todo: set[int], asked: AskedRecords) -> DataFrame:
        plan = self.plan

        def task(table: pa.Table) -> pa.Table:
            return run_group(table, table["joint"][0].as_py(), plan, asked)

        return self._apply(rows, joint, todo, task, RECORDS)

    def _apply(
        self, rows: DataFrame, joint: Mapping[int, int], todo: set[int], task: Callable[[pa.Table], pa.Table], ddl: str
    ) -> DataFrame:
        """``task`` for the rows of each joint group in ``todo``, one task each."""
        if all(group == name for group, name in joint.items()):
            named = rows.withColumn("joint", F.col("group"))
        else:
            # As Arrow: a list would be unpickled by a Python task for each core that Spark has.
            pairs = pa.table({"group": [*joint], "joint": [*joint.values()]}, _JOINT)
            named = rows.join(F.broadcast(self.spark.createDataFrame(pairs).coalesce(1)), "group")
        if todo != set(joint.values()):
            named = named.where(F.col("joint").isin(*todo))
        if len(self.groups) == 1:
            return named.coalesce(1).mapInArrow(partial(_of_all, task), ddl)
        # A fixed number of partitions keeps adaptive execution from running all groups in one task, since they are small.
        spread = named.repartition(max(1, min(len(todo), 8 * self.tasks)), "joint")
        return spread.groupBy("joint").applyInArrow(task, ddl)

    # --- what is asked for later ------------------------------------------------------------------

    def kept(self, joint: Mapping[int, int]) -> Iterator[Assertion]:
        """A_add, group by group."""
        plan = self.plan

        def task(table: pa.Table) -> pa.Table:
            return pa.table({"text": [json.dumps(encode(a), ensure_ascii=True) for a in kept_of(table, plan)]}, _TEXT)

        for row in self._apply(self.rows, joint, set(joint.values()), task, "text string").toLocalIterator():
            yield decode(json.loads(row.text))

    def frame(self, joint: Mapping[int, int]) -> DataFrame:
        """A_add as triples: s, p, o."""
        plan = self.plan

        def task(table: pa.Table) -> pa.Table:
            lines = [line for a in kept_of(table, plan) for line in assertion_lines(a)]
            parts = [line.removesuffix(" .").split(" ", 2) for line in lines]
            return pa.table({name: [part[i] for part in parts] for i, name in enumerate("spo")}, _TRIPLE)

        return self._apply(self.rows, joint, set(joint.values()), task, "s string, p string, o string")

    def modules(self, joint: Mapping[int, int]) -> list[tuple[str, ...]]:
        """The individuals of each contradictory element, then of each module."""
        return [members for _, members in sorted(self._shaped(joint), key=lambda pair: (bool(pair[0]), pair[1]))]

    def undecided(self, joint: Mapping[int, int], reasons: Mapping[str, str]) -> list[UndecidedModule]:
        """The modules of shapes that have ``reasons`` why they are not decided."""
        found = [UndecidedModule(members, reasons[shape]) for shape, members in self._shaped(joint) if shape in reasons]
        return sorted(found, key=lambda module: module.individuals)

    def _shaped(self, joint: Mapping[int, int]) -> list[tuple[str, tuple[str, ...]]]:
        """See `modules_of`; of all groups."""
        plan = self.plan

        def task(table: pa.Table) -> pa.Table:
            name = table["joint"][0].as_py()
            found = list(modules_of(table, name, plan))
            return pa.table({"shape": [s for s, _ in found], "members": [list(m) for _, m in found]}, _MEMBERS)

        ddl = "shape string, members array<string>"
        with TaggedJobs(self.spark, "modules"):
            rows = self._apply(self.rows, joint, set(joint.values()), task, ddl).collect()
        return [(row.shape, tuple(row.members)) for row in rows]

    def identities(self, joint: Mapping[int, int], chosen: set[int]) -> list[Identity]:
        """The individuals that the ``chosen`` joint groups make equal, by the least ones."""
        plan = self.plan

        def task(table: pa.Table) -> pa.Table:
            return pa.table({"body": [pickle.dumps(identity) for identity in merged_by(table, plan)]}, _BODY)

        with TaggedJobs(self.spark, "individuals that become equal"):
            rows = self._apply(self.rows, joint, chosen, task, "body binary").collect() if chosen else []
        return sorted((pickle.loads(row.body) for row in rows), key=lambda identity: identity.parts)

    def insertions(self, joint: Mapping[int, int], chosen: set[int]) -> pa.Table:
        """The rows of the insertions of the ``chosen`` joint groups."""
        groups = [group for group, name in joint.items() if name in chosen]
        rows = self.rows.where(F.col("group").isin(*groups) & (F.col("split") != DELETED))
        with TaggedJobs(self.spark, "insertions of groups"):
            return rows.select(rows_.SCHEMA.names).toArrow()


def _of_all(task: Callable[[pa.Table], pa.Table], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """``task`` for all rows of a partition, if there are any."""
    some = [batch for batch in batches if batch.num_rows]
    if some:
        yield from task(pa.Table.from_batches(some)).to_batches()


_JOINT = pa.schema([("group", pa.int64()), ("joint", pa.int64())])
_BODY = pa.schema([("body", pa.binary())])
_TEXT = pa.schema([("text", pa.string())])
_TRIPLE = pa.schema([(name, pa.string()) for name in "spo"])
_MEMBERS = pa.schema([("shape", pa.string()), ("members", pa.list_(pa.string()))])


# --- making a batch -------------------------------------------------------------------------------


def planned(
    local: LocalKnowledgeBase, key: StoreKey, added: BatchRows, removed: BatchRows | None, *, criterion: str, asking: Asking
) -> Plan:
    """What every task has to know; see `jobs.spark.kernel`."""
    names = new_names(local.base.names, added.names)
    known: Names = local.base.names.copy()
    for interner, more in zip((known.classes, known.object_properties, known.data_properties), names):
        for name in more:
            interner.id(name)
    classes = np.array(sorted(known.classes.ids[name] for name in added.names[0]), np.int64)
    brought = vocabulary_of(known, classes, added.others.complex, local.roles)
    extra = tuple(x for x in brought if x not in set(local.index.extra))
    whole = (
        criterion not in ("clausal", MODEL)
        or (criterion == MODEL and not local.is_completed)
        or removed is not None
        or any(isinstance(x, SubClassOf) for x in extra)
        or any(isinstance(a, NegativeDataPropertyAssertion) for a in added.others.complex)
    )
    return Plan(key, names, () if whole else extra, asking, criterion, whole)


def batch_of(spark: SparkSession, plan: Plan, added: BatchRows, removed: BatchRows | None, last_node: int) -> BatchGroups:
    """The batch in groups. One that is small, or would be one group, is one, whose rows stay where they were read."""
    asked = spark.conf.get("spark.shiq.range", None)
    width = range_width(last_node, width_of(spark), int(asked) if asked else None)
    rows, count = added.frame, added.count
    if removed is not None:
        rows = rows.unionAll(removed.frame.withColumn("split", F.lit(DELETED).cast("bigint")))
        count += removed.count
    rows = rows.withColumn("content", F.xxhash64(*_CONTENT, F.col("split") == DELETED))
    is_small = count <= MOST_AT_ONCE
    if plan.whole or last_node < width or (is_small and not asked):
        return BatchGroups(spark, plan, rows.withColumn("group", F.lit(0).cast("bigint")), [0], is_small)
    rows = grouped(rows, width, last_node // width + 1).persist()
    groups = sorted(row.group for row in rows.select("group").distinct().collect())
    return BatchGroups(spark, plan, rows, groups or [0], held=[rows])


def run_name(plan: Plan, given: GroupSummary) -> str:
    """What names a run by its question: the store and the content of the batch."""
    told = plan.store.manifest
    text = (shiq.__version__, told.tbox_hash, told.snapshot, told.created, plan.criterion, given.content, given.given)
    decided = ("by form",) if plan.store.by_form else ()
    return hashlib.sha256("\n".join(map(str, (*text, *decided))).encode()).hexdigest()[:32]


# --- deciding -------------------------------------------------------------------------------------


def decided(batch: BatchGroups, closed: ClosedBatch) -> tuple[DecidedShapes, set[int]]:
    """What the reasoners say of the shapes; and the joint groups that are contradictory or have an inconsistent module."""
    total = closed.total
    bad = {joint for joint in set(closed.joint.values()) if closed.summaries[joint].contradictory}
    if not total.modules:
        return DecidedShapes({}, {}, {}, {}), bad
    if closed.collected is not None:
        found = decided_at_once(closed.collected, closed.clauses)
        return found, bad | (set(closed.joint.values()) if found.inconsistent else set())
    describe(batch.spark, "deciding shapes")
    if batch.plan.criterion == MODEL:
        answers = answered(closed.records).persist()
    else:
        answers = decide(closed.records, closed.clauses, batch.plan.asking, batch.tasks).persist()
    try:
        found = collected(answers)
        if found.inconsistent:
            refuted = answers.where(F.col("verdict") == Verdict.INCONSISTENT.value).select(F.col("shape").alias("text"))
            joints = closed.records.where(F.col("what") == SHAPE).join(refuted, "text", "left_semi").select("joint").distinct()
            bad |= {row.joint for row in joints.collect()}
        if bad:
            found = replace(found, consistent=consistent_shapes(answers))
        if batch.plan.asking.audit:
            found = replace(found, drawn=drawn(closed.records, closed.clauses, answers))
    finally:
        answers.unpersist()
    return found, bad
