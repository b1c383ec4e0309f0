"""What some vertices reach along arcs, by message passing, one hop a round."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.graphframes.certificate import certify_reached
from jobs.graphframes.frames import settled


def reached(start: DataFrame, arcs: DataFrame) -> DataFrame:
    """The vertices (id, distance) that ``start`` (id) reaches along ``arcs`` (src, dst).

    Stops because a vertex is reached once. Certified: see `certificate.certify_reached`.
    """
    arcs = settled(arcs.select("src", "dst"))
    start = settled(start.select("id").distinct())
    if arcs.isEmpty() or start.isEmpty():
        return start.withColumn("distance", F.lit(0))
    found = hops(start, arcs)
    certify_reached(start, arcs, found)
    return found


def hops(start: DataFrame, arcs: DataFrame) -> DataFrame:
    """The same; not certified."""
    from graphframes import GraphFrame  # type: ignore[import-untyped]
    from graphframes.lib import AggregateMessages as Messages  # type: ignore[import-untyped]

    ends = arcs.select(F.explode(F.array("src", "dst")).alias("id")).union(start).distinct()
    vertices = settled(ends.join(start.withColumn("distance", F.lit(0)), "id", "left"))
    turn = 0
    while True:
        is_next = (Messages.src["distance"] == turn) & Messages.dst["distance"].isNull()
        graph = GraphFrame(vertices, arcs)
        met = graph.aggregateMessages([F.max(Messages.msg).alias("met")], sendToDst=[F.when(is_next, F.lit(turn + 1))])
        after = settled(vertices.join(met, "id", "left").select("id", F.coalesce("distance", "met").alias("distance")))
        met.unpersist()
        vertices, turn = after, turn + 1
        if vertices.filter(F.col("distance") == turn).isEmpty():
            return vertices.filter("distance is not null")
