"""Equal elements: asserted by sameAs, or entailed where a ≤1 S.C is in force."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from abox_ops.elements.base import Base
from abox_ops.elements.partition import StoredPartition, grouping
from jobs.graphframes.components import components
from jobs.graphframes.frames import collected, lookup, rows_of, settled
from jobs.graphframes.rules import WorkerCalculus, label_of
from shiq.columns.arrays import NONE, Ints
from shiq.columns.rows import SAME


def asserted_equal(spark: SparkSession, base: Base) -> StoredPartition:
    """The individuals of ``base`` by asserted equality."""
    pairs = base.table("pairs")
    if not len(pairs):
        return grouping(NONE, NONE)
    rows = rows_of(spark, pairs, ("node", "kind", "neighbour")).filter(F.col("kind") == SAME)
    return grouping(*components(rows.withColumnsRenamed({"node": "src", "neighbour": "dst"})))


def entailed_equal(
    spark: SparkSession, rules: WorkerCalculus, active: DataFrame, edges: DataFrame, labels: Callable[[DataFrame], DataFrame]
) -> tuple[Ints, Ints]:
    """(element, the least of those it is equal to) for the told neighbours of active elements at which a ≤1 S.C is in force.

    ``active``: id, label; ``edges``: src, dst, role (not inverted), all at these; ``labels``: (id, label) of
    at least the elements of a table of id.
    """
    if not rules.functional:
        return NONE, NONE
    texts = collected(active.select("label").distinct())["label"]
    known = [(text, label_of(text)) for text in texts]
    in_force = [(text, c.index) for c in rules.functional for text, x in known if not (c.body & ~x[0] or c.head & ~x[1])]
    if not in_force:
        return NONE, NONE
    below = [(r, c.index) for c in rules.functional for r in rules.below(c)]
    held = lookup(spark, {"label": [a for a, _ in in_force], "clause": np.array([c for _, c in in_force], np.int64)})
    roles = lookup(
        spark, {"role": np.array([r for r, _ in below], np.int64), "clause": np.array([c for _, c in below], np.int64)}
    )
    centres = active.join(held, "label").select(F.col("id").alias("src"), "clause")
    half = edges.select("src", "dst", "role").union(
        edges.select(F.col("dst").alias("src"), F.col("src").alias("dst"), (F.col("role") + 1).alias("role"))
    )
    met = settled(half.join(roles, "role").join(centres, ["src", "clause"]).select("src", "clause", "dst").distinct())
    branches = met.join(labels(met.select(F.col("dst").alias("id")).distinct()).withColumnRenamed("id", "dst"), "dst")
    groups = branches.filter(rules.column("fills", "boolean", F.col("clause"), F.col("label")))
    first = groups.groupBy("src", "clause").agg(F.min("dst").alias("least"))
    return components(groups.join(first, ["src", "clause"]).filter("dst != least").select(F.col("least").alias("src"), "dst"))
