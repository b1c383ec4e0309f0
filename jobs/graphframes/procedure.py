"""The published procedure (THEORY, "The procedure") as rounds of messages between neighbours, on
tables.

A round takes the role assertions at what entered in the one before. What becomes of each depends
on what is asserted at its ends: whether it is kept, or which remedies stand for it, and which of
its ends enter. That is its message.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.graphframes.certificate import certify_entered
from jobs.graphframes.literals import arrow_column
from jobs.graphframes.messages import with_ends
from jobs.graphframes.tables import LITERAL, UnionTables, frame, renamed, union
from shiq.bits import bits
from shiq.columns.arrays import Ints
from shiq.columns.rows import DIFFERENT


@dataclass(frozen=True)
class EnteredTables:
    """What enters.

    ``vertices``: id (an element), literals (asserted ones and remedies), clashes. ``edges``: the
    role assertions that a round dealt with: subject, object (nodes), src, dst (elements), role,
    outcome (`literals.WorkerRules.outcome`). ``remedies``: id, literal, and whether that is
    asserted. ``data``: id, node, property, literal, its parts, ill_typed.
    """

    vertices: DataFrame
    edges: DataFrame
    remedies: DataFrame
    data: DataFrame


def enter(tables: UnionTables, changed: Ints, told: Ints) -> EnteredTables:
    """Run the procedure. ``changed``: the nodes of inserted assertions that are no role or data
    assertions; ``told``: those that enter at once (`abox_ops.published.columns.told_nodes`).
    """
    write = tables.files.write
    entered, dealt = _Rounds(tables, changed).run(told)
    asserted = renamed(tables.asserted(), tables.names, id="node").select("id", "literal")
    each = dealt.select("src", "dst", F.explode(F.split("outcome", " ")).alias("part"))
    each = each.filter("part RLIKE '^[sd]'").selectExpr(
        "CASE WHEN part LIKE 's%' THEN src ELSE dst END AS id",
        "CAST(substring(part, 2) AS BIGINT) AS literal",
    )
    known = asserted.distinct().withColumn("asserted", F.lit(True))
    remedies = each.distinct().join(known, ["id", "literal"], "left").fillna(False)
    remedies = write("remedies", remedies)
    rows = renamed(
        tables.rows("data_assertions", "node", "property", "literal"), tables.names, id="node"
    )
    data = rows.join(entered, "id", "left_semi").join(tables.literals, "literal")
    ill_typed = arrow_column(tables.rules.ill_typed, *map(F.col, LITERAL)) != ""
    data = write("data", data.withColumn("ill_typed", ill_typed))
    # What is asserted of those that enter, their remedies, and contradictions.
    apart = renamed(
        tables.pairs.filter(f"kind = {DIFFERENT}"), tables.names, id="node", other="neighbour"
    )
    wrong = apart.filter("id = other").select("id").union(data.filter("ill_typed").select("id"))
    clash = F.explode(F.array(*(F.lit(i).cast("bigint") for i in tables.rules.clash)))
    wrong = wrong.withColumn("literal", clash)
    rows = union(asserted, wrong, remedies.select("id", "literal"))
    literals = rows.join(entered, "id", "left_semi").groupBy("id")
    found = entered.select("id").join(
        literals.agg(F.sort_array(F.collect_set("literal")).alias("literals")), "id", "left"
    )
    found = found.withColumn("literals", F.coalesce("literals", F.array().cast("array<bigint>")))
    clashes = F.exists("literals", lambda x: F.array_contains("literals", x.bitwiseXOR(F.lit(1))))
    return EnteredTables(
        write("entered", found.withColumn("clashes", clashes)), dealt, remedies, data
    )


class _Rounds:
    """The rounds of one run."""

    def __init__(self, tables: UnionTables, changed: Ints) -> None:
        self.tables, rules = tables, tables.rules
        self._roles = [i for i, role in enumerate(rules.roles) if role in rules.rules.part_of]
        # What the rules ask of what is asserted.
        read = [2 * i + sign for i in bits(rules.rules.names) for sign in (0, 1)]
        asserted = tables.asserted().filter(F.col("literal").isin(read))
        self._labels = tables.files.write("labels", _labels(asserted, tables.names))
        # What A alone asserts, at its elements of which the batch asserts something more than role
        # assertions.
        touched = renamed(frame(tables.spark, {"node": changed}), tables.old_names, id="node")
        touched = touched.select("id").distinct()
        old = _labels(asserted.filter("NOT inserted"), tables.old_names)
        before = touched.join(old, "id", "left").fillna("")
        self._before = tables.files.write("before", before)

    def run(self, told: Ints) -> tuple[DataFrame, DataFrame]:
        """(id, round) of those that enter, with the round in which they do, and the role
        assertions that were dealt with. Stops because an element enters once.
        """
        tables, write = self.tables, self.tables.files.write
        rows = self._turned(tables.rows("half_edges", "node", "role", "neighbour", with_old=False))
        fresh = renamed(frame(tables.spark, {"node": told}), tables.names, id="node").select("id")
        edges: list[DataFrame] = []
        frontiers: list[DataFrame] = []
        while not frontiers or not frontiers[-1].isEmpty():
            number = len(frontiers)
            edges.append(write(f"edges{number}", self._outcomes(rows)))
            to_src, to_dst = (
                F.when(F.contains("edge.outcome", F.lit(sign)), F.lit(True)) for sign in "SD"
            )
            arcs = edges[-1].filter("outcome RLIKE '[SD]'").select("src", "dst", "outcome")
            reached = tables.calls.messages(
                arcs, F.max("MSG").alias("reached"), to_src=to_src, to_dst=to_dst
            )
            reached = reached.select("id")
            fresh = (
                reached.join(union(*frontiers), "id", "left_anti")
                if frontiers
                else reached.union(fresh).distinct()
            )
            frontiers.append(write(f"frontier{number}", fresh.withColumn("round", F.lit(number))))
            rows = self._at(frontiers[-1])
        entered = union(*frontiers)
        dealt = write("dealt", union(*edges).dropDuplicates(["subject", "role", "object"]))
        certify_entered(frontiers[0].select("id"), entered, dealt, self._at(entered))
        return entered, dealt

    def _at(self, elements: DataFrame) -> DataFrame:
        """The role assertions at ``elements`` (id) that the rules speak of, as `_turned` gives
        them.
        """
        rows = self.tables.rows("half_edges", "node", "role", "neighbour")
        named = renamed(rows, self.tables.names, id="node")
        return self._turned(named.join(elements, "id", "left_semi"))

    def _turned(self, rows: DataFrame) -> DataFrame:
        """Half-edges as role assertions: subject, role (not inverted), object, inserted."""
        ends = "CASE WHEN role % 2 = 1 THEN {} ELSE {} END AS {}"
        return rows.filter(F.col("role").isin(self._roles)).selectExpr(
            ends.format("neighbour", "node", "subject"),
            "role - role % 2 AS role",
            ends.format("node", "neighbour", "object"),
            "inserted",
        )

    def _outcomes(self, rows: DataFrame) -> DataFrame:
        """Role assertions (``rows``) with their elements (src, dst) and their outcome."""
        tables = self.tables
        rows = renamed(rows, tables.names, src="subject", dst="object")
        rows = with_ends(rows, self._labels).fillna("", ["src_label", "dst_label"])
        rows = renamed(rows, tables.old_names, old_src="subject", old_dst="object")
        for end in ("src", "dst"):
            rows = rows.join(self._before.toDF(f"old_{end}", f"{end}_old"), f"old_{end}", "left")
        olds = (F.coalesce(f"{end}_old", f"{end}_label") for end in ("src", "dst"))
        given = (F.col("role"), F.col("src_label"), F.col("dst_label"))
        text = arrow_column(tables.rules.outcome, *given, F.col("inserted").cast("int"), *olds)
        return rows.select("subject", "object", "src", "dst", "role", text.alias("outcome"))


def _labels(rows: DataFrame, names: DataFrame) -> DataFrame:
    """(id, label): the text of the literals that ``rows`` (node, literal) say, by element."""
    literals = F.array_join(F.sort_array(F.collect_set("literal")), ",")
    return renamed(rows, names, id="node").groupBy("id").agg(literals.alias("label"))
