"""Groups of insertions, and which of them have to be run as one. The driver sees numbers of groups, never of individuals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.spark.kernel import CHANGED, READ
from shiq.rdf.assertion_rows import ROLE

#: Ids of one group, unless that would be more than `MOST_GROUPS` groups.
RANGE = 1 << 15
MOST_GROUPS = 4096
#: Groups per core, where the batch is spread over so many ranges.
PER_CORE = 16


def range_width(last_node: int, cores: int, asked: int | None = None) -> int:
    """How many ids one group spans: ``asked``, or `RANGE` where that gives no more groups than the cores are to have."""
    if asked is not None:
        return max(1, asked)
    return max(RANGE, -(-last_node // max(1, min(cores * PER_CORE, MOST_GROUPS))))


def grouped(rows: DataFrame, width: int, groups: int) -> DataFrame:
    """``rows`` with a column ``group``: the range of the subject's node. What is about a fresh individual goes with its least
    neighbour in the store, or where its name is hashed to; so all of it is in one group."""
    fresh_object = (F.col("kind") == ROLE) & (F.col("o_node") < 0)
    rows = rows.withColumn("fresh", F.when(F.col("s_node") < 0, F.col("s")).when(fresh_object, F.col("o")))
    near = F.when(F.col("s_node") >= 0, F.col("s_node")).when(F.col("o_node") >= 0, F.col("o_node"))
    beside = (
        rows.where((F.col("kind") == ROLE) & F.col("fresh").isNotNull() & near.isNotNull())
        .groupBy(F.col("fresh").alias("name"))
        .agg(F.min(near).alias("beside"))
    )
    placed = rows.join(beside, F.col("fresh") == F.col("name"), "left")
    node = F.when(F.col("fresh").isNull(), F.col("s_node")).otherwise(F.col("beside"))
    hashed = F.pmod(F.xxhash64(F.col("fresh")), F.lit(max(1, groups)))
    group = F.coalesce((node / F.lit(width)).cast("bigint"), hashed)
    return placed.withColumn("group", group).drop("fresh", "name", "beside")


def conflicting(records: DataFrame) -> list[tuple[int, int]]:
    """The pairs of groups of which one read of an element what the other changed of it."""
    read = records.where(F.col("what") == READ).select("id", "text", F.col("joint").alias("first"))
    changed = records.where(F.col("what") == CHANGED).select("id", "text", F.col("joint").alias("second"))
    pairs = read.join(changed, ["id", "text"]).where(F.col("first") != F.col("second"))
    ends = F.least("first", "second").alias("a"), F.greatest("first", "second").alias("b")
    return [(row.a, row.b) for row in pairs.select(*ends).distinct().collect()]


def united(joint: Mapping[int, int], pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """By group: the least group that it is now run with."""
    parent = {name: name for name in joint.values()}

    def find(name: int) -> int:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for first, second in pairs:
        a, b = sorted((find(first), find(second)))
        parent[b] = a
    return {group: find(name) for group, name in joint.items()}
