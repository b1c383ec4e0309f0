"""Connected components by GraphFrames, believed only with their certificate."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.graphframes.certificate import certified_components
from jobs.graphframes.frames import settled
from shiq.columns.arrays import NONE, Ints

#: Up to so many edges one superstep a hop is cheaper than contracting the graph, which has a high fixed cost.
_SMALL = 200_000


def components(edges: DataFrame) -> tuple[Ints, Ints]:
    """(vertex, the least vertex of its component), ascending, for every vertex that an edge (src, dst) mentions."""
    edges = settled(edges.select("src", "dst").distinct())
    size = edges.count()
    if not size:
        return NONE, NONE
    return certified_components(edges, run(edges, size))


def run(edges: DataFrame, size: int) -> DataFrame:
    """What GraphFrames says of ``size`` edges: id, component. Not certified."""
    from graphframes import GraphFrame  # type: ignore[import-untyped]

    graph = GraphFrame(edges.select(F.explode(F.array("src", "dst")).alias("id")).distinct(), edges)
    algorithm = "graphx" if size <= _SMALL else "two_phase"
    found: DataFrame = graph.connectedComponents(algorithm=algorithm, broadcastThreshold=-1, use_local_checkpoints=True)
    return found
