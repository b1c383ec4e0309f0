"""The add set of a check on Spark, read where it lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abox_ops.conflicts.identities import Identity
from abox_ops.engine import MODEL, Inquiry
from abox_ops.local import LocalKnowledgeBase
from abox_ops.modules.decide import Decider
from abox_ops.patch.columns import Patch
from shiq.abox import ABox
from shiq.model import Assertion
from shiq.verdict import Verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from jobs.spark.checking import BatchGroups, ClosedBatch
    from jobs.spark.engine import SparkKnowledgeBase
    from jobs.spark.reading import BatchRows


@dataclass(frozen=True, eq=False)
class SparkAddSet:
    """A_add, group by group in executors; written out when it is asked for. Individuals are looked up by the engine `local`.
    ``owner``: whose store is read then, which may be a temporary one."""

    batch: BatchGroups
    closed: ClosedBatch
    local: LocalKnowledgeBase
    owner: SparkKnowledgeBase
    decider: Decider
    gone: BatchRows | None

    @property
    def patch(self) -> Patch | None:
        """By what the batch is accepted under the criterion `model`, made once more, on the driver, for a commit to renew N from;
        None under other criteria, or if it is not accepted here."""
        from jobs.spark.rows import abox_of_rows

        if self.batch.plan.criterion != MODEL:
            return None
        rows = self.batch.insertions(self.closed.joint, set(self.closed.joint.values()))
        deletions = ABox() if self.gone is None else deletions_of(self.gone)
        found, answers = self.local.patched(abox_of_rows(rows), deletions, Inquiry(self.decider.decide))
        accepted = not found.contradictory and all(a.verdict is Verdict.CONSISTENT for a in answers)
        return found.patch if accepted else None

    @property
    def insertions(self) -> int:
        return self.closed.total.insertions

    @property
    def size(self) -> int:
        return self.closed.total.size

    @property
    def pulled_in(self) -> int:
        return self.closed.total.pulled_in

    def kept(self) -> Iterator[Assertion]:
        """See `abox_ops.engine.AddSet.kept`; group by group, in no particular order within the whole."""
        return self.batch.kept(self.closed.joint)

    def identities(self) -> list[Identity]:
        """See `abox_ops.conflicts.identities.identities`; worked out in executors, by the groups that make elements of
        several."""
        summaries = self.closed.summaries
        chosen = {joint for joint in self.closed.joint.values() if summaries[joint].merged}
        return self.batch.identities(self.closed.joint, chosen)

    def frame(self) -> DataFrame:
        """A_add as triples: a DataFrame of N-Triples terms s, p, o."""
        return self.batch.frame(self.closed.joint)


def deletions_of(gone: BatchRows) -> ABox:
    """The deletions of a batch, on the driver."""
    from jobs.spark.rows import SCHEMA, abox_of_rows

    return abox_of_rows(gone.frame.select(SCHEMA.names).toArrow())
