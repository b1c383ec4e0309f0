"""The add set of a check on Spark, read where it lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from abox_ops.conflicts.identities import Identity
from abox_ops.engine import MODEL, WideningFigures
from abox_ops.local import LocalKnowledgeBase
from abox_ops.local_add_set import LocalAddSet
from abox_ops.modules.decide import Decider
from abox_ops.patch.columns import Patch
from jobs.spark.reasoners import inquiry_until
from shiq.abox import ABox
from shiq.clause import ClausalTBox
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
    ``brings_clauses``: the batch has complex assertions. ``owner``: whose store is read then; a temporary one goes with it, so it
    is held on to here though nothing asks it."""

    batch: BatchGroups
    closed: ClosedBatch
    local: LocalKnowledgeBase
    owner: SparkKnowledgeBase
    decider: Decider
    gone: BatchRows | None
    brings_clauses: bool

    @property
    def patch(self) -> Patch | None:
        """By what the batch is accepted under the criterion `model`, made once more, on the driver, for a commit to renew N from;
        None under other criteria, or if it is not accepted here."""
        _ = self.tbox  # a gate reads it when the commit has closed the store
        if self.batch.plan.criterion != MODEL:
            return None
        found, answers = self.local.patched(*self._on_the_driver, inquiry_until(self.decider, None))
        accepted = not found.contradictory and all(a.verdict is Verdict.CONSISTENT for a in answers)
        return found.patch if accepted else None

    @cached_property
    def _on_the_driver(self) -> tuple[ABox, ABox]:
        """The insertions and the deletions."""
        from jobs.spark.rows import abox_of_rows

        rows = self.batch.insertions(self.closed.joint, set(self.closed.joint.values()))
        return abox_of_rows(rows), ABox() if self.gone is None else deletions_of(self.gone)

    @cached_property
    def _local(self) -> LocalAddSet:
        """The engine `local`'s of the same batch, for what is asked of single individuals."""
        return self.local.add_set(*self._on_the_driver)

    @cached_property
    def tbox(self) -> ClausalTBox:
        """The clauses of T; with those of the batch, or by another criterion, as the engine `local` works them out."""
        is_own = self.brings_clauses or self.batch.plan.criterion not in ("clausal", MODEL)
        return self._local.tbox if is_own else self.local.index.calculus.tbox

    def about_all(self, individuals: Sequence[str]) -> Mapping[str, Sequence[Assertion]]:
        """See `abox_ops.engine.AddSet.about_all`."""
        return self._local.about_all(individuals)

    def is_inserted(self, assertion: Assertion) -> bool:
        """See `abox_ops.engine.AddSet.is_inserted`."""
        return self._local.is_inserted(assertion)

    @property
    def insertions(self) -> int:
        return self.closed.total.insertions

    @property
    def size(self) -> int:
        return self.closed.total.size

    @property
    def pulled_in(self) -> int:
        return self.closed.total.pulled_in

    @property
    def widening(self) -> WideningFigures:
        """See `abox_ops.engine.PatchAddSet`."""
        return self.closed.total.widening

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
