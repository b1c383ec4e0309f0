"""Aggregate messages between neighbours, find connected components, and certify both results.

GraphFrames computes them if its core is on the classpath; else joins on DataFrames do. A graph is
two tables: vertices (id, …) and edges (src, dst, …).
"""

from __future__ import annotations

from typing import TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from shiq.errors import OperationalError
from shiq.jobs.graphframes.core import has_core
from shiq.jobs.spark.session import TemporaryTables

#: Up to so many edges one superstep a hop is cheaper than contracting the graph, which has a high
#: fixed cost.
_FEW_EDGES = 200_000


class DataFrameCalls:
    """Graph operations implemented by joins of DataFrames."""

    name = "DataFrames"

    def messages(
        self, edges: DataFrame, aggregate: Column, *, to_src: Column, to_dst: Column
    ) -> DataFrame:
        """Send messages along the edges and aggregate them at each vertex. Returns (id, aggregate)
        for the vertices that get one.

        to_src, to_dst: messages of an edge to its ends, in fields of the column ``edge``; null:
            none
        aggregate: over the column ``MSG``
        """
        sent = F.array(
            F.struct(F.col("edge.src").alias("id"), to_src.alias("MSG")),
            F.struct(F.col("edge.dst").alias("id"), to_dst.alias("MSG")),
        )
        each = edges.select(F.struct("*").alias("edge")).select(F.inline(sent))
        return each.filter("MSG IS NOT NULL").groupBy("id").agg(aggregate)

    def components(self, edges: DataFrame, files: TemporaryTables) -> DataFrame:
        """Find the connected components: (id, component) for every vertex of an edge. A component
        is named by its least vertex.

        In each round a vertex takes the least name of its neighbours. Then it takes the name of the
        vertex that it is named after, so that names travel twice as far. Stops because names only
        decrease.
        """
        found = files.write("components", edge_ends(edges).withColumn("component", F.col("id")))
        while True:
            along = look_up(edges.select("src", "dst"), found, of_src="src", of_dst="dst")
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
    """Graph operations implemented by GraphFrames."""

    name = "GraphFrames"

    def messages(
        self, edges: DataFrame, aggregate: Column, *, to_src: Column, to_dst: Column
    ) -> DataFrame:
        """Send messages along the edges and aggregate them at each vertex; see
        `DataFrameCalls.messages`.
        """
        from graphframes import GraphFrame  # type: ignore[import-untyped]

        found: DataFrame = GraphFrame(edge_ends(edges), edges).aggregateMessages(
            [aggregate], sendToSrc=[to_src], sendToDst=[to_dst]
        )
        # It takes null for a message.
        return found.dropna()

    def components(self, edges: DataFrame, files: TemporaryTables) -> DataFrame:
        """Find the connected components of the graph; see `DataFrameCalls.components`."""
        from graphframes import GraphFrame

        edges.sparkSession.sparkContext.setCheckpointDir(files.checkpoint_folder)
        algorithm = "graphx" if edges.count() <= _FEW_EDGES else "two_phase"
        named: DataFrame = GraphFrame(
            edge_ends(edges), edges.select("src", "dst")
        ).connectedComponents(algorithm=algorithm, broadcastThreshold=-1)
        least = named.groupBy("component").agg(F.min("id").alias("least"))
        return files.write(
            "components",
            named.join(least, "component").select("id", F.col("least").alias("component")),
        )


#: Serves the two calls; ``name`` says which of them does.
GraphCalls: TypeAlias = DataFrameCalls | GraphFramesCalls


def graph_calls(spark: SparkSession) -> GraphCalls:
    """Choose the graph operations: GraphFrames if its core is loaded, else DataFrames."""
    return GraphFramesCalls() if has_core(spark) else DataFrameCalls()


def edge_ends(edges: DataFrame) -> DataFrame:
    """Select the vertices that are an end of an edge: (id), distinct."""
    return edges.select(F.explode(F.array("src", "dst")).alias("id")).distinct()


def look_up(rows: DataFrame, table: DataFrame, **columns: str) -> DataFrame:
    """Join ``rows`` with the values of ``table`` (key, value). ``columns``: for each new column the
    column with its keys.

    Keys that are missing in ``table`` give null.
    """
    for after, before in columns.items():
        rows = rows.join(table.toDF(before, "_found"), before, "left")
        rows = rows.withColumn(after, F.col("_found")).drop("_found")
    return rows


class CertificateError(OperationalError):
    """Error: the result of a Spark job fails the check that certifies it."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the answer of the Spark job for {what} does not hold",
            "Nothing was decided; try --engine spark or --engine local.",
        )


def certify_reached(
    start: DataFrame, entered: DataFrame, dealt: DataFrame, wanted: DataFrame
) -> None:
    """Certify that ``entered`` (id, round) has exactly the elements that are reached from ``start``
    (id) along role assertions.

    ``dealt`` are the edges whose outcome is known; ``wanted`` are all edges at elements that
    entered; none of these was left out. Exactly the start has round 0. Every other element got
    round d from a neighbour of round d - 1, so by induction it is reached. No message goes from an
    element that entered to one that did not, so none is missing.
    """
    lost = wanted.join(dealt, ["subject", "role", "object"], "left_anti").select(F.lit(1))
    arcs = dealt.filter("outcome RLIKE '[SD]'").select("src", "dst", "outcome")
    before = DataFrameCalls().messages(
        look_up(arcs, entered, src_round="src", dst_round="dst"),
        F.min("MSG").alias("before"),
        to_src=F.when(F.contains("edge.outcome", F.lit("S")), F.col("edge.dst_round")),
        to_dst=F.when(F.contains("edge.outcome", F.lit("D")), F.col("edge.src_round")),
    )
    rows = entered.join(before, "id", "full").join(
        start.withColumn("starts", F.lit(True)), "id", "full"
    )
    holds = (
        F.when(F.col("starts"), F.col("round") == 0)
        .when(F.col("round").isNull(), F.lit(False))
        .otherwise((F.col("round") > 0) & (F.col("before") + 1 == F.col("round")))
    )
    if not lost.union(rows.filter(~F.coalesce(holds, F.lit(False))).select(F.lit(1))).isEmpty():
        raise CertificateError("what enters")


def certify_components(edges: DataFrame, found: DataFrame) -> None:
    """Certify that ``found`` (id, component) gives each end of ``edges`` (src, dst) exactly one
    component.

    The name is a vertex of the component, and no edge joins two components. `lay_out_modules`
    checks that a
    component is connected (`shiq.jobs.graphframes.modules`).
    """
    counts = found.groupBy("id").agg(F.count("*").alias("names"))
    ends = edge_ends(edges).withColumn("known", F.lit(True)).join(counts, "id", "full")
    wrong = ends.filter("known IS NULL OR names IS NULL OR names <> 1").select("id")
    owners = found.filter("id = component").select("component")
    ownerless = found.join(owners, "component", "left_anti").select("id")
    ends = look_up(edges, found, of_src="src", of_dst="dst")
    crossing = ends.filter("of_src <> of_dst").select("src")
    if not wrong.union(ownerless).union(crossing).isEmpty():
        raise CertificateError("components")
