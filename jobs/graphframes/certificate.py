"""What every fixpoint is held against before it is believed.

A check here never uses GraphFrames, and costs about one more round. What it proves is said at each; if it fails, the whole check
ends with a `CertificateError`: nothing is decided on an answer that was not proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from abox_ops.elements.partition import components
from jobs.graphframes.frames import collected, lookup
from jobs.graphframes.rules import AND, WorkerCalculus
from jobs.spark.imports import spare_imports
from shiq.columns.arrays import Ints, positions, unique
from shiq.errors import OperationalError


class CertificateError(OperationalError):
    """A computed fixpoint is none."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the answer of the Spark job for {what} does not hold", "Nothing was decided; try --engine spark or --engine local."
        )


def certified_components(edges: DataFrame, found: DataFrame) -> tuple[Ints, Ints]:
    """(vertex, the least vertex of its component), ascending, for all that ``edges`` (src, dst) mention, on the driver; certifies
    that ``found`` (id, component) names the components.

    What is said to be one component is brought together and proved by itself: see `certify_components`. An edge between two
    of them would be seen at its source.
    """
    label, other = (
        found.select(F.col("id").alias(end), F.col("component").alias(name))
        for end, name in (("src", "component"), ("dst", "other"))
    )
    of_edges = edges.join(label, "src", "left").join(other, "dst", "left").select("src", "dst", "component", "other")
    of_members = found.select(F.col("id").alias("src"), F.lit(None).cast("bigint").alias("dst"), "component", "component")
    rows = of_edges.union(of_members).fillna(-1).repartition("component")
    proved = collected(rows.mapInArrow(_proved, "id bigint, least bigint"))
    order = np.argsort(proved["id"])
    if (proved["id"] < 0).any():
        raise CertificateError("components")
    return proved["id"][order], proved["least"][order]


def _proved(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Verifies that the rows are whole components as they are labelled: gives (vertex, least vertex of its component), or
    (-1, -1) alone if they are not."""
    spare_imports()
    parts = [[column.to_numpy() for column in batch.columns] for batch in batches]
    if not parts:
        return
    src, dst, component, other = (np.concatenate(columns) for columns in zip(*parts))
    is_edge = dst >= 0
    member = src[~is_edge]
    try:
        if (component != other).any():
            raise CertificateError("components: an edge joins two labels")
        vertices = unique(np.concatenate([src[is_edge], dst[is_edge]]))
        least = certify_components(vertices, src[is_edge], dst[is_edge], member, component[~is_edge])
    except CertificateError:
        vertices = least = np.array([-1])
    yield pa.RecordBatch.from_arrays([pa.array(vertices), pa.array(least)], ["id", "least"])


def certify_components(vertices: Ints, first: Ints, second: Ints, member: Ints, component: Ints) -> Ints:
    """Certifies that ``component`` names the connected component of each ``member``: of every one of ``vertices`` (ascending),
    by edges (first, second). The least vertex of the component of each.

    Proves it by counting. Every vertex has one label; a label is the name of a member that has it; no edge joins two labels, so
    there are at most as many labels as components. There are as many components as labels, so no label stands for two of them.
    """
    order = np.argsort(member, kind="stable")
    member, component = member[order], component[order]
    if not np.array_equal(member, vertices):
        raise CertificateError("components: not every vertex has one label")
    names = unique(component)
    if not np.isin(names, member).all() or not np.array_equal(component[positions(member, names)], names):
        raise CertificateError("components: a label that is not the name of a member")
    ends = positions(member, first), positions(member, second)
    if (component[ends[0]] != component[ends[1]]).any():
        raise CertificateError("components: an edge joins two labels")
    least = components(len(member), *ends)
    if len(unique(least)) != len(names):
        raise CertificateError("components: a label stands for more than one component")
    found: Ints = member[least]
    return found


def certify_told(rules: WorkerCalculus, vertices: DataFrame, edges: DataFrame) -> None:
    """Certifies that the last label of each ``history`` is the least fixpoint above ``start``, along ``edges`` (src, dst, role).

    ``vertices``: id, start, history (its label after each round). Replays all rounds in one pass: every label is what the label
    before it and the messages sent under the labels of that round come to, so nothing is there that was not derived; and a round
    after the last changes nothing, so nothing is missing.
    """
    subject, object = (vertices.select(F.col("id").alias(end), F.col("history").alias(f"at_{end}")) for end in ("src", "dst"))
    made = rules.column("messages", "string", F.col("role"), F.col("at_src"), F.col("at_dst"))
    sent = (
        edges.join(subject, "src")
        .join(object, "dst")
        .select(F.array("src", "dst").alias("id"), F.split(made, rf"\{AND}").alias("got"))
    )
    each = sent.select(F.explode(F.arrays_zip("id", "got")).alias("message")).select("message.*")
    received = each.groupBy("id").agg(F.array_join(F.collect_set("got"), AND).alias("received"))
    holds = rules.column("replays", "boolean", F.col("start"), F.col("history"), F.col("received"))
    if not vertices.join(received, "id", "left").filter(~F.coalesce(holds, F.lit(False))).isEmpty():
        raise CertificateError("told literals")


def certify_reached(start: Ints, arcs: DataFrame, reached: Ints, distance: Ints) -> None:
    """Certifies that ``reached``, at those distances, is what ``start`` reaches along ``arcs`` (src, dst).

    Exactly the start is at distance 0; everything else was given a distance d by an arc from a vertex at d - 1, so by induction
    it is reached; and no arc leads out of what is reached, so nothing is missing.
    """
    sources = lookup(arcs.sparkSession, {"src": reached, "before": distance})
    met = collected(arcs.join(sources, "src").groupBy("dst").agg(F.min("before").alias("before")))
    before = np.full(len(reached), -1, np.int64)
    order = np.argsort(reached)
    is_known = np.isin(met["dst"], reached)
    before[order[np.searchsorted(reached[order], met["dst"][is_known])]] = met["before"][is_known]
    later = distance > 0
    if (
        not is_known.all()
        or not np.array_equal(np.sort(reached), unique(reached))
        or not np.array_equal(np.sort(reached[~later]), unique(start))
        or not np.array_equal(before[later] + 1, distance[later])
        or (before[later] < 0).any()
    ):
        raise CertificateError("what is reached")
