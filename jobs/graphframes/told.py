"""Told literals by message passing: labels travel along role assertions until nothing changes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.graphframes.certificate import certify_told
from jobs.graphframes.frames import settled
from jobs.graphframes.rules import WorkerCalculus


def told(rules: WorkerCalculus, vertices: DataFrame, edges: DataFrame) -> DataFrame:
    """The least labels (id, label) above those of ``vertices`` (id, label), closed under local clauses and under sending along
    ``edges`` (src, dst, role; roles not inverted).

    Stops because labels grow within finitely many literals. Certified: see `certificate.certify_told`.
    """
    start = vertices.select("id", F.col("label").alias("start"), F.array(rules.closed(F.col("label"))).alias("history"))
    start = settled(start)
    edges = settled(edges.filter(F.col("role").isin(rules.sending)).select("src", "dst", "role"))
    if edges.isEmpty():
        return _last(start)
    found = history(rules, start, edges)
    certify_told(rules, found, edges)
    return _last(found)


def _last(found: DataFrame) -> DataFrame:
    return found.select("id", F.element_at("history", -1).alias("label"))


def history(rules: WorkerCalculus, vertices: DataFrame, edges: DataFrame) -> DataFrame:
    """``vertices`` (id, start, history) with the labels of every further round appended to ``history``. Not certified."""
    from graphframes import GraphFrame  # type: ignore[import-untyped]
    from graphframes.lib import AggregateMessages as Messages  # type: ignore[import-untyped]

    while True:
        graph = GraphFrame(vertices.select("id", F.element_at("history", -1).alias("label")), edges)
        to_src, to_dst = rules.sent(Messages.edge["role"], Messages.src["label"], Messages.dst["label"])
        received = graph.aggregateMessages(
            [F.sort_array(F.collect_set(Messages.msg)).alias("received")], sendToSrc=[to_src], sendToDst=[to_dst]
        )
        last = F.element_at("history", -1)
        grown = F.when(F.size("received") > 0, rules.grown(last, F.col("received"))).otherwise(last)
        after = vertices.join(received, "id", "left").select("id", "start", F.array_append("history", grown).alias("history"))
        after = settled(after)
        received.unpersist()
        if after.filter(F.element_at("history", -1) != F.element_at("history", -2)).isEmpty():
            return vertices
        vertices = after
