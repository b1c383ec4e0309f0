"""What the job asks of GraphFrames: messages between neighbours, and connected components.

Both are served by GraphFrames where its core is on the classpath, and else by the same joins on
DataFrames. A graph is two tables: vertices (id, …) and edges (src, dst, …).
"""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.graphframes.core import has_core
from jobs.spark.round_files import RoundFiles

#: Up to so many edges one superstep a hop is cheaper than contracting the graph, which has a high
#: fixed cost.
_SMALL = 200_000


class GraphCalls(Protocol):
    """The two calls, by one of the two that serve them; ``name`` says which."""

    name: str

    def messages(
        self, edges: DataFrame, aggregate: Column, *, to_src: Column, to_dst: Column
    ) -> DataFrame:
        """(id, aggregate) for every vertex that gets a message along an edge. ``to_src`` and
        ``to_dst`` are what an edge sends to its ends, in the fields of the column ``edge``; null
        is no message. ``aggregate`` is over the column ``MSG``.
        """

    def components(self, edges: DataFrame, files: RoundFiles) -> DataFrame:
        """(id, component) for every vertex that an edge mentions; a component goes by its least
        vertex.
        """


def graph_calls(spark: SparkSession) -> GraphCalls:
    """GraphFrames where its core is, else DataFrames."""
    return GraphFramesCalls() if has_core(spark) else DataFrameCalls()


class DataFrameCalls:
    """The calls by joins on DataFrames."""

    name = "DataFrames"

    def messages(
        self, edges: DataFrame, aggregate: Column, *, to_src: Column, to_dst: Column
    ) -> DataFrame:
        """See `GraphCalls.messages`."""
        sent = F.array(
            F.struct(F.col("edge.src").alias("id"), to_src.alias("MSG")),
            F.struct(F.col("edge.dst").alias("id"), to_dst.alias("MSG")),
        )
        each = edges.select(F.struct("*").alias("edge")).select(F.inline(sent))
        return each.filter("MSG IS NOT NULL").groupBy("id").agg(aggregate)

    def components(self, edges: DataFrame, files: RoundFiles) -> DataFrame:
        """See `GraphCalls.components`.

        Each round a vertex takes the least name of its neighbours, and then the name of the
        vertex that it is named after, so that names travel twice as far in each. Stops because
        names only become less.
        """
        found = files.write("components", ends_of(edges).withColumn("component", F.col("id")))
        while True:
            along = with_ends(edges.select("src", "dst"), found)
            ends = {"to_src": F.col("edge.dst_component"), "to_dst": F.col("edge.src_component")}
            least = self.messages(along, F.min("MSG").alias("least"), **ends)
            hooked = found.join(least, "id").select(
                "id", "component", F.least("component", "least").alias("named")
            )
            other = hooked.select(F.col("id").alias("named"), F.col("named").alias("further"))
            after = files.write(
                "components", hooked.join(other, "named").select("id", "component", "further")
            )
            if after.filter("component <> further").isEmpty():
                return found
            found = after.select("id", F.col("further").alias("component"))


class GraphFramesCalls:
    """The calls by GraphFrames."""

    name = "GraphFrames"

    def messages(
        self, edges: DataFrame, aggregate: Column, *, to_src: Column, to_dst: Column
    ) -> DataFrame:
        """See `GraphCalls.messages`."""
        from graphframes import GraphFrame  # type: ignore[import-untyped]

        found: DataFrame = GraphFrame(ends_of(edges), edges).aggregateMessages(
            [aggregate], sendToSrc=[to_src], sendToDst=[to_dst]
        )
        # It takes null for a message.
        return found.dropna()

    def components(self, edges: DataFrame, files: RoundFiles) -> DataFrame:
        """See `GraphCalls.components`."""
        from graphframes import GraphFrame

        edges.sparkSession.sparkContext.setCheckpointDir(files.checkpoints)
        algorithm = "graphx" if edges.count() <= _SMALL else "two_phase"
        graph = GraphFrame(ends_of(edges), edges.select("src", "dst"))
        named: DataFrame = graph.connectedComponents(algorithm=algorithm, broadcastThreshold=-1)
        least = named.groupBy("component").agg(F.min("id").alias("least"))
        found = named.join(least, "component").select("id", F.col("least").alias("component"))
        return files.write("components", found)


def ends_of(edges: DataFrame) -> DataFrame:
    """(id) of every vertex that an edge mentions."""
    return edges.select(F.explode(F.array("src", "dst")).alias("id")).distinct()


def with_ends(edges: DataFrame, vertices: DataFrame) -> DataFrame:
    """``edges`` with the columns of ``vertices`` (id, …) for both ends, as src_… and dst_…; null
    for an end that is not there.
    """
    others = vertices.columns[1:]
    for end in ("src", "dst"):
        names = [f"{end}_{name}" for name in others]
        edges = edges.join(vertices.select("id", *others).toDF(end, *names), end, "left")
    return edges
