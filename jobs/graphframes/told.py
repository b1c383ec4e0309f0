"""Told literals by message passing: labels travel along role assertions until nothing changes."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.graphframes.certificate import certify_told
from jobs.graphframes.frames import settled
from jobs.graphframes.rules import AND, THEN, WorkerCalculus


def told(rules: WorkerCalculus, vertices: DataFrame, edges: DataFrame) -> DataFrame:
    """The least labels (id, label) above those of ``vertices`` (id, label), closed under local clauses and under sending along
    ``edges`` (src, dst, role; roles not inverted) between them.

    Stops because labels grow within finitely many literals. Certified: see `certificate.certify_told`.
    """
    closed = rules.column("close", "string", F.col("label"))
    start = settled(vertices.select("id", F.col("label").alias("start"), closed.alias("history")))
    edges = edges.filter(F.col("role").isin(rules.sending)).select("src", "dst", "role")
    for end in ("src", "dst"):
        edges = edges.join(start.select(F.col("id").alias(end)), end, "left_semi")
    edges = settled(edges)
    if edges.isEmpty():
        return start.select("id", F.col("history").alias("label"))
    found = history(rules, start, edges)
    certify_told(rules, found, edges)
    return found.select("id", _last().alias("label"))


def _last() -> Column:
    return F.substring_index("history", THEN, -1)


def history(rules: WorkerCalculus, vertices: DataFrame, edges: DataFrame) -> DataFrame:
    """``vertices`` (id, start, history) with the labels of every further round appended to ``history``. Not certified."""
    from graphframes import GraphFrame  # type: ignore[import-untyped]
    from graphframes.lib import AggregateMessages as Messages  # type: ignore[import-untyped]

    ends = Messages.edge["role"], Messages.src["label"], Messages.dst["label"]
    to_src, to_dst = (rules.column(name, "string", *ends) for name in ("to_subject", "to_object"))
    while True:
        graph = GraphFrame(vertices.select("id", _last().alias("label")), edges)
        got = F.array_join(F.sort_array(F.collect_set(Messages.msg)), AND)
        received = graph.aggregateMessages([got.alias("received")], sendToSrc=[to_src], sendToDst=[to_dst])
        grown = F.when(F.col("received") != "", rules.column("grow", "string", _last(), F.col("received"))).otherwise(_last())
        after = settled(
            vertices.join(received, "id", "left").select("id", "start", F.concat_ws(THEN, "history", grown).alias("history"))
        )
        received.unpersist()
        if after.filter(_last() != F.substring_index(F.substring_index("history", THEN, -2), THEN, 1)).isEmpty():
            return vertices
        vertices = after
