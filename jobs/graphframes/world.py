"""A ∪ A⁺ as a graph of elements: vertices with labels, role assertions as edges; told literals and equalities at the fixpoint."""

from __future__ import annotations

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from abox_ops.elements.base import FRESH
from abox_ops.elements.partition import StoredPartition
from abox_ops.elements.union_view import UnionView
from abox_ops.labels.columns import Calculus
from jobs.graphframes.equalities import entailed_equal
from jobs.graphframes.frames import connected, frame, lookup, members, renamed, role_assertions, settled
from jobs.graphframes.rules import NOTHING_TOLD, WorkerCalculus, joined, label_text
from jobs.graphframes.said import apart, said
from jobs.graphframes.told import told
from shiq.columns.arrays import Ints, unique
from shiq.columns.rows import SAME
from shiq.roles import RoleBox


class World:
    """``vertices``: id, label (told⁺ where active, else told), said (asserted or refuted by data beyond that; null if nothing),
    active. ``edges``: src, dst, role (not inverted), each once, of the roles that told⁺ and equality go by. An element is
    named by its least node; ``names``: (node, element) of those that do not name their own.
    """

    def __init__(
        self,
        spark: SparkSession,
        whole: UnionView,
        roles: RoleBox,
        calculus: Calculus,
        equal: StoredPartition,
        vertices: DataFrame,
        *,
        all_said: bool,
    ) -> None:
        """``vertices``: id, label of every element of A. ``all_said``: T says more than it did when these labels were made, or
        nothing is told yet, so what A asserts is looked at again."""
        self.spark, self.calculus = spark, calculus
        self.rules = WorkerCalculus(calculus.tbox, tuple(calculus.roles))
        self.names = members(equal)
        rows = said(spark, whole, roles, calculus, all_said=all_said, by_data=True)
        asserted = renamed(rows, self.names, "id").groupBy("id").agg(joined(F.collect_set("said")).alias("said"))
        fresh = inserted_nodes(whole)
        new = frame(spark, {"id": fresh[fresh >= FRESH]}).withColumn("label", F.lit(NOTHING_TOLD))
        everyone = vertices.select("id", "label").unionByName(new).join(asserted, "id", "left")
        self.vertices = settled(everyone.withColumn("active", F.lit(False)))
        used = {r - r % 2 for c in self.rules.functional for r in self.rules.below(c)}.union(self.rules.sending)
        edges = role_assertions(spark, whole, used).select("src", "dst", "role")
        self.edges = settled(renamed(edges, self.names, "src", "dst").distinct())
        different = apart(spark, whole)
        self._apart = None if different is None else settled(different)
        pairs = whole.inserted["pairs"].columns
        same = pairs["kind"] == SAME
        self.merge(*connected(self.of(pairs["node"][same]), self.of(pairs["neighbour"][same])))

    # --- elements ----------------------------------------------------------------------------------

    def of(self, nodes: Ints) -> Ints:
        """The element of each node."""
        names = dict(zip(*(column.tolist() for column in self.names)))
        return np.fromiter((names.get(n, n) for n in nodes.tolist()), np.int64, len(nodes)) if names else nodes

    def merge(self, element: Ints, name: Ints) -> None:
        """Makes each of ``element`` and ``name`` one, under that name; the whole is active."""
        if np.array_equal(element, name):
            return
        new = element, name
        self.names = connected(*map(np.concatenate, zip(self.names, new)))
        together = renamed(self.vertices, new, "id").groupBy("id")
        self.vertices = settled(
            together.agg(
                joined(F.collect_set("label")).alias("label"),
                joined(F.collect_set("said")).alias("said"),
                (F.max("active") | (F.count("*") > 1)).alias("active"),
            )
        )
        self.edges = settled(renamed(self.edges, new, "src", "dst").distinct())

    # --- told⁺ -------------------------------------------------------------------------------------

    def activate(self, elements: Ints) -> None:
        """Makes ``elements`` active too."""
        chosen = lookup(self.spark, {"id": unique(elements), "chosen": np.ones(len(unique(elements)), np.bool_)})
        active = F.col("active") | F.coalesce("chosen", F.lit(False))
        self.vertices = settled(self.vertices.join(chosen, "id", "left").withColumn("active", active).drop("chosen"))

    def saturate(self) -> None:
        """Brings the labels of the active elements to the fixpoint, with the equalities that they entail:
        `abox_ops.told.reference`.

        Stops because labels grow within finitely many literals and elements only merge.
        """
        while True:
            found = told(self.rules, self._taken_in(), self.edges)
            after = self.vertices.join(found.withColumnRenamed("label", "now"), "id", "left")
            self.vertices = settled(after.withColumn("label", F.coalesce("now", "label")).drop("now"))
            element, name = entailed_equal(self.spark, self.rules, self.vertices, self.edges)
            if np.array_equal(element, name):
                return
            self.merge(element, name)

    def _taken_in(self) -> DataFrame:
        """(id, label) of the active elements with what is asserted of them; a clash where two members are different."""
        active = self.vertices.filter("active")
        found = active.select("id", F.array_compact(F.array("label", "said")).alias("labels"))
        if self._apart is not None:
            rows = renamed(self._apart, self.names, "first", "second").filter("first = second")
            clash = F.lit(label_text(self.calculus.space.clash))
            found = found.join(rows.select(F.col("first").alias("id"), clash.alias("clash")).distinct(), "id", "left")
            found = found.select("id", F.array_compact(F.array_append("labels", F.col("clash"))).alias("labels"))
        return found.select("id", joined(F.col("labels")).alias("label"))


def inserted_nodes(whole: UnionView) -> Ints:
    """The nodes of which A⁺ asserts something, ascending."""
    return unique(np.concatenate([table.columns["node"] for table in whole.inserted.values()]))
