"""A ∪ A⁺ as a graph of elements: vertices with labels, role assertions as edges; told literals and equalities at the fixpoint."""

from __future__ import annotations

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from abox_ops.elements.base import FRESH
from abox_ops.elements.partition import StoredPartition
from abox_ops.elements.union_view import UnionView
from abox_ops.labels.columns import Calculus
from jobs.graphframes.core import running
from jobs.graphframes.equalities import entailed_equal
from jobs.graphframes.frames import collected, connected, frame, lookup, members, renamed, role_assertions, settled
from jobs.graphframes.rules import NOTHING_TOLD, WorkerCalculus, joined, label_text
from jobs.graphframes.said import apart, said
from jobs.graphframes.told import told
from shiq.columns.arrays import NONE, Ints, unique, without
from shiq.columns.rows import SAME
from shiq.roles import RoleBox


class World:
    """``active``: id, label (told⁺) of the active elements. ``near``: src, dst, role (not inverted), the role assertions at them
    of the roles that told⁺ and equality go by. An element is named by its least node; ``names``: (node, element) of those that
    do not name their own.

    Nothing that is written is of the size of A, unless all elements are active: the others, and their role assertions, are read
    where they are.
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
        fresh = inserted_nodes(whole)
        new = frame(spark, {"id": fresh[fresh >= FRESH]}).withColumn("label", F.lit(NOTHING_TOLD))
        #: Those of every element before any was active; the parts of what was merged since are never asked for.
        self._told = vertices.select("id", "label").unionByName(new)
        rows = said(spark, whole, roles, calculus, all_said=all_said, by_data=True)
        self._said = renamed(rows, self.names, "id").select("id", F.col("said").alias("label"))
        used = {r - r % 2 for c in self.rules.functional for r in self.rules.below(c)}.union(self.rules.sending)
        self._edges = role_assertions(spark, whole, used).select("src", "dst", "role")
        different = apart(spark, whole)
        self._apart = None if different is None else settled(different)
        #: About how many rows `active` and `near` have.
        self._size, self._whole_size = 0, len(whole.base) + whole.insertions
        #: The active elements, ascending; None: all.
        self._active: Ints | None = NONE
        #: Those of them that were made so, or merged, since the last fixpoint.
        self._fresh = NONE
        self.active = frame(spark, {"id": NONE}).withColumn("label", F.lit(NOTHING_TOLD))
        self.near = frame(spark, dict.fromkeys(("src", "dst", "role"), NONE))
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
        moved = element != name
        if not moved.any():
            return
        self.activate(np.concatenate([element[moved], name[moved]]))
        new = element, name
        self._fresh = unique(np.concatenate([self._fresh, name[moved]]))
        self.names = connected(*map(np.concatenate, zip(self.names, new)))
        with running(self.spark, self._size):
            self.active = _grouped(renamed(self.active, new, "id"))
            self.near = settled(renamed(self.near, new, "src", "dst"))

    def activate(self, elements: Ints | None) -> None:
        """Makes ``elements`` active too; None: all."""
        before = self._active
        if before is None:
            return
        told, asserted, edges = self._told, self._said, renamed(self._edges, self.names, "src", "dst")
        if elements is not None:
            fresh = without(unique(elements), before)
            if not len(fresh):
                return
            chosen = lookup(self.spark, {"id": fresh})
            told, asserted = (rows.join(chosen, "id", "left_semi") for rows in (told, asserted))
            edges = settled(self._newly_near(edges, before, fresh))
            self._fresh = np.concatenate([self._fresh, fresh])
            elements = np.sort(np.concatenate([before, fresh]))
        self._size = self._whole_size if elements is None else self._size + len(fresh) + edges.count()
        self._active = elements
        with running(self.spark, self._size):
            self.near = settled(self.near.unionByName(edges))
            self.active = _grouped(self.active.unionByName(told.unionByName(asserted)))

    def _newly_near(self, edges: DataFrame, before: Ints, fresh: Ints) -> DataFrame:
        """Those of ``edges`` at ``fresh`` elements that are not near for what was active before."""
        ids, is_fresh = np.concatenate([before, fresh]), np.repeat([False, True], [len(before), len(fresh)])
        for end in ("src", "dst"):
            edges = edges.join(lookup(self.spark, {end: ids, f"fresh_{end}": is_fresh}), end, "left")
        either = F.coalesce("fresh_src", "fresh_dst") & F.coalesce("fresh_dst", "fresh_src")
        return edges.filter(either).select("src", "dst", "role")

    # --- told⁺ -------------------------------------------------------------------------------------

    def saturate(self) -> None:
        """Brings the labels of the active elements to the fixpoint, with the equalities that they entail:
        `abox_ops.told.reference`.

        Stops because labels grow within finitely many literals and elements only merge.
        """
        while True:
            with running(self.spark, self._size):
                self._pass_on()
                element, name = entailed_equal(self.spark, self.rules, self.active, self.near, self._labels)
            if np.array_equal(element, name):
                return
            self.merge(element, name)

    def _pass_on(self) -> None:
        """Brings the labels to the fixpoint along the role assertions: from what is new to its neighbours, from those that this
        changes to theirs, and so on. Between two that did not change since, nothing is left to send.

        Stops because labels grow within finitely many literals.
        """
        if self._active is None or 2 * len(self._fresh) > len(self._active):
            self.active, self._fresh = told(self.rules, self._taken_in(), self.near), NONE
        while len(self._fresh):
            at_src, at_dst = (self.near.join(lookup(self.spark, {end: self._fresh}), end, "left_semi") for end in ("src", "dst"))
            edges = settled(at_src.unionByName(at_dst))
            ids = edges.select(F.explode(F.array("src", "dst")).alias("id")).union(lookup(self.spark, {"id": self._fresh}))
            before = settled(self._taken_in().join(ids.distinct(), "id", "left_semi"))
            now = told(self.rules, before, edges)
            grown = now.join(before.withColumnRenamed("label", "before"), "id").filter("label != before")
            self._fresh = without(collected(grown.select("id"))["id"], self._fresh)
            self.active = settled(self.active.join(before.select("id"), "id", "left_anti").unionByName(now))

    def _taken_in(self) -> DataFrame:
        """(id, label) of the active elements; a clash where two members are different."""
        if self._apart is None:
            return self.active
        rows = renamed(self._apart, self.names, "first", "second").filter("first = second")
        clash = F.lit(label_text(self.calculus.space.clash))
        found = self.active.join(rows.select(F.col("first").alias("id"), clash.alias("clash")).distinct(), "id", "left")
        return found.select("id", joined(F.array_compact(F.array("label", "clash"))).alias("label"))

    def _labels(self, ids: DataFrame) -> DataFrame:
        """(id, label) of the active elements, and of the others among ``ids`` (few)."""
        if self._active is None:
            return self.active
        others = self._told.join(F.broadcast(ids), "id", "left_semi")
        return self.active.unionByName(others.join(lookup(self.spark, {"id": self._active}), "id", "left_anti"))


def _grouped(rows: DataFrame) -> DataFrame:
    """(id, label): the join of the labels of each id in ``rows``."""
    return settled(rows.groupBy("id").agg(joined(F.collect_set("label")).alias("label")))


def inserted_nodes(whole: UnionView) -> Ints:
    """The nodes of which A⁺ asserts something, ascending."""
    return unique(np.concatenate([table.columns["node"] for table in whole.inserted.values()]))
