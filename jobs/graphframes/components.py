"""Connected components by GraphFrames, believed only with their certificate."""

from __future__ import annotations

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from jobs.graphframes.certificate import certify_components
from jobs.graphframes.frames import collected, frame
from shiq.columns.arrays import Ints, unique

#: Up to so many edges one superstep a hop is cheaper than contracting the graph, which has a high fixed cost.
_SMALL = 200_000


def components(spark: SparkSession, first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """(vertex, the least vertex of its component) for every vertex that an edge (first[i], second[i]) mentions."""
    vertices = unique(np.concatenate([first, second]))
    if not len(vertices):
        return vertices, vertices
    found = collected(run(spark, vertices, first, second).select("id", "component"))
    member, component = found["id"], found["component"]
    certify_components(vertices, first, second, member, component)
    order = np.argsort(member)
    member, component = member[order], component[order]
    _, start = np.unique(component, return_index=True)
    least = np.zeros(len(member), np.int64)
    least[:] = member[start][np.searchsorted(component[start], component)]
    return member, least


def run(spark: SparkSession, vertices: Ints, first: Ints, second: Ints) -> DataFrame:
    """What GraphFrames says: id, component. Not certified."""
    from graphframes import GraphFrame  # type: ignore[import-untyped]

    graph = GraphFrame(frame(spark, {"id": vertices}), frame(spark, {"src": first, "dst": second}))
    algorithm = "graphx" if len(first) <= _SMALL else "two_phase"
    found: DataFrame = graph.connectedComponents(algorithm=algorithm, broadcastThreshold=-1, use_local_checkpoints=True)
    return found
