"""What every fixpoint is held against before it is believed.

A check here never uses GraphFrames, and costs about one more round. If it fails, the whole check
ends with a `CertificateError`: nothing is decided on an answer that was not proved.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from shiq.errors import OperationalError
from shiq.jobs.graphframes.messages import DataFrameCalls, ends_of, looked_up


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
    arcs = dealt.filter("outcome RLIKE '[SD]'").select("src", "dst", "outcome")
    before = DataFrameCalls().messages(
        looked_up(arcs, entered, src_round="src", dst_round="dst"),
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
    """Certify that ``found`` (id, component) names every end of ``edges`` (src, dst) once, by a
    vertex of its component, and that no edge joins two. That a component is one piece is seen
    where it is laid out (`shiq.jobs.graphframes.modules`).
    """
    counts = found.groupBy("id").agg(F.count("*").alias("names"))
    ends = ends_of(edges).withColumn("known", F.lit(True)).join(counts, "id", "full")
    wrong = ends.filter("known IS NULL OR names IS NULL OR names <> 1").select("id")
    owners = found.filter("id = component").select("component")
    ownerless = found.join(owners, "component", "left_anti").select("id")
    ends = looked_up(edges, found, of_src="src", of_dst="dst")
    crossing = ends.filter("of_src <> of_dst").select("src")
    if not wrong.union(ownerless).union(crossing).isEmpty():
        raise CertificateError("components")
