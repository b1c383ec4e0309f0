"""What the job asks of GraphFrames: messages between neighbours, and connected components.

Both are served by GraphFrames where its core is on the classpath, and else by the same joins on
DataFrames. A graph is two tables: vertices (id, …) and edges (src, dst, …).
"""

from __future__ import annotations

from typing import TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from shiq.jobs.graphframes.core import has_core
from shiq.jobs.spark.round_files import RoundFiles

#: Up to so many edges one superstep a hop is cheaper than contracting the graph, which has a high
#: fixed cost.
_SMALL = 200_000


class DataFrameCalls:
    """The calls by joins on DataFrames."""

    name = "DataFrames"

    def messages(
        self, edges: DataFrame, aggregate: Column, *, to_src: Column, to_dst: Column
    ) -> DataFrame:
        """(id, aggregate) for every vertex that gets a message along an edge. ``to_src`` and
        ``to_dst`` are what an edge sends to its ends, in the fields of the column ``edge``; null
        is no message. ``aggregate`` is over the column ``MSG``.
        """
        sent = F.array(
            F.struct(F.col("edge.src").alias("id"), to_src.alias("MSG")),
            F.struct(F.col("edge.dst").alias("id"), to_dst.alias("MSG")),
        )
        each = edges.select(F.struct("*").alias("edge")).select(F.inline(sent))
        return each.filter("MSG IS NOT NULL").groupBy("id").agg(aggregate)

    def components(self, edges: DataFrame, files: RoundFiles) -> DataFrame:
        """(id, component) for every vertex that an edge mentions; a component goes by its least
        vertex.

        Each round a vertex takes the least name of its neighbours, and then the name of the
        vertex that it is named after, so that names travel twice as far in each. Stops because
        names only become less.
        """
        found = files.write("components", ends_of(edges).withColumn("component", F.col("id")))
        while True:
            along = looked_up(edges.select("src", "dst"), found, of_src="src", of_dst="dst")
            least = self.messages(
                along,
                F.min("MSG").alias("least"),
                to_src=F.col("edge.of_dst"),
                to_dst=F.col("edge.of_src"),
            )
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
        """See `DataFrameCalls.messages`."""
        from graphframes import GraphFrame  # type: ignore[import-untyped]

        found: DataFrame = GraphFrame(ends_of(edges), edges).aggregateMessages(
            [aggregate], sendToSrc=[to_src], sendToDst=[to_dst]
        )
        # It takes null for a message.
        return found.dropna()

    def components(self, edges: DataFrame, files: RoundFiles) -> DataFrame:
        """See `DataFrameCalls.components`."""
        from graphframes import GraphFrame

        edges.sparkSession.sparkContext.setCheckpointDir(files.checkpoints)
        algorithm = "graphx" if edges.count() <= _SMALL else "two_phase"
        named: DataFrame = GraphFrame(
            ends_of(edges), edges.select("src", "dst")
        ).connectedComponents(algorithm=algorithm, broadcastThreshold=-1)
        least = named.groupBy("component").agg(F.min("id").alias("least"))
        return files.write(
            "components",
            named.join(least, "component").select("id", F.col("least").alias("component")),
        )


#: Serves the two calls; ``name`` says which of them does.
GraphCalls: TypeAlias = DataFrameCalls | GraphFramesCalls


def graph_calls(spark: SparkSession) -> GraphCalls:
    """GraphFrames where its core is, else DataFrames."""
    return GraphFramesCalls() if has_core(spark) else DataFrameCalls()


def ends_of(edges: DataFrame) -> DataFrame:
    """(id) of every vertex that an edge mentions."""
    return edges.select(F.explode(F.array("src", "dst")).alias("id")).distinct()


def looked_up(rows: DataFrame, table: DataFrame, **columns: str) -> DataFrame:
    """``rows`` with a column for each of ``columns``: what ``table`` (key, value) has for the
    column that it names; null where it has nothing.
    """
    for after, before in columns.items():
        rows = rows.join(table.toDF(before, "_found"), before, "left")
        rows = rows.withColumn(after, F.col("_found")).drop("_found")
    return rows
