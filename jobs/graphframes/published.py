"""The elements that enter A_add as published, by message passing: `abox_ops.published.reference` (THEORY, "The procedure").

Whom a role assertion makes enter depends on the asserted labels of its ends alone, and entering travels along the role
assertions. What becomes of those that are met that way, the columns say.
"""

from __future__ import annotations

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from abox_ops.elements.union_view import UnionView
from abox_ops.index.columns import Index
from abox_ops.labels.columns import Calculus
from abox_ops.published.columns import PublishedProcedure
from abox_ops.published.definitions import Definition7
from jobs.graphframes.frames import collected, connected, frame, members, nodes, renamed, role_assertions, settled
from jobs.graphframes.reach import reached
from jobs.graphframes.rules import AND, arrow_udf, join_of, label_text
from jobs.graphframes.said import apart, said
from jobs.graphframes.world import inserted_nodes
from shiq.columns.arrays import Ints, unique
from shiq.columns.rows import SAME
from shiq.roles import Role, RoleBox

Names = tuple[Ints, Ints]


def entered(
    spark: SparkSession, index: Index, calculus: Calculus, whole: UnionView, roles: RoleBox, published: PublishedProcedure
) -> Ints:
    """The elements that enter, each by one of its nodes, ascending."""
    pairs = whole.inserted["pairs"].columns
    same = pairs["kind"] == SAME
    old = members(index.same)
    now = connected(np.concatenate([old[0], pairs["node"][same]]), np.concatenate([old[1], pairs["neighbour"][same]]))
    vertices = _asserted(spark, whole, roles, calculus, old, now)
    edges = settled(_entering(spark, whole, published.rules, tuple(calculus.roles), old, vertices))
    told = renamed(frame(spark, {"id": published.told()}), now, "id")
    inserted = edges.filter("inserted")
    start = told.union(inserted.filter("source").select("src")).union(inserted.filter("target").select("dst"))
    back = edges.filter("source").select(F.col("dst").alias("src"), F.col("src").alias("dst"))
    arcs = edges.filter("target").select("src", "dst").union(back)
    return reached(unique(collected(start.distinct())["id"]), arcs)


def _asserted(spark: SparkSession, whole: UnionView, roles: RoleBox, calculus: Calculus, old: Names, now: Names) -> DataFrame:
    """(old, id, before, label): each element of A, that of A ∪ A⁺ which it is part of, and what is asserted of either, as texts
    to be joined."""
    rows = said(spark, whole, roles, calculus, all_said=True, by_data=False)
    everyone = nodes(spark, whole).union(frame(spark, {"id": inserted_nodes(whole)}))
    rows = rows.unionByName(everyone.withColumns({"said": F.lit(None).cast("string"), "inserted": F.lit(False)}))
    different = apart(spark, whole)
    if different is not None:
        ends = different.withColumns({"a": F.col("first"), "b": F.col("second")})
        ends = renamed(renamed(ends, old, "a", "b"), now, "first", "second").filter("first = second")
        clash = F.lit(label_text(calculus.space.clash)).alias("said")
        rows = rows.union(
            ends.select(F.col("a").alias("id"), clash, (F.col("inserted") | (F.col("a") != F.col("b"))).alias("inserted"))
        )
    rows = renamed(renamed(rows.withColumn("old", F.col("id")), old, "old"), now, "id")
    before = F.collect_set(F.when(~F.col("inserted"), F.col("said")))
    found = rows.groupBy("old", "id").agg(_texts(before).alias("before"), _texts(F.collect_set("said")).alias("label"))
    if (whole.inserted["pairs"].columns["kind"] == SAME).any():
        found = found.withColumn("label", _texts(F.collect_set("label").over(Window.partitionBy("id"))))
    return found


def _texts(labels: Column) -> Column:
    return F.array_join(F.sort_array(labels), AND)


def _entering(
    spark: SparkSession, whole: UnionView, rules: Definition7, roles: tuple[Role, ...], old: Names, vertices: DataFrame
) -> DataFrame:
    """The role assertions that make an end enter: src, dst (elements), inserted, source, target (who enters by it)."""
    rows = role_assertions(spark, whole, [i for i, r in enumerate(roles) if i % 2 == 0 and r in rules.part_of])
    rows = renamed(rows.withColumnsRenamed({"src": "old_src", "dst": "old_dst"}), old, "old_src", "old_dst")
    for end in ("src", "dst"):
        ends = {"old": f"old_{end}", "id": end, "before": f"{end}_before", "label": f"{end}_label"}
        rows = rows.join(vertices.withColumnsRenamed(ends), f"old_{end}")

    def ends_of(role: int, a: str, b: str, inserted: int, old_a: str, old_b: str) -> int:
        before = None if inserted else (join_of(old_a), join_of(old_b))
        _, _, source, target = rules.outcome(roles[role], join_of(a), join_of(b), before)
        return source + 2 * target

    labels = F.col("src_label"), F.col("dst_label"), F.col("inserted").cast("int"), F.col("src_before"), F.col("dst_before")
    made = rows.select("src", "dst", "inserted", arrow_udf(ends_of, "int", F.col("role"), *labels).alias("ends")).filter(
        "ends > 0"
    )
    return made.select("src", "dst", "inserted", F.expr("ends % 2 = 1").alias("source"), F.expr("ends > 1").alias("target"))
