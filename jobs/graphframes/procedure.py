"""The published procedure (THEORY, "The procedure") as rounds of messages between neighbours, on
tables.

A round takes the role assertions at what entered in the one before. What becomes of each depends
on what is asserted at its ends: whether it is kept, or which remedies stand for it, and which of
its ends enter. That is its message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.graphframes.certificate import certify_entered
from jobs.graphframes.literals import arrow_column
from jobs.graphframes.messages import ends_of
from jobs.graphframes.tables import UnionTables, frame, union
from shiq.columns.arrays import Ints


@dataclass(frozen=True)
class EnteredTables:
    """What enters.

    ``vertices``: id (an element), literals (asserted ones and remedies), clashes. ``edges``: the
    role assertions that a round dealt with: subject, object (nodes), src, dst (elements), role,
    kept, outcome (`literals.WorkerRules.outcome`), and whether both ends are free of clashes
    (inside). ``remedies``: id, literal. ``data``: id, node, property, literal, its parts,
    ill_typed.
    """

    vertices: DataFrame
    edges: DataFrame
    remedies: DataFrame
    data: DataFrame


def enter(tables: UnionTables, changed: Ints, told: Ints) -> EnteredTables:
    """Run the procedure. ``changed``: the nodes of inserted assertions that are no role or data
    assertions; ``told``: those that enter at once (`abox_ops.published.columns.told_nodes`).
    """
    rounds = _Rounds(tables, changed)
    entered, dealt = rounds.run(told)
    each = dealt.select("src", "dst", F.explode(F.split("outcome", " ")).alias("part")).filter(
        "part RLIKE '^[sd]'"
    )
    at = F.when(F.col("part").startswith("s"), F.col("src")).otherwise(F.col("dst"))
    remedies = each.select(
        at.alias("id"), F.expr("substring(part, 2)").cast("bigint").alias("literal")
    )
    remedies = tables.files.write("remedies", remedies.distinct())
    data = tables.files.write("data", _data(tables, entered))
    vertices = tables.files.write("entered", _labelled(tables, entered, remedies, data))
    free = vertices.filter("NOT clashes")
    for end in ("src", "dst"):
        dealt = dealt.join(
            free.select(F.col("id").alias(end), F.lit(True).alias(f"{end}_free")), end, "left"
        )
    inside = F.coalesce(F.col("src_free") & F.col("dst_free"), F.lit(False))
    columns = (
        "subject",
        "object",
        "src",
        "dst",
        "role",
        F.contains("outcome", F.lit("K")).alias("kept"),
        "outcome",
    )
    edges = tables.files.write("inside", dealt.select(*columns, inside.alias("inside")))
    return EnteredTables(vertices, edges, remedies, data)


# --- rounds ---------------------------------------------------------------------------------------


class _Rounds:
    """The rounds of one run."""

    def __init__(self, tables: UnionTables, changed: Ints) -> None:
        self.tables, rules = tables, tables.rules
        self._roles = [i for i, role in enumerate(rules.roles) if role in rules.rules.part_of]
        names = rules.rules.names
        literals = [
            2 * i + sign for i in range(names.bit_length()) if names >> i & 1 for sign in (0, 1)
        ]
        #: What the rules ask of what is asserted.
        asserted = tables.files.write(
            "asserted", tables.asserted().filter(F.col("literal").isin(literals))
        )
        self._asserted = tables.named(asserted, id="node")
        # What A alone asserts, at its elements of which the batch asserts something more than role
        # assertions.
        touched = (
            tables.old_named(frame(tables.spark, {"node": changed}), id="node")
            .select("id")
            .distinct()
        )
        old = tables.old_named(asserted.filter("NOT inserted"), id="node").join(
            touched, "id", "left_semi"
        )
        before = touched.join(_labels(old, "before"), "id", "left").withColumn(
            "before", F.coalesce("before", F.lit(""))
        )
        self._before = tables.files.write("before", before)

    def run(self, told: Ints) -> tuple[DataFrame, DataFrame]:
        """(id, round) of those that enter, with the round in which they do, and the role
        assertions that were dealt with. Stops because an element enters once.
        """
        tables, files = self.tables, self.tables.files
        inserted = tables.rows("half_edges", "node", "role", "neighbour", with_old=False)
        edges = [files.write("edges0", self._outcomes(self._turned(inserted)))]
        ends = (
            edges[0].filter(F.contains("outcome", F.lit(sign))).select(end)
            for sign, end in (("S", "src"), ("D", "dst"))
        )
        start = union(
            tables.named(frame(tables.spark, {"node": told}), id="node").select("id"),
            *_as_ids(ends),
        ).distinct()
        frontiers = [files.write("frontier0", start.withColumn("round", F.lit(0)))]
        while not frontiers[-1].isEmpty():
            number = len(frontiers)
            edges.append(files.write(f"edges{number}", self._outcomes(self._at(frontiers[-1]))))
            met = self._met(frontiers[-1], edges[-1])
            fresh = met.join(union(*frontiers), "id", "left_anti").select(
                "id", F.lit(number).alias("round")
            )
            frontiers.append(files.write(f"frontier{number}", fresh))
        entered = union(*frontiers)
        dealt = files.write("dealt", union(*edges).dropDuplicates(["subject", "role", "object"]))
        certify_entered(frontiers[0].select("id"), entered, dealt, self._at(entered))
        return entered, dealt

    def _met(self, frontier: DataFrame, edges: DataFrame) -> DataFrame:
        """(id): those that enter by a message from the ``frontier`` along ``edges``."""
        vertices = ends_of(edges).join(
            frontier.select("id", F.lit(True).alias("sends")), "id", "left"
        )
        arcs = edges.filter("outcome RLIKE '[SD]'").select("src", "dst", "outcome")
        to_src = F.when(F.col("dst.sends") & F.contains("edge.outcome", F.lit("S")), F.lit(True))
        to_dst = F.when(F.col("src.sends") & F.contains("edge.outcome", F.lit("D")), F.lit(True))
        return self.tables.calls.messages(
            vertices, arcs, F.max("MSG").alias("met"), to_src=to_src, to_dst=to_dst
        )

    def _at(self, elements: DataFrame) -> DataFrame:
        """The role assertions at ``elements`` (id) that the rules speak of, as `_turned` gives
        them.
        """
        nodes = self.tables.nodes_of(elements)
        return self._turned(
            self.tables.rows("half_edges", "node", "role", "neighbour").join(
                nodes, "node", "left_semi"
            )
        )

    def _turned(self, rows: DataFrame) -> DataFrame:
        """Half-edges as role assertions: subject, role (not inverted), object, inserted."""
        back = F.col("role") % 2 == 1
        subject, object = (
            F.when(back, F.col(a)).otherwise(F.col(b))
            for a, b in (("neighbour", "node"), ("node", "neighbour"))
        )
        role = F.when(back, F.col("role") - 1).otherwise(F.col("role"))
        found = rows.filter(F.col("role").isin(self._roles))
        return found.select(
            subject.alias("subject"), role.alias("role"), object.alias("object"), "inserted"
        )

    def _outcomes(self, rows: DataFrame) -> DataFrame:
        """Role assertions (``rows``) with their elements (src, dst) and their outcome."""
        tables = self.tables
        rows = tables.named(rows, src="subject", dst="object")
        rows = tables.old_named(rows, old_src="subject", old_dst="object")
        now = _labels(self._asserted.join(ends_of(rows), "id", "left_semi"), "label")
        before = self._before
        for end in ("src", "dst"):
            rows = rows.join(
                now.withColumnsRenamed({"id": end, "label": f"label_{end}"}), end, "left"
            )
            rows = rows.join(
                before.withColumnsRenamed({"id": f"old_{end}", "before": f"before_{end}"}),
                f"old_{end}",
                "left",
            )
        labels = [F.coalesce(f"label_{end}", F.lit("")) for end in ("src", "dst")]
        olds = [F.coalesce(f"before_{end}", label) for end, label in zip(("src", "dst"), labels)]
        text = arrow_column(
            tables.rules.outcome, F.col("role"), *labels, F.col("inserted").cast("int"), *olds
        )
        return rows.select("subject", "object", "src", "dst", "role", text.alias("outcome"))


def _as_ids(tables: Iterable[DataFrame]) -> list[DataFrame]:
    return [table.toDF("id") for table in tables]


def _labels(rows: DataFrame, name: str) -> DataFrame:
    """(id, the text of the literals of each id)."""
    return rows.groupBy("id").agg(
        F.array_join(F.sort_array(F.collect_set("literal")), ",").alias(name)
    )


# --- what is asserted of those that enter ---------------------------------------------------------


def _labelled(
    tables: UnionTables, entered: DataFrame, remedies: DataFrame, data: DataFrame
) -> DataFrame:
    """(id, literals, clashes) of the ``entered``: what is asserted of them, and their
    ``remedies``; ``data``: their values.
    """
    clash = F.explode(F.array(*(F.lit(i).cast("bigint") for i in tables.rules.clash))).alias(
        "literal"
    )
    said = tables.named(tables.asserted(), id="node").select("id", "literal")
    different = None
    if tables.different is not None:
        ends = tables.named(tables.different, id="node", other="neighbour")
        different = ends.filter("id = other").select("id", clash)
    ill_typed = data.filter("ill_typed").select("id", clash)
    rows = union(said, different, ill_typed, remedies).join(entered, "id", "left_semi")
    found = entered.select("id").join(
        rows.groupBy("id").agg(F.collect_set("literal").alias("literals")), "id", "left"
    )
    literals = F.sort_array(F.coalesce("literals", F.array().cast("array<bigint>")))
    clashes = F.exists("literals", lambda x: F.array_contains("literals", x.bitwiseXOR(F.lit(1))))
    return found.withColumn("literals", literals).withColumn("clashes", clashes)


def _data(tables: UnionTables, entered: DataFrame) -> DataFrame:
    """The data assertions of the ``entered``: id, node, property, literal, its parts, and
    whether it denotes nothing.
    """
    rows = tables.named(tables.rows("data_assertions", "node", "property", "literal"), id="node")
    values = tables.values(rows.join(entered, "id", "left_semi"))
    parts = [F.col(name) for name in ("lexical", "datatype", "language")]
    return values.withColumn("ill_typed", arrow_column(tables.rules.ill_typed, *parts) != "")
