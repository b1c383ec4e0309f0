"""The engine `graphframes`: individuals as vertices, role assertions as edges, the add set by message passing.

Told literals, told⁺ of a patch (`clausal`, `model`), the closure of `definition7` and equal individuals are worked out over the
whole graph, whose role assertions stay in Spark; each fixpoint has a certificate (`jobs.graphframes.certificate`). What A_add is
written out as, its modules, counting, and the border rules of a patch, the columns of `local` do: those assertions are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pyspark.sql import SparkSession

from abox_ops.elements.base import StoreBase, StoredSnapshot, array_base
from abox_ops.elements.columns import Graph
from abox_ops.elements.union_view import UnionView
from abox_ops.engine import Inquiry
from abox_ops.index.columns import Index, alone, stored_index
from abox_ops.index.touched import touched_by
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import EMPTY_ID
from abox_ops.local import LocalKnowledgeBase
from abox_ops.local_add_set import LocalAddSet
from abox_ops.patch.columns import Patch
from abox_ops.patch.state_columns import PatchInput
from abox_ops.published.columns import PublishedProcedure, everything
from jobs.graphframes.core import running, session
from jobs.graphframes.frames import labelled, lookup
from jobs.graphframes.index import build_index
from jobs.graphframes.patching import MessagePatch
from jobs.graphframes.published import entered
from jobs.graphframes.rules import label_text
from jobs.graphframes.world import World
from shiq.abox import ABox
from shiq.columns.arrays import Ints
from shiq.model import Class, SubClassOf, TBox
from shiq.reasoner.protocol import Answer
from shiq.roles import role_box


@dataclass(frozen=True, eq=False)
class GraphFramesKnowledgeBase(LocalKnowledgeBase):
    """(T, A) as a graph. See `abox_ops.engine.KnowledgeBase`.

    Raises `OperationalError` where GraphFrames' JVM core is not to be had, a Spark job fails, or a certificate does.
    """

    @classmethod
    def begin(cls, master: str | None) -> None:
        """Begins the session that all knowledge bases of this engine share, at ``master``, if none is active."""
        session(master)

    @classmethod
    def build(cls, tbox: TBox, abox: ABox) -> GraphFramesKnowledgeBase:
        """Opens (``tbox``, ``abox``) in memory; nothing is assumed of it but that its TBox lies in SHIQ(D)."""
        session()
        return cls(tbox, array_base(abox), role_box(tbox.axioms))

    @classmethod
    def from_store(cls, store: StoredSnapshot, tbox: TBox | None = None) -> GraphFramesKnowledgeBase:
        """Opens the snapshot of ``store`` with the told literals that it holds; ``tbox``: see `LocalKnowledgeBase.from_store`."""
        session()
        return cls(tbox or store.tbox, StoreBase(store), role_box(store.tbox.axioms))

    @cached_property
    def spark(self) -> SparkSession:
        return session()

    @cached_property
    def index(self) -> Index:
        """What the store holds, less what was deleted of it; or what message passing finds."""
        if self.made_index is not None:
            return self.made_index
        if isinstance(self.base, StoreBase):
            return stored_index(self.source, self.roles, self.base)
        with running(self.spark, len(self)):
            return build_index(self.spark, self.source, self.roles, self.base)

    def _insert(self, whole: UnionView, criterion: str) -> LocalAddSet:
        index, touched = self.index, touched_by(whole, self.roles)
        simplified = self.calculi.simplified_with(whole)
        if criterion == "none":
            calculus = Calculus(simplified.clauses, whole.names)
            graph = Graph(whole, self.roles, index.same, _no_labels)
            found = everything(index, calculus, graph, touched)
        else:
            calculus = Calculus(simplified.definition4_clauses, whole.names)
            graph, before = (Graph(view, self.roles, index.same, _no_labels, by_node=True) for view in (whole, alone(self.base)))
            published = PublishedProcedure(index, simplified, calculus, graph, before, touched)
            with running(self.spark, len(self) + whole.insertions):
                nodes = entered(self.spark, index, calculus, whole, self.roles, published)
            found = published.entered(nodes)
        return self.add_set_on(calculus, whole, found)

    def patch_with(
        self, whole: UnionView, calculus: Calculus, added: Sequence[SubClassOf | Class], inquiry: Inquiry
    ) -> tuple[LocalAddSet, Sequence[Answer]]:
        """See `LocalKnowledgeBase.patch_with`."""
        with running(self.spark, len(self) + whole.insertions):
            return super().patch_with(whole, calculus, added, inquiry)

    def plain_patch(self, whole: UnionView, calculus: Calculus, added: Sequence[SubClassOf | Class]) -> Patch:
        """See `LocalKnowledgeBase.plain_patch`."""
        with running(self.spark, len(self) + whole.insertions):
            return super().plain_patch(whole, calculus, added)

    def _new_patch(self, given: PatchInput) -> Patch:
        grown = len(given.calculus.tbox.clauses) > len(self.index.simplified.clauses.clauses)
        return MessagePatch(given, self._world(given.graph.whole, given.calculus, grown=grown))

    def _world(self, whole: UnionView, calculus: Calculus, *, grown: bool) -> World:
        """A ∪ A⁺ with the told literals of A."""
        spark, index = self.spark, self.index
        labels = index.calculus.table.labels[: index.stored_labels]
        texts = lookup(spark, {"number": np.arange(len(labels), dtype=np.int64), "label": [label_text(x) for x in labels]})
        vertices = labelled(spark, index.labels).withColumnRenamed("label", "number").join(texts, "number")
        return World(spark, whole, self.roles, calculus, index.equal, vertices, all_said=grown)


def _no_labels(keys: Ints) -> Ints:
    return np.full(len(keys), EMPTY_ID, np.int64)
