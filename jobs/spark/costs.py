"""The Spark jobs of a check: what each is for, as Spark's pages show it, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

from pyspark.sql import SparkSession

#: The tag of every job of a check.
TAG = "shiq"
_DESCRIPTION = "spark.job.description"


def describe(spark: SparkSession, stage: str) -> None:
    """Says what the jobs that are started from now on are for."""
    spark.sparkContext.setJobDescription(f"shiq: {stage}")


@contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Says what the jobs that are started within are for."""
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setJobDescription(text)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]  # None takes it away


@dataclass
class TaggedJobs:
    """What is started in ``spark`` within: tagged `TAG`, described by its ``stage``, and counted. Afterwards all is as the caller
    had it."""

    spark: SparkSession
    stage: str
    own: str = field(default_factory=lambda: f"{TAG}-{uuid4().hex}")

    def __enter__(self) -> TaggedJobs:
        context = self.spark.sparkContext
        self._before = context.getLocalProperty(_DESCRIPTION)
        self._added = [tag for tag in (TAG, self.own) if tag not in context.getJobTags()]
        for tag in self._added:
            context.addJobTag(tag)
        describe(self.spark, self.stage)
        return self

    def __exit__(self, *_: object) -> None:
        context = self.spark.sparkContext
        for tag in self._added:
            context.removeJobTag(tag)
        context.setLocalProperty(_DESCRIPTION, self._before)  # type: ignore[arg-type]  # None takes it away

    def cost(self) -> Mapping[str, int]:
        """How many jobs and tasks there were, and bytes: shuffled, and sent to the driver."""
        context = self.spark.sparkContext._jsc.sc()  # Python's status tracker knows neither tags nor bytes
        context.listenerBus().waitUntilEmpty()
        store = context.statusStore()
        jobs = list(context.statusTracker().getJobIdsForTag(self.own))
        ids = [store.job(job).stageIds() for job in jobs]
        stages = {found.apply(i) for found in ids for i in range(found.size())}
        sums = {"jobs": len(jobs), "tasks": 0, "shuffled_bytes": 0, "result_bytes": 0}
        for stage in map(store.lastStageAttempt, stages):
            sums["tasks"] += stage.numCompleteTasks()
            sums["shuffled_bytes"] += stage.shuffleWriteBytes()
            sums["result_bytes"] += stage.resultSize()
        return sums
