"""What every fixpoint is held against before it is believed.

A check here never uses GraphFrames, and costs about one more round. If it fails, the whole check
ends with a `CertificateError`: nothing is decided on an answer that was not proved.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.graphframes.messages import DataFrameCalls, ends_of, with_ends
from shiq.errors import OperationalError


class CertificateError(OperationalError):
    """A computed fixpoint is none."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the answer of the Spark job for {what} does not hold",
            "Nothing was decided; try --engine spark or --engine local.",
        )


def certify_entered(
    start: DataFrame, entered: DataFrame, dealt: DataFrame, wanted: DataFrame
) -> None:
    """Certify that exactly those of ``entered`` (id, round) are reached from ``start`` (id)
    along role assertions.

    ``dealt`` are those whose outcome is known, ``wanted`` those at what entered: none of these
    was left out. Exactly the start has round 0; everything else was given a round d by a
    neighbour of round d - 1, so by induction it is reached. And no message from what entered
    goes to what did not, so nothing is missing.
    """
    lost = wanted.join(dealt, ["subject", "role", "object"], "left_anti").select(F.lit(1))
    arcs = with_ends(dealt.filter("outcome RLIKE '[SD]'").select("src", "dst", "outcome"), entered)
    to_src = F.when(F.contains("edge.outcome", F.lit("S")), F.col("edge.dst_round"))
    to_dst = F.when(F.contains("edge.outcome", F.lit("D")), F.col("edge.src_round"))
    before = DataFrameCalls().messages(
        arcs, F.min("MSG").alias("before"), to_src=to_src, to_dst=to_dst
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
    """Certify that ``found`` (id, component) names every end of ``edges`` (src, dst) once, by a
    vertex of its component, and that no edge joins two. That a component is one piece is seen
    where it is laid out (`jobs.graphframes.modules`).
    """
    ids = ends_of(edges)
    named = found.groupBy("id").agg(F.count("*").alias("names"))
    owned = found.filter("id = component").select("component", F.lit(True).alias("owned"))
    known = ids.withColumn("known", F.lit(True)).join(named, "id", "full")
    rows = known.join(found, "id", "left").join(owned, "component", "left")
    wrong = rows.filter("known IS NULL OR names IS NULL OR names <> 1 OR owned IS NULL").select(
        "id"
    )
    src, dst = (
        found.select(F.col("id").alias(end), F.col("component").alias(f"of_{end}"))
        for end in ("src", "dst")
    )
    crossing = edges.join(src, "src").join(dst, "dst").filter("of_src <> of_dst").select("src")
    if not wrong.union(crossing).isEmpty():
        raise CertificateError("components")
