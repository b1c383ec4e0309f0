"""The Spark jobs of a check: what each is for, as Spark's pages show it, and what they come to.

Over Spark Connect jobs are tagged, but cannot be described, and what they come to is not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from jobs.spark.session import is_connect

#: The tag of every job of a check.
TAG = "shiq"
_DESCRIPTION = "spark.job.description"


def describe(spark: SparkSession, stage: str) -> None:
    """Says what the jobs that are started from now on are for."""
    if not is_connect(spark):
        spark.sparkContext.setJobDescription(f"shiq: {stage}")


@contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Says what the jobs that are started within are for."""
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setJobDescription(text)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]  # None takes it away


@dataclass
class TaggedJobs:
    """What is started in ``spark`` within: tagged `TAG`, described by its ``stage``, and
    counted. Afterwards all is as the caller had it.
    """

    spark: SparkSession
    stage: str
    own: str = field(default_factory=lambda: f"{TAG}-{uuid4().hex}")

    def __enter__(self) -> TaggedJobs:
        self._stack = ExitStack()
        if is_connect(self.spark):
            for tag in {TAG, self.own} - self.spark.getTags():
                self.spark.addTag(tag)
                self._stack.callback(self.spark.removeTag, tag)
            return self
        context = self.spark.sparkContext
        before: Any = context.getLocalProperty(_DESCRIPTION)  # None takes it away
        self._stack.callback(context.setLocalProperty, _DESCRIPTION, before)
        describe(self.spark, self.stage)
        for tag in {TAG, self.own} - set(context.getJobTags()):
            context.addJobTag(tag)
            self._stack.callback(context.removeJobTag, tag)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stack.close()
        # Nobody waits any more for what runs when the time of a check is over, or somebody has
        # interrupted it.
        if kind is not None and not issubclass(kind, Exception) and not is_connect(self.spark):
            self.spark.sparkContext.cancelJobsWithTag(self.own)

    def cost(self) -> Mapping[str, int]:
        """How many jobs and tasks there were, and bytes: shuffled, and sent to the driver;
        nothing where Spark does not tell.
        """
        if is_connect(self.spark):
            return {}
        context = (
            self.spark.sparkContext._jsc.sc()
        )  # Python's status tracker knows neither tags nor bytes
        context.listenerBus().waitUntilEmpty()
        store = context.statusStore()
        jobs = list(context.statusTracker().getJobIdsForTag(self.own))
        ids = [store.job(job).stageIds() for job in jobs]
        stages = {found.apply(i) for found in ids for i in range(found.size())}
        sums = {"jobs": len(jobs), "tasks": 0, "shuffled_bytes": 0, "result_bytes": 0}
        for number in stages:
            try:
                stage = store.lastStageAttempt(number)
            except Py4JError:  # Spark forgets stages when it has had very many
                continue
            sums["tasks"] += stage.numCompleteTasks()
            sums["shuffled_bytes"] += stage.shuffleWriteBytes()
            sums["result_bytes"] += stage.resultSize()
        return sums
