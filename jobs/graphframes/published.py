"""The elements that enter A_add as published, by message passing: `abox_ops.published.reference` (THEORY, "The procedure").

Whom a role assertion makes enter depends on the asserted labels of its ends alone, and entering travels along the role
assertions. What becomes of those that are met that way, the columns say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from abox_ops.elements.union_view import UnionView
from abox_ops.index.columns import Index, alone
from abox_ops.labels.columns import Calculus
from abox_ops.published.columns import PublishedProcedure
from abox_ops.published.outcome import Definition7
from jobs.graphframes.frames import collected, frame, named, nodes, renamed, role_assertions, settled
from jobs.graphframes.reach import reached
from jobs.graphframes.rules import NOTHING_TOLD, label_of
from jobs.graphframes.world import World
from shiq.columns.arrays import Ints
from shiq.roles import Role, RoleBox


def entered(
    spark: SparkSession, index: Index, calculus: Calculus, whole: UnionView, roles: RoleBox, published: PublishedProcedure
) -> Ints:
    """The elements that enter, each by one of its nodes, ascending."""
    world = _world(spark, index, whole, roles, calculus)
    before = _world(spark, index, alone(whole.base), roles, calculus).taken_in().select("id", "label")
    edges = settled(_entering(world, published.rules, index, tuple(calculus.roles), before))
    inserted = edges.filter("inserted")
    start = world.ids(world.of(published.told()))
    for end, flag in (("src", "source"), ("dst", "target")):
        start = start.union(inserted.filter(flag).select(end))
    back = edges.filter("source").select(F.col("dst").alias("src"), F.col("src").alias("dst"))
    arcs = edges.filter("target").select("src", "dst").union(back)
    found: Ints = np.sort(collected(reached(start, arcs.distinct()).select("id"))["id"])
    return found


def _world(spark: SparkSession, index: Index, whole: UnionView, roles: RoleBox, calculus: Calculus) -> World:
    vertices = renamed(nodes(spark, whole), named(spark, index.same), "id").distinct().withColumn("old", F.lit(NOTHING_TOLD))
    return World(spark, whole, roles, calculus, index.same, vertices, all_said=True, by_data=False)


def _entering(world: World, rules: Definition7, index: Index, roles: tuple[Role, ...], before: DataFrame) -> DataFrame:
    """The role assertions that may be kept or have remedies: src, dst (elements), inserted, source, target (who enters by it).
    ``before``: (id, label) of A less the deletions."""
    part = [i for i, r in enumerate(roles) if i % 2 == 0 and r in rules.part_of]
    rows = role_assertions(world.spark, world.whole).filter(F.col("role").isin(part))
    asserted = settled(world.taken_in().select("id", "label"))
    old_names = named(world.spark, index.same)
    member, name = world.classes()
    names = frame(world.spark, {"member": member, "name": name}) if len(member) else None
    for end in ("src", "dst"):
        rows = rows.withColumn(f"{end}_old", F.col(end))
        rows = renamed(renamed(rows, old_names, f"{end}_old"), names, end)
        rows = rows.join(asserted.withColumnsRenamed({"id": end, "label": f"{end}_label"}), end)
        old = before.withColumnsRenamed({"id": f"{end}_old", "label": f"{end}_before"})
        rows = rows.join(old, f"{end}_old", "left").withColumn(f"{end}_before", F.coalesce(f"{end}_before", F.lit(NOTHING_TOLD)))

    # No type hints: Spark would read them.
    def ends(role, a, b, inserted, old_a, old_b):  # type: ignore[no-untyped-def]
        old = None if inserted else (label_of(old_a), label_of(old_b))
        return tuple(rules.outcome(roles[role], label_of(a), label_of(b), old)[2:])

    labels = ("role", "src_label", "dst_label", "inserted", "src_before", "dst_before")
    made: Any = F.udf(ends, "struct<source: boolean, target: boolean>")(*labels)
    return rows.select("src", "dst", "inserted", made.alias("ends")).select("src", "dst", "inserted", "ends.*")
