"""What every fixpoint is held against before it is believed.

A check here never uses GraphFrames, and costs about one more round. What it proves is said at each; if it fails, the whole check
ends with a `CertificateError`: nothing is decided on an answer that was not proved.
"""

from __future__ import annotations

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.graphframes.rules import WorkerCalculus
from shiq.columns.arrays import Ints
from shiq.errors import OperationalError


class CertificateError(OperationalError):
    """A computed fixpoint is none."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the answer of the Spark job for {what} does not hold", "Nothing was decided; try --engine spark or --engine local."
        )


def certify_components(vertices: Ints, first: Ints, second: Ints, member: Ints, component: Ints) -> None:
    """Certifies that ``component`` names the connected component of each ``member``: of every vertex, by edges (first, second).

    Proves it by counting. Every vertex has one label; a label is the name of a member that has it; no edge joins two labels, so
    there are at most as many labels as components. A spanning forest grown here edge by edge has as many trees as there are
    components; there are as many labels as trees, so no label stands for two components.
    """
    order = np.argsort(member, kind="stable")
    member, component = member[order], component[order]
    if not np.array_equal(member, np.sort(vertices)):
        raise CertificateError("components: not every vertex has one label")
    if not len(member):
        return

    def label(ids: Ints) -> Ints:
        found: Ints = component[np.searchsorted(member, ids)]
        return found

    names = np.unique(component)
    if not np.isin(names, member).all() or not np.array_equal(label(names), names):
        raise CertificateError("components: a label that is not the name of a member")
    if not np.array_equal(label(first), label(second)):
        raise CertificateError("components: an edge joins two labels")
    if len(member) - _forest(first, second) != len(names):
        raise CertificateError("components: a label stands for more than one component")


def _forest(first: Ints, second: Ints) -> int:
    """How many edges a spanning forest has."""
    parent: dict[int, int] = {}

    def root(x: int) -> int:
        while (above := parent.get(x, x)) != x:
            parent[x] = parent.get(above, above)
            x = above
        return x

    size = 0
    for a, b in zip(first.tolist(), second.tolist()):
        a, b = root(a), root(b)
        if a != b:
            parent[a] = b
            size += 1
    return size


def certify_told(rules: WorkerCalculus, vertices: DataFrame, edges: DataFrame) -> None:
    """Certifies that the last label of each ``history`` is the least fixpoint above ``start``, along ``edges`` (src, dst, role).

    ``vertices``: id, start, history (its label after each round). Replays all rounds in one pass: every label is what the label
    before it and the messages sent under the labels of that round come to, so nothing is there that was not derived; and a round
    after the last changes nothing, so nothing is missing.
    """
    histories = vertices.select("id", "history")
    ends = (
        edges.select("src", "dst", "role")
        .join(histories.withColumnsRenamed({"id": "src", "history": "a"}), "src")
        .join(histories.withColumnsRenamed({"id": "dst", "history": "b"}), "dst")
    )

    made = ends.select("src", "dst", rules.messages(F.col("role"), F.col("a"), F.col("b")).alias("sent"))
    received = (
        made.select(
            F.explode(
                F.array(
                    F.struct(F.col("src").alias("id"), F.col("sent.a").alias("got")),
                    F.struct(F.col("dst").alias("id"), F.col("sent.b").alias("got")),
                )
            ).alias("message")
        )
        .select("message.*")
        .groupBy("id")
        .agg(F.collect_set("got").alias("received"))
    )

    holds = rules.replays(F.col("start"), F.col("history"), F.col("received"))
    wrong = vertices.join(received, "id", "left").filter(~F.coalesce(holds, F.lit(False))).limit(1).count()
    if wrong:
        raise CertificateError("told literals")


def certify_reached(start: DataFrame, arcs: DataFrame, reached: DataFrame) -> None:
    """Certifies that ``reached`` (id, distance) is what ``start`` (id) reaches along ``arcs`` (src, dst).

    Exactly the start is at distance 0; everything else was given a distance d by an arc from a vertex at d - 1, so by induction
    it is reached; and no arc leads out of what is reached, so nothing is missing.
    """
    before = (
        arcs.join(reached.withColumnsRenamed({"id": "src", "distance": "before"}), "src")
        .groupBy("dst")
        .agg(F.min("before").alias("before"))
        .withColumnRenamed("dst", "id")
    )
    told = start.select("id").distinct().withColumn("start", F.lit(True))
    everyone = reached.join(before, "id", "full_outer").join(told, "id", "full_outer")
    is_start = F.coalesce("start", F.lit(False))
    good = (
        F.col("distance").isNotNull()
        & ((F.col("distance") == 0) == is_start)
        & ((F.col("distance") == 0) | F.coalesce(F.col("distance") == F.col("before") + 1, F.lit(False)))
    )
    once = reached.groupBy("id").count().filter("count > 1").limit(1)
    if everyone.filter(~good).select("id").limit(1).union(once.select("id")).count():
        raise CertificateError("what is reached")
